/* mc_native.h - generated elementwise functions, as plans and the door from Lua see them. */
#ifndef MC_NATIVE_H
#define MC_NATIVE_H

#include "tensor/mc_tensor.h"

#define MCI_NATIVE_OPERANDS 64

typedef struct mci_native mci_native;
/* The function over these operands: layouts are read here once, memory at each run. one[k]: leaf k
 * is read as one value per row. results: contiguous, of one shape, to which the leaves broadcast.
 * Owns; NULL on failure. */
mci_native *mci_native_new(mc_native_fn fn, int nleaves, mc_tensor *const *leaves,
                           const int32_t *one, int nresults, mc_tensor *const *results);
void mci_native_free(mci_native *k);
/* Whether it was made for the instruction level in use. */
int mci_native_fits(const mci_native *k);
int mci_native_run(const mci_native *k, mc_tensor *const *leaves, mc_tensor *const *results);

/* MC_OK, or the error of a forbidden value at position `bad` (from 1; 0: none). */
int mci_native_status(int64_t bad, int32_t op);

/* Ranges of the flat space by any number of workers at once; out[i]: where element lo of result i
 * goes. Leaves are borrowed until mci_native_close, which says whether a forbidden value was met.
 * NULL on failure. */
typedef struct mci_native_job mci_native_job;
mci_native_job *mci_native_open(const mci_native *k, mc_tensor *const *leaves);
/* The same function over operands of other sizes: fewer rows of those it was made for. */
mci_native_job *mci_native_open_part(const mci_native *k, mc_tensor *const *leaves, int nresults,
                                     mc_tensor *const *results);
void mci_native_range(mci_native_job *j, int64_t lo, int64_t hi, char *const *out, int worker);
int mci_native_close(mci_native_job *j);

#endif
