"""Golden cases of grids, differences, gradients, integrals and phases.

What it is for: cases_grid.npz and cases_calculus.npz, read by tests/spec/cases_spec.lua.
What it owns: the shapes and spacings tried; seeds are fixed.
Answers by NumPy and SciPy. Positions and axes are written as Lua counts.
"""

import numpy as np
import scipy
import scipy.integrate

from cases import Cases

rng = np.random.default_rng(20261122)
HALF = ('f16', 'f32', 'f64', 'bf16')


def draw(c, *shape, bits=12):
    return c.round(rng.normal(size=shape), bits)


def cdraw(c, *shape, bits=12):
    return c.round(rng.normal(size=shape) + 1j * rng.normal(size=shape), bits)


def grid():
    c = Cases('grid')
    x, y, z = draw(c, 2), rng.integers(0, 9, 3), draw(c, 4)
    for indexing in ('xy', 'ij'):
        for sparse in (False, True):
            for axes in ([x, y, z], [x, y], [x]):
                c.add('meshgrid', axes, {'indexing': indexing, 'sparse': sparse}, want=list(np.meshgrid(*axes, indexing=indexing, sparse=sparse)))
    c.add('meshgrid', [x, y], want=list(np.meshgrid(x, y)))
    c.add('meshgrid', [x, np.float64(3)], want=list(np.meshgrid(x, 3.0)))
    c.add('mgrid', [[1, 3], [2, 8, 3]], want=np.mgrid[1:3:3j, 2:8:3j])
    c.add('mgrid', [[0, 1, 0.25]], want=np.mgrid[0:1:5j][None])
    c.add('indices', [[2, 3]], want=np.indices((2, 3)) + 1)
    c.add('indices', [[2, 3]], {'base': 0}, want=np.indices((2, 3)))
    c.add('indices', [[2, 3]], {'sparse': True}, want=[i + 1 for i in np.indices((2, 3), sparse=True)], listed=True)
    c.add('indices', [[2, 0]], want=np.indices((2, 0)))
    flat = rng.integers(0, 24, (2, 5))
    c.add('unravel_index', [flat, [2, 3, 4]], {'base': 0}, want=list(np.unravel_index(flat, (2, 3, 4))))
    c.add('unravel_index', [flat + 1, [2, 3, 4]], want=[i + 1 for i in np.unravel_index(flat, (2, 3, 4))])
    c.add('unravel_index', [flat[0], [24]], {'base': 0}, want=list(np.unravel_index(flat[0], (24,))))
    i, j, k = rng.integers(0, 2, 5), rng.integers(0, 3, 5), rng.integers(0, 4, 5)
    c.add('ravel_multi_index', [[i, j, k], [2, 3, 4]], {'base': 0}, want=np.ravel_multi_index((i, j, k), (2, 3, 4)))
    c.add('ravel_multi_index', [[i + 1, j + 1, 2], [2, 3, 4]], want=np.ravel_multi_index((i, j, 1), (2, 3, 4)) + 1)
    wild = rng.integers(-7, 9, 6)
    for mode in ('wrap', 'clip'):
        c.add('ravel_multi_index', [[wild, wild], [3, 4]], {'base': 0, 'mode': mode}, want=np.ravel_multi_index((wild, wild), (3, 4), mode=mode))
        c.add('ravel_multi_index', [[wild + 1, wild + 1], [3, 4]], {'mode': mode}, want=np.ravel_multi_index((wild, wild), (3, 4), mode=mode) + 1)
    for a, b, n, o in [(0, 3, 4, {}), (-2, 2, 7, {'endpoint': False}), (0, 10, 11, {'base': 2}), (1, 1, 1, {}), (0, 1, 0, {})]:
        c.add('logspace', [a, b, n], o, want=np.logspace(a, b, n, **o), tol='ITERATIVE', units=16, scale='element')
    for a, b, n, o in [(1, 1000, 4, {}), (-1, -8, 4, {}), (3, 50, 6, {'endpoint': False}), (2, 5, 1, {}), (1e-5, 1e5, 9, {}), (8, 1, 4, {})]:
        c.add('geomspace', [a, b, n], o, want=np.geomspace(a, b, n, **o), tol='ITERATIVE', units=32, scale='element')
    return c.save()


