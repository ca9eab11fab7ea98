/* sums.c - how far the mean of the quietest training rows is from the median of other rows, for
 * every number of rows and every fold of a channel at once.
 *
 * The rows of a tile are laid down in their order, so that the kept rows of a threshold are the
 * first k training rows: one running sum a fold gives all means, and a threshold decides nothing
 * but k. Running sums of all folds advance through a stretch of rows while it is in cache. */
#include "tile.h"

#define STRETCH 256 /* rows of a tile, 128 KiB */
#define AHEAD 6     /* rows asked for ahead of the copy: they lie far apart */

typedef struct sums_work {
    double *rows, *sum, *middle, *inverse;
    int64_t *done; /* [K]: training rows already added */
    int32_t *train, *middles;
    uint8_t *member;
    void *median;
} sums_work;

static int64_t sums_layout(const mck_ar_sums *a, sums_work *w, char *at)
{
    char *p = at;
    int64_t most = 1;
    for (int64_t f = 0; f < a->K; f++)
        if (a->middle_at[f + 1] - a->middle_at[f] > most)
            most = a->middle_at[f + 1] - a->middle_at[f];
    w->rows = ar_take(&p, a->N * TILE * 8);
    w->sum = ar_take(&p, a->K * TILE * 8);
    w->middle = ar_take(&p, a->K * TILE * 8);
    w->inverse = ar_take(&p, a->M * 8);
    w->done = ar_take(&p, a->K * 8);
    w->train = ar_take(&p, a->train_at[a->K] * 4);
    w->middles = ar_take(&p, a->middle_at[a->K] * 4);
    w->member = ar_take(&p, a->N * 4);
    w->median = p;
    return p - at + MCK(ar_medians_work)(most);
}

int64_t MCK(ar_sums_work)(const mck_ar_sums *a)
{
    sums_work w;
    static char origin[64];
    return sums_layout(a, &w, origin);
}

/* Ranks instead of rows: the training rows of each fold in ascending order, the middle rows as they
 * come. */
static void by_rank(const mck_ar_sums *a, const int64_t *order, sums_work *w)
{
    int32_t *rank = (int32_t *)(void *)w->member; /* then marks */
    for (int64_t r = 0; r < a->N; r++) rank[order[r]] = (int32_t)r;
    for (int64_t i = 0; i < a->middle_at[a->K]; i++) w->middles[i] = rank[a->middle[i]];
    for (int64_t f = 0; f < a->K; f++) {
        int64_t n = a->train_at[f];
        for (int64_t r = 0; r < a->N; r++) w->member[r] = 0;
        for (int64_t i = n; i < a->train_at[f + 1]; i++) w->member[a->train[i]] = 1;
        for (int64_t r = 0; r < a->N; r++)
            if (w->member[order[r]]) w->train[n++] = (int32_t)r;
    }
}

static void load_rows(const mck_ar_sums *a, int64_t c, int64_t t, const int64_t *order,
                      double *rows)
{
    const mck_ar_samples *x = &a->x;
    const int64_t left = x->T - t < TILE ? x->T - t : TILE;
    for (int64_t r = 0; r < a->N; r++) {
        double *out = rows + r * TILE;
        const int64_t e = order[r], ahead = order[r + AHEAD < a->N ? r + AHEAD : r];
        if (ahead >= x->E)
            for (int64_t i = 0; i < TILE; i += 8)
                __builtin_prefetch(a->more + (c * x->E + ahead - x->E) * x->T + t + i);
        else
            for (int64_t i = 0; i < TILE; i += x->single ? 16 : 8)
                __builtin_prefetch((const char *)x->x +
                                   (ahead * x->e_stride + x->pick[c] * x->c_stride + t + i) *
                                       (x->single ? 4 : 8));
        if (e < x->E) {
            const double *in = ar_tile(x, e, c, t, AR_ZERO, out);
            if (in != out) ar_copy(out, in);
            continue;
        }
        const double *in = a->more + (c * x->E + e - x->E) * x->T + t;
        if (left == TILE) {
            ar_copy(out, in);
        } else {
            for (int64_t i = 0; i < left; i++) out[i] = in[i];
            for (int64_t i = left; i < TILE; i++) out[i] = 0.0;
        }
    }
}

/* sums of eight lanes in the order of ar_fold, for eight rows side by side */
MC_INLINE void fold_eight(double (*l)[LANES], double *loss, int64_t n)
{
    double out[LANES];
    for (int i = 0; i < LANES; i++)
        out[i] = ((l[i][0] + l[i][4]) + (l[i][2] + l[i][6])) +
                 ((l[i][1] + l[i][5]) + (l[i][3] + l[i][7]));
    for (int64_t i = 0; i < n; i++) loss[i] += out[i];
}

