/* mc_sort.c - drivers of sorting (sort, argsort), of parts of the order (partition, topk) and of
 * order statistics (median, quantile) by rows. */
#include "family/mc_rows.h"
#include "family/mc_family.h"
#include "../../kernels/mck_select.h"
#include "../../kernels/mck_sort.h"

#include <string.h>

typedef size_t (*sort_work_fn)(int elem_bytes, int64_t n, int want_index);
typedef size_t (*select_work_fn)(int elem_bytes, int64_t n, int64_t q); /* topk_work too */

typedef struct sort_job {
    mck_sort_fn sort;
    mck_select_fn select;
    const char *in;
    char *out, *work;
    int64_t *index;
    int64_t m, n, rows, size, q, base; /* q: results per row */
    size_t work_bytes;
    int64_t kth;
    int descending, ordered, method, nan_skip;
    const double *prob;
} sort_job;

static void sort_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const sort_job *j = arg;
    (void)end;
    int64_t r0 = begin * j->rows, m = j->m - r0 < j->rows ? j->m - r0 : j->rows;
    void *work = j->work + (size_t)worker * j->work_bytes;
    if (j->select) {
        mck_select k = { m,
                         j->n,
                         j->q,
                         j->out + r0 * j->q * j->size,
                         j->in + r0 * j->n * j->size,
                         j->prob,
                         j->method,
                         j->nan_skip,
                         work };
        j->select(&k);
        return;
    }
    mck_sort k = { m,
                   j->n,
                   j->out ? j->out + r0 * j->q * j->size : NULL,
                   j->index ? j->index + r0 * j->q : NULL,
                   j->in + r0 * j->n * j->size,
                   j->base,
                   j->descending,
                   1,
                   work,
                   j->kth,
                   j->ordered };
    j->sort(&k);
}

static int run_rows(sort_job *j)
{
    j->rows = 16384 / j->n > 1 ? 16384 / j->n : 1;
    int64_t tasks = (j->m + j->rows - 1) / j->rows;
    j->work_bytes = (j->work_bytes + 63) & ~(size_t)63;
    j->work = mci_alloc(j->work_bytes * (size_t)mci_workers(tasks));
    int rc = j->work ? mci_parallel(tasks, sort_task, j) : mc_errstatus();
    mci_free(j->work);
    return rc;
}

/* Place i[0] of partition, counted from base (or from the end), as a number from 0. */
static int place(const mci_op *op, const mc_tensor *t, int axis, const mc_params *p, int64_t *kth)
{
    char s[MCI_TEXT];
    int64_t n = t->shape[axis], given = p->i[0];
    *kth = given < 0 ? given + n : given - p->base;
    if (*kth < 0 || *kth >= n)
        return mci_error(MC_ESHAPE,
                         "%s: place %lld is outside an axis of size %lld of %s (places count from "
                         "%d, negative ones from the end)",
                         op->name, (long long)given, (long long)n, mci_tensor_text(s, sizeof s, t),
                         p->base);
    return MC_OK;
}

/* Parameters: i[0] of sort and argsort: descending; of partition and argpartition: the place; of
 * topk: how many, i[1] the largest, i[2] in order. topk gives values and positions, the others one
 * of them. */
int mci_sort_infer(const mci_job *job, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_params *p = job->params;
    const mc_tensor *t = job->in[0];
    const int topk = op->variant == MCI_SORT_TOP, part = op->variant == MCI_SORT_PART;
    char s[MCI_TEXT];
    int dtype, axis;
    int64_t kth;
    int rc = mci_resolve(op, job->nin, job->in, &dtype, &r->compute);
    if (rc)
        return rc;
    if ((rc = mci_row_axis(op->name, t, p, &axis)) != 0)
        return rc;
    if (part && t->numel > 0 && (rc = place(op, t, axis, p, &kth)) != 0)
        return rc;
    if (topk && (p->i[0] < 0 || p->i[0] > t->shape[axis]))
        return mci_error(
            MC_ESHAPE,
            "topk: %lld elements are asked of an axis of size %lld of %s; ask for 0 to that many",
            (long long)p->i[0], (long long)t->shape[axis], mci_tensor_text(s, sizeof s, t));
    r->nout = topk ? 2 : 1;
    for (int k = 0; k < r->nout; k++) {
        r->dtype[k] = op->result == MCI_RESULT_I64 || k ? MC_I64 : dtype;
        r->ndim[k] = t->ndim;
        memcpy(r->shape[k], t->shape, sizeof t->shape);
        if (topk)
            r->shape[k][axis] = p->i[0];
    }
    return MC_OK;
}

