/* mck_matmul.h - arguments of matrix products.
 *
 * out[m][n] = a[m][k] b[k][n], contiguous and row-major. */
#ifndef MCK_MATMUL_H
#define MCK_MATMUL_H

#include "mck.h"

typedef struct mck_matmul {
    int64_t m, n, k;
    void *out;
    const void *a, *b;
} mck_matmul;
typedef void (*mck_matmul_fn)(const mck_matmul *p);

#endif
