/* mck_gamma.h - the gamma function and its relatives: beta, ratios, digamma, zeta.
 *
 * The arithmetic in pairs of doubles that the powers x^a of this family need (their exponents are
 * large, so that an error of one unit in them would cost hundreds in the result), and gamma,
 * rgamma, beta, betaln, comb, perm, poch, digamma, polygamma, zeta. Scalar functions that stand
 * once per object; f32 is f64 rounded once. Accuracy: tests/golden/accuracy_special.lua. */
#ifndef MCK_GAMMA_H
#define MCK_GAMMA_H

#include "mck_math.h"
#include "mck_special_fit.h"

/* A function too large to stand in a loop more than once. */
#define MCK_HEAVY static MC_NOINLINE MC_UNUSED
/* A part of heavy functions: in them on processors, apart on cards, where a lane has 255 registers
 * (oddsc of the beta distribution on 9.0, in place and apart: 255 and 98 registers, 168 and 0 bytes
 * spilled, 20 and 2 s of the compiler). */
#if defined(MCD_CUDA)
#define MCK_PART static MC_NOINLINE
#else
#define MCK_PART MC_INLINE
#endif
#define MCK_F32_OF_1(fn)                         \
    MC_INLINE float mck_##fn##_f32(float x)      \
    {                                            \
        return (float)mck_##fn##_f64((double)x); \
    }
#define MCK_F32_OF_2(fn)                                    \
    MC_INLINE float mck_##fn##_f32(float a, float b)        \
    {                                                       \
        return (float)mck_##fn##_f64((double)a, (double)b); \
    }
#define MCK_F32_OF_3(fn)                                               \
    MC_INLINE float mck_##fn##_f32(float a, float b, float c)          \
    {                                                                  \
        return (float)mck_##fn##_f64((double)a, (double)b, (double)c); \
    }

#define MCK_PI 3.14159265358979323846
#define MCK_EULER 0.57721566490153286061
#define MCK_SQRT2 1.41421356237309504880

/* ---- pairs: hi + lo with |lo| at most a few ulp of hi ---- */

typedef struct mck_pair { double hi, lo; } mck_pair;

MC_INLINE mck_pair mck_pair_sum(double a, double b)
{
    const double s = a + b, v = s - a;
    return MC_MAKE(mck_pair){s, (a - (s - v)) + (b - v)};
}

MC_INLINE mck_pair mck_pair_add(mck_pair a, mck_pair b)
{
    mck_pair s = mck_pair_sum(a.hi, b.hi);
    s.lo += a.lo + b.lo;
    return s;
}

MC_INLINE mck_pair mck_pair_scale(mck_pair a, double x)
{
    const double p = a.hi * x;
    return MC_MAKE(mck_pair){p, mck_prod_err_f64(a.hi, x, p) + a.lo * x};
}

MC_INLINE mck_pair mck_pair_times(mck_pair a, mck_pair b)
{
    const double p = a.hi * b.hi;
    return mck_pair_sum(p, mck_prod_err_f64(a.hi, b.hi, p) + (a.hi * b.lo + a.lo * b.hi));
}

/* (a + low) / d */
MC_INLINE mck_pair mck_pair_quotient(double a, double low, mck_pair d)
{
    const double q = a / d.hi, t = q * d.hi;
    return MC_MAKE(mck_pair){q, ((a - t) - mck_prod_err_f64(q, d.hi, t) + low - q * d.lo) / d.hi};
}

/* log2 of x + low for 0 < x < inf, relative error about 2^-65. */
MCK_PART mck_pair mck_pair_log2(double x, double low)
{
    mck_pair r;
    r.hi = mck_log2_dd_f64(x, &r.lo);
    r.lo += low / x * MCK_LOG2E;
    return r;
}

/* 2^(a) with one rounding of its own. */
MCK_PART double mck_pair_exp2(mck_pair a)
{
    if (!(a.hi < 1100.0))
        return a.hi != a.hi ? a.hi : MCK_INF_F64;
    if (a.hi < -1100.0)
        return 0;
    const double n = rint(a.hi), r = ((a.hi - n) + a.lo) * MCK_LN2;
    return mck_scale_f64(1.0 + MC_MULADD(r * r, mck_exp_q_f64(r), r), n);
}

/* sin(pi x): exact zeros at the integers. */
MC_INLINE double mck_sinpi_f64(double x)
{
    double r = x - 2.0 * rint(0.5 * x);
    r = r > 0.5 ? 1.0 - r : r < -0.5 ? -1.0 - r : r;
    return sin(MCK_PI * r);
}

