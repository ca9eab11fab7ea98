/* mc_bind.c - ops on devices: infer, results, bind, run.
 *
 * A device of the tests runs the CPU's form of a family on addresses that only it may use; others
 * run launches. What has no form raises, so that nothing goes through the host unseen
 * (mc_through_host.c: where it may). */
#include "family/mc_bind.h"
#include "device/mc_context.h"
#include "device/mc_events.h"
#include "record/mc_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int mci_no_form(const mci_op *op, int device)
{
    if (op->by_value && !mci_families[op->family].infer) return mci_by_value(op);
    return mci_no_launch(op, device);
}

/* ---- bound ---- */

/* Layouts of operands, then results, on devices: memory is shown at each call. */
static int keep_headers(mci_bound *b, const mc_tensor *const *in, mc_tensor *const *out)
{
    b->headers = mci_alloc(sizeof *b->headers * (size_t)(b->nin + b->nout + 1));
    if (!b->headers) return mc_errstatus();
    for (int i = 0; i < b->nin + b->nout; i++) {
        mc_tensor *h = &b->headers[i];
        memcpy(h, i < b->nin ? in[i] : out[i - b->nin], sizeof *h);
        h->storage = NULL;
        h->capacity = 0;
        h->device = 0;
        if (i >= b->nin) h->flags |= MC_FLAG_OUT;
    }
    return MC_OK;
}

/* The CPU's form of an op: what its family computes once dtypes and shapes are known. */
typedef struct call {
    mc_params params;
    mci_result result;
    int (*exec)(const mci_job *job, const mci_result *r, mc_tensor *const *out);
} call;

static int run_call(const mci_bound *b, mc_tensor *const *h)
{
    const call *c = b->state;
    const mc_tensor *const *in = (const mc_tensor *const *)(h + b->nout);
    const mci_job job = { b->op, &c->params, b->nin, in, b->nout };
    for (int i = 0; b->device && b->op->family == MCI_FAMILY_EWISE && i < b->nin; i++)
        if ((in[i]->flags & MCI_WEAK) && in[i]->dtype == MC_F64 && c->result.compute > MC_BOOL &&
            mci_number_fits(b->op->name, c->result.compute, *(const double *)in[i]->data,
                            mc_dtype_name(c->result.compute)))
            return mc_errstatus();
    for (int k = 0; k < b->nout; k++) h[k]->flags |= MC_FLAG_OUT;
    if (MC_UNLIKELY(mci_recording) && b->device == 0) /* which sees what is written */
        return mci_record_op(b->op->run, &mci_families[b->op->family], b->op, b->nout,
                             (mc_tensor **)(uintptr_t)h, b->nin, in, &c->params);
    return c->exec(&job, &c->result, h);
}

static int close_call(void *state)
{
    mci_free(state);
    return MC_OK;
}

static int bind_call(const mci_job *job, const mci_result *r, mci_bound *b)
{
    call *c = mci_alloc(sizeof *c);
    if (!c) return mc_errstatus();
    c->params = *job->params;
    c->result = *r;
    c->exec = mci_families[job->op->family].exec;
    b->state = c;
    b->run = run_call;
    b->close = close_call;
    return MC_OK;
}

int mci_bind(int device, const mci_job *job, const mci_result *r, mc_tensor *const *out,
             mci_bound *b)
{
    const mci_family *f = &mci_families[job->op->family];
    const int hosted = mci_device_hosted(device);
    memset(b, 0, sizeof *b);
    if (hosted ? !f->exec : !f->launches) return mci_no_form(job->op, device);
    b->device = device;
    b->op = job->op;
    b->nin = job->nin;
    b->nout = r->nout;
    int rc = device ? keep_headers(b, job->in, out) : MC_OK;
    if (!rc) rc = hosted ? bind_call(job, r, b) : f->launches(device, job, r, out, b);
    if (rc) mci_bound_free(b);
    return rc;
}

int mci_bind_function(int device, int nin, int nout, mc_tensor *const *h, mci_bound_fn run,
                      const void *state, int (*close)(void *state), mci_bound *b)
{
    *b = (mci_bound){
        .device = device, .nin = nin, .nout = nout, .run = run, .state = state, .close = close
    };
    return device ? keep_headers(b, (const mc_tensor *const *)(h + nout), h) : MC_OK;
}

