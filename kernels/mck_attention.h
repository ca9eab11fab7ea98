/* mck_attention.h - arguments of attention and of its derivatives.
 *
 * n queries q[n][d], m keys k[m][d] and values v[m][e] of one head, rows apart by *_row. Query i
 * sees the keys j < seen + step i; with a window (and step 1) the last `window` of these.
 * attention: up to MCK_ATTENTION_QUERIES queries; y[n][e], and level[n], the logarithm of the sum
 * of exp(fit). attention_back, for gradients g[n][e] of y and g_level[n] of level: dq[n][d],
 * dk[m][d], dv[m][e], contiguous. work: room for mck_attention_room() elements, aligned to 64
 * bytes. */
#ifndef MCK_ATTENTION_H
#define MCK_ATTENTION_H

#include "mck.h"

/* Queries and keys of a block: 32 x 64 weights of f32 take a sixth of the first cache. */
enum { MCK_ATTENTION_QUERIES = 32, MCK_ATTENTION_KEYS = 64 };

typedef struct mck_attention {
    int64_t n, m, d, e, seen, step, window, q_row, k_row, v_row, g_row, y_row;
    double scale;
    const void *q, *k, *v, *g, *g_level;
    void *y, *level; /* of attention_back: what attention gave */
    void *dq, *dk, *dv, *work;
} mck_attention;
typedef void (*mck_attention_fn)(const mck_attention *a);

/* A width in whole vectors of any level. */
MC_INLINE int64_t mck_attention_wide(int64_t d)
{
    return (d + 15) & ~(int64_t)15;
}

MC_INLINE int64_t mck_attention_room(int64_t m, int64_t d, int64_t e, int back)
{
    const int64_t block = MCK_ATTENTION_QUERIES,
                  wide = mck_attention_wide(d) + mck_attention_wide(e);
    return back ? (2 * (d + e) + 4 + 2 * MCK_ATTENTION_KEYS) * block + (block + m) * wide
                : (d + 3 + MCK_ATTENTION_KEYS) * block +
                      (block + MCK_ATTENTION_KEYS) * mck_attention_wide(e);
}

#endif
