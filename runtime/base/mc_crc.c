/* mc_crc.c - CRC-32 (ISO/IEC 15948, annex D) of the members of archives where zlib is missing.
 *
 * One table of 256 words, filled at the first call. Every thread writes the same words, and the
 * last one tells that all are there. */
#include "base/mc_memory.h"

uint32_t mci_crc32(uint32_t crc, const void *p, size_t n)
{
    static uint32_t table[256];
    const unsigned char *b = p;
    if (!__atomic_load_n(&table[255], __ATOMIC_ACQUIRE))
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;
            for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
            __atomic_store_n(&table[i], c, __ATOMIC_RELEASE);
        }
    crc = ~crc;
    for (size_t i = 0; i < n; i++) crc = table[(crc ^ b[i]) & 255] ^ (crc >> 8);
    return ~crc;
}
