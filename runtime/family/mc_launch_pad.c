/* mc_launch_pad.c - padding on devices with programs. */
#include "family/mc_launch.h"
#include "../../kernels/device/jobs.h"
#include "../../kernels/mck_pad.h"

int mci_pad_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                     mci_bound *b)
{
    (void)device, (void)r, (void)outs;
    const mc_params *p = job->params;
    const mci_place x = mci_place_in(b, 0), out = mci_place_out(b, 0);
    mcd_pad j = { .n = mci_place_numel(&out),
                  .nd = out.ndim,
                  .mode = (int32_t)p->i[0],
                  .bytes = (int32_t)MCI_SIZE(out.dtype) };
    if (j.n == 0) return MC_OK;
    mci_place values = x, to = out;
    if (p->i[0] == MCK_PAD_CONSTANT) {
        values = mci_place_in(b, 1);
        int rc = mci_launch_dense(b, &values, x.dtype);
        if (rc) return rc;
    }
    if (mci_place_numel(&x) == 0) values = p->i[0] == MCK_PAD_CONSTANT ? values : out;
    if (!mci_place_dense(&out)) to = mci_place_work(b, out.dtype, out.ndim, out.shape);
    for (int i = 0; i < out.ndim; i++) {
        j.shape[i] = out.shape[i];
        j.before[i] = p->i[1 + 2 * i];
        j.size[i] = x.shape[i];
        j.stride[i] = x.strides[i];
    }
    mc_launch *l = mci_launch_lanes(b, "#include \"pad.c\"\n", "pad", j.n, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &to);
    mci_launch_buffer(l, mci_place_numel(&x) ? &x : &values);
    mci_launch_buffer(l, &values);
    return to.slot == out.slot ? MC_OK : mci_launch_copy(b, &out, &to);
}
