/* mc_rows.h - operands and results as contiguous rows along chosen axes.
 *
 * For families whose kernels want rows (scan, sort, select, fft): the chosen axes become the last,
 * contiguous dimension. No copy is made where the tensor already lies like that. */
#ifndef MC_ROWS_H
#define MC_ROWS_H

#include "family/mc_family.h"

typedef struct mci_rows {
    mc_tensor tmp;    /* owns the copy, when one was needed */
    const void *data; /* m contiguous rows of n */
    int64_t m, n;
} mci_rows;

/* Rows of t in dtype; mask: bit i set = axis i belongs to the row (in order). */
int mci_rows_in(mci_rows *r, const mc_tensor *t, unsigned mask, int dtype);
/* The same for a family whose result goes to `out` while rows are still read: a copy when out
 * overlaps t in other places than its own (or at all, unless in_place). */
int mci_rows_apart(mci_rows *r, const mc_tensor *t, unsigned mask, int dtype, const mc_tensor *out,
                   int in_place);
void mci_rows_drop(mci_rows *r);

/* Where rows of a result go: `out` itself when its axis lies last and contiguous in dtype, else a
 * temporary that mci_rows_store writes back. axis < 0: out is contiguous as it is. */
typedef struct mci_rows_out {
    mc_tensor tmp;
    mc_tensor *out;
    int axis, direct;
    void *data;
} mci_rows_out;
int mci_rows_open(mci_rows_out *r, mc_tensor *out, int axis, int dtype);
/* MC_OK, or the status of the copy; drops the temporary either way */
int mci_rows_store(mci_rows_out *r);
void mci_rows_abandon(mci_rows_out *r);

/* The axis along which rows of t run: the first of p, else the last; t needs one. */
int mci_row_axis(const char *op, const mc_tensor *t, const mc_params *p, int *axis);
/* The axes of a reduction as a bit mask, checked; naxes < 0 means all. */
int mci_axes_mask(const char *op, const mc_tensor *t, const mc_params *p, unsigned *mask);
/* Whether t is contiguous and the axes of p are its last ones, but not all; then m rows of n. */
int mci_last_axes(const mc_tensor *t, const mc_params *p, int64_t *m, int64_t *n);
/* Shape after reducing the masked axes. */
void mci_reduced_shape(const mc_tensor *t, unsigned mask, int keepdim, int *ndim, int64_t *shape);

#endif
