/* lanes.c - a fiber for each lane of a group: between two barriers lanes run to their end forwards,
 * backwards or shuffled, so that a missing barrier gives other results, and one that only some
 * lanes meet is found. Group memory is filled with the bits of a NaN before each group. */
#include "lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST 256
#define STACK (((size_t)256 << 10) + 4160) /* not a power of two: their tops share no cache set */

static struct {
    char *stacks;
    void *lane[MOST]; /* stack pointers; NULL: a lane has not begun */
    int line[MOST];   /* of the barrier a lane waits at; 0: runs, -1: has ended */
    int idle[MOST], nidle, stack; /* stacks of no lane; that of the lane that begins */
    void *scheduler;
    int now;
    const lanes_kernel *kernel;
    void **arguments;
    struct mcd_lane at;
} run;

#if defined(__x86_64__)
void lanes_switch(void **save, void *to);
__asm__(".text\n.globl lanes_switch\n.hidden lanes_switch\nlanes_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
#else
#error "the stand-in switches stacks in x86-64 code"
#endif

static void barrier(int line)
{
    run.line[run.now] = line;
    lanes_switch(&run.lane[run.now], run.scheduler);
}

static void lane_begins(void)
{
    run.kernel->call(run.arguments);
    run.line[run.now] = -1;
    lanes_switch(&run.lane[run.now], run.scheduler);
    abort(); /* an ended lane is not resumed */
}

static void *fresh(int i)
{
    void **top = (void **)(void *)(run.stacks + (size_t)(i + 1) * STACK);
    *--top = NULL; /* keeps the stack 16 bytes aligned at the call */
    *--top = (void *)(uintptr_t)lane_begins;
    for (int k = 0; k < 6; k++) *--top = NULL;
    return top;
}

static uint64_t next(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void arrange(int *list, int n, int order, uint64_t *seed)
{
    for (int i = 0; i < n; i++) list[i] = order == LANES_BACKWARDS ? n - 1 - i : i;
    if (order == LANES_SHUFFLED)
        for (int i = n - 1; i > 0; i--) {
            const int k = (int)(next(seed) % (uint64_t)(i + 1)), v = list[i];
            list[i] = list[k];
            list[k] = v;
        }
}

/* Sanitizers watch memset, and what lies between two arrays of a group is none of its memory. */
static void fill(volatile char *from, const volatile char *end)
{
    while (from < end) *from++ = (char)0xff;
}

/* A lane runs up to its next barrier. One that ends leaves its stack to the next, so that lanes
 * without barriers share one, which the processor's cache holds. */
static void resume(int lane)
{
    run.now = run.at.lane = lane;
    if (!run.lane[lane]) run.lane[lane] = fresh(run.stack = run.idle[--run.nidle]);
    lanes_switch(&run.scheduler, run.lane[lane]);
    if (run.line[lane] == -1) run.idle[run.nidle++] = run.stack;
}

static int group(int lanes, int order, uint64_t *seed)
{
    int list[MOST], left = lanes;
    fill(run.kernel->group_from, run.kernel->group_end);
    for (int i = 0; i < lanes; i++) {
        run.line[i] = 0;
        run.lane[i] = NULL;
        run.idle[i] = i;
    }
    run.nidle = lanes;
    while (left > 0) {
        int ended = 0;
        arrange(list, lanes, order, seed);
        for (int i = 0; i < lanes; i++) resume(list[i]);
        for (int i = 0; i < lanes; i++) ended += run.line[i] == -1;
        for (int i = 1; i < lanes; i++)
            if (run.line[i] != run.line[0]) {
                fprintf(stderr,
                        "standin: %s: lane 0 is at the barrier of line %d, lane %d at that of %d "
                        "(-1: it has ended)\n",
                        run.kernel->name, run.line[0], i, run.line[i]);
                return -1;
            }
        left = ended ? 0 : lanes;
    }
    return 0;
}

int lanes_run(const lanes_kernel *k, const uint32_t grid[3], int lanes, void **arguments, int order,
              uint64_t *seed)
{
    const int64_t all = (int64_t)grid[0] * grid[1] * grid[2];
    if (lanes > MOST) return -1;
    if (!run.stacks) {
        run.stacks = mmap(NULL, MOST * STACK, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (run.stacks == MAP_FAILED) abort();
    }
    run.kernel = k;
    run.arguments = arguments;
    run.at.lanes = lanes;
    run.at.barrier = barrier;
    *k->at = &run.at;
    const int64_t turn = order == LANES_SHUFFLED ? (int64_t)(next(seed) % (uint64_t)all) : 0;
    for (int64_t i = 0; i < all; i++) {
        const int64_t g = order == LANES_BACKWARDS ? all - 1 - i : (i + turn) % all;
        run.at.group[0] = g % grid[0];
        run.at.group[1] = g / grid[0] % grid[1];
        run.at.group[2] = g / grid[0] / grid[1];
        if (group(lanes, order, seed)) return -1;
    }
    return 0;
}
