/* mc_linalg.h - one linear-algebra problem as its routine sees it, and what a method says about it.
 *
 * A method (mc_linalg_systems.c, mc_linalg_factors.c, mc_linalg_spectral.c, mc_linalg_upper.c,
 * mc_linalg_structured.c) checks the sizes of an op, says how operands and results lie, asks
 * LAPACK for the work areas, and names the function that solves one problem; what methods share
 * stands in mc_linalg_parts.c. The driver (mc_linalg.c) does the rest: batches, threads, messages.
 *
 * Orientation. A matrix in our memory runs by rows, LAPACK reads columns, so the same memory is
 * the transpose to it. An operand is loaded `as_is` (LAPACK sees the transpose, no reordering) or
 * turned. A result is written by the routine into its place (MCI_PLACE: what LAPACK calls the
 * transpose of the result), or turned on the way out of an operand's copy or of a buffer of its
 * own. */
#ifndef MC_LINALG_H
#define MC_LINALG_H

#include "family/mc_family.h"

#include <stdatomic.h>

enum { MCI_PLACE = -1, MCI_OWN = -2 };

/* Why one problem has no answer. */
enum {
    MCI_FINE,
    MCI_NOT_FINITE,
    MCI_SINGULAR,
    MCI_NOT_DEFINITE,
    MCI_B_NOT_DEFINITE,
    MCI_NO_CONVERGENCE,
    MCI_NO_ROOT,
    MCI_BAD_PIVOT,
    MCI_SINGULAR_BLOCK,
    MCI_REFUSED
};

typedef struct mci_part_in {
    int rank;                /* axes of one problem: 2, or 1 for a vector (rows x 1) */
    int dtype;               /* of the copy */
    int64_t rows, cols;
    int as_is;               /* the copy runs by rows */
    int64_t ld;              /* distance of columns (of rows when as_is); 0: close together */
    int64_t elements;        /* room of the copy; 0: as many as it has */
    int into;                /* result in whose memory the copy lies; MCI_OWN: in the work area */
    int64_t batch[MC_MAX_RANK], offset;
} mci_part_in;

typedef struct mci_part_out {
    int rank;                /* 2, 1 or 0 */
    int dtype;
    int64_t rows, cols;
    /* MCI_PLACE, MCI_OWN (a column-major buffer), or the operand whose copy becomes the result */
    int from;
    int apart;               /* of MCI_PLACE: the routine writes to a copy that is aligned */
    int64_t ld, offset;
} mci_part_out;

typedef struct mci_linalg mci_linalg;

typedef struct mci_problem {
    void *in[3], *out[3];
    mc_lapack_work w;
    char *extra;             /* mci_linalg_extra() counts from here */
} mci_problem;

struct mci_linalg {
    const mci_op *op;
    const mc_lapack_api *lapack;
    const mc_blas_api *blas; /* whose gate calls of lapack pass */
    const mc_params *p;
    const mc_tensor *const *t; /* the operands as given */
    int nin, nout;
    int type, dtype, real;   /* 's' 'd' 'c' 'z', its dtype, the dtype of its real parts */
    int floats;              /* operands that meet in dtype (the first ones) */
    int finite;              /* operands, as a mask, in which NaN or infinity is refused */
    mci_part_in in[3];
    mci_part_out out[3];
    mc_lapack_work w;        /* sizes */
    /* bytes of the work area of the op itself; arithmetic of one problem */
    int64_t extra, cost;
    /* kernel for many small matrices, with the reason of those it marks bad; 0: none */
    int small;
    int small_reason;
    int (*solve)(const mci_linalg *j, mci_problem *q); /* one of the reasons above */
};

typedef int (*mci_method_fn)(mci_linalg *j);

/* All problems of a call. */
typedef struct mci_batch {
    const mci_linalg *j;
    mc_tensor *target[3];    /* contiguous results */
    int64_t count, group, area, work, rwork, iwork, extra;
    int nb;
    int64_t shape[MC_MAX_RANK];
    char *areas;             /* one per worker */
    _Atomic int64_t bad;     /* (problem << 8 | reason) of the first without an answer */
} mci_batch;

/* rows x cols elements at src (strides rs, cs) into columns ld apart. */
void mci_linalg_turn(mci_cast_fn fn, int64_t rows, int64_t cols, char *dst, int64_t dsize,
                     int64_t ld, const char *src, int64_t ssize, int64_t rs, int64_t cs);
