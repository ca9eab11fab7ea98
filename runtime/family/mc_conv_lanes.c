/* mc_conv_lanes.c - results of convolutions, and the gradients of their operands, with channels in
 * lanes.
 *
 * In planes (mc_conv_forms.c) places lie in lanes, and those behind the ends of rows are summed up
 * for nothing; a stride takes the operand apart. Here a place is one number that multiplies a
 * vector of weights of all channels, so that places are those of the result alone and a plane is
 * the padded operand, whatever the stride. Results are turned at the end. An element is the same
 * sum in the same order as by planes: the choice changes no bits.
 * The gradient of the operand of a convolution of stride 1 is a convolution with the kernel
 * reversed and channels exchanged. */
#include "family/mc_conv.h"

#include "base/mc_memory.h"

#include <string.h>

#define CACHE (384 << 10) /* bytes of planes and results of a band */
#define GRAIN 200000      /* multiplications of a task at least */
/* Products of a sum at least: turning a result of f32 costs as many as some 8, of f64, element by
 * element, as some 30. */
#define LEAST32 64
#define LEAST64 256

typedef struct lanes_job {
    const mci_conv *c; /* as a convolution of stride 1 whose places are those of the operand */
    void (*sum)(const mck_conv_lanes *);
    void (*copy)(const mck_conv_plane *);
    void (*turn)(const mck_conv_turn *), (*unturn)(const mck_conv_turn *);
    mci_conv_operand x, y;
    int to_x;
    int64_t stride[3], out[3]; /* of the result's places in planes; how many */
    int64_t size, lanes, k, m, from, panels;
    int64_t units, per, x_pitch, y_at, work_bytes;
    int64_t *off, *at;
    const char *w; /* the kernel, contiguous */
    char *packed, *work;
    int64_t packed_b;
} lanes_job;

/* The convolution that is computed, from places of its operand to all places one apart. */
static mci_conv dense(const mci_conv *c)
{
    mci_conv d = *c;
    const int to_x = c->form == MCI_CONV_INPUT;
    d.form = MCI_CONV_RESULT;
    d.cg = to_x ? c->og : c->cg;
    d.og = to_x ? c->cg : c->og;
    for (int k = c->band_axis; k < 3; k++) {
        mci_conv_axis *ax = &d.axis[k];
        const int64_t reach = (ax->taps - 1) * ax->dilation;
        if (to_x) {
            ax->in = c->axis[k].out;
            ax->before = reach - ax->before;
        }
        ax->out = to_x ? c->axis[k].in : (ax->out - 1) * ax->stride + 1;
        ax->every = ax->stride;
        ax->stride = 1;
        ax->shift = reach;
        ax->q = ax->out + reach;
    }
    return d;
}

/* Multiplications of vectors for a product of each place, in lanes and in planes. A tile of few
 * places waits for its sums. */
