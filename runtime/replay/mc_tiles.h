/* mc_tiles.h - steps that run together tile by tile over leading axes, as plans see them. */
#ifndef MC_TILES_H
#define MC_TILES_H

#include "tensor/mc_tensor.h"

#define MCI_TILE_SLOTS 48

/* How a tile sees a header. shift: its axis number minus that of the leading axes (negative: it has
 * fewer axes and is broadcast along the first ones); slot: a buffer of the tile, -1 for memory from
 * outside; result: a step writes it. */
typedef struct mci_tile_view {
    int32_t shift, slot, result;
} mci_tile_view;

typedef struct mci_tiles mci_tiles;
/* lead[k]: the leading axes; row_bytes[nslots]: bytes of one row of each buffer, extra: of what one
 * row reads and writes outside. */
mci_tiles *mci_tiles_new(int k, const int64_t *lead, int nslots, const int64_t *row_bytes,
                         int64_t extra);
void mci_tiles_free(mci_tiles *t);
/* The leading axes into lead[k]; k. */
int mci_tiles_lead(const mci_tiles *t, int64_t *lead);
/* Leading axes that a tile fixes: axis numbers of steps become smaller by this. */
int mci_tiles_dropped(const mci_tiles *t);
/* All steps of one tile, on headers that show the tile; called by several workers at once. A worker
 * is handed the same headers each time; fresh: their shapes are other than at its last call, else
 * only the memory they show is. */
typedef int (*mci_tile_fn)(void *arg, mc_tensor **headers, int worker, int fresh);
int mci_tiles_run(const mci_tiles *t, int n, mc_tensor *const *headers, const mci_tile_view *views,
                  mci_tile_fn run, void *arg);
/* How many workers that will be. */
int mci_tiles_workers(const mci_tiles *t);

#endif
