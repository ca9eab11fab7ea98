/* mc_launch_segment.c - values joined at places on devices with programs: segments, scatters,
 * writes that add.
 *
 * Places are sorted with the positions of their values, equal ones in order, so that sums run in
 * the order of the values whatever the device does at once. */
#include "family/mc_launch.h"
#include "../../kernels/device/jobs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LONG 256 /* values of a place, on average, from which a group takes them */
#define WIDE 32  /* columns that keep lanes busy without groups */
#define OUTSIDE                                                                                   \
    "a position is outside the axis or the number of segments; they run from 1 (from 0 with base " \
    "= 0)"

enum { ALONE, FIRST, KEEP }; /* what x holds: not asked for, joined first, kept without values */

/* Rows of values and places; x and to: [m][places][columns]. */
typedef struct work {
    int how, wide, dtype, self, base, back; /* back: negative places count from the end */
    int64_t m, k, places, columns;
    mci_place index, values, x, to;
} work;

static void source_of(char *text, size_t room, int how, int wide)
{
    static const char *const real[] = { "((a) + (b))", "((a) * (b))",
                                        "((a) == (a) && ((b) > (a) || (b) != (b)) ? (b) : (a))",
                                        "((a) == (a) && ((b) < (a) || (b) != (b)) ? (b) : (a))",
                                        "((a) + (b))" };
    static const char *const whole[] = { "((T)((uint64_t)(a) + (uint64_t)(b)))",
                                         "((T)((uint64_t)(a) * (uint64_t)(b)))",
                                         "((b) > (a) ? (b) : (a))", "((b) < (a) ? (b) : (a))",
                                         "(a)" };
    static const char *const complex[] = { "mck_add_c128(a, b)", "mck_mul_c128(a, b)", "(a)", "(a)",
                                           "mck_add_c128(a, b)" };
    const int kind = mci_kind(wide);
    snprintf(
        text, room,
        "%s#define T %s\n#define NUMBER MCD_NUMBER_%s\n#define JOIN(a, b) %s\n#define DIVIDE(v, "
        "n) %s\n#include \"value.h\"\n#include \"segment.c\"\n",
        kind == 'c' ? "#include \"mck_math_c.h\"\n" : "", mci_device_types[wide],
        mc_dtype_name(wide),
        (kind == 'c'   ? complex
         : kind == 'f' ? real
                       : whole)[how],
        kind == 'c'   ? "mck_make_c128((v).re / (n), (v).im / (n))"
        : kind == 'f' ? "((v) / (n))"
                      : "(v)");
}

static int joined(mci_bound *b, const work *w)
{
    char source[1024];
    const int group =
        mci_device_caps(b->device)->group < 256 ? mci_device_caps(b->device)->group : 256;
    const int64_t results = w->m * w->places * w->columns;
    if (results == 0) return MC_OK;
    mcd_segment j = { .m = w->m,
                      .k = w->k,
                      .pad = 1,
                      .places = w->places,
                      .columns = w->columns,
                      .base = w->base,
                      .self = w->back,
                      .mean = w->how == MCI_JOIN_MEAN };
    while (j.pad < w->k) j.pad *= 2;
    mci_join_identity(w->how, w->dtype, w->wide, 1, j.num);
    const mci_place pairs = mci_place_work(b, MC_C128, 2, (const int64_t[]){ w->m, j.pad });
    mc_launch *l = mci_launch_lanes(b, "#define KEYS\n#include \"segment.c\"\n", "keys",
                                    w->m * j.pad, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &pairs);
    mci_launch_buffer(l, w->k ? &w->index : &pairs);
    int rc = mci_launch_guard(b, OUTSIDE, offsetof(mcd_segment, guard));
    rc = rc ? rc : mci_launch_order(b, &pairs, w->m, j.pad);
    if (rc) return rc;
    source_of(source, sizeof source, w->how, w->wide);
    j.self = w->self;
    if (w->self == ALONE && w->k / w->places >= LONG && w->columns < WIDE)
        l = mci_launch_new(b, source, "groups", results, group, &j, sizeof j);
    else
        l = mci_launch_lanes(b, source, "lanes", results, &j, sizeof j);
    if (!l) return mc_errstatus();
    mci_launch_buffer(l, &w->to);
    mci_launch_buffer(l, &pairs);
    mci_launch_buffer(l, w->k ? &w->values : &pairs);
    mci_launch_buffer(l, w->self == ALONE ? &w->to : &w->x);
    return MC_OK;
}

/* `count` axes from `axis` on before all others. */
static mci_place in_front(const mci_place *p, int axis, int count)
{
    mci_place q = *p;
    int at = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < p->ndim; i++)
            if ((i >= axis && i < axis + count) != pass) {
                q.shape[at] = p->shape[i];
                q.strides[at++] = p->strides[i];
            }
    return q;
}

