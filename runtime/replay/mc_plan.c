/* mc_plan.c - a flat list of steps over buffers that are laid out beforehand.
 *
 * What a compiled function replays: no Lua, no allocation but the arena, headers made once and
 * pointed at this call's memory, steps bound once (mc_step.h). Results of steps are written as with
 * out=. Holds plans. Not to be run by two threads at once. */
#include "replay/mc_plan_device.h"
#include "replay/mc_step.h"
#include "device/mc_events.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

typedef struct header {
    mc_tensor t;
    int where;
    int whole; /* a number of the caller that groups read as these integers, 0: none */
    int64_t index, offset;
} header;

typedef struct span {
    uintptr_t lo, hi; /* bytes */
    int written;
} span;

struct mc_plan {
    header *headers;
    mci_step *steps;
    mci_bound *forms; /* of the steps, on the CPU; made at the first run */
    int32_t *refs;
    int nheaders, nsteps, nrefs, room_headers, room_steps, room_refs;
    int64_t arena;
    int64_t *lent; /* by result: where it lies in the arena, which is its storage; -1: elsewhere */
    mc_tensor **pointers; /* refs resolved */
    mc_tensor *form;      /* arguments, then results */
    int nin, nout;
    /* arguments that it writes to (numbers, then whether by argument): they share memory with
     * nothing else it reads */
    int32_t *written;
    int nwritten;
    char *writes;
    span *spans;
    int whole; /* some header has numbers that have to fit */
    int device;
    mci_device_plan *bound; /* the same on another device */
};

static int grow(void **list, int n, int more, int *room, size_t size)
{
    if (n + more <= *room)
        return MC_OK;
    int want = 2 * (n + more) + 16;
    void *p = mci_alloc(size * (size_t)want);
    if (!p)
        return mc_errstatus();
    if (n)
        memcpy(p, *list, size * (size_t)n);
    mci_free(*list);
    *list = p;
    *room = want;
    return MC_OK;
}

mc_plan *mc_plan_new(void) { return mci_calloc(1, sizeof(mc_plan)); }

/* Forms and pointers look at steps and headers, which move while a plan grows. */
static void drop_forms(mc_plan *p)
{
    for (int i = 0; p->forms && i < p->nsteps; i++) mci_bound_free(&p->forms[i]);
    mci_free(p->forms);
    mci_free(p->pointers);
    p->forms = NULL;
    p->pointers = NULL;
}

void mc_plan_free(mc_plan *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->nheaders; i++)
        if (p->headers[i].where == MC_PLAN_CONST)
            mc_drop(&p->headers[i].t);
    drop_forms(p);
    for (int i = 0; i < p->nsteps; i++) mci_step_free(&p->steps[i]);
    mci_free(p->headers);
    mci_free(p->steps);
    mci_free(p->refs);
    mci_free(p->form);
    mci_free(p->lent);
    mci_free(p->written);
    mci_free(p->writes);
    mci_free(p->spans);
    mci_device_plan_free(p->bound);
    mci_free(p);
}

int mc_plan_header(mc_plan *p, const mc_tensor *like, int where, int64_t index, int64_t offset)
{
    if (where == MC_PLAN_CONST && !like->storage) {
        mci_error(MC_EINTERNAL, "plan: a constant needs a buffer; promote it");
        return -1;
    }
    if (grow((void **)&p->headers, p->nheaders, 1, &p->room_headers, sizeof *p->headers))
        return -1;
    drop_forms(p);
    header *h = &p->headers[p->nheaders];
    memset(h, 0, sizeof *h);
    memcpy(&h->t, like, sizeof h->t);
    h->t.flags = like->flags & MCI_WEAK;
    h->t.capacity = 0;
    h->t.device = where == MC_PLAN_CONST ? like->storage->device : 0;
    h->where = where;
    h->index = index;
    h->offset = offset;
    if (where == MC_PLAN_CONST) {
        mci_storage_ref(h->t.storage);
        h->t.data = (char *)like->data + offset * MCI_SIZE(like->dtype);
    } else
        h->t.storage = NULL;
    return p->nheaders++;
}

