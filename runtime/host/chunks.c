/* chunks.c - every chunk of Lua text is loaded without the specialised loop over next().
 *
 * LuaJIT compiles `for k, v in pairs(t)` to ISNEXT and ITERN. When such a loop cannot stay
 * compiled it is turned back into JMP and ITERC while it may be running, and then it ends early or
 * skips an entry: silently, and only in long runs (LuaJIT issues 827 and 1510; Debian 12 ships a
 * version with both). So the bytecode of a fresh chunk gets the plain instructions from the start:
 * same meaning, no switch. The opcodes are found by compiling two loops that differ in nothing
 * else, so a LuaJIT without the pair leaves chunks alone.
 *
 * Modules of the library run in an environment of their own: the base functions as they were at
 * the start, and behind them the globals. What a user assigns to type, pairs or table reaches
 * neither the library nor the prompt.
 *
 * Holds: the globals load, loadstring, loadfile, dofile, next and pairs, the searcher of Lua
 * modules, and that environment. */
#include "host.h"
#include <lauxlib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    unsigned char *data;
    size_t size, room;
} bytes;

/* Opcodes of the plain and the specialised pair; both the same when there is nothing to do. */
static unsigned char op_from[2], op_to[2];

static int take(lua_State *L, const void *p, size_t n, void *to)
{
    bytes *b = to;
    (void)L;
    if (b->size + n > b->room) {
        size_t room = 2 * (b->size + n) + 1024;
        unsigned char *grown = realloc(b->data, room);
        if (!grown)
            return 1;
        b->data = grown;
        b->room = room;
    }
    memcpy(b->data + b->size, p, n);
    b->size += n;
    return 0;
}

/* An unsigned number of seven bits a byte; SIZE_MAX past the end. */
static size_t number(const bytes *b, size_t *at)
{
    size_t v = 0;
    for (int shift = 0; *at < b->size && shift < 63; shift += 7) {
        unsigned char c = b->data[(*at)++];
        v |= (size_t)(c & 127) << shift;
        if (!(c & 128))
            return v;
    }
    return SIZE_MAX;
}

enum { BIG_ENDIAN_FLAG = 1, STRIP_FLAG = 2 };

/* Start of the first instruction of the next prototype and their count; *end is where the one after
 * it begins. 0 at the end of the dump or when its form is unknown. */
static size_t next_prototype(const bytes *b, size_t *end, int strip, size_t *count)
{
    size_t at = *end, size = number(b, &at);
    if (size == SIZE_MAX || size == 0 || size > b->size - at || size < 8)
        return 0;
    *end = at + size;
    at += 4; /* flags, parameters, frame, upvalues */
    number(b, &at);
    number(b, &at);
    *count = number(b, &at);
    if (!strip && number(b, &at) > 0) {
        number(b, &at);
        number(b, &at);
    }
    return *count <= (*end - at) / 4 && at < *end ? at : 0;
}

/* Where the prototypes begin; 0 for a form that is not known. */
static size_t first_prototype(const bytes *b, int *strip)
{
    size_t at = 4, flags;
    if (b->size < 6 || memcmp(b->data, "\033LJ", 3) != 0)
        return 0;
    flags = number(b, &at);
    if (flags & BIG_ENDIAN_FLAG)
        return 0;
    *strip = (flags & STRIP_FLAG) != 0;
    if (!*strip) {
        size_t name = number(b, &at);
        if (name > b->size - at)
            return 0;
        at += name;
    }
    return at;
}

static int dumped(lua_State *L, const char *text, bytes *b)
{
    int bad = luaL_loadstring(L, text) || lua_dump(L, take, b);
    lua_settop(L, 0);
    return bad;
}

static void find_opcodes(lua_State *L)
{
    bytes a = { 0 }, b = { 0 };
    int strip = 0, found = 0;
    if (!dumped(L, "for k in pairs(t) do end", &a) && !dumped(L, "for k in parts(t) do end", &b)) {
        size_t ea = first_prototype(&a, &strip), eb = first_prototype(&b, &strip), na = 0, nb = 0;
        size_t pa = ea ? next_prototype(&a, &ea, strip, &na) : 0,
               pb = eb ? next_prototype(&b, &eb, strip, &nb) : 0;
        for (size_t i = 0; pa && pb && na == nb && i < na; i++) {
            unsigned char x = a.data[pa + 4 * i], y = b.data[pb + 4 * i];
            if (x != y && found < 2) {
                op_from[found] = x;
                op_to[found++] = y;
            }
        }
    }
    if (found != 2)
        memcpy(op_from, op_to, sizeof op_from);
    free(a.data);
    free(b.data);
}

/* The Lua function on top of the stack gives way to one with plain loops, if it has specialised
 * ones. */
static void despecialise(lua_State *L)
{
    bytes b = { 0 };
    int strip, changed = 0;
    if (op_from[0] == op_to[0] || !lua_isfunction(L, -1) || lua_iscfunction(L, -1))
        return;
    if (!lua_dump(L, take, &b)) {
        size_t end = first_prototype(&b, &strip), at, n = 0;
        while (end && (at = next_prototype(&b, &end, strip, &n)) != 0) {
            for (size_t i = 0; i < n; i++) {
                unsigned char *op = b.data + at + 4 * i;
                for (int k = 0; k < 2; k++)
                    if (*op == op_from[k]) {
                        *op = op_to[k];
                        changed = 1;
                        break;
                    }
            }
        }
        if (changed && luaL_loadbufferx(L, (const char *)b.data, b.size, "=mascon", "b") == 0) {
            lua_getfenv(L, -2);
            lua_setfenv(L, -2);
            lua_replace(L, -2);
        } else if (changed) {
            lua_pop(L, 1);
        }
    }
    free(b.data);
}

