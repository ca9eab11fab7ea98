/* mck_sequence.h - arguments of low-discrepancy sequences.
 *
 * points first .. first + n - 1 (from 0) of a low-discrepancy sequence in d dimensions, out[n][d].
 * numbers: what defines the dimensions (sobol: degree, coefficients, initial direction numbers,
 * MCK_SEQUENCE_NUMBERS per dimension; halton: the base). table: made of them by mck_<name>_table, d
 * MCK_SEQUENCE_TABLE entries; scramble: with random numbers of (key, stream), which leave the
 * points as evenly spread. */
#ifndef MCK_SEQUENCE_H
#define MCK_SEQUENCE_H

#include "mck_points.h"

#define MCK_SEQUENCE_BITS MCK_POINTS_BITS
#define MCK_SEQUENCE_NUMBERS MCK_POINTS_NUMBERS
#define MCK_SEQUENCE_TABLE (2 * MCK_SEQUENCE_BITS)
typedef struct mck_sequence {
    int64_t n, d, first;
    double *out;
    uint64_t *table;
    const int64_t *numbers;
    uint64_t key, stream;
    int scramble;
} mck_sequence;
typedef void (*mck_sequence_fn)(const mck_sequence *a);

#endif
