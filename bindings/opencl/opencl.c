/* opencl.c - devices of the OpenCL loader behind mc_device_api: memory, queues, programs, launches.
 *
 * Devices are those of all platforms, cards before processors, so that opencl:0 is the one a user
 * would name. A device has a queue for work, one for large uploads, and one that maps what uploads
 * are copied through; each is in order. Uploads go through pinned chunks of their queue, taken in
 * turn: the source is free when put returns, and the host waits only for a chunk that is still on
 * its way.
 *
 * MASCON_TEST_GUARD=1, for tests on the machine's processor: memory lies between pages without
 * access rights, so that a kernel that reads or writes beyond it faults. */
#define CL_TARGET_OPENCL_VERSION 120
#include "../../runtime/device/mc_device_api.h"
#include "../../runtime/base/mc_def.h"

#include <CL/cl.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STATUS_NOMEM = 4, STATUS_DEVICE = 8, STATUS_UNSUPPORTED = 9 };

#define MOST 16  /* devices */
#define CHUNKS 4 /* of a queue, for uploads */
#define CHUNK ((int64_t)2 << 20)
#define SLAB ((int64_t)8 << 20)
#define ALIGN 256

/* Set once by mc_plugin_open, before any other call. */
static const mc_host_api *host;

typedef struct chunk {
    cl_mem mem;
    char *at;
    cl_event busy; /* its last upload; NULL: free */
    int64_t used;  /* bytes that uploads were given */
} chunk;

typedef struct stream {
    cl_command_queue at;
    chunk ring[CHUNKS];
    int now;
} stream;

typedef struct device {
    cl_device_id id;
    cl_context context;
    cl_command_queue staging; /* maps the chunks */
    int rounded; /* f32 division and square root can be asked to be right */
    int guarded; /* memory has pages without rights around it */
    char name[128];
} device;

static struct found {
    cl_device_id id;
    int processor;
} found[MOST];
static int nfound = -1, nplatforms, pocl; /* pocl: its platform is there */

static const char *words(cl_int code)
{
    switch (code) {
    case CL_DEVICE_NOT_AVAILABLE: return "the device is not available";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return "no memory on the device";
    case CL_OUT_OF_RESOURCES: return "the device is out of resources or was lost";
    case CL_OUT_OF_HOST_MEMORY: return "no memory on the host";
    case CL_INVALID_BUFFER_SIZE: return "the buffer is too large for the device";
    case CL_BUILD_PROGRAM_FAILURE: return "the program does not compile";
    case CL_INVALID_KERNEL_ARGS: return "arguments of the kernel are missing";
    case CL_INVALID_WORK_GROUP_SIZE: return "the group is too large for the kernel";
    default: return "a call failed";
    }
}

static int fails(const char *what, cl_int code)
{
    const int memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY ||
                       code == CL_INVALID_BUFFER_SIZE;
    return host->error(memory ? STATUS_NOMEM : STATUS_DEVICE, "opencl: %s: %s (code %d)", what,
                       words(code), (int)code);
}

/* ---- devices ---- */

/* PoCL keeps what it compiles in a folder, and fails without a word where it cannot write there.
 * Whether that is so, in words; "" otherwise. */
static const char *pocl_trouble(char *text, size_t room)
{
    const char *own = getenv("POCL_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    char folder[1024], file[1100], page[4096] = { 0 };
    if (own)
        snprintf(folder, sizeof folder, "%s", own);
    else if (xdg)
        snprintf(folder, sizeof folder, "%s/pocl/kcache", xdg);
    else
        snprintf(folder, sizeof folder, "%s/.cache/pocl/kcache", home ? home : "/tmp");
    snprintf(file, sizeof file, "%s/mascon-XXXXXX", folder);
    const int f = mkstemp(file);
    int wrong = f < 0 ? errno : 0;
    if (f >= 0) {
        if (write(f, page, sizeof page) != (ssize_t)sizeof page) wrong = errno;
        close(f);
        unlink(file);
    }
    text[0] = 0;
    if (wrong)
        snprintf(text, room,
                 "PoCL cannot write to its folder of programs %s (%s); make room there, or name "
                 "another folder in POCL_CACHE_DIR",
                 folder, strerror(wrong));
    return text;
}

static int is_pocl(cl_platform_id platform)
{
    char name[128] = "";
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
    return strcmp(name, "Portable Computing Language") == 0;
}

static void look(void)
{
    cl_platform_id platforms[8];
    cl_uint np = 0;
    nfound = 0;
    nplatforms = clGetPlatformIDs(8, platforms, &np) == CL_SUCCESS ? (int)np : 0;
    for (int p = 0; p < nplatforms && p < 8; p++) pocl |= is_pocl(platforms[p]);
    for (int pass = 0; pass < 2; pass++) /* cards, then processors */
        for (cl_uint p = 0; p < np && p < 8; p++) {
            cl_device_id ids[MOST];
            cl_uint nd = 0;
            if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MOST, ids, &nd) != CL_SUCCESS)
                continue;
            for (cl_uint d = 0; d < nd && d < MOST && nfound < MOST; d++) {
                cl_device_type type = 0;
                cl_bool there = CL_FALSE;
                if (clGetDeviceInfo(ids[d], CL_DEVICE_TYPE, sizeof type, &type, NULL) !=
                        CL_SUCCESS ||
                    clGetDeviceInfo(ids[d], CL_DEVICE_AVAILABLE, sizeof there, &there, NULL) !=
                        CL_SUCCESS ||
                    !there)
                    continue;
                if (((type & CL_DEVICE_TYPE_CPU) != 0) == pass)
                    found[nfound++] = (struct found){ ids[d], pass };
            }
        }
}

