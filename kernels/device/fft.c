/* fft.c - Fourier transforms of rows, of any length whose factors are small, and what real rows and
 * other lengths add around them.
 *
 * A transform is a few passes over memory (Stockham's order): a group takes `tiles` parts of a row
 * whose r legs lie n / r apart, transforms each in its memory by radices 8, 4, 2 and odd ones up to
 * 31, and writes them where the next pass reads. One pass does all where n fits. Lengths with
 * larger primes are a convolution of a longer length (Bluestein). Inverse transforms exchange real
 * and imaginary parts before and after. T: float or double, Z: a pair of them, SIZE: elements in a
 * group's memory, ODD: whether n has odd factors. Letters: m rows, n length, s product of the
 * radices of passes done. */
#include "mck_math.h"
#include "jobs.h"

MC_INLINE Z pair_of(const T re, const T im)
{
    Z z;
    z.re = re;
    z.im = im;
    return z;
}
MC_INLINE Z plus(const Z a, const Z b)
{
    return pair_of(a.re + b.re, a.im + b.im);
}
MC_INLINE Z minus(const Z a, const Z b)
{
    return pair_of(a.re - b.re, a.im - b.im);
}
MC_INLINE Z times(const Z a, const Z b)
{
    return pair_of(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
MC_INLINE Z swapped(const Z a, const int yes)
{
    return yes ? pair_of(a.im, a.re) : a;
}
MC_INLINE Z conjugate(const Z a)
{
    return pair_of(a.re, -a.im);
}

/* e^(-2 pi i k / n): the octant is taken off in integers, the rest is an angle in [0, pi/4]. */
MC_INLINE Z unit(const int64_t k, const int64_t n)
{
    const int64_t eighths = k * 8;
    const int octant = (int)(eighths / n);
    const int64_t rest = eighths - octant * n, folded = octant & 1 ? n - rest : rest;
    const double angle = 0.78539816339744830962 * ((double)folded / (double)n);
    const double c = mck_cos_f64(angle), v = mck_sin_f64(angle);
    const double x = (octant + 1) & 2 ? v : c, y = (octant + 1) & 2 ? c : v;
    return pair_of((T)((octant + 2) & 4 ? -x : x), (T)(octant & 4 ? y : -y));
}

/* out[k] = e^(-2 pi i k / n), k < n. */
KERNEL roots(GLOBAL char *out, const mcd_fft j)
{
    const int64_t k = GLOBAL_LANE;
    if (k < j.n) AT(Z, out, j.at[0])[k] = unit(k, j.n);
}

/* One leg less for each lane: reads x[t + k legs], writes y[to + k done], k < radix. */
typedef struct stage {
    int radix, legs, done, t, to;
    int64_t turn, whole; /* exponents of the root of n: of one leg, of all (the length) */
} stage;

#define LEG(k) x[s.t + (k)*s.legs]
#define PUT(k, v) y[s.to + (k)*s.done] = s.turn == 0 || (k) == 0 ? (v) : times((v), w[(k)*s.turn])

MC_INLINE void four(Z *a0, Z *a1, Z *a2, Z *a3)
{
    const Z s0 = plus(*a0, *a2), d0 = minus(*a0, *a2), s1 = plus(*a1, *a3), d1 = minus(*a1, *a3);
    *a0 = plus(s0, s1);
    *a1 = pair_of(d0.re + d1.im, d0.im - d1.re);
    *a2 = minus(s0, s1);
    *a3 = pair_of(d0.re - d1.im, d0.im + d1.re);
}

MC_INLINE void eight(GROUP const Z *x, GROUP Z *y, GLOBAL const Z *w, const stage s)
{
    const T h = (T)0.70710678118654752440;
    Z a0 = LEG(0), a1 = LEG(2), a2 = LEG(4), a3 = LEG(6), b0 = LEG(1), b1 = LEG(3), b2 = LEG(5),
      b3 = LEG(7);
    four(&a0, &a1, &a2, &a3);
    four(&b0, &b1, &b2, &b3);
    b1 = pair_of((b1.re + b1.im) * h, (b1.im - b1.re) * h);
    b2 = pair_of(b2.im, -b2.re);
    b3 = pair_of((b3.im - b3.re) * h, -(b3.re + b3.im) * h);
    PUT(0, plus(a0, b0));
    PUT(1, plus(a1, b1));
    PUT(2, plus(a2, b2));
    PUT(3, plus(a3, b3));
    PUT(4, minus(a0, b0));
    PUT(5, minus(a1, b1));
    PUT(6, minus(a2, b2));
    PUT(7, minus(a3, b3));
}

#if ODD
/* Pairs of legs k and radix - k share their products. */
MC_INLINE void odd(GROUP const Z *x, GROUP Z *y, GLOBAL const Z *w, const stage s)
{
    Z v[31];
    const int radix = s.radix, half = radix / 2;
    const int64_t step = s.whole / radix;
    Z all = LEG(0);
    v[0] = all;
    for (int k = 1; k <= half; k++) {
        const Z a = LEG(k), b = LEG(radix - k);
        v[k] = plus(a, b);
        v[radix - k] = minus(a, b);
        all = plus(all, v[k]);
    }
    PUT(0, all);
    for (int i = 1; i <= half; i++) {
        Z c = v[0], d = pair_of(0, 0);
        for (int k = 1; k <= half; k++) {
            const Z r = w[i * k % radix * step];
            c = pair_of(c.re + r.re * v[k].re, c.im + r.re * v[k].im);
            d = pair_of(d.re - r.im * v[radix - k].im, d.im + r.im * v[radix - k].re);
        }
        PUT(i, plus(c, d));
        PUT(radix - i, minus(c, d));
    }
}
#endif

MC_INLINE void butterfly(GROUP const Z *x, GROUP Z *y, GLOBAL const Z *w, const stage s)
{
    if (s.radix == 8) {
        eight(x, y, w, s);
    } else if (s.radix == 4) {
        Z a = LEG(0), b = LEG(1), c = LEG(2), d = LEG(3);
        four(&a, &b, &c, &d);
        PUT(0, a);
        PUT(1, b);
        PUT(2, c);
        PUT(3, d);
    } else if (s.radix == 2) {
        const Z a = LEG(0), b = LEG(1);
        PUT(0, plus(a, b));
        PUT(1, minus(a, b));
    }
#if ODD
    else {
        odd(x, y, w, s);
    }
#endif
}

/* Buffers: out [m][keep], in [m][have], zero behind `have`, roots of n * step. */
KERNEL pass(GLOBAL char *out, GLOBAL const char *in, GLOBAL const char *table, const mcd_fft j)
{
    MCD_GROUP_MEMORY Z one[SIZE];
    MCD_GROUP_MEMORY Z two[SIZE];
    GROUP Z *x = one;
    GROUP Z *y = two;
    GLOBAL const Z *w = AT(const Z, table, j.at[2]);
    const int r = j.r, tiles = j.tiles, all = r * tiles;
    const int64_t apart = j.n / r, first = GROUP_AT(0) * tiles, total = j.m * apart;
    for (int e = LANE; e < all; e += LANES) { /* neighbours read neighbours */
        const int i = apart == 1 ? e / r : e % tiles, k = apart == 1 ? e - i * r : e / tiles;
        const int64_t u = first + i, row = u / apart, at = u - row * apart + k * apart;
        Z v = pair_of(0, 0);
        if (u < total && at < j.have)
            v = swapped(AT(const Z, in, j.at[1])[row * j.have + at], j.swap_in);
        x[i * r + k] = v;
    }
    stage s;
    s.done = 1;
    s.whole = j.n * j.step;
    for (int at = 0; at < j.radices; at++) {
        s.radix = j.radix[at];
        s.legs = r / s.radix;
        BARRIER;
        for (int e = LANE; e < s.legs * tiles; e += LANES) {
            const int i = e / s.legs, t = e - i * s.legs, p = t / s.done;
            s.t = i * r + t;
            s.to = i * r + (t - p * s.done) + s.done * s.radix * p;
            s.turn = (int64_t)p * s.done * apart * j.step;
            butterfly(x, y, w, s);
        }
        s.done *= s.radix;
        GROUP Z *z = x;
        x = y;
        y = z;
    }
    BARRIER;
    for (int e = LANE; e < all; e += LANES) {
        const int i = j.s == 1 ? e / r : e % tiles, k = j.s == 1 ? e - i * r : e / tiles;
        const int64_t u = first + i, row = u / apart, t = u - row * apart, p = t / j.s,
                      to = t - p * j.s + j.s * (r * p + k);
        if (u < total && to < j.keep) {
            Z v = x[i * r + k];
            if (p * k != 0) v = times(v, w[p * k * j.s * j.step]);
            if (j.scale != 1) v = pair_of(v.re * (T)j.scale, v.im * (T)j.scale);
            AT(Z, out, j.at[0])[row * j.keep + to] = swapped(v, j.swap_out);
        }
    }
}

/* ---- real rows ---- */

/* Element at < have of a row, or 0. */
MC_INLINE Z within(GLOBAL const Z *row, const int64_t at, const int64_t have)
{
    return at < have ? row[at] : pair_of(0, 0);
}

/* Rows of have to rows of n for the transform, by kind. 1: real numbers; 2: pairs of them; 3:
 * half a spectrum of 2 n real numbers to the n pairs of them; 4: half a spectrum to all of it.
 * Buffers: out, in, roots (3: of 2 n). */
KERNEL enter(GLOBAL char *out, GLOBAL const char *in, GLOBAL const char *table, const mcd_fft j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.n) {
        const int64_t row = i / j.n, k = i - row * j.n;
        GLOBAL const T *x = AT(const T, in, j.at[1]) + row * j.have;
        GLOBAL const Z *f = AT(const Z, in, j.at[1]) + row * j.have;
        Z v = pair_of(0, 0);
        if (j.kind == 1) {
            if (k < j.have) v.re = x[k];
        } else if (j.kind == 2) {
            if (2 * k < j.have) v.re = x[2 * k];
            if (2 * k + 1 < j.have) v.im = x[2 * k + 1];
        } else if (j.kind == 3) {
            Z a = within(f, k, j.have), b = conjugate(within(f, j.n - k, j.have));
            if (k == 0) a.im = b.im = 0;
            const Z e = plus(a, b),
                    o = times(minus(a, b), conjugate(AT(const Z, table, j.at[2])[k]));
            v = pair_of(e.re - o.im, e.im + o.re);
        } else {
            v = 2 * k <= j.n ? within(f, k, j.have) : conjugate(within(f, j.n - k, j.have));
            if (k == 0) v.im = 0;
        }
        AT(Z, out, j.at[0])[i] = v;
    }
}

/* Rows of n transformed, by kind. 2: pairs of real numbers to half a spectrum of n + 1; 4: the real
 * parts. Buffers: out, in, roots (2: of 2 n). */
KERNEL leave(GLOBAL char *out, GLOBAL const char *in, GLOBAL const char *table, const mcd_fft j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.keep) {
        const int64_t row = i / j.keep, k = i - row * j.keep;
        GLOBAL const Z *f = AT(const Z, in, j.at[1]) + row * j.n;
        if (j.kind == 4) {
            AT(T, out, j.at[0])[i] = f[k].re;
        } else {
            const Z a = f[k == j.n ? 0 : k], b = conjugate(f[k == 0 || k == j.n ? 0 : j.n - k]);
            const T h = (T)(0.5 * j.scale);
            const Z e = plus(a, b), d = minus(a, b);
            const Z root = k == j.n ? pair_of(-1, 0) : AT(const Z, table, j.at[2])[k];
            const Z o = times(pair_of(d.im, -d.re), root);
            AT(Z, out, j.at[0])[i] = pair_of(h * (e.re + o.re), h * (e.im + o.im));
        }
    }
}

