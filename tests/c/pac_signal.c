/* pac_signal.c - analytic signals, moments, ranks and the fused row of the phase-amplitude coupling
 * kernels against their definitions.
 * build: levels */
#include "pac_check.h"

/* ---- analytic ---- */
typedef struct analytic_case {
    int64_t T, pad, N, P, A, bins;
    int window, zero_ext, complex_table, demean, whole;
} analytic_case;

/* Band b of the definition at all N samples: z[2N]. */
static void define_band(const mck_pac_analytic *a, const double *ext, int64_t b, double *z)
{
    const int64_t N = a->N;
    for (int64_t n = 0; n < 2 * N; n++)
        z[n] = 0;
    for (int64_t k = a->lo[b]; k < a->hi[b]; k++) {
        double re = 0, im = 0, hr, hi = 0;
        for (int64_t t = 0; t < N; t++) {
            const double w = 2 * PI * (double)(k * t % N) / (double)N;
            re += ext[t] * cos(w);
            im -= ext[t] * sin(w);
        }
        const int64_t at = a->at[b] + k - a->lo[b];
        hr = get(a->table, a->complex_table ? 2 * at : at);
        if (a->complex_table)
            hi = get(a->table, 2 * at + 1);
        const double yr = re * hr - im * hi, yi = re * hi + im * hr;
        for (int64_t n = 0; n < N; n++) {
            const double w = 2 * PI * (double)(k * n % N) / (double)N;
            z[2 * n] += yr * cos(w) - yi * sin(w);
            z[2 * n + 1] += yr * sin(w) + yi * cos(w);
        }
    }
}

static void define_extension(const mck_pac_analytic *a, const void *x, int64_t r, double *ext)
{
    const int64_t T = a->samples, pad = a->pad;
    double mean = 0;
    for (int64_t t = 0; t < T; t++)
        mean += get(x, r * a->x_stride + t) / (double)T;
    for (int64_t n = 0; n < a->N; n++)
        ext[n] = 0;
    for (int64_t t = -pad; t < T + pad; t++) {
        const int64_t m = t < 0 ? -t : t >= T ? 2 * (T - 1) - t : t;
        const double edge = get(x, r * a->x_stride + (t < 0 ? 0 : T - 1)),
                     v = get(x, r * a->x_stride + m);
        const double y = m == t ? v : 2 * edge - v, off = a->demean ? mean : 0;
        ext[pad + t] = m == t ? y - off : a->zero_ext ? 0 : y - off;
    }
}

