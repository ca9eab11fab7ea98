/* mc_zip.c - reads zip files, the container of npz.
 *
 * Trusts nothing: the directory at the end is checked against the file's size and against every
 * local header before any member can be read, members may not overlap, and a deflated member may
 * not promise more than deflate can deliver (1032:1), so that a small file cannot ask for a
 * large buffer. The names of fields and their places are those of PKWARE's APPNOTE 6.3. Holds
 * the directory; members are unpacked in mc_zip_unpack.c. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <string.h>

#define END_SIG 0x06054b50u
#define END_BYTES 22
#define END64_SIG 0x06064b50u
#define END64_BYTES 56
#define LOCATOR_SIG 0x07064b50u
#define LOCATOR_BYTES 20
#define ENTRY_SIG 0x02014b50u
#define ENTRY_BYTES 46
#define LOCAL_SIG 0x04034b50u
#define LOCAL_BYTES 30
#define ZIP64_ID 1u
#define FLAG_ENCRYPTED 1u
#define DEFLATE_RATIO 1032

/* Where the directory lies. */
typedef struct directory {
    int64_t at, bytes, count;
} directory;

static int bad(const mc_zip *z, const char *what)
{
    return mci_error(MC_EFORMAT, "npz: %s is broken: %s; copy or download it again",
                     mci_infile_name(z->src), what);
}

/* ---- directory ---- */

/* The end record: the last place where its signature and its comment length fit the end of the
 * file. */
static int64_t find_end(const unsigned char *p, int64_t size)
{
    int64_t lowest = size - END_BYTES - 65535;
    if (lowest < 0) lowest = 0;
    for (int64_t at = size - END_BYTES; at >= lowest; at--)
        if (p[at] == 'P' && mci_le32(p + at) == END_SIG &&
            at + END_BYTES + (int64_t)mci_le16(p + at + 20) == size)
            return at;
    return -1;
}

static int read_end64(const mc_zip *z, const unsigned char *p, int64_t end, directory *d)
{
    uint64_t at, count, bytes, first;
    if (end < LOCATOR_BYTES + END64_BYTES || mci_le32(p + end - LOCATOR_BYTES) != LOCATOR_SIG)
        return bad(z, "the zip64 locator is missing");
    at = mci_le64(p + end - LOCATOR_BYTES + 8);
    if (at > (uint64_t)(end - LOCATOR_BYTES - END64_BYTES) || mci_le32(p + at) != END64_SIG)
        return bad(z, "the zip64 end record is not where the locator says");
    count = mci_le64(p + at + 32);
    bytes = mci_le64(p + at + 40);
    first = mci_le64(p + at + 48);
    if (mci_le32(p + at + 16) != 0 || mci_le32(p + at + 20) != 0 || mci_le64(p + at + 24) != count)
        return bad(z, "it is a part of an archive on several disks");
    if (first > at || bytes != at - first)
        return bad(z, "the directory does not end at the zip64 end record");
    d->at = (int64_t)first;
    d->bytes = (int64_t)bytes;
    d->count = count > INT32_MAX ? INT32_MAX : (int64_t)count;
    return MC_OK;
}

static int read_end(const mc_zip *z, directory *d)
{
    const unsigned char *p = mci_infile_data(z->src), *e;
    int64_t size = mci_infile_size(z->src), end = size < END_BYTES ? -1 : find_end(p, size);
    if (end < 0)
        return mci_error(
            MC_EFORMAT,
            "npz: %s does not end like a zip file; it is another kind of file or truncated",
            mci_infile_name(z->src));
    e = p + end;
    d->count = mci_le16(e + 10);
    d->bytes = mci_le32(e + 12);
    d->at = mci_le32(e + 16);
    if (d->count == 0xFFFF || d->bytes == 0xFFFFFFFF || d->at == 0xFFFFFFFF ||
        (end >= LOCATOR_BYTES && mci_le32(e - LOCATOR_BYTES) == LOCATOR_SIG))
        return read_end64(z, p, end, d);
    if (mci_le16(e + 4) != 0 || mci_le16(e + 6) != 0 || mci_le16(e + 8) != mci_le16(e + 10))
        return bad(z, "it is a part of an archive on several disks");
    if (d->at + d->bytes != end)
        return bad(z, "the directory does not end where the end record begins");
    return MC_OK;
}

/* The sizes that did not fit 32 bits, from the zip64 extra field of a directory entry, in their
 * fixed order. */
