/* mc_tensor.h - tensor headers, storages and shapes as the op drivers see them.
 *
 * Storage refcounts, views, broadcasting, collapsing of dimensions, the text of operands in
 * messages. */
#ifndef MC_TENSOR_H
#define MC_TENSOR_H

#include "mc_lua.h"
#include "device/mc_context.h"
#include "device/mc_device.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"
#include <stdatomic.h>

struct mc_storage {
    _Atomic int32_t refs;
    int32_t version;           /* writes so far while something was being recorded */
    /* of the recorder (mc_record.c), NULL as long as it has nothing to say; freed with the
     * storage */
    void *note;
    int64_t serial;            /* never used twice in a process */
    int32_t dtype, ndim;       /* of the tensor it was made for: shown in the out-of-memory table */
    int64_t bytes;
    int64_t shape[MC_MAX_RANK];
    /* on a device: the address that tensors show, without access rights */
    void *data;
    int32_t device;            /* where the memory is */
    /* memory of a device; NULL on the CPU, and where another storage holds it (owner) */
    mci_block *block;
    /* foreign memory: release(owner) at the end; else NULL and data is ours */
    void *owner;
    void (*release)(void *);
    /* foreign memory: its pages may leave the process */
    void (*unload)(const void *owner, const void *from, int64_t n);
    mc_storage *prev, *next;   /* list of live storages, guarded by its lock in mc_tensor.c */
};

/* Non-zero while a function is recorded (mc_record.c): results get storage, and writes are seen. */
extern int mci_recording;

extern const int32_t mci_itemsize_table[];
#define MCI_SIZE(dt) ((int64_t)mci_itemsize_table[dt])

/* Non-zero while a function is recorded by shapes, the depth of that recording; recordings around
 * it pause. What depends on its arguments is hollow, a buffer of addresses without memory behind
 * them. Those of an argument are its own plus MCI_HOLLOW, so that what overlaps does so still;
 * others lie above, and none is used twice. */
extern int mci_by_shapes;
#define MCI_HOLLOW ((uintptr_t)1 << 56)
static inline int mci_hollow(const mc_tensor *t) { return (uintptr_t)t->data >= MCI_HOLLOW; }
/* Released or hollow. */
static inline int mci_missing(const mc_tensor *t)
{
    return (uintptr_t)t->data - 1 >= MCI_HOLLOW - 1;
}
/* Where it would lie. */
static inline uintptr_t mci_place_of(const void *p) { return (uintptr_t)p & ~MCI_HOLLOW; }
/* A tensor that begins at a byte of another one and holds its memory. */
int mci_create_within(const mc_tensor *whole, int64_t at, mc_tensor *out, int dtype, int ndim,
                      const int64_t *shape);
/* A hollow tensor; the alias t of an argument becomes one at its place; the memory of t goes, where
 * no other tensor shows it. */
int mci_create_hollow(int device, mc_tensor *out, int dtype, int ndim, const int64_t *shape);
void mci_make_hollow(mc_tensor *t);
void mci_hollow_out(mc_tensor *t);

/* `dtype[shape]@device` into buf, for messages. Returns buf. */
char *mci_tensor_text(char *buf, size_t n, const mc_tensor *t);
char *mci_shape_text(char *buf, size_t n, int ndim, const int64_t *shape);
#define MCI_TEXT 128

/* MC_ERELEASED with advice when the operand has no memory any more; an error for a hollow one, but
 * not while functions are recorded by shapes. */
int mci_refuse_released(const char *op, const mc_tensor *t);
static inline int mci_check_released(const char *op, const mc_tensor *t)
{
    return MC_LIKELY(!mci_missing(t)) ? MC_OK : mci_refuse_released(op, t);
}
/* An error when the elements of the operand are not there to be read: what asks for them is told
 * by mc_record_asked. */
int mci_check_elements(const char *op, const mc_tensor *t);
/* The error of what a recording by shapes cannot do; the same. */
int mci_ask(const char *op);
/* The same, and MC_EUNSUPPORTED when the memory is that of another device than the CPU: for all
 * code that reads or writes elements. */
