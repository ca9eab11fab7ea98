/* gelu.c - gelu and its derivative on f32, by tables in vector registers.
 *
 * What mck_normal.h says of one element, lane by lane: the bits are those of mck_gelu_f32 wherever
 * an element stands. A vector with an element outside the pieces takes the long way for all, and
 * the element its result. n elements; out may be in. */
#include "../mck_ewise.h"
#include "../mck_lanes.h"
#include "../mck_normal.h"

void MCK(gelu_f32)(const mck_ewise *k);
void MCK(gelu_slope_f32)(const mck_ewise *k);

#if MCK_HAS_FMA

#define V mck_vec32
#define VL MCK_VL32
#define SET mck_set_32
#define INT(x) MCK_INT(set1_epi32)((int)(x))

MC_INLINE V pieces(const float *table, V c)
{
    const V w = mck_muladd_32(c, SET(MCK_PIECE_1), SET(MCK_PIECE_2));
    const mck_int k = MCK_CAST_PS_SI(mck_muladd_32(w, c, SET(0x1.8p23f)));
    const V t = mck_sub_32(c, mck_pick_32(table, k));
    V p = mck_pick_32(table + 8, k);
    MC_UNROLL(8)
    for (int j = 16; j < 80; j += 8) p = mck_muladd_32(p, t, mck_pick_32(table + j, k));
    return p;
}

MC_INLINE V magnitude(V x)
{
    return MCK_CAST_SI_PS(MCK_AND(MCK_CAST_PS_SI(x), INT(0x7fffffff)));
}

MC_INLINE V near_gelu(V x)
{
    const V c = mck_size_32(x, SET(MCK_PIECES_END));
    const V top = MCK_CAST_SI_PS(MCK_INT(min_epu32)(MCK_CAST_PS_SI(x), INT(0x80000000u)));
    return mck_sub_32(top, pieces(mck_gelu_pieces, c));
}

MC_INLINE int far_gelu(V x)
{
    return mck_some_below_32(x, SET(-MCK_PIECES_END));
}

MC_NOINLINE static void mend_gelu(float *out, const float *x)
{
    for (int i = 0; i < VL; i++) {
        const float far = mck_gelu_far_f32(x[i]);
        out[i] = x[i] >= -MCK_PIECES_END ? out[i] : far;
    }
}

MC_INLINE V near_slope(V x)
{
    const mck_int sign = MCK_AND(MCK_CAST_PS_SI(x), INT(0x80000000u));
    const mck_int p = MCK_CAST_PS_SI(pieces(mck_gelu_slope_pieces, magnitude(x)));
    /* 1, of negative x 0: all bits of the sign */
    const mck_int below = MCK_INT(srai_epi32)(sign, 31);
    const V base = MCK_CAST_SI_PS(MCK_ANDNOT(below, INT(0x3f800000)));
    return mck_add_32(base, MCK_CAST_SI_PS(MCK_XOR(p, sign)));
}

MC_INLINE int far_slope(V x)
{
    return mck_some_below_32(SET(MCK_PIECES_END), magnitude(x));
}

MC_NOINLINE static void mend_slope(float *out, const float *x)
{
    for (int i = 0; i < VL; i++) {
        const float far = mck_gelu_slope_far_f32(x[i]);
        out[i] = mck_abs_f32(x[i]) <= MCK_PIECES_END ? out[i] : far;
    }
}

#define OVER(name)                                                                         \
    MC_INLINE V name##_of(V x)                                                             \
    {                                                                                      \
        V y = near_##name(x);                                                              \
        if (MC_UNLIKELY(far_##name(x))) {                                                  \
            float in[VL], out[VL];                                                         \
            mck_store_32(in, x);                                                           \
            mck_store_32(out, y);                                                          \
            mend_##name(out, in);                                                          \
            y = mck_load_32(out);                                                          \
        }                                                                                  \
        return y;                                                                          \
    }                                                                                      \
    static void name##_over(int64_t n, float *out, const float *x)                         \
    {                                                                                      \
        int64_t i = 0;                                                                     \
        for (; i + VL <= n; i += VL) mck_store_32(out + i, name##_of(mck_load_32(x + i))); \
        if (i < n) {                                                                       \
            float rest[VL] = { 0 };                                                        \
            memcpy(rest, x + i, (size_t)(n - i) * sizeof *x);                              \
            mck_store_32(rest, name##_of(mck_load_32(rest)));                              \
            memcpy(out + i, rest, (size_t)(n - i) * sizeof *x);                            \
        }                                                                                  \
    }
OVER(gelu)
OVER(slope)

#else

static void gelu_over(int64_t n, float *out, const float *x)
{
    MC_IVDEP
    for (int64_t i = 0; i < n; i++) out[i] = mck_gelu_f32(x[i]);
}

static void slope_over(int64_t n, float *out, const float *x)
{
    MC_IVDEP
    for (int64_t i = 0; i < n; i++) out[i] = mck_gelu_slope_f32(x[i]);
}

#endif

void MCK(gelu_f32)(const mck_ewise *k)
{
    gelu_over(k->n, k->out, k->in[0]);
}

void MCK(gelu_slope_f32)(const mck_ewise *k)
{
    slope_over(k->n, k->out, k->in[0]);
}
