/* mc_zip_unpack.c - the bytes of a zip member: in place, whole, or piece by piece.
 *
 * Every way ends with the same checks: the packed stream ends exactly where the directory says,
 * gives exactly the promised number of bytes, and their crc fits. Holds the inflate stream of a
 * reader; trusts the places which mc_zip.c has checked. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "device/mc_backend.h"
#include "device/mc_context.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <string.h>

/* zlib's number for it: inflate asks for its window only when it meets far matches. */
#define ZLIB_NO_MEMORY (-4)

const void *mc_zip_stored(const mc_zip *z, int i)
{
    const mci_zip_member *m = z && i >= 0 && i < z->count ? &z->members[i] : NULL;
    return m && m->method == MCI_ZIP_STORED && !m->encrypted ? mci_infile_data(z->src) + m->data
                                                             : NULL;
}

/* What a zip file may hold and we do not read. Asked when a member is read, so that its neighbours
 * stay usable. */
static int check_readable(const mc_zip *z, const mci_zip_member *m)
{
    const char *name = z->names + m->name, *file = mci_infile_name(z->src);
    if (m->encrypted)
        return mci_error(MC_EUNSUPPORTED,
                         "npz: %s: member %s is encrypted; unpack it with a zip program first",
                         file, name);
    if (m->method != MCI_ZIP_STORED && m->method != MCI_ZIP_DEFLATED)
        return mci_error(MC_EUNSUPPORTED,
                         "npz: %s: member %s is packed with method %d, known are 0 (stored) and 8 "
                         "(deflate); pack it again",
                         file, name, m->method);
    return MC_OK;
}

struct mc_zip_stream {
    const mc_zip *z;
    const mci_zip_member *m;
    const mc_zlib_api *zlib;
    void *inflate;   /* NULL for a stored mci_zip_member */
    int64_t in, out; /* bytes used and delivered */
    uint32_t crc;
    int failed;
};

static int bad_member(const mc_zip_stream *s, const char *what)
{
    return mci_error(MC_EFORMAT,
                     "npz: %s: member %s is damaged: %s; copy or download the file again",
                     mci_infile_name(s->z->src), s->z->names + s->m->name, what);
}

static int no_memory(const mc_zip *z, const mci_zip_member *m)
{
    return mci_error(MC_ENOMEM, "npz: no memory to unpack %s; close other programs",
                     z->names + m->name);
}

static int stream_start(mc_zip_stream *s, const mc_zip *z, const mci_zip_member *m)
{
    memset(s, 0, sizeof *s);
    s->z = z;
    s->m = m;
    if (check_readable(z, m) != MC_OK) return mc_errstatus();
    s->zlib = mci_zlib();
    if (!s->zlib && m->method == MCI_ZIP_DEFLATED) return mc_errstatus();
    if (m->method == MCI_ZIP_DEFLATED) {
        s->inflate = s->zlib->inflate_new(1);
        if (!s->inflate) return no_memory(z, m);
    }
    return MC_OK;
}

static void stream_stop(mc_zip_stream *s)
{
    if (s->inflate) s->zlib->inflate_free(s->inflate);
    s->inflate = NULL;
}

/* One step of inflate: up to n bytes to out, *ended at the end of the packed stream. */
static int inflate_step(mc_zip_stream *s, void *out, size_t n, size_t *made, int *ended)
{
    const unsigned char *p = mci_infile_data(s->z->src) + s->m->data + s->in;
    size_t in = (size_t)(s->m->packed - s->in);
    int rc;
    *made = n;
    rc = s->zlib->inflate_run(s->inflate, p, &in, out, made);
    if (rc == ZLIB_NO_MEMORY) return no_memory(s->z, s->m);
    if (rc < 0) return bad_member(s, "its packed bytes are no deflate stream");
    s->in += (int64_t)in;
    *ended = rc == 1;
    if (!*ended && in == 0 && *made == 0) return bad_member(s, "its packed bytes end too early");
    return MC_OK;
}

/* Up to n > 0 bytes of a member that is not yet complete. */
static int stream_step(mc_zip_stream *s, unsigned char *out, int64_t n, size_t *made)
{
    int64_t left = s->m->size - s->out;
    int rc = MC_OK, ended = 0;
    *made = (size_t)(n < left ? n : left);
    if (s->inflate) {
        rc = inflate_step(s, out, *made, made, &ended);
        if (rc == MC_OK && ended && s->out + (int64_t)*made < s->m->size)
            rc = bad_member(s, "it holds fewer bytes than the directory says");
    } else {
        memcpy(out, mci_infile_data(s->z->src) + s->m->data + s->in, *made);
        s->in += (int64_t)*made;
    }
    if (rc != MC_OK) return rc;
    s->crc = (s->zlib ? s->zlib->crc32 : mci_crc32)(s->crc, out, *made);
    s->out += (int64_t)*made;
    return MC_OK;
}

