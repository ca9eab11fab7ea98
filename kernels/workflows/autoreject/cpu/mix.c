/* mix.c - ranges of channels, and weighted sums of channels: every channel from all others, or the
 * bad cells of an epoch.
 *
 * A sum over channels runs in the order of the channels with fused multiply-adds, one accumulator
 * a sample: the same bits however rows and samples are grouped, which no general matrix product
 * promises. */
#include "tile.h"

#if defined(__AVX512F__)
#define MIX_ROWS 6
#else
#define MIX_ROWS 3
#endif
#define MIX_WIDE 4 /* vectors of a row in registers */

MC_INLINE void mix_rows(double *out, const double *panel, const int64_t *at, const double *w,
                        int64_t n, int64_t column, const int rows)
{
    mck_vec64 acc[MIX_ROWS][MIX_WIDE];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < MIX_WIDE; v++) acc[r][v] = mck_set_64(0.0);
    for (int64_t j = 0; j < n; j++) {
        const double *x = panel + (at ? at[j] : j) * TILE + column;
        mck_vec64 in[MIX_WIDE];
        for (int v = 0; v < MIX_WIDE; v++) in[v] = mck_load_64(x + v * VL);
        for (int r = 0; r < rows; r++) {
            const mck_vec64 f = mck_set_64(w[r * n + j]);
            for (int v = 0; v < MIX_WIDE; v++) acc[r][v] = mck_muladd_64(f, in[v], acc[r][v]);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < MIX_WIDE; v++)
            mck_store_64(out + r * TILE + column + v * VL, acc[r][v]);
}

void MCK(ar_mix_tile)(double *out, const double *panel, const int64_t *at, const double *w,
                      int64_t rows, int64_t n)
{
    for (int64_t column = 0; column < TILE; column += MIX_WIDE * VL) {
        int64_t r = 0;
        for (; r + MIX_ROWS <= rows; r += MIX_ROWS)
            mix_rows(out + r * TILE, panel, at, w + r * n, n, column, MIX_ROWS);
        for (; r + 2 <= rows; r += 2) mix_rows(out + r * TILE, panel, at, w + r * n, n, column, 2);
        if (r < rows) mix_rows(out + r * TILE, panel, at, w + r * n, n, column, 1);
    }
}

/* Largest and smallest in lanes; `odd` becomes NaN when a sample is not finite. */
typedef struct extremes {
    mck_vec64 high[PARTS], low[PARTS], odd;
} extremes;

MC_INLINE void extremes_start(extremes *m)
{
    for (int p = 0; p < PARTS; p++) {
        m->high[p] = mck_set_64(-INFINITY);
        m->low[p] = mck_set_64(INFINITY);
    }
    m->odd = mck_set_64(0.0);
}

MC_INLINE void extremes_add(extremes *m, const double *x)
{
    for (int v = 0; v < VECTORS; v++) {
        const mck_vec64 a = mck_load_64(x + v * VL);
        m->high[v % PARTS] = mck_max_64(a, m->high[v % PARTS]);
        m->low[v % PARTS] = mck_min_64(a, m->low[v % PARTS]);
        m->odd = mck_add_64(m->odd, mck_sub_64(a, a));
    }
}

MC_INLINE double extremes_range(const extremes *m)
{
    double high[LANES], low[LANES], odd[VL];
    for (int p = 0; p < PARTS; p++) {
        mck_store_64(high + p * VL, m->high[p]);
        mck_store_64(low + p * VL, m->low[p]);
    }
    mck_store_64(odd, m->odd);
    for (int i = 1; i < LANES; i++) {
        high[0] = high[i] > high[0] ? high[i] : high[0];
        low[0] = low[i] < low[0] ? low[i] : low[0];
    }
    for (int i = 0; i < VL; i++)
        if (odd[i] != 0.0) return (double)NAN;
    return high[0] - low[0];
}

void MCK(ar_range)(const mck_ar_range *a, int64_t begin, int64_t end, void *work)
{
    (void)work;
    double buf[TILE];
    for (int64_t e = begin; e < end; e++)
        for (int64_t c = 0; c < a->x.C; c++) {
            extremes m;
            extremes_start(&m);
            for (int64_t t = 0; t < a->x.T; t += TILE)
                extremes_add(&m, ar_tile(&a->x, e, c, t, AR_LAST, buf));
            a->out[e * a->x.C + c] = extremes_range(&m);
        }
}

int64_t MCK(ar_mix_work)(const mck_ar_mix *a)
{
    int64_t most = a->first ? 0 : a->rows;
    for (int64_t e = 0; a->first && e < a->x.E; e++)
        if (a->first[e + 1] - a->first[e] > most) most = a->first[e + 1] - a->first[e];
    return ar_bytes(a->x.C * TILE * 8) + ar_bytes(most * TILE * 8) +
           ar_bytes(most * (int64_t)sizeof(extremes));
}

void MCK(ar_mix)(const mck_ar_mix *a, int64_t begin, int64_t end, void *work)
{
    const mck_ar_samples *x = &a->x;
    char *at = work;
    double *panel = ar_take(&at, x->C * TILE * 8);
    for (int64_t e = begin; e < end; e++) {
        const int64_t from = a->first ? a->first[e] : 0,
                      rows = a->first ? a->first[e + 1] - from : a->rows;
        if (rows == 0) continue;
        char *rest = at;
        double *mixed = ar_take(&rest, rows * TILE * 8);
        extremes *m = ar_take(&rest, rows * (int64_t)sizeof(extremes));
        for (int64_t r = 0; r < rows; r++) extremes_start(m + r);
        for (int64_t t = 0; t < x->T; t += TILE) {
            const int64_t left = x->T - t < TILE ? x->T - t : TILE;
            for (int64_t c = 0; c < x->C; c++) {
                const double *in = ar_tile(x, e, c, t, AR_LAST, panel + c * TILE);
                if (in != panel + c * TILE) ar_copy(panel + c * TILE, in);
            }
            MCK(ar_mix_tile)(mixed, panel, NULL, a->w + from * x->C, rows, x->C);
            for (int64_t r = 0; r < rows; r++) {
                if (a->range) extremes_add(m + r, mixed + r * TILE);
                if (!a->out) continue;
                double *out = a->out + (a->first ? from + r : r * x->E + e) * x->T + t;
                if (left == TILE)
                    ar_copy(out, mixed + r * TILE);
                else
                    for (int64_t i = 0; i < left; i++) out[i] = mixed[r * TILE + i];
            }
        }
        for (int64_t r = 0; a->range && r < rows; r++)
            a->range[a->first ? from + r : e * rows + r] = extremes_range(m + r);
    }
}
