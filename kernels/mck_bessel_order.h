/* mck_bessel_order.h - Bessel functions of any real order: J, Y, I, K and the scaled forms, and
 * the spherical j, y.
 *
 * Four methods and the choice between them: for small x Temme's series (On the numerical
 * evaluation of the ordinary Bessel function of the second kind, 1976; of the modified one, 1975),
 * else continued fractions for J'/J (DLMF 10.10, 3.10) and the Hankel function (Steed's method,
 * Coulomb wave functions with continued fractions, 1974; for K 10.33 by the same means) with
 * recurrence in the order; Hankel's expansion for large x (10.17, 10.40); for large order Debye's
 * (10.19, 10.41) and, where order and argument meet, Olver's uniform one (10.20). */
#ifndef MCK_BESSEL_ORDER_H
#define MCK_BESSEL_ORDER_H

#include "mck_bessel.h"
#include "mck_bessel_phase.h"

enum { MCK_BESSEL_STEPS = 100000 };
#define MCK_BESSEL_LARGE 100.0 /* from here the uniform expansion serves near the turning point */
#define MCK_BESSEL_PHASE 1e18 /* phases past this have no digit left: NaN */

typedef struct mck_two { double a, b; } mck_two; /* J and Y, or I and K */

/* 1 / Gamma(1 + m), 1 / Gamma(1 - m), and their half difference over m and half sum. |m| <= 1/2. */
MC_INLINE void mck_temme_gamma(double m, double *plus, double *minus, double *g1, double *g2)
{
    const double p = mck_fit_rgamma1_f64(m), q = mck_fit_rgamma1_f64(-m);
    *plus = 1.0 + m * p;
    *minus = 1.0 - m * q;
    *g1 = -0.5 * (p + q);
    *g2 = 1.0 + 0.5 * m * (p - q);
}

/* Even and odd terms of sum U_k(p) / v^k of Debye's expansions. turn: p stands for i p, and the
 * sums are the real parts that DLMF 10.19.6 combines, (-1)^floor(k / 2) |U_k(i p)| / v^k. */
MC_INLINE void mck_debye_sums(double v, double p, int turn, double *even, double *odd)
{
    const double p2 = turn ? -p * p : p * p;
    double scale = 1.0, e = 0, o = 0;
    for (int k = 0; k < MCK_DEBYE_ROWS; k++) {
        double row = 0;
        for (int j = k; j >= 0; j--)
            row = MC_MULADD(row, p2, mck_debye_f64[k][j]);
        const double part = turn && (k & 2) ? -row * scale : row * scale;
        if (k & 1)
            o += part;
        else
            e += part;
        if (k > 1 && fabs(part) < 1e-17)
            break;
        scale *= p / v;
    }
    *even = e;
    *odd = o;
}

/* ---- J and Y for v >= 0, x > 0 ---- */

/* Hankel's expansion: amplitude functions P and Q, DLMF 10.17.3. */
MC_INLINE mck_two mck_hankel_order(double v, double x)
{
    const double m = 4.0 * v * v;
    double p = 0, q = 0, term = 1.0;
    for (int k = 0; k < 200; k++) {
        if (k & 1)
            q += (k & 2) ? -term : term;
        else
            p += (k & 2) ? -term : term;
        const double odd = 2 * k + 1, next = term * (m - odd * odd) / (8.0 * x * (k + 1));
        if (fabs(next) < 1e-17 || (fabs(next) > fabs(term) && k > v))
            break;
        term = next;
    }
    const double w = 0.5 * v + 0.25, cv = mck_cospi_f64(w), sv = mck_sinpi_f64(w), s = sin(x),
                 c = cos(x);
    const double cc = MC_PRODUCT(c, cv) + MC_PRODUCT(s, sv),
                 ss = MC_PRODUCT(s, cv) - MC_PRODUCT(c, sv), f = sqrt(2.0 / (MCK_PI * x));
    return MC_MAKE(mck_two){ f * (MC_PRODUCT(p, cc) - MC_PRODUCT(q, ss)),
                             f * (MC_PRODUCT(p, ss) + MC_PRODUCT(q, cc)) };
}

