/* mc_tridiagonal.c - driver of tridiagonal systems with many right sides: the equations of splines.
 *
 * Elimination without exchange of rows, which is stable where the diagonal dominates. The factors
 * are made once; columns of right sides are independent and cut into fixed blocks. Computes in
 * f64. */
#include "base/mc_memory.h"
#include "family/mc_family.h"
#include "../../kernels/mck_interp.h"

#include <string.h>

#define BLOCK 64 /* columns of a task */

typedef struct solve_job {
    mck_tridiagonal k;
    mck_tridiagonal_fn fn;
} solve_job;

static void solve_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const solve_job *j = arg;
    (void)end;
    (void)worker;
    mck_tridiagonal k = j->k;
    const int64_t first = begin * BLOCK;
    k.m = j->k.m - first < BLOCK ? j->k.m - first : BLOCK;
    k.stride = j->k.m;
    k.out += first;
    k.rhs += first;
    j->fn(&k);
}

/* operands: bands [3, n] (below the diagonal from its second entry, the diagonal, above it up to
 * the last but one), right sides [n, ...] */
int mci_tridiagonal_infer(const mci_job *job, mci_result *r)
{
    const mc_tensor *bands = job->in[0], *rhs = job->in[1];
    char s1[MCI_TEXT], s2[MCI_TEXT];
    int dtype, compute, rc = mci_resolve(job->op, job->nin, job->in, &dtype, &compute);
    if (rc) return rc;
    if (bands->ndim != 2 || bands->shape[0] != 3 || rhs->ndim < 1 ||
        rhs->shape[0] != bands->shape[1])
        return mci_error(MC_ESHAPE, "%s: bands are %s and right sides %s; give [3, n] and [n, ...]",
                         job->op->name, mci_tensor_text(s1, sizeof s1, bands),
                         mci_tensor_text(s2, sizeof s2, rhs));
    return mci_result_one(r, dtype, rhs->ndim, rhs->shape);
}

int mci_tridiagonal_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                        const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    mc_tensor *out = outs[0], bands = {0}, rhs = {0}, res = {0};
    char s1[MCI_TEXT];
    const int given = (out->flags & MC_FLAG_OUT) != 0;
    double *factor = NULL;
    mci_result r;
    int rc = mci_tridiagonal_infer(&(mci_job){ op, p, nin, in, nout }, &r);
    if (rc || (rc = mci_out(op->name, out, r.dtype[0], r.ndim[0], r.shape[0])) != 0 ||
        out->numel == 0)
        return rc;
    const int64_t n = in[1]->shape[0];
    int64_t bytes;
    rc = mci_materialize(&bands, in[0], MC_F64);
    if (!rc)
        rc = mci_materialize(&rhs, in[1], MC_F64);
    if (!rc)
        rc = mc_create(&res, MC_F64, out->ndim, out->shape);
    if (!rc)
        rc = mci_size_mul(2 * n, (int64_t)sizeof *factor, &bytes) ? mc_errstatus() : MC_OK;
    if (!rc && !(factor = mci_alloc((size_t)bytes)))
        rc = mc_errstatus();
    if (!rc) {
        const double *lower = bands.data, *diagonal = lower + n, *upper = diagonal + n;
        double *pivot = factor, *ratio = factor + n; /* 1 / pivot of each row, upper / pivot */
        for (int64_t i = 0; i < n && !rc; i++) {
            const double d = i ? diagonal[i] - lower[i] * ratio[i - 1] : diagonal[i];
            if (d == 0)
                rc = mci_error(MC_ENUMERIC,
                               "%s: a pivot of bands %s is zero; the system is singular or needs "
                               "exchanges of rows",
                               op->name, mci_tensor_text(s1, sizeof s1, in[0]));
            pivot[i] = d;
            ratio[i] = i + 1 < n ? upper[i] / d : 0;
        }
        if (!rc) {
            solve_job j = { .k = { .n = n,
                                   .m = out->numel / n,
                                   .out = res.data,
                                   .rhs = rhs.data,
                                   .lower = lower,
                                   .pivot = pivot,
                                   .ratio = ratio } };
            j.fn = (mck_tridiagonal_fn)mci_kernel_get(op->kernel, MC_F64);
            rc = mci_parallel((j.k.m + BLOCK - 1) / BLOCK, solve_task, &j);
        }
    }
    if (!rc)
        rc = mci_copy(out, &res);
    mci_free(factor);
    mc_drop(&bands);
    mc_drop(&rhs);
    mc_drop(&res);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}
