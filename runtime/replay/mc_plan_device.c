/* mc_plan_device.c - steps of a plan on a device: bound once, run at the addresses of each call.
 *
 * Operands are (slot, offset), so that nothing is looked up at a call but where its arguments and
 * the arena lie. What is made of numbers alone stays in host memory and is computed there: it
 * travels on as a value. */
#include "replay/mc_plan_device.h"
#include "replay/mc_stretch.h"

#include <string.h>

typedef struct bound_step {
    mci_bound bound;
    const mci_step *step;
    const int32_t *slots; /* results, then operands */
    int host;           /* of numbers alone: the CPU computes it */
    int through;        /* it has no form there: operands go to the host, results come back */
    mc_tensor *headers; /* of a loop, or of what goes through the host: results, then operands */
    mc_tensor **list;   /* pointers to them */
    char *number;       /* per slot of the step: a number in host memory when it runs */
    mci_stretch *stretch; /* begins here; of `steps` steps */
    int steps;
} bound_step;

struct mci_device_plan {
    int device, nslots, nsteps;
    mci_slot *slots;
    char *host;       /* per slot: it lies in host memory */
    /* per slot: a step other than a loop reads it; parts of loops say themselves where a number
     * goes */
    char *
        read;
    bound_step *steps;
    mci_ref *refs;    /* per slot, of this call */
    mci_block **sent; /* per slot: a number that steps of this call read on the device */
    mci_ref *list;    /* of a step: operands, then results */
    int64_t arena;
    int numbers;      /* some step is computed on the host */
};

void mci_device_plan_free(mci_device_plan *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->nsteps; i++) {
        mci_stretch_free(p->steps[i].stretch);
        mci_bound_free(&p->steps[i].bound);
        mci_free(p->steps[i].headers);
        mci_free(p->steps[i].list);
        mci_free(p->steps[i].number);
    }
    mci_free(p->slots);
    mci_free(p->host);
    mci_free(p->read);
    mci_free(p->steps);
    mci_free(p->refs);
    mci_free(p->sent);
    mci_free(p->list);
    mci_free(p);
}

static int same_place(const mci_slot *a, const mci_slot *b)
{
    return a->where == b->where && a->where != MC_PLAN_CONST && a->index == b->index;
}

/* Every slot of the place that a step on the host writes lies in host memory. */
static void mark_host(mci_device_plan *p, int slot)
{
    for (int i = 0; i < p->nslots; i++)
        p->host[i] |= (char)same_place(&p->slots[i], &p->slots[slot]);
}

/* A place that is written on the device again later belongs to it from there on: places are shared
 * over time. */
static void mark_device(mci_device_plan *p, int slot)
{
    for (int i = 0; i < p->nslots; i++)
        if (same_place(&p->slots[i], &p->slots[slot]) && !(p->slots[i].t->flags & MCI_WEAK))
            p->host[i] = 0;
}

/* Its parts bind themselves, or it is not bound; headers are pointed at the memory of each call. */
static int bind_headers(mci_device_plan *p, bound_step *b)
{
    const mci_step *s = b->step;
    const int n = s->nin + s->nout;
    b->headers = mci_alloc(sizeof *b->headers * (size_t)(n + 1));
    b->list = mci_alloc(sizeof *b->list * (size_t)(n + 1));
    if (!b->headers || !b->list) return mc_errstatus();
    for (int i = 0; i < n; i++) {
        memcpy(&b->headers[i], p->slots[b->slots[i]].t, sizeof *b->headers);
        b->headers[i].storage = NULL;
        b->headers[i].capacity = 0;
        b->headers[i].small = 0;
        b->list[i] = &b->headers[i];
        if (i < s->nout) mark_device(p, b->slots[i]);
    }
    return MC_OK;
}

/* Slot i of a step when it runs: a place of the arena may hold numbers before and elements after,
 * or the other way. */
static mci_ref ref_of(const mci_device_plan *p, const bound_step *b, int i)
{
    const int slot = b->slots[i];
    mci_ref r = p->refs[slot];
    if (p->slots[slot].where == MC_PLAN_ARENA) {
        if (b->number[i])
            r.mem = NULL;
        else
            r.number = NULL;
    }
    return r;
}

static int run_headers(mci_device_plan *p, bound_step *b)
{
    const mci_step *s = b->step;
    for (int i = 0; i < s->nin + s->nout; i++) {
        const mci_ref here = ref_of(p, b, i), *r = &here;
        b->headers[i].data = r->mem ? r->mem->base + r->at : (char *)(uintptr_t)r->number;
        b->headers[i].device = r->mem ? p->device : 0;
        b->headers[i].flags = r->mem ? 0 : MCI_WEAK;
    }
    if (!b->through) return mci_loop_run(s->loop, b->list + s->nout, b->list);
    for (int i = 0; i < s->nout; i++) b->headers[i].flags |= MC_FLAG_OUT;
    return mci_through_host(p->device, s->op, s->nout, b->list, s->nin,
                            (const mc_tensor *const *)(b->list + s->nout), &s->params);
}

