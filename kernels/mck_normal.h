/* mck_normal.h - the normal distribution function of one element, and gelu, which is made of it.
 *
 * Under the contract of mck_math.h, which it includes. Gelu and its derivative are polynomials by
 * pieces where |x| is at most 5.49: no exponential function, no division. Their tables of eight fit
 * into a vector register (kernels/cpu/gelu.c); in a loop over the functions here compilers read
 * them element by element. Devices, and levels without fused products, take the long way. */
#ifndef MCK_NORMAL_H
#define MCK_NORMAL_H

#include "mck_math.h"

/* Standard normal distribution function, Phi(x) = erfc(-x / sqrt(2)) / 2. The division is carried
 * to twice the precision: its rounding would cost x^2 ulp in the tail, where d log erfc(u) = -2 u
 * du. */
MC_INLINE double mck_ndtr_f64(double x)
{
    /* 1/sqrt(2) = h + low */
    const double h = 0.70710678118654752440, low = -4.8336466567264567e-17;
    /* NaN takes the second way, and comes back through x below */
    double a = mck_abs_f64(x), top = a < 40.0 ? a : 40.0;
    double u = top * h, du = mck_prod_err_f64(top, h, u) + top * low;
    double t = 0.5 * mck_erfc_f64(u);
    t = t - t * (2.0 * u * du);
    double y = x < 0 ? t : 1.0 - t;
    return x == x ? y : x;
}

#if MCK_HAS_FMA
/* In f32, times 2^64: Phi(-c) for 0 <= c, exp(-c^2 / 2) in *density. The latter times P / ((b c +
 * a) P + N), a quotient right to 5.8e-9 up to 14.5; errors of P cancel in it. -c^2 / 2 = s + low;
 * the sum that rounds its power of two carries the exponent of 2^(n + 64). */
MC_INLINE float mck_ndtr_tail_f32(float c, float *density)
{
    const float u = -0.5f * c, s = u * c, low = MC_MULADDF(u, c, -s);
    const float z = MC_MULADDF(s, MCK_LOG2E_F, 0x1.8p23f + (127.0f + 64.0f)),
                n = z - (0x1.8p23f + (127.0f + 64.0f));
    const float r = MC_MULADDF(-n, MCK_LN2_LO_F, MC_MULADDF(-n, MCK_LN2_HI_F, s)) + low;
    const float e = MC_MULADDF(r * r, mck_exp_q_f32(r), r);
    float p = 0x1.e351c2p-9f, q = 0x1.283e4p-7f;
    p = MC_MULADDF(p, c, 0x1.2aa14ap-5f), q = MC_MULADDF(q, c, 0x1.7c8aeep-4f);
    p = MC_MULADDF(p, c, 0x1.5108cep-3f), q = MC_MULADDF(q, c, 0x1.826e9p-2f);
    p = MC_MULADDF(p, c, 0x1.937512p-2f), q = MC_MULADDF(q, c, 0x1.cc5bc4p-1f);
    p = MC_MULADDF(p, c, 0x1.ccccccp-2f);
    q = MC_MULADDF(MC_MULADDF(c, 0x1.40d834p+1f, 0x1.f65bfep-10f), p, q);
    const float power = mck_from_bits_f32(mck_bits_f32(z) << 23);
    *density = MC_MULADDF(e, power, power);
    return MC_MULADDF(e, p, p) / q * power;
}
#endif

/* Without fused products that is more than 4 ulp off, and f64 serves. At 14.25 nothing is left. */
MC_INLINE float mck_ndtr_f32(float x)
{
#if MCK_HAS_FMA
    const float c = mck_abs_f32(x);
    float density;
    const float t = mck_ndtr_tail_f32(c, &density) * 0x1p-64f, y = c > 14.25f ? 0.0f : t;
    return x < 0.0f ? y : 1.0f - y;
#else
    return (float)mck_ndtr_f64((double)x);
#endif
}

/* x Phi(x). At -40 nothing is left: -inf gives -0. */
MC_INLINE double mck_gelu_f64(double x)
{
    const double a = x < -40.0 ? -40.0 : x;
    return a * mck_ndtr_f64(a);
}

/* Its derivative Phi(x) + x phi(x). */
MC_INLINE double mck_gelu_slope_f64(double x)
{
    const double low = x < -40.0 ? -40.0 : x, a = low > 40.0 ? 40.0 : low;
    return MC_MULADD(a * 0.3989422804014327, mck_exp_f64(-0.5 * a * a), mck_ndtr_f64(a));
}

