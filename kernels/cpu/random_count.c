/* random_count.c - random family: counts (Poisson, binomial, negative binomial, hypergeometric,
 * multinomial).
 *
 * Log probabilities without cancellation and two methods: small means by inversion, summing
 * probabilities from 0 until they pass a uniform number; large ones by transformed rejection. A
 * block per element and attempt: two words for each of the two uniform numbers. Parts: 0 and 1 a
 * gamma number, 4 the count. Without fused multiply-add: every level gives the same bits. Sources:
 * Hoermann, "The transformed rejection method for generating Poisson random variables", 1993, and
 * "The generation of binomial random variates", 1993; Stadlober, "The ratio of uniforms approach
 * for generating discrete random variates", 1990; Loader, "Fast and accurate computation of
 * binomial probabilities", 2000. */
#define MCK_NO_FMA
#include "../mck_math.h"
#include "random_factorial.h"
#include "random_gamma.h"

enum { COUNT_PART = 4, LONGEST = 1000 }; /* no sum below takes 1000 terms: the mean is under 10 */
#define SMALL_MEAN 10.0
#define EXACT 9007199254740992.0 /* whole numbers are exact up to here */

/* ---- log probabilities ---- */

/* log n! - ((n + 1/2) log n - n + log(2 pi) / 2): DLMF 5.11.1. */
MC_INLINE double stirling(double n)
{
    static const double few[16] = { 0,
                                    0.08106146679532725822,
                                    0.04134069595540929409,
                                    0.02767792568499833915,
                                    0.02079067210376509311,
                                    0.01664469118982119216,
                                    0.013876128823070748,
                                    0.0118967099458917701,
                                    0.0104112652619720965,
                                    0.009255462182712732918,
                                    0.008330563433362871256,
                                    0.007573675487951840795,
                                    0.006942840107209529866,
                                    0.006408994188004207068,
                                    0.005951370112758847736,
                                    0.005554733551962801371 };
    if (n < 16.0) return few[(int)n];
    const double r = 1.0 / n, z = r * r;
    return r * (1.0 / 12.0 -
                z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z * (1.0 / 1188.0)))));
}

/* x log(x / mean) + mean - x. */
MC_INLINE double deviance(double x, double mean)
{
    const double gap = x - mean, sum = x + mean;
    if (mck_abs_f64(gap) < 0.1 * sum) {
        const double v = gap / sum;
        double total = gap * v, term = 2.0 * x * v;
        for (int j = 3;; j += 2) {
            term *= v * v;
            const double next = total + term / j;
            if (next == total) return next;
            total = next;
        }
    }
    return x * mck_log_f64(x / mean) - gap;
}

#define LOG_TWO_PI 1.83787706640934548356

static double log_poisson(double k, double mean)
{
    if (k == 0) return -mean;
    return -stirling(k) - deviance(k, mean) - 0.5 * (LOG_TWO_PI + mck_log_f64(k));
}

static double log_binomial(double k, double n, double p, double q)
{
    if (k == 0) return p < 0.1 ? -deviance(n, n * q) - n * p : n * mck_log_f64(q);
    if (k == n) return q < 0.1 ? -deviance(n, n * p) - n * q : n * mck_log_f64(p);
    return stirling(n) - stirling(k) - stirling(n - k) - deviance(k, n * p) -
           deviance(n - k, n * q) - 0.5 * (LOG_TWO_PI + mck_log_f64(k) + mck_log_f64((n - k) / n));
}

/* ---- Poisson ---- */

/* Summed from 0; u is below the last sum that rounding lets it reach. */
MC_INLINE double poisson_small(double mean, double start, double u)
{
    double term = start, sum = start;
    int k = 0;
    while (u > sum && k < LONGEST) {
        k++;
        term *= mean / k;
        sum += term;
    }
    return k;
}

typedef struct poisson_hat {
    double a, b, quick, inverse;
} poisson_hat;

MC_INLINE poisson_hat poisson_setup(double mean)
{
    poisson_hat h;
    h.b = 0.931 + 2.53 * mck_sqrt_f64(mean);
    h.a = -0.059 + 0.02483 * h.b;
    h.inverse = 1.1239 + 1.1328 / (h.b - 3.4);
    h.quick = 0.9277 - 3.6224 / (h.b - 2.0);
    return h;
}

/* One attempt: the candidate, and whether the quick test takes it. */
MC_INLINE int poisson_quick(const poisson_hat *h, double mean, double u, double v, double *k)
{
    const double side = u - 0.5, rest = 0.5 - mck_abs_f64(side);
    *k = mck_floor_f64((2.0 * h->a / rest + h->b) * side + mean + 0.43);
    return (rest >= 0.07) & (v <= h->quick);
}

