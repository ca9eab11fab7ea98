/* sort.c - sort family: rows of numbers into order, values and positions.
 *
 * The plain insertion sort (`sort_ref_*`, the oracle), the mapping of every dtype to signed
 * integer keys, counting sort of 8-bit rows, positions by packing key and position into one 64-bit
 * word, and the radix sort of keys. What orders the keys is MCK(sort_keys_*): vector quicksort
 * from sort_v3.c where the level has 256-bit integers, radix sort here otherwise. Letters: m rows,
 * n elements of a row. */
#include "../mck_sort.h"

#define K int32_t
#define U uint32_t
#define NAME(x) MCK(x##_i32)
#include "sort_radix.h"
#undef K
#undef U
#undef NAME

#define K int64_t
#define U uint64_t
#define NAME(x) MCK(x##_i64)
#include "sort_radix.h"
#undef K
#undef U
#undef NAME

enum {
    LONG_ROW = 1 << 15
}; /* elements: beyond that, keys are made and unmade piece by piece, in cache */

#if !defined(__AVX2__)
/* Short runs by insertion, longer ones by radix, whose histograms then pay. Ranks save nothing
 * here. */
void MCK(sort_keys_i32)(int32_t *key, int32_t *tmp, int64_t n, const int64_t *rank, int64_t ranks)
{
    (void)rank, (void)ranks;
    if (n > 80) {
        MCK(sort_radix_i32)(key, tmp, n);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        const int32_t k = key[i];
        int64_t j = i;
        for (; j > 0 && key[j - 1] > k; j--) key[j] = key[j - 1];
        key[j] = k;
    }
}

void MCK(sort_keys_i64)(int64_t *key, int64_t *tmp, int64_t n, const int64_t *rank, int64_t ranks)
{
    (void)rank, (void)ranks;
    if (n > 160) {
        MCK(sort_radix_i64)(key, tmp, n);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        const int64_t k = key[i];
        int64_t j = i;
        for (; j > 0 && key[j - 1] > k; j--) key[j] = key[j - 1];
        key[j] = k;
    }
}

void MCK(sort_mapped_i32)(const mck_sort_map *map, int32_t *key, int32_t *tmp, int64_t n)
{
    map->load(map, key, 0, n);
    MCK(sort_keys_i32)(key, tmp, n, NULL, 0);
    map->store(map, key, n);
}

void MCK(sort_mapped_i64)(const mck_sort_map *map, int64_t *key, int64_t *tmp, int64_t n)
{
    map->load(map, key, 0, n);
    MCK(sort_keys_i64)(key, tmp, n, NULL, 0);
    map->store(map, key, n);
}
#endif

size_t MCK(sort_work)(int elem_bytes, int64_t n, int want_index)
{
    const size_t key =
        elem_bytes < 4 ? 8 : (size_t)elem_bytes; /* narrow keys widen, and need both buffers */
    return (size_t)n * (want_index ? 8 : key) + 64;
}

enum {
    TOPK_BLOCK = 64, /* elements looked at before a candidate is taken */
    TOPK_LEAST = 256
};

/* Candidates a row of topk has room for: enough that thinning is rare, never more than the row and
 * a block. */
static int64_t topk_room(int64_t n, int64_t k)
{
    const int64_t want = 4 * k > TOPK_LEAST ? 4 * k : TOPK_LEAST;
    return (want < n ? want : n) + TOPK_BLOCK;
}

/* topk: positions and their order, keys and their copy, values, 8 bytes each at most; partition:
 * two keys or two positions. */
size_t MCK(topk_work)(int elem_bytes, int64_t n, int64_t k)
{
    (void)elem_bytes;
    return k > 0 ? 40 * (size_t)topk_room(n, k) + 64 : 16 * (size_t)n + 64;
}

#define T uint8_t
#define ELEM_BYTES 1
#define B int8_t
#define K int32_t
#define KEYSORT MCK(sort_keys_i32)
#define KEY_BITS 32
#define NAME(x) MCK(x##_u8)
#define FLOATING 0
#define UNSIGNED 1
#define COUNTING 128
#include "sort_body.h"

#define T int8_t
#define ELEM_BYTES 1
#define B int8_t
#define K int32_t
#define KEYSORT MCK(sort_keys_i32)
#define KEY_BITS 32
#define NAME(x) MCK(x##_i8)
#define FLOATING 0
#define UNSIGNED 0
#define COUNTING 128
#include "sort_body.h"

#define T int16_t
#define ELEM_BYTES 2
#define B int16_t
#define K int32_t
#define KEYSORT MCK(sort_keys_i32)
#define KEY_BITS 32
#define NAME(x) MCK(x##_i16)
#define FLOATING 0
#define UNSIGNED 0
#include "sort_body.h"

#define T int32_t
#define ELEM_BYTES 4
#define KEYSORT_MAPPED MCK(sort_mapped_i32)
#define B int32_t
#define K int32_t
#define KEYSORT MCK(sort_keys_i32)
#define KEY_BITS 32
#define NAME(x) MCK(x##_i32)
#define FLOATING 0
#define UNSIGNED 0
#include "sort_body.h"

#define T int64_t
#define ELEM_BYTES 8
#define KEYSORT_MAPPED MCK(sort_mapped_i64)
#define B int64_t
#define K int64_t
#define KEYSORT MCK(sort_keys_i64)
#define KEY_BITS 64
#define NAME(x) MCK(x##_i64)
#define FLOATING 0
#define UNSIGNED 0
#include "sort_body.h"

#define T float
#define ELEM_BYTES 4
#define KEYSORT_MAPPED MCK(sort_mapped_i32)
#define B int32_t
#define K int32_t
#define KEYSORT MCK(sort_keys_i32)
#define KEY_BITS 32
#define NAME(x) MCK(x##_f32)
#define FLOATING 1
#define UNSIGNED 0
#define F_INF 0x7f800000
#define F_NAN 0x7fc00000
#include "sort_body.h"

#define T double
#define ELEM_BYTES 8
#define KEYSORT_MAPPED MCK(sort_mapped_i64)
#define B int64_t
#define K int64_t
#define KEYSORT MCK(sort_keys_i64)
#define KEY_BITS 64
#define NAME(x) MCK(x##_f64)
#define FLOATING 1
#define UNSIGNED 0
#define F_INF 0x7ff0000000000000
#define F_NAN 0x7ff8000000000000
#include "sort_body.h"
