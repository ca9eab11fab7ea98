/* refuse.c - a library that is loaded before the others and refuses threads or memory.
 *
 * MASCON_TEST_REFUSE=memory:N refuses the N-th call of malloc, calloc, realloc, aligned blocks and
 * mmap without a file; memory:N+ that one and all after it. memory:0 counts: the number of calls is
 * written to standard error at the end. threads:N refuses a thread where N beside the first live.
 * Built by tests/spec/refuse_spec.lua: cc -shared -fPIC refuse.c -ldl. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

enum { NOTHING, THREADS, MEMORY };
static int what, onwards;
static long nth;
static atomic_long calls;
static pid_t of;
static int (*real_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

__attribute__((constructor)) static void set_up(void)
{
    const char *s = getenv("MASCON_TEST_REFUSE"), *colon = s ? strchr(s, ':') : NULL;
    *(void **)&real_create = dlsym(RTLD_NEXT, "pthread_create");
    of = getpid();
    if (!colon) return;
    nth = atol(colon + 1);
    onwards = s[strlen(s) - 1] == '+';
    what = strncmp(s, "threads", 7) == 0 ? THREADS : MEMORY;
}

__attribute__((destructor)) static void tell(void)
{
    if (what == MEMORY && nth == 0 && getpid() == of) fprintf(stderr, "calls:%ld\n", (long)calls);
}

static int refused(int kind)
{
    if (kind != what) return 0;
    const long k = ++calls;
    return nth > 0 && (k == nth || (onwards && k > nth));
}

typedef struct thread {
    void *(*f)(void *);
    void *arg;
} thread;

static atomic_long alive;

static void *counted(void *p)
{
    const thread t = *(thread *)p;
    free(p);
    void *r = t.f(t.arg);
    alive--;
    return r;
}

int pthread_create(pthread_t *id, const pthread_attr_t *a, void *(*f)(void *), void *arg)
{
    thread *t = __libc_malloc(sizeof *t);
    if (!t || (++alive > nth && what == THREADS)) {
        if (t) alive--;
        free(t);
        return EAGAIN;
    }
    *t = (thread){ f, arg };
    const int rc = real_create(id, a, counted, t);
    if (rc) {
        alive--;
        free(t);
    }
    return rc;
}

static void *none(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t n) { return refused(MEMORY) ? none() : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return refused(MEMORY) ? none() : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return n && refused(MEMORY) ? none() : __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { return refused(MEMORY) ? none() : __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }

int posix_memalign(void **out, size_t a, size_t n)
{
    void *p = refused(MEMORY) ? NULL : __libc_memalign(a, n);
    if (!p) return ENOMEM;
    *out = p;
    return 0;
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
    if ((flags & MAP_ANONYMOUS) && refused(MEMORY)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, from);
}
