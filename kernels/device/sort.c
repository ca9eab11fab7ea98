/* sort.c - orders rows: 64-bit keys with the positions of their elements, a bitonic network over
 * rows padded to a power of two. Equal keys go by position, so the order is stable and the same
 * everywhere. S, T, LOAD as in reduce.c; REAL: T is a floating type. NaN is the largest key,
 * padding lies behind it by its position. */
#include "jobs.h"
#include "pairs.h"

#define TILE 512 /* elements that a group sorts in its memory */

#define BEHIND(a, b) ((a).key > (b).key || ((a).key == (b).key && (a).at > (b).at))

#if defined(KEYS)

#if REAL
MC_INLINE uint64_t key_of(const T x, const mcd_sort *j)
{
    const double v = j->positions && x == 0 ? 0.0 : (double)x;
    const uint64_t bits = mck_bits_f64(v), sign = (uint64_t)1 << 63,
                   key = bits & sign ? ~bits : bits | sign;
    return v != v ? ~(uint64_t)0 : j->descending ? ~key : key;
}
#else
MC_INLINE uint64_t key_of(const T x, const mcd_sort *j)
{
    const uint64_t key = (uint64_t)(int64_t)x ^ (uint64_t)1 << 63;
    return j->descending ? ~key : key;
}
#endif

/* Buffers: pairs, in. */
KERNEL keys(GLOBAL char *pairs, GLOBAL const char *in, const mcd_sort j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.pad) {
        int64_t row, e;
        pair p = pair_behind(i, j.pad, &row, &e);
        if (e < j.n) p.key = key_of(LOAD(AT(const S, in, j.at[1])[row * j.n + e]), &j);
        AT(pair, pairs, j.at[0])[i] = p;
    }
}

/* Sorted rows to results. Buffers: out, pairs, in. */
KERNEL values(GLOBAL char *out, GLOBAL const char *pairs, GLOBAL const char *in, const mcd_sort j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.q) {
        const int64_t row = i / j.q, at = AT(const pair, pairs, j.at[1])[row * j.pad + i % j.q].at;
        T v = LOAD(AT(const S, in, j.at[2])[row * j.n + at]);
#if REAL
        if (v != v) v = (T)NAN;
#endif
        AT(O, out, j.at[0])[i] = STORE(v);
    }
}

#if REAL
/* Quantiles of sorted rows: a lane for each row and probability. Results are [m][q], or [q][m]. */
KERNEL quantiles(GLOBAL char *out, GLOBAL const char *pairs, GLOBAL const char *in,
                 const mcd_sort j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.q) {
        const int64_t k = i / j.m, row = i - k * j.m;
        GLOBAL const pair *p = AT(const pair, pairs, j.at[1]) + row * j.pad;
        GLOBAL const S *x = AT(const S, in, j.at[2]) + row * j.n;
        int64_t kept = 0, end = j.n; /* elements before the first NaN */
        while (kept < end) {
            const int64_t middle = kept + (end - kept) / 2;
            if (p[middle].key == ~(uint64_t)0)
                end = middle;
            else
                kept = middle + 1;
        }
        T v = (T)NAN;
        if (kept > 0 && (kept == j.n || j.skip)) {
            const mck_position at =
                mck_quantile_position(j.median ? 0.5 : j.prob[k], kept, j.method);
            v = (T)mck_quantile_between((double)LOAD(x[p[at.low].at]),
                                        (double)LOAD(x[p[at.high].at]), at.weight);
        }
        AT(O, out, j.at[0])[i] = STORE(v);
    }
}
#endif

#else

/* Elements of a row that are `reach` apart, in the direction of their block of `span`. */
KERNEL exchange(GLOBAL char *pairs, const mcd_sort j)
{
    const int64_t i = GLOBAL_LANE, half = j.pad / 2;
    if (i < j.m * half) {
        const int64_t row = i / half, t = i - row * half, low = t % j.reach,
                      e = (t - low) * 2 + low;
        GLOBAL pair *p = AT(pair, pairs, j.at[0]) + row * j.pad;
        const pair a = p[e], b = p[e + j.reach];
        const int up = (e & j.span) == 0;
        if (up ? BEHIND(a, b) : BEHIND(b, a)) {
            p[e] = b;
            p[e + j.reach] = a;
        }
    }
}

/* A group for each tile: sorts it (span 0), or does what is left of a span within tiles. */
KERNEL tile(GLOBAL char *pairs, const mcd_sort j)
{
    MCD_GROUP_MEMORY uint64_t key[TILE];
    MCD_GROUP_MEMORY int64_t from[TILE];
    const int64_t size = j.pad < TILE ? j.pad : TILE, first = GROUP_AT(0) * size,
                  e0 = first % j.pad;
    GLOBAL pair *p = AT(pair, pairs, j.at[0]) + first;
    for (int i = LANE; i < size; i += LANES) {
        key[i] = p[i].key;
        from[i] = p[i].at;
    }
    for (int64_t span = j.span ? j.span : 2; span <= (j.span ? j.span : size); span *= 2)
        for (int reach = (int)(span / 2 < size / 2 ? span / 2 : size / 2); reach > 0; reach /= 2) {
            BARRIER;
            for (int t = LANE; t < size / 2; t += LANES) {
                const int low = t % reach, e = (t - low) * 2 + low;
                pair a, b;
                a.key = key[e];
                a.at = from[e];
                b.key = key[e + reach];
                b.at = from[e + reach];
                const int up = ((e0 + e) & span) == 0;
                if (up ? BEHIND(a, b) : BEHIND(b, a)) {
                    key[e] = b.key;
                    from[e] = b.at;
                    key[e + reach] = a.key;
                    from[e + reach] = a.at;
                }
            }
        }
    BARRIER;
    for (int i = LANE; i < size; i += LANES) {
        p[i].key = key[i];
        p[i].at = from[i];
    }
}

/* From the order of a row back to its elements: what is before the one at place kth, like it,
 * behind it (top: only its place counts), each in the order of the row. Buffers: pairs, new
 * ones. */
KERNEL classes(GLOBAL const char *pairs, GLOBAL char *fresh, const mcd_sort j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.pad) {
        const int64_t row = i / j.pad, rank = i - row * j.pad;
        GLOBAL const pair *sorted = AT(const pair, pairs, j.at[0]) + row * j.pad;
        const int64_t at = sorted[rank].at;
        const uint64_t key = sorted[rank].key, edge = sorted[j.kth].key;
        const int behind = j.top ? rank > j.kth : key > edge, like = !j.top && key == edge;
        pair p;
        p.key = rank >= j.n ? ~(uint64_t)0 : behind ? 2 : like ? 1 : 0;
        p.at = at;
        AT(pair, fresh, j.at[1])[row * j.pad + at] = p;
    }
}

/* Buffers: out, pairs. */
KERNEL positions(GLOBAL char *out, GLOBAL const char *pairs, const mcd_sort j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.q) {
        const int64_t row = i / j.q;
        AT(int64_t, out, j.at[0])
        [i] = AT(const pair, pairs, j.at[1])[row * j.pad + i % j.q].at + j.base;
    }
}

#endif