static mci_step *add(mc_plan *p, int kind, int nout, const int32_t *out, int nin, const int32_t *in)
{
    drop_forms(p);
    if (grow((void **)&p->steps, p->nsteps, 1, &p->room_steps, sizeof *p->steps) ||
        grow((void **)&p->refs, p->nrefs, nin + nout, &p->room_refs, sizeof *p->refs))
        return NULL;
    for (int i = 0; i < nin + nout; i++) {
        int h = i < nout ? out[i] : in[i - nout];
        if (h < 0 || h >= p->nheaders) {
            mci_error(MC_EINVAL, "plan: header %d is unknown", h);
            return NULL;
        }
        p->refs[p->nrefs + i] = h;
    }
    mci_step *s = &p->steps[p->nsteps++];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->nin = nin;
    s->nout = nout;
    s->first = p->nrefs;
    p->nrefs += nin + nout;
    return s;
}

/* The ops of a group, for the profile. */
static void entitle(mci_step *s, int ninstr, const mc_vm_instr *instr)
{
    size_t n = strlen(s->title);
    for (int i = 0; i < ninstr && n < sizeof s->title - 1; i++) {
        const mci_op *op = instr[i].op >= 0 ? mci_op_at(instr[i].op) : NULL;
        if (op)
            n += (size_t)snprintf(s->title + n, sizeof s->title - n, "%s%s", n ? " " : "",
                                  op->name);
    }
    if (n >= sizeof s->title) memcpy(s->title + sizeof s->title - 4, "...", 4);
}

int mc_plan_op(mc_plan *p, int op, int nout, const int32_t *out, int nin, const int32_t *in,
               const mc_params *params)
{
    mci_step *s = add(p, MCI_STEP_OP, nout, out, nin, in);
    if (!s)
        return mc_errstatus();
    s->op = mci_op_at(op);
    s->params = *params;
    return s->op ? MC_OK : mci_error(MC_EINVAL, "op %d is unknown", op);
}

int mc_plan_copy(mc_plan *p, int dst, int src)
{
    mci_step *s = add(p, MCI_STEP_OP, 1, &(int32_t){ dst }, 1, &(int32_t){ src });
    if (!s) return mc_errstatus();
    s->op = &mci_copy_op;
    s->params = (mc_params){ .naxes = -1, .dtype = -1 };
    return MC_OK;
}

int mc_plan_put(mc_plan *p, int dst, int axis, int index, int values, int accumulate)
{
    mci_step *s = add(p, MCI_STEP_OP, 1, &(int32_t){ dst }, 2, (int32_t[]){ index, values });
    if (!s) return mc_errstatus();
    s->op = &mci_put_op;
    s->params =
        (mc_params){ .naxes = 1, .axes = { axis }, .dtype = -1, .i = { accumulate } };
    return MC_OK;
}

/* Numbers among the leaves of a group that are read as integers: they have to fit at every call. */
static void note_whole(mc_plan *p, int nleaves, const int32_t *leaves, const int32_t *want)
{
    for (int i = 0; i < nleaves; i++) {
        header *h = &p->headers[leaves[i]];
        if (h->where == MC_PLAN_INPUT && (h->t.flags & MCI_WEAK) && h->t.dtype == MC_F64 &&
            want[i] > MC_BOOL && want[i] <= MC_I64 && (!h->whole || want[i] < h->whole))
            p->whole = h->whole = want[i];
    }
}

int mc_plan_fused(mc_plan *p, int nleaves, const int32_t *leaves, const int32_t *want, int nout,
                  const int32_t *out, const int32_t *result, int ninstr, const mc_vm_instr *instr)
{
    mci_vm *vm = mci_vm_new(nleaves, want, nout, result, ninstr, instr);
    mci_step *s = vm ? add(p, MCI_STEP_GROUP, nout, out, nleaves, leaves) : NULL;
    if (!s) {
        mci_vm_free(vm);
        return mc_errstatus();
    }
    s->vm = vm;
    note_whole(p, nleaves, leaves, want);
    entitle(s, ninstr, instr);
    return MC_OK;
}

