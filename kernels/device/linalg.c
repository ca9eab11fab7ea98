/* linalg.c - factors of matrices and systems of equations, in blocks: what a block leaves over is a
 * product (matmul.c). Matrices are dense, one behind the other.
 *
 * T: dtype, R: of its real parts; SUB_MUL(d, x, y) = d - x y, DIV, CONJ, SIZE (by which pivots are
 * compared), REAL, MAKE(re) of it, ROOT. */
#include "jobs.h"
#include "index.h"
#include "meet.h"

#define A(r, c) a[(r) * j.cols + (c)]
#define REFUSED(k) MCD_REFUSE(AT(uint32_t, guards, j.at[k]) + j.guard, i)

/* Columns first .. first + width - 1 of P L U, a group for each matrix. Buffers: matrices, pivots,
 * guards. */
KERNEL lu_panel(GLOBAL char *m, GLOBAL char *pivots, GLOBAL char *guards, const mcd_linalg j)
{
    MCD_GROUP_MEMORY double best[256];
    MCD_GROUP_MEMORY int32_t at[256];
    const int64_t i = GROUP_AT(0), last = j.first + j.width;
    GLOBAL T *a = AT(T, m, j.at[0]) + i * j.rows * j.cols;
    GLOBAL int64_t *pivot = AT(int64_t, pivots, j.at[1]) + i * j.count;
    for (int64_t c = j.first; c < last; c++) {
        double most = -1;
        int64_t p = c;
        for (int64_t r = c + LANE; r < j.rows; r += LANES) {
            const double v = SIZE(A(r, c));
            const int first = r == c && v != v; /* NaN in its place stays there, as with LAPACK */
            if (v > most || first) {
                most = first ? (double)INFINITY : v;
                p = r;
            }
        }
        best[LANE] = most;
        at[LANE] = (int32_t)p;
        for (int h = LANES / 2; h > 0; h /= 2) {
            BARRIER;
            if (LANE < h && (best[LANE + h] > best[LANE] ||
                             (best[LANE + h] == best[LANE] && at[LANE + h] < at[LANE]))) {
                best[LANE] = best[LANE + h];
                at[LANE] = at[LANE + h];
            }
        }
        BARRIER;
        const int none = best[0] == 0;
        p = at[0];
        if (LANE == 0) {
            pivot[c] = p + j.base;
            if (none && j.strict) REFUSED(2);
        }
        if (p != c)
            for (int64_t k = j.first + LANE; k < last; k += LANES) {
                const T kept = A(c, k);
                A(c, k) = A(p, k);
                A(p, k) = kept;
            }
        MEET;
        for (int64_t r = c + 1 + LANE; r < j.rows && !none; r += LANES)
            A(r, c) = DIV(A(r, c), A(c, c));
        for (int64_t r = c + 1 + LANE; r < j.rows; r += LANES) {
            const T f = A(r, c);
            for (int64_t k = c + 1; k < last; k++) A(r, k) = SUB_MUL(A(r, k), f, A(c, k));
        }
        MEET;
    }
}

/* The exchanges of a panel in the other columns, and U behind it: a lane for each column. */
KERNEL lu_rows(GLOBAL char *m, GLOBAL const char *pivots, const mcd_linalg j)
{
    const int64_t lane = GLOBAL_LANE, i = lane / j.cols, c = lane - i * j.cols;
    if (i < j.n && (c < j.first || c >= j.first + j.width)) {
        GLOBAL T *a = AT(T, m, j.at[0]) + i * j.rows * j.cols;
        GLOBAL const int64_t *pivot = AT(const int64_t, pivots, j.at[1]) + i * j.count;
        for (int64_t r = j.first; r < j.first + j.width; r++) {
            const int64_t p = pivot[r] - j.base;
            const T kept = A(r, c);
            A(r, c) = A(p, c);
            A(p, c) = kept;
        }
        for (int64_t r = j.first + 1; c > j.first && r < j.first + j.width; r++) {
            T x = A(r, c);
            for (int64_t k = j.first; k < r; k++) x = SUB_MUL(x, A(r, k), A(k, c));
            A(r, c) = x;
        }
    }
}

/* Rows of right-hand sides change places, in the order of the pivots or back: a lane for each
 * column. Buffers: right-hand sides, pivots, guards. */