/* load, loadstring, loadfile and the searcher: what they were, then despecialise. */
static int loaded(lua_State *L)
{
    int n = lua_gettop(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, n, LUA_MULTRET);
    if (lua_gettop(L) == 1)
        despecialise(L);
    return lua_gettop(L);
}

static int chunks_dofile(lua_State *L)
{
    const char *path = luaL_optstring(L, 1, NULL);
    lua_settop(L, 1);
    if (luaL_loadfile(L, path) != 0)
        return lua_error(L);
    despecialise(L);
    lua_call(L, 0, LUA_MULTRET);
    return lua_gettop(L) - 1;
}

/* next and pairs as C functions, which the compiler leaves alone: the version of Debian 12 compiles
 * the builtin next to a call that returns two values, and now and then moves the second, an
 * address, as 32 bits (LuaJIT issue 829; seen as crashes at the low half of the stack's address,
 * once in thousands of runs, also where next was called for a single key). */
static int plain_next(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    if (lua_next(L, 1))
        return 2;
    lua_pushnil(L);
    return 1;
}

/* The first keys of a table, nil where there are no more: one call where options are looked at,
 * since a compiled trace ends and begins again at each. */
enum { KEYS = 5 };
static int first_keys(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_pushnil(L);
    int n = 0;
    while (n < KEYS && lua_next(L, 1)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        n++;
    }
    lua_settop(L, 1 + n);
    for (; n < KEYS; n++) lua_pushnil(L);
    return KEYS;
}

/* With the __pairs of Lua 5.2, which LuaJIT has only when it is built for that. Upvalues: the
 * builtin pairs, which says what is wrong; plain_next. */
static int plain_pairs(lua_State *L)
{
    const int own = luaL_getmetafield(L, 1, "__pairs");
    if (!own && lua_type(L, 1) == LUA_TTABLE) {
        lua_pushvalue(L, lua_upvalueindex(2));
        lua_pushvalue(L, 1);
        lua_pushnil(L);
        return 3;
    }
    if (!own)
        lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 1);
    lua_call(L, 1, 3);
    return 3;
}

static void install_iteration(lua_State *L)
{
    lua_getglobal(L, "pairs");
    lua_pushcfunction(L, plain_next);
    lua_pushvalue(L, -1);
    lua_setglobal(L, "next");
    lua_pushcclosure(L, plain_pairs, 2);
    lua_setglobal(L, "pairs");
}

/* loadstring of the library: its chunks see what modules see. Upvalues: the global one, the
 * environment. */
static int load_own(lua_State *L)
{
    int n = lua_gettop(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, n, LUA_MULTRET);
    if (lua_gettop(L) == 1 && lua_isfunction(L, 1)) {
        lua_pushvalue(L, lua_upvalueindex(2));
        lua_setfenv(L, 1);
    }
    return lua_gettop(L);
}

/* The base functions and libraries as they are now; other names, and all that is assigned, are
 * globals. */
static void push_environment(lua_State *L)
{
    lua_createtable(L, 0, 64);
    for (lua_pushnil(L); lua_next(L, LUA_GLOBALSINDEX);) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
    lua_getglobal(L, "loadstring");
    lua_pushvalue(L, -2);
    lua_pushcclosure(L, load_own, 2);
    lua_setfield(L, -2, "loadstring");
    lua_createtable(L, 0, 2);
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    lua_setfield(L, -2, "__index");
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
}

/* Whether the function on top of the stack comes from a file below one of the library's folders. */
static int of_library(lua_State *L, const mci_place *place)
{
    lua_Debug ar;
    if (!lua_isfunction(L, -1) || lua_iscfunction(L, -1))
        return 0;
    lua_pushvalue(L, -1);
    if (!lua_getinfo(L, ">S", &ar) || ar.source[0] != '@')
        return 0;
    const char *const folders[] = { place->lua, place->generated };
    for (int i = 0; i < 2; i++) {
        const size_t n = strlen(folders[i]);
        if (n > 0 && strncmp(ar.source + 1, folders[i], n) == 0 && ar.source[n + 1] == '/')
            return 1;
    }
    return 0;
}

/* The searcher of Lua modules: bytecode of the build, else the text. Upvalues: what it was, the
 * place of the program, the environment of the library. */
static int search(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TSTRING && mci_bundle_load(L, lua_tostring(L, 1)))
        lua_replace(L, 1);
    else
        loaded(L);
    if (lua_gettop(L) == 1 && of_library(L, lua_touserdata(L, lua_upvalueindex(2)))) {
        lua_pushvalue(L, lua_upvalueindex(3));
        lua_setfenv(L, 1);
    }
    return lua_gettop(L);
}

/* Adds keys to the table of functions of the host on the stack. */
void mci_chunks_functions(lua_State *L)
{
    lua_pushcfunction(L, first_keys);
    lua_setfield(L, -2, "keys");
}

void mci_chunks_install(lua_State *L, const mci_place *place)
{
    install_iteration(L);

    static const char *const names[] = { "load", "loadstring", "loadfile" };
    find_opcodes(L);
    for (int i = 0; i < 3; i++) {
        lua_getglobal(L, names[i]);
        lua_pushcclosure(L, loaded, 1);
        lua_setglobal(L, names[i]);
    }
    lua_pushcfunction(L, chunks_dofile);
    lua_setglobal(L, "dofile");
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "loaders");
    lua_rawgeti(L, -1, 2);
    lua_pushlightuserdata(L, (void *)place);
    push_environment(L);
    lua_pushcclosure(L, search, 3);
    lua_rawseti(L, -2, 2);
    lua_settop(L, 0);
}
