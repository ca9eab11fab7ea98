/* mc_folder.c - a folder that is ours alone.
 *
 * The cache of compiled code is loaded into the process, so nobody else may write it: the folder
 * belongs to the user and is closed to others, and so are the files in it. Holds these checks
 * and the list of a folder. */
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_ROOM 1024

/* Whether st is ours and nobody else can write it. */
static int ours(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int mc_folder_private(const char *path)
{
    char part[PATH_ROOM];
    struct stat st;
    size_t n = strlen(path);
    if (n == 0 || n >= PATH_ROOM)
        return mci_error(MC_EINVAL, "cache: the name of the folder is empty or too long");
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES &&
            errno != EPERM)
            return mci_error_io("cache", part, errno,
                                "set MASCON_CACHE to another folder, or to off");
    }
    if (lstat(path, &st) != 0)
        return mci_error_io("cache", path, errno, "set MASCON_CACHE to another folder, or to off");
    if (!S_ISDIR(st.st_mode))
        return mci_error(
            MC_EIO, "cache: %s is no folder; set MASCON_CACHE to another one, or to off", path);
    if (!ours(&st) || (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return mci_error(MC_EIO,
                         "cache: %s is open to other users or belongs to one; close it (chmod 700) "
                         "or set MASCON_CACHE to another folder",
                         path);
    return MC_OK;
}

int mc_file_facts(const char *path, double facts[4])
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return mci_error_io("cache", path, errno, "");
    facts[0] = (double)st.st_size;
    facts[1] = (double)st.st_mtim.tv_sec + 1e-9 * (double)st.st_mtim.tv_nsec;
    facts[2] = S_ISREG(st.st_mode) && ours(&st);
    facts[3] = (double)st.st_ino;
    return MC_OK;
}

int mc_file_private(const char *path, const void *bytes, int64_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), err = 0;
    if (fd < 0 || fchmod(fd, 0600) != 0)
        err = errno;
    for (int64_t done = 0; !err && done < n;) {
        ssize_t k = write(fd, (const char *)bytes + done, (size_t)(n - done));
        if (k <= 0 && (k == 0 || errno != EINTR))
            err = k < 0 ? errno : ENOSPC;
        done += k > 0 ? k : 0;
    }
    if (fd >= 0 && close(fd) != 0 && !err)
        err = errno;
    if (!err)
        return MC_OK;
    if (fd >= 0)
        (void)unlink(path);
    return mci_error_io("cache", path, err, "set MASCON_CACHE to another folder, or to off");
}

int mc_file_touch(const char *path)
{
    return utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) == 0
               ? MC_OK
               : mci_error_io("cache", path, errno, "");
}

int mc_file_program(const char *name, char *found, int64_t room)
{
    const char *list = strchr(name, '/') ? "" : getenv("PATH");
    char path[PATH_ROOM], real[PATH_MAX];
    for (const char *p = list ? list : "/usr/bin:/bin";; p++) {
        size_t n = strcspn(p, ":");
        int m = strchr(name, '/')
                    ? snprintf(path, sizeof path, "%s", name)
                    : snprintf(path, sizeof path, "%.*s/%s", (int)n, n ? p : ".", name);
        struct stat st;
        if (m > 0 && (size_t)m < sizeof path && access(path, X_OK) == 0 && stat(path, &st) == 0 &&
            S_ISREG(st.st_mode) && realpath(path, real)) {
            snprintf(found, (size_t)room, "%s", real);
            return MC_OK;
        }
        p += n;
        if (!*p)
            break;
    }
    return mci_error(MC_EIO, "compiler: %s is not found; install gcc or set MASCON_CC", name);
}

int64_t mc_folder_list(const char *path, char *names, int64_t room)
{
    int64_t used = 0;
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        int64_t n = (int64_t)strlen(e->d_name);
        if (e->d_name[0] == '.')
            continue;
        if (used + n + 1 <= room) {
            memcpy(names + used, e->d_name, (size_t)n);
            names[used + n] = '\n';
        }
        used += n + 1;
    }
    if (d)
        closedir(d);
    return d ? used : -1;
}
