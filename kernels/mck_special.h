/* mck_special.h - distribution functions and their parts for kernel loops.
 *
 * Owns ndtr, ndtri, erfinv (branch-free, under the contract of mck_math.h) and digamma, gammainc, gammaincc, betainc (loops that stop
 * when the sum does; scalar). Special values are the limits of the function, outside its domain NaN; f32 is f64 rounded once.
 * May not know tensors or the op table. */
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

/* log Gamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2) for x >= 10: Stirling's series, DLMF 5.11.1. */
MC_INLINE double mck_stirling_f64(double x)
{
    const double r = 1.0 / x, z = r * r;
    double y = 1.0 / 156.0;
    y = MC_MULADD(y, z, -691.0 / 360360.0);
    y = MC_MULADD(y, z, 1.0 / 1188.0);
    y = MC_MULADD(y, z, -1.0 / 1680.0);
    y = MC_MULADD(y, z, 1.0 / 1260.0);
    y = MC_MULADD(y, z, -1.0 / 360.0);
    return r * MC_MULADD(y, z, 1.0 / 12.0);
}

/* Derivative of log Gamma: recurrence up to 10, then DLMF 5.11.2; reflection (5.5.4) below 0, poles give NaN. */
MC_INLINE double mck_digamma_f64(double x)
{
    double add = 0;
    if (x == 0)
        return mck_copysign_f64(MCK_INF_F64, -x);
    if (x < 0) {
        const double whole = floor(x);
        if (whole == x)
            return MCK_NAN_F64;
        add = -3.14159265358979323846 / tan(3.14159265358979323846 * (x - whole));
        x = 1.0 - x;
    }
    for (; x < 10.0; x += 1.0)
        add -= 1.0 / x;
    const double z = 1.0 / (x * x);
    double y = 1.0 / 12.0;
    y = MC_MULADD(y, z, -691.0 / 32760.0);
    y = MC_MULADD(y, z, 1.0 / 132.0);
    y = MC_MULADD(y, z, -1.0 / 240.0);
    y = MC_MULADD(y, z, 1.0 / 252.0);
    y = MC_MULADD(y, z, -1.0 / 120.0);
    y = MC_MULADD(y, z, 1.0 / 12.0);
    return x > 1e300 ? add + log(x) : add + (log(x) - 0.5 / x - y * z);
}

enum { MCK_SPECIAL_STEPS = 200000 }; /* sums and fractions below need a few sqrt(a) steps; this is for a = 1e9 */

/* log(x / a) given u = x / a - 1, which is the better argument near 1. */
MC_INLINE double mck_log_ratio_f64(double u, double x, double a)
{
    return fabs(u) < 0.5 ? log1p(u) : log(x / a);
}

/* x^a e^-x / Gamma(a) for a, x > 0. */
MC_INLINE double mck_gamma_front_f64(double a, double x)
{
    if (a < 10.0)
        return exp(a * log(x) - x - lgamma(a));
    const double u = (x - a) / a;
    return sqrt(a / 6.28318530717958647693) * exp(a * (mck_log_ratio_f64(u, x, a) - u) - mck_stirling_f64(a));
}

/* Regularised incomplete gamma functions P(a, x), or Q = 1 - P when upper: the series DLMF 8.11.4 below a + 1, the continued fraction
 * 8.9.2 (in the even form of Legendre) above, evaluated by the modified method of Lentz. */
MC_INLINE double mck_gamma_part_f64(double a, double x, int upper)
{
    if (!(a > 0) || !(x >= 0))
        return MCK_NAN_F64;
    if (x == 0)
        return upper ? 1.0 : 0.0;
    if (isinf(x))
        return isinf(a) ? MCK_NAN_F64 : upper ? 0.0 : 1.0;
    if (isinf(a))
        return upper ? 1.0 : 0.0;
    const double front = mck_gamma_front_f64(a, x);
    if (x < a + 1.0) {
        double term = 1.0 / a, sum = term;
        for (int k = 1; k < MCK_SPECIAL_STEPS && term > sum * 1e-17; k++) {
            term *= x / (a + k);
            sum += term;
        }
        return upper ? 1.0 - front * sum : front * sum;
    }
    double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, h = d;
    for (int k = 1; k < MCK_SPECIAL_STEPS; k++) {
        const double an = -k * (k - a);
        b += 2.0;
        d = an * d + b;
        d = d == 0 ? 1e300 : 1.0 / d;
        c = b + an / c;
        c = c == 0 ? 1e-300 : c;
        const double step = c * d;
        h *= step;
        if (fabs(step - 1.0) < 2.3e-16)
            break;
    }
    return upper ? front * h : 1.0 - front * h;
}

