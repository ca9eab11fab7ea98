/* pairs.h - keys with the positions of their elements, in rows padded to a power of two. */
#ifndef MCD_PAIRS_H
#define MCD_PAIRS_H

typedef struct pair {
    uint64_t key;
    int64_t at;
} pair;

/* The pair of padding at place i of rows of `pad`, which lies behind all others; its row, and its
 * place there. */
MC_INLINE pair pair_behind(const int64_t i, const int64_t pad, int64_t *row, int64_t *e)
{
    pair p;
    *row = i / pad;
    *e = i - *row * pad;
    p.key = ~(uint64_t)0;
    p.at = *e;
    return p;
}

#endif
