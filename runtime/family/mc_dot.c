/* mc_dot.c - driver of inner products along one axis: broadcasting, rows, pieces of long rows.
 *
 * Operands are read in place whatever their strides; only a dtype without a kernel is converted
 * first. A row longer than a piece is cut at fixed multiples of MCK_REDUCE_CHUNK and its partial
 * sums are folded by the sum kernel, so that the bits depend on shapes and strides only. */
#include "family/mc_family.h"
#include "../../kernels/mck_dot.h"
#include "../../kernels/mck_reduce.h"

#include <string.h>

#define TASK 65536 /* elements of a task, about */

typedef struct dot_job {
    mck_dot_fn fn;
    /* m, n: rows side by side in one call and elements of a row; out, a, b: first */
    mck_dot k;
    int nd;                 /* outer axes beyond the rows side by side */
    int64_t shape[MC_MAX_RANK], sa[MC_MAX_RANK], sb[MC_MAX_RANK];
    /* outer positions; pieces of a row; blocks of `rows` rows */
    int64_t groups, parts, blocks, rows;
    int64_t size, acc;      /* bytes of an operand's element and of a sum */
} dot_job;

/* Task = (outer position, block of rows, piece). Partial sums lie as [rows of the
 * result][parts]. */
static void dot_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const dot_job *j = arg;
    (void)end;
    (void)worker;
    const int64_t part = begin % j->parts, block = begin / j->parts % j->blocks,
                  group = begin / j->parts / j->blocks;
    int64_t oa = 0, ob = 0, rest = group;
    for (int i = j->nd - 1; i >= 0; i--) {
        const int64_t x = rest % j->shape[i];
        rest /= j->shape[i];
        oa += x * j->sa[i];
        ob += x * j->sb[i];
    }
    const int64_t r0 = block * j->rows, m = j->k.m - r0 < j->rows ? j->k.m - r0 : j->rows;
    const int64_t e0 = part * MCK_REDUCE_CHUNK,
                  n = j->k.n - e0 < MCK_REDUCE_CHUNK ? j->k.n - e0 : MCK_REDUCE_CHUNK;
    mck_dot k = j->k;
    k.m = m;
    k.n = j->parts > 1 ? n : j->k.n;
    k.a = (const char *)j->k.a + (oa + r0 * k.a_row + e0 * k.a_elem) * j->size;
    k.b = (const char *)j->k.b + (ob + r0 * k.b_row + e0 * k.b_elem) * j->size;
    /* pieces lie part by part: [parts][all rows], folded column-wise */
    k.out = (char *)j->k.out + (part * j->groups * j->k.m + group * j->k.m + r0) * j->acc;
    j->fn(&k);
}

/* params: axes[0] < 0, counted from the end of either operand; i[0] 1: without the conjugate
 * (dot) */
int mci_dot_infer(const mci_job *job, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_tensor *const *in = job->in;
    const int64_t axis = job->params->naxes < 1 ? -1 : job->params->axes[0];
    mc_tensor lead[2];
    char s1[MCI_TEXT], s2[MCI_TEXT];
    int dtype;
    r->nout = 1;
    int rc = mci_resolve(op, job->nin, in, &dtype, &r->compute);
    if (rc)
        return rc;
    for (int k = 0; k < 2; k++)
        if (axis >= 0 || axis + in[k]->ndim < 0)
            return mci_error(
                MC_ESHAPE, "%s: the axis is outside an operand, a is %s and b is %s; both need it",
                op->name, mci_tensor_text(s1, sizeof s1, in[0]),
                mci_tensor_text(s2, sizeof s2, in[1]));
    if (in[0]->shape[axis + in[0]->ndim] != in[1]->shape[axis + in[1]->ndim])
        return mci_error(
            MC_ESHAPE, "%s: sizes differ on the axis, a is %s and b is %s; they must be equal",
            op->name, mci_tensor_text(s1, sizeof s1, in[0]), mci_tensor_text(s2, sizeof s2, in[1]));
    for (int k = 0; k < 2; k++) { /* the outer axes */
        lead[k] = *in[k];
        for (int i = (int)(axis + lead[k].ndim); i + 1 < lead[k].ndim; i++)
            lead[k].shape[i] = lead[k].shape[i + 1];
        lead[k].ndim--;
    }
    const mc_tensor *both[2] = {&lead[0], &lead[1]};
    if (mci_broadcast(op->name, both, 2, &r->ndim[0], r->shape[0]))
        return mci_error(
            MC_ESHAPE,
            "%s: outer sizes do not broadcast, a is %s and b is %s; they must be equal or 1",
            op->name, mci_tensor_text(s1, sizeof s1, in[0]), mci_tensor_text(s2, sizeof s2, in[1]));
    r->dtype[0] = mci_kind(r->compute) == 'i' ? MC_I64 : dtype;
    return MC_OK;
}