MC_INLINE double mck_gammainc_f64(double a, double x) { return mck_gamma_part_f64(a, x, 0); }
MC_INLINE double mck_gammaincc_f64(double a, double x) { return mck_gamma_part_f64(a, x, 1); }

/* x^a y^b / B(a, b) with y = 1 - x. Where a and b are large the large terms cancel on paper: it is
 * sqrt(a b / (2 pi (a + b))) exp(a log(x / x0) + b log(y / y0) + Stirling's rests) with x0 = a / (a + b), y0 = 1 - x0. */
MC_INLINE double mck_beta_front_f64(double a, double b, double x, double y)
{
    const double s = a + b, small = a < b ? a : b, large = a < b ? b : a;
    if (small >= 10.0) {
        const double u = (x * b - y * a) / a, v = (y * a - x * b) / b; /* x / x0 - 1, y / y0 - 1, with x + y = 1 */
        const double e = a * mck_log_ratio_f64(u, x * s, a) + b * mck_log_ratio_f64(v, y * s, b) + mck_stirling_f64(s) - mck_stirling_f64(a) - mck_stirling_f64(b);
        return sqrt(a / s * b / 6.28318530717958647693) * exp(e);
    }
    double lead; /* log Gamma(large + small) - log Gamma(large) */
    if (large >= 10.0)
        lead = (s - 0.5) * log1p(small / large) + small * log(large) - small + mck_stirling_f64(s) - mck_stirling_f64(large);
    else
        lead = lgamma(s) - lgamma(large);
    const double lx = x > 0.5 ? log1p(-y) : log(x), ly = y > 0.5 ? log1p(-x) : log(y);
    return exp(a * lx + b * ly + lead - lgamma(small));
}

/* Regularised incomplete beta function I_x(a, b): the continued fraction DLMF 8.17.22 on the side of the mean where it is quick. */
MC_INLINE double mck_betainc_f64(double a, double b, double x)
{
    if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1) || isinf(a) || isinf(b))
        return MCK_NAN_F64;
    if (x == 0 || x == 1)
        return x;
    const int swap = x > (a + 1.0) / (a + b + 2.0);
    const double p = swap ? b : a, q = swap ? a : b, z = swap ? 1.0 - x : x, w = swap ? x : 1.0 - x;
    const double front = mck_beta_front_f64(p, q, z, w) / p;
    double c = 1.0, d = 1.0 - (p + q) * z / (p + 1.0);
    d = d == 0 ? 1e300 : 1.0 / d;
    double h = d;
    for (int m = 1; m < MCK_SPECIAL_STEPS; m++) {
        const double m2 = 2.0 * m, even = m * (q - m) * z / ((p + m2 - 1.0) * (p + m2));
        d = 1.0 + even * d;
        d = d == 0 ? 1e300 : 1.0 / d;
        c = 1.0 + even / c;
        c = c == 0 ? 1e-300 : c;
        h *= c * d;
        const double odd = -(p + m) * (p + q + m) * z / ((p + m2) * (p + m2 + 1.0));
        d = 1.0 + odd * d;
        d = d == 0 ? 1e300 : 1.0 / d;
        c = 1.0 + odd / c;
        c = c == 0 ? 1e-300 : c;
        const double step = c * d;
        h *= step;
        if (fabs(step - 1.0) < 2.3e-16)
            break;
    }
    const double y = front * h;
    return swap ? 1.0 - y : y;
}

MC_INLINE float mck_ndtr_f32(float x) { return (float)mck_ndtr_f64((double)x); }
MC_INLINE float mck_ndtri_f32(float p) { return (float)mck_ndtri_f64((double)p); }
MC_INLINE float mck_erfinv_f32(float x) { return (float)mck_erfinv_f64((double)x); }
MC_INLINE float mck_digamma_f32(float x) { return (float)mck_digamma_f64((double)x); }
MC_INLINE float mck_gammainc_f32(float a, float x) { return (float)mck_gammainc_f64((double)a, (double)x); }
MC_INLINE float mck_gammaincc_f32(float a, float x) { return (float)mck_gammaincc_f64((double)a, (double)x); }
MC_INLINE float mck_betainc_f32(float a, float b, float x) { return (float)mck_betainc_f64((double)a, (double)b, (double)x); }

#endif
