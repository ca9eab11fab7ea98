#!/usr/bin/env python3
"""Makes the polynomial coefficients of kernels/mck_math_f32.h, mck_math_f64.h, of erfinv in mck_special.h and the tables
of mck_normal.h.

Needs mpmath only. Each row of TABLE is a weighted minimax fit: sum c_j x^j against f(x) on [lo, hi], error times
weight(x) made equal-ripple by the Remez exchange on a fixed grid of Chebyshev points, then rounded to the target
format. For f32 the coefficients are also rounded one by one, lowest power first, the rest being fitted again after
each rounding, and the better of the two sets is kept.
Run: python3 ulp_coefs.py [name ...]. Prints hex float coefficients, lowest power first, and the weighted error
that is left (log2). May not know the kernels; the headers carry the numbers by hand."""
import struct
import sys
from mpmath import mp, mpf, matrix, lu_solve, exp, log, sin, cos, asin, atan, atanh, tanh, asinh, acosh, erf, erfc, erfinv, expm1, sqrt, pi, cbrt

mp.prec = 160


def round_to(x, fmt):
    if fmt == "f64":
        return mpf(float(x))
    # float(x) then to f32: double rounding is harmless here, the fit absorbs it
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def remez(xs, ys, ws, powers):
    """Coefficients of the given powers that level max |w (y - p)| on the grid."""
    n = len(powers)
    m = len(xs)
    ref = [(2 * i + 1) * m // (2 * (n + 1)) for i in range(n + 1)]
    coef = None
    for _ in range(40):
        a = matrix(n + 1, n + 1)
        b = matrix(n + 1, 1)
        for r, i in enumerate(ref):
            for k, p in enumerate(powers):
                a[r, k] = xs[i] ** p
            a[r, n] = (1 if r % 2 == 0 else -1) / ws[i]
            b[r] = ys[i]
        sol = lu_solve(a, b)
        coef = [sol[k] for k in range(n)]
        err = []
        for x, y, w in zip(xs, ys, ws):
            acc = mpf(0)
            last = None
            for c, p in reversed(list(zip(coef, powers))):
                acc = acc * x ** (last - p) + c if last is not None else c
                last = p
            err.append(w * (y - acc * x ** last))
        best = []
        for i, e in enumerate(err):
            if best and (err[best[-1]] > 0) == (e > 0):
                if abs(e) > abs(err[best[-1]]):
                    best[-1] = i
            else:
                best.append(i)
        while len(best) > n + 1:
            if abs(err[best[0]]) < abs(err[best[-1]]):
                best.pop(0)
            else:
                best.pop()
        worst = max(abs(e) for e in err)
        if len(best) < n + 1 or best == ref or worst <= abs(sol[n]) * mpf("1.001"):
            return coef, worst
        ref = best
    return coef, worst


def least_squares(xs, ys, ws, powers):
    """The same fit in the mean: safe where the powers left over are no Chebyshev system (x = 0 inside)."""
    n = len(powers)
    a = matrix(n, n)
    b = matrix(n, 1)
    rows = [[w * x ** p for p in powers] for x, w in zip(xs, ws)]
    for j in range(n):
        for k in range(j, n):
            a[j, k] = a[k, j] = sum(r[j] * r[k] for r in rows)
        b[j] = sum(r[j] * w * y for r, w, y in zip(rows, ws, ys))
    sol = lu_solve(a, b)
    return [sol[k] for k in range(n)]


def fit(f, lo, hi, count, weight, fmt):
    m = 24 * (count + 1)
    xs = [(mpf(lo) + hi) / 2 - (mpf(hi) - lo) / 2 * cos(pi * (2 * i + 1) / (2 * m)) for i in range(m)]
    ws = [abs(weight(x)) for x in xs]
    full = [f(x) for x in xs]

    def left(coef):
        return max(abs(w * (y - sum(c * x ** k for k, c in enumerate(coef)))) for x, y, w in zip(xs, full, ws))

    best, _ = remez(xs, full, ws, list(range(count)))
    once = [round_to(c, fmt) for c in best]
    if fmt == "f64":
        return once, left(once)
    step = [once[0]]
    while len(step) < count:
        ys = [y - sum(c * x ** k for k, c in enumerate(step)) for x, y in zip(xs, full)]
        coef = least_squares(xs, ys, ws, list(range(len(step), count)))
        step.append(round_to(coef[0], fmt))
    return min(((once, left(once)), (step, left(step))), key=lambda t: t[1])


def exp_q(r):
    return (exp(r) - 1 - r) / r ** 2


def atanh_l(z):
    s = sqrt(z)
    return (2 * atanh(s) - 2 * s) / (s * z)


def atanh_t(z):
    s = sqrt(z)
    return (2 * atanh(s) - 2 * s - 2 * s ** 3 / 3) / (s * z * z)


def log_p(f):
    return (log(1 + f) - f + f * f / 2) / f ** 3


def sin_s(z):
    r = sqrt(z)
    return (sin(r) - r) / r ** 3


def cos_c(z):
    return (cos(sqrt(z)) - 1 + z / 2) / z ** 2


def asin_r(z):
    x = sqrt(z)
    return (asin(x) - x) / x ** 3


def atan_a(z):
    x = sqrt(z)
    return (atan(x) - x) / x ** 3


def tanh_t(z):
    x = sqrt(z)
    return (tanh(x) - x) / x ** 3


def erf_p(z):
    x = sqrt(z)
    return erf(x) / x - 1


ERFC_K = mpf("3.75")


def erfc_g(t):
    x = ERFC_K * (1 + t) / (1 - t)
    return (1 + 2 * x) * exp(x * x) * erfc(x)


def atanh_p(z):
    x = sqrt(z)
    return (atanh(x) - x) / x ** 3


def asinh_p(z):
    x = sqrt(z)
    return (asinh(x) - x) / x ** 3


def acosh_p(t):
    return (acosh(1 + t) / sqrt(2 * t) - 1) / t


def erf_far(t):
    return log(erfc(1 + t), 2) + 3


def exp2_of(r):
    return expm1(r * log(mpf(2))) / r


def erfc_two(t):
    x = 2 * (1 + t) / (1 - t)
    return (2 + x) * exp(x * x) * erfc(x)


def erfinv_of(w):
    """erfinv(x) / x for w = -log(1 - x^2)"""
    x = sqrt(-expm1(-w))
    return erfinv(x) / x if w > 0 else sqrt(pi) / 2


def erfinv_near(u):
    return erfinv_of(u + mpf("0.5"))


def erfinv_far(u):
    return erfinv_of((u + mpf("3.125")) ** 2)


S2 = sqrt(mpf(2))
FLO, FHI = 1 / S2 - 1, S2 - 1
ZL = mpf("0.02944")
QPI = (mpf("0.786")) ** 2
W1 = lambda x: mpf(1)
T_HI = (28 - ERFC_K) / (28 + ERFC_K)

# name: (function, low, high, coefficients, weight, format[, leading coefficients held])
TABLE = {
    "exp_f64": (exp_q, -0.3467, 0.3467, 11, lambda r: r, "f64"),
    "log_f64": (atanh_l, 1e-9, ZL, 7, lambda z: z, "f64"),
    "logtail_f64": (atanh_t, 1e-9, ZL, 7, lambda z: z, "f64"),
    "sin_f64": (sin_s, 1e-9, QPI, 6, lambda z: z, "f64"),
    "cos_f64": (cos_c, 1e-9, QPI, 6, lambda z: z * z, "f64"),
    "asin_f64": (asin_r, 1e-9, 0.25, 13, lambda z: z, "f64"),
    "atan_f64": (atan_a, 1e-9, 0.2501, 13, lambda z: z, "f64"),
    "erf_f64": (erf_p, 1e-9, 1.0, 13, W1, "f64"),
    "erfc_f64": (erfc_g, -1, T_HI, 23, W1, "f64"),
    "cbrt_f64": (cbrt, 0.707, 5.658, 5, lambda x: 1 / cbrt(x), "f64"),
    "exp_f32": (exp_q, -0.35, 0.35, 5, lambda r: r, "f32"),
    "log_f32": (log_p, FLO, FHI, 9, lambda f: f * f, "f32"),
    "sin_f32": (sin_s, 1e-9, mpf("0.84") ** 2, 4, lambda z: z, "f32"),
    "cos_f32": (cos_c, 1e-9, mpf("0.84") ** 2, 4, lambda z: z * z, "f32"),
    "asin_f32": (asin_r, 1e-9, 0.25, 5, lambda z: z, "f32"),
    "atan_f32": (atan_a, 1e-9, 0.2501, 6, lambda z: z, "f32"),
    "tanh_f32": (tanh_t, 1e-9, mpf("0.56") ** 2, 5, lambda z: z, "f32"),
    "erf_f32": (erf_p, 1e-9, 1.0, 7, W1, "f32"),
    "erf_far_f32": (erf_far, 0, 3, 6, lambda t: erfc(1 + t), "f32"),
    "erf_exp2_f32": (exp2_of, -0.5, 0.5, 5, lambda r: r / mpf(2) ** r, "f32"),
    "erfc_f32": (erfc_two, mpf("-1.53125") / mpf("2.46875"), mpf("8.2") / mpf("12.2"), 11, lambda t: 1 / erfc_two(t), "f32"),
    "asinh_f32": (asinh_p, 1e-9, 0.25, 5, lambda z: z, "f32"),
    "acosh_f32": (acosh_p, 1e-9, 0.5, 5, lambda t: t, "f32"),
    "atanh_f32": (atanh_p, 1e-9, 0.25, 6, lambda z: z, "f32"),
    "erfinv_near_f32": (erfinv_near, -0.5, 4.5, 10, lambda u: 1 / erfinv_near(u), "f32"),
    "erfinv_far_f32": (erfinv_far, sqrt(mpf(5)) - mpf("3.125"), mpf("0.875"), 10, lambda u: 1 / erfinv_far(u), "f32"),
    # f32 functions that are evaluated in f64
    "exp_mix": (exp_q, -0.3467, 0.3467, 6, lambda r: r, "f64"),
    "log_mix": (atanh_l, 1e-9, ZL, 4, lambda z: z, "f64"),
    "sin_mix": (sin_s, 1e-9, mpf("0.84") ** 2, 4, lambda z: z, "f64"),
    "cos_mix": (cos_c, 1e-9, mpf("0.84") ** 2, 4, lambda z: z * z, "f64"),
}


def tail(c):
    return erfc(c / sqrt(mpf(2))) / 2


def density(c):
    return exp(-c * c / 2) / sqrt(2 * pi)


def slope_weight(c):
    """Relative where the function is large or in its tail, else in units of its extreme."""
    size = abs(tail(c) - c * density(c))
    return size if c > mpf("1.5") else max(size, mpf("0.128"))


# name: (function of c = |x|, what its error is divided by, zero at 0). Eight pieces of [0, 5.5), used up to 5.4921875: piece k is where
# (K1 c + K2) c rounds to k. Columns: the middle of the piece, coefficients of the powers of c less that, highest first.
K1, K2, LAST, DEGREE = round_to(mpf(7.5) / (mpf(5.5) ** 2 + mpf(2.5) * mpf(5.5)), "f32"), None, mpf(5.5), 8
K2 = round_to(K1 * mpf(2.5), "f32")
PIECES = {
    "gelu_pieces_f32": (lambda c: c * tail(c), lambda c: c * tail(c), True),
    "gelu_slope_pieces_f32": (lambda c: c * density(c) - tail(c), slope_weight, False),
}


def piece(f, size, k, zero):
    lo, hi = [(-K2 + sqrt(K2 * K2 + 4 * K1 * max(mpf(0), mpf(k) + d))) / (2 * K1) for d in (mpf(-0.5), mpf(0.5))]
    lo, hi = max(lo - mpf("3e-6"), mpf("1e-6")), min(hi + mpf("3e-6"), LAST)
    middle = mpf(0) if k == 0 else mpf(int(32 * (lo + hi) + 0.5)) / 64
    if zero and k == 0:
        coef, left = fit(lambda t: f(t) / t, lo, hi, DEGREE, lambda t: t / size(t), "f32")
        coef = [mpf(0)] + coef
    else:
        coef, left = fit(lambda t: f(middle + t), lo - middle, hi - middle, DEGREE + 1, lambda t: 1 / size(middle + t), "f32")
    return [middle] + coef[::-1], left


def pieces(name):
    f, size, zero = PIECES[name]
    columns, left = zip(*(piece(f, size, k, zero) for k in range(8)))
    print("%s  2^%.1f  K1 %s K2 %s" % (name, float(log(max(left), 2)), c_hex(K1, "f32"), c_hex(K2, "f32")))
    for row in zip(*columns):
        print("    " + ", ".join(c_hex(c, "f32") for c in row) + ",")


def c_hex(c, fmt):
    h = float(c).hex()
    mant, e = h.split("p")
    if "." in mant:
        mant = mant.rstrip("0").rstrip(".")
    return mant + "p" + e.replace("+", "") + ("f" if fmt == "f32" else "")


def main():
    for name in sys.argv[1:] or list(TABLE) + list(PIECES):
        if name in PIECES:
            pieces(name)
            continue
        row = TABLE[name]
        coef, left = fit(*row)
        print("%s  2^%.1f" % (name, float(log(left, 2))))
        for k, c in enumerate(coef):
            print("  c%-2d %s" % (k, c_hex(c, row[5])))
        sys.stdout.flush()


main()
