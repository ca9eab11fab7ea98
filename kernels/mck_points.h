/* mck_points.h - what a dimension of a low-discrepancy sequence is made of, one text for the CPU
 * and devices (kernels/cpu/sequence.c). */
#ifndef MCK_POINTS_H
#define MCK_POINTS_H

#include "mck.h"
#include "mck_philox.h"

#define MCK_POINTS_BITS 53
#define MCK_POINTS_NUMBERS 20
#define MCK_POINTS_UNIT 1.1102230246251565e-16 /* 2^-53 */

/* 64 random bits, number `at` of dimension j. */
MC_INLINE uint64_t mck_points_random(uint64_t key, uint64_t stream, int64_t j, int at)
{
    uint32_t c[4];
    mck_philox_block(key, stream, (uint64_t)j * 128 + (uint64_t)at, c);
    return (uint64_t)c[1] << 32 | c[0];
}

MC_INLINE uint64_t mck_points_parity(uint64_t x)
{
    for (int s = 32; s; s /= 2) x ^= x >> s;
    return x & 1;
}

/* Dimension j of Sobol' points: v[0..BITS) direction numbers, the binary digits of v_1, v_2, ...
 * with the first at bit BITS - 1; v[BITS] the shift. number: degree s, the coefficients between
 * the first and last of the primitive polynomial as one number, m_1 .. m_s. */
MC_INLINE void mck_points_sobol(const int64_t *number, uint64_t *v, uint64_t key, uint64_t stream,
                                int64_t j, int scramble)
{
    const int bits = MCK_POINTS_BITS, s = (int)number[0];
    for (int b = 0; b < bits; b++) {
        if (s == 0) {
            v[b] = (uint64_t)1 << (bits - 1 - b);
        } else if (b < s) {
            v[b] = (uint64_t)number[2 + b] << (bits - 1 - b);
        } else {
            v[b] = v[b - s] ^ v[b - s] >> s;
            for (int k = 1; k < s; k++)
                if (number[1] >> (s - 1 - k) & 1) v[b] ^= v[b - k];
        }
    }
    v[bits] = 0;
    if (!scramble) return;
    uint64_t row[MCK_POINTS_BITS]; /* of the matrix: 1 on the diagonal, random bits left of it */
    for (int r = 0; r < bits; r++) {
        const uint64_t unit = (uint64_t)1 << (bits - 1 - r),
                       left = ((uint64_t)1 << bits) - 2 * unit;
        row[r] = (mck_points_random(key, stream, j, r) & left) | unit;
    }
    for (int b = 0; b < bits; b++) {
        uint64_t x = 0;
        for (int r = 0; r < bits; r++) x = x << 1 | mck_points_parity(v[b] & row[r]);
        v[b] = x;
    }
    v[bits] = mck_points_random(key, stream, j, bits) >> (64 - MCK_POINTS_BITS);
}

/* Dimension j of Halton points: multiplier and shift of digit k in map[2 k], map[2 k + 1]. */
MC_INLINE void mck_points_halton(uint64_t base, uint64_t *map, uint64_t key, uint64_t stream,
                                 int64_t j, int scramble)
{
    uint64_t rest;
    for (int k = 0; k < MCK_POINTS_BITS; k++) {
        map[2 * k] =
            scramble
                ? 1 + mck_philox_scale(mck_points_random(key, stream, j, 2 * k), base - 1, &rest)
                : 1;
        map[2 * k + 1] =
            scramble ? mck_philox_scale(mck_points_random(key, stream, j, 2 * k + 1), base, &rest)
                     : 0;
    }
}

#endif
