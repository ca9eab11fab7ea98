/* hdf5_lock.c - the lock around libhdf5, and what holds until it is left: whether memory was short,
 * what the library says of its last failure.
 *
 * libhdf5 as distributions build it knows no threads, and prints its errors unless told not to. */
#include "parts.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

const mc_host_api *hdf5_host;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* guarded by the lock: the way of printing errors that a program around us may have set */
static H5E_auto2_t others_print;
static void *others_data;
static char why[240];
static int starved;

void *hdf5_alloc(size_t bytes)
{
    void *p = hdf5_host->alloc(bytes);
    if (!p) starved = 1;
    return p;
}

/* libhdf5 ends the process in some calls when it gets no memory (seen in H5Fopen of 1.10.8): so
 * there has to be room for what a call takes, and after a failure the room tells what was short.
 * Address space only, which is given back at once. */
#define ROOM ((size_t)24 << 20)

static int has_room(void)
{
    void *p = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return 0;
    (void)munmap(p, ROOM);
    return 1;
}

int hdf5_starved(const char *label)
{
    return starved || !has_room() ? hdf5_host->error(
                         STATUS_NOMEM,
                         "hdf5: %s: no memory; release tensors, or read and write less at a time",
                         label)
                   : 0;
}

void hdf5_enter(void)
{
    pthread_mutex_lock(&lock);
    (void)H5Eget_auto2(H5E_DEFAULT, &others_print, &others_data);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    (void)H5Eclear2(H5E_DEFAULT);
    why[0] = 0;
    starved = 0;
}

int hdf5_enter_with_room(const char *label)
{
    hdf5_enter();
    const int status = hdf5_starved(label);
    if (status) hdf5_leave();
    return status;
}

void hdf5_leave(void)
{
    (void)H5Eclear2(H5E_DEFAULT);
    (void)H5Eset_auto2(H5E_DEFAULT, others_print, others_data);
    pthread_mutex_unlock(&lock);
}

static herr_t innermost(unsigned n, const H5E_error2_t *e, void *data)
{
    (void)data;
    if (n == 0 && e->desc)
        (void)snprintf(why, sizeof why, "%.*s", (int)strcspn(e->desc, "\n"), e->desc);
    return 0;
}

const char *hdf5_why(void)
{
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, NULL);
    return why[0] ? why : "no reason given";
}
