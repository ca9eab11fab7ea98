/* mc_reduce.c - driver of reductions over axis lists.
 *
 * Kept and reduced axes are collapsed separately. Three ways through memory: rows (reduced axis
 * walked with one stride), columns (the kept axis is contiguous), gather (anything else, and
 * dtypes without a kernel: pieces are converted into a buffer). Rows are cut at
 * MCK_REDUCE_CHUNK, columns at a number of rows that depends on the shape only; partial results
 * are folded by the same kernels, so the bits do not depend on the number of threads. The
 * elements can also come from a source that makes them piece by piece (the operand of a fused
 * reduction), which changes no order. Ops that leave NaN out run the same kernels on copies of
 * the pieces, made in cache. */
#include "family/mc_rows.h"
#include "family/mc_family.h"
#include "../../kernels/mck_partial.h"
#include "../../kernels/mck_reduce.h"

#include <math.h>
#include <string.h>

#define CHUNK MCK_REDUCE_CHUNK
#define SHORT 4096 /* results that are converted without asking for threads */
#define TASK 65536 /* elements a task should have at least */
#define PIECES (TASK / CHUNK) /* of a long row in one task */

/* How an op is computed: kernel and the kernel that joins its partial results, what a NaN is
 * replaced by where they are left out. */
typedef struct reduce_form {
    int kernel, fold, positions;
    int skip;               /* how NaN is left out: MCI_SKIP_* */
    int64_t size;           /* bytes of a partial result */
    int dtype;              /* of partial results that are one number */
    double fill[2];
} reduce_form;

