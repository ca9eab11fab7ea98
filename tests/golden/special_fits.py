#!/usr/bin/env python3
"""Makes kernels/mck_special_fit.h, the polynomials and tables behind the special functions.

Needs mpmath only. A row of FITS is a function, an interval of its variable u and a weight: the function is interpolated at the
Chebyshev points with 40 digits, the series cut where the weighted rest falls below 2^-55 of the largest value, turned
into powers of t = (2 u - lo - hi) / (hi - lo) in [-1, 1] (or of u itself, `raw`) and rounded once to f64. A truncated Chebyshev
series is within a small factor of the best polynomial (Approximation theory and approximation practice, 2013, chapter 16).
Run: python3 special_fits.py > ../../kernels/mck_special_fit.h. May not know the kernels."""
import sys
from mpmath import mp, mpf
import mpmath as m

mp.dps = 40
EULER = m.euler


def chebyshev(f, lo, hi, n):
    """Chebyshev coefficients of f on [lo, hi], n of them."""
    theta = [m.pi * (mpf(2 * k + 1)) / (2 * n) for k in range(n)]
    values = [f((mpf(lo) + hi) / 2 + (mpf(hi) - lo) / 2 * m.cos(a)) for a in theta]
    out = []
    for j in range(n):
        c = m.fsum(v * m.cos(j * a) for v, a in zip(values, theta)) * 2 / n
        out.append(c / 2 if j == 0 else c)
    return out, values


def monomials(cheb):
    """Powers of t from Chebyshev coefficients."""
    a, b = [mpf(1)], [mpf(0), mpf(1)]
    out = [mpf(0)] * len(cheb)
    for j, c in enumerate(cheb):
        t = a if j == 0 else b if j == 1 else None
        if t is None:
            t = [mpf(0)] + [2 * x for x in b]
            for i, x in enumerate(a):
                t[i] -= x
            a, b = b, t
        for i, x in enumerate(t):
            out[i] += c * x
    return out


def compose(poly, scale, shift):
    """Coefficients in u of p(scale u + shift)."""
    out = [mpf(0)]
    for c in reversed(poly):
        new = [mpf(0)] * (len(out) + 1)
        for i, x in enumerate(out):
            new[i] += x * shift
            new[i + 1] += x * scale
        new[0] += c
        out = new
    return out[: len(poly)]


def hexa(c):
    h = float(c).hex()
    mant, e = h.split("p")
    if "." in mant:
        mant = mant.rstrip("0").rstrip(".")
    return mant + "p" + e.replace("+", "")


def emit(name, what, f, lo, hi, raw=False, bits=56):
    lo, hi = mpf(lo), mpf(hi)
    n = 32
    while True:
        cheb, values = chebyshev(f, lo, hi, n)
        low = min(abs(v) for v in values)
        high = max(abs(v) for v in values)
        size = low if max(values) * min(values) > 0 else high
        rest, cut = mpf(0), n
        while cut > 1 and rest + abs(cheb[cut - 1]) < size * mpf(2) ** -bits:
            rest += abs(cheb[cut - 1])
            cut -= 1
        if cut < n - 3 or n >= 128:
            break
        n *= 2
    poly = monomials(cheb[:cut])
    scale, shift = 2 / (hi - lo), -(hi + lo) / (hi - lo)
    if raw:
        poly = compose(poly, scale, shift)
    c = [hexa(x) for x in poly]
    print("/* %s, u in [%s, %s]; %d terms, rest 2^%d */" % (what, m.nstr(lo, 6), m.nstr(hi, 6), cut, int(m.floor(m.log(max(rest, mpf(10) ** -40) / size, 2)))))
    print("MC_INLINE double mck_fit_%s_f64(double u)\n{" % name)
    if raw:
        print("    const double t = u;")
    else:
        print("    const double t = MC_MULADD(u, %s, %s);" % (hexa(scale), hexa(shift)))
    top = len(c) - 1
    if top < 4:
        print("    double q = %s;" % c[top])
        for k in range(top - 1, -1, -1):
            print("    q = MC_MULADD(q, t, %s);" % c[k])
        print("    return q;\n}\n")
    else:
        e, o = (top, top - 1) if top % 2 == 0 else (top - 1, top)
        print("    const double s = t * t;\n    double e = %s, o = %s;" % (c[e], c[o]))
        for k in range(max(e, o) - 2, -1, -1):
            if k % 2 == 0 and k < e:
                print("    e = MC_MULADD(e, s, %s);" % c[k])
            elif k % 2 == 1 and k < o:
                print("    o = MC_MULADD(o, s, %s);" % c[k])
        print("    return MC_MULADD(o, t, e);\n}\n")
    sys.stdout.flush()


