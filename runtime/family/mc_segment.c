/* mc_segment.c - drivers of segment reductions (rows joined by their segment) and of scatter_add
 * and scatter_reduce (elements joined at positions along an axis).
 *
 * Both convert to the widest dtype of the kind, join in order and convert back. Segments: the
 * rows are cut into blocks and the columns into strips by shape alone, blocks are joined in
 * order. Scatters: one line along the axis at a time. */
#include "family/mc_family.h"
#include "tensor/mc_tensor.h"
#include "../../kernels/mck_segment.h"

#include <math.h>
#include <string.h>

#define PIECE 8192     /* elements converted at a time */
#define BLOCK 262144   /* elements a block of rows should have at least */
#define BLOCKS 16
#define STRIP 512      /* columns of a strip */
#define TASK 16384

enum {
    SUM = MCI_JOIN_SUM,
    PROD = MCI_JOIN_PROD,
    MAX = MCI_JOIN_MAX,
    MIN = MCI_JOIN_MIN,
    MEAN = MCI_JOIN_MEAN
};
_Static_assert(MCI_SEGMENT_MEAN - MCI_SEGMENT_SUM == MEAN, "rows of segments stand in this order");

static mck_segment_fn kernel_of(int how, int wide)
{
    static const int kernel[] = { MCK_K_SEGMENT_SUM, MCK_K_SEGMENT_PROD, MCK_K_SEGMENT_MAX,
                                  MCK_K_SEGMENT_MIN, MCK_K_SEGMENT_SUM };
    return (mck_segment_fn)mci_kernel_get(kernel[how], wide);
}

void mci_join_identity(int how, int dtype, int wide, int64_t n, void *v)
{
    static const double low[] = { 0, 0, -128, -32768, -2147483648.0 },
                        high[] = { 1, 255, 127, 32767, 2147483647.0 };
    if (wide == MC_I64 && (how == MAX || how == MIN)) {
        int64_t x = how == MAX ? INT64_MIN : INT64_MAX;
        if (dtype < MC_I64)
            x = (int64_t)(how == MAX ? low[dtype] : high[dtype]);
        for (int64_t i = 0; i < n; i++)
            ((int64_t *)v)[i] = x;
        return;
    }
    double x[2] = {how == PROD ? 1 : how == MAX ? -INFINITY : how == MIN ? INFINITY : 0, 0};
    mci_cast(wide, MC_C128)(n, v, 1, x, 0);
}

static void divide(int wide, int64_t n, void *v, const double *by, int64_t every)
{
    double *d = v;
    int width = wide == MC_C128 ? 2 : 1;
    for (int64_t i = 0; i < n * width; i++)
        d[i] /= by[i / (width * every)];
}

/* ---- segments ---- */

typedef struct segment_job {
    mck_segment_fn fn;
    mc_tensor v;             /* [n, columns...]: the axis first, the rest collapsed */
    int64_t n, columns, strips, width, blocks, step, segments, size;
    int wide, how, dtype;
    const int64_t *id;
    char *acc, *buf;         /* acc [blocks][strips][segments][width] */
} segment_job;

static void segment_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const segment_job *j = arg;
    (void)end;
    int64_t strip = begin % j->strips, block = begin / j->strips, c0 = strip * j->width;
    int64_t inner = j->columns - c0 < j->width ? j->columns - c0 : j->width,
            rows = PIECE / inner > 1 ? PIECE / inner : 1;
    int64_t first = block * j->step, last = first + j->step < j->n ? first + j->step : j->n;
    char *acc = j->acc + (block * j->segments * j->columns + c0 * j->segments) * j->size;
    char *buf = j->buf + (int64_t)worker * (j->width > PIECE ? j->width : PIECE) * j->size;
    mci_join_identity(j->how, j->dtype, j->wide, j->segments * inner, acc);
    mc_tensor sub = j->v;
    if (j->strips > 1) { /* rank 2 then */
        sub.shape[1] = inner;
        sub.data = mci_at(&sub, c0 * sub.strides[1]);
    }
    sub.numel = j->n * inner;
    for (int64_t r = first; r < last && !mc_cancel_pending(); r += rows) {
        int64_t n = last - r < rows ? last - r : rows;
        mci_gather(&sub, r * inner, n * inner, j->wide, buf);
        mck_segment k = {n, inner, acc, buf, j->id + r};
        j->fn(&k);
    }
}

