/* mc_compiler.c - a compiler beside us, and what it made.
 *
 * A compiler runs as a process of its own group with its output in a log file, is polled and
 * never waited for, and is killed when its time is over. Its folder (sources, log, result) is
 * private and goes with it, also when the program ends while it runs; what a kill left goes with
 * the first folder that a later program makes. What it made is looked over (a truncated library
 * would crash on loading) and opened for good: code that plans may call is never unloaded. Holds
 * processes, locks and opened libraries. */
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATH_ROOM 1024
#define PREFIX "mascon-work-"

struct mc_compiler {
    pid_t pid;
    int state; /* 0 running, 1 ended well, 2 failed, 3 killed when its time was over */
    double deadline;
    char folder[PATH_ROOM];
    mc_compiler *next;
};

static mc_compiler *alive; /* guarded by lock: those whose folders are still there */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Folders that are ours, each with its descriptor, on which lies the lock that says so; guarded by
 * lock. */
typedef struct held {
    int fd;
    struct held *next;
    char path[];
} held;
static held *folders;
static int swept;

static void empty(const char *path)
{
    char file[PATH_ROOM + 300];
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            (void)unlink(file);
    }
    if (d)
        closedir(d);
}

/* Folders of this user that killed programs left: nobody holds the lock. */
static void sweep(const char *base)
{
    char path[PATH_ROOM + 300];
    struct stat st;
    DIR *d = opendir(base);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (strncmp(e->d_name, PREFIX, sizeof PREFIX - 1) != 0 ||
            strlen(e->d_name) != sizeof PREFIX - 1 + 6)
            continue;
        snprintf(path, sizeof path, "%s/%s", base, e->d_name);
        const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
            flock(fd, LOCK_EX | LOCK_NB) == 0) {
            empty(path);
            (void)rmdir(path);
        }
        if (fd >= 0)
            (void)close(fd);
    }
    if (d)
        closedir(d);
}

/* Takes the lock of a new folder: a descriptor; -1 where a sweeper was faster, with errno 0, or the
 * folder cannot be opened. On a file system without locks there are none, for sweepers neither. */
static int hold(const char *path)
{
    struct stat mine, there;
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        errno = errno == ENOENT ? 0 : errno;
        return -1;
    }
    if ((flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && fstat(fd, &mine) == 0 &&
        stat(path, &there) == 0 && mine.st_ino == there.st_ino && mine.st_dev == there.st_dev)
        return fd;
    (void)close(fd);
    errno = 0;
    return -1;
}

int mc_folder_temporary(char *path, int64_t room)
{
    const char *base = getenv("TMPDIR");
    base = base && *base ? base : "/tmp";
    int n = snprintf(path, (size_t)room, "%s/" PREFIX "XXXXXX", base);
    if (n >= room || n >= PATH_ROOM)
        return mci_error(MC_EINVAL, "compiler: the name of the folder for temporary files is too "
                                    "long; set TMPDIR to a shorter one");
    held *h = mci_calloc(1, sizeof *h + (size_t)n + 1);
    if (!h)
        return mc_errstatus();
    pthread_mutex_lock(&lock);
    const int first = !swept;
    swept = 1;
    pthread_mutex_unlock(&lock);
    if (first)
        sweep(base);
    for (int k = 0; k < 100; k++) {
        memcpy(path + n - 6, "XXXXXX", 6);
        if (!mkdtemp(path))
            break;
        h->fd = hold(path);
        if (h->fd >= 0) {
            memcpy(h->path, path, (size_t)n + 1);
            pthread_mutex_lock(&lock);
            h->next = folders;
            folders = h;
            pthread_mutex_unlock(&lock);
            return MC_OK;
        }
        const int err = errno;
        (void)rmdir(path);
        errno = err;
        if (err)
            break;
    }
    const int err = errno ? errno : EBUSY;
    mci_free(h);
    return mci_error_io("compiler", path, err, "set TMPDIR to a folder that can be written");
}

