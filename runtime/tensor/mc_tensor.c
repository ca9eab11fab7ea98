/* mc_tensor.c - storages, headers, element copies.
 *
 * Holds the refcount of storages and the list of live ones. A header never owns anything but one
 * reference. Views are pure arithmetic on shape, strides and first element. */
#include "tensor/mc_tensor.h"
#include "mc_gen_kernels.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int mci_recording, mci_by_shapes;
static int asked; /* elements of a hollow tensor, since this was read last */

/* guards the list and the two counters */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static mc_storage *list_head;
static int64_t tensor_bytes, tensor_peak;

int64_t mc_itemsize(int dtype) { return dtype >= 0 && dtype < MC_NDTYPE ? MCI_SIZE(dtype) : 0; }
const char *mc_dtype_name(int dtype)
{
    return dtype >= 0 && dtype < MC_NDTYPE ? mci_dtype_names[dtype] : "?";
}
int mci_kind(int dtype) { return mci_dtype_kinds[dtype]; }

/* ---- text ---- */

char *mci_shape_text(char *buf, size_t n, int ndim, const int64_t *shape)
{
    size_t used = 0;
    buf[0] = 0;
    for (int i = 0; i < ndim && used < n; i++)
        used += (size_t)snprintf(buf + used, n - used, i ? ",%lld" : "%lld", (long long)shape[i]);
    return buf;
}

char *mci_tensor_text(char *buf, size_t n, const mc_tensor *t)
{
    char s[MCI_TEXT - 24];
    snprintf(buf, n, "%s[%s]@%s", mc_dtype_name(t->dtype),
             mci_shape_text(s, sizeof s, t->ndim, t->shape), mci_device_text(t->device));
    return buf;
}

int mci_refuse(const char *op, const mc_tensor *t)
{
    char s[MCI_TEXT];
    if (mci_check_elements(op, t))
        return mc_errstatus();
    return mci_error(
        MC_EUNSUPPORTED,
        "%s: it has no form for %s yet, an operand is %s; move it with :to \"cpu\" first", op,
        mci_device_text(t->device), mci_tensor_text(s, sizeof s, t));
}

int mc_mixed_devices(const char *op, const mc_tensor *a, const mc_tensor *b)
{
    char s1[MCI_TEXT], s2[MCI_TEXT];
    return mci_error(MC_EINVAL,
                     "%s: operands are on different devices, %s and %s; move one with :to \"%s\"",
                     op, mci_tensor_text(s1, sizeof s1, a), mci_tensor_text(s2, sizeof s2, b),
                     mci_device_text(a->device ? a->device : b->device));
}

int mci_mixed_target(const char *op, const mc_tensor *t, const mc_tensor *target)
{
    char s1[MCI_TEXT], s2[MCI_TEXT];
    return mci_error(MC_EINVAL,
                     "%s: operands are on different devices, %s and the target %s; move the former "
                     "with :to \"%s\"",
                     op, mci_tensor_text(s1, sizeof s1, t), mci_tensor_text(s2, sizeof s2, target),
                     mci_device_text(target->device));
}

int mci_check_devices(const char *op, int n, const mc_tensor *const *t, int nout,
                      mc_tensor *const *out, int *device)
{
    const mc_tensor *first = NULL;
    *device = 0;
    for (int i = 0; i < n + nout; i++) {
        const mc_tensor *x = i < n ? t[i] : out[i - n];
        if (i < n ? (x->flags & MCI_WEAK) != 0 : !(x->flags & MC_FLAG_OUT) && x->device == 0)
            continue;
        if (first && x->device != first->device)
            return i < n ? mc_mixed_devices(op, first, x) : mci_mixed_target(op, first, x);
        first = first ? first : x;
        *device = first->device;
    }
    return MC_OK;
}

