/* mc_native_rows.h - generated functions that take whole rows through all steps of a tile, as
 * plans see them. */
#ifndef MC_NATIVE_ROWS_H
#define MC_NATIVE_ROWS_H

#include "replay/mc_native.h"
#include "replay/mc_tiles.h"

#define MCI_ROW_OPS 16

/* An op along a row among the steps: its operand and result as rows of n. */
typedef struct mci_row_step {
    int op, in_dtype, out_dtype;
    int64_t n;
    mc_params params;
} mci_row_step;

typedef struct mci_native_rows mci_native_rows;
/* lead[k]: the leading axes. Operands are headers of the tiles' list with their views: leaves, then
 * results (contiguous). lengths: of rows, handed to the function; slot_bytes: of a row of each
 * buffer. NULL on failure. */
mci_native_rows *mci_native_rows_new(mc_native_fn fn, int k, const int64_t *lead, int nleaves,
                                     int nresults, mc_tensor *const *operands,
                                     const mci_tile_view *views, int nlengths,
                                     const int64_t *lengths, int nslots, const int64_t *slot_bytes,
                                     int nops, const mci_row_step *ops);
void mci_native_rows_free(mci_native_rows *r);
int mci_native_rows_fits(const mci_native_rows *r);
int mci_native_rows_run(const mci_native_rows *r, mc_tensor *const *operands);

#endif
