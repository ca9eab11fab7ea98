/* mck_lanes.h - the few vector operations that kernels with hand-written lanes are built from, per
 * ISA level.
 *
 * Why not plain loops: gcc 12 unrolls loops over a fixed number of lanes before it vectorises them
 * and then keeps the accumulators in memory; the shifted bin sums of coupling ran 10 times slower
 * that way (2.3e9 against 2.6e10 additions a second, one Zen 3 core). Every operation is lane by
 * lane and correctly rounded, so a result does not depend on the vector width: v3 and v4 agree
 * bitwise. muladd is fused where the level has FMA, two roundings on v2; wide loads as many
 * numbers as a vector of f64 holds. Knows no family. */
#ifndef MCK_LANES_H
#define MCK_LANES_H

#include "mck_math.h"
#include <math.h>
#include <string.h>

#if defined(__AVX512F__) || defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)

typedef __m512 mck_vec32;
typedef __m512d mck_vec64;
#define MCK_VL32 16
#define MCK_VL64 8
#define MCK_OP32(name) _mm512_##name##_ps
#define MCK_OP64(name) _mm512_##name##_pd
MC_INLINE mck_vec32 mck_muladd_32(mck_vec32 a, mck_vec32 b, mck_vec32 c)
{
    return _mm512_fmadd_ps(a, b, c);
}
MC_INLINE mck_vec64 mck_muladd_64(mck_vec64 a, mck_vec64 b, mck_vec64 c)
{
    return _mm512_fmadd_pd(a, b, c);
}
MC_INLINE mck_vec64 mck_wide_f32(const float *p)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}
typedef __m512i mck_int;
#define MCK_INT(name) _mm512_##name
#define MCK_CAST_PS_SI _mm512_castps_si512
#define MCK_CAST_SI_PS _mm512_castsi512_ps
#define MCK_CAST_PD_SI _mm512_castpd_si512
#define MCK_CAST_SI_PD _mm512_castsi512_pd
#define MCK_SET64 _mm512_set1_epi64
#define MCK_OR _mm512_or_si512
#define MCK_AND _mm512_and_si512
#define MCK_XOR _mm512_xor_si512
#define MCK_ANDNOT _mm512_andnot_si512
/* min(|x|, top) */
MC_INLINE mck_vec32 mck_size_32(mck_vec32 x, mck_vec32 top)
{
    return _mm512_range_ps(x, top, 10);
}
/* table[k], k the lowest three bits of each lane */
MC_INLINE mck_vec32 mck_pick_32(const float *table, mck_int k)
{
    return _mm512_permutexvar_ps(k, _mm512_broadcast_f32x8(_mm256_loadu_ps(table)));
}
/* some lane of a is below c, or one of both is NaN */
MC_INLINE int mck_some_below_32(mck_vec32 a, mck_vec32 c)
{
    return _mm512_cmp_ps_mask(a, c, _CMP_NGE_UQ) != 0;
}
MC_INLINE int mck_outside_32(mck_vec32 lo, mck_vec32 hi, mck_vec32 tot, float a, float b)
{
    return ((_mm512_cmp_ps_mask(lo, _mm512_set1_ps(a), _CMP_NGE_UQ) |
             _mm512_cmp_ps_mask(hi, _mm512_set1_ps(b), _CMP_NLE_UQ)) &
            _mm512_cmp_ps_mask(tot, _mm512_setzero_ps(), _CMP_NEQ_UQ)) != 0;
}

