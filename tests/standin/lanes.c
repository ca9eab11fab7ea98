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
    void *lane[MOST];     /* stack pointers; NULL: a lane has not begun */
    int line[MOST];       /* of the barrier a lane waits at; -1: it has ended */
    int list[MOST], turn; /* the order of lanes up to their next barrier, and which of it runs */
    int now, stack;       /* the lane that runs; stacks that the group has taken */
    void *scheduler;
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

static void lane_begins(void);

static void *fresh(int i)
{
    void **top = (void **)(void *)(run.stacks + (size_t)(i + 1) * STACK);
    *--top = NULL; /* keeps the stack 16 bytes aligned at the call */
    *--top = (void *)(uintptr_t)lane_begins;
    for (int k = 0; k < 6; k++) *--top = NULL;
    return top;
}

/* Goes on with the lane whose turn it is, after the last with the scheduler. */
static void leave(void **save)
{
    void *to = run.scheduler;
    if (run.turn < run.at.lanes) {
        run.now = run.at.lane = run.list[run.turn];
        to = run.lane[run.now] ? run.lane[run.now] : fresh(run.stack++);
    }
    lanes_switch(save, to);
}

static void barrier(int line)
{
    const int me = run.now;
    run.line[me] = line;
    run.turn++;
    leave(&run.lane[me]);
}

/* A lane, and after its end the next that has not begun on the same stack: lanes without barriers
 * need no switch, and the processor's cache holds their stack. */
static void lane_begins(void)
{
    void *ended;
    for (;;) {
        run.kernel->call(run.arguments);
        run.line[run.now] = -1;
        if (++run.turn == run.at.lanes || run.lane[run.list[run.turn]]) break;
        run.now = run.at.lane = run.list[run.turn];
    }
    leave(&ended);
    abort(); /* an ended lane is not resumed */
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
            const int k = (int)((next(seed) >> 32) * (uint64_t)(i + 1) >> 32), v = list[i];
            list[i] = list[k];
            list[k] = v;
        }
}

/* Sanitizers watch memset, and what lies between two arrays of a group is none of its memory. */
static void fill(char *from, const char *end)
{
    volatile uint64_t *word = (volatile uint64_t *)(void *)from; /* the section is aligned */
    for (; (const char *)(word + 1) <= end; word++) *word = UINT64_MAX;
    for (volatile char *c = (volatile char *)word; c < end; c++) *c = (char)0xff;
}

static int group(int lanes, int order, uint64_t *seed)
{
    fill(run.kernel->group_from, run.kernel->group_end);
    memset(run.lane, 0, (size_t)lanes * sizeof *run.lane);
    run.stack = 0;
    do {
        arrange(run.list, lanes, order, seed);
        run.turn = 0;
        leave(&run.scheduler);
        for (int i = 1; i < lanes; i++)
            if (run.line[i] != run.line[0]) {
                fprintf(stderr,
                        "standin: %s: lane 0 is at the barrier of line %d, lane %d at that of %d "
                        "(-1: it has ended)\n",
                        run.kernel->name, run.line[0], i, run.line[i]);
                return -1;
            }
    } while (run.line[0] != -1);
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
