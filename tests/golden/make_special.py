#!/usr/bin/env python3
"""Golden answers of the special functions: special_1.npz ... by mpmath with 30 digits and more, rounded once.

What it owns: for every function of mc.special the points (logarithmic grids over the whole domain with its tails, neighbourhoods of zeros and of the
lines where the kernels change method, random points; all from fixed seeds), the reference, and the unit of error where the function
oscillates: `scale` is then the amplitude that the error is measured against. NAME_1, NAME_2, .. are the operands, NAME the answer, NAME_s the scale.
Run:  make_special.py                 the committed files
      make_special.py later           the last of them, whose functions stand in LATER
      make_special.py DENSITY FOLDER  the same with DENSITY times as many points, for measure_special.lua
May not know the kernels."""
import math
import os
import sys

import numpy as np
import mpmath as m
from mpmath import mp, mpf

import golden_file

mp.dps = 30
DENSITY = 1.0
RNG = np.random.default_rng(0)
FUNCS = {}


def count(n):
    return max(2, int(n * DENSITY))


def log(lo, hi, n, neg=False):
    """Logarithmic grid, jittered so that no two functions see the same points."""
    n = count(n)
    x = np.exp(np.log(lo) + (np.log(hi) - np.log(lo)) * (np.arange(n) + RNG.random(n)) / n)
    return np.concatenate([-x, x]) if neg else x


def lin(lo, hi, n):
    n = count(n)
    return lo + (hi - lo) * (np.arange(n) + RNG.random(n)) / n


def near(points, n, width=1e-3):
    """Random points close to each of some points."""
    out = [p + width * (2 * RNG.random(count(n)) - 1) * max(1e-3, abs(p)) for p in points]
    return np.concatenate(out + [np.array(points, dtype=float)])


def cat(*parts):
    return np.concatenate([np.atleast_1d(np.asarray(p, dtype=float)) for p in parts])


def pairs(*sets):
    """Operands drawn independently from sets of values."""
    n = max(len(s) for s in sets)
    return [s[RNG.permutation(len(s))][np.arange(n) % len(s)] if len(s) < n else s[RNG.permutation(n)] for s in sets]


def join(*groups):
    return [np.concatenate(c) for c in zip(*groups)]


def row(name, ref, points, scale=None):
    FUNCS[name] = (ref, points, scale)


def guarded(f):
    """Cancellation is answered by digits: the value at two precisions has to agree."""
    def g(*a):
        old = mp.dps
        try:
            last = None
            for extra in (0, 20, 60, 200, 600):
                mp.dps = old + extra
                v = f(*a)
                if last is not None and (v == last or abs(v - last) <= abs(v) * mpf(10) ** -25 or (mp.isnan(v) and mp.isnan(last))):
                    return v
                last = v
            return v
        finally:
            mp.dps = old
    return g


# ---- error functions ----
def ndtr(x):
    return m.erfc(-x / m.sqrt(2)) / 2


def inverse(f, slope):
    """Reference of an inverse: the points come as the exact answer x, the operand is f(x) rounded; one Newton step carries the rounding over."""
    return (f, slope)


row('erf', m.erf, lambda: [cat(log(1e-300, 6, 60, True), lin(-6, 6, 60))])
row('erfc', m.erfc, lambda: [cat(log(1e-18, 26.5, 60, True), lin(0, 26.5, 100), -lin(0, 6, 20))])
row('erfcx', lambda x: m.erfc(x) * m.exp(x * x) if x < 1e4 else (1 - 1 / (2 * x * x) + 3 / (4 * x ** 4) - 15 / (8 * x ** 6)) / (x * m.sqrt(m.pi)), lambda: [cat(log(1e-18, 1e6, 80), lin(0, 30, 60), -lin(0, 26, 60), log(1e7, 1e300, 10))])
row('erfi', m.erfi, lambda: [cat(log(1e-300, 26, 60, True), lin(0, 26.5, 80))])
row('dawsn', lambda x: m.sqrt(m.pi) / 2 * m.exp(-x * x) * m.erfi(x), lambda: [cat(log(1e-300, 100, 60, True), lin(0, 12, 120), near([2, 5], 6))])
row('ndtr', ndtr, lambda: [cat(log(1e-10, 37, 40, True), lin(-37, 8, 120))])
row('log_ndtr', lambda x: m.log1p(-m.erfc(x / m.sqrt(2)) / 2) if x > 0 else m.log(ndtr(x)), lambda: [cat(log(1e-10, 37, 40, True), lin(-40, 8, 120), -log(40, 1e10, 20), near([-1], 6))])
row('sinc', lambda x: m.sincpi(x), lambda: [cat(log(1e-10, 1e6, 60, True), lin(-10, 10, 60))])
row('entr', lambda x: -x * m.log(x), lambda: [cat(log(1e-300, 1e300, 60), lin(0.5, 2, 30))])
row('logit', lambda p: m.log(p / (1 - p)), lambda: [cat(log(1e-300, 0.5, 60), 1 - log(1e-15, 0.5, 60), lin(0.2, 0.8, 60), near([0.25, 0.75, 0.5], 6))])
row('log_expit', lambda x: -m.log1p(m.exp(-x)), lambda: [cat(log(1e-10, 700, 60, True), lin(-50, 50, 60))])
row('logistic', lambda x: 1 / (1 + m.exp(-x)), lambda: [cat(log(1e-10, 700, 60, True), lin(-50, 50, 60))])
row('xlogy', lambda x, y: x * m.log(y), lambda: pairs(log(1e-10, 1e10, 40, True), log(1e-100, 1e100, 80)))
row('xlog1py', lambda x, y: x * m.log(1 + y), lambda: pairs(log(1e-10, 1e10, 40, True), cat(log(1e-20, 1e20, 60), -log(1e-20, 0.99, 40))))
row('rel_entr', lambda x, y: x * m.log(x / y), lambda: join(pairs(log(1e-10, 1e10, 80), log(1e-10, 1e10, 80)), [np.full(count(30), 1.5), 1.5 + lin(-0.1, 0.1, 30)]))
row('kl_div', lambda x, y: x * m.log(x / y) - x + y, lambda: join(pairs(log(1e-10, 1e10, 80), log(1e-10, 1e10, 80)), [np.full(count(40), 1.5), 1.5 + lin(-0.9, 0.9, 40)]))

