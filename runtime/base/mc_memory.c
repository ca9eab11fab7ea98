/* mc_memory.c - allocation with a cache of blocks, counters, a limit and a test hook.
 *
 * Every block carries a 64-byte prefix with its size class. Freed blocks of 128 bytes and more
 * go to a free list per size class (eight classes per power of two, at most 12.5 % slack)
 * because fresh pages cost more than the arithmetic on them: a chain of 16 MiB temporaries ran 6
 * to 40 times slower on plain malloc. Live bytes that grew past a step since the last collection
 * raise `pressure`, which the Lua wrapper reads before it allocates again: results that nobody
 * holds come back while their memory is still in the caches (y = square(x) in a loop, 80 KB
 * each: 6 us with steps of 8 to 16 MiB, 15 to 37 us with 512). Large results lose less by a miss
 * than a collection costs, so they have a step of their own and do not count towards that of
 * small ones (a training step that makes ten arrays of 0.8 MB: 0.43 ms; 0.75 where every 8 MiB
 * of them is a collection). Beside a huge one a collection costs nothing; where room is bounded,
 * memory counts for more than time, as long as collections find something. Large blocks ask for
 * pages of 2 MiB, so that the hardware reads ahead past 4 KiB (64 MiB read by two threads: 24 GB/s
 * with small pages, 37 with large ones) and the first write costs a 512th of the faults. */
#include "base/mc_memory.h"
#include "base/mc_machine.h"
#include "base/mc_error.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#ifdef __GLIBC__ /* known from here on */
#include <malloc.h>
#endif

#define PREFIX 64
#define MAGIC 0x6d6173636f6e2121ULL
/* 128 bytes: owners of memory are as small; malloc gives freed pages back to the system and faults
 * them in again */
#define CLASS_MIN_SHIFT 7
#define CLASSES (8 * 42)
/* growth between collections while results are small: fits a last-level cache */
#define STEP_SMALL ((int64_t)8 << 20)
#define STEP_LARGE ((int64_t)128 << 20)
#define LARGE ((int64_t)512 << 10)
#define HUGE ((int64_t)24 << 20)
#define PAGE ((size_t)2 << 20) /* a large page, where the system has them */
#define SMALL_PAGE ((size_t)4096)
/* Lua heap that a collection walks in 1 ms; a larger one stretches the steps */
#define HEAP 4194304.0

typedef struct block {
    uint64_t magic;
    int64_t bytes; /* usable bytes, a class size for cached classes */
    int32_t klass; /* -1: straight to malloc */
    int32_t held;  /* its owner frees it, without a collection */
    struct block *next;
} block;

static struct {
    pthread_mutex_t lock; /* guards everything below */
    block *list[CLASSES];
    int64_t live, cached, peak, calls, limit, blocks;
    const char *source; /* of the limit, in words */
    int64_t room;  /* for live and cached blocks together, 0: as much as the cache may take */
    int64_t kept;  /* live after the last collection */
    int64_t small; /* in small and huge blocks that were taken since then */
    int64_t asked; /* live when a collection was asked for */
    int idle;      /* the last collections found next to nothing, so many times */
    int nudged;    /* a collection was asked for that is not for the sake of `small` or `live` */
    double stretch; /* of the steps */
    int cache_on, ready;
    int64_t fail_at, fail_seen;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .stretch = 1, .cache_on = 1};

static int pressure; /* read without the lock by the wrapper; a hint, not a promise */

static void pool_ready(void)
{
    if (pool.ready)
        return;
    pool.ready = 1;
    pool.limit = mci_machine_memory(&pool.source);
    const char *c = getenv("MASCON_MEMORY_CACHE");
    if (c && c[0] == '0')
        pool.cache_on = 0;
}

