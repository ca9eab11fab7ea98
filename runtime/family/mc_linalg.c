/* mc_linalg.c - driver of linear algebra: batches of small or large problems through the methods of
 * mc_linalg.h.
 *
 * LAPACK runs single-threaded, the matrices of a batch in parallel; the cut into tasks depends
 * on the shapes only. A single large matrix may use more threads on request (option threads),
 * which gives up the promise of equal bits. Sizes that overflow the 32-bit integers of LAPACK
 * are refused, and NaN where a routine would not return. Holds the work areas and the batches;
 * what methods share stands in mc_linalg_parts.c. */
#include "family/mc_linalg.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TASK 300000.0 /* flops per task: about 100 us, well above the 2 us of starting one */

static const struct {
    mci_method_fn method;
    int system;    /* operand 2 is a right-hand side: a vector if it has one axis (array API) */
    int positions; /* the last operand holds positions */
} methods[] = {
    [MCI_LINALG_SOLVE] = {mci_method_solve, .system = 1},
    [MCI_LINALG_SOLVE_TRIANGULAR] = {mci_method_solve_triangular, .system = 1},
    [MCI_LINALG_INV] = {mci_method_inv},
    [MCI_LINALG_DET] = {mci_method_det},
    [MCI_LINALG_LU_FACTOR] = {mci_method_lu_factor},
    [MCI_LINALG_LU_SOLVE] = {mci_method_lu_solve, .system = 1, .positions = 1},
    [MCI_LINALG_LU] = {mci_method_lu},
    [MCI_LINALG_LEAST_SQUARES] = {mci_method_least_squares, .system = 1},
    [MCI_LINALG_CHOLESKY] = {mci_method_cholesky},
    [MCI_LINALG_QR] = {mci_method_qr},
    [MCI_LINALG_HESSENBERG] = {mci_method_hessenberg},
    [MCI_LINALG_SVD] = {mci_method_svd},
    [MCI_LINALG_EIGH] = {mci_method_eigh},
    [MCI_LINALG_EIG] = {mci_method_eig},
    [MCI_LINALG_SCHUR_FORM] = {mci_method_schur},
    [MCI_LINALG_SQRT_UPPER] = {mci_method_upper},
    [MCI_LINALG_LOG_UPPER] = {mci_method_upper},
    [MCI_LINALG_LDL] = {mci_method_ldl},
    [MCI_LINALG_SOLVE_BANDED] = {mci_method_banded, .system = 1},
    [MCI_LINALG_SOLVEH_BANDED] = {mci_method_bandedh, .system = 1},
    [MCI_LINALG_LEVINSON] = {mci_method_levinson},
};

static const struct {
    const char *what, *advice;
} reasons[] = {
    [MCI_NOT_FINITE] = { "holds NaN or infinity", "find them with isfinite" },
    [MCI_SINGULAR] = { "is singular", "use lstsq or pinv, or add a small multiple of eye" },
    [MCI_NOT_DEFINITE] = { "is not positive definite",
                           "use lu or eigh, or add a small multiple of eye" },
    [MCI_B_NOT_DEFINITE] = { "of b is not positive definite", "use eig of solve(b, a)" },
    [MCI_NO_CONVERGENCE] = { "did not converge", "scale it, or use another dtype" },
    [MCI_NO_ROOT] = { "is singular and has no such function", "add a small multiple of eye" },
    [MCI_BAD_PIVOT] = { "has positions outside its rows",
                        "hand lu_solve both results of lu_factor as they are" },
    [MCI_SINGULAR_BLOCK] = { "has a leading block that is singular",
                             "use solve(toeplitz(c, r), b), which exchanges rows" },
    [MCI_REFUSED] = { "was refused by LAPACK", "please report it" },
};

/* ---- copies in and out ---- */

static void store(const mci_part_out *x, const char *src, char *dst)
{
    int64_t size = MCI_SIZE(x->dtype);
    mci_cast_fn fn = mci_cast(x->dtype, x->dtype);
    mci_linalg_turn(fn, x->cols, x->rows, dst, size, x->cols, src, size, x->ld, 1);
}

static size_t bytes_of(const mci_part_out *x)
{
    return (size_t)(x->rows * x->cols * MCI_SIZE(x->dtype));
}

