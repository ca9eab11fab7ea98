/* mck_struve.h - Struve functions H and the modified L, of real order and argument.
 *
 * The choice between two ways: expansions for large x (DLMF 11.6.1, 11.6.2: Y or I plus a series
 * cut at its smallest term), taken where that term is below a rounding, and else the power series
 * (DLMF 11.2.1, 11.2.2), whose sum is carried in pairs of doubles since that of H cancels by up to
 * e^36. */
#ifndef MCK_STRUVE_H
#define MCK_STRUVE_H

#include "mck_bessel_order.h"

enum { MCK_STRUVE_STEPS = 100000, MCK_STRUVE_TAIL = 400 };
#define MCK_STRUVE_FAR 30.0 /* below, the smallest term (about e^-x) is no rounding */
#define MCK_ROOT_PI 1.77245385090551602730

/* (x / 2)^a / Gamma(a + 1/2) for x > 0. */
MC_INLINE double mck_struve_front(double a, double x)
{
    const double g = a + 0.5;
    if (g <= 0 && mck_is_whole_f64(g))
        return 0;
    if (fabs(a) < 140.0) {
        const double r = mck_rgamma_f64(g), y = mck_pow_f64(0.5 * x, a) * r;
        if (y != 0 && fabs(y) < MCK_INF_F64)
            return y;
        const double h = mck_pow_f64(0.5 * x, 0.5 * a); /* half the power at a time */
        return h * r * h;
    }
    const mck_pair power = mck_pair_scale(mck_pair_log2(0.5 * x, 0), a),
                   l = mck_gamma_log2(g > 0 ? g : 1.0 - g, 0);
    if (g > 0)
        return mck_pair_exp2(mck_pair_add(power, MC_MAKE(mck_pair){-l.hi, -l.lo}));
    return mck_sinpi_f64(g) / MCK_PI * mck_pair_exp2(mck_pair_add(power, l)); /* DLMF 5.5.3 */
}

/* The power series for x > 0, v + 3/2 no pole; sign: -1 for H, 1 for L. */
MC_INLINE double mck_struve_series(double v, double x, double sign)
{
    const double h = 0.5 * x, hh = h * h;
    const mck_pair z = {sign * hh, sign * mck_prod_err_f64(h, h, hh)};
    mck_pair term = {1.0, 0}, sum = {1.0, 0};
    int n = 0;
    for (; n < MCK_STRUVE_STEPS; n++) {
        const mck_pair t = mck_pair_times(term, z);
        term = mck_pair_quotient(t.hi, t.lo, mck_pair_scale(mck_pair_sum(v, n + 1.5), n + 1.5));
        sum = mck_pair_add(sum, term);
        sum = mck_pair_sum(sum.hi, sum.lo);
        /* past the orders where terms grow again */
        if (n + v > -1.0 && !(fabs(term.hi) > 1e-33 * fabs(sum.hi)))
            break;
    }
    return n < MCK_STRUVE_STEPS ? mck_struve_front(v + 1.0, x) * (2.0 / MCK_ROOT_PI) * sum.hi
                                : MCK_NAN_F64;
}

/* sum_k of DLMF 11.6.1 over its first term, up to the smallest; sign: 1 for H, -1 for L. *rest: the
 * first term left out. */
MC_INLINE double mck_struve_tail(double v, double x, double sign, double *rest)
{
    const double q = sign * (2.0 / x) * (2.0 / x);
    double term = 1.0, sum = 1.0;
    *rest = 1.0;
    for (int k = 0; k < MCK_STRUVE_TAIL; k++) {
        const double next = term * (k + 0.5) * (v - 0.5 - k) * q;
        *rest = fabs(next);
        if (*rest <= 0x1p-55 * fabs(sum) || *rest > fabs(term))
            break;
        term = next;
        sum += term;
    }
    return sum;
}

/* H (modified 0) or L (modified 1). Reflection: DLMF 11.4.16, 11.4.17; half odd orders below zero:
 * 11.4.3, 11.4.4. */
MC_INLINE double mck_struve_any(double v, double x, int modified)
{
    const int whole = mck_is_whole_f64(v);
    const double ax = fabs(x), n = -v - 0.5;
    if (v != v || x != x || isinf(v) || (x < 0 && !whole))
        return MCK_NAN_F64;
    double y;
    if (n > 0 && mck_is_whole_f64(n))
        return modified            ? mck_iv_any(-v, x, 0)
               : mck_is_odd_f64(n) ? -mck_jy_any(-v, x, 0)
                                   : mck_jy_any(-v, x, 0);
    if (ax == 0)
        y = v > -1.0                     ? 0.0
            : v == -1.0                  ? 2.0 / MCK_PI
            : mck_sinpi_f64(v + 1.5) > 0 ? MCK_INF_F64
                                         : -MCK_INF_F64;
    else if (isinf(ax))
        y = modified || v > 1.0 ? MCK_INF_F64 : v == 1.0 ? 2.0 / MCK_PI : 0.0;
    else {
        double rest = MCK_INF_F64, size = 0;
        y = 0;
        if (ax > MCK_STRUVE_FAR && (v <= ax || !modified)) {
            const double front = mck_struve_front(v, ax) * (2.0 / MCK_ROOT_PI) / ax,
                         s = front * mck_struve_tail(v, ax, modified ? -1.0 : 1.0, &rest);
            /* past the turning point what is beside the series is as small as J, and Y cancels with
             * the rest of the integral */
            y = modified ? mck_iv_any(-v, ax, 0) - s : v <= ax ? mck_jy_any(v, ax, 1) + s : s;
            rest *= fabs(front);
            size = modified || v > ax ? fabs(y) : fabs(y) + 0.3 / sqrt(ax); /* the amplitude of Y */
        }
        if (!(rest <= 0x1p-54 * size))
            y = mck_struve_series(v, ax, modified ? 1.0 : -1.0);
    }
    return x < 0 && !mck_is_odd_f64(v) ? -y : y;
}

MCK_HEAVY double mck_struve_f64(double v, double x) { return mck_struve_any(v, x, 0); }
MCK_HEAVY double mck_modstruve_f64(double v, double x) { return mck_struve_any(v, x, 1); }

MCK_F32_OF_2(struve)
MCK_F32_OF_2(modstruve)

#endif
