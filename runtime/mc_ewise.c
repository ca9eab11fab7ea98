/* mc_ewise.c - driver of elementwise ops: broadcasting, conversion, blocks, threads.
 *
 * The flat index space of the result is cut into tasks of GRAIN elements (by shape only) and each task into blocks. Kernels see
 * contiguous operands or one value; anything else (other dtype, stride, broadcast inside a block) is gathered into a block buffer
 * first. May not know which function is computed. */
#include "mc_ops.h"
#include "../kernels/mck.h"

#include <string.h>

#define BLOCK 1024        /* elements: four 8 KiB buffers stay in the first-level cache */
#define GRAIN 65536       /* elements per task; measured: starting a team costs 2-4 us, 64k adds 15 us */
#define MAXIN 3

typedef struct ewise_job {
    const mci_op *op;
    mck_ewise_fn fn;
    int nin, nd, dtype, rdtype; /* arithmetic and its result dtype */
    int64_t total, inner, block;
    int64_t shape[MC_MAX_RANK], strides[MAXIN + 1][MC_MAX_RANK]; /* [0] the result */
    const mc_tensor *in[MAXIN];
    mc_tensor *out;
    int in_dtype[MAXIN]; /* dtype the kernel wants of operand k */
    int64_t status[1];
    int64_t bad;
} ewise_job;

/* Operand k for elements [at, at+n) of row `row` (or of the flat space when rows are short): pointer and stride for the kernel. */
static const void *operand(const ewise_job *j, int k, int64_t flat, int64_t n, char *buf, int64_t *stride)
{
    const mc_tensor *t = j->in[k];
    const int64_t *st = j->strides[k + 1];
    int want = j->in_dtype[k];
    mci_cast_fn cast = mci_cast(want, t->dtype);
    int64_t size = MCI_SIZE(t->dtype), wsize = MCI_SIZE(want);
    int64_t at = flat % j->inner, rest = flat / j->inner, off = 0, si = j->nd ? st[j->nd - 1] : 0;
    int64_t idx[MC_MAX_RANK];
    for (int i = j->nd - 2; i >= 0; i--) {
        idx[i] = rest % j->shape[i];
        rest /= j->shape[i];
        off += idx[i] * st[i];
    }
    if (at + n <= j->inner) { /* inside one row */
        const char *p = (const char *)t->data + (off + at * si) * size;
        if (si == 0 || n == 1) {
            *stride = 0;
            if (t->dtype == want)
                return p;
            cast(1, buf, 1, p, 1);
            return buf;
        }
        *stride = 1;
        if (si == 1 && t->dtype == want)
            return p;
        cast(n, buf, 1, p, si);
        return buf;
    }
    *stride = 1;
    int64_t done = 0;
    while (done < n) {
        int64_t m = j->inner - at < n - done ? j->inner - at : n - done;
        cast(m, buf + done * wsize, 1, (const char *)t->data + (off + at * si) * size, si);
        done += m;
        at = 0;
        for (int i = j->nd - 2; i >= 0; i--) {
            off += st[i];
            if (++idx[i] < j->shape[i])
                break;
            off -= idx[i] * st[i];
            idx[i] = 0;
        }
    }
    return buf;
}

