/* mck_class.h - classification and parts of numbers in the expression language, and the named
 * fused multiply-add.
 *
 * Isnan, isinf, isfinite, signbit (by comparisons and bits, so that loops vectorise),
 * make/real/imag of complex numbers, fma. */
#ifndef MCK_CLASS_H
#define MCK_CLASS_H

#include "mck.h"
#include "mck_math.h"
#if !defined(MCK_REAL) /* complex numbers are not asked for */
#include "mck_math_c.h"
#include "mck_arc_c.h"
#endif

#define MCK_CLASS(name, T, shift, big)                                                 \
    MC_INLINE uint8_t mck_isnan_##name(T a) { return a != a; }                         \
    MC_INLINE uint8_t mck_isinf_##name(T a) { return (a > big) | (a < -big); }         \
    MC_INLINE uint8_t mck_isfinite_##name(T a) { return (a <= big) & (a >= -big); }    \
    MC_INLINE uint8_t mck_signbit_##name(T a) { return (uint8_t)(mck_bits_##name(a) >> shift); } \
    MC_INLINE T mck_fma_##name(T a, T b, T c) { return MC_MULADD(a, b, c); }
MCK_CLASS(f32, float, 31, 3.402823466e38f)
MCK_CLASS(f64, double, 63, 1.7976931348623157e308)

#if !defined(MCK_REAL)
#define MCK_CLASS_COMPLEX(name, C, T, real)                                   \
    MC_INLINE T mck_real_##name(C a)                                          \
    {                                                                         \
        return a.re;                                                          \
    }                                                                         \
    MC_INLINE T mck_imag_##name(C a)                                          \
    {                                                                         \
        return a.im;                                                          \
    }                                                                         \
    MC_INLINE uint8_t mck_eq_##name(C a, C b)                                 \
    {                                                                         \
        return (a.re == b.re) & (a.im == b.im);                               \
    }                                                                         \
    MC_INLINE uint8_t mck_ne_##name(C a, C b)                                 \
    {                                                                         \
        return (a.re != b.re) | (a.im != b.im);                               \
    }                                                                         \
    MC_INLINE uint8_t mck_isnan_##name(C a)                                   \
    {                                                                         \
        return mck_isnan_##real(a.re) | mck_isnan_##real(a.im);               \
    }                                                                         \
    MC_INLINE uint8_t mck_isinf_##name(C a)                                   \
    {                                                                         \
        return mck_isinf_##real(a.re) | mck_isinf_##real(a.im);               \
    }                                                                         \
    MC_INLINE uint8_t mck_isfinite_##name(C a)                                \
    {                                                                         \
        return mck_isfinite_##real(a.re) & mck_isfinite_##real(a.im);         \
    }                                                                         \
    MC_INLINE C mck_sign_##name(C a)                                          \
    {                                                                         \
        const T r = mck_abs_##name(a);                                        \
        return mck_make_##name(r == 0 ? 0 : a.re / r, r == 0 ? 0 : a.im / r); \
    }
MCK_CLASS_COMPLEX(c64, mck_c64, float, f32)
MCK_CLASS_COMPLEX(c128, mck_c128, double, f64)
#endif

#endif