MC_INLINE double mck_cospi_f64(double x)
{
    const double r = fabs(x - 2.0 * rint(0.5 * x));
    return r > 0.25 && r < 0.75 ? sin(MCK_PI * (0.5 - r)) : cos(MCK_PI * r);
}

MC_INLINE int mck_is_whole_f64(double x)
{
    return rint(x) == x;
}

/* Odd among whole numbers. */
MC_INLINE int mck_is_odd_f64(double x)
{
    return fabs(x) < 0x1p53 && rint(0.5 * x) != 0.5 * x;
}

/* ---- gamma ---- */

/* log Gamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2) for x >= 10: Stirling's series, DLMF
 * 5.11.1. */
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

/* log2 Gamma(x + low) for x >= 10. */
MC_INLINE mck_pair mck_gamma_log2(double x, double low)
{
    /* log2(2 pi) / 2 */
    const mck_pair e = { MCK_LOG2E, MCK_LOG2E_LO },
                   half = { 0x1.536439a4c6efcp0, -0x1.49e49a361efebp-54 };
    mck_pair r = mck_pair_scale(mck_pair_log2(x, low), x - 0.5);
    mck_pair q = mck_pair_scale(e, -x);
    r = mck_pair_add(mck_pair_add(r, q), half);
    r.lo += mck_stirling_f64(x) * MCK_LOG2E + low * (mck_log2_f64(x) - MCK_LOG2E);
    return mck_pair_sum(r.hi, r.lo);
}

/* Gamma(x), 2 <= x < 10: one polynomial per unit interval. */
MC_INLINE double mck_gamma_row(double x)
{
    const int k = (int)x;
    MC_TABLE_AT double *const c = mck_gamma_rows_f64[k - 2];
    const double t = 2.0 * (x - k) - 1.0, s = t * t;
    double e = c[16], o = c[17];
    for (int j = 14; j >= 0; j -= 2) {
        e = MC_MULADD(e, s, c[j]);
        o = MC_MULADD(o, s, c[j + 1]);
    }
    return MC_MULADD(o, t, e);
}

/* Gamma(x + low_x) or its reciprocal (low_x: the rounding of a positive x). From 10 on Stirling's
 * series in pairs, below -10 by reflection (DLMF 5.5.3), up to 2 by the recurrence. */
MC_INLINE double mck_gamma_core_f64(double x, double low_x, int inverse)
{
    if (!(fabs(x) < MCK_INF_F64))
        return x > 0 ? (inverse ? 0.0 : x) : x < 0 ? MCK_NAN_F64 : x;
    if (x >= 10.0) {
        mck_pair g = mck_gamma_log2(x < 1e300 ? x : 1e300, low_x);
        if (inverse)
            g = MC_MAKE(mck_pair){-g.hi, -g.lo};
        return mck_pair_exp2(g);
    }
    if (x <= 0 && mck_is_whole_f64(x))
        return inverse ? 0.0 : x == 0 ? mck_copysign_f64(MCK_INF_F64, x) : MCK_NAN_F64;
    if (x <= -10.0) {
        /* 1 / Gamma(x) = s Gamma(-x) */
        const double top = -x < 1e300 ? -x : 1e300, s = mck_sinpi_f64(x) / MCK_PI * -x;
        const mck_pair g = mck_gamma_log2(top, 0);
        if (inverse) /* Gamma(-x) may overflow where the product does not */
            return mck_pair_exp2(mck_pair_add(g, MC_MAKE(mck_pair){-64.0, 0})) * s * 0x1p64;
        return mck_pair_exp2(mck_pair_add(MC_MAKE(mck_pair){-g.hi, -g.lo},
                                          MC_MAKE(mck_pair){128.0, 0})) / s * 0x1p-128;
    }
    if (x >= 2.0) {
        const double g = mck_gamma_row(x);
        /* digamma, to the digits that low_x deserves */
        const double y = low_x == 0 ? g : g + g * low_x * (log(x) - 0.5 / x);
        return inverse ? 1.0 / y : y;
    }
    /* product of the factors, exact where they are, in a pair */
    double y = x, rest = low_x, p = 1.0, low = 0;
    while (y < 2.0) {
        const double t = p * y;
        low = low * y + mck_prod_err_f64(p, y, t) + p * rest;
        p = t;
        const mck_pair s = mck_pair_sum(y, 1.0);
        y = s.hi;
        rest += s.lo;
    }
    double g = mck_gamma_row(y);
    /* digamma(y), to the two digits that the rest deserves */
    g = g + g * rest * (0.42 + 0.5 * (y - 2.0));
    if (inverse)
        return p / g + low / g;
    const double q = g / p;
    return p * 0x1p970 == 0 || fabs(q) > 1e300 ? q : q - q * (low / p);
}