/* Debye's expansions away from the turning point: DLMF 10.19.3 and 10.19.6. */
MC_INLINE mck_two mck_debye_order(double v, mck_pair w, double t, double y)
{
    double even, odd;
    if (y > 0) {
        mck_debye_sums(v, 1.0 / t, 0, &even, &odd);
        if (w.hi > 800.0)
            return MC_MAKE(mck_two){0.0, -MCK_INF_F64};
        const double f = sqrt(2.0 * MCK_PI * v * t);
        const double e = exp(-w.hi) * (1.0 - w.lo), g = exp(w.hi) * (1.0 + w.lo);
        return MC_MAKE(mck_two){e / f * (even + odd), -2.0 * g / f * (even - odd)};
    }
    if (!(w.hi < MCK_BESSEL_PHASE))
        return MC_MAKE(mck_two){MCK_NAN_F64, MCK_NAN_F64};
    mck_debye_sums(v, 1.0 / t, 1, &even, &odd);
    const double f = sqrt(1.0 / (MCK_PI * v * t)), s0 = sin(w.hi), c0 = cos(w.hi);
    const double sl = sin(w.lo), cl = cos(w.lo), s1 = s0 * cl + c0 * sl, c1 = c0 * cl - s0 * sl;
    const double s = s1 - c1, c = c1 + s1; /* of w - pi / 4, times the root of 2 */
    return MC_MAKE(mck_two){ f * (MC_PRODUCT(even, c) + MC_PRODUCT(odd, s)),
                             f * (MC_PRODUCT(even, s) - MC_PRODUCT(odd, c)) };
}

/* J'/J at order v by the modified method of Lentz on DLMF 10.10.1; *sign: of J, from the
 * denominators. */
MC_INLINE double mck_j_fraction(double v, double x, int *sign)
{
    const double xi = 1.0 / x;
    double h = v * xi, b = 2.0 * v * xi, d = 0;
    *sign = 1;
    h = fabs(h) < 1e-300 ? 1e-300 : h;
    double c = h;
    for (int i = 0; i < MCK_BESSEL_STEPS; i++) {
        b += 2.0 * xi;
        d = b - d;
        d = d == 0 ? 1e-300 : d;
        c = b - 1.0 / c;
        c = c == 0 ? 1e-300 : c;
        d = 1.0 / d;
        const double step = c * d;
        h *= step;
        if (d < 0)
            *sign = -*sign;
        if (fabs(step - 1.0) < 1.2e-16)
            break;
    }
    return h;
}

/* Y at orders m and m + 1, |m| <= 1/2, x < 2: Temme's series. */
MC_INLINE mck_two mck_y_series(double m, double x)
{
    double plus, minus, g1, g2;
    mck_temme_gamma(m, &plus, &minus, &g1, &g2);
    const double x2 = 0.5 * x, pm = MCK_PI * m, l = -log(x2), e = m * l;
    const double a = fabs(pm) < 1e-12 ? 1.0 : pm / sin(pm), s = fabs(e) < 1e-8 ? 1.0 : sinh(e) / e;
    const double ex = exp(e), half = 0.5 * pm, r0 = fabs(half) < 1e-12 ? 1.0 : sin(half) / half,
                 r = MCK_PI * half * r0 * r0;
    double f = MCK_2_PI * a * (g1 * cosh(e) + g2 * s * l), p = ex / (plus * MCK_PI),
           q = 1.0 / (ex * MCK_PI * minus);
    double w = 1.0, sum = f + r * q, sum1 = p;
    for (int i = 1; i < 200; i++) {
        f = (i * f + p + q) / (i * (double)i - m * m);
        w *= -x2 * x2 / i;
        p /= i - m;
        q /= i + m;
        const double part = w * (f + r * q);
        sum += part;
        sum1 += w * p - i * part;
        if (fabs(part) < 1e-17 * (1.0 + fabs(sum)))
            break;
    }
    return MC_MAKE(mck_two){-sum, -sum1 * 2.0 / x};
}

