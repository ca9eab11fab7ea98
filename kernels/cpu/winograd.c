/* winograd.c - the maps of 3 x 3 convolutions by tiles (mck_patch.h): patches, gradients of
 * results, results, weights and their adjoint.
 *
 * Lanes are tiles of one row: rows are first taken apart into four columns of every tile, so that
 * all that follows are whole vectors. Lanes beyond a row of tiles are computed too; the next row
 * overwrites them. */
#include "../mck_patch.h"
#include "../mck_conv.h"
#include "lanes_f32.h"

/* the points +-P and +-Q */
#define P 0.625f
#define Q 1.5f
#define PP (P * P)
#define QQ (Q * Q)
/* 1 / product of the differences of a point to the others */
#define N0 (1.0f / (PP * QQ))
#define NP (1.0f / (2.0f * PP * (PP - QQ)))
#define NQ (1.0f / (2.0f * QQ * (QQ - PP)))

/* B^T of six elements. */
MC_INLINE void six_of_patch(V *d)
{
    const V a = SET(-PP), b = SET(-QQ), s = SET(-(PP + QQ)), p = SET(P), q = SET(Q);
    const V r0 = FMA(SET(PP * QQ), d[0], FMA(s, d[2], d[4]));
    const V r5 = FMA(SET(PP * QQ), d[1], FMA(s, d[3], d[5]));
    const V ep = FMA(b, d[2], d[4]), op = FMA(b, d[1], d[3]);
    const V eq = FMA(a, d[2], d[4]), oq = FMA(a, d[1], d[3]);
    d[0] = r0;
    d[1] = FMA(p, op, ep);
    d[2] = FMA(SET(-P), op, ep);
    d[3] = FMA(q, oq, eq);
    d[4] = FMA(SET(-Q), oq, eq);
    d[5] = r5;
}

/* A^T of six elements: the first four. */
MC_INLINE void four_of_sums(V *m)
{
    const V sp = ADD(m[1], m[2]), dp = SUB(m[1], m[2]), sq = ADD(m[3], m[4]), dq = SUB(m[3], m[4]);
    m[0] = ADD(m[0], ADD(sp, sq));
    m[1] = FMA(SET(P), dp, MUL(SET(Q), dq));
    m[2] = FMA(SET(PP), sp, MUL(SET(QQ), sq));
    m[3] = FMA(SET(P * PP), dp, FMA(SET(Q * QQ), dq, m[5]));
}

/* A of four elements. */
MC_INLINE void six_of_result(V *y)
{
    const V ep = FMA(SET(PP), y[2], y[0]), op = MUL(SET(P), FMA(SET(PP), y[3], y[1]));
    const V eq = FMA(SET(QQ), y[2], y[0]), oq = MUL(SET(Q), FMA(SET(QQ), y[3], y[1]));
    y[5] = y[3];
    y[1] = ADD(ep, op);
    y[2] = SUB(ep, op);
    y[3] = ADD(eq, oq);
    y[4] = SUB(eq, oq);
}

/* Row of n tiles apart: column q of tile t at to[q pitch + t]; `more` columns behind the last. */
MC_INLINE void apart(float *to, int64_t pitch, const float *row, int64_t n, int more)
{
    MC_IVDEP /* rows are of a few vectors: a check whether they overlap costs as much */
    for (int64_t t = 0; t < n; t++)
        for (int q = 0; q < 4; q++) to[q * pitch + t] = row[4 * t + q];
    for (int q = 0; q < more; q++) to[q * pitch + n] = row[4 * n + q];
}

