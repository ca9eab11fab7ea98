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