typedef struct reduce_job {
    reduce_form plan;
    mck_reduce_fn fn, copy;  /* copy: without NaN */
    const mc_tensor *t;
    const mci_source *source; /* makes the elements of t; NULL: t has them */
    int compute;             /* dtype of the kernel's input */
    int kd, rd;              /* collapsed kept and reduced ranks */
    int64_t kshape[MC_MAX_RANK], kstr[MC_MAX_RANK], rshape[MC_MAX_RANK], rstr[MC_MAX_RANK];
    int64_t m, n;            /* kept and reduced element counts */
    int64_t parts, step;     /* pieces per row and their length */
    int64_t rows;            /* rows: rows per task when parts == 1; columns: blocks of columns */
    int direct;
    char *out;               /* [m][parts] (rows) or [parts][m] (columns) partial results */
    /* twice `room` elements of compute per worker: a gathered piece, and what is left of one
     * without NaN */
    char *buf;
    int64_t room;
    /* MCI_SKIP_FILL, MCI_SKIP_HOLD, MCI_SKIP_COUNT: elements that are numbers, as out */
    int64_t *numbers;
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

static char *buffer(const reduce_job *j, int worker, int which)
{
    return j->buf + ((int64_t)worker * 2 + which) * j->room * MCI_SIZE(j->compute);
}

/* The kernel on rows or columns that are set up in k, by way of a copy without NaN where these are
 * left out. at: of the first result. */
static void apply(const reduce_job *j, mck_reduce *k, int64_t at, int worker)
{
    k->out = j->out + at * j->plan.size;
    if (j->plan.skip == MCI_SKIP_COUNT)
        k->status = j->numbers + at;
    if (j->plan.skip != MCI_SKIP_FILL && j->plan.skip != MCI_SKIP_HOLD) {
        j->fn(k);
        return;
    }
    int columns = k->row_stride == 1 && k->elem_stride != 1 && k->m > 1;
    int64_t count[2];
    mck_reduce c = *k;
    c.out = buffer(j, worker, 1);
    c.p = j->plan.fill;
    c.status = j->plan.skip == MCI_SKIP_HOLD ? count : j->numbers + at;
    j->copy(&c);
    k->in = c.out;
    k->row_stride = columns ? 1 : k->n;
    k->elem_stride = columns ? k->m : 1;
    j->fn(k);
    if (j->plan.skip == MCI_SKIP_HOLD) {
        /* one row; a NaN in front took the value of the first number */
        int64_t *best = k->out;
        j->numbers[at] = count[0];
        if (*best < count[1])
            *best = count[1];
    }
}

static void row_piece(const reduce_job *j, int64_t row, int64_t part, int worker)
{
    int64_t first = part * j->step, n = j->n - first < j->step ? j->n - first : j->step;
    const char *base = j->source ? NULL : mci_at(j->t, kept_offset(j, row));
    mck_reduce k = {.m = 1, .n = n, .row_stride = 1, .elem_stride = 1};
    if (j->source) {
        char *buf = buffer(j, worker, 0);
        j->source->load(j->source->arg, row * j->n + first, n, buf, worker);
        k.in = buf;
    } else if (j->direct) {
        int64_t rs = j->rd ? j->rstr[0] : 1;
        k.in = base + first * rs * MCI_SIZE(j->t->dtype);
        k.elem_stride = rs;
    } else {
        mc_tensor sub = {
            .data = (char *)(uintptr_t)base, .dtype = j->t->dtype, .ndim = j->rd, .numel = j->n
        };
        memcpy(sub.shape, j->rshape, sizeof sub.shape);
        memcpy(sub.strides, j->rstr, sizeof sub.strides);
        char *buf = buffer(j, worker, 0);
        mci_gather(&sub, first, n, j->compute, buf);
        k.in = buf;
    }
    apply(j, &k, row * j->parts + part, worker);
}

static void rows_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const reduce_job *j = arg;
    (void)end;
    if (j->parts > 1) {
        const int64_t per = (j->parts + PIECES - 1) / PIECES, first = begin % per * PIECES;
        for (int64_t part = first; part < first + PIECES && part < j->parts && !mc_cancel_pending();
             part++)
            row_piece(j, begin / per, part, worker);
        return;
    }
    int64_t r0 = begin * j->rows, r1 = r0 + j->rows < j->m ? r0 + j->rows : j->m;
    int64_t rs = j->rd ? j->rstr[0] : 1, ks = j->kd ? j->kstr[0] : 1;
    if (j->source && j->plan.skip != MCI_SKIP_HOLD) { /* as many rows as a piece holds */
        int64_t most = CHUNK / j->n;
        for (int64_t r = r0; r < r1 && !mc_cancel_pending(); r += most) {
            mck_reduce k = { .m = r1 - r < most ? r1 - r : most,
                             .n = j->n,
                             .in = buffer(j, worker, 0),
                             .row_stride = j->n,
                             .elem_stride = 1 };
            j->source->load(j->source->arg, r * j->n, k.m * j->n, buffer(j, worker, 0), worker);
            apply(j, &k, r, worker);
        }
        return;
    }
    /* several rows at once, unless they would be read as columns: the same numbers, other order */
    if (j->direct && j->kd <= 1 && !(ks == 1 && rs != 1) && j->plan.skip != MCI_SKIP_HOLD) {
        int64_t most = j->plan.skip == MCI_SKIP_FILL ? CHUNK / j->n : r1 - r0;
        for (int64_t r = r0; r < r1; r += most) {
            mck_reduce k = { .m = r1 - r < most ? r1 - r : most,
                             .n = j->n,
                             .in = mci_at(j->t, kept_offset(j, r)),
                             .row_stride = ks,
                             .elem_stride = rs };
            apply(j, &k, r, worker);
        }
        return;
    }
    for (int64_t r = r0; r < r1 && !mc_cancel_pending(); r++)
        row_piece(j, r, 0, worker);
}

