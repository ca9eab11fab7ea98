/* cublaslt.c - a stand-in for cuBLASLt: products by plain loops, done where their stream gets to
 * them; every attribute that is needed must have been set as the real library wants it.
 *
 * STANDIN_BLAS=none: it does not start. STANDIN_TRACE: a line for each product. */
#include "../../bindings/cuda/parts.h"

#include <complex.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
enum { NOT_STARTED = 1, INVALID = 7, UNSUPPORTED = 15 };
enum { PRODUCT, MATRIX, PREFERENCE };

struct cublasLtContext {
    int unused;
};
struct cublasLtDesc {
    int what, compute, scale, turned[2];      /* of a product */
    int type, batch;                          /* of a matrix */
    unsigned long long rows, cols;
    long long lead, step;
    size_t workspace;                         /* of a preference */
    int align[4];
};

static CUresult (*launch)(CUstream, void (*)(const void *), const void *, size_t);
static void (*memory)(const char *, const void *, size_t);

API size_t cublasLtGetVersion(void)
{
    return 130100;
}

API int cublasLtCreate(cublasLtHandle *h)
{
    const char *s = getenv("STANDIN_BLAS");
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver) {
        *(void **)&launch = dlsym(driver, "standin_call");
        *(void **)&memory = dlsym(driver, "standin_memory");
    }
    if (!launch || !memory || (s && !strcmp(s, "none"))) return NOT_STARTED;
    *h = calloc(1, sizeof **h);
    return 0;
}

static cublasLtDesc desc_new(int what)
{
    cublasLtDesc d = calloc(1, sizeof *d);
    d->what = what;
    d->batch = 1;
    return d;
}

API int cublasLtMatmulDescCreate(cublasLtDesc *d, int compute, int scale)
{
    *d = desc_new(PRODUCT);
    (*d)->compute = compute;
    (*d)->scale = scale;
    return 0;
}

API int cublasLtMatmulDescSetAttribute(cublasLtDesc d, int what, const void *value, size_t bytes)
{
    if (d->what != PRODUCT || bytes != 4 || (what != BLAS_TRANS_A && what != BLAS_TRANS_B))
        return INVALID;
    memcpy(&d->turned[what == BLAS_TRANS_B], value, 4);
    return 0;
}

API int cublasLtMatrixLayoutCreate(cublasLtDesc *d, int type, unsigned long long rows,
                                   unsigned long long cols, long long lead)
{
    if (lead < (long long)rows) return INVALID;
    *d = desc_new(MATRIX);
    (*d)->type = type;
    (*d)->rows = rows;
    (*d)->cols = cols;
    (*d)->lead = lead;
    return 0;
}

API int cublasLtMatrixLayoutSetAttribute(cublasLtDesc d, int what, const void *value, size_t bytes)
{
    if (d->what != MATRIX) return INVALID;
    if (what == BLAS_BATCH && bytes == 4)
        memcpy(&d->batch, value, 4);
    else if (what == BLAS_STRIDE && bytes == 8)
        memcpy(&d->step, value, 8);
    else
        return INVALID;
    return 0;
}

API int cublasLtMatmulPreferenceCreate(cublasLtDesc *d)
{
    *d = desc_new(PREFERENCE);
    return 0;
}

API int cublasLtMatmulPreferenceSetAttribute(cublasLtDesc d, int what, const void *value,
                                             size_t bytes)
{
    if (d->what != PREFERENCE) return INVALID;
    if (what == BLAS_MOST_WORKSPACE && bytes == sizeof(size_t))
        memcpy(&d->workspace, value, bytes);
    else if (what >= BLAS_LEAST_ALIGN && what < BLAS_LEAST_ALIGN + 4 && bytes == 4)
        memcpy(&d->align[what - BLAS_LEAST_ALIGN], value, 4);
    else
        return INVALID;
    return 0;
}

static int destroy(cublasLtDesc d, int what)
{
    if (d->what != what) return INVALID;
    free(d);
    return 0;
}

API int cublasLtMatmulDescDestroy(cublasLtDesc d)
{
    return destroy(d, PRODUCT);
}

API int cublasLtMatrixLayoutDestroy(cublasLtDesc d)
{
    return destroy(d, MATRIX);
}

API int cublasLtMatmulPreferenceDestroy(cublasLtDesc d)
{
    return destroy(d, PREFERENCE);
}

/* Whether the descriptions belong together. */
static int fits(cublasLtDesc p, cublasLtDesc a, cublasLtDesc b, cublasLtDesc d)
{
    const unsigned long long m = p->turned[0] ? a->cols : a->rows,
                             k = p->turned[0] ? a->rows : a->cols,
                             kb = p->turned[1] ? b->cols : b->rows,
                             n = p->turned[1] ? b->rows : b->cols;
    const int wide = a->type == BLAS_R_64F || a->type == BLAS_C_64F,
              half = a->type == BLAS_R_16F || a->type == BLAS_R_16BF;
    return p->what == PRODUCT && a->what == MATRIX && b->what == MATRIX && d->what == MATRIX &&
           m == d->rows && n == d->cols && k == kb && a->type == b->type && a->type == d->type &&
           a->batch == d->batch && b->batch == d->batch &&
           (p->compute == (wide ? BLAS_COMPUTE_F64 : BLAS_COMPUTE_F32) ||
            (p->compute == BLAS_COMPUTE_TF32 && a->type == BLAS_R_32F)) &&
           p->scale == (half ? BLAS_R_32F : a->type);
}

