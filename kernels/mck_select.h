/* mck_select.h - arguments and entry points of order statistics.
 *
 * m contiguous rows of n -> q quantiles each, out[m][q] in the dtype of the input (f32, f64;
 * integers give f64). prob: q probabilities in [0,1]; method: 0 linear (Hyndman-Fan 7), 1 lower, 2
 * higher, 3 nearest, 4 midpoint, then the other Hyndman-Fan types 5..12 = types 1,2,3,4,5,6,8,9. A
 * NaN in a row gives NaN, unless nan_skip. median = one prob 0.5. n >= 1. work: n elements of the
 * input dtype, per worker. */
#ifndef MCK_SELECT_H
#define MCK_SELECT_H

#include "mck.h"

typedef struct mck_select {
    int64_t m, n, q;
    void *out;
    const void *in;
    const double *prob;
    int method, nan_skip;
    void *work;
} mck_select;
typedef void (*mck_select_fn)(const mck_select *a);

void MCK(select_f32)(const mck_select *a);
void MCK(select_f64)(const mck_select *a);
void MCK(select_ref_f32)(const mck_select *a);
void MCK(select_ref_f64)(const mck_select *a);

/* Bytes of workspace per worker for rows of n elements and q probabilities. */
size_t MCK(select_work)(int elem_bytes, int64_t n, int64_t q);

#endif