# ---- gamma ----
G_POINTS = lambda: [cat(log(1e-300, 1e-3, 20, True), lin(0, 20, 120), lin(20, 171.6, 60), lin(-20, 0, 120), lin(-170, -20, 30), near([3, 10, -10], 6))]
row('gamma', m.gamma, G_POINTS)
row('rgamma', m.rgamma, G_POINTS)
row('lgamma', lambda x: m.log(abs(m.gamma(x))) if abs(x) < 1e4 else m.loggamma(x).real, lambda: [cat(log(1e-300, 1e300, 80), lin(0, 20, 80), lin(-20, 0, 80))], lambda x, y: max(abs(y), 1))
row('factorial', lambda x: m.gamma(x + 1), lambda: [cat(np.arange(171), lin(0, 170, 60))])
row('digamma', m.digamma, lambda: [cat(log(1e-300, 1e300, 60), lin(0, 20, 120), lin(-20, 0, 60), near([1.4616321449683622], 10))], lambda x, y: abs(y) if x > 0 else max(abs(y), 1))
row('polygamma', lambda n, x: m.polygamma(int(n), x), lambda: join(pairs(np.arange(1.0, 21), log(1e-3, 1e3, 120)), pairs(np.arange(1.0, 6), lin(-8, 0, 60))), lambda n, x, y: max(abs(y), 1 if x < 0 else 0))
row('hurwitz_zeta', m.zeta, lambda: join(pairs(cat(lin(1.001, 30, 80), log(1.0001, 100, 40)), log(1e-3, 1e4, 120)), pairs(np.arange(2.0, 10), lin(-20, 0, 40))), lambda s, q, y: max(abs(y), 1 if q < 0 else 0))
row('riemann_zeta', m.zeta, lambda: [cat(lin(-30, 0, 80), lin(0, 10, 80), log(10, 80, 30), -log(30, 170, 20), near([1, 2, 0], 6))], lambda s, y: max(abs(y), m.gamma(1 - s) * (2 * m.pi) ** (s - 1) if s < 0 else 0))
AB = lambda: log(1e-3, 1e5, 150)
row('beta', m.beta, lambda: join(pairs(log(1e-3, 100, 120), log(1e-3, 100, 120)), pairs(log(1e-3, 30, 60), log(1e2, 1e8, 60)), pairs(lin(-9, 0, 30), lin(0, 20, 30))), lambda a, b, y: abs(y) if a > 0 else max(abs(y), abs(m.gamma(a) * m.gamma(b) / m.gamma(a + b)), 1e-3))
row('betaln', lambda a, b: m.log(abs(m.beta(a, b))), lambda: pairs(AB(), AB()), lambda a, b, y: max(abs(y), 1))
row('poch', m.rf, lambda: join(pairs(log(1e-2, 100, 60), np.arange(0.0, 30)), pairs(log(1e-2, 100, 80), log(1e-2, 50, 80))))
row('binom', m.binomial, lambda: join(pairs(np.arange(1.0, 120), np.arange(0.0, 60)), pairs(lin(0, 60, 80), lin(0, 60, 80))), lambda n, k, y: max(abs(y), 1e-16 if k == math.floor(k) else m.gamma(n + 1) / m.gamma(k + 1) / abs(m.gamma(n - k + 1.5)) if n < k else 0))
row('comb', m.binomial, lambda: [np.repeat(np.arange(1.0, 61, 4), 5), np.tile([0.0, 1, 2, 3, 5], 15)[:75] % np.repeat(np.arange(1.0, 61, 4), 5)])
row('perm', lambda n, k: m.gamma(n + 1) / m.gamma(n - k + 1), lambda: [np.repeat(np.arange(1.0, 161, 8), 4), np.floor(np.repeat(np.arange(1.0, 161, 8), 4) * np.tile([0.1, 0.5, 0.9, 1], 20))])


