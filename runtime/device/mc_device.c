/* mc_device.c - the table of opened devices and their memory.
 *
 * Blocks come from a pool per device: free lists by size class (four steps to an octave), small
 * ones carved out of slabs where the device wants that. Work of the one compute stream runs in
 * order, so a freed block can go to the next tensor at once; memory goes back to the device only
 * after its stream is done. Out of memory: the pool gives back what it has cached, waits, and asks
 * once more; the caller's language collects and tries again.
 *
 * Large uploads have a stream of their own, so that they run beside queued work. Memory may still
 * be wanted by work that was queued when it was freed; periods tell when that is done. A period
 * ends with an event of the compute stream, at an upload or when a large block is freed, or when
 * the host has waited for all of it. What was freed in a period is free for uploads after the event
 * that ended this or a later one. */
#include "device/mc_device.h"
#include "device/mc_context.h"
#include "device/mc_events.h"
#include "device/mc_queue.h"
#include "base/mc_error.h"
#include "base/mc_machine.h"
#include "base/mc_memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CLASSES 160
#define SMALL ((int64_t)1 << 20)         /* larger blocks are segments of their own */
#define STEP ((int64_t)256 << 20)        /* live bytes between two collections */

#define GUARDS 1024                      /* launches with a guard between two waits */

#define ENDS 32                          /* events of ended periods that are kept */

/* What a launch refuses, in words. */
typedef struct guard {
    const char *op, *why;
} guard;

typedef struct device {
    const mci_device_kind *kind;
    const mc_device_api *api;
    void *handle, *stream;
    mci_queue queue; /* of stream */
    int index;
    char text[32];
    mc_device_caps caps;
    mci_block *cache[CLASSES];
    mci_mem *segments;
    int64_t live, cached, peak, calls, limit, kept, blocks;
    int epoch;
    int bounded; /* the limit is that of the environment */
    int chosen; /* by the word auto */
    void *guards; /* segment of GUARDS numbers, all bits set where nothing was refused */
    guard *guard;
    int nguard;
    void *uploads;      /* stream of large uploads; NULL: none so far */
    int64_t period;     /* the one under way */
    int64_t waited;     /* all periods below are done */
    void *ended[ENDS];  /* events that ended the last periods but for those waited for */
    int64_t end[ENDS];  /* the periods that they ended */
} device;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static device devices[MCI_DEVICES] = {{.text = "cpu"}};
static int ndevices = 1;

/* Queued work ends before the process does: drivers that are torn down under it crash. Asked for
 * when a driver is there, and again when it has built a program, since compilers that it loads for
 * that register ends of their own: the last to be registered runs first. */
static void finish_all(void)
{
    for (int i = ndevices - 1; i > 0; i--)
        (void)devices[i].api->sync(devices[i].handle, devices[i].stream);
}

void mci_device_at_exit(void) { (void)atexit(finish_all); }

/* ---- names ---- */

/* A kind by its name; NULL with the record. */
static const mci_device_kind *kind_of(const char *name)
{
    for (const mci_device_kind *k = mci_device_kinds(); k->name; k++)
        if (!strcmp(name, k->name)) return k;
    mci_error(MC_EINVAL, "device: there is no kind \"%s\"", name);
    return NULL;
}

const char *mc_device_kind(int place)
{
    const mci_device_kind *k = mci_device_kinds();
    while (place-- > 0 && k->name) k++;
    return k->card ? k->name : NULL;
}

