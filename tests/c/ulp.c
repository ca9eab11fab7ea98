/* ulp.c - how many units in the last place kernels/mck_math.h is off, function by function.
 *
 * Built once per ISA level with the kernel flags (-march=x86-64-v2, -v3, -v4), so that the
 * vectorised loops themselves are measured, fix-up pass included. Reference: double libm for f32,
 * 80-bit libm for f64.
 *   ulp                 quick: every 997th f32 pattern, random and focused f64, all special values
 *   ulp -a fn ...       every f32 pattern of the named unary functions (under five minutes each)
 *   ulp -l              names of the unary functions, one per line
 *   ulp -s STRIDE fn .. every STRIDE-th pattern
 *   ulp -t [fn ...]     ns per element on 16384 elements, beside a scalar libm loop
 * Prints `fn dtype level worst bound at`; exit status 1 when a bound, which stands beside the
 * function, is exceeded. A NaN, an infinity or the sign of a zero that differs from the reference
 * counts as an infinite error. */
#define _POSIX_C_SOURCE 200809L
#include "../../kernels/mck_arc_c.h"
#include <complex.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__AVX512F__)
#define LEVEL "v4"
#elif defined(__AVX2__)
#define LEVEL "v3"
#else
#define LEVEL "v2"
#endif

enum { BLOCK = 1024, BENCH = 16384 };

/* ---- references that libm lacks, by their definition ---- */

static long double rsqrtl_(long double x)
{
    return 1.0L / sqrtl(x);
}
static double rsqrt_(double x)
{
    return 1.0 / sqrt(x);
}
static float rsqrtf_(float x)
{
    return 1.0f / sqrtf(x);
}

/* Each as f, double and long double through one body. */
#define REF1(fn, body)                                                                             \
    static long double fn##l_(long double x) { body }                                              \
    static double fn##_(double x) { body }                                                         \
    static float fn##f_(float x) { body }
#define REF2(fn, body)                                                                             \
    static long double fn##l_(long double x, long double y) { body }                               \
    static double fn##_(double x, double y) { return (double)fn##l_(x, y); }                       \
    static float fn##f_(float x, float y) { return (float)fn##l_(x, y); }

REF1(sign, if (isnan(x)) return x; return x > 0 ? 1 : x < 0 ? -1 : 0;)
REF2(minimum, if (isnan(x) || isnan(y)) return x + y;
     if (x == 0 && y == 0) return signbit(x) ? x : y; return x < y ? x : y;)
REF2(maximum, if (isnan(x) || isnan(y)) return x + y;
     if (x == 0 && y == 0) return signbit(x) ? y : x; return x > y ? x : y;)
REF2(pydiv, if (y == 0 || isinf(x)) return y == 0 ? x / y : (long double)NAN;
     long double m = fmodl(x, y); long double q = rintl((x - m) / y);
     if (m != 0 && signbit(m) != signbit(y)) q -= 1; return q == 0 ? copysignl(0.0L, x / y) : q;)
/* In the precision of the type, so that they are also the libm side of the timing. */
#define REF2T(type, s)                                                                             \
    static type pymod##s##_(type x, type y)                                                        \
    {                                                                                              \
        type m = fmod##s(x, y);                                                                    \
        if (m == 0)                                                                                \
            return copysign##s(0, y);                                                              \
        return signbit(m) != signbit(y) ? m + y : m;                                               \
    }                                                                                              \
    static type logadd##s##_(type x, type y)                                                       \
    {                                                                                              \
        if (x == y)                                                                                \
            return x + (type)0.693147180559945309417232121458176568L;                              \
        return fmax##s(x, y) + log1p##s(exp##s(-fabs##s(x - y)));                                  \
    }
REF2T(float, f)
REF2T(double, )
REF2T(long double, l)

/* The 80-bit pow of some libms takes -2^63 for an odd number when the base is -inf. */
static long double powerl_(long double x, long double y)
{
    return x == 0 || isinf(x) ? (long double)pow((double)x, (double)y) : powl(x, y);
}
static double power_(double x, double y)
{
    return pow(x, y);
}
static float powerf_(float x, float y)
{
    return powf(x, y);
}

static long double nextl_(long double x, long double y)
{
    return (long double)nextafter((double)x, (double)y);
}
static double next_(double x, double y)
{
    return (double)nextafterf((float)x, (float)y);
}
static float nextf_(float x, float y)
{
    return nextafterf(x, y);
}

