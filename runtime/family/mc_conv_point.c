/* mc_conv_point.c - convolutions of one tap, and their gradients of x, as products of matrices.
 *
 * With one tap, no stride and no padding each sample is a matrix [channels, places], and y = w x,
 * x = w^T y: sums over channels that are read and written where they lie, but for places behind
 * the last whole vector, which pass through a buffer. An element is one sum in one order, so that
 * its bits depend neither on threads nor on the batch. */
#include "family/mc_conv.h"

#include "base/mc_memory.h"

#include <string.h>

#define PLACES 64 /* below, a sample is too small a matrix */
#define CHANNELS 16
#define BLOCK 512    /* places of a unit at most */
#define GRAIN 200000 /* multiplications of a task at least */

int mci_conv_by_point(const mci_conv *c)
{
    int64_t places = 1;
    if (c->form == MCI_CONV_WEIGHT || c->g != 1 || c->og < CHANNELS || c->cg < CHANNELS) return 0;
    for (int k = 0; k < 3; k++) {
        const mci_conv_axis *ax = &c->axis[k];
        if (ax->taps != 1 || ax->stride != 1 || ax->in != ax->out) return 0;
        places *= ax->out;
    }
    return places >= PLACES;
}

typedef struct point_job {
    void (*sum)(const mck_conv *);
    const char *w, *in;
    char *out, *packed, *work;
    int64_t size, lanes;     /* bytes of an element; elements of 64 bytes */
    int64_t m, k, places, n; /* channels of the result and summed over; places, samples */
    int64_t w_row, w_column; /* of w: elements between channels of the result, summed over */
    int64_t in_b, packed_b;  /* of a convolution of its own; 0: all share */
    int64_t block, blocks, units, per;
    int64_t *off, work_bytes; /* channels in place, then in a buffer; bytes of a worker */
} point_job;

#define PACK(T)                               \
    for (int64_t c = 0; c < j->k; c++)        \
        for (int64_t i = 0; i < many; i++)    \
            ((T *)(void *)to)[c * many + i] = \
                ((const T *)(const void *)from)[i * j->w_row + c * j->w_column];

/* One panel of weights (mck_conv.h). */
static void pack_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const point_job *j = arg;
    (void)end;
    (void)worker;
    const int64_t panels = (j->m + MCK_CONV_PANEL - 1) / MCK_CONV_PANEL, b = begin / panels,
                  o = begin % panels * MCK_CONV_PANEL,
                  many = j->m - o < MCK_CONV_PANEL ? j->m - o : MCK_CONV_PANEL;
    const char *const from = j->w + (b * j->m * j->k + o * j->w_row) * j->size;
    char *const to = j->packed + (b * j->m + o) * j->k * j->size;
    if (j->size == 4) {
        PACK(float)
    } else {
        PACK(double)
    }
}

/* One block of places of one sample. */
static void point_unit(const point_job *j, int64_t unit, char *work)
{
    const int64_t first = unit % j->blocks * j->block, n = unit / j->blocks % j->n,
                  b = unit / j->blocks / j->n,
                  many = j->places - first < j->block ? j->places - first : j->block,
                  whole = many / j->lanes * j->lanes, left = many - whole;
    const char *in = j->in + (b * j->in_b + n * j->k * j->places + first) * j->size;
    char *out = j->out + ((b * j->n + n) * j->m * j->places + first) * j->size;
    mck_conv k = { .n = whole,
                   .m = j->m,
                   .k = j->k,
                   .in = in,
                   .w = j->packed + b * j->packed_b * j->size,
                   .off = j->off,
                   .out = out,
                   .out_row = j->places };
    if (whole > 0) j->sum(&k);
    if (left == 0) return;
    in += whole * j->size;
    out += whole * j->size;
    const size_t bytes = (size_t)(left * j->size);
    for (int64_t c = 0; c < j->k; c++) memcpy(work + c * 64, in + c * j->places * j->size, bytes);
    k.n = k.out_row = j->lanes;
    k.in = work;
    k.off = j->off + j->k;
    k.out = work + j->k * 64;
    j->sum(&k);
    for (int64_t o = 0; o < j->m; o++)
        memcpy(out + o * j->places * j->size, (const char *)k.out + o * 64, bytes);
}