static int open_kind(const char *name, const char *kind, int index)
{
    char text[32];
    snprintf(text, sizeof text, "%s:%d", kind, index);
    for (int i = 1; i < ndevices; i++)
        if (!strcmp(devices[i].text, text))
            return i;
    const mci_device_kind *known = kind_of(kind);
    const mc_device_api *api = known ? known->driver() : NULL;
    const int n = api ? api->count() : -1;
    if (index >= n) {
        char why[512], most[32];
        snprintf(most, sizeof most, " to %s:%d", kind, n - 1);
        if (n > 0)
            snprintf(why, sizeof why, "%s has %s:0%s alone", kind, kind, n > 1 ? most : "");
        else
            snprintf(why, sizeof why, "%s", n < 0 ? mc_errmsg() : "its driver has no device");
        return -mci_error(MC_EUNSUPPORTED, "device \"%s\" is not there: %s; use %s\"cpu\"", name,
                          why, n > 0 ? "that, or " : "");
    }
    if (ndevices == MCI_DEVICES)
        return -mci_error(MC_EUNSUPPORTED, "device \"%s\": %d devices are open, which is the most",
                          name, MCI_DEVICES);
    device *d = &devices[ndevices];
    memset(d, 0, sizeof *d);
    d->kind = known;
    d->api = api;
    d->index = index;
    d->handle = api->open(index, &d->caps);
    if (!d->handle)
        return -mc_errstatus();
    if (!d->caps.f64) { /* sums, roots of transforms and special functions need it */
        api->close(d->handle);
        return -mci_error(MC_EUNSUPPORTED,
                          "device \"%s\" cannot be used: %s does not compute in f64; use \"cpu\"",
                          name, d->caps.name);
    }
    d->stream = api->stream_new(d->handle);
    if (!d->stream) {
        api->close(d->handle);
        return -mc_errstatus();
    }
    if (d->caps.align < 1)
        d->caps.align = 256;
    if (d->caps.processor) /* its memory is the machine's */
        d->limit = mci_machine_bytes(getenv("MASCON_MEMORY_LIMIT"));
    d->bounded = d->limit != 0;
    memcpy(d->text, text, sizeof text);
    mci_device_at_exit();
    return ndevices++;
}

int mci_device_open_kind(const char *name, const char *kind, int index)
{
    pthread_mutex_lock(&lock);
    int d = open_kind(name, kind, index);
    pthread_mutex_unlock(&lock);
    return d;
}

void mci_device_choose(int d) { devices[d].chosen = 1; }

int mc_device_count(const char *kind)
{
    const mci_device_kind *known = kind_of(kind);
    const mc_device_api *api = known ? known->driver() : NULL;
    return api ? api->count() : -mc_errstatus();
}

int mc_device_about(int number, char *name, int64_t room, int64_t out[3])
{
    if (number < 1 || number >= ndevices)
        return mci_error(MC_EINVAL, "device %d is not open", number);
    const mc_device_caps *c = &devices[number].caps;
    snprintf(name, (size_t)room, "%s", c->name);
    out[0] = c->memory;
    out[1] = c->f64;
    out[2] = c->processor;
    return MC_OK;
}

const char *mci_device_text(int d) { return d >= 0 && d < ndevices ? devices[d].text : "?"; }
const char *mc_device_name(int d) { return mci_device_text(d); }
int mci_device_index(int d) { return devices[d].index; }
const mc_device_api *mci_device_api(int d) { return devices[d].api; }
void *mci_device_handle(int d) { return devices[d].handle; }
void *mci_device_stream(int d) { return devices[d].stream; }
int mci_device_queued(int number, int64_t launches, int64_t bytes)
{
    device *d = &devices[number];
    return mci_queue_add(&d->queue, d->api, d->handle, d->stream, launches, bytes);
}
int64_t mc_device_queued(int d) { return devices[d].queue.before + devices[d].queue.since; }
const mc_device_caps *mci_device_caps(int d) { return &devices[d].caps; }
int mci_device_hosted(int d)
{
    return d == 0 || (devices[d].api && devices[d].api->reach != NULL);
}

int mc_device_hosted(int d) { return mci_device_hosted(d); }

char *mci_device_reach(mci_ref r)
{
    const device *d = &devices[r.mem->device];
    return d->api->reach(d->handle, r.mem->handle) + r.at;
}

/* ---- memory ---- */

/* The host has waited since `began` for all that was queued, which ends a period. */
static void waited(device *d, double began)
{
    d->waited = ++d->period;
    mci_queue_empty(&d->queue, d->api, d->handle, began);
}

static int all_done(device *d)
{
    const double began = mc_clock();
    mci_works(1);
    const int rc = d->api->sync(d->handle, d->stream);
    mci_works(-1);
    if (!rc) waited(d, began);
    return rc;
}

/* Ends a period with an event. */
static int end_period(device *d)
{
    const int k = (int)(d->period % ENDS);
    void *e = d->api->event(d->handle, d->stream);
    if (!e) return mc_errstatus();
    if (d->ended[k]) d->api->event_free(d->handle, d->ended[k]);
    d->ended[k] = e;
    d->end[k] = d->period++;
    return MC_OK;
}

