/* moments_body.h - body of moments.c, once per dtype. Letters as in pac.h. */
#include "job.h"
#include "null.h"
#include "correlate.h"

typedef struct SN(moments_work) {
    double *phase; /* [P][5]: sums of u1, u2, u1^2, u1 u2, u2^2 */
    double *power; /* [tiles*W][2]: sums of a, (a - mean)^2 */
    double *cross; /* [2 kinds][P][2][tiles*W]: sum a u1, a u2; then of amp2 */
    T *value;      /* [P][A] */
    int32_t *status;
    T *amp;       /* [A][N] complex */
    double *mean; /* [2][A]: of amp and amp2 */
    T *wave;      /* [N] complex: spectrum of one phase band */
    T *in, *out;  /* [N] complex */
    T *real, *half;
    T *s;   /* [K] */
    T *top, *ztop, *far; /* [K] */
    int64_t *order;      /* [K], only for zmax of listed shifts */
    double *run;         /* [3][K + 2 + 2 near], only for zmax */
    int64_t bytes;
} SN(moments_work);

static SN(moments_work) SN(moments_layout)(const mck_pac_moments *a, void *base)
{
    SN(moments_work) w;
    pac_work p = { base, 0 };
    const int64_t lanes = (a->A + W - 1) / W * W, K = a->null.K, N = K > 0 ? a->N : 0;
    w.phase = pac_take(&p, a->P * 5, sizeof(double));
    w.power = pac_take(&p, lanes * 2, sizeof(double));
    w.cross = pac_take(&p, 2 * a->P * 2 * lanes, sizeof(double));
    w.value = pac_take(&p, a->P * a->A, sizeof(T));
    w.status = pac_take(&p, a->P * a->A, sizeof(int32_t));
    w.amp = pac_take(&p, a->A * 2 * N, sizeof(T));
    w.mean = pac_take(&p, 2 * a->A, sizeof(double));
    w.wave = pac_take(&p, 2 * N, sizeof(T));
    w.in = pac_take(&p, 2 * N, sizeof(T));
    w.out = pac_take(&p, 2 * N, sizeof(T));
    w.real = pac_take(&p, N, sizeof(T));
    w.half = pac_take(&p, N > 0 ? 2 * (N / 2 + 1) : 0, sizeof(T));
    w.s = pac_take(&p, K, sizeof(T));
    w.top = pac_take(&p, K, sizeof(T));
    w.ztop = pac_take(&p, K, sizeof(T));
    w.far = pac_take(&p, a->null.near > 0 ? K : 0, sizeof(T));
    w.order = pac_take(&p, a->null.zmax && a->null.shift ? K : 0, sizeof(int64_t));
    w.run = pac_take(&p, a->null.zmax ? 3 * (K + 2 + 2 * a->null.near) : 0, sizeof(double));
    w.bytes = p.used;
    return w;
}

int64_t FN(moments_work)(const mck_pac_moments *a) { return SN(moments_layout)(a, NULL).bytes; }

static const T *SN(moments_unit)(const mck_pac_moments *a, int64_t p)
{
    return (const T *)a->unit + (a->unit_at ? a->unit_at[0] : 0) + p * 2 * a->unit_band;
}

static void SN(phase_sums)(const T *u1, const T *u2, int64_t L, double *sum)
{
    double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    for (int64_t t = 0; t < L; t++) {
        const double c = (double)u1[t], s = (double)u2[t];
        x += c;
        y += s;
        xx += c * c;
        xy += c * s;
        yy += s * s;
    }
    sum[0] = x;
    sum[1] = y;
    sum[2] = xx;
    sum[3] = xy;
    sum[4] = yy;
}

