/* tile.h - a tile of MCK_AR_TILE samples in f64, as the kernels for epochs see it.
 *
 * How a tile is loaded and padded, sums over its lanes, and medians of many tiles at once. A sum
 * over a tile runs in eight lanes, sample t in lane t mod 8, folded as one tree, so that all
 * levels with fused multiply-adds give the same bits. */
#ifndef AUTOREJECT_TILE_H
#define AUTOREJECT_TILE_H

#include "../autoreject.h"
#include "mck_lanes.h"

#define TILE MCK_AR_TILE
#define VL MCK_VL64
#define LANES 8
#define VECTORS (TILE / VL) /* of a tile */
#define PARTS (LANES / VL)  /* vectors that hold the eight lanes */

enum ar_pad { AR_ZERO, AR_LAST }; /* samples after the end: 0, or the last one again */

/* Samples t .. t + TILE - 1 of a channel: where they lie, or a copy in `buf`. */
MC_INLINE const double *ar_tile(const mck_ar_samples *s, int64_t e, int64_t c, int64_t t,
                                enum ar_pad pad, double *buf)
{
    const int64_t at = e * s->e_stride + s->pick[c] * s->c_stride + t, left = s->T - t;
    const int64_t n = left < TILE ? left : TILE;
    if (!s->single) {
        const double *x = (const double *)s->x + at;
        if (n == TILE) return x;
        for (int64_t i = 0; i < n; i++) buf[i] = x[i];
    } else {
        const float *x = (const float *)s->x + at;
        if (n == TILE) {
            for (int64_t i = 0; i < TILE; i++) buf[i] = (double)x[i];
            return buf;
        }
        for (int64_t i = 0; i < n; i++) buf[i] = (double)x[i];
    }
    for (int64_t i = n; i < TILE; i++) buf[i] = pad == AR_LAST ? buf[n - 1] : 0.0;
    return buf;
}

MC_INLINE void ar_copy(double *out, const double *in)
{
    for (int v = 0; v < VECTORS; v++) mck_store_64(out + v * VL, mck_load_64(in + v * VL));
}

MC_INLINE double ar_fold(const mck_vec64 *part)
{
    double l[LANES];
    for (int p = 0; p < PARTS; p++) mck_store_64(l + p * VL, part[p]);
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

/* sum over the tile of (middle - scale sum)^2 */
MC_INLINE double ar_distance(const double *middle, const double *sum, double scale)
{
    const mck_vec64 s = mck_set_64(-scale);
    mck_vec64 part[PARTS];
    for (int p = 0; p < PARTS; p++) part[p] = mck_set_64(0.0);
    for (int v = 0; v < VECTORS; v++) {
        const mck_vec64 d =
            mck_muladd_64(mck_load_64(sum + v * VL), s, mck_load_64(middle + v * VL));
        part[v % PARTS] = mck_muladd_64(d, d, part[v % PARTS]);
    }
    return ar_fold(part);
}

/* out[TILE] = medians of the n tiles rows + list[i] TILE. network: pairs for n; none: a selection
 * sample by sample. */
void MCK(ar_medians)(double *out, const double *rows, const int32_t *list, int64_t n,
                     const uint16_t *network, int64_t pairs, void *work);
int64_t MCK(ar_medians_work)(int64_t n);
int64_t MCK(ar_network)(int64_t n, uint16_t *pairs);

/* out[r][TILE] = sum_j w[r][j] panel[at[j]][TILE], r < rows; at NULL: j itself. */
void MCK(ar_mix_tile)(double *out, const double *panel, const int64_t *at, const double *w,
                      int64_t rows, int64_t n);

void MCK(ar_range)(const mck_ar_range *a, int64_t begin, int64_t end, void *work);
void MCK(ar_mix)(const mck_ar_mix *a, int64_t begin, int64_t end, void *work);
int64_t MCK(ar_mix_work)(const mck_ar_mix *a);
void MCK(ar_sums)(const mck_ar_sums *a, int64_t begin, int64_t end, void *work);
int64_t MCK(ar_sums_work)(const mck_ar_sums *a);
void MCK(ar_losses)(const mck_ar_losses *a, int64_t begin, int64_t end, void *work);
int64_t MCK(ar_losses_work)(const mck_ar_losses *a);
void MCK(ar_levels)(const mck_ar_levels *a, int64_t begin, int64_t end, void *work);
int64_t MCK(ar_levels_work)(const mck_ar_levels *a);
void MCK(ar_predict)(const mck_ar_predict *a, int64_t begin, int64_t end, void *work);
int64_t MCK(ar_predict_work)(const mck_ar_predict *a);
void MCK(ar_weights)(const mck_ar_weights *a, int64_t begin, int64_t end, void *work);
int64_t MCK(ar_weights_work)(const mck_ar_weights *a);

/* Workspaces are cut into 64-byte aligned pieces. */
MC_INLINE int64_t ar_bytes(int64_t n) { return (n + 63) & ~(int64_t)63; }
MC_INLINE void *ar_take(char **work, int64_t bytes)
{
    void *p = *work;
    *work += ar_bytes(bytes);
    return p;
}

#endif
