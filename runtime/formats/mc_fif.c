/* mc_fif.c - FIF files: the chain of tags and the numbers in them.
 *
 * A FIF file is a chain of tags, all big-endian: kind, type, bytes of data, place of the next tag
 * (0: it follows), then the data. Matrices carry their sizes behind their numbers. Here stand
 * the walk along the chain and every bound; what a kind means is for its caller, who sees no byte
 * outside a tag. Source: Functional Image File Format, description of Elekta Neuromag, 2006. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <string.h>

#define HEAD_BYTES 16
#define FILE_ID 100
#define ID_BYTES 20
#define NEXT_NONE (-1)
/* A month in buffers of a second takes 2.6 million; a packed file of empty ones costs nothing. */
#define MOST_TAGS ((int64_t)1 << 22)
#define MATRIX 0x40000000u

typedef struct tag {
    int64_t pos, bytes;
    int32_t kind;
    uint32_t type;
} tag;

struct mc_fif {
    mci_infile *src;
    tag *tags;
    int64_t count, room;
    int packed, ended;
};

static int bad(const mc_fif *f, const char *what, int64_t at)
{
    return mci_error(MC_EFORMAT, "fif: %s: %s at byte %lld; copy or download the file again",
                     mci_infile_name(f->src), what, (long long)at);
}

