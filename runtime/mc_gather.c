/* mc_gather.c - ops that move single elements by position: take, take_along_axis, put_along_axis, nonzero, searchsorted, bincount.
 *
 * Positions arrive in the caller's base (p->base) and may count from the end when negative. All positions are checked before anything
 * is written. Writers run serially in row-major order of the index, so that "the last write wins" and sums are the same every time. */
#include "mc_ops.h"

#include <string.h>

int mci_positions(const char *op, const mc_tensor *index, int64_t n, int base, mc_tensor *pos)
{
    char s[MCI_TEXT];
    int kind = mci_kind(index->dtype);
    if (kind != 'i' && kind != 'u')
        return mci_error(MC_EDTYPE, "%s: positions are %s; give an integer tensor", op, mci_tensor_text(s, sizeof s, index));
    int rc = mci_materialize(pos, index, MC_I64);
    if (rc)
        return rc;
    int64_t *v = pos->data;
    for (int64_t i = 0; i < pos->numel; i++) {
        int64_t k = v[i] < 0 ? v[i] + n : v[i] - base;
        if (k < 0 || k >= n) {
            rc = mci_error(MC_ESHAPE, "%s: position %lld is outside an axis of size %lld (positions count from %d, negative ones from the end)",
                           op, (long long)v[i], (long long)n, base);
            mc_drop(pos);
            return rc;
        }
        v[i] = k;
    }
    return MC_OK;
}

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

/* Slabs of `bytes` picked from or put at positions v[0..k) of an axis of n: t is [outer, n, bytes] and the other side [outer, k, bytes]. */
typedef struct slab_job {
    char *out;
    const char *in;
    const int64_t *v;
    int64_t n, k, bytes, total, step; /* total = outer * k slabs, in tasks of `step` */
} slab_job;

#define PICK(T)                                                                                            \
    do {                                                                                                   \
        T *o = (T *)(void *)j->out;                                                                        \
        const T *x = (const T *)(const void *)j->in + row * j->n;                                          \
        for (; at < stop; at++)                                                                            \
            o[at] = x[j->v[at - row * j->k]];                                                              \
    } while (0)

static void pick_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const slab_job *j = arg;
    int64_t at = begin * j->step, last = end * j->step < j->total ? end * j->step : j->total;
    (void)worker;
    while (at < last) {
        int64_t row = at / j->k, stop = (row + 1) * j->k < last ? (row + 1) * j->k : last;
        switch (j->bytes) {
        case 1: PICK(uint8_t); break;
        case 2: PICK(uint16_t); break;
        case 4: PICK(uint32_t); break;
        case 8: PICK(uint64_t); break;
        default:
            for (; at < stop; at++)
                memcpy(j->out + at * j->bytes, j->in + (row * j->n + j->v[at - row * j->k]) * j->bytes, (size_t)j->bytes);
        }
    }
}

#define SLAB_TASK_BYTES 65536 /* several tasks from 128 KiB on, each long enough to hide its start (about 2 us) */

static int pick(slab_job *j)
{
    j->step = SLAB_TASK_BYTES / (j->bytes > 0 ? j->bytes : 1);
    j->step = j->step > 0 ? j->step : 1;
    return mci_parallel((j->total + j->step - 1) / j->step, pick_task, j);
}

