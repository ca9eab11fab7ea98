/* mc_launch_move.c - ops that move elements, on devices with programs: by position, joined, rolled.
 * Positions that are outside are found by the kernels and raised where the host waits next. */
#include "family/mc_launch.h"
#include "../../kernels/device/jobs.h"

#include <stddef.h>
#include <string.h>

#define SOURCE "#include \"move.c\"\n"
#define OUTSIDE                                                                                \
    "a position is outside the axis; positions run from 1 to its size, or -1 backwards (labels " \
    "of losses, ids of embeddings and positions with base = 0 from 0)"

/* A launch of move.c: buffers out, x, index, values, guards. */
static int move(mci_bound *b, const char *source, const char *kernel, const mcd_move *j,
                const mci_place *out, const mci_place *x, const mci_place *index, const char *why)
{
    if (j->n == 0) return MC_OK;
    mc_launch *l = mci_launch_lanes(b, source, kernel, j->n, j, sizeof *j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, out);
    mci_launch_buffer(l, x);
    mci_launch_buffer(l, index);
    mci_launch_buffer(l, out);
    return mci_launch_guard(b, why, offsetof(mcd_move, guard));
}

static int take(const mci_job *job, mci_bound *b)
{
    const mc_params *p = job->params;
    mci_place x = mci_place_in(b, 0), index = mci_place_in(b, 1), out = mci_place_out(b, 0),
              to = out;
    int axis, rc = mci_axis(job->op->name, job->in[0], p->naxes < 1 ? 0 : p->axes[0], &axis);
    rc = rc ? rc : mci_check_positions(job->op->name, job->in[1]);
    rc = rc ? rc : mci_launch_dense(b, &x, x.dtype);
    rc = rc ? rc : mci_launch_dense(b, &index, MC_I64);
    if (rc) return rc;
    if (!mci_place_dense(&out)) to = mci_place_work(b, out.dtype, out.ndim, out.shape);
    mcd_move j = { .n = mci_place_numel(&out),
                   .size = x.shape[axis],
                   .base = p->base,
                   .count = mci_place_numel(&index),
                   .width = 1,
                   .bytes = (int32_t)MCI_SIZE(x.dtype) };
    for (int i = axis + 1; i < x.ndim; i++) j.width *= x.shape[i];
    rc = move(b, SOURCE, "take", &j, &to, &x, &index, OUTSIDE);
    return rc || to.slot == out.slot ? rc : mci_launch_copy(b, &out, &to);
}

static int along(const mci_job *job, mci_bound *b)
{
    const mc_params *p = job->params;
    mci_place x = mci_place_in(b, 0), index = mci_place_in(b, 1), out = mci_place_out(b, 0),
              to = out;
    int axis, rc = mci_axis(job->op->name, job->in[0], p->naxes < 1 ? -1 : p->axes[0], &axis);
    rc = rc ? rc : mci_check_positions(job->op->name, job->in[1]);
    rc = rc ? rc : mci_launch_dense(b, &index, MC_I64);
    if (rc) return rc;
    if (!mci_place_dense(&out)) to = mci_place_work(b, out.dtype, out.ndim, out.shape);
    mcd_move j = { .n = mci_place_numel(&out),
                   .size = x.shape[axis],
                   .base = p->base,
                   .width = x.strides[axis],
                   .nd = out.ndim,
                   .bytes = (int32_t)MCI_SIZE(x.dtype) };
    memcpy(j.shape, out.shape, sizeof j.shape);
    for (int i = 0; i < x.ndim; i++)
        j.stride[0][i] = i == axis || x.shape[i] == 1 ? 0 : x.strides[i];
    rc = move(b, SOURCE, "along", &j, &to, &x, &index, OUTSIDE);
    return rc || to.slot == out.slot ? rc : mci_launch_copy(b, &out, &to);
}

