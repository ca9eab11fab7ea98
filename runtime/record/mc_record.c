/* mc_record.c - the log of what a function does with its traced operands.
 *
 * Tracing runs the function: ops compute, and those that see a traced operand are logged with
 * copies of their headers; by shapes (mc_shapes.c) they compute nothing. What depends on no traced
 * operand is not logged, so constants fold by themselves. A buffer is known by the serial number of
 * its storage, not by its address, so its memory may go as soon as the function lets go of it;
 * views need no entry, since every operand carries shape, strides and offset within its buffer.
 * Operands from outside (captured tensors) are kept alive by the log; numbers and inline tensors
 * are copied into it.
 *
 * An argument that the function writes keeps its contents from before the first write beside it:
 * who runs the log again starts from those.
 *
 * Recordings nest; all are made by the thread that began the first. */
#include "record/mc_log.h"

#include <pthread.h>
#include <string.h>

#define LONGEST (1 << 19) /* ops of a function that is compiled or batched: half a GiB of log */
/* Values of mci_recording. While recording pauses, writes are still seen. */
enum { OFF, ON, COUNTING };

#define rec (mci_logs[mci_log_depth - 1])
static int turn; /* written into entries; see mc_record_turn */
static int32_t made;
static pthread_t owner;

static int recorder(void) { return pthread_equal(pthread_self(), owner) != 0; }
static int ours(void) { return mci_recording == ON && recorder(); }

static int traced_at(const mc_tensor *t, int level)
{
    return t->storage && mci_known(t->storage)->traced[level] == mci_logs[level].id;
}

int mci_level_of(const mc_tensor *t)
{
    for (int d = mci_log_depth - 1; d >= 0; d--)
        if (traced_at(t, d))
            return d;
    return -1;
}

/* The recording that logs an op whose innermost traced operand belongs to `level`. */
static int logged_at(int level)
{
    for (int d = mci_log_depth - 1; level >= 0 && d > level; d--)
        if (mci_logs[d].capture)
            return d;
    return level;
}

static int later(int a, int b) { return a > b ? a : b; }

/* A tensor of an inner recording that has ended is no constant of the one at `level`: what was
 * computed there is computed again, and only its results are known. */
static int left_over(const mc_tensor *t, int level)
{
    char s[MCI_TEXT];
    if (!t->storage || mci_logs[level].tape || !mci_known(t->storage)->inner ||
        t->storage->serial <= mci_logs[level].since || mci_level_of(t) >= 0)
        return MC_OK;
    return mci_error(MC_EINVAL,
                     "record: %s was made within a function that is being differentiated and is "
                     "read behind it, as by a rule of custom_vjp that captures it; pass it to the "
                     "function with the rule as an argument, or return it",
                     mci_tensor_text(s, sizeof s, t));
}

static int mark(mc_storage *s, int level)
{
    mci_note *n = mci_noted(s);
    if (!n)
        return mc_errstatus();
    n->traced[level] = mci_logs[level].id;
    return MC_OK;
}

static int add_argument(mci_log *r, mc_storage *s)
{
    if (r->narguments == r->arguments_room) {
        int room = r->arguments_room ? 2 * r->arguments_room : 16;
        mci_argument *grown = mci_alloc(sizeof *grown * (size_t)room);
        if (!grown)
            return mc_errstatus();
        if (r->narguments)
            memcpy(grown, r->arguments, sizeof *grown * (size_t)r->narguments);
        mci_free(r->arguments);
        r->arguments = grown;
        r->arguments_room = room;
    }
    mci_storage_ref(s);
    r->arguments[r->narguments++] = (mci_argument){s, NULL};
    return MC_OK;
}