# ---- the functions ----

def dawson(x):
    return m.sqrt(m.pi) / 2 * m.exp(-x * x) * m.erfi(x)


def ein(x):
    """(Ei(x) - gamma - log x) / x for any sign."""
    return m.nsum(lambda k: x ** (k - 1) / (k * m.factorial(k)), [1, m.inf]) if abs(x) < 1e-3 else (m.ei(x) - EULER - m.log(abs(x))) / x


def e1_near(x):
    return -EULER + m.fsum((-1) ** (k + 1) * x ** k / (k * m.factorial(k)) for k in range(1, 40))


def si_series(z):
    return m.fsum((-z) ** k / ((2 * k + 1) * m.factorial(2 * k + 1)) for k in range(40))


def ci_series(z):
    return m.fsum((-1) ** k * z ** (k - 1) / (2 * k * m.factorial(2 * k)) for k in range(1, 40))


def shi_series(z):
    return m.fsum(z ** k / ((2 * k + 1) * m.factorial(2 * k + 1)) for k in range(40))


def chi_series(z):
    return m.fsum(z ** (k - 1) / (2 * k * m.factorial(2 * k)) for k in range(1, 40))


def fg_si(x):
    """f and g of the sine and cosine integrals, DLMF 6.2.17, 6.2.18."""
    si, ci = m.si(x) - m.pi / 2, m.ci(x)
    return -si * m.cos(x) + ci * m.sin(x), -si * m.sin(x) - ci * m.cos(x)


def tail(f, limit):
    """A function of w = 1 / x with its limit at w = 0."""
    return lambda w: limit if w == 0 else f(1 / w)


def fresnel_fg(x):
    with m.extradps(30):
        c, s, a = m.fresnelc(x), m.fresnels(x), m.pi * x * x / 2
        f = (mpf(1) / 2 - s) * m.cos(a) - (mpf(1) / 2 - c) * m.sin(a)
        g = (mpf(1) / 2 - c) * m.cos(a) + (mpf(1) / 2 - s) * m.sin(a)
    return f, g


def hankel(v, x):
    """P and Q x of DLMF 10.18 / 10.17: J = sqrt(2 / (pi x)) (P cos - Q sin)."""
    with m.extradps(10):
        w = x - v * m.pi / 2 - m.pi / 4
        a, b = m.sqrt(m.pi * x / 2) * m.besselj(v, x), m.sqrt(m.pi * x / 2) * m.bessely(v, x)
        return a * m.cos(w) + b * m.sin(w), (b * m.cos(w) - a * m.sin(w)) * x


def y_rest(v, z):
    x = m.sqrt(z)
    if v == 0:
        return m.bessely(0, x) - 2 / m.pi * m.log(x) * m.besselj(0, x)
    return (m.bessely(1, x) - 2 / m.pi * (m.log(x) * m.besselj(1, x) - 1 / x)) / x


def k_rest(v, z):
    with m.extradps(20):
        x = m.sqrt(z)
        if v == 0:
            return m.besselk(0, x) + m.log(x / 2) * m.besseli(0, x)
        return (m.besselk(1, x) - 1 / x - m.log(x / 2) * m.besseli(1, x)) / x


PSI0 = m.findroot(m.digamma, 1.46)


def zeta_rest(s):
    return EULER if s == 1 else m.zeta(s) - 1 / (s - 1)


def lambert(p):
    return m.findroot(lambda w: 2 * (1 + w * m.exp(w + 1)) - p * p if abs(p) > 0.05 else 2 * (1 + w * m.exp(w + 1)) / p ** 2 - 1, -1 + p - p * p / 3 + 11 * p ** 3 / 72) if p else mpf(-1)


