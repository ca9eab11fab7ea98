/* mck_distribution.h - parts of distributions that are no compositions of the special functions.
 *
 * The densities' common factors, quantiles of counting distributions (smallest k whose
 * distribution function reaches p), the hypergeometric and the von Mises distribution function.
 * Accuracy: tests/golden/accuracy_special.lua. */
#ifndef MCK_DISTRIBUTION_H
#define MCK_DISTRIBUTION_H

#include "mck_bessel.h"
#include "mck_incomplete.h"

/* x^a e^-x / Gamma(a), a > 0, x >= 0. */
MCK_HEAVY double mck_gamma_density_f64(double a, double x)
{
    if (!(a > 0) || x != x || isinf(a))
        return MCK_NAN_F64;
    return x > 0 && x < MCK_INF_F64 ? mck_gamma_front_f64(a, x) : 0.0;
}

/* x^a (1 - x)^b / B(a, b), a, b > 0. */
MCK_HEAVY double mck_beta_density_f64(double a, double b, double x)
{
    if (!(a > 0) || !(b > 0) || x != x || isinf(a) || isinf(b))
        return MCK_NAN_F64;
    return x > 0 && x < 1
               ? mck_beta_front_f64(a, b, MC_MAKE(mck_pair){x, 0}, mck_pair_sum(1.0, -x))
               : 0.0;
}

/* ---- counting distributions ---- */

enum { MCK_POISSON, MCK_BINOM, MCK_NBINOM };

/* P(K <= k), or P(K > k) when upper: DLMF 8.11.. and 8.17.5. */
MCK_HEAVY double mck_count_tail(int kind, double k, double a, double b, int upper)
{
    if (k < 0)
        return upper ? 1.0 : 0.0;
    if (kind == MCK_POISSON)
        return mck_gamma_part_f64(k + 1.0, a, !upper);
    if (kind == MCK_BINOM)
        return k >= a ? (upper ? 0.0 : 1.0) : mck_beta_regular_f64(k + 1.0, a - k, b, !upper);
    return mck_beta_regular_f64(a, k + 1.0, b, upper);
}

/* Smallest k with P(K <= k) >= p, or with P(K > k) <= p when upper: from the expansion of Cornish
 * and Fisher (Moments and cumulants in the specification of distributions, 1937) outwards by
 * doubled steps, then by halving. -1 where p asks for nothing. */
MC_INLINE double mck_count_quantile(int kind, double p, double a, double b, int upper)
{
    if (!(p >= 0 && p <= 1))
        return MCK_NAN_F64;
    double mean, var, skew, end = MCK_INF_F64;
    if (kind == MCK_POISSON) {
        if (!(a >= 0 && a < MCK_INF_F64))
            return MCK_NAN_F64;
        mean = var = a;
        skew = 1.0;
    } else {
        if (!(b >= 0 && b <= 1) || !(a >= 0 && a < MCK_INF_F64) ||
            (kind == MCK_BINOM && !mck_is_whole_f64(a)) ||
            (kind == MCK_NBINOM && (a == 0 || b == 0)))
            return MCK_NAN_F64;
        const double q = 1.0 - b;
        mean = kind == MCK_BINOM ? a * b : a * q / b;
        var = kind == MCK_BINOM ? a * b * q : mean / b;
        skew = kind == MCK_BINOM ? 1.0 - 2.0 * b : (2.0 - b) / b;
        end = kind == MCK_BINOM ? a : end;
    }
    if (p == 0 || p == 1)
        return (p == 0) != upper ? -1.0 : end;
    if (!(var > 0))
        return mean;
    const double z0 = mck_normal_start_f64(p < 1e-300 ? 1e-300 : p), z = upper ? -z0 : z0;
    double k = floor(mean + sqrt(var) * z + skew * (z * z - 1.0) / 6.0), low, high;
    k = k < 0 ? 0 : k > end ? end : k;
    /* beyond 2^53 the whole numbers that there are lie further apart */
    const double unit = k < 0x1p53 ? 1.0 : k * 0x1p-52;
    double step = unit;
#define MCK_REACHED(k) \
    (upper ? mck_count_tail(kind, (k), a, b, 1) <= p : mck_count_tail(kind, (k), a, b, 0) >= p)
    if (MCK_REACHED(k)) {
        high = k;
        for (low = k - unit; low >= 0 && MCK_REACHED(low);
             low = low - step < -1.0 ? -1.0 : low - step) {
            high = low;
            step *= 2.0;
        }
        low = low < -1.0 ? -1.0 : low;
    } else {
        low = k;
        for (high = k + unit; high < end && !MCK_REACHED(high); high += step) {
            low = high;
            step *= 2.0;
            if (high > 1e15 && high > 1e9 * mean)
                return MCK_INF_F64;
        }
        high = high > end ? end : high;
    }
    while (high - low > 1.0) {
        const double mid = floor(low + 0.5 * (high - low));
        if (mid <= low || mid >= high)
            break;
        if (MCK_REACHED(mid))
            high = mid;
        else
            low = mid;
    }
#undef MCK_REACHED
    return high;
}