static void ewise_task(void *arg, int64_t begin, int64_t end, int worker)
{
    ewise_job *j = arg;
    (void)worker;
    MC_ALIGNED(64) char buf[MAXIN + 1][BLOCK * 16];
    int64_t lo = begin * GRAIN, hi = end * GRAIN < j->total ? end * GRAIN : j->total;
    int64_t osize = MCI_SIZE(j->out->dtype), so = j->nd ? j->strides[0][j->nd - 1] : 1;
    int direct = j->out->dtype == j->rdtype && so == 1;
    int64_t status = 0;
    for (int64_t at = lo, n; at < hi; at += n) {
        n = hi - at < j->block ? hi - at : j->block;
        int64_t row_left = j->inner - at % j->inner;
        int crosses = n > row_left;
        if (crosses && j->inner >= 64) { /* long rows: stop at the end of this one */
            n = row_left;
            crosses = 0;
        }
        int64_t off = 0, rest = at / j->inner;
        for (int i = j->nd - 2; i >= 0; i--) {
            off += rest % j->shape[i] * j->strides[0][i];
            rest /= j->shape[i];
        }
        off += at % j->inner * so;
        char *dst = (char *)j->out->data + off * osize;
        mck_ewise k = {.n = n, .status = &status};
        int to_buf = !direct || crosses;
        k.out = to_buf ? (void *)buf[MAXIN] : (void *)dst;
        int single = n > 1 && j->nin < 3; /* kernels of one and two operands want one that runs along */
        for (int i = 0; i < j->nin; i++) {
            k.in[i] = operand(j, i, at, n, buf[i], &k.stride[i]);
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
        if (to_buf && !crosses)
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

int mci_ewise_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    (void)p;
    mc_tensor *out = outs[0], tmp = {0};
    int dtype, compute, nd;
    int64_t shape[MC_MAX_RANK];
    int rc = mci_resolve(op, nin, in, &dtype, &compute);
    if (rc || (rc = mci_broadcast(op->name, in, nin, &nd, shape)) != 0)
        return rc;
    int rdtype = mci_result_dtype(op, dtype);
    if ((rc = mci_out(op->name, out, rdtype, nd, shape)) != 0)
        return rc;
    mc_tensor *target = out;
    int given = (out->flags & MC_FLAG_OUT) != 0;
    for (int i = 0; given && i < nin; i++) {
        int over = mci_overlap(out, in[i]);
        if (over == 1 || (over == 0 && (in[i]->dtype != out->dtype || out->dtype != mci_result_dtype(op, compute)))) {
            if ((rc = mc_create(&tmp, rdtype, nd, shape)) != 0)
                return rc;
            target = &tmp;
            break;
        }
    }
    ewise_job j = {.op = op, .nin = nin, .dtype = compute, .rdtype = mci_result_dtype(op, compute), .out = target, .total = target->numel};
    j.fn = (mck_ewise_fn)mci_kernel_get(op->kernel, compute);
    memcpy(j.shape, shape, sizeof *shape * (size_t)nd);
    mci_broadcast_strides(target, nd, j.strides[0]);
    for (int i = 0; i < nin; i++) {
        j.in[i] = in[i];
        j.in_dtype[i] = op->where && i == 0 ? MC_BOOL : compute;
        mci_broadcast_strides(in[i], nd, j.strides[i + 1]);
    }
    j.nd = mci_collapse(nd, j.shape, nin + 1, j.strides);
    j.inner = j.nd ? j.shape[j.nd - 1] : 1;
    if (j.inner < 1)
        j.inner = 1; /* nothing to do, but no division by zero either */
    j.block = j.inner < 64 && BLOCK > j.inner ? BLOCK / j.inner * j.inner : BLOCK;
    if (j.total > 0) {
        /* contiguous operands of the right dtype need no buffers: larger blocks save calls */
        int plain = j.nd <= 1 && target->dtype == j.rdtype, runs = nin > 2;
        for (int i = 0; plain && i < nin; i++) {
            int64_t step = j.nd ? j.strides[i + 1][0] : 1;
            plain = in[i]->dtype == j.in_dtype[i] && (step == 0 || step == 1);
            runs = runs || step == 1;
        }
        plain = plain && runs;
        if (plain && (j.nd == 0 || j.strides[0][0] == 1))
            j.block = GRAIN;
        rc = mci_parallel((j.total + GRAIN - 1) / GRAIN, ewise_task, &j);
    }
    if (!rc && j.bad)
        rc = mci_error(MC_EINVAL, "%s: %s at flat position %lld (from 1); mask such elements out first", op->name, op->guard, (long long)j.bad);
    if (!rc && target == &tmp)
        rc = mc_copy(out, &tmp);
    if (target == &tmp)
        mc_drop(&tmp);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}