int mci_refuse_released(const char *op, const mc_tensor *t)
{
    if (t->data && mci_by_shapes) return MC_OK;
    if (t->data) return mci_check_elements(op, t);
    return mci_error(MC_ERELEASED,
                     "%s: a tensor was released and cannot be used; return it from its scope or "
                     "keep it with mc.keep",
                     op);
}

int mci_check_elements(const char *op, const mc_tensor *t)
{
    char s[MCI_TEXT];
    if (!t->data || !mci_hollow(t)) return mci_check_released(op, t);
    asked = 1;
    return mci_error(MC_EINVAL,
                     "%s: %s stood for a value while a function was compiled and holds none; "
                     "return it from that function",
                     op, mci_tensor_text(s, sizeof s, t));
}

int mc_hollow(const mc_tensor *t) { return mci_hollow(t); }
int mc_refuse_hollow(const mc_tensor *t) { return mci_check_elements("tensor", t); }

int mci_ask(const char *op)
{
    asked = 1;
    return mci_error(MC_EUNSUPPORTED, "%s: it cannot be recorded by shapes alone", op);
}

int mc_record_asked(void)
{
    const int was = asked;
    asked = 0;
    return was;
}

/* ---- storage ---- */

static int64_t serials;                  /* guarded by list_lock */
static uintptr_t hollow = 2 * MCI_HOLLOW; /* where the next one lies; the same */
static char nothing;                      /* stands for `data` of one that is to be hollow */

/* The lock is held. */
static void *hollow_place(int64_t bytes)
{
    void *at = (void *)hollow;
    hollow += ((uintptr_t)bytes + 127) & ~(uintptr_t)63;
    return at;
}

static mc_storage *storage_new(int device, int dtype, int ndim, const int64_t *shape, int64_t bytes,
                               void *data)
{
    mc_storage *s = mci_alloc(sizeof *s);
    if (!s)
        return NULL;
    memset(s, 0, sizeof *s);
    atomic_init(&s->refs, 1);
    s->dtype = dtype;
    s->ndim = ndim;
    memcpy(s->shape, shape, sizeof *shape * (size_t)ndim);
    s->bytes = bytes;
    s->device = device;
    if (device && data != &nothing) {
        s->block = mci_device_alloc(device, bytes);
        s->data = s->block ? mci_block_data(s->block) : NULL;
    } else {
        s->data = data ? data : mci_alloc((size_t)bytes);
    }
    if (!s->data) {
        mci_free(s);
        return NULL;
    }
    pthread_mutex_lock(&list_lock);
    if (data == &nothing)
        s->data = hollow_place(bytes);
    s->serial = ++serials;
    s->next = list_head;
    if (list_head)
        list_head->prev = s;
    list_head = s;
    if (!data && !device) {
        tensor_bytes += bytes;
        if (tensor_bytes > tensor_peak)
            tensor_peak = tensor_bytes;
    }
    pthread_mutex_unlock(&list_lock);
    return s;
}

int64_t mci_storage_latest(void)
{
    pthread_mutex_lock(&list_lock);
    int64_t n = serials;
    pthread_mutex_unlock(&list_lock);
    return n;
}

void mci_storage_ref(mc_storage *s) { atomic_fetch_add(&s->refs, 1); }

void mci_storage_unref(mc_storage *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    pthread_mutex_lock(&list_lock);
    if (s->prev)
        s->prev->next = s->next;
    else
        list_head = s->next;
    if (s->next)
        s->next->prev = s->prev;
    const int empty = (uintptr_t)s->data >= MCI_HOLLOW;
    if (!s->release && !s->block && !empty)
        tensor_bytes -= s->bytes;
    pthread_mutex_unlock(&list_lock);
    if (s->release)
        s->release(s->owner);
    else if (s->block)
        mci_device_free(s->block);
    else if (!empty)
        mci_free(s->data);
    mci_free(s->note);
    mci_free(s);
}

void mc_memory_stats(int64_t out[9])
{
    mci_memory_counts(out);
    pthread_mutex_lock(&list_lock);
    out[7] = tensor_bytes;
    out[8] = tensor_peak;
    pthread_mutex_unlock(&list_lock);
}