int mc_record_begin(int flags)
{
    if (mci_log_depth > 0 && !pthread_equal(pthread_self(), owner))
        return mci_error(MC_EINVAL, "record: another thread is recording; one at a time");
    if (mci_log_depth == MCI_DEEPEST)
        return mci_error(
            MC_EINVAL,
            "record: %d recordings are nested; a compiled function calls itself without end",
            MCI_DEEPEST);
    owner = pthread_self();
    int before = mci_recording;
    mci_log_depth++;
    memset(&rec, 0, sizeof rec);
    rec.before = before;
    rec.id = ++made;
    rec.strict =
        (flags & MC_RECORD_STRICT) || (mci_log_depth > 1 && mci_logs[mci_log_depth - 2].strict);
    rec.keep = (flags & MC_RECORD_KEEP) != 0;
    rec.capture = (flags & MC_RECORD_CAPTURE) != 0;
    rec.fixed = (flags & MC_RECORD_FIXED) != 0;
    rec.shapes = (flags & MC_RECORD_SHAPES) != 0;
    if (rec.shapes)
        mci_by_shapes = mci_log_depth;
    rec.since = mci_storage_latest();
    mci_recording = ON;
    return MC_OK;
}

void mc_record_end(void)
{
    mci_recording = OFF;
}

void mc_record_clear(void)
{
    if (mci_log_depth == 0)
        return;
    for (int64_t i = 0; i < rec.n; i++)
        mci_operands_free(rec.entries[i].operands, rec.entries[i].nin + rec.entries[i].nout);
    mci_free(rec.entries);
    for (int i = 0; i < rec.narguments; i++) {
        mci_storage_unref(rec.arguments[i].s);
        if (rec.arguments[i].before)
            mci_storage_unref(rec.arguments[i].before);
    }
    mci_free(rec.arguments);
    int before = rec.before;
    if (rec.shapes)
        mci_by_shapes = 0;
    memset(&rec, 0, sizeof rec);
    mci_log_depth--;
    mci_recording = mci_log_depth > 0 ? before : OFF;
}

int mc_record_pause(int on)
{
    int before = mci_recording != ON;
    mci_recording = mci_log_depth == 0 ? OFF : on ? COUNTING : ON;
    return before;
}

int mc_record_flags(void)
{
    if (!mci_log_depth || mci_recording != ON)
        return 0;
    return (rec.strict ? MC_RECORD_STRICT : 0) | (rec.keep ? MC_RECORD_KEEP : 0) |
           (rec.capture ? MC_RECORD_CAPTURE : 0);
}

int64_t mc_record_count(void) { return mci_log_depth ? rec.n : 0; }
const mc_record_entry *mc_record_at(int64_t k)
{
    return mci_log_depth && k >= 0 && k < rec.n ? &rec.entries[k] : NULL;
}

int mc_record_trace(mc_tensor *t, int on)
{
    if (mc_promote(t))
        return mc_errstatus();
    if (mci_log_depth == 0)
        return MC_OK;
    if (on && add_argument(&rec, t->storage))
        return mc_errstatus();
    if (!on && !t->storage->note)
        return MC_OK;
    mci_note *n = mci_noted(t->storage);
    if (!n)
        return mc_errstatus();
    n->traced[mci_log_depth - 1] = on ? rec.id : 0;
    return MC_OK;
}

int mc_record_written(int k)
{
    return mci_log_depth && k >= 0 && k < rec.narguments && rec.arguments[k].before;
}
int mc_record_crossed(void) { return mci_log_depth && rec.crossed; }
int mc_record_outside(void) { return mci_log_depth ? rec.outside : 0; }

int mc_record_overlap(const mc_tensor *a, const mc_tensor *b) { return mci_overlap(a, b) >= 0; }

int mc_record_before(mc_tensor *out, const mc_tensor *t, int k)
{
    if (!mc_record_written(k) || rec.arguments[k].s != t->storage)
        return mci_error(MC_EINTERNAL, "record: argument %d was not written", k + 1);
    memcpy(out, t, sizeof *out);
    out->storage = rec.arguments[k].before;
    mci_storage_ref(out->storage);
    out->data =
        (char *)out->storage->data + ((const char *)t->data - (const char *)t->storage->data);
    out->capacity = 0;
    return MC_OK;
}

int mc_record_restore(void)
{
    int rc = MC_OK;
    for (int i = 0; mci_log_depth && i < rec.narguments; i++) {
        int bad = rec.arguments[i].before && rec.arguments[i].before != rec.arguments[i].s
                      ? mci_storage_copy(rec.arguments[i].s, rec.arguments[i].before,
                                         rec.arguments[i].s->bytes)
                      : MC_OK;
        rc = rc ? rc : bad;
    }
    return rc;
}

