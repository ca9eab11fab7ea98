/* around.c - what a library's Fourier transforms want around them: rows of their length before, a
 * factor behind. T: float or double, Z: a pair of them. */
#include "jobs.h"

/* Rows of `have` elements as rows of n, zero behind. kind: 2 real numbers; 3 half a spectrum, whose
 * ends are real (r: the last one, too); others complex. Buffers: out, in. */
KERNEL rows(GLOBAL char *out, GLOBAL const char *in, const mcd_fft j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.m * j.n) {
        const int64_t row = i / j.n, k = i - row * j.n, from = row * j.have + k;
        if (j.kind == 2) {
            AT(T, out, j.at[0])[i] = k < j.have ? AT(const T, in, j.at[1])[from] : 0;
        } else {
            Z v;
            v.re = v.im = 0;
            if (k < j.have) v = AT(const Z, in, j.at[1])[from];
            if (j.kind == 3 && (k == 0 || (j.r && k == j.n - 1))) v.im = 0;
            AT(Z, out, j.at[0])[i] = v;
        }
    }
}

/* n numbers times scale. Buffer: out. */
KERNEL scaled(GLOBAL char *out, const mcd_fft j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) AT(T, out, j.at[0])[i] *= (T)j.scale;
}
