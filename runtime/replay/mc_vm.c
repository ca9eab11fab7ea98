/* mc_vm.c - a group of elementwise ops over blocks that stay in the first-level cache.
 *
 * A program is a list of instructions over registers; a register is a block of elements of one
 * dtype. The first registers are the leaves (operands from memory), the others are temporaries.
 * An instruction is one call of the kernel that the op has anyway, or a conversion, so the bits
 * are those of the ops run one by one. The block is chosen such that all registers fit the
 * cache; tasks are cut by shape only. A program can also be run over ranges that somebody else
 * chooses: a reduction that reads what it makes, a matrix product that hands over tiles. Holds
 * programs. */
#include "tensor/mc_blocks.h"
#include "family/mc_family.h"
#include "replay/mc_vm.h"
#include "../../kernels/mck_ewise.h"

#include <string.h>

/* for the registers of a worker; half of the first-level cache and less */
static int64_t cache_bytes = 24576;
#define CACHE cache_bytes
#define SMALLEST 128
#define LARGEST 2048

int64_t mc_vm_cache(int64_t bytes)
{
    int64_t before = cache_bytes;
    if (bytes >= 1024 && bytes <= (1 << 20))
        cache_bytes = bytes;
    return before;
}

struct mci_vm {
    int nleaves, nresults, ninstr, nregs;
    int32_t want[MCI_VM_REGISTERS], result[MCI_VM_REGISTERS], dtype[MCI_VM_REGISTERS];
    int32_t given[MCI_VM_REGISTERS]; /* dtype of each result */
    int64_t bytes; /* of one element of every register */
    /* the result that the last instruction makes, which goes to its place at once; -1 none */
    int direct;
    mc_vm_instr instr[];
};

struct mci_vm_job {
    const mci_vm *vm;
    mc_tensor *const *leaves, *const *results; /* results: NULL when ranges are given out by hand */
    mci_space s;
    int64_t strides[MCI_VM_REGISTERS][MC_MAX_RANK]; /* leaves, then a result */
    int64_t block, room;
    char *memory;
    int bad_op;
    int64_t bad;
};

mci_vm *mci_vm_new(int nleaves, const int32_t *want, int nresults, const int32_t *result,
                   int ninstr, const mc_vm_instr *instr)
{
    if (nleaves + nresults > MCI_VM_REGISTERS || nresults < 1) {
        mci_error(MC_EINVAL, "vm: %d leaves and %d results; at most %d together", nleaves, nresults,
                  MCI_VM_REGISTERS);
        return NULL;
    }
    mci_vm *vm = mci_calloc(1, sizeof *vm + sizeof *instr * (size_t)ninstr);
    if (!vm)
        return NULL;
    vm->nleaves = nleaves;
    vm->nresults = nresults;
    vm->ninstr = ninstr;
    vm->nregs = nleaves;
    memcpy(vm->want, want, sizeof *want * (size_t)nleaves);
    memcpy(vm->dtype, want, sizeof *want * (size_t)nleaves);
    memcpy(vm->result, result, sizeof *result * (size_t)nresults);
    memcpy(vm->instr, instr, sizeof *instr * (size_t)ninstr);
    int32_t now[MCI_VM_REGISTERS] = {0};
    memcpy(now, want, sizeof *want * (size_t)nleaves);
    for (int i = 0; i < ninstr; i++) {
        const mc_vm_instr *q = &instr[i];
        int bad = q->dst < nleaves || q->dst >= MCI_VM_REGISTERS || q->nsrc < 1 || q->nsrc > 3;
        for (int k = 0; !bad && k < q->nsrc; k++)
            bad = q->src[k] < 0 || q->src[k] >= vm->nregs;
        if (bad) {
            mci_error(MC_EINTERNAL, "vm: instruction %d is malformed", i);
            mci_free(vm);
            return NULL;
        }
        /* a register that is used again may hold another dtype: room for the widest */
        int old = q->dst < vm->nregs ? vm->dtype[q->dst] : q->rdtype;
        vm->dtype[q->dst] = MCI_SIZE(q->rdtype) > MCI_SIZE(old) ? q->rdtype : old;
        vm->nregs = q->dst >= vm->nregs ? q->dst + 1 : vm->nregs;
        now[q->dst] = q->rdtype;
    }
    for (int i = 0; i < nresults; i++) {
        if (result[i] < 0 || result[i] >= vm->nregs) {
            mci_error(MC_EINTERNAL, "vm: result %d is no register", i);
            mci_free(vm);
            return NULL;
        }
        vm->given[i] = now[result[i]];
    }
    vm->direct = -1;
    for (int i = 0; i < nresults && ninstr; i++)
        if (result[i] == instr[ninstr - 1].dst)
            vm->direct = i;
    for (int r = 0; r < vm->nregs; r++)
        vm->bytes += MCI_SIZE(vm->dtype[r]);
    return vm;
}

