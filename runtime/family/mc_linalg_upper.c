/* mc_linalg_upper.c - square root and logarithm of upper triangular matrices, the middle step of
 * sqrtm and logm.
 *
 * Both run in c128. The root goes column by column (Bjorck and Hammarling, A Schur method for
 * the square root of a matrix, 1983); the logarithm takes roots until the matrix is near the
 * identity, then a Pade approximant as a sum of fractions (Functions of matrices, 2008,
 * algorithm 11.9), with the diagonal minus 1 free of cancellation and the two leading diagonals
 * of the result from their closed forms (Al-Mohy and Higham, Improved inverse scaling and
 * squaring algorithms for the matrix logarithm, 2012). */
#include "family/mc_linalg.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#define NODES 7
/* 1-norm of the rest at which 7 nodes reach the precision of f64: Higham 2008, table 11.1 */
#define NEAR 0.264
#define ROOTS 100   /* a matrix that is not near 1 after so many roots has entries beyond any f64 */

static const double node[NODES] = {-0.9491079123427585, -0.7415311855993945, -0.4058451513773972, 0,
                                   0.4058451513773972,  0.7415311855993945,  0.9491079123427585};
static const double weight[NODES] = { 0.1294849661688697, 0.2797053914892766, 0.3818300505051189,
                                      0.4179591836734694, 0.3818300505051189, 0.2797053914892766,
                                      0.1294849661688697 };

typedef double complex number;

/* r r = t, both by rows; column: n numbers. r may be t: an element of t is read before its place in
 * r is written. */
static int root(int64_t n, const number *t, number *r, number *column)
{
    for (int64_t c = 0; c < n; c++) {
        column[c] = csqrt(t[c * n + c]);
        for (int64_t i = c - 1; i >= 0; i--) {
            const number *row = r + i * n;
            double re = 0, im = 0;
            for (int64_t k = i + 1; k < c; k++) {
                const number x = row[k], y = column[k];
                re += creal(x) * creal(y) - cimag(x) * cimag(y);
                im += creal(x) * cimag(y) + cimag(x) * creal(y);
            }
            number rest = t[i * n + c] - CMPLX(re, im), sum = row[i] + column[c];
            if (sum == 0 && rest != 0)
                return MCI_NO_ROOT;
            column[i] = sum == 0 ? 0 : rest / sum;
        }
        for (int64_t i = 0; i <= c; i++)
            r[i * n + c] = column[i];
        for (int64_t i = c + 1; i < n; i++)
            r[i * n + c] = 0;
    }
    return MCI_FINE;
}

/* a^(1/2^s) - 1 without cancellation */
static number root_minus_one(number a, int s)
{
    if (s == 0)
        return a - 1;
    if (carg(a) >= 1.5707963267948966 || carg(a) <= -1.5707963267948966) {
        a = csqrt(a);
        s--;
        if (s == 0)
            return a - 1;
    }
    number z = a - 1, product;
    a = csqrt(a);
    product = 1 + a;
    for (int i = 1; i < s; i++) {
        a = csqrt(a);
        product *= 1 + a;
    }
    return z / product;
}

/* Entry above the diagonal of log [a x; 0 b]. */
static number log_beside(number a, number b, number x)
{
    if (a == b)
        return x / a;
    number difference = b - a, la = clog(a), lb = clog(b);
    if (cabs(difference) > cabs(a + b) / 2)
        return x * (lb - la) / difference;
    double turns = ceil((cimag(lb - la) - 3.141592653589793) / 6.283185307179586);
    return x * 2 * (catanh(difference / (a + b)) + CMPLX(0, 3.141592653589793 * turns)) /
           difference;
}

static double distance_from_one(int64_t n, const number *r)
{
    double most = 0;
    for (int64_t c = 0; c < n; c++) {
        double sum = 0;
        for (int64_t i = 0; i <= c; i++)
            sum += cabs(r[i * n + c] - (i == c));
        if (!(sum <= most))
            most = sum;
    }
    return most;
}

/* Work: the roots, the matrix of a system, its solution (n x n each), a column. */
static int logarithm(const mci_linalg *j, int64_t n, const number *t, number *out, number *work)
{
    number *r = work, *system = r + n * n, *part = system + n * n, *column = part + n * n;
    int roots = 0, why = MCI_FINE;
    memcpy(r, t, (size_t)(n * n) * sizeof *r);
    for (int64_t i = 0; i < n; i++)
        if (t[i * n + i] == 0)
            return MCI_NO_ROOT;
    while (!(distance_from_one(n, r) <= NEAR)) {
        if (++roots > ROOTS)
            return MCI_NO_CONVERGENCE;
        if ((why = root(n, r, r, column)) != MCI_FINE)
            return why;
    }
    for (int64_t i = 0; i < n; i++)
        r[i * n + i] = root_minus_one(t[i * n + i], roots);
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    for (int q = 0; q < NODES; q++) {
        /* all factors are functions of r and commute: the transposes that LAPACK sees do as well */
        double x = (1 + node[q]) / 2, w = weight[q] / 2;
        for (int64_t i = 0; i < n * n; i++)
            system[i] = x * r[i];
        for (int64_t i = 0; i < n; i++)
            system[i * n + i] += 1;
        memcpy(part, r, (size_t)(n * n) * sizeof *part);
        if (j->lapack->trtrs('z', 'L', 'N', 'N', (int)n, (int)n, system, (int)n, part, (int)n))
            return MCI_NO_ROOT;
        for (int64_t i = 0; i < n * n; i++)
            out[i] += w * part[i];
    }
    double scale = ldexp(1, roots);
    for (int64_t i = 0; i < n * n; i++)
        out[i] *= scale;
    for (int64_t i = 0; i < n; i++) {
        out[i * n + i] = clog(t[i * n + i]);
        if (i + 1 < n)
            out[i * n + i + 1] = log_beside(t[i * n + i], t[(i + 1) * n + i + 1], t[i * n + i + 1]);
    }
    return MCI_FINE;
}

static int upper_one(const mci_linalg *j, mci_problem *q)
{
    int64_t n = j->in[0].rows;
    number *work = (number *)(void *)q->extra;
    if (n == 0)
        return MCI_FINE;
    if (j->op->variant == MCI_LINALG_SQRT_UPPER)
        return root(n, q->in[0], q->out[0], work);
    return logarithm(j, n, q->in[0], q->out[0], work);
}

int mci_method_upper(mci_linalg *j)
{
    int rc = mci_linalg_square(j, 0);
    if (rc)
        return rc;
    int64_t n = j->in[0].rows;
    j->in[0].as_is = 1;
    mci_linalg_result(j, 0, 2, j->dtype, n, n, MCI_PLACE);
    const int square_root = j->op->variant == MCI_LINALG_SQRT_UPPER;
    mci_linalg_extra(j, square_root ? n : 3 * n * n + n, MCI_SIZE(j->dtype));
    j->finite = 1;
    j->cost = (square_root ? 2 : 60) * n * n * n;
    j->solve = upper_one;
    return MC_OK;
}
