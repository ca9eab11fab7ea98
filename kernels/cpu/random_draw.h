/* random_draw.h - standard numbers from the four words of a block: what random.c and
 * random_inverse.c share.
 *
 * draw_<what>_<T>(a, b, c, d, out) writes the 4 (32-bit) or 2 (64-bit) elements of one block. */
#ifndef RANDOM_DRAW_H
#define RANDOM_DRAW_H

#include "../mck_philox.h"
#include "../mck_random.h"
#include <string.h>

enum { LANES = MCK_PHILOX_LANES }; /* blocks side by side */

MC_INLINE void draw_u32(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t *out)
{
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
}

MC_INLINE void draw_u64(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint64_t *out)
{
    out[0] = (uint64_t)b << 32 | a;
    out[1] = (uint64_t)d << 32 | c;
}

MC_INLINE void draw_uniform_f32(uint32_t a, uint32_t b, uint32_t c, uint32_t d, float *out)
{
    out[0] = mck_philox_uniform_f32(a);
    out[1] = mck_philox_uniform_f32(b);
    out[2] = mck_philox_uniform_f32(c);
    out[3] = mck_philox_uniform_f32(d);
}

MC_INLINE void draw_uniform_f64(uint32_t a, uint32_t b, uint32_t c, uint32_t d, double *out)
{
    out[0] = mck_philox_uniform_f64(a, b);
    out[1] = mck_philox_uniform_f64(c, d);
}

/* In (0, 1), 1 - u exact. */
MC_INLINE void draw_open_f64(uint32_t a, uint32_t b, uint32_t c, uint32_t d, double *out)
{
    out[0] = mck_philox_open_f64(a, b);
    out[1] = mck_philox_open_f64(c, d);
}

MC_INLINE void draw_normal_f32(uint32_t a, uint32_t b, uint32_t c, uint32_t d, float *out)
{
    mck_philox_normal_f32(a, b, &out[0], &out[1]);
    mck_philox_normal_f32(c, d, &out[2], &out[3]);
}

MC_INLINE void draw_normal_f64(uint32_t a, uint32_t b, uint32_t c, uint32_t d, double *out)
{
    mck_philox_normal_f64(a, b, c, d, &out[0], &out[1]);
}

#endif
