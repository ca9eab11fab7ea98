"""Golden cases of mc.linalg: powers, functions, norms and chains, from NumPy and SciPy.

What it is for: `python make_cases_linalg_functions.py` writes cases_linalg_functions.npz. `units` stands for the error bound of a method, n times
the condition of the matrices (linalg_matrices.py), in units of the largest entry.
What it may not know: how an op computes. Results that are not unique (bases of decompositions) are left to laws in
linalg_spec.lua.
"""

import numpy as np
import scipy
import scipy.linalg as sl

from cases import Cases
from linalg_matrices import general, positive, r24, values

c = Cases('linalg_functions')
UNITS = 400
add = lambda op, args, opts=None, units=UNITS, **more: c.add('linalg.' + op, args, opts, units=units, **more)

for z in (False, True):
    a, one = general(2, 4, 4, complex=z), general(1, 1, complex=z)
    for n in (0, 1, 2, 5, -1, -3):
        add('matrix_power', [r24(a / 4), n], want=np.linalg.matrix_power(r24(a / 4), n), units=64 * UNITS)
    for size in (1e-3, 0.05, 0.3, 1.0, 3.0, 20.0):
        x = r24(general(5, 5, complex=z) * size / 8)
        add('expm', [x], want=sl.expm(x), units=UNITS * (1 + size))
    x = r24(general(3, 4, 4, complex=z) * np.array([0.01, 1.0, 4.0])[:, None, None] / 4)
    add('expm', [x], want=np.stack([sl.expm(v) for v in x]), note='each matrix has its own scale')
    add('expm', [one], want=np.exp(one))
    s = positive(5, 5, complex=z)
    g = r24(general(5, 5, complex=z) / 8 + 2 * np.eye(5))
    for x in (s, g, r24(np.triu(g))):
        add('logm', [x], want=sl.logm(x))
        add('sqrtm', [x], want=sl.sqrtm(x))
    for side in ('right', 'left'):
        add('polar', [a[0]], {'side': side}, want=list(sl.polar(a[0], side=side)))
    chain = [values(3, 7, complex=z), values(7, 2, complex=z), values(2, 6, complex=z), values(6, 4, complex=z)]
    add('multi_dot', [chain], want=np.linalg.multi_dot(chain))
    ends = [values(7, complex=z), chain[1], values(2, complex=z)]
    add('multi_dot', [ends], want=np.asarray(np.linalg.multi_dot(ends)))
    v = values(3, 4, complex=z)
    for order in (0, 0.5, 1, 2, 3.5, -1, -2, np.inf, -np.inf):
        add('vector_norm', [v], {'ord': order}, want=np.asarray(np.linalg.norm(v.ravel(), ord=order)))
        add('vector_norm', [v], {'ord': order, 'axis': 2}, want=np.linalg.norm(v, ord=order, axis=1))
        add('vector_norm', [v], {'ord': order, 'axis': 1, 'keepdims': True}, want=np.linalg.norm(v, ord=order, axis=0, keepdims=True))
    add('vector_norm', [v], {'axis': [1, 2], 'keepdims': True}, want=np.linalg.norm(v, keepdims=True))
    for order in ('fro', 'nuc', 1, -1, 2, -2, np.inf, -np.inf):
        add('matrix_norm', [a], {'ord': order}, want=np.linalg.norm(a, ord=order, axis=(1, 2)))
        add('matrix_norm', [v], {'ord': order, 'keepdims': True}, want=np.linalg.norm(v, ord=order, keepdims=True))
        add('norm', [v], {'ord': order}, want=np.asarray(np.linalg.norm(v, ord=order)))
        cube = values(2, 3, 4, complex=z)
        for axes in ((1, 3), (3, 1), (2, 3)):
            add('norm', [cube], {'ord': order, 'axis': list(axes)}, want=np.linalg.norm(cube, ord=order, axis=tuple(i - 1 for i in axes)))
    add('norm', [v], want=np.asarray(np.linalg.norm(v)))
    add('norm', [v], {'axis': 1, 'ord': 1}, want=np.linalg.norm(v, ord=1, axis=0))
    for p in (2, -2, 1, -1, np.inf, -np.inf, 'fro', 'nuc'):
        add('cond', [a], {'p': p}, want=np.asarray([np.linalg.cond(x, p) for x in a]), units=4 * UNITS)

add('cond', [np.array([[1.0, 2.0], [2.0, 4.0]])], {'p': 1}, want=np.asarray(np.inf), note='singular')
add('cond', [np.zeros((2, 2))], want=np.asarray(np.inf), note='singular')
large = np.array([3e30, -4e30], np.float64)
large = np.array([c.round(large, 24)[0], c.round(large, 24)[1]])
add('vector_norm', [large], want=np.asarray(np.hypot(*large)), note='squares overflow in f32')
add('vector_norm', [np.array([1.0, np.nan])], want=np.asarray(np.nan))
add('vector_norm', [np.array([1.0, -np.inf])], want=np.asarray(np.inf))
add('vector_norm', [np.zeros(0)], want=np.asarray(0.0), note='nothing')
add('vector_norm', [np.zeros(3)], want=np.asarray(0.0))
rotation = np.array([[0.0, -1.0], [1.0, 0.0]])
add('logm', [rotation], want=np.array([[0, -np.pi / 2], [np.pi / 2, 0]]), note='a quarter turn, real')
add('logm', [np.diag([-1.0, 2.0])], want=np.diag([np.pi * 1j, np.log(2)]), note='a negative eigenvalue')
add('sqrtm', [np.diag([-4.0, 9.0])], want=np.diag([2j, 3]), note='a negative eigenvalue')
add('sqrtm', [rotation], want=np.sqrt(0.5) * np.array([[1, -1], [1, 1]]))
print(c.save(numpy=np.__version__, scipy=scipy.__version__))
