/* mc_hash.c - SHA-256, by which manifests name scripts, inputs and results.
 *
 * The compression function of FIPS 180-4 (2015), section 6.2, in plain C (290 MB/s on one core of a
 * Zen 3) and by the processor's SHA instructions where it has them (1.1 GB/s, reading included). */
#include "mc_lua.h"
#include "base/mc_hash.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <immintrin.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64
 * primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void compress_plain(uint32_t h[8], const unsigned char *p)
{
    uint32_t w[64];
    for (int t = 0; t < 16; t++)
        w[t] = big_endian(p + 4 * t);
    for (int t = 16; t < 64; t++) {
        uint32_t x = w[t - 15], y = w[t - 2];
        w[t] = w[t - 16] + (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) + w[t - 7] +
               (rotr(y, 17) ^ rotr(y, 19) ^ y >> 10);
    }
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], k = h[7];
    for (int t = 0; t < 64; t++) {
        uint32_t t1 =
            k + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + K[t] + w[t];
        uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        k = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e, h[5] += f, h[6] += g, h[7] += k;
}

/* The four words sixteen places on. */
__attribute__((target("sha,sse4.1"))) static __m128i
sha_schedule(__m128i now, __m128i next, __m128i third, __m128i last)
{
    const __m128i x = _mm_sha256msg1_epu32(now, next);
    return _mm_sha256msg2_epu32(_mm_add_epi32(x, _mm_alignr_epi8(last, third, 4)), last);
}

/* The eight words stand in two registers, a b e f and c d g h from the highest; one instruction
 * does two rounds and turns one into the other. w: the last sixteen words of the schedule. */
__attribute__((target("sha,sse4.1"))) static void
compress_sha(uint32_t h[8], const unsigned char *p)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i abef0 = _mm_set_epi32((int)h[0], (int)h[1], (int)h[4], (int)h[5]);
    const __m128i cdgh0 = _mm_set_epi32((int)h[2], (int)h[3], (int)h[6], (int)h[7]);
    __m128i w[4], abef = abef0, cdgh = cdgh0;
    for (int i = 0; i < 4; i++)
        w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)p + i), swap);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        const __m128i k = _mm_loadu_si128((const __m128i *)(const void *)K + i);
        const __m128i now = w[i % 4], next = w[(i + 1) % 4], last = w[(i + 3) % 4];
        const __m128i x = _mm_add_epi32(now, k);
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, x);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(x, 0x0e));
        if (i < 12)
            w[i % 4] = sha_schedule(now, next, w[(i + 2) % 4], last);
    }
    abef = _mm_add_epi32(abef, abef0), cdgh = _mm_add_epi32(cdgh, cdgh0);
    h[0] = (uint32_t)_mm_extract_epi32(abef, 3), h[1] = (uint32_t)_mm_extract_epi32(abef, 2);
    h[2] = (uint32_t)_mm_extract_epi32(cdgh, 3), h[3] = (uint32_t)_mm_extract_epi32(cdgh, 2);
    h[4] = (uint32_t)_mm_extract_epi32(abef, 1), h[5] = (uint32_t)_mm_extract_epi32(abef, 0);
    h[6] = (uint32_t)_mm_extract_epi32(cdgh, 1), h[7] = (uint32_t)_mm_extract_epi32(cdgh, 0);
}

static int sha_allowed = 1;

void mci_sha256_instructions(int allowed) { sha_allowed = allowed; }

static void compress(uint32_t h[8], const unsigned char *p, size_t blocks)
{
    const int sha =
        sha_allowed && __builtin_cpu_supports("sha") && __builtin_cpu_supports("sse4.1");
    for (; blocks > 0; p += 64, blocks--)
        if (sha)
            compress_sha(h, p);
        else
            compress_plain(h, p);
}

void mci_sha256_start(mci_sha256 *c)
{
    static const uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(c->h, h, sizeof h);
    c->bytes = 0;
}

