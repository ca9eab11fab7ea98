/* iir.c - rows of samples through a cascade of recursive filter sections (transposed direct form II).
 *
 * One section of order q with b[0..q], a[0..q], a[0] = 1 and states z[0..q-1]:
 *     y = b0 x + z0,   z[i] = b[i+1] x + z[i+1] - a[i+1] y,   z[q-1] = b[q] x - a[q] y.
 * A recursion waits for its own last sample, so rows run side by side in lanes: a tile of TILE samples of LANES rows is transposed
 * into a buffer and every section passes over it with its states in registers. One or two rows left over go sample by sample
 * through up to 8 sections at once, which overlap in the processor's window. Both ways round alike: the bits of a row do not depend
 * on its neighbours. Arithmetic is f64 for every dtype, fused by name. LANES = 12: gcc 12 vectorises the lane loop and keeps the
 * states in registers (0.23 ns a row, sample and section on a 4-wide machine; 8 and 16 lanes end in memory, 0.5 to 1.9 ns).
 * May not know tensors, designs or padding. */
#include "../mck.h"
#include "../mck_math.h"

enum { LANES = MCK_FILTER_LANES, TILE = 64, TOGETHER = 8 };

/* tile[n][LANES] through one section of order 2; z[2][LANES]. */
static void lanes_biquad(int64_t n, double *MC_RESTRICT tile, const double *MC_RESTRICT c, double *MC_RESTRICT z)
{
    const double b0 = c[0], b1 = c[1], b2 = c[2], a1 = -c[4], a2 = -c[5];
    double s0[LANES], s1[LANES];
    for (int l = 0; l < LANES; l++) {
        s0[l] = z[l];
        s1[l] = z[LANES + l];
    }
    for (int64_t i = 0; i < n; i++) {
        double *x = tile + i * LANES;
        for (int l = 0; l < LANES; l++) {
            const double v = x[l], y = MC_MULADD(b0, v, s0[l]);
            s0[l] = MC_MULADD(a1, y, MC_MULADD(b1, v, s1[l]));
            s1[l] = MC_MULADD(a2, y, b2 * v);
            x[l] = y;
        }
    }
    for (int l = 0; l < LANES; l++) {
        z[l] = s0[l];
        z[LANES + l] = s1[l];
    }
}

/* The same for any order; z[order][LANES]. */
static void lanes_section(int64_t n, int64_t order, double *MC_RESTRICT tile, const double *MC_RESTRICT c, double *MC_RESTRICT z)
{
    const double *b = c, *a = c + order + 1;
    for (int64_t i = 0; i < n; i++) {
        double *x = tile + i * LANES, v[LANES], y[LANES];
        for (int l = 0; l < LANES; l++) {
            v[l] = x[l];
            y[l] = order > 0 ? MC_MULADD(b[0], v[l], z[l]) : b[0] * v[l];
            x[l] = y[l];
        }
        for (int64_t k = 1; k < order; k++) {
            const double bk = b[k], ak = -a[k];
            double *w = z + (k - 1) * LANES;
            for (int l = 0; l < LANES; l++)
                w[l] = MC_MULADD(ak, y[l], MC_MULADD(bk, v[l], w[LANES + l]));
        }
        if (order > 0) {
            const double bk = b[order], ak = -a[order];
            double *w = z + (order - 1) * LANES;
            for (int l = 0; l < LANES; l++)
                w[l] = MC_MULADD(ak, y[l], bk * v[l]);
        }
    }
}

/* row[n] through `count` sections of order 2 at once; z[count][2]. count is a constant where this is inlined. */
MC_INLINE void row_biquads(const int count, int64_t n, double *MC_RESTRICT row, const double *MC_RESTRICT c, double *MC_RESTRICT z)
{
    double s0[TOGETHER], s1[TOGETHER];
    for (int s = 0; s < count; s++) {
        s0[s] = z[2 * s];
        s1[s] = z[2 * s + 1];
    }
    for (int64_t i = 0; i < n; i++) {
        double v = row[i];
        for (int s = 0; s < count; s++) {
            const double *q = c + 6 * s;
            const double y = MC_MULADD(q[0], v, s0[s]);
            s0[s] = MC_MULADD(-q[4], y, MC_MULADD(q[1], v, s1[s]));
            s1[s] = MC_MULADD(-q[5], y, q[2] * v);
            v = y;
        }
        row[i] = v;
    }
    for (int s = 0; s < count; s++) {
        z[2 * s] = s0[s];
        z[2 * s + 1] = s1[s];
    }
}

static void row_cascade(int64_t n, int64_t sections, double *MC_RESTRICT row, const double *MC_RESTRICT c, double *MC_RESTRICT z)
{
    for (int64_t s = 0; s < sections; s += TOGETHER, c += 6 * TOGETHER, z += 2 * TOGETHER) {
        switch (sections - s) {
        case 1: row_biquads(1, n, row, c, z); break;
        case 2: row_biquads(2, n, row, c, z); break;
        case 3: row_biquads(3, n, row, c, z); break;
        case 4: row_biquads(4, n, row, c, z); break;
        case 5: row_biquads(5, n, row, c, z); break;
        case 6: row_biquads(6, n, row, c, z); break;
        case 7: row_biquads(7, n, row, c, z); break;
        default: row_biquads(TOGETHER, n, row, c, z); break;
        }
    }
}

static void row_section(int64_t n, int64_t order, double *MC_RESTRICT row, const double *MC_RESTRICT c, double *z)
{
    const double *b = c, *a = c + order + 1;
    for (int64_t i = 0; i < n; i++) {
        const double v = row[i], y = order > 0 ? MC_MULADD(b[0], v, z[0]) : b[0] * v;
        for (int64_t k = 1; k < order; k++)
            z[k - 1] = MC_MULADD(-a[k], y, MC_MULADD(b[k], v, z[k]));
        if (order > 0)
            z[order - 1] = MC_MULADD(-a[order], y, b[order] * v);
        row[i] = y;
    }
}

#define T float
#define NAME iir_f32
#include "iir_body.h"
#undef T
#undef NAME

#define T double
#define NAME iir_f64
#include "iir_body.h"