/* ---- the table ----
 * X(name, reference stem, its suffix, focus low, focus high, f32 bound, f64 bound); XF: has a
 * fix-up pass. Bounds in ULP. */
#define FN1(X, XF)                                                                                 \
    X(abs, fabs, , -10, 10, 0, 0)                                                                  \
    X(sign, sign, _, -10, 10, 0, 0)                                                                \
    X(floor, floor, , -10, 10, 0, 0)                                                               \
    X(ceil, ceil, , -10, 10, 0, 0)                                                                 \
    X(trunc, trunc, , -10, 10, 0, 0)                                                               \
    X(round, rint, , -10, 10, 0, 0)                                                                \
    X(sqrt, sqrt, , 0, 10, 0.501, 0.501)                                                           \
    X(rsqrt, rsqrt, _, 0, 10, 1.5, 1.5)                                                            \
    X(exp, exp, , -746, 710, 1.5, 1.5)                                                             \
    X(exp2, exp2, , -1076, 1025, 1.5, 1.5)                                                         \
    X(expm1, expm1, , -40, 40, 1.5, 1.5)                                                           \
    X(log, log, , 0, 4, 1.5, 1.5)                                                                  \
    X(log2, log2, , 0, 4, 1.5, 1.5)                                                                \
    X(log10, log10, , 0, 4, 1.5, 1.5)                                                              \
    X(log1p, log1p, , -1, 4, 1.75, 2)                                                              \
    XF(sin, sin, , -100, 100, 1.5, 1.5)                                                            \
    XF(cos, cos, , -100, 100, 1.5, 1.5)                                                            \
    XF(tan, tan, , -100, 100, 1.5, 2)                                                              \
    X(asin, asin, , -1, 1, 1.5, 2)                                                                 \
    X(acos, acos, , -1, 1, 1.5, 2)                                                                 \
    X(atan, atan, , -5, 5, 1.5, 2)                                                                 \
    X(sinh, sinh, , -20, 20, 2, 2)                                                                 \
    X(cosh, cosh, , -20, 20, 2, 2)                                                                 \
    X(tanh, tanh, , -20, 20, 2, 2)                                                                 \
    X(asinh, asinh, , -5, 5, 1.5, 2)                                                               \
    X(acosh, acosh, , 1, 10, 2, 2)                                                                 \
    X(atanh, atanh, , -1, 1, 1.5, 2)                                                               \
    X(cbrt, cbrt, , -10, 10, 1.5, 1.5)                                                             \
    X(erf, erf, , -6, 6, 1.5, 2)                                                                   \
    X(erfc, erfc, , -6, 27, 4, 4)                                                                  \
    XF(lgamma, lgamma, , -8, 40, 1.5, 8)
#define FN2(X, XF)                                                                                 \
    X(copysign, copysign, , -10, 10, 0, 0)                                                         \
    X(minimum, minimum, _, -10, 10, 0, 0)                                                          \
    X(maximum, maximum, _, -10, 10, 0, 0)                                                          \
    X(nextafter, next, _, -10, 10, 0, 0)                                                           \
    X(hypot, hypot, , -10, 10, 1.5, 1.5)                                                           \
    X(atan2, atan2, , -10, 10, 1.5, 2)                                                             \
    X(pow, power, _, 0, 40, 1.5, 1.5)                                                              \
    X(logaddexp, logadd, _, -30, 30, 1, 2.5)                                                       \
    XF(fmod, fmod, , -100, 100, 0, 0)                                                              \
    XF(remainder, pymod, _, -100, 100, 0.501, 0.501)                                               \
    XF(floor_divide, pydiv, _, -100, 100, 1, 1)

#define LOOP1(fn, T, type)                                                                         \
    static void run_##fn##_##T(int n, type *MC_RESTRICT o, const type *MC_RESTRICT a,              \
                               const type *b)                                                      \
    {                                                                                              \
        (void)b;                                                                                   \
        for (int i = 0; i < n; i++)                                                                \
            o[i] = mck_##fn##_##T(a[i]);                                                           \
    }
