/* mc_layout.c - ops that only move whole slabs: concat, stack, roll, triangles.
 *
 * Each input becomes a copy into a view of the result; no arithmetic, so every dtype works and
 * conversion comes with mc_copy. */
#include "record/mc_record.h"
#include "family/mc_family.h"

#include <string.h>

/* The axis of a join within its result. */
static int join_axis(const mci_job *job, int nd)
{
    int64_t a = job->params->naxes < 1 ? 0 : job->params->axes[0];
    return (int)(a < 0 ? a + nd : a);
}

static int join_infer(const mci_job *job, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_tensor *const *in = job->in;
    const int nin = job->nin, stack = op->joins;
    char s1[MCI_TEXT], s2[MCI_TEXT];
    if (nin < 1)
        return mci_error(MC_ESHAPE, "%s: the list is empty; give at least one tensor", op->name);
    int dtype = in[0]->dtype, nd = in[0]->ndim + stack;
    if (nd < 1 || nd > MC_MAX_RANK)
        return mci_error(MC_ESHAPE, "%s: the result would have %d axes; reshape the operands first",
                         op->name, nd);
    const int axis = join_axis(job, nd);
    if (axis < 0 || axis >= nd)
        return mci_error(MC_ESHAPE,
                         "%s: the axis is outside a result of %d axes; first operand is %s",
                         op->name, nd, mci_tensor_text(s1, sizeof s1, in[0]));
    int64_t total = 0;
    for (int k = 0; k < nin; k++) {
        const mc_tensor *t = in[k];
        int ok = t->ndim == in[0]->ndim;
        for (int i = 0; ok && i < t->ndim; i++)
            ok = t->shape[i] == in[0]->shape[i] || (!stack && i == axis);
        if (!ok)
            return mci_error(MC_ESHAPE,
                             "%s: shapes differ off the axis, operand 1 is %s and operand %d is %s",
                             op->name, mci_tensor_text(s1, sizeof s1, in[0]), k + 1,
                             mci_tensor_text(s2, sizeof s2, t));
        dtype = mc_promote_types(dtype, t->dtype);
        total += stack ? 1 : t->shape[axis];
    }
    for (int i = 0, j = 0; i < nd; i++)
        r->shape[0][i] = i == axis ? total : in[0]->shape[stack ? j++ : i];
    r->dtype[0] = dtype;
    r->ndim[0] = nd;
    return MC_OK;
}

static int join(const mci_op *op, mc_tensor *out, int nin, const mc_tensor *const *in,
                const mc_params *p)
{
    const int stack = op->joins, given = (out->flags & MC_FLAG_OUT) != 0;
    const mci_job job = { op, p, nin, in, 1 };
    mci_result r;
    int rc = mci_layout_infer(&job, &r);
    if (rc || (rc = mci_out(op->name, out, r.dtype[0], r.ndim[0], r.shape[0])) != 0)
        return rc;
    const int nd = r.ndim[0], axis = join_axis(&job, nd);
    for (int k = 0; given && k < nin; k++)
        if (mci_overlap(out, in[k]) >= 0)
            return mci_error(MC_EINVAL,
                             "%s: out shares memory with operand %d; give a tensor of its own",
                             op->name, k + 1);
    int64_t at = 0;
    for (int k = 0; k < nin && !rc; k++) {
        mc_tensor v = *out;
        v.data = mci_at(out, at * out->strides[axis]);
        int64_t size = stack ? 1 : in[k]->shape[axis];
        if (stack) {
            for (int i = axis; i + 1 < nd; i++) {
                v.shape[i] = v.shape[i + 1];
                v.strides[i] = v.strides[i + 1];
            }
            v.ndim--;
        } else {
            v.shape[axis] = size;
        }
        v.numel = in[k]->numel;
        rc = mci_copy(&v, in[k]);
        at += size;
    }
    if (rc)
        mci_out_fail(out, given);
    return rc;
}

/* Shifts of a roll per axis, reduced to [0, size): i[0] of them from i[1] on, one for each named
 * axis or one for all. Without axes the tensor is one row, which all shifts move. */
int mci_roll_shifts(const mci_op *op, const mc_tensor *t, const mc_params *p, int64_t *shift)
{
    char s[MCI_TEXT];
    int64_t given = p->i[0];
    memset(shift, 0, MC_MAX_RANK * sizeof *shift);
    if (p->naxes < 1) {
        for (int64_t k = 0; t->numel > 0 && k < given; k++)
            shift[0] = (shift[0] + p->i[1 + k] % t->numel + t->numel) % t->numel;
        return MC_OK;
    }
    if (given != 1 && given != p->naxes)
        return mci_error(MC_ESHAPE,
                         "%s: %lld shifts for %d axes of %s; give one shift, or one for each axis",
                         op->name, (long long)given, p->naxes, mci_tensor_text(s, sizeof s, t));
    for (int k = 0; k < p->naxes; k++) {
        int axis;
        int rc = mci_axis(op->name, t, p->axes[k], &axis);
        if (rc)
            return rc;
        int64_t n = t->shape[axis];
        if (n > 0)
            shift[axis] = (shift[axis] + p->i[given == 1 ? 1 : 1 + k] % n + n) % n;
    }
    return MC_OK;
}

