/* mc_gather.c - ops that look elements up one by one: take_along_axis, put_along_axis, nonzero,
 * searchsorted, bincount.
 *
 * Positions arrive in the caller's base (p->base) and may count from the end when negative
 * (mc_pick.c checks them before anything is written). Rows are independent and each is written in
 * order, so that "the last write wins" is the same every time. */
#include "record/mc_record.h"
#include "family/mc_family.h"

#include <stdatomic.h>
#include <string.h>

static void copy_element(char *dst, const char *src, int64_t size)
{
    switch (size) {
    case 1: *dst = *src; break;
    case 2: memcpy(dst, src, 2); break;
    case 4: memcpy(dst, src, 4); break;
    case 8: memcpy(dst, src, 8); break;
    default: memcpy(dst, src, 16); break;
    }
}

/* offset (elements) of the row-major position `flat` of shape under strides, with one axis left
 * out */
static int64_t offset_without(const mc_tensor *index, const int64_t *strides, int axis,
                              int64_t flat)
{
    int64_t off = 0;
    for (int i = index->ndim - 1; i >= 0; i--) {
        int64_t k = flat % index->shape[i];
        flat /= index->shape[i];
        if (i != axis)
            off += k * strides[i];
    }
    return off;
}

/* Rows of a read or write along the last axis: x is [m, n], index and values are [m, k], all
 * contiguous. */
typedef struct along_job {
    char *out;
    const char *in;
    const mci_places *pos;
    int64_t m, k, size, rows;
    int writes;
} along_job;

#define ALONG(T)                                                                                  \
    do {                                                                                          \
        const T *x = (const T *)(const void *)j->in;                                              \
        T *o = (T *)(void *)j->out;                                                               \
        for (int64_t i = 0; writes && i < k; i++)                                                 \
            o[r * n + MCI_PLACE(v[i], n, base)] = x[r * k + i];                                   \
        for (int64_t i = 0; !writes && i < k; i++)                                                \
            o[r * k + i] = x[r * n + MCI_PLACE(v[i], n, base)];                                   \
    } while (0)

static void along_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const along_job *j = arg;
    const int64_t n = j->pos->n, base = j->pos->base,
                  last = end * j->rows < j->m ? end * j->rows : j->m, k = j->k;
    const int writes = j->writes;
    (void)worker;
    for (int64_t r = begin * j->rows; r < last; r++) {
        const int64_t *v = j->pos->v + r * k;
        switch (j->size) {
        case 1: ALONG(uint8_t); break;
        case 2: ALONG(uint16_t); break;
        case 4: ALONG(uint32_t); break;
        case 8: ALONG(uint64_t); break;
        default: ALONG(mck_c128); break;
        }
    }
}

/* t is contiguous and the index has a row for each of its rows along the last axis. */
static int along_rows(const mc_tensor *t, const mc_tensor *index, int axis)
{
    if (axis != t->ndim - 1 || !mci_contiguous(t))
        return 0;
    for (int i = 0; i < axis; i++)
        if (index->shape[i] != t->shape[i])
            return 0;
    return 1;
}

static int run_along(along_job *j)
{
    if (j->m < 1 || j->k < 1)
        return MC_OK;
    j->rows = 16384 / j->k > 1 ? 16384 / j->k : 1;
    return mci_parallel((j->m + j->rows - 1) / j->rows, along_task, j);
}

static int along_infer(const mci_job *job, int writes, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_tensor *t = job->in[0], *index = job->in[1], *like = writes ? t : index;
    char s1[MCI_TEXT], s2[MCI_TEXT];
    int axis, rc = mci_axis(op->name, t, job->params->naxes < 1 ? -1 : job->params->axes[0], &axis);
    rc = rc ? rc : mci_check_positions(op->name, index);
    if (rc)
        return rc;
    int ok = index->ndim == t->ndim;
    for (int i = 0; ok && i < t->ndim; i++)
        ok = i == axis || index->shape[i] == t->shape[i] || (!writes && t->shape[i] == 1) ||
             (writes && index->shape[i] <= t->shape[i]);
    if (!ok)
        return mci_error(MC_ESHAPE, "%s: index must match x off the axis, x is %s and index is %s",
                         op->name, mci_tensor_text(s1, sizeof s1, t),
                         mci_tensor_text(s2, sizeof s2, index));
    return mci_result_one(r, t->dtype, like->ndim, like->shape);
}

