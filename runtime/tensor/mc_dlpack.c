/* mc_dlpack.c - tensors handed over and taken as DLPack's DLManagedTensor (its ABI before version
 * 1) and DLManagedTensorVersioned (version 1, which says what may only be read).
 *
 * Holds the layout of both structs, which is DLPack's and stands here and not in mascon.h, where
 * it would clash with dlpack.h. A tensor that is handed over shares its storage until the
 * consumer calls the deleter; one that is taken keeps the producer's memory until its last view
 * goes, and then calls the deleter. On a device the giver orders the consumer's stream after its
 * own, and memory that was taken is left when nothing queued wants it. Reads no elements. */
#include "tensor/mc_tensor.h"

#include <stdlib.h>
#include <string.h>

enum {
    DL_CPU = 1,
    DL_INT = 0,
    DL_UINT = 1,
    DL_FLOAT = 2,
    DL_BFLOAT = 4,
    DL_COMPLEX = 5,
    DL_BOOL = 6
};

typedef struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides in elements; NULL: contiguous, row by row */
    uint64_t byte_offset;
} dl_tensor;

struct DLManagedTensor {
    dl_tensor t;
    void *manager;
    void (*deleter)(struct DLManagedTensor *self);
};

#define DL_VERSION 1
#define DL_READ_ONLY 1u /* a flag */
struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    dl_tensor t;
};

static const struct {
    uint8_t code, bits;
} TYPES[MC_NDTYPE] = {
    [MC_BOOL] = { DL_BOOL, 8 },  [MC_U8] = { DL_UINT, 8 },      [MC_I8] = { DL_INT, 8 },
    [MC_I16] = { DL_INT, 16 },   [MC_I32] = { DL_INT, 32 },     [MC_I64] = { DL_INT, 64 },
    [MC_F16] = { DL_FLOAT, 16 }, [MC_BF16] = { DL_BFLOAT, 16 }, [MC_F32] = { DL_FLOAT, 32 },
    [MC_F64] = { DL_FLOAT, 64 }, [MC_C64] = { DL_COMPLEX, 64 }, [MC_C128] = { DL_COMPLEX, 128 },
};

/* ---- handed over ---- */

typedef struct handed {
    struct DLManagedTensor old; /* one of the two is given */
    struct DLManagedTensorVersioned new;
    mc_storage *storage;
    int64_t shape[MC_MAX_RANK], strides[MC_MAX_RANK];
} handed;

static void give_back(handed *h)
{
    mci_storage_unref(h->storage);
    mci_free(h);
}

static void give_old(struct DLManagedTensor *self)
{
    if (self) give_back(self->manager);
}

static void give_new(struct DLManagedTensorVersioned *self)
{
    if (self) give_back(self->manager);
}

/* Whether the tensor can be shown to a consumer, whose stream then runs after what is queued. */
static int ready(const char *op, const mc_tensor *t, int64_t stream)
{
    if (t->device == 0 && stream > 0)
        return mci_error(MC_EINVAL, "%s: the tensor is in host memory, which has no streams; leave "
                                    "the stream out", op);
    if (t->device == 0 || !mci_device_dlpack(t->device)) return mci_check_live(op, t);
    const int rc = mci_check_released(op, t);
    return rc ? rc : mci_device_order(t->device, stream);
}

/* Where the first element of a tensor of a device is, in its interface's terms. */
static void place(dl_tensor *d, const mc_tensor *t)
{
    const mc_device_api *api = mci_device_api(t->device);
    const mci_ref r = mci_ref_of(t);
    d->device_type = mci_device_dlpack(t->device);
    d->device_id = mci_device_index(t->device);
    d->data = (char *)r.mem->handle + (api->addressed ? r.at : 0);
    d->byte_offset = api->addressed ? 0 : (uint64_t)r.at;
}

/* What holds a tensor for a consumer, with its description; NULL on failure. */
static handed *hand(mc_tensor *t, int64_t stream, dl_tensor *d)
{
    if (ready("dlpack", t, stream) || mc_promote(t)) return NULL;
    handed *h = mci_calloc(1, sizeof *h);
    if (!h) return NULL;
    memcpy(h->shape, t->shape, sizeof h->shape);
    memcpy(h->strides, t->strides, sizeof h->strides);
    mci_storage_ref(t->storage);
    h->storage = t->storage;
    *d = (dl_tensor){ .data = t->data,
                      .device_type = DL_CPU,
                      .ndim = t->ndim,
                      .code = TYPES[t->dtype].code,
                      .bits = TYPES[t->dtype].bits,
                      .lanes = 1,
                      .shape = h->shape,
                      .strides = h->strides };
    if (t->device) place(d, t);
    return h;
}

