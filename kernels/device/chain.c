/* chain.c - what runs along an axis one element after the other: linear recurrences, tridiagonal
 * systems. A lane for each row or column. */
#include "jobs.h"

#if defined(RECURRENCE)

/* out[i] = a[i] out[i - 1] + b[i], out[-1] = 0; rows of n, from the end where flag is set. T:
 * dtype, STEP(a, y, b). Buffers: out, a, b. */
KERNEL recurrence(GLOBAL char *out, GLOBAL const char *a, GLOBAL const char *b, const mcd_rows j)
{
    const int64_t row = GLOBAL_LANE;
    if (row < j.m) {
        GLOBAL const T *x = AT(const T, a, j.at[1]) + row * j.n;
        GLOBAL const T *z = AT(const T, b, j.at[2]) + row * j.n;
        GLOBAL T *y = AT(T, out, j.at[0]) + row * j.n;
        T last = z[j.flag ? j.n - 1 : 0];
        y[j.flag ? j.n - 1 : 0] = last;
        for (int64_t i = 1; i < j.n; i++) {
            const int64_t at = j.flag ? j.n - 1 - i : i;
            last = STEP(x[at], last, z[at]);
            y[at] = last;
        }
    }
}

#else

#include "index.h"

/* Elimination without exchange of rows: factors [2][n], the pivot of each equation and upper /
 * pivot. One lane. Buffers: factors, bands [3][n], guards. */
KERNEL pivots(GLOBAL char *factors, GLOBAL const char *bands, GLOBAL char *guards, const mcd_rows j)
{
    if (GLOBAL_LANE == 0) {
        GLOBAL const double *lower = AT(const double, bands, j.at[1]);
        GLOBAL double *pivot = AT(double, factors, j.at[0]);
        double ratio = 0;
        for (int64_t i = 0; i < j.n; i++) {
            const double d = i ? lower[j.n + i] - lower[i] * ratio : lower[j.n];
            if (d == 0) MCD_REFUSE(AT(uint32_t, guards, j.at[2]) + j.guard, i);
            ratio = i + 1 < j.n ? lower[2 * j.n + i] / d : 0;
            pivot[i] = d;
            pivot[j.n + i] = ratio;
        }
    }
}

/* Columns of right sides: forward elimination, then back substitution. Buffers: out [n][m], bands,
 * factors, right sides [n][m]. */
KERNEL columns(GLOBAL char *out, GLOBAL const char *bands, GLOBAL const char *factors,
               GLOBAL const char *rhs, const mcd_rows j)
{
    const int64_t c = GLOBAL_LANE;
    if (c < j.m) {
        OPERAND(double, lower, bands, 1);
        OPERAND(double, pivot, factors, 2);
        OPERAND(double, b, rhs, 3) + c;
        GLOBAL double *y = AT(double, out, j.at[0]) + c;
        double last = 0;
        for (int64_t i = 0; i < j.n; i++) {
            last = (i ? b[i * j.m] - lower[i] * last : b[0]) / pivot[i];
            y[i * j.m] = last;
        }
        for (int64_t i = j.n - 2; i >= 0; i--) {
            last = y[i * j.m] - pivot[j.n + i] * last;
            y[i * j.m] = last;
        }
    }
}

#endif