int mc_record_traced(const mc_tensor *t) { return ours() && mci_level_of(t) >= 0; }
int mc_record_depth(void) { return mci_log_depth; }

int mc_record_turn(int number)
{
    int before = turn;
    turn = number;
    return before;
}
int mc_record_active(void) { return mci_log_depth > 0 && mci_recording == ON; }
int64_t mc_record_serial(const mc_tensor *t) { return t->storage ? t->storage->serial : 0; }
int mc_record_version(const mc_tensor *t) { return t->storage ? t->storage->version : 0; }

int mc_record_whole(const mc_tensor *t)
{
    return t->storage && t->data == t->storage->data &&
           t->numel * MCI_SIZE(t->dtype) == t->storage->bytes && mci_contiguous(t);
}

int64_t mc_record_offset(const mc_tensor *t)
{
    return t->storage
               ? ((const char *)t->data - (const char *)t->storage->data) / MCI_SIZE(t->dtype)
               : 0;
}

int mc_record_readable(const mc_tensor *t)
{
    int level = ours() ? mci_level_of(t) : -1;
    return level < 0 || !mci_logs[level].strict;
}

int mci_record_check_value(const char *op, const mc_tensor *t)
{
    char s[MCI_TEXT];
    if (mc_record_readable(t))
        return MC_OK;
    return mci_error(
        MC_EINVAL,
        "%s: %s depends on the arguments of a function that is being compiled, so its value is not "
        "known yet; choose with mc.where "
        "or mc.cond, repeat with mc.while_loop or mc.scan, or take the decision outside",
        op, mci_tensor_text(s, sizeof s, t));
}

/* A header as the log of a level keeps it. 0 on success. */
static int operand(mc_record_operand *o, const mc_tensor *t, int result, int level)
{
    memset(o, 0, sizeof *o);
    o->dtype = t->dtype;
    o->ndim = t->ndim;
    o->weak = (t->flags & MCI_WEAK) != 0;
    o->numel = t->numel;
    o->device = t->device;
    memcpy(o->shape, t->shape, sizeof t->shape);
    memcpy(o->strides, t->strides, sizeof t->strides);
    if (t->storage) {
        o->serial = t->storage->serial;
        o->traced = traced_at(t, level);
        o->size = t->storage->bytes / MCI_SIZE(t->dtype);
        o->offset = ((const char *)t->data - (const char *)t->storage->data) / MCI_SIZE(t->dtype);
        o->version = t->storage->version;
        if (result ? mci_logs[level].keep : !o->traced || mci_logs[level].tape) {
            o->kept = t->storage;
            mci_storage_ref(t->storage);
            if (!result && !o->traced) {
                mci_note *n = mci_noted(t->storage);
                if (!n) {
                    mci_storage_unref(t->storage);
                    o->kept = NULL;
                    return 1;
                }
                n->traced[level] = -mci_logs[level].id; /* known as a constant: see set_aside */
            }
        }
        return 0;
    }
    size_t bytes = (size_t)(t->numel * MCI_SIZE(t->dtype));
    void *copy = mci_alloc(bytes ? bytes : 1);
    if (!copy)
        return 1;
    memcpy(copy, t->data, bytes);
    o->literal = copy;
    return 0;
}

/* Room for one more entry: taken before an op runs, so that what ran is always logged. */
static int reserve(mci_log *r)
{
    if (r->tape && r->n >= r->sweep)
        mc_tape_drop(MC_TAPE_DEAD);
    if (r->n < r->room)
        return MC_OK;
    if (r->strict && r->n >= LONGEST)
        return mci_error(
            MC_EINVAL,
            "record: the function that is being compiled or batched has done %d ops and goes on; "
            "it calls itself without end, or "
            "repeats so often that mc.scan, mc.fori_loop or mc.while_loop should do it",
            LONGEST);
    int64_t room = r->room ? 2 * r->room : 64;
    mc_record_entry *grown = mci_alloc(sizeof *grown * (size_t)room);
    if (!grown)
        return mc_errstatus();
    if (r->n)
        memcpy(grown, r->entries, sizeof *grown * (size_t)r->n);
    mci_free(r->entries);
    r->entries = grown;
    r->room = room;
    return MC_OK;
}