static MC_NOINLINE double poisson_again(const group *g, int l, unsigned part, const poisson_hat *h,
                                        double mean, double u, double v, double k)
{
    for (unsigned attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const double rest = 0.5 - mck_abs_f64(u - 0.5);
        if (k >= 0 && !(rest < 0.013 && v > rest) &&
            mck_log_f64(v * h->inverse / (h->a / (rest * rest) + h->b)) <= log_poisson(k, mean))
            return k;
        uint32_t c[4];
        lane_words(g, l, part, attempt, c);
        u = mck_philox_open_f64(c[0], c[1]);
        v = mck_philox_open_f64(c[2], c[3]);
        if (poisson_quick(h, mean, u, v, &k)) return k;
    }
    return mck_floor_f64(mean);
}

static void poisson_group(const group *g, const double *mean, unsigned part, double *out)
{
    uint32_t w[4][LANES];
    double u[LANES], v[LANES];
    poisson_hat hat[LANES];
    int8_t settled[LANES];
    int small = 0, large = 0;
    group_words(g, part, w);
    for (int l = 0; l < LANES; l++) {
        u[l] = mck_philox_open_f64(w[0][l], w[1][l]);
        v[l] = mck_philox_open_f64(w[2][l], w[3][l]);
        small |= mean[l] < SMALL_MEAN;
        large |= mean[l] >= SMALL_MEAN;
    }
    if (large) {
        for (int l = 0; l < LANES; l++)
            hat[l] = poisson_setup(mean[l] < SMALL_MEAN ? SMALL_MEAN : mean[l]);
        for (int l = 0; l < LANES; l++)
            settled[l] = (int8_t)poisson_quick(&hat[l], mean[l], u[l], v[l], &out[l]);
        for (int l = 0; l < g->m; l++)
            if (!settled[l] && mean[l] >= SMALL_MEAN)
                out[l] = poisson_again(g, l, part, &hat[l], mean[l], u[l], v[l], out[l]);
    }
    if (small) {
        double start[LANES];
        for (int l = 0; l < LANES; l++) start[l] = mck_exp_f64(-mean[l]);
        for (int l = 0; l < g->m; l++)
            if (mean[l] < SMALL_MEAN) out[l] = poisson_small(mean[l], start[l], u[l]);
    }
}

static void poisson_law(const group *g, double *out)
{
    poisson_group(g, g->p[0], COUNT_PART, out);
}
static int poisson_fine(double a, double b, double c, double d)
{
    (void)b;
    (void)c;
    (void)d;
    return a >= 0 && a <= EXACT / 2;
}
GROUP_LAW(poisson_f64, poisson_law, poisson_fine)

/* ---- binomial: a trials, success with probability b ---- */

typedef struct binomial_hat {
    double n, p, q;              /* p <= 1/2 */
    int turned;                  /* failures are counted */
    double start;                /* probability of 0, where the mean is small */
    double a, b, c, quick, alpha, top; /* top: log probability of the mode */
} binomial_hat;

static binomial_hat binomial_setup(double n, double p)
{
    binomial_hat h = { .n = n, .turned = p > 0.5 };
    h.p = h.turned ? 1.0 - p : p;
    h.q = h.turned ? p : 1.0 - p;
    const double mean = n * h.p;
    if (mean < SMALL_MEAN) {
        h.start = mck_exp_f64(n * mck_log1p_f64(-h.p));
        return h;
    }
    const double deviation = mck_sqrt_f64(mean * h.q);
    h.b = 1.15 + 2.53 * deviation;
    h.a = -0.0873 + 0.0248 * h.b + 0.01 * h.p;
    h.c = mean + 0.5;
    h.quick = 0.92 - 4.2 / h.b;
    h.alpha = (2.83 + 5.1 / h.b) * deviation;
    h.top = log_binomial(mck_floor_f64((n + 1.0) * h.p), n, h.p, h.q);
    return h;
}

/* The count of lane l (of stream place l) from the words of its first attempt. */
static double binomial_one(const group *g, int l, unsigned part, const binomial_hat *h,
                           const uint32_t *words)
{
    double u = mck_philox_open_f64(words[0], words[1]), k = 0;
    if (h->n * h->p < SMALL_MEAN) {
        double term = h->start, sum = h->start;
        const double odds = h->p / h->q;
        while (u > sum && k < h->n && k < LONGEST) {
            k += 1.0;
            term *= (h->n - k + 1.0) / k * odds;
            sum += term;
        }
    } else {
        double v = mck_philox_open_f64(words[2], words[3]);
        for (unsigned attempt = 1; attempt <= ATTEMPTS; attempt++) {
            const double side = u - 0.5, rest = 0.5 - mck_abs_f64(side);
            k = mck_floor_f64((2.0 * h->a / rest + h->b) * side + h->c);
            if (rest >= 0.07 && v <= h->quick) break;
            if (k >= 0 && k <= h->n &&
                mck_log_f64(v * h->alpha / (h->a / (rest * rest) + h->b)) <=
                    log_binomial(k, h->n, h->p, h->q) - h->top)
                break;
            uint32_t c[4];
            lane_words(g, l, part, attempt, c);
            u = mck_philox_open_f64(c[0], c[1]);
            v = mck_philox_open_f64(c[2], c[3]);
        }
        k = k < 0 ? 0 : k > h->n ? h->n : k;
    }
    return h->turned ? h->n - k : k;
}

