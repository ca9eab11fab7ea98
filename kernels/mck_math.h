/* mck_math.h - elementary functions for kernel loops: the macros and bit tricks that both precisions share.
 *
 * Owns: MC_MULADD, the select and bit helpers, and the contract below; includes the functions themselves.
 * May not know tensors, kernels or the op table.
 *
 * Contract. mck_<fn>_f32 and mck_<fn>_f64 are pure and branch-free: a plain loop over them vectorises under
 * `-O3 -ffp-contract=off -fno-math-errno -fno-trapping-math`. Special values follow the Python array API standard.
 * Round-to-nearest is assumed. Fused multiply-add appears only as MC_MULADD (f64) and MC_MULADDF (f32), so two ISA
 * levels that both have it give the same bits. Beside each function stands the worst error in ULP that tests/c/ulp.c
 * found, as [v2 v3]; the coefficients come from tests/golden/ulp_coefs.py.
 *
 * Fix-ups. A few functions are exact only on a stated range. For those MCK_NEEDS_FIX_<fn>_<T>(args) is 1 outside it
 * and mck_<fn>_<T>_slow(args) gives the right value. A kernel runs the fast loop over a block, ors the predicates, and
 * only when one was set runs a second scalar pass over that block. mck_<fn>_<T>_any(args) does both for one value.
 * They exist for: sin cos tan fmod remainder floor_divide. */
#ifndef MCK_MATH_H
#define MCK_MATH_H

#include "../runtime/mc_def.h"
#if !defined(__CUDACC_RTC__)
#include <math.h>
#include <stdint.h>
#include <string.h>
#endif

/* Function macros that libm leaves undefined when a CUDA file asks for none of its headers. */
#define MCK_INF_F64 ((double)(1e300 * 1e300))
#define MCK_INF_F32 ((float)(1e300 * 1e300))
#define MCK_NAN_F64 (mck_from_bits_f64(0x7ff8000000000000u))
#define MCK_NAN_F32 (mck_from_bits_f32(0x7fc00000u))

#if defined(__FMA__) || defined(__CUDACC__)
#define MCK_HAS_FMA 1
#define MC_MULADD(a, b, c) fma((a), (b), (c))
#define MC_MULADDF(a, b, c) fmaf((a), (b), (c))
#else
#define MCK_HAS_FMA 0
#define MC_MULADD(a, b, c) ((a) * (b) + (c))
#define MC_MULADDF(a, b, c) ((a) * (b) + (c))
#endif

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

#include "mck_math_f64.h"
#include "mck_math_f32.h"

#endif
