/* mc_native_rows.c - runs a generated function that takes whole rows through all steps of a group,
 * one row after the other.
 *
 * What passes between the steps of a row stays in the first-level cache: a norm reads its
 * operand once and writes its result once. The function is handed runs of rows: addresses of the
 * first row of every operand, the distance of rows, room for buffers, and the reductions among
 * the steps as calls (mci_row_op), so that their bits are those of the ops. Tasks are cut by
 * shape only. */
#include "replay/mc_native_rows.h"
#include "tensor/mc_blocks.h"
#include "family/mc_family.h"

#include <string.h>

struct mci_native_rows {
    mc_native_fn fn;
    int nleaves, nresults, nops, isa, nd;
    int64_t rows, task;                                  /* rows of all, of a task */
    /* leading axes, collapsed; a run of rows lies along the last */
    int64_t shape[MC_MAX_RANK];
    int64_t strides[MCI_NATIVE_OPERANDS][MC_MAX_RANK];   /* bytes; leaves, then results */
    /* lengths and places of buffers, as the function wants them */
    int64_t tail[MCI_NATIVE_OPERANDS + MCI_TILE_SLOTS];
    int ntail;
    int64_t room;
    mci_row_step ops[MCI_ROW_OPS];
};

typedef struct rows_job {
    const mci_native_rows *r;
    mc_tensor *const *operands;
    mci_row_op *ops; /* of each worker */
    char *memory;    /* of each worker: room */
    int64_t bad;
    int32_t bad_op;
} rows_job;

mci_native_rows *mci_native_rows_new(mc_native_fn fn, int k, const int64_t *lead, int nleaves,
                                     int nresults, mc_tensor *const *operands,
                                     const mci_tile_view *views, int nlengths,
                                     const int64_t *lengths, int nslots, const int64_t *slot_bytes,
                                     int nops, const mci_row_step *ops)
{
    int n = nleaves + nresults;
    if (n > MCI_NATIVE_OPERANDS || nlengths + nslots > MCI_NATIVE_OPERANDS + MCI_TILE_SLOTS ||
        nops > MCI_ROW_OPS) {
        mci_error(MC_EINTERNAL, "native: %d operands, %d lengths, %d buffers, %d ops along rows", n,
                  nlengths, nslots, nops);
        return NULL;
    }
    mci_native_rows *r = mci_calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->fn = fn;
    r->nleaves = nleaves;
    r->nresults = nresults;
    r->nops = nops;
    r->isa = mci_isa();
    r->rows = mci_numel(k, lead);
    memcpy(r->shape, lead, sizeof *lead * (size_t)k);
    for (int i = 0; i < n; i++) {
        const mc_tensor *t = operands[i];
        for (int d = 0; d < k; d++) {
            int at = d + views[i].shift;
            r->strides[i][d] =
                at >= 0 && t->shape[at] > 1 ? t->strides[at] * MCI_SIZE(t->dtype) : 0;
        }
    }
    r->nd = mci_collapse(k, r->shape, n, r->strides);
    if (r->nd == 0) {
        r->nd = 1;
        r->shape[0] = 1;
    }
    int64_t longest = 1;
    for (int i = 0; i < nlengths; i++) {
        r->tail[r->ntail++] = lengths[i];
        longest = lengths[i] > longest ? lengths[i] : longest;
    }
    for (int i = 0; i < nslots; i++) {
        r->tail[r->ntail++] = r->room;
        r->room += (slot_bytes[i] + 63) / 64 * 64;
    }
    r->task = MCI_GRAIN / longest > 1 ? MCI_GRAIN / longest : 1;
    memcpy(r->ops, ops, sizeof *ops * (size_t)nops);
    return r;
}

void mci_native_rows_free(mci_native_rows *r) { mci_free(r); }
int mci_native_rows_fits(const mci_native_rows *r) { return r->isa == mci_isa(); }

