/* move.c - elements by position: take, take_along_axis, searchsorted. Positions count from `base`,
 * negative ones from the end. */
#include "jobs.h"
#include "index.h"

typedef struct pair {
    uint64_t a, b;
} pair;

#define REFUSED(i) MCD_REFUSE(AT(uint32_t, guards, j.at[4]) + j.guard, (i))

#define MOVE(T) AT(T, out, j.at[0])[to] = AT(const T, x, j.at[1])[from]
#define MOVE_ANY                   \
    switch (j.bytes) {             \
    case 1: MOVE(uint8_t); break;  \
    case 2: MOVE(uint16_t); break; \
    case 4: MOVE(uint32_t); break; \
    case 8: MOVE(uint64_t); break; \
    default: MOVE(pair); break;    \
    }

/* out[a][i][c] = x[a][index[i]][c] for a, i < count, c < width; x [][size][width],
 * all contiguous. */
KERNEL take(GLOBAL char *out, GLOBAL const char *x, GLOBAL const char *index, GLOBAL char *unused,
            GLOBAL char *guards, const mcd_move j)
{
    const int64_t to = GLOBAL_LANE;
    if (to < j.n) {
        const int64_t row = to / j.width, c = to - row * j.width, a = row / j.count,
                      i = row - a * j.count;
        const int64_t at = mcd_place(AT(const int64_t, index, j.at[2])[i], j.base, j.size);
        if (at < 0) {
            REFUSED(i);
        } else {
            const int64_t from = (a * j.size + at) * j.width + c;
            MOVE_ANY
        }
    }
}

/* Where position index[i] along an axis leads, from the place of i without it (before the first
 * element where strides are negative), into *to; 0 outside. */
MC_INLINE int led_to(const int64_t i, GLOBAL const int64_t *index, const mcd_move *j, int64_t *to)
{
    const int64_t at = mcd_place(index[i], j->base, j->size);
    mcd_place1(i, j->n, j->nd, j->shape, j->stride[0], to);
    *to += at * j->width;
    return at >= 0;
}

/* out[i] = x[...index[i]...] along an axis: stride[0] those of x without the axis, size and width
 * its size and stride in x; index like out. */
KERNEL along(GLOBAL char *out, GLOBAL const char *x, GLOBAL const char *index, GLOBAL char *unused,
             GLOBAL char *guards, const mcd_move j)
{
    const int64_t to = GLOBAL_LANE;
    if (to < j.n) {
        int64_t from;
        if (!led_to(to, AT(const int64_t, index, j.at[2]), &j, &from)) {
            REFUSED(to);
        } else {
            MOVE_ANY
        }
    }
}

KERNEL clear(GLOBAL char *out, GLOBAL const char *x, GLOBAL const char *index, GLOBAL char *unused,
             GLOBAL char *guards, const mcd_move j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) AT(uint32_t, out, j.at[0])[i] = 0;
}

/* The winner of each place: the last write to it. out: [rows * size] of 32 bits, zero before. */
KERNEL claim(GLOBAL char *out, GLOBAL const char *x, GLOBAL const char *index, GLOBAL char *unused,
             GLOBAL char *guards, const mcd_move j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        int64_t to;
        if (!led_to(i, AT(const int64_t, index, j.at[2]), &j, &to))
            REFUSED(i);
        else
            ATOMIC_MAX(AT(uint32_t, out, j.at[0]) + to, (uint32_t)i + 1);
    }
}

/* out[i] = values[w - 1] where w = index[i], of 32 bits, is not 0; else it stays. */
KERNEL settle(GLOBAL char *out, GLOBAL const char *x, GLOBAL const char *index, GLOBAL char *unused,
              GLOBAL char *guards, const mcd_move j)
{
    const int64_t to = GLOBAL_LANE;
    if (to < j.n) {
        const int64_t from = (int64_t)AT(const uint32_t, index, j.at[2])[to] - 1;
        if (from >= 0) {
            MOVE_ANY
        }
    }
}

/* out[i] = values[...w - 1...] where w of the place of i along an axis, from claim, is not 0;
 * else it stays. stride: of out, of the places, of values but along the axis, where it is
 * `width`. */
KERNEL land(GLOBAL char *out, GLOBAL const char *x, GLOBAL const char *index, GLOBAL char *unused,
            GLOBAL char *guards, const mcd_move j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        int64_t off[3];
        mcd_place3(i, j.n, j.nd, j.shape, j.stride[0], off);
        const int64_t w = (int64_t)AT(const uint32_t, index, j.at[2])[off[1]] - 1;
        if (w >= 0) {
            const int64_t to = off[0], from = off[2] + w * j.width;
            MOVE_ANY
        }
    }
}

#if defined(KEY)
/* How many of a sorted row stand before each value. size: of a row, width: values of a row (0: one
 * row for all), axis 1: behind equal ones. */
KERNEL search(GLOBAL char *out, GLOBAL const char *x, GLOBAL const char *values,
              GLOBAL char *unused, GLOBAL char *guards, const mcd_move j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        GLOBAL const KEY *row = AT(const KEY, x, j.at[1]) + (j.width ? i / j.width * j.size : 0);
        const KEY y = AT(const KEY, values, j.at[2])[i];
        int64_t lo = 0, hi = j.size;
        while (lo < hi) {
            const int64_t mid = lo + (hi - lo) / 2;
            const KEY v = row[mid];
            const int below = j.axis ? (v <= y || y != y) : (v < y || (y != y && v == v));
            if (below)
                lo = mid + 1;
            else
                hi = mid;
        }
        AT(int64_t, out, j.at[0])[i] = lo + j.base;
    }
}
#endif
