/* mc_plan_device.h - steps of a plan on a device: bound once, run at the addresses of each call. */
#ifndef MC_PLAN_DEVICE_H
#define MC_PLAN_DEVICE_H

#include "replay/mc_step.h"

/* An operand of a step as (slot, offset): the slot is an argument, a result, the arena or a
 * constant. */
typedef struct mci_slot {
    int where;      /* MC_PLAN_* */
    int64_t index;  /* of the argument; ARENA: bytes */
    int64_t offset; /* bytes from there */
    mc_tensor *t;   /* its header in the plan; of a constant with its memory */
} mci_slot;

typedef struct mci_device_plan mci_device_plan;
/* Binds every step from headers alone. Steps run in their order, so those with effects on others
 * keep their place; slots of a step: places refs[first], ... in the list of slots. Borrows steps
 * and refs.
 * Owns: mci_device_plan_free; NULL with the record, which names the step that has no form there. */
mci_device_plan *mci_device_plan_new(int device, int nslots, const mci_slot *slots, int nsteps,
                                     const mci_step *steps, const int32_t *refs, int64_t arena);
void mci_device_plan_free(mci_device_plan *p);
/* Whether result `index` of the plan is made of numbers alone, so that it lies in host memory. */
int mci_device_plan_number(const mci_device_plan *p, int64_t index);
int mci_device_plan_run(mci_device_plan *p, mc_tensor *const *in, int nin, mc_tensor *const *out,
                        int nout);

#endif
