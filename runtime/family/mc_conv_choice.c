/* mc_conv_choice.c - convolutions of stride 1 in f32 by tiles of results: the choice between ways,
 * the gradient of the kernel.
 *
 * The gradient takes blocks one after the other: all channels in parallel, then one product of
 * matrices for each point, joined in order. An element of x that is not finite reaches all results
 * of the tiles that see it. */
#include "family/mc_conv_patch.h"

#include "base/mc_memory.h"

#include <string.h>

#define WEIGHT_BLOCK (8 << 20) /* bytes of a block of the kernel's gradient at least */
#define NEAR \
    (96 << 10) /* bytes of one operand of a product, read again for each three rows of the other */

/* ---------------------------------------------------------------- choice */

static const struct {
    int (*of)(mci_conv_patch *t, const mci_conv *c);
    double (*cost)(const mci_conv_patch *t);
    int (*result)(mci_conv_patch *t, const mc_tensor *x, const mc_tensor *w);
    int64_t (*bytes)(mci_conv_patch *t);
} ways[] = { { mci_winograd_of, mci_winograd_cost, mci_winograd_result, mci_winograd_bytes },
             { mci_fourier_of, mci_fourier_cost, mci_fourier_result, mci_fourier_bytes } };

static int shape_of(mci_conv_patch *t, const mci_conv *c, int way)
{
    const int to_x = c->form == MCI_CONV_INPUT;
    *t = (mci_conv_patch){ .c = c,
                           .height = to_x ? c->axis[1].in : c->axis[1].out,
                           .width = to_x ? c->axis[2].in : c->axis[2].out,
                           .k = to_x ? c->og : c->cg,
                           .m = to_x ? c->cg : c->og,
                           .halo = { c->axis[1].taps - 1, c->axis[2].taps - 1 } };
    if (!ways[way].of(t, c)) return 0;
    t->down = (t->height + t->tile[0] - 1) / t->tile[0];
    t->across = (t->width + t->tile[1] - 1) / t->tile[1];
    t->total = c->n * t->down;
    return 1;
}

/* Sizes of one sample decide, so that a sample's bits do not depend on the others. */
int mci_conv_by_tiles(const mci_conv *c, int dtype)
{
    mci_conv_patch t;
    int best = 0;
    double least = 0;
    if (c->direct || dtype != MC_F32 || c->nd != 2 ||
        (c->form == MCI_CONV_INPUT && c->mode != MCK_PAD_CONSTANT))
        return 0;
    for (int k = 1; k < 3; k++)
        if (c->axis[k].stride != 1 || c->axis[k].dilation != 1) return 0;
    for (int way = 0; way < (int)(sizeof ways / sizeof *ways); way++) {
        if (!shape_of(&t, c, way)) continue;
        const double direct = 0.9 * (double)(c->axis[1].taps * c->axis[2].taps) * (double)t.k *
                              (double)t.m * (double)t.height * (double)t.width;
        const double cost = ways[way].cost(&t);
        if (cost >= (best ? least : direct)) continue;
        best = way + 1;
        least = cost;
    }
    return best;
}

int64_t mci_conv_tiles(const mci_conv *c, int way, int64_t tile[2])
{
    mci_conv_patch t;
    (void)shape_of(&t, c, way - 1);
    for (int a = 0; a < 2; a++) tile[a] = t.tile[a];
    t.row = t.tile[1] * t.across + t.halo[1];
    return ways[way - 1].bytes(&t);
}

/* ---------------------------------------------------------------- gradient of the kernel */

/* All tiles of one channel of x or of the result's gradient. */
static void spread_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const mci_conv_patch *t = arg;
    (void)end;
    const int y = begin >= t->k;
    const int64_t i = y ? begin - t->k : begin, step = y ? t->m_step : t->k_step,
                  n = (t->last - t->first) * t->across, tail = ((n + 15) & ~(int64_t)15) - n;
    float *const v = (y ? t->s : t->v) + i * t->pitch;
    mci_patch_spread(t, y ? &t->y : &t->x, y, t->b, t->g * (y ? t->m : t->k) + i, t->first, t->last,
                     v, step, t->work + worker * t->work_bytes);
    for (int64_t p = 0; p < t->points && tail > 0; p++)
        memset(v + p * step + n, 0, (size_t)tail * sizeof *v);
}

