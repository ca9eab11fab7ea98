/* mc_vm.h - fused elementwise groups, as plans see them. */
#ifndef MC_VM_H
#define MC_VM_H

#include "mc_tensor.h"

#define MCI_VM_REGISTERS 64

typedef struct mci_vm mci_vm;
/* want[k]: dtype of leaf k as the program reads it; result[k]: register of output k. Instructions are copied. NULL on failure. */
mci_vm *mci_vm_new(int nleaves, const int32_t *want, int nresults, const int32_t *result, int ninstr, const mc_vm_instr *instr);
void mci_vm_free(mci_vm *vm);
/* leaves: headers that broadcast to the shape of the results; results: contiguous, of one shape. */
int mci_vm_run(const mci_vm *vm, mc_tensor *const *leaves, mc_tensor *const *results);

#endif