static void binomial_law(const group *g, double *out)
{
    uint32_t w[4][LANES];
    binomial_hat h = { 0 };
    group_words(g, COUNT_PART, w);
    for (int l = 0; l < g->m; l++) {
        const uint32_t c[4] = { w[0][l], w[1][l], w[2][l], w[3][l] };
        if (l == 0 || g->p[0][l] != g->p[0][l - 1] || g->p[1][l] != g->p[1][l - 1])
            h = binomial_setup(g->p[0][l], g->p[1][l]);
        out[l] = binomial_one(g, l, COUNT_PART, &h, c);
    }
}
static int is_count(double n)
{
    return n >= 0 && n <= EXACT && n == mck_floor_f64(n);
}
static int binomial_fine(double a, double b, double c, double d)
{
    (void)c;
    (void)d;
    return is_count(a) && b >= 0 && b <= 1;
}
GROUP_LAW(binomial_f64, binomial_law, binomial_fine)

/* ---- negative binomial: failures before success a (a > 0 need not be whole), success with
 * probability b ---- */

static void negative_binomial_law(const group *g, double *out)
{
    double mean[LANES];
    gamma_group(g, g->p[0], 0, 0, mean);
    for (int l = 0; l < LANES; l++) {
        mean[l] *= (1.0 - g->p[1][l]) / g->p[1][l];
        mean[l] = mean[l] < EXACT / 2 ? mean[l] : EXACT / 2;
    }
    poisson_group(g, mean, COUNT_PART, out);
}
static int negative_binomial_fine(double a, double b, double c, double d)
{
    (void)c;
    (void)d;
    return a > 0 && a <= EXACT && b > 0 && b <= 1;
}
GROUP_LAW(negative_binomial_f64, negative_binomial_law, negative_binomial_fine)

/* ---- hypergeometric: good ones among c drawn without replacement from a good and b bad ---- */

MC_INLINE double log_factorial(double n)
{
    if (n < FACTORIALS) return log_factorials[(int)n];
    return (n + 0.5) * mck_log_f64(n) - n + 0.5 * LOG_TWO_PI + stirling(n);
}

#define CANCELS 1e9 /* below, factorials of the counts lose less than 10^-5 of a probability */

/* log probability of k but for a term that does not depend on it: through factorials, or where they
 * cancel through binomials with p = drawn / all (Loader). */
static double log_hypergeometric(double k, double good, double bad, double drawn)
{
    if (good + bad < CANCELS)
        return -(log_factorial(k) + log_factorial(good - k)) -
               (log_factorial(drawn - k) + log_factorial(bad - drawn + k));
    const double p = drawn / (good + bad), q = 1.0 - p;
    return log_binomial(k, good, p, q) + log_binomial(drawn - k, bad, p, q);
}

/* log probability of drawing none of the good. */
static double log_none(double good, double bad, double drawn)
{
    const double p = drawn / (good + bad), q = 1.0 - p;
    return log_binomial(0, good, p, q) + log_binomial(drawn, bad, p, q) -
           log_binomial(drawn, good + bad, p, q);
}

typedef struct urn {
    double good, bad, drawn; /* good <= bad, drawn <= half of all */
    double low, start;       /* smallest count and its probability, where few are drawn */
    double centre, width, top, end;
} urn;

enum { FEW = 16 };

static urn urn_setup(double good, double bad, double drawn)
{
    urn h = { .good = good < bad ? good : bad, .bad = good < bad ? bad : good };
    const double all = good + bad;
    h.drawn = drawn <= all - drawn ? drawn : all - drawn;
    const double smaller = h.good < h.drawn ? h.good : h.drawn;
    if (smaller <= FEW) {
        h.start = h.drawn == 0 || h.good == 0 ? 1.0 : mck_exp_f64(log_none(h.good, h.bad, h.drawn));
        return h;
    }
    const double p = h.good / all,
                 variance = (all - h.drawn) / (all - 1.0) * h.drawn * p * (1.0 - p);
    h.centre = h.drawn * p + 0.5;
    h.width = mck_sqrt_f64(variance + 0.5);
    const double mode = mck_floor_f64((h.drawn + 1.0) * (h.good + 1.0) / (all + 2.0));
    h.top = log_hypergeometric(mode, h.good, h.bad, h.drawn);
    h.end = smaller + 1.0;
    const double far = mck_floor_f64(h.centre + 16.0 * h.width);
    h.end = h.end < far ? h.end : far;
    return h;
}

