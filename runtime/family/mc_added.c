/* mc_added.c - ops that are added while the program runs: the family of rows of two functions, in
 * the form of mc_plugin.h. */
#include "family/mc_added.h"
#include "family/mc_family.h"

#include <string.h>

typedef struct row {
    mci_op op; /* first: a row is found from its op */
    const mc_plugin_row *of;
} row;

int mci_added_shape(const mc_call *c, int k, int dtype, int ndim, const int64_t *shape)
{
    if (k < 0 || k >= c->nout)
        return mci_error(MC_EINVAL, "%s: result %d of %d is asked for", c->name, k + 1, c->nout);
    if (!c->infer || dtype < 0 || dtype >= MC_NDTYPE || ndim < 0 || ndim > MC_MAX_RANK)
        return mci_error(MC_EINTERNAL,
                         "%s: result %d has no such dtype or rank, or none is asked for", c->name,
                         k + 1);
    mc_tensor *t = c->out[k];
    t->dtype = dtype;
    t->ndim = ndim;
    for (int i = 0; i < ndim; i++) t->shape[i] = shape[i];
    return MC_OK;
}

int mci_added_infer(const mci_job *job, mci_result *r)
{
    const mci_op *op = job->op;
    mc_tensor headers[MCI_RESULTS], *out[MCI_RESULTS];
    if (job->nin == 0 && op->nin == 255)
        return mci_error(MC_EINVAL, "%s: operands are missing", op->name);
    if (job->nout > MCI_RESULTS)
        return mci_error(MC_EINVAL, "%s: %d results are asked for; there are at most %d", op->name,
                         job->nout, MCI_RESULTS);
    for (int i = 0; i < job->nout; i++) {
        headers[i].dtype = -1;
        headers[i].data = NULL;
        out[i] = &headers[i];
    }
    const mc_call call = { op->name, job->nin, job->nout, job->in, out, job->params, op, 1 };
    int rc = ((const row *)op)->of->infer(&call);
    r->nout = job->nout;
    r->compute = -1;
    for (int i = 0; !rc && i < job->nout; i++) {
        if (headers[i].dtype < 0)
            rc = mci_error(MC_EINTERNAL, "%s: result %d was not inferred", op->name, i + 1);
        else
            mci_result_set(r, i, headers[i].dtype, headers[i].ndim, headers[i].shape);
    }
    return rc;
}

/* Whether a result may be written while operands are read. */
static int apart(const mc_tensor *out, int nin, const mc_tensor *const *in)
{
    int yes = mci_contiguous(out);
    for (int k = 0; yes && k < nin; k++) yes = mci_overlap(out, in[k]) < 0;
    return yes;
}

static int run_row(const mci_op *op, int nout, mc_tensor **out, int nin, const mc_tensor *const *in,
                   const mc_params *p)
{
    mci_result r;
    mc_tensor tmp[MCI_RESULTS], *to[MCI_RESULTS];
    int made = 0, given = 0, rc = mci_added_infer(&(mci_job){ op, p, nin, in, nout }, &r);
    for (int k = 0; !rc && k < nout; k++) {
        given |= (out[k]->flags & MC_FLAG_OUT) ? 1 << k : 0;
        if ((rc = mci_out(op->name, out[k], r.dtype[k], r.ndim[k], r.shape[k])) != 0) break;
        made++;
        to[k] = out[k];
        if ((given >> k & 1) && !apart(out[k], nin, in)) {
            to[k] = &tmp[k];
            memset(to[k], 0, sizeof *to[k]);
            rc = mc_create(to[k], r.dtype[k], r.ndim[k], r.shape[k]);
        }
    }
    const mc_call call = { op->name, nin, nout, in, to, p, op, 0 };
    if (!rc) rc = ((const row *)op)->of->run(&call);
    for (int i = 0; i < made; i++) {
        if (!rc && to[i] != out[i]) rc = mci_copy(out[i], to[i]);
        if (to[i] != out[i]) mc_drop(to[i]);
    }
    for (int i = 0; rc && i < made; i++) mci_out_fail(out[i], given >> i & 1);
    return rc;
}

const mc_plugin_row *mci_added_row(const void *op)
{
    return ((const row *)op)->of;
}

int mci_added_new(const mc_plugin_row *of, int nin, int nout, int promote, const int8_t *compute)
{
    row *r = mci_alloc(sizeof *r);
    if (!r) return -1;
    *r = (row){ .op = { .name = of->name,
                        .run = run_row,
                        .nin = (uint8_t)nin,
                        .nout = (uint8_t)nout,
                        .promote = (uint8_t)promote },
                .of = of };
    memcpy(r->op.compute, compute, sizeof r->op.compute);
    if (mci_op_add(&r->op)) {
        mci_free(r);
        return -1;
    }
    return r->op.id;
}