static int along(const mci_op *op, mc_tensor *out, const mc_tensor *t, const mc_tensor *index,
                 const mc_tensor *values, const mc_params *p)
{
    const int given = (out->flags & MC_FLAG_OUT) != 0, writes = values != NULL;
    int axis;
    mci_result r;
    int rc =
        along_infer(&(mci_job){ op, p, 2, (const mc_tensor *const[]){ t, index }, 1 }, writes, &r);
    if (rc || (rc = mci_axis(op->name, t, p->naxes < 1 ? -1 : p->axes[0], &axis)) != 0)
        return rc;
    mc_tensor tmp = {0};
    mci_places pos;
    if ((rc = mci_places_of(op->name, index, t->shape[axis], p->base, &pos)) != 0)
        return rc;
    int64_t size = MCI_SIZE(t->dtype);
    if (!writes) {
        rc = mci_out(op->name, out, t->dtype, index->ndim, index->shape);
        if (!rc)
            rc = mc_create(&tmp, t->dtype, index->ndim, index->shape);
        int64_t strides[MC_MAX_RANK];
        int rows = along_rows(t, index, axis);
        if (!rc && rows)
            rc = run_along(&(along_job){ .out = tmp.data,
                                         .in = t->data,
                                         .pos = &pos,
                                         .m = pos.n ? t->numel / pos.n : 0,
                                         .k = index->shape[axis],
                                         .size = size });
        for (int i = 0; i < t->ndim; i++)
            strides[i] = t->shape[i] == 1 ? 0 : t->strides[i];
        for (int64_t i = 0; !rc && !rows && i < pos.count; i++)
            copy_element((char *)tmp.data + i * size,
                         mci_at(t, offset_without(index, strides, axis, i) +
                                       MCI_PLACE(pos.v[i], pos.n, pos.base) * t->strides[axis]),
                         size);
        if (!rc)
            rc = mci_copy(out, &tmp);
    } else {
        mc_tensor vb = {0};
        rc = mci_out(op->name, out, t->dtype, t->ndim, t->shape);
        if (!rc)
            rc = mci_materialize(&tmp, t, t->dtype); /* work on a copy: out may be t */
        if (!rc)
            rc = mc_create(&vb, t->dtype, index->ndim, index->shape);
        if (!rc)
            rc = mci_copy(&vb, values);
        const char *w = vb.data;
        int rows = along_rows(&tmp, index, axis);
        if (!rc && rows)
            rc = run_along(&(along_job){ .out = tmp.data,
                                         .in = w,
                                         .pos = &pos,
                                         .m = pos.n ? t->numel / pos.n : 0,
                                         .k = index->shape[axis],
                                         .size = size,
                                         .writes = 1 });
        for (int64_t i = 0; !rc && !rows && i < pos.count; i++)
            copy_element(mci_at(&tmp, offset_without(index, tmp.strides, axis, i) +
                                          MCI_PLACE(pos.v[i], pos.n, pos.base) * tmp.strides[axis]),
                         w + i * size, size);
        mc_drop(&vb);
        if (!rc)
            rc = mci_copy(out, &tmp);
    }
    mc_drop(&tmp);
    mci_places_drop(&pos);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}

/* The flags in blocks: how many are set in each, then where. */
typedef struct nonzero_job {
    const uint8_t *m;
    int64_t n, base, *count, *v;
} nonzero_job;

#define NONZERO_BLOCK 65536

static void nonzero_count(void *arg, int64_t begin, int64_t end, int worker)
{
    const nonzero_job *j = arg;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        int64_t last = (b + 1) * NONZERO_BLOCK < j->n ? (b + 1) * NONZERO_BLOCK : j->n, sum = 0;
        for (int64_t i = b * NONZERO_BLOCK; i < last; i++)
            sum += j->m[i];
        j->count[b] = sum;
    }
}

/* count[b] is now the place of the block's first position, count[b + 1] its end. No branch on the
 * flag: what is not set is written over. */