MCK_HEAVY double mck_gamma_f64(double x) { return mck_gamma_core_f64(x, 0, 0); }
MCK_HEAVY double mck_rgamma_f64(double x) { return mck_gamma_core_f64(x, 0, 1); }

/* Sign of Gamma(x): NaN at the negative integers, the sign of the zero at 0. */
MC_INLINE double mck_gammasgn_f64(double x)
{
    const double whole = floor(x);
    double y = mck_is_odd_f64(whole) ? -1.0 : 1.0;
    y = x == 0 ? mck_copysign_f64(1.0, x) : x > 0 ? 1.0 : whole == x ? MCK_NAN_F64 : y;
    return x == x ? y : x;
}

/* log(1 + u) - u without cancellation, u = d / a with the rounding of the quotient made good. */
MCK_PART double mck_log1pmx_f64(double d, double a)
{
    const double u = d / a, t = u * a, low = ((d - t) - mck_prod_err_f64(u, a, t)) / a;
    return (u > -0.29 && u < 0.41 ? mck_log_rest_f64(u) : log1p(u) - u) - low * (u / (1.0 + u));
}

enum { MCK_PAIR_LIMIT = 1000 }; /* up to here x log2 x in a pair leaves 2^-52 */

/* log2(Gamma(x) / Gamma(x + d)) for x >= 10, d > 0, as a pair. Large x by differences: the large
 * terms cancel on paper. */
MCK_PART mck_pair mck_gamma_ratio_log2(double x, double d)
{
    const mck_pair s = mck_pair_sum(x, d);
    if (s.hi < MCK_PAIR_LIMIT) {
        const mck_pair a = mck_gamma_log2(x, 0), b = mck_gamma_log2(s.hi, s.lo);
        return mck_pair_add(a, MC_MAKE(mck_pair){-b.hi, -b.lo});
    }
    mck_pair r = mck_pair_scale(mck_pair_log2(s.hi, s.lo), -d);
    const double e =
        (d - (x - 0.5) * log1p(d / x)) + (mck_stirling_f64(x) - mck_stirling_f64(s.hi));
    return mck_pair_add(r, mck_pair_scale(MC_MAKE(mck_pair){MCK_LOG2E, MCK_LOG2E_LO}, e));
}

/* ---- beta ---- */

/* log2 B(a, b) for b >= a > 0, b >= 10, less the factor Gamma(a) when a < 10. */
MCK_PART mck_pair mck_beta_log2(double a, double b)
{
    const mck_pair r = mck_gamma_ratio_log2(b, a);
    return a < 10.0 ? r : mck_pair_add(r, mck_gamma_log2(a, 0));
}

/* Gamma(a) Gamma(b) / Gamma(a + b) for a, b > 0. */
MCK_PART double mck_beta_positive_f64(double p, double q)
{
    const double a = p < q ? p : q, b = p < q ? q : p;
    if (isinf(b))
        return 0;
    if (b < 10.0)
        return a < 1e-200 ? 1.0 / a : mck_gamma_f64(a) * (mck_gamma_f64(b) * mck_rgamma_f64(a + b));
    const double e = mck_pair_exp2(mck_beta_log2(a, b));
    return a < 10.0 ? mck_gamma_f64(a) * e : e;
}

