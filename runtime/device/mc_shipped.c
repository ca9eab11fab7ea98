/* mc_shipped.c - programs of devices that come with mascon: one pack for each kind of device in the
 * folder `programs` beside that of the plug-ins (programs/cuda.pack), or in the folder that
 * MASCON_PROGRAMS names (off: none).
 *
 * A pack is a line "mascon-programs 1 COUNT", COUNT lines "KEY OFFSET BYTES" in the order of their
 * keys, then the code of each; OFFSET counts from the end of the lines. tests/programs.lua writes
 * it from every row of the op table. It is read when a program is wanted that neither the cache nor
 * a compiler gives. */
#include "device/mc_shipped.h"
#include "device/mc_code_cache.h"
#include "device/mc_context.h"
#include "base/mc_memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY 64
#define MOST_CODE ((int64_t)64 << 20)

typedef struct entry {
    char key[KEY + 1];
    int64_t at, bytes;
} entry;

typedef struct pack {
    char kind[16], path[1200];
    int asked, count;
    int64_t start; /* of the code */
    entry *entries;
} pack;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards packs */
static pack packs[2];

static void read_index(pack *p)
{
    FILE *f = fopen(p->path, "rb");
    int count = 0;
    if (!f) return;
    if (fscanf(f, "mascon-programs 1 %d", &count) == 1 && count > 0 && count < 1 << 20)
        p->entries = mci_calloc((size_t)count, sizeof *p->entries);
    for (int i = 0; p->entries && i < count; i++) {
        entry *e = &p->entries[i];
        long long at, bytes;
        if (fscanf(f, " %64[0-9a-f] %lld %lld", e->key, &at, &bytes) != 3 || at < 0 || bytes < 1 ||
            bytes > MOST_CODE)
            break;
        e->at = at;
        e->bytes = bytes;
        p->count = i + 1;
    }
    if (p->count != count) p->count = 0;
    if (p->count && fgetc(f) == '\n') p->start = ftell(f);
    fclose(f);
}

/* The pack of a kind, looked for once; the lock is held. */
static pack *pack_of(const char *kind)
{
    pack *p = packs;
    while (p < packs + 2 && p->asked && strcmp(p->kind, kind) != 0) p++;
    if (p == packs + 2) return NULL;
    if (!p->asked) {
        const char *own = getenv("MASCON_PROGRAMS"), *folder = mci_plugin_dir(),
                   *slash = strrchr(folder, '/');
        const int length = slash ? (int)(slash - folder) : 1;
        p->asked = 1;
        snprintf(p->kind, sizeof p->kind, "%s", kind);
        if (own && *own)
            snprintf(p->path, sizeof p->path, "%.1000s/%s.pack", own, kind);
        else
            snprintf(p->path, sizeof p->path, "%.*s/programs/%s.pack", length,
                     slash ? folder : ".", kind);
        if (!own || strcmp(own, "off") != 0) read_index(p);
    }
    return p;
}

static int by_key(const void *key, const void *e)
{
    return strcmp(key, ((const entry *)e)->key);
}

char *mci_shipped_find(const char *kind, const char *key, int64_t *bytes)
{
    char *code = NULL;
    pthread_mutex_lock(&lock);
    const pack *p = pack_of(kind);
    const entry *e = p && p->count
                         ? bsearch(key, p->entries, (size_t)p->count, sizeof *p->entries, by_key)
                         : NULL;
    FILE *f = e ? fopen(p->path, "rb") : NULL;
    if (f) {
        code = mci_alloc((size_t)e->bytes + 1);
        if (code && (fseek(f, (long)(p->start + e->at), SEEK_SET) != 0 ||
                     fread(code, 1, (size_t)e->bytes, f) != (size_t)e->bytes)) {
            mci_free(code);
            code = NULL;
        }
        if (code) {
            code[e->bytes] = 0;
            *bytes = e->bytes;
        }
        fclose(f);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

int mci_shipped_count(const char *kind)
{
    pthread_mutex_lock(&lock);
    const pack *p = pack_of(kind);
    const int n = p ? p->count : 0;
    pthread_mutex_unlock(&lock);
    return n;
}

int mc_device_shipped(const char *kind) { return mci_shipped_count(kind); }

void mc_device_shipped_key(const char *text, char key[65])
{
    mci_code_key(key, text, MCI_SHIPPED_TARGET);
}
