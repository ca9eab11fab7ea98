/* mc_random.c - driver of random tensors: element i of a result is element first + i of the
 * stream, whatever the cut.
 *
 * Parameters: i[0], i[1] key (low and high 32 bits), i[2], i[3] stream, i[4] first, i[5] bit set
 * of the distribution's parameters that are tensors (in[] in order; the others stand in d[], or
 * in i[6..] for whole numbers), i[10] results per element, i[12] bit set of what stands in
 * further operands instead: 1 the key, 2 `first`. axes/naxes carry the shape. Tensor parameters
 * broadcast to it. Keys and firsts of k axes are those of the first k axes of the result: each
 * of its rows is drawn as if alone. Kernels give f64 unless they have one for the dtype asked
 * for; the rest is conversion. */
#include "family/mc_family.h"
#include "../../kernels/mck_random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GRAIN 16384 /* results per task */
#define BLOCK 1024  /* where parameters are gathered or results converted */

typedef struct random_job {
    mck_random_fn fn;
    mck_random k;
    /* dtype of the kernel's results and parameters; direct: straight into the result */
    int dtype, ptype, nparam, direct;
    int64_t total, task, block;       /* elements: all, per task, per block */
    int64_t row;                      /* elements that share a key */
    /* i64, one for each row; without memory: those of k serve all */
    mc_tensor keys, firsts;
    mc_tensor param[MCK_RANDOM_PARAMS];
    unsigned tensors;
    mc_tensor *out;
    double scalar[MCK_RANDOM_PARAMS];
    int64_t whole[MCK_RANDOM_PARAMS];
    _Atomic int64_t bad; /* smallest place + 1 of a refused element */
} random_job;

static void note_bad(random_job *j, int64_t at)
{
    int64_t seen = atomic_load(&j->bad);
    while ((seen == 0 || at < seen) && !atomic_compare_exchange_weak(&j->bad, &seen, at))
        ;
}

static void random_task(void *arg, int64_t begin, int64_t end, int worker)
{
    random_job *j = arg;
    (void)worker;
    int64_t stop = end * j->task < j->total ? end * j->task : j->total;
    double results[BLOCK], params[MCK_RANDOM_PARAMS][BLOCK];
    for (int64_t at = begin * j->task, n; at < stop; at += n) {
        int64_t status = 0;
        int64_t row = at / j->row, within = at - row * j->row;
        n = stop - at < j->block ? stop - at : j->block;
        n = n < j->row - within ? n : j->row - within;
        mck_random k = j->k;
        if (j->keys.data)
            k.key = ((const uint64_t *)j->keys.data)[row];
        if (j->firsts.data)
            k.first = ((const int64_t *)j->firsts.data)[row];
        k.first += within;
        k.n = n;
        k.status = &status;
        k.out =
            j->direct ? (char *)j->out->data + at * k.width * MCI_SIZE(j->dtype) : (void *)results;
        for (int p = 0; p < j->nparam; p++) {
            int per = p == 1 && k.width > 1; /* the weights of a multinomial */
            if (j->tensors >> p & 1) {
                if (per) {
                    k.p[p] = (char *)j->param[p].data +
                             (j->param[p].strides[0] ? at * k.width * MCI_SIZE(j->ptype) : 0);
                    k.stride[p] = j->param[p].strides[0] != 0;
                } else {
                    mci_gather(&j->param[p], at, n, j->ptype, params[p]);
                    k.p[p] = params[p];
                    k.stride[p] = 1;
                }
            } else {
                k.p[p] =
                    j->ptype == MC_I64 ? (const void *)&j->whole[p] : (const void *)&j->scalar[p];
                k.stride[p] = 0;
            }
        }
        j->fn(&k);
        if (MC_UNLIKELY(status)) {
            note_bad(j, at + status);
            return;
        }
        if (!j->direct)
            mci_scatter(j->out, at * k.width, n * k.width, j->dtype, results);
        if (mc_cancel_pending())
            return;
    }
}

