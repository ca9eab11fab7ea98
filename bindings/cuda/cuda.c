/* cuda.c - NVIDIA's cards behind mc_device_api: memory, a stream for work and one for uploads,
 * programs, launches, products.
 *
 * The device's own (primary) context is used, so that other libraries of the process share it. A
 * segment is one allocation; uploads go through pinned chunks of their stream, taken in turn: the
 * source is free when put returns, and the host waits only for a chunk that is still on its way.
 * After a fault the context is lost, as the driver defines it: every later call says so, what is on
 * the host stays.
 */
#include "../../runtime/device/mc_device_api.h"
#include "../../runtime/base/mc_def.h"
#include "parts.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { STATUS_NOMEM = 4, STATUS_DEVICE = 8, STATUS_UNSUPPORTED = 9 };

#define CHUNKS 4 /* of a stream, for uploads */
#define CHUNK ((int64_t)4 << 20)
#define SLAB ((int64_t)8 << 20)
#define ALIGN 256
#define LEAST_DRIVER 12000 /* 12.0 */

/* Set once by mc_plugin_open, before any other call. */
static const mc_host_api *host;

/* The driver's functions and NVRTC's, opened on first use; state: 0 not yet, 1 there, -1 not. */
static mc_cuda cu;
static mc_cuda_blas blas;
static mc_cuda_fft fft;
static int have_driver, have_nvrtc, have_blas, have_fft;

typedef struct chunk {
    char *at;
    CUevent done; /* after its last upload */
    int64_t used; /* bytes that uploads were given */
} chunk;

typedef struct stream {
    CUstream at;
    chunk ring[CHUNKS];
    int now;
} stream;

typedef struct device {
    CUdevice id;
    CUcontext context;
    int capability; /* 90 for 9.0 */
    int asked;      /* for products */
    mc_cuda_products *products; /* NULL: its own kernels multiply */
    mc_cuda_transforms *transforms; /* NULL: not asked for, or its own kernels transform */
    char name[128];
} device;

static int card_lost(CUresult code)
{
    return code >= CUDA_ILLEGAL_ADDRESS && code <= CUDA_LAUNCH_FAILED;
}

static const char *words(CUresult code)
{
    const char *text = NULL;
    if (card_lost(code))
        return "a kernel faulted and the card is lost to this process; save what is on the host "
               "and start again (MASCON_SYNC=1 names the call)";
    return cu.cuGetErrorString(code, &text) == CUDA_OK && text ? text : "a call failed";
}

static int fails(const char *what, CUresult code)
{
    return host->error(code == CUDA_NO_MEMORY ? STATUS_NOMEM : STATUS_DEVICE,
                       "cuda: %s: %s (code %d)", what, words(code), code);
}

/* A library's status does not say that the card is lost; the driver does. */
static int library_fails(const char *what, int status, CUstream s)
{
    const CUresult code = cu.cuStreamSynchronize(s);
    return card_lost(code)
               ? fails(what, code)
               : host->error(STATUS_DEVICE, "cuda: %s refuses (status %d)", what, status);
}

/* ---- devices ---- */

static int driver(void)
{
    int version = 0;
    if (!have_driver) {
        have_driver = mc_cuda_driver(&cu) ? -1 : 1;
        if (have_driver > 0) {
            const CUresult code = cu.cuInit(0);
            if (code != CUDA_OK) {
                snprintf(cu.why, sizeof cu.why, "the driver does not start: %s (code %d)",
                         words(code), code);
                have_driver = -1;
            } else if (cu.cuDriverGetVersion(&version) == CUDA_OK && version < LEAST_DRIVER) {
                snprintf(cu.why, sizeof cu.why,
                         "the driver is for CUDA %d.%d; install one for CUDA %d.%d or newer",
                         version / 1000, version / 10 % 100, LEAST_DRIVER / 1000,
                         LEAST_DRIVER / 10 % 100);
                have_driver = -1;
            }
        }
    }
    return have_driver > 0 ? 0 : -host->error(STATUS_UNSUPPORTED, "%s", cu.why);
}