MCK_HEAVY double mck_beta_f64(double a, double b)
{
    if (a != a || b != b)
        return a + b;
    if (a > 0 && b > 0)
        return mck_beta_positive_f64(a, b);
    double sign = 1.0;
    if (a <= 0 && mck_is_whole_f64(a)) {
        /* finite where Gamma(a + b) has the same pole: (-1)^b B(1 - a - b, b) */
        if (!mck_is_whole_f64(b) || !(1.0 - a - b > 0) || b <= 0)
            return MCK_INF_F64;
        sign = mck_is_odd_f64(b) ? -1.0 : 1.0;
        return sign * mck_beta_positive_f64(1.0 - a - b, b);
    }
    if (b <= 0 && mck_is_whole_f64(b)) {
        if (!mck_is_whole_f64(a) || !(1.0 - a - b > 0) || a <= 0)
            return MCK_INF_F64;
        sign = mck_is_odd_f64(a) ? -1.0 : 1.0;
        return sign * mck_beta_positive_f64(1.0 - a - b, a);
    }
    const double s = a + b;
    if (fabs(a) < 150 && fabs(b) < 150 && fabs(s) < 150)
        return mck_gamma_f64(a) * mck_gamma_core_f64(s, s > 0 ? mck_pair_sum(a, b).lo : 0.0, 1) *
               mck_gamma_f64(b);
    if (s <= 0 && mck_is_whole_f64(s))
        return 0;
    sign = mck_gammasgn_f64(a) * mck_gammasgn_f64(b) * mck_gammasgn_f64(s);
    return sign * exp(lgamma(a) + lgamma(b) - lgamma(s));
}

MCK_HEAVY double mck_betaln_f64(double a, double b)
{
    if (a > 0 && b > 0) {
        const double small = a < b ? a : b, large = a < b ? b : a;
        if (isinf(large))
            return -MCK_INF_F64;
        if (large >= 10.0) {
            const mck_pair r = mck_beta_log2(small, large);
            const double y = r.hi * MCK_LN2 + r.lo * MCK_LN2;
            return small < 10.0 ? y + lgamma(small) : y;
        }
        return small < 1e-200 ? -log(small) : log(mck_beta_positive_f64(a, b));
    }
    return log(fabs(mck_beta_f64(a, b)));
}

/* ---- ratios ---- */

/* Product of d consecutive numbers upwards from x, in pairs. */
MC_INLINE mck_pair mck_rising_pair(double x, int d)
{
    mck_pair p = {1.0, 0};
    for (int i = 0; i < d; i++) {
        const mck_pair f = mck_pair_sum(x, i);
        const double t = p.hi * f.hi;
        p.lo = p.lo * f.hi + mck_prod_err_f64(p.hi, f.hi, t) + p.hi * f.lo;
        p.hi = t;
    }
    return p;
}

/* Pochhammer's symbol Gamma(a + m) / Gamma(a). */
MCK_HEAVY double mck_poch_f64(double a, double m)
{
    if (a != a || m != m)
        return a + m;
    if (m == 0)
        return 1.0;
    if (m > 0 && m <= 24 && mck_is_whole_f64(m) && fabs(a) < 1e12) {
        const mck_pair p = mck_rising_pair(a, (int)m);
        return p.hi + p.lo;
    }
    const double s = a + m;
    const int pole = s <= 0 && mck_is_whole_f64(s), zero = a <= 0 && mck_is_whole_f64(a);
    if (pole && !zero)
        return MCK_INF_F64;
    if (zero && !pole)
        return 0;
    if (pole) { /* (-1)^m Gamma(1 - a) / Gamma(1 - s) */
        const double r = mck_gamma_f64(1.0 - a) * mck_rgamma_f64(1.0 - s);
        return mck_is_odd_f64(m) ? -r : r;
    }
    if (a >= 10.0 && s >= 10.0 && fabs(m) < MCK_INF_F64 && a < MCK_INF_F64) {
        mck_pair r = m > 0 ? mck_gamma_ratio_log2(a, m) : mck_gamma_ratio_log2(s, -m);
        if (m > 0)
            r = MC_MAKE(mck_pair){-r.hi, -r.lo};
        return mck_pair_exp2(r);
    }
    if (a > 0 && s >= 10.0 && s < 1e15)
        return mck_pair_exp2(mck_gamma_log2(s, mck_pair_sum(a, m).lo)) * mck_rgamma_f64(a);
    if (fabs(a) < 150 && fabs(s) < 150)
        return mck_gamma_core_f64(s, s > 0 ? mck_pair_sum(a, m).lo : 0.0, 0) * mck_rgamma_f64(a);
    return mck_gammasgn_f64(a) * mck_gammasgn_f64(s) * exp(lgamma(s) - lgamma(a));
}

