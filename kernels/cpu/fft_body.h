/* fft_body.h - the transform of one precision; body included by fft.c once per precision.
 *
 * Wants T, MADD(a,b,c) (a*b + c, fused where the level fuses) and NAME(x). What surrounds the
 * stages: parting and joining of complex rows, Bluestein's convolution, real rows, the filling of
 * a table, and the plain sum. */

#include "fft_stages.h"

static void NAME(split)(int64_t n, T *MC_RESTRICT re, T *MC_RESTRICT im, const T *MC_RESTRICT in)
{
    for (int64_t i = 0; i < n; i++) {
        re[i] = in[2 * i];
        im[i] = in[2 * i + 1];
    }
}

static void NAME(join)(int64_t n, T *MC_RESTRICT out, const T *MC_RESTRICT re,
                       const T *MC_RESTRICT im)
{
    for (int64_t i = 0; i < n; i++) {
        out[2 * i] = re[i];
        out[2 * i + 1] = im[i];
    }
}

/* Forward transform of pair 0, t->length elements; returns the pair that holds it. By Bluestein
 * when the length has a large prime: with jk = (j^2 + k^2 - (k-j)^2)/2 the transform is a
 * convolution with the chirp e^(i pi j^2 / n), made cyclic in a longer, smooth length. The inverse
 * transform in it is the forward one of swapped parts. */
static int NAME(forward)(const fft_table *t, T *const b[4])
{
    const T *data = (const T *)(const void *)((const char *)t + TABLE_HEAD);
    if (!t->chirp_used) return NAME(stages)(&t->core, data, b);
    const int64_t n = t->length, big = t->core.n;
    const T *cr = data + t->chirp, *ci = cr + n, *fr = data + t->chirp_spectrum, *fi = fr + big;
    for (int64_t i = 0; i < n; i++) {
        const CX v = NAME(mul)((CX){ b[0][i], b[1][i] }, cr[i], ci[i]);
        b[0][i] = v.re;
        b[1][i] = v.im;
    }
    for (int64_t i = n; i < big; i++) b[0][i] = b[1][i] = 0;
    const int at = NAME(stages)(&t->core, data, b);
    T *ar = b[2 * at], *ai = b[2 * at + 1];
    for (int64_t i = 0; i < big; i++) {
        const CX v = NAME(mul)((CX){ ar[i], ai[i] }, fr[i], fi[i]);
        ar[i] = v.re;
        ai[i] = v.im;
    }
    T *const swapped[4] = { ai, ar, b[3 - 2 * at], b[2 - 2 * at] };
    const int back = NAME(stages)(&t->core, data, swapped);
    const T *zr = swapped[2 * back + 1], *zi = swapped[2 * back];
    for (int64_t i = 0; i < n; i++) {
        const CX v = NAME(mul)((CX){ zr[i], zi[i] }, cr[i], ci[i]);
        b[0][i] = v.re;
        b[1][i] = v.im;
    }
    return 0;
}

/* Real row of even length n as n/2 complex: X_k from Z_k and Z_(h-k), h = n/2. */
static void NAME(untangle)(const T *w, int64_t h, T *out, const T *zr, const T *zi)
{
    const T *wr = w, *wi = w + h / 2 + 1;
    for (int64_t k = 0; k <= h / 2; k++) {
        const int64_t back = h - k, source = k == 0 ? 0 : back;
        const CX even = { (T)0.5 * (zr[k] + zr[source]), (T)0.5 * (zi[k] - zi[source]) };
        const CX odd = { (T)0.5 * (zi[k] + zi[source]), (T)0.5 * (zr[source] - zr[k]) };
        const CX turned = NAME(mul)(odd, wr[k], wi[k]);
        out[2 * k] = even.re + turned.re;
        out[2 * k + 1] = even.im + turned.im;
        out[2 * back] = even.re - turned.re;
        out[2 * back + 1] = turned.im - even.im;
    }
}

/* Its inverse, without the factor 1/2: bins 0..h to Z, parts swapped so that a forward transform
 * inverts. */
