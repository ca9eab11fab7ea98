/* mck_partial.h - partial results of reductions that need more than one number.
 *
 * A kernel gives one struct per row piece (or column piece); the kernel <name>_fold joins k->n of
 * them per row, row_stride and elem_stride apart, in a binary tree that depends on k->n alone. */
#ifndef MCK_PARTIAL_H
#define MCK_PARTIAL_H

#include "mck.h"

/* n numbers with mean (mean + low: low is what rounding took off) and m2 = sum (x - mean)^2 */
typedef struct mck_moments { double n, mean, low, m2; } mck_moments;

/* the same with m3 = sum (x - mean)^3 and m4 = sum (x - mean)^4 */
typedef struct mck_moments4 { double n, mean, low, m2, m3, m4; } mck_moments4;

/* log sum exp = max + log(sum), sum = sum exp(x - max); infinite or NaN max: the answer itself */
struct mck_lse { double max, sum; };
typedef struct mck_lse mck_lse;

/* Most columns one call of a column form may have. */
#define MCK_REDUCE_COLUMNS 512

#endif
