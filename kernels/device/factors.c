/* factors.c - what is made of factored matrices, and QR by reflections (Householder). Matrices are
 * dense, one behind the other.
 *
 * As in linalg.c; IMAG(x), JOINED(re, im), TIMES(x, y), SCALED(x, f) with f of R. */
#include "jobs.h"
#include "index.h"
#include "mck_math_c.h"
#include "meet.h"

#define A(r, c) a[(r) * j.cols + (c)]

/* Determinants from P L U: a lane for each matrix. Buffers: factors, pivots, results, and with
 * `unit` the logarithms of their moduli, results being phases. */
KERNEL determinant(GLOBAL const char *m, GLOBAL const char *pivots, GLOBAL char *out,
                   GLOBAL char *logs, const mcd_linalg j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        GLOBAL const T *a = AT(const T, m, j.at[0]) + i * j.rows * j.cols;
        GLOBAL const int64_t *pivot = AT(const int64_t, pivots, j.at[1]) + i * j.count;
        double re = 1, im = 0, sum = 0;
        int64_t steps = 0; /* powers of 2^512 taken out of the product */
        for (int64_t r = 0; r < j.rows; r++) {
            double x = (double)REAL(A(r, r)), y = (double)IMAG(A(r, r));
            if (pivot[r] - j.base != r) {
                re = -re;
                im = -im;
            }
            if (j.unit) {
                const double size = mck_hypot_f64(x, y);
                sum += mck_log_f64(size);
                x = y != 0 ? x / size : x > 0 ? 1 : x < 0 ? -1 : x; /* of 0 and NaN itself */
                y = y == 0 ? 0 : y / size;
            }
            /* with an infinity 0 of an imaginary part that is none would make NaN */
            const int real = y == 0 && im == 0;
            const double t = real ? re * x : re * x - im * y;
            im = real ? 0 : re * y + im * x;
            re = t;
            const double size = mck_abs_f64(re) + mck_abs_f64(im);
            const double by = size > 0x1p512 ? 0x1p-512 : size < 0x1p-512 && size > 0 ? 0x1p512 : 1;
            steps += by < 1 ? 1 : by > 1 ? -1 : 0;
            re *= by;
            im *= by;
        }
        for (; steps > 0; steps--) {
            re *= 0x1p512;
            im *= 0x1p512;
        }
        for (; steps < 0; steps++) {
            re *= 0x1p-512;
            im *= 0x1p-512;
        }
        AT(T, out, j.at[2])[i] = JOINED(re, im);
        if (j.unit) AT(R, logs, j.at[3])[i] = (R)sum;
    }
}

/* Reflections that make R of a: v below the diagonal of a, their factors. A group for each matrix.
 * Buffers: matrices, factors [count]. */
KERNEL reflect(GLOBAL char *m, GLOBAL char *factors, const mcd_linalg j)
{
    MCD_GROUP_MEMORY double part[256];
    const int64_t i = GROUP_AT(0);
    GLOBAL T *a = AT(T, m, j.at[0]) + i * j.rows * j.cols;
    GLOBAL T *tau = AT(T, factors, j.at[1]) + i * j.count;
    for (int64_t k = 0; k < j.count; k++) {
        /* the largest part of the column, so that squares stay in range */
        double most = 0;
        for (int64_t r = k + LANE; r < j.rows; r += LANES) {
            const double x = mck_abs_f64((double)REAL(A(r, k))),
                         y = mck_abs_f64((double)IMAG(A(r, k)));
            most = x > most || x != x ? x : most;
            most = y > most || y != y ? y : most;
        }
        part[LANE] = most;
        for (int h = LANES / 2; h > 0; h /= 2) {
            BARRIER;
            if (LANE < h && (part[LANE + h] > part[LANE] || part[LANE + h] != part[LANE + h]))
                part[LANE] = part[LANE + h];
        }
        BARRIER;
        most = part[0];
        const double by =
            most > 0 && most < (double)INFINITY ? mck_unit_scale_f64(most) : 1;
        double sum = 0;
        BARRIER;
        for (int64_t r = k + 1 + LANE; r < j.rows; r += LANES) {
            const double x = (double)REAL(A(r, k)) * by, y = (double)IMAG(A(r, k)) * by;
            sum += x * x + y * y;
        }
        part[LANE] = sum;
        for (int h = LANES / 2; h > 0; h /= 2) {
            BARRIER;
            if (LANE < h) part[LANE] += part[LANE + h];
        }
        BARRIER;
        /* all in units of `by`, where nothing is too small to keep its digits */
        const double x = (double)REAL(A(k, k)) * by, y = (double)IMAG(A(k, k)) * by, rest = part[0];
        const int none = rest == 0 && y == 0;
        const double norm = sqrt(x * x + y * y + rest), beta = none ? x : x >= 0 ? -norm : norm;
        const T t = none ? MAKE(0) : JOINED((beta - x) / beta, -y / beta);
        /* v = rest of the column / (alpha - beta), of which 1 / may be out of range */
        const double u = x - beta, square = none ? 1 : u * u + y * y;
        MEET;
        if (LANE == 0) {
            if (!none) A(k, k) = MAKE(beta / by);
            tau[k] = t;
        }
        for (int64_t r = k + 1 + LANE; r < j.rows && !none; r += LANES) {
            const double p = (double)REAL(A(r, k)) * by, q = (double)IMAG(A(r, k)) * by;
            A(r, k) = JOINED((p * u + q * y) / square, (q * u - p * y) / square);
        }
        MEET;
        for (int64_t c = k + 1 + LANE; c < j.cols && !none; c += LANES) {
            T w = A(k, c);
            for (int64_t r = k + 1; r < j.rows; r++) w = ADD_MUL(w, CONJ(A(r, k)), A(r, c));
            w = TIMES(CONJ(t), w);
            A(k, c) = SUB_MUL(A(k, c), w, MAKE(1));
            for (int64_t r = k + 1; r < j.rows; r++) A(r, c) = SUB_MUL(A(r, c), A(r, k), w);
        }
        MEET;
    }
}

/* Columns of Q from the reflections: a lane for each. q[rows][width] begins as the unit matrix.
 * Buffers: q, reflections [rows][cols], factors. */
KERNEL columns(GLOBAL char *q, GLOBAL const char *m, GLOBAL const char *factors, const mcd_linalg j)
{
    const int64_t lane = GLOBAL_LANE, i = lane / j.width, c = lane - i * j.width;
    if (i < j.n) {
        GLOBAL T *x = AT(T, q, j.at[0]) + i * j.rows * j.width + c;
        GLOBAL const T *a = AT(const T, m, j.at[1]) + i * j.rows * j.cols;
        GLOBAL const T *tau = AT(const T, factors, j.at[2]) + i * j.count;
        for (int64_t k = j.count - 1; k >= 0; k--) {
            T w = x[k * j.width];
            for (int64_t r = k + 1; r < j.rows; r++)
                w = ADD_MUL(w, CONJ(A(r, k)), x[r * j.width]);
            w = TIMES(tau[k], w);
            x[k * j.width] = SUB_MUL(x[k * j.width], w, MAKE(1));
            for (int64_t r = k + 1; r < j.rows; r++)
                x[r * j.width] = SUB_MUL(x[r * j.width], A(r, k), w);
        }
    }
}
