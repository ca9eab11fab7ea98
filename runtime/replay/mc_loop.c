/* mc_loop.c - choice and repetition inside a plan: steps whose parts are plans.
 *
 * A turn reads one set of state buffers and writes the other, so that a part never overwrites
 * what it reads; which set is first follows from the number of turns, or a copy at the end puts
 * the state where it belongs. Rows are headers that move along the first axis: nothing is
 * gathered. Decides the order of turns. */
#include "replay/mc_loop.h"

#include <string.h>

typedef struct row {
    mc_tensor t;
} row;

struct mci_loop {
    mc_loop_spec spec;
    mc_plan **parts;
    mci_part_fn run;
    mc_tensor **in, **out; /* of one turn */
    row *rows;             /* headers of rows, then of made rows */
};

mci_loop *mci_loop_new(const mc_loop_spec *s, mc_plan *const *parts, mci_part_fn run, int nout,
                       int nin)
{
    mci_loop *l = mci_calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->spec = *s;
    l->run = run;
    l->parts = mci_calloc((size_t)s->nparts + 1, sizeof *l->parts);
    l->in = mci_calloc((size_t)nin + 1, sizeof *l->in);
    l->out = mci_calloc((size_t)nout + 1, sizeof *l->out);
    l->rows = mci_calloc((size_t)(s->rows + s->made + 1), sizeof *l->rows);
    if (!l->parts || !l->in || !l->out || !l->rows) {
        mci_loop_free(l);
        return NULL;
    }
    memcpy(l->parts, parts, sizeof *parts * (size_t)s->nparts);
    return l;
}

void mci_loop_free(mci_loop *l)
{
    if (!l)
        return;
    mci_free(l->parts);
    mci_free(l->in);
    mci_free(l->out);
    mci_free(l->rows);
    mci_free(l);
}

/* The one element of t, wherever it is, in dtype. */
static int value_of(const mc_tensor *t, int dtype, void *value)
{
    MC_ALIGNED(16) char one[16];
    mc_tensor host = { .data = t->data, .dtype = t->dtype, .numel = 1 };
    if (t->device) {
        int rc = mci_device_get(one, mci_ref_of(t), MCI_SIZE(t->dtype));
        if (rc) return rc;
        host.data = one;
    }
    mci_gather(&host, 0, 1, dtype, value);
    return MC_OK;
}

static int choose(mci_loop *l, mc_tensor *const *in, mc_tensor *const *out)
{
    const mc_loop_spec *s = &l->spec;
    int64_t k;
    int rc = value_of(in[0], MC_I64, &k);
    if (rc) return rc;
    k = k < 0 ? 0 : k >= s->nparts ? s->nparts - 1 : k;
    return l->run(l->parts[k], in + 1, s->fixed, out, s->made);
}

/* The state of a turn: what the last one wrote, at first what the caller gave. */
static void bind_state(mci_loop *l, mc_tensor *const *from)
{
    memcpy(l->in + l->spec.fixed, from, sizeof *from * (size_t)l->spec.state);
}

static int move(mci_loop *l, mc_tensor *const *to, mc_tensor *const *from)
{
    for (int i = 0; i < l->spec.state; i++) {
        int rc = mc_copy(to[i], from[i]);
        if (rc)
            return rc;
    }
    return MC_OK;
}

static int repeat(mci_loop *l, mc_tensor *const *in, mc_tensor *const *out)
{
    const mc_loop_spec *s = &l->spec;
    mc_tensor *const *sets[2] = {out, out + s->state};
    mc_tensor *flag = out[2 * s->state];
    mc_tensor *const *now = in + s->fixed;
    memcpy(l->in, in, sizeof *in * (size_t)s->fixed);
    for (int64_t turn = 0;; turn++) {
        bind_state(l, now);
        uint8_t on;
        int rc = l->run(l->parts[0], l->in, s->fixed + s->state, &flag, 1);
        if (rc || (rc = value_of(flag, MC_BOOL, &on)) != 0) return rc;
        if (!on) break;
        if (mc_cancel_pending())
            return mci_error(MC_ECANCELLED, "while_loop: interrupted");
        mc_tensor *const *next = sets[turn & 1];
        if ((rc = l->run(l->parts[1], l->in, s->fixed + s->state, next, s->state)))
            return rc;
        now = next;
    }
    return now == out ? MC_OK : move(l, out, now);
}

/* The header of one row of t. */
static void row_of(row *r, const mc_tensor *t)
{
    memcpy(&r->t, t, sizeof r->t);
    r->t.ndim = t->ndim - 1;
    r->t.numel = 1;
    for (int d = 0; d < r->t.ndim; d++) {
        r->t.shape[d] = t->shape[d + 1];
        r->t.strides[d] = t->strides[d + 1];
        r->t.numel *= t->shape[d + 1];
    }
}

static int scan(mci_loop *l, mc_tensor *const *in, mc_tensor *const *out)
{
    const mc_loop_spec *s = &l->spec;
    mc_tensor *const *sets[2] = {out, out + s->state + s->made};
    mc_tensor *const *now = in + s->fixed;
    if (!s->length)
        return move(l, out, now);
    memcpy(l->in, in, sizeof *in * (size_t)s->fixed);
    for (int i = 0; i < s->rows + s->made; i++) {
        row_of(&l->rows[i],
               i < s->rows ? in[s->fixed + s->state + i] : out[s->state + i - s->rows]);
        if (i < s->rows)
            l->in[s->fixed + s->state + i] = &l->rows[i].t;
        else
            l->out[s->state + i - s->rows] = &l->rows[i].t;
    }
    for (int64_t turn = 0; turn < s->length; turn++) {
        int64_t k = s->reverse ? s->length - 1 - turn : turn;
        if (mc_cancel_pending())
            return mci_error(MC_ECANCELLED, "scan: interrupted");
        for (int i = 0; i < s->rows + s->made; i++) {
            const mc_tensor *t =
                i < s->rows ? in[s->fixed + s->state + i] : out[s->state + i - s->rows];
            l->rows[i].t.data = (char *)t->data + k * t->strides[0] * MCI_SIZE(t->dtype);
        }
        mc_tensor *const *next = sets[(s->length - 1 - turn) & 1];
        bind_state(l, now);
        memcpy(l->out, next, sizeof *next * (size_t)s->state);
        int rc =
            l->run(l->parts[0], l->in, s->fixed + s->state + s->rows, l->out, s->state + s->made);
        if (rc)
            return rc;
        now = next;
    }
    return MC_OK;
}

int mci_loop_run(mci_loop *l, mc_tensor *const *in, mc_tensor *const *out)
{
    if (l->spec.kind == MC_LOOP_ONCE)
        return l->run(l->parts[0], in, l->spec.fixed, out, l->spec.made);
    if (l->spec.kind == MC_LOOP_CHOOSE)
        return choose(l, in, out);
    return l->spec.kind == MC_LOOP_WHILE ? repeat(l, in, out) : scan(l, in, out);
}
