/* mc_launch_reduce.c - reductions on devices with programs.
 *
 * Pieces of a row depend on shapes only. Neighbouring columns, and rows of few elements, are a
 * lane's each; other rows are a group's. */
#include "family/mc_launch.h"
#include "family/mc_rows.h"
#include "mc_gen_kernels.h"
#include "../../kernels/device/jobs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 32768 /* lanes that columns are cut into, in pieces of at least COLUMN elements */
#define COLUMN 64
#define STATE 40 /* bytes of the largest state */

/* State of kernels/device/state.h, dtype of what FINISH gives, and FINISH. */
typedef struct form {
    const char *kind, *finish;
    int dtype, skip;
} form;

#define SPREAD \
    "((double)(s).n - j.p > 0 && (s).n > 0 ? (s).m2 / ((double)(s).n - j.p) : MCK_NAN_F64)"

static form form_of(const mci_op *op, int compute)
{
    const int kind = mci_kind(compute), floating = kind == 'f' || kind == 'c',
              wide = kind == 'c'   ? MC_C128
                     : kind == 'f' ? MC_F64
                                   : MC_I64;
    form f = { .finish = "RESULT(s)", .skip = floating && op->skip != MCI_SKIP_NONE };
    switch (op->pieces) {
    case MCK_K_PROD: f.kind = "MCD_PROD", f.dtype = wide; break;
    case MCK_K_MAX: f.kind = "MCD_MAX", f.dtype = compute; break;
    case MCK_K_MIN: f.kind = "MCD_MIN", f.dtype = compute; break;
    case MCK_K_ARGMAX:
        f.kind = "MCD_ARGMAX", f.dtype = MC_I64, f.finish = "(RESULT(s) + j.base)";
        break;
    case MCK_K_ARGMIN:
        f.kind = "MCD_ARGMIN", f.dtype = MC_I64, f.finish = "(RESULT(s) + j.base)";
        break;
    case MCK_K_ANY: f.kind = "MCD_TRUE", f.dtype = MC_BOOL, f.finish = "((s).v > 0)"; break;
    case MCK_K_ALL: f.kind = "MCD_TRUE", f.dtype = MC_BOOL, f.finish = "((s).v == (s).n)"; break;
    case MCK_K_COUNT: f.kind = "MCD_TRUE", f.dtype = MC_I64; break;
    case MCK_K_MOMENTS:
    case MCK_K_NANMOMENTS:
    case MCK_K_MOMENTS4: f.kind = "MCD_MOMENTS", f.dtype = MC_F64; break;
    case MCK_K_LSE: f.kind = "MCD_LSE", f.dtype = MC_F64; break;
    case MCK_K_SUM: f.kind = "MCD_SUM", f.dtype = wide; break;
    default: f.kind = NULL;
    }
    switch (op->finish) {
    case MCI_FINISH_MEAN:
        f.finish = kind == 'c' ? "mck_make_c128((s).v.re / (double)(s).n, (s).v.im / (double)(s).n)"
                               : "(RESULT(s) / (double)(s).n)";
        break;
    case MCI_FINISH_VAR: f.finish = SPREAD; break;
    case MCI_FINISH_STD: f.finish = "sqrt(" SPREAD ")"; break;
    case MCI_FINISH_SKEW: f.finish = "skewness(s, j.flag)"; break;
    case MCI_FINISH_KURTOSIS: f.finish = "tailedness(s, j.flag)"; break;
    case MCI_FINISH_NAN:
        if (floating)
            f.finish = compute == MC_F32 ? "((s).n ? RESULT(s) : MCK_NAN_F32)"
                                         : "((s).n ? RESULT(s) : MCK_NAN_F64)";
        break;
    }
    return f;
}

int mci_reduce_launched(const mci_op *op) { return form_of(op, MC_F64).kind != NULL; }

