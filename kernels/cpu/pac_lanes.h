/* pac_lanes.h - the few vector operations the pac kernels are built from, per ISA level.
 *
 * Why not plain loops: gcc 12 unrolls loops over a fixed number of lanes before it vectorises them
 * and then keeps the accumulators in memory; the shifted bin sums ran 10 times slower that way
 * (2.3e9 against 2.6e10 additions a second, one Zen 3 core). Every operation is lane by lane and
 * correctly rounded, so a result does not depend on the vector width: v3 and v4 agree bitwise.
 * muladd is fused where the level has FMA, two roundings on v2. Knows nothing of coupling. */
#ifndef PAC_LANES_H
#define PAC_LANES_H

#include "../mck_math.h"
#include "../mck_pac.h"
#include <math.h>
#include <string.h>

#if defined(__AVX512F__) || defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)

typedef __m512 pac_vec32;
typedef __m512d pac_vec64;
#define PAC_VL32 16
#define PAC_VL64 8
#define PAC_OP32(name) _mm512_##name##_ps
#define PAC_OP64(name) _mm512_##name##_pd
MC_INLINE pac_vec32 pac_muladd_32(pac_vec32 a, pac_vec32 b, pac_vec32 c)
{
    return _mm512_fmadd_ps(a, b, c);
}
MC_INLINE pac_vec64 pac_muladd_64(pac_vec64 a, pac_vec64 b, pac_vec64 c)
{
    return _mm512_fmadd_pd(a, b, c);
}
typedef __m512i pac_int;
#define PAC_INT(name) _mm512_##name
#define PAC_CAST_PS_SI _mm512_castps_si512
#define PAC_CAST_SI_PS _mm512_castsi512_ps
#define PAC_CAST_PD_SI _mm512_castpd_si512
#define PAC_CAST_SI_PD _mm512_castsi512_pd
#define PAC_SET64 _mm512_set1_epi64
#define PAC_OR _mm512_or_si512
MC_INLINE int pac_outside_32(pac_vec32 lo, pac_vec32 hi, pac_vec32 tot, float a, float b)
{
    return ((_mm512_cmp_ps_mask(lo, _mm512_set1_ps(a), _CMP_NGE_UQ) |
             _mm512_cmp_ps_mask(hi, _mm512_set1_ps(b), _CMP_NLE_UQ)) &
            _mm512_cmp_ps_mask(tot, _mm512_setzero_ps(), _CMP_NEQ_UQ)) != 0;
}

#elif defined(__AVX2__)

typedef __m256 pac_vec32;
typedef __m256d pac_vec64;
#define PAC_VL32 8
#define PAC_VL64 4
#define PAC_OP32(name) _mm256_##name##_ps
#define PAC_OP64(name) _mm256_##name##_pd
MC_INLINE pac_vec32 pac_muladd_32(pac_vec32 a, pac_vec32 b, pac_vec32 c)
{
    return _mm256_fmadd_ps(a, b, c);
}
MC_INLINE pac_vec64 pac_muladd_64(pac_vec64 a, pac_vec64 b, pac_vec64 c)
{
    return _mm256_fmadd_pd(a, b, c);
}
typedef __m256i pac_int;
#define PAC_INT(name) _mm256_##name
#define PAC_CAST_PS_SI _mm256_castps_si256
#define PAC_CAST_SI_PS _mm256_castsi256_ps
#define PAC_CAST_PD_SI _mm256_castpd_si256
#define PAC_CAST_SI_PD _mm256_castsi256_pd
#define PAC_SET64 _mm256_set1_epi64x
#define PAC_OR _mm256_or_si256
MC_INLINE int pac_outside_32(pac_vec32 lo, pac_vec32 hi, pac_vec32 tot, float a, float b)
{
    const __m256 out = _mm256_or_ps(_mm256_cmp_ps(lo, _mm256_set1_ps(a), _CMP_NGE_UQ),
                                    _mm256_cmp_ps(hi, _mm256_set1_ps(b), _CMP_NLE_UQ));
    return _mm256_movemask_ps(
               _mm256_and_ps(out, _mm256_cmp_ps(tot, _mm256_setzero_ps(), _CMP_NEQ_UQ))) != 0;
}

