/* mck_special.h - special functions for kernel loops: the short ones, and the door to the others.
 *
 * Ndtri, erfinv, erfcinv and the elementary combinations (xlogy, logit, ...), branch-free
 * under the contract of mck_math.h; includes the families, one header per concept. Special values
 * are the limits of the function, outside its domain NaN; f32 is f64 rounded once throughout. */
#ifndef MCK_SPECIAL_H
#define MCK_SPECIAL_H

#include "mck_gamma.h"
#include "mck_normal.h"

/* Quantile of the standard normal distribution: rational approximations of Wichura, "Algorithm AS
 * 241: the percentage points of the normal distribution", 1988 (PPND16). q = p - 1/2, tail = min(p,
 * 1 - p). */
MC_INLINE double mck_ndtri_core_f64(double q, double tail)
{
    double r = 0.180625 - q * q;
    double a = 2.5090809287301226727e3, b = 5.2264952788528545610e3;
    a = MC_MULADD(a, r, 3.3430575583588128105e4), b = MC_MULADD(b, r, 2.8729085735721942674e4);
    a = MC_MULADD(a, r, 6.7265770927008700853e4), b = MC_MULADD(b, r, 3.9307895800092710610e4);
    a = MC_MULADD(a, r, 4.5921953931549871457e4), b = MC_MULADD(b, r, 2.1213794301586595867e4);
    a = MC_MULADD(a, r, 1.3731693765509461125e4), b = MC_MULADD(b, r, 5.3941960214247511077e3);
    a = MC_MULADD(a, r, 1.9715909503065514427e3), b = MC_MULADD(b, r, 6.8718700749205790830e2);
    a = MC_MULADD(a, r, 1.3314166789178437745e2), b = MC_MULADD(b, r, 4.2313330701600911252e1);
    a = MC_MULADD(a, r, 3.3871328727963666080), b = MC_MULADD(b, r, 1.0);
    const double middle = q * (a / b);

    const double s = mck_sqrt_f64(-mck_log_f64(tail));
    r = s - 1.6;
    a = 7.7454501427834140764e-4, b = 1.05075007164441684324e-9;
    a = MC_MULADD(a, r, 2.27238449892691845833e-2), b = MC_MULADD(b, r, 5.47593808499534494600e-4);
    a = MC_MULADD(a, r, 2.41780725177450611770e-1), b = MC_MULADD(b, r, 1.51986665636164571966e-2);
    a = MC_MULADD(a, r, 1.27045825245236838258), b = MC_MULADD(b, r, 1.48103976427480074590e-1);
    a = MC_MULADD(a, r, 3.64784832476320460504), b = MC_MULADD(b, r, 6.89767334985100004550e-1);
    a = MC_MULADD(a, r, 5.76949722146069140550), b = MC_MULADD(b, r, 1.67638483018380384940);
    a = MC_MULADD(a, r, 4.63033784615654529590), b = MC_MULADD(b, r, 2.05319162663775882187);
    a = MC_MULADD(a, r, 1.42343711074968357734), b = MC_MULADD(b, r, 1.0);
    const double near = a / b;

    r = s - 5.0;
    a = 2.01033439929228813265e-7, b = 2.04426310338993978564e-15;
    a = MC_MULADD(a, r, 2.71155556874348757815e-5), b = MC_MULADD(b, r, 1.42151175831644588870e-7);
    a = MC_MULADD(a, r, 1.24266094738807843860e-3), b = MC_MULADD(b, r, 1.84631831751005468180e-5);
    a = MC_MULADD(a, r, 2.65321895265761230930e-2), b = MC_MULADD(b, r, 7.86869131145613259100e-4);
    a = MC_MULADD(a, r, 2.96560571828504891230e-1), b = MC_MULADD(b, r, 1.48753612908506148525e-2);
    a = MC_MULADD(a, r, 1.78482653991729133580), b = MC_MULADD(b, r, 1.36929880922735805310e-1);
    a = MC_MULADD(a, r, 5.46378491116411436990), b = MC_MULADD(b, r, 5.99832206555887937690e-1);
    a = MC_MULADD(a, r, 6.65790464350110377720), b = MC_MULADD(b, r, 1.0);
    const double far = a / b;

    const double size = tail == 0 ? MCK_INF_F64 : s <= 5.0 ? near : far;
    const double y = mck_abs_f64(q) <= 0.425 ? middle : mck_copysign_f64(size, q);
    return tail >= 0 ? y : MCK_NAN_F64;
}

