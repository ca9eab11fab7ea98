/* median.c - medians over rows, sample by sample, many samples at once.
 *
 * A network of comparators does not look at the data, so samples go through it side by side. Runs
 * of RUN rows are sorted in registers, two of them merged there; more are merged through memory by
 * the odd-even merge. Each half of the rows becomes one sorted run, and the median is picked from
 * the two without a merge. The length of a network grows like n log^2 n; beyond NETWORK_MAX rows a
 * selection of each sample alone is faster. Both give the exact median: the mean of the two middle
 * values for an even number. Source: K. E. Batcher, Sorting networks and their applications,
 * 1968. */
#include "tile.h"
#include "mck_network.h"
#include "mck_select.h"
#include "mck_sort.h"

#define NETWORK_MAX 512
#define BLOCK 16 /* samples side by side: 128 bytes of a row */
#define WIDE (BLOCK / VL)
#if defined(__AVX512F__)
/* as many vectors as there are registers; the compiler keeps one or two of them in memory */
#define RUN 32
#else
#define RUN 8
#endif

/* Comparators (i, j), i < j, that merge sorted runs of 2 RUN into one sorted row of n that starts
 * at `base`; written only where pairs is given. */
static int64_t merges(int64_t n, int64_t base, uint16_t *pairs)
{
    int64_t count = 0;
    for (int64_t p = 2 * RUN; p < n; p *= 2)
        for (int64_t k = p; k > 0; k /= 2)
            for (int64_t j = k % p; j + k < n; j += 2 * k)
                for (int64_t i = j; i < j + k && i + k < n; i++) {
                    if (i / (2 * p) != (i + k) / (2 * p)) continue;
                    if (pairs) {
                        pairs[2 * count] = (uint16_t)(base + i);
                        pairs[2 * count + 1] = (uint16_t)(base + i + k);
                    }
                    count++;
                }
    return count;
}

/* Rows that half of n rows take, in whole pairs of runs. */
static int64_t room(int64_t n) { return (n - n / 2 + 2 * RUN - 1) / (2 * RUN) * (2 * RUN); }

int64_t MCK(ar_network)(int64_t n, uint16_t *pairs)
{
    if (n <= 4 * RUN || n > NETWORK_MAX) return 0;
    const int64_t first = merges(n - n / 2, 0, pairs);
    return first + merges(n / 2, room(n), pairs ? pairs + 2 * first : NULL);
}

int64_t MCK(ar_medians_work)(int64_t n)
{
    const int64_t rows = n > 2 * room(n) ? n : 2 * room(n);
    return ar_bytes(rows * BLOCK * 8) + (n > NETWORK_MAX ? (int64_t)MCK(select_work)(8, n, 1) : 0);
}

/* Rows list[0 .. m) of VL samples, sorted, to out. Unrolled, or v would lie in memory: 1.5 times
 * the time. */
#define COMPARE(i, j)                                        \
    if ((j) < rows) {                                        \
        const mck_vec64 low = mck_min_64(v[i], v[j]);        \
        v[j] = mck_max_64(v[i], v[j]);                       \
        v[i] = low;                                          \
    }
MC_INLINE void sort_rows(double *out, const double *in, const int32_t *list, const int rows)
{
    mck_vec64 v[32];
#pragma GCC unroll 32
    for (int i = 0; i < rows; i++) v[i] = mck_load_64(in + list[i] * TILE);
    MCK_NETWORK_32(COMPARE)
#pragma GCC unroll 32
    for (int i = 0; i < rows; i++) mck_store_64(out + i * BLOCK, v[i]);
}

#define RUNS_8(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#if RUN == 32
#define RUNS(X)                                                                                    \
    RUNS_8(X)                                                                                      \
    X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) \
        X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)
#else
#define RUNS RUNS_8
#endif
#define SORT(n)                                                              \
    static void sort_##n(double *out, const double *in, const int32_t *list) \
    {                                                                        \
        sort_rows(out, in, list, n);                                         \
    }
RUNS(SORT)

static void sort_run(double *out, const double *in, const int32_t *list, int64_t n)
{
    typedef void (*sorter)(double *, const double *, const int32_t *);
#define NAME(n) sort_##n,
    static const sorter table[] = { RUNS(NAME) };
    for (int v = 0; v < WIDE; v++) table[n - 1](out + v * VL, in + v * VL, list);
}

/* Comparators between rows `apart`, of a row in registers. */
MC_INLINE void half_clean(mck_vec64 *v, const int apart)
{
#pragma GCC unroll 32
    for (int i = 0; i < RUN; i++) {
        if (i & apart) continue;
        const mck_vec64 low = mck_min_64(v[i], v[i + apart]);
        v[i + apart] = mck_max_64(v[i], v[i + apart]);
        v[i] = low;
    }
}

/* A row that ascends and then descends, or the other way round, sorted in registers and stored. */
MC_INLINE void sort_bitonic(double *out, mck_vec64 *v)
{
#if RUN == 32
    half_clean(v, 16);
    half_clean(v, 8);
#endif
    half_clean(v, 4);
    half_clean(v, 2);
    half_clean(v, 1);
#pragma GCC unroll 32
    for (int i = 0; i < RUN; i++) mck_store_64(out + i * BLOCK, v[i]);
}

