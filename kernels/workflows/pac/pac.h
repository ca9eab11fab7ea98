/* pac.h - phase-amplitude coupling: argument structs and entry points of the native path.
 *
 * Stages, each usable alone:
 *   analytic    row -> analytic signal of all bands: phase bins, phases, tiled amplitudes
 *   bins        coupling by phase bins (MI, HR), with drawn circular shifts
 *   exhaustive  the same with all circular shifts, by FFT correlation
 *   moments     coupling by sums of a e^{i phi} and kin (MVL, OZK, NDPAC, GLM, PLV, GC)
 *   row         analytic and one of the others chained for one row: what is between stays in cache
 *
 * Every stage is `void fn(const struct *a, int64_t begin, int64_t end, void *work)`. It does tasks
 * [begin, end); a task is one row (analytic, row) or one job (the rest). Tasks share nothing but
 * the read-only struct. `work` belongs to the calling worker and has *_work(a) bytes, 64-byte
 * aligned. A result depends on its own task only, so it is the same for any split into calls. All
 * checks (ranges, sizes, alignment) are the caller's; a kernel cannot fail.
 *
 * Letters: P phase bands, A amplitude bands, T samples of a row, L samples kept (windows),
 * N transform length, B phase bins, K shifts, G segments of a job, W lanes of a tile.
 * "T" before an array's shape is its element type, float or double.
 * Amplitudes are tiled: [tile][L][W], W = 16 for f32 and 8 for f64 (one cache line a sample),
 * tiles = ceil(A/W). Band b is in tile b/W, lane b%W; surplus lanes hold 0. */
#ifndef MCK_PAC_H
#define MCK_PAC_H

#include "mck.h"

#define MCK_PAC_LANES_F32 16
#define MCK_PAC_LANES_F64 8

/* Status bits. EMPTY..SPREAD per (job, P, A); BAD also per row from analytic. (16, "order cut
 * short", is the caller's.) */
#define MCK_PAC_EMPTY 1  /* a phase bin has no sample */
#define MCK_PAC_ZERO 2   /* the amplitude sums to zero: value 0 */
#define MCK_PAC_BAD 4    /* non-finite input: value NaN */
#define MCK_PAC_SPREAD 8 /* all surrogates are equal */

/* One transform, out of place, unnormalised, plan for exactly one row: mc_fft_api.execute fits. */
typedef void (*mck_pac_fft)(void *plan, const void *in, void *out);

/* analytic: x[rows][T] -> for each band b z_b = IFFT_N(FFT_N(ext(x)) table_b), cropped.
 *
 * ext: optional demean, `pad` samples of odd reflection (or zeros) at both ends, zeros up to N.
 * N >= T + 2*pad, pad < T.
 * Bands 0..P-1 are phase bands (idx, unit, angle), P..P+A-1 amplitude bands (amp); z takes all.
 * NULL outputs are skipped.
 * table_b[k], k in [lo[b], hi[b]) within 0..N/2, is |H_b(k)|^2 g(k) / N, g = 1 at DC and Nyquist,
 * 2 between: real, or with complex_table any complex filter. Its first value is number at[b] of
 * `table`. Values below 1e-7 of the largest may be cut: |dMI| < 1e-9 measured.
 * window: n_window pairs [t0, t1) of samples kept, in order (n_window = 0: all); L is their total.
 * A row that holds a NaN or an Inf gives idx = 0, NaN elsewhere, and status |= BAD (the caller
 * clears status first). With demean a constant row gives amplitude 0 and angle 0. */
typedef struct mck_pac_analytic {
    uint8_t *idx;    /* [rows][P][L]: phase bin, see mck_pac edges */
    void *unit;      /* T [rows][P][2][L]: cos phi, sin phi (1, 0 where z = 0) */
    void *angle;     /* T [rows][P][L]: phi in (-pi, pi] */
    void *amp;       /* T [rows][tiles][L][W] */
    void *z;         /* complex T [rows][P+A][L] */
    int32_t *status; /* [rows], or-ed into */
    const void *x;   /* T, row r at x + r*x_stride */
    int64_t x_stride;
    int64_t P, A, samples, L, N, pad; /* samples: T */
    const int64_t *window;
    int64_t n_window;
    const int64_t *lo, *hi, *at; /* [P+A] */
    const void *table;
    const void *edges; /* T [2*bins]: edges(); needed for idx */
    int64_t bins;
    int demean, zero_ext, complex_table;
    mck_pac_fft fft;
    void *forward, *inverse;
} mck_pac_analytic;

