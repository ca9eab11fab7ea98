/* gemm.c - matrix products through CBLAS: the choice by type letter, and the splitting of sizes
 * that do not fit the 32-bit integers of BLAS. */
#include "../../kernels/mck.h"
#include "parts.h"

#include <cblas.h>
#include <limits.h>

#define PIECE ((int64_t)1 << 30) /* largest size handed to BLAS */

/* One product that fits: C = A B, plus C when `accumulate`. */
static void product(int type, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k,
                    const void *a, int lda, const void *b, int ldb, void *c, int ldc,
                    int accumulate)
{
    const mck_c64 one_c = { 1.0f, 0.0f }, beta_c = { accumulate ? 1.0f : 0.0f, 0.0f };
    const mck_c128 one_z = { 1.0, 0.0 }, beta_z = { accumulate ? 1.0 : 0.0, 0.0 };
    switch (type) {
    case 's':
        cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1.0f, a, lda, b, ldb, accumulate ? 1.0f : 0.0f,
                    c, ldc);
        break;
    case 'd':
        cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1.0, a, lda, b, ldb, accumulate ? 1.0 : 0.0, c,
                    ldc);
        break;
    case 'c':
        cblas_cgemm(CblasRowMajor, ta, tb, m, n, k, &one_c, a, lda, b, ldb, &beta_c, c, ldc);
        break;
    case 'z':
        cblas_zgemm(CblasRowMajor, ta, tb, m, n, k, &one_z, a, lda, b, ldb, &beta_z, c, ldc);
        break;
    default: break;
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A leading dimension matters from the second row on; a single row may state any that BLAS accepts.
 */
static int leading(int64_t ld, int64_t rows, int64_t columns)
{
    return (int)(rows > 1 ? ld : columns > 1 ? columns : 1);
}

void mco_gemm(int type, int transa, int transb, int64_t m, int64_t n, int64_t k, const void *a,
              int64_t lda, const void *b, int64_t ldb, void *c, int64_t ldc)
{
    const CBLAS_TRANSPOSE ta = transa ? CblasTrans : CblasNoTrans,
                          tb = transb ? CblasTrans : CblasNoTrans;
    const int64_t size = type == 's' ? 4 : type == 'z' ? 16 : 8;
    int64_t mp = PIECE, np = PIECE, kp = PIECE;
    if (lda > INT_MAX) *(transa ? &kp : &mp) = 1;
    if (ldb > INT_MAX) *(transb ? &np : &kp) = 1;
    if (ldc > INT_MAX) mp = 1;
    int64_t k0 = 0;
    mco_enter();
    do { /* once even for k = 0, which clears C */
        const int64_t kn = least(kp, k - k0);
        for (int64_t i = 0; i < m; i += mp) {
            for (int64_t j = 0; j < n; j += np) {
                const int64_t mn = least(mp, m - i), nn = least(np, n - j);
                const char *pa = (const char *)a + size * (transa ? k0 * lda + i : i * lda + k0);
                const char *pb = (const char *)b + size * (transb ? j * ldb + k0 : k0 * ldb + j);
                char *pc = (char *)c + size * (i * ldc + j);
                product(type, ta, tb, (int)mn, (int)nn, (int)kn, pa,
                        leading(lda, transa ? kn : mn, transa ? mn : kn), pb,
                        leading(ldb, transb ? nn : kn, transb ? kn : nn), pc, leading(ldc, mn, nn),
                        k0 > 0);
            }
        }
        k0 += kp;
    } while (k0 < k);
    mco_leave();
}
