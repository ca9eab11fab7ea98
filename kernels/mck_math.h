/* mck_math.h - elementary functions for kernel loops: what both precisions share.
 *
 * MC_MULADD, the bit helpers, the fix-ups and the contract below; includes the functions
 * themselves.
 *
 * Contract. mck_<fn>_f32 and mck_<fn>_f64 are pure and branch-free: a plain loop over them
 * vectorises under `-O3 -ffp-contract=off -fno-math-errno -fno-trapping-math`. Special values
 * follow the Python array API standard. Round-to-nearest is assumed. Fused multiply-add appears
 * only as MC_MULADD (f64) and MC_MULADDF (f32), so two ISA levels that both have it give the same
 * bits. Beside each function stands the worst error in ULP that tests/c/ulp.c found, as [v2 v3]:
 * every 37th f32 pattern, 10^6 f64 values. The coefficients come from tests/golden/ulp_coefs.py.
 *
 * Fix-ups. A few functions hold only on a stated range. For those MCK_NEEDS_FIX_<fn>_<T>(args) is
 * 1 outside it and mck_<fn>_<T>_slow(args) gives the right value. A kernel runs the fast loop over
 * a block, ors the predicates, and only when one was set runs a second scalar pass over that
 * block. mck_<fn>_<T>_any(args) does both for one value. They exist for: sin cos tan fmod
 * remainder floor_divide lgamma, which in f64 is a libm call and does not vectorise.
 *
 * Speed, `ulp -t`: ns per element, 16384 elements, one core of a Zen 3 shared with other work, gcc
 * 12, best of 3; in brackets a loop over glibc 2.36, which runs its FMA code here even beside our
 * v2.
 *          v2 f32        v3 f32        v2 f64        v3 f64
 * sqrt     0.4 (2.8)     0.2 (3.3)     1.4 (3.4)     0.7 (3.9)
 * exp      1.4 (3.1)     0.6 (4.2)     4.8 (5.3)     1.9 (9.1)
 * log      2.9 (5.2)     0.9 (5.0)     5.4 (4.5)     2.3 (8.6)
 * log1p    4.0 (18.3)    1.5 (18.4)    7.7 (12.6)    3.4 (17.5)
 * sin      3.0 (9.9)     1.4 (9.9)     6.6 (21.5)    2.6 (22.5)
 * tanh     2.3 (19.4)    1.0 (19.2)   13.8 (26.7)    3.2 (17.9)
 * atan2    3.2 (27.2)    1.4 (32.8)   12.4 (33.4)    4.1 (32.3)
 * asinh    4.8 (16.4)    2.5 (21.8)   11.7 (16.7)    5.3 (23.8)
 * erf      2.7 (17.1)    1.0 (23.2)   22.3 (21.2)    5.4 (25.9)
 * pow     11.6 (12.0)    4.8 (11.2)   34.6 (21.0)    9.5 (20.9)
 * Without FMA the f64 pow, erf and log are slower than glibc with it. */
#ifndef MCK_MATH_H
#define MCK_MATH_H

#include "../runtime/base/mc_def.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

/* MCK_NO_FMA, set before the include: products and sums apart, so that all levels give the same
 * bits (the random family). */
/* Function macros that libm leaves undefined when a CUDA file asks for none of its headers. */
#define MCK_INF_F64 ((double)(1e300 * 1e300))
#define MCK_INF_F32 ((float)(1e300 * 1e300))
#define MCK_NAN_F64 (mck_from_bits_f64(0x7ff8000000000000u))
#define MCK_NAN_F32 (mck_from_bits_f32(0x7fc00000u))

#if (defined(__FMA__) || defined(MCK_FUSED)) && !defined(MCK_NO_FMA)
#define MCK_HAS_FMA 1
#define MC_MULADD(a, b, c) fma((a), (b), (c))
#define MC_MULADDF(a, b, c) fmaf((a), (b), (c))
#else
#define MCK_HAS_FMA 0
#define MC_MULADD(a, b, c) ((a) * (b) + (c))
#define MC_MULADDF(a, b, c) ((a) * (b) + (c))
#endif