/* Numbers: their headers lie in host memory. */
static int run_host(mci_device_plan *p, const bound_step *b)
{
    const mci_step *s = b->step;
    mc_tensor copies[32], *h[32];
    const int group = s->kind == MCI_STEP_GROUP;
    if (s->nin + s->nout > 32)
        return mci_error(MC_EUNSUPPORTED, "%s: too many numbers", group ? "compile" : s->op->name);
    for (int i = 0; i < s->nin + s->nout; i++) {
        int slot = b->slots[i];
        h[i] = &copies[i];
        memcpy(&copies[i], p->slots[slot].t, sizeof copies[i]);
        copies[i].data = (void *)(uintptr_t)p->refs[slot].number;
        copies[i].storage = NULL;
        copies[i].device = 0;
        if (i < s->nout) copies[i].flags |= MC_FLAG_OUT;
    }
    if (group) return mci_vm_run(s->vm, h + s->nout, h);
    return mc_op(s->op->id, s->nout, h, s->nin, (const mc_tensor *const *)(h + s->nout),
                 &s->params);
}

/* Numbers of the call for which the plan is bound: binding looks at them, since beside integers
 * their value decides dtypes. Slots of the host get room; what was computed there is shown to later
 * steps. */
static char *numbers_begin(mci_device_plan *p)
{
    const size_t arena = (size_t)p->arena;
    char *room = mci_calloc(1, arena + 16 * (size_t)p->nslots + 1);
    for (int i = 0; room && i < p->nslots; i++) {
        const mci_slot *s = &p->slots[i];
        int first = 0; /* of its place */
        while (first < i && !same_place(&p->slots[first], s)) first++;
        p->refs[i].number = s->where == MC_PLAN_ARENA    ? room + s->index + s->offset
                            : s->where == MC_PLAN_OUTPUT ? room + arena + 16 * (size_t)first
                                                         : s->t->data;
    }
    return room;
}

static void numbers_show(mci_device_plan *p, int slot)
{
    for (int i = 0; i < p->nslots; i++)
        if (same_place(&p->slots[i], &p->slots[slot]))
            p->slots[i].t->data = (void *)(uintptr_t)p->refs[i].number;
}

static void numbers_end(mci_device_plan *p, char *room)
{
    for (int i = 0; room && i < p->nslots; i++) {
        if (p->slots[i].where == MC_PLAN_ARENA || p->slots[i].where == MC_PLAN_OUTPUT)
            p->slots[i].t->data = NULL;
        p->refs[i] = (mci_ref){ 0 };
    }
    mci_free(room);
}

/* An op or a group. */
static int bind_op(mci_device_plan *p, bound_step *b)
{
    const mci_step *s = b->step;
    const int n = s->nin + s->nout;
    mc_tensor *few[64], **h = n <= 64 ? few : mci_alloc(sizeof *h * (size_t)n);
    if (!h) return mc_errstatus();
    b->host = s->nin > 0 && (s->kind == MCI_STEP_GROUP || s->op->id >= 0);
    for (int i = 0; i < n; i++) {
        h[i] = p->slots[b->slots[i]].t;
        if (i >= s->nout) b->host &= (h[i]->flags & MCI_WEAK) != 0;
    }
    for (int i = 0; i < s->nout; i++)
        if (b->host)
            mark_host(p, b->slots[i]);
        else
            mark_device(p, b->slots[i]);
    p->numbers |= b->host;
    int rc = b->host ? run_host(p, b) : mci_step_bind(p->device, s, h, &b->bound);
    for (int i = 0; b->host && i < s->nout; i++) numbers_show(p, b->slots[i]);
    if (h != few) mci_free(h);
    return rc;
}

static int bind_step(mci_device_plan *p, bound_step *b)
{
    const mci_step *s = b->step;
    b->number = mci_calloc((size_t)(s->nin + s->nout) + 1, 1);
    if (!b->number) return mc_errstatus();
    for (int i = s->nout; i < s->nin + s->nout; i++) b->number[i] = p->host[b->slots[i]];
    int rc = s->kind == MCI_STEP_LOOP                              ? bind_headers(p, b)
             : s->kind == MCI_STEP_OP || s->kind == MCI_STEP_GROUP ? bind_op(p, b)
                                                                   : MC_EINTERNAL;
    if (rc == MC_EUNSUPPORTED && s->kind == MCI_STEP_OP && s->op->id >= 0 &&
        mci_may_go_through_host(p->device, s->op)) {
        b->through = 1;
        rc = bind_headers(p, b);
    }
    if (rc == MC_EINTERNAL) /* those are the CPU's: pipeline.on_device leaves them out */
        mci_error(rc, "compile: a step of a plan has no form for %s", mci_device_text(p->device));
    for (int i = 0; i < s->nout; i++) b->number[i] = p->host[b->slots[i]];
    return rc;
}

