/* pac_row.c - the whole native path for one row: filter, analytic signal, coupling, surrogates,
 * with everything between in cache.
 *
 * Phase bins (or unit vectors) and amplitudes of the row live in the workspace unless the caller
 * also wants them. Knows the other stages by their entry points only. */
#include "pac_lanes.h"
#include "pac_work.h"

#define PAC_BITS 32
#include "pac_scalar.h"
#include "pac_row_body.h"
#undef PAC_BITS
#define PAC_BITS 64
#include "pac_scalar.h"
#include "pac_row_body.h"
