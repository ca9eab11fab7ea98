/* attention.c - attention and its derivatives, by blocks of queries and keys that stay in cache.
 *
 * Queries lie in lanes of fits and weights, matrices [key][query]: maxima and sums over keys go
 * lane by lane, and a product takes one number of a key and a vector of queries. Results lie as
 * values do: a product takes one weight and a vector of values. A fit that weights are relative to
 * and their sum so far are carried from block to block of keys; what was summed is rescaled where
 * that fit changes, which depends on the query alone. Each product reads ahead for the next one.
 * The way back makes the weights again from level = log of the sum of exp(fit). With the weights P,
 * gradient g of the result y: dV = P g, dS = P (V g - sum(y g) + g_level), dK = dS q, dQ = dS k. A
 * sum runs in one order whatever the vector and the tile: v3 and v4 agree bitwise, and a query does
 * not depend on its neighbours. Keys that no query of a block sees are left out.
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

/* Weights are relative to a fit that a later one replaces where it is larger by more than this:
 * weights of up to exp(8) lose no digit, and sums so far are rarely rescaled. */
#define GROWTH 8

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
