/* mc_kernel.c - drivers of a user's own reductions and range kernels, generated as C and compiled
 * at run time.
 *
 * A reduction is cut into chunks of fixed length and its states are joined in a fixed tree, a
 * range into tasks of a given grain: nothing depends on the number of threads. Operands come
 * contiguous and converted. Holds the cut. */
#include "family/mc_added.h"
#include "family/mc_family.h"

#include <string.h>

#define CHUNK 16384
#define STATE 1024
#define MOST 8 /* inputs, outputs */

typedef struct reduction {
    const mc_reduction *r;
    int64_t m, n, chunks, group; /* rows, their length, chunks of a row, rows of a task when a row is one chunk */
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
        part(j, k / j->chunks, first, first + CHUNK < j->n ? CHUNK : j->n - first, j->states + k * j->r->bytes);
    }
}

/* Whether one of the tensors has no elements for the CPU, with the error. */
static int elsewhere(int n, mc_tensor *const *t)
{
    int rc = MC_OK;
    for (int i = 0; i < n && !rc; i++)
        rc = mci_check_live("kernel", t[i]);
    return rc;
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
    char name[];
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

int mc_kernel_row(const char *name, const mc_reduction *r, int nin, const int8_t *in, int nout,
                  const int8_t *out)
{
    int8_t compute[MC_NDTYPE];
    if (nin < 1 || nin > MOST || nout < 1 || nout > MOST || r->bytes > STATE) {
        mci_error(MC_EINVAL, "%s: at most %d inputs, %d outputs and %d bytes of state", name, MOST,
                  MOST, STATE);
        return -1;
    }
    reduction_row *u = mci_calloc(1, sizeof *u + strlen(name) + 1);
    if (!u) return -1;
    strcpy(u->name, name);
    u->row = (mc_plugin_row){ u->name, infer_row, run_row };
    u->r = *r;
    memcpy(u->in, in, (size_t)nin);
    memcpy(u->out, out, (size_t)nout);
    for (int i = 0; i < MC_NDTYPE; i++) compute[i] = (int8_t)i;
    int id = mci_added_new(&u->row, nin, nout, MCI_PROMOTE_NUMERIC, compute);
    if (id < 0) mci_free(u);
    return id;
}

typedef struct range {
    mc_range_kernel fn;
    int64_t n, grain;
    int nin, nout;
    void *out[16];
    const void *in[16];
    const int64_t *shape[16];
    const double *values;
} range;

static void pieces(void *arg, int64_t begin, int64_t end, int worker)
{
    const range *j = arg;
    (void)worker;
    int64_t last = end * j->grain < j->n ? end * j->grain : j->n;
    j->fn(begin * j->grain, last, j->out, j->in, j->shape, j->values);
}

int mc_kernel_range(mc_range_kernel fn, int64_t n, int64_t grain, int nin, mc_tensor *const *in, int nout, mc_tensor *const *out, const double *values)
{
    range j = {.fn = fn, .n = n, .grain = grain, .nin = nin, .nout = nout, .values = values};
    if (nin > 16 || nout > 16 || grain < 1)
        return mci_error(MC_EINVAL, "kernel: at most 16 inputs and 16 outputs, and a grain of at least 1");
    if (elsewhere(nin, in) || elsewhere(nout, out))
        return mc_errstatus();
    for (int i = 0; i < nin; i++) {
        j.in[i] = in[i]->data;
        j.shape[i] = in[i]->shape;
    }
    for (int i = 0; i < nout; i++)
        j.out[i] = out[i]->data;
    return n > 0 ? mci_parallel((n + grain - 1) / grain, pieces, &j) : MC_OK;
}
