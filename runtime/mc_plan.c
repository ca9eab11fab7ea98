/* mc_plan.c - a flat list of steps over buffers that are laid out beforehand.
 *
 * What a compiled function replays: no Lua, no allocation but the arena, headers made once and pointed at this call's memory. Results of
 * steps are written as with out=. Owns plans. Not to be run by two threads at once. May not know where steps come from. */
#include "mc_loop.h"
#include "mc_native.h"
#include "mc_ops.h"
#include "mc_vm.h"

#include <string.h>

typedef struct header {
    mc_tensor t;
    int where;
    int64_t index, offset;
} header;

enum { STEP_OP, STEP_COPY, STEP_PUT, STEP_FUSED, STEP_LOOP };

typedef struct step {
    int kind, op, nin, nout, first; /* first: of its headers in `refs`, results before inputs */
    int axis, accumulate;
    mci_vm *vm;
    mci_native *native; /* the same group as compiled code, once there is one */
    mci_loop *loop;
    mc_params params;
} step;

struct mc_plan {
    header *headers;
    step *steps;
    int32_t *refs;
    int nheaders, nsteps, nrefs, room_headers, room_steps, room_refs;
    int64_t arena;
    mc_tensor **pointers; /* refs resolved */
    mc_tensor *form;      /* arguments, then results */
    int nin, nout;
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

void mc_plan_free(mc_plan *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->nheaders; i++)
        if (p->headers[i].where == MC_PLAN_CONST)
            mc_drop(&p->headers[i].t);
    for (int i = 0; i < p->nsteps; i++) {
        mci_vm_free(p->steps[i].vm);
        mci_native_free(p->steps[i].native);
        mci_loop_free(p->steps[i].loop);
    }
    mci_free(p->headers);
    mci_free(p->steps);
    mci_free(p->refs);
    mci_free(p->pointers);
    mci_free(p->form);
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
    header *h = &p->headers[p->nheaders];
    memset(h, 0, sizeof *h);
    memcpy(&h->t, like, sizeof h->t);
    h->t.flags = like->flags & MCI_WEAK;
    h->t.capacity = 0;
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

static step *add(mc_plan *p, int kind, int nout, const int32_t *out, int nin, const int32_t *in)
{
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
    step *s = &p->steps[p->nsteps++];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->nin = nin;
    s->nout = nout;
    s->first = p->nrefs;
    p->nrefs += nin + nout;
    mci_free(p->pointers);
    p->pointers = NULL;
    return s;
}

int mc_plan_op(mc_plan *p, int op, int nout, const int32_t *out, int nin, const int32_t *in, const mc_params *params)
{
    step *s = add(p, STEP_OP, nout, out, nin, in);
    if (!s)
        return mc_errstatus();
    s->op = op;
    s->params = *params;
    return MC_OK;
}

int mc_plan_copy(mc_plan *p, int dst, int src)
{
    return add(p, STEP_COPY, 1, &(int32_t){dst}, 1, &(int32_t){src}) ? MC_OK : mc_errstatus();
}

int mc_plan_put(mc_plan *p, int dst, int axis, int index, int values, int accumulate)
{
    step *s = add(p, STEP_PUT, 1, &(int32_t){dst}, 2, (int32_t[]){index, values});
    if (!s)
        return mc_errstatus();
    s->axis = axis;
    s->accumulate = accumulate;
    return MC_OK;
}

int mc_plan_fused(mc_plan *p, int nleaves, const int32_t *leaves, const int32_t *want, int nout, const int32_t *out, const int32_t *result,
                  int ninstr, const mc_vm_instr *instr)
{
    mci_vm *vm = mci_vm_new(nleaves, want, nout, result, ninstr, instr);
    step *s = vm ? add(p, STEP_FUSED, nout, out, nleaves, leaves) : NULL;
    if (!s) {
        mci_vm_free(vm);
        return mc_errstatus();
    }
    s->vm = vm;
    return MC_OK;
}

int mc_plan_native(mc_plan *p, int at, mc_native_fn fn, const int32_t *one)
{
    mc_tensor *operands[MCI_NATIVE_OPERANDS];
    step *s = at >= 0 && at < p->nsteps ? &p->steps[at] : NULL;
    if (!s || s->kind != STEP_FUSED || s->nin + s->nout > MCI_NATIVE_OPERANDS)
        return mci_error(MC_EINVAL, "plan: step %d is no fused group", at + 1);
    mci_native_free(s->native);
    s->native = NULL;
    for (int i = 0; i < s->nin + s->nout; i++)
        operands[i] = &p->headers[p->refs[s->first + i]].t;
    if (fn && !(s->native = mci_native_new(fn, s->nin, operands + s->nout, one, s->nout, operands)))
        return mc_errstatus();
    return MC_OK;
}

int mc_plan_loop(mc_plan *p, const mc_loop_spec *spec, mc_plan *const *parts, int nout, const int32_t *out, int nin, const int32_t *in)
{
    mci_loop *loop = mci_loop_new(spec, parts, nout, nin);
    step *s = loop ? add(p, STEP_LOOP, nout, out, nin, in) : NULL;
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

static int run_steps(mc_plan *p)
{
    for (int i = 0; i < p->nsteps; i++) {
        step *s = &p->steps[i];
        mc_tensor **h = p->pointers + s->first;
        int rc;
        if (s->kind == STEP_COPY) {
            rc = mc_copy(h[0], h[1]);
        } else if (s->kind == STEP_FUSED) {
            rc = s->native && mci_native_fits(s->native) ? mci_native_run(s->native, h + s->nout, h) : mci_vm_run(s->vm, h + s->nout, h);
        } else if (s->kind == STEP_LOOP) {
            rc = mci_loop_run(s->loop, h + s->nout, h);
        } else if (s->kind == STEP_PUT) {
            rc = mc_put(h[0], s->axis, h[1], h[2], s->accumulate);
        } else {
            for (int k = 0; k < s->nout; k++)
                h[k]->flags |= MC_FLAG_OUT;
            rc = mc_op(s->op, s->nout, h, s->nin, (const mc_tensor *const *)(h + s->nout), &s->params);
        }
        if (rc)
            return rc;
    }
    return MC_OK;
}

int mc_plan_run(mc_plan *p, mc_tensor *const *in, int nin, mc_tensor *const *out, int nout)
{
    char *arena = NULL;
    if (!p->pointers) {
        p->pointers = mci_alloc(sizeof *p->pointers * (size_t)(p->nrefs + 1));
        if (!p->pointers)
            return mc_errstatus();
        for (int i = 0; i < p->nrefs; i++)
            p->pointers[i] = &p->headers[p->refs[i]].t;
    }
    if (p->arena && !(arena = mci_alloc((size_t)p->arena)))
        return mc_errstatus();
    int rc = MC_OK;
    for (int i = 0; i < p->nheaders && !rc; i++) {
        header *h = &p->headers[i];
        int64_t first = h->offset * MCI_SIZE(h->t.dtype);
        if (h->where == MC_PLAN_ARENA)
            h->t.data = arena + h->index + first;
        else if (h->where != MC_PLAN_CONST) {
            int n = h->where == MC_PLAN_INPUT ? nin : nout;
            mc_tensor *t = h->index < n ? (h->where == MC_PLAN_INPUT ? in : out)[h->index] : NULL;
            if (!t)
                rc = mci_error(MC_EINVAL, "plan: argument %lld is missing", (long long)h->index + 1);
            else if (!(rc = mci_check_live("plan", t)))
                h->t.data = (char *)t->data + first;
        }
    }
    if (!rc)
        rc = run_steps(p);
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
    return MC_OK;
}

int mc_plan_call(mc_plan *p, mc_tensor *const *in, mc_tensor *const *out)
{
    for (int i = 0; i < p->nin; i++) {
        const mc_tensor *a = in[i], *b = &p->form[i];
        int other = a->dtype != b->dtype || a->ndim != b->ndim;
        for (int d = 0; !other && d < a->ndim; d++)
            other = a->shape[d] != b->shape[d] || a->strides[d] != b->strides[d];
        if (other)
            return -1;
    }
    int rc = MC_OK, made = 0;
    for (; !rc && made < p->nout; made++) {
        const mc_tensor *like = &p->form[p->nin + made];
        rc = mc_create(out[made], like->dtype, like->ndim, like->shape);
    }
    if (!rc)
        rc = mc_plan_run(p, in, p->nin, out, p->nout);
    for (int i = 0; rc && i < made; i++)
        mc_drop(out[i]);
    return rc;
}