int mci_sort_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in,
                 const mc_params *p)
{
    const mc_tensor *t = in[0];
    const int topk = op->variant == MCI_SORT_TOP, part = op->variant == MCI_SORT_PART;
    mc_tensor *values = op->result == MCI_RESULT_I64 ? NULL : outs[0], *index = topk     ? outs[1]
                                                                                : values ? NULL
                                                                                         : outs[0];
    int axis, made = 0, given[2] = {0, 0};
    int64_t kth = 0;
    mci_result r;
    for (int i = 0; i < nout; i++)
        given[i] = (outs[i]->flags & MC_FLAG_OUT) != 0;
    int rc = mci_sort_infer(&(mci_job){ op, p, nin, in, nout }, &r);
    if (rc || (rc = mci_axis(op->name, t, p->naxes < 1 ? -1 : p->axes[0], &axis)) != 0)
        return rc;
    if (part && t->numel > 0 && (rc = place(op, t, axis, p, &kth)) != 0)
        return rc;
    if (topk)
        kth = p->i[0] - 1;
    const int compute = r.compute;
    const int64_t *shape = r.shape[0];
    for (; !rc && made < nout; made++)
        rc = mci_out(op->name, outs[made], r.dtype[made], r.ndim[made], r.shape[made]);
    mci_rows rows = {0};
    mci_rows_out res = {0}, pos = {0};
    if (!rc && outs[0]->numel > 0) {
        rc = mci_rows_apart(&rows, t, 1u << axis, compute, outs[0], values != NULL);
        if (!rc && values)
            rc = mci_rows_open(&res, values, axis, compute);
        if (!rc && index)
            rc = mci_rows_open(&pos, index, axis, MC_I64);
        if (!rc) {
            int kdt = compute == MC_BOOL ? MC_U8 : compute;
            sort_job j = { .sort = (mck_sort_fn)mci_kernel_get(topk   ? MCK_K_TOPK
                                                               : part ? MCK_K_PARTITION
                                                                      : MCK_K_SORT,
                                                               kdt),
                           .in = rows.data,
                           .m = rows.m,
                           .n = rows.n,
                           .q = shape[axis],
                           .size = MCI_SIZE(compute),
                           .base = p->base,
                           .kth = kth };
            j.descending = topk ? (int)p->i[1] : part ? 0 : (int)p->i[0];
            j.ordered = (int)p->i[2];
            j.out = values ? res.data : NULL;
            j.index = index ? pos.data : NULL;
            j.work_bytes = topk || part ? ((select_work_fn)mci_function(MCK_FN_TOPK_WORK))(
                                              (int)j.size, j.n, topk ? kth + 1 : 0)
                                        : ((sort_work_fn)mci_function(MCK_FN_SORT_WORK))(
                                              (int)j.size, j.n, index != NULL);
            rc = run_rows(&j);
        }
        if (values && !rc)
            rc = mci_rows_store(&res);
        if (index && !rc)
            rc = mci_rows_store(&pos);
        if (rc) {
            mci_rows_abandon(&res);
            mci_rows_abandon(&pos);
        }
        mci_rows_drop(&rows);
    }
    for (int i = 0; rc && i < nout; i++)
        mci_out_fail(outs[i], given[i]);
    return rc;
}

