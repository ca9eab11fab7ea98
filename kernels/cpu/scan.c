/* scan.c - running sums and products along contiguous rows: out[i][j] = in[i][0] o ... o in[i][j].
 *
 * f32 runs in an f64 accumulator, so that the error does not grow with the row; integers wrap modulo 2^64. May not know tensors. */
#include "../mck.h"

#define SCAN_REAL(op, name, T, ACC, start, o)                                       \
    void MCK(op##_##name)(const mck_reduce *k);                                     \
    void MCK(op##_##name)(const mck_reduce *k)                                      \
    {                                                                               \
        for (int64_t i = 0; i < k->m; i++) {                                        \
            const T *x = (const T *)k->in + i * k->n;                               \
            T *y = (T *)k->out + i * k->n;                                          \
            ACC acc = start;                                                        \
            for (int64_t j = 0; j < k->n; j++) {                                    \
                acc = acc o (ACC)x[j];                                              \
                y[j] = (T)acc;                                                      \
            }                                                                       \
        }                                                                           \
    }
SCAN_REAL(cumsum, f32, float, double, 0, +)
SCAN_REAL(cumsum, f64, double, double, 0, +)
SCAN_REAL(cumsum, i64, uint64_t, uint64_t, 0, +)
SCAN_REAL(cumprod, f32, float, double, 1, *)
SCAN_REAL(cumprod, f64, double, double, 1, *)
SCAN_REAL(cumprod, i64, uint64_t, uint64_t, 1, *)

#define SCAN_COMPLEX(name, T, R)                                                    \
    void MCK(cumsum_##name)(const mck_reduce *k);                                   \
    void MCK(cumprod_##name)(const mck_reduce *k);                                  \
    void MCK(cumsum_##name)(const mck_reduce *k)                                    \
    {                                                                               \
        for (int64_t i = 0; i < k->m; i++) {                                        \
            const T *x = (const T *)k->in + i * k->n;                               \
            T *y = (T *)k->out + i * k->n;                                          \
            double re = 0, im = 0;                                                  \
            for (int64_t j = 0; j < k->n; j++) {                                    \
                re += (double)x[j].re;                                              \
                im += (double)x[j].im;                                              \
                y[j].re = (R)re;                                                    \
                y[j].im = (R)im;                                                    \
            }                                                                       \
        }                                                                           \
    }                                                                               \
    void MCK(cumprod_##name)(const mck_reduce *k)                                   \
    {                                                                               \
        for (int64_t i = 0; i < k->m; i++) {                                        \
            const T *x = (const T *)k->in + i * k->n;                               \
            T *y = (T *)k->out + i * k->n;                                          \
            double re = 1, im = 0;                                                  \
            for (int64_t j = 0; j < k->n; j++) {                                    \
                const double a = (double)x[j].re, b = (double)x[j].im, t = re * a - im * b; \
                im = re * b + im * a;                                               \
                re = t;                                                             \
                y[j].re = (R)re;                                                    \
                y[j].im = (R)im;                                                    \
            }                                                                       \
        }                                                                           \
    }
SCAN_COMPLEX(c64, mck_c64, float)
SCAN_COMPLEX(c128, mck_c128, double)
