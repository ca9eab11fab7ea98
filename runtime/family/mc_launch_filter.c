/* mc_launch_filter.c - recursive filters on devices with programs: a lane for each row, which are
 * made dense first. */
#include "family/mc_launch.h"
#include "../../kernels/device/jobs.h"

#include <stdio.h>

int mci_filter_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                        mci_bound *b)
{
    (void)device, (void)outs;
    char loads[512], stores[256], source[1024];
    const mc_params *p = job->params;
    const mci_place whole = mci_place_in(b, 0), result = mci_place_out(b, 0),
                    after = mci_place_out(b, 1), before = mci_place_in(b, 2);
    const int64_t *coefs = job->in[1]->shape;
    mci_place coef = mci_place_in(b, 1), last = after;
    mcd_filter j = { .sections = coefs[0], .order = coefs[1] / 2 - 1, .reverse = p->i[0] != 0 };
    int axis, rc = mci_axis(job->op->name, job->in[0], p->naxes < 1 ? -1 : p->axes[0], &axis);
    if (rc) return rc;
    if (!mci_place_dense(&after)) last = mci_place_work(b, MC_F64, after.ndim, after.shape);
    if ((rc = mci_launch_copy(b, &last, &before)) != 0) return rc;
    mci_place in = mci_place_rows(&whole, 1u << axis, &j.m, &j.n),
              out = mci_place_rows(&result, 1u << axis, &j.m, &j.n);
    if (j.m * j.n > 0) {
        if (!mci_place_dense(&in)) rc = mci_launch_dense(b, &in, in.dtype);
        rc = rc ? rc : mci_launch_dense(b, &coef, MC_F64);
        rc = rc ? rc : mci_launch_loads(b, &in, r->compute, loads, sizeof loads);
        if (rc) return rc;
        const mci_place to = mci_launch_stores(b, &out, r->compute, stores, sizeof stores);
        snprintf(source, sizeof source, "%s%s#include \"filter.c\"\n", loads, stores);
        mc_launch *l = mci_launch_lanes(b, source, "filter", j.m, &j, sizeof j);
        if (!l) return mc_errstatus();
        mci_launch_buffer(l, &to);
        mci_launch_buffer(l, mci_place_numel(&last) ? &last : &to);
        mci_launch_buffer(l, &in);
        mci_launch_buffer(l, &coef);
        rc = to.slot == result.slot ? MC_OK : mci_launch_copy(b, &out, &to);
    }
    return rc || last.slot == after.slot ? rc : mci_launch_copy(b, &after, &last);
}