/* Whether result k lies where kernels of BLAS see other addresses than in a work area: some of
 * them sum in another order there, so that bits would depend on where a tensor was made. */
static int unaligned(const mci_batch *b, int k)
{
    const mci_part_out *x = &b->j->out[k];
    return (((uintptr_t)b->target[k]->data | (b->count > 1 ? bytes_of(x) : 0)) & 63) != 0;
}

/* Every real number in n of them is finite: x * 0 is NaN for those that are not, and a sum keeps
 * it. */
static int all_finite(int type, const void *a, int64_t n)
{
    const float *f = a;
    const double *d = a;
    double lane[4] = {0};
    n *= type == 'c' || type == 'z' ? 2 : 1;
    for (int64_t i = 0; i < n; i++)
        lane[i & 3] += (type == 's' || type == 'c' ? (double)f[i] : d[i]) * 0.0;
    return lane[0] + lane[1] + lane[2] + lane[3] == 0;
}

static int loaded_finite(const mci_linalg *j, int k, const char *a)
{
    const mci_part_in *x = &j->in[k];
    int64_t lines = x->as_is ? x->rows : x->cols, n = x->as_is ? x->cols : x->rows;
    for (int64_t i = 0; i < lines; i++)
        if (!all_finite(j->type, a + i * x->ld * MCI_SIZE(x->dtype), n))
            return 0;
    return 1;
}

/* ---- batches ---- */

static void one_problem(mci_batch *b, int64_t at, char *area)
{
    const mci_linalg *j = b->j;
    mci_problem q = {.w = j->w};
    int why = MCI_FINE;
    q.w.work = area + b->work;
    q.w.rwork = area + b->rwork;
    q.w.iwork = (int *)(void *)(area + b->iwork);
    q.extra = area + b->extra;
    for (int k = 0; k < j->nout; k++) {
        const mci_part_out *x = &j->out[k];
        q.out[k] =
            x->from == MCI_OWN || x->apart ? area + x->offset : mci_linalg_place(b, k, at);
    }
    for (int k = 0; k < j->nin; k++) {
        const mci_part_in *x = &j->in[k];
        q.in[k] = x->into >= 0 ? q.out[x->into] : area + x->offset;
        mci_linalg_load(b, k, at, q.in[k]);
        if ((j->finite >> k & 1) && !loaded_finite(j, k, q.in[k]))
            why = MCI_NOT_FINITE;
    }
    if (!why) {
        j->blas->enter();
        why = j->solve(j, &q);
        j->blas->leave();
    }
    for (int k = 0; k < j->nout && !why; k++) {
        const mci_part_out *x = &j->out[k];
        if (x->apart)
            memcpy(mci_linalg_place(b, k, at), q.out[k], bytes_of(x));
        else if (x->from != MCI_PLACE)
            store(x, x->from >= 0 ? q.in[x->from] : q.out[k], mci_linalg_place(b, k, at));
    }
    if (why)
        mci_linalg_bad(b, at, why);
}

static void batch_task(void *arg, int64_t begin, int64_t end, int worker)
{
    mci_batch *b = arg;
    int64_t first = begin * b->group, last = end * b->group < b->count ? end * b->group : b->count;
    for (int64_t i = first; i < last && !mc_cancel_pending(); i++)
        one_problem(b, i, b->areas + worker * b->area);
}

static int64_t place(int64_t *at, int64_t count, int64_t size)
{
    int64_t here = *at;
    *at += (count * size + 63) & ~(int64_t)63;
    return here;
}

/* Offsets in the work area of one worker. */
static void lay_out(mci_linalg *j, mci_batch *b)
{
    int64_t at = 0;
    for (int k = 0; k < j->nin; k++) {
        mci_part_in *x = &j->in[k];
        int64_t line = x->as_is ? x->cols : x->rows, lines = x->as_is ? x->rows : x->cols;
        if (x->ld < line)
            x->ld = line > 1 ? line : 1;
        if (x->elements < x->ld * lines)
            x->elements = x->ld * lines;
        if (x->into < 0)
            x->offset = place(&at, x->elements, MCI_SIZE(x->dtype));
    }
    for (int k = 0; k < j->nout; k++) {
        mci_part_out *x = &j->out[k];
        if (x->ld == 0)
            x->ld = x->from >= 0 ? j->in[x->from].ld : mci_ld(x->rows);
        x->apart = x->from == MCI_PLACE && unaligned(b, k);
        if (x->from == MCI_OWN || x->apart)
            x->offset = place(&at, x->ld * x->cols, MCI_SIZE(x->dtype));
    }
    b->work = place(&at, j->w.lwork, MCI_SIZE(j->dtype));
    b->rwork = place(&at, j->w.lrwork, MCI_SIZE(j->real));
    b->iwork = place(&at, j->w.liwork, (int64_t)sizeof(int));
    b->extra = place(&at, j->extra, 1);
    b->area = at;
}

