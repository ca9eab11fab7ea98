/* mck_bessel.h - Bessel functions of orders 0 and 1: J, Y, I, K and the scaled I, K.
 *
 * The functions that loops live on: branch-free under the contract of mck_math.h, polynomials on
 * two or three intervals chosen by selects (tests/golden/special_fits.py), Hankel's form with
 * fitted modulus functions beyond 8. Where J and Y oscillate the error is absolute in units of the
 * amplitude; accuracy in tests/golden/accuracy_special.lua. Other orders: mck_bessel_order.h. */
#ifndef MCK_BESSEL_H
#define MCK_BESSEL_H

#include "mck_gamma.h"

#define MCK_SQRT_2_PI 0.79788456080286535588 /* sqrt(2 / pi) */
#define MCK_SQRT1_2 0.70710678118654752440
#define MCK_2_PI 0.63661977236758134308

/* sqrt(2 / (pi x)) (p cos(x - v pi / 2 - pi / 4) - q / x sin(..)) for v = 0, 1 by s = sin x, c =
 * cos x: DLMF 10.17.3. turn: the same with sin and cos exchanged, which is Y (10.17.4). */
MC_INLINE double mck_hankel_f64(double x, double s, double c, int order, int turn)
{
    const double r = 8.0 / x, w = r * r;
    const double p = order ? mck_fit_p1_f64(w) : mck_fit_p0_f64(w),
                 q = (order ? mck_fit_q1_f64(w) : mck_fit_q0_f64(w)) / x;
    /* cosine and sine of x - pi / 4, of x - 3 pi / 4 for order 1 */
    const double cc = order ? s - c : c + s, ss = order ? -(c + s) : s - c;
    const double y = turn ? MC_MULADD(p, ss, q * cc) : MC_MULADD(p, cc, -q * ss);
    return MCK_SQRT_2_PI * MCK_SQRT1_2 * y / sqrt(x);
}

MC_INLINE double mck_j0_sc_f64(double x, double s, double c)
{
    const double a = fabs(x), z = a * a, zn = z < 16.0 ? z : 16.0,
                 zm = z < 16.0   ? 16.0
                      : z < 64.0 ? z
                                 : 64.0,
                 far = a > 8.0 ? a : 8.0;
    const double y = z < 16.0 ? mck_fit_j0_0_f64(zn) : mck_fit_j0_1_f64(zm),
                 h = mck_hankel_f64(far, s, c, 0, 0);
    const double r = z < 1e-16 ? 1.0 : z < 64.0 ? y : h;
    return a < MCK_INF_F64 ? r : a != a ? x : 0.0;
}

MC_INLINE double mck_j1_sc_f64(double x, double s, double c)
{
    const double a = fabs(x), z = a * a, zn = z < 16.0 ? z : 16.0,
                 zm = z < 16.0   ? 16.0
                      : z < 64.0 ? z
                                 : 64.0,
                 far = a > 8.0 ? a : 8.0;
    const double y = a * (z < 16.0 ? mck_fit_j1_0_f64(zn) : mck_fit_j1_1_f64(zm)),
                 h = mck_hankel_f64(far, s, c, 1, 0);
    double r = z < 64.0 ? y : h;
    r = a < MCK_INF_F64 ? r : a != a ? a : 0.0;
    return x < 0 ? -r : r;
}

/* 0 < x; the logarithm is of x itself. */
MC_INLINE double mck_y0_sc_f64(double x, double s, double c)
{
    const double z = x * x, zn = z < 16.0 ? z : 16.0,
                 zm = z < 16.0   ? 16.0
                      : z < 64.0 ? z
                                 : 64.0,
                 far = x > 8.0 ? x : 8.0;
    const double j = z < 16.0 ? mck_fit_j0_0_f64(zn) : mck_fit_j0_1_f64(zm),
                 e = z < 16.0 ? mck_fit_y0_0_f64(zn) : mck_fit_y0_1_f64(zm);
    const double near = MC_MULADD(MCK_2_PI * mck_log_f64(x), j, e),
                 h = mck_hankel_f64(far, s, c, 0, 1);
    double r = z < 64.0 ? near : h;
    r = x < MCK_INF_F64 ? r : 0.0;
    return x > 0 ? r : x == 0 ? -MCK_INF_F64 : MCK_NAN_F64;
}

