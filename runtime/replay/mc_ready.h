/* mc_ready.h - a step that is run many times over operands of one layout. */
#ifndef MC_READY_H
#define MC_READY_H

#include "replay/mc_native.h"
#include "family/mc_family.h"
#include "replay/mc_vm.h"

typedef struct mci_ready {
    mci_native_job *native;
    mci_vm_job *vm;
    mci_row_op row;
    int64_t numel;
} mci_ready;

/* A program over headers that stay where they are (borrowed until mci_ready_close). native: the same as compiled code, or NULL. A status. */
int mci_ready_program(mci_ready *r, const mci_vm *vm, const mci_native *native, mc_tensor **leaves, int nresults, mc_tensor **results);
/* An op over the last axes of contiguous rows; where it is another one it is left to mc_op, and mci_ready_is says so. */
void mci_ready_op(mci_ready *r, int op, mc_tensor *out, const mc_tensor *in, const mc_params *p);
static inline int mci_ready_is(const mci_ready *r) { return r->native || r->vm || r->row.run; }
/* Runs it with the memory that the headers show now; by one worker at a time. */
void mci_ready_run(const mci_ready *r, int nresults, mc_tensor **results, const mc_tensor *in);
/* Whether a forbidden value was met; makes it empty. */
int mci_ready_close(mci_ready *r);

#endif
