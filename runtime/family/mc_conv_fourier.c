/* mc_conv_fourier.c - convolutions with more than 9 taps, at most 9 an axis, by tiles of a Fourier
 * transform of 16 x 16: 382 products a tile (mck_patch.h).
 *
 * Spectra of the columns of all channels are made first. Then the rows of the spectrum come one
 * after the other: weights of all channels at the points of a row, then, by some rows of tiles,
 * points, a product of matrices for each, and the row back into the place of the columns. So
 * what stands at the points stays in cache, however many channels there are. */
#include "family/mc_conv_patch.h"

#include "base/mc_memory.h"

#define BLOCK (48 << 20) /* bytes of spectra of columns of a block, at about */
#define NEAR (2 << 20)   /* bytes of patches and products of a row of the spectrum, at about */
#define GROUP 64         /* tiles of a call of a map, whose lanes are tiles */
#define TASKS 4          /* so many units of a thread keep threads busy */
/* The maps of a tile of one channel cost as many multiplications as MAP, those of a pair of
 * weights PAIR (Zen 4; two samples share them). */
#define MAP 8000
#define PAIR 3000

int mci_fourier_of(mci_conv_patch *t, const mci_conv *c)
{
    const int64_t h = c->axis[1].taps, w = c->axis[2].taps;
    if (h > MCK_FOURIER_TAPS || w > MCK_FOURIER_TAPS || h * w <= 9) return 0;
    t->tile[0] = MCK_FOURIER_SIZE + 1 - h;
    t->tile[1] = MCK_FOURIER_SIZE + 1 - w;
    t->points = MCK_FOURIER_POINTS;
    t->most = (GROUP * t->tile[1] + t->width - 1) / (t->width > 0 ? t->width : 1);
    t->patches = (mci_tile_fn)mci_function(MCK_FN_FOURIER_PATCHES);
    t->gradients = (mci_tile_fn)mci_function(MCK_FN_FOURIER_GRADIENTS);
    t->columns = (mci_tile_fn)mci_function(MCK_FN_FOURIER_COLUMNS);
    t->spectrum_row = (mci_tile_fn)mci_function(MCK_FN_FOURIER_ROW);
    t->row_back = (mci_tile_fn)mci_function(MCK_FN_FOURIER_ROW_BACK);
    t->weight_row = (mci_tile_fn)mci_function(MCK_FN_FOURIER_WEIGHT_ROW);
    t->results = (mci_tile_fn)mci_function(MCK_FN_FOURIER_RESULTS);
    t->weights = (mci_tile_fn)mci_function(MCK_FN_FOURIER_WEIGHTS);
    t->taps = (mci_tile_fn)mci_function(MCK_FN_FOURIER_TAPS);
    return 1;
}

double mci_fourier_cost(const mci_conv_patch *t)
{
    const double pairs = (double)t->k * (double)t->m, many = (double)t->down * (double)t->across;
    return pairs * (MCK_FOURIER_POINTS * many + PAIR) + MAP * many * (double)(t->k + t->m);
}

/* Spectra of the columns of one channel. */
static void columns_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const mci_conv_patch *t = arg;
    (void)end;
    mci_patch_columns(t, t->b, t->g * t->k + begin, t->first, t->last, t->v + begin * t->c_step,
                      t->work + worker * t->work_bytes);
}

static int points_of(int64_t u)
{
    return u % (MCK_FOURIER_SIZE / 2) ? MCK_FOURIER_MOST : MCK_FOURIER_MOST / 2 - 1;
}

/* Weights of a panel of channels of the result at the points of one row. */
static void weight_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const mci_conv_patch *t = arg;
    const int64_t panels = (t->m + MCK_CONV_PANEL - 1) / MCK_CONV_PANEL, u = begin / panels,
                  o = begin % panels * MCK_CONV_PANEL;
    (void)end;
    (void)worker;
    const mck_patch k = { .k = t->k,
                          .m = t->m - o < MCK_CONV_PANEL ? t->m - o : MCK_CONV_PANEL,
                          .taps = { t->c->axis[1].taps, t->c->axis[2].taps },
                          .row = t->u_first + u,
                          .in = t->u + o * t->k,
                          .in_row = t->u_step,
                          .step = t->u_step,
                          .v = t->s + u * MCK_FOURIER_MOST * t->u_step + o * t->k };
    t->weight_row(&k);
}

/* Some rows of tiles at one row of the spectrum: points, products, and back. */
static void row_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const mci_conv_patch *t = arg;
    (void)end;
    const int64_t u = begin / t->parts, first = begin % t->parts * t->part,
                  left = t->last - t->first - first, rows = left < t->part ? left : t->part,
                  row = MCK_FOURIER_PITCH(t->across, t->tile[1]), place = first * row;
    float *const v = (float *)(void *)(t->work + worker * t->work_bytes), *const s =
                                                                              v +
                                                                              MCK_FOURIER_MOST *
                                                                                  t->k_step +
                                                                              MCK_CONV_SLACK;
    mck_patch k = { .rows = rows,
                    .columns = t->across,
                    .tile = { t->tile[0], t->tile[1] },
                    .row = t->u_first + u,
                    .work_step = t->work_step,
                    .work_row = row };
    for (int64_t i = 0; i < t->k; i++) {
        k.work = t->v + i * t->c_step + place;
        k.v = v + i * t->pitch;
        k.step = t->k_step;
        t->spectrum_row(&k);
    }
    mck_conv sum = {
        .n = rows * t->across, .m = t->m, .k = t->k, .off = t->off, .out_row = t->pitch
    };
    for (int p = 0; p < points_of(k.row) && !mc_cancel_pending(); p++) {
        sum.in = v + p * t->k_step;
        sum.w = t->s + (u * MCK_FOURIER_MOST + p) * t->u_step;
        sum.out = s + p * t->m_step;
        t->sum(&sum);
    }
    for (int64_t o = 0; o < t->m; o++) {
        k.work = t->v + o * t->c_step + place;
        k.v = s + o * t->pitch;
        k.step = t->m_step;
        t->row_back(&k);
    }
}

