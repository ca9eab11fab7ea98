/* mc_fft.c - driver of discrete Fourier transforms and the cache of plans.
 *
 * Holds the plans (least recently used of 64, one per kind, precision, length and row count) and
 * the rows they run on: a task is a fixed number of rows, so the bits do not depend on the
 * threads. Lengths are cropped or zero-filled as in the array API. The engine is a neighbour
 * (FFTW) or our own transform; this file does not know which. */
#include "family/mc_fft.h"
#include "family/mc_rows.h"
#include "family/mc_family.h"
#include "../../kernels/mck_fft.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define PLANS 64

typedef struct plan_slot {
    const mc_fft_api *api;
    void *plan;
    int kind, prec, measure;
    int64_t n, stamp;
    int users;
} plan_slot;

static struct {
    pthread_mutex_t lock; /* guards the slots; also serialises planning, which engines need */
    plan_slot slot[PLANS];
    int64_t clock;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

int mci_fft_plan(mci_fft_use *use, int kind, int prec, int64_t n)
{
    const mc_fft_api *api = mci_fft_for(kind, prec, n);
    int measure = mci_fft_measure();
    memset(use, 0, sizeof *use);
    pthread_mutex_lock(&cache.lock);
    int at = -1, oldest = -1;
    for (int i = 0; i < PLANS; i++) {
        plan_slot *s = &cache.slot[i];
        if (s->plan && s->api == api && s->kind == kind && s->prec == prec && s->n == n &&
            s->measure == measure) {
            at = i;
            break;
        }
        if (!s->users && (oldest < 0 || !s->plan ||
                          (cache.slot[oldest].plan && s->stamp < cache.slot[oldest].stamp)))
            oldest = i;
    }
    int rc = MC_OK;
    if (at < 0) {
        int64_t nc = n / 2 + 1, in = kind == 3 ? nc : n, out = kind == 2 ? nc : n;
        void *plan = oldest < 0 ? NULL : api->plan(kind, prec, n, 1, in, out, measure);
        if (!plan) {
            rc = mci_error(MC_ENOMEM,
                           "fft: %s has no plan for %lld points, which may be a want of memory; "
                           "release tensors or choose another length",
                           api->name, (long long)n);
        } else {
            plan_slot *s = &cache.slot[oldest];
            if (s->plan)
                s->api->drop(s->plan);
            *s = (plan_slot){api, plan, kind, prec, measure, n, 0, 0};
            at = oldest;
        }
    }
    if (!rc) {
        cache.slot[at].stamp = ++cache.clock;
        cache.slot[at].users++;
        use->slot = at;
        use->plan = cache.slot[at].plan;
        use->execute = api->execute;
        use->align = api->align;
        use->held = 1;
    }
    pthread_mutex_unlock(&cache.lock);
    return rc;
}

void mci_fft_done(mci_fft_use *use)
{
    if (!use->held)
        return;
    pthread_mutex_lock(&cache.lock);
    cache.slot[use->slot].users--;
    pthread_mutex_unlock(&cache.lock);
    use->held = 0;
}

typedef struct fft_job {
    mci_fft_use use;
    const char *in;
    char *out, *buf;
    int64_t m, rows;
    /* elements per row given, used, wanted by the plan, produced */
    int64_t have, take, ilen, olen;
    int64_t isize, osize, bufsize;
    int copy_in, prec, reals_out;
    double scale;
} fft_job;

static void fft_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const fft_job *j = arg;
    (void)end;
    uintptr_t last = (uintptr_t)j->use.align - 1;
    int64_t r0 = begin * j->rows, r1 = r0 + j->rows < j->m ? r0 + j->rows : j->m;
    char *bin = j->buf + (int64_t)worker * j->bufsize,
         *bout = bin + ((j->ilen * j->isize + 63) & ~(int64_t)63);
    for (int64_t r = r0; r < r1; r++) {
        const char *src = j->in + r * j->have * j->isize;
        char *dst = j->out + r * j->olen * j->osize;
        int move_in = j->copy_in || ((uintptr_t)src & last),
            move_out = ((uintptr_t)dst & last) != 0;
        if (move_in) {
            memcpy(bin, src, (size_t)(j->take * j->isize));
            memset(bin + j->take * j->isize, 0, (size_t)((j->ilen - j->take) * j->isize));
            src = bin;
        }
        /* a result that lies badly is computed a few bytes further on, over the start of the next
         * row of this task, and moved back: half the memory traffic of a buffer */
        int64_t ahead = j->use.align - (int64_t)((uintptr_t)dst & last);
        char *res = !move_out                                   ? dst
                    : r + 1 < r1 && ahead <= j->olen * j->osize ? dst + ahead
                                                                : bout;
        j->use.execute(j->use.plan, src, res);
        int64_t reals = j->olen * j->reals_out;
        if (j->scale != 1) {
            if (j->prec == 4) {
                float *y = (float *)(void *)dst, f = (float)j->scale;
                const float *x = (const float *)(const void *)res;
                for (int64_t i = 0; i < reals; i++)
                    y[i] = x[i] * f;
            } else {
                double *y = (double *)(void *)dst;
                const double *x = (const double *)(const void *)res;
                for (int64_t i = 0; i < reals; i++)
                    y[i] = x[i] * j->scale;
            }
        } else if (move_out) {
            memmove(dst, res, (size_t)(j->olen * j->osize));
        }
    }
}