static void test_analytic(const analytic_case *c)
{
    const int64_t rows = 4, Wl = lanes_of(), tiles = (c->A + Wl - 1) / Wl, nb = c->P + c->A,
                  half = c->N / 2 + 1;
    const int64_t window[6] = { 1, 9, 9, 10, 20, c->T - 2 };
    const int64_t L = c->window ? 8 + 1 + c->T - 22 : c->T;
    void *x = reals(rows * (c->T + 5)), *table = reals(2 * nb * half), *edges = reals(2 * c->bins);
    int64_t *lo = memory(nb * 8), *hi = memory(nb * 8), *at = memory(nb * 8);
    plan forward = { 1, c->N }, inverse = { 0, c->N };
    for (int64_t i = 0; i < rows * (c->T + 5); i++)
        put(x, i, 3 + sin(0.37 * (double)i) + uniform());
    put(x, 1 * (c->T + 5) + 7, NAN);
    for (int64_t t = 0; t < c->T; t++)
        put(x, 2 * (c->T + 5) + t, 1.7);
    for (int64_t i = 0; i < 2 * nb * half; i++)
        put(table, i, (uniform() - (c->complex_table ? 0.5 : 0)) / (double)c->N);
    for (int64_t b = 0; b < nb; b++) {
        const int64_t n = c->whole ? half : 1 + below(half);
        lo[b] = b % 3 == 2 ? half - n : below(half - n + 1);
        hi[b] = lo[b] + n;
        at[b] = b * half;
    }
    ops->edges(edges, c->bins);
    mck_pac_analytic a = { 0 };
    a.idx = memory(rows * c->P * L + 1);
    a.unit = reals(rows * c->P * 2 * L + 1);
    a.angle = reals(rows * c->P * L + 1);
    a.amp = reals(rows * tiles * L * Wl + 1);
    a.z = reals(rows * nb * 2 * L);
    a.status = memory(rows * 4);
    memset(a.status, 0, (size_t)rows * 4);
    a.x = x;
    a.x_stride = c->T + 5;
    a.P = c->P;
    a.A = c->A;
    a.samples = c->T;
    a.L = L;
    a.N = c->N;
    a.pad = c->pad;
    a.window = window;
    a.n_window = c->window ? 3 : 0;
    a.lo = lo;
    a.hi = hi;
    a.at = at;
    a.table = table;
    a.edges = edges;
    a.bins = c->bins;
    a.demean = c->demean;
    a.zero_ext = c->zero_ext;
    a.complex_table = c->complex_table;
    a.fft = slow_fft;
    a.forward = &forward;
    a.inverse = &inverse;
    void *work = memory(ops->analytic_work(&a));
    ops->analytic(&a, 0, rows, work);
    double *ext = memory(c->N * 8), *z = memory(2 * c->N * 8);
    check(a.status[1] == MCK_PAC_BAD && a.status[0] == 0 && a.status[3] == 0, "analytic status");
    for (int64_t r = 0; r < rows; r++) {
        define_extension(&a, x, r, ext);
        for (int64_t b = 0; b < nb; b++) {
            define_band(&a, ext, b, z);
            for (int64_t i = 0, w = 0, t = c->window ? window[0] : 0; i < L; i++, t++) {
                if (c->window && t == window[2 * w + 1])
                    t = window[2 * ++w];
                double re = z[2 * (t + c->pad)], im = z[2 * (t + c->pad) + 1];
                if (r == 1)
                    re = im = (double)NAN;
                if (r == 2 && c->demean)
                    re = im = 0;
                const double scale = 3, e = tol(2e-6, 1e-14) * scale, size = hypot(re, im);
                const int64_t zi = ((r * nb + b) * L + i) * 2;
                check(near_to(get(a.z, zi), re, e) && near_to(get(a.z, zi + 1), im, e),
                      "analytic z f%d row %d band %d (%d..%d) sample %d: %.9g %.9g, want %.9g %.9g",
                      prec * 8, (int)r, (int)b, (int)lo[b], (int)hi[b], (int)t, get(a.z, zi),
                      get(a.z, zi + 1), re, im);
                if (b >= c->P) {
                    const int64_t q = b - c->P;
                    check(
                        near_to(get(a.amp, ((r * tiles + q / Wl) * L + i) * Wl + q % Wl), size, e),
                        "analytic amp");
                    continue;
                }
                const int64_t pi_ = (r * c->P + b) * L + i;
                const double phi = r == 2 && c->demean ? 0 : atan2(im, re),
                             da = remainder(get(a.angle, pi_) - phi, 2 * PI);
                if (r == 1) {
                    check(a.idx[pi_] == 0 && isnan(get(a.angle, pi_)) &&
                              isnan(get(a.unit, (r * c->P + b) * 2 * L + i)),
                          "NaN row");
                    continue;
                }
                if (r == 2 && c->demean) {
                    check(a.idx[pi_] == c->bins / 2 && get(a.angle, pi_) == 0, "constant row");
                    continue;
                }
                if (size < 20 * e)
                    continue;
                check(fabs(da) < 3 * e / size, "analytic angle");
                check(near_to(get(a.unit, (r * c->P + b) * 2 * L + i), cos(phi), 3 * e / size),
                      "analytic cos");
                check(near_to(get(a.unit, (r * c->P + b) * 2 * L + L + i), sin(phi), 3 * e / size),
                      "analytic sin");
                const double turn = (phi + PI) * (double)c->bins / (2 * PI),
                             edge = fabs(turn - floor(turn + 0.5));
                if (edge > 3 * e / size * (double)c->bins)
                    check(a.idx[pi_] == floor_bin(phi, c->bins), "analytic bin %d, want %d",
                          a.idx[pi_], (int)floor_bin(phi, c->bins));
            }
        }
        for (int64_t i = 0; i < L; i++)
            for (int64_t q = c->A; q < tiles * Wl; q++)
                check(get(a.amp, ((r * tiles + q / Wl) * L + i) * Wl + q % Wl) == 0,
                      "surplus lane is not 0");
    }
    free(a.idx), free(a.unit), free(a.angle), free(a.amp), free(a.z), free(a.status);
    free(x), free(table), free(edges), free(lo), free(hi), free(at);
    free(work), free(ext), free(z);
}

