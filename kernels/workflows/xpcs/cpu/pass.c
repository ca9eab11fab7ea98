/* pass.c - cost, gradient and normal matrix of one tile of pairs, without a residual or a
 * derivative in memory.
 *
 * For the pair (i, j) and an angle: x = K (B_j - B_i), S = sin x / x, h = exp(-2 kd (A_j - A_i))
 * S^2, g = h S^2 = g1^2, and f = h S S' with S' = (cos x - S) / x. Then dC2 is c g (-2 kd dP) for
 * a parameter of D, c 4 f K dP for one of G, c 4 f PHI dB for phi0, g for the contrast, 1 for the
 * offset, where dP is the parameter's integral between i and j. So the products of all derivatives
 * follow from a dozen sums over the angles, multiplied once per pair with the dP. The sine of a
 * difference comes from tables of its two times, the exponential from two factors that are at most
 * 1. The floor of g1 at 1e-10 is left out: what it changes is below the rounding of the offset. */
#include "body.h"
#include "../device/rates.h"

#include <math.h>
#include <string.h>

/* What a pair of times needs, the same for all angles. */
typedef struct pair {
    vec E, B, R;   /* exp(-2 kd dA), dB, 1 / dB */
    double least, most; /* of |dB| in this vector: the first and the last lane that is a pair */
} pair;

/* One point per lane: root of the weight, g and f and r times it. */
typedef struct point {
    vec o, g, f, r;
} point;

/* Sums over the angles: products of g, f K, f PHI and r, named by their factors; w: 1 / sigma. */
typedef struct angular {
    vec rr, gg, gr, gk, gt, kk, kt, tt, kr, tr, wg, wr, wk, wt, ww;
} angular;

typedef struct job {
    const mck_xpcs_pass *a;
    int laminar, scaling, general;
    int64_t F;
    const double *row; /* [2][F] sine and cosine of row i */
    const double *sj, *cj; /* [groups][F][G] of the columns, turned to the row tile */
    double *buffer; /* [8][F][VL] */
} job;

MC_INLINE vec at(const double *angle, int64_t F, int what, int64_t f)
{
    return set(angle[what * F + f]);
}

/* S and S' by series in x. */
MC_INLINE void series(vec x, vec *S, vec *D)
{
    const vec z = mul(x, x);
    vec s = set(-1.0 / 39916800), d = set(12.0 / 6227020800.0);
    s = fma_(s, z, set(1.0 / 362880));
    s = fma_(s, z, set(-1.0 / 5040));
    s = fma_(s, z, set(1.0 / 120));
    s = fma_(s, z, set(-1.0 / 6));
    *S = fma_(s, z, set(1.0));
    d = fma_(d, z, set(-10.0 / 39916800));
    d = fma_(d, z, set(8.0 / 362880));
    d = fma_(d, z, set(-6.0 / 5040));
    d = fma_(d, z, set(4.0 / 120));
    d = fma_(d, z, set(-2.0 / 6));
    *D = mul(d, x);
}

MC_INLINE void sinc(const job *b, const pair *p, int64_t f, const double *sj, const double *cj,
                    vec *S, vec *D)
{
    const double *angle = b->a->tables.angle;
    const int64_t F = b->F;
    const double k = angle[XPCS_K * F + f], size = k < 0 ? -k : k;
    if (size * p->most < XPCS_NEAR) {
        series(mul(p->B, set(k)), S, D);
        return;
    }
    const vec si = set(b->row[f]), ci = set(b->row[F + f]), a = ld(sj), c = ld(cj);
    const vec s = sub(mul(a, ci), mul(c, si)), co = fma_(c, ci, mul(a, si));
    const vec rx = mul(p->R, at(angle, F, XPCS_RK, f));
    *S = mul(s, rx);
    *D = mul(sub(co, *S), rx);
    if (!(size * p->least >= XPCS_NEAR)) {
        vec T, U, x = mul(p->B, set(k));
        series(x, &T, &U);
        *S = pick(x, set(XPCS_NEAR), T, *S);
        *D = pick(x, set(XPCS_NEAR), U, *D);
    }
}