def calculus():
    c = Cases('calculus')
    # ---- differences
    a = draw(c, 4, 5, bits=6)
    for n in (0, 1, 2, 4, 5):
        for axis in (1, -1):
            c.add('diff', [a, axis], {'n': n}, want=np.diff(a, n, axis - 1 if axis > 0 else axis), dtypes=HALF if n == 1 else None, bits=6, tol='ACCUM', size=16)
    c.add('diff', [a], {'prepend': 0, 'append': 1}, want=np.diff(a, prepend=0, append=1), bits=6, tol='ACCUM')
    p = draw(c, 2, 5, bits=6)
    c.add('diff', [a], {'axis': 1, 'prepend': p, 'n': 2}, want=np.diff(a, 2, 0, prepend=p), bits=6, tol='ACCUM', size=8)
    i = rng.integers(0, 9, (3, 4)).astype('i2')
    c.add('diff', [i], want=np.diff(i))
    c.add('diff', [i], {'append': 3}, want=np.diff(i, append=np.int16(3)))
    c.add('diff', [i > 4], want=np.diff(i > 4))
    c.add('diff', [np.zeros((2, 0))], want=np.diff(np.zeros((2, 0))))
    c.add('ediff1d', [a], want=np.ediff1d(a), bits=6, tol='ACCUM')
    c.add('ediff1d', [a], {'to_begin': [7, 8], 'to_end': 9}, want=np.ediff1d(a, to_begin=[7, 8], to_end=9), bits=6, tol='ACCUM')
    # ---- gradients
    g = draw(c, 4, 5, 3)
    x4, x5, x3 = (np.cumsum(c.round(rng.uniform(0.5, 2, n), 6)) for n in (4, 5, 3))
    for order in (1, 2):
        kw = {'edge_order': order}
        c.add('gradient', [g], kw, want=np.gradient(g, **kw), listed=True, size=20)
        c.add('gradient', [g], {'spacing': 0.5, **kw}, want=np.gradient(g, 0.5, **kw), listed=True, size=40)
        c.add('gradient', [g], {'axis': 2, 'spacing': 2, **kw}, want=np.gradient(g, 2, axis=1, **kw), size=20)
        c.add('gradient', [g], {'axis': [3, 1], 'spacing': [x3, 0.5], **kw}, want=np.gradient(g, x3, 0.5, axis=(2, 0), **kw), listed=True, size=40)
        c.add('gradient', [g], {'spacing': [x4, x5, x3], **kw}, want=np.gradient(g, x4, x5, x3, **kw), listed=True, size=40)
    z = cdraw(c, 6)
    c.add('gradient', [z], {'spacing': x5[:1].tolist()[0]}, want=np.gradient(z, x5[0]), size=20)
    c.add('gradient', [i], want=np.gradient(i.astype(float)), listed=True)
    # ---- integrals
    y = draw(c, 3, 8, 5)
    pos = {n: np.cumsum(c.round(rng.uniform(0.5, 2, n), 6)) for n in (3, 8, 5)}
    full = np.cumsum(c.round(rng.uniform(0.5, 2, y.shape), 6), axis=1)
    for name, f in [('trapezoid', np.trapezoid), ('simpson', scipy.integrate.simpson), ('cumulative_trapezoid', scipy.integrate.cumulative_trapezoid),
                    ('cumulative_simpson', scipy.integrate.cumulative_simpson)]:
        key = {'size': 40, 'terms': 64}
        for axis in (1, 2, -1):
            n = y.shape[axis - 1 if axis > 0 else axis]
            at = axis - 1 if axis > 0 else axis
            for more in ([{}] if 'cum' not in name else [{}, {'initial': 0}]):
                c.add(name, [y], {'axis': axis, 'dx': 0.5, **more}, want=f(y, dx=0.5, axis=at, **more), **key)
                c.add(name, [y, pos[n]], {'axis': axis, **more}, want=f(y, x=pos[n], axis=at, **more), **key)
        c.add(name, [y], {'axis': 2, 'x': full}, want=f(y, x=full, axis=1), **key)
        w = cdraw(c, 2, 7)
        if name != 'cumulative_simpson':
            c.add(name, [w], want=f(w), **key)
        for n in (1, 2, 3, 4):
            if name == 'cumulative_simpson' and n < 3:
                continue
            v = draw(c, n)
            c.add(name, [v], want=f(v), **key)
            c.add(name, [v, pos[5][:n]], want=f(v, x=pos[5][:n]), **key)
        c.add(name, [i], want=f(i.astype(float)), **key)
    c.add('trapezoid', [np.zeros((2, 0))], want=np.zeros(2))
    for k in range(5):
        v = draw(c, 2, 2**k + 1)
        c.add('romb', [v], {'dx': 0.25}, want=scipy.integrate.romb(v, dx=0.25), size=20)
    v = draw(c, 9, 2)
    c.add('romb', [v], {'axis': 1}, want=scipy.integrate.romb(v, axis=0), size=40)
    # ---- phases
    ph = c.round(np.cumsum(rng.uniform(-4, 4, (3, 12)), axis=1), 12)
    wr = c.round(np.angle(np.exp(1j * ph)), 12)
    c.add('unwrap', [wr], want=np.unwrap(wr), size=64)
    c.add('unwrap', [wr, 1], want=np.unwrap(wr, axis=0), size=64)
    c.add('unwrap', [wr], {'discont': 4.5}, want=np.unwrap(wr, discont=4.5), size=64)
    for dtype in ('i4', 'f8'):
        q = rng.integers(0, 12, (2, 20)).astype(dtype)
        for period in (12, 7):
            c.add('unwrap', [q], {'period': period}, want=np.unwrap(q, period=period), size=64)
    c.add('unwrap', [np.zeros(1)], want=np.zeros(1))
    c.add('unwrap', [np.zeros((2, 0))], want=np.zeros((2, 0)))
    return c.save(scipy=scipy.__version__)


if __name__ == '__main__':
    grid()
    calculus()
