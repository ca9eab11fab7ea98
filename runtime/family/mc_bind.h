/* mc_bind.h - a call of an op bound to a device: done once for operands of one layout, run at any
 * addresses. */
#ifndef MC_BIND_H
#define MC_BIND_H

#include "family/mc_family.h"

/* A number that travels in the struct of a launch: operand `operand`, converted to dtype, at byte
 * `at` of launch `launch`; with operand -1 the number of its guard, where `why` says what is refused
 * (NULL: the kernel refuses nothing). */
typedef struct mci_patch {
    int32_t launch, operand, dtype, at;
    const char *why;
} mci_patch;

#define MCI_SLOT_GUARDS (-1) /* slot of a launch: the numbers of the guards */

typedef struct mci_bound {
    int device, nin, nout;
    const mci_op *op;
    mc_params params;
    mci_result result;
    mc_tensor *headers;         /* operands, then results: layouts */
    /* of a device with programs; filled by the family's `launches`, each list from mci_alloc */
    int nlaunch, npatch;
    mc_launch *launch;
    mci_patch *patch;
    int64_t work;               /* bytes of workspace, the slot behind the results */
} mci_bound;

/* Binds job to results that look like out (headers; their memory is not looked at). Owns: mci_bound_free. */
int mci_bind(int device, const mci_job *job, const mci_result *r, mc_tensor *const *out, mci_bound *b);
/* refs: operands, then results. */
int mci_bound_run(mci_bound *b, const mci_ref *refs);
void mci_bound_free(mci_bound *b);

/* Copies `src` into `dst`, on one device: checked by the caller. */
int mci_device_copy_run(mc_tensor *dst, const mc_tensor *src);
/* Writes to positions along an axis (mc_put), on one device: checked by the caller. */
int mci_device_put_run(mc_tensor *dst, int axis, const mc_tensor *index, const mc_tensor *values,
                       int accumulate);
/* operand -> result; positions, values -> result along axes[0], added to where i[0] is set */
extern const mci_op mci_copy_op, mci_put_op;

#endif