static void columns_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const reduce_job *j = arg;
    (void)end;
    int64_t cols = j->kshape[j->kd - 1], rest = begin;
    int64_t part = rest % j->parts;
    rest /= j->parts;
    int64_t c0 = rest % j->rows * MCK_REDUCE_COLUMNS, outer = rest / j->rows;
    int64_t nc = cols - c0 < MCK_REDUCE_COLUMNS ? cols - c0 : MCK_REDUCE_COLUMNS,
            first = part * j->step;
    int64_t row = outer * cols + c0, n = j->n - first < j->step ? j->n - first : j->step;
    mck_reduce k = {.m = nc, .n = n, .row_stride = 1, .elem_stride = j->rstr[0]};
    if (j->source) {
        int64_t pitch = nc < 2 ? 2 : nc; /* one column stays a column */
        char *buf = buffer(j, worker, 0);
        if (nc == cols)
            j->source->load(j->source->arg, (outer * j->n + first) * cols, n * cols, buf, worker);
        else
            for (int64_t i = 0; i < n; i++)
                j->source->load(j->source->arg, (outer * j->n + first + i) * cols + c0, nc,
                                buf + i * pitch * MCI_SIZE(j->compute), worker);
        k.in = buf;
        k.elem_stride = pitch;
    } else {
        k.in = mci_at(j->t, kept_offset(j, row) + first * j->rstr[0]);
    }
    apply(j, &k, part * j->m + row, worker);
}

/* A kernel and what joins its results. A kernel of a row's own gives pieces in f64, c128 or i64
 * that are joined by addition. */
static reduce_form plan_by(int kernel, int compute)
{
    const int wide = compute == MC_F32 ? MC_F64 : compute == MC_C64 ? MC_C128 : compute;
    reduce_form p = {.kernel = kernel, .fold = kernel, .dtype = compute};
    switch (kernel) {
    case MCK_K_MAX: case MCK_K_MIN: case MCK_K_ANY: case MCK_K_ALL: break;
    case MCK_K_PROD: p.dtype = wide; break;
    case MCK_K_ARGMAX: case MCK_K_ARGMIN: p.dtype = MC_I64; p.positions = 1; break;
    case MCK_K_COUNT: p.dtype = MC_I64; p.fold = MCK_K_SUM; break;
    case MCK_K_MOMENTS: case MCK_K_NANMOMENTS: p.dtype = MC_F64; p.fold = MCK_K_MOMENTS_FOLD; break;
    case MCK_K_MOMENTS4: p.dtype = MC_F64; p.fold = MCK_K_MOMENTS4_FOLD; break;
    case MCK_K_LSE: p.dtype = MC_F64; p.fold = MCK_K_LSE_FOLD; break;
    default: p.dtype = wide; p.fold = MCK_K_SUM; break; /* sum and nansum too */
    }
    p.size = MCI_SIZE(p.dtype);
    switch (p.fold) {
    case MCK_K_MOMENTS_FOLD: p.size = (int64_t)sizeof(mck_moments); break;
    case MCK_K_MOMENTS4_FOLD: p.size = (int64_t)sizeof(mck_moments4); break;
    case MCK_K_LSE_FOLD: p.size = (int64_t)sizeof(mck_lse); break;
    }
    return p;
}

/* The plan of an op in a dtype: its kernel, unless another one leaves NaN out on the way. */
static reduce_form form_of(const mci_op *op, int compute)
{
    int kernel = op->pieces,
        skip = mci_kind(compute) == 'f' || mci_kind(compute) == 'c' ? op->skip : MCI_SKIP_NONE;
    if (skip == MCI_SKIP_COUNT) {
        if (compute == MC_F32 || compute == MC_F64)
            kernel = MCK_K_NANSUM;
        else
            skip = MCI_SKIP_FILL;
    }
    reduce_form p = plan_by(kernel, compute);
    p.skip = skip;
    p.fill[0] = op->fill;
    return p;
}

/* Positions over several pieces: the values at the partial positions decide. idx [m][parts] -> idx
 * [m]. */
