/* dct_body.h - layout before and arithmetic after the transform, for one precision; included by
 * dct.c with T and NAME defined.
 *
 * in and out of `before` are the row and the operand of the plan, of `after` the plan's result and
 * the row. Arithmetic with twiddles runs in f64. orthogonal: the factors of sqrt 2 that make the
 * matrix orthogonal, before (types 1, 3) and after (types 1, 2). */

void NAME(dct_before)(const mck_dct *a);
void NAME(dct_before)(const mck_dct *a)
{
    const T *x = a->in;
    T *z = a->out;
    const double *w = a->table;
    const int64_t n = a->n, half = (n + 1) / 2;
    const int sine = a->sine;
    const double root = 1.41421356237309504880;
    if (a->type == 1 && !sine) { /* x[0..n-1], then x[n-2..1] */
        for (int64_t i = 0; i < n; i++) z[i] = x[i];
        if (a->orthogonal) {
            z[0] = (T)((double)x[0] * root);
            z[n - 1] = (T)((double)x[n - 1] * root);
        }
        for (int64_t i = 1; i < n - 1; i++) z[2 * (n - 1) - i] = x[i];
    } else if (a->type == 1) { /* 0, x, 0, -x backwards */
        z[0] = z[n + 1] = 0;
        for (int64_t i = 0; i < n; i++) {
            z[i + 1] = x[i];
            z[2 * n + 1 - i] = -x[i];
        }
    } else if (a->type == 2) { /* even places forwards, odd ones backwards */
        for (int64_t i = 0; i < half; i++) z[i] = x[2 * i];
        if (sine)
            for (int64_t i = 0; i < n / 2; i++) z[n - 1 - i] = -x[2 * i + 1];
        else
            for (int64_t i = 0; i < n / 2; i++) z[n - 1 - i] = x[2 * i + 1];
    } else if (a->type == 3) { /* bins k of half a spectrum: (x[k] - i x[n - k]) conj(w[k]) */
        const double edge = a->orthogonal ? root : 1;
        for (int64_t k = 0; k <= n / 2; k++) {
            const int64_t p = sine ? n - 1 - k : k, q = sine ? k - 1 : n - k;
            const double re = (double)x[p] * (k ? 1 : edge), im = k ? -(double)x[q] : 0;
            z[2 * k] = (T)(MC_PRODUCT(re, w[2 * k]) + MC_PRODUCT(im, w[2 * k + 1]));
            z[2 * k + 1] = (T)(MC_PRODUCT(im, w[2 * k]) - MC_PRODUCT(re, w[2 * k + 1]));
        }
    } else if (n % 2 == 0) { /* (x[2 i] + i x[n - 1 - 2 i]) w[i] */
        for (int64_t i = 0; i < n / 2; i++) {
            const double re = (double)(sine ? x[n - 1 - 2 * i] : x[2 * i]),
                         im = (double)(sine ? x[2 * i] : x[n - 1 - 2 * i]);
            z[2 * i] = (T)(MC_PRODUCT(re, w[2 * i]) - MC_PRODUCT(im, w[2 * i + 1]));
            z[2 * i + 1] = (T)(MC_PRODUCT(re, w[2 * i + 1]) + MC_PRODUCT(im, w[2 * i]));
        }
    } else { /* x[i] w[i], then n zeros */
        for (int64_t i = 0; i < n; i++) {
            const double v = (double)(sine ? x[n - 1 - i] : x[i]);
            z[2 * i] = (T)(v * w[2 * i]);
            z[2 * i + 1] = (T)(v * w[2 * i + 1]);
        }
        for (int64_t i = 2 * n; i < 4 * n; i++) z[i] = 0;
    }
}

void NAME(dct_after)(const mck_dct *a);
void NAME(dct_after)(const mck_dct *a)
{
    const T *z = a->in;
    T *y = a->out;
    const double *w = a->table, s = a->scale;
    const int64_t n = a->n;
    const int sine = a->sine;
    const double root = 0.70710678118654752440;
    if (a->type == 1 && !sine) {
        for (int64_t k = 0; k < n; k++) y[k] = (T)(s * (double)z[2 * k]);
        if (a->orthogonal) {
            y[0] = (T)(s * root * (double)z[0]);
            y[n - 1] = (T)(s * root * (double)z[2 * (n - 1)]);
        }
    } else if (a->type == 1) {
        for (int64_t k = 0; k < n; k++) y[k] = (T)(-s * (double)z[2 * k + 3]);
    } else if (a->type == 2) {
        const double d = 2 * s, edge = a->orthogonal ? d * root : d;
        if (sine) {
            y[n - 1] = (T)(edge * (double)z[0]);
            for (int64_t k = 1; k <= n / 2; k++) {
                const double re = MC_PRODUCT((double)z[2 * k], w[2 * k]) -
                                  MC_PRODUCT((double)z[2 * k + 1], w[2 * k + 1]);
                const double im = MC_PRODUCT((double)z[2 * k], w[2 * k + 1]) +
                                  MC_PRODUCT((double)z[2 * k + 1], w[2 * k]);
                y[k - 1] = (T)(-d * im);
                y[n - 1 - k] = (T)(d * re);
            }
        } else {
            y[0] = (T)(edge * (double)z[0]);
            for (int64_t k = 1; k <= n / 2; k++) {
                const double re = MC_PRODUCT((double)z[2 * k], w[2 * k]) -
                                  MC_PRODUCT((double)z[2 * k + 1], w[2 * k + 1]);
                const double im = MC_PRODUCT((double)z[2 * k], w[2 * k + 1]) +
                                  MC_PRODUCT((double)z[2 * k + 1], w[2 * k]);
                y[n - k] = (T)(-d * im);
                y[k] = (T)(d * re);
            }
        }
    } else if (a->type == 3) {
        const T *v = z;
        const double odd = sine ? -s : s;
        for (int64_t i = 0; i < (n + 1) / 2; i++) y[2 * i] = (T)(s * (double)v[i]);
        for (int64_t i = 0; i < n / 2; i++) y[2 * i + 1] = (T)(odd * (double)v[n - 1 - i]);
    } else if (n % 2 == 0) { /* the factors behind follow those in front in the table */
        const double *u = w + n, d = 2 * s, odd = sine ? d : -d;
        for (int64_t k = 0; k < n / 2; k++) {
            const double re = MC_PRODUCT((double)z[2 * k], u[2 * k]) -
                              MC_PRODUCT((double)z[2 * k + 1], u[2 * k + 1]);
            const double im = MC_PRODUCT((double)z[2 * k], u[2 * k + 1]) +
                              MC_PRODUCT((double)z[2 * k + 1], u[2 * k]);
            y[2 * k] = (T)(d * re);
            y[n - 1 - 2 * k] = (T)(odd * im);
        }
    } else {
        const double *u = w + 2 * n, d = 2 * s;
        for (int64_t k = 0; k < n; k++) {
            const double re = MC_PRODUCT((double)z[2 * k], u[2 * k]) -
                              MC_PRODUCT((double)z[2 * k + 1], u[2 * k + 1]);
            y[k] = (T)((sine && k % 2 ? -d : d) * re);
        }
    }
}

#undef T
#undef NAME
