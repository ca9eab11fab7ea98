/* mc_mat.c - MAT-files of version 5: a tree of arrays, cells and structs.
 *
 * A file is a header of 128 bytes and a chain of elements: type, length, data padded to 8 bytes; a
 * short form keeps up to 4 bytes beside its type. Arrays are elements made of elements, and packed
 * ones are zlib streams of one array. Here stand the walk and every bound. What fields mean is
 * for its caller. Source: MATLAB MAT-file format, R2017b, chapter 1. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <string.h>

#define HEADER_BYTES 128
#define DEEPEST 32
#define RANK_MAX 8
#define FAR ((int64_t)1 << 46)

/* Types of elements. */
enum {
    INT8 = 1,
    UINT8,
    INT16,
    UINT16,
    INT32,
    UINT32,
    SINGLE,
    DOUBLE = 9,
    INT64 = 12,
    UINT64,
    MATRIX,
    COMPRESSED,
    UTF8,
    UTF16,
    UTF32
};

typedef struct array {
    int64_t numel, data, numbers, children, names; /* children, names: places in the pools */
    int64_t shape[RANK_MAX];
    int64_t name; /* of a variable: place in the text, or -1 */
    int32_t n_children, n_fields;
    int source, kind, rank, type; /* source: 0 the file, k the k-th unpacked variable */
} array;

/* A growing list. */
typedef struct pool {
    unsigned char *p;
    int64_t count, room, item;
} pool;

struct mc_mat {
    mci_infile *src;
    int big;
    pool arrays, slots, text, sources, variables; /* slots: int64_t, sources: mci_infile * */
};

/* An element: where its data lie. */
typedef struct element {
    int64_t data, bytes, next;
    uint32_t type;
} element;

static int bad(const mc_mat *f, const char *what)
{
    return mci_error(MC_EFORMAT, "mat: %s is damaged: %s; copy or download it again",
                     mci_infile_name(f->src), what);
}

/* ---- pools ---- */

/* Room for n more items, zero filled; the place of the first, or -1. */
static int64_t extend(pool *q, int64_t n)
{
    int64_t at = q->count;
    if (n > q->room - q->count) {
        int64_t room = q->room * 2 > q->count + n ? q->room * 2 : q->count + n + 16;
        unsigned char *p = q->p ? mci_realloc(q->p, (size_t)(room * q->item))
                                : mci_alloc((size_t)(room * q->item));
        if (!p) return -1;
        q->p = p;
        q->room = room;
    }
    if (n > 0) memset(q->p + at * q->item, 0, (size_t)(n * q->item));
    q->count += n;
    return at;
}

static array *array_at(const mc_mat *f, int64_t i)
{
    return (array *)(void *)f->arrays.p + i;
}

static int64_t *slot_at(const mc_mat *f, int64_t i)
{
    return (int64_t *)(void *)f->slots.p + i;
}

static mci_infile *source_at(const mc_mat *f, int k)
{
    return k == 0 ? f->src : ((mci_infile **)(void *)f->sources.p)[k - 1];
}

/* ---- elements ---- */

static uint32_t u32_at(const mc_mat *f, const unsigned char *p)
{
    return f->big ? mci_be32(p) : mci_le32(p);
}

/* The element at byte `at` of a source, which must end by `limit`. */
static int element_at(const mc_mat *f, int source, int64_t at, int64_t limit, element *e)
{
    unsigned char h[8];
    uint32_t word;
    int rc;
    if (limit - at < 8) return bad(f, "an element has no room for its head");
    rc = mci_infile_read(source_at(f, source), at, h, 8);
    if (rc != MC_OK) return rc;
    word = u32_at(f, h);
    if (word >> 16) { /* the short form */
        e->type = word & 0xffff;
        e->bytes = word >> 16;
        e->data = at + 4;
        e->next = at + 8;
        if (e->bytes > 4) return bad(f, "a short element of more than 4 bytes");
        return MC_OK;
    }
    e->type = word;
    e->bytes = u32_at(f, h + 4);
    e->data = at + 8;
    if (e->bytes > limit - e->data) return bad(f, "an element reaches beyond its end");
    e->next = e->data + e->bytes;
    if (e->type != COMPRESSED) e->next = (e->next + 7) & ~(int64_t)7;
    if (e->next > limit) e->next = limit; /* the last one of a file may lack its padding */
    return MC_OK;
}

