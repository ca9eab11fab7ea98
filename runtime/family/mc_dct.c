/* mc_dct.c - driver of discrete cosine and sine transforms along one axis.
 *
 * Decides which Fourier transform a type needs and the table of factors of a call. Rows run as
 * in mc_fft.c: a task is a fixed number of rows, so the bits do not depend on the threads; the
 * engine is whatever mc_fft.c found. Complex operands are real ones with a last axis of two.
 * Workspace: the table (at most 4 n + 12 sqrt n + 6 doubles) and, for each worker, one operand
 * and one result of the transform. */
#include "family/mc_fft.h"
#include "base/mc_memory.h"
#include "family/mc_family.h"
#include "family/mc_rows.h"
#include "../../kernels/mck_dct.h"

#include <math.h>
#include <string.h>

typedef void (*dct_fn)(const mck_dct *);
enum { C2C = 0, R2C = 2, C2R = 3 }; /* kinds of plan */

typedef struct dct_job {
    mci_fft_use use;
    dct_fn before, after;
    mck_dct k;
    const char *in;
    char *out, *buf;
    int64_t m, rows, have, take, size;      /* size: bytes of a real */
    int64_t plan_in, plan_out, bufsize;     /* bytes */
} dct_job;

static int64_t padded(int64_t bytes) { return (bytes + 63) & ~(int64_t)63; }

static void dct_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const dct_job *j = arg;
    const int64_t n = j->k.n, r0 = begin * j->rows, r1 = r0 + j->rows < j->m ? r0 + j->rows : j->m;
    char *a = j->buf + (int64_t)worker * j->bufsize, *b = a + padded(j->plan_in),
         *row = b + padded(j->plan_out);
    (void)end;
    for (int64_t r = r0; r < r1; r++) {
        mck_dct k = j->k;
        k.in = j->in + r * j->have * j->size;
        k.out = a;
        if (j->take < n) { /* filled with zeros */
            memcpy(row, k.in, (size_t)(j->take * j->size));
            memset(row + j->take * j->size, 0, (size_t)((n - j->take) * j->size));
            k.in = row;
        }
        j->before(&k);
        j->use.execute(j->use.plan, a, b);
        k.in = b;
        k.out = j->out + r * n * j->size;
        j->after(&k);
    }
}

/* A complex header as a real one with a last axis of two. */
static int as_pairs(const mci_op *op, mc_tensor *v, const mc_tensor *t)
{
    char s[MCI_TEXT];
    *v = *t;
    if (mci_kind(t->dtype) != 'c')
        return MC_OK;
    if (t->ndim == MC_MAX_RANK)
        return mci_error(MC_ESHAPE, "%s: operand is %s; complex operands may have 7 axes", op->name,
                         mci_tensor_text(s, sizeof s, t));
    for (int i = 0; i < t->ndim; i++)
        v->strides[i] = 2 * t->strides[i];
    v->dtype = t->dtype == MC_C64 ? MC_F32 : MC_F64;
    v->shape[t->ndim] = 2;
    v->strides[t->ndim] = 1;
    v->ndim = t->ndim + 1;
    v->numel = 2 * t->numel;
    return MC_OK;
}

/* Factors of the type into a new block; NULL with the record set. */
static double *factors(mck_dct *k)
{
    const dct_fn fill = (dct_fn)mci_function(MCK_FN_DCT_TABLE);
    const int64_t n = k->n, root = (int64_t)sqrt((double)n) + 1;
    const int64_t first_count = k->type == 1  ? 0
                                : k->type < 4 ? n / 2 + 1
                                : n % 2       ? n
                                              : n / 2,
                  second_count = k->type == 4 ? first_count : 0;
    double *t = mci_alloc((size_t)(2 * (first_count + second_count) + 12 * root + 16) * sizeof *t);
    if (!t || k->type == 1)
        return t;
    mck_dct table = *k;
    table.table = t;
    table.count = first_count;
    table.first = k->type == 4 && n % 2 == 0 ? 1 : 0;
    table.step = k->type == 4 && n % 2 == 0 ? 4 : 2;
    fill(&table);
    if (second_count) {
        table.table = t + 2 * first_count;
        table.count = second_count;
        table.first = n % 2 ? 1 : 0;
        fill(&table);
    }
    return t;
}

/* params: i[0] type 1..4, i[1] n (-1: as given), axes[0], i[2] norm: 0 backward, 1 ortho, 2
 * forward, i[3] orthogonal */