/* out[.., i.., ..] = t[.., pos[i], ..]: the axis is replaced by the shape of the index */
static int take(const mci_op *op, mc_tensor *out, const mc_tensor *t, const mc_tensor *index, const mc_params *p)
{
    char s[MCI_TEXT];
    int axis, given = (out->flags & MC_FLAG_OUT) != 0;
    int rc = mci_axis(op->name, t, p->naxes < 1 ? 0 : p->axes[0], &axis);
    if (rc)
        return rc;
    int nd = t->ndim - 1 + index->ndim;
    if (nd > MC_MAX_RANK)
        return mci_error(MC_ESHAPE, "take: the result of %s would have more than %d axes", mci_tensor_text(s, sizeof s, t), MC_MAX_RANK);
    int64_t shape[MC_MAX_RANK];
    for (int i = 0; i < axis; i++)
        shape[i] = t->shape[i];
    for (int i = 0; i < index->ndim; i++)
        shape[axis + i] = index->shape[i];
    for (int i = axis + 1; i < t->ndim; i++)
        shape[i - 1 + index->ndim] = t->shape[i];
    mc_tensor pos = {0}, tmp = {0}, *target = out;
    if ((rc = mci_positions(op->name, index, t->shape[axis], p->base, &pos)) != 0)
        return rc;
    rc = mci_out(op->name, out, t->dtype, nd, shape);
    if (!rc && given && (mci_overlap(out, t) >= 0 || !mci_contiguous(out))) {
        rc = mc_create(&tmp, t->dtype, nd, shape);
        target = &tmp;
    }
    if (!rc && out->numel > 0) {
        /* one copy per position: [outer, 1, inner] of t into [outer, k, inner] of the result */
        int64_t inner = 1, size = MCI_SIZE(t->dtype), outer = 1;
        for (int i = axis + 1; i < t->ndim; i++)
            inner *= t->shape[i];
        for (int i = 0; i < axis; i++)
            outer *= t->shape[i];
        const int64_t *v = pos.data;
        if (mci_contiguous(t)) {
            slab_job j = {.out = target->data, .in = t->data, .v = v, .n = t->shape[axis], .k = pos.numel, .bytes = inner * size, .total = outer * pos.numel};
            rc = pick(&j);
        } else {
            for (int64_t k = 0; k < pos.numel && !rc; k++) {
                mc_tensor a = *t, b = *t;
                a.data = mci_at(t, v[k] * t->strides[axis]);
                b.data = (char *)target->data + k * inner * size;
                a.shape[axis] = b.shape[axis] = 1;
                a.numel = b.numel = t->numel / t->shape[axis];
                int64_t stride = 1;
                for (int i = t->ndim - 1; i >= 0; i--) {
                    b.strides[i] = stride;
                    stride *= i == axis ? pos.numel : t->shape[i];
                }
                b.flags = 0;
                rc = mc_copy(&b, &a);
            }
        }
    }
    if (!rc && target == &tmp)
        rc = mc_copy(out, &tmp);
    mc_drop(&tmp);
    mc_drop(&pos);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}

/* offset (elements) of the row-major position `flat` of shape under strides, with one axis left out */
static int64_t offset_without(const mc_tensor *index, const int64_t *strides, int axis, int64_t flat)
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

static int along(const mci_op *op, mc_tensor *out, const mc_tensor *t, const mc_tensor *index, const mc_tensor *values, const mc_params *p)
{
    char s1[MCI_TEXT], s2[MCI_TEXT];
    int axis, given = (out->flags & MC_FLAG_OUT) != 0, writes = values != NULL;
    int rc = mci_axis(op->name, t, p->naxes < 1 ? -1 : p->axes[0], &axis);
    if (rc)
        return rc;
    int ok = index->ndim == t->ndim;
    for (int i = 0; ok && i < t->ndim; i++)
        ok = i == axis || index->shape[i] == t->shape[i] || (!writes && t->shape[i] == 1) || (writes && index->shape[i] <= t->shape[i]);
    if (!ok)
        return mci_error(MC_ESHAPE, "%s: index must match x off the axis, x is %s and index is %s", op->name, mci_tensor_text(s1, sizeof s1, t),
                         mci_tensor_text(s2, sizeof s2, index));
    mc_tensor pos = {0}, tmp = {0};
    if ((rc = mci_positions(op->name, index, t->shape[axis], p->base, &pos)) != 0)
        return rc;
    const int64_t *v = pos.data;
    int64_t size = MCI_SIZE(t->dtype);
    if (!writes) {
        rc = mci_out(op->name, out, t->dtype, index->ndim, index->shape);
        if (!rc)
            rc = mc_create(&tmp, t->dtype, index->ndim, index->shape);
        int64_t strides[MC_MAX_RANK];
        for (int i = 0; i < t->ndim; i++)
            strides[i] = t->shape[i] == 1 ? 0 : t->strides[i];
        for (int64_t i = 0; !rc && i < pos.numel; i++)
            copy_element((char *)tmp.data + i * size, mci_at(t, offset_without(&pos, strides, axis, i) + v[i] * t->strides[axis]), size);
        if (!rc)
            rc = mc_copy(out, &tmp);
    } else {
        mc_tensor vb = {0};
        rc = mci_out(op->name, out, t->dtype, t->ndim, t->shape);
        if (!rc)
            rc = mci_materialize(&tmp, t, t->dtype); /* work on a copy: out may be t */
        if (!rc)
            rc = mc_create(&vb, t->dtype, index->ndim, index->shape);
        if (!rc)
            rc = mc_copy(&vb, values);
        const char *w = vb.data;
        for (int64_t i = 0; !rc && i < pos.numel; i++)
            copy_element(mci_at(&tmp, offset_without(&pos, tmp.strides, axis, i) + v[i] * tmp.strides[axis]), w + i * size, size);
        mc_drop(&vb);
        if (!rc)
            rc = mc_copy(out, &tmp);
    }
    mc_drop(&tmp);
    mc_drop(&pos);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}

