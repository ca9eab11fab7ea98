/* mck_math_f32.h - elementary functions on f32. Included by mck_math.h only, which has the rules.
 *
 * The f32 functions. Two kinds: those that networks and filters live on are computed in f32
 * throughout; the others widen to f64, where a short polynomial gives nearly correct rounding and
 * no care for overflow is needed, at about twice the cost. Section heads say which. */
#ifndef MCK_MATH_F32_H
#define MCK_MATH_F32_H

#ifndef MCK_MATH_H
#error "include mck_math.h"
#endif

#define MCK_LOG2E_F 0x1.715476p0f
#define MCK_LN2_F 0x1.62e43p-1f
#define MCK_LN2_HI_F 0x1.62e4p-1f /* 15 bits: n * MCK_LN2_HI_F is exact for |n| < 256 */
#define MCK_LN2_LO_F 0x1.7f7d1cp-20f
#define MCK_PI_HI_F 0x1.921fb6p1f
#define MCK_PI_LO_F -0x1.777a5cp-24f

/* ---- signs, rounding, comparison: exact ---- */

MC_INLINE float mck_abs_f32(float x)
{
    return mck_from_bits_f32(mck_bits_f32(x) & 0x7fffffffu);
}

MC_INLINE float mck_copysign_f32(float x, float y)
{
    return mck_from_bits_f32((mck_bits_f32(x) & 0x7fffffffu) | (mck_bits_f32(y) & 0x80000000u));
}

/* -1, 0 or 1; NaN for NaN. */
MC_INLINE float mck_sign_f32(float x)
{
    float y = x > 0.0f ? 1.0f : 0.0f;
    y = x < 0.0f ? -1.0f : y;
    return x != x ? x : y;
}

MC_INLINE float mck_floor_f32(float x)
{
    return floorf(x);
}

MC_INLINE float mck_ceil_f32(float x)
{
    return ceilf(x);
}

MC_INLINE float mck_trunc_f32(float x)
{
    return truncf(x);
}

/* Half to even. */
MC_INLINE float mck_round_f32(float x)
{
    return rintf(x);
}

MC_INLINE float mck_sqrt_f32(float x)
{
    return sqrtf(x);
}

/* [1.49 1.49] */
MC_INLINE float mck_rsqrt_f32(float x)
{
    return 1.0f / sqrtf(x);
}

/* NaN if either is NaN; -0 counts as less than +0, so that the order of operands never shows. */
MC_INLINE float mck_minimum_f32(float a, float b)
{
    /* differ for zeros of two signs only, and for NaN */
    float p = a < b ? a : b, q = b < a ? b : a;
    float m = mck_from_bits_f32(mck_bits_f32(p) | mck_bits_f32(q));
    return ((a != a) | (b != b)) ? a + b : m;
}

MC_INLINE float mck_maximum_f32(float a, float b)
{
    /* differ for zeros of two signs only, and for NaN */
    float p = a > b ? a : b, q = b > a ? b : a;
    float m = mck_from_bits_f32(mck_bits_f32(p) & mck_bits_f32(q));
    return ((a != a) | (b != b)) ? a + b : m;
}

/* The next value after x towards y. */
MC_INLINE float mck_nextafter_f32(float x, float y)
{
    uint32_t u = mck_bits_f32(x);
    uint32_t away = (x < y) == (x > 0.0f) ? u + 1 : u - 1;
    float step = mck_from_bits_f32(away);
    float r = x == 0.0f ? mck_copysign_f32(0x1p-149f, y) : step;
    r = x == y ? y : r;
    return ((x != x) | (y != y)) ? x + y : r;
}

/* ---- cores ---- */

/* 2^n for integral n in [-126, 127] */
MC_INLINE float mck_pow2i_f32(float n)
{
    return mck_from_bits_f32(mck_bits_f32(n + (0x1.8p23f + 127.0f)) << 23);
}

/* p * 2^n for integral |n| <= 252 with one rounding */
MC_INLINE float mck_scale_f32(float p, float n)
{
    float h = rintf(n * 0.5f);
    return p * mck_pow2i_f32(h) * mck_pow2i_f32(n - h);
}

/* (exp(r) - 1 - r) / r^2 for |r| <= ln2/2 */
MC_INLINE float mck_exp_q_f32(float r)
{
    float q = 0x1.6d4952p-10f;
    q = MC_MULADDF(q, r, 0x1.122f16p-7f);
    q = MC_MULADDF(q, r, 0x1.5554ecp-5f);
    q = MC_MULADDF(q, r, 0x1.5554a6p-3f);
    q = MC_MULADDF(q, r, 0x1p-1f);
    return q;
}

