/* exhaustive_body.h - body of exhaustive.c, once per dtype. Letters as in pac.h. Soft
 * bins are not served here. */
#include "job.h"
#include "measure.h"
#include "null.h"
#include "correlate.h"

void FN(bins)(const mck_pac_bins *a, int64_t begin, int64_t end, void *work);
int64_t FN(bins_work)(const mck_pac_bins *a);

typedef struct SN(exhaustive_work) {
    T *onehot;    /* [G][Q][N] complex: spectra of bin pairs of one phase band, Q = ceil(B/2) */
    T *amp;       /* [A][G][N] complex */
    double *mean; /* [A][G] */
    double *each; /* [G][B]: samples of a bin, by segment */
    T *in;        /* [N] complex */
    T *out;       /* [Q][N] complex */
    T *real, *half;
    T *value; /* [P][A] */
    int32_t *status;
    double *count; /* [P][B] */
    T *scale;      /* [B] */
    T *sums;       /* [B][SPAN] */
    T *s, *pick;   /* [L], [K] */
    T *top, *ztop, *far; /* [K] */
    int64_t *order;      /* [K], only for zmax of listed shifts */
    double *run;         /* [3][K + 2 + 2 near], only for zmax */
    void *bins;    /* for the observed value */
    int64_t bytes;
} SN(exhaustive_work);

static SN(exhaustive_work) SN(exhaustive_layout)(const mck_pac_bins *a, void *base)
{
    SN(exhaustive_work) w;
    pac_work p = { base, 0 };
    mck_pac_bins observed = *a;
    const int64_t pairs = (a->bins + 1) / 2, N = a->N;
    observed.null.K = 0;
    w.onehot = pac_take(&p, a->G * pairs * 2 * N, sizeof(T));
    w.amp = pac_take(&p, a->A * a->G * 2 * N, sizeof(T));
    w.mean = pac_take(&p, a->A * a->G, sizeof(double));
    w.each = pac_take(&p, a->G * a->bins, sizeof(double));
    w.in = pac_take(&p, 2 * N, sizeof(T));
    w.out = pac_take(&p, pairs * 2 * N, sizeof(T));
    w.real = pac_take(&p, N, sizeof(T));
    w.half = pac_take(&p, 2 * (N / 2 + 1), sizeof(T));
    w.value = pac_take(&p, a->P * a->A, sizeof(T));
    w.status = pac_take(&p, a->P * a->A, sizeof(int32_t));
    w.count = pac_take(&p, a->P * a->bins, sizeof(double));
    w.scale = pac_take(&p, a->bins, sizeof(T));
    w.sums = pac_take(&p, a->bins * PAC_SPAN, sizeof(T));
    w.s = pac_take(&p, a->L + PAC_SPAN, sizeof(T));
    w.pick = pac_take(&p, a->null.K, sizeof(T));
    w.top = pac_take(&p, a->null.K, sizeof(T));
    w.ztop = pac_take(&p, a->null.K, sizeof(T));
    w.far = pac_take(&p, a->null.near > 0 ? a->null.K : 0, sizeof(T));
    w.order = pac_take(&p, a->null.zmax && a->null.shift ? a->null.K : 0, sizeof(int64_t));
    w.run = pac_take(&p, a->null.zmax ? 3 * (a->null.K + 2 + 2 * a->null.near) : 0, sizeof(double));
    w.bins = pac_take(&p, FN(bins_work)(&observed), 1);
    w.bytes = p.used;
    return w;
}

int64_t FN(exhaustive_work)(const mck_pac_bins *a) { return SN(exhaustive_layout)(a, NULL).bytes; }

/* Spectra of the bins of phase band p, two to a transform, and their counts. */
static void SN(onehot_band)(const mck_pac_bins *a, const SN(exhaustive_work) *w, int64_t p)
{
    const int64_t pairs = (a->bins + 1) / 2, L = a->L, N = a->N;
    memset(w->each, 0, sizeof(double) * (size_t)(a->G * a->bins));
    memset(w->in + 2 * L, 0, 2 * sizeof(T) * (size_t)(N - L));
    for (int64_t g = 0; g < a->G; g++) {
        const uint8_t *idx =
            a->idx + (a->idx_at ? a->idx_at[g] : g * a->P * a->idx_band) + p * a->idx_band;
        for (int64_t t = 0; t < L; t++)
            w->each[g * a->bins + idx[t]] += 1;
        for (int64_t q = 0; q < pairs; q++) {
            T *MC_RESTRICT in = w->in;
            const int even = (int)(2 * q), odd = even + 1;
            for (int64_t t = 0; t < L; t++) {
                in[2 * t] = idx[t] == even ? (T)1 : (T)0;
                in[2 * t + 1] = idx[t] == odd ? (T)1 : (T)0;
            }
            a->fft(a->inverse, in, w->onehot + (g * pairs + q) * 2 * N);
        }
    }
}

