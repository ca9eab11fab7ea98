/* mc_program.c - programs of a device: texts put together, built once, kept for the life of the
 * process.
 *
 * A program is a few #define lines and the name of a file of kernels/device/, which includes the
 * headers of the CPU's kernels: the dialect (kernels/device/dialect.h) makes them OpenCL C or CUDA
 * C++. Files are taken from the library itself, each once, where the first line that includes them
 * stands; system headers are left out. What compilers make is kept on disk (mc_code_cache.c), or by
 * the interface itself. */
#include "device/mc_program.h"
#include "device/mc_code_cache.h"
#include "device/mc_context.h"
#include "device/mc_shipped.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"
#include "mc_lua.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MOST_TEXTS 128

typedef struct kernel {
    struct kernel *next;
    void *handle;
    char name[];
} kernel;

typedef struct program {
    struct program *next;
    int device;
    void *handle;
    kernel *kernels;
    char source[];
} program;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards programs */
static program *programs;
static struct {
    int64_t made, found; /* compiled; out of the cache on disk */
    double seconds;      /* of compilers */
} counts;                /* guarded by lock as well */

/* A growing text; failed: there was no memory, or a file is not there. */
typedef struct builder {
    char *text;
    size_t n, room;
    int failed;
    char seen[MOST_TEXTS];
} builder;

static void put(builder *b, const char *text, size_t n)
{
    if (b->failed) return;
    if (b->n + n + 1 > b->room) {
        size_t room = 2 * (b->n + n) + 4096;
        char *more = mci_realloc(b->text, room);
        if (!more) {
            b->failed = 1;
            return;
        }
        b->text = more;
        b->room = room;
    }
    memcpy(b->text + b->n, text, n);
    b->n += n;
    b->text[b->n] = 0;
}

static void put_lines(builder *b, const char *text);

/* The file of an #include line; its folder does not count. */
static void put_file(builder *b, const char *path, size_t n)
{
    for (size_t i = n; i > 0; i--)
        if (path[i - 1] == '/') {
            path += i;
            n -= i;
            break;
        }
    if ((n == 5 && !memcmp(path, "mck.h", n)) ||
        (n == 8 && !memcmp(path, "mc_def.h", n))) /* the dialect stands for them */
        return;
    for (int i = 0; mci_device_texts[i].name; i++) {
        const mci_text *t = &mci_device_texts[i];
        if (strlen(t->name) != n || memcmp(t->name, path, n) != 0) continue;
        if (!b->seen[i]) {
            b->seen[i] = 1;
            put_lines(b, t->text);
        }
        return;
    }
    mci_error(MC_EINTERNAL, "program: there is no file %.*s among the texts of devices", (int)n,
              path);
    b->failed = 1;
}

static void put_lines(builder *b, const char *text)
{
    while (*text && !b->failed) {
        const char *end = strchr(text, '\n'), *rest = end ? end + 1 : text + strlen(text);
        if (strncmp(text, "#include \"", 10) == 0) {
            const char *from = text + 10, *to = strchr(from, '"');
            put_file(b, from, (size_t)(to - from));
        } else if (strncmp(text, "#include <", 10) != 0) {
            put(b, text, (size_t)(rest - text));
        }
        text = rest;
    }
}

char *mci_device_source(const char *kind, const char *source)
{
    builder b = { 0 };
    if (strncmp(source, MCI_VERBATIM, strlen(MCI_VERBATIM)) == 0) {
        const char *text = source + strlen(MCI_VERBATIM);
        put(&b, text, strlen(text));
        return b.text;
    }
    char dialect[64] = "#define MCD_";
    size_t n = strlen(dialect);
    for (const char *c = kind; *c && n < sizeof dialect - 2; c++) /* MCD_CUDA of "cuda" */
        dialect[n++] = (char)(*c - 'a' + 'A');
    dialect[n++] = '\n';
    dialect[n] = 0;
    put_lines(&b, dialect);
    put_lines(&b, "#include \"dialect.h\"\n");
    put_lines(&b, source);
    if (b.failed) {
        mci_free(b.text);
        return NULL;
    }
    return b.text;
}

/* A program out of the cache on disk, else compiled and kept there. Without a compiler code of any
 * compiler is taken, then what ships; with one, its own. */
static void *load(int device, const char *text, char *log, int64_t room)
{
    const mc_device_api *api = mci_device_api(device);
    void *dev = mci_device_handle(device), *handle = NULL;
    char target[MCI_CODE_ABOUT], compiler[MCI_CODE_ABOUT], about[MCI_CODE_ABOUT], key[65];
    int64_t bytes = 0;
    api->target(dev, target, compiler, MCI_CODE_ABOUT);
    mci_code_key(key, text, target);
    char *code = mci_code_find(key, &bytes, about);
    if (code && (!*compiler || strcmp(about, compiler) == 0)) handle = api->load(dev, code, bytes);
    mci_free(code);
    if (handle) {
        counts.found++;
        return handle;
    }
    if (!*compiler) {
        mci_code_key(key, text, MCI_SHIPPED_TARGET);
        code = mci_shipped_find(api->kind, key, &bytes);
        if (code) {
            handle = api->load(dev, code, bytes);
            mci_free(code);
            counts.found += handle != NULL;
            return handle;
        }
    }
    const double began = mc_clock();
    code = api->compile(dev, text, &bytes, log, room);
    counts.seconds += mc_clock() - began;
    if (!code && !*compiler) {
        char why[256];
        snprintf(why, sizeof why, "%s", mc_errmsg());
        mci_error(MC_EUNSUPPORTED,
                  "%s; the program is neither in the cache (%s) nor among the %d that come with "
                  "mascon",
                  why, mci_code_folder(), mci_shipped_count(api->kind));
    }
    if (!code) return NULL;
    counts.made++;
    handle = api->load(dev, code, bytes);
    if (handle) mci_code_keep(key, code, bytes, compiler);
    mci_free(code);
    /* cppcheck-suppress returnDanglingLifetime; load keeps nothing of `bytes`, a number */
    return handle;
}

