/* publish.c - the table that Lua finds as require "mascon.host".
 *
 * Holds: package.path and package.cpath, the table's texts and plain functions, and the
 * functions that run at the way out. No globals are made: the table lies in package.loaded only. */
#include "host.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A thread of its own, so that leaving from inside a coroutine finds a usable stack. NULL before
 * publish and after exit. */
static lua_State *exit_thread;
static char exit_key;

/* clock() -> seconds of a monotonic clock. */
static int host_clock(lua_State *L)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    lua_pushnumber(L, (lua_Number)t.tv_sec + 1e-9 * (lua_Number)t.tv_nsec);
    return 1;
}

/* isatty(fd) -> boolean. */
static int host_isatty(lua_State *L)
{
    lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
    return 1;
}

/* width() -> columns of the terminal, 80 when there is none. */
static int host_width(lua_State *L)
{
    struct winsize size;
    int columns = 80;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        columns = size.ws_col;
    lua_pushinteger(L, columns);
    return 1;
}

/* list(folder) -> names in it without "." and "..", unsorted, folders with a trailing slash; nil
 * when it cannot be read. */
static int host_list(lua_State *L)
{
    DIR *folder = opendir(luaL_checkstring(L, 1));
    if (!folder)
        return 0;
    lua_newtable(L);
    int n = 0;
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        struct stat about;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        int is_folder = fstatat(dirfd(folder), e->d_name, &about, 0) == 0 && S_ISDIR(about.st_mode);
        lua_pushfstring(L, "%s%s", e->d_name, is_folder ? "/" : "");
        lua_rawseti(L, -2, ++n);
    }
    closedir(folder);
    return 1;
}

/* make_folder(path, private) -> whether it is there afterwards; open to whom the umask lets in, or
 * to the user alone. */
static int host_make_folder(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    lua_pushboolean(L, mkdir(path, lua_toboolean(L, 2) ? 0700 : 0777) == 0 || errno == EEXIST);
    return 1;
}

/* writable(folder) -> whether a file can be made there; none is left, whenever the process ends. */
static int host_writable(lua_State *L)
{
    const char *folder = luaL_checkstring(L, 1);
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
        /* a file system without nameless files: the mode and the mount have to do */
        lua_pushboolean(L, access(folder, W_OK | X_OK) == 0);
        return 1;
    }
    if (fd >= 0)
        close(fd);
    lua_pushboolean(L, fd >= 0);
    return 1;
}

