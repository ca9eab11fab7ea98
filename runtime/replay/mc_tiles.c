/* mc_tiles.c - a list of steps run tile by tile, so that what passes between them stays in the
 * second-level cache.
 *
 * The steps do to each row (all that stands behind k leading axes) something that depends on
 * this row only: elementwise ops, reductions and softmax along the other axes. So they may be
 * run on a few rows at a time, one step after the other, and give the bits they give on all
 * rows. A tile fixes the first axes and takes a range of the next one; its size depends on
 * shapes only. Buffers for what stays inside belong to the worker. Holds tiles. */
#include "replay/mc_tiles.h"
#include "tensor/mc_blocks.h"

#include <stdio.h>
#include <string.h>

/* bytes a tile may touch. Measured on 1 MiB of second-level cache, layer norm of 4096 x 1024 f32,
 * two threads: 32 KiB 3.8 ms, 64 KiB 2.7, 512 KiB 2.2 */
#define CACHE 524288
#define STREAMS 4 /* operands that are asked for ahead */

struct mci_tiles {
    int k, axis, nslots;         /* axis: the one that is cut; those before it are fixed */
    /* inner: rows per place of the axis; length: places per tile; count: tiles */
    int64_t lead[MC_MAX_RANK], inner, length, count;
    int64_t at[MCI_TILE_SLOTS], room; /* where a buffer begins in the memory of a worker */
};

typedef struct tile_job {
    const mci_tiles *t;
    mc_tensor *const *headers;
    const mci_tile_view *views;
    int n;
    mci_tile_fn run;
    void *arg;
    char *memory;      /* per worker: buffers */
    mc_tensor *local;  /* per worker: headers of a tile */
    mc_tensor **refs;
    /* of each header: where in the memory of a worker it lies, -1 outside. What is made there and
     * belongs outside is written past the caches when the tile is done */
    int64_t *inside;
    int64_t room;      /* memory of a worker, that for streams included */
    /* per worker: places of the tile that its headers have the shapes of, 0 none */
    int64_t *shown;
    int status;        /* of the first tile that failed, with its message */
    char text[512];
} tile_job;

mci_tiles *mci_tiles_new(int k, const int64_t *lead, int nslots, const int64_t *row_bytes,
                         int64_t extra)
{
    if (k < 1 || k > MC_MAX_RANK || nslots < 0 || nslots > MCI_TILE_SLOTS) {
        mci_error(MC_EINTERNAL, "tiles: %d leading axes and %d buffers", k, nslots);
        return NULL;
    }
    mci_tiles *t = mci_calloc(1, sizeof *t);
    if (!t)
        return NULL;
    int64_t bytes = extra, outer = 1;
    for (int i = 0; i < nslots; i++)
        bytes += row_bytes[i];
    t->k = k;
    t->nslots = nslots;
    memcpy(t->lead, lead, sizeof *lead * (size_t)k);
    t->inner = mci_numel(k, lead);
    for (t->axis = 0; t->axis < k; t->axis++) {
        t->inner = lead[t->axis] > 0 ? t->inner / lead[t->axis] : 0;
        if (t->inner * bytes <= CACHE || t->axis == k - 1)
            break;
        outer *= lead[t->axis];
    }
    int64_t most = bytes > 0 && t->inner > 0 ? CACHE / (t->inner * bytes) : 1;
    t->length = most < 1 ? 1 : most > lead[t->axis] ? lead[t->axis] : most;
    t->count = t->length > 0 ? outer * ((lead[t->axis] + t->length - 1) / t->length) : 0;
    for (int i = 0; i < nslots; i++) {
        t->at[i] = t->room;
        t->room += (row_bytes[i] * t->inner * t->length + 63) / 64 * 64;
    }
    return t;
}

void mci_tiles_free(mci_tiles *t) { mci_free(t); }
int mci_tiles_lead(const mci_tiles *t, int64_t *lead)
{
    memcpy(lead, t->lead, sizeof *lead * (size_t)t->k);
    return t->k;
}
int mci_tiles_dropped(const mci_tiles *t) { return t->axis; }

/* v: the shape of the part of h that a tile of n places sees. */
static void shape_of(const mci_tiles *t, mc_tensor *v, const mc_tensor *h, mci_tile_view how,
                     int64_t n)
{
    *v = *h;
    int at = t->axis + how.shift, drop = at < 0 ? 0 : at;
    v->ndim = h->ndim - drop;
    for (int i = 0; i < v->ndim; i++) {
        v->shape[i] = h->shape[i + drop];
        v->strides[i] = h->strides[i + drop];
    }
    if (at >= 0 && h->shape[at] == t->lead[t->axis])
        v->shape[0] = n;
    v->numel = mci_numel(v->ndim, v->shape);
}

/* Where it begins: idx of the fixed axes, the place `first` of the cut one. */
static char *begin_of(const mci_tiles *t, const mc_tensor *h, mci_tile_view how, const int64_t *idx,
                      int64_t first)
{
    int64_t off = 0;
    int at = t->axis + how.shift;
    for (int i = 0; i < t->axis; i++)
        if (i + how.shift >= 0 && h->shape[i + how.shift] > 1)
            off += idx[i] * h->strides[i + how.shift];
    if (at >= 0 && h->shape[at] == t->lead[t->axis])
        off += first * h->strides[at];
    return mci_at(h, off);
}

