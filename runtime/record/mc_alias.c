/* mc_alias.c - tensors that stand for others in a recording: arguments over their memory or
 * without it, and results that a log kept. */
#include "record/mc_log.h"

#include <string.h>

static void give_back(void *s) { mci_storage_unref(s); }

int mc_record_alias(mc_tensor *out, const mc_tensor *t)
{
    if (mci_check_released("record", t))
        return mc_errstatus();
    if (!t->storage)
        return mci_error(MC_EINTERNAL, "record: the operand has no buffer");
    int64_t all[1] = {t->storage->bytes / MCI_SIZE(t->dtype)};
    int rc = mci_contiguous(t)
                 ? mc_wrap(out, t->data, t->dtype, t->ndim, t->shape, t->strides, t->storage,
                           give_back, 0)
                 : mc_wrap(out, t->storage->data, t->dtype, 1, all, NULL, t->storage, give_back, 0);
    if (rc)
        return rc;
    mci_storage_ref(t->storage);
    mci_storage_like(out->storage, t->storage);
    const int level = mci_log_depth > 0 ? mci_level_of(t) : -1;
    if ((level >= 0 && !mci_logs[level].tape) || mci_known(t->storage)->inner) {
        if (!mci_noted(out->storage)) {
            mc_drop(out);
            return mc_errstatus();
        }
        mci_note_of(out->storage)->inner = 1;
    }
    out->device = t->device;
    int32_t small = t->small;
    out->data = t->data;
    out->numel = t->numel;
    out->ndim = t->ndim;
    memcpy(out->shape, t->shape, sizeof t->shape);
    memcpy(out->strides, t->strides, sizeof t->strides);
    out->flags = t->flags & (MCI_WEAK | MC_FLAG_READONLY);
    out->small = small;
    return MC_OK;
}

int mc_record_hollow(mc_tensor *out, const mc_tensor *t)
{
    int rc = mc_record_alias(out, t);
    if (!rc)
        mci_make_hollow(out);
    return rc;
}

int mc_record_kept(mc_tensor *out, const mc_record_operand *o)
{
    if (!o->kept)
        return mci_error(MC_EINTERNAL, "record: the operand has no buffer");
    memset(out, 0, sizeof *out);
    out->storage = o->kept;
    mci_storage_ref(o->kept);
    out->data = (char *)o->kept->data + o->offset * MCI_SIZE(o->dtype);
    out->numel = o->numel;
    out->dtype = o->dtype;
    out->ndim = o->ndim;
    out->device = o->kept->device;
    memcpy(out->shape, o->shape, sizeof o->shape);
    memcpy(out->strides, o->strides, sizeof o->strides);
    return MC_OK;
}