MCK_HEAVY double mck_poisson_ppf_f64(double p, double mu)
{
    return mck_count_quantile(MCK_POISSON, p, mu, 0, 0);
}
MCK_HEAVY double mck_poisson_isf_f64(double q, double mu)
{
    return mck_count_quantile(MCK_POISSON, q, mu, 0, 1);
}
MCK_HEAVY double mck_binom_ppf_f64(double p, double n, double r)
{
    return mck_count_quantile(MCK_BINOM, p, n, r, 0);
}
MCK_HEAVY double mck_binom_isf_f64(double q, double n, double r)
{
    return mck_count_quantile(MCK_BINOM, q, n, r, 1);
}
MCK_HEAVY double mck_nbinom_ppf_f64(double p, double n, double r)
{
    return mck_count_quantile(MCK_NBINOM, p, n, r, 0);
}
MCK_HEAVY double mck_nbinom_isf_f64(double q, double n, double r)
{
    return mck_count_quantile(MCK_NBINOM, q, n, r, 1);
}

/* ---- von Mises ---- */

/* P(X <= x) for mean 0 and concentration kappa: the density integrated from -pi by two
 * Gauss-Legendre panels, cut where it has fallen to e^-40 of its largest value; whole turns add
 * 1. */
MCK_HEAVY double mck_vonmises_cdf_f64(double kappa, double x)
{
    if (!(kappa >= 0) || x != x || isinf(kappa))
        return MCK_NAN_F64;
    if (isinf(x))
        return x > 0 ? 1.0 : 0.0;
    if (x == 0)
        return 0.5;
    const double turns = rint(x / (2.0 * MCK_PI)),
                 t = MC_MULADD(-turns, 2.0 * MCK_PI_LO, MC_MULADD(-turns, 2.0 * MCK_PI_HI, x)),
                 end = -fabs(t);
    const double top = cos(end), low = kappa == 0 ? -1.0 : top - 40.0 / kappa,
                 first = low <= -1.0 ? -MCK_PI : -acos(low), half = 0.25 * (end - first);
    double sum = 0;
    for (int panel = 0; panel < 2; panel++) {
        const double mid = first + (2 * panel + 1) * half;
        for (int k = 0; k < MCK_GAUSS_HALF; k++) { /* cos u - 1 = -2 sin^2(u / 2) */
            const double u = half * mck_gauss_f64[k][0], s1 = mck_sin_f64(0.5 * (mid - u)),
                         s2 = mck_sin_f64(0.5 * (mid + u));
            sum += mck_gauss_f64[k][1] *
                   (mck_exp_f64(-2.0 * kappa * s1 * s1) + mck_exp_f64(-2.0 * kappa * s2 * s2));
        }
    }
    const double tail = half > 0 ? half * sum / (2.0 * MCK_PI * mck_i0e_f64(kappa)) : 0.0;
    return turns + (t > 0 ? 1.0 - tail : tail);
}

MCK_F32_OF_2(gamma_density)
MCK_F32_OF_3(beta_density)
MCK_F32_OF_2(poisson_ppf)
MCK_F32_OF_2(poisson_isf)
MCK_F32_OF_3(binom_ppf)
MCK_F32_OF_3(binom_isf)
MCK_F32_OF_3(nbinom_ppf)
MCK_F32_OF_3(nbinom_isf)
MCK_F32_OF_2(vonmises_cdf)

#endif
