/* mc_launch.c - lists of launches: places, workspace, conversions.
 *
 * A family describes a call from headers alone. What its kernels do not walk as it lies is first
 * copied into workspace by a launch of its own, so that kernels know few layouts. */
#include "family/mc_launch.h"
#include "device/mc_program.h"
#include "../../kernels/device/jobs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define ALIGN 256 /* bytes, of pieces of workspace */
#define LANES 256

static mci_place place(const mc_tensor *h, int slot, int operand)
{
    mci_place p = { .slot = slot, .operand = operand, .dtype = h->dtype, .ndim = h->ndim };
    memcpy(p.shape, h->shape, sizeof p.shape);
    memcpy(p.strides, h->strides, sizeof p.strides);
    return p;
}

mci_place mci_place_in(const mci_bound *b, int operand)
{
    const mc_tensor *h = &b->headers[operand];
    return place(h, operand, h->flags & MCI_WEAK ? operand : -1);
}

mci_place mci_place_out(const mci_bound *b, int result)
{
    return place(&b->headers[b->nin + result], b->nin + result, -1);
}

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
    mci_place p = { .slot = b->nin + b->nout, .operand = -1, .dtype = dtype, .off = b->work };
    contiguous(&p, ndim, shape);
    const int64_t bytes = mci_numel(ndim, shape) * MCI_SIZE(dtype);
    b->work += (bytes + ALIGN - 1) / ALIGN * ALIGN + (bytes == 0 ? ALIGN : 0);
    return p;
}

int64_t mci_place_numel(const mci_place *p)
{
    return mci_numel(p->ndim, p->shape);
}

int mci_place_dense(const mci_place *p)
{
    int64_t stride = 1;
    if (p->operand >= 0) return 0;
    for (int i = p->ndim - 1; i >= 0; i--) {
        if (p->shape[i] != 1 && p->strides[i] != stride) return 0;
        stride *= p->shape[i];
    }
    return 1;
}

void mci_place_strides(const mci_place *p, int ndim, const int64_t *shape, int64_t *strides)
{
    for (int i = 0; i < ndim; i++) {
        const int j = i - (ndim - p->ndim);
        strides[i] =
            j < 0 || p->operand >= 0 || (p->shape[j] == 1 && shape[i] != 1) || p->shape[j] == 1
                ? 0
                : p->strides[j];
    }
}

/* Room for one more in a list of `size`-byte items, which grows in powers of two. */
static int grow(void **list, int n, size_t size)
{
    if (n & (n - 1) || (n > 0 && n < 4)) return MC_OK;
    void *more = mci_realloc(*list, size * (size_t)(n ? 2 * n : 4));
    if (!more) return mc_errstatus();
    *list = more;
    return MC_OK;
}

mc_launch *mci_launch_new(mci_bound *b, const char *source, const char *kernel, int64_t groups,
                          int lanes, const void *job, size_t bytes)
{
    if (groups >= (int64_t)1 << 31 || bytes > MC_LAUNCH_RAW) {
        mci_error(MC_EUNSUPPORTED, "%s: %lld groups in one launch on %s; work in blocks",
                  b->op->name, (long long)groups, mci_device_text(b->device));
        return NULL;
    }
    void *k = mci_device_kernel(b->device, source, kernel);
    if (!k || grow((void **)&b->launch, b->nlaunch, sizeof *b->launch)) return NULL;
    mc_launch *l = &b->launch[b->nlaunch++];
    *l = (mc_launch){ .kernel = k,
                      .grid = { (uint32_t)groups, 1, 1 },
                      .group = { (uint32_t)lanes, 1, 1 },
                      .nraw = (int32_t)bytes };
    memcpy(l->raw, job, bytes);
    return l;
}

mc_launch *mci_launch_library(mci_bound *b, int library, const void *job, size_t bytes)
{
    if (grow((void **)&b->launch, b->nlaunch, sizeof *b->launch)) return NULL;
    mc_launch *l = &b->launch[b->nlaunch++];
    *l = (mc_launch){ .library = library, .nraw = (int32_t)bytes };
    memcpy(l->raw, job, bytes);
    return l;
}

mc_launch *mci_launch_lanes(mci_bound *b, const char *source, const char *kernel, int64_t n,
                            const void *job, size_t bytes)
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
    if (!rc) b->patch[b->npatch++] = p;
    return rc;
}

int mci_launch_number(mci_bound *b, int operand, int dtype, size_t at)
{
    return patch(
        b, (mci_patch){
               .launch = b->nlaunch - 1, .operand = operand, .dtype = dtype, .at = (int32_t)at });
}

int mci_launch_guards(mci_bound *b)
{
    mc_launch *l = &b->launch[b->nlaunch - 1];
    l->slot[l->nbuf] = MCI_SLOT_GUARDS;
    l->off[l->nbuf++] = 0;
    return MC_OK;
}

int mci_launch_refusal(mci_bound *b, const char *op, const char *why, size_t at)
{
    return patch(b, (mci_patch){ .launch = b->nlaunch - 1,
                                 .operand = -1,
                                 .at = (int32_t)at,
                                 .op = op,
                                 .why = why });
}

