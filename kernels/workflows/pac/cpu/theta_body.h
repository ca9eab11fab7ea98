/* theta_body.h - body of theta.c, once per dtype. Letters as in pac.h. */

typedef struct SN(theta_work) {
    T *real;     /* [N] */
    T *spectrum; /* [N] complex, upper half 0 */
    T *out;      /* [N] complex */
    int64_t bytes;
} SN(theta_work);

static SN(theta_work) SN(theta_layout)(const mck_pac_theta *a, void *base)
{
    SN(theta_work) w;
    pac_work p = { base, 0 };
    w.real = pac_take(&p, a->N, sizeof(T));
    w.spectrum = pac_take(&p, 2 * a->N, sizeof(T));
    w.out = pac_take(&p, 2 * a->N, sizeof(T));
    w.bytes = p.used;
    return w;
}

int64_t FN(theta_work)(const mck_pac_theta *a) { return SN(theta_layout)(a, NULL).bytes; }

static void SN(theta_lane)(const mck_pac_theta *a, const SN(theta_work) *w, const T *amp, T *c,
                           T *s)
{
    const int64_t L = a->L, N = a->N, half = N / 2;
    double mean = 0;
    for (int64_t t = 0; t < L; t++)
        mean += (double)amp[t * W];
    mean /= (double)L;
    for (int64_t t = 0; t < L; t++)
        w->real[t] = (T)((double)amp[t * W] - mean);
    memset(w->real + L, 0, sizeof(T) * (size_t)(N - L));
    a->fft(a->forward, w->real, w->spectrum);
    /* doubling all but DC and Nyquist; the phase needs no normalisation */
    for (int64_t k = 1; k < N - half; k++) {
        w->spectrum[2 * k] *= 2;
        w->spectrum[2 * k + 1] *= 2;
    }
    memset(w->spectrum + 2 * (half + 1), 0, 2 * sizeof(T) * (size_t)(N - half - 1));
    a->fft(a->inverse, w->spectrum, w->out);
    for (int64_t t = 0; t < L; t++) {
        const T re = w->out[2 * t], im = w->out[2 * t + 1], r = PAC_SQRT(re * re + im * im);
        c[t * W] = r > 0 ? re / r : r == 0 ? (T)1 : (T)NAN;
        s[t * W] = r > 0 ? im / r : r == 0 ? (T)0 : (T)NAN;
    }
}

void FN(theta)(const mck_pac_theta *a, int64_t begin, int64_t end, void *work)
{
    const SN(theta_work) w = SN(theta_layout)(a, work);
    const int64_t tiles = (a->A + W - 1) / W;
    for (int64_t i = begin; i < end; i++) {
        T *c = (T *)a->cosine + i * a->L * W, *s = (T *)a->sine + i * a->L * W;
        memset(c, 0, sizeof(T) * (size_t)(a->L * W));
        memset(s, 0, sizeof(T) * (size_t)(a->L * W));
        const int64_t left = a->A - i % tiles * W;
        for (int64_t lane = 0; lane < (left < W ? left : W); lane++)
            SN(theta_lane)(a, &w, (const T *)a->amp + i * a->amp_tile + lane, c + lane, s + lane);
    }
}
