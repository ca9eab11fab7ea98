/* mck_winograd.h - arguments of convolutions with 3 x 3 taps by tiles of 4 x 4 results.
 *
 * A tile's 4 x 4 results are A^T [(G w G^T) * (B^T x B)] A of a patch x of 6 x 6, with * element
 * by element, so that a sum over channels takes 36 products in place of 144. The three maps come
 * from evaluating polynomials at 0, +-5/8, +-3/2 and infinity. Among the symmetric sets tried
 * (14; 64 channels, normal numbers) these points have the smallest errors in f32: 1.8
 * times the root mean square and 1.6 times the maximum of the error of the plain sum, where the
 * usual 0, +-1, +-2 have 4.4 and 7.8. Source: Fast algorithms for convolutional neural networks,
 * 2016; Error analysis and improving the accuracy of Winograd convolution for deep neural
 * networks, 2020.
 *
 * One channel: element (i, j) of the 36 of tile t stands at v[(6 i + j) step + t]. Tiles lie one
 * row of tiles behind the other. What is written in whole vectors goes up to MCK_WINOGRAD_SLACK
 * elements past the last tile. in: rows of 4 columns + 4 (patches) or 4 columns (results)
 * elements, in_row apart. work: at least MCK_WINOGRAD_WORK(columns) elements.
 * patches: v = B^T x B of overlapping patches, 4 rows + 2 rows of in.
 * gradients: v = A y A^T of tiles, 4 rows rows of in.
 * results: out = A^T v A, height x width of them, out_row apart.
 * weights: m channels (at most MCK_CONV_PANEL) of k pairs, tap (i, j) of pair c of channel o at
 * in[o outer + c inner + 3 i + j], taken from the end where reversed; v[(6 i + j) step + c m + o].
 * taps: the adjoint of weights for one channel: k rows of G^T v G, v[(6 i + j) step + c], to
 * out[c out_row + 3 i + j]. */
#ifndef MCK_WINOGRAD_H
#define MCK_WINOGRAD_H

#include "mck.h"

#define MCK_WINOGRAD_SLACK 16
#define MCK_WINOGRAD_WORK(columns) (24 * ((columns) + 32))
typedef struct mck_winograd {
    int64_t rows, columns, step, in_row, out_row, height, width;
    int64_t m, k, outer, inner, reversed;
    const float *in;
    float *v, *out, *work;
} mck_winograd;

#endif
