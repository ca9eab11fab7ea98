/* sort_v3.c - keys into order with 256-bit integer vectors (v3 and above; empty below).
 *
 * MCK(sort_keys_*) and MCK(sort_mapped_*), which sort.c and select.c call; sort.c holds the plain
 * forms. Knows keys only: no dtype, no order but ascending. Measured on Zen 3, f32 rows, ns an
 * element, beside the plain form: 64 elements 1.0 (17), 1000 elements 2.5 (15), a million 5.2
 * (13). */
#include "../mck_sort.h"

#if defined(__AVX2__)
#include <immintrin.h>
#include "sort_table.h"

typedef __m256i V;

#define LOAD(p) _mm256_loadu_si256((const V *)(const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((V *)(void *)(p), (v))
#define LANE_ORDER(x, bytes) \
    _mm256_permutevar8x32_epi32((x), _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)(bytes))))

/* Which lanes of a group of 2*width take the greater key, as a blend mask over 32-bit lanes. */
#define UPPER32(width) ((width) == 1 ? 0xaa : (width) == 2 ? 0xcc : 0xf0)
#define UPPER64(width) ((width) == 1 ? 0xcc : 0xf0)

/* ---- eight 32-bit lanes ---- */

MC_INLINE V reverse8(V x)
{
    return _mm256_shuffle_epi32(_mm256_permute4x64_epi64(x, 0x4e), 0x1b);
}

/* Columns to rows: lane c of the eight rows becomes row c. */
MC_INLINE void transpose8(V *v)
{
    const V a0 = _mm256_unpacklo_epi32(v[0], v[1]), a1 = _mm256_unpackhi_epi32(v[0], v[1]);
    const V a2 = _mm256_unpacklo_epi32(v[2], v[3]), a3 = _mm256_unpackhi_epi32(v[2], v[3]);
    const V a4 = _mm256_unpacklo_epi32(v[4], v[5]), a5 = _mm256_unpackhi_epi32(v[4], v[5]);
    const V a6 = _mm256_unpacklo_epi32(v[6], v[7]), a7 = _mm256_unpackhi_epi32(v[6], v[7]);
    const V b0 = _mm256_unpacklo_epi64(a0, a2), b1 = _mm256_unpackhi_epi64(a0, a2);
    const V b2 = _mm256_unpacklo_epi64(a1, a3), b3 = _mm256_unpackhi_epi64(a1, a3);
    const V b4 = _mm256_unpacklo_epi64(a4, a6), b5 = _mm256_unpackhi_epi64(a4, a6);
    const V b6 = _mm256_unpacklo_epi64(a5, a7), b7 = _mm256_unpackhi_epi64(a5, a7);
    v[0] = _mm256_permute2x128_si256(b0, b4, 0x20);
    v[1] = _mm256_permute2x128_si256(b1, b5, 0x20);
    v[2] = _mm256_permute2x128_si256(b2, b6, 0x20);
    v[3] = _mm256_permute2x128_si256(b3, b7, 0x20);
    v[4] = _mm256_permute2x128_si256(b0, b4, 0x31);
    v[5] = _mm256_permute2x128_si256(b1, b5, 0x31);
    v[6] = _mm256_permute2x128_si256(b2, b6, 0x31);
    v[7] = _mm256_permute2x128_si256(b3, b7, 0x31);
}

/* Two rows of eight: column c is (v0[c], v1[c]). */
MC_INLINE void transpose2x8(V *v)
{
    const V a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpackhi_epi32(v[0], v[1]);
    v[0] = _mm256_permute2x128_si256(a, b, 0x20);
    v[1] = _mm256_permute2x128_si256(a, b, 0x31);
}

MC_INLINE void transpose4x8(V *v)
{
    const V a0 = _mm256_unpacklo_epi32(v[0], v[1]), a1 = _mm256_unpackhi_epi32(v[0], v[1]);
    const V a2 = _mm256_unpacklo_epi32(v[2], v[3]), a3 = _mm256_unpackhi_epi32(v[2], v[3]);
    const V b0 = _mm256_unpacklo_epi64(a0, a2), b1 = _mm256_unpackhi_epi64(a0, a2);
    const V b2 = _mm256_unpacklo_epi64(a1, a3), b3 = _mm256_unpackhi_epi64(a1, a3);
    v[0] = _mm256_permute2x128_si256(b0, b1, 0x20);
    v[1] = _mm256_permute2x128_si256(b2, b3, 0x20);
    v[2] = _mm256_permute2x128_si256(b0, b1, 0x31);
    v[3] = _mm256_permute2x128_si256(b2, b3, 0x31);
}

/* Column c of sixteen rows is the two rows 2c and 2c+1 of the result. */
MC_INLINE void transpose16x8(V *v)
{
    V w[16];
    transpose8(v);
    transpose8(v + 8);
    for (int i = 0; i < 16; i++) w[i] = v[i];
    for (int i = 0; i < 8; i++) {
        v[2 * i] = w[i];
        v[2 * i + 1] = w[8 + i];
    }
}

