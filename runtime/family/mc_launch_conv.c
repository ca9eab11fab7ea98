/* mc_launch_conv.c - convolutions and their derivatives on devices with programs, summed up
 * directly over dense operands. The gradient of an operand that is not padded with zeros is first
 * made for the padded one. */
#include "family/mc_conv.h"
#include "family/mc_launch.h"
#include "../../kernels/device/jobs.h"

#include <stdio.h>

#define LANES 256 /* of an element of the kernel's gradient */

/* Elements from one convolution to the next. */
static int64_t apart(const mci_conv *c, const mci_place *p)
{
    return c->batched && p->shape[0] > 1 ? mci_place_numel(p) / p->shape[0] : 0;
}

static int launch(mci_bound *b, const char *source, const char *kernel, const mcd_conv *j,
                  const mci_place *out, const mci_place *in, int nin)
{
    mc_launch *l = kernel[0] == 'w'
                       ? mci_launch_new(b, source, kernel, j->n, LANES, j, sizeof *j)
                       : mci_launch_lanes(b, source, kernel, j->n, j, sizeof *j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, out);
    for (int k = 0; k < nin; k++) /* an empty one is not read */
        mci_launch_buffer(l, mci_place_numel(&in[k]) ? &in[k] : out);
    return MC_OK;
}

int mci_conv_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                      mci_bound *b)
{
    (void)device, (void)outs;
    static const char *const kernels[] = { [MCI_CONV_RESULT] = "result",
                                           [MCI_CONV_INPUT] = "input",
                                           [MCI_CONV_WEIGHT] = "weight" };
    const mci_place out = mci_place_out(b, 0);
    mci_place in[2] = { mci_place_in(b, 0), mci_place_in(b, 1) }, to = out;
    char source[128];
    mci_conv c;
    mci_result again;
    int rc = mci_conv_of(job, &c, &again);
    if (rc || mci_place_numel(&out) == 0) return rc;
    for (int k = 0; k < 2 && !rc; k++)
        if (mci_place_numel(&in[k])) rc = mci_launch_dense(b, &in[k], r->compute);
    if (rc) return rc;
    mcd_conv j = { .n = mci_place_numel(&out),
                   .samples = c.n,
                   .groups = c.g,
                   .cg = c.cg,
                   .og = c.og,
                   .batch = { apart(&c, &in[0]), apart(&c, &in[1]) },
                   .mode = c.mode };
    const int folds = c.form == MCI_CONV_INPUT && c.mode != MCK_PAD_CONSTANT;
    int64_t padded = c.b * c.n * c.g * c.cg;
    for (int k = 0; k < 3; k++) {
        const mci_conv_axis *ax = &c.axis[k];
        j.in[k] = ax->in;
        j.out[k] = ax->out;
        j.taps[k] = ax->taps;
        j.stride[k] = ax->stride;
        j.dilation[k] = ax->dilation;
        j.before[k] = ax->before;
        j.first[k] = folds ? 0 : ax->before;
        j.size[k] = folds ? (ax->out - 1) * ax->stride + (ax->taps - 1) * ax->dilation + 1 : ax->in;
        padded *= j.size[k];
    }
    if (out.dtype != r->compute || !mci_place_dense(&out))
        to = mci_place_work(b, r->compute, out.ndim, out.shape);
    snprintf(source, sizeof source,
             "#define T %s\n#define MULADD(a, b, c) %s(a, b, c)\n#include \"conv.c\"\n",
             mci_device_types[r->compute], r->compute == MC_F32 ? "fmaf" : "fma");
    if (folds) {
        mcd_conv all = j;
        const mci_place work = mci_place_work(b, r->compute, 1, &padded);
        all.n = padded;
        rc = launch(b, source, "input", &all, &work, in, 2);
        rc = rc ? rc : launch(b, source, "fold", &j, &to, &work, 1);
    } else {
        rc = launch(b, source, kernels[c.form], &j, &to, in, 2);
    }
    return rc || to.slot == out.slot ? rc : mci_launch_copy(b, &out, &to);
}
