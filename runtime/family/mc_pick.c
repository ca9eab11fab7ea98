/* mc_pick.c - whole slabs by position along one axis: positions checked, take, and what x[key] = v
 * comes down to.
 *
 * Positions stay in the caller's base and are turned into places where they are used, so that they
 * need no copy of their own. Reading is parallel; writing is serial in the order of the positions,
 * so that the last write of a place wins and sums are the same every time. */
#include "family/mc_bind.h"
#include "record/mc_record.h"
#include "../../kernels/mck_ewise.h"

#include <string.h>

#define CHECK_TASK 65536 /* positions per task: about 30 us, well above the 2 us a task costs */

typedef struct check_job {
    const int64_t *v;
    int64_t count, n, base;
    _Atomic int bad;
} check_job;

static void check_task(void *arg, int64_t begin, int64_t end, int worker)
{
    check_job *j = arg;
    int64_t last = end * CHECK_TASK < j->count ? end * CHECK_TASK : j->count, bad = 0;
    (void)worker;
    /* [-n, n - 1], or [-n, n] without 0 */
    const uint64_t n = (uint64_t)j->n, count = 2 * n + (j->base == 1);
    const int64_t never = j->base == 0 ? INT64_MIN : 0;
    for (int64_t i = begin * CHECK_TASK; i < last; i++)
        bad |= ((uint64_t)j->v[i] + n >= count) | (j->v[i] == never);
    if (bad)
        j->bad = 1;
}

void mci_places_drop(mci_places *p) { mc_drop(&p->tmp); }

int mci_check_positions(const char *op, const mc_tensor *index)
{
    char s[MCI_TEXT];
    const int kind = mci_kind(index->dtype);
    return kind == 'i' || kind == 'u'
               ? MC_OK
               : mci_error(MC_EDTYPE, "%s: positions are %s; give an integer tensor", op,
                           mci_tensor_text(s, sizeof s, index));
}

int mci_places_of(const char *op, const mc_tensor *index, int64_t n, int base, mci_places *p)
{
    int rc = mci_check_positions(op, index);
    *p = (mci_places){.v = index->data, .count = index->numel, .n = n, .base = base};
    if (rc)
        return rc;
    if (index->dtype != MC_I64 || !mci_contiguous(index)) {
        if ((rc = mci_materialize(&p->tmp, index, MC_I64)) != 0)
            return rc;
        p->v = p->tmp.data;
    }
    check_job j = {.v = p->v, .count = p->count, .n = n, .base = base};
    rc = mci_parallel((p->count + CHECK_TASK - 1) / CHECK_TASK, check_task, &j);
    for (int64_t i = 0; !rc && j.bad; i++) {
        int64_t k = p->v[i], at = MCI_PLACE(k, n, base);
        if (at < 0 || at >= n)
            rc = mci_error(MC_ESHAPE,
                           "%s: position %lld is outside an axis of size %lld (positions count "
                           "from %d, negative ones from the end)",
                           op, (long long)k, (long long)n, base);
    }
    if (rc)
        mci_places_drop(p);
    return rc;
}

int mci_positions(const char *op, const mc_tensor *index, int64_t n, int base, mc_tensor *pos)
{
    mci_places p;
    int rc = mci_places_of(op, index, n, base, &p);
    if (rc)
        return rc;
    if (!p.tmp.data)
        rc = mci_materialize(pos, index, MC_I64);
    else
        *pos = p.tmp; /* the copy changes hands */
    int64_t *v = pos->data;
    for (int64_t i = 0; !rc && i < p.count; i++)
        v[i] = MCI_PLACE(v[i], n, base);
    return rc;
}

/* Slabs of `bytes` picked at positions v[0..k) of an axis of n: t is [outer, n, bytes], the result
 * [outer, k, bytes]. */
typedef struct slab_job {
    char *out;
    const char *in;
    const int64_t *v;
    int64_t n, base, k, bytes, total, step; /* total = outer * k slabs, in tasks of `step` */
} slab_job;

