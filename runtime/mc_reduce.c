/* mc_reduce.c - driver of reductions over axis lists.
 *
 * Kept and reduced axes are collapsed separately. Three ways through memory: rows (reduced axis walked with one stride), columns
 * (the kept axis is contiguous), gather (anything else, and dtypes without a kernel: pieces are converted into a buffer). Rows are
 * cut at MCK_REDUCE_CHUNK, columns at a number of rows that depends on the shape only; partial results are folded by the same
 * kernels, so the bits do not depend on the number of threads. May not know Lua. */
#include "mc_rows.h"
#include "mc_ops.h"
#include "../kernels/mck.h"

#include <math.h>
#include <string.h>

#define CHUNK MCK_REDUCE_CHUNK
#define COLBLOCK 512
#define TASK 65536 /* elements a task should have at least */

typedef struct reduce_job {
    mck_reduce_fn fn;
    const mc_tensor *t;
    int compute, acc;        /* dtypes of the kernel's input and of its partial results */
    int kd, rd;              /* collapsed kept and reduced ranks */
    int64_t kshape[MC_MAX_RANK], kstr[MC_MAX_RANK], rshape[MC_MAX_RANK], rstr[MC_MAX_RANK];
    int64_t m, n;            /* kept and reduced element counts */
    int64_t parts, step;     /* pieces per row and their length; rows per task when parts == 1 */
    int64_t colblocks;
    int direct;
    char *out;               /* [m][parts] (rows) or [parts][m] (columns) of acc */
    char *buf;               /* CHUNK elements of compute per worker (gather) */
    const double *mean;      /* sqdev */
} reduce_job;

static int64_t kept_offset(const reduce_job *j, int64_t row)
{
    int64_t off = 0;
    for (int i = j->kd - 1; i >= 0; i--) {
        off += row % j->kshape[i] * j->kstr[i];
        row /= j->kshape[i];
    }
    return off;
}

static void row_piece(const reduce_job *j, int64_t row, int64_t part, int worker)
{
    int64_t first = part * j->step, n = j->n - first < j->step ? j->n - first : j->step;
    const char *base = mci_at(j->t, kept_offset(j, row));
    mck_reduce k = {.m = 1, .n = n, .out = j->out + (row * j->parts + part) * MCI_SIZE(j->acc), .row_stride = 1, .elem_stride = 1,
                    .p = j->mean ? j->mean + row : NULL};
    if (j->direct) {
        int64_t rs = j->rd ? j->rstr[0] : 1;
        k.in = base + first * rs * MCI_SIZE(j->t->dtype);
        k.elem_stride = rs;
    } else {
        mc_tensor sub = {.data = (char *)(uintptr_t)base, .dtype = j->t->dtype, .ndim = j->rd, .numel = j->n};
        memcpy(sub.shape, j->rshape, sizeof sub.shape);
        memcpy(sub.strides, j->rstr, sizeof sub.strides);
        char *buf = j->buf + (int64_t)worker * CHUNK * MCI_SIZE(j->compute);
        mci_gather(&sub, first, n, j->compute, buf);
        k.in = buf;
    }
    j->fn(&k);
}

static void rows_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const reduce_job *j = arg;
    (void)end;
    if (j->parts > 1) {
        row_piece(j, begin / j->parts, begin % j->parts, worker);
        return;
    }
    int64_t r0 = begin * j->colblocks, r1 = r0 + j->colblocks < j->m ? r0 + j->colblocks : j->m;
    if (j->direct && j->kd <= 1) {
        mck_reduce k = {.m = r1 - r0, .n = j->n, .out = j->out + r0 * MCI_SIZE(j->acc), .in = mci_at(j->t, kept_offset(j, r0)),
                        .row_stride = j->kd ? j->kstr[0] : 1, .elem_stride = j->rd ? j->rstr[0] : 1, .p = j->mean ? j->mean + r0 : NULL};
        if (k.row_stride == 1 && k.elem_stride != 1 && k.m > 1) { /* would be read as columns: the same numbers, other order */
            for (int64_t r = r0; r < r1 && !mc_cancel_pending(); r++)
                row_piece(j, r, 0, worker);
            return;
        }
        j->fn(&k);
        return;
    }
    for (int64_t r = r0; r < r1 && !mc_cancel_pending(); r++)
        row_piece(j, r, 0, worker);
}

