/* mck_quantile.h - the thirteen definitions of a sample quantile, numbered as in mck_select.h.
 * Source: Sample quantiles in statistical packages, 1996, definitions 1 to 9. */
#ifndef MCK_QUANTILE_H
#define MCK_QUANTILE_H

#include "mck.h"
#include <math.h>

/* A quantile lies `weight` of the way from the low-th to the high-th smallest element, counted from
 * 0. */
typedef struct mck_position {
    int64_t low, high;
    double weight;
} mck_position;

MC_INLINE mck_position mck_quantile_position(double p, int64_t n, int method)
{
    /* alpha, beta of the continuous definitions 4, 5, 6, 8, 9 (methods 8..12): h = n p + alpha + p
     * (1 - alpha - beta) */
    const double alpha = method == 9    ? 0.5
                         : method == 11 ? 1.0 / 3.0
                         : method == 12 ? 3.0 / 8.0
                                        : 0.0;
    const double beta = method == 8 ? 1.0 : alpha;
    const double size = (double)n;
    double h; /* position counted from 0 */
    if (method <= 4)
        h = (size - 1.0) * p;
    else if (method <= 6)
        h = size * p - 1.0;
    else if (method == 7)
        h = size * p - 1.5;
    else
        h = size * p + (alpha + p * (1.0 - alpha - beta)) - 1.0;
    const double whole = floor(h);
    double weight = h - whole;
    const int odd = whole - 2.0 * floor(0.5 * whole) != 0.0;
    switch (method) {
    case 1: weight = 0.0; break;
    case 2: weight = weight > 0.0 ? 1.0 : 0.0; break;
    case 3: weight = weight > 0.5 || (weight == 0.5 && odd) ? 1.0 : 0.0; break;
    case 4: weight = weight > 0.0 ? 0.5 : 0.0; break;
    case 5: weight = weight > 0.0 ? 1.0 : 0.0; break;
    case 6: weight = weight > 0.0 ? 1.0 : 0.5; break;
    case 7:
        weight = weight == 0.0 && odd ? 0.0 : 1.0;
        break; /* an even order statistic, counted from 1 */
    default: break;
    }
    mck_position at = { 0, 0, 0.0 };
    if (whole >= size - 1.0) {
        at.low = at.high = n - 1;
    } else if (whole >= 0.0) {
        at.low = (int64_t)whole + (weight == 1.0);
        at.high = (int64_t)whole + (weight > 0.0);
        at.weight = weight == 1.0 ? 0.0 : weight;
    }
    return at;
}

/* Straight line from a to b, exact at both ends, monotone in the weight, and right when an end is
 * infinite. */
MC_INLINE double mck_quantile_between(double a, double b, double weight)
{
    if (weight == 0.0 || a == b) return a;
    const double span = b - a;
    if (!isfinite(span))
        return a * (1.0 - weight) + b * weight; /* an infinite end, or ends far apart */
    if (weight == 0.5 && isfinite(a + b)) return 0.5 * (a + b);
    return weight < 0.5 ? a + span * weight : b - span * (1.0 - weight);
}

#endif