/* params: i[0] n (-1: as given), axes[0], i[1] norm: 0 backward, 1 ortho, 2 forward */
int mci_fft_describe(const mci_job *job, mci_fft_call *c, mci_result *r)
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
    c->kind = op->variant; /* fft, ifft, rfft, irfft: as mck_fft counts */
    if (c->kind == 2 && mci_kind(compute) == 'c')
        return mci_error(MC_EDTYPE, "rfft: operand is %s; take its real part, or use fft",
                         mci_tensor_text(s, sizeof s, t));
    c->prec = compute == MC_F32 || compute == MC_C64 ? 4 : 8;
    const int ct = c->prec == 4 ? MC_C64 : MC_C128, rt = c->prec == 4 ? MC_F32 : MC_F64;
    c->idt = c->kind == 2 ? rt : ct;
    c->len = t->shape[c->axis];
    c->n = p->i[0] >= 0 ? p->i[0] : c->kind == 3 ? 2 * (c->len - 1) : c->len;
    if (c->n < 1)
        return mci_error(MC_ESHAPE, "%s: %lld points from %s; give a length of at least 1",
                         op->name, (long long)c->n, mci_tensor_text(s, sizeof s, t));
    const int inverse = c->kind == 1 || c->kind == 3, norm = (int)p->i[1];
    c->scale = norm == 1                         ? 1 / sqrt((double)c->n)
               : (inverse ? norm == 0 : norm == 2) ? 1 / (double)c->n
                                                 : 1;
    mci_result_one(r, c->kind == 3 ? rt : ct, t->ndim, t->shape);
    r->compute = compute;
    r->shape[0][c->axis] = c->kind == 2 ? c->n / 2 + 1 : c->n;
    return MC_OK;
}

int mci_fft_infer(const mci_job *job, mci_result *r)
{
    mci_fft_call c;
    return mci_fft_describe(job, &c, r);
}

int mci_fft_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in,
                const mc_params *p)
{
    (void)nout;
    const mc_tensor *t = in[0];
    mc_tensor *out = outs[0];
    const int given = (out->flags & MC_FLAG_OUT) != 0;
    mci_fft_call c;
    mci_result r;
    int rc = mci_fft_describe(&(mci_job){ op, p, nin, in, nout }, &c, &r);
    if (rc || (rc = mci_out(op->name, out, r.dtype[0], r.ndim[0], r.shape[0])) != 0 ||
        out->numel == 0)
        return rc;
    const int kind = c.kind, prec = c.prec, axis = c.axis, idt = c.idt, odt = r.dtype[0];
    const int64_t n = c.n, len = c.len;
    fft_job j = { .have = len,
                  .ilen = kind == 3 ? n / 2 + 1 : n,
                  .olen = r.shape[0][axis],
                  .isize = MCI_SIZE(idt),
                  .osize = MCI_SIZE(odt),
                  .prec = prec,
                  .reals_out = kind == 3 ? 1 : 2 };
    j.take = len < j.ilen ? len : j.ilen;
    j.copy_in = len != j.ilen || kind == 3; /* c2r may overwrite its input */
    j.scale = c.scale;
    mci_rows rows = {0};
    mci_rows_out res = {0};
    rc = mci_rows_in(&rows, t, 1u << axis, idt);
    if (!rc)
        rc = mci_rows_open(&res, out, axis, odt);
    if (!rc)
        rc = mci_fft_plan(&j.use, kind, prec, n);
    if (!rc) {
        j.m = out->numel / j.olen;
        if (rows.m == 0 || len == 0)
            rows.m = j.m;
        j.in = rows.data;
        j.out = res.data;
        j.rows = 16384 / n > 1 ? 16384 / n : 1;
        int64_t tasks = (j.m + j.rows - 1) / j.rows;
        j.bufsize =
            ((j.ilen * j.isize + 63) & ~(int64_t)63) + ((j.olen * j.osize + 63) & ~(int64_t)63);
        j.buf = mci_alloc((size_t)(j.bufsize * mci_workers(tasks)));
        rc = j.buf ? mci_parallel(tasks, fft_task, &j) : mc_errstatus();
        mci_free(j.buf);
    }
    mci_fft_done(&j.use);
    if (!rc)
        rc = mci_rows_store(&res);
    else
        mci_rows_abandon(&res);
    mci_rows_drop(&rows);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}