/* Ids as numbers from 0, contiguous; *segments grows to hold them when it is negative. */
static int segment_ids(const mci_op *op, const mc_tensor *ids, int base, int64_t *segments,
                       mc_tensor *id)
{
    const int open = *segments < 0;
    int rc = mci_materialize(id, ids, MC_I64);
    if (rc)
        return rc;
    int64_t *v = id->data, most = open ? 0 : *segments;
    for (int64_t i = 0; i < id->numel; i++) {
        v[i] -= base;
        if (v[i] < 0 || (!open && v[i] >= most)) {
            rc = mci_error(
                MC_ESHAPE,
                "%s: segment %lld of element %lld is outside %d..%lld; segments count from %d",
                op->name, (long long)(v[i] + base), (long long)(i + base), base,
                open ? (long long)INT64_MAX : (long long)(most - 1 + base), base);
            mc_drop(id);
            return rc;
        }
        if (open && v[i] >= most)
            most = v[i] + 1;
    }
    *segments = most;
    return MC_OK;
}

/* The result but for the number of segments, which may depend on the ids: then it is negative. */
static int segment_shape(const mci_job *job, int how, int *axis, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_tensor *t = job->in[0], *ids = job->in[1];
    char s1[MCI_TEXT], s2[MCI_TEXT];
    int dtype, wide, rc = mci_resolve(op, 1, &t, &dtype, &wide), kind = mci_kind(ids->dtype);
    if (rc ||
        (rc = mci_axis(op->name, t, job->params->naxes < 1 ? 0 : job->params->axes[0], axis)) != 0)
        return rc;
    if (ids->ndim != 1 || ids->shape[0] != t->shape[*axis])
        return mci_error(
            MC_ESHAPE, "%s: segments are %s; give one for each element of the axis of %s", op->name,
            mci_tensor_text(s1, sizeof s1, ids), mci_tensor_text(s2, sizeof s2, t));
    if (kind != 'i' && kind != 'u')
        return mci_error(MC_EDTYPE, "%s: segments are %s; give an integer tensor", op->name,
                         mci_tensor_text(s1, sizeof s1, ids));
    mci_result_one(r, mci_kind(wide) == 'i' && (how == SUM || how == PROD) ? MC_I64 : dtype,
                   t->ndim, t->shape);
    r->compute = wide;
    r->shape[0][*axis] = job->params->i[0];
    return MC_OK;
}

