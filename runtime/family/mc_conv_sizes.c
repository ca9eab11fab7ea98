/* mc_conv_sizes.c - convolutions and their derivatives: sizes, checks, and the lists that a run
 * needs. See mc_conv.h. */
#include "family/mc_conv.h"

#include "base/mc_memory.h"

#include <string.h>

/* params: i[0] axes, i[1 + a] stride, i[4 + a] padding before, i[7 + a] after, i[10 + a]
 * dilation, i[13] groups, i[14] mode, i[15] whether operands have a first axis of convolutions of
 * their own, i[16 + a] sizes of the form that cannot be told from its operands, i[19] whether sums
 * are taken as they are written and not by tiles. */
enum {
    STRIDE = 1,
    BEFORE = 4,
    AFTER = 7,
    DILATION = 10,
    GROUPS = 13,
    MODE = 14,
    BATCHED = 15,
    SIZES = 16,
    DIRECT = 19
};

static const char *const forms[] = { "input", "output", "input" };
static const char *const others[] = { "weight", "weight", "output" };

static int mismatch(const mci_job *job, const mci_conv *c, const char *what)
{
    char s1[MCI_TEXT], s2[MCI_TEXT];
    return mci_error(MC_ESHAPE, "%s: %s; %s is %s, %s is %s", job->op->name, what, forms[c->form],
                     mci_tensor_text(s1, sizeof s1, job->in[0]), others[c->form],
                     mci_tensor_text(s2, sizeof s2, job->in[1]));
}

/* Sizes along one axis; 0 when the kernel does not fit. */
static int axis_of(mci_conv_axis *ax, const mc_params *p, int a, int mode)
{
    const int64_t span = (ax->taps - 1) * ax->dilation + 1,
                  room = ax->in + p->i[BEFORE + a] + p->i[AFTER + a];
    ax->before = p->i[BEFORE + a];
    if (ax->taps < 1 || room < span || (mode != MCK_PAD_CONSTANT && ax->in < 1)) return 0;
    ax->out = (room - span) / ax->stride + 1;
    ax->shift = (ax->taps - 1) * ax->dilation / ax->stride;
    ax->q = ax->out + ax->shift;
    return 1;
}

int mci_conv_of(const mci_job *job, mci_conv *c, mci_result *r)
{
    const mc_params *p = job->params;
    const mc_tensor *a = job->in[0], *b = job->in[1];
    memset(c, 0, sizeof *c);
    r->nout = 1;
    int rc = mci_resolve(job->op, job->nin, job->in, &r->dtype[0], &r->compute);
    if (rc) return rc;
    c->form = job->op->variant;
    c->nd = (int)p->i[0];
    c->g = p->i[GROUPS];
    c->mode = (int)p->i[MODE];
    c->batched = p->i[BATCHED] != 0;
    c->direct = p->i[DIRECT] != 0;
    const int lead = c->batched, rank = lead + 2 + c->nd;
    if (c->nd < 1 || c->nd > 3 || c->g < 1 || a->ndim != rank || b->ndim != rank)
        return mismatch(job, c,
                        "the ranks do not fit; both operands need batch and channel axes and one "
                        "to three axes of places");
    if (lead && a->shape[0] != b->shape[0] && a->shape[0] != 1 && b->shape[0] != 1)
        return mismatch(job, c, "the numbers of convolutions differ");
    c->b = !lead ? 1 : a->shape[0] == 1 ? b->shape[0] : a->shape[0];
    const int64_t *sa = a->shape + lead, *sb = b->shape + lead;
    int fits;
    if (c->form == MCI_CONV_RESULT) { /* x [n, g cg], w [g og, cg] */
        c->n = sa[0];
        c->cg = sb[1];
        c->og = sb[0] / c->g;
        fits = sa[1] == c->cg * c->g && sb[0] == c->og * c->g;
    } else if (c->form == MCI_CONV_INPUT) { /* y [n, g og], w [g og, cg] */
        c->n = sa[0];
        c->cg = sb[1];
        c->og = sb[0] / c->g;
        fits = sa[1] == sb[0] && sb[0] == c->og * c->g;
    } else { /* x [n, g cg], y [n, g og] */
        c->n = sa[0];
        c->cg = sa[1] / c->g;
        c->og = sb[1] / c->g;
        fits = sb[0] == c->n && sa[1] == c->cg * c->g && sb[1] == c->og * c->g;
    }
    if (!fits) return mismatch(job, c, "the channels do not fit the groups");
    c->band_axis = 3 - c->nd;
    for (int k = 0; k < 3; k++) {
        mci_conv_axis *ax = &c->axis[k];
        const int i = k - c->band_axis;
        if (i < 0) {
            *ax = (mci_conv_axis){
                .in = 1, .out = 1, .taps = 1, .stride = 1, .dilation = 1, .q = 1, .every = 1
            };
            continue;
        }
        ax->every = 1;
        ax->stride = p->i[STRIDE + i];
        ax->dilation = p->i[DILATION + i];
        if (ax->stride < 1 || ax->dilation < 1 || p->i[BEFORE + i] < 0 || p->i[AFTER + i] < 0)
            return mci_error(MC_EINVAL, "%s: strides and dilations start at 1, padding at 0",
                             job->op->name);
        ax->in = c->form == MCI_CONV_INPUT ? p->i[SIZES + i] : sa[2 + i];
        ax->taps = c->form == MCI_CONV_WEIGHT ? p->i[SIZES + i] : sb[2 + i];
        if (!axis_of(ax, p, i, c->mode))
            return mismatch(job, c, "the kernel is longer than the padded input");
        const int64_t given = c->form == MCI_CONV_INPUT ? sa[2 + i] : sb[2 + i];
        if (c->form != MCI_CONV_RESULT && given != ax->out)
            return mismatch(job, c, "the sizes do not belong to one convolution");
    }
    int64_t *shape = r->shape[0];
    int nd = 0;
    if (lead) shape[nd++] = c->b;
    shape[nd++] = c->form == MCI_CONV_WEIGHT ? c->g * c->og : c->n;
    shape[nd++] = c->form == MCI_CONV_RESULT  ? c->g * c->og
                  : c->form == MCI_CONV_INPUT ? c->g * c->cg
                                              : c->cg;
    for (int k = c->band_axis; k < 3; k++)
        shape[nd++] = c->form == MCI_CONV_RESULT  ? c->axis[k].out
                      : c->form == MCI_CONV_INPUT ? c->axis[k].in
                                                  : c->axis[k].taps;
    r->ndim[0] = nd;
    return MC_OK;
}