/* How the numbers of an element are stored, -1 for what is no number. */
static int stored_as(const mc_mat *f, uint32_t type)
{
    int big = f->big ? MC_SAMPLE_BIG : 0;
    switch (type) {
    case INT8: return MC_SAMPLE_I8 + big;
    case UINT8:
    case UTF8: return MC_SAMPLE_U8 + big;
    case INT16: return MC_SAMPLE_I16 + big;
    case UINT16:
    case UTF16: return MC_SAMPLE_U16 + big;
    case INT32: return MC_SAMPLE_I32 + big;
    case UINT32:
    case UTF32: return MC_SAMPLE_U32 + big;
    case SINGLE: return MC_SAMPLE_F32 + big;
    case DOUBLE: return MC_SAMPLE_F64 + big;
    case INT64: return MC_SAMPLE_I64 + big;
    case UINT64: return MC_SAMPLE_U64 + big;
    default: return -1;
    }
}

/* ---- arrays ---- */

static int read_array(mc_mat *f, int source, element e, int depth, int64_t *index);

/* Sizes, the fastest axis first, and their product. */
static int read_shape(const mc_mat *f, int source, const element *e, array *a)
{
    unsigned char p[4 * RANK_MAX];
    int rc;
    if (e->type != INT32 || e->bytes % 4 || e->bytes < 8 || e->bytes > 4 * RANK_MAX)
        return bad(f, "an array has impossible sizes");
    rc = mci_infile_read(source_at(f, source), e->data, p, e->bytes);
    if (rc != MC_OK) return rc;
    a->rank = (int)(e->bytes / 4);
    a->numel = 1;
    for (int k = 0; k < a->rank; k++) {
        uint32_t s = u32_at(f, p + 4 * k);
        if (s > 0x7fffffffu) return bad(f, "an array of negative size");
        a->shape[k] = s;
        if (s != 0 && a->numel > FAR / s) return bad(f, "an array larger than any file");
        a->numel *= s;
    }
    return MC_OK;
}

/* Copies text to the pool with a closing zero byte; its place, or -1. */
static int64_t keep_text(mc_mat *f, int source, int64_t at, int64_t n)
{
    int64_t place = extend(&f->text, n + 1);
    if (place >= 0 && n > 0 &&
        mci_infile_read(source_at(f, source), at, f->text.p + place, n) != MC_OK)
        return -1;
    return place;
}

static int read_fields(mc_mat *f, int source, int64_t *at, int64_t limit, array *a)
{
    unsigned char p[4];
    element e;
    int64_t width, n;
    int rc = element_at(f, source, *at, limit, &e);
    if (rc != MC_OK) return rc;
    if (e.type != INT32 || e.bytes != 4) return bad(f, "a struct without the length of its names");
    rc = mci_infile_read(source_at(f, source), e.data, p, 4);
    if (rc != MC_OK) return rc;
    width = u32_at(f, p);
    rc = element_at(f, source, e.next, limit, &e);
    if (rc != MC_OK) return rc;
    if (width < 1 || width > 4096 || e.type != INT8 || e.bytes % width || e.bytes / width > 65535)
        return bad(f, "a struct with impossible names of fields");
    n = e.bytes / width;
    a->n_fields = (int32_t)n;
    a->names = extend(&f->slots, n);
    if (a->names < 0) return mc_errstatus();
    for (int64_t k = 0; k < n; k++) {
        int64_t place = keep_text(f, source, e.data + k * width, width);
        if (place < 0) return mc_errstatus();
        *slot_at(f, a->names + k) = place;
    }
    *at = e.next;
    return MC_OK;
}

