/* step.c - a library that is loaded before the others and ends the process with SIGKILL before its
 * N-th call of the system that changes names or files.
 *
 * MASCON_TEST_STEP=N, from the moment at which the process makes a folder whose name begins with
 * .mascon-; 0 counts: the number of calls is written to standard error at the end. Built by
 * tests/spec/publish_spec.lua: cc -shared -fPIC step.c -ldl. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static long nth = -1, calls;
static int begun;
static pid_t of;

__attribute__((constructor)) static void set_up(void)
{
    const char *s = getenv("MASCON_TEST_STEP");
    if (s)
        nth = atol(s);
    of = getpid();
}

__attribute__((destructor)) static void tell(void)
{
    if (nth == 0 && getpid() == of)
        fprintf(stderr, "calls:%ld\n", calls);
}

static void step(void)
{
    if (begun && ++calls == nth)
        kill(getpid(), SIGKILL);
}

#define REAL(type, name, ...)                                                                      \
    static type (*real)(__VA_ARGS__);                                                              \
    if (!real)                                                                                     \
        *(void **)&real = dlsym(RTLD_NEXT, #name);

int mkdirat(int at, const char *name, mode_t mode)
{
    REAL(int, mkdirat, int, const char *, mode_t)
    if (strncmp(name, ".mascon-", 8) == 0)
        begun = 1;
    step();
    return real(at, name, mode);
}

int renameat(int a, const char *from, int b, const char *to)
{
    REAL(int, renameat, int, const char *, int, const char *)
    step();
    return real(a, from, b, to);
}

int rename(const char *from, const char *to)
{
    REAL(int, rename, const char *, const char *)
    step();
    return real(from, to);
}

int unlinkat(int at, const char *name, int flags)
{
    REAL(int, unlinkat, int, const char *, int)
    step();
    return real(at, name, flags);
}

int unlink(const char *name)
{
    REAL(int, unlink, const char *)
    step();
    return real(name);
}

int fsync(int fd)
{
    REAL(int, fsync, int)
    step();
    return real(fd);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    REAL(ssize_t, write, int, const void *, size_t)
    if (fd > 2)
        step();
    return real(fd, bytes, n);
}
