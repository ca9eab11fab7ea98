/* interp.c - values between knots: linear interpolation and piecewise polynomials.
 *
 * A query finds its interval from the one before (sorted queries then cost nothing) or by
 * bisection, several in step: the largest j with knot[j] <= x, whatever the way there. Arithmetic
 * runs in f64. Letters: n queries, k knots, c coefficients of a piece (highest power first), m
 * values per knot. */
#include "../mck_interp.h"

#include <math.h>

#define BLOCK 16 /* queries searched for in step: their loads wait together */

#define T float
#define NAME f32
#include "interp_body.h"

#define T double
#define NAME f64
#include "interp_body.h"

/* Rows 1..n of L D U x = rhs, given the pivots: forward elimination, then back substitution, for m
 * columns side by side. */
void MCK(tridiagonal_f64)(const mck_tridiagonal *a);
void MCK(tridiagonal_f64)(const mck_tridiagonal *a)
{
    const int64_t n = a->n, m = a->m, s = a->stride;
    for (int64_t i = 0; i < n; i++) {
        double *y = a->out + i * s;
        const double *b = a->rhs + i * s, l = i ? a->lower[i] : 0, d = a->pivot[i];
        for (int64_t c = 0; c < m; c++) y[c] = (i ? b[c] - l * y[c - s] : b[c]) / d;
    }
    for (int64_t i = n - 2; i >= 0; i--) {
        double *y = a->out + i * s;
        const double r = a->ratio[i];
        for (int64_t c = 0; c < m; c++) y[c] -= r * y[c + s];
    }
}
