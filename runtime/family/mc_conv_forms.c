/* mc_conv_forms.c - the three forms of a convolution on the CPU: planes filled, sums, results out
 * of planes. See mc_conv.h.
 *
 * A unit is one band of one group of one sample; a task is a run of units, cut by shape. Every
 * element of a result is one sum in one order that depends on no task, so bits depend neither on
 * threads nor on the batch; the weights' gradient joins partial sums over fixed chunks of samples
 * and bands in order. There, with few channels of y, elements of x that are not finite reach every
 * tap of their channel: gaps of y are zeros that are multiplied. */
#include "family/mc_conv.h"

#include "base/mc_memory.h"

#include <string.h>

typedef void (*conv_fn)(const mck_conv *);
typedef void (*plane_fn)(const mck_conv_plane *);
typedef void (*turn_fn)(const mck_conv_turn *);

#define CACHE (384 << 10) /* bytes of planes of a band: three quarters of a 512 KiB cache */
#define GRAIN 200000      /* multiplications of a task at least */
#define TASKS 16          /* tasks that a long sum over places is cut into */
#define LONG 1024         /* places of a sum that stay in registers, about */
#define NEAR (96 << 10)   /* bytes of planes of x, read again for each three channels of y */
#define PARTIAL (4 << 20) /* elements of all its partial sums at most */
#define OUTER 8   /* channels of y at least whose places are multiplied in lanes of channels */
#define JOINED 16 /* taps of a piece that is joined and turned */

typedef struct conv_job {
    const mci_conv *c;
    conv_fn sum;
    plane_fn copy, fold;
    int64_t size; /* bytes of an element */
    mci_conv_operand x, y, w;
    int64_t units, per; /* units, units of a task */
    char *work;
    int64_t work_bytes;       /* of a worker */
    int64_t x_pitch, y_pitch; /* elements of a channel in a worker's planes */
    int64_t y_at;             /* elements before the second buffer of a worker */
    /* places of the taps of all channels: phase by phase (input), of a block (weight) */
    int64_t *off;
    /* place of y for place q of a plane, or -1; the first axis from -shift on (input) */
    const int64_t *y_map[3];
    char *packed; /* weights in panels, [b][g][phase]; weight: partial sums */
    int64_t packed_b, packed_g;
    /* input: how many taps each phase has, and blocks of channels of x */
    const int64_t *phase_taps;
    int64_t blocks, block;
    /* weight: blocks of channels, chunks of the sum, taps of a block in fours, samples whose
     * planes lie one behind the other so that sums are long */
    int64_t o_blocks, o_block, c_blocks, c_block, chunks, k, stack;
    /* weight, by outer products: channels of a panel (0: by dots), panels of all channels, places
     * of a band and where they stand in planes of a stack */
    int64_t lanes, panels, band;
    int64_t *at;
    turn_fn turn;
} conv_job;

/* Elements from one channel to the next: whole vectors, and not a power of two, where channels
 * would share few lines of a cache. */
static int64_t pitched(int64_t n)
{
    n = (n + 15) & ~(int64_t)15;
    return n % 512 ? n : n + 16;
}

static void begin(conv_job *j, const mci_conv *c, int dtype)
{
    const int single = dtype == MC_F32;
    *j = (conv_job){ .c = c, .size = MCI_SIZE(dtype), .per = 1, .stack = 1 };
    j->sum = (conv_fn)mci_kernel_get(c->form == MCI_CONV_WEIGHT ? MCK_K_CONV_DOTS : MCK_K_CONV_ROWS,
                                     dtype);
    j->copy = (plane_fn)mci_function(single ? MCK_FN_CONV_COPY_F32 : MCK_FN_CONV_COPY_F64);
    j->fold = (plane_fn)mci_function(single ? MCK_FN_CONV_FOLD_F32 : MCK_FN_CONV_FOLD_F64);
}

/* Runs tasks of units, each with work_bytes of its own that begin as zeros. */
static int run(conv_job *j, mc_range_fn task, double work)
{
    const double unit = work / (double)j->units;
    j->per = unit * 2 < GRAIN ? (int64_t)(GRAIN / (unit + 1)) : 1;
    const int64_t tasks = (j->units + j->per - 1) / j->per,
                  bytes = j->work_bytes * mci_workers(tasks);
    j->work = mci_alloc((size_t)bytes);
    if (!j->work) return mc_errstatus();
    memset(j->work, 0, (size_t)bytes);
    int rc = mci_parallel(tasks, task, j);
    mci_free(j->work);
    return rc;
}

