/* mck_fft.h - arguments and entry points of the fft family (kernels/cpu/fft.c): fallback and oracle
 * of FFTW.
 *
 * Make a table once per (prec, n, kind), read-only afterwards and free to
 * share between threads; a worker brings its own workspace. prec: 4 for f32, 8 for f64; kind as in
 * mck_fft. Both blocks 64-byte aligned. Any n >= 1 that fits memory: factors up to 31 directly,
 * larger primes by Bluestein's convolution. */
#ifndef MCK_FFT_H
#define MCK_FFT_H

#include "mck.h"

/* fft family (our own mixed-radix transform; oracle and fallback of FFTW). Unnormalised. kind as
 * in mc_fft_api: 0 c2c forward exp(-i), 1 c2c backward, 2 r2c (n real -> n/2+1 complex), 3 c2r
 * (n/2+1 -> n real). Rows are contiguous; in and out do not overlap. table: twiddles made by
 * mck_fft_table. work: mck_fft_work bytes. */
typedef struct mck_fft {
    int64_t m, n;
    int kind;
    void *out;
    const void *in;
    int64_t in_stride, out_stride; /* distance between rows, in elements of their own type */
    const void *table;
    void *work;
} mck_fft;
typedef void (*mck_fft_fn)(const mck_fft *a);

size_t MCK(fft_table_bytes)(int prec, int64_t n, int kind);
void MCK(fft_table)(int prec, int64_t n, int kind, void *table);
size_t MCK(fft_work)(int prec, int64_t n, int kind);

void MCK(fft_f32)(const mck_fft *a);
void MCK(fft_f64)(const mck_fft *a);

/* The sum itself, in f64, O(n^2); needs neither table nor workspace. */
void MCK(fft_ref_f32)(const mck_fft *a);
void MCK(fft_ref_f64)(const mck_fft *a);

#endif
