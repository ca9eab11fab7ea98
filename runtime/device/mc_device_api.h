/* mc_device_api.h - what a kind of device implements: the one header that a binding for CUDA,
 * OpenCL or another interface includes.
 *
 * A binding is a plug-in (build/plugins/mc_<kind>.so) that exports mc_plugin_open and fills an
 * mc_device_api, or it is built in (mc_ref.c). It knows memory, streams and programs; tensors,
 * pools and ops stay in the runtime. Functions that return int return 0, or a status with the error
 * record written through host->error; those that return a pointer return NULL with the record.
 *
 * Rules. All calls of one device come from one thread at a time. put has read its source when it
 * returns, and may wait until room that it copies through is free again. get, sync and reached
 * wait; a driver may wait for work where segments are made or freed; nothing else does. Work of a
 * stream runs in order; a freed segment is not in use any more (the runtime synchronises first).
 * Copies of 0 bytes are not asked for. */
#ifndef MC_DEVICE_API_H
#define MC_DEVICE_API_H

#include "device/mc_backend.h"

/* What a device says of itself when it is opened. */
typedef struct mc_device_caps {
    char name[128];        /* as its maker calls it */
    int64_t memory;        /* bytes that may be taken in all, 0: unknown */
    /* small blocks are carved out of segments of this many bytes; 0, for tests: every block is a
     * segment of its own of just its bytes, which goes back when it is freed */
    int64_t slab;
    /* bytes, a power of two, at most 4096: where blocks begin within a segment */
    int32_t align;
    int32_t f64;           /* whether kernels can compute in it */
    int32_t group;         /* most lanes of a group */
    int32_t processor;     /* it is the machine's processor: not taken as "gpu" unasked */
} mc_device_caps;

#define MC_LAUNCH_BUFFERS 16
#define MC_LAUNCH_RAW 768
/* One launch. Arguments of the kernel: nbuf buffers, then one struct by value of nraw bytes. The
 * struct begins with nbuf int64_t: how many bytes into its segment each operand begins, written by
 * the runtime at every run. slot[k]: which of the call's operands (inputs, then results, then the
 * workspace) buffer k is; off[k]: bytes from its start. grid counts groups. apart: pointers to the
 * elements are handed over, and each of nvalue values of raw, which begin at value[k]; otherwise
 * the buffers and raw as one struct. */
typedef struct mc_launch {
    void *kernel;
    uint32_t grid[3], group[3];
    int32_t nbuf, nraw;
    int16_t slot[MC_LAUNCH_BUFFERS];
    int64_t off[MC_LAUNCH_BUFFERS];
    int32_t apart, nvalue, library; /* MC_BY_*, where there is no kernel */
    int16_t value[MC_LAUNCH_BUFFERS];
    char raw[MC_LAUNCH_RAW];
} mc_launch;

/* What a library of the interface does: a launch without a kernel whose raw bytes are its job. */
enum { MC_BY_KERNEL, MC_BY_GEMM, MC_BY_FFT };

/* Products of matrices; buffers out, a, b. */
/* TF32: operands of f32, which may be rounded to 11 bits */
enum {
    MC_GEMM_F16,
    MC_GEMM_BF16,
    MC_GEMM_F32,
    MC_GEMM_F64,
    MC_GEMM_C64,
    MC_GEMM_C128,
    MC_GEMM_TF32
};
typedef struct mc_product_job {
    int64_t at[3];              /* bytes, of out [batch, m, n], a [batch, m, k], b [batch, k, n] */
    int64_t m, n, k, batch;
    int64_t lead[3], step[3];   /* elements from row to row (turned: from column to column), from
                                 * matrix to matrix */
    int32_t turned[2];          /* a, b lie by columns */
    int32_t kind, unused;
} mc_product_job;

/* m Fourier transforms of length n; kind, prec and rows as in mc_fft_api, a row behind the other.
 * Buffers out, in, workspace; in may be overwritten by kind 3. spare: the workspace has room behind
 * what the library needs for the real rows, which begin at any of their elements. */
typedef struct mc_transform_job {
    int64_t at[3]; /* bytes */
    int64_t m, n, spare;
    int32_t kind, prec;
} mc_transform_job;