MC_INLINE float mck_exp_reduce_f32(float x, float *n)
{
    *n = rintf(x * MCK_LOG2E_F);
    return MC_MULADDF(-*n, MCK_LN2_LO_F, MC_MULADDF(-*n, MCK_LN2_HI_F, x));
}

/* exp(x) * 2^-k for |x| < 170 */
MC_INLINE float mck_exp_scaled_f32(float x, float k)
{
    float n, r = mck_exp_reduce_f32(x, &n);
    float p = 1.0f + MC_MULADDF(r * r, mck_exp_q_f32(r), r);
    return mck_scale_f32(p, n - k);
}

/* expm1(x) * 2^-k = result + *low, for -20 <= x and n - k in the exponent range */
MC_INLINE float mck_expm1_scaled_f32(float x, float k, float *low)
{
    float n, r = mck_exp_reduce_f32(x, &n);
    float q = r * r * mck_exp_q_f32(r);
    float s = mck_pow2i_f32(n - k);
    float a = s - mck_pow2i_f32(-k), b = s * r;
    float h = a + b;
    float lo = n == 0.0f ? 0.0f : (a - h) + b;
    float t = s * q + lo, y = h + t;
    *low = (h - y) + t;
    return y;
}

/* Positive finite x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)). */
MC_INLINE float mck_log_split_f32(float x, float *e)
{
    int sub = x < 0x1p-126f;
    uint32_t u = mck_bits_f32(sub ? x * 0x1p24f : x) + (0x3f800000u - 0x3f3504f3u);
    float k = mck_from_bits_f32((u >> 23) | 0x4b000000u) - (0x1p23f + 127.0f);
    *e = sub ? k - 24.0f : k;
    return mck_from_bits_f32((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
}

/* log(1 + f) - f = -f^2/2 + f^3 P(f) */
MC_INLINE float mck_log_rest_f32(float f)
{
    float z = f * f;
    float q = 0x1.16babcp-4f;
    q = MC_MULADDF(q, f, -0x1.e04a3ap-4f);
    q = MC_MULADDF(q, f, 0x1.e6f4eep-4f);
    q = MC_MULADDF(q, f, -0x1.fbc1e6p-4f);
    q = MC_MULADDF(q, f, 0x1.232fe8p-3f);
    q = MC_MULADDF(q, f, -0x1.555f16p-3f);
    q = MC_MULADDF(q, f, 0x1.99a546p-3f);
    q = MC_MULADDF(q, f, -0x1p-2f);
    q = MC_MULADDF(q, f, 0x1.555546p-2f);
    return z * MC_MULADDF(f, q, -0.5f);
}

/* a + b + c where |a| >= |b| or a = 0, and c is small */
MC_INLINE float mck_sum3_f32(float a, float b, float c)
{
    float s = a + b;
    return s + (((a - s) + b) + c);
}

MC_INLINE float mck_log_edge_f32(float x, float y)
{
    y = x == MCK_INF_F32 ? x : y;
    y = x == 0.0f ? -MCK_INF_F32 : y;
    return x >= 0.0f ? y : MCK_NAN_F32;
}

/* ---- exponentials and logarithms, in f32 ---- */

/* [1.00 1.02] */
MC_INLINE float mck_exp_f32(float x)
{
    float c = x > 89.0f ? 89.0f : x;
    c = c < -104.0f ? -104.0f : c;
    return mck_exp_scaled_f32(c, 0.0f);
}

/* [1.02 1.04] */
MC_INLINE float mck_exp2_f32(float x)
{
    float c = x > 129.0f ? 129.0f : x;
    c = c < -151.0f ? -151.0f : c;
    float n = rintf(c), r = (c - n) * MCK_LN2_F;
    return mck_scale_f32(1.0f + MC_MULADDF(r * r, mck_exp_q_f32(r), r), n);
}

/* [1.22 1.22] */
MC_INLINE float mck_expm1_f32(float x)
{
    float c = x > 89.0f ? 89.0f : x;
    c = c < -20.0f ? -20.0f : c;
    float low, y = 2.0f * mck_expm1_scaled_f32(c, 1.0f, &low);
    return mck_abs_f32(x) < 0x1p-25f ? x : y;
}

/* [0.87 0.88] */
MC_INLINE float mck_log_f32(float x)
{
    float e, f = mck_log_split_f32(x, &e), t = mck_log_rest_f32(f);
    return mck_log_edge_f32(x, mck_sum3_f32(e * MCK_LN2_HI_F, f, MC_MULADDF(e, MCK_LN2_LO_F, t)));
}

/* [1.33 1.28] */
MC_INLINE float mck_log2_f32(float x)
{
    float e, f = mck_log_split_f32(x, &e), t = mck_log_rest_f32(f);
    return mck_log_edge_f32(x, mck_sum3_f32(e, f, MC_MULADDF(f + t, 0x1.c551dap-2f, t)));
}

/* [1.02 1.14] */
MC_INLINE float mck_log10_f32(float x)
{
    float e, f = mck_log_split_f32(x, &e), t = mck_log_rest_f32(f);
    float c = MC_MULADDF(f + t, -0x1.0d213ap-4f, 0.5f * t);
    float y = mck_sum3_f32(e * 0x1.344p-2f, 0.5f * f, MC_MULADDF(e, 0x1.3509f8p-18f, c));
    return mck_log_edge_f32(x, y);
}

/* [1.46 1.46]. 1 + x = 2^e (1 + f); f is exactly x where e = 0. */
MC_INLINE float mck_log1p_f32(float x)
{
    float e, h;
    (void)mck_log_split_f32(1.0f + x, &e);
    h = rintf(e * 0.5f);
    float s1 = mck_pow2i_f32(-h), s2 = mck_pow2i_f32(h - e);
    float f = x * s1 * s2 + (s1 * s2 - 1.0f), t = mck_log_rest_f32(f);
    float y = mck_sum3_f32(e * MCK_LN2_HI_F, f, MC_MULADDF(e, MCK_LN2_LO_F, t));
    y = mck_log_edge_f32(1.0f + x, y);
    return mck_abs_f32(x) < 0x1p-25f ? x : y;
}

/* ---- sine and cosine: reduction in f64, polynomials in f32 ---- */

#define MCK_TRIG_LIMIT_F32 0x1p20f

/* x = n pi/2 + r for |x| <= 2^20; *q holds n in its low bits. The first part of pi/2 has 33 bits:
 * its product with n is exact without fma. */
MC_INLINE double mck_trig_reduce_f32(float x, uint32_t *q)
{
    float n = rintf(x * 0x1.45f306p-1f);
    *q = mck_bits_f32(n + 0x1.8p23f);
    return MC_MULADD(-(double)n, 0x1.0b4611a626331p-34,
                     MC_MULADD(-(double)n, 0x1.921fb544p0, (double)x));
}

/* sin(r + l), l below half an ULP of r: dropping it would cost up to one ULP of the result */
MC_INLINE float mck_sin_poly_f32(float r, float l)
{
    float z = r * r;
    float q = 0x1.73f51p-19f;
    q = MC_MULADDF(q, z, -0x1.a03a36p-13f);
    q = MC_MULADDF(q, z, 0x1.111158p-7f);
    q = MC_MULADDF(q, z, -0x1.555556p-3f);
    return r + MC_MULADDF(r * z, q, l);
}

MC_INLINE float mck_cos_poly_f32(float r, float l)
{
    float z = r * r, a = 0.5f * z, w = 1.0f - a;
    float q = -0x1.2e6b6p-22f;
    q = MC_MULADDF(q, z, 0x1.a052ecp-16f);
    q = MC_MULADDF(q, z, -0x1.6c174p-10f);
    q = MC_MULADDF(q, z, 0x1.555556p-5f);
    return w + (((1.0f - w) - a) + MC_MULADDF(z * z, q, -(r * l)));
}

/* [0.82 0.81] */
MC_INLINE float mck_sin_f32(float x)
{
    uint32_t n;
    double d = mck_trig_reduce_f32(x, &n);
    float r = (float)d, l = (float)(d - (double)r);
    float y = (n & 1) ? mck_cos_poly_f32(r, l) : mck_sin_poly_f32(r, l);
    y = mck_from_bits_f32(mck_bits_f32(y) ^ ((n & 2) << 30));
    return mck_abs_f32(x) < 0x1p-13f ? x : y;
}

/* [0.84 0.77] */
MC_INLINE float mck_cos_f32(float x)
{
    uint32_t n;
    double d = mck_trig_reduce_f32(x, &n);
    float r = (float)d, l = (float)(d - (double)r);
    float y = (n & 1) ? mck_sin_poly_f32(r, l) : mck_cos_poly_f32(r, l);
    return mck_from_bits_f32(mck_bits_f32(y) ^ (((n + 1) & 2) << 30));
}

/* ---- inverse trigonometric, in f32 ---- */

MC_INLINE float mck_asin_r_f32(float z)
{
    float q = 0x1.59652cp-5f;
    q = MC_MULADDF(q, z, 0x1.8c2538p-6f);
    q = MC_MULADDF(q, z, 0x1.74808cp-5f);
    q = MC_MULADDF(q, z, 0x1.3301acp-4f);
    q = MC_MULADDF(q, z, 0x1.5555cap-3f);
    return q;
}

/* [1.18 1.18] */
MC_INLINE float mck_asin_f32(float x)
{
    float ax = mck_abs_f32(x);
    int big = ax > 0.5f;
    float z = big ? 0.5f - 0.5f * ax : x * x;
    float w = big ? sqrtf(z) : ax;
    float r = w * z * mck_asin_r_f32(z);
    float y = mck_sum3_f32(0.5f * MCK_PI_HI_F, -2.0f * w, 0.5f * MCK_PI_LO_F - 2.0f * r);
    return mck_copysign_f32(big ? y : w + r, x);
}

/* [1.12 1.12] */
MC_INLINE float mck_acos_f32(float x)
{
    float ax = mck_abs_f32(x);
    int big = ax > 0.5f;
    float z = big ? 0.5f - 0.5f * ax : x * x;
    float w = big ? 2.0f * sqrtf(z) : ax;
    float r = w * z * mck_asin_r_f32(z);
    float b = big ? (x < 0.0f ? 1.0f : 0.0f) : 0.5f;
    float sg = (x < 0.0f) == big ? -1.0f : 1.0f;
    return mck_sum3_f32(b * MCK_PI_HI_F, sg * w, MC_MULADDF(sg, r, b * MCK_PI_LO_F));
}

/* atan(y / x) for x, y >= 0, x at most 1 where y is infinite */
MC_INLINE float mck_atan_ratio_f32(float y, float x)
{
    int low = y + y <= x, high = y > x + x;
    float s = y > 1.0f ? 0.5f : 1.0f;
    float mid_y = y * s - x * s, mid_x = y * s + x * s;
    float num = low ? y : (high ? -x : mid_y);
    float den = low ? x : (high ? y : mid_x);
    float b = low ? 0.0f : (high ? 0.5f : 0.25f);
    den = den == 0.0f ? 1.0f : den;
    float t = num / den, z = t * t;
    float q = 0x1.3fc9ep-5f;
    q = MC_MULADDF(q, z, -0x1.480a1cp-4f);
    q = MC_MULADDF(q, z, 0x1.c071dap-4f);
    q = MC_MULADDF(q, z, -0x1.24502cp-3f);
    q = MC_MULADDF(q, z, 0x1.999744p-3f);
    q = MC_MULADDF(q, z, -0x1.555552p-2f);
    return mck_sum3_f32(b * MCK_PI_HI_F, t, MC_MULADDF(t * z, q, b * MCK_PI_LO_F));
}

/* [1.34 1.33] */
MC_INLINE float mck_atan_f32(float x)
{
    return mck_copysign_f32(mck_atan_ratio_f32(mck_abs_f32(x), 1.0f), x);
}

/* [1.40 1.40] */
MC_INLINE float mck_atan2_f32(float y, float x)
{
    float ay = mck_abs_f32(y), ax = mck_abs_f32(x);
    int both = (ay == MCK_INF_F32) & (ax == MCK_INF_F32);
    float a = mck_atan_ratio_f32(both ? 1.0f : ay, ay == MCK_INF_F32 ? 1.0f : ax);
    a = mck_copysign_f32(1.0f, x) < 0.0f ? MCK_PI_HI_F - (a - MCK_PI_LO_F) : a;
    a = ((x != x) | (y != y)) ? MCK_NAN_F32 : a;
    return mck_copysign_f32(a, y);
}

/* ---- hyperbolic, in f32 ---- */

/* [1.74 1.74] */
MC_INLINE float mck_sinh_f32(float x)
{
    float a = mck_abs_f32(x), c = a > 89.5f ? 89.5f : a;
    float low, q = mck_expm1_scaled_f32(c, 2.0f, &low);
    float y = 2.0f * mck_sum3_f32(q, q / MC_MULADDF(4.0f, q, 1.0f), low);
    return mck_copysign_f32(a < 0x1p-13f ? a : y, x);
}

/* [1.46 1.48] */
MC_INLINE float mck_cosh_f32(float x)
{
    float a = mck_abs_f32(x), c = a > 89.5f ? 89.5f : a;
    float t = mck_exp_scaled_f32(c, 2.0f);
    return 2.0f * (t + 0.0625f / t);
}

/* [1.44 1.46]. Odd polynomial below 0.55, 1 - 2 / (exp(2 |x|) + 1) above. */
MC_INLINE float mck_tanh_f32(float x)
{
    float a = mck_abs_f32(x), c = a > 10.0f ? 10.0f : a, z = x * x;
    float q = -0x1.975d5ap-8f;
    q = MC_MULADDF(q, z, 0x1.58a0cep-6f);
    q = MC_MULADDF(q, z, -0x1.b91808p-5f);
    q = MC_MULADDF(q, z, 0x1.110cd6p-3f);
    q = MC_MULADDF(q, z, -0x1.55554ap-2f);
    float t = mck_exp_scaled_f32(c + c, 0.0f);
    float y = a < 0.55f ? MC_MULADDF(a * z, q, a) : 1.0f - 2.0f / (t + 1.0f);
    return mck_copysign_f32(y, x);
}

/* ---- inverse hyperbolic, in f32 ---- */

/* log(2^k u) + off for positive normal u */
MC_INLINE float mck_log_plus_f32(float u, float k, float off)
{
    float e, f = mck_log_split_f32(u, &e), t = mck_log_rest_f32(f) + off;
    e += k;
    return mck_sum3_f32(e * MCK_LN2_HI_F, f, MC_MULADDF(e, MCK_LN2_LO_F, t));
}

/* log(x + sqrt(x^2 + one)) for x >= 1/2 where one = 1, x >= 3/2 where one = -1. What rounding takes
 * off the square, the root and the sums is added to the logarithm. */
MC_INLINE float mck_log_root_f32(float x, float one)
{
    int far = x > 0x1p13f;
    float c = far ? 1.5f : x, z = c * c, p = z + one, b = p - z;
    float s = sqrtf(p), u = c + s, d = u - c;
    float p_low = ((z - (p - b)) + (one - b)) + MC_MULADDF(c, c, -z);
    float u_low = (c - (u - d)) + (s - d), twice = s + s;
    float off = MC_MULADDF(u_low, twice, MC_MULADDF(-s, s, p) + p_low) / (twice * u);
    float y = mck_log_plus_f32(far ? x : u, far ? 1.0f : 0.0f, far ? 0.0f : off);
    return x == MCK_INF_F32 ? x : y;
}

/* [1.20 0.63] */
MC_INLINE float mck_asinh_f32(float x)
{
    float a = mck_abs_f32(x), z = x * x;
    float q = -0x1.b1684ep-7f;
    q = MC_MULADDF(q, z, 0x1.cd6a34p-6f);
    q = MC_MULADDF(q, z, -0x1.6b963cp-5f);
    q = MC_MULADDF(q, z, 0x1.3324f4p-4f);
    q = MC_MULADDF(q, z, -0x1.555536p-3f);
    float y = a < 0.5f ? MC_MULADDF(a * z, q, a) : mck_log_root_f32(a < 0.5f ? 0.5f : a, 1.0f);
    return mck_copysign_f32(y, x);
}

/* [1.47 1.47]. Below 3/2 sqrt(2 (x - 1)) times a polynomial. */
MC_INLINE float mck_acosh_f32(float x)
{
    float t = x - 1.0f, w = sqrtf(t + t);
    float q = -0x1.b1684ep-12f;
    q = MC_MULADDF(q, t, 0x1.cd6a34p-10f);
    q = MC_MULADDF(q, t, -0x1.6b963cp-8f);
    q = MC_MULADDF(q, t, 0x1.3324f4p-6f);
    q = MC_MULADDF(q, t, -0x1.555536p-4f);
    float y = x < 1.5f ? MC_MULADDF(w * t, q, w) : mck_log_root_f32(x < 1.5f ? 1.5f : x, -1.0f);
    return x >= 1.0f ? y : MCK_NAN_F32;
}

/* [0.86 0.65]. Polynomial below 1/2, log((1 + a) / (1 - a)) / 2 above. */
MC_INLINE float mck_atanh_f32(float x)
{
    float a = mck_abs_f32(x), z = x * x;
    float q = 0x1.6a6abap-3f;
    q = MC_MULADDF(q, z, 0x1.a2eefap-5f);
    q = MC_MULADDF(q, z, 0x1.e4938p-4f);
    q = MC_MULADDF(q, z, 0x1.234322p-3f);
    q = MC_MULADDF(q, z, 0x1.99a724p-3f);
    q = MC_MULADDF(q, z, 0x1.55553ep-2f);
    float c = a < 0.5f ? 0.5f : a, n = 1.0f + c, d = 1.0f - c, n_low = c - (n - 1.0f);
    float u = n / d, y = 0.5f * mck_log_plus_f32(u, 0.0f, (MC_MULADDF(-u, d, n) + n_low) / n);
    y = a < 0.5f ? MC_MULADDF(a * z, q, a) : y;
    y = a == 1.0f ? MCK_INF_F32 : y;
    return mck_copysign_f32(a <= 1.0f ? y : MCK_NAN_F32, x);
}

/* ---- error function, in f32 ---- */

/* erf(x) for |x| <= 1 */
MC_INLINE float mck_erf_near_f32(float x)
{
    float z = x * x;
    float q = 0x1.4c2f4cp-14f;
    q = MC_MULADDF(q, z, -0x1.a5099ep-11f);
    q = MC_MULADDF(q, z, 0x1.542deep-8f);
    q = MC_MULADDF(q, z, -0x1.b7fe8ep-6f);
    q = MC_MULADDF(q, z, 0x1.ce2d5p-4f);
    q = MC_MULADDF(q, z, -0x1.81274p-2f);
    q = MC_MULADDF(q, z, 0x1.06eba8p-3f);
    return MC_MULADDF(x, q, x);
}

/* [1.22 0.99]. erfc(c) = 2^(q - 3), q a polynomial in c - 1: where erfc is large q is small, and
 * its rounding with it. */
MC_INLINE float mck_erf_f32(float x)
{
    float a = mck_abs_f32(x), t = (a > 4.0f ? 4.0f : a) - 1.0f;
    float q = -0x1.b4f7c4p-10f;
    q = MC_MULADDF(q, t, 0x1.ab445p-7f);
    q = MC_MULADDF(q, t, -0x1.e4facap-5f);
    q = MC_MULADDF(q, t, -0x1.376d8ap0f);
    q = MC_MULADDF(q, t, -0x1.e752cp1f);
    q = MC_MULADDF(q, t, 0x1.538a8ap-2f);
    float n = rintf(q), r = q - n;
    float p = 0x1.5be7d2p-10f; /* 2^r */
    p = MC_MULADDF(p, r, 0x1.3cec18p-7f);
    p = MC_MULADDF(p, r, 0x1.c6b6cp-5f);
    p = MC_MULADDF(p, r, 0x1.ebf9b6p-3f);
    p = MC_MULADDF(p, r, 0x1.62e42ap-1f);
    p = MC_MULADDF(p, r, 1.0f);
    float far = MC_MULADDF(-p, mck_pow2i_f32(n - 3.0f), 1.0f);
    return mck_copysign_f32(a < 1.0f ? mck_erf_near_f32(a) : far, x);
}

/* [3.34 2.43]. exp(-c^2), c^2 in two parts without error, times Q((c - 2) / (c + 2)) / (c + 2);
 * what rounding takes off the sum, the quotient and the product goes into the last sum. */
MC_INLINE float mck_erfc_f32(float x)
{
    float a = mck_abs_f32(x), c = a > 10.2f ? 10.2f : a;
    float h = mck_from_bits_f32(mck_bits_f32(c) & 0xfffff000u);
    float n = rintf(-c * c * MCK_LOG2E_F);
    float r =
        MC_MULADDF(-n, MCK_LN2_LO_F, MC_MULADDF(-n, MCK_LN2_HI_F, -h * h)) - (c - h) * (c + h);
    float d = c + 2.0f, two = d - c, d_low = (c - (d - two)) + (2.0f - two);
    float v = 1.0f / d, t = (c - 2.0f) * v;
    float q = 0x1.5cf566p-16f;
    q = MC_MULADDF(q, t, 0x1.2d45e2p-14f);
    q = MC_MULADDF(q, t, -0x1.187c88p-11f);
    q = MC_MULADDF(q, t, -0x1.c0e50ep-11f);
    q = MC_MULADDF(q, t, 0x1.8e1c4ep-9f);
    q = MC_MULADDF(q, t, 0x1.a8e864p-8f);
    q = MC_MULADDF(q, t, -0x1.604438p-6f);
    q = MC_MULADDF(q, t, -0x1.2a89dp-5f);
    q = MC_MULADDF(q, t, 0x1.1e2dbap-2f);
    q = MC_MULADDF(q, t, -0x1.5fd386p-1f);
    float u = q * t, q0 = 0x1.058672p0f + u, q_low = (0x1.058672p0f - q0) + u;
    float off = MC_MULADDF(-d_low, v, MC_MULADDF(-d, v, 1.0f)); /* v (1 + off) = 1 / (c + 2) */
    float w = q0 * v, w_low = MC_MULADDF(MC_MULADDF(u, off, q_low), v, MC_MULADDF(q0, v, -w));
    float rest = MC_MULADDF(w, MC_MULADDF(r * r, mck_exp_q_f32(r), r + off), w_low);
    float y = mck_scale_f32(w + rest, n);
    y = x < 0.0f ? 2.0f - y : y;
    return a < 0.46875f ? 1.0f - mck_erf_near_f32(x) : y;
}

/* ---- evaluated in f64 ---- */

/* log(1 + f) to 2^-36; the quotient starts from that of f32 */
MC_INLINE double mck_log_mix(double f)
{
    double r = (double)(1.0f / (float)(2.0 + f)), s = f * r;
    s = MC_MULADD(r, MC_MULADD(-(2.0 + f), s, f), s);
    double z = s * s, h = 0.5 * f * f;
    double q = 0x1.e2f71b86312b1p-3;
    q = MC_MULADD(q, z, 0x1.2438d28d93981p-2);
    q = MC_MULADD(q, z, 0x1.999a7aa0883dfp-2);
    q = MC_MULADD(q, z, 0x1.555554fd8f3afp-1);
    return f + MC_MULADD(s, MC_MULADD(z, q, h), -h);
}

/* exp(r) for |r| <= ln2/2 to 2^-32 */
MC_INLINE double mck_exp_mix(double r)
{
    double q = 0x1.a1a108f1c77ffp-13;
    q = MC_MULADD(q, r, 0x1.6d74b19470541p-10);
    q = MC_MULADD(q, r, 0x1.11108fe636211p-7);
    q = MC_MULADD(q, r, 0x1.5554ada91bc92p-5);
    q = MC_MULADD(q, r, 0x1.55555588ca18p-3);
    q = MC_MULADD(q, r, 0x1.00000027ef415p-1);
    return 1.0 + MC_MULADD(r * r, q, r);
}

/* [0.50 0.50]. Error relative to max(|a|, |b|, result): the result cancels where exp(a) + exp(b)
 * is near 1. */
MC_INLINE float mck_logaddexp_f32(float a, float b)
{
    float m = a > b ? a : b;
    double d = (double)a - (double)b, n;
    d = d > 0.0 ? -d : d;
    d = d >= -200.0 ? d : -200.0; /* also where both are the same infinity */
    double r = mck_exp_reduce_f64(d, &n), e = mck_exp_mix(r) * mck_pow2i_f64(n);
    double k = e > 0.4142 ? 1.0 : 0.0, f = k > 0.0 ? 0.5 * e - 0.5 : e; /* 1 + e = 2^k (1 + f) */
    float y = (float)((double)m + MC_MULADD(k, MCK_LN2, mck_log_mix(f)));
    y = mck_abs_f32(m) == MCK_INF_F32 ? m : y;
    return ((a != a) | (b != b)) ? a + b : y;
}

/* [0.50 0.50] */
MC_INLINE float mck_tan_f32(float x)
{
    uint32_t n;
    double r = mck_trig_reduce_f32(x, &n), z = r * r, p = r * z;
    double q = 0x1.6c20e15b86289p-19;
    q = MC_MULADD(q, z, -0x1.a00c6e50d86cfp-13);
    q = MC_MULADD(q, z, 0x1.11110465ae735p-7);
    q = MC_MULADD(q, z, -0x1.55555546a0016p-3);
    double s = MC_MULADD(p, q, r);
    double d = -0x1.23a2b2b19feb2p-22;
    d = MC_MULADD(d, z, 0x1.a00e67766e60ap-16);
    d = MC_MULADD(d, z, -0x1.6c16b43d08716p-10);
    d = MC_MULADD(d, z, 0x1.5555554b098a9p-5);
    double c = MC_MULADD(z * z, d, 1.0 - 0.5 * z);
    int odd = (n & 1) != 0;
    float y = (float)((odd ? -c : s) / (odd ? s : c));
    return mck_abs_f32(x) < 0x1p-13f ? x : y;
}

/* [0.75 0.75] */
MC_INLINE float mck_pow_f32(float x, float y)
{
    float e, f = mck_log_split_f32(mck_abs_f32(x), &e);
    float c = y > 0x1p60f ? 0x1p60f : y; /* keeps infinity times log2(1) from being NaN */
    c = c < -0x1p60f ? -0x1p60f : c;
    double l = mck_log_mix((double)f);
    double p = (double)c * ((double)e + MC_MULADD(l, 0x1.c551d94ae0bf8p-2, l));
    p = p > 200.0 ? 200.0 : p;
    p = p < -200.0 ? -200.0 : p;
    double n = rint(p);
    float m = (float)mck_exp_mix((p - n) * MCK_LN2);
    return mck_pow_edge_f32(x, y, mck_scale_f32(m, (float)n));
}

/* [0.57 0.57] */
MC_INLINE float mck_cbrt_f32(float x)
{
    double e, a = (double)mck_abs_f32(x), f = mck_log_split_f64(a, &e);
    double n = rint(e * 0x1.5555555555555p-2 - 0x1.5555555555555p-2);
    double z = (1.0 + f) * mck_pow2i_f64(e - 3.0 * n);
    double q = -0x1.936dc4de152e8p-10;
    q = MC_MULADD(q, z, 0x1.8b826ea029f5p-6);
    q = MC_MULADD(q, z, -0x1.31a18dc8c7d3ep-3);
    q = MC_MULADD(q, z, 0x1.21bd313cf22dp-1);
    q = MC_MULADD(q, z, 0x1.1e256d0ff0573p-1);
    double c = q * q * q;
    q = (q + q * (z - c) / (2.0 * c + z)) * mck_pow2i_f64(n);
    q = ((a == 0.0) | (a == MCK_INF_F64) | (a != a)) ? a : q;
    return mck_copysign_f32((float)q, x);
}

/* [0.50 0.50] */
MC_INLINE float mck_hypot_f32(float x, float y)
{
    float a = mck_abs_f32(x), b = mck_abs_f32(y);
    double p = (double)a, q = (double)b;
    float r = (float)sqrt(p * p + q * q);
    return ((a == MCK_INF_F32) | (b == MCK_INF_F32)) ? MCK_INF_F32 : r;
}

/* [1.07 1.07]. x > 0: log of Stirling's series at x + 10, less that of the ten factors between
 * (DLMF 5.5.1, 5.11.1), in f64, whose digits are enough for the zeros at 1 and 2. */
MC_INLINE float mck_lgamma_f32(float x)
{
    double a = (double)x, up = a < 10.0 ? a + 10.0 : a, r = 1.0 / up, z = r * r;
    /* a (a + 1) ... (a + 9) */
    double s = a * (a + 9.0), b = (s + 8.0) * (s + 14.0) * s * ((s + 18.0) * (s + 20.0));
    double q = -0x1.f6ab0d9993c7dp-10;
    q = MC_MULADD(q, z, 0x1.b951e2b18ff23p-11);
    q = MC_MULADD(q, z, -0x1.3813813813814p-11);
    q = MC_MULADD(q, z, 0x1.a01a01a01a01ap-11);
    q = MC_MULADD(q, z, -0x1.6c16c16c16c17p-9);
    q = MC_MULADD(q, z, 0x1.5555555555555p-4);
    double y = MC_MULADD(up - 0.5, mck_log_f64(up), -up) + 0x1.d67f1c864beb5p-1;
    y = (y - (a < 10.0 ? mck_log_f64(b) : 0.0)) + q * r;
    return (float)(x == MCK_INF_F32 ? a : ((x == 1.0f) | (x == 2.0f)) ? 0.0 : y);
}

/* ---- remainders: exact, in f64 ---- */

/* C sign rule. A quotient below 2^28 times an f32 is exact in f64. */
MC_INLINE float mck_fmod_f32(float x, float y)
{
    double a = (double)mck_abs_f32(x), b = (double)mck_abs_f32(y);
    double r = a - trunc(a / b) * b;
    r = r < 0.0 ? r + b : r;
    return mck_copysign_f32((float)r, x);
}

MC_INLINE int mck_fmod_off_f32(float x, float y)
{
    int near = mck_abs_f32(x / y) < 0x1p27f, finite = mck_abs_f32(y) < MCK_INF_F32;
    return !(near & finite);
}

MC_INLINE float mck_mod_sign_f32(float m, float y)
{
    float r = (m < 0.0f) != (y < 0.0f) ? m + y : m;
    return m == 0.0f ? mck_copysign_f32(0.0f, y) : r;
}

/* Sign of the divisor, as Python's %. */
MC_INLINE float mck_remainder_f32(float x, float y)
{
    return mck_mod_sign_f32(mck_fmod_f32(x, y), y);
}

/* floor of the exact quotient, rounded once. x / 0 is the IEEE quotient. */
MC_INLINE float mck_floor_divide_f32(float x, float y)
{
    double a = (double)mck_abs_f32(x), b = (double)mck_abs_f32(y);
    double q = trunc(a / b), r = a - q * b;
    int neg = ((mck_bits_f32(x) ^ mck_bits_f32(y)) & 0x80000000u) != 0;
    q = r < 0.0 ? q - 1.0 : q;
    r = r < 0.0 ? r + b : r;
    q = (neg & (r != 0.0)) ? q + 1.0 : q;
    return (float)(neg ? -q : q);
}

#endif
