/* rollout.c - the native part of rollouts: a pass over groups of channels, figures of fields; in
 * parallel over groups and fields. */
#include "mc_plugin.h"
#include "rollout.h"

static const mck_rollout_ops *kernels(void)
{
    static const mck_rollout_ops *const table[3] = { MC_LEVELS(mck_rollout) };
    return table[mc_isa()];
}

#define SHARE 16384 /* elements of a task where groups do not matter */

/* Operands x f32|f64 [batch, channels, ...], optionally skip of its dtype and shape. Parameters:
 * norm, groups of channels, activation, eps. Result: like x. */
static int infer_block(const mc_call *c)
{
    char s[MC_TEXT], s2[MC_TEXT];
    int rc;
    const mc_tensor *x = c->in[0];
    if (c->nin < 1 || c->nin > 2)
        return mc_error(MC_EINVAL, "%s: %d operands; give states, and what is added", c->name,
                        c->nin);
    if (x->dtype != MC_F32 && x->dtype != MC_F64)
        return mc_error(MC_EDTYPE, "%s: states are %s; give f32 or f64", c->name,
                        mc_text(s, sizeof s, x));
    if ((rc = mc_operand(c, 0, x->dtype, 0)) != 0) return rc;
    const int64_t norm = c->params->i[0], groups = c->params->i[1], act = c->params->i[2];
    if (norm < RO_NONE || norm > RO_FACTOR || act < 0 || act >= RO_ACTIVATIONS)
        return mc_error(MC_EINVAL, "%s: norm %lld or activation %lld is unknown", c->name,
                        (long long)norm, (long long)act);
    if (x->ndim < 2 || groups < 1 || x->shape[1] % groups != 0)
        return mc_error(MC_ESHAPE, "%s: %lld groups do not divide the channels of %s", c->name,
                        (long long)groups, mc_text(s, sizeof s, x));
    if (c->nin > 1) {
        const mc_tensor *k = c->in[1];
        if ((rc = mc_operand(c, 1, x->dtype, 0)) != 0) return rc;
        int same = k->ndim == x->ndim;
        for (int i = 0; same && i < x->ndim; i++) same = k->shape[i] == x->shape[i];
        if (!same)
            return mc_error(MC_ESHAPE, "%s: states are %s, what is added is %s; give equal shapes",
                            c->name, mc_text(s, sizeof s, x), mc_text(s2, sizeof s2, k));
    }
    return mc_shape(c, 0, x->dtype, x->ndim, x->shape);
}

static int run_block(const mc_call *c)
{
    const mc_tensor *x = c->in[0];
    mck_ro_block a = { .norm = (int)c->params->i[0],
                       .activation = (int)c->params->i[2],
                       .eps = c->params->d[0],
                       .x = x->data,
                       .skip = c->nin > 1 ? c->in[1]->data : NULL,
                       .y = mc_result(c, 0) };
    if (x->numel == 0) return 0;
    int64_t tasks = x->shape[0] * c->params->i[1];
    if (a.norm != RO_MOMENTS)
        for (tasks = (x->numel + SHARE - 1) / SHARE; x->numel % tasks != 0;) tasks++;
    a.n = x->numel / tasks;
    return mc_tasks(kernels()->block[x->dtype == MC_F64], &a, tasks, 0);
}

static int float_operand(const mc_call *c, int k, int dtype)
{
    char s[MC_TEXT];
    if (dtype != MC_F32 && dtype != MC_F64)
        return mc_error(MC_EDTYPE, "%s: operand is %s; give f32 or f64", c->name,
                        mc_text(s, sizeof s, c->in[k]));
    return mc_operand(c, k, dtype, 0);
}

static int odd_shapes(const mc_call *c, const char *what)
{
    char s[MC_TEXT], s2[MC_TEXT];
    return mc_error(MC_ESHAPE, "%s: operands are %s and %s; give %s", c->name,
                    mc_text(s, sizeof s, c->in[0]), mc_text(s2, sizeof s2, c->in[1]), what);
}

/* Operands fields f32|f64 [fields, g, g], the places of each sorted [fields, g g]. Result: [fields,
 * RO_STATE]. */
static int infer_state(const mc_call *c)
{
    int rc;
    if (c->nin != 2)
        return mc_error(MC_EINVAL, "%s: %d operands; give fields, and them sorted", c->name,
                        c->nin);
    const mc_tensor *x = c->in[0], *s = c->in[1];
    if ((rc = float_operand(c, 0, x->dtype)) != 0 || (rc = mc_operand(c, 1, x->dtype, 0)) != 0)
        return rc;
    if (x->ndim != 3 || x->shape[1] != x->shape[2] || x->shape[1] < 2 || s->ndim != 2 ||
        s->shape[0] != x->shape[0] || s->shape[1] != x->shape[1] * x->shape[1])
        return odd_shapes(c, "[fields, g, g] with g of 2 or more, and [fields, g g]");
    return mc_shape(c, 0, x->dtype, 2, (int64_t[]){ x->shape[0], RO_STATE });
}

static int run_state(const mc_call *c)
{
    const mc_tensor *x = c->in[0];
    const mck_ro_state a = {
        .g = x->shape[1], .x = x->data, .sorted = c->in[1]->data, .y = mc_result(c, 0)
    };
    return mc_tasks(kernels()->state[x->dtype == MC_F64], &a, x->shape[0],
                    kernels()->state_work(a.g));
}

