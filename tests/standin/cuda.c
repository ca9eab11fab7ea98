/* cuda.c - a stand-in for the CUDA driver, as strict as it may be: work runs as late as its order
 * allows, memory has pages without rights around it and loses its own when it is freed, sources of
 * uploads are read late, contexts must be current.
 *
 * STANDIN_SEED: number; orders of lanes and how far other streams run ahead. STANDIN_ORDER:
 * forwards, backwards, shuffled (default). STANDIN_FAIL=name:n:code: the n-th call of an entry
 * (any: of all entries that can) gives that code. STANDIN_MEMORY: bytes of the card.
 * STANDIN_DEVICES: how many cards. STANDIN_TRACE: a line for each launch, each upload, with the
 * launches that wait in other streams when it runs, and each wait for an event; at the end the most
 * pieces of work that waited in a stream. STANDIN_WORKING:
 * work runs only while mc_working() says that the library works, so that Ctrl-C is not answered in
 * the driver. What it finds wrong is told on standard error and ends the process with status 99. */
#define _GNU_SOURCE
#include "work.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define QUEUE 1024 /* pieces of work that wait in a stream; a card holds about as many launches */

struct CUctx_st {
    int device, retained;
};
struct CUmod_st {
    void *library;
};
struct CUevent_st {
    CUstream stream; /* where it was recorded last */
    int64_t number;  /* its place there; 0: never */
};

typedef struct block {
    struct block *next;
    char *base, *at;
    size_t room, bytes;
    int pinned, gone;
} block;

static struct CUctx_st contexts[8];
static CUcontext current;
static CUstream streams;
static struct CUstream_st common[2]; /* the default streams, named 1 and 2 */
static block *blocks;
static size_t live;
static int sticky, order = LANES_SHUFFLED, ready;
static uint64_t seed = 1;
static int64_t most; /* pieces of work that waited in a stream */
static char failing[64];
static long fail_at, fail_code;