/* A finished part of a result to its place; meanwhile what the next tile reads is asked for. */
static void write_past(const tile_job *j, int i, void *to, const mc_tensor *local)
{
    const char *ahead[STREAMS];
    int64_t bytes = local[i].numel * MCI_SIZE(local[i].dtype);
    int n = 0;
    for (int k = 0; k < j->n && n < STREAMS; k++) {
        int64_t size = local[k].numel * MCI_SIZE(local[k].dtype);
        if (j->views[k].slot < 0 && !j->views[k].result && size == bytes &&
            local[k].numel < j->headers[k]->numel && mci_contiguous(&local[k])) {
            const char *next = (const char *)local[k].data + size;
            int seen = 0;
            for (int q = 0; q < n; q++)
                seen = seen || ahead[q] == next;
            if (!seen)
                ahead[n++] = next;
        }
    }
    mci_stream(to, local[i].data, bytes, n, ahead);
}

static void tile_task(void *arg, int64_t begin, int64_t end, int worker)
{
    tile_job *j = arg;
    const mci_tiles *t = j->t;
    (void)end;
    if (__atomic_load_n(&j->status, __ATOMIC_RELAXED))
        return;
    int64_t tiles = (t->lead[t->axis] + t->length - 1) / t->length, rest = begin / tiles,
            first = begin % tiles * t->length, idx[MC_MAX_RANK];
    int64_t n = t->lead[t->axis] - first < t->length ? t->lead[t->axis] - first : t->length;
    for (int i = t->axis - 1; i >= 0; i--) {
        idx[i] = rest % t->lead[i];
        rest /= t->lead[i];
    }
    mc_tensor *local = j->local + (int64_t)worker * j->n, **refs = j->refs + (int64_t)worker * j->n;
    int fresh = j->shown[worker] != n;
    char *memory = j->memory + worker * j->room;
    for (int i = 0; i < j->n && fresh; i++) {
        shape_of(t, &local[i], j->headers[i], j->views[i], n);
        refs[i] = &local[i];
        if (j->inside[i] >= 0)
            local[i].data = memory + j->inside[i];
    }
    j->shown[worker] = n;
    for (int i = 0; i < j->n; i++)
        if (j->inside[i] < 0)
            local[i].data = begin_of(t, j->headers[i], j->views[i], idx, first);
    int rc = j->run(j->arg, refs, worker, fresh), none = MC_OK;
    for (int i = 0; i < j->n; i++)
        if (j->inside[i] >= 0 && j->views[i].slot < 0)
            write_past(j, i, begin_of(t, j->headers[i], j->views[i], idx, first), local);
    if (rc &&
        __atomic_compare_exchange_n(&j->status, &none, rc, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        snprintf(j->text, sizeof j->text, "%s", mc_errmsg());
}

/* Whether header i is a large result that nothing else in the tile touches. */
static int streams(int n, mc_tensor *const *headers, const mci_tile_view *views, int i)
{
    const mc_tensor *h = headers[i];
    int64_t bytes = h->numel * MCI_SIZE(h->dtype);
    if (!views[i].result || views[i].slot >= 0 || bytes < MCI_STREAM || !mci_contiguous(h))
        return 0;
    for (int k = 0; k < n; k++) {
        const char *from = headers[k]->data, *begin = h->data;
        if (k != i && views[k].slot < 0 && from < begin + bytes &&
            begin < from + headers[k]->numel * MCI_SIZE(headers[k]->dtype))
            return 0;
        if (k != i && views[k].slot < 0 && !mci_contiguous(headers[k]) &&
            mci_overlap(h, headers[k]) >= 0)
            return 0;
    }
    return 1;
}

int mci_tiles_workers(const mci_tiles *t) { return mci_workers(t->count); }

int mci_tiles_run(const mci_tiles *t, int n, mc_tensor *const *headers, const mci_tile_view *views,
                  mci_tile_fn run, void *arg)
{
    if (t->count == 0)
        return MC_OK;
    int workers = mci_workers(t->count);
    tile_job j = {.t = t, .headers = headers, .views = views, .n = n, .run = run, .arg = arg};
    j.room = t->room;
    if (!(j.inside = mci_alloc(sizeof *j.inside * (size_t)(n + 1))))
        return mc_errstatus();
    for (int i = 0; i < n; i++) {
        j.inside[i] = views[i].slot >= 0 ? t->at[views[i].slot] : -1;
        if (streams(n, headers, views, i)) {
            j.inside[i] = j.room;
            j.room += (headers[i]->numel / mci_numel(t->k, t->lead) * t->inner * t->length *
                           MCI_SIZE(headers[i]->dtype) +
                       63) /
                      64 * 64;
        }
    }
    j.memory = mci_alloc((size_t)(j.room * workers + 1));
    j.local = mci_alloc(sizeof *j.local * (size_t)(n * workers));
    j.refs = mci_alloc(sizeof *j.refs * (size_t)(n * workers));
    j.shown = mci_calloc((size_t)workers, sizeof *j.shown);
    int rc = j.memory && j.local && j.refs && j.shown ? mci_parallel(t->count, tile_task, &j)
                                                      : mc_errstatus();
    mci_free(j.memory);
    mci_free(j.local);
    mci_free(j.refs);
    mci_free(j.shown);
    mci_free(j.inside);
    return !rc && j.status ? mci_error(j.status, "%s", j.text) : rc;
}