#define LOOP1F(fn, T, type)                                                                        \
    static void run_##fn##_##T(int n, type *MC_RESTRICT o, const type *MC_RESTRICT a,              \
                               const type *b)                                                      \
    {                                                                                              \
        int fix = 0;                                                                               \
        (void)b;                                                                                   \
        for (int i = 0; i < n; i++) {                                                              \
            fix |= MCK_NEEDS_FIX_##fn##_##T(a[i]);                                                 \
            o[i] = mck_##fn##_##T(a[i]);                                                           \
        }                                                                                          \
        for (int i = 0; fix && i < n; i++)                                                         \
            if (MCK_NEEDS_FIX_##fn##_##T(a[i]))                                                    \
                o[i] = mck_##fn##_##T##_slow(a[i]);                                                \
    }
#define LOOP2(fn, T, type)                                                                         \
    static void run_##fn##_##T(int n, type *MC_RESTRICT o, const type *MC_RESTRICT a,              \
                               const type *MC_RESTRICT b)                                          \
    {                                                                                              \
        for (int i = 0; i < n; i++)                                                                \
            o[i] = mck_##fn##_##T(a[i], b[i]);                                                     \
    }
#define LOOP2F(fn, T, type)                                                                        \
    static void run_##fn##_##T(int n, type *MC_RESTRICT o, const type *MC_RESTRICT a,              \
                               const type *MC_RESTRICT b)                                          \
    {                                                                                              \
        int fix = 0;                                                                               \
        for (int i = 0; i < n; i++) {                                                              \
            fix |= MCK_NEEDS_FIX_##fn##_##T(a[i], b[i]);                                           \
            o[i] = mck_##fn##_##T(a[i], b[i]);                                                     \
        }                                                                                          \
        for (int i = 0; fix && i < n; i++)                                                         \
            if (MCK_NEEDS_FIX_##fn##_##T(a[i], b[i]))                                              \
                o[i] = mck_##fn##_##T##_slow(a[i], b[i]);                                          \
    }
#define MAKE1(fn, r, s, lo, hi, b32, b64) LOOP1(fn, f32, float) LOOP1(fn, f64, double)
#define MAKE1F(fn, r, s, lo, hi, b32, b64) LOOP1F(fn, f32, float) LOOP1F(fn, f64, double)
#define MAKE2(fn, r, s, lo, hi, b32, b64) LOOP2(fn, f32, float) LOOP2(fn, f64, double)
#define MAKE2F(fn, r, s, lo, hi, b32, b64) LOOP2F(fn, f32, float) LOOP2F(fn, f64, double)
FN1(MAKE1, MAKE1F)
FN2(MAKE2, MAKE2F)

typedef struct row {
    const char *name;
    int args, gross; /* gross: error is taken against the largest of operands and result */
    double lo, hi, bound32, bound64;
    void (*run32)(int, float *, const float *, const float *);
    void (*run64)(int, double *, const double *, const double *);
    float (*ref1f)(float);
    double (*ref1)(double);
    long double (*ref1l)(long double);
    float (*ref2f)(float, float);
    double (*ref2)(double, double);
    long double (*ref2l)(long double, long double);
} row;

#define ROW1(fn, r, s, lo, hi, b32, b64)                                                           \
    { #fn, 1, 0, lo, hi, b32, b64, run_##fn##_f32, run_##fn##_f64, r##f##s, r##s, r##l##s,         \
      NULL, NULL, NULL },
#define ROW2(fn, r, s, lo, hi, b32, b64)                                                           \
    { #fn, 2, #fn[0] == 'l', lo, hi, b32, b64, run_##fn##_f32, run_##fn##_f64, NULL, NULL, NULL,   \
      r##f##s, r##s, r##l##s },
static const row ROWS[] = { FN1(ROW1, ROW1) FN2(ROW2, ROW2) };
enum { ROW_COUNT = sizeof ROWS / sizeof ROWS[0] };

/* ---- the measure ---- */

typedef struct worst {
    double ulp;
    double x, y;
} worst;

/* Error of `got` in ULP of a format with `mant` significant bits and exponents emin..emax. */
static double ulp_error(long double got, long double ref, long double gross, int mant, int emin,
                        int emax)
{
    const long double top = ldexpl(1.0L, emax + 1);
    if (isnan(ref) || isnan(got))
        return isnan(ref) && isnan(got) ? 0.0 : HUGE_VAL;
    if (ref == got)
        return ref == 0 && signbit(ref) != signbit(got) ? HUGE_VAL : 0.0;
    if (isinf(ref) || (signbit(ref) != signbit(got) && gross == 0))
        return HUGE_VAL;
    if (isinf(got)) /* stands for the first value past the largest: fair near overflow */
        got = copysignl(top, got);
    long double scale = fmaxl(fabsl(ref), gross);
    int e = scale == 0 ? emin : ilogbl(scale);
    e = e < emin ? emin : e > emax ? emax : e;
    if (fabsl(ref) >= top && fabsl(got) == top)
        return 0.0;
    return (double)(fabsl(got - ref) / ldexpl(1.0L, e - mant + 1));
}

static void note(worst *w, double err, double x, double y)
{
    if (err > w->ulp)
        *w = (worst){ err, x, y };
}

static void measure32(const row *r, int n, const float *a, const float *b, worst *w)
{
    static float out[BLOCK];
    r->run32(n, out, a, b);
    for (int i = 0; i < n; i++) {
        double x = (double)a[i], y = (double)b[i];
        long double ref;
        if (r->args == 1)
            ref = (long double)r->ref1(x);
        else
            ref = r->gross ? r->ref2l(x, y) : (long double)r->ref2(x, y);
        long double gross = r->gross ? fmaxl(fabsl(x), fabsl(y)) : 0;
        /* What is right, or rounded right once half a unit was seen, is no news. */
        if (out[i] == 0 || (w->ulp < 0.5 ? (long double)out[i] != ref : out[i] != (float)ref))
            note(w, ulp_error(out[i], ref, isfinite(gross) ? gross : 0, 24, -126, 127), x, y);
    }
}

static void measure64(const row *r, int n, const double *a, const double *b, worst *w)
{
    static double out[BLOCK];
    r->run64(n, out, a, b);
    for (int i = 0; i < n; i++) {
        long double x = a[i], y = b[i];
        long double ref = r->args == 1 ? r->ref1l(x) : r->ref2l(x, y);
        long double gross = r->gross ? fmaxl(fabsl(x), fabsl(y)) : 0;
        note(w, ulp_error(out[i], ref, isfinite(gross) ? gross : 0, 53, -1022, 1023), a[i], b[i]);
    }
}

/* ---- where it is measured ---- */

static uint64_t seed = 0x243f6a8885a308d3u;

static uint64_t random_bits(void) /* xorshift64* */
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * 0x2545f4914f6cdd1du;
}

static double random_unit(void)
{
    return (double)(random_bits() >> 11) * 0x1p-53;
}

/* A third each: raw bit patterns, uniform on the focus interval, magnitudes 2^-40 to 2^40. */
static double random_input(const row *r, int wide)
{
    uint64_t u = random_bits();
    switch (u % 3) {
    case 0:
        u = random_bits();
        return wide ? mck_from_bits_f64(u) : (double)mck_from_bits_f32((uint32_t)(u >> 32));
    case 1: return r->lo + (r->hi - r->lo) * random_unit();
    default: {
        double m = exp2(80.0 * random_unit() - 40.0);
        return (u & 64) && r->lo < 0 ? -m : m;
    }
    }
}

/* Special values and their neighbours: zeros, ends of the format, infinities, NaN, small integers
 * and halves, powers of two, multiples of pi/4 and of ln 2. */
static int special_inputs(double *v, int wide)
{
    double tiny = wide ? 0x1p-1074 : 0x1p-149, normal = wide ? 0x1p-1022 : 0x1p-126;
    double most = wide ? DBL_MAX : (double)FLT_MAX;
    double base[] = { 0.0,
                      tiny,
                      3 * tiny,
                      normal,
                      most,
                      most / 2,
                      (double)INFINITY,
                      (double)NAN,
                      0.707106781186547524,
                      1.4142135623730951,
                      0x1p20,
                      0x1p30,
                      0x1p52,
                      0x1p53,
                      0x1p63,
                      1e10,
                      88.7228,
                      709.782712893384,
                      710.4758600739439,
                      89.4159862,
                      -103.9720770,
                      -745.1332191019411,
                      1e22 };
    int n = 0;
    for (size_t i = 0; i < sizeof base / sizeof base[0]; i++)
        v[n++] = base[i];
    for (int i = 1; i <= 24; i++)
        v[n++] = 0.5 * i;
    for (int i = -30; i <= 30; i += 3)
        v[n++] = ldexp(1.0, i);
    for (int i = 1; i <= 16; i++) {
        v[n++] = i * 0.78539816339744831;
        v[n++] = i * 0.34657359027997264;
    }
    for (int i = 0, m = n; i < m; i++) {
        if (v[i] != 0 && isfinite(v[i])) {
            v[n++] = wide ? nextafter(v[i], HUGE_VAL) : (double)nextafterf((float)v[i], HUGE_VALF);
            v[n++] = wide ? nextafter(v[i], 0) : (double)nextafterf((float)v[i], 0);
        }
    }
    for (int i = 0, m = n; i < m; i++)
        v[n++] = -v[i];
    return n;
}

static worst test32(const row *r, uint64_t stride)
{
    static float a[BLOCK], b[BLOCK];
    static double v[1024];
    worst w = { 0, 0, 0 };
    int n = 0, m = special_inputs(v, 0);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < (r->args == 1 ? 1 : m); j++) {
            a[n] = (float)v[i];
            b[n++] = (float)v[j];
            if (n == BLOCK) {
                measure32(r, n, a, b, &w);
                n = 0;
            }
        }
    }
    measure32(r, n, a, b, &w);
    n = 0;
    if (r->args == 1) {
        for (uint64_t u = 0; u < 0x100000000u; u += stride) {
            a[n++] = mck_from_bits_f32((uint32_t)u);
            if (n == BLOCK) {
                measure32(r, n, a, a, &w);
                n = 0;
            }
        }
        measure32(r, n, a, a, &w);
    } else {
        for (int k = 0; k < 384; k++) {
            for (n = 0; n < BLOCK; n++) {
                a[n] = (float)random_input(r, 0);
                b[n] = (float)random_input(r, 0);
            }
            measure32(r, n, a, b, &w);
        }
    }
    return w;
}