static int fold_positions(reduce_job *j, int64_t *idx)
{
    int64_t es = MCI_SIZE(j->compute);
    char *vals = mci_alloc((size_t)(j->parts * (es + (int64_t)sizeof(int64_t))));
    if (!vals)
        return mc_errstatus();
    int64_t *from = (int64_t *)(void *)vals, count = 0; /* the pieces that have numbers */
    vals += j->parts * (int64_t)sizeof(int64_t);
    mc_tensor sub = {.dtype = j->t->dtype, .ndim = j->rd, .numel = j->n};
    memcpy(sub.shape, j->rshape, sizeof sub.shape);
    memcpy(sub.strides, j->rstr, sizeof sub.strides);
    for (int64_t r = 0; r < j->m; r++) {
        sub.data = j->source ? NULL : mci_at(j->t, kept_offset(j, r));
        int64_t *row = idx + r * j->parts, best = 0, numbers = 0;
        count = 0;
        for (int64_t p = 0; p < j->parts; p++) {
            int64_t has = j->numbers ? j->numbers[r * j->parts + p] : 1;
            numbers += has;
            if (!has)
                continue;
            from[count] = row[p] + p * j->step;
            if (j->source)
                j->source->load(j->source->arg, r * j->n + from[count], 1, vals + count * es, 0);
            else
                mci_gather(&sub, from[count], 1, j->compute, vals + count * es);
            count++;
        }
        mck_reduce k = {
            .m = 1, .n = count, .out = &best, .in = vals, .row_stride = 1, .elem_stride = 1
        };
        if (count > 0)
            j->fn(&k);
        idx[r] = count > 0 ? from[best] : 0;
        if (j->numbers)
            j->numbers[r] = numbers;
    }
    mci_free(from);
    return MC_OK;
}

/* Partial results of all pieces into one per row; counts of numbers likewise. */
static int fold(reduce_job *j, int columns)
{
    if (j->plan.positions)
        return fold_positions(j, (int64_t *)(void *)j->out);
    char *folded = mci_alloc((size_t)(j->m * j->plan.size));
    if (!folded)
        return mc_errstatus();
    int dtype = j->plan.dtype == MC_BOOL ? MC_U8 : j->plan.dtype;
    mck_reduce k = { .m = j->m,
                     .n = j->parts,
                     .out = folded,
                     .in = j->out,
                     .row_stride = columns ? 1 : j->parts,
                     .elem_stride = columns ? j->m : 1 };
    ((mck_reduce_fn)mci_kernel_get(j->plan.fold, dtype))(&k);
    mci_free(j->out);
    j->out = folded;
    for (int64_t r = 0; j->numbers && r < j->m; r++) {
        /* row r is written after it was read, and before those behind it */
        int64_t total = 0;
        for (int64_t p = 0; p < j->parts; p++)
            total += j->numbers[columns ? p * j->m + r : r * j->parts + p];
        j->numbers[r] = total;
    }
    return MC_OK;
}

/* Reduces t into fresh arrays of plan.size [m] and, where NaN are filled in, counts of numbers [m]
 * (owns: mci_free). n must be positive. */