/* o: of operands_of; it becomes the entry's. */
static void append(int level, int kind, int op, int nout, mc_tensor *const *out, int nin,
                   mc_record_operand *o, const mc_params *p, int axis, int accumulate, int compute)
{
    mc_record_entry *e = &mci_logs[level].entries[mci_logs[level].n++];
    memset(e, 0, sizeof *e);
    e->operands = o;
    e->kind = kind;
    e->op = op;
    e->nin = nin;
    e->nout = nout;
    e->axis = axis;
    e->compute = compute;
    e->accumulate = accumulate;
    e->turn = turn;
    if (p)
        e->params = *p;
    for (int i = 0; i < nout; i++)
        operand(&o[nin + i], out[i], 1, level);
    for (int i = 0; mci_logs[level].tape && i < nin + nout; i++)
        if (o[i].kept)
            mci_note_of(o[i].kept)->logged++; /* operands and results of the log have one */
}

/* Copies of the operands before the write, since it may change them, with room for the results. */
static mc_record_operand *operands_of(int nin, const mc_tensor *const *in, int nout, int level)
{
    for (int i = 0; i < nin; i++)
        if (left_over(in[i], level))
            return NULL;
    mc_record_operand *o =
        reserve(&mci_logs[level]) ? NULL : mci_calloc((size_t)(nin + nout + 1), sizeof *o);
    for (int i = 0; o && i < nin; i++)
        if (operand(&o[i], in[i], 0, level)) {
            mci_operands_free(o, i);
            return NULL;
        }
    return o;
}

/* A result that gets traced values must have a buffer of its own, and be no leaf. */
static int target(const char *op, const mc_tensor *t)
{
    char s[MCI_TEXT];
    if (mci_known(t->storage)->leaf)
        return mci_error(MC_EINVAL,
                         "%s: %s requires a gradient and is written in place; do it within "
                         "mc.no_grad(function() ... end), or use the new value",
                         op, mci_tensor_text(s, sizeof s, t));
    if (t->storage)
        return MC_OK;
    return mci_error(MC_EINVAL,
                     "record: %s is a small tensor from outside the function and is written inside "
                     "it; return the new value instead",
                     mci_tensor_text(s, sizeof s, t));
}

/* The contents of a buffer before it is written, in a tensor of their own, which the log of a level
 * reads from now on where it read the buffer as a constant. What the tape holds of older contents
 * stays: backward() refuses it. */
static int set_aside(mc_storage *s, int level, mc_tensor *copy)
{
    const mci_log *r = &mci_logs[level];
    const int64_t all[1] = {s->bytes / MCI_SIZE(s->dtype)};
    const int empty = (uintptr_t)s->data >= MCI_HOLLOW;
    memset(copy, 0, sizeof *copy); /* no room for elements: it gets storage */
    if (empty ? mci_create_hollow(s->device, copy, s->dtype, 1, all)
              : mci_create_on(s->device, copy, s->dtype, 1, all))
        return mc_errstatus();
    if (!mci_noted(copy->storage) ||
        (!empty && mci_storage_copy(copy->storage, s, s->bytes))) {
        mc_drop(copy);
        return mc_errstatus();
    }
    mc_storage *c = copy->storage;
    for (int64_t k = 0; mci_known(s)->traced[level] == -r->id && k < r->n; k++) {
        const mc_record_entry *e = &r->entries[k];
        for (int i = 0; i < e->nin; i++) {
            mc_record_operand *o = &e->operands[i];
            if (o->kept != s || (r->tape && o->version != s->version))
                continue;
            o->kept = c;
            o->serial = c->serial;
            o->version = c->version;
            mci_note_of(c)->logged += r->tape;
            mci_note_of(s)->logged -= r->tape;
            mci_storage_ref(c);
            mci_storage_unref(s);
        }
    }
    if (s->note)
        mci_note_of(s)->traced[level] = 0;
    return MC_OK;
}

/* The buffer is an argument of a recording inside the one at `level`. */
static int argument_within(const mc_storage *s, int level)
{
    for (int d = level + 1; d < mci_log_depth; d++)
        for (int i = 0; i < mci_logs[d].narguments; i++)
            if (mci_logs[d].arguments[i].s == s)
                return 1;
    return 0;
}

