/* mck_elliptic.h - elliptic integrals and Jacobi's functions, by parameter m = k^2.
 *
 * Carlson's symmetric integrals RC, RD, RF, RG, Legendre's K, E (complete and not) and sn, cn, dn,
 * am. Duplication until the arguments agree to two digits, then the seventh-order series of DLMF
 * 19.36 (Numerical computation of real or complex elliptic integrals, 1995); complete integrals by
 * the arithmetic-geometric mean. Accuracy: tests/golden/accuracy_special.lua. */
#ifndef MCK_ELLIPTIC_H
#define MCK_ELLIPTIC_H

#include "mck_gamma.h"

#define MCK_CARLSON_NEAR 0.006 /* (2^-56)^(1/8) of relative spread is left to the series */

MC_INLINE int mck_carlson_off(double x, double y, double z)
{
    return !(x >= 0) || !(y >= 0) || !(z >= 0);
}

/* DLMF 19.16.1; at most one argument 0. */
MCK_HEAVY double mck_elliprf_f64(double x, double y, double z)
{
    if (mck_carlson_off(x, y, z))
        return MCK_NAN_F64;
    if ((x == 0) + (y == 0) + (z == 0) > 1)
        return MCK_INF_F64;
    if (isinf(x) || isinf(y) || isinf(z))
        return 0;
    double a, dx, dy, dz;
    for (;;) {
        a = (x + y + z) / 3.0;
        dx = 1.0 - x / a;
        dy = 1.0 - y / a;
        dz = -dx - dy;
        if (fmax(fabs(dx), fmax(fabs(dy), fabs(dz))) < MCK_CARLSON_NEAR)
            break;
        const double sx = sqrt(x), sy = sqrt(y), sz = sqrt(z), l = sx * (sy + sz) + sy * sz;
        x = 0.25 * (x + l);
        y = 0.25 * (y + l);
        z = 0.25 * (z + l);
    }
    const double e2 = dx * dy - dz * dz, e3 = dx * dy * dz;
    const double s =
        e2 * (-0.1 + e2 * (1.0 / 24.0 - 5.0 / 208.0 * e2 + e3 / 16.0) - 3.0 / 44.0 * e3) +
        e3 * (1.0 / 14.0 + 3.0 / 104.0 * e3);
    return (1.0 + s) / sqrt(a);
}

/* DLMF 19.16.5: symmetric in x and y, at most one of them 0; z > 0. */
MCK_HEAVY double mck_elliprd_f64(double x, double y, double z)
{
    if (mck_carlson_off(x, y, z))
        return MCK_NAN_F64;
    if (z == 0 || (x == 0 && y == 0))
        return MCK_INF_F64;
    if (isinf(x) || isinf(y) || isinf(z))
        return 0;
    double a, dx, dy, dz, sum = 0, f = 1.0;
    for (;;) {
        a = 0.2 * (x + y + 3.0 * z);
        dx = 1.0 - x / a;
        dy = 1.0 - y / a;
        dz = -(dx + dy) / 3.0;
        if (fmax(fabs(dx), fmax(fabs(dy), fabs(dz))) < MCK_CARLSON_NEAR)
            break;
        const double sx = sqrt(x), sy = sqrt(y), sz = sqrt(z), l = sx * (sy + sz) + sy * sz;
        sum += f / (sz * (z + l));
        f *= 0.25;
        x = 0.25 * (x + l);
        y = 0.25 * (y + l);
        z = 0.25 * (z + l);
    }
    const double p = dx * dy, q = dz * dz, e2 = p - 6.0 * q, e3 = (3.0 * p - 8.0 * q) * dz,
                 e4 = 3.0 * (p - q) * q, e5 = p * q * dz;
    const double s = e2 * (-3.0 / 14.0 + 9.0 / 88.0 * e2 - 9.0 / 52.0 * e3 - e2 * e2 / 16.0 +
                           3.0 / 20.0 * e4 + 45.0 / 272.0 * e2 * e3 - 9.0 / 68.0 * e5) +
                     e3 * (1.0 / 6.0 + 3.0 / 40.0 * e3 - 9.0 / 68.0 * e4) - 3.0 / 22.0 * e4 +
                     3.0 / 26.0 * e5;
    return 3.0 * sum + f * (1.0 + s) / (a * sqrt(a));
}

