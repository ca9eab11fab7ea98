/* mc_blocks.c - blocks of an index space: gathering what kernels cannot walk.
 *
 * Shared by the drivers of single and of fused elementwise ops. May not know which function is computed. */
#include "mc_blocks.h"

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
        const __m128i a = _mm_loadu_si128((const void *)from), b = _mm_loadu_si128((const void *)(from + 16));
        const __m128i c = _mm_loadu_si128((const void *)(from + 32)), d = _mm_loadu_si128((const void *)(from + 48));
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

const void *mci_block_load(const mci_space *s, const mc_tensor *t, const int64_t *strides, int want, int64_t flat, int64_t n, void *buffer,
                           int64_t *stride)
{
    char *buf = buffer;
    mci_cast_fn cast = mci_cast(want, t->dtype);
    int64_t size = MCI_SIZE(t->dtype), wsize = MCI_SIZE(want);
    int64_t at = flat % s->inner, rest = flat / s->inner, off = 0, si = s->nd ? strides[s->nd - 1] : 0;
    int64_t idx[MC_MAX_RANK];
    for (int i = s->nd - 2; i >= 0; i--) {
        idx[i] = rest % s->shape[i];
        rest /= s->shape[i];
        off += idx[i] * strides[i];
    }
    if (at + n <= s->inner) { /* inside one row */
        const char *p = (const char *)t->data + (off + at * si) * size;
        if (si == 0 || n == 1) {
            *stride = 0;
            if (t->dtype == want)
                return p;
            cast(1, buf, 1, p, 1);
            return buf;
        }
        *stride = 1;
        if (si == 1 && t->dtype == want)
            return p;
        cast(n, buf, 1, p, si);
        return buf;
    }
    *stride = 1;
    int64_t done = 0;
    while (done < n) {
        int64_t m = s->inner - at < n - done ? s->inner - at : n - done;
        cast(m, buf + done * wsize, 1, (const char *)t->data + (off + at * si) * size, si);
        done += m;
        at = 0;
        for (int i = s->nd - 2; i >= 0; i--) {
            off += strides[i];
            if (++idx[i] < s->shape[i])
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