static double products(const mci_conv *c)
{
    double w = (double)(c->b * c->n * c->g) * (double)(c->og * c->cg) * (double)c->taps;
    for (int k = 0; k < 3; k++) w *= (double)c->axis[k].out;
    return w;
}

/* Planes of all phases of channels c0 .. c0 + count - 1 of x. */
static void fill_x(const conv_job *j, char *planes, int64_t b, int64_t n, int64_t c0, int64_t count,
                   int64_t start)
{
    const mci_conv *c = j->c;
    const char *x = j->x.data + (b * j->x.b + n * j->x.n + c0 * j->x.c) * j->size;
    for (int64_t f = 0; f < c->phases; f++) {
        mck_conv_plane p = mci_conv_plane_of(c, &j->x, f, start);
        for (int64_t i = 0; i < count; i++) {
            p.x = (void *)(uintptr_t)(x + i * j->x.c * j->size);
            p.plane = planes + (i * j->x_pitch + f * j->stack * c->plane) * j->size;
            j->copy(&p);
        }
    }
}

/* Planes of channels of y with gaps; the first axis from place `start` on, `rows` of them. */
static void fill_y(const conv_job *j, char *planes, int64_t b, int64_t n, int64_t c0, int64_t count,
                   int64_t start, int64_t rows)
{
    const mci_conv *c = j->c;
    const char *y = j->y.data + (b * j->y.b + n * j->y.n + c0 * j->y.c) * j->size;
    mck_conv_plane p = { .step = 1 };
    for (int k = 0; k < 3; k++) {
        p.size[k] = k == c->band_axis ? rows : c->axis[k].q;
        p.stride[k] = j->y.axis[k];
        p.map[k] = j->y_map[k] + (k == c->band_axis ? start : 0);
    }
    for (p.lo = 0; p.lo < p.size[2] && p.map[2][p.lo] < 0; p.lo++) {
    }
    for (p.hi = p.lo; p.hi < p.size[2] && p.map[2][p.hi] >= 0; p.hi++) {
    }
    for (int64_t i = 0; i < count; i++) {
        p.x = (void *)(uintptr_t)(y + i * j->y.c * j->size);
        p.plane = planes + i * j->y_pitch * j->size;
        j->copy(&p);
    }
}

/* Maps of the places of y: the first axis from -before on. Owns: mci_free. */
static int64_t *map_y(conv_job *j, int64_t before)
{
    const mci_conv *c = j->c;
    int64_t total = 0;
    for (int k = 0; k < 3; k++) total += c->length[k] + before;
    int64_t *list = mci_alloc((size_t)total * sizeof *list), *at = list;
    for (int k = 0; list && k < 3; k++) {
        const int64_t first = k == c->band_axis ? before : 0, n = c->length[k] + first;
        for (int64_t q = 0; q < n; q++)
            at[q] = q - first >= 0 && q - first < c->axis[k].out ? q - first : -1;
        j->y_map[k] = at;
        at += n;
    }
    return list;
}

/* ---------------------------------------------------------------- weights in panels */

typedef struct pack_job {
    const char *w;
    char *packed;
    const int64_t *at; /* of the taps, in elements of w */
    int64_t size, m, k, channel, w_group, packed_group, panels, panel_bytes;
} pack_job;

#define PACK(T)                            \
    for (int64_t k = 0; k < j->k; k++)     \
        for (int64_t i = 0; i < n; i++)    \
            ((T *)(void *)to)[k * n + i] = \
                ((const T *)(const void *)from)[i * j->channel + j->at[k]];

static void pack_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const pack_job *j = arg;
    (void)end;
    (void)worker;
    const int64_t group = begin / j->panels, c = begin % j->panels * MCK_CONV_PANEL,
                  n = j->m - c < MCK_CONV_PANEL ? j->m - c : MCK_CONV_PANEL;
    const char *from = j->w + (group * j->w_group + c * j->channel) * j->size;
    char *to = j->packed + (group * j->packed_group + c * j->k) * j->size;
    if (j->size == 4) {
        PACK(float)
    } else {
        PACK(double)
    }
}

/* m channels, `channel` apart in w, of k taps at at[k]; for every group of w. */
static int pack(conv_job *j, int64_t to, const mc_tensor *w, int64_t m, int64_t k, int64_t channel,
                const int64_t *at)
{
    const int64_t group = j->c->og * j->c->cg * j->c->taps;
    pack_job p = { w->data, j->packed + to * j->size,
                   at,      j->size,
                   m,       k,
                   channel, group,
                   group,   (m + MCK_CONV_PANEL - 1) / MCK_CONV_PANEL,
                   0 };
    return k > 0 ? mci_parallel(w->numel / group * p.panels, pack_task, &p) : MC_OK;
}

