/* mc_stretch.h - launches of neighbouring steps of a plan, run as one graph where a device has
 * those. */
#ifndef MC_STRETCH_H
#define MC_STRETCH_H

#include "family/mc_bind.h"

typedef struct mci_stretch mci_stretch;
/* Of `count` bound forms with n launches in all. Borrows them. Owns: mci_stretch_free; NULL without
 * a record where the device has no graphs or they are too few; NULL with the record (status) when
 * memory is short. */
mci_stretch *mci_stretch_new(int device, int count, mci_bound *const *bound, int *status);
void mci_stretch_free(mci_stretch *s); /* accepts NULL */
/* A call: begin, then the refs of each form in their order (operands, then results), then run. 1:
 * go on; 0: the steps of this call are to be run one by one, nothing was launched; negative: a
 * status, with the record. */
int mci_stretch_begin(mci_stretch *s);
int mci_stretch_add(mci_stretch *s, const mci_ref *refs);
int mci_stretch_run(mci_stretch *s);

#endif
