/* autoreject.c - driver of the kernels for epochs: tensors to argument structs, every index
 * checked, tasks in parallel.
 *
 * One function per op of the family. A task is one epoch or one channel, so the bits do not depend
 * on threads. Sums that go on over blocks of time come in as an operand and leave as the result.
 * Letters: E epochs, C channels picked, T samples, N rows, K folds, M rows of the largest training
 * set, Q thresholds. */
#include "mc_plugin.h"
#include "autoreject.h"

#include <string.h>

static const mck_autoreject_ops *kernels(void)
{
    static const mck_autoreject_ops *const table[3] = {MC_LEVELS(mck_autoreject)};
    return table[mc_isa()];
}

/* n positions at v must lie in [0, limit). */
static int check_index(const mc_call *c, const char *what, const int64_t *v, int64_t n,
                       int64_t limit)
{
    for (int64_t i = 0; i < n; i++)
        if (v[i] < 0 || v[i] >= limit)
            return mc_error(MC_EINVAL, "%s: %s %lld is outside 0..%lld", c->name, what,
                            (long long)v[i], (long long)limit - 1);
    return MC_OK;
}

/* Operands 0 and 1: samples f32|f64 [E, channels, T] with contiguous rows, and the picked channels
 * i64 [C]. Sizes of them. */
static int samples_sizes(const mc_call *c, mck_ar_samples *x)
{
    const mc_tensor *const *in = c->in;
    char s[MC_TEXT];
    int rc;
    const mc_tensor *t = in[0];
    if ((t->dtype != MC_F32 && t->dtype != MC_F64) || t->ndim != 3 ||
        (t->shape[2] > 1 && t->strides[2] != 1) || t->numel == 0)
        return mc_error(MC_EDTYPE,
                        "%s: samples are %s; they must be f32 or f64 [epochs, channels, samples] "
                        "with contiguous rows",
                        c->name, mc_text(s, sizeof s, t));
    if ((rc = mc_operand(c, 1, MC_I64, 1)) != 0) return rc;
    *x = (mck_ar_samples){ .single = t->dtype == MC_F32,
                           .E = t->shape[0],
                           .C = in[1]->numel,
                           .T = t->shape[2],
                           .e_stride = t->strides[0],
                           .c_stride = t->strides[1] };
    return MC_OK;
}

/* The same with their elements. */
static int samples_of(const mc_call *c, mck_ar_samples *x)
{
    const mc_tensor *const *in = c->in;
    int rc = samples_sizes(c, x);
    x->x = in[0]->data;
    x->pick = in[1]->data;
    return rc ? rc : check_index(c, "channel", x->pick, x->C, in[0]->shape[1]);
}

/* Operands k and k + 1: where the list of each fold starts, i64 [K + 1], and the lists. *K: how
 * many folds, -1 before the first lists. */
static int lists_sizes(const mc_call *c, int k, int64_t *K)
{
    int rc;
    if ((rc = mc_operand(c, k, MC_I64, 2)) != 0 || (rc = mc_operand(c, k + 1, MC_I64, 0)) != 0)
        return rc;
    const int64_t n = c->in[k]->numel - 1;
    if (*K >= 0 && *K != n)
        return mc_error(MC_ESHAPE, "%s: lists of %lld and %lld folds", c->name, (long long)*K,
                        (long long)n);
    *K = n;
    return MC_OK;
}

/* Their elements: rows below `rows`. */
static int lists_of(const mc_call *c, int k, int64_t rows, int64_t *K, const int64_t **at,
                    const int64_t **list)
{
    const mc_tensor *const *in = c->in;
    int rc = lists_sizes(c, k, K);
    if (rc) return rc;
    const int64_t *v = in[k]->data, n = *K;
    for (int64_t f = 0; f < n; f++)
        if (v[0] != 0 || v[f + 1] < v[f] || v[f + 1] > in[k + 1]->numel)
            return mc_error(MC_EINVAL,
                            "%s: the list of fold %lld does not lie in the %lld rows given",
                            c->name, (long long)f, (long long)in[k + 1]->numel);
    *at = v;
    *list = in[k + 1]->data;
    return check_index(c, "row", *list, v[n], rows);
}

/* Each of the `lists` lists of N must be a permutation. */
static int check_order(const mc_call *c, const int64_t *order, int64_t lists, int64_t N)
{
    char *seen = mc_alloc((size_t)N);
    int rc = seen ? check_index(c, "row", order, lists * N, N) : mc_status();
    for (int64_t l = 0; !rc && l < lists; l++) {
        memset(seen, 0, (size_t)N);
        for (int64_t r = 0; !rc && r < N; r++)
            if (seen[order[l * N + r]]++)
                rc = mc_error(MC_EINVAL, "%s: row %lld stands twice in an order", c->name,
                              (long long)order[l * N + r]);
    }
    mc_free(seen);
    return rc;
}

