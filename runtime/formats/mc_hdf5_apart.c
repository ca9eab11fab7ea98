/* mc_hdf5_apart.c - HDF5 files read by a process of their own: what ends or hangs there is an
 * error here.
 *
 * Answers the reading half of the plug-in's table. Each file that is opened starts the program once
 * more, which serves this file alone (mc_hdf5_serve.c) and ends with the last of its objects.
 * Numbers come through two slots of shared memory: one is filled while the other is copied. The
 * reader limits its own processor time and memory; here Ctrl-C is looked at while it works. Holds
 * the readers. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "formats/mc_hdf5_apart.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_ROOM 4096
/* A reader that sleeps so long waits for a disk that will not come back. */
#define WALL_SECONDS 600
#define DAMAGED                                                                            \
    "the file is damaged, copy or download it again; one that you trust can be read with " \
    "MASCON_HDF5=inprocess"
#define LONGEST_REPLY ((int64_t)1 << 36)

typedef struct reader {
    pid_t pid;
    int fd, memory; /* fd of -1: it has ended, why says how */
    int objects;
    int64_t mapped;
    char *slots;
    pthread_mutex_t lock;
    char why[240];
    char path[];
} reader;

typedef struct far {
    reader *of;
    int id;
    mc_hdf5_about about;
    int listed; /* which kind of names is kept, -1 none */
    int64_t names_count, texts_count;
    char *names, *texts;
    int64_t *names_at, *texts_at; /* texts_at: one more */
    char label[];                 /* FILE or FILE:/where, as the plug-in's */
} far;

/* ---- the process ---- */

/* The program, beside the library or in the bin of its prefix. */
static int find_program(char *out)
{
    static const char *const places[] = { "mascon", "../bin/mascon", "../../bin/mascon" };
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)&mc_version, &info) || !info.dli_fname) return -1;
    const char *slash = strrchr(info.dli_fname, '/');
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        const int n = snprintf(out, PATH_ROOM, "%.*s/%s", slash ? (int)(slash - info.dli_fname) : 1,
                               slash ? info.dli_fname : ".", places[k]);
        if (n < PATH_ROOM && access(out, X_OK) == 0) return 0;
    }
    return -1;
}

static int above(int fd)
{
    const int out = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 16);
    if (fd >= 0) (void)close(fd);
    return out;
}

static int spawn(reader *r, int theirs, const char *program)
{
    char *argv[] = { (char *)(uintptr_t) "mascon", (char *)(uintptr_t) "--read-hdf5", NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;
    extern char **environ;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&files, 0, 1);
    posix_spawn_file_actions_adddup2(&files, 0, 2);
    posix_spawn_file_actions_adddup2(&files, theirs, HDF5_SOCKET);
    posix_spawn_file_actions_adddup2(&files, r->memory, HDF5_MEMORY);
    posix_spawnattr_setpgroup(&how, 0); /* Ctrl-C is for us alone */
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                       POSIX_SPAWN_SETSIGDEF);
    const int err = posix_spawn(&r->pid, program, &files, &how, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return err;
}

static void end_reader(reader *r)
{
    if (r->fd >= 0) (void)close(r->fd);
    r->fd = -1;
    if (r->pid > 0) {
        (void)kill(r->pid, SIGKILL);
        while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR) continue;
    }
    r->pid = 0;
}

static void free_reader(reader *r)
{
    end_reader(r);
    if (r->slots) (void)munmap(r->slots, (size_t)r->mapped);
    if (r->memory >= 0) (void)close(r->memory);
    (void)pthread_mutex_destroy(&r->lock);
    mci_free(r);
}