/* Training rows list[0 .. n) of one fold into its running sum; the first of them makes the mean of
 * k + 1 rows. */
static void advance(double *sum, const double *rows, const int32_t *list, int64_t n,
                    const double *middle, const double *inverse, double *loss)
{
    mck_vec64 s[VECTORS];
    double lanes[LANES][LANES] = { { 0.0 } };
    for (int v = 0; v < VECTORS; v++) s[v] = mck_load_64(sum + v * VL);
    for (int64_t k = 0; k < n; k++) {
        const double *x = rows + list[k] * TILE;
        const mck_vec64 scale = mck_set_64(-inverse[k]);
        mck_vec64 part[PARTS];
        for (int p = 0; p < PARTS; p++) part[p] = mck_set_64(0.0);
        for (int v = 0; v < VECTORS; v++) {
            s[v] = mck_add_64(s[v], mck_load_64(x + v * VL));
            const mck_vec64 d = mck_muladd_64(s[v], scale, mck_load_64(middle + v * VL));
            part[v % PARTS] = mck_muladd_64(d, d, part[v % PARTS]);
        }
        for (int p = 0; p < PARTS; p++) mck_store_64(lanes[k % LANES] + p * VL, part[p]);
        if (k % LANES == LANES - 1) fold_eight(lanes, loss + k - (LANES - 1), LANES);
    }
    if (n % LANES) fold_eight(lanes, loss + n / LANES * LANES, n % LANES);
    for (int v = 0; v < VECTORS; v++) mck_store_64(sum + v * VL, s[v]);
}

void MCK(ar_sums)(const mck_ar_sums *a, int64_t begin, int64_t end, void *work)
{
    sums_work w;
    sums_layout(a, &w, work);
    for (int64_t k = 0; k < a->M; k++) w.inverse[k] = 1.0 / (double)(k + 1);
    for (int64_t c = begin; c < end; c++) {
        const int64_t *order = a->order + c * a->order_stride;
        by_rank(a, order, &w);
        for (int64_t t = 0; t < a->x.T; t += TILE) {
            load_rows(a, c, t, order, w.rows);
            for (int64_t f = 0; f < a->K; f++) {
                const int64_t at = a->middle_at[f], net = a->network_at[f];
                MCK(ar_medians)
                (w.middle + f * TILE, w.rows, w.middles + at, a->middle_at[f + 1] - at,
                 a->network + 2 * net, a->network_at[f + 1] - net, w.median);
                for (int64_t i = 0; i < TILE; i++) w.sum[f * TILE + i] = 0.0;
            }
            for (int64_t f = 0; f < a->K; f++) w.done[f] = a->train_at[f];
            for (int64_t r = 0; r < a->N; r += STRETCH)
                for (int64_t f = 0; f < a->K; f++) {
                    const int64_t from = w.done[f], k = from - a->train_at[f];
                    int64_t to = from;
                    while (to < a->train_at[f + 1] && w.train[to] < r + STRETCH) to++;
                    advance(w.sum + f * TILE, w.rows, w.train + from, to - from,
                            w.middle + f * TILE, w.inverse + k, a->sum + (c * a->K + f) * a->M + k);
                    w.done[f] = to;
                }
        }
    }
}

int64_t MCK(ar_losses_work)(const mck_ar_losses *a) { return ar_bytes(a->N * 8) + ar_bytes(a->N); }

void MCK(ar_losses)(const mck_ar_losses *a, int64_t begin, int64_t end, void *work)
{
    char *p = work;
    double *value = ar_take(&p, a->N * 8);
    uint8_t *member = ar_take(&p, a->N);
    for (int64_t c = begin; c < end; c++) {
        const int64_t *order = a->order + c * a->N;
        const double *at = a->at + c * a->Q;
        for (int64_t f = 0; f < a->K; f++) {
            const double *sum = a->sum + (c * a->K + f) * a->M;
            int64_t n = 0, least = 0, k = 0;
            for (int64_t r = 0; r < a->N; r++) member[r] = 0;
            for (int64_t i = a->train_at[f]; i < a->train_at[f + 1]; i++) member[a->train[i]] = 1;
            for (int64_t r = 0; r < a->N; r++)
                if (member[order[r]]) value[n++] = a->value[c * a->N + order[r]];
            while (a->fallback && least < n && value[least] <= value[0]) least++;
            for (int64_t q = 0; q < a->Q; q++) {
                while (k < n && value[k] <= at[q]) k++;
                const int64_t kept = k > least ? k : least;
                a->out[(c * a->K + f) * a->Q + q] =
                    kept > 0 ? sqrt(sum[kept - 1] / (double)a->points) : (double)INFINITY;
            }
        }
    }
}
