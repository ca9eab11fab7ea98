/* mc_cross.c - driver of vector products in space: broadcasting, rows, blocks of rows.
 *
 * Operands are read in place whatever their strides; the result is new and dense. */
#include "family/mc_family.h"
#include "../../kernels/mck_dot.h"

#include <string.h>

enum { ROWS = 8192 }; /* of a task */

typedef struct cross_job {
    mck_dot_fn fn;
    mck_dot k;              /* m: rows side by side; out, a, b: first */
    int nd;                 /* outer axes beyond the rows */
    int64_t shape[MC_MAX_RANK], sa[MC_MAX_RANK], sb[MC_MAX_RANK];
    int64_t blocks, size;   /* blocks of ROWS rows; bytes of an element */
} cross_job;

/* Task = (outer position, block of rows). */
static void cross_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const cross_job *j = arg;
    (void)end;
    (void)worker;
    const int64_t r0 = begin % j->blocks * ROWS, group = begin / j->blocks;
    int64_t oa = 0, ob = 0, rest = group;
    for (int i = j->nd - 1; i >= 0; i--) {
        const int64_t x = rest % j->shape[i];
        rest /= j->shape[i];
        oa += x * j->sa[i];
        ob += x * j->sb[i];
    }
    mck_dot k = j->k;
    k.m = j->k.m - r0 < ROWS ? j->k.m - r0 : ROWS;
    k.a = (const char *)j->k.a + (oa + r0 * k.a_row) * j->size;
    k.b = (const char *)j->k.b + (ob + r0 * k.b_row) * j->size;
    k.out = (char *)j->k.out + 3 * (group * j->k.m + r0) * j->size;
    j->fn(&k);
}

/* The operands without their last axis, and the step along it. */
static void outer(const mc_tensor *const *in, mc_tensor *lead, int64_t *elem)
{
    for (int i = 0; i < 2; i++) {
        lead[i] = *in[i];
        elem[i] = lead[i].strides[--lead[i].ndim];
    }
}

int mci_cross_infer(const mci_job *job, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_tensor *const *in = job->in;
    char s1[MCI_TEXT], s2[MCI_TEXT];
    mc_tensor lead[2];
    int64_t elem[2];
    r->nout = 1;
    int rc = mci_resolve(op, job->nin, in, &r->dtype[0], &r->compute);
    if (rc)
        return rc;
    if (in[0]->dtype != r->compute || in[1]->dtype != r->compute)
        return mci_error(MC_EINTERNAL, "%s: operands of one dtype and a new result are needed",
                         op->name);
    for (int i = 0; i < 2; i++)
        if (in[i]->ndim < 1 || in[i]->shape[in[i]->ndim - 1] != 3)
            return mci_error(MC_ESHAPE, "%s: operands are %s and %s; the axis must have size 3",
                             op->name, mci_tensor_text(s1, sizeof s1, in[0]),
                             mci_tensor_text(s2, sizeof s2, in[1]));
    outer(in, lead, elem);
    const mc_tensor *both[2] = {&lead[0], &lead[1]};
    if (mci_broadcast(op->name, both, 2, &r->ndim[0], r->shape[0]))
        return mci_error(
            MC_ESHAPE,
            "%s: outer sizes do not broadcast, a is %s and b is %s; they must be equal or 1",
            op->name, mci_tensor_text(s1, sizeof s1, in[0]), mci_tensor_text(s2, sizeof s2, in[1]));
    r->shape[0][r->ndim[0]++] = 3; /* one axis less than the larger operand has */
    return MC_OK;
}

/* Both operands have one dtype with a kernel and three elements along the last axis; the result is
 * contiguous and apart from them. */
int mci_cross_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in,
                  const mc_params *p)
{
    (void)nout;
    mc_tensor *out = outs[0], lead[2];
    const int given = (out->flags & MC_FLAG_OUT) != 0;
    int64_t strides[2][MC_MAX_RANK], elem[2];
    mci_result r;
    int rc = mci_cross_infer(&(mci_job){ op, p, nin, in, nout }, &r);
    if (rc)
        return rc;
    if (given &&
        (!mci_contiguous(out) || mci_overlap(out, in[0]) >= 0 || mci_overlap(out, in[1]) >= 0))
        return mci_error(MC_EINTERNAL, "%s: operands of one dtype and a new result are needed",
                         op->name);
    if ((rc = mci_out(op->name, out, r.dtype[0], r.ndim[0], r.shape[0])) != 0 || out->numel == 0)
        return rc;
    outer(in, lead, elem);
    const int compute = r.compute, nd = r.ndim[0] - 1;
    const int64_t *shape = r.shape[0];
    for (int i = 0; i < 2; i++)
        mci_broadcast_strides(&lead[i], nd, strides[i]);
    cross_job j = { .size = MCI_SIZE(compute),
                    .fn = (mck_dot_fn)mci_kernel_get(MCK_K_CROSS_PRODUCT, compute) };
    memcpy(j.shape, shape, sizeof j.shape);
    j.nd = mci_collapse(nd, j.shape, 2, strides);
    memcpy(j.sa, strides[0], sizeof j.sa);
    memcpy(j.sb, strides[1], sizeof j.sb);
    j.k = (mck_dot){ .m = 1,
                     .n = 3,
                     .out = out->data,
                     .a = in[0]->data,
                     .b = in[1]->data,
                     .a_elem = elem[0],
                     .b_elem = elem[1] };
    if (j.nd > 0) { /* the last outer axis counts the rows of a call */
        j.nd--;
        j.k.m = j.shape[j.nd];
        j.k.a_row = j.sa[j.nd];
        j.k.b_row = j.sb[j.nd];
    }
    j.blocks = (j.k.m + ROWS - 1) / ROWS;
    int64_t groups = 1;
    for (int i = 0; i < j.nd; i++)
        groups *= j.shape[i];
    if ((rc = mci_parallel(groups * j.blocks, cross_task, &j)) != 0)
        mci_out_fail(out, given);
    return rc;
}
