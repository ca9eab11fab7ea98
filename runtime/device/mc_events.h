/* mc_events.h - what happens inside one call of the library, for `mascon profile`: steps of plans,
 * launches, transfers. Costs one test where it is not asked for. */
#ifndef MC_EVENTS_H
#define MC_EVENTS_H

#include "base/mc_def.h"
#include "mc_lua.h"

extern int mci_watching;

/* Notes that something ended now. begin: of mc_clock. name, what are copied. */
void mci_event(int kind, int device, const char *name, const char *what, double begin,
               int64_t bytes);

#endif
