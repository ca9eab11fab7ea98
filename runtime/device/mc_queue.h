/* mc_queue.h - how far the host runs ahead of a device.
 *
 * Work is counted in batches. At the end of a batch the host waits for the end of the one before,
 * so that at most two are outstanding: what is computed and what comes next. */
#ifndef MC_QUEUE_H
#define MC_QUEUE_H

#include "device/mc_device_api.h"

#define MCI_QUEUE_MOST 128 /* launches of a batch, but for one graph of more */

/* Of a compute stream. Zeroed at first. */
typedef struct mci_queue {
    void *mark;           /* event at the end of the batch before; NULL: nothing is outstanding */
    int64_t before;       /* launches of that batch */
    int64_t since, bytes; /* of the batch under way: launches, size of their operands */
    int64_t batch;        /* launches of a batch, by what the last ones took; 0: not known */
    double at;            /* when the last batch ended */
} mci_queue;

/* What was launched: so many launches with operands of so many bytes. Waits where a batch ends. */
int mci_queue_add(mci_queue *q, const mc_device_api *api, void *dev, void *stream, int64_t launches,
                  int64_t bytes);
/* The host has waited for all of it since `began` (mc_clock). */
void mci_queue_empty(mci_queue *q, const mc_device_api *api, void *dev, double began);

#endif