/* Whether it is made of launches alone. */
static int launches(const bound_step *b)
{
    return b->step->kind != MCI_STEP_LOOP && !b->through && !b->host && !b->bound.run;
}

/* Neighbouring steps of launches. */
static int find_stretches(mci_device_plan *p)
{
    mci_bound **list = mci_alloc(sizeof(mci_bound *) * (size_t)(p->nsteps + 1));
    int rc = list ? MC_OK : mc_errstatus();
    for (int k = 0, n; k < p->nsteps && !rc; k += n ? n : 1) {
        for (n = 0; k + n < p->nsteps && launches(&p->steps[k + n]); n++)
            list[n] = &p->steps[k + n].bound;
        p->steps[k].stretch = mci_stretch_new(p->device, n, list, &rc);
        p->steps[k].steps = n;
    }
    mci_free(list);
    return rc;
}

mci_device_plan *mci_device_plan_new(int device, int nslots, const mci_slot *slots, int nsteps,
                                     const mci_step *steps, const int32_t *refs, int64_t arena)
{
    int most = 0;
    mci_device_plan *p = mci_calloc(1, sizeof *p);
    if (!p)
        return NULL;
    for (int i = 0; i < nsteps; i++)
        most = steps[i].nin + steps[i].nout > most ? steps[i].nin + steps[i].nout : most;
    p->device = device;
    p->nslots = nslots;
    p->arena = arena;
    p->slots = mci_alloc(sizeof *slots * (size_t)(nslots + 1));
    p->host = mci_calloc((size_t)nslots + 1, 1);
    p->read = mci_calloc((size_t)nslots + 1, 1);
    p->steps = mci_calloc((size_t)nsteps + 1, sizeof *p->steps);
    p->refs = mci_calloc((size_t)nslots + 1, sizeof *p->refs);
    p->sent = mci_calloc((size_t)nslots + 1, sizeof *p->sent);
    p->list = mci_calloc((size_t)most + 1, sizeof *p->list);
    int rc = p->slots && p->host && p->read && p->steps && p->refs && p->sent && p->list
                 ? MC_OK
                 : mc_errstatus();
    if (!rc)
        memcpy(p->slots, slots, sizeof *slots * (size_t)nslots);
    for (int i = 0; i < nslots && !rc; i++)
        p->host[i] = (slots[i].t->flags & MCI_WEAK) != 0;
    for (int i = 0; i < nsteps && !rc; i++)
        for (int k = 0; k < steps[i].nin && steps[i].kind != MCI_STEP_LOOP; k++)
            p->read[refs[steps[i].first + steps[i].nout + k]] = 1;
    char *room = rc ? NULL : numbers_begin(p);
    rc = rc || room ? rc : mc_errstatus();
    for (; p->nsteps < nsteps && !rc; p->nsteps++) {
        p->steps[p->nsteps].step = &steps[p->nsteps];
        p->steps[p->nsteps].slots = refs + steps[p->nsteps].first;
        rc = bind_step(p, &p->steps[p->nsteps]);
    }
    numbers_end(p, room);
    rc = rc ? rc : find_stretches(p);
    if (rc) {
        mci_device_plan_free(p);
        return NULL;
    }
    return p;
}

int mci_device_plan_number(const mci_device_plan *p, int64_t index)
{
    for (int i = 0; i < p->nslots; i++)
        if (p->slots[i].where == MC_PLAN_OUTPUT && p->slots[i].index == index)
            return p->host[i];
    return 0;
}

/* t is not where the plan runs; the error names an argument or a constant that is. */
static int mixed(const mci_device_plan *p, const mc_tensor *t, mc_tensor *const *in, int nin)
{
    const mc_tensor *other = t;
    for (int i = 0; i < nin; i++) other = in[i]->device != t->device ? in[i] : other;
    for (int i = 0; i < p->nslots; i++)
        other = p->slots[i].where == MC_PLAN_CONST && p->slots[i].t->device != t->device
                    ? p->slots[i].t
                    : other;
    return mc_mixed_devices("compile", t, other);
}