/* DLMF 19.2.17 in closed form (19.2.18, 19.2.19); y < 0 gives the principal value (19.2.20). */
MCK_HEAVY double mck_elliprc_f64(double x, double y)
{
    if (!(x >= 0) || y != y)
        return MCK_NAN_F64;
    if (y == 0)
        return MCK_INF_F64;
    if (isinf(x) || isinf(y))
        return 0;
    double front = 1.0;
    if (y < 0) { /* no call of itself: devices have none */
        front = sqrt(x / (x - y));
        x -= y;
        y = -y;
        if (isinf(x)) return 0;
    }
    const double d = y - x;
    if (x == 0)
        return front * (0.5 * MCK_PI / sqrt(y));
    if (fabs(d) < 1e-3 * x) { /* sum (-t)^k / (2 k + 1), t = d / x */
        const double t = d / x, tail = t * (0.2 + t * (-1.0 / 7.0 + t * (1.0 / 9.0 - t / 11.0)));
        return front * ((1.0 + t * (-1.0 / 3.0 + tail)) / sqrt(x));
    }
    return front * (d > 0 ? atan(sqrt(d / x)) / sqrt(d) : asinh(sqrt(-d / y)) / sqrt(-d));
}

/* DLMF 19.16.3 by 19.21.10, the middle argument last, where all terms are positive. */
MCK_HEAVY double mck_elliprg_f64(double x, double y, double z)
{
    if (mck_carlson_off(x, y, z))
        return MCK_NAN_F64;
    const double low = fmin(x, fmin(y, z)), high = fmax(x, fmax(y, z));
    if (isinf(high))
        return MCK_INF_F64;
    const double mid = x == low   ? (y == high ? z : y)
                       : y == low ? (x == high ? z : x)
                                  : (x == high ? y : x);
    if (mid == 0)
        return 0.5 * sqrt(high);
    return 0.5 * (mid * mck_elliprf_f64(low, high, mid) +
                  (mid - low) * (high - mid) * mck_elliprd_f64(low, high, mid) / 3.0 +
                  sqrt(low) * sqrt(high / mid));
}

/* K(m) = pi / (2 agm(1, sqrt(1 - m))), DLMF 19.8.5; p = 1 - m. */
MCK_HEAVY double mck_ellipkm1_f64_slow(double p)
{
    if (!(p >= 0))
        return MCK_NAN_F64;
    if (p == 0)
        return MCK_INF_F64;
    if (isinf(p))
        return 0;
    double a = 1.0, b = sqrt(p);
    while (fabs(a - b) > 1e-8 * a) { /* quadratic: the step after this one is below rounding */
        const double t = 0.5 * (a + b);
        b = sqrt(a * b);
        a = t;
    }
    return MCK_PI / (a + b);
}

/* From 0.01 to 100 five steps bring the means to within 1e-17 of each other. */
#define MCK_NEEDS_FIX_ellipkm1_f64(p) (!((p) >= 0.01 && (p) <= 100.0))
#define MCK_NEEDS_FIX_ellipkm1_f32(p) (!((p) >= 0.01f && (p) <= 100.0f))
#define MCK_NEEDS_FIX_ellipk_f64(m) (!((m) <= 0.99 && (m) >= -99.0))
#define MCK_NEEDS_FIX_ellipk_f32(m) (!((m) <= 0.99f && (m) >= -99.0f))
MC_INLINE double mck_ellipkm1_f64(double p)
{
    double a = 1.0, b = sqrt(p);
    for (int k = 0; k < 5; k++) {
        const double t = 0.5 * (a + b);
        b = sqrt(a * b);
        a = t;
    }
    return MCK_PI / (a + b);
}
MC_INLINE double mck_ellipk_f64(double m) { return mck_ellipkm1_f64(1.0 - m); }
MC_INLINE double mck_ellipk_f64_slow(double m) { return mck_ellipkm1_f64_slow(1.0 - m); }
MC_INLINE float mck_ellipkm1_f32_slow(float p) { return (float)mck_ellipkm1_f64_slow((double)p); }
MC_INLINE float mck_ellipk_f32_slow(float m) { return (float)mck_ellipk_f64_slow((double)m); }

