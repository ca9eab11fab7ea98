/* mc_launch_matmul.c - products on devices with programs: matmul with any strides, vecdot as
 * products of one row with one column. */
#include "family/mc_launch.h"
#include "../../kernels/device/jobs.h"

#include <stdio.h>
#include <string.h>

#define TILE 64 /* of kernels/device/matmul.c */

/* conj: of the first operand; less: from what is there. */
static void source_of(char *text, size_t room, int dtype, int conj, int less)
{
    int n = 0;
    if (less && mci_kind(dtype) == 'c')
        n = snprintf(text, room, "#define SUBTRACT mck_sub_%s\n", mc_dtype_name(dtype));
    else if (less)
        n = snprintf(text, room, "#define SUBTRACT(a, b) ((a) - (b))\n");
    text += n;
    room -= (size_t)n;
    const char *c = mci_device_types[dtype];
    const int kind = mci_kind(dtype);
    if (kind == 'c')
        snprintf(text, room,
                 "#include \"mck_math_c.h\"\n#define T %s\n#define ZERO mck_make_%s(0, 0)\n#define "
                 "MULADD(c, a, b) mck_add_%s(c, mck_mul_%s(%s%s(a), b))\n#include \"matmul.c\"\n",
                 c, mc_dtype_name(dtype), mc_dtype_name(dtype), mc_dtype_name(dtype),
                 conj ? "mck_conj_" : "", conj ? mc_dtype_name(dtype) : "");
    else if (kind == 'f')
        snprintf(text, room,
                 "#define T %s\n#define ZERO 0\n#define MULADD(c, a, b) %s(a, b, c)\n#include "
                 "\"matmul.c\"\n",
                 c, dtype == MC_F32 ? "fmaf" : "fma");
    else
        snprintf(text, room,
                 "#define T %s\n#define ZERO 0\n#define MULADD(c, a, b) (T)((uint64_t)(c) + "
                 "(uint64_t)(a) * (uint64_t)(b))\n#include \"matmul.c\"\n",
                 c);
}

static int gemm_kind(int dtype)
{
    switch (dtype) {
    case MC_F16: return MC_GEMM_F16;
    case MC_BF16: return MC_GEMM_BF16;
    case MC_F32: return mc_get_tf32() ? MC_GEMM_TF32 : MC_GEMM_F32;
    case MC_F64: return MC_GEMM_F64;
    case MC_C64: return MC_GEMM_C64;
    case MC_C128: return MC_GEMM_C128;
    default: return -1;
    }
}

/* The product by a library of the device, at the end of the list: 1, 0 where it does not do this
 * one; negative on failure. */
static int by_library(mci_bound *b, const mci_place *out, const mci_place *a, const mci_place *c)
{
    const mc_device_api *api = mci_device_api(b->device);
    const mci_place *all[3] = { out, a, c };
    mc_product_job g = { .m = out->shape[out->ndim - 2],
                  .n = out->shape[out->ndim - 1],
                  .k = a->shape[a->ndim - 1],
                  .kind = gemm_kind(out->dtype) };
    int64_t shape[MC_MAX_RANK], batch[3][MC_MAX_RANK];
    const int nb = out->ndim - 2;
    if (mc_get_batch_invariant() || !api->gemm || g.kind < 0 || g.k == 0 ||
        a->dtype != out->dtype || c->dtype != out->dtype)
        return 0;
    for (int k = 0; k < 3; k++) {
        const mci_place *p = all[k];
        const int64_t rows = p->shape[p->ndim - 2], cols = p->shape[p->ndim - 1];
        int64_t row = p->strides[p->ndim - 2], col = p->strides[p->ndim - 1];
        mci_place outer = *p;
        row = rows == 1 ? cols : row; /* never walked */
        col = cols == 1 ? 1 : col;
        if (col == 1 && row >= cols)
            g.lead[k] = row;
        else if (k > 0 && p->strides[p->ndim - 2] == 1 && col >= rows)
            g.lead[k] = col, g.turned[k - 1] = 1;
        else
            return 0;
        outer.ndim -= 2;
        mci_place_strides(&outer, nb, out->shape, batch[k]);
    }
    memcpy(shape, out->shape, sizeof *shape * (size_t)nb);
    const int nd = mci_collapse(nb, shape, 3, batch);
    g.batch = mci_numel(nd, shape);
    if (nd > 1 || g.batch > INT32_MAX) return 0;
    for (int k = 0; k < 3; k++) g.step[k] = nd ? batch[k][0] : 0;
    if (!api->gemm(mci_device_handle(b->device), &g)) return 0;
    mc_launch *l = mci_launch_library(b, MC_BY_GEMM, &g, sizeof g);
    if (!l) return -mc_errstatus();
    for (int k = 0; k < 3; k++) mci_launch_buffer(l, all[k]);
    return 1;
}

