/* pac_kernels.c - the phase-amplitude coupling kernels against double loops of their definitions:
 * bins, drawn shifts, all shifts, known values.
 * build: levels
 *
 * Links with kernels/cpu/pac*.c compiled at one ISA level, -DMC_ISA the same here; needs no
 * transform library, its own slow transform serves as `fft`. Prints "N passed, M failed" and
 * returns 1 on a failure. The known values are those of the spec's conformance list. */
#include "pac_check.h"

/* ---- bins, drawn shifts, exhaustive ---- */
typedef struct bins_case {
    int64_t jobs, P, A, L, G, B, K;
    int norm, measure, exhaustive, circular, scattered, empty;
    double epsilon, tau;
    int asymmetric;
} bins_case;

static double amp_at(const mck_pac_bins *a, int64_t seg, int64_t i, int64_t t)
{
    const int64_t Wl = lanes_of(), tiles = (a->A + Wl - 1) / Wl;
    const int64_t at = a->amp_at ? a->amp_at[seg] : seg * tiles * a->amp_tile;
    return get(a->amp, at + i / Wl * a->amp_tile + t * Wl + i % Wl);
}

static double soft_weight(const mck_pac_bins *a, double phi, int64_t j)
{
    double sum = 0, mine = 0;
    for (int64_t k = 0; k < a->bins; k++) {
        const double c = -PI + ((double)k + 0.5) * 2 * PI / (double)a->bins, d = phi - c + PI;
        const double w = (a->asymmetric ? fmod(d, 2 * PI) : d - 2 * PI * floor(d / (2 * PI))) - PI;
        const double e = exp(-fabs(w) / a->tau);
        sum += e;
        mine = k == j ? e : mine;
    }
    return mine / sum;
}

static void define_sums(const mck_pac_bins *a, int64_t job, int64_t p, int64_t i, int64_t c,
                        double *s, double *n)
{
    for (int64_t j = 0; j < a->bins; j++)
        s[j] = n[j] = 0;
    for (int64_t g = 0; g < a->G; g++) {
        const int64_t seg = job * a->G + g,
                      at =
                          (a->idx_at ? a->idx_at[seg] : seg * a->P * a->idx_band) + p * a->idx_band;
        for (int64_t t = 0; t < a->L; t++) {
            const double v = amp_at(a, seg, i, (t + c) % a->L);
            if (a->tau > 0) {
                for (int64_t j = 0; j < a->bins; j++) {
                    const double w = soft_weight(a, get(a->angle, at + t), j);
                    s[j] += w * v;
                    n[j] += w;
                }
            } else {
                s[a->idx[at + t]] += v;
                n[a->idx[at + t]] += 1;
            }
        }
    }
}

static void fill_phase(uint8_t *idx, int64_t n, int64_t B, int empty)
{
    const int64_t longest = 1 + below(30), use = empty ? B - 1 : B;
    for (int64_t t = 0; t < n;) {
        const uint8_t j = (uint8_t)below(use);
        for (int64_t run = 1 + below(longest); run > 0 && t < n; run--)
            idx[t++] = j;
    }
}