/* ---- lengths with large primes: a convolution of length n with e^(i pi k k / count) ---- */

/* out[k] = out[n - k] = e^(i pi k k / count), k < count, 0 between. */
KERNEL chirp(GLOBAL char *out, const mcd_fft j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        const int64_t k = i < j.count ? i : j.n - i;
        AT(Z, out, j.at[0])
        [i] = k < j.count ? conjugate(unit(k * k % (2 * j.count), 2 * j.count)) : pair_of(0, 0);
    }
}

/* Rows of have times the chirp, zero up to n. Buffers: out, in, chirp. */
KERNEL spread(GLOBAL char *out, GLOBAL const char *in, GLOBAL const char *table, const mcd_fft j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.n) {
        const int64_t row = i / j.n, k = i - row * j.n;
        Z v = pair_of(0, 0);
        if (k < j.have)
            v = times(swapped(AT(const Z, in, j.at[1])[row * j.have + k], j.swap_in),
                      conjugate(AT(const Z, table, j.at[2])[k]));
        AT(Z, out, j.at[0])[i] = v;
    }
}

/* Rows of n times the transformed chirp. Buffers: out (and in), the chirp's. */
KERNEL convolve(GLOBAL char *out, GLOBAL const char *table, const mcd_fft j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.n) {
        GLOBAL Z *v = AT(Z, out, j.at[0]) + i;
        *v = times(*v, AT(const Z, table, j.at[1])[i % j.n]);
    }
}

/* The first `keep` of rows of n times the chirp. Buffers: out, in, chirp. */
KERNEL gather(GLOBAL char *out, GLOBAL const char *in, GLOBAL const char *table, const mcd_fft j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.keep) {
        const int64_t row = i / j.keep, k = i - row * j.keep;
        const Z v = times(AT(const Z, in, j.at[1])[row * j.n + k],
                          conjugate(AT(const Z, table, j.at[2])[k]));
        AT(Z, out, j.at[0])
        [i] = swapped(pair_of(v.re * (T)j.scale, v.im * (T)j.scale), j.swap_out);
    }
}