static int through_lapack(mci_linalg *j, mci_batch *b, int threads)
{
    lay_out(j, b);
    double cost = (double)j->cost + 200;
    b->group = cost > TASK ? 1 : (int64_t)(TASK / cost);
    int64_t tasks = (b->count + b->group - 1) / b->group, bytes;
    if (mci_size_mul(b->area, mci_workers(tasks), &bytes) || !(b->areas = mci_alloc((size_t)bytes)))
        return mc_errstatus();
    if (threads > 1 && b->count == 1)
        j->lapack->threads(threads);
    int rc = mci_parallel(tasks, batch_task, b);
    if (threads > 1 && b->count == 1)
        j->lapack->threads(1);
    mci_free(b->areas);
    return rc;
}

static int run_batch(mci_linalg *j, mci_batch *b, int threads)
{
    int rc = MC_OK;
    atomic_init(&b->bad, INT64_MAX);
    if (!mci_linalg_small(b, &rc))
        rc = through_lapack(j, b, threads);
    int64_t bad = atomic_load(&b->bad);
    if (!rc && bad != INT64_MAX) {
        int why = (int)(bad & 255);
        char what[160];
        if (b->count > 1)
            snprintf(what, sizeof what, "matrix %lld of %lld %s", (long long)(bad >> 8) + 1,
                     (long long)b->count, reasons[why].what);
        else
            snprintf(what, sizeof what, "the matrix %s", reasons[why].what);
        rc = mci_linalg_wrong(j, why == MCI_REFUSED ? MC_EINTERNAL : MC_ENUMERIC, what,
                              reasons[why].advice);
    }
    return rc;
}

/* ---- the entry ---- */

static int take_operands(mci_linalg *j)
{
    int compute, rc = mci_resolve(j->op, j->floats, j->t, &j->dtype, &compute);
    if (rc)
        return rc;
    j->type = j->dtype == MC_F32 ? 's' : j->dtype == MC_F64 ? 'd' : j->dtype == MC_C64 ? 'c' : 'z';
    j->real = j->dtype == MC_C64 ? MC_F32 : j->dtype == MC_C128 ? MC_F64 : j->dtype;
    for (int k = 0; k < j->nin; k++) {
        const mc_tensor *t = j->t[k];
        mci_part_in *x = &j->in[k];
        x->dtype = k < j->floats ? j->dtype : t->dtype;
        x->into = MCI_OWN;
        if (t->ndim < x->rank)
            return mci_linalg_wrong(
                j, MC_ESHAPE, x->rank == 2 ? "an operand is no matrix" : "an operand is no vector",
                x->rank == 2 ? "give at least two axes" : "give at least one axis");
        x->rows = t->shape[t->ndim - x->rank];
        x->cols = x->rank == 2 ? t->shape[t->ndim - 1] : 1;
        if (x->rows > INT_MAX || x->cols > INT_MAX || x->rows * x->cols > INT_MAX)
            return mci_linalg_wrong(j, MC_EUNSUPPORTED,
                                    "a matrix has more than 2147483647 elements",
                                    "LAPACK counts with 32 bits; use blocks");
    }
    return MC_OK;
}

/* How many of the operands meet in one dtype, and which ranks they have. */
static void describe_operands(mci_linalg *j)
{
    const int what = j->op->variant;
    j->floats = j->nin - methods[what].positions;
    for (int k = 0; k < j->nin; k++)
        j->in[k].rank = 2;
    if (what == MCI_LINALG_LEVINSON) { /* first column, first row, right-hand side */
        j->in[0].rank = j->in[1].rank = 1;
        j->in[2].rank = j->t[2]->ndim == 1 ? 1 : 2;
        return;
    }
    if (methods[what].system && j->t[1]->ndim == 1)
        j->in[1].rank = 1;
    if (methods[what].positions)
        j->in[2].rank = 1;
}