/* Class of a size, and the size rounded up to it. */
static int size_class(size_t bytes, int64_t *rounded)
{
    if (bytes < ((size_t)1 << CLASS_MIN_SHIFT)) {
        *rounded = (int64_t)((bytes + 63) & ~(size_t)63);
        return -1;
    }
    int shift = 63 - __builtin_clzll((unsigned long long)bytes);
    int64_t step = (int64_t)1 << (shift - 3);
    int64_t base = (int64_t)1 << shift;
    int64_t k = ((int64_t)bytes - base + step - 1) / step;
    *rounded = base + k * step;
    int idx = (shift - CLASS_MIN_SHIFT) * 8 + (int)k;
    return idx < CLASSES ? idx : -1;
}

/* Bytes of a block with its prefix; whether it has pages of its own. malloc would keep freed blocks
 * of up to 32 MiB between others: ten networks in turn, whose blocks are of ten sizes, left
 * twice as much resident as was ever live. (The sanitizer sees what malloc gives.) */
static size_t with_prefix(int64_t size)
{
    return ((size_t)size + PREFIX + 63) & ~(size_t)63;
}

static int own_pages(size_t total)
{
#ifdef __SANITIZE_ADDRESS__
    (void)total;
    return 0;
#else
    return total >= 2 * PAGE;
#endif
}

/* A block of the system, on large pages from two of them on; what follows the last whole one stays
 * on small pages. */
static block *fresh(int64_t size)
{
    const size_t total = with_prefix(size);
    void *b = NULL;
    if (!own_pages(total)) /* aligned_alloc takes whole pages only */
        return posix_memalign(&b, total >= 2 * PAGE ? PAGE : 64, total) ? NULL : b;
    char *const m = mmap(NULL, total + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0);
    if (m == MAP_FAILED) return NULL;
    const size_t before = (PAGE - (size_t)m % PAGE) % PAGE,
                 end = (total + SMALL_PAGE - 1) & ~(SMALL_PAGE - 1);
    if (before) (void)munmap(m, before);
    if (end < total + PAGE - before) (void)munmap(m + before + end, total + PAGE - before - end);
    b = m + before;
#ifdef MADV_HUGEPAGE
    /* a hint: its failure changes nothing */
    (void)madvise(b, total & ~(PAGE - 1), MADV_HUGEPAGE);
#endif
    return b;
}

static void give_back(block *b)
{
    const size_t total = with_prefix(b->bytes);
    if (own_pages(total))
        (void)munmap(b, (total + SMALL_PAGE - 1) & ~(SMALL_PAGE - 1));
    else
        free(b);
}

static int64_t trim_locked(void)
{
    int64_t freed = 0;
    for (int i = 0; i < CLASSES; i++)
        while (pool.list[i]) {
            block *b = pool.list[i];
            pool.list[i] = b->next;
            freed += b->bytes;
            give_back(b);
        }
    pool.cached = 0;
    return freed;
}

static int cache_room(int64_t bytes)
{
    int64_t cap = pool.limit ? pool.limit / 4 : (int64_t)2 << 30;
    return pool.cache_on && pool.cached + bytes <= cap;
}

/* Growth of live bytes between collections. In a room it is as small as that of small results; each
 * collection that finds next to nothing doubles it, up to half of what is left. */
static int64_t growth_step(void)
{
    const int64_t left = (pool.room - pool.kept) / 2, step = STEP_SMALL << pool.idle;
    if (!pool.room) return STEP_LARGE;
    return left < STEP_SMALL ? STEP_SMALL : step < left ? step : left;
}

/* Whether a block counts towards the growth of small results. */
static int among_small(const block *b)
{
    return !b->held && (b->bytes < LARGE || b->bytes >= HUGE);
}

/* Whether a collection is due. */
static int grown(void)
{
    return (double)pool.small > pool.stretch * (double)STEP_SMALL ||
           (double)(pool.live - pool.kept) > pool.stretch * (double)growth_step();
}

