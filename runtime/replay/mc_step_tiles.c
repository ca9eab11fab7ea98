/* mc_step_tiles.c - several steps of a plan tile by tile: as one compiled function over rows, else
 * one step after the other on each tile, bound once by each worker. */
#include "replay/mc_step.h"

/* The step of the tiles, the others stand behind it; of each worker: their forms. */
typedef struct tiled {
    const mci_step *s;
    mci_bound *forms;
} tiled;

/* All steps of one tile. */
static int run_tile(void *arg, mc_tensor **h, int worker, int fresh)
{
    const tiled *t = arg;
    const mci_step *s = t->s;
    mci_bound *b = t->forms + (int64_t)worker * s->count;
    int rc = MC_OK;
    for (int i = 1; i <= s->count && !rc; i++, b++) {
        mc_tensor **own = h + (s[i].first - s->first);
        if (fresh && !(rc = mci_bound_free(b))) rc = mci_step_bind_tile(s + i, own, b);
        if (!rc) rc = b->run(b, own);
    }
    return rc;
}

int mci_step_run_tiles(const mci_bound *b, mc_tensor *const *h)
{
    const mci_step *s = b->state;
    if (s->rows && mci_native_rows_fits(s->rows)) {
        mc_tensor *operands[MCI_NATIVE_OPERANDS];
        for (int i = 0; i < s->noperands; i++) operands[i] = h[s->operands[i]];
        return mci_native_rows_run(s->rows, operands);
    }
    const int64_t n = (int64_t)mci_tiles_workers(s->tiles) * s->count;
    tiled t = { s, mci_calloc((size_t)n, sizeof *t.forms) };
    if (!t.forms) return mc_errstatus();
    int rc = mci_tiles_run(s->tiles, s->nviews, h, s->views, run_tile, &t);
    for (int64_t i = 0; i < n; i++) {
        int bad = mci_bound_free(&t.forms[i]);
        rc = rc ? rc : bad;
    }
    mci_free(t.forms);
    return rc;
}