int mci_bound_free(mci_bound *b)
{
    int rc = b->close ? b->close((void *)(uintptr_t)b->state) : MC_OK;
    mci_free(b->headers);
    mci_free(b->launch);
    mci_free(b->patch);
    memset(b, 0, sizeof *b);
    return rc;
}

/* ---- run ---- */

/* Its headers at these addresses. */
static int run_function(const mci_bound *b, const mci_ref *refs)
{
    const size_t n = (size_t)(b->nin + b->nout);
    mc_tensor *few[64] = { 0 }, **h = n <= 64 ? few : mci_alloc(sizeof *h * n);
    if (!h) return mc_errstatus();
    for (int i = 0; i < b->nin + b->nout; i++) {
        mc_tensor *t = &b->headers[i];
        t->data = refs[i].mem ? mci_device_reach(refs[i]) : (void *)(uintptr_t)refs[i].number;
        h[i < b->nin ? b->nout + i : i - b->nin] = t;
    }
    int rc = b->run(b, h);
    if (h != few) mci_free(h);
    return rc;
}

int64_t mci_bound_bytes(const mci_bound *b)
{
    int64_t bytes = 0;
    for (int i = 0; i < b->nin + b->nout; i++)
        bytes += b->headers[i].numel * MCI_SIZE(b->headers[i].dtype);
    return bytes;
}

/* A launch that was waited for, with what it made: for the profile. What each of several launches
 * reads and writes is not known here: all have the same buffers. */
static void note(const mci_bound *b, int launch, double began)
{
    const mc_launch *l = &b->launch[launch];
    char what[MCI_TEXT + 64], shape[MCI_TEXT];
    mc_tensor made = b->headers[b->nin];
    made.device = b->device;
    mci_tensor_text(shape, sizeof shape, &made);
    if (l->kernel)
        snprintf(what, sizeof what, "%s, %lld x %u lanes", shape,
                 (long long)l->grid[0] * (l->grid[1] ? l->grid[1] : 1), l->group[0]);
    else
        snprintf(what, sizeof what, "%s, by a library", shape);
    const char *name = b->title ? b->title : b->op ? b->op->name : "";
    mci_event(MC_EVENT_LAUNCH, b->device, name, what, began,
              b->nlaunch == 1 ? mci_bound_bytes(b) : 0);
}

int mci_bound_numbers(mci_bound *b, const mci_ref *refs)
{
    for (int i = 0; i < b->npatch; i++) {
        const mci_patch *p = &b->patch[i];
        if (p->operand < 0) {
            int32_t guard = p->why ? mci_device_guard(b->device, p->op, p->why) : 0;
            if (guard < 0)
                return mc_errstatus();
            memcpy(b->launch[p->launch].raw + p->at, &guard, sizeof guard);
            continue;
        }
        const mc_tensor *h = &b->headers[p->operand];
        const int from = h->dtype;
        if ((h->flags & MCI_WEAK) && from == MC_F64 && p->dtype != MC_BOOL &&
            b->op && b->op->family == MCI_FAMILY_EWISE) {
            double number;
            memcpy(&number, refs[p->operand].number, sizeof number);
            if (mci_number_fits(b->op->name, p->dtype, number,
                                mc_dtype_name(p->dtype)))
                return mc_errstatus();
        }
        mci_cast(p->dtype, from)(1, b->launch[p->launch].raw + p->at, 1,
                                 refs[p->operand].number, 1);
    }
    return MC_OK;
}

void mci_bound_place(mci_bound *b, int i, const mci_ref *refs, const mci_ref *work, void **segment)
{
    mc_launch *l = &b->launch[i];
    for (int k = 0; k < l->nbuf; k++) {
        const int guards = l->slot[k] == MCI_SLOT_GUARDS;
        const int own = l->slot[k] < b->nin + b->nout;
        const mci_ref *r = guards ? NULL : own ? &refs[l->slot[k]] : work;
        const int64_t at = guards ? 0 : r->at + l->off[k];
        segment[k] = !guards ? r->mem->handle : mci_device_guards(b->device);
        if (!segment[k]) /* no launch refused anything so far */
            segment[k] = segment[0];
        memcpy(l->raw + 8 * k, &at, sizeof at);
    }
}

