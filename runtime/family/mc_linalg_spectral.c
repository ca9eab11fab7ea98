/* mc_linalg_spectral.c - methods of spectra: singular values, Hermitian and general eigenproblems,
 * Schur form.
 *
 * Their routines iterate and may not return when they meet NaN, so operands are checked first. */
#include "family/mc_linalg.h"

#include <math.h>
#include <string.h>

static int why(int info) { return info > 0 ? MCI_NO_CONVERGENCE : info ? MCI_REFUSED : MCI_FINE; }

static void identity(int type, void *a, int64_t n, int64_t size)
{
    static const double one[2] = {1, 0};
    memset(a, 0, (size_t)(n * n * size));
    for (int64_t i = 0; i < n; i++)
        mci_linalg_set(type, a, i * n + i, one);
}

/* ---- svd: i[1] full. Work areas grow like 7 k k, k the smaller side, or 2 m n + 2 k k
 * (documentation of gesdd). Results U, S, Vh, or S alone. a = U S Vh read as its transpose is Vh^T
 * S U^T: what LAPACK calls u is Vh in our memory. ---- */

static int svd_one(const mci_linalg *j, mci_problem *q)
{
    int m = (int)j->in[0].rows, n = (int)j->in[0].cols, k = m < n ? m : n, vectors = j->nout == 3;
    int full = vectors && j->p->i[1];
    if (k == 0) {
        if (full) {
            identity(j->type, q->out[0], m, MCI_SIZE(j->dtype));
            identity(j->type, q->out[2], n, MCI_SIZE(j->dtype));
        }
        return MCI_FINE;
    }
    return why(j->lapack->gesdd(j->type,
                                !vectors ? 'N'
                                : full   ? 'A'
                                         : 'S',
                                n, m, q->in[0], n, q->out[vectors], vectors ? q->out[2] : NULL, n,
                                vectors ? q->out[0] : NULL, full ? m : k, &q->w));
}

int mci_method_svd(mci_linalg *j)
{
    int64_t m = j->in[0].rows, n = j->in[0].cols, k = m < n ? m : n;
    int vectors = j->nout > 1, full = vectors && j->p->i[1];
    int rc =
        mci_linalg_fits(j, (vectors ? 7.0 : 0.0) * (double)k * (double)k + 200.0 * (double)(m + n));
    if (!rc && vectors)
        rc = mci_linalg_fits(j, 2.0 * (double)m * (double)n + 2.0 * (double)k * (double)k);
    if (rc)
        return rc;
    mci_linalg_result(j, vectors, 1, j->real, k, 1, MCI_PLACE);
    if (vectors) {
        mci_linalg_result(j, 0, 2, j->dtype, m, full ? m : k, MCI_PLACE);
        mci_linalg_result(j, 2, 2, j->dtype, full ? n : k, n, MCI_PLACE);
    }
    j->in[0].as_is = 1;
    if (k > 0) {
        j->w.lwork = -1;
        j->lapack->gesdd(j->type,
                         !vectors ? 'N'
                         : full   ? 'A'
                                  : 'S',
                         (int)n, (int)m, NULL, (int)n, NULL, NULL, (int)n, NULL,
                         full ? (int)m : (int)k, &j->w);
    }
    j->finite = 1;
    j->cost = 20 * m * n * k;
    j->solve = svd_one;
    return MC_OK;
}

/* ---- eigh: i[1] which triangle is read (0 lower), i[2] the kind of a generalised problem with b,
 * from 0. Results values, vectors. The memory of a by rows is conj(a) by columns: same values,
 * conjugate vectors. ---- */

static int eigh_one(const mci_linalg *j, mci_problem *q)
{
    int n = (int)j->in[0].rows, ld = mci_ld(n), vectors = j->nout == 2, info;
    char jobz = vectors ? 'V' : 'N', uplo = j->p->i[1] ? 'L' : 'U';
    if (j->nin == 2)
        info = j->lapack->hegvd(j->type, (int)j->p->i[2] + 1, jobz, uplo, n, q->in[0], ld, q->in[1],
                                ld, q->out[0], &q->w);
    else
        info = j->lapack->heevd(j->type, jobz, uplo, n, q->in[0], ld, q->out[0], &q->w);
    if (vectors)
        mci_linalg_conj(j->type, q->in[0], (int64_t)n * n);
    return info > n ? MCI_B_NOT_DEFINITE : why(info);
}