/* ---------------------------------------------------------------- y */

/* Places of the result in a band's plane that begins at `start`, up to the last one; *rows of
 * them along the first axis. */
static int64_t places(const mci_conv *c, int64_t start, int64_t *rows)
{
    const int first = c->band_axis;
    *rows = c->axis[first].out - start < c->rows ? c->axis[first].out - start : c->rows;
    int64_t n = (*rows - 1) * c->pitch[first] + 1;
    for (int k = first + 1; k < 3; k++) n += (c->axis[k].out - 1) * c->pitch[k];
    return n;
}

/* Whether places of a plane lie as those of y do. */
static int gapless(const mci_conv *c)
{
    for (int k = c->band_axis + 1; k < 3; k++)
        if (c->axis[k].shift) return 0;
    return 1;
}

static void result_unit(const conv_job *j, int64_t unit, char *work)
{
    const mci_conv *c = j->c;
    const int64_t start = unit % c->bands * c->rows, g = unit / c->bands % c->g,
                  n = unit / c->bands / c->g % c->n, b = unit / c->bands / c->g / c->n;
    int64_t rows, d[3];
    mck_conv k = {
        .n = places(c, start, &rows), .m = c->og, .k = c->cg * c->taps, .in = work, .off = j->off
    };
    k.w = j->packed + (b * j->packed_b + g * j->packed_g) * j->size;
    char *y =
        j->y.data +
        (b * j->y.b + n * j->y.n + g * c->og * j->y.c + start * j->y.axis[c->band_axis]) * j->size;
    fill_x(j, work, b, n, g * c->cg, c->cg, start);
    if (gapless(c) && k.n * j->size % 64 == 0) {
        k.out = y;
        k.out_row = j->y.c;
        j->sum(&k);
        return;
    }
    k.out = work + j->y_at * j->size;
    k.out_row = j->y_pitch;
    j->sum(&k);
    for (int a = 0; a < 3; a++) d[a] = a == c->band_axis ? rows : c->axis[a].out;
    for (int64_t o = 0; o < c->og; o++)
        for (int64_t p = 0; p < d[0]; p++)
            for (int64_t q = 0; q < d[1]; q++)
                memcpy(y + (o * j->y.c + p * j->y.axis[0] + q * j->y.axis[1]) * j->size,
                       (const char *)k.out +
                           (o * j->y_pitch + p * c->pitch[0] + q * c->pitch[1]) * j->size,
                       (size_t)(d[2] * j->size));
}

static void result_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const conv_job *j = arg;
    (void)end;
    const int64_t last = (begin + 1) * j->per < j->units ? (begin + 1) * j->per : j->units;
    for (int64_t u = begin * j->per; u < last && !mc_cancel_pending(); u++)
        result_unit(j, u, j->work + worker * j->work_bytes);
}

static int64_t most_phases(const mci_conv *c)
{
    int64_t n = 1;
    for (int k = 0; k < 3; k++)
        n *= c->axis[k].taps < c->axis[k].stride ? c->axis[k].taps : c->axis[k].stride;
    return n;
}

int mci_conv_result(mci_conv *c, mc_tensor *y, const mc_tensor *x, const mc_tensor *weight)
{
    conv_job j;
    mc_tensor tmp = { 0 };
    begin(&j, c, y->dtype);
    int rc = mci_conv_plan(c, c->cg * most_phases(c), c->og, CACHE / j.size);
    const mc_tensor *w = mci_conv_dense(&tmp, weight, &rc);
    const int64_t taps = c->cg * c->taps;
    j.packed = rc ? NULL : mci_alloc((size_t)(w->numel * j.size));
    j.off = rc ? NULL : mci_alloc((size_t)taps * sizeof *j.off);
    if (!rc && (!j.packed || !j.off)) rc = mc_errstatus();
    if (!rc) {
        j.x = mci_conv_operand_of(c, x);
        j.y = mci_conv_operand_of(c, y);
        j.packed_g = c->og * taps;
        j.packed_b = c->batched && w->shape[0] > 1 ? c->g * j.packed_g : 0;
        j.x_pitch = pitched(c->phases * c->plane);
        j.y_pitch = pitched(c->rows * c->pitch[c->band_axis] + 15);
        j.y_at = (c->cg * j.x_pitch + MCK_CONV_SLACK + 15) & ~(int64_t)15;
        j.work_bytes = (j.y_at + c->og * j.y_pitch + MCK_CONV_SLACK) * j.size;
        for (int64_t k = 0; k < taps; k++) j.off[k] = k;
        rc = pack(&j, 0, w, c->og, taps, taps, j.off);
    }
    if (!rc) {
        for (int64_t k = 0; k < taps; k++)
            j.off[k] = k / c->taps * j.x_pitch + c->tap_phase[k % c->taps] * c->plane +
                       c->tap_shift[k % c->taps];
        j.units = c->b * c->n * c->g * c->bands;
        rc = run(&j, result_task, products(c));
    }
    mci_free(j.packed);
    mci_free(j.off);
    mc_drop(&tmp);
    return rc;
}

