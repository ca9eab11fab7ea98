/* ranks.c - copula normalisation: each value of a row replaced by the normal score of its rank.
 *
 * Ranks by a stable radix sort of order-preserving integer keys, so ties rank in order of
 * position. The scores Phi^-1(k/(L+1)) depend on L alone and are made once per plan. */
#include "lanes.h"
#include "work.h"

/* Phi^-1(p) by Halley's iteration on erfc, from a start that is right to about 5e-4 (Abramowitz and
 * Stegun 26.2.23). */
static double pac_probit(double p)
{
    const double q = p < 0.5 ? p : 1 - p;
    if (q == 0.5)
        return 0;
    const double t = sqrt(-2 * log(q));
    double x = (2.515517 + t * (0.802853 + t * 0.010328)) /
                   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
               t;
    for (int i = 0; i < 3; i++) {
        const double e = 0.5 * erfc(-x * 0.70710678118654752440) - q;
        const double u = e * 2.50662827463100050242 * exp(0.5 * x * x);
        x -= u / (1 + 0.5 * x * u);
    }
    return p < 0.5 ? x : -x;
}

#define PAC_BITS 32
#include "scalar.h"
#include "ranks_body.h"
#undef PAC_BITS
#define PAC_BITS 64
#include "scalar.h"
#include "ranks_body.h"
