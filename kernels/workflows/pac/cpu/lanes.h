/* lanes.h - lanes for coupling: the relative entropy of a share, and when its short form holds.
 *
 * Built on mck_lanes.h; reached through LN(name) of scalar.h. Knows no coupling measure. */
#ifndef PAC_LANES_H
#define PAC_LANES_H

#include "mck_lanes.h"
#include "../pac.h"

/* relent(u) = u ln u - u + 1 >= 0, the relative entropy of one share u against a share of 1. Small
 * near u = 1, where it is (u-1)^2/2: all terms are built from u - 1, so the relative error stays at
 * a few ulp there and a sum of such terms has no cancellation, unlike sum p ln p. With m = 1+x, u =
 * 2^e m, q(x) = (ln(1+x) - x)/x^2: u ln u - u + 1 = u e ln 2 + (u-1) x + (x - (u-1)) + u x^2 q(x),
 * and x = u - 1 exactly when e = 0. relent(0) = 1. q: polynomials interpolated at Chebyshev nodes
 * on [sqrt(1/2)-1, sqrt(2)-1], relative error 5e-8 (f32); for f64 ln(1+x) - x = -x s + 2 s^3
 * R(s^2), s = x/(2+x), R = (atanh(s) - s)/s^3, relative error 3e-18. */
MC_INLINE mck_vec32 mck_relent_32(mck_vec32 u)
{
    mck_vec32 e;
    const mck_vec32 one = mck_set_32(1.0f), m = mck_split_32(u, &e);
    const mck_vec32 x = mck_sub_32(m, one), d = mck_sub_32(u, one);
    mck_vec32 q = mck_set_32(-0.07673641502f);
    q = mck_muladd_32(q, x, mck_set_32(0.1272267279f));
    q = mck_muladd_32(q, x, mck_set_32(-0.1312755565f));
    q = mck_muladd_32(q, x, mck_set_32(0.1420485595f));
    q = mck_muladd_32(q, x, mck_set_32(-0.1662664563f));
    q = mck_muladd_32(q, x, mck_set_32(0.2000123446f));
    q = mck_muladd_32(q, x, mck_set_32(-0.2500078124f));
    q = mck_muladd_32(q, x, mck_set_32(0.3333333003f));
    q = mck_muladd_32(q, x, mck_set_32(-0.4999999765f));
    mck_vec32 f = mck_muladd_32(d, x, mck_sub_32(x, d));
    f = mck_muladd_32(mck_mul_32(u, mck_mul_32(x, x)), q, f);
    return mck_muladd_32(u, mck_mul_32(e, mck_set_32(0.6931471806f)), f);
}
MC_INLINE mck_vec64 mck_relent_64(mck_vec64 u)
{
    mck_vec64 e;
    const mck_vec64 one = mck_set_64(1.0), m = mck_split_64(u, &e);
    const mck_vec64 x = mck_sub_64(m, one), d = mck_sub_64(u, one);
    const mck_vec64 s = mck_div_64(x, mck_add_64(x, mck_set_64(2.0))), w = mck_mul_64(s, s);
    mck_vec64 r = mck_set_64(0.06543313073920051069);
    r = mck_muladd_64(r, w, mck_set_64(0.066343865693284425923));
    r = mck_muladd_64(r, w, mck_set_64(0.076931198514073290942));
    r = mck_muladd_64(r, w, mck_set_64(0.09090897820066453138));
    r = mck_muladd_64(r, w, mck_set_64(0.11111111195856958721));
    r = mck_muladd_64(r, w, mck_set_64(0.14285714285401805905));
    r = mck_muladd_64(r, w, mck_set_64(0.20000000000000438491));
    r = mck_muladd_64(r, w, mck_set_64(0.33333333333333333232));
    /* ln(1+x) - x */
    const mck_vec64 c = mck_mul_64(s, mck_sub_64(mck_mul_64(mck_add_64(w, w), r), x));
    mck_vec64 f = mck_muladd_64(d, x, mck_sub_64(x, d));
    f = mck_muladd_64(u, c, f);
    return mck_muladd_64(u, mck_mul_64(e, mck_set_64(0.693147180559945309417)), f);
}

/* h + relent(u) for |u - 1| <= 3/8: relent = d^2 g(d), g = ((1+d) ln(1+d) - d)/d^2 interpolated at
 * Chebyshev nodes, relative error 1e-7; a third of the work of the general form. near: does it hold
 * in every lane whose total is not zero. The f64 polynomial would be as long as the general form,
 * so there is none. */
MC_INLINE int mck_relent_near_32(mck_vec32 lo, mck_vec32 hi, mck_vec32 tot)
{
    return !mck_outside_32(lo, hi, tot, 0.625f, 1.375f);
}
MC_INLINE mck_vec32 mck_relent_add_32(mck_vec32 u, mck_vec32 h)
{
    const mck_vec32 d = mck_sub_32(u, mck_set_32(1.0f));
    mck_vec32 g = mck_set_32(-0.01684313729f);
    g = mck_muladd_32(g, d, mck_set_32(0.02145033695f));
    g = mck_muladd_32(g, d, mck_set_32(-0.02353843007f));
    g = mck_muladd_32(g, d, mck_set_32(0.03300406304f));
    g = mck_muladd_32(g, d, mck_set_32(-0.05000775565f));
    g = mck_muladd_32(g, d, mck_set_32(0.08334274824f));
    g = mck_muladd_32(g, d, mck_set_32(-0.1666666325f));
    g = mck_muladd_32(g, d, mck_set_32(0.4999999585f));
    return mck_muladd_32(mck_mul_32(d, d), g, h);
}
MC_INLINE int mck_relent_near_64(mck_vec64 lo, mck_vec64 hi, mck_vec64 tot)
{
    (void)lo, (void)hi, (void)tot;
    return 0;
}
MC_INLINE mck_vec64 mck_relent_add_64(mck_vec64 u, mck_vec64 h)
{
    return mck_add_64(h, mck_relent_64(u));
}

#endif
