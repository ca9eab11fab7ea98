/* mc_linalg_systems.c - methods of systems of equations: solve, inverse, determinants, LU,
 * triangles, least squares.
 *
 * A X = B with A loaded as it is: LAPACK factors the transpose and solves with its transpose, so
 * that only B is turned (and not even that when it is one column). */
#include "family/mc_linalg.h"

#include <math.h>
#include <string.h>

int mci_linalg_right_hand_side(mci_linalg *j, int k, int64_t equations, int64_t rows)
{
    mci_part_in *b = &j->in[k];
    if (b->rows != equations)
        return mci_linalg_wrong(j, MC_ESHAPE, "the right-hand side has another number of rows",
                                b->rank == 1 ? "a vector needs as many elements as a has rows"
                                             : "its last axis but one must be that of a");
    mci_linalg_result(j, 0, b->rank, j->dtype, rows, b->cols, k);
    if (b->cols == 1 && rows == b->rows) { /* one column: its own memory */
        j->out[0].from = MCI_PLACE;
        b->into = 0;
    }
    return MC_OK;
}

/* Operand 1 is a right-hand side of operand 0's rows. */
static int right_hand_side(mci_linalg *j, int64_t rows)
{
    return mci_linalg_right_hand_side(j, 1, j->in[0].rows, rows);
}

static int64_t cube(const mci_linalg *j)
{
    int64_t m = j->in[0].rows, n = j->in[0].cols;
    return m * n * (m < n ? m : n);
}

/* ---- solve, inverse ---- */

static int solve_one(const mci_linalg *j, mci_problem *q)
{
    int n = (int)j->in[0].rows, ld = mci_ld(n), k = (int)j->in[1].cols,
        *ipiv = (int *)(void *)q->extra;
    int info = j->lapack->getrf(j->type, n, n, q->in[0], ld, ipiv);
    if (!info)
        info = j->lapack->getrs(j->type, 'T', n, k, q->in[0], ld, ipiv, q->in[1], ld);
    return info > 0 ? MCI_SINGULAR : info ? MCI_REFUSED : MCI_FINE;
}

int mci_method_solve(mci_linalg *j)
{
    int rc = mci_linalg_square(j, 0);
    if (!rc)
        rc = right_hand_side(j, j->in[0].cols);
    j->in[0].as_is = 1;
    mci_linalg_extra(j, j->in[0].rows, (int64_t)sizeof(int));
    j->cost = cube(j) + j->in[0].rows * j->in[0].rows * j->in[1].cols;
    j->solve = solve_one;
    j->small = MCK_K_SMALL_SOLVE;
    j->small_reason = MCI_SINGULAR;
    return rc;
}

static int inv_one(const mci_linalg *j, mci_problem *q)
{
    int n = (int)j->in[0].rows, ld = mci_ld(n), *ipiv = (int *)(void *)q->extra;
    int info = j->lapack->getrf(j->type, n, n, q->in[0], ld, ipiv);
    if (!info)
        info = j->lapack->getri(j->type, n, q->in[0], ld, ipiv, &q->w);
    return info > 0 ? MCI_SINGULAR : info ? MCI_REFUSED : MCI_FINE;
}

int mci_method_inv(mci_linalg *j)
{
    int rc = mci_linalg_square(j, 0);
    if (rc)
        return rc;
    int n = (int)j->in[0].rows, unused = 0;
    j->in[0].as_is = 1;
    j->in[0].into = 0;
    mci_linalg_result(j, 0, 2, j->dtype, n, n, MCI_PLACE);
    mci_linalg_extra(j, n, (int64_t)sizeof(int));
    j->w.lwork = -1;
    j->lapack->getri(j->type, n, &unused, mci_ld(n), &unused, &j->w);
    j->cost = 3 * cube(j);
    j->solve = inv_one;
    j->small = MCK_K_SMALL_INV;
    j->small_reason = MCI_SINGULAR;
    return MC_OK;
}

/* ---- determinants ---- */

/* z times number i of the diagonal, negated where rows changed places. */
static void times(const mci_linalg *j, const void *lu, const int *ipiv, int64_t i, double z[2])
{
    double d[2];
    mci_linalg_get(j->type, lu, i * (j->in[0].rows + 1), d);
    double re = z[0] * d[0], im = 0, sign = ipiv[i] != i + 1 ? -1 : 1;
    if (mci_is_complex(j)) {
        re -= z[1] * d[1];
        im = z[0] * d[1] + z[1] * d[0];
    }
    z[0] = sign * re;
    z[1] = sign * im;
}