/* Networks of the lengths of K lists: fold f has the pairs at[f] .. at[f + 1]. Folds of one length
 * repeat it. Owned by the caller. */
typedef struct networks {
    uint16_t *pairs;
    int64_t *at;
} networks;

static void networks_drop(networks *n)
{
    mc_free(n->pairs);
    mc_free(n->at);
}

static int networks_make(networks *n, int64_t K, const int64_t *list_at)
{
    const mck_autoreject_ops *k = kernels();
    int64_t total = 0;
    n->at = mc_alloc((size_t)(K + 1) * sizeof *n->at);
    if (!n->at)
        return mc_status();
    for (int64_t f = 0; f < K; f++)
        total += k->network(list_at[f + 1] - list_at[f], NULL);
    n->pairs = mc_alloc((size_t)(2 * total + 2) * sizeof *n->pairs);
    if (!n->pairs)
        return mc_status();
    n->at[0] = 0;
    for (int64_t f = 0; f < K; f++) {
        int64_t len = list_at[f + 1] - list_at[f], pairs;
        if (f > 0 && len == list_at[f] - list_at[f - 1]) {
            pairs = n->at[f] - n->at[f - 1];
            memcpy(n->pairs + 2 * n->at[f], n->pairs + 2 * n->at[f - 1],
                   (size_t)(2 * pairs) * sizeof *n->pairs);
        } else {
            pairs = k->network(len, n->pairs + 2 * n->at[f]);
        }
        n->at[f + 1] = n->at[f] + pairs;
    }
    return MC_OK;
}

static int infer_range(const mc_call *c)
{
    mck_ar_samples x;
    int rc = samples_sizes(c, &x);
    return rc ? rc : mc_shape(c, 0, MC_F64, 2, (int64_t[]){ x.E, x.C });
}

static int run_range(const mc_call *c)
{
    mck_ar_range a = { .out = mc_result(c, 0) };
    int rc = samples_of(c, &a.x);
    return rc ? rc : mc_tasks((mc_tasks_fn)kernels()->range, &a, a.x.E, 0);
}

/* in: samples, picks, weights f64 [rows, C], first row of each epoch i64 [E + 1] or empty: the same
 * rows for all. want: 1 sums, 2 ranges */
static int infer_mix(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    mck_ar_samples x;
    int rc = samples_sizes(c, &x);
    if (rc || (rc = mc_operand(c, 2, MC_F64, 0)) != 0 || (rc = mc_operand(c, 3, MC_I64, 0)) != 0)
        return rc;
    const int64_t rows = in[2]->numel / x.C;
    const int shared = in[3]->numel == 0;
    if (rows * x.C != in[2]->numel)
        return mc_error(MC_ESHAPE, "%s: %lld weights are no rows of %lld channels", c->name,
                        (long long)in[2]->numel, (long long)x.C);
    mc_results o = { c, c->params->i[0], 0, 0 };
    if (shared) {
        mc_wanted(&o, 1, MC_F64, 3, (int64_t[]){ rows, x.E, x.T });
        mc_wanted(&o, 2, MC_F64, 2, (int64_t[]){ x.E, rows });
    } else {
        mc_wanted(&o, 1, MC_F64, 2, (int64_t[]){ rows, x.T });
        mc_wanted(&o, 2, MC_F64, 1, &rows);
    }
    return mc_finish(&o, 0);
}

static int run_mix(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    mck_ar_mix a = { .w = in[2]->data };
    int rc = samples_of(c, &a.x);
    if (rc) return rc;
    const int64_t E = a.x.E, rows = in[2]->numel / a.x.C;
    a.rows = rows;
    if (in[3]->numel != 0) {
        a.first = in[3]->data;
        if (in[3]->numel != E + 1 || a.first[0] != 0 || a.first[E] != rows)
            return mc_error(MC_ESHAPE, "%s: first rows do not cover %lld rows of %lld epochs",
                            c->name, (long long)rows, (long long)E);
        for (int64_t e = 0; e < E; e++)
            if (a.first[e + 1] < a.first[e])
                return mc_error(MC_EINVAL, "%s: first rows of epochs do not ascend", c->name);
    }
    mc_results o = { c, c->params->i[0], 0, 0 };
    a.out = mc_wanted(&o, 1, MC_F64, 0, NULL);
    a.range = mc_wanted(&o, 2, MC_F64, 0, NULL);
    return mc_tasks((mc_tasks_fn)kernels()->mix, &a, E, kernels()->mix_work(&a));
}

