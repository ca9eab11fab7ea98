/* filter.c - filter and analytic signal in one step: a row -> phases, phase bins and tiled
 * amplitudes of all bands.
 *
 * One forward transform serves all bands; filter, zero phase and Hilbert transform are one real
 * table per band (fused path of the spec), so a band costs one complex inverse. Splitting an
 * inverse into D interleaved ones of length N/D was tried and is not worth it: what short
 * transforms save, the turns and the interleaving take (0.39 ms a row either way, L = 2048, 32
 * bands). The phase bins of a complex number. */
#include "lanes.h"
#include "work.h"

/* Samples handled between deinterleaving a complex row and using it. */
#define PAC_CHUNK 64

/* cos and sin of -pi + 2 pi j/B, exact at multiples of 90 degrees and symmetric at the diagonals,
 * so that a phase that lies exactly on an edge is binned as floor((phi + pi) B / 2 pi) says. */
static void pac_edge(int64_t j, int64_t bins, double *c, double *s)
{
    const int64_t octant = 8 * j / bins;
    int64_t rest = 8 * j - octant * bins; /* in octants, over B */
    double x, y;
    if (octant & 1)
        rest = bins - rest;
    x = cos((double)rest / (double)bins * 0.78539816339744830962);
    y = sin((double)rest / (double)bins * 0.78539816339744830962);
    if (rest == 0)
        y = 0;
    if (rest == bins)
        y = x = 0.70710678118654752440;
    /* angle from the start of the circle, then turned by -pi */
    const double a = ((octant + 1) >> 1) & 1 ? y : x, b = ((octant + 1) >> 1) & 1 ? x : y;
    const int left = octant >= 2 && octant < 6, down = octant >= 4 && octant < 8;
    *c = left ? a : -a;
    *s = down ? b : -b;
}

#define PAC_BITS 32
#include "scalar.h"
#include "filter_body.h"
#undef PAC_BITS
#define PAC_BITS 64
#include "scalar.h"
#include "filter_body.h"
