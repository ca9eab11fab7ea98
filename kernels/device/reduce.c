/* reduce.c - reductions: a row to one result, by the states of state.h.
 *
 * A row is cut into pieces by shape alone; a piece is one lane's (columns, short rows) or one
 * group's, whose lanes take every LANES-th element and join in a tree. With one piece the result is
 * finished at once, else `join` does it. S: operands as they lie, LOAD to T; N: the result as it is
 * computed, FINISH(s, n) makes it of a state and the number of elements; STORE to O. REFUSE:
 * nothing seen is an error. */
#include "jobs.h"
#include "index.h"
#include "state.h"

#if KIND == MCD_MOMENTS
MC_INLINE double skewness(state s, int biased)
{
    const double n = (double)s.n, m2 = s.m2 / n, v = s.m3 / n / (m2 * sqrt(m2));
    return biased ? v : v * (sqrt(n * (n - 1)) / (n - 2));
}
MC_INLINE double tailedness(state s, int biased)
{
    const double n = (double)s.n, m2 = s.m2 / n, v = s.m4 / n / (m2 * m2) - 3;
    return biased ? v : (v * (n + 1) + 6) * ((n - 1) / ((n - 2) * (n - 3)));
}
#endif

MC_INLINE int64_t row_at(int64_t row, int64_t m, int nd, const int64_t *shape,
                         const int64_t *stride)
{
    int64_t off[1];
    mcd_place1(row, m, nd, shape, stride, off);
    return off[0];
}

/* Elements first, first + step, ... before `last` of a row. */
MC_INLINE state walk(GLOBAL const S *x, state s, int64_t first, int64_t last, int64_t step,
                     const mcd_reduce *j)
{
    if (j->rd <= 1) {
        for (int64_t i = first; i < last; i += step)
            s = state_push(s, LOAD(x[i * j->rstride[0]]), i);
    } else {
        for (int64_t i = first; i < last; i += step) {
            int64_t off[1];
            mcd_place1(i, j->n, j->rd, j->rshape, j->rstride, off);
            s = state_push(s, LOAD(x[off[0]]), i);
        }
    }
    return s;
}

#define WRITE(row, s)                                                            \
    do {                                                                         \
        if (REFUSE && (s).n == 0)                                                \
            ATOMIC_MIN(AT(uint32_t, guards, j.at[3]) + j.guard,                  \
                       (uint32_t)((row) < 0xfffffffe ? (row) + 1 : 0xfffffffe)); \
        const N result = FINISH(s);                                              \
        AT(O, out, j.at[0])[row] = STORE(result);                                \
    } while (0)

/* A lane for each piece of each row; neighbours take neighbouring rows. */
KERNEL lanes(GLOBAL char *out, GLOBAL const char *in, GLOBAL char *partial, GLOBAL char *guards,
             const mcd_reduce j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.parts) {
        const int64_t part = i / j.m, row = i - part * j.m, first = part * j.step,
                      last = first + j.step < j.n ? first + j.step : j.n;
        const state s = walk(AT(const S, in, j.at[1]) + row_at(row, j.m, j.kd, j.shape, j.stride),
                             state_none(), first, last, 1, &j);
        if (j.parts > 1)
            AT(state, partial, j.at[2])[row * j.parts + part] = s;
        else
            WRITE(row, s);
    }
}

/* The states of a group's lanes into the first one. */
#define TREE(seen)                                                         \
    for (int h = LANES / 2; h > 0; h /= 2) {                               \
        BARRIER;                                                           \
        if (LANE < h) seen[LANE] = state_join(seen[LANE], seen[LANE + h]); \
    }

/* A group for each piece of each row. */
KERNEL groups(GLOBAL char *out, GLOBAL const char *in, GLOBAL char *partial, GLOBAL char *guards,
              const mcd_reduce j)
{
    MCD_GROUP_MEMORY state seen[256];
    const int64_t i = GROUP_AT(0), row = i / j.parts, part = i - row * j.parts,
                  first = part * j.step, last = first + j.step < j.n ? first + j.step : j.n;
    seen[LANE] = walk(AT(const S, in, j.at[1]) + row_at(row, j.m, j.kd, j.shape, j.stride),
                      state_none(), first + LANE, last, LANES, &j);
    TREE(seen)
    if (LANE == 0) {
        const state s = seen[0];
        if (j.parts > 1)
            AT(state, partial, j.at[2])[i] = s;
        else
            WRITE(row, s);
    }
}

/* A group for each row: its pieces. */
KERNEL join(GLOBAL char *out, GLOBAL const char *in, GLOBAL char *partial, GLOBAL char *guards,
            const mcd_reduce j)
{
    MCD_GROUP_MEMORY state seen[256];
    const int64_t row = GROUP_AT(0);
    state s = state_none();
    for (int64_t i = LANE; i < j.parts; i += LANES)
        s = state_join(s, AT(const state, partial, j.at[2])[row * j.parts + i]);
    seen[LANE] = s;
    TREE(seen)
    if (LANE == 0) {
        const state all = seen[0];
        WRITE(row, all);
    }
}