static int cuda_count(void)
{
    int n = 0, rc = driver();
    if (rc) return rc;
    const CUresult code = cu.cuDeviceGetCount(&n);
    return code == CUDA_OK ? n : -fails("devices", code);
}

static void cuda_close(void *dev)
{
    device *d = dev;
    if (d->context) cu.cuDevicePrimaryCtxRelease(d->id);
    host->free(d);
}

static void *cuda_open(int index, mc_device_caps *caps)
{
    size_t memory = 0;
    int major = 0, minor = 0;
    device *d = mc_cuda_alloc(sizeof *d);
    if (!d) return NULL;
    CUresult code = cu.cuDeviceGet(&d->id, index);
    if (code == CUDA_OK) code = cu.cuDeviceGetName(d->name, sizeof d->name, d->id);
    if (code == CUDA_OK) code = cu.cuDeviceTotalMem(&memory, d->id);
    if (code == CUDA_OK) code = cu.cuDeviceGetAttribute(&major, ATTRIBUTE_MAJOR, d->id);
    if (code == CUDA_OK) code = cu.cuDeviceGetAttribute(&minor, ATTRIBUTE_MINOR, d->id);
    if (code == CUDA_OK) code = cu.cuDevicePrimaryCtxRetain(&d->context, d->id);
    if (code != CUDA_OK) {
        fails(d->name[0] ? d->name : "device", code);
        cuda_close(d);
        return NULL;
    }
    d->capability = 10 * major + minor;
    *caps = (mc_device_caps){ .memory = (int64_t)memory,
                              .slab = SLAB,
                              .align = ALIGN,
                              .f64 = 1,
                              .group = 256 };
    memcpy(caps->name, d->name, sizeof caps->name);
    return d;
}

/* Calls of a thread go to the context that is current in it. */
static int enter(const device *d)
{
    const CUresult code = cu.cuCtxSetCurrent(d->context);
    return code == CUDA_OK ? 0 : fails(d->name, code);
}

static CUstream queue(const void *s) { return ((const stream *)s)->at; }

/* ---- memory ---- */

static CUdeviceptr address(const void *segment, int64_t at)
{
    return (CUdeviceptr)(uintptr_t)segment + (CUdeviceptr)at;
}

static void *cuda_segment_new(void *dev, int64_t bytes)
{
    const device *d = dev;
    CUdeviceptr p = 0;
    if (enter(d)) return NULL;
    const CUresult code = cu.cuMemAlloc(&p, (size_t)bytes);
    if (code == CUDA_NO_MEMORY) {
        host->error(STATUS_NOMEM,
                    "memory: %s has no %.1f MiB more; release tensors or work in blocks", d->name,
                    (double)bytes / 1048576.0);
        return NULL;
    }
    if (code != CUDA_OK) {
        fails("memory", code);
        return NULL;
    }
    return (void *)(uintptr_t)p;
}

static void cuda_segment_free(void *dev, void *segment)
{
    if (!enter(dev)) (void)cu.cuMemFree(address(segment, 0));
}

/* Pinned room for an upload of at most CHUNK bytes, and its chunk; NULL with the record. */
static char *staged(stream *s, int64_t bytes, chunk **from)
{
    chunk *c = &s->ring[s->now];
    CUresult code = CUDA_OK;
    if (c->used + bytes > CHUNK) {
        s->now = (s->now + 1) % CHUNKS;
        c = &s->ring[s->now];
        if (c->used) code = cu.cuEventSynchronize(c->done);
        c->used = 0;
    }
    if (code == CUDA_OK && !c->at) {
        void *p = NULL;
        code = cu.cuMemAllocHost(&p, (size_t)CHUNK);
        if (code == CUDA_OK) c->at = p;
    }
    if (code == CUDA_OK && !c->done) code = cu.cuEventCreate(&c->done, EVENT_NO_TIMING);
    if (code != CUDA_OK) {
        fails("staging memory", code);
        return NULL;
    }
    char *at = c->at + c->used;
    c->used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    *from = c;
    return at;
}

