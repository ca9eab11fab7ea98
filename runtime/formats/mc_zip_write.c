/* mc_zip_write.c - writes zip files, the container of npz.
 *
 * Members are streamed: the local header goes out with sizes to come and is completed when the
 * member ends; the directory follows at the end. zip64 fields appear where a size may pass 4
 * GiB. All times are 1980-01-01 and nothing else depends on the machine, so equal contents give
 * equal bytes (for one version of zlib). The data of stored members begins at a multiple of 64
 * bytes, so that a mapped array is aligned. Holds writing only. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "device/mc_backend.h"
#include "device/mc_context.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <string.h>

#define LOCAL_BYTES 30
#define ENTRY_BYTES 46
#define ZIP64_LIMIT 0xFFFFFFFF
#define DOS_DATE 0x0021 /* 1980-01-01 */
#define FLAG_UTF8 0x0800
#define DATA_ALIGNMENT 64
/* Extra field of padding; readers skip ids they do not know. The number is the one Android's
 * zipalign uses. */
#define PAD_ID 0xD935
#define CHUNK 65536

typedef struct member {
    int64_t local, size, packed, name;
    uint32_t crc;
    int method, wide; /* wide: the local header has zip64 fields */
} member;

struct mc_zip_writer {
    mci_outfile *file;
    const mc_zlib_api *zlib;
    member *members;
    int64_t count, room;
    char *names;
    int64_t name_bytes, name_room;
    int64_t
        *slots; /* hash table of names: member + 1, or 0; a power of two long, at most half full */
    int64_t n_slots;
    int open; /* the last member takes bytes */
    int failed;
    int64_t promised; /* size announced for it, or -1 */
    int64_t data;     /* place of its first packed byte */
    void *deflate;
    unsigned char *chunk;
};

static void put16(unsigned char *p, int64_t v)
{
    p[0] = (unsigned char)(v & 255);
    p[1] = (unsigned char)(v >> 8 & 255);
}

static void put32(unsigned char *p, int64_t v)
{
    put16(p, v & 0xFFFF);
    put16(p + 2, v >> 16 & 0xFFFF);
}

static void put64(unsigned char *p, int64_t v)
{
    put32(p, v & ZIP64_LIMIT);
    put32(p + 4, v >> 32 & ZIP64_LIMIT);
}

static int64_t clip32(int64_t v)
{
    return v < ZIP64_LIMIT ? v : ZIP64_LIMIT;
}

mc_zip_writer *mc_zip_create(const char *path)
{
    mc_zip_writer *w;
    const mc_zlib_api *zlib = mci_zlib(); /* NULL: members are stored */
    w = mci_calloc(1, sizeof *w);
    if (!w) return NULL;
    w->zlib = zlib;
    w->file = mci_outfile_open("npz", path, 1);
    if (!w->file) {
        mci_free(w);
        return NULL;
    }
    return w;
}

/* Slot of the member called `name`, or the empty one where it belongs. FNV-1a, linear probing. */
static int64_t slot_of(const mc_zip_writer *w, const char *name)
{
    uint64_t h = 14695981039346656037u;
    int64_t i;
    for (const char *p = name; *p; p++) h = (h ^ (unsigned char)*p) * 1099511628211u;
    i = (int64_t)(h & (uint64_t)(w->n_slots - 1));
    while (w->slots[i] && strcmp(w->names + w->members[w->slots[i] - 1].name, name) != 0)
        i = (i + 1) & (w->n_slots - 1);
    return i;
}

/* Keeps the table at most half full after one more member. */
static int reserve_slot(mc_zip_writer *w)
{
    int64_t *old = w->slots, *fresh;
    if (2 * (w->count + 1) <= w->n_slots) return MC_OK;
    fresh = mci_calloc((size_t)(w->n_slots ? 2 * w->n_slots : 64), sizeof *fresh);
    if (!fresh) return mc_errstatus();
    w->n_slots = w->n_slots ? 2 * w->n_slots : 64;
    w->slots = fresh;
    mci_free(old);
    for (int64_t i = 0; i < w->count; i++)
        w->slots[slot_of(w, w->names + w->members[i].name)] = i + 1;
    return MC_OK;
}

