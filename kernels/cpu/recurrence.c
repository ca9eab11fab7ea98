/* recurrence.c - first-order linear recurrences with coefficients of their own at every step.
 *
 * y[i] = a[i] y[i - 1] + b[i], starting with y[1] = b[1]. Each step waits for the one before, so
 * four rows run side by side. Arithmetic in f64, as in running sums, so that f32 loses nothing
 * over long rows. Letters: m rows of n. */
#include "../mck_recurrence.h"

enum { ROWS = 4 };

#define REAL(T, NAME)                                                           \
    void MCK(linear_recurrence_##NAME)(const mck_recurrence *k);                \
    void MCK(linear_recurrence_##NAME)(const mck_recurrence *k)                 \
    {                                                                           \
        const int64_t n = k->n;                                                 \
        for (int64_t r = 0; r < k->m; r += ROWS) {                              \
            const int rows = k->m - r < ROWS ? (int)(k->m - r) : ROWS;          \
            const T *a = (const T *)k->a + r * n, *b = (const T *)k->b + r * n; \
            T *y = (T *)k->out + r * n;                                         \
            double s[ROWS] = { 0 };                                             \
            for (int l = 0; l < rows; l++) y[l * n] = (T)(s[l] = b[l * n]);     \
            for (int64_t i = 1; i < n; i++)                                     \
                for (int l = 0; l < rows; l++) {                                \
                    s[l] = a[l * n + i] * s[l] + b[l * n + i];                  \
                    y[l * n + i] = (T)s[l];                                     \
                }                                                               \
        }                                                                       \
    }
REAL(float, f32)
REAL(double, f64)

#define COMPLEX(C, T, NAME)                                                     \
    void MCK(linear_recurrence_##NAME)(const mck_recurrence *k);                \
    void MCK(linear_recurrence_##NAME)(const mck_recurrence *k)                 \
    {                                                                           \
        const int64_t n = k->n;                                                 \
        for (int64_t r = 0; r < k->m; r++) {                                    \
            const C *a = (const C *)k->a + r * n, *b = (const C *)k->b + r * n; \
            C *y = (C *)k->out + r * n;                                         \
            double re = 0, im = 0;                                              \
            for (int64_t i = 0; i < n; i++) {                                   \
                const double u = i ? a[i].re : 0, v = i ? a[i].im : 0;          \
                const double t = i ? u * re - v * im + b[i].re : b[i].re;       \
                im = i ? u * im + v * re + b[i].im : b[i].im;                   \
                re = t;                                                         \
                y[i].re = (T)re;                                                \
                y[i].im = (T)im;                                                \
            }                                                                   \
        }                                                                       \
    }
COMPLEX(mck_c64, float, c64)
COMPLEX(mck_c128, double, c128)
