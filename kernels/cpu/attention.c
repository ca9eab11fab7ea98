/* attention.c - attention and its derivatives, by blocks of queries and keys that stay in cache.
 *
 * Queries lie in lanes: fits and weights are matrices [key][query], so that maxima and sums over
 * keys go lane by lane, and a product takes one number of a key or value and a vector of queries.
 * The largest fit and the sum so far are carried from block to block of keys, what was summed is
 * rescaled. The way back makes the weights again from level = log of the sum of exp(fit). With the
 * weights P, gradient g of the result y: dV = P g, dS = P (V g - sum(y g) + g_level), dK = dS q,
 * dQ = dS k. A sum runs in one order whatever the vector and the tile: v3 and v4 agree bitwise, and
 * a query does not depend on its neighbours. Keys that no query of a block sees are left out.
 * Source: FlashAttention, 2022; FlashAttention-2, 2023. */
#include "../mck_attention.h"
#include "../mck_below.h"
#include "../mck_lanes.h"

#include <math.h>
#include <string.h>

enum { QUERIES = MCK_ATTENTION_QUERIES, KEYS = MCK_ATTENTION_KEYS };
/* Rows of a tile of two vectors: registers hold the sums, two vectors and a number. */
#if MCK_VL32 == 16
enum { TALL = 8 };
#else
enum { TALL = 6 };
#endif

#define CAT3_(a, b) a##_##b
#define CAT3(a, b) CAT3_(a, b)
#define FN(name) CAT3(name, NAME)

#define T float
#define NAME f32
#define V mck_vec32
#define VL MCK_VL32
#define OP(name) mck_##name##_32
#define TURN(v) mck_transpose_32(v)
#include "attention_body.h"

#define T double
#define NAME f64
#define V mck_vec64
#define VL MCK_VL64
#define OP(name) mck_##name##_64
#include "attention_body.h"