/* Exact edges: a transform that hands out the wanted points. */
static const double *given_points;
static int64_t given_n;
static void given_fft(void *vp, const void *in, void *out)
{
    const plan *p = vp;
    (void)in;
    for (int64_t i = 0; !p->forward_real && i < 2 * given_n; i++)
        put(out, i, given_points[i]);
    for (int64_t i = 0; p->forward_real && i < given_n + 2; i++)
        put(out, i, 0);
}
static void test_edges(void)
{
    static const double points[] = { 1,  0, 0,  1, -1, 0, 0,    -1, 1,     1,  -1,   1, -1,
                                     -1, 1, -1, 0, 0,  2, 1e-3, -2, -1e-3, -2, 1e-3, 3, -1e-3 };
    /* angle in eighths of a turn from -pi where it is exact */
    static const int eighth[] = { 4, 6, 8, 2, 5, 7, 1, 3, 4, -1, -1, -1, -1 };
    static const int64_t some[] = { 2, 3, 4, 7, 8, 12, 16, 18, 72, 255, 256 };
    const int64_t n = 13;
    plan forward = { 1, n }, back = { 0, n };
    void *x = reals(n);
    uint8_t idx[13];
    const int64_t zero = 0, one = 1;
    given_points = points;
    given_n = n;
    for (int64_t t = 0; t < n; t++)
        put(x, t, (double)t);
    for (size_t s = 0; s < sizeof some / sizeof *some; s++) {
        const int64_t B = some[s];
        void *edges = reals(2 * B), *table = reals(1);
        put(table, 0, 1);
        ops->edges(edges, B);
        mck_pac_analytic a = { 0 };
        a.idx = idx;
        a.x = x;
        a.P = 1;
        a.samples = a.L = a.N = a.x_stride = n;
        a.lo = &zero;
        a.hi = &one;
        a.at = &zero;
        a.table = table;
        a.edges = edges;
        a.bins = B;
        a.fft = given_fft;
        a.forward = &forward;
        a.inverse = &back;
        void *work = memory(ops->analytic_work(&a));
        ops->analytic(&a, 0, 1, work);
        for (int64_t t = 0; t < n; t++) {
            int64_t want = eighth[t] >= 0 ? eighth[t] * B / 8
                                          : floor_bin(atan2(points[2 * t + 1], points[2 * t]), B);
            want = want >= B ? B - 1 : want;
            check(idx[t] == want, "edge f%d B%d point %d: bin %d, want %d", prec * 8, (int)B,
                  (int)t, idx[t], (int)want);
        }
        free(work), free(edges), free(table);
    }
    free(x);
}

/* ---- moments ---- */
static double define_moment(int measure, const double *u, const double *v, const double *a,
                            const double *b, int64_t L, int64_t c, double threshold)
{
    double m = 0, sd = 0, re = 0, im = 0, sq = 0, s[5] = { 0 };
    const double n = (double)L;
    for (int64_t t = 0; t < L; t++)
        m += a[t] / n;
    for (int64_t t = 0; t < L; t++) {
        const int64_t q = (t + c) % L;
        const double w = measure == MCK_PAC_GLM || measure == MCK_PAC_NDPAC ? a[q] - m : a[q];
        sd += (a[t] - m) * (a[t] - m);
        sq += a[t] * a[t];
        re += u[t] * w + (measure == MCK_PAC_PLV ? v[t] * b[q] : 0);
        im += v[t] * w - (measure == MCK_PAC_PLV ? u[t] * b[q] : 0);
        s[0] += u[t], s[1] += v[t], s[2] += u[t] * u[t], s[3] += u[t] * v[t], s[4] += v[t] * v[t];
    }
    if (measure == MCK_PAC_MVL || measure == MCK_PAC_PLV)
        return hypot(re, im) / n;
    if (measure == MCK_PAC_OZK)
        return hypot(re, im) / sqrt(n * sq);
    if (measure == MCK_PAC_NDPAC) {
        const double w = hypot(re, im) / sqrt(sd / (n - 1));
        return w * w <= threshold ? 0 : w / n;
    }
    const double k = measure == MCK_PAC_GLM ? 1 : 0;
    const double s11 = s[2] - k * s[0] * s[0] / n, s12 = s[3] - k * s[0] * s[1] / n,
                 s22 = s[4] - k * s[1] * s[1] / n;
    const double r2 = (s22 * re * re - 2 * s12 * re * im + s11 * im * im) /
                      (s11 * s22 - s12 * s12) / (k != 0 ? sd : sq);
    return measure == MCK_PAC_GLM ? r2 : -0.5 * log2(1 - r2);
}

