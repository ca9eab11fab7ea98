/* mc_stretch.c - launches of neighbouring steps as one graph of the device.
 *
 * The graph is made at the second call, when compilers and libraries have loaded what they need. A
 * later call sets the launches whose bytes or segments changed since, such as addresses of new
 * results and numbers, then runs the graph. The steps share one piece of workspace: they run in
 * their order. What a device refuses as a graph is launched step by step from then on.
 *
 * MASCON_GRAPHS=off: no graphs. */
#include "replay/mc_stretch.h"
#include "device/mc_context.h"
#include "device/mc_events.h"

#include <stdlib.h>
#include <string.h>

#define LEAST 4 /* launches: fewer are launched as fast */

struct mci_stretch {
    int device, count, n;
    int guards;   /* numbers of guards that a call takes */
    int64_t work; /* bytes of workspace of the largest form */
    int64_t all;  /* bytes of operands */
    int calls, refused;
    mci_bound **bound;
    mc_launch **launch; /* of all forms */
    char *raw;          /* bytes of each launch as the graph has them */
    void *(*segment)[MC_LAUNCH_BUFFERS];
    char *changed; /* per launch, in this call */
    void *graph;
    mci_block *block; /* workspace, in this call */
    int form, at;     /* the next one */
};

static int wanted(void)
{
    static int known = -1;
    if (known < 0) {
        const char *s = getenv("MASCON_GRAPHS");
        known = !s || strcmp(s, "off") != 0;
    }
    return known;
}

mci_stretch *mci_stretch_new(int device, int count, mci_bound *const *bound, int *status)
{
    int n = 0;
    *status = MC_OK;
    for (int i = 0; i < count; i++) n += bound[i]->nlaunch;
    if (n < LEAST || !mci_device_api(device)->graph_new || !wanted()) return NULL;
    mci_stretch *s = mci_calloc(1, sizeof *s);
    if (s) {
        s->bound = mci_alloc(sizeof(mci_bound *) * (size_t)count);
        s->launch = mci_alloc(sizeof *s->launch * (size_t)n);
        s->raw = mci_alloc((size_t)MC_LAUNCH_RAW * (size_t)n);
        s->segment = mci_calloc((size_t)n, sizeof *s->segment);
        s->changed = mci_calloc((size_t)n, 1);
    }
    if (!s || !s->bound || !s->launch || !s->raw || !s->segment || !s->changed) {
        *status = mc_errstatus();
        mci_stretch_free(s);
        return NULL;
    }
    s->device = device;
    s->count = count;
    for (int i = 0; i < count; i++) {
        mci_bound *b = s->bound[i] = bound[i];
        s->work = b->work > s->work ? b->work : s->work;
        s->all += mci_bound_bytes(b);
        for (int k = 0; k < b->npatch; k++) s->guards += b->patch[k].operand < 0;
        for (int k = 0; k < b->nlaunch; k++) s->launch[s->n++] = &b->launch[k];
    }
    return s;
}

static void graph_free(mci_stretch *s)
{
    if (s->graph) mci_device_api(s->device)->graph_free(mci_device_handle(s->device), s->graph);
    s->graph = NULL;
}

void mci_stretch_free(mci_stretch *s)
{
    if (!s) return;
    graph_free(s);
    mci_free(s->bound);
    mci_free(s->launch);
    mci_free(s->raw);
    mci_free(s->segment);
    mci_free(s->changed);
    mci_free(s);
}

/* Nothing was launched. */
static int leave(mci_stretch *s, int answer)
{
    mci_device_free(s->block);
    s->block = NULL;
    return answer;
}

int mci_stretch_begin(mci_stretch *s)
{
    if (s->refused || mci_watching || mci_stepwise() || s->calls++ == 0) return 0;
    const int room = mci_device_guard_room(s->device, s->guards);
    if (room < 1) return room;
    s->form = s->at = 0;
    s->block = s->work ? mci_device_alloc(s->device, s->work) : NULL;
    return s->work && !s->block ? -mc_errstatus() : 1;
}

int mci_stretch_add(mci_stretch *s, const mci_ref *refs)
{
    mci_bound *b = s->bound[s->form++];
    const mci_block *w = s->block;
    const mci_ref work = w ? (mci_ref){ .mem = w->mem, .at = w->at } : (mci_ref){ 0 };
    if (b->nlaunch == 0) return 1;
    if (mci_bound_apart(b, refs)) return leave(s, 0);
    int rc = mci_bound_numbers(b, refs);
    if (rc) return leave(s, -rc);
    for (int i = 0; i < b->nlaunch; i++, s->at++) {
        const mc_launch *l = s->launch[s->at];
        char *raw = s->raw + (size_t)MC_LAUNCH_RAW * (size_t)s->at;
        void *segment[MC_LAUNCH_BUFFERS], **had = s->segment[s->at];
        mci_bound_place(b, i, refs, &work, segment);
        const size_t all = (size_t)l->nbuf * sizeof *segment;
        if (!memcmp(raw, l->raw, (size_t)l->nraw) && !memcmp(had, segment, all)) continue;
        memcpy(raw, l->raw, (size_t)l->nraw);
        memcpy(had, segment, all);
        s->changed[s->at] = 1;
    }
    return 1;
}

/* Brings the graph to what the launches are now. */
static int settle(mci_stretch *s)
{
    const mc_device_api *api = mci_device_api(s->device);
    void *handle = mci_device_handle(s->device);
    int rc = MC_OK;
    for (int i = 0; i < s->n && s->graph && !rc; i++)
        if (s->changed[i]) rc = api->graph_set(handle, s->graph, i, s->launch[i], s->segment[i]);
    if (rc) graph_free(s); /* it may be another one for these operands */
    if (!s->graph)
        s->graph = api->graph_new(handle, s->n, (const mc_launch *const *)s->launch,
                                  (void *const(*)[MC_LAUNCH_BUFFERS])s->segment);
    memset(s->changed, 0, (size_t)s->n);
    return s->graph ? MC_OK : mc_errstatus();
}

int mci_stretch_run(mci_stretch *s)
{
    mci_works(1);
    s->refused = settle(s) != MC_OK;
    int rc = s->refused ? MC_OK
                        : mci_device_api(s->device)->graph_run(
                              mci_device_handle(s->device), mci_device_stream(s->device), s->graph);
    if (!rc && !s->refused) rc = mci_device_queued(s->device, s->n, s->all);
    mci_works(-1);
    return leave(s, rc ? -rc : !s->refused); /* the stream's order protects the workspace */
}