/* First element of operand k of problem `at`, counted from the tensor's own. */
int64_t mci_linalg_offset(const mci_batch *b, int k, int64_t at);
/* Where result k of problem `at` goes. */
char *mci_linalg_place(const mci_batch *b, int k, int64_t at);
/* Operand k of problem `at` into its copy. */
void mci_linalg_load(const mci_batch *b, int k, int64_t at, char *dst);
/* Notes that problem `at` has no answer. */
void mci_linalg_bad(mci_batch *b, int64_t at, int why);
/* The kernels for many small matrices: 1 when they did it (*rc is the status), 0 when LAPACK is
 * to. */
int mci_linalg_small(mci_batch *b, int *rc);
/* Determinant (or its sign and logarithm) from LU factors, n apart, and exchanges from 1. */
void mci_linalg_product(const mci_linalg *j, const void *lu, const int *ipiv, void *out,
                        void *log_out);

/* Room in the work area: offset from mci_problem.extra, 64-byte aligned. */
int64_t mci_linalg_extra(mci_linalg *j, int64_t count, int64_t size);
/* Results: rank 2 (rows x cols), 1 (rows), 0. */
void mci_linalg_result(mci_linalg *j, int k, int rank, int dtype, int64_t rows, int64_t cols,
                       int from);
/* Operand k is the right-hand side of `equations` equations; its copy becomes result 0 with `rows`
 * rows. */
int mci_linalg_right_hand_side(mci_linalg *j, int k, int64_t equations, int64_t rows);
/* MC_ESHAPE unless the matrices of operand k are square. */
int mci_linalg_square(const mci_linalg *j, int k);
/* MC_EUNSUPPORTED when a routine would count this many elements of its work area, more than 32 bits
 * hold: LAPACK's own sum wraps around and is no use. */
int mci_linalg_fits(const mci_linalg *j, double elements);
/* The error that names all operands. */
int mci_linalg_wrong(const mci_linalg *j, int status, const char *what, const char *advice);

static inline int mci_ld(int64_t n) { return n > 1 ? (int)n : 1; }
static inline int mci_is_complex(const mci_linalg *j) { return j->type == 'c' || j->type == 'z'; }
/* Number i of an array of the type, as doubles, and back. */
static inline void mci_linalg_get(int type, const void *a, int64_t i, double z[2])
{
    const float *f = a;
    const double *d = a;
    z[0] = type == 's' ? f[i] : type == 'd' ? d[i] : type == 'c' ? f[2 * i] : d[2 * i];
    z[1] = type == 'c' ? f[2 * i + 1] : type == 'z' ? d[2 * i + 1] : 0;
}

static inline void mci_linalg_set(int type, void *a, int64_t i, const double z[2])
{
    float *f = a;
    double *d = a;
    switch (type) {
    case 's': f[i] = (float)z[0]; break;
    case 'd': d[i] = z[0]; break;
    case 'c':
        f[2 * i] = (float)z[0];
        f[2 * i + 1] = (float)z[1];
        break;
    default:
        d[2 * i] = z[0];
        d[2 * i + 1] = z[1];
        break;
    }
}
/* Imaginary parts of n complex numbers change sign. */
void mci_linalg_conj(int type, void *a, int64_t n);

/* methods, by the names of their ops */
int mci_method_solve(mci_linalg *j);
int mci_method_solve_triangular(mci_linalg *j);
int mci_method_inv(mci_linalg *j);
int mci_method_det(mci_linalg *j); /* det and slogdet */
int mci_method_lu_factor(mci_linalg *j);
int mci_method_lu_solve(mci_linalg *j);
int mci_method_lu(mci_linalg *j);
int mci_method_least_squares(mci_linalg *j);
int mci_method_cholesky(mci_linalg *j);
int mci_method_ldl(mci_linalg *j);
int mci_method_qr(mci_linalg *j);
int mci_method_hessenberg(mci_linalg *j);
int mci_method_svd(mci_linalg *j); /* svd and svdvals */
int mci_method_eigh(mci_linalg *j); /* eigh and eigvalsh, with b generalised */
int mci_method_eig(mci_linalg *j); /* eig and eigvals */
int mci_method_schur(mci_linalg *j);
int mci_method_banded(mci_linalg *j);  /* solve_banded */
int mci_method_bandedh(mci_linalg *j); /* solveh_banded */
int mci_method_levinson(mci_linalg *j);
int mci_method_upper(mci_linalg *j); /* square root and logarithm of upper triangles */

#endif