/* Sum and squared deviations of each lane of a tile -> power[W][2]; two passes, no cancellation. */
static void SN(power_sums)(const T *amp, int64_t L, double *power)
{
    double sum[W], sq[W];
    for (int64_t i = 0; i < W; i++)
        sum[i] = sq[i] = 0;
    for (int64_t t = 0; t < L; t++)
        for (int64_t i = 0; i < W; i++)
            sum[i] += (double)amp[t * W + i];
    for (int64_t t = 0; t < L; t++)
        for (int64_t i = 0; i < W; i++) {
            const double d = (double)amp[t * W + i] - sum[i] / (double)L;
            sq[i] += d * d;
        }
    for (int64_t i = 0; i < W; i++) {
        power[2 * i] = sum[i];
        power[2 * i + 1] = sq[i];
    }
}

/* cross[2][stride] of one tile += sum_t u1 a, u2 a over all L. */
static void SN(cross_sums)(const T *u1, const T *u2, const T *amp, int64_t L, double *cross,
                           int64_t stride)
{
    T part[2 * W];
    for (int64_t i = 0; i < W; i++)
        cross[i] = cross[stride + i] = 0;
    for (int64_t t0 = 0; t0 < L; t0 += PAC_RUN) {
        const int64_t t1 = L - t0 < PAC_RUN ? L : t0 + PAC_RUN;
        vec c[NV], s[NV];
        for (int v = 0; v < NV; v++)
            c[v] = s[v] = LN(set)(0);
        for (int64_t t = t0; t < t1; t++) {
            const vec x = LN(set)(u1[t]), y = LN(set)(u2[t]);
            for (int v = 0; v < NV; v++) {
                const vec a = LN(load)(amp + t * W + v * VL);
                c[v] = LN(muladd)(x, a, c[v]);
                s[v] = LN(muladd)(y, a, s[v]);
            }
        }
        for (int v = 0; v < NV; v++) {
            LN(store)(part + v * VL, c[v]);
            LN(store)(part + W + v * VL, s[v]);
        }
        for (int64_t i = 0; i < W; i++) {
            cross[i] += (double)part[i];
            cross[stride + i] += (double)part[W + i];
        }
    }
}

/* value = post(xx x^2 + xy x y + yy y^2) of x = M1 - x0, y = M2 - y0. */
typedef struct SN(moments_form) {
    double x0, y0, xx, xy, yy, floor;
    int measure, dead; /* dead: no power, the value is 0 */
} SN(moments_form);

static SN(moments_form)
    SN(form_make)(const mck_pac_moments *a, const double *phase, const double *power)
{
    SN(moments_form) f = { 0, 0, 1, 0, 1, -1, a->measure, 0 };
    const double n = (double)a->L, mean = power[0] / n, dev = power[1],
                 square = dev + power[0] * mean;
    double scale = 1 / (n * n);
    /* deviations that are only rounding of the mean: the amplitude does not vary */
    const double noise = 4.0 * (sizeof(T) == 4 ? 1.2e-7 : 2.3e-16);
    const int flat = dev <= noise * noise * square;
    switch (a->measure) {
    case MCK_PAC_OZK:
        f.dead = square == 0;
        scale = 1 / (n * square);
        break;
    case MCK_PAC_NDPAC:
        f.dead = flat;
        f.x0 = mean * phase[0];
        f.y0 = mean * phase[1];
        scale = (n - 1) / (dev * n * n);
        f.floor = a->threshold / (n * n);
        break;
    case MCK_PAC_GLM:
    case MCK_PAC_GC: {
        const int centred = a->measure == MCK_PAC_GLM;
        const double s11 = phase[2] - (centred ? phase[0] * phase[0] / n : 0);
        const double s12 = phase[3] - (centred ? phase[0] * phase[1] / n : 0);
        const double s22 = phase[4] - (centred ? phase[1] * phase[1] / n : 0);
        const double det = s11 * s22 - s12 * s12;
        f.dead = (centred ? flat : square == 0) || !(det > 0 || det - det != 0);
        f.x0 = centred ? mean * phase[0] : 0;
        f.y0 = centred ? mean * phase[1] : 0;
        f.xx = s22;
        f.xy = -2 * s12;
        f.yy = s11;
        scale = 1 / (det * (centred ? dev : square));
        break;
    }
    default:
        f.dead = a->measure == MCK_PAC_MVL && square == 0;
        break;
    }
    f.xx *= scale;
    f.xy *= scale;
    f.yy *= scale;
    return f;
}

