/* mc_stage.c - operands, results and parallel tasks of workflow families. May not know any op. */
#include "family/mc_stage.h"

typedef struct stage_job {
    mci_stage_fn fn;
    const void *args;
    char *work;
    int64_t bytes;
} stage_job;

static void stage_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const stage_job *j = arg;
    j->fn(j->args, begin, end, j->work + worker * j->bytes);
}

int mci_stage_run(mci_stage_fn fn, const void *args, int64_t tasks, int64_t work)
{
    stage_job j = {fn, args, NULL, (work + 63) & ~(int64_t)63};
    int64_t total;
    if (tasks == 0)
        return MC_OK;
    if (mci_size_mul(j.bytes, mci_workers(tasks), &total))
        return mc_errstatus();
    j.work = mci_alloc((size_t)total);
    int rc = j.work ? mci_parallel(tasks, stage_task, &j) : mc_errstatus();
    mci_free(j.work);
    return rc;
}

int mci_operand(const mci_op *op, const mc_tensor *const *in, int nin, int k, int dtype, int64_t least)
{
    char s[MCI_TEXT];
    if (k >= nin)
        return mci_error(MC_EINVAL, "%s: operand %d is missing", op->name, k + 1);
    const mc_tensor *t = in[k];
    if ((dtype < 0 || t->dtype == dtype) && t->numel >= least && !mci_contiguous(t))
        return mci_error(MC_EDTYPE, "%s: operand %d is %s, which is not contiguous; give x:contiguous()", op->name, k + 1, mci_tensor_text(s, sizeof s, t));
    if ((dtype >= 0 && t->dtype != dtype) || !mci_contiguous(t) || t->numel < least)
        return mci_error(MC_EDTYPE, "%s: operand %d is %s; it must be contiguous %s with at least %lld elements", op->name, k + 1,
                         mci_tensor_text(s, sizeof s, t), mc_dtype_name(dtype), (long long)least);
    return MC_OK;
}

void *mci_output(mci_outputs *o, int64_t bit, int dtype, int ndim, const int64_t *shape)
{
    if (o->rc || !(o->want & bit))
        return NULL;
    if (o->next >= o->n) {
        o->rc = mci_error(MC_EINVAL, "%s: %d results are not enough for what is wanted", o->op->name, o->n);
        return NULL;
    }
    mc_tensor *t = o->out[o->next++];
    o->rc = mci_out(o->op->name, t, dtype, ndim, shape);
    return o->rc ? NULL : t->data;
}

int mci_outputs_finish(mci_outputs *o, int rc)
{
    if (!rc && o->next != o->n)
        rc = mci_error(MC_EINVAL, "%s: %d results given, %d wanted", o->op->name, o->n, o->next);
    for (int i = 0; rc && i < o->next; i++)
        mci_out_fail(o->out[i], 0);
    return rc;
}
