/* row.c - the whole native path for one row: filter, analytic signal, coupling, surrogates,
 * with everything between in cache.
 *
 * Phase bins (or unit vectors) and amplitudes of the row live in the workspace unless the caller
 * also wants them. Knows the other stages by their entry points only. */
#include "lanes.h"
#include "work.h"

#define PAC_BITS 32
#include "scalar.h"
#include "row_body.h"
#undef PAC_BITS
#define PAC_BITS 64
#include "scalar.h"
#include "row_body.h"