static void nonzero_write(void *arg, int64_t begin, int64_t end, int worker)
{
    const nonzero_job *j = arg;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        int64_t last = (b + 1) * NONZERO_BLOCK < j->n ? (b + 1) * NONZERO_BLOCK : j->n,
                k = j->count[b], stop = j->count[b + 1];
        for (int64_t i = b * NONZERO_BLOCK; k < stop && i < last; i++) {
            j->v[k] = i + j->base;
            k += j->m[i];
        }
    }
}

/* How many flags each block has, turned into where its first one goes; count[blocks] is their
 * number. */
static int flag_places(nonzero_job *j, int64_t blocks)
{
    int64_t n = 0;
    j->count = mci_alloc((size_t)(blocks + 1) * sizeof *j->count);
    if (!j->count)
        return mc_errstatus();
    int rc = mci_parallel(blocks, nonzero_count, j);
    for (int64_t b = 0; b < blocks; b++) {
        int64_t k = j->count[b];
        j->count[b] = n;
        n += k;
    }
    j->count[blocks] = n;
    return rc;
}

typedef struct masked_job {
    nonzero_job flags;
    const char *in;
    char *out;
    int64_t size, stride;
} masked_job;

/* As in nonzero_write, with the element in the place of its position. */
#define MASKED(T)                                                        \
    do {                                                                 \
        const T *x = (const T *)(const void *)j->in;                     \
        T *o = (T *)(void *)j->out;                                      \
        for (int64_t i = b * NONZERO_BLOCK; k < stop && i < last; i++) { \
            o[k] = x[i * s];                                             \
            k += m[i];                                                   \
        }                                                                \
    } while (0)

static void masked_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const masked_job *j = arg;
    const uint8_t *m = j->flags.m;
    const int64_t s = j->stride;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        const int64_t last = (b + 1) * NONZERO_BLOCK < j->flags.n ? (b + 1) * NONZERO_BLOCK
                                                                  : j->flags.n,
                      stop = j->flags.count[b + 1];
        int64_t k = j->flags.count[b];
        switch (j->size) {
        case 1: MASKED(uint8_t); break;
        case 2: MASKED(uint16_t); break;
        case 4: MASKED(uint32_t); break;
        case 8: MASKED(uint64_t); break;
        default: MASKED(mck_c128); break;
        }
    }
}

int mc_masked(mc_tensor *out, const mc_tensor *t, const mc_tensor *mask)
{
    if (mci_check_released("index", t) || mci_check_released("index", mask)) return mc_errstatus();
    if (t->device || mask->device || mci_by_shapes) return -2;
    int same = !mci_recording && mask->dtype == MC_BOOL && t->ndim > 0 && t->ndim == mask->ndim &&
               mci_contiguous(mask);
    for (int i = 0; same && i < t->ndim; i++)
        same = t->shape[i] == mask->shape[i];
    if (!same || (t->ndim > 1 && !mci_contiguous(t)))
        return -2;
    masked_job j = { .flags = { .m = mask->data, .n = t->numel },
                     .in = t->data,
                     .size = MCI_SIZE(t->dtype),
                     .stride = t->ndim > 1 ? 1 : t->strides[0] };
    int64_t blocks = (t->numel + NONZERO_BLOCK - 1) / NONZERO_BLOCK;
    int rc = flag_places(&j.flags, blocks);
    if (!rc)
        rc = mc_create(out, t->dtype, 1, j.flags.count + blocks);
    if (!rc) {
        j.out = out->data;
        rc = mci_parallel(blocks, masked_task, &j);
        if (rc)
            mc_drop(out);
    }
    mci_free(j.flags.count);
    return rc;
}

static int nonzero(const mci_op *op, mc_tensor *out, const mc_tensor *t, const mc_params *p)
{
    mc_tensor mask = {0}, tmp = {0};
    const mc_tensor *flags = t;
    int rc = MC_OK, given = (out->flags & MC_FLAG_OUT) != 0;
    if (t->dtype != MC_BOOL || !mci_contiguous(t)) {
        rc = mci_materialize(&mask, t, MC_BOOL);
        flags = &mask;
    }
    nonzero_job j = {.m = flags->data, .n = t->numel, .base = p->base};
    int64_t blocks = (j.n + NONZERO_BLOCK - 1) / NONZERO_BLOCK;
    if (!rc)
        rc = flag_places(&j, blocks);
    int64_t n = rc ? 0 : j.count[blocks];
    if (!rc)
        rc = mci_out(op->name, out, MC_I64, 1, &n);
    if (!rc && !mci_contiguous(out))
        rc = mc_create(&tmp, MC_I64, 1, &n);
    if (!rc) {
        j.v = tmp.data ? tmp.data : out->data;
        rc = mci_parallel(blocks, nonzero_write, &j);
    }
    if (!rc && tmp.data)
        rc = mci_copy(out, &tmp);
    mci_free(j.count);
    mc_drop(&tmp);
    mc_drop(&mask);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}