/* v[i][j] becomes v[j][i]: neighbours, then what is 2, 4 and 8 apart. */
MC_INLINE void mck_transpose_32(mck_vec32 *v)
{
    mck_vec32 a[16];
    MC_UNROLL(8) for (int i = 0; i < 8; i++)
    {
        a[2 * i] = _mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]);
        a[2 * i + 1] = _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]);
    }
    MC_UNROLL(4) for (int i = 0; i < 16; i += 4)
    {
        v[i] = _mm512_shuffle_ps(a[i], a[i + 2], 0x44);
        v[i + 1] = _mm512_shuffle_ps(a[i], a[i + 2], 0xee);
        v[i + 2] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        v[i + 3] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    MC_UNROLL(4) for (int i = 0; i < 4; i++)
    {
        a[i] = _mm512_shuffle_f32x4(v[i], v[4 + i], 0x88);
        a[4 + i] = _mm512_shuffle_f32x4(v[i], v[4 + i], 0xdd);
        a[8 + i] = _mm512_shuffle_f32x4(v[8 + i], v[12 + i], 0x88);
        a[12 + i] = _mm512_shuffle_f32x4(v[8 + i], v[12 + i], 0xdd);
    }
    MC_UNROLL(4) for (int i = 0; i < 4; i++)
    {
        v[i] = _mm512_shuffle_f32x4(a[i], a[8 + i], 0x88);
        v[8 + i] = _mm512_shuffle_f32x4(a[i], a[8 + i], 0xdd);
        v[4 + i] = _mm512_shuffle_f32x4(a[4 + i], a[12 + i], 0x88);
        v[12 + i] = _mm512_shuffle_f32x4(a[4 + i], a[12 + i], 0xdd);
    }
}

#elif defined(__AVX2__)

typedef __m256 mck_vec32;
typedef __m256d mck_vec64;
#define MCK_VL32 8
#define MCK_VL64 4
#define MCK_OP32(name) _mm256_##name##_ps
#define MCK_OP64(name) _mm256_##name##_pd
MC_INLINE mck_vec32 mck_muladd_32(mck_vec32 a, mck_vec32 b, mck_vec32 c)
{
    return _mm256_fmadd_ps(a, b, c);
}
MC_INLINE mck_vec64 mck_muladd_64(mck_vec64 a, mck_vec64 b, mck_vec64 c)
{
    return _mm256_fmadd_pd(a, b, c);
}
MC_INLINE mck_vec64 mck_wide_f32(const float *p)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}
typedef __m256i mck_int;
#define MCK_INT(name) _mm256_##name
#define MCK_CAST_PS_SI _mm256_castps_si256
#define MCK_CAST_SI_PS _mm256_castsi256_ps
#define MCK_CAST_PD_SI _mm256_castpd_si256
#define MCK_CAST_SI_PD _mm256_castsi256_pd
#define MCK_SET64 _mm256_set1_epi64x
#define MCK_OR _mm256_or_si256
#define MCK_AND _mm256_and_si256
#define MCK_XOR _mm256_xor_si256
#define MCK_ANDNOT _mm256_andnot_si256
/* min(|x|, top) */
MC_INLINE mck_vec32 mck_size_32(mck_vec32 x, mck_vec32 top)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return _mm256_min_ps(_mm256_andnot_ps(sign, x), top);
}
/* table[k], k the lowest three bits of each lane */
MC_INLINE mck_vec32 mck_pick_32(const float *table, mck_int k)
{
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), k);
}
/* some lane of a is below c, or one of both is NaN */
MC_INLINE int mck_some_below_32(mck_vec32 a, mck_vec32 c)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(a, c, _CMP_NGE_UQ)) != 0;
}
MC_INLINE int mck_outside_32(mck_vec32 lo, mck_vec32 hi, mck_vec32 tot, float a, float b)
{
    const __m256 out = _mm256_or_ps(_mm256_cmp_ps(lo, _mm256_set1_ps(a), _CMP_NGE_UQ),
                                    _mm256_cmp_ps(hi, _mm256_set1_ps(b), _CMP_NLE_UQ));
    return _mm256_movemask_ps(
               _mm256_and_ps(out, _mm256_cmp_ps(tot, _mm256_setzero_ps(), _CMP_NEQ_UQ))) != 0;
}

