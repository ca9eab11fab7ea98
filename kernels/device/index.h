/* index.h - places of flat positions. Divisions are those of 32 bits where the whole fits, which
 * cards do several times faster. */
#ifndef MCD_INDEX_H
#define MCD_INDEX_H

/* For each of K lists of strides: where flat position i of a shape lies, into off[K]. */
#define MCD_PLACES(name, K)                                                                        \
    MC_INLINE void name(int64_t i, int64_t n, int nd, const int64_t *shape, const int64_t *stride, \
                        int64_t *off)                                                              \
    {                                                                                              \
        for (int k = 0; k < K; k++) off[k] = 0;                                                    \
        if (n <= INT32_MAX) {                                                                      \
            uint32_t rest = (uint32_t)i;                                                           \
            for (int a = nd - 1; a >= 0; a--) {                                                    \
                const uint32_t size = (uint32_t)shape[a], q = rest / size, at = rest - q * size;   \
                for (int k = 0; k < K; k++) off[k] += (int64_t)at * stride[k * MCD_RANK + a];      \
                rest = q;                                                                          \
            }                                                                                      \
        } else {                                                                                   \
            int64_t rest = i;                                                                      \
            for (int a = nd - 1; a >= 0; a--) {                                                    \
                const int64_t q = rest / shape[a], at = rest - q * shape[a];                       \
                for (int k = 0; k < K; k++) off[k] += at * stride[k * MCD_RANK + a];               \
                rest = q;                                                                          \
            }                                                                                      \
        }                                                                                          \
    }
MCD_PLACES(mcd_place1, 1)
MCD_PLACES(mcd_place2, 2)
MCD_PLACES(mcd_place3, 3)
MCD_PLACES(mcd_place4, 4)

/* The place of position p on an axis of `size`, -1 outside; positions count from base, negative
 * ones from the end. */
MC_INLINE int64_t mcd_place(int64_t p, int64_t base, int64_t size)
{
    const int64_t at = p < 0 ? p + size : p - base;
    return at >= 0 && at < size && (p < 0 || p >= base) ? at : -1;
}

/* Element i is refused: the guard's number becomes the smallest. */
#define MCD_REFUSE(number, i) \
    ATOMIC_MIN((number), (uint32_t)((i) < 0xfffffffe ? (i) + 1 : 0xfffffffe))

#endif
