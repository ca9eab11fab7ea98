/* scan.c - running sums, products, extremes and log sums of exponentials along contiguous rows:
 * out[i][j] = in[i][0] o ... o in[i][j].
 *
 * f32 runs in an f64 accumulator, so that the error does not grow with the row; integers wrap
 * modulo 2^64. */
#include "../mck_reduce.h"
#include "../mck_math.h"

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

/* elements that are looked through for NaN first: without any, a step is one instruction */
#define NAN_BLOCK 256

/* running extremes and the positions of the first of them; NaN wins and stays */
#define SCAN_ORDER(op, sign, name, T)                                               \
    void MCK(op##_##name)(const mck_reduce *k);                                     \
    void MCK(arg##op##_##name)(const mck_reduce *k);                                \
    void MCK(op##_##name)(const mck_reduce *k)                                      \
    {                                                                               \
        for (int64_t i = 0; i < k->m; i++) {                                        \
            const T *x = (const T *)k->in + i * k->n;                               \
            T *y = (T *)k->out + i * k->n, best = k->n > 0 ? x[0] : 0;              \
            for (int64_t j = 0, end; j < k->n; j = end) {                           \
                int nan = best != best;                                             \
                end = k->n - j < NAN_BLOCK ? k->n : j + NAN_BLOCK;                  \
                for (int64_t l = j; l < end; l++)                                   \
                    nan |= x[l] != x[l];                                            \
                for (int64_t l = j; !nan && l < end; l++) {                         \
                    best = x[l] sign best ? x[l] : best;                            \
                    y[l] = best;                                                    \
                }                                                                   \
                for (int64_t l = j; nan && l < end; l++) {                          \
                    const T v = x[l];                                               \
                    best = best == best && (v sign best || v != v) ? v : best;      \
                    y[l] = best;                                                    \
                }                                                                   \
            }                                                                       \
        }                                                                           \
    }                                                                               \
    void MCK(arg##op##_##name)(const mck_reduce *k)                                 \
    {                                                                               \
        for (int64_t i = 0; i < k->m; i++) {                                        \
            const T *x = (const T *)k->in + i * k->n;                               \
            int64_t *y = (int64_t *)k->out + i * k->n, at = 0;                      \
            for (int64_t j = 0; j < k->n; j++) {                                    \
                const T v = x[j], best = x[at];                                     \
                at = best == best && (v sign best || v != v) ? j : at;              \
                y[j] = at + k->base;                                                \
            }                                                                       \
        }                                                                           \
    }
#define SCAN_ORDERS(name, T) SCAN_ORDER(cummax, >, name, T) SCAN_ORDER(cummin, <, name, T)
SCAN_ORDERS(u8, uint8_t)
SCAN_ORDERS(i8, int8_t)
SCAN_ORDERS(i16, int16_t)
SCAN_ORDERS(i32, int32_t)
SCAN_ORDERS(i64, int64_t)
SCAN_ORDERS(f32, float)
SCAN_ORDERS(f64, double)

/* log of the running sum of exponentials: sum (in f64) is relative to the running maximum, which
 * rescales it when it moves */
#define SCAN_LSE(name, T)                                                           \
    void MCK(logcumsumexp_##name)(const mck_reduce *k);                             \
    void MCK(logcumsumexp_##name)(const mck_reduce *k)                              \
    {                                                                               \
        for (int64_t i = 0; i < k->m; i++) {                                        \
            const T *x = (const T *)k->in + i * k->n;                               \
            T *y = (T *)k->out + i * k->n;                                          \
            double max = -MCK_INF_F64, sum = 0;                                     \
            for (int64_t j = 0; j < k->n; j++) {                                    \
                const double v = (double)x[j];                                      \
                if (v > max || v != v) {                                            \
                    sum = max == max && v < MCK_INF_F64 ? sum * mck_exp_f64(max - v) + 1 : 1; \
                    max = max == max ? v : max;                                     \
                } else if (max < MCK_INF_F64 && v > -MCK_INF_F64) {                 \
                    sum += mck_exp_f64(v - max);                                    \
                }                                                                   \
                y[j] = (T)(max - max == 0 ? max + mck_log_f64(sum) : max);          \
            }                                                                       \
        }                                                                           \
    }
SCAN_LSE(f32, float)
SCAN_LSE(f64, double)
