/* mc_conv_winograd.c - 3 x 3 convolutions of stride 1 in f32 by tiles of 4 x 4 results: 36
 * products where the sum over taps takes 144 (mck_winograd.h).
 *
 * The result and the gradient of the operand are one computation: the other has the kernel
 * reversed and channels exchanged. A block is a run of rows of tiles, through several samples
 * where those are small; its patches, products and results stay with one worker. An element is
 * one sum over channels in one order, whatever the block, so that bits depend neither on threads
 * nor on the batch. The gradient of the kernel takes blocks one after the other: all channels in
 * parallel, then the 36 products of matrices, joined in order. An element of x that is not
 * finite reaches all results of the tiles that see it. */
#include "family/mc_conv.h"

#include "base/mc_memory.h"
#include "../../kernels/mck_winograd.h"

#include <string.h>

typedef void (*sum_fn)(const mck_conv *);
typedef void (*plane_fn)(const mck_conv_plane *);
typedef void (*tile_fn)(const mck_winograd *);

#define TILE 4
#define POINTS 36
#define BLOCK \
    8192 /* channels times tiles of a block of the result, at about: 1 MiB; half of the weights,
                                 which every block reads, if that is more */
#define LEAST 24               /* tiles of a block at least: the width of a tile of conv_rows */
#define TASKS 8                /* so many blocks keep as many threads busy */
#define WEIGHT_BLOCK (8 << 20) /* bytes of a block of the kernel's gradient at least */
#define NEAR \
    (96 << 10) /* bytes of one operand of a product, read again for each three rows of the other */

typedef struct tiles {
    const mci_conv *c;
    sum_fn sum;
    const mc_blas_api *blas;
    plane_fn copy;
    tile_fn patches, gradients, results, taps;
    int64_t height, width, down,
        across;   /* places of the result of one channel, rows and columns of tiles */
    int64_t k, m; /* channels of a group: summed over, of the result */
    int64_t total, rows, blocks;      /* rows of tiles of all samples, of a block; blocks */
    int64_t part, parts;              /* channels of the result of a unit */
    int64_t pitch, k_step, m_step;    /* elements between channels and points */
    int64_t row;                      /* elements of a row of a plane */
    const int64_t *map[2], *y_map[2]; /* element of an operand for a place of its planes, or -1 */
    int64_t lo, hi, y_lo, y_hi;       /* places of a row whose elements are neighbours */
    mci_conv_operand x, y;            /* what has patches; the result's gradient */
    int64_t *numbers, *off;           /* owns maps; places of channels */
    float *u; /* weights at the points, [b][g][point][panel]; or their gradient */
    int64_t u_b, u_g, u_step, u_row;
    float *out; /* the result, contiguous */
    char *work;
    int64_t work_bytes, m_at, plane_at, row_at; /* of a worker: patches, products, a plane, rows */
    int64_t b, g, first, last; /* gradient of the kernel: the block that is under way */
} tiles;

/* Rows and columns of tiles for `height` x `width` results. */
static void size_of(tiles *t, int64_t height, int64_t width)
{
    t->height = height;
    t->width = width;
    t->down = (height + TILE - 1) / TILE;
    t->across = (width + TILE - 1) / TILE;
}

static void shape_of(tiles *t, const mci_conv *c)
{
    const int to_x = c->form == MCI_CONV_INPUT;
    t->c = c;
    size_of(t, to_x ? c->axis[1].in : c->axis[1].out, to_x ? c->axis[2].in : c->axis[2].out);
    t->k = to_x ? c->og : c->cg;
    t->m = to_x ? c->cg : c->og;
}

/* Multiplications per sample, directly and by tiles; the maps of a tile of one channel cost as
 * many as MAP, those of a pair of weights PAIR (Zen 3; two samples share them). Sizes of one
 * sample decide, so that a sample's bits do not depend on the others. */
#define MAP 480
#define PAIR 160

