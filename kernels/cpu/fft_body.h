/* fft_body.h - the transform of one precision; body included by fft.c once per precision.
 *
 * Wants T, MADD(a,b,c) (a*b + c, fused where the level fuses) and NAME(x). A stage reads split arrays x and writes y:
 *   y[q + s(R p + k)] = w^(p k) sum_j x[q + s(p + m j)] e^(-2 pi i j k / R),   w = e^(-2 pi i / (R m)), q < s, p < m,
 * which sorts itself (Stockham): after all stages the result stands in natural order. Late stages have long runs of q;
 * early ones (s < RUN) run over q and p together, each element with its own twiddle, through a small tile that is then
 * dealt out. */

typedef struct NAME(cx) {
    T re, im;
} NAME(cx);
#define CX NAME(cx)

MC_INLINE CX NAME(add)(CX a, CX b)
{
    return (CX){ a.re + b.re, a.im + b.im };
}

MC_INLINE CX NAME(sub)(CX a, CX b)
{
    return (CX){ a.re - b.re, a.im - b.im };
}

/* a + c b, c real */
MC_INLINE CX NAME(plus)(CX a, T c, CX b)
{
    return (CX){ MADD(c, b.re, a.re), MADD(c, b.im, a.im) };
}

MC_INLINE CX NAME(scale)(T c, CX b)
{
    return (CX){ c * b.re, c * b.im };
}

MC_INLINE CX NAME(mul)(CX a, T re, T im)
{
    return (CX){ MADD(a.re, re, -(a.im * im)), MADD(a.re, im, a.im * re) };
}

/* a - i b and a + i b */
MC_INLINE CX NAME(sub_i)(CX a, CX b)
{
    return (CX){ a.re + b.im, a.im - b.re };
}

MC_INLINE CX NAME(add_i)(CX a, CX b)
{
    return (CX){ a.re - b.im, a.im + b.re };
}

MC_INLINE void NAME(dft2)(CX *v)
{
    const CX a = v[0], b = v[1];
    v[0] = NAME(add)(a, b);
    v[1] = NAME(sub)(a, b);
}

MC_INLINE void NAME(dft3)(CX *v)
{
    const CX a = v[0], sum = NAME(add)(v[1], v[2]), dif = NAME(scale)((T)SIN3, NAME(sub)(v[1], v[2]));
    const CX mid = NAME(plus)(a, (T)-0.5, sum);
    v[0] = NAME(add)(a, sum);
    v[1] = NAME(sub_i)(mid, dif);
    v[2] = NAME(add_i)(mid, dif);
}

MC_INLINE void NAME(dft4)(CX *v)
{
    const CX a = NAME(add)(v[0], v[2]), b = NAME(sub)(v[0], v[2]);
    const CX c = NAME(add)(v[1], v[3]), d = NAME(sub)(v[1], v[3]);
    v[0] = NAME(add)(a, c);
    v[1] = NAME(sub_i)(b, d);
    v[2] = NAME(sub)(a, c);
    v[3] = NAME(add_i)(b, d);
}

MC_INLINE void NAME(dft5)(CX *v)
{
    const CX a = v[0], s1 = NAME(add)(v[1], v[4]), s2 = NAME(add)(v[2], v[3]);
    const CX d1 = NAME(sub)(v[1], v[4]), d2 = NAME(sub)(v[2], v[3]);
    const CX m1 = NAME(plus)(NAME(plus)(a, (T)COS5_1, s1), (T)COS5_2, s2);
    const CX m2 = NAME(plus)(NAME(plus)(a, (T)COS5_2, s1), (T)COS5_1, s2);
    const CX n1 = NAME(plus)(NAME(scale)((T)SIN5_1, d1), (T)SIN5_2, d2);
    const CX n2 = NAME(plus)(NAME(scale)((T)SIN5_2, d1), (T)-SIN5_1, d2);
    v[0] = NAME(add)(a, NAME(add)(s1, s2));
    v[1] = NAME(sub_i)(m1, n1);
    v[2] = NAME(sub_i)(m2, n2);
    v[3] = NAME(add_i)(m2, n2);
    v[4] = NAME(add_i)(m1, n1);
}