static int nonzero(const mci_op *op, mc_tensor *out, const mc_tensor *t, const mc_params *p)
{
    mc_tensor mask = {0};
    int rc = mci_materialize(&mask, t, MC_BOOL);
    if (rc)
        return rc;
    const uint8_t *m = mask.data;
    int64_t n = 0, k = 0;
    for (int64_t i = 0; i < mask.numel; i++)
        n += m[i];
    rc = mci_out(op->name, out, MC_I64, 1, &n);
    int64_t *v = out->data, step = out->ndim ? out->strides[0] : 1;
    for (int64_t i = 0; !rc && i < mask.numel; i++)
        if (m[i])
            v[step * k++] = i + p->base;
    mc_drop(&mask);
    return rc;
}

typedef struct search_job {
    const void *sorted, *values;
    int64_t *out;
    int64_t n, per_row, total; /* values per row of sorted */
    int integers, right, base;
} search_job;
#define SEARCH_TASK 4096

/* How many of x[n] stand before y. NaN sorts last. */
#define SEARCH(name, T, below)                                                     \
    static int64_t name(const T *x, int64_t n, T y, int right)                     \
    {                                                                              \
        int64_t lo = 0;                                                            \
        while (n > 0) {                                                            \
            int64_t half = n / 2;                                                  \
            const T v = x[lo + half];                                              \
            int is = below;                                                        \
            lo = is ? lo + half + 1 : lo;                                          \
            n = is ? n - half - 1 : half;                                          \
        }                                                                          \
        return lo;                                                                 \
    }
SEARCH(search_i64, int64_t, right ? v <= y : v < y)
SEARCH(search_f64, double, right ? v <= y || y != y : v < y || (y != y && v == v))

static void search_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const search_job *j = arg;
    (void)end;
    (void)worker;
    int64_t i0 = begin * SEARCH_TASK, i1 = i0 + SEARCH_TASK < j->total ? i0 + SEARCH_TASK : j->total;
    for (int64_t i = i0; i < i1; i++) {
        int64_t at = i / j->per_row * j->n;
        j->out[i] = j->base + (j->integers ? search_i64((const int64_t *)j->sorted + at, j->n, ((const int64_t *)j->values)[i], j->right)
                                           : search_f64((const double *)j->sorted + at, j->n, ((const double *)j->values)[i], j->right));
    }
}

/* One sorted row for all values, or rows [..., n] for values [..., m] of the same leading axes. */
static int searchsorted(const mci_op *op, mc_tensor *out, const mc_tensor *sorted, const mc_tensor *values, const mc_params *p)
{
    char s1[MCI_TEXT], s2[MCI_TEXT];
    mc_tensor a = {0}, b = {0}, tmp = {0};
    int given = (out->flags & MC_FLAG_OUT) != 0, last = sorted->ndim - 1;
    if (sorted->ndim == 0)
        return mci_error(MC_ESHAPE, "searchsorted: the sorted tensor is %s; give it at least one axis", mci_tensor_text(s1, sizeof s1, sorted));
    int fits = sorted->ndim == 1 || sorted->ndim == values->ndim;
    for (int i = 0; fits && sorted->ndim > 1 && i < last; i++)
        fits = sorted->shape[i] == values->shape[i];
    if (!fits)
        return mci_error(MC_ESHAPE, "searchsorted: the sorted tensor is %s and the values are %s; give one sorted row, or one for each row of values",
                         mci_tensor_text(s1, sizeof s1, sorted), mci_tensor_text(s2, sizeof s2, values));
    int integers = mci_kind(sorted->dtype) != 'f' && mci_kind(values->dtype) != 'f', dt = integers ? MC_I64 : MC_F64;
    int rc = mci_materialize(&a, sorted, dt);
    if (!rc)
        rc = mci_materialize(&b, values, dt);
    if (!rc)
        rc = mc_create(&tmp, MC_I64, values->ndim, values->shape);
    if (!rc)
        rc = mci_out(op->name, out, MC_I64, values->ndim, values->shape);
    if (!rc && b.numel > 0) {
        search_job j = {a.data, b.data, tmp.data, sorted->shape[last], sorted->ndim == 1 ? b.numel : values->shape[last], b.numel, integers, (int)p->i[0],
                        p->base};
        rc = mci_parallel((b.numel + SEARCH_TASK - 1) / SEARCH_TASK, search_task, &j);
        if (!rc)
            rc = mc_copy(out, &tmp);
        if (rc)
            mci_out_fail(out, given);
    }
    mc_drop(&a);
    mc_drop(&b);
    mc_drop(&tmp);
    return rc;
}

