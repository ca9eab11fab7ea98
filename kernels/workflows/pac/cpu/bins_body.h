/* bins_body.h - body of bins.c, once per dtype. Letters as in pac.h. */
#include "measure.h"
#include "null.h"

/* Shifts at once: their accumulators and nothing else fill the registers. */
#undef PAC_GROUP
#define PAC_GROUP (NV > 2 ? 2 : NV == 2 ? 4 : 8)

typedef struct SN(bins_work) {
    T *ext; /* [G][L + BLOCK][LEVELS][W]: wrapped amplitudes of one tile; only with surrogates or
               soft bins */
    uint16_t *entry;            /* [blocks][P][BLOCK]: row * LEVELS + level, sorted by bin */
    uint16_t *start;            /* [blocks][P][B + 1] */
    T *soft;                    /* [G*L][B]: weights of one phase band */
    double *count;              /* [P][B] */
    T *scale;                   /* [P][B] */
    T *sums;                    /* [GROUP][P][B][W] */
    double *fold;               /* the same, only when sums are folded */
    T *value, *total;           /* [P][W], observed */
    T *draw;                    /* [P][W] */
    double *mean, *m2, *exceed; /* [P][W] */
    double *centre;             /* [2][B] */
    int64_t *order;             /* [K] */
    int64_t *around;            /* [2][K + 1]: surroundings of the points, only for zmax */
    T *top, *ztop;              /* [K] */
    T *kept;                    /* [P][K][W]: surrogates of one tile by shift, only for zmax */
    double *run;                /* [2][K + 2][W], only for zmax */
    int64_t blocks;             /* of one segment */
    int64_t bytes;
} SN(bins_work);

static SN(bins_work) SN(bins_layout)(const mck_pac_bins *a, void *base)
{
    SN(bins_work) w;
    pac_work p = { base, 0 };
    const int64_t blocks = (a->L + PAC_BLOCK - 1) / PAC_BLOCK, all = blocks * a->G, k = a->null.K;
    const int64_t cells = a->P * a->bins * W;
    const int soft = a->tau > 0, listed = !soft && k > 0;
    w.blocks = blocks;
    w.ext =
        pac_take(&p, soft || listed ? a->G * (a->L + PAC_BLOCK) * PAC_LEVELS * W : 0, sizeof(T));
    w.entry = pac_take(&p, listed ? all * a->P * PAC_BLOCK : 0, sizeof(uint16_t));
    w.start = pac_take(&p, listed ? all * a->P * (a->bins + 1) : 0, sizeof(uint16_t));
    w.soft = pac_take(&p, soft ? a->G * a->L * a->bins : 0, sizeof(T));
    w.count = pac_take(&p, a->P * a->bins, sizeof(double));
    w.scale = pac_take(&p, a->P * a->bins, sizeof(T));
    w.sums = pac_take(&p, PAC_GROUP * cells, sizeof(T));
    w.fold = pac_take(&p, all > PAC_FOLD || soft ? PAC_GROUP * cells : 0, sizeof(double));
    w.value = pac_take(&p, a->P * W, sizeof(T));
    w.total = pac_take(&p, a->P * W, sizeof(T));
    w.draw = pac_take(&p, a->P * W, sizeof(T));
    w.mean = pac_take(&p, a->P * W, sizeof(double));
    w.m2 = pac_take(&p, a->P * W, sizeof(double));
    w.exceed = pac_take(&p, a->P * W, sizeof(double));
    w.centre = pac_take(&p, 2 * a->bins, sizeof(double));
    w.order = pac_take(&p, k, sizeof(int64_t));
    w.around = pac_take(&p, a->null.zmax ? 2 * (k + 1) : 0, sizeof(int64_t));
    w.top = pac_take(&p, k, sizeof(T));
    w.ztop = pac_take(&p, k, sizeof(T));
    w.kept = pac_take(&p, a->null.zmax ? k * a->P * W : 0, sizeof(T));
    w.run = pac_take(&p, a->null.zmax ? 2 * (k + 2) * W : 0, sizeof(double));
    w.bytes = p.used;
    return w;
}