int mci_conv_by_tiles(const mci_conv *c, int dtype)
{
    tiles t = { 0 };
    if (dtype != MC_F32 || c->nd != 2 || (c->form == MCI_CONV_INPUT && c->mode != MCK_PAD_CONSTANT))
        return 0;
    for (int k = 1; k < 3; k++)
        if (c->axis[k].taps != 3 || c->axis[k].stride != 1 || c->axis[k].dilation != 1) return 0;
    shape_of(&t, c);
    const double pairs = (double)t.k * (double)t.m, many = (double)t.down * (double)t.across;
    return pairs * (36 * many + PAIR) + MAP * many * (double)(t.k + t.m) <
           0.9 * 9 * pairs * (double)t.height * (double)t.width;
}

/* Elements from one channel to the next: whole vectors, and not a power of two. */
static int64_t pitched(int64_t n)
{
    n = (n + 15) & ~(int64_t)15;
    return n % 512 ? n : n + 16;
}

/* Map of n places of an axis of `size` elements, the first at -before; *lo, *hi: the longest run
 * of neighbours inside. */
static void map_axis(int64_t *map, int64_t n, int64_t size, int64_t before, int mode, int64_t used,
                     int64_t *lo, int64_t *hi)
{
    *lo = *hi = 0;
    for (int64_t q = 0; q < n; q++) {
        const int64_t i = q - before, inside = i >= 0 && i < size;
        map[q] = inside                                  ? i
                 : mode == MCK_PAD_CONSTANT || q >= used ? -1
                                                         : mck_pad_source(mode, i, 0, size);
        if (!inside) continue;
        if (*lo == *hi) *lo = q;
        *hi = q + 1;
    }
}

/* Maps of both axes: patches of x (or of the result's gradient), tiles of y. */
static int maps(tiles *t)
{
    const mci_conv *c = t->c;
    const int64_t h = TILE * t->down, w = TILE * t->across;
    t->row = w + TILE;
    t->numbers = mci_alloc((size_t)(2 * (h + 2 + w + 2) + t->k + 4) * sizeof *t->numbers);
    if (!t->numbers) return mc_errstatus();
    int64_t *at = t->numbers;
    for (int a = 0; a < 2; a++) {
        const mci_conv_axis *ax = &c->axis[1 + a];
        const int64_t n = (a ? w : h) + 2, size = a ? t->width : t->height;
        int64_t lo, hi;
        if (c->form == MCI_CONV_INPUT)
            map_axis(at, n, ax->out, 2 - ax->before, MCK_PAD_CONSTANT, 0, &lo, &hi);
        else
            map_axis(at, n, ax->in, ax->before, c->mode, size + 2, &lo, &hi);
        t->map[a] = at;
        t->lo = lo;
        t->hi = hi;
        at += n;
        map_axis(at, n - 2, size, 0, MCK_PAD_CONSTANT, 0, &lo, &hi);
        t->y_map[a] = at;
        t->y_lo = lo;
        t->y_hi = hi;
        at += n - 2;
    }
    t->off = at;
    for (int64_t i = 0; i < t->k + 3; i++) t->off[i] = i < t->k ? i * t->pitch : 0;
    return MC_OK;
}

/* `count` rows of tiles of one channel, from row r on, into a plane. */
static void fill(const tiles *t, float *plane, const mci_conv_operand *o, const char *data, int y,
                 int64_t r, int64_t count)
{
    static const int64_t zero = 0;
    const int more = y ? 0 : 2;
    mck_conv_plane p = { .size = { 1, TILE * count + more, TILE * t->across + more },
                         .stride = { 0, o->axis[1], o->axis[2] },
                         .map = { &zero, (y ? t->y_map : t->map)[0] + TILE * r,
                                  (y ? t->y_map : t->map)[1] },
                         .lo = y ? t->y_lo : t->lo,
                         .hi = y ? t->y_hi : t->hi,
                         .step = 1,
                         .plane = plane,
                         .x = (void *)(uintptr_t)data };
    t->copy(&p);
}

/* Rows of tiles first .. last - 1 of one channel at the points, v. */
static void spread(const tiles *t, const mci_conv_operand *o, int y, int64_t b, int64_t channel,
                   int64_t first, int64_t last, float *v, int64_t step, char *work)
{
    const int64_t row = TILE * t->across + (y ? 0 : 2);
    float *const plane = (float *)(void *)(work + t->plane_at), *const rows =
                                                                    (float *)(void *)(work +
                                                                                      t->row_at);
    for (int64_t r = first, count; r < last; r += count) {
        const int64_t n = r / t->down, at = r % t->down;
        count = t->down - at < last - r ? t->down - at : last - r;
        fill(t, plane, o, o->data + (b * o->b + n * o->n + channel * o->c) * (int64_t)sizeof(float),
             y, at, count);
        const mck_winograd k = { .rows = count,
                                 .columns = t->across,
                                 .step = step,
                                 .in_row = row,
                                 .in = plane,
                                 .v = v + (r - first) * t->across,
                                 .work = rows };
        (y ? t->gradients : t->patches)(&k);
    }
}

