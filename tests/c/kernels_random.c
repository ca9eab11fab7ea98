/* kernels_random.c - the random kernels of one level: known answers, laws of the stream, shape of
 * the distributions.
 *
 * build: levels
 * It passes at once where the machine lacks the level.
 * Prints `N passed, M failed`; exit status 1 when something failed.
 * Statistical checks use fixed seeds and bounds of five standard deviations, so they either always
 * pass or always fail. */
#include "../../kernels/mck_philox.h"
#include "count_check.h"
#include "../../kernels/mck_random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Published vectors of the generator (Random123, philox4x32 with 10 rounds): counter, key, result.
 */
static void known_answers(void)
{
    static const uint32_t counter[3][4] = { { 0, 0, 0, 0 },
                                            { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
                                            { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 } };
    static const uint32_t key[3][2] = { { 0, 0 },
                                        { 0xffffffff, 0xffffffff },
                                        { 0xa4093822, 0x299f31d0 } };
    static const uint32_t expected[3][4] = { { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
                                             { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd },
                                             { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } };
    for (int v = 0; v < 3; v++) {
        uint32_t c[4], w[4][MCK_PHILOX_LANES];
        memcpy(c, counter[v], sizeof c);
        mck_philox_words(c, key[v][0], key[v][1]);
        check(memcmp(c, expected[v], sizeof c) == 0, "known answer %d: got %08x %08x %08x %08x", v,
              c[0], c[1], c[2], c[3]);
        MCK(philox_lanes)
        ((uint64_t)key[v][1] << 32 | key[v][0], (uint64_t)counter[v][3] << 32 | counter[v][2],
         (uint64_t)counter[v][1] << 32 | counter[v][0], w);
        check(w[0][0] == expected[v][0] && w[1][0] == expected[v][1] && w[2][0] == expected[v][2] &&
                  w[3][0] == expected[v][3],
              "known answer %d, many blocks at once", v);
        if (v == 0) {
            uint32_t out[4];
            mck_random a = { .n = 4, .out = out };
            MCK(random_bits_u32)(&a);
            check(memcmp(out, expected[0], sizeof out) == 0,
                  "element i is word i mod 4 of block i div 4");
        }
    }
}

typedef struct kernel {
    const char *name;
    /* ref: NULL where an element owns a block, and the loop is the plain one */
    mck_random_fn fast, ref;
    size_t bytes;
    double p[4];
    uint64_t digest; /* of 10000 elements, key 7, stream 9, from 3: the same on every level and
                        machine */
} kernel;

#define BOTH(name) #name, MCK(random_##name), MCK(random_ref_##name)
#define OWN(name) #name, MCK(random_##name), NULL

static const kernel kernels[] = {
    { BOTH(bits_u32), 4, { 0 }, 0x8685f8e4d4d26d1c },
    { BOTH(bits_u64), 8, { 0 }, 0x2067684ea460739f },
    { BOTH(uniform_f32), 4, { -3, 5 }, 0xde8dfb2318395d7a },
    { BOTH(uniform_f64), 8, { -3, 5 }, 0xc7bf71f87c69c791 },
    { BOTH(normal_f32), 4, { 1, 2 }, 0xf110ce16e54856a8 },
    { BOTH(normal_f64), 8, { 1, 2 }, 0x271ea3910d1f78cc },
    { BOTH(exponential_f64), 8, { 2 }, 0x2a57c69abda6dc66 },
    { BOTH(laplace_f64), 8, { 1, 2 }, 0xc0823220ce725721 },
    { BOTH(logistic_f64), 8, { 1, 2 }, 0x9be2c11f90a7c6cb },
    { BOTH(gumbel_f64), 8, { 1, 2 }, 0x95b6fde154fc6a29 },
    { BOTH(weibull_f64), 8, { 1.5, 2 }, 0xdc7ce8435b259f13 },
    { BOTH(pareto_f64), 8, { 3, 2 }, 0x9c488300fda11591 },
    { BOTH(cauchy_f64), 8, { 1, 2 }, 0xddc2f4ac7f849608 },
    { BOTH(rayleigh_f64), 8, { 2 }, 0xd93f98acdad8feb8 },
    { BOTH(lognormal_f64), 8, { 1, 2 }, 0x111cbc6314e63ecd },
    { BOTH(geometric_f64), 8, { 0.3 }, 0x4f3e4e7b235eda0f },
    { BOTH(bernoulli_f64), 8, { 0.3 }, 0xf39713220cd900d8 },
    { BOTH(rademacher_f64), 8, { 0 }, 0x6cfcb05d75401925 },
    { OWN(gamma_f64), 8, { 0.5, 2 }, 0x3ce5066421d6c9a3 },
    { OWN(gamma_f64), 8, { 2.5, 2 }, 0x57759eb35e8e3efb },
    { OWN(loggamma_f64), 8, { 0.01 }, 0x0c30e903015194ee },
    { OWN(beta_f64), 8, { 0.5, 3 }, 0x2136f7eea803ca7c },
    { OWN(beta_f64), 8, { 2, 3 }, 0x8d5bb20c1a9ae741 },
    { OWN(chisquare_f64), 8, { 3 }, 0x3dead6ee89170314 },
    { OWN(student_t_f64), 8, { 5, 1, 2 }, 0xf0cb1de7c3a6bbca },
    { OWN(f_f64), 8, { 3, 10 }, 0x61fcc42c52d17ca0 },
    { OWN(von_mises_f64), 8, { 1, 4 }, 0xce10384108e76f01 },
    { OWN(truncated_normal_f64), 8, { -1, 2, 0.5, 3 }, 0x9a7d86d963708494 },
    { OWN(truncated_normal_f64), 8, { 40, 50, 0, 1 }, 0x853647d195df6fa3 },
    { OWN(poisson_f64), 8, { 3 }, 0x5820f0b2d416a2ab },
    { OWN(poisson_f64), 8, { 300 }, 0x393fea51edba6bff },
    { OWN(binomial_f64), 8, { 10, 0.3 }, 0xf4e1679e17d47a1a },
    { OWN(binomial_f64), 8, { 1000, 0.7 }, 0x56e159d351f7985f },
    { OWN(negative_binomial_f64), 8, { 3, 0.5 }, 0x2e9bea84e86fdac8 },
    { OWN(hypergeometric_f64), 8, { 5, 7, 6 }, 0x8fa4b32e5d6dfb5c },
    { OWN(hypergeometric_f64), 8, { 500, 700, 600 }, 0xaa9d64c121ec1241 },
};

/* The call of a kernel with parameters that all elements share. */
static mck_random call(int64_t n, void *out, uint64_t key, uint64_t stream, int64_t first,
                       const double *p)
{
    return (mck_random){ .n = n,
                         .out = out,
                         .key = key,
                         .stream = stream,
                         .first = first,
                         .width = 1,
                         .p = { p, p + 1, p + 2, p + 3 } };
}

static uint64_t digest(const unsigned char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static void streams(void)
{
    enum { N = 10000 };
    static const int64_t cut[][2] = { { 0, 1 },   { 1, 1 },       { 2, 3 },   { 5, 127 },
                                      { 61, 64 }, { 4000, 4001 }, { 9999, 1 } };
    static unsigned char whole[8 * N], part[8 * N + 8];
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        const kernel *q = &kernels[k];
        mck_random a = call(N, whole, 7, 9, 3, q->p);
        q->fast(&a);
        check(digest(whole, N * q->bytes) == q->digest,
              "%s: the bits have changed, digest 0x%016llx", q->name,
              (unsigned long long)digest(whole, N * q->bytes));
        a.out = part;
        if (q->ref) {
            q->ref(&a);
            check(memcmp(whole, part, N * q->bytes) == 0, "%s: differs from the plain form",
                  q->name);
        }
        static double each[4][N]; /* the same parameters, one by one */
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < N; i++) each[j][i] = q->p[j];
        mck_random one = a;
        for (int j = 0; j < 4; j++) one.p[j] = each[j], one.stride[j] = 1;
        q->fast(&one);
        check(memcmp(whole, part, N * q->bytes) == 0,
              "%s: differs when every element has parameters of its own", q->name);
        for (size_t c = 0; c < sizeof cut / sizeof *cut; c++) {
            a.first = 3 + cut[c][0];
            a.n = cut[c][1];
            memset(part, 0x5a, sizeof part);
            q->fast(&a);
            const size_t bytes = (size_t)a.n * q->bytes;
            check(memcmp(part, whole + (size_t)cut[c][0] * q->bytes, bytes) == 0 &&
                      part[bytes] == 0x5a,
                  "%s: a part from %lld, %lld long, differs from the whole", q->name,
                  (long long)cut[c][0], (long long)cut[c][1]);
        }
        a.n = 1000;
        a.first = ((int64_t)1 << 33) - 500; /* the block number passes 32 bits */
        q->fast(&a);
        a.out = whole;
        if (q->ref) {
            q->ref(&a);
            check(memcmp(whole, part, 1000 * q->bytes) == 0,
                  "%s: differs from the plain form far out", q->name);
        }
        a.n = 0;
        part[0] = 0x5a;
        a.out = part;
        q->fast(&a);
        check(part[0] == 0x5a, "%s: no elements, nothing written", q->name);
    }
}

static void uniform_shape(void)
{
    enum { N = 1 << 18 };
    static float f[N];
    static double d[N];
    const double unit[4] = { 0, 1 }, narrow[4] = { 1, 1.0000001 }, point[4] = { 2, 2 };
    mck_random a = call(N, f, 11, 0, 0, unit), b = call(N, d, 11, 0, 0, unit);
    MCK(random_uniform_f32)(&a);
    MCK(random_uniform_f64)(&b);
    double sum[2] = { 0, 0 }, square[2] = { 0, 0 };
    int inside = 1;
    for (int i = 0; i < N; i++) {
        inside &= f[i] >= 0 && f[i] < 1 && d[i] >= 0 && d[i] < 1;
        sum[0] += (double)f[i];
        sum[1] += d[i];
        square[0] += (double)f[i] * (double)f[i];
        square[1] += d[i] * d[i];
    }
    check(inside, "uniform numbers lie in [0, 1)");
    for (int k = 0; k < 2; k++) {
        check(fabs(sum[k] / N - 0.5) < 5 * 0.2887 / sqrt(N), "uniform mean %g", sum[k] / N);
        check(fabs(square[k] / N - 1.0 / 3.0) < 5 * 0.2981 / sqrt(N), "uniform mean square %g",
              square[k] / N);
    }
    a = call(N, f, 11, 0, 0, narrow); /* five f32 numbers: rounding must not reach the upper end */
    MCK(random_uniform_f32)(&a);
    int below = 1;
    for (int i = 0; i < N; i++) below &= f[i] >= 1.0f && f[i] < (float)narrow[1];
    check(below, "a narrow uniform range stays below its upper end");
    a = call(N, f, 11, 0, 0, point);
    MCK(random_uniform_f32)(&a);
    check(f[0] == 2.0f && f[N - 1] == 2.0f, "an empty range gives its lower end");
}

static void normal_shape(void)
{
    enum { N = 1 << 20 };
    float *f = malloc(sizeof(float) * N);
    double *d = malloc(sizeof(double) * N);
    if (!f || !d) exit(2);
    const double unit[4] = { 0, 1 };
    mck_random a = call(N, f, 5, 1, 0, unit), b = call(N, d, 5, 2, 0, unit);
    MCK(random_normal_f32)(&a);
    MCK(random_normal_f64)(&b);
    for (int k = 0; k < 2; k++) {
        double m[5] = { 0 }, pair = 0;
        int beyond[5] = { 0 };
        for (int i = 0; i < N; i++) {
            const double x = k ? d[i] : (double)f[i];
            m[1] += x;
            m[2] += x * x;
            m[3] += x * x * x;
            m[4] += x * x * x * x;
            if (i & 1) pair += x * (k ? d[i - 1] : (double)f[i - 1]);
            for (int t = 1; t < 5; t++) beyond[t] += x > t;
        }
        const double root = sqrt(N);
        check(fabs(m[1] / N) < 5 / root, "normal mean %g", m[1] / N);
        check(fabs(m[2] / N - 1) < 5 * sqrt(2) / root, "normal variance %g", m[2] / N);
        check(fabs(m[3] / N) < 5 * sqrt(15) / root, "normal third moment %g", m[3] / N);
        check(fabs(m[4] / N - 3) < 5 * sqrt(96) / root, "normal fourth moment %g", m[4] / N);
        check(fabs(pair / (N / 2)) < 5 / sqrt(N / 2), "the two of a pair are uncorrelated: %g",
              pair / (N / 2));
        for (int t = 1; t < 5; t++) {
            const double q = 0.5 * erfc(t / sqrt(2)), expected = q * N;
            check(fabs(beyond[t] - expected) < 5 * sqrt(expected * (1 - q)),
                  "normals above %d: %d, expected %g", t, beyond[t], expected);
        }
    }
    free(f);
    free(d);
}

/* The maps against the definition in long double. */
static void normal_digits(void)
{
    const long double turn = 2 * 3.14159265358979323846264338327950288L;
    double worst_f32 = 0, worst_f64 = 0;
    for (uint32_t i = 0; i < 200000; i++) {
        uint32_t c[4];
        mck_philox_block(1, 2, i, c);
        if (i < 4000)
            c[0] = i % 2 ? ~(i / 2) : i / 2,
            c[1] = c[0] ^ (i % 3 ? 0 : 0x55555555); /* both ends of (0, 1) */
        float f[2];
        double d[2];
        mck_philox_normal_f32(c[0], c[2], &f[0], &f[1]);
        mck_philox_normal_f64(c[0], c[1], c[2], c[3], &d[0], &d[1]);
        const long double u = ((long double)c[0] + 0.5L) / 4294967296.0L,
                          v = ((long double)c[2] + 0.5L) / 4294967296.0L;
        const long double r =
            c[0] < 0x80000000u ? sqrtl(-2 * logl(u))
                               : sqrtl(-2 * log1pl(-((long double)~c[0] + 0.5L) / 4294967296.0L));
        const uint64_t a = (uint64_t)c[1] << 32 | c[0], b = (uint64_t)c[3] << 32 | c[2];
        const long double two64 = 18446744073709551616.0L;
        const long double r64 = c[1] < 0x80000000u
                                    ? sqrtl(-2 * logl(((long double)a + 0.5L) / two64))
                                    : sqrtl(-2 * log1pl(-((long double)~a + 0.5L) / two64));
        const long double angle = turn * ((long double)b + 0.5L) / two64;
        worst_f32 = fmax(worst_f32, fabs((double)((f[0] - r * cosl(turn * v)) / r)));
        worst_f32 = fmax(worst_f32, fabs((double)((f[1] - r * sinl(turn * v)) / r)));
        worst_f64 = fmax(worst_f64, fabs((double)((d[0] - r64 * cosl(angle)) / r64)));
        worst_f64 = fmax(worst_f64, fabs((double)((d[1] - r64 * sinl(angle)) / r64)));
    }
    /* errors of radius, angle and product add up to less than 4 units in the last place of the
     * radius */
    check(worst_f32 < 4 * 5.96e-8, "normal_f32 off by %.3g of the radius", worst_f32);
    check(worst_f64 < 4 * 1.11e-16, "normal_f64 off by %.3g of the radius", worst_f64);
    float x, y;
    double z, w;
    mck_philox_normal_f32(0, 0, &x, &y);
    check(fabs((double)x - 6.7637) < 1e-4, "the f32 tail ends at 6.7637, got %g", (double)x);
    mck_philox_normal_f64(0, 0, 0, 0, &z, &w);
    check(fabs(z - 9.49258) < 1e-5, "the f64 tail ends at 9.49258, got %g", z);
}

static void integers(void)
{
    enum { N = 1 << 20, FACES = 6 };
    int64_t *x = malloc(sizeof(int64_t) * N);
    if (!x) exit(2);
    const int64_t die[2] = { 1, 6 }, one[2] = { -4, -4 },
                  wide[2] = { -2251799813685248, 4503599627370495 },
                  whole[2] = { INT64_MIN, INT64_MAX };
    mck_random a = { .n = N, .out = x, .key = 3, .stream = 8, .p = { &die[0], &die[1] } };
    MCK(random_integers_i64)(&a);
    int count[FACES + 2] = { 0 };
    for (int i = 0; i < N; i++) count[x[i] < 1 ? 0 : x[i] > 6 ? 7 : x[i]]++;
    double chi = 0;
    for (int f = 1; f <= FACES; f++) chi += pow(count[f] - N / 6.0, 2) / (N / 6.0);
    check(count[0] == 0 && count[7] == 0, "integers stay in their range");
    check(chi < 5 + 5 * sqrt(10), "a die is fair: chi square %g with 5 degrees", chi);
    a.p[0] = &one[0], a.p[1] = &one[1];
    MCK(random_integers_i64)(&a);
    check(x[0] == -4 && x[N - 1] == -4, "a range of one number");
    a.p[0] = &wide[0], a.p[1] = &wide[1];
    MCK(random_integers_i64)(&a);
    const uint64_t size = (uint64_t)3 << 51, reject = (0 - size) % size;
    int redrawn = 0, inside = 1, third = 0;
    for (int i = 0; i < N; i++) {
        uint32_t c[4];
        uint64_t low;
        mck_philox_block(3, 8, (uint64_t)i / 2, c);
        const uint64_t bits = i & 1 ? (uint64_t)c[3] << 32 | c[2] : (uint64_t)c[1] << 32 | c[0];
        const int64_t first = -2251799813685248 + (int64_t)mck_philox_scale(bits, size, &low);
        const int again = low < reject;
        redrawn += again;
        inside &= x[i] >= -2251799813685248 && x[i] < 4503599627370496 &&
                  (again ? x[i] != first : x[i] == first);
        third += x[i] < 0;
    }
    check(redrawn > 100 && redrawn < 500, "one draw in 4096 is thrown away: %d of 1048576",
          redrawn);
    check(inside, "redrawn integers lie in the range, the others are the first draw");
    check(fabs(third - N / 3.0) < 5 * sqrt(N * 2.0 / 9.0),
          "a third of the range gets a third of the draws: %d", third);
    int64_t *y = malloc(sizeof(int64_t) * N);
    if (!y) exit(2);
    a.out = y;
    MCK(random_ref_integers_i64)(&a);
    check(memcmp(x, y, sizeof(int64_t) * N) == 0,
          "integers of a wide range differ from the plain form");
    /* 2^32 - 2 numbers: the quick way for narrow ranges, at its end */
    const int64_t tight[2] = { 0, 4294967293 };
    a.p[0] = &tight[0], a.p[1] = &tight[1];
    MCK(random_ref_integers_i64)(&a);
    a.out = x;
    MCK(random_integers_i64)(&a);
    check(memcmp(x, y, sizeof(int64_t) * N) == 0,
          "integers of a narrow range differ from the plain form");
    a.p[0] = &whole[0], a.p[1] = &whole[1];
    MCK(random_integers_i64)(&a);
    a.out = y;
    MCK(random_bits_u64)(&a);
    for (int i = 0; i < N; i++) y[i] ^= INT64_MIN;
    check(memcmp(x, y, sizeof(int64_t) * N) == 0, "integers of the whole range are the words");
    free(y);
    uint64_t low;
    check(mck_philox_scale(0xffffffffffffffffu, 0xfffffffffffffffeu, &low) == 0xfffffffffffffffdu &&
              low == 2,
          "128-bit product of the largest words");
    free(x);
}

/* Parameters that make no distribution: the first bad element is named, and nothing after it
 * matters. */
static void refused(void)
{
    const double shapes[5] = { 1, 2, -1, 0, 3 }, scale = 1;
    double out[5];
    int64_t status = 0;
    mck_random a = { .n = 5,
                     .out = out,
                     .key = 1,
                     .width = 1,
                     .p = { shapes, &scale },
                     .stride = { 1, 0 },
                     .status = &status };
    MCK(random_gamma_f64)(&a);
    check(status == 3, "gamma: the third shape is refused, got %lld", (long long)status);
    status = 0;
    MCK(random_weibull_f64)(&a);
    check(status == 3, "weibull: the third shape is refused, got %lld", (long long)status);
}

int main(void)
{
    if (!level_runs()) return 0;
    known_answers();
    streams();
    uniform_shape();
    normal_shape();
    normal_digits();
    integers();
    refused();
    return report();
}
