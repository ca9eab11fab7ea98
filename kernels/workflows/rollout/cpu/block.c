/* block.c - normalisation, activation and residual sum of groups of channels. The body's
 * instances.
 *
 * A group of one channel fits the first cache: it is read three times from there and once from
 * memory. */
#include "body.h"

#define T float
#define NAME(x) x##_f32

#include "block_body.h"
#undef T
#undef NAME

#define T double
#define NAME(x) x##_f64

#include "block_body.h"
