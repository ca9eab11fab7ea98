/* mc_move.c - copies, fills and writes to positions on any device, and from one to another.
 *
 * The public functions; drivers, which see memory of the host, use those of mc_family.h. */
#include "family/mc_bind.h"
#include "record/mc_record.h"

#include <string.h>

int mc_copy(mc_tensor *dst, const mc_tensor *src)
{
    return mci_copy_by(mci_device_copy_run, dst, src);
}

int mc_fill(mc_tensor *dst, double re, double im)
{
    return mci_fill_by(mci_device_copy_run, dst, re, im);
}

int mc_put(mc_tensor *dst, int axis, const mc_tensor *index, const mc_tensor *values,
           int accumulate)
{
    return mci_put_by(mci_device_put_run, dst, axis, index, values, accumulate);
}

int mc_to_device(mc_tensor *out, int device, const mc_tensor *t)
{
    char s[MCI_TEXT];
    mc_tensor flat = { 0 };
    if (mci_check_released("to", t)) return mc_errstatus();
    if (device != t->device && mc_record_traced(t))
        return mci_error(MC_EINVAL,
                         "to: %s is computed or drawn by a function that is being recorded, whose "
                         "tensors stay on their device; make it there, { device = \"%s\" }, or "
                         "move it outside",
                         mci_tensor_text(s, sizeof s, t), mci_device_text(device));
    if (device != t->device && mci_check_elements("to", t)) return mc_errstatus();
    int rc = mci_hollow(t) ? mci_create_hollow(device, out, t->dtype, t->ndim, t->shape)
                           : mci_create_on(device, out, t->dtype, t->ndim, t->shape);
    if (rc || t->numel == 0) return rc;
    const mc_tensor *from = t;
    if (device != t->device && !mci_contiguous(t)) {
        rc = mci_create_on(t->device, &flat, t->dtype, t->ndim, t->shape);
        rc = rc ? rc : mc_copy(&flat, t);
        from = &flat;
    }
    const int64_t bytes = t->numel * MCI_SIZE(t->dtype);
    if (rc)
        ;
    else if (device == t->device)
        rc = mc_copy(out, t);
    else if (t->device == 0)
        rc = mci_device_upload(mci_ref_of(out), from->data, bytes);
    else if (device == 0)
        rc = mci_device_get(out->data, mci_ref_of(from), bytes);
    else { /* from one device to another: through the host */
        void *host = mci_alloc((size_t)bytes);
        rc = host ? mci_device_get(host, mci_ref_of(from), bytes) : mc_errstatus();
        rc = rc ? rc : mci_device_put(mci_ref_of(out), host, bytes);
        mci_free(host);
    }
    mc_drop(&flat);
    if (rc) mc_drop(out);
    return rc;
}

int mc_view_reshape(mc_tensor *out, const mc_tensor *t, int ndim, const int64_t *shape, int copy)
{
    char s[MCI_TEXT], want[MCI_TEXT];
    int64_t size[MC_MAX_RANK];
    int rc = mci_view_reshape(out, t, ndim, shape, size);
    if (rc >= 0) return rc;
    if (!copy)
        return mci_error(
            MC_ESHAPE, "reshape: %s cannot be viewed as [%s] without a copy; call contiguous first",
            mci_tensor_text(s, sizeof s, t), mci_shape_text(want, sizeof want, ndim, size));
    rc = mci_create_on(t->device, out, t->dtype, ndim, size);
    if (rc || t->numel == 0) return rc;
    mc_tensor flat = *out;
    flat.ndim = t->ndim;
    memcpy(flat.shape, t->shape, sizeof flat.shape);
    int64_t stride = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        flat.strides[i] = stride;
        stride *= t->shape[i];
    }
    if (!out->storage) flat.data = out->payload;
    rc = mc_copy(&flat, t);
    if (out->storage) out->data = flat.data; /* a recording by shapes took its memory */
    if (rc) mc_drop(out);
    return rc;
}
