"""Golden cases of products, einsum, matrices of a structure, joins and padding.

What it is for: cases_products.npz and cases_matrices.npz, read by tests/spec/cases_spec.lua.
What it owns: the shapes, subscripts and widths tried; seeds are fixed.
Answers by NumPy and SciPy (toeplitz, hankel). Positions and axes are written as Lua counts.
"""

import numpy as np
import scipy
import scipy.linalg

from cases import Cases

rng = np.random.default_rng(20261121)


def draw(c, *shape, bits=12):
    return c.round(rng.normal(size=shape), bits)


def cdraw(c, *shape, bits=12):
    return c.round(rng.normal(size=shape) + 1j * rng.normal(size=shape), bits)


def whole(*shape, lo=-5, hi=6, dtype='i8'):
    return rng.integers(lo, hi, size=shape).astype(dtype)


HALF = ('f16', 'f32', 'f64', 'bf16')


def products():
    c = Cases('products')
    # ---- pairs
    for sa, sb, axis in [((5,), (5,), -1), ((3, 4), (3, 4), -1), ((3, 4), (4,), -1), ((3, 4), (3, 4), -2), ((2, 1, 4), (3, 4), -1), ((4, 3), (4, 1), -2),
                         ((2, 0), (2, 0), -1), ((0, 3), (3,), -1), ((3, 70, 2), (3, 70, 2), -2)]:
        for make in (draw, cdraw):
            a, b = make(c, *sa, bits=8), make(c, *sb, bits=8)
            want = np.linalg.vecdot(a, b, axis=axis) if axis == -1 else np.sum(np.conj(a) * b, axis=axis)
            c.add('vecdot', [a, b, axis], want=want, dtypes=HALF if make is draw else None, bits=8, terms=4 * max(1, a.size))
    a, b = whole(3, 4, dtype='i2'), whole(4)
    c.add('vecdot', [a, b], want=(a.astype('i8') * b).sum(-1))
    a = np.array([True, False, True])
    c.add('vecdot', [a, a], want=np.int64(2))
    for sa, sb in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((2, 2, 3), (3,)), ((2, 2, 3), (4, 3, 2)), ((), (3,)), ((2,), ()), ((2, 0), (0, 3))]:
        a, b = draw(c, *sa), cdraw(c, *sb) if len(sb) == 1 else draw(c, *sb)
        c.add('dot', [a, b], want=np.dot(a, b))
    a, b = whole(2, 3), whole(3, 2)
    c.add('dot', [a, b], want=a @ b)
    for sa, sb in [((4,), (4,)), ((2, 3), (3, 2)), ((0,), (0,))]:
        a, b = cdraw(c, *sa), cdraw(c, *sb)
        c.add('vdot', [a, b], want=np.vdot(a, b))
    for sa, sb in [((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3)), ((2, 2, 3), (3,)), ((), (2, 3))]:
        a, b = cdraw(c, *sa), draw(c, *sb)
        c.add('inner', [a, b], want=np.inner(a, b))
    for sa, sb in [((3,), (4,)), ((2, 2), (3,)), ((0,), (2,)), ((), (2,))]:
        a, b = draw(c, *sa, bits=6), cdraw(c, *sb, bits=6)
        c.add('outer', [a, b], want=np.outer(a, b), bits=6)
    for sa, sb, ours, theirs in [((2, 3, 4), (3, 4, 2), 2, 2), ((2, 3), (4, 5), 0, 0), ((3, 4), (4, 3), [[1, 2], [2, 1]], [[0, 1], [1, 0]]),
                                 ((2, 3, 4), (4, 2, 5), [[3, 1], [1, 2]], [[2, 0], [0, 1]]), ((2, 3), (5, 3), [-1, -1], [-1, -1]), ((3,), (3, 2), 1, 1),
                                 ((2, 0), (0, 3), 1, 1), ((2, 3, 4), (3, 4, 2), None, 2)]:
        a, b = draw(c, *sa), cdraw(c, *sb)
        c.add('tensordot', [a, b] + ([] if ours is None else [ours]), want=np.tensordot(a, b, theirs))
    for sa, sb in [((2,), (3,)), ((2, 3), (2, 2)), ((2,), (2, 3)), ((2, 1, 2), (2, 2)), ((), (2, 2)), ((0, 2), (2, 2))]:
        a, b = draw(c, *sa, bits=6), cdraw(c, *sb, bits=6)
        c.add('kron', [a, b], want=np.kron(a, b), bits=6)
    a, b = whole(2, 2, dtype='i2'), whole(3, dtype='i2')
    c.add('kron', [a, b], want=np.kron(a, b))
    for sa, sb, axis in [((3,), (3,), -1), ((4, 3), (4, 3), -1), ((3, 4), (3, 4), 1), ((2, 1, 3), (5, 3), -1), ((0, 3), (3,), -1)]:
        a, b = draw(c, *sa, bits=10), cdraw(c, *sb, bits=10)
        c.add('cross', [a, b, axis], want=np.cross(a, b, axis=axis - 1 if axis > 0 else axis), bits=10)
    a, b = whole(4, 3), whole(4, 3)
    c.add('cross', [a, b], want=np.cross(a, b))
    return c.save(scipy=scipy.__version__)


