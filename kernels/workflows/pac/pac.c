/* pac.c - driver of the phase-amplitude kernels: tensors to argument structs, plans, workspaces,
 * rows in parallel.
 *
 * One function per op of the family. A task is one row or job, so the bits do not depend on
 * threads or on how rows are blocked. Outputs are chosen by the bits of `want`, in the order of
 * the bits. Letters: R rows, P phase bands, A amplitude bands, T samples, L samples kept, B bins,
 * K shifts, W lanes of a tile. */
#include "mc_plugin.h"
#include "pac.h"

#include <math.h>
#include <string.h>

static const mck_pac_ops *kernels(int dtype)
{
    static const mck_pac_ops *const table[2][3] = { { MC_LEVELS(mck_pac_f32) },
                                                    { MC_LEVELS(mck_pac_f64) } };
    return table[dtype == MC_F64][mc_isa()];
}

/* ---- analytic ---- */

/* The engine of a transform depends on its kind and shape, so forward and inverse may come from
 * two. */
static void transform(void *plan, const void *in, void *out)
{
    const mc_fft_use *use = (const mc_fft_use *)plan;
    use->execute(use->plan, in, out);
}

typedef struct analytic_plan {
    mc_fft_use forward, inverse;
    void *edges;
} analytic_plan;

static void plan_drop(analytic_plan *p)
{
    mc_fft_done(&p->forward);
    mc_fft_done(&p->inverse);
    mc_free(p->edges);
}

static int plan_make(analytic_plan *p, int dtype, int64_t N, int64_t bins)
{
    int prec = dtype == MC_F32 ? 4 : 8, rc;
    if ((rc = mc_fft_plan(&p->forward, 2, prec, N)) != 0 ||
        (rc = mc_fft_plan(&p->inverse, 1, prec, N)) != 0)
        return rc;
    p->edges = mc_alloc((size_t)(2 * bins * prec));
    if (!p->edges)
        return mc_status();
    kernels(dtype)->edges(p->edges, bins);
    return MC_OK;
}

/* Sizes from the headers of x, table, spans, windows (in[0..3]) and the shared leading
 * parameters. */
static int analytic_sizes(const mc_call *c, mck_pac_analytic *a, int64_t *rows)
{
    const mc_tensor *const *in = c->in;
    const mc_params *p = c->params;
    char s[MC_TEXT];
    const mc_tensor *x = in[0];
    int rc, dt = x->dtype;
    if ((dt != MC_F32 && dt != MC_F64) || x->ndim != 2 || (x->shape[1] > 1 && x->strides[1] != 1))
        return mc_error(
            MC_EDTYPE,
            "%s: signals are %s; they must be f32 or f64 [rows, samples] with contiguous rows",
            c->name, mc_text(s, sizeof s, x));
    int64_t P = p->i[0], A = p->i[1], N = p->i[2], pad = p->i[3], bins = p->i[4], nb = P + A,
            T = x->shape[1];
    if (P < 0 || A < 0 || bins < 2 || bins > 256 || pad < 0 || pad >= T ||
        N < T + (p->i[6] ? pad : 2 * pad))
        return mc_error(MC_EINVAL, "%s: P %lld A %lld N %lld pad %lld bins %lld do not fit %s",
                        c->name, (long long)P, (long long)A, (long long)N, (long long)pad,
                        (long long)bins, mc_text(s, sizeof s, x));
    int tdt = p->i[7] ? (dt == MC_F32 ? MC_C64 : MC_C128) : dt;
    if ((rc = mc_operand(c, 1, tdt, 0)) != 0 || (rc = mc_operand(c, 2, MC_I64, 3 * nb)) != 0 ||
        (rc = mc_operand(c, 3, MC_I64, 0)) != 0)
        return rc;
    int64_t nw = in[3]->numel / 2;
    *rows = x->shape[0];
    *a = (mck_pac_analytic){ .x_stride = x->strides[0],
                             .P = P,
                             .A = A,
                             .samples = T,
                             .L = nw ? p->i[8] : T,
                             .N = N,
                             .pad = pad,
                             .n_window = nw,
                             .bins = bins,
                             .demean = (int)p->i[5],
                             .zero_ext = (int)p->i[6],
                             .complex_table = (int)p->i[7] };
    return MC_OK;
}

