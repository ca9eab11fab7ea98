/* mck_math_f64.h - elementary functions on f64. Included by mck_math.h only, which has the rules.
 *
 * The f64 functions and the cores (reduction, log split, exponent scaling) that f32 borrows where
 * it computes in f64. Idea: reduce to a small interval with constants split so that the products
 * are exact, evaluate one minimax polynomial for all lanes, rebuild, then patch special values by
 * selects. */
#ifndef MCK_MATH_F64_H
#define MCK_MATH_F64_H

#ifndef MCK_MATH_H
#error "include mck_math.h"
#endif

#define MCK_LOG2E 0x1.71547652b82fep0
#define MCK_LOG2E_LO 0x1.777d0ffda0d24p-56
#define MCK_LN2 0x1.62e42fefa39efp-1
#define MCK_LN2_HI 0x1.62e42fefa3p-1 /* 41 bits: n * MCK_LN2_HI is exact for |n| < 4096 */
#define MCK_LN2_LO 0x1.3de6af278ece6p-42
#define MCK_LOG10_2_HI 0x1.34413509f7p-2
#define MCK_LOG10_2_LO 0x1.3fde623e2566bp-43
#define MCK_PI_HI 0x1.921fb54442d18p1
#define MCK_PI_LO 0x1.1a62633145c07p-53

/* ---- signs, rounding, comparison: exact ---- */

MC_INLINE double mck_abs_f64(double x)
{
    return mck_from_bits_f64(mck_bits_f64(x) & 0x7fffffffffffffffu);
}

MC_INLINE double mck_copysign_f64(double x, double y)
{
    return mck_from_bits_f64((mck_bits_f64(x) & 0x7fffffffffffffffu) |
                             (mck_bits_f64(y) & 0x8000000000000000u));
}

/* -1, 0 or 1; NaN for NaN. */
MC_INLINE double mck_sign_f64(double x)
{
    double y = x > 0.0 ? 1.0 : 0.0;
    y = x < 0.0 ? -1.0 : y;
    return x != x ? x : y;
}

MC_INLINE double mck_floor_f64(double x)
{
    return floor(x);
}

MC_INLINE double mck_ceil_f64(double x)
{
    return ceil(x);
}

MC_INLINE double mck_trunc_f64(double x)
{
    return trunc(x);
}

/* Half to even. */
MC_INLINE double mck_round_f64(double x)
{
    return rint(x);
}

MC_INLINE double mck_sqrt_f64(double x)
{
    return sqrt(x);
}

/* [1.48 1.48] */
MC_INLINE double mck_rsqrt_f64(double x)
{
    return 1.0 / sqrt(x);
}

/* NaN if either is NaN; -0 counts as less than +0, so that the order of operands never shows. */
MC_INLINE double mck_minimum_f64(double a, double b)
{
    /* differ for zeros of two signs only, and for NaN */
    double p = a < b ? a : b, q = b < a ? b : a;
    double m = mck_from_bits_f64(mck_bits_f64(p) | mck_bits_f64(q));
    return ((a != a) | (b != b)) ? a + b : m;
}

MC_INLINE double mck_maximum_f64(double a, double b)
{
    /* differ for zeros of two signs only, and for NaN */
    double p = a > b ? a : b, q = b > a ? b : a;
    double m = mck_from_bits_f64(mck_bits_f64(p) & mck_bits_f64(q));
    return ((a != a) | (b != b)) ? a + b : m;
}

/* The next value after x towards y. Ordered integers: negative values are mirrored below zero. */
MC_INLINE double mck_nextafter_f64(double x, double y)
{
    uint64_t u = mck_bits_f64(x);
    uint64_t away = (x < y) == (x > 0.0) ? u + 1 : u - 1; /* grow when moving away from zero */
    double step = mck_from_bits_f64(away);
    double tiny = mck_copysign_f64(0x1p-1074, y);
    double r = x == 0.0 ? tiny : step;
    r = x == y ? y : r;
    return ((x != x) | (y != y)) ? x + y : r;
}

/* ---- cores ---- */

/* 2^n for integral n in [-1022, 1023]. The sum puts n + 1023 in the low bits of the significand. */
MC_INLINE double mck_pow2i_f64(double n)
{
    return mck_from_bits_f64(mck_bits_f64(n + (0x1.8p52 + 1023.0)) << 52);
}

/* p * 2^n for integral |n| <= 2044 with one rounding: the first factor keeps p in the normal
 * range. */
MC_INLINE double mck_scale_f64(double p, double n)
{
    double h = rint(n * 0.5);
    return p * mck_pow2i_f64(h) * mck_pow2i_f64(n - h);
}