# subscripts and shapes; tried with real, complex and integer operands
EINSUM = [
    ('ij,jk->ik', (2, 3), (3, 4)), ('ij,jk', (2, 3), (3, 4)), ('ij,kj->ik', (2, 3), (4, 3)), ('ji,jk->ki', (3, 2), (3, 4)), ('bij,bjk->bik', (2, 3, 4), (2, 4, 2)),
    ('ijb,jkb->bik', (3, 4, 2), (4, 2, 2)), ('ij,ij->', (2, 3), (2, 3)), ('ij,ij->i', (2, 3), (2, 3)), ('ij,ji->', (2, 3), (3, 2)), ('i,j->ij', (2,), (3,)),
    ('i,j->ji', (2,), (3,)), ('i,i', (4,), (4,)), ('ij,j->i', (2, 3), (3,)), ('i,ij', (2,), (2, 3)), ('ii->i', (3, 3)), ('ii', (3, 3)), ('iij->ij', (3, 3, 2)),
    ('iji->j', (3, 2, 3)), ('iii->i', (2, 2, 2)), ('ij->ji', (2, 3)), ('ij->', (2, 3)), ('ij->j', (2, 3)), ('ijk->kj', (2, 3, 4)), ('ba', (2, 3)),
    ('...ij,...jk->...ik', (2, 3, 4), (4, 2)), ('...ij,jk', (2, 3, 4), (4, 2)), ('i...->...', (2, 3, 2)), ('...ii->...i', (2, 3, 3)), ('...,...', (2, 3), (3,)),
    ('...i,...i->...', (2, 1, 3), (4, 3)), ('i...j,j...->i...', (2, 3, 4), (4, 3)), ('ij,jk,kl->il', (2, 3), (3, 4), (4, 2)), ('a,b,c->abc', (2,), (3,), (2,)),
    ('ij,jk,ki->', (2, 3), (3, 4), (4, 2)), ('ea,fb,abcd,gc,hd->efgh', (2, 3), (3, 2), (3, 2, 2, 3), (2, 2), (3, 3)), ('ij,ij,ij->j', (2, 3), (2, 3), (2, 3)),
    ('abc,acd->bd', (2, 3, 4), (2, 4, 3)), ('abcd,dcbe->ae', (2, 3, 2, 2), (2, 2, 3, 3)), ('abcd,bcd->a', (2, 3, 2, 2), (3, 2, 2)), ('ij,k->ij', (2, 3), (4,)),
    ('ij,kl->', (2, 3), (2, 2)), (',ij->ij', (), (2, 3)), ('ij,jk->', (2, 0), (0, 2)), ('ij,jk->ik', (2, 0), (0, 2)), ('ij,jk->ik', (2, 1), (3, 2)), ('bi,bi->b', (3, 4), (3, 4)),
    ('bi,bi->b', (1, 4), (3, 4)), ('ijk,ilm,njm,nlk,abc->', (2, 2, 2), (2, 2, 2), (2, 2, 2), (2, 2, 2), (2, 2, 2)), ('abc,bd,ce,df,eg->afg', (2, 2, 2), (2, 3), (2, 3), (3, 2), (3, 2)),
    (' i j , j k -> i k ', (2, 3), (3, 2)), ('Ab,bA->A', (2, 3), (3, 2)),
]


