/* pad.c - tensors with elements added at the ends of their axes. Elements move as they are. */
#include "jobs.h"
#include "mck_pad.h"

typedef struct pair {
    uint64_t a, b;
} pair;

#define MOVE(T)                                          \
    do {                                                 \
        GLOBAL T *to = AT(T, out, j.at[0]) + i;          \
        if (outside < 0)                                 \
            *to = AT(const T, x, j.at[1])[from];         \
        else                                             \
            *to = AT(const T, values, j.at[2])[outside]; \
    } while (0)

/* Where the result lies outside on several axes, the last one gives the constant. */
KERNEL pad(GLOBAL char *out, GLOBAL const char *x, GLOBAL const char *values, const mcd_pad j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        int64_t rest = i, from = 0;
        int outside = -1;
        for (int a = j.nd - 1; a >= 0; a--) {
            const int64_t q = rest / j.shape[a],
                          k = mck_pad_source(j.mode, rest - q * j.shape[a], j.before[a], j.size[a]);
            if (k >= 0)
                from += k * j.stride[a];
            else if (outside < 0)
                outside = 2 * a + (k == MCK_PAD_AFTER);
            rest = q;
        }
        if (outside < 0 || j.mode != MCK_PAD_EMPTY) switch (j.bytes) {
            case 1: MOVE(uint8_t); break;
            case 2: MOVE(uint16_t); break;
            case 4: MOVE(uint32_t); break;
            case 8: MOVE(uint64_t); break;
            default: MOVE(pair); break;
            }
    }
}