MC_INLINE void NAME(dft7)(CX *v)
{
    const CX a = v[0];
    const CX s1 = NAME(add)(v[1], v[6]), s2 = NAME(add)(v[2], v[5]), s3 = NAME(add)(v[3], v[4]);
    const CX d1 = NAME(sub)(v[1], v[6]), d2 = NAME(sub)(v[2], v[5]), d3 = NAME(sub)(v[3], v[4]);
    const CX m1 = NAME(plus)(NAME(plus)(NAME(plus)(a, (T)COS7_1, s1), (T)COS7_2, s2), (T)COS7_3, s3);
    const CX m2 = NAME(plus)(NAME(plus)(NAME(plus)(a, (T)COS7_2, s1), (T)COS7_3, s2), (T)COS7_1, s3);
    const CX m3 = NAME(plus)(NAME(plus)(NAME(plus)(a, (T)COS7_3, s1), (T)COS7_1, s2), (T)COS7_2, s3);
    const CX n1 = NAME(plus)(NAME(plus)(NAME(scale)((T)SIN7_1, d1), (T)SIN7_2, d2), (T)SIN7_3, d3);
    const CX n2 = NAME(plus)(NAME(plus)(NAME(scale)((T)SIN7_2, d1), (T)-SIN7_3, d2), (T)-SIN7_1, d3);
    const CX n3 = NAME(plus)(NAME(plus)(NAME(scale)((T)SIN7_3, d1), (T)-SIN7_1, d2), (T)SIN7_2, d3);
    v[0] = NAME(add)(NAME(add)(a, s1), NAME(add)(s2, s3));
    v[1] = NAME(sub_i)(m1, n1);
    v[2] = NAME(sub_i)(m2, n2);
    v[3] = NAME(sub_i)(m3, n3);
    v[4] = NAME(add_i)(m3, n3);
    v[5] = NAME(add_i)(m2, n2);
    v[6] = NAME(add_i)(m1, n1);
}

MC_INLINE void NAME(dft8)(CX *v)
{
    CX e[4] = { v[0], v[2], v[4], v[6] }, o[4] = { v[1], v[3], v[5], v[7] };
    NAME(dft4)(e);
    NAME(dft4)(o);
    const CX o1 = { (T)SQRT_HALF * (o[1].re + o[1].im), (T)SQRT_HALF * (o[1].im - o[1].re) };
    const CX o3 = { (T)SQRT_HALF * (o[3].im - o[3].re), (T)-SQRT_HALF * (o[3].re + o[3].im) };
    v[0] = NAME(add)(e[0], o[0]);
    v[1] = NAME(add)(e[1], o1);
    v[2] = NAME(sub_i)(e[2], o[2]);
    v[3] = NAME(add)(e[3], o3);
    v[4] = NAME(sub)(e[0], o[0]);
    v[5] = NAME(sub)(e[1], o1);
    v[6] = NAME(add_i)(e[2], o[2]);
    v[7] = NAME(sub)(e[3], o3);
}

#define R 2
#define EACH(F) F(0) F(1)
#define REST(F) F(1)
#define DFT NAME(dft2)
#define RNAME(x) NAME(x##2)
#include "fft_radix.h"
#define R 3
#define EACH(F) F(0) F(1) F(2)
#define REST(F) F(1) F(2)
#define DFT NAME(dft3)
#define RNAME(x) NAME(x##3)
#include "fft_radix.h"
#define R 4
#define EACH(F) F(0) F(1) F(2) F(3)
#define REST(F) F(1) F(2) F(3)
#define DFT NAME(dft4)
#define RNAME(x) NAME(x##4)
#include "fft_radix.h"
#define R 5
#define EACH(F) F(0) F(1) F(2) F(3) F(4)
#define REST(F) F(1) F(2) F(3) F(4)
#define DFT NAME(dft5)
#define RNAME(x) NAME(x##5)
#include "fft_radix.h"
#define R 7
#define EACH(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6)
#define REST(F) F(1) F(2) F(3) F(4) F(5) F(6)
#define DFT NAME(dft7)
#define RNAME(x) NAME(x##7)
#include "fft_radix.h"
#define R 8
#define EACH(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define REST(F) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define DFT NAME(dft8)
#define RNAME(x) NAME(x##8)
#include "fft_radix.h"

typedef void (*NAME(plain_fn))(int64_t, T *, T *, int64_t, const T *, const T *, int64_t);
typedef void (*NAME(turned_fn))(int64_t, T *, T *, int64_t, const T *, const T *, int64_t, const T *, const T *);
typedef void (*NAME(turned_each_fn))(int64_t, T *, T *, int64_t, const T *, const T *, int64_t, const T *, const T *,
                                     int64_t);