static worst test64(const row *r)
{
    static double a[BLOCK], b[BLOCK], v[1024];
    worst w = { 0, 0, 0 };
    int n = 0, m = special_inputs(v, 1);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < (r->args == 1 ? 1 : m); j++) {
            a[n] = v[i];
            b[n++] = v[j];
            if (n == BLOCK) {
                measure64(r, n, a, b, &w);
                n = 0;
            }
        }
    }
    measure64(r, n, a, b, &w);
    for (int k = 0; k < (r->args == 1 ? 1024 : 384); k++) {
        for (n = 0; n < BLOCK; n++) {
            a[n] = random_input(r, 1);
            b[n] = random_input(r, 1);
        }
        measure64(r, n, a, b, &w);
    }
    return w;
}

static int report(const row *r, const char *dtype, worst w, double bound)
{
    int bad = !(w.ulp <= bound);
    printf("%-13s %s %s %8.4f %6.3f  %a", r->name, dtype, LEVEL, w.ulp, bound, w.x);
    if (r->args == 2)
        printf(" %a", w.y);
    printf("%s\n", bad ? "  EXCEEDED" : "");
    fflush(stdout);
    return bad;
}

/* ---- complex: error of the pair against the modulus ---- */

typedef struct crow {
    const char *name;
    mck_c128 (*fn)(mck_c128);
    mck_c64 (*fn32)(mck_c64);
    long double complex (*refl)(long double complex);
    double complex (*ref)(double complex);
    double bound; /* c128; c64 has one rounding per component: 0.71 */
} crow;

