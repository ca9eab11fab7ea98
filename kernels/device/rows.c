/* rows.c - ops along contiguous rows of n, m of them, a group for each: softmax, scans. S, T, LOAD,
 * STORE as in reduce.c, results as O. */
#include "jobs.h"
#include "state.h"

#if defined(SOFTMAX)

/* kind 1: the logarithm. */
KERNEL softmax(GLOBAL char *out, GLOBAL const char *in, const mcd_rows j)
{
    MCD_GROUP_MEMORY state seen[256];
    const int64_t row = GROUP_AT(0);
    GLOBAL const S *x = AT(const S, in, j.at[1]) + row * j.n;
    state s = state_none();
    for (int64_t i = LANE; i < j.n; i += LANES) s = state_push(s, LOAD(x[i]), i);
    seen[LANE] = s;
    for (int h = LANES / 2; h > 0; h /= 2) {
        BARRIER;
        if (LANE < h) seen[LANE] = state_join(seen[LANE], seen[LANE + h]);
    }
    BARRIER;
    s = seen[0];
    const int none = s.v - s.v != 0; /* no finite largest: NaN, but what +inf leaves behind */
    const double low = mck_log_f64(s.sum), share = 1 / s.sum;
    for (int64_t i = LANE; i < j.n; i += LANES) {
        const double v = (double)LOAD(x[i]), d = v - s.v;
        const T y = (T)(none && j.kind && d < 0 ? d
                        : none                  ? MCK_NAN_F64
                        : j.kind                ? d - low
                                                : mck_exp_f64(d) * share);
        AT(O, out, j.at[0])[row * j.n + i] = STORE(y);
    }
}

#else

/* Tiles of LANES elements; what came before is carried along. flag: from the end. */
KERNEL scan(GLOBAL char *out, GLOBAL const char *in, const mcd_rows j)
{
    MCD_GROUP_MEMORY state seen[256];
    const int64_t row = GROUP_AT(0);
    GLOBAL const S *x = AT(const S, in, j.at[1]) + row * j.n;
    state before = state_none();
    for (int64_t first = 0; first < j.n; first += LANES) {
        const int64_t i = first + LANE, at = j.flag ? j.n - 1 - i : i;
        state s = state_none();
        if (i < j.n) s = state_push(s, LOAD(x[at]), i);
        seen[LANE] = s;
        BARRIER;
        for (int h = 1; h < LANES; h *= 2) {
            state left = state_none();
            if (LANE >= h) left = seen[LANE - h];
            BARRIER;
            if (LANE >= h) seen[LANE] = state_join(left, seen[LANE]);
            BARRIER;
        }
        const state mine = state_join(before, seen[LANE]);
        before = state_join(before, seen[LANES - 1]);
        if (i < j.n) {
            const N result = FINISH(mine);
            AT(O, out, j.at[0])[row * j.n + at] = STORE(result);
        }
        BARRIER;
    }
}

#endif
