/* mck_integrals.h - the error-function family and the exponential, trigonometric and Fresnel
 * integrals; Lambert's W; Owen's T.
 *
 * Erfcx, erfi, dawsn, erfcinv, log_ndtr, exp1, expi, expn, si, ci, shi, chi, fresnel_s, fresnel_c,
 * lambertw on its two real branches, owens_t. Piecewise polynomials of
 * tests/golden/special_fits.py on the integral with its leading behaviour divided out; scalar.
 * Accuracy: tests/golden/accuracy_special.lua. */
#ifndef MCK_INTEGRALS_H
#define MCK_INTEGRALS_H

#include "mck_gamma.h"

/* exp(+-x^2) with the square in twice the precision: its rounding would cost x^2 ulp. */
MC_INLINE double mck_exp_square_f64(double x, double sign)
{
    const double c = fabs(x) > 37.0 ? 37.0 : x, h = c * c, l = mck_prod_err_f64(c, c, h);
    double n, r = mck_exp_reduce_f64(sign * h, &n) + sign * l;
    return mck_scale_f64(1.0 + MC_MULADD(r * r, mck_exp_q_f64(r), r), n);
}

/* exp(-x^2 / 2) */
MC_INLINE double mck_half_square_f64(double x)
{
    const double c = fabs(x) > 52.0 ? 52.0 : x, h = c * c, l = mck_prod_err_f64(c, c, h);
    double n, r = mck_exp_reduce_f64(-0.5 * h, &n) - 0.5 * l;
    return mck_scale_f64(1.0 + MC_MULADD(r * r, mck_exp_q_f64(r), r), n);
}

/* exp(x^2) erfc(x): DLMF 7.2.3; beyond 28 the asymptotic series 7.12.1. */
MC_INLINE double mck_erfcx_f64(double x)
{
    const double a = fabs(x), near = mck_erfcx_core_f64(a < 28.0 ? a : 28.0),
                 w = 1.0 / (a > 28.0 ? a : 28.0), z = 0.5 * w * w;
    const double far = 0.56418958354775628695 * w *
                       (1.0 + z * (-1.0 + z * (3.0 + z * (-15.0 + z * (105.0 - 945.0 * z)))));
    const double y = a < 28.0 ? near : far, up = mck_exp_square_f64(a, 1.0), neg = 2.0 * up - near,
                 mid = up * (1.0 - mck_erf_near_f64(a < 0.5 ? x : 0.5));
    return x != x ? x : a < 0.5 ? mid : x < 0 ? (a > 26.7 ? MCK_INF_F64 : neg) : y;
}

/* exp(-x^2) times the integral of exp(t^2) from 0 to x: DLMF 7.2.5. */
MCK_HEAVY double mck_dawsn_f64(double x)
{
    const double a = fabs(x);
    if (a < 2.0)
        return x * mck_fit_dawson_near_f64(a * a);
    if (a < 5.0)
        return mck_fit_dawson_mid_f64(a) / x;
    return 0.5 * mck_fit_dawson_far_f64(a < 1e150 ? 1.0 / (a * a) : 0.0) / x;
}

MCK_HEAVY double mck_erfi_f64(double x)
{
    const double a = fabs(x);
    if (a < 0.5) /* the square needs no second half */
        return x * (1.12837916709551257390 * mck_fit_dawson_near_f64(a * a) * exp(a * a));
    if (a > 26.7)
        return x == x ? mck_copysign_f64(MCK_INF_F64, x) : x;
    const double y = 1.12837916709551257390 * mck_dawsn_f64(x) * (mck_exp_square_f64(a, 1.0));
    return y;
}

/* log of the standard normal distribution function; the lower tail by erfcx. */
MCK_HEAVY double mck_log_ndtr_f64(double x)
{
    if (x < -1.0) {
        const double u = -x * 0.70710678118654752440;
        return x < -1e160 ? -MCK_INF_F64 : log(0.5 * mck_erfcx_f64(u)) - 0.5 * x * x;
    }
    return log1p(-mck_ndtr_f64(-x));
}

/* ---- exponential integrals ---- */

/* E1(x), x > 0: DLMF 6.2.1. */
MCK_HEAVY double mck_exp1_f64(double x)
{
    if (!(x > 0))
        return x == 0 ? MCK_INF_F64 : MCK_NAN_F64;
    if (x <= 1.0)
        return mck_fit_e1_near_f64(x) - log(x);
    const double w = 1.0 / x;
    const double y = x < 2.0    ? mck_fit_e1_0_f64(w)
                     : x < 4.0  ? mck_fit_e1_1_f64(w)
                     : x < 10.0 ? mck_fit_e1_2_f64(w)
                                : mck_fit_e1_3_f64(w);
    return exp(-x) * w * y;
}

