/* mc_kernel.c - a user's own reductions and plain C, generated as C and compiled at run time, as
 * ops.
 *
 * A reduction is cut into chunks of fixed length and its states are joined in a fixed tree, a
 * range into tasks of a given grain: nothing depends on the number of threads. Operands come
 * contiguous and converted. Holds the cut. */
#include "family/mc_added.h"
#include "family/mc_family.h"

#include <string.h>

#define CHUNK 16384
#define STATE 1024
#define MOST 8 /* inputs, outputs of a reduction */
#define MOST_RANGE 16 /* of plain C */
#define MOST_VALUES 128

typedef struct reduction {
    const mc_reduction *r;
    /* rows, their length, chunks of a row, rows of a task when a row is one chunk */
    int64_t m, n, chunks, group;
    int nin, nout;
    const mc_tensor *const *in;
    mc_tensor *const *out;
    char *states;
} reduction;

static void part(const reduction *j, int64_t row, int64_t first, int64_t n, void *state)
{
    const void *in[MOST];
    for (int i = 0; i < j->nin; i++)
        in[i] = (const char *)j->in[i]->data + (row * j->n + first) * MCI_SIZE(j->in[i]->dtype);
    j->r->part(n, in, state);
}

static void finish(const reduction *j, int64_t row, const void *state)
{
    void *out[MOST];
    for (int i = 0; i < j->nout; i++)
        out[i] = (char *)j->out[i]->data + row * MCI_SIZE(j->out[i]->dtype);
    j->r->finish(state, out);
}

static void whole_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const reduction *j = arg;
    MC_ALIGNED(64) char state[STATE];
    (void)worker;
    int64_t last = end * j->group < j->m ? end * j->group : j->m;
    for (int64_t row = begin * j->group; row < last; row++) {
        part(j, row, 0, j->n, state);
        finish(j, row, state);
    }
}

static void chunks(void *arg, int64_t begin, int64_t end, int worker)
{
    const reduction *j = arg;
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        int64_t first = k % j->chunks * CHUNK;
        part(j, k / j->chunks, first, first + CHUNK < j->n ? CHUNK : j->n - first,
             j->states + k * j->r->bytes);
    }
}

static int reduce(const mc_reduction *r, int64_t m, int64_t n, int nin, const mc_tensor *const *in,
                  int nout, mc_tensor *const *out)
{
    reduction j = { .r = r, .m = m, .n = n, .nin = nin, .nout = nout, .in = in, .out = out };
    int64_t bytes;
    if (m == 0) return MC_OK;
    j.chunks = n > CHUNK ? (n + CHUNK - 1) / CHUNK : 1;
    if (j.chunks == 1) {
        j.group = n > 0 ? 4 * CHUNK / n : 4 * CHUNK;
        j.group = j.group < 1 ? 1 : j.group;
        return mci_parallel((m + j.group - 1) / j.group, whole_rows, &j);
    }
    if (mci_size_mul(m * j.chunks, r->bytes, &bytes) || !(j.states = mci_alloc((size_t)bytes)))
        return mc_errstatus();
    int rc = mci_parallel(m * j.chunks, chunks, &j);
    for (int64_t row = 0; !rc && row < m; row++) {
        char *s = j.states + row * j.chunks * r->bytes;
        for (int64_t step = 1; step < j.chunks; step *= 2)
            for (int64_t k = 0; k + step < j.chunks; k += 2 * step)
                r->join(s + k * r->bytes, s + (k + step) * r->bytes);
        finish(&j, row, s);
    }
    mci_free(j.states);
    return rc;
}

/* ---- a reduction as an op ---- */

typedef struct reduction_row {
    mc_plugin_row row; /* first: what an op leads to */
    mc_reduction r;
    int8_t in[MOST], out[MOST];
    mci_fold fold;
    char name[]; /* then the program */
} reduction_row;

static const reduction_row *row_of(const mc_call *c)
{
    return (const reduction_row *)(const void *)mci_added_row(c->row);
}

static int infer_row(const mc_call *c)
{
    const reduction_row *u = row_of(c);
    const mc_tensor *first = c->in[0];
    char s1[MCI_TEXT], s2[MCI_TEXT];
    for (int k = 0; k < c->nin; k++) {
        const mc_tensor *t = c->in[k];
        int same = t->ndim == first->ndim && t->dtype == u->in[k] && t->ndim > 0;
        for (int i = 0; same && i < t->ndim; i++) same = t->shape[i] == first->shape[i];
        if (!same)
            return mci_error(MC_ESHAPE, "%s: operand %d is %s beside %s", c->name, k + 1,
                             mci_tensor_text(s1, sizeof s1, t),
                             mci_tensor_text(s2, sizeof s2, first));
    }
    int rc = MC_OK;
    for (int k = 0; k < c->nout && !rc; k++)
        rc = mci_added_shape(c, k, u->out[k], first->ndim - 1, first->shape);
    return rc;
}