/* The point of angle f. masked: lanes without a pair, missing data and weights of points are
 * possible. */
MC_INLINE point evaluate(const job *b, const pair *p, int64_t f, int64_t place, const double *sj,
                         const double *cj, int single, int masked)
{
    const double *angle = b->a->tables.angle;
    const int64_t F = b->F;
    vec S, D, y, w = at(angle, F, XPCS_WEIGHT, f), shift = at(angle, F, XPCS_SHIFT, f), e = p->E;
    point q;
    if (single) y = mck_wide_f32((const float *)b->a->y + place);
    else y = ld((const double *)b->a->y + place);
    if (masked && b->a->weight) {
        const vec u = single ? mck_wide_f32((const float *)b->a->weight + place)
                             : ld((const double *)b->a->weight + place);
        w = mul(w, u);
        shift = mul(shift, u);
    }
    if (b->laminar) {
        sinc(b, p, f, sj, cj, &S, &D);
        const vec S2 = mul(S, S), h = mul(e, S2);
        q.g = mul(w, mul(h, S2));
        q.f = mul(w, mul(mul(h, S), D));
    } else {
        q.g = mul(w, e);
        q.f = set(0);
    }
    q.o = w;
    q.r = fma_(at(angle, F, XPCS_SCALE, f), q.g, fma_(w, y, shift));
    if (masked) {
        q.o = keep(y, q.o);
        q.g = keep(y, q.g);
        q.f = keep(y, q.f);
        q.r = keep(y, q.r);
    }
    return q;
}

MC_INLINE void add_angle(const job *b, angular *s, const point *q, int64_t f, int cost)
{
    const double *angle = b->a->tables.angle;
    const int64_t F = b->F;
    if (cost) s->rr = fma_(q->r, q->r, s->rr);
    const vec gr = mul(q->g, q->r), gg = mul(q->g, q->g);
    s->gg = fma_(at(angle, F, XPCS_C2, f), gg, s->gg);
    s->gr = fma_(at(angle, F, XPCS_C1, f), gr, s->gr);
    if (b->scaling == XPCS_COMMON) {
        s->wg = fma_(q->o, q->g, s->wg);
        s->wr = fma_(q->o, q->r, s->wr);
        s->ww = fma_(q->o, q->o, s->ww);
    }
    if (!b->laminar) return;
    const vec gf = mul(q->g, q->f), ff = mul(q->f, q->f), fr = mul(q->f, q->r);
    s->gk = fma_(at(angle, F, XPCS_C2K, f), gf, s->gk);
    s->gt = fma_(at(angle, F, XPCS_C2T, f), gf, s->gt);
    s->kk = fma_(at(angle, F, XPCS_C2KK, f), ff, s->kk);
    s->kt = fma_(at(angle, F, XPCS_C2KT, f), ff, s->kt);
    s->tt = fma_(at(angle, F, XPCS_C2TT, f), ff, s->tt);
    s->kr = fma_(at(angle, F, XPCS_CK, f), fr, s->kr);
    s->tr = fma_(at(angle, F, XPCS_CT, f), fr, s->tr);
    if (b->scaling == XPCS_COMMON) {
        const vec of = mul(q->o, q->f);
        s->wk = fma_(at(angle, F, XPCS_CK, f), of, s->wk);
        s->wt = fma_(at(angle, F, XPCS_CT, f), of, s->wt);
    }
}

/* Adds v, or u v, to sum k of acc[sums][G]. */
MC_INLINE void plus(double *acc, int k, vec v)
{
    st(acc + k * XPCS_G, add(ld(acc + k * XPCS_G), v));
}
MC_INLINE void plus_product(double *acc, int k, vec u, vec v)
{
    st(acc + k * XPCS_G, fma_(u, v, ld(acc + k * XPCS_G)));
}

