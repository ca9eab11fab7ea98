/* random_reject.c - random family: continuous distributions that throw draws away or take several.
 *
 * Gamma and what is made of gamma numbers (beta, chi-square, Student, F), von Mises, the truncated
 * normal. A block per element and attempt; parts: 0 and 1 the first gamma number, 2 and 3 the
 * second, 4 a normal. Without fused multiply-add: every level gives the same bits. */
#define MCK_NO_FMA
#include "../mck_math.h"
#include "../mck_special.h"
#include "random_gamma.h"

#define FINITE(x) (mck_abs_f64(x) <= 1.7976931348623157e308)
#define POSITIVE(x) ((x) > 0 && FINITE(x))

static int shape_and_scale(double a, double b, double c, double d)
{
    (void)c;
    (void)d;
    return POSITIVE(a) && b >= 0 && FINITE(b);
}

static int two_shapes(double a, double b, double c, double d)
{
    (void)c;
    (void)d;
    return POSITIVE(a) && POSITIVE(b);
}

static int one_shape(double a, double b, double c, double d)
{
    (void)b;
    (void)c;
    (void)d;
    return POSITIVE(a);
}

/* ---- gamma: shape a, scale b ---- */

static void gamma_law(const group *g, double *out)
{
    gamma_group(g, g->p[0], 0, 0, out);
    for (int l = 0; l < LANES; l++) out[l] *= g->p[1][l];
}
GROUP_LAW(gamma_f64, gamma_law, shape_and_scale)

/* Logarithm of a gamma number of shape a. */
static void loggamma_law(const group *g, double *out)
{
    gamma_group(g, g->p[0], 0, 1, out);
}
GROUP_LAW(loggamma_f64, loggamma_law, one_shape)

/* ---- beta: x / (x + y) of gamma numbers of shapes a and b, through logarithms: small shapes
 * underflow ---- */

static void beta_law(const group *g, double *out)
{
    double x[LANES], y[LANES];
    int small = 0;
    for (int l = 0; l < LANES; l++) small |= (g->p[0][l] < 1.0) | (g->p[1][l] < 1.0);
    gamma_group(g, g->p[0], 0, small, x);
    gamma_group(g, g->p[1], 2, small, y);
    if (!small) {
        for (int l = 0; l < LANES; l++) out[l] = x[l] / (x[l] + y[l]);
        return;
    }
    for (int l = 0; l < LANES; l++) {
        const double e = mck_exp_f64(-mck_abs_f64(x[l] - y[l]));
        out[l] = (x[l] < y[l] ? e : 1.0) / (1.0 + e);
    }
}
/* Whether logarithms are taken must not depend on the neighbours: groups of mixed shapes are drawn
 * lane by lane. */
static void beta_alone(const group *g, double *out)
{
    int small = 0, large = 0;
    for (int l = 0; l < LANES; l++) {
        const int s = (g->p[0][l] < 1.0) | (g->p[1][l] < 1.0);
        small |= s;
        large |= !s;
    }
    if (!(small && large)) {
        beta_law(g, out);
        return;
    }
    group one = *g;
    double both[2][LANES];
    for (int pass = 0; pass < 2; pass++) {
        for (int l = 0; l < LANES; l++) {
            const int s = (g->p[0][l] < 1.0) | (g->p[1][l] < 1.0);
            /* lanes of the other kind: anything of this kind */
            one.p[0][l] = s == pass ? g->p[0][l] : pass ? 0.5 : 1.0;
            one.p[1][l] = s == pass ? g->p[1][l] : 1.0;
        }
        beta_law(&one, both[pass]);
    }
    for (int l = 0; l < LANES; l++) out[l] = both[(g->p[0][l] < 1.0) | (g->p[1][l] < 1.0)][l];
}
GROUP_LAW(beta_f64, beta_alone, two_shapes)

/* ---- chi-square, Student's t, F ---- */

