/* mc_error.c - the record of the last failing call of a thread.
 *
 * A fixed buffer behind a key, so that reporting "out of memory" needs no memory. A thread-local
 * variable would ask for memory when a thread first touches it, and end the process where there is
 * none; here a thread that gets none shares a spare record until it gets its own. */
#include "base/mc_error.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 2048

typedef struct record {
    int status;
    char text[TEXT_MAX];
} record;

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int have_key;
static record spare;
static pthread_t spare_of; /* the thread that wrote it last; read where spare.status is set */

static void make_key(void)
{
    have_key = pthread_key_create(&key, free) == 0;
}

static record *mine(void)
{
    (void)pthread_once(&once, make_key);
    record *r = have_key ? pthread_getspecific(key) : NULL;
    if (r)
        return r;
    r = have_key ? calloc(1, sizeof *r) : NULL;
    if (r && pthread_setspecific(key, r)) {
        free(r);
        r = NULL;
    }
    if (r && spare.status && pthread_equal(spare_of, pthread_self())) {
        *r = spare;
        spare.status = 0;
    }
    if (!r)
        spare_of = pthread_self();
    return r ? r : &spare;
}

int mci_error(int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char text[TEXT_MAX]; /* arguments may point into the record itself */
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    record *last = mine();
    memcpy(last->text, text, sizeof text);
    last->status = status;
    return status;
}

int mci_error_at(const char *op, const char *why, int64_t position)
{
    const int cut = (int)strcspn(why, ";");
    return mci_error(MC_EINVAL, "%s: %.*s at flat position %lld (from 1)%s", op, cut, why,
                     (long long)position, why[cut] ? why + cut : "; mask such elements out first");
}

int mci_error_io(const char *what, const char *path, int err, const char *advice)
{
    return mci_error(err == ENOMEM ? MC_ENOMEM : MC_EIO, "%s: %s: %s; %s", what, path,
                     strerror(err), advice);
}

void mci_error_prefix(const char *prefix)
{
    char text[TEXT_MAX];
    record *last = mine();
    snprintf(text, sizeof text, "%s: %.*s", prefix, TEXT_MAX - 300, last->text);
    memcpy(last->text, text, sizeof text);
}

const char *mc_errmsg(void)
{
    return mine()->text;
}

int mc_errstatus(void)
{
    return mine()->status;
}

#if defined(MC_DEBUG)
void mci_assert_failed(const char *cond, const char *file, int line)
{
    fprintf(stderr, "mascon: assertion failed: %s (%s:%d)\n", cond, file, line);
    abort();
}
#endif