/* The number below which a standard normal variable lies with probability p. 0 gives -inf, 1 gives
 * inf, outside NaN. */
MC_INLINE double mck_ndtri_f64(double p)
{
    return mck_ndtri_core_f64(p - 0.5, p < 0.5 ? p : 1.0 - p);
}

/* Inverse of erf: quantile of (1 + x) / 2 over sqrt(2), without forming the sum. */
MC_INLINE double mck_erfinv_f64(double x)
{
    return 0.70710678118654752440 * mck_ndtri_core_f64(0.5 * x, 0.5 - 0.5 * mck_abs_f64(x));
}

/* In f32: x times a polynomial in w = -log(1 - x^2) up to 5, in its root above. */
MC_INLINE float mck_erfinv_f32(float x)
{
    const float w = -mck_log_f32((1.0f - x) * (1.0f + x)), u = w - 0.5f, v = sqrtf(w) - 3.125f;
    float near = -0x1.53171ep-27f;
    near = MC_MULADDF(near, u, 0x1.afff2p-23f);
    near = MC_MULADDF(near, u, -0x1.613dccp-20f);
    near = MC_MULADDF(near, u, -0x1.fa3b1cp-21f);
    near = MC_MULADDF(near, u, 0x1.86d65p-15f);
    near = MC_MULADDF(near, u, -0x1.0d474ap-17f);
    near = MC_MULADDF(near, u, -0x1.43f932p-9f);
    near = MC_MULADDF(near, u, 0x1.0351bap-7f);
    near = MC_MULADDF(near, u, 0x1.ef213p-3f);
    near = MC_MULADDF(near, u, 0x1.013c1p0f);
    float far = 0x1.13cb16p-13f;
    far = MC_MULADDF(far, v, -0x1.6b220cp-13f);
    far = MC_MULADDF(far, v, -0x1.571cf2p-12f);
    far = MC_MULADDF(far, v, 0x1.57534cp-10f);
    far = MC_MULADDF(far, v, -0x1.4a1d6p-9f);
    far = MC_MULADDF(far, v, 0x1.efbe22p-9f);
    far = MC_MULADDF(far, v, -0x1.5b7176p-8f);
    far = MC_MULADDF(far, v, 0x1.cdf556p-8f);
    far = MC_MULADDF(far, v, 0x1.00f3b6p0f);
    far = MC_MULADDF(far, v, 0x1.7aaa3cp1f);
    return mck_abs_f32(x) == 1.0f ? x * MCK_INF_F32 : x * (w < 5.0f ? near : far);
}

/* Inverse of erfc: the tail x / 2 is at hand, whatever its size. */
MC_INLINE double mck_erfcinv_f64(double x)
{
    return -0.70710678118654752440 *
           mck_ndtri_core_f64(0.5 * x - 0.5, x < 1.0 ? 0.5 * x : 1.0 - 0.5 * x);
}

/* ---- elementary combinations, with the conventions of information theory: 0 log 0 = 0 ---- */

/* sin(pi x) / (pi x) */
MC_INLINE double mck_sinc_f64(double x)
{
    const double r0 = x - 2.0 * rint(0.5 * x),
                 r = r0 > 0.5    ? 1.0 - r0
                     : r0 < -0.5 ? -1.0 - r0
                                 : r0,
                 d = x == 0 ? 1.0 : x;
    const double y = mck_sin_f64(3.14159265358979323846 * r) / (3.14159265358979323846 * d);
    return x == 0 ? 1.0 : fabs(x) < MCK_INF_F64 ? y : x == x ? 0.0 : x;
}