#if !defined(MCK_BITS) /* a device's own language has them */
MC_INLINE uint64_t mck_bits_f64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

MC_INLINE double mck_from_bits_f64(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

MC_INLINE uint32_t mck_bits_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

MC_INLINE float mck_from_bits_f32(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
#endif

/* Sign, zeros, infinities and NaN of pow; y0 is |x|^y from the formula. */
#define MCK_POW_EDGE(T, name, RINT, BITS, SIGN)                                                    \
    MC_INLINE T mck_pow_edge_##name(T x, T y, T y0)                                                \
    {                                                                                              \
        T ax = x < 0 ? -x : x, half = (T)0.5 * y, r = y0;                                          \
        int whole = RINT(y) == y, odd = whole & (RINT(half) != half);                              \
        T ends = (ax == 0) == (y < 0) ? MCK_INF_##BITS : 0;                                        \
        r = ((x < 0) & (ax != MCK_INF_##BITS) & !whole) ? MCK_NAN_##BITS : r;                      \
        r = ((ax == 0) | (ax == MCK_INF_##BITS)) ? ends : r;                                       \
        r = odd ? mck_from_bits_##name(mck_bits_##name(r) ^ (mck_bits_##name(x) & SIGN)) : r;      \
        r = ((x != x) | (y != y)) ? MCK_NAN_##BITS : r;                                            \
        return ((x == 1) | (y == 0)) ? 1 : r;                                                      \
    }
MCK_POW_EDGE(double, f64, rint, F64, 0x8000000000000000u)
MCK_POW_EDGE(float, f32, rintf, F32, 0x80000000u)
#undef MCK_POW_EDGE

#include "mck_math_f64.h"
#include "mck_math_f32.h"

/* ---- fix-ups: single elements ---- */

#define MCK_NEEDS_FIX_sin_f64(x) (mck_abs_f64(x) > MCK_TRIG_LIMIT_F64)
#define MCK_NEEDS_FIX_cos_f64(x) (mck_abs_f64(x) > MCK_TRIG_LIMIT_F64)
#define MCK_NEEDS_FIX_tan_f64(x) (mck_abs_f64(x) > MCK_TRIG_LIMIT_F64)
#define MCK_NEEDS_FIX_lgamma_f64(x) ((x) != (x)) /* libm throughout */
#define MCK_NEEDS_FIX_fmod_f64(x, y) (mck_fmod_off_f64((x), (y)))
#define MCK_NEEDS_FIX_remainder_f64(x, y) (mck_fmod_off_f64((x), (y)))
#define MCK_NEEDS_FIX_floor_divide_f64(x, y) (mck_fmod_off_f64((x), (y)))

MC_INLINE double mck_sin_f64_slow(double x)
{
    return sin(x);
}

MC_INLINE double mck_cos_f64_slow(double x)
{
    return cos(x);
}

MC_INLINE double mck_tan_f64_slow(double x)
{
    return tan(x);
}

MC_INLINE double mck_fmod_f64_slow(double x, double y)
{
    return fmod(x, y);
}

MC_INLINE double mck_remainder_f64_slow(double x, double y)
{
    return y == 0.0 ? MCK_NAN_F64 : mck_mod_sign_f64(fmod(x, y), y);
}

MC_INLINE double mck_floor_divide_f64_slow(double x, double y)
{
    double d = x / y;
    if (y == 0.0 || !(fabs(d) < MCK_INF_F64))
        return isinf(x) && y != 0.0 ? MCK_NAN_F64 : floor(d);
    if (fabs(d) >= 0x1p52) {
        /* d is whole; the rest x - d y, which is exact, says where the quotient lies beside it */
        const double rest = fma(-d, y, x), below = floor(rest / y);
        return d + (fma(-below, y, rest) / y < 0.0 ? below - 1.0 : below);
    }
    double m = fmod(x, y), q = rint((x - m) / y);
    q = m != 0.0 && (m < 0.0) != (y < 0.0) ? q - 1.0 : q;
    return q == 0.0 ? mck_copysign_f64(0.0, d) : q;
}

/* [5.69 5.69], libm's own, scalar: near its zeros on the negative axis no short formula holds. */
MC_INLINE double mck_lgamma_f64(double x)
{
    return lgamma(x);
}

MC_INLINE double mck_lgamma_f64_slow(double x)
{
    return lgamma(x);
}

#define MCK_ANY1_(fn, T, type)                                                                     \
    MC_INLINE type mck_##fn##_##T##_any(type x)                                                    \
    {                                                                                              \
        return MCK_NEEDS_FIX_##fn##_##T(x) ? mck_##fn##_##T##_slow(x) : mck_##fn##_##T(x);         \
    }
#define MCK_ANY2_(fn, T, type)                                                                     \
    MC_INLINE type mck_##fn##_##T##_any(type x, type y)                                            \
    {                                                                                              \
        return MCK_NEEDS_FIX_##fn##_##T(x, y) ? mck_##fn##_##T##_slow(x, y)                        \
                                              : mck_##fn##_##T(x, y);                              \
    }
MCK_ANY1_(sin, f64, double)
MCK_ANY1_(cos, f64, double)
MCK_ANY1_(tan, f64, double)
MCK_ANY2_(fmod, f64, double)
MCK_ANY2_(remainder, f64, double)
MCK_ANY2_(floor_divide, f64, double)

#define MCK_NEEDS_FIX_sin_f32(x) (mck_abs_f32(x) > MCK_TRIG_LIMIT_F32)
#define MCK_NEEDS_FIX_cos_f32(x) (mck_abs_f32(x) > MCK_TRIG_LIMIT_F32)
#define MCK_NEEDS_FIX_tan_f32(x) (mck_abs_f32(x) > MCK_TRIG_LIMIT_F32)
#define MCK_NEEDS_FIX_lgamma_f32(x) (!((x) > 0.0f))
#define MCK_NEEDS_FIX_fmod_f32(x, y) (mck_fmod_off_f32((x), (y)))
#define MCK_NEEDS_FIX_remainder_f32(x, y) (mck_fmod_off_f32((x), (y)))
#define MCK_NEEDS_FIX_floor_divide_f32(x, y) (mck_fmod_off_f32((x), (y)))

/* In f64 and rounded once, so that the result does not hang on the f32 half of the libm. */
MC_INLINE float mck_sin_f32_slow(float x)
{
    return (float)sin((double)x);
}

MC_INLINE float mck_cos_f32_slow(float x)
{
    return (float)cos((double)x);
}

MC_INLINE float mck_tan_f32_slow(float x)
{
    return (float)tan((double)x);
}

MC_INLINE float mck_lgamma_f32_slow(float x)
{
    return (float)lgamma((double)x);
}

MC_INLINE float mck_fmod_f32_slow(float x, float y)
{
    return fmodf(x, y);
}

MC_INLINE float mck_remainder_f32_slow(float x, float y)
{
    return y == 0.0f ? MCK_NAN_F32 : mck_mod_sign_f32(fmodf(x, y), y);
}

MC_INLINE float mck_floor_divide_f32_slow(float x, float y)
{
    return (float)mck_floor_divide_f64_any((double)x, (double)y);
}

MCK_ANY1_(sin, f32, float)
MCK_ANY1_(cos, f32, float)
MCK_ANY1_(tan, f32, float)
MCK_ANY2_(fmod, f32, float)
MCK_ANY2_(remainder, f32, float)
MCK_ANY2_(floor_divide, f32, float)

#endif
