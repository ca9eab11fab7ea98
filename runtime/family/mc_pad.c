/* mc_pad.c - driver of padding: every element of the result is written once, from the operand or
 * from a constant.
 *
 * Each axis but the last gets a map from places of the result to places of the operand, so that
 * all modes and widths are one loop over rows; long rows are cut into pieces. No arithmetic: every
 * dtype works, elements move as blocks of bytes. What lies beside the operand in mode `empty` is
 * not written. */
#include "base/mc_memory.h"
#include "family/mc_family.h"
#include "../../kernels/mck_pad.h"

#include <string.h>

#define TASK 32768                /* elements of a task, about */

/* Modes as the row of pad lists them. */
_Static_assert((int)MCK_PAD_CONSTANT == MCI_PAD_CONSTANT && (int)MCK_PAD_EDGE == MCI_PAD_EDGE &&
                   (int)MCK_PAD_REFLECT == MCI_PAD_REFLECT &&
                   (int)MCK_PAD_SYMMETRIC == MCI_PAD_SYMMETRIC &&
                   (int)MCK_PAD_WRAP == MCI_PAD_WRAP && (int)MCK_PAD_EMPTY == MCI_PAD_EMPTY,
               "modes of padding");

typedef struct pad_job {
    const mc_tensor *x;
    char *out;
    const char *values; /* [ndim][2] elements */
    int nd, mode;
    int64_t shape[MC_MAX_RANK], before[MC_MAX_RANK];
    const int64_t *map[MC_MAX_RANK];
    int64_t rows, total, size; /* rows of a task, rows altogether, bytes of an element */
    int64_t pieces, piece;     /* of a row, when it is longer than a task */
} pad_job;

/* count elements from src (stride in elements) to contiguous dst */
static void move_run(char *dst, const char *src, int64_t count, int64_t stride, int64_t size)
{
    if (stride == 1) {
        memcpy(dst, src, (size_t)(count * size));
        return;
    }
    if (size == 4)
        for (int64_t i = 0; i < count; i++)
            memcpy(dst + 4 * i, src + 4 * i * stride, 4);
    else if (size == 8)
        for (int64_t i = 0; i < count; i++)
            memcpy(dst + 8 * i, src + 8 * i * stride, 8);
    else
        for (int64_t i = 0; i < count; i++)
            memcpy(dst + size * i, src + size * i * stride, (size_t)size);
}

/* Places [from, to) of one row of the result; src: its row of the operand, or NULL where the row is
 * made of `constant`. */
static void pad_row(const pad_job *j, char *dst, const char *src, const char *constant,
                    int64_t from, int64_t to)
{
    const int last = j->nd - 1;
    const int64_t n = j->x->shape[last], b = j->before[last], step = j->x->strides[last],
                  size = j->size;
    const int64_t lo = from > b ? from : b, hi = to < b + n ? to : b + n;
    if (lo < hi && constant)
        move_run(dst + lo * size, constant, hi - lo, 0, size);
    else if (lo < hi)
        move_run(dst + lo * size, src + (lo - b) * step * size, hi - lo, step, size);
    for (int side = 0; side < 2; side++) {
        const int64_t first = side && from < b + n ? b + n : from, end = !side && to > b ? b : to;
        if (first >= end || j->mode == MCK_PAD_EMPTY)
            continue;
        if (j->mode == MCK_PAD_CONSTANT)
            move_run(dst + first * size, j->values + (2 * last + side) * size, end - first, 0,
                     size);
        else
            for (int64_t i = first; i < end; i++)
                memcpy(dst + i * size, src + mck_pad_source(j->mode, i, b, n) * step * size,
                       (size_t)size);
    }
}

static void pad_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const pad_job *j = arg;
    const mc_tensor *x = j->x;
    const int last = j->nd - 1;
    const int64_t len = j->shape[last], from = begin % j->pieces * j->piece,
                  to = from + j->piece < len ? from + j->piece : len;
    (void)end;
    (void)worker;
    begin /= j->pieces;
    const int64_t r1 = (begin + 1) * j->rows < j->total ? (begin + 1) * j->rows : j->total;
    for (int64_t r = begin * j->rows; r < r1; r++) {
        int64_t rest = r, offset = 0;
        const char *constant = NULL; /* of the last axis on which the row lies outside */
        for (int i = last - 1; i >= 0; i--) {
            const int64_t k = j->map[i][rest % j->shape[i]];
            rest /= j->shape[i];
            if (k >= 0)
                offset += k * x->strides[i];
            else if (!constant)
                constant = j->values + (2 * i + (k == MCK_PAD_AFTER)) * j->size;
        }
        if (!constant || j->mode != MCK_PAD_EMPTY)
            pad_row(j, j->out + r * len * j->size, mci_at(x, offset), constant, from, to);
    }
}

