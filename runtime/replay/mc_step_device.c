/* mc_step_device.c - a fused group on a device: one launch of a program of its own.
 *
 * The text (lua/mascon/compile/native/device.lua) knows dtypes; here it gets the layouts, as
 * #define lines in front (kernels/device/fused.h), so that a leaf that lies like the results or is
 * one value costs no arithmetic. Leaves that are walked beyond the room of the job are copied. */
#include "replay/mc_step.h"
#include "family/mc_launch.h"

#include <stdio.h>
#include <string.h>

#define MOST 16
#define RANK MC_MAX_RANK
#define WALKED 40 /* strides of leaves that are walked axis by axis */

/* Bound groups stand for elementwise ops: a result may lie on an operand that is read as it
 * lies. */
static const mci_op group_op = {
    .name = "compile", .id = -1, .family = MCI_FAMILY_EWISE, .kernel = -1
};

/* Leaves under the shape of the results, axes collapsed. */
typedef struct layout {
    int64_t shape[RANK], strides[MOST][RANK]; /* leaves, then the results */
    int nd, walks;
    char along[MOST], one[MOST];
} layout;

static void look(const mci_place *leaf, int nleaves, const mci_place *out, layout *l)
{
    memcpy(l->shape, out->shape, sizeof l->shape);
    for (int k = 0; k < nleaves; k++)
        mci_place_strides(&leaf[k], out->ndim, out->shape, l->strides[k]);
    mci_place_strides(out, out->ndim, out->shape, l->strides[nleaves]);
    l->nd = mci_collapse(out->ndim, l->shape, nleaves + 1, l->strides);
    l->walks = 0;
    for (int k = 0; k < nleaves; k++) {
        l->one[k] = l->along[k] = 1;
        for (int i = 0; i < l->nd; i++) {
            l->one[k] &= l->strides[k][i] == 0;
            l->along[k] &= l->strides[k][i] == l->strides[nleaves][i];
        }
        l->walks += !l->one[k] && !l->along[k];
    }
}

/* Copies of leaves, until the strides of the others fit the job. */
static int settle(mci_bound *b, mci_place *leaf, int nleaves, const mci_place *out, layout *l)
{
    look(leaf, nleaves, out, l);
    for (int k = 0; k < nleaves && l->walks * l->nd > WALKED; k++) {
        if (l->one[k] || l->along[k]) continue;
        mci_place w = mci_place_work(b, leaf[k].dtype, out->ndim, out->shape);
        int rc = mci_launch_copy(b, &w, &leaf[k]);
        if (rc) return rc;
        leaf[k] = w;
        look(leaf, nleaves, out, l);
    }
    return MC_OK;
}

/* The #define lines in front of the program. */
static int head(char *text, size_t room, const mci_step *s, const mci_place *leaf, const layout *l,
                int nbuf, int numbers, int guards)
{
    int walk = 0,
        n = snprintf(text, room,
                     "#define MCF_BUFFERS %d\n#define MCF_RANK %d\n#define MCF_WALKS %d\n#define "
                     "MCF_NUMBERS %d\n#define MCF_GUARDS %d\n%s",
                     nbuf, l->nd ? l->nd : 1, l->walks ? l->walks : 1, numbers ? numbers : 1,
                     guards, l->walks ? "#define MCF_WALKED\n" : "");
    for (int k = 0; k < s->nin; k++) {
        if (leaf[k].operand >= 0) continue;
        char at[16] = "i";
        if (l->one[k])
            strcpy(at, "0");
        else if (!l->along[k])
            snprintf(at, sizeof at, "off[%d]", walk++);
        n += snprintf(text + n, room - (size_t)n, "#define MCF_AT_%d %s\n", k + 1, at);
    }
    return n;
}