static void test_bins(const bins_case *b)
{
    const int64_t Wl = lanes_of(), tiles = (b->A + Wl - 1) / Wl, segs = b->jobs * b->G,
                  cells = b->P * b->A;
    const int64_t band = b->L + 3, tile = b->L * Wl + 2 * Wl, B = b->B, K = b->K;
    uint8_t *idx = memory(segs * b->P * band);
    void *amp = reals(segs * tiles * tile), *angle = reals(segs * b->P * band);
    int64_t *idx_at = memory(segs * 8), *amp_at_ = memory(segs * 8), *shift = memory((K + 1) * 8);
    for (int64_t s = 0; s < segs; s++) {
        for (int64_t p = 0; p < b->P; p++) {
            fill_phase(idx + (s * b->P + p) * band, band, B, b->empty);
            for (int64_t t = 0; t < band; t++)
                put(angle, (s * b->P + p) * band + t, (2 * uniform() - 1) * PI);
        }
        idx_at[s] = (segs - 1 - s) * b->P * band;
        amp_at_[s] = (segs - 1 - s) * tiles * tile;
        for (int64_t i = 0; i < tiles * tile; i++)
            put(amp, s * tiles * tile + i, 0);
        for (int64_t i = 0; i < b->A; i++)
            for (int64_t t = 0; t < b->L; t++)
                put(amp, s * tiles * tile + i / Wl * tile + t * Wl + i % Wl,
                    0.2 + uniform() + (i % 3 == 0) * (1 + sin(0.3 * (double)t)));
    }
    for (int64_t k = 0; k < K; k++)
        shift[k] = k == 0 ? b->L - 1 : k == 1 ? 0 : below(b->L);
    double *divisor = memory(B * 8);
    for (int64_t j = 0; j < B; j++)
        divisor[j] = j == 1 ? 0 : 1 + (double)below(50);
    plan forward = { 1, b->circular ? b->L : 2 * b->L + 1 }, inverse = { 0, forward.n };
    mck_pac_bins a = { 0 };
    a.value = reals(b->jobs * cells);
    a.sums = memory(b->jobs * cells * B * 8);
    a.count = memory(b->jobs * b->P * B * 8);
    a.dist = reals(b->jobs * cells * B);
    a.best = memory(b->jobs * cells * 4);
    a.pref = reals(b->jobs * cells);
    a.status = memory(b->jobs * cells * 4);
    a.null.mean = memory(b->jobs * cells * 8);
    a.null.m2 = memory(b->jobs * cells * 8);
    a.null.exceed = memory(b->jobs * cells * 8);
    a.null.max = reals(b->jobs * K + 1);
    a.null.zmax = reals(b->jobs * K + 1);
    a.null.zvalue = reals(b->jobs * cells);
    a.null.all = reals(b->jobs * K * cells + 1);
    a.null.K = K;
    a.null.shift = shift;
    a.idx = idx;
    a.amp = amp;
    a.angle = angle;
    a.idx_at = b->scattered ? idx_at : NULL;
    a.amp_at = b->scattered ? amp_at_ : NULL;
    a.idx_band = band;
    a.amp_tile = tile;
    a.P = b->P;
    a.A = b->A;
    a.L = b->L;
    a.G = b->G;
    a.bins = B;
    a.norm = b->norm;
    a.measure = b->measure;
    a.divisor = divisor;
    a.epsilon = b->epsilon;
    a.tau = b->tau;
    a.asymmetric = b->asymmetric;
    a.N = forward.n;
    a.fft = slow_fft;
    a.forward = &forward;
    a.inverse = &inverse;
    const int64_t bytes = b->exhaustive ? ops->exhaustive_work(&a) : ops->bins_work(&a);
    char *work = memory(bytes + 64);
    memset(work + bytes, 0x5a, 64);
    (b->exhaustive ? ops->exhaustive : ops->bins)(&a, 0, b->jobs, work);
    for (int i = 0; i < 64; i++)
        check(work[bytes + i] == 0x5a, "bins: workspace overrun");
    double *s = memory(B * 8), *n = memory(B * 8), *p = memory(B * 8);
    /* soft weights turn an f32 rounding of the angle into eps/tau */
    const double t1 = tol(b->tau > 0 ? 3e-5 : 3e-6, 1e-12);
    for (int64_t job = 0; job < b->jobs; job++)
        for (int64_t ph = 0; ph < b->P; ph++)
            for (int64_t i = 0; i < b->A; i++) {
                const int64_t at = (job * b->P + ph) * b->A + i;
                double sum = 0, sq = 0, re = 0, im = 0;
                int64_t more = 0, top = 0;
                define_sums(&a, job, ph, i, 0, s, n);
                const double v = define_value(&a, s, n, p), got = get(a.value, at);
                check(near_to(got, v, t1), "bins value f%d P%d A%d L%d B%d: %.9g, want %.9g",
                      prec * 8, (int)ph, (int)i, (int)b->L, (int)B, got, v);
                int empty = 0, zero = 1;
                for (int64_t j = 0; j < B; j++) {
                    const double u = a.sums[((job * b->P + ph) * B + j) * b->A + i];
                    check(near_to(u, s[j], tol(b->tau > 0 ? 1e-5 : 1e-6, 1e-13) * (1 + s[j])),
                          "bins sums f%d: %.9g, want %.9g", prec * 8, u, s[j]);
                    check(near_to(a.count[(job * b->P + ph) * B + j], n[j],
                                  b->tau > 0 ? t1 * (1 + n[j]) : 0),
                          "bins count");
                    empty |= n[j] == 0;
                    zero &= p[j] == 0;
                    if (!(b->epsilon > 0))
                        check(near_to(get(a.dist, at * B + j), p[j], t1), "bins dist");
                    const double c = ((double)j + 0.5) * 2 * PI / (double)B - PI;
                    re += p[j] * cos(c);
                    im += p[j] * sin(c);
                    top = p[j] > p[top] ? j : top;
                }
                if (!(b->epsilon > 0) && !zero) {
                    check(near_to(p[a.best[at]], p[top], t1), "bins best %d, want %d", a.best[at],
                          (int)top);
                    if (hypot(re, im) > 1e-3)
                        check(fabs(remainder(get(a.pref, at) - atan2(im, re), 2 * PI)) < t1 * 1000,
                              "bins pref");
                }
                for (int64_t k = 0; k < K; k++) {
                    define_sums(&a, job, ph, i, shift[k], s, n);
                    const double w = define_value(&a, s, n, p),
                                 u = get(a.null.all, ((job * K + k) * b->P + ph) * b->A + i);
                    check(near_to(u, w, t1), "%s surrogate f%d shift %d: %.9g, want %.9g",
                          b->exhaustive ? "exhaustive" : "bins", prec * 8, (int)shift[k], u, w);
                    more += u >= got;
                    sum += u;
                    sq += u * u;
                }
                if (K > 0) {
                    const double mean = sum / (double)K;
                    check(near_to(a.null.mean[at], mean, 1e-12), "null mean %.9g, want %.9g",
                          a.null.mean[at], mean);
                    check(near_to(a.null.m2[at], sq - sum * mean, 1e-11 * (double)K), "null m2");
                    check(a.null.exceed[at] == more, "null exceed %d, want %d",
                          (int)a.null.exceed[at], (int)more);
                }
                check((a.status[at] & MCK_PAC_EMPTY) == (empty ? MCK_PAC_EMPTY : 0),
                      "status of an empty bin");
                check(!(a.status[at] & MCK_PAC_BAD), "status bad");
            }
    for (int64_t job = 0; job < b->jobs; job++)
        for (int64_t k = 0; k < K; k++) {
            double top = -INFINITY;
            for (int64_t i = 0; i < cells; i++)
                top = fmax(top, get(a.null.all, (job * K + k) * cells + i));
            check(get(a.null.max, job * K + k) == top, "null max");
            check_standardised(&a.null, a.value, job, k, cells);
        }
    /* any split of jobs, and shifts in two calls, give the same */
    if (!b->exhaustive || b->K > 3) {
        mck_pac_bins c = a;
        c.value = reals(b->jobs * cells);
        c.status = memory(b->jobs * cells * 4);
        c.sums = NULL;
        c.count = NULL;
        c.dist = NULL;
        c.best = NULL;
        c.pref = NULL;
        c.null.max = NULL;
        c.null.zmax = NULL;
        c.null.zvalue = NULL;
        c.null.all = NULL;
        c.null.mean = memory(b->jobs * cells * 8);
        c.null.m2 = memory(b->jobs * cells * 8);
        c.null.exceed = memory(b->jobs * cells * 8);
        for (int64_t job = b->jobs; job-- > 0;)
            (b->exhaustive ? ops->exhaustive : ops->bins)(&c, job, job + 1, work);
        check(!memcmp(c.value, a.value, (size_t)(b->jobs * cells * prec)),
              "bins: split of jobs changes values");
        c.null.K = 0;
        ops->bins(&c, 0, b->jobs, work);
        check(!memcmp(c.value, a.value, (size_t)(b->jobs * cells * prec)),
              "bins: values depend on the number of surrogates");
        c.null.K = K;
        if (K > 0)
            check(!memcmp(c.null.m2, a.null.m2, (size_t)(b->jobs * cells * 8)),
                  "bins: split of jobs changes the spread");
        if (K > 3) {
            c.null.K = 3;
            (b->exhaustive ? ops->exhaustive : ops->bins)(&c, 0, b->jobs, work);
            c.null.prior = 3;
            c.null.K = K - 3;
            c.null.shift = shift + 3;
            (b->exhaustive ? ops->exhaustive : ops->bins)(&c, 0, b->jobs, work);
            for (int64_t at = 0; at < b->jobs * cells; at++) {
                check(near_to(c.null.mean[at], a.null.mean[at], 1e-13), "prior: mean");
                check(near_to(c.null.m2[at], a.null.m2[at], 1e-13), "prior: m2");
                check(c.null.exceed[at] == a.null.exceed[at], "prior: exceed");
            }
        }
        free(c.value);
        free(c.status);
        free(c.null.mean);
        free(c.null.m2);
        free(c.null.exceed);
    }
    /* the same value from the sums alone */
    if (!(b->tau > 0)) {
        mck_pac_bins c = a;
        c.value = reals(b->jobs * cells);
        c.dist = NULL;
        c.best = NULL;
        c.pref = NULL;
        c.status = NULL;
        void *w2 = memory(ops->measure_work(&c));
        ops->measure(&c, 0, b->jobs * b->P, w2);
        for (int64_t at = 0; at < b->jobs * cells; at++)
            check(near_to(get(c.value, at), get(a.value, at), t1), "measure from sums");
        free(w2);
        free(c.value);
    }
    free(work);
    free(idx), free(amp), free(angle), free(idx_at), free(amp_at_), free(shift), free(divisor);
    free(a.value), free(a.sums), free(a.count), free(a.dist), free(a.best), free(a.pref),
        free(a.status);
    free(a.null.mean), free(a.null.m2), free(a.null.exceed), free(a.null.max), free(a.null.zmax),
        free(a.null.zvalue), free(a.null.all);
    free(s), free(n), free(p);
}