static int run_row(const mc_call *c)
{
    const mc_tensor *first = c->in[0], *use[MOST];
    mc_tensor tmp[MOST];
    const int64_t n = first->shape[first->ndim - 1];
    int made = 0, rc = MC_OK;
    for (int k = 0; k < c->nin && !rc; k++) {
        use[k] = c->in[k];
        if (mci_contiguous(c->in[k])) continue;
        rc = mci_materialize(&tmp[made], c->in[k], c->in[k]->dtype);
        use[k] = &tmp[made];
        made += rc == MC_OK;
    }
    const int64_t m = mci_numel(first->ndim - 1, first->shape);
    if (!rc) rc = reduce(&row_of(c)->r, m, n, c->nin, use, c->nout, c->out);
    for (int k = 0; k < made; k++) mc_drop(&tmp[k]);
    return rc;
}

const mci_fold *mci_added_fold(const mci_op *op)
{
    const mc_plugin_row *row = mci_added_row(op);
    return row->run == run_row ? &((const reduction_row *)(const void *)row)->fold : NULL;
}

int mc_reduction_row(const char *name, const mc_reduction *r, int nin, const int8_t *in, int nout,
                     const int8_t *out, const char *program, int lanes)
{
    int8_t compute[MC_NDTYPE];
    if (nin < 1 || nin > MOST || nout < 1 || nout > MOST || r->bytes > STATE) {
        mci_error(MC_EINVAL, "%s: at most %d inputs, %d outputs and %d bytes of state", name, MOST,
                  MOST, STATE);
        return -1;
    }
    const size_t length = strlen(name) + 1;
    reduction_row *u = mci_calloc(1, sizeof *u + length + strlen(program) + 1);
    if (!u) return -1;
    strcpy(u->name, name);
    strcpy(u->name + length, program);
    u->fold = (mci_fold){ u->name + length, r->bytes, lanes };
    u->row = (mc_plugin_row){ u->name, infer_row, run_row };
    u->r = *r;
    memcpy(u->in, in, (size_t)nin);
    memcpy(u->out, out, (size_t)nout);
    for (int i = 0; i < MC_NDTYPE; i++) compute[i] = (int8_t)i;
    int id = mci_added_new(&u->row, nin, nout, MCI_PROMOTE_NUMERIC, compute);
    if (id < 0) mci_free(u);
    return id;
}

/* ---- plain C as an op ---- */

/* Operands: inputs; values, one number each; shapes of results (none: all are like the first input;
 * one for all; one each), of which only headers are read. Any number of leading axes are copies of
 * one another: all operands have them. i[0]: axes of the first input without those; i[1]: how many
 * indices there are for each, -1: elements of the first result. */
typedef struct range_row {
    mc_plugin_row row; /* first: what an op leads to */
    mc_range_kernel fn;
    int64_t grain;
    int nin, nvalues, nout;
    int8_t in[MOST_RANGE], out[MOST_RANGE];
    char name[];
} range_row;

static const range_row *range_of(const mc_call *c)
{
    return (const range_row *)(const void *)mci_added_row(c->row);
}

static int infer_range(const mc_call *c)
{
    const range_row *u = range_of(c);
    char s1[MCI_TEXT], s2[MCI_TEXT];
    const int named = u->nin + u->nvalues, shapes = c->nin - named;
    const mc_tensor *first = c->in[0];
    const int lead = (int)(first->ndim - c->params->i[0]);
    if (lead < 0 || (shapes != 0 && shapes != 1 && shapes != c->nout) || c->nout != u->nout)
        return mci_error(MC_EINTERNAL, "%s: %d operands and %d results", c->name, c->nin, c->nout);
    for (int k = 0; k < c->nin; k++) {
        const mc_tensor *t = c->in[k];
        int fits = t->ndim >= lead && (k >= u->nin || t->dtype == u->in[k]);
        for (int i = 0; fits && i < lead; i++) fits = t->shape[i] == first->shape[i];
        if (!fits || (k >= u->nin && k < named && t->ndim != lead))
            return mci_error(MC_ESHAPE, "%s: operand %d is %s beside %s", c->name, k + 1,
                             mci_tensor_text(s1, sizeof s1, t),
                             mci_tensor_text(s2, sizeof s2, first));
    }
    int rc = MC_OK;
    for (int k = 0; k < c->nout && !rc; k++) {
        const mc_tensor *like = shapes ? c->in[named + (shapes > 1 ? k : 0)] : first;
        rc = mci_added_shape(c, k, u->out[k], like->ndim, like->shape);
    }
    return rc;
}