static reader *start(const char *path)
{
    char program[PATH_ROOM];
    int pair[2] = { -1, -1 }, err = 0;
    const size_t n = strlen(path) + 1;
    reader *r = mci_calloc(1, sizeof *r + n);
    if (!r) return NULL;
    memcpy(r->path, path, n);
    (void)pthread_mutex_init(&r->lock, NULL);
    r->fd = r->memory = -1;
    if (find_program(program)) err = ENOENT;
    if (!err && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) err = errno;
    if (!err && (r->memory = above(memfd_create("mascon-hdf5", MFD_CLOEXEC))) < 0) err = errno;
    if (!err && (pair[1] = above(pair[1])) < 0) err = errno;
    r->fd = pair[0];
    if (!err) err = spawn(r, pair[1], program);
    if (pair[1] >= 0) (void)close(pair[1]);
    if (!err) return r;
    mci_error_io("hdf5", "the process that reads the file cannot be started", err,
                 "close other programs, or set MASCON_HDF5=inprocess for files that you trust");
    r->pid = 0;
    free_reader(r);
    return NULL;
}

/* Says how a reader ended that hung up, once; then the same again. */
static int ended(reader *r)
{
    int status = 0;
    if (r->pid > 0 && !r->why[0]) {
        pid_t got;
        (void)kill(r->pid, SIGKILL); /* one that ended by itself keeps its own reason */
        do got = waitpid(r->pid, &status, 0);
        while (got < 0 && errno == EINTR);
        const int by = got > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        r->pid = 0;
        if (by == SIGPROF)
            (void)snprintf(r->why, sizeof r->why,
                           "libhdf5 did not come to an end with it; " DAMAGED);
        else if (by)
            (void)snprintf(r->why, sizeof r->why, "libhdf5 crashed on it (%s); " DAMAGED,
                           strsignal(by));
        else
            (void)snprintf(r->why, sizeof r->why, "the process that reads it ended; " DAMAGED);
    }
    if (r->fd >= 0) (void)close(r->fd);
    r->fd = -1;
    return mci_error(MC_EFORMAT, "hdf5: %s: %s", r->path, r->why);
}

/* Waits until the reader says something; ends it when the user or the clock says so. */
static int wait_for(reader *r)
{
    const double last = mc_clock() + WALL_SECONDS;
    struct pollfd p = { r->fd, POLLIN, 0 };
    for (;;) {
        const int n = poll(&p, 1, 50);
        if (n > 0) return MC_OK;
        if (mc_cancel_pending()) {
            (void)snprintf(r->why, sizeof r->why, "reading it was cancelled; open it again");
            end_reader(r);
            return mci_error(MC_ECANCELLED, "hdf5: %s: cancelled", r->path);
        }
        if (mc_clock() > last) {
            (void)snprintf(r->why, sizeof r->why, "there was no answer for %d s; check its disk",
                           WALL_SECONDS);
            end_reader(r);
            return ended(r);
        }
    }
}

/* A reply and, when *bytes is wanted, what follows it, with a zero behind; owned. A failure is
 * the record. */
static int reply(reader *r, apart_reply *out, char **bytes)
{
    int status = wait_for(r);
    if (status) return status;
    if (mci_apart_receive(r->fd, out, sizeof *out) || out->length < 0 ||
        out->length > LONGEST_REPLY)
        return ended(r);
    char *text = mci_alloc((size_t)out->length + 1);
    if (!text) {
        end_reader(r);
        return mc_errstatus();
    }
    if (mci_apart_receive(r->fd, text, (size_t)out->length)) {
        mci_free(text);
        return ended(r);
    }
    text[out->length] = 0;
    if (out->status) status = mci_error(out->status, "%s", text);
    if (bytes && !status)
        *bytes = text;
    else
        mci_free(text);
    return status;
}

static int request(reader *r, apart_request *q, const char *name)
{
    if (r->fd < 0) return ended(r);
    q->length = name ? (int64_t)strlen(name) : 0;
    if (mci_apart_send(r->fd, q, sizeof *q) ||
        (name && mci_apart_send(r->fd, name, (size_t)q->length)))
        return ended(r);
    return MC_OK;
}

/* ---- objects ---- */

