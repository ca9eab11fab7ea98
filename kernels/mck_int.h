/* mck_int.h - integer and boolean scalars of the expression language.
 *
 * The functions mck_<fn>_<dtype> for bool, u8, i8, i16, i32, i64 that rows of ops.lua name.
 * Division by zero is caught by the row's guard before; here it gives 0 so that no instruction
 * traps. Wrap-around is modulo 2^bits. */
#ifndef MCK_INT_H
#define MCK_INT_H

#include "mck.h"

#define MCK_INT_COMMON(name, T)                                        \
    MC_INLINE T mck_maximum_##name(T a, T b) { return a > b ? a : b; } \
    MC_INLINE T mck_minimum_##name(T a, T b) { return a < b ? a : b; }

#define MCK_INT_SHIFT(name, T, U, bits)                                \
    MC_INLINE T mck_shl_##name(T a, T b)                               \
    {                                                                  \
        return b >= 0 && b < bits ? (T)((U)a << b) : (T)0;             \
    }                                                                  \
    MC_INLINE T mck_shr_##name(T a, T b)                               \
    {                                                                  \
        return b >= 0 && b < bits ? (T)(a >> b) : (T)(a < 0 ? -1 : 0); \
    }

/* square-and-multiply, b >= 0 */
#define MCK_INT_POW(name, T)                                     \
    MC_INLINE T mck_pow_##name(T a, T b)                         \
    {                                                            \
        uint64_t r = 1, x = (uint64_t)a;                         \
        for (uint64_t e = b > 0 ? (uint64_t)b : 0; e; e >>= 1) { \
            if (e & 1)                                           \
                r *= x;                                          \
            x *= x;                                              \
        }                                                        \
        return (T)r;                                             \
    }

/* floor division; the most negative number over -1 wraps instead of trapping */
#define MCK_INT_SIGNED(name, T, U, bits)                                   \
    MCK_INT_COMMON(name, T)                                                \
    MCK_INT_SHIFT(name, T, U, bits)                                        \
    MCK_INT_POW(name, T)                                                   \
    MC_INLINE T mck_floor_divide_##name(T a, T b)                          \
    {                                                                      \
        if (b == 0)                                                        \
            return 0;                                                      \
        if (b == -1)                                                       \
            return (T)(0u - (U)a);                                         \
        T q = (T)(a / b), r = (T)(a % b);                                  \
        return (T)(q - (r != 0 && (r < 0) != (b < 0)));                    \
    }                                                                      \
    MC_INLINE T mck_remainder_##name(T a, T b)                             \
    {                                                                      \
        if (b == 0 || b == -1)                                             \
            return 0;                                                      \
        T r = (T)(a % b);                                                  \
        return (T)(r != 0 && (r < 0) != (b < 0) ? r + b : r);              \
    }                                                                      \
    MC_INLINE T mck_abs_##name(T a) { return a < 0 ? (T)(0u - (U)a) : a; } \
    MC_INLINE T mck_sign_##name(T a) { return (T)((a > 0) - (a < 0)); }

MCK_INT_SIGNED(i8, int8_t, uint32_t, 8)
MCK_INT_SIGNED(i16, int16_t, uint32_t, 16)
MCK_INT_SIGNED(i32, int32_t, uint32_t, 32)
MCK_INT_SIGNED(i64, int64_t, uint64_t, 64)

MCK_INT_COMMON(bool, uint8_t)
MCK_INT_COMMON(u8, uint8_t)
MCK_INT_POW(u8, uint8_t)
MC_INLINE uint8_t mck_shl_u8(uint8_t a, uint8_t b)
{
    return b < 8 ? (uint8_t)((uint32_t)a << b) : (uint8_t)0;
}
MC_INLINE uint8_t mck_shr_u8(uint8_t a, uint8_t b)
{
    return b < 8 ? (uint8_t)(a >> b) : (uint8_t)0;
}
MC_INLINE uint8_t mck_floor_divide_u8(uint8_t a, uint8_t b)
{
    return b ? (uint8_t)(a / b) : (uint8_t)0;
}
MC_INLINE uint8_t mck_remainder_u8(uint8_t a, uint8_t b)
{
    return b ? (uint8_t)(a % b) : (uint8_t)0;
}
MC_INLINE uint8_t mck_abs_u8(uint8_t a) { return a; }
MC_INLINE uint8_t mck_sign_u8(uint8_t a) { return a > 0; }

#endif
