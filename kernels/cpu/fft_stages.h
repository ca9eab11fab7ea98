/* fft_stages.h - butterflies and Stockham stages; included by fft_body.h once per precision.
 *
 * Wants T, MADD(a,b,c) (a*b + c, fused where the level fuses) and NAME(x); leaves NAME(stages),
 * NAME(mul) and CX. A stage reads split arrays x and writes y, for q < s, p < m:
 *
 *   y[q + s(R p + k)] = w^(p k) sum_j x[q + s(p + m j)] e^(-2 pi i j k / R)
 *
 * with w = e^(-2 pi i / (R m)), which sorts itself: after all stages the result stands in natural
 * order. Late stages have long runs of q; early ones (s < RUN) run over q and p together, each
 * element with its own twiddle, through a small tile that is then dealt out. */

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
    const CX a = v[0], sum = NAME(add)(v[1], v[2]),
             dif = NAME(scale)((T)SIN3, NAME(sub)(v[1], v[2]));
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
    const CX m1 =
        NAME(plus)(NAME(plus)(NAME(plus)(a, (T)COS7_1, s1), (T)COS7_2, s2), (T)COS7_3, s3);
    const CX m2 =
        NAME(plus)(NAME(plus)(NAME(plus)(a, (T)COS7_2, s1), (T)COS7_3, s2), (T)COS7_1, s3);
    const CX m3 =
        NAME(plus)(NAME(plus)(NAME(plus)(a, (T)COS7_3, s1), (T)COS7_1, s2), (T)COS7_2, s3);
    const CX n1 = NAME(plus)(NAME(plus)(NAME(scale)((T)SIN7_1, d1), (T)SIN7_2, d2), (T)SIN7_3, d3);
    const CX n2 =
        NAME(plus)(NAME(plus)(NAME(scale)((T)SIN7_2, d1), (T)-SIN7_3, d2), (T)-SIN7_1, d3);
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
typedef void (*NAME(turned_fn))(int64_t, T *, T *, int64_t, const T *, const T *, int64_t,
                                const T *, const T *);
typedef void (*NAME(turned_each_fn))(int64_t, T *, T *, int64_t, const T *, const T *, int64_t,
                                     const T *, const T *, int64_t);

static const NAME(plain_fn) NAME(plain_of)[9] = {
    [2] = NAME(plain2), [3] = NAME(plain3), [4] = NAME(plain4),
    [5] = NAME(plain5), [7] = NAME(plain7), [8] = NAME(plain8),
};
static const NAME(turned_fn) NAME(turned_of)[9] = {
    [2] = NAME(turned2), [3] = NAME(turned3), [4] = NAME(turned4),
    [5] = NAME(turned5), [7] = NAME(turned7), [8] = NAME(turned8),
};
static const NAME(turned_each_fn) NAME(turned_each_of)[9] = {
    [2] = NAME(turned_each2), [3] = NAME(turned_each3), [4] = NAME(turned_each4),
    [5] = NAME(turned_each5), [7] = NAME(turned_each7), [8] = NAME(turned_each8),
};

/* Deals tile leg k, element (p, q) to y[q + s(R p + k)]; radix and s are constants where this is
 * called. */
MC_INLINE void NAME(deal_out)(const T *tile, T *y, int64_t radix, int64_t s, int64_t points)
{
    for (int64_t p = 0; p < points; p++)
        for (int64_t k = 0; k < radix; k++)
            for (int64_t q = 0; q < s; q++) y[s * (radix * p + k) + q] = tile[k * TILE + p * s + q];
}

static void NAME(deal)(const T *tile, T *y, int64_t radix, int64_t s, int64_t points)
{
    if (s == 1) {
        switch (radix) {
        case 8: NAME(deal_out)(tile, y, 8, 1, points); break;
        case 7: NAME(deal_out)(tile, y, 7, 1, points); break;
        case 5: NAME(deal_out)(tile, y, 5, 1, points); break;
        case 4: NAME(deal_out)(tile, y, 4, 1, points); break;
        case 3: NAME(deal_out)(tile, y, 3, 1, points); break;
        default: NAME(deal_out)(tile, y, 2, 1, points); break;
        }
        return;
    }
    switch (s) {
    case 2: NAME(deal_out)(tile, y, radix, 2, points); break;
    case 3: NAME(deal_out)(tile, y, radix, 3, points); break;
    case 4: NAME(deal_out)(tile, y, radix, 4, points); break;
    case 5: NAME(deal_out)(tile, y, radix, 5, points); break;
    case 6: NAME(deal_out)(tile, y, radix, 6, points); break;
    default: NAME(deal_out)(tile, y, radix, 7, points); break;
    }
}

/* ---- a stage of odd prime radix without a butterfly of its own, tile by tile ---- */

