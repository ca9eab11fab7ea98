/* mc_outfile.c - the one way in which the library writes a file.
 *
 * Holds: temporary name, buffer, short writes and EINTR, fsync, rename, clean-up. The bytes go
 * to `path.tmp-XXXXXX` beside the target, so that the rename stays within one file system and a
 * reader sees the old file or the whole new one, never a part. What is not a regular file (a
 * pipe, /dev/null) has no old content to protect and is written directly. */
#define _XOPEN_SOURCE 700
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES 65536
#define SUFFIX ".tmp-XXXXXX"
/* write() of more than 2 GiB is cut by the kernel anyway. */
#define WRITE_MAX ((size_t)1 << 30)

struct mc_file_writer {
    const char *op;
    int fd;     /* -1 once committed or failed to open */
    int direct; /* no temporary file */
    int failed; /* an earlier error; nothing more is written */
    int64_t flushed;
    size_t fill;
    char *path; /* final name, links resolved */
    char *temp; /* "" when there is nothing to remove */
    unsigned char buffer[BUFFER_BYTES];
};

static const char *advice_for(int err)
{
    switch (err) {
    case ENOSPC:
    case EDQUOT:
        return "free some space or choose a path on another disk; an older file of this name is "
               "unchanged";
    case EACCES:
    case EPERM:
    case EROFS: return "choose a directory and a file that you may write";
    case ENOENT:
    case ENOTDIR: return "create the directory first or correct the path";
    case EISDIR: return "give the name of a file inside this directory";
    case EFBIG:
        return "raise the file size limit (ulimit -f) or write less; an older file is unchanged";
    case ENAMETOOLONG: return "choose a shorter file name";
    case EMFILE:
    case ENFILE: return "close files that are no longer needed";
    case EPIPE: return "the reader of this pipe has gone";
    default: return "an older file of this name is unchanged";
    }
}

static int fail(mci_outfile *f, int err)
{
    f->failed = 1;
    return mci_error_io(f->op, f->path, err, advice_for(err));
}

/* Fills the six X of a temporary name from the clock, the process and a try count. */
static void fill_suffix(char *x, int attempt)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    struct timespec now;
    uint64_t v;
    clock_gettime(CLOCK_MONOTONIC, &now);
    v = (uint64_t)now.tv_nsec + (uint64_t)now.tv_sec * 1000000007u +
        (uint64_t)getpid() * 2654435761u;
    v += (uint64_t)attempt * 0x9E3779B97F4A7C15u;
    v ^= v >> 29;
    v *= 0xBF58476D1CE4E5B9u;
    v ^= v >> 32;
    for (int i = 0; i < 6; i++, v /= 36) x[i] = digits[v % 36];
}

static int open_temp(mci_outfile *f)
{
    size_t n = strlen(f->path);
    memcpy(f->temp, f->path, n);
    memcpy(f->temp + n, SUFFIX, sizeof SUFFIX);
    for (int attempt = 0; attempt < 100; attempt++) {
        fill_suffix(f->temp + n + sizeof SUFFIX - 7, attempt);
        f->fd = open(f->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (f->fd >= 0) return MC_OK;
        if (errno != EEXIST && errno != EINTR) break;
    }
    f->temp[0] = 0;
    return fail(f, errno);
}

/* Decides between a temporary file and direct writing, and opens. */
static int open_target(mci_outfile *f, int patch)
{
    struct stat st;
    int there = stat(f->path, &st) == 0;
    if (!there && errno != ENOENT) return fail(f, errno);
    if (there && S_ISDIR(st.st_mode)) return fail(f, EISDIR);
    if (there && !S_ISREG(st.st_mode)) {
        if (patch) {
            f->failed = 1;
            return mci_error(
                MC_EUNSUPPORTED,
                "%s: %s is a pipe or a device, and this format is completed at its beginning; "
                "write to a file and copy that",
                f->op, f->path);
        }
        f->direct = 1;
        f->fd = open(f->path, O_WRONLY | O_CLOEXEC);
        return f->fd >= 0 ? MC_OK : fail(f, errno);
    }
    /* A rename would also replace a file that its owner has protected. */
    if (there && access(f->path, W_OK) != 0) return fail(f, errno);
    if (open_temp(f) != MC_OK) return mc_errstatus();
    if (there) (void)fchmod(f->fd, st.st_mode & 0777);
    return MC_OK;
}

mci_outfile *mci_outfile_open(const char *op, const char *path, int patch)
{
    mci_outfile *f;
    char real[PATH_MAX];
    size_t n;
    if (!path || !path[0]) {
        mci_error(MC_EINVAL, "%s: the file name is empty; give a path", op);
        return NULL;
    }
    /* Write through a symbolic link instead of replacing it. Devices keep their given name. */
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && stat(path, &st) == 0 &&
        S_ISREG(st.st_mode) && realpath(path, real))
        path = real;
    n = strlen(path);
    f = mci_alloc(sizeof *f + 2 * n + 2 + sizeof SUFFIX);
    if (!f) return NULL;
    f->op = op;
    f->fd = -1;
    f->direct = f->failed = 0;
    f->flushed = 0;
    f->fill = 0;
    f->path = (char *)(f + 1);
    memcpy(f->path, path, n + 1);
    f->temp = f->path + n + 1;
    f->temp[0] = 0;
    if (open_target(f, patch) != MC_OK) {
        mci_outfile_free(f);
        return NULL;
    }
    return f;
}