int mci_conv_infer(const mci_job *job, mci_result *r)
{
    mci_conv c;
    return mci_conv_of(job, &c, r);
}

/* ---------------------------------------------------------------- lists of a run */

/* Residues, phases of the taps, maps and runs of one axis into `at`;
 * returns what is behind them. */
static int64_t *axis_lists(mci_conv_axis *ax, int mode, int64_t length, int64_t *at)
{
    int64_t *residue = at, *phase_of = residue + ax->taps, *map, *run;
    ax->phases = 0;
    for (int64_t r = 0; r < ax->stride; r++) {
        int used = 0;
        for (int64_t t = 0; t < ax->taps; t++)
            if (t * ax->dilation % ax->stride == r) {
                phase_of[t] = ax->phases;
                used = 1;
            }
        if (used) residue[ax->phases++] = r;
        if (ax->phases == ax->taps) break;
    }
    map = phase_of + ax->taps;
    run = map + ax->phases * length;
    int64_t covered = 0;
    for (int64_t f = 0; f < ax->phases; f++) {
        int64_t lo = ax->q, hi = 0;
        for (int64_t q = 0; q < length; q++) {
            const int64_t k = q * ax->stride + residue[f] - ax->before,
                          inside = q < ax->q && k >= 0 && k < ax->in;
            map[f * length + q] = q >= ax->q                 ? -1
                                  : inside                   ? k
                                  : mode == MCK_PAD_CONSTANT ? -1
                                                             : mck_pad_source(mode, k, 0, ax->in);
            if (inside) {
                lo = q < lo ? q : lo;
                hi = q + 1;
                covered++;
            }
        }
        run[2 * f] = lo < hi ? lo : 0;
        run[2 * f + 1] = lo < hi ? hi : 0;
    }
    ax->covered = covered == ax->in;
    ax->residue = residue;
    ax->phase_of = phase_of;
    ax->map = map;
    ax->run = run;
    return run + 2 * ax->phases;
}

/* Sizes of a band's plane for `rows` places of the result along the first axis. */
static void band(mci_conv *c, int64_t rows)
{
    int64_t pitch = 1;
    c->rows = rows;
    for (int k = 2; k >= 0; k--) {
        c->size[k] = k == c->band_axis ? rows + c->axis[k].shift : c->axis[k].q;
        c->pitch[k] = pitch;
        pitch *= c->size[k];
    }
    c->plane = pitch;
}

/* So many pieces keep as many threads busy; a band shares its first rows with the one before. */
#define LEAST_UNITS 16

