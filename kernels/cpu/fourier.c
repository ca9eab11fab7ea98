/* fourier.c - the maps of convolutions by tiles of a Fourier transform of 16 x 16 (mck_patch.h):
 * patches, gradients of results, results, weights and their adjoint.
 *
 * y[p] = sum_t w[t] x[p + t] is the transform back of X conj(W), and the gradient of w that of
 * X conj(Y). A real column gives half of its spectrum: rows 0 .. 8 real parts, 9 .. 15 imaginary
 * parts of 1 .. 7. So rows 0 and 8 are real and 7 are complex. (xr + i xi) (c + i d), d = -wi,
 * takes k1 = c (xr + xi), k2 = xr (d - c), k3 = xi (c + d): k1 - k3 + i (k1 + k2). Columns first,
 * where lanes are places that lie one behind the other; then rows, whose lanes are tiles. */
#include "../mck_patch.h"
#include "../mck_conv.h"
#include "lanes_f32.h"

#define N MCK_FOURIER_SIZE

#define C1 0.92387953251128676f /* cos(pi / 8) */
#define S1 0.38268343236508977f
#define C2 0.70710678118654752f

/* ---------------------------------------------------------------- transforms of 16 */

/* (re, im) times c - i s. */
MC_INLINE void turn(V *re, V *im, float c, float s)
{
    const V r = *re, i = *im;
    *re = FMA(SET(c), r, MUL(SET(s), i));
    *im = FMA(SET(c), i, MUL(SET(-s), r));
}

/* Of four, forward, in place. */
MC_INLINE void four(V *r0, V *i0, V *r1, V *i1, V *r2, V *i2, V *r3, V *i3)
{
    const V ar = ADD(*r0, *r2), ai = ADD(*i0, *i2), br = SUB(*r0, *r2), bi = SUB(*i0, *i2);
    const V cr = ADD(*r1, *r3), ci = ADD(*i1, *i3), dr = SUB(*r1, *r3), di = SUB(*i1, *i3);
    *r0 = ADD(ar, cr);
    *i0 = ADD(ai, ci);
    *r1 = ADD(br, di);
    *i1 = SUB(bi, dr);
    *r2 = SUB(ar, cr);
    *i2 = SUB(ai, ci);
    *r3 = SUB(br, di);
    *i3 = ADD(bi, dr);
}

/* In place; with re and im exchanged it is the transform back. */
static MC_NOINLINE void sixteen(V *re, V *im)
{
    V a[N], b[N];
    MC_UNROLL(4)
    for (int k = 0; k < 4; k++) {
        MC_UNROLL(4)
        for (int j = 0; j < 4; j++) {
            a[k + 4 * j] = re[k + 4 * j];
            b[k + 4 * j] = im[k + 4 * j];
        }
        four(a + k, b + k, a + k + 4, b + k + 4, a + k + 8, b + k + 8, a + k + 12, b + k + 12);
    }
    turn(a + 5, b + 5, C1, S1);
    turn(a + 6, b + 6, C2, C2);
    turn(a + 7, b + 7, S1, C1);
    turn(a + 9, b + 9, C2, C2);
    turn(a + 10, b + 10, 0, 1);
    turn(a + 11, b + 11, -C2, C2);
    turn(a + 13, b + 13, S1, C1);
    turn(a + 14, b + 14, -C2, C2);
    turn(a + 15, b + 15, -C1, -S1);
    MC_UNROLL(4)
    for (int k = 0; k < 4; k++) {
        V *const r = a + 4 * k, *const i = b + 4 * k;
        four(r, i, r + 1, i + 1, r + 2, i + 2, r + 3, i + 3);
        MC_UNROLL(4)
        for (int j = 0; j < 4; j++) {
            re[k + 4 * j] = r[j];
            im[k + 4 * j] = i[j];
        }
    }
}

