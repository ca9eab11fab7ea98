/* xpcs.c - the native part of the XPCS workflow: tensors to the arguments of the pass, tiles in
 * parallel, sums in order.
 *
 * A task is a tile, and tiles are added in the order of their numbers with the rounding errors
 * kept beside, so the bits depend neither on threads nor on how the tiles are cut into blocks. The
 * state that goes in and comes out is that pair of sums: a pass may stop and go on. */
#include "mc_plugin.h"
#include "xpcs.h"

#include <math.h>
#include <string.h>

static const mck_xpcs_ops *kernels(void)
{
    static const mck_xpcs_ops *const table[3] = {MC_LEVELS(mck_xpcs)};
    return table[mc_isa()];
}

/* Places of tiles first .. first + count - 1 (NULL: none wanted) and how many values they hold; -1
 * when there are not so many. */
static int64_t layout(int64_t n, int64_t F, int64_t first, int64_t count, mck_xpcs_tile *tiles)
{
    int64_t number = 0, sum = 0;
    for (int64_t I = 0; I < xpcs_edge(n); I++)
        for (int64_t J = I; J < xpcs_edge(n); J++, number++)
            if (number >= first && number < first + count) {
                if (tiles) tiles[number - first] = (mck_xpcs_tile){I, J, sum};
                sum += xpcs_values(n, F, I, J);
            }
    return first < 0 || number < first + count ? -1 : sum;
}

/* sum += v with the error of the addition in `low`. */
static void take(double *sum, double *low, double v)
{
    const double s = *sum, t = s + v;
    *low += fabs(s) >= fabs(v) ? (s - t) + v : (v - t) + s;
    *sum = t;
}

/* Operands y f32|f64 [values of the tiles], holes u8 [tiles], times f64 [n], angles f64 [4, F]
 * (phi, sigma, contrast, offset), physics f64 [7], state f64 [2, sums], optionally weights like y.
 * Parameters: laminar, scaling, loss, first tile, part; kd, ks, f_scale. Result: the state
 * after these tiles. */
static int infer_pass(const mc_call *c)
{
    char s[MC_TEXT];
    const mc_tensor *const *in = c->in;
    int rc;
    if (in[0]->dtype != MC_F32 && in[0]->dtype != MC_F64)
        return mc_error(MC_EDTYPE, "%s: data are %s; give f32 or f64", c->name,
                        mc_text(s, sizeof s, in[0]));
    if ((rc = mc_operand(c, 0, in[0]->dtype, 1)) != 0 || (rc = mc_operand(c, 1, MC_U8, 1)) != 0 ||
        (rc = mc_operand(c, 2, MC_F64, 2)) != 0 || (rc = mc_operand(c, 3, MC_F64, 4)) != 0 ||
        (rc = mc_operand(c, 4, MC_F64, XPCS_P)) != 0 || (rc = mc_operand(c, 5, MC_F64, 2)) != 0)
        return rc;
    const int weighted = c->nin > 6;
    if (weighted && (rc = mc_operand(c, 6, in[0]->dtype, in[0]->numel)) != 0) return rc;
    const int64_t n = in[2]->numel, F = in[3]->numel / 4, tiles = in[1]->numel,
                  first = c->params->i[3];
    const int scaling = (int)c->params->i[1], loss = (int)c->params->i[2],
              part = (int)c->params->i[4];
    if (scaling < XPCS_FIXED || scaling > XPCS_EACH || loss < XPCS_LINEAR || loss > XPCS_ARCTAN ||
        part < XPCS_FIT || part > XPCS_BELOW || (part != XPCS_FIT && loss == XPCS_LINEAR))
        return mc_error(MC_EINVAL, "%s: scaling %d, loss %d or part %d is unknown", c->name,
                        scaling, loss, part);
    const int64_t sums = xpcs_sums(scaling, F), values = layout(n, F, first, tiles, NULL);
    if (values != in[0]->numel || in[5]->numel != 2 * sums)
        return mc_error(MC_ESHAPE,
                        "%s: %s and %lld sums do not fit %lld times, %lld angles, tiles %lld to "
                        "%lld (%lld values, %lld sums)",
                        c->name, mc_text(s, sizeof s, in[0]), (long long)(in[5]->numel / 2),
                        (long long)n, (long long)F, (long long)first,
                        (long long)(first + tiles - 1), (long long)values, (long long)sums);
    return mc_shape(c, 0, MC_F64, 2, (int64_t[]){ 2, sums });
}

static int run_pass(const mc_call *c)
{
    const mc_tensor *const *in = c->in;
    const int weighted = c->nin > 6, laminar = c->params->i[0] != 0, scaling = (int)c->params->i[1],
              loss = (int)c->params->i[2];
    const int64_t n = in[2]->numel, F = in[3]->numel / 4, tiles = in[1]->numel,
                  first = c->params->i[3], sums = xpcs_sums(scaling, F);
    int rc;
    const double *angle = in[3]->data;
    mck_xpcs_model m = { .n = n,
                         .F = F,
                         .laminar = laminar,
                         .scaling = scaling,
                         .time = in[2]->data,
                         .phi = angle,
                         .sigma = angle + F,
                         .contrast = angle + 2 * F,
                         .offset = angle + 3 * F,
                         .kd = c->params->d[0],
                         .ks = c->params->d[1] };
    memcpy(m.physics, in[4]->data, sizeof m.physics);
    const int64_t groups = (n + XPCS_G - 1) / XPCS_G;
    int64_t doubles, kept;
    if ((rc = mc_size(tiles, sums, &kept)) != 0 ||
        (rc = mc_size(8 * n + 2 * groups * F * XPCS_G + XPCS_ANGLE * F + 3 * tiles + kept,
                      (int64_t)sizeof(double), &doubles)) != 0)
        return rc;
    double *memory = mc_alloc((size_t)doubles);
    if (!memory) return mc_status();
    const mck_xpcs_ops *k = kernels();
    mck_xpcs_pass a = { .model = &m,
                        .y = in[0]->data,
                        .weight = weighted ? in[6]->data : NULL,
                        .single = in[0]->dtype == MC_F32,
                        .holes = in[1]->data,
                        .loss = loss,
                        .part = (int)c->params->i[4],
                        .f_scale = c->params->d[2] };
    a.tables.prefix = memory;
    a.tables.sine = a.tables.prefix + 8 * n;
    a.tables.angle = a.tables.sine + 2 * groups * F * XPCS_G;
    mck_xpcs_tile *at = (mck_xpcs_tile *)(void *)(a.tables.angle + XPCS_ANGLE * F);
    (void)layout(n, F, first, tiles, at);
    a.tiles = at;
    a.out = (double *)(void *)(at + tiles);
    k->prepare(&m, &a.tables);
    rc = mc_tasks((mc_tasks_fn)k->pass, &a, tiles, k->pass_work(&a));
    double *out = mc_result(c, 0);
    if (!rc) {
        memcpy(out, in[5]->data, (size_t)(2 * sums) * sizeof *out);
        for (int64_t t = 0; t < tiles; t++)
            for (int64_t q = 0; q < sums; q++) take(out + q, out + sums + q, a.out[t * sums + q]);
    }
    mc_free(memory);
    return rc;
}

MC_PLUGIN({ "xpcs_pass", infer_pass, run_pass })