def einsum():
    c = Cases('einsum')
    for k, (spec, *shapes) in enumerate(EINSUM):
        for make in (whole, (draw, cdraw)[k % 2]):
            args = [make(*s) if make is whole else make(c, *s) for s in shapes]
            if make is cdraw:
                args[-1] = draw(c, *shapes[-1])
            want = np.einsum(spec, *args)
            c.add('einsum', [spec] + args, want=want, size=max(1.0, float(np.abs(want).max(initial=0))) * 8)
    a, b = draw(c, 3, 4, bits=8), draw(c, 4, 2, bits=8)
    c.add('einsum', ['ij,jk', a, b], want=a @ b, dtypes=HALF, bits=8)
    # random networks: operands share letters at random, sizes of 1 among them
    for k in range(24):
        n = int(rng.integers(2, 7))
        sizes = dict(zip('abcdefgh', rng.integers(1, 4, size=8)))
        terms = [''.join(rng.choice(list('abcdefgh'), size=int(rng.integers(0, 4)), replace=k % 3 == 0)) for _ in range(n)]
        used = sorted(set(''.join(terms)))
        out = ''.join(rng.permutation([x for x in used if rng.random() < 0.4]))
        args = [draw(c, *[sizes[x] for x in t]) for t in terms]
        spec = ','.join(terms) + '->' + out
        want = np.einsum(spec, *args, optimize=True)
        c.add('einsum', [spec] + args, {'optimize': ['auto', 'optimal', 'greedy', 'left'][k % 4]}, want=want,
              size=float(np.einsum(spec, *map(np.abs, args), optimize=True).max(initial=1)), note=spec)
    # the cost of the best path, known from a search that is written here: all orders
    for spec, *shapes in EINSUM:
        if len(shapes) < 3 or '...' in spec:
            continue
        args = [np.ones(s) for s in shapes]
        c.add('einsum_path', [spec] + args, {'optimize': 'optimal'}, want={'work': best(spec, shapes)})
    return c.save()


def best(spec, shapes):
    """Least sum over pairwise steps of the product of the sizes that meet, by trying all trees."""
    left, out = spec.replace(' ', '').split('->')
    terms = [frozenset(t) for t in left.split(',')]
    sizes = {x: n for t, s in zip(left.split(','), shapes) for x, n in zip(t, s)}

    def cost(s):
        return int(np.prod([sizes[x] for x in s], dtype=np.int64))

    def walk(live):
        if len(live) == 1:
            return 0
        least = None
        for i in range(len(live)):
            for j in range(i + 1, len(live)):
                rest = [live[k] for k in range(len(live)) if k not in (i, j)]
                met = live[i] | live[j]
                stay = frozenset(x for x in met if x in out or any(x in r for r in rest))
                total = cost(met) + walk(rest + [stay])
                least = total if least is None or total < least else least
        return least

    return walk(terms)