typedef struct search_job {
    const void *sorted, *values;
    int64_t *out;
    int64_t n, per_row, total; /* values per row of sorted */
    int integers, right, base;
} search_job;
#define SEARCH_TASK 4096

#define SEARCH_LANES 16 /* searches in step, so that their loads wait together */

/* How many of x[n] stand before each y[l]. NaN sorts last. */
#define SEARCH(name, T, below)                                                     \
    static void name(const T *x, int64_t n, const T *q, int right, int64_t *lo)    \
    {                                                                              \
        for (int l = 0; l < SEARCH_LANES; l++)                                     \
            lo[l] = 0;                                                             \
        for (; n > 1; n -= n / 2)                                                  \
            for (int l = 0; l < SEARCH_LANES; l++) {                               \
                const T v = x[lo[l] + n / 2 - 1], y = q[l];                        \
                lo[l] += n / 2 & -(int64_t)(below); /* no branch: it would be guessed */ \
            }                                                                      \
        for (int l = 0; n == 1 && l < SEARCH_LANES; l++) {                         \
            const T v = x[lo[l]], y = q[l];                                        \
            lo[l] += (below);                                                      \
        }                                                                          \
    }
SEARCH(search_i64, int64_t, right ? v <= y : v < y)
SEARCH(search_f64, double, right ? ((v <= y) | (y != y)) : ((v < y) | ((y != y) & (v == v))))

/* Values of one row of `sorted` at a time; both types are eight bytes wide. */
static void search_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const search_job *j = arg;
    (void)end;
    (void)worker;
    int64_t i0 = begin * SEARCH_TASK,
            i1 = i0 + SEARCH_TASK < j->total ? i0 + SEARCH_TASK : j->total, lo[SEARCH_LANES];
    for (int64_t i = i0, n; i < i1; i += n) {
        int64_t row = i / j->per_row, left = (row + 1) * j->per_row - i, q[SEARCH_LANES] = {0};
        n = i1 - i < left ? i1 - i : left;
        n = n < SEARCH_LANES ? n : SEARCH_LANES;
        memcpy(q, (const int64_t *)j->values + i, (size_t)n * sizeof *q);
        if (j->integers) {
            search_i64((const int64_t *)j->sorted + row * j->n, j->n, q, j->right, lo);
        } else {
            double y[SEARCH_LANES];
            memcpy(y, q, sizeof y);
            search_f64((const double *)j->sorted + row * j->n, j->n, y, j->right, lo);
        }
        for (int64_t l = 0; l < n; l++)
            j->out[i + l] = j->base + lo[l];
    }
}

/* One sorted row for all values, or rows [..., n] for values [..., m] of the same leading axes. */
static int search_infer(const mci_job *job, mci_result *r)
{
    const mc_tensor *sorted = job->in[0], *values = job->in[1];
    char s1[MCI_TEXT], s2[MCI_TEXT];
    if (sorted->ndim == 0)
        return mci_error(MC_ESHAPE,
                         "searchsorted: the sorted tensor is %s; give it at least one axis",
                         mci_tensor_text(s1, sizeof s1, sorted));
    int fits = sorted->ndim == 1 || sorted->ndim == values->ndim;
    for (int i = 0; fits && sorted->ndim > 1 && i < sorted->ndim - 1; i++)
        fits = sorted->shape[i] == values->shape[i];
    if (!fits)
        return mci_error(MC_ESHAPE,
                         "searchsorted: the sorted tensor is %s and the values are %s; give one "
                         "sorted row, or one for each row of values",
                         mci_tensor_text(s1, sizeof s1, sorted),
                         mci_tensor_text(s2, sizeof s2, values));
    return mci_result_one(r, MC_I64, values->ndim, values->shape);
}