/* The same with the elements. */
static int analytic_args(const mc_call *c, mck_pac_analytic *a, int64_t *rows)
{
    const mc_tensor *const *in = c->in;
    int rc = analytic_sizes(c, a, rows);
    if (rc) return rc;
    const int64_t *span = in[2]->data, *win = in[3]->data, nb = a->P + a->A, N = a->N,
                  T = a->samples;
    for (int64_t b = 0; b < nb; b++) {
        int64_t lo = span[b], hi = span[nb + b], at = span[2 * nb + b];
        if (lo < 0 || hi < lo || hi > N / 2 + 1 || at < 0 || at + (hi - lo) > in[1]->numel)
            return mc_error(MC_EINVAL, "%s: band %lld spans [%lld,%lld) of %lld bins", c->name,
                            (long long)b, (long long)lo, (long long)hi, (long long)(N / 2 + 1));
    }
    int64_t L = a->n_window ? 0 : T;
    for (int64_t w = 0; w < a->n_window; w++) {
        if (win[2 * w] < 0 || win[2 * w + 1] <= win[2 * w] || win[2 * w + 1] > T)
            return mc_error(MC_EINVAL, "%s: window [%lld,%lld) is outside the %lld samples",
                            c->name, (long long)win[2 * w], (long long)win[2 * w + 1],
                            (long long)T);
        L += win[2 * w + 1] - win[2 * w];
    }
    if (L != a->L)
        return mc_error(MC_EINVAL, "%s: windows keep %lld samples and L is %lld", c->name,
                        (long long)L, (long long)a->L);
    a->x = in[0]->data;
    a->window = a->n_window ? win : NULL;
    a->lo = span;
    a->hi = span + nb;
    a->at = span + 2 * nb;
    a->table = in[1]->data;
    return MC_OK;
}

static void analytic_bind(mck_pac_analytic *a, const analytic_plan *plan)
{
    a->edges = plan->edges;
    a->fft = transform;
    a->forward = (void *)&plan->forward;
    a->inverse = (void *)&plan->inverse;
}

static int64_t tiles_of(int dtype, int64_t A)
{
    int64_t W = dtype == MC_F32 ? MCK_PAC_LANES_F32 : MCK_PAC_LANES_F64;
    return (A + W - 1) / W;
}

static int64_t lanes_of(int dtype)
{
    return dtype == MC_F32 ? MCK_PAC_LANES_F32 : MCK_PAC_LANES_F64;
}

/* want: 1 idx u8 [R,P,L], 2 unit [R,P,2,L], 4 angle [R,P,L], 8 amp [R,tiles,L,W], 16 z complex
 * [R,P+A,L]; status i32 [R] last */
static void analytic_outputs(mc_results *o, mck_pac_analytic *a, int dt, int64_t R)
{
    a->idx = mc_wanted(o, 1, MC_U8, 3, (int64_t[]){ R, a->P, a->L });
    a->unit = mc_wanted(o, 2, dt, 4, (int64_t[]){ R, a->P, 2, a->L });
    a->angle = mc_wanted(o, 4, dt, 3, (int64_t[]){ R, a->P, a->L });
    a->amp = mc_wanted(o, 8, dt, 4, (int64_t[]){ R, tiles_of(dt, a->A), a->L, lanes_of(dt) });
    a->z =
        mc_wanted(o, 16, dt == MC_F32 ? MC_C64 : MC_C128, 3, (int64_t[]){ R, a->P + a->A, a->L });
    a->status = mc_wanted(o, 32, MC_I32, 1, &R);
}

static int infer_analytic(const mc_call *c)
{
    mck_pac_analytic a;
    int64_t R;
    int rc = analytic_sizes(c, &a, &R);
    mc_results o = { c, c->params->i[9] | 32, 0, 0 };
    if (!rc) analytic_outputs(&o, &a, c->in[0]->dtype, R);
    return mc_finish(&o, rc);
}

static int run_analytic(const mc_call *c)
{
    mck_pac_analytic a;
    analytic_plan plan = {0};
    int64_t R;
    const int dt = c->in[0]->dtype;
    mc_results o = { c, c->params->i[9] | 32, 0, 0 };
    int rc = analytic_args(c, &a, &R);
    if (rc)
        return rc;
    analytic_outputs(&o, &a, dt, R);
    memset(a.status, 0, sizeof *a.status * (size_t)R);
    rc = plan_make(&plan, dt, a.N, a.bins);
    if (!rc) {
        analytic_bind(&a, &plan);
        const mck_pac_ops *k = kernels(dt);
        rc = mc_tasks((mc_tasks_fn)k->analytic, &a, R, k->analytic_work(&a));
    }
    plan_drop(&plan);
    return mc_finish(&o, rc);
}

