/* bins.c - coupling by phase bins: bin sums, value and drawn circular shifts.
 *
 * The phase index is piecewise constant and never shifted, so each job sorts its samples by bin
 * once, in blocks of BLOCK samples, as lists of row offsets; a shift only moves the amplitude base
 * the offsets are added to. The sums of one bin then stay in registers over its whole list,
 * several shifts at a time. Runs inside one bin use precomputed sums of neighbouring samples. The
 * body's instances. */
#include "lanes.h"
#include "work.h"

/* Samples of a block: BLOCK + the span of a group of sorted shifts, in rows of 64 bytes and LEVELS,
 * stay in 32 KiB of L1. Tuned on Zen 3. Entries are uint16_t: BLOCK * LEVELS < 65536. */
#ifndef PAC_BLOCK
#define PAC_BLOCK 256
#endif
/* Windows of 1, 2, .. 2^(LEVELS-1) samples. 1, 2, 3 levels: 4.4, 3.7, 3.6 ms for 200 shifts of a
 * row (L = 2048, 16 x 16 bands), but a third level grows the wrapped amplitudes past L2. */
#ifndef PAC_LEVELS
#define PAC_LEVELS 2
#endif
/* f32 bin sums are folded into f64 after this many blocks, so that rounding does not grow with
 * length. */
#define PAC_FOLD 64

#define PAC_BITS 32
#include "scalar.h"
#include "bins_body.h"
#undef PAC_BITS
#define PAC_BITS 64
#include "scalar.h"
#include "bins_body.h"
