/* serve.c - the program as the reader of one HDF5 file for another process.
 *
 * No Lua runs: libmascon is opened, which answers until the other side hangs up. */
#include "host.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int mci_serve(int argc, char **argv, const mci_place *place)
{
    char path[MCI_PATH_BYTES + 32];
    int (*serve)(void) = NULL;
    if (argc != 2 || strcmp(argv[1], "--read-hdf5") != 0)
        return -1;
    snprintf(path, sizeof path, "%s/libmascon.so", place->lib);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (lib)
        *(void **)(&serve) = dlsym(lib, "mc_hdf5_serve");
    return serve ? serve() : 1;
}