/* ---- bins ---- */

/* Results shared by all coupling ops, in the order of their bits. */
static void null_outputs(mc_results *o, mck_pac_null *n, int dt, int64_t jobs, int64_t P, int64_t A)
{
    int64_t map[3] = {jobs, P, A};
    n->mean = mc_wanted(o, 128, MC_F64, 3, map);
    n->m2 = mc_wanted(o, 256, MC_F64, 3, map);
    n->exceed = mc_wanted(o, 512, MC_I64, 3, map);
    n->max = mc_wanted(o, 1024, dt, 2, (int64_t[]){jobs, n->K});
    n->all = mc_wanted(o, 2048, dt, 4, (int64_t[]){jobs, n->K, P, A});
    n->zmax = mc_wanted(o, 4096, dt, 2, (int64_t[]){jobs, n->K});
    n->zvalue = mc_wanted(o, 8192, dt, 3, map);
    n->znear = mc_wanted(o, 16384, dt, 4, (int64_t[]){jobs, n->near_count, P, A});
}

static void bins_outputs(mc_results *o, mck_pac_bins *b, int dt, int64_t jobs)
{
    int64_t map[3] = {jobs, b->P, b->A};
    b->value = mc_wanted(o, 1, dt, 3, map);
    b->sums = mc_wanted(o, 2, MC_F64, 4, (int64_t[]){jobs, b->P, b->bins, b->A});
    b->count = mc_wanted(o, 4, MC_F64, 3, (int64_t[]){jobs, b->P, b->bins});
    b->dist = mc_wanted(o, 8, dt, 4, (int64_t[]){jobs, b->P, b->A, b->bins});
    b->best = mc_wanted(o, 16, MC_I32, 3, map);
    b->pref = mc_wanted(o, 32, dt, 3, map);
    b->status = mc_wanted(o, 64, MC_I32, 3, map);
    null_outputs(o, &b->null, dt, jobs, b->P, b->A);
}

static int check_shifts(const mc_call *c, const mc_tensor *t, int64_t K, int64_t L)
{
    const int64_t *s = t->data;
    if (t->dtype != MC_I64 || !mc_is_dense(t) || t->numel < K)
        return mc_error(MC_EDTYPE, "%s: %lld shifts are fewer than the %lld asked for", c->name,
                        (long long)t->numel, (long long)K);
    for (int64_t k = 0; k < K; k++)
        if (s[k] < 0 || s[k] >= L)
            return mc_error(MC_EINVAL, "%s: shift %lld is outside 0..%lld", c->name,
                            (long long)s[k], (long long)(L - 1));
    return MC_OK;
}

/* Offsets [n] must keep a block of `span` elements inside a tensor of `total`. */
static int check_offsets(const mc_call *c, const mc_tensor *t, int64_t n, int64_t span,
                         int64_t total, const int64_t **at)
{
    *at = NULL;
    if (t->numel == 0)
        return n * span <= total
                   ? MC_OK
                   : mc_error(MC_ESHAPE, "%s: operand of %lld elements is too small for %lld jobs",
                              c->name, (long long)total, (long long)n);
    const int64_t *v = t->data;
    if (t->dtype != MC_I64 || !mc_is_dense(t) || t->numel < n)
        return mc_error(MC_EDTYPE, "%s: %lld offsets are fewer than the %lld jobs and segments",
                        c->name, (long long)t->numel, (long long)n);
    for (int64_t i = 0; i < n; i++)
        if (v[i] < 0 || v[i] + span > total)
            return mc_error(MC_EINVAL, "%s: offset %lld leaves the operand of %lld elements",
                            c->name, (long long)v[i], (long long)total);
    *at = v;
    return MC_OK;
}

