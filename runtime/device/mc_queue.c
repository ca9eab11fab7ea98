/* mc_queue.c - batches of launches, so long that marking them costs nothing, so short that what is
 * outstanding ends soon: Ctrl-C and the end of the process wait for it.
 *
 * A batch ends after some launches, or where their operands are large. How many launches: as many
 * as the device does in about SECONDS, learned from batches that the host had to wait for. The
 * clock decides when the host waits and nothing else. */
#include "device/mc_queue.h"
#include "device/mc_events.h"
#include "base/mc_error.h"

#define FIRST 16
#define BYTES ((int64_t)256 << 20)
#define SECONDS 0.1

/* The length of batches of which so many launches took so long. */
static void learn(mci_queue *q, int64_t launches, double took)
{
    if (took > 2 * SECONDS) {
        q->batch = (int64_t)((double)launches * SECONDS / took);
        if (q->batch < 1) q->batch = 1;
    } else if (took < SECONDS / 2 && q->batch < MCI_QUEUE_MOST) {
        q->batch *= 2;
    }
}

int mci_queue_add(mci_queue *q, const mc_device_api *api, void *dev, void *stream, int64_t launches,
                  int64_t bytes)
{
    if (!q->batch) q->batch = FIRST;
    q->since += launches;
    q->bytes += bytes;
    if (q->since < q->batch && q->bytes < BYTES) return MC_OK;
    void *mark = api->event(dev, stream);
    if (!mark) return mc_errstatus();
    int rc = MC_OK;
    if (q->mark) {
        const int done = api->done(dev, q->mark);
        rc = done < 0 ? -done : done ? MC_OK : api->reached(dev, q->mark);
        api->event_free(dev, q->mark);
        const double now = mc_clock();
        learn(q, q->before, done ? 0 : now - q->at);
        q->at = now;
    } else {
        q->at = mc_clock();
    }
    q->mark = mark;
    q->before = q->since;
    q->since = q->bytes = 0;
    return rc;
}

void mci_queue_empty(mci_queue *q, const mc_device_api *api, void *dev, double began)
{
    if (q->batch) {
        const double took = mc_clock() - began;
        if (took > 2 * SECONDS) learn(q, q->before + q->since, took);
    }
    if (q->mark) api->event_free(dev, q->mark);
    q->mark = NULL;
    q->before = q->since = q->bytes = 0;
}