void mc_memory_reset_peak(void)
{
    mci_memory_peak_reset();
    pthread_mutex_lock(&list_lock);
    tensor_peak = tensor_bytes;
    pthread_mutex_unlock(&list_lock);
    mci_device_peaks_reset();
}

int mc_memory_largest(int device, int k, int64_t out[11])
{
    /* k-th in order of (bytes, address): one pass per rank, the list is only walked when memory ran
     * out */
    int found = 0;
    int64_t last_bytes = INT64_MAX;
    uintptr_t last_at = UINTPTR_MAX;
    pthread_mutex_lock(&list_lock);
    for (int rank = 0; rank <= k; rank++) {
        const mc_storage *best = NULL;
        for (const mc_storage *s = list_head; s; s = s->next) {
            int below = s->bytes < last_bytes || (s->bytes == last_bytes && (uintptr_t)s < last_at);
            if (below && s->device == device && (uintptr_t)s->data < MCI_HOLLOW &&
                (!best || s->bytes > best->bytes ||
                 (s->bytes == best->bytes && (uintptr_t)s > (uintptr_t)best)))
                best = s;
        }
        found = best != NULL;
        if (!best)
            break;
        last_bytes = best->bytes;
        last_at = (uintptr_t)best;
        out[0] = best->bytes;
        out[1] = best->dtype;
        out[2] = best->ndim;
        memcpy(out + 3, best->shape, sizeof best->shape);
    }
    pthread_mutex_unlock(&list_lock);
    return found;
}

/* ---- headers ---- */

int64_t mci_numel(int ndim, const int64_t *shape)
{
    int64_t n = 1;
    for (int i = 0; i < ndim; i++)
        n *= shape[i];
    return n;
}

/* Shape, contiguous strides and counts of a header; data and storage are left alone. */
static int header_fill(mc_tensor *t, int dtype, int ndim, const int64_t *shape, int64_t *bytes)
{
    if (dtype < 0 || dtype >= MC_NDTYPE)
        return mci_error(MC_EDTYPE, "tensor: dtype code %d is unknown", dtype);
    if (ndim < 0 || ndim > MC_MAX_RANK)
        return mci_error(MC_ESHAPE, "tensor: rank %d is not in 0..%d", ndim, MC_MAX_RANK);
    int64_t n = 1;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0)
            return mci_error(MC_ESHAPE, "tensor: size %lld is negative", (long long)shape[i]);
        if (mci_size_mul(n, shape[i], &n))
            return mc_errstatus();
    }
    if (mci_size_mul(n, MCI_SIZE(dtype), bytes))
        return mc_errstatus();
    t->dtype = dtype;
    t->ndim = ndim;
    t->numel = n;
    t->flags = 0;
    t->device = 0;
    t->small = *bytes <= MC_INLINE_BYTES ? (int32_t)*bytes : 0;
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        t->shape[i] = shape[i];
        t->strides[i] = stride;
        stride *= shape[i] > 0 ? shape[i] : 1;
    }
    return MC_OK;
}

int mc_create(mc_tensor *out, int dtype, int ndim, const int64_t *shape)
{
    int64_t bytes, sizes[MC_MAX_RANK] = {0};
    if (ndim > 0 && ndim <= MC_MAX_RANK)
        memcpy(sizes, shape, sizeof *shape * (size_t)ndim); /* shape may point into out */
    int rc = header_fill(out, dtype, ndim, sizes, &bytes);
    if (rc)
        return rc;
    if (bytes <= out->capacity && !mci_recording) {
        out->storage = NULL;
        out->data = out->payload;
        return MC_OK;
    }
    out->capacity = 0;
    out->storage = storage_new(0, dtype, ndim, sizes, bytes, NULL);
    if (!out->storage)
        return mc_errstatus();
    out->data = out->storage->data;
    return MC_OK;
}

