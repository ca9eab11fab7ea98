/* mc_hdf5_serve.c - the process that reads one HDF5 file for another: answers its requests until
 * it hangs up.
 *
 * libhdf5 trusts the bytes of a file; what it does here with a hostile one ends this process alone.
 * Each answer has so much processor time, after which the system ends the process, also when nobody
 * waits for it any more. Holds the objects by number. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "formats/mc_hdf5_apart.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"
#include "device/mc_context.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

/* ---- both sides ---- */

int mci_apart_send(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;
    while (n > 0) {
        const ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return -1;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

int mci_apart_receive(int fd, void *bytes, size_t n)
{
    char *p = bytes;
    while (n > 0) {
        const ssize_t k = recv(fd, p, n, 0);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return -1;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

void mci_apart_begin(apart_boxes *b, const mc_hdf5_about *a, int64_t item, const int64_t *start,
                     const int64_t *count, const int64_t *step)
{
    b->rank = a->kind == MC_H5_ATTRIBUTE ? 0 : a->rank;
    b->item = item;
    b->bytes = a->kind == MC_H5_ATTRIBUTE ? item * a->numel : item;
    for (int k = 0; k < b->rank; k++) {
        b->start[k] = start[k];
        b->count[k] = b->size[k] = count[k];
        b->step[k] = step[k];
        b->chunk[k] = a->chunked && step[k] == 1 ? a->chunk[k] : 1;
        b->bytes *= count[k];
    }
    for (int k = 0; k < b->rank && b->bytes > APART_BOX; k++) {
        const int64_t one = b->bytes / b->size[k];
        int64_t n = APART_BOX / one / b->chunk[k] * b->chunk[k];
        if (n < b->chunk[k]) n = b->chunk[k];
        if (n < b->size[k]) b->size[k] = n;
        b->bytes = one * b->size[k];
    }
    b->at[0] = -1;
}

/* Elements of axis k from at[k] on: up to a border of chunks where not all are taken. */
static int64_t extent(const apart_boxes *b, int k)
{
    int64_t n = b->size[k];
    if (n < b->count[k]) n -= (b->start[k] + b->at[k]) % b->chunk[k];
    return n < b->count[k] - b->at[k] ? n : b->count[k] - b->at[k];
}

int mci_apart_next(apart_boxes *b)
{
    if (b->at[0] < 0) {
        memset(b->at, 0, sizeof b->at);
    } else {
        int k = b->rank - 1;
        for (; k >= 0; k--) {
            b->at[k] += b->now[k];
            if (b->at[k] < b->count[k]) break;
            b->at[k] = 0;
        }
        if (k < 0) return 0;
    }
    for (int k = 0; k < b->rank; k++) b->now[k] = extent(b, k);
    return 1;
}

int64_t mci_apart_bytes(const apart_boxes *b)
{
    int64_t n = b->rank > 0 ? b->item : b->bytes;
    for (int k = 0; k < b->rank; k++) n *= b->now[k];
    return n;
}

/* ---- the reader ---- */

/* Processor time for an answer, s: the least, more for large files up to the most, and a second for
 * each piece of this many bytes of it. */
#define LEAST_SECONDS 2
#define MOST_SECONDS 8
#define PER_SECOND ((int64_t)20 << 20)
/* Memory that a file may take: a fixed part, and the most that deflate can make of its bytes. */
#define MEMORY ((int64_t)1 << 30)
#define EXPANSION 1100

typedef struct server {
    const mc_hdf5_api *api;
    void **objects; /* by number from 1 on; NULL: closed */
    int count, room;
    char *slots;
    int64_t mapped, seconds; /* seconds: for an answer without numbers */
} server;

static void allow(const server *s, int64_t bytes)
{
    const struct itimerval t = { { 0, 0 }, { s->seconds + bytes / PER_SECOND, 0 } };
    (void)setitimer(ITIMER_PROF, &t, NULL);
}

static int answer(int status, int id, int64_t n, const mc_hdf5_about *a, const void *bytes,
                  int64_t length)
{
    apart_reply r;
    memset(&r, 0, sizeof r);
    r.status = status;
    r.id = id;
    r.n = n;
    if (status) {
        bytes = mc_errmsg();
        length = (int64_t)strlen(bytes);
    }
    r.length = length;
    if (a && !status) r.about = *a;
    if (mci_apart_send(HDF5_SOCKET, &r, sizeof r)) return -1;
    return length > 0 ? mci_apart_send(HDF5_SOCKET, bytes, (size_t)length) : 0;
}

static int failed(void)
{
    return answer(mc_errstatus() ? mc_errstatus() : MC_EFORMAT, 0, 0, NULL, NULL, 0);
}

/* A new object under a number. */
static int answer_object(server *s, void *o)
{
    mc_hdf5_about a;
    if (!o) return failed();
    if (s->count == s->room) {
        const int room = s->room ? 2 * s->room : 64;
        void **p = mci_realloc(s->objects, (size_t)room * sizeof *p);
        if (!p) return failed();
        s->objects = p;
        s->room = room;
    }
    int id = 0;
    while (id < s->count && s->objects[id]) id++;
    if (id == s->count) s->count++;
    s->objects[id] = o;
    s->api->about(o, &a);
    return answer(0, id + 1, 0, &a, NULL, 0);
}

/* Limits by the size of the file. */
static void limit_by_size(server *s, const char *path)
{
    struct stat st;
    struct rlimit r = { 0, 0 };
    (void)setrlimit(RLIMIT_CORE, &r);
    if (stat(path, &st) != 0) return;
    const int64_t seconds = LEAST_SECONDS + (int64_t)st.st_size / PER_SECOND;
    s->seconds = seconds < MOST_SECONDS ? seconds : MOST_SECONDS;
    if (getrlimit(RLIMIT_DATA, &r) != 0) return;
    const rlim_t most = (rlim_t)MEMORY + (rlim_t)EXPANSION * (rlim_t)st.st_size;
    if (r.rlim_max == RLIM_INFINITY || most < r.rlim_max) r.rlim_cur = r.rlim_max = most;
    (void)setrlimit(RLIMIT_DATA, &r);
}

static int send_names(server *s, void *o, int what)
{
    const int64_t n = s->api->count(o, what);
    int64_t total = 0;
    if (n < 0) return failed();
    for (int64_t i = 0; i < n; i++) total += (int64_t)strlen(s->api->name_of(o, what, i)) + 1;
    char *all = mci_alloc((size_t)total + 1), *p = all;
    if (!all) return failed();
    for (int64_t i = 0; i < n; i++) {
        const char *name = s->api->name_of(o, what, i);
        const size_t k = strlen(name) + 1;
        memcpy(p, name, k);
        p += k;
    }
    const int rc = answer(0, 0, n, NULL, all, total);
    mci_free(all);
    return rc;
}

static int send_texts(server *s, void *o, const apart_request *q)
{
    if (s->api->read_texts(o, q->start, q->count, q->step)) return failed();
    int64_t n = 0, total = 0, bytes;
    while (s->api->text(o, n, &bytes)) {
        n++;
        total += bytes;
    }
    char *all = mci_alloc((size_t)(total + n * 8) + 1);
    if (!all) return failed();
    char *p = all + n * 8;
    for (int64_t i = 0; i < n; i++) { /* lengths, then the texts */
        const char *text = s->api->text(o, i, &bytes);
        memcpy(all + i * 8, &bytes, 8);
        memcpy(p, text, (size_t)bytes);
        p += bytes;
    }
    const int rc = answer(0, 0, n, NULL, all, total + n * 8);
    mci_free(all);
    return rc;
}

static int send_numbers(server *s, void *o, const apart_request *q)
{
    mc_hdf5_about a;
    apart_boxes b;
    char ready;
    s->api->about(o, &a);
    if (2 * q->slot > s->mapped) {
        if (s->slots) (void)munmap(s->slots, (size_t)s->mapped);
        s->slots =
            mmap(NULL, (size_t)(2 * q->slot), PROT_READ | PROT_WRITE, MAP_SHARED, HDF5_MEMORY, 0);
        s->mapped = s->slots == MAP_FAILED ? 0 : 2 * q->slot;
        if (s->slots == MAP_FAILED) {
            s->slots = NULL;
            (void)mci_error(
                MC_ENOMEM, "hdf5: no memory to read into; release tensors, or read less at a time");
            return failed();
        }
    }
    mci_apart_begin(&b, &a, a.size, q->start, q->count, q->step);
    for (int64_t i = 0; mci_apart_next(&b); i++) {
        int64_t from[MC_H5_RANK] = { 0 };
        allow(s, mci_apart_bytes(&b));
        for (int k = 0; k < b.rank; k++) from[k] = b.start[k] + b.at[k] * b.step[k];
        if (i > 1 && mci_apart_receive(HDF5_SOCKET, &ready, 1)) return -1;
        if (s->api->read(o, a.kind == MC_H5_ATTRIBUTE ? q->start : from,
                         a.kind == MC_H5_ATTRIBUTE ? q->count : b.now, q->step,
                         s->slots + (i % 2) * q->slot)) {
            const int rc = failed();
            /* the slot that was given back meanwhile */
            return rc || (i >= 1 && mci_apart_next(&b) && mci_apart_receive(HDF5_SOCKET, &ready, 1))
                       ? -1
                       : 0;
        }
        if (answer(0, 0, i, NULL, NULL, 0)) return -1;
    }
    return 0;
}

static int serve_one(server *s, const apart_request *q, const char *name)
{
    void *o = q->id > 0 && q->id <= s->count ? s->objects[q->id - 1] : NULL;
    if (q->op == APART_OPEN) limit_by_size(s, name);
    allow(s, q->op == APART_TEXTS ? q->slot : 0);
    if (q->op == APART_OPEN) return answer_object(s, s->api->open(name));
    if (!o) return -1;
    switch (q->op) {
    case APART_AT: return answer_object(s, s->api->at(o, name));
    case APART_ATTRIBUTE: return answer_object(s, s->api->attribute(o, name));
    case APART_REFER: return answer_object(s, s->api->refer(o, q->reference));
    case APART_NAMES: return send_names(s, o, q->what);
    case APART_READ: return send_numbers(s, o, q);
    case APART_TEXTS: return send_texts(s, o, q);
    case APART_CLOSE:
        s->api->close(o);
        s->objects[q->id - 1] = NULL;
        return 0;
    default: return -1;
    }
}

int mc_hdf5_serve(void)
{
    server s;
    apart_request q;
    int rc = 0;
    memset(&s, 0, sizeof s);
    s.api = mci_hdf5();
    s.seconds = MOST_SECONDS;
    while (s.api && rc == 0 && mci_apart_receive(HDF5_SOCKET, &q, sizeof q) == 0) {
        char *name = mci_alloc((size_t)q.length + 1);
        if (!name || mci_apart_receive(HDF5_SOCKET, name, (size_t)q.length)) return 1;
        name[q.length] = 0;
        rc = serve_one(&s, &q, name);
        mci_free(name);
        const struct itimerval off = { { 0, 0 }, { 0, 0 } };
        (void)setitimer(ITIMER_PROF, &off, NULL);
    }
    return rc != 0;
}
