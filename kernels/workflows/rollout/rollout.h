/* rollout.h - what stands between two convolutions of an operator, in one pass over memory, and
 * figures of fields, one field in cache at a time.
 *
 * A group is n contiguous elements: one channel, several, or all of a sample. With RO_MOMENTS it is
 * standardised by its own mean and biased variance, with RO_FACTOR multiplied by 1/sqrt(1 + eps),
 * which is what normalisation over the batch does before any training. Then the activation, then
 * the sum with `skip`. Moments are summed in f64 in LANES lanes, so they do not depend on the width
 * of vectors. */
#ifndef ROLLOUT_H
#define ROLLOUT_H

#include "../../mck.h"

enum { RO_NONE = 0, RO_MOMENTS, RO_FACTOR };
enum { RO_LINEAR = 0, RO_RELU, RO_TANH, RO_SILU, RO_GELU, RO_GELU_TANH, RO_ACTIVATIONS };

typedef struct mck_ro_block {
    int64_t n;
    int norm, activation;
    double eps;
    const void *x, *skip; /* skip may be NULL */
    void *y;              /* may be x */
} mck_ro_block;

/* Fields x[field][row][column] of g x g places, the places of each sorted beside them; columns of
 * figures in the order of RO_STATE: 24 spatial, 15 norms, mean, energy, variance. */
enum { RO_SPATIAL = 24, RO_NORMS = 15, RO_STATE = RO_SPATIAL + RO_NORMS + 3 };

typedef struct mck_ro_state {
    int64_t g;
    const void *x, *sorted;
    void *y; /* [field][RO_STATE] */
} mck_ro_state;

/* Power p[field][bins] on the half plane of a g x g grid, sorted upwards beside it, and per bin its
 * frequencies in cycles per place, its band (RO_BANDS for none) and its ratio: 0 low, 1 mid, 2
 * high. */
enum { RO_BANDS = 5, RO_POWER = 27 };

typedef struct mck_ro_power {
    int64_t g, bins;
    const void *p, *sorted;
    const double *kx, *ky;       /* [bins] */
    const uint8_t *band, *ratio; /* [bins] */
    int64_t members[RO_BANDS];   /* bins of a band, 1 at least */
    void *y;                     /* [field][RO_POWER] */
} mck_ro_power;

/* States x[state][channel][n places]: correlations [channel][channel] by unbiased spreads, then the
 * mutual information of each pair of channels in RO_LEVELS bins. */
enum { RO_LEVELS = 16 };
#define RO_CROSS(c) ((c) * (c) + (c) * ((c)-1) / 2)

typedef struct mck_ro_cross {
    int64_t channels, n;
    const void *x;
    void *y; /* [state][RO_CROSS(channels)] */
} mck_ro_cross;

/* Fields x and the next ones [field][row][column] of g x g places: size and anisotropy of the flow
 * from one to the other. */
typedef struct mck_ro_flow {
    int64_t g;
    const void *x, *next;
    void *y; /* [field][2] */
} mck_ro_flow;

typedef struct mck_rollout_ops {
    /* for f32, f64: groups, fields begin .. end - 1 */
    void (*block[2])(const void *args, int64_t begin, int64_t end, void *work);
    void (*state[2])(const void *args, int64_t begin, int64_t end, void *work);
    void (*power[2])(const void *args, int64_t begin, int64_t end, void *work);
    void (*cross[2])(const void *args, int64_t begin, int64_t end, void *work);
    void (*flow[2])(const void *args, int64_t begin, int64_t end, void *work);
    int64_t (*state_work)(int64_t g); /* bytes */
    int64_t (*cross_work)(int64_t channels, int64_t n);
} mck_rollout_ops;

extern const mck_rollout_ops mck_rollout_v2, mck_rollout_v3, mck_rollout_v4;

#endif
