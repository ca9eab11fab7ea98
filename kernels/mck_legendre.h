/* mck_legendre.h - Legendre polynomials and associated functions of whole degree and order.
 *
 * Eval_legendre, lpmv (with the Condon-Shortley phase) and the functions normalised on the sphere.
 * Upward recurrence in the degree, which is stable on [-1, 1] (DLMF 14.10.3). */
#ifndef MCK_LEGENDRE_H
#define MCK_LEGENDRE_H

#include "mck_gamma.h"

#define MCK_LEGENDRE_LIMIT 1e7 /* degrees past this would run for seconds */

/* P_n(x); P_{-n-1} = P_n. */
MCK_HEAVY double mck_eval_legendre_f64(double n, double x)
{
    n = n < 0 ? -n - 1.0 : n;
    if (!(n <= MCK_LEGENDRE_LIMIT) || !mck_is_whole_f64(n) || x != x)
        return MCK_NAN_F64;
    if (n == 0)
        return 1.0;
    if (fabs(x) > 1.0) { /* the plain recurrence, DLMF 18.9.1 */
        double below = 1.0, y = x;
        for (double k = 2.0; k <= n; k += 1.0) {
            const double t = ((2.0 * k - 1.0) * x * y - (k - 1.0) * below) / k;
            below = y;
            y = t;
        }
        return y;
    }
    /* the same for the difference to the degree below, which keeps the digits near 1 */
    const double a = fabs(x), e = a - 1.0;
    double p = a, d = e;
    for (double k = 1.0; k < n; k += 1.0) {
        d = (2.0 * k + 1.0) / (k + 1.0) * e * p + k / (k + 1.0) * d;
        p += d;
    }
    return x < 0 && mck_is_odd_f64(n) ? -p : p;
}

/* P_v^m(x) on [-1, 1] for whole v and m: DLMF 14.7.15 for v = m with (-1)^m, then 14.10.3; negative
 * m by 14.9.3. */
MCK_HEAVY double mck_lpmv_f64(double m, double v, double x)
{
    v = v < 0 ? -v - 1.0 : v;
    if (!(v <= MCK_LEGENDRE_LIMIT) || !mck_is_whole_f64(v) || !mck_is_whole_f64(m) ||
        !(fabs(x) <= 1.0))
        return MCK_NAN_F64;
    const double o = fabs(m);
    if (o > v)
        return 0;
    double p = 1.0;
    const double s = sqrt((1.0 - x) * (1.0 + x));
    for (double k = 1.0; k <= o; k += 1.0)
        p *= -(2.0 * k - 1.0) * s;
    double below = 0;
    for (double k = o + 1.0; k <= v; k += 1.0) {
        const double t = ((2.0 * k - 1.0) * x * p - (k + o - 1.0) * below) / (k - o);
        below = p;
        p = t;
    }
    if (m >= 0 || o == 0)
        return p;
    const double f = mck_gamma_f64(v + o + 1.0) < MCK_INF_F64
                         ? p / mck_poch_f64(v - o + 1.0, 2.0 * o)
                         : p * exp(lgamma(v - o + 1.0) - lgamma(v + o + 1.0));
    return mck_is_odd_f64(o) ? -f : f;
}

/* sqrt((2 n + 1) / (4 pi) (n - m)! / (n + m)!) P_n^m(cos theta): the spherical harmonic at azimuth
 * 0, DLMF 14.30.1. The normalised recurrence neither overflows nor loses digits with the order. */
MCK_HEAVY double mck_sph_legendre_p_f64(double n, double m, double theta)
{
    if (!(n >= 0 && n <= MCK_LEGENDRE_LIMIT) || !mck_is_whole_f64(n) || !mck_is_whole_f64(m) ||
        !(fabs(theta) < MCK_INF_F64))
        return MCK_NAN_F64;
    const double o = fabs(m), x = cos(theta), s = fabs(sin(theta));
    if (o > n)
        return 0;
    double p = 0.28209479177387814347; /* 1 / sqrt(4 pi) */
    for (double k = 1.0; k <= o; k += 1.0)
        p *= -s * sqrt((2.0 * k + 1.0) / (2.0 * k));
    double below = 0;
    for (double k = o + 1.0; k <= n; k += 1.0) {
        const double d = (k - o) * (k + o), a = sqrt((2.0 * k - 1.0) * (2.0 * k + 1.0) / d);
        const double b =
            k - 1.0 > o
                ? sqrt((2.0 * k + 1.0) * (k - 1.0 - o) * (k - 1.0 + o) / ((2.0 * k - 3.0) * d))
                : 0.0;
        const double t = a * x * p - b * below;
        below = p;
        p = t;
    }
    return m < 0 && mck_is_odd_f64(o) ? -p : p;
}

MCK_F32_OF_2(eval_legendre)
MCK_F32_OF_3(lpmv)
MCK_F32_OF_3(sph_legendre_p)

#endif