/* in: idx (or angle), amp, idx_at, amp_at, shifts, divisor */
static int bins_sizes(const mc_call *c, mck_pac_bins *to)
{
    const mc_tensor *const *in = c->in;
    const mc_params *p = c->params;
    const int64_t *i = p->i;
    int rc, soft = p->d[1] > 0;
    if (c->nin != 6)
        return mc_error(MC_EINVAL, "%s: takes six operands", c->name);
    int dt = in[1]->dtype;
    if (dt != MC_F32 && dt != MC_F64)
        return mc_error(MC_EDTYPE, "%s: amplitudes are %s; give f32 or f64", c->name,
                        mc_dtype_text(dt));
    mck_pac_bins b = { .P = i[0],
                       .A = i[1],
                       .L = i[2],
                       .G = i[3],
                       .bins = i[4],
                       .norm = (int)i[5],
                       .measure = (int)i[6],
                       .N = i[8],
                       .asymmetric = (int)i[12],
                       .idx_band = i[13],
                       .amp_tile = i[14],
                       .epsilon = p->d[0],
                       .tau = p->d[1] };
    b.null.first = i[9];
    b.null.near = i[16];
    b.null.near_count = i[17];
    b.null.K = i[10];
    if ((rc = mc_operand(c, 0, soft ? dt : MC_U8, 0)) != 0 || (rc = mc_operand(c, 1, dt, 0)) != 0)
        return rc;
    if (b.idx_band < b.L || b.amp_tile < b.L * lanes_of(dt) || b.L < 1 || b.G < 1)
        return mc_error(MC_EINVAL, "%s: strides %lld, %lld are too small for %lld samples", c->name,
                        (long long)b.idx_band, (long long)b.amp_tile, (long long)b.L);
    if (b.norm == MCK_PAC_GIVEN && (rc = mc_operand(c, 5, MC_F64, b.bins)) != 0) return rc;
    *to = b;
    return MC_OK;
}

static int infer_bins(const mc_call *c)
{
    mck_pac_bins b;
    int rc = bins_sizes(c, &b);
    mc_results o = { c, c->params->i[11], 0, 0 };
    if (!rc) bins_outputs(&o, &b, c->in[1]->dtype, c->params->i[15]);
    return mc_finish(&o, rc);
}

static int run_bins(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    const int64_t *i = c->params->i, jobs = i[15];
    const int dt = in[1]->dtype, soft = c->params->d[1] > 0;
    mck_pac_bins b;
    int rc = bins_sizes(c, &b);
    if (rc) return rc;
    const int64_t tiles = tiles_of(dt, b.A), W = lanes_of(dt);
    /* the last band of a block need not be followed by a whole stride */
    if ((rc = check_offsets(c, in[2], jobs * b.G, (b.P - 1) * b.idx_band + b.L, in[0]->numel,
                            &b.idx_at)) != 0 ||
        (rc = check_offsets(c, in[3], jobs * b.G, (tiles - 1) * b.amp_tile + b.L * W, in[1]->numel,
                            &b.amp_at)) != 0)
        return rc;
    if (b.null.K > 0 && !i[7]) {
        if ((rc = check_shifts(c, in[4], b.null.K, b.L)) != 0)
            return rc;
        b.null.shift = in[4]->data;
    }
    if (b.norm == MCK_PAC_GIVEN) b.divisor = in[5]->data;
    if (soft)
        b.angle = in[0]->data;
    else
        b.idx = in[0]->data;
    b.amp = in[1]->data;
    mc_results o = {c, i[11], 0, 0};
    bins_outputs(&o, &b, dt, jobs);
    mc_fft_use forward = {0}, inverse = {0};
    const mck_pac_ops *k = kernels(dt);
    int prec = dt == MC_F32 ? 4 : 8;
    if (!rc && i[7]) {
        rc = mc_fft_plan(&forward, 2, prec, b.N);
        if (!rc)
            rc = mc_fft_plan(&inverse, 1, prec, b.N);
        b.fft = transform;
        b.forward = &forward;
        b.inverse = &inverse;
        if (!rc)
            rc = mc_tasks((mc_tasks_fn)k->exhaustive, &b, jobs, k->exhaustive_work(&b));
    } else if (!rc) {
        rc = mc_tasks((mc_tasks_fn)k->bins, &b, jobs, k->bins_work(&b));
    }
    mc_fft_done(&forward);
    mc_fft_done(&inverse);
    return mc_finish(&o, rc);
}

/* ---- rows ---- */

static void moments_outputs(mc_results *o, mck_pac_moments *m, int dt, int64_t jobs)
{
    int64_t map[3] = { jobs, m->P, m->A };
    m->value = mc_wanted(o, 1, dt, 3, map);
    m->moment = mc_wanted(o, 2, MC_F64, 4, (int64_t[]){ jobs, m->P, 2, m->A });
    m->status = mc_wanted(o, 64, MC_I32, 3, map);
    null_outputs(o, &m->null, dt, jobs, m->P, m->A);
}

enum { ROW_BINS, ROW_EXHAUSTIVE, ROW_MOMENTS }; /* kinds of pac_row */

