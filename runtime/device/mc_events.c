/* mc_events.c - a list of what happened, taken by whoever asked for it after each call.
 *
 * When the list is full the oldest go: a call with more events than that shows its end. Used from
 * the thread that runs the script only. */
#include "device/mc_events.h"
#include "base/mc_memory.h"

#include <stdio.h>
#include <string.h>

#define ROOM 4096

int mci_watching;
static mc_event *events;
static int64_t first, next; /* of those that were not taken */

int mc_watch(int on)
{
    if (on && !events && !(events = mci_calloc(ROOM, sizeof *events))) return mc_errstatus();
    first = next = 0;
    mci_watching = on;
    if (!on) {
        mci_free(events);
        events = NULL;
    }
    return MC_OK;
}

void mci_event(int kind, int device, const char *name, const char *what, double begin,
               int64_t bytes)
{
    mc_event *e = &events[next++ % ROOM];
    first = next - first > ROOM ? next - ROOM : first;
    snprintf(e->name, sizeof e->name, "%s", name ? name : "");
    snprintf(e->what, sizeof e->what, "%s", what ? what : "");
    e->begin = begin;
    e->end = mc_clock();
    e->bytes = bytes;
    e->kind = kind;
    e->device = device;
}

int mc_watched(mc_event *out, int room)
{
    int n = 0;
    while (first < next && n < room) out[n++] = events[first++ % ROOM];
    return n;
}