int mci_create_within(const mc_tensor *whole, int64_t at, mc_tensor *out, int dtype, int ndim,
                      const int64_t *shape)
{
    int64_t bytes;
    int rc = header_fill(out, dtype, ndim, shape, &bytes);
    if (rc) return rc;
    out->capacity = 0;
    out->storage = whole->storage;
    mci_storage_ref(out->storage);
    out->data = (char *)whole->data + at;
    return MC_OK;
}

int mci_create_hollow(int device, mc_tensor *out, int dtype, int ndim, const int64_t *shape)
{
    int64_t bytes, sizes[MC_MAX_RANK] = {0};
    if (ndim > 0 && ndim <= MC_MAX_RANK)
        memcpy(sizes, shape, sizeof *shape * (size_t)ndim);
    int rc = header_fill(out, dtype, ndim, sizes, &bytes);
    if (rc)
        return rc;
    out->capacity = 0;
    out->device = device;
    if (device)
        out->small = 0;
    out->storage = storage_new(device, dtype, ndim, sizes, bytes, &nothing);
    if (!out->storage)
        return mc_errstatus();
    out->data = out->storage->data;
    return MC_OK;
}

void mci_hollow_out(mc_tensor *t)
{
    mc_storage *s = t->storage;
    if (atomic_load(&s->refs) != 1 || s->release || mci_hollow(t))
        return;
    void *data = s->data;
    pthread_mutex_lock(&list_lock);
    s->data = hollow_place(s->bytes);
    if (!s->block)
        tensor_bytes -= s->bytes;
    pthread_mutex_unlock(&list_lock);
    if (s->block)
        mci_device_free(s->block);
    else
        mci_free(data);
    s->block = NULL;
    t->data = (char *)s->data + ((char *)t->data - (char *)data);
}

void mci_make_hollow(mc_tensor *t)
{
    t->data = (char *)t->data + MCI_HOLLOW;
    t->storage->data = (char *)t->storage->data + MCI_HOLLOW;
}

int mci_create_on(int device, mc_tensor *out, int dtype, int ndim, const int64_t *shape)
{
    int64_t bytes, sizes[MC_MAX_RANK] = {0};
    if (device == 0)
        return mc_create(out, dtype, ndim, shape);
    if (ndim > 0 && ndim <= MC_MAX_RANK)
        memcpy(sizes, shape, sizeof *shape * (size_t)ndim);
    int rc = header_fill(out, dtype, ndim, sizes, &bytes);
    if (rc)
        return rc;
    out->capacity = 0;
    out->small = 0; /* nothing of it lies behind a header */
    out->device = device;
    out->storage = storage_new(device, dtype, ndim, sizes, bytes, NULL);
    if (!out->storage)
        return mc_errstatus();
    out->data = out->storage->data;
    return MC_OK;
}

int mc_create_on(mc_tensor *out, int device, int dtype, int ndim, const int64_t *shape)
{
    return mci_create_on(device, out, dtype, ndim, shape);
}

mci_ref mci_ref_of(const mc_tensor *t)
{
    if (t->flags & MCI_WEAK)
        return (mci_ref){.number = t->data};
    mci_mem *mem = t->storage && t->storage->block ? t->storage->block->mem
                                                   : mci_device_at(t->device, t->data);
    return (mci_ref){.mem = mem, .at = (char *)t->data - mem->base};
}

void mci_storage_like(mc_storage *s, const mc_storage *other) { s->device = other->device; }

int mci_storage_copy(mc_storage *to, const mc_storage *from, int64_t bytes)
{
    if (to->device == 0) {
        memcpy(to->data, from->data, (size_t)bytes);
        return MC_OK;
    }
    const mc_tensor a = {.data = to->data, .storage = to, .device = to->device};
    const mc_tensor b = { .data = from->data,
                          .storage = (mc_storage *)(uintptr_t)from,
                          .device = from->device };
    return mci_device_copy(mci_ref_of(&a), mci_ref_of(&b), bytes);
}

