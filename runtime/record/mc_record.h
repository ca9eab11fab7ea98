/* mc_record.h - what dispatch and copying say to the recorder. */
#ifndef MC_RECORD_H
#define MC_RECORD_H

#include "ops/mc_ops.h"

/* Runs an op by `run` and logs it when an operand is traced. family: that of the op. */
int mci_record_op(mci_run_fn run, const mci_family *family, const mci_op *op, int nout,
                  mc_tensor **out, int nin, const mc_tensor *const *in, const mc_params *p);
/* Around a write that is no op: begin says whether to log (and silences what the write calls), end
 * logs it. */
int mci_record_write_begin(mc_tensor *dst, int nin, const mc_tensor *const *in);
int mci_record_write_end(int logged, int kind, mc_tensor *dst, int nin, const mc_tensor *const *in,
                         int axis, int accumulate, int rc);
/* MC_EINVAL with advice when the value of a traced tensor is asked for in a recording that forbids
 * it. */
int mci_record_check_value(const char *op, const mc_tensor *t);

#endif