/* 16 real elements to half of their spectrum, x[0 .. 8] + i x[9 .. 15], in place. */
static MC_NOINLINE void half(V *x)
{
    V s[8], d[8];
    MC_UNROLL(8)
    for (int j = 0; j < 8; j++) {
        s[j] = ADD(x[j], x[j + 8]);
        d[j] = SUB(x[j], x[j + 8]);
    }
    /* odd bins 1, 5, -7, -3 */
    V r[4] = { d[0], d[1], d[2], d[3] }, i[4];
    MC_UNROLL(4) for (int j = 0; j < 4; j++) i[j] = SUB(SET(0), d[j + 4]);
    turn(r + 1, i + 1, C1, S1);
    turn(r + 2, i + 2, C2, C2);
    turn(r + 3, i + 3, S1, C1);
    four(r, i, r + 1, i + 1, r + 2, i + 2, r + 3, i + 3);
    x[1] = r[0];
    x[5] = r[1];
    x[7] = r[2];
    x[3] = r[3];
    x[9] = i[0];
    x[13] = i[1];
    x[15] = SUB(SET(0), i[2]);
    x[11] = SUB(SET(0), i[3]);
    /* even bins: of 8 */
    const V t0 = ADD(s[0], s[4]), t1 = ADD(s[1], s[5]), t2 = ADD(s[2], s[6]), t3 = ADD(s[3], s[7]);
    V e0 = SUB(s[0], s[4]), e1 = SUB(s[1], s[5]), f0 = SUB(s[6], s[2]), f1 = SUB(s[7], s[3]);
    turn(&e1, &f1, C2, C2);
    x[2] = ADD(e0, e1);
    x[10] = ADD(f0, f1);
    x[6] = SUB(e0, e1);
    x[14] = SUB(f1, f0);
    x[4] = SUB(t0, t2);
    x[12] = SUB(t3, t1);
    const V even = ADD(t0, t2), odd = ADD(t1, t3);
    x[0] = ADD(even, odd);
    x[8] = SUB(even, odd);
}

/* Back, times 16, in place. */
static MC_NOINLINE void whole(V *x)
{
    const V two = SET(2), less = SET(-2);
    /* even bins: s, times 8 */
    const V even = ADD(x[0], x[8]), odd = SUB(x[0], x[8]);
    const V t0 = FMA(two, x[4], even), t2 = FMA(less, x[4], even), t1 = FMA(less, x[12], odd),
            t3 = FMA(two, x[12], odd);
    const V e0 = ADD(x[2], x[6]), f0 = SUB(x[10], x[14]);
    V e1 = SUB(x[2], x[6]), f1 = ADD(x[10], x[14]);
    turn(&e1, &f1, C2, -C2);
    const V s[8] = { FMA(two, e0, t0),  FMA(two, e1, t1),  FMA(less, f0, t2), FMA(less, f1, t3),
                     FMA(less, e0, t0), FMA(less, e1, t1), FMA(two, f0, t2),  FMA(two, f1, t3) };
    /* odd bins 1, 5, -7, -3; i: exchanged, which turns forward into back */
    V r[4] = { x[1], x[5], x[7], x[3] },
      i[4] = { x[9], x[13], SUB(SET(0), x[15]), SUB(SET(0), x[11]) };
    four(i, r, i + 1, r + 1, i + 2, r + 2, i + 3, r + 3);
    turn(r + 1, i + 1, C1, -S1);
    turn(r + 2, i + 2, C2, -C2);
    turn(r + 3, i + 3, S1, -C1);
    MC_UNROLL(4)
    for (int j = 0; j < 4; j++) {
        x[j] = FMA(two, r[j], s[j]);
        x[j + 8] = FMA(less, r[j], s[j]);
        x[j + 4] = FMA(less, i[j], s[j + 4]);
        x[j + 12] = FMA(two, i[j], s[j + 4]);
    }
}

/* ---------------------------------------------------------------- points */

/* What a bin becomes: of what is correlated (X), of what slides over it (W). */
enum { OF_X = 0, OF_W = 1 };

MC_INLINE void put(float *to, V a, int64_t lanes)
{
    if (lanes >= VL) {
        ST(to, a);
    } else {
        float part[VL];
        ST(part, a);
        for (int64_t l = 0; l < lanes; l++) to[l] = part[l];
    }
}

