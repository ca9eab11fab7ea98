/* mc_ops.h - the dispatch table as the family drivers see it.
 *
 * One driver per family (mc_<family>.c) implements mci_<family>_run: check all, then allocate, then compute. The table itself is
 * generated from ops.lua. */
#ifndef MC_OPS_H
#define MC_OPS_H

#include "tensor/mc_tensor.h"
#include "mc_gen_kernels.h"
#include "../../kernels/mck.h"

typedef struct mci_op mci_op;
typedef int (*mci_run_fn)(const mci_op *op, int nout, mc_tensor **out, int nin, const mc_tensor *const *in, const mc_params *p);

enum { MCI_PROMOTE_NUMERIC, MCI_PROMOTE_FLOAT, MCI_PROMOTE_BOOL };
enum { MCI_RESULT_SAME, MCI_RESULT_BOOL, MCI_RESULT_REAL, MCI_RESULT_I64 };

struct mci_op {
    const char *name;
    int16_t id;
    mci_run_fn run;
    uint8_t nin, nout, promote, result;
    int16_t kernel;         /* kernel of the op's own name, -1 none */
    uint8_t where;          /* the first operand is a condition */
    uint8_t empty_error;    /* nothing to reduce is an error */
    const char *guard;      /* what a kernel's status means */
    int8_t compute[MC_NDTYPE]; /* dtype of the arithmetic for operands of a dtype, -1: not supported */
};

extern const mci_op mci_ops[];

/* mci_<family>_run of every family in the table, one per mc_<family>.c. */
#include "mc_gen_families.h"

/* dtype in which operands meet, by the array API lattice; *compute is the dtype of the arithmetic. Weak operands (flag
 * MCI_WEAK) only decide between kinds. Errors name the operands. */
int mci_resolve(const mci_op *op, int nin, const mc_tensor *const *in, int *dtype, int *compute);
/* dtype of the result of an op whose operands met in `dtype`. */
int mci_result_dtype(const mci_op *op, int dtype);

/* Maximum and sum of exp(x - maximum) over the masked axes of a tensor that is not empty (owns: mci_free). */
int mci_reduce_lse(const mc_tensor *t, unsigned mask, int compute, struct mck_lse **pairs);

/* A dense tensor that is made while it is read: elements [first, first + n) into buf. */
typedef struct mci_source {
    void (*load)(void *arg, int64_t first, int64_t n, void *buf, int worker);
    void *arg;
} mci_source;
/* A reduction of it, to the bits of the reduction of the tensor. like: its header, dense, without data. The reduced axes are its last ones, or
 * neighbours with at least four elements behind them; its dtype is that of the arithmetic. */
int mci_reduce_from(const mci_op *op, mc_tensor *out, const mc_tensor *like, const mci_source *source, const mc_params *p);

/* An op along the last axes of contiguous rows whose layouts were looked at once: `run` does it for operands that lie as those did, at other
 * addresses, to the bits of the op. Each returns 0 where the op is to be run as any other. state: of the family (owns: mci_free). */
typedef struct mci_row_op {
    void (*run)(const struct mci_row_op *r, void *out, const void *in);
    void *state;
} mci_row_op;
int mci_reduce_rows(mci_row_op *r, const mci_op *op, const mc_tensor *out, const mc_tensor *in, const mc_params *p);
int mci_softmax_rows(mci_row_op *r, const mci_op *op, const mc_tensor *out, const mc_tensor *in, const mc_params *p);

/* Positions as contiguous i64 in the caller's base, checked against an axis of size n: the tensor itself where it already lies so (then
 * borrowed), else a copy. MCI_PLACE turns one into a 0-based place. */
typedef struct mci_places {
    mc_tensor tmp;
    const int64_t *v;
    int64_t count, n, base;
} mci_places;
#define MCI_PLACE(k, n, base) ((k) < 0 ? (k) + (n) : (k) - (base))
int mci_places_of(const char *op, const mc_tensor *index, int64_t n, int base, mci_places *p);
void mci_places_drop(mci_places *p);
int mci_take(const mci_op *op, mc_tensor *out, const mc_tensor *t, const mc_tensor *index, const mc_params *p);
/* A contiguous i64 copy of positions, made 0-based and checked against an axis of size n. */
int mci_positions(const char *op, const mc_tensor *index, int64_t n, int base, mc_tensor *pos);

#define MCI_WEAK 256 /* flag of a 0-d operand that came from a plain number */

/* A matrix product that hands its result over in ranges of flat elements, tile by tile, as soon as they are done. *done: it did; else the
 * result is complete and nothing was handed over. */
typedef struct mci_after {
    void (*range)(void *arg, int64_t lo, int64_t hi, int worker);
    void *arg;
    int done;
} mci_after;
int mci_matmul_then(mc_tensor *out, const mc_tensor *a, const mc_tensor *b, mci_after *after);

mck_any_fn mci_function(int fn); /* MCK_FN_* of the active ISA level */

#endif
