/* mck_arc_c.h - complex inverse functions, logarithms to other bases, and exp and log near 0 and 1.
 *
 * Asin acos atan asinh acosh atanh, log2 log10 log1p, expm1 and round on mck_c64 and mck_c128,
 * with the special values of the Python array API standard (those of C99 Annex G). Errors are
 * normwise, as in mck_math_c.h, measured by tests/c/ulp.c.
 *
 * asin and acos: with r = |z + 1|, s = |z - 1|, a = (r + s) / 2 and b = Re z / a the results are
 * asin b (or an arc tangent where b is close to 1) and log(a + sqrt(a^2 - 1)). Every difference is
 * rewritten as a sum of positive terms: Implementing the complex arcsine and arccosine functions
 * using exception handling, 1997. asinh and acosh are the same functions turned by i. */
#ifndef MCK_ARC_C_H
#define MCK_ARC_C_H

#include "mck_math_c.h"

#define MCK_HALF_PI_F64 (0.5 * MCK_PI_HI)
#define MCK_ARC_FAR 0x1p60  /* beyond, 1 is nothing beside z^2 */
#define MCK_ARC_NEAR 0x1p-53 /* an imaginary part below this share of |x - 1| acts to first order */

/* What asin and acos share, for x, y >= 0 finite: *along = asin x' and *across = acos x', the parts
 * along the real axis, *up the common part along the imaginary axis. */
MC_INLINE void mck_arc_parts_c128(double x, double y, double *along, double *across, double *up)
{
    double big = x > y ? x : y;
    if (big >= MCK_ARC_FAR) {
        double half = 0.5 * mck_hypot_f64(0.5 * x, 0.5 * y);
        *along = mck_atan2_f64(x, y);
        *across = mck_atan2_f64(y, x);
        *up = mck_log_f64(half) + 3.0 * MCK_LN2; /* log 2 |z| */
        return;
    }
    double d = 1.0 - x, ad = mck_abs_f64(d);
    if (y <= MCK_ARC_NEAR * ad || y == 0.0) {
        double root = sqrt(ad * (x + 1.0));
        if (x < 1.0) {
            *along = mck_asin_f64(x);
            *across = mck_acos_f64(x);
            *up = y / root;
        } else {
            *along = MCK_HALF_PI_F64;
            *across = y == 0.0 ? 0.0 : y / root;
            *up = mck_log1p_f64(ad + root);
        }
        return;
    }
    double r = mck_hypot_f64(x + 1.0, y), s = mck_hypot_f64(d, y);
    double a = 0.5 * (r + s), b = x / a, apx = a + x;
    double right = y * (y / (r + x + 1.0)); /* r - (x + 1) */
    double left = d > 0.0 ? y * (y / (s + d)) : s - d; /* s - (1 - x) */
    if (b <= 0.6417) { /* crossover of the paper: asin is well conditioned below */
        *along = mck_asin_f64(b);
        *across = mck_acos_f64(b);
    } else {
        double t = x <= 1.0 ? sqrt(0.5 * apx * (right + (s + d)))
                            : y * sqrt(0.5 * (apx / (r + x + 1.0) + apx / (s - d)));
        *along = mck_atan2_f64(x, t);
        *across = mck_atan2_f64(t, x);
    }
    if (a <= 1.5) {
        double m = 0.5 * (right + left); /* a - 1 */
        *up = mck_log1p_f64(m + sqrt(m * (a + 1.0)));
    } else {
        *up = mck_log_f64(a + sqrt(a * a - 1.0));
    }
}

MC_INLINE int mck_finite_c128(mck_c128 a)
{
    return (a.re - a.re == 0.0) & (a.im - a.im == 0.0);
}

MC_INLINE mck_c128 mck_asin_c128(mck_c128 a)
{
    double x = mck_abs_f64(a.re), y = mck_abs_f64(a.im), along, across, up;
    if (!mck_finite_c128(a)) {
        if (y == MCK_INF_F64 || (x == MCK_INF_F64 && y == y))
            return mck_make_c128(x != x ? a.re : mck_copysign_f64(mck_atan2_f64(x, y), a.re),
                                 mck_copysign_f64(MCK_INF_F64, a.im));
        if (x == MCK_INF_F64)
            return mck_make_c128(a.im, a.re);
        return mck_make_c128(x == 0.0 ? a.re : MCK_NAN_F64, MCK_NAN_F64);
    }
    mck_arc_parts_c128(x, y, &along, &across, &up);
    return mck_make_c128(mck_copysign_f64(along, a.re), mck_copysign_f64(up, a.im));
}

MC_INLINE mck_c128 mck_acos_c128(mck_c128 a)
{
    double x = mck_abs_f64(a.re), y = mck_abs_f64(a.im), along, across, up;
    if (!mck_finite_c128(a)) {
        if (y == MCK_INF_F64 || (x == MCK_INF_F64 && y == y))
            return mck_make_c128(x != x ? a.re : mck_atan2_f64(y, a.re),
                                 -mck_copysign_f64(MCK_INF_F64, a.im));
        if (x == MCK_INF_F64)
            return mck_make_c128(MCK_NAN_F64, -MCK_INF_F64);
        return mck_make_c128(x == 0.0 ? MCK_HALF_PI_F64 : MCK_NAN_F64, MCK_NAN_F64);
    }
    mck_arc_parts_c128(x, y, &along, &across, &up);
    double re = mck_copysign_f64(1.0, a.re) < 0.0 ? MCK_PI_HI - (across - MCK_PI_LO) : across;
    return mck_make_c128(re, -mck_copysign_f64(up, a.im));
}

