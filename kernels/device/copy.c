/* copy.c - copies and conversions. COPY_ANY moves elements as they are; else TO is the dtype of the
 * result, CASTS its conversions from each. */
#include "jobs.h"
#include "index.h"

#if defined(COPY_ANY)

#define MOVE(T) AT(T, out, j.at[0])[off[0]] = AT(const T, in, j.at[1])[off[1]]
typedef struct pair {
    uint64_t a, b;
} pair;

KERNEL copy(GLOBAL char *out, GLOBAL const char *in, const mcd_copy j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        int64_t off[2];
        mcd_place2(i, j.n, j.nd, j.shape, j.stride[0], off);
        switch (j.size) {
        case 1: MOVE(uint8_t); break;
        case 2: MOVE(uint16_t); break;
        case 4: MOVE(uint32_t); break;
        case 8: MOVE(uint64_t); break;
        default: MOVE(pair); break;
        }
    }
}

#else

#include "value.h"

KERNEL convert(GLOBAL char *out, GLOBAL const char *in, const mcd_copy j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        int64_t off[2];
        mcd_place2(i, j.n, j.nd, j.shape, j.stride[0], off);
        TO v = NUMBER(j.num);
        if (!j.is_num) switch (j.from) {
                CASTS
            }
        AT(TO, out, j.at[0])[off[0]] = v;
    }
}

#endif
