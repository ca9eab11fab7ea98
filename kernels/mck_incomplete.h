/* mck_incomplete.h - incomplete gamma and beta functions and their inverses.
 *
 * Gammainc, gammaincc, betainc, betaincc, their inverses, and the quantile of Student's t. Each
 * function has one core that knows which tail is wanted, so that the small tail never comes from 1
 * - large. The inverses run Halley's method on the logarithm of the smaller tail over the
 * logarithm (gamma) or logit (beta) of the variable: that curve is concave because both densities
 * are log-concave there; a bracket keeps the iteration inside. Accuracy:
 * tests/golden/accuracy_special.lua. */
#ifndef MCK_INCOMPLETE_H
#define MCK_INCOMPLETE_H

#include "mck_gamma.h"

enum { MCK_SPECIAL_STEPS = 200000 };

/* ---- gamma ---- */

/* x^a e^-x / Gamma(a) for a, x > 0. */
MCK_PART double mck_gamma_front_f64(double a, double x)
{
    const mck_pair e = {MCK_LOG2E, MCK_LOG2E_LO};
    if (a < MCK_PAIR_LIMIT && x < 8000.0 && x > 1e-290) {
        mck_pair p = mck_pair_add(mck_pair_scale(mck_pair_log2(x, 0), a), mck_pair_scale(e, -x));
        if (a < 10.0)
            return mck_pair_exp2(p) * mck_rgamma_f64(a);
        const mck_pair g = mck_gamma_log2(a, 0);
        return mck_pair_exp2(mck_pair_add(p, MC_MAKE(mck_pair){-g.hi, -g.lo}));
    }
    if (a < 10.0)
        return exp(a * log(x) - x) * mck_rgamma_f64(a);
    const double u = (x - a) / a;
    return sqrt(a / (2.0 * MCK_PI)) *
           exp(a * (u > -0.5 && u < 0.5 ? mck_log1pmx_f64(x - a, a) : log(x / a) - u) -
               mck_stirling_f64(a));
}

/* Temme's uniform expansion for large a near x = a: DLMF 8.12.3, 8.12.4 with 8.12.7. */
MCK_PART double mck_gamma_temme_f64(double a, double x, int upper)
{
    const double u = (x - a) / a, phi = -mck_log1pmx_f64(x - a, a), y = a * phi;
    const double eta = mck_copysign_f64(sqrt(2.0 * phi), u);
    double sum = 0, scale = 1.0;
    for (int k = 0; k < MCK_TEMME_ROWS; k++) {
        double row = 0;
        for (int n = MCK_TEMME_COLS - 1; n >= 0; n--)
            row = MC_MULADD(row, eta, mck_temme_f64[k][n]);
        const double part = row * scale;
        sum += part;
        if (fabs(part) < 1e-17)
            break;
        scale /= a;
    }
    const double rest = exp(-y) / sqrt(2.0 * MCK_PI * a) * sum, s = sqrt(y);
    return upper ? 0.5 * mck_erfc_f64(u < 0 ? -s : s) + rest
                 : 0.5 * mck_erfc_f64(u < 0 ? s : -s) - rest;
}

/* P(a, x) by its power series, DLMF 8.11.4. */
MC_INLINE double mck_gamma_series_f64(double a, double x)
{
    double term = 1.0, sum = 1.0;
    for (int k = 1; k < MCK_SPECIAL_STEPS && term > sum * 1e-17; k++) {
        term *= x / (a + k);
        sum += term;
    }
    return mck_gamma_front_f64(a, x) * sum / a;
}

/* Q(a, x) for small a and x <= 1.1: 1 - x^a / Gamma(1 + a) (1 + a sum (-x)^n / (n! (n + a))), the
 * leading 1 - x^a / Gamma(1 + a) in one. */
MC_INLINE double mck_gamma_small_f64(double a, double x)
{
    double term = 1.0, sum = 0;
    for (int n = 1; n < 60; n++) {
        term *= -x / n;
        const double part = term / (a + n);
        sum += part;
        if (fabs(part) < 1e-17 * fabs(sum))
            break;
    }
    const double log1 = a <= 0.5 ? a * mck_fit_lgamma1_f64(a) : lgamma(1.0 + a),
                 e = a * log(x) - log1;
    return -expm1(e) - exp(e) * a * sum;
}