/* Class of a size and the size of its blocks; -1: too large for one. */
static int size_class(int64_t bytes, int64_t *rounded)
{
    if (bytes < 256)
        bytes = 256;
    int shift = 63 - __builtin_clzll((unsigned long long)bytes);
    int64_t base = (int64_t)1 << shift, step = base / 4, k = (bytes - base + step - 1) / step;
    int klass = (shift - 8) * 4 + (int)k;
    *rounded = base + k * step;
    return klass < CLASSES ? klass : -1;
}

static mci_mem *segment_new(device *d, int64_t bytes)
{
    mci_mem *m = mci_calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->device = (int)(d - devices);
    m->bytes = bytes;
    m->freed = -1;
    m->handle = d->api->segment_new(d->handle, bytes);
    if (m->handle && d->api->show) {
        m->base = d->api->show(d->handle, m->handle);
    } else if (m->handle) {
        m->base = mmap(NULL, (size_t)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0);
        if (m->base == MAP_FAILED) {
            d->api->segment_free(d->handle, m->handle);
            m->handle = NULL;
            mci_error(MC_ENOMEM, "memory: no addresses for %.1f MiB of %s; raise ulimit -v",
                      (double)bytes / 1048576.0, d->text);
        }
    }
    if (!m->handle) {
        mci_free(m);
        return NULL;
    }
    m->next = d->segments;
    d->segments = m;
    return m;
}

static void segment_free(device *d, mci_mem *m)
{
    for (mci_mem **p = &d->segments; *p; p = &(*p)->next)
        if (*p == m) {
            *p = m->next;
            break;
        }
    if (!d->api->show)
        munmap(m->base, (size_t)m->bytes);
    d->api->segment_free(d->handle, m->handle);
    mci_free(m);
}

/* Cached blocks that are segments of their own go back to the device. The bytes that went. */
static int64_t trim(device *d)
{
    int64_t gone = 0;
    int waited = 0;
    for (int k = 0; k < CLASSES; k++)
        for (mci_block **p = &d->cache[k]; *p;) {
            mci_block *b = *p;
            if (b->mem->used) { /* of a slab */
                p = &b->next;
                continue;
            }
            if (!waited && all_done(d) != MC_OK)
                return gone;
            waited = 1;
            *p = b->next;
            gone += b->bytes;
            d->cached -= b->bytes;
            segment_free(d, b->mem);
            mci_free(b);
        }
    return gone;
}

static mci_block *block_new(device *d, int klass, int64_t size)
{
    int small = d->caps.slab >= size && size <= SMALL;
    mci_mem *m = small ? d->segments : NULL;
    while (m && (!m->used || m->used + size > m->bytes))
        m = m->next;
    mci_block *b = mci_calloc(1, sizeof *b);
    if (!b)
        return NULL;
    if (!m && !(m = segment_new(d, small ? d->caps.slab : size))) {
        mci_free(b);
        return NULL;
    }
    b->mem = m;
    b->bytes = size;
    b->klass = klass;
    if (small) {
        b->at = m->used;
        m->used += (size + d->caps.align - 1) / d->caps.align * d->caps.align;
    }
    return b;
}

/* Bytes in words. */
static const char *amount(char text[32], int64_t bytes)
{
    if (bytes > 0 && bytes < 104858)
        snprintf(text, 32, "%.1f KiB", (double)bytes / 1024.0);
    else
        snprintf(text, 32, "%.1f MiB", (double)bytes / 1048576.0);
    return text;
}