def matrices():
    c = Cases('matrices')
    for n, m, k in [(3, 3, 0), (2, 4, 1), (4, 2, -1), (3, 3, 5), (0, 3, 0), (3, 0, 0), (3, 3, -3)]:
        c.add('eye', [n, m], {'k': k}, want=np.eye(n, m, k))
        c.add('tri', [n, m], {'k': k}, want=np.tri(n, m, k))
    c.add('eye', [2], {'dtype': 'i32'}, want=np.eye(2, dtype='i4'))
    for shape in [(3, 3), (2, 4), (4, 2), (2, 3, 3), (0, 3), (3, 0)]:
        for k in (-1, 0, 2):
            a = draw(c, *shape, bits=8)
            c.add('tril', [a, k], want=np.tril(a, k), dtypes=HALF, bits=8)
            c.add('triu', [a, k], want=np.triu(a, k), dtypes=HALF, bits=8)
    a = whole(3, 4, dtype='i2')
    c.add('tril', [a], want=np.tril(a))
    c.add('triu', [a > 0], want=np.triu(a > 0))
    for n, k, m in [(3, 0, 3), (3, 1, 4), (4, -1, 2), (0, 0, 0)]:
        c.add('tril_indices', [n, k], {'m': m}, want=[i + 1 for i in np.tril_indices(n, k, m)])
        c.add('triu_indices', [n, k], {'m': m}, want=[i + 1 for i in np.triu_indices(n, k, m)])
    for k in (-2, 0, 1):
        v, a = draw(c, 3), cdraw(c, 3, 4)
        c.add('diag', [v, k], want=np.diag(v, k))
        c.add('diag', [a, k], want=np.diag(a, k))
        c.add('diagflat', [a, k], want=np.diagflat(a, k))
    c.add('diag', [np.zeros(0)], want=np.diag(np.zeros(0)))
    for shape in [(3, 3), (7, 3), (3, 5)]:
        for wrap in (False, True):
            a = draw(c, *shape)
            w = a.copy()
            np.fill_diagonal(w, 4, wrap=wrap)
            c.add('fill_diagonal_', [a, 4], {'wrap': wrap}, want=w, layouts=['contiguous', 'transposed', 'strided'])
    a = draw(c, 2, 3, 3)
    w = a.copy()
    w[:, [0, 1, 2], [0, 1, 2]] = [1, 2, 3]
    c.add('fill_diagonal_', [a, [1, 2, 3]], want=w, layouts=['contiguous', 'strided'])
    x = c.round(rng.normal(size=4), 6)
    for n in (0, 1, 3, 5):
        for inc in (False, True):
            c.add('vander', [x, n], {'increasing': inc}, want=np.vander(x, n, inc), bits=6, tol='ULP4')
    i = whole(3, dtype='i4')
    c.add('vander', [i, 4], want=np.vander(i.astype('i8'), 4))
    z = cdraw(c, 2, 3, bits=8)
    c.add('vander', [z, 3], want=np.stack([np.vander(r, 3) for r in z]), bits=8, tol='ACCUM')
    for n, m in [(3, 4), (1, 3), (4, 1), (3, 3)]:
        a, b = cdraw(c, n), cdraw(c, m)
        c.add('toeplitz', [a, b], want=scipy.linalg.toeplitz(a, b))
        c.add('hankel', [a, b], want=scipy.linalg.hankel(a, b))
        c.add('toeplitz', [a], want=scipy.linalg.toeplitz(a))
        c.add('hankel', [a.real], want=scipy.linalg.hankel(a.real))
    for k in (-1, 0, 2):
        a = draw(c, 3, 4, 2)
        for one, two in ((1, 2), (3, 1), (-1, -2)):
            at = {'axis1': one, 'axis2': two, 'offset': k}
            num = (k, one - 1 if one > 0 else one, two - 1 if two > 0 else two)
            c.add('diagonal', [a], at, want=np.diagonal(a, *num))
            c.add('trace', [a], at, want=np.trace(a, *num))
    c.add('diagonal', [a], want=np.linalg.diagonal(a))
    # ---- joins and pieces
    v, w, m, n = draw(c, 3), draw(c, 3), draw(c, 2, 3), draw(c, 2, 3)
    s = np.float64(2)
    for name in ('vstack', 'hstack', 'dstack', 'column_stack'):
        f = getattr(np, name)
        c.add(name, [[v, w]], want=f([v, w]))
        c.add(name, [[m, n]], want=f([m, n]))
        c.add(name, [m, n, m], want=f([m, n, m]))
    c.add('vstack', [[v, m]], want=np.vstack([v, m]))
    c.add('column_stack', [[v[:2], m]], want=np.column_stack([v[:2], m]))
    for k, name in enumerate(('atleast_1d', 'atleast_2d', 'atleast_3d')):
        f = getattr(np, name)
        for x in (s, v, m, draw(c, 2, 2, 2)):
            c.add(name, [x], want=f(x))
    c.add('atleast_2d', [v, 3], want=[np.atleast_2d(v), np.atleast_2d(3.0)])
    c.add('block', [[[np.eye(2), np.zeros((2, 1))], [np.ones((1, 2)), 7]]], want=np.block([[np.eye(2), np.zeros((2, 1))], [np.ones((1, 2)), 7]]))
    c.add('block', [[v, w]], want=np.block([v, w]))
    c.add('block', [[[m], [n]]], want=np.block([[m], [n]]))
    t = draw(c, 2, 2, 3)
    c.add('block', [[t, t]], want=np.block([t, t]))
    c.add('block', [[[[1], [2]], [[3], [4]]]], want=np.block([[[1.0], [2]], [[3], [4]]]))
    a = draw(c, 6, 4)
    c.add('split', [a, 3], want=np.split(a, 3), listed=True)
    c.add('split', [a, 2, 2], want=np.split(a, 2, 1), listed=True)
    c.add('split', [a, [1, 4]], want=np.split(a, [1, 4]), listed=True)
    c.add('split', [a, [2, 2, 9], -1], want=np.split(a, [2, 2, 9], 1), listed=True)
    c.add('array_split', [a, 4], want=np.array_split(a, 4), listed=True)
    c.add('array_split', [a, 7], {'axis': 2}, want=np.array_split(a, 7, 1), listed=True)
    # ---- axes
    c.add('swapaxes', [t, 1, 3], want=np.swapaxes(t, 0, 2))
    c.add('swapaxes', [t, -1, 2], want=np.swapaxes(t, -1, 1))
    for k in range(-2, 5):
        c.add('rot90', [t, k], want=np.rot90(t, k))
        c.add('rot90', [t, k], {'axes': [3, 1]}, want=np.rot90(t, k, (2, 0)))
    z = rng.integers(0, 2, size=(3, 4, 2)).astype(float)
    c.add('argwhere', [z], want=np.argwhere(z) + 1)
    c.add('argwhere', [z], {'base': 0}, want=np.argwhere(z))
    c.add('argwhere', [np.float64(3)], want=np.argwhere(np.float64(3)))
    c.add('flatnonzero', [z], want=np.flatnonzero(z) + 1)
    c.add('flatnonzero', [np.zeros(3, bool)], {'base': 0}, want=np.flatnonzero(np.zeros(3)))
    from numpy.lib.stride_tricks import sliding_window_view as windows
    a = draw(c, 4, 5)
    c.add('sliding_window_view', [a, 3], want=windows(a, 3, axis=-1))
    c.add('sliding_window_view', [a, [2, 3]], want=windows(a, (2, 3)))
    c.add('sliding_window_view', [a, [2]], {'axis': 1, 'step': 2}, want=windows(a, 2, axis=0)[::2])
    c.add('sliding_window_view', [a, [2, 3]], {'axis': [2, 1], 'step': [2, 1]}, want=windows(a, (2, 3), axis=(1, 0))[:, ::2])
    return c.save(scipy=scipy.__version__)


