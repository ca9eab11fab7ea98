/* mc_recurrence.c - driver of linear recurrences along one axis. Two operands of one rank, sizes
 * broadcast; the rows of both and of the result are made contiguous and cut into tasks by shape. */
#include "family/mc_family.h"
#include "family/mc_rows.h"
#include "../../kernels/mck_recurrence.h"


typedef struct recurrence_job {
    mck_recurrence_fn fn;
    const char *a, *b;
    char *out;
    int64_t m, n, rows, size;
} recurrence_job;

static void recurrence_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const recurrence_job *j = arg;
    (void)end;
    (void)worker;
    const int64_t r0 = begin * j->rows, at = r0 * j->n * j->size;
    mck_recurrence k = { .m = j->m - r0 < j->rows ? j->m - r0 : j->rows,
                         .n = j->n,
                         .out = j->out + at,
                         .a = j->a + at,
                         .b = j->b + at };
    j->fn(&k);
}

static void backwards(mc_tensor *t, int axis)
{
    t->data = mci_at(t, (t->shape[axis] - 1) * t->strides[axis]);
    t->strides[axis] = -t->strides[axis];
}

/* operands: a, b; axes[0]: the axis; i[0]: from its end */
int mci_recurrence_infer(const mci_job *job, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_params *p = job->params;
    const mc_tensor *const *in = job->in;
    char s1[MCI_TEXT], s2[MCI_TEXT];
    int axis;
    r->nout = 1;
    int rc = mci_resolve(op, job->nin, in, &r->dtype[0], &r->compute);
    if (rc)
        return rc;
    if (in[0]->ndim != in[1]->ndim || mci_broadcast(op->name, in, 2, &r->ndim[0], r->shape[0]))
        return mci_error(MC_ESHAPE,
                         "%s: the shapes do not fit, a is %s and b is %s; give as many axes, of "
                         "equal sizes or 1",
                         op->name, mci_tensor_text(s1, sizeof s1, in[0]),
                         mci_tensor_text(s2, sizeof s2, in[1]));
    if (p->naxes < 1 && r->ndim[0] != 1)
        return mci_error(MC_ESHAPE, "%s: operands are %s and %s; name the axis to run along",
                         op->name, mci_tensor_text(s1, sizeof s1, in[0]),
                         mci_tensor_text(s2, sizeof s2, in[1]));
    return mci_axis(op->name, in[0], p->naxes < 1 ? 0 : p->axes[0], &axis);
}

int mci_recurrence_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                       const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    mc_tensor *out = outs[0], v[2];
    const int given = (out->flags & MC_FLAG_OUT) != 0;
    int axis;
    mci_result r;
    int rc = mci_recurrence_infer(&(mci_job){ op, p, nin, in, nout }, &r);
    if (rc || (rc = mci_axis(op->name, in[0], p->naxes < 1 ? 0 : p->axes[0], &axis)) != 0)
        return rc;
    const int compute = r.compute, nd = r.ndim[0];
    const int64_t *shape = r.shape[0];
    if ((rc = mci_out(op->name, out, r.dtype[0], nd, shape)) != 0 || out->numel == 0)
        return rc;
    mci_rows rows[2] = {{.data = NULL}, {.data = NULL}};
    mci_rows_out res = {0};
    mc_tensor to = *out;
    for (int k = 0; k < 2; k++) {
        v[k] = *in[k];
        mci_broadcast_strides(in[k], nd, v[k].strides);
        for (int i = 0; i < nd; i++)
            v[k].shape[i] = shape[i];
        v[k].numel = out->numel;
    }
    if (p->i[0])
        for (int k = 0; k < 3; k++)
            backwards(k < 2 ? &v[k] : &to, axis);
    for (int k = 0; k < 2 && !rc; k++)
        rc = mci_rows_apart(&rows[k], &v[k], 1u << axis, compute, &to, 0);
    if (!rc)
        rc = mci_rows_open(&res, &to, axis, compute);
    if (!rc) {
        recurrence_job j = { (mck_recurrence_fn)mci_kernel_get(op->kernel, compute),
                             rows[0].data,
                             rows[1].data,
                             res.data,
                             rows[0].m,
                             rows[0].n,
                             1,
                             MCI_SIZE(compute) };
        j.rows = 32768 / j.n > 4 ? 32768 / j.n / 4 * 4 : 4;
        rc = mci_parallel((j.m + j.rows - 1) / j.rows, recurrence_task, &j);
    }
    if (!rc)
        rc = mci_rows_store(&res);
    else
        mci_rows_abandon(&res);
    mci_rows_drop(&rows[0]);
    mci_rows_drop(&rows[1]);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}