mci_block *mci_device_alloc(int number, int64_t bytes)
{
    device *d = &devices[number];
    int64_t size, exact = bytes > 0 ? bytes : 1;
    int klass = size_class(exact, &size);
    mci_block *b = NULL;
    char more[32], all[32], live[32];
    if (d->caps.slab == 0) {
        /* blocks end where their memory ends, so that an overrun faults: nothing is rounded up or
         * kept */
        klass = -1;
        size = exact;
    }
    pthread_mutex_lock(&lock);
    d->calls++;
    if (klass >= 0 && d->cache[klass]) {
        b = d->cache[klass];
        d->cache[klass] = b->next;
        d->cached -= b->bytes;
    }
    int64_t limit = d->limit ? d->limit : d->caps.memory;
    if (!b && limit && d->live + d->cached + size > limit)
        (void)trim(d);
    int over = limit && d->live + size > limit;
    if (b && over) { /* the limit was lowered while the block lay in the cache */
        b->next = d->cache[klass];
        d->cache[klass] = b;
        d->cached += b->bytes;
        b = NULL;
    }
    if (!b && !over) {
        b = block_new(d, klass, size);
        if (!b && mc_errstatus() == MC_ENOMEM && trim(d) > 0)
            b = block_new(d, klass, size);
        if (!b && mc_errstatus() == MC_ENOMEM)
            mci_error(MC_ENOMEM,
                      "memory: %.1f MiB more on %s (%s) are not there: %.1f MiB are live; release "
                      "tensors or work in blocks",
                      (double)size / 1048576.0, d->text, d->caps.name, (double)d->live / 1048576.0);
    }
    if (over)
        mci_error(MC_ENOMEM,
                  "memory: %s more on %s would pass its %s%s (%s are live); release tensors or "
                  "work in blocks%s",
                  amount(more, size), d->text, d->limit ? "limit of " : "", amount(all, limit),
                  amount(live, d->live),
                  !d->limit    ? ""
                  : d->bounded ? ", or raise MASCON_MEMORY_LIMIT (mc.set_memory_limit)"
                               : ", or raise it by mc.set_memory_limit");
    if (b) {
        d->live += b->bytes;
        d->blocks++;
        d->peak = d->live > d->peak ? d->live : d->peak;
        if (d->epoch != mci_memory_epoch()) {
            d->epoch = mci_memory_epoch();
            d->kept = d->live;
        }
        if (d->live - d->kept > STEP)
            mci_memory_nudge();
    }
    pthread_mutex_unlock(&lock);
    return b;
}

void mci_device_free(mci_block *b)
{
    if (!b)
        return;
    device *d = &devices[b->mem->device];
    pthread_mutex_lock(&lock);
    d->live -= b->bytes;
    d->blocks--;
    d->kept = d->kept > d->live ? d->live : d->kept;
    if (b->klass >= 0) {
        b->mem->freed = d->period;
        if (d->uploads && b->bytes > SMALL) (void)end_period(d);
        b->next = d->cache[b->klass];
        d->cache[b->klass] = b;
        d->cached += b->bytes;
    } else {
        (void)all_done(d);
        segment_free(d, b->mem);
        mci_free(b);
    }
    pthread_mutex_unlock(&lock);
}

mci_mem *mci_device_at(int number, const void *address)
{
    const uintptr_t at = (uintptr_t)address;
    /* end: the address is just behind it, where an empty tensor may begin */
    mci_mem *m, *end = NULL;
    pthread_mutex_lock(&lock);
    for (m = devices[number].segments; m; m = m->next) {
        const uintptr_t lo = (uintptr_t)m->base, hi = lo + (uintptr_t)m->bytes;
        if (at >= lo && at < hi)
            break;
        end = at == hi ? m : end;
    }
    pthread_mutex_unlock(&lock);
    return m ? m : end;
}

int mc_device_memory(int number, int64_t out[9])
{
    memset(out, 0, 9 * sizeof *out);
    if (number < 1 || number >= ndevices || number >= MCI_DEVICES)
        return mci_error(MC_EINVAL, "device %d is not open", number);
    pthread_mutex_lock(&lock);
    const device *d = &devices[number];
    const int64_t v[9] = { d->live,   d->cached,      d->peak,
                           d->calls,  d->kept + STEP, d->limit ? d->limit : d->caps.memory,
                           d->blocks, d->live,        d->peak };
    memcpy(out, v, sizeof v);
    pthread_mutex_unlock(&lock);
    return MC_OK;
}

void mci_device_peaks_reset(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 1; i < ndevices; i++)
        devices[i].peak = devices[i].live;
    pthread_mutex_unlock(&lock);
}

int mci_device_chosen(int number) { return devices[number].chosen; }

int mc_device_limit_set(int number, int64_t bytes)
{
    if (number < 1 || number >= ndevices || number >= MCI_DEVICES || bytes < 0)
        return mci_error(MC_EINVAL,
                         "memory limit: device %d, %lld bytes; give an open device and a positive "
                         "number, or 0 for none",
                         number, (long long)bytes);
    pthread_mutex_lock(&lock);
    devices[number].limit = bytes;
    devices[number].bounded = 0;
    (void)trim(&devices[number]);
    pthread_mutex_unlock(&lock);
    return MC_OK;
}

void mc_device_trim(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 1; i < ndevices; i++)
        (void)trim(&devices[i]);
    pthread_mutex_unlock(&lock);
}