static void point_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const point_job *j = arg;
    (void)end;
    const int64_t last = (begin + 1) * j->per < j->units ? (begin + 1) * j->per : j->units;
    for (int64_t u = begin * j->per; u < last && !mc_cancel_pending(); u++)
        point_unit(j, u, j->work + worker * j->work_bytes);
}

/* The result, or the gradient of x from that of the result. */
static int sums(const mci_conv *c, mc_tensor *out, const mc_tensor *x, const mc_tensor *w)
{
    const int back = c->form == MCI_CONV_INPUT, size = MCI_SIZE(out->dtype);
    const int64_t all = c->og * c->cg, kernels = w->numel / all,
                  places = c->axis[0].out * c->axis[1].out * c->axis[2].out;
    point_job j = { .sum = (void (*)(const mck_conv *))mci_kernel_get(MCK_K_CONV_ROWS, out->dtype),
                    .w = w->data,
                    .in = x->data,
                    .out = out->data,
                    .size = size,
                    .lanes = 64 / size,
                    .m = back ? c->cg : c->og,
                    .k = back ? c->og : c->cg,
                    .places = places,
                    .n = c->n,
                    .w_row = back ? 1 : c->cg,
                    .w_column = back ? c->cg : 1,
                    .packed_b = kernels > 1 ? all : 0 };
    j.in_b = c->batched && x->shape[0] > 1 ? c->n * j.k * places : 0;
    j.blocks = (places + BLOCK - 1) / BLOCK;
    j.block = ((places + j.blocks - 1) / j.blocks + j.lanes - 1) / j.lanes * j.lanes;
    j.blocks = (places + j.block - 1) / j.block;
    j.units = c->b * c->n * j.blocks;
    const double unit = (double)all * (double)j.block;
    j.per = unit * 2 < GRAIN ? (int64_t)(GRAIN / (unit + 1)) : 1;
    const int64_t tasks = (j.units + j.per - 1) / j.per;
    j.work_bytes = places % j.lanes ? (j.k + j.m) * 64 : 0;
    j.packed = mci_alloc((size_t)(kernels * all * size));
    j.off = mci_alloc((size_t)(2 * j.k) * sizeof *j.off);
    j.work = j.work_bytes ? mci_calloc((size_t)mci_workers(tasks), (size_t)j.work_bytes) : NULL;
    int rc = j.packed && j.off && (j.work || !j.work_bytes) ? MC_OK : mc_errstatus();
    for (int64_t i = 0; !rc && i < j.k; i++) {
        j.off[i] = i * places;
        j.off[j.k + i] = i * j.lanes;
    }
    if (!rc)
        rc = mci_parallel(kernels * ((j.m + MCK_CONV_PANEL - 1) / MCK_CONV_PANEL), pack_task, &j);
    if (!rc) rc = mci_parallel(tasks, point_task, &j);
    mci_free(j.work);
    mci_free(j.off);
    mci_free(j.packed);
    return rc;
}

int mci_conv_point(const mci_conv *c, mc_tensor *out, const mc_tensor *a, const mc_tensor *b)
{
    mc_tensor tmp[2] = { { 0 }, { 0 } };
    int rc = MC_OK;
    const mc_tensor *x = mci_conv_dense(&tmp[0], a, &rc),
                    *w = rc ? NULL : mci_conv_dense(&tmp[1], b, &rc);
    if (!rc) rc = sums(c, out, x, w);
    mc_drop(&tmp[0]);
    mc_drop(&tmp[1]);
    return rc;
}