def lower(a, x):
    return m.gammainc(a, 0, x, regularized=True)


def upper(a, x):
    return m.gammainc(a, x, m.inf, regularized=True)


def p_gamma(a, x):
    """P and Q by series or continued fraction with as many digits as cancellation takes."""
    with m.extradps(15):
        front = m.exp(a * m.log(x) - x - m.loggamma(a))
        if x < a + 1:
            t = s = 1 / a
            k = a
            while abs(t) > abs(s) * mpf(10) ** -(mp.dps + 2):
                k += 1
                t *= x / k
                s += t
            return front * s, None
        tiny = mpf(10) ** -300
        b = x + 1 - a
        c, d = 1 / tiny, 1 / b
        h = d
        for k in range(1, 1000000):
            an = -k * (k - a)
            b += 2
            d = an * d + b
            d = 1 / (d if d != 0 else tiny)
            c = b + an / c
            e = c * d
            h *= e
            if abs(e - 1) < mpf(10) ** -(mp.dps + 2):
                break
        return None, front * h


def gammainc(a, x):
    p, q = p_gamma(a, x)
    return p if p is not None else 1 - q


def gammaincc(a, x):
    old = mp.dps
    try:
        mp.dps = 45
        p, q = p_gamma(a, x)
        return q if q is not None else 1 - p
    finally:
        mp.dps = old


def gamma_points():
    a = log(1e-3, 1e4, 160)
    x = a * np.exp(RNG.normal(size=len(a)) * np.minimum(3.0, 4 / np.sqrt(a)))
    b = log(1e-3, 30, 80)
    y = RNG.gamma(b) + 1e-6
    c = lin(15, 250, 60)
    return [cat(a, b, c), cat(x, y, c * (1 + 0.32 * (2 * RNG.random(len(c)) - 1)))]


def fits(f, low=1e-290):
    """Points at which the answer is not below the smallest numbers."""
    def g(*a):
        y = f(*a)
        return y if y > low else mpf(0)
    return g


row('gammainc', gammainc, gamma_points)
row('gammaincc', gammaincc, gamma_points)
row('gamma_density', lambda a, x: m.exp(a * m.log(x) - x - m.loggamma(a)), gamma_points)


def i_beta(a, b, x):
    """I_x(a, b) and its complement from the continued fraction on the quick side; one of the two is None."""
    with m.extradps(15):
        swap = x > (a + 1) / (a + b + 2)
        p, q, z = (b, a, 1 - x) if swap else (a, b, x)
        front = m.exp(a * m.log(x) + b * m.log(1 - x) - m.loggamma(a) - m.loggamma(b) + m.loggamma(a + b)) / p
        tiny = mpf(10) ** -300
        c, d = mpf(1), 1 - (p + q) * z / (p + 1)
        d = 1 / (d if d != 0 else tiny)
        h = d
        for k in range(1, 100000):
            e = k * (q - k) * z / ((p + 2 * k - 1) * (p + 2 * k))
            d = 1 + e * d
            d = 1 / (d if d != 0 else tiny)
            c = 1 + e / c
            c = c if c != 0 else tiny
            h *= c * d
            e = -(p + k) * (p + q + k) * z / ((p + 2 * k) * (p + 2 * k + 1))
            d = 1 + e * d
            d = 1 / (d if d != 0 else tiny)
            c = 1 + e / c
            c = c if c != 0 else tiny
            h *= c * d
            if abs(c * d - 1) < mpf(10) ** -(mp.dps + 2):
                break
        v = front * h
        return (None, v) if swap else (v, None)


def at45(f):
    def g(*a):
        old = mp.dps
        try:
            mp.dps = 45
            return f(*a)
        finally:
            mp.dps = old
    return g


@at45
def betainc(a, b, x):
    p, q = i_beta(a, b, x)
    return p if p is not None else 1 - q


@at45
def betaincc(a, b, x):
    p, q = i_beta(a, b, x)
    return q if q is not None else 1 - p


