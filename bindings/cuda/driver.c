/* driver.c - where the driver, NVRTC, cuBLASLt and cuFFT are found.
 *
 * The driver's library is the one the loader knows. Those of the toolkit are taken from the loader,
 * from a toolkit (CUDA_HOME, CUDA_PATH, /usr/local/cuda) or from the wheels of a Python environment
 * (VIRTUAL_ENV, CONDA_PREFIX), newest version first. */
#include "parts.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int take(char *why, size_t room, void *library, const char *what, const char *name,
                void *slot)
{
    *(void **)slot = dlsym(library, name);
    if (*(void **)slot) return 0;
    snprintf(why, room, "%s has no %s; install a newer one", what, name);
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
#define X(result, name, exported, arguments)                                                       \
    if (take(c->why, sizeof c->why, library, "the NVIDIA driver", exported, (void *)&c->name))     \
        return -1;
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

/* A library of the toolkit by its versions in toolkit 13 and 12. */
static void *of_toolkit(const char *name, const char *of_13, const char *of_12)
{
    const char *const versions[] = { of_13, of_12, "" };
    static const char *const places[][2] = {
        { "CUDA_HOME", "/lib64/" },
        { "CUDA_PATH", "/lib64/" },
        { "/usr/local/cuda", "/lib64/" },
        { "VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/*/lib/" },
        { "CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/*/lib/" },
        { "CONDA_PREFIX", "/lib/" },
    };
    char file[256];
    void *library = NULL;
    for (size_t i = 0; i < sizeof versions / sizeof *versions && !library; i++) {
        snprintf(file, sizeof file, "%s%s", name, versions[i]);
        library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t i = 0; i < sizeof places / sizeof *places && !library; i++) {
        snprintf(file, sizeof file, "%s%s.1[0-9]", places[i][1], name);
        library = from_folder(places[i][0], file);
    }
    return library;
}

int mc_cuda_nvrtc(mc_cuda *c)
{
    const char *s = getenv("MASCON_NVRTC");
    if (s && !strcmp(s, "off")) {
        snprintf(c->why, sizeof c->why, "NVRTC is not there; MASCON_NVRTC turns it off");
        return -1;
    }
    void *library = of_toolkit("libnvrtc.so", ".13", ".12");
    if (!library) {
        snprintf(c->why, sizeof c->why,
                 "NVRTC is not there; install a CUDA toolkit of version 12 or 13, or pip's "
                 "nvidia-cuda-nvrtc into the environment that VIRTUAL_ENV names");
        return -1;
    }
#define X(result, name, exported, arguments)                                                       \
    if (take(c->why, sizeof c->why, library, "NVRTC", exported, (void *)&c->name)) return -1;
    MC_CUDA_NVRTC(X)
#undef X
    return 0;
}

int mc_cuda_blas_open(mc_cuda_blas *b)
{
    void *library = of_toolkit("libcublasLt.so", ".13", ".12");
    if (!library) {
        snprintf(b->why, sizeof b->why,
                 "cuBLASLt is not there; install a CUDA toolkit of version 12 or 13, or pip's "
                 "nvidia-cublas");
        return -1;
    }
#define X(result, name, exported, arguments)                                                       \
    if (take(b->why, sizeof b->why, library, "cuBLASLt", exported, (void *)&b->name)) return -1;
    MC_CUDA_BLAS(X)
#undef X
    b->version = (int)b->cublasLtGetVersion();
    return 0;
}

int mc_cuda_fft_open(mc_cuda_fft *f)
{
    void *library = of_toolkit("libcufft.so", ".12", ".11");
    if (!library) {
        snprintf(f->why, sizeof f->why,
                 "cuFFT is not there; install a CUDA toolkit of version 12 or 13, or pip's "
                 "nvidia-cufft");
        return -1;
    }
#define X(result, name, exported, arguments)                                                       \
    if (take(f->why, sizeof f->why, library, "cuFFT", exported, (void *)&f->name)) return -1;
    MC_CUDA_FFT(X)
#undef X
    if (f->cufftGetVersion(&f->version) == 0) return 0;
    snprintf(f->why, sizeof f->why, "cuFFT does not start");
    return -1;
}
