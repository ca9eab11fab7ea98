/* random_gamma.h - standard gamma numbers of a group: what random_reject.c and random_count.c
 * share.
 *
 * The method of Marsaglia and Tsang, "A simple method for generating gamma variables", 2000,
 * counter-based: one block an attempt, its first two words the radius and its third the angle of a
 * normal number, its fourth the test. Shapes below 1 take the number of shape a + 1 times u^(1/a),
 * u from the next part. */
#ifndef RANDOM_GAMMA_H
#define RANDOM_GAMMA_H

#include "random_group.h"

/* A normal number from three words. */
MC_INLINE double normal_of_three(uint32_t a, uint32_t b, uint32_t c)
{
    double cosine, sine;
    mck_philox_turn_f64(0x80000000u, c, &cosine, &sine);
    return mck_philox_radius_f64(a, b) * cosine;
}

/* A normal number z into d v: the candidate. */
MC_INLINE double gamma_cube(double d, double z)
{
    const double t = 1.0 + z / mck_sqrt_f64(9.0 * d);
    return t > 0 ? t * t * t : 0;
}

/* The exact test of candidate v = gamma_cube(d, z). */
MC_INLINE int gamma_accepts(double d, double z, double v, double u)
{
    return v > 0 && mck_log_f64(u) < 0.5 * z * z + d * (1.0 - v + mck_log_f64(v));
}

/* v of lane l, which the quick test of attempt 0 did not settle. */
static MC_NOINLINE double gamma_again(const group *g, int l, unsigned part, double d, double z,
                                      double v, double u)
{
    for (unsigned attempt = 1; attempt < ATTEMPTS && !gamma_accepts(d, z, v, u); attempt++) {
        uint32_t c[4];
        lane_words(g, l, part, attempt, c);
        z = normal_of_three(c[0], c[1], c[2]);
        v = gamma_cube(d, z);
        u = mck_philox_open_word(c[3]);
    }
    return v > 0 ? v : 1.0;
}

/* out[l]: gamma number of shape a[l] > 0, scale 1, from parts part and part + 1; its logarithm when
 * `logarithm` (which does not underflow where a is small). */
MC_INLINE void gamma_group(const group *g, const double *a, unsigned part, int logarithm,
                           double *out)
{
    uint32_t w[4][LANES];
    double d[LANES], z[LANES], v[LANES], u[LANES];
    int open = 0, small = 0;
    int8_t settled[LANES];
    group_words(g, part, w);
    for (int l = 0; l < LANES; l++) {
        d[l] = (a[l] < 1.0 ? a[l] + 1.0 : a[l]) - 1.0 / 3.0;
        z[l] = normal_of_three(w[0][l], w[1][l], w[2][l]);
        u[l] = mck_philox_open_word(w[3][l]);
    }
    for (int l = 0; l < LANES; l++) {
        v[l] = gamma_cube(d[l], z[l]);
        const double square = z[l] * z[l];
        const int fine = (v[l] > 0) & (u[l] < 1.0 - 0.0331 * (square * square));
        settled[l] = (int8_t)fine;
        open |= !fine;
        small |= a[l] < 1.0;
    }
    for (int l = 0; l < g->m && open; l++)
        if (!settled[l]) v[l] = gamma_again(g, l, part, d[l], z[l], v[l], u[l]);
    if (!small && !logarithm) {
        for (int l = 0; l < LANES; l++) out[l] = d[l] * v[l];
        return;
    }
    if (small) {
        group_words(g, part + 1, w);
        for (int l = 0; l < LANES; l++) {
            const double boost = mck_log_f64(mck_philox_open_f64(w[0][l], w[1][l])) / a[l];
            u[l] = a[l] < 1.0 ? boost : 0.0;
        }
    } else {
        for (int l = 0; l < LANES; l++) u[l] = 0.0;
    }
    if (logarithm)
        for (int l = 0; l < LANES; l++) out[l] = mck_log_f64(d[l] * v[l]) + u[l];
    else
        for (int l = 0; l < LANES; l++) out[l] = d[l] * v[l] * mck_exp_f64(u[l]);
}

#endif