/* What follows the filter in a row, from parameters. */
static void row_sizes(const mc_call *c, const mck_pac_analytic *a, mck_pac_bins *b,
                      mck_pac_moments *m)
{
    const int64_t *i = c->params->i;
    const double *d = c->params->d;
    mck_pac_null null = { .first = i[13], .K = i[14], .near = i[16], .near_count = i[17] };
    *b = (mck_pac_bins){ .P = a->P,
                         .A = a->A,
                         .L = a->L,
                         .G = 1,
                         .bins = a->bins,
                         .norm = (int)i[10],
                         .measure = (int)i[11],
                         .N = i[12],
                         .epsilon = d[0],
                         .null = null };
    *m = (mck_pac_moments){
        .P = a->P, .A = a->A, .L = a->L, .measure = (int)i[11], .threshold = d[1], .null = null
    };
}

/* in: x, table, spans, windows, shifts, divisor[, x of the amplitude side] */
static int infer_row(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    const int64_t *i = c->params->i;
    mck_pac_analytic a;
    mck_pac_bins b;
    mck_pac_moments m;
    int64_t R;
    if (c->nin < 6) return mc_error(MC_EINVAL, "%s: takes six or seven operands", c->name);
    int rc = analytic_sizes(c, &a, &R), dt = in[0]->dtype;
    if (rc) return rc;
    row_sizes(c, &a, &b, &m);
    if (b.norm == MCK_PAC_GIVEN && i[9] != ROW_MOMENTS &&
        (rc = mc_operand(c, 5, MC_F64, b.bins)) != 0)
        return rc;
    if (c->nin > 6) { /* amplitudes come from another signal of the same shape */
        const mc_tensor *y = in[6];
        if (y->dtype != dt || y->ndim != 2 || y->shape[0] != R || y->shape[1] != a.samples ||
            (a.samples > 1 && y->strides[1] != 1))
            return mc_error(
                MC_ESHAPE,
                "%s: the amplitude signal differs from the phase signal in shape or dtype",
                c->name);
    }
    mc_results o = { c, i[15], 0, 0 };
    if (i[9] == ROW_MOMENTS)
        moments_outputs(&o, &m, dt, R);
    else
        bins_outputs(&o, &b, dt, R);
    return mc_finish(&o, 0);
}

static int run_row(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    mck_pac_analytic a, side;
    mck_pac_bins b;
    mck_pac_moments m;
    analytic_plan plan = {0};
    mc_fft_use forward = {0}, inverse = {0};
    const int64_t *i = c->params->i;
    int64_t R;
    int rc = analytic_args(c, &a, &R);
    if (rc)
        return rc;
    int dt = in[0]->dtype, kind = (int)i[9], prec = dt == MC_F32 ? 4 : 8;
    const mck_pac_ops *k = kernels(dt);
    row_sizes(c, &a, &b, &m);
    if (b.null.K > 0 && kind != ROW_EXHAUSTIVE) {
        if ((rc = check_shifts(c, in[4], b.null.K, a.L)) != 0) return rc;
        b.null.shift = m.null.shift = in[4]->data;
    }
    if (b.norm == MCK_PAC_GIVEN && kind != ROW_MOMENTS) b.divisor = in[5]->data;
    mc_results o = { c, i[15], 0, 0 };
    if (kind == ROW_MOMENTS)
        moments_outputs(&o, &m, dt, R);
    else
        bins_outputs(&o, &b, dt, R);
    rc = plan_make(&plan, dt, a.N, a.bins);
    if (!rc && kind != ROW_BINS) {
        rc = mc_fft_plan(&forward, 2, prec, b.N);
        if (!rc)
            rc = mc_fft_plan(&inverse, 1, prec, b.N);
        b.fft = m.fft = transform;
        b.forward = m.forward = &forward;
        b.inverse = m.inverse = &inverse;
        m.N = b.N;
    }
    if (!rc) {
        analytic_bind(&a, &plan);
        mck_pac_row row = { .pha = &a,
                            .bins = kind == ROW_MOMENTS ? NULL : &b,
                            .moments = kind == ROW_MOMENTS ? &m : NULL,
                            .exhaustive = kind == ROW_EXHAUSTIVE };
        if (c->nin > 6) {
            side = a;
            side.x = in[6]->data;
            side.x_stride = in[6]->strides[0];
            side.P = 0;
            side.lo += a.P;
            side.hi += a.P;
            side.at += a.P;
            a.A = 0;
            row.amp = &side;
        }
        rc = mc_tasks((mc_tasks_fn)k->row, &row, R, k->row_work(&row));
    }
    mc_fft_done(&forward);
    mc_fft_done(&inverse);
    plan_drop(&plan);
    return mc_finish(&o, rc);
}

