/* mc_conv_patch.c - what convolutions by tiles of results share: planes and maps of operands,
 * weights at the points, memory of workers. */
#include "family/mc_conv_patch.h"

#include "base/mc_memory.h"

#include <string.h>

/* ---------------------------------------------------------------- planes and maps */

/* Elements from one channel to the next: whole vectors, and not a power of two. */
int64_t mci_patch_pitched(int64_t n)
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
int mci_patch_maps(mci_conv_patch *t)
{
    const mci_conv *c = t->c;
    const int64_t h = t->tile[0] * t->down, w = t->tile[1] * t->across;
    t->row = w + t->halo[1];
    t->numbers =
        mci_alloc((size_t)(2 * (h + w) + t->halo[0] + t->halo[1] + t->k + 4) * sizeof *t->numbers);
    if (!t->numbers) return mc_errstatus();
    int64_t *at = t->numbers;
    for (int a = 0; a < 2; a++) {
        const mci_conv_axis *ax = &c->axis[1 + a];
        const int64_t places = a ? w : h, n = places + t->halo[a], size = a ? t->width : t->height;
        int64_t lo, hi;
        if (c->form == MCI_CONV_INPUT)
            map_axis(at, n, ax->out, t->halo[a] - ax->before, MCK_PAD_CONSTANT, 0, &lo, &hi);
        else
            map_axis(at, n, ax->in, ax->before, c->mode, size + t->halo[a], &lo, &hi);
        t->map[a] = at;
        t->lo = lo;
        t->hi = hi;
        at += n;
        map_axis(at, places, size, 0, MCK_PAD_CONSTANT, 0, &lo, &hi);
        t->y_map[a] = at;
        t->y_lo = lo;
        t->y_hi = hi;
        at += places;
    }
    t->off = at;
    for (int64_t i = 0; i < t->k + 3; i++) t->off[i] = i < t->k ? i * t->pitch : 0;
    return MC_OK;
}

/* `count` rows of tiles of one channel, from row r on, into a plane. */
static void fill(const mci_conv_patch *t, float *plane, const mci_conv_operand *o, const char *data,
                 int y, int64_t r, int64_t count)
{
    static const int64_t zero = 0;
    mck_conv_plane p = { .size = { 1, t->tile[0] * count + (y ? 0 : t->halo[0]),
                                   t->tile[1] * t->across + (y ? 0 : t->halo[1]) },
                         .stride = { 0, o->axis[1], o->axis[2] },
                         .map = { &zero, (y ? t->y_map : t->map)[0] + t->tile[0] * r,
                                  (y ? t->y_map : t->map)[1] },
                         .lo = y ? t->y_lo : t->lo,
                         .hi = y ? t->y_hi : t->hi,
                         .step = 1,
                         .plane = plane,
                         .x = (void *)(uintptr_t)data };
    t->copy(&p);
}

/* Rows of tiles of one call: of one sample, at most t->most. */
static int64_t count_of(const mci_conv_patch *t, int64_t at, int64_t left)
{
    int64_t count = t->down - at < left ? t->down - at : left;
    return count < t->most ? count : t->most;
}

/* `count` rows of tiles of one channel, from row r of all samples on, with their plane filled. */
static mck_patch rows_in(const mci_conv_patch *t, const mci_conv_operand *o, int y, int64_t b,
                         int64_t channel, int64_t r, int64_t count, char *work)
{
    float *const plane = (float *)(void *)(work + t->plane_at);
    fill(t, plane, o,
         o->data + (b * o->b + r / t->down * o->n + channel * o->c) * (int64_t)sizeof(float), y,
         r % t->down, count);
    return (mck_patch){ .rows = count,
                        .columns = t->across,
                        .tile = { t->tile[0], t->tile[1] },
                        .in_row = t->tile[1] * t->across + (y ? 0 : t->halo[1]),
                        .in = plane };
}

/* Rows of tiles first .. last - 1 of one channel at the points, v. */
void mci_patch_spread(const mci_conv_patch *t, const mci_conv_operand *o, int y, int64_t b,
                      int64_t channel, int64_t first, int64_t last, float *v, int64_t step,
                      char *work)
{
    for (int64_t r = first, count; r < last; r += count) {
        count = count_of(t, r % t->down, last - r);
        mck_patch k = rows_in(t, o, y, b, channel, r, count, work);
        k.step = step;
        k.v = v + (r - first) * t->across;
        k.work = (float *)(void *)(work + t->row_at);
        k.work_step = MCK_FOURIER_PITCH(t->across, t->tile[1]);
        k.work_row = MCK_FOURIER_SIZE * k.work_step;
        (y ? t->gradients : t->patches)(&k);
    }
}

/* The same as spectra of columns. */
void mci_patch_columns(const mci_conv_patch *t, int64_t b, int64_t channel, int64_t first,
                       int64_t last, float *to, char *work)
{
    for (int64_t r = first, count; r < last; r += count) {
        count = count_of(t, r % t->down, last - r);
        mck_patch k = rows_in(t, &t->x, 0, b, channel, r, count, work);
        k.work_step = t->work_step;
        k.work_row = MCK_FOURIER_PITCH(t->across, t->tile[1]);
        k.work = to + (r - first) * k.work_row;
        t->columns(&k);
    }
}

