/* parts.h - what the parts of the HDF5 neighbour share: the lock, the types, the errors, the
 * driver.
 *
 * hdf5.c reads, hdf5_write.c writes, hdf5_types.c knows types, hdf5_drive.c is the file below all,
 * hdf5_lock.c the lock. */
#ifndef MC_BINDINGS_HDF5_PARTS_H
#define MC_BINDINGS_HDF5_PARTS_H

/* The interface of HDF5 1.10 also where the library is newer. */
#define H5_USE_110_API

#include "../../runtime/device/mc_backend.h"
#include "../../runtime/base/mc_def.h"

#include <hdf5.h>

/* The statuses this neighbour gives back; numbers as in the table of runtime/ops/ops.lua. */
enum {
    STATUS_INVALID = 1,
    STATUS_NOMEM = 4,
    STATUS_IO = 5,
    STATUS_FORMAT = 6,
    STATUS_CANCELLED = 7,
    STATUS_UNSUPPORTED = 9,
    STATUS_INTERNAL = 11
};

/* Bytes between two looks at the cancel flag. */
#define SLAB ((int64_t)32 << 20)

/* Set once by mc_plugin_open, before any other call. */
extern const mc_host_api *hdf5_host;

/* Every call into libhdf5 stands between these two: the library as Debian builds it knows no
 * threads, and prints its errors unless told not to. */
void hdf5_enter(void);
void hdf5_leave(void);

/* Enters where there is memory for a call that takes some; else a status with the record, and has
 * left again. */
int hdf5_enter_with_room(const char *label);

/* The host's memory. Between hdf5_enter and hdf5_leave it is remembered when there was none, since
 * libhdf5 hands failures of our driver and callbacks on as its own; then, and while the process
 * has no room for what a call takes, a status, with the record. */
void *hdf5_alloc(size_t bytes);
int hdf5_starved(const char *label);

/* What libhdf5 said about the last failure since hdf5_enter, from its innermost call. Every call
 * into it forgets the failure before: ask at once, the text is kept. */
const char *hdf5_why(void);

/* The type in memory of what is delivered or handed over; owned, negative on failure. */
hid_t hdf5_memory_type(int type, int size);

/* What is delivered of a type in a file, and the type in memory for it: owned, negative when
 * unknown. */
typedef struct hdf5_content {
    int holds, type, size; /* as in mc_hdf5_about */
    hid_t memory;
} hdf5_content;
void hdf5_content_of(hid_t type, hdf5_content *c);

/* Where a writer's bytes go. */
typedef struct hdf5_sink {
    int fd, err; /* err: errno of the first failed call */
    int dropped; /* nothing is written any more */
} hdf5_sink;

/* File access through our driver: into `to`, or, NULL, reading the file that is named. Owned. */
hid_t hdf5_access(hdf5_sink *to);

/* The writing half fills its places of the table. */
void hdf5_writer_api(mc_hdf5_api *api);

#endif
