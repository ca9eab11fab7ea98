/* mc_dispatch.c - from an op number to its family driver; the short way for small operands. */
#include "family/mc_family.h"
#include "record/mc_record.h"
#include "../../kernels/mck_ewise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const mc_params no_params = {.naxes = -1, .dtype = -1};

int mc_op(int op, int nout, mc_tensor **out, int nin, const mc_tensor *const *in,
          const mc_params *p)
{
    const mci_op *o = mci_op_at(op);
    if (!o)
        return mci_error(MC_EINVAL, "op %d is unknown", op);
    int device = 0;
    for (int i = 0; i < nin; i++) {
        if (mci_check_released(o->name, in[i]))
            return mc_errstatus();
        device |= in[i]->device;
    }
    for (int i = 0; i < nout; i++)
        device |= out[i]->device;
    if ((o->nin != 255 && nin != o->nin) || (o->nout != 255 && nout != o->nout))
        return mci_error(MC_EINVAL, "%s: %d operands and %d results given, it takes %d and %d",
                         o->name, nin, nout, o->nin, o->nout);
    if (MC_UNLIKELY(mci_recording))
        return mci_record_op(mci_op_run, &mci_families[o->family], o, nout, out, nin, in,
                             p ? p : &no_params);
    if (MC_UNLIKELY(device != 0))
        return mci_op_run(o, nout, out, nin, in, p ? p : &no_params);
    return o->run(o, nout, out, nin, in, p ? p : &no_params);
}

/* Contiguous, seen without a loop for the common ranks. */
static inline int plain(const mc_tensor *t)
{
    if (t->ndim == 1)
        return t->strides[0] == 1 || t->shape[0] == 1;
    return mci_contiguous(t);
}