MC_INLINE V get(const float *at, int64_t lanes)
{
    if (lanes >= VL) return LD(at);
    float part[VL] = { 0 };
    for (int64_t l = 0; l < lanes; l++) part[l] = at[l];
    return LD(part);
}

MC_INLINE void put_real(const int kind, float *to, V re, int64_t lanes)
{
    put(to, kind == OF_W ? MUL(SET(1.0f / (N * N)), re) : re, lanes);
}

MC_INLINE void put_bin(const int kind, float *to, int64_t step, V re, V im, int64_t lanes)
{
    if (kind == OF_X) {
        put(to, ADD(re, im), lanes);
        put(to + step, re, lanes);
        put(to + 2 * step, im, lanes);
    } else {
        const V c = MUL(SET(1.0f / (N * N)), re), d = MUL(SET(-1.0f / (N * N)), im);
        put(to, c, lanes);
        put(to + step, SUB(d, c), lanes);
        put(to + 2 * step, ADD(c, d), lanes);
    }
}

/* Row u of the spectrum of columns, re (and im), at its points from `to` on. */
MC_INLINE void row_to_points(const int kind, int u, V *re, V *im, float *to, int64_t step,
                             int64_t lanes)
{
    if (u == 0 || u == N / 2) {
        half(re);
        put_real(kind, to, re[0], lanes);
        put_real(kind, to + 22 * step, re[8], lanes);
        to += step;
        for (int q = 1; q < N / 2; q++, to += 3 * step)
            put_bin(kind, to, step, re[q], re[8 + q], lanes);
    } else {
        sixteen(re, im);
        for (int q = 0; q < N; q++, to += 3 * step) put_bin(kind, to, step, re[q], im[q], lanes);
    }
}

MC_INLINE void get_bin(const float *at, int64_t step, V *re, V *im)
{
    const V k1 = LD(at);
    *re = SUB(k1, LD(at + 2 * step));
    *im = ADD(k1, LD(at + step));
}

/* Back: row u of columns from its points, at `at`. */
MC_INLINE void points_to_row(int u, const float *at, int64_t step, V *re, V *im)
{
    if (u == 0 || u == N / 2) {
        re[0] = LD(at);
        re[8] = LD(at + 22 * step);
        at += step;
        for (int q = 1; q < N / 2; q++, at += 3 * step) get_bin(at, step, re + q, re + 8 + q);
        whole(re);
    } else {
        for (int q = 0; q < N; q++, at += 3 * step) get_bin(at, step, re + q, im + q);
        sixteen(im, re);
    }
}

/* ---------------------------------------------------------------- lanes are tiles */

/* 16 elements at each of at[], `off` further on: element q of all lanes in x[q]. */
MC_INLINE void gather(V *x, const float *const *at, int64_t off)
{
    MC_UNROLL(16)
    for (int h = 0; h < N; h += VL) {
        V b[VL];
        MC_UNROLL(16) for (int l = 0; l < VL; l++) b[l] = LD(at[l] + off + h);
        mck_transpose_32(b);
        MC_UNROLL(16) for (int l = 0; l < VL; l++) x[h + l] = b[l];
    }
}

/* Spectra of the columns of all rows of tiles, of `high` rows. */
static void columns(const mck_patch *k, int high)
{
    const int64_t wide = k->columns * k->tile[1] + (high == N ? N - k->tile[1] : 0);
    for (int64_t r = 0; r < k->rows; r++) {
        const float *const in = k->in + k->tile[0] * r * k->in_row;
        float *const to = k->work + r * k->work_row;
        for (int64_t p = 0; p < wide; p += VL) {
            V x[N];
            for (int i = 0; i < high; i++) x[i] = LD(in + i * k->in_row + p);
            for (int i = high; i < N; i++) x[i] = SET(0);
            half(x);
            MC_UNROLL(16) for (int j = 0; j < N; j++) ST(to + j * k->work_step + p, x[j]);
        }
    }
}

