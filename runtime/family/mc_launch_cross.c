/* mc_launch_cross.c - vector products in space on devices with programs. */
#include "family/mc_launch.h"
#include "../../kernels/device/jobs.h"

#include <stdio.h>
#include <string.h>

int mci_cross_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                       mci_bound *b)
{
    (void)device, (void)job, (void)outs;
    const mci_place out = mci_place_out(b, 0);
    const int nd = r->ndim[0] - 1;
    char source[64];
    mci_place in[2], to = out;
    mcd_cross j = { .n = mci_place_numel(&out) / 3 };
    if (j.n == 0) return MC_OK;
    memcpy(j.shape, r->shape[0], sizeof *j.shape * (size_t)nd);
    for (int k = 0; k < 2; k++) {
        in[k] = mci_place_in(b, k);
        mci_place outer = in[k];
        j.step[k] = outer.strides[--outer.ndim];
        mci_place_strides(&outer, nd, j.shape, j.stride[k]);
    }
    j.nd = mci_collapse(nd, j.shape, 2, j.stride);
    if (!mci_place_dense(&out)) to = mci_place_work(b, out.dtype, out.ndim, out.shape);
    snprintf(source, sizeof source, "#define T %s\n#include \"cross.c\"\n",
             mci_device_types[r->compute]);
    mc_launch *l = mci_launch_lanes(b, source, "cross_product", j.n, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &to);
    for (int k = 0; k < 2; k++) mci_launch_buffer(l, &in[k]);
    return to.slot == out.slot ? MC_OK : mci_launch_copy(b, &out, &to);
}