void MCK(winograd_patches)(const mck_patch *k);
void MCK(winograd_patches)(const mck_patch *k)
{
    const int64_t n = k->columns, pitch = n + 32, step = k->step;
    float *v = k->v;
    for (int64_t r = 0; r < k->rows; r++, v += n) {
        for (int i = 0; i < 6; i++)
            apart(k->work + 4 * i * pitch, pitch, k->in + (4 * r + i) * k->in_row, n, 2);
        for (int64_t t = 0; t < n; t += VL) {
            V tmp[6][6];
            MC_UNROLL(6)
            for (int j = 0; j < 6; j++) {
                V d[6];
                const float *const at = k->work + j % 4 * pitch + j / 4 + t;
                MC_UNROLL(6) for (int i = 0; i < 6; i++) d[i] = LD(at + 4 * i * pitch);
                six_of_patch(d);
                MC_UNROLL(6) for (int i = 0; i < 6; i++) tmp[i][j] = d[i];
            }
            float *to = v + t;
            MC_UNROLL(6)
            for (int i = 0; i < 6; i++) {
                six_of_patch(tmp[i]);
                MC_UNROLL(6) for (int j = 0; j < 6; j++, to += step) ST(to, tmp[i][j]);
            }
        }
    }
}

void MCK(winograd_gradients)(const mck_patch *k);
void MCK(winograd_gradients)(const mck_patch *k)
{
    const int64_t n = k->columns, pitch = n + 32, step = k->step;
    float *v = k->v;
    for (int64_t r = 0; r < k->rows; r++, v += n) {
        for (int i = 0; i < 4; i++)
            apart(k->work + 4 * i * pitch, pitch, k->in + (4 * r + i) * k->in_row, n, 0);
        for (int64_t t = 0; t < n; t += VL) {
            V tmp[6][6];
            MC_UNROLL(4)
            for (int j = 0; j < 4; j++) {
                V y[6];
                MC_UNROLL(4)
                for (int i = 0; i < 4; i++) y[i] = LD(k->work + (4 * i + j) * pitch + t);
                six_of_result(y);
                MC_UNROLL(6) for (int i = 0; i < 6; i++) tmp[i][j] = y[i];
            }
            float *to = v + t;
            MC_UNROLL(6)
            for (int i = 0; i < 6; i++) {
                six_of_result(tmp[i]);
                MC_UNROLL(6) for (int j = 0; j < 6; j++, to += step) ST(to, tmp[i][j]);
            }
        }
    }
}

void MCK(winograd_results)(const mck_patch *k);
void MCK(winograd_results)(const mck_patch *k)
{
    const int64_t n = k->columns, pitch = n + 32, step = k->step;
    const float *v = k->v;
    for (int64_t r = 0; r < k->rows; r++, v += n) {
        for (int64_t t = 0; t < n; t += VL) {
            V tmp[4][6];
            MC_UNROLL(6)
            for (int j = 0; j < 6; j++) {
                V m[6];
                MC_UNROLL(6) for (int i = 0; i < 6; i++) m[i] = LD(v + (6 * i + j) * step + t);
                four_of_sums(m);
                MC_UNROLL(4) for (int i = 0; i < 4; i++) tmp[i][j] = m[i];
            }
            MC_UNROLL(4)
            for (int i = 0; i < 4; i++) {
                four_of_sums(tmp[i]);
                MC_UNROLL(4)
                for (int j = 0; j < 4; j++) ST(k->work + (4 * i + j) * pitch + t, tmp[i][j]);
            }
        }
        for (int64_t i = 0; i < 4 && 4 * r + i < k->height; i++) {
            const float *const from = k->work + 4 * i * pitch;
            float *const to = k->out + (4 * r + i) * k->out_row;
            const int64_t whole = k->width / 4 < n ? k->width / 4 : n;
            MC_IVDEP
            for (int64_t t = 0; t < whole; t++)
                for (int q = 0; q < 4; q++) to[4 * t + q] = from[q * pitch + t];
            for (int64_t x = 4 * whole; x < k->width; x++) to[x] = from[x % 4 * pitch + x / 4];
        }
    }
}

/* ---------------------------------------------------------------- weights: lanes are pairs of
 * channels */