/* Places of a plane and of rows behind `at` bytes of a worker; the bytes of all. */
static int64_t buffers(tiles *t, int64_t at)
{
    const int64_t rows = t->rows < t->down ? t->rows : t->down;
    t->plane_at = (at + 63) & ~(int64_t)63;
    t->row_at = t->plane_at + ((rows * TILE + 2) * t->row + 16) * (int64_t)sizeof(float);
    return (t->row_at + MCK_WINOGRAD_WORK(t->across) * (int64_t)sizeof(float) + 63) & ~(int64_t)63;
}

static int run(tiles *t, int64_t units, mc_range_fn task)
{
    const size_t bytes = (size_t)(t->work_bytes * mci_workers(units));
    t->work = mci_alloc(bytes);
    if (!t->work) return mc_errstatus();
    memset(t->work, 0, bytes);
    const int rc = mci_parallel(units, task, t);
    mci_free(t->work);
    return rc;
}

/* ---------------------------------------------------------------- result, gradient of x */

typedef struct weight_job {
    const tiles *t;
    tile_fn weights;
    const float *w;
    int64_t panels, outer, inner, reversed;
} weight_job;

static void weight_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const weight_job *j = arg;
    const tiles *t = j->t;
    (void)end;
    (void)worker;
    const int64_t group = begin / j->panels, o = begin % j->panels * MCK_CONV_PANEL;
    const mck_winograd k = { .m = t->m - o < MCK_CONV_PANEL ? t->m - o : MCK_CONV_PANEL,
                             .k = t->k,
                             .outer = j->outer,
                             .inner = j->inner,
                             .reversed = j->reversed,
                             .step = t->u_step,
                             .in = j->w + group * t->k * t->m * 9 + o * j->outer,
                             .v = t->u + group * t->u_g + o * t->k };
    j->weights(&k);
}

/* Weights at the points, in panels of channels of the result. */
static int weigh(tiles *t, const mc_tensor *w)
{
    const int to_x = t->c->form == MCI_CONV_INPUT;
    const int64_t groups = w->numel / (t->k * t->m * 9);
    t->u_step = t->k * t->m + 16;
    t->u_g = POINTS * t->u_step;
    t->u_b = t->c->batched && w->shape[0] > 1 ? t->c->g * t->u_g : 0;
    t->u = mci_alloc((size_t)(groups * t->u_g) * sizeof *t->u);
    if (!t->u) return mc_errstatus();
    const int64_t one = 9, many = t->c->cg * 9;
    weight_job j = { t,
                     (tile_fn)mci_function(MCK_FN_WINOGRAD_WEIGHTS),
                     w->data,
                     (t->m + MCK_CONV_PANEL - 1) / MCK_CONV_PANEL,
                     to_x ? one : many,
                     to_x ? many : one,
                     to_x };
    return mci_parallel(groups * j.panels, weight_task, &j);
}

