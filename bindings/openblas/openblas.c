/* openblas.c - the OpenBLAS neighbour: matrix products behind mc_blas_api.
 *
 * Holds: the switch to one thread (the runtime runs tiles in parallel itself), the splitting of
 * sizes that do not fit the 32-bit integers of BLAS, and the handler of bad arguments: BLAS's
 * own prints, and other builds of it exit. Defined here the two handlers come first in the
 * lookup of the libraries that this plug-in pulls in, and only write the record. Threads enter
 * through a gate that knows OpenBLAS's work buffers (buffers.c). */
#include "../../kernels/mck.h"
#include "../../runtime/device/mc_backend.h"
#include "parts.h"

#include <cblas.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { STATUS_NOMEM = 4, STATUS_UNSUPPORTED = 9, STATUS_INTERNAL = 11 };
#define PIECE ((int64_t)1 << 30) /* largest size handed to BLAS */

/* Set once by mc_plugin_open, before any other call. */
static const mc_host_api *host;
static char name[160] = "OpenBLAS";

static int ready(void)
{
    return mco_ready() ? 0
                       : host->error(STATUS_NOMEM,
                                     "memory: the system has no %d MiB of addresses for the work "
                                     "buffer of OpenBLAS; raise ulimit -v or release tensors",
                                     MCO_BUFFER_MIB);
}

/* The Fortran handler: routine name without terminator, 1-based number of the bad argument. */
MC_API void xerbla_(const char *routine, const int *argument, size_t length);
MC_API void cblas_xerbla(int argument, char *routine, char *form, ...);

void xerbla_(const char *routine, const int *argument, size_t length)
{
    if (length > 16) length = 16;
    if (host)
        (void)host->error(STATUS_INTERNAL, "blas: %.*s refuses its argument %d; please report it",
                          (int)length, routine, *argument);
}

void cblas_xerbla(int argument, char *routine, char *form, ...)
{
    (void)form;
    if (host)
        (void)host->error(STATUS_INTERNAL, "blas: %s refuses its argument %d; please report it",
                          routine, argument);
}

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

static void gemm(int type, int transa, int transb, int64_t m, int64_t n, int64_t k, const void *a,
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

/* "OpenBLAS 0.3.21 Zen": the first two words of the build's configuration and the kernels it chose.
 */
static void set_name(void)
{
    const char *config = openblas_get_config();
    int words = 0;
    size_t length = 0;
    for (; config[length] && length < 100; length++)
        if (config[length] == ' ' && ++words == 2) break;
    (void)snprintf(name, sizeof name, "%.*s %s", (int)length, config, openblas_get_corename());
}

MC_API int mc_plugin_open(const mc_host_api *h, void *api);

int mc_plugin_open(const mc_host_api *h, void *api)
{
    mc_blas_api *blas = api;
    if (h->abi != MC_BACKEND_ABI || blas->abi != MC_BACKEND_ABI)
        return h->error(
            STATUS_UNSUPPORTED,
            "blas: the plug-in belongs to another version of mascon; build both together");
    host = h;
    openblas_set_num_threads(1);
    set_name();
    blas->name = name;
    blas->ready = ready;
    blas->enter = mco_enter;
    blas->leave = mco_leave;
    blas->gemm = gemm;
    blas->lapack = &mco_lapack;
    return 0;
}
