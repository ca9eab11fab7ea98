/* mc_launch_fold.c - users' reductions on devices with programs (lua/mascon/kernel/reduction.lua).
 *
 * Operands are made contiguous; a short row is one lane's, others are a group's, in pieces by shape
 * alone. Other rows that were added have no form there. */
#include "family/mc_added.h"
#include "family/mc_launch.h"

#include <string.h>

int mci_added_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                       mci_bound *b)
{
    const mci_fold *f = mci_added_fold(job->op);
    const int nbuf = job->nin + r->nout + 1, head = 8 * nbuf;
    mci_place in[MC_LAUNCH_BUFFERS], out[MC_LAUNCH_BUFFERS];
    (void)outs;
    if (!f || nbuf > MC_LAUNCH_BUFFERS) return mci_no_launch(job->op, device);
    for (int k = 0; k < r->nout; k++) {
        out[k] = mci_place_out(b, k);
        if (!mci_place_dense(&out[k]))
            out[k] = mci_place_work(b, out[k].dtype, out[k].ndim, out[k].shape);
    }
    const int64_t m = mci_place_numel(&out[0]), n = job->in[0]->shape[job->in[0]->ndim - 1];
    if (m == 0) return MC_OK;
    for (int k = 0; k < job->nin; k++) {
        in[k] = mci_place_in(b, k);
        int rc = mci_launch_dense(b, &in[k], in[k].dtype);
        if (rc) return rc;
    }
    const int64_t parts = n > MCI_PIECE ? (n + MCI_PIECE - 1) / MCI_PIECE : 1,
                  step = parts > 1 ? MCI_PIECE : n,
                  numbers[4] = { m, n, parts, step }, room = m * parts * f->bytes;
    const mci_place partial = parts > 1 ? mci_place_work(b, MC_U8, 1, &room) : out[0];
    char raw[8 * (MC_LAUNCH_BUFFERS + 4)] = { 0 };
    memcpy(raw + head, numbers, sizeof numbers);
    const size_t bytes = (size_t)head + sizeof numbers;
    const int most = mci_device_caps(device)->group, lanes = most < f->lanes ? most : f->lanes;
    for (int stage = 0; stage < (parts > 1 ? 2 : 1); stage++) {
        mc_launch *l =
            stage      ? mci_launch_new(b, f->program, "join", m, lanes, raw, bytes)
            : n <= MCI_FEW ? mci_launch_lanes(b, f->program, "lanes", m, raw, bytes)
                       : mci_launch_new(b, f->program, "groups", m * parts, lanes, raw, bytes);
        if (!l) return mc_errstatus();
        for (int k = 0; k < r->nout; k++) mci_launch_buffer(l, &out[k]);
        for (int k = 0; k < job->nin; k++) mci_launch_buffer(l, &in[k]);
        mci_launch_buffer(l, &partial);
    }
    for (int k = 0; k < r->nout; k++) {
        const mci_place to = mci_place_out(b, k);
        int rc = to.slot == out[k].slot ? MC_OK : mci_launch_copy(b, &to, &out[k]);
        if (rc) return rc;
    }
    return MC_OK;
}