static const NAME(plain_fn) NAME(plain_of)[9] = { NULL,          NULL,          NAME(plain2), NAME(plain3), NAME(plain4),
                                                  NAME(plain5), NULL,          NAME(plain7), NAME(plain8) };
static const NAME(turned_fn) NAME(turned_of)[9] = { NULL,           NULL, NAME(turned2), NAME(turned3), NAME(turned4),
                                                    NAME(turned5), NULL, NAME(turned7), NAME(turned8) };
static const NAME(turned_each_fn) NAME(turned_each_of)[9] = {
    NULL, NULL, NAME(turned_each2), NAME(turned_each3), NAME(turned_each4), NAME(turned_each5),
    NULL, NAME(turned_each7), NAME(turned_each8)
};

/* Deals tile leg k, element (p, q) to y[q + s(R p + k)], `points` values of p from p0. */
static void NAME(deal)(const T *tile, T *y, int64_t radix, int64_t s, int64_t p0, int64_t points)
{
    y += s * radix * p0;
    if (s == 1 && radix == 8) {
        for (int64_t p = 0; p < points; p++)
            for (int64_t k = 0; k < 8; k++) y[p * 8 + k] = tile[k * TILE + p];
    } else if (s == 1 && radix == 4) {
        for (int64_t p = 0; p < points; p++)
            for (int64_t k = 0; k < 4; k++) y[p * 4 + k] = tile[k * TILE + p];
    } else {
        for (int64_t k = 0; k < radix; k++)
            for (int64_t p = 0; p < points; p++)
                for (int64_t q = 0; q < s; q++) y[s * (radix * p + k) + q] = tile[k * TILE + p * s + q];
    }
}

/* A stage of odd prime radix without a butterfly of its own: sums and differences of opposite legs, then the sum itself. */
static void NAME(generic_stage)(const fft_stage *st, const T *data, T *yr, T *yi, const T *xr, const T *xi)
{
    T sr[MAX_RADIX * GTILE], si[MAX_RADIX * GTILE], tr[MAX_RADIX * GTILE], ti[MAX_RADIX * GTILE];
    const int64_t radix = st->radix, half = radix / 2, s = st->s, legs = s * st->m;
    const T *root = data + st->root, *wr = data + st->twiddle, *wi = wr + (radix - 1) * st->m;
    for (int64_t i0 = 0; i0 < legs; i0 += GTILE) {
        const int64_t n = legs - i0 < GTILE ? legs - i0 : GTILE;
        for (int64_t j = 1; j <= half; j++) { /* row j: x_j + x_(R-j), row R-j: x_j - x_(R-j) */
            const T *ar = xr + j * legs + i0, *ai = xi + j * legs + i0;
            const T *br = xr + (radix - j) * legs + i0, *bi = xi + (radix - j) * legs + i0;
            for (int64_t i = 0; i < n; i++) {
                sr[j * GTILE + i] = ar[i] + br[i];
                si[j * GTILE + i] = ai[i] + bi[i];
                sr[(radix - j) * GTILE + i] = ar[i] - br[i];
                si[(radix - j) * GTILE + i] = ai[i] - bi[i];
            }
        }
        for (int64_t i = 0; i < n; i++) {
            T zr = xr[i0 + i], zi = xi[i0 + i];
            for (int64_t j = 1; j <= half; j++) {
                zr += sr[j * GTILE + i];
                zi += si[j * GTILE + i];
            }
            tr[i] = zr;
            ti[i] = zi;
        }
        for (int64_t k = 1; k <= half; k++) {
            T er[GTILE], ei[GTILE], or_[GTILE], oi[GTILE];
            for (int64_t i = 0; i < n; i++) {
                er[i] = xr[i0 + i];
                ei[i] = xi[i0 + i];
                or_[i] = oi[i] = 0;
            }
            for (int64_t j = 1; j <= half; j++) {
                const T c = root[2 * (j * k % radix)], d = -root[2 * (j * k % radix) + 1];
                const T *pr = sr + j * GTILE, *pi = si + j * GTILE;
                const T *mr = sr + (radix - j) * GTILE, *mi = si + (radix - j) * GTILE;
                for (int64_t i = 0; i < n; i++) {
                    er[i] = MADD(c, pr[i], er[i]);
                    ei[i] = MADD(c, pi[i], ei[i]);
                    or_[i] = MADD(d, mr[i], or_[i]);
                    oi[i] = MADD(d, mi[i], oi[i]);
                }
            }
            for (int64_t i = 0; i < n; i++) {
                tr[k * GTILE + i] = er[i] + oi[i];
                ti[k * GTILE + i] = ei[i] - or_[i];
                tr[(radix - k) * GTILE + i] = er[i] - oi[i];
                ti[(radix - k) * GTILE + i] = ei[i] + or_[i];
            }
        }
        for (int64_t i = 0; i < n; i++) {
            const int64_t p = (i0 + i) / s, q = (i0 + i) % s;
            T *zr = yr + q + s * radix * p, *zi = yi + q + s * radix * p;
            zr[0] = tr[i];
            zi[0] = ti[i];
            for (int64_t k = 1; k < radix; k++) {
                const CX v = NAME(mul)((CX){ tr[k * GTILE + i], ti[k * GTILE + i] }, wr[p * (radix - 1) + k - 1],
                                       wi[p * (radix - 1) + k - 1]);
                zr[s * k] = v.re;
                zi[s * k] = v.im;
            }
        }
    }
}