/* After the last byte: the packed stream must end exactly here, and the crc fit. */
static int stream_finish(mc_zip_stream *s)
{
    unsigned char spill[1];
    int rc = MC_OK, ended = 0;
    size_t made;
    while (s->inflate && !ended && rc == MC_OK) {
        rc = inflate_step(s, spill, 1, &made, &ended);
        if (rc == MC_OK && made > 0)
            rc = bad_member(s, "it holds more bytes than the directory says");
    }
    if (rc == MC_OK && s->in != s->m->packed) rc = bad_member(s, "bytes follow its packed stream");
    if (rc == MC_OK && s->crc != s->m->crc) rc = bad_member(s, "its checksum differs");
    stream_stop(s);
    return rc;
}

/* Fills out[0..n) unless the member ends before; checks the member when its last byte has gone out.
 */
static int stream_read(mc_zip_stream *s, void *out, int64_t n, int64_t *got)
{
    unsigned char *p = out;
    int rc = MC_OK;
    *got = 0;
    while (rc == MC_OK && *got < n && s->out < s->m->size) {
        size_t made = 0;
        rc = stream_step(s, p + *got, n - *got, &made);
        *got += (int64_t)made;
    }
    if (rc == MC_OK && s->out == s->m->size && !s->failed) rc = stream_finish(s);
    if (rc != MC_OK) s->failed = 1;
    return rc;
}

mc_zip_stream *mc_zip_stream_open(const mc_zip *z, int i)
{
    const mci_zip_member *m = mci_zip_at(z, i);
    mc_zip_stream *s;
    if (!m) return NULL;
    s = mci_alloc(sizeof *s);
    if (!s) return NULL;
    if (stream_start(s, z, m) != MC_OK) {
        mc_zip_stream_free(s);
        return NULL;
    }
    return s;
}

int mc_zip_stream_read(mc_zip_stream *s, void *out, int64_t n, int64_t *got)
{
    if (!s || !got || n < 0 || (n > 0 && !out))
        return mci_error(MC_EINVAL, "npz: no stream, or no place for its bytes; check the call");
    *got = 0;
    if (s->failed) return bad_member(s, "reading it has failed before");
    return stream_read(s, out, n, got);
}

void mc_zip_stream_free(mc_zip_stream *s)
{
    if (!s) return;
    stream_stop(s);
    mci_free(s);
}

int mc_zip_extract(const mc_zip *z, int i, void *out, int64_t capacity)
{
    const mci_zip_member *m = mci_zip_at(z, i);
    mc_zip_stream s;
    int64_t got;
    int rc;
    if (!m) return MC_EINVAL;
    if (capacity < m->size || (m->size > 0 && !out))
        return mci_error(MC_ESHAPE,
                         "npz: member %s has %lld bytes, room is for %lld; give a larger buffer",
                         z->names + m->name, (long long)m->size, (long long)capacity);
    rc = stream_start(&s, z, m);
    if (rc == MC_OK) rc = stream_read(&s, out, m->size, &got);
    stream_stop(&s);
    return rc;
}

int mc_zip_verify(const mc_zip *z, int i)
{
    enum { CHUNK = 65536 };
    const mci_zip_member *m = mci_zip_at(z, i);
    unsigned char *buffer;
    mc_zip_stream s;
    int64_t got;
    int rc;
    if (!m) return MC_EINVAL;
    if (mc_zip_stored(z, i)) { /* no copy */
        const mc_zlib_api *zlib = mci_zlib();
        s.z = z;
        s.m = m;
        if ((zlib ? zlib->crc32 : mci_crc32)(0, mc_zip_stored(z, i), (size_t)m->size) != m->crc)
            return bad_member(&s, "its checksum differs");
        return MC_OK;
    }
    buffer = mci_alloc(CHUNK);
    if (!buffer) return mc_errstatus();
    rc = stream_start(&s, z, m);
    do got = 0;
    while (rc == MC_OK && (rc = stream_read(&s, buffer, CHUNK, &got)) == MC_OK && got > 0);
    stream_stop(&s);
    mci_free(buffer);
    return rc;
}

mc_npy *mc_zip_npy(const mc_zip *z, int i, int verify)
{
    const mci_zip_member *m = mci_zip_at(z, i);
    const char *file, *name;
    char *label;
    void *image;
    mci_infile *src = NULL;
    mc_npy *f = NULL;
    if (!m || check_readable(z, m) != MC_OK) return NULL;
    if (m->method == MCI_ZIP_STORED && verify && mc_zip_verify(z, i) != MC_OK) return NULL;
    file = mci_infile_name(z->src);
    name = z->names + m->name;
    label = mci_alloc(strlen(file) + strlen(name) + 2);
    if (!label) return NULL;
    strcpy(label, file);
    strcat(strcat(label, ":"), name);
    if (m->method == MCI_ZIP_STORED) {
        f = mci_npy_over(z->src, m->data, m->size, label);
        goto done;
    }
    image = mci_alloc((size_t)m->size);
    if (!image) goto done;
    if (mc_zip_extract(z, i, image, m->size) != MC_OK) {
        mci_free(image);
        goto done;
    }
    src = mci_infile_adopt("npz", label, image, m->size);
    if (src) f = mci_npy_over(src, 0, m->size, label);
done:
    mci_infile_release(src);
    mci_free(label);
    return f;
}
