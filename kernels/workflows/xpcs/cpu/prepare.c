/* prepare.c - tables of one set of parameters: integrals over time, sines and cosines, factors of
 * angles.
 *
 * Everything transcendental happens here, for n times and n F pairs of time and angle; the pass
 * over the n^2 F points only multiplies and adds. Integrals are running trapezoids without dt,
 * which stands in kd and ks. */
#include "body.h"
#include "../device/rates.h"

#include <math.h>

static void integrals(const mck_xpcs_model *m, double *prefix, const double *p)
{
    const int64_t n = m->n;
    const double gap = n > 1 ? fabs(m->time[1] - m->time[0]) / 2 : 0,
                 least = gap > 1e-8 ? gap : 1e-8;
    double before[4], now[4];
    for (int64_t i = 0; i < n; i++) {
        xpcs_rate(m->time[i] > least ? m->time[i] : least, p[0], p[1], p[2], now);
        for (int k = 0; k < 4; k++) {
            prefix[k * n + i] = i ? prefix[k * n + i - 1] + (before[k] + now[k]) / 2 : 0;
            before[k] = now[k];
        }
    }
}

static void angles(const mck_xpcs_model *m, double *a)
{
    const int64_t F = m->F;
    double v[XPCS_ANGLE];
    for (int64_t f = 0; f < F; f++) {
        xpcs_angle(m->laminar, m->physics[6], m->phi[f], m->ks, m->sigma[f], m->contrast[f],
                   m->offset[f], m->scaling == XPCS_COMMON ? 1 : m->contrast[f], v);
        for (int k = 0; k < XPCS_ANGLE; k++) a[k * F + f] = v[k];
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
