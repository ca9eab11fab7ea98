/* random.c - random numbers on devices, the CPU's bits: a lane for each element. UNIFORM, NORMAL,
 * INTEGERS, BERNOULLI: which; O: dtype of the result; NARROW: 32-bit draws, four of a block. */
#include "jobs.h"
#include "index.h"
#include "mck_philox.h"

/* Parameter k of element i, in the result's dtype of parameters P. */
#define PARAMETER(P, k, buffer, given) \
    (j.step[k] < 0 ? (given)[k] : AT(const P, buffer, j.at[1 + (k)])[i * j.step[k]])

#if defined(NARROW)
#define LIMITS(name) MCK_PHILOX_##name##_F32
#else
#define LIMITS(name) MCK_PHILOX_##name##_F64
#endif

/* The 64 bits of element i. */
#define WORD(c, i) ((uint64_t)(c)[2 * ((i)&1) + 1] << 32 | (c)[2 * ((i)&1)])

/* Standard normal number i of a stream: of a pair the cosine comes first. */
#if defined(NORMAL)
MC_INLINE O standard(const uint32_t *c, uint64_t i)
{
    O first, second;
#if defined(NARROW)
    const int pair = (int)(i & 2);
    mck_philox_normal_f32(c[pair], c[pair + 1], &first, &second);
#else
    mck_philox_normal_f64(c[0], c[1], c[2], c[3], &first, &second);
#endif
    return i & 1 ? second : first;
}
#endif

KERNEL draw(GLOBAL char *out, GLOBAL const char *a, GLOBAL const char *b, GLOBAL const char *keys,
            GLOBAL const char *firsts, GLOBAL char *guards, const mcd_random j)
{
    const int64_t i = GLOBAL_LANE;
    if (i >= j.n) return;
    const int64_t row = i / j.row;
    uint64_t at = (uint64_t)j.first, key = j.key;
    if (j.keyed) key = AT(const uint64_t, keys, j.at[3])[j.keys ? row : 0];
    if (j.counted) {
        const double from = AT(const double, firsts, j.at[4])[j.firsts ? row : 0];
        const int whole = from >= 0 && from < 9007199254740992.0 && from == floor(from);
        if (!whole) MCD_REFUSE(AT(uint32_t, guards, j.at[5]) + j.whole, j.firsts ? row : 0);
        at = whole ? (uint64_t)from : 0;
    }
    at += (uint64_t)(i - row * j.row);
    uint32_t c[4];
#if defined(NARROW)
    mck_philox_block(key, j.stream, at / 4, c);
#else
    mck_philox_block(key, j.stream, at / 2, c);
#endif
#if defined(INTEGERS)
    const int64_t low = PARAMETER(int64_t, 0, a, j.bound), high = PARAMETER(int64_t, 1, b, j.bound);
    const int good = low <= high;
    const O value = (O)mck_philox_integer(key, j.stream, at, WORD(c, at), low, high);
#else
    const double p = PARAMETER(double, 0, a, j.number), q = PARAMETER(double, 1, b, j.number);
#if defined(BERNOULLI)
    const int good = MCK_PHILOX_PROBABILITY(p), k = 2 * (int)(at & 1);
    const O value = mck_philox_open_f64(c[k], c[k + 1]) < p ? 1 : 0;
    (void)q;
#elif defined(NORMAL)
    const int good = LIMITS(SPREAD)(p, q);
    const O value = (O)p + (O)q * standard(c, at);
#elif defined(NARROW)
    const int good = LIMITS(ORDERED)(p, q);
    const O value = mck_philox_between_f32(mck_philox_uniform_f32(c[at & 3]), (float)p, (float)q);
#else
    const int good = LIMITS(ORDERED)(p, q), k = 2 * (int)(at & 1);
    const O value = mck_philox_between_f64(mck_philox_uniform_f64(c[k], c[k + 1]), p, q);
#endif
#endif
    if (!good) MCD_REFUSE(AT(uint32_t, guards, j.at[5]) + j.guard, i);
    AT(O, out, j.at[0])[i] = value;
}