/* Products of one point, for some channels of the result's gradient. */
static void product_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const mci_conv_patch *t = arg;
    (void)end;
    const int64_t p = begin / t->parts, o0 = begin % t->parts * t->part,
                  n = (t->last - t->first) * t->across,
                  fits = NEAR / (t->pitch * (int64_t)sizeof(float)) / 4 * 4,
                  step = fits > 4 ? fits : 4;
    const float *const v = t->v + p * t->k_step, *const m = t->s + p * t->m_step;
    if (t->blas) {
        const int64_t os = t->m - o0 < t->part ? t->m - o0 : t->part;
        float *const sum = t->u + p * t->u_step + o0 * t->u_row,
                     *const to =
                         t->first > 0 ? (float *)(void *)(t->work + worker * t->work_bytes) : sum;
        t->blas->gemm('s', 0, 1, os, t->k, n, m + o0 * t->pitch, t->pitch, v, t->pitch, to,
                      t->u_row);
        for (int64_t i = 0; to != sum && i < os; i++)
            for (int64_t j = 0; j < t->k; j++) sum[i * t->u_row + j] += to[i * t->u_row + j];
        return;
    }
    mck_conv k = { .n = (n + 15) & ~(int64_t)15,
                   .m = t->m - o0 < t->part ? t->m - o0 : t->part,
                   .in = v,
                   .w = m + o0 * t->pitch,
                   .w_row = t->pitch,
                   .out_row = t->u_row };
    for (int64_t i = 0; i < t->k; i += step) {
        k.k = ((t->k - i < step ? t->k - i : step) + 3) & ~(int64_t)3;
        k.off = t->off + i;
        k.out = t->u + p * t->u_step + o0 * t->u_row + i;
        t->sum(&k);
    }
}

static void taps_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const mci_conv_patch *t = arg;
    (void)end;
    (void)worker;
    const int64_t taps = t->c->axis[1].taps * t->c->axis[2].taps;
    const mck_patch k = { .k = t->k,
                          .taps = { t->c->axis[1].taps, t->c->axis[2].taps },
                          .step = t->u_step,
                          .v = t->u + begin * t->u_row,
                          .out = t->out + ((t->b * t->c->g + t->g) * t->m + begin) * t->k * taps,
                          .out_row = taps };
    t->taps(&k);
}

static int gradient(mci_conv_patch *t, const mc_tensor *x, const mc_tensor *y)
{
    const mci_conv *c = t->c;
    const int64_t tile = t->points * (t->k + t->m) * (int64_t)sizeof(float);
    t->u_row = (t->k + 3) & ~(int64_t)3;
    t->u_step = t->m * t->u_row + 16;
    const int64_t weights = 2 * t->points * t->u_step * (int64_t)sizeof(float),
                  bytes = weights > WEIGHT_BLOCK ? weights : WEIGHT_BLOCK;
    int64_t rows = bytes / (tile * t->across);
    rows = rows > 1 ? rows : 1;
    rows = rows < t->total ? rows : t->total;
    t->blocks = (t->total + rows - 1) / rows;
    t->rows = (t->total + t->blocks - 1) / t->blocks;
    t->pitch = mci_patch_pitched(t->rows * t->across + MCK_PATCH_SLACK);
    t->k_step = t->k * t->pitch + 16;
    t->m_step = t->m * t->pitch + 16;
    t->blas = mci_blas();
    if (!t->blas && mc_errstatus() != MC_EUNSUPPORTED)
        return mc_errstatus(); /* other sums would have other bits */
    t->part = t->blas || t->m < 96 ? t->m : 48;
    t->parts = (t->m + t->part - 1) / t->part;
    int rc = mci_patch_maps(t);
    if (rc) return rc;
    const int64_t points = t->points * t->u_step;
    t->u = mci_alloc((size_t)(points + t->points * (t->k_step + t->m_step) + 64) * sizeof *t->u);
    if (!t->u) return mc_errstatus();
    t->v = t->u + points;
    t->s = t->v + t->points * t->k_step + 16;
    t->x = mci_conv_operand_of(c, x);
    t->y = mci_conv_operand_of(c, y);
    t->work_bytes = mci_patch_buffers(
        t, t->blas && t->blocks > 1 ? t->part * t->u_row * (int64_t)sizeof(float) : 0);
    for (int64_t group = 0; !rc && group < c->b * c->g; group++) {
        t->b = group / c->g;
        t->g = group % c->g;
        if (!t->blas) memset(t->u, 0, (size_t)points * sizeof *t->u);
        for (t->first = 0; !rc && t->first < t->total; t->first = t->last) {
            t->last = t->total - t->first < t->rows ? t->total : t->first + t->rows;
            rc = mci_patch_run(t, t->k + t->m, spread_task);
            if (!rc) rc = mci_patch_run(t, t->points * t->parts, product_task);
        }
        if (!rc) rc = mci_parallel(t->m, taps_task, t);
    }
    return rc;
}

int mci_conv_tiled(const mci_conv *c, int way, mc_tensor *out, const mc_tensor *a,
                   const mc_tensor *b)
{
    mci_conv_patch t;
    const int weight = c->form == MCI_CONV_WEIGHT;
    (void)shape_of(&t, c, way - 1);
    t.out = out->data;
    t.copy = (mci_plane_fn)mci_function(MCK_FN_CONV_COPY_F32);
    t.sum = (mci_sum_fn)mci_kernel_get(weight ? MCK_K_CONV_DOTS : MCK_K_CONV_ROWS, MC_F32);
    mc_tensor tmp = { 0 };
    int rc = MC_OK;
    if (weight) {
        rc = gradient(&t, a, b);
    } else {
        const mc_tensor *w = mci_conv_dense(&tmp, b, &rc);
        if (!rc) t.w = w->data;
        if (!rc) rc = ways[way - 1].result(&t, a, w);
        mc_drop(&tmp);
    }
    mci_free(t.u);
    mci_free(t.numbers);
    return rc;
}
