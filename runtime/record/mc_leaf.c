/* mc_leaf.c - the recording that stays: ops on leaves are logged until a backward() reads them.
 *
 * Holds its beginning and its end, and which tensors are leaves. */
#include "record/mc_log.h"

int mc_tape_alone(void)
{
    return mci_log_depth == 1 && mci_logs[0].tape;
}

int mc_tape_begin(void)
{
    if (mc_tape_alone()) return MC_OK;
    if (mci_log_depth)
        return mci_error(MC_EINVAL,
                         "requires_grad: a function is being recorded (mc.grad, mc.compile, "
                         "mc.vmap); use these without leaves, or make leaves outside");
    int rc = mc_record_begin(MC_RECORD_KEEP);
    mci_logs[0].tape = !rc;
    mci_logs[0].sweep = 256;
    return rc;
}

void mc_tape_end(void)
{
    if (mc_tape_alone()) mc_record_clear();
}

int mc_tape_detach(mc_tensor *out, const mc_tensor *t)
{
    return mc_record_alias(out, t);
}

int mc_tape_leaf(mc_tensor *t, int on)
{
    if (on) {
        mc_tensor alias = { 0 };
        if (mc_promote(t) || mc_record_alias(&alias, t)) return mc_errstatus();
        mci_storage_unref(t->storage);
        t->storage = alias.storage;
    }
    if (t->storage) {
        mci_note *n = mci_noted(t->storage);
        if (!n) return mc_errstatus();
        n->leaf = on;
        n->traced[0] = on ? mci_logs[0].id : 0;
    }
    return MC_OK;
}
