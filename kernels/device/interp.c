/* interp.c - values between knots: straight lines, piecewise polynomials. T: dtype of the operands;
 * the arithmetic is f64. */
#include "mck_math.h"
#include "jobs.h"
#include "index.h"

/* Knots must ascend. Buffers: knots, guards. */
KERNEL ascend(GLOBAL const char *knots, GLOBAL char *guards, const mcd_interp j)
{
    const int64_t i = GLOBAL_LANE;
    if (i + 1 < j.k) {
        const T a = AT(const T, knots, j.at[0])[i], b = AT(const T, knots, j.at[0])[i + 1];
        if (j.strictly ? !(a < b) : !(a <= b))
            MCD_REFUSE(AT(uint32_t, guards, j.at[1]) + j.guard, i + 1);
    }
}

/* The largest i < k - 1 with knot[i] <= x, 0 when there is none. */
MC_INLINE int64_t interval(GLOBAL const T *knot, const int64_t k, const T x)
{
    int64_t low = 0;
    for (int64_t count = k - 1; count > 1;) {
        const int64_t half_of = count / 2;
        if (knot[low + half_of] <= x) low += half_of;
        count -= half_of;
    }
    return low;
}

KERNEL lines(GLOBAL char *out, GLOBAL const char *in, GLOBAL const char *knots,
             GLOBAL const char *values, const mcd_interp j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n) {
        OPERAND(T, x, knots, 2);
        OPERAND(T, v, values, 3);
        const T q = AT(const T, in, j.at[1])[i];
        const int64_t k = j.k;
        T y = q;
        if (q != q) {
        } else if (q < x[0]) {
            y = j.left_given ? (T)j.left : v[0];
        } else if (q > x[k - 1]) {
            y = j.right_given ? (T)j.right : v[k - 1];
        } else if (k == 1 || q == x[k - 1]) {
            y = v[k - 1];
        } else {
            const int64_t at = interval(x, k, q);
            y = v[at];
            if (x[at] != q) {
                const double slope =
                    ((double)v[at + 1] - (double)v[at]) / ((double)x[at + 1] - (double)x[at]);
                double r = slope * ((double)q - (double)x[at]) + (double)v[at];
                if (r != r) r = slope * ((double)q - (double)x[at + 1]) + (double)v[at + 1];
                if (r != r && v[at] == v[at + 1]) r = (double)v[at];
                y = (T)r;
            }
        }
        AT(T, out, j.at[0])[i] = y;
    }
}

/* A lane for each query and value. */
KERNEL pieces(GLOBAL char *out, GLOBAL const char *in, GLOBAL const char *knots,
              GLOBAL const char *values, const mcd_interp j)
{
    const int64_t i = GLOBAL_LANE;
    if (i < j.n * j.m) {
        const int64_t row = i / j.m, s = i - row * j.m, k = j.k;
        GLOBAL const T *x = AT(const T, knots, j.at[2]);
        const T q = AT(const T, in, j.at[1])[row];
        double r = 0;
        if (q != q || (j.outside && (q < x[0] || q > x[k - 1]))) {
            r = MCK_NAN_F64;
        } else {
            const int64_t at = interval(x, k, q);
            const double d = (double)q - (double)x[at];
            for (int64_t p = 0; p < j.c - (j.nu > 0 ? j.nu : 0); p++) {
                double f = 1; /* of the derivative of the power c - 1 - p */
                for (int64_t e = 0; e < j.nu; e++) f *= (double)(j.c - 1 - p - e);
                r = r * d + f * (double)AT(const T, values, j.at[3])[(p * (k - 1) + at) * j.m + s];
            }
        }
        AT(T, out, j.at[0])[i] = (T)r;
    }
}