/* variables(prefix) -> names of the environment that begin so. */
static int host_variables(lua_State *L)
{
    size_t length;
    const char *prefix = luaL_checklstring(L, 1, &length);
    int n = 0;
    extern char **environ;
    lua_newtable(L);
    for (char **e = environ; e && *e; e++) {
        if (strncmp(*e, prefix, length) != 0)
            continue;
        lua_pushlstring(L, *e, strcspn(*e, "="));
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

/* on_exit(fn): fn() runs at every way out but SIGKILL and the third Ctrl-C; the last registered
 * runs first. */
static int host_on_exit(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_pushlightuserdata(L, &exit_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_pushvalue(L, 1);
    lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
    return 0;
}

static void run_exit_functions(lua_State *L)
{
    lua_pushlightuserdata(L, &exit_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    for (int i; (i = (int)lua_objlen(L, -1)) > 0;) {
        lua_rawgeti(L, -1, i);
        lua_pushnil(L);
        lua_rawseti(L, -3, i);
        if (lua_pcall(L, 0, 0, 0) != 0) {
            const char *text = lua_tostring(L, -1);
            fprintf(stderr, "mascon: on the way out: %s\n",
                    text ? text : "(error object is not a string)");
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
}

void mci_publish_exit(void)
{
    lua_State *L = exit_thread;
    exit_thread = NULL;
    if (L)
        run_exit_functions(L);
}

int mci_publish_status(int status)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || status != 0)
        return status;
    int why = errno;
    const char *word;
    if (why == EPIPE || mci_interrupt_status(&word) == 128 + SIGPIPE)
        return 128 + SIGPIPE; /* its reader left: nobody is to be told */
    fprintf(stderr, "mascon: standard output: %s\n",
            why ? strerror(why) : "it could not be written");
    return 1;
}

/* os.exit([status [, close]]), with the status of the program where its output is lost. */
static int host_exit(lua_State *L)
{
    int status = lua_isboolean(L, 1) ? !lua_toboolean(L, 1) : (int)luaL_optinteger(L, 1, 0);
    if (lua_toboolean(L, 2)) {
        lua_close(L);
        mci_interrupt_detach();
    }
    mci_publish_exit();
    exit(mci_publish_status(status));
}

/* os.exit(n, true) closes the state before the process ends: the last moment for the functions. */
static int on_close(lua_State *L)
{
    if (exit_thread) {
        exit_thread = NULL;
        run_exit_functions(L);
    }
    return 0;
}

/* Our library first, so that nothing in a working folder can stand in for it; the usual places of
 * Debian and of a local installation last, so that test and lint tools are found whatever the
 * linked LuaJIT was built for. */
static void append_missing(lua_State *L, int package, const char *field, const char *const *entries)
{
    lua_getfield(L, package, field);
    for (; *entries; entries++) {
        if (!strstr(lua_tostring(L, -1), *entries)) {
            lua_pushfstring(L, "%s;%s", lua_tostring(L, -1), *entries);
            lua_remove(L, -2);
        }
    }
    lua_setfield(L, package, field);
}

static void set_search_paths(lua_State *L, const mci_place *place)
{
    static const char *const LUA_PLACES[] = {
        "/usr/local/share/lua/5.1/?.lua", "/usr/local/share/lua/5.1/?/init.lua",
        "/usr/share/lua/5.1/?.lua", "/usr/share/lua/5.1/?/init.lua", NULL
    };
    static const char *const C_PLACES[] = {
        "/usr/local/lib/lua/5.1/?.so",
#if defined(__x86_64__)
        "/usr/lib/x86_64-linux-gnu/lua/5.1/?.so",
#elif defined(__aarch64__)
        "/usr/lib/aarch64-linux-gnu/lua/5.1/?.so",
#endif
        "/usr/lib/lua/5.1/?.so", NULL
    };
    lua_getglobal(L, "package");
    int package = lua_gettop(L);
    int apart = strcmp(place->generated, place->lua) != 0;
    lua_getfield(L, package, "path");
    lua_pushfstring(L, "%s%s%s/?.lua;%s/?/init.lua;%s", apart ? place->generated : "",
                    apart ? "/?.lua;" : "", place->lua, place->lua, lua_tostring(L, -1));
    lua_setfield(L, package, "path");
    lua_pop(L, 1);
    append_missing(L, package, "path", LUA_PLACES);
    lua_getfield(L, package, "cpath"); /* modules in C that a relocatable folder carries */
    lua_pushfstring(L, "%s;%s/lib/lua/?.so", lua_tostring(L, -1), place->lib);
    lua_setfield(L, package, "cpath");
    lua_pop(L, 1);
    append_missing(L, package, "cpath", C_PLACES);
    lua_pop(L, 1);
}

static void set_text(lua_State *L, const char *field, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, field);
}

void mci_publish(lua_State *L, const mci_place *place)
{
    static const luaL_Reg FUNCTIONS[] = {
        { "clock", host_clock },   { "isatty", host_isatty },   { "width", host_width },
        { "list", host_list },     { "on_exit", host_on_exit }, { "make_folder", host_make_folder },
        { "variables", host_variables }, { "writable", host_writable },
        { NULL, NULL },
    };
    set_search_paths(L, place);
    lua_getglobal(L, "os");
    lua_pushcfunction(L, host_exit);
    lua_setfield(L, -2, "exit");
    lua_pop(L, 1);

    lua_pushlightuserdata(L, &exit_key);
    lua_newtable(L);
    lua_rawset(L, LUA_REGISTRYINDEX);
    exit_thread = lua_newthread(L);
    lua_pushlightuserdata(L, &exit_thread);
    lua_insert(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
    atexit(mci_publish_exit);
    lua_newuserdata(L, 1);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, on_close);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    luaL_ref(L, LUA_REGISTRYINDEX);

    lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
    lua_newtable(L);
    for (const luaL_Reg *f = FUNCTIONS; f->name; f++) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, -2, f->name);
    }
    mci_interrupt_functions(L);
    mci_heap_functions(L);
    mci_chunks_functions(L);
    mci_edit_functions(L, place);
    set_text(L, "exe", place->exe);
    set_text(L, "luadir", place->lua);
    set_text(L, "generated", place->generated);
    set_text(L, "libdir", place->lib);
    set_text(L, "plugindir", place->plugins);
    set_text(L, "version", MC_VERSION);
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "interactive");
    lua_setfield(L, -2, "mascon.host");
    lua_pop(L, 1);
}