/* All that headers say of a call: the method, the batches, the results. */
static int describe(const mci_job *job, mci_linalg *j, mci_batch *b, mci_result *r)
{
    const mci_op *op = job->op;
    const mci_method_fn method = methods[op->variant].method;
    if (!method || job->nin < 1 || job->nin > 3 || j->nout < 1 || j->nout > 3)
        return mci_error(MC_EINTERNAL,
                         "%s: %d operands and %d results have no plan; please report it", op->name,
                         job->nin, j->nout);
    if (!(j->lapack = mci_lapack()) || !(j->blas = mci_blas())) return mc_errstatus();
    describe_operands(j);
    int rc = take_operands(j);
    if (!rc) rc = method(j);
    if (rc)
        return rc;
    if ((rc = mci_linalg_fits(j, j->w.lwork > j->w.lrwork ? j->w.lwork : j->w.lrwork)) != 0)
        return rc;
    mc_tensor outer[3];
    const mc_tensor *outers[3];
    for (int k = 0; k < j->nin; k++) {
        outer[k] = *j->t[k];
        outer[k].ndim -= j->in[k].rank;
        outers[k] = &outer[k];
    }
    if (mci_broadcast(op->name, outers, j->nin, &b->nb, b->shape))
        return mci_linalg_wrong(j, MC_ESHAPE, "batch sizes do not broadcast",
                                "they must be equal or 1");
    for (int k = 0; k < j->nin; k++) mci_broadcast_strides(&outer[k], b->nb, j->in[k].batch);
    b->count = mci_numel(b->nb, b->shape);
    r->nout = j->nout;
    r->compute = j->dtype;
    for (int k = 0; k < j->nout; k++) {
        const mci_part_out *x = &j->out[k];
        if (b->nb + x->rank > MC_MAX_RANK)
            return mci_linalg_wrong(j, MC_ESHAPE, "a result would have more than 8 axes",
                                    "use fewer batch axes");
        mci_result_set(r, k, x->dtype, b->nb, b->shape);
        if (x->rank > 0) r->shape[k][r->ndim[k]++] = x->rows;
        if (x->rank > 1) r->shape[k][r->ndim[k]++] = x->cols;
    }
    return MC_OK;
}

int mci_linalg_infer(const mci_job *job, mci_result *r)
{
    mci_linalg j = {
        .op = job->op, .p = job->params, .t = job->in, .nin = job->nin, .nout = job->nout
    };
    mci_batch b = { .j = &j };
    return describe(job, &j, &b, r);
}

int mci_linalg_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                   const mc_tensor *const *in, const mc_params *p)
{
    mci_linalg j = { .op = op, .p = p, .t = in, .nin = nin, .nout = nout };
    mci_batch b = { .j = &j };
    mc_tensor temp[3] = { { 0 } };
    mci_result r;
    int given[3], made = 0, rc = describe(&(mci_job){ op, p, nin, in, nout }, &j, &b, &r);
    if (rc) return rc;
    for (int k = 0; k < nout && !rc; k++) {
        given[k] = (outs[k]->flags & MC_FLAG_OUT) != 0;
        rc = mci_out(op->name, outs[k], r.dtype[k], r.ndim[k], r.shape[k]);
        made += rc == MC_OK;
        int direct = !rc && mci_contiguous(outs[k]);
        for (int i = 0; direct && i < nin; i++)
            direct = mci_overlap(outs[k], in[i]) < 0;
        b.target[k] = outs[k];
        if (!rc && !direct) {
            rc = mc_create(&temp[k], r.dtype[k], r.ndim[k], r.shape[k]);
            b.target[k] = &temp[k];
        }
    }
    if (!rc && b.count > 0)
        rc = run_batch(&j, &b, (int)(p->i[0] > 64 ? 64 : p->i[0]));
    for (int k = 0; k < nout; k++) {
        if (!rc && b.target[k] == &temp[k])
            rc = mci_copy(outs[k], &temp[k]);
        mc_drop(&temp[k]);
    }
    for (int k = 0; k < made && rc; k++)
        mci_out_fail(outs[k], given[k]);
    return rc;
}