static int reduce_kernel(const mc_tensor *t, const mci_source *source, unsigned mask,
                         reduce_form plan, int compute, void **result, int64_t **numbers)
{
    reduce_job j = {.t = t, .source = source, .compute = compute, .plan = plan, .room = CHUNK};
    *result = NULL;
    *numbers = NULL;
    int kdtype = compute == MC_BOOL ? MC_U8 : compute,
        copies = plan.skip == MCI_SKIP_FILL || plan.skip == MCI_SKIP_HOLD;
    int counts = copies || plan.skip == MCI_SKIP_COUNT;
    j.fn = (mck_reduce_fn)mci_kernel_get(plan.kernel, kdtype);
    if (copies)
        j.copy = (mck_reduce_fn)mci_kernel_get(
            plan.skip == MCI_SKIP_FILL ? MCK_K_NANFILL : MCK_K_NANHOLD, kdtype);
    mc_assert(j.fn != NULL && (!copies || j.copy != NULL));
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
    int columns = j.direct && plan.kernel != MCK_K_PROD && !plan.positions && j.rd == 1 &&
                  j.kd > 0 && j.kstr[j.kd - 1] == 1 && j.rstr[0] != 1 && j.kshape[j.kd - 1] >= 4;
    if (source && (t->dtype != compute || (!columns && j.rd > 0 && j.rstr[j.rd - 1] != 1)))
        return mci_error(MC_EINTERNAL, "reduce: the source does not give rows");
    int64_t tasks;
    if (columns) {
        int64_t cols = j.kshape[j.kd - 1],
                width = cols < MCK_REDUCE_COLUMNS ? cols : MCK_REDUCE_COLUMNS;
        j.rows = (cols + MCK_REDUCE_COLUMNS - 1) / MCK_REDUCE_COLUMNS;
        j.step = copies ? CHUNK / width : TASK / width > 64 ? TASK / width : 64;
        j.parts = (j.n + j.step - 1) / j.step;
        tasks = j.m / cols * j.rows * j.parts;
        if (source) {
            int64_t most = j.n < j.step ? j.n : j.step, pitch = width < 2 ? 2 : width;
            j.room = most * pitch > CHUNK ? most * pitch : CHUNK;
        }
    } else {
        j.step = CHUNK;
        j.parts = (j.n + CHUNK - 1) / CHUNK;
        j.rows = j.parts > 1 ? 1 : TASK / j.n > 1 ? TASK / j.n : 1; /* rows per task */
        tasks = j.parts > 1 ? j.m * ((j.parts + PIECES - 1) / PIECES) : (j.m + j.rows - 1) / j.rows;
    }
    int64_t bytes, slots = j.m * j.parts;
    if (mci_size_mul(slots, j.plan.size, &bytes))
        return mc_errstatus();
    int need = !j.direct || source || copies;
    j.out = mci_alloc((size_t)bytes);
    if (j.out && counts)
        j.numbers = mci_alloc((size_t)slots * sizeof(int64_t));
    if (j.out && need)
        j.buf = mci_alloc((size_t)(2 * mci_workers(tasks) * j.room * MCI_SIZE(compute)));
    int rc = !j.out || (need && !j.buf) || (counts && !j.numbers)
                 ? mc_errstatus()
                 : mci_parallel(tasks, columns ? columns_task : rows_task, &j);
    mci_free(j.buf);
    if (!rc && j.parts > 1)
        rc = fold(&j, columns);
    if (rc) {
        mci_free(j.out);
        mci_free(j.numbers);
        return rc;
    }
    *result = j.out;
    *numbers = j.numbers;
    return MC_OK;
}

int mci_reduce_lse(const mc_tensor *t, unsigned mask, int compute, mck_lse **pairs)
{
    void *v;
    int64_t *numbers;
    int rc = reduce_kernel(t, NULL, mask, plan_by(MCK_K_LSE, compute), compute, &v, &numbers);
    *pairs = v;
    return rc;
}

/* Value of an empty reduction in dtype; a complex NaN has two. */
static void fill_identity(const mci_op *op, int dtype, int64_t m, void *v)
{
    double x[2] = {op->nothing, isnan(op->nothing) ? NAN : 0};
    mci_cast(dtype, MC_C128)(m, v, 1, x, 0);
}

/* From partial results [m] to results in plan.dtype, in place. count: elements of a row, or
 * numbers[row] of them. */
static int finish(const mci_op *op, const reduce_form *plan, int64_t m, double n, void *v,
                  const int64_t *numbers, const mc_params *p)
{
    double *d = v;
    switch (op->finish) {
    case MCI_FINISH_MEAN: {
        int width = plan->dtype == MC_C128 ? 2 : 1;
        for (int64_t i = 0; i < width * m; i++)
            d[i] /= numbers ? (double)numbers[i / width] : n;
        break;
    }
    case MCI_FINISH_VAR: case MCI_FINISH_STD: {
        const mck_moments *q = v;
        for (int64_t i = 0; i < m; i++) {
            double dof = q[i].n - p->d[0], var = dof > 0 && q[i].n > 0 ? q[i].m2 / dof : NAN;
            d[i] = op->finish == MCI_FINISH_STD ? sqrt(var) : var;
        }
        break;
    }
    case MCI_FINISH_SKEW: case MCI_FINISH_KURTOSIS: { /* i[0]: the biased form */
        const mck_moments4 *q = v;
        for (int64_t i = 0; i < m; i++) {
            double k = q[i].n, m2 = q[i].m2 / k;
            double skew = q[i].m3 / k / (m2 * sqrt(m2)), tail = q[i].m4 / k / (m2 * m2) - 3;
            if (op->finish == MCI_FINISH_SKEW)
                d[i] = p->i[0] ? skew : skew * (sqrt(k * (k - 1)) / (k - 2));
            else
                d[i] = p->i[0] ? tail : (tail * (k + 1) + 6) * ((k - 1) / ((k - 2) * (k - 3)));
        }
        break;
    }
    case MCI_FINISH_LOG: {
        const mck_lse *q = v;
        for (int64_t i = 0; i < m; i++)
            d[i] = isfinite(q[i].max) ? q[i].max + log(q[i].sum) : q[i].max;
        break;
    }
    case MCI_FINISH_NAN: {
        double none = NAN;
        for (int64_t i = 0; numbers && i < m; i++)
            if (numbers[i] == 0)
                mci_cast(plan->dtype, MC_F64)(1, (char *)v + i * plan->size, 1, &none, 1);
        break;
    }
    case MCI_FINISH_REFUSE:
        for (int64_t i = 0; numbers && i < m; i++)
            if (numbers[i] == 0)
                return mci_error(MC_EINVAL,
                                 "%s: there is nothing but NaN to choose from in one place of the "
                                 "result; mask such rows first",
                                 op->name);
        break;
    }
    if (plan->positions)
        for (int64_t i = 0; i < m; i++)
            ((int64_t *)v)[i] += p->base;
    return MC_OK;
}