static void test_moments(int measure, int64_t P, int64_t A, int64_t L, int64_t K, int circular,
                         double threshold)
{
    const int64_t jobs = 2, Wl = lanes_of(), tiles = (A + Wl - 1) / Wl, cells = P * A, band = L + 1,
                  tile = L * Wl;
    void *unit = reals(jobs * P * 2 * band), *amp = reals(jobs * tiles * tile),
         *amp2 = reals(jobs * tiles * tile);
    int64_t *shift = memory((K + 1) * 8);
    plan forward = { 1, circular ? L : 2 * L }, inverse = { 0, forward.n };
    memset(amp, 0, (size_t)(jobs * tiles * tile * prec));
    memset(amp2, 0, (size_t)(jobs * tiles * tile * prec));
    for (int64_t k = 0; k < K; k++)
        shift[k] = below(L);
    for (int64_t j = 0; j < jobs; j++) {
        for (int64_t p = 0; p < P; p++)
            for (int64_t t = 0; t < band; t++) {
                const double phi = 0.11 * (double)((p + 1) * t) + uniform();
                put(unit, ((j * P + p) * 2) * band + t, cos(phi));
                put(unit, ((j * P + p) * 2 + 1) * band + t, sin(phi));
            }
        for (int64_t i = 0; i < A; i++)
            for (int64_t t = 0; t < L; t++) {
                const double w = 0.11 * (double)t + 3 * uniform(), v = 1 + 0.5 * cos(w) + uniform();
                const int64_t at = (j * tiles + i / Wl) * tile + t * Wl + i % Wl;
                put(amp, at, measure == MCK_PAC_PLV ? cos(w) : measure == MCK_PAC_GC ? v - 1.5 : v);
                put(amp2, at, sin(w));
            }
    }
    mck_pac_moments a = { 0 };
    a.value = reals(jobs * cells);
    a.status = memory(jobs * cells * 4);
    a.null.mean = memory(jobs * cells * 8);
    a.null.m2 = memory(jobs * cells * 8);
    a.null.exceed = memory(jobs * cells * 8);
    a.null.max = reals(jobs * K + 1);
    a.null.zmax = reals(jobs * K + 1);
    a.null.zvalue = reals(jobs * P * A);
    a.null.all = reals(jobs * K * cells + 1);
    a.null.K = K;
    a.null.shift = shift;
    a.unit = unit;
    a.amp = amp;
    a.amp2 = amp2;
    a.unit_band = band;
    a.amp_tile = tile;
    a.P = P;
    a.A = A;
    a.L = L;
    a.measure = measure;
    a.threshold = threshold;
    a.N = forward.n;
    a.fft = slow_fft;
    a.forward = &forward;
    a.inverse = &inverse;
    void *work = memory(ops->moments_work(&a));
    ops->moments(&a, 0, jobs, work);
    double *u = memory(L * 8), *v = memory(L * 8), *x = memory(L * 8), *y = memory(L * 8);
    for (int64_t j = 0; j < jobs; j++)
        for (int64_t p = 0; p < P; p++)
            for (int64_t i = 0; i < A; i++) {
                const int64_t at = (j * P + p) * A + i;
                for (int64_t t = 0; t < L; t++) {
                    const int64_t am = (j * tiles + i / Wl) * tile + t * Wl + i % Wl;
                    u[t] = get(unit, (j * P + p) * 2 * band + t);
                    v[t] = get(unit, ((j * P + p) * 2 + 1) * band + t);
                    x[t] = get(amp, am);
                    y[t] = get(amp2, am);
                }
                const double want = define_moment(measure, u, v, x, y, L, 0, threshold),
                             got = get(a.value, at);
                check(near_to(got, want, tol(2e-6, 1e-12)), "moment %d f%d: %.9g, want %.9g",
                      measure, prec * 8, got, want);
                check(a.status[at] == 0, "moment status %d", a.status[at]);
                int64_t more = 0;
                for (int64_t k = 0; k < K; k++) {
                    const double s = get(a.null.all, ((j * K + k) * P + p) * A + i);
                    const double w = define_moment(measure, u, v, x, y, L, shift[k], threshold);
                    check(near_to(s, w, tol(3e-6, 1e-12)),
                          "moment %d f%d surrogate %d: %.9g, want %.9g", measure, prec * 8,
                          (int)shift[k], s, w);
                    more += s >= got;
                }
                check(K == 0 || a.null.exceed[at] == more, "moment exceed");
            }
    for (int64_t j = 0; j < jobs; j++)
        for (int64_t k = 0; k < K; k++)
            check_standardised(&a.null, a.value, j, k, P * A);
    free(work), free(unit), free(amp), free(amp2), free(shift), free(a.value), free(a.status),
        free(a.null.mean), free(a.null.m2);
    free(a.null.exceed), free(a.null.max), free(a.null.zmax), free(a.null.zvalue);
    free(a.null.all), free(u), free(v), free(x), free(y);
}

