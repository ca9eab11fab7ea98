/* ewise.c - elementwise ops: one formula, or a switch over the light ones of a number of operands
 * and a dtype.
 *
 * S: operands as they lie, T: as they are computed with, C: those of a condition (first operand),
 * R: results as they are computed, O: as they are written. LOAD, STORE convert; NUMBER reads a
 * number; APPLY(a, b, c) or, for the light ones, SWITCH. GUARD: what is refused. */
#include "jobs.h"
#include "index.h"
#include "value.h"

#if !defined(C)
#define C S
#define LOAD_FIRST LOAD
#define NUMBER_FIRST NUMBER
#define F T
#else
#define LOAD_FIRST(x) (x)
#define NUMBER_FIRST(v) MCD_NUMBER_bool(v)
#define F uint8_t
#endif

#if defined(GUARD)
#define CHECK(a, b)                                     \
    if (GUARD)                                          \
    ATOMIC_MIN(AT(uint32_t, guards, j.at[4]) + j.guard, \
               (uint32_t)(i < 0xfffffffe ? i + 1 : 0xfffffffe))
#else
#define CHECK(a, b)
#endif

MC_INLINE R apply(const int op, const F a, const T b, const T c)
{
#if defined(SWITCH)
    switch (op) {
        SWITCH
    }
#else
    return APPLY;
#endif
}

/* Operands that are one value or lie like the result: the stride is 0 or 1. */
KERNEL flat(GLOBAL char *out, GLOBAL const char *x0, GLOBAL const char *x1, GLOBAL const char *x2,
            GLOBAL char *guards, const mcd_ewise j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        const F a = j.is_num & 1 ? NUMBER_FIRST(j.num[0])
                                 : LOAD_FIRST(AT(const C, x0, j.at[1])[i * j.stride[1][0]]);
        const T b = NIN < 2        ? NUMBER(j.num[1])
                    : j.is_num & 2 ? NUMBER(j.num[1])
                                   : LOAD(AT(const S, x1, j.at[2])[i * j.stride[2][0]]);
        const T c = NIN < 3        ? NUMBER(j.num[2])
                    : j.is_num & 4 ? NUMBER(j.num[2])
                                   : LOAD(AT(const S, x2, j.at[3])[i * j.stride[3][0]]);
        CHECK(a, b);
        AT(O, out, j.at[0])[i * j.stride[0][0]] = STORE(apply(j.op, a, b, c));
    }
}

KERNEL strided(GLOBAL char *out, GLOBAL const char *x0, GLOBAL const char *x1,
               GLOBAL const char *x2, GLOBAL char *guards, const mcd_ewise j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        int64_t off[4];
        mcd_place4(i, j.n, j.nd, j.shape, j.stride[0], off);
        const F a =
            j.is_num & 1 ? NUMBER_FIRST(j.num[0]) : LOAD_FIRST(AT(const C, x0, j.at[1])[off[1]]);
        const T b = NIN < 2        ? NUMBER(j.num[1])
                    : j.is_num & 2 ? NUMBER(j.num[1])
                                   : LOAD(AT(const S, x1, j.at[2])[off[2]]);
        const T c = NIN < 3        ? NUMBER(j.num[2])
                    : j.is_num & 4 ? NUMBER(j.num[2])
                                   : LOAD(AT(const S, x2, j.at[3])[off[3]]);
        CHECK(a, b);
        AT(O, out, j.at[0])[off[0]] = STORE(apply(j.op, a, b, c));
    }
}