/* operands: x, and for the mode constant values[ndim, 2] in its dtype. i[0] mode, i[1 + 2 axis],
 * i[2 + 2 axis] widths */
int mci_pad_infer(const mci_job *job, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_params *p = job->params;
    const mc_tensor *x = job->in[0];
    char s[MCI_TEXT];
    const int nd = x->ndim, mode = (int)p->i[0];
    mci_result_one(r, x->dtype, nd, x->shape);
    if (nd == 0)
        return mci_error(MC_ESHAPE, "%s: operand is %s; it needs at least one axis", op->name,
                         mci_tensor_text(s, sizeof s, x));
    for (int i = 0; i < nd; i++) {
        const int64_t before = p->i[1 + 2 * i], after = p->i[2 + 2 * i];
        if (before < 0 || after < 0 || before > INT64_MAX / 4 || after > INT64_MAX / 4)
            return mci_error(
                MC_EINVAL, "%s: widths %lld and %lld of %s are not both whole numbers from 0",
                op->name, (long long)before, (long long)after, mci_tensor_text(s, sizeof s, x));
        r->shape[0][i] = x->shape[i] + before + after;
        const int none = mode == MCK_PAD_CONSTANT || mode == MCK_PAD_EMPTY;
        if (x->shape[i] == 0 && before + after > 0 && !none)
            return mci_error(
                MC_ESHAPE,
                "%s: an axis of %s is empty and has nothing to repeat; use the mode constant",
                op->name, mci_tensor_text(s, sizeof s, x));
    }
    if (mode == MCK_PAD_CONSTANT && (job->nin < 2 || job->in[1]->numel != 2 * nd))
        return mci_error(MC_EINVAL, "%s: values are missing; give two for each axis of %s",
                         op->name, mci_tensor_text(s, sizeof s, x));
    return MC_OK;
}

int mci_pad_run(const mci_op *op, int nout, mc_tensor **outs, int nin, const mc_tensor *const *in,
                const mc_params *p)
{
    (void)nout;
    const mc_tensor *x = in[0];
    mc_tensor *out = outs[0], values = {0}, res = {0};
    const int nd = x->ndim, mode = (int)p->i[0], given = (out->flags & MC_FLAG_OUT) != 0;
    int64_t places = 0;
    mci_result r;
    int rc = mci_pad_infer(&(mci_job){ op, p, nin, in, nout }, &r);
    if (rc || (rc = mci_out(op->name, out, x->dtype, nd, r.shape[0])) != 0 || out->numel == 0)
        return rc;
    const int64_t *shape = r.shape[0];
    for (int i = 0; i + 1 < nd; i++)
        places += shape[i];
    if (mode == MCK_PAD_CONSTANT)
        rc = mci_materialize(&values, in[1], x->dtype);
    const int direct = mci_contiguous(out) && (!given || mci_overlap(out, x) < 0);
    if (!rc && !direct)
        rc = mc_create(&res, x->dtype, nd, shape);
    int64_t *maps = rc ? NULL : mci_alloc((size_t)places * sizeof *maps);
    if (!rc && !maps)
        rc = mc_errstatus();
    if (!rc) {
        pad_job j = { .x = x,
                      .out = direct ? out->data : res.data,
                      .values = values.data,
                      .nd = nd,
                      .mode = mode,
                      .size = MCI_SIZE(x->dtype) };
        memcpy(j.shape, shape, sizeof j.shape);
        int64_t *at = maps;
        for (int i = 0; i < nd; i++) {
            j.before[i] = p->i[1 + 2 * i];
            j.map[i] = at;
            for (int64_t k = 0; k < shape[i] && i + 1 < nd; k++)
                *at++ = mck_pad_source(mode, k, j.before[i], x->shape[i]);
        }
        const int64_t len = shape[nd - 1];
        j.total = out->numel / len;
        j.rows = TASK / len > 1 ? TASK / len : 1;
        j.piece = j.rows > 1 ? len : TASK;
        j.pieces = (len + j.piece - 1) / j.piece;
        rc = mci_parallel((j.total + j.rows - 1) / j.rows * j.pieces, pad_task, &j);
    }
    mci_free(maps);
    if (!rc && !direct)
        rc = mci_copy(out, &res);
    mc_drop(&values);
    mc_drop(&res);
    if (rc)
        mci_out_fail(out, given);
    return rc;
}