/* Room for one more member and its name. */
static int reserve(mc_zip_writer *w, int64_t name)
{
    if (w->count == w->room) {
        int64_t room = w->room ? 2 * w->room : 16;
        member *m = mci_realloc(w->members, (size_t)room * sizeof *m);
        if (!m) return mc_errstatus();
        w->members = m;
        w->room = room;
    }
    if (w->name_bytes + name > w->name_room) {
        int64_t room = 2 * w->name_room + name + 256;
        char *p = mci_realloc(w->names, (size_t)room);
        if (!p) return mc_errstatus();
        w->names = p;
        w->name_room = room;
    }
    if (!w->chunk) {
        w->chunk = mci_alloc(CHUNK);
        if (!w->chunk) return mc_errstatus();
    }
    return reserve_slot(w);
}

static int check_begin(const mc_zip_writer *w, const char *name, int level, int64_t size)
{
    if (!w || !name)
        return mci_error(MC_EINVAL, "npz: no writer, or no name for the member; check the call");
    if (w->failed)
        return mci_error(MC_EIO,
                         "npz: an earlier write failed; release this writer and start again");
    if (w->open)
        return mci_error(MC_EINVAL, "npz: member %s is begun inside another; end that one first",
                         name);
    if (!name[0] || strlen(name) > 65535)
        return mci_error(MC_EINVAL, "npz: a member's name has 1 to 65535 bytes; choose another");
    if (level < 0 || level > 9 || size < -1)
        return mci_error(
            MC_EINVAL,
            "npz: member %s: level %d or size %lld makes no sense; levels are 0 (stored) to 9",
            name, level, (long long)size);
    if (w->count > 0 && w->slots[slot_of(w, name)])
        return mci_error(MC_EINVAL, "npz: there is a member %s already; choose another name", name);
    return MC_OK;
}

static int flags_of(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name > 127) return FLAG_UTF8;
    return 0;
}

/* The first 30 bytes of a local header. */
static void format_local(const member *m, const char *name, int64_t extra,
                         unsigned char p[LOCAL_BYTES])
{
    put32(p, 0x04034b50);
    put16(p + 4, m->wide ? 45 : 20);
    put16(p + 6, flags_of(name));
    put16(p + 8, m->method);
    put16(p + 10, 0);
    put16(p + 12, DOS_DATE);
    put32(p + 14, m->crc);
    put32(p + 18, m->wide ? ZIP64_LIMIT : m->packed);
    put32(p + 22, m->wide ? ZIP64_LIMIT : m->size);
    put16(p + 26, (int64_t)strlen(name));
    put16(p + 28, extra);
}

/* zip64 sizes: the field's 20 bytes. */
static void format_wide(const member *m, unsigned char p[20])
{
    put16(p, 1);
    put16(p + 2, 16);
    put64(p + 4, m->size);
    put64(p + 12, m->packed);
}

static int write_local(mc_zip_writer *w, const member *m, const char *name)
{
    unsigned char head[LOCAL_BYTES], extra[20 + 4 + DATA_ALIGNMENT];
    int64_t n = (int64_t)strlen(name), used = m->wide ? 20 : 0, pad = 0;
    int rc;
    memset(extra, 0, sizeof extra);
    if (m->wide) format_wide(m, extra);
    if (m->method == 0) {
        int64_t end = m->local + LOCAL_BYTES + n + used + 4;
        pad = 4 + (DATA_ALIGNMENT - end % DATA_ALIGNMENT) % DATA_ALIGNMENT;
        put16(extra + used, PAD_ID);
        put16(extra + used + 2, pad - 4);
    }
    format_local(m, name, used + pad, head);
    rc = mci_outfile_write(w->file, head, LOCAL_BYTES);
    if (rc == MC_OK) rc = mci_outfile_write(w->file, name, n);
    if (rc == MC_OK) rc = mci_outfile_write(w->file, extra, used + pad);
    return rc;
}

int mc_zip_begin(mc_zip_writer *w, const char *name, int level, int64_t size)
{
    int rc = check_begin(w, name, level, size);
    int64_t n;
    member *m;
    if (rc != MC_OK) return rc;
    n = (int64_t)strlen(name);
    rc = reserve(w, n + 1);
    if (rc != MC_OK) return rc;
    if (level > 0) {
        if (!w->zlib) {
            (void)mci_zlib(); /* its record says what is missing */
            mci_error_prefix("npz: packed members need zlib, level = 0 stores them");
            return mc_errstatus();
        }
        w->deflate = w->zlib->deflate_new(1, level);
        if (!w->deflate)
            return mci_error(MC_ENOMEM,
                             "npz: no memory to pack %s; close other programs or store it", name);
    }
    m = &w->members[w->count];
    memset(m, 0, sizeof *m);
    m->local = mci_outfile_size(w->file);
    m->method = level > 0 ? 8 : 0;
    m->name = w->name_bytes;
    /* What deflate cannot shrink grows by 5 bytes in 16 KiB. */
    m->wide = size < 0 || size + size / 1000 + 64 >= ZIP64_LIMIT;
    memcpy(w->names + m->name, name, (size_t)n + 1);
    w->name_bytes += n + 1;
    w->slots[slot_of(w, name)] = ++w->count;
    w->open = 1;
    w->promised = size;
    rc = write_local(w, m, w->names + m->name);
    if (rc != MC_OK) w->failed = 1;
    w->data = mci_outfile_size(w->file);
    return rc;
}