def beta_points():
    a, b = pairs(log(1e-2, 1e3, 140), log(1e-2, 1e3, 140))
    x = np.clip(RNG.beta(a, b), 1e-250, 1 - 1e-15)
    c, d = pairs(log(0.1, 300, 60), log(0.1, 300, 60))
    return [cat(a, c), cat(b, d), cat(x, RNG.random(len(c)))]


row('betainc', betainc, beta_points)
row('betaincc', betaincc, beta_points)
row('beta_density', lambda a, b, x: m.exp(a * m.log(x) + b * m.log(1 - x) - m.loggamma(a) - m.loggamma(b) + m.loggamma(a + b)), beta_points)


def back(f, density, sign=1):
    """Inverse in the last operand: from x and the rounded f(.., x) the answer at the rounded value, by Newton's method."""
    def make(*operands):
        *par, x = operands
        par, x = [mpf(v) for v in par], mpf(x)
        y = f(*par, x)
        r = mpf(float(y))
        for _ in range(3):
            d = density(*par, x)
            if d == 0:
                return float(r), None
            x += sign * (r - y) / d
            y = f(*par, x)
        return float(r), x
    return make


def gamma_pdf(a, x):
    return m.exp((a - 1) * m.log(x) - x - m.loggamma(a))


def beta_pdf(a, b, x):
    return m.exp((a - 1) * m.log(x) + (b - 1) * m.log(1 - x) - m.loggamma(a) - m.loggamma(b) + m.loggamma(a + b))


def norm_pdf(x):
    return m.exp(-x * x / 2) / m.sqrt(2 * m.pi)


INVERSES = {}


def inv(name, f, density, points, sign=1, result=None):
    INVERSES[name] = (back(f, density, sign), points, result)


inv('ndtri', ndtr, norm_pdf, lambda: [cat(lin(-37, 5, 150), log(1e-10, 5, 40, True))])
inv('erfinv', m.erf, lambda x: 2 / m.sqrt(m.pi) * m.exp(-x * x), lambda: [cat(lin(-5, 5, 100), log(1e-100, 1, 40, True))])
inv('erfcinv', m.erfc, lambda x: 2 / m.sqrt(m.pi) * m.exp(-x * x), lambda: [cat(lin(-4, 26, 150), log(1e-6, 1, 20, True))], -1)


def some(points, pick):
    def g():
        p = points()
        keep = pick(*p)
        return [v[keep] for v in p]
    return g


inv('gammaincinv', gammainc, gamma_pdf, some(gamma_points, lambda a, x: (a > 0.02) & (a < 2000)))
inv('gammainccinv', gammaincc, gamma_pdf, some(gamma_points, lambda a, x: (a > 0.02) & (a < 2000)), -1)
inv('betaincinv', betainc, beta_pdf, some(beta_points, lambda a, b, x: (a > 0.05) & (b > 0.05) & (x < 1 - 1e-9)))
inv('betainccinv', betaincc, beta_pdf, some(beta_points, lambda a, b, x: (a > 0.05) & (b > 0.05) & (x < 1 - 1e-9)), -1)
inv('beta_odds', betainc, beta_pdf, some(beta_points, lambda a, b, x: (a > 0.05) & (b > 0.05) & (x < 1 - 1e-9)), 1, lambda x: x / (1 - x))
inv('beta_oddsc', betaincc, beta_pdf, some(beta_points, lambda a, b, x: (a > 0.05) & (b > 0.05) & (x < 1 - 1e-9)), -1, lambda x: x / (1 - x))


@at45
def stdtr(v, t):
    if t == 0:
        return mpf(1) / 2
    p, q = i_beta(v / 2, mpf(1) / 2, v / (v + t * t))
    tail = (p if p is not None else 1 - q) / 2
    return 1 - tail if t > 0 else tail


T_POINTS = lambda: pairs(log(0.2, 1e4, 120), cat(-log(1e-4, 50, 90), log(1e-4, 5, 30)))
row('stdtr', stdtr, T_POINTS)
inv('stdtrit', stdtr, lambda v, t: m.exp(m.loggamma((v + 1) / 2) - m.loggamma(v / 2) - (v + 1) / 2 * m.log(1 + t * t / v)) / m.sqrt(v * m.pi), T_POINTS)


# ---- the logarithm of gamma in the complex plane ----
def plane(points):
    """Complex operands: the real parts and the imaginary ones of two sets."""
    def g():
        re, im = points()
        return [re + 1j * im]
    return g


