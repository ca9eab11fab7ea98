/* mc_machine.h - what this process has been given of the machine. Names no variable but those it
 * reads. */
#ifndef MC_MACHINE_H
#define MC_MACHINE_H

#include <stdint.h>

/* Threads to start with, and the word for where the number comes from. */
int mci_machine_threads(const char **source);
/* Bytes that tensors may take, 0 without a limit, and where the number comes from. */
int64_t mci_machine_memory(const char **source);
/* "2G", "512M", "1.5GiB" in bytes; 0 when it is none. */
int64_t mci_machine_bytes(const char *text);

#endif
