/* mck.h - what a kernel may know: scalar types, argument structs, the ISA suffix.
 *
 * A kernel is arithmetic on raw pointers, already checked, promoted and collapsed by the runtime. It cannot fail,
 * allocate, lock, log or see a tensor. All kernels of a family share one signature: `void fn(const mck_<family> *)`.
 * Kernel files are compiled once per ISA level with -DMC_ISA=v2|v3|v4 and name their functions through MCK(name), which
 * appends the level. Sizes and strides are int64_t in elements. Output, inputs, parameters, in that order.
 * Letters used in the families below: n elements of a row, m rows (or batch). */
#ifndef MCK_H
#define MCK_H

#include "../runtime/base/mc_def.h"
#include <stddef.h>
#include <stdint.h>

#ifndef MC_ISA
#define MC_ISA v2
#endif
#define MCK_CAT_(a, b) a##_##b
#define MCK_CAT(a, b) MCK_CAT_(a, b)
/* MCK(sort_f32) -> mck_sort_f32_v3 */
#define MCK_(name) MCK_CAT(mck_##name, MC_ISA)
#define MCK(name) MCK_(name)

typedef struct mck_c64 { float re, im; } mck_c64;
typedef struct mck_c128 { double re, im; } mck_c128;
typedef uint8_t mck_bool;

/* Rows handed to kernels are 64-byte aligned where the runtime owns the buffer, else element aligned. */

/* ewise: out[i] = f(in0[i], in1[i], in2[i]). Every stride is 1 (contiguous) or 0 (one value for all i).
 * out may be the same pointer as an input of stride 1 and equal element size, never overlap otherwise.
 * p: the op's scalar parameters. status: a kernel that meets a forbidden value (integer division by zero) stores the
 * first bad index + 1 here if it is 0. */
typedef struct mck_ewise {
    int64_t n;
    void *out;
    const void *in[4];
    int64_t stride[4];
    const double *p;
    int64_t *status;
} mck_ewise;
typedef void (*mck_ewise_fn)(const mck_ewise *a);

/* reduce: m rows of n elements -> m results. Row i starts at in + i*row_stride (elements) and is walked with
 * elem_stride; inner: when elem_stride != 1 and row_stride == 1 the kernel reduces column-wise (m is contiguous).
 * base: index base for arg-reductions. p: parameters (correction of var, ...).
 * Partial form: the runtime splits a long row at fixed multiples of MCK_REDUCE_CHUNK and folds partials in a fixed tree. */
#define MCK_REDUCE_CHUNK 16384
typedef struct mck_reduce {
    int64_t m, n;
    void *out;
    const void *in;
    int64_t row_stride, elem_stride;
    int64_t base;
    const double *p;
    int64_t *status;
} mck_reduce;
typedef void (*mck_reduce_fn)(const mck_reduce *a);

/* softmax family: m rows of n, exp(x - max) / sum or, with log, x - max - log(sum). Row form: both elem strides 1. Column form: both row
 * strides 1, m <= MCK_REDUCE_COLUMNS. given: max and sum of each row (mck_partial.h), found here when NULL. out may be in. */
typedef struct mck_softmax {
    int64_t m, n;
    void *out;
    const void *in;
    int64_t in_row, in_elem, out_row, out_elem;
    int log;
    const struct mck_lse *given;
} mck_softmax;
typedef void (*mck_softmax_fn)(const mck_softmax *a);

/* segment family: n contiguous rows of `inner` elements joined to the rows id[i] of out, in order. */
typedef struct mck_segment {
    int64_t n, inner;
    void *out;
    const void *in;
    const int64_t *id;
} mck_segment;
typedef void (*mck_segment_fn)(const mck_segment *a);

/* matmul family: out[m][n] = a[m][k] b[k][n], contiguous and row-major. */
typedef struct mck_matmul {
    int64_t m, n, k;
    void *out;
    const void *a, *b;
} mck_matmul;
typedef void (*mck_matmul_fn)(const mck_matmul *p);

/* conv family: sums of products of planes of places with shifted planes. A plane holds the
 * places of a result along one axis after the other, the last one contiguous, with gaps behind
 * each axis, so that a tap of the kernel is one distance for all places
 * (runtime/family/mc_conv.h). MCK_CONV_SLACK elements behind everything that is read are there;
 * dots: and finite. rows: out[c][p] = sum_k w[c][k] in[off[k] + p] for n places and m channels,
 * out_row apart; k in steps of MCK_CONV_STEP, each of them summed up from zero. w: panels of
 * MCK_CONV_PANEL channels, [panel][k][channel], the last one with as many as are left. Writes to
 * the next multiple of 64 bytes of places. dots: out[c][k] += sum_p g[c][p] x[off[k] + p]; n
 * places a multiple of 64 bytes, k a multiple of MCK_CONV_TAPS. */
