/* driver.c - where the driver and NVRTC are found.
 *
 * The driver's library is the one the loader knows. NVRTC is taken from the loader, from a toolkit
 * (CUDA_HOME, CUDA_PATH, /usr/local/cuda) or from the wheels of a Python environment
 * (VIRTUAL_ENV, CONDA_PREFIX), newest version first. */
#include "parts.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

static int take(mc_cuda *c, void *library, const char *what, const char *name, void *slot)
{
    *(void **)slot = dlsym(library, name);
    if (*(void **)slot) return 0;
    snprintf(c->why, sizeof c->why, "%s has no %s; install a newer one", what, name);
    return -1;
}

int mc_cuda_driver(mc_cuda *c)
{
    static const char *const names[] = { "libcuda.so.1", "libcuda.so" };
    void *library = NULL;
    for (int i = 0; i < 2 && !library; i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(c->why, sizeof c->why,
                 "libcuda.so.1 is not there; install the driver of the NVIDIA card");
        return -1;
    }
#define X(result, name, exported, arguments) \
    if (take(c, library, "the NVIDIA driver", exported, (void *)&c->name)) return -1;
    MC_CUDA_DRIVER(X)
#undef X
    return 0;
}

/* A file of a folder named by an environment variable. */
static void *from_folder(const char *variable, const char *rest)
{
    char pattern[512];
    glob_t g;
    void *library = NULL;
    const char *folder = variable[0] == '/' ? variable : getenv(variable);
    if (!folder || !*folder) return NULL;
    snprintf(pattern, sizeof pattern, "%s%s", folder, rest);
    if (glob(pattern, 0, NULL, &g)) return NULL;
    for (size_t i = g.gl_pathc; i > 0 && !library; i--)
        library = dlopen(g.gl_pathv[i - 1], RTLD_NOW | RTLD_LOCAL);
    globfree(&g);
    return library;
}

int mc_cuda_nvrtc(mc_cuda *c)
{
    static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so" };
    static const char *const places[][2] = {
        { "CUDA_HOME", "/lib64/libnvrtc.so.1[0-9]" },
        { "CUDA_PATH", "/lib64/libnvrtc.so.1[0-9]" },
        { "/usr/local/cuda", "/lib64/libnvrtc.so.1[0-9]" },
        { "VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1[0-9]" },
        { "CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1[0-9]" },
        { "CONDA_PREFIX", "/lib/libnvrtc.so.1[0-9]" },
    };
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof places / sizeof *places && !library; i++)
        library = from_folder(places[i][0], places[i][1]);
    if (!library) {
        snprintf(c->why, sizeof c->why,
                 "NVRTC is not there; install a CUDA toolkit of version 12 or 13, or pip's "
                 "nvidia-cuda-nvrtc into the environment that VIRTUAL_ENV names");
        return -1;
    }
#define X(result, name, exported, arguments) \
    if (take(c, library, "NVRTC", exported, (void *)&c->name)) return -1;
    MC_CUDA_NVRTC(X)
#undef X
    return 0;
}
