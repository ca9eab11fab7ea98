/* moments.c - count, mean and sum of squared deviations of rows and columns, memory read once.
 *
 * A row is taken in blocks that stay in cache. With any number near its mean as shift, s1 = sum (x - shift) and s2 = sum (x - shift)^2
 * give m2 = s2 - s1^2 / n without cancellation and the mean beyond f64. The shift is the mean so far; where that is more than a spread
 * away, the block is read again, from cache. Blocks are joined by their means. The error grows neither with the length nor with the
 * distance of the mean from 0.
 * Source: Updating formulae and a pairwise algorithm for computing sample variances, 1979, equations 2.1, 3.1. May not know threads. */
#include "../mck_partial.h"

#include <math.h>

#define ROW_BLOCK 2048
#define COLUMN_BLOCK 32 /* rows; 32 x 512 f64 are 128 KiB */

/* a = a and b together */
static void join(mck_moments *a, const mck_moments *b)
{
    if (b->n == 0)
        return;
    if (a->n == 0) {
        *a = *b;
        return;
    }
    const double n = a->n + b->n, delta = (b->mean - a->mean) + (b->low - a->low);
    const double step = delta * (b->n / n), mean = a->mean + step, part = mean - a->mean;
    a->m2 += b->m2 + delta * delta * (a->n * (b->n / n));
    a->low += (a->mean - (mean - part)) + (step - part);
    a->mean = mean;
    a->n = n;
}

static mck_moments settled(double n, double shift, double s1, double s2)
{
    mck_moments r = {n, 0, 0, 0};
    if (n == 0)
        return r;
    const double off = s1 / n, part = (shift + off) - shift;
    r.mean = shift + off;
    r.low = (shift - (r.mean - part)) + (off - part);
    r.m2 = s2 - s1 * off;
    r.m2 = r.m2 < 0 ? 0 : r.m2;
    return r;
}

/* Was the shift within a spread of the mean, so that m2 lost less than a bit? No for NaN. */
static int close_enough(const mck_moments *b, double shift)
{
    const double off = (b->mean - shift) + b->low;
    return b->n == 0 || b->n * off * off <= b->m2;
}

/* p[n], stride elements apart, as a tree */
static mck_moments tree(const mck_moments *p, int64_t n, int64_t stride)
{
    if (n == 1)
        return *p;
    mck_moments a = tree(p, n / 2, stride), b = tree(p + n / 2 * stride, n - n / 2, stride);
    join(&a, &b);
    return a;
}

void MCK(moments_fold_f64)(const mck_reduce *k);
void MCK(moments_fold_f64)(const mck_reduce *k)
{
    for (int64_t i = 0; i < k->m; i++)
        ((mck_moments *)k->out)[i] = tree((const mck_moments *)k->in + i * k->row_stride, k->n, k->elem_stride);
}

#define T float
#define COUNT int32_t
#define NEAR 0x1p-17
#define NAME(x) x##_f32
#include "moments_body.h"

#define T double
#define COUNT int64_t
#define NEAR 0x1p-46
#define NAME(x) x##_f64
#include "moments_body.h"
