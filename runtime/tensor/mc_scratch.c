/* mc_scratch.c - rows of samples turned on disk, so that one stretch of time of all rows lies
 * together.
 *
 * A set larger than memory comes row by row and is wanted stretch by stretch. Written once in
 * runs, [run][row][samples of the run], every stretch is read in one piece, whatever the number
 * of rows. Holds the file: it has no name, so it goes with the process however that ends, and
 * its room is taken when it is made, so that a full disk is said before the work. */
#include "mc_lua.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"
#include "tensor/mc_tensor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE ((int64_t)1 << 20) /* bytes moved at a time */
#define PATH_ROOM 1024

struct mc_scratch {
    int fd, dtype;
    int64_t rows, n, run; /* the last run may be shorter */
    char folder[PATH_ROOM];
    char piece[PIECE];
};

/* The folder asked for, that of TMPDIR, or one that is on disk where /tmp may be memory. */
static const char *folder_of(const char *folder)
{
    const char *base = folder && *folder ? folder : getenv("TMPDIR");
    if (base && *base)
        return base;
    return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

static int nameless(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    char path[PATH_ROOM + 32];
    snprintf(path, sizeof path, "%s/mascon-XXXXXX", folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static int trouble(const mc_scratch *s, int err)
{
    char what[80];
    snprintf(what, sizeof what, "scratch: %.1f MiB of temporary file",
             (double)(s->rows * s->n * mc_itemsize(s->dtype)) / 1048576.0);
    return mci_error_io(what, s->folder, err,
                        "set TMPDIR to a folder on a disk with room, or raise max_memory");
}

mc_scratch *mc_scratch_new(const char *folder, int dtype, int64_t rows, int64_t n, int64_t run)
{
    int64_t bytes, size = mc_itemsize(dtype);
    if (size < 1 || rows < 1 || n < 1 || run < 1 || run > PIECE / size) {
        mci_error(MC_EINVAL, "scratch: %lld rows of %lld in runs of %lld are no scratch file",
                  (long long)rows, (long long)n, (long long)run);
        return NULL;
    }
    if (mci_size_mul(rows, n, &bytes) || mci_size_mul(bytes, size, &bytes))
        return NULL;
    mc_scratch *s = mci_alloc(sizeof *s);
    if (!s)
        return NULL;
    s->fd = -1;
    s->dtype = dtype;
    s->rows = rows;
    s->n = n;
    s->run = run;
    snprintf(s->folder, sizeof s->folder, "%s", folder_of(folder));
    s->fd = nameless(s->folder);
    if (s->fd < 0) {
        trouble(s, errno);
        goto fail;
    }
    int rc;
    while ((rc = fallocate(s->fd, 0, 0, bytes)) != 0 && errno == EINTR)
        ;
    if (rc != 0 && errno != EOPNOTSUPP && errno != ENOSYS) {
        trouble(s, errno);
        goto fail;
    }
    return s;
fail:
    mc_scratch_free(s);
    return NULL;
}

void mc_scratch_free(mc_scratch *s)
{
    if (s && s->fd >= 0)
        close(s->fd);
    mci_free(s);
}

/* `bytes` of memory to or from the file. */
static int move(const mc_scratch *s, char *p, int64_t at, int64_t bytes, int writing)
{
    for (int64_t done = 0; done < bytes;) {
        ssize_t k = writing ? pwrite(s->fd, p + done, (size_t)(bytes - done), at + done)
                            : pread(s->fd, p + done, (size_t)(bytes - done), at + done);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return trouble(s, k < 0 ? errno : EIO);
        done += k;
    }
    return MC_OK;
}

/* Elements first .. first + k of rows row .. row + count: between memory, rows k_stride elements
 * apart, and the file. A run at a time. */
static int turn(mc_scratch *s, int64_t row, int64_t count, int64_t first, int64_t k, char *data,
                int64_t stride, int writing)
{
    const int64_t size = mc_itemsize(s->dtype);
    for (int64_t t = first; t < first + k; t += s->run) {
        const int64_t len = s->n - t < s->run ? s->n - t : s->run,
                      got = first + k - t < len ? first + k - t : len;
        const int64_t most = PIECE / (len * size);
        for (int64_t r = 0; r < count; r += most) {
            const int64_t rows = count - r < most ? count - r : most, bytes = rows * len * size;
            const int64_t at = (t * s->rows + (row + r) * len) * size;
            char *x = data + (r * stride + t - first) * size, *piece = stride == len ? x : s->piece;
            for (int64_t i = 0; writing && piece != x && i < rows; i++)
                memcpy(piece + i * len * size, x + i * stride * size, (size_t)(len * size));
            int rc = move(s, piece, at, bytes, writing);
            if (rc)
                return rc;
            for (int64_t i = 0; !writing && piece != x && i < rows; i++)
                memcpy(x + i * stride * size, piece + i * len * size, (size_t)(got * size));
        }
    }
    return MC_OK;
}

/* The sizes of a tensor as rows: those of its last axis, and how many there are. */
static int rows_of(const mc_scratch *s, const mc_tensor *x, int64_t *count, int64_t *k)
{
    char text[MCI_TEXT];
    if (mci_check_live("scratch", x))
        return mc_errstatus();
    if (x->ndim < 1 || x->dtype != s->dtype || !mci_contiguous(x) || x->shape[x->ndim - 1] < 1)
        return mci_error(MC_EDTYPE, "scratch: rows are %s; they must be contiguous %s",
                         mci_tensor_text(text, sizeof text, x), mc_dtype_name(s->dtype));
    *k = x->shape[x->ndim - 1];
    *count = x->numel / *k;
    return MC_OK;
}

int mc_scratch_put(mc_scratch *s, int64_t row, const mc_tensor *x)
{
    int64_t count, k;
    int rc = rows_of(s, x, &count, &k);
    if (rc)
        return rc;
    if (k != s->n || row < 0 || row > s->rows - count)
        return mci_error(MC_ESHAPE,
                         "scratch: rows %lld to %lld of %lld do not fit into %lld of %lld",
                         (long long)row, (long long)(row + count), (long long)k, (long long)s->rows,
                         (long long)s->n);
    return turn(s, row, count, 0, k, x->data, k, 1);
}

int mc_scratch_get(mc_scratch *s, int64_t first, mc_tensor *out)
{
    int64_t count, k;
    int rc = rows_of(s, out, &count, &k);
    if (rc)
        return rc;
    if (count != s->rows || first < 0 || first % s->run != 0 || first > s->n - k)
        return mci_error(MC_ESHAPE,
                         "scratch: %lld samples from %lld of %lld rows are not a stretch of %lld "
                         "of %lld in runs of %lld",
                         (long long)k, (long long)first, (long long)count, (long long)s->n,
                         (long long)s->rows, (long long)s->run);
    return turn(s, 0, count, first, k, out->data, k, 0);
}
