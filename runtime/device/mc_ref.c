/* mc_ref.c - the device of the tests: the CPU's kernels on memory that the host cannot touch by
 * mistake.
 *
 * A segment is one memory file, mapped twice: without rights at the addresses that tensors show,
 * read-write for the kernels. Its end lies at the end of a page with a page without rights behind
 * it, so that an overrun faults. All work is done when a call returns; it has no programs, since it
 * runs the bound forms of the CPU. */
#include "device/mc_device.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REF_DEVICES 4
#define REF_ALIGN 64

typedef struct segment {
    char *shown, *used; /* both of `pages` bytes and a guard */
    int64_t pages, skip; /* skip: bytes from the start of the pages to the first of the segment */
} segment;

static int devices[REF_DEVICES]; /* their addresses are the handles */

static int ref_count(void) { return REF_DEVICES; }

static void *ref_open(int index, mc_device_caps *caps)
{
    *caps = (mc_device_caps){
        .align = REF_ALIGN, .f64 = 1, .group = 256
    };
    snprintf(caps->name, sizeof caps->name, "the CPU's kernels on guarded memory");
    return &devices[index];
}

static void ref_close(void *dev) { (void)dev; }

static void *ref_segment_new(void *dev, int64_t bytes)
{
    const int64_t page = sysconf(_SC_PAGESIZE),
                  size = (bytes + REF_ALIGN - 1) / REF_ALIGN * REF_ALIGN,
                  pages = (size + page - 1) / page * page;
    const size_t all = (size_t)(pages + page);
    (void)dev;
    segment *s = mci_calloc(1, sizeof *s);
    if (!s)
        return NULL;
    int fd = memfd_create("mascon-ref", MFD_CLOEXEC);
    s->shown = s->used = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)pages) == 0) {
        s->shown = mmap(NULL, all, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        /* room with a guard behind */
        s->used = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (s->used != MAP_FAILED && mmap(s->used, (size_t)pages, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
        munmap(s->used, all);
        s->used = MAP_FAILED;
    }
    int err = errno;
    if (fd >= 0)
        close(fd);
    if (s->shown == MAP_FAILED || s->used == MAP_FAILED) {
        if (s->shown != MAP_FAILED)
            munmap(s->shown, all);
        if (s->used != MAP_FAILED)
            munmap(s->used, all);
        mci_free(s);
        mci_error(MC_ENOMEM,
                  "ref: %lld bytes of guarded memory cannot be mapped (%s); release tensors",
                  (long long)bytes, strerror(err));
        return NULL;
    }
    s->pages = pages;
    s->skip = pages - size;
    return s;
}

static void ref_segment_free(void *dev, void *p)
{
    segment *s = p;
    const size_t all = (size_t)(s->pages + sysconf(_SC_PAGESIZE));
    (void)dev;
    munmap(s->shown, all);
    munmap(s->used, all);
    mci_free(s);
}

static char *ref_reach(void *dev, void *p)
{
    const segment *s = p;
    (void)dev;
    return s->used + s->skip;
}

static char *ref_show(void *dev, void *p)
{
    const segment *s = p;
    (void)dev;
    return s->shown + s->skip;
}

static int ref_put(void *dev, void *stream, void *to, int64_t at, const void *from, int64_t bytes)
{
    (void)stream;
    memcpy(ref_reach(dev, to) + at, from, (size_t)bytes);
    return MC_OK;
}

static int ref_get(void *dev, void *stream, void *to, const void *from, int64_t at, int64_t bytes)
{
    (void)stream;
    memcpy(to, ref_reach(dev, (void *)(uintptr_t)from) + at, (size_t)bytes);
    return MC_OK;
}

static int ref_copy(void *dev, void *stream, void *to, int64_t at, const void *from,
                    int64_t from_at, int64_t bytes)
{
    (void)stream;
    memmove(ref_reach(dev, to) + at, ref_reach(dev, (void *)(uintptr_t)from) + from_at,
            (size_t)bytes);
    return MC_OK;
}

/* One stream, on which everything is done at once. */
static void *ref_stream_new(void *dev) { return dev; }
static void *ref_event(void *dev, void *stream) { (void)stream; return dev; }
static int ref_wait(void *dev, void *stream, void *event)
{
    (void)dev, (void)stream, (void)event;
    return MC_OK;
}
static int ref_done(void *dev, void *event) { (void)dev, (void)event; return 1; }
static int ref_reached(void *dev, void *event) { (void)dev, (void)event; return MC_OK; }
static void ref_event_free(void *dev, void *event) { (void)dev, (void)event; }
static int ref_sync(void *dev, void *stream) { (void)dev, (void)stream; return MC_OK; }

const mc_device_api *mci_ref_device(void)
{
    static const mc_device_api api = {
        .abi = MC_BACKEND_ABI,
        .kind = "ref",
        .count = ref_count,
        .open = ref_open,
        .close = ref_close,
        .segment_new = ref_segment_new,
        .segment_free = ref_segment_free,
        .put = ref_put,
        .get = ref_get,
        .copy = ref_copy,
        .stream_new = ref_stream_new,
        .event = ref_event,
        .wait = ref_wait,
        .done = ref_done,
        .reached = ref_reached,
        .event_free = ref_event_free,
        .sync = ref_sync,
        .reach = ref_reach,
        .show = ref_show,
    };
    return &api;
}
