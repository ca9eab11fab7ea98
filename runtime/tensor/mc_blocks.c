/* mc_blocks.c - blocks of an index space: gathering what kernels cannot walk.
 *
 * Shared by the drivers of single and of fused elementwise ops. */
#include "tensor/mc_blocks.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

void mci_stream(void *dst, const void *src, int64_t bytes, int n, const char *const *ahead)
{
#if defined(__SSE2__)
    char *to = dst;
    const char *from = src;
    int64_t head = (int64_t)(-(uintptr_t)to & 63);
    if (head > bytes)
        head = bytes;
    memcpy(to, from, (size_t)head); /* up to a whole cache line */
    to += head;
    from += head;
    bytes -= head;
    for (int64_t at = 0; bytes >= 64; bytes -= 64, to += 64, from += 64, at += 64) {
        for (int i = 0; i < n; i++)
            _mm_prefetch(ahead[i] + at, _MM_HINT_T0);
        const __m128i a = _mm_loadu_si128((const void *)from),
                      b = _mm_loadu_si128((const void *)(from + 16));
        const __m128i c = _mm_loadu_si128((const void *)(from + 32)),
                      d = _mm_loadu_si128((const void *)(from + 48));
        _mm_stream_si128((void *)to, a);
        _mm_stream_si128((void *)(to + 16), b);
        _mm_stream_si128((void *)(to + 32), c);
        _mm_stream_si128((void *)(to + 48), d);
    }
    memcpy(to, from, (size_t)bytes);
    _mm_sfence(); /* before anybody is told that the result is there */
#else
    (void)n;
    (void)ahead;
    memcpy(dst, src, (size_t)bytes);
#endif
}

/* ---- rows too short for a call each ---- */

/* m rows of n elements, row r from x + r * sr, elements s0 apart, next to each other into y. n is a
 * literal where rows are shortest. */
#define COPY_ROWS(T, n)                                   \
    for (int64_t r = 0; r < m; r++, x += sr)              \
        for (int64_t i = 0; i < (n); i++)                 \
            *y++ = x[i * s0]
#define EXPAND_ROWS(T, n)                                 \
    for (int64_t r = 0; r < m; r++) {                     \
        const T v = x[r * sr];                            \
        for (int64_t i = 0; i < (n); i++)                 \
            *y++ = v;                                     \
    }
#define BY_WIDTH(T, what)                                 \
    switch (n) {                                          \
    case 2: what(T, 2); break;                            \
    case 3: what(T, 3); break;                            \
    case 4: what(T, 4); break;                            \
    default: what(T, n); break;                           \
    }
#define ROWS(T, NAME)                                                                     \
    static void rows_##NAME(char *to, const char *from, int64_t m, int64_t sr, int64_t n, \
                            int64_t s0)                                                   \
    {                                                                                     \
        T *y = (T *)(void *)to;                                                           \
        const T *x = (const T *)(const void *)from;                                       \
        if (s0 == 0) {                                                                    \
            BY_WIDTH(T, EXPAND_ROWS)                                                      \
        } else {                                                                          \
            BY_WIDTH(T, COPY_ROWS)                                                        \
        }                                                                                 \
    }
typedef struct sixteen {
    uint64_t half[2];
} sixteen;
ROWS(uint8_t, 1)
ROWS(uint16_t, 2)
ROWS(uint32_t, 4)
ROWS(uint64_t, 8)
ROWS(sixteen, 16)

/* The same for elements of `size` bytes; rows that lie next to each other, or are one row again and
 * again, are moved as they lie. */
static void copy_rows(char *to, const char *from, int64_t m, int64_t sr, int64_t n, int64_t s0,
                      int64_t size)
{
    int64_t row = n * size, all = m * row;
    if (s0 == 1 && sr == n) {
        memcpy(to, from, (size_t)all);
    } else if (sr == 0 && m > 1) {
        copy_rows(to, from, 1, 1, n, s0, size);
        for (int64_t done = row; done < all; done *= 2)
            memcpy(to + done, to, (size_t)(done < all - done ? done : all - done));
    } else {
        switch (size) {
        case 1: rows_1(to, from, m, sr, n, s0); break;
        case 2: rows_2(to, from, m, sr, n, s0); break;
        case 4: rows_4(to, from, m, sr, n, s0); break;
        case 8: rows_8(to, from, m, sr, n, s0); break;
        default: rows_16(to, from, m, sr, n, s0); break;
        }
    }
}

/* How many of the elements from flat position `flat` on lie next to each other in memory. */
static int64_t run_length(const mci_space *s, const int64_t *strides, int64_t flat)
{
    int64_t run = 1;
    for (int i = s->nd - 1; i >= 0 && strides[i] == run; i--)
        run *= s->shape[i];
    return run - flat % run;
}

const void *mci_block_load(const mci_space *s, const mc_tensor *t, const int64_t *strides, int want,
                           int64_t flat, int64_t n, void *buffer, int64_t *stride)
{
    char *buf = buffer;
    mci_cast_fn cast = mci_cast(want, t->dtype);
    const int nd = s->nd;
    int64_t size = MCI_SIZE(t->dtype), wsize = MCI_SIZE(want);
    int64_t at = flat % s->inner, rest = flat / s->inner, off = 0, si = nd ? strides[nd - 1] : 0;
    int64_t idx[MC_MAX_RANK];
    for (int i = nd - 2; i >= 0; i--) {
        idx[i] = rest % s->shape[i];
        rest /= s->shape[i];
        off += idx[i] * strides[i];
    }
    const char *p = (const char *)t->data + (off + at * si) * size;
    *stride = 1;
    if (at + n <= s->inner || (si == 1 && run_length(s, strides, flat) >= n)) {
        /* inside one row, or rows that follow each other */
        if (si == 0 || n == 1) {
            *stride = 0;
            if (t->dtype == want)
                return p;
            cast(1, buf, 1, p, 1);
            return buf;
        }
        if (si == 1 && t->dtype == want)
            return p;
        cast(n, buf, 1, p, si);
        return buf;
    }
    int64_t done = 0;
    while (done < n) {
        int64_t m = s->inner - at < n - done ? s->inner - at : n - done, rows = 1;
        const char *from = (const char *)t->data + (off + at * si) * size;
        if (t->dtype == want && at == 0 && m == s->inner) {
            /* whole rows, as far as the next axis goes */
            int64_t left = s->shape[nd - 2] - idx[nd - 2], most = (n - done) / m;
            rows = left < most ? left : most;
            copy_rows(buf + done * wsize, from, rows, strides[nd - 2], m, si, size);
        } else {
            cast(m, buf + done * wsize, 1, from, si);
        }
        done += rows * m;
        at = 0;
        for (int i = nd - 2; i >= 0; i--, rows = 1) {
            off += rows * strides[i];
            if ((idx[i] += rows) < s->shape[i])
                break;
            off -= idx[i] * strides[i];
            idx[i] = 0;
        }
    }
    return buf;
}

int64_t mci_block_offset(const mci_space *s, const int64_t *strides, int64_t flat)
{
    int64_t off = 0, rest = flat / s->inner;
    for (int i = s->nd - 2; i >= 0; i--) {
        off += rest % s->shape[i] * strides[i];
        rest /= s->shape[i];
    }
    return off + flat % s->inner * (s->nd ? strides[s->nd - 1] : 1);
}