#elif defined(__SSE2__)

typedef __m128 pac_vec32;
typedef __m128d pac_vec64;
#define PAC_VL32 4
#define PAC_VL64 2
#define PAC_OP32(name) _mm_##name##_ps
#define PAC_OP64(name) _mm_##name##_pd
MC_INLINE pac_vec32 pac_muladd_32(pac_vec32 a, pac_vec32 b, pac_vec32 c)
{
    return _mm_add_ps(_mm_mul_ps(a, b), c);
}
MC_INLINE pac_vec64 pac_muladd_64(pac_vec64 a, pac_vec64 b, pac_vec64 c)
{
    return _mm_add_pd(_mm_mul_pd(a, b), c);
}
typedef __m128i pac_int;
#define PAC_INT(name) _mm_##name
#define PAC_CAST_PS_SI _mm_castps_si128
#define PAC_CAST_SI_PS _mm_castsi128_ps
#define PAC_CAST_PD_SI _mm_castpd_si128
#define PAC_CAST_SI_PD _mm_castsi128_pd
#define PAC_SET64 _mm_set1_epi64x
#define PAC_OR _mm_or_si128
MC_INLINE int pac_outside_32(pac_vec32 lo, pac_vec32 hi, pac_vec32 tot, float a, float b)
{
    const __m128 out =
        _mm_or_ps(_mm_cmpnge_ps(lo, _mm_set1_ps(a)), _mm_cmpnle_ps(hi, _mm_set1_ps(b)));
    return _mm_movemask_ps(_mm_and_ps(out, _mm_cmpneq_ps(tot, _mm_setzero_ps()))) != 0;
}

#else

/* No vector unit known: one lane, the same formulas. */
typedef float pac_vec32;
typedef double pac_vec64;
#define PAC_VL32 1
#define PAC_VL64 1
#define PAC_PLAIN 1

#endif

#if !defined(PAC_PLAIN)

#define PAC_LANE_OPS(b, S, V)                                                                      \
    MC_INLINE V pac_load_##b(const S *p) { return PAC_OP##b(loadu)(p); }                           \
    MC_INLINE void pac_store_##b(S *p, V a) { PAC_OP##b(storeu)(p, a); }                           \
    MC_INLINE V pac_set_##b(S a) { return PAC_OP##b(set1)(a); }                                    \
    MC_INLINE V pac_add_##b(V a, V c) { return PAC_OP##b(add)(a, c); }                             \
    MC_INLINE V pac_sub_##b(V a, V c) { return PAC_OP##b(sub)(a, c); }                             \
    MC_INLINE V pac_mul_##b(V a, V c) { return PAC_OP##b(mul)(a, c); }                             \
    MC_INLINE V pac_div_##b(V a, V c) { return PAC_OP##b(div)(a, c); }                             \
    /* max(a, c): the second operand if either is NaN */                                           \
    MC_INLINE V pac_max_##b(V a, V c) { return PAC_OP##b(max)(a, c); }                             \
    MC_INLINE V pac_min_##b(V a, V c) { return PAC_OP##b(min)(a, c); }
PAC_LANE_OPS(32, float, pac_vec32)
PAC_LANE_OPS(64, double, pac_vec64)

