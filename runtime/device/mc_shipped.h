/* mc_shipped.h - programs of devices that come with mascon, for machines without their compiler. */
#ifndef MC_SHIPPED_H
#define MC_SHIPPED_H

#include <stdint.h>

/* What a text was compiled for, in the key of a program that ships. */
#define MCI_SHIPPED_TARGET "shipped"

/* Code of a program of a kind of device ("cuda") under a key of mci_code_key, with a zero behind
 * it; NULL where none ships. Owns: mci_free. */
char *mci_shipped_find(const char *kind, const char *key, int64_t *bytes);
/* How many programs of a kind ship; 0 without a word where there is no pack. */
int mci_shipped_count(const char *kind);

#endif
