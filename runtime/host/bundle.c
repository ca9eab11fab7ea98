/* bundle.c - our Lua modules as bytecode, so that a start parses nothing.
 *
 * The build writes one file (bundle.lua beside this one) with the bytecode of every module, its
 * debug information included, and the size and time of the text it was made from. A module is
 * taken from there when its text is still that one, so an edited file counts at once; anything
 * that does not fit (another LuaJIT, another package.path, a damaged file) leaves it to the text.
 * The bytecode carries no file name: the one of this installation is put in when it is loaded. */
#include "host.h"
#include <fcntl.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 5 }; /* of a dump: signature, version, flags */

static struct {
    const mci_place *place;
    const char *index, *end; /* lines "\nname root path size time offset length\n" */
    const char *code, *limit;
} bundle;

void mci_bundle_open(lua_State *L, const mci_place *place)
{
    char path[MCI_PATH_BYTES + 64], version[80];
    struct stat about;
    unsigned long length = 0;
    int at = 0;
    snprintf(path, sizeof path, "%s/mascon/gen/bundle", place->generated);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    char *data = fstat(fd, &about) == 0 && about.st_size > 0
        ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
        : MAP_FAILED;
    close(fd);
    if (data == MAP_FAILED)
        return;
    char head[160] = { 0 };
    const size_t whole = (size_t)about.st_size;
    memcpy(head, data, whole < sizeof head - 1 ? whole : sizeof head - 1);
    lua_getglobal(L, "jit");
    lua_getfield(L, -1, "version");
    const char *running = lua_tostring(L, -1);
    if (sscanf(head, "mascon modules 1 %79[^\n]\n%lu%n", version, &length, &at) == 2 && running &&
        strcmp(version, running) == 0 && length < whole - (size_t)at) {
        bundle.place = place;
        bundle.index = data + at;
        bundle.end = bundle.index + length;
        bundle.code = bundle.end;
        bundle.limit = data + whole;
    }
    lua_pop(L, 2);
}

/* Whether modules are looked for where the bundle's lie before anywhere else. */
static int path_is_ours(lua_State *L)
{
    lua_getglobal(L, "package");
    if (!lua_istable(L, -1))
        return 0;
    lua_getfield(L, -1, "path");
    const char *path = lua_tostring(L, -1), *first = bundle.place->generated;
    const size_t n = strlen(first);
    return path && strncmp(path, first, n) == 0 && strncmp(path + n, "/?.lua;", 7) == 0;
}

typedef struct pieces {
    const char *data[3];
    size_t size[3];
    int next;
} pieces;

static const char *piece(lua_State *L, void *from, size_t *size)
{
    pieces *p = from;
    (void)L;
    if (p->next == 3)
        return NULL;
    *size = p->size[p->next];
    return p->data[p->next++];
}

/* A number as seven bits a byte, as dumps have it. Returns its bytes. */
static size_t written(unsigned char *out, size_t v)
{
    size_t n = 0;
    for (; v >= 128; v >>= 7)
        out[n++] = (unsigned char)(v | 128);
    out[n++] = (unsigned char)v;
    return n;
}

int mci_bundle_load(lua_State *L, const char *name)
{
    char line[256], root, module[MCI_PATH_BYTES + 256], text[MCI_PATH_BYTES + 280];
    long long size, time;
    unsigned long from, length;
    struct stat about;
    const int top = lua_gettop(L), n = snprintf(line, sizeof line, "\n%s ", name);
    if (!bundle.index || n < 0 || (size_t)n >= sizeof line)
        return 0;
    const char *at = memmem(bundle.index, (size_t)(bundle.end - bundle.index), line, (size_t)n);
    if (!at || sscanf(at + n, "%c %255s %lld %lld %lu %lu", &root, line, &size, &time, &from,
                      &length) != 6)
        return 0;
    const int ours = path_is_ours(L);
    lua_settop(L, top);
    const size_t room = (size_t)(bundle.limit - bundle.code);
    if (!ours || length <= HEAD || from > room || length > room - from)
        return 0;
    snprintf(module, sizeof module, "%s/%s",
             root == 'g' ? bundle.place->generated : bundle.place->lua, line);
    if (stat(module, &about) != 0 || about.st_size != size || about.st_mtim.tv_sec != time)
        return 0;
    const size_t used = written((unsigned char *)text, strlen(module) + 1);
    const int more = snprintf(text + used, sizeof text - used, "@%s", module);
    const char *code = bundle.code + from;
    pieces p = { { code, text, code + HEAD }, { HEAD, used + (size_t)more, length - HEAD }, 0 };
    if (lua_loadx(L, piece, &p, "=mascon", "b") == 0)
        return 1;
    lua_settop(L, top);
    return 0;
}