static int cuda_put(void *dev, void *to, void *segment, int64_t at, const void *from, int64_t bytes)
{
    stream *s = to;
    if (enter(dev)) return STATUS_DEVICE;
    for (int64_t done = 0; done < bytes; done += CHUNK) {
        const int64_t n = bytes - done < CHUNK ? bytes - done : CHUNK;
        chunk *c;
        char *pinned = staged(s, n, &c);
        if (!pinned) return STATUS_NOMEM;
        memcpy(pinned, (const char *)from + done, (size_t)n);
        CUresult code = cu.cuMemcpyHtoDAsync(address(segment, at + done), pinned, (size_t)n, s->at);
        if (code == CUDA_OK) code = cu.cuEventRecord(c->done, s->at);
        if (code != CUDA_OK) return fails("to the device", code);
    }
    return 0;
}

static int cuda_get(void *dev, void *s, void *to, const void *segment, int64_t at,
                    int64_t bytes)
{
    if (enter(dev)) return STATUS_DEVICE;
    CUresult code = cu.cuMemcpyDtoHAsync(to, address(segment, at), (size_t)bytes, queue(s));
    if (code == CUDA_OK) code = cu.cuStreamSynchronize(queue(s));
    return code == CUDA_OK ? 0 : fails("from the device", code);
}

static int cuda_copy(void *dev, void *s, void *to, int64_t at, const void *from,
                     int64_t from_at, int64_t bytes)
{
    if (enter(dev)) return STATUS_DEVICE;
    const CUresult code =
        cu.cuMemcpyDtoDAsync(address(to, at), address(from, from_at), (size_t)bytes, queue(s));
    return code == CUDA_OK ? 0 : fails("copy", code);
}

/* ---- streams and events ---- */

static void *cuda_stream_new(void *dev)
{
    if (enter(dev)) return NULL;
    stream *s = mc_cuda_alloc(sizeof *s);
    if (!s) return NULL;
    const CUresult code = cu.cuStreamCreate(&s->at, STREAM_NON_BLOCKING);
    if (code != CUDA_OK) {
        fails("stream", code);
        host->free(s);
        return NULL;
    }
    return s;
}

static void *cuda_event(void *dev, void *s)
{
    CUevent e = NULL;
    if (enter(dev)) return NULL;
    CUresult code = cu.cuEventCreate(&e, EVENT_NO_TIMING);
    if (code == CUDA_OK) {
        code = cu.cuEventRecord(e, queue(s));
        if (code != CUDA_OK) cu.cuEventDestroy(e);
    }
    if (code != CUDA_OK) {
        fails("event", code);
        return NULL;
    }
    return e;
}

static int cuda_wait(void *dev, void *s, void *event)
{
    if (enter(dev)) return STATUS_DEVICE;
    const CUresult code = cu.cuStreamWaitEvent(queue(s), event, 0);
    return code == CUDA_OK ? 0 : fails("event", code);
}

static int cuda_done(void *dev, void *event)
{
    if (enter(dev)) return -STATUS_DEVICE;
    const CUresult code = cu.cuEventQuery(event);
    return code == CUDA_OK ? 1 : code == CUDA_NOT_READY ? 0 : -fails("event", code);
}

static int cuda_reached(void *dev, void *event)
{
    if (enter(dev)) return STATUS_DEVICE;
    const CUresult code = cu.cuEventSynchronize(event);
    return code == CUDA_OK ? 0 : fails("stream", code);
}

static void cuda_event_free(void *dev, void *event)
{
    if (!enter(dev)) (void)cu.cuEventDestroy(event);
}

static int cuda_sync(void *dev, void *s)
{
    if (enter(dev)) return STATUS_DEVICE;
    const CUresult code = cu.cuStreamSynchronize(queue(s));
    return code == CUDA_OK ? 0 : fails("stream", code);
}

/* ---- exchange ---- */

