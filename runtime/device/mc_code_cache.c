/* mc_code_cache.c - code that a device's compiler made, on disk.
 *
 * One file per key beside the compiled groups of the CPU (lua/mascon/compile/native/cache.lua,
 * which lists and checks both): the code, then a line with key, checksum and what made it. The
 * folder is ours alone, a file appears whole by one rename and is checked before it is used. Any
 * trouble only means that nothing is kept. */
#include "device/mc_code_cache.h"
#include "base/mc_error.h"
#include "base/mc_hash.h"
#include "base/mc_memory.h"
#include "mc_lua.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATH 1024
#define MARK "mascon-kernel 1 "
#define ROOM ((int64_t)256 << 20) /* of the folder, where MASCON_CACHE_SIZE says nothing else */
#define FRESH 3600.0              /* seconds in which a use is not written down again */
#define NAMES 65536

static const char *name_folder(char *path)
{
    const char *own = getenv("MASCON_CACHE"), *base = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    if (own && (!*own || !strcmp(own, "off") || !strcmp(own, "0")))
        return "MASCON_CACHE turns it off";
    if (own)
        snprintf(path, PATH, "%s", own);
    else if (base && base[0] == '/')
        snprintf(path, PATH, "%s/mascon/kernels", base);
    else if (home && home[0] == '/')
        snprintf(path, PATH, "%s/.cache/mascon/kernels", home);
    else
        return "neither XDG_CACHE_HOME nor HOME names a folder";
    return NULL;
}

/* The folder, made if need be; 0 when it cannot be used. */
static int open_folder(char *path)
{
    return !name_folder(path) && mc_folder_private(path) == MC_OK;
}

const char *mci_code_folder(void)
{
    static char path[PATH]; /* one name for the process: the environment is read at its start */
    const char *why = name_folder(path);
    return why ? why : path;
}

void mci_code_key(char key[65], const char *text, const char *target)
{
    mci_sha256 c;
    mci_sha256_start(&c);
    mci_sha256_update(&c, text, strlen(text) + 1);
    mci_sha256_update(&c, target, strlen(target) + 1);
    mci_sha256_finish(&c, key);
}

static void checksum(const void *bytes, int64_t n, char hex[65])
{
    mci_sha256 c;
    mci_sha256_start(&c);
    mci_sha256_update(&c, bytes, (size_t)n);
    mci_sha256_finish(&c, hex);
}

/* A whole file with a zero behind it; NULL without a word. */
static char *slurp(const char *path, int64_t *bytes)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    if (!f) return NULL;
    if (fseek(f, 0, SEEK_END) == 0 && (*bytes = ftell(f)) > 0 && *bytes < ROOM) {
        rewind(f);
        text = mci_alloc((size_t)*bytes + 1);
        if (text && fread(text, 1, (size_t)*bytes, f) != (size_t)*bytes) {
            mci_free(text);
            text = NULL;
        }
        if (text) text[*bytes] = 0;
    }
    fclose(f);
    return text;
}

/* The bytes of code before the line at the end of a file; -1: it is not what was kept. */
static int64_t checked(char *text, int64_t bytes, const char *key, char about[MCI_CODE_ABOUT])
{
    char sum[65];
    int64_t at = bytes - 2;
    if (bytes < 2 || text[bytes - 1] != '\n') return -1;
    while (at > 0 && text[at] != '\n') at--;
    const char *line = text + at + 1;
    const size_t mark = strlen(MARK);
    if (bytes - at < (int64_t)mark + 2 * 65 || strncmp(line, MARK, mark) != 0 ||
        strncmp(line + mark, key, 64) != 0)
        return -1;
    checksum(text, at, sum);
    if (strncmp(line + mark + 65, sum, 64) != 0) return -1;
    text[bytes - 1] = 0;
    snprintf(about, MCI_CODE_ABOUT, "%s", line + mark + 130);
    text[at] = 0;
    return at;
}