int mci_dot_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in,
                const mc_params *p)
{
    (void)nout;
    mc_tensor *out = outs[0], tmp[2] = {{0}}, v[2] = {*in[0], *in[1]}, lead[2], flat = {0};
    const int given = (out->flags & MC_FLAG_OUT) != 0;
    const int64_t axis = p->naxes < 1 ? -1 : p->axes[0];
    int64_t elem[2], strides[2][MC_MAX_RANK];
    mci_result r;
    int rc = mci_dot_infer(&(mci_job){ op, p, nin, in, nout }, &r);
    if (rc || (rc = mci_out(op->name, out, r.dtype[0], r.ndim[0], r.shape[0])) != 0)
        return rc;
    const int compute = r.compute, nd = r.ndim[0], kind = mci_kind(compute),
              acc = kind == 'c'   ? MC_C128
                    : kind == 'f' ? MC_F64
                                  : MC_I64;
    const int64_t n = v[0].shape[axis + v[0].ndim], *shape = r.shape[0];
    const int64_t total = out->numel;
    if (total == 0)
        return MC_OK;
    if (n == 0) {
        rc = mci_fill(out, 0, 0);
        goto done;
    }
    for (int k = 0; k < 2 && !rc; k++) {
        if (v[k].dtype != compute) {
            rc = mci_materialize(&tmp[k], in[k], compute);
            v[k] = tmp[k];
        }
        const int at = (int)(axis + v[k].ndim);
        lead[k] = v[k];
        elem[k] = n > 1 ? v[k].strides[at] : 1;
        for (int i = at; i + 1 < v[k].ndim; i++) {
            lead[k].shape[i] = v[k].shape[i + 1];
            lead[k].strides[i] = v[k].strides[i + 1];
        }
        lead[k].ndim--;
        mci_broadcast_strides(&lead[k], nd, strides[k]);
    }
    if (rc)
        goto done;
    dot_job j = {.size = MCI_SIZE(compute), .acc = MCI_SIZE(acc), .groups = 1};
    memcpy(j.shape, shape, sizeof j.shape);
    j.nd = mci_collapse(nd, j.shape, 2, strides);
    memcpy(j.sa, strides[0], sizeof j.sa);
    memcpy(j.sb, strides[1], sizeof j.sb);
    j.fn = (mck_dot_fn)mci_kernel_get(MCK_K_VECDOT, compute);
    j.k = (mck_dot){ .m = 1,
                     .n = n,
                     .a = v[0].data,
                     .b = v[1].data,
                     .a_elem = elem[0],
                     .b_elem = elem[1],
                     .conj = kind == 'c' && p->i[0] == 0 };
    if (j.nd > 0) { /* the last outer axis counts the rows of a call */
        j.nd--;
        j.k.m = j.shape[j.nd];
        j.k.a_row = j.sa[j.nd];
        j.k.b_row = j.sb[j.nd];
    }
    for (int i = 0; i < j.nd; i++)
        j.groups *= j.shape[i];
    j.parts = (n + MCK_REDUCE_CHUNK - 1) / MCK_REDUCE_CHUNK;
    const int64_t piece = n < MCK_REDUCE_CHUNK ? n : MCK_REDUCE_CHUNK;
    j.rows = TASK / piece > 64 ? TASK / piece / 64 * 64 : 64;
    j.blocks = (j.k.m + j.rows - 1) / j.rows;
    int64_t bytes;
    char *sums = NULL, *folded = NULL;
    if (mci_size_mul(total * j.parts, j.acc, &bytes) || !(sums = mci_alloc((size_t)bytes))) {
        rc = mc_errstatus();
        goto done;
    }
    j.k.out = sums;
    rc = mci_parallel(j.groups * j.blocks * j.parts, dot_task, &j);
    if (!rc && j.parts > 1) {
        folded = mci_alloc((size_t)(total * j.acc));
        rc = folded ? MC_OK : mc_errstatus();
        if (!rc) {
            mck_reduce k = { .m = total,
                             .n = j.parts,
                             .out = folded,
                             .in = sums,
                             .row_stride = 1,
                             .elem_stride = total };
            ((mck_reduce_fn)mci_kernel_get(MCK_K_SUM, acc))(&k);
        }
    }
    if (!rc) {
        int64_t stride = 1;
        flat.data = folded ? folded : sums;
        flat.dtype = acc;
        flat.ndim = nd;
        flat.numel = total;
        for (int i = nd - 1; i >= 0; i--) {
            flat.shape[i] = shape[i];
            flat.strides[i] = stride;
            stride *= shape[i];
        }
        rc = mci_copy(out, &flat);
    }
    mci_free(sums);
    mci_free(folded);
done:
    mc_drop(&tmp[0]);
    mc_drop(&tmp[1]);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}
