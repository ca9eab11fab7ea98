/* random_group.h - elements that own a block: taken in groups of LANES, their first blocks
 * computed side by side.
 *
 * The loop over groups, the reading of parameters, the check of each. A law is a function that
 * fills out[LANES] of a group; what it throws away it draws again from blocks of later attempts
 * (mck_philox_place), so that an element depends on its place alone. */
#ifndef RANDOM_GROUP_H
#define RANDOM_GROUP_H

#include "random_draw.h"

typedef struct group {
    uint64_t key, stream, first; /* first: place of lane 0 */
    int m;                       /* lanes wanted; the others repeat the last one's parameters */
    int same;                    /* all lanes share their parameters */
    double p[MCK_RANDOM_PARAMS][LANES];
} group;

typedef void (*group_law)(const group *g, double *out);
typedef int (*group_check)(double a, double b, double c, double d);

/* w[j][l]: word j of attempt 0 of part `part` of lane l. */
MC_INLINE void group_words(const group *g, unsigned part, uint32_t w[4][LANES])
{
    MCK(philox_lanes)(g->key, g->stream, mck_philox_place(g->first, part, 0), w);
}

/* The words of one lane of a later attempt. */
MC_INLINE void lane_words(const group *g, int lane, unsigned part, unsigned attempt, uint32_t *c)
{
    mck_philox_block(g->key, g->stream, mck_philox_place(g->first + (uint64_t)lane, part, attempt),
                     c);
}

/* a law accepts half of its attempts or more: the last one is reached never */
enum { ATTEMPTS = 256 };

MC_INLINE void each_group(const mck_random *a, group_law law, group_check fine)
{
    double *const out = a->out, draw[LANES];
    const int fixed = mck_random_fixed(a);
    group g = { .key = a->key, .stream = a->stream, .same = fixed };
    for (int64_t i = 0; i < a->n; i += LANES) {
        g.first = (uint64_t)(a->first + i);
        g.m = (int)(a->n - i < LANES ? a->n - i : LANES);
        if (i == 0 || !fixed)
            for (int l = 0; l < LANES; l++) {
                const int64_t at = i + (l < g.m ? l : g.m - 1);
                for (int j = 0; j < MCK_RANDOM_PARAMS; j++) g.p[j][l] = mck_random_param(a, j, at);
                if (!fine(g.p[0][l], g.p[1][l], g.p[2][l], g.p[3][l])) {
                    if (a->status && !*a->status) *a->status = i + l + 1;
                    return;
                }
            }
        law(&g, draw);
        memcpy(out + i, draw, (size_t)g.m * sizeof *out);
    }
}

#define GROUP_LAW(name, law, fine) \
    void MCK(random_##name)(const mck_random *a) \
    { \
        each_group(a, law, fine); \
    }

#endif
