/* mc_ready.c - a step that is run many times over operands of one layout: shapes are read and
 * memory is taken once.
 *
 * The steps of a tile are such: from tile to tile only addresses change, and what dispatch,
 * checks and allocations cost would be most of the time of a few rows. */
#include "replay/mc_ready.h"

#include <string.h>

int mci_ready_program(mci_ready *r, const mci_vm *vm, const mci_native *native, mc_tensor **leaves, int nresults, mc_tensor **results)
{
    r->numel = results[0]->numel;
    if (r->numel == 0)
        return MC_OK;
    if (native && mci_native_fits(native))
        r->native = mci_native_open_part(native, leaves, nresults, results);
    else
        r->vm = mci_vm_open(vm, leaves, results[0]);
    return r->native || r->vm ? MC_OK : mc_errstatus();
}

void mci_ready_op(mci_ready *r, int op, mc_tensor *out, const mc_tensor *in, const mc_params *p)
{
    const mci_op *o = mci_op_at(op);
    int ok = o->family == MCI_FAMILY_REDUCE ? mci_reduce_rows(&r->row, o, out, in, p) : o->family == MCI_FAMILY_SOFTMAX ? mci_softmax_rows(&r->row, o, out, in, p) : 0;
    if (!ok)
        r->row.run = NULL;
}

void mci_ready_run(const mci_ready *r, int nresults, mc_tensor **results, const mc_tensor *in)
{
    char *to[MCI_VM_REGISTERS];
    if (r->row.run) {
        r->row.run(&r->row, results[0]->data, in->data);
        return;
    }
    for (int i = 0; i < nresults; i++)
        to[i] = results[i]->data;
    if (r->native)
        mci_native_range(r->native, 0, r->numel, to, 0);
    else
        mci_vm_range(r->vm, 0, r->numel, to, 0);
}

int mci_ready_close(mci_ready *r)
{
    int rc = r->native ? mci_native_close(r->native) : r->vm ? mci_vm_close(r->vm) : MC_OK;
    mci_free(r->row.state);
    memset(r, 0, sizeof *r);
    return rc;
}