/* E(m): by the means for moderate m (DLMF 19.8.6), by Jacobi's imaginary modulus below 0. From 1 -
 * m = 0.01 on five steps bring the means to within 1e-17 of each other. */
MC_INLINE double mck_ellipe_f64(double m)
{
    const double scale = m < 0 ? sqrt(1.0 - m) : 1.0, r = 1.0 / (1.0 - m), p = m < 0 ? r : 1.0 - m,
                 q = m < 0 ? -m * r : m;
    double a = 1.0, b = sqrt(p), f = 0.5, sum = 1.0 - 0.5 * q;
    for (int k = 0; k < 5; k++) {
        const double c = 0.5 * (a - b), t = 0.5 * (a + b);
        b = sqrt(a * b);
        a = t;
        f *= 2.0;
        sum -= f * c * c;
    }
    return scale * sum * MCK_PI / (a + b);
}

/* Near 1, and far below 0, by positive terms (19.25.1). */
#define MCK_NEEDS_FIX_ellipe_f64(m) (!((m) <= 0.99 && (m) >= -99.0))
#define MCK_NEEDS_FIX_ellipe_f32(m) (!((m) <= 0.99f && (m) >= -99.0f))
MCK_HEAVY double mck_ellipe_f64_slow(double m)
{
    if (!(m <= 1.0))
        return MCK_NAN_F64;
    if (m == 1.0)
        return 1.0;
    if (isinf(m))
        return MCK_INF_F64;
    const double scale = m < 0 ? sqrt(1.0 - m) : 1.0, p = m < 0 ? 1.0 / (1.0 - m) : 1.0 - m;
    return scale * p * (mck_elliprd_f64(0, p, 1.0) + mck_elliprd_f64(0, 1.0, p)) / 3.0;
}
MC_INLINE double mck_ellipe_f64_any(double m)
{
    return MCK_NEEDS_FIX_ellipe_f64(m) ? mck_ellipe_f64_slow(m) : mck_ellipe_f64(m);
}
MC_INLINE float mck_ellipe_f32_slow(float m) { return (float)mck_ellipe_f64_any((double)m); }

/* phi = n pi + r with |r| <= pi / 2. */
MC_INLINE double mck_amplitude_reduce(double phi, double *n)
{
    *n = rint(phi / MCK_PI);
    return fabs(phi) < 1.5 ? (*n = 0, phi)
                           : MC_MULADD(-*n, MCK_PI_LO, MC_MULADD(-*n, MCK_PI_HI, phi));
}

/* F(phi, m) = s RF(c^2, 1 - m s^2, 1) (DLMF 19.25.5) plus whole periods 2 K. */
MCK_HEAVY double mck_ellipkinc_f64(double phi, double m)
{
    if (phi != phi || m != m || m > 1.0)
        return MCK_NAN_F64;
    if (phi == 0 || isinf(m))
        return phi == 0 ? phi : isinf(phi) ? MCK_NAN_F64 : 0.0;
    if (isinf(phi))
        return phi;
    double n;
    const double r = mck_amplitude_reduce(phi, &n), s = sin(r), c = cos(r);
    if (m == 1.0 && fabs(phi) >= 0.5 * MCK_PI)
        return mck_copysign_f64(MCK_INF_F64, phi);
    const double q = m > 0.5 ? c * c + (1.0 - m) * s * s : 1.0 - m * s * s,
                 y = s * mck_elliprf_f64(c * c, q, 1.0);
    return n == 0 ? y : y + 2.0 * n * mck_ellipk_f64_slow(m);
}