static int segment(const mci_op *op, int how, mc_tensor *out, const mc_tensor *t,
                   const mc_tensor *ids, const mc_params *p)
{
    const int given = (out->flags & MC_FLAG_OUT) != 0;
    int axis;
    mci_result r;
    int rc = segment_shape(&(mci_job){ op, p, 2, (const mc_tensor *const[]){ t, ids }, 1 }, how,
                           &axis, &r);
    if (rc) return rc;
    const int wide = r.compute;
    segment_job j = { .wide = wide,
                      .how = how,
                      .dtype = t->dtype,
                      .segments = p->i[0],
                      .size = MCI_SIZE(wide),
                      .n = t->shape[axis] };
    mc_tensor id = {0};
    double *count = NULL;
    if ((rc = segment_ids(op, ids, p->base, &j.segments, &id)) != 0)
        return rc;
    int64_t shape[MC_MAX_RANK], rest[MC_MAX_RANK], rs[1][MC_MAX_RANK], bytes;
    int nr = 0;
    for (int i = 0; i < t->ndim; i++) {
        shape[i] = i == axis ? j.segments : t->shape[i];
        if (i != axis) {
            rest[nr] = t->shape[i];
            rs[0][nr++] = t->strides[i];
        }
    }
    j.columns = mci_numel(nr, rest);
    rc = mci_out(op->name, out, r.dtype[0], t->ndim, shape);
    if (rc || out->numel == 0)
        goto end;
    nr = mci_collapse(nr, rest, 1, rs);
    j.v = *t;
    j.v.ndim = nr + 1;
    j.v.shape[0] = j.n;
    j.v.strides[0] = t->strides[axis];
    for (int i = 0; i < nr; i++) {
        j.v.shape[i + 1] = rest[i];
        j.v.strides[i + 1] = rs[0][i];
    }
    if (nr == 0) { /* one column: rank 2 all the same */
        j.v.ndim = 2;
        j.v.shape[1] = j.v.strides[1] = 1;
        nr = 1;
    }
    j.strips = nr == 1 && j.columns > STRIP ? (j.columns + STRIP - 1) / STRIP : 1;
    j.width = j.strips > 1 ? STRIP : j.columns;
    j.blocks = j.strips >= BLOCKS / 2 ? 1 : j.n * j.columns / BLOCK;
    /* the partial results are at most a quarter of the operand */
    int64_t most = j.n / (4 * j.segments);
    j.blocks = j.blocks < most ? j.blocks : most;
    j.blocks = j.blocks > BLOCKS ? BLOCKS : j.blocks < 1 ? 1 : j.blocks;
    j.step = (j.n + j.blocks - 1) / j.blocks;
    j.blocks = j.step > 0 ? (j.n + j.step - 1) / j.step : 1;
    j.fn = kernel_of(how, wide);
    j.id = id.data;
    int64_t tasks = j.blocks * j.strips;
    if (mci_size_mul(j.blocks * j.segments, j.columns * j.size, &bytes)) {
        rc = mc_errstatus();
        goto end;
    }
    j.acc = mci_alloc((size_t)bytes);
    j.buf = mci_alloc((size_t)(mci_workers(tasks) * (j.width > PIECE ? j.width : PIECE) * j.size));
    if (how == MEAN)
        count = mci_alloc((size_t)j.segments * sizeof(double));
    rc = !j.acc || !j.buf || (how == MEAN && !count) ? mc_errstatus()
                                                     : mci_parallel(tasks, segment_task, &j);
    if (!rc) {
        static const int64_t zero = 0;
        for (int64_t b = 1; b < j.blocks; b++) {
            mck_segment k = { 1, j.segments * j.columns, j.acc,
                              j.acc + b * j.segments * j.columns * j.size, &zero };
            j.fn(&k);
        }
        if (count) {
            memset(count, 0, (size_t)j.segments * sizeof(double));
            for (int64_t i = 0; i < id.numel; i++)
                count[j.id[i]]++;
        }
        /* each strip: [segments][inner] -> its place in [.., segments, ..] */
        for (int64_t q = 0; q < j.strips && !rc; q++) {
            int64_t c0 = q * j.width, inner = j.columns - c0 < j.width ? j.columns - c0 : j.width;
            char *from = j.acc + c0 * j.segments * j.size;
            if (count)
                divide(wide, j.segments * inner, from, count, inner);
            mc_tensor to = *out, src = {.data = from, .dtype = wide, .numel = j.segments * inner};
            to.flags = 0;
            if (j.strips == 1) {
                src.ndim = t->ndim;
                int64_t stride = 1;
                for (int i = t->ndim - 1; i >= 0; i--) {
                    src.shape[i] = shape[i];
                    src.strides[i] = i == axis ? j.columns : stride;
                    stride *= i == axis ? 1 : shape[i];
                }
                rc = mci_copy(&to, &src);
            } else { /* element (s, c) of the strip lies at the flat column c0 + c */
                for (int64_t seg = 0; seg < j.segments; seg++) {
                    mc_tensor line = *out;
                    line.ndim = 0;
                    for (int i = 0; i < t->ndim; i++)
                        if (i != axis) {
                            line.shape[line.ndim] = shape[i];
                            line.strides[line.ndim++] = out->strides[i];
                        }
                    line.numel = j.columns;
                    line.data = mci_at(out, seg * out->strides[axis]);
                    mci_scatter(&line, c0, inner, wide, from + seg * inner * j.size);
                }
            }
        }
    }
end:
    mci_free(j.acc);
    mci_free(j.buf);
    mci_free(count);
    mc_drop(&id);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}

