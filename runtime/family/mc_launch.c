/* mc_launch.c - lists of launches: places, workspace, conversions.
 *
 * A family describes a call from headers alone. What its kernels do not walk as it lies is first copied into workspace by a launch of its own,
 * so that kernels know few layouts. */
#include "family/mc_launch.h"
#include "device/mc_program.h"
#include "../../kernels/device/jobs.h"

#include <string.h>

#define ALIGN 256 /* bytes, of pieces of workspace */
#define LANES 256

static mci_place place(const mc_tensor *h, int slot, int operand)
{
    mci_place p = {.slot = slot, .operand = operand, .dtype = h->dtype, .ndim = h->ndim};
    memcpy(p.shape, h->shape, sizeof p.shape);
    memcpy(p.strides, h->strides, sizeof p.strides);
    return p;
}

mci_place mci_place_in(const mci_bound *b, int operand)
{
    const mc_tensor *h = &b->headers[operand];
    return place(h, operand, h->flags & MCI_WEAK ? operand : -1);
}

mci_place mci_place_out(const mci_bound *b, int result) { return place(&b->headers[b->nin + result], b->nin + result, -1); }

static void contiguous(mci_place *p, int ndim, const int64_t *shape)
{
    int64_t stride = 1;
    p->ndim = ndim;
    for (int i = ndim - 1; i >= 0; i--) {
        p->shape[i] = shape[i];
        p->strides[i] = stride;
        stride *= shape[i];
    }
}

mci_place mci_place_as(mci_place p, int ndim, const int64_t *shape)
{
    contiguous(&p, ndim, shape);
    return p;
}

mci_place mci_place_work(mci_bound *b, int dtype, int ndim, const int64_t *shape)
{
    mci_place p = {.slot = b->nin + b->nout, .operand = -1, .dtype = dtype, .off = b->work};
    contiguous(&p, ndim, shape);
    const int64_t bytes = mci_numel(ndim, shape) * MCI_SIZE(dtype);
    b->work += (bytes + ALIGN - 1) / ALIGN * ALIGN + (bytes == 0 ? ALIGN : 0);
    return p;
}

int64_t mci_place_numel(const mci_place *p) { return mci_numel(p->ndim, p->shape); }

int mci_place_dense(const mci_place *p)
{
    int64_t stride = 1;
    if (p->operand >= 0)
        return 0;
    for (int i = p->ndim - 1; i >= 0; i--) {
        if (p->shape[i] != 1 && p->strides[i] != stride)
            return 0;
        stride *= p->shape[i];
    }
    return 1;
}

void mci_place_strides(const mci_place *p, int ndim, const int64_t *shape, int64_t *strides)
{
    for (int i = 0; i < ndim; i++) {
        const int j = i - (ndim - p->ndim);
        strides[i] = j < 0 || p->operand >= 0 || (p->shape[j] == 1 && shape[i] != 1) || p->shape[j] == 1 ? 0 : p->strides[j];
    }
}

/* Room for one more in a list of `size`-byte items, which grows in powers of two. */
static int grow(void **list, int n, size_t size)
{
    if (n & (n - 1) || (n > 0 && n < 4))
        return MC_OK;
    void *more = mci_realloc(*list, size * (size_t)(n ? 2 * n : 4));
    if (!more)
        return mc_errstatus();
    *list = more;
    return MC_OK;
}

mc_launch *mci_launch_new(mci_bound *b, const char *source, const char *kernel, int64_t groups, int lanes, const void *job, size_t bytes)
{
    if (groups >= (int64_t)1 << 31 || bytes > MC_LAUNCH_RAW) {
        mci_error(MC_EUNSUPPORTED, "%s: %lld groups in one launch on %s; work in blocks", b->op->name, (long long)groups, mci_device_text(b->device));
        return NULL;
    }
    void *k = mci_device_kernel(b->device, source, kernel);
    if (!k || grow((void **)&b->launch, b->nlaunch, sizeof *b->launch))
        return NULL;
    mc_launch *l = &b->launch[b->nlaunch++];
    *l = (mc_launch){.kernel = k, .grid = {(uint32_t)groups, 1, 1}, .group = {(uint32_t)lanes, 1, 1}, .nraw = (int32_t)bytes};
    memcpy(l->raw, job, bytes);
    return l;
}

mc_launch *mci_launch_lanes(mci_bound *b, const char *source, const char *kernel, int64_t n, const void *job, size_t bytes)
{
    const int most = mci_device_caps(b->device)->group, lanes = most < LANES ? most : LANES;
    return mci_launch_new(b, source, kernel, (n + lanes - 1) / lanes, lanes, job, bytes);
}

void mci_launch_buffer(mc_launch *l, const mci_place *p)
{
    l->slot[l->nbuf] = (int16_t)p->slot;
    l->off[l->nbuf++] = p->off;
}

static int patch(mci_bound *b, mci_patch p)
{
    int rc = grow((void **)&b->patch, b->npatch, sizeof *b->patch);
    if (!rc)
        b->patch[b->npatch++] = p;
    return rc;
}

int mci_launch_number(mci_bound *b, int operand, int dtype, size_t at)
{
    return patch(b, (mci_patch){.launch = b->nlaunch - 1, .operand = operand, .dtype = dtype, .at = (int32_t)at});
}

int mci_launch_guard(mci_bound *b, const char *why, size_t at)
{
    mc_launch *l = &b->launch[b->nlaunch - 1];
    l->slot[l->nbuf] = MCI_SLOT_GUARDS;
    l->off[l->nbuf++] = 0;
    return patch(b, (mci_patch){.launch = b->nlaunch - 1, .operand = -1, .at = (int32_t)at, .why = why});
}

/* ---- copies ---- */

int mci_launch_copy(mci_bound *b, const mci_place *to, const mci_place *from)
{
    mcd_copy j = {.n = mci_place_numel(to), .from = from->dtype, .is_num = from->operand >= 0, .size = (int32_t)MCI_SIZE(to->dtype)};
    if (j.n == 0)
        return MC_OK;
    const int plain = from->dtype == to->dtype && !j.is_num;
    memcpy(j.shape, to->shape, sizeof j.shape);
    memcpy(j.stride[0], to->strides, sizeof j.stride[0]);
    mci_place_strides(from, to->ndim, to->shape, j.stride[1]);
    j.nd = mci_collapse(to->ndim, j.shape, 2, j.stride);
    mc_launch *l = mci_launch_lanes(b, plain ? "#define COPY_ANY\n#include \"copy.c\"\n" : mci_device_casts[to->dtype], plain ? "copy" : "convert", j.n, &j, sizeof j);
    if (!l)
        return mc_errstatus();
    mci_launch_buffer(l, to);
    mci_launch_buffer(l, j.is_num ? to : from);
    return j.is_num ? mci_launch_number(b, from->operand, to->dtype, offsetof(mcd_copy, num)) : MC_OK;
}

int mci_launch_dense(mci_bound *b, mci_place *p, int dtype)
{
    if (p->dtype == dtype && mci_place_dense(p))
        return MC_OK;
    mci_place w = mci_place_work(b, dtype, p->ndim, p->shape);
    int rc = mci_launch_copy(b, &w, p);
    *p = w;
    return rc;
}

int mci_copy_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *out, mci_bound *b)
{
    (void)device, (void)job, (void)r, (void)out;
    const mci_place to = mci_place_out(b, 0), from = mci_place_in(b, 0);
    return mci_launch_copy(b, &to, &from);
}
