/* theta.c - phase of the amplitude envelope: tiled amplitudes -> cos and sin of arg of the
 * analytic signal of a - mean a.
 *
 * For phase locking (PLV), where the slow rhythm is looked for inside the envelope itself. One
 * forward and one complex inverse transform per band. */
#include "lanes.h"
#include "work.h"

#define PAC_BITS 32
#include "scalar.h"
#include "theta_body.h"
#undef PAC_BITS
#define PAC_BITS 64
#include "scalar.h"
#include "theta_body.h"