static double urn_one(const group *g, int l, const urn *h, uint32_t *c)
{
    const double smaller = h->good < h->drawn ? h->good : h->drawn;
    double u = mck_philox_open_f64(c[0], c[1]), k = 0;
    if (smaller <= FEW) {
        double term = h->start, sum = h->start;
        while (u > sum && k < smaller) {
            term *= (h->good - k) / (k + 1.0) * ((h->drawn - k) / (h->bad - h->drawn + k + 1.0));
            sum += term;
            k += 1.0;
        }
        return k;
    }
    /* 2 sqrt(2/e), 3 - 2 sqrt(3/e) */
    const double height = 1.7155277699214135 * h->width + 0.8989161620588988;
    for (unsigned attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const double x = h->centre + height * (mck_philox_open_f64(c[2], c[3]) - 0.5) / u;
        k = mck_floor_f64(x);
        if (x >= 0 && x < h->end) {
            const double ratio = log_hypergeometric(k, h->good, h->bad, h->drawn) - h->top;
            if (u * (4.0 - u) - 3.0 <= ratio) return k; /* a bound of 2 log u from above */
            if (u * (u - ratio) < 1.0 && 2.0 * mck_log_f64(u) <= ratio) return k;
        }
        lane_words(g, l, COUNT_PART, attempt, c);
        u = mck_philox_open_f64(c[0], c[1]);
    }
    return mck_floor_f64(h->centre);
}

static void hypergeometric_law(const group *g, double *out)
{
    uint32_t w[4][LANES];
    urn h = { 0 };
    group_words(g, COUNT_PART, w);
    for (int l = 0; l < g->m; l++) {
        uint32_t c[4] = { w[0][l], w[1][l], w[2][l], w[3][l] };
        const double good = g->p[0][l], bad = g->p[1][l], drawn = g->p[2][l];
        if (l == 0 || good != g->p[0][l - 1] || bad != g->p[1][l - 1] || drawn != g->p[2][l - 1])
            h = urn_setup(good, bad, drawn);
        double k = urn_one(g, l, &h, c);
        if (good > bad) k = h.drawn - k;       /* the scarcer kind was counted */
        if (drawn > h.drawn) k = good - k;     /* those left behind were drawn */
        out[l] = k;
    }
}
static int hypergeometric_fine(double a, double b, double c, double d)
{
    (void)d;
    return is_count(a) && is_count(b) && is_count(c) && a + b <= 1e15 && c <= a + b;
}
GROUP_LAW(hypergeometric_f64, hypergeometric_law, hypergeometric_fine)

/* ---- multinomial: a trials over width categories with the weights p[1]; out[n][width]. Category
 * after category is a binomial count of what is left; the place of a count in the stream is its
 * place in the result. ---- */

void MCK(random_multinomial_f64)(const mck_random *a)
{
    double *const out = a->out;
    const double *const all = a->p[1];
    for (int64_t i = 0; i < a->n; i++) {
        const double trials = mck_random_param(a, 0, i), *const weight =
                                                             all + i * a->stride[1] * a->width;
        double left = trials, sum = 0;
        int fine = is_count(trials);
        for (int64_t j = 0; j < a->width; j++) {
            fine &= weight[j] >= 0;
            sum += weight[j];
        }
        if (!fine || !(sum > 0) || sum > 1.7976931348623157e308) {
            if (a->status && !*a->status) *a->status = i + 1;
            return;
        }
        group g = { .key = a->key, .stream = a->stream, .m = 1 };
        for (int64_t j = 0; j < a->width; j++) {
            double count = 0, share = weight[j] < sum ? weight[j] / sum : 1.0;
            if (left > 0 && weight[j] > 0) {
                uint32_t c[4];
                g.first = (uint64_t)((a->first + i) * a->width + j);
                const binomial_hat h = binomial_setup(left, share);
                lane_words(&g, 0, COUNT_PART, 0, c);
                count = share < 1.0 ? binomial_one(&g, 0, COUNT_PART, &h, c) : left;
            }
            out[i * a->width + j] = count;
            left -= count;
            sum -= weight[j];
        }
        /* rounding of the running sum may leave a few over: they belong to the last category that
         * has weight */
        for (int64_t j = a->width - 1; left > 0 && j >= 0; j--)
            if (weight[j] > 0) {
                out[i * a->width + j] += left;
                left = 0;
            }
    }
}