static int write_out(mci_outfile *f, const unsigned char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = write(f->fd, p, n < WRITE_MAX ? n : WRITE_MAX);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return fail(f, k < 0 ? errno : ENOSPC);
        p += k;
        n -= (size_t)k;
        f->flushed += k;
    }
    return MC_OK;
}

static int flush(mci_outfile *f)
{
    size_t n = f->fill;
    f->fill = 0;
    return n ? write_out(f, f->buffer, n) : MC_OK;
}

/* MC_OK when the file still takes bytes. */
static int check_open(const mci_outfile *f, int64_t n, const void *bytes)
{
    if (f->failed)
        return mci_error(MC_EIO,
                         "%s: %s: an earlier write failed; release this writer and start again",
                         f->op, f->path);
    if (f->fd < 0)
        return mci_error(MC_EINVAL, "%s: %s: the file is complete already; start a new one", f->op,
                         f->path);
    if (n < 0 || (n > 0 && !bytes))
        return mci_error(MC_EINVAL,
                         "%s: %s: a negative number of bytes, or none given; check the call", f->op,
                         f->path);
    return MC_OK;
}

int mci_outfile_write(mci_outfile *f, const void *bytes, int64_t n)
{
    int rc = check_open(f, n, bytes);
    if (rc != MC_OK) return rc;
    if (n == 0) return MC_OK;
    if ((size_t)n >= BUFFER_BYTES - f->fill) {
        rc = flush(f);
        if (rc != MC_OK) return rc;
        if ((size_t)n >= BUFFER_BYTES) return write_out(f, bytes, (size_t)n);
    }
    memcpy(f->buffer + f->fill, bytes, (size_t)n);
    f->fill += (size_t)n;
    return MC_OK;
}

int mci_outfile_patch(mci_outfile *f, int64_t at, const void *bytes, int64_t n)
{
    const unsigned char *p = bytes;
    int rc = check_open(f, n, bytes);
    if (rc != MC_OK) return rc;
    if (f->direct || at < 0 || at > mci_outfile_size(f) - n)
        return mci_error(MC_EINTERNAL, "%s: %s: change outside what was written", f->op, f->path);
    if (at >= f->flushed) {
        memcpy(f->buffer + (at - f->flushed), bytes, (size_t)n);
        return MC_OK;
    }
    if (at + n > f->flushed) {
        rc = flush(f);
        if (rc != MC_OK) return rc;
    }
    while (n > 0) {
        ssize_t k = pwrite(f->fd, p, (size_t)n, (off_t)at);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return fail(f, k < 0 ? errno : EIO);
        p += k;
        at += k;
        n -= k;
    }
    return MC_OK;
}

int64_t mci_outfile_size(const mci_outfile *f)
{
    return f->flushed + (int64_t)f->fill;
}

int mci_outfile_fd(const mci_outfile *f)
{
    return f->fd;
}

int mci_outfile_failed(mci_outfile *f, int err)
{
    return fail(f, err);
}

/* Makes the new name itself survive a power cut. The data is safe by now, so a file system that
 * cannot do this is no reason to report failure. */
static void sync_directory(const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    int fd;
    if (n >= sizeof dir) return;
    memcpy(dir, path, n);
    if (n == 0) dir[n++] = slash ? '/' : '.';
    dir[n] = 0;
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    (void)close(fd);
}

int mci_outfile_commit(mci_outfile *f)
{
    int rc = check_open(f, 0, NULL), fd;
    if (rc == MC_OK) rc = flush(f);
    if (rc != MC_OK) return rc;
    while (!f->direct && fsync(f->fd) != 0)
        if (errno != EINTR) return fail(f, errno);
    fd = f->fd;
    f->fd = -1;
    /* NFS reports a full disk here. After EINTR Linux has closed the descriptor. */
    if (close(fd) != 0 && errno != EINTR) return fail(f, errno);
    if (f->direct) return MC_OK;
    if (rename(f->temp, f->path) != 0) return fail(f, errno);
    f->temp[0] = 0;
    sync_directory(f->path);
    return MC_OK;
}

void mci_outfile_free(mci_outfile *f)
{
    if (!f) return;
    int saved = errno;
    if (f->fd >= 0) (void)close(f->fd);
    if (f->temp[0]) (void)unlink(f->temp);
    errno = saved;
    mci_free(f);
}

mc_file_writer *mc_file_create(const char *path)
{
    return mci_outfile_open("write", path, 0);
}

int mc_file_append(mc_file_writer *w, const void *bytes, int64_t n)
{
    if (!w) return mci_error(MC_EINVAL, "write: no file; open it with mc_file_create");
    return mci_outfile_write(w, bytes, n);
}

int mc_file_commit(mc_file_writer *w)
{
    if (!w) return mci_error(MC_EINVAL, "write: no file; open it with mc_file_create");
    return mci_outfile_commit(w);
}

void mc_file_writer_free(mc_file_writer *w)
{
    mci_outfile_free(w);
}

int mc_file_write(const char *path, const void *bytes, int64_t n)
{
    mci_outfile *f = mci_outfile_open("write", path, 0);
    int rc;
    if (!f) return mc_errstatus();
    rc = mci_outfile_write(f, bytes, n);
    if (rc == MC_OK) rc = mci_outfile_commit(f);
    mci_outfile_free(f);
    return rc;
}