/* Which value is made of bin sums S_j and counts n_j.
 * Norm: MEAN a_j = S_j/n_j (0 for an empty bin), SUM a_j = S_j, GIVEN a_j = S_j/divisor[j] (0 where
 * the divisor is 0). p_j = a_j / sum a.
 * Measure: MI 1 + sum p ln p / ln B; HR (max p - min p) / max p. */
enum { MCK_PAC_MEAN = 0, MCK_PAC_SUM = 1, MCK_PAC_GIVEN = 2 };
enum { MCK_PAC_MI = 0, MCK_PAC_HR = 1 };

/* What a surrogate loop returns, for drawn and for all shifts. NULL outputs are skipped.
 *
 * Shift c couples phase[t] with amplitude[(t+c) mod L]; one shift serves all (P,A) of a job and all
 * its segments.
 * mean, m2: running mean and sum of squared deviations (Welford, f64); sd = sqrt(m2/K).
 * exceed: count of s >= value. Where the value is not finite, mean and m2 are NaN and exceed = K,
 * the careful side.
 * max[k]: the largest finite surrogate over (P,A) at shift k, for maxstat (-inf if there is none).
 * zmax[k]: the largest (s - m)/sd over (P,A) at shift k, -inf if no pair varies. The value at shift
 * 0 and the surrogates form a circle; m and sd of each of them are those of all that lie at least
 * `near` from it, so that value and surrogates are exchangeable and a peak does not widen its own
 * scale. zvalue is the value on that scale, with the bits of a surrogate that equals it. All shifts
 * come in one call (prior = 0).
 * near: surrogates at shifts below near, or above L - near, keep some of the coupling. They count
 * in exceed and max (without them the observation is no member of its group, and p too small), not
 * in mean and m2. zmax leaves them -inf; znear holds them pair by pair, in the order of their
 * shifts, so that a strong pair need not stand in the way of a weaker one. near_count: how many
 * there are. prior: how many surrogates mean, m2 and exceed already hold (0: start afresh), so that
 * shifts may come in several calls. */
typedef struct mck_pac_null {
    double *mean, *m2; /* [jobs][P][A] */
    int64_t *exceed;   /* [jobs][P][A] */
    void *max, *zmax;  /* T [jobs][K] */
    void *zvalue;      /* T [jobs][P][A] */
    void *znear;       /* T [jobs][near_count][P][A] */
    int64_t near, near_count;
    void *all;         /* T [jobs][K][P][A] */
    int64_t K, prior;
    const int64_t *shift; /* [K] in [0, L), any order */
    int64_t first;        /* where shift is NULL (exhaustive, moments): first .. first+K-1 < L */
} mck_pac_null;

/* bins / exhaustive: phase bins and tiled amplitudes -> bin sums, value, shape, surrogates.
 *
 * Job i takes G segments, number s = i*G+g: idx starts at idx + idx_at[s], its bands lie idx_band
 * apart (>= L); the amplitude starts at amp + amp_at[s], its tiles lie amp_tile apart (>= L*W).
 * NULL arrays mean s*P*idx_band and s*tiles*amp_tile. So windows of a long row, channel pairs and
 * epochs are only offsets. Sums and counts of the segments are added before the value is made
 * (G = 1: one row, one map).
 * The value does not depend on K; f32 sums fold in blocks, their error does not grow with L*G.
 * K = 0: no surrogates.
 * epsilon > 0 selects the clamped form p = max(S/(sum S + epsilon), epsilon).
 * exhaustive serves hard bins only; with a shift list it picks from all shifts. It beats `bins`
 * from about 800 shifts on (L = 2048, 16 x 16 bands, Zen 3). */