static void columns_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const reduce_job *j = arg;
    (void)end;
    (void)worker;
    int64_t cols = j->kshape[j->kd - 1], rest = begin;
    int64_t part = rest % j->parts;
    rest /= j->parts;
    int64_t c0 = rest % j->colblocks * COLBLOCK, outer = rest / j->colblocks;
    int64_t nc = cols - c0 < COLBLOCK ? cols - c0 : COLBLOCK, first = part * j->step;
    int64_t row = outer * cols + c0, n = j->n - first < j->step ? j->n - first : j->step;
    mck_reduce k = {.m = nc, .n = n, .out = j->out + (part * j->m + row) * MCI_SIZE(j->acc), .row_stride = 1, .elem_stride = j->rstr[0],
                    .in = mci_at(j->t, kept_offset(j, row) + first * j->rstr[0]), .p = j->mean ? j->mean + row : NULL};
    if (nc == 1)
        k.row_stride = 1; /* a single column is a row with a stride */
    j->fn(&k);
}

/* dtype of partial results of a kernel */
static int acc_dtype(int kernel, int compute)
{
    switch (kernel) {
    case MCK_K_SUM: case MCK_K_PROD: return compute == MC_F32 ? MC_F64 : compute == MC_C64 ? MC_C128 : compute;
    case MCK_K_SQDEV: return MC_F64;
    case MCK_K_ARGMAX: case MCK_K_ARGMIN: return MC_I64;
    default: return compute;
    }
}

/* argmax over several pieces: the values at the partial positions decide. idx [m][parts] -> idx [m]. */
static int fold_positions(reduce_job *j, int kernel, int64_t *idx)
{
    int64_t es = MCI_SIZE(j->compute);
    char *vals = mci_alloc((size_t)(j->parts * es));
    if (!vals)
        return mc_errstatus();
    mck_reduce_fn fn = (mck_reduce_fn)mci_kernel_get(kernel, j->compute);
    mc_tensor sub = {.dtype = j->t->dtype, .ndim = j->rd, .numel = j->n};
    memcpy(sub.shape, j->rshape, sizeof sub.shape);
    memcpy(sub.strides, j->rstr, sizeof sub.strides);
    for (int64_t r = 0; r < j->m; r++) {
        sub.data = mci_at(j->t, kept_offset(j, r));
        int64_t *row = idx + r * j->parts, best;
        for (int64_t p = 0; p < j->parts; p++) {
            row[p] += p * j->step;
            mci_gather(&sub, row[p], 1, j->compute, vals + p * es);
        }
        mck_reduce k = {.m = 1, .n = j->parts, .out = &best, .in = vals, .row_stride = 1, .elem_stride = 1};
        fn(&k);
        idx[r] = row[best];
    }
    mci_free(vals);
    return MC_OK;
}