static void path_of(char *path, const char *folder, const char *key)
{
    snprintf(path, PATH + 80, "%s/%s.code", folder, key);
}

char *mci_code_find(const char *key, int64_t *bytes, char about[MCI_CODE_ABOUT])
{
    char folder[PATH], path[PATH + 80];
    double facts[4];
    int64_t n = 0;
    if (!open_folder(folder)) return NULL;
    path_of(path, folder, key);
    if (mc_file_facts(path, facts)) return NULL;
    char *text = facts[2] != 0 ? slurp(path, &n) : NULL; /* nobody else can write it */
    *bytes = text ? checked(text, n, key, about) : -1;
    if (*bytes < 0) {
        mci_free(text);
        if (facts[2] != 0) remove(path);
        return NULL;
    }
    if ((double)time(NULL) - facts[1] > FRESH) (void)mc_file_touch(path);
    return text;
}

int mci_code_any(void)
{
    char folder[PATH], *names = open_folder(folder) ? mci_alloc(NAMES + 1) : NULL;
    const int64_t n = names ? mc_folder_list(folder, names, NAMES) : 0;
    if (n > 0) names[n < NAMES ? n : NAMES] = 0;
    const int any = n > 0 && strstr(names, ".code\n") != NULL;
    mci_free(names);
    return any;
}

/* ---- keeping ---- */

static int64_t capacity(void)
{
    const char *s = getenv("MASCON_CACHE_SIZE");
    char *end = NULL;
    double n = s ? strtod(s, &end) : 0;
    if (n <= 0) return ROOM;
    if (*end == 'K' || *end == 'k') n *= 1024;
    if (*end == 'M' || *end == 'm') n *= 1048576;
    if (*end == 'G' || *end == 'g') n *= 1073741824;
    return (int64_t)n;
}

/* Removes the file that was not used for longest until `more` bytes fit. */
static void trim(const char *folder, int64_t more)
{
    char *names = mci_alloc(NAMES), path[PATH + 300], oldest[PATH + 300];
    for (int turn = 0; names && turn < 64; turn++) {
        const int64_t n = mc_folder_list(folder, names, NAMES);
        int64_t all = more;
        double least = 0;
        oldest[0] = 0;
        if (n < 0 || n > NAMES) break;
        for (char *name = names, *end; name < names + n; name = end + 1) {
            double facts[4];
            end = memchr(name, '\n', (size_t)(names + n - name));
            if (!end) break;
            *end = 0;
            snprintf(path, sizeof path, "%s/%.255s", folder, name);
            if (mc_file_facts(path, facts)) continue;
            all += (int64_t)facts[0];
            if (!oldest[0] || facts[1] < least) {
                least = facts[1];
                memcpy(oldest, path, sizeof path);
            }
        }
        if (all <= capacity() || !oldest[0] || remove(oldest) != 0) break;
    }
    mci_free(names);
}

void mci_code_keep(const char *key, const void *code, int64_t bytes, const char *about)
{
    static int count;
    char folder[PATH], path[PATH + 80], fresh[PATH + 80], sum[65], line[512];
    if (!open_folder(folder)) return;
    checksum(code, bytes, sum);
    const int tail =
        snprintf(line, sizeof line, "\n" MARK "%s %s %.*s\n", key, sum, MCI_CODE_ABOUT - 1, about);
    char *all = bytes + tail <= capacity() ? mci_alloc((size_t)(bytes + tail)) : NULL;
    if (!all) return;
    memcpy(all, code, (size_t)bytes);
    memcpy(all + bytes, line, (size_t)tail);
    trim(folder, bytes + tail);
    path_of(path, folder, key);
    snprintf(fresh, sizeof fresh, "%s/tmp-%d-%d", folder, (int)getpid(), ++count);
    remove(fresh);
    if (mc_file_private(fresh, all, bytes + tail) || rename(fresh, path) != 0) remove(fresh);
    mci_free(all);
}
