/* mc_publish.c - files of a result that appear together.
 *
 * They are written to a folder of their own inside the target, .mascon-XXXXXXXX, which a lock
 * marks as in use. Publishing writes a journal into it, renames it to .mascon-publish (from here
 * on the new set holds), removes the file that vouches for the old set, moves the files one by
 * one and the vouching file last. Folders of the set are merged into those of the same name.
 * Whoever comes next completes a publication that was killed, and removes folders whose process
 * is gone. So the vouching file (a manifest) stands only beside the files it names. Holds these
 * names. */
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX ".mascon-"
#define LETTERS 8
#define PUBLISH ".mascon-publish"
#define LOCK ".lock"
#define JOURNAL ".journal"
#define ADVICE "see that the folder and its files can be written, or choose another"

struct mc_file_set {
    int dir, lock; /* the folder of the result; the lock file of ours, held */
    char target[PATH_MAX];
    char name[sizeof PREFIX + LETTERS]; /* "" once published */
    char folder[PATH_MAX + sizeof PREFIX + LETTERS + 1];
    pid_t owner;
    mc_file_set *next;
};

static mc_file_set *open_sets;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; /* guards open_sets */

static int trouble(const char *path, int err) { return mci_error_io("results", path, err, ADVICE); }

/* ---- folders ---- */