/* Where the columns of the next VL tiles begin, from tile *column of row *row on; beyond the last:
 * the last. */
MC_INLINE void begins(const mck_patch *k, int64_t *row, int64_t *column, float **at)
{
    for (int l = 0; l < VL; l++) {
        at[l] = k->work + *row * k->work_row + *column * k->tile[1];
        if (*column + 1 < k->columns) {
            ++*column;
        } else if (*row + 1 < k->rows) {
            ++*row;
            *column = 0;
        }
    }
}

/* Row u of the spectrum of all tiles at its points, from `to` on; of `wide` columns. */
MC_INLINE void row_of_tiles(const mck_patch *k, const int kind, int u, int wide, float *to)
{
    int64_t row = 0, column = 0;
    for (int64_t t = 0; t < k->rows * k->columns; t += VL) {
        float *at[VL];
        V re[N], im[N];
        begins(k, &row, &column, at);
        gather(re, (const float *const *)at, u * k->work_step);
        for (int q = wide; q < N; q++) re[q] = SET(0);
        if (u % (N / 2)) {
            gather(im, (const float *const *)at, (N / 2 + u) * k->work_step);
            for (int q = wide; q < N; q++) im[q] = SET(0);
        }
        row_to_points(kind, u, re, im, to + t, k->step, VL);
    }
}

/* Rows of the spectrum outside, tiles inside: points of a row are few streams through memory. */
MC_INLINE void rows_to_points(const mck_patch *k, const int kind, int wide)
{
    for (int u = 0; u <= N / 2; u++)
        row_of_tiles(k, kind, u, wide, k->v + MCK_FOURIER_POINT(u) * k->step);
}

void MCK(fourier_patches)(const mck_patch *k);
void MCK(fourier_patches)(const mck_patch *k)
{
    columns(k, N);
    rows_to_points(k, OF_X, N);
}

void MCK(fourier_gradients)(const mck_patch *k);
void MCK(fourier_gradients)(const mck_patch *k)
{
    columns(k, (int)k->tile[0]);
    rows_to_points(k, OF_W, (int)k->tile[1]);
}

void MCK(fourier_columns)(const mck_patch *k);
void MCK(fourier_columns)(const mck_patch *k)
{
    columns(k, N);
}

void MCK(fourier_row)(const mck_patch *k);
void MCK(fourier_row)(const mck_patch *k)
{
    row_of_tiles(k, OF_X, (int)k->row, N, k->v);
}

/* Element q of all lanes to 16 places one behind the other; a tile's first places overwrite what
 * the one before has beyond its own. */
MC_INLINE void scatter(const V *x, float *const *at, int64_t off, int lanes)
{
    V b[N / VL][VL];
    MC_UNROLL(16)
    for (int h = 0; h < N / VL; h++) {
        MC_UNROLL(16) for (int l = 0; l < VL; l++) b[h][l] = x[h * VL + l];
        mck_transpose_32(b[h]);
    }
    for (int l = 0; l < lanes; l++)
        MC_UNROLL(16) for (int h = 0; h < N / VL; h++) ST(at[l] + off + h * VL, b[h][l]);
}

void MCK(fourier_row_back)(const mck_patch *k);
void MCK(fourier_row_back)(const mck_patch *k)
{
    const int64_t all = k->rows * k->columns;
    const int u = (int)k->row;
    int64_t row = 0, column = 0;
    for (int64_t t = 0; t < all; t += VL) {
        const int lanes = all - t < VL ? (int)(all - t) : VL;
        float *at[VL];
        V re[N], im[N];
        begins(k, &row, &column, at);
        points_to_row(u, k->v + t, k->step, re, im);
        scatter(re, at, u * k->work_step, lanes);
        if (u % (N / 2)) scatter(im, at, (N / 2 + u) * k->work_step, lanes);
    }
}