int mc_plan_program(mc_plan *p, const char *text, int nguards, const int32_t *guards,
                    const int32_t *want)
{
    if (p->nsteps == 0) return mci_error(MC_EINVAL, "plan: there is no group");
    return mci_step_program_set(&p->steps[p->nsteps - 1], text, nguards, guards, want);
}

int mc_plan_reduced(mc_plan *p, int op, const mc_params *params, int out, int like, int nleaves,
                    const int32_t *leaves, const int32_t *want, int32_t result, int ninstr,
                    const mc_vm_instr *instr)
{
    int32_t outs[2] = {out, like};
    mci_vm *vm = mci_vm_new(nleaves, want, 1, &result, ninstr, instr);
    mci_step *s = vm ? add(p, MCI_STEP_REDUCED, 2, outs, nleaves, leaves) : NULL;
    if (!s) {
        mci_vm_free(vm);
        return mc_errstatus();
    }
    s->op = mci_op_at(op);
    s->params = *params;
    s->vm = vm;
    note_whole(p, nleaves, leaves, want);
    if (s->op) snprintf(s->title, sizeof s->title, "%s of", s->op->name);
    entitle(s, ninstr, instr);
    return s->op ? MC_OK : mci_error(MC_EINVAL, "op %d is unknown", op);
}

int mc_plan_product(mc_plan *p, int product, int a, int b, int nleaves, const int32_t *leaves,
                    const int32_t *want, int nout, const int32_t *out, const int32_t *result,
                    int ninstr, const mc_vm_instr *instr)
{
    int32_t refs[2 * MCI_VM_REGISTERS + 3];
    mci_vm *vm = mci_vm_new(nleaves, want, nout, result, ninstr, instr);
    if (!vm)
        return mc_errstatus();
    memcpy(refs, out, sizeof *out * (size_t)nout);
    refs[nout] = product;
    refs[nout + 1] = a;
    refs[nout + 2] = b;
    memcpy(refs + nout + 3, leaves, sizeof *leaves * (size_t)nleaves);
    mci_step *s = add(p, MCI_STEP_PRODUCT, nout, refs, nleaves + 3, refs + nout);
    if (!s) {
        mci_vm_free(vm);
        return mc_errstatus();
    }
    s->vm = vm;
    note_whole(p, nleaves, leaves, want);
    strcpy(s->title, "product,");
    entitle(s, ninstr, instr);
    return MC_OK;
}

int mc_plan_tiles(mc_plan *p, int count, int k, const int64_t *lead, int nslots,
                  const int64_t *row_bytes, int64_t extra)
{
    mci_step *s = add(p, MCI_STEP_TILES, 0, NULL, 0, NULL);
    if (!s || !(s->tiles = mci_tiles_new(k, lead, nslots, row_bytes, extra)))
        return mc_errstatus();
    s->count = count;
    return MC_OK;
}

int mc_plan_views(mc_plan *p, int n, const int32_t *shift, const int32_t *slot)
{
    int at = p->nsteps - 1;
    while (at >= 0 && p->steps[at].kind != MCI_STEP_TILES)
        at--;
    mci_step *s = at >= 0 ? &p->steps[at] : NULL;
    if (!s || s->count != p->nsteps - at - 1 || n != p->nrefs - s->first)
        return mci_error(MC_EINTERNAL, "plan: %d views do not fit the steps of the tiles", n);
    if (!(s->views = mci_alloc(sizeof *s->views * (size_t)(n + 1))))
        return mc_errstatus();
    s->nviews = n;
    for (int i = 0; i < n; i++)
        s->views[i] = (mci_tile_view){shift[i], slot[i], 0};
    for (int i = at + 1; i < p->nsteps; i++)
        for (int k = 0; k < p->steps[i].nout; k++)
            s->views[p->steps[i].first - s->first + k].result = 1;
    for (int i = at + 1; i < p->nsteps; i++) /* axes of a tile: without those it fixes */
        for (int a = 0; a < p->steps[i].params.naxes; a++)
            if (p->steps[i].kind == MCI_STEP_OP && p->steps[i].op->id >= 0 &&
                p->steps[i].params.axes[a] >= 0)
                p->steps[i].params.axes[a] -= mci_tiles_dropped(s->tiles);
    return MC_OK;
}

