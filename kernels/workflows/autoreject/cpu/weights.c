/* weights.c - weights that repair a set of bad channels, from the inverse of the system of all
 * channels.
 *
 * With M the inverse, the missing values are those that make their own coefficients zero: w =
 * -M_BB^-1 M_BA, by a Cholesky factor of M_BB, which is positive definite for every set that
 * leaves a channel. Rows of all channels are eliminated together. */
#include "tile.h"

int64_t MCK(ar_weights_work)(const mck_ar_weights *a)
{
    int64_t most = 1;
    for (int64_t s = 0; s < a->S; s++)
        if (a->first[s + 1] - a->first[s] > most) most = a->first[s + 1] - a->first[s];
    return ar_bytes(most * most * 8);
}

static void subtract(double *row, const double *other, double f, int64_t n)
{
    for (int64_t i = 0; i < n; i++) row[i] -= f * other[i];
}

void MCK(ar_weights)(const mck_ar_weights *a, int64_t begin, int64_t end, void *work)
{
    const int64_t C = a->C;
    double *l = work; /* factor, [b][b] */
    for (int64_t s = begin; s < end; s++) {
        const int64_t *bad = a->bad + a->first[s], b = a->first[s + 1] - a->first[s];
        double *out = a->out + a->first[s] * C;
        for (int64_t i = 0; i < b; i++) {
            for (int64_t j = 0; j <= i; j++) {
                double v = a->inverse[bad[i] * C + bad[j]];
                for (int64_t k = 0; k < j; k++) v -= l[i * b + k] * l[j * b + k];
                l[i * b + j] = i == j ? sqrt(v) : v / l[j * b + j];
            }
            for (int64_t c = 0; c < C; c++) out[i * C + c] = -a->inverse[bad[i] * C + c];
        }
        for (int64_t i = 0; i < b; i++) {
            for (int64_t k = 0; k < i; k++) subtract(out + i * C, out + k * C, l[i * b + k], C);
            for (int64_t c = 0; c < C; c++) out[i * C + c] /= l[i * b + i];
        }
        for (int64_t i = b - 1; i >= 0; i--) {
            for (int64_t k = i + 1; k < b; k++) subtract(out + i * C, out + k * C, l[k * b + i], C);
            for (int64_t c = 0; c < C; c++) out[i * C + c] /= l[i * b + i];
            for (int64_t k = 0; k < b; k++) out[i * C + bad[k]] = 0.0;
        }
    }
}