/* The last write of a place wins: writes claim places by their number, then winners settle. */
static int put(int device, const mci_job *job, mci_bound *b)
{
    const mc_params *p = job->params;
    mci_place x = mci_place_in(b, 0), index = mci_place_in(b, 1), values = mci_place_in(b, 2),
              out = mci_place_out(b, 0);
    int axis, rc = mci_axis(job->op->name, job->in[0], p->naxes < 1 ? -1 : p->axes[0], &axis);
    rc = rc ? rc : mci_check_positions(job->op->name, job->in[1]);
    rc = rc ? rc : mci_launch_dense(b, &index, MC_I64);
    if (rc) return rc;
    const int64_t writes = mci_place_numel(&index);
    if (writes >= (int64_t)0xffffffff)
        return mci_error(MC_EUNSUPPORTED, "%s: %lld positions at once on %s; work in blocks",
                         job->op->name, (long long)writes, mci_device_text(device));
    mci_place spread = mci_place_work(b, x.dtype, index.ndim, index.shape),
              to = mci_place_work(b, x.dtype, x.ndim, x.shape),
              winner = mci_place_work(b, MC_I32, x.ndim, x.shape);
    rc = mci_launch_copy(b, &spread, &values);
    rc = rc ? rc : mci_launch_copy(b, &to, &x);
    mcd_move j = { .n = mci_place_numel(&winner), .bytes = 4 };
    rc = rc ? rc : move(b, SOURCE, "clear", &j, &winner, &winner, &winner, NULL);
    j = (mcd_move){ .n = writes,
                    .size = x.shape[axis],
                    .base = p->base,
                    .width = winner.strides[axis],
                    .nd = index.ndim };
    memcpy(j.shape, index.shape, sizeof j.shape);
    for (int i = 0; i < x.ndim; i++) j.stride[0][i] = i == axis ? 0 : winner.strides[i];
    rc = rc ? rc : move(b, SOURCE, "claim", &j, &winner, &x, &index, OUTSIDE);
    j = (mcd_move){ .n = mci_place_numel(&to), .bytes = (int32_t)MCI_SIZE(x.dtype) };
    rc = rc ? rc : move(b, SOURCE, "settle", &j, &to, &spread, &winner, NULL);
    return rc ? rc : mci_launch_copy(b, &out, &to);
}

/* Writes to a result that is there: the last one to a place wins. Values are copied before anything
 * is written. */
int mci_put_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                     mci_bound *b)
{
    (void)r, (void)outs;
    const int axis = (int)job->params->axes[0];
    mci_place index = mci_place_in(b, 0), values = mci_place_in(b, 1), out = mci_place_out(b, 0);
    int rc = mci_launch_dense(b, &index, MC_I64);
    const int64_t count = mci_place_numel(&index), size = out.shape[axis];
    if (rc || count == 0 || mci_place_numel(&out) == 0) return rc;
    if (count >= (int64_t)0xffffffff)
        return mci_error(MC_EUNSUPPORTED, "index: %lld positions at once on %s; work in blocks",
                         (long long)count, mci_device_text(device));
    mci_place shape = out;
    shape.ndim = 0;
    for (int i = 0; i < axis; i++) shape.shape[shape.ndim++] = out.shape[i];
    for (int i = 0; i < index.ndim; i++) shape.shape[shape.ndim++] = index.shape[i];
    for (int i = axis + 1; i < out.ndim; i++) shape.shape[shape.ndim++] = out.shape[i];
    mci_place spread = mci_place_work(b, out.dtype, shape.ndim, shape.shape);
    if ((rc = mci_launch_copy(b, &spread, &values)) != 0) return rc;
    if (job->params->i[0]) return mci_launch_put_added(b, axis, &out, &index, &spread);
    const mci_place winner = mci_place_work(b, MC_I32, 1, &size);
    mcd_move j = { .n = size, .bytes = 4 };
    rc = move(b, SOURCE, "clear", &j, &winner, &winner, &winner, NULL);
    j = (mcd_move){ .n = count, .size = size, .base = 1, .width = 1 };
    rc = rc ? rc : move(b, SOURCE, "claim", &j, &winner, &winner, &index, OUTSIDE);
    j = (mcd_move){ .n = mci_place_numel(&out),
                    .width = 1,
                    .nd = out.ndim,
                    .bytes = (int32_t)MCI_SIZE(out.dtype) };
    for (int i = axis + 1; i < out.ndim; i++) j.width *= out.shape[i];
    int64_t stride = j.width * count;
    memcpy(j.shape, out.shape, sizeof j.shape);
    memcpy(j.stride[0], out.strides, sizeof j.stride[0]);
    j.stride[1][axis] = 1;
    for (int i = axis - 1; i >= 0; i--) {
        j.stride[2][i] = stride;
        stride *= out.shape[i];
    }
    stride = 1;
    for (int i = out.ndim - 1; i > axis; i--) {
        j.stride[2][i] = stride;
        stride *= out.shape[i];
    }
    return rc ? rc : move(b, SOURCE, "land", &j, &out, &spread, &winner, NULL);
}

