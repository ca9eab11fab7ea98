/* levinson.c - systems with a Toeplitz matrix by Levinson's recursion, real and complex.
 *
 * With T_m the leading block of m rows, f_m and g_m solve T_m f = (1, 0, ..., 0) and T_m g = (0,
 * ..., 0, 1). From m to m + 1: the errors of both, padded by 0, in the new row decide two
 * combinations of them; then x grows by its error times g. About 4 n^2 multiplications for the
 * matrix and 2 n^2 for each right-hand side, no matrix stored. Source: Levinson, "The Wiener rms
 * error criterion in filter design and prediction", 1946; Matrix computations, 2013, section 4.7.
 * Sums run in LANES partial sums. */
#include "../mck_levinson.h"
#include <math.h>

enum { LANES = 8 };

void MCK(levinson_f64)(const mck_levinson *a);
void MCK(levinson_c128)(const mck_levinson *a);

/* sum of t[i] x[n - 1 - i]: a stretch of diagonals against a vector, the diagonals run with the
 * columns */
static double product(int64_t n, const double *t, const double *x)
{
    double lane[LANES] = { 0 };
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) lane[l] += t[i + l] * x[n - 1 - i - l];
    for (; i < n; i++) lane[0] += t[i] * x[n - 1 - i];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

/* Row m of T, columns 0..m-1, is t[n - 1 + m] down to t[n]; row 0, columns 1..m, is t[n - 2] down
 * to t[n - 1 - m]. */
void MCK(levinson_f64)(const mck_levinson *a)
{
    const int64_t n = a->n;
    const double *const t = a->t, *const b = a->b;
    double *const f = a->work, *const g = f + n, *const x = a->x;
    if (n == 0) return;
    if (t[n - 1] == 0) {
        *a->status = 1;
        return;
    }
    f[0] = g[0] = 1.0 / t[n - 1];
    for (int64_t c = 0; c < a->k; c++) x[c * a->ld] = b[c * a->ld] / t[n - 1];
    for (int64_t m = 1; m < n; m++) {
        const double ef = product(m, t + n, f), eb = product(m, t + n - 1 - m, g);
        const double rest = 1.0 - ef * eb;
        if (rest == 0) {
            *a->status = 1;
            return;
        }
        const double scale = 1.0 / rest, cf = ef * scale, cb = eb * scale;
        f[m] = 0;
        double before = 0; /* g moved down by one, from the top */
        for (int64_t i = 0; i <= m; i++) {
            const double fi = f[i], gi = before;
            before = i < m ? g[i] : 0;
            f[i] = scale * fi - cf * gi;
            g[i] = scale * gi - cb * fi;
        }
        for (int64_t c = 0; c < a->k; c++) {
            double *const xc = x + c * a->ld;
            const double error = b[c * a->ld + m] - product(m, t + n, xc);
            xc[m] = 0;
            for (int64_t i = 0; i <= m; i++) xc[i] += error * g[i];
        }
    }
}

typedef mck_c128 Z;

MC_INLINE Z times(Z a, Z b)
{
    return (Z){ MC_PRODUCT(a.re, b.re) - MC_PRODUCT(a.im, b.im),
                MC_PRODUCT(a.re, b.im) + MC_PRODUCT(a.im, b.re) };
}

MC_INLINE Z over(Z a, Z b)
{
    const double size = hypot(b.re, b.im);
    const Z unit = { b.re / size, -b.im / size }, z = times(a, unit);
    return (Z){ z.re / size, z.im / size };
}

static Z product_complex(int64_t n, const Z *t, const Z *x)
{
    double re[LANES] = { 0 }, im[LANES] = { 0 };
    for (int64_t i = 0; i < n; i++) {
        const Z z = times(t[i], x[n - 1 - i]);
        re[i % LANES] += z.re;
        im[i % LANES] += z.im;
    }
    Z sum = { 0, 0 };
    for (int l = 0; l < LANES; l++) {
        sum.re += re[l];
        sum.im += im[l];
    }
    return sum;
}

void MCK(levinson_c128)(const mck_levinson *a)
{
    const int64_t n = a->n;
    const Z *const t = a->t, *const b = a->b, one = { 1, 0 };
    Z *const f = a->work, *const g = f + n, *const x = a->x;
    if (n == 0) return;
    if (t[n - 1].re == 0 && t[n - 1].im == 0) {
        *a->status = 1;
        return;
    }
    f[0] = g[0] = over(one, t[n - 1]);
    for (int64_t c = 0; c < a->k; c++) x[c * a->ld] = over(b[c * a->ld], t[n - 1]);
    for (int64_t m = 1; m < n; m++) {
        const Z ef = product_complex(m, t + n, f), eb = product_complex(m, t + n - 1 - m, g),
                both = times(ef, eb);
        const Z rest = { 1.0 - both.re, -both.im };
        if (rest.re == 0 && rest.im == 0) {
            *a->status = 1;
            return;
        }
        const Z scale = over(one, rest), cf = times(ef, scale), cb = times(eb, scale);
        f[m] = (Z){ 0, 0 };
        Z before = { 0, 0 };
        for (int64_t i = 0; i <= m; i++) {
            const Z fi = f[i], gi = before;
            if (i < m) before = g[i];
            const Z f1 = times(scale, fi), f2 = times(cf, gi), g1 = times(scale, gi),
                    g2 = times(cb, fi);
            f[i] = (Z){ f1.re - f2.re, f1.im - f2.im };
            g[i] = (Z){ g1.re - g2.re, g1.im - g2.im };
        }
        for (int64_t c = 0; c < a->k; c++) {
            Z *const xc = x + c * a->ld, dot = product_complex(m, t + n, xc);
            const Z error = { b[c * a->ld + m].re - dot.re, b[c * a->ld + m].im - dot.im };
            xc[m] = (Z){ 0, 0 };
            for (int64_t i = 0; i <= m; i++) {
                const Z step = times(error, g[i]);
                xc[i].re += step.re;
                xc[i].im += step.im;
            }
        }
    }
}
