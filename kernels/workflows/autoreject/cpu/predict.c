/* predict.c - how well channels are predicted from random subsets of channels.
 *
 * The predictions of a few channels from all subsets stay in cache until their median is taken.
 * Source: The PREP pipeline, Front. Neuroinform. 9, 16, 2015, with the median of two middle values
 * for an even number. */
#include "tile.h"

#define GROUP 6 /* channels predicted together: 50 subsets are 150 KiB */

typedef struct predict_work {
    double *panel, *guess, *median, *lanes;
    int32_t *list;
    void *work;
} predict_work;

static int64_t predict_layout(const mck_ar_predict *a, predict_work *w, char *at)
{
    char *p = at;
    w->panel = ar_take(&p, a->x.C * TILE * 8);
    w->guess = ar_take(&p, a->S * GROUP * TILE * 8);
    w->median = ar_take(&p, TILE * 8);
    w->lanes = ar_take(&p, a->x.C * 3 * 8);
    w->list = ar_take(&p, a->S * GROUP * 4);
    w->work = p;
    return p - at + MCK(ar_medians_work)(a->S);
}

int64_t MCK(ar_predict_work)(const mck_ar_predict *a)
{
    predict_work w;
    static char origin[64];
    return predict_layout(a, &w, origin);
}

/* sum over the tile of x y */
MC_INLINE double product(const double *x, const double *y)
{
    mck_vec64 part[PARTS];
    for (int p = 0; p < PARTS; p++) part[p] = mck_set_64(0.0);
    for (int v = 0; v < VECTORS; v++)
        part[v % PARTS] =
            mck_muladd_64(mck_load_64(x + v * VL), mck_load_64(y + v * VL), part[v % PARTS]);
    return ar_fold(part);
}

void MCK(ar_predict)(const mck_ar_predict *a, int64_t begin, int64_t end, void *work)
{
    const int64_t C = a->x.C, n = a->n;
    predict_work w;
    predict_layout(a, &w, work);
    for (int64_t g = 0; g < GROUP; g++)
        for (int64_t s = 0; s < a->S; s++) w.list[g * a->S + s] = (int32_t)(s * GROUP + g);
    for (int64_t e = begin; e < end; e++) {
        for (int64_t i = 0; i < 3 * C; i++) w.lanes[i] = 0.0;
        for (int64_t t = 0; t < a->x.T; t += TILE) {
            for (int64_t c = 0; c < C; c++) {
                const double *in = ar_tile(&a->x, e, c, t, AR_ZERO, w.panel + c * TILE);
                if (in != w.panel + c * TILE) ar_copy(w.panel + c * TILE, in);
            }
            for (int64_t c = 0; c < C; c += GROUP) {
                const int64_t rows = C - c < GROUP ? C - c : GROUP;
                for (int64_t s = 0; s < a->S; s++)
                    MCK(ar_mix_tile)
                    (w.guess + s * GROUP * TILE, w.panel, a->subset + s * n, a->w + (s * C + c) * n,
                     rows, n);
                for (int64_t g = 0; g < rows; g++) {
                    const double *x = w.panel + (c + g) * TILE;
                    double *sum = w.lanes + 3 * (c + g);
                    MCK(ar_medians)
                    (w.median, w.guess, w.list + g * a->S, a->S, a->network, a->network_pairs,
                     w.work);
                    sum[0] += product(x, w.median);
                    sum[1] += product(x, x);
                    sum[2] += product(w.median, w.median);
                }
            }
        }
        for (int64_t c = 0; c < C; c++)
            a->out[e * C + c] =
                w.lanes[3 * c] / (sqrt(w.lanes[3 * c + 1]) * sqrt(w.lanes[3 * c + 2]));
    }
}