/* Reduces t with one kernel into a fresh array of acc [m] (owns: mci_free). n must be positive. */
static int reduce_kernel(const mc_tensor *t, unsigned mask, int kernel, int compute, const double *mean, void **result)
{
    reduce_job j = {.t = t, .compute = compute, .acc = acc_dtype(kernel, compute), .mean = mean};
    *result = NULL;
    int kdtype = compute == MC_BOOL ? MC_U8 : compute;
    j.fn = (mck_reduce_fn)mci_kernel_get(kernel, kdtype);
    mc_assert(j.fn != NULL);
    int64_t ks[1][MC_MAX_RANK], rs[1][MC_MAX_RANK];
    for (int i = 0; i < t->ndim; i++) {
        if (mask >> i & 1) {
            rs[0][j.rd] = t->strides[i];
            j.rshape[j.rd++] = t->shape[i];
        } else {
            ks[0][j.kd] = t->strides[i];
            j.kshape[j.kd++] = t->shape[i];
        }
    }
    j.m = mci_numel(j.kd, j.kshape);
    j.n = mci_numel(j.rd, j.rshape);
    j.kd = mci_collapse(j.kd, j.kshape, 1, ks);
    j.rd = mci_collapse(j.rd, j.rshape, 1, rs);
    memcpy(j.kstr, ks[0], sizeof j.kstr);
    memcpy(j.rstr, rs[0], sizeof j.rstr);
    j.direct = t->dtype == compute && j.rd <= 1;
    int column_kernel = kernel != MCK_K_PROD && kernel != MCK_K_ARGMAX && kernel != MCK_K_ARGMIN;
    int columns = j.direct && column_kernel && j.rd == 1 && j.kd > 0 && j.kstr[j.kd - 1] == 1 && j.rstr[0] != 1 && j.kshape[j.kd - 1] >= 4;
    int64_t es = MCI_SIZE(j.acc), tasks;
    if (columns) {
        int64_t cols = j.kshape[j.kd - 1], width = cols < COLBLOCK ? cols : COLBLOCK;
        j.colblocks = (cols + COLBLOCK - 1) / COLBLOCK;
        j.step = TASK / width > 64 ? TASK / width : 64;
        j.parts = (j.n + j.step - 1) / j.step;
        tasks = j.m / cols * j.colblocks * j.parts;
    } else {
        j.step = CHUNK;
        j.parts = (j.n + CHUNK - 1) / CHUNK;
        j.colblocks = j.parts > 1 ? 1 : TASK / j.n > 1 ? TASK / j.n : 1; /* rows per task */
        tasks = j.parts > 1 ? j.m * j.parts : (j.m + j.colblocks - 1) / j.colblocks;
    }
    int64_t bytes;
    if (mci_size_mul(j.m * j.parts, es, &bytes))
        return mc_errstatus();
    j.out = mci_alloc((size_t)bytes);
    if (j.out && !j.direct)
        j.buf = mci_alloc((size_t)(mci_workers(tasks) * (int64_t)CHUNK * MCI_SIZE(compute)));
    int rc = !j.out || (!j.direct && !j.buf) ? mc_errstatus() : mci_parallel(tasks, columns ? columns_task : rows_task, &j);
    mci_free(j.buf);
    if (!rc && j.parts > 1) {
        if (kernel == MCK_K_ARGMAX || kernel == MCK_K_ARGMIN) {
            rc = fold_positions(&j, kernel, (int64_t *)(void *)j.out);
        } else {
            char *folded = mci_alloc((size_t)(j.m * es));
            if (folded) {
                int fk = kernel == MCK_K_SQDEV ? MCK_K_SUM : kernel, fdt = j.acc == MC_BOOL ? MC_U8 : j.acc;
                mck_reduce k = {.m = j.m, .n = j.parts, .out = folded, .in = j.out, .row_stride = columns ? 1 : j.parts,
                                .elem_stride = columns ? j.m : 1};
                ((mck_reduce_fn)mci_kernel_get(fk, fdt))(&k);
                mci_free(j.out);
                j.out = folded;
            } else {
                rc = mc_errstatus();
            }
        }
    }
    if (rc) {
        mci_free(j.out);
        return rc;
    }
    *result = j.out;
    return MC_OK;
}

/* Value of an empty reduction in acc. */
static void fill_identity(int op, int acc, int64_t m, void *v)
{
    int none = op == MC_OP_MEAN || op == MC_OP_VAR || op == MC_OP_STD;
    double x[2] = {op == MC_OP_PROD || op == MC_OP_ALL ? 1 : none ? NAN : 0, none ? NAN : 0};
    mci_cast(acc, MC_C128)(m, v, 1, x, 0);
}

