/* mc_step.c - how a step of a plan runs: bound once to the device it runs on.
 *
 * A group of elementwise ops runs as compiled code where there is some for the instruction level in
 * use, else on the vector machine; both also over ranges that a reduction or a product chooses.
 * Several steps run tile by tile as one compiled function over rows, else one after the other on
 * each tile, bound once by each worker. */
#include "replay/mc_step.h"

#include <string.h>

void mci_step_free(mci_step *s)
{
    mci_vm_free(s->vm);
    mci_native_free(s->native);
    mci_step_program_free(s->program);
    mci_tiles_free(s->tiles);
    mci_free(s->views);
    mci_native_rows_free(s->rows);
    mci_free(s->operands);
    mci_loop_free(s->loop);
}

/* ---- groups ---- */

/* A group over ranges that somebody else chooses. */
typedef struct ranges {
    mci_native_job *native;
    mci_vm_job *vm;
    mc_tensor *const *out; /* results; NULL where each range says where it goes */
    int nout;
} ranges;

static int fits(const mci_step *s) { return s->native && mci_native_fits(s->native); }

/* part: the headers show a part of what the plan was made for. */
static int ranges_open(ranges *r, const mci_step *s, mc_tensor *const *leaves,
                       const mc_tensor *like, int part)
{
    if (!fits(s))
        r->vm = mci_vm_open(s->vm, leaves, like);
    else if (part)
        r->native = mci_native_open_part(s->native, leaves, s->nout, r->out);
    else
        r->native = mci_native_open(s->native, leaves);
    return r->native || r->vm ? MC_OK : mc_errstatus();
}

static void ranges_run(const ranges *r, int64_t lo, int64_t hi, char *const *out, int worker)
{
    if (r->native)
        mci_native_range(r->native, lo, hi, out, worker);
    else
        mci_vm_range(r->vm, lo, hi, out, worker);
}

static int ranges_close(const ranges *r)
{
    return r->native ? mci_native_close(r->native) : mci_vm_close(r->vm);
}

static int run_group(const mci_bound *b, mc_tensor *const *h)
{
    const mci_step *s = b->state;
    return fits(s) ? mci_native_run(s->native, h + s->nout, h) : mci_vm_run(s->vm, h + s->nout, h);
}

static void load_piece(void *arg, int64_t first, int64_t n, void *buf, int worker)
{
    char *out[1] = { buf };
    ranges_run(arg, first, first + n, out, worker);
}

/* h: result, header of what is reduced, leaves */
static int run_reduced(const mci_bound *b, mc_tensor *const *h)
{
    const mci_step *s = b->state;
    ranges r = { 0 };
    if (ranges_open(&r, s, h + 2, h[1], 0)) return mc_errstatus();
    mci_source source = { load_piece, &r };
    h[0]->flags |= MC_FLAG_OUT;
    int rc = mci_reduce_from(s->op, h[0], h[1], &source, &s->params), bad = ranges_close(&r);
    return bad ? bad : rc;
}

static void finish_range(void *arg, int64_t lo, int64_t hi, int worker)
{
    const ranges *r = arg;
    char *out[MCI_VM_REGISTERS];
    for (int i = 0; i < r->nout; i++)
        out[i] = (char *)r->out[i]->data + lo * MCI_SIZE(r->out[i]->dtype);
    ranges_run(r, lo, hi, out, worker);
}

/* h: results, the product, its operands, leaves (the product among them) */
static int product(const mci_step *s, mc_tensor *const *h, int part)
{
    mc_tensor *const *made = h + s->nout, *const *leaves = made + 3;
    ranges r = { .out = h, .nout = s->nout };
    if (ranges_open(&r, s, leaves, made[0], part)) return mc_errstatus();
    mci_after after = { finish_range, &r, 0 };
    made[0]->flags |= MC_FLAG_OUT;
    int rc = mci_matmul_then(made[0], made[1], made[2], &after), bad = ranges_close(&r);
    if (rc || bad) return rc ? rc : bad;
    /* where the product was made elsewhere and copied */
    return after.done ? MC_OK : mci_vm_run(s->vm, leaves, h);
}

