/* mck_pad.h - modes of padding and which element each takes. */
#ifndef MCK_PAD_H
#define MCK_PAD_H

#include "mck.h"

enum {
    MCK_PAD_CONSTANT,
    MCK_PAD_EDGE,
    MCK_PAD_REFLECT,
    MCK_PAD_SYMMETRIC,
    MCK_PAD_WRAP,
    MCK_PAD_EMPTY
};
enum { MCK_PAD_BEFORE = -1, MCK_PAD_AFTER = -2 }; /* none: outside, on this side */

/* Place of the operand for place i of n elements padded by `before`. */
MC_INLINE int64_t mck_pad_source(int mode, int64_t i, int64_t before, int64_t n)
{
    const int64_t k = i - before;
    if (k >= 0 && k < n) return k;
    if (mode == MCK_PAD_EDGE) return k < 0 ? 0 : n - 1;
    if (mode == MCK_PAD_REFLECT) {
        const int64_t period = n > 1 ? 2 * (n - 1) : 1, r = (k % period + period) % period;
        return r < n ? r : period - r;
    }
    if (mode == MCK_PAD_SYMMETRIC) {
        const int64_t r = (k % (2 * n) + 2 * n) % (2 * n);
        return r < n ? r : 2 * n - 1 - r;
    }
    if (mode == MCK_PAD_WRAP) return (k % n + n) % n;
    return k < 0 ? MCK_PAD_BEFORE : MCK_PAD_AFTER;
}

#endif
