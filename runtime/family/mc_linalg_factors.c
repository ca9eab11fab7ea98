/* mc_linalg_factors.c - methods of factorisations by elimination and reflection: Cholesky, LDL, QR
 * with and without pivoting, Hessenberg. */
#include "family/mc_linalg.h"

#include <string.h>

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Rows of the upper trapezium (from `below` diagonals under the main one) of a column-major copy
 * into a result by rows. */
static void upper_rows(const char *a, int64_t ld, char *out, int64_t rows, int64_t cols,
                       int64_t below, int64_t size)
{
    memset(out, 0, (size_t)(rows * cols * size));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = r > below ? r - below : 0; c < cols; c++)
            memcpy(out + (r * cols + c) * size, a + (c * ld + r) * size, (size_t)size);
}

/* ---- Cholesky: i[1] upper. The memory of a lower factor by rows is an upper factor by columns.
 * ---- */

static int cholesky_one(const mci_linalg *j, mci_problem *q)
{
    int64_t n = j->in[0].rows, size = MCI_SIZE(j->dtype);
    int upper = j->p->i[1] != 0,
        info = j->lapack->potrf(j->type, upper ? 'L' : 'U', (int)n, q->in[0], mci_ld(n));
    char *a = q->in[0];
    for (int64_t r = 0; r < n; r++) {
        double d[2];
        mci_linalg_get(j->type, a, r * n + r, d);
        if (!(d[0] > 0) && !info) /* NaN passes through the routine */
            info = 1;
        int64_t first = upper ? 0 : r + 1, count = upper ? r : n - r - 1;
        memset(a + (r * n + first) * size, 0, (size_t)(count * size));
    }
    return info > 0 ? MCI_NOT_DEFINITE : info ? MCI_REFUSED : MCI_FINE;
}

int mci_method_cholesky(mci_linalg *j)
{
    int rc = mci_linalg_square(j, 0);
    if (rc)
        return rc;
    int64_t n = j->in[0].rows;
    j->in[0].as_is = 1;
    j->in[0].into = 0;
    mci_linalg_result(j, 0, 2, j->dtype, n, n, MCI_PLACE);
    j->cost = n * n * n / 3;
    j->solve = cholesky_one;
    j->small = MCK_K_SMALL_CHOLESKY;
    j->small_reason = MCI_NOT_DEFINITE;
    return MC_OK;
}

/* ---- LDL: i[1] hermitian. Results L, block-diagonal D, the order P of the rows of L in which it
 * is unit lower triangular ---- */

/* Step k exchanged rows i and other of what was left: earlier columns of L follow now. */
static void exchange_rows(char *a, int64_t ld, int64_t cols, int64_t i, int64_t other, int64_t size)
{
    char keep[16];
    for (int64_t c = 0; c < cols && i != other; c++) {
        char *x = a + (c * ld + i) * size, *y = a + (c * ld + other) * size;
        memcpy(keep, x, (size_t)size);
        memcpy(x, y, (size_t)size);
        memcpy(y, keep, (size_t)size);
    }
}

static int ldl_one(const mci_linalg *j, mci_problem *q)
{
    int n = (int)j->in[0].rows, ld = mci_ld(n), hermitian = j->p->i[1] != 0,
        *ipiv = (int *)(void *)q->extra;
    int64_t size = MCI_SIZE(j->dtype), *order = q->out[2], bytes = (int64_t)n * n * size;
    char *a = q->in[0], *l = q->out[0], *d = q->out[1];
    if (j->lapack->hetrf(j->type, hermitian, 'L', n, a, ld, ipiv, &q->w) < 0)
        return MCI_REFUSED;
    memset(d, 0, (size_t)bytes);
    memset(l, 0, (size_t)bytes);
    for (int k = 0; k < n; k++)
        order[k] = k;
    for (int k = 0, pair; k < n; k += 1 + pair) {
        pair = ipiv[k] < 0;
        int i = k + pair, other = (pair ? -ipiv[k] : ipiv[k]) - 1;
        int64_t keep = order[i];
        order[i] = order[other];
        order[other] = keep;
        exchange_rows(a, ld, k, i, other, size);
        double z[2];
        for (int m = k; m <= i; m++) {
            mci_linalg_get(j->type, a, (int64_t)m * ld + m, z);
            if (hermitian)
                z[1] = 0;
            mci_linalg_set(j->type, d, (int64_t)m * n + m, z);
        }
        if (pair) {
            mci_linalg_get(j->type, a, (int64_t)k * ld + k + 1, z);
            mci_linalg_set(j->type, d, ((int64_t)k + 1) * n + k, z);
            z[1] = hermitian ? -z[1] : z[1];
            mci_linalg_set(j->type, d, (int64_t)k * n + k + 1, z);
            memset(a + ((int64_t)k * ld + k + 1) * size, 0, (size_t)size);
        }
    }
    static const double one[2] = {1, 0};
    for (int64_t r = 0; r < n; r++) {
        char *row = l + order[r] * n * size;
        for (int64_t c = 0; c < r; c++)
            memcpy(row + c * size, a + (c * ld + r) * size, (size_t)size);
        mci_linalg_set(j->type, row, r, one);
        order[r] += j->p->base;
    }
    return MCI_FINE;
}

int mci_method_ldl(mci_linalg *j)
{
    int rc = mci_linalg_square(j, 0);
    if (rc)
        return rc;
    int n = (int)j->in[0].rows, unused = 0;
    mci_linalg_result(j, 0, 2, j->dtype, n, n, MCI_PLACE);
    mci_linalg_result(j, 1, 2, j->dtype, n, n, MCI_PLACE);
    mci_linalg_result(j, 2, 1, MC_I64, n, 1, MCI_PLACE);
    mci_linalg_extra(j, n, (int64_t)sizeof(int));
    j->w.lwork = -1;
    j->lapack->hetrf(j->type, j->p->i[1] != 0, 'L', n, NULL, mci_ld(n), &unused, &j->w);
    j->finite = 1;
    j->cost = (int64_t)n * n * n / 3;
    j->solve = ldl_one;
    return MC_OK;
}

