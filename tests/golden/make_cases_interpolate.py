"""Golden cases of interpolation.

What it is for: cases_interpolate.npz, read by tests/spec/cases_spec.lua.
What it owns: the samples and places tried; seeds are fixed.
Answers by NumPy (interp) and SciPy. Axes are written as Lua counts.
"""

import warnings

import numpy as np
import scipy
import scipy.interpolate as si
import scipy.linalg

from cases import Cases

rng = np.random.default_rng(20261123)


def main():
    c = Cases('interpolate')

    def draw(*shape, bits=12):
        return c.round(rng.normal(size=shape), bits)

    def knots(n):
        return c.round(np.cumsum(rng.uniform(0.5, 1.5, n)), 10)

    inf, nan = np.inf, np.nan
    # ---- interp
    x, f = knots(7), draw(7)
    q = np.concatenate([c.round(rng.uniform(-1, 9, 20), 12), x[:3], x[-1:], [nan, -inf, inf]]).reshape(3, 9)
    for o in ({}, {'left': -1}, {'right': 9, 'left': 0.5}):
        c.add('interp', [q, x, f], o, want=np.interp(q, x, f, **o), size=8, tol='ACCUM')
    c.add('interp', [q, x, f], {'period': 3}, want=np.interp(q, x, f, period=3), size=30, tol='ACCUM')
    z = c.round(f + 1j * draw(7), 12)
    c.add('interp', [q, x, z], {'left': 1 + 2j}, want=np.interp(q, x, z, left=1 + 2j), size=8, tol='ACCUM')
    c.add('interp', [2.0, np.arange(4), np.arange(4) ** 2], want=np.interp(2.0, np.arange(4), np.arange(4) ** 2))
    c.add('interp', [np.array([0.5, 1, 1.5]), np.array([1.0]), np.array([7.0])], want=np.array([7.0, 7, 7]))
    xs, fs = np.array([0.0, 1, 1, 2]), np.array([0.0, 1, 5, 6])
    c.add('interp', [np.array([0.5, 1, 1.5]), xs, fs], want=np.interp([0.5, 1, 1.5], xs, fs))
    fi = np.array([0, inf, inf, nan, 1, -inf, 2.0])
    c.add('interp', [q, x, fi], want=np.interp(q, x, fi), tol='ACCUM', size=8)
    c.add('interp', [np.zeros(0), x, f], want=np.zeros(0))
    big = np.sort(c.round(rng.uniform(0, 100, 9), 12))
    # ---- tridiagonal, ppoly
    b = c.round(rng.normal(size=(3, 6)), 12)
    b[1] = c.round(4 + rng.uniform(size=6), 12)
    for shape in ((6,), (6, 2, 3)):
        r = draw(*shape)
        full = np.diag(b[1]) + np.diag(b[0, 1:], -1) + np.diag(b[2, :-1], 1)
        c.add('interpolate.tridiagonal', [b, r], want=np.linalg.solve(full, r.reshape(6, -1)).reshape(shape))
    p = si.PPoly(draw(4, 6, 2), x)
    inside = c.round(rng.uniform(x[0], x[-1], (2, 5)), 10)
    outside = np.concatenate([inside.ravel(), x, [x[0] - 1, x[-1] + 1, nan]])
    for nu in (0, 1, 3, 4):
        c.add('interpolate.ppoly', [outside, x, p.c], {'derivative': nu}, want=p(outside, nu), tol='ACCUM', size=300)
    c.add('interpolate.ppoly', [outside, x, p.c], {'extrapolate': False}, want=p(outside, extrapolate=False), tol='ACCUM', size=300)
    # ---- splines: coefficients
    def spline(name, s, args, opts, **more):
        c.add('interpolate.' + name, args, opts, want={'coef': s.c, 'knots': s.x}, dtypes=('f64',), tol='ITERATIVE', units=1024, **more)

    y = draw(7, 2)
    ring = y.copy()
    ring[-1] = ring[0]
    slope = draw(2)
    for n in (2, 3, 4, 7):
        for bc, ours in [('not-a-knot', 'not-a-knot'), ('natural', 'natural'), ('clamped', 'clamped'), (((1, np.full(2, 0.5)), (2, np.full(2, -1.0))), [[1, 0.5], [2, -1.0]]),
                         (('natural', 'not-a-knot'), ['natural', 'not-a-knot']), (((2, slope), (1, slope)), [[2, slope], [1, slope]])]:
            spline('cubic_spline', si.CubicSpline(x[:n], y[:n], bc_type=bc), [x[:n], y[:n]], {'axis': 1, 'bc': ours}, note=f'{n} samples')
    for n in (3, 4, 7):
        v = y[:n].copy()
        v[-1] = v[0]
        spline('cubic_spline', si.CubicSpline(x[:n], v, bc_type='periodic'), [x[:n], v], {'axis': 1, 'bc': 'periodic'}, note=f'{n} periodic')
    flat = np.array([0.0, 1, 1, 1, 3, 2, 2.5])
    for n in (2, 3, 7):
        spline('pchip', si.PchipInterpolator(x[:n], y[:n]), [x[:n], y[:n]], {'axis': 1})
        spline('akima', si.Akima1DInterpolator(x[:n], y[:n]), [x[:n], y[:n]], {'axis': 1})
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            spline('akima', si.Akima1DInterpolator(x[:n], y[:n], method='makima'), [x[:n], y[:n]], {'axis': 1, 'method': 'makima'})
    spline('pchip', si.PchipInterpolator(x, flat), [x, flat], {})
    spline('akima', si.Akima1DInterpolator(x, flat), [x, flat], {})
    # ---- interp1d
    q = np.concatenate([inside.ravel(), x]).reshape(-1)
    half = (x[1:] + x[:-1]) / 2
    for kind in ('linear', 'nearest', 'nearest-up', 'previous', 'next', 'cubic'):
        s = si.interp1d(x, y, kind=kind, axis=0)
        at = np.concatenate([q, half]) if kind != 'cubic' else q
        c.add('interpolate.interp1d', [x, y, at], {'kind': kind, 'axis': 1}, want=s(at), tol='ITERATIVE', units=256, dtypes=('f64',))
        w = draw(2, 7, 3)
        s = si.interp1d(x, w, kind=kind, axis=1)
        c.add('interpolate.interp1d', [x, w, inside], {'kind': kind, 'axis': 2}, want=s(inside), tol='ITERATIVE', units=256)
        s = si.interp1d(x, w[0].T, kind=kind, bounds_error=False, fill_value=(-1, 5))
        c.add('interpolate.interp1d', [x, w[0].T, outside[:-1]], {'kind': kind, 'fill_value': [-1, 5]}, want=s(outside[:-1]), tol='ITERATIVE', units=256, dtypes=('f64',))
        s = si.interp1d(x, y[:, 0], kind=kind, fill_value='extrapolate')
        c.add('interpolate.interp1d', [x, y[:, 0], outside[:-1]], {'kind': kind, 'fill_value': 'extrapolate'}, want=s(outside[:-1]), tol='ITERATIVE', units=512, dtypes=('f64',))
    for kind, s in [('pchip', si.PchipInterpolator(x, y)), ('akima', si.Akima1DInterpolator(x, y)), ('makima', si.Akima1DInterpolator(x, y, method='makima')),
                    ('cubic', si.CubicSpline(x, y))]:
        for nu in (0, 1):
            c.add('interpolate.interp1d', [x, y, q], {'kind': kind, 'axis': 1, 'derivative': nu}, want=s(q, nu), tol='ITERATIVE', units=512, dtypes=('f64',))
    # ---- grids
    for d, trailing in [(1, ()), (2, ()), (3, ()), (2, (2,)), (2, (2, 3))]:
        pts = [knots(n) for n in (3, 4, 2)[:d]]
        v = draw(*[len(p) for p in pts], *trailing)
        at = np.stack([c.round(rng.uniform(p[0], p[-1], (2, 5)), 10) for p in pts], axis=-1)
        at[0, 0] = [p[-1] for p in pts]
        at[0, 1] = [p[0] for p in pts]
        for method in ('linear', 'nearest'):
            s = si.RegularGridInterpolator(pts, v, method=method)
            c.add('interpolate.regular_grid', [pts, v, at], {'method': method}, want=s(at), dtypes=('f64',), size=8)
            wild = at + c.round(rng.normal(size=at.shape), 6)
            for fill in (None, 7.0, nan):
                s = si.RegularGridInterpolator(pts, v, method=method, bounds_error=False, fill_value=fill)
                c.add('interpolate.regular_grid', [pts, v, wild], {'method': method, 'fill_value': 'extrapolate' if fill is None else fill}, want=s(wild), dtypes=('f64',),
                      bits=53, size=200)
    return c.save(scipy=scipy.__version__)


if __name__ == '__main__':
    main()