/* Error of the rounded product p = a * b. Without fma: Dekker 1971, valid for |a|, |b| < 2^995. */
MC_INLINE double mck_prod_err_f64(double a, double b, double p)
{
#if MCK_HAS_FMA
    return fma(a, b, -p);
#else
    double ca = 134217729.0 * a, cb = 134217729.0 * b;
    double ah = ca - (ca - a), bh = cb - (cb - b);
    double al = a - ah, bl = b - bh;
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
#endif
}

/* (exp(r) - 1 - r) / r^2 for |r| <= ln2/2 */
MC_INLINE double mck_exp_q_f64(double r)
{
    double q = 0x1.1f955f6d57c3bp-29;
    q = MC_MULADD(q, r, 0x1.af5ee070fee06p-26);
    q = MC_MULADD(q, r, 0x1.27e4c5a486828p-22);
    q = MC_MULADD(q, r, 0x1.71ddf841e9755p-19);
    q = MC_MULADD(q, r, 0x1.a01a01b0b3cddp-16);
    q = MC_MULADD(q, r, 0x1.a01a01afeb8d8p-13);
    q = MC_MULADD(q, r, 0x1.6c16c16c14468p-10);
    q = MC_MULADD(q, r, 0x1.111111110f6ap-7);
    q = MC_MULADD(q, r, 0x1.555555555555ap-5);
    q = MC_MULADD(q, r, 0x1.5555555555559p-3);
    q = MC_MULADD(q, r, 0x1p-1);
    return q;
}

/* x = n ln2 + r */
MC_INLINE double mck_exp_reduce_f64(double x, double *n)
{
    *n = rint(x * MCK_LOG2E);
    return MC_MULADD(-*n, MCK_LN2_LO, MC_MULADD(-*n, MCK_LN2_HI, x));
}

/* exp(x) * 2^-k for |x| < 1400 */
MC_INLINE double mck_exp_scaled_f64(double x, double k)
{
    double n, r = mck_exp_reduce_f64(x, &n);
    double p = 1.0 + MC_MULADD(r * r, mck_exp_q_f64(r), r);
    return mck_scale_f64(p, n - k);
}

/* expm1(x) * 2^-k = result + *low, for -40 <= x and n - k in the exponent range. Scaling by
 * 2^(n-k) is exact. */
MC_INLINE double mck_expm1_scaled_f64(double x, double k, double *low)
{
    double n, r = mck_exp_reduce_f64(x, &n);
    double q = r * r * mck_exp_q_f64(r);
    double s = mck_pow2i_f64(n - k);
    double a = s - mck_pow2i_f64(-k), b = s * r;
    double h = a + b;
    double lo = n == 0.0 ? 0.0 : (a - h) + b; /* |a| > |b| unless n = 0, where a = 0 */
    double t = s * q + lo, y = h + t;
    *low = (h - y) + t;
    return y;
}