static double SN(form_value)(const SN(moments_form) *f, double x, double y)
{
    x -= f->x0;
    y -= f->y0;
    const double q = f->xx * x * x + f->xy * x * y + f->yy * y * y;
    if (f->dead)
        return 0;
    if (f->measure == MCK_PAC_GLM)
        return q < 0 ? 0 : q > 1 ? 1 : q;
    if (f->measure == MCK_PAC_GC)
        return -0.5 * log2(1 - (q < 0 ? 0 : q));
    return q <= f->floor ? 0 : sqrt(q);
}

/* Amplitude side of all bands: power, and spectra when there are surrogates. */
static void SN(moments_amps)(const mck_pac_moments *a, const SN(moments_work) *w)
{
    const int64_t tiles = (a->A + W - 1) / W, at = a->amp_at ? a->amp_at[0] : 0, N = a->N;
    for (int64_t t = 0; t < tiles; t++)
        SN(power_sums)((const T *)a->amp + at + t * a->amp_tile, a->L, w->power + 2 * t * W);
    for (int64_t i = 0; a->null.K > 0 && i < a->A; i++) {
        const int64_t from = at + i / W * a->amp_tile + i % W;
        T *to = w->amp + i * 2 * N;
        w->mean[i] = SN(correlate_amp)((const T *)a->amp + from, a->L, N, a->fft, a->forward,
                                       w->real, w->half, to);
        if (a->measure == MCK_PAC_PLV) {
            /* v1 - i v2, both with their means removed */
            w->mean[a->A + i] = SN(correlate_amp)((const T *)a->amp2 + from, a->L, N, a->fft,
                                                  a->forward, w->real, w->half, w->in);
            for (int64_t k = 0; k < N; k++) {
                to[2 * k] += w->in[2 * k + 1];
                to[2 * k + 1] -= w->in[2 * k];
            }
        }
    }
}

/* Surrogates of one pair: z holds N times the correlation of the mean-free amplitude. x1, y1: what
 * its mean adds. */
static void SN(moments_drawn)(const mck_pac_moments *a, const SN(moments_work) *w,
                              const SN(moments_form) *f, double x1, double y1, int64_t at)
{
    const mck_pac_null *u = &a->null;
    const double unit = 1.0 / (double)a->N;
    for (int64_t k = 0; k < u->K; k++) {
        const int64_t c = u->shift ? u->shift[k] : u->first + k;
        /* shift 0 is the observation itself, to the bit */
        w->s[k] = c == 0 ? w->value[at]
                         : (T)SN(form_value)(f, (double)w->out[2 * c] * unit + x1,
                                             (double)w->out[2 * c + 1] * unit + y1);
        if (u->all)
            ((T *)u->all)[k * a->P * a->A + at] = w->s[k];
    }
    const T value = w->value[at];
    SN(correlate_stats)(u, w->s, a->L, value, w->far, w->top, w->ztop, at, a->P * a->A,
                        u->shift ? w->order : NULL, w->run, w->status + at);
}

static void SN(moments_wave)(const mck_pac_moments *a, const SN(moments_work) *w, const T *u1,
                             const T *u2)
{
    for (int64_t t = 0; t < a->L; t++) {
        w->in[2 * t] = u1[t];
        w->in[2 * t + 1] = u2[t];
    }
    memset(w->in + 2 * a->L, 0, 2 * sizeof(T) * (size_t)(a->N - a->L));
    a->fft(a->inverse, w->in, w->wave);
}