int mci_reduce_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    const mc_tensor *t = in[0];
    mc_tensor *out = outs[0], flat = {0};
    char s[MCI_TEXT];
    int dtype, compute, nd, given = (out->flags & MC_FLAG_OUT) != 0;
    int64_t shape[MC_MAX_RANK];
    unsigned mask;
    int rc = mci_resolve(op, nin, in, &dtype, &compute);
    if (rc || (rc = mci_axes_mask(op->name, t, p, &mask)) != 0)
        return rc;
    int positions = op->id == MC_OP_ARGMAX || op->id == MC_OP_ARGMIN;
    if (positions && p->naxes > 1)
        return mci_error(MC_ESHAPE, "%s: takes one axis, or none for everything; operand is %s", op->name, mci_tensor_text(s, sizeof s, t));
    mci_reduced_shape(t, mask, p->keepdim, &nd, shape);
    int64_t m = mci_numel(nd, shape), n = 1;
    for (int i = 0; i < t->ndim; i++)
        if (mask >> i & 1)
            n *= t->shape[i];
    if (op->empty_error && n == 0 && m > 0)
        return mci_error(MC_ESHAPE, "%s: nothing to reduce in %s; give it at least one element", op->name, mci_tensor_text(s, sizeof s, t));
    int rdtype = op->result == MCI_RESULT_SAME && mci_kind(compute) != 'f' && mci_kind(compute) != 'c' ? compute : mci_result_dtype(op, dtype);
    if (p->dtype >= 0)
        rdtype = p->dtype;
    if ((rc = mci_out(op->name, out, rdtype, nd, shape)) != 0)
        return rc;
    if (m == 0)
        return MC_OK;

    int kernel = op->kernel, acc;
    void *v = NULL, *mean = NULL;
    int moments = op->id == MC_OP_MEAN || op->id == MC_OP_VAR || op->id == MC_OP_STD;
    if (op->id == MC_OP_ANY) kernel = MCK_K_ANY;
    if (moments) kernel = MCK_K_SUM;
    acc = acc_dtype(kernel, compute);
    if (n == 0) {
        v = mci_alloc((size_t)(m * MCI_SIZE(acc)));
        if (!v)
            rc = mc_errstatus();
        else
            fill_identity(op->id, acc, m, v);
    } else {
        rc = reduce_kernel(t, mask, kernel, compute, NULL, &v);
    }
    if (!rc && moments && n > 0) {
        double *d = v;
        int64_t count = acc == MC_C128 ? 2 * m : m;
        for (int64_t i = 0; i < count; i++)
            d[i] /= (double)n;
        if (op->id != MC_OP_MEAN) {
            mean = v;
            v = NULL;
            rc = reduce_kernel(t, mask, MCK_K_SQDEV, compute, mean, &v);
            d = v;
            double dof = (double)n - p->d[0];
            for (int64_t i = 0; !rc && i < m; i++)
                d[i] = dof > 0 ? d[i] / dof : NAN;
            for (int64_t i = 0; !rc && op->id == MC_OP_STD && i < m; i++)
                d[i] = sqrt(d[i]);
        }
    }
    if (!rc && positions) {
        int64_t *idx = v;
        for (int64_t i = 0; i < m; i++)
            idx[i] += p->base;
    }
    if (!rc) {
        flat.data = v;
        flat.dtype = acc;
        flat.ndim = nd;
        flat.numel = m;
        int64_t stride = 1;
        for (int i = nd - 1; i >= 0; i--) {
            flat.shape[i] = shape[i];
            flat.strides[i] = stride;
            stride *= shape[i];
        }
        rc = mc_copy(out, &flat);
    }
    mci_free(v);
    mci_free(mean);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}