static void test_bins_all(void)
{
    static const bins_case cases[] = {
        { .jobs = 2, .P = 3, .A = 5, .L = 37, .G = 1, .B = 18, .K = 7 },
        { .jobs = 1, .P = 1, .A = 1, .L = 1, .G = 1, .B = 2, .K = 2 },
        { .jobs = 2, .P = 2, .A = 8, .L = 255, .G = 1, .B = 5, .K = 0 },
        { .jobs = 2, .P = 2, .A = 11, .L = 256, .G = 1, .B = 18, .K = 4, .measure = MCK_PAC_HR },
        { .jobs = 2, .P = 4, .A = 19, .L = 257, .G = 1, .B = 18, .K = 9, .norm = MCK_PAC_SUM },
        { .jobs = 1, .P = 2, .A = 33, .L = 701, .G = 1, .B = 33, .K = 5, .norm = MCK_PAC_GIVEN },
        { .jobs = 2, .P = 2, .A = 3, .L = 300, .G = 3, .B = 18, .K = 6, .scattered = 1 },
        { .jobs = 2, .P = 2, .A = 3, .L = 90, .G = 1, .B = 256, .K = 3, .empty = 1 },
        { .jobs = 3, .P = 2, .A = 3, .L = 90, .G = 2, .B = 6, .K = 3, .epsilon = 1e-10 },
        { .jobs = 2, .P = 2, .A = 4, .L = 61, .G = 1, .B = 18, .K = 4, .tau = 0.01 },
        { .jobs = 2,
          .P = 2,
          .A = 4,
          .L = 61,
          .G = 2,
          .B = 18,
          .K = 4,
          .tau = 0.5,
          .asymmetric = 1,
          .scattered = 1 },
        { .jobs = 2,
          .P = 3,
          .A = 5,
          .L = 37,
          .G = 1,
          .B = 18,
          .K = 7,
          .exhaustive = 1,
          .circular = 1 },
        { .jobs = 2, .P = 2, .A = 9, .L = 101, .G = 1, .B = 7, .K = 12, .exhaustive = 1 },
        { .jobs = 2,
          .P = 2,
          .A = 3,
          .L = 130,
          .G = 2,
          .B = 18,
          .K = 5,
          .exhaustive = 1,
          .circular = 1,
          .scattered = 1 },
        { .jobs = 1,
          .P = 2,
          .A = 3,
          .L = 130,
          .G = 1,
          .B = 19,
          .K = 5,
          .exhaustive = 1,
          .empty = 1,
          .measure = MCK_PAC_HR },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        test_bins(&cases[i]);
}

/* One phase band, one amplitude band given as functions of the sample: value of a measure. */
static double simple_value(const double *phi, const double *amp, int64_t L, int64_t B, int norm)
{
    const int64_t Wl = lanes_of();
    uint8_t *idx = memory(L);
    void *angle = reals(L), *row = reals(L), *tile = reals(L * Wl), *value = reals(1);
    for (int64_t t = 0; t < L; t++) {
        put(angle, t, phi[t]);
        put(row, t, amp[t]);
    }
    const mck_pac_index ix = { idx, angle, L, B };
    const mck_pac_tile ti = { tile, row, 1, L, L, L };
    ops->index(&ix, 0, 1, NULL);
    ops->tile(&ti, 0, 1, NULL);
    mck_pac_bins a = { 0 };
    a.value = value;
    a.idx = idx;
    a.amp = tile;
    a.idx_band = L;
    a.amp_tile = L * Wl;
    a.P = a.A = a.G = 1;
    a.L = L;
    a.bins = B;
    a.norm = norm;
    void *work = memory(ops->bins_work(&a));
    ops->bins(&a, 0, 1, work);
    const double v = get(value, 0);
    free(work), free(idx), free(angle), free(row), free(tile), free(value);
    return v;
}

static void test_known(void)
{
    const int64_t L = 18000;
    double *phi = memory(L * 8), *amp = memory(L * 8);
    for (int64_t t = 0; t < L; t++)
        phi[t] = ((double)t + 0.5) / (double)L * 2 * PI - PI;
    for (int64_t t = 0; t < L; t++)
        amp[t] = 1;
    check(fabs(simple_value(phi, amp, L, 18, MCK_PAC_MEAN)) < 1e-12, "C4 uniform amplitude");
    for (int64_t t = 0; t < L; t++)
        amp[t] = t < L / 18 ? 1 : 0;
    check(near_to(simple_value(phi, amp, L, 18, MCK_PAC_MEAN), 1, tol(1e-6, 1e-12)), "C4 one bin");
    for (int64_t t = 0; t < L; t++)
        amp[t] = t < L / 2 ? 1 : 0;
    check(near_to(simple_value(phi, amp, L, 18, MCK_PAC_MEAN), 0.23981247, tol(1e-7, 1e-8)),
          "C4 half of the bins");
    for (int64_t t = 0; t < L; t++)
        amp[t] = 1 + 0.5 * cos(phi[t]);
    check(near_to(simple_value(phi, amp, L, 18, MCK_PAC_MEAN), 0.022128977, tol(5e-8, 1e-9)),
          "C5 %.10f", simple_value(phi, amp, L, 18, MCK_PAC_MEAN));
    for (int64_t t = 0; t < L; t++) {
        amp[t] = 1;
        phi[t] += 0.6 * sin(phi[t]);
    }
    check(fabs(simple_value(phi, amp, L, 18, MCK_PAC_MEAN)) < 1e-12, "C7 mean");
    check(near_to(simple_value(phi, amp, L, 18, MCK_PAC_SUM), 0.0355, 1e-4), "C7 sum");
    for (int64_t t = 0; t < L; t++)
        amp[t] = 0;
    check(simple_value(phi, amp, L, 18, MCK_PAC_MEAN) == 0, "zero amplitude");
    amp[5] = NAN;
    check(isnan(simple_value(phi, amp, L, 18, MCK_PAC_MEAN)), "NaN amplitude");
    amp[5] = INFINITY;
    check(isnan(simple_value(phi, amp, L, 18, MCK_PAC_MEAN)), "infinite amplitude");
    free(phi), free(amp);
}

/* f32 sums of a long row: the error stays at a few ulp. */
static void test_long(void)
{
    const int64_t L = 300007, Wl = lanes_of();
    uint8_t *idx = memory(L);
    void *amp = reals(L * Wl);
    double *want = memory(18 * 8), *sums = memory(18 * 8);
    memset(want, 0, 18 * 8);
    memset(amp, 0, (size_t)(L * Wl * prec));
    fill_phase(idx, L, 18, 0);
    for (int64_t t = 0; t < L; t++) {
        put(amp, t * Wl, 0.1 + uniform());
        want[idx[t]] += get(amp, t * Wl);
    }
    mck_pac_bins a = { 0 };
    a.sums = sums;
    a.idx = idx;
    a.amp = amp;
    a.idx_band = L;
    a.amp_tile = L * Wl;
    a.P = a.A = a.G = 1;
    a.L = L;
    a.bins = 18;
    void *work = memory(ops->bins_work(&a));
    ops->bins(&a, 0, 1, work);
    for (int j = 0; j < 18; j++)
        check(fabs(sums[j] / want[j] - 1) < tol(3e-7, 1e-14), "long row f%d: relative error %.3g",
              prec * 8, sums[j] / want[j] - 1);
    free(work), free(idx), free(amp), free(want), free(sums);
}

static void test_all(void)
{
    test_bins_all();
    test_known();
    test_long();
}

int main(void) { return both(test_all); }
