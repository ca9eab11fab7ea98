/* sort_radix.h - least-significant-digit radix sort of signed keys; body included once per key
 * width.
 *
 * Wants K (signed key), U (its unsigned twin) and NAME(x). Digits of 8 bits; the histograms of all
 * digits are taken in one pass, digits on which all keys agree are skipped, so small ranges cost
 * little. Linear whatever the data. */

void NAME(sort_radix)(K *key, K *tmp, int64_t n)
{
    enum { DIGITS = (int)sizeof(K) };
    int64_t count[DIGITS][256];
    const U top = (U)1 << (8 * sizeof(K) - 1);
    for (int d = 0; d < DIGITS; d++)
        for (int b = 0; b < 256; b++) count[d][b] = 0;
    for (int64_t i = 0; i < n; i++) {
        const U u = (U)key[i] ^ top;
        for (int d = 0; d < DIGITS; d++) count[d][(u >> (8 * d)) & 255]++;
    }
    K *from = key, *to = tmp;
    for (int d = 0; d < DIGITS; d++) {
        int64_t *c = count[d], start = 0;
        if (n > 0 && c[(((U)from[0] ^ top) >> (8 * d)) & 255] == n) continue;
        for (int b = 0; b < 256; b++) {
            const int64_t here = c[b];
            c[b] = start;
            start += here;
        }
        for (int64_t i = 0; i < n; i++) to[c[(((U)from[i] ^ top) >> (8 * d)) & 255]++] = from[i];
        K *swap = from;
        from = to;
        to = swap;
    }
    if (from != key)
        for (int64_t i = 0; i < n; i++) key[i] = from[i];
}
