/* select.c - select family: quantiles and medians of rows without a full sort.
 *
 * The thirteen definitions of a sample quantile (numbered as in mck_select.h) and the choice of
 * positions. The ordering of keys is that of the sort family. The result is computed in f64 and
 * rounded once to the row's type. Letters: m rows, n elements of a row, q probabilities. Source:
 * Sample quantiles in statistical packages, 1996, definitions 1 to 9. */
#include "../mck_select.h"
#include "../mck_sort.h"
#include <math.h>

/* A quantile lies `weight` of the way from the low-th to the high-th smallest element, counted from
 * 0. */
typedef struct position {
    int64_t low, high;
    double weight;
} position;

static position quantile_position(double p, int64_t n, int method)
{
    /* alpha, beta of the continuous definitions 4, 5, 6, 8, 9 (methods 8..12): h = n p + alpha + p
     * (1 - alpha - beta) */
    static const double plotting[5][2] = {
        { 0.0, 1.0 }, { 0.5, 0.5 }, { 0.0, 0.0 }, { 1.0 / 3.0, 1.0 / 3.0 }, { 3.0 / 8.0, 3.0 / 8.0 }
    };
    const double size = (double)n;
    double h; /* position counted from 0 */
    if (method <= 4)
        h = (size - 1.0) * p;
    else if (method <= 6)
        h = size * p - 1.0;
    else if (method == 7)
        h = size * p - 1.5;
    else
        h = size * p +
            (plotting[method - 8][0] +
             p * (1.0 - plotting[method - 8][0] - plotting[method - 8][1])) -
            1.0;
    const double whole = floor(h);
    double weight = h - whole;
    const int odd = whole - 2.0 * floor(0.5 * whole) != 0.0;
    switch (method) {
    case 1: weight = 0.0; break;
    case 2: weight = weight > 0.0 ? 1.0 : 0.0; break;
    case 3: weight = weight > 0.5 || (weight == 0.5 && odd) ? 1.0 : 0.0; break;
    case 4: weight = weight > 0.0 ? 0.5 : 0.0; break;
    case 5: weight = weight > 0.0 ? 1.0 : 0.0; break;
    case 6: weight = weight > 0.0 ? 1.0 : 0.5; break;
    case 7:
        weight = weight == 0.0 && odd ? 0.0 : 1.0;
        break; /* an even order statistic, counted from 1 */
    default: break;
    }
    position at = { 0, 0, 0.0 };
    if (whole >= size - 1.0) {
        at.low = at.high = n - 1;
    } else if (whole >= 0.0) {
        at.low = (int64_t)whole + (weight == 1.0);
        at.high = (int64_t)whole + (weight > 0.0);
        at.weight = weight == 1.0 ? 0.0 : weight;
    }
    return at;
}

/* Straight line from a to b, exact at both ends, monotone in the weight, and right when an end is
 * infinite. */
static double between(double a, double b, double weight)
{
    if (weight == 0.0 || a == b) return a;
    const double span = b - a;
    if (!isfinite(span))
        return a * (1.0 - weight) + b * weight; /* an infinite end, or ends far apart */
    if (weight == 0.5 && isfinite(a + b)) return 0.5 * (a + b);
    return weight < 0.5 ? a + span * weight : b - span * (1.0 - weight);
}

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
        const position at = quantile_position(a->prob[k], n, a->method);
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