/* Legs x of a tile: row j becomes x_j + x_(R-j), row R-j becomes x_j - x_(R-j). */
static void NAME(fold_legs)(int64_t radix, int64_t n, int64_t legs, T *s, const T *x)
{
    for (int64_t j = 1; j <= radix / 2; j++) {
        const T *a = x + j * legs, *b = x + (radix - j) * legs;
        T *sum = s + j * GTILE, *difference = s + (radix - j) * GTILE;
        for (int64_t i = 0; i < n; i++) {
            sum[i] = a[i] + b[i];
            difference[i] = a[i] - b[i];
        }
    }
}

/* Bins k and R-k of a tile: even = x_0 + sum_j cos(jk) sums, odd = sum_j sin(jk) differences. */
static void NAME(bin_pair)(int64_t radix, int64_t k, int64_t n, T *t, T *u, const T *root,
                           const T *x, const T *s, const T *other)
{
    T even[GTILE], odd[GTILE];
    for (int64_t i = 0; i < n; i++) {
        even[i] = x[i];
        odd[i] = 0;
    }
    for (int64_t j = 1; j <= radix / 2; j++) {
        const T c = root[2 * (j * k % radix)], d = -root[2 * (j * k % radix) + 1];
        const T *sum = s + j * GTILE, *difference = other + (radix - j) * GTILE;
        for (int64_t i = 0; i < n; i++) {
            even[i] = MADD(c, sum[i], even[i]);
            odd[i] = MADD(d, difference[i], odd[i]);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        t[i] = even[i] + odd[i];
        u[i] = even[i] - odd[i];
    }
}

/* One part of all bins of a tile: the real part takes the differences of the imaginary one, and the
 * other way about with the opposite sign, which is the same as exchanging bins k and R-k. */
static void NAME(all_bins)(int64_t radix, int64_t n, int imaginary, T *t, const T *root, const T *x,
                           const T *s, const T *other)
{
    for (int64_t i = 0; i < n; i++) {
        T sum = x[i];
        for (int64_t j = 1; j <= radix / 2; j++) sum += s[j * GTILE + i];
        t[i] = sum;
    }
    for (int64_t k = 1; k <= radix / 2; k++) {
        T *low = t + k * GTILE, *high = t + (radix - k) * GTILE;
        NAME(bin_pair)
        (radix, k, n, imaginary ? high : low, imaginary ? low : high, root, x, s, other);
    }
}

static void NAME(generic_stage)(const fft_stage *st, const T *data, T *yr, T *yi, const T *xr,
                                const T *xi)
{
    T sr[MAX_RADIX * GTILE], si[MAX_RADIX * GTILE], tr[MAX_RADIX * GTILE], ti[MAX_RADIX * GTILE];
    const int64_t radix = st->radix, s = st->s, legs = s * st->m;
    const T *root = data + st->root, *wr = data + st->twiddle, *wi = wr + (radix - 1) * st->m;
    for (int64_t i0 = 0; i0 < legs; i0 += GTILE) {
        const int64_t n = legs - i0 < GTILE ? legs - i0 : GTILE;
        NAME(fold_legs)(radix, n, legs, sr, xr + i0);
        NAME(fold_legs)(radix, n, legs, si, xi + i0);
        NAME(all_bins)(radix, n, 0, tr, root, xr + i0, sr, si);
        NAME(all_bins)(radix, n, 1, ti, root, xi + i0, si, sr);
        for (int64_t i = 0; i < n; i++) {
            const int64_t p = (i0 + i) / s, at = (i0 + i) % s + s * radix * p;
            yr[at] = tr[i];
            yi[at] = ti[i];
            for (int64_t k = 1; k < radix; k++) {
                const int64_t w = p * (radix - 1) + k - 1;
                const CX v = NAME(mul)((CX){ tr[k * GTILE + i], ti[k * GTILE + i] }, wr[w], wi[w]);
                yr[at + s * k] = v.re;
                yi[at + s * k] = v.im;
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
        for (int64_t p = 1; p < m; p++) NAME(turned_of)
        [radix](s, yr + s * radix * p, yi + s * radix * p, s, xr + s * p, xi + s * p, legs,
                wr + p * (radix - 1), wi + p * (radix - 1));
        return;
    }
    T tr[8 * TILE], ti[8 * TILE];
    const int64_t points = TILE / s;
    for (int64_t p = 0; p < m; p += points) {
        const int64_t here = m - p < points ? m - p : points;
        NAME(turned_each_of)
        [radix](here * s, tr, ti, TILE, xr + s * p, xi + s * p, legs, w + s * p,
                w + (radix - 1) * legs + s * p, legs);
        NAME(deal)(tr, yr + s * radix * p, radix, s, here);
        NAME(deal)(ti, yi + s * radix * p, radix, s, here);
    }
}

/* All stages, from pair 0 of b (b[0], b[1] its real and imaginary part) back and forth with pair 1;
 * returns which pair holds the result. Each part has c->n elements. */
static int NAME(stages)(const fft_core *c, const T *data, T *const b[4])
{
    int at = 0;
    for (int i = 0; i < c->count; i++) {
        NAME(stage)(&c->stage[i], data, b[2 - 2 * at], b[3 - 2 * at], b[2 * at], b[2 * at + 1]);
        at = 1 - at;
    }
    return at;
}
