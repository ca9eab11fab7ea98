/* autoreject_levels.c - how far the mean of repaired training epochs is from the median of test epochs, for every
 * set of repairs, fold and level of rejection of a channel at once.
 *
 * Epochs are added up once by group and level; the mean of a fold and level is a sum of groups. Nothing is subtracted
 * from a total, so an artefact in one fold does not cost digits in the others. Repaired cells take the place of
 * samples; a repaired copy of the data is never made. May not know how cells were chosen. */
#include "autoreject_tile.h"

typedef struct levels_work {
    double *rows, *middle, *parts, *sum, *patch;
    int32_t *list;
    void *median;
} levels_work;

static int64_t levels_layout(const mck_ar_levels *a, levels_work *w, char *at)
{
    char *p = at;
    int64_t most = 1;
    for (int64_t f = 0; f < a->K; f++)
        if (a->middle_at[f + 1] - a->middle_at[f] > most) most = a->middle_at[f + 1] - a->middle_at[f];
    w->rows = ar_take(&p, a->x.E * TILE * 8);
    w->middle = ar_take(&p, a->K * TILE * 8);
    w->parts = ar_take(&p, a->G * a->L * TILE * 8);
    w->sum = ar_take(&p, TILE * 8);
    w->patch = ar_take(&p, TILE * 8);
    w->list = ar_take(&p, a->middle_at[a->K] * 4);
    w->median = p;
    return p - at + MCK(ar_medians_work)(most);
}

int64_t MCK(ar_levels_work)(const mck_ar_levels *a)
{
    levels_work w;
    static char origin[64];
    return levels_layout(a, &w, origin);
}

MC_INLINE void add_tile(double *sum, const double *x)
{
    for (int v = 0; v < VECTORS; v++) mck_store_64(sum + v * VL, mck_add_64(mck_load_64(sum + v * VL), mck_load_64(x + v * VL)));
}

/* Sums of the epochs of each group and level with the repairs of set r. */
static void by_level(const mck_ar_levels *a, int64_t c, int64_t r, int64_t t, const levels_work *w)
{
    const int64_t T = a->x.T, left = T - t < TILE ? T - t : TILE;
    for (int64_t i = 0; i < a->G * a->L * TILE; i++) w->parts[i] = 0.0;
    for (int64_t e = 0; e < a->x.E; e++) {
        const int64_t level = a->level[r * a->x.E + e];
        if (level >= a->L) continue;
        const int64_t cell = a->cell[(r * a->x.E + e) * a->x.C + c];
        const double *x = w->rows + e * TILE;
        if (cell >= 0) {
            x = a->repaired + cell * T + t;
            if (left < TILE) {
                for (int64_t i = 0; i < TILE; i++) w->patch[i] = i < left ? x[i] : 0.0;
                x = w->patch;
            }
        }
        add_tile(w->parts + (a->group[e] * a->L + level) * TILE, x);
    }
}

void MCK(ar_levels)(const mck_ar_levels *a, int64_t begin, int64_t end, void *work)
{
    levels_work w;
    levels_layout(a, &w, work);
    for (int64_t i = 0; i < a->middle_at[a->K]; i++) w.list[i] = (int32_t)a->middle[i];
    for (int64_t c = begin; c < end; c++)
        for (int64_t t = 0; t < a->x.T; t += TILE) {
            for (int64_t e = 0; e < a->x.E; e++) {
                const double *in = ar_tile(&a->x, e, c, t, AR_ZERO, w.rows + e * TILE);
                if (in != w.rows + e * TILE) ar_copy(w.rows + e * TILE, in);
            }
            for (int64_t f = 0; f < a->K; f++) {
                const int64_t at = a->middle_at[f], net = a->network_at[f];
                MCK(ar_medians)(w.middle + f * TILE, w.rows, w.list + at, a->middle_at[f + 1] - at, a->network + 2 * net, a->network_at[f + 1] - net, w.median);
            }
            for (int64_t r = 0; r < a->R; r++) {
                by_level(a, c, r, t, &w);
                for (int64_t f = 0; f < a->K; f++) {
                    double *out = a->sum + ((c * a->R + r) * a->K + f) * a->L;
                    for (int64_t i = 0; i < TILE; i++) w.sum[i] = 0.0;
                    for (int64_t l = 0; l < a->L; l++) {
                        for (int64_t g = 0; g < a->G; g++)
                            if (a->in_fold[f * a->G + g]) add_tile(w.sum, w.parts + (g * a->L + l) * TILE);
                        const int64_t n = a->count[(r * a->K + f) * a->L + l];
                        if (n > 0) out[l] += ar_distance(w.middle + f * TILE, w.sum, 1.0 / (double)n);
                    }
                }
            }
        }
}