int mc_zip_begin_npy(mc_zip_writer *w, const char *name, int level, int dtype, int rank,
                     const int64_t *shape, int fortran)
{
    unsigned char text[MCI_NPY_HEADER];
    mci_npy_header h;
    int64_t n;
    int rc = mci_npy_plan("npz", dtype, rank, shape, fortran, 0, &h);
    if (rc != MC_OK) return rc;
    n = mci_npy_format(&h, 0, text);
    if (h.numel > (INT64_MAX - MCI_NPY_HEADER) / 2 / h.item)
        return mci_error(MC_ESHAPE, "npz: the array %s needs more than 2^62 bytes; check its sizes",
                         name ? name : "");
    rc = mc_zip_begin(w, name, level, n + h.numel * h.item);
    return rc == MC_OK ? mc_zip_write(w, text, n) : rc;
}

/* Feeds deflate, writing what it gives; finish: to the end of its stream. */
static int deflate_all(mc_zip_writer *w, const unsigned char *p, size_t n, int finish)
{
    int rc = 0;
    while (n > 0 || (finish && rc != 1)) {
        size_t in = n, out = CHUNK;
        rc = w->zlib->deflate_run(w->deflate, p, &in, w->chunk, &out, finish);
        if (rc < 0 || (in == 0 && out == 0 && rc != 1))
            return mci_error(MC_EINTERNAL, "npz: deflate does not go on; report this");
        p += in;
        n -= in;
        if (mci_outfile_write(w->file, w->chunk, (int64_t)out) != MC_OK) return mc_errstatus();
    }
    return MC_OK;
}

int mc_zip_write(mc_zip_writer *w, const void *bytes, int64_t n)
{
    member *m;
    int rc;
    if (!w || !w->open || n < 0 || (n > 0 && !bytes))
        return mci_error(MC_EINVAL, "npz: no member is begun, or no bytes for it; check the call");
    if (w->failed)
        return mci_error(MC_EIO,
                         "npz: an earlier write failed; release this writer and start again");
    if (n == 0) return MC_OK;
    m = &w->members[w->count - 1];
    if (w->promised >= 0 && n > w->promised - m->size)
        return mci_error(
            MC_ESHAPE,
            "npz: member %s was announced with %lld bytes and gets more; give the right size or -1",
            w->names + m->name, (long long)w->promised);
    if (n > INT64_MAX / 4 - m->size)
        return mci_error(MC_EINVAL, "npz: more bytes than a file can hold; check the call");
    if (w->deflate)
        rc = deflate_all(w, bytes, (size_t)n, 0);
    else
        rc = mci_outfile_write(w->file, bytes, n);
    if (rc != MC_OK) {
        w->failed = 1;
        return rc;
    }
    m->crc = (w->zlib ? w->zlib->crc32 : mci_crc32)(m->crc, bytes, (size_t)n);
    m->size += n;
    return MC_OK;
}

static int patch_local(mc_zip_writer *w, const member *m)
{
    unsigned char head[LOCAL_BYTES], wide[20];
    const char *name = w->names + m->name;
    int64_t extra = w->data - m->local - LOCAL_BYTES - (int64_t)strlen(name);
    int rc;
    format_local(m, name, extra, head);
    rc = mci_outfile_patch(w->file, m->local, head, LOCAL_BYTES);
    if (rc != MC_OK || !m->wide) return rc;
    format_wide(m, wide);
    return mci_outfile_patch(w->file, w->data - extra, wide, 20);
}

int mc_zip_end(mc_zip_writer *w)
{
    member *m;
    int rc = MC_OK;
    if (!w || !w->open)
        return mci_error(MC_EINVAL, "npz: no member is begun; call mc_zip_begin first");
    if (w->failed)
        return mci_error(MC_EIO,
                         "npz: an earlier write failed; release this writer and start again");
    m = &w->members[w->count - 1];
    if (w->promised >= 0 && m->size != w->promised)
        return mci_error(
            MC_ESHAPE,
            "npz: member %s was announced with %lld bytes and got %lld; write the rest or give -1",
            w->names + m->name, (long long)w->promised, (long long)m->size);
    if (w->deflate) {
        rc = deflate_all(w, NULL, 0, 1);
        w->zlib->deflate_free(w->deflate);
        w->deflate = NULL;
    }
    m->packed = mci_outfile_size(w->file) - w->data;
    if (rc == MC_OK) rc = patch_local(w, m);
    if (rc != MC_OK) w->failed = 1;
    w->open = 0;
    return rc;
}