/* Q(a, x) by Legendre's continued fraction, DLMF 8.9.2 in its even form, by the modified method of
 * Lentz. */
MC_INLINE double mck_gamma_fraction_f64(double a, double x)
{
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
    return mck_gamma_front_f64(a, x) * h;
}

/* Regularised incomplete gamma functions P(a, x), or Q = 1 - P when upper. */
MCK_PART double mck_gamma_part_f64(double a, double x, int upper)
{
    if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0) || (isinf(a) && isinf(x)))
        return MCK_NAN_F64;
    if (x == 0 || isinf(a))
        return upper ? 1.0 : 0.0;
    if (a == 0 || isinf(x))
        return upper ? 0.0 : 1.0;
    const double away = fabs(x - a) / a;
    if (a > 20.0 && away < (a < 200.0 ? 0.3 : 4.5 / sqrt(a)))
        return mck_gamma_temme_f64(a, x, upper);
    if (x <= 1.1 && upper) {
        const int p_is_small = x <= 0.5 ? -a * log(x) > 0.4 : 1.1 * x < a;
        return p_is_small ? 1.0 - mck_gamma_series_f64(a, x) : mck_gamma_small_f64(a, x);
    }
    if (x <= 1.0 || x < a)
        return upper ? 1.0 - mck_gamma_series_f64(a, x) : mck_gamma_series_f64(a, x);
    if (x <= 1.1)
        return 1.0 - mck_gamma_small_f64(a, x);
    return upper ? mck_gamma_fraction_f64(a, x) : 1.0 - mck_gamma_fraction_f64(a, x);
}

MCK_HEAVY double mck_gammainc_f64(double a, double x) { return mck_gamma_part_f64(a, x, 0); }
MCK_HEAVY double mck_gammaincc_f64(double a, double x) { return mck_gamma_part_f64(a, x, 1); }

/* Quantile of a standard normal variable to a few digits: start of the inverses. Handbook of
 * mathematical functions, 1964, 26.2.23. */
