/* zlib.c - the zlib neighbour: crc32, inflate and deflate streams behind mc_zlib_api.
 *
 * Holds the z_stream of each call and its memory, all of which comes from the host's allocator
 * and is counted there. zlib counts in 32 bits; calls hand it at most CHUNK bytes at a time and
 * loop. */
#include "../../runtime/device/mc_backend.h"
#include "../../runtime/base/mc_def.h"

#include <string.h>
#include <zlib.h>

#define CHUNK ((size_t)1 << 30)

/* Set once by mc_plugin_open, before any other call. */
static const mc_host_api *host;

static void *take(void *opaque, uInt items, uInt size)
{
    (void)opaque;
    return host->alloc((size_t)items * size);
}

static void give(void *opaque, void *p)
{
    (void)opaque;
    host->free(p);
}

static z_stream *new_stream(void)
{
    z_stream *s = host->alloc(sizeof *s);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->zalloc = take;
    s->zfree = give;
    return s;
}

static uint32_t run_crc(uint32_t crc, const void *p, size_t n)
{
    return (uint32_t)crc32_z(crc, p, n);
}

static void *inflate_new(int raw)
{
    z_stream *s = new_stream();
    if (s && inflateInit2(s, raw ? -MAX_WBITS : MAX_WBITS) != Z_OK) {
        host->free(s);
        return NULL;
    }
    return s;
}

static void *deflate_new(int raw, int level)
{
    z_stream *s = new_stream();
    if (s && deflateInit2(s, level, Z_DEFLATED, raw ? -MAX_WBITS : MAX_WBITS, 8,
                          Z_DEFAULT_STRATEGY) != Z_OK) {
        host->free(s);
        return NULL;
    }
    return s;
}

typedef int (*step_fn)(z_stream *s, int flush);

/* Loops `step` over pieces until input or output is used up or the stream ends. zlib answers
 * Z_BUF_ERROR when it can do nothing more with what it has, which is no error here. */
static int run_stream(z_stream *s, step_fn step, const void *in, size_t *nin, void *out,
                      size_t *nout, int finish)
{
    static unsigned char none[1];
    size_t left_in = *nin, left_out = *nout;
    int rc = Z_OK;
    s->next_in = in ? (z_const Bytef *)in : none;
    s->next_out = out ? out : none;
    do {
        uInt give_in = (uInt)(left_in < CHUNK ? left_in : CHUNK);
        uInt give_out = (uInt)(left_out < CHUNK ? left_out : CHUNK);
        s->avail_in = give_in;
        s->avail_out = give_out;
        rc = step(s, finish && left_in == give_in ? Z_FINISH : Z_NO_FLUSH);
        left_in -= give_in - s->avail_in;
        left_out -= give_out - s->avail_out;
    } while (rc == Z_OK && left_out > 0 && left_in > 0);
    *nin -= left_in;
    *nout -= left_out;
    if (rc == Z_STREAM_END) return 1;
    if (rc == Z_NEED_DICT) return Z_DATA_ERROR;
    return rc == Z_OK || rc == Z_BUF_ERROR ? 0 : rc;
}

static int inflate_run(void *s, const void *in, size_t *nin, void *out, size_t *nout)
{
    return run_stream(s, inflate, in, nin, out, nout, 0);
}

static int deflate_run(void *s, const void *in, size_t *nin, void *out, size_t *nout, int finish)
{
    return run_stream(s, deflate, in, nin, out, nout, finish);
}

static void inflate_free(void *s)
{
    if (!s) return;
    (void)inflateEnd(s);
    host->free(s);
}

static void deflate_free(void *s)
{
    if (!s) return;
    (void)deflateEnd(s);
    host->free(s);
}

MC_API int mc_plugin_open(const mc_host_api *h, void *api);

int mc_plugin_open(const mc_host_api *h, void *api)
{
    static char name[32] = "zlib ";
    mc_zlib_api *z = api;
    if (h->abi != MC_BACKEND_ABI || z->abi != MC_BACKEND_ABI)
        return h->error(
            9, "zlib: the plug-in belongs to another version of mascon; build both together");
    host = h;
    strncpy(name + 5, zlibVersion(), sizeof name - 6);
    z->name = name;
    z->crc32 = run_crc;
    z->inflate_new = inflate_new;
    z->deflate_new = deflate_new;
    z->inflate_run = inflate_run;
    z->deflate_run = deflate_run;
    z->inflate_free = inflate_free;
    z->deflate_free = deflate_free;
    return 0;
}