#define MCK_CONV_PANEL 4
#define MCK_CONV_SLACK 16
#define MCK_CONV_STEP 256
#define MCK_CONV_TAPS 4
typedef struct mck_conv {
    int64_t n, m, k;
    void *out;
    const void *in, *w;
    const int64_t *off;
    int64_t out_row, w_row; /* w_row: dots, distance of the channels of w (the result's gradient) */
} mck_conv;

/* Planes of places from and to an operand: place q of axis i is element map[i][q] of the
 * operand, or none where that is negative. On the last axis places lo .. hi - 1 are elements
 * `step` apart. copy: plane[size[0]][size[1]][size[2]] from the operand, 0 where there is none.
 * fold: back to the operand, added, or stored where every element has one place (store). */
typedef struct mck_conv_plane {
    int64_t size[3], stride[3];
    const int64_t *map[3];
    int64_t lo, hi, step, store;
    void *plane, *x;
} mck_conv_plane;

/* dot family: out[i] = sum_j a[i][j] b[i][j] for m rows of n, conj: with the conjugate of a. Row i starts at a + i * a_row and is walked
 * with a_elem. out is f64 for f32 and f64, c128 for complex numbers, i64 for integers. */
typedef struct mck_dot {
    int64_t m, n;
    void *out;
    const void *a, *b;
    int64_t a_row, b_row, a_elem, b_elem;
    int conj;
} mck_dot;
typedef void (*mck_dot_fn)(const mck_dot *k);

/* interp family: n queries `in` between k >= 1 ascending knots. interp: values[k], left and right stand outside the knots where
 * given. ppoly (k >= 2): values[c][k - 1][m] are coefficients, highest power of (x - knot) first, out[n][m]; nu: order of the
 * derivative; outside: NaN beyond the knots, else the outermost pieces go on. */
typedef struct mck_interp {
    int64_t n, k, c, m, nu;
    void *out;
    const void *in, *knots, *values;
    double left, right;
    int left_given, right_given, outside;
} mck_interp;
typedef void (*mck_interp_fn)(const mck_interp *a);

/* tridiagonal family: m columns of n equations, rows `stride` apart; lower, pivot and ratio = upper / pivot as elimination left them. */
typedef struct mck_tridiagonal {
    int64_t n, m, stride;
    double *out;
    const double *rhs, *lower, *pivot, *ratio;
} mck_tridiagonal;
typedef void (*mck_tridiagonal_fn)(const mck_tridiagonal *a);

/* sort family: m contiguous rows of n. `out` receives the sorted row (sort), `index` the positions + base (argsort);
 * either may be NULL. NaN sorts last (ascending and descending). Ties keep their order when `stable`.
 * partition: the element at place kth (from 0) of the sorted row, those before it in front, those behind it after, else in the order of
 * the row. topk: the kth + 1 first of the sorted row, out[m][kth + 1]; ordered: in that order, else in the order of the row.
 * work: what mck_sort_work() or mck_topk_work() asked for, for one row; rows of one call share it (one worker). */
typedef struct mck_sort {
    int64_t m, n;
    void *out;
    int64_t *index;
    const void *in;
    int64_t base;
    int descending, stable;
    void *work;
    int64_t kth;
    int ordered;
} mck_sort;
typedef void (*mck_sort_fn)(const mck_sort *a);

/* select family: m contiguous rows of n -> q quantiles each, out[m][q] in the dtype of the input (f32, f64; integers give f64).
 * prob: q probabilities in [0,1]; method: 0 linear (Hyndman-Fan 7), 1 lower, 2 higher, 3 nearest, 4 midpoint, then the other
 * Hyndman-Fan types 5..12 = types 1,2,3,4,5,6,8,9. A NaN in a row gives NaN, unless nan_skip. median = one prob 0.5. n >= 1.
 * work: n elements of the input dtype, per worker. */
typedef struct mck_select {
    int64_t m, n, q;
    void *out;
    const void *in;
    const double *prob;
    int method, nan_skip;
    void *work;
} mck_select;
typedef void (*mck_select_fn)(const mck_select *a);

/* fft family (our own mixed-radix transform; oracle and fallback of FFTW). Unnormalised. kind as in mc_fft_api:
 * 0 c2c forward exp(-i), 1 c2c backward, 2 r2c (n real -> n/2+1 complex), 3 c2r (n/2+1 -> n real).
 * Rows are contiguous; in and out do not overlap. table: twiddles made by mck_fft_table. work: mck_fft_work bytes. */
typedef struct mck_fft {
    int64_t m, n;
    int kind;
    void *out;
    const void *in;
    int64_t in_stride, out_stride; /* distance between rows, in elements of their own type */
    const void *table;
    void *work;
} mck_fft;
typedef void (*mck_fft_fn)(const mck_fft *a);