static int cuda_allocation(void *dev, void *memory, void **segment, int64_t *at, int64_t *bytes)
{
    const device *d = dev;
    CUdeviceptr base = 0;
    size_t all = 0;
    if (enter(d)) return STATUS_DEVICE;
    if (cu.cuMemGetAddressRange(&base, &all, address(memory, 0)) != CUDA_OK)
        return host->error(STATUS_DEVICE, "cuda: %p is no memory of %s", memory, d->name);
    *segment = (void *)(uintptr_t)base;
    *at = (int64_t)(address(memory, 0) - base);
    *bytes = (int64_t)all;
    return 0;
}

static int cuda_order(void *dev, void *s, int64_t other)
{
    if (other > 2 && other < 4096) /* 1 and 2: the default streams */
        return host->error(STATUS_UNSUPPORTED,
                           "cuda: stream %d is no handle; give 1, 2 or the CUstream that waits, as "
                           "a pointer, or none",
                           (int)other);
    CUevent e = cuda_event(dev, s);
    if (!e) return STATUS_DEVICE;
    const CUresult code = cu.cuStreamWaitEvent((CUstream)(uintptr_t)other, e, 0);
    cu.cuEventDestroy(e);
    return code == CUDA_OK ? 0 : fails("the stream that is to wait", code);
}

static void *cuda_native(void *s) { return queue(s); }

/* ---- programs ---- */

/* What NVRTC makes for the card: its own code (sm_90), or where it does not know the card the
 * driver's language for the newest one before it (compute_90). Negative: there is none. */
static int target(const device *d, char *option, size_t room)
{
    int n = 0, archs[128], best = 0, exact = 0;
    if (cu.nvrtcGetNumSupportedArchs(&n) || n > 128 || cu.nvrtcGetSupportedArchs(archs)) return -1;
    for (int i = 0; i < n; i++) {
        if (archs[i] > d->capability) continue;
        best = archs[i] > best ? archs[i] : best;
        exact |= archs[i] == d->capability;
    }
    snprintf(option, room, "--gpu-architecture=%s_%d", exact ? "sm" : "compute", best);
    return best ? exact : -1;
}

/* Code of a program for the card; NULL with the record. Freed with host->free. */
static char *compile(const device *d, const char *source, int64_t *length, char *log, int64_t room)
{
    char arch[64];
    char *code = NULL;
    nvrtcProgram p = NULL;
    size_t bytes = 0;
    const int own = target(d, arch, sizeof arch);
    const char *options[] = {
        arch, "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false", "-w"
    };
    if (own < 0) {
        host->error(STATUS_UNSUPPORTED,
                    "cuda: this NVRTC makes no code for %s (capability %d.%d); install the toolkit "
                    "that its driver names",
                    d->name, d->capability / 10, d->capability % 10);
        return NULL;
    }
    int rc = cu.nvrtcCreateProgram(&p, source, "mascon.cu", 0, NULL, NULL);
    if (!rc) {
        rc = cu.nvrtcCompileProgram(p, (int)(sizeof options / sizeof *options), options);
        if (rc && !cu.nvrtcGetProgramLogSize(p, &bytes)) {
            char *text = host->alloc(bytes + 1);
            if (text && !cu.nvrtcGetProgramLog(p, text)) {
                text[bytes] = 0;
                snprintf(log, (size_t)room, "%s", text);
            }
            host->free(text);
        }
    }
    if (!rc) rc = own ? cu.nvrtcGetCUBINSize(p, &bytes) : cu.nvrtcGetPTXSize(p, &bytes);
    if (!rc && !(code = host->alloc(bytes + 1))) {
        cu.nvrtcDestroyProgram(&p);
        return NULL;
    }
    if (code) code[bytes] = 0;
    if (!rc) rc = own ? cu.nvrtcGetCUBIN(p, code) : cu.nvrtcGetPTX(p, code);
    if (rc) {
        host->error(STATUS_DEVICE, "cuda: NVRTC: %s", cu.nvrtcGetErrorString(rc));
        host->free(code);
        code = NULL;
    }
    if (p) cu.nvrtcDestroyProgram(&p);
    *length = (int64_t)bytes;
    return code;
}

