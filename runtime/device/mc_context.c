/* mc_context.c - the process-wide state: neighbours opened at first use, ISA level, number of
 * threads, cancel flag.
 *
 * Holds dlopen of the plug-ins and the table of host functions they receive. */
#include "device/mc_context.h"
#include "device/mc_device.h"
#include "base/mc_hash.h"
#include "base/mc_machine.h"
#include "base/mc_memory.h"
#include "mc_gen_kernels.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock; /* guards the plug-in slots and dir */
    char dir[1024];
    int isa;              /* 0..2, -1 not chosen yet */
    int threads;                /* 0 not chosen yet */
    const char *threads_source;
    int batch_invariant, tf32;
} ctx = {.lock = PTHREAD_MUTEX_INITIALIZER, .isa = -1};

static atomic_int working; /* what mci_works counts: read from a signal handler */

int mc_working(void) { return working > 0; }

void mci_works(int by) { working += by; }

/* ---- neighbours ---- */

static const mc_host_api host = {MC_BACKEND_ABI, mci_alloc, mci_free, mci_error, mc_cancel_pending};

#define ROOM ((size_t)1 << 20) /* that there has to be before a library is loaded */

typedef struct plugin {
    const char *file, *advice;
    int tried, starved; /* starved: by lack of memory; tried again */
    char text[512];
} plugin;

static plugin plugins[] = {
    { "mc_zlib.so", "install zlib (Debian: zlib1g) to read and write compressed files", 0, 0, "" },
    { "mc_openblas.so",
      "install OpenBLAS (Debian: libopenblas0-pthread) for matrix products and linear algebra", 0,
      0, "" },
    { "mc_rsvg.so", "install librsvg (Debian: librsvg2-2) for PNG figures, or write .svg", 0, 0,
      "" },
    { "mc_gomp.so", "install libgomp (Debian: libgomp1) to use more than one thread", 0, 0, "" },
    { "mc_fftw.so",
      "install FFTW (Debian: libfftw3-double3 libfftw3-single3), or use engine \"mascon\"", 0, 0,
      "" },
    { "mc_hdf5.so",
      "install HDF5 (Debian: libhdf5-103-1) to read and write .h5 files and MAT-files of version "
      "7.3",
      0, 0, "" },
    { "mc_yaml.so",
      "install libyaml (Debian: libyaml-0-2) to read .yaml files, or write the same as .json", 0, 0,
      "" },
    { "mc_cuda.so", "install the NVIDIA driver and NVRTC", 0, 0, "" },
    { "mc_opencl.so",
      "install an OpenCL loader and driver (Debian: ocl-icd-libopencl1 and pocl-opencl-icd)", 0, 0,
      "" },
    { "mc_blas.so",
      "MASCON_BLAS names libraries with CBLAS and 32-bit integers, divided by colons, such as "
      "libblis.so.4:liblapack.so.3; without it OpenBLAS serves",
      0, 0, "" },
};

/* The place of the plug-in of products: that of OpenBLAS, or of the libraries that MASCON_BLAS
 * names, whose calls are looked up as they come. */
enum { OPENBLAS = 1, OWN_BLAS = 9 };

static int blas_place(void)
{
    const char *named = getenv("MASCON_BLAS");
    return named && *named ? OWN_BLAS : OPENBLAS;
}

static void default_dir(void)
{
    Dl_info info;
    if (ctx.dir[0] || !dladdr((void *)(uintptr_t)&mc_version, &info) || !info.dli_fname)
        return;
    const char *slash = strrchr(info.dli_fname, '/');
    int len = slash ? (int)(slash - info.dli_fname) : 1;
    snprintf(ctx.dir, sizeof ctx.dir, "%.*s/plugins", len, slash ? info.dli_fname : ".");
}

/* Opens plug-in k into api (whose abi is its first int). 1 when usable. The lock is held. */
static int open_locked(int k, void *api)
{
    plugin *p = &plugins[k];
    int *abi = api;
    if (p->tried)
        return *abi != 0;
    p->tried = 1;
    p->starved = 0;
    default_dir();
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", ctx.dir, p->file);
    /* What libraries do when they are loaded may end the process where memory is refused. */
    void *room = malloc(ROOM), *lib = NULL;
    free(room);
    if (room)
        lib = dlopen(path, (k == OWN_BLAS ? RTLD_LAZY : RTLD_NOW) | RTLD_LOCAL);
    const char *why = lib ? NULL : room ? dlerror() : "cannot allocate memory";
    if (why && (strstr(why, "annot allocate memory") || strstr(why, "failed to map segment") ||
                strstr(why, "out of memory"))) {
        p->starved = 1;
        p->tried = 0;
    }
    mc_plugin_open_fn open_fn = NULL;
    if (lib)
        *(void **)(&open_fn) = dlsym(lib, "mc_plugin_open");
    if (lib && !open_fn)
        why = "it exports no mc_plugin_open";
    if (!why) {
        *abi = MC_BACKEND_ABI;
        if (open_fn(&host, api)) {
            *abi = 0;
            why = mc_errmsg();
        }
    }
    if (why)
        snprintf(p->text, sizeof p->text, "%.300s", why);
    return *abi != 0;
}