/* Memory from `lo` up to `hi` is about to be written through the buffer s: arguments keep what they
 * hold, and each recording learns of writes that its log does not tell. */
static int guard_level(int d, const mc_storage *s, const char *lo, const char *hi)
{
    mci_log *r = &mci_logs[d];
    int mine = 0, crossed = 0;
    if (argument_within(s, d)) /* undone when that recording ends */
        return MC_OK;
    for (int i = 0; i < r->narguments; i++) {
        mci_argument *a = &r->arguments[i];
        const char *first = (const char *)mci_place_of(a->s->data);
        int hit = a->s != s && lo < first + a->s->bytes && first < hi;
        mine |= a->s == s;
        crossed |= hit;
        if (a->before || (a->s != s && !hit))
            continue;
        if ((uintptr_t)a->s->data >= MCI_HOLLOW) { /* nothing is written */
            mci_storage_ref(a->s);
            a->before = a->s;
            continue;
        }
        const int64_t all[1] = {a->s->bytes / MCI_SIZE(a->s->dtype)};
        mc_tensor copy = {0}; /* no room for elements: it gets storage */
        if (mci_create_on(a->s->device, &copy, a->s->dtype, 1, all))
            return mc_errstatus();
        if (mci_storage_copy(copy.storage, a->s, a->s->bytes)) {
            mc_drop(&copy);
            return mc_errstatus();
        }
        a->before = copy.storage;
    }
    r->crossed |= crossed && !mine;
    if (mine || s->serial > r->since)
        return MC_OK;
    if (mci_by_shapes && d + 1 >= mci_by_shapes)
        return mci_ask("record"); /* it would be written, and again in the next recording */
    r->outside++;
    if (r->fixed)
        return mci_error(MC_EINVAL,
                         "record: the function of a batch or a loop writes to a tensor of %lld "
                         "elements from outside; return the new value "
                         "instead, or pass the tensor as an argument",
                         (long long)(s->bytes / MCI_SIZE(s->dtype)));
    return MC_OK;
}

static int guard(const mc_tensor *t)
{
    if (!t->storage || t->numel == 0)
        return MC_OK;
    const char *lo = (const char *)mci_place_of(t->data), *hi = lo + MCI_SIZE(t->dtype);
    for (int i = 0; i < t->ndim; i++) {
        int64_t reach = (t->shape[i] - 1) * t->strides[i] * MCI_SIZE(t->dtype);
        if (reach < 0)
            lo += reach;
        else
            hi += reach;
    }
    for (int d = 0; d < mci_log_depth; d++)
        if (!mci_logs[d].tape && guard_level(d, t->storage, lo, hi))
            return mc_errstatus();
    return MC_OK;
}

/* A buffer is about to be written: recordings that read it as a constant go on with what it holds
 * now. Not the one at `level`, which logs the write, and not the tape, which counts versions. */
static int keep_read(const mc_tensor *t, int level)
{
    if (guard(t))
        return mc_errstatus();
    for (int d = 0; t->storage && d < mci_log_depth; d++) {
        mc_tensor copy;
        if (d == level || mci_logs[d].tape || mci_known(t->storage)->traced[d] != -mci_logs[d].id)
            continue;
        if (set_aside(t->storage, d, &copy))
            return mc_errstatus();
        mc_drop(&copy);
    }
    return MC_OK;
}

/* The contents of a buffer that a level does not trace, before it is first written with traced
 * values: an entry of its own. */