/* ---- moments, theta, ranks, tile, index, measure ---- */

/* Length of the transforms that correlate L samples: L where its factors are small, else the next
 * 5-smooth length from 2L-1 on (measured: L = 4001, a prime, takes twice the time of 8100). */
static int64_t correlation_length(int64_t L)
{
    int64_t rest = L, n = 2 * L - 1;
    for (int64_t f = 2; f <= 13; f++)
        while (rest % f == 0)
            rest /= f;
    if (rest == 1)
        return L;
    for (;; n++) {
        rest = n;
        for (int64_t f = 2; f <= 5; f++)
            while (rest % f == 0)
                rest /= f;
        if (rest == 1)
            return n;
    }
}

/* in: unit, amp, amp2 (empty: none), unit_at, amp_at, shifts */
static int moments_sizes(const mc_call *c, mck_pac_moments *to)
{
    const mc_tensor *const *in = c->in;
    const mc_params *p = c->params;
    const int64_t *i = p->i;
    if (c->nin != 6)
        return mc_error(MC_EINVAL, "%s: takes six operands", c->name);
    int dt = in[1]->dtype;
    mck_pac_moments m = { .P = i[0],
                          .A = i[1],
                          .L = i[2],
                          .measure = (int)i[3],
                          .unit_band = i[7],
                          .amp_tile = i[8],
                          .threshold = p->d[0] };
    m.null.K = i[4];
    m.null.first = i[5];
    m.null.near = i[10];
    m.null.near_count = i[11];
    if ((dt != MC_F32 && dt != MC_F64) || mc_operand(c, 0, dt, 0) || mc_operand(c, 1, dt, 0) ||
        mc_operand(c, 2, dt, 0))
        return mc_error(MC_EDTYPE,
                        "%s: unit phasors and amplitudes must be contiguous f32 or f64 alike",
                        c->name);
    if (m.unit_band < m.L || m.amp_tile < m.L * lanes_of(dt) || m.L < 1)
        return mc_error(MC_EINVAL, "%s: strides are too small for %lld samples", c->name,
                        (long long)m.L);
    if (m.measure == MCK_PAC_PLV && in[2]->numel < in[1]->numel)
        return mc_error(MC_EINVAL, "%s: phase locking needs cosine and sine of equal size",
                        c->name);
    *to = m;
    return MC_OK;
}

static int infer_moments(const mc_call *c)
{
    mck_pac_moments m;
    int rc = moments_sizes(c, &m);
    mc_results o = { c, c->params->i[6], 0, 0 };
    if (!rc) moments_outputs(&o, &m, c->in[1]->dtype, c->params->i[9]);
    return mc_finish(&o, rc);
}

static int run_moments(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    const int64_t *i = c->params->i, jobs = i[9];
    const int dt = in[1]->dtype;
    mck_pac_moments m;
    int rc = moments_sizes(c, &m);
    if (rc) return rc;
    const int64_t tiles = tiles_of(dt, m.A), W = lanes_of(dt);
    if ((rc = check_offsets(c, in[3], jobs, (2 * m.P - 1) * m.unit_band + m.L, in[0]->numel,
                            &m.unit_at)) != 0 ||
        (rc = check_offsets(c, in[4], jobs, (tiles - 1) * m.amp_tile + m.L * W, in[1]->numel,
                            &m.amp_at)) != 0)
        return rc;
    if (m.null.K > 0) {
        if ((rc = check_shifts(c, in[5], m.null.K, m.L)) != 0)
            return rc;
        m.null.shift = in[5]->data;
    }
    m.unit = in[0]->data;
    m.amp = in[1]->data;
    m.amp2 = in[2]->numel ? in[2]->data : NULL;
    mc_results o = {c, i[6], 0, 0};
    moments_outputs(&o, &m, dt, jobs);
    const mck_pac_ops *k = kernels(dt);
    mc_fft_use forward = {0}, inverse = {0};
    int prec = dt == MC_F32 ? 4 : 8;
    m.N = correlation_length(m.L);
    if (!rc && m.null.K > 0) {
        rc = mc_fft_plan(&forward, 2, prec, m.N);
        if (!rc)
            rc = mc_fft_plan(&inverse, 1, prec, m.N);
        m.fft = transform;
        m.forward = &forward;
        m.inverse = &inverse;
    }
    if (!rc)
        rc = mc_tasks((mc_tasks_fn)k->moments, &m, jobs, k->moments_work(&m));
    mc_fft_done(&forward);
    mc_fft_done(&inverse);
    return mc_finish(&o, rc);
}