static void result_unit(const tiles *t, int64_t unit, char *work)
{
    const mci_conv *c = t->c;
    const int64_t o0 = unit % t->parts * t->part, first = unit / t->parts % t->blocks * t->rows,
                  group = unit / t->parts / t->blocks, g = group % c->g, b = group / c->g;
    const int64_t last = t->total - first < t->rows ? t->total : first + t->rows,
                  os = t->m - o0 < t->part ? t->m - o0 : t->part;
    float *const v = (float *)(void *)work, *const s = (float *)(void *)(work + t->m_at);
    for (int64_t i = 0; i < t->k; i++)
        spread(t, &t->x, 0, b, g * t->k + i, first, last, v + i * t->pitch, t->k_step, work);
    mck_conv k = {
        .n = (last - first) * t->across, .m = os, .k = t->k, .off = t->off, .out_row = t->pitch
    };
    for (int64_t p = 0; p < POINTS && !mc_cancel_pending(); p++) {
        k.in = v + p * t->k_step;
        k.w = t->u + b * t->u_b + g * t->u_g + p * t->u_step + o0 * t->k;
        k.out = s + p * t->m_step;
        t->sum(&k);
    }
    for (int64_t o = 0; o < os; o++)
        for (int64_t r = first, count; r < last; r += count) {
            const int64_t n = r / t->down, at = r % t->down, left = t->height - TILE * at;
            count = t->down - at < last - r ? t->down - at : last - r;
            const mck_winograd w = { .rows = count,
                                     .columns = t->across,
                                     .step = t->m_step,
                                     .v = s + o * t->pitch + (r - first) * t->across,
                                     .out = t->out +
                                            (((b * c->n + n) * c->g + g) * t->m + o0 + o) *
                                                t->height * t->width +
                                            TILE * at * t->width,
                                     .out_row = t->width,
                                     .height = left < TILE * count ? left : TILE * count,
                                     .width = t->width,
                                     .work = (float *)(void *)(work + t->row_at) };
            t->results(&w);
        }
}

static void result_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const tiles *t = arg;
    (void)end;
    result_unit(t, begin, t->work + worker * t->work_bytes);
}

/* Blocks, and parts of the channels of the result where blocks are few. */
static void cut(tiles *t)
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
    const int64_t panels = (t->m + MCK_CONV_PANEL - 1) / MCK_CONV_PANEL,
                  want = groups * t->blocks < TASKS / 2 ? TASKS / 2 / (groups * t->blocks) : 1;
    t->part = (panels + want - 1) / want * MCK_CONV_PANEL;
    t->parts = (t->m + t->part - 1) / t->part;
    t->pitch = pitched(t->rows * t->across + MCK_WINOGRAD_SLACK);
    t->k_step = t->k * t->pitch + 16;
    t->m_step = t->part * t->pitch + 16;
}

static int result(tiles *t, mc_tensor *out, const mc_tensor *x, const mc_tensor *weight)
{
    mc_tensor tmp = { 0 };
    cut(t);
    int rc = maps(t);
    const mc_tensor *w = mci_conv_dense(&tmp, weight, &rc);
    if (!rc) rc = weigh(t, w);
    if (!rc) {
        t->x = mci_conv_operand_of(t->c, x);
        t->out = out->data;
        t->m_at =
            ((POINTS * t->k_step + MCK_CONV_SLACK) * (int64_t)sizeof(float) + 63) & ~(int64_t)63;
        t->work_bytes =
            buffers(t, t->m_at + (POINTS * t->m_step + MCK_CONV_SLACK) * (int64_t)sizeof(float));
        rc = run(t, t->c->b * t->c->g * t->blocks * t->parts, result_task);
    }
    mc_drop(&tmp);
    return rc;
}

/* ---------------------------------------------------------------- gradient of the kernel */

/* All tiles of one channel of x or of the result's gradient. */
static void spread_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const tiles *t = arg;
    (void)end;
    const int y = begin >= t->k;
    const int64_t i = y ? begin - t->k : begin, step = y ? t->m_step : t->k_step,
                  n = (t->last - t->first) * t->across, tail = ((n + 15) & ~(int64_t)15) - n;
    float *const v = (y ? (float *)(void *)(t->u + POINTS * t->u_step) + POINTS * t->k_step + 16
                        : t->u + POINTS * t->u_step) +
                     i * t->pitch;
    spread(t, y ? &t->y : &t->x, y, t->b, t->g * (y ? t->m : t->k) + i, t->first, t->last, v, step,
           t->work + worker * t->work_bytes);
    for (int p = 0; p < POINTS && tail > 0; p++)
        memset(v + p * step + n, 0, (size_t)tail * sizeof *v);
}

