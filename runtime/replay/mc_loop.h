/* mc_loop.h - steps of a plan that run other plans. */
#ifndef MC_LOOP_H
#define MC_LOOP_H

#include "tensor/mc_tensor.h"

typedef struct mci_loop mci_loop;
/* Runs a part: mc_plan_run. */
typedef int (*mci_part_fn)(mc_plan *part, mc_tensor *const *in, int nin, mc_tensor *const *out,
                           int nout);
/* Parts are borrowed. NULL on failure. */
mci_loop *mci_loop_new(const mc_loop_spec *spec, mc_plan *const *parts, mci_part_fn run, int nout,
                       int nin);
void mci_loop_free(mci_loop *l);
/* Operands and results in the order that mc_plan_loop states. */
int mci_loop_run(mci_loop *l, mc_tensor *const *in, mc_tensor *const *out);

#endif
