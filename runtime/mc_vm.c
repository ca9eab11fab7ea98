/* mc_vm.c - a group of elementwise ops over blocks that stay in the first-level cache.
 *
 * A program is a list of instructions over registers; a register is a block of elements of one dtype. The first registers are the leaves
 * (operands from memory), the others are temporaries. An instruction is one call of the kernel that the op has anyway, or a conversion, so the
 * bits are those of the ops run one by one. The block is chosen such that all registers fit the cache; tasks are cut by shape only. Owns
 * programs. May not know how groups are found. */
#include "mc_blocks.h"
#include "mc_ops.h"
#include "mc_vm.h"

#include <string.h>

static int64_t cache_bytes = 24576; /* for the registers of a worker; half of the first-level cache and less */
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
    int64_t bytes; /* of one element of every register */
    mc_vm_instr instr[];
};

typedef struct vm_job {
    const mci_vm *vm;
    mc_tensor *const *leaves, *const *results;
    mci_space s;
    int64_t strides[MCI_VM_REGISTERS][MC_MAX_RANK]; /* leaves, then results */
    int64_t block, room;
    char *memory;
    int bad_op;
    int64_t bad;
} vm_job;

mci_vm *mci_vm_new(int nleaves, const int32_t *want, int nresults, const int32_t *result, int ninstr, const mc_vm_instr *instr)
{
    if (nleaves + nresults > MCI_VM_REGISTERS || nresults < 1) {
        mci_error(MC_EINVAL, "vm: %d leaves and %d results; at most %d together", nleaves, nresults, MCI_VM_REGISTERS);
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
    }
    for (int r = 0; r < vm->nregs; r++)
        vm->bytes += MCI_SIZE(vm->dtype[r]);
    return vm;
}

void mci_vm_free(mci_vm *vm) { mci_free(vm); }

static void vm_task(void *arg, int64_t begin, int64_t end, int worker)
{
    vm_job *j = arg;
    const mci_vm *vm = j->vm;
    char *home[MCI_VM_REGISTERS], *p = j->memory + worker * j->room;
    const void *reg[MCI_VM_REGISTERS];
    int64_t stride[MCI_VM_REGISTERS], status = 0;
    for (int r = 0; r < vm->nregs; r++) {
        home[r] = p;
        p += (j->block * MCI_SIZE(vm->dtype[r]) + 63) / 64 * 64;
    }
    int64_t lo = begin * MCI_GRAIN, hi = end * MCI_GRAIN < j->s.total ? end * MCI_GRAIN : j->s.total;
    for (int64_t at = lo, n; at < hi; at += n) {
        int crosses;
        n = mci_block_size(&j->s, at, hi - at, j->block, &crosses);
        for (int i = 0; i < vm->nleaves; i++) {
            reg[i] = mci_block_load(&j->s, j->leaves[i], j->strides[i], vm->want[i], at, n, home[i], &stride[i]);
            if (n > 1 && stride[i] == 0) { /* one value: kernels want operands that run along */
                MC_ALIGNED(16) char one[16];
                memcpy(one, reg[i], (size_t)MCI_SIZE(vm->want[i]));
                mci_cast(vm->want[i], vm->want[i])(n, home[i], 1, one, 0);
                reg[i] = home[i];
            }
        }
        for (int i = 0; i < vm->ninstr; i++) {
            const mc_vm_instr *q = &vm->instr[i];
            if (q->op < 0) {
                mci_cast(q->rdtype, q->dtype)(n, home[q->dst], 1, reg[q->src[0]], 1);
            } else {
                mck_ewise k = {.n = n, .out = home[q->dst], .status = &status};
                for (int m = 0; m < q->nsrc; m++) {
                    k.in[m] = reg[q->src[m]];
                    k.stride[m] = 1;
                }
                ((mck_ewise_fn)mci_kernel_get(mci_ops[q->op].kernel, q->dtype))(&k);
                if (MC_UNLIKELY(status)) {
                    j->bad_op = q->op;
                    __atomic_store_n(&j->bad, at + status, __ATOMIC_RELAXED);
                    return;
                }
            }
            reg[q->dst] = home[q->dst];
        }
        for (int i = 0; i < vm->nresults; i++) {
            mc_tensor *t = j->results[i];
            memcpy((char *)t->data + at * MCI_SIZE(t->dtype), reg[vm->result[i]], (size_t)(n * MCI_SIZE(t->dtype)));
        }
        if (mc_cancel_pending())
            return;
    }
}

int mci_vm_run(const mci_vm *vm, mc_tensor *const *leaves, mc_tensor *const *results)
{
    vm_job j = {.vm = vm, .leaves = leaves, .results = results};
    const mc_tensor *like = results[0];
    int nd = like->ndim, both = vm->nleaves + 1;
    memcpy(j.s.shape, like->shape, sizeof like->shape);
    for (int i = 0; i < vm->nleaves; i++)
        mci_broadcast_strides(leaves[i], nd, j.strides[i]);
    mci_broadcast_strides(like, nd, j.strides[vm->nleaves]);
    j.s.nd = mci_collapse(nd, j.s.shape, both, j.strides);
    j.s.total = like->numel;
    j.s.inner = j.s.nd && j.s.shape[j.s.nd - 1] > 0 ? j.s.shape[j.s.nd - 1] : 1;
    if (j.s.total == 0)
        return MC_OK;
    j.block = CACHE / vm->bytes / 64 * 64;
    j.block = j.block < SMALLEST ? SMALLEST : j.block > LARGEST ? LARGEST : j.block;
    if (j.block > j.s.total)
        j.block = j.s.total;
    if (j.s.inner < 64 && j.block > j.s.inner)
        j.block = j.block / j.s.inner * j.s.inner;
    j.room = (j.block * vm->bytes + 64 * vm->nregs + 63) / 64 * 64;
    int64_t tasks = (j.s.total + MCI_GRAIN - 1) / MCI_GRAIN;
    j.memory = mci_alloc((size_t)(j.room * mci_workers(tasks)));
    if (!j.memory)
        return mc_errstatus();
    int rc = mci_parallel(tasks, vm_task, &j);
    mci_free(j.memory);
    if (!rc && j.bad)
        rc = mci_error(MC_EINVAL, "%s: %s at flat position %lld (from 1); mask such elements out first", mci_ops[j.bad_op].name,
                       mci_ops[j.bad_op].guard, (long long)j.bad);
    return rc;
}
