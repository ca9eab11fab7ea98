/* softmax.c - log sum exp of rows and columns, and the two maps built on it.
 *
 * log sum exp goes in blocks that stay in cache: the largest of the block, then the sum of exp(x -
 * largest); blocks are joined by rescaling, so memory is read once. An infinite or NaN maximum is
 * the answer itself. softmax and log_softmax of a row that fits the cache are fused; longer rows
 * arrive with their maximum and sum. Sums run in f64. Terms below the normal numbers (2^-125 of
 * the largest in f32) may count as 0. Source: Accurately computing the log-sum-exp and softmax
 * functions, 2021, algorithms 3.1, 4.1. */
#include "../mck_math.h"
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

/* exp(x) for x <= 0 in one scaling: 0 below the normal numbers, any number for x > 0. The number of
 * halvings stands in the low bits of t. */
MC_INLINE float below_f32(float x)
{
    const float t = MC_MULADDF(x, MCK_LOG2E_F, 0x1.8p23f + 127.0f), n = t - (0x1.8p23f + 127.0f);
    const float r = MC_MULADDF(-n, MCK_LN2_LO_F, MC_MULADDF(-n, MCK_LN2_HI_F, x));
    const float y =
        (1.0f + MC_MULADDF(r * r, mck_exp_q_f32(r), r)) * mck_from_bits_f32(mck_bits_f32(t) << 23);
    return x < -0x1.5d5p6f ? 0.0f : y;
}

MC_INLINE double below_f64(double x)
{
    const double t = MC_MULADD(x, MCK_LOG2E, 0x1.8p52 + 1023.0), n = t - (0x1.8p52 + 1023.0);
    const double r = MC_MULADD(-n, MCK_LN2_LO, MC_MULADD(-n, MCK_LN2_HI, x));
    const double y =
        (1.0 + MC_MULADD(r * r, mck_exp_q_f64(r), r)) * mck_from_bits_f64(mck_bits_f64(t) << 52);
    return x < -0x1.62p9 ? 0.0 : y;
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
