/* mck_ewise.h - arguments of elementwise kernels.
 *
 * out[i] = f(in0[i], in1[i], in2[i]). Every stride is 1 (contiguous) or 0 (one value for all i).
 * out may be the same pointer as an input of stride 1 and equal element size, never overlap
 * otherwise. p: the op's scalar parameters. status: a kernel that meets a forbidden value (integer
 * division by zero) stores the first bad index + 1 here if it is 0. */
#ifndef MCK_EWISE_H
#define MCK_EWISE_H

#include "mck.h"

typedef struct mck_ewise {
    int64_t n;
    void *out;
    const void *in[4];
    int64_t stride[4];
    const double *p;
    int64_t *status;
} mck_ewise;
typedef void (*mck_ewise_fn)(const mck_ewise *a);

#endif