void *mci_alloc(size_t bytes)
{
    int64_t size;
    if (bytes > (size_t)1 << 46) {
        mci_error(MC_ENOMEM, "memory: %.3g GiB asked for in one block; check the shape",
                  (double)bytes / 1073741824.0);
        return NULL;
    }
    int klass = size_class(bytes ? bytes : 1, &size);
    block *b = NULL;
    pthread_mutex_lock(&pool.lock);
    pool_ready();
    pool.calls++;
    pool.fail_seen++;
    int forced = pool.fail_at && pool.fail_seen == pool.fail_at;
    int64_t limit = pool.limit;
    if (forced)
        pool.fail_at = 0;
    if (!forced && klass >= 0 && pool.list[klass]) {
        b = pool.list[klass];
        pool.list[klass] = b->next;
        pool.cached -= b->bytes;
    }
    if (!b && !forced &&
        ((limit && pool.live + pool.cached + size > limit) ||
         (pool.room && pool.live + pool.cached + size > pool.room)))
        trim_locked();
    int over = limit && pool.live + size > limit;
    if (b && over) { /* the limit was lowered while the block lay in the cache */
        give_back(b);
        b = NULL;
    }
    int64_t live = pool.live;
    if (!b && !forced && !over) {
        b = fresh(size);
        if (!b && trim_locked() > 0)
            b = fresh(size);
        if (b) {
            b->magic = MAGIC;
            b->bytes = size;
            b->klass = klass;
        }
    }
    if (b) {
        b->held = 0;
        pool.live += b->bytes;
        pool.blocks++;
        if (pool.live > pool.peak)
            pool.peak = pool.live;
        if (among_small(b))
            pool.small += b->bytes;
        if (grown()) {
            if (!pressure) pool.asked = pool.live;
            pressure = 1;
        }
    }
    pthread_mutex_unlock(&pool.lock);
    if (!b) {
        if (over)
            mci_error(MC_ENOMEM,
                      "memory: %.1f MiB more would pass the limit of %.1f MiB (%.1f MiB are live); "
                      "release tensors, work in blocks or raise MASCON_MEMORY_LIMIT",
                      (double)size / 1048576.0, (double)limit / 1048576.0,
                      (double)live / 1048576.0);
        else
            mci_error(MC_ENOMEM,
                      "memory: the system has no block of %.1f MiB (%.1f MiB are live); release "
                      "tensors or "
                      "work in blocks",
                      (double)size / 1048576.0, (double)live / 1048576.0);
        return NULL;
    }
    return (char *)b + PREFIX;
}

void mci_memory_held(void *p)
{
    block *b = (block *)(void *)((char *)p - PREFIX);
    mc_assert(b->magic == MAGIC);
    pthread_mutex_lock(&pool.lock);
    if (among_small(b))
        pool.small = pool.small > b->bytes ? pool.small - b->bytes : 0;
    b->held = 1;
    if (!pool.nudged && !grown())
        pressure = 0;
    pthread_mutex_unlock(&pool.lock);
}

void *mci_calloc(size_t count, size_t size)
{
    int64_t total;
    if (mci_size_mul((int64_t)count, (int64_t)size, &total))
        return NULL;
    void *p = mci_alloc((size_t)total);
    if (p)
        memset(p, 0, (size_t)total);
    return p;
}

void mci_free(void *p)
{
    if (!p)
        return;
    block *b = (block *)(void *)((char *)p - PREFIX);
    mc_assert(b->magic == MAGIC);
    pthread_mutex_lock(&pool.lock);
    pool.live -= b->bytes;
    if (among_small(b))
        pool.small = pool.small > b->bytes ? pool.small - b->bytes : 0;
    if (pool.kept > pool.live)
        pool.kept = pool.live;
    pool.blocks--;
    if (b->klass >= 0 && cache_room(b->bytes)) {
        b->next = pool.list[b->klass];
        pool.list[b->klass] = b;
        pool.cached += b->bytes;
        b = NULL;
    }
    pthread_mutex_unlock(&pool.lock);
    if (b) {
        b->magic = 0;
        give_back(b);
    }
}

void *mci_realloc(void *p, size_t bytes)
{
    if (!p)
        return mci_alloc(bytes);
    block *b = (block *)(void *)((char *)p - PREFIX);
    if ((int64_t)bytes <= b->bytes && (int64_t)bytes * 2 > b->bytes)
        return p;
    void *q = mci_alloc(bytes);
    if (!q)
        return NULL;
    memcpy(q, p, (size_t)b->bytes < bytes ? (size_t)b->bytes : bytes);
    mci_free(p);
    return q;
}

