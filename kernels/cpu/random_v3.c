/* random_v3.c - Philox4x32-10 with 256-bit vectors (v3 and above; empty below).
 *
 * MCK(philox_lanes), whose plain form stands in random.c; the same bits. A word lives in a 64-bit
 * lane, where the multiplier wants it and leaves both halves of its product: no shuffle in ten
 * rounds. The upper halves of the lanes carry rubbish that no step reads. Measured on Zen 3: 1.0
 * ns a word, the compiler's own vectors of the plain loop 4. */
#include "../mck_philox.h"
#include "../mck_random.h"

#if defined(__AVX2__)
#include <immintrin.h>

typedef __m256i V;

/* The lower halves of eight 64-bit lanes as eight 32-bit lanes, in order. */
MC_INLINE void store_words(uint32_t *out, V low, V high)
{
    const V mixed = _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), 0x88));
    _mm256_storeu_si256((V *)(void *)out, _mm256_permute4x64_epi64(mixed, 0xd8));
}

/* w[j][l] is word j of block `block + l`; eight blocks a turn. */
void MCK(philox_lanes)(uint64_t key, uint64_t stream, uint64_t block,
                       uint32_t w[4][MCK_PHILOX_LANES])
{
    const V m0 = _mm256_set1_epi64x(MCK_PHILOX_M0), m1 = _mm256_set1_epi64x(MCK_PHILOX_M1);
    const V w0 = _mm256_set1_epi64x(MCK_PHILOX_W0), w1 = _mm256_set1_epi64x(MCK_PHILOX_W1);
    for (int l = 0; l < MCK_PHILOX_LANES; l += 8) {
        V a[2], b[2], c[2], d[2];
        V k0 = _mm256_set1_epi64x((long long)(key & 0xffffffffu)),
          k1 = _mm256_set1_epi64x((long long)(key >> 32));
        for (int h = 0; h < 2; h++) {
            const V index =
                _mm256_add_epi64(_mm256_set1_epi64x((long long)(block + (uint64_t)(l + 4 * h))),
                                 _mm256_setr_epi64x(0, 1, 2, 3));
            a[h] = index;
            b[h] = _mm256_srli_epi64(index, 32);
            c[h] = _mm256_set1_epi64x((long long)stream);
            d[h] = _mm256_set1_epi64x((long long)(stream >> 32));
        }
        for (int round = 0; round < 10; round++) {
            for (int h = 0; h < 2; h++) {
                const V p0 = _mm256_mul_epu32(a[h], m0), p1 = _mm256_mul_epu32(c[h], m1);
                a[h] = _mm256_xor_si256(_mm256_srli_epi64(p1, 32), _mm256_xor_si256(b[h], k0));
                b[h] = p1;
                c[h] = _mm256_xor_si256(_mm256_srli_epi64(p0, 32), _mm256_xor_si256(d[h], k1));
                d[h] = p0;
            }
            k0 = _mm256_add_epi64(k0, w0);
            k1 = _mm256_add_epi64(k1, w1);
        }
        store_words(&w[0][l], a[0], a[1]);
        store_words(&w[1][l], b[0], b[1]);
        store_words(&w[2][l], c[0], c[1]);
        store_words(&w[3][l], d[0], d[1]);
    }
}
#else
typedef int mck_random_v3_empty; /* an object must hold something */
#endif