/* asinh z = -i asin(i z) */
MC_INLINE mck_c128 mck_asinh_c128(mck_c128 a)
{
    mck_c128 w = mck_asin_c128(mck_make_c128(-a.im, a.re));
    return mck_make_c128(w.im, -w.re);
}

/* acosh z = +-i acos z, the sign that makes the real part positive */
MC_INLINE mck_c128 mck_acosh_c128(mck_c128 a)
{
    mck_c128 w = mck_acos_c128(a);
    return mck_make_c128(mck_abs_f64(w.im), a.im != a.im ? w.re : mck_copysign_f64(w.re, a.im));
}

/* re = log(1 + 4 x / ((1 - x)^2 + y^2)) / 4 and im = atan2(2 y, (1 - x)(1 + x) - y^2) / 2 for x >=
 * 0: Branch cuts for complex elementary functions, 1987. */
MC_INLINE mck_c128 mck_atanh_c128(mck_c128 a)
{
    double x = mck_abs_f64(a.re), y = mck_abs_f64(a.im), re, im;
    if (y != y) {
        return mck_make_c128(x == MCK_INF_F64 ? mck_copysign_f64(0.0, a.re)
                             : x == 0.0       ? a.re
                                              : MCK_NAN_F64,
                             MCK_NAN_F64);
    } else if (x != x && y != MCK_INF_F64) {
        return mck_make_c128(MCK_NAN_F64, MCK_NAN_F64);
    } else if (x == MCK_INF_F64 || y == MCK_INF_F64 || x >= MCK_ARC_FAR || y >= MCK_ARC_FAR) {
        re = x != x || x == MCK_INF_F64 || y == MCK_INF_F64 ? 0.0 : 1.0 / (x + y * (y / x));
        im = MCK_HALF_PI_F64;
    } else {
        double d = 1.0 - x;
        if (x == 1.0 && y < 0x1p-500)
            re = 0.5 * (MCK_LN2 - mck_log_f64(y));
        else
            re = 0.25 * mck_log1p_f64(4.0 * x / MC_MULADD(d, d, y * y));
        im = 0.5 * mck_atan2_f64(2.0 * y, MC_MULADD(d, 1.0 + x, -(y * y)));
    }
    return mck_make_c128(mck_copysign_f64(re, a.re), mck_copysign_f64(im, a.im));
}

/* atan z = -i atanh(i z) */
MC_INLINE mck_c128 mck_atan_c128(mck_c128 a)
{
    mck_c128 w = mck_atanh_c128(mck_make_c128(-a.im, a.re));
    return mck_make_c128(w.im, -w.re);
}

MC_INLINE mck_c128 mck_log2_c128(mck_c128 a)
{
    mck_c128 w = mck_log_c128(a);
    return mck_make_c128(w.re * MCK_LOG2E, w.im * MCK_LOG2E);
}

MC_INLINE mck_c128 mck_log10_c128(mck_c128 a)
{
    const double scale = 0.43429448190325182765;
    mck_c128 w = mck_log_c128(a);
    return mck_make_c128(w.re * scale, w.im * scale);
}

/* |1 + z|^2 - 1 = x (2 + x) + y^2 for small z; where that cancels, the angle y is the larger
 * part. */
MC_INLINE mck_c128 mck_log1p_c128(mck_c128 a)
{
    double u = 1.0 + a.re;
    if (mck_abs_f64(a.re) < 0.5 && mck_abs_f64(a.im) < 0.5)
        return mck_make_c128(0.5 * mck_log1p_f64(MC_MULADD(a.re, 2.0 + a.re, a.im * a.im)),
                             mck_atan2_f64(a.im, u));
    return mck_log_c128(mck_make_c128(u, a.im));
}

/* (e^x - 1) cos y - 2 sin(y / 2)^2 */
MC_INLINE mck_c128 mck_expm1_c128(mck_c128 a)
{
    /* +0 for -0: the array API's special case */
    if (a.im == 0.0)
        return mck_make_c128(mck_expm1_f64(a.re) + 0.0, a.im);
    if (!mck_finite_c128(a) || mck_abs_f64(a.re) > 40.0) {
        mck_c128 w = mck_exp_c128(a);
        return mck_make_c128(w.re - 1.0, w.im);
    }
    double h = mck_sin_f64_any(0.5 * a.im), c = mck_cos_f64_any(a.im), s = mck_sin_f64_any(a.im);
    return mck_make_c128(MC_MULADD(mck_expm1_f64(a.re), c, -2.0 * h * h), mck_exp_f64(a.re) * s);
}

MC_INLINE mck_c128 mck_round_c128(mck_c128 a)
{
    return mck_make_c128(mck_round_f64(a.re), mck_round_f64(a.im));
}

MCK_C64_BY_C128_(asin)
MCK_C64_BY_C128_(acos)
MCK_C64_BY_C128_(atan)
MCK_C64_BY_C128_(asinh)
MCK_C64_BY_C128_(acosh)
MCK_C64_BY_C128_(atanh)
MCK_C64_BY_C128_(log2)
MCK_C64_BY_C128_(log10)
MCK_C64_BY_C128_(log1p)
MCK_C64_BY_C128_(expm1)
MCK_C64_BY_C128_(round)

#endif