static int bincount(const mci_op *op, mc_tensor *out, const mc_tensor *t, const mc_tensor *weights, const mc_params *p)
{
    char s1[MCI_TEXT], s2[MCI_TEXT];
    mc_tensor v = {0}, w = {0};
    int kind = mci_kind(t->dtype);
    if (t->ndim != 1 || (kind != 'i' && kind != 'u'))
        return mci_error(MC_ESHAPE, "bincount: x is %s; give integers along one axis", mci_tensor_text(s1, sizeof s1, t));
    if (weights && (weights->ndim != 1 || weights->shape[0] != t->shape[0]))
        return mci_error(MC_ESHAPE, "bincount: weights must match x, x is %s and weights is %s", mci_tensor_text(s1, sizeof s1, t),
                         mci_tensor_text(s2, sizeof s2, weights));
    int rc = mci_materialize(&v, t, MC_I64);
    if (!rc && weights)
        rc = mci_materialize(&w, weights, MC_F64);
    int64_t n = p->i[0] > 0 ? p->i[0] : 0;
    const int64_t *x = v.data;
    for (int64_t i = 0; !rc && i < v.numel; i++) {
        if (x[i] < 0)
            rc = mci_error(MC_EINVAL, "bincount: value %lld is negative; shift the values first", (long long)x[i]);
        if (x[i] >= n)
            n = x[i] + 1;
    }
    mc_tensor tmp = {0};
    int dt = weights ? MC_F64 : MC_I64;
    if (!rc)
        rc = mc_create(&tmp, dt, 1, &n);
    if (!rc)
        rc = mc_fill(&tmp, 0, 0);
    for (int64_t i = 0; !rc && i < v.numel; i++) {
        if (weights)
            ((double *)tmp.data)[x[i]] += ((const double *)w.data)[i];
        else
            ((int64_t *)tmp.data)[x[i]]++;
    }
    if (!rc)
        rc = mci_out(op->name, out, dt, 1, &n);
    if (!rc)
        rc = mc_copy(out, &tmp);
    mc_drop(&tmp);
    mc_drop(&v);
    mc_drop(&w);
    return rc;
}

int mci_gather_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    (void)nin;
    switch (op->id) {
    case MC_OP_TAKE: return take(op, outs[0], in[0], in[1], p);
    case MC_OP_TAKE_ALONG_AXIS: return along(op, outs[0], in[0], in[1], NULL, p);
    case MC_OP_NONZERO_FLAT: return nonzero(op, outs[0], in[0], p);
    case MC_OP_SEARCHSORTED: return searchsorted(op, outs[0], in[0], in[1], p);
    case MC_OP_BINCOUNT: return bincount(op, outs[0], in[0], NULL, p);
    case MC_OP_BINCOUNT_WEIGHTED: return bincount(op, outs[0], in[0], in[1], p);
    default: return along(op, outs[0], in[0], in[1], in[2], p);
    }
}

#define PUT(T)                                                          \
    do {                                                                \
        T *x = (T *)(void *)base;                                       \
        const T *w = (const T *)(const void *)from;                     \
        for (int64_t k = 0; k < pos->numel; k++)                        \
            x[v[k]] = w[k];                                             \
    } while (0)

/* The same with everything contiguous: values [outer, k, inner] into dst [outer, n, inner], serially, so that the last write wins and
 * sums run in order. */
static int put_contiguous(mc_tensor *dst, int axis, const mc_tensor *pos, const mc_tensor *val, mck_ewise_fn add)
{
    int64_t inner = 1, outer = 1, size = MCI_SIZE(dst->dtype), n = dst->shape[axis];
    const int64_t *v = pos->data;
    for (int i = 0; i < dst->ndim; i++) {
        if (i < axis)
            outer *= dst->shape[i];
        else if (i > axis)
            inner *= dst->shape[i];
    }
    int64_t bytes = inner * size;
    for (int64_t o = 0; o < outer; o++) {
        char *base = (char *)dst->data + o * n * bytes;
        const char *from = (const char *)val->data + o * pos->numel * bytes;
        if (add) {
            for (int64_t k = 0; k < pos->numel; k++) {
                char *at = base + v[k] * bytes;
                mck_ewise job = {.n = inner, .out = at, .in = {at, from + k * bytes}, .stride = {1, 1}};
                add(&job);
            }
        } else if (bytes == 1) {
            PUT(uint8_t);
        } else if (bytes == 2) {
            PUT(uint16_t);
        } else if (bytes == 4) {
            PUT(uint32_t);
        } else if (bytes == 8) {
            PUT(uint64_t);
        } else {
            for (int64_t k = 0; k < pos->numel; k++)
                memcpy(base + v[k] * bytes, from + k * bytes, (size_t)bytes);
        }
        if (mc_cancel_pending())
            return mci_error(MC_ECANCELLED, "index: interrupted; the tensor is written in part");
    }
    return MC_OK;
}

