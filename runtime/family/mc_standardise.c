/* mc_standardise.c - driver of layer and group norms and of their derivatives: contiguous rows, cut
 * into tasks by shape. The sums over rows of a task are joined in the order of the tasks. */
#include "family/mc_family.h"
#include "../../kernels/mck_standardise.h"

#include <string.h>

#define TASK 32768 /* elements of a task */
#define TASKS 64   /* that have sums of their own, at most */
#define ROWS 8     /* of them at least */

/* params: i[0] channels of a row, i[1] places of a channel, i[2], i[3]: a weight, a bias is there;
 * d[0]: eps */
enum { CHANNELS, PLACES, WEIGHT, BIAS };

typedef struct standardise_job {
    mck_standardise_fn fn;
    mck_standardise k;
    int64_t rows, size;
} standardise_job;

static void standardise_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const standardise_job *j = arg;
    (void)end;
    (void)worker;
    mck_standardise k = j->k;
    const int64_t at = begin * j->rows * k.n * j->size;
    k.first = begin * j->rows;
    k.m = j->k.m - k.first < j->rows ? j->k.m - k.first : j->rows;
    k.out = (char *)k.out + at;
    k.x = (const char *)k.x + at;
    if (k.g) k.g = (const char *)k.g + at;
    if (k.sums) k.sums += begin * 2 * k.c;
    j->fn(&k);
}

/* Operands: x, or a gradient and x; then a weight and a bias [channels] where they are there.
 * Results: one like x; of the derivatives also [2, channels], for weight and bias. */
int mci_standardise_infer(const mci_job *job, mci_result *r)
{
    const mc_params *p = job->params;
    const int back = job->op->variant == MCI_STANDARDISE_BACK;
    const mc_tensor *x = job->in[back];
    const int64_t n = p->i[CHANNELS] * p->i[PLACES];
    char s1[MCI_TEXT], s2[MCI_TEXT];
    int dtype, compute, rc = mci_resolve(job->op, job->nin, job->in, &dtype, &compute);
    if (rc) return rc;
    int fits = job->nin == 1 + back + (p->i[WEIGHT] != 0) + (p->i[BIAS] != 0) && n > 0 &&
               x->numel % n == 0;
    if (back)
        fits = fits && x->ndim == job->in[0]->ndim &&
               !memcmp(x->shape, job->in[0]->shape, (size_t)x->ndim * sizeof *x->shape);
    int64_t c = p->i[CHANNELS];
    for (int i = 1 + back; i < job->nin; i++) {
        fits = fits && job->in[i]->ndim == 1 && job->in[i]->numel % p->i[CHANNELS] == 0 &&
               job->in[i]->numel > 0 && (i == 1 + back || job->in[i]->numel == c);
        c = job->in[i]->numel;
    }
    if (!fits)
        return mci_error(MC_ESHAPE,
                         "%s: rows of %lld channels and %lld places do not fit %s and %s",
                         job->op->name, (long long)p->i[CHANNELS], (long long)p->i[PLACES],
                         mci_tensor_text(s1, sizeof s1, job->in[0]),
                         mci_tensor_text(s2, sizeof s2, job->in[job->nin - 1]));
    mci_result_one(r, dtype, x->ndim, x->shape);
    r->compute = compute;
    if (back) {
        r->nout = 2;
        r->dtype[1] = dtype;
        r->ndim[1] = 2;
        r->shape[1][0] = 2;
        r->shape[1][1] = c;
    }
    return MC_OK;
}

/* What the tasks added up, as the second result. */
static int join(standardise_job *j, int64_t tasks, double *sums, mc_tensor *out)
{
    const int64_t each = 2 * j->k.c;
    for (int64_t t = 1; t < tasks; t++)
        for (int64_t i = 0; i < each; i++)
            sums[i] += sums[t * each + i];
    mc_tensor src = { .data = sums, .dtype = MC_F64, .ndim = 2, .numel = each };
    src.shape[0] = 2;
    src.shape[1] = src.strides[0] = j->k.c;
    src.strides[1] = 1;
    return mci_copy(out, &src);
}

int mci_standardise_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                        const mc_tensor *const *in, const mc_params *p)
{
    const int back = op->variant == MCI_STANDARDISE_BACK;
    mc_tensor tmp[4] = { { 0 } }, res = { 0 };
    int given[2] = { 0 };
    for (int i = 0; i < nout; i++) given[i] = (outs[i]->flags & MC_FLAG_OUT) != 0;
    mci_result r;
    int rc = mci_standardise_infer(&(mci_job){ op, p, nin, in, nout }, &r), direct = 1;
    for (int i = 0; i < nout && !rc; i++)
        rc = mci_out(op->name, outs[i], r.dtype[i], r.ndim[i], r.shape[i]);
    if (rc) return rc;
    const void *data[4] = { NULL };
    for (int i = 0; i < nin && !rc; i++) {
        data[i] = in[i]->data;
        if (in[i]->dtype == r.compute && mci_contiguous(in[i])) {
            direct = direct && mci_overlap(outs[0], in[i]) < 0;
            continue;
        }
        rc = mci_materialize(&tmp[i], in[i], r.compute);
        data[i] = tmp[i].data;
    }
    direct = direct && outs[0]->dtype == r.compute && mci_contiguous(outs[0]);
    if (!rc && !direct) rc = mc_create(&res, r.compute, r.ndim[0], r.shape[0]);
    const int at = 1 + back, weight = p->i[WEIGHT] != 0;
    standardise_job j = { .fn = (mck_standardise_fn)mci_kernel_get(op->kernel, r.compute),
                          .size = MCI_SIZE(r.compute) };
    j.k = (mck_standardise){ .n = p->i[CHANNELS] * p->i[PLACES],
                             .k = p->i[CHANNELS],
                             .p = p->i[PLACES],
                             .out = direct ? outs[0]->data : res.data,
                             .x = data[back],
                             .g = back ? data[0] : NULL,
                             .w = weight ? data[at] : NULL,
                             .b = p->i[BIAS] ? data[at + weight] : NULL,
                             .eps = p->d[0] };
    j.k.m = outs[0]->numel / j.k.n;
    j.k.c = nin > at ? in[at]->numel : j.k.k;
    j.rows = TASK / j.k.n > 1 ? TASK / j.k.n : 1;
    if (back && j.rows < ROWS) j.rows = ROWS;
    if (back && j.rows * TASKS < j.k.m) j.rows = (j.k.m + TASKS - 1) / TASKS;
    j.rows = back ? (j.rows + 3) / 4 * 4 : j.rows;
    const int64_t tasks = (j.k.m + j.rows - 1) / j.rows;
    double *sums = NULL;
    if (!rc && back) {
        int64_t bytes;
        sums = mci_size_mul((tasks > 0 ? tasks : 1) * 2, j.k.c * (int64_t)sizeof *sums, &bytes)
                   ? NULL
                   : mci_calloc(1, (size_t)bytes);
        rc = sums ? MC_OK : mc_errstatus();
        j.k.sums = sums;
    }
    if (!rc) rc = mci_parallel(tasks, standardise_task, &j);
    if (!rc && !direct) rc = mci_copy(outs[0], &res);
    if (!rc && back) rc = join(&j, tasks, sums, outs[1]);
    mci_free(sums);
    mc_drop(&res);
    for (int i = 0; i < nin; i++) mc_drop(&tmp[i]);
    if (rc)
        for (int i = 0; i < nout; i++) mci_out_fail(outs[i], given[i]);
    return rc;
}
