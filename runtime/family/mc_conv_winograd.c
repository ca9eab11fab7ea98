/* mc_conv_winograd.c - 3 x 3 convolutions by tiles of 4 x 4 results: 36 products where the sum over
 * taps takes 144 (mck_patch.h).
 *
 * A block is a run of rows of tiles, through several samples where those are small; its patches,
 * products and results stay with one worker. Where blocks are few the patches are shared: all are
 * made first, then a worker takes some channels of the result, whose weights at the points stay in
 * its cache (8 x 512 x 7 x 7: 38 MB of them otherwise go to memory and back). */
#include "family/mc_conv_patch.h"

#include "base/mc_memory.h"

#define BLOCK \
    8192 /* channels times tiles of a block of the result, at about: 1 MiB; half of the weights,
                                 which every block reads, if that is more */
#define LEAST 24 /* tiles of a block at least: the width of a tile of conv_rows */
#define TASKS 8  /* so many blocks keep as many threads busy */
#define PART 16  /* channels of the result of a unit of shared patches, at most */
/* The maps of a tile of one channel cost as many multiplications as MAP, those of a pair of
 * weights PAIR (Zen 3; two samples share them). */
#define MAP 480
#define PAIR 160

int mci_winograd_of(mci_conv_patch *t, const mci_conv *c)
{
    if (c->axis[1].taps != 3 || c->axis[2].taps != 3) return 0;
    t->tile[0] = t->tile[1] = 4;
    t->points = MCK_WINOGRAD_POINTS;
    t->most = INT64_MAX;
    t->patches = (mci_tile_fn)mci_function(MCK_FN_WINOGRAD_PATCHES);
    t->gradients = (mci_tile_fn)mci_function(MCK_FN_WINOGRAD_GRADIENTS);
    t->results = (mci_tile_fn)mci_function(MCK_FN_WINOGRAD_RESULTS);
    t->weights = (mci_tile_fn)mci_function(MCK_FN_WINOGRAD_WEIGHTS);
    t->taps = (mci_tile_fn)mci_function(MCK_FN_WINOGRAD_TAPS);
    return 1;
}

double mci_winograd_cost(const mci_conv_patch *t)
{
    const double pairs = (double)t->k * (double)t->m, many = (double)t->down * (double)t->across;
    return pairs * (MCK_WINOGRAD_POINTS * many + PAIR) + MAP * many * (double)(t->k + t->m);
}

/* Products of os channels of the result from o0 on at each point, and what they make of a block:
 * patches v, weights u in panels. */
static void multiply(const mci_conv_patch *t, const float *v, const float *u, int64_t b, int64_t g,
                     int64_t o0, int64_t os, int64_t first, int64_t last, char *work)
{
    float *const s = (float *)(void *)(work + t->m_at);
    mck_conv k = {
        .n = (last - first) * t->across, .m = os, .k = t->k, .off = t->off, .out_row = t->pitch
    };
    for (int64_t p = 0; p < t->points && !mc_cancel_pending(); p++) {
        k.in = v + p * t->k_step;
        k.w = u + p * t->u_step;
        k.out = s + p * t->m_step;
        t->sum(&k);
    }
    for (int64_t o = 0; o < os; o++)
        mci_patch_back(t, s + o * t->pitch, t->m_step, b, g * t->m + o0 + o, first, last, work);
}

static void result_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const mci_conv_patch *t = arg;
    const mci_conv *c = t->c;
    (void)end;
    char *const work = t->work + worker * t->work_bytes;
    const int64_t first = begin % t->blocks * t->rows, group = begin / t->blocks, g = group % c->g,
                  b = group / c->g, last = t->total - first < t->rows ? t->total : first + t->rows;
    float *const v = (float *)(void *)work;
    for (int64_t i = 0; i < t->k; i++)
        mci_patch_spread(t, &t->x, 0, b, g * t->k + i, first, last, v + i * t->pitch, t->k_step,
                         work);
    multiply(t, v, t->u + b * t->u_b + g * t->u_g, b, g, 0, t->m, first, last, work);
}

/* Patches of one channel of one group. */
static void shared_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const mci_conv_patch *t = arg;
    (void)end;
    const int64_t i = begin % t->k, group = begin / t->k, b = group / t->c->g;
    mci_patch_spread(t, &t->x, 0, b, group % t->c->g * t->k + i, 0, t->total,
                     t->v + group * t->points * t->k_step + i * t->pitch, t->k_step,
                     t->work + worker * t->work_bytes);
}

