/* mc_attention.c - driver of attention and of its derivatives: heads, blocks of queries, blocks of
 * keys.
 *
 * A task of attention is a block of queries of one head, one of the derivatives a head and up to
 * PART keys: for more keys the gradients of queries are added up over the parts in order. The cut
 * follows from queries and keys of one head alone. */
#include "family/mc_family.h"
#include "../../kernels/mck_attention.h"

#include <string.h>

#define PART 1024 /* keys whose gradients a worker adds up at one time */

/* params: places of queries begin at i[START]; a query at place p sees the keys up to p (CAUSAL),
 * and those less than i[WINDOW] away from it, when that is not 0; d[0]: the scale */
enum { START, WINDOW, CAUSAL };
/* operands; attention has the first three, its derivatives all */
enum { Q, K, VALUES, G, G_LEVEL, Y, LEVEL, OPERANDS };

typedef struct attention_job {
    mck_attention_fn fn;
    mck_attention k;
    mc_tensor in[OPERANDS], out[3]; /* contiguous along the last axis, in the dtype of arithmetic */
    int64_t blocks, part, room, size;
    char *work, *partial; /* partial: gradients of queries for each task, or NULL */
} attention_job;

/* Where head number `head` begins in t, whose last `inner` axes are its own. */
static char *head_of(const mc_tensor *t, int inner, int64_t head)
{
    int64_t at = 0;
    for (int i = t->ndim - inner - 1; i >= 0; i--) {
        at += head % t->shape[i] * t->strides[i];
        head /= t->shape[i];
    }
    return (char *)t->data + at * MCI_SIZE(t->dtype);
}

static int64_t row_of(const mc_tensor *t)
{
    return t->strides[t->ndim - 2];
}

static void forward_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const attention_job *j = arg;
    (void)end;
    const int64_t head = begin / j->blocks, first = begin % j->blocks * MCK_ATTENTION_QUERIES;
    mck_attention k = j->k;
    k.n = k.n - first < MCK_ATTENTION_QUERIES ? k.n - first : MCK_ATTENTION_QUERIES;
    k.seen += first * k.step;
    k.q = head_of(&j->in[Q], 2, head) + first * k.q_row * j->size;
    k.k = head_of(&j->in[K], 2, head);
    k.v = head_of(&j->in[VALUES], 2, head);
    k.y = head_of(&j->out[0], 2, head) + first * k.y_row * j->size;
    k.level = head_of(&j->out[1], 1, head) + first * j->size;
    k.work = j->work + worker * j->room;
    j->fn(&k);
}

static void back_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const attention_job *j = arg;
    (void)end;
    const int64_t head = begin / j->blocks, first = begin % j->blocks * j->part;
    mck_attention k = j->k;
    k.m = k.m - first < j->part ? k.m - first : j->part;
    k.seen -= first * k.step;
    k.q = head_of(&j->in[Q], 2, head);
    k.k = head_of(&j->in[K], 2, head) + first * k.k_row * j->size;
    k.v = head_of(&j->in[VALUES], 2, head) + first * k.v_row * j->size;
    k.g = head_of(&j->in[G], 2, head);
    k.g_level = head_of(&j->in[G_LEVEL], 1, head);
    k.y = head_of(&j->in[Y], 2, head);
    k.level = head_of(&j->in[LEVEL], 1, head);
    k.dq = j->partial ? j->partial + begin * k.n * k.d * j->size : head_of(&j->out[0], 2, head);
    k.dk = head_of(&j->out[1], 2, head) + first * k.d * j->size;
    k.dv = head_of(&j->out[2], 2, head) + first * k.e * j->size;
    k.work = j->work + worker * j->room;
    j->fn(&k);
}