/* Sums of one angle's own contrast and offset. d: the six integrals between i and j, dB last. */
MC_INLINE void add_scaling(const job *b, double *acc, const point *q, const vec *d)
{
    const vec gg = mul(q->g, q->g), og = mul(q->o, q->g);
    plus(acc, XPCS_CC, gg);
    plus(acc, XPCS_CO, og);
    plus_product(acc, XPCS_OO, q->o, q->o);
    plus_product(acc, XPCS_CR, q->g, q->r);
    plus_product(acc, XPCS_OR, q->o, q->r);
    for (int k = 0; k < 3; k++) {
        plus_product(acc, XPCS_CP + k, gg, d[k]);
        plus_product(acc, XPCS_OP + k, og, d[k]);
    }
    if (!b->laminar) return;
    const vec gf = mul(q->g, q->f), of = mul(q->o, q->f);
    for (int k = 3; k < 7; k++) {
        plus_product(acc, XPCS_CP + k, gf, d[k]);
        plus_product(acc, XPCS_OP + k, of, d[k]);
    }
}

/* Products with the integrals, once per pair. */
MC_INLINE void add_pair(const job *b, double *acc, const angular *s, const vec *d)
{
    vec dd[3], dk[3], kk[3];
    int at = XPCS_NORMAL;
    plus(acc, XPCS_COST, s->rr);
    for (int k = 0; k < 3; k++) {
        dd[k] = mul(s->gg, d[k]);
        plus_product(acc, XPCS_GRADIENT + k, s->gr, d[k]);
        if (b->laminar) {
            dk[k] = mul(s->gk, d[k]);
            kk[k] = mul(s->kk, d[3 + k]);
            plus_product(acc, XPCS_GRADIENT + 3 + k, s->kr, d[3 + k]);
        }
    }
    for (int k = 0; k < 3; k++) {
        for (int l = k; l < 3; l++) plus_product(acc, at++, dd[k], d[l]);
        if (b->laminar) {
            for (int l = 3; l < 6; l++) plus_product(acc, at++, dk[k], d[l]);
            plus_product(acc, at++, mul(s->gt, d[k]), d[6]);
        } else {
            at += 4;
        }
    }
    if (b->laminar) {
        const vec tB = mul(s->tt, d[6]), kB = mul(s->kt, d[6]);
        for (int k = 0; k < 3; k++) {
            for (int l = k; l < 3; l++) plus_product(acc, at++, kk[k], d[3 + l]);
            plus_product(acc, at++, kB, d[3 + k]);
        }
        plus_product(acc, at, tB, d[6]);
        plus_product(acc, XPCS_GRADIENT + 6, s->tr, d[6]);
    }
    if (b->scaling != XPCS_COMMON) return;
    acc += XPCS_SCALING * XPCS_G;
    plus(acc, XPCS_CC, s->gg);
    plus(acc, XPCS_CO, s->wg);
    plus(acc, XPCS_OO, s->ww);
    plus(acc, XPCS_CR, s->gr);
    plus(acc, XPCS_OR, s->wr);
    for (int k = 0; k < 3; k++) {
        plus(acc, XPCS_CP + k, dd[k]);
        plus_product(acc, XPCS_OP + k, s->wg, d[k]);
        if (b->laminar) {
            plus_product(acc, XPCS_CP + 3 + k, s->gk, d[3 + k]);
            plus_product(acc, XPCS_OP + 3 + k, s->wk, d[3 + k]);
        }
    }
    if (b->laminar) {
        plus_product(acc, XPCS_CP + 6, s->gt, d[6]);
        plus_product(acc, XPCS_OP + 6, s->wt, d[6]);
    }
}

/* Robust losses, one loop each: z = (r / f_scale)^2 in, rho(z), rho' and the curvature rho' + 2 z
 * rho'' out. */
