/* mck_extremes.h - the largest and the smallest of neighbours, in lanes.
 *
 * mck_max_of_f32(x, n), mck_min_of_f32, mck_max_of_f64, mck_min_of_f64: n > 0; a NaN among them is
 * the answer. */
#ifndef MCK_EXTREMES_H
#define MCK_EXTREMES_H

#include "mck_lanes.h"

#define MCK_LARGER(a, b) ((a) > (b))
#define MCK_SMALLER(a, b) ((a) < (b))

#define MCK_EXTREME_PLAIN(BETTER, first)                                                           \
    for (int64_t i = (first); i < n; i++)                                                          \
        m = m == m && (BETTER(x[i], m) || x[i] != x[i]) ? x[i] : m;

#if defined(MCK_PLAIN)

#define MCK_EXTREME(op, T, name, b, BETTER)                                                        \
    MC_INLINE T mck_##op##_of_##name(const T *x, int64_t n)                                        \
    {                                                                                              \
        T m = x[0];                                                                                \
        MCK_EXTREME_PLAIN(BETTER, 1)                                                               \
        return m;                                                                                  \
    }

#else

#define MCK_EXTREME(op, T, name, b, BETTER)                                                        \
    MC_INLINE T mck_##op##_of_##name(const T *x, int64_t n)                                        \
    {                                                                                              \
        enum { VL = MCK_VL##b };                                                                   \
        T m = x[0], lane[VL];                                                                      \
        if (n < VL) {                                                                              \
            MCK_EXTREME_PLAIN(BETTER, 1)                                                           \
            return m;                                                                              \
        }                                                                                          \
        mck_vec##b a[4];                                                                           \
        for (int l = 0; l < 4; l++)                                                                \
            a[l] = mck_load_##b(x);                                                                \
        __typeof__(a[0] != a[0]) nan = a[0] != a[0];                                               \
        int64_t i = 0, bad = 0;                                                                    \
        for (; i + 4 * VL <= n; i += 4 * VL)                                                       \
            for (int l = 0; l < 4; l++) {                                                          \
                const mck_vec##b v = mck_load_##b(x + i + l * VL);                                 \
                a[l] = mck_##op##_##b(v, a[l]); /* a[l] where v is NaN */                          \
                nan |= v != v;                                                                     \
            }                                                                                      \
        for (; i < n; i += VL) { /* the last reaches back over numbers that were met */            \
            const mck_vec##b v = mck_load_##b(x + (i < n - VL ? i : n - VL));                      \
            a[0] = mck_##op##_##b(v, a[0]);                                                        \
            nan |= v != v;                                                                         \
        }                                                                                          \
        a[0] = mck_##op##_##b(mck_##op##_##b(a[0], a[1]), mck_##op##_##b(a[2], a[3]));             \
        mck_store_##b(lane, a[0]);                                                                 \
        for (int l = 0; l < VL; l++)                                                               \
            bad |= nan[l];                                                                         \
        for (int h = VL / 2; h >= 1; h /= 2)                                                       \
            for (int l = 0; l < h; l++)                                                            \
                lane[l] = BETTER(lane[l + h], lane[l]) ? lane[l + h] : lane[l];                    \
        return bad ? (T)NAN : lane[0];                                                             \
    }

#endif

MCK_EXTREME(max, float, f32, 32, MCK_LARGER)
MCK_EXTREME(min, float, f32, 32, MCK_SMALLER)
MCK_EXTREME(max, double, f64, 64, MCK_LARGER)
MCK_EXTREME(min, double, f64, 64, MCK_SMALLER)

#undef MCK_EXTREME
#undef MCK_EXTREME_PLAIN
#undef MCK_SMALLER
#undef MCK_LARGER

#endif
