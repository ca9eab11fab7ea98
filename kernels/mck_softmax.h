/* mck_softmax.h - arguments of the softmax family.
 *
 * m rows of n, exp(x - max) / sum or, with log, x - max - log(sum). Row form: both elem strides 1.
 * Column form: both row strides 1, m <= MCK_REDUCE_COLUMNS. given: max and sum of each row
 * (mck_partial.h), found here when NULL. out may be in. */
#ifndef MCK_SOFTMAX_H
#define MCK_SOFTMAX_H

#include "mck.h"

typedef struct mck_softmax {
    int64_t m, n;
    void *out;
    const void *in;
    int64_t in_row, in_elem, out_row, out_elem;
    int log;
    const struct mck_lse *given;
} mck_softmax;
typedef void (*mck_softmax_fn)(const mck_softmax *a);

#endif