static int snapshot(const mc_tensor *t, int level)
{
    char s[MCI_TEXT];
    if (!t->storage || traced_at(t, level))
        return MC_OK;
    if (!mci_noted(t->storage))
        return mc_errstatus();
    int outer = mci_level_of(t);
    if (outer >= 0 && t->storage->serial <= mci_logs[level].since)
        return mci_error(MC_EINVAL,
                         "record: %s belongs to the enclosing function and is written inside an "
                         "inner one; return the new value instead",
                         mci_tensor_text(s, sizeof s, t));
    /* what the buffer was made for: t may be a real view of complex numbers */
    const int dtype = t->storage->dtype;
    mc_tensor whole = { .storage = t->storage,
                        .data = t->storage->data,
                        .dtype = dtype,
                        .device = t->device,
                        .ndim = 1,
                        .strides = { 1 } };
    mc_tensor copy, *out = &whole;
    whole.numel = whole.shape[0] = t->storage->bytes / MCI_SIZE(dtype);
    mc_record_operand *o = NULL;
    if (outer >= 0) { /* made here of what the enclosing function computed: its log gets the copy */
        const mc_tensor *source = &whole;
        if (!(o = operands_of(1, &source, 1, outer)))
            return mc_errstatus();
    }
    if (set_aside(t->storage, level, &copy)) {
        if (o)
            mci_operands_free(o, 1);
        return mc_errstatus();
    }
    if (outer >= 0) {
        mc_tensor *made_there = &copy;
        mci_note_of(copy.storage)->traced[outer] = mci_logs[outer].id;
        append(outer, MC_RECORD_COPY, -1, 1, &made_there, 1, o, NULL, 0, 0, -1);
    }
    const mc_tensor *from = &copy;
    o = operands_of(1, &from, 1, level);
    mc_drop(&copy);
    if (!o)
        return mc_errstatus();
    append(level, MC_RECORD_BASE, -1, 1, &out, 1, o, NULL, 0, 0, -1);
    return mark(t->storage, level);
}

/* Tensors given as out= have other contents now. */
static void written(int nout, mc_tensor **out)
{
    for (int i = 0; i < nout; i++)
        if ((out[i]->flags & MC_FLAG_OUT) && out[i]->storage)
            out[i]->storage->version++;
}

/* Without a log: while recording pauses, or by a thread that does not record, which leaves the
 * state alone. */
static int run_counting(mci_run_fn run, const mci_family *family, const mci_op *op, int nout,
                        mc_tensor **out, int nin, const mc_tensor *const *in, const mc_params *p)
{
    int before = mci_recording, mine = recorder();
    for (int i = 0; mine && i < nout; i++)
        if ((out[i]->flags & MC_FLAG_OUT) && keep_read(out[i], -1))
            return mc_errstatus();
    if (mine)
        mci_recording = OFF;
    int rc = mine && mci_some_hollow(nout, out, nin, in)
                 ? mci_run_by_shapes(family, op, nout, out, nin, in, p)
                 : run(op, nout, out, nin, in, p);
    if (mine)
        mci_recording = before;
    written(nout, out);
    return rc;
}

int mci_record_op(mci_run_fn run, const mci_family *family, const mci_op *op, int nout,
                  mc_tensor **out, int nin, const mc_tensor *const *in, const mc_params *p)
{
    if (!ours())
        return run_counting(run, family, op, nout, out, nin, in, p);
    int level = op->family == MCI_FAMILY_RANDOM && !mci_logs[mci_log_depth - 1].tape
                    ? mci_log_depth - 1
                    : -1;
    for (int i = 0; i < nin; i++)
        level = later(level, mci_level_of(in[i]));
    for (int i = 0; i < nout; i++) {
        if (out[i]->flags & MC_FLAG_OUT)
            level = later(level, mci_level_of(out[i]));
        else
            out[i]->capacity = -1; /* every result made here gets a buffer with a serial */
    }
    level = logged_at(level);
    int log = level >= 0, compute = -1;
    mc_record_operand *o = NULL;
    if (log && op->family == MCI_FAMILY_EWISE) {
        mci_result r;
        if (family->infer(&(mci_job){ op, p, nin, in, nout }, &r))
            return mc_errstatus();
        compute = r.compute;
    }
    for (int i = 0; i < nout; i++)
        if ((out[i]->flags & MC_FLAG_OUT) &&
            ((log && (target(op->name, out[i]) || snapshot(out[i], level))) ||
             keep_read(out[i], level)))
            return mc_errstatus();
    if (log && !(o = operands_of(nin, in, nout, level)))
        return mc_errstatus();
    mci_recording = OFF;
    int rc = mci_by_shapes &&
                     (level + 1 >= mci_by_shapes || mci_some_hollow(nout, out, nin, in))
                 ? mci_run_by_shapes(family, op, nout, out, nin, in, p)
                 : run(op, nout, out, nin, in, p);
    mci_recording = ON;
    written(nout, out);
    if (!rc && mci_some_inner(nin, in))
        rc = mci_mark_inner(nout, out);
    if (!log)
        return rc;
    if (!rc) {
        int weak = nin > 0; /* what is made from numbers alone stays a number in promotion */
        for (int i = 0; i < nin; i++)
            weak &= (in[i]->flags & MCI_WEAK) != 0;
        for (int i = 0; i < nout && !rc; i++) {
            /* no elements need no memory, but a serial */
            if (!out[i]->storage && (rc = mc_promote(out[i])) != 0)
                break;
            if ((rc = mark(out[i]->storage, level)) != 0)
                break;
            if (weak && out[i]->ndim == 0 && (out[i]->dtype == MC_F64 || out[i]->dtype == MC_C128))
                out[i]->flags |= MCI_WEAK;
        }
        if (!rc) {
            append(level, MC_RECORD_OP, op->id, nout, out, nin, o, p, 0, 0, compute);
            return MC_OK;
        }
    }
    mci_operands_free(o, nin);
    return rc;
}