#define PICK(T)                                                   \
    do {                                                          \
        T *o = (T *)(void *)j->out;                               \
        const T *x = (const T *)(const void *)j->in + row * j->n; \
        const int64_t *v = j->v - row * j->k;                     \
        for (; at < stop; at++)                                   \
            o[at] = x[MCI_PLACE(v[at], n, base)];                 \
    } while (0)

static void pick_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const slab_job *j = arg;
    int64_t at = begin * j->step, last = end * j->step < j->total ? end * j->step : j->total;
    /* locals, since what is written might be the job itself for all the compiler knows */
    const int64_t n = j->n, base = j->base;
    (void)worker;
    while (at < last) {
        int64_t row = at / j->k, stop = (row + 1) * j->k < last ? (row + 1) * j->k : last;
        switch (j->bytes) {
        case 1: PICK(uint8_t); break;
        case 2: PICK(uint16_t); break;
        case 4: PICK(uint32_t); break;
        case 8: PICK(uint64_t); break;
        default:
            for (; at < stop; at++) {
                int64_t k = j->v[at - row * j->k];
                memcpy(j->out + at * j->bytes,
                       j->in + (row * j->n + MCI_PLACE(k, j->n, j->base)) * j->bytes,
                       (size_t)j->bytes);
            }
        }
    }
}

/* several tasks from 128 KiB on, each long enough to hide its start (about 2 us) */
#define SLAB_TASK_BYTES 65536

static int pick(slab_job *j)
{
    j->step = SLAB_TASK_BYTES / (j->bytes > 0 ? j->bytes : 1);
    j->step = j->step > 0 ? j->step : 1;
    return mci_parallel((j->total + j->step - 1) / j->step, pick_task, j);
}

/* out[.., i.., ..] = t[.., pos[i], ..]: the axis is replaced by the shape of the index */
int mci_take_infer(const mci_job *job, mci_result *r)
{
    const mc_tensor *t = job->in[0], *index = job->in[1];
    const mc_params *p = job->params;
    char s[MCI_TEXT];
    int axis, rc = mci_axis(job->op->name, t, p->naxes < 1 ? 0 : p->axes[0], &axis);
    rc = rc ? rc : mci_check_positions(job->op->name, index);
    if (rc)
        return rc;
    if (t->ndim - 1 + index->ndim > MC_MAX_RANK)
        return mci_error(MC_ESHAPE, "take: the result of %s would have more than %d axes",
                         mci_tensor_text(s, sizeof s, t), MC_MAX_RANK);
    r->nout = 1;
    r->compute = -1;
    r->dtype[0] = t->dtype;
    r->ndim[0] = t->ndim - 1 + index->ndim;
    memcpy(r->shape[0], t->shape, sizeof *t->shape * (size_t)axis);
    memcpy(r->shape[0] + axis, index->shape, sizeof *index->shape * (size_t)index->ndim);
    memcpy(r->shape[0] + axis + index->ndim, t->shape + axis + 1,
           sizeof *t->shape * (size_t)(t->ndim - axis - 1));
    return MC_OK;
}

int mci_take(const mci_op *op, mc_tensor *out, const mc_tensor *t, const mc_tensor *index,
             const mc_params *p)
{
    const int given = (out->flags & MC_FLAG_OUT) != 0;
    int axis;
    mci_result r;
    int rc = mci_take_infer(&(mci_job){ op, p, 2, (const mc_tensor *const[]){ t, index }, 1 }, &r);
    if (rc || (rc = mci_axis(op->name, t, p->naxes < 1 ? 0 : p->axes[0], &axis)) != 0)
        return rc;
    const int nd = r.ndim[0];
    const int64_t *shape = r.shape[0];
    mc_tensor tmp = {0}, *target = out;
    mci_places pos;
    if ((rc = mci_places_of(op->name, index, t->shape[axis], p->base, &pos)) != 0)
        return rc;
    rc = mci_out(op->name, out, t->dtype, nd, shape);
    if (!rc && given &&
        (mci_overlap(out, t) >= 0 || mci_overlap(out, index) >= 0 || !mci_contiguous(out))) {
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
        if (mci_contiguous(t)) {
            slab_job j = { .out = target->data,
                           .in = t->data,
                           .v = pos.v,
                           .n = pos.n,
                           .base = pos.base,
                           .k = pos.count,
                           .bytes = inner * size,
                           .total = outer * pos.count };
            rc = pick(&j);
        } else {
            for (int64_t k = 0; k < pos.count && !rc; k++) {
                mc_tensor a = *t, b = *t;
                a.data = mci_at(t, MCI_PLACE(pos.v[k], pos.n, pos.base) * t->strides[axis]);
                b.data = (char *)target->data + k * inner * size;
                a.shape[axis] = b.shape[axis] = 1;
                a.numel = b.numel = t->numel / t->shape[axis];
                int64_t stride = 1;
                for (int i = t->ndim - 1; i >= 0; i--) {
                    b.strides[i] = stride;
                    stride *= i == axis ? pos.count : t->shape[i];
                }
                b.flags = 0;
                rc = mci_copy(&b, &a);
            }
        }
    }
    if (!rc && target == &tmp)
        rc = mci_copy(out, &tmp);
    mc_drop(&tmp);
    mci_places_drop(&pos);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}

