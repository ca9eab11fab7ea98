/* mck_small.h - arguments of linear algebra on small matrices.
 *
 * up to MCK_SMALL_LANES matrices of n rows and columns (k right-hand sides), n and k at most
 * MCK_SMALL, each contiguous by rows behind its own pointer. bad[l] becomes 1 for a matrix without
 * an answer (singular, not positive definite); its result is then unspecified. Room for
 * MCK_SMALL_LANES entries in every list. A tile is full at 64 bytes of real parts: MCK_SMALL_TILE
 * matrices. */
#ifndef MCK_SMALL_H
#define MCK_SMALL_H

#include "mck.h"

#define MCK_SMALL 8
#define MCK_SMALL_LANES 16
#define MCK_SMALL_TILE(real_bytes) (64 / (real_bytes))
typedef struct mck_small {
    int64_t count, n, k;
    const void *a[MCK_SMALL_LANES], *b[MCK_SMALL_LANES];
    void *out[MCK_SMALL_LANES];
    int64_t *pivot[MCK_SMALL_LANES];
    int32_t *bad;
    int upper;
} mck_small;
typedef void (*mck_small_fn)(const mck_small *a);

#endif