int64_t FN(bins_work)(const mck_pac_bins *a) { return SN(bins_layout)(a, NULL).bytes; }

/* One block of n indices -> entries sorted by bin, starts[B+1]; adds to count[B]. Runs are short
 * and of unpredictable length in fast bands, so nothing branches on them: what a run does not need
 * is written to a slot that nobody reads. */
static void SN(list_block)(const uint8_t *idx, int64_t n, int64_t bins, uint16_t *entry,
                           uint16_t *start, double *count)
{
    uint16_t need[257] = { 0 }, samples[256] = { 0 }, end[PAC_BLOCK + 1], unread;
    const int top = PAC_LEVELS - 1;
    int64_t runs = 0;
    for (int64_t t = 0; t + 1 < n; t++) {
        end[runs] = (uint16_t)(t + 1);
        runs += idx[t] != idx[t + 1];
    }
    end[runs++] = (uint16_t)n;
    for (int64_t r = 0, t = 0; r < runs; t = end[r++]) {
        const int len = end[r] - (int)t;
        int parts = len >> top;
        for (int level = 0; level < top; level++)
            parts += len >> level & 1;
        need[idx[t]] = (uint16_t)(need[idx[t]] + parts);
        samples[idx[t]] = (uint16_t)(samples[idx[t]] + len);
    }
    uint16_t at = 0;
    for (int64_t j = 0; j < bins; j++) {
        const uint16_t parts = need[j];
        count[j] += samples[j];
        start[j] = at;
        need[j] = at;
        at = (uint16_t)(at + parts);
    }
    start[bins] = at;
    for (int64_t r = 0, next = 0; r < runs; r++) {
        int t = (int)next, len = end[r] - t;
        const uint8_t j = idx[t];
        uint16_t *e = entry + need[j];
        next = end[r];
        for (; len >= 2 << top; len -= 1 << top, t += 1 << top)
            *e++ = (uint16_t)(t * PAC_LEVELS + top);
        for (int level = top; level >= 0; level--) {
            const int one = len >> level; /* 0 or 1 by now */
            *(one ? e : &unread) = (uint16_t)(t * PAC_LEVELS + level);
            e += one;
            t += one << level;
            len -= one << level;
        }
        need[j] = (uint16_t)(e - entry);
    }
}

static int64_t SN(bins_offset)(const int64_t *at, int64_t i, int64_t size)
{
    return at ? at[i] : i * size;
}

static void SN(list_job)(const mck_pac_bins *a, const SN(bins_work) *w, int64_t job)
{
    memset(w->count, 0, sizeof(double) * (size_t)(a->P * a->bins));
    for (int64_t g = 0; g < a->G; g++) {
        const uint8_t *idx =
            a->idx + SN(bins_offset)(a->idx_at, job * a->G + g, a->P * a->idx_band);
        for (int64_t b = 0; b < w->blocks; b++) {
            const int64_t t = b * PAC_BLOCK, n = a->L - t < PAC_BLOCK ? a->L - t : PAC_BLOCK;
            for (int64_t p = 0; p < a->P; p++) {
                const int64_t at = (g * w->blocks + b) * a->P + p;
                SN(list_block)(idx + p * a->idx_band + t, n, a->bins, w->entry + at * PAC_BLOCK,
                 w->start + at * (a->bins + 1), w->count + p * a->bins);
            }
        }
    }
}

/* Amplitudes of one tile with their windows, the head repeated after the tail: any shift reads
 * straight on. */
static void SN(extend)(const T *amp, int64_t L, T *ext)
{
    const int64_t row = PAC_LEVELS * W;
    for (int64_t t = 0; t < L; t++)
        memcpy(ext + t * row, amp + t * W, sizeof(T) * W);
    for (int level = 1; level < PAC_LEVELS; level++) {
        const int64_t half = (int64_t)1 << (level - 1);
        for (int64_t t = 0; t < L; t++) {
            const T *lo = ext + t * row + (level - 1) * W;
            const T *hi = ext + (t + half < L ? t + half : (t + half) % L) * row + (level - 1) * W;
            T *to = ext + t * row + level * W;
            for (int v = 0; v < NV; v++)
                LN(store)(to + v * VL, LN(add)(LN(load)(lo + v * VL), LN(load)(hi + v * VL)));
        }
    }
    for (int64_t t = L; t < L + PAC_BLOCK; t++)
        memcpy(ext + t * row, ext + (t - L) * row, sizeof(T) * (size_t)row);
}