int mci_conv_by_lanes(const mci_conv *c, int dtype)
{
    const int64_t lanes = 64 / MCI_SIZE(dtype);
    const int to_x = c->form == MCI_CONV_INPUT;
    const int64_t m = to_x ? c->cg : c->og, vectors = (m + lanes - 1) / lanes;
    int64_t row = 0, rows = 1, places = 1, taps = to_x ? c->og : c->cg, stride = 1;
    if (c->form == MCI_CONV_WEIGHT || (to_x && c->mode != MCK_PAD_CONSTANT)) return 0;
    for (int k = c->band_axis; k < 3; k++) {
        const mci_conv_axis *ax = &c->axis[k];
        const int64_t n = to_x ? ax->in : ax->out;
        if (ax->stride > (to_x ? 1 : 2) || ax->stride > ax->taps) return 0;
        stride *= ax->stride;
        taps *= ax->taps;
        if (k < 2) rows *= n;
        places *= k == c->band_axis ? n : n + ax->shift;
        for (int64_t left = k < 2 ? 0 : n, step; left > 0; left -= step) {
            step = left == 16 ? 8 : left >= 14 ? 14 : left >= 8 ? 8 : left >= 4 ? 4 : 1;
            row += (step < 4 ? 4 : step) * vectors;
        }
    }
    const double in_lanes = (double)(row * rows),
                 in_planes = (double)(m * ((places + lanes - 1) / lanes));
    return taps >= (dtype == MC_F32 ? LEAST32 : LEAST64) &&
           in_lanes * (stride > 1 ? 0.97 : 1.1) < in_planes;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void fill(const lanes_job *j, char *planes, const char *x, int64_t start)
{
    const mci_conv *c = j->c;
    mck_conv_plane p = mci_conv_plane_of(c, &j->x, 0, start);
    for (int64_t i = 0; i < c->cg; i++) {
        p.x = (void *)(uintptr_t)(x + i * j->x.c * j->size);
        p.plane = planes + i * j->x_pitch * j->size;
        j->copy(&p);
    }
}

static void unit_of(const lanes_job *j, int64_t unit, char *work)
{
    const mci_conv *c = j->c;
    const int first = c->band_axis;
    const int64_t start = unit % c->bands * c->rows, g = unit / c->bands % c->g,
                  n = unit / c->bands / c->g % c->n, b = unit / c->bands / c->g / c->n,
                  from = start / j->stride[first];
    int64_t d[3];
    for (int k = 0; k < 3; k++)
        d[k] = k == first ? least(c->rows / j->stride[k], j->out[k] - from) : j->out[k];
    fill(j, work, j->x.data + (b * j->x.b + n * j->x.n + g * c->cg * j->x.c) * j->size, start);
    mck_conv_lanes k = { .rows = d[0] * d[1],
                         .n = d[2],
                         .step = j->stride[2],
                         .m = j->m,
                         .k = j->k,
                         .out_row = d[0] * d[1] * d[2] * j->lanes,
                         .out = work + j->y_at * j->size,
                         .in = work,
                         .w = j->packed +
                              (b * j->packed_b + g * j->panels * j->lanes * j->k) * j->size,
                         .off = j->off,
                         .at = j->at };
    char *const y =
        j->y.data +
        (b * j->y.b + n * j->y.n + g * j->m * j->y.c + from * j->y.axis[first]) * j->size;
    for (int64_t o = 0; o < j->m; o++) /* comes to the cache while the sums are taken */
        for (int64_t i = 0; i < d[0] * d[1] * d[2] * j->size; i += 64)
            MC_PREFETCH(y + o * j->y.c * j->size + i);
    j->sum(&k);
    for (int64_t o = 0; o < j->m; o += j->lanes)
        j->unturn(&(mck_conv_turn){ .n = d[0] * d[1] * d[2],
                                    .m = least(j->lanes, j->m - o),
                                    .channel = j->y.c,
                                    .place = 1,
                                    .in = (char *)k.out + o / j->lanes * k.out_row * j->size,
                                    .out = y + o * j->y.c * j->size });
}

static void task(void *arg, int64_t begin, int64_t end, int worker)
{
    const lanes_job *j = arg;
    (void)end;
    const int64_t last = least((begin + 1) * j->per, j->units);
    for (int64_t u = begin * j->per; u < last && !mc_cancel_pending(); u++)
        unit_of(j, u, j->work + worker * j->work_bytes);
}

/* Weights of a panel of channels, [k][channel]: taps of the operand's channels in order. */
static void pack_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const lanes_job *j = arg;
    const mci_conv *c = j->c;
    (void)end;
    (void)worker;
    const int64_t group = begin / j->panels, o = begin % j->panels * j->lanes,
                  m = least(j->lanes, j->m - o), panel = j->k * j->lanes * j->size;
    const char *const w = j->w + group * c->cg * c->og * c->taps * j->size;
    char *const to = j->packed + begin * panel;
    if (m < j->lanes) memset(to, 0, (size_t)panel);
    mck_conv_turn t = { .m = m, .place = 1 };
    if (!j->to_x) {
        t.n = t.channel = j->k;
        t.in = w + o * j->k * j->size;
        t.out = to;
        j->turn(&t);
        return;
    }
    t.n = t.channel = c->taps;
    for (int64_t i = 0; i < c->cg; i++) {
        t.in = w + (i * c->og + o) * c->taps * j->size;
        t.out = to + i * c->taps * j->lanes * j->size;
        j->turn(&t);
    }
}

/* Places of the products of a sum, and of the rows of a band. */
static void lists(lanes_job *j)
{
    const mci_conv *c = j->c;
    for (int64_t k = 0; k < j->k; k++) {
        const int64_t t = k % c->taps;
        j->off[k] = k / c->taps * j->x_pitch + c->tap_shift[j->to_x ? c->taps - 1 - t : t];
    }
    const int64_t across = c->band_axis < 2 ? j->out[1] : 1;
    for (int64_t r = 0; r < j->from; r++)
        j->at[r] =
            r / across * j->stride[0] * c->pitch[0] + r % across * j->stride[1] * c->pitch[1];
}

