/* mck_sort.h - arguments and entry points of the sort family.
 *
 * The *_work functions tell the bytes of workspace of one worker; the runtime hands them in,
 * 64-byte aligned.
 *
 * sort: ascending or descending, NaN last either way and written back as the canonical quiet NaN.
 * Sorting values puts -0 before +0 (after it when descending); positions treat the two as equal and
 * are always stable, whatever `stable` says. `out` may be `in`. */
#ifndef MCK_SORT_H
#define MCK_SORT_H

#include "mck.h"

/* m contiguous rows of n. `out` receives the sorted row (sort), `index` the positions + base
 * (argsort); either may be NULL. NaN sorts last (ascending and descending). Ties keep their order
 * when `stable`. partition: the element at place kth (from 0) of the sorted row, those before it in
 * front, those behind it after, else in the order of the row. topk: the kth + 1 first of the sorted
 * row, out[m][kth + 1]; ordered: in that order, else in the order of the row. work: what
 * mck_sort_work() or mck_topk_work() asked for, for one row; rows of one call share it (one
 * worker). */
typedef struct mck_sort {
    int64_t m, n;
    void *out;
    int64_t *index;
    const void *in;
    int64_t base;
    int descending, stable;
    void *work;
    int64_t kth;
    int ordered;
} mck_sort;
typedef void (*mck_sort_fn)(const mck_sort *a);

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