/* out[.., m, n] = a[.., m, k] b[.., k, n], all of one dtype; batches in front broadcast. */
static int product(mci_bound *b, const mci_place *out, const mci_place *a, const mci_place *c,
                   int conj, int less)
{
    char source[512];
    const mci_place *all[3] = { out, a, c };
    mcd_matmul j = { .m = out->shape[out->ndim - 2],
                     .n = out->shape[out->ndim - 1],
                     .k = a->shape[a->ndim - 1] };
    const int nb = out->ndim - 2, done = conj || less ? 0 : by_library(b, out, a, c);
    if (done) return done < 0 ? -done : MC_OK;
    memcpy(j.shape, out->shape, sizeof *j.shape * (size_t)nb);
    for (int k = 0; k < 3; k++) {
        mci_place outer = *all[k];
        outer.ndim -= 2;
        mci_place_strides(&outer, nb, j.shape, j.batch[k]);
        j.row[k] = all[k]->strides[all[k]->ndim - 2];
        j.col[k] = all[k]->strides[all[k]->ndim - 1];
    }
    const int64_t batches = mci_numel(nb, j.shape);
    j.nd = mci_collapse(nb, j.shape, 3, j.batch);
    source_of(source, sizeof source, out->dtype, conj, less);
    mc_launch *l = mci_launch_new(b, source, "matmul",
                                  batches * ((j.m + TILE - 1) / TILE) * ((j.n + TILE - 1) / TILE),
                                  256, &j, sizeof j);
    if (!l) return mc_errstatus();
    for (int k = 0; k < 3; k++) mci_launch_buffer(l, all[k]);
    return MC_OK;
}

int mci_launch_subtract(mci_bound *b, const mci_place *out, const mci_place *a, const mci_place *c,
                        int conj)
{
    return product(b, out, a, c, conj && mci_kind(out->dtype) == 'c', 1);
}

/* An axis of one element at place `at`. */
static void widen(mci_place *p, int at)
{
    for (int i = p->ndim; i > at; i--) {
        p->shape[i] = p->shape[i - 1];
        p->strides[i] = p->strides[i - 1];
    }
    p->shape[at] = 1;
    p->strides[at] = 0;
    p->ndim++;
}

/* Operands in the dtype of the arithmetic, the result there or in workspace; then the product and
 * the way back. */
static int finish(mci_bound *b, int compute, mci_place *in, mci_place view, int conj)
{
    mci_place out = view;
    const int halves = compute == MC_F32 && view.dtype != MC_F32,
              done = halves ? by_library(b, &view, &in[0], &in[1]) : 0;
    if (done) return done < 0 ? -done : MC_OK;
    for (int i = 0; i < 2; i++) {
        int rc = in[i].dtype == compute ? MC_OK : mci_launch_dense(b, &in[i], compute);
        if (rc) return rc;
    }
    if (out.dtype != compute) out = mci_place_work(b, compute, view.ndim, view.shape);
    int rc = product(b, &out, &in[0], &in[1], conj, 0);
    return rc || out.slot == view.slot ? rc : mci_launch_copy(b, &view, &out);
}

int mci_matmul_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                        mci_bound *b)
{
    (void)device, (void)job, (void)outs;
    mci_place in[2] = { mci_place_in(b, 0), mci_place_in(b, 1) }, out = mci_place_out(b, 0);
    if (mci_place_numel(&out) == 0) return MC_OK;
    if (in[1].ndim == 1) {
        widen(&in[1], 1);
        widen(&out, out.ndim);
    }
    if (in[0].ndim == 1) {
        widen(&in[0], 0);
        widen(&out, out.ndim - 1);
    }
    if (out.ndim > MC_MAX_RANK)
        return mci_error(MC_EUNSUPPORTED, "matmul: too many axes for %s; reshape the operands",
                         mci_device_text(device));
    return finish(b, r->compute, in, out, 0);
}

int mci_dot_launches(int device, const mci_job *job, const mci_result *r, mc_tensor *const *outs,
                     mci_bound *b)
{
    (void)outs;
    const int64_t axis = job->params->naxes < 1 ? -1 : job->params->axes[0];
    mci_place in[2] = { mci_place_in(b, 0), mci_place_in(b, 1) }, out = mci_place_out(b, 0);
    if (mci_place_numel(&out) == 0) return MC_OK;
    if (in[0].ndim + 1 > MC_MAX_RANK ||
        in[1].ndim + 1 > MC_MAX_RANK || out.ndim + 2 > MC_MAX_RANK)
        return mci_error(
            MC_EUNSUPPORTED,
            "%s: it has no form for these operands on %s yet; move them with :to \"cpu\" first",
            job->op->name, mci_device_text(device));
    for (int k = 0; k < 2; k++) { /* [.., 1, n] and [.., n, 1] */
        const int at = (int)(axis + in[k].ndim);
        const int64_t size = in[k].shape[at], stride = in[k].strides[at];
        for (int i = at; i + 1 < in[k].ndim; i++) {
            in[k].shape[i] = in[k].shape[i + 1];
            in[k].strides[i] = in[k].strides[i + 1];
        }
        in[k].shape[in[k].ndim - 1] = size;
        in[k].strides[in[k].ndim - 1] = stride;
        widen(&in[k], in[k].ndim - (k == 0));
    }
    widen(&out, out.ndim);
    widen(&out, out.ndim);
    const int conj = mci_kind(r->compute) == 'c' && job->params->i[0] == 0;
    return finish(b, r->compute, in, out, conj);
}
