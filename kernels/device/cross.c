/* cross.c - vector products in space, a lane for each. Every component is the difference of two
 * rounded products, as on the CPU. T: dtype. */
#include "jobs.h"
#include "index.h"

KERNEL cross_product(GLOBAL char *out, GLOBAL const char *a, GLOBAL const char *b,
                     const mcd_cross j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        int64_t off[2];
        mcd_place2(i, j.n, j.nd, j.shape, j.stride[0], off);
        GLOBAL const T *p = AT(const T, a, j.at[1]) + off[0];
        GLOBAL const T *q = AT(const T, b, j.at[2]) + off[1];
        GLOBAL T *o = AT(T, out, j.at[0]) + 3 * i;
        const T x = p[0], y = p[j.step[0]], z = p[2 * j.step[0]];
        const T u = q[0], v = q[j.step[1]], w = q[2 * j.step[1]];
        o[0] = y * w - z * v;
        o[1] = z * u - x * w;
        o[2] = x * v - y * u;
    }
}
