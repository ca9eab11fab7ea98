/* mc_bind.h - work bound to a device: done once for operands of one layout, run at any addresses.
 *
 * What is bound is the call of an op (mci_bind), or a step of a plan (replay/mc_step.h). On the CPU
 * and on devices that run its kernels a bound form is a function and what it looked up once; on
 * devices with programs it is a list of launches. */
#ifndef MC_BIND_H
#define MC_BIND_H

#include "family/mc_family.h"

/* A number that travels in the struct of a launch: operand `operand`, converted to dtype, at byte
 * `at` of launch `launch`; with operand -1 the number of a guard of `op`, where `why` says
 * what is refused (NULL: the kernel refuses nothing). */
typedef struct mci_patch {
    int32_t launch, operand, dtype, at;
    const char *op, *why;
} mci_patch;

#define MCI_SLOT_GUARDS (-1) /* slot of a launch: the numbers of the guards */

typedef struct mci_bound mci_bound;
typedef int (*mci_bound_fn)(const mci_bound *b, mc_tensor *const *h);

struct mci_bound {
    int device, nin, nout;
    const mci_op *op;           /* NULL: several ops at once */
    const char *title;          /* of a group, for the profile; else NULL */
    mc_tensor *headers;         /* layouts of operands, then results; NULL on the CPU, where callers
                                 * have headers of their own */
    /* of a device that runs the CPU's kernels. h: headers that show this call's memory, results
     * first; a function takes workspace for the workers there are. close: gives `state` back; the
     * status of what `run` met without saying so (a forbidden value in a tile) */
    mci_bound_fn run;
    const void *state;
    int (*close)(void *state);
    /* of a device with programs; filled by the family's `launches`, each list from mci_alloc */
    int nlaunch, npatch;
    mc_launch *launch;
    mci_patch *patch;
    int64_t work;               /* bytes of workspace, the slot behind the results */
};

/* Binds job to results that look like out (headers; their memory is not looked at). Owns:
 * mci_bound_free. */
int mci_bind(int device, const mci_job *job, const mci_result *r, mc_tensor *const *out,
             mci_bound *b);
/* Keeps the layouts of h (results, then operands) and makes b the bound form of several ops on a
 * device that runs the CPU's kernels. Owns: mci_bound_free, on failure too. */
int mci_bind_function(int device, int nin, int nout, mc_tensor *const *h, mci_bound_fn run,
                      const void *state, int (*close)(void *state), mci_bound *b);
/* The error of an op that cannot be bound to a device. */
int mci_no_form(const mci_op *op, int device);
/* Runs it on a device (on the CPU b->run does). refs: operands, then results. */
int mci_bound_run(mci_bound *b, const mci_ref *refs);
/* The same in parts, for a list of launches. Whether results share memory with operands so that
 * they have to be made beside them first (mci_bound_run does); numbers into all launches; addresses
 * into launch i, and the segments of its buffers. */
int mci_bound_apart(const mci_bound *b, const mci_ref *refs);
int mci_bound_numbers(mci_bound *b, const mci_ref *refs);
void mci_bound_place(mci_bound *b, int i, const mci_ref *refs, const mci_ref *work,
                     void **segment);
/* Bytes of its operands and results. */
int64_t mci_bound_bytes(const mci_bound *b);
/* Whether each op is waited for (MASCON_SYNC=1), so that an error names its line. */
int mci_stepwise(void);
/* Makes it empty; the status of close. */
int mci_bound_free(mci_bound *b);

/* Copies `src` into `dst`, on one device: checked by the caller. */
int mci_device_copy_run(mc_tensor *dst, const mc_tensor *src);
/* Writes to positions along an axis (mc_put), on one device: checked by the caller. */
int mci_device_put_run(mc_tensor *dst, int axis, const mc_tensor *index, const mc_tensor *values,
                       int accumulate);
/* operand -> result; positions, values -> result along axes[0], added to where i[0] is set */
extern const mci_op mci_copy_op, mci_put_op;

/* Whether an op without a form on a device may go through the host: on one that auto chose, and
 * distributions, whose numbers are drawn on the CPU everywhere. */
int mci_may_go_through_host(int device, const mci_op *op);
/* Runs the CPU's form of an op on copies of its operands and brings results to the device; counted
 * for mc_through_host where auto chose it. */
int mci_through_host(int device, const mci_op *op, int nout, mc_tensor **out, int nin,
                     const mc_tensor *const *in, const mc_params *p);

#endif