/* Values of amplitude band i at shifts first .. first+n-1 -> w->s. */
static void SN(exhaustive_pair)(const mck_pac_bins *a, const SN(exhaustive_work) *w,
                                const pac_rule *rule, int64_t i, int64_t first, int64_t n)
{
    const int64_t bins = a->bins, pairs = (bins + 1) / 2, N = a->N;
    const T unit = (T)(1.0 / (double)N);
    T total[PAC_SPAN];
    for (int64_t q = 0; q < pairs; q++) {
        for (int64_t g = 0; g < a->G; g++)
            SN(correlate_product)(w->onehot + (g * pairs + q) * 2 * N,
                                  w->amp + (i * a->G + g) * 2 * N, N, g > 0, w->in);
        a->fft(a->inverse, w->in, w->out + q * 2 * N);
    }
    for (int64_t c = 0; c < n; c += PAC_SPAN) {
        const int64_t m = n - c < PAC_SPAN ? n - c : PAC_SPAN;
        if (m < PAC_SPAN)
            memset(w->sums, 0, sizeof(T) * (size_t)(bins * PAC_SPAN));
        for (int64_t q = 0; q < pairs; q++) {
            const T *MC_RESTRICT r = w->out + 2 * (q * N + first + c);
            T *MC_RESTRICT even = w->sums + 2 * q * PAC_SPAN, *MC_RESTRICT odd = even + PAC_SPAN;
            double base[2] = { 0, 0 };
            const int two = 2 * q + 1 < bins;
            for (int64_t g = 0; g < a->G; g++) {
                base[0] += w->mean[i * a->G + g] * w->each[g * bins + 2 * q];
                base[1] += two ? w->mean[i * a->G + g] * w->each[g * bins + 2 * q + 1] : 0;
            }
            const T b0 = (T)base[0], b1 = (T)base[1];
            for (int64_t u = 0; u < m; u++)
                even[u] = r[2 * u] * unit + b0;
            if (two)
                for (int64_t u = 0; u < m; u++)
                    odd[u] = r[2 * u + 1] * unit + b1;
        }
        SN(measure_tile)(w->sums, PAC_SPAN, w->scale, rule, (int)((m + W - 1) / W) * NV,
                         w->s + c, total);
    }
}

static void SN(exhaustive_job)(const mck_pac_bins *a, const SN(exhaustive_work) *w)
{
    const mck_pac_null *u = &a->null;
    const pac_rule rule = pac_rule_make(a);
    const int64_t tiles = (a->A + W - 1) / W, L = a->L;
    mck_pac_bins observed = *a;
    observed.value = a->value ? a->value : w->value;
    observed.status = a->status ? a->status : w->status;
    observed.count = a->count ? a->count : w->count;
    observed.null.K = 0;
    FN(bins)(&observed, 0, 1, w->bins);
    for (int64_t i = 0; i < a->A; i++)
        for (int64_t g = 0; g < a->G; g++) {
            const T *amp = (const T *)a->amp +
                           (a->amp_at ? a->amp_at[g] : g * tiles * a->amp_tile) +
                           i / W * a->amp_tile;
            w->mean[i * a->G + g] =
                SN(correlate_amp)(amp + i % W, L, a->N, a->fft, a->forward, w->real, w->half,
                                  w->amp + (i * a->G + g) * 2 * a->N);
        }
    for (int64_t k = 0; k < u->K; k++)
        w->top[k] = w->ztop[k] = (T)-INFINITY;
    if (u->zmax && u->shift)
        SN(order_shifts)(u->shift, w->order, u->K);
    for (int64_t p = 0; p < a->P; p++) {
        SN(measure_scale)(observed.count + p * a->bins, a->divisor, a->norm, a->bins, w->scale);
        SN(onehot_band)(a, w, p);
        for (int64_t i = 0; i < a->A; i++) {
            const int64_t at = p * a->A + i;
            const T *s = w->s;
            const T value = ((const T *)observed.value)[at];
            SN(exhaustive_pair)(a, w, &rule, i, u->shift ? 0 : u->first, u->shift ? L : u->K);
            if (u->shift || u->first == 0)
                w->s[0] = value; /* shift 0 is the observation itself, to the bit */
            if (u->shift) {
                for (int64_t k = 0; k < u->K; k++)
                    w->pick[k] = w->s[u->shift[k]];
                s = w->pick;
            }
            SN(correlate_stats)(u, s, L, value, w->far, w->top, w->ztop, at, a->P * a->A,
                        u->shift ? w->order : NULL, w->run, observed.status + at);
            if (u->all)
                for (int64_t k = 0; k < u->K; k++)
                    ((T *)u->all)[k * a->P * a->A + at] = s[k];
        }
    }
    if (u->max)
        memcpy(u->max, w->top, sizeof(T) * (size_t)u->K);
    if (u->zmax)
        memcpy(u->zmax, w->ztop, sizeof(T) * (size_t)u->K);
}

void FN(exhaustive)(const mck_pac_bins *a, int64_t begin, int64_t end, void *work)
{
    const SN(exhaustive_work) w = SN(exhaustive_layout)(a, work);
    for (int64_t job = begin; job < end; job++) {
        const mck_pac_bins one = SN(bins_at)(a, job);
        SN(exhaustive_job)(&one, &w);
    }
}