static void losses(int loss, int64_t n, const double *MC_RESTRICT z, double *MC_RESTRICT rho,
                   double *MC_RESTRICT slope, double *MC_RESTRICT curve)
{
    if (loss == XPCS_SOFT_L1) {
        for (int64_t i = 0; i < n; i++) rho[i] = xpcs_soft_l1(z[i], slope + i, curve + i);
    } else if (loss == XPCS_HUBER) {
        for (int64_t i = 0; i < n; i++) rho[i] = xpcs_huber(z[i], slope + i, curve + i);
    } else if (loss == XPCS_CAUCHY) {
        for (int64_t i = 0; i < n; i++) rho[i] = xpcs_cauchy(z[i], slope + i, curve + i);
    } else {
        for (int64_t i = 0; i < n; i++) rho[i] = xpcs_arctan(z[i], slope + i, curve + i);
    }
}

/* Points of all angles for one vector of pairs under a robust loss. Rows get the root of the
 * curvature and residuals rho' over it; for the errors of a fit rows get psi = r rho', or the root
 * of what the curvature is below 0, and residuals nothing. The buffer holds o, g, f, r of n points
 * and room for four lists of n. Returns the cost per lane: the sum of rho, or of the squares of the
 * factors of rows. */
static vec bend(const job *b, double *buffer)
{
    const int64_t n = b->F * VL;
    double *MC_RESTRICT o = buffer, *MC_RESTRICT g = o + n, *MC_RESTRICT f = g + n,
                        *MC_RESTRICT r = f + n;
    double *MC_RESTRICT z = r + n, *MC_RESTRICT rho = z + n, *MC_RESTRICT slope = rho + n,
                        *MC_RESTRICT curve = slope + n;
    const double scale = b->a->f_scale, inverse = 1 / scale;
    for (int64_t i = 0; i < n; i++) z[i] = (r[i] * inverse) * (r[i] * inverse);
    losses(b->a->loss, n, z, rho, slope, curve);
    if (b->a->part == XPCS_FIT) {
        for (int64_t i = 0; i < n; i++) {
            z[i] = mck_sqrt_f64(curve[i] > 0x1p-52 ? curve[i] : 0x1p-52);
            r[i] *= slope[i] / z[i];
            rho[i] *= scale * scale;
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            const double psi = r[i] * slope[i], below = curve[i] < 0 ? -curve[i] : 0;
            z[i] = b->a->part == XPCS_PSI ? psi : mck_sqrt_f64(below);
            rho[i] = z[i] * z[i];
            r[i] = 0;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        o[i] *= z[i];
        g[i] *= z[i];
        f[i] *= z[i];
    }
    vec sum = set(0);
    for (int64_t i = 0; i < n; i += VL) sum = add(sum, ld(rho + i));
    return sum;
}

/* All angles of one vector of pairs. acc starts at the lanes of this vector. */
MC_INLINE void vector(const job *b, const pair *p, const vec *d, int64_t place, int64_t half,
                      const double *sj, const double *cj, double *acc, int single, int masked)
{
    const int64_t F = b->F;
    const vec zero = set(0);
    angular s = { zero, zero, zero, zero, zero, zero, zero, zero,
                  zero, zero, zero, zero, zero, zero, zero };
    if (masked && b->a->loss) {
        double *o = b->buffer, *g = o + F * VL, *fb = g + F * VL, *r = fb + F * VL;
        for (int64_t f = 0; f < F; f++) {
            const int64_t k = f * XPCS_G + half;
            const point q = evaluate(b, p, f, place + k, sj + k, cj + k, single, masked);
            st(o + f * VL, q.o);
            st(g + f * VL, q.g);
            st(fb + f * VL, q.f);
            st(r + f * VL, q.r);
        }
        s.rr = bend(b, b->buffer);
        for (int64_t f = 0; f < F; f++) {
            const point q = {ld(o + f * VL), ld(g + f * VL), ld(fb + f * VL), ld(r + f * VL)};
            add_angle(b, &s, &q, f, 0);
            if (b->scaling == XPCS_EACH)
                add_scaling(b, acc + (XPCS_SCALING + XPCS_SECTION * f) * XPCS_G, &q, d);
        }
    } else {
        for (int64_t f = 0; f < F; f++) {
            const int64_t k = f * XPCS_G + half;
            const point q = evaluate(b, p, f, place + k, sj + k, cj + k, single, masked);
            add_angle(b, &s, &q, f, 1);
            if (b->scaling == XPCS_EACH)
                add_scaling(b, acc + (XPCS_SCALING + XPCS_SECTION * f) * XPCS_G, &q, d);
        }
    }
    add_pair(b, acc, &s, d);
}

/* The columns' sines seen from the start of the row tile: turned by the angle between the two
 * tiles. */
static void turn(const mck_xpcs_pass *a, int64_t I, int64_t J, double *sj, double *cj)
{
    const int64_t F = a->model->F, n = a->model->n, groups = xpcs_groups(n, J),
                  all = (n + XPCS_G - 1) / XPCS_G;
    const double *B = a->tables.prefix + 4 * n, *K = a->tables.angle + XPCS_K * F;
    const double *s = a->tables.sine + J * (XPCS_T / XPCS_G) * F * XPCS_G,
                 *c = s + all * F * XPCS_G;
    const double gap = B[J * XPCS_T] - B[I * XPCS_T];
    for (int64_t f = 0; f < F; f++) {
        const double sd = mck_sin_f64(K[f] * gap), cd = mck_cos_f64(K[f] * gap);
        for (int64_t g = 0; g < groups; g++)
            for (int64_t l = 0; l < XPCS_G; l++) {
                const int64_t k = (g * F + f) * XPCS_G + l;
                sj[k] = s[k] * cd + c[k] * sd;
                cj[k] = c[k] * cd - s[k] * sd;
            }
    }
}

/* exp(-2 kd (A_j - A_i)) as e_i e_j, both at most 1: seen from the first time of the column
 * tile. */
static void decay(const mck_xpcs_pass *a, int64_t I, int64_t J, double *ei, double *ej)
{
    const int64_t n = a->model->n, i0 = I * XPCS_T, j0 = J * XPCS_T;
    const double *A = a->tables.prefix, k = -2 * a->model->kd;
    for (int64_t i = 0; i < xpcs_rows(n, I); i++) ei[i] = mck_exp_f64(k * (A[j0] - A[i0 + i]));
    for (int64_t j = 0; j < XPCS_T; j++)
        ej[j] = j0 + j < n ? mck_exp_f64(k * (A[j0 + j] - A[j0])) : 0;
}

/* The parameters' integrals of the column tile, padded with those of its last time. */
static void columns(const mck_xpcs_pass *a, int64_t J, double *d)
{
    const int64_t n = a->model->n, j0 = J * XPCS_T;
    const double *P = a->tables.prefix;
    static const int order[8] = {1, 2, 3, 5, 6, 7, 4, 0};
    for (int k = 0; k < 8; k++)
        for (int64_t j = 0; j < XPCS_T; j++)
            d[k * XPCS_T + j] = !a->model->laminar && order[k] >= 4
                                    ? 0
                                    : P[order[k] * n + (j0 + j < n ? j0 + j : n - 1)];
}

MC_INLINE void tile_body(const mck_xpcs_pass *a, int64_t I, int64_t J, int64_t place, double *work,
                         double *acc, int laminar, int scaling, int single, int general)
{
    const int64_t n = a->model->n, F = a->model->F, groups = xpcs_groups(n, J), i0 = I * XPCS_T,
                  j0 = J * XPCS_T;
    double *ei = work, *ej = ei + XPCS_T, *e = ej + XPCS_T, *d = e + XPCS_T, *row = d + 8 * XPCS_T,
           *sj = row + ((2 * F + 7) & ~(int64_t)7), *cj = sj + XPCS_T * F;
    job b = {a, laminar, scaling, general, F, row, sj, cj, cj + XPCS_T * F};
    if (I != J) decay(a, I, J, ei, ej);
    columns(a, J, d);
    if (laminar) turn(a, I, J, sj, cj);
    const double *sine = a->tables.sine, *cosine = sine + (n + XPCS_G - 1) / XPCS_G * F * XPCS_G;
    for (int64_t i = 0; i < xpcs_rows(n, I); i++) {
        const int64_t from = I == J ? (i + 1) / XPCS_G : 0, ig = (i0 + i) / XPCS_G,
                      il = (i0 + i) % XPCS_G;
        vec di[8];
        if (I == J) { /* A_j - A_i itself */
            for (int64_t j = 0; j < XPCS_T; j++) {
                const double x = -2 * a->model->kd * (d[7 * XPCS_T + j] - d[7 * XPCS_T + i]);
                e[j] = mck_exp_f64(x < 0 ? x : 0);
            }
        }
        if (laminar)
            for (int64_t f = 0; f < F; f++) {
                row[f] = sine[(ig * F + f) * XPCS_G + il];
                row[F + f] = cosine[(ig * F + f) * XPCS_G + il];
            }
        const double *P = a->tables.prefix;
        static const int order[7] = {1, 2, 3, 5, 6, 7, 4};
        for (int k = 0; k < 7; k++)
            di[k] = set(!laminar && order[k] >= 4 ? 0 : P[order[k] * n + i0 + i]);
        for (int64_t g = from; g < groups; g++)
            for (int64_t half = 0; half < XPCS_G; half += VL) {
                const int64_t j = g * XPCS_G + half, last = j + VL - 1;
                if ((I == J && last <= i) || j0 + j >= n) continue;
                vec dj[7];
                for (int k = 0; k < 7; k++) dj[k] = sub(ld(d + k * XPCS_T + j), di[k]);
                pair p;
                p.E = I == J ? ld(e + j) : mul(ld(ej + j), set(ei[i]));
                p.B = dj[6];
                p.R = laminar ? mck_div_64(set(1), dj[6]) : set(0);
                const double *B = d + 6 * XPCS_T, Bi = laminar ? P[4 * n + i0 + i] : 0;
                p.least = B[j] - Bi;
                p.most = B[last] - Bi;
                const int edge = (I == J && j <= i) || j0 + last >= n;
                if (p.least < 0) p.least = 0;
                const int64_t at = place + (i * groups + g) * F * XPCS_G;
                const double *s = sj + g * F * XPCS_G, *c = cj + g * F * XPCS_G;
                if (general || edge) vector(&b, &p, dj, at, half, s, c, acc + half, single, 1);
                else vector(&b, &p, dj, at, half, s, c, acc + half, single, 0);
            }
    }
}

/* One compiled body per kind of model, scaling and data. */
#define BODY(name, laminar, scaling, single)                                                    \
    static void name(const mck_xpcs_pass *a, int64_t I, int64_t J, int64_t place, double *work, \
                     double *acc, int general)                                                  \
    {                                                                                           \
        tile_body(a, I, J, place, work, acc, laminar, scaling, single, general);                \
    }
BODY(laminar_fixed_f64, 1, XPCS_FIXED, 0)
BODY(laminar_common_f64, 1, XPCS_COMMON, 0)
BODY(laminar_each_f64, 1, XPCS_EACH, 0)
BODY(laminar_fixed_f32, 1, XPCS_FIXED, 1)
BODY(laminar_common_f32, 1, XPCS_COMMON, 1)
BODY(laminar_each_f32, 1, XPCS_EACH, 1)
BODY(static_fixed_f64, 0, XPCS_FIXED, 0)
BODY(static_common_f64, 0, XPCS_COMMON, 0)
BODY(static_each_f64, 0, XPCS_EACH, 0)
BODY(static_fixed_f32, 0, XPCS_FIXED, 1)
BODY(static_common_f32, 0, XPCS_COMMON, 1)
BODY(static_each_f32, 0, XPCS_EACH, 1)

typedef void (*body_fn)(const mck_xpcs_pass *a, int64_t I, int64_t J, int64_t place, double *work,
                        double *acc, int general);
static const body_fn bodies[2][2][3] = {
    { { static_fixed_f64, static_common_f64, static_each_f64 },
      { static_fixed_f32, static_common_f32, static_each_f32 } },
    { { laminar_fixed_f64, laminar_common_f64, laminar_each_f64 },
      { laminar_fixed_f32, laminar_common_f32, laminar_each_f32 } }
};

static double fold(const double *l)
{
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

/* Factors that the lanes leave out: -2 kd and 4 per physical column, a common contrast. */
static void finish(const mck_xpcs_model *m, double *s)
{
    const double c = m->scaling == XPCS_COMMON ? m->contrast[0] : 1;
    double factor[XPCS_P];
    int at = XPCS_NORMAL;
    for (int k = 0; k < XPCS_P; k++) {
        factor[k] = k < 3 ? -2 * m->kd * c : 4 * c;
        s[XPCS_GRADIENT + k] *= factor[k];
    }
    for (int k = 0; k < XPCS_P; k++)
        for (int l = k; l < XPCS_P; l++) s[at++] *= factor[k] * factor[l];
    if (m->scaling == XPCS_COMMON)
        for (int k = 0; k < XPCS_P; k++) {
            s[XPCS_SCALING + XPCS_CP + k] *= factor[k];
            s[XPCS_SCALING + XPCS_OP + k] *= factor[k];
        }
}

/* The same for the sections of angles, whose columns of G lack the angle's K and PHI as well. */
static void finish_angles(const mck_xpcs_pass *a, double *s)
{
    const int64_t F = a->model->F;
    const double *angle = a->tables.angle;
    for (int64_t f = 0; f < F; f++, s += XPCS_SECTION)
        for (int k = 0; k < XPCS_P; k++) {
            const double v =
                angle[XPCS_C1 * F + f] *
                (k < 3 ? -2 * a->model->kd : 4 * angle[(k < 6 ? XPCS_K : XPCS_PHI) * F + f]);
            s[XPCS_CP + k] *= v;
            s[XPCS_OP + k] *= v;
        }
}

void MCK(xpcs_pass)(const mck_xpcs_pass *a, int64_t begin, int64_t end, void *work)
{
    const mck_xpcs_model *m = a->model;
    const int64_t sums = xpcs_sums(m->scaling, m->F);
    double *acc = work, *rest = acc + sums * XPCS_G;
    for (int64_t t = begin; t < end; t++) {
        double *out = a->out + t * sums;
        const mck_xpcs_tile *at = a->tiles + t;
        memset(acc, 0, (size_t)(sums * XPCS_G) * sizeof *acc);
        bodies[m->laminar][a->single][m->scaling](a, at->I, at->J, at->place, rest, acc,
                                                  a->holes[t] || a->weight || a->loss);
        for (int64_t k = 0; k < sums; k++) out[k] = fold(acc + k * XPCS_G);
        finish(m, out);
        if (m->scaling == XPCS_EACH) finish_angles(a, out + XPCS_SCALING);
    }
}

int64_t MCK(xpcs_pass_work)(const mck_xpcs_pass *a)
{
    const int64_t F = a->model->F, sums = xpcs_sums(a->model->scaling, F);
    return (int64_t)sizeof(double) *
           (sums * XPCS_G + 11 * XPCS_T + 2 * F + 8 + 2 * XPCS_T * F + 8 * F * VL);
}

extern const mck_xpcs_ops MCK(xpcs);
const mck_xpcs_ops MCK(xpcs) = {MCK(xpcs_prepare), MCK(xpcs_pass), MCK(xpcs_pass_work)};
