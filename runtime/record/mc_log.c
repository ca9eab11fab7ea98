/* mc_log.c - the logs of the recorder and the notes of buffers. */
#include "record/mc_log.h"

mci_log mci_logs[MCI_DEEPEST];
int mci_log_depth;

void mci_operands_free(mc_record_operand *o, int n)
{
    for (int i = 0; i < n; i++) {
        mci_free((void *)(uintptr_t)o[i].literal);
        if (o[i].kept) mci_storage_unref(o[i].kept);
    }
    mci_free(o);
}

int mci_some_inner(int n, const mc_tensor *const *t)
{
    for (int i = 0; i < n; i++)
        if (t[i]->storage && mci_known(t[i]->storage)->inner)
            return 1;
    return 0;
}

int mci_mark_inner(int nout, mc_tensor **out)
{
    for (int i = 0; i < nout; i++) {
        mci_note *n = mc_promote(out[i]) ? NULL : mci_noted(out[i]->storage);
        if (!n)
            return mc_errstatus();
        n->inner = 1;
    }
    return MC_OK;
}