static int read_extra64(const mc_zip *z, const unsigned char *p, int64_t n, mci_zip_member *m)
{
    int64_t *wanted[3];
    int k = 0;
    if (m->size == 0xFFFFFFFF) wanted[k++] = &m->size;
    if (m->packed == 0xFFFFFFFF) wanted[k++] = &m->packed;
    if (m->local == 0xFFFFFFFF) wanted[k++] = &m->local;
    if (k == 0) return MC_OK;
    while (n >= 4) {
        int64_t bytes = mci_le16(p + 2);
        if (bytes > n - 4) break;
        if (mci_le16(p) == ZIP64_ID) {
            if (bytes < 8 * k) break;
            for (int i = 0; i < k; i++) {
                uint64_t v = mci_le64(p + 4 + 8 * i);
                if (v > INT64_MAX / 2) return bad(z, "a zip64 size is impossible");
                *wanted[i] = (int64_t)v;
            }
            return MC_OK;
        }
        p += 4 + bytes;
        n -= 4 + bytes;
    }
    /* Without the field, 2^32 - 1 may be meant as a number; the checks that follow decide. */
    return MC_OK;
}

/* Checks the local header of m and finds its data. `limit`: where the directory begins. */
static int check_local(const mc_zip *z, mci_zip_member *m, const unsigned char *name,
                       int64_t name_bytes, int64_t limit)
{
    const unsigned char *p;
    int64_t extra;
    if (m->local > limit - LOCAL_BYTES) return bad(z, "a member is not where it should be");
    p = mci_infile_data(z->src) + m->local;
    if (mci_le32(p) != LOCAL_SIG) return bad(z, "a member is not where it should be");
    extra = mci_le16(p + 28);
    m->data = m->local + LOCAL_BYTES + name_bytes + extra;
    if (mci_le16(p + 26) != (uint32_t)name_bytes || m->data > limit ||
        memcmp(p + LOCAL_BYTES, name, (size_t)name_bytes) != 0)
        return bad(z, "a member has two different names");
    if (mci_le16(p + 8) != (uint32_t)m->method)
        return bad(z, "a member has two different packing methods");
    if (m->packed > limit - m->data) return bad(z, "a member reaches beyond the directory");
    return MC_OK;
}

/* Sizes that no honest member has. */
static int check_member(const mc_zip *z, const mci_zip_member *m)
{
    if (m->method == MCI_ZIP_STORED && m->size != m->packed && !m->encrypted)
        return bad(z, "a stored member has two different sizes");
    if (m->method == MCI_ZIP_DEFLATED && m->size / DEFLATE_RATIO > m->packed)
        return bad(z, "a member promises more bytes than its packed form can hold");
    return MC_OK;
}

static int read_entries(mc_zip *z, const directory *d)
{
    const unsigned char *p = mci_infile_data(z->src) + d->at;
    int64_t left = d->bytes, names = 0;
    for (int64_t i = 0; i < d->count; i++) {
        mci_zip_member *m = &z->members[i];
        int64_t name, extra, entry;
        int rc;
        if (left < ENTRY_BYTES || mci_le32(p) != ENTRY_SIG)
            return bad(z, "the directory has fewer entries than it says");
        name = mci_le16(p + 28);
        extra = mci_le16(p + 30);
        entry = ENTRY_BYTES + name + extra + (int64_t)mci_le16(p + 32);
        if (entry > left) return bad(z, "a directory entry is cut off");
        if (memchr(p + ENTRY_BYTES, 0, (size_t)name)) return bad(z, "a name holds a zero byte");
        m->method = (int)mci_le16(p + 10);
        m->encrypted = (mci_le16(p + 8) & FLAG_ENCRYPTED) != 0;
        m->crc = mci_le32(p + 16);
        m->packed = mci_le32(p + 20);
        m->size = mci_le32(p + 24);
        m->local = mci_le32(p + 42);
        m->name = names;
        memcpy(z->names + names, p + ENTRY_BYTES, (size_t)name);
        z->names[names + name] = 0;
        names += name + 1;
        if (mci_le16(p + 34) != 0) return bad(z, "it is a part of an archive on several disks");
        rc = read_extra64(z, p + ENTRY_BYTES + name, extra, m);
        if (rc == MC_OK) rc = check_member(z, m);
        if (rc == MC_OK) rc = check_local(z, m, p + ENTRY_BYTES, name, d->at);
        if (rc != MC_OK) return rc;
        p += entry;
        left -= entry;
    }
    return left == 0 ? MC_OK : bad(z, "the directory has more entries than it says");
}

/* ---- order: heap sort, which needs no memory and has no bad case ---- */

typedef int (*order_fn)(const mc_zip *z, int a, int b);

static int name_before(const mc_zip *z, int a, int b)
{
    return strcmp(z->names + z->members[a].name, z->names + z->members[b].name) < 0;
}