MC_INLINE double mck_xlogy_f64(double x, double y)
{
    const double t = x * mck_log_f64(y);
    return x == 0 && y == y ? 0.0 : t;
}

MC_INLINE double mck_xlog1py_f64(double x, double y)
{
    const double t = x * mck_log1p_f64(y);
    return x == 0 && y == y ? 0.0 : t;
}

/* -x log x */
MC_INLINE double mck_entr_f64(double x)
{
    const double y = -x * mck_log_f64(x);
    return x > 0 ? y : x == 0 ? 0.0 : x < 0 ? -MCK_INF_F64 : x;
}

/* log(x / y) for x, y > 0, by log1p where they are near. */
MC_INLINE double mck_log_quotient_f64(double x, double y)
{
    const double q = x / y, near = mck_log1p_f64((x - y) / y), far = mck_log_f64(q),
                 wide = mck_log_f64(x) - mck_log_f64(y);
    return q > 0.5 && q < 2.0 ? near : q > 0x1p-1000 && q < MCK_INF_F64 ? far : wide;
}

MC_INLINE double mck_rel_entr_f64(double x, double y)
{
    const double t = x * mck_log_quotient_f64(x, y);
    return x != x || y != y   ? MCK_NAN_F64
           : x > 0 && y > 0   ? t
           : x == 0 && y >= 0 ? 0.0
                              : MCK_INF_F64;
}

/* x log(x / y) - x + y >= 0: near x = y the difference log1p(u) - u keeps its digits. */
MC_INLINE double mck_kl_div_f64(double x, double y)
{
    const double u = (y - x) / x, near = -x * mck_log_rest_f64(u > -0.29 && u < 0.41 ? u : 0.0),
                 far = x * mck_log_quotient_f64(x, y) - x + y;
    const double t = u > -0.29 && u < 0.41 ? near : far;
    return x != x || y != y ? MCK_NAN_F64 : x > 0 && y > 0 ? t : x == 0 && y >= 0 ? y : MCK_INF_F64;
}

/* log(p / (1 - p)); about 1/2 from the exact 2 p - 1. */
MC_INLINE double mck_logit_f64(double p)
{
    const double near = 2.0 * mck_atanh_f64(2.0 * p - 1.0), far = mck_log_f64(p / (1.0 - p)),
                 y = p > 0.25 && p < 0.75 ? near : far;
    return p >= 0 && p <= 1.0 ? (p == 1.0 ? MCK_INF_F64 : y) : MCK_NAN_F64;
}

/* log of the logistic function. */
MC_INLINE double mck_log_expit_f64(double x)
{
    const double t = mck_log1p_f64(mck_exp_f64(-fabs(x))), m = x < 0 ? x : 0.0;
    return x == x ? m - t : x;
}

MC_INLINE float mck_ndtri_f32(float p) { return (float)mck_ndtri_f64((double)p); }
MC_INLINE float mck_erfcinv_f32(float x) { return (float)mck_erfcinv_f64((double)x); }
MCK_F32_OF_1(sinc)
MCK_F32_OF_2(xlogy)
MCK_F32_OF_2(xlog1py)
MCK_F32_OF_1(entr)
MCK_F32_OF_2(rel_entr)
MCK_F32_OF_2(kl_div)
MCK_F32_OF_1(logit)
MCK_F32_OF_1(log_expit)

#include "mck_incomplete.h"
#include "mck_integrals.h"
#include "mck_bessel_order.h"
#include "mck_struve.h"
#include "mck_gamma_c.h"
#include "mck_elliptic.h"
#include "mck_legendre.h"
#include "mck_distribution.h"

#endif
