/* fftw.c - the FFTW neighbour: transforms of rows behind mc_fft_api.
 *
 * Holds: plans and their scratch. Plans are made for aligned rows and executed on other arrays
 * that FFTW calls as aligned (16 bytes, it says), which it allows from any thread; making and
 * dropping plans is not thread-safe, the caller holds a lock. Estimated plans depend on the
 * shape alone unless wisdom was loaded; measured ones on the machine's mood. FFTW ends the
 * process when memory runs out, so what a plan may need is asked of the host first, and FFTW gets
 * its memory through memory.c. */
#include "../../runtime/device/mc_backend.h"
#include "../../runtime/base/mc_def.h"
#include "parts.h"

#include <fftw3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_NOMEM = 4, STATUS_UNSUPPORTED = 9, STATUS_INTERNAL = 11 };
enum { C2C_FORWARD, C2C_BACKWARD, R2C, C2R };

typedef struct fft_plan {
    int kind, prec;
    fftw_plan f64;
    fftwf_plan f32;
} fft_plan;

/* Set once by mc_plugin_open, before any other call. */
static const mc_host_api *host;
static char name[64] = "fftw";

static void make_f64(fft_plan *p, const fftw_iodim64 *dim, const fftw_iodim64 *many, void *in,
                     void *out, unsigned flags)
{
    if (p->kind == R2C)
        p->f64 = fftw_plan_guru64_dft_r2c(1, dim, 1, many, in, out, flags);
    else if (p->kind == C2R)
        p->f64 = fftw_plan_guru64_dft_c2r(1, dim, 1, many, in, out, flags);
    else
        p->f64 = fftw_plan_guru64_dft(1, dim, 1, many, in, out,
                                      p->kind == C2C_FORWARD ? FFTW_FORWARD : FFTW_BACKWARD, flags);
}

static void make_f32(fft_plan *p, const fftwf_iodim64 *dim, const fftwf_iodim64 *many, void *in,
                     void *out, unsigned flags)
{
    if (p->kind == R2C)
        p->f32 = fftwf_plan_guru64_dft_r2c(1, dim, 1, many, in, out, flags);
    else if (p->kind == C2R)
        p->f32 = fftwf_plan_guru64_dft_c2r(1, dim, 1, many, in, out, flags);
    else
        p->f32 =
            fftwf_plan_guru64_dft(1, dim, 1, many, in, out,
                                  p->kind == C2C_FORWARD ? FFTW_FORWARD : FFTW_BACKWARD, flags);
}

static void drop(void *plan)
{
    fft_plan *p = plan;
    if (!p) return;
    if (p->f64) fftw_destroy_plan(p->f64);
    if (p->f32) fftwf_destroy_plan(p->f32);
    host->free(p);
}

/* Bytes of an array of `howmany` rows of `row` elements, `dist` apart. */
static size_t span(int64_t howmany, int64_t dist, int64_t row, size_t element)
{
    return ((size_t)(howmany - 1) * (size_t)dist + (size_t)row) * element;
}

static void *plan(int kind, int prec, int64_t n, int64_t howmany, int64_t idist, int64_t odist,
                  int measure)
{
    const size_t real = (size_t)prec, complex = 2 * real;
    const int64_t bins = n / 2 + 1;
    size_t in_bytes = span(howmany, idist, kind == C2R ? bins : n, kind == R2C ? real : complex);
    size_t out_bytes = span(howmany, odist, kind == R2C ? bins : n, kind == C2R ? real : complex);
    if (!measure) in_bytes = out_bytes = 64; /* only the alignment is looked at */
    fft_plan *p = host->alloc(sizeof *p);
    void *in = host->alloc(in_bytes), *out = host->alloc(out_bytes);
    void *reserve = host->alloc(16 * complex * (size_t)n + ((size_t)1 << 20));
    if (!p || !in || !out || !reserve ||
        !mco_reserve(4 * complex * (size_t)n + ((size_t)1 << 20))) {
        host->free(p);
        host->free(in);
        host->free(out);
        host->free(reserve);
        (void)host->error(
            STATUS_NOMEM,
            "fft: no memory for a plan of %lld elements; release tensors or raise the limit",
            (long long)n);
        return NULL;
    }
    host->free(reserve);
    memset(p, 0, sizeof *p);
    p->kind = kind;
    p->prec = prec;
    const unsigned flags = (measure ? FFTW_MEASURE : FFTW_ESTIMATE) |
                           (kind == C2R ? FFTW_DESTROY_INPUT : FFTW_PRESERVE_INPUT);
    if (prec == 8) {
        const fftw_iodim64 dim = { n, 1, 1 }, many = { howmany, idist, odist };
        make_f64(p, &dim, &many, in, out, flags);
    } else {
        const fftwf_iodim64 dim = { n, 1, 1 }, many = { howmany, idist, odist };
        make_f32(p, &dim, &many, in, out, flags);
    }
    host->free(in);
    host->free(out);
    if (!p->f64 && !p->f32) {
        drop(p);
        (void)host->error(STATUS_INTERNAL,
                          "fft: FFTW has no plan for %lld elements; choose the engine 'mascon'",
                          (long long)n);
        return NULL;
    }
    return p;
}

