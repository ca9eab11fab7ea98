/* work.h - cuts one workspace into aligned pieces.
 *
 * The same function lays out the pieces and measures them: with base NULL it only counts. Every
 * piece starts on a 64-byte line, as transforms ask for. Knows nothing of coupling. */
#ifndef PAC_WORK_H
#define PAC_WORK_H

#include "../pac.h"

typedef struct pac_work {
    char *base;
    int64_t used;
} pac_work;

static inline void *pac_take(pac_work *w, int64_t count, size_t size)
{
    const int64_t bytes = (count * (int64_t)size + 63) & ~(int64_t)63;
    void *p = w->base ? w->base + w->used : NULL;
    w->used += bytes;
    return p;
}

#endif
