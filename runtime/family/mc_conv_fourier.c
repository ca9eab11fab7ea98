/* mc_conv_fourier.c - convolutions with more than 9 taps, at most 9 an axis, by tiles of a Fourier
 * transform of 16 x 16: 382 products a tile (mck_patch.h).
 *
 * Weights at the points are many, so a block is as large as BLOCK allows: all channels are
 * transformed in parallel, then every point is a product of matrices of its own, then channels go
 * back. */
#include "family/mc_conv_patch.h"

#include "base/mc_memory.h"

#define BLOCK (32 << 20) /* bytes of patches and products of a block, at about */
#define LEAST 24         /* tiles of a block at least: the width of a tile of conv_rows */
#define GROUP 64         /* tiles of a call of a map, whose lanes are tiles */
#define UNITS 1024       /* so many products keep threads busy */
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

static void spread_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const mci_conv_patch *t = arg;
    (void)end;
    mci_patch_spread(t, &t->x, 0, t->b, t->g * t->k + begin, t->first, t->last,
                     t->v + begin * t->pitch, t->k_step, t->work + worker * t->work_bytes);
}

static void product_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const mci_conv_patch *t = arg;
    (void)end;
    (void)worker;
    const int64_t p = begin / t->parts, o = begin % t->parts * t->part;
    const mck_conv k = { .n = (t->last - t->first) * t->across,
                         .m = t->m - o < t->part ? t->m - o : t->part,
                         .k = t->k,
                         .off = t->off,
                         .in = t->v + p * t->k_step,
                         .w = t->u + p * t->u_step + o * t->k,
                         .out = t->s + p * t->m_step + o * t->pitch,
                         .out_row = t->pitch };
    t->sum(&k);
}

static void back_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const mci_conv_patch *t = arg;
    (void)end;
    mci_patch_back(t, t->s + begin * t->pitch, t->m_step, t->b, t->g * t->m + begin, t->first,
                   t->last, t->work + worker * t->work_bytes);
}

/* Blocks, and parts of a product. */
static void cut(mci_conv_patch *t)
{
    const int64_t least = (LEAST + t->across - 1) / t->across,
                  row = t->points * (t->k + t->m) * t->across * (int64_t)sizeof(float);
    int64_t rows = BLOCK / row > least ? BLOCK / row : least;
    rows = rows < t->total ? rows : t->total;
    t->blocks = (t->total + rows - 1) / rows;
    t->rows = (t->total + t->blocks - 1) / t->blocks;
    t->pitch = mci_patch_pitched(t->rows * t->across + MCK_PATCH_SLACK);
    t->k_step = t->k * t->pitch + 16;
    t->m_step = t->m * t->pitch + 16;
    t->u_step = t->k * t->m + 16;
    const int64_t panels = (t->m + MCK_CONV_PANEL - 1) / MCK_CONV_PANEL,
                  want = UNITS / t->points + 1;
    t->part = (panels + want - 1) / want * MCK_CONV_PANEL;
    t->parts = (t->m + t->part - 1) / t->part;
}

/* Weights, patches and products of a block at the points. */
static int64_t numbers(const mci_conv_patch *t)
{
    return t->points * (t->u_step + t->k_step + t->m_step) + 64;
}

int64_t mci_fourier_bytes(mci_conv_patch *t)
{
    cut(t);
    return numbers(t) * (int64_t)sizeof *t->u +
           mci_patch_buffers(t, 0) * mci_workers(t->k > t->m ? t->k : t->m);
}

int mci_fourier_result(mci_conv_patch *t, const mc_tensor *x, const mc_tensor *w)
{
    const mci_conv *c = t->c;
    cut(t);
    int rc = mci_patch_maps(t);
    if (rc) return rc;
    t->u = mci_alloc((size_t)numbers(t) * sizeof *t->u);
    if (!t->u) return mc_errstatus();
    t->v = t->u + t->points * t->u_step + 16;
    t->s = t->v + t->points * t->k_step + 16;
    t->x = mci_conv_operand_of(c, x);
    t->work_bytes = mci_patch_buffers(t, 0);
    for (int64_t group = 0; !rc && group < c->b * c->g; group++) {
        t->b = group / c->g;
        t->g = group % c->g;
        if (group == 0 || w->numel > t->k * t->m * c->axis[1].taps * c->axis[2].taps)
            rc = mci_patch_weigh(t, c->batched && w->shape[0] == 1 ? t->g : group, 1);
        for (t->first = 0; !rc && t->first < t->total; t->first = t->last) {
            t->last = t->total - t->first < t->rows ? t->total : t->first + t->rows;
            rc = mci_patch_run(t, t->k, spread_task);
            if (!rc) rc = mci_parallel(t->points * t->parts, product_task, t);
            if (!rc) rc = mci_patch_run(t, t->m, back_task);
        }
    }
    return rc;
}