typedef struct mck_pac_bins {
    void *value;   /* T [jobs][P][A] */
    double *sums;  /* [jobs][P][B][A] */
    double *count; /* [jobs][P][B] (sums of weights for soft bins) */
    void *dist;    /* T [jobs][P][A][B]: p_j */
    int32_t *best; /* [jobs][P][A]: argmax p_j, 0-based bin; -1 for a zero or bad amplitude */
    void *pref;    /* T [jobs][P][A]: arg(sum p_j e^{i c_j}), c_j the bin centres; else NaN */
    int32_t *status; /* [jobs][P][A], written: EMPTY, ZERO, BAD, SPREAD */
    mck_pac_null null;
    const uint8_t *idx;
    const void *amp;
    const int64_t *idx_at, *amp_at;
    int64_t idx_band, amp_tile;
    int64_t P, A, L, G, bins;
    int norm, measure;
    const double *divisor; /* [B] for GIVEN */
    double epsilon;
    /* soft binning, tau > 0: `angle` replaces idx (same offsets and strides, T elements).
     * w_j = softmax_j(-|d_j|/tau), d_j = angle - c_j wrapped to [-pi, pi); asymmetric: with a
     * truncating fmod(d + pi, 2 pi) - pi. */
    const void *angle;
    double tau;
    int asymmetric;
    /* exhaustive only: N = L (circular) or any N >= 2L-1, and its plans */
    int64_t N;
    mck_pac_fft fft;
    void *forward, *inverse; /* r2c and c2c backward, both of length N */
} mck_pac_bins;

/* measure: sums [m][B][A] and counts [m][B] -> value, dist, best, pref, status as in bins (fields
 * shared; jobs*P = m rows). For pooling over rows, epochs or files done by the caller: it takes
 * a->sums and a->count as input. */

/* Moment measures, from M = sum_t a(t) (u1(t) + i u2(t)) and the sums of a, a^2 and u.
 *   MVL    |M| / L
 *   OZK    |M| / (sqrt(L) |a|)
 *   NDPAC  |M'| / L with a standardised (ddof 1); 0 where |M'|^2 <= threshold, which is
 *          2 L erfinv(1-p)^2 for level p (negative: no threshold)
 *   GLM    R^2 of regressing a on [1, u1, u2]
 *   PLV    |sum (u1 + i u2)(v1 - i v2)| / L, amp = v1 and amp2 = v2 from theta()
 *   GC     bits of a Gaussian copula; unit and amp are normal scores from ranks(). Uncorrected,
 *          C = X X^T/(L-1)
 * An amplitude without power (GLM, NDPAC: without variation) gives 0 and status ZERO. Surrogates
 * always come from the FFT correlation, one transform a pair, which a few shifts already repay. */
enum { MCK_PAC_MVL = 0, MCK_PAC_OZK, MCK_PAC_NDPAC, MCK_PAC_GLM, MCK_PAC_PLV, MCK_PAC_GC };

typedef struct mck_pac_moments {
    void *value;     /* T [jobs][P][A] */
    double *moment;  /* [jobs][P][2][A]: sum a u1, sum a u2 (PLV: re, im of the sum) */
    int32_t *status; /* [jobs][P][A], written: ZERO, BAD, SPREAD */
    mck_pac_null null;
    const void *unit; /* T, job i at unit + unit_at[i]: [P][2] rows unit_band apart */
    const void *amp, *amp2;
    const int64_t *unit_at, *amp_at; /* [jobs]; NULL: i*P*2*unit_band, i*tiles*amp_tile */
    int64_t unit_band, amp_tile;
    int64_t P, A, L;
    int measure;
    double threshold;
    /* needed when K > 0: the correlation at all shifts, as in exhaustive */
    int64_t N;
    mck_pac_fft fft;
    void *forward, *inverse;
} mck_pac_moments;

/* row: task r is analytic row r, then job r of `bins` (bins or exhaustive) or of `moments` (not PLV
 * and GC, which need theta and ranks between). Phase bins, unit vectors and amplitudes stay in the
 * workspace, unless pha or amp also name buffers for them. amp: the amplitude side when it has its
 * own signal, pad or N (then A = 0 in pha and P = 0 in amp); NULL when pha does both. bins and
 * moments need no idx, unit, amp, offsets or strides; G = 1. */