/* v[i][j] becomes v[j][i] */
MC_INLINE void mck_transpose_32(mck_vec32 *v)
{
    mck_vec32 a[8];
    MC_UNROLL(4) for (int i = 0; i < 4; i++)
    {
        a[2 * i] = _mm256_unpacklo_ps(v[2 * i], v[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_ps(v[2 * i], v[2 * i + 1]);
    }
    MC_UNROLL(2) for (int i = 0; i < 8; i += 4)
    {
        v[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
        v[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
        v[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        v[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    MC_UNROLL(4) for (int i = 0; i < 4; i++)
    {
        a[i] = _mm256_permute2f128_ps(v[i], v[4 + i], 0x20);
        a[4 + i] = _mm256_permute2f128_ps(v[i], v[4 + i], 0x31);
    }
    MC_UNROLL(8) for (int i = 0; i < 8; i++) v[i] = a[i];
}

#elif defined(__SSE2__)

typedef __m128 mck_vec32;
typedef __m128d mck_vec64;
#define MCK_VL32 4
#define MCK_VL64 2
#define MCK_OP32(name) _mm_##name##_ps
#define MCK_OP64(name) _mm_##name##_pd
MC_INLINE mck_vec32 mck_muladd_32(mck_vec32 a, mck_vec32 b, mck_vec32 c)
{
    return _mm_add_ps(_mm_mul_ps(a, b), c);
}
MC_INLINE mck_vec64 mck_muladd_64(mck_vec64 a, mck_vec64 b, mck_vec64 c)
{
    return _mm_add_pd(_mm_mul_pd(a, b), c);
}
MC_INLINE mck_vec64 mck_wide_f32(const float *p)
{
    return _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
typedef __m128i mck_int;
#define MCK_INT(name) _mm_##name
#define MCK_CAST_PS_SI _mm_castps_si128
#define MCK_CAST_SI_PS _mm_castsi128_ps
#define MCK_CAST_PD_SI _mm_castpd_si128
#define MCK_CAST_SI_PD _mm_castsi128_pd
#define MCK_SET64 _mm_set1_epi64x
#define MCK_OR _mm_or_si128
MC_INLINE int mck_outside_32(mck_vec32 lo, mck_vec32 hi, mck_vec32 tot, float a, float b)
{
    const __m128 out =
        _mm_or_ps(_mm_cmpnge_ps(lo, _mm_set1_ps(a)), _mm_cmpnle_ps(hi, _mm_set1_ps(b)));
    return _mm_movemask_ps(_mm_and_ps(out, _mm_cmpneq_ps(tot, _mm_setzero_ps()))) != 0;
}

/* v[i][j] becomes v[j][i] */
MC_INLINE void mck_transpose_32(mck_vec32 *v)
{
    const mck_vec32 a = _mm_unpacklo_ps(v[0], v[1]), b = _mm_unpackhi_ps(v[0], v[1]),
                    c = _mm_unpacklo_ps(v[2], v[3]), d = _mm_unpackhi_ps(v[2], v[3]);
    v[0] = _mm_movelh_ps(a, c);
    v[1] = _mm_movehl_ps(c, a);
    v[2] = _mm_movelh_ps(b, d);
    v[3] = _mm_movehl_ps(d, b);
}

#else

/* No vector unit known: one lane, the same formulas. */
typedef float mck_vec32;
typedef double mck_vec64;
#define MCK_VL32 1
#define MCK_VL64 1
#define MCK_PLAIN 1
MC_INLINE void mck_transpose_32(mck_vec32 *v)
{
    (void)v;
}

#endif

#if !defined(MCK_PLAIN)

#define MCK_LANE_OPS(b, S, V)                                                                      \
    MC_INLINE V mck_load_##b(const S *p) { return MCK_OP##b(loadu)(p); }                           \
    MC_INLINE void mck_store_##b(S *p, V a) { MCK_OP##b(storeu)(p, a); }                           \
    MC_INLINE V mck_set_##b(S a) { return MCK_OP##b(set1)(a); }                                    \
    MC_INLINE V mck_add_##b(V a, V c) { return MCK_OP##b(add)(a, c); }                             \
    MC_INLINE V mck_sub_##b(V a, V c) { return MCK_OP##b(sub)(a, c); }                             \
    MC_INLINE V mck_mul_##b(V a, V c) { return MCK_OP##b(mul)(a, c); }                             \
    MC_INLINE V mck_div_##b(V a, V c) { return MCK_OP##b(div)(a, c); }                             \
    /* max(a, c): the second operand if either is NaN */                                           \
    MC_INLINE V mck_max_##b(V a, V c) { return MCK_OP##b(max)(a, c); }                             \
    MC_INLINE V mck_min_##b(V a, V c) { return MCK_OP##b(min)(a, c); }
MCK_LANE_OPS(32, float, mck_vec32)
MCK_LANE_OPS(64, double, mck_vec64)
MC_INLINE mck_vec64 mck_wide_f64(const double *p) { return mck_load_64(p); }

/* u = 2^e m with m in [sqrt(1/2), sqrt(2)), for u >= 0; u = 0 gives a finite e and m = 1. */
MC_INLINE mck_vec32 mck_split_32(mck_vec32 u, mck_vec32 *e)
{
    const mck_int root = MCK_INT(set1_epi32)(0x3f3504f3), one = MCK_INT(set1_epi32)(0x3f800000);
    const mck_int bits = MCK_CAST_PS_SI(u);
    mck_int k = MCK_INT(add_epi32)(MCK_INT(sub_epi32)(bits, root), one);
    k = MCK_INT(sub_epi32)(MCK_INT(srli_epi32)(k, 23), MCK_INT(set1_epi32)(127));
    *e = MCK_INT(cvtepi32_ps)(k);
    return MCK_CAST_SI_PS(MCK_INT(sub_epi32)(bits, MCK_INT(slli_epi32)(k, 23)));
}
MC_INLINE mck_vec64 mck_split_64(mck_vec64 u, mck_vec64 *e)
{
    const mck_int root = MCK_SET64(0x3fe6a09e667f3bcd), one = MCK_SET64(0x3ff0000000000000);
    const mck_int bits = MCK_CAST_PD_SI(u), magic = MCK_SET64(0x4330000000000000);
    mck_int k = MCK_INT(add_epi64)(MCK_INT(sub_epi64)(bits, root), one);
    k = MCK_INT(srli_epi64)(k, 52);
    /* 2^52 + k as a double, k < 4096: no 64-bit integer conversion below AVX-512DQ */
    *e = mck_sub_64(MCK_CAST_SI_PD(MCK_OR(k, magic)), mck_set_64(4503599627370496.0 + 1023.0));
    k = MCK_INT(sub_epi64)(k, MCK_SET64(1023));
    return MCK_CAST_SI_PD(MCK_INT(sub_epi64)(bits, MCK_INT(slli_epi64)(k, 52)));
}

#else

#define MCK_LANE_OPS(b, S, V)                                                                      \
    MC_INLINE V mck_load_##b(const S *p) { return *p; }                                            \
    MC_INLINE void mck_store_##b(S *p, V a) { *p = a; }                                            \
    MC_INLINE V mck_set_##b(S a) { return a; }                                                     \
    MC_INLINE V mck_add_##b(V a, V c) { return a + c; }                                            \
    MC_INLINE V mck_sub_##b(V a, V c) { return a - c; }                                            \
    MC_INLINE V mck_mul_##b(V a, V c) { return a * c; }                                            \
    MC_INLINE V mck_div_##b(V a, V c) { return a / c; }                                            \
    MC_INLINE V mck_max_##b(V a, V c) { return a > c ? a : c; }                                    \
    MC_INLINE V mck_min_##b(V a, V c) { return a < c ? a : c; }                                    \
    MC_INLINE V mck_muladd_##b(V a, V c, V d) { return a * c + d; }
MCK_LANE_OPS(32, float, mck_vec32)
MCK_LANE_OPS(64, double, mck_vec64)
MC_INLINE mck_vec64 mck_wide_f32(const float *p) { return *p; }
MC_INLINE mck_vec64 mck_wide_f64(const double *p) { return *p; }

MC_INLINE int mck_outside_32(float lo, float hi, float tot, float a, float b)
{
    return (!(lo >= a) || !(hi <= b)) && tot != 0;
}

MC_INLINE float mck_split_32(float u, float *e)
{
    uint32_t bits, k;
    memcpy(&bits, &u, sizeof bits);
    k = (bits - 0x3f3504f3u + 0x3f800000u) >> 23;
    *e = (float)((int32_t)k - 127);
    bits -= (k - 127u) << 23;
    memcpy(&u, &bits, sizeof u);
    return u;
}
MC_INLINE double mck_split_64(double u, double *e)
{
    uint64_t bits, k;
    memcpy(&bits, &u, sizeof bits);
    k = (bits - 0x3fe6a09e667f3bcdu + 0x3ff0000000000000u) >> 52;
    *e = (double)((int64_t)k - 1023);
    bits -= (k - 1023u) << 52;
    memcpy(&u, &bits, sizeof u);
    return u;
}

#endif

#endif