static void NAME(tangle)(const T *w, int64_t h, T *zr, T *zi, const T *in)
{
    const T *wr = w, *wi = w + h / 2 + 1;
    for (int64_t k = 0; k <= h / 2; k++) {
        const int64_t back = h - k;
        const T im = k == 0 ? 0 : in[2 * k + 1], back_im = k == 0 ? 0 : in[2 * back + 1];
        const CX even = { in[2 * k] + in[2 * back], im - back_im };
        const CX odd = NAME(mul)((CX){ in[2 * k] - in[2 * back], im + back_im }, wr[k], -wi[k]);
        zi[k] = even.re - odd.im;
        zr[k] = even.im + odd.re;
        if (k > 0) {
            zi[back] = even.re + odd.im;
            zr[back] = odd.re - even.im;
        }
    }
}

/* in[m][row] -> out[m][row] by kind; see mck_fft.h */
void NAME(fft)(const mck_fft *a)
{
    const fft_table *t = a->table;
    const T *data = (const T *)(const void *)((const char *)t + TABLE_HEAD);
    const int64_t n = a->n, bins = n / 2 + 1, pad = t->pad;
    T *const work = a->work;
    T *const b[4] = { work, work + pad, work + 2 * pad, work + 3 * pad };
    const int even = n % 2 == 0;
    for (int64_t r = 0; r < a->m; r++) {
        const T *in = (const T *)a->in + r * a->in_stride * (a->kind == FFT_R2C ? 1 : 2);
        T *out = (T *)a->out + r * a->out_stride * (a->kind == FFT_C2R ? 1 : 2);
        int at;
        switch (a->kind) {
        case FFT_FORWARD:
            NAME(split)(n, b[0], b[1], in);
            at = NAME(forward)(t, b);
            NAME(join)(n, out, b[2 * at], b[2 * at + 1]);
            break;
        case FFT_BACKWARD:
            NAME(split)(n, b[1], b[0], in);
            at = NAME(forward)(t, b);
            NAME(join)(n, out, b[2 * at + 1], b[2 * at]);
            break;
        case FFT_R2C:
            if (even) {
                NAME(split)(n / 2, b[0], b[1], in);
                at = NAME(forward)(t, b);
                NAME(untangle)(data + t->real_twiddle, n / 2, out, b[2 * at], b[2 * at + 1]);
            } else {
                for (int64_t i = 0; i < n; i++) {
                    b[0][i] = in[i];
                    b[1][i] = 0;
                }
                at = NAME(forward)(t, b);
                NAME(join)(bins, out, b[2 * at], b[2 * at + 1]);
                out[1] = 0;
            }
            break;
        default:
            if (even) {
                NAME(tangle)(data + t->real_twiddle, n / 2, b[0], b[1], in);
                at = NAME(forward)(t, b);
                NAME(join)(n / 2, out, b[2 * at + 1], b[2 * at]);
            } else {
                b[1][0] = in[0];
                b[0][0] = 0;
                for (int64_t k = 1; k < bins; k++) {
                    b[1][k] = b[1][n - k] = in[2 * k];
                    b[0][k] = in[2 * k + 1];
                    b[0][n - k] = -in[2 * k + 1];
                }
                at = NAME(forward)(t, b);
                for (int64_t i = 0; i < n; i++) out[i] = b[2 * at + 1][i];
            }
            break;
        }
    }
}

/* ---- table ---- */

static void NAME(fill_stage)(const fft_stage *st, T *data)
{
    const int64_t radix = st->radix, s = st->s, m = st->m;
    double c, d;
    T *w = data + st->twiddle;
    if (radix > 8 || s >= RUN || m == 1) {
        for (int64_t p = 0; p < m; p++) {
            for (int64_t k = 1; k < radix; k++) {
                unit(p * k, radix * m, &c, &d);
                w[p * (radix - 1) + k - 1] = (T)c;
                w[(m + p) * (radix - 1) + k - 1] = (T)d;
            }
        }
        for (int64_t k = 0; k < radix && radix > 8; k++) {
            unit(k, radix, &c, &d);
            data[st->root + 2 * k] = (T)c;
            data[st->root + 2 * k + 1] = (T)d;
        }
        return;
    }
    for (int64_t k = 1; k < radix; k++) {
        for (int64_t p = 0; p < m; p++) {
            unit(p * k, radix * m, &c, &d);
            for (int64_t q = 0; q < s; q++) {
                w[(k - 1) * s * m + p * s + q] = (T)c;
                w[(radix - 1 + k - 1) * s * m + p * s + q] = (T)d;
            }
        }
    }
}

