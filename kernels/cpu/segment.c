/* segment.c - rows gathered into segments: out[id[i]] = out[id[i]] o in[i], in the order of i.
 *
 * One dtype per kind, the widest: the runtime converts on the way in and out, so f32 adds in f64.
 * Extremes keep NaN. Letters: n rows of `inner` elements. */
#include "../mck_segment.h"

#define SEGMENT(op, name, T, step)                                    \
    void MCK(segment_##op##_##name)(const mck_segment *k);            \
    void MCK(segment_##op##_##name)(const mck_segment *k)             \
    {                                                                 \
        for (int64_t i = 0; i < k->n; i++) {                          \
            T *MC_RESTRICT d = (T *)k->out + k->id[i] * k->inner;     \
            const T *MC_RESTRICT x = (const T *)k->in + i * k->inner; \
            for (int64_t c = 0; c < k->inner; c++) {                  \
                step;                                                 \
            }                                                         \
        }                                                             \
    }

#define ADD d[c] = d[c] + x[c]
#define MULTIPLY d[c] = d[c] * x[c]
#define GREATEST d[c] = d[c] == d[c] && (x[c] > d[c] || x[c] != x[c]) ? x[c] : d[c]
#define LEAST d[c] = d[c] == d[c] && (x[c] < d[c] || x[c] != x[c]) ? x[c] : d[c]
SEGMENT(sum, f64, double, ADD)
SEGMENT(prod, f64, double, MULTIPLY)
SEGMENT(max, f64, double, GREATEST)
SEGMENT(min, f64, double, LEAST)
/* integers wrap modulo 2^64 */
SEGMENT(sum, i64, uint64_t, ADD)
SEGMENT(prod, i64, uint64_t, MULTIPLY)
SEGMENT(max, i64, int64_t, d[c] = x[c] > d[c] ? x[c] : d[c])
SEGMENT(min, i64, int64_t, d[c] = x[c] < d[c] ? x[c] : d[c])
SEGMENT(sum, c128, mck_c128, (d[c].re += x[c].re, d[c].im += x[c].im))
SEGMENT(prod, c128, mck_c128, const mck_c128 v = d[c]; d[c].re = v.re * x[c].re - v.im * x[c].im;
        d[c].im = v.re * x[c].im + v.im * x[c].re)
