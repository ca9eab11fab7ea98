/* mc_program.h - programs of a device: texts put together, built once, kept for the life of the
 * process. */
#ifndef MC_PROGRAM_H
#define MC_PROGRAM_H

#include "device/mc_device.h"

/* A file that programs include (kernels/device/, kernels/mck_*.h), under its bare name. Generated;
 * the last has no name. */
typedef struct mci_text {
    const char *name, *text;
} mci_text;
extern const mci_text mci_device_texts[];

/* What a source begins with that its compiler is to get as it is, without this line and without the
 * dialect. */
#define MCI_VERBATIM "//verbatim\n"
/* What a source begins with that a user wrote, within lines of the library (kernel/program.lua):
 * #line names the user's. */
#define MCI_OWN "//own\n"
/* The kernel `name` of a program. source: a short text of #define and #include lines, which is the
 * program's key, or a verbatim one. NULL with the record, which has what the compiler said. */
void *mci_device_kernel(int device, const char *source, const char *name);
/* Whether the device can have programs: a compiler, some that come with mascon, or kept ones. */
int mci_device_programmed(int device);
/* The whole text that a device of a kind is given for a source: owns, mci_free. */
char *mci_device_source(const char *kind, const char *source);

#endif
