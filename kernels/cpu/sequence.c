/* sequence.c - sequence family: low-discrepancy points, each a function of its number.
 *
 * Sobol' points from direction numbers in Gray-code order (Antonov and Saleev, "An economic method
 * of computing LP-tau sequences", 1979) and Halton points from digits (Halton, "On the efficiency
 * of certain quasi-random sequences of points", 1960). Scrambling: a random lower triangular
 * matrix and shift of the binary digits, digit -> multiplier digit + shift in other bases
 * (Matousek, "On the L2-discrepancy for anchored boxes", 1998). Any split of the points gives the
 * same numbers. */
#include "../mck_sequence.h"
#include "../mck_points.h"

enum { BITS = MCK_SEQUENCE_BITS, TABLE = MCK_SEQUENCE_TABLE };
#define UNIT MCK_POINTS_UNIT

void MCK(sobol_table)(const mck_sequence *a);
void MCK(random_sobol_f64)(const mck_sequence *a);
void MCK(halton_table)(const mck_sequence *a);
void MCK(random_halton_f64)(const mck_sequence *a);

void MCK(sobol_table)(const mck_sequence *a)
{
    for (int64_t j = 0; j < a->d; j++)
        mck_points_sobol(a->numbers + j * MCK_SEQUENCE_NUMBERS, a->table + j * TABLE, a->key,
                         a->stream, j, a->scramble);
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

void MCK(halton_table)(const mck_sequence *a)
{
    for (int64_t j = 0; j < a->d; j++)
        mck_points_halton((uint64_t)a->numbers[j], a->table + j * TABLE, a->key, a->stream, j,
                          a->scramble);
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