/* ---------------------------------------------------------------- x */

static void input_unit(const conv_job *j, int64_t unit, char *work)
{
    const mci_conv *c = j->c;
    const int first = c->band_axis;
    const int64_t block = unit % j->blocks, rest = unit / j->blocks,
                  start = rest % c->bands * c->rows, g = rest / c->bands % c->g;
    const int64_t n = rest / c->bands / c->g % c->n, b = rest / c->bands / c->g / c->n,
                  c0 = block * j->block;
    const int64_t rows = c->axis[first].q - start < c->rows ? c->axis[first].q - start : c->rows;
    int64_t lead = 0;
    for (int k = first + 1; k < 3; k++) lead += c->axis[k].shift * c->pitch[k];
    fill_y(j, work + lead * j->size, b, n, g * c->og, c->og, start, c->size[first]);
    mck_conv k = { .n = rows * c->pitch[first],
                   .m = c->cg - c0 < j->block ? c->cg - c0 : j->block,
                   .in = work,
                   .off = j->off };
    const char *w = j->packed + (b * j->packed_b + g * j->packed_g) * j->size;
    char *x = j->x.data + (b * j->x.b + n * j->x.n + (g * c->cg + c0) * j->x.c) * j->size;
    k.out = work + j->y_at * j->size;
    k.out_row = j->x_pitch;
    for (int64_t f = 0; f < c->phases; f++) {
        k.k = c->og * j->phase_taps[f];
        k.w = w + c0 * k.k * j->size;
        j->sum(&k);
        mck_conv_plane p = mci_conv_plane_of(c, &j->x, f, start);
        p.size[first] = rows;
        if (p.hi > p.size[2]) {
            p.hi = p.size[2];
            p.lo = p.lo < p.hi ? p.lo : p.hi;
        }
        for (int64_t i = 0; i < k.m; i++) {
            p.x = x + i * j->x.c * j->size;
            p.plane = (char *)k.out + i * j->x_pitch * j->size;
            j->fold(&p);
        }
        w += c->cg * k.k * j->size;
        k.off += k.k;
    }
}

static void input_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const conv_job *j = arg;
    (void)end;
    const int64_t last = (begin + 1) * j->per < j->units ? (begin + 1) * j->per : j->units;
    for (int64_t u = begin * j->per; u < last && !mc_cancel_pending(); u++)
        input_unit(j, u, j->work + worker * j->work_bytes);
}

/* Weights of every phase in panels of channels of x,
 * and the places of their taps in planes of y. */
static int input_lists(conv_job *j, const mc_tensor *w, int64_t *phase_taps)
{
    const mci_conv *c = j->c;
    int64_t lead = 0, at = 0, *list = phase_taps + c->phases;
    for (int k = 0; k < 3; k++) lead += c->axis[k].shift * c->pitch[k];
    int rc = MC_OK;
    for (int64_t f = 0; f < c->phases && !rc; f++) {
        int64_t n = 0;
        for (int64_t t = 0; t < c->taps; t++)
            if (c->tap_phase[t] == f) list[n++] = t;
        phase_taps[f] = n;
        for (int64_t k = 0; k < c->og * n; k++)
            j->off[at + k] = k / n * c->cg * c->taps + list[k % n];
        rc = pack(j, c->cg * at, w, c->cg, c->og * n, c->taps, j->off + at);
        for (int64_t k = 0; k < c->og * n; k++)
            j->off[at + k] = k / n * j->y_pitch + lead - c->tap_shift[list[k % n]];
        at += c->og * n;
    }
    j->phase_taps = phase_taps;
    return rc;
}

