/* mc_blocks.h - blocks of an index space, as elementwise drivers walk it. */
#ifndef MC_BLOCKS_H
#define MC_BLOCKS_H

#include "tensor/mc_tensor.h"

/* elements per task; measured: starting a team costs 2-4 us, 64k adds 15 us */
#define MCI_GRAIN 65536

/* Results of at least this size are written past the caches: whoever reads them next would not find
 * them there anyway, and a store that bypasses the cache does not read the line first. Measured on
 * 32 MiB: 2.7 ms with plain stores, 2.0 ms with these. */
#define MCI_STREAM ((int64_t)16 << 20)
/* Copies bytes past the caches, and asks meanwhile for as many bytes at each of the n places
 * `ahead`: what is computed next. */
void mci_stream(void *dst, const void *src, int64_t bytes, int n, const char *const *ahead);

/* A flat index space over `nd` collapsed axes; `inner` is the last of them, at least 1. */
typedef struct mci_space {
    int nd;
    int64_t total, inner;
    int64_t shape[MC_MAX_RANK];
} mci_space;

/* Elements [flat, flat + n) of t (with strides as seen in the space) in dtype `want`: a pointer and
 * the stride for a kernel, 1 or 0. Operands that are neither contiguous in `want` nor one value are
 * gathered into buf. */
const void *mci_block_load(const mci_space *s, const mc_tensor *t, const int64_t *strides, int want,
                           int64_t flat, int64_t n, void *buf, int64_t *stride);
/* Where element `flat` of t lies, in elements from its first. */
int64_t mci_block_offset(const mci_space *s, const int64_t *strides, int64_t flat);
/* The elements to do from `flat` on: at most `block`, and to the end of the row when rows are long.
 * *crosses: rows end inside. */
static inline int64_t mci_block_size(const mci_space *s, int64_t flat, int64_t left, int64_t block,
                                     int *crosses)
{
    int64_t n = left < block ? left : block, row_left = s->inner - flat % s->inner;
    *crosses = n > row_left;
    if (*crosses && s->inner >= 64) {
        *crosses = 0;
        return row_left;
    }
    return n;
}

#endif