def zeta_power(s):
    with m.workdps(80):
        return (m.zeta(s) - 1) * m.mpf(2) ** s


def rgamma1(a):
    return EULER if a == 0 else (m.rgamma(1 + a) - 1) / a


def lgamma1(a):
    return -EULER if a == 0 else m.loggamma(1 + a) / a


def main():
    print("""/* mck_special_fit.h - polynomials and tables behind the special functions.
 *
 * Owns numbers only. Made by tests/golden/special_fits.py (mpmath, 40 digits), which says how; each function names what it fits, its variable
 * u, and the rest of the cut series against the smallest value on the interval (the largest where the function has a zero). */
#ifndef MCK_SPECIAL_FIT_H
#define MCK_SPECIAL_FIT_H

#include "mck_math.h"
""")
    emit("dawson_near", "Dawson's integral over x, u = x^2", lambda z: dawson(m.sqrt(z)) / m.sqrt(z), 0, 4)
    emit("dawson_mid", "Dawson's integral times x, u = x", lambda x: x * dawson(x), 2, 5)
    emit("dawson_far", "2 x Dawson's integral, u = 1 / x^2", lambda w: 1 if w == 0 else 2 / m.sqrt(w) * dawson(1 / m.sqrt(w)), 0, mpf(1) / 25)
    gamma_table()
    emit("lgamma1", "log Gamma(1 + u) / u", lgamma1, -0.5, 0.5)
    emit("rgamma1", "(1 / Gamma(1 + u) - 1) / u", rgamma1, -0.5, 0.5)
    emit("digamma", "digamma(u) / (u - root)", lambda x: m.digamma(x) / (x - PSI0), 1, 2)
    hi = mpf(float(PSI0))
    print("#define MCK_PSI_ROOT_F64 %s\n#define MCK_PSI_ROOT_LO_F64 %s\n" % (hexa(hi), hexa(PSI0 - hi)))
    emit("zeta", "zeta(u) - 1 / (u - 1)", zeta_rest, 0, 2)
    for k, (lo, hi) in enumerate(((2, 5), (5, 14), (14, 64))):
        emit("zeta_%d" % k, "(zeta(u) - 1) 2^u", zeta_power, lo, hi)
    emit("e1_near", "E1(u) + log u", e1_near, 0, 1)
    for k, (lo, hi) in enumerate(((1, 2), (2, 4), (4, 10))):
        emit("e1_%d" % k, "x exp(x) E1(x), u = 1 / x", lambda w: m.exp(1 / w) / w * m.e1(1 / w), mpf(1) / hi, mpf(1) / lo)
    emit("e1_3", "x exp(x) E1(x), u = 1 / x", tail(lambda x: x * m.exp(x) * m.e1(x), mpf(1)), 0, mpf(1) / 10)
    emit("ei_near", "(Ei(u) - gamma - log u) / u", ein, 0, 6, raw=True)
    for k, (lo, hi) in enumerate(((6, 12), (12, 24), (24, 48))):
        emit("ei_%d" % k, "x exp(-x) Ei(x), u = 1 / x", lambda w: m.exp(-1 / w) / w * m.ei(1 / w), mpf(1) / hi, mpf(1) / lo)
    emit("ei_3", "x exp(-x) Ei(x), u = 1 / x", tail(lambda x: x * m.exp(-x) * m.ei(x), mpf(1)), 0, mpf(1) / 48)
    emit("si", "Si(x) / x, u = x^2", si_series, 0, 16)
    emit("ci_mid", "Ci(u)", m.ci, 2, 4)
    emit("ci", "(Ci(x) - gamma - log x) / x^2, u = x^2", ci_series, 0, 4)
    emit("shi", "Shi(x) / x, u = x^2", shi_series, 0, 9, raw=True)
    emit("chi", "(Chi(x) - gamma - log x) / x^2, u = x^2", chi_series, 0, 9, raw=True)
    for k, (lo, hi) in enumerate(((mpf(1) / 64, mpf(1) / 16), (mpf(0), mpf(1) / 64))):
        emit("sici_f%d" % k, "x f(x) of Si and Ci, u = 1 / x^2", lambda w: mpf(1) if w == 0 else fg_si(1 / m.sqrt(w))[0] / m.sqrt(w), lo, hi)
        emit("sici_g%d" % k, "x^2 g(x) of Si and Ci, u = 1 / x^2", lambda w: mpf(1) if w == 0 else fg_si(1 / m.sqrt(w))[1] / w, lo, hi)
    emit("fresnel_s", "S(x) / x^3, u = x^4", lambda w: m.pi / 6 if w == 0 else m.fresnels(w ** 0.25) / w ** 0.75, 0, mpf("6.5536"))
    emit("fresnel_c", "C(x) / x, u = x^4", lambda w: mpf(1) if w == 0 else m.fresnelc(w ** 0.25) / w ** 0.25, 0, mpf("6.5536"))
    w16 = 1 / mpf("6.5536")
    for k, (lo, hi) in enumerate(((mpf(1) / 81, w16), (mpf(0), mpf(1) / 81))):
        emit("fresnel_f%d" % k, "pi x f(x) of S and C, u = 1 / x^4", lambda w: mpf(1) if w == 0 else m.pi * w ** -0.25 * fresnel_fg(w ** -0.25)[0], lo, hi)
        emit("fresnel_g%d" % k, "pi^2 x^3 g(x) of S and C, u = 1 / x^4", lambda w: mpf(1) if w == 0 else m.pi ** 2 * w ** -0.75 * fresnel_fg(w ** -0.25)[1], lo, hi)
    for v in (0, 1):
        for k, (lo, hi) in enumerate(((0, 16), (16, 64))):
            emit("j%d_%d" % (v, k), "J%d(x)%s, u = x^2" % (v, " / x" if v else ""), lambda z: m.besselj(v, m.sqrt(z)) / m.sqrt(z) ** v, lo, hi)
            emit("y%d_%d" % (v, k), "Y0(x) - 2/pi log x J0(x), u = x^2" if v == 0 else "(Y1(x) - 2/pi (log x J1(x) - 1 / x)) / x, u = x^2", lambda z: y_rest(v, z), lo, hi)
        emit("p%d" % v, "P of order %d, u = (8 / x)^2" % v, lambda w: mpf(1) if w == 0 else hankel(v, 8 / m.sqrt(w))[0], 0, 1)
        emit("q%d" % v, "x Q of order %d, u = (8 / x)^2" % v, lambda w: mpf(4 * v * v - 1) / 8 if w == 0 else hankel(v, 8 / m.sqrt(w))[1], 0, 1)
        emit("i%d_near" % v, "I%d(x)%s, u = x^2 / 4" % (v, " / (x / 2)" if v else ""), lambda q: m.besseli(v, 2 * m.sqrt(q)) / m.sqrt(q) ** v, 0, 16, raw=True)
        emit("i%d_far" % v, "sqrt(x) exp(-x) I%d(x), u = 8 / x" % v, lambda w: 1 / m.sqrt(2 * m.pi) if w == 0 else m.sqrt(8 / w) * m.exp(-8 / w) * m.besseli(v, 8 / w), 0, 1)
        emit("k%d_near" % v, "K0(x) + log(x / 2) I0(x), u = x^2" if v == 0 else "(K1(x) - 1 / x - log(x / 2) I1(x)) / x, u = x^2", lambda z: k_rest(v, z), 0, 1)
        emit("k%d_mid" % v, "sqrt(x) exp(x) K%d(x), u = 1 / x" % v, lambda w: m.sqrt(1 / w) * m.exp(1 / w) * m.besselk(v, 1 / w), mpf(1) / 3, 1)
        emit("k%d_far" % v, "sqrt(x) exp(x) K%d(x), u = 1 / x" % v, lambda w: m.sqrt(m.pi / 2) if w == 0 else m.sqrt(1 / w) * m.exp(1 / w) * m.besselk(v, 1 / w), 0, mpf(1) / 3)
    emit("lambertw", "W(x) on both branches, u = +-sqrt(2 (e x + 1))", lambert, -0.6, 0.6)
    temme()
    debye()
    olver()
    gauss(32)
    bernoulli(14)
    loggamma_row(50)
    print("#endif")