int mci_size_mul(int64_t a, int64_t b, int64_t *out)
{
    *out = 0;
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, out) || *out > (int64_t)1 << 46)
        return mci_error(MC_ENOMEM,
                         "memory: %lld x %lld bytes are more than any machine has; check the shape",
                         (long long)a, (long long)b);
    return MC_OK;
}

void mc_memory_trim(void)
{
    pthread_mutex_lock(&pool.lock);
    trim_locked();
    pthread_mutex_unlock(&pool.lock);
#ifdef __GLIBC__
    (void)malloc_trim(0); /* what small blocks left between others goes back to the system too */
#endif
}

int64_t mc_memory_room_set(int64_t bytes)
{
    pthread_mutex_lock(&pool.lock);
    int64_t before = pool.room;
    pool.room = bytes > 0 ? bytes : 0;
    if (pool.room && pool.live + pool.cached > pool.room)
        trim_locked();
    pthread_mutex_unlock(&pool.lock);
    return before;
}

int *mc_memory_pressure(void)
{
    return &pressure;
}

static int epoch; /* collections so far; guarded by the lock of the pool */

void mci_memory_nudge(void)
{
    pthread_mutex_lock(&pool.lock);
    pressure = pool.nudged = 1;
    pthread_mutex_unlock(&pool.lock);
}

int mci_memory_epoch(void) { return epoch; }

void mc_memory_collected(double heap)
{
    pthread_mutex_lock(&pool.lock);
    epoch++;
    if (pressure && pool.asked - pool.live > STEP_SMALL / 8)
        pool.idle = 0;
    else if (pressure && pool.idle < 4)
        pool.idle++;
    pressure = pool.nudged = 0;
    pool.kept = pool.live;
    pool.small = 0;
    pool.stretch = heap > HEAP ? heap / HEAP : 1;
    pthread_mutex_unlock(&pool.lock);
}

int mc_memory_cache_enable(int on)
{
    pthread_mutex_lock(&pool.lock);
    pool_ready();
    int was = pool.cache_on;
    pool.cache_on = on != 0;
    if (!on)
        trim_locked();
    pthread_mutex_unlock(&pool.lock);
    return was;
}

int mc_memory_limit_set(int64_t bytes)
{
    if (bytes < 0)
        return mci_error(MC_EINVAL,
                         "memory limit: %lld bytes; give a positive number, or 0 for none",
                         (long long)bytes);
    pthread_mutex_lock(&pool.lock);
    pool_ready();
    pool.limit = bytes;
    pool.source = "set_memory_limit";
    trim_locked();
    pthread_mutex_unlock(&pool.lock);
    return MC_OK;
}

int64_t mc_test_fail_alloc(int64_t n)
{
    pthread_mutex_lock(&pool.lock);
    int64_t seen = pool.fail_seen;
    pool.fail_seen = 0;
    pool.fail_at = n;
    pthread_mutex_unlock(&pool.lock);
    return seen;
}

void mci_memory_counts(int64_t out[7])
{
    pthread_mutex_lock(&pool.lock);
    pool_ready();
    out[0] = pool.live;
    out[1] = pool.cached;
    out[2] = pool.peak;
    out[3] = pool.calls;
    out[4] = pool.kept + (int64_t)(pool.stretch * (double)STEP_LARGE);
    out[5] = pool.limit;
    out[6] = pool.blocks;
    pthread_mutex_unlock(&pool.lock);
}

void mci_memory_peak_reset(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.peak = pool.live;
    pthread_mutex_unlock(&pool.lock);
}

const char *mc_memory_limit_source(void)
{
    pthread_mutex_lock(&pool.lock);
    pool_ready();
    const char *source = pool.limit ? pool.source : "none";
    pthread_mutex_unlock(&pool.lock);
    return source;
}
