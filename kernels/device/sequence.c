/* sequence.c - low-discrepancy points on devices, the CPU's bits: a lane for each dimension makes
 * the table, a lane for each number a point. SOBOL: else Halton points. */
#include "jobs.h"
#include "mck_points.h"

#define BITS MCK_POINTS_BITS
#define TABLE (2 * MCK_POINTS_BITS)

/* Buffers: table, numbers, key. */
KERNEL dimensions(GLOBAL char *table, GLOBAL const char *numbers, GLOBAL const char *key,
                  const mcd_sequence j)
{
    const int64_t d = GLOBAL_LANE;
    if (d < j.d) {
        uint64_t v[TABLE];
        const uint64_t k = j.keyed ? AT(const uint64_t, key, j.at[2])[0] : j.key;
#if defined(SOBOL)
        int64_t number[MCK_POINTS_NUMBERS];
        for (int i = 0; i < MCK_POINTS_NUMBERS; i++)
            number[i] = AT(const int64_t, numbers, j.at[1])[d * MCK_POINTS_NUMBERS + i];
        for (int i = BITS + 1; i < TABLE; i++) v[i] = 0;
        mck_points_sobol(number, v, k, j.stream, d, j.scramble);
#else
        mck_points_halton(AT(const uint64_t, numbers, j.at[1])[d], v, k, j.stream, d, j.scramble);
#endif
        for (int i = 0; i < TABLE; i++) AT(uint64_t, table, j.at[0])[d * TABLE + i] = v[i];
    }
}

/* Buffers: out, table, numbers. */
KERNEL points(GLOBAL char *out, GLOBAL const char *table, GLOBAL const char *numbers,
              const mcd_sequence j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n * j.d) {
        const int64_t row = i / j.d, d = i - row * j.d;
        GLOBAL const uint64_t *v = AT(const uint64_t, table, j.at[1]) + d * TABLE;
        const uint64_t at = (uint64_t)(j.first + row);
#if defined(SOBOL)
        uint64_t x = v[BITS], gray = at ^ at >> 1;
        for (int b = 0; gray; b++, gray >>= 1)
            if (gray & 1) x ^= v[b];
        AT(double, out, j.at[0])[i] = (double)(int64_t)x * MCK_POINTS_UNIT;
#else
        const uint64_t base = AT(const uint64_t, numbers, j.at[2])[d];
        uint64_t left = at;
        double x = 0, unit = 1.0 / (double)base;
        for (int k = 0; k < BITS && unit > MCK_POINTS_UNIT / 4 && (left || j.scramble); k++) {
            x += (double)(int64_t)((v[2 * k] * (left % base) + v[2 * k + 1]) % base) * unit;
            unit /= (double)base;
            left /= base;
        }
        AT(double, out, j.at[0])[i] = x < 1.0 ? x : 1.0 - MCK_POINTS_UNIT;
#endif
    }
}
