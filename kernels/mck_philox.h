/* mck_philox.h - Philox4x32-10 and the maps from its words to numbers, one text for C and CUDA.
 *
 * The layout of a stream. Block b of stream s under a key is the image of the counter { lo32 b,
 * hi32 b, lo32 s, hi32 s }, four 32-bit words. Element i of a 32-bit distribution is word i mod 4
 * of block i div 4; element i of a 64-bit one is the words 2(i mod 2), 2(i mod 2) + 1 of block i
 * div 2, low half first. Distributions that take several numbers or throw some away own a block
 * per element: attempt t of part c of element i < 2^48 is block i + t 2^48 + c 2^56. Normals come
 * in pairs (elements 2j and 2j+1) from two neighbouring draws. So every number is a function of
 * (key, stream, index): no state, any split, any order. Only exact integer steps and single
 * rounded +, *, / and sqrt stand here, in a fixed order: built without contraction
 * (-ffp-contract=off, -fmad=false) every machine gives the same bits. Knows nothing else. Source:
 * Parallel random numbers: as easy as 1, 2, 3 (2011), the 4x32 generator with 10 rounds;
 * Box-Muller, 1958. */
#ifndef MCK_PHILOX_H
#define MCK_PHILOX_H

#if !defined(__CUDACC_RTC__)
#include "../runtime/base/mc_def.h"
#include <math.h>
#include <stdint.h>
#endif

#if defined(__CUDACC__)
#define MCK_PHILOX_FN __device__ __forceinline__
#else
#define MCK_PHILOX_FN MC_INLINE
#endif

#define MCK_PHILOX_M0 0xD2511F53u /* multipliers of the two halves of a round */
#define MCK_PHILOX_M1 0xCD9E8D57u
#define MCK_PHILOX_W0 0x9E3779B9u /* the key's step from round to round */
#define MCK_PHILOX_W1 0xBB67AE85u

/* One round on the counter c[4] under the round's key. */
MCK_PHILOX_FN void mck_philox_round(uint32_t *c, uint32_t k0, uint32_t k1)
{
    const uint64_t p0 = (uint64_t)MCK_PHILOX_M0 * c[0], p1 = (uint64_t)MCK_PHILOX_M1 * c[2];
    const uint32_t c1 = c[1], c3 = c[3];
    c[0] = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c[1] = (uint32_t)p1;
    c[2] = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c[3] = (uint32_t)p0;
}

/* c[4], a counter, becomes the four words of its block. */
MCK_PHILOX_FN void mck_philox_words(uint32_t *c, uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; round++) {
        mck_philox_round(c, k0, k1);
        k0 += MCK_PHILOX_W0;
        k1 += MCK_PHILOX_W1;
    }
}

MCK_PHILOX_FN void mck_philox_block(uint64_t key, uint64_t stream, uint64_t block, uint32_t *c)
{
    c[0] = (uint32_t)block;
    c[1] = (uint32_t)(block >> 32);
    c[2] = (uint32_t)stream;
    c[3] = (uint32_t)(stream >> 32);
    mck_philox_words(c, (uint32_t)key, (uint32_t)(key >> 32));
}

/* ---- uniform on [0, 1) ---- */

/* The upper 24 bits of a word, times 2^-24. */
MCK_PHILOX_FN float mck_philox_uniform_f32(uint32_t r)
{
    return (float)(int32_t)(r >> 8) * 5.9604644775390625e-8f;
}

/* An unsigned word as a double: exact, in steps that vectorise where only signed conversions exist.
 */
MCK_PHILOX_FN double mck_philox_double(uint32_t r)
{
    return (double)(int32_t)(r ^ 0x80000000u) + 2147483648.0;
}

/* The upper 53 bits of two words, times 2^-53. */
MCK_PHILOX_FN double mck_philox_uniform_f64(uint32_t low, uint32_t high)
{
    const double tail = (double)(int32_t)(low >> 11);
    return (mck_philox_double(high) * 2097152.0 + tail) * 1.1102230246251565e-16;
}

