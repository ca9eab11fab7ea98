/* reduce.c - sums, products, extremes, their positions, any/all, counts, copies without NaN.
 *
 * The plain definition is in mck_sum_ref below; the tests hold the others against it. Sums of f32
 * accumulate in f64, of integers in i64 modulo 2^64. */
#include "../mck_reduce.h"
#include "../mck_extremes.h"

void MCK(sum_ref)(const mck_reduce *k);

/* the definition: out[i] = sum_j in[i][j], one f64 accumulator */
void MCK(sum_ref)(const mck_reduce *k)
{
    for (int64_t i = 0; i < k->m; i++) {
        double acc = 0;
        for (int64_t j = 0; j < k->n; j++)
            acc += ((const double *)k->in)[i * k->row_stride + j * k->elem_stride];
        ((double *)k->out)[i] = acc;
    }
}

#define PROTO(op, name) void MCK(op##_##name)(const mck_reduce *k);
#define PROTO_SUM(name) PROTO(sum, name) PROTO(prod, name)
#define PROTO_ORDER(name) PROTO(max, name) PROTO(min, name) PROTO(argmax, name) PROTO(argmin, name)
PROTO_SUM(i64)
PROTO_SUM(f32) PROTO_SUM(f64) PROTO_SUM(c64) PROTO_SUM(c128) PROTO_ORDER(u8) PROTO_ORDER(i8)
    PROTO_ORDER(i16) PROTO_ORDER(i32) PROTO_ORDER(i64) PROTO_ORDER(f32) PROTO_ORDER(f64)
        PROTO(nansum, f32) PROTO(nansum, f64) PROTO(nanfill, f32) PROTO(nanfill, f64)
            PROTO(nanfill, c64) PROTO(nanfill, c128) PROTO(nanhold, f32) PROTO(nanhold, f64)
                PROTO(any, u8) PROTO(all, u8) PROTO(count, u8)

#define T float
#define NAME f32
#define ACC double
#define KIND 1
#define LANES 16
#define BITS 32
#define VEC mck_vec32
#define VL MCK_VL32
#define WANT_SUM
#define WANT_ORDER
#define WANT_NAN
#define COUNT int32_t
#include "reduce_body.h"

#define T double
#define NAME f64
#define ACC double
#define KIND 1
#define LANES 8
#define BITS 64
#define VEC mck_vec64
#define VL MCK_VL64
#define WANT_SUM
#define WANT_ORDER
#define WANT_NAN
#define COUNT int64_t
#include "reduce_body.h"

#define T float
#define NAME c64
#define ACC double
#define KIND 2
#define LANES 16
#define WANT_SUM
#define WANT_NAN
#define COUNT int32_t
#include "reduce_body.h"

#define T double
#define NAME c128
#define ACC double
#define KIND 2
#define LANES 8
#define WANT_SUM
#define WANT_NAN
#define COUNT int64_t
#include "reduce_body.h"

/* integers sum modulo 2^64: unsigned arithmetic, the same bits */
#define T uint64_t
#define NAME i64
#define ACC uint64_t
#define KIND 0
#define LANES 8
#define WANT_SUM
#include "reduce_body.h"

#define T uint8_t
#define NAME u8
#define KIND 0
#define LANES 32
#define WANT_ORDER
#include "reduce_body.h"

#define T int8_t
#define NAME i8
#define KIND 0
#define LANES 32
#define WANT_ORDER
#include "reduce_body.h"

#define T int16_t
#define NAME i16
#define KIND 0
#define LANES 32
#define WANT_ORDER
#include "reduce_body.h"

#define T int32_t
#define NAME i32
#define KIND 0
#define LANES 16
#define WANT_ORDER
#include "reduce_body.h"

#define T int64_t
#define NAME i64
#define KIND 0
#define LANES 16
#define WANT_ORDER
#include "reduce_body.h"

    /* booleans: any is the maximum of 0/1, all the minimum; an empty row is handled by the
     * runtime */
    void MCK(any_u8)(const mck_reduce *k) { MCK(max_u8)(k); }
void MCK(all_u8)(const mck_reduce *k) { MCK(min_u8)(k); }

/* how many bytes of 0/1 are set: rows and columns as in the sums */
void MCK(count_u8)(const mck_reduce *k)
{
    const uint8_t *x = k->in;
    int64_t *out = k->out;
    if (k->elem_stride != 1 && k->row_stride == 1) {
        for (int64_t i0 = 0; i0 < k->m; i0 += 256) {
            const int64_t width = k->m - i0 < 256 ? k->m - i0 : 256;
            for (int64_t i = 0; i < width; i++)
                out[i0 + i] = 0;
            for (int64_t r0 = 0; r0 < k->n; r0 += 255) { /* a byte holds 255 additions */
                uint8_t lane[256] = {0};
                const int64_t end = k->n - r0 < 255 ? k->n : r0 + 255;
                for (int64_t r = r0; r < end; r++)
                    for (int64_t i = 0; i < width; i++)
                        lane[i] = (uint8_t)(lane[i] + (x[r * k->elem_stride + i0 + i] != 0));
                for (int64_t i = 0; i < width; i++)
                    out[i0 + i] += lane[i];
            }
        }
        return;
    }
    for (int64_t i = 0; i < k->m; i++) {
        const uint8_t *row = x + i * k->row_stride;
        int64_t total = 0, j = 0;
        while (j < k->n && k->elem_stride == 1) { /* a byte holds 128 additions */
            uint8_t lane[32] = {0};
            int64_t b = 0;
            for (; b < 128 && j + 32 <= k->n; b++, j += 32)
                for (int l = 0; l < 32; l++)
                    lane[l] = (uint8_t)(lane[l] + (row[j + l] != 0));
            for (int l = 0; l < 32; l++)
                total += lane[l];
            if (j + 32 > k->n)
                break;
        }
        for (; j < k->n; j++)
            total += row[j * k->elem_stride] != 0;
        out[i] = total;
    }
}
