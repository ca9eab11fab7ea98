/* memory.c - memory of the host for the parts of the binding: the runtime's, which counts it and
 * may refuse it. */
#include "../../runtime/device/mc_device_api.h"
#include "parts.h"

#include <string.h>

static const mc_host_api *host; /* set once, before any other call */

void mc_cuda_host(const mc_host_api *h) { host = h; }

void *mc_cuda_alloc(size_t bytes)
{
    void *p = host->alloc(bytes);
    if (p) memset(p, 0, bytes);
    return p;
}

void mc_cuda_release(void *p) { host->free(p); }
