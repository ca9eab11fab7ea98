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

/* The number before high, seen from low < high. */
MC_INLINE double before_f64(double high)
{
    union {
        double value;
        int64_t bits;
    } x;
    x.value = high;
    x.bits += high > 0 ? -1 : 1;
    return high == 0 ? -4.9406564584124654e-324 : x.value;
}

MC_INLINE float before_f32(float high)
{
    union {
        float value;
        int32_t bits;
    } x;
    x.value = high;
    x.bits += high > 0 ? -1 : 1;
    return high == 0 ? -1.40129846e-45f : x.value;
}

MC_INLINE double uniform_f64(double u, double low, double high, double none)
{
    (void)none;
    const double last = high > low ? before_f64(high) : low;
    return mck_philox_between_f64(u, low, high - low, last);
}

MC_INLINE float uniform_f32(float u, double a, double b, double none)
{
    (void)none;
    const float low = (float)a, high = (float)b;
    const float last = high > low ? before_f32(high) : low;
    return mck_philox_between_f32(u, low, high - low, last);
}

#define FINITE_F64(x) (fabs(x) <= 1.7976931348623157e308)
#define FINITE_F32(x) (fabs(x) <= 3.4028234663852886e38)
#define ORDERED_F64(a, b, c) ((void)(c), (a) <= (b) && FINITE_F64((b) - (a)))
#define ORDERED_F32(a, b, c) ((void)(c), (a) <= (b) && FINITE_F32((b) - (a)))

#define T float
#define DRAWS 4
#define NAME(x) MCK(x##_uniform_f32)
#define DRAW draw_uniform_f32
#define FINISH uniform_f32
#define CHECK ORDERED_F32
#include "random_body.h"

#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_uniform_f64)
#define DRAW draw_uniform_f64
#define FINISH uniform_f64
#define CHECK ORDERED_F64
#include "random_body.h"

/* ---- normal ---- */

#define SHIFT_F64(z, mean, deviation, c) ((void)(c), (mean) + (deviation) * (z))
#define SHIFT_F32(z, mean, deviation, c) ((void)(c), (float)(mean) + (float)(deviation) * (z))
#define SPREAD_F64(mean, deviation, c) \
    ((void)(c), FINITE_F64(mean) && (deviation) >= 0 && FINITE_F64(deviation))
#define SPREAD_F32(mean, deviation, c) \
    ((void)(c), FINITE_F32(mean) && (deviation) >= 0 && FINITE_F32(deviation))

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

/* Element i from its word x: low + the high half of x (high - low + 1), drawn again where that
 * would favour some numbers. */
MC_INLINE int64_t integer(const mck_random *a, uint64_t i, uint64_t x, int64_t low, int64_t high)
{
    const uint64_t count = (uint64_t)high - (uint64_t)low + 1; /* 0: all of them */
    uint64_t rest, value = mck_philox_scale(x, count, &rest);
    if (MC_UNLIKELY(rest < count)) {
        /* may be thrown away: only now is 2^64 mod count worth its division */
        const uint64_t reject = (0 - count) % count;
        if (rest < reject)
            value = mck_philox_redraw(a->key, a->stream, i, count, reject);
    }
    return (int64_t)((uint64_t)low + (count ? value : x));
}

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
        out[i] = integer(a, at, x[at % 2], whole_param(a, 0, i), whole_param(a, 1, i));
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
            out[i] = integer(a, (uint64_t)(a->first + i), (uint64_t)out[i], whole_param(a, 0, i),
                             whole_param(a, 1, i));
    }
}
