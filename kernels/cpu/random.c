/* random.c - random family: numbers that are functions of (key, stream, index).
 *
 * Owns: the loops over blocks. The generator, the layout of a stream and the maps from words to
 * numbers stand in mck_philox.h, shared with CUDA. The plain form of each kernel draws one element
 * at a time; the fast one computes LANES blocks side by side, which the compiler turns into
 * vectors. Both give the same bits, whatever the level, the length of a call and its first index.
 * May not know tensors, generators' state or other families. */
#include "../mck_philox.h"
#include "../mck_random.h"
#include <string.h>

enum { LANES = MCK_PHILOX_LANES }; /* blocks side by side */

/* What a distribution needs to know beside the words. */
typedef struct law {
    double low, span, last;
    float low_f32, span_f32, last_f32;
    int64_t base;
    uint64_t count, reject;
} law;

#if !defined(__AVX2__)
/* w[j][l] is word j of block `block + l`. */
void MCK(philox_lanes)(uint64_t key, uint64_t stream, uint64_t block, uint32_t w[4][LANES])
{
    for (int l = 0; l < LANES; l++) {
        uint32_t c[4];
        mck_philox_block(key, stream, block + (uint64_t)l, c);
        for (int j = 0; j < 4; j++) w[j][l] = c[j];
    }
}
#endif

MC_INLINE law no_law(const double *p)
{
    (void)p;
    const law none = { 0 };
    return none;
}

/* ---- raw words ---- */

MC_INLINE int draw_u32(const law *p, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t *out)
{
    (void)p;
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
    return 0;
}

MC_INLINE int draw_u64(const law *p, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint64_t *out)
{
    (void)p;
    out[0] = (uint64_t)b << 32 | a;
    out[1] = (uint64_t)d << 32 | c;
    return 0;
}

#define NEVER(p, a, i) 0 /* no draw of these distributions is ever thrown away */

#define T uint32_t
#define DRAWS 4
#define NAME(x) MCK(x##_bits_u32)
#define SETUP no_law
#define DRAW draw_u32
#define AGAIN NEVER
#include "random_body.h"

#define T uint64_t
#define DRAWS 2
#define NAME(x) MCK(x##_bits_u64)
#define SETUP no_law
#define DRAW draw_u64
#define AGAIN NEVER
#include "random_body.h"

/* ---- uniform ---- */

static law uniform_law(const double *p)
{
    law u = { 0 };
    u.low = p[0];
    u.span = p[1] - p[0];
    u.last = p[1] > p[0] ? nextafter(p[1], p[0]) : p[0];
    u.low_f32 = (float)p[0];
    u.span_f32 = (float)p[1] - (float)p[0];
    u.last_f32 = (float)p[1] > (float)p[0] ? nextafterf((float)p[1], (float)p[0]) : (float)p[0];
    return u;
}

MC_INLINE int draw_uniform_f32(const law *p, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                               float *out)
{
    out[0] =
        mck_philox_between_f32(mck_philox_uniform_f32(a), p->low_f32, p->span_f32, p->last_f32);
    out[1] =
        mck_philox_between_f32(mck_philox_uniform_f32(b), p->low_f32, p->span_f32, p->last_f32);
    out[2] =
        mck_philox_between_f32(mck_philox_uniform_f32(c), p->low_f32, p->span_f32, p->last_f32);
    out[3] =
        mck_philox_between_f32(mck_philox_uniform_f32(d), p->low_f32, p->span_f32, p->last_f32);
    return 0;
}

MC_INLINE int draw_uniform_f64(const law *p, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                               double *out)
{
    out[0] = mck_philox_between_f64(mck_philox_uniform_f64(a, b), p->low, p->span, p->last);
    out[1] = mck_philox_between_f64(mck_philox_uniform_f64(c, d), p->low, p->span, p->last);
    return 0;
}

#define T float
#define DRAWS 4
#define NAME(x) MCK(x##_uniform_f32)
#define SETUP uniform_law
#define DRAW draw_uniform_f32
#define AGAIN NEVER
#include "random_body.h"