def loggamma_points():
    angle = lin(0, 2 * math.pi, 60)
    ring = lambda centre, r: [centre + r * np.cos(angle), r * np.sin(angle)]
    return join([lin(-12, 12, 120), 10 * (2 * RNG.random(count(120)) - 1)], [lin(-3, 4, 120), 2 * (2 * RNG.random(count(120)) - 1)], [100 * (2 * RNG.random(count(60)) - 1), lin(-100, 100, 60)],
                pairs(log(1e-9, 1e9, 40, True), log(1e-9, 1e9, 40, True)), ring(1, 1e-3), ring(2, 1e-3), ring(0, 1e-6), ring(2, 1), ring(1, 0.75), [lin(0.1, 20, 30), 0 * lin(0, 1, 30)])


row('loggamma', m.loggamma, plane(loggamma_points))


# ---- Bessel ----
def amplitude(f):
    """Error unit of J, Y: the value, or past the turning point the modulus."""
    return lambda v, x, y: max(abs(y), m.sqrt(2 / (m.pi * abs(x))) * (0.5 if abs(x) > max(abs(v), 0.5) else 0))


J_POINTS = lambda: [cat(log(1e-20, 1e6, 60), lin(0, 12, 120), lin(12, 60, 40), near([4, 8, 25], 8))]
for order in (0, 1):
    row('j%d' % order, lambda x, v=order: m.besselj(v, x), lambda: [cat(J_POINTS()[0], -lin(0, 30, 10))], lambda x, y, v=order: amplitude(0)(v, x, y))
    row('y%d' % order, lambda x, v=order: m.bessely(v, x), J_POINTS, lambda x, y, v=order: amplitude(0)(v, x, y))
    row('i%d' % order, lambda x, v=order: m.besseli(v, x), lambda: [cat(log(1e-20, 700, 60), lin(0, 20, 80), -lin(0, 20, 10), near([8], 8))])
    row('k%d' % order, lambda x, v=order: m.besselk(v, x), lambda: [cat(log(1e-20, 700, 60), lin(0, 10, 80), near([1, 3], 8))])
    row('i%de' % order, lambda x, v=order: m.besseli(v, x) * m.exp(-abs(x)), lambda: [cat(log(1e-20, 1e5, 60), lin(0, 20, 80), -lin(0, 20, 10))])
    row('k%de' % order, lambda x, v=order: m.besselk(v, x) * m.exp(x), lambda: [cat(log(1e-20, 1e5, 60), lin(0, 10, 80))])


def besselj(v, x):
    with m.workdps(50):
        return m.besselj(v, x)


def bessely(v, x):
    with m.workdps(50):
        return m.bessely(v, x)


def order_points():
    whole = pairs(cat(np.arange(0.0, 31), [40.0, 60, 100]), log(1e-2, 300, 120))
    real = pairs(lin(0, 30, 90), log(1e-2, 200, 90))
    turn = lin(5, 150, 50)
    return join(whole, real, [turn, turn * (1 + 0.3 * (2 * RNG.random(len(turn)) - 1))], pairs(-lin(0, 10, 25), log(0.1, 50, 25)))


def keep(points, f, low=1e-280, high=1e280):
    """Only where the answer is a normal number, so that the unit of error is the format's."""
    def g():
        p = points()
        good = []
        for i in range(len(p[0])):
            y = f(*[mpf(float(c[i])) for c in p])
            good.append(low < abs(y) < high)
        return [c[np.array(good)] for c in p]
    return g


row('jv', besselj, keep(order_points, besselj), amplitude(0))
row('yv', bessely, keep(order_points, bessely), amplitude(0))
row('iv', m.besseli, keep(order_points, m.besseli))
row('kv', m.besselk, keep(order_points, m.besselk))
row('ive', lambda v, x: m.besseli(v, x) * m.exp(-x), keep(order_points, m.besseli))
row('kve', lambda v, x: m.besselk(v, x) * m.exp(x), keep(order_points, m.besselk))
SPH = lambda: pairs(np.arange(0.0, 41), cat(log(1e-2, 300, 100), lin(0, 60, 40)))


def sph_j(n, x):
    with m.workdps(50):
        return m.sqrt(m.pi / (2 * x)) * m.besselj(n + 0.5, x)


def sph_y(n, x):
    with m.workdps(50):
        return m.sqrt(m.pi / (2 * x)) * m.bessely(n + 0.5, x)


row('spherical_jn', sph_j, keep(SPH, sph_j), lambda n, x, y: max(abs(y), 0.5 / x if x > n + 0.5 else 0))
row('spherical_yn', sph_y, keep(SPH, sph_y), lambda n, x, y: max(abs(y), 0.5 / x if x > n + 0.5 else 0))