int mc_folder_remove(const char *path)
{
    held *h = NULL;
    empty(path);
    const int err = rmdir(path) == 0 ? 0 : errno;
    pthread_mutex_lock(&lock);
    for (held **p = &folders; *p; p = &(*p)->next)
        if (strcmp((*p)->path, path) == 0) {
            h = *p;
            *p = h->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    if (h)
        (void)close(h->fd);
    mci_free(h);
    return err ? mci_error_io("compiler", path, err, "remove it by hand") : MC_OK;
}

mc_compiler *mc_compiler_start(const char *const *argv, const char *folder, double seconds)
{
    char log[PATH_ROOM + 8];
    if (strlen(folder) >= PATH_ROOM) {
        mci_error(MC_EINVAL, "compiler: the name of its folder is too long");
        return NULL;
    }
    mc_compiler *c = mci_calloc(1, sizeof *c);
    if (!c)
        return NULL;
    strcpy(c->folder, folder);
    snprintf(log, sizeof log, "%s/log", folder);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    /* Ctrl-C is for us alone, and what it starts can be killed with it */
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    extern char **environ;
    int err = posix_spawnp(&c->pid, argv[0], &files, &how, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    if (err) {
        mci_error_io("compiler", argv[0], err,
                     "set MASCON_CC to a C compiler that understands gcc's options");
        mci_free(c);
        return NULL;
    }
    c->deadline = mc_clock() + seconds;
    pthread_mutex_lock(&lock);
    c->next = alive;
    alive = c;
    pthread_mutex_unlock(&lock);
    return c;
}

int mc_compiler_poll(mc_compiler *c)
{
    int status = 0;
    if (c->state)
        return c->state;
    pid_t got = waitpid(c->pid, &status, WNOHANG);
    if (got == c->pid)
        c->state = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 2;
    else if (got < 0 && errno == ECHILD)
        c->state = 1; /* the program reaps its children by itself: its result says how it went */
    else if (mc_clock() > c->deadline) {
        kill(-c->pid, SIGKILL);
        while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        c->state = 3;
    }
    return c->state;
}

void mc_pause(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    (void)nanosleep(&t, NULL);
}

static void end(mc_compiler *c)
{
    if (!c->state) {
        kill(-c->pid, SIGKILL);
        while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    (void)mc_folder_remove(c->folder);
}

void mc_compiler_free(mc_compiler *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&lock);
    for (mc_compiler **p = &alive; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    end(c);
    mci_free(c);
}

__attribute__((destructor)) static void end_all(void)
{
    for (mc_compiler *c = alive; c; c = c->next)
        end(c);
}

/* ---- what it made ---- */

/* Every part that the headers of a 64-bit ELF file name lies inside the file. */
static int complete(const unsigned char *p, size_t n)
{
    Elf64_Ehdr h;
    if (n < sizeof h)
        return 0;
    memcpy(&h, p, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_type != ET_DYN || h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff > n ||
        (size_t)h.e_phnum * sizeof(Elf64_Phdr) > n - h.e_phoff || h.e_shoff > n ||
        (size_t)h.e_shnum * h.e_shentsize > n - h.e_shoff)
        return 0;
    for (int i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr s;
        memcpy(&s, p + h.e_phoff + (size_t)i * sizeof s, sizeof s);
        if (s.p_offset > n || s.p_filesz > n - s.p_offset)
            return 0;
    }
    return 1;
}

void *mc_code_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), ok = 0;
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        size_t size = (size_t)st.st_size, got = 0;
        unsigned char *text = mci_alloc(size);
        for (ssize_t m = 1; text && got < size && m > 0; got += m > 0 ? (size_t)m : 0)
            m = read(fd, text + got, size - got);
        ok = text && got == size && complete(text, size);
        mci_free(text);
    }
    if (fd >= 0)
        close(fd);
    if (!ok) {
        mci_error(MC_EFORMAT, "compiler: %s is no complete library", path);
        return NULL;
    }
    void *code = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!code)
        mci_error(MC_EIO, "compiler: %s", dlerror());
    return code;
}

void *mc_code_find(void *code, const char *name)
{
    void *f = dlsym(code, name);
    if (!f)
        mci_error(MC_EFORMAT, "compiler: %s is missing in the library that it made", name);
    return f;
}