static inline int same_shape(const mc_tensor *a, const mc_tensor *b)
{
    int same = a->ndim == b->ndim;
    for (int i = 0; same && i < a->ndim; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

/* Contiguous blocks of `no` and `ni` bytes that overlap without being the same elements of the same
 * size. */
static inline int collides(const void *o, int64_t no, const void *x, int64_t ni)
{
    uintptr_t p = (uintptr_t)o, q = (uintptr_t)x;
    if (p == q)
        return no != ni;
    return p < q + (uintptr_t)ni && q < p + (uintptr_t)no;
}

#define SHORT_BYTES 8192 /* above, the general driver's 200 ns do not show */

/* Same dtype, same shape (or b one element, stride 0; or no b), contiguous, kernel at hand:
 * straight to the kernel. swapped: b is the first operand. 1 when it was done. */
static int short_way(const mci_op *o, mc_tensor *out, const mc_tensor *a, const mc_tensor *b,
                     int64_t sb, int swapped)
{
    if (MC_UNLIKELY(mci_recording))
        return 0;
    int64_t n = a->numel;
    int dt = a->dtype;
    if (n * MCI_SIZE(dt) > SHORT_BYTES || o->compute[dt] != dt || o->kernel < 0 || o->guard ||
        o->promote == MCI_PROMOTE_BOOL || o->where || mci_missing(a) ||
        (a->device | (b ? b->device : 0)) || !plain(a))
        return 0;
    int rdt = mci_result_dtype(o, dt);
    if (out->flags & MC_FLAG_OUT) {
        int64_t no = n * MCI_SIZE(rdt), ni = n * MCI_SIZE(dt);
        if (out->dtype != rdt || mci_missing(out) || out->device ||
            (out->flags & MC_FLAG_READONLY) || !plain(out) || !same_shape(out, a))
            return 0;
        if (collides(out->data, no, a->data, ni) || (sb && collides(out->data, no, b->data, ni)))
            return 0;
    } else {
        if (n * MCI_SIZE(rdt) > out->capacity)
            return 0;
        out->data = out->payload;
        out->storage = NULL;
        out->numel = n;
        out->dtype = rdt;
        out->ndim = a->ndim;
        out->flags = 0;
        out->device = 0;
        out->small = (int32_t)(n * MCI_SIZE(rdt));
        int64_t stride = 1;
        for (int i = a->ndim - 1; i >= 0; i--) {
            out->shape[i] = a->shape[i];
            out->strides[i] = stride;
            stride *= a->shape[i] > 0 ? a->shape[i] : 1;
        }
    }
    mck_ewise k = {
        .n = n, .out = out->data, .in = { a->data, b ? b->data : NULL }, .stride = { 1, sb }
    };
    if (swapped)
        k = (mck_ewise){.n = n, .out = out->data, .in = {b->data, a->data}, .stride = {sb, 1}};
    ((mck_ewise_fn)mci_kernel_get(o->kernel, dt))(&k);
    return 1;
}

int mc_op1(int op, mc_tensor *out, const mc_tensor *a, const mc_params *p)
{
    const mci_op *o = op >= 0 && op < mci_nop ? &mci_ops[op] : NULL;
    if (o && o->family == MCI_FAMILY_EWISE && o->nin == 1 && short_way(o, out, a, NULL, 0, 0))
        return MC_OK;
    return mc_op(op, 1, &out, 1, &a, p);
}

int mc_op2(int op, mc_tensor *out, const mc_tensor *a, const mc_tensor *b)
{
    const mci_op *o = mci_op_at(op);
    if (!o)
        return mci_error(MC_EINVAL, "op %d is unknown", op);
    if (o->family == MCI_FAMILY_EWISE && o->nin == 2 && a->dtype == b->dtype && !mci_missing(b) &&
        same_shape(a, b) && plain(b) && short_way(o, out, a, b, 1, 0))
        return MC_OK;
    const mc_tensor *in[2] = {a, b};
    return mc_op(op, 1, &out, 2, in, NULL);
}

/* A result of small operands goes into the header when it can be no larger than they are: integers
 * may become f64. */
enum { STORED = -1, UNSUITABLE = -2 };

static void begin_new(mc_tensor *out, int32_t bytes)
{
    out->capacity = bytes;
    out->dtype = -1;
}

static int end_new(int rc, const mc_tensor *out)
{
    return rc == MC_OK && out->storage ? STORED : rc;
}

static int floating(const mc_tensor *t)
{
    return mci_kind(t->dtype) == 'f' || mci_kind(t->dtype) == 'c';
}

int mc_op1_new(int op, mc_tensor *out, int32_t bytes, const mc_tensor *a)
{
    if (!floating(a))
        return UNSUITABLE;
    begin_new(out, bytes);
    return end_new(mc_op1(op, out, a, NULL), out);
}

int mc_op1_with_new(int op, mc_tensor *out, int32_t bytes, const mc_tensor *a, const mc_params *p)
{
    begin_new(out, bytes);
    return end_new(mc_op1(op, out, a, p), out);
}

int mc_op2_new(int op, mc_tensor *out, int32_t bytes, const mc_tensor *a, const mc_tensor *b)
{
    if (a->small != b->small)
        return UNSUITABLE;
    begin_new(out, bytes);
    return end_new(mc_op2(op, out, a, b), out);
}

int mc_op2_scalar_new(int op, mc_tensor *out, int32_t bytes, const mc_tensor *a, double s,
                      int swapped)
{
    if (!floating(a))
        return UNSUITABLE;
    begin_new(out, bytes);
    return end_new(mc_op2_scalar(op, out, a, s, swapped), out);
}

int mc_op2_into(int op, mc_tensor *out, const mc_tensor *a, const mc_tensor *b)
{
    const mci_op *o = mci_op_at(op);
    if (!o)
        return mci_error(MC_EINVAL, "op %d is unknown", op);
    if (mci_check_released(o->name, out))
        return mc_errstatus();
    int32_t flags = out->flags;
    out->flags |= MC_FLAG_OUT;
    int rc = mc_op2(op, out, a, b);
    out->flags = flags;
    return rc;
}

int mc_op2_complex(int op, mc_tensor *out, const mc_tensor *a, double re, double im, int swapped)
{
    double v[2] = {re, im};
    mc_tensor num = {
        .data = v, .numel = 1, .dtype = im != 0 || signbit(im) ? MC_C128 : MC_F64, .flags = MCI_WEAK
    };
    const mc_tensor *in[2] = {swapped ? &num : a, swapped ? a : &num};
    return mc_op(op, 1, &out, 2, in, NULL);
}

int mc_op2_scalar(int op, mc_tensor *out, const mc_tensor *a, double s, int swapped)
{
    const mci_op *o = &mci_ops[op];
    if (op < 0 || op >= mci_nop)
        return mci_error(MC_EINVAL, "op %d is unknown", op);
    if (o->family == MCI_FAMILY_EWISE && o->nin == 2 &&
        (a->dtype == MC_F64 || a->dtype == MC_F32)) {
        float f = (float)s;
        mc_tensor num = { .data = a->dtype == MC_F64 ? (void *)&s : (void *)&f,
                          .numel = 1,
                          .dtype = a->dtype };
        if (short_way(o, out, a, &num, 0, swapped))
            return MC_OK;
    }
    return mc_op2_complex(op, out, a, s, 0, swapped);
}

int mc_op3(int op, mc_tensor *out, const mc_tensor *a, const mc_tensor *b, const mc_tensor *c)
{
    const mc_tensor *in[3] = {a, b, c};
    return mc_op(op, 1, &out, 3, in, NULL);
}