/* The upper 52 bits of two words and a half, times 2^-52: never 0 or 1, and 1 - u is exact. */
MCK_PHILOX_FN double mck_philox_open_f64(uint32_t low, uint32_t high)
{
    const double tail = (double)(int32_t)(low >> 12) + 0.5;
    return (mck_philox_double(high) * 1048576.0 + tail) * 2.220446049250313e-16;
}

/* A word as a number in (0, 1). */
MCK_PHILOX_FN double mck_philox_open_word(uint32_t r)
{
    return (mck_philox_double(r) + 0.5) * 2.3283064365386963e-10;
}

/* Block of attempt t of part c of element i. */
MCK_PHILOX_FN uint64_t mck_philox_place(uint64_t i, unsigned part, unsigned attempt)
{
    return i + ((uint64_t)attempt << 48) + ((uint64_t)part << 56);
}

/* The number before high, seen from low < high. */
MCK_PHILOX_FN double mck_philox_before_f64(double high)
{
    union {
        double value;
        int64_t bits;
    } x;
    x.value = high;
    x.bits += high > 0 ? -1 : 1;
    return high == 0 ? -4.9406564584124654e-324 : x.value;
}

MCK_PHILOX_FN float mck_philox_before_f32(float high)
{
    union {
        float value;
        int32_t bits;
    } x;
    x.value = high;
    x.bits += high > 0 ? -1 : 1;
    return high == 0 ? -1.40129846e-45f : x.value;
}

/* low + u (high - low), kept under the number before high, where rounding would reach high. */
MCK_PHILOX_FN float mck_philox_between_f32(float u, float low, float high)
{
    const float last = high > low ? mck_philox_before_f32(high) : low;
    const float x = low + u * (high - low);
    return x < last ? x : last;
}

MCK_PHILOX_FN double mck_philox_between_f64(double u, double low, double high)
{
    const double last = high > low ? mck_philox_before_f64(high) : low;
    const double x = low + u * (high - low);
    return x < last ? x : last;
}

/* ---- standard normal ---- */

/* sqrt(-2 ln u), u = (r + 1/2) 2^-32. Above sqrt(1/2) the logarithm is taken of 1 - (1 - u), 1 - u
 * being exact, so that small radii are as fine as large ones. ln(1 + f) = 2 atanh(s), s = f / (2 +
 * f), minimax in s^2, relative error 2.8e-9. */
MCK_PHILOX_FN float mck_philox_radius_f32(uint32_t r)
{
    union {
        float value;
        int32_t bits;
    } x;
    const int near_one = r >= 0xB504F334u;
    const uint32_t n = ~r;
    x.value = (float)(int32_t)(r >> 16) * 65536.0f + ((float)(int32_t)(r & 0xffffu) + 0.5f);
    const float rest =
        (float)(int32_t)(n >> 16) * 65536.0f + ((float)(int32_t)(n & 0xffffu) + 0.5f);
    const int32_t shifted =
        x.bits + (0x3f800000 - 0x3f3504f3); /* mantissa into [sqrt 1/2, sqrt 2) */
    x.bits = (shifted & 0x007fffff) + 0x3f3504f3;
    const float f = near_one ? rest * -2.3283064365386963e-10f : x.value - 1.0f;
    const float e = near_one ? 0.0f : (float)((shifted >> 23) - 127 - 32);
    const float s = f / (2.0f + f), z = s * s;
    const float tail = s * (z * (0.666666856f + z * (0.399885912f + z * 0.295878022f)));
    /* ln 2 in two parts, e times the first exact */
    const float log_u = e * 0.693145752f + (2.0f * s + (tail + e * 1.42860677e-6f));
    return sqrtf(-2.0f * log_u);
}

/* The same from 64 bits: u = (r + 1/2) 2^-64, relative error of the logarithm's polynomial 4.7e-18.
 */
