/* levels.c - how far the mean of repaired training epochs is from the median of test epochs, for
 * every set of repairs, fold and level of rejection of a channel at once.
 *
 * Epochs are added up once by group and level; the mean of a fold and level is a sum of groups.
 * Nothing is subtracted from a total, so an artefact in one fold does not cost digits in the
 * others. Repaired cells take the place of samples; a repaired copy of the data is never made. */
#include "tile.h"

typedef struct levels_work {
    double *rows, *middle, *parts, *before, *after, *sum, *patch;
    int32_t *list;
    uint8_t *filled; /* [R][G][L]: some epoch is in the bin */
    void *median;
} levels_work;

static int64_t levels_layout(const mck_ar_levels *a, levels_work *w, char *at)
{
    char *p = at;
    int64_t most = 1;
    for (int64_t f = 0; f < a->K; f++)
        if (a->middle_at[f + 1] - a->middle_at[f] > most)
            most = a->middle_at[f + 1] - a->middle_at[f];
    w->rows = ar_take(&p, a->x.E * TILE * 8);
    w->middle = ar_take(&p, a->K * TILE * 8);
    w->parts = ar_take(&p, a->G * a->L * TILE * 8);
    w->before = ar_take(&p, (a->G + 1) * TILE * 8);
    w->after = ar_take(&p, (a->G + 1) * TILE * 8);
    w->sum = ar_take(&p, a->K * TILE * 8);
    w->patch = ar_take(&p, TILE * 8);
    w->list = ar_take(&p, a->middle_at[a->K] * 4);
    w->filled = ar_take(&p, a->R * a->G * a->L);
    w->median = p;
    return p - at + MCK(ar_medians_work)(most);
}

int64_t MCK(ar_levels_work)(const mck_ar_levels *a)
{
    levels_work w;
    static char origin[64];
    return levels_layout(a, &w, origin);
}

/* out = x + y */
MC_INLINE void add_tiles(double *out, const double *x, const double *y)
{
    for (int v = 0; v < VECTORS; v++)
        mck_store_64(out + v * VL, mck_add_64(mck_load_64(x + v * VL), mck_load_64(y + v * VL)));
}

MC_INLINE void clear_tile(double *out)
{
    for (int v = 0; v < VECTORS; v++) mck_store_64(out + v * VL, mck_set_64(0.0));
}

/* Sums of the epochs of each group and level with the repairs of set r, where there are some. */
static void by_level(const mck_ar_levels *a, int64_t c, int64_t r, int64_t t, const levels_work *w)
{
    const int64_t E = a->x.E, T = a->x.T, left = T - t < TILE ? T - t : TILE;
    const uint8_t *filled = w->filled + r * a->G * a->L;
    for (int64_t b = 0; b < a->G * a->L; b++)
        if (filled[b]) clear_tile(w->parts + b * TILE);
    for (int64_t e = 0; e < E; e++) {
        const int64_t level = a->level[r * E + e];
        if (level >= a->L) continue;
        const int64_t cell = a->cell[(r * E + e) * a->x.C + c];
        const double *x = w->rows + e * TILE;
        if (cell >= 0) {
            x = a->repaired + cell * T + t;
            if (left < TILE) {
                for (int64_t i = 0; i < TILE; i++) w->patch[i] = i < left ? x[i] : 0.0;
                x = w->patch;
            }
        }
        double *sum = w->parts + (a->group[e] * a->L + level) * TILE;
        add_tiles(sum, sum, x);
    }
}

/* Adds the bins of one level to the sums of all folds. Where every fold leaves out one group alone,
 * its groups are those before and those after it; else they are added one by one. */