static int nvrtc(void)
{
    int major, minor;
    if (have_nvrtc) return have_nvrtc > 0;
    have_nvrtc = mc_cuda_nvrtc(&cu) ? -1 : 1;
    if (have_nvrtc > 0 && cu.nvrtcVersion(&major, &minor)) {
        snprintf(cu.why, sizeof cu.why, "NVRTC is not there: it is found, but does not start");
        have_nvrtc = -1;
    }
    return have_nvrtc > 0;
}

static void cuda_target(void *dev, char *card, char *compiler, int64_t room)
{
    const device *d = dev;
    int major = 0, minor = 0, version = 0;
    snprintf(card, (size_t)room, "cuda sm_%d, no contraction", d->capability);
    compiler[0] = 0;
    if (nvrtc() && cu.nvrtcVersion(&major, &minor) == 0 &&
        cu.cuDriverGetVersion(&version) == CUDA_OK)
        snprintf(compiler, (size_t)room, "NVRTC %d.%d for driver %d.%d, sm_%d", major, minor,
                 version / 1000, version / 10 % 100, d->capability);
}

static void *cuda_compile(void *dev, const char *source, int64_t *bytes, char *log, int64_t room)
{
    log[0] = 0;
    if (!nvrtc()) {
        host->error(STATUS_UNSUPPORTED, "cuda: %s", cu.why);
        return NULL;
    }
    return enter(dev) ? NULL : compile(dev, source, bytes, log, room);
}

static void *cuda_load(void *dev, const void *code, int64_t bytes)
{
    CUmodule m = NULL;
    (void)bytes;
    if (enter(dev)) return NULL;
    const CUresult rc = cu.cuModuleLoadData(&m, code);
    if (rc == CUDA_OK) return m;
    fails("program", rc);
    return NULL;
}

static void *cuda_kernel(void *dev, void *program, const char *name)
{
    CUfunction f = NULL;
    if (enter(dev)) return NULL;
    const CUresult code = cu.cuModuleGetFunction(&f, program, name);
    if (code == CUDA_NOT_FOUND)
        host->error(STATUS_UNSUPPORTED,
                    "cuda: the program has no kernel %s; declare it extern \"C\" __global__ "
                    "void %s",
                    name, name);
    else if (code != CUDA_OK)
        fails(name, code);
    return code == CUDA_OK ? f : NULL;
}

/* ---- libraries ---- */

#define WORKSPACE ((size_t)32 << 20)

static mc_cuda_products *products(device *d)
{
    if (d->asked) return d->products;
    d->asked = 1;
    if (!have_blas) have_blas = mc_cuda_blas_open(&blas) ? -1 : 1;
    CUdeviceptr workspace = 0;
    if (have_blas < 0 || enter(d)) return NULL;
    if (cu.cuMemAlloc(&workspace, WORKSPACE) != CUDA_OK) workspace = 0;
    d->products = mc_cuda_products_new(&blas, workspace, workspace ? WORKSPACE : 0);
    if (!d->products) {
        if (workspace) cu.cuMemFree(workspace);
        snprintf(blas.why, sizeof blas.why, "cuBLASLt does not start");
    }
    return d->products;
}

static int cuda_gemm(void *dev, const mc_product_job *g)
{
    mc_cuda_products *p = products(dev);
    return p && !enter(dev) && mc_cuda_product_fits(p, g);
}

static mc_cuda_transforms *transforms(device *d)
{
    if (!have_fft) have_fft = mc_cuda_fft_open(&fft) ? -1 : 1;
    if (have_fft > 0 && !d->transforms) d->transforms = mc_cuda_transforms_new(&fft);
    return d->transforms;
}

static int64_t cuda_fft(void *dev, const mc_transform_job *t)
{
    mc_cuda_transforms *all = transforms(dev);
    return all && !enter(dev) ? mc_cuda_transform_bytes(all, t) : -1;
}