static void execute(void *plan_, const void *in_, void *out)
{
    fft_plan *p = plan_;
    void *in = (void *)(uintptr_t)
        in_; /* FFTW takes its input without const; only c2r plans may change it */
    if (p->prec == 8) {
        if (p->kind == R2C)
            fftw_execute_dft_r2c(p->f64, in, out);
        else if (p->kind == C2R)
            fftw_execute_dft_c2r(p->f64, in, out);
        else
            fftw_execute_dft(p->f64, in, out);
    } else {
        if (p->kind == R2C)
            fftwf_execute_dft_r2c(p->f32, in, out);
        else if (p->kind == C2R)
            fftwf_execute_dft_c2r(p->f32, in, out);
        else
            fftwf_execute_dft(p->f32, in, out);
    }
}

/* ---- wisdom: one file, a head line with the two lengths, then the f64 and the f32 text ---- */

#define WISDOM_HEAD "mascon fftw wisdom 1 %zu %zu\n"
#define WISDOM_MOST ((size_t)1 << 26) /* bytes of either text; real ones stay under a megabyte */

static int write_wisdom(FILE *f, const char *f64, const char *f32)
{
    const size_t n64 = strlen(f64), n32 = strlen(f32);
    if (fprintf(f, WISDOM_HEAD, n64, n32) < 0) return 1;
    return fwrite(f64, 1, n64, f) != n64 || fwrite(f32, 1, n32, f) != n32 || fflush(f) != 0;
}

static int wisdom_save(const char *path)
{
    char *f64 = fftw_export_wisdom_to_string(), *f32 = fftwf_export_wisdom_to_string();
    const size_t length = strlen(path);
    char *temporary = host->alloc(length + 5);
    int rc = 1;
    if (f64 && f32 && temporary) {
        memcpy(temporary, path, length);
        memcpy(temporary + length, ".tmp", 5);
        FILE *f = fopen(temporary, "wb");
        if (f) {
            rc = write_wisdom(f, f64, f32);
            rc = fclose(f) != 0 || rc;
            rc = rc || rename(temporary, path) != 0;
            if (rc) (void)remove(temporary);
        }
    }
    host->free(temporary);
    free(f64); /* FFTW gives these from malloc */
    free(f32);
    return rc;
}

/* The next `n` bytes of f as text, to be given back to the host; NULL when they are not there. */
static char *read_text(FILE *f, size_t n)
{
    char *text = host->alloc(n + 1);
    if (!text) return NULL;
    if (fread(text, 1, n, f) != n) {
        host->free(text);
        return NULL;
    }
    text[n] = '\0';
    return text;
}

static int wisdom_load(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return 1;
    char head[80];
    size_t n64 = 0, n32 = 0;
    char *f64 = NULL, *f32 = NULL;
    if (fgets(head, sizeof head, f) && sscanf(head, WISDOM_HEAD, &n64, &n32) == 2 &&
        n64 <= WISDOM_MOST && n32 <= WISDOM_MOST) {
        f64 = read_text(f, n64);
        f32 = read_text(f, n32);
    }
    (void)fclose(f);
    const int ok =
        f64 && f32 && fftw_import_wisdom_from_string(f64) && fftwf_import_wisdom_from_string(f32);
    host->free(f64);
    host->free(f32);
    return !ok;
}

MC_API int mc_plugin_open(const mc_host_api *h, void *api);

int mc_plugin_open(const mc_host_api *h, void *api)
{
    mc_fft_api *fft = api;
    if (h->abi != MC_BACKEND_ABI || fft->abi != MC_BACKEND_ABI)
        return h->error(
            STATUS_UNSUPPORTED,
            "fft: the plug-in belongs to another version of mascon; build both together");
    host = h;
    const char *version = strchr(fftw_version, '-'); /* "fftw-3.3.10-sse2-avx" */
    if (version)
        (void)snprintf(name, sizeof name, "fftw %.*s", (int)strcspn(version + 1, "-"), version + 1);
    _Alignas(64) char probe[64]; /* both precisions share the smallest step that keeps alignment */
    fft->align = 64;
    for (int a = 32; a >= 8; a /= 2)
        if (fftw_alignment_of((double *)(void *)(probe + a)) ==
                fftw_alignment_of((double *)(void *)probe) &&
            fftwf_alignment_of((float *)(void *)(probe + a)) ==
                fftwf_alignment_of((float *)(void *)probe))
            fft->align = a;
    fft->name = name;
    fft->plan = plan;
    fft->execute = execute;
    fft->drop = drop;
    fft->wisdom_save = wisdom_save;
    fft->wisdom_load = wisdom_load;
    return 0;
}
