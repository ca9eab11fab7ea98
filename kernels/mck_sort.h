/* mck_sort.h - entry points of the sort and select families and the workspace they ask for.
 *
 * Owns: the prototypes of kernels/cpu/sort.c, sort_v3.c and select.c. The runtime asks the *_work
 * functions for the bytes of workspace one worker needs, allocates them 64-byte aligned and hands
 * them in. May not know tensors.
 *
 * sort: ascending or descending, NaN last either way and written back as the canonical quiet NaN.
 * Sorting values puts -0 before +0 (after it when descending); positions treat the two as equal and
 * are always stable, whatever `stable` says. `out` may be `in`. */
#ifndef MCK_SORT_H
#define MCK_SORT_H

#include "mck.h"

#define MCK_SORT_DTYPES(X) \
    X(u8, uint8_t) \
    X(i8, int8_t) \
    X(i16, int16_t) \
    X(i32, int32_t) \
    X(i64, int64_t) \
    X(f32, float) \
    X(f64, double)

#define MCK_SORT_DECLARE(name, type) \
    void MCK(sort_##name)(const mck_sort *a); \
    void MCK(partition_##name)(const mck_sort *a); \
    void MCK(topk_##name)(const mck_sort *a); \
    void MCK(sort_ref_##name)(const mck_sort *a);
MCK_SORT_DTYPES(MCK_SORT_DECLARE)
#undef MCK_SORT_DECLARE

/* Bytes of workspace per worker for rows of n elements of elem_bytes; want_index: `index` will be
 * given. */
size_t MCK(sort_work)(int elem_bytes, int64_t n, int want_index);

/* The same for topk of k elements, and for partition (k = 0). */
size_t MCK(topk_work)(int elem_bytes, int64_t n, int64_t k);

void MCK(select_f32)(const mck_select *a);
void MCK(select_f64)(const mck_select *a);
void MCK(select_ref_f32)(const mck_select *a);
void MCK(select_ref_f64)(const mck_select *a);

/* Bytes of workspace per worker for rows of n elements and q probabilities. */
size_t MCK(select_work)(int elem_bytes, int64_t n, int64_t q);

/* Between the files of the family. Sorts n signed keys ascending in `key`; `tmp` holds n more. When
 * `rank` is given (ascending, inside [0,n)), only the keys at those positions are sure to stand
 * where a full sort would put them. */
void MCK(sort_keys_i32)(int32_t *key, int32_t *tmp, int64_t n, const int64_t *rank, int64_t ranks);
void MCK(sort_keys_i64)(int64_t *key, int64_t *tmp, int64_t n, const int64_t *rank, int64_t ranks);
/* The same for a long row whose keys are made on the way in and turned into numbers on the way out,
 * piece by piece while they are in cache: load writes keys [from, from + n) of the row to `key`,
 * store turns n sorted keys at `key` in place. */
typedef struct mck_sort_map {
    const void *in;
    int64_t flip;
    void (*load)(const struct mck_sort_map *map, void *key, int64_t from, int64_t n);
    void (*store)(const struct mck_sort_map *map, void *key, int64_t n);
} mck_sort_map;
void MCK(sort_mapped_i32)(const mck_sort_map *map, int32_t *key, int32_t *tmp, int64_t n);
void MCK(sort_mapped_i64)(const mck_sort_map *map, int64_t *key, int64_t *tmp, int64_t n);
/* Keys by least-significant-digit radix: no bad case, so the quicksort falls back on it. */
void MCK(sort_radix_i32)(int32_t *key, int32_t *tmp, int64_t n);
void MCK(sort_radix_i64)(int64_t *key, int64_t *tmp, int64_t n);

#endif
