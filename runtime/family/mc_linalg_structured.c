/* mc_linalg_structured.c - methods of systems with structure: banded matrices through LAPACK,
 * Toeplitz matrices by Levinson's recursion.
 *
 * Bands are loaded so that a column of ab is a column of LAPACK's band storage; a tridiagonal
 * matrix as it is, its three rows being what gtsv takes. Toeplitz systems are solved in f64 or
 * c128 whatever the dtype. */
#include "family/mc_linalg.h"
#include "../../kernels/mck_levinson.h"

#include <math.h>
#include <string.h>

/* ---- bands: i[1] diagonals below the main one, i[2] above ---- */

static int tridiagonal_one(const mci_linalg *j, mci_problem *q)
{
    int n = (int)j->in[0].cols;
    char *ab = q->in[0];
    int64_t size = MCI_SIZE(j->dtype);
    if (n == 0)
        return MCI_FINE;
    int info = j->lapack->gtsv(j->type, n, (int)j->in[1].cols, ab + 2 * n * size, ab + n * size,
                               ab + size, q->in[1], mci_ld(n));
    return info > 0 ? MCI_SINGULAR : info ? MCI_REFUSED : MCI_FINE;
}

/* Room for what the exchange of rows fills in lies above the band: ab moves down by `lower`
 * rows. */
static int banded_one(const mci_linalg *j, mci_problem *q)
{
    int n = (int)j->in[0].cols, lower = (int)j->p->i[1], upper = (int)j->p->i[2],
        rows = lower + upper + 1, ld = rows + lower;
    int *ipiv = (int *)(void *)q->extra;
    size_t size = (size_t)MCI_SIZE(j->dtype);
    char *full = q->extra + (((size_t)n * sizeof(int) + 63) & ~(size_t)63);
    memset(full, 0, (size_t)ld * (size_t)n * size);
    for (int c = 0; c < n; c++)
        memcpy(full + ((size_t)c * (size_t)ld + (size_t)lower) * size,
               (char *)q->in[0] + (size_t)c * (size_t)j->in[0].ld * size, (size_t)rows * size);
    int info = j->lapack->gbsv(j->type, n, lower, upper, (int)j->in[1].cols, full, ld, ipiv,
                               q->in[1], mci_ld(n));
    return info > 0 ? MCI_SINGULAR : info ? MCI_REFUSED : MCI_FINE;
}

int mci_method_banded(mci_linalg *j)
{
    int64_t lower = j->p->i[1], upper = j->p->i[2], n = j->in[0].cols;
    if (lower < 0 || upper < 0 || lower + upper + 1 != j->in[0].rows)
        return mci_linalg_wrong(j, MC_ESHAPE, "the rows of ab are not lower + upper + 1",
                                "lower and upper count the diagonals beside the main one");
    int rc = mci_linalg_right_hand_side(j, 1, n, n);
    if (rc)
        return rc;
    j->finite = 1;
    if (lower == 1 && upper == 1) {
        j->in[0].as_is = 1;
        j->cost = 10 * n * (1 + j->in[1].cols);
        j->solve = tridiagonal_one;
        return MC_OK;
    }
    mci_linalg_extra(j, n, (int64_t)sizeof(int));
    mci_linalg_extra(j, (2 * lower + upper + 1) * n, MCI_SIZE(j->dtype));
    j->cost =
        2 * n * (lower + 1) * (lower + upper + 1) + 2 * n * (2 * lower + upper + 1) * j->in[1].cols;
    j->solve = banded_one;
    return MC_OK;
}

/* i[1]: ab holds the diagonals on and below the main one */
static int bandedh_one(const mci_linalg *j, mci_problem *q)
{
    int n = (int)j->in[0].cols, rows = (int)j->in[0].rows;
    int info = j->lapack->pbsv(j->type, j->p->i[1] ? 'L' : 'U', n, rows - 1, (int)j->in[1].cols,
                               q->in[0], (int)j->in[0].ld, q->in[1], mci_ld(n));
    return info > 0 ? MCI_NOT_DEFINITE : info ? MCI_REFUSED : MCI_FINE;
}

int mci_method_bandedh(mci_linalg *j)
{
    int64_t n = j->in[0].cols, rows = j->in[0].rows;
    if (rows < 1)
        return mci_linalg_wrong(j, MC_ESHAPE, "ab has no rows", "its rows are the diagonals");
    int rc = mci_linalg_right_hand_side(j, 1, n, n);
    j->finite = 1;
    j->cost = n * rows * rows + 4 * n * rows * j->in[1].cols;
    j->solve = bandedh_one;
    return rc;
}

/* ---- Toeplitz: operands c (first column), r (first row, whose first element is not read), b
 * ---- */

static int levinson_one(const mci_linalg *j, mci_problem *q)
{
    int64_t n = j->in[0].rows, k = j->in[2].cols, status = 0;
    int complex = mci_is_complex(j), parts = complex ? 2 : 1;
    double *t = (double *)(void *)q->extra, *x = t + parts * (2 * n - 1 > 0 ? 2 * n - 1 : 0),
           *work = x + parts * n * k;
    const double *c = q->in[0], *r = q->in[1], *b = q->in[2];
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int p = 0; p < parts; p++) {
            t[(n - 1 + i) * parts + p] = c[i * parts + p];
            if (i > 0)
                t[(n - 1 - i) * parts + p] = r[i * parts + p];
            sum += c[i * parts + p] * 0.0 + (i > 0 ? r[i * parts + p] * 0.0 : 0.0);
        }
    for (int64_t i = 0; i < n * k * parts; i++)
        sum += b[i] * 0.0;
    if (sum != 0)
        return MCI_NOT_FINITE;
    mck_levinson a = {
        .n = n, .k = k, .ld = n, .x = x, .t = t, .b = b, .work = work, .status = &status
    };
    ((mck_levinson_fn)mci_kernel_get(j->op->kernel, complex ? MC_C128 : MC_F64))(&a);
    if (status)
        return MCI_SINGULAR_BLOCK;
    double z[2] = {0, 0};
    for (int64_t i = 0; i < n * k; i++) {
        z[0] = x[i * parts];
        z[1] = complex ? x[i * parts + 1] : 0;
        mci_linalg_set(j->type, q->out[0], i, z);
    }
    return MCI_FINE;
}

int mci_method_levinson(mci_linalg *j)
{
    int64_t n = j->in[0].rows, k = j->in[2].cols;
    if (j->in[1].rows != n)
        return mci_linalg_wrong(j, MC_ESHAPE, "first column and first row differ in length",
                                "a system needs a square matrix");
    if (j->in[2].rows != n)
        return mci_linalg_wrong(j, MC_ESHAPE, "the right-hand side has another number of rows",
                                "it must be that of c");
    mci_linalg_result(j, 0, j->in[2].rank, j->dtype, n, k, MCI_OWN);
    j->out[0].ld = n > 0 ? n : 1;
    for (int i = 0; i < 3; i++) {
        j->in[i].dtype = mci_is_complex(j) ? MC_C128 : MC_F64;
        j->in[i].ld = n;
    }
    mci_linalg_extra(j, (2 * n + n * k + 2 * n + 2) * (mci_is_complex(j) ? 2 : 1),
                     (int64_t)sizeof(double));
    j->cost = 8 * n * n + 4 * n * n * k;
    j->solve = levinson_one;
    return MC_OK;
}
