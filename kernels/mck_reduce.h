/* mck_reduce.h - arguments of reductions and scans.
 *
 * m rows of n elements -> m results. Row i starts at in + i*row_stride (elements) and is walked
 * with elem_stride; inner: when elem_stride != 1 and row_stride == 1 the kernel reduces column-wise
 * (m is contiguous). base: index base for arg-reductions. p: parameters (correction of var, ...).
 * Partial form: the runtime splits a long row at fixed multiples of MCK_REDUCE_CHUNK and folds
 * partials in a fixed tree. */
#ifndef MCK_REDUCE_H
#define MCK_REDUCE_H

#include "mck.h"

#define MCK_REDUCE_CHUNK 16384
typedef struct mck_reduce {
    int64_t m, n;
    void *out;
    const void *in;
    int64_t row_stride, elem_stride;
    int64_t base;
    const double *p;
    int64_t *status;
} mck_reduce;
typedef void (*mck_reduce_fn)(const mck_reduce *a);

#endif
