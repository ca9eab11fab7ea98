/* mc_family.h - what the family drivers share: promotion, temporaries, positions, row forms.
 *
 * One driver per family (mc_<family>.c) implements mci_<family>_run: check all, then allocate,
 * then compute. */
#ifndef MC_FAMILY_H
#define MC_FAMILY_H

#include "ops/mc_ops.h"

/* dtype in which operands meet, by the array API lattice; *compute is the dtype of the arithmetic. Weak operands (flag
 * MCI_WEAK) only decide between kinds. Errors name the operands. */
int mci_resolve(const mci_op *op, int nin, const mc_tensor *const *in, int *dtype, int *compute);
/* dtype of the result of an op whose operands met in `dtype`. */
int mci_result_dtype(const mci_op *op, int dtype);

/* infer of the families that are split, and exec where it is apart from the driver (mc_family.c). */
int mci_ewise_infer(const mci_job *job, mci_result *r);
int mci_ewise_exec(const mci_job *job, const mci_result *r, mc_tensor *const *out);
int mci_reduce_infer(const mci_job *job, mci_result *r);
int mci_reduce_exec(const mci_job *job, const mci_result *r, mc_tensor *const *out);
int mci_softmax_infer(const mci_job *job, mci_result *r);
int mci_scan_infer(const mci_job *job, mci_result *r);
int mci_cross_infer(const mci_job *job, mci_result *r);
int mci_layout_infer(const mci_job *job, mci_result *r);
int mci_recurrence_infer(const mci_job *job, mci_result *r);
int mci_matmul_infer(const mci_job *job, mci_result *r);
int mci_dot_infer(const mci_job *job, mci_result *r);
int mci_select_infer(const mci_job *job, mci_result *r);
int mci_sort_infer(const mci_job *job, mci_result *r);
int mci_pad_infer(const mci_job *job, mci_result *r);
int mci_take_infer(const mci_job *job, mci_result *r);
int mci_gather_infer(const mci_job *job, mci_result *r);
int mci_filter_infer(const mci_job *job, mci_result *r);
int mci_conv_infer(const mci_job *job, mci_result *r);
int mci_random_infer(const mci_job *job, mci_result *r);
int mci_sequence_infer(const mci_job *job, mci_result *r);
int mci_segment_infer(const mci_job *job, mci_result *r);
int mci_interp_infer(const mci_job *job, mci_result *r);
int mci_tridiagonal_infer(const mci_job *job, mci_result *r);
int mci_fft_infer(const mci_job *job, mci_result *r);
int mci_dct_infer(const mci_job *job, mci_result *r);
int mci_linalg_infer(const mci_job *job, mci_result *r);
/* Shifts of a roll for each axis, in [0, size); without axes the tensor is one row, which shift[0]
 * moves. */
int mci_roll_shifts(const mci_op *op, const mc_tensor *t, const mc_params *p, int64_t *shift);
int mci_added_infer(const mci_job *job, mci_result *r);
int mci_put_exec(const mci_job *job, const mci_result *r, mc_tensor *const *out);
int mci_copy_exec(const mci_job *job, const mci_result *r, mc_tensor *const *out);
/* The error of an op whose results depend on elements in size, where those are not at hand. */
int mci_by_value(const mci_op *op);
/* The same on a device other than the CPU (mc_bind.c). */
int mci_device_run(const mci_op *op, int nout, mc_tensor **out, int nin, const mc_tensor *const *in, const mc_params *p);

/* A temporary on the C stack: header `t` becomes a contiguous copy of src in `dtype`; mc_drop when done. */
int mci_materialize(mc_tensor *t, const mc_tensor *src, int dtype);

/* Maximum and sum of exp(x - maximum) over the masked axes of a tensor that is not empty (owns: mci_free). */
struct mck_lse;
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

/* Modes of padding, and the place of the operand for place i of n elements padded by `before`;
 * negative: none. */
enum {
    MCI_PAD_CONSTANT,
    MCI_PAD_EDGE,
    MCI_PAD_REFLECT,
    MCI_PAD_SYMMETRIC,
    MCI_PAD_WRAP,
    MCI_PAD_EMPTY
};
int64_t mci_pad_source(int mode, int64_t i, int64_t before, int64_t n);

/* A matrix product that hands its result over in ranges of flat elements, tile by tile, as soon as they are done. *done: it did; else the
 * result is complete and nothing was handed over. */
typedef struct mci_after {
    void (*range)(void *arg, int64_t lo, int64_t hi, int worker);
    void *arg;
    int done;
} mci_after;
int mci_matmul_then(mc_tensor *out, const mc_tensor *a, const mc_tensor *b, mci_after *after);

#endif
