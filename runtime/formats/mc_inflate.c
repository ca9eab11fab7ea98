/* mc_inflate.c - packed bytes of a file unpacked into memory: a whole gzip file, or one zlib stream
 * within a file.
 *
 * Holds the gzip frame (RFC 1952): header, one or more members, length and checksum behind each;
 * zlib inflates what is inside. Memory grows with what comes out, so that no promise of a
 * hostile file is believed. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "device/mc_backend.h"
#include "device/mc_context.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <string.h>

#define IN_BYTES 65536
#define FIRST_BYTES ((int64_t)1 << 20)
#define ZLIB_NO_MEMORY (-4)

enum { HEADER_CRC = 2, HEADER_EXTRA = 4, HEADER_NAME = 8, HEADER_COMMENT = 16 };

typedef struct unpacker {
    const char *op;
    mci_infile *src;
    const mc_zlib_api *zlib;
    int64_t at, size; /* place in the packed file, and where it ends */
    unsigned char *out;
    int64_t have, room;
    int (*look)(const unsigned char *first, int64_t n, const char *name); /* or NULL */
} unpacker;

static int damaged(const unpacker *u, const char *what)
{
    return mci_error(MC_EFORMAT,
                     "%s: %s: its packed part is damaged: %s; copy or download it again", u->op,
                     mci_infile_name(u->src), what);
}

static int take(unpacker *u, void *out, int64_t n)
{
    int rc;
    if (n > u->size - u->at) return damaged(u, "it ends too early");
    rc = mci_infile_read(u->src, u->at, out, n);
    u->at += n;
    return rc;
}

/* A text that ends with a zero byte. */
static int skip_text(unpacker *u)
{
    unsigned char c = 1;
    int rc = MC_OK;
    while (rc == MC_OK && c != 0) rc = take(u, &c, 1);
    return rc;
}

static int skip_header(unpacker *u)
{
    unsigned char h[10], two[2];
    int rc = take(u, h, 10);
    if (rc != MC_OK) return rc;
    if (h[0] != 0x1f || h[1] != 0x8b || h[2] != 8) return damaged(u, "a member has no gzip header");
    if (h[3] & HEADER_EXTRA) {
        int64_t n;
        rc = take(u, two, 2);
        if (rc != MC_OK) return rc;
        n = mci_le16(two);
        if (n > u->size - u->at) return damaged(u, "it ends inside a header");
        u->at += n;
    }
    if (h[3] & HEADER_NAME) rc = skip_text(u);
    if (rc == MC_OK && (h[3] & HEADER_COMMENT)) rc = skip_text(u);
    if (rc == MC_OK && (h[3] & HEADER_CRC)) rc = take(u, two, 2);
    return rc;
}

static int grow(unpacker *u)
{
    int64_t room = u->room ? u->room * 2 : FIRST_BYTES;
    if (u->look && u->room == FIRST_BYTES) { /* more than that only of what begins well */
        const int rc = u->look(u->out, u->have, mci_infile_name(u->src));
        if (rc != MC_OK) return rc;
    }
    unsigned char *p = u->out ? mci_realloc(u->out, (size_t)room) : mci_alloc((size_t)room);
    if (!p) return mc_errstatus();
    u->out = p;
    u->room = room;
    return MC_OK;
}

static int no_memory(const unpacker *u)
{
    return mci_error(MC_ENOMEM, "%s: no memory to unpack %s; close other programs", u->op,
                     mci_infile_name(u->src));
}

/* One deflate stream from u->at on to the end of `out`. raw: without the frame of zlib. */
static int inflate_stream(unpacker *u, int raw)
{
    unsigned char *buffer = mci_alloc(IN_BYTES);
    void *stream = buffer ? u->zlib->inflate_new(raw) : NULL;
    int ended = 0, rc = buffer ? MC_OK : mc_errstatus();
    if (buffer && !stream) rc = no_memory(u);
    while (rc == MC_OK && !ended) {
        int64_t left = u->size - u->at, ask = left < IN_BYTES ? left : IN_BYTES, used = 0;
        rc = mci_infile_read(u->src, u->at, buffer, ask);
        while (rc == MC_OK && !ended) {
            size_t in = (size_t)(ask - used), made;
            if (u->have == u->room && (rc = grow(u)) != MC_OK) break;
            made = (size_t)(u->room - u->have);
            rc = u->zlib->inflate_run(stream, buffer + used, &in, u->out + u->have, &made);
            if (rc == ZLIB_NO_MEMORY)
                rc = no_memory(u);
            else if (rc < 0)
                rc = damaged(u, "its bytes are no deflate stream");
            else {
                ended = rc == 1;
                rc = MC_OK;
            }
            used += (int64_t)in;
            u->have += (int64_t)made;
            if (in == 0 && made == 0) break;
        }
        u->at += used;
        if (rc == MC_OK && !ended && used == 0) rc = damaged(u, "its bytes end too early");
    }
    if (stream) u->zlib->inflate_free(stream);
    mci_free(buffer);
    return rc;
}

static int unpack_member(unpacker *u)
{
    unsigned char tail[8];
    int64_t begin = u->have;
    int rc = skip_header(u);
    if (rc == MC_OK) rc = inflate_stream(u, 1);
    if (rc == MC_OK) rc = take(u, tail, 8);
    if (rc != MC_OK) return rc;
    if (mci_le32(tail + 4) != (uint32_t)(u->have - begin)) return damaged(u, "its length differs");
    if (mci_le32(tail) != u->zlib->crc32(0, u->out + begin, (size_t)(u->have - begin)))
        return damaged(u, "its checksum differs");
    return MC_OK;
}

/* What was unpacked as a file of its own, or NULL after a failure. */
static mci_infile *result(unpacker *u, int rc)
{
    if (rc == MC_OK) return mci_infile_adopt(u->op, mci_infile_name(u->src), u->out, u->have);
    mci_free(u->out);
    return NULL;
}

mci_infile *mci_infile_gunzip(const char *op, mci_infile *src,
                              int (*look)(const unsigned char *, int64_t, const char *))
{
    unpacker u = { op, src, mci_zlib(), 0, mci_infile_size(src), NULL, 0, 0, look };
    mci_infile *out;
    int rc = u.zlib ? grow(&u) : mc_errstatus();
    while (rc == MC_OK && u.at < u.size) rc = unpack_member(&u);
    out = result(&u, rc);
    mci_infile_release(src);
    return out;
}

mci_infile *mci_infile_inflate(const char *op, mci_infile *src, int64_t at, int64_t n)
{
    unpacker u = { op, src, mci_zlib(), at, at + n, NULL, 0, 0, NULL };
    int rc = u.zlib ? grow(&u) : mc_errstatus();
    if (rc == MC_OK) rc = inflate_stream(&u, 0);
    return result(&u, rc);
}
