/* mc_lock.c - one process at a time writes an output.
 *
 * A file beside the output that the system locks as long as its process lives, so a process that
 * was killed leaves a lock that the next one takes. It holds who has it: process, machine, start.
 * Where the file system knows no locks, these words decide: a process of this machine that is
 * gone has left it, one of another machine may be there still. Holds these words. */
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 512 };

struct mc_lock {
    int fd;
    pid_t owner;
    struct mc_lock *next;
    char path[PATH_MAX];
};

static mc_lock *taken_locks;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; /* guards taken_locks */

static int trouble(const char *path, int err)
{
    return mci_error_io("lock", path, err,
                        "see that the folder can be written, or choose another output");
}

static int held(const char *path, const char *who)
{
    return mci_error(MC_EIO,
                     "another run writes there: %s is held by process %s; wait for it, or choose "
                     "another output",
                     path, *who ? who : "(unknown)");
}

/* The words in the file; "" where there are none. */
static void read_words(int fd, char *text)
{
    ssize_t n = pread(fd, text, WORDS - 1, 0);
    text[n > 0 ? n : 0] = 0;
    text[strcspn(text, "\n")] = 0;
}

static void here(char *host)
{
    if (gethostname(host, 256) != 0)
        strcpy(host, "?");
    host[255] = 0;
}

/* Whether the process in the words may still be there. */
static int lives(const char *text)
{
    char host[256], mine[256];
    long pid = 0;
    if (sscanf(text, "%ld on %255[^,\n]", &pid, host) != 2 || pid <= 0)
        return 0;
    here(mine);
    return strcmp(host, mine) != 0 || kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

static int write_words(int fd, const char *path)
{
    char text[WORDS], host[256], when[32];
    const time_t now = time(NULL);
    struct tm t;
    here(host);
    gmtime_r(&now, &t);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &t);
    const int n = snprintf(text, sizeof text, "%ld on %s, since %s\n", (long)getpid(), host, when);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n)
        return trouble(path, errno);
    return MC_OK;
}

/* Opens and locks the file; -1 after an error, -2 when the file was removed meanwhile. */
static int attempt(const char *path)
{
    char text[WORDS];
    struct stat a, b;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return trouble(path, errno), -1;
    const int taken = flock(fd, LOCK_EX | LOCK_NB) == 0, err = errno;
    read_words(fd, text);
    const int busy = !taken && (err == EWOULDBLOCK || lives(text));
    if (!busy && fstat(fd, &a) == 0 && (stat(path, &b) != 0 || a.st_ino != b.st_ino)) {
        close(fd);
        return -2;
    }
    if (!busy && (write_words(fd, path) == MC_OK || taken)) /* a full disk takes no words */
        return fd;
    if (busy)
        held(path, text);
    close(fd);
    return -1;
}

mc_lock *mc_lock_take(const char *path)
{
    if (strlen(path) >= PATH_MAX) {
        mci_error(MC_EINVAL, "lock: the name of the output is too long; choose another");
        return NULL;
    }
    mc_lock *l = mci_calloc(1, sizeof *l);
    if (!l)
        return NULL;
    strcpy(l->path, path);
    for (int k = 0; k < 100; k++)
        if ((l->fd = attempt(path)) != -2)
            break;
    if (l->fd >= 0) {
        l->owner = getpid();
        pthread_mutex_lock(&guard);
        l->next = taken_locks;
        taken_locks = l;
        pthread_mutex_unlock(&guard);
        return l;
    }
    if (l->fd == -2)
        held(path, "");
    mci_free(l);
    return NULL;
}

int mc_file_same(const char *a, const char *b)
{
    const int saved = errno;
    struct stat x, y;
    const int same =
        stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    errno = saved;
    return same;
}

int mc_lock_is(const mc_lock *l, const char *path)
{
    const int saved = errno;
    struct stat a, b;
    const int same = fstat(l->fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
                     a.st_ino == b.st_ino;
    errno = saved;
    return same;
}

void mc_lock_free(mc_lock *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&guard);
    for (mc_lock **at = &taken_locks; *at; at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            break;
        }
    pthread_mutex_unlock(&guard);
    const int saved = errno;
    if (mc_lock_is(l, l->path)) /* the folder may have been removed, and made by others */
        (void)unlink(l->path);
    close(l->fd);
    mci_free(l);
    errno = saved;
}

/* After all that is registered for the end: a signal may come between a lock and what would free
 * it. Locks of a process that this one was forked from stay. */
MC_AT_UNLOAD static void remove_left(void)
{
    for (const mc_lock *l = taken_locks; l; l = l->next)
        if (l->owner == getpid() && mc_lock_is(l, l->path)) (void)unlink(l->path);
}
