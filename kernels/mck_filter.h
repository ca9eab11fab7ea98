/* mck_filter.h - arguments of recursive filters.
 *
 * m rows of n samples, `stride` apart, through `sections` recursive sections of one order, one
 * after the other. coef[sections][2 (order + 1)]: b[0..order], a[0..order] with a[0] = 1.
 * state[m][sections * order]: read as the state before the first sample, left as the state after
 * the last. reverse: from the last sample to the first. in and out may be the same rows. work:
 * sections * order * MCK_FILTER_LANES doubles, per worker. */
#ifndef MCK_FILTER_H
#define MCK_FILTER_H

#include "mck.h"

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

#endif
