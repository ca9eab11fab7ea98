/* mck_standardise.h - arguments of layer and group norms and of their derivatives.
 *
 * m rows of n = k p elements: k channels of p neighbours each. Row r has the channels
 * ((first + r) k + i) mod c. standardise: y = w (x - mean) / sqrt(variance + eps) + b, moments of
 * the row. standardise_back, for a gradient g of y: out of x; sums[2][c]: added up over the rows,
 * for w and for b. w, b, sums: NULL where they are absent. */
#ifndef MCK_STANDARDISE_H
#define MCK_STANDARDISE_H

#include "mck.h"

typedef struct mck_standardise {
    int64_t m, n, k, p, c, first;
    void *out;
    const void *x, *g, *w, *b;
    double *sums, eps;
} mck_standardise;
typedef void (*mck_standardise_fn)(const mck_standardise *a);

#endif