int mci_conv_input(mci_conv *c, mc_tensor *x, const mc_tensor *y, const mc_tensor *weight)
{
    conv_job j;
    mc_tensor tmp = { 0 };
    begin(&j, c, x->dtype);
    const int zeros = c->mode == MCK_PAD_CONSTANT;
    int rc = mci_conv_plan(c, c->og, c->cg,
                           zeros ? CACHE / j.size
                                 : 0); /* what folds back onto other elements stays together */
    const mc_tensor *w = mci_conv_dense(&tmp, weight, &rc);
    if (!rc && !(zeros && c->axis[0].covered && c->axis[1].covered && c->axis[2].covered))
        rc = mci_fill(x, 0, 0);
    int64_t *maps = NULL, *phase_taps = NULL;
    j.packed = rc ? NULL : mci_alloc((size_t)(w->numel * j.size));
    j.off = rc ? NULL : mci_alloc((size_t)(c->og * c->taps) * sizeof *j.off);
    if (!rc) {
        phase_taps = mci_alloc((size_t)(c->phases + c->taps) * sizeof *phase_taps);
        maps = map_y(&j, c->axis[c->band_axis].shift);
        rc = j.packed && j.off && phase_taps && maps ? MC_OK : mc_errstatus();
    }
    if (!rc) {
        j.x = mci_conv_operand_of(c, x);
        j.y = mci_conv_operand_of(c, y);
        j.packed_g = c->og * c->cg * c->taps;
        j.packed_b = c->batched && w->shape[0] > 1 ? c->g * j.packed_g : 0;
        int64_t lead = 0;
        for (int k = c->band_axis + 1; k < 3; k++) lead += c->axis[k].shift * c->pitch[k];
        j.y_pitch = pitched(lead + c->plane);
        j.x_pitch = pitched(c->rows * c->pitch[c->band_axis] + 15);
        j.y_at = (c->og * j.y_pitch + MCK_CONV_SLACK + 15) & ~(int64_t)15;
        rc = input_lists(&j, w, phase_taps);
    }
    if (!rc) {
        const int64_t units = c->b * c->n * c->g * c->bands,
                      panels = (c->cg + MCK_CONV_PANEL - 1) / MCK_CONV_PANEL;
        const int64_t want = zeros || units >= TASKS ? 1 : (TASKS + units - 1) / units,
                      many = panels < want ? panels : want;
        j.block = (panels + many - 1) / many * MCK_CONV_PANEL;
        j.blocks = (c->cg + j.block - 1) / j.block;
        j.work_bytes = (j.y_at + j.block * j.x_pitch + MCK_CONV_SLACK) * j.size;
        j.units = units * j.blocks;
        rc = run(&j, input_task, products(c));
    }
    mci_free(maps);
    mci_free(phase_taps);
    mci_free(j.packed);
    mci_free(j.off);
    mc_drop(&tmp);
    return rc;
}

/* ---------------------------------------------------------------- w */

/* Partial sums: [chunk][b][g][block of channels of x][og][k]; by outer products in panels,
 * [panel][k][channel]. */
static char *partial(const conv_job *j, int64_t chunk, int64_t group, int64_t c_block, int64_t o)
{
    const mci_conv *c = j->c;
    return j->packed +
           (((chunk * c->b * c->g + group) * j->c_blocks + c_block) * j->panels * j->lanes + o) *
               j->k * j->size;
}

/* Planes of one sample as slot `at` of a stack. */
static void fill_slot(const conv_job *j, char *x, char *y, int64_t at, int64_t b, int64_t n,
                      int64_t x0, int64_t xs, int64_t y0, int64_t ys, int64_t start)
{
    const int64_t skip = at * j->c->plane * j->size;
    fill_x(j, x + skip, b, n, x0, xs, start);
    fill_y(j, y + skip, b, n, y0, ys, start, j->c->rows);
}

/* An empty slot behind the last one, which a sum reads in whole vectors. */
static void clear_slot(const conv_job *j, char *x, char *y, int64_t at, int64_t xs, int64_t ys)
{
    const size_t bytes = (size_t)(j->c->plane * j->size);
    for (int64_t i = 0; i < xs; i++)
        for (int64_t f = 0; f < j->c->phases; f++)
            memset(x + (i * j->x_pitch + (f * j->stack + at) * j->c->plane) * j->size, 0, bytes);
    for (int64_t i = 0; i < ys; i++)
        memset(y + (i * j->y_pitch + at * j->c->plane) * j->size, 0, bytes);
}