int mci_method_eigh(mci_linalg *j)
{
    int rc = mci_linalg_square(j, 0);
    if (rc)
        return rc;
    int n = (int)j->in[0].rows, vectors = j->nout == 2;
    char jobz = vectors ? 'V' : 'N';
    /* heevd: 2 n n + 6 n + 1 */
    if ((rc = mci_linalg_fits(j, (vectors ? 3.0 : 0.0) * n * n + 200.0 * n)) != 0)
        return rc;
    if (j->nin == 2 && (j->in[1].rows != n || j->in[1].cols != n))
        return mci_linalg_wrong(j, MC_ESHAPE, "the matrices of b differ in size",
                                "give b the last two axes of a");
    mci_linalg_result(j, 0, 1, j->real, n, 1, MCI_PLACE);
    if (vectors)
        mci_linalg_result(j, 1, 2, j->dtype, n, n, 0);
    for (int k = 0; k < j->nin; k++)
        j->in[k].as_is = 1;
    j->w.lwork = -1;
    if (j->nin == 2)
        j->lapack->hegvd(j->type, 1, jobz, 'U', n, NULL, mci_ld(n), NULL, mci_ld(n), NULL, &j->w);
    else
        j->lapack->heevd(j->type, jobz, 'U', n, NULL, mci_ld(n), NULL, &j->w);
    j->finite = j->nin == 2 ? 3 : 1;
    j->cost = 9 * (int64_t)n * n * n;
    j->solve = eigh_one;
    return MC_OK;
}

/* ---- eig: i[1] left. Results values, vectors, left vectors, always complex. A real routine gives
 * a pair of conjugate vectors as two real columns. ---- */

/* Column c of the real form of vectors as the complex column it stands for; im: the imaginary part
 * of its eigenvalue. */
static void widen(int real, int both, const char *from, void *to, int n, int ld, int c, double im)
{
    int pair = im > 0 && c + 1 < n, second = im < 0 && c > 0;
    for (int r = 0; r < n; r++) {
        double z[2], part[2];
        mci_linalg_get(real, from, (int64_t)(second ? c - 1 : c) * ld + r, z);
        z[1] = 0;
        if (pair || second) {
            mci_linalg_get(real, from, (int64_t)(second ? c : c + 1) * ld + r, part);
            z[1] = second ? -part[0] : part[0];
        }
        mci_linalg_set(both, to, (int64_t)c * ld + r, z);
    }
}

static int64_t aligned(int64_t bytes) { return (bytes + 63) & ~(int64_t)63; }

static int eig_one(const mci_linalg *j, mci_problem *q)
{
    int n = (int)j->in[0].rows, ld = mci_ld(n), vectors = j->nout > 1, left = j->nout == 3,
        complex = mci_is_complex(j);
    int single = j->real == MC_F32, real = single ? 's' : 'd', both = single ? 'c' : 'z';
    int64_t size = MCI_SIZE(j->real);
    char *wr = q->extra, *wi = wr + aligned(n * size), *vr = wi + aligned(n * size),
         *vl = vr + aligned((int64_t)n * n * size);
    int info =
        j->lapack->geev(j->type, left ? 'V' : 'N', vectors ? 'V' : 'N', n, q->in[0], ld,
                        complex ? q->out[0] : wr, wi, left ? (complex ? q->out[2] : vl) : NULL, ld,
                        vectors ? (complex ? q->out[1] : vr) : NULL, ld, &q->w);
    if (info || complex)
        return why(info);
    for (int c = 0; c < n; c++) {
        double z[2], im[2];
        mci_linalg_get(real, wr, c, z);
        mci_linalg_get(real, wi, c, im);
        z[1] = im[0];
        mci_linalg_set(both, q->out[0], c, z);
        if (vectors)
            widen(real, both, vr, q->out[1], n, ld, c, im[0]);
        if (left)
            widen(real, both, vl, q->out[2], n, ld, c, im[0]);
    }
    return MCI_FINE;
}