/* The chirp and the spectrum of its conjugate, 1/core.n included; uses the end of the block as
 * workspace. */
static void NAME(fill_chirp)(fft_table *t, T *data)
{
    const int64_t n = t->length, big = t->core.n;
    T *cr = data + t->chirp, *ci = cr + n, *fr = data + t->chirp_spectrum, *fi = fr + big;
    T *scratch = fi + big;
    T *const b[4] = { fr, fi, scratch, scratch + big };
    const T scale = (T)(1.0 / (double)big);
    int64_t square = 0; /* i^2 mod 2n */
    for (int64_t i = 0; i < big; i++) b[0][i] = b[1][i] = 0;
    for (int64_t i = 0; i < n; i++) {
        double c, d;
        unit(square, 2 * n, &c, &d);
        cr[i] = (T)c;
        ci[i] = (T)d;
        b[0][i] = b[0][i ? big - i : 0] = (T)c;
        b[1][i] = b[1][i ? big - i : 0] = (T)-d;
        square = (square + 2 * i + 1) % (2 * n);
    }
    const int at = NAME(stages)(&t->core, data, b);
    for (int64_t i = 0; i < big; i++) {
        fr[i] = b[2 * at][i] * scale;
        fi[i] = b[2 * at + 1][i] * scale;
    }
}

static void NAME(fill)(fft_table *t)
{
    T *data = (T *)(void *)((char *)t + TABLE_HEAD);
    for (int i = 0; i < t->core.count; i++) NAME(fill_stage)(&t->core.stage[i], data);
    for (int64_t k = 0; t->real_used && k <= t->length / 2; k++) {
        double c, d;
        unit(k, 2 * t->length, &c, &d);
        data[t->real_twiddle + k] = (T)c;
        data[t->real_twiddle + t->length / 2 + 1 + k] = (T)d;
    }
    if (t->chirp_used) NAME(fill_chirp)(t, data);
}

/* The definition, O(n^2). */
void NAME(fft_ref)(const mck_fft *a)
{
    const int64_t n = a->n, bins = n / 2 + 1;
    const int real_in = a->kind == FFT_R2C, real_out = a->kind == FFT_C2R;
    const double sign = a->kind == FFT_FORWARD || real_in ? 1.0 : -1.0;
    for (int64_t r = 0; r < a->m; r++) {
        const T *in = (const T *)a->in + r * a->in_stride * (real_in ? 1 : 2);
        T *out = (T *)a->out + r * a->out_stride * (real_out ? 1 : 2);
        for (int64_t k = 0; k < (real_in ? bins : n); k++) {
            double re = 0.0, im = 0.0;
            for (int64_t j = 0; j < n; j++) {
                const int64_t mirror = real_out && j >= bins ? n - j : j;
                const double xr = (double)(real_in ? in[j] : in[2 * mirror]);
                double xi = real_in ? 0.0 : (double)in[2 * mirror + 1], c, d;
                if (mirror != j) xi = -xi;
                if (real_out && 2 * j % n == 0)
                    xi = 0.0; /* the mean and the Nyquist bin are real */
                unit(j % n * k % n, n, &c, &d);
                re += xr * c - xi * d * sign;
                im += xr * d * sign + xi * c;
            }
            if (real_out) {
                out[k] = (T)re;
            } else {
                out[2 * k] = (T)re;
                out[2 * k + 1] = (T)im;
            }
        }
    }
}

#undef CX
#undef T
#undef MADD
#undef NAME