# ---- integrals ----
row('exp1', m.e1, lambda: [cat(log(1e-300, 700, 80), lin(0, 12, 100), near([1, 2, 4, 10], 6))])
row('expi', m.ei, lambda: [cat(log(1e-300, 700, 80), -log(1e-300, 700, 30), lin(0, 60, 100), near([6, 12, 24, 48, 0.37250741078136664], 8))])
row('expn', lambda n, x: m.expint(n, x), lambda: pairs(cat(np.arange(0.0, 21), [50.0, 200]), cat(log(1e-6, 500, 120), near([1], 8))))
row('si', m.si, lambda: [cat(log(1e-20, 1e6, 80, True), lin(0, 40, 100), near([4, 8], 6))])
row('ci', m.ci, lambda: [cat(log(1e-20, 1e6, 80), lin(0, 40, 100), near([4, 8, 0.6165], 6))], lambda x, y: max(abs(y), 0.7 / max(x, 1)))
row('shi', m.shi, lambda: [cat(log(1e-20, 700, 80, True), lin(0, 20, 80), near([3], 6))])
row('chi', m.chi, lambda: [cat(log(1e-20, 700, 80), lin(0, 20, 80), near([3, 0.5238], 6))], lambda x, y: max(abs(y), 0.5))
row('fresnel_s', m.fresnels, lambda: [cat(log(1e-50, 1e4, 60, True), lin(0, 12, 120), near([1.6, 3], 6))])
row('fresnel_c', m.fresnelc, lambda: [cat(log(1e-50, 1e4, 60, True), lin(0, 12, 120), near([1.6, 3], 6))])
row('lambertw0', lambda x: m.lambertw(x, 0).real, lambda: [cat(log(1e-300, 1e300, 60), lin(-0.3678, 4, 100), -0.36787944117144233 + log(1e-14, 0.1, 40), -log(1e-20, 0.3, 20))])
row('lambertwm1', lambda x: m.lambertw(x, -1).real, lambda: [cat(-log(1e-300, 0.3678, 100), -0.36787944117144233 + log(1e-14, 0.3, 40))])


def owens(h, a):
    with m.workdps(25):
        h, a = abs(h), a
        end = min(abs(a), 14 / h) if h > 0 else abs(a)
        cuts = [mpf(0)] + [end * k / 6 for k in range(1, 7)]
        v = m.quad(lambda t: m.exp(-h * h * t * t / 2) / (1 + t * t), cuts) / (2 * m.pi) * m.exp(-h * h / 2)
        return v if a > 0 else -v


row('owens_t', owens, lambda: pairs(cat(lin(0, 8, 30), log(1e-3, 30, 25)), cat(lin(-1, 1, 20), log(1e-3, 50, 35))))

# ---- elliptic ----
M_POINTS = lambda: cat(log(1e-20, 0.5, 20), lin(0, 1, 80), 1 - log(1e-16, 0.5, 40), -log(1e-3, 1e6, 40))
row('ellipk', m.ellipk, lambda: [M_POINTS()])
row('ellipkm1', lambda p: m.ellipk(1 - p) if p > 1e-20 else (m.log(4 / m.sqrt(p)) + p / 4 * (m.log(4 / m.sqrt(p)) - 1)), lambda: [cat(log(1e-300, 1, 60), lin(0, 1, 30), log(1, 1e6, 20))])
row('ellipe', m.ellipe, lambda: [M_POINTS()])
PHI = lambda: cat(lin(-1.57, 1.57, 80), log(1e-6, 1.57, 30), lin(-20, 20, 40))
row('ellipkinc', lambda p, k: m.ellipf(p, k), lambda: pairs(PHI(), cat(lin(0, 1, 80), -log(1e-3, 100, 20), 1 - log(1e-6, 0.1, 20))))
row('ellipeinc', lambda p, k: m.ellipe(p, k), lambda: pairs(PHI(), cat(lin(0, 1, 80), -log(1e-3, 100, 20), 1 - log(1e-6, 0.1, 20))))
U_POINTS = lambda: pairs(lin(-8, 8, 100), cat(lin(0, 1, 80), 1 - log(1e-6, 0.1, 20)))
for kind in ('sn', 'cn', 'dn'):
    row('ellipj_' + kind, lambda u, k, kind=kind: m.ellipfun(kind, u, m=k).real, U_POINTS, lambda u, k, y: 1)


def am(u, k):
    with m.workdps(40):
        s, c = m.ellipfun('sn', u, m=k).real, m.ellipfun('cn', u, m=k).real
        r = m.atan2(s, c)
        turns = m.nint((m.pi * u / (2 * m.ellipk(k)) - r) / (2 * m.pi))
        return r + 2 * m.pi * turns


row('ellipj_ph', am, U_POINTS, lambda u, k, y: max(abs(y), 1))
TRIPLE = lambda: pairs(log(1e-5, 1e5, 100), log(1e-5, 1e5, 100), log(1e-5, 1e5, 100))
row('elliprf', m.elliprf, TRIPLE)
row('elliprd', m.elliprd, TRIPLE)
row('elliprg', m.elliprg, TRIPLE)
row('elliprc', m.elliprc, lambda: join(pairs(log(1e-5, 1e5, 80), log(1e-5, 1e5, 80)), [np.full(count(20), 2.0), 2 + lin(-0.01, 0.01, 20)], pairs(log(1e-2, 1e2, 20), -log(1e-2, 1e2, 20))))