/* E(phi, m): DLMF 19.25.9 below 0, 19.25.10 above, where all terms are positive. */
MCK_HEAVY double mck_ellipeinc_f64(double phi, double m)
{
    if (phi != phi || m != m || m > 1.0)
        return MCK_NAN_F64;
    if (phi == 0)
        return phi;
    if (isinf(phi))
        return phi;
    if (isinf(m))
        return mck_copysign_f64(MCK_INF_F64, phi);
    double n;
    const double r = mck_amplitude_reduce(phi, &n), s = sin(r), c = cos(r), p = 1.0 - m;
    const double q = m > 0.5 ? c * c + p * s * s : 1.0 - m * s * s;
    double y;
    if (m == 1.0)
        y = s;
    else if (m <= 0)
        y = s * (mck_elliprf_f64(c * c, q, 1.0) - m * s * s * mck_elliprd_f64(c * c, q, 1.0) / 3.0);
    else
        y = p * s *
                (mck_elliprf_f64(c * c, q, 1.0) +
                 m * s * s * mck_elliprd_f64(c * c, 1.0, q) / 3.0) +
            m * s * c / sqrt(q);
    return n == 0 ? y : y + 2.0 * n * mck_ellipe_f64_any(m);
}

/* Jacobi's amplitude am(u, m) for 0 <= m <= 1 by the descending scale of means, DLMF 22.20.3 to
 * 22.20.5. */
MC_INLINE double mck_jacobi_am(double u, double m)
{
    double a[24], c[24], b = sqrt(1.0 - m);
    int n = 0;
    a[0] = 1.0;
    c[0] = sqrt(m);
    while (c[n] > 1e-9 * a[n] && n < 22) { /* quadratic: the next c is below rounding */
        a[n + 1] = 0.5 * (a[n] + b);
        c[n + 1] = 0.5 * (a[n] - b);
        b = sqrt(a[n] * b);
        n++;
    }
    double phi = ldexp(a[n] * u, n);
    for (; n > 0; n--)
        phi = 0.5 * (phi + asin(c[n] * sin(phi) / a[n]));
    return phi;
}

MC_INLINE int mck_jacobi_off(double u, double m)
{
    return !(m >= 0 && m <= 1.0) || !(fabs(u) < MCK_INF_F64);
}

MCK_HEAVY double mck_ellipj_ph_f64(double u, double m)
{
    if (mck_jacobi_off(u, m))
        return MCK_NAN_F64;
    return m == 1.0 ? 2.0 * atan(tanh(0.5 * u)) : mck_jacobi_am(u, m);
}

MCK_HEAVY double mck_ellipj_sn_f64(double u, double m)
{
    if (mck_jacobi_off(u, m))
        return MCK_NAN_F64;
    return m == 1.0 ? tanh(u) : sin(mck_jacobi_am(u, m));
}

MCK_HEAVY double mck_ellipj_cn_f64(double u, double m)
{
    if (mck_jacobi_off(u, m))
        return MCK_NAN_F64;
    return m == 1.0 ? 1.0 / cosh(u) : cos(mck_jacobi_am(u, m));
}

MCK_HEAVY double mck_ellipj_dn_f64(double u, double m)
{
    if (mck_jacobi_off(u, m))
        return MCK_NAN_F64;
    if (m == 1.0)
        return 1.0 / cosh(u);
    const double c = cos(mck_jacobi_am(u, m));
    return sqrt((1.0 - m) + m * c * c);
}

MCK_F32_OF_3(elliprf)
MCK_F32_OF_3(elliprd)
MCK_F32_OF_2(elliprc)
MCK_F32_OF_3(elliprg)
MCK_F32_OF_1(ellipkm1)
MCK_F32_OF_1(ellipk)
MCK_F32_OF_1(ellipe)
MCK_F32_OF_2(ellipkinc)
MCK_F32_OF_2(ellipeinc)
MCK_F32_OF_2(ellipj_ph)
MCK_F32_OF_2(ellipj_sn)
MCK_F32_OF_2(ellipj_cn)
MCK_F32_OF_2(ellipj_dn)

#endif
