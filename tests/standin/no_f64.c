/* no_f64.c - an OpenCL loader whose devices compute in no f64, for LD_PRELOAD: every other answer
 * is that of the loader itself. NO_F64=first: only the first device that is asked about does not,
 * and all say that they are GPUs. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DOUBLE_FP_CONFIG 0x1032
#define TYPE 0x1000
#define TYPE_GPU 4

int clGetDeviceInfo(void *device, unsigned what, size_t room, void *out, size_t *size)
{
    static int (*real)(void *, unsigned, size_t, void *, size_t *);
    if (!real) {
        void *loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
        *(void **)(&real) = loader ? dlsym(loader, "clGetDeviceInfo") : NULL;
    }
    if (!real) return -1;
    const int rc = real(device, what, room, out, size);
    static const void *asked;
    const char *how = getenv("NO_F64");
    const int first = how && strcmp(how, "first") == 0;
    if (first && what == TYPE && !rc && out) *(uint64_t *)out = TYPE_GPU;
    if (what != DOUBLE_FP_CONFIG || rc || !out) return rc;
    if (!asked) asked = device;
    if (!first || device == asked) memset(out, 0, room);
    return rc;
}
