/* no_f64.c - an OpenCL loader whose devices compute in no f64, for LD_PRELOAD: every other answer
 * is that of the loader itself. */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define DOUBLE_FP_CONFIG 0x1032

int clGetDeviceInfo(void *device, unsigned what, size_t room, void *out, size_t *size)
{
    static int (*real)(void *, unsigned, size_t, void *, size_t *);
    if (!real) {
        void *loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
        *(void **)(&real) = loader ? dlsym(loader, "clGetDeviceInfo") : NULL;
    }
    if (!real) return -1;
    const int rc = real(device, what, room, out, size);
    if (what == DOUBLE_FP_CONFIG && !rc && out) memset(out, 0, room);
    return rc;
}