mc_tensor *mc_tensor_new(int dtype, int ndim, const int64_t *shape)
{
    mc_tensor *t = mci_calloc(1, sizeof *t);
    if (t && mc_create(t, dtype, ndim, shape)) {
        mci_free(t);
        t = NULL;
    }
    return t;
}

void mc_tensor_free(mc_tensor *t)
{
    if (t)
        mc_drop(t);
    mci_free(t);
}

void mc_drop(mc_tensor *t)
{
    mc_storage *s = t->storage;
    t->storage = NULL;
    t->data = NULL;
    t->flags |= MC_FLAG_RELEASED;
    mci_storage_unref(s);
}

int mc_promote(mc_tensor *t)
{
    if (mci_check_released("view", t))
        return mc_errstatus();
    if (t->storage)
        return MC_OK;
    int64_t bytes = t->numel * MCI_SIZE(t->dtype);
    mc_storage *s = storage_new(0, t->dtype, t->ndim, t->shape, bytes, NULL);
    if (!s)
        return mc_errstatus();
    memcpy(s->data, t->data, (size_t)bytes);
    t->storage = s;
    t->data = s->data;
    t->capacity = 0;
    return MC_OK;
}

/* A header over memory of another owner; b: a block of the device that it lies on, else NULL. */
static int wrap(mci_block *b, mc_tensor *out, void *data, int dtype, int ndim, const int64_t *shape,
                const int64_t *strides, void *owner, void (*release)(void *), int readonly)
{
    int64_t bytes;
    int rc = header_fill(out, dtype, ndim, shape, &bytes);
    if (rc)
        return rc;
    out->capacity = 0;
    out->storage = storage_new(0, dtype, ndim, shape, bytes, data);
    if (!out->storage)
        return mc_errstatus();
    if (b) {
        out->small = 0;
        out->device = out->storage->device = b->mem->device;
        out->storage->block = b;
    }
    out->storage->owner = owner;
    out->storage->release = release;
    out->data = data;
    if (strides)
        memcpy(out->strides, strides, sizeof *strides * (size_t)ndim);
    out->flags = readonly ? MC_FLAG_READONLY : 0;
    return MC_OK;
}

int mc_wrap(mc_tensor *out, void *data, int dtype, int ndim, const int64_t *shape,
            const int64_t *strides, void *owner, void (*release)(void *), int readonly)
{
    return wrap(NULL, out, data, dtype, ndim, shape, strides, owner, release, readonly);
}

int mci_wrap_on(mci_block *b, mc_tensor *out, char *data, int dtype, int ndim, const int64_t *shape,
                const int64_t *strides, void *owner, void (*release)(void *), int readonly)
{
    return wrap(b, out, data, dtype, ndim, shape, strides, owner, release, readonly);
}

int mci_contiguous(const mc_tensor *t)
{
    int64_t stride = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] != 1 && t->strides[i] != stride)
            return t->numel == 0;
        stride *= t->shape[i];
    }
    return 1;
}

int mc_is_contiguous(const mc_tensor *t) { return mci_contiguous(t); }
int mc_shares_storage(const mc_tensor *a, const mc_tensor *b)
{
    if (!a->storage || !b->storage || a->storage == b->storage)
        return a->storage && a->storage == b->storage;
    /* memory taken over from elsewhere may be that of another tensor here */
    const uintptr_t p = (uintptr_t)a->storage->data, q = (uintptr_t)b->storage->data;
    return p < q + (uintptr_t)b->storage->bytes && q < p + (uintptr_t)a->storage->bytes;
}

void mci_extent(const mc_tensor *t, uintptr_t *lo, uintptr_t *hi)
{
    int64_t below = 0, above = 0;
    for (int i = 0; i < t->ndim; i++) {
        int64_t span = (t->shape[i] - 1) * t->strides[i];
        if (span < 0)
            below += span;
        else
            above += span;
    }
    *lo = mci_place_of(t->data) + (uintptr_t)(below * MCI_SIZE(t->dtype));
    *hi = mci_place_of(t->data) + (uintptr_t)((above + 1) * MCI_SIZE(t->dtype));
}