int mc_device_sync(int number)
{
    int rc = MC_OK;
    for (int i = 1; i < ndevices && !rc; i++)
        if (number < 0 || i == number) {
            rc = all_done(&devices[i]);
            rc = rc ? rc : mci_device_check(i);
        }
    return rc;
}

/* ---- exchange ---- */

int mci_device_dlpack(int number) { return devices[number].kind->dlpack; }

int mci_device_exchange(int kind, int index)
{
    pthread_mutex_lock(&lock);
    int found = 0;
    for (int i = 1; i < ndevices && !found; i++)
        if (kind > 0 && devices[i].kind->dlpack == kind && devices[i].index == index) found = i;
    pthread_mutex_unlock(&lock);
    if (found) return found;
    const mci_device_kind *known = mci_device_kinds();
    while (known->name && known->dlpack != kind) known++;
    const char *name = kind > 0 ? known->name : NULL;
    if (name)
        return -mci_error(MC_EDEVICE,
                          "from_dlpack: the tensor lies on %s:%d, which this process has not "
                          "opened; make a tensor there first, such as mc.zeros({ 1 }, { device = "
                          "\"%s:%d\" })",
                          name, index, name, index);
    return -mci_error(MC_EDEVICE,
                      "from_dlpack: the tensor lies on a device of DLPack's type %d; copy it to "
                      "the CPU (type 1) first",
                      kind);
}

/* The segment of a handle, of the pool or taken; else one that is taken now. */
static mci_mem *taken_segment(device *d, void *handle, int64_t bytes)
{
    for (mci_mem *m = d->segments; m; m = m->next)
        if (m->handle == handle) {
            m->taken += m->taken > 0;
            return m;
        }
    mci_mem *m = mci_calloc(1, sizeof *m);
    if (!m) return NULL;
    *m = (mci_mem){ .device = (int)(d - devices), .handle = handle, .bytes = bytes, .freed = -1,
                    .taken = 1, .next = d->segments };
    m->base = mmap(NULL, (size_t)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                   0);
    if (m->base == MAP_FAILED) {
        mci_free(m);
        mci_error(MC_ENOMEM, "memory: no addresses for %.1f MiB of %s; raise ulimit -v",
                  (double)bytes / 1048576.0, d->text);
        return NULL;
    }
    return d->segments = m;
}

mci_block *mci_device_take(int number, void *memory, int64_t *at)
{
    device *d = &devices[number];
    void *handle;
    int64_t bytes;
    if (d->api->allocation(d->handle, memory, &handle, at, &bytes)) return NULL;
    mci_block *b = mci_calloc(1, sizeof *b);
    if (!b) return NULL;
    pthread_mutex_lock(&lock);
    b->mem = taken_segment(d, handle, bytes);
    pthread_mutex_unlock(&lock);
    if (!b->mem) {
        mci_free(b);
        return NULL;
    }
    b->at = *at;
    b->bytes = bytes - *at;
    return b;
}

void mci_device_leave(mci_block *b)
{
    mci_mem *m = b->mem;
    device *d = &devices[m->device];
    pthread_mutex_lock(&lock);
    (void)all_done(d);
    if (m->taken > 0 && --m->taken == 0) {
        mci_mem **p = &d->segments;
        while (*p != m) p = &(*p)->next;
        *p = m->next;
        munmap(m->base, (size_t)m->bytes);
        mci_free(m);
    }
    pthread_mutex_unlock(&lock);
    mci_free(b);
}

int mci_device_order(int number, int64_t stream)
{
    const device *d = &devices[number];
    if (stream == 0) return mc_device_sync(number);
    return stream == -1 ? MC_OK : d->api->order(d->handle, d->stream, stream);
}

/* ---- guards ---- */

int mci_device_guard(int number, const char *op, const char *why)
{
    device *d = &devices[number];
    if (d->nguard == GUARDS && mci_device_check(number))
        return -1;
    if (!d->guards) {
        char none[GUARDS * 4];
        memset(none, 0xff, sizeof none);
        d->guard = mci_alloc(GUARDS * sizeof *d->guard);
        void *segment = d->guard ? d->api->segment_new(d->handle, sizeof none) : NULL;
        if (!segment || d->api->put(d->handle, d->stream, segment, 0, none, sizeof none))
            return -1;
        d->guards = segment;
    }
    d->guard[d->nguard] = (guard){op, why};
    return d->nguard++;
}

