/* formats_check.h - what the programs formats.c and formats_edf.c share: counting, a directory of
 * their own, damage and failing allocations.
 *
 * Everything happens in a fresh directory that is removed at the end. Damaged images are handed
 * over in blocks of their exact size, so that a sanitizer sees the first byte beyond. Define
 * _XOPEN_SOURCE 700 first. */
#ifndef FORMATS_CHECK_H
#define FORMATS_CHECK_H

#include "../../runtime/mc_lua.h"
#include "count_check.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect_at(int held, const char *what, int line)
{
    check(held, "line %d: %s (last error: %s)", line, what, mc_errmsg());
}
#define expect(cond) expect_at((cond), #cond, __LINE__)
/* A call fails with this status and a message that holds this text. */
#define expect_error(call, status, text) \
    expect_at((call) == (status) && strstr(mc_errmsg(), (text)) != NULL, \
              #call " fails with " #text, __LINE__)

/* ---- the directory ---- */

static char folder[256];

/* One of a few rotating buffers, so that a call may take two. */
static const char *path_of(const char *name)
{
    static char buffers[4][512];
    static int next;
    char *p = buffers[next++ & 3];
    snprintf(p, 512, "%s/%s", folder, name);
    return p;
}

/* Entries of the directory; remove: deletes them. */
static int count_files(int remove_them)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    int n = 0;
    while (d && (e = readdir(d)) != NULL) {
        if (e->d_name[0] == '.') continue;
        n++;
        if (remove_them) unlink(path_of(e->d_name));
    }
    if (d) closedir(d);
    return n;
}

/* Room for whatever is written or read. */
static unsigned char big[200000];

/* ---- damage: every length, every byte ---- */

/* No shorter image is taken for whole, and no changed byte does harm. */
static void damage(int (*use)(const unsigned char *, int64_t), const unsigned char *p, int64_t n)
{
    static const unsigned char marks[] = { 1, 0x80, 0xFF };
    int taken = 0;
    expect(use(p, n) == 1);
    for (int64_t cut = 0; cut < n; cut++) {
        unsigned char *piece = malloc((size_t)cut + (cut == 0));
        memcpy(piece, p, (size_t)cut);
        taken += use(piece, cut);
        free(piece);
    }
    expect(taken == 0);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            unsigned char *piece = malloc((size_t)n);
            memcpy(piece, p, (size_t)n);
            piece[i] ^= marks[k];
            (void)use(piece, n);
            free(piece);
        }
}

/* ---- allocation ---- */

/* Fails the first, second, ... allocation of `all` until it goes well: each time the status is
 * MC_ENOMEM, and no temporary file is left. */
static void fail_allocations(int (*all)(void))
{
    int rc = MC_ENOMEM, n = 0, wrong = 0;
    while (rc != MC_OK && n < 1000) {
        mc_test_fail_alloc(++n);
        rc = all();
        mc_test_fail_alloc(0);
        wrong += rc != MC_OK && rc != MC_ENOMEM;
        wrong += count_files(1) > 1;
    }
    expect(rc == MC_OK && wrong == 0 && n > 4);
}

/* ---- beginning and end ---- */

static void make_folder(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/mascon-formats-XXXXXX", base && base[0] ? base : P_tmpdir);
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(2);
    }
    chmod(folder, 0755);
}

static int finish(void)
{
    int left = count_files(1);
    expect(left == 0);
    rmdir(folder);
    return report();
}

#endif