/* Arrays from *at on as the children of array `index`. */
static int read_children(mc_mat *f, int source, int64_t at, int64_t limit, int64_t index, int64_t n,
                         int depth)
{
    int64_t first;
    /* each takes 8 bytes at least, so the file bounds what is allocated */
    if (n > (limit - at) / 8 || n > INT32_MAX)
        return bad(f, "fewer arrays than a cell or struct needs");
    first = extend(&f->slots, n);
    if (first < 0) return mc_errstatus();
    array_at(f, index)->children = first;
    array_at(f, index)->n_children = (int32_t)n;
    for (int64_t k = 0; k < n; k++) {
        element e;
        int64_t child;
        int rc = element_at(f, source, at, limit, &e);
        if (rc == MC_OK && e.type != MATRIX) rc = bad(f, "a cell or struct holds what is no array");
        if (rc == MC_OK) rc = read_array(f, source, e, depth + 1, &child);
        if (rc != MC_OK) return rc;
        *slot_at(f, first + k) = child;
        at = e.next;
    }
    return MC_OK;
}

static int read_numbers(const mc_mat *f, int source, int64_t at, int64_t limit, array *a)
{
    element e;
    int rc;
    if (at >= limit && a->numel == 0) return MC_OK;
    rc = element_at(f, source, at, limit, &e);
    if (rc != MC_OK) return rc;
    a->data = e.data;
    a->type = (int)e.type;
    if (stored_as(f, e.type) >= 0) a->numbers = e.bytes / mci_sample_bytes(stored_as(f, e.type));
    if (a->kind != MC_MAT_CHAR && stored_as(f, e.type) >= 0 && a->numbers < a->numel)
        return bad(f, "an array has fewer numbers than its sizes tell");
    return MC_OK;
}

static int read_array(mc_mat *f, int source, element whole, int depth, int64_t *index)
{
    int64_t limit = whole.data + whole.bytes, at = whole.data, i = extend(&f->arrays, 1);
    unsigned char flags[4];
    array a = { 0 };
    element e;
    int rc;
    if (i < 0) return mc_errstatus();
    *index = i;
    a.source = source;
    a.name = -1;
    if (whole.bytes == 0) { /* an empty field */
        *array_at(f, i) = a;
        return MC_OK;
    }
    if (depth > DEEPEST) return bad(f, "arrays within arrays, more than 32 deep");
    rc = element_at(f, source, at, limit, &e);
    if (rc == MC_OK && (e.type != UINT32 || e.bytes != 8))
        rc = bad(f, "an array without its class");
    if (rc == MC_OK) rc = mci_infile_read(source_at(f, source), e.data, flags, 4);
    if (rc != MC_OK) return rc;
    a.kind = (int)(u32_at(f, flags) & 0xff);
    rc = element_at(f, source, e.next, limit, &e);
    if (rc == MC_OK && a.kind > MC_MAT_U64) { /* function handles and objects of later kinds */
        *array_at(f, i) = a;
        return MC_OK;
    }
    if (rc == MC_OK) rc = read_shape(f, source, &e, &a);
    if (rc == MC_OK) rc = element_at(f, source, e.next, limit, &e);
    if (rc == MC_OK && e.type != INT8) rc = bad(f, "an array without a name");
    if (rc != MC_OK) return rc;
    if (depth == 0 && (a.name = keep_text(f, source, e.data, e.bytes)) < 0) return mc_errstatus();
    at = e.next;
    if (a.kind == MC_MAT_OBJECT) {
        rc = element_at(f, source, at, limit, &e); /* the name of its class */
        if (rc != MC_OK) return rc;
        at = e.next;
    }
    if (a.kind == MC_MAT_STRUCT || a.kind == MC_MAT_OBJECT)
        rc = read_fields(f, source, &at, limit, &a);
    else if (a.kind >= MC_MAT_DOUBLE || a.kind == MC_MAT_CHAR)
        rc = read_numbers(f, source, at, limit, &a);
    if (rc != MC_OK) return rc;
    *array_at(f, i) = a;
    if (a.kind == MC_MAT_CELL) return read_children(f, source, at, limit, i, a.numel, depth);
    if (a.n_fields > 0) {
        if (a.numel > FAR / a.n_fields) return bad(f, "a struct larger than any file");
        return read_children(f, source, at, limit, i, a.numel * a.n_fields, depth);
    }
    return MC_OK;
}

/* ---- the file ---- */