/* The product of the diagonal; as mantissa and power of two where it leaves the range in which
 * plain products are exact to rounding. */
void mci_linalg_product(const mci_linalg *j, const void *lu, const int *ipiv, void *out,
                        void *log_out)
{
    int64_t n = j->in[0].rows, power = 0;
    double z[2] = {1, 0}, most = 1;
    int64_t i = 0;
    for (; i < n && most > 1e-290 && most < 1e290; i++) {
        times(j, lu, ipiv, i, z);
        most = fmax(fabs(z[0]), fabs(z[1]));
    }
    if (i < n || !(most > 1e-290 && most < 1e290)) {
        z[0] = 1;
        z[1] = 0;
        for (i = 0; i < n; i++) {
            int e = 0;
            double d[2];
            /* a factor near the limits goes in two steps */
            mci_linalg_get(j->type, lu, i * (n + 1), d);
            (void)frexp(fmax(fabs(d[0]), fabs(d[1])), &e);
            e = e > 500 ? 500 : e < -500 ? -500 : 0;
            z[0] = ldexp(z[0], -e);
            z[1] = ldexp(z[1], -e);
            power += e;
            times(j, lu, ipiv, i, z);
            most = fmax(fabs(z[0]), fabs(z[1]));
            if (most > 0 && isfinite(most)) {
                (void)frexp(most, &e);
                z[0] = ldexp(z[0], -e);
                z[1] = ldexp(z[1], -e);
                power += e;
            }
        }
    }
    if (log_out) { /* a sign, or a number on the unit circle, and the logarithm */
        double size = mci_is_complex(j) ? hypot(z[0], z[1]) : fabs(z[0]);
        double l[2] = {log(size) + (double)power * 0.6931471805599453, 0};
        mci_linalg_set(j->real == MC_F32 ? 's' : 'd', log_out, 0, l);
        if (size > 0 && isfinite(size)) {
            z[0] /= size;
            z[1] /= size;
        } else if (isinf(size) && !mci_is_complex(j))
            z[0] = z[0] > 0 ? 1 : -1;
    } else if (power) {
        int e = power > 40000 ? 40000 : power < -40000 ? -40000 : (int)power;
        z[0] = ldexp(z[0], e);
        z[1] = ldexp(z[1], e);
    }
    mci_linalg_set(j->type, out, 0, z);
}

static int det_one(const mci_linalg *j, mci_problem *q)
{
    int n = (int)j->in[0].rows, ld = mci_ld(n), *ipiv = (int *)(void *)q->extra;
    if (j->lapack->getrf(j->type, n, n, q->in[0], ld, ipiv) < 0)
        return MCI_REFUSED;
    mci_linalg_product(j, q->in[0], ipiv, q->out[0], j->nout == 2 ? q->out[1] : NULL);
    return MCI_FINE;
}

int mci_method_det(mci_linalg *j)
{
    int rc = mci_linalg_square(j, 0);
    if (rc)
        return rc;
    j->in[0].as_is = 1;
    mci_linalg_result(j, 0, 0, j->dtype, 1, 1, MCI_PLACE);
    if (j->nout == 2)
        mci_linalg_result(j, 1, 0, j->real, 1, 1, MCI_PLACE);
    mci_linalg_extra(j, j->in[0].rows, (int64_t)sizeof(int));
    j->cost = cube(j);
    j->solve = det_one;
    j->small = MCK_K_SMALL_LU;
    return MC_OK;
}

/* ---- LU ---- */

static int lu_factor_one(const mci_linalg *j, mci_problem *q)
{
    int m = (int)j->in[0].rows, n = (int)j->in[0].cols, k = m < n ? m : n,
        *ipiv = (int *)(void *)q->extra;
    int info = j->lapack->getrf(j->type, m, n, q->in[0], mci_ld(m), ipiv);
    int64_t *out = q->out[1];
    for (int i = 0; i < k; i++)
        out[i] = ipiv[i] - 1 + j->p->base;
    return info < 0 ? MCI_REFUSED : MCI_FINE;
}

