"""Golden cases of polynomials, series and convolutions of vectors.

What it is for: cases_polynomial.npz and cases_convolution.npz, read by tests/spec/cases_spec.lua.
What it owns: the degrees and lengths tried; seeds are fixed.
Answers by NumPy.
"""

import numpy as np
import numpy.polynomial as npp

from cases import Cases

rng = np.random.default_rng(20261125)


def main():
    c = Cases('polynomial')

    def draw(*shape, bits=12):
        return c.round(rng.normal(size=shape), bits)

    def cdraw(*shape, bits=12):
        return c.round(rng.normal(size=shape) + 1j * rng.normal(size=shape), bits)

    def whole(*shape, dtype='i8'):
        return rng.integers(-5, 6, shape).astype(dtype)

    x, z = c.round(rng.uniform(-2, 2, (3, 5)), 10), cdraw(2, 3, bits=8)
    for n in (1, 2, 3, 6):
        p, q = draw(n, bits=8), cdraw(n, bits=8)
        bound = float(np.polyval(np.abs(p), 4.0))
        c.add('polyval', [p, x], want=np.polyval(p, x), size=bound)
        c.add('polyval', [p, z], want=np.polyval(p, z), size=bound)
        c.add('polyval', [q, x], want=np.polyval(q, x), size=2 * bound + 40)
        c.add('polyval', [p.tolist(), x], want=np.polyval(p, x), size=bound)
    p, i = whole(4, dtype='i4'), whole(3, 2)
    c.add('polyval', [p, i], want=np.polyval(p.astype('i8'), i))
    c.add('polyval', [p, x], want=np.polyval(p, x), size=200)
    for n, m in [(3, 3), (4, 2), (1, 5), (6, 3), (2, 4)]:
        for make in (draw, cdraw, whole):
            a, b = (make(n), make(m)) if make is whole else (make(n, bits=8), make(m, bits=8))
            a[0], b[0] = 1, 2
            c.add('polyadd', [a, b], want=np.polyadd(a, b), tol='ULP4', bits=9)
            c.add('polysub', [a, b], want=np.polysub(a, b), tol='ULP4', bits=9)
            c.add('polymul', [a, b], want=np.polymul(a, b), size=40)
            if make is not cdraw:
                q, r = np.polydiv(a, b)
                c.add('polydiv', [a, b], want=[q, r], units=4096, dtypes=('f64',) if make is draw else None)
    c.add('polydiv', [np.array([1.0, -1, -1, 1]), np.array([1.0, -1])], want=list(np.polydiv([1.0, -1, -1, 1], [1.0, -1])))
    for m in (0, 1, 2, 5):
        for make in (draw, cdraw, whole):
            a = make(4)
            c.add('polyder', [a, m], want=np.polyder(a, m) if m < 4 else np.zeros(1, (a[:1] * 1).dtype))
            c.add('polyint', [a, m], want=np.polyint(a, m))
    c.add('polyint', [draw(1) * 0 + 2.0, 2], {'k': [3, 4]}, want=np.polyint(np.array([2.0]), 2, [3, 4]))
    c.add('polyint', [np.array([1.0, 2]), 1], {'k': 3}, want=np.polyint([1.0, 2], 1, 3))
    # ---- fits
    t = c.round(np.linspace(-1, 2, 12), 12)
    for deg in (0, 1, 3):
        y, ys, w = draw(12), draw(12, 2), c.round(rng.uniform(0.5, 2, 12), 8)
        c.add('polyfit', [t, y, deg], want=np.polyfit(t, y, deg), units=4096, dtypes=('f64',))
        c.add('polyfit', [t, ys, deg], {'w': w}, want=np.polyfit(t, ys, deg, w=w), units=4096, dtypes=('f64',))
        got = np.polyfit(t, y, deg, full=True)
        c.add('polyfit', [t, y, deg], {'full': True}, want={'coef': got[0], 'rank': np.int64(got[2]), 'S': got[3], 'rcond': float(got[4])}, units=4096, dtypes=('f64',))
    zz = cdraw(12)
    c.add('polyfit', [t, zz, 2], want=np.polyfit(t, zz, 2), units=4096, dtypes=('f64',))
    for r in (draw(4), cdraw(3), np.zeros(0), np.array([2.0])):
        c.add('poly', [r], want=np.atleast_1d(np.poly(r)) if r.size else np.ones(1), units=256)
    m = draw(3, 3)
    for p in ([1.0, -3, 2], [0.0, 0, 2, 4], [1.0, 0, 0], [5.0], [0.0]):
        r = np.roots(p)
        c.add('roots', [np.array(p)], want=np.sort(r)[::-1].astype(complex) if len(r) else np.zeros(0, complex), units=256, dtypes=('f64',), bits=53)
    # ---- series
    for name, f in [('chebval', npp.chebyshev.chebval), ('legval', npp.legendre.legval), ('hermval', npp.hermite.hermval), ('hermeval', npp.hermite_e.hermeval),
                    ('lagval', npp.laguerre.lagval)]:
        for n in (1, 2, 3, 7):
            a, b = draw(n, bits=8), draw(n, 2, bits=8)
            for args in ([x, a], [z, a], [x, b], [x, cdraw(n, bits=8)]):
                want = f(*args)
                c.add(name, args, want=want, size=50 * float(np.abs(want).max()) + 500)
            c.add(name, [0.5, a.tolist()], want=f(0.5, a), dtypes=('own',), size=500)
    c.save()
    # ---- convolutions
    c = Cases('convolution')
    for n, m in [(5, 3), (3, 5), (4, 4), (1, 4), (6, 2), (2, 7), (200, 90), (7, 4), (4, 7)]:
        for make in (draw, cdraw, whole):
            if n == 200 and make is whole:
                continue
            a, b = (make(n), make(m)) if make is whole else (make(n, bits=8), make(m, bits=8))
            for mode in ('full', 'same', 'valid'):
                c.add('convolve', [a, b, mode], want=np.convolve(a, b, mode), size=60)
                c.add('correlate', [a, b, mode], want=np.correlate(a, b, mode), size=60)
    c.add('convolve', [[1, 2, 3], [0, 1, 0.5]], want=np.convolve([1, 2, 3], [0, 1, 0.5]))
    c.add('correlate', [np.array([1.0, 2, 3]), np.array([0, 1, 0.5])], want=np.correlate([1.0, 2, 3], [0, 1, 0.5]))
    return c.save()


if __name__ == '__main__':
    main()
