/* mck_matmul.h - arguments of matrix products.
 *
 * out[m][n] = a[m][k] b[k][n], contiguous and row-major. */
#ifndef MCK_MATMUL_H
#define MCK_MATMUL_H

#include "mck.h"

typedef struct mck_matmul {
    int64_t m, n, k;
    void *out;
    const void *a, *b;
} mck_matmul;
typedef void (*mck_matmul_fn)(const mck_matmul *p);

/* The same for a few rows, with b where it lies: rows b_row apart, or columns where it is `turned`.
 * a is turned: [k][m], rows a_row apart; out_row: of the result. work: MCK_FEW_WORK(m) bytes. A sum
 * runs along k in steps of MCK_FEW_STEP, each of them summed up from zero. */
#define MCK_FEW_STEP 128
#define MCK_FEW_WIDE 128 /* bytes of a row of b that are read at a time */
#define MCK_FEW_WORK(m) ((MCK_FEW_STEP + (m)) * MCK_FEW_WIDE)
typedef struct mck_few {
    int64_t m, n, k;
    void *out;
    const void *a, *b;
    int64_t out_row, a_row, b_row, turned;
    void *work;
} mck_few;
typedef void (*mck_few_fn)(const mck_few *p);

/* out[k][m] = a[m][k], rows of a `row` apart. */
typedef struct mck_turn {
    int64_t m, k;
    void *out;
    const void *a;
    int64_t row;
} mck_turn;
typedef void (*mck_turn_fn)(const mck_turn *p);

#endif