static int start_transform(device *d, CUstream s, const mc_launch *l, void *const *segment)
{
    mc_transform_job t;
    CUdeviceptr at[3];
    memcpy(&t, l->raw, sizeof t);
    for (int i = 0; i < 3; i++) at[i] = address(segment[i], t.at[i]);
    const int rc = mc_cuda_transform(&cu, d->transforms, &t, at, s);
    return rc == 0 ? 0 : library_fails("fft: cuFFT", rc, s);
}

static int start_product(device *d, CUstream s, const mc_launch *l, void *const *segment)
{
    mc_product_job g;
    CUdeviceptr at[3];
    memcpy(&g, l->raw, sizeof g);
    for (int i = 0; i < 3; i++) at[i] = address(segment[i], g.at[i]);
    const int rc = mc_cuda_product(d->products, &g, at, s);
    return rc == 0 ? 0 : library_fails("matmul: cuBLASLt", rc, s);
}

static void cuda_about(void *dev, char *text, int64_t room)
{
    device *d = dev;
    int version = 0, major = 0, minor = 0, n;
    (void)cu.cuDriverGetVersion(&version);
    n = snprintf(text, (size_t)room, "capability %d.%d, driver for CUDA %d.%d (%d.%d or newer), ",
                 d->capability / 10, d->capability % 10, version / 1000, version / 10 % 100,
                 LEAST_DRIVER / 1000, LEAST_DRIVER / 10 % 100);
    if (nvrtc() && cu.nvrtcVersion(&major, &minor) == 0)
        n += snprintf(text + n, (size_t)(room - n), "NVRTC %d.%d, ", major, minor);
    else
        n += snprintf(text + n, (size_t)(room - n),
                      "no NVRTC (programs of the cache and those that come with mascon), ");
    if (products(d))
        n += snprintf(text + n, (size_t)(room - n), "matmul by cuBLASLt %d.%d, ",
                      blas.version / 10000, blas.version / 100 % 100);
    else
        n += snprintf(text + n, (size_t)(room - n), "matmul by its own kernel (%s), ", blas.why);
    if (transforms(d))
        snprintf(text + n, (size_t)(room - n), "fft by cuFFT %d.%d", fft.version / 1000,
                 fft.version / 100 % 10);
    else
        snprintf(text + n, (size_t)(room - n), "fft by its own kernels (%s)", fft.why);
}

/* ---- launches ---- */

/* A launch as the driver takes it; arguments point into l, segment and here. */
typedef struct started {
    device *d;
    const mc_launch *l;
    void *const *segment;
    CUdeviceptr buffer[MC_LAUNCH_BUFFERS];
    void *arguments[2 * MC_LAUNCH_BUFFERS + 1];
    mc_cuda_node node;
} started;

static int start_library(void *state, CUstream s)
{
    const started *t = state;
    return t->l->library == MC_BY_FFT ? start_transform(t->d, s, t->l, t->segment)
                                      : start_product(t->d, s, t->l, t->segment);
}

static void describe(started *t, device *d, const mc_launch *l, void *const *segment)
{
    CUkernelNode *k = &t->node.kernel;
    t->d = d;
    t->l = l;
    t->segment = segment;
    t->node.launch = l->kernel ? NULL : start_library;
    t->node.state = t;
    for (int i = 0; i < l->nbuf; i++) {
        int64_t at = 0;
        if (l->apart) memcpy(&at, l->raw + 8 * i, sizeof at);
        t->buffer[i] = address(segment[i], at);
        t->arguments[i] = &t->buffer[i];
    }
    for (int i = 0; i < l->nvalue; i++)
        t->arguments[l->nbuf + i] = (void *)(uintptr_t)(l->raw + l->value[i]);
    if (!l->apart) t->arguments[l->nbuf] = (void *)(uintptr_t)l->raw;
    *k = (CUkernelNode){ .f = l->kernel, .arguments = t->arguments };
    for (int i = 0; i < 3; i++) {
        k->group[i] = l->group[i] ? l->group[i] : 1;
        k->grid[i] = l->grid[i] ? l->grid[i] : 1;
    }
}