static void refuse(const plugin *p)
{
    if (p->starved)
        mci_error(MC_ENOMEM, "memory: %s cannot be opened (%s); raise ulimit -v or release tensors",
                  p->file, p->text);
    else
        mci_error(p == &plugins[OWN_BLAS] ? MC_EINVAL : MC_EUNSUPPORTED,
                  "%s: cannot be opened (%s); %s", p->file, p->text, p->advice);
}

#define NEIGHBOUR(type, name, k)              \
    static type name##_api;                   \
    static const type *name##_open(void)      \
    {                                         \
        pthread_mutex_lock(&ctx.lock);        \
        const int place = (k);                \
        int ok = open_locked(place, &name##_api); \
        pthread_mutex_unlock(&ctx.lock);      \
        if (ok)                               \
            return &name##_api;               \
        refuse(&plugins[place]);              \
        return NULL;                          \
    }

NEIGHBOUR(mc_zlib_api, zlib, 0)
NEIGHBOUR(mc_blas_api, blas, blas_place())
NEIGHBOUR(mc_raster_api, raster, 2)
NEIGHBOUR(mc_threads_api, gomp, 3)
NEIGHBOUR(mc_fft_api, fftw, 4)
NEIGHBOUR(mc_hdf5_api, hdf5, 5)
NEIGHBOUR(mc_yaml_api, yaml, 6)
NEIGHBOUR(mc_device_api, cuda, 7)
NEIGHBOUR(mc_device_api, opencl, 8)

const mc_zlib_api *mci_zlib(void) { return zlib_open(); }

const mc_blas_api *mci_blas(void)
{
    const mc_blas_api *blas = blas_open();
    return blas && blas->ready() == 0 ? blas : NULL;
}

int mci_blas_is_named(void) { return blas_place() == OWN_BLAS; }

const mc_lapack_api *mci_lapack(void)
{
    const mc_blas_api *blas = mci_blas();
    if (blas && !blas->lapack)
        mci_error(MC_EUNSUPPORTED,
                  "%s has no LAPACK; name one behind it, MASCON_BLAS=...:liblapack.so.3",
                  blas->name);
    return blas ? blas->lapack : NULL;
}

const mc_hdf5_api *mci_hdf5(void) { return hdf5_open(); }
const mc_yaml_api *mci_yaml(void) { return yaml_open(); }
const mci_device_kind *mci_device_kinds(void)
{
    static const mci_device_kind kinds[] = {
        { "cuda", 1, 2, cuda_open },
        { "opencl", 1, 4, opencl_open },
        { "ref", 0, 0, mci_ref_device },
        { NULL, 0, 0, NULL },
    };
    return kinds;
}
const mc_fft_api *mci_fftw(void) { return fftw_open(); }

const char *mci_neighbour(const char *kind)
{
    if (!strcmp(kind, "blas"))
        return blas_open() ? blas_api.name : NULL;
    if (!strcmp(kind, "zlib"))
        return zlib_open() ? zlib_api.name : NULL;
    if (!strcmp(kind, "raster"))
        return raster_open() ? raster_api.name : NULL;
    if (!strcmp(kind, "threads"))
        return gomp_open() ? "libgomp" : NULL;
    if (!strcmp(kind, "hdf5"))
        return hdf5_open() ? hdf5_api.name : NULL;
    if (!strcmp(kind, "yaml"))
        return yaml_open() ? yaml_api.name : NULL;
    return NULL;
}

const char *mci_plugin_dir(void)
{
    default_dir();
    return ctx.dir;
}

int mc_plugin_dir_set(const char *path)
{
    if (strlen(path) >= sizeof ctx.dir)
        return mci_error(MC_EINVAL, "plug-in folder: the path is longer than %d bytes",
                         (int)sizeof ctx.dir - 1);
    pthread_mutex_lock(&ctx.lock);
    memcpy(ctx.dir, path, strlen(path) + 1);
    pthread_mutex_unlock(&ctx.lock);
    return MC_OK;
}

/* ---- instruction level ---- */

static const char *const isa_names[] = {"v2", "v3", "v4"};

int mci_isa_best(void)
{
    __builtin_cpu_init();
    int v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("bmi2");
    int v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
    int best = v4 ? 2 : v3 ? 1 : 0;
    while (best > 0 && !mck_kernel_tables[best]) /* a build for developers may leave levels out */
        best--;
    return best;
}

int mc_isa_set(const char *name)
{
    for (int i = 0; i < 3; i++)
        if (!strcmp(name, isa_names[i])) {
            if (i > mci_isa_best())
                return mci_error(MC_EUNSUPPORTED, "isa: this machine has no %s; choose up to %s",
                                 name, isa_names[mci_isa_best()]);
            if (!mck_kernel_tables[i])
                return mci_error(MC_EUNSUPPORTED,
                                 "isa: this build has no %s; build without LEVELS=", name);
            ctx.isa = i;
            mci_sha256_instructions(i > 0);
            return MC_OK;
        }
    return mci_error(MC_EINVAL, "isa: '%s' is unknown; choose v2, v3 or v4", name);
}

int mci_isa(void)
{
    if (MC_UNLIKELY(ctx.isa < 0)) {
        const char *s = getenv("MASCON_ISA");
        if (!s || mc_isa_set(s))
            ctx.isa = mci_isa_best();
    }
    return ctx.isa;
}

const char *mc_isa_name(void) { return isa_names[mci_isa()]; }

mci_kernel mci_kernel_get(int op, int dtype) { return mck_kernel_tables[mci_isa()][op][dtype]; }
mci_kernel mci_kernel_of_level(const char *isa, int op, int dtype)
{
    int i = 0;
    while (i < 2 && strcmp(isa, isa_names[i]) != 0)
        i++;
    return mck_kernel_tables[i] ? mck_kernel_tables[i][op][dtype] : NULL;
}
mck_any_fn mci_function(int fn) { return mck_function_tables[mci_isa()][fn]; }
mci_cast_fn mci_cast(int to, int from) { return (mci_cast_fn)mck_cast_tables[mci_isa()][to][from]; }

/* ---- threads ---- */

int mc_get_num_threads(void)
{
    if (ctx.threads == 0) {
        const char *source;
        ctx.threads = mci_machine_threads(&source);
        ctx.threads_source = source;
    }
    return ctx.threads;
}

int mc_set_num_threads(int n)
{
    if (n < 1 || n > 1024)
        return mci_error(MC_EINVAL, "set_num_threads: %d is not in 1..1024", n);
    ctx.threads = n;
    ctx.threads_source = "set_num_threads";
    return MC_OK;
}

const char *mc_threads_source(void)
{
    (void)mc_get_num_threads();
    return ctx.threads_source;
}

void mc_set_batch_invariant(int on)
{
    ctx.batch_invariant = on != 0;
}

int mc_get_batch_invariant(void)
{
    return ctx.batch_invariant;
}

void mc_set_tf32(int on)
{
    ctx.tf32 = on != 0;
}

int mc_get_tf32(void)
{
    return ctx.tf32;
}

int mci_workers(int64_t tasks)
{
    int n = mc_get_num_threads();
    return tasks < n ? (tasks < 1 ? 1 : (int)tasks) : n;
}

typedef struct job {
    mc_range_fn fn;
    void *arg;
} job;

static void run_task(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;
    /* the thread gets its error record now, not when there is no memory left */
    (void)mc_errstatus();
    if (!mc_cancel_pending())
        j->fn(j->arg, begin, end, worker);
}

int mci_parallel(int64_t tasks, mc_range_fn fn, void *arg)
{
    int n = mci_workers(tasks);
    const mc_threads_api *api = n > 1 ? gomp_open() : NULL;
    job j = {fn, arg};
    mci_works(1);
    if (api)
        api->run(tasks, n, run_task, &j);
    else
        for (int64_t i = 0; i < tasks && !mc_cancel_pending(); i++)
            fn(arg, i, i + 1, 0);
    mci_works(-1);
    return mc_cancel_pending() ? mci_error(MC_ECANCELLED, "interrupted") : MC_OK;
}

/* ---- pictures and terminals ---- */

int mc_svg_to_png(const char *svg, int64_t bytes, double scale, const char *path)
{
    const mc_raster_api *api = raster_open();
    return api ? api->svg_to_png(svg, (size_t)bytes, scale, path) : mc_errstatus();
}

int mc_terminal_width(int fd)
{
    struct winsize w;
    if (!isatty(fd))
        return 0;
    return ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
}