def pad():
    c = Cases('pad')
    a, v = draw(c, 3, 4, bits=8), draw(c, 4, bits=8)
    wide = [[2, 3], [5, 1]]
    huge = [[7, 8], [9, 4]]
    for mode in ('edge', 'reflect', 'symmetric', 'wrap'):
        for w in (wide, huge, [[0, 0], [1, 2]], [[1, 0], [0, 0]]):
            c.add('pad', [a, w], {'mode': mode}, want=np.pad(a, w, mode), dtypes=HALF, bits=8, tol='EXACT')
        c.add('pad', [v, [1, 6]], {'mode': mode}, want=np.pad(v, (1, 6), mode), bits=8, tol='EXACT')
        c.add('pad', [v[:1], [2, 3]], {'mode': mode}, want=np.pad(v[:1], (2, 3), mode), bits=8, tol='EXACT')
    c.add('pad', [a, wide], want=np.pad(a, wide), dtypes=HALF, bits=8, tol='EXACT')
    c.add('pad', [a, 2], {'value': 7}, want=np.pad(a, 2, constant_values=7), bits=8, tol='EXACT')
    c.add('pad', [a, wide], {'value': [[1, 2], [3, 4]]}, want=np.pad(a, wide, constant_values=[[1, 2], [3, 4]]), bits=8, tol='EXACT')
    c.add('pad', [a, [1, 2]], {'value': [5, 6]}, want=np.pad(a, [[1, 1], [2, 2]], constant_values=[[5, 5], [6, 6]]), bits=8, tol='EXACT')
    c.add('pad', [np.zeros((0, 2)), [[1, 2], [1, 0]]], {'value': 3}, want=np.pad(np.zeros((0, 2)), [[1, 2], [1, 0]], constant_values=3))
    i, b, z = whole(3, 4, dtype='i2'), whole(3) > 0, cdraw(c, 2, 3, bits=8)
    for x in (i, b, z):
        c.add('pad', [x, 2], {'mode': 'reflect'}, want=np.pad(x, 2, 'reflect'), bits=8, tol='EXACT')
        c.add('pad', [x, 1], want=np.pad(x, 1), bits=8, tol='EXACT')
    t = draw(c, 2, 3, 2, bits=8)
    w3 = [[1, 2], [0, 1], [3, 0]]
    for mode in ('constant', 'edge', 'reflect', 'symmetric', 'wrap', 'maximum', 'minimum', 'mean', 'median', 'linear_ramp'):
        c.add('pad', [t, w3], {'mode': mode}, want=np.pad(t, w3, mode), bits=8)
    for mode in ('maximum', 'minimum', 'mean', 'median'):
        for length in (None, 1, 2, [[1, 2], [3, 2]]):
            opts = {'mode': mode} | ({} if length is None else {'stat_length': length})
            kw = {} if length is None else {'stat_length': length}
            c.add('pad', [a, wide], opts, want=np.pad(a, wide, mode, **kw), bits=8)
        c.add('pad', [i, wide], {'mode': mode}, want=np.pad(i, wide, mode), tol='EXACT')
    for value in (0, 5, [[1, 2], [3, -4]]):
        c.add('pad', [a, wide], {'mode': 'linear_ramp', 'end_value': value}, want=np.pad(a, wide, 'linear_ramp', end_values=value), bits=8)
        c.add('pad', [i, wide], {'mode': 'linear_ramp', 'end_value': value}, want=np.pad(i, wide, 'linear_ramp', end_values=value))
    for mode in ('reflect', 'symmetric'):
        for w in (wide, [[7, 8], [9, 4]]):
            c.add('pad', [a, w], {'mode': mode, 'reflect_type': 'odd'}, want=np.pad(a, w, mode, reflect_type='odd'), bits=8, size=100)
        c.add('pad', [i, wide], {'mode': mode, 'reflect_type': 'odd'}, want=np.pad(i, wide, mode, reflect_type='odd'))
    c.add('pad', [a, wide], {'mode': 'odd_reflect'}, want=np.pad(a, wide, 'reflect', reflect_type='odd'), bits=8)
    c.add('pad', [v[:1], [2, 3]], {'mode': 'odd_reflect'}, want=np.pad(v[:1], (2, 3), 'reflect', reflect_type='odd'), bits=8)
    return c.save()


if __name__ == '__main__':
    products()
    einsum()
    matrices()
    pad()