/* One entry of the directory; zip64 fields only for the numbers that need them, in their fixed
 * order. */
static int write_entry(mc_zip_writer *w, const member *m)
{
    unsigned char p[ENTRY_BYTES], wide[28];
    const char *name = w->names + m->name;
    const int64_t values[3] = { m->size, m->packed, m->local };
    int64_t n = 4;
    int rc;
    memset(p, 0, sizeof p);
    for (int i = 0; i < 3; i++) {
        if (values[i] < ZIP64_LIMIT) continue;
        put64(wide + n, values[i]);
        n += 8;
    }
    put16(wide, 1);
    put16(wide + 2, n - 4);
    if (n == 4) n = 0;
    put32(p, 0x02014b50);
    put16(p + 4, 3 << 8 | 45); /* made by: Unix, so that the permission bits below count */
    put16(p + 6, m->wide || n ? 45 : 20);
    put16(p + 8, flags_of(name));
    put16(p + 10, m->method);
    put16(p + 14, DOS_DATE);
    put32(p + 16, m->crc);
    put32(p + 20, clip32(m->packed));
    put32(p + 24, clip32(m->size));
    put16(p + 28, (int64_t)strlen(name));
    put16(p + 30, n);
    put32(p + 38, 0100644LL << 16); /* regular file, rw-r--r-- */
    put32(p + 42, clip32(m->local));
    rc = mci_outfile_write(w->file, p, ENTRY_BYTES);
    if (rc == MC_OK) rc = mci_outfile_write(w->file, name, (int64_t)strlen(name));
    if (rc == MC_OK) rc = mci_outfile_write(w->file, wide, n);
    return rc;
}

static int write_end64(mc_zip_writer *w, int64_t at, int64_t end)
{
    unsigned char p[56 + 20];
    memset(p, 0, sizeof p);
    put32(p, 0x06064b50);
    put64(p + 4, 44); /* bytes that follow this number in the record */
    put16(p + 12, 3 << 8 | 45);
    put16(p + 14, 45);
    put64(p + 24, w->count);
    put64(p + 32, w->count);
    put64(p + 40, end - at);
    put64(p + 48, at);
    put32(p + 56, 0x07064b50);
    put64(p + 64, end);
    put32(p + 72, 1);
    return mci_outfile_write(w->file, p, sizeof p);
}

int mc_zip_commit(mc_zip_writer *w)
{
    unsigned char p[22];
    int64_t at, end, count;
    int rc = MC_OK;
    if (!w) return mci_error(MC_EINVAL, "npz: no writer; open it with mc_zip_create");
    if (w->failed)
        return mci_error(MC_EIO,
                         "npz: an earlier write failed; release this writer and start again");
    if (w->open) return mci_error(MC_EINVAL, "npz: the last member is not ended; call mc_zip_end");
    at = mci_outfile_size(w->file);
    for (int64_t i = 0; rc == MC_OK && i < w->count; i++) rc = write_entry(w, &w->members[i]);
    end = mci_outfile_size(w->file);
    if (rc == MC_OK && (w->count >= 0xFFFF || end >= ZIP64_LIMIT)) rc = write_end64(w, at, end);
    count = w->count < 0xFFFF ? w->count : 0xFFFF;
    memset(p, 0, sizeof p);
    put32(p, 0x06054b50);
    put16(p + 8, count);
    put16(p + 10, count);
    put32(p + 12, clip32(end - at));
    put32(p + 16, clip32(at));
    if (rc == MC_OK) rc = mci_outfile_write(w->file, p, sizeof p);
    if (rc == MC_OK) rc = mci_outfile_commit(w->file);
    if (rc != MC_OK) w->failed = 1;
    return rc;
}

void mc_zip_writer_free(mc_zip_writer *w)
{
    if (!w) return;
    if (w->deflate) w->zlib->deflate_free(w->deflate);
    mci_outfile_free(w->file);
    mci_free(w->members);
    mci_free(w->names);
    mci_free(w->slots);
    mci_free(w->chunk);
    mci_free(w);
}