/* in: amp [.., L, W] -> cosine, sine of the same shape */
static int infer_theta(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    const mc_params *p = c->params;
    int dt = in[0]->dtype, rc = mc_operand(c, 0, dt, 1);
    int64_t W = lanes_of(dt), L = p->i[0], N = p->i[1], A = p->i[2];
    if (rc)
        return rc;
    if ((dt != MC_F32 && dt != MC_F64) || L < 1 || N < L || A < 1 ||
        in[0]->numel % (tiles_of(dt, A) * L * W))
        return mc_error(MC_ESHAPE, "%s: amplitudes are no tiles of %lld samples", c->name,
                        (long long)L);
    rc = mc_shape(c, 0, dt, in[0]->ndim, in[0]->shape);
    return rc ? rc : mc_shape(c, 1, dt, in[0]->ndim, in[0]->shape);
}

static int run_theta(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    const mc_params *p = c->params;
    const int dt = in[0]->dtype;
    const int64_t W = lanes_of(dt), L = p->i[0], N = p->i[1], A = p->i[2];
    mck_pac_theta a = {.amp = in[0]->data, .amp_tile = L * W, .A = A, .L = L, .N = N};
    a.cosine = mc_result(c, 0);
    a.sine = mc_result(c, 1);
    mc_fft_use forward = {0}, inverse = {0};
    int prec = dt == MC_F32 ? 4 : 8, rc = mc_fft_plan(&forward, 2, prec, N);
    if (!rc) rc = mc_fft_plan(&inverse, 1, prec, N);
    a.fft = transform;
    a.forward = &forward;
    a.inverse = &inverse;
    const mck_pac_ops *k = kernels(dt);
    if (!rc)
        rc = mc_tasks((mc_tasks_fn)k->theta, &a, in[0]->numel / (L * W), k->theta_work(&a));
    mc_fft_done(&forward);
    mc_fft_done(&inverse);
    return rc;
}

/* in: rows; step 1: contiguous rows of L; step W: lanes of tiles [.., L, W] -> normal scores of the
 * same shape */
static int infer_ranks(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    const mc_params *p = c->params;
    int dt = in[0]->dtype, rc = mc_operand(c, 0, dt, 1);
    int64_t L = p->i[0], step = p->i[1];
    if (rc)
        return rc;
    if ((dt != MC_F32 && dt != MC_F64) || L < 1 || step < 1 || in[0]->numel % (L * step))
        return mc_error(MC_ESHAPE, "%s: operand is no whole number of rows of %lld", c->name,
                        (long long)L);
    return mc_shape(c, 0, dt, in[0]->ndim, in[0]->shape);
}

static int run_ranks(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    const int dt = in[0]->dtype;
    const int64_t L = c->params->i[0], step = c->params->i[1];
    const mck_pac_ops *k = kernels(dt);
    mck_pac_ranks a = { .in = in[0]->data, .out = mc_result(c, 0), .L = L, .step = step };
    int64_t rows = in[0]->numel / L, *at = NULL;
    void *score = mc_alloc((size_t)(L * mc_dtype_bytes(dt)));
    if (step > 1) {
        at = mc_alloc(sizeof *at * (size_t)rows);
        for (int64_t r = 0; at && r < rows; r++)
            at[r] = r / step * L * step + r % step;
        a.in_at = a.out_at = at;
    }
    int rc = !score || (step > 1 && !at) ? mc_status() : MC_OK;
    if (!rc) {
        k->scores(score, L);
        a.score = score;
        rc = mc_tasks((mc_tasks_fn)k->ranks, &a, rows, k->ranks_work(&a));
    }
    mc_free(score);
    mc_free(at);
    return rc;
}

/* in: [jobs, A, L] -> [jobs, tiles, L, W] */
static int infer_tile(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    const mc_params *p = c->params;
    int dt = in[0]->dtype, rc = mc_operand(c, 0, dt, 0);
    int64_t A = p->i[0], L = p->i[1];
    if (rc)
        return rc;
    if ((dt != MC_F32 && dt != MC_F64) || A < 1 || L < 1 || in[0]->numel % (A * L))
        return mc_error(MC_ESHAPE, "%s: operand is no whole number of [%lld,%lld] blocks", c->name,
                        (long long)A, (long long)L);
    return mc_shape(c, 0, dt, 4,
                    (int64_t[]){ in[0]->numel / (A * L), tiles_of(dt, A), L, lanes_of(dt) });
}

