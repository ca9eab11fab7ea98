/* main.c - entry of the program `mascon`.
 *
 * Holds: the order of the start. Environment defaults come first because the libraries they
 * steer read them when they are loaded; then the installation is found, the Lua state made, the
 * host table published, signals installed, and the rest is lua/mascon/host/runner.lua, whose
 * number is the exit status. */
#include "host.h"
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

/* Only what the user left open.
 * - OpenBLAS is called from our own loop over tiles; its pool would only cost memory and a second
 * set of threads.
 * - libgomp's workers spin for milliseconds after every region by default, which starves a busy
 * machine; sleeping at once (OMP_WAIT_POLICY=passive) costs a wake-up per operation. 2000 turns of
 * its pause loop are 30 to 90 microseconds: long enough for the next operation of a chain, too
 * short to be seen in top. */
static void environment_defaults(void)
{
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    if (!getenv("OMP_WAIT_POLICY"))
        setenv("GOMP_SPINCOUNT", "2000", 0);
}

/* For errors of the runner itself; a script's errors never come here. */
static int plain_traceback(lua_State *L)
{
    const char *text = lua_tostring(L, 1);
    luaL_traceback(L, L, text ? text : "(error object is not a string)", 1);
    return 1;
}

typedef struct start {
    const mci_place *place;
    int argc;
    char **argv;
    int status;
} start;

static int protected_start(lua_State *L)
{
    start *s = lua_touserdata(L, 1);
    lua_gc(L, LUA_GCSTOP, 0);
    luaL_openlibs(L);
    mci_chunks_install(L, s->place);
    mci_publish(L, s->place);
    mci_bundle_open(L, s->place);
    lua_gc(L, LUA_GCRESTART, 0);
    mci_interrupt_attach(L, s->place);

    lua_pushcfunction(L, plain_traceback);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "mascon.host.runner");
    if (lua_pcall(L, 1, 1, -3) != 0)
        return lua_error(L);
    lua_getfield(L, -1, "main");
    lua_createtable(L, s->argc, 0);
    for (int i = 0; i < s->argc; i++) {
        lua_pushstring(L, s->argv[i]);
        lua_rawseti(L, -2, i);
    }
    if (lua_pcall(L, 1, 1, -4) != 0)
        return lua_error(L);
    s->status = (int)lua_tointeger(L, -1);
    return 0;
}

int main(int argc, char **argv)
{
    static mci_place place;
    static char tried[4 * MCI_PATH_BYTES];

    environment_defaults();
    if (mci_place_find(&place, tried, sizeof tried)) {
        fprintf(stderr, "mascon: its Lua library was not found; looked for\n%s"
                        "keep the program beside its folder, or install it again\n", tried);
        return 1;
    }
    const int served = mci_serve(argc, argv, &place);
    if (served >= 0)
        return served;
    mci_interrupt_install();
    lua_State *L = luaL_newstate();
    if (!L) {
        fputs("mascon: not enough memory to start\n", stderr);
        return 1;
    }
    start s = { &place, argc, argv, 1 };
    if (lua_cpcall(L, protected_start, &s) != 0) {
        /* A signal between two steps of the runner has no script to blame. */
        const char *word = NULL;
        s.status = mci_interrupt_status(&word);
        if (s.status && word)
            fprintf(stderr, "mascon: %s\n", word);
        if (!s.status) {
            const char *text = lua_tostring(L, -1);
            fprintf(stderr, "mascon: %s\n", text ? text : "(error object is not a string)");
            s.status = 1;
        }
    }
    mci_edit_close();
    mci_publish_exit();
    s.status = mci_publish_status(s.status);
    /* The state is left to the system: closing it would walk a heap that dies anyway, and would
     * unload libraries whose worker threads still sleep in them. exit() flushes every C stream. */
    return s.status;
}
