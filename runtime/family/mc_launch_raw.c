/* mc_launch_raw.c - one launch of a program that the user wrote (lua/mascon/kernel/program.lua):
 * operands as they lie, numbers by value, groups and lanes as given. */
#include "family/mc_launch.h"
#include "base/mc_error.h"
#include "device/mc_context.h"
#include "device/mc_events.h"
#include "device/mc_program.h"
#include "record/mc_record.h"
#include "mc_lua.h"

#include <stdio.h>
#include <string.h>

#define MOST_ACROSS 65535 /* groups along the second and third axis */

/* A launch that was waited for, with the last array that it wrote: for the profile. */
static void note(const mc_launch *l, int device, const char *kernel, int n, mc_tensor *const *t,
                 double began)
{
    char what[MCI_TEXT + 64], shape[MCI_TEXT];
    int64_t bytes = 0;
    for (int k = 0; k < n; k++) bytes += t[k]->numel * MCI_SIZE(t[k]->dtype);
    mci_tensor_text(shape, sizeof shape, t[n - 1]);
    snprintf(what, sizeof what, "%s, %lld x %u lanes", shape,
             (long long)l->grid[0] * l->grid[1] * l->grid[2], l->group[0]);
    mci_event(MC_EVENT_LAUNCH, device, kernel, what, began, bytes);
}

int mc_device_launch(int device, const char *source, const char *kernel, const int64_t *grid,
                     int lanes, int n, mc_tensor *const *t, const void *values, int64_t bytes,
                     int count, const int32_t *places)
{
    char s[MCI_TEXT], full[160];
    if (device <= 0 || mci_device_hosted(device))
        return mci_error(MC_EUNSUPPORTED,
                         "kernel %s: it is a program of devices, and its operands are on %s; move "
                         "them with :to \"gpu\", or to another one that mc.devices() lists",
                         kernel, mci_device_text(device));
    if (places && !mci_device_api(device)->cuda_text)
        return mci_error(MC_EUNSUPPORTED,
                         "kernel %s: it is CUDA C++, which %s does not compile; move the operands "
                         "to a card that does, or write it as `launch`",
                         kernel, mci_device_text(device));
    const mc_device_caps *caps = mci_device_caps(device);
    if (n > MC_LAUNCH_BUFFERS || count > MC_LAUNCH_BUFFERS || 8 * n + bytes > MC_LAUNCH_RAW)
        return mci_error(MC_EINVAL,
                         "kernel %s: %d arrays and %lld bytes of values; there may be %d arrays, "
                         "and %d bytes with 8 for each array",
                         kernel, n, (long long)bytes, MC_LAUNCH_BUFFERS, MC_LAUNCH_RAW);
    if (lanes < 1 || lanes > caps->group)
        return mci_error(MC_EINVAL, "kernel %s: a group of %d lanes; %s takes 1 to %d", kernel,
                         lanes, mci_device_text(device), caps->group);
    for (int a = 0; a < 3; a++)
        if (grid[a] < 1 || grid[a] > (a ? MOST_ACROSS : INT32_MAX))
            return mci_error(MC_EINVAL,
                             "kernel %s: %lld groups along axis %d; there may be 1 to %d", kernel,
                             (long long)grid[a], a + 1, a ? MOST_ACROSS : INT32_MAX);
    mc_launch l = { .grid = { (uint32_t)grid[0], (uint32_t)grid[1], (uint32_t)grid[2] },
                    .group = { (uint32_t)lanes, 1, 1 },
                    .nbuf = n,
                    .nraw = (int32_t)(8 * n + bytes) };
    int64_t all = 0;
    void *segment[MC_LAUNCH_BUFFERS];
    for (int k = 0; k < n; k++) {
        const mci_ref r = t[k]->device == device ? mci_ref_of(t[k]) : (mci_ref){ 0 };
        if (!r.mem || !mci_contiguous(t[k]))
            return mci_error(MC_EINVAL, "kernel %s: array %d is %s; give a contiguous one of %s",
                             kernel, k + 1, mci_tensor_text(s, sizeof s, t[k]),
                             mci_device_text(device));
        memcpy(l.raw + 8 * k, &r.at, 8);
        all += t[k]->numel * MCI_SIZE(t[k]->dtype);
        segment[k] = r.mem->handle;
    }
    memcpy(l.raw + 8 * n, values, (size_t)bytes);
    l.apart = places != NULL;
    l.nvalue = places ? count : 0;
    for (int k = 0; k < l.nvalue; k++) l.value[k] = (int16_t)(8 * n + places[k]);
    /* OpenCL has functions of its own */
    snprintf(full, sizeof full, "%s%s", places ? "" : "mcu_", kernel);
    l.kernel = mci_device_kernel(device, source, full);
    if (!l.kernel) {
        snprintf(full, sizeof full, "kernel %s", kernel);
        mci_error_prefix(full);
        return mc_errstatus();
    }
    const mc_device_api *api = mci_device_api(device);
    void *handle = mci_device_handle(device), *stream = mci_device_stream(device);
    const double began = MC_UNLIKELY(mci_watching) ? mc_clock() : 0;
    mci_works(1);
    int rc = api->launch(handle, stream, &l, segment);
    if (!rc) rc = mci_device_queued(device, 1, all);
    const int watched = MC_UNLIKELY(mci_watching) && !rc;
    if (watched) rc = api->sync(handle, stream);
    mci_works(-1);
    if (watched) note(&l, device, kernel, n, t, began);
    return !rc && mci_stepwise() ? mc_device_sync(device) : rc;
}
