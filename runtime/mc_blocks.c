/* mc_blocks.c - blocks of an index space: gathering what kernels cannot walk.
 *
 * Shared by the drivers of single and of fused elementwise ops. May not know which function is computed. */
#include "mc_blocks.h"

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
