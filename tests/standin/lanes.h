/* lanes.h - runs the lanes of a kernel on the processor, one after the other between barriers. */
#ifndef MC_STANDIN_LANES_H
#define MC_STANDIN_LANES_H

#include <stdint.h>

/* What dialect.h declares for kernels on the processor. */
struct mcd_lane {
    int lane, lanes;
    int64_t group[3];
    void (*barrier)(int line);
};

/* A kernel of a program that nvrtc.c made. */
typedef struct lanes_kernel {
    void (*call)(void **arguments);
    struct mcd_lane **at;         /* the program's pointer */
    char *group_from, *group_end; /* its group memory */
    const char *name;
} lanes_kernel;

enum { LANES_FORWARDS, LANES_BACKWARDS, LANES_SHUFFLED };

/* Runs all groups. order: of lanes between barriers, and of groups. 0, or -1 when lanes part at a
 * barrier, with a line on standard error. */
int lanes_run(const lanes_kernel *k, const uint32_t grid[3], int lanes, void **arguments, int order,
              uint64_t *seed);

#endif