static void results_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const mci_conv_patch *t = arg;
    (void)end;
    (void)worker;
    mci_patch_columns_back(t, t->v + begin * t->c_step, t->b, t->g * t->m + begin, t->first,
                           t->last);
}

/* Rows of tiles whose patches and products at a row of the spectrum are near, with few lanes that
 * stand for no tile. */
static int64_t part_of(const mci_conv_patch *t)
{
    const int64_t most = NEAR / (MCK_FOURIER_MOST * (t->k + t->m) * (int64_t)sizeof(float));
    int64_t best = 1, least = INT64_MAX;
    for (int64_t n = 1; n <= t->rows && (n == 1 || n * t->across <= most); n++) {
        const int64_t lanes =
            t->rows / n * ((n * t->across + 15) / 16) + (t->rows % n * t->across + 15) / 16;
        if (lanes > least) continue;
        least = lanes;
        best = n;
    }
    return best;
}

/* Blocks, parts of them, rows of the spectrum at once. */
static void cut(mci_conv_patch *t)
{
    const int64_t wide = t->k > t->m ? t->k : t->m, row = MCK_FOURIER_PITCH(t->across, t->tile[1]);
    int64_t rows = BLOCK / (MCK_FOURIER_SIZE * wide * row * (int64_t)sizeof(float));
    rows = rows > 1 ? rows : 1;
    rows = rows < t->total ? rows : t->total;
    t->blocks = (t->total + rows - 1) / rows;
    t->rows = (t->total + t->blocks - 1) / t->blocks;
    t->c_step = t->rows * row;
    t->work_step = wide * t->c_step + 16;
    t->part = part_of(t);
    t->parts = (t->rows + t->part - 1) / t->part;
    t->pitch = mci_patch_pitched(t->part * t->across + MCK_PATCH_SLACK);
    t->k_step = t->k * t->pitch + 16;
    t->m_step = t->m * t->pitch + 16;
    t->u_step = t->k * t->m + 16;
    const int64_t workers = mci_workers(INT64_MAX),
                  want = workers > 1 ? (TASKS * workers + t->parts - 1) / t->parts : 1;
    t->u_rows = want < MCK_FOURIER_ROWS ? want : MCK_FOURIER_ROWS;
}

/* Spectra of columns of weights and of a block, weights at the points; behind them what workers
 * have of their own. */
static int64_t numbers(mci_conv_patch *t)
{
    cut(t);
    const int64_t units = t->u_rows * t->parts,
                  near = MCK_FOURIER_MOST * (t->k_step + t->m_step) + 2 * MCK_CONV_SLACK;
    (void)mci_patch_buffers(t, 0);
    const int64_t plane = t->row_at / (int64_t)sizeof(float),
                  own = ((near > plane ? near : plane) + 15) & ~(int64_t)15;
    t->s_at = MCK_FOURIER_SIZE * t->c->axis[2].taps * t->u_step;
    t->v_at = t->s_at + t->u_rows * MCK_FOURIER_MOST * t->u_step;
    t->own_at = t->v_at + MCK_FOURIER_SIZE * t->work_step + 16;
    t->work_bytes = own * (int64_t)sizeof(float);
    return t->own_at + own * mci_workers(units > t->k ? units : t->k) + 16;
}

int64_t mci_fourier_bytes(mci_conv_patch *t)
{
    return numbers(t) * (int64_t)sizeof *t->u;
}

int mci_fourier_result(mci_conv_patch *t, const mc_tensor *x, const mc_tensor *w)
{
    const mci_conv *c = t->c;
    const int64_t many = numbers(t);
    int rc = mci_patch_maps(t);
    if (rc) return rc;
    const int64_t panels = (t->m + MCK_CONV_PANEL - 1) / MCK_CONV_PANEL;
    t->u = mci_alloc((size_t)many * sizeof *t->u);
    if (!t->u) return mc_errstatus();
    t->s = t->u + t->s_at;
    t->v = t->u + t->v_at;
    t->work = (char *)(t->u + t->own_at);
    t->x = mci_conv_operand_of(c, x);
    for (int64_t group = 0; !rc && group < c->b * c->g; group++) {
        t->b = group / c->g;
        t->g = group % c->g;
        if (group == 0 || w->numel > t->k * t->m * c->axis[1].taps * c->axis[2].taps)
            rc = mci_patch_weigh(t, c->batched && w->shape[0] == 1 ? t->g : group, 1);
        for (t->first = 0; !rc && t->first < t->total; t->first = t->last) {
            t->last = t->total - t->first < t->rows ? t->total : t->first + t->rows;
            t->parts = (t->last - t->first + t->part - 1) / t->part;
            rc = mci_parallel(t->k, columns_task, t);
            for (t->u_first = 0; !rc && t->u_first < MCK_FOURIER_ROWS; t->u_first += t->u_rows) {
                const int64_t left = MCK_FOURIER_ROWS - t->u_first,
                              some = left < t->u_rows ? left : t->u_rows;
                rc = mci_parallel(some * panels, weight_task, t);
                if (!rc) rc = mci_parallel(some * t->parts, row_task, t);
            }
            if (!rc) rc = mci_parallel(t->m, results_task, t);
        }
    }
    return rc;
}