int mc_plan_native(mc_plan *p, int at, mc_native_fn fn, const int32_t *one)
{
    mc_tensor *operands[MCI_NATIVE_OPERANDS];
    mci_step *s = at >= 0 && at < p->nsteps ? &p->steps[at] : NULL;
    if (!s || !s->vm || s->nin + s->nout > MCI_NATIVE_OPERANDS)
        return mci_error(MC_EINVAL, "plan: step %d has no program", at + 1);
    mci_native_free(s->native);
    s->native = NULL;
    for (int i = 0; i < s->nin + s->nout; i++)
        operands[i] = &p->headers[p->refs[s->first + i]].t;
    /* a reduction's program makes what the second header shows; a product's has three headers
     * between results and leaves */
    mc_tensor **results = s->kind == MCI_STEP_REDUCED ? operands + 1 : operands,
              **leaves = operands + s->nout + (s->kind == MCI_STEP_PRODUCT ? 3 : 0);
    int nleaves = s->nin - (s->kind == MCI_STEP_PRODUCT ? 3 : 0),
        nresults = s->kind == MCI_STEP_REDUCED ? 1 : s->nout;
    if (fn && !(s->native = mci_native_new(fn, nleaves, leaves, one, nresults, results)))
        return mc_errstatus();
    return MC_OK;
}

int mc_plan_rows(mc_plan *p, int at, mc_native_fn fn, int nleaves, const int32_t *leaves,
                 int nresults, const int32_t *results, int nlengths, const int64_t *lengths,
                 int nslots, const int64_t *slot_bytes, int nops, const int32_t *members,
                 const int32_t *member_lengths)
{
    mc_tensor *operands[MCI_NATIVE_OPERANDS];
    mci_tile_view views[MCI_NATIVE_OPERANDS];
    mci_row_step ops[MCI_ROW_OPS];
    int64_t lead[MC_MAX_RANK];
    mci_step *s =
        at >= 0 && at < p->nsteps && p->steps[at].kind == MCI_STEP_TILES ? &p->steps[at] : NULL;
    if (!s || nleaves + nresults > MCI_NATIVE_OPERANDS || nops > MCI_ROW_OPS)
        return mci_error(MC_EINVAL, "plan: step %d has no tiles", at + 1);
    mci_native_rows_free(s->rows); /* it reads the operands that are listed anew */
    s->rows = NULL;
    mci_free(s->operands);
    if (!(s->operands = mci_alloc(sizeof *s->operands * MCI_NATIVE_OPERANDS)))
        return mc_errstatus();
    for (int i = 0; i < nleaves + nresults; i++) {
        int ref = i < nleaves ? leaves[i] : results[i - nleaves];
        if (ref < 0 || ref >= s->nviews)
            return mci_error(MC_EINVAL, "plan: operand %d of the tiles is unknown", ref);
        s->operands[i] = ref;
        operands[i] = &p->headers[p->refs[s->first + ref]].t;
        views[i] = s->views[ref];
    }
    for (int i = 0; i < nops; i++) {
        const mci_step *m = members[i] >= 0 && members[i] < s->count ? s + 1 + members[i] : NULL;
        if (!m || m->kind != MCI_STEP_OP || m->op->id < 0 || m->nin != 1 || m->nout != 1 ||
            member_lengths[i] < 0 || member_lengths[i] >= nlengths)
            return mci_error(MC_EINVAL, "plan: step %d of the tiles is no op along rows",
                             members[i]);
        ops[i] = (mci_row_step){ m->op->id, p->headers[p->refs[m->first + 1]].t.dtype,
                                 p->headers[p->refs[m->first]].t.dtype, lengths[member_lengths[i]],
                                 m->params };
    }
    s->rows =
        mci_native_rows_new(fn, mci_tiles_lead(s->tiles, lead), lead, nleaves, nresults, operands,
                            views, nlengths, lengths, nslots, slot_bytes, nops, ops);
    s->noperands = nleaves + nresults;
    return s->rows ? MC_OK : mc_errstatus();
}