int mci_device_guard_room(int number, int n)
{
    if (n > GUARDS) return 0;
    const int fits = devices[number].nguard + n <= GUARDS;
    return fits || !mci_device_check(number) ? 1 : -mc_errstatus();
}

void *mci_device_guards(int number) { return devices[number].guards; }

int mci_device_check(int number)
{
    device *d = &devices[number];
    uint32_t seen[GUARDS];
    const int n = d->nguard;
    if (n == 0)
        return MC_OK;
    mci_works(1);
    int rc = d->api->get(d->handle, d->stream, seen, d->guards, 0, 4 * (int64_t)n);
    mci_works(-1);
    if (rc)
        return rc;
    d->nguard = 0;
    for (int i = 0; i < n; i++)
        if (seen[i] != 0xffffffffu) {
            char none[GUARDS * 4];
            memset(none, 0xff, sizeof none);
            (void)d->api->put(d->handle, d->stream, d->guards, 0, none, 4 * (int64_t)n);
            return mci_error_at(d->guard[i].op, d->guard[i].why, (int64_t)seen[i]);
        }
    return MC_OK;
}

/* ---- transfers ---- */

/* The stream of uploads goes on when no queued work wants memory that was freed in a period: after
 * the first event since that is kept. */
static int uploads_after(device *d, int64_t freed)
{
    int first = -1;
    for (int k = 0; k < ENDS; k++)
        if (d->ended[k] && d->end[k] >= freed && (first < 0 || d->end[k] < d->end[first]))
            first = k;
    return freed < d->waited ? MC_OK : d->api->wait(d->handle, d->uploads, d->ended[first]);
}

static int put_in(void *stream, mci_ref to, const void *from, int64_t bytes)
{
    const device *d = &devices[to.mem->device];
    const double began = MC_UNLIKELY(mci_watching) ? mc_clock() : 0;
    int rc = MC_OK;
    mci_works(1);
    if (bytes > 0) rc = d->api->put(d->handle, stream, to.mem->handle, to.at, from, bytes);
    if (MC_UNLIKELY(mci_watching) && !rc) rc = d->api->sync(d->handle, stream);
    mci_works(-1);
    if (MC_UNLIKELY(mci_watching))
        mci_event(MC_EVENT_TO, to.mem->device, "to the device", NULL, began, bytes);
    return rc;
}

int mci_device_put(mci_ref to, const void *from, int64_t bytes)
{
    return put_in(devices[to.mem->device].stream, to, from, bytes);
}

int mci_device_upload(mci_ref to, const void *from, int64_t bytes)
{
    device *d = &devices[to.mem->device];
    if (bytes < SMALL || to.mem->used || d->api->reach) return mci_device_put(to, from, bytes);
    if (!d->uploads && !(d->uploads = d->api->stream_new(d->handle))) return mc_errstatus();
    int rc = end_period(d);
    rc = rc ? rc : uploads_after(d, to.mem->freed);
    rc = rc ? rc : put_in(d->uploads, to, from, bytes);
    void *there = rc ? NULL : d->api->event(d->handle, d->uploads);
    if (!there) { /* the memory is no one's again: nothing may be on its way there */
        (void)d->api->sync(d->handle, d->uploads);
        return mc_errstatus();
    }
    rc = d->api->wait(d->handle, d->stream, there);
    d->api->event_free(d->handle, there);
    return rc;
}

int mci_device_get(void *to, mci_ref from, int64_t bytes)
{
    device *d = &devices[from.mem->device];
    const double began = mc_clock();
    int rc = MC_OK;
    mci_works(1);
    if (bytes > 0) rc = d->api->get(d->handle, d->stream, to, from.mem->handle, from.at, bytes);
    mci_works(-1);
    if (bytes > 0 && !rc) waited(d, began);
    if (MC_UNLIKELY(mci_watching))
        mci_event(MC_EVENT_FROM, from.mem->device, "from the device", NULL, began, bytes);
    return rc ? rc : mci_device_check(from.mem->device);
}

int mci_device_copy(mci_ref to, mci_ref from, int64_t bytes)
{
    const device *d = &devices[to.mem->device];
    int rc = MC_OK;
    mci_works(1);
    if (bytes > 0)
        rc = d->api->copy(d->handle, d->stream, to.mem->handle, to.at, from.mem->handle, from.at,
                          bytes);
    if (bytes > 0 && !rc) rc = mci_device_queued(to.mem->device, 1, bytes);
    mci_works(-1);
    return rc;
}
