/* mc_filter.c - driver of recursive filters: a cascade of sections along one axis.
 *
 * Operands: samples, coefficients f64[sections, 2 (order + 1)] (b, then a with a[0] = 1), state
 * f64 (the other axes of the samples, then sections * order). Results: samples filtered, state
 * after the last one. Long rows go in stretches of time, so that Ctrl-C is heard; the state
 * carries over. Holds that split and the work buffers. */
#include "family/mc_rows.h"
#include "family/mc_family.h"
#include "../../kernels/mck_filter.h"

#include <string.h>

enum { STRETCH = 1 << 18 };

typedef struct filter_job {
    mck_filter_fn fn;
    mck_filter k;  /* of all rows; tasks take MCK_FILTER_LANES of them */
    int64_t size, states, work;
} filter_job;

static void filter_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const filter_job *j = arg;
    (void)end;
    int64_t r = begin * MCK_FILTER_LANES;
    mck_filter k = j->k;
    k.m = j->k.m - r < MCK_FILTER_LANES ? j->k.m - r : MCK_FILTER_LANES;
    k.in = (const char *)j->k.in + r * k.stride * j->size;
    k.out = (char *)j->k.out + r * k.stride * j->size;
    k.state = j->k.state + r * j->states;
    k.work = j->k.work + worker * j->work;
    j->fn(&k);
}

static int filter_rows(filter_job *j, int64_t m, int64_t n, const void *in, void *out)
{
    int64_t tasks = (m + MCK_FILTER_LANES - 1) / MCK_FILTER_LANES;
    j->work = (j->states * MCK_FILTER_LANES + 7) & ~(int64_t)7;
    double *work = mci_alloc((size_t)(j->work * mci_workers(tasks)) * sizeof *work);
    if (!work)
        return MC_ENOMEM;
    j->k.m = m;
    j->k.stride = n;
    j->k.work = work;
    int rc = MC_OK;
    for (int64_t t = 0; t < n && !rc; t += STRETCH) {
        j->k.n = n - t < STRETCH ? n - t : STRETCH;
        int64_t at = j->k.reverse ? n - t - j->k.n : t;
        j->k.in = (const char *)in + at * j->size;
        j->k.out = (char *)out + at * j->size;
        rc = mci_parallel(tasks, filter_task, j);
    }
    mci_free(work);
    return rc;
}

int mci_filter_infer(const mci_job *job, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_tensor *x = job->in[0], *coef = job->in[1], *state = job->in[2];
    char s[MCI_TEXT], s2[MCI_TEXT];
    int axis, rc = mci_resolve(op, 1, job->in, &r->dtype[0], &r->compute);
    if (rc)
        return rc;
    if (x->ndim == 0)
        return mci_error(MC_ESHAPE, "%s: operand is %s; it needs an axis to run along", op->name,
                         mci_tensor_text(s, sizeof s, x));
    if ((rc = mci_axis(op->name, x, job->params->naxes < 1 ? -1 : job->params->axes[0], &axis)) !=
        0)
        return rc;
    if (coef->ndim != 2 || coef->dtype != MC_F64 || coef->shape[1] < 2 || coef->shape[1] % 2 ||
        coef->shape[0] < 1)
        return mci_error(
            MC_ESHAPE,
            "%s: coefficients are %s; give f64[sections,2 (order + 1)] with at least one section",
            op->name, mci_tensor_text(s, sizeof s, coef));
    int64_t *shape = r->shape[1];
    for (int i = 0, k = 0; i < x->ndim; i++)
        if (i != axis)
            shape[k++] = x->shape[i];
    shape[x->ndim - 1] = coef->shape[0] * (coef->shape[1] / 2 - 1);
    if (state->dtype != MC_F64 || state->ndim != x->ndim ||
        memcmp(state->shape, shape, sizeof *shape * (size_t)x->ndim) != 0)
        return mci_error(MC_ESHAPE,
                         "%s: the state is %s for samples %s; give f64 with the other axes, then "
                         "sections times order",
                         op->name, mci_tensor_text(s, sizeof s, state),
                         mci_tensor_text(s2, sizeof s2, x));
    r->nout = 2;
    r->dtype[1] = MC_F64;
    r->ndim[0] = r->ndim[1] = x->ndim;
    memcpy(r->shape[0], x->shape, sizeof x->shape);
    return MC_OK;
}

int mci_filter_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                   const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    const mc_tensor *x = in[0], *coef = in[1], *state = in[2];
    mc_tensor *out = outs[0], *last = outs[1];
    int axis, given = (out->flags & MC_FLAG_OUT) != 0,
              given_last = (last->flags & MC_FLAG_OUT) != 0;
    mci_result r;
    int rc = mci_filter_infer(&(mci_job){ op, p, nin, in, nout }, &r);
    if (rc || (rc = mci_axis(op->name, x, p->naxes < 1 ? -1 : p->axes[0], &axis)) != 0)
        return rc;
    const int dtype = r.dtype[0], compute = r.compute;
    const int64_t sections = coef->shape[0], order = coef->shape[1] / 2 - 1, *shape = r.shape[1];
    if ((rc = mci_out(op->name, out, dtype, x->ndim, x->shape)) != 0)
        return rc;
    if ((rc = mci_out(op->name, last, MC_F64, x->ndim, shape)) != 0) {
        mci_out_fail(out, given);
        return rc;
    }
    mc_tensor c = {0};
    mci_rows rows = {0};
    mci_rows_out res = {0};
    rc = mci_copy(last, state);
    if (!rc && x->numel > 0) {
        rc = mci_materialize(&c, coef, MC_F64);
        if (!rc)
            rc = mci_rows_in(&rows, x, 1u << axis, compute);
        if (!rc)
            rc = mci_rows_open(&res, out, axis, compute);
        if (!rc) {
            filter_job j = { .fn = (mck_filter_fn)mci_kernel_get(op->kernel, compute),
                             .size = MCI_SIZE(compute),
                             .states = sections * order };
            j.k = (mck_filter){ .sections = sections,
                                .order = order,
                                .coef = c.data,
                                .state = last->data,
                                .reverse = p->i[0] != 0 };
            rc = filter_rows(&j, rows.m, rows.n, rows.data, res.data);
        }
        if (!rc)
            rc = mci_rows_store(&res);
        else
            mci_rows_abandon(&res);
        mci_rows_drop(&rows);
        mc_drop(&c);
    }
    if (rc) {
        mci_out_fail(out, given);
        mci_out_fail(last, given_last);
    }
    return rc;
}