static void add_f32(float *to, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

static void add_f64(double *to, const double *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

/* The gradients of queries of the parts, added up. */
static void join_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const attention_job *j = arg;
    const int64_t n = j->k.n * j->k.d;
    (void)end;
    (void)worker;
    char *const to = head_of(&j->out[0], 2, begin),
                *from = j->partial + begin * j->blocks * n * j->size;
    memcpy(to, from, (size_t)(n * j->size));
    for (int64_t b = 1; b < j->blocks; b++) {
        from += n * j->size;
        if (j->size == 4)
            add_f32((void *)to, (const void *)from, n);
        else
            add_f64((void *)to, (const void *)from, n);
    }
}

/* t has the leading axes of q and then the sizes a, b (b < 0: one axis). */
static int like(const mc_tensor *t, const mc_tensor *q, int64_t a, int64_t b)
{
    const int inner = b < 0 ? 1 : 2;
    return t->ndim == q->ndim - 2 + inner &&
           !memcmp(t->shape, q->shape, (size_t)(q->ndim - 2) * sizeof *t->shape) &&
           t->shape[q->ndim - 2] == a && (b < 0 || t->shape[q->ndim - 1] == b);
}

int mci_attention_infer(const mci_job *job, mci_result *r)
{
    const int back = job->op->variant == MCI_ATTENTION_BACK;
    const mc_tensor *const *in = job->in, *q = in[Q], *k = in[K], *v = in[VALUES];
    char s1[MCI_TEXT], s2[MCI_TEXT], s3[MCI_TEXT];
    int dtype, compute, rc = mci_resolve(job->op, job->nin, in, &dtype, &compute);
    if (rc) return rc;
    int fits = q->ndim >= 2 && k->ndim == q->ndim && v->ndim == q->ndim;
    const int nd = q->ndim;
    const int64_t n = fits ? q->shape[nd - 2] : 0, m = fits ? k->shape[nd - 2] : 0,
                  d = fits ? q->shape[nd - 1] : 0, e = fits ? v->shape[nd - 1] : 0;
    fits = fits && like(k, q, m, d) && like(v, q, m, e);
    if (back)
        fits = fits && like(in[G], q, n, e) && like(in[G_LEVEL], q, n, -1) &&
               like(in[Y], q, n, e) && like(in[LEVEL], q, n, -1);
    if (!fits)
        return mci_error(MC_ESHAPE,
                         "%s: q is %s, k is %s and v is %s; leading axes and widths differ",
                         job->op->name, mci_tensor_text(s1, sizeof s1, q),
                         mci_tensor_text(s2, sizeof s2, k), mci_tensor_text(s3, sizeof s3, v));
    r->nout = back ? 3 : 2;
    r->compute = compute;
    for (int i = 0; i < r->nout; i++) {
        const mc_tensor *t = back ? in[i] : q;
        r->dtype[i] = dtype;
        r->ndim[i] = t->ndim - (!back && i == 1);
        memcpy(r->shape[i], t->shape, sizeof r->shape[i]);
    }
    if (!back) r->shape[0][nd - 1] = e;
    return MC_OK;
}

static int64_t bytes_of(const attention_job *j, int back)
{
    return (mck_attention_room(j->part, j->k.d, j->k.e, back) * j->size + 63) / 64 * 64;
}

static int run(attention_job *j, int64_t heads, int back)
{
    int64_t bytes;
    const int64_t tasks = heads * j->blocks;
    j->room = bytes_of(j, back);
    if (tasks == 0) return MC_OK;
    if (mci_size_mul(j->room, mci_workers(tasks), &bytes)) return mc_errstatus();
    j->work = mci_alloc((size_t)bytes);
    int rc = j->work ? MC_OK : mc_errstatus();
    if (!rc && back && j->blocks > 1) {
        rc = mci_size_mul(tasks, j->k.n * j->k.d * j->size, &bytes);
        if (!rc && !(j->partial = mci_alloc((size_t)bytes))) rc = mc_errstatus();
    }
    if (!rc) rc = mci_parallel(tasks, back ? back_task : forward_task, j);
    if (!rc && j->partial) rc = mci_parallel(heads, join_task, j);
    mci_free(j->partial);
    mci_free(j->work);
    return rc;
}

/* Rows of the last axis with unit stride, in dtype: t itself or a copy in tmp. */
static int rows_of(mc_tensor *in, mc_tensor *tmp, const mc_tensor *t, int dtype)
{
    int rc = MC_OK;
    const int last = t->ndim - 1;
    *in = *t;
    if (t->dtype == dtype && (t->strides[last] == 1 || t->shape[last] == 1)) return rc;
    rc = mci_materialize(tmp, t, dtype);
    *in = *tmp;
    return rc;
}

/* Which keys a query sees, as the kernel counts them: without causality a window has 2 w - 1. */
static void limits(mck_attention *k, const mc_params *p, int64_t m)
{
    const int64_t start = p->i[START], window = p->i[WINDOW];
    k->step = p->i[CAUSAL] || window;
    k->seen = p->i[CAUSAL] ? start + 1 : window ? start + window : m;
    k->window = p->i[CAUSAL] || !window ? window : 2 * window - 1;
}

int mci_attention_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                      const mc_tensor *const *in, const mc_params *p)
{
    const int back = op->variant == MCI_ATTENTION_BACK;
    mc_tensor tmp[OPERANDS] = { { 0 } }, res[3] = { { 0 } };
    int given[3] = { 0 }, direct[3];
    for (int i = 0; i < nout; i++) given[i] = (outs[i]->flags & MC_FLAG_OUT) != 0;
    mci_result r;
    int rc = mci_attention_infer(&(mci_job){ op, p, nin, in, nout }, &r);
    for (int i = 0; i < nout && !rc; i++)
        rc = mci_out(op->name, outs[i], r.dtype[i], r.ndim[i], r.shape[i]);
    if (rc) return rc;
    const int nd = in[Q]->ndim;
    attention_job j = { .fn = (mck_attention_fn)mci_kernel_get(op->kernel, r.compute),
                        .size = MCI_SIZE(r.compute) };
    for (int i = 0; i < nin && !rc; i++) rc = rows_of(&j.in[i], &tmp[i], in[i], r.compute);
    for (int i = 0; i < nout && !rc; i++) {
        direct[i] = outs[i]->dtype == r.compute && mci_contiguous(outs[i]);
        for (int k = 0; k < nin; k++) direct[i] = direct[i] && mci_overlap(outs[i], in[k]) < 0;
        if (!direct[i]) rc = mc_create(&res[i], r.compute, r.ndim[i], r.shape[i]);
        j.out[i] = direct[i] ? *outs[i] : res[i];
    }
    const int64_t n = in[Q]->shape[nd - 2], m = in[K]->shape[nd - 2],
                  heads = mci_numel(nd - 2, in[Q]->shape);
    if (!rc) {
        j.k = (mck_attention){ .n = n,
                               .m = m,
                               .d = in[Q]->shape[nd - 1],
                               .e = in[VALUES]->shape[nd - 1],
                               .q_row = row_of(&j.in[Q]),
                               .k_row = row_of(&j.in[K]),
                               .v_row = row_of(&j.in[VALUES]),
                               .g_row = back ? row_of(&j.in[G]) : 0,
                               .y_row = back ? row_of(&j.in[Y]) : row_of(&j.out[0]),
                               .scale = p->d[0] };
        limits(&j.k, p, m);
        j.part = m < PART ? m : PART;
        j.blocks = !back       ? (n + MCK_ATTENTION_QUERIES - 1) / MCK_ATTENTION_QUERIES
                   : m <= PART ? 1
                               : (m + PART - 1) / PART;
        rc = run(&j, heads, back);
    }
    for (int i = 0; i < nout && !rc; i++)
        if (!direct[i]) rc = mci_copy(outs[i], &res[i]);
    for (int i = 0; i < nout; i++) mc_drop(&res[i]);
    for (int i = 0; i < nin; i++) mc_drop(&tmp[i]);
    for (int i = 0; i < nout && rc; i++) mci_out_fail(outs[i], given[i]);
    return rc;
}