#define K int32_t
#define LANES 8
#define K_MAX INT32_MAX
#define NAME(x) MCK(x##_i32)
#define MIN(a, b) _mm256_min_epi32(a, b)
#define MAX(a, b) _mm256_max_epi32(a, b)
#define GT(a, b) _mm256_cmpgt_epi32(a, b)
#define MASK(m) _mm256_movemask_ps(_mm256_castsi256_ps(m))
#define ORDER(x, mask) LANE_ORDER(x, lanes8[mask])
#define SET1(k) _mm256_set1_epi32(k)
#define IOTA _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
#define MASKLOAD(p, m) _mm256_maskload_epi32(p, m)
#define SWAP1(x) _mm256_shuffle_epi32(x, 0xb1)
#define SWAP2(x) _mm256_shuffle_epi32(x, 0x4e)
#define REV2(x) _mm256_shuffle_epi32(x, 0xb1)
#define REV4(x) _mm256_shuffle_epi32(x, 0x1b)
#define REV8(x) reverse8(x)
#define PICK(a, b, width) _mm256_blend_epi32(MIN(a, b), MAX(a, b), UPPER32(width))
#define TRANSPOSE2 transpose2x8
#define TRANSPOSE4 transpose4x8
#define TRANSPOSE8 transpose8
#define TRANSPOSE16 transpose16x8
#include "sort_v3_body.h"
#undef K
#undef LANES
#undef K_MAX
#undef NAME
#undef MIN
#undef MAX
#undef GT
#undef MASK
#undef ORDER
#undef SET1
#undef IOTA
#undef MASKLOAD
#undef SWAP1
#undef SWAP2
#undef REV2
#undef REV4
#undef REV8
#undef PICK
#undef TRANSPOSE2
#undef TRANSPOSE4
#undef TRANSPOSE8
#undef TRANSPOSE16

/* ---- four 64-bit lanes ---- */

MC_INLINE V min64(V a, V b)
{
    return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
}

MC_INLINE V max64(V a, V b)
{
    return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b));
}

/* The lesser of a and b in the lower lanes of each group, the greater in the upper: one compare,
 * one blend. */
MC_INLINE V pick64(V a, V b, V upper)
{
    return _mm256_blendv_epi8(a, b, _mm256_xor_si256(_mm256_cmpgt_epi64(a, b), upper));
}

MC_INLINE void transpose2x4(V *v)
{
    const V a = _mm256_unpacklo_epi64(v[0], v[1]), b = _mm256_unpackhi_epi64(v[0], v[1]);
    v[0] = _mm256_permute2x128_si256(a, b, 0x20);
    v[1] = _mm256_permute2x128_si256(a, b, 0x31);
}

MC_INLINE void transpose4(V *v)
{
    const V a0 = _mm256_unpacklo_epi64(v[0], v[1]), a1 = _mm256_unpackhi_epi64(v[0], v[1]);
    const V a2 = _mm256_unpacklo_epi64(v[2], v[3]), a3 = _mm256_unpackhi_epi64(v[2], v[3]);
    v[0] = _mm256_permute2x128_si256(a0, a2, 0x20);
    v[1] = _mm256_permute2x128_si256(a1, a3, 0x20);
    v[2] = _mm256_permute2x128_si256(a0, a2, 0x31);
    v[3] = _mm256_permute2x128_si256(a1, a3, 0x31);
}

/* Column c of eight rows is the rows 2c and 2c+1 of the result. */
MC_INLINE void transpose8x4(V *v)
{
    V w[8];
    transpose4(v);
    transpose4(v + 4);
    for (int i = 0; i < 8; i++) w[i] = v[i];
    for (int i = 0; i < 4; i++) {
        v[2 * i] = w[i];
        v[2 * i + 1] = w[4 + i];
    }
}

MC_INLINE void transpose16x4(V *v)
{
    V w[16];
    for (int i = 0; i < 4; i++) transpose4(v + 4 * i);
    for (int i = 0; i < 16; i++) w[i] = v[i];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) v[4 * i + j] = w[4 * j + i];
}

#define K int64_t
#define LANES 4
#define K_MAX INT64_MAX
#define NAME(x) MCK(x##_i64)
#define MIN(a, b) min64(a, b)
#define MAX(a, b) max64(a, b)
#define GT(a, b) _mm256_cmpgt_epi64(a, b)
#define MASK(m) _mm256_movemask_pd(_mm256_castsi256_pd(m))
#define ORDER(x, mask) LANE_ORDER(x, lanes4[mask])
#define SET1(k) _mm256_set1_epi64x(k)
#define IOTA _mm256_setr_epi64x(0, 1, 2, 3)
#define MASKLOAD(p, m) _mm256_maskload_epi64((const long long *)(p), m)
#define SWAP1(x) _mm256_shuffle_epi32(x, 0x4e)
#define REV2(x) _mm256_shuffle_epi32(x, 0x4e)
#define REV4(x) _mm256_permute4x64_epi64(x, 0x1b)
#define PICK(a, b, width) \
    pick64(a, b, _mm256_blend_epi32(_mm256_setzero_si256(), _mm256_set1_epi32(-1), UPPER64(width)))
#define TRANSPOSE2 transpose2x4
#define TRANSPOSE4 transpose4
#define TRANSPOSE8 transpose8x4
#define TRANSPOSE16 transpose16x4
#include "sort_v3_body.h"
#else
typedef int mck_sort_v3_empty; /* an object must hold something */
#endif