static int cl_count(void)
{
    char why[1400] = "";
    if (nfound < 0) look();
    if (nplatforms == 0)
        return -host->error(STATUS_UNSUPPORTED,
                            "there is no OpenCL driver; install that of the card, such as "
                            "intel-opencl-icd, or ROCm's for AMD (clinfo -l lists drivers)");
    if (nfound == 0 && pocl && *pocl_trouble(why, sizeof why))
        return -host->error(STATUS_DEVICE, "%s", why);
    return nfound;
}

static void cl_close(void *dev)
{
    device *d = dev;
    if (d->staging) clReleaseCommandQueue(d->staging);
    if (d->context) clReleaseContext(d->context);
    host->free(d);
}

static void *cl_open(int index, mc_device_caps *caps)
{
    cl_ulong memory = 0;
    size_t lanes = 0;
    cl_device_fp_config wide = 0, single = 0;
    cl_int code = CL_SUCCESS;
    const struct found *f = &found[index];
    device *d = host->alloc(sizeof *d);
    if (!d) return NULL;
    memset(d, 0, sizeof *d);
    d->id = f->id;
    clGetDeviceInfo(f->id, CL_DEVICE_NAME, sizeof d->name, d->name, NULL);
    clGetDeviceInfo(f->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
    clGetDeviceInfo(f->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof lanes, &lanes, NULL);
    clGetDeviceInfo(f->id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof wide, &wide, NULL);
    clGetDeviceInfo(f->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single, &single, NULL);
    d->rounded = (single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    d->guarded = f->processor && getenv("MASCON_TEST_GUARD") != NULL;
    *caps = (mc_device_caps){ .memory = (int64_t)memory,
                              .slab = d->guarded ? 0 : SLAB,
                              .align = ALIGN,
                              .f64 = wide != 0,
                              .group = lanes < 256 ? (int32_t)lanes : 256,
                              .processor = f->processor };
    memcpy(caps->name, d->name, sizeof caps->name);
    d->context = clCreateContext(NULL, 1, &f->id, NULL, NULL, &code);
    if (code == CL_SUCCESS) d->staging = clCreateCommandQueue(d->context, f->id, 0, &code);
    if (code != CL_SUCCESS) {
        fails(d->name, code);
        cl_close(d);
        return NULL;
    }
    return d;
}

static cl_command_queue queue(const void *s) { return ((const stream *)s)->at; }

/* ---- memory ---- */

#define PAGE ((size_t)4096)

/* Pages around a buffer. */
typedef struct pages {
    char *at;
    size_t bytes;
} pages;

static void CL_CALLBACK pages_free(cl_mem m, void *state)
{
    pages *p = state;
    (void)m;
    munmap(p->at, p->bytes);
    host->free(p);
}

/* A buffer that ends where a page without rights begins, as far as the alignment lets it. */
static cl_mem guarded(const device *d, size_t bytes, cl_int *code)
{
    pages *p = host->alloc(sizeof *p);
    *code = CL_OUT_OF_HOST_MEMORY;
    if (!p) return NULL;
    p->bytes = (bytes + PAGE - 1) / PAGE * PAGE + 2 * PAGE;
    p->at = mmap(NULL, p->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cl_mem m = NULL;
    if (p->at != MAP_FAILED) {
        char *end = p->at + p->bytes - PAGE;
        char *first = (char *)((uintptr_t)(end - bytes) & ~(uintptr_t)15);
        if (!mprotect(p->at + PAGE, p->bytes - 2 * PAGE, PROT_READ | PROT_WRITE))
            m = clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, first,
                               code);
        if (m && clSetMemObjectDestructorCallback(m, pages_free, p) == CL_SUCCESS) return m;
        if (m) clReleaseMemObject(m);
        munmap(p->at, p->bytes);
    }
    host->free(p);
    return NULL;
}

static void *cl_segment_new(void *dev, int64_t bytes)
{
    const device *d = dev;
    cl_int code;
    cl_mem m = d->guarded ? guarded(d, (size_t)bytes, &code)
                          : clCreateBuffer(d->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL,
                                           &code);
    if (code != CL_SUCCESS) {
        host->error(STATUS_NOMEM,
                    "memory: %s gives no %.1f MiB more (%s); release tensors or work in blocks",
                    d->name, (double)bytes / 1048576.0, words(code));
        return NULL;
    }
    return m;
}

static void cl_segment_free(void *dev, void *segment)
{
    (void)dev;
    clReleaseMemObject(segment);
}

/* Pinned room for an upload of at most CHUNK bytes, and its chunk; NULL with the record. */
static char *staged(const device *d, stream *s, int64_t bytes, chunk **from)
{
    chunk *c = &s->ring[s->now];
    cl_int code = CL_SUCCESS;
    if (c->used + bytes > CHUNK) {
        s->now = (s->now + 1) % CHUNKS;
        c = &s->ring[s->now];
        c->used = 0;
        if (c->busy) {
            code = clWaitForEvents(1, &c->busy);
            clReleaseEvent(c->busy);
            c->busy = NULL;
        }
    }
    if (code == CL_SUCCESS && !c->mem) {
        c->mem = clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                (size_t)CHUNK, NULL, &code);
        if (code != CL_SUCCESS) c->mem = NULL;
    }
    if (c->mem && !c->at)
        c->at = clEnqueueMapBuffer(d->staging, c->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                   (size_t)CHUNK, 0, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
        fails("staging memory", code);
        return NULL;
    }
    char *at = c->at + c->used;
    c->used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    *from = c;
    return at;
}

static int cl_put(void *dev, void *to, void *segment, int64_t at, const void *from, int64_t bytes)
{
    stream *s = to;
    for (int64_t done = 0; done < bytes; done += CHUNK) {
        const int64_t n = bytes - done < CHUNK ? bytes - done : CHUNK;
        chunk *c;
        cl_event last;
        char *pinned = staged(dev, s, n, &c);
        if (!pinned) return STATUS_NOMEM;
        memcpy(pinned, (const char *)from + done, (size_t)n);
        cl_int code = clEnqueueWriteBuffer(s->at, segment, CL_FALSE, (size_t)(at + done), (size_t)n,
                                           pinned, 0, NULL, &last);
        if (code != CL_SUCCESS) return fails("to the device", code);
        if (c->busy) clReleaseEvent(c->busy);
        c->busy = last;
        clFlush(s->at);
    }
    return 0;
}

static int cl_get(void *dev, void *s, void *to, const void *segment, int64_t at, int64_t bytes)
{
    (void)dev;
    cl_int code = clEnqueueReadBuffer(queue(s), (cl_mem)(uintptr_t)segment, CL_TRUE, (size_t)at,
                                      (size_t)bytes, to, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : fails("from the device", code);
}

static int cl_copy(void *dev, void *s, void *to, int64_t at, const void *from, int64_t from_at,
                   int64_t bytes)
{
    (void)dev;
    cl_int code = clEnqueueCopyBuffer(queue(s), (cl_mem)(uintptr_t)from, to, (size_t)from_at,
                                      (size_t)at, (size_t)bytes, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : fails("copy", code);
}

/* ---- streams and events ---- */

static void *cl_stream_new(void *dev)
{
    const device *d = dev;
    cl_int code;
    stream *s = host->alloc(sizeof *s);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->at = clCreateCommandQueue(d->context, d->id, 0, &code);
    if (code != CL_SUCCESS) {
        fails("queue", code);
        host->free(s);
        return NULL;
    }
    return s;
}

static void *cl_event_new(void *dev, void *s)
{
    cl_event e = NULL;
    (void)dev;
    cl_int code = clEnqueueMarkerWithWaitList(queue(s), 0, NULL, &e);
    if (code != CL_SUCCESS) {
        fails("event", code);
        return NULL;
    }
    clFlush(queue(s)); /* other queues and the host may wait for it */
    return e;
}

static int cl_wait(void *dev, void *s, void *event)
{
    cl_event e = event;
    (void)dev;
    cl_int code = clEnqueueBarrierWithWaitList(queue(s), 1, &e, NULL);
    return code == CL_SUCCESS ? 0 : fails("event", code);
}

static int cl_done(void *dev, void *event)
{
    cl_int state = CL_QUEUED;
    (void)dev;
    cl_int code =
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    if (code != CL_SUCCESS || state < 0) return -fails("event", code != CL_SUCCESS ? code : state);
    return state == CL_COMPLETE;
}

static int cl_reached(void *dev, void *event)
{
    cl_event e = event;
    (void)dev;
    const cl_int code = clWaitForEvents(1, &e);
    return code == CL_SUCCESS ? 0 : fails("queue", code);
}

static void cl_event_free(void *dev, void *event)
{
    (void)dev;
    clReleaseEvent(event);
}

static int cl_sync(void *dev, void *s)
{
    (void)dev;
    cl_int code = clFinish(queue(s));
    return code == CL_SUCCESS ? 0 : fails("queue", code);
}

/* ---- exchange ---- */

/* Another library's buffer has to be of the context of ours. A part of a buffer lies in that. */
static int cl_allocation(void *dev, void *memory, void **segment, int64_t *at, int64_t *bytes)
{
    const device *d = dev;
    cl_context context = NULL;
    cl_mem whole = NULL;
    size_t from = 0, all = 0;
    cl_int code = clGetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof context, &context, NULL);
    if (code == CL_SUCCESS && context != d->context)
        return host->error(STATUS_DEVICE,
                           "opencl: the buffer belongs to another context than that of %s here",
                           d->name);
    if (code == CL_SUCCESS)
        code = clGetMemObjectInfo(memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole, &whole, NULL);
    if (code == CL_SUCCESS && whole)
        code = clGetMemObjectInfo(memory, CL_MEM_OFFSET, sizeof from, &from, NULL);
    whole = whole ? whole : memory;
    if (code == CL_SUCCESS) code = clGetMemObjectInfo(whole, CL_MEM_SIZE, sizeof all, &all, NULL);
    *segment = whole;
    *at = (int64_t)from;
    *bytes = (int64_t)all;
    return code == CL_SUCCESS ? 0 : fails("the buffer", code);
}

static int cl_order(void *dev, void *s, int64_t other)
{
    if (other > 0 && other < 4096) /* CUDA's numbers of streams; no queue lies there */
        return host->error(STATUS_UNSUPPORTED,
                           "opencl: stream %d is a number; give the cl_command_queue that waits, "
                           "as a pointer, or none",
                           (int)other);
    cl_event e = cl_event_new(dev, s);
    if (!e) return STATUS_DEVICE;
    cl_command_queue to = (cl_command_queue)(uintptr_t)other;
    cl_int code = clEnqueueBarrierWithWaitList(to, 1, &e, NULL);
    clReleaseEvent(e);
    return code == CL_SUCCESS ? 0 : fails("the queue that is to wait", code);
}

static void *cl_native(void *s) { return queue(s); }

/* ---- programs ---- */

/* A program and the kernels that were asked for. */
typedef struct program {
    cl_program program;
    int n, room;
    cl_kernel *kernel;
} program;

static void program_free(program *g)
{
    for (int i = 0; i < g->n; i++) clReleaseKernel(g->kernel[i]);
    if (g->program) clReleaseProgram(g->program);
    host->free(g->kernel);
    host->free(g);
}

static void *cl_build(void *dev, const char *source, const char *options, char *log, int64_t room)
{
    const device *d = dev;
    char all[512];
    cl_int code;
    program *g = host->alloc(sizeof *g);
    if (!g) return NULL;
    memset(g, 0, sizeof *g);
    log[0] = 0;
    snprintf(all, sizeof all, "-cl-std=CL1.2 -w%s %s",
             d->rounded ? " -cl-fp32-correctly-rounded-divide-sqrt" : "", options);
    g->program = clCreateProgramWithSource(d->context, 1, &source, NULL, &code);
    if (code == CL_SUCCESS) {
        code = clBuildProgram(g->program, 1, &d->id, all, NULL, NULL);
        if (code != CL_SUCCESS) {
            size_t bytes = 0;
            clGetProgramBuildInfo(g->program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
            char *text = host->alloc(bytes + 1);
            if (text && clGetProgramBuildInfo(g->program, d->id, CL_PROGRAM_BUILD_LOG, bytes, text,
                                              NULL) == CL_SUCCESS) {
                text[bytes] = 0;
                snprintf(log, (size_t)room, "%s", text);
            }
            host->free(text);
        }
    }
    if (code != CL_SUCCESS) {
        char why[1400] = "";
        cl_platform_id platform = NULL;
        clGetDeviceInfo(d->id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
        if (!strstr(log, "error:") && is_pocl(platform)) pocl_trouble(why, sizeof why);
        if (*why) {
            log[0] = 0;
            host->error(STATUS_DEVICE, "opencl: %s", why);
        } else {
            fails("program", code);
        }
        program_free(g);
        return NULL;
    }
    return g;
}

static void *cl_kernel_of(void *dev, void *p, const char *name)
{
    const device *d = dev;
    program *g = p;
    cl_int code;
    if (g->n == g->room) {
        cl_kernel *more = host->alloc(sizeof *more * (size_t)(2 * g->room + 4));
        if (!more) return NULL;
        if (g->n) memcpy(more, g->kernel, sizeof *more * (size_t)g->n);
        host->free(g->kernel);
        g->kernel = more;
        g->room = 2 * g->room + 4;
    }
    cl_kernel k = clCreateKernel(g->program, name, &code);
    if (code != CL_SUCCESS) {
        fails(name, code);
        return NULL;
    }
    cl_ulong wanted = 0, there = 0;
    clGetKernelWorkGroupInfo(k, d->id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof wanted, &wanted, NULL);
    clGetDeviceInfo(d->id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof there, &there, NULL);
    if (wanted > there) {
        clReleaseKernel(k);
        host->error(STATUS_UNSUPPORTED,
                    "opencl: %s needs %d bytes of memory for a group, %s has %d; move the "
                    "operands with :to \"cpu\" first",
                    name, (int)wanted, d->name, (int)there);
        return NULL;
    }
    g->kernel[g->n++] = k;
    return k;
}

static int cl_launch(void *dev, void *s, const mc_launch *l, void *const *segment)
{
    size_t all[3], group[3];
    cl_int code = CL_SUCCESS;
    (void)dev;
    for (int i = 0; i < l->nbuf && code == CL_SUCCESS; i++)
        code = clSetKernelArg(l->kernel, (cl_uint)i, sizeof(cl_mem), &segment[i]);
    if (code == CL_SUCCESS)
        code = clSetKernelArg(l->kernel, (cl_uint)l->nbuf, (size_t)l->nraw, l->raw);
    for (int i = 0; i < 3; i++) {
        group[i] = l->group[i] ? l->group[i] : 1;
        all[i] = group[i] * (l->grid[i] ? l->grid[i] : 1);
    }
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(queue(s), l->kernel, 3, NULL, all, group, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : fails("launch", code);
}

static void cl_about(void *dev, char *text, int64_t room)
{
    const device *d = dev;
    char version[128] = "?", driver[128] = "?";
    clGetDeviceInfo(d->id, CL_DEVICE_VERSION, sizeof version, version, NULL);
    clGetDeviceInfo(d->id, CL_DRIVER_VERSION, sizeof driver, driver, NULL);
    snprintf(text, (size_t)room, "%s (OpenCL 1.2 or newer), driver %s", version, driver);
}

MC_API int mc_plugin_open(const mc_host_api *h, void *api);

int mc_plugin_open(const mc_host_api *h, void *api)
{
    static const mc_device_api mine = {
        .abi = MC_BACKEND_ABI,
        .kind = "opencl",
        .count = cl_count,
        .open = cl_open,
        .close = cl_close,
        .segment_new = cl_segment_new,
        .segment_free = cl_segment_free,
        .put = cl_put,
        .get = cl_get,
        .copy = cl_copy,
        .stream_new = cl_stream_new,
        .event = cl_event_new,
        .wait = cl_wait,
        .done = cl_done,
        .reached = cl_reached,
        .event_free = cl_event_free,
        .sync = cl_sync,
        .build = cl_build,
        .about = cl_about,
        .kernel = cl_kernel_of,
        .launch = cl_launch,
        .allocation = cl_allocation,
        .order = cl_order,
        .native = cl_native,
    };
    if (h->abi != MC_BACKEND_ABI || ((mc_device_api *)api)->abi != MC_BACKEND_ABI)
        return h->error(
            STATUS_UNSUPPORTED,
            "opencl: the plug-in belongs to another version of mascon; build both together");
    host = h;
    memcpy(api, &mine, sizeof mine);
    return 0;
}
