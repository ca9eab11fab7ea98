/* mck_segment.h - arguments of the segment family.
 *
 * n contiguous rows of `inner` elements joined to the rows id[i] of out, in order. */
#ifndef MCK_SEGMENT_H
#define MCK_SEGMENT_H

#include "mck.h"

typedef struct mck_segment {
    int64_t n, inner;
    void *out;
    const void *in;
    const int64_t *id;
} mck_segment;
typedef void (*mck_segment_fn)(const mck_segment *a);

#endif
