/* mc_infile.c - a file or a piece of memory to read from.
 *
 * Holds: the read-only private mapping, the descriptor, short reads and EINTR, and a reference
 * count, so that a handle made from a part of a file keeps the whole alive. A mapped file that
 * somebody shortens raises SIGBUS in the reader; formats that stay open for long therefore read
 * by position. */
#define _XOPEN_SOURCE 700
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_MAX ((size_t)1 << 30)

struct mci_infile {
    atomic_int refs;
    int fd; /* -1: memory or mapping */
    const char *op;
    const unsigned char *data;
    int64_t size;
    void *mapping; /* to unmap, or NULL */
    void *owned;   /* to free, or NULL */
    char name[];
};

/* The bytes p[0..0) of an empty file. */
static const unsigned char nothing[1];

static mci_infile *new_infile(const char *op, const char *name)
{
    size_t n = strlen(name);
    mci_infile *f = mci_alloc(sizeof *f + n + 1);
    if (!f) return NULL;
    atomic_init(&f->refs, 1);
    f->fd = -1;
    f->op = op;
    f->data = nothing;
    f->size = 0;
    f->mapping = f->owned = NULL;
    memcpy(f->name, name, n + 1);
    return f;
}

static const char *advice_for(int err)
{
    switch (err) {
    case ENOENT:
    case ENOTDIR: return "check the path";
    case EACCES:
    case EPERM: return "ask for the right to read it";
    case EISDIR: return "give the name of a file";
    case EMFILE:
    case ENFILE: return "close files that are no longer needed";
    default: return "check the file and its disk";
    }
}

static mci_infile *open_regular(const char *op, const char *path)
{
    struct stat st;
    mci_infile *f;
    if (!path || !path[0]) {
        mci_error(MC_EINVAL, "%s: the file name is empty; give a path", op);
        return NULL;
    }
    f = new_infile(op, path);
    if (!f) return NULL;
    /* O_NONBLOCK: opening a pipe must not wait; it is refused below. */
    do f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (f->fd < 0 && errno == EINTR);
    if (f->fd < 0 || fstat(f->fd, &st) != 0) {
        mci_error_io(op, path, errno, advice_for(errno));
        goto fail;
    }
    if (S_ISDIR(st.st_mode)) {
        mci_error_io(op, path, EISDIR, advice_for(EISDIR));
        goto fail;
    }
    if (!S_ISREG(st.st_mode)) {
        mci_error(MC_EUNSUPPORTED, "%s: %s is a pipe or a device; copy it to a file first", op,
                  path);
        goto fail;
    }
    f->size = (int64_t)st.st_size;
    f->data = NULL;
    return f;
fail:
    mci_infile_release(f);
    return NULL;
}

mci_infile *mci_infile_open(const char *op, const char *path)
{
    return open_regular(op, path);
}

mci_infile *mci_infile_map(const char *op, const char *path)
{
    mci_infile *f = open_regular(op, path);
    if (!f) return NULL;
    if (f->size == 0) {
        f->data = nothing;
    } else {
        f->mapping = mmap(NULL, (size_t)f->size, PROT_READ, MAP_PRIVATE, f->fd, 0);
        if (f->mapping == MAP_FAILED) {
            f->mapping = NULL;
            mci_error_io(op, path, errno, advice_for(errno));
            mci_infile_release(f);
            return NULL;
        }
        f->data = f->mapping;
    }
    (void)close(f->fd);
    f->fd = -1;
    return f;
}

mci_infile *mci_infile_memory(const char *op, const void *bytes, int64_t n)
{
    mci_infile *f;
    if (n < 0 || (n > 0 && !bytes)) {
        mci_error(MC_EINVAL, "%s: a negative number of bytes, or none given; check the call", op);
        return NULL;
    }
    f = new_infile(op, "(memory)");
    if (!f) return NULL;
    if (n > 0) f->data = bytes;
    f->size = n;
    return f;
}

mci_infile *mci_infile_adopt(const char *op, const char *name, void *bytes, int64_t n)
{
    mci_infile *f = new_infile(op, name);
    if (!f) {
        mci_free(bytes);
        return NULL;
    }
    f->data = f->owned = bytes;
    f->size = n;
    return f;
}

mci_infile *mci_infile_share(mci_infile *f)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}

void mci_infile_release(mci_infile *f)
{
    if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1) return;
    if (f->mapping) (void)munmap(f->mapping, (size_t)f->size);
    if (f->fd >= 0) (void)close(f->fd);
    mci_free(f->owned);
    mci_free(f);
}

void mci_infile_forget(const mci_infile *f, const void *from, int64_t n)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), base = (uintptr_t)f->mapping;
    uintptr_t lo = (uintptr_t)from & ~(page - 1),
              hi = ((uintptr_t)from + (uintptr_t)n + page - 1) & ~(page - 1);
    /* a hint; the mapping is never written, so nothing is lost */
    if (f->mapping && n > 0 && (uintptr_t)from >= base &&
        (uintptr_t)from + (uintptr_t)n <= base + (uintptr_t)f->size)
        (void)madvise((void *)lo, hi - lo, MADV_DONTNEED);
}

int64_t mci_infile_size(const mci_infile *f)
{
    return f->size;
}

const char *mci_infile_name(const mci_infile *f)
{
    return f->name;
}

const unsigned char *mci_infile_data(const mci_infile *f)
{
    return f->data;
}

int mci_infile_read(const mci_infile *f, int64_t at, void *out, int64_t n)
{
    unsigned char *p = out;
    if (at < 0 || n < 0 || at > f->size - n)
        return mci_error(MC_EINTERNAL, "%s: %s: read outside the file", f->op, f->name);
    if (f->data) {
        memcpy(out, f->data + at, (size_t)n);
        return MC_OK;
    }
    while (n > 0) {
        ssize_t k = pread(f->fd, p, (size_t)n < READ_MAX ? (size_t)n : READ_MAX, (off_t)at);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return mci_error_io(f->op, f->name, errno, advice_for(errno));
        if (k == 0)
            return mci_error(MC_EIO, "%s: %s has become shorter since it was opened; open it again",
                             f->op, f->name);
        p += k;
        at += k;
        n -= k;
    }
    return MC_OK;
}
