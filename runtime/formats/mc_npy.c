/* mc_npy.c - npy images: read from a mapping or from memory, written as a stream.
 *
 * Reading never converts unless asked: mc_npy_info says whether the stored bytes are the array
 * (same byte order, no widening) and where they lie, mc_npy_read converts any range of elements.
 * Writing appends and enters the final shape at the end. Headers are read by mc_npy_header.c. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <string.h>

struct mc_npy {
    mci_infile *src;
    const unsigned char *data;
    mci_npy_header h;
    int64_t extra;
    char name[]; /* for messages: file, or file:member */
};

struct mc_npy_writer {
    mci_outfile *file;
    mci_npy_header h;
    int grows;
    int64_t row;     /* elements per step of the growing axis */
    int64_t written; /* elements */
};

mc_npy *mci_npy_over(mci_infile *src, int64_t at, int64_t n, const char *name)
{
    const unsigned char *p = mci_infile_data(src) + at;
    size_t length = strlen(name);
    mci_npy_header h;
    mc_npy *f;
    int64_t bytes;
    if (mci_npy_parse(p, n, name, &h) != MC_OK) return NULL;
    bytes = h.numel * h.item;
    if (bytes > n - h.offset) {
        mci_error(
            MC_EFORMAT,
            "npy: %s is truncated: the array needs %lld bytes and %lld are there; copy or download "
            "it again",
            name, (long long)bytes, (long long)(n - h.offset));
        return NULL;
    }
    f = mci_alloc(sizeof *f + length + 1);
    if (!f) return NULL;
    f->src = mci_infile_share(src);
    f->data = p + h.offset;
    f->h = h;
    f->extra = n - h.offset - bytes;
    memcpy(f->name, name, length + 1);
    return f;
}

static mc_npy *over_whole(mci_infile *src)
{
    mc_npy *f;
    if (!src) return NULL;
    f = mci_npy_over(src, 0, mci_infile_size(src), mci_infile_name(src));
    mci_infile_release(src);
    return f;
}

mc_npy *mc_npy_open(const char *path)
{
    return over_whole(mci_infile_map("npy", path));
}

mc_npy *mc_npy_from_memory(const void *bytes, int64_t n)
{
    return over_whole(mci_infile_memory("npy", bytes, n));
}

void mc_npy_free(mc_npy *f)
{
    if (!f) return;
    mci_infile_release(f->src);
    mci_free(f);
}

void mc_npy_forget(const mc_npy *f, const void *from, int64_t n)
{
    mci_infile_forget(f->src, from, n);
}

const void *mc_npy_data(const mc_npy *f)
{
    return f ? f->data : NULL;
}

/* Alignment asks for the part that the machine loads at once: a component of a complex number. */
static int component_bytes(const mci_npy_header *h)
{
    return h->dtype == MC_C64 || h->dtype == MC_C128 ? h->item / 2 : h->item;
}

int mc_npy_info(const mc_npy *f, int64_t *out)
{
    const mci_npy_header *h;
    int64_t stride = 1;
    if (!f || !out)
        return mci_error(MC_EINVAL, "npy: no file or no place for the result; check the call");
    h = &f->h;
    memset(out, 0, MC_NPY_INFO_LEN * sizeof *out);
    out[MC_NPY_DTYPE] = h->dtype;
    out[MC_NPY_RANK] = h->rank;
    out[MC_NPY_NUMEL] = h->numel;
    out[MC_NPY_FORTRAN] = h->fortran;
    /* A stored bool may be any byte; only reading makes it 0 or 1. */
    out[MC_NPY_DIRECT] = !h->swapped && !h->widened && h->dtype != MC_BOOL;
    out[MC_NPY_ALIGNED] = (uintptr_t)f->data % (uintptr_t)component_bytes(h) == 0;
    out[MC_NPY_OFFSET] = h->offset;
    out[MC_NPY_BYTES] = h->numel * h->item;
    out[MC_NPY_ITEM] = h->item;
    out[MC_NPY_SWAPPED] = h->swapped;
    out[MC_NPY_WIDENED] = h->widened;
    out[MC_NPY_EXTRA] = f->extra;
    for (int i = 0; i < h->rank; i++) {
        int axis = h->fortran ? i : h->rank - 1 - i;
        out[MC_NPY_SHAPE + axis] = h->shape[axis];
        out[MC_NPY_STRIDES + axis] = stride;
        if (h->shape[axis] > 1) stride *= h->shape[axis];
    }
    return MC_OK;
}

/* Reverses the bytes of n items of 2, 4 or 8 bytes in place. Plain shifts, which compilers turn
 * into bswap. */
static void swap_items(unsigned char *p, int64_t n, int item)
{
    for (int64_t i = 0; i < n; i++, p += item)
        for (int a = 0, b = item - 1; a < b; a++, b--) {
            unsigned char t = p[a];
            p[a] = p[b];
            p[b] = t;
        }
}

static void swap_bytes(unsigned char *p, int64_t n, int item)
{
    switch (item) { /* constants, so that each loop is specialised */
    case 2: swap_items(p, n, 2); break;
    case 4: swap_items(p, n, 4); break;
    default: swap_items(p, n, 8); break;
    }
}

