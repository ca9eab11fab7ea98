/* autoreject.h - entry points of the kernels for epochs of many channels: ranges, weighted sums of
 * channels, medians over epochs, losses of growing means.
 *
 * The argument structs and the table of one ISA level. Everything is computed in f64, also for
 * samples stored as f32; a sample is worked on in lanes of its own, so results do not depend on
 * how time is cut into blocks, as long as blocks begin at multiples of MCK_AR_TILE samples. A task
 * is what one call handles alone; calls on other tasks may run at the same time. Letters: E
 * epochs, C channels picked, T samples of the block, N rows (epochs, or 2E with the interpolated
 * ones), K folds, M rows of the largest training set. */
#ifndef MCK_AUTOREJECT_H
#define MCK_AUTOREJECT_H

#include "mck.h"

#define MCK_AR_TILE 64 /* samples that are summed together */

/* Samples x[e][pick c][t]: e_stride and c_stride apart in elements, t contiguous. */
typedef struct mck_ar_samples {
    const void *x;
    int single; /* f32 */
    int64_t E, C, T, e_stride, c_stride;
    const int64_t *pick; /* [C], 0-based */
} mck_ar_samples;

/* range: max - min over t; NaN where a sample is not finite. Task = epoch. */
typedef struct mck_ar_range {
    double *out; /* [E][C] */
    mck_ar_samples x;
} mck_ar_range;

/* mix: weighted sums of the channels of an epoch. Row r of epoch e, first[e] <= r < first[e+1], is
 * sum_j w[r][j] x[e][j]; with shared the rows of w serve every epoch. Each sum runs over j in order
 * with fused multiply-adds, whatever the cut. out: [r][T], or [rows][E][T] with shared; range: max
 * - min instead ([E][rows], shared; or [r]); either may be NULL. Task = epoch. */
typedef struct mck_ar_mix {
    double *out, *range;
    mck_ar_samples x;
    int64_t rows;
    const double *w;      /* [rows][C] */
    const int64_t *first; /* [E+1], NULL: shared */
} mck_ar_mix;

/* sums: for each channel and fold, over growing means of the training rows in the order given (the
 * median of the middle rows minus the mean of the first k training rows) squared, summed over t and
 * added to sum[c][f][k-1]. Lists of rows: fold f has at[f] .. at[f+1]-1. Rows from E on are those
 * of `more`. Task = channel. */
typedef struct mck_ar_sums {
    double *sum; /* [C][K][M] */
    mck_ar_samples x;
    const double *more;   /* [C][E][T] or NULL */
    int64_t N, K, M;
    const int64_t *order; /* [C][N]: rows by rank; one list for all channels with order_stride 0 */
    int64_t order_stride;
    const int64_t *train_at, *train, *middle_at, *middle;
    const uint16_t *network; /* pairs of network() for each length that occurs, see network_at */
    const int64_t *network_at; /* [K+1]: of the middle rows of fold f, 2 pairs[f] .. */
} mck_ar_sums;

/* losses: sqrt(sum of the largest reachable k / points) at thresholds `at`, per fold. The rows kept
 * at tau are the training rows with value <= tau; when there are none: those of the smallest value
 * (fallback), else +inf. Task = channel. */
typedef struct mck_ar_losses {
    double *out; /* [C][K][Q] */
    const double *sum, *value, *at; /* [C][K][M], [C][N] by row, [C][Q] ascending */
    int64_t N, K, M, Q, points;
    const int64_t *order, *train_at, *train;
    int fallback;
} mck_ar_losses;

/* levels: for each channel, set of repaired cells, fold and level: (median of the middle rows -
 * mean of the training rows of at most this level) squared, summed over t and added to
 * sum[c][r][f][l], but where the level trains the rows of the one below. Rows in groups that share
 * the folds they train: fold f trains the groups in_fold[f][g]. level[r][e]: 0 .. L-1, or L for
 * never. cell[r][e][c]: row of `repaired` that takes the place of the sample row, -1 for none. Task
 * = channel. */
typedef struct mck_ar_levels {
    double *sum; /* [C][R][K][L] */
    mck_ar_samples x;
    const double *repaired; /* [cells][T] */
    int64_t R, K, L, G;
    const int64_t *cell, *level, *group; /* [R][E][C], [R][E], [E] */
    const uint8_t *in_fold;              /* [K][G] */
    /* [K]: the only group that a fold does not train, or NULL when a fold leaves out more */
    const int64_t *without;
    const int64_t *count;                /* [R][K][L]: training rows of at most this level */
    const int64_t *middle_at, *middle;
    const uint16_t *network;
    const int64_t *network_at;
} mck_ar_levels;

/* predict: correlation of each channel with the median of its predictions from S subsets of n
 * channels: sum x y / (|x| |y|), no mean removed. subset[s][n] counts within the picks; w[s][C][n].
 * Task = epoch. */
typedef struct mck_ar_predict {
    double *out; /* [E][C] */
    mck_ar_samples x;
    int64_t S, n;
    const int64_t *subset;
    const double *w;
    const uint16_t *network;
    int64_t network_pairs;
} mck_ar_predict;

/* weights: rows out[first[s] .. first[s+1])[C] that give the bad channels of set s from the others,
 * zero at the bad ones; inverse[C][C] of a system that is positive definite. Task = set. */
typedef struct mck_ar_weights {
    double *out;
    const double *inverse;
    const int64_t *bad, *first; /* places, 0-based; [S+1] */
    int64_t S, C;
} mck_ar_weights;

/* All entry points of one level. *_work: bytes one worker needs. */
typedef struct mck_autoreject_ops {
    void (*range)(const mck_ar_range *a, int64_t begin, int64_t end, void *work); /* no work */
    void (*mix)(const mck_ar_mix *a, int64_t begin, int64_t end, void *work);
    int64_t (*mix_work)(const mck_ar_mix *a);
    void (*sums)(const mck_ar_sums *a, int64_t begin, int64_t end, void *work);
    int64_t (*sums_work)(const mck_ar_sums *a);
    void (*losses)(const mck_ar_losses *a, int64_t begin, int64_t end, void *work);
    int64_t (*losses_work)(const mck_ar_losses *a);
    void (*levels)(const mck_ar_levels *a, int64_t begin, int64_t end, void *work);
    int64_t (*levels_work)(const mck_ar_levels *a);
    void (*predict)(const mck_ar_predict *a, int64_t begin, int64_t end, void *work);
    int64_t (*predict_work)(const mck_ar_predict *a);
    void (*weights)(const mck_ar_weights *a, int64_t begin, int64_t end, void *work);
    int64_t (*weights_work)(const mck_ar_weights *a);
    /* Comparators of a network that brings the middle elements of n to their places, as pairs of
     * positions. Returns their number; pairs may be NULL. 0 where there is nothing to merge, or for
     * an n that is too long: a selection row by row then serves. */
    int64_t (*network)(int64_t n, uint16_t *pairs);
} mck_autoreject_ops;

extern const mck_autoreject_ops mck_autoreject_v2, mck_autoreject_v3, mck_autoreject_v4;

#endif
