/* mc_native.c - runs a generated elementwise function over operands of any layout.
 *
 * Such a function is a plain loop over n elements: every leaf runs along or is one value,
 * results run along. What lies otherwise is brought into that form here: rows are walked one by
 * one, short rows and strided leaves are gathered block by block. Layouts are looked at once,
 * when the function is bound to its operands; a call only follows pointers. Tasks are cut by
 * shape only. Holds the walk. */
#include "replay/mc_native.h"
#include "tensor/mc_blocks.h"
#include "family/mc_family.h"
#include "../../kernels/mck_ewise.h"

#include <string.h>

#define GATHERED 16384 /* bytes of gathered leaves of a worker: half of the first-level cache */
#define SHORT 64       /* rows below this are gathered into blocks when every leaf allows it */

struct mci_native {
    mc_native_fn fn;
    int nleaves, nresults, isa;
    int by_rows;   /* walked row by row; else blocks that cross rows */
    int gathers;   /* some leaf needs a buffer */
    int64_t block, room;
    mci_space s;
    /* buffer: byte in the room, -1 none */
    int32_t one[MCI_NATIVE_OPERANDS], size[MCI_NATIVE_OPERANDS], buffer[MCI_NATIVE_OPERANDS];
    int32_t given[MCI_NATIVE_OPERANDS]; /* bytes of an element of each result */
    int64_t strides[MCI_NATIVE_OPERANDS][MC_MAX_RANK]; /* leaves, then the results (all alike) */
};

typedef struct mci_native_job {
    const mci_native *k;
    mc_tensor *const *leaves, *const *results; /* results: NULL when ranges are given out by hand */
    mci_native *own; /* made for this job */
    char *memory;
    int32_t bad_op;
    int64_t bad;
} native_job;

mci_native *mci_native_new(mc_native_fn fn, int nleaves, mc_tensor *const *leaves,
                           const int32_t *one, int nresults, mc_tensor *const *results)
{
    if (nleaves + nresults > MCI_NATIVE_OPERANDS || nresults < 1) {
        mci_error(MC_EINVAL, "native: %d operands and %d results; at most %d together", nleaves,
                  nresults, MCI_NATIVE_OPERANDS);
        return NULL;
    }
    mci_native *k = mci_calloc(1, sizeof *k);
    if (!k)
        return NULL;
    const mc_tensor *like = results[0];
    int nd = like->ndim;
    k->fn = fn;
    k->nleaves = nleaves;
    k->nresults = nresults;
    k->isa = mci_isa();
    memcpy(k->s.shape, like->shape, sizeof like->shape);
    for (int i = 0; i < nresults; i++)
        k->given[i] = (int32_t)MCI_SIZE(results[i]->dtype);
    for (int i = 0; i < nleaves; i++) {
        mci_broadcast_strides(leaves[i], nd, k->strides[i]);
        k->size[i] = (int32_t)MCI_SIZE(leaves[i]->dtype);
        k->one[i] = one[i];
    }
    mci_broadcast_strides(like, nd, k->strides[nleaves]);
    k->s.nd = mci_collapse(nd, k->s.shape, nleaves + 1, k->strides);
    k->s.total = like->numel;
    nd = k->s.nd;
    k->s.inner = nd && k->s.shape[nd - 1] > 0 ? k->s.shape[nd - 1] : 1;
    int bound = 0; /* a value that changes from row to row binds blocks to rows */
    for (int i = 0; i < nleaves; i++) {
        if (!one[i])
            continue;
        if (nd && k->strides[i][nd - 1] != 0 && k->s.inner > 1) {
            mci_error(MC_EINTERNAL, "native: operand %d runs along a row and is bound as one value",
                      i + 1);
            mci_free(k);
            return NULL;
        }
        for (int d = 0; d < nd - 1; d++)
            bound = bound || k->strides[i][d] != 0;
    }
    k->by_rows = nd < 2 || bound || k->s.inner >= SHORT;
    int64_t bytes = 0;
    for (int i = 0; i < nleaves; i++) {
        int direct = one[i] || (k->by_rows && (nd == 0 || k->strides[i][nd - 1] == 1));
        k->buffer[i] = direct ? -1 : 0;
        bytes += direct ? 0 : k->size[i];
    }
    k->gathers = bytes > 0;
    k->block = k->gathers ? GATHERED / bytes / 64 * 64 : MCI_GRAIN;
    k->block = k->block < SHORT ? SHORT : k->block > MCI_GRAIN ? MCI_GRAIN : k->block;
    if (k->gathers && k->block > k->s.total && k->s.total > 0)
        k->block = k->s.total;
    if (!k->by_rows && k->block > k->s.inner)
        k->block = k->block / k->s.inner * k->s.inner;
    for (int i = 0; i < nleaves; i++) {
        if (k->buffer[i] < 0)
            continue;
        k->buffer[i] = (int32_t)k->room;
        k->room += (k->block * k->size[i] + 63) / 64 * 64;
    }
    return k;
}

