/* mc_launch_sequence.c - low-discrepancy points on devices with programs. */
#include "family/mc_launch.h"
#include "../../kernels/device/jobs.h"
#include "../../kernels/mck_sequence.h"

int mci_sequence_launches(int device, const mci_job *job, const mci_result *r,
                          mc_tensor *const *outs, mci_bound *b)
{
    (void)device, (void)outs;
    const mc_params *p = job->params;
    const mci_place out = mci_place_out(b, 0);
    const int64_t d = r->shape[0][1], cells = d * MCK_SEQUENCE_TABLE;
    mci_place numbers = mci_place_in(b, 0), to = out;
    if (mci_place_numel(&out) == 0) return MC_OK;
    const mci_place table = mci_place_work(b, MC_I64, 1, &cells);
    mci_place key = p->i[12] ? mci_place_in(b, 1) : table;
    int rc = mci_launch_dense(b, &numbers, MC_I64);
    rc = rc ? rc : mci_launch_dense(b, &key, MC_I64);
    if (rc) return rc;
    if (!mci_place_dense(&out)) to = mci_place_work(b, MC_F64, 2, r->shape[0]);
    const mcd_sequence j = { .n = p->i[6],
                             .d = d,
                             .first = p->i[4],
                             .key = (uint64_t)(uint32_t)p->i[0] |
                                    (uint64_t)(uint32_t)p->i[1] << 32,
                             .stream = (uint64_t)(uint32_t)p->i[2] |
                                       (uint64_t)(uint32_t)p->i[3] << 32,
                             .scramble = p->i[5] != 0,
                             .keyed = p->i[12] != 0 };
    const char *source = job->op->variant == MCI_SEQUENCE_SOBOL
                             ? "#define SOBOL\n#include \"sequence.c\"\n"
                             : "#include \"sequence.c\"\n";
    mc_launch *l = mci_launch_lanes(b, source, "dimensions", d, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &table);
    mci_launch_buffer(l, &numbers);
    mci_launch_buffer(l, &key);
    l = mci_launch_lanes(b, source, "points", j.n * d, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &to);
    mci_launch_buffer(l, &table);
    mci_launch_buffer(l, &numbers);
    return to.slot == out.slot ? MC_OK : mci_launch_copy(b, &out, &to);
}