/* In f32 by the distribution function, for any x. */
MC_INLINE float mck_gelu_far_f32(float x)
{
#if MCK_HAS_FMA
    const float a = mck_abs_f32(x), c = a > 14.5f ? 14.5f : a;
    float density;
    const float t = c * mck_ndtr_tail_f32(c, &density) * -0x1p-64f;
    return x < 0.0f ? t : x + t;
#else
    return (float)mck_gelu_f64((double)x);
#endif
}

MC_INLINE float mck_gelu_slope_far_f32(float x)
{
#if MCK_HAS_FMA
    const float a = mck_abs_f32(x), c = a > 15.0f ? 15.0f : a;
    float density;
    const float t = mck_ndtr_tail_f32(c, &density);
    const float y = MC_MULADDF(c * -0x1.988454p-2f, density, t) * 0x1p-64f;
    return x < 0.0f ? y : 1.0f - y;
#else
    return (float)mck_gelu_slope_f64((double)x);
#endif
}

#if MCK_HAS_FMA && !defined(MCK_FUSED)

/* Piece k of |x| = c is where (MCK_PIECE_1 c + MCK_PIECE_2) c rounds to k. Rows of a table: the
 * middle m of each piece, then coefficients of a polynomial in c - m, from the eighth power down.
 * Made by tests/golden/ulp_coefs.py; relative error 6e-8, of the derivative in units of at least
 * its minimum. */
#define MCK_PIECE_1 0x1.5d1746p-3f
#define MCK_PIECE_2 0x1.b45d18p-2f
#define MCK_PIECES_END 0x1.5f8p2f

/* c Phi(-c) */
/* clang-format off */
MC_ALIGNED(32) MC_TABLE float mck_gelu_pieces[10 * 8] = {
    0x0p0f, 0x1.6cp0f, 0x1.3p1f, 0x1.8ep1f,
        0x1.ep1f, 0x1.13p2f, 0x1.34p2f, 0x1.52p2f,
    0x1.ea0dfap-12f, -0x1.9d28dp-12f, 0x1.149ff6p-12f, -0x1.36af06p-14f,
        -0x1.190828p-15f, 0x1.17d982p-19f, 0x1.a4925p-19f, 0x1.44651ap-20f,
    0x1.5d5a12p-10f, -0x1.27d32p-10f, -0x1.e6b464p-14f, 0x1.48fb3ep-12f,
        0x1.587298p-16f, -0x1.b4d4ap-16f, -0x1.7c409cp-17f, -0x1.7f28c4p-19f,
    -0x1.6ad32ap-7f, 0x1.6fcdd6p-8f, -0x1.03076p-9f, -0x1.0c6ceap-11f,
        0x1.4607a6p-13f, 0x1.90d1dap-14f, 0x1.b3a4fap-16f, 0x1.5bc32p-18f,
    0x1.f68524p-12f, 0x1.e508d2p-13f, 0x1.7950f4p-8f, -0x1.b9e79p-12f,
        -0x1.60cc76p-11f, -0x1.c90086p-13f, -0x1.780308p-15f, -0x1.f9d78ap-18f,
    0x1.0fe422p-4f, -0x1.2c7be8p-5f, -0x1.dc32e2p-9f, 0x1.022aaep-8f,
        0x1.8de30ap-10f, 0x1.6ffbccp-12f, 0x1.ed3126p-15f, 0x1.1f43ecp-17f,
    0x1.983594p-17f, 0x1.16c8d2p-4f, -0x1.f9df22p-7f, -0x1.316c3ep-7f,
        -0x1.22a6dcp-9f, -0x1.a82f04p-12f, -0x1.e0e644p-15f, -0x1.ee3d3ap-18f,
    -0x1.988472p-2f, 0x1.9d5dbp-10f, 0x1.627c96p-5f, 0x1.8ea802p-7f,
        0x1.16bcaap-9f, 0x1.511c88p-12f, 0x1.4b12f2p-15f, 0x1.3040bp-18f,
    0x1p-1f, -0x1.07f892p-3f, -0x1.86a026p-5f, -0x1.24957cp-7f,
        -0x1.437006p-10f, -0x1.4dc7d4p-13f, -0x1.20af0cp-16f, -0x1.df4282p-20f,
    0x0p0f, 0x1.c38acap-4f, 0x1.556ebp-6f, 0x1.7e0becp-9f,
        0x1.5babcp-12f, 0x1.383068p-15f, 0x1.e162fp-19f, 0x1.6bca76p-22f,
};
/* clang-format on */