/* A number of the caller, for steps that read it as a tensor. */
static int send(mci_device_plan *p, int slot, const mc_tensor *t, int64_t offset)
{
    const int64_t size = MCI_SIZE(t->dtype);
    mci_block *b = p->sent[slot] = mci_device_alloc(p->device, size);
    if (!b) return mc_errstatus();
    p->refs[slot] = (mci_ref){ .mem = b->mem, .at = b->at };
    return mci_device_put(p->refs[slot], (const char *)t->data + offset, size);
}

static void sent_free(mci_device_plan *p)
{
    for (int i = 0; i < p->nslots; i++) {
        mci_device_free(p->sent[i]);
        p->sent[i] = NULL;
    }
}

/* Where each slot lies in this call. */
static int place(mci_device_plan *p, mc_tensor *const *in, int nin, mc_tensor *const *out, int nout,
                 const mci_block *arena, char *numbers)
{
    for (int i = 0; i < p->nslots; i++) {
        const mci_slot *s = &p->slots[i];
        mci_ref *r = &p->refs[i];
        if (s->where == MC_PLAN_ARENA) {
            *r = (mci_ref){ .number = numbers ? numbers + s->index + s->offset : NULL };
            if (arena) {
                r->mem = arena->mem;
                r->at = arena->at + s->index + s->offset;
            }
            continue;
        }
        if (s->where == MC_PLAN_TILE)
            continue;
        int n = s->where == MC_PLAN_INPUT ? nin : nout;
        const mc_tensor *t = s->where == MC_PLAN_CONST ? s->t
                             : s->index < n ? (s->where == MC_PLAN_INPUT ? in : out)[s->index]
                                            : NULL;
        if (!t)
            return mci_error(MC_EINVAL, "plan: argument %lld is missing", (long long)s->index + 1);
        if (mci_check_released("plan", t))
            return mc_errstatus();
        if (!p->host[i] && t->device == 0 && (t->flags & MCI_WEAK) && s->where == MC_PLAN_INPUT) {
            int rc = MC_OK;
            if (p->read[i])
                rc = send(p, i, t, s->offset);
            else
                *r = (mci_ref){ .number = (const char *)t->data + s->offset };
            if (rc) return rc;
            continue;
        }
        if (p->host[i] ? t->device != 0 : t->device != p->device) return mixed(p, t, in, nin);
        /* a constant's header shows its place */
        const int64_t offset = s->where == MC_PLAN_CONST ? 0 : s->offset;
        if (p->host[i]) {
            *r = (mci_ref){.number = (const char *)t->data + offset};
        } else {
            *r = mci_ref_of(t);
            r->at += offset;
        }
    }
    return MC_OK;
}

/* Operands, then results of a step in this call. */
static const mci_ref *refs_of(mci_device_plan *p, const bound_step *b)
{
    const mci_step *s = b->step;
    for (int i = 0; i < s->nin + s->nout; i++)
        p->list[i] = ref_of(p, b, i < s->nin ? s->nout + i : i - s->nin);
    return p->list;
}

/* The steps from k on as one graph: 1; 0: they are to be run one by one; negative: a status. */
static int run_stretch(mci_device_plan *p, int k)
{
    mci_stretch *s = p->steps[k].stretch;
    int rc = s ? mci_stretch_begin(s) : 0;
    for (int i = 0; i < p->steps[k].steps && rc == 1; i++)
        rc = mci_stretch_add(s, refs_of(p, &p->steps[k + i]));
    return rc == 1 ? mci_stretch_run(s) : rc;
}

int mci_device_plan_run(mci_device_plan *p, mc_tensor *const *in, int nin, mc_tensor *const *out,
                        int nout)
{
    mci_block *arena = p->arena ? mci_device_alloc(p->device, p->arena) : NULL;
    char *numbers = p->numbers && p->arena ? mci_alloc((size_t)p->arena) : NULL;
    int rc = (p->arena && !arena) || (p->numbers && p->arena && !numbers)
                 ? mc_errstatus()
                 : place(p, in, nin, out, nout, arena, numbers);
    for (int k = 0; k < p->nsteps && !rc; k++) {
        bound_step *b = &p->steps[k];
        if (mc_cancel_pending()) {
            rc = mci_error(MC_ECANCELLED, "interrupted");
            break;
        }
        const int done = run_stretch(p, k);
        if (done == 1)
            k += b->steps - 1;
        else
            rc = done < 0                                        ? -done
                 : b->step->kind == MCI_STEP_LOOP || b->through ? run_headers(p, b)
                 : b->host                                       ? run_host(p, b)
                                                   : mci_bound_run(&b->bound, refs_of(p, b));
    }
    sent_free(p);
    mci_free(numbers);
    mci_device_free(arena);
    return rc;
}