API int cublasLtMatmulAlgoGetHeuristic(cublasLtHandle h, cublasLtDesc p, cublasLtDesc a,
                                       cublasLtDesc b, cublasLtDesc c, cublasLtDesc d,
                                       cublasLtDesc preference, int want, cublasLtFound *found,
                                       int *n)
{
    (void)h;
    if (want < 1 || c != d || preference->what != PREFERENCE || !fits(p, a, b, d)) return INVALID;
    memset(found, 0, sizeof *found);
    for (int i = 0; i < 4; i++) found->algo.data[i] = (unsigned long long)preference->align[i];
    found->algo.data[4] = 0x6c74;
    *n = 1;
    return 0;
}

typedef struct job {
    struct cublasLtDesc p, a, b, d;
    const char *at_a, *at_b;
    char *at_d;
    int wide; /* alpha, beta are complex */
} job;

static double _Complex value(const struct cublasLtDesc *m, const char *base, int batch, int turned,
                             unsigned long long r, unsigned long long c)
{
    const unsigned long long row = turned ? c : r, col = turned ? r : c;
    const long long at = batch * m->step + (long long)row + (long long)col * m->lead;
    _Float16 h;
    uint32_t bits;
    float f;
    switch (m->type) {
    case BLAS_R_32F: return ((const float *)base)[at];
    case BLAS_R_64F: return ((const double *)base)[at];
    case BLAS_C_32F: return ((const float _Complex *)base)[at];
    case BLAS_C_64F: return ((const double _Complex *)base)[at];
    case BLAS_R_16BF:
        bits = (uint32_t)((const uint16_t *)base)[at] << 16;
        memcpy(&f, &bits, 4);
        return f;
    default: memcpy(&h, base + 2 * at, 2); return (double)h;
    }
}

/* To 11 bits, halves to even. */
static double _Complex rounded(double _Complex v)
{
    const float f = (float)creal(v);
    uint32_t bits;
    memcpy(&bits, &f, 4);
    bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
    float r;
    memcpy(&r, &bits, 4);
    return r;
}

static void store(const struct cublasLtDesc *m, char *base, long long at, double _Complex v)
{
    const float f = (float)creal(v);
    const _Float16 h = (_Float16)f;
    uint32_t bits;
    switch (m->type) {
    case BLAS_R_32F: ((float *)base)[at] = f; break;
    case BLAS_R_64F: ((double *)base)[at] = creal(v); break;
    case BLAS_C_32F: ((float _Complex *)base)[at] = (float _Complex)v; break;
    case BLAS_C_64F: ((double _Complex *)base)[at] = v; break;
    case BLAS_R_16BF:
        memcpy(&bits, &f, 4);
        bits += 0x7fff + (bits >> 16 & 1);
        ((uint16_t *)base)[at] = (uint16_t)(bits >> 16);
        break;
    default: memcpy(base + 2 * at, &h, 2);
    }
}

static void run(const void *data)
{
    const job *j = data;
    const unsigned long long k = j->p.turned[0] ? j->a.rows : j->a.cols;
    for (int i = 0; i < j->d.batch; i++)
        for (unsigned long long c = 0; c < j->d.cols; c++)
            for (unsigned long long r = 0; r < j->d.rows; r++) {
                double _Complex sum = 0;
                for (unsigned long long q = 0; q < k; q++) {
                    const double _Complex a = value(&j->a, j->at_a, i, j->p.turned[0], r, q),
                                          b = value(&j->b, j->at_b, i, j->p.turned[1], q, c);
                    sum += j->p.compute == BLAS_COMPUTE_TF32 ? rounded(a) * rounded(b) : a * b;
                }
                store(&j->d, j->at_d, i * j->d.step + (long long)r + (long long)c * j->d.lead,
                      sum);
            }
}

static size_t extent(cublasLtDesc m)
{
    static const int bytes[] = { 4, 8, 2, 0, 8, 16 };
    return ((size_t)((m->batch - 1) * m->step) + (size_t)m->lead * (m->cols - 1) + m->rows) *
           (size_t)(m->type == BLAS_R_16BF ? 2 : bytes[m->type]);
}

static int aligned(const void *p, unsigned long long bytes)
{
    return bytes > 0 && (uintptr_t)p % bytes == 0;
}

API int cublasLtMatmul(cublasLtHandle h, cublasLtDesc p, const void *alpha, const void *a,
                       cublasLtDesc la, const void *b, cublasLtDesc lb, const void *beta,
                       const void *c, cublasLtDesc lc, void *d, cublasLtDesc ld,
                       const cublasLtAlgo *algo, void *workspace, size_t bytes, CUstream s)
{
    const int wide = p->scale == BLAS_R_64F || p->scale == BLAS_C_64F;
    const double one = wide ? *(const double *)alpha : *(const float *)alpha,
                 none = wide ? *(const double *)beta : *(const float *)beta;
    (void)h;
    if (!fits(p, la, lb, ld) || c != d || lc != ld || one != 1 || none != 0) return INVALID;
    if (algo->data[4] != 0x6c74 || !aligned(a, algo->data[0]) || !aligned(b, algo->data[1]) ||
        !aligned(d, algo->data[3]))
        return UNSUPPORTED;
    memory("matmul", a, extent(la));
    memory("matmul", b, extent(lb));
    memory("matmul", d, extent(ld));
    if (bytes) memory("matmul", workspace, bytes);
    const job j = { *p, *la, *lb, *ld, a, b, d, wide };
    if (getenv("STANDIN_TRACE"))
        fprintf(stderr, "standin: cublasLtMatmul, %llu x %llu\n", ld->cols, ld->rows);
    return launch(s, run, &j, sizeof j) == CUDA_OK ? 0 : INVALID;
}
