/* blas.c - any library with CBLAS and LAPACK (BLIS, MKL, AOCL, a newer OpenBLAS) in the place of
 * OpenBLAS.
 *
 * MASCON_BLAS names it, or several divided by colons, the first of which comes first. They are
 * opened for all to see, and the calls of gemm.c and lapack.c, which this plug-in leaves open,
 * find them there. That needs every name to be there before a call, so each is looked up. One
 * product and one factorisation tell whether integers have the width that the calls have. */
#include "../../runtime/base/mc_def.h"
#include "../../runtime/device/mc_backend.h"
#include "../openblas/parts.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_EINVAL = 1, STATUS_UNSUPPORTED = 9 };

static char name[256];

/* Routines of lapack.c by the types they are there for. */
static const struct {
    const char *types, *names;
} ROUTINES[] = {
    { "sdcz", "getrf getrs getri potrf sytrf gbsv gtsv pbsv trtrs geqrf geqp3 gelsd gesdd geev "
              "gees trsen gehrd" },
    { "sd", "orgqr syevd sygvd orghr" },
    { "cz", "hetrf ungqr heevd hegvd unghr" },
};

/* Whether each routine is there; `missing` gets the first that is not. */
static int complete(char missing[24])
{
    for (size_t i = 0; i < sizeof ROUTINES / sizeof *ROUTINES; i++)
        for (const char *at = ROUTINES[i].names; *at; at += strspn(at, " ")) {
            const int length = (int)strcspn(at, " ");
            for (const char *t = ROUTINES[i].types; *t; t++) {
                (void)snprintf(missing, 24, "%c%.*s_", *t, length, at);
                if (!dlsym(RTLD_DEFAULT, missing)) return 0;
            }
            at += length;
        }
    return 1;
}

static int ready(void)
{
    return 0;
}

void mco_enter(void) {}

void mco_leave(void) {}

/* Calls the first function of these that the libraries have. */
void mco_threads(int n)
{
    static const char *const INT[] = { "openblas_set_num_threads", "MKL_Set_Num_Threads" };
    void (*set)(int) = NULL;
    for (size_t i = 0; i < sizeof INT / sizeof *INT; i++) {
        *(void **)&set = dlsym(RTLD_DEFAULT, INT[i]);
        if (set) set(n);
    }
    void (*wide)(int64_t) = NULL; /* BLIS: integers as wide as addresses */
    *(void **)&wide = dlsym(RTLD_DEFAULT, "bli_thread_set_num_threads");
    if (wide) wide(n);
}

/* "BLIS 0.9.0 (libblis.so.4)": what the library says of itself, and what was asked for. */
static void set_name(const char *asked)
{
    const char *(*text)(void) = NULL;
    void (*fill)(char *, int) = NULL;
    char own[128] = "";
    *(void **)&text = dlsym(RTLD_DEFAULT, "bli_info_get_version_str");
    if (text) (void)snprintf(own, sizeof own, "BLIS %s", text());
    *(void **)&text = own[0] ? NULL : dlsym(RTLD_DEFAULT, "openblas_get_config");
    if (text) (void)snprintf(own, sizeof own, "%.*s", 100, text());
    *(void **)&fill = own[0] ? NULL : dlsym(RTLD_DEFAULT, "MKL_Get_Version_String");
    if (fill) fill(own, (int)sizeof own - 1);
    (void)snprintf(name, sizeof name, own[0] ? "%s (%s)" : "%s%s", own, asked);
}

static int multiplies(void)
{
    const double a[4] = { 1, 2, 3, 4 }, b[4] = { 5, 6, 7, 8 };
    double c[4] = { 0 };
    mco_gemm('d', 0, 1, 2, 2, 2, a, 2, b, 2, c, 2);
    return c[0] == 17 && c[1] == 23 && c[2] == 39 && c[3] == 53;
}

/* A library with integers of 64 bits reads these sizes as well, but writes other pivots. */
static int narrow(void)
{
    void (*getrf)(const void *, const void *, void *, const void *, void *, void *) = NULL;
    *(void **)&getrf = dlsym(RTLD_DEFAULT, "dgetrf_");
    const int64_t two = 2;
    double a[4] = { 1, 3, 2, 4 };
    int32_t pivots[4] = { -1, -1, -1, -1 };
    int64_t info = 0;
    getrf(&two, &two, a, &two, pivots, &info);
    return pivots[0] == 2 && pivots[1] == 2 && pivots[2] == -1;
}

MC_API int mc_plugin_open(const mc_host_api *h, void *api);

int mc_plugin_open(const mc_host_api *h, void *api)
{
    mc_blas_api *blas = api;
    if (h->abi != MC_BACKEND_ABI || blas->abi != MC_BACKEND_ABI)
        return h->error(
            STATUS_UNSUPPORTED,
            "blas: the plug-in belongs to another version of mascon; build both together");
    const char *asked = getenv("MASCON_BLAS");
    char one[1024], missing[24];
    for (const char *at = asked ? asked : ""; *at; at += strspn(at, ":")) {
        const size_t length = strcspn(at, ":");
        (void)snprintf(one, sizeof one, "%.*s", (int)length, at);
        if (!dlopen(one, RTLD_NOW | RTLD_GLOBAL)) return h->error(STATUS_EINVAL, "%s", dlerror());
        at += length;
    }
    for (const char *t = "sdcz"; *t; t++) {
        (void)snprintf(missing, sizeof missing, "cblas_%cgemm", *t);
        if (!dlsym(RTLD_DEFAULT, missing))
            return h->error(STATUS_EINVAL, "there is no %s in it", missing);
    }
    mco_threads(1);
    const int full = complete(missing);
    if (!multiplies() || (full && !narrow()))
        return h->error(STATUS_EINVAL, "it has integers of 64 bits, or multiplies wrong");
    set_name(asked ? asked : "");
    blas->name = name;
    blas->ready = ready;
    blas->enter = mco_enter;
    blas->leave = mco_leave;
    blas->gemm = mco_gemm;
    blas->lapack = full ? &mco_lapack : NULL;
    return 0;
}
