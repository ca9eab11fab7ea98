/* mck_math_c.h - complex arithmetic and elementary functions on mck_c64 and mck_c128.
 *
 * The complex functions and their special values (C99 Annex G where a limit exists). add, sub,
 * neg, conj, mul and div are branch-free and vectorise; the rest are plain scalar code on the real
 * functions of mck_math.h. Transcendental c64 functions are the c128 ones rounded once. Errors are
 * normwise: |got - exact| in ULP of |exact|, measured by tests/c/ulp.c. A product may lose all
 * digits of one component by cancellation. */
#ifndef MCK_MATH_C_H
#define MCK_MATH_C_H

#include "mck.h"
#include "mck_math.h"

MC_INLINE mck_c128 mck_make_c128(double re, double im)
{
    mck_c128 z;
    z.re = re;
    z.im = im;
    return z;
}

MC_INLINE mck_c64 mck_make_c64(float re, float im)
{
    mck_c64 z;
    z.re = re;
    z.im = im;
    return z;
}

MC_INLINE mck_c128 mck_widen_c64(mck_c64 a)
{
    return mck_make_c128((double)a.re, (double)a.im);
}

MC_INLINE mck_c64 mck_narrow_c128(mck_c128 a)
{
    return mck_make_c64((float)a.re, (float)a.im);
}

/* ---- arithmetic ---- */

MC_INLINE mck_c128 mck_add_c128(mck_c128 a, mck_c128 b)
{
    return mck_make_c128(a.re + b.re, a.im + b.im);
}

MC_INLINE mck_c128 mck_sub_c128(mck_c128 a, mck_c128 b)
{
    return mck_make_c128(a.re - b.re, a.im - b.im);
}

MC_INLINE mck_c128 mck_neg_c128(mck_c128 a)
{
    return mck_make_c128(-a.re, -a.im);
}

MC_INLINE mck_c128 mck_conj_c128(mck_c128 a)
{
    return mck_make_c128(a.re, -a.im);
}

MC_INLINE mck_c128 mck_mul_c128(mck_c128 a, mck_c128 b)
{
    return mck_make_c128(MC_PRODUCT(a.re, b.re) - MC_PRODUCT(a.im, b.im),
                         MC_PRODUCT(a.re, b.im) + MC_PRODUCT(a.im, b.re));
}

/* 2^-e for |x| in [2^e, 2^(e+1)), held within 2^-1022..2^1022. */
MC_INLINE double mck_unit_scale_f64(double x)
{
    uint64_t e = mck_bits_f64(x) & 0x7ff0000000000000u;
    e = e > 0x7fd0000000000000u ? 0x7fd0000000000000u : e;
    e = e == 0 ? 0x0010000000000000u : e;
    return mck_from_bits_f64(0x7fe0000000000000u - e);
}

/* Smith 1962 on a divisor first scaled to about 1, so that only the quotient itself can over- or
 * underflow. a / 0 is the pair of IEEE quotients by +0. */
MC_INLINE mck_c128 mck_div_c128(mck_c128 a, mck_c128 b)
{
    int swap = mck_abs_f64(b.re) < mck_abs_f64(b.im);
    double s = mck_unit_scale_f64(swap ? b.im : b.re);
    double p = (swap ? b.im : b.re) * s, q = (swap ? b.re : b.im) * s;
    double r = p == 0.0 ? 0.0 : q / p;
    double d = p == 0.0 ? 0.0 : p + MC_PRODUCT(q, r);
    double m = mck_maximum_f64(mck_abs_f64(a.re), mck_abs_f64(a.im));
    double up = m < 0x1p-800 ? 0x1p200 : 0.5, back = m < 0x1p-800 ? 0x1p-200 : 2.0;
    double ar = MC_PRODUCT(a.re, up), ai = MC_PRODUCT(a.im, up);
    double re = swap ? MC_PRODUCT(ar, r) + ai : ar + MC_PRODUCT(ai, r);
    double im = swap ? MC_PRODUCT(ai, r) - ar : ai - MC_PRODUCT(ar, r);
    return mck_make_c128(re / d * s * back, im / d * s * back);
}

MC_INLINE double mck_abs_c128(mck_c128 a)
{
    return mck_hypot_f64(a.re, a.im);
}

