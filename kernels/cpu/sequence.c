/* sequence.c - sequence family: low-discrepancy points, each a function of its number.
 *
 * Sobol' points from direction numbers in Gray-code order (Antonov and Saleev, "An economic method
 * of computing LP-tau sequences", 1979) and Halton points from digits (Halton, "On the efficiency
 * of certain quasi-random sequences of points", 1960). Scrambling: a random lower triangular
 * matrix and shift of the binary digits, digit -> multiplier digit + shift in other bases
 * (Matousek, "On the L2-discrepancy for anchored boxes", 1998). Any split of the points gives the
 * same numbers. */
#include "../mck_sequence.h"
#include "../mck_philox.h"

enum { BITS = MCK_SEQUENCE_BITS, TABLE = MCK_SEQUENCE_TABLE };
#define UNIT 1.1102230246251565e-16 /* 2^-53 */

void MCK(sobol_table)(const mck_sequence *a);
void MCK(random_sobol_f64)(const mck_sequence *a);
void MCK(halton_table)(const mck_sequence *a);
void MCK(random_halton_f64)(const mck_sequence *a);

/* 64 random bits, number `at` of dimension j. */
static uint64_t random_bits(const mck_sequence *a, int64_t j, int at)
{
    uint32_t c[4];
    mck_philox_block(a->key, a->stream, (uint64_t)j * 128 + (uint64_t)at, c);
    return (uint64_t)c[1] << 32 | c[0];
}

static uint64_t parity(uint64_t x)
{
    for (int s = 32; s; s /= 2) x ^= x >> s;
    return x & 1;
}

/* Dimension j: table[0..BITS) direction numbers, the binary digits of v_1, v_2, ... with the first at bit BITS - 1; table[BITS] the shift.
 * numbers: degree s, the coefficients between the first and last of the primitive polynomial as one number, m_1 .. m_s. */
void MCK(sobol_table)(const mck_sequence *a)
{
    for (int64_t j = 0; j < a->d; j++) {
        const int64_t *const number = a->numbers + j * MCK_SEQUENCE_NUMBERS;
        uint64_t *const v = a->table + j * TABLE;
        const int s = (int)number[0];
        for (int b = 0; b < BITS; b++) {
            if (s == 0) {
                v[b] = (uint64_t)1 << (BITS - 1 - b);
            } else if (b < s) {
                v[b] = (uint64_t)number[2 + b] << (BITS - 1 - b);
            } else {
                v[b] = v[b - s] ^ v[b - s] >> s;
                for (int k = 1; k < s; k++)
                    if (number[1] >> (s - 1 - k) & 1) v[b] ^= v[b - k];
            }
        }
        v[BITS] = 0;
        if (!a->scramble) continue;
        uint64_t row[BITS]; /* row r of the matrix: 1 on the diagonal, random bits left of it */
        for (int r = 0; r < BITS; r++) {
            const uint64_t unit = (uint64_t)1 << (BITS - 1 - r), left = ((uint64_t)1 << BITS) - 2 * unit;
            row[r] = (random_bits(a, j, r) & left) | unit;
        }
        for (int b = 0; b < BITS; b++) {
            uint64_t x = 0;
            for (int r = 0; r < BITS; r++) x = x << 1 | parity(v[b] & row[r]);
            v[b] = x;
        }
        v[BITS] = random_bits(a, j, BITS) >> (64 - BITS);
    }
}

void MCK(random_sobol_f64)(const mck_sequence *a)
{
    for (int64_t j = 0; j < a->d; j++) {
        const uint64_t *const v = a->table + j * TABLE;
        uint64_t at = (uint64_t)a->first, x = v[BITS], gray = at ^ at >> 1;
        for (int b = 0; gray; b++, gray >>= 1)
            if (gray & 1) x ^= v[b];
        for (int64_t i = 0; i < a->n; i++) {
            a->out[i * a->d + j] = (double)(int64_t)x * UNIT;
            at++;
            int b = 0; /* the one digit in which the Gray codes of neighbours differ */
            while (b < BITS - 1 && !(at >> b & 1)) b++;
            x ^= v[b];
        }
    }
}

/* Dimension j: multiplier and shift of digit k in table[2 k], table[2 k + 1]. */
void MCK(halton_table)(const mck_sequence *a)
{
    for (int64_t j = 0; j < a->d; j++) {
        const uint64_t base = (uint64_t)a->numbers[j];
        uint64_t *const map = a->table + j * TABLE, rest;
        for (int k = 0; k < BITS; k++) {
            map[2 * k] = a->scramble ? 1 + mck_philox_scale(random_bits(a, j, 2 * k), base - 1, &rest) : 1;
            map[2 * k + 1] = a->scramble ? mck_philox_scale(random_bits(a, j, 2 * k + 1), base, &rest) : 0;
        }
    }
}

void MCK(random_halton_f64)(const mck_sequence *a)
{
    for (int64_t j = 0; j < a->d; j++) {
        const uint64_t base = (uint64_t)a->numbers[j], *const map = a->table + j * TABLE;
        for (int64_t i = 0; i < a->n; i++) {
            uint64_t left = (uint64_t)(a->first + i);
            double x = 0, unit = 1.0 / (double)base;
            for (int k = 0; k < BITS && unit > UNIT / 4 && (left || a->scramble); k++) {
                x += (double)(int64_t)((map[2 * k] * (left % base) + map[2 * k + 1]) % base) * unit;
                unit /= (double)base;
                left /= base;
            }
            a->out[i * a->d + j] = x < 1.0 ? x : 1.0 - UNIT;
        }
    }
}