# ---- Legendre ----
row('eval_legendre', m.legendre, lambda: pairs(np.arange(0.0, 41), cat(lin(-1, 1, 120), 1 - log(1e-10, 0.1, 20))), lambda n, x, y: max(abs(y), 1 / (n + 1) ** 0.5 * 0.5))


def lpmv(o, v, x):
    """P_v^m by differentiating the polynomial: (-1)^m (1 - x^2)^(m/2) d^m/dx^m P_v."""
    with m.workdps(60):
        o, v = int(o), int(v)
        k = abs(o)
        if k > v:
            return mpf(0)
        c = m.taylor(lambda t: m.legendre(v, t), 0, v)
        d = [cc * m.rf(i - k + 1, k) for i, cc in enumerate(c) if i >= k]
        p = (-1) ** k * (1 - x * x) ** (mpf(k) / 2) * m.polyval(d[::-1], x)
        return p if o >= 0 else (-1) ** k * m.factorial(v - k) / m.factorial(v + k) * p


def lpmv_points():
    v = np.repeat(np.arange(0.0, 13), count(8))
    o = np.array([RNG.integers(-int(k), int(k) + 1) for k in v], dtype=float)
    return [o, v, 2 * RNG.random(len(v)) - 1]


def lpmv_size(o, v, x):
    f = m.sqrt(m.factorial(v + o) / m.factorial(v - o))
    return 0.5 * f / m.sqrt(v + 1)


row('lpmv', lpmv, lpmv_points, lambda o, v, x, y: max(abs(y), min(lpmv_size(o, v, x), lpmv_size(o, v, x) * (1 - x * x) ** (abs(o) / 2))))
row('sph_legendre_p', lambda n, o, t: m.sqrt((2 * n + 1) / (4 * m.pi) * m.factorial(n - o) / m.factorial(n + o)) * lpmv(o, n, m.cos(t)), lambda: [lpmv_points()[1]] and (lambda p: [p[1], p[0], m_acos(p[2])])(lpmv_points()), lambda n, o, t, y: max(abs(y), m.mpf(0.1) * m.sin(t) ** abs(o)))


def m_acos(x):
    return np.arccos(x)


# ---- counting distributions, von Mises ----
def smallest(cdf):
    def f(p, *par):
        k = 0
        while cdf(k, *par) < p:
            k += 1
        return mpf(k)
    return f


def smallest_tail(sf):
    def f(q, *par):
        k = 0
        while sf(k, *par) > q:
            k += 1
        return mpf(k)
    return f


def poisson(k, mu):
    return gammaincc(mpf(k) + 1, mu)


def binom(k, n, p):
    return mpf(1) if k >= n else betaincc(mpf(k) + 1, n - k, p)


def nbinom(k, n, p):
    return betainc(n, mpf(k) + 1, p)