int mci_conv_plan(mci_conv *c, int64_t x_planes, int64_t y_planes, int64_t budget)
{
    mci_conv_axis *first = &c->axis[c->band_axis];
    const int64_t places = c->form == MCI_CONV_INPUT ? first->q : first->out;
    int64_t inner = 1, lists = 0;
    for (int k = c->band_axis + 1; k < 3; k++) inner *= c->axis[k].q;
    int64_t rows = (budget / inner - x_planes * first->shift) / (x_planes + y_planes),
            least = 4 * first->shift > 8 ? 4 * first->shift : 8;
    if (c->b * c->n * c->g < LEAST_UNITS) {
        const int64_t want = (LEAST_UNITS + c->b * c->n * c->g - 1) / (c->b * c->n * c->g),
                      part = (places + want - 1) / want;
        rows = rows < part ? rows : part;
    }
    rows = rows > least ? rows : least;
    if (rows > places || budget == 0) rows = places;
    c->bands = (places + rows - 1) / rows;
    rows = (places + c->bands - 1) / c->bands; /* of equal height */
    rows = (rows + first->every - 1) / first->every * first->every;
    band(c, rows);
    c->bands = (places + rows - 1) / rows;
    c->taps = c->phases = 1;
    for (int k = 0; k < 3; k++) {
        const mci_conv_axis *ax = &c->axis[k];
        c->length[k] = ax->q + (k == c->band_axis ? rows + ax->shift : 0);
        c->taps *= ax->taps;
        const int64_t most = ax->taps < ax->stride ? ax->taps : ax->stride;
        lists += 2 * ax->taps + most * (c->length[k] + 2);
    }
    c->numbers = mci_alloc((size_t)(lists + 2 * c->taps) * sizeof *c->numbers);
    if (!c->numbers) return mc_errstatus();
    int64_t *at = c->numbers;
    for (int k = 0; k < 3; k++) {
        at = axis_lists(&c->axis[k], c->mode, c->length[k], at);
        c->phases *= c->axis[k].phases;
    }
    int64_t *tap_phase = at, *tap_shift = at + c->taps;
    for (int64_t t = 0; t < c->taps; t++) {
        int64_t rest = t, phase = 0, shift = 0, step = 1;
        for (int k = 2; k >= 0; k--) {
            const mci_conv_axis *ax = &c->axis[k];
            const int64_t i = rest % ax->taps;
            rest /= ax->taps;
            phase += step * ax->phase_of[i];
            step *= ax->phases;
            shift += i * ax->dilation / ax->stride * c->pitch[k];
        }
        tap_phase[t] = phase;
        tap_shift[t] = shift;
    }
    c->tap_phase = tap_phase;
    c->tap_shift = tap_shift;
    return MC_OK;
}

void mci_conv_drop(mci_conv *c)
{
    mci_free(c->numbers);
    c->numbers = NULL;
}

/* ---------------------------------------------------------------- operands */

mci_conv_operand mci_conv_operand_of(const mci_conv *c, const mc_tensor *t)
{
    mci_conv_operand o = { .data = t->data };
    const int64_t *s = t->strides + c->batched;
    o.b = c->batched && t->shape[0] > 1 ? t->strides[0] : 0;
    o.n = s[0];
    o.c = s[1];
    for (int k = c->band_axis; k < 3; k++) o.axis[k] = s[2 + k - c->band_axis];
    return o;
}

mck_conv_plane mci_conv_plane_of(const mci_conv *c, const mci_conv_operand *x, int64_t f,
                                 int64_t start)
{
    mck_conv_plane p = { .step = c->axis[2].stride, .store = c->mode == MCK_PAD_CONSTANT };
    for (int k = 2; k >= 0; k--) {
        const mci_conv_axis *ax = &c->axis[k];
        const int64_t phase = f % ax->phases, at = k == c->band_axis ? start : 0;
        f /= ax->phases;
        p.size[k] = c->size[k];
        p.stride[k] = x->axis[k];
        p.map[k] = ax->map + phase * c->length[k] + at;
        if (k == 2) {
            p.lo = ax->run[2 * phase] > at ? ax->run[2 * phase] - at : 0;
            p.hi =
                ax->run[2 * phase + 1] - at < p.size[2] ? ax->run[2 * phase + 1] - at : p.size[2];
            p.hi = p.hi > p.lo ? p.hi : p.lo;
        }
    }
    return p;
}

const mc_tensor *mci_conv_dense(mc_tensor *tmp, const mc_tensor *w, int *rc)
{
    if (*rc || mci_contiguous(w)) return w;
    *rc = mci_materialize(tmp, w, w->dtype);
    return tmp;
}
