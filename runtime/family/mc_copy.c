/* mc_copy.c - copies with broadcasting and conversion, fills, temporaries.
 *
 * The index space is collapsed and cut into tasks by shape only; rows too short for a call each
 * are copied column by column, transposes in tiles, long rows past the caches. */
#include "family/mc_family.h"
#include "record/mc_record.h"
#include "tensor/mc_blocks.h"

#include <math.h>
#include <string.h>

/* elements per task: about 20 us of copying, well above the 2 us of starting a team */
#define COPY_GRAIN 65536

typedef struct copy_job {
    int nd;
    int64_t shape[MC_MAX_RANK], strides[2][MC_MAX_RANK];
    char *dst, *src;
    int64_t dsize, ssize, total, tile;
    mci_cast_fn fn;
    int plain, stream; /* no conversion; written past the caches */
} copy_job;

/* rows of at most this length are copied column by column: a call per row would cost more than its
 * elements */
#define COPY_NARROW 8
/* columns at a time of a transpose: as many cache lines stay in the first cache */
#define COPY_TILE 64
/* rows at a time, which stay in the first cache while their columns are walked */
#define COPY_RUN 1024

static void copy_narrow(const copy_job *j, int64_t r0, int64_t r1)
{
    int nd = j->nd;
    int64_t inner = j->shape[nd - 1], along = j->shape[nd - 2], run;
    for (int64_t r = r0; r < r1; r += run) {
        int64_t left = along - r % along, rest = r, od = 0, os = 0;
        run = r1 - r < left ? r1 - r : left;
        run = run < COPY_RUN ? run : COPY_RUN;
        for (int i = nd - 2; i >= 0; i--) {
            int64_t k = rest % j->shape[i];
            rest /= j->shape[i];
            od += k * j->strides[0][i];
            os += k * j->strides[1][i];
        }
        for (int64_t q = 0; q < inner; q++)
            j->fn(run, j->dst + (od + q * j->strides[0][nd - 1]) * j->dsize, j->strides[0][nd - 2],
                  j->src + (os + q * j->strides[1][nd - 1]) * j->ssize, j->strides[1][nd - 2]);
    }
}

/* Elements [lo, hi) of one long row, past the caches. */
static void copy_stream(const copy_job *j, int64_t lo, int64_t hi)
{
    MC_ALIGNED(64) char buf[16384];
    int64_t ss = j->strides[1][0];
    if (j->plain && ss == 1) {
        mci_stream(j->dst + lo * j->dsize, j->src + lo * j->ssize, (hi - lo) * j->dsize, 0, NULL);
        return;
    }
    for (int64_t at = lo, n; at < hi; at += n) {
        n = (int64_t)sizeof buf / j->dsize;
        n = hi - at < n ? hi - at : n;
        j->fn(n, buf, 1, j->src + at * ss * j->ssize, ss);
        const char *next = j->src + (ss < 0 ? at + 2 * n : at + n) * ss * j->ssize;
        mci_stream(j->dst + at * j->dsize, buf, n * j->dsize,
                   (ss == 1 || ss == -1) && at + 2 * n < hi, &next);
    }
}

/* One task: flat range of the collapsed index space, rows along the last axis; the last two axes
 * are walked in tiles when the source runs fastest along the other one (a transpose touches each
 * cache line once per tile). */
static void copy_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const copy_job *j = arg;
    (void)worker;
    int nd = j->nd;
    if (nd == 0) {
        j->fn(1, j->dst, 1, j->src, 1);
        return;
    }
    int64_t inner = j->shape[nd - 1], ds = j->strides[0][nd - 1], ss = j->strides[1][nd - 1];
    int64_t rows = j->total / inner;
    if (nd == 1) {
        int64_t lo = begin * j->tile, hi = end * j->tile < inner ? end * j->tile : inner;
        if (j->stream)
            copy_stream(j, lo, hi);
        else if (hi > lo)
            j->fn(hi - lo, j->dst + lo * ds * j->dsize, ds, j->src + lo * ss * j->ssize, ss);
        return;
    }
    int64_t r0 = begin * j->tile, r1 = end * j->tile < rows ? end * j->tile : rows;
    if (inner <= COPY_NARROW) {
        copy_narrow(j, r0, r1);
        return;
    }
    const int64_t block = ss == 1 || ds != 1 || inner <= 2 * COPY_TILE ? inner : COPY_TILE,
                  *d = j->strides[0], *s = j->strides[1];
    for (int64_t c = 0; c < inner; c += block) {
        int64_t n = inner - c < block ? inner - c : block, idx[MC_MAX_RANK], rest = r0, od = c * ds,
                os = c * ss;
        for (int i = nd - 2; i >= 0; i--) {
            idx[i] = rest % j->shape[i];
            rest /= j->shape[i];
            od += idx[i] * d[i];
            os += idx[i] * s[i];
        }
        for (int64_t r = r0; r < r1; r++) {
            j->fn(n, j->dst + od * j->dsize, ds, j->src + os * j->ssize, ss);
            for (int i = nd - 2; i >= 0; i--) { /* the next row */
                od += d[i];
                os += s[i];
                if (++idx[i] < j->shape[i])
                    break;
                od -= idx[i] * d[i];
                os -= idx[i] * s[i];
                idx[i] = 0;
            }
        }
    }
}