static int run_product(const mci_bound *b, mc_tensor *const *h) { return product(b->state, h, 0); }
static int run_part_of_product(const mci_bound *b, mc_tensor *const *h)
{
    return product(b->state, h, 1);
}

/* ---- ops ---- */

/* An op of which more is seen when it runs: the kind of a number, a size that values decide. */
static int run_op(const mci_bound *b, mc_tensor *const *h)
{
    const mci_step *s = b->state;
    const mc_tensor *const *in = (const mc_tensor *const *)(h + s->nout);
    for (int k = 0; k < s->nout; k++) h[k]->flags |= MC_FLAG_OUT;
    return mc_op(s->op->id, s->nout, (mc_tensor **)(uintptr_t)h, s->nin, in, &s->params);
}

static int run_copy(const mci_bound *b, mc_tensor *const *h)
{
    (void)b;
    return mc_copy(h[0], h[1]);
}

static int run_put(const mci_bound *b, mc_tensor *const *h)
{
    const mc_params *p = &((const mci_step *)b->state)->params;
    return mc_put(h[0], (int)p->axes[0], h[1], h[2], p->i[0] != 0);
}

static int run_loop(const mci_bound *b, mc_tensor *const *h)
{
    const mci_step *s = b->state;
    return mci_loop_run(s->loop, h + s->nout, h);
}

/* Whether headers alone say what the op gives, and that is what the plan has room for: else the op
 * itself sees to it at each call, and says what is wrong. */
static int settled(const mci_job *job, mc_tensor *const *out, mci_result *r)
{
    const mci_family *f = &mci_families[job->op->family];
    int same = !job->op->by_value && f->infer && f->exec && job->nout <= MCI_RESULTS;
    for (int i = 0; same && i < job->nin; i++) same = !(job->in[i]->flags & MCI_WEAK);
    same = same && f->infer(job, r) == MC_OK && r->nout == job->nout;
    for (int k = 0; same && k < job->nout; k++) {
        same = r->dtype[k] == out[k]->dtype && r->ndim[k] == out[k]->ndim;
        for (int i = 0; same && i < r->ndim[k]; i++) same = r->shape[k][i] == out[k]->shape[i];
    }
    return same;
}

static int bind_op(int device, const mci_step *s, mc_tensor *const *h, mci_bound *b)
{
    mci_result r = { .nout = s->nout, .compute = -1 };
    const mc_tensor *const *in = (const mc_tensor *const *)(h + s->nout);
    const mci_job job = { s->op, &s->params, s->nin, in, s->nout };
    int rc = MC_OK;
    if (device == 0) {
        if (s->op->id < 0 || !settled(&job, h, &r)) {
            mci_bound_fn run = s->op == &mci_copy_op ? run_copy
                               : s->op == &mci_put_op ? run_put
                                                      : run_op;
            return mci_bind_function(0, s->nin, s->nout, h, run, s, NULL, b);
        }
    } else if (s->nout > MCI_RESULTS) {
        rc = mci_no_form(s->op, device);
    } else if (s->op->id < 0) {
        mci_result_set(&r, 0, h[0]->dtype, h[0]->ndim, h[0]->shape);
    } else if (mci_families[s->op->family].infer) {
        rc = mci_families[s->op->family].infer(&job, &r);
    }
    return rc ? rc : mci_bind(device, &job, &r, h, b);
}

/* ---- steps of a tile ---- */

/* From tile to tile only addresses change: what dispatch, checks and allocations cost would be most
 * of the time of a few rows. */
typedef struct part {
    ranges group;
    mci_row_op row;
    int64_t numel;
} part;

static int run_part(const mci_bound *b, mc_tensor *const *h)
{
    const part *p = b->state;
    char *to[MCI_VM_REGISTERS];
    for (int i = 0; i < b->nout; i++) to[i] = h[i]->data;
    if (p->numel) ranges_run(&p->group, 0, p->numel, to, 0);
    return MC_OK;
}

