/* select.c - select family: quantiles and medians of rows without a full sort.
 *
 * The choice of positions. The ordering of keys is that of the sort family. The result is computed
 * in f64 and rounded once to the row's type. Letters: m rows, n elements of a row, q probabilities.
 * Source: Sample quantiles in statistical packages, 1996, definitions 1 to 9. */
#include "../mck_select.h"
#include "../mck_quantile.h"
#include "../mck_sort.h"
#include <math.h>

enum { COUNT_BLOCK = 1 << 20 }; /* elements counted between two widenings */

/* Workspace: the keys, as many again for the quicksort, then the ranks. */
static size_t rank_offset(size_t elem_bytes, int64_t n)
{
    return (2 * (size_t)n * elem_bytes + 63) / 64 * 64;
}

/* Positions needed for all probabilities, ascending; returns their number, at most 2q. */
static int64_t wanted_ranks(const mck_select *a, int64_t n, int64_t *rank)
{
    int64_t count = 0;
    for (int64_t k = 0; k < a->q; k++) {
        const mck_position at = mck_quantile_position(a->prob[k], n, a->method);
        const int64_t both[2] = { at.low, at.high };
        for (int e = 0; e < 2; e++) {
            int64_t j = count;
            while (j > 0 && rank[j - 1] > both[e]) j--;
            if (j > 0 && rank[j - 1] == both[e]) continue;
            for (int64_t i = count; i > j; i--) rank[i] = rank[i - 1];
            rank[j] = both[e];
            count++;
        }
    }
    return count;
}

size_t MCK(select_work)(int elem_bytes, int64_t n, int64_t q)
{
    return rank_offset((size_t)elem_bytes, n) + 2 * (size_t)q * sizeof(int64_t) + 64;
}

#define T float
#define B int32_t
#define NAME(x) MCK(x##_f32)
#define KEYSORT MCK(sort_keys_i32)
#define F_INF 0x7f800000
#define F_NAN 0x7fc00000
#include "select_body.h"

#define T double
#define B int64_t
#define NAME(x) MCK(x##_f64)
#define KEYSORT MCK(sort_keys_i64)
#define F_INF 0x7ff0000000000000
#define F_NAN 0x7ff8000000000000
#include "select_body.h"