#define PUT(T, sign)                                                    \
    do {                                                                \
        T *x = (T *)(void *)base;                                       \
        const T *w = (const T *)(const void *)from;                     \
        for (int64_t k = k0; k < k1; k++)                               \
            x[MCI_PLACE(v[k], n, first)] sign w[k];                     \
    } while (0)

#define PUT_BLOCK 1048576 /* positions between two looks at Ctrl-C: a few ms */

/* Sums at positions k0..k1 of one row; single elements of the common dtypes in a loop of their own,
 * integers in the unsigned type, so that they wrap around. */
static void put_sums(char *base, const char *from, const mci_places *pos, int64_t k0, int64_t k1,
                     int dtype, int64_t inner, mck_ewise_fn add)
{
    const int64_t *v = pos->v, n = pos->n, first = pos->base;
    int64_t bytes = inner * MCI_SIZE(dtype);
    if (inner == 1 && dtype == MC_F64) {
        PUT(double, +=);
    } else if (inner == 1 && dtype == MC_F32) {
        PUT(float, +=);
    } else if (inner == 1 && dtype == MC_I64) {
        PUT(uint64_t, +=);
    } else if (inner == 1 && dtype == MC_I32) {
        PUT(uint32_t, +=);
    } else {
        for (int64_t k = k0; k < k1; k++) {
            char *at = base + MCI_PLACE(v[k], n, first) * bytes;
            mck_ewise job = {.n = inner, .out = at, .in = {at, from + k * bytes}, .stride = {1, 1}};
            add(&job);
        }
    }
}

/* Values [outer, k, inner] at positions of dst [outer, n, inner], all contiguous. add: NULL to
 * write. */
static int put_contiguous(mc_tensor *dst, int axis, const mci_places *pos, const char *values,
                          mck_ewise_fn add)
{
    int64_t inner = 1, outer = 1, size = MCI_SIZE(dst->dtype);
    const int64_t *v = pos->v, n = pos->n, first = pos->base, count = pos->count;
    for (int i = 0; i < dst->ndim; i++) {
        if (i < axis)
            outer *= dst->shape[i];
        else if (i > axis)
            inner *= dst->shape[i];
    }
    int64_t bytes = inner * size;
    int64_t blocks = (count + PUT_BLOCK - 1) / PUT_BLOCK;
    for (int64_t task = 0; task < outer * blocks; task++) {
        int64_t o = task / blocks, k0 = task % blocks * PUT_BLOCK,
                k1 = k0 + PUT_BLOCK < count ? k0 + PUT_BLOCK : count;
        char *base = (char *)dst->data + o * n * bytes;
        const char *from = values + o * count * bytes;
        if (add) {
            put_sums(base, from, pos, k0, k1, dst->dtype, inner, add);
        } else if (bytes == 1) {
            PUT(uint8_t, =);
        } else if (bytes == 2) {
            PUT(uint16_t, =);
        } else if (bytes == 4) {
            PUT(uint32_t, =);
        } else if (bytes == 8) {
            PUT(uint64_t, =);
        } else {
            for (int64_t k = k0; k < k1; k++)
                memcpy(base + MCI_PLACE(v[k], n, first) * bytes, from + k * bytes, (size_t)bytes);
        }
        if (mc_cancel_pending())
            return mci_error(MC_ECANCELLED, "index: interrupted; the tensor is written in part");
    }
    return MC_OK;
}

