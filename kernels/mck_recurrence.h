/* mck_recurrence.h - arguments of linear recurrences.
 *
 * m contiguous rows of n of out, a and b: y[i] = a[i] y[i - 1] + b[i]. */
#ifndef MCK_RECURRENCE_H
#define MCK_RECURRENCE_H

#include "mck.h"

typedef struct mck_recurrence {
    int64_t m, n;
    void *out;
    const void *a, *b;
} mck_recurrence;
typedef void (*mck_recurrence_fn)(const mck_recurrence *a);

#endif