static int searchsorted(const mci_op *op, mc_tensor *out, const mc_tensor *sorted,
                        const mc_tensor *values, const mc_params *p)
{
    mc_tensor a = {0}, b = {0}, tmp = {0};
    const int given = (out->flags & MC_FLAG_OUT) != 0, last = sorted->ndim - 1;
    mci_result r;
    int rc =
        search_infer(&(mci_job){ op, p, 2, (const mc_tensor *const[]){ sorted, values }, 1 }, &r);
    if (rc)
        return rc;
    int integers = mci_kind(sorted->dtype) != 'f' && mci_kind(values->dtype) != 'f',
        dt = integers ? MC_I64 : MC_F64;
    rc = mci_materialize(&a, sorted, dt);
    if (!rc)
        rc = mci_materialize(&b, values, dt);
    if (!rc)
        rc = mc_create(&tmp, MC_I64, values->ndim, values->shape);
    if (!rc)
        rc = mci_out(op->name, out, MC_I64, values->ndim, values->shape);
    if (!rc && b.numel > 0) {
        search_job j = { a.data,
                         b.data,
                         tmp.data,
                         sorted->shape[last],
                         sorted->ndim == 1 ? b.numel : values->shape[last],
                         b.numel,
                         integers,
                         (int)p->i[0],
                         p->base };
        rc = mci_parallel((b.numel + SEARCH_TASK - 1) / SEARCH_TASK, search_task, &j);
        if (!rc)
            rc = mci_copy(out, &tmp);
        if (rc)
            mci_out_fail(out, given);
    }
    mc_drop(&a);
    mc_drop(&b);
    mc_drop(&tmp);
    return rc;
}

/* Values in pieces: their range first, then how often each occurs, in one table a worker. Counts
 * are whole numbers: the sum of the tables does not depend on who counted what. */
typedef struct count_job {
    const int64_t *x;
    int64_t total, n, *table; /* [workers][n] */
    _Atomic int64_t low, high;
} count_job;

#define COUNT_TASK 262144
/* longer tables are made once: each worker's own would cost more than they save */
#define COUNT_TABLE 65536

static void widen(_Atomic int64_t *at, int64_t v, int up)
{
    int64_t have = *at;
    while ((up ? v > have : v < have) && !atomic_compare_exchange_weak(at, &have, v))
        ;
}

static void range_task(void *arg, int64_t begin, int64_t end, int worker)
{
    count_job *j = arg;
    int64_t last = end * COUNT_TASK < j->total ? end * COUNT_TASK : j->total, low = INT64_MAX,
            high = -1;
    (void)worker;
    for (int64_t i = begin * COUNT_TASK; i < last; i++) {
        low = j->x[i] < low ? j->x[i] : low;
        high = j->x[i] > high ? j->x[i] : high;
    }
    widen(&j->low, low, 0);
    widen(&j->high, high, 1);
}

static void count_task(void *arg, int64_t begin, int64_t end, int worker)
{
    count_job *j = arg;
    int64_t *table = j->table + worker * j->n,
            last = end * COUNT_TASK < j->total ? end * COUNT_TASK : j->total;
    for (int64_t i = begin * COUNT_TASK; i < last; i++)
        table[j->x[i]]++;
}

static int count(const int64_t *x, int64_t total, mc_tensor *out)
{
    count_job j = {.x = x, .total = total, .n = out->numel, .table = out->data};
    int64_t tasks = (total + COUNT_TASK - 1) / COUNT_TASK,
            workers = j.n <= COUNT_TABLE ? mci_workers(tasks) : 1;
    memset(out->data, 0, (size_t)j.n * sizeof *j.table);
    if (workers <= 1) {
        for (int64_t t = 0; t < tasks && !mc_cancel_pending(); t++)
            count_task(&j, t, t + 1, 0);
        return MC_OK;
    }
    j.table = mci_calloc((size_t)(workers * j.n), sizeof *j.table);
    if (!j.table)
        return mc_errstatus();
    int rc = mci_parallel(tasks, count_task, &j);
    for (int64_t w = 0; w < workers; w++)
        for (int64_t i = 0; i < j.n; i++)
            ((int64_t *)out->data)[i] += j.table[w * j.n + i];
    mci_free(j.table);
    return rc;
}

