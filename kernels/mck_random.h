/* mck_random.h - entry points of the random family (kernels/cpu/random.c).
 *
 * Owns: the prototypes and the meaning of the parameters p. The layout of a stream stands in
 * mck_philox.h. Elements are numbered from `first`; 32-bit and 64-bit draws number the same counter
 * space, so use one distribution per stream. random_bits_u32, random_bits_u64     raw words
 *   random_uniform_f32, _f64             p = { low, high }: low <= x < high (x = low where low ==
 * high) random_normal_f32, _f64              p = { mean, standard deviation } random_integers_i32,
 * _i64            p = { low, high }: low <= x < high, whole numbers up to 2^53, high > low */
#ifndef MCK_RANDOM_H
#define MCK_RANDOM_H

#include "mck.h"

#define MCK_RANDOM_KERNELS(X) \
    X(bits_u32) \
    X(bits_u64) \
    X(uniform_f32) \
    X(uniform_f64) \
    X(normal_f32) \
    X(normal_f64) \
    X(integers_i32) \
    X(integers_i64)

/* random_ref_* draw element by element; the others block by block, with the same bits. */
#define MCK_RANDOM_DECLARE(name) \
    void MCK(random_##name)(const mck_random *a); \
    void MCK(random_ref_##name)(const mck_random *a);
MCK_RANDOM_KERNELS(MCK_RANDOM_DECLARE)
#undef MCK_RANDOM_DECLARE

/* Between the files of the family: w[j][l] is word j of block `block + l`. */
enum { MCK_PHILOX_LANES = 32 };
void MCK(philox_lanes)(uint64_t key, uint64_t stream, uint64_t block,
                       uint32_t w[4][MCK_PHILOX_LANES]);

#endif