int mci_dct_describe(const mci_job *job, mci_dct_call *c, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_params *p = job->params;
    const mc_tensor *t = job->in[0];
    char s[MCI_TEXT];
    int dtype, compute, rc = mci_resolve(op, job->nin, job->in, &dtype, &compute);
    if (rc)
        return rc;
    if ((rc = mci_row_axis(op->name, t, p, &c->axis)) != 0)
        return rc;
    const int inverse = op->variant == MCI_DCT_IDCT || op->variant == MCI_DCT_IDST;
    c->sine = op->variant == MCI_DCT_DST || op->variant == MCI_DCT_IDST;
    const int type = (int)p->i[0], norm = (int)p->i[2];
    c->len = t->shape[c->axis];
    c->n = p->i[1] >= 0 ? p->i[1] : c->len;
    const int least = type == 1 && !c->sine ? 2 : 1;
    if (c->n < least || c->n > INT64_MAX / 64)
        return mci_error(MC_ESHAPE, "%s: %lld points from %s; type %d needs at least %d", op->name,
                         (long long)c->n, mci_tensor_text(s, sizeof s, t), type, least);
    const double n = (double)c->n, whole = type == 1 ? 2 * (c->sine ? n + 1 : n - 1) : 2 * n;
    c->scale = norm == 1 ? 1 / sqrt(whole) : (inverse ? norm == 0 : norm == 2) ? 1 / whole : 1;
    c->prec = compute == MC_F32 || compute == MC_C64 ? 4 : 8;
    c->type = inverse && type == 2 ? 3 : inverse && type == 3 ? 2 : type;
    c->kind = c->type == 3 ? C2R : c->type == 4 ? C2C : R2C;
    c->length = type == 1    ? (c->sine ? 2 * (c->n + 1) : 2 * (c->n - 1))
                : type != 4  ? c->n
                : c->n % 2   ? 2 * c->n
                             : c->n / 2;
    mci_result_one(r, dtype, t->ndim, t->shape);
    r->compute = compute;
    r->shape[0][c->axis] = c->n;
    return MC_OK;
}

int mci_dct_infer(const mci_job *job, mci_result *r)
{
    mci_dct_call c;
    return mci_dct_describe(job, &c, r);
}

int mci_dct_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in,
                const mc_params *p)
{
    (void)nout;
    const mc_tensor *t = in[0];
    mc_tensor *out = outs[0], src, dst, copy = { 0 };
    const int given = (out->flags & MC_FLAG_OUT) != 0;
    mci_dct_call c;
    mci_result result;
    int rc = mci_dct_describe(&(mci_job){ op, p, nin, in, nout }, &c, &result);
    if (rc ||
        (rc = mci_out(op->name, out, result.dtype[0], result.ndim[0], result.shape[0])) != 0 ||
        out->numel == 0)
        return rc;
    const int axis = c.axis, kind = c.kind, prec = c.prec, rt = prec == 4 ? MC_F32 : MC_F64;
    const int64_t n = c.n, len = c.len, length = c.length;
    dct_job j = { .have = len, .take = len < n ? len : n, .size = prec };
    j.k = (mck_dct){ .n = n,
                     .type = c.type,
                     .sine = c.sine,
                     .orthogonal = p->i[3] != 0,
                     .scale = c.scale };
    j.plan_in = (kind == R2C ? length : kind == C2R ? 2 * (length / 2 + 1) : 2 * length) * prec;
    j.plan_out = (kind == C2R ? length : kind == R2C ? 2 * (length / 2 + 1) : 2 * length) * prec;
    j.bufsize = padded(j.plan_in) + padded(j.plan_out) + padded(n * prec);
    j.before = (dct_fn)mci_function(prec == 4 ? MCK_FN_DCT_BEFORE_F32 : MCK_FN_DCT_BEFORE_F64);
    j.after = (dct_fn)mci_function(prec == 4 ? MCK_FN_DCT_AFTER_F32 : MCK_FN_DCT_AFTER_F64);
    mci_rows rows = {0};
    mci_rows_out res = {0};
    if (given && mci_overlap(out, t) == 1) { /* rows would be written over others not read yet */
        rc = mci_materialize(&copy, t, t->dtype);
        t = &copy;
    }
    if (!rc)
        rc = as_pairs(op, &src, t);
    if (!rc)
        rc = as_pairs(op, &dst, out);
    if (!rc)
        rc = mci_rows_in(&rows, &src, 1u << axis, rt);
    if (!rc)
        rc = mci_rows_open(&res, &dst, axis, rt);
    if (!rc)
        rc = mci_fft_plan(&j.use, kind, prec, length);
    if (!rc && !(j.k.table = factors(&j.k)))
        rc = mc_errstatus();
    if (!rc) {
        j.m = dst.numel / n;
        j.in = rows.data;
        j.out = res.data;
        j.rows = 16384 / n > 1 ? 16384 / n : 1;
        const int64_t tasks = (j.m + j.rows - 1) / j.rows;
        j.buf = mci_alloc((size_t)(j.bufsize * mci_workers(tasks)));
        rc = j.buf ? mci_parallel(tasks, dct_task, &j) : mc_errstatus();
        mci_free(j.buf);
    }
    mci_free(j.k.table);
    mci_fft_done(&j.use);
    if (!rc)
        rc = mci_rows_store(&res);
    else
        mci_rows_abandon(&res);
    mci_rows_drop(&rows);
    mc_drop(&copy);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}