/* Binomial coefficient of real n and k. */
MCK_HEAVY double mck_binom_f64(double n, double k)
{
    if (n != n || k != k)
        return n + k;
    if (n < 0 && mck_is_whole_f64(n))
        return MCK_NAN_F64;
    if (mck_is_whole_f64(k)) {
        double j = mck_is_whole_f64(n) && k > 0.5 * n && n > 0 ? n - k : k;
        if (j < 0)
            return 0;
        if (j <= 40) {
            const mck_pair p = mck_rising_pair(n - j + 1.0, (int)j),
                           q = mck_rising_pair(1.0, (int)j);
            if (p.hi < MCK_INF_F64) {
                const double r = p.hi / q.hi, t = r * q.hi;
                const double y =
                    r + (((p.hi - t) - mck_prod_err_f64(r, q.hi, t)) + p.lo - r * q.lo) / q.hi;
                return mck_is_whole_f64(n) && fabs(y) < 0x1p52 ? rint(y) : y;
            }
        }
    }
    return 1.0 / ((n + 1.0) * mck_beta_f64(1.0 + n - k, 1.0 + k));
}

/* Choices of k among n, 0 outside 0 <= k <= n. */
MC_INLINE double mck_comb_f64(double n, double k)
{
    return (k > n) | (n < 0) | (k < 0) ? 0.0 : mck_binom_f64(n, k);
}

/* Ordered choices of k among n: Gamma(n + 1) / Gamma(n - k + 1). */
MC_INLINE double mck_perm_f64(double n, double k)
{
    return (k > n) | (n < 0) | (k < 0) ? 0.0 : mck_poch_f64(n - k + 1.0, k);
}

MCK_HEAVY double mck_factorial_f64(double n)
{
    const mck_pair x = mck_pair_sum(n, 1.0);
    return n < 0 ? 0.0 : mck_gamma_core_f64(x.hi, n < 1e15 ? x.lo : 0.0, 0);
}

/* ---- digamma, zeta, polygamma ---- */

/* Derivative of log Gamma: DLMF 5.11.2 from 10 on, a polynomial about the root on [1, 2] with the
 * recurrence between, reflection (5.5.4) below 0; poles give NaN. */
MCK_HEAVY double mck_digamma_f64(double x)
{
    double add = 0;
    if (x == 0)
        return mck_copysign_f64(MCK_INF_F64, -x);
    if (x < 0) {
        const double whole = floor(x);
        if (whole == x || isinf(x))
            return MCK_NAN_F64;
        /* exact: the distance from the nearer pole, which cot(pi x) depends on alone */
        const double d = x - rint(x);
        add = fabs(d) < 1e-9 ? -1.0 / d : -MCK_PI / tan(MCK_PI * d);
        x = 1.0 - x;
    }
    if (x >= 10.0) {
        const double r = 1.0 / x, z = r * r;
        double y = 1.0 / 12.0;
        y = MC_MULADD(y, z, -691.0 / 32760.0);
        y = MC_MULADD(y, z, 1.0 / 132.0);
        y = MC_MULADD(y, z, -1.0 / 240.0);
        y = MC_MULADD(y, z, 1.0 / 252.0);
        y = MC_MULADD(y, z, -1.0 / 120.0);
        y = MC_MULADD(y, z, 1.0 / 12.0);
        return x > 1e300 ? add + log(x) : add + (log(x) - (0.5 * r + y * z));
    }
    if (x < 1.0) {
        add -= 1.0 / x;
        x += 1.0;
    }
    double sum = 0;
    while (x > 2.0) {
        x -= 1.0;
        sum += 1.0 / x;
    }
    const double d = (x - MCK_PSI_ROOT_F64) - MCK_PSI_ROOT_LO_F64;
    return add + (sum + d * mck_fit_digamma_f64(x));
}

/* Hurwitz' zeta function sum (q + k)^-s for s > 1, q > 0: terms up to q + k >= max(10, s), then the
 * formula of Euler and Maclaurin (DLMF 25.11.5 with 2.10.1). */
MC_INLINE double mck_zeta_positive_f64(double s, double q)
{
    const double reach = s > 10.0 ? s : 10.0;
    double sum = 0, a = q;
    while (a < reach) {
        const double t = pow(a, -s);
        sum += t;
        a += 1.0;
        if (t <= sum * 1e-18) /* also where all of them vanish */
            return sum;
    }
    const double t = pow(a, -s), r = 1.0 / (a * a);
    double term = t * s / a, rest = 0;
    for (int j = 0; j < MCK_BERNOULLI; j++) {
        const double part = mck_bernoulli_f64[j] * term;
        rest += part;
        if (fabs(part) < 1e-18 * t)
            break;
        term *= (s + (2 * j + 1)) * (s + (2 * j + 2)) * r;
    }
    return sum + (t * a / (s - 1.0) + 0.5 * t + rest);
}

