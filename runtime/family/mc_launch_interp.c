/* mc_launch_interp.c - values between knots on devices with programs. Whether knots ascend is
 * found by a kernel and raised where the host waits next. */
#include "family/mc_launch.h"
#include "../../kernels/device/jobs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

int mci_interp_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                        mci_bound *b)
{
    (void)device, (void)outs;
    const mc_params *p = job->params;
    const int poly = job->op->variant == MCI_INTERP_PIECES, compute = r->compute;
    const mci_place out = mci_place_out(b, 0);
    mci_place in[3], to = out;
    char source[128];
    int rc = MC_OK;
    for (int k = 0; k < 3; k++) in[k] = mci_place_in(b, k);
    const mci_place x = in[0], knots = in[1], values = in[2];
    for (int k = 0; k < 3 && !rc; k++) rc = mci_launch_dense(b, &in[k], compute);
    if (rc) return rc;
    mcd_interp j = { .n = mci_place_numel(&x), .k = knots.shape[0], .m = 1, .strictly = poly };
    snprintf(source, sizeof source, "#define T %s\n#include \"interp.c\"\n",
             mci_device_types[compute]);
    mc_launch *l = mci_launch_lanes(b, source, "ascend", j.k, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &in[1]);
    rc = mci_launch_guard(b,
                          poly ? "knots do not ascend strictly; sort them first"
                               : "knots do not ascend; sort them first",
                          offsetof(mcd_interp, guard));
    if (rc || mci_place_numel(&out) == 0) return rc;
    if (poly) {
        j.c = values.shape[0];
        for (int i = 2; i < values.ndim; i++) j.m *= values.shape[i];
        j.nu = p->i[0];
        j.outside = p->i[1] != 0;
    } else {
        j.left_given = p->i[0] != 0;
        j.right_given = p->i[1] != 0;
        j.left = p->d[0];
        j.right = p->d[1];
    }
    if (out.dtype != compute || !mci_place_dense(&out))
        to = mci_place_work(b, compute, out.ndim, out.shape);
    l = mci_launch_lanes(b, source, poly ? "pieces" : "lines", j.n * j.m, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &to);
    for (int k = 0; k < 3; k++) mci_launch_buffer(l, &in[k]);
    return to.slot == out.slot ? MC_OK : mci_launch_copy(b, &out, &to);
}