void mc_unload_by(mc_tensor *t, void (*unload)(const void *owner, const void *from, int64_t n))
{
    t->storage->unload = unload;
}

void mc_unload(const mc_tensor *t)
{
    uintptr_t lo, hi;
    if (t->numel == 0 || !t->storage || !t->storage->unload)
        return;
    mci_extent(t, &lo, &hi);
    t->storage->unload(t->storage->owner, (const void *)lo, (int64_t)(hi - lo));
}

int mci_overlap(const mc_tensor *a, const mc_tensor *b)
{
    if (a->numel == 0 || b->numel == 0)
        return -1;
    uintptr_t alo, ahi, blo, bhi;
    mci_extent(a, &alo, &ahi);
    mci_extent(b, &blo, &bhi);
    if (ahi <= blo || bhi <= alo)
        return -1;
    int same = mci_place_of(a->data) == mci_place_of(b->data) && a->ndim == b->ndim &&
               MCI_SIZE(a->dtype) == MCI_SIZE(b->dtype);
    for (int i = 0; same && i < a->ndim; i++)
        same = a->shape[i] == b->shape[i] && (a->strides[i] == b->strides[i] || a->shape[i] == 1);
    return same ? 0 : 1;
}

int mci_axis(const char *op, const mc_tensor *t, int64_t given, int *axis)
{
    char s[MCI_TEXT];
    int64_t k = given < 0 ? given + t->ndim : given;
    if (k < 0 || k >= t->ndim)
        return mci_error(MC_ESHAPE, "%s: the axis is outside %s; it has %d axes", op,
                         mci_tensor_text(s, sizeof s, t), t->ndim);
    *axis = (int)k;
    return MC_OK;
}

int mci_out(const char *op, mc_tensor *out, int dtype, int ndim, const int64_t *shape)
{
    return mci_out_on(0, op, out, dtype, ndim, shape);
}

int mci_out_on(int device, const char *op, mc_tensor *out, int dtype, int ndim,
               const int64_t *shape)
{
    if (!(out->flags & MC_FLAG_OUT))
        return device ? mci_create_on(device, out, dtype, ndim, shape)
                      : mc_create(out, dtype, ndim, shape);
    char a[MCI_TEXT], b[MCI_TEXT];
    if (device || mci_by_shapes ? mci_check_released(op, out) : mci_check_live(op, out))
        return mc_errstatus();
    int same = out->ndim == ndim && out->dtype == dtype;
    for (int i = 0; same && i < ndim; i++)
        same = out->shape[i] == shape[i];
    if (!same)
        return mci_error(
            MC_ESHAPE,
            "%s: out is %s but the result is %s[%s]; give a tensor of that shape and dtype", op,
            mci_tensor_text(a, sizeof a, out), mc_dtype_name(dtype),
            mci_shape_text(b, sizeof b, ndim, shape));
    if (out->flags & MC_FLAG_READONLY)
        return mci_error(MC_EINVAL,
                         "%s: out is read-only (a mapped file or a broadcast view); copy it first",
                         op);
    return MC_OK;
}

void mci_out_fail(mc_tensor *out, int was_out)
{
    if (!was_out && !(out->flags & MC_FLAG_OUT))
        mc_drop(out);
}

/* ---- broadcasting and collapsing ---- */