static int sensible(const mc_hdf5_about *a)
{
    int ok =
        a->rank >= 0 && a->rank <= MC_H5_RANK && a->size >= 0 && a->size <= 16 && a->numel >= 0;
    for (int k = 0; ok && k < a->rank; k++)
        ok = a->shape[k] >= 0 && (!a->chunked || a->chunk[k] > 0);
    return ok;
}

/* The object that a request leads to, by `name` from what is called `from`. */
static far *ask_object(reader *r, apart_request *q, const char *from, const char *name)
{
    apart_reply a;
    const size_t room = strlen(from) + (name ? strlen(name) : 0) + 4;
    far *o = mci_calloc(1, sizeof *o + room);
    if (!o) return NULL;
    (void)snprintf(o->label, room, "%s%s%s", from,
                   q->op == APART_OPEN        ? ""
                   : q->op == APART_ATTRIBUTE ? "@"
                   : name && name[0] == '/'   ? ":"
                   : strstr(from, ":/")       ? "/"
                                              : ":/",
                   q->op == APART_OPEN || !name ? "" : name);
    (void)pthread_mutex_lock(&r->lock);
    int status = request(r, q, name);
    if (!status) status = reply(r, &a, NULL);
    if (!status && !sensible(&a.about)) status = ended(r);
    if (!status) r->objects++;
    (void)pthread_mutex_unlock(&r->lock);
    if (status) {
        mci_free(o);
        return NULL;
    }
    o->of = r;
    o->id = a.id;
    o->about = a.about;
    o->listed = -1;
    return o;
}

static void *open_file(const char *path)
{
    apart_request q = { .op = APART_OPEN };
    reader *r = start(path);
    far *o = r ? ask_object(r, &q, path, path) : NULL;
    if (r && !o) free_reader(r);
    return o;
}

static void *open_at(const void *p, const char *name)
{
    const far *o = p;
    apart_request q = { .op = APART_AT, .id = o->id };
    return ask_object(o->of, &q, o->label, name);
}

static void *open_attribute(const void *p, const char *name)
{
    const far *o = p;
    apart_request q = { .op = APART_ATTRIBUTE, .id = o->id };
    return ask_object(o->of, &q, o->label, name);
}

static void *open_reference(const void *p, int64_t reference)
{
    const far *o = p;
    apart_request q = { .op = APART_REFER, .id = o->id, .reference = reference };
    return ask_object(o->of, &q, o->label, NULL);
}

static void about_object(const void *p, mc_hdf5_about *out)
{
    *out = ((const far *)p)->about;
}

static void close_object(void *p)
{
    far *o = p;
    if (!o) return;
    reader *r = o->of;
    apart_request q = { .op = APART_CLOSE, .id = o->id };
    (void)pthread_mutex_lock(&r->lock);
    const int last = --r->objects == 0;
    if (!last && r->fd >= 0) (void)mci_apart_send(r->fd, &q, sizeof q);
    (void)pthread_mutex_unlock(&r->lock);
    if (last) free_reader(r);
    mci_free(o->names);
    mci_free(o->names_at);
    mci_free(o->texts);
    mci_free(o->texts_at);
    mci_free(o);
}

/* ---- names and texts ---- */

static int64_t count_names(void *p, int what)
{
    far *o = p;
    apart_request q = { .op = APART_NAMES, .id = o->id, .what = what };
    apart_reply a;
    char *names = NULL;
    if (o->listed == what) return o->names_count;
    (void)pthread_mutex_lock(&o->of->lock);
    int status = request(o->of, &q, NULL);
    if (!status) status = reply(o->of, &a, &names);
    (void)pthread_mutex_unlock(&o->of->lock);
    if (status) return -1;
    int64_t *at = a.n >= 0 && a.n <= a.length ? mci_alloc((size_t)(a.n + 1) * sizeof *at) : NULL;
    if (!at) {
        mci_free(names);
        return -1;
    }
    int64_t place = 0;
    for (int64_t i = 0; i < a.n; i++) {
        at[i] = place < a.length ? place : a.length;
        place = at[i] + (int64_t)strlen(names + at[i]) + 1;
    }
    mci_free(o->names);
    mci_free(o->names_at);
    o->names = names;
    o->names_at = at;
    o->names_count = a.n;
    o->listed = what;
    return a.n;
}