/* c phi(c) - Phi(-c) */
/* clang-format off */
MC_ALIGNED(32) MC_TABLE float mck_gelu_slope_pieces[10 * 8] = {
    0x0p0f, 0x1.6cp0f, 0x1.3p1f, 0x1.8ep1f,
        0x1.ep1f, 0x1.13p2f, 0x1.34p2f, 0x1.52p2f,
    0x1.8c6b14p-9f, -0x1.bf8ad8p-10f, 0x1.3236e2p-11f, 0x1.16f768p-13f,
        -0x1.b69068p-14f, -0x1.628d06p-16f, 0x1.a440a2p-18f, 0x1.bbc7a2p-19f,
    -0x1.b469p-7f, 0x1.c59e04p-9f, -0x1.18e63ep-9f, 0x1.01551ep-11f,
        0x1.fecec8p-13f, -0x1.c4b508p-17f, -0x1.d01cb6p-16f, -0x1.44cba4p-17f,
    0x1.7335b8p-9f, 0x1.2008b6p-7f, 0x1.4b9dd8p-11f, -0x1.21d7fp-9f,
        -0x1.144d9p-13f, 0x1.867c12p-13f, 0x1.4a637ap-14f, 0x1.4ae7bep-16f,
    0x1.df97aap-5f, -0x1.150f7ep-5f, 0x1.84d3dcp-7f, 0x1.94f046p-9f,
        -0x1.e6dacep-11f, -0x1.2ce7b4p-11f, -0x1.46363ap-13f, -0x1.04d6d8p-15f,
    0x1.7ebf6cp-12f, -0x1.541c34p-10f, -0x1.d75b68p-6f, 0x1.14334p-9f,
        0x1.b8f4cp-9f, 0x1.1d918cp-10f, 0x1.d60ab4p-13f, 0x1.3c3318p-15f,
    -0x1.1067e4p-2f, 0x1.2c866cp-3f, 0x1.dc2d3p-7f, -0x1.022e52p-6f,
        -0x1.8de6b4p-8f, -0x1.6ffap-10f, -0x1.ed34dap-13f, -0x1.1f4386p-15f,
    0x1.50e45ep-18f, -0x1.a229aap-3f, 0x1.7b6622p-5f, 0x1.ca227p-6f,
        0x1.b3fa4cp-8f, 0x1.3e2388p-10f, 0x1.68acacp-13f, 0x1.72adc8p-16f,
    0x1.98844ep-1f, -0x1.9d7532p-9f, -0x1.627c92p-4f, -0x1.8ea7f6p-6f,
        -0x1.16bc9cp-8f, -0x1.511c94p-11f, -0x1.4b12e4p-14f, -0x1.3040b6p-17f,
    -0x1p-1f, 0x1.07f88cp-3f, 0x1.86a028p-5f, 0x1.24957cp-7f,
        0x1.437006p-10f, 0x1.4dc7d2p-13f, 0x1.20af0cp-16f, 0x1.df4282p-20f,
};
/* clang-format on */

MC_INLINE float mck_pieces_f32(MC_TABLE_AT float *table, float c)
{
    const float u = MC_MULADDF(MC_MULADDF(c, MCK_PIECE_1, MCK_PIECE_2), c, 0x1.8p23f);
    const int k = (int)(mck_bits_f32(u) & 7);
    const float t = c - table[k];
    float p = table[8 + k];
    for (int j = 2; j < 10; j++) p = MC_MULADDF(p, t, table[8 * j + k]);
    return p;
}

/* max(x, 0) - c Phi(-c); the difference of a negative x, and of -0, begins at -0 */
MC_INLINE float mck_gelu_f32(float x)
{
    const uint32_t u = mck_bits_f32(x), low = u < 0x80000000u ? u : 0x80000000u;
    const float a = mck_abs_f32(x), c = a < MCK_PIECES_END ? a : MCK_PIECES_END;
    const float y = mck_from_bits_f32(low) - mck_pieces_f32(mck_gelu_pieces, c);
    return x >= -MCK_PIECES_END ? y : mck_gelu_far_f32(x);
}

/* With p = c phi(c) - Phi(-c): 1 + p, of negative x -p */
MC_INLINE float mck_gelu_slope_f32(float x)
{
    const float a = mck_abs_f32(x), c = a < MCK_PIECES_END ? a : MCK_PIECES_END;
    const float p = mck_pieces_f32(mck_gelu_slope_pieces, c);
    const uint32_t sign = mck_bits_f32(x) & 0x80000000u;
    const float y = (sign ? 0.0f : 1.0f) + mck_from_bits_f32(mck_bits_f32(p) ^ sign);
    return a <= MCK_PIECES_END ? y : mck_gelu_slope_far_f32(x);
}

#else

MC_INLINE float mck_gelu_f32(float x)
{
    return mck_gelu_far_f32(x);
}

MC_INLINE float mck_gelu_slope_f32(float x)
{
    return mck_gelu_slope_far_f32(x);
}

#endif

#endif