/* (J' + i Y') / (J + i Y) = p + i q at order m, x >= 2: Steed's continued fraction. */
MC_INLINE mck_two mck_hankel_fraction(double m, double x)
{
    const double xi = 1.0 / x;
    double a = 0.25 - m * m, p = -0.5 * xi, q = 1.0, br = 2.0 * x, bi = 2.0;
    double fact = a * xi / (p * p + q * q), cr = br + MC_PRODUCT(q, fact),
           ci = bi + MC_PRODUCT(p, fact), den = br * br + bi * bi, dr = br / den, di = -bi / den;
    for (int i = 2; i < MCK_BESSEL_STEPS; i++) {
        const double lr = MC_PRODUCT(cr, dr) - MC_PRODUCT(ci, di),
                     li = MC_PRODUCT(cr, di) + MC_PRODUCT(ci, dr),
                     t = MC_PRODUCT(p, lr) - MC_PRODUCT(q, li);
        q = MC_PRODUCT(p, li) + MC_PRODUCT(q, lr);
        p = t;
        if (fabs(lr - 1.0) + fabs(li) < 2.3e-16)
            break;
        a += 2 * (i - 1);
        bi += 2.0;
        dr = a * dr + br;
        di = a * di + bi;
        fact = a / (cr * cr + ci * ci);
        cr = br + MC_PRODUCT(cr, fact);
        ci = bi - MC_PRODUCT(ci, fact);
        den = dr * dr + di * di;
        dr /= den;
        di /= -den;
    }
    return MC_MAKE(mck_two){p, q};
}

/* J and Y at order v >= 0, x > 0 by recurrence. Below the turning point both come up from an order
 * m in [-1/2, 1/2], where that recurrence is stable;
 * past it Y still does, and J follows from the continued fraction and the Wronskian (DLMF
 * 10.5.2). */
MCK_HEAVY mck_two mck_jy_recurrence(double v, double x)
{
    const int n = (int)(v + 0.5), up = v <= x;
    const double m = v - n, xi = 1.0 / x;
    mck_two j = {0, 0}, y;
    int sign;
    if (x > 20.0) {
        const mck_two h0 = mck_hankel_order(fabs(m), x), h1 = mck_hankel_order(m + 1.0, x);
        j = MC_MAKE(mck_two){h0.a, h1.a};
        y = MC_MAKE(mck_two){h0.b, h1.b};
        if (m < 0) { /* DLMF 10.2.3 */
            const double c = mck_cospi_f64(m), s = mck_sinpi_f64(-m);
            j.a = MC_PRODUCT(c, h0.a) - MC_PRODUCT(s, h0.b);
            y.a = MC_PRODUCT(s, h0.a) + MC_PRODUCT(c, h0.b);
        }
    } else if (x < 2.0) {
        y = mck_y_series(m, x);
        if (up) {
            /* J_m / J_{m+1} */
            const double h = mck_j_fraction(m + 1.0, x, &sign), r = (m + 1.0) * xi + h;
            j.b = MCK_2_PI * xi / (y.a - r * y.b);
            j.a = r * j.b;
        }
    } else {
        const double f = mck_j_fraction(m, x, &sign);
        const mck_two h = mck_hankel_fraction(m, x);
        const double g = (h.a - f) / h.b, jm = sign * sqrt(MCK_2_PI * xi / ((h.a - f) * g + h.b)),
                     ym = jm * g;
        const double dy = g == 0 ? jm * h.b : ym * (h.a + h.b / g);
        j = MC_MAKE(mck_two){jm, (m * xi - f) * jm};
        y = MC_MAKE(mck_two){ym, m * xi * ym - dy};
    }
    for (int i = 1; i <= n; i++) {
        const double c = 2.0 * (m + i) * xi, t = c * y.b - y.a, s = c * j.b - j.a;
        y = MC_MAKE(mck_two){y.b, t};
        j = MC_MAKE(mck_two){j.b, s};
    }
    if (!up) {
        const double h = mck_j_fraction(v, x, &sign);
        j.a = y.a > -MCK_INF_F64 && y.b > -MCK_INF_F64 ? MCK_2_PI * xi / ((v * xi - h) * y.a - y.b)
                                                       : 0.0;
    }
    return MC_MAKE(mck_two){j.a, y.a > -MCK_INF_F64 ? y.a : -MCK_INF_F64};
}

