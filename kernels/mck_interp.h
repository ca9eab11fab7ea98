/* mck_interp.h - arguments of the interp and tridiagonal families. */
#ifndef MCK_INTERP_H
#define MCK_INTERP_H

#include "mck.h"

/* n queries `in` between k >= 1 ascending knots. interp: values[k], left and right stand outside
 * the knots where given. ppoly (k >= 2): values[c][k - 1][m] are coefficients, highest power of (x
 * - knot) first, out[n][m]; nu: order of the derivative; outside: NaN beyond the knots, else the
 * outermost pieces go on. */
typedef struct mck_interp {
    int64_t n, k, c, m, nu;
    void *out;
    const void *in, *knots, *values;
    double left, right;
    int left_given, right_given, outside;
} mck_interp;
typedef void (*mck_interp_fn)(const mck_interp *a);

/* m columns of n equations, rows `stride` apart; lower, pivot and ratio = upper / pivot as
 * elimination left them. */
typedef struct mck_tridiagonal {
    int64_t n, m, stride;
    double *out;
    const double *rhs, *lower, *pivot, *ratio;
} mck_tridiagonal;
typedef void (*mck_tridiagonal_fn)(const mck_tridiagonal *a);

#endif
