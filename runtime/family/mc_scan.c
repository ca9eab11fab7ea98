/* mc_scan.c - driver of running sums, products and extremes along one axis. */
#include "family/mc_rows.h"
#include "family/mc_family.h"
#include "../../kernels/mck_reduce.h"

#include <string.h>

typedef struct scan_job {
    mck_reduce_fn fn;
    const char *in;
    char *out;
    int64_t m, n, rows, size, osize, base;
} scan_job;

static void scan_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const scan_job *j = arg;
    (void)end;
    (void)worker;
    int64_t r0 = begin * j->rows, m = j->m - r0 < j->rows ? j->m - r0 : j->rows;
    mck_reduce k = { .m = m,
                     .n = j->n,
                     .out = j->out + r0 * j->n * j->osize,
                     .in = j->in + r0 * j->n * j->size,
                     .base = j->base };
    j->fn(&k);
}

int mci_scan_infer(const mci_job *job, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_params *p = job->params;
    const mc_tensor *t = job->in[0];
    char s[MCI_TEXT];
    int dtype, axis;
    r->nout = 1;
    r->ndim[0] = t->ndim;
    memcpy(r->shape[0], t->shape, sizeof t->shape);
    int rc = mci_resolve(op, job->nin, job->in, &dtype, &r->compute);
    if (rc)
        return rc;
    if (p->naxes < 1 && t->ndim != 1)
        return mci_error(MC_ESHAPE, "%s: operand is %s; name the axis to run along", op->name,
                         mci_tensor_text(s, sizeof s, t));
    if ((rc = mci_axis(op->name, t, p->naxes < 1 ? 0 : p->axes[0], &axis)) != 0)
        return rc;
    r->dtype[0] = op->result == MCI_RESULT_I64  ? MC_I64
                  : mci_kind(r->compute) == 'i' ? r->compute
                                                : dtype;
    if (p->dtype >= 0) {
        r->dtype[0] = p->dtype;
        if (op->compute[p->dtype] >= 0 && (mci_kind(p->dtype) == 'f' || mci_kind(p->dtype) == 'c'))
            r->compute = op->compute[p->dtype];
    }
    return MC_OK;
}

int mci_scan_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in,
                 const mc_params *p)
{
    (void)nout;
    const mc_tensor *t = in[0];
    mc_tensor *out = outs[0];
    const int given = (out->flags & MC_FLAG_OUT) != 0, positions = op->result == MCI_RESULT_I64;
    int axis;
    mci_result r;
    int rc = mci_scan_infer(&(mci_job){ op, p, nin, in, nout }, &r);
    if (rc || (rc = mci_axis(op->name, t, p->naxes < 1 ? 0 : p->axes[0], &axis)) != 0)
        return rc;
    if ((rc = mci_out(op->name, out, r.dtype[0], r.ndim[0], r.shape[0])) != 0 || t->numel == 0)
        return rc;
    const int compute = r.compute, kdt = compute == MC_BOOL ? MC_U8 : compute;
    const int written = positions && !(p->dtype >= 0 && op->compute[p->dtype] >= 0 &&
                                       (mci_kind(p->dtype) == 'f' || mci_kind(p->dtype) == 'c'))
                            ? MC_I64
                            : compute;
    mci_rows rows = {0};
    mci_rows_out res = {0};
    mc_tensor from = *t, to = *out;
    if (op->reverse && p->i[0]) { /* from the end: both seen backwards */
        mc_tensor *both[2] = {&from, &to};
        for (int i = 0; i < 2; i++) {
            both[i]->data = mci_at(both[i], (t->shape[axis] - 1) * both[i]->strides[axis]);
            both[i]->strides[axis] = -both[i]->strides[axis];
        }
    }
    rc = mci_rows_apart(&rows, &from, 1u << axis, compute, &to, !positions);
    if (!rc)
        rc = mci_rows_open(&res, &to, axis, written);
    if (!rc) {
        scan_job j = { (mck_reduce_fn)mci_kernel_get(op->kernel, kdt),
                       rows.data,
                       res.data,
                       rows.m,
                       rows.n,
                       1,
                       MCI_SIZE(compute),
                       MCI_SIZE(written),
                       p->base };
        j.rows = 32768 / rows.n > 1 ? 32768 / rows.n : 1;
        rc = mci_parallel((rows.m + j.rows - 1) / j.rows, scan_task, &j);
    }
    if (!rc)
        rc = mci_rows_store(&res);
    else
        mci_rows_abandon(&res);
    mci_rows_drop(&rows);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}
