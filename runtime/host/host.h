/* host.h - what the files of the program `mascon` share.
 *
 * The program embeds LuaJIT and links nothing else of ours: libmascon is opened by Lua through its
 * own path when a script first asks for it, so that a script that needs no tensor starts in a
 * millisecond or two. Here are only the things that Lua cannot do itself: finding the
 * installation, signals, the line editor and the way out. Everything a user sees (verbs, messages,
 * prompt) is Lua, in lua/mascon/host/. */
#ifndef MC_HOST_H
#define MC_HOST_H

#include <lua.h>

#ifndef MC_VERSION
#define MC_VERSION "0.1.0"
#endif

enum { MCI_PATH_BYTES = 4096 };

/* place.c: where this installation lies. All texts are absolute paths without a trailing slash. */
typedef struct mci_place {
    char exe[MCI_PATH_BYTES];     /* the program itself, links resolved */
    char lua[MCI_PATH_BYTES];     /* the folder that holds mascon/host/runner.lua */
    char generated[MCI_PATH_BYTES]; /* the folder of modules made by the build, or lua again */
    char lib[MCI_PATH_BYTES];     /* the folder that holds libmascon.so */
    char plugins[MCI_PATH_BYTES]; /* the folder that holds mc_<who>.so */
} mci_place;

/* Fills `place`; 0 on success, else -1 with the folders tried in `tried` (one per line). */
int mci_place_find(mci_place *place, char *tried, size_t tried_bytes);

/* serve.c: reads one HDF5 file for the process that started this one so; its exit status, or -1 for
 * any other start. */
int mci_serve(int argc, char **argv, const mci_place *place);

/* chunks.c: load, loadstring, loadfile, dofile and require give chunks with plain loops over
 * next(); modules of the library see base functions that no global replaces. */
void mci_chunks_install(lua_State *L, const mci_place *place);

/* bundle.c: the file of bytecode of this installation, where it has one; the chunk of a module on
 * top of the stack and 1, or 0. */
void mci_bundle_open(lua_State *L, const mci_place *place);
int mci_bundle_load(lua_State *L, const char *name);

/* interrupt.c: SIGINT, SIGTERM, SIGHUP and SIGPIPE become Lua errors, which wait until there is a
 * state and while a module of the library is being loaded. */
void mci_interrupt_install(void);
void mci_interrupt_attach(lua_State *L, const mci_place *place);
/* After the state was closed, and the library with it: signals no longer reach for them. */
void mci_interrupt_detach(void);
/* 128 + the signal of this run, or 0; its word, NULL for a broken pipe. */
int mci_interrupt_status(const char **word);
/* Adds its functions to the table on top of the stack. */
void mci_interrupt_functions(lua_State *L);

/* heap.c: what is held back for the report of a full Lua heap. Adds its functions likewise. */
void mci_heap_functions(lua_State *L);
void mci_chunks_functions(lua_State *L);

/* edit.c: the line editor plug-in. Adds its functions to the table on top of the stack. */
void mci_edit_functions(lua_State *L, const mci_place *place);
/* Gives the terminal back; safe to call at any time. */
void mci_edit_close(void);

/* publish.c: package.loaded["mascon.host"], package.path, package.cpath and the exit functions. */
void mci_publish(lua_State *L, const mci_place *place);
/* The status to leave with: 1 with a message where standard output could not be written, 128 +
 * SIGPIPE without one where its reader left. */
int mci_publish_status(int status);
/* Runs what host.on_exit registered, last first, once. Also runs by itself when the process ends
 * through exit(). */
void mci_publish_exit(void);

#endif