static const char *name_of(const void *p, int what, int64_t i)
{
    const far *o = p;
    return o->listed == what && i >= 0 && i < o->names_count ? o->names + o->names_at[i] : NULL;
}

static void enter_selection(const far *o, apart_request *q, const int64_t *start,
                            const int64_t *count, const int64_t *step)
{
    for (int k = 0; k < o->about.rank; k++) {
        q->start[k] = start[k];
        q->count[k] = count[k];
        q->step[k] = step[k];
    }
}

static int read_texts(void *p, const int64_t *start, const int64_t *count, const int64_t *step)
{
    far *o = p;
    apart_request q = { .op = APART_TEXTS, .id = o->id };
    apart_reply a;
    char *texts = NULL;
    enter_selection(o, &q, start, count, step);
    q.slot = o->about.stored;
    (void)pthread_mutex_lock(&o->of->lock);
    int status = request(o->of, &q, NULL);
    if (!status) status = reply(o->of, &a, &texts);
    (void)pthread_mutex_unlock(&o->of->lock);
    if (status) return status;
    int64_t *at =
        a.n >= 0 && a.n <= a.length / 8 ? mci_alloc((size_t)(a.n + 1) * sizeof *at) : NULL;
    if (!at) {
        mci_free(texts);
        return mci_error(MC_ENOMEM, "hdf5: %s: no memory for its texts; read fewer at a time",
                         o->label);
    }
    at[0] = 8 * a.n;
    for (int64_t i = 0; i < a.n; i++) {
        int64_t n;
        memcpy(&n, texts + 8 * i, 8);
        at[i + 1] = n >= 0 && n <= a.length - at[i] ? at[i] + n : at[i];
    }
    mci_free(o->texts);
    mci_free(o->texts_at);
    o->texts = texts;
    o->texts_at = at;
    o->texts_count = a.n;
    return MC_OK;
}

static const char *text_of(const void *p, int64_t i, int64_t *bytes)
{
    const far *o = p;
    if (i < 0 || i >= o->texts_count) return NULL;
    *bytes = o->texts_at[i + 1] - o->texts_at[i];
    return o->texts + o->texts_at[i];
}

/* ---- numbers ---- */

/* Shared memory of two slots of so many bytes. */
static int make_room(reader *r, int64_t slot)
{
    if (2 * slot <= r->mapped) return MC_OK;
    if (r->slots) (void)munmap(r->slots, (size_t)r->mapped);
    r->slots = NULL;
    r->mapped = 0;
    if (ftruncate(r->memory, (off_t)(2 * slot)) != 0) {
        if (errno == EFBIG) /* shared memory is a file to the system */
            return mci_error(MC_EIO,
                             "hdf5: %s: reading takes %.0f KiB of shared memory, more than the "
                             "limit of a file (ulimit -f); raise the limit, or set "
                             "MASCON_HDF5=inprocess for files that you trust",
                             r->path, (double)slot / 512);
    } else {
        void *p = mmap(NULL, (size_t)(2 * slot), PROT_READ | PROT_WRITE, MAP_SHARED, r->memory, 0);
        if (p != MAP_FAILED) {
            r->slots = p;
            r->mapped = 2 * slot;
            return MC_OK;
        }
    }
    return mci_error(MC_ENOMEM,
                     "hdf5: %s: no memory to read into; release tensors, or read less at a time",
                     r->path);
}