int mc_plan_loop(mc_plan *p, const mc_loop_spec *spec, mc_plan *const *parts, int nout,
                 const int32_t *out, int nin, const int32_t *in)
{
    mci_loop *loop = mci_loop_new(spec, parts, mc_plan_run, nout, nin);
    mci_step *s = loop ? add(p, MCI_STEP_LOOP, nout, out, nin, in) : NULL;
    if (!s) {
        mci_loop_free(loop);
        return mc_errstatus();
    }
    s->loop = loop;
    return MC_OK;
}

int mc_plan_arena(mc_plan *p, int64_t bytes)
{
    p->arena = bytes;
    return MC_OK;
}

/* ---- running ---- */

/* Binds the steps to the CPU; those of a tile are bound by its workers. */
static int bind_here(mc_plan *p)
{
    int rc = MC_OK;
    p->pointers = mci_alloc(sizeof *p->pointers * (size_t)(p->nrefs + 1));
    p->forms = mci_calloc((size_t)p->nsteps + 1, sizeof *p->forms);
    if (!p->pointers || !p->forms) rc = mc_errstatus();
    for (int i = 0; i < p->nrefs && !rc; i++) p->pointers[i] = &p->headers[p->refs[i]].t;
    for (int i = 0; i < p->nsteps && !rc; i += p->steps[i].count + 1)
        rc = mci_step_bind(0, &p->steps[i], p->pointers + p->steps[i].first, &p->forms[i]);
    if (rc) drop_forms(p);
    return rc;
}

/* The same with a note of each step, for the profile. */
static int run_noted(mc_plan *p)
{
    char what[MCI_TEXT];
    int rc = MC_OK;
    for (int i = 0; i < p->nsteps && !rc; i += p->steps[i].count + 1) {
        const mci_step *s = &p->steps[i];
        mc_tensor **h = p->pointers + s->first;
        int64_t bytes = 0;
        const double began = mc_clock();
        rc = p->forms[i].run(&p->forms[i], h);
        what[0] = 0;
        for (int k = 0; k < s->nin + s->nout; k++) bytes += h[k]->numel * MCI_SIZE(h[k]->dtype);
        if (s->nout > 0) mci_tensor_text(what, sizeof what, h[0]);
        const char *name = s->kind == MCI_STEP_TILES ? "tiles" : "loop";
        name = *s->title ? s->title : s->op ? s->op->name : name;
        mci_event(MC_EVENT_STEP, 0, name, what, began, bytes);
    }
    return rc;
}

static int run_steps(mc_plan *p)
{
    if (MC_UNLIKELY(mci_watching)) return run_noted(p);
    int rc = MC_OK;
    for (int i = 0; i < p->nsteps && !rc; i += p->steps[i].count + 1)
        rc = p->forms[i].run(&p->forms[i], p->pointers + p->steps[i].first);
    return rc;
}

int mc_plan_device(mc_plan *p, int device)
{
    p->device = device;
    return MC_OK;
}

int mc_plan_where(const mc_plan *p, int *nin, int *nout)
{
    *nin = p->form ? p->nin : 0;
    *nout = p->form ? p->nout : 0;
    return p->device;
}

