/* mc_sort.c - drivers of sorting (sort, argsort) and order statistics (median, quantile) by rows. May not know the algorithms. */
#include "mc_rows.h"
#include "mc_ops.h"
#include "../kernels/mck.h"

typedef size_t (*sort_work_fn)(int elem_bytes, int64_t n, int want_index);
typedef size_t (*select_work_fn)(int elem_bytes, int64_t n, int64_t q);

typedef struct sort_job {
    mck_sort_fn sort;
    mck_select_fn select;
    const char *in;
    char *out, *work;
    int64_t *index;
    int64_t m, n, rows, size, q, base;
    size_t work_bytes;
    int descending, method, nan_skip;
    const double *prob;
} sort_job;

static void sort_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const sort_job *j = arg;
    (void)end;
    int64_t r0 = begin * j->rows, m = j->m - r0 < j->rows ? j->m - r0 : j->rows;
    void *work = j->work + (size_t)worker * j->work_bytes;
    if (j->select) {
        mck_select k = {m, j->n, j->q, j->out + r0 * j->q * j->size, j->in + r0 * j->n * j->size, j->prob, j->method, j->nan_skip, work};
        j->select(&k);
        return;
    }
    mck_sort k = {m, j->n, j->out ? j->out + r0 * j->n * j->size : NULL, j->index ? j->index + r0 * j->n : NULL,
                  j->in + r0 * j->n * j->size, j->base, j->descending, 1, work};
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

int mci_sort_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    const mc_tensor *t = in[0];
    mc_tensor *out = outs[0];
    char s[MCI_TEXT];
    int dtype, compute, axis, positions = op->id == MC_OP_ARGSORT, given = (out->flags & MC_FLAG_OUT) != 0;
    int rc = mci_resolve(op, nin, in, &dtype, &compute);
    if (rc)
        return rc;
    if (t->ndim == 0)
        return mci_error(MC_ESHAPE, "%s: operand is %s; it needs at least one axis", op->name, mci_tensor_text(s, sizeof s, t));
    if ((rc = mci_axis(op->name, t, p->naxes < 1 ? -1 : p->axes[0], &axis)) != 0)
        return rc;
    if ((rc = mci_out(op->name, out, positions ? MC_I64 : dtype, t->ndim, t->shape)) != 0 || t->numel == 0)
        return rc;
    int kdt = compute == MC_BOOL ? MC_U8 : compute;
    mci_rows rows = {0};
    mci_rows_out res = {0};
    rc = mci_rows_in(&rows, t, 1u << axis, compute);
    if (!rc)
        rc = mci_rows_open(&res, out, axis, positions ? MC_I64 : compute);
    if (!rc) {
        sort_job j = {.sort = (mck_sort_fn)mci_kernel_get(MCK_K_SORT, kdt), .in = rows.data, .m = rows.m, .n = rows.n, .size = MCI_SIZE(compute),
                      .base = p->base, .descending = (int)p->i[0]};
        j.out = positions ? NULL : res.data;
        j.index = positions ? res.data : NULL;
        j.work_bytes = ((sort_work_fn)mci_function(MCK_FN_SORT_WORK))((int)j.size, j.n, positions);
        rc = run_rows(&j);
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

/* Parameters: i[0] method, i[1] skip NaN, i[2] number of probabilities q (0: one, without an axis of its own), d[0..] or a second
 * operand would carry them: up to 16 in d. The axis of probabilities comes first in the result, as in NumPy. */
int mci_select_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    const mc_tensor *t = in[0];
    mc_tensor *out = outs[0], tmp = {0};
    char s[MCI_TEXT];
    double half = 0.5;
    int dtype, compute, nd, given = (out->flags & MC_FLAG_OUT) != 0;
    int64_t shape[MC_MAX_RANK], full[MC_MAX_RANK];
    unsigned mask;
    int rc = mci_resolve(op, nin, in, &dtype, &compute);
    if (rc || (rc = mci_axes_mask(op->name, t, p, &mask)) != 0)
        return rc;
    int median = op->id == MC_OP_MEDIAN;
    int64_t q = median || p->i[2] < 1 ? 1 : p->i[2];
    int lead = !median && p->i[2] >= 1;
    mci_reduced_shape(t, mask, p->keepdim, &nd, shape);
    if (nd + lead > MC_MAX_RANK)
        return mci_error(MC_ESHAPE, "%s: the result would have more than %d axes", op->name, MC_MAX_RANK);
    full[0] = q;
    for (int i = 0; i < nd; i++)
        full[i + lead] = shape[i];
    mci_rows rows = {0};
    if (mci_numel(nd, shape) > 0 && t->numel == 0)
        return mci_error(MC_ESHAPE, "%s: nothing to order in %s; give it at least one element", op->name, mci_tensor_text(s, sizeof s, t));
    if ((rc = mci_out(op->name, out, dtype, nd + lead, full)) != 0 || out->numel == 0)
        return rc;
    /* rows give [m][q]; the result wants [q][m] */
    int64_t mq[2] = {t->numel, q};
    rc = mci_rows_in(&rows, t, mask, compute);
    mq[0] = rows.m;
    if (!rc)
        rc = mc_create(&tmp, compute, 2, mq);
    if (!rc) {
        sort_job j = {.select = (mck_select_fn)mci_kernel_get(MCK_K_SELECT, compute), .in = rows.data, .out = tmp.data, .m = rows.m, .n = rows.n,
                      .size = MCI_SIZE(compute), .q = q, .method = median ? 0 : (int)p->i[0], .nan_skip = median ? 0 : (int)p->i[1],
                      .prob = median ? &half : p->d};
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
        rc = mc_copy(out, &v);
    }
    mc_drop(&tmp);
    mci_rows_drop(&rows);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}
