/* mck_dct.h - arguments of cosine and sine transforms.
 *
 * rows of n reals before (in: row, out: operand of a Fourier transform) and after it (in: its
 * result, out: row). type 1..4; table: the factors e^(-i pi j / (4 n)), made by dct_table for j =
 * first + i step, i < count. scale multiplies the result. */
#ifndef MCK_DCT_H
#define MCK_DCT_H

#include "mck.h"

typedef struct mck_dct {
    int64_t n, count, first, step;
    int type, sine, orthogonal;
    double scale;
    void *out;
    const void *in;
    double *table;
} mck_dct;

#endif