/* in: operands of a call, whose numbers decide dtypes. */
static int bind_there(mc_plan *p, int nin, mc_tensor *const *in)
{
    mci_slot *slots = mci_alloc(sizeof *slots * (size_t)(p->nheaders + 1));
    int rc = slots ? MC_OK : mc_errstatus();
    for (int i = 0; i < p->nheaders && !rc; i++) {
        header *h = &p->headers[i];
        if (h->where == MC_PLAN_INPUT && (h->t.flags & MCI_WEAK) && h->index < nin)
            h->t.data = in[h->index]->data;
        slots[i] = (mci_slot){ h->where, h->index, h->offset * MCI_SIZE(h->t.dtype), &h->t };
    }
    if (!rc) {
        p->bound = mci_device_plan_new(p->device, p->nheaders, slots, p->nsteps, p->steps, p->refs,
                                       p->arena);
        rc = p->bound ? MC_OK : mc_errstatus();
    }
    for (int i = 0; i < p->nheaders; i++)
        if (p->headers[i].where == MC_PLAN_INPUT) p->headers[i].t.data = NULL;
    mci_free(slots);
    return rc;
}

/* Whether the numbers of a call fit the integers that groups read them as. */
static int numbers_fit(const mc_plan *p, mc_tensor *const *in, int nin)
{
    int rc = MC_OK;
    for (int i = 0; i < p->nheaders && !rc; i++) {
        const header *h = &p->headers[i];
        if (h->whole && h->index < nin && in[h->index] && in[h->index]->data)
            rc = mci_number_fits("compile", h->whole, *(const double *)in[h->index]->data,
                                 mc_dtype_name(h->whole));
    }
    return rc;
}

/* On the CPU, in an arena. */
static int run_in(mc_plan *p, char *arena, mc_tensor *const *in, int nin, mc_tensor *const *out,
                  int nout)
{
    if (!p->forms && bind_here(p)) return mc_errstatus();
    if (MC_UNLIKELY(p->whole != 0) && numbers_fit(p, in, nin)) return mc_errstatus();
    int rc = MC_OK;
    for (int i = 0; i < p->nheaders && !rc; i++) {
        header *h = &p->headers[i];
        int64_t first = h->offset * MCI_SIZE(h->t.dtype);
        if (h->where == MC_PLAN_ARENA)
            h->t.data = arena + h->index + first;
        else if (h->where != MC_PLAN_CONST && h->where != MC_PLAN_TILE) {
            int n = h->where == MC_PLAN_INPUT ? nin : nout;
            mc_tensor *t = h->index < n ? (h->where == MC_PLAN_INPUT ? in : out)[h->index] : NULL;
            if (!t)
                rc =
                    mci_error(MC_EINVAL, "plan: argument %lld is missing", (long long)h->index + 1);
            else if (!(rc = mci_check_live("plan", t)))
                h->t.data = (char *)t->data + first;
        }
    }
    return rc ? rc : run_steps(p);
}

int mc_plan_run(mc_plan *p, mc_tensor *const *in, int nin, mc_tensor *const *out, int nout)
{
    char *arena = NULL;
    if (MC_UNLIKELY(p->device != 0)) {
        int rc = p->whole ? numbers_fit(p, in, nin) : MC_OK;
        rc = rc || p->bound ? rc : bind_there(p, nin, in);
        return rc ? rc : mci_device_plan_run(p->bound, in, nin, out, nout);
    }
    if (p->arena && !(arena = mci_alloc((size_t)p->arena))) return mc_errstatus();
    if (arena) mci_memory_held(arena);
    int rc = run_in(p, arena, in, nin, out, nout);
    mci_free(arena);
    return rc;
}

