/* mck_fft.h - entry points of the fft family (kernels/cpu/fft.c), our own transform: fallback and
 * oracle of FFTW.
 *
 * Owns: the prototypes. Make a table once per (prec, n, kind), read-only afterwards and free to
 * share between threads; a worker brings its own workspace. prec: 4 for f32, 8 for f64; kind as in
 * mck.h. Both blocks 64-byte aligned. Any n >= 1 that fits memory: factors up to 31 directly,
 * larger primes by Bluestein's convolution. */
#ifndef MCK_FFT_H
#define MCK_FFT_H

#include "mck.h"

size_t MCK(fft_table_bytes)(int prec, int64_t n, int kind);
void MCK(fft_table)(int prec, int64_t n, int kind, void *table);
size_t MCK(fft_work)(int prec, int64_t n, int kind);

void MCK(fft_f32)(const mck_fft *a);
void MCK(fft_f64)(const mck_fft *a);

/* The sum itself, in f64, O(n^2); needs neither table nor workspace. */
void MCK(fft_ref_f32)(const mck_fft *a);
void MCK(fft_ref_f64)(const mck_fft *a);

#endif
