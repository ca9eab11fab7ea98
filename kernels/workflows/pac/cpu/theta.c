/* pac_theta.c - phase of the amplitude envelope: tiled amplitudes -> cos and sin of arg of the
 * analytic signal of a - mean a.
 *
 * For phase locking (PLV), where the slow rhythm is looked for inside the envelope itself. One
 * forward and one complex inverse transform per band. May know nothing of phase bands. */
#include "pac_lanes.h"
#include "pac_work.h"

#define PAC_BITS 32
#include "pac_scalar.h"
#include "pac_theta_body.h"
#undef PAC_BITS
#define PAC_BITS 64
#include "pac_scalar.h"
#include "pac_theta_body.h"
