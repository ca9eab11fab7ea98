/* dct.c - what stands before and after a Fourier transform to make a cosine or sine transform of
 * it, types 1 to 4.
 *
 * A row of n reals is laid out for a transform of real or complex numbers, often of another
 * length, and its bins are turned back into n reals: types 2 and 3 by Makhoul's even reordering (A
 * fast cosine transform in one and two dimensions, 1980), type 4 by a complex transform of n / 2,
 * or of 2 n for odd n, type 1 by an even or odd extension. Sine transforms are cosine transforms
 * of the row with every second sign changed or read backwards. The plain sum is dct_ref below. The
 * twiddle factors: e^(-i pi j / (4 n)) from two short tables, so that no more than their product
 * is rounded. Letters: n samples, N = n, k bin. */
#include "../mck_dct.h"

#include <math.h>

#define PI 3.14159265358979323846

void MCK(dct_ref)(const mck_dct *a);

/* the definition, O(n^2), unscaled, in f64 */
void MCK(dct_ref)(const mck_dct *a)
{
    const double *x = a->in;
    double *y = a->out;
    const double n = (double)a->n;
    for (int64_t k = 0; k < a->n; k++) {
        double sum = 0;
        for (int64_t t = 0; t < a->n; t++) {
            const double kk = (double)k, tt = (double)t;
            double angle = 0, weight = 2;
            switch (a->type) {
            case 1:
                angle = a->sine ? PI * (kk + 1) * (tt + 1) / (n + 1) : PI * kk * tt / (n - 1);
                weight = !a->sine && (t == 0 || t == a->n - 1) ? 1 : 2;
                break;
            case 2:
                angle = PI * (a->sine ? kk + 1 : kk) * (2 * tt + 1) / (2 * n);
                break;
            case 3:
                angle = PI * (2 * kk + 1) * (a->sine ? tt + 1 : tt) / (2 * n);
                weight = t == (a->sine ? a->n - 1 : 0) ? 1 : 2;
                break;
            default:
                angle = PI * (2 * kk + 1) * (2 * tt + 1) / (4 * n);
            }
            sum += weight * x[t] * (a->sine ? sin(angle) : cos(angle));
        }
        y[k] = sum;
    }
}

/* table[2 i], table[2 i + 1] = e^(-i pi j / (4 n)) with j = first + i step for i < count. The low
 * and high parts of j come from two tables of about sqrt(4 n) entries that stand behind the 2 count
 * numbers of the result: at most 12 sqrt(n) + 16 doubles more. */
void MCK(dct_table)(const mck_dct *a);
void MCK(dct_table)(const mck_dct *a)
{
    double *t = a->table;
    const int64_t count = a->count;
    const int64_t last = a->first + (count > 0 ? count - 1 : 0) * a->step;
    int64_t low = 1;
    while (low * low <= last) low *= 2;
    double *lo = t + 2 * count, *hi = lo + 2 * low;
    const double unit = PI / (4.0 * (double)a->n);
    for (int64_t j = 0; j < low; j++) {
        lo[2 * j] = cos(unit * (double)j);
        lo[2 * j + 1] = -sin(unit * (double)j);
    }
    for (int64_t j = 0; j <= last / low; j++) {
        hi[2 * j] = cos(unit * (double)(j * low));
        hi[2 * j + 1] = -sin(unit * (double)(j * low));
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t j = a->first + i * a->step;
        const double *p = lo + 2 * (j % low), *q = hi + 2 * (j / low);
        t[2 * i] = p[0] * q[0] - p[1] * q[1];
        t[2 * i + 1] = p[0] * q[1] + p[1] * q[0];
    }
}

#define T float
#define NAME(x) MCK(x##_f32)
#include "dct_body.h"

#define T double
#define NAME(x) MCK(x##_f64)
#include "dct_body.h"
