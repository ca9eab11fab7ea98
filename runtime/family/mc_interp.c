/* mc_interp.c - driver of interpolation between knots on one axis.
 *
 * Queries of any shape are cut into fixed pieces; knots and values are shared by all. Checks
 * that the knots ascend, since a search in anything else answers nonsense. */
#include "family/mc_family.h"
#include "../../kernels/mck_interp.h"

#include <string.h>

#define PIECE 8192 /* queries of a task */

typedef struct interp_job {
    mck_interp k;
    mck_interp_fn fn;
    int64_t size;
} interp_job;

static void interp_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const interp_job *j = arg;
    (void)end;
    (void)worker;
    mck_interp k = j->k;
    const int64_t first = begin * PIECE;
    k.n = j->k.n - first < PIECE ? j->k.n - first : PIECE;
    k.in = (const char *)j->k.in + first * j->size;
    k.out = (char *)j->k.out + first * j->k.m * j->size;
    j->fn(&k);
}

static int ascending(const mc_tensor *t, int strictly)
{
    for (int64_t i = 0; i + 1 < t->numel; i++) {
        const double a =
            t->dtype == MC_F32 ? (double)((const float *)t->data)[i] : ((const double *)t->data)[i];
        const double b = t->dtype == MC_F32 ? (double)((const float *)t->data)[i + 1]
                                            : ((const double *)t->data)[i + 1];
        if (strictly ? !(a < b) : !(a <= b))
            return 0;
    }
    return 1;
}

/* A contiguous operand in dtype: itself or a copy in tmp. */
static int contiguous_in(mc_tensor *tmp, const mc_tensor *t, int dtype, const mc_tensor **use)
{
    *use = t;
    if (t->dtype == dtype && mci_contiguous(t))
        return MC_OK;
    *use = tmp;
    return mci_materialize(tmp, t, dtype);
}

/* operands: queries, knots[k], values. interp: values[k]; i[0], i[1]: left, right are given; d[0],
 * d[1]: their values. ppoly: values[c, k - 1, ...], i[0] order of the derivative, i[1] NaN
 * outside. */
int mci_interp_infer(const mci_job *job, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_tensor *x = job->in[0], *knots = job->in[1], *values = job->in[2];
    char s1[MCI_TEXT], s2[MCI_TEXT];
    int dtype, compute, poly = op->variant == MCI_INTERP_PIECES,
                        rc = mci_resolve(op, job->nin, job->in, &dtype, &compute);
    if (rc)
        return rc;
    if (knots->ndim != 1 || knots->numel < (poly ? 2 : 1))
        return mci_error(MC_ESHAPE, "%s: knots are %s; give one axis with at least %s", op->name,
                         mci_tensor_text(s1, sizeof s1, knots), poly ? "two" : "one");
    if (poly ? values->ndim < 2 || values->shape[0] < 1 || values->shape[1] != knots->numel - 1
             : values->ndim != 1 || values->numel != knots->numel)
        return mci_error(MC_ESHAPE, "%s: values are %s for knots %s; give %s", op->name,
                         mci_tensor_text(s1, sizeof s1, values),
                         mci_tensor_text(s2, sizeof s2, knots),
                         poly ? "coefficients [c, knots - 1, ...]" : "one value per knot");
    const int more = poly ? values->ndim - 2 : 0;
    if (x->ndim + more > MC_MAX_RANK)
        return mci_error(
            MC_ESHAPE, "%s: the result would have more than 8 axes; queries are %s and values %s",
            op->name, mci_tensor_text(s1, sizeof s1, x), mci_tensor_text(s2, sizeof s2, values));
    mci_result_one(r, dtype, x->ndim, x->shape);
    r->compute = compute;
    for (int i = 0; i < more; i++) r->shape[0][r->ndim[0]++] = values->shape[2 + i];
    return MC_OK;
}

int mci_interp_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                   const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    mc_tensor *out = outs[0], tmp[3] = { { 0 } }, res = { 0 };
    const mc_tensor *use[3], *knots = in[1], *values = in[2];
    char s1[MCI_TEXT];
    const int given = (out->flags & MC_FLAG_OUT) != 0, poly = op->variant == MCI_INTERP_PIECES;
    mci_result r;
    int rc = mci_interp_infer(&(mci_job){ op, p, nin, in, nout }, &r);
    if (rc) return rc;
    const int dtype = r.dtype[0], compute = r.compute, nd = r.ndim[0];
    const int64_t *shape = r.shape[0], m = mci_numel(nd - in[0]->ndim, shape + in[0]->ndim);
    for (int k = 0; k < 3 && !rc; k++)
        rc = contiguous_in(&tmp[k], in[k], compute, &use[k]);
    if (!rc && !ascending(use[1], poly))
        rc = mci_error(MC_EINVAL, "%s: knots %s do not ascend%s; sort them first", op->name,
                       mci_tensor_text(s1, sizeof s1, knots), poly ? " strictly" : "");
    if (!rc)
        rc = mci_out(op->name, out, dtype, nd, shape);
    if (rc) {
        for (int k = 0; k < 3; k++)
            mc_drop(&tmp[k]);
        return rc;
    }
    int direct = out->dtype == compute && mci_contiguous(out) && mci_overlap(out, use[0]) != 1;
    for (int k = 1; k < 3; k++)
        direct = direct && mci_overlap(out, use[k]) < 0;
    direct = direct && (m == 1 || mci_overlap(out, use[0]) < 0);
    if (!direct && out->numel > 0)
        rc = mc_create(&res, compute, nd, shape);
    if (!rc && out->numel > 0) {
        interp_job j = { .fn = (mck_interp_fn)mci_kernel_get(op->kernel, compute),
                         .size = MCI_SIZE(compute) };
        j.k = (mck_interp){ .n = use[0]->numel,
                            .k = knots->numel,
                            .m = m,
                            .out = direct ? out->data : res.data,
                            .in = use[0]->data,
                            .knots = use[1]->data,
                            .values = use[2]->data };
        if (poly) {
            j.k.c = values->shape[0];
            j.k.nu = p->i[0];
            j.k.outside = p->i[1] != 0;
        } else {
            j.k.left_given = p->i[0] != 0;
            j.k.right_given = p->i[1] != 0;
            j.k.left = p->d[0];
            j.k.right = p->d[1];
        }
        rc = mci_parallel((j.k.n + PIECE - 1) / PIECE, interp_task, &j);
        if (!rc && !direct)
            rc = mci_copy(out, &res);
    }
    mc_drop(&res);
    for (int k = 0; k < 3; k++)
        mc_drop(&tmp[k]);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}