/* zeta(s, q): poles at q = 0, -1, ... give inf; negative q needs a whole s, where the sum over all
 * integers splits it into functions of positive arguments. */
MCK_HEAVY double mck_hurwitz_zeta_f64(double s, double q)
{
    if (s != s || q != q)
        return s + q;
    if (s == 1.0)
        return MCK_INF_F64;
    if (s < 1.0)
        return MCK_NAN_F64;
    if (q <= 0) {
        if (floor(q) == q)
            return MCK_INF_F64;
        if (!mck_is_whole_f64(s))
            return MCK_NAN_F64;
        const double f = q - floor(q), sign = mck_is_odd_f64(s) ? -1.0 : 1.0;
        double far = mck_zeta_positive_f64(s, 1.0 - f) - mck_zeta_positive_f64(s, 1.0 - q);
        if (-q < 64.0) { /* a short sum without the difference; q + k is exact where it is small */
            far = 0;
            for (double k = 0; k + q < 0; k += 1.0)
                far += pow(-(q + k), -s);
        }
        return mck_zeta_positive_f64(s, f) + sign * far;
    }
    if (isinf(s))
        return q > 1.0 ? 0.0 : q == 1.0 ? 1.0 : MCK_INF_F64;
    return isinf(q) ? 0.0 : mck_zeta_positive_f64(s, q);
}

/* zeta(s) for s > 2: (zeta(s) - 1) 2^s is smooth. */
MC_INLINE double mck_zeta_far_f64(double s)
{
    if (s > 60.0)
        return 1.0;
    return 1.0 + mck_exp2_f64(-s) * (s < 5.0    ? mck_fit_zeta_0_f64(s)
                                     : s < 14.0 ? mck_fit_zeta_1_f64(s)
                                                : mck_fit_zeta_2_f64(s));
}

/* Riemann's zeta function of a real argument; reflection (DLMF 25.4.1) below 0. */
MCK_HEAVY double mck_riemann_zeta_f64(double s)
{
    if (s == 1.0)
        return MCK_INF_F64;
    if (s > 2.0)
        return mck_zeta_far_f64(s);
    if (s >= 0)
        return 1.0 / (s - 1.0) + mck_fit_zeta_f64(s);
    if (isinf(s))
        return MCK_NAN_F64;
    if (0.5 * s == floor(0.5 * s))
        return 0;
    if (s != s)
        return s;
    /* 2 (2 pi)^(s-1) sin(pi s / 2) Gamma(1 - s) zeta(1 - s) */
    const double p = 1.0 - s, sine = mck_sinpi_f64(0.5 * s),
                 z = p > 2.0 ? mck_zeta_far_f64(p) : mck_fit_zeta_f64(p) - 1.0 / s;
    if (p < 10.0)
        return 2.0 * pow(2.0 * MCK_PI, -p) * sine * mck_gamma_f64(p) * z;
    const mck_pair l = {0x1.536439a4c6efcp1, -0x1.49e49a361efebp-53}, rest = mck_pair_sum(1.0, -s);
    mck_pair e = mck_pair_add(mck_gamma_log2(p, rest.lo), mck_pair_scale(l, -p));
    e.lo -= l.hi * rest.lo;
    return 2.0 * sine * z * mck_pair_exp2(e);
}

/* n-th derivative of digamma, n a whole number >= 0: (-1)^(n+1) n! zeta(n + 1, x), DLMF
 * 25.11.12. */
MCK_HEAVY double mck_polygamma_f64(double n, double x)
{
    if (n == 0)
        return mck_digamma_f64(x);
    if (!(n > 0) || !mck_is_whole_f64(n))
        return MCK_NAN_F64;
    const double z = mck_hurwitz_zeta_f64(n + 1.0, x), y = mck_gamma_f64(n + 1.0) * z;
    return mck_is_odd_f64(n) ? y : -y;
}

MCK_F32_OF_1(gamma)
MCK_F32_OF_1(rgamma)
MCK_F32_OF_1(gammasgn)
MCK_F32_OF_2(beta)
MCK_F32_OF_2(betaln)
MCK_F32_OF_2(poch)
MCK_F32_OF_2(binom)
MCK_F32_OF_2(comb)
MCK_F32_OF_2(perm)
MCK_F32_OF_1(factorial)
MCK_F32_OF_1(digamma)
MCK_F32_OF_2(hurwitz_zeta)
MCK_F32_OF_1(riemann_zeta)
MCK_F32_OF_2(polygamma)

#endif
