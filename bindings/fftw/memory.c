/* memory.c - memory for FFTW, which ends the process where it gets none.
 *
 * Its own four functions are defined here and come first in the lookup of the libraries that this
 * plug-in pulls in. What the system refuses is taken from a reserve, which is asked for before a
 * plan is made: addresses that cost nothing until they are used. Blocks in it are given out one
 * behind the other; when the last one is back it is empty again. A build of FFTW that binds its
 * functions to itself does without. */
#include "parts.h"
#include "../../runtime/base/mc_def.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

MC_API void *fftw_kernel_malloc(size_t n);
MC_API void fftw_kernel_free(void *p);
MC_API void *fftwf_kernel_malloc(size_t n);
MC_API void fftwf_kernel_free(void *p);

#define PATIENCE 100000 /* turns in which a transform that has some of the reserve may end */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static char *base;
static size_t size, used;
static int blocks;

int mco_reserve(size_t bytes)
{
    int there = 1;
    (void)pthread_mutex_lock(&lock);
    if (size - used < bytes && blocks == 0) { /* one in use stays: what it holds may be a plan */
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        there = p != MAP_FAILED;
        if (there) {
            if (base) (void)munmap(base, size);
            base = p;
            size = bytes;
        }
    }
    (void)pthread_mutex_unlock(&lock);
    return there;
}

static void *from_reserve(size_t n)
{
    char *p = NULL;
    (void)pthread_mutex_lock(&lock);
    if (base && n <= size - used) {
        p = base + used;
        used += n;
        blocks++;
    }
    (void)pthread_mutex_unlock(&lock);
    return p;
}

static void *grant(size_t n)
{
    n = (n + 63) & ~(size_t)63;
    void *p = aligned_alloc(64, n);
    for (int i = 0; !p && i < PATIENCE; i++) {
        p = from_reserve(n);
        if (!p) {
            (void)sched_yield();
            p = aligned_alloc(64, n);
        }
    }
    return p;
}

static void give(void *p)
{
    const uintptr_t at = (uintptr_t)p;
    (void)pthread_mutex_lock(&lock);
    const int ours = base && at >= (uintptr_t)base && at < (uintptr_t)base + size;
    if (ours && --blocks == 0) used = 0;
    (void)pthread_mutex_unlock(&lock);
    if (!ours) free(p);
}

void *fftw_kernel_malloc(size_t n) { return grant(n); }
void fftw_kernel_free(void *p) { give(p); }
void *fftwf_kernel_malloc(size_t n) { return grant(n); }
void fftwf_kernel_free(void *p) { give(p); }