int mci_reduce_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                        mci_bound *b)
{
    (void)outs;
    const mci_op *op = job->op;
    const mc_params *p = job->params;
    char loads[512], stores[256], source[2048];
    unsigned mask;
    mci_place in = mci_place_in(b, 0), out = mci_place_out(b, 0);
    const int truth =
        op->pieces == MCK_K_ANY || op->pieces == MCK_K_ALL || op->pieces == MCK_K_COUNT;
    const int half = in.dtype == MC_F16 || in.dtype == MC_BF16, compute = !truth ? r->compute
                                                                          : half ? MC_F32
                                                                                 : in.dtype;
    const form f = form_of(op, compute);
    int rc = mci_axes_mask(op->name, job->in[0], p, &mask);
    if (rc || mci_place_numel(&out) == 0) return rc;
    if (!f.kind)
        return mci_error(MC_EUNSUPPORTED,
                         "%s: it has no form for %s yet; move the operands with :to \"cpu\" first",
                         op->name, mci_device_text(device));
    if ((rc = mci_launch_loads(b, &in, compute, loads, sizeof loads)) != 0) return rc;
    const mci_place to = mci_launch_stores(b, &out, f.dtype, stores, sizeof stores);
    const int refuse = op->finish == MCI_FINISH_REFUSE && f.skip;
    snprintf(source, sizeof source,
             "%s%s#define KIND %s\n#define SKIP %d\n#define N %s\n#define FINISH(s) %s\n#define "
             "REFUSE %d\n#include \"reduce.c\"\n",
             loads, stores, f.kind, f.skip, mci_device_types[f.dtype], f.finish, refuse);
    mcd_reduce j = { .base = p->base, .p = p->d[0], .flag = (int32_t)p->i[0] };
    for (int i = 0; i < in.ndim; i++) {
        const int reduced = mask >> i & 1, at = reduced ? j.rd++ : j.kd++;
        (reduced ? j.rshape : j.shape)[at] = in.shape[i];
        (reduced ? j.rstride : j.stride)[at] = in.strides[i];
    }
    j.m = mci_numel(j.kd, j.shape);
    j.n = mci_numel(j.rd, j.rshape);
    j.kd = mci_collapse(j.kd, j.shape, 1, &j.stride);
    j.rd = mci_collapse(j.rd, j.rshape, 1, &j.rstride);
    if (j.rd == 0) j.rstride[0] = 0;
    const int columns = j.kd > 0 && j.stride[j.kd - 1] == 1 && j.m >= MCI_FEW && j.rd > 0 &&
                        j.rstride[j.rd - 1] != 1,
              lanes = columns || j.n <= MCI_FEW;
    if (lanes) {
        const int64_t most = (j.n + COLUMN - 1) / COLUMN, want = COLUMNS / j.m;
        j.parts = j.n <= MCI_FEW || want < 1 ? 1 : want < most ? want : most;
        j.step = j.parts > 1 ? (j.n + j.parts - 1) / j.parts : j.n;
        j.parts = j.step > 0 && j.parts > 1 ? (j.n + j.step - 1) / j.step : 1;
    } else {
        j.step = MCI_PIECE;
        j.parts = (j.n + MCI_PIECE - 1) / MCI_PIECE;
    }
    const int group = mci_device_caps(device)->group < 256 ? mci_device_caps(device)->group : 256;
    const int64_t room = j.m * j.parts * STATE;
    mci_place partial = j.parts > 1 ? mci_place_work(b, MC_U8, 1, &room) : to;
    for (int stage = 0; stage < (j.parts > 1 ? 2 : 1) && !rc; stage++) {
        mc_launch *l =
            stage   ? mci_launch_new(b, source, "join", j.m, group, &j, sizeof j)
            : lanes ? mci_launch_lanes(b, source, "lanes", j.m * j.parts, &j, sizeof j)
                    : mci_launch_new(b, source, "groups", j.m * j.parts, group, &j, sizeof j);
        if (!l) return mc_errstatus();
        mci_launch_buffer(l, &to);
        mci_launch_buffer(l, &in);
        mci_launch_buffer(l, &partial);
        rc = mci_launch_guard(b, refuse ? "there is nothing but NaN to choose from" : NULL,
                              offsetof(mcd_reduce, guard));
    }
    return rc || to.slot == out.slot ? rc : mci_launch_copy(b, &out, &to);
}