static void add_level(const mck_ar_levels *a, int64_t r, int64_t l, const levels_work *w,
                      const int64_t *without)
{
    const uint8_t *filled = w->filled + r * a->G * a->L;
    if (!without) {
        for (int64_t f = 0; f < a->K; f++)
            for (int64_t g = 0; g < a->G; g++)
                if (a->in_fold[f * a->G + g] && filled[g * a->L + l])
                    add_tiles(w->sum + f * TILE, w->sum + f * TILE,
                              w->parts + (g * a->L + l) * TILE);
        return;
    }
    clear_tile(w->before);
    for (int64_t g = 0; g < a->G; g++) {
        const double *bin = w->parts + (g * a->L + l) * TILE;
        if (filled[g * a->L + l])
            add_tiles(w->before + (g + 1) * TILE, w->before + g * TILE, bin);
        else
            ar_copy(w->before + (g + 1) * TILE, w->before + g * TILE);
    }
    clear_tile(w->after + a->G * TILE);
    for (int64_t g = a->G - 1; g >= 0; g--) {
        const double *bin = w->parts + (g * a->L + l) * TILE;
        if (filled[g * a->L + l])
            add_tiles(w->after + g * TILE, w->after + (g + 1) * TILE, bin);
        else
            ar_copy(w->after + g * TILE, w->after + (g + 1) * TILE);
    }
    for (int64_t f = 0; f < a->K; f++) {
        double *sum = w->sum + f * TILE;
        add_tiles(sum, sum, w->before + without[f] * TILE);
        add_tiles(sum, sum, w->after + (without[f] + 1) * TILE);
    }
}

/* Losses of all folds and levels for one set of repairs. A level that no epoch of a fold enters has
 * the loss of the one below. */
static void losses(const mck_ar_levels *a, int64_t c, int64_t r, const levels_work *w,
                   const int64_t *without)
{
    for (int64_t f = 0; f < a->K; f++) clear_tile(w->sum + f * TILE);
    for (int64_t l = 0; l < a->L; l++) {
        int any = 0;
        for (int64_t g = 0; g < a->G; g++) any |= w->filled[(r * a->G + g) * a->L + l];
        if (any) add_level(a, r, l, w, without);
        for (int64_t f = 0; f < a->K; f++) {
            const int64_t *count = a->count + (r * a->K + f) * a->L;
            if (count[l] > 0 && (l == 0 || count[l] != count[l - 1]))
                a->sum[((c * a->R + r) * a->K + f) * a->L + l] +=
                    ar_distance(w->middle + f * TILE, w->sum + f * TILE, 1.0 / (double)count[l]);
        }
    }
}

void MCK(ar_levels)(const mck_ar_levels *a, int64_t begin, int64_t end, void *work)
{
    levels_work w;
    levels_layout(a, &w, work);
    for (int64_t i = 0; i < a->middle_at[a->K]; i++) w.list[i] = (int32_t)a->middle[i];
    memset(w.filled, 0, (size_t)(a->R * a->G * a->L));
    for (int64_t r = 0; r < a->R; r++)
        for (int64_t e = 0; e < a->x.E; e++)
            if (a->level[r * a->x.E + e] < a->L)
                w.filled[(r * a->G + a->group[e]) * a->L + a->level[r * a->x.E + e]] = 1;
    for (int64_t c = begin; c < end; c++)
        for (int64_t t = 0; t < a->x.T; t += TILE) {
            for (int64_t e = 0; e < a->x.E; e++) {
                const double *in = ar_tile(&a->x, e, c, t, AR_ZERO, w.rows + e * TILE);
                if (in != w.rows + e * TILE) ar_copy(w.rows + e * TILE, in);
            }
            for (int64_t f = 0; f < a->K; f++) {
                const int64_t at = a->middle_at[f], net = a->network_at[f];
                MCK(ar_medians)
                (w.middle + f * TILE, w.rows, w.list + at, a->middle_at[f + 1] - at,
                 a->network + 2 * net, a->network_at[f + 1] - net, w.median);
            }
            for (int64_t r = 0; r < a->R; r++) {
                by_level(a, c, r, t, &w);
                losses(a, c, r, &w, a->without);
            }
        }
}