/* A box, which lies in one piece, to its place in the selection. */
static void place(const apart_boxes *b, const char *from, char *out)
{
    int64_t apart[MC_H5_RANK] = { 0 }, at[MC_H5_RANK] = { 0 };
    int64_t run = b->rank > 0 ? b->item : b->bytes;
    int outer = b->rank;
    int64_t all = b->item;
    for (int k = b->rank - 1; k >= 0; k--) {
        apart[k] = all;
        all *= b->count[k];
    }
    while (outer > 0 && (outer == b->rank || b->now[outer] == b->count[outer]))
        run *= b->now[--outer];
    for (int k = 0; k < b->rank; k++) out += b->at[k] * apart[k];
    for (;;) {
        int64_t to = 0;
        for (int k = 0; k < outer; k++) to += at[k] * apart[k];
        memcpy(out + to, from, (size_t)run);
        from += run;
        int k = outer - 1;
        for (; k >= 0; k--) {
            if (++at[k] < b->now[k]) break;
            at[k] = 0;
        }
        if (k < 0) return;
    }
}

static int read_locked(far *o, apart_request *q, char *out)
{
    reader *r = o->of;
    apart_boxes b;
    apart_reply a;
    mci_apart_begin(&b, &o->about, o->about.size, q->start, q->count, q->step);
    q->slot = (b.bytes + 4095) / 4096 * 4096;
    if (q->slot < APART_BOX) q->slot = APART_BOX;
    if (mc_cancel_pending()) return mci_error(MC_ECANCELLED, "hdf5: %s: cancelled", o->label);
    int status = make_room(r, q->slot);
    if (!status) status = request(r, q, NULL);
    int64_t left = 0;
    apart_boxes ahead = b;
    while (mci_apart_next(&ahead)) left++;
    for (int64_t i = 0; !status && mci_apart_next(&b); i++) {
        status = reply(r, &a, NULL);
        if (status) break;
        place(&b, r->slots + (i % 2) * q->slot, out);
        if (i + 2 < left && mci_apart_send(r->fd, "g", 1)) status = ended(r);
    }
    return status;
}

static int read_numbers(const void *p, const int64_t *start, const int64_t *count,
                        const int64_t *step, void *out)
{
    far *o = (far *)(uintptr_t)p;
    apart_request q = { .op = APART_READ, .id = o->id };
    const mc_hdf5_about *a = &o->about;
    int64_t n = a->null ? 0 : a->kind == MC_H5_ATTRIBUTE ? a->numel : 1;
    if (a->holds != MC_H5_NUMBERS && a->holds != MC_H5_REFERENCES)
        return mci_error(MC_EUNSUPPORTED, "hdf5: %s: it holds no numbers that have a dtype here",
                         o->label);
    for (int k = 0; k < a->rank; k++) {
        if (start[k] < 0 || count[k] < 0 || step[k] < 1 || count[k] > a->shape[k] ||
            (count[k] > 0 &&
             (start[k] >= a->shape[k] || (count[k] - 1) > (a->shape[k] - 1 - start[k]) / step[k])))
            return mci_error(MC_EINVAL, "hdf5: %s: the selection lies outside its shape", o->label);
        if (a->kind != MC_H5_ATTRIBUTE) n *= count[k];
    }
    if (n == 0) return MC_OK;
    enter_selection(o, &q, start, count, step);
    (void)pthread_mutex_lock(&o->of->lock);
    const int status = read_locked(o, &q, out);
    (void)pthread_mutex_unlock(&o->of->lock);
    return status;
}

const mc_hdf5_api *mci_hdf5_apart(void)
{
    static const mc_hdf5_api api = {
        .abi = MC_BACKEND_ABI,
        .name = "apart",
        .open = open_file,
        .at = open_at,
        .attribute = open_attribute,
        .refer = open_reference,
        .about = about_object,
        .count = count_names,
        .name_of = name_of,
        .read = read_numbers,
        .read_texts = read_texts,
        .text = text_of,
        .close = close_object,
    };
    char program[PATH_ROOM];
    return find_program(program) == 0 ? &api : NULL;
}