int mci_refuse(const char *op, const mc_tensor *t);
static inline int mci_check_live(const char *op, const mc_tensor *t)
{
    return MC_LIKELY(!mci_missing(t) && t->device == 0) ? MC_OK : mci_refuse(op, t);
}
/* The error of an operand that lies on another device than what it is written to. */
int mci_mixed_target(const char *op, const mc_tensor *t, const mc_tensor *target);
/* The device of operands and of results that are given or asked for on one (numbers, MCI_WEAK,
 * belong to any); an error when there are several. */
int mci_check_devices(const char *op, int n, const mc_tensor *const *t, int nout,
                      mc_tensor *const *out, int *device);

/* Where the elements of a tensor on a device begin; of a number: its value. */
mci_ref mci_ref_of(const mc_tensor *t);
/* A contiguous tensor on a device. Its header has no room for elements. */
int mci_create_on(int device, mc_tensor *out, int dtype, int ndim, const int64_t *shape);
/* A tensor over a block that mci_device_take gave; release(owner) when its last view goes. Takes
 * the block on success. data: where its first element is shown. */
int mci_wrap_on(mci_block *b, mc_tensor *out, char *data, int dtype, int ndim, const int64_t *shape,
                const int64_t *strides, void *owner, void (*release)(void *), int readonly);
/* s holds the memory of another storage, which its owner keeps: it lies on the same device. */
void mci_storage_like(mc_storage *s, const mc_storage *other);
/* The first `bytes` of one storage into another of the same device. */
int mci_storage_copy(mc_storage *to, const mc_storage *from, int64_t bytes);

/* The serial number of the buffer that was made last. */
int64_t mci_storage_latest(void);
void mci_storage_ref(mc_storage *s);
void mci_storage_unref(mc_storage *s);

/* Result header of an op: an empty header gets dtype, shape and memory; an out= header is checked
 * against them. */
int mci_out_on(int device, const char *op, mc_tensor *out, int dtype, int ndim,
               const int64_t *shape);
int mci_out(const char *op, mc_tensor *out, int dtype, int ndim, const int64_t *shape);
/* Undoes mci_out after a failure in a header it had just filled. */
void mci_out_fail(mc_tensor *out, int was_out);

/* Shape of the broadcast of a and b into out (may alias either). */
int mci_broadcast(const char *op, const mc_tensor *const *t, int n, int *ndim, int64_t *shape);
/* Strides of t as seen under the broadcast shape. */
void mci_broadcast_strides(const mc_tensor *t, int ndim, int64_t *strides);
/* Merges adjacent dimensions that are jointly contiguous in every operand, drops those of size 1.
 * strides[k] has room for MC_MAX_RANK. Returns the new rank (0 for one element). */
int mci_collapse(int ndim, int64_t *shape, int nop, int64_t (*strides)[MC_MAX_RANK]);
int64_t mci_numel(int ndim, const int64_t *shape);
int mci_contiguous(const mc_tensor *t);
/* A view of another shape, whose sizes come into size[MC_MAX_RANK]; -1 where strides do not allow
 * one. */
int mci_view_reshape(mc_tensor *out, const mc_tensor *t, int ndim, const int64_t *shape,
                     int64_t *size);
/* Byte range [lo, hi) that the elements of a tensor (one or more) lie in. */
void mci_extent(const mc_tensor *t, uintptr_t *lo, uintptr_t *hi);
/* -1: no overlap; 0: exactly the same elements in the same places; 1: partial overlap. */
int mci_overlap(const mc_tensor *a, const mc_tensor *b);
/* Axis argument: 0-based, negative from the end. Writes it to *axis. */
int mci_axis(const char *op, const mc_tensor *t, int64_t given, int *axis);

/* Copies `count` elements starting at flat position `first` (row-major) of src, converted to dtype,
 * into buf. */
void mci_gather(const mc_tensor *src, int64_t first, int64_t count, int dtype, void *buf);
void mci_scatter(const mc_tensor *dst, int64_t first, int64_t count, int dtype, const void *buf);

static inline char *mci_at(const mc_tensor *t, int64_t offset)
{
    return (char *)t->data + offset * MCI_SIZE(t->dtype);
}

/* flag of a 0-d operand that came from a plain number: its one element lies in host memory */
#define MCI_WEAK 256

/* dtype classes, from the generated table */
int mci_kind(int dtype); /* 'b' 'u' 'i' 'f' 'c' */

#endif