def gamma_table():
    """Gamma(k + 1/2 + t / 2) on the unit intervals k = 2..9 as powers of t."""
    rows, terms = [], 18
    for k in range(2, 10):
        cheb, _ = chebyshev(lambda u: m.gamma(k + u), mpf(0), mpf(1), 40)
        rest = m.fsum(abs(c) for c in cheb[terms:]) / m.gamma(k)
        assert rest < mpf(2) ** -55, (k, rest)
        rows.append(monomials(cheb[:terms]))
    print("/* Gamma(2 + row + (1 + t) / 2) for t in [-1, 1]: powers of t */")
    print("enum { MCK_GAMMA_ROWS = %d, MCK_GAMMA_TERMS = %d };\nMC_TABLE double mck_gamma_rows_f64[MCK_GAMMA_ROWS][MCK_GAMMA_TERMS] = {" % (len(rows), terms))
    for row in rows:
        print("    {%s}," % ", ".join(hexa(x) for x in row))
    print("};\n")


def temme():
    """d[k][n] of the uniform expansion of the incomplete gamma function (DLMF 8.12.9 to 8.12.13)."""
    n, k = 40, 12
    # mu(eta): eta^2 / 2 = mu - log(1 + mu); with mu' = eta (1 + mu) / mu the powers follow one by one
    with m.workdps(60):
        mu = [mpf(0), mpf(1)]
        for j in range(2, n + 3):
            # mu mu' = eta (1 + mu): compare powers of eta^j
            s = m.fsum(mu[i] * (j - i + 1) * mu[j - i + 1] for i in range(2, j))
            mu.append((mu[j - 1] - s) / (j + 1))
        # 1 / mu = (1 / eta) / (mu / eta); d0 = 1 / mu - 1 / eta
        r, inv = mu[1:], [mpf(1)]
        for j in range(1, n + 1):
            inv.append(-m.fsum(r[i] * inv[j - i] for i in range(1, j + 1)))
        d = [inv[1:]]
        while len(d) < k:
            p = d[-1]
            d.append([(i + 2) * p[i + 2] - p[1] * d[0][i] for i in range(len(p) - 2)])
    print("/* d[k][n] of DLMF 8.12.9, with d[k][n] = (n + 2) d[k-1][n+2] - d[k-1][1] d[0][n] */")
    cols = 16
    print("enum { MCK_TEMME_ROWS = %d, MCK_TEMME_COLS = %d };\nMC_TABLE double mck_temme_f64[MCK_TEMME_ROWS][MCK_TEMME_COLS] = {" % (k, cols))
    for row in d:
        print("    {%s}," % ", ".join(hexa(x) for x in row[:cols]))
    print("};\n")


