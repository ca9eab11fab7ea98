/* mc_vm.h - fused elementwise groups, as plans see them. */
#ifndef MC_VM_H
#define MC_VM_H

#include "tensor/mc_tensor.h"

#define MCI_VM_REGISTERS 64

typedef struct mci_vm mci_vm;
/* want[k]: dtype of leaf k as the program reads it; result[k]: register of output k. Instructions
 * are copied. NULL on failure. */
mci_vm *mci_vm_new(int nleaves, const int32_t *want, int nresults, const int32_t *result,
                   int ninstr, const mc_vm_instr *instr);
void mci_vm_free(mci_vm *vm);
/* leaves: headers that broadcast to the shape of the results; results: contiguous, of one shape. */
int mci_vm_run(const mci_vm *vm, mc_tensor *const *leaves, mc_tensor *const *results);

/* The same over ranges by any number of workers at once. like: shape of the results; leaves are
 * borrowed until mci_vm_close, which says whether a kernel met a forbidden value. NULL on
 * failure. */
typedef struct mci_vm_job mci_vm_job;
mci_vm_job *mci_vm_open(const mci_vm *vm, mc_tensor *const *leaves, const mc_tensor *like);
void mci_vm_range(mci_vm_job *j, int64_t lo, int64_t hi, char *const *out, int worker);
int mci_vm_close(mci_vm_job *j);

#endif