/* C6: a = 1 + m cos phi, evenly sampled. */
static void test_moments_known(void)
{
    const int64_t L = 3600, Wl = lanes_of();
    void *unit = reals(2 * L), *amp = reals(L * Wl), *value = reals(3);
    int32_t status[3];
    memset(amp, 0, (size_t)(L * Wl * prec));
    for (int64_t t = 0; t < L; t++) {
        const double phi = 2 * PI * ((double)t + 0.5) / (double)L;
        put(unit, t, cos(phi));
        put(unit, L + t, sin(phi));
        put(amp, t * Wl, 1 + 0.5 * cos(phi));
        put(amp, t * Wl + 1, 1 + cos(phi));
    }
    static const double want[][3] = { { 0.25, 0.5, 0 },
                                      { 0.235702, 0.408248, 0 },
                                      { 0.7071067811865475, 0.7071067811865475, 0 },
                                      { 1, 1, 0 } };
    for (int measure = MCK_PAC_MVL; measure <= MCK_PAC_GLM; measure++) {
        mck_pac_moments a = { 0 };
        a.value = value;
        a.status = status;
        a.unit = unit;
        a.amp = amp;
        a.unit_band = L;
        a.amp_tile = L * Wl;
        a.P = 1;
        a.A = 3;
        a.L = L;
        a.measure = measure;
        a.threshold = -1;
        void *work = memory(ops->moments_work(&a));
        ops->moments(&a, 0, 1, work);
        for (int i = 0; i < 3; i++) {
            const double w = want[measure][i] *
                             (measure == MCK_PAC_NDPAC ? sqrt((double)(L - 1) / (double)L) : 1);
            check(near_to(get(value, i), w, 1e-6), "C6 measure %d f%d: %.9g, want %.9g", measure,
                  prec * 8, get(value, i), w);
            check(status[i] == (i == 2 ? MCK_PAC_ZERO : 0), "C6 status %d", status[i]);
        }
        free(work);
    }
    free(unit), free(amp), free(value);
}

/* ---- theta, ranks ---- */
static void test_theta(void)
{
    const int64_t L = 53, N = 60, Wl = lanes_of();
    const int lanes = 3;
    void *amp = reals(L * Wl), *c = reals(L * Wl), *s = reals(L * Wl);
    plan forward = { 1, N }, inverse = { 0, N };
    for (int64_t i = 0; i < L * Wl; i++)
        put(amp, i, 1 + uniform());
    const mck_pac_theta a = { c, s, amp, L * Wl, lanes, L, N, slow_fft, &forward, &inverse };
    void *work = memory(ops->theta_work(&a));
    ops->theta(&a, 0, 1, work);
    for (int64_t i = 0; i < Wl; i++) {
        double mean = 0;
        for (int64_t t = 0; t < L; t++)
            mean += get(amp, t * Wl + i) / (double)L;
        for (int64_t n = 0; n < L; n++) {
            double re = 0, im = 0;
            for (int64_t k = 0; k <= N / 2; k++)
                for (int64_t t = 0; t < L; t++) {
                    const double g = k == 0 || k == N / 2 ? 1 : 2,
                                 w = 2 * PI * (double)(k * (n - t) % N) / (double)N;
                    re += g * (get(amp, t * Wl + i) - mean) * cos(w);
                    im += g * (get(amp, t * Wl + i) - mean) * sin(w);
                }
            const double r = hypot(re, im), e = tol(1e-4, 1e-11) / r;
            check(near_to(get(c, n * Wl + i), i < lanes ? re / r : 0, e) &&
                      near_to(get(s, n * Wl + i), i < lanes ? im / r : 0, e),
                  "theta");
        }
    }
    free(work), free(amp), free(c), free(s);
}

