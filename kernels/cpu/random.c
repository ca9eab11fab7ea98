/* random.c - random family: words, uniform and normal numbers, integers.
 *
 * The loops over blocks. The generator, the layout of a stream and the maps from words to numbers
 * stand in mck_philox.h, shared with CUDA. The plain form of each kernel draws one element at a
 * time; the fast one computes LANES blocks side by side, which the compiler turns into vectors.
 * Both give the same bits, whatever the level, the length of a call and its first index. */
#include "random_draw.h"

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

/* ---- raw words ---- */

#define AS_IT_IS(x, a, b, c) ((void)(a), (void)(b), (void)(c), (x))
#define ANY(a, b, c) ((void)(a), (void)(b), (void)(c), 1)

#define T uint32_t
#define DRAWS 4
#define NAME(x) MCK(x##_bits_u32)
#define DRAW draw_u32
#define FINISH AS_IT_IS
#define CHECK ANY
#include "random_body.h"

#define T uint64_t
#define DRAWS 2
#define NAME(x) MCK(x##_bits_u64)
#define DRAW draw_u64
#define FINISH AS_IT_IS
#define CHECK ANY
#include "random_body.h"

/* ---- uniform ---- */

#define UNIFORM_F64(u, low, high, c) ((void)(c), mck_philox_between_f64((u), (low), (high)))
#define UNIFORM_F32(u, low, high, c) \
    ((void)(c), mck_philox_between_f32((u), (float)(low), (float)(high)))
#define ORDERED_F64(a, b, c) ((void)(c), MCK_PHILOX_ORDERED_F64(a, b))
#define ORDERED_F32(a, b, c) ((void)(c), MCK_PHILOX_ORDERED_F32(a, b))

#define T float
#define DRAWS 4
#define NAME(x) MCK(x##_uniform_f32)
#define DRAW draw_uniform_f32
#define FINISH UNIFORM_F32
#define CHECK ORDERED_F32
#include "random_body.h"

#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_uniform_f64)
#define DRAW draw_uniform_f64
#define FINISH UNIFORM_F64
#define CHECK ORDERED_F64
#include "random_body.h"

/* ---- normal ---- */

#define SHIFT_F64(z, mean, deviation, c) ((void)(c), (mean) + (deviation) * (z))
#define SHIFT_F32(z, mean, deviation, c) ((void)(c), (float)(mean) + (float)(deviation) * (z))
#define SPREAD_F64(mean, deviation, c) ((void)(c), MCK_PHILOX_SPREAD_F64(mean, deviation))
#define SPREAD_F32(mean, deviation, c) ((void)(c), MCK_PHILOX_SPREAD_F32(mean, deviation))

#define T float
#define DRAWS 4
#define NAME(x) MCK(x##_normal_f32)
#define DRAW draw_normal_f32
#define FINISH SHIFT_F32
#define CHECK SPREAD_F32
#include "random_body.h"

#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_normal_f64)
#define DRAW draw_normal_f64
#define FINISH SHIFT_F64
#define CHECK SPREAD_F64
#include "random_body.h"

/* ---- integers in [low, high] ---- */

enum { PIECE = 256 };

MC_INLINE int64_t whole_param(const mck_random *a, int j, int64_t i)
{
    return ((const int64_t *)a->p[j])[i * a->stride[j]];
}

void MCK(random_ref_integers_i64)(const mck_random *a)
{
    int64_t *out = a->out;
    for (int64_t i = 0; i < a->n; i++) {
        const uint64_t at = (uint64_t)a->first + (uint64_t)i;
        uint32_t c[4];
        uint64_t x[2];
        mck_philox_block(a->key, a->stream, at / 2, c);
        draw_u64(c[0], c[1], c[2], c[3], x);
        out[i] = mck_philox_integer(a->key, a->stream, at, x[at % 2], whole_param(a, 0, i),
                                    whole_param(a, 1, i));
    }
}

void MCK(random_integers_i64)(const mck_random *a)
{
    const int fixed = mck_random_fixed(a);
    int64_t *out = a->out;
    for (int64_t i = 0; i < a->n && (i == 0 || !fixed); i++)
        if (whole_param(a, 0, i) > whole_param(a, 1, i)) {
            if (a->status && !*a->status) *a->status = i + 1;
            return;
        }
    MCK(random_bits_u64)
    (&(mck_random){ .n = a->n, .out = out, .key = a->key, .stream = a->stream, .first = a->first });
    const int64_t low = a->n ? whole_param(a, 0, 0) : 0,
                  span = a->n ? whole_param(a, 1, 0) - low : 0;
    const int narrow = fixed && a->n && (uint64_t)span < 0xffffffffu;
    for (int64_t begin = 0; begin < a->n; begin += PIECE) {
        const int64_t m = a->n - begin < PIECE ? a->n - begin : PIECE;
        uint64_t *const x = (uint64_t *)out + begin;
        uint64_t close = !narrow;
        if (narrow) {
            /* 64 by 32 bits; a first draw that may be thrown away has 32 zeros in its low half */
            const uint64_t count = (uint64_t)span + 1;
            for (int64_t i = 0; i < m; i++)
                close |=
                    (uint32_t)((x[i] >> 32) * count + ((x[i] & 0xffffffffu) * count >> 32)) == 0;
            for (int64_t i = 0; i < m && !close; i++)
                x[i] = (uint64_t)low +
                       (((x[i] >> 32) * count + ((x[i] & 0xffffffffu) * count >> 32)) >> 32);
        }
        for (int64_t i = begin; i < begin + m && close; i++)
            out[i] =
                mck_philox_integer(a->key, a->stream, (uint64_t)(a->first + i), (uint64_t)out[i],
                                   whole_param(a, 0, i), whole_param(a, 1, i));
    }
}