MC_INLINE double mck_arg_c128(mck_c128 a)
{
    return mck_atan2_f64(a.im, a.re);
}

MC_INLINE mck_c64 mck_add_c64(mck_c64 a, mck_c64 b)
{
    return mck_make_c64(a.re + b.re, a.im + b.im);
}

MC_INLINE mck_c64 mck_sub_c64(mck_c64 a, mck_c64 b)
{
    return mck_make_c64(a.re - b.re, a.im - b.im);
}

MC_INLINE mck_c64 mck_neg_c64(mck_c64 a)
{
    return mck_make_c64(-a.re, -a.im);
}

MC_INLINE mck_c64 mck_conj_c64(mck_c64 a)
{
    return mck_make_c64(a.re, -a.im);
}

MC_INLINE mck_c64 mck_mul_c64(mck_c64 a, mck_c64 b)
{
    return mck_make_c64(MC_PRODUCT(a.re, b.re) - MC_PRODUCT(a.im, b.im),
                        MC_PRODUCT(a.re, b.im) + MC_PRODUCT(a.im, b.re));
}

/* By the textbook formula in f64, where squares of f32 neither overflow nor vanish. */
MC_INLINE mck_c64 mck_div_c64(mck_c64 a, mck_c64 b)
{
    double ar = (double)a.re, ai = (double)a.im, br = (double)b.re, bi = (double)b.im;
    double d = br * br + bi * bi;
    double re = d == 0.0 ? ar : MC_PRODUCT(ar, br) + MC_PRODUCT(ai, bi);
    double im = d == 0.0 ? ai : MC_PRODUCT(ai, br) - MC_PRODUCT(ar, bi);
    int gone = (d == MCK_INF_F64) & (ar - ar == 0.0) & (ai - ai == 0.0); /* finite / infinite */
    return mck_make_c64((float)(gone ? 0.0 : re / d), (float)(gone ? 0.0 : im / d));
}

MC_INLINE float mck_abs_c64(mck_c64 a)
{
    return mck_hypot_f32(a.re, a.im);
}

MC_INLINE float mck_arg_c64(mck_c64 a)
{
    return mck_atan2_f32(a.im, a.re);
}

/* ---- elementary functions ---- */

/* e^x (cos y, sin y) 2^-k; x within +-1400. The factor 2^64 keeps a large e^x off the end of the
 * format until the sine or cosine has had its say. */
MC_INLINE mck_c128 mck_cis_scaled_c128(double x, double y, double k)
{
    double up = x > 600.0 ? 64.0 : 0.0, s = mck_pow2i_f64(up);
    double e = mck_exp_scaled_f64(x, k + up);
    return mck_make_c128(e * mck_cos_f64_any(y) * s, e * mck_sin_f64_any(y) * s);
}

MC_INLINE double mck_clamp_exp_f64(double x)
{
    double c = x > 1400.0 ? 1400.0 : x;
    return c < -1400.0 ? -1400.0 : c;
}

MC_INLINE mck_c128 mck_exp_c128(mck_c128 a)
{
    if (a.im == 0.0)
        return mck_make_c128(mck_exp_f64(a.re), a.im);
    if (a.im - a.im != 0.0) { /* no direction to follow */
        if (a.re == -MCK_INF_F64)
            return mck_make_c128(0.0, 0.0);
        return mck_make_c128(a.re == MCK_INF_F64 ? a.re : MCK_NAN_F64, MCK_NAN_F64);
    }
    if (a.re == MCK_INF_F64)
        return mck_make_c128(a.re * mck_cos_f64_any(a.im), a.re * mck_sin_f64_any(a.im));
    return mck_cis_scaled_c128(mck_clamp_exp_f64(a.re), a.im, 0.0);
}

/* log |a|. Near the unit circle from |a|^2 - 1 with both squares in two parts, since the sum
 * cancels. */
MC_INLINE double mck_log_abs_c128(mck_c128 a)
{
    double x = mck_abs_f64(a.re), y = mck_abs_f64(a.im), m = x > y ? x : y, k = x > y ? y : x;
    if (m > 0.5 && m < 1.5) {
        double p = m * m, q = k * k, u = p - 1.0, s = u + q, v = s - u;
        double err = (u - (s - v)) + (q - v);
        err = err + (mck_prod_err_f64(m, m, p) + mck_prod_err_f64(k, k, q));
        return 0.5 * mck_log1p_f64(s + err);
    }
    double n = m > 0x1p1000 ? -10.0 : (m < 0x1p-900 ? 120.0 : 0.0), s = mck_pow2i_f64(n);
    return mck_log_f64(mck_hypot_f64(x * s, y * s)) - n * MCK_LN2;
}