/* dst along one axis at pos (1-based, checked) = or += values, broadcast to the shape of taking. */
int mc_put(mc_tensor *dst, int axis, const mc_tensor *index, const mc_tensor *values, int accumulate)
{
    char s1[MCI_TEXT], s2[MCI_TEXT];
    if (mci_check_live("index", dst) || mci_check_live("index", index) || mci_check_live("index", values))
        return mc_errstatus();
    if (axis < 0 || axis >= dst->ndim)
        return mci_error(MC_ESHAPE, "index: the axis is outside %s", mci_tensor_text(s1, sizeof s1, dst));
    int nd = dst->ndim - 1 + index->ndim;
    if (nd > MC_MAX_RANK || values->ndim > nd)
        return mci_error(MC_ESHAPE, "index: values %s do not fit positions %s", mci_tensor_text(s1, sizeof s1, values), mci_tensor_text(s2, sizeof s2, index));
    if (dst->flags & MC_FLAG_READONLY)
        return mci_error(MC_EINVAL, "index: the tensor is read-only (a mapped file or a broadcast view); copy it first");
    mc_tensor pos = {0}, val = {0};
    int64_t shape[MC_MAX_RANK];
    for (int i = 0; i < axis; i++)
        shape[i] = dst->shape[i];
    for (int i = 0; i < index->ndim; i++)
        shape[axis + i] = index->shape[i];
    for (int i = axis + 1; i < dst->ndim; i++)
        shape[i - 1 + index->ndim] = dst->shape[i];
    int rc = mci_positions("index", index, dst->shape[axis], 1, &pos);
    if (!rc)
        rc = mc_create(&val, dst->dtype, nd, shape);
    if (!rc)
        rc = mc_copy(&val, values);
    const mci_op *op = &mci_ops[MC_OP_ADD];
    if (!rc && accumulate && op->compute[dst->dtype] < 0)
        rc = mci_error(MC_EDTYPE, "index: %s has no sums; convert it with :to first", mci_tensor_text(s1, sizeof s1, dst));
    if (!rc && mci_contiguous(dst) && val.numel > 0 && (!accumulate || op->compute[dst->dtype] == dst->dtype)) {
        rc = put_contiguous(dst, axis, &pos, &val, accumulate ? (mck_ewise_fn)mci_kernel_get(MCK_K_ADD, dst->dtype) : NULL);
        mc_drop(&val);
        mc_drop(&pos);
        return rc;
    }
    const int64_t *v = pos.data;
    int64_t inner = 1;
    for (int i = axis + 1; i < dst->ndim; i++)
        inner *= dst->shape[i];
    for (int64_t k = 0; k < pos.numel && !rc; k++) {
        mc_tensor a = *dst, b = val;
        /* both with the axis dropped: one slab of dst, one of the values */
        a.ndim = dst->ndim - 1;
        b.ndim = a.ndim;
        int64_t stride = 1;
        for (int i = dst->ndim - 1, j = a.ndim - 1; i >= 0; i--) {
            if (i == axis) {
                stride *= pos.numel;
                continue;
            }
            a.shape[j] = b.shape[j] = dst->shape[i];
            a.strides[j] = dst->strides[i];
            b.strides[j] = stride;
            stride *= dst->shape[i];
            j--;
        }
        a.numel = b.numel = dst->shape[axis] ? dst->numel / dst->shape[axis] : 0;
        a.data = mci_at(dst, v[k] * dst->strides[axis]);
        b.data = (char *)val.data + k * inner * MCI_SIZE(val.dtype);
        if (accumulate) {
            const mc_tensor *in[2] = {&a, &b};
            mc_tensor out = a, *o = &out;
            out.flags = MC_FLAG_OUT;
            rc = op->run(op, 1, &o, 2, in, NULL);
        } else {
            rc = mc_copy(&a, &b);
        }
    }
    mc_drop(&val);
    mc_drop(&pos);
    return rc;
}
