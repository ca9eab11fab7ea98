/* mc_error.c - the thread-local record of the last failing call.
 *
 * Holds the only thread-local of the library. A fixed buffer, so that reporting "out of memory"
 * needs no memory. */
#include "base/mc_error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 2048

static _Thread_local struct {
    int status;
    char text[TEXT_MAX];
} last;

int mci_error(int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char text[TEXT_MAX]; /* arguments may point into the record itself */
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    memcpy(last.text, text, sizeof text);
    last.status = status;
    return status;
}

int mci_error_io(const char *what, const char *path, int err, const char *advice)
{
    return mci_error(err == ENOMEM ? MC_ENOMEM : MC_EIO, "%s: %s: %s; %s", what, path, strerror(err), advice);
}

void mci_error_prefix(const char *prefix)
{
    char text[TEXT_MAX];
    snprintf(text, sizeof text, "%s: %.*s", prefix, TEXT_MAX - 300, last.text);
    memcpy(last.text, text, sizeof text);
}

const char *mc_errmsg(void)
{
    return last.text;
}

int mc_errstatus(void)
{
    return last.status;
}

#if defined(MC_DEBUG)
void mci_assert_failed(const char *cond, const char *file, int line)
{
    fprintf(stderr, "mascon: assertion failed: %s (%s:%d)\n", cond, file, line);
    abort();
}
#endif