/* sums[k][j] += rows of block a[k] listed for bin j, k < ng shifts, nv vectors of the tile. sums[k]
 * lie `apart`. */
MC_INLINE void SN(gather)(T *sums, int64_t apart, const T *const *base, const uint16_t *entry,
                          const uint16_t *start, int64_t bins, const int ng, const int nv)
{
    for (int64_t j = 0; j < bins; j++) {
        vec c[PAC_GROUP * NV];
        for (int k = 0; k < ng; k++)
            for (int v = 0; v < nv; v++)
                c[k * nv + v] = LN(load)(sums + k * apart + j * W + v * VL);
        for (int64_t e = start[j]; e < start[j + 1]; e++) {
            const int64_t row = (int64_t)entry[e] * W;
            for (int k = 0; k < ng; k++)
                for (int v = 0; v < nv; v++)
                    c[k * nv + v] = LN(add)(c[k * nv + v], LN(load)(base[k] + row + v * VL));
        }
        for (int k = 0; k < ng; k++)
            for (int v = 0; v < nv; v++)
                LN(store)(sums + k * apart + j * W + v * VL, c[k * nv + v]);
    }
}

#define PAC_GATHER(name, ng, nv)                                                                   \
    static void SN(name)(T * sums, int64_t apart, const T *const *base, const uint16_t *entry,     \
                         const uint16_t *start, int64_t bins)                                      \
    {                                                                                              \
        SN(gather)(sums, apart, base, entry, start, bins, ng, nv);                                 \
    }
PAC_GATHER(gather_one, 1, NV)
PAC_GATHER(gather_many, PAC_GROUP, NV)
PAC_GATHER(gather_one_half, 1, NV > 1 ? NV / 2 : 1)
PAC_GATHER(gather_many_half, PAC_GROUP, NV > 1 ? NV / 2 : 1)
#undef PAC_GATHER

static void SN(fold_add)(double *fold, T *sums, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        fold[i] += (double)sums[i];
    memset(sums, 0, sizeof(T) * (size_t)n);
}

/* Bin sums of `ng` shifts (1 or GROUP) -> w->sums. half: the upper half of the tile is unused. */
static void SN(sums_hard)(const mck_pac_bins *a, const SN(bins_work) *w, const int64_t *shift,
                          int ng, int half)
{
    const int64_t cells = a->P * a->bins * W, row = PAC_LEVELS * W;
    const int64_t all = w->blocks * a->G;
    const int folded = all > PAC_FOLD;
    memset(w->sums, 0, sizeof(T) * (size_t)(cells * ng));
    if (folded)
        memset(w->fold, 0, sizeof(double) * (size_t)(cells * ng));
    for (int64_t b = 0; b < all; b++) {
        const int64_t g = b / w->blocks, t = (b - g * w->blocks) * PAC_BLOCK;
        const T *base[PAC_GROUP];
        for (int k = 0; k < ng; k++)
            base[k] = w->ext + (g * (a->L + PAC_BLOCK) + (t + shift[k]) % a->L) * row;
        for (int64_t p = 0; p < a->P; p++) {
            const int64_t at = b * a->P + p;
            const uint16_t *entry = w->entry + at * PAC_BLOCK,
                           *start = w->start + at * (a->bins + 1);
            T *sums = w->sums + p * a->bins * W;
            if (ng == 1)
                (half ? SN(gather_one_half) : SN(gather_one))(sums, cells, base, entry, start,
                                                              a->bins);
            else
                (half ? SN(gather_many_half) : SN(gather_many))(sums, cells, base, entry, start,
                                                                a->bins);
        }
        if (folded && ((b + 1) % PAC_FOLD == 0 || b + 1 == all))
            SN(fold_add)(w->fold, w->sums, cells * ng);
    }
    if (folded)
        for (int64_t i = 0; i < cells * ng; i++)
            w->sums[i] = (T)w->fold[i];
}