/* The same for any layout and for dtypes whose sums run in another: slab by slab. */
static int put_slabs(mc_tensor *dst, int axis, const mci_places *pos, const mc_tensor *val,
                     int accumulate)
{
    const mci_op *op = &mci_ops[MC_OP_ADD];
    int64_t inner = 1;
    int rc = MC_OK;
    for (int i = axis + 1; i < dst->ndim; i++)
        inner *= dst->shape[i];
    for (int64_t k = 0; k < pos->count && !rc; k++) {
        mc_tensor a = *dst, b = *val;
        /* both with the axis dropped: one slab of dst, one of the values */
        a.ndim = dst->ndim - 1;
        b.ndim = a.ndim;
        int64_t stride = 1;
        for (int i = dst->ndim - 1, j = a.ndim - 1; i >= 0; i--) {
            if (i == axis) {
                stride *= pos->count;
                continue;
            }
            a.shape[j] = b.shape[j] = dst->shape[i];
            a.strides[j] = dst->strides[i];
            b.strides[j] = stride;
            stride *= dst->shape[i];
            j--;
        }
        a.numel = b.numel = dst->shape[axis] ? dst->numel / dst->shape[axis] : 0;
        a.data = mci_at(dst, MCI_PLACE(pos->v[k], pos->n, pos->base) * dst->strides[axis]);
        b.data = (char *)val->data + k * inner * MCI_SIZE(val->dtype);
        if (accumulate) {
            const mc_tensor *in[2] = {&a, &b};
            mc_tensor out = a, *o = &out;
            out.flags = MC_FLAG_OUT;
            rc = op->run(op, 1, &o, 2, in, NULL);
        } else {
            rc = mci_copy(&a, &b);
        }
    }
    return rc;
}

/* Through a contiguous copy of dst in the dtype of the arithmetic: for many positions cheaper than
 * a slab each. */
static int put_through_copy(mc_tensor *dst, int axis, const mci_places *pos,
                            const mc_tensor *values, int wide, mck_ewise_fn add)
{
    mc_tensor tmp = {0}, val = {0};
    int rc = mci_materialize(&tmp, dst, wide);
    if (!rc && values->dtype != wide) {
        rc = mci_materialize(&val, values, wide);
        values = &val;
    }
    if (!rc)
        rc = put_contiguous(&tmp, axis, pos, values->data, add);
    if (!rc)
        rc = mci_copy(dst, &tmp);
    mc_drop(&val);
    mc_drop(&tmp);
    return rc;
}

/* below this share of dst its slabs are written one by one (100 ns each, against 1 ns per element
 * of a copy) */
#define SLAB_SHARE 64

/* dst along one axis at positions (1-based) = or += values, broadcast to the shape of taking. */
static int put_run(mci_put_fn on_device, mc_tensor *dst, int axis, const mc_tensor *index,
                   const mc_tensor *values, int accumulate);

int mci_put_exec(const mci_job *job, const mci_result *r, mc_tensor *const *out)
{
    (void)r;
    return put_run(NULL, out[0], (int)job->params->axes[0], job->in[0], job->in[1],
                   job->params->i[0] != 0);
}

int mci_put_by(mci_put_fn on_device, mc_tensor *dst, int axis, const mc_tensor *index,
               const mc_tensor *values, int accumulate)
{
    if (MC_LIKELY(!mci_recording)) return put_run(on_device, dst, axis, index, values, accumulate);
    const mc_tensor *in[2] = {index, values};
    int logged = mci_record_write_begin(dst, 2, in);
    if (logged < 0) return mc_errstatus();
    int rc = put_run(on_device, dst, axis, index, values, accumulate);
    return logged ? mci_record_write_end(logged, MC_RECORD_PUT, dst, 2, in, axis, accumulate, rc)
                  : rc;
}

