/* mc_step.h - a step of a plan, and the one place where it is bound to a device.
 *
 * A step says what is done: an op (copies and writes to positions are ops without a row), a group
 * of elementwise ops, a reduction or a product with a group in it, several steps tile by tile, a
 * loop. mci_step_bind says how: launches where a device has programs, else a function of the CPU
 * over what was looked up once. Calls follow it. */
#ifndef MC_STEP_H
#define MC_STEP_H

#include "family/mc_bind.h"
#include "replay/mc_loop.h"
#include "replay/mc_native_rows.h"
#include "replay/mc_tiles.h"
#include "replay/mc_vm.h"

enum {
    MCI_STEP_OP,
    MCI_STEP_GROUP,
    MCI_STEP_REDUCED,
    MCI_STEP_PRODUCT,
    MCI_STEP_TILES,
    MCI_STEP_LOOP
};

/* A group as a program of devices: its text, the ops that refuse operands, the dtypes in which it
 * reads its leaves. */
#define MCI_STEP_GUARDS 28
typedef struct mci_step_program {
    int nguards;
    int32_t guards[MCI_STEP_GUARDS], want[16];
    char text[];
} mci_step_program;

typedef struct mci_step {
    int kind, nin, nout, first; /* first: of its slots in the plan's list, results first */
    char title[64];             /* the ops of a group */
    const mci_op *op;
    mc_params params;
    mci_vm *vm;           /* the group */
    mci_native *native;   /* the same as compiled code, once there is some */
    mci_step_program *program; /* the same for devices, where a plan runs on one */
    mci_tiles *tiles;     /* of the `count` steps behind this one */
    mci_tile_view *views; /* of their slots */
    int count, nviews;
    mci_native_rows *rows; /* those steps as one function, once there is one */
    int noperands;
    int32_t *operands; /* its operands among their slots */
    mci_loop *loop;
} mci_step;

/* Gives back what the step has. */
void mci_step_free(mci_step *s);

/* h: headers of its slots, results first; layouts are looked at, memory is not. The step (with
 * those behind tiles) is borrowed. Owns: mci_bound_free. */
int mci_step_bind(int device, const mci_step *s, mc_tensor *const *h, mci_bound *b);
/* Of a group on a device with programs (mc_step_device.c), as mci_step_bind. */
int mci_step_launch(int device, const mci_step *s, mc_tensor *const *h, mci_bound *b);
/* Copies what it is given. */
int mci_step_program_set(mci_step *s, const char *text, int nguards, const int32_t *guards,
                         const int32_t *want);
void mci_step_program_free(mci_step_program *p); /* accepts NULL */

#endif