static int unpack(mc_mat *f, const element *e, int64_t *index)
{
    int64_t place = extend(&f->sources, 1);
    mci_infile *inner;
    element whole;
    int rc;
    if (place < 0) return mc_errstatus();
    f->sources.count--; /* counts once it is there */
    inner = mci_infile_inflate("mat", f->src, e->data, e->bytes);
    if (!inner) return mc_errstatus();
    ((mci_infile **)(void *)f->sources.p)[place] = inner;
    f->sources.count++;
    rc = element_at(f, (int)place + 1, 0, mci_infile_size(inner), &whole);
    if (rc == MC_OK && whole.type != MATRIX) rc = bad(f, "a packed element that is no array");
    return rc == MC_OK ? read_array(f, (int)place + 1, whole, 0, index) : rc;
}

static int read_variables(mc_mat *f)
{
    int64_t at = HEADER_BYTES, size = mci_infile_size(f->src);
    while (at < size) {
        element e;
        int64_t index, place;
        int rc = element_at(f, 0, at, size, &e);
        if (rc != MC_OK) return rc;
        at = e.next;
        if (e.type != MATRIX && e.type != COMPRESSED) continue;
        rc = e.type == MATRIX ? read_array(f, 0, e, 0, &index) : unpack(f, &e, &index);
        if (rc != MC_OK) return rc;
        place = extend(&f->variables, 1);
        if (place < 0) return mc_errstatus();
        ((int64_t *)(void *)f->variables.p)[place] = index;
    }
    return MC_OK;
}

static int read_header(mc_mat *f)
{
    unsigned char h[HEADER_BYTES];
    const char *name = mci_infile_name(f->src);
    int rc;
    if (mci_infile_size(f->src) < HEADER_BYTES)
        return mci_error(
            MC_EFORMAT,
            "mat: %s is too short for a MAT-file; it is truncated or another kind of file", name);
    rc = mci_infile_read(f->src, 0, h, HEADER_BYTES);
    if (rc != MC_OK) return rc;
    if (memcmp(h, "\x89HDF\r\n\x1a\n", 8) == 0 || memcmp(h, "MATLAB 7.3", 10) == 0)
        return mci_error(MC_EUNSUPPORTED,
                         "mat: %s is of MATLAB version 7.3 (HDF5), which mc_hdf5_open reads; one "
                         "without HDF5 data in it is truncated",
                         name);
    if ((h[126] != 'I' || h[127] != 'M') && (h[126] != 'M' || h[127] != 'I'))
        return mci_error(MC_EFORMAT,
                         "mat: %s is no MAT-file of version 5; if it is one of version 4, save it "
                         "again as version 7",
                         name);
    f->big = h[126] == 'M';
    return MC_OK;
}

static mc_mat *open_mat(mci_infile *src)
{
    mc_mat *f;
    if (!src) return NULL;
    f = mci_calloc(1, sizeof *f);
    if (!f) {
        mci_infile_release(src);
        return NULL;
    }
    f->src = src;
    f->arrays.item = sizeof(array);
    f->slots.item = f->variables.item = sizeof(int64_t);
    f->sources.item = sizeof(mci_infile *);
    f->text.item = 1;
    if (read_header(f) != MC_OK || read_variables(f) != MC_OK) {
        mc_mat_free(f);
        return NULL;
    }
    return f;
}

mc_mat *mc_mat_open(const char *path)
{
    return open_mat(mci_infile_open("mat", path));
}

mc_mat *mc_mat_from_memory(const void *bytes, int64_t n)
{
    return open_mat(mci_infile_memory("mat", bytes, n));
}

void mc_mat_free(mc_mat *f)
{
    if (!f) return;
    for (int k = 1; k <= (int)f->sources.count; k++) mci_infile_release(source_at(f, k));
    mci_free(f->arrays.p);
    mci_free(f->slots.p);
    mci_free(f->text.p);
    mci_free(f->sources.p);
    mci_free(f->variables.p);
    mci_infile_release(f->src);
    mci_free(f);
}

/* ---- questions ---- */

static int check_call(const mc_mat *f, int64_t i, int64_t count, const void *out)
{
    if (f && out && i >= 0 && i < count) return MC_OK;
    return mci_error(MC_EINVAL, "mat: no such array, or no place for the result; check the call");
}

