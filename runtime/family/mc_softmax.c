/* mc_softmax.c - driver of softmax and log_softmax over axis lists.
 *
 * Three ways, chosen by layout and shape only: rows (the axis lies contiguous in operand and
 * result), columns (a kept axis does), and rows by way of a buffer (conversions, several axes,
 * anything else). What fits the cache is done in one go; longer rows get their maximum and sum
 * from the reductions first. */
#include "family/mc_rows.h"
#include "family/mc_family.h"
#include "../../kernels/mck_partial.h"
#include "../../kernels/mck_softmax.h"

#include <string.h>

#define TASK 65536        /* elements a task should have at least */
#define CACHED 262144     /* bytes of a row, or of a strip of columns, that are done in one go */
#define STRIP 16          /* columns of a strip at least */

typedef struct softmax_job {
    mck_softmax_fn fn;
    int log, kd;
    /* kept axes; strides of operand and result */
    int64_t kshape[MC_MAX_RANK], kstr[2][MC_MAX_RANK];
    int64_t m, n, se[2];                               /* stride along the row */
    /* per task; pieces of a row; columns of a strip */
    int64_t rows, step, parts, width, strips;
    mc_tensor in, out;                                 /* kept axes first, then those of the row */
    const mck_lse *given;
    char *buf;
    int64_t size;
    int compute;
} softmax_job;

static int64_t offset(const softmax_job *j, int64_t row, int which)
{
    int64_t off = 0;
    for (int i = j->kd - 1; i >= 0; i--) {
        off += row % j->kshape[i] * j->kstr[which][i];
        row /= j->kshape[i];
    }
    return off;
}

static void rows_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const softmax_job *j = arg;
    (void)end;
    (void)worker;
    int64_t part = begin % j->parts, r0 = begin / j->parts * j->rows,
            r1 = r0 + j->rows < j->m ? r0 + j->rows : j->m;
    int64_t first = part * j->step, n = j->n - first < j->step ? j->n - first : j->step;
    for (int64_t r = r0; r < r1 && !mc_cancel_pending(); r++) {
        mck_softmax k = { .m = 1,
                          .n = n,
                          .in_elem = 1,
                          .out_elem = 1,
                          .log = j->log,
                          .given = j->given ? j->given + r : NULL };
        k.in = mci_at(&j->in, offset(j, r, 0) + first);
        k.out = mci_at(&j->out, offset(j, r, 1) + first);
        j->fn(&k);
    }
}

static void columns_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const softmax_job *j = arg;
    (void)end;
    (void)worker;
    int64_t cols = j->kshape[j->kd - 1], part = begin % j->parts, rest = begin / j->parts;
    int64_t c0 = rest % j->strips * j->width, row = rest / j->strips * cols + c0;
    int64_t first = part * j->step, n = j->n - first < j->step ? j->n - first : j->step;
    mck_softmax k = { .m = cols - c0 < j->width ? cols - c0 : j->width,
                      .n = n,
                      .in_row = 1,
                      .out_row = 1,
                      .in_elem = j->se[0],
                      .out_elem = j->se[1],
                      .log = j->log,
                      .given = j->given ? j->given + row : NULL };
    k.in = mci_at(&j->in, offset(j, row, 0) + first * j->se[0]);
    k.out = mci_at(&j->out, offset(j, row, 1) + first * j->se[1]);
    mc_assert(k.m > 1);
    j->fn(&k);
}

static void buffer_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const softmax_job *j = arg;
    (void)end;
    int64_t part = begin % j->parts, r0 = begin / j->parts * j->rows,
            m = j->m - r0 < j->rows ? j->m - r0 : j->rows;
    int64_t first = part * j->step, n = j->n - first < j->step ? j->n - first : j->step;
    char *buf = j->buf + (int64_t)worker * j->rows * j->step * j->size;
    mci_gather(&j->in, r0 * j->n + first, m * n, j->compute, buf);
    mck_softmax k = { .m = m,
                      .n = n,
                      .out = buf,
                      .in = buf,
                      .in_row = n,
                      .out_row = n,
                      .in_elem = 1,
                      .out_elem = 1,
                      .log = j->log,
                      .given = j->given ? j->given + r0 : NULL };
    j->fn(&k);
    mci_scatter(&j->out, r0 * j->n + first, m * n, j->compute, buf);
}

/* Kept and row axes of operand and result; the headers with the row's axes last. Returns the rank
 * of the collapsed row. */
static int arrange(softmax_job *j, const mc_tensor *t, const mc_tensor *out, unsigned mask)
{
    int64_t rshape[MC_MAX_RANK], rstr[2][MC_MAX_RANK];
    int rd = 0, at = 0;
    j->in = *t;
    j->out = *out;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < t->ndim; i++) {
            if ((int)(mask >> i & 1) != pass)
                continue;
            int64_t *shape = pass ? rshape : j->kshape;
            int k = pass ? rd++ : j->kd++;
            shape[k] = t->shape[i];
            (pass ? rstr : j->kstr)[0][k] = t->strides[i];
            (pass ? rstr : j->kstr)[1][k] = out->strides[i];
            j->in.shape[at] = j->out.shape[at] = t->shape[i];
            j->in.strides[at] = t->strides[i];
            j->out.strides[at++] = out->strides[i];
        }
    j->m = mci_numel(j->kd, j->kshape);
    j->n = mci_numel(rd, rshape);
    j->kd = mci_collapse(j->kd, j->kshape, 2, j->kstr);
    rd = mci_collapse(rd, rshape, 2, rstr);
    j->se[0] = rd ? rstr[0][0] : 1;
    j->se[1] = rd ? rstr[1][0] : 1;
    return rd;
}

