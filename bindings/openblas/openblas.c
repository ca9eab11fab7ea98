/* openblas.c - the OpenBLAS neighbour behind mc_blas_api.
 *
 * Holds: the switch to one thread (the runtime runs tiles in parallel itself) and the handler of
 * bad arguments: BLAS's own prints, and other builds of it exit. Defined here the two handlers
 * come first in the lookup of the libraries that this plug-in pulls in, and only write the
 * record. Threads enter through a gate that knows OpenBLAS's work buffers (buffers.c). Kernels of
 * an older processor, which it takes on one that it does not know, are exchanged. */
#include "../../runtime/base/mc_def.h"
#include "../../runtime/device/mc_backend.h"
#include "parts.h"

#include <cblas.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_NOMEM = 4, STATUS_UNSUPPORTED = 9, STATUS_INTERNAL = 11 };

/* Set once by mc_plugin_open, before any other call. */
static const mc_host_api *host;
static char name[160] = "OpenBLAS";

static int ready(void)
{
    return mco_ready() ? 0
                       : host->error(STATUS_NOMEM,
                                     "memory: the system has no %d MiB of addresses for the work "
                                     "buffer of OpenBLAS; raise ulimit -v or release tensors",
                                     MCO_BUFFER_MIB);
}

/* The Fortran handler: routine name without terminator, 1-based number of the bad argument. */
MC_API void xerbla_(const char *routine, const int *argument, size_t length);
MC_API void cblas_xerbla(int argument, char *routine, char *form, ...);

void xerbla_(const char *routine, const int *argument, size_t length)
{
    if (length > 16) length = 16;
    if (host)
        (void)host->error(STATUS_INTERNAL, "blas: %.*s refuses its argument %d; please report it",
                          (int)length, routine, *argument);
}

void cblas_xerbla(int argument, char *routine, char *form, ...)
{
    (void)form;
    if (host)
        (void)host->error(STATUS_INTERNAL, "blas: %s refuses its argument %d; please report it",
                          routine, argument);
}

/* OpenBLAS goes by the processor's number. One that came after the build counts as one of 2004 or
 * 2008, and products run at a fifth (Emerald Rapids under 0.3.21: 14 of 70 GFLOP/s). What the
 * processor can do then chooses the kernels, by the way of OPENBLAS_CORETYPE, which a user may have
 * set: then it stands. Nothing has been computed yet. */
static void choose_kernels(void)
{
    static const char *const FALLBACK[] = { "Prescott", "Nehalem", "Barcelona" };
    const char *core = openblas_get_corename(), *fit = NULL;
    int fallen = 0;
    for (size_t i = 0; i < sizeof FALLBACK / sizeof *FALLBACK; i++)
        fallen |= strcmp(core, FALLBACK[i]) == 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) fit = "Haswell";
    if (fit && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        fit = "SkylakeX";
#endif
    if (!fallen || !fit || getenv("OPENBLAS_CORETYPE")) return;
    void (*quit)(void) = NULL, (*init)(void) = NULL; /* builds for one processor lack them */
    *(void **)&quit = dlsym(RTLD_NEXT, "gotoblas_dynamic_quit");
    *(void **)&init = dlsym(RTLD_NEXT, "gotoblas_dynamic_init");
    if (!quit || !init || setenv("OPENBLAS_CORETYPE", fit, 0) != 0) return;
    quit();
    init();
    (void)unsetenv("OPENBLAS_CORETYPE");
}

/* "OpenBLAS 0.3.21 Zen": the first two words of the build's configuration and the kernels it chose.
 */
static void set_name(void)
{
    const char *config = openblas_get_config();
    int words = 0;
    size_t length = 0;
    for (; config[length] && length < 100; length++)
        if (config[length] == ' ' && ++words == 2) break;
    (void)snprintf(name, sizeof name, "%.*s %s", (int)length, config, openblas_get_corename());
}

MC_API int mc_plugin_open(const mc_host_api *h, void *api);

int mc_plugin_open(const mc_host_api *h, void *api)
{
    mc_blas_api *blas = api;
    if (h->abi != MC_BACKEND_ABI || blas->abi != MC_BACKEND_ABI)
        return h->error(
            STATUS_UNSUPPORTED,
            "blas: the plug-in belongs to another version of mascon; build both together");
    host = h;
    openblas_set_num_threads(1);
    choose_kernels();
    set_name();
    blas->name = name;
    blas->ready = ready;
    blas->enter = mco_enter;
    blas->leave = mco_leave;
    blas->gemm = mco_gemm;
    blas->lapack = &mco_lapack;
    return 0;
}