static int place_before(const mc_zip *z, int a, int b)
{
    return z->members[a].local < z->members[b].local;
}

static void sift(const mc_zip *z, int *v, int64_t root, int64_t n, order_fn before)
{
    for (;;) {
        int64_t child = 2 * root + 1;
        int t;
        if (child >= n) return;
        if (child + 1 < n && before(z, v[child], v[child + 1])) child++;
        if (!before(z, v[root], v[child])) return;
        t = v[root];
        v[root] = v[child];
        v[child] = t;
        root = child;
    }
}

static void sort_members(const mc_zip *z, int *v, order_fn before)
{
    for (int i = 0; i < z->count; i++) v[i] = i;
    for (int64_t i = z->count / 2; i-- > 0;) sift(z, v, i, z->count, before);
    for (int64_t n = z->count; n-- > 1;) {
        int t = v[0];
        v[0] = v[n];
        v[n] = t;
        sift(z, v, 0, n, before);
    }
}

/* No two members share bytes or a name. Leaves by_name sorted. */
static int check_disjoint(mc_zip *z)
{
    sort_members(z, z->by_name, place_before);
    for (int i = 1; i < z->count; i++) {
        const mci_zip_member *a = &z->members[z->by_name[i - 1]], *b = &z->members[z->by_name[i]];
        if (a->data + a->packed > b->local) return bad(z, "two members overlap");
    }
    sort_members(z, z->by_name, name_before);
    for (int i = 1; i < z->count; i++)
        if (!name_before(z, z->by_name[i - 1], z->by_name[i]))
            return bad(z, "two members have the same name");
    return MC_OK;
}

/* ---- opening ---- */

static mc_zip *open_zip(mci_infile *src)
{
    directory d = { 0, 0, 0 };
    mc_zip *z;
    if (!src) return NULL;
    z = mci_calloc(1, sizeof *z);
    if (!z) {
        mci_infile_release(src);
        return NULL;
    }
    z->src = src;
    if (read_end(z, &d) != MC_OK) goto fail;
    if (d.count > d.bytes / ENTRY_BYTES) {
        bad(z, "the directory has fewer entries than it says");
        goto fail;
    }
    z->count = (int)d.count;
    z->members = mci_calloc((size_t)d.count + 1, sizeof *z->members);
    z->by_name = mci_calloc((size_t)d.count + 1, sizeof *z->by_name);
    /* Not less the fixed part of `count` entries: a directory may hold fewer than it says, with
     * longer names. */
    z->names = mci_alloc((size_t)d.bytes + 1);
    if (!z->members || !z->by_name || !z->names) goto fail;
    if (read_entries(z, &d) != MC_OK || check_disjoint(z) != MC_OK) goto fail;
    return z;
fail:
    mc_zip_free(z);
    return NULL;
}

mc_zip *mc_zip_open(const char *path)
{
    return open_zip(mci_infile_map("npz", path));
}

mc_zip *mc_zip_from_memory(const void *bytes, int64_t n)
{
    return open_zip(mci_infile_memory("npz", bytes, n));
}

void mc_zip_free(mc_zip *z)
{
    if (!z) return;
    mci_free(z->members);
    mci_free(z->by_name);
    mci_free(z->names);
    mci_infile_release(z->src);
    mci_free(z);
}

/* ---- questions ---- */

const mci_zip_member *mci_zip_at(const mc_zip *z, int i)
{
    if (z && i >= 0 && i < z->count) return &z->members[i];
    mci_error(MC_EINVAL, "npz: no such member; ask mc_zip_find or mc_zip_count");
    return NULL;
}

int mc_zip_count(const mc_zip *z)
{
    return z ? z->count : 0;
}

const char *mc_zip_name(const mc_zip *z, int i)
{
    return z && i >= 0 && i < z->count ? z->names + z->members[i].name : NULL;
}

int mc_zip_find(const mc_zip *z, const char *name)
{
    int lo = 0, hi = z && name ? z->count : 0;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        int c = strcmp(z->names + z->members[z->by_name[mid]].name, name);
        if (c == 0) return z->by_name[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return -1;
}

int mc_zip_info(const mc_zip *z, int i, int64_t *out)
{
    const mci_zip_member *m = mci_zip_at(z, i);
    if (!m) return MC_EINVAL;
    if (!out) return mci_error(MC_EINVAL, "npz: no place for the result; check the call");
    out[MC_ZIP_METHOD] = m->method;
    out[MC_ZIP_SIZE] = m->size;
    out[MC_ZIP_PACKED] = m->packed;
    out[MC_ZIP_OFFSET] = m->data;
    out[MC_ZIP_CRC] = m->crc;
    return MC_OK;
}