#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_uniform_f64)
#define SETUP uniform_law
#define DRAW draw_uniform_f64
#define AGAIN NEVER
#include "random_body.h"

/* ---- normal ---- */

static law normal_law(const double *p)
{
    law u = { 0 };
    u.low = p[0];
    u.span = p[1];
    u.low_f32 = (float)p[0];
    u.span_f32 = (float)p[1];
    return u;
}

MC_INLINE int draw_normal_f32(const law *p, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                              float *out)
{
    float z[4];
    mck_philox_normal_f32(a, b, &z[0], &z[1]);
    mck_philox_normal_f32(c, d, &z[2], &z[3]);
    out[0] = p->low_f32 + p->span_f32 * z[0];
    out[1] = p->low_f32 + p->span_f32 * z[1];
    out[2] = p->low_f32 + p->span_f32 * z[2];
    out[3] = p->low_f32 + p->span_f32 * z[3];
    return 0;
}

MC_INLINE int draw_normal_f64(const law *p, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                              double *out)
{
    double z[2];
    mck_philox_normal_f64(a, b, c, d, &z[0], &z[1]);
    out[0] = p->low + p->span * z[0];
    out[1] = p->low + p->span * z[1];
    return 0;
}

#define T float
#define DRAWS 4
#define NAME(x) MCK(x##_normal_f32)
#define SETUP normal_law
#define DRAW draw_normal_f32
#define AGAIN NEVER
#include "random_body.h"

#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_normal_f64)
#define SETUP normal_law
#define DRAW draw_normal_f64
#define AGAIN NEVER
#include "random_body.h"

/* ---- integers ---- */

static law integer_law(const double *p)
{
    law u = { 0 };
    u.base = (int64_t)p[0];
    u.count = (uint64_t)((int64_t)p[1] - (int64_t)p[0]);
    u.reject = (0 - u.count) % u.count; /* 2^64 mod count */
    return u;
}

static uint64_t integer_again(const law *p, const mck_random *a, uint64_t i)
{
    uint32_t c[4];
    uint64_t low;
    mck_philox_block(a->key, a->stream, i / 2, c);
    const uint64_t x = i & 1 ? (uint64_t)c[3] << 32 | c[2] : (uint64_t)c[1] << 32 | c[0];
    const uint64_t high = mck_philox_scale(x, p->count, &low);
    return low < p->reject ? mck_philox_redraw(a->key, a->stream, i, p->count, p->reject) : high;
}

MC_INLINE int draw_i64(const law *p, uint32_t a, uint32_t b, uint32_t c, uint32_t d, int64_t *out)
{
    uint64_t low0, low1;
    out[0] = p->base + (int64_t)mck_philox_scale((uint64_t)b << 32 | a, p->count, &low0);
    out[1] = p->base + (int64_t)mck_philox_scale((uint64_t)d << 32 | c, p->count, &low1);
    return (low0 < p->reject) | (low1 < p->reject);
}

static int64_t again_i64(const law *p, const mck_random *a, uint64_t i)
{
    return p->base + (int64_t)integer_again(p, a, i);
}

MC_INLINE int draw_i32(const law *p, uint32_t a, uint32_t b, uint32_t c, uint32_t d, int32_t *out)
{
    int64_t wide[2];
    const int again = draw_i64(p, a, b, c, d, wide);
    out[0] = (int32_t)wide[0];
    out[1] = (int32_t)wide[1];
    return again;
}

static int32_t again_i32(const law *p, const mck_random *a, uint64_t i)
{
    return (int32_t)again_i64(p, a, i);
}

#define T int32_t
#define DRAWS 2
#define NAME(x) MCK(x##_integers_i32)
#define SETUP integer_law
#define DRAW draw_i32
#define AGAIN again_i32
#include "random_body.h"

#define T int64_t
#define DRAWS 2
#define NAME(x) MCK(x##_integers_i64)
#define SETUP integer_law
#define DRAW draw_i64
#define AGAIN again_i64
#include "random_body.h"
