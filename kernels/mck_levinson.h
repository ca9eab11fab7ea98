/* mck_levinson.h - arguments of Toeplitz systems.
 *
 * T x = b for one Toeplitz matrix, t[2 n - 1] = its diagonals from the last of the first row to the
 * last of the first column (t[n - 1] the main one), b and x [k] columns of n, ld apart. work: 2 n
 * elements. *status: 1 when a leading block is singular. */
#ifndef MCK_LEVINSON_H
#define MCK_LEVINSON_H

#include "mck.h"

typedef struct mck_levinson {
    int64_t n, k, ld;
    void *x;
    const void *t, *b;
    void *work;
    int64_t *status;
} mck_levinson;
typedef void (*mck_levinson_fn)(const mck_levinson *a);

#endif