def debye_rows(n):
    """The first n polynomials U_k of DLMF 10.41.9: U_k(p) = p^k sum_j c[k][j] p^(2 j)."""
    from fractions import Fraction as F
    u = [[F(1)]]
    for k in range(n - 1):
        p = u[-1]
        new = [F(0)] * (len(p) + 3)
        for i, c in enumerate(p):  # (1/2) p^2 (1 - p^2) U' + (1/8) int (1 - 5 p^2) U
            new[i + 1] += F(i, 2) * c + c * F(1, 8) / (i + 1)
            new[i + 3] += -F(i, 2) * c - c * F(5, 8) / (i + 3)
        u.append(new)
    return [[p[k + 2 * j] if k + 2 * j < len(p) else F(0) for j in range(k + 1)] for k, p in enumerate(u)]


def debye():
    """Coefficients of the polynomials U_k."""
    u = debye_rows(14)
    print("/* U_k(p) = p^k sum_j c[k][j] p^(2 j), DLMF 10.41.9 */")
    print("enum { MCK_DEBYE_ROWS = %d };\nMC_TABLE double mck_debye_f64[MCK_DEBYE_ROWS][MCK_DEBYE_ROWS] = {" % len(u))
    for p in u:
        print("    {%s}," % ", ".join(hexa(mpf(c.numerator) / c.denominator) for c in p))
    print("};\n")


