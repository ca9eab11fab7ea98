/* edit.c - opens the line editor plug-in and hands its calls to Lua.
 *
 * Holds: the plug-in's handle and table, the Lua function that completes words, and the list
 * handed back to the editor. The editor never sees Lua: completion runs inside edit_read, on the
 * state that called it. */
#include "host.h"
#include "device/mc_backend.h"
#include <dlfcn.h>
#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;
static mc_edit_api edit;
static char open_error[512];
static lua_State *reader; /* the state inside edit_read, else NULL */
static char complete_key, list_key;
static const char **words;

/* The prompt is the only user of this plug-in, and it works before libmascon is there: plain
 * functions serve it. */
static int record(int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(open_error, sizeof open_error, fmt, args);
    va_end(args);
    return status;
}

static int never(void)
{
    return 0;
}

static const mc_host_api HOST = { MC_BACKEND_ABI, malloc, free, record, never };

/* edit_open([path]) -> name, or nil and the reason. */
static int host_edit_open(lua_State *L)
{
    const char *path = luaL_optstring(L, 1, lua_tostring(L, lua_upvalueindex(1)));
    if (edit.readline) {
        lua_pushstring(L, edit.name);
        return 1;
    }
    mc_plugin_open_fn plugin_open;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "mc_plugin_open") : NULL;
    memcpy(&plugin_open, &symbol, sizeof symbol);
    edit.abi = MC_BACKEND_ABI;
    if (!symbol)
        snprintf(open_error, sizeof open_error, "%s", dlerror());
    else if (plugin_open(&HOST, &edit) == 0 && edit.readline) {
        lua_pushstring(L, edit.name);
        return 1;
    }
    memset(&edit, 0, sizeof edit);
    lua_pushnil(L);
    lua_pushstring(L, open_error);
    return 2;
}

static int require_open(lua_State *L)
{
    return edit.readline ? 0 : luaL_error(L, "the line editor is not open");
}

/* edit_read(prompt) -> line; or nil and the number of the signal that ended it, 0 at the end of the
 * file. */
static int host_edit_read(lua_State *L)
{
    int interrupted = 0;
    const char *prompt = luaL_checkstring(L, 1);
    require_open(L);
    reader = L;
    const char *line = edit.readline(prompt, &interrupted);
    reader = NULL;
    if (line) {
        lua_pushstring(L, line);
        return 1;
    }
    lua_pushnil(L);
    lua_pushinteger(L, interrupted);
    return 2;
}

static int host_edit_history_load(lua_State *L)
{
    require_open(L);
    edit.history_load(luaL_checkstring(L, 1));
    return 0;
}

static int host_edit_history_add(lua_State *L)
{
    require_open(L);
    edit.history_add(luaL_checkstring(L, 1));
    return 0;
}

static int host_edit_history_save(lua_State *L)
{
    require_open(L);
    edit.history_save(luaL_checkstring(L, 1));
    return 0;
}

/* Calls fn(line, cursor) -> list of words, start; cursor and start count bytes from 0 here and in
 * Lua alike. The list stays in the registry, so the words live until the next call. */
static const char *const *complete(void *arg, const char *line, int cursor, int *start)
{
    static const char *const NONE[] = { NULL };
    lua_State *L = reader;
    (void)arg;
    *start = cursor;
    if (!L || !lua_checkstack(L, 8))
        return NONE;
    int top = lua_gettop(L);
    const char *const *found = NONE;
    lua_pushlightuserdata(L, &complete_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_pushstring(L, line);
    lua_pushinteger(L, cursor);
    if (lua_pcall(L, 2, 2, 0) == 0 && lua_istable(L, -2)) {
        int at = (int)lua_tointeger(L, -1);
        size_t n = lua_objlen(L, -2);
        const char **list = realloc(words, (n + 1) * sizeof *list);
        if (list) {
            words = list;
            size_t kept = 0;
            for (size_t i = 1; i <= n; i++) {
                lua_rawgeti(L, -2, (int)i);
                if (lua_type(L, -1) == LUA_TSTRING)
                    list[kept++] = lua_tostring(L, -1);
                lua_pop(L, 1);
            }
            list[kept] = NULL;
            lua_pushlightuserdata(L, &list_key);
            lua_pushvalue(L, -3);
            lua_rawset(L, LUA_REGISTRYINDEX);
            *start = at >= 0 && at <= cursor ? at : cursor;
            found = list;
        }
    }
    lua_settop(L, top);
    return found;
}

/* edit_complete(fn) sets the function that lists completions. */
static int host_edit_complete(lua_State *L)
{
    require_open(L);
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_pushlightuserdata(L, &complete_key);
    lua_pushvalue(L, 1);
    lua_rawset(L, LUA_REGISTRYINDEX);
    edit.set_complete(complete, NULL);
    return 0;
}

void mci_edit_close(void)
{
    if (edit.close)
        edit.close();
    memset(&edit, 0, sizeof edit);
}

void mci_edit_functions(lua_State *L, const mci_place *place)
{
    static const luaL_Reg FUNCTIONS[] = {
        { "edit_read", host_edit_read },
        { "edit_history_load", host_edit_history_load },
        { "edit_history_add", host_edit_history_add },
        { "edit_history_save", host_edit_history_save },
        { "edit_complete", host_edit_complete },
        { NULL, NULL },
    };
    lua_pushfstring(L, "%s/mc_libedit.so", place->plugins);
    lua_pushcclosure(L, host_edit_open, 1);
    lua_setfield(L, -2, "edit_open");
    for (const luaL_Reg *f = FUNCTIONS; f->name; f++) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, -2, f->name);
    }
}