/* flag[1] keeps a row, flag[0] drops it. */
static const T SN(flag)[2] = { 0, 1 };

/* One step along the runs of a band: the next window of `idx` added to its bin. Branchless but for
 * windows above two samples. */
MC_INLINE int64_t SN(direct_step)(const uint8_t *idx, int64_t t, int64_t n, const T *amp, T *sums,
                                  uint16_t *samples, const int nv)
{
    const uint8_t j = idx[t];
    const int more = t + 1 < n && idx[t + 1] == j;
    const vec keep = LN(set)(SN(flag)[more]);
    T *to = sums + (int64_t)j * W;
    const T *a = amp + t * W, *b = a + more * W;
    for (int v = 0; v < nv; v++) {
        const vec pair = LN(muladd)(LN(load)(b + v * VL), keep, LN(load)(a + v * VL));
        LN(store)(to + v * VL, LN(add)(LN(load)(to + v * VL), pair));
    }
    samples[j] = (uint16_t)(samples[j] + 1 + more);
    return t + 1 + more;
}

/* Two bands at once: each is one chain of dependent loads, so two run in the time of one. */
MC_INLINE void SN(direct_block)(const uint8_t *idx, int64_t idx_band, int64_t n, const T *amp,
                                T *sums, int64_t band, uint16_t *samples, const int two,
                                const int nv)
{
    int64_t t = 0, u = 0;
    if (two)
        while (t < n && u < n) {
            t = SN(direct_step)(idx, t, n, amp, sums, samples, nv);
            u = SN(direct_step)(idx + idx_band, u, n, amp, sums + band, samples + 256, nv);
        }
    while (t < n)
        t = SN(direct_step)(idx, t, n, amp, sums, samples, nv);
    while (two && u < n)
        u = SN(direct_step)(idx + idx_band, u, n, amp, sums + band, samples + 256, nv);
}

/* Observed sums straight from the tile, for calls without surrogates: the windows, blocks and order
 * of sums_hard at shift 0, hence the same bits, without lists or wrapped amplitudes. Counts are
 * made here too. */
static void SN(sums_direct)(const mck_pac_bins *a, const SN(bins_work) *w, int64_t job,
                            int64_t tile, int half)
{
    const int64_t cells = a->P * a->bins * W, band = a->bins * W, all = w->blocks * a->G;
    const int64_t tiles = (a->A + W - 1) / W;
    const int folded = all > PAC_FOLD;
    memset(w->sums, 0, sizeof(T) * (size_t)cells);
    memset(w->count, 0, sizeof(double) * (size_t)(a->P * a->bins));
    if (folded)
        memset(w->fold, 0, sizeof(double) * (size_t)cells);
    for (int64_t b = 0; b < all; b++) {
        const int64_t g = b / w->blocks, t = (b - g * w->blocks) * PAC_BLOCK,
                      n = a->L - t < PAC_BLOCK ? a->L - t : PAC_BLOCK;
        const uint8_t *idx =
            a->idx + SN(bins_offset)(a->idx_at, job * a->G + g, a->P * a->idx_band) + t;
        const T *amp = (const T *)a->amp +
                       SN(bins_offset)(a->amp_at, job * a->G + g, tiles * a->amp_tile) +
                       tile * a->amp_tile + t * W;
        for (int64_t p = 0; p < a->P; p += 2) {
            uint16_t samples[512];
            const int two = p + 1 < a->P;
            memset(samples, 0, sizeof(uint16_t) * (size_t)a->bins);
            memset(samples + 256, 0, sizeof(uint16_t) * (size_t)a->bins);
            if (half)
                SN(direct_block)(idx + p * a->idx_band, a->idx_band, n, amp, w->sums + p * band,
                                 band, samples, two,
                 NV > 1 ? NV / 2 : 1);
            else
                SN(direct_block)(idx + p * a->idx_band, a->idx_band, n, amp, w->sums + p * band,
                                 band, samples, two,
                 NV);
            for (int64_t q = p; q < p + 1 + two; q++)
                for (int64_t j = 0; j < a->bins; j++)
                    w->count[q * a->bins + j] += samples[(q - p) * 256 + j];
        }
        if (folded && ((b + 1) % PAC_FOLD == 0 || b + 1 == all))
            SN(fold_add)(w->fold, w->sums, cells);
    }
    if (folded)
        for (int64_t i = 0; i < cells; i++)
            w->sums[i] = (T)w->fold[i];
}