MCK_HEAVY mck_two mck_ik_recurrence(double v, double x, int scaled);

/* The uniform expansion by Airy functions, DLMF 10.20.4 and 10.20.5, with these as Bessel functions
 * of orders 1/3 and 2/3 (9.6.2 to 9.6.9) of w itself. */
MC_INLINE mck_two mck_turning_order(double v, mck_pair w, double t, double y)
{
    const double third = 1.0 / 3.0, root3 = 1.73205080756887729353, c = cbrt(v);
    const double s = cbrt(1.5 * w.hi), a = s * s; /* |argument of the Airy functions| */
    double ai = 0.355028053887817239, di = -0.258819403792806798; /* Ai, Ai' at 0 */
    double bi = 0.614926627446000736, ei = 0.448288357353826359;  /* Bi, Bi' */
    if (w.hi > 1e-30 && y > 0) {
        const mck_two p = mck_ik_recurrence(third, w.hi, 1);
        const mck_two q = mck_ik_recurrence(2.0 * third, w.hi, 1);
        const double down = exp(-w.hi) * (1.0 - w.lo), up = exp(w.hi) * (1.0 + w.lo);
        const double f = sqrt(a / 3.0);
        ai = f * p.b / MCK_PI * down;
        bi = f * (2.0 * p.a * up + root3 / MCK_PI * p.b * down);
        di = -a / (MCK_PI * root3) * q.b * down;
        ei = a / root3 * (2.0 * q.a * up + root3 / MCK_PI * q.b * down);
    } else if (w.hi > 1e-30) {
        const mck_two p = mck_jy_recurrence(third, w.hi), q = mck_jy_recurrence(2.0 * third, w.hi);
        ai = 0.5 * s * (p.a - p.b / root3);
        bi = -0.5 * s * (p.a / root3 + p.b);
        di = 0.5 * a * (q.a + q.b / root3);
        ei = 0.5 * a * (q.a / root3 - q.b);
        const double ai0 = ai, bi0 = bi; /* w.lo turns the phase */
        ai -= w.lo * di / s;
        bi -= w.lo * ei / s;
        di += w.lo * s * ai0;
        ei += w.lo * s * bi0;
    }
    const double zeta = (y < 0 ? -a : a) / (c * c), iv = 1.0 / v, i2 = iv * iv;
    const double ratio = /* 4 zeta / y */
        t < 1e-4 ? 2.5198420997897463 * (1.0 + 0.4 * y) : 4.0 * fabs(zeta) / (t * t);
    const double a2 = mck_fit_olver_a2_f64(zeta) + i2 * mck_fit_olver_a3_f64(zeta);
    const double b2 = mck_fit_olver_b2_f64(zeta);
    const double even = 1.0 + i2 * (mck_fit_olver_a1_f64(zeta) + i2 * a2);
    const double b1 = mck_fit_olver_b1_f64(zeta) + i2 * b2;
    const double odd = (mck_fit_olver_b0_f64(zeta) + i2 * b1) / (c * v);
    const double f = sqrt(sqrt(ratio)) / c;
    return MC_MAKE(mck_two){f * (ai * even + di * odd), -f * (bi * even + ei * odd)};
}

/* J and Y at order v >= 0, x > 0. */
MCK_HEAVY mck_two mck_jy(double v, double x)
{
    if (x > 20.0 && x > 0.5 * v * v)
        return mck_hankel_order(v, x);
    if (v > 50.0) {
        double t, y;
        const mck_pair w = mck_bessel_phase(v, x, &t, &y);
        if (v * t * t * t > (v < MCK_BESSEL_LARGE ? 130.0 : 90.0) || t > 50.0)
            return mck_debye_order(v, w, t, y);
        if (v >= MCK_BESSEL_LARGE)
            return mck_turning_order(v, w, t, y);
    }
    return mck_jy_recurrence(v, x);
}

/* J (want 0) or Y (want 1) for any real order and argument: reflections DLMF 10.2.2, 10.2.3 and the
 * parity of whole orders. */
