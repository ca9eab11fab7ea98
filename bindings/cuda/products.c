/* products.c - matrix products of cuBLASLt.
 *
 * Its matrices lie by columns: out by rows is out' = b' a' by columns. The way it takes for a shape
 * is asked for once and kept; products of one card come from one thread at a time. */
#include "../../runtime/device/mc_device_api.h"
#include "parts.h"

#include <stdint.h>
#include <string.h>

#define KEPT 128

typedef struct way {
    mc_product_job g; /* without places */
    int align[3];
    cublasLtDesc product, a, b, d;
    cublasLtFound found;
    int status; /* of the search */
} way;

struct mc_cuda_products {
    const mc_cuda_blas *blas;
    cublasLtHandle handle;
    CUdeviceptr workspace;
    size_t bytes;
    int n, next;
    way way[KEPT];
};

mc_cuda_products *mc_cuda_products_new(const mc_cuda_blas *b, CUdeviceptr workspace, size_t bytes)
{
    mc_cuda_products *p = mc_cuda_alloc(sizeof *p);
    if (!p) return NULL;
    p->blas = b;
    p->workspace = workspace;
    p->bytes = bytes;
    if (b->cublasLtCreate(&p->handle) == 0) return p;
    mc_cuda_release(p);
    return NULL;
}

static void drop(const mc_cuda_blas *b, way *w)
{
    if (w->product) b->cublasLtMatmulDescDestroy(w->product);
    if (w->a) b->cublasLtMatrixLayoutDestroy(w->a);
    if (w->b) b->cublasLtMatrixLayoutDestroy(w->b);
    if (w->d) b->cublasLtMatrixLayoutDestroy(w->d);
    memset(w, 0, sizeof *w);
}

static int type_of(int kind)
{
    static const int types[] = { BLAS_R_16F, BLAS_R_16BF, BLAS_R_32F,
                                 BLAS_R_64F, BLAS_C_32F,  BLAS_C_64F,
                                 BLAS_R_32F };
    return types[kind];
}

/* A matrix as cuBLASLt sees it: rows and columns of what lies by columns. */
static int matrix(const mc_cuda_blas *b, cublasLtDesc *m, const mc_product_job *g, int k,
                  int64_t rows, int64_t cols)
{
    const int batch = (int)g->batch;
    int rc = b->cublasLtMatrixLayoutCreate(m, type_of(g->kind), (unsigned long long)rows,
                                           (unsigned long long)cols, g->lead[k]);
    if (!rc && batch > 1) rc = b->cublasLtMatrixLayoutSetAttribute(*m, BLAS_BATCH, &batch, 4);
    if (!rc && batch > 1)
        rc = b->cublasLtMatrixLayoutSetAttribute(*m, BLAS_STRIDE, &g->step[k], 8);
    return rc;
}

/* Asks for a way. cuBLASLt's A is our b, its B our a. */
static int search(mc_cuda_products *p, way *w)
{
    const mc_cuda_blas *b = p->blas;
    const mc_product_job *g = &w->g;
    const int wide = g->kind == MC_GEMM_F64 || g->kind == MC_GEMM_C128,
              scale = g->kind == MC_GEMM_F16 || g->kind == MC_GEMM_BF16 ? BLAS_R_32F
                                                                       : type_of(g->kind);
    const int turned[2] = { g->turned[1], g->turned[0] };
    cublasLtDesc preference = NULL;
    int n = 0, rc = b->cublasLtMatmulDescCreate(
                   &w->product,
                   wide                      ? BLAS_COMPUTE_F64
                   : g->kind == MC_GEMM_TF32 ? BLAS_COMPUTE_TF32
                                             : BLAS_COMPUTE_F32,
                   scale);
    if (!rc) rc = b->cublasLtMatmulDescSetAttribute(w->product, BLAS_TRANS_A, &turned[0], 4);
    if (!rc) rc = b->cublasLtMatmulDescSetAttribute(w->product, BLAS_TRANS_B, &turned[1], 4);
    if (!rc)
        rc = matrix(b, &w->a, g, 2, turned[0] ? g->k : g->n, turned[0] ? g->n : g->k);
    if (!rc)
        rc = matrix(b, &w->b, g, 1, turned[1] ? g->m : g->k, turned[1] ? g->k : g->m);
    if (!rc) rc = matrix(b, &w->d, g, 0, g->n, g->m);
    if (!rc) rc = b->cublasLtMatmulPreferenceCreate(&preference);
    if (!rc)
        rc = b->cublasLtMatmulPreferenceSetAttribute(preference, BLAS_MOST_WORKSPACE, &p->bytes,
                                                     sizeof p->bytes);
    const int aligned[4] = { w->align[2], w->align[1], w->align[0], w->align[0] };
    for (int i = 0; i < 4 && !rc; i++)
        rc = b->cublasLtMatmulPreferenceSetAttribute(preference, BLAS_LEAST_ALIGN + i,
                                                     &aligned[i], 4);
    if (!rc)
        rc = b->cublasLtMatmulAlgoGetHeuristic(p->handle, w->product, w->a, w->b, w->d, w->d,
                                               preference, 1, &w->found, &n);
    if (preference) b->cublasLtMatmulPreferenceDestroy(preference);
    return rc ? rc : n < 1 ? -1 : w->found.status;
}

static int same(const way *w, const mc_product_job *g, const int align[3])
{
    return memcmp((const char *)&w->g + sizeof g->at, (const char *)g + sizeof g->at,
                  sizeof *g - sizeof g->at) == 0 &&
           memcmp(w->align, align, sizeof w->align) == 0;
}

static const way *way_of(mc_cuda_products *p, const mc_product_job *g, const int align[3])
{
    for (int i = 0; i < p->n; i++)
        if (same(&p->way[i], g, align)) return &p->way[i];
    way *w = &p->way[p->next];
    p->next = (p->next + 1) % KEPT;
    p->n += p->n < KEPT;
    drop(p->blas, w);
    w->g = *g;
    memcpy(w->align, align, sizeof w->align);
    w->status = search(p, w);
    return w;
}

int mc_cuda_product_fits(mc_cuda_products *p, const mc_product_job *g)
{
    static const int bytes[] = { 2, 2, 4, 8, 8, 16, 4 };
    const int least = bytes[g->kind], align[3] = { least, least, least };
    return way_of(p, g, align)->status == 0;
}

int mc_cuda_product(mc_cuda_products *p, const mc_product_job *g, const CUdeviceptr at[3],
                    CUstream s)
{
    static const double one[2] = { 1, 0 }, none[2] = { 0, 0 };
    static const float one32[2] = { 1, 0 }, none32[2] = { 0, 0 };
    int align[3];
    for (int i = 0; i < 3; i++) {
        align[i] = 256;
        while (at[i] % (unsigned)align[i]) align[i] /= 2;
    }
    const way *w = way_of(p, g, align);
    if (w->status) return w->status;
    const int wide = g->kind == MC_GEMM_F64 || g->kind == MC_GEMM_C128;
    void *d = (void *)(uintptr_t)at[0];
    return p->blas->cublasLtMatmul(
        p->handle, w->product, wide ? (const void *)one : one32, (const void *)(uintptr_t)at[2],
        w->a, (const void *)(uintptr_t)at[1], w->b, wide ? (const void *)none : none32, d, w->d, d,
        w->d, &w->found.algo, (void *)(uintptr_t)p->workspace, p->bytes, s);
}
