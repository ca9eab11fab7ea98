/* table.c - the table of phase-amplitude coupling kernels of one ISA level, and the measure kernel
 * for sums the caller pooled.
 *
 * the runtime picks mck_pac_f32_* or mck_pac_f64_* at start. */
#include "lanes.h"
#include "work.h"

#define PAC_BITS 32
#include "scalar.h"
#include "table_body.h"
#undef PAC_BITS
#define PAC_BITS 64
#include "scalar.h"
#include "table_body.h"
