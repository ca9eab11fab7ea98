/* host.c - the little of libmascon that the file formats stand on, for fuzz targets and sanitized
 * tests.
 *
 * An allocator straight on malloc, so that the address sanitizer sees the exact end of every block
 * (libmascon's own rounds up and keeps freed blocks), the n-th allocation that fails, a limit on
 * block size, and the door to zlib, whose plug-in is linked in. Stands in for mc_memory.c and
 * mc_context.c; mc_error.c is the real one. */
#define _XOPEN_SOURCE 700
#include "../../runtime/device/mc_backend.h"
#include "../../runtime/device/mc_context.h"
#include "../../runtime/base/mc_error.h"
#include "../../runtime/base/mc_memory.h"

#include <stdlib.h>
#include <string.h>

/* No test file is larger; a parser that asks for more is led by the file. */
#define BLOCK_MAX ((size_t)1 << 30)

static int64_t made, fail_at;

int64_t mc_test_fail_alloc(int64_t n)
{
    int64_t before = made;
    made = 0;
    fail_at = n;
    return before;
}

static int refuses(size_t bytes)
{
    made++;
    if (bytes <= BLOCK_MAX && (fail_at == 0 || made != fail_at)) return 0;
    mci_error(MC_ENOMEM, "memory: %zu bytes are not to be had; use less", bytes);
    return 1;
}

void *mci_alloc(size_t bytes)
{
    void *p = NULL;
    if (refuses(bytes)) return NULL;
    if (posix_memalign(&p, 64, bytes ? bytes : 1) != 0) {
        mci_error(MC_ENOMEM, "memory: %zu bytes are not to be had; use less", bytes);
        return NULL;
    }
    memset(p, 0xA5, bytes); /* what relies on fresh memory being zero shows */
    return p;
}

void *mci_calloc(size_t count, size_t size)
{
    void *p;
    if (size && count > BLOCK_MAX / size) count = BLOCK_MAX + 1, size = 1;
    p = mci_alloc(count * size);
    if (p) memset(p, 0, count * size);
    return p;
}

void *mci_realloc(void *p, size_t bytes)
{
    void *q;
    if (refuses(bytes)) return NULL;
    q = realloc(p, bytes ? bytes : 1);
    if (!q) mci_error(MC_ENOMEM, "memory: %zu bytes are not to be had; use less", bytes);
    return q;
}

void mci_free(void *p)
{
    free(p);
}

static int never(void)
{
    return 0;
}

int mc_plugin_open(const mc_host_api *host, void *api);

const mc_zlib_api *mci_zlib(void)
{
    static const mc_host_api host = { MC_BACKEND_ABI, mci_alloc, mci_free, mci_error, never };
    static mc_zlib_api api;
    if (!api.name) {
        api.abi = MC_BACKEND_ABI;
        if (mc_plugin_open(&host, &api) != 0) return NULL;
    }
    return &api;
}

/* The targets feed bytes in memory to our own parsers; libhdf5 and libyaml are fed by the specs. */
const mc_yaml_api *mci_yaml(void)
{
    mci_error(MC_EUNSUPPORTED, "yaml: not part of this program");
    return NULL;
}
const mc_hdf5_api *mci_hdf5(void)
{
    mci_error(MC_EUNSUPPORTED, "hdf5: not part of this program");
    return NULL;
}