int mc_mat_info(const mc_mat *f, int64_t *out)
{
    int rc = check_call(f, 0, 1, out);
    if (rc != MC_OK) return rc;
    out[0] = f->variables.count;
    out[1] = f->arrays.count;
    return MC_OK;
}

int mc_mat_variable(const mc_mat *f, int64_t k, int64_t *out)
{
    int rc = check_call(f, k, f ? f->variables.count : 0, out);
    if (rc == MC_OK) out[0] = ((int64_t *)(void *)f->variables.p)[k];
    return rc;
}

int mc_mat_array(const mc_mat *f, int64_t i, int64_t *out)
{
    const array *a;
    int rc = check_call(f, i, f ? f->arrays.count : 0, out);
    if (rc != MC_OK) return rc;
    a = array_at(f, i);
    out[MC_MAT_CLASS] = a->kind;
    out[MC_MAT_NUMEL] = a->numel;
    out[MC_MAT_FIELDS] = a->n_fields;
    out[MC_MAT_CHILDREN] = a->n_children;
    out[MC_MAT_STORED] = a->type ? stored_as(f, (uint32_t)a->type) : -1;
    out[MC_MAT_NUMBERS] = a->numbers;
    out[MC_MAT_UTF8] = a->type == UTF8;
    out[MC_MAT_RANK] = a->rank;
    for (int k = 0; k < RANK_MAX; k++) out[MC_MAT_SHAPE + k] = a->shape[k];
    return MC_OK;
}

int mc_mat_child(const mc_mat *f, int64_t i, int64_t k, int64_t *out)
{
    int rc = check_call(f, i, f ? f->arrays.count : 0, out);
    if (rc == MC_OK) rc = check_call(f, k, array_at(f, i)->n_children, out);
    if (rc == MC_OK) out[0] = *slot_at(f, array_at(f, i)->children + k);
    return rc;
}

const char *mc_mat_name(const mc_mat *f, int64_t i)
{
    if (!f || i < 0 || i >= f->arrays.count || array_at(f, i)->name < 0) return NULL;
    return (const char *)f->text.p + array_at(f, i)->name;
}

const char *mc_mat_field(const mc_mat *f, int64_t i, int64_t k)
{
    if (!f || i < 0 || i >= f->arrays.count || k < 0 || k >= array_at(f, i)->n_fields) return NULL;
    return (const char *)f->text.p + *slot_at(f, array_at(f, i)->names + k);
}

int mc_mat_samples(const mc_mat *f, int64_t i, int64_t base, int64_t channel_step,
                   int64_t sample_step, const int *channels, int n, int64_t first, int64_t count,
                   const double *scale, double *out, int64_t row_stride)
{
    const array *a;
    mci_grid g = { "mat", 0, 0, 0, 0 };
    int64_t item;
    int rc = check_call(f, i, f ? f->arrays.count : 0, out);
    if (rc != MC_OK) return rc;
    a = array_at(f, i);
    g.type = a->type ? stored_as(f, (uint32_t)a->type) : -1;
    if (g.type < 0)
        return mci_error(MC_EUNSUPPORTED, "mat: %s: an array that holds no numbers; check the call",
                         mci_infile_name(f->src));
    if (base < 0 || base > a->numbers || channel_step < 0 || channel_step > a->numbers + 1 ||
        sample_step < 0 || sample_step > a->numbers + 1)
        return mci_error(MC_EINVAL,
                         "mat: numbers outside the array, which has %lld; check the call",
                         (long long)a->numbers);
    item = mci_sample_bytes(g.type);
    g.base = a->data + base * item;
    g.channel_step = channel_step * item;
    g.sample_step = sample_step * item;
    return mci_grid_read(source_at(f, a->source), &g, a->data + a->numbers * item, channels, n,
                         first, count, scale, out, row_stride);
}

int mc_mat_numbers(const mc_mat *f, int64_t i, int64_t first, int64_t count, double *out)
{
    static const int one[1] = { 0 };
    int rc = mc_mat_samples(f, i, 0, 0, 1, one, 1, first, count, NULL, out, count);
    if (rc == MC_OK) mci_one_nan(out, count);
    return rc;
}
