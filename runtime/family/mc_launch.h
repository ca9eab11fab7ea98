/* mc_launch.h - how families say what they launch on a device with programs: operands as places,
 * helpers that make dense ones. */
#ifndef MC_LAUNCH_H
#define MC_LAUNCH_H

#include "family/mc_bind.h"

/* Program of an elementwise row for operands of one dtype (source -1: none), its number in a
 * switch, the dtype of its result. Generated. */
typedef struct mci_formula {
    int16_t source, op, dtype;
} mci_formula;
extern const char *const mci_device_formulas[];
extern const mci_formula mci_device_ewise[][MC_NDTYPE];
extern const char *const mci_device_casts[MC_NDTYPE]; /* from any dtype to this one */
extern const char *const mci_device_types[MC_NDTYPE]; /* as C names them */

/* An operand or a piece of workspace as launches see it: bytes behind the start of a slot, and a
 * layout. operand: the one whose number travels in the job, -1 where there is memory. */
typedef struct mci_place {
    int slot, operand, dtype, ndim;
    int64_t off, shape[MC_MAX_RANK], strides[MC_MAX_RANK];
} mci_place;

mci_place mci_place_in(const mci_bound *b, int operand);
mci_place mci_place_out(const mci_bound *b, int result);
/* Fresh contiguous workspace. */
mci_place mci_place_work(mci_bound *b, int dtype, int ndim, const int64_t *shape);
/* The same memory seen with another shape, contiguous. */
mci_place mci_place_as(mci_place p, int ndim, const int64_t *shape);
int mci_place_dense(const mci_place *p);
int64_t mci_place_numel(const mci_place *p);
/* Strides under a shape that p broadcasts to; of a number 0. */
void mci_place_strides(const mci_place *p, int ndim, const int64_t *shape, int64_t *strides);

/* A launch of `groups` groups of `lanes` lanes, at the end of the list; NULL with the record.
 * Borrowed until the next one. */
mc_launch *mci_launch_new(mci_bound *b, const char *source, const char *kernel, int64_t groups,
                          int lanes, const void *job, size_t bytes);
/* One that a library of the device does (MC_BY_*), which knows the job. */
mc_launch *mci_launch_library(mci_bound *b, int library, const void *job, size_t bytes);
/* As mci_launch_new with a lane for each of n items, in groups of the usual size. */
mc_launch *mci_launch_lanes(mci_bound *b, const char *source, const char *kernel, int64_t n,
                            const void *job, size_t bytes);
/* The next buffer argument. */
void mci_launch_buffer(mc_launch *l, const mci_place *p);
/* The numbers of the guards as the next buffer; what the launch made last refuses, whose number
 * goes to byte `at` of its job. */
int mci_launch_guard(mci_bound *b, const char *why, size_t at);
/* The two by themselves, for a launch in which several ops refuse; `op` names the one that does. */
int mci_launch_guards(mci_bound *b);
int mci_launch_refusal(mci_bound *b, const char *op, const char *why, size_t at);
/* The number of an operand, converted, to byte `at` of the launch made last. */
int mci_launch_number(mci_bound *b, int operand, int dtype, size_t at);

/* `from`, which broadcasts, into `to`, converted. */
int mci_launch_copy(mci_bound *b, const mci_place *to, const mci_place *from);
/* p itself when it is contiguous and of that dtype, else a copy in workspace. */
int mci_launch_dense(mci_bound *b, mci_place *p, int dtype);

/* Rows that are folded to one element each: elements of a group's piece, and of a row that one lane
 * takes. Sums have these trees. */
#define MCI_PIECE 16384
#define MCI_FEW 32
/* #define lines for kernels that read p and compute in a dtype: S, T, NAME, LOAD(x), COMPLEX,
 * WHOLE; W and WNAME, the dtype of sums. Where p is read in no such way it is converted into
 * workspace first. */
int mci_launch_loads(mci_bound *b, mci_place *p, int compute, char *text, size_t room);
/* #define lines O, STORE(x) for results that are computed in `from` and written as p: p itself, or
 * workspace that mci_launch_copy brings there. */
mci_place mci_launch_stores(mci_bound *b, const mci_place *p, int from, char *text, size_t room);
/* p seen with the masked axes behind the others; as contiguous rows of a dtype, with how many and
 * how long. */
mci_place mci_place_rows(const mci_place *p, unsigned mask, int64_t *m, int64_t *n);

/* A network that sorts m rows of `pad` pairs of key and position, a power of two, 16 bytes each. */
int mci_launch_order(mci_bound *b, const mci_place *pairs, int64_t m, int64_t pad);

/* A Fourier transform of m dense rows: kind as in mc_fft_api (real and complex rows as it says),
 * have: elements of a row of the operand, zero behind; prec: 4 or 8. in and out are apart. */
typedef struct mci_fourier {
    int kind, prec;
    int64_t m, n, have;
    double scale;
} mci_fourier;
int mci_launch_fourier(mci_bound *b, const mci_fourier *f, const mci_place *in,
                       const mci_place *out);
/* out -= a c for matrices [.., m, k], [.., k, n] of one dtype; conj: of a. */
int mci_launch_subtract(mci_bound *b, const mci_place *out, const mci_place *a, const mci_place *c,
                        int conj);
/* Whether a row of linear algebra or random numbers has a form there; others stay on the host. */
int mci_linalg_launched(const mci_op *op);
int mci_random_launched(const mci_op *op);
/* The same of a reduction: whether its kernel has a state there (kernels/device/state.h). */
int mci_reduce_launched(const mci_op *op);
/* Adds values (dense, [before axis, shape of index, behind]) to out at positions of an axis. */
int mci_launch_put_added(mci_bound *b, int axis, const mci_place *out, const mci_place *index,
                         const mci_place *values);

/* Forms of families (mc_launch_<family>.c). */
typedef int mci_launches_fn(int device, const mci_job *job, const mci_result *r,
                            mc_tensor *const *out, mci_bound *b);
mci_launches_fn mci_copy_launches, mci_ewise_launches, mci_reduce_launches, mci_softmax_launches,
    mci_scan_launches, mci_matmul_launches, mci_dot_launches, mci_gather_launches,
    mci_take_launches, mci_layout_launches, mci_sort_launches, mci_select_launches,
    mci_segment_launches, mci_pad_launches, mci_interp_launches, mci_fft_launches, mci_dct_launches,
    mci_put_launches, mci_recurrence_launches, mci_tridiagonal_launches, mci_added_launches,
    mci_conv_launches, mci_cross_launches, mci_filter_launches, mci_sequence_launches,
    mci_linalg_launches, mci_random_launches;

#endif