/* Operands power f32|f64 [fields, bins], it sorted, frequencies x and y f64 [bins], band and ratio
 * of bins u8 [bins]. Parameter: g. Result: [fields, RO_POWER]. */
static int infer_power(const mc_call *c)
{
    int rc;
    if (c->nin != 6)
        return mc_error(MC_EINVAL,
                        "%s: %d operands; give power, it sorted, two frequencies, bands, ratios",
                        c->name, c->nin);
    const mc_tensor *p = c->in[0], *s = c->in[1];
    const int64_t g = c->params->i[0], n = g * (g / 2 + 1);
    if ((rc = float_operand(c, 0, p->dtype)) != 0 || (rc = mc_operand(c, 1, p->dtype, 0)) != 0 ||
        (rc = mc_operand(c, 2, MC_F64, n)) != 0 || (rc = mc_operand(c, 3, MC_F64, n)) != 0 ||
        (rc = mc_operand(c, 4, MC_U8, n)) != 0 || (rc = mc_operand(c, 5, MC_U8, n)) != 0)
        return rc;
    if (g < 2 || p->ndim != 2 || p->shape[1] != n || s->ndim != 2 || s->shape[0] != p->shape[0] ||
        s->shape[1] != n)
        return odd_shapes(c, "[fields, g (g / 2 + 1)] for both");
    return mc_shape(c, 0, p->dtype, 2, (int64_t[]){ p->shape[0], RO_POWER });
}

static int run_power(const mc_call *c)
{
    const mc_tensor *p = c->in[0];
    mck_ro_power a = { .g = c->params->i[0],
                       .bins = p->shape[1],
                       .p = p->data,
                       .sorted = c->in[1]->data,
                       .kx = c->in[2]->data,
                       .ky = c->in[3]->data,
                       .band = c->in[4]->data,
                       .ratio = c->in[5]->data,
                       .y = mc_result(c, 0) };
    for (int64_t i = 0; i < a.bins; i++) {
        if (a.band[i] > RO_BANDS || a.ratio[i] > 2)
            return mc_error(MC_EINVAL, "%s: bin %lld has band %d and ratio %d", c->name,
                            (long long)i, a.band[i], a.ratio[i]);
        if (a.band[i] < RO_BANDS) a.members[a.band[i]]++;
    }
    for (int b = 0; b < RO_BANDS; b++)
        if (a.members[b] == 0) a.members[b] = 1;
    return mc_tasks(kernels()->power[p->dtype == MC_F64], &a, p->shape[0], 0);
}

/* Operand states f32|f64 [states, channels, g, g]. Result: [states, RO_CROSS(channels)]. */
static int infer_cross(const mc_call *c)
{
    char s[MC_TEXT];
    const mc_tensor *x = c->in[0];
    int rc;
    if (c->nin != 1) return mc_error(MC_EINVAL, "%s: %d operands; give states", c->name, c->nin);
    if ((rc = float_operand(c, 0, x->dtype)) != 0) return rc;
    if (x->ndim != 4 || x->shape[1] < 1 || x->shape[2] * x->shape[3] < 2)
        return mc_error(MC_ESHAPE,
                        "%s: states are %s; give [states, channels, g, g], g of 2 or more", c->name,
                        mc_text(s, sizeof s, x));
    return mc_shape(c, 0, x->dtype, 2, (int64_t[]){ x->shape[0], RO_CROSS(x->shape[1]) });
}

static int run_cross(const mc_call *c)
{
    const mc_tensor *x = c->in[0];
    const mck_ro_cross a = {
        .channels = x->shape[1], .n = x->shape[2] * x->shape[3], .x = x->data, .y = mc_result(c, 0)
    };
    return mc_tasks(kernels()->cross[x->dtype == MC_F64], &a, x->shape[0],
                    kernels()->cross_work(a.channels, a.n));
}

/* Operands fields f32|f64 [fields, g, g], the next ones. Result: [fields, 2]. */
static int infer_flow(const mc_call *c)
{
    int rc;
    if (c->nin != 2)
        return mc_error(MC_EINVAL, "%s: %d operands; give fields, and the next ones", c->name,
                        c->nin);
    const mc_tensor *x = c->in[0], *y = c->in[1];
    if ((rc = float_operand(c, 0, x->dtype)) != 0 || (rc = mc_operand(c, 1, x->dtype, 0)) != 0)
        return rc;
    if (x->ndim != 3 || x->shape[1] != x->shape[2] || x->shape[1] < 2 || y->ndim != 3 ||
        y->shape[0] != x->shape[0] || y->shape[1] != x->shape[1] || y->shape[2] != x->shape[2])
        return odd_shapes(c, "[fields, g, g] with g of 2 or more for both");
    return mc_shape(c, 0, x->dtype, 2, (int64_t[]){ x->shape[0], 2 });
}

static int run_flow(const mc_call *c)
{
    const mc_tensor *x = c->in[0];
    const mck_ro_flow a = {
        .g = x->shape[1], .x = x->data, .next = c->in[1]->data, .y = mc_result(c, 0)
    };
    return mc_tasks(kernels()->flow[x->dtype == MC_F64], &a, x->shape[0], 0);
}

MC_PLUGIN({ "ro_block", infer_block, run_block }, { "ro_state", infer_state, run_state },
          { "ro_power", infer_power, run_power }, { "ro_cross", infer_cross, run_cross },
          { "ro_flow", infer_flow, run_flow })