/* One unit's places of channels of y in panels. */
static void turn_y(const conv_job *j, char *y, int64_t at, int64_t b, int64_t n, int64_t o0,
                   int64_t os, int64_t start, int64_t rows)
{
    const mci_conv *c = j->c;
    int64_t size[3], many = 1;
    for (int k = 0; k < 3; k++) size[k] = k == c->band_axis ? rows : c->axis[k].out;
    int run = 3; /* axes from here on lie one behind the other */
    for (int64_t step = j->y.axis[2];
         run > 0 && (size[run - 1] == 1 || j->y.axis[run - 1] == step);)
        step *= size[--run];
    if (run == 3) run = 2;
    for (int k = run; k < 3; k++) many *= size[k];
    mck_conv_turn t = { .n = many, .channel = j->y.c, .place = j->y.axis[2] };
    for (int64_t o = 0; o < os; o += j->lanes) {
        t.m = os - o < j->lanes ? os - o : j->lanes;
        t.out = y + (o * j->stack * j->band + at * j->lanes) * j->size;
        for (int64_t p = 0; p < (run > 0 ? size[0] : 1); p++)
            for (int64_t q = 0; q < (run > 1 ? size[1] : 1); q++) {
                t.in = j->y.data +
                       (b * j->y.b + n * j->y.n + (o0 + o) * j->y.c +
                        (run > 0 ? p : 0) * j->y.axis[0] + (run > 1 ? q : 0) * j->y.axis[1] +
                        start * j->y.axis[c->band_axis]) *
                           j->size;
                j->turn(&t);
                t.out = (char *)t.out + many * j->lanes * j->size;
            }
    }
}

/* What a weight task adds up: channels of x and y of one group, some units of a sum. */
typedef struct weight_part {
    int64_t b, g, c0, cs, o0, os, first, last;
    char *x, *y, *out;
} weight_part;

static void by_outer(const conv_job *j, const weight_part *w)
{
    const mci_conv *c = j->c;
    for (int64_t u = w->first, m; u < w->last && !mc_cancel_pending(); u += m) {
        m = w->last - u < j->stack ? w->last - u : j->stack;
        const int64_t start = u % c->bands * c->rows, left = c->axis[c->band_axis].out - start,
                      rows = left < c->rows ? left : c->rows;
        for (int64_t i = 0; i < m; i++) {
            fill_x(j, w->x + i * c->plane * j->size, w->b, (u + i) / c->bands, w->g * c->cg + w->c0,
                   w->cs, start);
            turn_y(j, w->y, i * j->band, w->b, (u + i) / c->bands, w->g * c->og + w->o0, w->os,
                   start, rows);
        }
        j->sum(&(mck_conv){ .n = (m - 1) * j->band + j->band / c->rows * rows,
                            .m = w->os,
                            .k = (w->cs * c->taps + 1) & ~(int64_t)1,
                            .in = w->x,
                            .off = j->off,
                            .at = j->at,
                            .w = w->y,
                            .w_row = j->stack * j->band * j->lanes,
                            .out = w->out,
                            .out_row = j->k * j->lanes });
    }
}

static void by_dots(const conv_job *j, const weight_part *w)
{
    const mci_conv *c = j->c;
    const int64_t step = NEAR / (j->x_pitch * j->size) / 4 * 4 > 4
                             ? NEAR / (j->x_pitch * j->size) / 4 * 4
                             : 4; /* channels of x that stay in a cache */
    for (int64_t u = w->first, m; u < w->last && !mc_cancel_pending(); u += m) {
        m = w->last - u < j->stack ? w->last - u : j->stack;
        for (int64_t i = 0; i < m; i++)
            fill_slot(j, w->x, w->y, i, w->b, (u + i) / c->bands, w->g * c->cg + w->c0, w->cs,
                      w->g * c->og + w->o0, w->os, (u + i) % c->bands * c->rows);
        if (m < j->stack) clear_slot(j, w->x, w->y, m, w->cs, w->os);
        mck_conv k = { .n = ((m - 1) * c->plane + c->rows * c->pitch[c->band_axis] + 15) &
                            ~(int64_t)15,
                       .m = w->os,
                       .w = w->y,
                       .out_row = j->k,
                       .w_row = j->y_pitch };
        for (int64_t i = 0; i < w->cs; i += step) {
            k.k = ((w->cs - i < step ? w->cs - i : step) * c->taps + 3) & ~(int64_t)3;
            k.in = w->x;
            k.off = j->off + i * c->taps;
            k.out = w->out + i * c->taps * j->size;
            j->sum(&k);
        }
    }
}