/* ---- scatters ---- */

typedef struct scatter_job {
    mck_segment_fn fn;
    const mc_tensor *pos, *values;
    mc_tensor *out;
    int axis, wide, how, self;
    int64_t n, k, lines, per_task, size; /* line of out, elements joined to it */
    char *buf;
} scatter_job;

/* The line along the axis at the row-major number `line` of the other axes of pos. */
static mc_tensor line_of(const scatter_job *j, const mc_tensor *t, int64_t line, int64_t n)
{
    int64_t off = 0;
    for (int i = j->pos->ndim - 1; i >= 0; i--) {
        if (i == j->axis)
            continue;
        off += line % j->pos->shape[i] * t->strides[i];
        line /= j->pos->shape[i];
    }
    mc_tensor v = { .data = mci_at(t, off),
                    .dtype = t->dtype,
                    .ndim = 1,
                    .numel = n,
                    .shape = { n },
                    .strides = { t->strides[j->axis] } };
    return v;
}

static void scatter_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const scatter_job *j = arg;
    (void)end;
    int64_t l0 = begin * j->per_task,
            l1 = l0 + j->per_task < j->lines ? l0 + j->per_task : j->lines,
            slot = 2 * j->n + 2 * j->k;
    char *acc = j->buf + (int64_t)worker * slot * 16, *in = acc + j->n * 16;
    int64_t *id = (int64_t *)(void *)(in + j->k * 16);
    double *count = (double *)(void *)(id + j->k);
    for (int64_t l = l0; l < l1 && !mc_cancel_pending(); l++) {
        mc_tensor to = line_of(j, j->out, l, j->n), from = line_of(j, j->values, l, j->k),
                  at = line_of(j, j->pos, l, j->k);
        mci_gather(&to, 0, j->n, j->wide, acc);
        mci_gather(&from, 0, j->k, j->wide, in);
        mci_gather(&at, 0, j->k, MC_I64, id);
        for (int64_t i = 0; !j->self && i < j->k; i++)
            mci_join_identity(j->how, j->out->dtype, j->wide, 1, acc + id[i] * j->size);
        mck_segment k = {j->k, 1, acc, in, id};
        j->fn(&k);
        if (j->how == MEAN) {
            for (int64_t i = 0; i < j->n; i++)
                count[i] = j->self ? 1 : 0;
            for (int64_t i = 0; i < j->k; i++)
                count[id[i]]++;
            for (int64_t i = 0; i < j->n; i++)
                count[i] = count[i] > 0 ? count[i] : 1;
            divide(j->wide, j->n, acc, count, 1);
        }
        mci_scatter(&to, 0, j->n, j->wide, acc);
    }
}

static int scatter_infer(const mci_job *job, int how, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_tensor *t = job->in[0], *index = job->in[1];
    char s1[MCI_TEXT], s2[MCI_TEXT];
    int dtype, axis, rc = mci_resolve(op, 1, &t, &dtype, &r->compute);
    rc = rc ? rc : mci_check_positions(op->name, index);
    if (rc || (rc = mci_axis(op->name, t, job->params->naxes < 1 ? -1 : job->params->axes[0],
                             &axis)) != 0)
        return rc;
    const int wide = r->compute;
    if (how == MEAN && mci_kind(wide) == 'i')
        return mci_error(MC_EDTYPE,
                         "%s: a mean of integers is no integer, x is %s; convert it to f64 first",
                         op->name, mci_tensor_text(s1, sizeof s1, t));
    if (how != SUM && how != PROD && mci_kind(wide) == 'c' && how != MEAN)
        return mci_error(MC_EDTYPE, "%s: complex numbers have no order, x is %s; take :abs() first",
                         op->name, mci_tensor_text(s1, sizeof s1, t));
    int ok = index->ndim == t->ndim;
    for (int i = 0; ok && i < t->ndim; i++)
        ok = i == axis || index->shape[i] <= t->shape[i];
    if (!ok)
        return mci_error(MC_ESHAPE, "%s: index must match x off the axis, x is %s and index is %s",
                         op->name, mci_tensor_text(s1, sizeof s1, t),
                         mci_tensor_text(s2, sizeof s2, index));
    mci_result_one(r, t->dtype, t->ndim, t->shape);
    r->compute = wide;
    return MC_OK;
}