/* One unsigned stored item in the file's byte order. */
static uint64_t load_unsigned(const unsigned char *p, int item, int big)
{
    uint64_t v = 0;
    for (int i = 0; i < item; i++) v |= (uint64_t)p[i] << 8 * (big ? item - 1 - i : i);
    return v;
}

static int read_widened(const mc_npy *f, int64_t first, int64_t count, void *out)
{
    const int item = f->h.item;
    const uint16_t one = 1;
    const int big = (*(const unsigned char *)&one == 0) != (f->h.swapped != 0);
    const unsigned char *p = f->data + first * item;
    for (int64_t i = 0; item == 8 && i < count; i++)
        if (load_unsigned(p + i * 8, 8, big) > INT64_MAX)
            return mci_error(
                MC_EUNSUPPORTED,
                "npy: %s is unsigned 64-bit and holds %llu, which i64 cannot; save it as "
                "float64 or int64",
                f->name, (unsigned long long)load_unsigned(p + i * 8, 8, big));
    for (int64_t i = 0; i < count; i++) {
        uint64_t v = load_unsigned(p + i * item, item, big);
        if (f->h.dtype == MC_I32)
            ((int32_t *)out)[i] = (int32_t)v;
        else
            ((int64_t *)out)[i] = (int64_t)v;
    }
    return MC_OK;
}

int mc_npy_read(const mc_npy *f, int64_t first, int64_t count, void *out)
{
    const mci_npy_header *h;
    if (!f || first < 0 || count < 0 || first > f->h.numel - count || (count > 0 && !out))
        return mci_error(
            MC_EINVAL,
            "npy: elements outside the array, or no place for them; check first and count");
    if (count == 0) return MC_OK;
    h = &f->h;
    if (h->widened) return read_widened(f, first, count, out);
    if (h->dtype == MC_BOOL) {
        for (int64_t i = 0; i < count; i++) ((uint8_t *)out)[i] = f->data[first + i] != 0;
        return MC_OK;
    }
    memcpy(out, f->data + first * h->item, (size_t)(count * h->item));
    if (h->swapped) {
        int item = component_bytes(h);
        swap_bytes(out, count * (h->item / item), item);
    }
    return MC_OK;
}

/* ---- writing ---- */

mc_npy_writer *mc_npy_create(const char *path, int dtype, int rank, const int64_t *shape,
                             int fortran)
{
    unsigned char text[MCI_NPY_HEADER];
    mci_npy_header h;
    mc_npy_writer *w;
    int grows = rank > 0 && shape && shape[0] == -1;
    if (mci_npy_plan("npy", dtype, rank, shape, fortran, 1, &h) != MC_OK) return NULL;
    w = mci_calloc(1, sizeof *w);
    if (!w) return NULL;
    w->h = h;
    w->grows = grows;
    w->row = 1;
    for (int i = 1; i < rank; i++) w->row *= h.shape[i];
    w->file = mci_outfile_open("npy", path, grows);
    if (!w->file) goto fail;
    h.offset = mci_npy_format(&h, grows, text);
    w->h.offset = h.offset;
    if (mci_outfile_write(w->file, text, h.offset) != MC_OK) goto fail;
    return w;
fail:
    mc_npy_writer_free(w);
    return NULL;
}

int mc_npy_write(mc_npy_writer *w, const void *data, int64_t count)
{
    int rc;
    if (!w || count < 0 || (count > 0 && !data))
        return mci_error(MC_EINVAL, "npy: no writer, or no data for it; check the call");
    if (w->grows ? count > INT64_MAX / 16 / w->h.item - w->written
                 : count > w->h.numel - w->written)
        return mci_error(
            MC_ESHAPE,
            "npy: %lld elements after %lld are more than the shape holds; declare the final "
            "shape, or -1 as first size",
            (long long)count, (long long)w->written);
    rc = mci_outfile_write(w->file, data, count * w->h.item);
    if (rc == MC_OK) w->written += count;
    return rc;
}

/* Turns the count of elements into the first size. */
static int close_shape(mc_npy_writer *w)
{
    unsigned char text[MCI_NPY_HEADER];
    int64_t n;
    if (w->row == 0 ? w->written != 0 : w->written % w->row != 0)
        return mci_error(MC_ESHAPE,
                         "npy: %lld elements are no whole number of rows of %lld; write whole rows",
                         (long long)w->written, (long long)w->row);
    w->h.shape[0] = w->row ? w->written / w->row : 0;
    n = mci_npy_format(&w->h, 1, text);
    if (n != w->h.offset) return mci_error(MC_EINTERNAL, "npy: the header changed its length");
    return mci_outfile_patch(w->file, 0, text, n);
}

int mc_npy_commit(mc_npy_writer *w)
{
    int rc = MC_OK;
    if (!w) return mci_error(MC_EINVAL, "npy: no writer; open it with mc_npy_create");
    if (w->grows)
        rc = close_shape(w);
    else if (w->written != w->h.numel)
        rc = mci_error(
            MC_ESHAPE,
            "npy: %lld elements were written and the shape needs %lld; write them all before the "
            "end",
            (long long)w->written, (long long)w->h.numel);
    return rc == MC_OK ? mci_outfile_commit(w->file) : rc;
}

void mc_npy_writer_free(mc_npy_writer *w)
{
    if (!w) return;
    mci_outfile_free(w->file);
    mci_free(w);
}