int mci_method_lu_factor(mci_linalg *j)
{
    int64_t m = j->in[0].rows, n = j->in[0].cols, k = m < n ? m : n;
    mci_linalg_result(j, 0, 2, j->dtype, m, n, 0);
    mci_linalg_result(j, 1, 1, MC_I64, k, 1, MCI_PLACE);
    mci_linalg_extra(j, k, (int64_t)sizeof(int));
    j->cost = cube(j);
    j->solve = lu_factor_one;
    j->small = m == n ? MCK_K_SMALL_LU : 0;
    return MC_OK;
}

/* operands: factors, right-hand side, exchanges */
static int lu_solve_one(const mci_linalg *j, mci_problem *q)
{
    static const char trans[] = {'N', 'T', 'C'};
    int n = (int)j->in[0].rows, *ipiv = (int *)(void *)q->extra;
    const int64_t *given = q->in[2];
    for (int i = 0; i < n; i++) {
        int64_t at = given[i] - j->p->base;
        if (at < 0 || at >= n)
            return MCI_BAD_PIVOT;
        ipiv[i] = (int)at + 1;
    }
    double d[2];
    for (int i = 0; i < n; i++) {
        mci_linalg_get(j->type, q->in[0], (int64_t)i * n + i, d);
        if (d[0] == 0 && d[1] == 0)
            return MCI_SINGULAR;
    }
    int info = j->lapack->getrs(j->type, trans[j->p->i[1]], n, (int)j->in[1].cols, q->in[0],
                                mci_ld(n), ipiv, q->in[1], mci_ld(n));
    return info ? MCI_REFUSED : MCI_FINE;
}

int mci_method_lu_solve(mci_linalg *j)
{
    int rc = mci_linalg_square(j, 0);
    if (!rc)
        rc = right_hand_side(j, j->in[0].cols);
    if (!rc && (j->in[2].rows != j->in[0].rows || j->t[2]->dtype != MC_I64))
        rc = mci_linalg_wrong(j, MC_ESHAPE, "the exchanges do not fit the factors",
                              "give both results of lu_factor");
    mci_linalg_extra(j, j->in[0].rows, (int64_t)sizeof(int));
    j->cost = 2 * j->in[0].rows * j->in[0].rows * (j->in[1].cols + 1);
    j->solve = lu_solve_one;
    return rc;
}

/* results: P (real, rows x rows), L, U with a = P L U */
static int lu_one(const mci_linalg *j, mci_problem *q)
{
    int m = (int)j->in[0].rows, n = (int)j->in[0].cols, k = m < n ? m : n,
        *ipiv = (int *)(void *)q->extra, *row = ipiv + k;
    int ld = mci_ld(m);
    if (j->lapack->getrf(j->type, m, n, q->in[0], ld, ipiv) < 0)
        return MCI_REFUSED;
    for (int i = 0; i < m; i++)
        row[i] = i;
    for (int i = 0; i < k; i++) {
        int other = ipiv[i] - 1, keep = row[i];
        row[i] = row[other];
        row[other] = keep;
    }
    int size = (int)MCI_SIZE(j->dtype), real = j->real == MC_F32 ? 's' : 'd';
    static const double one[2] = {1, 0};
    memset(q->out[0], 0, (size_t)m * (size_t)m * (size_t)MCI_SIZE(j->real));
    for (int i = 0; i < m; i++)
        mci_linalg_set(real, q->out[0], (int64_t)row[i] * m + i, one);
    /* L and U out of one copy, in column order */
    char *a = q->in[0], *l = q->out[1], *u = q->out[2];
    memset(l, 0, (size_t)m * (size_t)k * (size_t)size);
    memset(u, 0, (size_t)k * (size_t)n * (size_t)size);
    for (int c = 0; c < n; c++) {
        const char *col = a + (int64_t)c * ld * size;
        memcpy(u + (int64_t)c * mci_ld(k) * size, col,
               (size_t)((c + 1 < k ? c + 1 : k) * (int64_t)size));
        if (c < k) {
            char *to = l + (int64_t)c * ld * size;
            mci_linalg_set(j->type, to, c, one);
            memcpy(to + ((int64_t)c + 1) * size, col + ((int64_t)c + 1) * size,
                   (size_t)(m - c - 1) * (size_t)size);
        }
    }
    return MCI_FINE;
}