int mc_plan_form(mc_plan *p, int nin, mc_tensor *const *in, int nout, mc_tensor *const *out)
{
    mci_free(p->form);
    p->form = mci_calloc((size_t)(nin + nout + 1), sizeof *p->form);
    if (!p->form)
        return mc_errstatus();
    for (int i = 0; i < nin + nout; i++)
        memcpy(&p->form[i], i < nin ? in[i] : out[i - nin], sizeof *p->form);
    p->nin = nin;
    p->nout = nout;
    mci_free(p->writes);
    mci_free(p->spans);
    p->writes = mci_calloc((size_t)nin + 1, 1);
    p->spans = p->nwritten ? mci_alloc(sizeof *p->spans * (size_t)(nin + p->nheaders)) : NULL;
    if (!p->writes || (p->nwritten && !p->spans))
        return mc_errstatus();
    for (int i = 0; i < p->nwritten; i++) p->writes[p->written[i]] = 1;
    if (p->device && !p->bound && bind_there(p, nin, in))
        return mc_errstatus();
    for (int i = 0; i < nout; i++) /* results are where the steps leave them */
        p->form[nin + i].device = p->device && !mci_device_plan_number(p->bound, i) ? p->device : 0;
    return MC_OK;
}

int mc_plan_lend(mc_plan *p, int n, const int64_t *at)
{
    mci_free(p->lent);
    if (!(p->lent = mci_alloc(sizeof *at * (size_t)(n + 1)))) return mc_errstatus();
    memcpy(p->lent, at, sizeof *at * (size_t)n);
    return MC_OK;
}

int mc_plan_writes(mc_plan *p, int n, const int32_t *which)
{
    mci_free(p->written);
    p->nwritten = 0;
    if (!(p->written = mci_alloc(sizeof *which * (size_t)(n + 1))))
        return mc_errstatus();
    memcpy(p->written, which, sizeof *which * (size_t)n);
    p->nwritten = n;
    return MC_OK;
}