/* Positive finite x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)). */
MC_INLINE double mck_log_split_f64(double x, double *e)
{
    int sub = x < 0x1p-1022;
    uint64_t u = mck_bits_f64(sub ? x * 0x1p54 : x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    double k = mck_from_bits_f64((u >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
    *e = sub ? k - 54.0 : k;
    return mck_from_bits_f64((u & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
}

/* log(1 + f) - f, from log(1 + f) = 2 atanh(s), s = f / (2 + f) */
MC_INLINE double mck_log_rest_f64(double f)
{
    double s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
    double q = 0x1.2f05ecc857d7ap-3;
    q = MC_MULADD(q, z, 0x1.39a1ada0635dbp-3);
    q = MC_MULADD(q, z, 0x1.74663f657c575p-3);
    q = MC_MULADD(q, z, 0x1.c71c52070fcbcp-3);
    q = MC_MULADD(q, z, 0x1.24924941f3e77p-2);
    q = MC_MULADD(q, z, 0x1.999999997fd86p-2);
    q = MC_MULADD(q, z, 0x1.5555555555592p-1);
    return MC_MULADD(s, MC_MULADD(z, q, h), -h);
}

/* a + b + c where |a| >= |b| or a = 0, and c is small */
MC_INLINE double mck_sum3_f64(double a, double b, double c)
{
    double s = a + b;
    return s + (((a - s) + b) + c);
}

/* (a + al) / (b + bl) with one division; |al|, |bl| at most a few ULP of a, b. */
MC_INLINE double mck_quotient_f64(double a, double al, double b, double bl)
{
    double inv = 1.0 / b, q = a * inv, p = q * b;
    double rest = ((a - p) - mck_prod_err_f64(q, b, p)) + MC_MULADD(-q, bl, al);
    return MC_MULADD(rest, inv, q);
}

/* Logarithms outside (0, inf): y is what the formula gave for x > 0. */
MC_INLINE double mck_log_edge_f64(double x, double y)
{
    y = x == MCK_INF_F64 ? x : y;
    y = x == 0.0 ? -MCK_INF_F64 : y;
    return x >= 0.0 ? y : MCK_NAN_F64;
}

/* ---- exponentials ---- */

/* [0.94 0.96] */
MC_INLINE double mck_exp_f64(double x)
{
    double c = x > 710.0 ? 710.0 : x;
    c = c < -746.0 ? -746.0 : c;
    return mck_exp_scaled_f64(c, 0.0);
}

/* [0.99 1.01] */
MC_INLINE double mck_exp2_f64(double x)
{
    double c = x > 1025.0 ? 1025.0 : x;
    c = c < -1076.0 ? -1076.0 : c;
    double n = rint(c), r = (c - n) * MCK_LN2;
    return mck_scale_f64(1.0 + MC_MULADD(r * r, mck_exp_q_f64(r), r), n);
}

/* [1.36 1.36] */
MC_INLINE double mck_expm1_f64(double x)
{
    double c = x > 710.0 ? 710.0 : x;
    c = c < -40.0 ? -40.0 : c;
    double low, y = 2.0 * mck_expm1_scaled_f64(c, 1.0, &low);
    return mck_abs_f64(x) < 0x1p-54 ? x : y;
}

/* ---- logarithms ---- */

/* [0.79 0.77] */
MC_INLINE double mck_log_f64(double x)
{
    double e, f = mck_log_split_f64(x, &e), t = mck_log_rest_f64(f);
    return mck_log_edge_f64(x, mck_sum3_f64(e * MCK_LN2_HI, f, MC_MULADD(e, MCK_LN2_LO, t)));
}

/* [1.37 1.18]. log2(1 + f) = f + (t + (log2(e) - 1)(f + t)): the leading term is exact. */
MC_INLINE double mck_log2_f64(double x)
{
    double e, f = mck_log_split_f64(x, &e), t = mck_log_rest_f64(f);
    return mck_log_edge_f64(x, mck_sum3_f64(e, f, MC_MULADD(f + t, 0x1.c551d94ae0bf8p-2, t)));
}

/* [0.99 1.04] */
MC_INLINE double mck_log10_f64(double x)
{
    double e, f = mck_log_split_f64(x, &e), t = mck_log_rest_f64(f);
    double c = MC_MULADD(f + t, -0x1.0d213ab646bc7p-4, 0.5 * t);
    double y = mck_sum3_f64(e * MCK_LOG10_2_HI, 0.5 * f, MC_MULADD(e, MCK_LOG10_2_LO, c));
    return mck_log_edge_f64(x, y);
}

/* log(1 + x) for x > -1 finite, no edges. 1 + x = 2^e (1 + f); f is exactly x where e = 0. */
MC_INLINE double mck_log1p_core_f64(double x)
{
    double e, h;
    (void)mck_log_split_f64(1.0 + x, &e);
    h = rint(e * 0.5);
    double s1 = mck_pow2i_f64(-h), s2 = mck_pow2i_f64(h - e);
    double f = x * s1 * s2 + (s1 * s2 - 1.0), t = mck_log_rest_f64(f);
    return mck_sum3_f64(e * MCK_LN2_HI, f, MC_MULADD(e, MCK_LN2_LO, t));
}

/* [1.33 1.33] */
MC_INLINE double mck_log1p_f64(double x)
{
    double y = mck_log_edge_f64(1.0 + x, mck_log1p_core_f64(x));
    return mck_abs_f64(x) < 0x1p-54 ? x : y;
}

/* [1.57 1.57]. Error relative to max(|a|, |b|, result): the result cancels where exp(a) + exp(b)
 * is near 1. */
MC_INLINE double mck_logaddexp_f64(double a, double b)
{
    double m = a > b ? a : b, d = a == b ? 0.0 : -mck_abs_f64(a - b);
    double y = m + mck_log1p_core_f64(mck_exp_f64(d));
    y = mck_abs_f64(m) == MCK_INF_F64 ? m : y;
    return ((a != a) | (b != b)) ? a + b : y;
}

/* ---- trigonometric ---- */

#define MCK_TRIG_LIMIT_F64 0x1p30

/* x = n pi/2 + hi + lo for |x| <= 2^30; returns n in the low bits. The first three parts of pi/2
 * have 23 bits, so that their products with n are exact without fma and the bits agree on every
 * level up to the last part. */
MC_INLINE uint64_t mck_trig_reduce_f64(double x, double *hi, double *lo)
{
    double n = rint(x * 0x1.45f306dc9c883p-1);
    double t = MC_MULADD(-n, 0x1.4442dp-24, MC_MULADD(-n, 0x1.921fb4p0, x));
    double p = n * 0x1.846988p-48, h = t - p, v = h - t;
    double err = (t - (h - v)) - (p + v);
    double l = MC_MULADD(-n, 0x1.8cc51701b839ap-72, err);
    *hi = h + l;
    *lo = (h - *hi) + l;
    return mck_bits_f64(n + 0x1.8p52);
}

/* sin(h + l) = result + *low for |h| <= pi/4 */
MC_INLINE double mck_sin_poly_f64(double h, double l, double *low)
{
    double z = h * h;
    double q = 0x1.5d91cf23bf9bbp-33;
    q = MC_MULADD(q, z, -0x1.ae5e623d7f9f9p-26);
    q = MC_MULADD(q, z, 0x1.71de3572ccd6dp-19);
    q = MC_MULADD(q, z, -0x1.a01a019c0c289p-13);
    q = MC_MULADD(q, z, 0x1.111111110f851p-7);
    q = MC_MULADD(q, z, -0x1.5555555555549p-3);
    double t = MC_MULADD(h * z, q, MC_MULADD(-0.5 * z, l, l)), y = h + t;
    *low = (h - y) + t;
    return y;
}

MC_INLINE double mck_cos_poly_f64(double h, double l, double *low)
{
    double z = h * h, a = 0.5 * z, w = 1.0 - a;
    double q = -0x1.8fad4ae959876p-37;
    q = MC_MULADD(q, z, 0x1.1ee9e97529fe2p-29);
    q = MC_MULADD(q, z, -0x1.27e4f8067a381p-22);
    q = MC_MULADD(q, z, 0x1.a01a019cad2a2p-16);
    q = MC_MULADD(q, z, -0x1.6c16c16c15151p-10);
    q = MC_MULADD(q, z, 0x1.555555555554cp-5);
    double t = ((1.0 - w) - a) + MC_MULADD(z * z, q, -(h * l)), y = w + t;
    *low = (w - y) + t;
    return y;
}

/* [0.76 0.76] */
MC_INLINE double mck_sin_f64(double x)
{
    double h, l, low;
    uint64_t n = mck_trig_reduce_f64(x, &h, &l);
    double s = mck_sin_poly_f64(h, l, &low), c = mck_cos_poly_f64(h, l, &low);
    double y = (n & 1) ? c : s;
    y = mck_from_bits_f64(mck_bits_f64(y) ^ ((n & 2) << 62));
    return mck_abs_f64(x) < 0x1p-27 ? x : y;
}

/* [0.77 0.77] */
MC_INLINE double mck_cos_f64(double x)
{
    double h, l, low;
    uint64_t n = mck_trig_reduce_f64(x, &h, &l);
    double s = mck_sin_poly_f64(h, l, &low), c = mck_cos_poly_f64(h, l, &low);
    double y = (n & 1) ? s : c;
    return mck_from_bits_f64(mck_bits_f64(y) ^ (((n + 1) & 2) << 62));
}

/* [1.02 0.91] */
MC_INLINE double mck_tan_f64(double x)
{
    double h, l, sl, cl;
    uint64_t n = mck_trig_reduce_f64(x, &h, &l);
    double s = mck_sin_poly_f64(h, l, &sl), c = mck_cos_poly_f64(h, l, &cl);
    int odd = (n & 1) != 0;
    double y = mck_quotient_f64(odd ? -c : s, odd ? -cl : sl, odd ? s : c, odd ? sl : cl);
    return mck_abs_f64(x) < 0x1p-27 ? x : y;
}

/* (asin(sqrt z) / sqrt z - 1) / z for z in [0, 1/4] */
MC_INLINE double mck_asin_r_f64(double z)
{
    double q = 0x1.0bb1f07594024p-5;
    q = MC_MULADD(q, z, -0x1.5959d0ad7dbdap-6);
    q = MC_MULADD(q, z, 0x1.6496b16fb330ap-6);
    q = MC_MULADD(q, z, 0x1.e2b0723fdece9p-9);
    q = MC_MULADD(q, z, 0x1.6174f398c3ba2p-7);
    q = MC_MULADD(q, z, 0x1.757b4934abf8dp-7);
    q = MC_MULADD(q, z, 0x1.ca20d4709f9e1p-7);
    q = MC_MULADD(q, z, 0x1.1c49e272b546ep-6);
    q = MC_MULADD(q, z, 0x1.6e8bdfaabfb49p-6);
    q = MC_MULADD(q, z, 0x1.f1c71a8d996cfp-6);
    q = MC_MULADD(q, z, 0x1.6db6db7226839p-5);
    q = MC_MULADD(q, z, 0x1.333333332df73p-4);
    q = MC_MULADD(q, z, 0x1.5555555555578p-3);
    return q;
}

/* [1.06 1.09]. |x| > 1/2: pi/2 - 2 asin(sqrt((1 - |x|) / 2)) */
MC_INLINE double mck_asin_f64(double x)
{
    double ax = mck_abs_f64(x);
    int big = ax > 0.5;
    double z = big ? 0.5 - 0.5 * ax : x * x;
    double w = big ? sqrt(z) : ax;
    double r = w * z * mck_asin_r_f64(z);
    double y = mck_sum3_f64(0.5 * MCK_PI_HI, -2.0 * w, 0.5 * MCK_PI_LO - 2.0 * r);
    return mck_copysign_f64(big ? y : w + r, x);
}

/* [1.06 1.06] */
MC_INLINE double mck_acos_f64(double x)
{
    double ax = mck_abs_f64(x);
    int big = ax > 0.5;
    double z = big ? 0.5 - 0.5 * ax : x * x;
    double w = big ? 2.0 * sqrt(z) : ax; /* result is base -+ (w + r) */
    double r = w * z * mck_asin_r_f64(z);
    double b = big ? (x < 0.0 ? 1.0 : 0.0) : 0.5;
    double sg = (x < 0.0) == big ? -1.0 : 1.0;
    return mck_sum3_f64(b * MCK_PI_HI, sg * w, MC_MULADD(sg, r, b * MCK_PI_LO));
}

/* atan(y / x) for x, y >= 0, x finite where y is infinite and then at most 1. Outside ratios
 * 1/2..2 the argument is y/x or -x/y, inside (y - x) / (y + x), and multiples of pi/4 are added
 * back. */
MC_INLINE double mck_atan_ratio_f64(double y, double x)
{
    int low = y + y <= x, high = y > x + x;
    double s = y > 1.0 ? 0.5 : 1.0; /* keeps y + x finite */
    double mid_y = y * s - x * s, mid_x = y * s + x * s;
    double num = low ? y : (high ? -x : mid_y);
    double den = low ? x : (high ? y : mid_x);
    double b = low ? 0.0 : (high ? 0.5 : 0.25);
    den = den == 0.0 ? 1.0 : den;
    double t = num / den, z = t * t;
    double q = -0x1.121517cecb8fbp-7;
    q = MC_MULADD(q, z, 0x1.83857b8e5ee3ep-6);
    q = MC_MULADD(q, z, -0x1.300f20fdc688dp-5);
    q = MC_MULADD(q, z, 0x1.77f5910658de9p-5);
    q = MC_MULADD(q, z, -0x1.ac70ae183ca67p-5);
    q = MC_MULADD(q, z, 0x1.e1826c8d63b92p-5);
    q = MC_MULADD(q, z, -0x1.110c6967ef107p-4);
    q = MC_MULADD(q, z, 0x1.3b135fea13e83p-4);
    q = MC_MULADD(q, z, -0x1.745d1381bd33cp-4);
    q = MC_MULADD(q, z, 0x1.c71c71aa53ffep-4);
    q = MC_MULADD(q, z, -0x1.2492492451435p-3);
    q = MC_MULADD(q, z, 0x1.9999999999057p-3);
    q = MC_MULADD(q, z, -0x1.5555555555552p-2);
    return mck_sum3_f64(b * MCK_PI_HI, t, MC_MULADD(t * z, q, b * MCK_PI_LO));
}

/* [1.18 1.18] */
MC_INLINE double mck_atan_f64(double x)
{
    return mck_copysign_f64(mck_atan_ratio_f64(mck_abs_f64(x), 1.0), x);
}

/* [1.44 1.44] */
MC_INLINE double mck_atan2_f64(double y, double x)
{
    double ay = mck_abs_f64(y), ax = mck_abs_f64(x);
    int both = (ay == MCK_INF_F64) & (ax == MCK_INF_F64);
    double a = mck_atan_ratio_f64(both ? 1.0 : ay, ay == MCK_INF_F64 ? 1.0 : ax);
    a = mck_copysign_f64(1.0, x) < 0.0 ? MCK_PI_HI - (a - MCK_PI_LO) : a;
    a = ((x != x) | (y != y)) ? MCK_NAN_F64 : a;
    return mck_copysign_f64(a, y);
}

/* ---- hyperbolic ---- */

/* [1.49 1.49]. With q = expm1(|x|) / 4: sinh = 2 (q + q / (4 q + 1)), which overflows only where
 * sinh does. */
MC_INLINE double mck_sinh_f64(double x)
{
    double a = mck_abs_f64(x), c = a > 710.6 ? 710.6 : a;
    double low, q = mck_expm1_scaled_f64(c, 2.0, &low);
    double y = 2.0 * mck_sum3_f64(q, q / MC_MULADD(4.0, q, 1.0), low);
    return mck_copysign_f64(a < 0x1p-28 ? a : y, x);
}

/* [1.39 1.42] */
MC_INLINE double mck_cosh_f64(double x)
{
    double a = mck_abs_f64(x), c = a > 710.6 ? 710.6 : a;
    double t = mck_exp_scaled_f64(c, 2.0);
    return 2.0 * (t + 0.0625 / t);
}

/* [1.02 1.07]. E / (E + 2), E = expm1(2 |x|) */
MC_INLINE double mck_tanh_f64(double x)
{
    double a = mck_abs_f64(x), c = a > 22.0 ? 22.0 : a;
    double low, q = mck_expm1_scaled_f64(2.0 * c, 1.0, &low), d = q + 1.0;
    double dl = (q > 1.0 ? (q - d) + 1.0 : (1.0 - d) + q) + low;
    double y = mck_quotient_f64(q, low, d, dl);
    return mck_copysign_f64(a < 0x1p-28 ? a : y, x);
}

/* [1.65 1.65] */
MC_INLINE double mck_asinh_f64(double x)
{
    double a = mck_abs_f64(x);
    int big = a > 0x1p28;
    double t = big ? a - 1.0 : a + a * a / (1.0 + sqrt(MC_MULADD(a, a, 1.0)));
    double y = mck_log1p_core_f64(t) + (big ? MCK_LN2 : 0.0);
    y = a == MCK_INF_F64 ? a : y;
    return mck_copysign_f64(a < 0x1p-28 ? a : y, x);
}

/* [1.81 1.81] */
MC_INLINE double mck_acosh_f64(double x)
{
    double t = x - 1.0;
    int big = x > 0x1p28;
    double d = t + 2.0, p = t * d, w = sqrt(p), u = big ? t : t + w;
    double rest = (mck_prod_err_f64(t, d, p) - mck_prod_err_f64(w, w, w * w)) + (p - w * w);
    double lost = MC_MULADD(t - (u - w), w, 0.5 * rest); /* by product, root and sum, times w */
    double fix = (big | (w == 0.0)) ? 0.0 : lost / (w * (1.0 + u));
    double y = mck_log1p_core_f64(u) + (big ? MCK_LN2 : fix);
    y = x == MCK_INF_F64 ? x : y;
    return x >= 1.0 ? y : MCK_NAN_F64;
}

/* [1.85 1.85] */
MC_INLINE double mck_atanh_f64(double x)
{
    double a = mck_abs_f64(x);
    double y = 0.5 * mck_log1p_core_f64((a + a) / (1.0 - a));
    y = a < 0x1p-28 ? a : y;
    y = a == 1.0 ? MCK_INF_F64 : y;
    return mck_copysign_f64(a <= 1.0 ? y : MCK_NAN_F64, x);
}

/* ---- powers ---- */

/* log2(x) = hi + lo for positive finite x, relative error about 2^-65: the series 2s + 2/3 s^3 in
 * double-double, the rest in double. */
MC_INLINE double mck_log2_dd_f64(double x, double *lo)
{
    double e, f = mck_log_split_f64(x, &e);
    double d = 2.0 + f, dl = f - (d - 2.0), inv = 1.0 / d;
    double s = f * inv, p = s * d;
    double sl = (((f - p) - mck_prod_err_f64(s, d, p)) - s * dl) * inv;
    double z = s * s, zl = MC_MULADD(2.0 * s, sl, mck_prod_err_f64(s, s, z));
    double q = 0x1.0bc386523edfap-3;
    q = MC_MULADD(q, z, 0x1.0fc5aeecd1364p-3);
    q = MC_MULADD(q, z, 0x1.3b1be4dfbfee3p-3);
    q = MC_MULADD(q, z, 0x1.745cfad4edc84p-3);
    q = MC_MULADD(q, z, 0x1.c71c71fbc0835p-3);
    q = MC_MULADD(q, z, 0x1.249249247b368p-2);
    q = MC_MULADD(q, z, 0x1.9999999999a07p-2);
    double w = z * 0x1.5555555555555p-1;
    double wl = mck_prod_err_f64(z, 0x1.5555555555555p-1, w);
    wl = wl + MC_MULADD(z, 0x1.5555555555555p-55, zl * 0x1.5555555555555p-1);
    double t = z * z * q, u = w + t, ul = ((w - u) + t) + wl;
    double v = s * u, vl = MC_MULADD(s, ul, MC_MULADD(sl, u, mck_prod_err_f64(s, u, v)));
    double h = 2.0 * s + v, l = ((2.0 * s - h) + v) + MC_MULADD(2.0, sl, vl);
    double g = h * MCK_LOG2E;
    double gl = mck_prod_err_f64(h, MCK_LOG2E, g);
    gl = gl + MC_MULADD(h, MCK_LOG2E_LO, l * MCK_LOG2E);
    double r = e + g, rl = ((e - r) + g) + gl;
    double top = r + rl;
    *lo = (r - top) + rl;
    return top;
}

/* [1.08 1.12] */
MC_INLINE double mck_pow_f64(double x, double y)
{
    double l, h = mck_log2_dd_f64(mck_abs_f64(x), &l);
    double c = y > 0x1p70 ? 0x1p70 : y;
    c = c < -0x1p70 ? -0x1p70 : c;
    double p = c * h, pl = MC_MULADD(c, l, mck_prod_err_f64(c, h, p));
    int in = mck_abs_f64(p) < 1100.0;
    p = p > 1100.0 ? 1100.0 : p;
    p = p < -1100.0 ? -1100.0 : p;
    pl = in ? pl : 0.0;
    double n = rint(p), r = ((p - n) + pl) * MCK_LN2;
    double m = 1.0 + MC_MULADD(r * r, mck_exp_q_f64(r), r);
    return mck_pow_edge_f64(x, y, mck_scale_f64(m, n));
}

/* [0.94 0.94]. A cubic-order step (Halley) twice from a fit good to 2^-9. */
MC_INLINE double mck_cbrt_f64(double x)
{
    double e, a = mck_abs_f64(x), f = mck_log_split_f64(a, &e);
    double n = rint(e * 0x1.5555555555555p-2 - 0x1.5555555555555p-2);
    double z = (1.0 + f) * mck_pow2i_f64(e - 3.0 * n);
    double q = -0x1.936dc4de152e8p-10;
    q = MC_MULADD(q, z, 0x1.8b826ea029f5p-6);
    q = MC_MULADD(q, z, -0x1.31a18dc8c7d3ep-3);
    q = MC_MULADD(q, z, 0x1.21bd313cf22dp-1);
    q = MC_MULADD(q, z, 0x1.1e256d0ff0573p-1);
    double c = q * q * q;
    q = q + q * (z - c) / (2.0 * c + z);
    c = q * q * q;
    q = q + q * (z - c) / (2.0 * c + z);
    q = q * mck_pow2i_f64(n);
    q = ((a == 0.0) | (a == MCK_INF_F64) | (a != a)) ? a : q;
    return mck_copysign_f64(q, x);
}

/* [1.16 1.16]. Infinite if either is, even beside a NaN. */
MC_INLINE double mck_hypot_f64(double x, double y)
{
    double a = mck_abs_f64(x), b = mck_abs_f64(y), m = a > b ? a : b;
    double up = m > 0x1p500 ? 0x1p-600 : (m < 0x1p-500 ? 0x1p600 : 1.0);
    double down = m > 0x1p500 ? 0x1p600 : (m < 0x1p-500 ? 0x1p-600 : 1.0);
    double p = a * up, q = b * up;
    double r = sqrt(MC_MULADD(p, p, q * q)) * down;
    return ((a == MCK_INF_F64) | (b == MCK_INF_F64)) ? MCK_INF_F64 : r;
}

/* ---- remainders: exact ---- */

/* C sign rule (sign of x). The quotient is at most one too high, never too low, and x - q y needs
 * no rounding. */
MC_INLINE double mck_fmod_f64(double x, double y)
{
    double a = mck_abs_f64(x), b = mck_abs_f64(y);
    double q = trunc(a / b), p = q * b;
    double r = (a - p) - mck_prod_err_f64(q, b, p);
    r = r < 0.0 ? r + b : r;
    return mck_copysign_f64(r, x);
}

MC_INLINE int mck_fmod_off_f64(double x, double y)
{
    double b = mck_abs_f64(y);
    return !((mck_abs_f64(x / y) < 0x1p52) & (b > 0x1p-900) & (b < 0x1p900));
}

/* Python sign rule, from m = fmod(x, y). */
MC_INLINE double mck_mod_sign_f64(double m, double y)
{
    double r = (m < 0.0) != (y < 0.0) ? m + y : m;
    return m == 0.0 ? mck_copysign_f64(0.0, y) : r;
}

/* Sign of the divisor, as Python's %. */
MC_INLINE double mck_remainder_f64(double x, double y)
{
    return mck_mod_sign_f64(mck_fmod_f64(x, y), y);
}

/* floor of the exact quotient, consistent with remainder; exact up to 2^52. x / 0 is the IEEE
 * quotient. */
MC_INLINE double mck_floor_divide_f64(double x, double y)
{
    double a = mck_abs_f64(x), b = mck_abs_f64(y);
    double q = trunc(a / b), p = q * b;
    double r = (a - p) - mck_prod_err_f64(q, b, p);
    uint64_t sign = (mck_bits_f64(x) ^ mck_bits_f64(y)) & 0x8000000000000000u;
    q = r < 0.0 ? q - 1.0 : q;
    r = r < 0.0 ? r + b : r;
    q = ((sign != 0) & (r != 0.0)) ? q + 1.0 : q;
    return mck_from_bits_f64(mck_bits_f64(q) ^ sign);
}

/* ---- error function ---- */

/* exp(x^2) erfc(x) for x in [0, 28]: a polynomial in t = (x - k) / (x + k) over 1 + 2 x (Shepherd
 * and Laframboise 1981). */
MC_INLINE double mck_erfcx_core_f64(double x)
{
    double t = (x - 3.75) / (x + 3.75);
    double t2 = t * t, q = -0x1.3bdbc3c309cffp-29, odd = -0x1.38c10e6e235dbp-31;
    q = MC_MULADD(q, t2, 0x1.198624834f551p-25);
    q = MC_MULADD(q, t2, -0x1.0f9c839780237p-22);
    odd = MC_MULADD(odd, t2, 0x1.03dd04d892e37p-26);
    q = MC_MULADD(q, t2, 0x1.d5704d454a809p-20);
    odd = MC_MULADD(odd, t2, -0x1.94d8818c4f7afp-25);
    q = MC_MULADD(q, t2, -0x1.7ffb5d9126426p-17);
    odd = MC_MULADD(odd, t2, -0x1.0749edce3d0cdp-20);
    q = MC_MULADD(q, t2, 0x1.b143c26e7f271p-15);
    odd = MC_MULADD(odd, t2, 0x1.77999e557d946p-16);
    q = MC_MULADD(q, t2, 0x1.33fb246720df2p-12);
    odd = MC_MULADD(odd, t2, -0x1.303fe5328317ap-12);
    q = MC_MULADD(q, t2, -0x1.3f603c302d34dp-7);
    odd = MC_MULADD(odd, t2, 0x1.cc3a116d76e0cp-10);
    q = MC_MULADD(q, t2, -0x1.e0d0fa6e22042p-5);
    odd = MC_MULADD(odd, t2, 0x1.d0b00377e7169p-6);
    q = MC_MULADD(q, t2, -0x1.bda9309a2799bp-4);
    odd = MC_MULADD(odd, t2, 0x1.7a14188ab1266p-4);
    q = MC_MULADD(q, t2, 0x1.d5f29481593e9p-9);
    odd = MC_MULADD(odd, t2, 0x1.510169d095d38p-4);
    q = MC_MULADD(q, t2, 0x1.3ccda0b5d5dc2p0);
    odd = MC_MULADD(odd, t2, -0x1.1f367683f899bp-3);
    q = MC_MULADD(odd, t, q);
    return q / MC_MULADD(2.0, x, 1.0);
}

/* erfc(x) for x >= 0; the low half of x^2 joins the reduced argument. */
MC_INLINE double mck_erfc_tail_f64(double x)
{
    double c = x > 28.0 ? 28.0 : x;
    double h = c * c, l = mck_prod_err_f64(c, c, h);
    double n, r = mck_exp_reduce_f64(-h, &n) - l;
    double p = 1.0 + MC_MULADD(r * r, mck_exp_q_f64(r), r);
    return mck_scale_f64(p * mck_erfcx_core_f64(c), n);
}

/* erf(x) for |x| <= 1 */
MC_INLINE double mck_erf_near_f64(double x)
{
    double z = x * x;
    double q = 0x1.0627638e99fc6p-34;
    q = MC_MULADD(q, z, -0x1.38ac2404ae0d5p-30);
    q = MC_MULADD(q, z, 0x1.f7b99d3d5607p-27);
    q = MC_MULADD(q, z, -0x1.5f1f40e3b186ap-23);
    q = MC_MULADD(q, z, 0x1.b9df3057da1f4p-20);
    q = MC_MULADD(q, z, -0x1.f4d1e43430d8bp-17);
    q = MC_MULADD(q, z, 0x1.f9a321e4aea88p-14);
    q = MC_MULADD(q, z, -0x1.c02db3db49083p-11);
    q = MC_MULADD(q, z, 0x1.565bcd0dbd8eep-8);
    q = MC_MULADD(q, z, -0x1.b82ce31284f36p-6);
    q = MC_MULADD(q, z, 0x1.ce2f21a042b34p-4);
    q = MC_MULADD(q, z, -0x1.812746b0379e6p-2);
    q = MC_MULADD(q, z, 0x1.06eba8214db69p-3);
    return MC_MULADD(x, q, x);
}

/* [1.25 1.10] */
MC_INLINE double mck_erf_f64(double x)
{
    double a = mck_abs_f64(x);
    double y = a < 1.0 ? mck_erf_near_f64(a) : 1.0 - mck_erfc_tail_f64(a);
    return mck_copysign_f64(y, x);
}

/* [3.99 3.99] */
MC_INLINE double mck_erfc_f64(double x)
{
    double a = mck_abs_f64(x);
    double t = mck_erfc_tail_f64(a);
    double y = x < 0.0 ? 2.0 - t : t;
    return a < 0.25 ? 1.0 - mck_erf_near_f64(x) : y;
}

#endif
