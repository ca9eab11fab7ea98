/* mc_through_host.c - an op that has no form on the device that auto led to: its operands are
 * copied to the host, the CPU's form runs there, and results go to the device.
 *
 * On a device that auto chose, where it is counted: where a script names its device, the op
 * raises. Distributions without programs go this way on all devices: numbers are drawn on the CPU
 * and copied wherever they are wanted. */
#include "family/mc_bind.h"
#include "family/mc_launch.h"

static int64_t *counts; /* of ops by number; NULL before the first */

int64_t mc_through_host(int op)
{
    int64_t n = 0;
    for (int i = 0; counts && i < mci_nop; i++) n += op < 0 || i == op ? counts[i] : 0;
    return n;
}

static void count(const mci_op *op)
{
    counts = counts ? counts : mci_calloc((size_t)mci_nop + 1, sizeof *counts);
    if (counts && op->id >= 0) counts[op->id]++;
}

int mci_may_go_through_host(int device, const mci_op *op)
{
    return mci_device_chosen(device) ||
           (op->family == MCI_FAMILY_RANDOM && !mci_random_launched(op));
}

static int operands(int nin, const mc_tensor *const *in, mc_tensor *host, const mc_tensor **seen)
{
    int rc = MC_OK;
    for (int i = 0; i < nin && !rc; i++) {
        seen[i] = in[i];
        if (in[i]->device == 0) continue;
        rc = mc_to_device(&host[i], 0, in[i]);
        seen[i] = &host[i];
    }
    return rc;
}

/* The result of the host in `out`: a new tensor of the device, or the one that was given. */
static int bring(int device, const char *op, mc_tensor *out, const mc_tensor *host)
{
    const int given = (out->flags & MC_FLAG_OUT) != 0;
    mc_tensor there = { 0 };
    int rc = mci_out_on(device, op, out, host->dtype, host->ndim, host->shape);
    if (rc || host->numel == 0) return rc;
    rc = mc_to_device(&there, device, host);
    rc = rc ? rc : mci_device_copy_run(out, &there);
    mc_drop(&there);
    if (rc) mci_out_fail(out, given);
    return rc;
}

int mci_through_host(int device, const mci_op *op, int nout, mc_tensor **out, int nin,
                     const mc_tensor *const *in, const mc_params *p)
{
    const size_t n = (size_t)(nin + nout);
    mc_tensor *host = mci_calloc(n + 1, sizeof *host);
    const mc_tensor **seen = mci_alloc(sizeof *seen * (size_t)(nin + 1));
    mc_tensor **made = mci_alloc(sizeof *made * (size_t)(nout + 1));
    int rc = host && seen && made ? operands(nin, in, host, seen) : mc_errstatus(), done = 0;
    if (!rc) {
        for (int k = 0; k < nout; k++) made[k] = &host[nin + k];
        rc = op->run(op, nout, made, nin, seen, p);
    }
    if (!rc && mci_device_chosen(device)) count(op);
    for (; !rc && done < nout; done++) rc = bring(device, op->name, out[done], made[done]);
    for (int k = 0; rc && k < done - 1; k++) mci_out_fail(out[k], out[k]->flags & MC_FLAG_OUT);
    for (size_t i = 0; host && i < n; i++)
        if (host[i].storage) mc_drop(&host[i]);
    mci_free(host);
    mci_free((void *)(uintptr_t)seen);
    mci_free(made);
    return rc;
}

int mci_op_run(const mci_op *op, int nout, mc_tensor **out, int nin, const mc_tensor *const *in,
               const mc_params *p)
{
    int device = 0;
    for (int i = 0; i < nin; i++)
        device |= in[i]->device;
    for (int i = 0; i < nout; i++)
        device |= out[i]->device;
    if (MC_LIKELY(device == 0)) return op->run(op, nout, out, nin, in, p);
    const int rc = mci_device_run(op, nout, out, nin, in, p);
    if (rc != MC_EUNSUPPORTED || mci_check_devices(op->name, nin, in, nout, out, &device) ||
        !mci_may_go_through_host(device, op))
        return rc;
    return mci_through_host(device, op, nout, out, nin, in, p);
}