/* Ei(x): the principal value, DLMF 6.2.5; -E1(-x) below 0. Near the zero 0.3725... of the sum of
 * logarithm and series, the series of Ei about it is not used: there the error is absolute. */
MCK_HEAVY double mck_expi_f64(double x)
{
    if (x <= 0)
        return x == 0 ? -MCK_INF_F64 : -mck_exp1_f64(-x);
    if (!(x < MCK_INF_F64))
        return x;
    if (x <= 6.0) {
        const double root = 0.37250741078136663446, root_lo = 1.3140183414386028e-17,
                     d = (x - root) - root_lo;
        if (fabs(d) < 0.02) { /* Taylor about the zero: Ei' = e^x / x */
            const double e = exp(root) / root, r = 1.0 / root;
            /* derivatives of e^t / t over e^root / root: 1, 1 - r, 1 - 2r + 2r^2, ... (n-th: D_n =
             * 1 - n r D_(n-1)) */
            double dn = 1.0, term = d, sum = d;
            for (int n = 1; n < 14; n++) {
                dn = 1.0 - n * r * dn;
                term *= d / (n + 1);
                sum += term * dn;
            }
            return e * sum;
        }
        return log(x) + MCK_EULER + x * mck_fit_ei_near_f64(x);
    }
    const double w = 1.0 / x;
    const double y = x < 12.0   ? mck_fit_ei_0_f64(w)
                     : x < 24.0 ? mck_fit_ei_1_f64(w)
                     : x < 48.0 ? mck_fit_ei_2_f64(w)
                                : mck_fit_ei_3_f64(w);
    if (x < 700.0)
        return exp(x) * w * y;
    const double h = exp(0.5 * x);
    return h * w * y * h;
}

/* E_n(x), n = 0, 1, ...: the series DLMF 8.19.8 up to 1, the continued fraction 8.19.17 beyond,
 * from below: all its terms are positive. */
MCK_HEAVY double mck_expn_f64(double n, double x)
{
    if (!(n >= 0) || !mck_is_whole_f64(n) || !(x >= 0))
        return MCK_NAN_F64;
    if (n == 1.0)
        return mck_exp1_f64(x);
    if (isinf(x) || isinf(n))
        return 0;
    if (x == 0)
        return n > 1.0 ? 1.0 / (n - 1.0) : MCK_INF_F64;
    if (n == 0)
        return exp(-x) / x;
    if (x <= 1.0) {
        /* the logarithmic term (-x)^(n-1) / (n-1)! (psi(n) - log x), and the sum without k = n -
         * 1 */
        double term = 1.0, sum = 0, lead = 0;
        for (int k = 0; k < 40; k++) {
            if (k > 0)
                term *= -x / k;
            if (k == (int)n - 1 && n < 64.0)
                lead = term;
            else
                sum -= term / (k - (n - 1.0));
            if (fabs(term) < 1e-20 && (k >= n || term == 0))
                break;
        }
        return lead == 0 ? sum : sum + lead * (mck_digamma_f64(n) - log(x));
    }
    /* 1 / (x + n / (1 + 1 / (x + (n + 1) / (1 + 2 / (x + ..))))), from a depth at which the rest,
     * about exp(-4 sqrt(k x)), is gone */
    const int depth = 12 + (int)(100.0 / x);
    double f = x;
    for (int k = depth; k > 0; k--)
        f = x + (n + (k - 1)) / (1.0 + k / f);
    return exp(-x) / f;
}

/* ---- sine and cosine integrals ---- */

/* Auxiliary functions x f and x^2 g at w = 1 / x^2, x >= 4: DLMF 6.2.17, 6.2.18. */
MC_INLINE void mck_sici_fg(double w, double *f, double *g)
{
    *f = w > 1.0 / 64.0 ? mck_fit_sici_f0_f64(w) : mck_fit_sici_f1_f64(w);
    *g = w > 1.0 / 64.0 ? mck_fit_sici_g0_f64(w) : mck_fit_sici_g1_f64(w);
}

MCK_HEAVY double mck_si_f64(double x)
{
    const double a = fabs(x);
    if (!(a > 4.0))
        return x * mck_fit_si_f64(a * a);
    if (isinf(a))
        return mck_copysign_f64(0.5 * MCK_PI, x);
    double f, g;
    const double r = 1.0 / a;
    mck_sici_fg(r * r, &f, &g);
    const double y = 0.5 * MCK_PI - r * (f * cos(a) + r * g * sin(a));
    return x < 0 ? -y : y;
}