static void chisquare_law(const group *g, double *out)
{
    double half[LANES];
    for (int l = 0; l < LANES; l++) half[l] = 0.5 * g->p[0][l];
    gamma_group(g, half, 0, 0, out);
    for (int l = 0; l < LANES; l++) out[l] *= 2.0;
}
GROUP_LAW(chisquare_f64, chisquare_law, one_shape)

/* b + c z / sqrt(chi-square / a) */
static void student_t_law(const group *g, double *out)
{
    uint32_t w[4][LANES];
    double half[LANES], x[LANES];
    for (int l = 0; l < LANES; l++) half[l] = 0.5 * g->p[0][l];
    gamma_group(g, half, 0, 0, x);
    group_words(g, 4, w);
    for (int l = 0; l < LANES; l++) {
        double z, other;
        mck_philox_normal_f64(w[0][l], w[1][l], w[2][l], w[3][l], &z, &other);
        out[l] = g->p[1][l] + g->p[2][l] * (z * mck_sqrt_f64(half[l] / x[l]));
    }
}
static int student_t_fine(double a, double b, double c, double d)
{
    (void)d;
    return POSITIVE(a) && FINITE(b) && c >= 0 && FINITE(c);
}
GROUP_LAW(student_t_f64, student_t_law, student_t_fine)

static void f_law(const group *g, double *out)
{
    double half[2][LANES], x[LANES], y[LANES];
    for (int j = 0; j < 2; j++)
        for (int l = 0; l < LANES; l++) half[j][l] = 0.5 * g->p[j][l];
    gamma_group(g, half[0], 0, 0, x);
    gamma_group(g, half[1], 2, 0, y);
    for (int l = 0; l < LANES; l++) out[l] = (x[l] / half[0][l]) / (y[l] / half[1][l]);
}
GROUP_LAW(f_f64, f_law, two_shapes)

/* ---- von Mises: mean direction a, concentration b, in [-pi, pi). Best and Fisher, "Efficient
 * simulation of the von Mises distribution", 1979; below 1e-8 it is uniform, above 1e6 a wrapped
 * normal to the last digits that 1/b leaves. ---- */

#define TURN 6.28318530717958647693

/* s = (1 + rho^2) / (2 rho) with rho = (r - sqrt(2 r)) / (2 b), r = 1 + sqrt(1 + 4 b^2); below 1e-5
 * its series */
MC_INLINE double von_mises_s(double b)
{
    const double r = 1.0 + mck_sqrt_f64(1.0 + 4.0 * b * b),
                 rho = (r - mck_sqrt_f64(2.0 * r)) / (2.0 * b);
    return b < 1e-5 ? 1.0 / b + b : (1.0 + rho * rho) / (2.0 * rho);
}

/* The candidate of one attempt: 1 and its angle when accepted. */
MC_INLINE int von_mises_try(double b, double s, const uint32_t *c, double *angle)
{
    double cosine, sine;
    mck_philox_turn_f64(c[0], c[1], &cosine, &sine);
    const double f = (1.0 + s * cosine) / (s + cosine), y = b * (s - f),
                 v = mck_philox_open_word(c[2]);
    const double size = mck_acos_f64(f < -1.0 ? -1.0 : f > 1.0 ? 1.0 : f);
    *angle = c[3] & 0x80000000u ? -size : size;
    return y * (2.0 - y) - v > 0 || mck_log_f64(y / v) + 1.0 - y >= 0;
}

static void von_mises_law(const group *g, double *out)
{
    uint32_t w[4][LANES];
    double s = 0, of = -1;
    group_words(g, 0, w);
    for (int l = 0; l < g->m; l++) {
        uint32_t c[4] = { w[0][l], w[1][l], w[2][l], w[3][l] };
        const double b = g->p[1][l];
        double angle;
        if (b < 1e-8) {
            angle = TURN * (mck_philox_open_f64(c[0], c[1]) - 0.5);
        } else if (b > 1e6) {
            double other;
            mck_philox_normal_f64(c[0], c[1], c[2], c[3], &angle, &other);
            angle /= mck_sqrt_f64(b);
        } else {
            if (b != of) s = von_mises_s(b);
            of = b;
            for (unsigned attempt = 1; !von_mises_try(b, s, c, &angle) && attempt < ATTEMPTS;
                 attempt++)
                lane_words(g, l, 0, attempt, c);
        }
        angle += g->p[0][l];
        angle -= TURN * mck_floor_f64(angle / TURN + 0.5);
        out[l] = angle < -0.5 * TURN ? -0.5 * TURN : angle;
    }
}
static int von_mises_fine(double a, double b, double c, double d)
{
    (void)c;
    (void)d;
    return FINITE(a) && b >= 0 && FINITE(b);
}
GROUP_LAW(von_mises_f64, von_mises_law, von_mises_fine)

