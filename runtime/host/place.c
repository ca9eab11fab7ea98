/* place.c - finds the installation from the place of the program.
 *
 * Three layouts are known: the source tree (build/mascon beside lua/), a relocatable folder
 * (mascon, lua/ and libmascon.so together) and an installed prefix (bin/mascon,
 * share/mascon/lua, lib/mascon). The first that holds the runner wins. */
#include "host.h"
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Relative to the folder of the program. In the source tree the generated modules lie apart. */
static const struct {
    const char *lua, *generated, *lib, *plugins;
} LAYOUTS[] = {
    { "../lua", "lua", ".", "plugins" },
    { "lua", "lua", ".", "plugins" },
    { "../share/mascon/lua", "../share/mascon/lua", "../lib/mascon", "../lib/mascon/plugins" },
};

/* Joins and removes "." and "name/..", so that messages show short paths.
 * -1 when it does not fit. */
static int join(char *out, const char *folder, const char *relative)
{
    size_t n = strlen(folder);
    if (n >= MCI_PATH_BYTES)
        return -1;
    memcpy(out, folder, n + 1);
    while (*relative) {
        size_t part = strcspn(relative, "/");
        if (part == 2 && relative[0] == '.' && relative[1] == '.') {
            while (n > 0 && out[n - 1] != '/')
                n--;
            if (n > 0)
                n--;
        } else if (!(part == 1 && relative[0] == '.')) {
            if (n + part + 2 > MCI_PATH_BYTES)
                return -1;
            out[n++] = '/';
            memcpy(out + n, relative, part);
            n += part;
        }
        out[n] = '\0';
        relative += part + (relative[part] == '/');
    }
    return 0;
}

int mci_place_find(mci_place *place, char *tried, size_t tried_bytes)
{
    ssize_t n = readlink("/proc/self/exe", place->exe, sizeof place->exe - 1);
    if (n <= 0) {
        snprintf(tried, tried_bytes, "  /proc/self/exe cannot be read");
        return -1;
    }
    place->exe[n] = '\0';
    char folder[MCI_PATH_BYTES];
    memcpy(folder, place->exe, (size_t)n + 1);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';

    size_t used = 0;
    for (size_t i = 0; i < sizeof LAYOUTS / sizeof *LAYOUTS; i++) {
        char runner[MCI_PATH_BYTES];
        if (join(place->lua, folder, LAYOUTS[i].lua) ||
            join(place->generated, folder, LAYOUTS[i].generated) ||
            join(place->lib, folder, LAYOUTS[i].lib) ||
            join(place->plugins, folder, LAYOUTS[i].plugins) ||
            join(runner, place->lua, "mascon/host/runner.lua"))
            continue;
        if (access(runner, R_OK) == 0)
            return 0;
        int wrote = snprintf(tried + used, tried_bytes - used, "  %s\n", runner);
        if (wrote > 0 && (size_t)wrote < tried_bytes - used)
            used += (size_t)wrote;
    }
    return -1;
}