MCK_PHILOX_FN double mck_philox_radius_f64(uint32_t low, uint32_t high)
{
    union {
        double value;
        int64_t bits;
    } x;
    const int near_one = high >= 0xB504F334u;
    x.value = mck_philox_double(high) * 4294967296.0 + (mck_philox_double(low) + 0.5);
    const double rest = mck_philox_double(~high) * 4294967296.0 + (mck_philox_double(~low) + 0.5);
    const int64_t shifted = x.bits + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
    x.bits = (shifted & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd;
    const double f = near_one ? rest * -5.421010862427522e-20 : x.value - 1.0;
    const double e = near_one ? 0.0 : (double)((int32_t)((uint64_t)shifted >> 52) - 1023 - 64);
    const double s = f / (2.0 + f), z = s * s;
    const double tail =
        s * (z * (0.666666666666666985 +
                  z * (0.399999999998950324 +
                       z * (0.285714286279382599 +
                            z * (0.222222108228805234 +
                                 z * (0.18182911346724733 +
                                      z * (0.153309969640935936 + z * 0.146252590180699879)))))));
    const double log_u =
        e * 0.693147180369123816490 + (2.0 * s + (tail + e * 1.90821492927058770002e-10));
    return sqrt(-2.0 * log_u);
}

/* cos and sin of 2 pi (r + 1/2) 2^-32: the nearest quarter turn is split off exactly, the rest is
 * at most an eighth. */
MCK_PHILOX_FN void mck_philox_turn_f32(uint32_t r, float *cosine, float *sine)
{
    const uint32_t quarter = (r + 0x20000000u) >> 30;
    const float t = ((float)(int32_t)(r - (quarter << 30)) + 0.5f) * 1.46291807926715968e-9f,
                z = t * t;
    const float s = t + t * (z * (-0.166666647f + z * (0.00833274888f + z * -0.000195879837f)));
    const float c =
        1.0f - (0.5f * z - z * z * (0.0416666647f + z * (-0.00138883035f + z * 0.0000245480149f)));
    const float x = quarter & 1u ? s : c, y = quarter & 1u ? c : s;
    *cosine = (quarter + 1u) & 2u ? -x : x;
    *sine = quarter & 2u ? -y : y;
}

MCK_PHILOX_FN void mck_philox_turn_f64(uint32_t low, uint32_t high, double *cosine, double *sine)
{
    const uint32_t quarter = ((high + 0x20000000u) >> 30) & 3u;
    const double whole = (double)(int32_t)(high - (quarter << 30)) * 4294967296.0;
    const double t = (whole + (mck_philox_double(low) + 0.5)) * 3.40612158008655459e-19, z = t * t;
    const double s =
        t +
        t * (z * (-0.166666666666666646 +
                  z * (0.00833333333333094917 +
                       z * (-0.000198412698367592084 +
                            z * (2.75573161027233591e-6 +
                                 z * (-2.5051131855019716e-8 + z * 1.59181285407267595e-10))))));
    const double c =
        1.0 - (0.5 * z -
               z * z *
                   (0.0416666666666666654 +
                    z * (-0.00138888888888873975 +
                         z * (0.0000248015872987658747 +
                              z * (-2.75573172717448328e-7 +
                                   z * (2.08761462579926974e-9 + z * -1.13826308867092053e-11))))));
    const double x = quarter & 1u ? s : c, y = quarter & 1u ? c : s;
    *cosine = (quarter + 1u) & 2u ? -x : x;
    *sine = quarter & 2u ? -y : y;
}

/* Two normals from two words. */
MCK_PHILOX_FN void mck_philox_normal_f32(uint32_t a, uint32_t b, float *first, float *second)
{
    const float radius = mck_philox_radius_f32(a);
    float c, s;
    mck_philox_turn_f32(b, &c, &s);
    *first = radius * c;
    *second = radius * s;
}

/* Two normals from the four words of a block. */
MCK_PHILOX_FN void mck_philox_normal_f64(uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                                         double *first, double *second)
{
    const double radius = mck_philox_radius_f64(a, b);
    double x, y;
    mck_philox_turn_f64(c, d, &x, &y);
    *first = radius * x;
    *second = radius * y;
}

/* ---- integers ---- */

/* The product of x and count as 128 bits. The high half is uniform on [0, count) once draws with a
 * low half under 2^64 mod count are thrown away (Fast random integer generation in an interval,
 * 2019). */
MCK_PHILOX_FN uint64_t mck_philox_scale(uint64_t x, uint64_t count, uint64_t *low)
{
    const uint64_t xl = (uint32_t)x, xh = x >> 32, cl = (uint32_t)count, ch = count >> 32;
    const uint64_t ll = xl * cl, hl = xh * cl, lh = xl * ch;
    const uint64_t middle = (ll >> 32) + (uint32_t)hl + (uint32_t)lh;
    *low = middle << 32 | (uint32_t)ll;
    return xh * ch + (hl >> 32) + (lh >> 32) + (middle >> 32);
}

/* Element i of [0, count) when its first draw was thrown away: the top byte of the block number
 * counts the redraws. */
MCK_PHILOX_FN uint64_t mck_philox_redraw(uint64_t key, uint64_t stream, uint64_t i, uint64_t count,
                                         uint64_t reject)
{
    uint64_t high = 0, low = 0;
    for (uint64_t attempt = 1; attempt < 256; attempt++) {
        uint32_t c[4];
        mck_philox_block(key, stream, (i / 2) ^ (attempt << 56), c);
        const int odd = (int)(i & 1);
        const uint64_t x = (uint64_t)(odd ? c[3] : c[1]) << 32 | (odd ? c[2] : c[0]);
        high = mck_philox_scale(x, count, &low);
        if (low >= reject) break;
    }
    return high;
}

/* Element i of the integers in [low, high] from its word x: low + the high half of
 * x (high - low + 1), drawn again where that would favour some numbers. */
MCK_PHILOX_FN int64_t mck_philox_integer(uint64_t key, uint64_t stream, uint64_t i, uint64_t x,
                                         int64_t low, int64_t high)
{
    const uint64_t count = (uint64_t)high - (uint64_t)low + 1; /* 0: all of them */
    uint64_t rest, value = mck_philox_scale(x, count, &rest);
    if (MC_UNLIKELY(rest < count)) {
        /* may be thrown away: only now is 2^64 mod count worth its division */
        const uint64_t reject = (0 - count) % count;
        if (rest < reject) value = mck_philox_redraw(key, stream, i, count, reject);
    }
    return (int64_t)((uint64_t)low + (count ? value : x));
}

/* ---- what makes a distribution ---- */

#define MCK_PHILOX_FINITE_F64(x) ((x) >= -1.7976931348623157e308 && (x) <= 1.7976931348623157e308)
#define MCK_PHILOX_FINITE_F32(x) ((x) >= -3.4028234663852886e38 && (x) <= 3.4028234663852886e38)
#define MCK_PHILOX_ORDERED_F64(a, b) ((a) <= (b) && MCK_PHILOX_FINITE_F64((b) - (a)))
#define MCK_PHILOX_ORDERED_F32(a, b) ((a) <= (b) && MCK_PHILOX_FINITE_F32((b) - (a)))
#define MCK_PHILOX_SPREAD_F64(mean, deviation) \
    (MCK_PHILOX_FINITE_F64(mean) && (deviation) >= 0 && MCK_PHILOX_FINITE_F64(deviation))
#define MCK_PHILOX_SPREAD_F32(mean, deviation) \
    (MCK_PHILOX_FINITE_F32(mean) && (deviation) >= 0 && MCK_PHILOX_FINITE_F32(deviation))
#define MCK_PHILOX_PROBABILITY(p) ((p) >= 0 && (p) <= 1)

#endif
