/* mc_launch_sort.c - order along rows on devices with programs: sort, argsort, partition, topk,
 * quantiles. Rows become contiguous pairs of key and position in workspace. */
#include "family/mc_launch.h"
#include "family/mc_rows.h"
#include "../../kernels/device/jobs.h"

#include <stdio.h>
#include <string.h>

#define TILE 512
#define NETWORK "#include \"sort.c\"\n"

/* A row of pairs as a place: two 64-bit numbers each. */
static mci_place pairs_of(mci_bound *b, int64_t m, int64_t pad)
{
    return mci_place_work(b, MC_C128, 2, (const int64_t[]){ m, pad });
}

static int64_t padded(int64_t n)
{
    int64_t pad = 1;
    while (pad < n) pad *= 2;
    return pad;
}

static int launch(mci_bound *b, const char *source, const char *kernel, int64_t n, mcd_sort j,
                  int count, const mci_place *const *buffers)
{
    mc_launch *l = mci_launch_lanes(b, source, kernel, n, &j, sizeof j);
    if (!l) return mc_errstatus();
    for (int i = 0; i < count; i++) mci_launch_buffer(l, buffers[i]);
    return MC_OK;
}

/* The network over pairs. */
int mci_launch_order(mci_bound *b, const mci_place *pairs, int64_t m, int64_t pad)
{
    mcd_sort j = { .m = m, .pad = pad };
    const int64_t size = j.pad < TILE ? j.pad : TILE;
    const int lanes =
        mci_device_caps(b->device)->group < 256 ? mci_device_caps(b->device)->group : 256;
    for (int64_t span = 0; span <= j.pad; span = span ? 2 * span : 2 * TILE) {
        j.span = span;
        for (j.reach = span / 2; j.reach >= size; j.reach /= 2) {
            int rc = launch(b, NETWORK, "exchange", j.m * j.pad / 2, j, 1, &pairs);
            if (rc) return rc;
        }
        mc_launch *l = mci_launch_new(b, NETWORK, "tile", j.m * j.pad / size, lanes, &j, sizeof j);
        if (!l) return mc_errstatus();
        mci_launch_buffer(l, pairs);
    }
    return MC_OK;
}

/* Rows along the masked axes as sorted pairs; in: the rows they come from. */
static int sorted(mci_bound *b, unsigned mask, int compute, mci_place *in, mci_place *pairs,
                  mcd_sort *j, char *source, size_t room, const mci_place *result, mci_place *to)
{
    char loads[512], stores[256] = "#define O T\n#define STORE(x) (x)\n";
    const mci_place whole = mci_place_in(b, 0);
    *in = mci_place_rows(&whole, mask, &j->m, &j->n);
    int rc = mci_place_dense(in) ? MC_OK : mci_launch_dense(b, in, in->dtype);
    rc = rc ? rc : mci_launch_loads(b, in, compute, loads, sizeof loads);
    if (rc) return rc;
    if (result) *to = mci_launch_stores(b, result, compute, stores, sizeof stores);
    j->pad = padded(j->n);
    *pairs = pairs_of(b, j->m, j->pad);
    snprintf(source, room,
             "%s%s#define KEYS\n#define REAL %d\n#include \"mck_quantile.h\"\n" NETWORK, loads,
             stores, mci_kind(compute) == 'f');
    rc = launch(b, source, "keys", j->m * j->pad, *j, 2, (const mci_place *[]){ pairs, in });
    return rc ? rc : mci_launch_order(b, pairs, j->m, j->pad);
}

int mci_sort_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                      mci_bound *b)
{
    (void)device, (void)outs;
    const mci_op *op = job->op;
    const mc_params *p = job->params;
    const mc_tensor *t = job->in[0];
    const int topk = op->variant == MCI_SORT_TOP, part = op->variant == MCI_SORT_PART,
              index = op->result == MCI_RESULT_I64;
    char source[2048];
    int axis;
    int64_t m, q;
    int rc = mci_axis(op->name, t, p->naxes < 1 ? -1 : p->axes[0], &axis);
    if (rc || mci_numel(r->ndim[0], r->shape[0]) == 0) return rc;
    const mci_place result = mci_place_out(b, 0);
    const mci_place out = mci_place_rows(&result, 1u << axis, &m, &q);
    mci_place in, pairs, to = out;
    mcd_sort j = { .q = q,
                   .base = p->base,
                   .descending = topk   ? (int)p->i[1]
                                 : part ? 0
                                        : (int)p->i[0],
                   .positions = index || topk || part,
                   .top = topk };
    j.kth = topk ? q - 1 : part ? (p->i[0] < 0 ? p->i[0] + t->shape[axis] : p->i[0] - p->base) : 0;
    rc = sorted(b, 1u << axis, r->compute, &in, &pairs, &j, source, sizeof source,
                index ? NULL : &out, &to);
    if (!rc && (part || (topk && !p->i[2]))) { /* the order of the row within its parts */
        const mci_place fresh = pairs_of(b, j.m, j.pad);
        rc = launch(b, NETWORK, "classes", j.m * j.pad, j, 2,
                    (const mci_place *[]){ &pairs, &fresh });
        rc = rc ? rc : mci_launch_order(b, &fresh, j.m, j.pad);
        pairs = fresh;
    }
    if (!rc && !index) {
        rc = launch(b, source, "values", j.m * q, j, 3, (const mci_place *[]){ &to, &pairs, &in });
        if (!rc && to.slot != result.slot) rc = mci_launch_copy(b, &out, &to);
    }
    if (rc || !(index || topk)) return rc;
    const mci_place second = mci_place_out(b, topk ? 1 : 0);
    const mci_place rows = mci_place_rows(&second, 1u << axis, &m, &q);
    const mci_place at =
        mci_place_dense(&rows) ? rows : mci_place_work(b, MC_I64, rows.ndim, rows.shape);
    rc = launch(b, NETWORK, "positions", j.m * q, j, 2, (const mci_place *[]){ &at, &pairs });
    return rc || at.slot == second.slot ? rc : mci_launch_copy(b, &rows, &at);
}

int mci_select_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                        mci_bound *b)
{
    (void)device, (void)outs;
    const mci_op *op = job->op;
    const mc_params *p = job->params;
    const int median = op->variant == MCI_SELECT_MEDIAN, lead = !median && p->i[2] >= 1;
    char source[2048];
    unsigned mask;
    int rc = mci_axes_mask(op->name, job->in[0], p, &mask);
    if (rc || mci_numel(r->ndim[0], r->shape[0]) == 0) return rc;
    const mci_place out = mci_place_out(b, 0);
    mci_place in, pairs, to;
    mcd_sort j = { .q = lead ? p->i[2] : 1,
                   .median = median,
                   .method = median ? 0 : (int)p->i[0],
                   .skip = median ? 0 : (int)p->i[1] };
    for (int k = 0; k < 16 && !median; k++) j.prob[k] = p->d[k];
    rc = sorted(b, mask, r->compute, &in, &pairs, &j, source, sizeof source, &out, &to);
    rc = rc ? rc
            : launch(b, source, "quantiles", j.m * j.q, j, 3,
                     (const mci_place *[]){ &to, &pairs, &in });
    return rc || to.slot == out.slot ? rc : mci_launch_copy(b, &out, &to);
}
