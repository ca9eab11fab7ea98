/* mc_added.h - ops that are added while the program runs: those of workflows (mc_workflow.c) and of
 * users' reductions (mc_kernel.c), both rows of two functions in the form of mc_plugin.h, which
 * mc_added.c infers and runs. */
#ifndef MC_ADDED_H
#define MC_ADDED_H

#include "mc_plugin.h"
#include "ops/mc_ops.h"

/* Makes a row, which stays where it is, an op: its number, or -1 with the error set. nin, nout: 255
 * for a list; compute: for each dtype that of the arithmetic, -1 where the row is not defined. */
int mci_added_new(const mc_plugin_row *of, int nin, int nout, int promote, const int8_t *compute);
/* The row of an op, as calls hand it over. */
const mc_plugin_row *mci_added_row(const void *op);
/* Says while a row infers what result k looks like. */
int mci_added_shape(const mc_call *c, int k, int dtype, int ndim, const int64_t *shape);

/* A user's reduction as a program of devices: bytes of a state, lanes of a group. */
typedef struct mci_fold {
    const char *program;
    int64_t bytes;
    int lanes;
} mci_fold;
/* That of an added op, NULL when it is none. */
const mci_fold *mci_added_fold(const mci_op *op);

#endif
