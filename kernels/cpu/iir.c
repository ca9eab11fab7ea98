/* iir.c - rows of samples through a cascade of recursive filter sections (transposed direct form
 * II).
 *
 * One section of order q with b[0..q], a[0..q], a[0] = 1 and states z[0..q-1]:
 *     y = b0 x + z0,   z[i] = b[i+1] x + z[i+1] - a[i+1] y,   z[q-1] = b[q] x - a[q] y.
 * A recursion waits for its own last sample, so rows run side by side in lanes: a tile of TILE
 * samples of LANES rows is transposed into a buffer and every section passes over it with its
 * states in registers. Up to three rows left over go sample by sample through 8 sections at once,
 * which overlap in the processor's window. Both ways round alike: the bits of a row do not depend
 * on its neighbours. Arithmetic is f64 for every dtype, fused by name. Measured on Zen 3, four
 * sections, ns a row and sample: 8 lanes 2.0, 16 lanes 3.5 (registers run out), plain loops over 8
 * or 12 lanes 5 (gcc 12 leaves the states in memory), one row 5.0. */
#include "../mck_filter.h"
#include "../mck_math.h"
#include "../mck_lanes.h"

enum { LANES = MCK_FILTER_LANES, TILE = 64, TOGETHER = 8 };

/* tile[n][LANES] through one section of order 2; z[2][LANES]. */
static void lanes_biquad(int64_t n, double *MC_RESTRICT tile, const double *MC_RESTRICT c,
                         double *MC_RESTRICT z)
{
    enum { V = LANES / MCK_VL64 };
    const mck_vec64 b0 = mck_set_64(c[0]), b1 = mck_set_64(c[1]), b2 = mck_set_64(c[2]);
    const mck_vec64 a1 = mck_set_64(-c[4]), a2 = mck_set_64(-c[5]);
    mck_vec64 s0[V], s1[V];
    for (int l = 0; l < V; l++) {
        s0[l] = mck_load_64(z + l * MCK_VL64);
        s1[l] = mck_load_64(z + LANES + l * MCK_VL64);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int l = 0; l < V; l++) {
            double *x = tile + i * LANES + l * MCK_VL64;
            const mck_vec64 v = mck_load_64(x), y = mck_muladd_64(b0, v, s0[l]);
            s0[l] = mck_muladd_64(a1, y, mck_muladd_64(b1, v, s1[l]));
            s1[l] = mck_muladd_64(a2, y, mck_mul_64(b2, v));
            mck_store_64(x, y);
        }
    }
    for (int l = 0; l < V; l++) {
        mck_store_64(z + l * MCK_VL64, s0[l]);
        mck_store_64(z + LANES + l * MCK_VL64, s1[l]);
    }
}

/* The same for any order; z[order][LANES]. */
static void lanes_section(int64_t n, int64_t order, double *MC_RESTRICT tile,
                          const double *MC_RESTRICT c, double *MC_RESTRICT z)
{
    enum { V = LANES / MCK_VL64 };
    const double *b = c, *a = c + order + 1;
    const mck_vec64 b0 = mck_set_64(b[0]);
    for (int64_t i = 0; i < n; i++) {
        double *x = tile + i * LANES;
        mck_vec64 v[V], y[V];
        for (int l = 0; l < V; l++) {
            v[l] = mck_load_64(x + l * MCK_VL64);
            y[l] = order > 0 ? mck_muladd_64(b0, v[l], mck_load_64(z + l * MCK_VL64))
                             : mck_mul_64(b0, v[l]);
            mck_store_64(x + l * MCK_VL64, y[l]);
        }
        for (int64_t k = 1; k < order; k++) {
            const mck_vec64 bk = mck_set_64(b[k]), ak = mck_set_64(-a[k]);
            double *w = z + (k - 1) * LANES;
            for (int l = 0; l < V; l++)
                mck_store_64(
                    w + l * MCK_VL64,
                    mck_muladd_64(ak, y[l],
                                  mck_muladd_64(bk, v[l], mck_load_64(w + LANES + l * MCK_VL64))));
        }
        if (order > 0) {
            const mck_vec64 bk = mck_set_64(b[order]), ak = mck_set_64(-a[order]);
            double *w = z + (order - 1) * LANES;
            for (int l = 0; l < V; l++)
                mck_store_64(w + l * MCK_VL64, mck_muladd_64(ak, y[l], mck_mul_64(bk, v[l])));
        }
    }
}

/* row[n] through `count` sections of order 2 at once; z[count][2]. count is a constant where this
 * is inlined. */
MC_INLINE void row_biquads(const int count, int64_t n, double *MC_RESTRICT row,
                           const double *MC_RESTRICT c, double *MC_RESTRICT z)
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

static void row_cascade(int64_t n, int64_t sections, double *MC_RESTRICT row,
                        const double *MC_RESTRICT c, double *MC_RESTRICT z)
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

static void row_section(int64_t n, int64_t order, double *MC_RESTRICT row,
                        const double *MC_RESTRICT c, double *z)
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
