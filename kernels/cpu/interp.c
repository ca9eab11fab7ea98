/* interp.c - values between knots: linear interpolation and piecewise polynomials.
 *
 * A query finds its interval from the one before (sorted queries then cost nothing) or by bisection: the largest j with
 * knot[j] <= x, whatever the way there. Arithmetic runs in f64. May not know tensors. Letters: n queries, k knots, c coefficients of a
 * piece (highest power first), m values per knot. */
#include "../mck.h"

#include <math.h>

#define T float
#define NAME f32
#include "interp_body.h"

#define T double
#define NAME f64
#include "interp_body.h"