MC_INLINE double mck_y1_sc_f64(double x, double s, double c)
{
    const double z = x * x, zn = z < 16.0 ? z : 16.0,
                 zm = z < 16.0   ? 16.0
                      : z < 64.0 ? z
                                 : 64.0,
                 far = x > 8.0 ? x : 8.0;
    const double j = x * (z < 16.0 ? mck_fit_j1_0_f64(zn) : mck_fit_j1_1_f64(zm)),
                 e = x * (z < 16.0 ? mck_fit_y1_0_f64(zn) : mck_fit_y1_1_f64(zm));
    const double near = x < 1e-300 ? -MCK_2_PI / x : MCK_2_PI * (mck_log_f64(x) * j - 1.0 / x) + e,
                 h = mck_hankel_f64(far, s, c, 1, 1);
    double r = z < 64.0 ? near : h;
    r = x < MCK_INF_F64 ? r : 0.0;
    return x > 0 ? r : x == 0 ? -MCK_INF_F64 : MCK_NAN_F64;
}

/* The sines hold up to MCK_TRIG_LIMIT_F64; beyond, one element at a time. */
#define MCK_BESSEL_JY(fn)                                                                 \
    MC_INLINE double mck_##fn##_f64(double x)                                             \
    {                                                                                     \
        const double a = fabs(x);                                                         \
        return mck_##fn##_sc_f64(x, mck_sin_f64(a), mck_cos_f64(a));                      \
    }                                                                                     \
    MC_INLINE double mck_##fn##_f64_slow(double x)                                        \
    {                                                                                     \
        const double a = fabs(x), t = a < MCK_INF_F64 ? a : 0.0;                          \
        return mck_##fn##_sc_f64(x, sin(t), cos(t));                                      \
    }                                                                                     \
    MC_INLINE double mck_##fn##_f64_any(double x)                                         \
    {                                                                                     \
        return fabs(x) > MCK_TRIG_LIMIT_F64 ? mck_##fn##_f64_slow(x) : mck_##fn##_f64(x); \
    }                                                                                     \
    MC_INLINE float mck_##fn##_f32(float x)                                               \
    {                                                                                     \
        return (float)mck_##fn##_f64((double)x);                                          \
    }                                                                                     \
    MC_INLINE float mck_##fn##_f32_slow(float x)                                          \
    {                                                                                     \
        return (float)mck_##fn##_f64_slow((double)x);                                     \
    }
MCK_BESSEL_JY(j0)
MCK_BESSEL_JY(j1)
MCK_BESSEL_JY(y0)
MCK_BESSEL_JY(y1)
#define MCK_NEEDS_FIX_j0_f64(x) (fabs(x) > MCK_TRIG_LIMIT_F64)
#define MCK_NEEDS_FIX_j1_f64(x) (fabs(x) > MCK_TRIG_LIMIT_F64)
#define MCK_NEEDS_FIX_y0_f64(x) (fabs(x) > MCK_TRIG_LIMIT_F64)
#define MCK_NEEDS_FIX_y1_f64(x) (fabs(x) > MCK_TRIG_LIMIT_F64)
#define MCK_NEEDS_FIX_j0_f32(x) (fabsf(x) > (float)MCK_TRIG_LIMIT_F64)
#define MCK_NEEDS_FIX_j1_f32(x) (fabsf(x) > (float)MCK_TRIG_LIMIT_F64)
#define MCK_NEEDS_FIX_y0_f32(x) (fabsf(x) > (float)MCK_TRIG_LIMIT_F64)
#define MCK_NEEDS_FIX_y1_f32(x) (fabsf(x) > (float)MCK_TRIG_LIMIT_F64)

/* ---- modified functions ---- */

/* exp(-|x|) I0(x), or I0 itself. The exponential is taken in two halves beyond 8, where I0 may
 * still be finite. */