static int close_part(void *state)
{
    part *p = state;
    int rc = p->group.native || p->group.vm ? ranges_close(&p->group) : MC_OK;
    mci_free(p->row.state);
    mci_free(p);
    return rc;
}

static int run_rows(const mci_bound *b, mc_tensor *const *h)
{
    const part *p = b->state;
    p->row.run(&p->row, h[0]->data, h[1]->data);
    return MC_OK;
}

/* For one worker: h shows a part of what the plan was made for, and stays where it is. */
static int bind_tile(const mci_step *s, mc_tensor *const *h, mci_bound *b)
{
    if (s->kind == MCI_STEP_PRODUCT)
        return mci_bind_function(0, s->nin, s->nout, h, run_part_of_product, s, NULL, b);
    const int group = s->kind == MCI_STEP_GROUP;
    const mci_family *f = group ? NULL : &mci_families[s->op->family];
    if (!group && (s->kind != MCI_STEP_OP || !f->rows || s->nin != 1 || s->nout != 1))
        return mci_step_bind(0, s, h, b);
    part *p = mci_calloc(1, sizeof *p);
    if (!p) return mc_errstatus();
    if (group) {
        p->numel = h[0]->numel;
        p->group.out = h;
        p->group.nout = s->nout;
        if (p->numel && ranges_open(&p->group, s, h + s->nout, h[0], 1)) {
            close_part(p);
            return mc_errstatus();
        }
    } else if (!f->rows(&p->row, s->op, h[0], h[1], &s->params)) {
        close_part(p);
        return mci_step_bind(0, s, h, b);
    }
    return mci_bind_function(0, s->nin, s->nout, h, group ? run_part : run_rows, p, close_part, b);
}

/* The step of the tiles, the others stand behind it; of each worker: their forms. */
typedef struct tiled {
    const mci_step *s;
    mci_bound *forms;
} tiled;

/* All steps of one tile. */
static int run_tile(void *arg, mc_tensor **h, int worker, int fresh)
{
    const tiled *t = arg;
    const mci_step *s = t->s;
    mci_bound *b = t->forms + (int64_t)worker * s->count;
    int rc = MC_OK;
    for (int i = 1; i <= s->count && !rc; i++, b++) {
        mc_tensor **own = h + (s[i].first - s->first);
        if (fresh && !(rc = mci_bound_free(b))) rc = bind_tile(s + i, own, b);
        if (!rc) rc = b->run(b, own);
    }
    return rc;
}

static int run_tiles(const mci_bound *b, mc_tensor *const *h)
{
    const mci_step *s = b->state;
    if (s->rows && mci_native_rows_fits(s->rows)) {
        mc_tensor *operands[MCI_NATIVE_OPERANDS];
        for (int i = 0; i < s->noperands; i++) operands[i] = h[s->operands[i]];
        return mci_native_rows_run(s->rows, operands);
    }
    const int64_t n = (int64_t)mci_tiles_workers(s->tiles) * s->count;
    tiled t = { s, mci_calloc((size_t)n, sizeof *t.forms) };
    if (!t.forms) return mc_errstatus();
    int rc = mci_tiles_run(s->tiles, s->nviews, h, s->views, run_tile, &t);
    for (int64_t i = 0; i < n; i++) {
        int bad = mci_bound_free(&t.forms[i]);
        rc = rc ? rc : bad;
    }
    mci_free(t.forms);
    return rc;
}

/* ---- bound ---- */

int mci_step_bind(int device, const mci_step *s, mc_tensor *const *h, mci_bound *b)
{
    static const mci_bound_fn forms[] = {
        [MCI_STEP_GROUP] = run_group,
        [MCI_STEP_REDUCED] = run_reduced,
        [MCI_STEP_PRODUCT] = run_product,
        [MCI_STEP_TILES] = run_tiles,
        [MCI_STEP_LOOP] = run_loop,
    };
    if (s->kind == MCI_STEP_OP) return bind_op(device, s, h, b);
    if (!mci_device_hosted(device)) return mci_step_launch(device, s, h, b);
    return mci_bind_function(device, s->nin, s->nout, h, forms[s->kind], s, NULL, b);
}