/* Weights of phase band p for all segments -> w->soft, their sums -> w->count. */
static void SN(soft_weights)(const mck_pac_bins *a, const SN(bins_work) *w, int64_t job, int64_t p)
{
    const T pi = (T)3.14159265358979323846, two = (T)6.28318530717958647693,
            sharp = (T)(1.0 / a->tau);
    double *count = w->count + p * a->bins;
    memset(count, 0, sizeof(double) * (size_t)a->bins);
    for (int64_t i = 0; i < a->G * a->L; i++) {
        const int64_t g = i / a->L;
        const T *angle =
            (const T *)a->angle + SN(bins_offset)(a->idx_at, job * a->G + g, a->P * a->idx_band);
        const T phi = angle[p * a->idx_band + i - g * a->L];
        T *to = w->soft + i * a->bins, near = (T)INFINITY, sum = 0;
        for (int64_t j = 0; j < a->bins; j++) {
            const T centre = (T)((((double)j + 0.5) / (double)a->bins - 0.5) * 6.283185307179586);
            T d = phi - centre + pi;
            d = (a->asymmetric ? PAC_FMOD(d, two) : d - two * PAC_FLOOR(d / two)) - pi;
            to[j] = PAC_ABS(d);
            near = to[j] < near ? to[j] : near;
        }
        for (int64_t j = 0; j < a->bins; j++)
            sum += to[j] = PAC_EXP((near - to[j]) * sharp);
        for (int64_t j = 0; j < a->bins; j++) {
            to[j] /= sum;
            count[j] += (double)to[j];
        }
    }
}

/* As sums_hard for the one soft phase band p, each shift in turn. */
static void SN(sums_soft)(const mck_pac_bins *a, const SN(bins_work) *w, int64_t p,
                          const int64_t *shift, int ng)
{
    const int64_t cells = a->P * a->bins * W, row = PAC_LEVELS * W, bins = a->bins;
    for (int k = 0; k < ng; k++) {
        T *sums = w->sums + k * cells + p * bins * W;
        double *fold = w->fold + k * cells + p * bins * W;
        memset(fold, 0, sizeof(double) * (size_t)(bins * W));
        memset(sums, 0, sizeof(T) * (size_t)(bins * W));
        for (int64_t i = 0; i < a->G * a->L; i++) {
            const int64_t g = i / a->L, t = (i - g * a->L + shift[k]) % a->L;
            const T *amp = w->ext + (g * (a->L + PAC_BLOCK) + t) * row,
                    *weight = w->soft + i * bins;
            for (int64_t j = 0; j < bins; j++)
                for (int v = 0; v < NV; v++) {
                    T *to = sums + j * W + v * VL;
                    LN(store)(to, LN(muladd)(LN(set)(weight[j]), LN(load)(amp + v * VL),
                              LN(load)(to)));
                }
            if (i % PAC_BLOCK == PAC_BLOCK - 1)
                SN(fold_add)(fold, sums, bins * W);
        }
        SN(fold_add)(fold, sums, bins * W);
        for (int64_t i = 0; i < bins * W; i++)
            sums[i] = (T)fold[i];
    }
}

/* Bands [p0, p1) of one tile; lanes: bands of the tile in use. */
static void SN(bins_sums)(const mck_pac_bins *a, const SN(bins_work) *w, int64_t p,
                          const int64_t *shift, int ng, int lanes)
{
    if (a->tau > 0)
        SN(sums_soft)(a, w, p, shift, ng);
    else
        SN(sums_hard)(a, w, shift, ng, NV > 1 && lanes <= W / 2);
}

