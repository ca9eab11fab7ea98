/* autoreject_median.c - medians over rows, sample by sample, many samples at once.
 *
 * A network of comparators does not look at the data, so sixteen samples go through it side by side: the odd-even
 * merge sort, cut down to the comparators that the middle positions depend on. Its length grows like n log^2 n; beyond
 * NETWORK_MAX rows a selection of each sample alone is faster. Both give the exact median: the mean of the two middle
 * values for an even number. May not know what a row is.
 * Source: K. E. Batcher, Sorting networks and their applications, 1968; the form for any n is algorithm 5.2.2M of
 * The art of computer programming 3, 1998. */
#include "autoreject_tile.h"
#include "../mck_sort.h"

#define NETWORK_MAX 512
#define BLOCK 16 /* samples side by side: 128 bytes of a row */
#define WIDE (BLOCK / VL)

/* All comparators (i, j), i < j, in order; written only where pairs is given. */
static int64_t whole_network(int64_t n, uint16_t *pairs)
{
    int64_t count = 0, top = 1;
    while (2 * top < n) top *= 2;
    for (int64_t p = n > 1 ? top : 0; p > 0; p /= 2) {
        int64_t q = top, r = 0, d = p;
        for (;;) {
            for (int64_t i = 0; i < n - d; i++)
                if ((i & p) == r) {
                    if (pairs) {
                        pairs[2 * count] = (uint16_t)i;
                        pairs[2 * count + 1] = (uint16_t)(i + d);
                    }
                    count++;
                }
            if (q == p) break;
            d = q - p;
            q /= 2;
            r = p;
        }
    }
    return count;
}

int64_t MCK(ar_network)(int64_t n, uint16_t *pairs)
{
    if (n > NETWORK_MAX) return 0;
    const int64_t all = whole_network(n, pairs);
    if (!pairs) return all;
    uint8_t wanted[NETWORK_MAX] = { 0 };
    wanted[n / 2] = wanted[(n - 1) / 2] = 1;
    int64_t kept = all;
    for (int64_t k = all - 1; k >= 0; k--) {
        const uint16_t i = pairs[2 * k], j = pairs[2 * k + 1];
        if (!wanted[i] && !wanted[j]) continue;
        wanted[i] = wanted[j] = 1;
        kept--;
        pairs[2 * kept] = i;
        pairs[2 * kept + 1] = j;
    }
    for (int64_t k = 0; k < 2 * (all - kept); k++) pairs[k] = pairs[2 * kept + k];
    return all - kept;
}

int64_t MCK(ar_medians_work)(int64_t n)
{
    return ar_bytes(n * BLOCK * 8) + (n > NETWORK_MAX ? (int64_t)MCK(select_work)(8, n, 1) : 0);
}

static void by_network(double *out, double *buf, int64_t n, const uint16_t *network, int64_t pairs)
{
    for (int64_t k = 0; k < pairs; k++) {
        double *a = buf + network[2 * k] * BLOCK, *b = buf + network[2 * k + 1] * BLOCK;
        for (int v = 0; v < WIDE; v++) {
            const mck_vec64 x = mck_load_64(a + v * VL), y = mck_load_64(b + v * VL);
            mck_store_64(a + v * VL, mck_min_64(x, y));
            mck_store_64(b + v * VL, mck_max_64(x, y));
        }
    }
    const double *low = buf + (n - 1) / 2 * BLOCK, *high = buf + n / 2 * BLOCK;
    for (int i = 0; i < BLOCK; i++) out[i] = n % 2 ? high[i] : 0.5 * (low[i] + high[i]);
}

void MCK(ar_medians)(double *out, const double *rows, const int32_t *list, int64_t n, const uint16_t *network, int64_t pairs, void *work)
{
    double *buf = work;
    static const double half = 0.5;
    for (int64_t t = 0; t < TILE; t += BLOCK) {
        if (n > NETWORK_MAX) {
            for (int64_t i = 0; i < n; i++)
                for (int64_t s = 0; s < BLOCK; s++) buf[s * n + i] = rows[list[i] * TILE + t + s];
            const mck_select a = { .m = BLOCK, .n = n, .q = 1, .out = out + t, .in = buf, .prob = &half, .work = (char *)work + ar_bytes(n * BLOCK * 8) };
            MCK(select_f64)(&a);
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            const double *row = rows + list[i] * TILE + t;
            for (int v = 0; v < WIDE; v++) mck_store_64(buf + i * BLOCK + v * VL, mck_load_64(row + v * VL));
        }
        by_network(out + t, buf, n, network, pairs);
    }
}
