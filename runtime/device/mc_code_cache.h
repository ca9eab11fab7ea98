/* mc_code_cache.h - code that a device's compiler made, on disk, in the folder of compiled code. */
#ifndef MC_CODE_CACHE_H
#define MC_CODE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#define MCI_CODE_ABOUT 128

/* Why the folder of the last call cannot be used, or its name; borrowed until the next call. */
const char *mci_code_folder(void);
/* The key of a text for a target: 64 letters and a zero. */
void mci_code_key(char key[65], const char *text, const char *target);
/* The code under a key, with a zero behind it, and what was said of it when it was kept. NULL:
 * there is none that can be trusted. Owns: mci_free. */
char *mci_code_find(const char *key, int64_t *bytes, char about[MCI_CODE_ABOUT]);
/* Whether code of a device is kept, of any text. */
int mci_code_any(void);
/* Keeps code, if that can be; what was not used for longest goes when there is no room. */
void mci_code_keep(const char *key, const void *code, int64_t bytes, const char *about);

#endif