static void *make(int device, const char *text, char *log, int64_t room)
{
    const mc_device_api *api = mci_device_api(device);
    if (api->load) return load(device, text, log, room);
    const double began = mc_clock();
    void *handle = api->build(mci_device_handle(device), text, "", log, room);
    counts.seconds += mc_clock() - began;
    counts.made += handle != NULL;
    return handle;
}

/* Whether a user wrote the text: the lines that its compiler names are then the user's. */
static int written(const char *source)
{
    return strncmp(source, MCI_VERBATIM, strlen(MCI_VERBATIM)) == 0 ||
           strncmp(source, MCI_OWN, strlen(MCI_OWN)) == 0;
}

static program *build(int device, const char *source)
{
    const mc_device_api *api = mci_device_api(device);
    char log[4096] = "", *text = mci_device_source(api->kind, source);
    program *p = text ? mci_calloc(1, sizeof *p + strlen(source) + 1) : NULL;
    if (p) {
        memcpy(p->source, source, strlen(source) + 1);
        p->device = device;
        mci_works(1);
        p->handle = make(device, text, log, sizeof log);
        mci_works(-1);
        if (!p->handle) {
            char why[1024];
            snprintf(why, sizeof why, "%s", mc_errmsg());
            if (*log && written(source))
                mci_error(MC_EDEVICE, "%s: the text does not compile:\n%s", mci_device_text(device),
                          log);
            else if (*log)
                mci_error(MC_EDEVICE, "%s: a program does not build (%s): %s\n%s",
                          mci_device_text(device), why, source, log);
            else
                mci_error(MC_EDEVICE, "%s: a program cannot be made: %s", mci_device_text(device),
                          why);
            mci_free(p);
            p = NULL;
        } else {
            p->next = programs;
            programs = p;
            mci_device_at_exit();
        }
    }
    mci_free(text);
    return p;
}

int mc_device_compiles(int device)
{
    const mc_device_api *api = mci_device_api(device);
    char target[MCI_CODE_ABOUT], compiler[MCI_CODE_ABOUT];
    if (device == 0 || !api->target) return 1;
    api->target(mci_device_handle(device), target, compiler, MCI_CODE_ABOUT);
    return *compiler != 0;
}

int mci_device_programmed(int device)
{
    const mc_device_api *api = mci_device_api(device);
    char log[256] = "", why[320];
    int64_t bytes = 0;
    if (!api->load || mc_device_compiles(device) || mci_shipped_count(api->kind) > 0 ||
        mci_code_any())
        return MC_OK;
    mci_free(api->compile(mci_device_handle(device), "", &bytes, log, sizeof log));
    snprintf(why, sizeof why, "%s", mc_errmsg());
    return mci_error(MC_EUNSUPPORTED,
                     "device \"%s\" cannot be used: %s; no programs come with mascon, and none are "
                     "kept (%s)",
                     mci_device_text(device), why, mci_code_folder());
}

void *mci_device_kernel(int device, const char *source, const char *name)
{
    void *handle = NULL;
    pthread_mutex_lock(&lock);
    program *p = programs;
    while (p && (p->device != device || strcmp(p->source, source) != 0)) p = p->next;
    if (!p) p = build(device, source);
    kernel *k = p ? p->kernels : NULL;
    while (k && strcmp(k->name, name) != 0) k = k->next;
    if (k) {
        handle = k->handle;
    } else if (p && (k = mci_calloc(1, sizeof *k + strlen(name) + 1)) != NULL) {
        memcpy(k->name, name, strlen(name) + 1);
        handle = k->handle =
            mci_device_api(device)->kernel(mci_device_handle(device), p->handle, name);
        if (handle) {
            k->next = p->kernels;
            p->kernels = k;
        } else {
            mci_free(k);
        }
    }
    pthread_mutex_unlock(&lock);
    return handle;
}

void mc_device_programs(double out[3])
{
    pthread_mutex_lock(&lock);
    out[0] = (double)counts.made;
    out[1] = (double)counts.found;
    out[2] = counts.seconds;
    pthread_mutex_unlock(&lock);
}

int mc_device_program(int device, int index, char *source, int64_t room)
{
    int n = 0;
    pthread_mutex_lock(&lock);
    for (const program *p = programs; p; p = p->next)
        if (p->device == device && n++ == index) snprintf(source, (size_t)room, "%s", p->source);
    pthread_mutex_unlock(&lock);
    return n;
}

int64_t mc_device_source(const char *kind, const char *source, char *text, int64_t room)
{
    char *all = mci_device_source(kind, source);
    if (!all) return -1;
    const int64_t n = (int64_t)strlen(all);
    if (room > 0) snprintf(text, (size_t)room, "%s", all);
    mci_free(all);
    return n;
}