static int scatter(const mci_op *op, int how, int self, mc_tensor *out, const mc_tensor *t,
                   const mc_tensor *index, const mc_tensor *values, const mc_params *p)
{
    const int given = (out->flags & MC_FLAG_OUT) != 0;
    int axis;
    mci_result r;
    int rc =
        scatter_infer(&(mci_job){ op, p, 2, (const mc_tensor *const[]){ t, index }, 1 }, how, &r);
    if (rc || (rc = mci_axis(op->name, t, p->naxes < 1 ? -1 : p->axes[0], &axis)) != 0) return rc;
    scatter_job j = { .how = how, .self = self, .wide = r.compute };
    mc_tensor pos = {0}, v = {0};
    if ((rc = mci_positions(op->name, index, t->shape[axis], p->base, &pos)) != 0)
        return rc;
    rc = mc_create(&v, t->dtype, index->ndim, index->shape);
    if (!rc)
        rc = mci_copy(&v, values);
    if (!rc)
        rc = mci_out(op->name, out, t->dtype, t->ndim, t->shape);
    if (!rc)
        rc = mci_copy(out, t);
    if (!rc && pos.numel > 0) {
        j.fn = kernel_of(how, j.wide);
        j.pos = &pos;
        j.values = &v;
        j.out = out;
        j.axis = axis;
        j.n = t->shape[axis];
        j.k = index->shape[axis];
        j.lines = pos.numel / j.k;
        j.size = MCI_SIZE(j.wide);
        j.per_task = TASK / (j.n + j.k) > 1 ? TASK / (j.n + j.k) : 1;
        int64_t tasks = (j.lines + j.per_task - 1) / j.per_task;
        j.buf = mci_alloc((size_t)(mci_workers(tasks) * (2 * j.n + 2 * j.k) * 16));
        rc = j.buf ? mci_parallel(tasks, scatter_task, &j) : mc_errstatus();
        mci_free(j.buf);
    }
    mc_drop(&v);
    mc_drop(&pos);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}

int mci_join_of(const mci_op *op, const mc_params *p)
{
    switch (op->variant) {
    case MCI_SEGMENT_SCATTER_ADD: return SUM;
    case MCI_SEGMENT_SCATTER: return (int)p->i[0];
    default: return op->variant - MCI_SEGMENT_SUM;
    }
}

int mci_join_self(const mci_op *op, const mc_params *p)
{
    return op->variant == MCI_SEGMENT_SCATTER_ADD || p->i[1] != 0;
}

int mci_segment_infer(const mci_job *job, mci_result *r)
{
    const int how = mci_join_of(job->op, job->params);
    int axis;
    if (job->nin > 2) return scatter_infer(job, how, r);
    int rc = segment_shape(job, how, &axis, r);
    if (!rc && job->params->i[0] < 0) rc = mci_by_value(job->op);
    return rc;
}

/* Segments: i[0] their number, negative: as many as the ids name. scatter_reduce: i[0] SUM.., i[1]
 * the elements of x take part. */
int mci_segment_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                    const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    const int how = mci_join_of(op, p), self = mci_join_self(op, p);
    if (nin < 3) return segment(op, how, outs[0], in[0], in[1], p);
    return scatter(op, how, self, outs[0], in[0], in[1], in[2], p);
}