/* `count` rows of tiles of one channel of the result, from row r of all samples on. */
static mck_patch rows_out(const mci_conv_patch *t, int64_t b, int64_t channel, int64_t r,
                          int64_t count)
{
    const int64_t n = r / t->down, at = r % t->down, left = t->height - t->tile[0] * at;
    return (mck_patch){
        .rows = count,
        .columns = t->across,
        .tile = { t->tile[0], t->tile[1] },
        .out = t->out + ((b * t->c->n + n) * t->c->g * t->m + channel) * t->height * t->width +
               t->tile[0] * at * t->width,
        .out_row = t->width,
        .height = left < t->tile[0] * count ? left : t->tile[0] * count,
        .width = t->width,
    };
}

/* Rows of tiles first .. last - 1 of one channel of the result from its points, s. */
void mci_patch_back(const mci_conv_patch *t, const float *s, int64_t step, int64_t b,
                    int64_t channel, int64_t first, int64_t last, char *work)
{
    for (int64_t r = first, count; r < last; r += count) {
        count = count_of(t, r % t->down, last - r);
        mck_patch k = rows_out(t, b, channel, r, count);
        k.step = step;
        k.v = (float *)(uintptr_t)(const void *)(s + (r - first) * t->across);
        k.work = (float *)(void *)(work + t->row_at);
        t->results(&k);
    }
}

/* The same from spectra of columns. */
void mci_patch_columns_back(const mci_conv_patch *t, float *from, int64_t b, int64_t channel,
                            int64_t first, int64_t last)
{
    for (int64_t r = first, count; r < last; r += count) {
        count = count_of(t, r % t->down, last - r);
        mck_patch k = rows_out(t, b, channel, r, count);
        k.work_step = t->work_step;
        k.work_row = MCK_FOURIER_PITCH(t->across, t->tile[1]);
        k.work = from + (r - first) * k.work_row;
        t->results(&k);
    }
}

/* Places of a plane and of rows behind `at` bytes of a worker; the bytes of all. */
int64_t mci_patch_buffers(mci_conv_patch *t, int64_t at)
{
    int64_t rows = t->rows < t->down ? t->rows : t->down;
    rows = rows < t->most ? rows : t->most;
    const int64_t winograd = MCK_WINOGRAD_WORK(t->across),
                  fourier = MCK_FOURIER_WORK(rows, t->across, t->tile[1]);
    t->plane_at = (at + 63) & ~(int64_t)63;
    t->row_at = t->plane_at + ((rows * t->tile[0] + t->halo[0]) * (t->row + MCK_PATCH_SLACK) +
                               2 * MCK_PATCH_SLACK) *
                                  (int64_t)sizeof(float);
    t->row_at = (t->row_at + 63) & ~(int64_t)63;
    return (t->row_at + (winograd > fourier ? winograd : fourier) * (int64_t)sizeof(float) + 63) &
           ~(int64_t)63;
}

int mci_patch_run(mci_conv_patch *t, int64_t units, mc_range_fn task)
{
    const size_t bytes = (size_t)(t->work_bytes * mci_workers(units));
    t->work = mci_alloc(bytes);
    if (!t->work) return mc_errstatus();
    memset(t->work, 0, bytes);
    const int rc = mci_parallel(units, task, t);
    mci_free(t->work);
    return rc;
}

/* ---------------------------------------------------------------- weights */

/* Weights of os channels of the result from o0 on of one group at the points, in panels: point p at
 * u + p u_step. */
void mci_patch_weigh_some(const mci_conv_patch *t, int64_t group, int64_t o0, int64_t os, float *u)
{
    const int to_x = t->c->form == MCI_CONV_INPUT;
    const int64_t taps = t->c->axis[1].taps * t->c->axis[2].taps, many = t->c->cg * taps,
                  outer = to_x ? taps : many;
    mck_patch k = { .k = t->k,
                    .taps = { t->c->axis[1].taps, t->c->axis[2].taps },
                    .outer = outer,
                    .inner = to_x ? many : taps,
                    .reversed = to_x,
                    .step = t->u_step };
    for (int64_t o = 0; o < os; o += MCK_CONV_PANEL) {
        k.m = os - o < MCK_CONV_PANEL ? os - o : MCK_CONV_PANEL;
        k.in = t->w + group * t->k * t->m * taps + (o0 + o) * outer;
        k.v = u + o * t->k;
        t->weights(&k);
    }
}

static void weight_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const mci_conv_patch *t = arg;
    (void)end;
    (void)worker;
    const int64_t panels = (t->m + MCK_CONV_PANEL - 1) / MCK_CONV_PANEL, group = begin / panels,
                  o = begin % panels * MCK_CONV_PANEL;
    mci_patch_weigh_some(t, t->w_first + group, o,
                         t->m - o < MCK_CONV_PANEL ? t->m - o : MCK_CONV_PANEL,
                         t->u + group * t->u_g + o * t->k);
}

/* Weights of groups first .. first + groups - 1 at the points, in panels of channels of the
 * result, at t->u. */
int mci_patch_weigh(mci_conv_patch *t, int64_t first, int64_t groups)
{
    t->w_first = first;
    return mci_parallel(groups * ((t->m + MCK_CONV_PANEL - 1) / MCK_CONV_PANEL), weight_task, t);
}
