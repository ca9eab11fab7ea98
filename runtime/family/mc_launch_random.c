/* mc_launch_random.c - random numbers on devices with programs, with the bits of the CPU.
 * Parameters that make no distribution are found by the kernel and raised where the host waits
 * next. */
#include "family/mc_launch.h"
#include "../../kernels/device/jobs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    [MCI_RANDOM_UNIFORM] = "UNIFORM",
    [MCI_RANDOM_NORMAL] = "NORMAL",
    [MCI_RANDOM_INTEGERS] = "INTEGERS",
    [MCI_RANDOM_BERNOULLI] = "BERNOULLI",
};

int mci_random_launched(const mci_op *op)
{
    return op->variant != MCI_RANDOM_HOST;
}

/* Operand `k` with an element for each of the result, or one for all; its step. */
static int parameter(mci_bound *b, int k, int dtype, const mci_place *out, mci_place *to,
                     int64_t *step)
{
    mci_place from = mci_place_in(b, k);
    *step = mci_place_numel(&from) > 1;
    if (!*step) {
        *to = from;
        return mci_launch_dense(b, to, dtype);
    }
    *to = mci_place_work(b, dtype, out->ndim, out->shape);
    return mci_launch_copy(b, to, &from);
}

/* Where the stream is read: operand k as dense numbers; the rows that have one each. */
static int source(mci_bound *b, int k, int dtype, mcd_random *j, mci_place *to, int64_t *each)
{
    *to = mci_place_in(b, k);
    *each = to->ndim > 0;
    if (*each) j->row = j->n / mci_place_numel(to);
    return mci_launch_dense(b, to, dtype);
}

int mci_random_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                        mci_bound *b)
{
    (void)r, (void)outs;
    const mc_params *p = job->params;
    const int variant = job->op->variant;
    if (!mci_random_launched(job->op)) return mci_no_launch(job->op, device);
    const int integers = variant == MCI_RANDOM_INTEGERS, ptype = integers ? MC_I64 : MC_F64;
    const mci_place out = mci_place_out(b, 0);
    mcd_random j = { .n = mci_place_numel(&out),
                     .first = p->i[4],
                     .step = { -1, -1 },
                     .bound = { p->i[6], p->i[7] },
                     .key = (uint64_t)(uint32_t)p->i[0] | (uint64_t)(uint32_t)p->i[1] << 32,
                     .stream = (uint64_t)(uint32_t)p->i[2] | (uint64_t)(uint32_t)p->i[3] << 32,
                     .number = { p->d[0], p->d[1] },
                     .keyed = (p->i[12] & 1) != 0,
                     .counted = (p->i[12] & 2) != 0 };
    if (j.n == 0) return MC_OK;
    j.row = j.n;
    /* 16-bit results are rounded from f64, as on the CPU */
    const int real = variant == MCI_RANDOM_UNIFORM || variant == MCI_RANDOM_NORMAL,
              compute = real && out.dtype != MC_F32 ? MC_F64 : out.dtype;
    mci_place to = out, in[4];
    if (out.dtype != compute || !mci_place_dense(&out))
        to = mci_place_work(b, compute, out.ndim, out.shape);
    for (int k = 0; k < 4; k++) in[k] = to;
    int rc = MC_OK, at = 0;
    for (int k = 0; k < (int)p->i[11] && !rc; k++)
        if (p->i[5] >> k & 1) rc = parameter(b, at++, ptype, &out, &in[k], &j.step[k]);
    if (!rc && j.keyed) rc = source(b, at++, MC_I64, &j, &in[2], &j.keys);
    if (!rc && j.counted) rc = source(b, at++, MC_F64, &j, &in[3], &j.firsts);
    if (rc) return rc;
    char text[128];
    snprintf(text, sizeof text, "#define %s\n%s#define O %s\n#include \"random.c\"\n",
             names[variant], real && compute == MC_F32 ? "#define NARROW\n" : "",
             mci_device_types[compute]);
    mc_launch *l = mci_launch_lanes(b, text, "draw", j.n, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &to);
    for (int k = 0; k < 4; k++) mci_launch_buffer(l, &in[k]);
    rc = mci_launch_guard(b, job->op->guard, offsetof(mcd_random, guard));
    rc = rc ? rc
            : mci_launch_refusal(b, "key:fold_in", "i is no whole number from 0 to 2^53",
                                 offsetof(mcd_random, whole));
    return rc || to.slot == out.slot ? rc : mci_launch_copy(b, &out, &to);
}