int mci_method_eig(mci_linalg *j)
{
    int rc = mci_linalg_square(j, 0);
    if (rc)
        return rc;
    int n = (int)j->in[0].rows, vectors = j->nout > 1, left = j->nout == 3,
        dtype = j->real == MC_F32 ? MC_C64 : MC_C128;
    if (j->op->nout != 1 && left != (j->p->i[1] != 0))
        return mci_linalg_wrong(j, MC_EINVAL, "the number of results does not fit the option left",
                                "values and vectors, and with left the left vectors");
    mci_linalg_result(j, 0, 1, dtype, n, 1, MCI_PLACE);
    if (vectors)
        mci_linalg_result(j, 1, 2, dtype, n, n, MCI_OWN);
    if (left)
        mci_linalg_result(j, 2, 2, dtype, n, n, MCI_OWN);
    mci_linalg_extra(j, n, MCI_SIZE(j->real));
    mci_linalg_extra(j, n, MCI_SIZE(j->real));
    for (int k = 0; k < vectors + left && !mci_is_complex(j); k++)
        mci_linalg_extra(j, (int64_t)n * n, MCI_SIZE(j->real));
    j->w.lwork = -1;
    j->lapack->geev(j->type, left ? 'V' : 'N', vectors ? 'V' : 'N', n, NULL, mci_ld(n), NULL, NULL,
                    NULL, mci_ld(n), NULL, mci_ld(n), &j->w);
    j->finite = 1;
    j->cost = 25 * (int64_t)n * n * n;
    j->solve = eig_one;
    return MC_OK;
}

/* ---- Schur form: a = Z T Z^H; i[2]: which eigenvalues come first, then how many there are is a
 * third result. Results T, Z ---- */

enum { ANY_ORDER, LEFT_HALF, RIGHT_HALF, INSIDE, OUTSIDE };

static int comes_first(int order, double re, double im)
{
    switch (order) {
    case LEFT_HALF: return re < 0;
    case RIGHT_HALF: return re >= 0;
    case INSIDE: return hypot(re, im) <= 1;
    default: return hypot(re, im) > 1;
    }
}

static int schur_one(const mci_linalg *j, mci_problem *q)
{
    int n = (int)j->in[0].rows, ld = mci_ld(n);
    char *w = q->extra, *wi = w + aligned(n * MCI_SIZE(j->dtype)),
         *select = wi + aligned(n * MCI_SIZE(j->real));
    int info = j->lapack->gees(j->type, 'V', n, q->in[0], ld, w, wi, q->out[1], ld, &q->w),
        first = 0;
    if (info || j->nout < 3)
        return why(info);
    for (int i = 0; i < n; i++) {
        double z[2] = {0, 0}, im[2];
        mci_linalg_get(j->type, w, i, z);
        if (!mci_is_complex(j)) {
            mci_linalg_get(j->type, wi, i, im);
            z[1] = im[0];
        }
        ((int *)select)[i] = comes_first((int)j->p->i[2], z[0], z[1]);
    }
    info = j->lapack->trsen(j->type, (int *)select, n, q->in[0], ld, q->out[1], ld, w, wi, &first,
                            select + aligned(n * (int64_t)sizeof(int)));
    *(int64_t *)q->out[2] = first;
    return why(info);
}

int mci_method_schur(mci_linalg *j)
{
    int rc = mci_linalg_square(j, 0);
    if (rc)
        return rc;
    int n = (int)j->in[0].rows;
    mci_linalg_result(j, 0, 2, j->dtype, n, n, 0);
    mci_linalg_result(j, 1, 2, j->dtype, n, n, MCI_OWN);
    mci_linalg_extra(j, n, MCI_SIZE(j->dtype));
    mci_linalg_extra(j, n, MCI_SIZE(j->real));
    if ((j->nout == 3) != (j->p->i[2] != ANY_ORDER))
        return mci_linalg_wrong(j, MC_EINVAL, "the number of results does not fit the order",
                                "T and Z, and with an order how many eigenvalues come first");
    if (j->nout == 3) {
        mci_linalg_result(j, 2, 0, MC_I64, 1, 1, MCI_PLACE);
        mci_linalg_extra(j, n, (int64_t)sizeof(int));
        mci_linalg_extra(j, n, MCI_SIZE(j->dtype));
    }
    j->w.lwork = -1;
    j->lapack->gees(j->type, 'V', n, NULL, mci_ld(n), NULL, NULL, NULL, mci_ld(n), &j->w);
    j->finite = 1;
    j->cost = 25 * (int64_t)n * n * n;
    j->solve = schur_one;
    return MC_OK;
}
