/* mc_process.c - version, clock and the cancel flag of the process. */
#include "base/mc_error.h"

#include <time.h>

static volatile int cancel; /* set from a signal handler */

void mc_cancel_request(void) { cancel = 1; }
void mc_cancel_clear(void) { cancel = 0; }
int mc_cancel_pending(void) { return cancel; }

const char *mc_version(void) { return MC_VERSION; }

double mc_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