MC_INLINE double mck_jy_any(double v, double x, int want)
{
    const int whole = mck_is_whole_f64(v);
    if (v != v || x != x || isinf(v) || (x < 0 && (!whole || want)))
        return MCK_NAN_F64;
    const double a = fabs(v), ax = fabs(x);
    double y;
    if (ax == 0) {
        if (want)
            return -MCK_INF_F64;
        return v == 0 ? 1.0 : v > 0 || whole ? 0.0 : MCK_INF_F64;
    }
    if (isinf(ax))
        return 0;
    if (a <= 1.0 && whole) {
        y = want ? (a == 0 ? mck_y0_f64_any(ax) : mck_y1_f64_any(ax))
                 : (a == 0 ? mck_j0_f64_any(ax) : mck_j1_f64_any(ax));
        y = v < 0 ? -y : y;
    } else {
        const mck_two r = mck_jy(a, ax);
        y = want ? r.b : r.a;
        if (v < 0 && whole)
            y = mck_is_odd_f64(v) ? -y : y;
        else if (v < 0) {
            const double c = mck_cospi_f64(a), s = mck_sinpi_f64(a);
            y = want ? (c == 0 ? s * r.a : s * r.a + c * r.b)
                     : (s == 0   ? c * r.a
                        : c == 0 ? -s * r.b
                                 : c * r.a - s * r.b);
        }
    }
    return x < 0 && mck_is_odd_f64(v) ? -y : y;
}

MCK_HEAVY double mck_jv_f64(double v, double x) { return mck_jy_any(v, x, 0); }
MCK_HEAVY double mck_yv_f64(double v, double x) { return mck_jy_any(v, x, 1); }

/* Spherical functions sqrt(pi / (2 x)) J_{n+1/2}(x), n = 0, 1, ...: DLMF 10.47.3, 10.47.4. */
MC_INLINE double mck_spherical(double n, double x, int want)
{
    if (!(n >= 0) || !mck_is_whole_f64(n) || x != x || isinf(n))
        return MCK_NAN_F64;
    const double a = fabs(x);
    if (a == 0)
        return want ? -MCK_INF_F64 : n == 0 ? 1.0 : 0.0;
    if (isinf(a))
        return 0;
    double y;
    if (n == 0)
        y = (want ? -cos(a) : sin(a)) / a;
    else if (n == 1 && (want || a > 1.0))
        y = want ? -(cos(a) / a + sin(a)) / a : (sin(a) / a - cos(a)) / a;
    else {
        const mck_two r = mck_jy(n + 0.5, a);
        y = (want ? r.b : r.a) * sqrt(0.5 * MCK_PI / a);
    }
    return x < 0 && mck_is_odd_f64(n) != want ? -y : y;
}

MCK_HEAVY double mck_spherical_jn_f64(double n, double x) { return mck_spherical(n, x, 0); }
MCK_HEAVY double mck_spherical_yn_f64(double n, double x) { return mck_spherical(n, x, 1); }

/* ---- I and K for v >= 0, x > 0 ---- */

/* y e^s, where the factor may overflow and the product not. */
MC_INLINE double mck_times_exp(double y, double s)
{
    const double h = exp(0.5 * s);
    return y == 0 ? y : y * h * h;
}