static int copy_run(mci_copy_fn on_device, mc_tensor *dst, const mc_tensor *src);
static inline int copy_elements(mc_tensor *dst, const mc_tensor *src);

int mci_copy_by(mci_copy_fn on_device, mc_tensor *dst, const mc_tensor *src)
{
    if (MC_LIKELY(!mci_recording))
        return copy_run(on_device, dst, src);
    int logged = mci_record_write_begin(dst, 1, &src);
    if (logged <= 0)
        return logged < 0 ? mc_errstatus() : copy_run(on_device, dst, src);
    return mci_record_write_end(logged, MC_RECORD_COPY, dst, 1, &src, 0, 0,
                                copy_run(on_device, dst, src));
}

static int copy_run(mci_copy_fn on_device, mc_tensor *dst, const mc_tensor *src)
{
    int nd;
    int64_t shape[MC_MAX_RANK];
    char a[MCI_TEXT], b[MCI_TEXT];
    if (mci_check_released("copy", dst) || mci_check_released("copy", src))
        return mc_errstatus();
    if (dst->device != src->device && !(src->flags & MCI_WEAK))
        return mci_mixed_target("copy", src, dst);
    if (dst->flags & MC_FLAG_READONLY)
        return mci_error(MC_EINVAL, "copy: the destination is read-only (a mapped file or a "
                                    "broadcast view); copy it first");
    const mc_tensor *both[2] = {dst, src};
    if (mci_broadcast("copy", both, 2, &nd, shape))
        return mc_errstatus();
    if (nd != dst->ndim || memcmp(shape, dst->shape, sizeof *shape * (size_t)nd) != 0)
        return mci_error(MC_ESHAPE,
                         "copy: %s does not fit into %s; shapes must be equal or broadcast",
                         mci_tensor_text(a, sizeof a, src), mci_tensor_text(b, sizeof b, dst));
    if (dst->numel == 0 || mci_hollow(dst) || mci_hollow(src))
        return MC_OK;
    if (!dst->device) return copy_elements(dst, src);
    return on_device ? on_device(dst, src)
                     : mci_error(MC_EINTERNAL, "copy: a driver was given memory of a device");
}

int mci_copy_exec(const mci_job *job, const mci_result *r, mc_tensor *const *out)
{
    (void)r;
    return out[0]->numel ? copy_elements(out[0], job->in[0]) : MC_OK;
}

/* src broadcasts to the shape of dst, which has elements. */
static inline int copy_elements(mc_tensor *dst, const mc_tensor *src)
{
    const int nd = dst->ndim;
    mc_tensor tmp = {0};
    int over = mci_overlap(dst, src);
    if (over == 0 && dst->dtype == src->dtype)
        return MC_OK;
    if (over == 1 || (over == 0 && dst->dtype != src->dtype)) {
        int rc = mci_materialize(&tmp, src, src->dtype);
        if (rc)
            return rc;
        src = &tmp;
    }
    copy_job j = { .dst = dst->data,
                   .src = src->data,
                   .dsize = MCI_SIZE(dst->dtype),
                   .ssize = MCI_SIZE(src->dtype),
                   .total = dst->numel,
                   .fn = mci_cast(dst->dtype, src->dtype) };
    memcpy(j.shape, dst->shape, sizeof j.shape);
    memcpy(j.strides[0], dst->strides, sizeof j.strides[0]);
    mci_broadcast_strides(src, nd, j.strides[1]);
    j.nd = mci_collapse(nd, j.shape, 2, j.strides);
    int64_t inner = j.nd ? j.shape[j.nd - 1] : 1, rows = j.total / inner, tasks = 1;
    if (j.nd == 1) {
        j.tile = COPY_GRAIN;
        tasks = (inner + j.tile - 1) / j.tile;
        j.plain = dst->dtype == src->dtype;
        j.stream = j.strides[0][0] == 1 && inner * j.dsize >= MCI_STREAM;
    } else if (j.nd > 1) {
        j.tile = inner >= COPY_GRAIN ? 1 : (COPY_GRAIN + inner - 1) / inner;
        tasks = (rows + j.tile - 1) / j.tile;
    }
    int rc = mci_parallel(tasks, copy_task, &j);
    mc_drop(&tmp);
    return rc;
}

int mci_materialize(mc_tensor *t, const mc_tensor *src, int dtype)
{
    memset(t, 0, sizeof *t);
    int rc = mc_create(t, dtype, src->ndim, src->shape);
    if (!rc && (rc = mci_copy(t, src)) != 0)
        mc_drop(t);
    return rc;
}

int mci_fill_by(mci_copy_fn on_device, mc_tensor *dst, double re, double im)
{
    double v[2] = {re, im};
    mc_tensor one = { .data = v,
                      .numel = 1,
                      .dtype = im != 0 || signbit(im) ? MC_C128 : MC_F64,
                      .flags = dst->device ? MCI_WEAK : 0 };
    int64_t whole = (int64_t)re;
    if (im == 0 && mci_kind(dst->dtype) != 'f' && mci_kind(dst->dtype) != 'c' &&
        re == (double)whole) {
        memcpy(v, &whole, sizeof whole); /* integers travel exactly */
        one.dtype = MC_I64;
    }
    return mci_copy_by(on_device, dst, &one);
}