static int run_launches(mci_bound *b, const mci_ref *refs, const mci_ref *work)
{
    const mc_device_api *api = mci_device_api(b->device);
    const int status = mci_bound_numbers(b, refs);
    if (status) return status;
    for (int i = 0; i < b->nlaunch; i++) {
        void *segment[MC_LAUNCH_BUFFERS];
        mci_bound_place(b, i, refs, work, segment);
        void *handle = mci_device_handle(b->device), *stream = mci_device_stream(b->device);
        const double began = MC_UNLIKELY(mci_watching) ? mc_clock() : 0;
        mci_works(1);
        int rc = api->launch(handle, stream, &b->launch[i], segment);
        if (!rc && i == b->nlaunch - 1)
            rc = mci_device_queued(b->device, b->nlaunch, mci_bound_bytes(b));
        const int watched = MC_UNLIKELY(mci_watching) && !rc;
        if (watched) rc = api->sync(handle, stream);
        mci_works(-1);
        if (watched) note(b, i, began);
        if (rc)
            return rc;
    }
    return MC_OK;
}

/* Whether result `o` may not be written while operands are read: they share elements, and not as
 * the same ones of one dtype of an elementwise op. */
static int apart(const mci_bound *b, const mci_ref *refs, int o)
{
    const int walks = b->op->family == MCI_FAMILY_EWISE || b->op->family == MCI_FAMILY_COPY;
    if (b->op->family == MCI_FAMILY_PUT) /* copies its operands, writes a part of the elements */
        return 0;
    mc_tensor *out = &b->headers[b->nin + o];
    out->data = refs[b->nin + o].mem->base + refs[b->nin + o].at;
    for (int i = 0; i < b->nin; i++) {
        mc_tensor *in = &b->headers[i];
        if (!refs[i].mem || refs[i].mem != refs[b->nin + o].mem)
            continue;
        in->data = refs[i].mem->base + refs[i].at;
        const int over = mci_overlap(out, in);
        if (over == 1 || (over == 0 && (!walks || in->dtype != out->dtype)))
            return 1;
    }
    return 0;
}

int mci_bound_apart(const mci_bound *b, const mci_ref *refs)
{
    for (int o = 0; o < b->nout; o++)
        if (apart(b, refs, o)) return 1;
    return 0;
}

/* Memory for a result laid out as h, and where its first element lies in it. */
static mci_block *beside(const mc_tensor *h, int device, int64_t *first)
{
    int64_t lo = 0, hi = 0;
    for (int i = 0; i < h->ndim; i++)
        *(h->strides[i] < 0 ? &lo : &hi) += (h->shape[i] - 1) * h->strides[i];
    *first = -lo * MCI_SIZE(h->dtype);
    return mci_device_alloc(device, (hi - lo + 1) * MCI_SIZE(h->dtype));
}

/* The result computed beside operands goes to its place: both are laid out alike. */
static int bring(const mci_bound *b, const mc_tensor *h, const mci_ref *from, const mci_ref *to)
{
    static const mc_params none = {.naxes = -1, .dtype = -1};
    mc_tensor header = *h, *out = &header;
    const mc_tensor *in = &header;
    const mci_job job = { &mci_copy_op, &none, 1, &in, 1 };
    mci_result r = {.nout = 1, .compute = -1, .dtype = {h->dtype}, .ndim = {h->ndim}};
    mci_bound c;
    memcpy(r.shape[0], h->shape, sizeof h->shape);
    int rc = mci_bind(b->device, &job, &r, &out, &c);
    if (!rc) {
        rc = run_launches(&c, (const mci_ref[]){*from, *to}, NULL);
        mci_bound_free(&c);
    }
    return rc;
}

int mci_stepwise(void)
{
    static int known = -1;
    if (known < 0) {
        const char *s = getenv("MASCON_SYNC");
        known = s && strcmp(s, "1") == 0;
    }
    return known;
}

