/* mc_family.c - the families that are split into infer and exec, and the run of an op of one. */
#include "family/mc_family.h"

const mci_family mci_families[MCI_FAMILIES] = {
    [MCI_FAMILY_EWISE] = {"ewise", mci_ewise_infer, mci_ewise_exec, NULL},
    [MCI_FAMILY_REDUCE] = {"reduce", mci_reduce_infer, mci_reduce_exec, NULL},
    [MCI_FAMILY_COPY] = {"copy", NULL, mci_copy_exec, NULL}, /* into a result that is there: nothing to infer */
};

int mci_family_run(const mci_op *op, int nout, mc_tensor **out, int nin, const mc_tensor *const *in, const mc_params *p)
{
    const mci_family *f = &mci_families[op->family];
    const mci_job job = {op, p, nin, in};
    mci_result r;
    int rc = f->infer(&job, &r), made = 0, given = 0;
    for (; !rc && made < nout; made++) {
        given |= (out[made]->flags & MC_FLAG_OUT) ? 1 << made : 0;
        rc = mci_out(op->name, out[made], r.dtype[made], r.ndim[made], r.shape[made]);
    }
    if (!rc)
        rc = f->exec(&job, &r, out);
    else
        made--;
    for (int i = 0; rc && i < made; i++)
        mci_out_fail(out[i], given >> i & 1);
    return rc;
}