struct DLManagedTensor *mc_dlpack_give(mc_tensor *t, int64_t stream)
{
    dl_tensor d;
    if (t->flags & MC_FLAG_READONLY) {
        char text[MCI_TEXT];
        mci_error(MC_EINVAL,
                  "dlpack: %s may only be read (a mapped file or a broadcast view), and DLPack "
                  "before version 1 cannot say so; ask for version 1 or copy it first",
                  mci_tensor_text(text, sizeof text, t));
        return NULL;
    }
    handed *h = hand(t, stream, &d);
    if (!h) return NULL;
    h->old = (struct DLManagedTensor){ .t = d, .manager = h, .deleter = give_old };
    return &h->old;
}

struct DLManagedTensorVersioned *mc_dlpack_give_versioned(mc_tensor *t, int64_t stream)
{
    dl_tensor d;
    handed *h = hand(t, stream, &d);
    if (!h) return NULL;
    h->new = (struct DLManagedTensorVersioned){ .major = DL_VERSION,
                                                .manager = h,
                                                .deleter = give_new,
                                                .flags =
                                                    t->flags & MC_FLAG_READONLY ? DL_READ_ONLY : 0,
                                                .t = d };
    return &h->new;
}

int mc_pointer(mc_tensor *t, int64_t stream, void *out[2], int64_t *offset)
{
    dl_tensor d = { .byte_offset = 0 };
    if (ready("pointer", t, stream) || mc_promote(t)) return mc_errstatus();
    d.data = t->data;
    out[1] = NULL;
    if (t->device) {
        place(&d, t);
        out[1] = mci_device_api(t->device)->native(mci_device_stream(t->device));
    }
    out[0] = d.data;
    *offset = (int64_t)d.byte_offset;
    return MC_OK;
}

/* ---- taken ---- */

void mc_dlpack_drop(struct DLManagedTensor *m)
{
    if (m && m->deleter)
        m->deleter(m);
}

void mc_dlpack_drop_versioned(struct DLManagedTensorVersioned *m)
{
    if (m && m->deleter)
        m->deleter(m);
}

static void drop_old(void *m) { mc_dlpack_drop(m); }
static void drop_new(void *m) { mc_dlpack_drop_versioned(m); }

/* What is taken: the tensor of a struct, how the struct is dropped, whether it may only be read. */
typedef struct offer {
    const dl_tensor *t;
    void *m;
    void (*drop)(void *m);
    int read_only;
} offer;

/* Whether two places of the view may be one element: then it is not a target of in-place writes. */
static int overlaps(int n, const int64_t *shape, const int64_t *strides)
{
    int order[MC_MAX_RANK], count = 0;
    for (int i = 0; i < n; i++) {
        if (shape[i] < 2)
            continue;
        int k = count++;
        for (; k > 0 && llabs(strides[order[k - 1]]) > llabs(strides[i]); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    int64_t reach = 0; /* of the axes with shorter steps */
    for (int k = 0; k < count; k++) {
        const int64_t step = llabs(strides[order[k]]);
        if (step <= reach)
            return 1;
        reach += step * (shape[order[k]] - 1);
    }
    return 0;
}

static int refuse_place(int64_t unit)
{
    return mci_error(MC_EINVAL,
                     "from_dlpack: the first element does not lie at a multiple of its %lld bytes; "
                     "copy the tensor first",
                     (long long)unit);
}

/* Bytes of the elements before the first one (negative) and up to the end of the last one. */
static int extent(const dl_tensor *t, int64_t size, int64_t *lo, int64_t *hi)
{
    int64_t first = 0, last = 0, step = 1;
    for (int i = t->ndim - 1, over = 0; i >= 0; i--) {
        int64_t span, *end;
        const int64_t by = t->strides ? t->strides[i] : step;
        over = __builtin_mul_overflow(by, t->shape[i] - 1, &span);
        end = span < 0 ? &first : &last;
        over |= __builtin_add_overflow(*end, span, end);
        over |= __builtin_mul_overflow(step, t->shape[i], &step);
        if (over)
            return mci_error(MC_ESHAPE, "from_dlpack: sizes and strides of axis %d pass 64 bits",
                             i + 1);
    }
    if (__builtin_mul_overflow(first, size, lo) || __builtin_mul_overflow(last + 1, size, hi))
        return mci_error(MC_ESHAPE, "from_dlpack: sizes and strides pass 64 bits");
    return MC_OK;
}

/* What a tensor of a device took over. */
typedef struct taken {
    offer from;
    mci_block *block;
} taken;

static void leave(void *p)
{
    taken *own = p;
    mci_device_leave(own->block);
    own->from.drop(own->from.m);
    mci_free(own);
}

static int take_on(int device, mc_tensor *out, const offer *from, int dtype, int64_t unit)
{
    const dl_tensor *t = from->t;
    const int addressed = mci_device_api(device)->addressed;
    int64_t at = 0, lo = 0, hi = 0, offset = addressed ? 0 : (int64_t)t->byte_offset;
    int rc = extent(t, mc_itemsize(dtype), &lo, &hi);
    if (rc) return rc;
    mci_block *b = mci_device_take(device, (char *)t->data + (addressed ? t->byte_offset : 0), &at);
    taken *own = b ? mci_alloc(sizeof *own) : NULL;
    if (!b) return mc_errstatus();
    const int64_t all = at + b->bytes;
    rc = own ? MC_OK : mc_errstatus();
    if (!rc && (offset < 0 || offset > b->bytes || at + offset + lo < 0 || hi > all - at - offset))
        rc = mci_error(MC_ESHAPE,
                       "from_dlpack: the strides reach outside of the memory on %s, which has "
                       "%lld bytes",
                       mci_device_text(device), (long long)all);
    at += offset;
    if (!rc && at % unit) rc = refuse_place(unit);
    const int read_only =
        from->read_only || (t->strides && overlaps(t->ndim, t->shape, t->strides));
    if (!rc) {
        *own = (taken){ .from = *from, .block = b };
        rc = mci_wrap_on(b, out, b->mem->base + at, dtype, t->ndim, t->shape, t->strides, own,
                         leave, read_only);
    }
    if (rc) { /* the struct stays its owner's */
        mci_device_leave(b);
        mci_free(own);
    }
    return rc;
}

/* The dtype of a struct that can be taken as far as its fields tell; negative with the record. */
static int readable(const dl_tensor *t, int64_t *numel)
{
    const uintptr_t start = (uintptr_t)t->data;
    if ((uint32_t)start - 1u < 64 && (uint64_t)start >> 32 < 64)
        return -mci_error(MC_EINVAL,
                          "from_dlpack: the pointer seems to be that of a DLManagedTensorVersioned "
                          "(version %u.%u); cast it to struct DLManagedTensorVersioned *",
                          (unsigned)start, (unsigned)((uint64_t)start >> 32));
    if (t->ndim < 0 || t->ndim > MC_MAX_RANK)
        return -mci_error(MC_ESHAPE,
                          "from_dlpack: the tensor has %d axes; at most %d are supported",
                          (int)t->ndim, MC_MAX_RANK);
    int dtype = 0;
    while (dtype < MC_NDTYPE && (TYPES[dtype].code != t->code || TYPES[dtype].bits != t->bits))
        dtype++;
    if (dtype == MC_NDTYPE || t->lanes != 1)
        return -mci_error(
            MC_EDTYPE,
            "from_dlpack: elements of DLPack's type code %d with %d bits and %d lanes have no "
            "dtype here; convert them first (unsigned integers of 16 bits and more to signed ones)",
            (int)t->code, (int)t->bits, (int)t->lanes);
    *numel = 1;
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] < 0)
            return -mci_error(MC_ESHAPE, "from_dlpack: a size is %lld; sizes are 0 or more",
                              (long long)t->shape[i]);
        if (t->shape[i] == 0) *numel = 0;
    }
    if (*numel && !t->data)
        return -mci_error(MC_EINVAL, "from_dlpack: the tensor has elements but no memory");
    return dtype;
}