int mci_conv_lanes(const mci_conv *form, mc_tensor *y, const mc_tensor *x, const mc_tensor *weight)
{
    const int single = y->dtype == MC_F32;
    mci_conv c = dense(form);
    mc_tensor tmp = { 0 };
    lanes_job j = { .c = &c,
                    .to_x = form->form == MCI_CONV_INPUT,
                    .sum = (void (*)(const mck_conv_lanes *))mci_function(
                        single ? MCK_FN_CONV_LANES_F32 : MCK_FN_CONV_LANES_F64),
                    .copy = (void (*)(const mck_conv_plane *))mci_function(
                        single ? MCK_FN_CONV_COPY_F32 : MCK_FN_CONV_COPY_F64),
                    .turn = (void (*)(const mck_conv_turn *))mci_function(
                        single ? MCK_FN_CONV_TURN_F32 : MCK_FN_CONV_TURN_F64),
                    .unturn = (void (*)(const mck_conv_turn *))mci_function(
                        single ? MCK_FN_CONV_UNTURN_F32 : MCK_FN_CONV_UNTURN_F64),
                    .size = MCI_SIZE(y->dtype),
                    .lanes = MCK_CONV_WIDE / MCI_SIZE(y->dtype),
                    .m = c.og };
    int64_t strides = 1, rows = 1;
    double work = (double)(c.b * c.n * c.g) * (double)(c.og * c.cg);
    for (int k = 0; k < 3; k++) {
        j.stride[k] = k < c.band_axis ? 1 : c.axis[k].every;
        j.out[k] = j.to_x ? form->axis[k].in : form->axis[k].out;
        strides *= j.stride[k];
        work *= (double)(j.out[k] * c.axis[k].taps);
    }
    int rc = mci_conv_plan(&c, c.cg, (c.og + strides - 1) / strides, CACHE / j.size);
    const mc_tensor *w = mci_conv_dense(&tmp, weight, &rc);
    if (!rc) {
        for (int k = 0; k < 2; k++) rows *= k == c.band_axis ? c.rows / j.stride[k] : j.out[k];
        j.from = rows;
        j.k = c.cg * c.taps;
        j.panels = (j.m + j.lanes - 1) / j.lanes;
        j.x = mci_conv_operand_of(&c, x);
        j.y = mci_conv_operand_of(&c, y);
        j.w = w->data;
        const int64_t weights = c.g * j.panels * j.lanes * j.k,
                      copies = c.batched && w->shape[0] > 1 ? c.b : 1;
        j.packed_b = copies > 1 ? weights : 0;
        /* whole vectors, and not a power of two, where channels would share few lines of a cache */
        j.x_pitch = (c.plane + 15) & ~(int64_t)15;
        j.x_pitch += j.x_pitch % 512 ? 0 : 16;
        j.y_at = c.cg * j.x_pitch;
        const int64_t last = c.band_axis == 2 ? c.rows / j.stride[2] : j.out[2];
        j.work_bytes = (j.y_at + j.panels * j.lanes * rows * last) * j.size;
        j.units = c.b * c.n * c.g * c.bands;
        const double unit = work / (double)j.units;
        j.per = unit * 2 < GRAIN ? (int64_t)(GRAIN / (unit + 1)) : 1;
        const int64_t tasks = (j.units + j.per - 1) / j.per;
        j.packed = mci_alloc((size_t)(copies * weights * j.size));
        j.off = mci_alloc((size_t)(j.k + rows) * sizeof *j.off);
        j.work = mci_alloc((size_t)(j.work_bytes * mci_workers(tasks)));
        if (!j.packed || !j.off || !j.work) {
            rc = mc_errstatus();
        } else {
            j.at = j.off + j.k;
            lists(&j);
            rc = mci_parallel(copies * c.g * j.panels, pack_task, &j);
            if (!rc) rc = mci_parallel(tasks, task, &j);
        }
    }
    mci_free(j.packed);
    mci_free(j.off);
    mci_free(j.work);
    mci_conv_drop(&c);
    mc_drop(&tmp);
    return rc;
}