int mci_method_lu(mci_linalg *j)
{
    int64_t m = j->in[0].rows, n = j->in[0].cols, k = m < n ? m : n;
    mci_linalg_result(j, 0, 2, j->real, m, m, MCI_PLACE);
    mci_linalg_result(j, 1, 2, j->dtype, m, k, MCI_OWN);
    mci_linalg_result(j, 2, 2, j->dtype, k, n, MCI_OWN);
    mci_linalg_extra(j, k + m, (int64_t)sizeof(int));
    j->cost = cube(j);
    j->solve = lu_one;
    return MC_OK;
}

/* ---- triangles: i[1] lower, i[2] trans (N, T, C), i[3] unit diagonal ---- */

static int triangular_one(const mci_linalg *j, mci_problem *q)
{
    static const char same[] = {'N', 'T', 'C'}, turned[] = {'T', 'N', 'N'};
    int n = (int)j->in[0].rows, as_is = j->in[0].as_is, trans = (int)j->p->i[2];
    char uplo = (j->p->i[1] != 0) != as_is ? 'L' : 'U';
    int info =
        j->lapack->trtrs(j->type, uplo, as_is ? turned[trans] : same[trans], j->p->i[3] ? 'U' : 'N',
                         n, (int)j->in[1].cols, q->in[0], mci_ld(n), q->in[1], mci_ld(n));
    return info > 0 ? MCI_SINGULAR : info ? MCI_REFUSED : MCI_FINE;
}

int mci_method_solve_triangular(mci_linalg *j)
{
    int rc = mci_linalg_square(j, 0);
    if (!rc)
        rc = right_hand_side(j, j->in[0].cols);
    /* a conjugate transpose needs the columns themselves */
    j->in[0].as_is = j->p->i[2] != 2 || !mci_is_complex(j);
    j->cost = j->in[0].rows * j->in[0].rows * (j->in[1].cols + 1);
    j->solve = triangular_one;
    return rc;
}

/* ---- least squares: d[0] rcond, negative for the precision of the dtype; results x, rank,
 * singular values ---- */

static int lstsq_one(const mci_linalg *j, mci_problem *q)
{
    int m = (int)j->in[0].rows, n = (int)j->in[0].cols, rank = 0, ld = (int)j->in[1].ld;
    int info = m > 0 && n > 0
                   ? j->lapack->gelsd(j->type, m, n, (int)j->in[1].cols, q->in[0], mci_ld(m),
                                      q->in[1], ld, q->out[2], j->p->d[0], &rank, &q->w)
                   : 0;
    if (m == 0) /* nothing is asked for: the shortest solution is 0 */
        memset(q->in[1], 0, (size_t)(j->in[1].elements * MCI_SIZE(j->dtype)));
    *(int64_t *)q->out[1] = rank;
    return info > 0 ? MCI_NO_CONVERGENCE : info ? MCI_REFUSED : MCI_FINE;
}

int mci_method_least_squares(mci_linalg *j)
{
    mci_part_in *b = &j->in[1];
    int64_t m = j->in[0].rows, n = j->in[0].cols, k = m < n ? m : n, most = m < n ? n : m;
    int rc = right_hand_side(j, n), rank = 0;
    /* gelsd: 12 k + 2 k 25 + 8 k levels + k columns + 26 26, and the solution beside the right-hand
     * side */
    if (!rc)
        rc =
            mci_linalg_fits(j, (double)(most + 400) * (double)(b->cols + 1) + 400.0 * (double)most);
    if (rc)
        return rc;
    b->into = MCI_OWN;
    b->ld = mci_ld(most); /* the solution comes out where the right-hand side went in */
    b->elements = b->ld * b->cols;
    j->out[0].from = 1;
    mci_linalg_result(j, 1, 0, MC_I64, 1, 1, MCI_PLACE);
    mci_linalg_result(j, 2, 1, j->real, k, 1, MCI_PLACE);
    j->w.lwork = -1;
    j->lapack->gelsd(j->type, (int)m, (int)n, (int)b->cols, NULL, mci_ld(m), NULL, mci_ld(most),
                     NULL, j->p->d[0], &rank, &j->w);
    j->finite = 3;
    j->cost = 4 * cube(j) + m * n * b->cols;
    j->solve = lstsq_one;
    return MC_OK;
}