static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The next name but "." and ".."; NULL at the end. */
static const char *next_name(DIR *d)
{
    struct dirent *e;
    while ((e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            return e->d_name;
    return NULL;
}

static DIR *list_of(int at, const char *name)
{
    int fd = open_folder(at, name);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !d)
        close(fd);
    return d;
}

/* Removes a folder with what is in it. */
static void remove_folder(int at, const char *name, int depth)
{
    DIR *d = list_of(at, name);
    if (!d)
        return;
    for (const char *n; (n = next_name(d)) != NULL;)
        if (unlinkat(dirfd(d), n, 0) != 0 && (errno == EISDIR || errno == EPERM) && depth < 8)
            remove_folder(dirfd(d), n, depth + 1);
    closedir(d);
    (void)unlinkat(at, name, AT_REMOVEDIR);
}

/* One process at a time works on the names of a folder; a file system without locks goes
 * without. */
static void hold(int fd, int on)
{
    while (flock(fd, on ? LOCK_EX : LOCK_UN) != 0 && errno == EINTR)
        ;
}

/* Whether the process that made a folder of ours is gone: nobody holds its lock. */
static int abandoned(int at, const char *name)
{
    char path[sizeof PREFIX + LETTERS + sizeof LOCK + 1];
    if (strlen(name) != strlen(PREFIX) + LETTERS || strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return 0;
    snprintf(path, sizeof path, "%s/%s", name, LOCK);
    int fd = openat(at, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT;
    int gone = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return gone;
}

static void sweep(int dir)
{
    DIR *d = list_of(dir, ".");
    if (!d)
        return;
    for (const char *n; (n = next_name(d)) != NULL;)
        if (abandoned(dir, n))
            remove_folder(dir, n, 0);
    closedir(d);
}

/* ---- publishing ---- */

#define DEPTH 8

/* Moves files to their places, folder by folder; not the names of ours, nor `last`, at the top. */
static int move_all(int from, int to, const char *last, int depth)
{
    int rc = MC_OK;
    DIR *d = list_of(from, ".");
    for (const char *n; d && rc == MC_OK && (n = next_name(d)) != NULL;) {
        struct stat st;
        if (depth == 0 && (strcmp(n, LOCK) == 0 || strcmp(n, JOURNAL) == 0 || strcmp(n, last) == 0))
            continue;
        if (fstatat(from, n, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode)) {
            rc = renameat(from, n, to, n) != 0 ? trouble(n, errno) : MC_OK;
            continue;
        }
        if (mkdirat(to, n, 0777) != 0 && errno != EEXIST)
            return closedir(d), trouble(n, errno);
        int a = open_folder(from, n), b = open_folder(to, n);
        if (a < 0 || b < 0)
            rc = trouble(n, errno);
        else
            rc = depth < DEPTH ? move_all(a, b, last, depth + 1) : trouble(n, ELOOP);
        if (rc == MC_OK)
            (void)fsync(b);
        if (a >= 0)
            close(a);
        if (b >= 0)
            close(b);
    }
    if (d)
        closedir(d);
    return rc;
}

/* Removes a file of the old set, and folders above it that it leaves empty. */
static void remove_stale(int dir, char *name)
{
    (void)unlinkat(dir, name, 0);
    for (char *slash; (slash = strrchr(name, '/')) != NULL;) {
        *slash = 0;
        if (unlinkat(dir, name, AT_REMOVEDIR) != 0)
            return;
    }
}

/* Moves what a publication left to its place. The journal: the vouching file, then files of the old
 * set that go, a line each. */
static int complete(int dir, const char *target)
{
    int at = open_folder(dir, PUBLISH), rc = MC_OK;
    if (at < 0)
        return errno == ENOENT ? MC_OK : trouble(target, errno);
    char *text = NULL;
    int fd = openat(at, JOURNAL, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st = {0};
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size < (1 << 20) &&
        (text = mci_calloc(1, (size_t)st.st_size + 1)) != NULL) {
        ssize_t n = read(fd, text, (size_t)st.st_size);
        text[n > 0 ? n : 0] = 0;
    }
    if (fd >= 0)
        close(fd);
    char *last = text, *stale = text ? strchr(text, '\n') : NULL;
    if (stale)
        *stale++ = 0;
    if (last && *last && faccessat(at, last, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        (void)unlinkat(dir, last, 0);
        for (char *end; stale && (end = strchr(stale, '\n')) != NULL; stale = end + 1) {
            *end = 0;
            remove_stale(dir, stale);
        }
    }
    rc = move_all(at, dir, last ? last : "", 0);
    if (rc == MC_OK && last && *last && renameat(at, last, dir, last) != 0 && errno != ENOENT)
        rc = trouble(last, errno);
    mci_free(text);
    close(at);
    if (rc == MC_OK) {
        (void)fsync(dir);
        remove_folder(dir, PUBLISH, 0);
    }
    return rc;
}

static int recover_folder(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || faccessat(dir, PUBLISH, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
        if (dir >= 0)
            close(dir);
        return MC_OK;
    }
    hold(dir, 1);
    int rc = complete(dir, path);
    close(dir);
    if (rc == MC_OK)
        return rc;
    char why[256];
    snprintf(why, sizeof why, "%s", mc_errmsg());
    return mci_error(MC_EIO,
                     "results: the run that wrote to %s was killed while it replaced the results "
                     "there, and they cannot be completed (%s)",
                     path, why);
}

/* Cuts the last part off a name; 0 where there is none. */
static int go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == path || strcmp(path, ".") == 0)
        return 0;
    if (slash)
        *slash = 0;
    else
        memcpy(path, ".", 2);
    return 1;
}

int mc_file_set_recover(const char *path)
{
    char given[PATH_MAX], folder[PATH_MAX];
    if (!*path || strlen(path) >= sizeof given)
        return MC_OK;
    snprintf(given, sizeof given, "%s", path);
    while (!realpath(given, folder)) /* it may not be there until the set is complete */
        if (!go_up(given))
            return MC_OK;
    for (int above = 0; above <= DEPTH; above++) {
        int rc = recover_folder(folder);
        if (rc)
            return rc;
        if (!go_up(folder))
            break;
    }
    return MC_OK;
}

/* A folder of a name that nobody has, its lock held. */
static int make_folder(mc_file_set *s)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    unsigned char random[LETTERS];
    char path[sizeof s->name + sizeof LOCK + 1];
    for (int attempt = 0; attempt < 100; attempt++) {
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
            return trouble(s->target, errno);
        memcpy(s->name, PREFIX, strlen(PREFIX));
        for (int i = 0; i < LETTERS; i++)
            s->name[strlen(PREFIX) + (size_t)i] = digits[random[i] % 36];
        s->name[strlen(PREFIX) + LETTERS] = 0;
        if (mkdirat(s->dir, s->name, 0777) == 0)
            break;
        if (errno != EEXIST || attempt == 99) {
            s->name[0] = 0;
            return trouble(s->target, errno);
        }
    }
    snprintf(path, sizeof path, "%s/%s", s->name, LOCK);
    s->lock = openat(s->dir, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (s->lock < 0)
        return trouble(s->target, errno);
    (void)flock(s->lock, LOCK_EX | LOCK_NB);
    snprintf(s->folder, sizeof s->folder, "%s/%s", s->target, s->name);
    return MC_OK;
}

mc_file_set *mc_file_set_new(const char *path)
{
    if (strlen(path) >= PATH_MAX - sizeof PREFIX - LETTERS - 2) {
        mci_error(MC_EINVAL, "results: the name of the folder is too long");
        return NULL;
    }
    mc_file_set *s = mci_calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->lock = -1;
    s->owner = getpid();
    pthread_mutex_lock(&guard);
    s->next = open_sets;
    open_sets = s;
    pthread_mutex_unlock(&guard);
    snprintf(s->target, sizeof s->target, "%s", path);
    s->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = s->dir < 0 ? trouble(path, errno) : MC_OK;
    if (rc == MC_OK) {
        hold(s->dir, 1);
        rc = complete(s->dir, path);
        if (rc == MC_OK) {
            sweep(s->dir);
            rc = make_folder(s);
        }
        hold(s->dir, 0);
    }
    if (rc == MC_OK)
        return s;
    mc_file_set_free(s);
    return NULL;
}

const char *mc_file_set_folder(const mc_file_set *s) { return s->folder; }

/* No folder stands where a file goes, nor a file where a folder goes: said before anything is
 * moved. to < 0: the folder is not there yet. */
static int free_places(int from, int to, int depth)
{
    DIR *d = list_of(from, ".");
    int rc = d ? MC_OK : trouble("the folder of the set", errno);
    for (const char *n; d && rc == MC_OK && (n = next_name(d)) != NULL;) {
        struct stat there, here;
        int taken = to >= 0 && fstatat(to, n, &there, AT_SYMLINK_NOFOLLOW) == 0;
        if (strchr(n, '\n')) {
            rc = mci_error(MC_EINVAL, "results: a file name holds a line break; choose another");
        } else if (fstatat(from, n, &here, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(here.st_mode)) {
            if (taken && S_ISDIR(there.st_mode))
                rc = mci_error_io("results", n, EISDIR,
                                  "a folder stands where this file goes; move it away");
        } else if (depth == DEPTH) {
            rc = mci_error(MC_EINVAL, "results: folders of a set are nested at most %d deep",
                           DEPTH);
        } else if (taken && !S_ISDIR(there.st_mode)) {
            rc = mci_error_io("results", n, ENOTDIR,
                              "a file stands where this folder goes; move it away");
        } else {
            int a = open_folder(from, n), b = taken ? open_folder(to, n) : -1;
            if (a < 0 || (taken && b < 0))
                rc = trouble(n, errno);
            else if (b >= 0 && faccessat(to, n, W_OK | X_OK, 0) != 0)
                rc = trouble(n, errno);
            else
                rc = free_places(a, b, depth + 1);
            if (a >= 0)
                close(a);
            if (b >= 0)
                close(b);
        }
    }
    if (d)
        closedir(d);
    return rc;
}

/* None of these names, a line each, is there: another process may have published meanwhile. */
static int absent(const mc_file_set *s, const char *names)
{
    char name[PATH_MAX];
    for (const char *end; (end = strchr(names, '\n')) != NULL; names = end + 1) {
        if (end == names || end - names >= PATH_MAX)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(end - names), names);
        if (faccessat(s->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return mci_error(MC_EIO,
                             "results: %s/%s was written by another run meanwhile and is kept; "
                             "give another folder, or replace what is there (--overwrite)",
                             s->target, name);
    }
    return MC_OK;
}

int mc_file_set_publish(mc_file_set *s, const char *last, const char *stale, const char *fresh)
{
    if (!s->name[0])
        return mci_error(MC_EINVAL, "results: the set is published already; make a new one");
    int at = open_folder(s->dir, s->name);
    int rc = at < 0 ? trouble(s->folder, errno) : free_places(at, s->dir, 0);
    int fd = rc ? -1 : openat(at, JOURNAL, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (rc == MC_OK) {
        const int64_t n = (int64_t)strlen(last), m = (int64_t)strlen(stale);
        if (fd < 0 || write(fd, last, (size_t)n) != n || write(fd, "\n", 1) != 1 ||
            write(fd, stale, (size_t)m) != m || fsync(fd) != 0 || fsync(at) != 0)
            rc = trouble(s->folder, errno);
    }
    if (fd >= 0)
        close(fd);
    if (at >= 0)
        close(at);
    if (rc)
        return rc;
    hold(s->dir, 1);
    rc = complete(s->dir, s->target); /* what another process left */
    if (rc == MC_OK)
        rc = absent(s, fresh);
    if (rc == MC_OK && renameat(s->dir, s->name, s->dir, PUBLISH) != 0)
        rc = trouble(s->target, errno);
    if (rc == MC_OK) {
        s->name[0] = 0;
        (void)fsync(s->dir);
        rc = complete(s->dir, s->target);
    }
    hold(s->dir, 0);
    return rc;
}

void mc_file_set_free(mc_file_set *s)
{
    if (!s)
        return;
    const int saved = errno;
    pthread_mutex_lock(&guard);
    for (mc_file_set **at = &open_sets; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    pthread_mutex_unlock(&guard);
    if (s->name[0])
        remove_folder(s->dir, s->name, 0);
    if (s->lock >= 0)
        close(s->lock);
    if (s->dir >= 0)
        close(s->dir);
    mci_free(s);
    errno = saved;
}

/* After all that is registered for the end: a signal may come between a set and what would free it.
 * Sets of a process that this one was forked from stay. */
MC_AT_UNLOAD static void remove_left(void)
{
    for (const mc_file_set *s = open_sets; s; s = s->next)
        if (s->owner == getpid() && s->name[0]) remove_folder(s->dir, s->name, 0);
}