/* Parameters: i[0] method, i[1] skip NaN, i[2] number of probabilities q (0: one, without an axis
 * of its own), d[0..] or a second operand would carry them: up to 16 in d. The axis of
 * probabilities comes first in the result, as in NumPy. */
int mci_select_infer(const mci_job *job, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_params *p = job->params;
    const mc_tensor *t = job->in[0];
    char s[MCI_TEXT];
    int nd;
    int64_t shape[MC_MAX_RANK];
    unsigned mask;
    r->nout = 1;
    int rc = mci_resolve(op, job->nin, job->in, &r->dtype[0], &r->compute);
    if (rc || (rc = mci_axes_mask(op->name, t, p, &mask)) != 0)
        return rc;
    const int lead = op->variant != MCI_SELECT_MEDIAN && p->i[2] >= 1;
    mci_reduced_shape(t, mask, p->keepdim, &nd, shape);
    if (nd + lead > MC_MAX_RANK)
        return mci_error(MC_ESHAPE, "%s: the result would have more than %d axes", op->name,
                         MC_MAX_RANK);
    r->ndim[0] = nd + lead;
    r->shape[0][0] = p->i[2];
    for (int i = 0; i < nd; i++)
        r->shape[0][i + lead] = shape[i];
    if (mci_numel(nd, shape) > 0 && t->numel == 0)
        return mci_error(MC_ESHAPE, "%s: nothing to order in %s; give it at least one element",
                         op->name, mci_tensor_text(s, sizeof s, t));
    return MC_OK;
}

int mci_select_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                   const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    const mc_tensor *t = in[0];
    mc_tensor *out = outs[0], tmp = {0};
    double half = 0.5;
    const int given = (out->flags & MC_FLAG_OUT) != 0, median = op->variant == MCI_SELECT_MEDIAN,
              lead = !median && p->i[2] >= 1;
    const int64_t q = lead ? p->i[2] : 1;
    unsigned mask;
    mci_result r;
    int rc = mci_select_infer(&(mci_job){ op, p, nin, in, nout }, &r);
    if (rc || (rc = mci_axes_mask(op->name, t, p, &mask)) != 0)
        return rc;
    if ((rc = mci_out(op->name, out, r.dtype[0], r.ndim[0], r.shape[0])) != 0 || out->numel == 0)
        return rc;
    const int compute = r.compute, nd = r.ndim[0] - lead;
    const int64_t *shape = r.shape[0] + lead;
    mci_rows rows = {0};
    /* rows give [m][q]; the result wants [q][m] */
    int64_t mq[2] = {t->numel, q};
    rc = mci_rows_in(&rows, t, mask, compute);
    mq[0] = rows.m;
    if (!rc)
        rc = mc_create(&tmp, compute, 2, mq);
    if (!rc) {
        sort_job j = { .select = (mck_select_fn)mci_kernel_get(MCK_K_SELECT, compute),
                       .in = rows.data,
                       .out = tmp.data,
                       .m = rows.m,
                       .n = rows.n,
                       .size = MCI_SIZE(compute),
                       .q = q,
                       .method = median ? 0 : (int)p->i[0],
                       .nan_skip = median ? 0 : (int)p->i[1],
                       .prob = median ? &half : p->d };
        j.work_bytes = ((select_work_fn)mci_function(MCK_FN_SELECT_WORK))((int)j.size, j.n, q);
        rc = run_rows(&j);
    }
    if (!rc) {
        mc_tensor v = tmp; /* [q, shape...] seen over [m, q] */
        v.ndim = nd + lead;
        int64_t stride = q;
        for (int i = nd - 1; i >= 0; i--) {
            v.shape[i + lead] = shape[i];
            v.strides[i + lead] = stride;
            stride *= shape[i];
        }
        if (lead) {
            v.shape[0] = q;
            v.strides[0] = 1;
        }
        rc = mci_copy(out, &v);
    }
    mc_drop(&tmp);
    mci_rows_drop(&rows);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}