void mci_vm_free(mci_vm *vm) { mci_free(vm); }

/* A leaf of one value as n of them. */
static void spread(const mci_vm *vm, int leaf, int64_t n, char *const *home, const void **reg,
                   int64_t *stride)
{
    MC_ALIGNED(16) char one[16];
    memcpy(one, reg[leaf], (size_t)MCI_SIZE(vm->want[leaf]));
    mci_cast(vm->want[leaf], vm->want[leaf])(n, home[leaf], 1, one, 0);
    reg[leaf] = home[leaf];
    stride[leaf] = 1;
}

/* Elements [lo, hi) of the flat space; out[i]: where element lo of result i goes. */
void mci_vm_range(mci_vm_job *j, int64_t lo, int64_t hi, char *const *out, int worker)
{
    const mci_vm *vm = j->vm;
    char *home[MCI_VM_REGISTERS], *p = j->memory + worker * j->room;
    const void *reg[MCI_VM_REGISTERS];
    int64_t stride[MCI_VM_REGISTERS], status = 0;
    for (int r = 0; r < vm->nregs; r++) {
        home[r] = p;
        p += (j->block * MCI_SIZE(vm->dtype[r]) + 63) / 64 * 64;
    }
    for (int64_t at = lo, n; at < hi; at += n) {
        int crosses;
        n = mci_block_size(&j->s, at, hi - at, j->block, &crosses);
        for (int i = 0; i < vm->nleaves; i++) {
            reg[i] = mci_block_load(&j->s, j->leaves[i], j->strides[i], vm->want[i], at, n, home[i],
                                    &stride[i]);
            if (n == 1)
                stride[i] = 1;
        }
        char *last =
            vm->direct < 0 ? NULL : out[vm->direct] + (at - lo) * MCI_SIZE(vm->given[vm->direct]);
        for (int i = 0; i < vm->ninstr; i++) {
            const mc_vm_instr *q = &vm->instr[i];
            char *to = last && i == vm->ninstr - 1 ? last : home[q->dst];
            if (q->op < 0) {
                mci_cast(q->rdtype, q->dtype)(n, to, 1, reg[q->src[0]], stride[q->src[0]]);
            } else {
                mck_ewise k = {.n = n, .out = to, .status = &status};
                /* kernels of one and two operands want one that runs along */
                int along = q->nsrc > 2;
                for (int m = 0; m < q->nsrc; m++)
                    along |= stride[q->src[m]] == 1;
                if (!along)
                    spread(vm, q->src[0], n, home, reg, stride);
                for (int m = 0; m < q->nsrc; m++) {
                    k.in[m] = reg[q->src[m]];
                    k.stride[m] = stride[q->src[m]];
                }
                ((mck_ewise_fn)mci_kernel_get(mci_ops[q->op].kernel, q->dtype))(&k);
                if (MC_UNLIKELY(status)) {
                    j->bad_op = q->op;
                    __atomic_store_n(&j->bad, at + status, __ATOMIC_RELAXED);
                    return;
                }
            }
            reg[q->dst] = to;
            stride[q->dst] = 1;
        }
        for (int i = 0; i < vm->nresults; i++) {
            if (stride[vm->result[i]] == 0)
                spread(vm, vm->result[i], n, home, reg, stride);
            int64_t size = MCI_SIZE(vm->given[i]);
            char *place = out[i] + (at - lo) * size;
            if (reg[vm->result[i]] != place)
                memcpy(place, reg[vm->result[i]], (size_t)(n * size));
        }
        if (mc_cancel_pending())
            return;
    }
}

