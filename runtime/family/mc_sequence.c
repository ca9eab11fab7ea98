/* mc_sequence.c - driver of low-discrepancy points: the table of the dimensions, then blocks of
 * points.
 *
 * Parameters: i[0..3] key and stream as in mc_random.c, i[4] number of the first point (from 0),
 * i[5] scrambled, i[6] points, i[12] the key stands in in[1] instead; in[0] the numbers that
 * define the dimensions, i64 [d] or [d, k]. */
#include "family/mc_family.h"
#include "../../kernels/mck_sequence.h"

#define GRAIN 32768 /* numbers per task */

typedef struct sequence_job {
    mck_sequence_fn fn;
    mck_sequence k;
    int64_t total, task;
} sequence_job;

static void sequence_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const sequence_job *j = arg;
    (void)worker;
    int64_t at = begin * j->task, stop = end * j->task < j->total ? end * j->task : j->total;
    mck_sequence k = j->k;
    k.first += at;
    k.n = stop - at;
    k.out += at * k.d;
    j->fn(&k);
}

static const char *public_name(const mci_op *op)
{
    return op->variant == MCI_SEQUENCE_SOBOL ? "random.sobol" : "random.halton";
}

int mci_sequence_infer(const mci_job *job, mci_result *r)
{
    const int64_t shape[2] = { job->params->i[6], job->in[0]->ndim ? job->in[0]->shape[0] : 0 };
    if (job->params->i[12] && (job->nin < 2 || job->in[1]->numel != 1))
        return mci_error(MC_EINTERNAL, "%s: one key is announced and not given", job->op->name);
    return mci_result_one(r, MC_F64, 2, shape);
}

int mci_sequence_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                     const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    mc_tensor *out = outs[0], numbers = {0}, table = {0}, tmp = {0};
    int64_t key = (int64_t)((uint64_t)(uint32_t)p->i[0] | (uint64_t)(uint32_t)p->i[1] << 32);
    const int given = (out->flags & MC_FLAG_OUT) != 0, sobol = op->variant == MCI_SEQUENCE_SOBOL;
    mci_result r;
    int rc = mci_sequence_infer(&(mci_job){ op, p, nin, in, nout }, &r);
    const int64_t *shape = r.shape[0], d = rc ? 0 : shape[1], cells = d * MCK_SEQUENCE_TABLE;
    if (rc || (rc = mci_out(public_name(op), out, MC_F64, 2, shape)) != 0 || out->numel == 0)
        return rc;
    if (p->i[12]) mci_gather(in[1], 0, 1, MC_I64, &key);
    rc = mci_materialize(&numbers, in[0], MC_I64);
    if (!rc)
        rc = mc_create(&table, MC_I64, 1, &cells);
    mc_tensor *target = out;
    if (!rc && !mci_contiguous(out)) {
        rc = mc_create(&tmp, MC_F64, 2, shape);
        target = &tmp;
    }
    if (!rc) {
        sequence_job j = { .fn = (mck_sequence_fn)mci_kernel_get(op->kernel, MC_F64),
                           .total = p->i[6] };
        j.task = GRAIN / d > 1 ? GRAIN / d : 1;
        j.k = (mck_sequence){ .d = d,
                              .first = p->i[4],
                              .out = target->data,
                              .table = table.data,
                              .numbers = numbers.data,
                              .scramble = p->i[5] != 0 };
        j.k.key = (uint64_t)key;
        j.k.stream = (uint64_t)(uint32_t)p->i[2] | (uint64_t)(uint32_t)p->i[3] << 32;
        ((mck_sequence_fn)mci_function(sobol ? MCK_FN_SOBOL_TABLE : MCK_FN_HALTON_TABLE))(&j.k);
        rc = mci_parallel((j.total + j.task - 1) / j.task, sequence_task, &j);
    }
    if (!rc && target == &tmp)
        rc = mci_copy(out, &tmp);
    mc_drop(&tmp);
    mc_drop(&table);
    mc_drop(&numbers);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}