/* "random.gamma" of the row "random_gamma": what a caller wrote. */
static const char *public_name(const mci_op *op, char *buf, size_t n)
{
    snprintf(buf, n, "random.%s", strncmp(op->name, "random_", 7) ? op->name : op->name + 7);
    return buf;
}

/* The error of refused parameters: the row's text with their values. */
static int refused(const mci_op *op, const random_job *j)
{
    char name[64], values[160] = "";
    size_t used = 0;
    for (int p = 0; p < j->nparam && used < sizeof values; p++) {
        double v = 0;
        int64_t whole = j->whole[p];
        if (!(j->tensors >> p & 1))
            v = j->scalar[p];
        else if (p == 1 && j->k.width > 1)
            v = 0;
        else if (j->ptype == MC_I64)
            mci_gather(&j->param[p], j->bad - 1, 1, MC_I64, &whole);
        else
            mci_gather(&j->param[p], j->bad - 1, 1, MC_F64, &v);
        v = isnan(v) ? (double)NAN : v; /* printed without a sign */
        const char *sep = p ? ", " : "";
        int wrote =
            p == 1 && j->k.width > 1
                ? snprintf(values + used, sizeof values - used, "%sthe weights", sep)
            : j->ptype == MC_I64
                ? snprintf(values + used, sizeof values - used, "%s%lld", sep, (long long)whole)
                : snprintf(values + used, sizeof values - used, "%s%.17g", sep, v);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    char place[64] = "";
    if (j->tensors)
        snprintf(place, sizeof place, " at position %lld (from 1)", (long long)j->bad);
    return mci_error(MC_EINVAL, "%s: parameters (%s)%s are refused; %s",
                     public_name(op, name, sizeof name), values, place,
                     op->guard ? op->guard : "they make no distribution");
}

/* Whether parameter p may be this tensor. */
static int check_param(const mci_op *op, const random_job *j, int p, const mc_tensor *t, int nd,
                       const int64_t *shape)
{
    char name[64], s[MCI_TEXT], w[MCI_TEXT];
    int per = p == 1 && j->k.width > 1, own = t->ndim - per, fits = own <= nd && own >= 0;
    for (int i = 0; fits && i < own; i++)
        fits = t->shape[i] == 1 || t->shape[i] == shape[nd - own + i];
    if (!fits)
        return mci_error(MC_ESHAPE,
                         "%s: a parameter is %s, the result has the sizes %s; they must broadcast",
                         public_name(op, name, sizeof name), mci_tensor_text(s, sizeof s, t),
                         mci_shape_text(w, sizeof w, nd, shape));
    if (mci_kind(t->dtype) == 'c')
        return mci_error(MC_EDTYPE, "%s: a parameter is %s; give real numbers",
                         public_name(op, name, sizeof name), mci_tensor_text(s, sizeof s, t));
    if (j->ptype == MC_I64 && mci_kind(t->dtype) == 'f')
        return mci_error(MC_EDTYPE, "%s: a parameter is %s; give whole numbers (x:to 'i64')",
                         public_name(op, name, sizeof name), mci_tensor_text(s, sizeof s, t));
    return MC_OK;
}

/* Parameter p as a tensor over the elements; a multinomial's weights as contiguous rows. */
static int take_param(random_job *j, int p, const mc_tensor *t, int nd, const int64_t *shape,
                      mc_tensor *rows)
{
    mc_tensor *v = &j->param[p];
    const int per = p == 1 && j->k.width > 1;
    *v = *t;
    if (!per) {
        mci_broadcast_strides(t, nd, v->strides);
        v->ndim = nd;
        v->numel = j->total;
        memcpy(v->shape, shape, sizeof *shape * (size_t)nd);
        return MC_OK;
    }
    mc_tensor full = *t; /* one row for all, or a row per element */
    int one = t->numel == j->k.width;
    if (!one) {
        full.ndim = nd + 1;
        memcpy(full.shape, shape, sizeof *shape * (size_t)nd);
        full.shape[nd] = j->k.width;
        mci_broadcast_strides(t, nd + 1, full.strides);
        full.numel = j->total * j->k.width;
    }
    int rc = mci_materialize(rows, &full, MC_F64);
    *v = *rows;
    v->strides[0] = one ? 0 : 1;
    return rc;
}

/* An operand that says where the stream is read: one number for all rows, or one for each. floats:
 * whole numbers may stand in floats. */
static int check_source(const mci_op *op, random_job *j, const mc_tensor *t, int nd,
                        const int64_t *shape, int floats)
{
    char name[64], s[MCI_TEXT], w[MCI_TEXT];
    int64_t rows = 1;
    int fits = t->ndim <= nd && strchr(floats ? "iubf" : "iu", mci_kind(t->dtype)) != NULL;
    for (int i = 0; fits && i < t->ndim; i++) {
        fits = t->shape[i] == shape[i];
        rows *= t->shape[i];
    }
    if (!fits)
        return mci_error(MC_ESHAPE,
                         "%s: keys or their numbers are %s, the result has the sizes %s; give "
                         "integers, one for each of its first rows",
                         public_name(op, name, sizeof name), mci_tensor_text(s, sizeof s, t),
                         mci_shape_text(w, sizeof w, nd, shape));
    if (t->ndim > 0) {
        int64_t row = rows > 0 ? j->total / rows : 1;
        if (j->row != j->total && j->row != row)
            return mci_error(MC_EINTERNAL, "%s: keys and their numbers are of different ranks",
                             public_name(op, name, sizeof name));
        j->row = row;
    }
    return MC_OK;
}

/* Whole numbers below 2^53 that a float may hold, as the integers they are. */
static int whole_numbers(const mc_tensor *t, mc_tensor *out)
{
    mc_tensor values = {0};
    int rc = mci_materialize(&values, t, MC_F64);
    if (!rc)
        rc = mc_create(out, MC_I64, t->ndim, t->shape);
    for (int64_t i = 0; !rc && i < out->numel; i++) {
        double v = ((const double *)values.data)[i];
        if (!(v >= 0 && v < 0x1p53 && v == floor(v)))
            rc = mci_error(MC_EINVAL, "key:fold_in: i is %.17g; give a whole number, 0 <= i < 2^53",
                           v);
        else
            ((int64_t *)out->data)[i] = (int64_t)v;
    }
    mc_drop(&values);
    return rc;
}

/* All that headers say of a call: the kernel, dtypes, numbers, which operand is what, the
 * result. */
static int describe(const mci_job *job, random_job *j, mci_result *r)
{
    const mci_op *op = job->op;
    const mc_params *p = job->params;
    const int nd = p->naxes < 0 ? 0 : p->naxes;
    int rc = MC_OK, at = 0;
    j->dtype = p->dtype;
    j->fn = (mck_random_fn)mci_kernel_get(op->kernel, p->dtype);
    for (int k = 0; !j->fn && k < 2; k++)
        j->fn = (mck_random_fn)mci_kernel_get(op->kernel, j->dtype = k ? MC_I64 : MC_F64);
    j->ptype = j->dtype == MC_I64 ? MC_I64 : MC_F64;
    j->nparam = (int)p->i[11];
    j->k.width = p->i[10] > 0 ? p->i[10] : 1;
    j->k.key = (uint64_t)(uint32_t)p->i[0] | (uint64_t)(uint32_t)p->i[1] << 32;
    j->k.stream = (uint64_t)(uint32_t)p->i[2] | (uint64_t)(uint32_t)p->i[3] << 32;
    j->k.first = p->i[4];
    j->row = j->total = mci_numel(nd, p->axes);
    for (int k = 0; k < j->nparam && !rc; k++) {
        j->scalar[k] = p->d[k];
        j->whole[k] = p->i[6 + k];
        if (!(p->i[5] >> k & 1)) continue;
        if (at >= job->nin)
            return mci_error(MC_EINTERNAL, "%s: %d parameter tensors given, more are announced",
                             op->name, job->nin);
        j->tensors |= 1u << k;
        rc = check_param(op, j, k, job->in[at++], nd, p->axes);
    }
    for (int k = 0; k < 2 && !rc; k++) {
        if (!(p->i[12] >> k & 1))
            continue;
        if (at >= job->nin)
            return mci_error(MC_EINTERNAL, "%s: a key is announced and not given", op->name);
        rc = check_source(op, j, job->in[at++], nd, p->axes, k);
    }
    if (!rc && j->row >= (int64_t)1 << 48)
        rc = mci_error(MC_ESHAPE, "%s: a stream has 2^48 elements; draw fewer", op->name);
    mci_result_one(r, p->dtype, nd, p->axes);
    if (p->i[10] > 0) r->shape[0][r->ndim[0]++] = p->i[10];
    return rc;
}

int mci_random_infer(const mci_job *job, mci_result *r)
{
    random_job j = { .fn = NULL };
    return describe(job, &j, r);
}

/* The elements of the operands: parameters, then keys and first elements. */
static int take_operands(random_job *j, const mc_tensor *const *in, const mc_params *p,
                         mc_tensor *rows)
{
    int rc = MC_OK;
    const int nd = p->naxes < 0 ? 0 : p->naxes;
    for (int k = 0; k < j->nparam && !rc; k++)
        if (j->tensors >> k & 1) rc = take_param(j, k, *in++, nd, p->axes, rows);
    if (!rc && (p->i[12] & 1)) rc = mci_materialize(&j->keys, *in++, MC_I64);
    if (!rc && (p->i[12] & 2)) rc = whole_numbers(*in, &j->firsts);
    /* one number for all rows stands with what they share */
    if (!rc && j->keys.data && j->keys.ndim == 0) {
        j->k.key = *(const uint64_t *)j->keys.data;
        mc_drop(&j->keys);
    }
    if (!rc && j->firsts.data && j->firsts.ndim == 0) {
        j->k.first = *(const int64_t *)j->firsts.data;
        mc_drop(&j->firsts);
    }
    return rc;
}

int mci_random_run(const mci_op *op, int nout, mc_tensor **outs, int nin,
                   const mc_tensor *const *in, const mc_params *p)
{
    (void)nout;
    mc_tensor *out = outs[0], rows = {0}, tmp = {0};
    const int given = (out->flags & MC_FLAG_OUT) != 0;
    random_job j = { .out = out };
    char name[64];
    mci_result r;
    int rc = describe(&(mci_job){ op, p, nin, in, nout }, &j, &r);
    if (rc) return rc;
    const int nd = r.ndim[0];
    const int64_t *shape = r.shape[0];
    rc = take_operands(&j, in, p, &rows);
    if (!rc)
        rc = mci_out(public_name(op, name, sizeof name), out, p->dtype, nd, shape);
    if (rc)
        goto fail;
    for (int k = 0; given && k < nin; k++) {
        int over = mci_overlap(out, in[k]);
        if (over == 1 || (over == 0 && (in[k]->dtype != out->dtype || j.k.width > 1))) {
            rc = mc_create(&tmp, p->dtype, nd, shape);
            j.out = &tmp;
            break;
        }
    }
    if (!rc && out->numel > 0) {
        j.direct = j.out->dtype == j.dtype && mci_contiguous(j.out);
        j.task = GRAIN / j.k.width > 1 ? GRAIN / j.k.width : 1;
        j.block = j.direct && !j.tensors ? j.task : BLOCK / j.k.width;
        if (j.k.width > BLOCK && !j.direct) {
            /* a row that no buffer holds goes straight into a whole temporary */
            mc_drop(&tmp);
            rc = mc_create(&tmp, j.dtype, nd, shape);
            j.out = &tmp;
            j.direct = 1;
        }
        if (j.block < 1)
            j.block = 1;
        if (!rc)
            rc = mci_parallel((j.total + j.task - 1) / j.task, random_task, &j);
        if (!rc && j.bad)
            rc = refused(op, &j);
    }
    if (!rc && j.out == &tmp)
        rc = mci_copy(out, &tmp);
    if (rc)
        mci_out_fail(out, given);
fail:
    mc_drop(&tmp);
    mc_drop(&rows);
    mc_drop(&j.keys);
    mc_drop(&j.firsts);
    return rc;
}