KERNEL exchange(GLOBAL char *m, GLOBAL const char *pivots, GLOBAL char *guards, const mcd_linalg j)
{
    const int64_t lane = GLOBAL_LANE, i = lane / j.cols, c = lane - i * j.cols;
    if (i < j.n) {
        GLOBAL T *a = AT(T, m, j.at[0]) + i * j.rows * j.cols;
        GLOBAL const int64_t *pivot = AT(const int64_t, pivots, j.at[1]) + i * j.count;
        for (int64_t s = 0; s < j.count; s++) {
            const int64_t r = j.back ? j.count - 1 - s : s, p = pivot[r] - j.base;
            if (p < 0 || p >= j.rows) {
                REFUSED(2);
            } else {
                const T kept = A(r, c);
                A(r, c) = A(p, c);
                A(p, c) = kept;
            }
        }
    }
}

/* x of a block of a triangle t, whose element (r, c) is rs r + cs c away: a lane for each column.
 * Buffers: right-hand sides, triangles, guards. */
KERNEL block(GLOBAL char *m, GLOBAL const char *triangle, GLOBAL char *guards, const mcd_linalg j)
{
    const int64_t lane = GLOBAL_LANE, i = lane / j.cols, c = lane - i * j.cols;
    if (i < j.n) {
        GLOBAL T *a = AT(T, m, j.at[0]) + i * j.rows * j.cols;
        GLOBAL const T *t = AT(const T, triangle, j.at[1]) + i * j.rows * j.rows;
        const int64_t from = j.back ? j.first + j.width - 1 : j.first, step = j.back ? -1 : 1;
        for (int64_t s = 0; s < j.width; s++) {
            const int64_t r = from + step * s;
            T x = A(r, c);
            for (int64_t q = 0; q < s; q++) {
                const T e = t[r * j.rs + (from + step * q) * j.cs];
                x = SUB_MUL(x, j.conj ? CONJ(e) : e, A(from + step * q, c));
            }
            if (!j.unit) {
                const T e = t[r * (j.rs + j.cs)];
                if (SIZE(e) == 0) REFUSED(2);
                x = DIV(x, j.conj ? CONJ(e) : e);
            }
            A(r, c) = x;
        }
    }
}

/* Columns first .. of L with a = L L^H, a group for each matrix. Buffers: matrices, guards. */
KERNEL cholesky_panel(GLOBAL char *m, GLOBAL char *guards, const mcd_linalg j)
{
    const int64_t i = GROUP_AT(0), last = j.first + j.width;
    GLOBAL T *a = AT(T, m, j.at[0]) + i * j.rows * j.cols;
    for (int64_t c = j.first; c < last; c++) {
        const R d = REAL(A(c, c)), root = ROOT(d);
        if (LANE == 0 && !(d > 0)) REFUSED(1);
        MEET;
        if (LANE == 0) A(c, c) = MAKE(root);
        for (int64_t r = c + 1 + LANE; r < j.rows; r += LANES) A(r, c) = DIV(A(r, c), MAKE(root));
        MEET;
        for (int64_t r = c + 1 + LANE; r < j.rows; r += LANES)
            for (int64_t k = c + 1; k < last && k <= r; k++)
                A(r, k) = SUB_MUL(A(r, k), A(r, c), CONJ(A(k, c)));
        MEET;
    }
}

/* Zeros above the diagonal, a lane for each element. */
KERNEL lower(GLOBAL char *m, const mcd_linalg j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n * j.rows * j.cols && i % j.cols > i / j.cols % j.rows)
        AT(T, m, j.at[0])[i] = MAKE(0);
}

/* Zeros below the diagonal, a lane for each element. */
KERNEL upper(GLOBAL char *m, const mcd_linalg j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n * j.rows * j.cols && i % j.cols < i / j.cols % j.rows)
        AT(T, m, j.at[0])[i] = MAKE(0);
}

/* Ones on the diagonal, zeros above it. */
KERNEL unit_lower(GLOBAL char *m, const mcd_linalg j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n * j.rows * j.cols && i % j.cols >= i / j.cols % j.rows)
        AT(T, m, j.at[0])[i] = MAKE(i % j.cols == i / j.cols % j.rows ? 1 : 0);
}

/* Ones on the diagonal, zeros elsewhere. */
KERNEL unit(GLOBAL char *m, const mcd_linalg j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n * j.rows * j.cols)
        AT(T, m, j.at[0])[i] = MAKE(i % j.cols == i / j.cols % j.rows ? 1 : 0);
}
