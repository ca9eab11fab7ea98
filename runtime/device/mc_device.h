/* mc_device.h - devices as the runtime sees them: names, memory, transfers.
 *
 * Devices have numbers: 0 is the CPU, so that a zeroed header is a CPU header; others get the next
 * one when their name is first used, for the life of the process. Memory comes in blocks of
 * segments; tensors show addresses of a range without access rights, so that host code that reads
 * device memory by mistake faults. */
#ifndef MC_DEVICE_H
#define MC_DEVICE_H

#include "device/mc_device_api.h"

#define MCI_DEVICES 32 /* numbers in a process */

/* A segment. base: the addresses that tensors show. */
typedef struct mci_mem {
    int device;
    void *handle;
    char *base;
    int64_t bytes;
    struct mci_mem *next;
    int64_t used; /* bytes carved off; small blocks only */
    int64_t freed; /* the period in which its block was freed last, -1: never (mc_device.c) */
    int taken; /* blocks that were taken of memory of another owner; 0: it is the pool's */
} mci_mem;

/* A range of a segment that a storage holds. */
typedef struct mci_block {
    mci_mem *mem;
    int64_t at, bytes;
    int klass;
    struct mci_block *next;
} mci_block;

/* An operand as a launch sees it: bytes from the start of a segment. number: a value in host memory
 * instead (mem is NULL). */
typedef struct mci_ref {
    mci_mem *mem;
    int64_t at;
    const void *number;
} mci_ref;

/* Number of the device of a name (cpu, ref:N, cuda:N, opencl:N, gpu, auto; the number may be left
 * out), opened if need be; negative with the error record on failure. Same as mc_device_find. */
int mci_device_open(const char *name);
/* The same by kind and number; name: as it was given, for messages. */
int mci_device_open_kind(const char *name, const char *kind, int index);
void mci_device_choose(int device); /* mci_device_chosen is true from now on */
const char *mci_device_text(int device); /* "cpu", "ref:0" */
int mci_device_index(int device);        /* 0 of "ref:0" */
const mc_device_api *mci_device_api(int device);
void *mci_device_handle(int device);
void *mci_device_stream(int device);
/* What its stream was given: launches with operands of so many bytes. Waits where the host is too
 * far ahead (mc_queue.h). */
int mci_device_queued(int device, int64_t launches, int64_t bytes);
const mc_device_caps *mci_device_caps(int device);
/* Whether the word auto led to it: what has no form there goes through the host. */
int mci_device_chosen(int device);
/* The peaks of all devices count anew from what is live there. */
void mci_device_peaks_reset(void);
/* Whether the CPU's kernels run on it, on addresses of mci_device_reach. */
int mci_device_hosted(int device);
/* Queued work of all devices is waited for before what was registered for the end so far runs. */
void mci_device_at_exit(void);
char *mci_device_reach(mci_ref r);

/* Memory of a device. NULL with MC_ENOMEM in the record after the device gave back what it had
 * cached and finished its work. */
mci_block *mci_device_alloc(int device, int64_t bytes);
void mci_device_free(mci_block *b); /* accepts NULL */
static inline char *mci_block_data(const mci_block *b) { return b->mem->base + b->at; }
/* The segment that an address shown by a tensor of the device lies in. */
mci_mem *mci_device_at(int device, const void *address);

/* Exchange with other libraries of the process. DLPack's number of a device's kind; 0: it has
 * none. */
int mci_device_dlpack(int device);
/* The opened device of DLPack's kind and number, negative with the record. */
int mci_device_exchange(int kind, int index);
/* A block over memory of another owner, from its first byte to the end of its allocation; *at: how
 * many bytes of the allocation lie before it. Memory of the pool keeps the addresses that it shows.
 * NULL with the record. */
mci_block *mci_device_take(int device, void *memory, int64_t *at);
/* The end of such a block, which nothing queued wants any more afterwards. */
void mci_device_leave(mci_block *b);
/* What is done before memory of a device is shown to another library: stream 0 waits for all that
 * is queued; -1 does nothing; any other one of the interface runs after it. */
int mci_device_order(int device, int64_t stream);

/* Between host memory and a device, and on one device. get waits; put has read `from` when it
 * returns. */
int mci_device_put(mci_ref to, const void *from, int64_t bytes);
/* The same into memory of a new tensor, which nothing queued wants: much of it goes there while
 * queued work runs. */
int mci_device_upload(mci_ref to, const void *from, int64_t bytes);
int mci_device_get(void *to, mci_ref from, int64_t bytes);
int mci_device_copy(mci_ref to, mci_ref from, int64_t bytes);

/* Guards: a kernel writes the smallest position + 1 that it refuses into a number of 32 bits of the
 * device; the host looks where it waits next and raises "op: why at flat position ...". A number
 * for one launch, -1 with the record; the segment that holds them. */
int mci_device_guard(int device, const char *op, const char *why);
/* Whether the next n numbers are there without a wait between them: 1; 0 where there are never so
 * many; negative: a status, of what was waited for to make room. */
int mci_device_guard_room(int device, int n);
void *mci_device_guards(int device);
int mci_device_check(int device);

/* The device that runs the CPU's kernels on guarded memory, for tests. */
const mc_device_api *mci_ref_device(void);

#endif