#define CFN(X)                                                                                     \
    X(exp, 3) X(log, 3) X(sqrt, 3) X(sin, 3) X(cos, 3) X(tan, 8) X(sinh, 3) X(cosh, 3) X(tanh, 8) \
    X(asin, 4) X(acos, 4) X(atan, 4) X(asinh, 4) X(acosh, 4) X(atanh, 4)
#define CMAKE(fn, b)                                                                               \
    static mck_c128 c128_##fn(mck_c128 a) { return mck_##fn##_c128(a); }                           \
    static mck_c64 c64_##fn(mck_c64 a) { return mck_##fn##_c64(a); }
#define CROW(fn, b) { #fn, c128_##fn, c64_##fn, c##fn##l, c##fn, b },
CFN(CMAKE)
static const crow CROWS[] = { CFN(CROW) };
enum { CROW_COUNT = sizeof CROWS / sizeof CROWS[0] };

/* In boxes of several sizes, at every magnitude, and close to the unit circle. */
static mck_c128 random_complex(int k)
{
    double re = 2 * random_unit() - 1, im = 2 * random_unit() - 1, t = 3.1415926 * im;
    switch (k % 4) {
    case 0: return mck_make_c128(3 * re, 3 * im);
    case 1: return mck_make_c128(30 * re, 300 * im);
    case 2:
        return mck_make_c128(re * exp2(30 * random_unit() - 25),
                             im * exp2(30 * random_unit() - 25));
    default:
        re = 1 + re * exp2(-50 * random_unit());
        return mck_make_c128(re * cos(t), re * sin(t));
    }
}

