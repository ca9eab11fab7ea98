/* parts.h - what the files of this plug-in share, and with bindings/blas. */
#ifndef MCO_PARTS_H
#define MCO_PARTS_H

#include "../../runtime/device/mc_backend.h"

/* Addresses of a work buffer: 32 << 22 bytes in builds for x86-64, and some. */
#define MCO_BUFFER_MIB 129

extern const mc_lapack_api mco_lapack; /* lapack.c */

/* gemm.c: mc_blas_api.gemm */
void mco_gemm(int type, int transa, int transb, int64_t m, int64_t n, int64_t k, const void *a,
              int64_t lda, const void *b, int64_t ldb, void *c, int64_t ldc);

int mco_ready(void);  /* whether one thread can enter */
void mco_enter(void); /* before a call that works; waits while no buffer is left */
void mco_leave(void);
void mco_threads(int n); /* of OpenBLAS itself, for one caller; 1 where the system refuses them */

#endif
