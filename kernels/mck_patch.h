/* mck_patch.h - arguments of convolutions by tiles of results: maps to points and back, between
 * which a sum over channels takes one product per point.
 *
 * A tile's results are A^T [(G w) * (B^T x)] of a patch x that reaches beyond it, with * point by
 * point; the maps act on rows and on columns.
 *
 * winograd.c: 3 x 3 taps, tiles of 4 x 4, 36 points where the sum takes 144 products. The maps come
 * from evaluating polynomials at 0, +-5/8, +-3/2 and infinity. Among the symmetric sets tried
 * (14; 64 channels, normal numbers) these points have the smallest errors in f32: 1.8
 * times the root mean square and 1.6 times the maximum of the error of the plain sum, where the
 * usual 0, +-1, +-2 have 4.4 and 7.8. Source: Fast algorithms for convolutional neural networks,
 * 2016; Error analysis and improving the accuracy of Winograd convolution for deep neural
 * networks, 2020.
 *
 * fourier.c: up to 9 taps an axis, patches of 16 x 16, tiles of 17 - taps. The maps are discrete
 * Fourier transforms: 4 real bins, and 126 complex ones whose products take three
 * multiplications, 382 points in all. For 5 x 5 taps the sum takes 3600 products, for 7 x 7 it
 * takes 4900. Source: Fast training of convolutional networks through FFTs, 2014.
 *
 * One channel: point p of tile t stands at v[p step + t]. Tiles lie one row of tiles behind the
 * other. What is written in whole vectors goes up to MCK_PATCH_SLACK elements past the last tile,
 * and what is read from `in` up to as many past its end. in: rows in_row apart. work: of as many
 * elements as MCK_WINOGRAD_WORK or MCK_FOURIER_WORK say.
 * patches: v = B^T x of overlapping patches.
 * gradients: v = A y of tiles.
 * results: out = A^T v, height x width of them, out_row apart.
 * weights: m channels (at most MCK_CONV_PANEL) of k pairs, tap (i, j) of pair c of channel o at
 * in[o outer + c inner + taps[1] i + j], taken from the end where reversed; v[p step + c m + o].
 * taps: the adjoint of weights for one channel: k pairs of G^T v, v[p step + c], to
 * out[c out_row + taps[1] i + j].
 *
 * Results by Fourier transforms take the rows of the spectrum one after the other, so that what
 * stands at the points stays in cache. work holds spectra of columns: row u of row of tiles r at
 * work[u work_step + r work_row].
 * columns: work from `in`. row: points of row `row` of them, v from the first one on. row_back:
 * work from these points. results: out from work.
 * weights: the same pairs; spectra of columns, row i of column j at
 * v[(taps[1] i + j) step + c m + o].
 * weight_row: points of row `row` of these, at `in`, in_row apart: v[p step + c m + o]. */
#ifndef MCK_PATCH_H
#define MCK_PATCH_H

#include "mck.h"

#define MCK_PATCH_SLACK 16
#define MCK_WINOGRAD_POINTS 36
#define MCK_WINOGRAD_WORK(columns) (24 * ((columns) + 32))
#define MCK_FOURIER_SIZE 16
#define MCK_FOURIER_TAPS 9
#define MCK_FOURIER_POINTS 382
#define MCK_FOURIER_ROWS 9 /* of the spectrum, of at most MCK_FOURIER_MOST points */
#define MCK_FOURIER_MOST 48
#define MCK_FOURIER_POINT(u) ((u) == 0 ? 0 : 23 + MCK_FOURIER_MOST * ((int64_t)(u)-1)) /* first */
#define MCK_FOURIER_PITCH(columns, tile) (((columns) * (tile) + 16 + 15) & ~(int64_t)15)
#define MCK_FOURIER_WORK(rows, columns, tile) (16 * ((rows)*MCK_FOURIER_PITCH(columns, tile) + 32))
typedef struct mck_patch {
    int64_t rows, columns, step, in_row, out_row, height, width;
    int64_t m, k, outer, inner, reversed;
    int64_t taps[2], tile[2], row, work_step, work_row; /* of fourier.c */
    const float *in;
    float *v, *out, *work;
} mck_patch;

#endif