int mci_launch_guard(mci_bound *b, const char *why, size_t at)
{
    int rc = mci_launch_guards(b);
    return rc ? rc : mci_launch_refusal(b, b->op->name, why, at);
}

const char *mc_device_formula(int i)
{
    int n = 0;
    while (mci_device_formulas[n]) n++;
    return i < n ? mci_device_formulas[i] : i - n < MC_NDTYPE ? mci_device_casts[i - n] : NULL;
}

/* ---- copies ---- */

int mci_launch_copy(mci_bound *b, const mci_place *to, const mci_place *from)
{
    mcd_copy j = { .n = mci_place_numel(to),
                   .from = from->dtype,
                   .is_num = from->operand >= 0,
                   .size = (int32_t)MCI_SIZE(to->dtype) };
    if (j.n == 0) return MC_OK;
    const int plain = from->dtype == to->dtype && !j.is_num;
    memcpy(j.shape, to->shape, sizeof j.shape);
    memcpy(j.stride[0], to->strides, sizeof j.stride[0]);
    mci_place_strides(from, to->ndim, to->shape, j.stride[1]);
    j.nd = mci_collapse(to->ndim, j.shape, 2, j.stride);
    mc_launch *l = mci_launch_lanes(
        b, plain ? "#define COPY_ANY\n#include \"copy.c\"\n" : mci_device_casts[to->dtype],
        plain ? "copy" : "convert", j.n, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, to);
    mci_launch_buffer(l, j.is_num ? to : from);
    return j.is_num ? mci_launch_number(b, from->operand, to->dtype, offsetof(mcd_copy, num))
                    : MC_OK;
}

int mci_launch_dense(mci_bound *b, mci_place *p, int dtype)
{
    if (p->dtype == dtype && mci_place_dense(p)) return MC_OK;
    mci_place w = mci_place_work(b, dtype, p->ndim, p->shape);
    int rc = mci_launch_copy(b, &w, p);
    *p = w;
    return rc;
}

int mci_launch_loads(mci_bound *b, mci_place *p, int compute, char *text, size_t room)
{
    const int whole = mci_kind(compute) != 'f' && mci_kind(compute) != 'c',
              complex = mci_kind(compute) == 'c', half = p->dtype == MC_F16 || p->dtype == MC_BF16;
    const int wide = complex ? MC_C128 : whole ? MC_I64 : MC_F64;
    const char *load = "(x)";
    if (half && compute == MC_F32)
        load = p->dtype == MC_F16 ? "mck_f16_to_f32(x)" : "mck_bf16_to_f32(x)";
    else if (compute == MC_I64 && mci_kind(p->dtype) != 'f' && mci_kind(p->dtype) != 'c')
        load = "((int64_t)(x))";
    else if (p->dtype != compute) {
        int rc = mci_launch_dense(b, p, compute);
        if (rc) return rc;
    }
    snprintf(text, room,
             "#include \"mck_cast.h\"\n#include \"%s\"\n#define S %s\n#define T %s\n#define NAME "
             "%s\n#define LOAD(x) %s\n#define COMPLEX %d\n"
             "#define WHOLE %d\n#define W %s\n#define WNAME %s\n",
             complex ? "mck_math_c.h"
             : whole ? "mck_int.h"
                     : "mck_math.h",
             mci_device_types[p->dtype], mci_device_types[compute], mc_dtype_name(compute), load,
             complex, whole, mci_device_types[wide], mc_dtype_name(wide));
    return MC_OK;
}

mci_place mci_launch_stores(mci_bound *b, const mci_place *p, int from, char *text, size_t room)
{
    const int real = from == MC_F32 || from == MC_F64;
    const char *store = p->dtype == from                        ? "(x)"
                        : real && p->dtype == MC_F32            ? "((float)(x))"
                        : real && p->dtype == MC_F64            ? "((double)(x))"
                        : real && p->dtype == MC_F16            ? "mck_f32_to_f16((float)(x))"
                        : real && p->dtype == MC_BF16           ? "mck_f32_to_bf16((float)(x))"
                        : from == MC_C128 && p->dtype == MC_C64 ? "mck_narrow_c128(x)"
                                                                : NULL;
    mci_place to = store && mci_place_dense(p)
                       ? *p
                       : mci_place_work(b, store ? p->dtype : from, p->ndim, p->shape);
    snprintf(text, room, "#define O %s\n#define STORE(x) %s\n", mci_device_types[to.dtype],
             store ? store : "(x)");
    return to;
}

mci_place mci_place_rows(const mci_place *p, unsigned mask, int64_t *m, int64_t *n)
{
    mci_place q = *p;
    int at = 0;
    *m = *n = 1;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < p->ndim; i++)
            if ((int)(mask >> i & 1) == pass) {
                q.shape[at] = p->shape[i];
                q.strides[at++] = p->strides[i];
                *(pass ? n : m) *= p->shape[i];
            }
    return q;
}

int mci_copy_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *out,
                      mci_bound *b)
{
    (void)device, (void)job, (void)r, (void)out;
    const mci_place to = mci_place_out(b, 0), from = mci_place_in(b, 0);
    return mci_launch_copy(b, &to, &from);
}
