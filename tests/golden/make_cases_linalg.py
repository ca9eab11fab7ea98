"""Golden cases of mc.linalg: systems and factorisations, from NumPy and SciPy.

What it is for: `python make_cases_linalg.py` writes cases_linalg.npz. `units` stands for the error bound of a method, n times
the condition of the matrices (linalg_matrices.py), in units of the largest entry.
What it may not know: how an op computes. Results that are not unique (bases of decompositions) are left to laws in
linalg_spec.lua.
"""

import numpy as np
import scipy
import scipy.linalg as sl

from cases import Cases
from linalg_matrices import adjoint, general, hermitian, positive, r24, values

c = Cases('linalg')
UNITS = 400
add = lambda op, args, opts=None, units=UNITS, **more: c.add('linalg.' + op, args, opts, units=units, **more)

for z in (False, True):
    a, b = general(2, 4, 4, complex=z), values(2, 4, 3, complex=z)
    big, rhs = general(9, 9, complex=z), values(9, complex=z)
    one = general(1, 1, complex=z)
    add('solve', [a, b], want=np.linalg.solve(a, b))
    add('solve', [big, rhs], want=np.linalg.solve(big, rhs))
    add('solve', [big, rhs[:, None]], want=np.linalg.solve(big, rhs[:, None]))
    add('solve', [a[0], b], want=np.linalg.solve(a[0], b), note='batch broadcast')
    add('solve', [one, rhs[:1]], want=np.linalg.solve(one, rhs[:1]))
    add('inv', [a], want=np.linalg.inv(a))
    add('inv', [big], want=np.linalg.inv(big))
    add('det', [a], want=np.linalg.det(a))
    add('det', [big], want=np.asarray(np.linalg.det(big)))
    add('det', [np.zeros((0, 0), a.dtype)], want=np.ones((), a.dtype), note='empty product')
    add('slogdet', [a], want=list(np.linalg.slogdet(a)))
    s = positive(3, 4, 4, complex=z)
    low = np.linalg.cholesky(s)
    add('cholesky', [s], want=low)
    add('cholesky', [s], {'upper': True}, want=adjoint(low))
    low24 = r24(low)
    sb = values(3, 4, 2, complex=z)
    add('cholesky_solve', [low24, sb], want=np.linalg.solve(low24 @ adjoint(low24), sb), units=4 * UNITS)
    add('cholesky_solve', [adjoint(low24), sb], {'upper': True}, want=np.linalg.solve(low24 @ adjoint(low24), sb), units=4 * UNITS)
    for lower in (False, True):
        for trans, code in (('none', 0), ('transpose', 1), ('adjoint', 2)):
            t = r24(big + 4 * np.eye(9))
            opts = {'lower': lower, 'trans': trans}
            add('solve_triangular', [t, rhs], opts, want=sl.solve_triangular(t, rhs, trans=code, lower=lower))
    unit = r24(big / 8)
    add('solve_triangular', [unit, rhs], {'unit_diagonal': True}, want=sl.solve_triangular(unit, rhs, unit_diagonal=True))
    indefinite = hermitian(6, 6, complex=z)
    l, d, perm = sl.ldl(indefinite)
    add('ldl', [indefinite], want={'L': l, 'D': d, 'P': perm.astype(np.int64) + 1})
    for m, n in ((4, 4), (5, 3), (3, 5)):
        x = general(m, n, complex=z)
        p, l, u = sl.lu(x)
        add('lu', [x], want={'P': p, 'L': l, 'U': u})
        f, piv = sl.lu_factor(x)
        add('lu_factor', [x], want=[f, piv.astype(np.int64) + 1])
        add('lu_factor', [x], {'base': 0}, want=[f, piv.astype(np.int64)])
        add('svdvals', [x], want=np.linalg.svd(x, compute_uv=False))
        add('pinv', [x], want=np.linalg.pinv(x))
        y = values(m, 2, complex=z)
        sol = np.linalg.lstsq(x, y, rcond=None)
        want = {'x': sol[0], 'rank': np.asarray(min(m, n), np.int64), 'S': sol[3]}
        if m > n:
            want['residuals'] = sol[1]
        add('lstsq', [x, y], want=want)
        add('lstsq', [x, y[:, 0]], want={'x': sol[0][:, 0]})
    short = values(5, 2, complex=z)
    flat = r24(np.concatenate([short, short[:, :1]], axis=1))
    y = values(5, complex=z)
    sol = np.linalg.lstsq(flat, y, rcond=1e-3)
    rest = y - flat @ sol[0]
    add('lstsq', [flat, y], {'rcond': 1e-3}, want={'x': sol[0], 'rank': np.asarray(2, np.int64), 'residuals': np.asarray(np.sum(np.abs(rest) ** 2))}, note='rank 2 of 3')
    add('pinv', [flat], {'rtol': 1e-3}, want=np.linalg.pinv(flat, rcond=1e-3))
    add('matrix_rank', [flat], {'rtol': 1e-3}, want=np.asarray(2, np.int64))
    add('matrix_rank', [flat], {'atol': 100.0}, want=np.asarray(0, np.int64))
    add('matrix_rank', [a], want=np.asarray([4, 4], np.int64))
    f, piv = sl.lu_factor(big)
    f24 = r24(f)
    whole = np.tril(f24, -1) + np.eye(9)
    whole = whole @ np.triu(f24)
    for i in range(8, -1, -1):
        whole[[i, piv[i]]] = whole[[piv[i], i]]
    for trans, matrix in (('none', whole), ('transpose', whole.T), ('adjoint', adjoint(whole))):
        add('lu_solve', [f24, rhs, piv.astype(np.int64) + 1], {'trans': trans}, want=np.linalg.solve(matrix, rhs), units=4 * UNITS)
    h = hermitian(2, 5, 5, complex=z)
    add('eigvalsh', [h], want=np.linalg.eigvalsh(h))
    junk = np.triu(values(5, 5), 1)
    add('eigvalsh', [r24(h + junk)], want=np.linalg.eigvalsh(r24(h + junk)), note='the lower triangle alone is read')
    add('eigvalsh', [r24(h + junk.T)], {'upper': True}, want=np.linalg.eigvalsh(r24(h + junk.T), UPLO='U'))
    hb = positive(5, 5, complex=z)
    for kind in (1, 2, 3):
        want = np.stack([sl.eigh(x, hb, type=kind, eigvals_only=True) for x in h])
        add('eigvalsh', [h], {'b': hb, 'kind': kind}, want=want, units=4 * UNITS)
    add('pinv', [h], {'hermitian': True}, want=np.linalg.pinv(h, hermitian=True), units=4 * UNITS)
    add('matrix_rank', [h], {'hermitian': True}, want=np.asarray([5, 5], np.int64))

add('inv', [np.zeros((0, 3, 3))], want=np.zeros((0, 3, 3)), note='no matrices')
add('solve', [np.zeros((0, 0)), np.zeros((0, 2))], want=np.zeros((0, 2)), note='no equations')
add('inv', [np.array([[2, 0], [0, 4]])], want=np.array([[0.5, 0], [0, 0.25]]), dtypes=['own'], note='integers count as f64')
print(c.save(numpy=np.__version__, scipy=scipy.__version__))