typedef struct mc_device_api {
    int abi;
    const char *kind;                                   /* "cuda", "opencl", "ref" */
    int cuda_text;         /* build or compile take whole texts of CUDA C++, as they are */
    /* devices */
    /* how many there are; negative: a status, with the record */
    int (*count)(void);
    void *(*open)(int index, mc_device_caps *caps);
    void (*close)(void *dev);
    /* memory: a segment is one allocation of the interface. at, bytes: a range of it. */
    /* MC_ENOMEM in the record when there is none: the runtime trims and asks again */
    void *(*segment_new)(void *dev, int64_t bytes);
    void (*segment_free)(void *dev, void *segment);
    int (*put)(void *dev, void *stream, void *segment, int64_t at, const void *from, int64_t bytes);
    int (*get)(void *dev, void *stream, void *to, const void *segment, int64_t at, int64_t bytes);
    int (*copy)(void *dev, void *stream, void *to, int64_t at, const void *from, int64_t from_at,
                int64_t bytes);
    /* streams and events */
    void *(*stream_new)(void *dev);
    void *(*event)(void *dev, void *stream);            /* after all that the stream holds now */
    /* the stream goes on after the event; the host does not wait */
    int (*wait)(void *dev, void *stream, void *event);
    int (*done)(void *dev, void *event);                /* 1, 0 not yet, negative: a status */
    int (*reached)(void *dev, void *event);             /* the host waits for it */
    void (*event_free)(void *dev, void *event);
    int (*sync)(void *dev, void *stream);
    /* programs; log: what the compiler says, cut to its room */
    void *(*build)(void *dev, const char *source, const char *options, char *log, int64_t room);
    /* Where compiled code can be kept by the runtime (else NULL, and the interface keeps it).
     * target: what code depends on beside its source; compiler: which one makes it, "" where there
     * is none. compile: code from host->alloc; load: a program. build is NULL then. */
    void (*target)(void *dev, char *target, char *compiler, int64_t room);
    void *(*compile)(void *dev, const char *source, int64_t *bytes, char *log, int64_t room);
    void *(*load)(void *dev, const void *code, int64_t bytes);
    /* borrowed from the program; NULL with the record too where a group needs more memory than the
     * device gives it */
    void *(*kernel)(void *dev, void *program, const char *name);
    /* segment[nbuf] */
    int (*launch)(void *dev, void *stream, const mc_launch *l, void *const *segment);
    /* Whether a library of the interface does this product (1; no record); NULL: there is none. */
    int (*gemm)(void *dev, const mc_product_job *g);
    /* The same for transforms: the bytes of workspace it needs, a multiple of 256; -1: it does not
     * do this one. */
    int64_t (*fft)(void *dev, const mc_transform_job *t);
    /* Lists of launches made once and run as one; NULL: the runtime launches one by one. segment:
     * of each launch. set: launch k of the graph gets the bytes and segments of l from the next run
     * on; its kernel and grid stay. free: the last run may still be queued. */
    void *(*graph_new)(void *dev, int n, const mc_launch *const *l,
                       void *const (*segment)[MC_LAUNCH_BUFFERS]);
    int (*graph_set)(void *dev, void *graph, int k, const mc_launch *l, void *const *segment);
    int (*graph_run)(void *dev, void *stream, void *graph);
    void (*graph_free)(void *dev, void *graph);
    /* Host memory behind a segment, for devices that run the CPU's kernels (ref); NULL on all
     * others. */
    char *(*reach)(void *dev, void *segment);
    /* Versions and abilities, in words: "capability 9.0, driver 13.0"; NULL: it says nothing. */
    void (*about)(void *dev, char *text, int64_t room);
    /* Addresses that tensors show, chosen by the device; NULL: the runtime reserves a range without
     * access rights. */
    char *(*show)(void *dev, void *segment);
    /* Exchange with other libraries of the process (DLPack); NULL, all of it: none. */
    int addressed;         /* memory is named by addresses: those of a segment and bytes added */
    /* The allocation that memory of another library is or lies in: its segment, where it begins
     * there, the bytes of all. A status where it is no memory of this device. */
    int (*allocation)(void *dev, void *memory, void **segment, int64_t *at, int64_t *bytes);
    /* What `other`, a stream of the interface, is given from now on runs after what the stream
     * holds now; the host does not wait. */
    int (*order)(void *dev, void *stream, int64_t other);
    void *(*native)(void *stream); /* the stream as the interface knows it */
} mc_device_api;

#endif