static void part_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const mci_conv_patch *t = arg;
    (void)end;
    char *const work = t->work + worker * t->work_bytes;
    float *const u = (float *)(void *)work;
    const int64_t o0 = begin % t->parts * t->part, group = begin / t->parts, g = group % t->c->g,
                  b = group / t->c->g, os = t->m - o0 < t->part ? t->m - o0 : t->part;
    mci_patch_weigh_some(t, t->w_b ? group : g, o0, os, u);
    multiply(t, t->v + group * t->points * t->k_step, u, b, g, o0, os, 0, t->total, work);
}
/* Blocks; parts of the channels of the result where blocks are few. */
static void cut(mci_conv_patch *t)
{
    const int64_t groups = t->c->b * t->c->g, least = (LEAST + t->across - 1) / t->across;
    const int64_t weights = t->k * t->m / 2, block = weights > BLOCK ? weights : BLOCK;
    int64_t rows = block / ((t->k + t->m) * t->across);
    const int64_t fair = (groups * t->total + TASKS - 1) / TASKS;
    rows = rows < fair ? rows : fair;
    rows = rows > least ? rows : least;
    rows = rows < t->total ? rows : t->total;
    t->blocks = (t->total + rows - 1) / rows;
    t->rows = (t->total + t->blocks - 1) / t->blocks;
    t->blocks = (t->total + t->rows - 1) / t->rows;
    t->shared = groups * t->blocks < TASKS / 2;
    t->part = t->m;
    if (t->shared) {
        t->rows = t->total;
        t->blocks = 1;
        const int64_t fourth =
            ((t->m + 3) / 4 + MCK_CONV_PANEL - 1) & ~(int64_t)(MCK_CONV_PANEL - 1);
        t->part = fourth < PART ? fourth : PART;
    }
    t->parts = (t->m + t->part - 1) / t->part;
    t->pitch = mci_patch_pitched(t->rows * t->across + MCK_PATCH_SLACK);
    t->k_step = t->k * t->pitch + 16;
    t->m_step = t->part * t->pitch + 16;
    t->u_step = t->k * t->part + 16;
    t->u_g = t->points * t->u_step;
}

/* The bytes of a worker: patches of a block or weights of a part, products, a plane. */
static int64_t buffers(mci_conv_patch *t)
{
    const int64_t own = t->shared ? t->u_g : t->points * t->k_step + MCK_CONV_SLACK;
    t->m_at = (own * (int64_t)sizeof(float) + 63) & ~(int64_t)63;
    return mci_patch_buffers(t, t->m_at + (t->points * t->m_step + MCK_CONV_SLACK) *
                                              (int64_t)sizeof(float));
}

/* Elements that all workers read: patches where they are shared, else weights of `groups`. */
static int64_t common(const mci_conv_patch *t, int64_t groups)
{
    return t->shared ? t->c->b * t->c->g * t->points * t->k_step + MCK_CONV_SLACK : groups * t->u_g;
}

int64_t mci_winograd_bytes(mci_conv_patch *t)
{
    const int64_t groups = t->c->b * t->c->g;
    cut(t);
    return common(t, groups) * (int64_t)sizeof(float) +
           buffers(t) * mci_workers(groups * (t->shared ? t->k + t->parts : t->blocks));
}

int mci_winograd_result(mci_conv_patch *t, const mc_tensor *x, const mc_tensor *w)
{
    const int64_t groups = w->numel / (t->k * t->m * 9), units = t->c->b * t->c->g;
    cut(t);
    int rc = mci_patch_maps(t);
    if (rc) return rc;
    t->w_b = t->c->batched && w->shape[0] > 1;
    t->u_b = t->w_b ? t->c->g * t->u_g : 0;
    t->x = mci_conv_operand_of(t->c, x);
    t->work_bytes = buffers(t);
    t->u = mci_alloc((size_t)common(t, groups) * sizeof *t->u);
    if (!t->u) return mc_errstatus();
    t->v = t->u;
    if (t->shared) {
        rc = mci_patch_run(t, units * t->k, shared_task);
        return rc ? rc : mci_patch_run(t, units * t->parts, part_task);
    }
    rc = mci_patch_weigh(t, 0, groups);
    return rc ? rc : mci_patch_run(t, units * t->blocks, result_task);
}
