/* moments.c - coupling by moments: mean vector length, its normalised forms, general linear
 * model, phase locking, copula.
 *
 * All are functions of M = sum_t a u (a two-row matrix product) and of sums of a, a^2 and u alone:
 * a quadratic form in M, then a root or a logarithm. So one kernel and one FFT correlation serve
 * six measures. Sums run in f64 over blocks of lanes, so the rounding does not grow with length. */
#include "lanes.h"
#include "work.h"

/* Samples summed in lanes before they are folded into f64. */
#define PAC_RUN 256

#define PAC_BITS 32
#include "scalar.h"
#include "moments_body.h"
#undef PAC_BITS
#define PAC_BITS 64
#include "scalar.h"
#include "moments_body.h"
