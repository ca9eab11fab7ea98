/* hdf5_drive.c - the file driver under libhdf5, for reading and for writing.
 *
 * Why not libhdf5's own: it takes two openings of one file for one, and would answer from what
 * it kept of the first, although the file has been replaced in between while some object of it
 * waits for the collector; it locks files, which fails on file systems that are mounted
 * read-only; and a file that cannot be written to its end, on a full disk, can never be closed.
 * Ours opens each file anew, locks nothing, and writes to a descriptor that the host opened
 * under a temporary name: after a failure, which it remembers, or when the file is given up, it
 * takes everything and writes nothing. */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

/* write() of more than 2 GiB is cut by the kernel anyway. */
#define ONCE ((size_t)1 << 30)

/* Bytes of unpacked chunks kept for each open dataset: rows of a chunk that are read one after the
 * other unpack it once. libhdf5's own 1 MiB is less than many a chunk: 100 rows of a gzip dataset
 * in chunks of 6 MB take 8.1 s with it and 0.13 s with this. */
#define CHUNKS ((size_t)16 << 20)

typedef struct drive {
    H5FD_t pub;    /* first, as libhdf5 wants it */
    hdf5_sink *to; /* NULL: reading */
    int fd;        /* ours when reading */
    haddr_t eoa, eof;
} drive;

static drive *of(H5FD_t *f)
{
    return (drive *)(void *)f;
}

static const drive *of_const(const H5FD_t *f)
{
    return (const drive *)(const void *)f;
}

static H5FD_t *drive_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    struct stat st;
    /* Files that links lead to are opened in the way of the first, without its info. */
    hdf5_sink *const *info = H5Pget_driver_info(access);
    hdf5_sink *to = info ? *info : NULL;
    (void)most;
    if (!to && (flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT))) return NULL;
    drive *d = hdf5_alloc(sizeof *d);
    if (!d) return NULL;
    memset(d, 0, sizeof *d);
    d->to = to;
    d->fd = to ? to->fd : open(name, O_RDONLY | O_CLOEXEC);
    if (!to && (d->fd < 0 || fstat(d->fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        if (d->fd >= 0) (void)close(d->fd);
        hdf5_host->free(d);
        return NULL;
    }
    if (!to) d->eof = (haddr_t)st.st_size;
    return &d->pub;
}

static herr_t drive_close(H5FD_t *f)
{
    if (!of(f)->to) (void)close(of(f)->fd);
    hdf5_host->free(f);
    return 0;
}

static herr_t drive_query(const H5FD_t *f, unsigned long *flags)
{
    (void)f;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

static haddr_t drive_eoa(const H5FD_t *f, H5FD_mem_t type)
{
    (void)type;
    return of_const(f)->eoa;
}

static herr_t drive_set_eoa(H5FD_t *f, H5FD_mem_t type, haddr_t at)
{
    (void)type;
    of(f)->eoa = at;
    return 0;
}

static haddr_t drive_eof(const H5FD_t *f, H5FD_mem_t type)
{
    (void)type;
    return of_const(f)->eof;
}

static herr_t drive_read(H5FD_t *f, H5FD_mem_t type, hid_t list, haddr_t at, size_t n, void *out)
{
    drive *d = of(f);
    char *p = out;
    (void)type;
    (void)list;
    if (at + n < at || at + n > d->eoa) return -1;
    while (n > 0) {
        const ssize_t k =
            d->to && d->to->dropped ? 0 : pread(d->fd, p, n < ONCE ? n : ONCE, (off_t)at);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return -1;
        if (k == 0) { /* past the end there are zeros */
            memset(p, 0, n);
            return 0;
        }
        p += k;
        at += (haddr_t)k;
        n -= (size_t)k;
    }
    return 0;
}

/* A failure towards libhdf5 would leave a file that it can never close (H5Fclose fails half way,
 * and the second one crashes), so it is only noted; the writer looks at it after every call. */
static herr_t failed(hdf5_sink *s, int err)
{
    if (!s->err) s->err = err;
    s->dropped = 1;
    return 0;
}

static herr_t drive_write(H5FD_t *f, H5FD_mem_t type, hid_t list, haddr_t at, size_t n,
                          const void *bytes)
{
    drive *d = of(f);
    const char *p = bytes;
    (void)type;
    (void)list;
    if (!d->to) return -1;
    if (at + n > d->eof) d->eof = at + n;
    while (n > 0 && !d->to->dropped) {
        const ssize_t k = pwrite(d->fd, p, n < ONCE ? n : ONCE, (off_t)at);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return failed(d->to, k < 0 ? errno : ENOSPC);
        p += k;
        at += (haddr_t)k;
        n -= (size_t)k;
    }
    return 0;
}

static herr_t drive_truncate(H5FD_t *f, hid_t list, hbool_t closing)
{
    drive *d = of(f);
    (void)list;
    (void)closing;
    if (!d->to) return 0;
    if (!d->to->dropped && ftruncate(d->fd, (off_t)d->eoa) != 0) return failed(d->to, errno);
    d->eof = d->eoa;
    return 0;
}

static hid_t driver(void)
{
    static hid_t id = -1; /* guarded by the lock */
    static const H5FD_class_t class = {
#ifdef H5FD_CLASS_VERSION
        .version = H5FD_CLASS_VERSION,
        .value = (H5FD_class_value_t)512,
#endif
        .name = "mascon",
        .maxaddr = ((haddr_t)1 << 62) - 1,
        .fc_degree = H5F_CLOSE_WEAK,
        .fapl_size = sizeof(hdf5_sink *),
        .open = drive_open,
        .close = drive_close,
        .query = drive_query,
        .get_eoa = drive_eoa,
        .set_eoa = drive_set_eoa,
        .get_eof = drive_eof,
        .read = drive_read,
        .write = drive_write,
        .truncate = drive_truncate,
        .fl_map = H5FD_FLMAP_DICHOTOMY,
    };
    if (id < 0) id = H5FDregister(&class);
    return id;
}

hid_t hdf5_access(hdf5_sink *to)
{
    const hid_t below = driver(), list = H5Pcreate(H5P_FILE_ACCESS);
    if (list >= 0 && (below < 0 || H5Pset_driver(list, below, &to) < 0)) {
        (void)H5Pclose(list);
        return -1;
    }
    if (list >= 0 && !to) (void)H5Pset_cache(list, 0, 521, CHUNKS, 0.75);
    return list;
}
