/* halt.c - a library that is loaded before the others and halts a process for good before it gives
 * a file the name that MASCON_TEST_HALT ends in.
 *
 * Built by tests/spec/publish_spec.lua: cc -shared -fPIC halt.c -ldl. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int rename(const char *from, const char *to)
{
    static int (*real)(const char *, const char *);
    const char *end = getenv("MASCON_TEST_HALT");
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "rename");
    if (end && strlen(to) >= strlen(end) && strcmp(to + strlen(to) - strlen(end), end) == 0)
        for (;;)
            (void)pause();
    return real(from, to);
}