def olver():
    """A_k and B_k of DLMF 10.20.10, 10.20.11 over zeta."""
    mp.dps = 100
    u, v = [mpf(1)], [mpf(1)]  # DLMF 9.7.1, 9.7.2
    for k in range(1, 7):
        u.append(u[-1] * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1)))
        v.append(u[-1] * (6 * k + 1) / (1 - 6 * k))
    rows = debye_rows(7)

    def parts(zeta):
        """zeta^(1/2) and p = (1 - z^2)^(-1/2), on one branch: zeta^(3/2) = (3/2)(artanh(1 / p) - 1 / p)."""
        a, side = m.sqrt(abs(zeta)) ** 3 * 2 / 3, 1 if zeta > 0 else -1
        f = (lambda t: m.atanh(t) - t) if side > 0 else (lambda t: t - m.atan(t))
        t = m.cbrt(3 * a) if side < 0 else min(m.cbrt(3 * a), mpf(0.9))
        for _ in range(200):
            g = f(t) - a
            step = g / (t * t / (1 - side * t * t))
            t = t - step if 0 < t - step and (side < 0 or t - step < 1) else (t + (1 if side > 0 else 2 * t)) / 2
            if abs(step) < t * mpf(10) ** -90:
                break
        return (m.sqrt(zeta), 1 / t) if side > 0 else (m.mpc(0, m.sqrt(-zeta)), m.mpc(0, -1 / t))

    def poly(k, p):
        return p ** k * sum(mpf(c.numerator) / c.denominator * p ** (2 * j) for j, c in enumerate(rows[k]))

    def a(k):
        def f(zeta):
            r, p = parts(zeta)
            return m.re(sum(mpf(1.5) ** j * v[j] * r ** (-3 * j) * poly(2 * k - j, p) for j in range(2 * k + 1)))
        return f

    def b(k):
        def f(zeta):
            r, p = parts(zeta)
            return m.re(-sum(mpf(1.5) ** j * u[j] * r ** (-3 * j) * poly(2 * k - j + 1, p) for j in range(2 * k + 2)) / r)
        return f

    for k, bits in ((1, 40), (2, 27), (3, 12)):
        emit("olver_a%d" % k, "A_%d of DLMF 10.20.10 over zeta" % k, a(k), -0.5, 1.4, bits=bits)
    for k, bits in ((0, 46), (1, 33), (2, 20)):
        emit("olver_b%d" % k, "B_%d of DLMF 10.20.11 over zeta" % k, b(k), -0.5, 1.4, bits=bits)
    mp.dps = 40


def gauss(n):
    """Positive half of the Gauss-Legendre rule with n nodes on [-1, 1] (DLMF 3.5.15)."""
    nodes = []
    for i in range(n // 2):
        x = m.findroot(lambda t: m.legendre(n, t), m.cos(m.pi * (i + mpf("0.75")) / (n + mpf("0.5"))))
        d = n * (x * m.legendre(n, x) - m.legendre(n - 1, x)) / (x * x - 1)
        nodes.append((x, 2 / ((1 - x * x) * d * d)))
    print("/* Gauss-Legendre rule with %d nodes: the positive nodes and their weights */" % n)
    print("enum { MCK_GAUSS_HALF = %d };\nMC_TABLE double mck_gauss_f64[MCK_GAUSS_HALF][2] = {" % (n // 2))
    for x, w in nodes:
        print("    {%s, %s}," % (hexa(x), hexa(w)))
    print("};\n")


def loggamma_row(n):
    """Coefficients of log Gamma(2 + w) / w in powers of w (DLMF 5.7.3)."""
    print("/* log Gamma(2 + w) = w sum_k c[k] w^k, DLMF 5.7.3 */\nenum { MCK_LOGGAMMA_ROW = %d };\nMC_TABLE double mck_loggamma_f64_row[MCK_LOGGAMMA_ROW] = {%s};\n" % (
        n, ", ".join(hexa(1 - EULER if k == 1 else (-1) ** k * (m.zeta(k) - 1) / k) for k in range(1, n + 1))))


def bernoulli(n):
    """B_2j / (2j)! for j = 1.. of the formula of Euler and Maclaurin (DLMF 2.10.1)."""
    print("/* B_2j / (2j)!, j = 1.. */\nenum { MCK_BERNOULLI = %d };\nMC_TABLE double mck_bernoulli_f64[MCK_BERNOULLI] = {%s};\n" % (
        n, ", ".join(hexa(m.bernoulli(2 * j) / m.factorial(2 * j)) for j in range(1, n + 1))))


main()