static void SN(moments_band)(const mck_pac_moments *a, const SN(moments_work) *w, int64_t p)
{
    const int64_t tiles = (a->A + W - 1) / W, lanes = tiles * W, at = a->amp_at ? a->amp_at[0] : 0;
    const T *u1 = SN(moments_unit)(a, p), *u2 = u1 + a->unit_band;
    const int plv = a->measure == MCK_PAC_PLV;
    double *phase = w->phase + p * 5, *m = w->cross, *m2 = m + 2 * lanes;
    SN(phase_sums)(u1, u2, a->L, phase);
    for (int64_t t = 0; t < tiles; t++) {
        SN(cross_sums)(u1, u2, (const T *)a->amp + at + t * a->amp_tile, a->L, m + t * W, lanes);
        if (plv)
            SN(cross_sums)(u1, u2, (const T *)a->amp2 + at + t * a->amp_tile, a->L, m2 + t * W,
                           lanes);
    }
    if (a->null.K > 0)
        SN(moments_wave)(a, w, u1, u2);
    for (int64_t i = 0; i < a->A; i++) {
        const int64_t cell = p * a->A + i;
        const SN(moments_form) f = SN(form_make)(a, phase, w->power + 2 * i);
        const double x = plv ? m[i] + m2[lanes + i] : m[i],
                     y = plv ? m[lanes + i] - m2[i] : m[lanes + i];
        const double v = SN(form_value)(&f, x, y);
        /* the sums decide: a non-finite sample makes x, y or the power non-finite */
        const int bad = x - x != 0 || y - y != 0 || w->power[2 * i + 1] - w->power[2 * i + 1] != 0;
        w->value[cell] = bad ? (T)NAN : (T)v;
        w->status[cell] = bad ? MCK_PAC_BAD : f.dead ? MCK_PAC_ZERO : 0;
        if (a->moment) {
            a->moment[2 * p * a->A + i] = x;
            a->moment[(2 * p + 1) * a->A + i] = y;
        }
        if (a->null.K > 0) {
            /* PLV: the means of v1 and v2 both return, times the sums of u */
            double x1 = w->mean[i] * phase[0], y1 = w->mean[i] * phase[1];
            if (plv) {
                x1 += w->mean[a->A + i] * phase[1];
                y1 -= w->mean[a->A + i] * phase[0];
            }
            SN(correlate_product)(w->wave, w->amp + i * 2 * a->N, a->N, 0, w->in);
            a->fft(a->inverse, w->in, w->out);
            SN(moments_drawn)(a, w, &f, x1, y1, cell);
        }
    }
}

static void SN(moments_job)(const mck_pac_moments *a, const SN(moments_work) *w)
{
    for (int64_t k = 0; k < a->null.K; k++)
        w->top[k] = w->ztop[k] = (T)-INFINITY;
    if ((&a->null)->zmax && (&a->null)->shift)
        SN(order_shifts)((&a->null)->shift, w->order, (&a->null)->K);
    SN(moments_amps)(a, w);
    for (int64_t p = 0; p < a->P; p++)
        SN(moments_band)(a, w, p);
    if (a->value)
        memcpy(a->value, w->value, sizeof(T) * (size_t)(a->P * a->A));
    if (a->status)
        memcpy(a->status, w->status, sizeof(int32_t) * (size_t)(a->P * a->A));
    if (a->null.max && a->null.K > 0)
        memcpy(a->null.max, w->top, sizeof(T) * (size_t)a->null.K);
    if (a->null.zmax && a->null.K > 0)
        memcpy(a->null.zmax, w->ztop, sizeof(T) * (size_t)a->null.K);
}

void FN(moments)(const mck_pac_moments *a, int64_t begin, int64_t end, void *work)
{
    const SN(moments_work) w = SN(moments_layout)(a, work);
    for (int64_t job = begin; job < end; job++) {
        const mck_pac_moments one = SN(moments_at)(a, job);
        SN(moments_job)(&one, &w);
    }
}