static double complex_error(long double re, long double im, long double complex ref, int mant)
{
    long double size = cabsl(ref);
    long double off = hypotl(re - creall(ref), im - cimagl(ref));
    return (double)(off / ldexpl(1.0L, ilogbl(size) - mant + 1));
}

static const char *kind(double x)
{
    return isnan(x) ? "nan" : isinf(x) ? "inf" : x == 0 ? "zero" : "finite";
}

static int test_complex(const crow *r)
{
    static const double part[] = { 0.0, 1.0, 2.5, (double)INFINITY, (double)NAN };
    worst w = { 0, 0, 0 }, v = { 0, 0, 0 };
    int bad = 0;
    for (int k = 0; k < 40000; k++) {
        mck_c128 a = random_complex(k), g = r->fn(a);
        long double complex ref = r->refl(CMPLXL(a.re, a.im));
        if (cabsl(ref) > DBL_MAX / 4 || cabsl(ref) < 0x1p-900L)
            continue;
        note(&w, complex_error(g.re, g.im, ref, 53), a.re, a.im);
        mck_c64 b = mck_narrow_c128(a), h = r->fn32(b);
        ref = r->refl(CMPLXL(b.re, b.im));
        if (cabsl(ref) > FLT_MAX / 4 || cabsl(ref) < 0x1p-90L)
            continue;
        note(&v, complex_error(h.re, h.im, ref, 24), (double)b.re, (double)b.im);
    }
    for (int i = 0; i < 100; i++) {
        double x = (i % 10 < 5 ? 1 : -1) * part[i % 5],
               y = (i / 10 < 5 ? 1 : -1) * part[i / 10 % 5];
        mck_c128 g = r->fn(mck_make_c128(x, y));
        double complex ref = r->ref(CMPLX(x, y));
        int same =
            strcmp(kind(g.re), kind(creal(ref))) == 0 && strcmp(kind(g.im), kind(cimag(ref))) == 0;
        if (same && isfinite(y) && !isnan(g.re) &&
            !isnan(g.im)) /* else the standard leaves signs open */
            same = !signbit(g.re) == !signbit(creal(ref)) && !signbit(g.im) == !signbit(cimag(ref));
        if (!same) {
            printf("%-13s c128 (%g, %g): (%g, %g), reference (%g, %g)  DIFFERS\n", r->name, x, y,
                   g.re, g.im, creal(ref), cimag(ref));
            bad = 1;
        }
    }
    row named = { .name = r->name, .args = 2 };
    bad |= report(&named, "c64", v, 0.75);
    bad |= report(&named, "c128", w, r->bound);
    return bad;
}

/* Products, quotients and powers against 80-bit arithmetic. */
static int test_complex_arithmetic(void)
{
    worst w[4] = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } };
    static const char *name[4] = { "mul", "div", "pow whole", "pow" };
    static const double bound[4] = { 2, 4, 8, 40 };
    int bad = 0;
    for (int k = 0; k < 40000; k++) {
        mck_c128 a = random_complex(k), b = random_complex(k + 2), g[4];
        long double complex x = CMPLXL(a.re, a.im), y = CMPLXL(b.re, b.im), ref[4];
        double n = (double)(k % 9) - 4;
        double far = k % 3 == 0 ? 0x1p1010 : k % 3 == 1 ? 0x1p-980 : 1.0;
        g[0] = mck_mul_c128(a, b);
        ref[0] = CMPLXL(creall(x) * creall(y) - cimagl(x) * cimagl(y),
                        creall(x) * cimagl(y) + cimagl(x) * creall(y));
        g[1] = mck_div_c128(mck_make_c128(a.re * far, a.im * far),
                            mck_make_c128(b.re * far, b.im * far));
        ref[1] = x / y;
        g[2] = mck_pow_c128(a, mck_make_c128(n, 0));
        ref[2] = cpowl(x, CMPLXL(n, 0));
        g[3] = mck_pow_c128(a, mck_make_c128(0.01 * b.re, 0.01 * b.im));
        ref[3] = cpowl(x, CMPLXL(0.01 * b.re, 0.01 * b.im));
        for (int i = 0; i < 4; i++)
            if (cabsl(ref[i]) < 0x1p900L && cabsl(ref[i]) > 0x1p-900L &&
                (i != 1 || far == 1.0 || k % 4 < 2))
                note(&w[i], complex_error(g[i].re, g[i].im, ref[i], 53), a.re, a.im);
    }
    for (int i = 0; i < 4; i++) {
        row named = { .name = name[i], .args = 2 };
        bad |= report(&named, "c128", w[i], bound[i]);
    }
    return bad;
}

