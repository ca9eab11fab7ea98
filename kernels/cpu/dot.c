/* dot.c - inner products of rows: out[i] = sum_j a[i][j] b[i][j], with conj(a) for complex numbers.
 *
 * The plain definition is mck_dot_ref below. f32 multiplies and accumulates in f64, complex
 * numbers in c128, integers modulo 2^64; a row runs in LANES fixed lanes folded as a tree, each
 * real product fused into its lane where the machine can (named: MC_MULADD). Letters: m rows, n
 * elements of a row. */
#include "../mck_dot.h"
#include "../mck_reduce.h"
#include "../mck_math.h"

void MCK(dot_ref)(const mck_dot *k);

/* the definition for f64, one accumulator */
void MCK(dot_ref)(const mck_dot *k)
{
    for (int64_t i = 0; i < k->m; i++) {
        double acc = 0;
        for (int64_t j = 0; j < k->n; j++)
            acc += ((const double *)k->a)[i * k->a_row + j * k->a_elem] *
                   ((const double *)k->b)[i * k->b_row + j * k->b_elem];
        ((double *)k->out)[i] = acc;
    }
}

#define LANES 32 /* eight vectors of four f64: enough to hide the latency of a fused multiply-add */
#define INTEGER_MADD(a, b, c) ((a) * (b) + (c))
#define BLOCK 64 /* columns whose sums stay in registers and the first cache */

#define T float
#define ACC double
#define NAME f32
#define MADD MC_MULADD
#include "dot_body.h"

#define T double
#define ACC double
#define NAME f64
#define MADD MC_MULADD
#include "dot_body.h"

#define T int64_t
#define ACC uint64_t
#define NAME i64
#define MADD INTEGER_MADD
#include "dot_body.h"

#define T float
#define ACC double
#define NAME c64
#define PAIRS
#define MADD MC_MULADD
#include "dot_body.h"

#define T double
#define ACC double
#define NAME c128
#define PAIRS
#define MADD MC_MULADD
#include "dot_body.h"