/* u = 2^e m with m in [sqrt(1/2), sqrt(2)), for u >= 0; u = 0 gives a finite e and m = 1. */
MC_INLINE pac_vec32 pac_split_32(pac_vec32 u, pac_vec32 *e)
{
    const pac_int root = PAC_INT(set1_epi32)(0x3f3504f3), one = PAC_INT(set1_epi32)(0x3f800000);
    const pac_int bits = PAC_CAST_PS_SI(u);
    pac_int k = PAC_INT(add_epi32)(PAC_INT(sub_epi32)(bits, root), one);
    k = PAC_INT(sub_epi32)(PAC_INT(srli_epi32)(k, 23), PAC_INT(set1_epi32)(127));
    *e = PAC_INT(cvtepi32_ps)(k);
    return PAC_CAST_SI_PS(PAC_INT(sub_epi32)(bits, PAC_INT(slli_epi32)(k, 23)));
}
MC_INLINE pac_vec64 pac_split_64(pac_vec64 u, pac_vec64 *e)
{
    const pac_int root = PAC_SET64(0x3fe6a09e667f3bcd), one = PAC_SET64(0x3ff0000000000000);
    const pac_int bits = PAC_CAST_PD_SI(u), magic = PAC_SET64(0x4330000000000000);
    pac_int k = PAC_INT(add_epi64)(PAC_INT(sub_epi64)(bits, root), one);
    k = PAC_INT(srli_epi64)(k, 52);
    /* 2^52 + k as a double, k < 4096: no 64-bit integer conversion below AVX-512DQ */
    *e = pac_sub_64(PAC_CAST_SI_PD(PAC_OR(k, magic)), pac_set_64(4503599627370496.0 + 1023.0));
    k = PAC_INT(sub_epi64)(k, PAC_SET64(1023));
    return PAC_CAST_SI_PD(PAC_INT(sub_epi64)(bits, PAC_INT(slli_epi64)(k, 52)));
}

#else

#define PAC_LANE_OPS(b, S, V)                                                                      \
    MC_INLINE V pac_load_##b(const S *p) { return *p; }                                            \
    MC_INLINE void pac_store_##b(S *p, V a) { *p = a; }                                            \
    MC_INLINE V pac_set_##b(S a) { return a; }                                                     \
    MC_INLINE V pac_add_##b(V a, V c) { return a + c; }                                            \
    MC_INLINE V pac_sub_##b(V a, V c) { return a - c; }                                            \
    MC_INLINE V pac_mul_##b(V a, V c) { return a * c; }                                            \
    MC_INLINE V pac_div_##b(V a, V c) { return a / c; }                                            \
    MC_INLINE V pac_max_##b(V a, V c) { return a > c ? a : c; }                                    \
    MC_INLINE V pac_min_##b(V a, V c) { return a < c ? a : c; }                                    \
    MC_INLINE V pac_muladd_##b(V a, V c, V d) { return a * c + d; }
PAC_LANE_OPS(32, float, pac_vec32)
PAC_LANE_OPS(64, double, pac_vec64)

MC_INLINE int pac_outside_32(float lo, float hi, float tot, float a, float b)
{
    return (!(lo >= a) || !(hi <= b)) && tot != 0;
}

MC_INLINE float pac_split_32(float u, float *e)
{
    uint32_t bits, k;
    memcpy(&bits, &u, sizeof bits);
    k = (bits - 0x3f3504f3u + 0x3f800000u) >> 23;
    *e = (float)((int32_t)k - 127);
    bits -= (k - 127u) << 23;
    memcpy(&u, &bits, sizeof u);
    return u;
}
MC_INLINE double pac_split_64(double u, double *e)
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

/* relent(u) = u ln u - u + 1 >= 0, the relative entropy of one share u against a share of 1. Small
 * near u = 1, where it is (u-1)^2/2: all terms are built from u - 1, so the relative error stays at
 * a few ulp there and a sum of such terms has no cancellation, unlike sum p ln p. With m = 1+x, u =
 * 2^e m, q(x) = (ln(1+x) - x)/x^2: u ln u - u + 1 = u e ln 2 + (u-1) x + (x - (u-1)) + u x^2 q(x),
 * and x = u - 1 exactly when e = 0. relent(0) = 1. q: polynomials interpolated at Chebyshev nodes
 * on [sqrt(1/2)-1, sqrt(2)-1], relative error 5e-8 (f32); for f64 ln(1+x) - x = -x s + 2 s^3
 * R(s^2), s = x/(2+x), R = (atanh(s) - s)/s^3, relative error 3e-18. */
