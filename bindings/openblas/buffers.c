/* buffers.c - the gate before OpenBLAS: a thread enters only where a work buffer is there for it.
 *
 * OpenBLAS maps a buffer for each thread that works in it at one time, and keeps it. Refused by the
 * system it asks again for ever, and it ends the process when it cannot start a thread. So each
 * buffer is made here, after its room was tried, and told from the others by its address; threads
 * for which there is none wait until one leaves, and threads of its own are tried first. */
#include "parts.h"

#include <cblas.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

/* Buffers in use at one time: builds have room for twice MAX_THREADS, 50 at least. */
#define MOST 48

extern void *blas_memory_alloc(int place);
extern void blas_memory_free(void *buffer);

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* guards all but the atomics */
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static atomic_int inside, buffers, waiting;
static const void *known[MOST];
static int own_threads; /* of OpenBLAS, beside the callers; each keeps a buffer */

static int room_for(size_t count)
{
    const size_t bytes = count * ((size_t)MCO_BUFFER_MIB << 20);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return 0;
    (void)munmap(p, bytes);
    return 1;
}

/* Has OpenBLAS make one buffer more. The gate is held. */
static int grow(void)
{
    void *held[MOST];
    int n = 0, fresh = 0;
    const int have = buffers + own_threads;
    while (have < MOST && n < MOST && !fresh && room_for(1)) {
        held[n] = blas_memory_alloc(0);
        fresh = 1;
        for (int i = 0; i < have && fresh; i++) fresh = known[i] != held[n];
        if (fresh) known[have] = held[n];
        n++;
    }
    while (n > 0) blas_memory_free(held[--n]);
    if (fresh) buffers++;
    return fresh;
}

int mco_ready(void)
{
    if (buffers > 0) return 1;
    (void)pthread_mutex_lock(&gate);
    const int there = buffers > 0 || grow();
    (void)pthread_mutex_unlock(&gate);
    return there;
}

static int pass(void)
{
    if (atomic_fetch_add(&inside, 1) < atomic_load(&buffers)) return 1;
    atomic_fetch_sub(&inside, 1);
    return 0;
}

void mco_enter(void)
{
    if (pass()) return;
    (void)pthread_mutex_lock(&gate);
    waiting++;
    while (!pass())
        if (!grow()) (void)pthread_cond_wait(&left, &gate);
    waiting--;
    (void)pthread_mutex_unlock(&gate);
}

void mco_leave(void)
{
    atomic_fetch_sub(&inside, 1);
    if (waiting == 0) return;
    (void)pthread_mutex_lock(&gate);
    (void)pthread_cond_signal(&left);
    (void)pthread_mutex_unlock(&gate);
}

static void *stay(void *arg)
{
    (void)pthread_mutex_lock(arg);
    (void)pthread_mutex_unlock(arg);
    return NULL;
}

/* Whether so many threads can be there at one time. */
static int threads_can_start(int n)
{
    pthread_t probe[MOST];
    pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER;
    int k = 0;
    (void)pthread_mutex_lock(&hold);
    while (k < n && pthread_create(&probe[k], NULL, stay, &hold) == 0) k++;
    (void)pthread_mutex_unlock(&hold);
    for (int i = 0; i < k; i++) (void)pthread_join(probe[i], NULL);
    return k == n;
}

void mco_threads(int n)
{
    (void)pthread_mutex_lock(&gate);
    const int more = n - 1 - own_threads;
    if (more > 0) {
        int made = 0;
        if (n < MOST && threads_can_start(more))
            while (made < more && grow()) made++;
        if (made < more) {
            n = own_threads + 1;
        } else { /* those that it starts now take the new buffers and keep them */
            own_threads += more;
            buffers -= more;
        }
    }
    openblas_set_num_threads(n);
    (void)pthread_mutex_unlock(&gate);
}