/* Rows [row, row + n) of a run, whose operands begin at `at`. */
static int call(rows_job *j, int64_t row, int64_t n, char *const *at, int worker)
{
    const mci_native_rows *r = j->r;
    const int last = r->nd - 1, operands = r->nleaves + r->nresults;
    char *memory = j->memory + worker * r->room;
    const void *in[MCI_NATIVE_OPERANDS + 3];
    void *out[MCI_NATIVE_OPERANDS];
    int64_t steps[2 * MCI_NATIVE_OPERANDS + MCI_TILE_SLOTS + 1];
    for (int i = 0; i < r->nleaves; i++)
        in[i] = at[i];
    for (int i = 0; i < operands; i++)
        steps[i] = r->strides[i][last];
    for (int i = 0; i < r->nresults; i++)
        out[i] = at[r->nleaves + i];
    steps[operands] = row;
    memcpy(steps + operands + 1, r->tail, sizeof *r->tail * (size_t)r->ntail);
    in[r->nleaves] = steps;
    in[r->nleaves + 1] = memory;
    in[r->nleaves + 2] = j->ops + (int64_t)worker * r->nops;
    int32_t op = -1;
    int64_t bad = r->fn(n, out, in, &op);
    if (MC_UNLIKELY(bad)) {
        __atomic_store_n(&j->bad_op, op, __ATOMIC_RELAXED);
        __atomic_store_n(&j->bad, bad, __ATOMIC_RELAXED);
        return 1;
    }
    return 0;
}

static void rows_task(void *arg, int64_t begin, int64_t end, int worker)
{
    rows_job *j = arg;
    const mci_native_rows *r = j->r;
    const int last = r->nd - 1, operands = r->nleaves + r->nresults;
    int64_t lo = begin * r->task, hi = end * r->task < r->rows ? end * r->task : r->rows;
    for (int64_t row = lo, n; row < hi; row += n) {
        int64_t place = row % r->shape[last], rest = row / r->shape[last];
        char *at[MCI_NATIVE_OPERANDS];
        n = r->shape[last] - place < hi - row ? r->shape[last] - place : hi - row;
        for (int i = 0; i < operands; i++)
            at[i] = (char *)j->operands[i]->data + place * r->strides[i][last];
        for (int d = last - 1; d >= 0; d--) {
            for (int i = 0; i < operands; i++)
                at[i] += rest % r->shape[d] * r->strides[i][d];
            rest /= r->shape[d];
        }
        if (call(j, row, n, at, worker) || mc_cancel_pending())
            return;
    }
}

/* The ops of a worker; an op that cannot be had this way was not to be asked for. */
static int open_ops(const mci_native_rows *r, mci_row_op *ops)
{
    for (int i = 0; i < r->nops; i++) {
        const mci_row_step *s = &r->ops[i];
        const mci_op *op = &mci_ops[s->op];
        int softmax = op->family == MCI_FAMILY_SOFTMAX;
        mc_tensor in = { .dtype = s->in_dtype,
                         .ndim = 2,
                         .numel = s->n,
                         .shape = { 1, s->n },
                         .strides = { s->n, 1 } },
                  out = in;
        out.dtype = s->out_dtype;
        if (!softmax) {
            out.numel = 1;
            out.shape[1] = out.strides[0] = 1;
        }
        mc_params p = s->params;
        p.naxes = 1;
        p.axes[0] = -1;
        p.keepdim = 1;
        const mci_family *f = &mci_families[op->family];
        if (!f->rows || !f->rows(&ops[i], op, &out, &in, &p))
            return mci_error(MC_EINTERNAL, "native: %s cannot be taken along a row", op->name);
    }
    return MC_OK;
}

int mci_native_rows_run(const mci_native_rows *r, mc_tensor *const *operands)
{
    rows_job j = {.r = r, .operands = operands, .bad_op = -1};
    if (r->rows == 0)
        return MC_OK;
    int64_t tasks = (r->rows + r->task - 1) / r->task;
    int workers = mci_workers(tasks);
    j.memory = mci_alloc((size_t)(r->room * workers + 1));
    j.ops = mci_calloc((size_t)(workers * r->nops + 1), sizeof *j.ops);
    int rc = j.memory && j.ops ? MC_OK : mc_errstatus();
    for (int w = 0; w < workers && !rc; w++)
        rc = open_ops(r, j.ops + (int64_t)w * r->nops);
    if (!rc)
        rc = mci_parallel(tasks, rows_task, &j);
    for (int i = 0; j.ops && i < workers * r->nops; i++)
        mci_free(j.ops[i].state);
    mci_free(j.ops);
    mci_free(j.memory);
    return rc ? rc : mci_native_status(j.bad, j.bad_op);
}