MC_INLINE pac_vec32 pac_relent_32(pac_vec32 u)
{
    pac_vec32 e;
    const pac_vec32 one = pac_set_32(1.0f), m = pac_split_32(u, &e);
    const pac_vec32 x = pac_sub_32(m, one), d = pac_sub_32(u, one);
    pac_vec32 q = pac_set_32(-0.07673641502f);
    q = pac_muladd_32(q, x, pac_set_32(0.1272267279f));
    q = pac_muladd_32(q, x, pac_set_32(-0.1312755565f));
    q = pac_muladd_32(q, x, pac_set_32(0.1420485595f));
    q = pac_muladd_32(q, x, pac_set_32(-0.1662664563f));
    q = pac_muladd_32(q, x, pac_set_32(0.2000123446f));
    q = pac_muladd_32(q, x, pac_set_32(-0.2500078124f));
    q = pac_muladd_32(q, x, pac_set_32(0.3333333003f));
    q = pac_muladd_32(q, x, pac_set_32(-0.4999999765f));
    pac_vec32 f = pac_muladd_32(d, x, pac_sub_32(x, d));
    f = pac_muladd_32(pac_mul_32(u, pac_mul_32(x, x)), q, f);
    return pac_muladd_32(u, pac_mul_32(e, pac_set_32(0.6931471806f)), f);
}
MC_INLINE pac_vec64 pac_relent_64(pac_vec64 u)
{
    pac_vec64 e;
    const pac_vec64 one = pac_set_64(1.0), m = pac_split_64(u, &e);
    const pac_vec64 x = pac_sub_64(m, one), d = pac_sub_64(u, one);
    const pac_vec64 s = pac_div_64(x, pac_add_64(x, pac_set_64(2.0))), w = pac_mul_64(s, s);
    pac_vec64 r = pac_set_64(0.06543313073920051069);
    r = pac_muladd_64(r, w, pac_set_64(0.066343865693284425923));
    r = pac_muladd_64(r, w, pac_set_64(0.076931198514073290942));
    r = pac_muladd_64(r, w, pac_set_64(0.09090897820066453138));
    r = pac_muladd_64(r, w, pac_set_64(0.11111111195856958721));
    r = pac_muladd_64(r, w, pac_set_64(0.14285714285401805905));
    r = pac_muladd_64(r, w, pac_set_64(0.20000000000000438491));
    r = pac_muladd_64(r, w, pac_set_64(0.33333333333333333232));
    /* ln(1+x) - x */
    const pac_vec64 c = pac_mul_64(s, pac_sub_64(pac_mul_64(pac_add_64(w, w), r), x));
    pac_vec64 f = pac_muladd_64(d, x, pac_sub_64(x, d));
    f = pac_muladd_64(u, c, f);
    return pac_muladd_64(u, pac_mul_64(e, pac_set_64(0.693147180559945309417)), f);
}

/* h + relent(u) for |u - 1| <= 3/8: relent = d^2 g(d), g = ((1+d) ln(1+d) - d)/d^2 interpolated at
 * Chebyshev nodes, relative error 1e-7; a third of the work of the general form. near: does it hold
 * in every lane whose total is not zero. The f64 polynomial would be as long as the general form,
 * so there is none. */
MC_INLINE int pac_relent_near_32(pac_vec32 lo, pac_vec32 hi, pac_vec32 tot)
{
    return !pac_outside_32(lo, hi, tot, 0.625f, 1.375f);
}
MC_INLINE pac_vec32 pac_relent_add_32(pac_vec32 u, pac_vec32 h)
{
    const pac_vec32 d = pac_sub_32(u, pac_set_32(1.0f));
    pac_vec32 g = pac_set_32(-0.01684313729f);
    g = pac_muladd_32(g, d, pac_set_32(0.02145033695f));
    g = pac_muladd_32(g, d, pac_set_32(-0.02353843007f));
    g = pac_muladd_32(g, d, pac_set_32(0.03300406304f));
    g = pac_muladd_32(g, d, pac_set_32(-0.05000775565f));
    g = pac_muladd_32(g, d, pac_set_32(0.08334274824f));
    g = pac_muladd_32(g, d, pac_set_32(-0.1666666325f));
    g = pac_muladd_32(g, d, pac_set_32(0.4999999585f));
    return pac_muladd_32(pac_mul_32(d, d), g, h);
}
MC_INLINE int pac_relent_near_64(pac_vec64 lo, pac_vec64 hi, pac_vec64 tot)
{
    (void)lo, (void)hi, (void)tot;
    return 0;
}
MC_INLINE pac_vec64 pac_relent_add_64(pac_vec64 u, pac_vec64 h)
{
    return pac_add_64(h, pac_relent_64(u));
}

#endif
