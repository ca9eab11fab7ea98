/* transforms.c - Fourier transforms of cuFFT.
 *
 * A plan is made where a transform is asked for the first time, and stays: graphs of launches hold
 * what it has on the card. When there are KEPT plans, further ones are refused, and the portable
 * kernels transform. cuFFT wants real rows aligned like complex ones; where a view begins between,
 * they go through the spare memory behind its workspace. */
#include "../../runtime/device/mc_device_api.h"
#include "parts.h"

#include <stdint.h>

#define KEPT 256
#define ALIGN 256

typedef struct made {
    mc_transform_job t;
    int plan, status;
    size_t bytes;
} made;

struct mc_cuda_transforms {
    const mc_cuda_fft *fft;
    int n;
    made made[KEPT];
};

mc_cuda_transforms *mc_cuda_transforms_new(const mc_cuda_fft *fft)
{
    mc_cuda_transforms *t = mc_cuda_alloc(sizeof *t);
    if (t) t->fft = fft;
    return t;
}

static int make(const mc_cuda_fft *f, made *p)
{
    static const int types[] = { FFT_C2C, FFT_C2C, FFT_R2C, FFT_C2R };
    const mc_transform_job *t = &p->t;
    const int type = types[t->kind] + (t->prec == 8 ? FFT_DOUBLE : 0);
    long long n = t->n, half = n / 2 + 1, in = t->kind == 3 ? half : n,
              out = t->kind == 2 ? half : n;
    int rc = f->cufftCreate(&p->plan);
    if (rc) return rc;
    rc = f->cufftSetAutoAllocation(p->plan, 0);
    if (!rc)
        rc = f->cufftMakePlanMany64(p->plan, 1, &n, &in, 1, in, &out, 1, out, type, t->m,
                                    &p->bytes);
    if (rc) f->cufftDestroy(p->plan);
    return rc;
}

static made *find(mc_cuda_transforms *all, const mc_transform_job *t)
{
    for (int i = 0; i < all->n; i++) {
        made *p = &all->made[i];
        if (p->t.n == t->n && p->t.m == t->m && p->t.kind == t->kind && p->t.prec == t->prec)
            return p;
    }
    return NULL;
}

int64_t mc_cuda_transform_bytes(mc_cuda_transforms *all, const mc_transform_job *t)
{
    made *p = find(all, t);
    if (!p) {
        if (all->n == KEPT) return -1;
        p = &all->made[all->n++];
        p->t = *t;
        p->status = make(all->fft, p);
    }
    return p->status ? -1 : (int64_t)((p->bytes + ALIGN - 1) / ALIGN * ALIGN);
}

static int execute(const mc_cuda_fft *f, const made *p, void *in, void *out)
{
    const int wide = p->t.prec == 8, way = p->t.kind == 1 ? FFT_INVERSE : FFT_FORWARD;
    switch (p->t.kind) {
    case 2: return wide ? f->cufftExecD2Z(p->plan, in, out) : f->cufftExecR2C(p->plan, in, out);
    case 3: return wide ? f->cufftExecZ2D(p->plan, in, out) : f->cufftExecC2R(p->plan, in, out);
    default:
        return wide ? f->cufftExecZ2Z(p->plan, in, out, way)
                    : f->cufftExecC2C(p->plan, in, out, way);
    }
}

int mc_cuda_transform(const mc_cuda *cu, mc_cuda_transforms *all, const mc_transform_job *t,
                      const CUdeviceptr at[3], CUstream s)
{
    const mc_cuda_fft *f = all->fft;
    const made *p = find(all, t);
    if (!p || p->status) return -1;
    const unsigned aligned = 2 * (unsigned)t->prec;
    const size_t row = (size_t)(t->m * t->n * t->prec); /* of real rows */
    const CUdeviceptr spare = at[2] + (CUdeviceptr)(p->bytes + ALIGN - 1) / ALIGN * ALIGN;
    CUdeviceptr out = at[0], in = at[1];
    int rc = f->cufftSetStream(p->plan, s);
    if (!rc) rc = f->cufftSetWorkArea(p->plan, (void *)(uintptr_t)at[2]);
    if (in % aligned && !rc) {
        if (!t->spare) return -1;
        in = spare;
        rc = cu->cuMemcpyDtoDAsync(in, at[1], row, s);
    }
    if (out % aligned) {
        if (!t->spare) return -1;
        out = spare;
    }
    if (!rc) rc = execute(f, p, (void *)(uintptr_t)in, (void *)(uintptr_t)out);
    return !rc && out != at[0] ? cu->cuMemcpyDtoDAsync(at[0], out, row, s) : rc;
}