/* A copy over all of a buffer that the function made and nothing has read: what it held before is
 * not asked for. */
static int fresh(const mc_tensor *dst, int nin, const mc_tensor *const *in, int level)
{
    const mci_log *r = &mci_logs[level];
    return nin == 1 && !r->tape && mc_record_whole(dst) && dst->storage->serial > r->since &&
           in[0]->storage != dst->storage && mci_level_of(dst) < 0 &&
           mci_known(dst->storage)->traced[level] != -r->id;
}

static mc_record_operand *pending;
static int pending_level;

int mci_record_write_begin(mc_tensor *dst, int nin, const mc_tensor *const *in)
{
    int log = ours(), level = log ? mci_level_of(dst) : -1;
    for (int i = 0; log && i < nin; i++)
        level = later(level, mci_level_of(in[i]));
    level = logged_at(level);
    if (level >= 0) {
        const int over = fresh(dst, nin, in, level);
        if (target("copy", dst) || (over ? mark(dst->storage, level) : snapshot(dst, level)))
            return -1;
        if (over && mci_by_shapes && level + 1 >= mci_by_shapes)
            mci_hollow_out(dst);
        pending = operands_of(nin, in, 1, level);
        if (!pending)
            return -1;
        pending_level = level;
    }
    if (recorder() && keep_read(dst, level)) {
        if (level >= 0)
            mci_operands_free(pending, nin);
        return -1;
    }
    if (dst->storage)
        dst->storage->version++;
    if (!log)
        return 0;
    mci_recording = OFF;
    return 1 + (level >= 0);
}

int mci_record_write_end(int logged, int kind, mc_tensor *dst, int nin, const mc_tensor *const *in,
                         int axis, int accumulate, int rc)
{
    (void)in;
    mci_recording = ON;
    if (logged != 2)
        return rc;
    if (!rc) {
        /* it has a note since it was looked at before the write */
        mci_note_of(dst->storage)->traced[pending_level] = mci_logs[pending_level].id;
        append(pending_level, kind, -1, 1, &dst, nin, pending, NULL, axis, accumulate, -1);
    } else {
        mci_operands_free(pending, nin);
    }
    pending = NULL;
    return rc;
}

int mc_record_call(int number, int nout, mc_tensor *const *out, int nin, const mc_tensor *const *in,
                   int32_t *level)
{
    int at = -1;
    for (int i = 0; i < nin && ours(); i++)
        at = later(at, mci_level_of(in[i]));
    at = logged_at(at);
    if (at < 0)
        return mci_error(MC_EINTERNAL, "record: no operand of the call is traced");
    for (int i = 0; i < nout; i++) {
        if (mc_promote(out[i]) || !mci_noted(out[i]->storage))
            return mc_errstatus();
        out[i]->flags &= ~MCI_WEAK;
    }
    mc_record_operand *o = operands_of(nin, in, nout, at);
    if (!o)
        return mc_errstatus();
    for (int i = 0; i < nout; i++)
        mci_note_of(out[i]->storage)->traced[at] = mci_logs[at].id;
    append(at, MC_RECORD_CALL, number, nout, out, nin, o, NULL, 0, 0, -1);
    *level = at;
    return MC_OK;
}