/* The result, begun with what stands in `sum`, an operand of its shape. */
static double *go_on(const mc_call *c, const mc_tensor *sum)
{
    double *out = mc_result(c, 0);
    memcpy(out, sum->data, (size_t)sum->numel * sizeof *out);
    return out;
}

/* in: samples, picks, more f64 [C, E, T] or empty, order i64 [C, N] or [N], train_at, train,
 * middle_at, middle, sum f64 [C, K, M] */
static int infer_sums(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    mck_ar_samples x;
    int64_t K = -1;
    int rc = samples_sizes(c, &x);
    if (rc || (rc = mc_operand(c, 2, MC_F64, 0)) != 0 || (rc = mc_operand(c, 3, MC_I64, 0)) != 0)
        return rc;
    if (in[2]->numel != 0 && in[2]->numel != x.C * x.E * x.T)
        return mc_error(MC_ESHAPE, "%s: more rows have %lld elements, not %lld", c->name,
                        (long long)in[2]->numel, (long long)(x.C * x.E * x.T));
    const int64_t N = in[2]->numel ? 2 * x.E : x.E;
    if (in[3]->numel != N && in[3]->numel != x.C * N)
        return mc_error(MC_ESHAPE, "%s: an order of %lld for %lld channels of %lld rows", c->name,
                        (long long)in[3]->numel, (long long)x.C, (long long)N);
    if ((rc = lists_sizes(c, 4, &K)) != 0 || (rc = lists_sizes(c, 6, &K)) != 0 ||
        (rc = mc_operand(c, 8, MC_F64, 1)) != 0)
        return rc;
    const mc_tensor *sum = in[8];
    if (sum->ndim != 3 || sum->shape[0] != x.C || sum->shape[1] != K)
        return mc_error(MC_ESHAPE, "%s: sums are not [%lld, %lld, rows]", c->name, (long long)x.C,
                        (long long)K);
    return mc_shape(c, 0, MC_F64, sum->ndim, sum->shape);
}

static int run_sums(const mc_call *c)
{
    const mc_tensor *const *in = c->in, *sum = in[8];
    mck_ar_sums a = { .K = -1, .M = sum->shape[2] };
    int rc = samples_of(c, &a.x);
    if (rc) return rc;
    const int64_t E = a.x.E, C = a.x.C;
    a.more = in[2]->numel ? in[2]->data : NULL;
    a.N = a.more ? 2 * E : E;
    a.order = in[3]->data;
    a.order_stride = in[3]->numel == a.N ? 0 : a.N;
    if ((rc = check_order(c, a.order, in[3]->numel / a.N, a.N)) != 0 ||
        (rc = lists_of(c, 4, a.N, &a.K, &a.train_at, &a.train)) != 0 ||
        (rc = lists_of(c, 6, a.N, &a.K, &a.middle_at, &a.middle)) != 0)
        return rc;
    for (int64_t f = 0; f < a.K; f++)
        if (a.train_at[f + 1] - a.train_at[f] > a.M || a.middle_at[f + 1] == a.middle_at[f])
            return mc_error(MC_ESHAPE,
                            "%s: fold %lld has more than %lld training rows, or no middle rows",
                            c->name, (long long)f, (long long)a.M);
    networks net = {0};
    a.sum = go_on(c, sum);
    rc = networks_make(&net, a.K, a.middle_at);
    a.network = net.pairs;
    a.network_at = net.at;
    if (!rc)
        rc = mc_tasks((mc_tasks_fn)kernels()->sums, &a, C, kernels()->sums_work(&a));
    networks_drop(&net);
    return rc;
}

/* in: sum f64 [C, K, M], value f64 [C, N], at f64 [C, Q] ascending, order i64 [C, N], train_at,
 * train; points: squares in a sum */
static int infer_losses(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    int64_t K = -1;
    int rc;
    if ((rc = mc_operand(c, 0, MC_F64, 1)) != 0 || (rc = mc_operand(c, 1, MC_F64, 1)) != 0 ||
        (rc = mc_operand(c, 2, MC_F64, 1)) != 0 || (rc = mc_operand(c, 3, MC_I64, 1)) != 0)
        return rc;
    const mc_tensor *sum = in[0], *value = in[1], *at = in[2];
    if (sum->ndim != 3 || value->ndim != 2 || at->ndim != 2 || value->shape[0] != sum->shape[0] ||
        at->shape[0] != sum->shape[0] || in[3]->numel != value->numel || c->params->i[0] < 1)
        return mc_error(MC_ESHAPE, "%s: sums, values, thresholds and orders do not belong together",
                        c->name);
    if ((rc = lists_sizes(c, 4, &K)) != 0) return rc;
    return mc_shape(c, 0, MC_F64, 3, (int64_t[]){ sum->shape[0], K, at->shape[1] });
}