/* exp(-x) I and exp(x) K for scaled, else I and K, of small order. */
MCK_HEAVY mck_two mck_ik_recurrence(double v, double x, int scaled)
{
    const double up = scaled ? 0.0 : x; /* exponent that is missing in scaled functions */
    if (x > 36.0 && x > 0.5 * v * v) { /* DLMF 10.40.1, 10.40.2 */
        const double m = 4.0 * v * v;
        double term = 1.0, i = 1.0, k = 1.0;
        for (int n = 0; n < 200; n++) {
            const double odd = 2 * n + 1, next = term * (m - odd * odd) / (8.0 * x * (n + 1));
            if (fabs(next) > fabs(term) && n > v)
                break;
            term = next;
            i += (n & 1) ? term : -term;
            k += term;
            if (fabs(term) < 1e-17)
                break;
        }
        return MC_MAKE(mck_two){ mck_times_exp(i / sqrt(2.0 * MCK_PI * x), up),
                                 mck_times_exp(k * sqrt(0.5 * MCK_PI / x), -up) };
    }
    const double xi = 1.0 / x;
    const int n = (int)(v + 0.5);
    const double m = v - n;
    double h = v * xi, b = 2.0 * v * xi, d = 0; /* I'/I at order v */
    h = h < 1e-300 ? 1e-300 : h;
    double c = h;
    for (int i = 0; i < MCK_BESSEL_STEPS; i++) {
        b += 2.0 * xi;
        d = 1.0 / (b + d);
        c = b + 1.0 / c;
        const double step = c * d;
        h *= step;
        if (fabs(step - 1.0) < 1.2e-16)
            break;
    }
    double l = 1e-250, dl = h * l, top = l, above = 0;
    for (int k = 0; k < n; k++) {
        const double f = (v - k) * xi, next = f * l + dl;
        dl = (f - xi) * next + l;
        above = l;
        l = next;
        if (l > 1e200) {
            l *= 1e-200;
            dl *= 1e-200;
            top *= 1e-200;
            above *= 1e-200;
        }
    }
    /* I_{m+1} / I_m: I'/I - m / x, which cancels for m < 0 */
    const double ratio = n > 0 ? above / l : h - m * xi;
    double km, k1;
    if (x < 2.0) {
        double plus, minus, g1, g2;
        mck_temme_gamma(m, &plus, &minus, &g1, &g2);
        const double x2 = 0.5 * x, pm = MCK_PI * m, t = -log(x2), e = m * t;
        const double a = fabs(pm) < 1e-12 ? 1.0 : pm / sin(pm),
                     s = fabs(e) < 1e-8 ? 1.0 : sinh(e) / e;
        double ff = a * (g1 * cosh(e) + g2 * s * t), sum = ff;
        const double ex = exp(e);
        double p = 0.5 * ex / plus, q = 0.5 / (ex * minus), w = 1.0, z = x2 * x2, sum1 = p;
        for (int i = 1; i < 200; i++) {
            ff = (i * ff + p + q) / (i * (double)i - m * m);
            w *= z / i;
            p /= i - m;
            q /= i + m;
            const double part = w * ff;
            sum += part;
            sum1 += w * (p - i * ff);
            if (fabs(part) < 1e-17 * fabs(sum))
                break;
        }
        const double grow = exp(x);
        km = sum * grow;
        k1 = sum1 * 2.0 * xi * grow;
    } else {
        double bb = 2.0 * (1.0 + x), dd = 1.0 / bb, hh = dd, step = dd, q1 = 0, q2 = 1.0;
        const double a1 = 0.25 - m * m;
        double q = a1, cc = a1, a = -a1, s = 1.0 + q * step;
        for (int i = 2; i < MCK_BESSEL_STEPS; i++) {
            a -= 2 * (i - 1);
            cc = -a * cc / i;
            const double qn = (q1 - bb * q2) / a;
            q1 = q2;
            q2 = qn;
            q += cc * qn;
            bb += 2.0;
            dd = 1.0 / (bb + a * dd);
            step = (bb * dd - 1.0) * step;
            hh += step;
            const double part = q * step;
            s += part;
            if (fabs(part) < 1.2e-16 * fabs(s))
                break;
        }
        hh = a1 * hh;
        km = sqrt(0.5 * MCK_PI * xi) / s;
        k1 = km * (m + x + 0.5 - hh) * xi;
    }
    const double im = xi / (ratio * km + k1); /* Wronskian, DLMF 10.28.2, in scaled functions */
    const double iv = im * top / l;
    for (int i = 1; i <= n && km < MCK_INF_F64; i++) {
        const double t = (m + i) * 2.0 * xi * k1 + km;
        km = k1;
        k1 = t;
    }
    return MC_MAKE(mck_two){mck_times_exp(iv, up), mck_times_exp(km, -up)};
}

