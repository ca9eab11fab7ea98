"""Golden cases of mc.linalg: banded, Toeplitz and circulant matrices, from SciPy, and the iterative solvers from dense solutions.

What it is for: `python make_cases_structured.py` writes cases_structured.npz.
What it may not know: how an op computes. Iterative methods stop where their tolerance says, so that their answers are the exact
solutions with a bound that follows from the tolerance; what they count is left to laws in linalg_iterative_spec.lua.
"""

import numpy as np
import scipy
import scipy.linalg as sl

from cases import Cases
from linalg_matrices import adjoint, general, hermitian, positive, values

c = Cases('structured')
add = lambda op, args, opts=None, units=400, **more: c.add('linalg.' + op, args, opts, units=units, **more)


def band(a, lower, upper):
    n = a.shape[-1]
    ab = np.zeros(a.shape[:-2] + (lower + upper + 1, n), a.dtype)
    for i in range(n):
        for j in range(max(0, i - lower), min(n, i + upper + 1)):
            ab[..., upper + i - j, j] = a[..., i, j]
    return ab


def only(a, lower, upper):
    return np.triu(np.tril(a, upper), -lower)


for z in (False, True):
    big = values(9, 9, complex=z) + 6 * np.eye(9)
    big = c.round(big, 24)
    rhs, many = values(9, complex=z), values(2, 9, 3, complex=z)
    for lower, upper in ((1, 1), (2, 1), (0, 3), (3, 0), (8, 8), (0, 0)):
        ab, a = band(big, lower, upper), only(big, lower, upper)
        add('solve_banded', [ab, rhs], {'lower': lower, 'upper': upper}, want=np.linalg.solve(a, rhs))
        add('solve_banded', [ab, many], {'lower': lower, 'upper': upper}, want=np.linalg.solve(a, many), note='batch broadcast')
    # no dominance: rows have to be exchanged
    swap = c.round(only(values(8, 8, complex=z), 2, 2), 24)
    swap[np.arange(8), np.arange(8)] = 0
    swap[np.arange(7), np.arange(1, 8)] += 2
    swap[np.arange(1, 8), np.arange(7)] -= 2
    swap = c.round(swap, 24)
    eight = values(8, complex=z)
    add('solve_banded', [band(swap, 2, 2), eight], {'lower': 2, 'upper': 2}, want=np.linalg.solve(swap, eight), units=4000)
    s = c.round(only(positive(9, 9, complex=z), 2, 2) + 9 * np.eye(9), 24)
    s = (s + adjoint(s)) / 2
    s = c.round(s, 24)
    add('solveh_banded', [band(s, 0, 2), rhs], want=np.linalg.solve(s, rhs))
    add('solveh_banded', [band(s, 2, 0), many], {'lower': True}, want=np.linalg.solve(s, many))
    d, lo, up = c.round(np.diag(big).copy(), 24), c.round(np.diag(big, -1).copy(), 24), c.round(np.diag(big, 1).copy(), 24)
    tri = only(big, 1, 1)
    add('solve_tridiagonal', [lo, d, up, rhs], want=np.linalg.solve(tri, rhs))
    add('solve_tridiagonal', [lo, d, up, many], want=np.linalg.solve(tri, many))
    add('solve_tridiagonal', [lo[:0], d[:1], up[:0], rhs[:1]], want=rhs[:1] / d[0])

    col, row = values(7, complex=z), values(7, complex=z)
    for x, y in ((col, row), (col, row[:4]), (col[:3], row), (col[:1], row[:1])):
        full = sl.toeplitz(x, np.r_[x[:1], y[1:]])
        add('toeplitz', [x], {'r': y}, want=full)
        v, m = values(len(y), complex=z), values(len(y), 2, complex=z)
        add('matmul_toeplitz', [x, v], {'r': y}, want=full @ v, units=200)
        add('matmul_toeplitz', [x, m], {'r': y}, want=full @ m, units=200)
    add('toeplitz', [col], want=sl.toeplitz(col))
    add('hankel', [col], {'r': row[:4]}, want=sl.hankel(col, np.r_[col[-1:], row[1:4]]))
    add('hankel', [col], want=sl.hankel(col))
    add('circulant', [col], want=sl.circulant(col))
    pair = values(2, 4, complex=z)
    add('circulant', [pair], want=np.stack([sl.circulant(x) for x in pair]))
    strong = col.copy()
    strong[0] += 8
    strong = c.round(strong, 24)
    full = sl.toeplitz(strong, np.r_[strong[:1], row[1:]])
    seven, wide = values(7, complex=z), values(7, 3, complex=z)
    add('solve_toeplitz', [strong, seven], {'r': row}, want=np.linalg.solve(full, seven))
    add('solve_toeplitz', [strong, wide], {'r': row}, want=np.linalg.solve(full, wide))
    add('solve_toeplitz', [strong, seven], want=np.linalg.solve(sl.toeplitz(strong), seven))
    add('solve_circulant', [strong, seven], want=np.linalg.solve(sl.circulant(strong), seven))
    add('solve_circulant', [strong, wide], want=np.linalg.solve(sl.circulant(strong), wide))

# ---- iterative: stopped at rtol, the error is at most cond(A) rtol |x|: units of eps to cover it in f32 and f64
TIGHT = {'f32': 1e-6, 'c64': 1e-6, 'f64': 1e-13, 'c128': 1e-13}
for dtype, rtol in TIGHT.items():
    z = dtype[0] == 'c'
    a, b = positive(12, 12, complex=z), values(12, complex=z)
    g, bg = general(12, 12, complex=z), values(12, complex=z)
    tall, bt = general(15, 6, complex=z), values(15, complex=z)
    real = {'f32': 'f32', 'c64': 'f32', 'f64': 'f64', 'c128': 'f64'}[dtype]
    once = dict(dtypes=[real], units=20000, scale='array')
    found = lambda x: {'x': x, 'converged': True}
    add('cg', [a, b], {'rtol': rtol}, want=found(np.linalg.solve(a, b)), **once)
    add('bicgstab', [a, b], {'rtol': rtol}, want=found(np.linalg.solve(a, b)), **once)
    add('gmres', [g, bg], {'rtol': rtol}, want=found(np.linalg.solve(g, bg)), **once)
    add('gmres', [a, b], {'rtol': rtol, 'restart': 6, 'maxiter': 2000, 'x0': values(12, complex=z)}, want=found(np.linalg.solve(a, b)), **once)
    add('lsqr', [tall, bt], {'atol': rtol, 'btol': rtol}, want=found(np.linalg.lstsq(tall, bt, rcond=None)[0]), **once)
    damped = np.linalg.solve(adjoint(tall) @ tall + 0.25 * np.eye(6), adjoint(tall) @ bt)
    add('lsqr', [tall, bt], {'atol': rtol, 'btol': rtol, 'damp': 0.5}, want=found(damped), **once)
    h = hermitian(30, 30, complex=z)
    w = np.linalg.eigvalsh(h)
    add('eigsh', [h], {'k': 3, 'which': 'LA'}, want={'values': w[-3:], 'converged': True}, **once)
    add('eigsh', [h], {'k': 3, 'which': 'SA'}, want={'values': w[:3], 'converged': True}, **once)
    largest = np.sort(w[np.argsort(-np.abs(w))[:4]])
    add('eigsh', [h], {'k': 4, 'ncv': 12}, want={'values': largest, 'converged': True}, **once)

c.save(numpy=np.__version__, scipy=scipy.__version__)