static int run_losses(const mc_call *c)
{
    const mc_tensor *const *in = c->in, *sum = in[0], *value = in[1], *at = in[2];
    const int64_t C = sum->shape[0];
    mck_ar_losses a = {
        .K = -1, .points = c->params->i[0], .fallback = (int)c->params->i[1], .out = mc_result(c, 0)
    };
    int rc;
    a.N = value->shape[1];
    a.Q = at->shape[1];
    a.M = sum->shape[2];
    if ((rc = check_order(c, in[3]->data, C, a.N)) != 0 ||
        (rc = lists_of(c, 4, a.N, &a.K, &a.train_at, &a.train)) != 0)
        return rc;
    for (int64_t f = 0; f < a.K; f++)
        if (a.K != sum->shape[1] || a.train_at[f + 1] - a.train_at[f] > a.M)
            return mc_error(
                MC_ESHAPE,
                "%s: %lld folds with up to %lld training rows do not belong to these sums", c->name,
                (long long)a.K, (long long)a.M);
    a.sum = sum->data;
    a.value = value->data;
    a.at = at->data;
    a.order = in[3]->data;
    return mc_tasks((mc_tasks_fn)kernels()->losses, &a, C, kernels()->losses_work(&a));
}

/* The only group that each fold does not train, or NULL. */
static const int64_t *left_out(const mck_ar_levels *a, int64_t *without)
{
    for (int64_t f = 0; f < a->K; f++) {
        int64_t n = 0;
        for (int64_t g = 0; g < a->G; g++)
            if (!a->in_fold[f * a->G + g]) {
                without[f] = g;
                n++;
            }
        if (n != 1)
            return NULL;
    }
    return without;
}

/* in: samples, picks, repaired f64 [cells, T], cell i64 [R, E, C], level i64 [R, E], group i64 [E],
 * in_fold u8 [K, G], count i64 [R, K, L], middle_at, middle, sum f64 [C, R, K, L] */
static int infer_levels(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    mck_ar_samples x;
    int64_t K = -1;
    int rc = samples_sizes(c, &x);
    if (rc)
        return rc;
    const int64_t E = x.E, C = x.C;
    if ((rc = mc_operand(c, 2, MC_F64, 0)) != 0 || (rc = mc_operand(c, 3, MC_I64, E * C)) != 0 ||
        (rc = mc_operand(c, 4, MC_I64, E)) != 0 || (rc = mc_operand(c, 5, MC_I64, E)) != 0 ||
        (rc = mc_operand(c, 6, MC_U8, 1)) != 0 || (rc = mc_operand(c, 7, MC_I64, 1)) != 0 ||
        (rc = lists_sizes(c, 8, &K)) != 0 || (rc = mc_operand(c, 10, MC_F64, 1)) != 0)
        return rc;
    const mc_tensor *sum = in[10];
    if (sum->ndim != 4 || sum->shape[0] != C || sum->shape[2] != K || in[6]->ndim != 2 ||
        in[6]->shape[0] != K)
        return mc_error(MC_ESHAPE, "%s: sums are not [%lld, repairs, %lld, levels]", c->name,
                        (long long)C, (long long)K);
    const int64_t R = sum->shape[1];
    if (in[3]->numel != R * E * C || in[4]->numel != R * E || in[7]->numel != R * K * sum->shape[3])
        return mc_error(MC_ESHAPE, "%s: cells or counts do not belong to these sums", c->name);
    return mc_shape(c, 0, MC_F64, sum->ndim, sum->shape);
}