/* ---- QR: i[1] mode (reduced, complete, r), i[2] pivoting. Results Q (not for mode r), R, then the
 * order of the columns ---- */

/* Work area of the op: coefficients of the reflectors, then the order of the columns. */
static int64_t order_at(const mci_linalg *j)
{
    return (least(j->in[0].rows, j->in[0].cols) * MCI_SIZE(j->dtype) + 63) & ~(int64_t)63;
}

static int qr_one(const mci_linalg *j, mci_problem *q)
{
    int m = (int)j->in[0].rows, n = (int)j->in[0].cols, k = m < n ? m : n, ld = mci_ld(m),
        pivoting = j->p->i[2] != 0, info;
    int at = j->p->i[1] != 2, rows = (int)j->out[at].rows,
        *jpvt = (int *)(void *)(q->extra + order_at(j));
    void *tau = q->extra;
    if (pivoting) {
        memset(jpvt, 0, (size_t)n * sizeof *jpvt);
        info = j->lapack->geqp3(j->type, m, n, q->in[0], ld, jpvt, tau, &q->w);
        int64_t *order = q->out[j->nout - 1];
        for (int i = 0; i < n; i++)
            order[i] = m > 0 ? jpvt[i] - 1 + j->p->base : i + j->p->base;
    } else {
        info = j->lapack->geqrf(j->type, m, n, q->in[0], ld, tau, &q->w);
    }
    upper_rows(q->in[0], ld, q->out[at], rows, n, 0, MCI_SIZE(j->dtype));
    if (at == 1 && !info && m > 0)
        info = j->lapack->ungqr(j->type, m, rows, k, q->in[0], ld, tau, &q->w);
    return info ? MCI_REFUSED : MCI_FINE;
}

int mci_method_qr(mci_linalg *j)
{
    int64_t m = j->in[0].rows, n = j->in[0].cols, k = least(m, n);
    int mode = (int)j->p->i[1], pivoting = j->p->i[2] != 0, unused = 0;
    int64_t rows = mode == 1 ? m : k;
    if (j->nout != (mode != 2) + 1 + pivoting)
        return mci_linalg_wrong(
            j, MC_EINVAL, "the number of results does not fit the mode",
            "Q unless the mode is r, R, then the order of the columns with pivoting");
    mci_linalg_result(j, mode != 2, 2, j->dtype, rows, n, MCI_PLACE);
    if (mode != 2)
        mci_linalg_result(j, 0, 2, j->dtype, m, rows, 0);
    if (pivoting)
        mci_linalg_result(j, j->nout - 1, 1, MC_I64, n, 1, MCI_PLACE);
    if (mode == 1) /* all of Q is made where a was */
        j->in[0].elements = m * m;
    mci_linalg_extra(j, k, MCI_SIZE(j->dtype));
    mci_linalg_extra(j, n, (int64_t)sizeof(int));
    mc_lapack_work wq = {.lwork = -1};
    j->w.lwork = -1;
    if (pivoting)
        j->lapack->geqp3(j->type, (int)m, (int)n, NULL, mci_ld(m), &unused, NULL, &j->w);
    else
        j->lapack->geqrf(j->type, (int)m, (int)n, NULL, mci_ld(m), NULL, &j->w);
    if (mode != 2) {
        j->lapack->ungqr(j->type, (int)m, (int)rows, (int)k, NULL, mci_ld(m), NULL, &wq);
        if (wq.lwork > j->w.lwork)
            j->w.lwork = wq.lwork;
    }
    j->finite = pivoting; /* norms that are NaN lead the choice of columns outside the matrix */
    j->cost = 4 * m * n * k;
    j->solve = qr_one;
    return MC_OK;
}

/* ---- Hessenberg: a = Q H Q^H; results H, Q ---- */

static int hessenberg_one(const mci_linalg *j, mci_problem *q)
{
    int n = (int)j->in[0].rows, ld = mci_ld(n);
    int info = j->lapack->gehrd(j->type, n, 1, n, q->in[0], ld, q->extra, &q->w);
    upper_rows(q->in[0], ld, q->out[0], n, n, 1, MCI_SIZE(j->dtype));
    if (!info)
        info = j->lapack->unghr(j->type, n, 1, n, q->in[0], ld, q->extra, &q->w);
    return info ? MCI_REFUSED : MCI_FINE;
}

int mci_method_hessenberg(mci_linalg *j)
{
    int rc = mci_linalg_square(j, 0);
    if (rc)
        return rc;
    int n = (int)j->in[0].rows;
    mc_lapack_work wq = {.lwork = -1};
    mci_linalg_result(j, 0, 2, j->dtype, n, n, MCI_PLACE);
    mci_linalg_result(j, 1, 2, j->dtype, n, n, 0);
    mci_linalg_extra(j, n, MCI_SIZE(j->dtype));
    j->w.lwork = -1;
    j->lapack->gehrd(j->type, n, 1, n, NULL, mci_ld(n), NULL, &j->w);
    j->lapack->unghr(j->type, n, 1, n, NULL, mci_ld(n), NULL, &wq);
    if (wq.lwork > j->w.lwork)
        j->w.lwork = wq.lwork;
    j->cost = 14 * (int64_t)n * n * n / 3;
    j->solve = hessenberg_one;
    return MC_OK;
}
