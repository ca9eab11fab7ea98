/* segment.c - values joined at places: segments, scatters. Rows of places are sorted (sort.c),
 * equal ones by their position, so that each place takes its values in their order, without
 * atomics.
 *
 * T: dtype of the arithmetic, JOIN(a, b) of two values, DIVIDE(v, n) by a count, NUMBER of the
 * job's number. */
#include "jobs.h"
#include "index.h"
#include "pairs.h"

#if defined(KEYS)

/* Buffers: pairs, places, guards. */
KERNEL keys(GLOBAL char *pairs, GLOBAL const char *index, GLOBAL char *guards, const mcd_segment j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.pad) {
        int64_t row, e;
        pair p = pair_behind(i, j.pad, &row, &e);
        if (e < j.k) {
            const int64_t v = AT(const int64_t, index, j.at[1])[row * j.k + e],
                          at = v < 0 && !j.self ? -1 : mcd_place(v, j.base, j.places);
            if (at < 0)
                MCD_REFUSE(AT(uint32_t, guards, j.at[2]) + j.guard, row * j.k + e);
            else
                p.key = (uint64_t)at;
        }
        AT(pair, pairs, j.at[0])[i] = p;
    }
}

#else

/* Pairs of a sorted row whose key is below `key`. */
MC_INLINE int64_t before(GLOBAL const pair *p, const int64_t n, const uint64_t key)
{
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (p[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A lane for each place and column. Buffers: out, pairs, values, x. self: 0 joins values alone, 1
 * those of x first, 2 where there are none x stays. */
KERNEL lanes(GLOBAL char *out, GLOBAL const char *pairs, GLOBAL const char *values,
             GLOBAL const char *x, const mcd_segment j)
{
    const int64_t i = GLOBAL_LANE, wide = j.places * j.columns;
    if (i < j.m * wide) {
        const int64_t row = i / wide, rest = i - row * wide, place = rest / j.columns,
                      column = rest - place * j.columns;
        GLOBAL const pair *p = AT(const pair, pairs, j.at[1]) + row * j.pad;
        GLOBAL const T *v = AT(const T, values, j.at[2]) + row * j.k * j.columns + column;
        const int64_t first = before(p, j.k, (uint64_t)place),
                      last = before(p, j.k, (uint64_t)place + 1);
        T all = j.self == 1 ? AT(const T, x, j.at[3])[i] : NUMBER(j.num);
        for (int64_t e = first; e < last; e++) all = JOIN(all, v[p[e].at * j.columns]);
        if (j.self == 2 && first == last) all = AT(const T, x, j.at[3])[i];
        const int64_t count = last - first + (j.self == 1);
        if (j.mean && !(j.self == 2 && first == last)) all = DIVIDE(all, (double)count);
        AT(T, out, j.at[0])[i] = all;
    }
}

/* A group for each place and column: its lanes take every LANES-th value and join in a tree. */
KERNEL groups(GLOBAL char *out, GLOBAL const char *pairs, GLOBAL const char *values,
              GLOBAL const char *x, const mcd_segment j)
{
    MCD_GROUP_MEMORY T seen[256];
    const int64_t i = GROUP_AT(0), wide = j.places * j.columns, row = i / wide,
                  rest = i - row * wide, place = rest / j.columns,
                  column = rest - place * j.columns;
    GLOBAL const pair *p = AT(const pair, pairs, j.at[1]) + row * j.pad;
    GLOBAL const T *v = AT(const T, values, j.at[2]) + row * j.k * j.columns + column;
    const int64_t first = before(p, j.k, (uint64_t)place),
                  last = before(p, j.k, (uint64_t)place + 1);
    T all = NUMBER(j.num);
    for (int64_t e = first + LANE; e < last; e += LANES) all = JOIN(all, v[p[e].at * j.columns]);
    seen[LANE] = all;
    for (int h = LANES / 2; h > 0; h /= 2) {
        BARRIER;
        if (LANE < h) seen[LANE] = JOIN(seen[LANE], seen[LANE + h]);
    }
    if (LANE == 0) {
        all = seen[0];
        if (j.mean) all = DIVIDE(all, (double)(last - first));
        AT(T, out, j.at[0])[i] = all;
    }
}

#endif
