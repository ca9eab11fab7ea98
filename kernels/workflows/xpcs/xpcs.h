/* xpcs.h - the pass over two-time correlation data: its arguments and tables. The order of the
 * data and of the sums stands in device/places.h.
 *
 * One pass gives cost, gradient and normal matrix of the model C2 = offset + contrast g1^2 for all
 * pairs i < j of times and all angles; no residual and no derivative is ever stored. Letters: n
 * times, F angles, P 7 physical parameters (D0, alpha, D_offset, g0, beta, g_offset, phi0), T edge
 * of a tile, G columns of a group. */
#ifndef XPCS_H
#define XPCS_H

#include "../../mck.h"
#include "device/places.h"

/* Tables of one set of parameters: what depends on one time or one angle. Filled by xpcs_prepare;
 * memory is the caller's. */
typedef struct mck_xpcs_tables {
    /* [8][n]: integrals of D and of D's derivatives in D0, alpha, D_offset; the same four of G */
    double *prefix;
    /* [n / G up][F][G] sin(k (B_j - B at the start of j's tile row)), then the cosines */
    double *sine;
    double *angle;   /* [XPCS_ANGLE][F], of device/places.h */
} mck_xpcs_tables;

typedef struct mck_xpcs_model {
    int64_t n, F;
    int laminar, scaling;
    const double *time;     /* [n], s */
    const double *phi;      /* [F], degrees */
    const double *sigma;    /* [F] */
    const double *contrast; /* [F], equal ones when common */
    const double *offset;   /* [F] */
    double physics[XPCS_P];
    double kd, ks; /* q^2 dt / 2, q L dt / 2 pi */
} mck_xpcs_model;

/* A tile, and where its values begin. */
typedef struct mck_xpcs_tile {
    int64_t I, J, place;
} mck_xpcs_tile;

typedef struct mck_xpcs_pass {
    const mck_xpcs_model *model;
    mck_xpcs_tables tables;
    const void *y;
    const void *weight;  /* [like y] factor of 1 / sigma per point, or NULL */
    int single;          /* y and weight are f32 */
    const uint8_t *holes; /* [tiles given] whether a tile holds masked pairs */
    const mck_xpcs_tile *tiles;
    int loss, part;
    double f_scale;
    double *out;         /* [tiles given][sums] */
} mck_xpcs_pass;

/* Sums of a pass. */
MC_INLINE int64_t xpcs_sums(int scaling, int64_t F)
{
    return XPCS_SCALING +
           XPCS_SECTION * (scaling == XPCS_FIXED ? 0 : scaling == XPCS_COMMON ? 1 : F);
}
/* tiles along one side */
MC_INLINE int64_t xpcs_edge(int64_t n) { return (n + XPCS_T - 1) / XPCS_T; }
MC_INLINE int64_t xpcs_rows(int64_t n, int64_t I)
{
    return n - I * XPCS_T < XPCS_T ? n - I * XPCS_T : XPCS_T;
}
MC_INLINE int64_t xpcs_groups(int64_t n, int64_t J)
{
    return (xpcs_rows(n, J) + XPCS_G - 1) / XPCS_G;
}
/* Values in tile (I, J). */
MC_INLINE int64_t xpcs_values(int64_t n, int64_t F, int64_t I, int64_t J)
{
    return xpcs_rows(n, I) * xpcs_groups(n, J) * F * XPCS_G;
}

typedef struct mck_xpcs_ops {
    void (*prepare)(const mck_xpcs_model *m, const mck_xpcs_tables *t);
    void (*pass)(const mck_xpcs_pass *a, int64_t begin, int64_t end, void *work);
    int64_t (*pass_work)(const mck_xpcs_pass *a);
} mck_xpcs_ops;

extern const mck_xpcs_ops mck_xpcs_v2, mck_xpcs_v3, mck_xpcs_v4;

#endif
