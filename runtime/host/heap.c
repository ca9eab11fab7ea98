/* heap.c - the Lua heap at its end: a spare that lets an error be reported, and a limit for tests.
 *
 * LuaJIT raises "not enough memory" without calling a message handler, and what reports the error
 * needs memory itself. So some addresses are held from the start; whoever reports gives them back,
 * collects, and takes them again afterwards.
 *
 * A line that was read from standard input stays here until Lua has it.
 *
 * MASCON_TEST_LUA_HEAP=BYTES bounds the heap through an allocator around LuaJIT's own, in which the
 * spare is a part of the bound. */
#include "host.h"
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SPARE ((size_t)2 << 20)
#define BESIDE ((size_t)512 << 10)

static void *spare;       /* addresses, never touched */
static lua_Alloc inner;   /* with a limit only */
static void *inner_data;
static size_t used, limit;

static void *bounded(void *data, void *p, size_t before, size_t now)
{
    (void)data;
    if (now > before && used + (now - before) > limit - (spare ? SPARE : 0))
        return NULL;
    void *q = inner(inner_data, p, before, now);
    if (q || now == 0)
        used += now - before;
    return q;
}

/* Takes the spare where enough is left beside it to read and compile a line. */
static void take(void)
{
    if (inner && used + SPARE + BESIDE > limit)
        return;
    void *p = mmap(NULL, SPARE + BESIDE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return;
    munmap((char *)p + SPARE, BESIDE);
    spare = p;
}

/* heap_spare(on) -> boolean: takes the spare, or gives it back; whether it is held now. */
static int host_heap_spare(lua_State *L)
{
    const int on = lua_toboolean(L, 1);
    if (on && !spare) {
        take();
    } else if (!on && spare) {
        munmap(spare, SPARE);
        spare = NULL;
    }
    lua_pushboolean(L, spare != NULL);
    return 1;
}

/* read_line() -> line of standard input without its end; nil at its end and when a signal came. */
static int host_read_line(lua_State *L)
{
    static char *line;
    static size_t room;
    static ssize_t length = -1;
    if (length < 0)
        length = getline(&line, &room, stdin);
    if (length < 0) {
        clearerr(stdin);
        return 0;
    }
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        length--;
    lua_pushlstring(L, line, (size_t)length); /* may raise: then the next call gives this line */
    length = -1;
    return 1;
}

void mci_heap_functions(lua_State *L)
{
    const char *bytes = getenv("MASCON_TEST_LUA_HEAP");
    lua_pushcfunction(L, host_heap_spare);
    lua_setfield(L, -2, "heap_spare");
    lua_pushcfunction(L, host_read_line);
    lua_setfield(L, -2, "read_line");
    if (!spare)
        take();
    if (!bytes || !*bytes || inner)
        return;
    inner = lua_getallocf(L, &inner_data);
    used = (size_t)lua_gc(L, LUA_GCCOUNT, 0) << 10;
    limit = (size_t)strtoull(bytes, NULL, 10);
    limit = limit > used + 2 * SPARE ? limit : used + 2 * SPARE;
    lua_setallocf(L, bounded, NULL);
}
