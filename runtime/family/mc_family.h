/* mc_family.h - what the family drivers share: promotion, temporaries, positions, row forms.
 *
 * One driver per family (mc_<family>.c) implements mci_<family>_run: check all, then allocate,
 * then compute. */
#ifndef MC_FAMILY_H
#define MC_FAMILY_H

#include "ops/mc_ops.h"

/* dtype in which operands meet, by the array API lattice; *compute is the dtype of the arithmetic.
 * Weak operands (flag MCI_WEAK) only decide between kinds. Errors name the operands. */
int mci_resolve(const mci_op *op, int nin, const mc_tensor *const *in, int *dtype, int *compute);
/* The error of a number of the caller that an integer dtype does not hold; text: what it meets. */
int mci_number_fits(const char *op, int dtype, double number, const char *text);
/* dtype of the result of an op whose operands met in `dtype`. */
static inline int mci_result_dtype(const mci_op *op, int dtype)
{
    switch (op->result) {
    case MCI_RESULT_BOOL: return MC_BOOL;
    case MCI_RESULT_I64: return MC_I64;
    case MCI_RESULT_REAL: return dtype == MC_C64 ? MC_F32 : dtype == MC_C128 ? MC_F64 : dtype;
    default: return dtype;
    }
}

/* infer of the families that are split, and exec where it is apart from the driver
 * (mc_family.c). */
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
int mci_attention_infer(const mci_job *job, mci_result *r);
int mci_standardise_infer(const mci_job *job, mci_result *r);
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
/* The error of an op that a device has no launches for. */
int mci_no_launch(const mci_op *op, int device);
/* The same on a device other than the CPU (mc_bind.c). */
int mci_device_run(const mci_op *op, int nout, mc_tensor **out, int nin, const mc_tensor *const *in,
                   const mc_params *p);

/* Copies with broadcasting and conversion, recorded as writes are. on_device: what copies where
 * dst is on a device. */
typedef int (*mci_copy_fn)(mc_tensor *dst, const mc_tensor *src);
int mci_copy_by(mci_copy_fn on_device, mc_tensor *dst, const mc_tensor *src);
int mci_fill_by(mci_copy_fn on_device, mc_tensor *dst, double re, double im);
/* Writes to positions along an axis; the same of devices. */
typedef int (*mci_put_fn)(mc_tensor *dst, int axis, const mc_tensor *index, const mc_tensor *values,
                          int accumulate);
int mci_put_by(mci_put_fn on_device, mc_tensor *dst, int axis, const mc_tensor *index,
               const mc_tensor *values, int accumulate);
/* As drivers need them: what they see is memory of the host. */
static inline int mci_copy(mc_tensor *dst, const mc_tensor *src)
{
    return mci_copy_by(NULL, dst, src);
}
static inline int mci_fill(mc_tensor *dst, double re, double im)
{
    return mci_fill_by(NULL, dst, re, im);
}

/* A temporary on the C stack: header `t` becomes a contiguous copy of src in `dtype`; mc_drop when
 * done. */
int mci_materialize(mc_tensor *t, const mc_tensor *src, int dtype);

/* Maximum and sum of exp(x - maximum) over the masked axes of a tensor that is not empty (owns:
 * mci_free). */
struct mck_lse;
int mci_reduce_lse(const mc_tensor *t, unsigned mask, int compute, struct mck_lse **pairs);

/* A dense tensor that is made while it is read: elements [first, first + n) into buf. */
typedef struct mci_source {
    void (*load)(void *arg, int64_t first, int64_t n, void *buf, int worker);
    void *arg;
} mci_source;
/* A reduction of it, to the bits of the reduction of the tensor. like: its header, dense, without
 * data. The reduced axes are its last ones, or neighbours with at least four elements behind them;
 * its dtype is that of the arithmetic. */
int mci_reduce_from(const mci_op *op, mc_tensor *out, const mc_tensor *like,
                    const mci_source *source, const mc_params *p);

/* An op along the last axes of contiguous rows whose layouts were looked at once: `run` does it for
 * operands that lie as those did, at other addresses, to the bits of the op. Each returns 0 where
 * the op is to be run as any other. state: of the family (owns: mci_free). */
typedef struct mci_row_op {
    void (*run)(const struct mci_row_op *r, void *out, const void *in);
    void *state;
} mci_row_op;
int mci_reduce_rows(mci_row_op *r, const mci_op *op, const mc_tensor *out, const mc_tensor *in,
                    const mc_params *p);
int mci_softmax_rows(mci_row_op *r, const mci_op *op, const mc_tensor *out, const mc_tensor *in,
                     const mc_params *p);

/* Positions as contiguous i64 in the caller's base, checked against an axis of size n: the tensor
 * itself where it already lies so (then borrowed), else a copy. MCI_PLACE turns one into a 0-based
 * place. */
typedef struct mci_places {
    mc_tensor tmp;
    const int64_t *v;
    int64_t count, n, base;
} mci_places;
#define MCI_PLACE(k, n, base) ((k) < 0 ? (k) + (n) : (k) - (base))
/* An error unless positions are integers. */
int mci_check_positions(const char *op, const mc_tensor *index);
int mci_places_of(const char *op, const mc_tensor *index, int64_t n, int base, mci_places *p);
void mci_places_drop(mci_places *p);
int mci_take(const mci_op *op, mc_tensor *out, const mc_tensor *t, const mc_tensor *index,
             const mc_params *p);
/* A contiguous i64 copy of positions, made 0-based and checked against an axis of size n. */
int mci_positions(const char *op, const mc_tensor *index, int64_t n, int base, mc_tensor *pos);

/* How values meet at a place: of a row of segments or scatters; whether the elements of x take part
 * in a scatter; n numbers that change nothing, in `wide`, for elements of dtype. */
enum { MCI_JOIN_SUM, MCI_JOIN_PROD, MCI_JOIN_MAX, MCI_JOIN_MIN, MCI_JOIN_MEAN };
int mci_join_of(const mci_op *op, const mc_params *p);
int mci_join_self(const mci_op *op, const mc_params *p);
void mci_join_identity(int how, int dtype, int wide, int64_t n, void *v);

/* A matrix product that hands its result over in ranges of flat elements, tile by tile, as soon as
 * they are done. *done: it did; else the result is complete and nothing was handed over. */
typedef struct mci_after {
    void (*range)(void *arg, int64_t lo, int64_t hi, int worker);
    void *arg;
    int done;
} mci_after;
int mci_matmul_then(mc_tensor *out, const mc_tensor *a, const mc_tensor *b, mci_after *after);

#endif
