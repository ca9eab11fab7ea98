/* fused.h - what a fused group needs beside its lines (lua/mascon/compile/native/device.lua).
 *
 * In front stand, for the operands of one layout: MCF_BUFFERS, MCF_RANK, MCF_WALKS, MCF_NUMBERS,
 * MCF_GUARDS (each at least 1, guards even) and MCF_AT_k, where element i of leaf k lies: i, 0, or
 * off[w] for a leaf that is walked axis by axis. */
#ifndef MCD_FUSED_H
#define MCD_FUSED_H

#include "value.h"

typedef struct mcf_job {
    int64_t at[MCF_BUFFERS], n, shape[MCF_RANK], stride[MCF_WALKS * MCF_RANK], num[2 * MCF_NUMBERS];
    int32_t guard[MCF_GUARDS];
} mcf_job;

#if defined(MCF_WALKED)
#define MCF_PLACES           \
    int64_t off[MCF_WALKS];  \
    mcf_places(i, &j, off);

MC_INLINE void mcf_places(int64_t i, const mcf_job *j, int64_t *off)
{
    for (int k = 0; k < MCF_WALKS; k++) off[k] = 0;
    if (j->n <= INT32_MAX) {
        uint32_t rest = (uint32_t)i;
        for (int a = MCF_RANK - 1; a >= 0; a--) {
            const uint32_t size = (uint32_t)j->shape[a], q = rest / size, at = rest - q * size;
            for (int k = 0; k < MCF_WALKS; k++)
                off[k] += (int64_t)at * j->stride[k * MCF_RANK + a];
            rest = q;
        }
    } else {
        int64_t rest = i;
        for (int a = MCF_RANK - 1; a >= 0; a--) {
            const int64_t q = rest / j->shape[a], at = rest - q * j->shape[a];
            for (int k = 0; k < MCF_WALKS; k++) off[k] += at * j->stride[k * MCF_RANK + a];
            rest = q;
        }
    }
}
#else
#define MCF_PLACES
#endif

#endif
