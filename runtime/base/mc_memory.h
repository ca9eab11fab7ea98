/* mc_memory.h - every byte the library allocates passes through here.
 *
 * Aligned allocation, the counters (live, peak, calls), the size-class cache, the limit, and the
 * hook that makes the n-th allocation fail for tests. All functions are thread-safe. */
#ifndef MC_MEMORY_H
#define MC_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Uninitialised block of at least `bytes`, 64-byte aligned; never NULL for 0 bytes. NULL with the
 * error record set (MC_ENOMEM) when the limit or the machine refuses. Owns; give back with
 * mci_free. */
void *mci_alloc(size_t bytes);
/* The same, zero filled. */
void *mci_calloc(size_t count, size_t size);
/* Grows or shrinks, keeping min(old,new) bytes. NULL leaves the old block valid. */
void *mci_realloc(void *p, size_t bytes);
/* Accepts NULL; cannot fail; leaves the error record alone. */
void mci_free(void *p);
/* The owner of a block frees it at a time of its own, such as the end of a call: it is no growth
 * that a collection would bring back. */
void mci_memory_held(void *p);
/* a*b with overflow check: 0 and an error record when it does not fit. */
int mci_size_mul(int64_t a, int64_t b, int64_t *out);

/* CRC-32 of n more bytes. */
uint32_t mci_crc32(uint32_t crc, const void *p, size_t n);

/* Counters for mc_memory_stats: live, cached, peak, calls, soft, limit, blocks. */
void mci_memory_counts(int64_t out[7]);
void mci_memory_peak_reset(void);
/* Asks the caller's language for a collection, as mc_memory_pressure; and how many there were, for
 * pools that count on their own. */
void mci_memory_nudge(void);
int mci_memory_epoch(void);

#endif
