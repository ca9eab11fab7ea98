/* mck_special.h - the normal distribution and other special functions for kernel loops.
 *
 * Owns: ndtr, ndtri, erfinv in both precisions, under the contract of mck_math.h (pure, branch-free, special values by the limits of
 * the function). f32 is f64 rounded once. May not know tensors or the op table. */
#ifndef MCK_SPECIAL_H
#define MCK_SPECIAL_H

#include "mck_math.h"

/* Standard normal distribution function, Phi(x) = erfc(-x / sqrt(2)) / 2. The division is carried to twice the precision: its
 * rounding would cost x^2 ulp in the tail, where d log erfc(u) = -2 u du. */
MC_INLINE double mck_ndtr_f64(double x)
{
    const double h = 0.70710678118654752440, low = -4.8336466567264567e-17; /* 1/sqrt(2) = h + low */
    double a = mck_abs_f64(x), top = a < 40.0 ? a : 40.0; /* NaN takes the second way, and comes back through x below */
    double u = top * h, du = mck_prod_err_f64(top, h, u) + top * low;
    double t = 0.5 * mck_erfc_f64(u);
    t = t - t * (2.0 * u * du);
    double y = x < 0 ? t : 1.0 - t;
    return x == x ? y : x;
}

/* Quantile of the standard normal distribution: rational approximations of Wichura, "Algorithm AS 241: the percentage points of
 * the normal distribution", 1988 (PPND16). q = p - 1/2, tail = min(p, 1 - p). */
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

/* The number below which a standard normal variable lies with probability p. 0 gives -inf, 1 gives inf, outside NaN. */
MC_INLINE double mck_ndtri_f64(double p)
{
    return mck_ndtri_core_f64(p - 0.5, p < 0.5 ? p : 1.0 - p);
}

/* Inverse of erf: quantile of (1 + x) / 2 over sqrt(2), without forming the sum. */
MC_INLINE double mck_erfinv_f64(double x)
{
    return 0.70710678118654752440 * mck_ndtri_core_f64(0.5 * x, 0.5 - 0.5 * mck_abs_f64(x));
}

MC_INLINE float mck_ndtr_f32(float x) { return (float)mck_ndtr_f64((double)x); }
MC_INLINE float mck_ndtri_f32(float p) { return (float)mck_ndtri_f64((double)p); }
MC_INLINE float mck_erfinv_f32(float x) { return (float)mck_erfinv_f64((double)x); }

#endif
