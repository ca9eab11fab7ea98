/* mck_conv.h - arguments of convolutions: sums over shifted planes, what goes in and out of them.
 *
 * A plane holds the places of a result along one axis after the other, the last one contiguous,
 * with gaps behind each axis, so that a tap of the kernel is one distance for all places
 * (runtime/family/mc_conv.h). MCK_CONV_SLACK elements behind everything that is read are there;
 * dots: and finite.
 * rows: out[c][p] = sum_k w[c][k] in[off[k] + p] for n places and m channels, out_row apart; k in
 * steps of MCK_CONV_STEP, each of them summed up from zero. w: panels of MCK_CONV_PANEL channels,
 * [panel][k][channel], the last one with as many as are left. Writes to the next multiple of 64
 * bytes of places.
 * dots: out[c][k] += sum_p w[c][p] in[off[k] + p]; n places a multiple of 64 bytes, k a multiple
 * of MCK_CONV_TAPS; w: the result's gradient, rows w_row apart.
 * outer: the same for many channels and any list of places, out[c][k] += sum_p w[p][c]
 * in[off[k] + at[p]], in steps of MCK_CONV_STEP places, each of them summed up from zero. w and
 * out: panels of MCK_CONV_WIDE bytes of channels, [panel][p][channel] and [panel][k][channel],
 * w_row and out_row apart; k even. */
#ifndef MCK_CONV_H
#define MCK_CONV_H

#include "mck.h"

#define MCK_CONV_PANEL 4
#define MCK_CONV_SLACK 16
#define MCK_CONV_STEP 256
#define MCK_CONV_TAPS 4
#define MCK_CONV_WIDE 128
typedef struct mck_conv {
    int64_t n, m, k;
    void *out;
    const void *in, *w;
    const int64_t *off, *at;
    int64_t out_row, w_row;
} mck_conv;

/* lanes: out[p][c] = sum_k in[off[k] + at[r] + i step] w[k][c] for place p = r n + i of `rows` rows
 * of n places, and m channels; k as for rows, so that bits are the same. step: 1 or 2. w and out:
 * panels of MCK_CONV_WIDE bytes of channels, [panel][k][channel] and [panel][p][channel], those of
 * out out_row apart. */
typedef struct mck_conv_lanes {
    int64_t rows, n, step, m, k, out_row;
    void *out;
    const void *in, *w;
    const int64_t *off, *at;
} mck_conv_lanes;

/* turn: out[p][c] = in[c channel + p place] for n places and m channels of one panel of outer.
 * unturn: out[c channel + p place] = in[p][c]. */
typedef struct mck_conv_turn {
    int64_t n, m, channel, place;
    const void *in;
    void *out;
} mck_conv_turn;

/* Planes of places from and to an operand: place q of axis i is element map[i][q] of the
 * operand, or none where that is negative. On the last axis places lo .. hi - 1 are elements
 * `step` apart. copy: plane[size[0]][size[1]][size[2]] from the operand, 0 where there is none.
 * fold: back to the operand, added, or stored where every element has one place (store). */
typedef struct mck_conv_plane {
    int64_t size[3], stride[3];
    const int64_t *map[3];
    int64_t lo, hi, step, store;
    void *plane, *x;
} mck_conv_plane;

#endif
