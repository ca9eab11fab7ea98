/* matmul.c - plain matrix product: the oracle, the integer product, and the fallback where
 * OpenBLAS is missing.
 *
 * out[m][n] = sum_k a[m][k] b[k][n], all row-major and contiguous. The loop order i, k, j streams
 * b and out, so that the inner loop vectorises; f32 accumulates row blocks of k in f32 (the
 * tolerance class grows with sqrt k). */
#include "../mck_matmul.h"

#define MATMUL(name, T)                                                             \
    void MCK(matmul_##name)(const mck_matmul *p);                                   \
    void MCK(matmul_##name)(const mck_matmul *p)                                    \
    {                                                                               \
        const T *a = p->a, *b = p->b;                                               \
        T *c = p->out;                                                              \
        for (int64_t i = 0; i < p->m; i++) {                                        \
            T *row = c + i * p->n;                                                  \
            for (int64_t j = 0; j < p->n; j++)                                      \
                row[j] = 0;                                                         \
            for (int64_t l = 0; l < p->k; l++) {                                    \
                const T v = a[i * p->k + l];                                        \
                MC_IVDEP                                                            \
                for (int64_t j = 0; j < p->n; j++)                                  \
                    row[j] += v * b[l * p->n + j];                                  \
            }                                                                       \
        }                                                                           \
    }
MATMUL(f32, float)
MATMUL(f64, double)
MATMUL(i64, uint64_t)

#define MATMUL_COMPLEX(name, T, R)                                                  \
    void MCK(matmul_##name)(const mck_matmul *p);                                   \
    void MCK(matmul_##name)(const mck_matmul *p)                                    \
    {                                                                               \
        const T *a = p->a, *b = p->b;                                               \
        T *c = p->out;                                                              \
        for (int64_t i = 0; i < p->m; i++)                                          \
            for (int64_t j = 0; j < p->n; j++) {                                    \
                R re = 0, im = 0;                                                   \
                for (int64_t l = 0; l < p->k; l++) {                                \
                    const T x = a[i * p->k + l], y = b[l * p->n + j];               \
                    re += MC_PRODUCT(x.re, y.re) - MC_PRODUCT(x.im, y.im);          \
                    im += MC_PRODUCT(x.re, y.im) + MC_PRODUCT(x.im, y.re);          \
                }                                                                   \
                c[i * p->n + j].re = re;                                            \
                c[i * p->n + j].im = im;                                            \
            }                                                                       \
    }
MATMUL_COMPLEX(c64, mck_c64, float)
MATMUL_COMPLEX(c128, mck_c128, double)