static int search(const mci_job *job, mci_bound *b)
{
    mci_place x = mci_place_in(b, 0), values = mci_place_in(b, 1), out = mci_place_out(b, 0),
              to = out;
    const int floating = mci_kind(x.dtype) == 'f' || mci_kind(values.dtype) == 'f',
              dtype = floating ? MC_F64 : MC_I64;
    int rc = mci_launch_dense(b, &x, dtype);
    rc = rc ? rc : mci_launch_dense(b, &values, dtype);
    if (rc) return rc;
    if (!mci_place_dense(&out)) to = mci_place_work(b, MC_I64, out.ndim, out.shape);
    const mcd_move j = { .n = mci_place_numel(&out),
                         .size = x.shape[x.ndim - 1],
                         .base = job->params->base,
                         .width = x.ndim == 1 ? 0 : values.shape[values.ndim - 1],
                         .axis = (int32_t)job->params->i[0] };
    rc = move(b, floating ? "#define KEY double\n" SOURCE : "#define KEY int64_t\n" SOURCE,
              "search", &j, &to, &x, &values, NULL);
    return rc || to.slot == out.slot ? rc : mci_launch_copy(b, &out, &to);
}

int mci_gather_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                        mci_bound *b)
{
    (void)r, (void)outs;
    switch (job->op->variant) {
    case MCI_GATHER_TAKE: return take(job, b);
    case MCI_GATHER_ALONG: return along(job, b);
    case MCI_GATHER_SEARCH: return search(job, b);
    default: return put(device, job, b);
    }
}

/* ---- joins and rolls: copies of parts ---- */

static int join(const mci_job *job, mci_bound *b)
{
    const mci_place out = mci_place_out(b, 0);
    const int stack = job->op->joins;
    const int64_t given = job->params->naxes < 1 ? 0 : job->params->axes[0];
    const int axis = (int)(given < 0 ? given + out.ndim : given);
    int64_t at = 0;
    int rc = MC_OK;
    for (int k = 0; k < job->nin && !rc; k++) {
        const mci_place in = mci_place_in(b, k);
        mci_place part = out;
        const int64_t size = stack ? 1 : in.shape[axis];
        part.off += at * out.strides[axis] * MCI_SIZE(out.dtype);
        part.shape[axis] = size;
        if (stack) {
            for (int i = axis; i + 1 < out.ndim; i++) {
                part.shape[i] = out.shape[i + 1];
                part.strides[i] = out.strides[i + 1];
            }
            part.ndim--;
        }
        rc = mci_launch_copy(b, &part, &in);
        at += size;
    }
    return rc;
}

static int roll(const mci_job *job, mci_bound *b)
{
    const mc_params *p = job->params;
    mci_place in = mci_place_in(b, 0), out = mci_place_out(b, 0), to = out;
    int64_t shift[MC_MAX_RANK];
    int rc = mci_roll_shifts(job->op, job->in[0], p, shift);
    if (rc || mci_place_numel(&out) == 0) return rc;
    if (p->naxes < 1) { /* as one row */
        const int64_t all = mci_place_numel(&out);
        if ((rc = mci_launch_dense(b, &in, in.dtype)) != 0) return rc;
        if (!mci_place_dense(&out)) to = mci_place_work(b, out.dtype, out.ndim, out.shape);
        in = mci_place_as(in, 1, &all);
    }
    mci_place target = p->naxes < 1 ? mci_place_as(to, 1, in.shape) : to;
    for (unsigned part = 0; part < 1u << in.ndim && !rc; part++) {
        mci_place x = in, y = target;
        for (int i = 0; i < in.ndim; i++) {
            const int front = (part >> i & 1) != 0;
            const int64_t n = in.shape[i], k = shift[i];
            x.shape[i] = y.shape[i] = front ? k : n - k;
            x.off += (front ? n - k : 0) * in.strides[i] * MCI_SIZE(in.dtype);
            y.off += (front ? 0 : k) * target.strides[i] * MCI_SIZE(in.dtype);
        }
        rc = mci_launch_copy(b, &y, &x);
    }
    return rc || to.slot == out.slot ? rc : mci_launch_copy(b, &out, &to);
}

int mci_layout_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                        mci_bound *b)
{
    (void)device, (void)r, (void)outs;
    return job->op->variant == MCI_LAYOUT_ROLL ? roll(job, b) : join(job, b);
}
