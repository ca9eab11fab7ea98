/* mc_conv_patch.h - convolutions by tiles of results (mck_patch.h), as their files share them:
 * mc_conv_patch.c has planes and maps of operands and weights at the points, mc_conv_winograd.c and
 * mc_conv_fourier.c the result by either way, mc_conv_choice.c the choice and the gradient of the
 * kernel.
 *
 * The result and the gradient of the operand are one computation: the other has the kernel
 * reversed and channels exchanged. An element is one sum over channels in one order, so that bits
 * depend neither on threads nor on the batch. */
#ifndef MC_CONV_PATCH_H
#define MC_CONV_PATCH_H

#include "family/mc_conv.h"

#include "../../kernels/mck_patch.h"

typedef void (*mci_sum_fn)(const mck_conv *);
typedef void (*mci_plane_fn)(const mck_conv_plane *);
typedef void (*mci_tile_fn)(const mck_patch *);

typedef struct mci_conv_patch {
    const mci_conv *c;
    int64_t tile[2], halo[2], points; /* places of a tile, of a patch beyond it */
    int64_t most;                     /* rows of tiles of a call of a map */
    mci_sum_fn sum;
    const mc_blas_api *blas;
    mci_plane_fn copy;
    mci_tile_fn patches, gradients, results, weights, taps;
    mci_tile_fn columns, spectrum_row, row_back, weight_row; /* Fourier */
    int64_t height, width, down,
        across;   /* places of the result of one channel, rows and columns of tiles */
    int64_t k, m; /* channels of a group: summed over, of the result */
    int64_t total, rows, blocks; /* rows of tiles of all samples, of a block; blocks */
    int64_t part, parts;         /* channels of the result of a unit */
    int shared, w_b; /* all patches first; weights of their own for each element of a batch */
    const float *w;  /* the kernel, dense */
    int64_t w_first; /* the first of its groups that is made weights of */
    int64_t pitch, k_step, m_step;    /* elements between channels and points */
    int64_t row;                      /* elements of a row of a plane */
    const int64_t *map[2], *y_map[2]; /* element of an operand for a place of its planes, or -1 */
    int64_t lo, hi, y_lo, y_hi;       /* places of a row whose elements are neighbours */
    mci_conv_operand x, y;            /* what has patches; the result's gradient */
    int64_t *numbers, *off;           /* owns maps; places of channels */
    float *u; /* weights at the points, [b][g][point][panel]; or their gradient */
    int64_t u_b, u_g, u_step, u_row;
    float *v, *s; /* patches and products (or gradients) of a block at the points */
    float *out;   /* the result, contiguous */
    char *work;
    int64_t work_bytes, m_at, plane_at, row_at; /* of a worker: patches, products, a plane, rows */
    int64_t b, g, first, last;                  /* the block that is under way */
    int64_t c_step, work_step;  /* between channels and rows of spectra of columns */
    int64_t u_rows, u_first;    /* rows of the spectrum at once */
    int64_t s_at, v_at, own_at; /* parts of the memory at u */
} mci_conv_patch;

/* mc_conv_patch.c */
int64_t mci_patch_pitched(int64_t n);
int mci_patch_maps(mci_conv_patch *t);
void mci_patch_spread(const mci_conv_patch *t, const mci_conv_operand *o, int y, int64_t b,
                      int64_t channel, int64_t first, int64_t last, float *v, int64_t step,
                      char *work);
void mci_patch_back(const mci_conv_patch *t, const float *s, int64_t step, int64_t b,
                    int64_t channel, int64_t first, int64_t last, char *work);
void mci_patch_columns(const mci_conv_patch *t, int64_t b, int64_t channel, int64_t first,
                       int64_t last, float *to, char *work);
void mci_patch_columns_back(const mci_conv_patch *t, float *from, int64_t b, int64_t channel,
                            int64_t first, int64_t last);
int64_t mci_patch_buffers(mci_conv_patch *t, int64_t at);
int mci_patch_run(mci_conv_patch *t, int64_t units, mc_range_fn task);
void mci_patch_weigh_some(const mci_conv_patch *t, int64_t group, int64_t o0, int64_t os, float *u);
int mci_patch_weigh(mci_conv_patch *t, int64_t first, int64_t groups);

/* The schemes: sizes for a convolution, whether its shape is one of theirs; what a sample costs
 * in multiplications; the result, and the bytes that it takes. */
int mci_winograd_of(mci_conv_patch *t, const mci_conv *c);
double mci_winograd_cost(const mci_conv_patch *t);
int mci_winograd_result(mci_conv_patch *t, const mc_tensor *x, const mc_tensor *w);
int64_t mci_winograd_bytes(mci_conv_patch *t);
int mci_fourier_of(mci_conv_patch *t, const mci_conv *c);
double mci_fourier_cost(const mci_conv_patch *t);
int mci_fourier_result(mci_conv_patch *t, const mc_tensor *x, const mc_tensor *w);
int64_t mci_fourier_bytes(mci_conv_patch *t);

#endif