void mci_sha256_update(mci_sha256 *c, const void *data, size_t n)
{
    const unsigned char *p = data;
    size_t used = (size_t)(c->bytes % 64);
    c->bytes += n;
    if (used) {
        size_t take = n < 64 - used ? n : 64 - used;
        memcpy(c->block + used, p, take);
        p += take;
        n -= take;
        if (used + take < 64)
            return;
        compress(c->h, c->block, 1);
    }
    compress(c->h, p, n / 64);
    p += n / 64 * 64;
    n %= 64;
    if (n)
        memcpy(c->block, p, n);
}

void mci_sha256_finish(mci_sha256 *c, char *hex)
{
    static const char digits[] = "0123456789abcdef";
    const uint64_t bits = c->bytes * 8;
    unsigned char tail[72] = {0x80};
    size_t pad = 56 - (size_t)(c->bytes % 64) + (c->bytes % 64 < 56 ? 0 : 64);
    for (int i = 0; i < 8; i++)
        tail[pad + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
    mci_sha256_update(c, tail, pad + 8);
    for (int i = 0; i < 64; i++)
        hex[i] = digits[c->h[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[64] = '\0';
}

int mc_sha256(const void *data, int64_t bytes, char *hex)
{
    mci_sha256 c;
    if (bytes < 0)
        return mci_error(MC_EINVAL, "sha256: %lld bytes; the count is at least 0",
                         (long long)bytes);
    mci_sha256_start(&c);
    mci_sha256_update(&c, data, (size_t)bytes);
    mci_sha256_finish(&c, hex);
    return MC_OK;
}

/* A regular file is read from where it was opened: what takes its name later is another file. */
struct mc_file_hash {
    mci_sha256 c;
    int fd;
    struct stat first; /* when it was opened */
};

mc_file_hash *mc_file_hash_new(const char *path, int64_t *size)
{
    mc_file_hash *h = mci_calloc(1, sizeof *h);
    int why = 0;
    if (!h)
        return NULL;
    h->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (h->fd < 0 || fstat(h->fd, &h->first) != 0)
        why = errno;
    else if (S_ISDIR(h->first.st_mode))
        why = EISDIR;
    if (why) {
        mci_error_io("sha256", path, why, "give a readable file");
        mc_file_hash_free(h);
        return NULL;
    }
    *size = h->first.st_size;
    mci_sha256_start(&h->c);
    return h;
}

int64_t mc_file_hash_step(mc_file_hash *h, int64_t bytes)
{
    unsigned char buffer[1 << 16];
    int64_t done = 0;
    while (done < bytes) {
        const ssize_t n = read(h->fd, buffer, sizeof buffer);
        if (n < 0 && errno != EINTR) {
            mci_error(MC_EIO, "sha256: %s; the file must be readable", strerror(errno));
            return -1;
        }
        if (mc_cancel_pending()) {
            mci_error(MC_ECANCELLED, "interrupted");
            return -1;
        }
        if (n == 0)
            break;
        if (n > 0) {
            mci_sha256_update(&h->c, buffer, (size_t)n);
            done += n;
        }
    }
    return done;
}

int mc_file_hash_finish(mc_file_hash *h, char *hex)
{
    struct stat now;
    mci_sha256_finish(&h->c, hex);
    return fstat(h->fd, &now) == 0 && (now.st_size != h->first.st_size ||
                                       now.st_mtim.tv_sec != h->first.st_mtim.tv_sec ||
                                       now.st_mtim.tv_nsec != h->first.st_mtim.tv_nsec);
}

void mc_file_hash_free(mc_file_hash *h)
{
    if (h && h->fd >= 0)
        close(h->fd);
    mci_free(h);
}

int mc_sha256_file(const char *path, char *hex)
{
    int64_t size, n;
    mc_file_hash *h = mc_file_hash_new(path, &size);
    if (!h)
        return mc_errstatus();
    while ((n = mc_file_hash_step(h, INT64_MAX)) > 0) {}
    if (n == 0)
        mc_file_hash_finish(h, hex);
    mc_file_hash_free(h);
    return n < 0 ? mc_errstatus() : MC_OK;
}
