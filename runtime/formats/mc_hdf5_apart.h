/* mc_hdf5_apart.h - what a reader of HDF5 files in a process of its own and its caller say to
 * each other.
 *
 * A request, with `length` bytes behind it; a reply, with `length` bytes behind it: what was asked
 * for, or the message of a failure. Numbers go through shared memory instead: two slots, filled in
 * turn with boxes of the selection, each announced by a reply and given back by one byte. Both
 * sides are one program on one machine. */
#ifndef MC_HDF5_APART_H
#define MC_HDF5_APART_H

#include "device/mc_backend.h"

#include <stddef.h>

enum { HDF5_SOCKET = 3, HDF5_MEMORY = 4 }; /* descriptors of the reader */
enum {
    APART_OPEN,
    APART_AT,
    APART_ATTRIBUTE,
    APART_REFER,
    APART_NAMES,
    APART_READ,
    APART_TEXTS,
    APART_CLOSE
};

typedef struct apart_request {
    int op, id, what, pad;
    int64_t length, reference, slot; /* slot: bytes of each of the two */
    int64_t start[MC_H5_RANK], count[MC_H5_RANK], step[MC_H5_RANK];
} apart_request;

typedef struct apart_reply {
    int status, id;
    int64_t n, length;
    mc_hdf5_about about;
} apart_reply;

/* Boxes of about APART_BOX bytes (both slots stay in the cache: half the time of 4 MiB), of whole
 * chunks where the selection takes all of them. */
#define APART_BOX ((int64_t)1 << 20)
typedef struct apart_boxes {
    int rank;
    int64_t item, bytes; /* bytes of the largest */
    int64_t start[MC_H5_RANK], count[MC_H5_RANK], step[MC_H5_RANK], chunk[MC_H5_RANK],
        size[MC_H5_RANK];
    int64_t at[MC_H5_RANK],
        now[MC_H5_RANK]; /* the box: from, and how many, in elements of the selection */
} apart_boxes;
void mci_apart_begin(apart_boxes *b, const mc_hdf5_about *a, int64_t item, const int64_t *start,
                     const int64_t *count, const int64_t *step);
/* Goes on to the next box; 0 after the last. */
int mci_apart_next(apart_boxes *b);
int64_t mci_apart_bytes(const apart_boxes *b); /* of this box */

/* All n bytes through a socket; 0, or -1. */
int mci_apart_send(int fd, const void *bytes, size_t n);
int mci_apart_receive(int fd, void *bytes, size_t n);

/* The reading half of the table, answered by processes; NULL where there is no program to start. */
const mc_hdf5_api *mci_hdf5_apart(void);

#endif