static int by_start(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Whether an argument that is written shares memory with another one or with a constant: that is
 * another form. Ranges in the order of their starts: a step of training writes to thousands. */
static int entangled(const mc_plan *p, mc_tensor *const *in)
{
    int n = p->nin + p->nheaders, count = 0, found = 0;
    uintptr_t read = 0, written = 0; /* ends of the ranges so far */
    span *list = p->spans;
    for (int i = 0; i < n; i++) {
        const mc_tensor *t = i < p->nin ? in[i] : &p->headers[i - p->nin].t;
        if (t->numel == 0 || (i >= p->nin && p->headers[i - p->nin].where != MC_PLAN_CONST))
            continue;
        mci_extent(t, &list[count].lo, &list[count].hi);
        list[count++].written = 0;
        if (i < p->nin) list[count - 1].written = p->writes[i];
    }
    qsort(list, (size_t)count, sizeof *list, by_start);
    for (int i = 0; i < count && !found; i++) {
        found = list[i].lo < written || (list[i].written && list[i].lo < read);
        uintptr_t *end = list[i].written ? &written : &read;
        if (list[i].hi > *end) *end = list[i].hi;
    }
    return found;
}

/* Whether the arguments lie as those the plan was made for. */
static int matches(const mc_plan *p, mc_tensor *const *in)
{
    int other = 0;
    for (int i = 0; i < p->nin && !other; i++) {
        const mc_tensor *a = in[i], *b = &p->form[i];
        other = a->dtype != b->dtype || a->ndim != b->ndim || a->device != b->device;
        for (int d = 0; !other && d < a->ndim; d++)
            other = a->shape[d] != b->shape[d] || a->strides[d] != b->strides[d];
    }
    return !other && !(p->nwritten && entangled(p, in));
}

int mc_plan_call(mc_plan *p, mc_tensor *const *in, mc_tensor *const *out)
{
    if (!matches(p, in))
        return -1;
    mc_tensor arena = { 0 };
    int made = 0, rc = p->lent ? mc_create(&arena, MC_U8, 1, &p->arena) : MC_OK;
    /* who gets results that lie in it releases them (compile/call.lua) */
    if (!rc && p->lent && p->arena) mci_memory_held(arena.storage->data);
    for (; !rc && made < p->nout; made++) {
        const mc_tensor *like = &p->form[p->nin + made];
        rc = p->lent && p->lent[made] >= 0
                 ? mci_create_within(&arena, p->lent[made], out[made], like->dtype, like->ndim,
                                     like->shape)
                 : mci_create_on(like->device, out[made], like->dtype, like->ndim, like->shape);
    }
    if (!rc)
        rc = p->lent ? run_in(p, arena.data, in, p->nin, out, p->nout)
                     : mc_plan_run(p, in, p->nin, out, p->nout);
    for (int i = 0; rc && i < made; i++)
        mc_drop(out[i]);
    if (p->lent) mc_drop(&arena);
    return rc;
}

/* Whether result t can be written while the plan still reads: it is contiguous and nothing the plan
 * reads. */
static int free_of(const mc_plan *p, const mc_tensor *t, mc_tensor *const *in)
{
    int ok = mci_contiguous(t);
    for (int i = 0; ok && i < p->nin; i++)
        ok = mci_overlap(t, in[i]) < 0;
    for (int i = 0; ok && i < p->nheaders; i++)
        ok = p->headers[i].where != MC_PLAN_CONST || mci_overlap(t, &p->headers[i].t) < 0;
    for (int i = 0; ok && i < p->nsteps; i++)
        ok = p->steps[i].kind != MCI_STEP_LOOP; /* its parts may hold tensors of their own */
    return ok;
}

static int check_results(const mc_plan *p, mc_tensor *const *out)
{
    char s1[MCI_TEXT], s2[MCI_TEXT];
    for (int i = 0; i < p->nout; i++) {
        const mc_tensor *t = out[i], *like = &p->form[p->nin + i];
        int rc = mci_check_released("compile", t),
            other = t->dtype != like->dtype || t->ndim != like->ndim;
        for (int d = 0; !other && d < t->ndim; d++)
            other = t->shape[d] != like->shape[d];
        if (rc)
            return rc;
        if (other)
            return mci_error(
                MC_ESHAPE,
                "compile: result %d is %s and out is %s; give a tensor of that dtype and shape",
                i + 1, mci_tensor_text(s1, sizeof s1, like), mci_tensor_text(s2, sizeof s2, t));
        if (t->device != like->device)
            return mci_error(
                MC_EINVAL, "compile: result %d is on %s and out is %s; give a tensor there", i + 1,
                mci_device_text(like->device), mci_tensor_text(s2, sizeof s2, t));
        if (t->flags & MC_FLAG_READONLY)
            return mci_error(MC_EINVAL,
                             "compile: out %d is read-only; give it a tensor of its own, x:copy()",
                             i + 1);
        for (int k = 0; k < i; k++)
            if (mci_overlap(t, out[k]) >= 0)
                return mci_error(
                    MC_EINVAL,
                    "compile: out %d and %d share memory; give each result its own tensor", k + 1,
                    i + 1);
    }
    return MC_OK;
}

int mc_plan_into(mc_plan *p, mc_tensor *const *in, mc_tensor *const *out)
{
    if (p->lent || !matches(p, in)) return -1;
    int rc = check_results(p, out);
    mc_tensor *tmp = mci_calloc((size_t)p->nout + 1, sizeof *tmp),
              **to = mci_calloc((size_t)p->nout + 1, sizeof *to);
    if (!rc && (!tmp || !to))
        rc = mc_errstatus();
    for (int i = 0; i < p->nout && !rc; i++) {
        const mc_tensor *like = &p->form[p->nin + i];
        to[i] = free_of(p, out[i], in) ? out[i] : &tmp[i];
        if (to[i] == &tmp[i])
            rc = mci_create_on(like->device, &tmp[i], like->dtype, like->ndim, like->shape);
    }
    if (!rc)
        rc = mc_plan_run(p, in, p->nin, to, p->nout);
    for (int i = 0; i < p->nout && !rc; i++)
        if (to[i] == &tmp[i])
            rc = mc_copy(out[i], &tmp[i]);
    for (int i = 0; tmp && i < p->nout; i++)
        mc_drop(&tmp[i]);
    mci_free(tmp);
    mci_free(to);
    return rc;
}