MC_INLINE mck_c128 mck_log_c128(mck_c128 a)
{
    return mck_make_c128(mck_log_abs_c128(a), mck_arg_c128(a));
}

/* Principal root, by Kahan 1987: no cancellation in |re| + |a|. */
MC_INLINE mck_c128 mck_sqrt_c128(mck_c128 a)
{
    double x = mck_abs_f64(a.re), y = mck_abs_f64(a.im), m = x > y ? x : y;
    if (y == MCK_INF_F64)
        return mck_make_c128(y, a.im);
    if (x == MCK_INF_F64) {
        double still = a.im != a.im ? a.im : 0.0;
        double along = a.im != a.im ? a.im : mck_copysign_f64(0.0, a.im);
        return a.re > 0.0 ? mck_make_c128(x, along)
                          : mck_make_c128(still, mck_copysign_f64(x, a.im));
    }
    if (x == 0.0 && y == 0.0)
        return mck_make_c128(0.0, a.im);
    double n = m > 0x1p1000 ? -2.0 : (m < 0x1p-900 ? 60.0 : 0.0);
    double s = mck_pow2i_f64(2.0 * n), back = mck_pow2i_f64(-n);
    double t = sqrt(0.5 * (x * s + mck_hypot_f64(x * s, y * s)));
    double o = 0.5 * (y * s) / t;
    t = t * back;
    o = o * back;
    return a.re < 0.0 ? mck_make_c128(o, mck_copysign_f64(t, a.im))
                      : mck_make_c128(t, mck_copysign_f64(o, a.im));
}

MC_INLINE mck_c128 mck_sinh_c128(mck_c128 a)
{
    double x = a.re, y = a.im, ax = mck_abs_f64(x);
    if (y == 0.0)
        return mck_make_c128(mck_sinh_f64(x), y);
    if (y - y != 0.0)
        return mck_make_c128(((x == 0.0) | (ax == MCK_INF_F64)) ? x : MCK_NAN_F64, MCK_NAN_F64);
    if (ax == MCK_INF_F64)
        return mck_make_c128(x * mck_cos_f64_any(y), ax * mck_sin_f64_any(y));
    if (ax > 40.0) {
        mck_c128 e = mck_cis_scaled_c128(mck_clamp_exp_f64(ax), y, 1.0);
        return mck_make_c128(mck_copysign_f64(1.0, x) * e.re, e.im);
    }
    return mck_make_c128(mck_sinh_f64(x) * mck_cos_f64_any(y),
                         mck_cosh_f64(x) * mck_sin_f64_any(y));
}

MC_INLINE mck_c128 mck_cosh_c128(mck_c128 a)
{
    double x = a.re, y = a.im, ax = mck_abs_f64(x), sign = mck_copysign_f64(1.0, x);
    if (y == 0.0)
        return mck_make_c128(mck_cosh_f64(x), x != x ? y : sign * y);
    if (y - y != 0.0)
        return mck_make_c128(ax == MCK_INF_F64 ? ax : MCK_NAN_F64, x == 0.0 ? 0.0 : MCK_NAN_F64);
    if (ax == MCK_INF_F64)
        return mck_make_c128(ax * mck_cos_f64_any(y), x * mck_sin_f64_any(y));
    if (ax > 40.0) {
        mck_c128 e = mck_cis_scaled_c128(mck_clamp_exp_f64(ax), y, 1.0);
        return mck_make_c128(e.re, sign * e.im);
    }
    if (x == 0.0)
        return mck_make_c128(mck_cos_f64_any(y), x * mck_sin_f64_any(y));
    return mck_make_c128(mck_cosh_f64(x) * mck_cos_f64_any(y),
                         mck_sinh_f64(x) * mck_sin_f64_any(y));
}