int mci_broadcast(const char *op, const mc_tensor *const *t, int n, int *ndim, int64_t *shape)
{
    int nd = 0;
    for (int k = 0; k < n; k++)
        nd = t[k]->ndim > nd ? t[k]->ndim : nd;
    for (int i = 0; i < nd; i++) {
        int64_t size = 1;
        for (int k = 0; k < n; k++) {
            int j = i - (nd - t[k]->ndim);
            int64_t s = j < 0 ? 1 : t[k]->shape[j];
            if (s == 1 || s == size)
                continue;
            if (size != 1) {
                char text[3 * MCI_TEXT];
                size_t used = 0;
                text[0] = 0;
                for (int q = 0; q < n && used < sizeof text - MCI_TEXT; q++) {
                    char one[MCI_TEXT];
                    used +=
                        (size_t)snprintf(text + used, sizeof text - used, "%s%s", q ? " and " : "",
                                         mci_tensor_text(one, sizeof one, t[q]));
                }
                return mci_error(
                    MC_ESHAPE,
                    "%s: shapes do not broadcast, %s; sizes must be equal or 1 from the last axis "
                    "backwards",
                    op, text);
            }
            size = s;
        }
        shape[i] = size;
    }
    *ndim = nd;
    return MC_OK;
}

void mci_broadcast_strides(const mc_tensor *t, int ndim, int64_t *strides)
{
    for (int i = 0; i < ndim; i++) {
        int j = i - (ndim - t->ndim);
        strides[i] = j < 0 || t->shape[j] == 1 ? 0 : t->strides[j];
    }
}

int mci_collapse(int ndim, int64_t *shape, int nop, int64_t (*strides)[MC_MAX_RANK])
{
    int nd = 0;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] == 1)
            continue;
        int merge = nd > 0;
        for (int k = 0; merge && k < nop; k++)
            merge = strides[k][nd - 1] == strides[k][i] * shape[i];
        if (merge) {
            shape[nd - 1] *= shape[i];
            for (int k = 0; k < nop; k++)
                strides[k][nd - 1] = strides[k][i];
        } else {
            shape[nd] = shape[i];
            for (int k = 0; k < nop; k++)
                strides[k][nd] = strides[k][i];
            nd++;
        }
    }
    return nd;
}

/* ---- element copies ---- */

/* Walks `count` elements of t from flat position `first` in runs along the last axis; to != 0
 * copies out of t. */
static void walk(const mc_tensor *t, int64_t first, int64_t count, int dtype, char *buf, int to)
{
    int64_t shape[MC_MAX_RANK], strides[1][MC_MAX_RANK], idx[MC_MAX_RANK];
    memcpy(shape, t->shape, sizeof shape);
    memcpy(strides[0], t->strides, sizeof strides[0]);
    int nd = mci_collapse(t->ndim, shape, 1, strides);
    int64_t tsize = MCI_SIZE(t->dtype), bsize = MCI_SIZE(dtype);
    mci_cast_fn fn = to ? mci_cast(dtype, t->dtype) : mci_cast(t->dtype, dtype);
    int64_t inner = nd ? shape[nd - 1] : 1, si = nd ? strides[0][nd - 1] : 1, rest = first / inner,
            off = 0;
    int64_t at = first % inner;
    for (int i = nd - 2; i >= 0; i--) {
        idx[i] = rest % shape[i];
        rest /= shape[i];
        off += idx[i] * strides[0][i];
    }
    while (count > 0) {
        int64_t n = inner - at < count ? inner - at : count;
        char *p = (char *)t->data + (off + at * si) * tsize;
        if (to)
            fn(n, buf, 1, p, si);
        else
            fn(n, p, si, buf, 1);
        buf += n * bsize;
        count -= n;
        at = 0;
        for (int i = nd - 2; i >= 0; i--) {
            off += strides[0][i];
            if (++idx[i] < shape[i])
                break;
            off -= idx[i] * strides[0][i];
            idx[i] = 0;
        }
    }
}

void mci_gather(const mc_tensor *src, int64_t first, int64_t count, int dtype, void *buf)
{
    walk(src, first, count, dtype, buf, 1);
}

void mci_scatter(const mc_tensor *dst, int64_t first, int64_t count, int dtype, const void *buf)
{
    walk(dst, first, count, dtype, (char *)(uintptr_t)buf, 0);
}