static void SN(bins_values)(const mck_pac_bins *a, const SN(bins_work) *w, const T *sums,
                            int64_t p0, int64_t p1, int lanes, T *value, T *total)
{
    const pac_rule rule = pac_rule_make(a);
    const int nv = (lanes + VL - 1) / VL;
    for (int64_t p = p0; p < p1; p++)
        SN(measure_tile)(sums + p * a->bins * W, W, w->scale + p * a->bins, &rule, nv,
                         value + p * W,
         total + p * W);
}

/* Observed outputs of bands [p0, p1) from w->sums. */
static void SN(bins_observed)(const mck_pac_bins *a, const SN(bins_work) *w, int64_t job,
                              int64_t tile, int64_t p0, int64_t p1, int lanes)
{
    const int64_t bins = a->bins;
    for (int64_t p = p0; p < p1; p++)
        for (int i = 0; i < lanes; i++) {
            const int64_t at = (job * a->P + p) * a->A + tile * W + i;
            const T *sums = w->sums + p * bins * W + i;
            if (a->value)
                ((T *)a->value)[at] = w->value[p * W + i];
            if (a->status)
                a->status[at] = SN(measure_status)(w->total[p * W + i], w->count + p * bins, bins);
            if (a->sums)
                for (int64_t j = 0; j < bins; j++)
                    a->sums[((job * a->P + p) * bins + j) * a->A + tile * W + i] =
                        (double)sums[j * W];
            if (a->dist || a->best || a->pref)
                SN(measure_shape)(sums, W, w->scale + p * bins, w->centre, bins,
                 a->dist ? (T *)a->dist + at * bins : NULL, a->best ? a->best + at : NULL,
                 a->pref ? (T *)a->pref + at : NULL);
        }
}

/* Surrogates of bands [p0, p1) of one tile: values group by group into the streaming statistics. */
static void SN(bins_drawn)(const mck_pac_bins *a, const SN(bins_work) *w, int64_t job,
                           int64_t tile, int64_t p0, int64_t p1, int lanes)
{
    const mck_pac_null *u = &a->null;
    const int64_t n = (p1 - p0) * W, cells = a->P * a->bins * W;
    SN(null_state)
    z = { w->mean + p0 * W, w->m2 + p0 * W, w->exceed + p0 * W, w->value + p0 * W, n, 0 };
    memset(z.mean, 0, sizeof(double) * (size_t)n);
    memset(z.m2, 0, sizeof(double) * (size_t)n);
    memset(z.exceed, 0, sizeof(double) * (size_t)n);
    for (int64_t k = 0; k < u->K; k += PAC_GROUP) {
        const int fresh = u->K - k < PAC_GROUP ? (int)(u->K - k) : PAC_GROUP;
        int64_t shift[PAC_GROUP];
        for (int i = 0; i < PAC_GROUP; i++)
            shift[i] = u->shift[w->order[k + (i < fresh ? i : 0)]];
        SN(bins_sums)(a, w, p0, shift, PAC_GROUP, lanes);
        for (int i = 0; i < fresh; i++) {
            const int64_t which = w->order[k + i];
            SN(bins_values)(a, w, w->sums + i * cells, p0, p1, lanes, w->draw, w->total);
            SN(null_feed)(&z, w->draw + p0 * W, SN(null_far)(u, which, a->L));
            if (u->max)
                w->top[which] = SN(null_max)(w->draw + p0 * W, p1 - p0, lanes, w->top[which]);
            for (int64_t p = p0; u->zmax && p < p1; p++)
                memcpy(w->kept + (p * u->K + k + i) * W, w->draw + p * W, sizeof(T) * W);
            if (u->all)
                for (int64_t p = p0; p < p1; p++)
                    memcpy((T *)u->all + ((job * u->K + which) * a->P + p) * a->A + tile * W,
                           w->draw + p * W, sizeof(T) * (size_t)lanes);
        }
    }
    for (int64_t p = p0; p < p1; p++) {
        const int64_t first = (job * a->P + p) * a->A + tile * W, pairs = a->P * a->A;
        if (u->zmax) {
            T *near = u->znear ? (T *)u->znear + (job * (u->near_count - 1)) * pairs + first : NULL;
            T mine[W];
            SN(null_tops)(u, w->kept + p * u->K * W, a->L, lanes, w->value + p * W, mine, w->ztop,
                          near, pairs, w->order, w->around, w->around + u->K + 1, w->run);
            if (u->zvalue)
                memcpy((T *)u->zvalue + first, mine, sizeof(T) * (size_t)lanes);
        }
        for (int i = 0; i < lanes; i++) {
            const int64_t at = first + i;
            SN(null_store)(u, at, w->value[p * W + i], w->mean[p * W + i], w->m2[p * W + i],
                           w->exceed[p * W + i],
             a->status ? a->status + at : NULL);
        }
    }
}