_Noreturn void standin_wrong(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("standin: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    _exit(99);
}

static void settings(void)
{
    const char *s = getenv("STANDIN_SEED");
    if (ready) return;
    ready = 1;
    if (s) seed = strtoull(s, NULL, 10);
    s = getenv("STANDIN_ORDER");
    if (s && !strcmp(s, "forwards")) order = LANES_FORWARDS;
    if (s && !strcmp(s, "backwards")) order = LANES_BACKWARDS;
    s = getenv("STANDIN_FAIL");
    if (s && sscanf(s, "%63[^:]:%ld:%ld", failing, &fail_at, &fail_code) != 3)
        standin_wrong("STANDIN_FAIL is not name:n:code");
}

CUresult standin_enters(const char *name, int needs_context)
{
    settings();
    if (needs_context && !current) standin_wrong("%s: no context is current in this thread", name);
    if (sticky) return sticky;
    if (fail_at > 0 && (!strcmp(failing, "any") || !strcmp(failing, name)) && --fail_at == 0) {
        if (fail_code >= CUDA_ILLEGAL_ADDRESS) sticky = (int)fail_code;
        return (CUresult)fail_code;
    }
    return CUDA_OK;
}
uint64_t standin_random(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

/* ---- work ---- */

static block *block_of(const void *p, size_t bytes)
{
    for (block *b = blocks; b; b = b->next)
        if ((const char *)p >= b->at && (const char *)p + bytes <= b->at + b->bytes) return b;
    return NULL;
}

static void card_memory(const char *what, const void *p, size_t bytes)
{
    const block *b = block_of(p, bytes);
    if (!b || b->gone || b->pinned)
        standin_wrong("%s: %zu bytes at %p are %s", what, bytes, p,
                      !b        ? "no memory of the card"
                      : b->gone ? "freed memory"
                                : "memory of the host");
}

static void step(CUstream s);

/* A line for an upload that runs. */
static void told(const struct CUstream_st *s, const work *w)
{
    const block *from = block_of(w->from, w->bytes);
    int n = 0;
    for (CUstream o = streams; o; o = o->next)
        for (const work *q = o->first; q && o != s; q = q->next)
            n += q->kind == LAUNCH || q->kind == GRAPH;
    if (from && from->pinned)
        fprintf(stderr, "standin: upload of %zu bytes beside %d launches\n", w->bytes, n);
}

static void reach(CUstream s, int64_t number)
{
    while (s->done < number) step(s);
}

static void says_so(void)
{
    int (*working)(void) = NULL;
    if (!getenv("STANDIN_WORKING")) return;
    void *mascon = dlopen("libmascon.so", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&working = mascon ? dlsym(mascon, "mc_working") : NULL;
    if (!working || !working())
        standin_wrong("work runs, and the library does not say that it works");
}

void standin_do(const work *w)
{
    void *argument[32];
    if (sticky) return;
    if (w->kind == CALL) w->call(w->values);
    if (w->kind == COPY) memcpy(w->to, w->from, w->bytes);
    if (w->kind == GRAPH) standin_graph_do(w->graph);
    if (w->kind != LAUNCH || !w->function->kernel.call) return;
    for (int i = 0; w->function->sizes[i]; i++)
        argument[i] = (void *)(uintptr_t)(w->values + w->at[i]);
    for (int i = 0; i < *w->function->pointers; i++) {
        const block *b = block_of(*(void **)argument[i], 0);
        if (!b || b->gone || b->pinned)
            standin_wrong("%s: argument %d is no memory of the card", w->function->name, i);
    }
    if (lanes_run(&w->function->kernel, w->grid, (int)w->group, argument, order, &seed))
        sticky = CUDA_LAUNCH_FAILED;
}

/* The first piece of work of a stream. */
static void step(CUstream s)
{
    work *w = s->first;
    says_so();
    if (!w) standin_wrong("a stream is asked for work that it was not given");
    if (w->kind == WAIT && w->event_stream) reach(w->event_stream, w->event_number);
    if (w->kind == COPY && getenv("STANDIN_TRACE")) told(s, w);
    standin_do(w);
    s->first = w->next;
    if (!s->first) s->last = NULL;
    s->done = w->number;
    if (w->graph) standin_graph_free(w->graph);
    free(w);
}

/* The stream of a handle. */
static CUstream named(CUstream s)
{
    const uintptr_t number = (uintptr_t)s;
    if (number != 1 && number != 2) return s;
    s = &common[number - 1];
    if (!s->listed) {
        s->listed = 1;
        s->next = streams;
        streams = s;
    }
    return s;
}

/* Other streams run ahead by what the seed says, where they wait for nothing. */
static void others(const struct CUstream_st *s)
{
    for (CUstream o = streams; o; o = o->next)
        while (o != s && o->first && o->first->kind != WAIT) {
            if (standin_random() >> 30) break;
            step(o);
        }
}

work *standin_give(CUstream s, int kind)
{
    if (s->capture) return standin_capture(s->capture, kind);
    while (s->given - s->done >= QUEUE) step(s);
    work *w = calloc(1, sizeof *w);
    if (!w) abort();
    w->kind = kind;
    w->number = ++s->given;
    if (s->last)
        s->last->next = w;
    else
        s->first = w;
    s->last = w;
    most = s->given - s->done > most ? s->given - s->done : most;
    return w;
}

__attribute__((destructor)) static void told_most(void)
{
    if (getenv("STANDIN_TRACE")) fprintf(stderr, "standin: %lld waited\n", (long long)most);
}

static CUresult copies(CUstream s, void *to, const void *from, size_t bytes)
{
    work *w = standin_give(named(s), COPY);
    w->to = to;
    w->from = from;
    w->bytes = bytes;
    return CUDA_OK;
}

/* ---- the driver's entries ---- */

API CUresult cuInit(unsigned flags)
{
    ENTER(0);
    return flags ? 1 : CUDA_OK;
}

API CUresult cuDriverGetVersion(int *version)
{
    const char *s = getenv("STANDIN_DRIVER");
    *version = s ? atoi(s) : 13000;
    return CUDA_OK;
}

API CUresult cuGetErrorString(CUresult code, const char **text)
{
    *text = code == CUDA_NO_MEMORY ? "out of memory" : "an error of the stand-in";
    return CUDA_OK;
}

API CUresult cuDeviceGetCount(int *n)
{
    const char *s = getenv("STANDIN_DEVICES");
    ENTER(0);
    *n = s ? atoi(s) : 1;
    return CUDA_OK;
}

API CUresult cuDeviceGet(CUdevice *dev, int index)
{
    ENTER(0);
    *dev = index;
    return CUDA_OK;
}

API CUresult cuDeviceGetName(char *name, int room, CUdevice dev)
{
    ENTER(0);
    snprintf(name, (size_t)room, "stand-in %d", dev);
    return CUDA_OK;
}

static size_t card_bytes(void)
{
    const char *s = getenv("STANDIN_MEMORY");
    return s ? strtoull(s, NULL, 10) : (size_t)4 << 30;
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    (void)dev;
    ENTER(0);
    *bytes = (size_t)4 << 30;
    return CUDA_OK;
}

API CUresult cuDeviceGetAttribute(int *v, int what, CUdevice dev)
{
    (void)dev;
    ENTER(0);
    *v = what == ATTRIBUTE_MAJOR ? 9 : what == ATTRIBUTE_MINOR ? 0 : -1;
    return CUDA_OK;
}

API CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice dev)
{
    ENTER(0);
    contexts[dev].device = dev;
    contexts[dev].retained++;
    *c = &contexts[dev];
    return CUDA_OK;
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    if (--contexts[dev].retained < 0) standin_wrong("a context is released twice");
    return CUDA_OK;
}

API CUresult cuCtxSetCurrent(CUcontext c)
{
    settings();
    if (!c->retained) standin_wrong("cuCtxSetCurrent: the context is not held");
    current = c;
    return CUDA_OK;
}

/* What lies beside a block in its pages is nobody's, as far as sanitizers are there to see it. */
static void poison(const block *b)
{
    void (*hide)(const volatile void *, size_t) = NULL;
    char *from = b->base + PAGE, *end = b->base + b->room - PAGE;
    *(void **)&hide = dlsym(RTLD_DEFAULT, "__asan_poison_memory_region");
    if (!hide) return;
    hide(from, (size_t)(b->at - from));
    hide(b->at + b->bytes, (size_t)(end - (b->at + b->bytes)));
}

static CUresult block_new(char **at, size_t bytes, int pinned)
{
    if (bytes == 0) return 1;
    if (!pinned && live + bytes > card_bytes()) return CUDA_NO_MEMORY;
    block *b = calloc(1, sizeof *b);
    if (!b) abort();
    b->room = (bytes + 2 * PAGE + 2 * PAGE - 1) / PAGE * PAGE;
    b->base = mmap(NULL, b->room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (b->base == MAP_FAILED) return CUDA_NO_MEMORY;
    mprotect(b->base + PAGE, b->room - 2 * PAGE, PROT_READ | PROT_WRITE);
    /* its end at the page without rights, as far as the alignment lets it */
    b->at = (char *)((uintptr_t)(b->base + b->room - PAGE - bytes) & ~(uintptr_t)255);
    b->bytes = bytes;
    b->pinned = pinned;
    memset(b->at, 0xff, bytes < PAGE * 64 ? bytes : PAGE * 64);
    poison(b);
    b->next = blocks;
    blocks = b;
    live += pinned ? 0 : bytes;
    *at = b->at;
    return CUDA_OK;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t bytes)
{
    char *at = NULL;
    ENTER(1);
    const CUresult code = block_new(&at, bytes, 0);
    *p = (CUdeviceptr)(uintptr_t)at;
    return code;
}

int standin_wants(const work *w, const char *at, size_t bytes)
{
    if (w->kind == GRAPH) return standin_graph_wants(w->graph, at, bytes);
    if (w->kind == COPY)
        return (w->to >= at && w->to < at + bytes) || (w->from >= at && w->from < at + bytes);
    for (int i = 0; w->kind == LAUNCH && i < *w->function->pointers; i++) {
        const char *q = *(char *const *)(const void *)(w->values + w->at[i]);
        if (q >= at && q < at + bytes) return 1;
    }
    return 0;
}

/* Frees memory, unless work that was given still wants it. */
static CUresult block_free(char *at, int pinned)
{
    block *b = block_of(at, 0);
    while (b && (b->at != at || b->gone)) b = b->next;
    if (!b || b->pinned != pinned)
        standin_wrong("%p is freed, but was not given (or twice)", (void *)at);
    for (CUstream s = streams; s; s = s->next)
        for (const work *w = s->first; w; w = w->next)
            if (standin_wants(w, at, b->bytes))
                standin_wrong("memory is freed that queued work wants");
    b->gone = 1;
    live -= pinned ? 0 : b->bytes;
    mprotect(b->base, b->room, PROT_NONE);
    madvise(b->base, b->room, MADV_DONTNEED);
    return CUDA_OK;
}

API CUresult cuMemFree_v2(CUdeviceptr p)
{
    ENTER(1);
    return block_free((char *)(uintptr_t)p, 0);
}

API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr p)
{
    ENTER(1);
    const block *b = block_of((char *)(uintptr_t)p, 0);
    if (!b || b->gone || b->pinned) return 1;
    *base = (CUdeviceptr)(uintptr_t)b->at;
    *bytes = b->bytes;
    return CUDA_OK;
}

API CUresult cuMemAllocHost_v2(void **p, size_t bytes)
{
    char *at = NULL;
    ENTER(1);
    const CUresult code = block_new(&at, bytes, 1);
    *p = at;
    return code;
}

API CUresult cuMemFreeHost(void *p)
{
    ENTER(1);
    return block_free(p, 1);
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream s)
{
    const block *b = block_of(from, bytes);
    ENTER(1);
    card_memory("upload", (void *)(uintptr_t)to, bytes);
    if (!b || !b->pinned)
        standin_wrong("upload: the source is not pinned and would make the host wait");
    return copies(s, (void *)(uintptr_t)to, from, bytes);
}

API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream s)
{
    ENTER(1);
    card_memory("download", (void *)(uintptr_t)from, bytes);
    return copies(s, to, (void *)(uintptr_t)from, bytes);
}

API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s)
{
    ENTER(1);
    card_memory("copy", (void *)(uintptr_t)to, bytes);
    card_memory("copy", (void *)(uintptr_t)from, bytes);
    return copies(s, (void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
}

API CUresult cuStreamCreate(CUstream *s, unsigned flags)
{
    ENTER(1);
    if (flags != STREAM_NON_BLOCKING) standin_wrong("a stream that waits for the default one");
    *s = calloc(1, sizeof **s);
    (*s)->next = streams;
    streams = *s;
    return CUDA_OK;
}

API CUresult cuStreamDestroy_v2(CUstream s)
{
    ENTER(1);
    if (s->first) standin_wrong("a stream is destroyed with work in it");
    return CUDA_OK;
}

API CUresult cuStreamSynchronize(CUstream s)
{
    ENTER(1);
    s = named(s);
    others(s);
    reach(s, s->given);
    return sticky;
}

API CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags)
{
    ENTER(1);
    if (flags) return 1;
    work *w = standin_give(named(s), WAIT);
    w->event = e;
    w->event_stream = e->stream;
    w->event_number = e->number;
    return CUDA_OK;
}

API CUresult cuEventCreate(CUevent *e, unsigned flags)
{
    ENTER(1);
    if (flags != EVENT_NO_TIMING) standin_wrong("an event that takes times");
    *e = calloc(1, sizeof **e);
    return CUDA_OK;
}

API CUresult cuEventRecord(CUevent e, CUstream s)
{
    ENTER(1);
    e->stream = s;
    e->number = standin_give(s, RECORD)->number;
    return CUDA_OK;
}

API CUresult cuEventQuery(CUevent e)
{
    ENTER(1);
    if (!e->stream || e->stream->done >= e->number) return CUDA_OK;
    step(e->stream); /* it gets there by and by */
    return sticky ? sticky : CUDA_NOT_READY;
}

API CUresult cuEventSynchronize(CUevent e)
{
    ENTER(1);
    if (getenv("STANDIN_TRACE")) fputs("standin: waits for an event\n", stderr);
    if (e->stream) {
        others(e->stream);
        reach(e->stream, e->number);
    }
    return sticky;
}

API CUresult cuEventDestroy_v2(CUevent e)
{
    ENTER(1);
    free(e);
    return CUDA_OK;
}

API CUresult cuModuleLoadData(CUmodule *m, const void *image)
{
    ENTER(1);
    *m = calloc(1, sizeof **m);
    if (getenv("STANDIN_DRY")) return CUDA_OK; /* kernels are asked for and do nothing */
    (*m)->library = dlopen(image, RTLD_NOW | RTLD_LOCAL);
    /* no image, or one of other wrappers (nvrtc.c) that a cache kept */
    return (*m)->library && dlsym((*m)->library, "mcd_wrappers") ? CUDA_OK : 200;
}

API CUresult cuModuleUnload(CUmodule m)
{
    ENTER(1);
    if (m->library) dlclose(m->library);
    free(m);
    return CUDA_OK;
}

API CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
    char full[160];
    ENTER(1);
    CUfunction f = calloc(1, sizeof *f);
    snprintf(f->name, sizeof f->name, "%s", name);
    f->kernel.name = f->name;
    if (!m->library) {
        *out = f;
        return CUDA_OK;
    }
    snprintf(full, sizeof full, "mcd_call_%s", name);
    *(void **)&f->kernel.call = dlsym(m->library, full);
    snprintf(full, sizeof full, "mcd_sizes_%s", name);
    f->sizes = dlsym(m->library, full);
    snprintf(full, sizeof full, "mcd_pointers_%s", name);
    f->pointers = dlsym(m->library, full);
    f->kernel.at = dlsym(m->library, "mcd_lane");
    void (*memory)(char **, char **) = NULL;
    *(void **)&memory = dlsym(m->library, "mcd_group_memory");
    if (!f->kernel.call || !f->sizes || !f->pointers || !f->kernel.at || !memory) {
        free(f);
        return 500; /* not found */
    }
    memory(&f->kernel.group_from, &f->kernel.group_end);
    *out = f;
    return CUDA_OK;
}

