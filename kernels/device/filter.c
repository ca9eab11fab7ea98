/* filter.c - rows of samples through a cascade of recursive sections (kernels/cpu/iir.c), a lane
 * for each row. S, T, LOAD, O, STORE as in reduce.c; the arithmetic is f64, fused by name. */
#include "jobs.h"

#define TILE 16 /* samples that pass through all sections together */

/* last: the state before the first sample, left as the state after the last one. */
KERNEL filter(GLOBAL char *out, GLOBAL char *last, GLOBAL const char *in, GLOBAL const char *coef,
              const mcd_filter j)
{
    const int64_t row = GLOBAL_LANE;
    if (row < j.m) {
        const int64_t order = j.order, step = j.reverse ? -1 : 1;
        GLOBAL const S *x = AT(const S, in, j.at[2]) + row * j.n + (j.reverse ? j.n - 1 : 0);
        GLOBAL O *y = AT(O, out, j.at[0]) + row * j.n + (j.reverse ? j.n - 1 : 0);
        GLOBAL double *state = AT(double, last, j.at[1]) + row * j.sections * order;
        double tile[TILE];
        for (int64_t t = 0; t < j.n; t += TILE) {
            const int len = j.n - t < TILE ? (int)(j.n - t) : TILE;
            for (int i = 0; i < len; i++) tile[i] = (double)LOAD(x[step * (t + i)]);
            for (int64_t s = 0; s < j.sections; s++) {
                GLOBAL const double *b = AT(const double, coef, j.at[3]) + s * 2 * (order + 1);
                GLOBAL const double *a = b + order + 1;
                GLOBAL double *z = state + s * order;
                if (order == 2) {
                    const double b0 = b[0], b1 = b[1], b2 = b[2], a1 = -a[1], a2 = -a[2];
                    double z0 = z[0], z1 = z[1];
                    for (int i = 0; i < len; i++) {
                        const double v = tile[i], w = fma(b0, v, z0);
                        z0 = fma(a1, w, fma(b1, v, z1));
                        z1 = fma(a2, w, b2 * v);
                        tile[i] = w;
                    }
                    z[0] = z0;
                    z[1] = z1;
                    continue;
                }
                for (int i = 0; i < len; i++) {
                    const double v = tile[i], w = order > 0 ? fma(b[0], v, z[0]) : b[0] * v;
                    for (int64_t k = 1; k < order; k++)
                        z[k - 1] = fma(-a[k], w, fma(b[k], v, z[k]));
                    if (order > 0) z[order - 1] = fma(-a[order], w, b[order] * v);
                    tile[i] = w;
                }
            }
            for (int i = 0; i < len; i++) {
                const T w = (T)tile[i];
                y[step * (t + i)] = STORE(w);
            }
        }
    }
}