static int run(softmax_job *j, const mc_tensor *t, const mc_tensor *out, unsigned mask)
{
    int rd = arrange(j, t, out, mask),
        plain = t->dtype == j->compute && out->dtype == j->compute && rd <= 1, last = j->kd - 1;
    int rows = plain && j->se[0] == 1 && j->se[1] == 1;
    int columns = plain && !rows && j->kd > 0 && j->kstr[0][last] == 1 && j->kstr[1][last] == 1 &&
                  j->kshape[last] >= 4 && j->se[0] != 1 && j->se[1] != 1;
    int64_t row_bytes = j->n * j->size, cached = columns ? CACHED / STRIP : CACHED;
    mck_lse *pairs = NULL;
    int rc = row_bytes > cached ? mci_reduce_lse(t, mask, j->compute, &pairs) : MC_OK;
    j->given = pairs;
    j->step = pairs ? TASK : j->n;
    int64_t tasks;
    if (columns) {
        int64_t cols = j->kshape[last], most = pairs ? MCK_REDUCE_COLUMNS : CACHED / row_bytes;
        j->width = most > MCK_REDUCE_COLUMNS ? MCK_REDUCE_COLUMNS : most;
        j->width = cols < j->width ? cols : j->width;
        j->strips = (cols + j->width - 1) / j->width;
        while (cols - (j->strips - 1) * j->width == 1) {
            /* a strip of one column would be read as a row */
            j->width--;
            j->strips = (cols + j->width - 1) / j->width;
        }
        j->step = pairs ? TASK / j->width : j->n;
        j->parts = (j->n + j->step - 1) / j->step;
        tasks = j->m / cols * j->strips * j->parts;
    } else {
        j->parts = (j->n + j->step - 1) / j->step;
        j->rows = j->parts > 1 ? 1 : TASK / j->n > 1 ? TASK / j->n : 1;
        tasks = (j->m + j->rows - 1) / j->rows * j->parts;
        if (!rc && !rows) {
            j->buf = mci_alloc((size_t)(mci_workers(tasks) * j->rows * j->step * j->size));
            rc = j->buf ? MC_OK : mc_errstatus();
        }
    }
    if (!rc)
        rc = mci_parallel(tasks, columns ? columns_task : rows ? rows_task : buffer_task, j);
    mci_free(j->buf);
    mci_free(pairs);
    return rc;
}

int mci_softmax_infer(const mci_job *job, mci_result *r)
{
    const mc_tensor *t = job->in[0];
    unsigned mask;
    r->nout = 1;
    int rc = mci_resolve(job->op, job->nin, job->in, &r->dtype[0], &r->compute);
    r->ndim[0] = t->ndim;
    memcpy(r->shape[0], t->shape, sizeof t->shape);
    return rc ? rc : mci_axes_mask(job->op->name, t, job->params, &mask);
}

int mci_softmax_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                    const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    const mc_tensor *t = in[0];
    mc_tensor *out = outs[0], tmp = {0};
    const int given = (out->flags & MC_FLAG_OUT) != 0;
    unsigned mask;
    mci_result r;
    int rc = mci_softmax_infer(&(mci_job){ op, p, nin, in, nout }, &r);
    if (rc || (rc = mci_axes_mask(op->name, t, p, &mask)) != 0 ||
        (rc = mci_out(op->name, out, r.dtype[0], r.ndim[0], r.shape[0])) != 0)
        return rc;
    softmax_job j = {.log = op->variant == MCI_SOFTMAX_LOG, .compute = r.compute};
    if (t->numel == 0)
        return MC_OK;
    j.fn = (mck_softmax_fn)mci_kernel_get(MCK_K_SOFTMAX, j.compute);
    j.size = MCI_SIZE(j.compute);
    if (mci_overlap(out, t) > 0)
        rc = mci_materialize(&tmp, t, t->dtype);
    if (!rc)
        rc = run(&j, tmp.data ? &tmp : t, out, mask);
    mc_drop(&tmp);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}

static void run_rows(const mci_row_op *r, void *out, const void *in)
{
    const softmax_job *j = r->state;
    mck_softmax k = { .m = j->m,
                      .n = j->n,
                      .out = out,
                      .in = in,
                      .in_row = j->n,
                      .out_row = j->n,
                      .in_elem = 1,
                      .out_elem = 1,
                      .log = j->log };
    j->fn(&k);
}

int mci_softmax_rows(mci_row_op *r, const mci_op *op, const mc_tensor *out, const mc_tensor *in,
                     const mc_params *p)
{
    int dtype, compute;
    int64_t m, n;
    if (mci_resolve(op, 1, &in, &dtype, &compute) || compute != in->dtype ||
        out->dtype != compute || !mci_last_axes(in, p, &m, &n) || m * n == 0 ||
        n * MCI_SIZE(compute) > CACHED || !mci_contiguous(out))
        return 0;
    softmax_job *j = mci_calloc(1, sizeof *j);
    if (!j)
        return 0;
    j->fn = (mck_softmax_fn)mci_kernel_get(MCK_K_SOFTMAX, compute);
    j->log = op->variant == MCI_SOFTMAX_LOG;
    j->m = m;
    j->n = n;
    *r = (mci_row_op){run_rows, j};
    return 1;
}