static int launch(mci_bound *b, const mci_step *s, const mci_place *leaf, const mci_place *out,
                  const layout *l)
{
    const mci_step_program *p = s->program;
    int nbuf = s->nout + 1, numbers = 0, guards = p->nguards + (p->nguards & 1), at = 0;
    char job[MC_LAUNCH_RAW] = { 0 };
    guards = guards ? guards : 2;
    for (int k = 0; k < s->nin; k++) *(leaf[k].operand < 0 ? &nbuf : &numbers) += 1;
    const int rank = l->nd ? l->nd : 1, walks = l->walks ? l->walks : 1;
    const size_t first = 8 * (size_t)(nbuf + 1 + rank + walks * rank),
                 refused = first + 16 * (size_t)(numbers ? numbers : 1),
                 bytes = refused + 4 * (size_t)guards;
    if (nbuf > MC_LAUNCH_BUFFERS || bytes > sizeof job)
        return mci_error(MC_EINTERNAL, "compile: a group of %d operands is too large for a launch",
                         s->nin + s->nout);
    const int64_t n = mci_place_numel(out);
    memcpy(job + 8 * nbuf, &n, 8);
    memcpy(job + 8 * (nbuf + 1), l->shape, 8 * (size_t)l->nd);
    for (int k = 0; k < s->nin; k++)
        if (leaf[k].operand < 0 && !l->one[k] && !l->along[k])
            memcpy(job + 8 * (nbuf + 1 + rank + rank * at++), l->strides[k], 8 * (size_t)l->nd);
    const size_t room = 1024 + strlen(p->text);
    char *source = mci_alloc(room);
    if (!source) return mc_errstatus();
    const int used = head(source, room, s, leaf, l, nbuf, numbers, guards);
    strcpy(source + used, p->text);
    mc_launch *made = mci_launch_lanes(b, source, "fused", n, job, bytes);
    mci_free(source);
    if (!made) return mc_errstatus();
    for (int k = 0; k < s->nout; k++) mci_launch_buffer(made, &out[k]);
    for (int k = 0; k < s->nin; k++)
        if (leaf[k].operand < 0) mci_launch_buffer(made, &leaf[k]);
    int rc = mci_launch_guards(b);
    for (int k = 0; k < p->nguards && !rc; k++) {
        const mci_op *op = mci_op_at(p->guards[k]);
        rc = mci_launch_refusal(b, op->name, op->guard, refused + 4 * (size_t)k);
    }
    numbers = 0;
    for (int k = 0; k < s->nin && !rc; k++)
        if (leaf[k].operand >= 0)
            rc = mci_launch_number(b, k, p->want[k], first + 16 * (size_t)numbers++);
    return rc;
}

int mci_step_launch(int device, const mci_step *s, mc_tensor *const *h, mci_bound *b)
{
    mci_place leaf[MOST], out[MOST];
    layout l;
    if (!s->program || s->nin + s->nout > MOST - 1)
        return mci_error(MC_EUNSUPPORTED,
                         "compile: a fused group has no form for %s; compile the function with "
                         "fuse = false or move the operands with :to \"cpu\" first",
                         mci_device_text(device));
    int rc = mci_bind_function(device, s->nin, s->nout, h, NULL, NULL, NULL, b);
    b->op = &group_op;
    b->title = s->title;
    for (int k = 0; k < s->nin && !rc; k++) leaf[k] = mci_place_in(b, k);
    for (int k = 0; k < s->nout && !rc; k++) out[k] = mci_place_out(b, k);
    if (!rc && mci_place_numel(&out[0]) > 0) {
        rc = settle(b, leaf, s->nin, &out[0], &l);
        if (!rc) rc = launch(b, s, leaf, out, &l);
    }
    if (rc) mci_bound_free(b);
    return rc;
}

/* ---- the text ---- */

void mci_step_program_free(mci_step_program *p)
{
    mci_free(p);
}

int mci_step_program_set(mci_step *s, const char *text, int nguards, const int32_t *guards,
                         const int32_t *want)
{
    if (s->kind != MCI_STEP_GROUP || nguards > MCI_STEP_GUARDS || s->nin > MOST)
        return mci_error(MC_EINTERNAL, "plan: %d guards and %d leaves are too many", nguards,
                         s->nin);
    mci_step_program *p = mci_calloc(1, sizeof *p + strlen(text) + 1);
    if (!p) return mc_errstatus();
    strcpy(p->text, text);
    p->nguards = nguards;
    if (nguards) memcpy(p->guards, guards, sizeof *guards * (size_t)nguards);
    memcpy(p->want, want, sizeof *want * (size_t)s->nin);
    mci_step_program_free(s->program);
    s->program = p;
    return MC_OK;
}
