/* conv.c - convolutions and their two derivatives, summed up directly (runtime/family/mc_conv.h):
 * y[o][p] = sum over c and taps t of w[o][c][t] x[c][p stride + t dilation - before].
 *
 * T: dtype; MULADD(a, b, c) = a b + c of it. Sizes are those of three axes. */
#include "jobs.h"
#include "mck_pad.h"

#define PIECE 256 /* products that are summed up by themselves */

/* The place of *rest on an axis; *rest becomes that on the axes before it. */
MC_INLINE int64_t split(int64_t *rest, const int64_t size)
{
    const int small = *rest <= INT32_MAX && size <= INT32_MAX;
    const int64_t q = small ? (int64_t)((uint32_t)*rest / (uint32_t)size) : *rest / size,
                  at = *rest - q * size;
    *rest = q;
    return at;
}

#define SIZE(a) ((a)[0] * (a)[1] * (a)[2])
#define MORE(a, b)                   \
    do {                             \
        piece = MULADD(a, b, piece); \
        if (--left == 0) {           \
            sum += piece;            \
            piece = 0;               \
            left = PIECE;            \
        }                            \
    } while (0)

/* y, a lane for each element. Buffers: y, x, w. */
KERNEL result(GLOBAL char *out, GLOBAL const char *a, GLOBAL const char *b, const mcd_conv j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        int64_t rest = i;
        const int64_t p2 = split(&rest, j.out[2]), p1 = split(&rest, j.out[1]),
                      p0 = split(&rest, j.out[0]), o = split(&rest, j.groups * j.og),
                      sample = split(&rest, j.samples), g = o / j.og;
        GLOBAL const T *x = AT(const T, a, j.at[1]) + rest * j.batch[0] +
                            (sample * j.groups + g) * j.cg * SIZE(j.in);
        GLOBAL const T *w =
            AT(const T, b, j.at[2]) + rest * j.batch[1] + o * j.cg * SIZE(j.taps);
        T sum = 0, piece = 0;
        int left = PIECE;
        for (int64_t c = 0; c < j.cg; c++)
            for (int64_t t0 = 0; t0 < j.taps[0]; t0++) {
                const int64_t k0 = mck_pad_source(
                    j.mode, p0 * j.stride[0] + t0 * j.dilation[0], j.before[0], j.in[0]);
                if (k0 < 0) continue;
                for (int64_t t1 = 0; t1 < j.taps[1]; t1++) {
                    const int64_t k1 = mck_pad_source(
                        j.mode, p1 * j.stride[1] + t1 * j.dilation[1], j.before[1], j.in[1]);
                    if (k1 < 0) continue;
                    GLOBAL const T *from = x + ((c * j.in[0] + k0) * j.in[1] + k1) * j.in[2];
                    GLOBAL const T *tap =
                        w + ((c * j.taps[0] + t0) * j.taps[1] + t1) * j.taps[2];
                    for (int64_t t2 = 0; t2 < j.taps[2]; t2++) {
                        const int64_t k2 = mck_pad_source(
                            j.mode, p2 * j.stride[2] + t2 * j.dilation[2], j.before[2], j.in[2]);
                        if (k2 >= 0) MORE(from[k2], tap[t2]);
                    }
                }
            }
        AT(T, out, j.at[0])[i] = sum + piece;
    }
}

/* The result's place whose tap t reads place q of the padded operand, -1 where there is none. */
#define READER(q, t, k)                                                                   \
    (((q) - (t) * j.dilation[k] < 0 || ((q) - (t) * j.dilation[k]) % j.stride[k] != 0 ||   \
      ((q) - (t) * j.dilation[k]) / j.stride[k] >= j.out[k])                               \
         ? -1                                                                              \
         : ((q) - (t) * j.dilation[k]) / j.stride[k])

/* Gradient of x, padded: places first .. first + size - 1 of each axis, a lane for each element.
 * Buffers: x, y, w. */
