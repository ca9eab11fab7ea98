/* mc_dlpack.c - tensors handed over and taken as DLPack's DLManagedTensor (its ABI before version
 * 1, which every producer still offers).
 *
 * Holds the layout of that struct, which is DLPack's and stands here and not in mascon.h, where
 * it would clash with dlpack.h. A tensor that is handed over shares its storage until the
 * consumer calls the deleter; one that is taken keeps the producer's memory until its last view
 * goes, and then calls the deleter. Reads no elements. */
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
    struct DLManagedTensor m;
    mc_storage *storage;
    int64_t shape[MC_MAX_RANK], strides[MC_MAX_RANK];
} handed;

static void give_back(struct DLManagedTensor *self)
{
    if (!self)
        return;
    handed *h = self->manager;
    mci_storage_unref(h->storage);
    mci_free(h);
}

struct DLManagedTensor *mc_dlpack_give(mc_tensor *t)
{
    if (mci_check_live("dlpack", t))
        return NULL;
    if (t->flags & MC_FLAG_READONLY) {
        char text[MCI_TEXT];
        mci_error(MC_EINVAL,
                  "dlpack: %s may only be read (a mapped file or a broadcast view), and DLPack "
                  "cannot say so; copy it first",
                  mci_tensor_text(text, sizeof text, t));
        return NULL;
    }
    if (mc_promote(t))
        return NULL;
    handed *h = mci_alloc(sizeof *h);
    if (!h)
        return NULL;
    memset(h, 0, sizeof *h);
    memcpy(h->shape, t->shape, sizeof h->shape);
    memcpy(h->strides, t->strides, sizeof h->strides);
    mci_storage_ref(t->storage);
    h->storage = t->storage;
    h->m = (struct DLManagedTensor){.t = {.data = t->data,
                                          .device_type = DL_CPU,
                                          .ndim = t->ndim,
                                          .code = TYPES[t->dtype].code,
                                          .bits = TYPES[t->dtype].bits,
                                          .lanes = 1,
                                          .shape = h->shape,
                                          .strides = h->strides},
                                    .manager = h,
                                    .deleter = give_back};
    return &h->m;
}

/* ---- taken ---- */

void mc_dlpack_drop(struct DLManagedTensor *m)
{
    if (m && m->deleter)
        m->deleter(m);
}

static void drop(void *m) { mc_dlpack_drop(m); }

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

int mc_dlpack_take(mc_tensor *out, struct DLManagedTensor *m)
{
    if (!m)
        return mci_error(MC_EINVAL, "from_dlpack: the pointer is NULL; give a DLManagedTensor");
    const dl_tensor *t = &m->t;
    if (t->device_type != DL_CPU)
        return mci_error(MC_EDEVICE,
                         "from_dlpack: the tensor lies on a device of DLPack's type %d; copy it to "
                         "the CPU (type 1) first",
                         (int)t->device_type);
    if (t->ndim < 0 || t->ndim > MC_MAX_RANK)
        return mci_error(MC_ESHAPE, "from_dlpack: the tensor has %d axes; at most %d are supported",
                         (int)t->ndim, MC_MAX_RANK);
    int dtype = 0;
    while (dtype < MC_NDTYPE && (TYPES[dtype].code != t->code || TYPES[dtype].bits != t->bits))
        dtype++;
    if (dtype == MC_NDTYPE || t->lanes != 1)
        return mci_error(
            MC_EDTYPE,
            "from_dlpack: elements of DLPack's type code %d with %d bits and %d lanes have no "
            "dtype here; convert them first (unsigned integers of 16 bits and more to signed ones)",
            (int)t->code, (int)t->bits, (int)t->lanes);
    int64_t numel = 1;
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] < 0)
            return mci_error(MC_ESHAPE, "from_dlpack: a size is %lld; sizes are 0 or more",
                             (long long)t->shape[i]);
        if (t->shape[i] == 0)
            numel = 0;
    }
    if (numel == 0) { /* nothing to share, and the pointer may be NULL */
        const int rc = mc_create(out, dtype, t->ndim, t->shape);
        if (rc == MC_OK)
            mc_dlpack_drop(m);
        return rc;
    }
    if (!t->data)
        return mci_error(MC_EINVAL, "from_dlpack: the tensor has elements but no memory");
    char *data = (char *)t->data + t->byte_offset;
    const int64_t unit = t->code == DL_COMPLEX ? mc_itemsize(dtype) / 2 : mc_itemsize(dtype);
    if ((uintptr_t)data % (uintptr_t)unit)
        return mci_error(MC_EINVAL,
                         "from_dlpack: the first element does not lie at a multiple of its %lld "
                         "bytes; copy the tensor first",
                         (long long)unit);
    const int read_only = t->strides && overlaps(t->ndim, t->shape, t->strides);
    return mc_wrap(out, data, dtype, t->ndim, t->shape, t->strides, m, drop, read_only);
}