void mci_native_free(mci_native *k) { mci_free(k); }

int mci_native_fits(const mci_native *k) { return k->isa == mci_isa(); }

/* Elements [at, at + n); to[i]: where element `first` of result i goes. */
static int call(native_job *j, int64_t at, int64_t n, const void *const *in, char *const *to,
                int64_t first)
{
    const mci_native *k = j->k;
    void *out[MCI_NATIVE_OPERANDS];
    for (int i = 0; i < k->nresults; i++)
        out[i] = to[i] + (at - first) * k->given[i];
    int32_t op = -1;
    int64_t bad = k->fn(n, out, in, &op);
    if (MC_UNLIKELY(bad)) {
        __atomic_store_n(&j->bad_op, op, __ATOMIC_RELAXED);
        __atomic_store_n(&j->bad, at + bad, __ATOMIC_RELAXED);
    }
    return bad != 0;
}

/* Blocks that cross short rows. */
static void walk_blocks(native_job *j, int64_t lo, int64_t hi, char *const *to, char *memory)
{
    const mci_native *k = j->k;
    const void *in[MCI_NATIVE_OPERANDS];
    for (int64_t at = lo, n; at < hi; at += n) {
        int crosses;
        int64_t stride;
        n = mci_block_size(&k->s, at, hi - at, k->block, &crosses);
        for (int i = 0; i < k->nleaves; i++) {
            const mc_tensor *t = j->leaves[i];
            if (k->buffer[i] < 0) {
                in[i] = t->data;
                continue;
            }
            char *buf = memory + k->buffer[i];
            in[i] = mci_block_load(&k->s, t, k->strides[i], t->dtype, at, n, buf, &stride);
            if (n > 1 && stride == 0) {
                MC_ALIGNED(16) char v[16];
                memcpy(v, in[i], (size_t)k->size[i]);
                mci_cast(t->dtype, t->dtype)(n, buf, 1, v, 0);
                in[i] = buf;
            }
        }
        if (call(j, at, n, in, to, lo) || mc_cancel_pending())
            return;
    }
}

static void walk_rows(native_job *j, int64_t lo, int64_t hi, char *const *to, char *memory)
{
    const mci_native *k = j->k;
    const int nd = k->s.nd;
    const void *in[MCI_NATIVE_OPERANDS];
    int64_t offset[MCI_NATIVE_OPERANDS], index[MC_MAX_RANK], rest = lo / k->s.inner,
                                                             place = lo % k->s.inner;
    for (int i = 0; i < k->nleaves; i++)
        offset[i] = 0;
    for (int d = nd - 2; d >= 0; d--) {
        index[d] = rest % k->s.shape[d];
        rest /= k->s.shape[d];
        for (int i = 0; i < k->nleaves; i++)
            offset[i] += index[d] * k->strides[i][d];
    }
    for (int64_t at = lo, n; at < hi; at += n) {
        n = k->s.inner - place < hi - at ? k->s.inner - place : hi - at;
        n = n < k->block ? n : k->block;
        for (int i = 0; i < k->nleaves; i++) {
            const mc_tensor *t = j->leaves[i];
            int64_t step = nd ? k->strides[i][nd - 1] : 0;
            in[i] = (const char *)t->data + (offset[i] + place * step) * k->size[i];
            if (k->buffer[i] >= 0) {
                mci_cast(t->dtype, t->dtype)(n, memory + k->buffer[i], 1, in[i], step);
                in[i] = memory + k->buffer[i];
            }
        }
        if (call(j, at, n, in, to, lo) || mc_cancel_pending())
            return;
        place += n;
        if (place < k->s.inner)
            continue;
        place = 0;
        for (int d = nd - 2; d >= 0; d--) {
            int wraps = ++index[d] == k->s.shape[d];
            for (int i = 0; i < k->nleaves; i++)
                offset[i] += wraps ? (1 - index[d]) * k->strides[i][d] : k->strides[i][d];
            if (!wraps)
                break;
            index[d] = 0;
        }
    }
}