# ---- Struve ----
def struve_points():
    orders = lambda n: cat(RNG.integers(-4, 12, n // 3), RNG.integers(-4, 12, n // 3) + 0.5, 24 * RNG.random(n // 3) - 12)
    return join(pairs(orders(count(90)), log(1e-6, 30, 80)), pairs(orders(count(90)), lin(0, 60, 80)), pairs(orders(count(60)), log(30, 1e4, 50)), pairs(lin(-60, 200, 60), log(0.1, 300, 60)))


def small_argument(points):
    def g():
        v, x = points()
        return [v[x < 600], x[x < 600]]
    return g


# error unit: the value, or past the turning point the modulus of Y beside it; where its terms take turns in sign, their sum may vanish
row('struve', m.struveh, struve_points, lambda v, x, y: max(abs(y), m.sqrt(2 / (m.pi * x)) * (0.5 if x > max(abs(v), 0.5) else 0)))
row('modstruve', m.struvel, small_argument(struve_points))


PROB = lambda n: cat(RNG.random(count(n)), log(1e-12, 0.1, n // 3))
row('poisson_ppf', smallest(poisson), lambda: pairs(PROB(45), log(0.05, 60, 60)))
row('poisson_isf', smallest_tail(lambda k, mu: gammainc(mpf(k) + 1, mu)), lambda: pairs(PROB(45), log(0.05, 60, 60)))
row('binom_ppf', smallest(binom), lambda: pairs(PROB(45), np.floor(log(1, 80, 60)), RNG.random(count(60))))
row('binom_isf', smallest_tail(lambda k, n, p: mpf(0) if k >= n else betainc(mpf(k) + 1, n - k, p)), lambda: pairs(PROB(45), np.floor(log(1, 80, 60)), RNG.random(count(60))))
row('nbinom_ppf', smallest(nbinom), lambda: pairs(PROB(30), log(0.5, 20, 40), lin(0.2, 1, 40)))
row('nbinom_isf', smallest_tail(lambda k, n, p: betaincc(n, mpf(k) + 1, p)), lambda: pairs(PROB(30), log(0.5, 20, 40), lin(0.2, 1, 40)))


def vonmises(k, x):
    with m.workdps(25):
        cuts = sorted([-m.pi] + [c for c in [-m.pi + (x + m.pi) * j / 8 for j in range(1, 8)]] + [x])
        top = m.cos(x) if x < 0 else mpf(1)
        return m.quad(lambda t: m.exp(k * (m.cos(t) - top)), cuts) / (2 * m.pi * m.besseli(0, k)) * m.exp(k * top)


row('vonmises_cdf', vonmises, lambda: pairs(log(1e-3, 300, 60), lin(-3.1, 3.1, 60)))


def answer(name):
    """Operands, answers and scales of one function as f64 arrays."""
    global RNG
    RNG = np.random.default_rng(sum(ord(c) * 31 ** (i % 5) for i, c in enumerate(name)))
    if name in INVERSES:
        make, points, result = INVERSES[name]
        cols = points()
        outs, want, kept = [], [], []
        for i in range(len(cols[0])):
            y, x = make(*[float(c[i]) for c in cols])
            if x is None or not 0 < abs(y) or (name not in ('erfinv', 'stdtrit') and not y < (2 if name == 'erfcinv' else 1)):
                continue
            if y > 0.999 and name not in ('erfcinv',) or y < 1e-290 and y >= 0:
                continue
            outs.append(y)
            want.append(float(result(x) if result else x))
            kept.append([float(c[i]) for c in cols[:-1]])
        par = [np.array(c) for c in zip(*kept)] if kept and kept[0] else []
        return par + [np.array(outs)], np.array(want), None
    ref, points, scale = FUNCS[name]
    cols = points()
    want, size = [], []
    for i in range(len(cols[0])):
        a = [m.mpc(c[i]) if np.iscomplexobj(c) else mpf(float(c[i])) for c in cols]
        try:
            y = guarded(ref)(*a) if name not in SLOW else ref(*a)
        except ValueError:  # a pole
            y = mpf('nan')
        if not np.iscomplexobj(cols[0]):
            y = y.real if hasattr(y, 'real') else y
        want.append(complex(y) if np.iscomplexobj(cols[0]) else float(y))
        size.append(float(scale(*a, y)) if scale and y == y else 0.0)
    fine = np.isfinite(want)
    return [c[fine] for c in cols], np.array(want)[fine], np.array(size)[fine] if scale else None


LATER = ('loggamma', 'modstruve', 'struve')  # in a file of their own
SLOW = {'owens_t', 'vonmises_cdf', 'gammainc', 'gammaincc', 'betainc', 'betaincc', 'stdtr', 'poisson_ppf', 'poisson_isf', 'binom_ppf', 'binom_isf', 'nbinom_ppf', 'nbinom_isf',
        'lpmv', 'sph_legendre_p', 'jv', 'yv', 'spherical_jn', 'spherical_yn', 'ellipj_ph'}
ABOUT = {'script': 'make_special.py', 'source': 'mpmath ' + m.__version__}


def main():
    global DENSITY
    later = sys.argv[1:2] == ['later']
    if later:
        del sys.argv[1]
    if len(sys.argv) > 1:
        DENSITY = float(sys.argv[1])
        golden_file.FOLDER, golden_file.LIMIT = sys.argv[2], 10 ** 9
    part, arrays, size = 1, {}, 0
    names = sorted((set(FUNCS) | set(INVERSES)) - set(LATER)) + sorted(LATER)
    for name in names:
        if name == sorted(LATER)[0]:
            if not later:
                golden_file.save('special_%d' % part, ABOUT, arrays)
            part, arrays, size = (6 if later else part + 1), {}, 0
        elif later and name not in LATER:
            continue
        cols, want, scale = answer(name)
        new = {name: want}
        for k, c in enumerate(cols):
            new['%s_%d' % (name, k + 1)] = c
        if scale is not None:
            new[name + '_s'] = scale
        bytes_ = sum(v.nbytes for v in new.values())
        if size + bytes_ > 90_000 and DENSITY == 1:
            golden_file.save('special_%d' % part, ABOUT, arrays)
            part, arrays, size = part + 1, {}, 0
        arrays.update(new)
        size += bytes_
    golden_file.save('special_%d' % part, ABOUT, arrays)


if __name__ == '__main__':
    main()
