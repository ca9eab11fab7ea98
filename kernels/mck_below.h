/* mck_below.h - exp(x) for x <= 0, as weights relative to the largest one need it. */
#ifndef MCK_BELOW_H
#define MCK_BELOW_H

#include "mck_math.h"

/* exp(x) for x <= 0 in one scaling: 0 below the normal numbers, any number for x > 0 that is not
 * near 0. The number of halvings stands in the low bits of t. */
MC_INLINE float mck_below_f32(float x)
{
    const float t = MC_MULADDF(x, MCK_LOG2E_F, 0x1.8p23f + 127.0f), n = t - (0x1.8p23f + 127.0f);
    const float r = MC_MULADDF(-n, MCK_LN2_LO_F, MC_MULADDF(-n, MCK_LN2_HI_F, x));
    const float y =
        (1.0f + MC_MULADDF(r * r, mck_exp_q_f32(r), r)) * mck_from_bits_f32(mck_bits_f32(t) << 23);
    return x < -0x1.5d5p6f ? 0.0f : y;
}

MC_INLINE double mck_below_f64(double x)
{
    const double t = MC_MULADD(x, MCK_LOG2E, 0x1.8p52 + 1023.0), n = t - (0x1.8p52 + 1023.0);
    const double r = MC_MULADD(-n, MCK_LN2_LO, MC_MULADD(-n, MCK_LN2_HI, x));
    const double y =
        (1.0 + MC_MULADD(r * r, mck_exp_q_f64(r), r)) * mck_from_bits_f64(mck_bits_f64(t) << 52);
    return x < -0x1.62p9 ? 0.0 : y;
}

#endif