static int cuda_launch(void *dev, void *s, const mc_launch *l, void *const *segment)
{
    started t;
    if (enter(dev)) return STATUS_DEVICE;
    describe(&t, dev, l, segment);
    if (t.node.launch) return t.node.launch(t.node.state, queue(s));
    const CUkernelNode *k = &t.node.kernel;
    const CUresult code =
        cu.cuLaunchKernel(k->f, k->grid[0], k->grid[1], k->grid[2], k->group[0], k->group[1],
                          k->group[2], k->shared, queue(s), k->arguments, NULL);
    return code == CUDA_OK ? 0 : fails("launch", code);
}

/* ---- graphs ---- */

typedef struct launches {
    device *d;
    const mc_launch *const *l;
    void *const (*segment)[MC_LAUNCH_BUFFERS];
    started now;
} launches;

static mc_cuda_node *launch_at(void *state, int k)
{
    launches *list = state;
    describe(&list->now, list->d, list->l[k], list->segment[k]);
    return &list->now.node;
}

static void *cuda_graph_new(void *dev, int n, const mc_launch *const *l,
                            void *const (*segment)[MC_LAUNCH_BUFFERS])
{
    launches list = { .d = dev, .l = l, .segment = segment };
    CUresult code;
    if (enter(dev)) return NULL;
    mc_cuda_graph *g = mc_cuda_graph_new(&cu, n, launch_at, &list, &code);
    if (!g) fails("graph", code);
    return g;
}

static int cuda_graph_set(void *dev, void *graph, int k, const mc_launch *l, void *const *segment)
{
    started t;
    if (enter(dev)) return STATUS_DEVICE;
    describe(&t, dev, l, segment);
    const CUresult code = mc_cuda_graph_set(&cu, graph, k, &t.node);
    return code == CUDA_OK ? 0 : fails("graph", code);
}

static int cuda_graph_run(void *dev, void *s, void *graph)
{
    if (enter(dev)) return STATUS_DEVICE;
    const CUresult code = mc_cuda_graph_run(&cu, graph, queue(s));
    return code == CUDA_OK ? 0 : fails("graph", code);
}

static void cuda_graph_free(void *dev, void *graph)
{
    if (!enter(dev)) mc_cuda_graph_free(&cu, graph);
}

MC_API int mc_plugin_open(const mc_host_api *h, void *api);

int mc_plugin_open(const mc_host_api *h, void *api)
{
    static const mc_device_api mine = {
        .abi = MC_BACKEND_ABI,
        .kind = "cuda",
        .cuda_text = 1,
        .count = cuda_count,
        .open = cuda_open,
        .close = cuda_close,
        .segment_new = cuda_segment_new,
        .segment_free = cuda_segment_free,
        .put = cuda_put,
        .get = cuda_get,
        .copy = cuda_copy,
        .stream_new = cuda_stream_new,
        .event = cuda_event,
        .wait = cuda_wait,
        .done = cuda_done,
        .reached = cuda_reached,
        .event_free = cuda_event_free,
        .sync = cuda_sync,
        .target = cuda_target,
        .compile = cuda_compile,
        .load = cuda_load,
        .about = cuda_about,
        .gemm = cuda_gemm,
        .fft = cuda_fft,
        .kernel = cuda_kernel,
        .launch = cuda_launch,
        .graph_new = cuda_graph_new,
        .graph_set = cuda_graph_set,
        .graph_run = cuda_graph_run,
        .graph_free = cuda_graph_free,
        .addressed = 1,
        .allocation = cuda_allocation,
        .order = cuda_order,
        .native = cuda_native,
    };
    if (h->abi != MC_BACKEND_ABI || ((mc_device_api *)api)->abi != MC_BACKEND_ABI)
        return h->error(
            STATUS_UNSUPPORTED,
            "cuda: the plug-in belongs to another version of mascon; build both together");
    host = h;
    mc_cuda_host(h);
    memcpy(api, &mine, sizeof mine);
    return 0;
}
