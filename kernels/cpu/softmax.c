/* softmax.c - log sum exp of rows and columns, and the two maps built on it.
 *
 * log sum exp goes in blocks that stay in cache: the largest of the block, then the sum of exp(x -
 * largest); blocks are joined by rescaling, so memory is read once. An infinite or NaN maximum is
 * the answer itself. softmax and log_softmax of a row that fits the cache are fused; longer rows
 * arrive with their maximum and sum. Sums run in f64. Terms below the normal numbers (2^-125 of
 * the largest in f32) may count as 0. Source: Accurately computing the log-sum-exp and softmax
 * functions, 2021, algorithms 3.1, 4.1. */
#include "../mck_below.h"
#include "../mck_extremes.h"
#include "../mck_partial.h"
#include "../mck_reduce.h"
#include "../mck_softmax.h"

#include <math.h>

#define ROW_BLOCK 2048
#define COLUMN_BLOCK 32
#define LANES 16
#define EXP_BLOCK 256

/* half of LANES, on every level */
typedef double eight_lanes __attribute__((vector_size(64), aligned(8)));

/* a number that can be subtracted: the maximum where it is finite */
MC_INLINE double anchor(double max)
{
    return fabs(max) <= 1.7976931348623157e308 ? max : 0.0;
}

/* a = a and b together; branch-free */
MC_INLINE void join(mck_lse *a, const mck_lse *b)
{
    const double max = b->max > a->max || b->max != b->max ? b->max : a->max, ref = anchor(max);
    a->sum = a->sum * mck_exp_f64(a->max - ref) + b->sum * mck_exp_f64(b->max - ref);
    a->max = max;
}

static mck_lse tree(const mck_lse *p, int64_t n, int64_t stride)
{
    if (n == 1)
        return *p;
    mck_lse a = tree(p, n / 2, stride), b = tree(p + n / 2 * stride, n - n / 2, stride);
    join(&a, &b);
    return a;
}

void MCK(lse_fold_f64)(const mck_reduce *k);
void MCK(lse_fold_f64)(const mck_reduce *k)
{
    for (int64_t i = 0; i < k->m; i++)
        ((mck_lse *)k->out)[i] =
            tree((const mck_lse *)k->in + i * k->row_stride, k->n, k->elem_stride);
}

#define T float
#define NAME(x) x##_f32
#include "softmax_body.h"

#define T double
#define NAME(x) x##_f64
#include "softmax_body.h"