/* Ci of |x|, as SciPy takes it. */
MCK_HEAVY double mck_ci_f64(double x)
{
    const double a = fabs(x);
    if (a == 0)
        return -MCK_INF_F64;
    if (!(a > 2.0))
        return log(a) + MCK_EULER + a * a * mck_fit_ci_f64(a * a);
    if (a <= 4.0)
        return mck_fit_ci_mid_f64(a);
    if (isinf(a))
        return 0;
    double f, g;
    const double r = 1.0 / a;
    mck_sici_fg(r * r, &f, &g);
    return r * (f * sin(a) - r * g * cos(a));
}

MCK_HEAVY double mck_shi_f64(double x)
{
    const double a = fabs(x);
    if (!(a > 3.0))
        return x * mck_fit_shi_f64(a * a);
    const double y = 0.5 * mck_expi_f64(a) + 0.5 * (a < 40.0 ? mck_exp1_f64(a) : 0.0);
    return x < 0 ? -y : y;
}

/* Chi of |x|, as SciPy takes it. */
MCK_HEAVY double mck_chi_f64(double x)
{
    const double a = fabs(x);
    if (a == 0)
        return -MCK_INF_F64;
    if (!(a > 3.0))
        return log(a) + MCK_EULER + a * a * mck_fit_chi_f64(a * a);
    return 0.5 * mck_expi_f64(a) - 0.5 * (a < 40.0 ? mck_exp1_f64(a) : 0.0);
}

/* ---- Fresnel ---- */

/* S (want 0) and C (want 1) with pi t^2 / 2 inside: DLMF 7.2.7, 7.2.8; beyond 1.6 by f and g,
 * 7.5.3, 7.5.4. */
MC_INLINE double mck_fresnel_f64(double x, int want)
{
    const double a = fabs(x), z = a * a;
    if (!(a >= 1.6))
        return want ? x * mck_fit_fresnel_c_f64(z * z) : x * z * mck_fit_fresnel_s_f64(z * z);
    double y = 0.5;
    if (a < 1e8) { /* beyond, f is below half a unit */
        const double low = mck_prod_err_f64(a, a, z), w = 1.0 / (z * z);
        const double f =
            (w > 1.0 / 81.0 ? mck_fit_fresnel_f0_f64(w) : mck_fit_fresnel_f1_f64(w)) / (MCK_PI * a);
        const double g = (w > 1.0 / 81.0 ? mck_fit_fresnel_g0_f64(w) : mck_fit_fresnel_g1_f64(w)) /
                         (MCK_PI * MCK_PI * a * z);
        /* sine and cosine of pi z / 2, z = x^2 in two parts */
        const double r = (0.5 * z - 2.0 * rint(0.25 * z)) + 0.5 * low, s = mck_sinpi_f64(r),
                     c = mck_cospi_f64(r);
        y = want ? 0.5 + f * s - g * c : 0.5 - f * c - g * s;
    }
    return x < 0 ? -y : y;
}

MCK_HEAVY double mck_fresnel_s_f64(double x) { return mck_fresnel_f64(x, 0); }
MCK_HEAVY double mck_fresnel_c_f64(double x) { return mck_fresnel_f64(x, 1); }

/* ---- Lambert's W ---- */

/* p = sqrt(2 (e x + 1)), with 1/e in two parts. */
MC_INLINE double mck_lambert_p(double x)
{
    /* x + 1/e, 1/e = hi - lo */
    const double d = (x + 0x1.78b56362cef38p-2) - 0x1.ca8a4270fadf5p-57;
    return d > 0 ? sqrt(2.0 * 2.71828182845904523536 * d) : d > -3e-17 ? 0.0 : MCK_NAN_F64;
}

/* Principal branch, x >= -1/e: the fitted series about the branch point, then Halley's method on w
 * - x e^-w, or Newton's on w + log w - log x where that is better conditioned. */
