/* mc_stage.h - what the drivers of workflow families share: operands checked by place, results handed out in order, tasks in parallel.
 *
 * Owns no op. A stage is a kernel over tasks with one argument struct and a workspace for each worker. */
#ifndef MC_STAGE_H
#define MC_STAGE_H

#include "family/mc_family.h"

typedef void (*mci_stage_fn)(const void *args, int64_t begin, int64_t end, void *work);
/* Runs fn over [0, tasks), `work` bytes for each worker. */
int mci_stage_run(mci_stage_fn fn, const void *args, int64_t tasks, int64_t work);

/* Operand k must be contiguous of dtype (any when dtype < 0) with at least `least` elements. */
int mci_operand(const mci_op *op, const mc_tensor *const *in, int nin, int k, int dtype, int64_t least);

/* Hands out result headers in the order of the bits of want. */
typedef struct mci_outputs {
    const mci_op *op;
    mc_tensor **out;
    int n, next, rc;
    int64_t want;
} mci_outputs;
/* Memory of the result of this bit; NULL when it is not wanted, or rc is set. */
void *mci_output(mci_outputs *o, int64_t bit, int dtype, int ndim, const int64_t *shape);
/* rc, or an error when not all results were handed out; results are undone after a failure. */
int mci_outputs_finish(mci_outputs *o, int rc);

#endif
