/* mc_ewise.c - driver of elementwise ops: broadcasting, conversion, blocks, threads.
 *
 * The flat index space of the result is cut into tasks of MCI_GRAIN elements (by shape only) and
 * each task into blocks. Kernels see contiguous operands or one value; anything else (other
 * dtype, stride, broadcast inside a block) is gathered into a block buffer first. */
#include "tensor/mc_blocks.h"
#include "family/mc_family.h"
#include "record/mc_record.h"
#include "../../kernels/mck_ewise.h"

#include <string.h>

#define BLOCK 1024        /* elements: four 8 KiB buffers stay in the first-level cache */
#define MAXIN 3

typedef struct ewise_job {
    const mci_op *op;
    mck_ewise_fn fn;
    int nin, dtype, rdtype; /* arithmetic and its result dtype */
    mci_space s;
    int64_t block;
    int stream; /* the result is written past the caches */
    int64_t strides[MAXIN + 1][MC_MAX_RANK]; /* [0] the result */
    const mc_tensor *in[MAXIN];
    mc_tensor *out;
    int in_dtype[MAXIN]; /* dtype the kernel wants of operand k */
    int64_t bad;
} ewise_job;

static void ewise_task(void *arg, int64_t begin, int64_t end, int worker)
{
    ewise_job *j = arg;
    (void)worker;
    MC_ALIGNED(64) char buf[MAXIN + 1][BLOCK * 16];
    int64_t lo = begin * MCI_GRAIN,
            hi = end * MCI_GRAIN < j->s.total ? end * MCI_GRAIN : j->s.total;
    int64_t osize = MCI_SIZE(j->out->dtype), so = j->s.nd ? j->strides[0][j->s.nd - 1] : 1;
    int direct = j->out->dtype == j->rdtype && so == 1;
    int64_t status = 0;
    for (int64_t at = lo, n; at < hi; at += n) {
        int crosses;
        n = mci_block_size(&j->s, at, hi - at, j->block, &crosses);
        char *dst = (char *)j->out->data + mci_block_offset(&j->s, j->strides[0], at) * osize;
        mck_ewise k = {.n = n, .status = &status};
        int to_buf = !direct || crosses || j->stream;
        k.out = to_buf ? (void *)buf[MAXIN] : (void *)dst;
        /* kernels of one and two operands want one that runs along */
        int single = n > 1 && j->nin < 3;
        for (int i = 0; i < j->nin; i++) {
            k.in[i] = mci_block_load(&j->s, j->in[i], j->strides[i + 1], j->in_dtype[i], at, n,
                                     buf[i], &k.stride[i]);
            single = single && k.stride[i] == 0;
        }
        if (single) {
            MC_ALIGNED(16) char one[16];
            memcpy(one, k.in[0], (size_t)MCI_SIZE(j->in_dtype[0]));
            mci_cast(j->in_dtype[0], j->in_dtype[0])(n, buf[0], 1, one, 0);
            k.in[0] = buf[0];
            k.stride[0] = 1;
        }
        j->fn(&k);
        if (j->stream) {
            const char *ahead[MAXIN];
            int along = 0;
            for (int i = 0; i < j->nin && at + 2 * n <= hi; i++)
                if (k.stride[i] == 1 && MCI_SIZE(j->in_dtype[i]) == osize)
                    ahead[along++] = (const char *)k.in[i] + n * osize;
            mci_stream(dst, buf[MAXIN], n * osize, along, ahead);
        } else if (to_buf && !crosses)
            mci_cast(j->out->dtype, j->rdtype)(n, dst, so, buf[MAXIN], 1);
        else if (to_buf)
            mci_scatter(j->out, at, n, j->rdtype, buf[MAXIN]);
        if (MC_UNLIKELY(status)) {
            __atomic_store_n(&j->bad, at + status, __ATOMIC_RELAXED);
            return;
        }
        if (mc_cancel_pending())
            return;
    }
}

static inline int infer(const mci_job *job, mci_result *r)
{
    int dtype;
    r->nout = 1;
    int rc = mci_resolve(job->op, job->nin, job->in, &dtype, &r->compute);
    r->dtype[0] = mci_result_dtype(job->op, dtype);
    return rc ? rc : mci_broadcast(job->op->name, job->in, job->nin, &r->ndim[0], r->shape[0]);
}

