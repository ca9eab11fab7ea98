/* block.c - normalisation, activation and residual sum of groups of channels. The body's
 * instances.
 *
 * A group of one channel fits the first cache: it is read three times from there and once from
 * memory. */
#include "body.h"

#include "f32.h"
#include "block_body.h"
#include "f64.h"
#include "block_body.h"