static void test_ranks(void)
{
    static const int64_t lengths[] = { 1, 2, 7, 300 };
    for (int q = 0; q < 4; q++) {
        const int64_t L = lengths[q], step = 3;
        void *x = reals(3 * L * step), *y = reals(3 * L * step), *score = reals(L);
        int64_t at[3] = { 0, 2 * L * step, L * step };
        ops->scores(score, L);
        for (int64_t k = 0; k < L; k++)
            check(near_to(0.5 * erfc(-get(score, k) / sqrt(2)), (double)(k + 1) / (double)(L + 1),
                          tol(1e-7, 1e-15)),
                  "score %d", (int)k);
        for (int64_t i = 0; i < 3 * L * step; i++)
            put(x, i, (double)(below(40) - 20) * (below(9) ? 1.0 : -0.0));
        put(x, at[2] + (L - 1) * step, NAN);
        const mck_pac_ranks a = { y, x, at, at, L, step, score };
        void *work = memory(ops->ranks_work(&a));
        ops->ranks(&a, 0, 3, work);
        for (int r = 0; r < 3; r++)
            for (int64_t t = 0; t < L; t++) {
                int64_t rank = 0;
                for (int64_t k = 0; k < L; k++) {
                    const double me = get(x, at[r] + t * step), other = get(x, at[r] + k * step);
                    rank += other < me || (other == me && k < t);
                }
                check(near_to(get(y, at[r] + t * step), r == 2 ? (double)NAN : get(score, rank), 0),
                      "rank f%d L%d", prec * 8, (int)L);
            }
        free(work), free(x), free(y), free(score);
    }
}

