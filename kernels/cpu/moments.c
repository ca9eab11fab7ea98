/* moments.c - count, mean and sums of powers of deviations of rows and columns, memory read once.
 *
 * A row is taken in blocks that stay in cache. With any number near its mean as shift, s1 = sum (x
 * - shift) and s2 = sum (x - shift)^2 give m2 = s2 - s1^2 / n without cancellation and the mean
 * beyond f64. The shift is the mean so far; where that is more than a spread away, the block is
 * read again, from cache. Blocks are joined by their means. The error grows neither with the
 * length nor with the distance of the mean from 0. Source: Updating formulae and a pairwise
 * algorithm for computing sample variances, 1979, equations 2.1, 3.1; for the third and fourth
 * power: Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
 * statistical moments, 2008, equations 2.1 to 2.3. */
#include "../mck_lanes.h"
#include "../mck_partial.h"
#include "../mck_reduce.h"

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
        ((mck_moments *)k->out)[i] =
            tree((const mck_moments *)k->in + i * k->row_stride, k->n, k->elem_stride);
}

/* a = a and b together, third and fourth powers too */
static void join4(mck_moments4 *a, const mck_moments4 *b)
{
    if (b->n == 0)
        return;
    if (a->n == 0) {
        *a = *b;
        return;
    }
    const double n = a->n + b->n, p = a->n / n, q = b->n / n,
                 d = (b->mean - a->mean) + (b->low - a->low), d2 = d * d;
    a->m4 += b->m4 + d2 * d2 * (a->n * q * (p * p - p * q + q * q)) +
             6 * d2 * (p * p * b->m2 + q * q * a->m2) + 4 * d * (p * b->m3 - q * a->m3);
    a->m3 += b->m3 + d2 * d * (a->n * q * (p - q)) + 3 * d * (p * b->m2 - q * a->m2);
    mck_moments low = {a->n, a->mean, a->low, a->m2};
    const mck_moments other = {b->n, b->mean, b->low, b->m2};
    join(&low, &other);
    a->n = low.n;
    a->mean = low.mean;
    a->low = low.low;
    a->m2 = low.m2;
}

/* from sums of powers of x - shift */
static mck_moments4 settled4(double n, double shift, double s1, double s2, double s3, double s4)
{
    const mck_moments low = settled(n, shift, s1, s2);
    const double off = s1 / n;
    mck_moments4 r = { n,
                       low.mean,
                       low.low,
                       low.m2,
                       s3 - off * (3 * s2 - 2 * s1 * off),
                       s4 - off * (4 * s3 - off * (6 * s2 - 3 * s1 * off)) };
    return r;
}

static mck_moments4 tree4(const mck_moments4 *p, int64_t n, int64_t stride)
{
    if (n == 1)
        return *p;
    mck_moments4 a = tree4(p, n / 2, stride), b = tree4(p + n / 2 * stride, n - n / 2, stride);
    join4(&a, &b);
    return a;
}

void MCK(moments4_fold_f64)(const mck_reduce *k);
void MCK(moments4_fold_f64)(const mck_reduce *k)
{
    for (int64_t i = 0; i < k->m; i++)
        ((mck_moments4 *)k->out)[i] =
            tree4((const mck_moments4 *)k->in + i * k->row_stride, k->n, k->elem_stride);
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