/* Products of one point, for some channels of the result's gradient. */
static void product_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const tiles *t = arg;
    (void)end;
    const int64_t p = begin / t->parts, o0 = begin % t->parts * t->part,
                  n = (t->last - t->first) * t->across,
                  fits = NEAR / (t->pitch * (int64_t)sizeof(float)) / 4 * 4,
                  step = fits > 4 ? fits : 4;
    const float *const v = t->u + POINTS * t->u_step + p * t->k_step, *const m =
                                                                          t->u +
                                                                          POINTS * t->u_step +
                                                                          POINTS * t->k_step + 16 +
                                                                          p * t->m_step;
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
    const tiles *t = arg;
    (void)end;
    (void)worker;
    const mck_winograd k = { .k = t->k,
                             .step = t->u_step,
                             .v = t->u + begin * t->u_row,
                             .out = t->out + ((t->b * t->c->g + t->g) * t->m + begin) * t->k * 9,
                             .out_row = 9 };
    t->taps(&k);
}

static int gradient(tiles *t, mc_tensor *out, const mc_tensor *x, const mc_tensor *y)
{
    const mci_conv *c = t->c;
    const int64_t tile = POINTS * (t->k + t->m) * (int64_t)sizeof(float);
    t->u_row = (t->k + 3) & ~(int64_t)3;
    t->u_step = t->m * t->u_row + 16;
    const int64_t bytes = 2 * POINTS * t->u_step * (int64_t)sizeof(float) > WEIGHT_BLOCK
                              ? 2 * POINTS * t->u_step * (int64_t)sizeof(float)
                              : WEIGHT_BLOCK;
    int64_t rows = bytes / (tile * t->across);
    rows = rows > 1 ? rows : 1;
    rows = rows < t->total ? rows : t->total;
    t->blocks = (t->total + rows - 1) / rows;
    t->rows = (t->total + t->blocks - 1) / t->blocks;
    t->pitch = pitched(t->rows * t->across + MCK_WINOGRAD_SLACK);
    t->k_step = t->k * t->pitch + 16;
    t->m_step = t->m * t->pitch + 16;
    t->blas = mci_blas();
    if (!t->blas && mc_errstatus() == MC_ENOMEM)
        return MC_ENOMEM; /* other sums would have other bits */
    t->part = t->blas || t->m < 96 ? t->m : 48;
    t->parts = (t->m + t->part - 1) / t->part;
    int rc = maps(t);
    if (rc) return rc;
    const int64_t points = POINTS * t->u_step;
    t->u = mci_alloc((size_t)(points + POINTS * (t->k_step + t->m_step) + 64) * sizeof *t->u);
    if (!t->u) return mc_errstatus();
    t->x = mci_conv_operand_of(c, x);
    t->y = mci_conv_operand_of(c, y);
    t->out = out->data;
    t->work_bytes =
        buffers(t, t->blas && t->blocks > 1 ? t->part * t->u_row * (int64_t)sizeof(float) : 0);
    for (int64_t group = 0; !rc && group < c->b * c->g; group++) {
        t->b = group / c->g;
        t->g = group % c->g;
        if (!t->blas) memset(t->u, 0, (size_t)points * sizeof *t->u);
        for (t->first = 0; !rc && t->first < t->total; t->first = t->last) {
            t->last = t->total - t->first < t->rows ? t->total : t->first + t->rows;
            rc = run(t, t->k + t->m, spread_task);
            if (!rc) rc = run(t, POINTS * t->parts, product_task);
        }
        if (!rc) rc = mci_parallel(t->m, taps_task, t);
    }
    return rc;
}

int mci_conv_tiled(const mci_conv *c, mc_tensor *out, const mc_tensor *a, const mc_tensor *b)
{
    tiles t = { .copy = (plane_fn)mci_function(MCK_FN_CONV_COPY_F32),
                .patches = (tile_fn)mci_function(MCK_FN_WINOGRAD_PATCHES),
                .gradients = (tile_fn)mci_function(MCK_FN_WINOGRAD_GRADIENTS),
                .results = (tile_fn)mci_function(MCK_FN_WINOGRAD_RESULTS),
                .taps = (tile_fn)mci_function(MCK_FN_WINOGRAD_TAPS) };
    shape_of(&t, c);
    t.total = c->n * t.down;
    const int weight = c->form == MCI_CONV_WEIGHT;
    t.sum = (sum_fn)mci_kernel_get(weight ? MCK_K_CONV_DOTS : MCK_K_CONV_ROWS, MC_F32);
    const int rc = weight ? gradient(&t, out, a, b) : result(&t, out, a, b);
    mci_free(t.u);
    mci_free(t.numbers);
    return rc;
}
