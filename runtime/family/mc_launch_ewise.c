/* mc_launch_ewise.c - elementwise ops on devices with programs.
 *
 * A program takes operands of one dtype and gives that dtype, or the one the row says. Operands of
 * another dtype are converted into workspace first, and so is a result that is asked for in
 * another. */
#include "family/mc_launch.h"
#include "../../kernels/device/jobs.h"

#include <stddef.h>
#include <string.h>

#define MOST 3

/* The dtype that all operands with memory share; -1: they differ, or the row has no program for it
 * that computes in `compute`. */
static int common(const mci_bound *b, const mci_job *job, int compute)
{
    int dtype = -1;
    for (int i = job->op->where ? 1 : 0; i < job->nin; i++) {
        const mc_tensor *h = &b->headers[i];
        if (h->flags & MCI_WEAK) continue;
        if (dtype >= 0 && h->dtype != dtype) return -1;
        dtype = h->dtype;
    }
    return dtype >= 0 && job->op->compute[dtype] == compute &&
                   mci_device_ewise[job->op->id][dtype].source >= 0
               ? dtype
               : -1;
}

int mci_ewise_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                       mci_bound *b)
{
    (void)outs;
    const mci_op *op = job->op;
    const int nin = job->nin, same = common(b, job, r->compute),
              dtype = same >= 0 ? same : r->compute;
    const mci_formula *f = &mci_device_ewise[op->id][dtype];
    mci_place out = mci_place_out(b, 0), in[MOST], target = out;
    if (f->source < 0)
        return mci_error(
            MC_EUNSUPPORTED,
            "%s: it has no form for %s on %s; move the operands with :to \"cpu\" first", op->name,
            mc_dtype_name(dtype), mci_device_text(device));
    mcd_ewise j = { .n = mci_place_numel(&out), .op = f->op };
    if (j.n == 0) return MC_OK;
    for (int i = 0; i < nin; i++) {
        const int want = op->where && i == 0 ? MC_BOOL : dtype;
        in[i] = mci_place_in(b, i);
        if (in[i].operand >= 0)
            j.is_num |= 1 << i;
        else if (in[i].dtype != want) {
            int rc = mci_launch_dense(b, &in[i], want);
            if (rc) return rc;
        }
    }
    if (out.dtype != f->dtype) target = mci_place_work(b, f->dtype, out.ndim, out.shape);
    memcpy(j.shape, target.shape, sizeof j.shape);
    memcpy(j.stride[0], target.strides, sizeof j.stride[0]);
    for (int i = 0; i < nin; i++)
        mci_place_strides(&in[i], target.ndim, target.shape, j.stride[i + 1]);
    j.nd = mci_collapse(target.ndim, j.shape, nin + 1, j.stride);
    if (j.nd == 0) /* one element */
        for (int i = 0; i <= nin; i++) j.stride[i][0] = 0;
    mc_launch *l = mci_launch_lanes(b, mci_device_formulas[f->source],
                                    j.nd <= 1 ? "flat" : "strided", j.n, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &target);
    for (int i = 0; i < MOST; i++)
        mci_launch_buffer(l, i < nin && in[i].operand < 0 ? &in[i] : &target);
    int rc = mci_launch_guard(b, op->guard, offsetof(mcd_ewise, guard));
    for (int i = 0; i < nin && !rc; i++)
        if (in[i].operand >= 0)
            rc = mci_launch_number(b, i, op->where && i == 0 ? MC_BOOL : r->compute,
                                   offsetof(mcd_ewise, num[0]) + (size_t)i * sizeof j.num[0]);
    return rc || out.dtype == f->dtype ? rc : mci_launch_copy(b, &out, &target);
}
