/* mck_gamma_c.h - the logarithm of the gamma function of complex numbers, on its principal branch.
 *
 * Log Gamma for mck_c128, mck_c64 and its real restriction. The branch is the continuation from
 * the positive reals with the cut along the negative ones, not the logarithm of gamma. Four ways:
 * near 0, 1 and 2 the series about 2 (DLMF 5.7.3) with the recurrence, so that the zeros at 1 and
 * 2 keep their digits; Stirling's series far away; upward recurrence with the turns of the product
 * counted; reflection: Computing the principal branch of log-gamma, 1997. Errors are normwise, as
 * in mck_math_c.h. */
#ifndef MCK_GAMMA_C_H
#define MCK_GAMMA_C_H

#include "mck_arc_c.h"
#include "mck_gamma.h"

/* how far the series about 2 serves, of its radius 2: for itself, and turned to 1 and 0 */
#define MCK_LOGGAMMA_TWO 1.0
#define MCK_LOGGAMMA_NEAR 0.75
#define MCK_LOGGAMMA_FAR 7.0

MC_INLINE double mck_norm_c128(mck_c128 a)
{
    return MC_PRODUCT(a.re, a.re) + MC_PRODUCT(a.im, a.im);
}

/* log Gamma(2 + w), |w| <= 1 */
MC_INLINE mck_c128 mck_loggamma_two(mck_c128 w)
{
    mck_c128 y = mck_make_c128(mck_loggamma_f64_row[MCK_LOGGAMMA_ROW - 1], 0);
    for (int k = MCK_LOGGAMMA_ROW - 2; k >= 0; k--) {
        y = mck_mul_c128(y, w);
        y.re += mck_loggamma_f64_row[k];
    }
    return mck_mul_c128(y, w);
}

/* |z| >= 7 or so, away from the negative reals. */
MC_INLINE mck_c128 mck_loggamma_far(mck_c128 z)
{
    MC_TABLE_LOCAL double c[] = { 1.0 / 12.0,    -1.0 / 360.0,       1.0 / 1260.0,
                                  -1.0 / 1680.0, 1.0 / 1188.0,       -691.0 / 360360.0,
                                  1.0 / 156.0,   -3617.0 / 122400.0, 43867.0 / 244188.0 };
    const mck_c128 r = mck_div_c128(mck_make_c128(1.0, 0), z), rr = mck_mul_c128(r, r),
                   l = mck_log_c128(z);
    mck_c128 y = mck_make_c128(c[8], 0);
    for (int k = 7; k >= 0; k--) {
        y = mck_mul_c128(y, rr);
        y.re += c[k];
    }
    y = mck_mul_c128(y, r);
    const mck_c128 t = mck_mul_c128(mck_make_c128(z.re - 0.5, z.im), l);
    return mck_make_c128((t.re - z.re) + (0.91893853320467274178 + y.re), (t.im - z.im) + y.im);
}

/* log Gamma for Im z >= 0 or +0, z finite, not near 0, 1, 2, Re z >= 0.1 or far. */
MC_INLINE mck_c128 mck_loggamma_right(mck_c128 z)
{
    if (z.re >= MCK_LOGGAMMA_FAR || z.im >= MCK_LOGGAMMA_FAR)
        return mck_loggamma_far(z);
    mck_c128 p = z;
    int below = 0;
    double turns = 0;
    for (z.re += 1.0; z.re < MCK_LOGGAMMA_FAR; z.re += 1.0) {
        p = mck_mul_c128(p, z);
        /* the angle grows by less than pi a step: it passed pi where the sign turns to minus */
        const int b = p.im < 0;
        turns += b && !below;
        below = b;
    }
    const mck_c128 y = mck_sub_c128(mck_loggamma_far(z), mck_log_c128(p));
    return mck_make_c128(y.re, y.im - 2.0 * MCK_PI * turns);
}

MC_INLINE mck_c128 mck_loggamma_upper(mck_c128 z)
{
    const mck_c128 one = mck_make_c128(z.re - 1.0, z.im), two = mck_make_c128(z.re - 2.0, z.im);
    const double near = MCK_LOGGAMMA_NEAR * MCK_LOGGAMMA_NEAR;
    if (z.re < 1.5 && mck_norm_c128(one) <= near)
        return mck_sub_c128(mck_loggamma_two(one), mck_log1p_c128(one));
    if (mck_norm_c128(two) <= MCK_LOGGAMMA_TWO * MCK_LOGGAMMA_TWO)
        return mck_loggamma_two(two);
    if (mck_norm_c128(z) <= near)
        return mck_sub_c128(mck_sub_c128(mck_loggamma_two(z), mck_log1p_c128(z)), mck_log_c128(z));
    if (z.re >= 0.1 || z.im >= MCK_LOGGAMMA_FAR)
        return mck_loggamma_right(z);
    /* log pi - log sin(pi z) + 2 pi i floor(x / 2 + 1/4) - log Gamma(1 - z), whose argument lies
     * below the reals */
    const double e = MCK_PI * z.im;
    const mck_c128 s = mck_make_c128(mck_sinpi_f64(z.re) * mck_cosh_f64(e),
                                     mck_cospi_f64(z.re) * mck_sinh_f64(e)),
                   l = mck_log_c128(s);
    const mck_c128 w = mck_loggamma_right(mck_make_c128(1.0 - z.re, z.im));
    return mck_make_c128((1.14472988584940017414 - l.re) - w.re,
                         (2.0 * MCK_PI * floor(0.5 * z.re + 0.25) - l.im) + w.im);
}

MCK_HEAVY mck_c128 mck_loggamma_c128(mck_c128 z)
{
    if (z.re != z.re || z.im != z.im || z.re == -MCK_INF_F64)
        return mck_make_c128(MCK_NAN_F64, MCK_NAN_F64);
    const double y = fabs(z.im);
    if (z.re == MCK_INF_F64)
        return mck_make_c128(MCK_INF_F64, y == 0 ? z.im : copysign(MCK_INF_F64, z.im));
    if (y == MCK_INF_F64)
        return mck_make_c128(-MCK_INF_F64, z.im);
    if (y == 0 && z.re <= 0 && mck_is_whole_f64(z.re))
        return mck_make_c128(MCK_NAN_F64, MCK_NAN_F64);
    const mck_c128 r = mck_loggamma_upper(mck_make_c128(z.re, y));
    return mck_make_c128(r.re, signbit(z.im) ? -r.im : r.im);
}

MC_INLINE mck_c64 mck_loggamma_c64(mck_c64 z)
{
    return mck_narrow_c128(mck_loggamma_c128(mck_widen_c64(z)));
}

/* Below zero the values are complex. */
MCK_HEAVY double mck_loggamma_f64(double x)
{
    return x >= 0 ? lgamma(x) : MCK_NAN_F64;
}

MCK_F32_OF_1(loggamma)

#endif
