/* mc_hash.h - SHA-256 of bytes that come in pieces. */
#ifndef MC_HASH_H
#define MC_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct mci_sha256 {
    uint32_t h[8];
    uint64_t bytes;
    unsigned char block[64]; /* the first bytes % 64 of it are filled */
} mci_sha256;

void mci_sha256_start(mci_sha256 *c);
void mci_sha256_update(mci_sha256 *c, const void *data, size_t n);
/* Whether the processor's SHA instructions may be taken; true until the level v2 is asked for. */
void mci_sha256_instructions(int allowed);
/* 64 hex digits and a zero. */
void mci_sha256_finish(mci_sha256 *c, char *hex);

#endif
