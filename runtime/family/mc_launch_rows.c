/* mc_launch_rows.c - ops along rows on devices with programs: softmax, scans, products summed along
 * an axis. Rows are contiguous: others are copied first, and results back. */
#include "family/mc_launch.h"
#include "family/mc_rows.h"
#include "mc_gen_kernels.h"
#include "../../kernels/device/jobs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static int group_of(int device)
{
    return mci_device_caps(device)->group < 256 ? mci_device_caps(device)->group : 256;
}

/* One launch with a group for each row, on rows of the operand along the masked axes. more: lines
 * of the source; from: dtype of what is stored. */
static int along(int device, mci_bound *b, unsigned mask, int compute, int from, const char *more,
                 const char *kernel, mcd_rows j)
{
    char loads[512], stores[256], source[2048];
    const mci_place whole = mci_place_in(b, 0), result = mci_place_out(b, 0);
    int64_t m, n;
    mci_place in = mci_place_rows(&whole, mask, &m, &n),
              out = mci_place_rows(&result, mask, &m, &n);
    if (m * n == 0) return MC_OK;
    int rc = mci_place_dense(&in) ? MC_OK : mci_launch_dense(b, &in, in.dtype);
    rc = rc ? rc : mci_launch_loads(b, &in, compute, loads, sizeof loads);
    if (rc) return rc;
    const mci_place to = mci_launch_stores(b, &out, from, stores, sizeof stores);
    snprintf(source, sizeof source, "%s%s%s#include \"rows.c\"\n", loads, stores, more);
    j.m = m;
    j.n = n;
    mc_launch *l = mci_launch_new(b, source, kernel, m, group_of(device), &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &to);
    mci_launch_buffer(l, &in);
    return to.slot == result.slot ? MC_OK : mci_launch_copy(b, &out, &to);
}

int mci_softmax_launches(int device, const mci_job *job, const mci_result *r,
                         mc_tensor *const *outs, mci_bound *b)
{
    (void)outs;
    unsigned mask;
    int rc = mci_axes_mask(job->op->name, job->in[0], job->params, &mask);
    const mcd_rows j = { .kind = job->op->variant == MCI_SOFTMAX_LOG };
    return rc ? rc
              : along(device, b, mask, r->compute, r->compute,
                      "#define SOFTMAX\n#define KIND MCD_LSE\n#define SKIP 0\n", "softmax", j);
}

int mci_scan_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                      mci_bound *b)
{
    (void)outs;
    const mci_op *op = job->op;
    const mc_params *p = job->params;
    const int compute = r->compute, kind = mci_kind(compute),
              wide = kind == 'c'   ? MC_C128
                     : kind == 'f' ? MC_F64
                                   : MC_I64;
    int axis, from = compute;
    const char *state = NULL, *finish = "RESULT(s)";
    char more[512];
    int rc = mci_axis(op->name, job->in[0], p->naxes < 1 ? 0 : p->axes[0], &axis);
    if (rc) return rc;
    switch (op->kernel) {
    case MCK_K_CUMSUM: state = "MCD_SUM", from = wide; break;
    case MCK_K_CUMPROD: state = "MCD_PROD", from = wide; break;
    case MCK_K_CUMMAX: state = "MCD_MAX"; break;
    case MCK_K_CUMMIN: state = "MCD_MIN"; break;
    case MCK_K_ARGCUMMAX:
        state = "MCD_ARGMAX", from = MC_I64, finish = "(RESULT(s) + j.base)";
        break;
    case MCK_K_ARGCUMMIN:
        state = "MCD_ARGMIN", from = MC_I64, finish = "(RESULT(s) + j.base)";
        break;
    case MCK_K_LOGCUMSUMEXP: state = "MCD_LSE", from = MC_F64; break;
    default:
        return mci_error(MC_EUNSUPPORTED,
                         "%s: it has no form for %s yet; move the operands with :to \"cpu\" first",
                         op->name, mci_device_text(device));
    }
    snprintf(more, sizeof more,
             "#define KIND %s\n#define SKIP 0\n#define N %s\n#define FINISH(s) %s\n", state,
             mci_device_types[from], finish);
    return along(device, b, 1u << axis, compute, from, more, "scan",
                 (mcd_rows){ .flag = op->reverse && p->i[0], .base = p->base });
}
