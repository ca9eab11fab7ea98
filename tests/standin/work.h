/* work.h - what waits in a stream of the stand-in, for its parts: cuda.c the driver's entries,
 * graphs.c those of graphs. */
#ifndef MC_STANDIN_WORK_H
#define MC_STANDIN_WORK_H

#include "../../bindings/cuda/parts.h"
#include "lanes.h"

#include <stdint.h>

#define API __attribute__((visibility("default")))
#define VALUES 4096

struct CUfunc_st {
    lanes_kernel kernel;
    const int *sizes, *pointers; /* of arguments; how many pointers come first */
    char name[128];
};

enum { COPY, LAUNCH, RECORD, WAIT, CALL, GRAPH };
typedef struct work {
    struct work *next;
    int kind;
    int64_t number;
    char *to;
    const char *from;
    size_t bytes;
    CUevent event;
    int64_t event_number;
    CUstream event_stream;
    CUfunction function;
    void (*call)(const void *values);
    CUgraph graph;
    uint32_t grid[3], group;
    int at[32]; /* where arguments lie among the values */
    _Alignas(16) char values[VALUES];
} work;
struct CUstream_st {
    work *first, *last;
    int64_t given, done;
    int listed;
    CUgraph capture; /* NULL: none */
    CUstream next;
};

_Noreturn void standin_wrong(const char *format, ...);
/* What an entry begins with: a code to give at once, or 0. */
CUresult standin_enters(const char *name, int needs_context);
#define ENTER(needs)                                        \
    do {                                                    \
        const CUresult e = standin_enters(__func__, needs); \
        if (e) return e;                                    \
    } while (0)
uint64_t standin_random(void);

/* A piece of work at the end of a stream, or of the graph that it is captured into. */
work *standin_give(CUstream s, int kind);
/* The launch of a kernel, checked: a code. */
CUresult standin_kernel(work *w, const CUkernelNode *k);
/* Does a copy, a launch, a call. */
void standin_do(const work *w);
/* Whether it wants memory of that range. */
int standin_wants(const work *w, const char *at, size_t bytes);

/* graphs.c: a piece of work at the end of a captured graph; does all of a graph in an order that
 * its edges allow; whether some of it wants memory; gives it back. */
work *standin_capture(CUgraph g, int kind);
void standin_graph_do(CUgraph g);
int standin_graph_wants(CUgraph g, const char *at, size_t bytes);
void standin_graph_free(CUgraph g);

#endif