static int32_t signed32(const unsigned char *p)
{
    uint32_t bits = mci_be32(p);
    int32_t v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* ---- the chain ---- */

static int append(mc_fif *f, tag t)
{
    if (f->count == f->room) {
        int64_t room = f->room ? 2 * f->room : 256;
        tag *p = f->tags ? mci_realloc(f->tags, (size_t)room * sizeof *p)
                         : mci_alloc((size_t)room * sizeof *p);
        if (!p) return mc_errstatus();
        f->tags = p;
        f->room = room;
    }
    f->tags[f->count++] = t;
    return MC_OK;
}

static int other(const char *name)
{
    return mci_error(MC_EFORMAT,
                     "fif: %s does not begin like a FIF file; it is another kind of file", name);
}

/* The first bytes of a packed file. */
static int look(const unsigned char *p, int64_t n, const char *name)
{
    return n >= HEAD_BYTES && signed32(p) == FILE_ID && signed32(p + 8) == ID_BYTES ? MC_OK
                                                                                    : other(name);
}

static int walk(mc_fif *f)
{
    int64_t at = 0, size = mci_infile_size(f->src);
    while (at < size) {
        unsigned char h[HEAD_BYTES];
        int32_t bytes, next;
        tag t;
        int rc;
        if (size - at < HEAD_BYTES) return bad(f, "it ends inside the head of a tag", at);
        rc = mci_infile_read(f->src, at, h, HEAD_BYTES);
        if (rc != MC_OK) return rc;
        bytes = signed32(h + 8);
        next = signed32(h + 12);
        t.kind = signed32(h);
        t.type = mci_be32(h + 4);
        t.pos = at + HEAD_BYTES;
        t.bytes = bytes;
        if (at == 0 && (t.kind != FILE_ID || bytes != ID_BYTES))
            return other(mci_infile_name(f->src));
        if (f->count == MOST_TAGS) return bad(f, "more than 4 million tags", at);
        if (bytes < 0) return bad(f, "a tag of negative length", at);
        if (bytes > size - t.pos) return bad(f, "a tag reaches beyond the end of the file", at);
        rc = append(f, t);
        if (rc != MC_OK) return rc;
        f->ended = next == NEXT_NONE;
        if (f->ended) break;
        if (next != 0 && next < t.pos + bytes) return bad(f, "the chain of tags turns back", at);
        at = next == 0 ? t.pos + bytes : next;
    }
    if (f->count == 0)
        return mci_error(MC_EFORMAT, "fif: %s is empty; copy or download it again",
                         mci_infile_name(f->src));
    return MC_OK;
}

static mc_fif *open_fif(mci_infile *src)
{
    unsigned char magic[2];
    mc_fif *f;
    int packed = 0;
    if (!src) return NULL;
    if (mci_infile_size(src) >= 2) {
        if (mci_infile_read(src, 0, magic, 2) != MC_OK) {
            mci_infile_release(src);
            return NULL;
        }
        packed = magic[0] == 0x1f && magic[1] == 0x8b;
    }
    if (packed) src = mci_infile_gunzip("fif", src, look);
    if (!src) return NULL;
    f = mci_calloc(1, sizeof *f);
    if (!f) {
        mci_infile_release(src);
        return NULL;
    }
    f->src = src;
    f->packed = packed;
    if (walk(f) != MC_OK) {
        mc_fif_free(f);
        return NULL;
    }
    return f;
}

mc_fif *mc_fif_open(const char *path)
{
    return open_fif(mci_infile_open("fif", path));
}

mc_fif *mc_fif_from_memory(const void *bytes, int64_t n)
{
    return open_fif(mci_infile_memory("fif", bytes, n));
}

void mc_fif_free(mc_fif *f)
{
    if (!f) return;
    mci_free(f->tags);
    mci_infile_release(f->src);
    mci_free(f);
}

/* ---- questions ---- */

int mc_fif_info(const mc_fif *f, int64_t *out)
{
    if (!f || !out)
        return mci_error(MC_EINVAL, "fif: no file or no place for the result; check the call");
    out[MC_FIF_TAGS] = f->count;
    out[MC_FIF_PACKED] = f->packed;
    out[MC_FIF_ENDED] = f->ended;
    return MC_OK;
}

int mc_fif_tags(const mc_fif *f, int64_t first, int64_t count, int64_t *out)
{
    if (!f || !out || first < 0 || count < 0 || first > f->count - count)
        return mci_error(MC_EINVAL, "fif: no such tags; ask mc_fif_info");
    for (int64_t i = 0; i < count; i++) {
        const tag *t = &f->tags[first + i];
        out[4 * i + MC_FIF_KIND] = t->kind;
        out[4 * i + MC_FIF_TYPE] = (int64_t)t->type;
        out[4 * i + MC_FIF_BYTES] = t->bytes;
        out[4 * i + MC_FIF_POS] = t->pos;
    }
    return MC_OK;
}

static const tag *tag_at(const mc_fif *f, int64_t i)
{
    if (f && i >= 0 && i < f->count) return &f->tags[i];
    mci_error(MC_EINVAL, "fif: no tag %lld, the file has %lld; ask mc_fif_info", (long long)i,
              (long long)(f ? f->count : 0));
    return NULL;
}

int mc_fif_bytes(const mc_fif *f, int64_t i, int64_t first, int64_t n, void *out)
{
    const tag *t = tag_at(f, i);
    if (!t) return mc_errstatus();
    if (first < 0 || n < 0 || first > t->bytes - n || (n > 0 && !out))
        return mci_error(MC_EINVAL, "fif: bytes outside the tag, which has %lld; check the call",
                         (long long)t->bytes);
    return mci_infile_read(f->src, t->pos + first, out, n);
}

/* ---- numbers ---- */

/* How the numbers of a tag are stored, -1 for what is no number. */
static int stored_as(const tag *t)
{
    switch (t->type & ~MATRIX) {
    case 1: return MC_SAMPLE_U8;
    case 2:
    case 16: return MC_SAMPLE_I16 + MC_SAMPLE_BIG; /* short, packed short */
    case 3:
    case 6: return MC_SAMPLE_I32 + MC_SAMPLE_BIG; /* int, Julian day */
    case 4: return MC_SAMPLE_F32 + MC_SAMPLE_BIG;
    case 5: return MC_SAMPLE_F64 + MC_SAMPLE_BIG;
    case 7: return MC_SAMPLE_U16 + MC_SAMPLE_BIG;
    case 8: return MC_SAMPLE_U32 + MC_SAMPLE_BIG;
    default: return -1;
    }
}

/* Sizes of the axes, slowest first, and their product; the trailer of a matrix is the rank, the
 * sizes before it, the fastest axis first. */
static int shape_of(const mc_fif *f, const tag *t, int64_t *shape, int64_t *numbers)
{
    int item, rank;
    unsigned char trailer[4 * (MC_FIF_RANK + 1)];
    int64_t n = 1;
    int rc;
    if (stored_as(t) < 0)
        return mci_error(MC_EUNSUPPORTED,
                         "fif: %s: a tag of kind %d holds data of type %u, which are no plain "
                         "numbers; convert the file",
                         mci_infile_name(f->src), (int)t->kind, (unsigned)t->type);
    item = mci_sample_bytes(stored_as(t));
    if (!(t->type & MATRIX)) {
        shape[0] = 1;
        shape[1] = *numbers = t->bytes / item;
        return MC_OK;
    }
    if (t->bytes < 4) return bad(f, "a matrix without its sizes", t->pos);
    rc = mci_infile_read(f->src, t->pos + t->bytes - 4, trailer, 4);
    if (rc != MC_OK) return rc;
    rank = (int)signed32(trailer);
    if (rank < 1 || rank > MC_FIF_RANK || t->bytes < 4 * (rank + 1))
        return bad(f, "a matrix of impossible rank", t->pos);
    rc = mci_infile_read(f->src, t->pos + t->bytes - 4 * (rank + 1), trailer, 4 * rank);
    if (rc != MC_OK) return rc;
    shape[0] = rank;
    for (int k = 0; k < rank; k++) {
        int64_t s = signed32(trailer + 4 * k);
        if (s < 0) return bad(f, "a matrix of negative size", t->pos);
        if (s > t->bytes) return bad(f, "a matrix larger than its tag", t->pos);
        shape[rank - k] = s;
        n *= s;
        if (n > t->bytes) return bad(f, "a matrix larger than its tag", t->pos);
    }
    if (n * item != t->bytes - 4 * (rank + 1))
        return bad(f, "a matrix whose sizes do not fit its length", t->pos);
    *numbers = n;
    return MC_OK;
}

int mc_fif_shape(const mc_fif *f, int64_t i, int64_t *out)
{
    const tag *t = tag_at(f, i);
    int64_t numbers;
    if (!t) return mc_errstatus();
    if (!out) return mci_error(MC_EINVAL, "fif: no place for the result; check the call");
    return shape_of(f, t, out, &numbers);
}

int mc_fif_samples(const mc_fif *f, int64_t i, int64_t base, int64_t channel_step,
                   int64_t sample_step, const int *channels, int n, int64_t first, int64_t count,
                   const double *scale, double *out, int64_t row_stride)
{
    const tag *t = tag_at(f, i);
    int64_t shape[MC_FIF_RANK + 1], numbers;
    mci_grid g = { "fif", 0, 0, 0, 0 };
    int rc, item;
    if (!t) return mc_errstatus();
    rc = shape_of(f, t, shape, &numbers);
    if (rc != MC_OK) return rc;
    g.type = stored_as(t);
    item = mci_sample_bytes(g.type);
    if (base < 0 || base > numbers || channel_step < 0 || channel_step > numbers + 1 ||
        sample_step < 0 || sample_step > numbers + 1)
        return mci_error(MC_EINVAL, "fif: numbers outside the tag, which has %lld; check the call",
                         (long long)numbers);
    g.base = t->pos + base * item;
    g.channel_step = channel_step * item;
    g.sample_step = sample_step * item;
    return mci_grid_read(f->src, &g, t->pos + numbers * item, channels, n, first, count, scale, out,
                         row_stride);
}

int mc_fif_numbers(const mc_fif *f, int64_t i, int64_t first, int64_t count, double *out)
{
    static const int one[1] = { 0 };
    int rc = mc_fif_samples(f, i, 0, 0, 1, one, 1, first, count, NULL, out, count);
    if (rc == MC_OK) mci_one_nan(out, count);
    return rc;
}