static void vm_task(void *arg, int64_t begin, int64_t end, int worker)
{
    mci_vm_job *j = arg;
    char *out[MCI_VM_REGISTERS];
    int64_t lo = begin * MCI_GRAIN,
            hi = end * MCI_GRAIN < j->s.total ? end * MCI_GRAIN : j->s.total;
    for (int i = 0; i < j->vm->nresults; i++)
        out[i] = (char *)j->results[i]->data + lo * MCI_SIZE(j->results[i]->dtype);
    mci_vm_range(j, lo, hi, out, worker);
}

static int open(mci_vm_job *j, const mci_vm *vm, mc_tensor *const *leaves, const mc_tensor *like,
                int workers)
{
    int nd = like->ndim, both = vm->nleaves + 1;
    j->vm = vm;
    j->leaves = leaves;
    memcpy(j->s.shape, like->shape, sizeof like->shape);
    for (int i = 0; i < vm->nleaves; i++)
        mci_broadcast_strides(leaves[i], nd, j->strides[i]);
    mci_broadcast_strides(like, nd, j->strides[vm->nleaves]);
    j->s.nd = mci_collapse(nd, j->s.shape, both, j->strides);
    j->s.total = like->numel;
    j->s.inner = j->s.nd && j->s.shape[j->s.nd - 1] > 0 ? j->s.shape[j->s.nd - 1] : 1;
    j->block = CACHE / vm->bytes / 64 * 64;
    j->block = j->block < SMALLEST ? SMALLEST : j->block > LARGEST ? LARGEST : j->block;
    if (j->block > j->s.total)
        j->block = j->s.total;
    if (j->s.inner < 64 && j->block > j->s.inner)
        j->block = j->block / j->s.inner * j->s.inner;
    j->room = (j->block * vm->bytes + 64 * vm->nregs + 63) / 64 * 64;
    j->memory = mci_alloc((size_t)(j->room * workers));
    return j->memory ? MC_OK : mc_errstatus();
}

static int close_job(mci_vm_job *j)
{
    mci_free(j->memory);
    return j->bad ? mci_error_at(mci_ops[j->bad_op].name, mci_ops[j->bad_op].guard, j->bad) : MC_OK;
}

mci_vm_job *mci_vm_open(const mci_vm *vm, mc_tensor *const *leaves, const mc_tensor *like)
{
    mci_vm_job *j = mci_calloc(1, sizeof *j);
    if (j && open(j, vm, leaves, like, mc_get_num_threads())) {
        mci_free(j);
        return NULL;
    }
    return j;
}

int mci_vm_close(mci_vm_job *j)
{
    int rc = close_job(j);
    mci_free(j);
    return rc;
}

int mci_vm_run(const mci_vm *vm, mc_tensor *const *leaves, mc_tensor *const *results)
{
    mci_vm_job j = {.results = results};
    if (results[0]->numel == 0)
        return MC_OK;
    int64_t tasks = (results[0]->numel + MCI_GRAIN - 1) / MCI_GRAIN;
    int rc = open(&j, vm, leaves, results[0], mci_workers(tasks));
    if (rc)
        return rc;
    rc = mci_parallel(tasks, vm_task, &j);
    int bad = close_job(&j);
    return rc ? rc : bad;
}
