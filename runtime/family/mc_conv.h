/* mc_conv.h - the geometry of a convolution and of its two derivatives.
 *
 * y[o][p] = sum over c and taps t of w[o][c][t] x[c][p stride + t dilation - before]. All three
 * forms sum over three lists (channels of x, channels of y, places or taps) of the same products,
 * so that each is the derivative of the others. x is seen through a padded grid; with a stride s
 * the grid is taken apart into phases, the places q s + r of each residue r that a tap falls on:
 * a plane for each. In a plane a tap is a shift by whole places, and when the rows of the plane
 * are as long as the result's and the largest shift together, the shift is one distance for all
 * places of the result, read as one long row; what is computed behind the ends of rows is thrown
 * away. So one kernel serves any number of axes, stride, dilation and padding. Long planes are
 * cut into bands along their first axis. */
#ifndef MC_CONV_H
#define MC_CONV_H

#include "family/mc_family.h"

#include "../../kernels/mck_conv.h"
#include "../../kernels/mck_pad.h"

typedef struct mci_conv_axis {
    int64_t in, out, taps, stride, dilation, before;
    int64_t every;           /* a band begins at a multiple of it */
    int64_t shift, q;        /* largest shift of a tap; places of a plane: out + shift */
    int64_t phases;          /* residues that taps fall on, */
    const int64_t *residue;  /* in order */
    const int64_t *phase_of; /* [taps] */
    const int64_t *map;      /* [phases][length]: element of x at place q, or -1 */
    const int64_t *run;      /* [phases][2]: places whose elements are `stride` apart */
    int covered;             /* every element of x stands in some plane */
} mci_conv_axis;

typedef struct mci_conv {
    int form, nd, mode, batched, direct; /* direct: never by tiles */
    int64_t b, n, g, cg,
        og; /* convolutions of their own, samples, groups, channels of x and y in a group */
    mci_conv_axis axis[3]; /* the last nd */
    /* of a run */
    int band_axis;          /* the first */
    int64_t rows, bands;    /* of the result's places along it, in a band */
    int64_t length[3];      /* of a map: q, and a band more on the band axis */
    int64_t taps, phases;   /* products over the axes */
    int64_t size[3], plane; /* of a band's plane, without and with the shift of the first axis */
    int64_t pitch[3];       /* distance of neighbours along an axis in a plane */
    int64_t *numbers;       /* owns all lists */
    const int64_t *tap_phase, *tap_shift; /* [taps] */
} mci_conv;

/* An operand as [b][n][channel][places]. */
typedef struct mci_conv_operand {
    char *data;
    int64_t b, n, c, axis[3];
} mci_conv_operand;
mci_conv_operand mci_conv_operand_of(const mci_conv *c, const mc_tensor *t);
/* w as it lies, contiguous; *tmp owns a copy. */
const mc_tensor *mci_conv_dense(mc_tensor *tmp, const mc_tensor *w, int *rc);

/* mc_conv_sizes.c: sizes and checks from headers and parameters. */
int mci_conv_of(const mci_job *job, mci_conv *c, mci_result *r);
/* Lists and bands; `weight` elements beside the planes of x count for the size of a band. */
int mci_conv_plan(mci_conv *c, int64_t x_planes, int64_t y_planes, int64_t budget);
void mci_conv_drop(mci_conv *c);

/* mc_conv_forms.c: the three forms, between contiguous results and operands of the dtype of the
 * arithmetic with any strides. */
int mci_conv_result(mci_conv *c, mc_tensor *y, const mc_tensor *x, const mc_tensor *w);
int mci_conv_input(mci_conv *c, mc_tensor *x, const mc_tensor *y, const mc_tensor *w);
int mci_conv_weight(mci_conv *c, mc_tensor *w, const mc_tensor *x, const mc_tensor *y);

/* What a channel's places of phase f are among those of x, for the band that begins at `start`. */
mck_conv_plane mci_conv_plane_of(const mci_conv *c, const mci_conv_operand *x, int64_t f,
                                 int64_t start);

/* The result and the gradient of the operand with channels in lanes (mc_conv_lanes.c), bits and
 * all, and whether that is faster. */
int mci_conv_by_lanes(const mci_conv *c, int dtype);
int mci_conv_lanes(const mci_conv *c, mc_tensor *out, const mc_tensor *a, const mc_tensor *w);

/* The same by tiles (mc_conv_choice.c): the way that is fastest for a shape, 0 for none. */
int mci_conv_by_tiles(const mci_conv *c, int dtype);
/* Results of a tile along both axes; bytes beside operands and result, at about, where the result
 * is asked for. */
int64_t mci_conv_tiles(const mci_conv *c, int way, int64_t tile[2]);
int mci_conv_tiled(const mci_conv *c, int way, mc_tensor *out, const mc_tensor *a,
                   const mc_tensor *b);

/* The same by products of matrices, where there is one tap (mc_conv_point.c). */
int mci_conv_by_point(const mci_conv *c);
int mci_conv_point(const mci_conv *c, mc_tensor *out, const mc_tensor *a, const mc_tensor *b);

#endif