/* ---- the fused row gives what the stages give ---- */
static void test_row(int exhaustive, int moments, int two)
{
    const int64_t rows = 3, T = 120, pad = 20, N = 160, P = 2, A = 5, B = 18, K = 6,
                  Wl = lanes_of(), half = N / 2 + 1;
    void *x = reals(rows * T), *table = reals((P + A) * half), *edges = reals(2 * B);
    int64_t lo[7], hi[7], at[7], shift[6];
    plan forward = { 1, N }, back = { 0, N }, cf = { 1, T }, cb = { 0, T };
    for (int64_t b = 0; b < P + A; b++) {
        lo[b] = 0;
        hi[b] = half;
        at[b] = b * half;
        for (int64_t k = 0; k < half; k++)
            put(table, at[b] + k,
                exp(-0.05 * pow((double)(k - 3 - (b < P ? 3 * b : 6 * b)), 2)) / (double)N);
    }
    for (int64_t i = 0; i < rows * T; i++)
        put(x, i, sin(0.2 * (double)i) + uniform());
    put(x, T + 11, INFINITY);
    for (int64_t k = 0; k < K; k++)
        shift[k] = below(T);
    ops->edges(edges, B);
    mck_pac_analytic an = { 0 }, am;
    an.x = x;
    an.x_stride = an.samples = an.L = T;
    an.P = P;
    an.A = A;
    an.N = N;
    an.pad = pad;
    an.lo = lo;
    an.hi = hi;
    an.at = at;
    an.table = table;
    an.edges = edges;
    an.bins = B;
    an.demean = 1;
    an.fft = slow_fft;
    an.forward = &forward;
    an.inverse = &back;
    void *value[2], *dist[2];
    double *mean[2];
    int32_t *status[2];
    mck_pac_bins bi = { 0 };
    mck_pac_moments mo = { 0 };
    for (int fused = 0; fused < 2; fused++) {
        mck_pac_null nu = { 0 };
        value[fused] = reals(rows * P * A);
        dist[fused] = reals(rows * P * A * B);
        mean[fused] = nu.mean = memory(rows * P * A * 8);
        status[fused] = memory(rows * P * A * 4);
        nu.K = K;
        nu.shift = shift;
        bi = (mck_pac_bins){ .value = value[fused],
                             .dist = dist[fused],
                             .status = status[fused],
                             .null = nu,
                             .P = P,
                             .A = A,
                             .L = T,
                             .G = 1,
                             .bins = B,
                             .N = T,
                             .fft = slow_fft,
                             .forward = &cf,
                             .inverse = &cb };
        mo = (mck_pac_moments){ .value = value[fused],
                                .status = status[fused],
                                .null = nu,
                                .P = P,
                                .A = A,
                                .L = T,
                                .measure = MCK_PAC_OZK,
                                .threshold = -1,
                                .N = T,
                                .fft = slow_fft,
                                .forward = &cf,
                                .inverse = &cb };
        if (fused) {
            mck_pac_row row = { &an, NULL, moments ? NULL : &bi, moments ? &mo : NULL, exhaustive };
            if (two) {
                am = an;
                am.P = 0;
                am.lo = lo + P;
                am.hi = hi + P;
                am.at = at + P;
                an.A = 0;
                row.amp = &am;
            }
            void *work = memory(ops->row_work(&row));
            for (int64_t r = rows; r-- > 0;)
                ops->row(&row, r, r + 1, work);
            free(work);
            continue;
        }
        mck_pac_analytic staged = an;
        staged.idx = memory(rows * P * T);
        staged.unit = reals(rows * P * 2 * T);
        staged.amp = reals(rows * T * Wl);
        void *work = memory(ops->analytic_work(&staged));
        ops->analytic(&staged, 0, rows, work);
        free(work);
        bi.idx = staged.idx;
        bi.amp = mo.amp = staged.amp;
        bi.idx_band = mo.unit_band = T;
        bi.amp_tile = mo.amp_tile = T * Wl;
        mo.unit = staged.unit;
        work = memory(moments      ? ops->moments_work(&mo)
                      : exhaustive ? ops->exhaustive_work(&bi)
                                   : ops->bins_work(&bi));
        if (moments)
            ops->moments(&mo, 0, rows, work);
        else
            (exhaustive ? ops->exhaustive : ops->bins)(&bi, 0, rows, work);
        free(work), free(staged.idx), free(staged.unit), free(staged.amp);
    }
    for (int64_t i = 0; i < rows * P * A; i++) {
        const int bad = i / (P * A) == 1;
        check(near_to(get(value[1], i), get(value[0], i), 0), "row: value differs from the stages");
        check(near_to(mean[1][i], mean[0][i], 0), "row: mean differs from the stages");
        check(status[1][i] == status[0][i] && !!(status[1][i] & MCK_PAC_BAD) == bad,
              "row: status %d", status[1][i]);
        check(isnan(get(value[1], i)) == bad && isnan(mean[1][i]) == bad,
              "row: NaN stays in its row");
    }
    check(moments || !memcmp(dist[0], dist[1], (size_t)(P * A * B * prec)),
          "row: dist differs from the stages");
    for (int i = 0; i < 2; i++)
        free(value[i]), free(dist[i]), free(mean[i]), free(status[i]);
    free(x), free(table), free(edges);
}

static void test_signal(void)
{
    static const analytic_case cases[] = {
        { .T = 50, .pad = 7, .N = 64, .P = 2, .A = 3, .bins = 18, .demean = 1 },
        { .T = 61, .pad = 12, .N = 90, .P = 3, .A = 9, .bins = 7, .demean = 1, .whole = 1 },
        { .T = 61, .pad = 12, .N = 91, .P = 3, .A = 9, .bins = 72 },
        { .T = 40, .pad = 0, .N = 40, .P = 3, .A = 17, .bins = 2, .window = 1, .demean = 1 },
        { .T = 44,
          .pad = 43,
          .N = 132,
          .P = 2,
          .A = 2,
          .bins = 255,
          .zero_ext = 1,
          .complex_table = 1,
          .window = 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        test_analytic(&cases[i]);
    test_edges();
    test_moments_known();
    for (int measure = MCK_PAC_MVL; measure <= MCK_PAC_GC; measure++) {
        test_moments(measure, 2, 3, 97, 5, 1, -1);
        test_moments(measure, 3, 9, 300, 4, 0, -1);
        test_moments(measure, 1, 17, 301, 0, 1, measure == MCK_PAC_NDPAC ? 200 : -1);
    }
    test_theta();
    test_ranks();
    test_row(0, 0, 0);
    test_row(0, 0, 1);
    test_row(1, 0, 0);
    test_row(0, 1, 0);
}

int main(void) { return both(test_signal); }