/* ---- normal with mean c, standard deviation d, given that it lies in [a, b]. By inversion, from
 * the side where the distribution function is small, so that tails keep their digits; beyond 37
 * deviations, where it underflows, by rejection from an exponential or, for narrow intervals, a
 * uniform number: Robert, "Simulation of truncated normal variables", 1995. ---- */

/* Standard normal given that it lies in [low, high], 37 < low. */
static double far_tail(const group *g, int l, double low, double high, uint32_t *c)
{
    const double rate = 0.5 * (low + mck_sqrt_f64(low * low + 4.0));
    const int narrow = (high - low) * rate < 1.0;
    double x = low;
    for (unsigned attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const double u = mck_philox_open_f64(c[0], c[1]),
                     v = mck_log_f64(mck_philox_open_f64(c[2], c[3]));
        x = narrow ? low + u * (high - low) : low - mck_log_f64(u) / rate;
        const double test = narrow ? 0.5 * (low - x) * (low + x) : -0.5 * (x - rate) * (x - rate);
        if (x <= high && v < test) return x;
        lane_words(g, l, 0, attempt, c);
    }
    return x <= high ? x : low;
}

static void truncated_normal_law(const group *g, double *out)
{
    uint32_t w[4][LANES];
    double below[LANES], within[LANES], low = 0, high = 0, from = 0, to = 0, first = 0, mass = 0;
    int8_t turned[LANES], far[LANES];
    group_words(g, 0, w);
    for (int l = 0; l < g->m; l++) {
        const double a = (g->p[0][l] - g->p[2][l]) / g->p[3][l],
                     b = (g->p[1][l] - g->p[2][l]) / g->p[3][l];
        const int turn = a > 0; /* the interval mirrored to negative numbers */
        if (l == 0 || a != from || b != to) {
            low = turn ? -b : a;
            high = turn ? -a : b;
            first = mck_ndtr_f64(low);
            mass = mck_ndtr_f64(high) - first;
            from = a;
            to = b;
        }
        turned[l] = (int8_t)turn;
        far[l] = high < -37.0;
        below[l] = first;
        within[l] = mass;
    }
    for (int l = g->m; l < LANES; l++) below[l] = within[l] = 0.5;
    for (int l = 0; l < LANES; l++) {
        const double p = below[l] + mck_philox_open_f64(w[0][l], w[1][l]) * within[l];
        out[l] = mck_ndtri_f64(p);
    }
    for (int l = 0; l < g->m; l++) {
        const double a = g->p[0][l], b = g->p[1][l], mean = g->p[2][l], deviation = g->p[3][l];
        double z = turned[l] ? -out[l] : out[l];
        if (far[l]) {
            uint32_t c[4] = { w[0][l], w[1][l], w[2][l], w[3][l] };
            z = turned[l] ? far_tail(g, l, (a - mean) / deviation, (b - mean) / deviation, c)
                          : -far_tail(g, l, (mean - b) / deviation, (mean - a) / deviation, c);
        }
        const double x = mean + deviation * z;
        out[l] = x < a ? a : x > b ? b : x;
    }
}
static int truncated_normal_fine(double a, double b, double c, double d)
{
    return a < b && FINITE(c) && POSITIVE(d);
}
GROUP_LAW(truncated_normal_f64, truncated_normal_law, truncated_normal_fine)