void MCK(fourier_results)(const mck_patch *k);
void MCK(fourier_results)(const mck_patch *k)
{
    for (int64_t r = 0; r < k->rows; r++) {
        const float *const from = k->work + r * k->work_row;
        const int64_t left = k->height - k->tile[0] * r,
                      high = left < k->tile[0] ? left : k->tile[0];
        float *const out = k->out + k->tile[0] * r * k->out_row;
        for (int64_t p = 0; p < k->width; p += VL) {
            V x[N];
            MC_UNROLL(16) for (int j = 0; j < N; j++) x[j] = LD(from + j * k->work_step + p);
            whole(x);
            for (int64_t i = 0; i < high; i++) put(out + i * k->out_row + p, x[i], k->width - p);
        }
    }
}

/* ---------------------------------------------------------------- lanes are pairs of channels */

void MCK(fourier_weights)(const mck_patch *k);
void MCK(fourier_weights)(const mck_patch *k)
{
    const int64_t all = k->k * k->m, taps = k->taps[0] * k->taps[1];
    for (int64_t at = 0; at < all; at += VL) {
        float g[MCK_FOURIER_TAPS * MCK_FOURIER_TAPS][VL];
        const float *w[VL];
        for (int l = 0; l < VL; l++) { /* beyond the last pair: the last once more */
            const int64_t pair = at + l < all ? at + l : all - 1;
            w[l] = k->in + pair % k->m * k->outer + pair / k->m * k->inner;
        }
        for (int64_t h = 0; h < taps; h += VL) { /* as many taps as lanes; the last ones overlap */
            const int64_t first = h + VL <= taps ? h : taps > VL ? taps - VL : 0;
            V b[VL];
            for (int l = 0; l < VL; l++) b[l] = get(w[l] + first, taps);
            mck_transpose_32(b);
            for (int i = 0; i < VL && first + i < taps; i++)
                ST(g[k->reversed ? taps - 1 - first - i : first + i], b[i]);
        }
        for (int64_t j = 0; j < k->taps[1]; j++) {
            V x[N];
            for (int64_t i = 0; i < N; i++)
                x[i] = i < k->taps[0] ? LD(g[i * k->taps[1] + j]) : SET(0);
            half(x);
            for (int64_t i = 0; i < N; i++)
                put(k->v + (i * k->taps[1] + j) * k->step + at, x[i], all - at);
        }
    }
}

void MCK(fourier_weight_row)(const mck_patch *k);
void MCK(fourier_weight_row)(const mck_patch *k)
{
    const int64_t all = k->k * k->m;
    const int u = (int)k->row;
    for (int64_t at = 0; at < all; at += VL) {
        const float *const x = k->in + u * k->taps[1] * k->in_row + at;
        V re[N], im[N];
        for (int64_t q = 0; q < N; q++) {
            const int inside = q < k->taps[1];
            re[q] = inside ? LD(x + q * k->in_row) : SET(0);
            im[q] = inside && u % (N / 2) ? LD(x + (N / 2 * k->taps[1] + q) * k->in_row) : SET(0);
        }
        row_to_points(OF_W, u, re, im, k->v + at, k->step, all - at);
    }
}

void MCK(fourier_taps)(const mck_patch *k);
void MCK(fourier_taps)(const mck_patch *k)
{
    for (int64_t c = 0; c < k->k; c += VL) {
        const int64_t left = k->k - c < VL ? k->k - c : VL;
        V column[MCK_FOURIER_TAPS][N];
        for (int u = 0; u <= N / 2; u++) {
            V re[N], im[N];
            points_to_row(u, k->v + MCK_FOURIER_POINT(u) * k->step + c, k->step, re, im);
            for (int64_t q = 0; q < k->taps[1]; q++) {
                column[q][u] = re[q];
                if (u % (N / 2)) column[q][N / 2 + u] = im[q];
            }
        }
        for (int64_t j = 0; j < k->taps[1]; j++) {
            whole(column[j]);
            for (int64_t i = 0; i < k->taps[0]; i++) {
                float g[VL];
                ST(g, column[j][i]);
                for (int64_t l = 0; l < left; l++)
                    k->out[(c + l) * k->out_row + i * k->taps[1] + j] = g[l];
            }
        }
    }
}