KERNEL input(GLOBAL char *out, GLOBAL const char *a, GLOBAL const char *b, const mcd_conv j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        int64_t rest = i;
        const int64_t q2 = split(&rest, j.size[2]) + j.first[2],
                      q1 = split(&rest, j.size[1]) + j.first[1],
                      q0 = split(&rest, j.size[0]) + j.first[0],
                      channel = split(&rest, j.groups * j.cg), sample = split(&rest, j.samples),
                      g = channel / j.cg, c = channel - g * j.cg;
        GLOBAL const T *y = AT(const T, a, j.at[1]) + rest * j.batch[0] +
                            (sample * j.groups + g) * j.og * SIZE(j.out);
        GLOBAL const T *w = AT(const T, b, j.at[2]) + rest * j.batch[1] +
                            (g * j.og * j.cg + c) * SIZE(j.taps);
        T sum = 0, piece = 0;
        int left = PIECE;
        for (int64_t t0 = 0; t0 < j.taps[0]; t0++) {
            const int64_t p0 = READER(q0, t0, 0);
            if (p0 < 0) continue;
            for (int64_t t1 = 0; t1 < j.taps[1]; t1++) {
                const int64_t p1 = READER(q1, t1, 1);
                if (p1 < 0) continue;
                for (int64_t t2 = 0; t2 < j.taps[2]; t2++) {
                    const int64_t p2 = READER(q2, t2, 2);
                    if (p2 < 0) continue;
                    GLOBAL const T *from = y + (p0 * j.out[1] + p1) * j.out[2] + p2;
                    GLOBAL const T *tap = w + (t0 * j.taps[1] + t1) * j.taps[2] + t2;
                    for (int64_t o = 0; o < j.og; o++)
                        MORE(from[o * SIZE(j.out)], tap[o * j.cg * SIZE(j.taps)]);
                }
            }
        }
        AT(T, out, j.at[0])[i] = sum + piece;
    }
}

/* Places of the padded operand that show place k of axis d: the next one from q on. Those outside
 * stand at both ends. */
MC_INLINE int64_t shown(const mcd_conv *j, const int d, const int64_t k, int64_t q)
{
    while (q < j->size[d] && mck_pad_source(j->mode, q, j->before[d], j->in[d]) != k)
        q = q >= j->before[d] && q < j->before[d] + k ? j->before[d] + k
            : q >= j->before[d] + k && q < j->before[d] + j->in[d] ? j->before[d] + j->in[d]
                                                                   : q + 1;
    return q;
}

/* Gradient of x out of that of the padded operand. Buffers: x, the padded one. */
KERNEL fold(GLOBAL char *out, GLOBAL const char *a, const mcd_conv j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        int64_t rest = i;
        const int64_t k2 = split(&rest, j.in[2]), k1 = split(&rest, j.in[1]),
                      k0 = split(&rest, j.in[0]);
        GLOBAL const T *x = AT(const T, a, j.at[1]) + rest * SIZE(j.size);
        T sum = 0;
        for (int64_t q0 = shown(&j, 0, k0, 0); q0 < j.size[0]; q0 = shown(&j, 0, k0, q0 + 1))
            for (int64_t q1 = shown(&j, 1, k1, 0); q1 < j.size[1]; q1 = shown(&j, 1, k1, q1 + 1))
                for (int64_t q2 = shown(&j, 2, k2, 0); q2 < j.size[2];
                     q2 = shown(&j, 2, k2, q2 + 1))
                    sum += x[(q0 * j.size[1] + q1) * j.size[2] + q2];
        AT(T, out, j.at[0])[i] = sum;
    }
}

/* Gradient of w, a group for each element. Buffers: w, x, y. */
KERNEL weight(GLOBAL char *out, GLOBAL const char *a, GLOBAL const char *b, const mcd_conv j)
{
    MCD_GROUP_MEMORY T seen[256];
    int64_t rest = GROUP_AT(0);
    const int64_t t2 = split(&rest, j.taps[2]), t1 = split(&rest, j.taps[1]),
                  t0 = split(&rest, j.taps[0]), c = split(&rest, j.cg),
                  o = split(&rest, j.groups * j.og), g = o / j.og, places = SIZE(j.out);
    T sum = 0, piece = 0;
    int left = PIECE;
    for (int64_t e = LANE; e < j.samples * places; e += LANES) {
        int64_t at = e;
        const int64_t p2 = split(&at, j.out[2]), p1 = split(&at, j.out[1]),
                      p0 = split(&at, j.out[0]);
        const int64_t k0 =
            mck_pad_source(j.mode, p0 * j.stride[0] + t0 * j.dilation[0], j.before[0], j.in[0]);
        const int64_t k1 =
            mck_pad_source(j.mode, p1 * j.stride[1] + t1 * j.dilation[1], j.before[1], j.in[1]);
        const int64_t k2 =
            mck_pad_source(j.mode, p2 * j.stride[2] + t2 * j.dilation[2], j.before[2], j.in[2]);
        if (k0 < 0 || k1 < 0 || k2 < 0) continue;
        GLOBAL const T *x = AT(const T, a, j.at[1]) + rest * j.batch[0] +
                            ((at * j.groups + g) * j.cg + c) * SIZE(j.in);
        GLOBAL const T *y =
            AT(const T, b, j.at[2]) + rest * j.batch[1] + (at * j.groups * j.og + o) * places;
        MORE(x[(k0 * j.in[1] + k1) * j.in[2] + k2], y[e - at * places]);
    }
    seen[LANE] = sum + piece;
    for (int h = LANES / 2; h > 0; h /= 2) {
        BARRIER;
        if (LANE < h) seen[LANE] += seen[LANE + h];
    }
    if (LANE == 0) AT(T, out, j.at[0])[GROUP_AT(0)] = seen[0];
}
