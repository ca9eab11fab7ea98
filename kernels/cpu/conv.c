/* conv.c - convolutions as sums over shifted planes: the loops of the result, of both
 * derivatives, and of what goes in and out of planes.
 *
 * conv_rows: out[c][p] = sum_k w[c][k] in[off[k] + p]; m channels, k taps of all channels of the
 * operand, n places. conv_dots: out[c][k] += sum_p g[c][p] x[off[k] + p], lanes are places; where
 * there are channels enough conv_outer has them in lanes, so that no sum ends across a vector. A
 * tile stays in registers; a sum runs over k, of conv_outer over places, in steps of MCK_CONV_STEP
 * (conv_dots: in lanes of 64 bytes and stretches of STRETCH), whatever the tile, so that v3 and v4
 * agree bitwise. */
#include "../mck_conv.h"
#include "../mck_lanes.h"

/* Places of conv_dots between two sums: three rows of f32 fill a third of the first cache. */
#define STRETCH 1024
#if MCK_VL32 == 16 /* 32 registers */
enum { WIDE4 = 6, WIDE3 = 8, WIDE2 = 8, WIDE1 = 8, DOT_ROWS = 6, OUTER_ROWS = 12, TALL = 3 };
enum { LANE_MANY = 14, LANE_SOME = 8, LANE_FEW = 4 };
#else /* 16: accumulators, one row of the operand, one weight */
enum { WIDE4 = 3, WIDE3 = 4, WIDE2 = 6, WIDE1 = 8, DOT_ROWS = 3, OUTER_ROWS = 6, TALL = 1 };
enum { LANE_MANY = 6, LANE_SOME = 4, LANE_FEW = 2 };
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
#include "conv_body.h"

#define T double
#define NAME f64
#define V mck_vec64
#define VL MCK_VL64
#define OP(name) mck_##name##_64
#include "conv_body.h"
