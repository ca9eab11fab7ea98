/* mck_dot.h - arguments of products along an axis.
 *
 * out[i] = sum_j a[i][j] b[i][j] for m rows of n, conj: with the conjugate of a. Row i starts at a
 * + i * a_row and is walked with a_elem. out is f64 for f32 and f64, c128 for complex numbers, i64
 * for integers. */
#ifndef MCK_DOT_H
#define MCK_DOT_H

#include "mck.h"

typedef struct mck_dot {
    int64_t m, n;
    void *out;
    const void *a, *b;
    int64_t a_row, b_row, a_elem, b_elem;
    int conj;
} mck_dot;
typedef void (*mck_dot_fn)(const mck_dot *k);

#endif