static int roll(const mci_op *op, mc_tensor *out, const mc_tensor *t, const mc_params *p)
{
    int given = (out->flags & MC_FLAG_OUT) != 0;
    int64_t shift[MC_MAX_RANK];
    mc_tensor flat = {0}, src = *t;
    int rc = mci_roll_shifts(op, t, p, shift);
    if (rc || (rc = mci_out(op->name, out, t->dtype, t->ndim, t->shape)) != 0 || t->numel == 0)
        return rc;
    mc_tensor dst = *out;
    mc_tensor tmp = {0};
    int over = given && mci_overlap(out, t) >= 0;
    if (p->naxes < 1 && (!mci_contiguous(t) || over)) {
        rc = mci_materialize(&flat, t, t->dtype);
        src = flat;
    }
    if (!rc && ((p->naxes < 1 && !mci_contiguous(out)) || (p->naxes >= 1 && over))) {
        rc = mc_create(&tmp, t->dtype, t->ndim, t->shape);
        dst = tmp;
    }
    if (p->naxes < 1) {
        src.ndim = dst.ndim = 1;
        src.shape[0] = dst.shape[0] = t->numel;
        src.strides[0] = dst.strides[0] = 1;
    }
    /* each moved axis falls into two parts: one copy per combination; bit i of `part`: the part of
     * axis i that comes in at its front */
    for (unsigned part = 0; part < 1u << src.ndim && !rc; part++) {
        mc_tensor a = src, b = dst;
        int64_t from = 0, to = 0;
        a.numel = 1;
        for (int i = 0; i < src.ndim; i++) {
            int front = (part >> i & 1) != 0;
            int64_t n = src.shape[i], k = shift[i], size = front ? k : n - k;
            a.shape[i] = b.shape[i] = size;
            from += (front ? n - k : 0) * src.strides[i];
            to += (front ? 0 : k) * dst.strides[i];
            a.numel *= size;
        }
        b.numel = a.numel;
        a.data = mci_at(&src, from);
        b.data = mci_at(&dst, to);
        if (a.numel > 0)
            rc = mci_copy(&b, &a);
    }
    if (!rc && tmp.data)
        rc = mci_copy(out, &tmp);
    mc_drop(&tmp);
    mc_drop(&flat);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}

typedef struct triangle_job {
    mc_tensor out, in;
    mci_cast_fn fn;
    /* rows of one matrix; rows of all of them that make a task */
    int64_t rows, cols, k, size, step;
    int lower;
} triangle_job;

#define TRIANGLE_TASK 65536 /* elements */

static void triangle_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const triangle_job *j = arg;
    const int nd = j->in.ndim;
    const int64_t all = j->out.numel / j->cols, last = end * j->step < all ? end * j->step : all;
    (void)worker;
    for (int64_t r = begin * j->step; r < last; r++) {
        int64_t rest = r, off = 0, cut = r % j->rows + j->k + j->lower;
        for (int i = nd - 2; i >= 0; i--) {
            off += rest % j->in.shape[i] * j->in.strides[i];
            rest /= j->in.shape[i];
        }
        cut = cut < 0 ? 0 : cut > j->cols ? j->cols : cut;
        char *row = (char *)j->out.data + r * j->cols * j->size;
        const int64_t from = j->lower ? 0 : cut, to = j->lower ? cut : j->cols;
        memset(row, 0, (size_t)(from * j->size));
        j->fn(to - from, row + from * j->size, 1,
              mci_at(&j->in, off + from * j->in.strides[nd - 1]), j->in.strides[nd - 1]);
        memset(row + to * j->size, 0, (size_t)((j->cols - to) * j->size));
    }
}

int mc_triangle(mc_tensor *out, const mc_tensor *t, int64_t k, int lower)
{
    if (mci_recording || t->device)
        return -2;
    if (mci_check_live("triangle", t))
        return mc_errstatus();
    int rc = mc_create(out, t->dtype, t->ndim, t->shape);
    if (rc || t->numel == 0)
        return rc;
    triangle_job j = { .out = *out,
                       .in = *t,
                       .fn = mci_cast(t->dtype, t->dtype),
                       .rows = t->shape[t->ndim - 2],
                       .cols = t->shape[t->ndim - 1],
                       .size = MCI_SIZE(t->dtype),
                       .lower = lower != 0 };
    int64_t most = j.rows + j.cols + 1;
    j.k = k > most ? most : k < -most ? -most : k;
    j.step = TRIANGLE_TASK / j.cols > 1 ? TRIANGLE_TASK / j.cols : 1;
    rc = mci_parallel((t->numel / j.cols + j.step - 1) / j.step, triangle_task, &j);
    if (rc)
        mc_drop(out);
    return rc;
}

int mci_layout_infer(const mci_job *job, mci_result *r)
{
    int64_t shift[MC_MAX_RANK];
    const mc_tensor *t = job->nin > 0 ? job->in[0] : NULL;
    r->nout = 1;
    r->compute = -1;
    if (job->op->variant != MCI_LAYOUT_ROLL)
        return join_infer(job, r);
    r->dtype[0] = t->dtype;
    r->ndim[0] = t->ndim;
    memcpy(r->shape[0], t->shape, sizeof t->shape);
    return mci_roll_shifts(job->op, t, job->params, shift);
}

int mci_layout_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                   const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    if (op->variant == MCI_LAYOUT_ROLL)
        return roll(op, outs[0], in[0], p);
    return join(op, outs[0], nin, in, p);
}