/* Kahan 1987: with t = tan y, s = sinh x the denominator 1 + (1 + t^2) s^2 never cancels. */
MC_INLINE mck_c128 mck_tanh_c128(mck_c128 a)
{
    double x = a.re, y = a.im, ax = mck_abs_f64(x);
    if (y == 0.0)
        return mck_make_c128(mck_tanh_f64(x), y);
    if (y - y != 0.0) {
        if (ax == MCK_INF_F64)
            return mck_make_c128(mck_copysign_f64(1.0, x), mck_copysign_f64(0.0, y));
        return mck_make_c128(x == 0.0 ? x : MCK_NAN_F64, MCK_NAN_F64);
    }
    if (ax > 22.0) { /* 1 - |re| < 2^-60; im = 2 sin(2y) exp(-2|x|) */
        double tail = mck_exp_f64(-ax);
        double im = 4.0 * mck_sin_f64_any(y) * mck_cos_f64_any(y) * tail * tail;
        return mck_make_c128(mck_copysign_f64(1.0, x), im);
    }
    double t = mck_tan_f64_any(y), s = mck_sinh_f64(x), b = MC_MULADD(t, t, 1.0);
    double d = MC_MULADD(b * s, s, 1.0);
    return mck_make_c128(b * sqrt(MC_MULADD(s, s, 1.0)) * s / d, t / d);
}

/* sin, cos, tan from the hyperbolic functions of i a. */
MC_INLINE mck_c128 mck_sin_c128(mck_c128 a)
{
    mck_c128 h = mck_sinh_c128(mck_make_c128(-a.im, a.re));
    return mck_make_c128(h.im, -h.re);
}

MC_INLINE mck_c128 mck_cos_c128(mck_c128 a)
{
    return mck_cosh_c128(mck_make_c128(-a.im, a.re));
}

MC_INLINE mck_c128 mck_tan_c128(mck_c128 a)
{
    mck_c128 h = mck_tanh_c128(mck_make_c128(-a.im, a.re));
    return mck_make_c128(h.im, -h.re);
}

/* a^n, n >= 0, by repeated squaring. */
MC_INLINE mck_c128 mck_power_whole_c128(mck_c128 a, int n)
{
    mck_c128 r = mck_make_c128(1.0, 0.0);
    for (int first = 1; n > 0; n >>= 1) {
        if (n & 1) {
            r = first ? a : mck_mul_c128(r, a);
            first = 0;
        }
        if (n > 1)
            a = mck_mul_c128(a, a);
    }
    return r;
}

/* exp(b log a); small whole real b by multiplication. The error of the first grows with |b log a|.
 * a^0 = 1; 0^b = 0 for Re b > 0, otherwise NaN. */
MC_INLINE mck_c128 mck_pow_c128(mck_c128 a, mck_c128 b)
{
    if (b.im == 0.0 && b.re == 0.0)
        return mck_make_c128(1.0, 0.0);
    if (a.re == 0.0 && a.im == 0.0)
        return b.re > 0.0 ? mck_make_c128(0.0, 0.0) : mck_make_c128(MCK_NAN_F64, MCK_NAN_F64);
    if (b.im == 0.0 && mck_abs_f64(b.re) <= 32.0 && rint(b.re) == b.re) {
        mck_c128 p = mck_power_whole_c128(a, (int)mck_abs_f64(b.re));
        return b.re > 0.0 ? p : mck_div_c128(mck_make_c128(1.0, 0.0), p);
    }
    return mck_exp_c128(mck_mul_c128(b, mck_log_c128(a)));
}

#define MCK_C64_BY_C128_(fn)                                                                       \
    MC_INLINE mck_c64 mck_##fn##_c64(mck_c64 a)                                                    \
    {                                                                                              \
        return mck_narrow_c128(mck_##fn##_c128(mck_widen_c64(a)));                                 \
    }
MCK_C64_BY_C128_(exp)
MCK_C64_BY_C128_(log)
MCK_C64_BY_C128_(sqrt)
MCK_C64_BY_C128_(sin)
MCK_C64_BY_C128_(cos)
MCK_C64_BY_C128_(tan)
MCK_C64_BY_C128_(sinh)
MCK_C64_BY_C128_(cosh)
MCK_C64_BY_C128_(tanh)

MC_INLINE mck_c64 mck_pow_c64(mck_c64 a, mck_c64 b)
{
    return mck_narrow_c128(mck_pow_c128(mck_widen_c64(a), mck_widen_c64(b)));
}

#endif