int mci_reduce_infer(const mci_job *job, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_params *p = job->params;
    const mc_tensor *t = job->in[0];
    char s[MCI_TEXT];
    int dtype;
    unsigned mask;
    r->nout = 1;
    int rc = mci_resolve(op, 1, &t, &dtype, &r->compute);
    if (rc || (rc = mci_axes_mask(op->name, t, p, &mask)) != 0)
        return rc;
    int compute = r->compute;
    r->dtype[0] =
        op->result == MCI_RESULT_SAME && mci_kind(compute) != 'f' && mci_kind(compute) != 'c'
            ? compute
            : mci_result_dtype(op, dtype);
    if (p->dtype >= 0) { /* the arithmetic runs in the dtype asked for, where the op has it */
        r->dtype[0] = p->dtype;
        if (op->result == MCI_RESULT_SAME && op->compute[p->dtype] >= 0)
            r->compute = op->compute[p->dtype];
    }
    if (p->naxes > 1 && form_of(op, r->compute).positions)
        return mci_error(MC_ESHAPE, "%s: takes one axis, or none for everything; operand is %s",
                         op->name, mci_tensor_text(s, sizeof s, t));
    mci_reduced_shape(t, mask, p->keepdim, &r->ndim[0], r->shape[0]);
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++)
        if (mask >> i & 1)
            n *= t->shape[i];
    if (op->empty_error && n == 0 && mci_numel(r->ndim[0], r->shape[0]) > 0)
        return mci_error(MC_ESHAPE, "%s: nothing to reduce in %s; give it at least one element",
                         op->name, mci_tensor_text(s, sizeof s, t));
    return MC_OK;
}

static int reduce(const mci_job *job, const mci_result *r, mc_tensor *out, const mci_source *source)
{
    const mci_op *op = job->op;
    const mc_params *p = job->params;
    const mc_tensor *t = job->in[0];
    mc_tensor flat = {0};
    unsigned mask;
    int rc = mci_axes_mask(op->name, t, p, &mask), nd = r->ndim[0];
    const int64_t *shape = r->shape[0], m = out->numel, n = m > 0 ? t->numel / m : 0;
    if (rc || m == 0)
        return rc;
    int compute = r->compute;
    reduce_form plan = form_of(op, compute);
    if (plan.kernel == MCK_K_SUM && t->dtype == MC_BOOL && compute == MC_I64 && !source) {
        compute = MC_BOOL; /* a sum of booleans is a count, without a copy in 64 bits */
        plan = plan_by(MCK_K_COUNT, compute);
    }
    void *v = NULL;
    int64_t *numbers = NULL;
    if (n == 0) {
        v = mci_alloc((size_t)(m * MCI_SIZE(plan.dtype)));
        if (!v)
            rc = mc_errstatus();
        else
            fill_identity(op, plan.dtype, m, v);
    } else {
        rc = reduce_kernel(t, source, mask, plan, compute, &v, &numbers);
        if (!rc)
            rc = finish(op, &plan, m, (double)n, v, numbers, p);
    }
    if (!rc && m <= SHORT && mci_contiguous(out)) {
        mci_cast(out->dtype, plan.dtype)(m, out->data, 1, v, 1);
    } else if (!rc) {
        flat.data = v;
        flat.dtype = plan.dtype;
        flat.ndim = nd;
        flat.numel = m;
        int64_t stride = 1;
        for (int i = nd - 1; i >= 0; i--) {
            flat.shape[i] = shape[i];
            flat.strides[i] = stride;
            stride *= shape[i];
        }
        rc = mci_copy(out, &flat);
    }
    mci_free(v);
    mci_free(numbers);
    return rc;
}