static void SN(bins_job)(const mck_pac_bins *a, const SN(bins_work) *w, int64_t job)
{
    const int soft = a->tau > 0, direct = !soft && a->null.K == 0;
    const int64_t tiles = (a->A + W - 1) / W, step = soft ? 1 : a->P, zero = 0;
    if (!soft && !direct)
        SN(list_job)(a, w, job);
    for (int64_t k = 0; k < a->null.K; k++)
        w->top[k] = w->ztop[k] = (T)-INFINITY;
    for (int64_t tile = 0; tile < tiles; tile++) {
        const int lanes = a->A - tile * W < W ? (int)(a->A - tile * W) : W;
        for (int64_t g = 0; !direct && g < a->G; g++)
            SN(extend)((const T *)a->amp + SN(bins_offset)(a->amp_at, job * a->G + g,
                       tiles * a->amp_tile) +
                 tile * a->amp_tile,
             a->L, w->ext + g * (a->L + PAC_BLOCK) * PAC_LEVELS * W);
        for (int64_t p = 0; p < a->P; p += step) {
            if (soft)
                SN(soft_weights)(a, w, job, p);
            if (direct)
                SN(sums_direct)(a, w, job, tile, NV > 1 && lanes <= W / 2);
            else
                SN(bins_sums)(a, w, p, &zero, 1, lanes);
            for (int64_t q = p; q < p + step; q++)
                SN(measure_scale)(w->count + q * a->bins, a->divisor, a->norm, a->bins,
                                  w->scale + q * a->bins);
            SN(bins_values)(a, w, w->sums, p, p + step, lanes, w->value, w->total);
            SN(bins_observed)(a, w, job, tile, p, p + step, lanes);
            if (a->null.K > 0)
                SN(bins_drawn)(a, w, job, tile, p, p + step, lanes);
        }
    }
    if (a->count)
        memcpy(a->count + job * a->P * a->bins, w->count,
               sizeof(double) * (size_t)(a->P * a->bins));
    if (a->null.max && a->null.K > 0)
        memcpy((T *)a->null.max + job * a->null.K, w->top, sizeof(T) * (size_t)a->null.K);
    if (a->null.zmax && a->null.K > 0)
        memcpy((T *)a->null.zmax + job * a->null.K, w->ztop, sizeof(T) * (size_t)a->null.K);
}

void FN(bins)(const mck_pac_bins *a, int64_t begin, int64_t end, void *work)
{
    const SN(bins_work) w = SN(bins_layout)(a, work);
    SN(measure_centres)(w.centre, a->bins);
    memset(w.value, 0, sizeof(T) * (size_t)(a->P * W));
    memset(w.draw, 0, sizeof(T) * (size_t)(a->P * W));
    if (a->null.K > 0)
        SN(order_shifts)(a->null.shift, w.order, a->null.K);
    if (a->null.K > 0 && a->null.zmax)
        SN(null_surroundings)(&a->null, a->L, w.order, w.around, w.around + a->null.K + 1);
    for (int64_t job = begin; job < end; job++)
        SN(bins_job)(a, &w, job);
}