static int put_run(mci_put_fn on_device, mc_tensor *dst, int axis, const mc_tensor *index,
                   const mc_tensor *values, int accumulate)
{
    char s1[MCI_TEXT], s2[MCI_TEXT];
    const mci_op *op = &mci_ops[MC_OP_ADD];
    if (mci_check_released("index", dst) || mci_check_released("index", index) ||
        mci_check_released("index", values))
        return mc_errstatus();
    if (dst->device != index->device && !(index->flags & MCI_WEAK))
        return mci_mixed_target("index", index, dst);
    if (dst->device != values->device && !(values->flags & MCI_WEAK))
        return mci_mixed_target("index", values, dst);
    if (axis < 0 || axis >= dst->ndim)
        return mci_error(MC_ESHAPE, "index: the axis is outside %s",
                         mci_tensor_text(s1, sizeof s1, dst));
    int nd = dst->ndim - 1 + index->ndim;
    if (nd > MC_MAX_RANK || values->ndim > nd)
        return mci_error(MC_ESHAPE, "index: values %s do not fit positions %s",
                         mci_tensor_text(s1, sizeof s1, values),
                         mci_tensor_text(s2, sizeof s2, index));
    if (dst->flags & MC_FLAG_READONLY)
        return mci_error(
            MC_EINVAL,
            "index: the tensor is read-only (a mapped file or a broadcast view); copy it first");
    if (accumulate && op->compute[dst->dtype] < 0)
        return mci_error(MC_EDTYPE, "index: %s has no sums; convert it with :to first",
                         mci_tensor_text(s1, sizeof s1, dst));
    mc_tensor val = {0};
    mci_places pos;
    int64_t shape[MC_MAX_RANK];
    for (int i = 0; i < axis; i++)
        shape[i] = dst->shape[i];
    for (int i = 0; i < index->ndim; i++)
        shape[axis + i] = index->shape[i];
    for (int i = axis + 1; i < dst->ndim; i++)
        shape[i - 1 + index->ndim] = dst->shape[i];
    for (int i = 1; i <= values->ndim; i++)
        if (values->shape[values->ndim - i] != 1 &&
            values->shape[values->ndim - i] != shape[nd - i])
            return mci_error(MC_ESHAPE,
                             "index: values %s do not fit the shape [%s] of what the key takes; "
                             "shapes must be equal or broadcast",
                             mci_tensor_text(s1, sizeof s1, values),
                             mci_shape_text(s2, sizeof s2, nd, shape));
    int rc = mci_check_positions("index", index);
    if (rc) return rc;
    if (mci_hollow(dst) || mci_hollow(index) || mci_hollow(values)) return MC_OK;
    if (dst->device)
        return on_device ? on_device(dst, axis, index, values, accumulate)
                         : mci_error(MC_EINTERNAL, "index: a driver was given memory of a device");
    rc = mci_places_of("index", index, dst->shape[axis], 1, &pos);
    if (rc)
        return rc;
    /* values as they are where they lie contiguous in dst's dtype and apart from it */
    int ready = values->dtype == dst->dtype && values->ndim == nd && mci_contiguous(values) &&
                mci_overlap(dst, values) < 0;
    for (int i = 0; ready && i < nd; i++)
        ready = values->shape[i] == shape[i];
    if (!ready) {
        rc = mc_create(&val, dst->dtype, nd, shape);
        if (!rc)
            rc = mci_copy(&val, values);
        values = &val;
    }
    if (!rc && !pos.tmp.data && mci_overlap(dst, index) >= 0) {
        /* positions that are being written */
        rc = mci_materialize(&pos.tmp, index, MC_I64);
        pos.v = pos.tmp.data;
    }
    if (!rc && values->numel > 0) {
        int wide = accumulate ? op->compute[dst->dtype] : dst->dtype;
        mck_ewise_fn add = accumulate ? (mck_ewise_fn)mci_kernel_get(op->kernel, wide) : NULL;
        if (mci_contiguous(dst) && wide == dst->dtype)
            rc = put_contiguous(dst, axis, &pos, values->data, add);
        else if (values->numel < dst->numel / SLAB_SHARE)
            rc = put_slabs(dst, axis, &pos, values, accumulate);
        else
            rc = put_through_copy(dst, axis, &pos, values, wide, add);
    }
    mc_drop(&val);
    mci_places_drop(&pos);
    return rc;
}