int mci_reduce_exec(const mci_job *job, const mci_result *r, mc_tensor *const *out)
{
    return reduce(job, r, out[0], NULL);
}

static int reduce_op(const mci_op *op, mc_tensor *out, const mc_tensor *t, const mci_source *source,
                     const mc_params *p)
{
    mci_job job = { op, p, 1, &t, 1 };
    mci_result r;
    int given = (out->flags & MC_FLAG_OUT) != 0, rc = mci_reduce_infer(&job, &r);
    if (rc || (rc = mci_out(op->name, out, r.dtype[0], r.ndim[0], r.shape[0])) != 0)
        return rc;
    if ((rc = reduce(&job, &r, out, source)) != 0)
        mci_out_fail(out, given);
    return rc;
}

int mci_reduce_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                   const mc_tensor *const *in, const mc_params *p)
{
    (void)nout, (void)nin;
    return reduce_op(op, outs[0], in[0], NULL, p);
}

int mci_reduce_from(const mci_op *op, mc_tensor *out, const mc_tensor *like,
                    const mci_source *source, const mc_params *p)
{
    return reduce_op(op, out, like, source, p);
}

/* ---- rows whose layout is known ---- */

typedef struct row_reduce {
    const mci_op *op;
    reduce_form plan;
    int kdtype;
    mck_reduce k;
    mc_params params;
    mci_cast_fn cast; /* from partial results to the result */
    MC_ALIGNED(64) char partial[];
} row_reduce;

static void run_rows(const mci_row_op *r, void *out, const void *in)
{
    row_reduce *q = r->state;
    q->k.in = in;
    ((mck_reduce_fn)mci_kernel_get(q->plan.kernel, q->kdtype))(&q->k);
    finish(q->op, &q->plan, q->k.m, (double)q->k.n, q->partial, NULL, &q->params);
    q->cast(q->k.m, out, 1, q->partial, 1);
}

int mci_reduce_rows(mci_row_op *r, const mci_op *op, const mc_tensor *out, const mc_tensor *in,
                    const mc_params *p)
{
    int dtype, compute;
    int64_t m, n;
    if (mci_resolve(op, 1, &in, &dtype, &compute) || compute != in->dtype || p->dtype >= 0 ||
        !mci_last_axes(in, p, &m, &n) || m * n == 0 || n > CHUNK || !mci_contiguous(out))
        return 0;
    reduce_form plan = form_of(op, compute);
    int rdtype =
        op->result == MCI_RESULT_SAME && mci_kind(compute) != 'f' && mci_kind(compute) != 'c'
            ? compute
            : mci_result_dtype(op, dtype);
    if (plan.positions || plan.skip != MCI_SKIP_NONE || rdtype != out->dtype)
        return 0;
    row_reduce *q = mci_alloc(sizeof *q + (size_t)(m * plan.size));
    if (!q)
        return 0;
    *q = (row_reduce){ .op = op,
                       .plan = plan,
                       .kdtype = compute == MC_BOOL ? MC_U8 : compute,
                       .params = *p,
                       .cast = mci_cast(rdtype, plan.dtype) };
    q->k = (mck_reduce){.m = m, .n = n, .out = q->partial, .row_stride = n, .elem_stride = 1};
    *r = (mci_row_op){run_rows, q};
    return 1;
}
