/* exhaustive.c - the null distribution of all circular shifts of the bin measures.
 *
 * S_j(c) for all c at once by FFT correlation, two bins to a complex transform; the values of a
 * pair at all shifts are then made in blocks of lanes over shifts. The observed value, its sums and
 * shapes are those of bins.c, to the bit. */
#include "lanes.h"
#include "work.h"

/* Shifts whose values are made together: B rows of SPAN stay in L1. */
#define PAC_SPAN 64

#define PAC_BITS 32
#include "scalar.h"
#include "exhaustive_body.h"
#undef PAC_BITS
#define PAC_BITS 64
#include "scalar.h"
#include "exhaustive_body.h"