/* dct family: rows of n reals before (in: row, out: operand of a Fourier transform) and after it (in: its result, out: row). type 1..4;
 * table: the factors e^(-i pi j / (4 n)), made by dct_table for j = first + i step, i < count. scale multiplies the result. */
typedef struct mck_dct {
    int64_t n, count, first, step;
    int type, sine, orthogonal;
    double scale;
    void *out;
    const void *in;
    double *table;
} mck_dct;

/* filter family: m rows of n samples, `stride` apart, through `sections` recursive sections of one order, one after the other.
 * coef[sections][2 (order + 1)]: b[0..order], a[0..order] with a[0] = 1. state[m][sections * order]: read as the state before the
 * first sample, left as the state after the last. reverse: from the last sample to the first. in and out may be the same rows.
 * work: sections * order * MCK_FILTER_LANES doubles, per worker. */
#define MCK_FILTER_LANES 8
typedef struct mck_filter {
    int64_t m, n, stride, sections, order;
    void *out;
    const void *in;
    const double *coef;
    double *state, *work;
    int reverse;
} mck_filter;
typedef void (*mck_filter_fn)(const mck_filter *a);

/* recurrence family: m contiguous rows of n of out, a and b: y[i] = a[i] y[i - 1] + b[i]. */
typedef struct mck_recurrence {
    int64_t m, n;
    void *out;
    const void *a, *b;
} mck_recurrence;
typedef void (*mck_recurrence_fn)(const mck_recurrence *a);

/* small family: up to MCK_SMALL_LANES matrices of n rows and columns (k right-hand sides), n and k at most MCK_SMALL, each contiguous by
 * rows behind its own pointer. bad[l] becomes 1 for a matrix without an answer (singular, not positive definite); its result is then
 * unspecified. Room for MCK_SMALL_LANES entries in every list. A tile is full at 64 bytes of real parts: MCK_SMALL_TILE matrices. */
#define MCK_SMALL 8
#define MCK_SMALL_LANES 16
#define MCK_SMALL_TILE(real_bytes) (64 / (real_bytes))
typedef struct mck_small {
    int64_t count, n, k;
    const void *a[MCK_SMALL_LANES], *b[MCK_SMALL_LANES];
    void *out[MCK_SMALL_LANES];
    int64_t *pivot[MCK_SMALL_LANES];
    int32_t *bad;
    int upper;
} mck_small;
typedef void (*mck_small_fn)(const mck_small *a);

/* random family: elements first, first + 1, ... of the stream (key, stream); mck_philox.h has its layout. Any split of [0, n) into
 * calls with the matching `first` gives the same numbers. Parameter j of out[i] is p[j][i * stride[j]] (f64; i64 for integers),
 * stride 0 or 1; what the parameters of a kernel are stands in mck_random.h. width: results per element (multinomial: categories; p of
 * its probabilities then advances by width). status: the first element + 1 whose parameters make no distribution, when it was 0. */
#define MCK_RANDOM_PARAMS 4
typedef struct mck_random {
    int64_t n;
    void *out;
    uint64_t key, stream;
    int64_t first, width;
    const void *p[MCK_RANDOM_PARAMS];
    int64_t stride[MCK_RANDOM_PARAMS];
    int64_t *status;
} mck_random;
typedef void (*mck_random_fn)(const mck_random *a);

/* sequence family: points first .. first + n - 1 (from 0) of a low-discrepancy sequence in d dimensions, out[n][d].
 * numbers: what defines the dimensions (sobol: degree, coefficients, initial direction numbers, MCK_SEQUENCE_NUMBERS per dimension;
 * halton: the base). table: made of them by mck_<name>_table, d MCK_SEQUENCE_TABLE entries; scramble: with random numbers of
 * (key, stream), which leave the points as evenly spread. */
#define MCK_SEQUENCE_BITS 53
#define MCK_SEQUENCE_NUMBERS 20
#define MCK_SEQUENCE_TABLE (2 * MCK_SEQUENCE_BITS)
typedef struct mck_sequence {
    int64_t n, d, first;
    double *out;
    uint64_t *table;
    const int64_t *numbers;
    uint64_t key, stream;
    int scramble;
} mck_sequence;
typedef void (*mck_sequence_fn)(const mck_sequence *a);

/* levinson: T x = b for one Toeplitz matrix, t[2 n - 1] = its diagonals from the last of the first row to the last of the first column
 * (t[n - 1] the main one), b and x [k] columns of n, ld apart. work: 2 n elements. *status: 1 when a leading block is singular. */
typedef struct mck_levinson {
    int64_t n, k, ld;
    void *x;
    const void *t, *b;
    void *work;
    int64_t *status;
} mck_levinson;
typedef void (*mck_levinson_fn)(const mck_levinson *a);

#endif