static int bincount(const mci_op *op, mc_tensor *out, const mc_tensor *t, const mc_tensor *weights,
                    const mc_params *p)
{
    char s1[MCI_TEXT], s2[MCI_TEXT];
    mc_tensor v = {0}, w = {0};
    int kind = mci_kind(t->dtype), rc = MC_OK;
    if (t->ndim != 1 || (kind != 'i' && kind != 'u'))
        return mci_error(MC_ESHAPE, "bincount: x is %s; give integers along one axis",
                         mci_tensor_text(s1, sizeof s1, t));
    if (weights && (weights->ndim != 1 || weights->shape[0] != t->shape[0]))
        return mci_error(MC_ESHAPE, "bincount: weights must match x, x is %s and weights is %s",
                         mci_tensor_text(s1, sizeof s1, t),
                         mci_tensor_text(s2, sizeof s2, weights));
    const mc_tensor *values = t;
    if (t->dtype != MC_I64 || !mci_contiguous(t)) {
        rc = mci_materialize(&v, t, MC_I64);
        values = &v;
    }
    if (!rc && weights)
        rc = mci_materialize(&w, weights, MC_F64);
    int64_t n = p->i[0] > 0 ? p->i[0] : 0, total = values->numel;
    const int64_t *x = values->data;
    count_job range = {.x = x, .total = total, .low = INT64_MAX, .high = -1};
    if (!rc)
        rc = mci_parallel((total + COUNT_TASK - 1) / COUNT_TASK, range_task, &range);
    if (!rc && total > 0 && range.low < 0)
        for (int64_t i = 0; !rc; i++)
            if (x[i] < 0)
                rc =
                    mci_error(MC_EINVAL, "bincount: value %lld is negative; shift the values first",
                              (long long)x[i]);
    n = range.high >= n ? range.high + 1 : n;
    mc_tensor tmp = {0};
    int dt = weights ? MC_F64 : MC_I64, direct = !(out->flags & MC_FLAG_OUT);
    if (!rc && direct)
        rc = mci_out(op->name, out, dt, 1, &n);
    if (!rc && !direct)
        rc = mc_create(&tmp, dt, 1, &n);
    mc_tensor *to = direct ? out : &tmp;
    if (!rc && weights) {
        memset(to->data, 0, (size_t)n * sizeof(double));
        for (int64_t i = 0; i < total; i++)
            ((double *)to->data)[x[i]] += ((const double *)w.data)[i];
    } else if (!rc) {
        rc = count(x, total, to);
    }
    if (!rc && !direct)
        rc = mci_out(op->name, out, dt, 1, &n);
    if (!rc && !direct)
        rc = mci_copy(out, &tmp);
    if (rc && direct && out->data)
        mci_out_fail(out, 0);
    mc_drop(&tmp);
    mc_drop(&v);
    mc_drop(&w);
    return rc;
}

int mci_gather_infer(const mci_job *job, mci_result *r)
{
    switch (job->op->variant) {
    case MCI_GATHER_TAKE: return mci_take_infer(job, r);
    case MCI_GATHER_ALONG: return along_infer(job, 0, r);
    case MCI_GATHER_SEARCH: return search_infer(job, r);
    case MCI_GATHER_NONZERO:
    case MCI_GATHER_BINCOUNT: return mci_by_value(job->op);
    default: return along_infer(job, 1, r);
    }
}

int mci_gather_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                   const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    switch (op->variant) {
    case MCI_GATHER_TAKE: return mci_take(op, outs[0], in[0], in[1], p);
    case MCI_GATHER_ALONG: return along(op, outs[0], in[0], in[1], NULL, p);
    case MCI_GATHER_NONZERO: return nonzero(op, outs[0], in[0], p);
    case MCI_GATHER_SEARCH: return searchsorted(op, outs[0], in[0], in[1], p);
    case MCI_GATHER_BINCOUNT: return bincount(op, outs[0], in[0], nin > 1 ? in[1] : NULL, p);
    default: return along(op, outs[0], in[0], in[1], in[2], p);
    }
}
