/* places.h - what the pass on the processor and on devices have in common: the cut of the data, the
 * places of the sums, the kinds of scaling, loss and part.
 *
 * Data: the upper triangle in square tiles of T times, tile row after tile row. A tile holds its
 * rows, a row its groups of G columns, a group the G values of every angle:
 * y[tile][row][group][angle][G]. Places that are no pair (below the diagonal, after the last time)
 * and points that are masked hold NaN. */
#ifndef XPCS_PLACES_H
#define XPCS_PLACES_H

#define XPCS_T 64
#define XPCS_G 8
#define XPCS_P 7

/* Places of the sums: cost, gradient, upper triangle of the normal matrix, then sections of
 * the scaling. Derivatives are those of the model divided by sigma, the residual is
 * (data - model) / sigma. */
enum {
    XPCS_COST = 0, /* sum of rho(r^2), without the factor 1/2 */
    XPCS_GRADIENT = 1,
    XPCS_NORMAL = 8,
    XPCS_SCALING = 36,
    /* within a section: products of the contrast and offset columns with themselves, the physical
     * columns and r */
    XPCS_CC = 0,
    XPCS_CO = 1,
    XPCS_OO = 2,
    XPCS_CR = 3,
    XPCS_OR = 4,
    XPCS_CP = 5,
    XPCS_OP = 12,
    XPCS_SECTION = 19
};

/* scaling: no sums of it, one section of all angles, one per angle */
enum { XPCS_FIXED = 0, XPCS_COMMON = 1, XPCS_EACH = 2 };
enum { XPCS_LINEAR = 0, XPCS_SOFT_L1, XPCS_HUBER, XPCS_CAUCHY, XPCS_ARCTAN };
/* What a pass under a robust loss sums: the fit itself, where curvatures below 0 count as 0; for
 * the errors of the fit products of derivatives times the square of psi = r rho', and times what
 * curvatures are below 0. */
enum { XPCS_FIT = 0, XPCS_PSI, XPCS_BELOW };

/* What the pass takes of an angle; devices keep it up to C1. */
enum {
    XPCS_K,    /* kS cos(phi0 - phi): x = K (B_j - B_i) */
    XPCS_RK,   /* 1 / K */
    XPCS_PHI,  /* dx/dphi0 = PHI (B_j - B_i), per degree */
    XPCS_WEIGHT, /* 1 / sigma */
    XPCS_SHIFT,  /* -offset / sigma */
    XPCS_SCALE,  /* -contrast: r = y / sigma - offset / sigma - contrast g */
    /* factors of the physical columns: contrast (1 when common), times K, PHI and their products */
    XPCS_C1,
    XPCS_CK,
    XPCS_CT,
    XPCS_C2,
    XPCS_C2K,
    XPCS_C2T,
    XPCS_C2KK,
    XPCS_C2KT,
    XPCS_C2TT,
    XPCS_ANGLE
};

#define XPCS_NEAR 0.25 /* |x| below which S and S' come from series: closed forms lose digits */

#endif