/* exp(-x) I and exp(x) K for scaled, else I and K. */
MCK_HEAVY mck_two mck_ik(double v, double x, int scaled)
{
    const double up = scaled ? 0.0 : x; /* exponent that is missing in scaled functions */
    if (v > 50.0) {
        /* DLMF 10.41.3, 10.41.4; the exponent r - x + v log(x / (v + r)), r^2 = v^2 + x^2, in pairs
         * while that pays */
        if (x > 1e150)
            return MC_MAKE(mck_two){ mck_times_exp(1.0 / sqrt(2.0 * MCK_PI * x), up),
                                     mck_times_exp(sqrt(0.5 * MCK_PI / x), -up) };
        const double v2 = v * v, x2 = x * x;
        mck_pair s = mck_pair_add(MC_MAKE(mck_pair){ v2, mck_prod_err_f64(v, v, v2) },
                                  MC_MAKE(mck_pair){ x2, mck_prod_err_f64(x, x, x2) });
        const double r = sqrt(s.hi), r2 = r * r,
                     low = ((s.hi - r2) - mck_prod_err_f64(r, r, r2) + s.lo) / (2.0 * r), p = v / r;
        mck_pair w = mck_pair_add(MC_MAKE(mck_pair){ r, low }, MC_MAKE(mck_pair){ v, 0 }),
                 lw = mck_pair_log2(w.hi, w.lo);
        const mck_pair d = mck_pair_add(MC_MAKE(mck_pair){r, low}, MC_MAKE(mck_pair){up - x, 0});
        mck_pair e = mck_pair_scale(MC_MAKE(mck_pair){MCK_LOG2E, MCK_LOG2E_LO}, d.hi);
        e.lo += d.lo * MCK_LOG2E;
        e = mck_pair_add(
            e, mck_pair_scale(
                   mck_pair_add(mck_pair_log2(x, 0), MC_MAKE(mck_pair){ -lw.hi, -lw.lo }), v));
        double even, odd;
        mck_debye_sums(v, p, 0, &even, &odd);
        const double f = 1.0 / sqrt(r);
        return MC_MAKE(mck_two){ mck_pair_exp2(e) * f / sqrt(2.0 * MCK_PI) * (even + odd),
                                 mck_pair_exp2(MC_MAKE(mck_pair){ -e.hi, -e.lo }) * f *
                                     sqrt(0.5 * MCK_PI) * (even - odd) };
    }
    return mck_ik_recurrence(v, x, scaled);
}

MC_INLINE double mck_iv_any(double v, double x, int scaled)
{
    const int whole = mck_is_whole_f64(v);
    if (v != v || x != x || isinf(v) || (x < 0 && !whole))
        return MCK_NAN_F64;
    const double a = fabs(v), ax = fabs(x);
    double y;
    if (ax == 0)
        return v == 0 ? 1.0 : v > 0 || whole ? 0.0 : MCK_INF_F64;
    if (isinf(ax))
        y = scaled ? 0.0 : MCK_INF_F64;
    else {
        const mck_two r = mck_ik(a, ax, scaled);
        y = r.a;
        if (v < 0 && !whole) /* DLMF 10.27.2 */
            y += MCK_2_PI * mck_sinpi_f64(a) * (scaled ? r.b * exp(-2.0 * ax) : r.b);
    }
    return x < 0 && mck_is_odd_f64(v) ? -y : y;
}

MC_INLINE double mck_kv_any(double v, double x, int scaled)
{
    if (v != v || !(x >= 0) || isinf(v))
        return MCK_NAN_F64;
    if (x == 0)
        return MCK_INF_F64;
    if (isinf(x))
        return 0;
    return mck_ik(fabs(v), x, scaled).b;
}

MCK_HEAVY double mck_iv_f64(double v, double x) { return mck_iv_any(v, x, 0); }
MCK_HEAVY double mck_ive_f64(double v, double x) { return mck_iv_any(v, x, 1); }
MCK_HEAVY double mck_kv_f64(double v, double x) { return mck_kv_any(v, x, 0); }
MCK_HEAVY double mck_kve_f64(double v, double x) { return mck_kv_any(v, x, 1); }

MCK_F32_OF_2(jv)
MCK_F32_OF_2(yv)
MCK_F32_OF_2(spherical_jn)
MCK_F32_OF_2(spherical_yn)
MCK_F32_OF_2(iv)
MCK_F32_OF_2(ive)
MCK_F32_OF_2(kv)
MCK_F32_OF_2(kve)

#endif
