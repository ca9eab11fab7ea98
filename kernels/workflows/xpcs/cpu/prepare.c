/* prepare.c - tables of one set of parameters: integrals over time, sines and cosines, factors of
 * angles.
 *
 * Everything transcendental happens here, for n times and n F pairs of time and angle; the pass
 * over the n^2 F points only multiplies and adds. Integrals are running trapezoids without dt,
 * which stands in kd and ks. */
#include "body.h"

#include <math.h>

#define FLOOR 1e-10 /* of D and G, s.a. the model's definition */

/* D or G and the integrands of its derivatives at time t; derivatives are 0 where the floor
 * holds. */
static void rate(double t, double scale, double power, double shift, double *v)
{
    const double p = mck_pow_f64(t, power), r = scale * p + shift;
    const int above = r > FLOOR;
    v[0] = above ? r : FLOOR;
    v[1] = above ? p : 0;
    v[2] = above ? scale * p * mck_log_f64(t) : 0;
    v[3] = above ? 1 : 0;
}

static void integrals(const mck_xpcs_model *m, double *prefix, const double *p)
{
    const int64_t n = m->n;
    const double gap = n > 1 ? fabs(m->time[1] - m->time[0]) / 2 : 0,
                 least = gap > 1e-8 ? gap : 1e-8;
    double before[4], now[4];
    for (int64_t i = 0; i < n; i++) {
        rate(m->time[i] > least ? m->time[i] : least, p[0], p[1], p[2], now);
        for (int k = 0; k < 4; k++) {
            prefix[k * n + i] = i ? prefix[k * n + i - 1] + (before[k] + now[k]) / 2 : 0;
            before[k] = now[k];
        }
    }
}

static void angles(const mck_xpcs_model *m, double *a)
{
    const int64_t F = m->F;
    const double degree = 0x1.1df46a2529d39p-6; /* pi / 180 */
    for (int64_t f = 0; f < F; f++) {
        const double turn = (m->physics[6] - m->phi[f]) * degree;
        const double k = m->laminar ? m->ks * mck_cos_f64(turn) : 0,
                     t = m->laminar ? -m->ks * mck_sin_f64(turn) * degree : 0;
        const double w = 1 / m->sigma[f], c = m->scaling == XPCS_COMMON ? 1 : m->contrast[f];
        a[XPCS_K * F + f] = k;
        a[XPCS_RK * F + f] = 1 / k;
        a[XPCS_PHI * F + f] = t;
        a[XPCS_WEIGHT * F + f] = w;
        a[XPCS_SHIFT * F + f] = -m->offset[f] * w;
        a[XPCS_SCALE * F + f] = -m->contrast[f];
        a[XPCS_C1 * F + f] = c;
        a[XPCS_CK * F + f] = c * k;
        a[XPCS_CT * F + f] = c * t;
        a[XPCS_C2 * F + f] = c * c;
        a[XPCS_C2K * F + f] = c * c * k;
        a[XPCS_C2T * F + f] = c * c * t;
        a[XPCS_C2KK * F + f] = c * c * k * k;
        a[XPCS_C2KT * F + f] = c * c * k * t;
        a[XPCS_C2TT * F + f] = c * c * t * t;
    }
}

void MCK(xpcs_prepare)(const mck_xpcs_model *m, const mck_xpcs_tables *t)
{
    const int64_t n = m->n, F = m->F, groups = (n + XPCS_G - 1) / XPCS_G;
    integrals(m, t->prefix, m->physics);
    angles(m, t->angle);
    if (!m->laminar) return;
    const double *B = t->prefix + 4 * n, *K = t->angle + XPCS_K * F;
    double *cosine = t->sine + groups * F * XPCS_G;
    integrals(m, t->prefix + 4 * n, m->physics + 3);
    for (int64_t g = 0; g < groups; g++) {
        const double start = B[g * XPCS_G / XPCS_T * XPCS_T];
        double d[XPCS_G];
        for (int64_t l = 0; l < XPCS_G; l++)
            d[l] = g * XPCS_G + l < n ? B[g * XPCS_G + l] - start : 0;
        for (int64_t f = 0; f < F; f++)
            for (int64_t l = 0; l < XPCS_G; l++) {
                t->sine[(g * F + f) * XPCS_G + l] = mck_sin_f64(K[f] * d[l]);
                cosine[(g * F + f) * XPCS_G + l] = mck_cos_f64(K[f] * d[l]);
            }
    }
}