/* Where results are computed: p itself, or workspace in the dtype of the arithmetic. */
static mci_place computed(mci_bound *b, const mci_place *p, int wide)
{
    return p->dtype == wide && mci_place_dense(p) ? *p : mci_place_work(b, wide, p->ndim, p->shape);
}

static int back_to(mci_bound *b, const mci_place *p, const mci_place *from)
{
    return from->slot == p->slot ? MC_OK : mci_launch_copy(b, p, from);
}

static int segments(const mci_job *job, const mci_result *r, mci_bound *b)
{
    const mc_params *p = job->params;
    const mci_place x = mci_place_in(b, 0), result = mci_place_out(b, 0);
    int axis, rc = mci_axis(job->op->name, job->in[0], p->naxes < 1 ? 0 : p->axes[0], &axis);
    if (rc || mci_place_numel(&result) == 0) return rc;
    const mci_place out = in_front(&result, axis, 1);
    work w = { .how = mci_join_of(job->op, p),
               .wide = r->compute,
               .dtype = x.dtype,
               .base = p->base,
               .m = 1,
               .k = x.shape[axis],
               .places = p->i[0],
               .columns = mci_place_numel(&out) / p->i[0],
               .index = mci_place_in(b, 1),
               .values = in_front(&x, axis, 1),
               .to = computed(b, &out, r->compute) };
    rc = mci_launch_dense(b, &w.index, MC_I64);
    rc = rc ? rc : mci_launch_dense(b, &w.values, w.wide);
    rc = rc ? rc : joined(b, &w);
    return rc ? rc : back_to(b, &out, &w.to);
}

static int scatter(const mci_job *job, const mci_result *r, mci_bound *b)
{
    const mc_params *p = job->params;
    mci_place x = mci_place_in(b, 0), out = mci_place_out(b, 0), index = mci_place_in(b, 1);
    const mci_place values = mci_place_in(b, 2);
    int axis, rc = mci_axis(job->op->name, job->in[0], p->naxes < 1 ? -1 : p->axes[0], &axis);
    if (rc || mci_place_numel(&out) == 0) return rc;
    rc = mci_launch_copy(b, &out, &x);
    if (rc || mci_place_numel(&index) == 0) return rc;
    mci_place spread = mci_place_work(b, x.dtype, index.ndim, index.shape);
    rc = mci_launch_copy(b, &spread, &values);
    for (int i = 0; i < x.ndim; i++)
        if (i != axis) x.shape[i] = out.shape[i] = index.shape[i];
    int64_t lines, size;
    const unsigned mask = 1u << axis;
    const mci_place part = mci_place_rows(&out, mask, &lines, &size);
    work w = { .how = mci_join_of(job->op, p),
               .wide = r->compute,
               .dtype = x.dtype,
               .self = mci_join_self(job->op, p) ? FIRST : KEEP,
               .base = p->base,
               .back = 1,
               .columns = 1,
               .m = lines,
               .k = index.shape[axis],
               .places = size };
    w.index = mci_place_rows(&index, mask, &lines, &size);
    w.values = mci_place_rows(&spread, mask, &lines, &size);
    w.x = mci_place_rows(&x, mask, &lines, &size);
    w.to = mci_place_work(b, r->compute, part.ndim, part.shape);
    rc = rc ? rc : mci_launch_dense(b, &w.index, MC_I64);
    rc = rc ? rc : mci_launch_dense(b, &w.values, w.wide);
    rc = rc ? rc : mci_launch_dense(b, &w.x, w.wide);
    rc = rc ? rc : joined(b, &w);
    return rc ? rc : mci_launch_copy(b, &part, &w.to);
}

int mci_segment_launches(int device, const mci_job *job, const mci_result *r,
                         mc_tensor *const *outs, mci_bound *b)
{
    (void)device, (void)outs;
    return job->nin > 2 ? scatter(job, r, b) : segments(job, r, b);
}

int mci_launch_put_added(mci_bound *b, int axis, const mci_place *out, const mci_place *index,
                         const mci_place *values)
{
    const int kind = mci_kind(out->dtype);
    const mci_place to = in_front(out, axis, 1);
    work w = { .how = MCI_JOIN_SUM,
               .wide = kind == 'c'   ? MC_C128
                       : kind == 'f' ? MC_F64
                                     : MC_I64,
               .dtype = out->dtype,
               .self = FIRST,
               .base = 1,
               .back = 1,
               .m = 1,
               .k = mci_place_numel(index),
               .places = to.shape[0],
               .columns = mci_place_numel(&to) / to.shape[0],
               .index = *index,
               .values = in_front(values, axis, index->ndim),
               .x = to };
    w.to = mci_place_work(b, w.wide, to.ndim, to.shape);
    int rc = mci_launch_dense(b, &w.values, w.wide);
    rc = rc ? rc : mci_launch_dense(b, &w.x, w.wide);
    rc = rc ? rc : joined(b, &w);
    return rc ? rc : mci_launch_copy(b, &to, &w.to);
}
