/* pac_check.h - what the tests of the phase-amplitude coupling kernels share: buffers of either
 * precision, a slow transform, definitions.
 *
 * Run-time `prec` 4 or 8 picks the dtype; every buffer is read and written through get and put. */
#ifndef PAC_CHECK_H
#define PAC_CHECK_H

#include "../../kernels/workflows/pac/pac.h"
#include "count_check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_(bits, isa) mck_pac_f##bits##_##isa
#define TABLE(bits, isa) TABLE_(bits, isa)
static const double PI = 3.14159265358979323846;

/* ---- buffers ---- */
static int prec = 8;
static const mck_pac_ops *ops;
static inline int lanes_of(void) { return prec == 4 ? MCK_PAC_LANES_F32 : MCK_PAC_LANES_F64; }
static inline void *memory(int64_t bytes)
{
    void *p = aligned_alloc(64, (size_t)((bytes + 127) / 64 * 64));
    if (!p)
        exit(2);
    memset(p, 0xee, (size_t)bytes);
    return p;
}
static inline void *reals(int64_t n) { return memory(n * prec); }
static inline double get(const void *p, int64_t i)
{
    return prec == 4 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}
static inline void put(void *p, int64_t i, double v)
{
    if (prec == 4)
        ((float *)p)[i] = (float)v;
    else
        ((double *)p)[i] = v;
}
static uint64_t seed = 1;
static inline double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) * 0x1p-53;
}
static inline int64_t below(int64_t n) { return (int64_t)(uniform() * (double)n); }
static inline int near_to(double got, double want, double tol)
{
    if (want != want)
        return got != got;
    return fabs(got - want) <= tol;
}
/* f32 and f64 tolerance of a quantity of order one */
static inline double tol(double f32, double f64) { return prec == 4 ? f32 : f64; }

/* ---- the slow transform ---- */
typedef struct plan {
    int forward_real; /* r2c, else c2c backward */
    int64_t n;
} plan;
static inline void slow_fft(void *vp, const void *in, void *out)
{
    const plan *p = vp;
    const int64_t n = p->n;
    double *c = malloc((size_t)n * 16), *x = malloc((size_t)n * 16);
    for (int64_t i = 0; i < n; i++) {
        c[2 * i] = cos(2 * PI * (double)i / (double)n);
        c[2 * i + 1] = sin(2 * PI * (double)i / (double)n);
        x[2 * i] = get(in, p->forward_real ? i : 2 * i);
        x[2 * i + 1] = p->forward_real ? 0 : get(in, 2 * i + 1);
    }
    for (int64_t k = 0; k < (p->forward_real ? n / 2 + 1 : n); k++) {
        double re = 0, im = 0;
        for (int64_t t = 0; t < n; t++) {
            const int64_t j = k * t % n;
            const double wr = c[2 * j], wi = p->forward_real ? -c[2 * j + 1] : c[2 * j + 1];
            re += x[2 * t] * wr - x[2 * t + 1] * wi;
            im += x[2 * t] * wi + x[2 * t + 1] * wr;
        }
        put(out, 2 * k, re);
        put(out, 2 * k + 1, im);
    }
    free(c);
    free(x);
}

/* ---- definitions ---- */
static inline int64_t floor_bin(double phi, int64_t bins)
{
    const int64_t k = (int64_t)floor((phi + PI) * (double)bins / (2 * PI));
    return k < 0 ? 0 : k >= bins ? bins - 1 : k;
}

/* p_j from sums and counts; returns the modulation index (or height ratio) */
static inline double define_value(const mck_pac_bins *a, const double *s, const double *n,
                                  double *p)
{
    const int64_t B = a->bins;
    double total = 0, v = 0, hi = -INFINITY, lo = INFINITY;
    for (int64_t j = 0; j < B; j++) {
        const double d = a->norm == MCK_PAC_MEAN  ? n[j]
                         : a->norm == MCK_PAC_SUM ? 1
                                                  : a->divisor[j];
        p[j] = d != 0 ? s[j] / d : 0;
        total += p[j];
    }
    if (total == 0)
        return 0;
    for (int64_t j = 0; j < B; j++) {
        p[j] /= total + a->epsilon;
        if (a->epsilon > 0 && p[j] < a->epsilon)
            p[j] = a->epsilon;
        hi = p[j] > hi ? p[j] : hi;
        lo = p[j] < lo ? p[j] : lo;
        v += p[j] > 0 ? p[j] * log(p[j]) : p[j];
    }
    return total - total != 0         ? (double)NAN
           : a->measure == MCK_PAC_HR ? (hi - lo) / hi
                                      : 1 + v / log((double)B);
}

/* zmax of shift k is the largest (s - m)/sd of the pairs, by the definition. */
static inline void check_standardised(const mck_pac_null *u, const void *value, int64_t job,
                                      int64_t k, int64_t cells)
{
    double top = -INFINITY;
    for (int64_t i = 0; i < cells; i++) {
        double n = (double)u->K + 1, v = get(value, job * cells + i), m = v, sq = 0;
        for (int64_t j = 0; j < u->K; j++)
            m += get(u->all, (job * u->K + j) * cells + i);
        m /= n;
        sq = (v - m) * (v - m);
        for (int64_t j = 0; j < u->K; j++) {
            const double d = get(u->all, (job * u->K + j) * cells + i) - m;
            sq += d * d;
        }
        if (sq > 0)
            check(near_to(get(u->zvalue, job * cells + i), (v - m) / sqrt(sq / n), tol(1e-6, 1e-9)),
                  "null zvalue");
        if (sq > 0)
            top = fmax(top, (get(u->all, (job * u->K + k) * cells + i) - m) / sqrt(sq / n));
    }
    const double got = get(u->zmax, job * u->K + k);
    check(got == top || near_to(got, top, tol(1e-6, 1e-9)), "null zmax %.9g, want %.9g", got, top);
}

/* All tests in f64, then in f32. */
static inline int both(void (*all)(void))
{
    prec = 8;
    ops = &TABLE(64, MC_ISA);
    all();
    prec = 4;
    ops = &TABLE(32, MC_ISA);
    all();
    return report();
}

#endif