static void NAME(stage)(const fft_stage *st, const T *data, T *yr, T *yi, const T *xr, const T *xi)
{
    const int64_t radix = st->radix, s = st->s, m = st->m, legs = s * m;
    const T *w = data + st->twiddle;
    if (radix > 8) {
        NAME(generic_stage)(st, data, yr, yi, xr, xi);
        return;
    }
    if (s >= RUN || m == 1) {
        const T *wr = w, *wi = w + (radix - 1) * m;
        NAME(plain_of)[radix](s, yr, yi, s, xr, xi, legs);
        for (int64_t p = 1; p < m; p++)
            NAME(turned_of)[radix](s, yr + s * radix * p, yi + s * radix * p, s, xr + s * p, xi + s * p, legs,
                                   wr + p * (radix - 1), wi + p * (radix - 1));
        return;
    }
    T tr[8 * TILE], ti[8 * TILE];
    const int64_t points = TILE / s;
    for (int64_t p = 0; p < m; p += points) {
        const int64_t here = m - p < points ? m - p : points;
        NAME(turned_each_of)[radix](here * s, tr, ti, TILE, xr + s * p, xi + s * p, legs, w + s * p,
                                    w + (radix - 1) * legs + s * p, legs);
        NAME(deal)(tr, yr, radix, s, p, here);
        NAME(deal)(ti, yi, radix, s, p, here);
    }
}

/* All stages, from pair 0 of b (b[0], b[1] its real and imaginary part) back and forth with pair 1; returns which pair holds the
 * result. Each part has c->n elements. */
static int NAME(stages)(const fft_core *c, const T *data, T *const b[4])
{
    int at = 0;
    for (int i = 0; i < c->count; i++) {
        NAME(stage)(&c->stage[i], data, b[2 - 2 * at], b[3 - 2 * at], b[2 * at], b[2 * at + 1]);
        at = 1 - at;
    }
    return at;
}

static void NAME(split)(int64_t n, T *MC_RESTRICT re, T *MC_RESTRICT im, const T *MC_RESTRICT in)
{
    for (int64_t i = 0; i < n; i++) {
        re[i] = in[2 * i];
        im[i] = in[2 * i + 1];
    }
}

static void NAME(join)(int64_t n, T *MC_RESTRICT out, const T *MC_RESTRICT re, const T *MC_RESTRICT im)
{
    for (int64_t i = 0; i < n; i++) {
        out[2 * i] = re[i];
        out[2 * i + 1] = im[i];
    }
}

/* Forward transform of pair 0, t->length elements; returns the pair that holds it. By Bluestein when the length has a large
 * prime: with jk = (j^2 + k^2 - (k-j)^2)/2 the transform is a convolution with the chirp e^(i pi j^2 / n), made cyclic in
 * a longer, smooth length. The inverse transform in it is the forward one of swapped parts. */
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

/* Its inverse, without the factor 1/2: bins 0..h to Z, parts swapped so that a forward transform inverts. */
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

/* in[m][row] -> out[m][row] by kind; see mck.h */
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

/* ---- table ----------------------------------------------------------------------------------------------------- */

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

/* The chirp and the spectrum of its conjugate, 1/core.n included; uses the end of the block as workspace. */
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
                if (real_out && 2 * j % n == 0) xi = 0.0; /* the mean and the Nyquist bin are real */
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