static int run_tile(const mc_call *c)
{
    const mc_tensor *x = c->in[0];
    const int64_t A = c->params->i[0], L = c->params->i[1];
    mck_pac_tile a = {
        .in = x->data, .out = mc_result(c, 0), .A = A, .L = L, .row = L, .job = A * L
    };
    return mc_tasks((mc_tasks_fn)kernels(x->dtype)->tile, &a, x->numel / (A * L), 64);
}

/* in: angles [.., L] within [-pi, pi] -> u8 of the same shape */
static int infer_index(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    const mc_params *p = c->params;
    int dt = in[0]->dtype, rc = mc_operand(c, 0, dt, 0);
    int64_t L = p->i[0], bins = p->i[1];
    if (rc)
        return rc;
    if ((dt != MC_F32 && dt != MC_F64) || L < 1 || bins < 2 || bins > 256 || in[0]->numel % L)
        return mc_error(MC_ESHAPE, "%s: operand is no whole number of rows of %lld", c->name,
                        (long long)L);
    return mc_shape(c, 0, MC_U8, in[0]->ndim, in[0]->shape);
}

static int run_index(const mc_call *c)
{
    const mc_tensor *x = c->in[0];
    mck_pac_index a = {
        .angle = x->data, .idx = mc_result(c, 0), .L = c->params->i[0], .bins = c->params->i[1]
    };
    return mc_tasks((mc_tasks_fn)kernels(x->dtype)->index, &a, x->numel / a.L, 64);
}

/* in: sums f64 [m,B,A], counts f64 [m,B], divisor f64 [B] (norm given), like (dtype of the
 * results) */
static int measure_sizes(const mc_call *c, mck_pac_bins *b, int64_t *rows)
{
    const mc_tensor *const *in = c->in;
    const mc_params *p = c->params;
    const int64_t *i = p->i;
    if (c->nin != 4)
        return mc_error(MC_EINVAL, "%s: takes four operands", c->name);
    int64_t P = i[0], A = i[1], B = i[2], m = A * B > 0 ? in[0]->numel / (A * B) : 0;
    int dt = in[3]->dtype, rc;
    if ((rc = mc_operand(c, 0, MC_F64, m * A * B)) != 0 ||
        (rc = mc_operand(c, 1, MC_F64, m * B)) != 0 ||
        (rc = mc_operand(c, 2, MC_F64, i[3] == MCK_PAC_GIVEN ? B : 0)) != 0)
        return rc;
    if (P < 1 || m % P || (dt != MC_F32 && dt != MC_F64))
        return mc_error(MC_ESHAPE, "%s: %lld rows of sums are no whole number of %lld phase bands",
                        c->name, (long long)m, (long long)P);
    *b = (mck_pac_bins){ .P = P,
                         .A = A,
                         .L = 1,
                         .G = 1,
                         .bins = B,
                         .norm = (int)i[3],
                         .measure = (int)i[4],
                         .epsilon = p->d[0] };
    *rows = m;
    return MC_OK;
}

static int infer_measure(const mc_call *c)
{
    mck_pac_bins b;
    int64_t m;
    int rc = measure_sizes(c, &b, &m);
    mc_results o = { c, c->params->i[5] & ~(int64_t)6, 0, 0 };
    if (!rc) bins_outputs(&o, &b, c->in[3]->dtype, m / b.P);
    return mc_finish(&o, rc);
}

static int run_measure(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    const int dt = in[3]->dtype;
    mck_pac_bins b;
    int64_t m;
    int rc = measure_sizes(c, &b, &m);
    if (rc) return rc;
    mc_results o = { c, c->params->i[5] & ~(int64_t)6, 0, 0 };
    bins_outputs(&o, &b, dt, m / b.P);
    b.sums = in[0]->data;
    b.count = in[1]->data;
    b.divisor = in[2]->data;
    const mck_pac_ops *k = kernels(dt);
    return mc_tasks((mc_tasks_fn)k->measure, &b, m, k->measure_work(&b));
}

MC_PLUGIN({ "pac_analytic", infer_analytic, run_analytic }, { "pac_bins", infer_bins, run_bins },
          { "pac_row", infer_row, run_row }, { "pac_moments", infer_moments, run_moments },
          { "pac_theta", infer_theta, run_theta }, { "pac_ranks", infer_ranks, run_ranks },
          { "pac_tile", infer_tile, run_tile }, { "pac_index", infer_index, run_index },
          { "pac_measure", infer_measure, run_measure })