void MCK(winograd_weights)(const mck_patch *k);
void MCK(winograd_weights)(const mck_patch *k)
{
    const int64_t all = k->k * k->m;
    int64_t c = 0, o = 0;
    for (int64_t at = 0; at < all; at += VL) {
        float g[9][VL];
        V tmp[6][3];
        for (int l = 0; l < VL; l++) { /* beyond the last pair: the last once more */
            const float *const w = k->in + o * k->outer + c * k->inner;
            for (int i = 0; i < 9; i++) g[k->reversed ? 8 - i : i][l] = w[i];
            if (at + l + 1 < all && ++o == k->m) {
                o = 0;
                c++;
            }
        }
        for (int j = 0; j < 3; j++) {
            const V g0 = LD(g[j]), g1 = LD(g[3 + j]), g2 = LD(g[6 + j]);
            const V ep = MUL(SET(NP), FMA(SET(PP), g2, g0)), op = MUL(SET(NP * P), g1);
            const V eq = MUL(SET(NQ), FMA(SET(QQ), g2, g0)), oq = MUL(SET(NQ * Q), g1);
            tmp[0][j] = MUL(SET(N0), g0);
            tmp[1][j] = ADD(ep, op);
            tmp[2][j] = SUB(ep, op);
            tmp[3][j] = ADD(eq, oq);
            tmp[4][j] = SUB(eq, oq);
            tmp[5][j] = g2;
        }
        for (int i = 0; i < 6; i++) {
            const V g0 = tmp[i][0], g1 = tmp[i][1], g2 = tmp[i][2];
            const V ep = MUL(SET(NP), FMA(SET(PP), g2, g0)), op = MUL(SET(NP * P), g1);
            const V eq = MUL(SET(NQ), FMA(SET(QQ), g2, g0)), oq = MUL(SET(NQ * Q), g1);
            const V u[6] = { MUL(SET(N0), g0), ADD(ep, op), SUB(ep, op),
                             ADD(eq, oq),      SUB(eq, oq), g2 };
            for (int j = 0; j < 6; j++) {
                float *const to = k->v + (6 * i + j) * k->step + at;
                if (at + VL <= all) {
                    ST(to, u[j]);
                } else {
                    float part[VL];
                    ST(part, u[j]);
                    for (int64_t l = 0; l < all - at; l++) to[l] = part[l];
                }
            }
        }
    }
}

/* G^T of six elements: the first three. */
MC_INLINE void three_of_six(V *u)
{
    const V sp = ADD(u[1], u[2]), dp = SUB(u[1], u[2]), sq = ADD(u[3], u[4]), dq = SUB(u[3], u[4]);
    u[0] = FMA(SET(N0), u[0], FMA(SET(NP), sp, MUL(SET(NQ), sq)));
    u[1] = FMA(SET(NP * P), dp, MUL(SET(NQ * Q), dq));
    u[2] = FMA(SET(NP * PP), sp, FMA(SET(NQ * QQ), sq, u[5]));
}

void MCK(winograd_taps)(const mck_patch *k);
void MCK(winograd_taps)(const mck_patch *k)
{
    for (int64_t c = 0; c < k->k; c += VL) {
        const int64_t left = k->k - c < VL ? k->k - c : VL;
        V tmp[3][6];
        float g[9][VL];
        for (int j = 0; j < 6; j++) {
            V u[6];
            for (int i = 0; i < 6; i++) u[i] = LD(k->v + (6 * i + j) * k->step + c);
            three_of_six(u);
            for (int i = 0; i < 3; i++) tmp[i][j] = u[i];
        }
        for (int i = 0; i < 3; i++) {
            three_of_six(tmp[i]);
            for (int j = 0; j < 3; j++) ST(g[3 * i + j], tmp[i][j]);
        }
        for (int64_t l = 0; l < left; l++)
            for (int i = 0; i < 9; i++) k->out[(c + l) * k->out_row + i] = g[i][l];
    }
}