CUresult standin_kernel(work *w, const CUkernelNode *k)
{
    size_t used = 0;
    const CUfunction f = k->f;
    const unsigned lanes = k->group[0] * k->group[1] * k->group[2];
    if (k->extra || k->kernel || k->shared > 49152 || lanes > 256 || !k->grid[0] || !k->grid[1] ||
        !k->grid[2] || k->grid[1] > 65535 || k->grid[2] > 65535 || k->grid[0] > 0x7fffffffu)
        return 1;
    w->function = f;
    memcpy(w->grid, k->grid, sizeof w->grid);
    w->group = lanes;
    for (int i = 0; f->sizes && f->sizes[i]; i++) {
        used = (used + 15) / 16 * 16;
        if (used + (size_t)f->sizes[i] > VALUES) standin_wrong("%s: too many arguments", f->name);
        memcpy(w->values + used, k->arguments[i], (size_t)f->sizes[i]);
        w->at[i] = (int)used;
        used += (size_t)f->sizes[i];
    }
    return CUDA_OK;
}

API CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, CUstream s, void **arguments,
                            void **extra)
{
    const CUkernelNode k = { f, { gx, gy, gz }, { bx, by, bz }, shared, arguments, extra };
    work w = { 0 };
    ENTER(1);
    const CUresult code = standin_kernel(&w, &k);
    if (code || !f->kernel.call) return code;
    work *given = standin_give(s, LAUNCH);
    w.next = given->next;
    w.kind = LAUNCH;
    w.number = given->number;
    *given = w;
    if (getenv("STANDIN_TRACE"))
        fprintf(stderr, "standin: %s, %u groups of %u\n", f->name, gx * gy * gz, given->group);
    return CUDA_OK;
}

/* What libraries over the driver (cublaslt.c) have done in a stream: it gets a copy of the data. */
API CUresult standin_call(CUstream s, void (*call)(const void *), const void *data, size_t bytes)
{
    ENTER(1);
    if (bytes > VALUES) return 1;
    work *w = standin_give(s, CALL);
    w->call = call;
    memcpy(w->values, data, bytes);
    return CUDA_OK;
}

/* Ends the process unless memory of the card is there: for those libraries. */
API void standin_memory(const char *what, const void *p, size_t bytes)
{
    card_memory(what, p, bytes);
}
