/* small_linalg.c - linear algebra of many small matrices, vectorised across the batch.
 *
 * A tile of 16 (f32, c64) or 8 (f64, c128) matrices is turned so that equal elements of all of them
 * lie together; elimination with partial pivoting and Cholesky then run on all at once, a pivot's
 * row exchange being a select.
 * Times beside the LAPACK loop of the same driver (one thread of an AMD EPYC at 2 cores shared,
 * OpenBLAS 0.3.21, v3, 2048 matrices, the best of 60 interleaved runs; ns a matrix here, then how
 * many times LAPACK's):
 *        rows   solve (1 side)   inv          det          cholesky     lu_factor
 *   f32  4       28  9.3x         63  6.4x     56  3.3x     33  5.3x     32  6.4x
 *   f64  4       55  6.4x        149  4.0x     92  2.7x    107  2.4x    125  2.6x
 *   f64  8      117  5.3x        481  2.6x    174  2.8x    149  2.7x    160  3.3x
 *   c64  4       75  8.3x         92  8.9x     68  3.4x     41  4.0x     46  5.2x
 *   c128 4       63  5.5x         89  4.9x     79  2.9x     51  2.4x     68  3.7x
 * The whole call, with making the result, is in both; runtime/family/mc_linalg_small.c says up to
 * which size each is used.
 * Letters: n rows and columns, k right-hand sides, both up to MCK_SMALL. */
#include "../mck_small.h"
#include "../mck_math.h"

#include <math.h>
#include <string.h>

#define T float
#define NUM float
#define NAME f32
#define LANES 16
#define PLANES 1
#define MULADD MC_MULADDF
#define MCK_SQRT sqrtf
#include "small_linalg_body.h"
#undef NUM
#undef NAME
#undef PLANES

#define NUM mck_c64
#define NAME c64
#define PLANES 2
#include "small_linalg_body.h"
#undef T
#undef NUM
#undef NAME
#undef LANES
#undef PLANES
#undef MULADD
#undef MCK_SQRT

#define T double
#define NUM double
#define NAME f64
#define LANES 8
#define PLANES 1
#define MULADD MC_MULADD
#define MCK_SQRT sqrt
#include "small_linalg_body.h"
#undef NUM
#undef NAME
#undef PLANES

#define NUM mck_c128
#define NAME c128
#define PLANES 2
#include "small_linalg_body.h"