static int take(mc_tensor *out, const offer *from)
{
    const dl_tensor *t = from->t;
    int64_t numel = 0;
    const int dtype = readable(t, &numel);
    if (dtype < 0) return mc_errstatus();
    const int device =
        t->device_type == DL_CPU ? 0 : mci_device_exchange(t->device_type, t->device_id);
    if (device < 0) return mc_errstatus();
    if (numel == 0) { /* nothing to share, and the pointer may be NULL */
        const int rc = mci_create_on(device, out, dtype, t->ndim, t->shape);
        if (rc == MC_OK) from->drop(from->m);
        return rc;
    }
    const int64_t unit = t->code == DL_COMPLEX ? mc_itemsize(dtype) / 2 : mc_itemsize(dtype);
    if (device) return take_on(device, out, from, dtype, unit);
    char *data = (char *)t->data + t->byte_offset;
    if ((uintptr_t)data % (uintptr_t)unit) return refuse_place(unit);
    const int read_only =
        from->read_only || (t->strides && overlaps(t->ndim, t->shape, t->strides));
    return mc_wrap(out, data, dtype, t->ndim, t->shape, t->strides, from->m, from->drop, read_only);
}

int mc_dlpack_take(mc_tensor *out, struct DLManagedTensor *m)
{
    if (!m)
        return mci_error(MC_EINVAL, "from_dlpack: the pointer is NULL; give a DLManagedTensor");
    return take(out, &(offer){ .t = &m->t, .m = m, .drop = drop_old });
}

int mc_dlpack_take_versioned(mc_tensor *out, struct DLManagedTensorVersioned *m)
{
    if (!m)
        return mci_error(MC_EINVAL,
                         "from_dlpack: the pointer is NULL; give a DLManagedTensorVersioned");
    if (m->major != DL_VERSION)
        return mci_error(MC_EINVAL,
                         "from_dlpack: the struct is of DLPack %u.%u; ask its producer for version "
                         "1, or for the ABI before it",
                         (unsigned)m->major, (unsigned)m->minor);
    return take(out, &(offer){ .t = &m->t,
                               .m = m,
                               .drop = drop_new,
                               .read_only = (m->flags & DL_READ_ONLY) != 0 });
}
