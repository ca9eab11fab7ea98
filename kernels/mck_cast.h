/* mck_cast.h - conversions that C leaves undefined or does not have.
 *
 * Float -> integer (truncation; out of range saturates, NaN gives 0: defined on every machine,
 * unlike the C cast), f16 and bf16 <-> f32 (round to nearest, ties to even). Branch-free, so that
 * loops vectorise. */
#ifndef MCK_CAST_H
#define MCK_CAST_H

#include "mck.h"
#include "mck_math.h"
#include <string.h>

/* lo and hi are exact in the float type; hi is the largest float that still fits. */
#define MCK_FLOAT_TO_INT(ff, F, ii, I, lo, hi)                                     \
    MC_INLINE I mck_##ff##_to_##ii(F x)                                            \
    {                                                                              \
        F y = x >= (F)(lo) ? x : (F)(lo);                                          \
        y = y <= (F)(hi) ? y : (F)(hi);                                            \
        y = x == x ? y : (F)0;                                                     \
        return (I)y;                                                               \
    }
MCK_FLOAT_TO_INT(f32, float, u8, uint8_t, 0, 255)
MCK_FLOAT_TO_INT(f32, float, i8, int8_t, -128, 127)
MCK_FLOAT_TO_INT(f32, float, i16, int16_t, -32768, 32767)
MCK_FLOAT_TO_INT(f32, float, i32, int32_t, -2147483648.0, 2147483520.0)
MCK_FLOAT_TO_INT(f32, float, i64, int64_t, -9223372036854775808.0, 9223371487098961920.0)
MCK_FLOAT_TO_INT(f64, double, u8, uint8_t, 0, 255)
MCK_FLOAT_TO_INT(f64, double, i8, int8_t, -128, 127)
MCK_FLOAT_TO_INT(f64, double, i16, int16_t, -32768, 32767)
MCK_FLOAT_TO_INT(f64, double, i32, int32_t, -2147483648.0, 2147483647.0)
MCK_FLOAT_TO_INT(f64, double, i64, int64_t, -9223372036854775808.0, 9223372036854774784.0)

MC_INLINE float mck_bf16_to_f32(uint16_t h) { return mck_from_bits_f32((uint32_t)h << 16); }

MC_INLINE uint16_t mck_f32_to_bf16(float x)
{
    uint32_t u = mck_bits_f32(x);
    uint32_t nan = (u & 0x7fffffffu) > 0x7f800000u;
    uint32_t r = u + 0x7fffu + (u >> 16 & 1u);
    return (uint16_t)(nan ? (u >> 16 | 0x40u) : r >> 16);
}

/* The magnitude is scaled by 2^112 as a float, which also normalises subnormal halves; infinities
 * and NaN are put back. */
MC_INLINE float mck_f16_to_f32(uint16_t h)
{
    uint32_t mag = (uint32_t)(h & 0x7fffu) << 13, sign = (uint32_t)(h & 0x8000u) << 16;
    float y = mck_from_bits_f32(mag) * 5.192296858534828e33f; /* 2^112 */
    uint32_t u = mck_bits_f32(y);
    u = (h & 0x7c00u) == 0x7c00u ? mag | 0x7f800000u : u;
    return mck_from_bits_f32(u | sign);
}

/* Normal results round on the bits; subnormal results by adding 2^-1 scaled so that the unit in the
 * last place is 2^-24. */
MC_INLINE uint16_t mck_f32_to_f16(float x)
{
    uint32_t u = mck_bits_f32(x), sign = u >> 16 & 0x8000u, mag = u & 0x7fffffffu;
    /* exponent re-biased by -112, ties to even */
    uint32_t normal = (mag + 0xc8000fffu + (mag >> 13 & 1u)) >> 13;
    uint32_t tiny = mck_bits_f32(mck_from_bits_f32(mag) + 0.5f) - 0x3f000000u;
    uint32_t r = mag < 0x38800000u ? tiny : normal;
    r = mag >= 0x477ff000u ? 0x7c00u : r; /* at or past 65520: infinity */
    r = mag > 0x7f800000u ? 0x7e00u | (mag >> 13 & 0x3ffu) : r;
    return (uint16_t)(r | sign);
}

#endif