static void weight_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const conv_job *j = arg;
    const mci_conv *c = j->c;
    (void)end;
    const int64_t chunk = begin % j->chunks, rest = begin / j->chunks,
                  c0 = rest % j->c_blocks * j->c_block,
                  o0 = rest / j->c_blocks % j->o_blocks * j->o_block;
    const int64_t group = rest / j->c_blocks / j->o_blocks, units = c->n * c->bands;
    weight_part w = { .b = group / c->g,
                      .g = group % c->g,
                      .c0 = c0,
                      .cs = c->cg - c0 < j->c_block ? c->cg - c0 : j->c_block,
                      .o0 = o0,
                      .os = c->og - o0 < j->o_block ? c->og - o0 : j->o_block,
                      .first = units * chunk / j->chunks,
                      .last = units * (chunk + 1) / j->chunks,
                      .x = j->work + worker * j->work_bytes,
                      .out = partial(j, chunk, group, rest % j->c_blocks, o0) };
    w.y = w.x + j->y_at * j->size;
    if (j->turn) {
        memset(w.out, 0, (size_t)((w.os + j->lanes - 1) / j->lanes * j->lanes * j->k * j->size));
        by_outer(j, &w);
    } else {
        memset(w.out, 0, (size_t)(w.os * j->k * j->size));
        by_dots(j, &w);
    }
}

#define JOIN(T)                                                                \
    for (int64_t i = 0; i < taps; i++) {                                       \
        T s = ((const T *)(const void *)partial(j, 0, group, block, o))[i];    \
        for (int64_t r = 1; r < j->chunks; r++)                                \
            s += ((const T *)(const void *)partial(j, r, group, block, o))[i]; \
        ((T *)(void *)out)[i] = s;                                             \
    }
#define JOIN_PANEL(T)                                                                \
    T sum[JOINED * MCK_CONV_WIDE / sizeof(T)];                                       \
    for (int64_t k = 0; k < taps; k += JOINED) {                                     \
        const int64_t many = taps - k < JOINED ? taps - k : JOINED;                  \
        for (int64_t r = 0; r < j->chunks; r++) {                                    \
            const T *const from =                                                    \
                (const T *)(const void *)partial(j, r, group, block, o) + k * lanes; \
            for (int64_t i = 0; i < many * lanes; i++)                               \
                sum[i] = r > 0 ? sum[i] + from[i] : from[i];                         \
        }                                                                            \
        for (int64_t p = 0; p < channels; p++)                                       \
            for (int64_t i = 0; i < many; i++)                                       \
                ((T *)(void *)out)[p * row + k + i] = sum[i * lanes + p];            \
    }

/* Chunks joined in order, one channel or panel of channels of y after the other. */
static void join_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const conv_job *j = arg;
    const mci_conv *c = j->c;
    (void)end;
    (void)worker;
    const int64_t lanes = j->lanes, o = begin % j->panels * lanes, group = begin / j->panels,
                  channels = c->og - o < lanes ? c->og - o : lanes, row = c->cg * c->taps;
    for (int64_t block = 0; block < j->c_blocks; block++) {
        const int64_t c0 = block * j->c_block,
                      taps = (c->cg - c0 < j->c_block ? c->cg - c0 : j->c_block) * c->taps;
        char *out = j->w.data + ((group * c->og + o) * c->cg + c0) * c->taps * j->size;
        if (j->turn && j->size == 4) {
            JOIN_PANEL(float)
        } else if (j->turn) {
            JOIN_PANEL(double)
        } else if (j->size == 4) {
            JOIN(float)
        } else {
            JOIN(double)
        }
    }
}

/* Blocks of channels and chunks of the sum, so that there are TASKS of them, or as many as there
 * is room for. */
static void cut_sum(conv_job *j)
{
    const mci_conv *c = j->c;
    const int64_t groups = c->b * c->g, units = c->n * c->bands,
                  all = groups * c->og * c->cg * c->taps;
    const int64_t room = PARTIAL / all > 1 ? PARTIAL / all : 1,
                  want = (TASKS + groups - 1) / groups, least = j->turn ? j->lanes : 8;
    j->chunks = units < want ? units : want;
    j->chunks = j->chunks < room ? j->chunks : room;
    while (groups * j->chunks * j->o_blocks * j->c_blocks < TASKS &&
           (j->o_block > least || j->c_block > 8)) {
        if (j->o_block > least && (j->o_block > j->c_block || j->c_block <= 8))
            j->o_block = ((j->o_block + 1) / 2 + j->lanes - 1) / j->lanes * j->lanes;
        else
            j->c_block = (j->c_block + 1) / 2;
        j->o_blocks = (c->og + j->o_block - 1) / j->o_block;
        j->c_blocks = (c->cg + j->c_block - 1) / j->c_block;
    }
}

