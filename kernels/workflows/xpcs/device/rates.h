/* rates.h - formulas that the pass on the processor and on devices have in common: D and G with
 * their derivatives at a time, robust losses. */
#ifndef XPCS_RATES_H
#define XPCS_RATES_H

#include "../../../mck_math.h"
#include "places.h"

#define XPCS_FLOOR 1e-10 /* of D and G, s.a. the model's definition */
#define XPCS_DEGREE 0x1.1df46a2529d39p-6 /* pi / 180 */

/* D or G and the integrands of its derivatives at time t; derivatives are 0 where the floor
 * holds. */
MC_INLINE void xpcs_rate(double t, double scale, double power, double shift, double *v)
{
    const double p = mck_pow_f64(t, power), r = scale * p + shift;
    const int above = r > XPCS_FLOOR;
    v[0] = above ? r : XPCS_FLOOR;
    v[1] = above ? p : 0;
    v[2] = above ? scale * p * mck_log_f64(t) : 0;
    v[3] = above ? 1 : 0;
}

/* What the pass takes of an angle; c: the contrast, 1 where it is common. */
MC_INLINE void xpcs_angle(int laminar, double phi0, double phi, double ks, double sigma,
                          double contrast, double offset, double c, double *v)
{
    const double turn = (phi0 - phi) * XPCS_DEGREE, w = 1 / sigma;
    const double k = laminar ? ks * mck_cos_f64(turn) : 0,
                 t = laminar ? -ks * mck_sin_f64(turn) * XPCS_DEGREE : 0;
    v[XPCS_K] = k;
    v[XPCS_RK] = 1 / k;
    v[XPCS_PHI] = t;
    v[XPCS_WEIGHT] = w;
    v[XPCS_SHIFT] = -offset * w;
    v[XPCS_SCALE] = -contrast;
    v[XPCS_C1] = c;
    v[XPCS_CK] = c * k;
    v[XPCS_CT] = c * t;
    v[XPCS_C2] = c * c;
    v[XPCS_C2K] = c * c * k;
    v[XPCS_C2T] = c * c * t;
    v[XPCS_C2KK] = c * c * k * k;
    v[XPCS_C2KT] = c * c * k * t;
    v[XPCS_C2TT] = c * c * t * t;
}

/* Robust losses: rho(z), its slope rho' and the curvature rho' + 2 z rho'' at z = (r / f_scale)^2.
 */
MC_INLINE double xpcs_soft_l1(double z, double *slope, double *curve)
{
    const double t = mck_sqrt_f64(1 + z), d = 1 / t;
    *slope = d;
    *curve = d * d * d; /* d - z d^3 */
    return 2 * (z / (1 + t));
}

MC_INLINE double xpcs_huber(double z, double *slope, double *curve)
{
    const double t = mck_sqrt_f64(z > 1 ? z : 1);
    *slope = 1 / t;
    *curve = z > 1 ? 0 : 1;
    return z > 1 ? 2 * t - 1 : z;
}

MC_INLINE double xpcs_cauchy(double z, double *slope, double *curve)
{
    const double d = 1 / (1 + z);
    *slope = d;
    *curve = d * d * (1 - z);
    return mck_log1p_f64(z);
}

MC_INLINE double xpcs_arctan(double z, double *slope, double *curve)
{
    const double d = 1 / (1 + z * z);
    *slope = d;
    *curve = d * d * (1 - 3 * z * z);
    return mck_atan_f64(z);
}

#endif