MC_INLINE double mck_i0_any_f64(double x, int scaled)
{
    const double a = fabs(x), n = a < 8.0 ? a : 8.0, f = a > 8.0 ? a : 8.0;
    const double near = mck_fit_i0_near_f64(0.25 * n * n),
                 far = mck_fit_i0_far_f64(8.0 / f) / sqrt(f);
    if (scaled) {
        const double y = a < 8.0 ? near * mck_exp_f64(-n) : far;
        return a == a ? y : x;
    }
    const double h = mck_exp_f64(0.5 * f), y = a < 8.0 ? near : far * h * h;
    return a < MCK_INF_F64 ? y : a;
}

MC_INLINE double mck_i1_any_f64(double x, int scaled)
{
    const double a = fabs(x), n = a < 8.0 ? a : 8.0, f = a > 8.0 ? a : 8.0;
    const double near = 0.5 * n * mck_fit_i1_near_f64(0.25 * n * n),
                 far = mck_fit_i1_far_f64(8.0 / f) / sqrt(f);
    const double h = mck_exp_f64(0.5 * f), full = a < 8.0 ? near : far * h * h,
                 less = a < 8.0 ? near * mck_exp_f64(-n) : far;
    double y = scaled ? (a == a ? less : a) : (a < MCK_INF_F64 ? full : a);
    return x < 0 ? -y : y;
}

MC_INLINE double mck_k0_any_f64(double x, int scaled)
{
    const double n = x < 1.0 ? x : 1.0, f = x > 1.0 ? x : 1.0, u = 1.0 / f;
    const double um = u > 1.0 / 3.0 ? u : 1.0 / 3.0, uf = u < 1.0 / 3.0 ? u : 1.0 / 3.0;
    const double near =
        mck_fit_k0_near_f64(n * n) - mck_log_f64(0.5 * n) * mck_fit_i0_near_f64(0.25 * n * n);
    const double far = (u > 1.0 / 3.0 ? mck_fit_k0_mid_f64(um) : mck_fit_k0_far_f64(uf)) / sqrt(f);
    const double e = mck_exp_f64(scaled ? n : -f),
                 y = x < 1.0 ? (scaled ? near * e : near) : (scaled ? far : far * e);
    return x > 0 ? y : x == 0 ? MCK_INF_F64 : MCK_NAN_F64;
}

MC_INLINE double mck_k1_any_f64(double x, int scaled)
{
    const double n = x < 1.0 ? x : 1.0, f = x > 1.0 ? x : 1.0, u = 1.0 / f;
    const double um = u > 1.0 / 3.0 ? u : 1.0 / 3.0, uf = u < 1.0 / 3.0 ? u : 1.0 / 3.0;
    const double part = n * mck_fit_k1_near_f64(n * n) +
                        mck_log_f64(0.5 * n) * (0.5 * n * mck_fit_i1_near_f64(0.25 * n * n));
    const double near = 1.0 / n + (n > 1e-30 ? part : 0.0);
    const double far = (u > 1.0 / 3.0 ? mck_fit_k1_mid_f64(um) : mck_fit_k1_far_f64(uf)) / sqrt(f);
    const double e = mck_exp_f64(scaled ? n : -f),
                 y = x < 1.0 ? (scaled ? near * e : near) : (scaled ? far : far * e);
    return x > 0 ? y : x == 0 ? MCK_INF_F64 : MCK_NAN_F64;
}

MC_INLINE double mck_i0_f64(double x) { return mck_i0_any_f64(x, 0); }
MC_INLINE double mck_i1_f64(double x) { return mck_i1_any_f64(x, 0); }
MC_INLINE double mck_k0_f64(double x) { return mck_k0_any_f64(x, 0); }
MC_INLINE double mck_k1_f64(double x) { return mck_k1_any_f64(x, 0); }
MC_INLINE double mck_i0e_f64(double x) { return mck_i0_any_f64(x, 1); }
MC_INLINE double mck_i1e_f64(double x) { return mck_i1_any_f64(x, 1); }
MC_INLINE double mck_k0e_f64(double x) { return mck_k0_any_f64(x, 1); }
MC_INLINE double mck_k1e_f64(double x) { return mck_k1_any_f64(x, 1); }

MCK_F32_OF_1(i0)
MCK_F32_OF_1(i1)
MCK_F32_OF_1(k0)
MCK_F32_OF_1(k1)
MCK_F32_OF_1(i0e)
MCK_F32_OF_1(i1e)
MCK_F32_OF_1(k0e)
MCK_F32_OF_1(k1e)

#endif