int mci_bound_run(mci_bound *b, const mci_ref *refs)
{
    if (b->run) return run_function(b, refs);
    if (b->nlaunch == 0)
        return MC_OK;
    mci_block *work = b->work ? mci_device_alloc(b->device, b->work) : NULL;
    mci_block *aside[MCI_RESULTS] = { 0 };
    mci_ref few[20], target[MCI_RESULTS], *list = (mci_ref *)(uintptr_t)refs;
    int rc = b->work && !work ? mc_errstatus() : MC_OK, moved = 0;
    for (int o = 0; o < b->nout && !rc; o++) {
        if (!apart(b, refs, o))
            continue;
        int64_t first;
        const size_t bytes = sizeof *list * (size_t)(b->nin + b->nout);
        if (!moved && (list = bytes <= sizeof few ? few : mci_alloc(bytes)) != NULL)
            memcpy(list, refs, bytes);
        moved = 1;
        aside[o] = list ? beside(&b->headers[b->nin + o], b->device, &first) : NULL;
        if (!aside[o])
            rc = mc_errstatus();
        else
            list[b->nin + o] = target[o] =
                (mci_ref){ .mem = aside[o]->mem, .at = aside[o]->at + first };
    }
    if (!rc)
        rc = run_launches(b, list, work ? &(mci_ref){.mem = work->mem, .at = work->at} : NULL);
    for (int o = 0; o < b->nout; o++)
        if (aside[o]) {
            rc = rc ? rc : bring(b, &b->headers[b->nin + o], &target[o], &refs[b->nin + o]);
            mci_device_free(aside[o]);
        }
    if (list != refs && list != few)
        mci_free(list);
    mci_device_free(work); /* the stream's order protects it */
    return !rc && mci_stepwise() ? mc_device_sync(b->device) : rc;
}

/* Binds and runs once, with the memory that the headers show. */
static int run_once(int device, const mci_job *job, const mci_result *r, mc_tensor *const *out)
{
    mci_bound b;
    const size_t n = (size_t)(job->nin + r->nout);
    mci_ref few[16], *refs = n <= 16 ? few : mci_alloc(sizeof *refs * n);
    int rc = refs ? mci_bind(device, job, r, out, &b) : mc_errstatus();
    if (!rc) {
        for (int i = 0; i < job->nin + r->nout; i++)
            refs[i] = mci_ref_of(i < job->nin ? job->in[i] : out[i - job->nin]);
        rc = mci_bound_run(&b, refs);
        mci_bound_free(&b);
    }
    if (refs != few)
        mci_free(refs);
    return rc;
}

int mci_device_run(const mci_op *op, int nout, mc_tensor **out, int nin,
                   const mc_tensor *const *in, const mc_params *p)
{
    const mci_family *f = &mci_families[op->family];
    const mci_job job = { op, p, nin, in, nout };
    mci_result r;
    int device, made = 0, given = 0, rc = mci_check_devices(op->name, nin, in, nout, out, &device);
    if (rc)
        return rc;
    if (!f->infer || nout > MCI_RESULTS || (mci_device_hosted(device) ? !f->exec : !f->launches))
        return mci_no_form(op, device);
    for (rc = f->infer(&job, &r); !rc && made < nout; made++) {
        given |= out[made]->flags & MC_FLAG_OUT ? 1 << made : 0;
        rc = mci_out_on(device, op->name, out[made], r.dtype[made], r.ndim[made], r.shape[made]);
    }
    int full = !rc;
    if (full)
        rc = run_once(device, &job, &r, out);
    for (int i = 0; rc && i < made - !full; i++)
        mci_out_fail(out[i], given >> i & 1);
    return rc;
}

const mci_op mci_copy_op = {
    .name = "copy", .id = -1, .family = MCI_FAMILY_COPY, .nin = 1, .nout = 1, .kernel = -1
};

int mci_device_copy_run(mc_tensor *dst, const mc_tensor *src)
{
    static const mc_params none = {.naxes = -1, .dtype = -1};
    const mci_job job = { &mci_copy_op, &none, 1, &src, 1 };
    mci_result r;
    mci_result_one(&r, dst->dtype, dst->ndim, dst->shape);
    return run_once(dst->device, &job, &r, &dst);
}

const mci_op mci_put_op = {
    .name = "index", .id = -1, .family = MCI_FAMILY_PUT, .nin = 2, .nout = 1, .kernel = -1
};

int mci_device_put_run(mc_tensor *dst, int axis, const mc_tensor *index, const mc_tensor *values,
                       int accumulate)
{
    const mc_params params = { .naxes = 1, .axes = { axis }, .dtype = -1, .i = { accumulate } };
    const mci_job job = { &mci_put_op, &params, 2, (const mc_tensor *const[]){ index, values }, 1 };
    mci_result r;
    mci_result_one(&r, dst->dtype, dst->ndim, dst->shape);
    return run_once(dst->device, &job, &r, &dst);
}
