/* mc_tape.c - what the recording that stays holds: entries found for a backward(), and those that
 * nobody can ask for any more dropped, whose results are needed by nothing that is alive.
 *
 * It is the outermost log; mc_leaf.c begins and ends it. */
#include "record/mc_log.h"

#include <string.h>

static int32_t search;

/* What the results of an entry are made from is wanted when they are. */
static int wants(mc_record_entry *e, int alive)
{
    int yes = 0;
    for (int i = e->nin; i < e->nin + e->nout; i++) {
        const mc_storage *s = e->operands[i].kept;
        yes |= s && (mci_known(s)->wanted == search || (alive && s->refs > mci_known(s)->logged));
    }
    for (int i = 0; yes && i < e->nin; i++)
        if (e->operands[i].kept && e->operands[i].traced)
            mci_note_of(e->operands[i].kept)->wanted = search;
    return yes;
}

int64_t mc_tape_find(int n, mc_tensor *const *t)
{
    search++;
    mci_logs[0].held = 1;
    for (int i = 0; i < n; i++)
        if (t[i]->storage && t[i]->storage->note) /* without one nothing on the tape made it */
            mci_note_of(t[i]->storage)->wanted = search;
    int64_t before = -1, found = 0;
    /* again: a buffer found may be written by an entry after the one that led to it */
    while (found != before) {
        before = found;
        found = 0;
        for (int64_t k = mci_logs[0].n; k-- > 0;)
            found += mci_logs[0].entries[k].wanted = wants(&mci_logs[0].entries[k], 0);
    }
    return mci_logs[0].n;
}

void mc_tape_drop(int which)
{
    mci_log *r = &mci_logs[0];
    if (!mci_log_depth || !r->tape || (r->held && which == MC_TAPE_DEAD))
        return;
    r->held = 0;
    if (which == MC_TAPE_NONE)
        return;
    if (which == MC_TAPE_DEAD) {
        search++;
        for (int64_t k = r->n; k-- > 0;)
            r->entries[k].wanted = !wants(&r->entries[k], 1);
    }
    int64_t left = 0;
    for (int64_t k = 0; k < r->n; k++) {
        mc_record_entry *e = &r->entries[k];
        if (!e->wanted) {
            r->entries[left++] = *e;
            continue;
        }
        for (int i = 0; i < e->nin + e->nout; i++)
            if (e->operands[i].kept) {
                mci_note *n = mci_note_of(e->operands[i].kept);
                n->logged--;
                n->gone |= which == MC_TAPE_FOUND && i >= e->nin;
            }
        mci_operands_free(e->operands, e->nin + e->nout);
    }
    r->n = left;
    r->sweep = left < 128 ? 256 : 2 * left;
}

int mc_tape_buffer(mc_tensor *out, const mc_tensor *t)
{
    mc_storage *s = t->storage;
    memset(out, 0, sizeof *out);
    mci_storage_ref(s);
    out->storage = s;
    out->data = s->data;
    out->dtype = s->dtype;
    out->ndim = s->ndim;
    out->device = s->device;
    out->numel = mci_numel(s->ndim, s->shape);
    memcpy(out->shape, s->shape, sizeof *s->shape * (size_t)s->ndim);
    for (int64_t d = s->ndim - 1, step = 1; d >= 0; step *= s->shape[d] > 0 ? s->shape[d] : 1, d--)
        out->strides[d] = step;
    return MC_OK;
}

int mc_tape_gone(const mc_record_operand *o) { return mci_known(o->kept)->gone; }
int mc_tape_version(const mc_record_operand *o) { return o->kept ? o->kept->version : o->version; }