MC_INLINE double mck_normal_start_f64(double p)
{
    const double tail = p < 0.5 ? p : 1.0 - p, t = sqrt(-2.0 * log(tail));
    const double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                             (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    return p < 0.5 ? -z : z;
}

/* Halley's step for log tail = log goal from Newton's: change is the relative slope of the density,
 * r = density / tail. */
MC_INLINE double mck_log_newton(double newton, double change, double r, int upper)
{
    const double step = upper ? -newton : newton,
                 half = 1.0 + 0.5 * step * (upper ? change + r : change - r);
    return step / (half > 0.6 ? half : half == half ? 0.6 : half);
}

/* x with P(a, x) = p and Q(a, x) = q, p + q = 1; the smaller of the two is taken as exact. */
MC_INLINE double mck_gamma_inverse_f64(double a, double p, double q)
{
    const int upper = q < p;
    const double goal = upper ? q : p,
                 log1 = a < 0.5 ? a * mck_fit_lgamma1_f64(a) : lgamma(1.0 + a);
    double t = (log(p) + log1) / a; /* log x: exact for small x */
    if (a > 0.5 || t > -1.0) {
        /* the cube root of a gamma variable is nearly normal: The distribution of chi-square,
         * 1931 */
        const double z = mck_normal_start_f64(p < 1e-300 ? 1e-300
                                              : p < 0.5  ? p
                                                         : 1.0 - (q < 1e-300 ? 1e-300 : q));
        const double zz = upper ? -mck_normal_start_f64(q < 1e-300 ? 1e-300 : q) : z,
                     w = 1.0 - 1.0 / (9.0 * a) + zz / (3.0 * sqrt(a));
        if (w > 0.3 && a > 0.5)
            t = log(a * w * w * w);
        else if (upper && a < 1.0) { /* Q ~ x^(a-1) e^-x / Gamma(a) */
            const double l = -log(q * mck_gamma_f64(a)), x = l + (a - 1.0) * log(l > 1.0 ? l : 1.0);
            t = log(x > 1e-3 ? x : 1e-3);
        }
    }
    double low = -MCK_INF_F64, high = MCK_INF_F64;
    for (int k = 0; k < 100; k++) {
        const double x = exp(t), y = mck_gamma_part_f64(a, x, upper);
        const double more = upper ? y - goal : goal - y; /* > 0: x must grow */
        if (more == 0)
            return x;
        if (more > 0)
            low = t > low ? t : low;
        else
            high = t < high ? t : high;
        const double slope = mck_gamma_front_f64(a, x); /* d P / d log x */
        const double r = y > 0 ? slope / y : 0,
                     step =
                         mck_log_newton(r > 0 ? log(goal / y) / r : MCK_NAN_F64, a - x, r, upper);
        /* cubic: the last step acts on x itself */
        if (fabs(step * step * step) * (1.0 + a) * sqrt(1.0 + a) < 1e-17)
            return x + x * (step + 0.5 * step * step);
        double next = t + step;
        if (!(next > low) || !(next < high))
            next = isinf(low) ? t - 1.0 : isinf(high) ? t + 1.0 : 0.5 * (low + high);
        if (next == t)
            break;
        t = next;
    }
    return exp(t);
}

MCK_HEAVY double mck_gammaincinv_f64(double a, double p)
{
    if (!(a > 0) || !(p >= 0 && p <= 1) || isinf(a))
        return MCK_NAN_F64;
    return p == 0 ? 0.0 : p == 1 ? MCK_INF_F64 : mck_gamma_inverse_f64(a, p, 1.0 - p);
}

MCK_HEAVY double mck_gammainccinv_f64(double a, double q)
{
    if (!(a > 0) || !(q >= 0 && q <= 1) || isinf(a))
        return MCK_NAN_F64;
    return q == 0 ? MCK_INF_F64 : q == 1 ? 0.0 : mck_gamma_inverse_f64(a, 1.0 - q, q);
}

/* ---- beta ---- */

/* log2 of a positive number as a pair, also where the low part of its products would underflow:
 * there it is scaled first. */
MCK_PART mck_pair mck_pair_log2_small(mck_pair u)
{
    const int tiny = u.hi < 1e-250;
    const double scale = tiny ? 0x1p600 : 1.0;
    return mck_pair_add(mck_pair_log2(u.hi * scale, u.lo * scale),
                        MC_MAKE(mck_pair){tiny ? -600.0 : 0.0, 0});
}

/* x b - y a to the last digits of both products, which cancel about the mean. */
MC_INLINE double mck_beta_distance(double a, double b, mck_pair x, mck_pair y)
{
    const double p = x.hi * b, q = y.hi * a;
    const double low = mck_prod_err_f64(x.hi, b, p) - mck_prod_err_f64(y.hi, a, q);
    return ((p - q) + low) + (x.lo * b - y.lo * a);
}

/* x^a y^b / B(a, b) with x and y = 1 - x as pairs. */
MCK_PART double mck_beta_front_f64(double a, double b, mck_pair u0, mck_pair u1)
{
    const double x = u0.hi, y = u1.hi, s = a + b, small = a < b ? a : b, large = a < b ? b : a;
    if (s < MCK_PAIR_LIMIT && x > 0 && y > 0) {
        mck_pair p = mck_pair_add(mck_pair_scale(mck_pair_log2_small(u0), a),
                                  mck_pair_scale(mck_pair_log2_small(u1), b));
        /* 1 / B(a, b) as a, b -> 0 or a -> 0 */
        if (small < 1e-200)
            return mck_pair_exp2(p) * (small * (large / s));
        if (large >= 10.0) {
            const mck_pair g = mck_beta_log2(small, large);
            const double e = mck_pair_exp2(mck_pair_add(p, MC_MAKE(mck_pair){-g.hi, -g.lo}));
            return small < 10.0 ? e * mck_rgamma_f64(small) : e;
        }
        p = mck_pair_add(p, MC_MAKE(mck_pair){256.0, 0});
        return mck_pair_exp2(p) / mck_beta_positive_f64(a, b) * 0x1p-256;
    }
    if (small >= 10.0) { /* about the mean the large terms cancel on paper */
        const double d = mck_beta_distance(a, b, u0, u1);
        const double u = d / a, v = -d / b; /* x s / a - 1, y s / b - 1: a u + b v = 0 */
        const double left =
            u > -0.5 && u < 0.5 ? a * mck_log1pmx_f64(d, a) : a * (log(x * (s / a)) - u);
        const double right =
            v > -0.5 && v < 0.5 ? b * mck_log1pmx_f64(-d, b) : b * (log(y * (s / b)) - v);
        return sqrt(a / s * b / (2.0 * MCK_PI)) *
               exp(left + right + mck_stirling_f64(s) - mck_stirling_f64(a) - mck_stirling_f64(b));
    }
    const double lx = x > 0.5 ? log1p(-(y + u1.lo)) : log(x), ly = y > 0.5 ? log1p(-x) : log(y);
    const mck_pair g = mck_gamma_ratio_log2(large, small);
    return exp(a * lx + b * ly - (g.hi + g.lo) * MCK_LN2) * mck_rgamma_f64(small);
}

/* I_x(a, b) B(a, b) / (x^a y^b) left of the mean: the even part of the continued fraction DLMF
 * 8.17.22, in which x and y = 1 - x both stand, so that neither end loses digits (Significant digit
 * computation of the incomplete beta function ratios, 1992, equation 9). */
MCK_PART double mck_beta_fraction_f64(double a, double b, mck_pair x, mck_pair y)
{
    const double lead = ((a * y.hi - b * x.hi) + (mck_prod_err_f64(a, y.hi, a * y.hi) -
                                                  mck_prod_err_f64(b, x.hi, b * x.hi))) +
                        (a * y.lo - b * x.lo);
    const double two = 1.0 + y.hi; /* 2 - x */
    const int large = a > 1e100 || b > 1e100;
    double f = large ? a / (a + 1.0) * (lead + 1.0) : a * (lead + 1.0) / (a + 1.0), c, d = 0;
    f = f == 0 ? 1e-300 : f;
    c = f;
    for (int m = 1; m < MCK_SPECIAL_STEPS; m++) {
        const double e = a + (2 * m - 1), g = a + b + (m - 1);
        double an, bn = m + m * (b - m) * x.hi / e;
        if (large) { /* products of parameters overflow */
            an = (a + (m - 1)) / e * (g * x.hi / e) * m * ((b - m) * x.hi);
            bn += (a + m) / (e + 2.0) * (lead + 1.0 + m * two);
        } else {
            an = (a + (m - 1)) * g * m * (b - m) * x.hi * x.hi / (e * e);
            bn += (a + m) * (lead + 1.0 + m * two) / (e + 2.0);
        }
        d = bn + an * d;
        d = d == 0 ? 1e300 : 1.0 / d;
        c = bn + an / c;
        c = c == 0 ? 1e-300 : c;
        const double step = c * d;
        f *= step;
        if (fabs(step - 1.0) < 2.3e-16)
            break;
    }
    return 1.0 / f;
}

#define MCK_BETA_LARGE 1e15 /* from here on both sides the normal limit serves: error 1 / n */

/* I_x(a, b) for large a and b, or its complement: the error function of the exponent itself, and
 * the first term beside it, a third of the skewness
 * (Temme, The asymptotic expansion of the incomplete beta functions, 1982; DLMF 8.18.9, whose c_0
 * is its limit at the mean). */
MCK_PART double mck_beta_normal_f64(double a, double b, mck_pair u0, mck_pair u1, int upper)
{
    const double scale = (a > b ? a : b) > 0x1p500 ? 0x1p-600 : 1.0, p = a * scale, q = b * scale;
    if (p == 0 || q == 0 || p < 0x1p-900 || q < 0x1p-900) /* one is nothing beside the other */
        return MCK_NAN_F64;
    const double d = mck_beta_distance(p, q, u0, u1);
    const double u = d / p, v = -d / q;
    const double left = fabs(u) < 0.5 ? mck_log1pmx_f64(d, p) : log1p(u) - u;
    const double right = fabs(v) < 0.5 ? mck_log1pmx_f64(-d, q) : log1p(v) - v;
    const double half = -(a * left + b * right);
    const double z = sqrt(half > 0 ? half : 0.0); /* of a normal variable, over root 2 */
    const double n = p + q; /* below: (b - a) / (3 sqrt(n a b)) */
    const double skew = (q - p) / n / (3.0 * sqrt(p / n * q)) * sqrt(scale);
    const double rest = exp(-half) * skew / sqrt(2.0 * MCK_PI), side = d < 0 ? -z : z;
    return upper ? 0.5 * mck_erfc_f64(side) - rest : 0.5 * mck_erfc_f64(-side) + rest;
}

/* one parameter at least this, the other at most MCK_BETA_LARGE: error a^3 / b^2 */
#define MCK_BETA_FAR 1e32

/* The limit for b beyond all measure: the incomplete gamma function of a at t = -b log(1 - x)
 * (DLMF 8.17.2 with (1 - x)^b = e^-t). What the rounding of t moves is added by the density. */
MCK_PART double mck_beta_far_f64(double a, double b, mck_pair x, int upper)
{
    const double l = x.hi < 1e-17 ? x.hi : -log1p(-x.hi), t = b * l;
    if (t == 0 || !(t < 1e300))
        return (t != 0) == upper ? 0.0 : 1.0;
    const double off = (x.hi < 1e-17 ? mck_prod_err_f64(b, l, t) : 0.0) + b * x.lo;
    const double v = mck_gamma_part_f64(a, t, upper), move = off / t * mck_gamma_front_f64(a, t);
    return upper ? v - move : v + move;
}

/* I_x(a, b), or its complement when upper, for 0 < x < 1 and y = 1 - x as pairs. */
MCK_HEAVY double mck_beta_part_f64(double a, double b, mck_pair u0, mck_pair u1, int upper)
{
    const double x = u0.hi;
    if (a > MCK_BETA_LARGE && b > MCK_BETA_LARGE)
        return mck_beta_normal_f64(a, b, u0, u1, upper);
    if (b > MCK_BETA_FAR)
        return mck_beta_far_f64(a, b, u0, upper);
    if (a > MCK_BETA_FAR)
        return mck_beta_far_f64(b, a, u1, !upper);
    const int swap = x > (a + 1.0) / (a + b + 2.0);
    const double front = mck_beta_front_f64(a, b, u0, u1);
    const double v =
        front * (swap ? mck_beta_fraction_f64(b, a, u1, u0) : mck_beta_fraction_f64(a, b, u0, u1));
    return swap == upper ? v : 1.0 - v;
}

MC_INLINE double mck_beta_regular_f64(double a, double b, double x, int upper)
{
    if (!(a >= 0) || !(b >= 0) || !(x >= 0 && x <= 1) || (a == 0 && b == 0) ||
        (isinf(a) && isinf(b)))
        return MCK_NAN_F64;
    double edge = -1.0;
    if (x == 0 || x == 1)
        edge = x;
    else if (a == 0 || isinf(b))
        edge = 1.0;
    else if (b == 0 || isinf(a))
        edge = 0;
    if (edge >= 0)
        return upper ? 1.0 - edge : edge;
    return mck_beta_part_f64(a, b, MC_MAKE(mck_pair){x, 0}, mck_pair_sum(1.0, -x), upper);
}

MCK_HEAVY double mck_betainc_f64(double a, double b, double x)
{
    return mck_beta_regular_f64(a, b, x, 0);
}
MCK_HEAVY double mck_betaincc_f64(double a, double b, double x)
{
    return mck_beta_regular_f64(a, b, x, 1);
}

/* x with I_x(a, b) = p and complement q, p + q = 1, the smaller of the two exact; *y is 1 - x to
 * full accuracy. */
MC_INLINE double mck_beta_inverse_from_f64(double a, double b, double p, double q, double start,
                                           double *y)
{
    const int upper = q < p;
    const double goal = upper ? q : p;
    double t; /* logit x */
    if (start == start)
        t = start;
    else if (a > 1.0 && b > 1.0) { /* Handbook of mathematical functions, 1964, 26.5.22 */
        const double g = goal < 1e-300 ? 1e-300 : goal, z0 = mck_normal_start_f64(g),
                     z = upper ? z0 : -z0;
        const double l = (z * z - 3.0) / 6.0,
                     h = 2.0 / (1.0 / (2.0 * a - 1.0) + 1.0 / (2.0 * b - 1.0)), r = h + l;
        const double w =
            (r > 0 ? z * sqrt(r) / h : 0) -
            (1.0 / (2.0 * b - 1.0) - 1.0 / (2.0 * a - 1.0)) * (l + 5.0 / 6.0 - 2.0 / (3.0 * h));
        t = log(a / b) - 2.0 * w;
    } else { /* the power law of the nearer end */
        const double left = (log(p) + log(a) + mck_betaln_f64(a, b)) / a,
                     right = (log(q) + log(b) + mck_betaln_f64(a, b)) / b;
        t = left < -0.7 ? left : right < -0.7 ? -right : log(a / b);
    }
    double low = -MCK_INF_F64, high = MCK_INF_F64, x = 0.5, z = 0.5;
    for (int k = 0; k < 100; k++) {
        t = t < -745.0 ? -745.0 : t > 745.0 ? 745.0 : t;
        const double e = exp(-fabs(t));
        const mck_pair small = { e / (1.0 + e), 0 }, large = mck_pair_sum(1.0, -small.hi),
                       u0 = t < 0 ? small : large, u1 = t < 0 ? large : small;
        x = u0.hi;
        z = u1.hi;
        /* d I / d logit */
        const double v = mck_beta_part_f64(a, b, u0, u1, upper),
                     slope = mck_beta_front_f64(a, b, u0, u1);
        const double more = upper ? v - goal : goal - v;
        if (more == 0)
            break;
        if (more > 0)
            low = t > low ? t : low;
        else
            high = t < high ? t : high;
        const double r = v > 0 ? slope / v : 0,
                     step = mck_log_newton(r > 0 ? log(goal / v) / r : MCK_NAN_F64, a * z - b * x,
                                           r, upper);
        if (fabs(step * step * step) * (1.0 + a + b) * sqrt(1.0 + a + b) < 1e-17) {
            /* the last step acts on x and 1 - x themselves */
            const double d = x * z * (step + 0.5 * step * step * (z - x));
            *y = z - d;
            return x + d;
        }
        double next = t + step;
        if (!(next > low) || !(next < high))
            next = isinf(low) ? t - 4.0 : isinf(high) ? t + 4.0 : 0.5 * (low + high);
        if (next == t)
            break;
        t = next;
        if (fabs(t) > 745.0)
            break;
    }
    if (t <= -745.0) { /* below the smallest numbers */
        *y = 1.0;
        return exp((log(p) + log(a) + mck_betaln_f64(a, b)) / a);
    }
    if (t >= 745.0) {
        *y = exp((log(q) + log(b) + mck_betaln_f64(a, b)) / b);
        return 1.0;
    }
    *y = z;
    return x;
}

MC_INLINE double mck_beta_inverse_f64(double a, double b, double p, double q, double *y)
{
    return mck_beta_inverse_from_f64(a, b, p, q, MCK_NAN_F64, y);
}

MC_INLINE double mck_beta_quantile_f64(double a, double b, double p, double q)
{
    double y;
    if (!(a > 0) || !(b > 0) || !(p >= 0 && p <= 1) || isinf(a) || isinf(b))
        return MCK_NAN_F64;
    if (p == 0)
        return 0;
    return q == 0 ? 1.0 : mck_beta_inverse_f64(a, b, p, q, &y);
}

MCK_HEAVY double mck_betaincinv_f64(double a, double b, double p)
{
    return mck_beta_quantile_f64(a, b, p, 1.0 - p);
}
MCK_HEAVY double mck_betainccinv_f64(double a, double b, double q)
{
    return mck_beta_quantile_f64(a, b, 1.0 - q, q);
}

/* Odds x / (1 - x) of the quantile: what the F and t distributions need, without the rounding of x
 * near 1. */
MC_INLINE double mck_beta_odds_core_f64(double a, double b, double p, double q)
{
    double y;
    if (!(a > 0) || !(b > 0) || !(p >= 0 && p <= 1) || isinf(a) || isinf(b))
        return MCK_NAN_F64;
    if (p == 0)
        return 0;
    if (q == 0)
        return MCK_INF_F64;
    const double x = mck_beta_inverse_f64(a, b, p, q, &y);
    return x / y;
}

MCK_HEAVY double mck_beta_odds_f64(double a, double b, double p)
{
    return mck_beta_odds_core_f64(a, b, p, 1.0 - p);
}
MCK_HEAVY double mck_beta_oddsc_f64(double a, double b, double q)
{
    return mck_beta_odds_core_f64(a, b, 1.0 - q, q);
}

/* ---- Student's t ---- */

/* P(T <= t) with df degrees of freedom: I_{df / (df + t^2)}(df / 2, 1 / 2) / 2 on the small side
 * (DLMF 8.17.1). */
MCK_HEAVY double mck_stdtr_f64(double df, double t)
{
    if (!(df > 0) || t != t)
        return MCK_NAN_F64;
    if (t == 0)
        return 0.5;
    if (isinf(t))
        return t > 0 ? 1.0 : 0.0;
    double tail;
    if (isinf(df) || df > 1e18)
        tail = 0.5 * mck_erfc_f64(fabs(t) / MCK_SQRT2);
    else {
        /* x = df / (df + t^2) and y = t^2 / (df + t^2) as pairs; far out only the ratio counts */
        const double a = fabs(t), s = a / sqrt(df);
        const int big = a > 1e120 || df < 1e-120 || df > 1e120;
        const double z = big ? s * s : a * a, v = big ? 1.0 : df;
        const mck_pair d = mck_pair_sum(z, v), x0 = mck_pair_quotient(v, 0, d),
                       y0 = mck_pair_quotient(z, big ? 0 : mck_prod_err_f64(a, a, z), d);
        if (z < 1e-280 * v || !(z < MCK_INF_F64))
            tail = z < 1.0 ? 0.5 : exp(-df * log(s)) / (df * mck_beta_positive_f64(0.5 * df, 0.5));
        else
            tail = 0.5 * mck_beta_part_f64(0.5 * df, 0.5, x0, y0, 0);
    }
    return t > 0 ? 1.0 - tail : tail;
}

/* Quantile of Student's t: t^2 / df is the odds of a beta variable. */
/* t^2 / df of the quantile beyond which `tail` lies on each side, to three digits and more:
 * Algorithm 396: Student's t-quantiles, 1970. df >= 1. */
MC_INLINE double mck_student_start_f64(double df, double tail)
{
    const double a = 1.0 / (df - 0.5), b = 48.0 / (a * a);
    double c = ((20700.0 * a / b - 98.0) * a - 16.0) * a + 96.36;
    const double d = ((94.5 / (b + c) - 3.0) / b + 1.0) * sqrt(0.5 * MCK_PI * a) * df;
    double y = exp(2.0 / df * log(2.0 * d * tail));
    if (y > 0.05 + a) { /* near normal */
        const double x = mck_ndtri_f64(tail);
        y = x * x;
        c += df < 5.0 ? 0.3 * (df - 4.5) * (x + 0.6) : 0.0;
        c = (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b + c;
        y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x;
        return expm1(a * y * y);
    }
    return ((1.0 / (((df + 6.0) / (df * y) - 0.089 * d - 0.822) * (df + 2.0) * 3.0) +
             0.5 / (df + 4.0)) *
                y -
            1.0) *
               (df + 1.0) / (df + 2.0) +
           1.0 / y;
}

MCK_HEAVY double mck_stdtrit_f64(double df, double p)
{
    if (!(df > 0) || !(p >= 0 && p <= 1))
        return MCK_NAN_F64;
    if (p == 0 || p == 1)
        return p == 0 ? -MCK_INF_F64 : MCK_INF_F64;
    if (p == 0.5)
        return 0;
    const double tail = p < 0.5 ? p : 1.0 - p;
    if (isinf(df) || df > 1e18)
        return mck_ndtri_f64(p);
    double y;
    if (df == 1.0 || df == 2.0) {
        /* Handbook of mathematical functions, 1964, 26.7.3, 26.7.4 with A = 1 - 2 tail */
        const double half = 0.5 - tail;
        const double t = df == 2.0     ? half / sqrt(0.5 * tail * (1.0 - tail))
                         : tail > 0.25 ? tan(MCK_PI * half)
                                       : 1.0 / tan(MCK_PI * tail);
        return p < 0.5 ? -t : t;
    }
    /* x / (1 - x) */
    const double ratio = df >= 1.0 ? mck_student_start_f64(df, tail) : MCK_NAN_F64;
    const double x =
        mck_beta_inverse_from_f64(0.5, 0.5 * df, 1.0 - 2.0 * tail, 2.0 * tail,
                                  ratio > 0 && ratio < MCK_INF_F64 ? log(ratio) : MCK_NAN_F64, &y);
    const double t = sqrt(df) * sqrt(x / y);
    return p < 0.5 ? -t : t;
}

MCK_F32_OF_2(gammainc)
MCK_F32_OF_2(gammaincc)
MCK_F32_OF_2(gammaincinv)
MCK_F32_OF_2(gammainccinv)
MCK_F32_OF_3(betainc)
MCK_F32_OF_3(betaincc)
MCK_F32_OF_3(betaincinv)
MCK_F32_OF_3(betainccinv)
MCK_F32_OF_3(beta_odds)
MCK_F32_OF_3(beta_oddsc)
MCK_F32_OF_2(stdtr)
MCK_F32_OF_2(stdtrit)

#endif