MCK_HEAVY double mck_lambertw0_f64(double x)
{
    const double p = x < 0 ? mck_lambert_p(x) : 1.0;
    if (p != p || !(x < MCK_INF_F64))
        return x > 0 ? x : MCK_NAN_F64;
    if (x < 0 && p <= 0.6)
        return mck_fit_lambertw_f64(p);
    if (fabs(x) < 1e-10)
        return x - x * x;
    if (x < 3.0) {
        double w = x < 0 ? -1.0 + p * (1.0 - p * (1.0 / 3.0 - p * (11.0 / 72.0)))
                         : log1p(x) * (1.0 - 0.2 * log1p(log1p(x)));
        for (int k = 0; k < 8; k++) {
            const double e = x * exp(-w), f = w - e, s = f / ((1.0 + e) + 0.5 * f * e / (1.0 + e));
            w -= s;
            if (fabs(s) < 1e-6 * fabs(w)) /* cubic */
                break;
        }
        return w;
    }
    const double l = log(x);
    double w = l - log(l > 1.5 ? l : 1.5);
    for (int k = 0; k < 8; k++) {
        const double f = (w - l) + log(w), s = f * w / (1.0 + w);
        w -= s;
        if (fabs(s) < 1e-9 * w)
            break;
    }
    return w;
}

/* The branch below -1, -1/e <= x < 0. */
MCK_HEAVY double mck_lambertwm1_f64(double x)
{
    if (!(x < 0))
        return x == 0 ? -MCK_INF_F64 : MCK_NAN_F64;
    const double p = mck_lambert_p(x);
    if (p != p)
        return p;
    if (p <= 0.6)
        return mck_fit_lambertw_f64(-p);
    const double l = log(-x), m = log(-l > 1.0 ? -l : 1.0);
    double w = l < -3.0 ? l - m + m / l : -1.0 - p - p * p * (1.0 / 3.0 + p * (11.0 / 72.0));
    for (int k = 0; k < 12; k++) {
        const double f = (w - l) + log(-w), s = f * w / (1.0 + w);
        w -= s;
        if (fabs(s) < 1e-9 * fabs(w))
            break;
    }
    return w;
}

/* ---- Owen's T ---- */

/* (1 / 2 pi) int_0^a exp(-h^2 (1 + t^2) / 2) / (1 + t^2) dt for h >= 0, 0 <= a <= 1:
 * Gauss-Legendre, cut where the integrand is below 2^-60. */
MC_INLINE double mck_owens_near(double h, double a)
{
    const double end = h * a > 9.2 ? 9.2 / h : a, half = 0.5 * end;
    double sum = 0;
    for (int k = 0; k < MCK_GAUSS_HALF; k++) {
        const double u = half * mck_gauss_f64[k][0], t1 = half - u, t2 = half + u;
        const double e1 = mck_exp_f64(-0.5 * (h * t1) * (h * t1)) / (1.0 + t1 * t1),
                     e2 = mck_exp_f64(-0.5 * (h * t2) * (h * t2)) / (1.0 + t2 * t2);
        sum += mck_gauss_f64[k][1] * (e1 + e2);
    }
    return half * sum * mck_half_square_f64(h) / (2.0 * MCK_PI);
}

/* T(h, a): Tables for computing bivariate normal probabilities, 1956; a > 1 by its relation to T(a
 * h, 1 / a) in upper tails. */
MCK_HEAVY double mck_owens_t_f64(double h, double a)
{
    if (h != h || a != a)
        return h + a;
    const double x = fabs(h), y = fabs(a);
    double t;
    if (isinf(x) || y == 0)
        t = 0;
    else if (y <= 1.0)
        t = x == 0 ? atan(y) / (2.0 * MCK_PI) : mck_owens_near(x, y);
    else {
        const double z = x * y, n = mck_ndtr_f64(-x), m = x == 0 ? 0.5 : mck_ndtr_f64(-z);
        const double far = x == 0     ? atan(1.0 / y) / (2.0 * MCK_PI)
                           : isinf(y) ? 0.0
                                      : mck_owens_near(z, 1.0 / y);
        t = x == 0 ? 0.25 - far : 0.5 * (n + m) - n * m - far;
    }
    return a < 0 ? -t : t;
}

MCK_F32_OF_1(erfcx)
MCK_F32_OF_1(erfi)
MCK_F32_OF_1(dawsn)
MCK_F32_OF_1(log_ndtr)
MCK_F32_OF_1(exp1)
MCK_F32_OF_1(expi)
MCK_F32_OF_2(expn)
MCK_F32_OF_1(si)
MCK_F32_OF_1(ci)
MCK_F32_OF_1(shi)
MCK_F32_OF_1(chi)
MCK_F32_OF_1(fresnel_s)
MCK_F32_OF_1(fresnel_c)
MCK_F32_OF_1(lambertw0)
MCK_F32_OF_1(lambertwm1)
MCK_F32_OF_2(owens_t)

#endif
