/* mc_launch_chain.c - linear recurrences and tridiagonal systems on devices with programs. */
#include "family/mc_launch.h"
#include "../../kernels/device/jobs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

int mci_recurrence_launches(int device, const mci_job *job, const mci_result *r,
                            mc_tensor *const *outs, mci_bound *b)
{
    (void)device, (void)outs;
    const mc_params *p = job->params;
    const mci_place result = mci_place_out(b, 0);
    char source[512];
    int axis, rc = mci_axis(job->op->name, job->in[0], p->naxes < 1 ? 0 : p->axes[0], &axis);
    if (rc || mci_place_numel(&result) == 0) return rc;
    mcd_rows j = { .flag = p->i[0] != 0 };
    const mci_place out = mci_place_rows(&result, 1u << axis, &j.m, &j.n);
    mci_place in[2], to = out;
    for (int k = 0; k < 2 && !rc; k++) { /* both broadcast, then along the axis */
        const mci_place given = mci_place_in(b, k);
        mci_place whole = result;
        whole.slot = given.slot;
        whole.operand = given.operand;
        whole.dtype = given.dtype;
        whole.off = given.off;
        mci_place_strides(&given, result.ndim, result.shape, whole.strides);
        in[k] = mci_place_rows(&whole, 1u << axis, &j.m, &j.n);
        rc = mci_launch_dense(b, &in[k], r->compute);
    }
    if (rc) return rc;
    if (out.dtype != r->compute || !mci_place_dense(&out))
        to = mci_place_work(b, r->compute, out.ndim, out.shape);
    const char *name = mc_dtype_name(r->compute);
    if (mci_kind(r->compute) == 'c')
        snprintf(source, sizeof source,
                 "#include \"mck_math_c.h\"\n#define T %s\n#define STEP(a, y, b) "
                 "mck_add_%s(mck_mul_%s(a, "
                 "y), b)\n#define RECURRENCE\n#include \"chain.c\"\n",
                 mci_device_types[r->compute], name, name);
    else
        snprintf(
            source, sizeof source,
            "#define T %s\n#define STEP(a, y, b) ((a) * (y) + (b))\n#define RECURRENCE\n#include "
            "\"chain.c\"\n",
            mci_device_types[r->compute]);
    mc_launch *l = mci_launch_lanes(b, source, "recurrence", j.m, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &to);
    for (int k = 0; k < 2; k++) mci_launch_buffer(l, &in[k]);
    return to.slot == out.slot ? MC_OK : mci_launch_copy(b, &out, &to);
}

int mci_tridiagonal_launches(int device, const mci_job *job, const mci_result *r,
                             mc_tensor *const *outs, mci_bound *b)
{
    (void)device, (void)job, (void)r, (void)outs;
    mci_place bands = mci_place_in(b, 0), rhs = mci_place_in(b, 1), out = mci_place_out(b, 0),
              to = out;
    if (mci_place_numel(&out) == 0) return MC_OK;
    const char *source = "#include \"chain.c\"\n";
    mcd_rows j = { .n = out.shape[0], .m = mci_place_numel(&out) / out.shape[0] };
    int rc = mci_launch_dense(b, &bands, MC_F64);
    rc = rc ? rc : mci_launch_dense(b, &rhs, MC_F64);
    if (rc) return rc;
    const mci_place factors = mci_place_work(b, MC_F64, 2, (const int64_t[]){ 2, j.n });
    if (out.dtype != MC_F64 || !mci_place_dense(&out))
        to = mci_place_work(b, MC_F64, out.ndim, out.shape);
    mc_launch *l = mci_launch_new(b, source, "pivots", 1, 1, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &factors);
    mci_launch_buffer(l, &bands);
    rc = mci_launch_guard(
        b, "a pivot is zero; the system is singular or needs exchanges of rows: it is",
        offsetof(mcd_rows, guard));
    if (rc) return rc;
    l = mci_launch_lanes(b, source, "columns", j.m, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &to);
    mci_launch_buffer(l, &bands);
    mci_launch_buffer(l, &factors);
    mci_launch_buffer(l, &rhs);
    return to.slot == out.slot ? MC_OK : mci_launch_copy(b, &out, &to);
}