typedef struct range {
    const range_row *u;
    int64_t n, pieces; /* indices of a copy, its pieces */
    int lead;
    const mc_tensor *const *in;
    mc_tensor *const *out;
    const double *values;
} range;

static void run_pieces(void *arg, int64_t begin, int64_t end, int worker)
{
    const range *j = arg;
    const range_row *u = j->u;
    (void)worker;
    for (int64_t at = begin; at < end; at++) {
        const int64_t copy = at / j->pieces, lo = at % j->pieces * u->grain;
        const int64_t hi = lo + u->grain < j->n ? lo + u->grain : j->n;
        const void *in[MOST_RANGE];
        void *out[MOST_RANGE];
        const int64_t *shape[MOST_RANGE];
        for (int k = 0; k < u->nin; k++) {
            const mc_tensor *t = j->in[k];
            shape[k] = t->shape + j->lead;
            in[k] = (const char *)t->data +
                    copy * mci_numel(t->ndim - j->lead, shape[k]) * MCI_SIZE(t->dtype);
        }
        for (int k = 0; k < u->nout; k++) {
            const mc_tensor *t = j->out[k];
            out[k] = (char *)t->data + copy * mci_numel(t->ndim - j->lead, t->shape + j->lead) *
                                           MCI_SIZE(t->dtype);
        }
        u->fn(lo, hi, out, in, shape, j->values + copy * u->nvalues);
    }
}

static int run_range(const mc_call *c)
{
    const range_row *u = range_of(c);
    const mc_tensor *first = c->in[0], *use[MOST_RANGE];
    mc_tensor tmp[MOST_RANGE];
    const int lead = (int)(first->ndim - c->params->i[0]);
    const int64_t copies = mci_numel(lead, first->shape), given = c->params->i[1];
    range j = { .u = u, .lead = lead, .in = use, .out = c->out };
    int made = 0, rc = MC_OK;
    int64_t bytes;
    if (copies == 0) return MC_OK;
    j.n = given >= 0 ? given : mci_numel(c->out[0]->ndim - lead, c->out[0]->shape + lead);
    if (j.n == 0) return MC_OK;
    j.pieces = (j.n + u->grain - 1) / u->grain;
    if (mci_size_mul(copies * (u->nvalues + 1), 8, &bytes)) return mc_errstatus();
    double *values = mci_alloc((size_t)bytes);
    if (!values) return mc_errstatus();
    for (int64_t at = 0; at < copies; at++)
        for (int k = 0; k < u->nvalues; k++)
            mci_gather(c->in[u->nin + k], at, 1, MC_F64, values + at * u->nvalues + k);
    j.values = values;
    for (int k = 0; k < u->nin && !rc; k++) {
        use[k] = c->in[k];
        if (mci_contiguous(c->in[k])) continue;
        rc = mci_materialize(&tmp[made], c->in[k], c->in[k]->dtype);
        use[k] = &tmp[made];
        made += rc == MC_OK;
    }
    if (!rc) rc = mci_parallel(copies * j.pieces, run_pieces, &j);
    for (int k = 0; k < made; k++) mc_drop(&tmp[k]);
    mci_free(values);
    return rc;
}

int mc_range_row(const char *name, mc_range_kernel fn, int64_t grain, int nin, const int8_t *in,
                 int nvalues, int nout, const int8_t *out)
{
    int8_t compute[MC_NDTYPE];
    if (nin < 1 || nin > MOST_RANGE || nout < 1 || nout > MOST_RANGE || nvalues > MOST_VALUES ||
        grain < 1) {
        mci_error(MC_EINVAL,
                  "%s: at most %d inputs, %d outputs and %d values, and a grain of at least 1",
                  name, MOST_RANGE, MOST_RANGE, MOST_VALUES);
        return -1;
    }
    range_row *u = mci_calloc(1, sizeof *u + strlen(name) + 1);
    if (!u) return -1;
    strcpy(u->name, name);
    u->row = (mc_plugin_row){ u->name, infer_range, run_range };
    u->fn = fn;
    u->grain = grain;
    u->nin = nin;
    u->nvalues = nvalues;
    u->nout = nout;
    memcpy(u->in, in, (size_t)nin);
    memcpy(u->out, out, (size_t)nout);
    for (int i = 0; i < MC_NDTYPE; i++) compute[i] = (int8_t)i;
    int id = mci_added_new(&u->row, 255, nout, MCI_PROMOTE_NUMERIC, compute);
    if (id < 0) mci_free(u);
    return id;
}