void mci_native_range(mci_native_job *j, int64_t lo, int64_t hi, char *const *out, int worker)
{
    char *memory = j->memory ? j->memory + worker * j->k->room : NULL;
    if (j->k->by_rows)
        walk_rows(j, lo, hi, out, memory);
    else
        walk_blocks(j, lo, hi, out, memory);
}

static void native_task(void *arg, int64_t begin, int64_t end, int worker)
{
    native_job *j = arg;
    char *out[MCI_NATIVE_OPERANDS];
    int64_t lo = begin * MCI_GRAIN,
            hi = end * MCI_GRAIN < j->k->s.total ? end * MCI_GRAIN : j->k->s.total;
    for (int i = 0; i < j->k->nresults; i++)
        out[i] = (char *)j->results[i]->data + lo * j->k->given[i];
    mci_native_range(j, lo, hi, out, worker);
}

int mci_native_status(int64_t bad, int32_t op)
{
    if (!bad)
        return MC_OK;
    if (op < 0)
        return mci_error(MC_EINVAL, "kernel: status at flat position %lld (from 1)",
                         (long long)bad);
    return mci_error_at(mci_ops[op].name, mci_ops[op].guard, bad);
}

int mci_native_run(const mci_native *k, mc_tensor *const *leaves, mc_tensor *const *results)
{
    native_job j = {.k = k, .leaves = leaves, .results = results, .bad_op = -1};
    if (k->s.total == 0)
        return MC_OK;
    int64_t tasks = (k->s.total + MCI_GRAIN - 1) / MCI_GRAIN;
    if (k->gathers && !(j.memory = mci_alloc((size_t)(k->room * mci_workers(tasks)))))
        return mc_errstatus();
    int rc = mci_parallel(tasks, native_task, &j);
    mci_free(j.memory);
    return rc ? rc : mci_native_status(j.bad, j.bad_op);
}

mci_native_job *mci_native_open(const mci_native *k, mc_tensor *const *leaves)
{
    native_job *j = mci_calloc(1, sizeof *j);
    if (!j)
        return NULL;
    *j = (native_job){.k = k, .leaves = leaves, .bad_op = -1};
    if (k->gathers && !(j->memory = mci_alloc((size_t)(k->room * mc_get_num_threads())))) {
        mci_free(j);
        return NULL;
    }
    return j;
}

mci_native_job *mci_native_open_part(const mci_native *k, mc_tensor *const *leaves, int nresults,
                                     mc_tensor *const *results)
{
    mci_native *part = mci_native_new(k->fn, k->nleaves, leaves, k->one, nresults, results);
    native_job *j = part ? mci_native_open(part, leaves) : NULL;
    if (j)
        j->own = part;
    else
        mci_native_free(part);
    return j;
}

int mci_native_close(mci_native_job *j)
{
    int rc = mci_native_status(j->bad, j->bad_op);
    mci_native_free(j->own);
    mci_free(j->memory);
    mci_free(j);
    return rc;
}

int mc_code_kernel(void *code, const char *name, int op, int dtype, const char *isa)
{
    mck_ewise_fn *at = mc_code_find(code, name);
    if (!at)
        return mc_errstatus();
    *at = (mck_ewise_fn)mci_kernel_of_level(isa, mci_ops[op].kernel, dtype);
    return *at ? MC_OK : mci_error(MC_EINTERNAL, "native: %s has no kernel", mci_ops[op].name);
}