static int run_levels(const mc_call *c)
{
    const mc_tensor *const *in = c->in, *sum = in[10];
    mck_ar_levels a = { .K = -1, .R = sum->shape[1], .L = sum->shape[3], .G = in[6]->shape[1] };
    int rc = samples_of(c, &a.x);
    const int64_t E = a.x.E, C = a.x.C;
    if (rc || (rc = lists_of(c, 8, E, &a.K, &a.middle_at, &a.middle)) != 0) return rc;
    int64_t cells = in[2]->numel / a.x.T;
    const int64_t *cell = in[3]->data;
    for (int64_t i = 0; i < in[3]->numel; i++)
        if (cell[i] < -1 || cell[i] >= cells)
            return mc_error(MC_EINVAL, "%s: cell %lld is outside -1..%lld", c->name,
                            (long long)cell[i], (long long)cells - 1);
    if ((rc = check_index(c, "level", in[4]->data, a.R * E, a.L + 1)) != 0 ||
        (rc = check_index(c, "group", in[5]->data, E, a.G)) != 0)
        return rc;
    a.repaired = in[2]->data;
    a.cell = cell;
    a.level = in[4]->data;
    a.group = in[5]->data;
    a.in_fold = in[6]->data;
    a.count = in[7]->data;
    int64_t *without = mc_alloc((size_t)a.K * sizeof *without);
    if (!without)
        return mc_status();
    a.without = left_out(&a, without);
    networks net = {0};
    a.sum = go_on(c, sum);
    rc = networks_make(&net, a.K, a.middle_at);
    a.network = net.pairs;
    a.network_at = net.at;
    if (!rc)
        rc = mc_tasks((mc_tasks_fn)kernels()->levels, &a, C, kernels()->levels_work(&a));
    networks_drop(&net);
    mc_free(without);
    return rc;
}

/* in: samples, picks, subset i64 [S, n] within the picks, w f64 [S, C, n] */
static int infer_predict(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    mck_ar_samples x;
    int rc = samples_sizes(c, &x);
    if (rc || (rc = mc_operand(c, 2, MC_I64, 1)) != 0 || (rc = mc_operand(c, 3, MC_F64, 1)) != 0)
        return rc;
    if (in[2]->ndim != 2 || in[3]->numel != in[2]->numel * x.C)
        return mc_error(MC_ESHAPE, "%s: subsets and weights do not belong together", c->name);
    return mc_shape(c, 0, MC_F64, 2, (int64_t[]){ x.E, x.C });
}

static int run_predict(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    mck_ar_predict a = { .S = in[2]->shape[0],
                         .n = in[2]->shape[1],
                         .subset = in[2]->data,
                         .w = in[3]->data,
                         .out = mc_result(c, 0) };
    int rc = samples_of(c, &a.x);
    if (rc || (rc = check_index(c, "channel", a.subset, in[2]->numel, a.x.C)) != 0) return rc;
    networks net = {0};
    rc = networks_make(&net, 1, (int64_t[]){ 0, a.S });
    a.network = net.pairs;
    if (!rc) {
        a.network_pairs = net.at[1];
        rc = mc_tasks((mc_tasks_fn)kernels()->predict, &a, a.x.E, kernels()->predict_work(&a));
    }
    networks_drop(&net);
    return rc;
}

/* in: inverse f64 [C, C], bad i64 [cells], first cell of each set i64 [S + 1] */
static int infer_weights(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    int rc;
    if ((rc = mc_operand(c, 0, MC_F64, 1)) != 0 || (rc = mc_operand(c, 1, MC_I64, 0)) != 0 ||
        (rc = mc_operand(c, 2, MC_I64, 1)) != 0)
        return rc;
    if (in[0]->ndim != 2 || in[0]->shape[1] != in[0]->shape[0])
        return mc_error(MC_ESHAPE, "%s: the inverse is not square", c->name);
    return mc_shape(c, 0, MC_F64, 2, (int64_t[]){ in[1]->numel, in[0]->shape[0] });
}

static int run_weights(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    const int64_t C = in[0]->shape[0], cells = in[1]->numel, S = in[2]->numel - 1;
    mck_ar_weights a = { .inverse = in[0]->data,
                         .bad = in[1]->data,
                         .first = in[2]->data,
                         .S = S,
                         .C = C,
                         .out = mc_result(c, 0) };
    int rc;
    if (a.first[0] != 0 || a.first[S] != cells)
        return mc_error(MC_ESHAPE, "%s: the sets do not cover %lld cells", c->name,
                        (long long)cells);
    if ((rc = check_index(c, "channel", a.bad, cells, C)) != 0)
        return rc;
    for (int64_t s = 0; s < S; s++)
        if (a.first[s + 1] < a.first[s] || a.first[s + 1] - a.first[s] >= C)
            return mc_error(MC_EINVAL, "%s: set %lld leaves no channel of %lld", c->name,
                            (long long)s, (long long)C);
    return mc_tasks((mc_tasks_fn)kernels()->weights, &a, S, kernels()->weights_work(&a));
}

MC_PLUGIN({ "ar_range", infer_range, run_range }, { "ar_mix", infer_mix, run_mix },
          { "ar_sums", infer_sums, run_sums }, { "ar_losses", infer_losses, run_losses },
          { "ar_levels", infer_levels, run_levels }, { "ar_weights", infer_weights, run_weights },
          { "ar_predict", infer_predict, run_predict })
