/* dct.c - what stands before and after a Fourier transform to make a cosine or sine transform of
 * it, types 1 to 4: kernels/cpu/dct.c says how. A lane for each number of the transform's
 * operand, then for each result. T: float or double; factors and arithmetic are f64. */
#include "mck_math.h"
#include "jobs.h"

#define ROOT 1.41421356237309504880

/* e^(-i pi k / (4 n)) for 0 <= k <= 4 n */
MC_INLINE mck_c128 factor(const int64_t k, const int64_t n)
{
    mck_c128 z;
    const int64_t folded = k <= n ? k : k <= 3 * n ? k - 2 * n : k - 4 * n; /* within a quarter */
    const double angle = 0.78539816339744830962 * ((double)folded / (double)n),
                 c = mck_cos_f64(angle), s = mck_sin_f64(angle);
    z.re = k <= n ? c : k <= 3 * n ? -s : -c;
    z.im = k <= n ? -s : k <= 3 * n ? -c : s;
    return z;
}

/* Number at of a row, 0 behind what is given. */
#define X(i) ((i) < j.have ? (double)x[i] : 0.0)

/* Buffers: out [m][wide], in [m][have]. */
KERNEL before(GLOBAL char *out, GLOBAL const char *in, const mcd_dct j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.wide) {
        const int64_t row = i / j.wide, at = i - row * j.wide, n = j.n, k = at / 2, part = at & 1;
        GLOBAL const T *x = AT(const T, in, j.at[1]) + row * j.have;
        double v = 0;
        if (j.type == 1 && !j.sine) { /* x[0..n-1], then x[n-2..1] */
            const int64_t e = at < n ? at : 2 * (n - 1) - at;
            v = X(e) * (j.orthogonal && (e == 0 || e == n - 1) ? ROOT : 1);
        } else if (j.type == 1) { /* 0, x, 0, -x backwards */
            if (at != 0 && at != n + 1) v = at <= n ? X(at - 1) : -X(2 * n + 1 - at);
        } else if (j.type == 2) { /* even places forwards, odd ones backwards */
            const int odd = at >= (n + 1) / 2;
            const int64_t e = odd ? 2 * (n - 1 - at) + 1 : 2 * at;
            v = odd && j.sine ? -X(e) : X(e);
        } else if (j.type == 3) { /* (x[k] - i x[n - k]) conj(w[k]) */
            const double re = X(j.sine ? n - 1 - k : k) * (k == 0 && j.orthogonal ? ROOT : 1);
            double im = 0;
            if (k > 0) im = -X(j.sine ? k - 1 : n - k);
            const mck_c128 w = factor(2 * k, n);
            v = part ? im * w.re - re * w.im : re * w.re + im * w.im;
        } else if (n % 2 == 0) { /* (x[2 k] + i x[n - 1 - 2 k]) w */
            const double a = X(2 * k), b = X(n - 1 - 2 * k), re = j.sine ? b : a,
                         im = j.sine ? a : b;
            const mck_c128 w = factor(4 * k + 1, n);
            v = part ? re * w.im + im * w.re : re * w.re - im * w.im;
        } else if (k < n) { /* x[k] w, then n zeros */
            const mck_c128 w = factor(2 * k, n);
            v = X(j.sine ? n - 1 - k : k) * (part ? w.im : w.re);
        }
        AT(T, out, j.at[0])[i] = (T)v;
    }
}

/* Parts of z[k] times a factor. */
#define RE(k, w) ((double)z[2 * (k)] * (w).re - (double)z[2 * (k) + 1] * (w).im)
#define IM(k, w) ((double)z[2 * (k)] * (w).im + (double)z[2 * (k) + 1] * (w).re)

/* Buffers: out [m][n], in [m][wide]. */
KERNEL after(GLOBAL char *out, GLOBAL const char *in, const mcd_dct j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.n) {
        const int64_t row = i / j.n, at = i - row * j.n, n = j.n;
        GLOBAL const T *z = AT(const T, in, j.at[1]) + row * j.wide;
        const double s = j.scale, d = 2 * s;
        double v;
        if (j.type == 1 && !j.sine) {
            v = s * (j.orthogonal && (at == 0 || at == n - 1) ? 1 / ROOT : 1) * (double)z[2 * at];
        } else if (j.type == 1) {
            v = -s * (double)z[2 * at + 3];
        } else if (j.type == 2) { /* bin k gives places k and n - k of a cosine transform */
            const int64_t c = j.sine ? n - 1 - at : at, k = c <= n / 2 ? c : n - c;
            const mck_c128 w = factor(2 * k, n);
            v = c == 0       ? (j.orthogonal ? d / ROOT : d) * (double)z[0]
                : c <= n / 2 ? d * RE(k, w)
                             : -d * IM(k, w);
        } else if (j.type == 3) {
            const int64_t half_of = at / 2;
            v = at & 1 ? (j.sine ? -s : s) * (double)z[n - 1 - half_of] : s * (double)z[half_of];
        } else if (n % 2 == 0) {
            const int64_t k = at & 1 ? (n - 1 - at) / 2 : at / 2;
            const mck_c128 w = factor(4 * k, n);
            v = at & 1 ? (j.sine ? d : -d) * IM(k, w) : d * RE(k, w);
        } else {
            const mck_c128 w = factor(2 * at + 1, n);
            v = (j.sine && at % 2 ? -d : d) * RE(at, w);
        }
        AT(T, out, j.at[0])[i] = (T)v;
    }
}
