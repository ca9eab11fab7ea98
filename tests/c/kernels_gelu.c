/* kernels_gelu.c - gelu and its derivative on f32: distance from f64, and bits wherever an element
 * stands.
 *
 * build: levels
 * Every 16001st f32 pattern of both signs, infinities and NaN, and the ends of the pieces. The
 * bound of gelu is in units in the last place, subnormal results in units of the smallest one; the
 * derivative, which is 0 at -0.75, is held to 1.2e-7 there and to the same bound elsewhere. */
#define _POSIX_C_SOURCE 200809L
#include "../../kernels/mck_ewise.h"
#include "../../kernels/mck_normal.h"
#include "count_check.h"
#include <math.h>

void MCK(gelu_f32)(const mck_ewise *k);
void MCK(gelu_slope_f32)(const mck_ewise *k);

enum { MOST = 300000, SPECIAL = 12 };
static float x[MOST], y[MOST], part[64];

static double phi(double a)
{
    return 0.5 * erfc(-a * 0.70710678118654752440);
}

static double gelu(double a)
{
    return a < -40 ? -0.0 : a * phi(a);
}

static double slope(double a)
{
    const double c = a < -40 ? -40 : a > 40 ? 40 : a;
    return phi(c) + c * exp(-0.5 * c * c) * 0.39894228040143267794;
}

static int same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void function(const char *name, void (*kernel)(const mck_ewise *), float (*one)(float),
                     double (*want)(double), int n)
{
    mck_ewise k = { .n = n, .out = y, .in = { x }, .stride = { 1 } };
    double worst = 0;
    float at = 0;
    int differ = 0;
    kernel(&k);
    for (int i = 0; i < n; i++) {
        const double w = want((double)x[i]);
        int e;
        (void)frexp(w, &e);
        double unit = ldexp(1, e - 24 < -149 ? -149 : e - 24);
        if (want == slope && fabs((double)x[i] + 0.75) < 0.5) unit = 4e-8;
        differ += !same(y[i], one(x[i]));
        if (isnan(x[i]) || isinf(x[i])) {
            check(y[i] == (float)w || same(y[i], (float)w), "%s(%g) is %g", name, (double)x[i],
                  (double)y[i]);
            continue;
        }
        const double d = fabs((double)y[i] - w) / unit;
        if (d > worst) worst = d, at = x[i];
    }
    check(worst < 3, "%s: %.2f units off at %a", name, worst, (double)at);
    check(differ == 0, "%s: %d of %d bits differ from those of one element", name, differ, n);
    /* lengths with a rest, in place */
    for (int m = 0; m < 40; m++) {
        memcpy(part, x + 7000, sizeof part);
        kernel(&(const mck_ewise){ .n = m, .out = part, .in = { part }, .stride = { 1 } });
        check(memcmp(part, y + 7000, (size_t)m * sizeof *part) == 0 &&
                  memcmp(part + m, x + 7000 + m, (64 - (size_t)m) * sizeof *part) == 0,
              "%s of %d elements in place", name, m);
    }
}

static float one_gelu(float a)
{
    return mck_gelu_f32(a);
}

static float one_slope(float a)
{
    return mck_gelu_slope_f32(a);
}

int main(void)
{
    if (!level_runs()) return 0;
    const float special[SPECIAL] = { 0.0f,  -0.0f,       INFINITY,    -INFINITY,  NAN,    -NAN,
                                     -0.5f, -5.4921875f, -5.4921880f, 5.4921880f, -14.4f, 1e-45f };
    int n = 0;
    for (uint32_t u = 0; u < 0x7f800000u; u += 16001)
        for (uint32_t sign = 0; sign < 2; sign++) x[n++] = mck_from_bits_f32(u | sign << 31);
    for (int i = 0; i < SPECIAL; i++) x[n++] = special[i];
    function("gelu", MCK(gelu_f32), one_gelu, gelu, n);
    function("gelu_slope", MCK(gelu_slope_f32), one_slope, slope, n);
    check(signbit(y[1]) == 0 && y[1] == 0.5f, "gelu_slope(-0)");
    x[0] = -0.0f, x[1] = -INFINITY;
    MCK(gelu_f32)(&(const mck_ewise){ .n = 2, .out = y, .in = { x }, .stride = { 1 } });
    check(y[0] == 0 && signbit(y[0]) && y[1] == 0 && signbit(y[1]), "signs of nothing");
    return report();
}