/* ---- speed ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Best of several passes, in ns per element; mode 0 our f32, 1 libm f32, 2 our f64, 3 libm f64. */
static double speed(const row *r, int mode)
{
    static float a32[BENCH], b32[BENCH], o32[BENCH];
    static double a64[BENCH], b64[BENCH], o64[BENCH];
    double lo = r->lo > -80 ? r->lo : -80, hi = r->hi < 80 ? r->hi : 80, best = HUGE_VAL;
    for (int i = 0; i < BENCH; i++) {
        a64[i] = lo + (hi - lo) * random_unit();
        b64[i] = lo + (hi - lo) * random_unit();
        a32[i] = (float)a64[i];
        b32[i] = (float)b64[i];
    }
    for (int pass = 0; pass < 7; pass++) {
        double t = now();
        if (mode == 0)
            r->run32(BENCH, o32, a32, b32);
        else if (mode == 2)
            r->run64(BENCH, o64, a64, b64);
        else if (mode == 1)
            for (int i = 0; i < BENCH; i++)
                o32[i] = r->args == 1 ? r->ref1f(a32[i]) : r->ref2f(a32[i], b32[i]);
        else
            for (int i = 0; i < BENCH; i++)
                o64[i] = r->args == 1 ? r->ref1(a64[i]) : r->ref2(a64[i], b64[i]);
        t = (now() - t) / BENCH * 1e9;
        best = t < best ? t : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    uint64_t stride = 997;
    int first = 1, timing = 0, sweep = 0, bad = 0, found = 0;
    if (argc > 1 && strcmp(argv[1], "-a") == 0) {
        stride = 1;
        sweep = 1;
        first = 2;
    } else if (argc > 2 && strcmp(argv[1], "-s") == 0) {
        stride = strtoull(argv[2], NULL, 10);
        stride = stride ? stride : 1;
        sweep = 1;
        first = 3;
    } else if (argc > 1 && strcmp(argv[1], "-t") == 0) {
        timing = 1;
        first = 2;
    } else if (argc > 1 && strcmp(argv[1], "-l") == 0) {
        for (int i = 0; i < ROW_COUNT; i++)
            if (ROWS[i].args == 1)
                printf("%s\n", ROWS[i].name);
        return 0;
    }
    for (int i = 0; i < ROW_COUNT; i++) {
        const row *r = &ROWS[i];
        int wanted = first >= argc;
        for (int k = first; k < argc; k++)
            wanted |= strcmp(argv[k], r->name) == 0;
        if (!wanted || (sweep && r->args != 1))
            continue;
        found++;
        if (timing) {
            printf("%-13s %s  f32 %7.2f libm %7.2f   f64 %7.2f libm %7.2f ns\n", r->name, LEVEL,
                   speed(r, 0), speed(r, 1), speed(r, 2), speed(r, 3));
            continue;
        }
        bad |= report(r, "f32", test32(r, stride), r->bound32);
        if (!sweep)
            bad |= report(r, "f64", test64(r), r->bound64);
    }
    for (int i = 0; i < CROW_COUNT && first >= argc && !sweep && !timing; i++)
        bad |= test_complex(&CROWS[i]);
    if (first >= argc && !sweep && !timing)
        bad |= test_complex_arithmetic();
    if (found == 0) {
        fprintf(stderr, "ulp: no such function\n");
        return 2;
    }
    return bad;
}