int mci_ewise_infer(const mci_job *job, mci_result *r) { return infer(job, r); }

/* Whether the result may not be written while operands are read: they share elements, but not as
 * the same ones of one dtype. */
static int apart(const mci_job *job, const mc_tensor *out, int computed)
{
    for (int i = 0; i < job->nin; i++) {
        int over = mci_overlap(out, job->in[i]);
        if (over == 1 || (over == 0 && (job->in[i]->dtype != out->dtype || out->dtype != computed)))
            return 1;
    }
    return 0;
}

static inline int exec(const mci_job *job, const mci_result *r, mc_tensor *const *outs)
{
    const mci_op *op = job->op;
    const mc_tensor *const *in = job->in;
    const int nin = job->nin, nd = r->ndim[0], compute = r->compute;
    mc_tensor *out = outs[0], tmp = {0}, *target = out;
    int rc = MC_OK;
    if ((out->flags & MC_FLAG_OUT) && apart(job, out, mci_result_dtype(op, compute))) {
        if ((rc = mc_create(&tmp, out->dtype, nd, r->shape[0])) != 0)
            return rc;
        target = &tmp;
    }
    ewise_job j = { .op = op,
                    .nin = nin,
                    .dtype = compute,
                    .rdtype = mci_result_dtype(op, compute),
                    .out = target,
                    .s.total = target->numel };
    j.fn = (mck_ewise_fn)mci_kernel_get(op->kernel, compute);
    memcpy(j.s.shape, r->shape[0], sizeof *r->shape[0] * (size_t)nd);
    mci_broadcast_strides(target, nd, j.strides[0]);
    for (int i = 0; i < nin; i++) {
        j.in[i] = in[i];
        j.in_dtype[i] = op->where && i == 0 ? MC_BOOL : compute;
        mci_broadcast_strides(in[i], nd, j.strides[i + 1]);
    }
    j.s.nd = mci_collapse(nd, j.s.shape, nin + 1, j.strides);
    j.s.inner = j.s.nd ? j.s.shape[j.s.nd - 1] : 1;
    if (j.s.inner < 1)
        j.s.inner = 1; /* nothing to do, but no division by zero either */
    j.block = j.s.inner < 64 && BLOCK > j.s.inner ? BLOCK / j.s.inner * j.s.inner : BLOCK;
    if (j.s.total > 0) {
        /* contiguous operands of the right dtype need no buffers: larger blocks save calls */
        int plain = j.s.nd <= 1 && target->dtype == j.rdtype, runs = nin > 2;
        for (int i = 0; plain && i < nin; i++) {
            int64_t step = j.s.nd ? j.strides[i + 1][0] : 1;
            plain = in[i]->dtype == j.in_dtype[i] && (step == 0 || step == 1);
            runs = runs || step == 1;
        }
        plain = plain && runs;
        if (plain && (j.s.nd == 0 || j.strides[0][0] == 1))
            j.block = MCI_GRAIN;
        int64_t bytes = j.s.total * MCI_SIZE(target->dtype);
        if (j.block == MCI_GRAIN && bytes >= MCI_STREAM) {
            j.stream = 1;
            /* 8 KiB: what is read ahead meanwhile stays in the first cache */
            j.block = BLOCK * 8 / MCI_SIZE(target->dtype);
        }
        rc = mci_parallel((j.s.total + MCI_GRAIN - 1) / MCI_GRAIN, ewise_task, &j);
    }
    if (!rc && j.bad)
        rc = mci_error_at(op->name, op->guard, j.bad);
    if (!rc && target == &tmp)
        rc = mci_copy(out, &tmp);
    if (target == &tmp)
        mc_drop(&tmp);
    return rc;
}

int mci_ewise_exec(const mci_job *job, const mci_result *r, mc_tensor *const *outs)
{
    return exec(job, r, outs);
}

int mci_ewise_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in,
                  const mc_params *p)
{
    mc_tensor *out = outs[0];
    const mci_job job = { op, p, nin, in, nout };
    mci_result r;
    const int given = out->flags & MC_FLAG_OUT;
    (void)nout;
    int rc = infer(&job, &r);
    if (rc || (rc = mci_out(op->name, out, r.dtype[0], r.ndim[0], r.shape[0])) != 0)
        return rc;
    if ((rc = exec(&job, &r, outs)) != 0)
        mci_out_fail(out, given);
    return rc;
}