typedef struct mck_pac_row {
    const mck_pac_analytic *pha, *amp;
    const mck_pac_bins *bins;
    const mck_pac_moments *moments;
    int exhaustive;
} mck_pac_row;

/* theta: tiled amplitudes -> cos and sin of the phase of the analytic signal of a - mean a, tiled
 * alike. Task i is tile i % tiles of job i / tiles. N >= L, zeros appended. */
typedef struct mck_pac_theta {
    void *cosine, *sine; /* T [tasks][L][W] */
    const void *amp;     /* T [tasks][L][W], amp_tile elements apart */
    int64_t amp_tile, A, L, N;
    mck_pac_fft fft;
    void *forward, *inverse; /* r2c and c2c backward, both of length N */
} mck_pac_theta;

/* ranks: each row (or tile lane) -> score[rank - 1], ranks 1..L, ties in order of position; NaN
 * anywhere in a row: all NaN. Task = one row of `in` with element stride `step` (1, or W inside a
 * tile), row i at in_at[i] (NULL: i*L); out likewise. */
typedef struct mck_pac_ranks {
    void *out;
    const void *in;
    const int64_t *in_at, *out_at;
    int64_t L, step;
    const void *score; /* T [L]: scores() */
} mck_pac_ranks;

/* tile: rows a[A][L] (row stride in elements) -> tiles [tiles][L][W], for amplitudes that come from
 * elsewhere. Task = one job. */
typedef struct mck_pac_tile {
    void *out;
    const void *in;
    int64_t A, L, row, job; /* row: between bands, job: between jobs */
} mck_pac_tile;

/* index: angle -> bin = min(B-1, floor((phi+pi) B/2pi)); task = one row of L. Angles must lie
 * within [-pi, pi]; NaN gives 0. */
typedef struct mck_pac_index {
    uint8_t *idx;
    const void *angle;
    int64_t L, bins;
} mck_pac_index;

/* All entry points of one dtype. */
typedef struct mck_pac_ops {
    void (*analytic)(const mck_pac_analytic *a, int64_t begin, int64_t end, void *work);
    int64_t (*analytic_work)(const mck_pac_analytic *a);
    void (*bins)(const mck_pac_bins *a, int64_t begin, int64_t end, void *work);
    int64_t (*bins_work)(const mck_pac_bins *a);
    void (*exhaustive)(const mck_pac_bins *a, int64_t begin, int64_t end, void *work);
    int64_t (*exhaustive_work)(const mck_pac_bins *a);
    void (*measure)(const mck_pac_bins *a, int64_t begin, int64_t end, void *work);
    int64_t (*measure_work)(const mck_pac_bins *a);
    void (*moments)(const mck_pac_moments *a, int64_t begin, int64_t end, void *work);
    int64_t (*moments_work)(const mck_pac_moments *a);
    void (*row)(const mck_pac_row *a, int64_t begin, int64_t end, void *work);
    int64_t (*row_work)(const mck_pac_row *a);
    void (*theta)(const mck_pac_theta *a, int64_t begin, int64_t end, void *work);
    int64_t (*theta_work)(const mck_pac_theta *a);
    void (*ranks)(const mck_pac_ranks *a, int64_t begin, int64_t end, void *work);
    int64_t (*ranks_work)(const mck_pac_ranks *a);
    void (*tile)(const mck_pac_tile *a, int64_t begin, int64_t end, void *work); /* no work */
    void (*index)(const mck_pac_index *a, int64_t begin, int64_t end, void *work);
    /* Plan-time tables, single call. edges: T [2*bins]; scores: T [L], Phi^-1(k/(L+1)). */
    void (*edges)(void *out, int64_t bins);
    void (*scores)(void *out, int64_t L);
} mck_pac_ops;

extern const mck_pac_ops mck_pac_f32_v2, mck_pac_f32_v3, mck_pac_f32_v4;
extern const mck_pac_ops mck_pac_f64_v2, mck_pac_f64_v3, mck_pac_f64_v4;

#endif
