/* jobs.h - the structs that launches pass by value, for the host and for kernels: 8-byte members
 * first, no pointers.
 *
 * at[k]: bytes from the start of buffer k to its operand, written by the runtime at every run.
 * Strides are in elements. Indices of a flat position run over shape[0..nd), the last one
 * fastest. */
#ifndef MCD_JOBS_H
#define MCD_JOBS_H

#define MCD_RANK 8

/* out[i] = in[i], converted. Buffers: out, in. num: the value instead of in, as the number of dtype
 * `from`. */
typedef struct mcd_copy {
    int64_t at[2], n, shape[MCD_RANK], stride[2][MCD_RANK], num[2];
    int32_t nd, from, is_num, size;
} mcd_copy;

/* out = op(in...). Buffers: out, in 0..2, guards. is_num: bit k, operand k is num[k]. */
typedef struct mcd_ewise {
    int64_t at[5], n, shape[MCD_RANK], stride[4][MCD_RANK], num[3][2];
    int32_t nd, op, is_num, guard;
} mcd_ewise;

/* m rows of n elements, each to one result. Buffers: out, in, and the counts or second results. Row
 * r of in begins at its place under shape[0..kd), kept axes; its elements lie under rshape[0..rd).
 * A row is cut into `parts` pieces of `step`; results are [m][parts]. */
typedef struct mcd_reduce {
    int64_t at[4], m, n, parts, step, base, shape[MCD_RANK], stride[MCD_RANK], rshape[MCD_RANK],
        rstride[MCD_RANK];
    double p;
    int32_t kd, rd, guard, flag;
} mcd_reduce;

/* m rows of n: out and in under shape[0..kd) for the row and `step` along it. */
typedef struct mcd_rows {
    int64_t at[5], m, n, k, base, shape[MCD_RANK], stride[3][MCD_RANK], step[3];
    int32_t kd, flag, guard, kind;
} mcd_rows;

/* out[b][m][n] = a[b][m][k] b[b][k][n]. Buffers: out, a, b. */
typedef struct mcd_matmul {
    int64_t at[3], m, n, k, shape[MCD_RANK], batch[3][MCD_RANK], row[3], col[3];
    int32_t nd, unused;
} mcd_matmul;

/* Buffers: out, x, index, values, guards; kinds of moves stand in move.c. */
typedef struct mcd_move {
    int64_t at[5], n, size, base, count, width, shape[MCD_RANK], stride[3][MCD_RANK];
    int32_t nd, axis, bytes, guard;
} mcd_move;

/* m rows of n in pads of a power of two. Buffers: keys, positions, and what the kernel says. kth: a
 * place of the order; q: results of a row; span, reach: a step of the sort; prob: quantiles. */
typedef struct mcd_sort {
    int64_t at[5], m, n, pad, q, kth, base, span, reach;
    double prob[16];
    int32_t descending, positions, top, method, skip, median;
} mcd_sort;

/* Values joined at places: m rows of k values for `places` places, `columns` of each side by
 * side; pairs of place and position, sorted, in rows of `pad`. num: what a place without values
 * holds. */
typedef struct mcd_segment {
    int64_t at[5], m, k, pad, places, columns, base, num[2];
    int32_t self, mean, guard, unused;
} mcd_segment;

/* out = x with `before` elements in front of each axis; values: two constants for each axis. */
typedef struct mcd_pad {
    int64_t at[3], n, shape[MCD_RANK], before[MCD_RANK], size[MCD_RANK], stride[MCD_RANK];
    int32_t nd, mode, bytes, unused;
} mcd_pad;

/* n queries between k knots, values[c][k - 1][m] of each; nu: order of the derivative. Buffers:
 * out, queries, knots, values, or knots and guards. */
typedef struct mcd_interp {
    int64_t at[4], n, k, c, m, nu;
    double left, right;
    int32_t left_given, right_given, outside, strictly, guard, unused;
} mcd_interp;

/* A pass of a transform of m rows of n (fft.c): have, keep: elements of a row of the operand and
 * of the result; r: legs of a part, `tiles` parts of a group; step: of the roots in their table. */
typedef struct mcd_fft {
    int64_t at[3], m, n, s, have, keep, step, count;
    double scale;
    int32_t r, tiles, radices, radix[13], swap_in, swap_out, kind, unused;
} mcd_fft;

/* m rows of n before and after the transform of a cosine or sine transform (dct.c); wide:
 * numbers of a row of the transform's side. */
typedef struct mcd_dct {
    int64_t at[2], m, n, have, wide;
    double scale;
    int32_t type, sine, orthogonal, unused;
} mcd_dct;

/* n vectors of three: a and b under shape[0..nd), `step` along them; out is dense. Buffers: out, a,
 * b. */
typedef struct mcd_cross {
    int64_t at[3], n, shape[MCD_RANK], stride[2][MCD_RANK], step[2];
    int32_t nd, unused;
} mcd_cross;

/* m rows of n samples, dense, through sections of one order. Buffers: out, state, in,
 * coefficients. */
typedef struct mcd_filter {
    int64_t at[4], m, n, sections, order;
    int32_t reverse, unused;
} mcd_filter;

/* Convolutions (conv.c): n elements of the result or convolutions of `samples` samples, cg and og
 * channels of x and y in a group; batch: from one convolution to the next in an operand. Sizes of
 * x, y and w; first, size: places of the padded x. */
typedef struct mcd_conv {
    int64_t at[3], n, samples, groups, cg, og, batch[2], in[3], out[3], taps[3], stride[3],
        dilation[3], before[3], first[3], size[3];
    int32_t mode, unused;
} mcd_conv;

/* n matrices of rows x cols (linalg.c): a block of `width` columns or rows from `first` on; count:
 * pivots of a matrix, from base. */
typedef struct mcd_linalg {
    int64_t at[4], n, rows, cols, count, first, width, base, rs, cs;
    int32_t guard, strict, back, conj, unit, unused;
} mcd_linalg;

/* Points first .. of a sequence in d dimensions (sequence.c). Buffers: out, table; of a table also
 * numbers and the key, where that is not in the job. */
typedef struct mcd_sequence {
    int64_t at[3], n, d, first;
    uint64_t key, stream;
    int32_t scramble, keyed;
} mcd_sequence;

/* Elements of a stream, `row` of them under one key (random.c). Buffers: out, parameters, keys and
 * first elements where they are not in the job, guards. bound: of integers. */
typedef struct mcd_random {
    int64_t at[6], n, row, first, step[2], keys, firsts, bound[2];
    uint64_t key, stream;
    double number[2];
    int32_t keyed, counted, guard, whole;
} mcd_random;

#endif