/* Where the places of a stack's bands stand in its planes. Owns: mci_free. */
static int64_t *places_of(const conv_job *j)
{
    const mci_conv *c = j->c;
    int64_t size[3], *list = mci_alloc((size_t)(j->stack * j->band) * sizeof *list), *at = list;
    for (int k = 0; k < 3; k++) size[k] = k == c->band_axis ? c->rows : c->axis[k].out;
    for (int64_t s = 0; list && s < j->stack; s++)
        for (int64_t p = 0; p < size[0]; p++)
            for (int64_t q = 0; q < size[1]; q++)
                for (int64_t r = 0; r < size[2]; r++)
                    *at++ = s * c->plane + p * c->pitch[0] + q * c->pitch[1] + r;
    return list;
}

int mci_conv_weight(mci_conv *c, mc_tensor *w, const mc_tensor *x, const mc_tensor *y)
{
    conv_job j;
    begin(&j, c, w->dtype);
    j.lanes = 1;
    if (c->og >= OUTER) {
        j.lanes = MCK_CONV_WIDE / j.size;
        j.sum = (conv_fn)mci_kernel_get(MCK_K_CONV_OUTER, w->dtype);
        j.turn = (turn_fn)mci_function(j.size == 4 ? MCK_FN_CONV_TURN_F32 : MCK_FN_CONV_TURN_F64);
    }
    j.panels = (c->og + j.lanes - 1) / j.lanes;
    j.o_blocks = j.c_blocks = 1;
    j.o_block = c->og;
    j.c_block = c->cg;
    int rc = mci_conv_plan(c, (c->cg < 64 ? c->cg : 64) * most_phases(c), c->og < 64 ? c->og : 64,
                           CACHE / j.size);
    int64_t *maps = NULL;
    if (!rc) {
        cut_sum(&j);
        j.k = (j.c_block * c->taps + 3) & ~(int64_t)3;
        j.band = c->rows;
        for (int k = c->band_axis + 1; k < 3; k++) j.band *= c->axis[k].out;
        const int64_t per = (c->n * c->bands + j.chunks - 1) / j.chunks,
                      long_enough = LONG / c->plane + 1,
                      fits = CACHE / j.size / ((j.c_block * c->phases + j.o_block) * c->plane);
        j.stack = per < long_enough ? per : long_enough;
        j.stack = j.stack < fits ? j.stack : fits > 1 ? fits : 1;
        if (j.turn && c->bands > 1) j.stack = 1; /* the last band may be shorter */
        if (j.turn)
            j.at = places_of(&j);
        else
            maps = map_y(&j, 0);
        j.off = mci_alloc((size_t)j.k * sizeof *j.off);
        j.packed = mci_alloc(
            (size_t)(j.chunks * c->b * c->g * j.c_blocks * j.panels * j.lanes * j.k * j.size));
        rc = (maps || j.at) && j.off && j.packed ? MC_OK : mc_errstatus();
    }
    if (!rc) {
        j.x = mci_conv_operand_of(c, x);
        j.y = mci_conv_operand_of(c, y);
        j.w.data = w->data;
        j.x_pitch = pitched(c->phases * j.stack * c->plane);
        j.y_pitch = pitched(j.stack * c->plane + 15);
        j.y_at = (j.c_block * j.x_pitch + MCK_CONV_SLACK + 15) & ~(int64_t)15;
        j.work_bytes =
            (j.y_at + (j.turn ? (j.o_block + j.lanes - 1) / j.lanes * j.lanes * j.stack * j.band
                              : j.o_block * j.y_pitch)) *
            j.size;
        for (int64_t k = 0; k < j.k; k++)
            j.off[k] = k >= j.c_block * c->taps
                           ? 0
                           : k / c->taps * j.x_pitch +
                                 c->tap_phase[k % c->taps] * j.stack * c->plane +
                                 c->tap_shift[k % c->taps];
        j.units = j.chunks * c->b * c->g * j.o_blocks * j.c_blocks;
        rc = run(&j, weight_task, 1e300);
    }
    if (!rc) rc = mci_parallel(c->b * c->g * j.panels, join_task, &j);
    mci_free(maps);
    mci_free(j.at);
    mci_free(j.off);
    mci_free(j.packed);
    return rc;
}