/* Two sorted runs, one after the other, become one. */
static void merge_runs(double *buf)
{
    for (int p = 0; p < WIDE; p++, buf += VL) {
        mck_vec64 v[RUN];
#pragma GCC unroll 32
        for (int i = 0; i < RUN; i++) {
            const mck_vec64 a = mck_load_64(buf + i * BLOCK),
                            b = mck_load_64(buf + (2 * RUN - 1 - i) * BLOCK);
            v[i] = mck_min_64(a, b);
            mck_store_64(buf + (2 * RUN - 1 - i) * BLOCK, mck_max_64(a, b));
        }
        sort_bitonic(buf, v);
#pragma GCC unroll 32
        for (int i = 0; i < RUN; i++) v[i] = mck_load_64(buf + (RUN + i) * BLOCK);
        sort_bitonic(buf + RUN * BLOCK, v);
    }
}

/* Rows list[0 .. n) in sorted runs of 2 RUN; rows beyond the last are larger than all. */
static void sort_pairs(double *out, const double *in, const int32_t *list, int64_t n)
{
    for (int64_t i = 0; i < n; i += 2 * RUN, out += 2 * RUN * BLOCK) {
        const int64_t left = n - i < 2 * RUN ? n - i : 2 * RUN, first = left < RUN ? left : RUN;
        sort_run(out, in, list + i, first);
        if (left > RUN) sort_run(out + RUN * BLOCK, in, list + i + RUN, left - RUN);
        for (int64_t k = left; left > RUN && k < 2 * RUN; k++)
            for (int v = 0; v < WIDE; v++)
                mck_store_64(out + k * BLOCK + v * VL, mck_set_64(INFINITY));
        if (left > RUN) merge_runs(out);
    }
}

/* The median of two sorted runs, the longer one first: the k-th smallest of both is the least of
 * max(a_i, b_(k-i)). */
static void by_pair(double *out, const double *a, const double *b, int64_t n)
{
    const int64_t m = n - n / 2, k = n / 2; /* rows of a and of b */
    for (int v = 0; v < WIDE; v++, a += VL, b += VL) {
        if (m > k) { /* one middle row, the m-th */
            mck_vec64 high = mck_load_64(a + (m - 1) * BLOCK);
            for (int64_t i = 1; i < m; i++)
                high = mck_min_64(high, mck_max_64(mck_load_64(a + (i - 1) * BLOCK),
                                                   mck_load_64(b + (m - i - 1) * BLOCK)));
            mck_store_64(out + v * VL, high);
            continue;
        }
        mck_vec64 low =
            mck_min_64(mck_load_64(a + (m - 1) * BLOCK), mck_load_64(b + (m - 1) * BLOCK));
        mck_vec64 high = mck_max_64(mck_load_64(a), mck_load_64(b + (m - 1) * BLOCK));
        for (int64_t i = 1; i < m; i++) {
            const mck_vec64 x = mck_load_64(a + (i - 1) * BLOCK);
            low = mck_min_64(low, mck_max_64(x, mck_load_64(b + (m - i - 1) * BLOCK)));
            high = mck_min_64(high, mck_max_64(x, mck_load_64(b + (m - i) * BLOCK)));
        }
        high = mck_min_64(high, mck_max_64(mck_load_64(a + (m - 1) * BLOCK), mck_load_64(b)));
        mck_store_64(out + v * VL, mck_mul_64(mck_set_64(0.5), mck_add_64(low, high)));
    }
}

static void by_network(double *buf, const uint16_t *network, int64_t pairs)
{
    for (int64_t k = 0; k < pairs; k++) {
        double *a = buf + network[2 * k] * BLOCK, *b = buf + network[2 * k + 1] * BLOCK;
        for (int v = 0; v < WIDE; v++) {
            const mck_vec64 x = mck_load_64(a + v * VL), y = mck_load_64(b + v * VL);
            mck_store_64(a + v * VL, mck_min_64(x, y));
            mck_store_64(b + v * VL, mck_max_64(x, y));
        }
    }
}

void MCK(ar_medians)(double *out, const double *rows, const int32_t *list, int64_t n,
                     const uint16_t *network, int64_t pairs, void *work)
{
    double *buf = work;
    static const double half = 0.5;
    for (int64_t t = 0; t < TILE; t += BLOCK) {
        if (n > NETWORK_MAX) {
            for (int64_t i = 0; i < n; i++)
                for (int64_t s = 0; s < BLOCK; s++) buf[s * n + i] = rows[list[i] * TILE + t + s];
            const mck_select a = { .m = BLOCK,
                                   .n = n,
                                   .q = 1,
                                   .out = out + t,
                                   .in = buf,
                                   .prob = &half,
                                   .work = (char *)work + ar_bytes(n * BLOCK * 8) };
            MCK(select_f64)(&a);
            continue;
        }
        if (n == 1) {
            for (int v = 0; v < WIDE; v++)
                mck_store_64(out + t + v * VL, mck_load_64(rows + list[0] * TILE + t + v * VL));
            continue;
        }
        const int64_t m = n - n / 2, second = n <= 2 * RUN ? m : room(n);
        if (n <= 2 * RUN) {
            sort_run(buf, rows + t, list, m);
            sort_run(buf + second * BLOCK, rows + t, list + m, n - m);
        } else {
            sort_pairs(buf, rows + t, list, m);
            sort_pairs(buf + second * BLOCK, rows + t, list + m, n - m);
            by_network(buf, network, pairs);
        }
        by_pair(out + t, buf, buf + second * BLOCK, n);
    }
}
