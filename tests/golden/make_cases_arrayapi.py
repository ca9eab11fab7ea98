"""Cases of the array API's own functions: cases_arrayapi.npz.

What it is for: shapes brought together, repetition, sets, running sums, transforms over several axes.
What it owns: the list of cases. Answers are NumPy's; sets and running sums are put into the array API's form.
What it may not know: mascon.
Run: python make_cases_arrayapi.py   Needs NumPy 2.
"""

import numpy as np

from cases import Cases
from make_pac import noise

c = Cases('arrayapi')
ALL = ['f16', 'bf16', 'f32', 'f64']
REAL, CPLX = ['f32', 'f64'], ['c64', 'c128']


def r(*shape, seed=1, bits=24):
    n = int(np.prod(shape))
    return c.round(noise(max(n, 1), seed)[:n].reshape(shape), bits)


def z(*shape, seed=1, bits=24):
    return r(*shape, seed=seed, bits=bits) + 1j * r(*shape, seed=seed + 50, bits=bits)


def shapes():
    c.add('broadcast_shapes', [(3, 1), (1, 4)], want=[3, 4], listed=True, dtypes=['own'])
    c.add('broadcast_shapes', [(2, 1, 5), (4, 1), ()], want=[2, 4, 5], listed=True, dtypes=['own'])
    c.add('broadcast_shapes', [(0,), (1,)], want=[0], listed=True, dtypes=['own'])
    a, b = r(3, 1, bits=8), r(1, 4, seed=2, bits=8)
    x, y = np.broadcast_arrays(a, b)
    c.add('broadcast_arrays', [a, b], want=[x, y], listed=True, dtypes=ALL, bits=8)
    t = r(2, 3, 4, seed=3, bits=8)
    c.add('unstack', [t], want=[t[0], t[1]], listed=True, dtypes=ALL, bits=8)
    c.add('unstack', [t, -2], want=[t[:, 0], t[:, 1], t[:, 2]], listed=True)
    c.add('matrix_transpose', [t], want=np.swapaxes(t, -1, -2), dtypes=ALL, bits=8)
    c.add('matrix_transpose', [z(2, 3)], want=z(2, 3).T, dtypes=CPLX)


def repetition():
    t = r(2, 3, 4, seed=4, bits=8)
    c.add('repeat_each', [t, 2], want=np.repeat(t, 2), dtypes=ALL, bits=8)
    for axis in (0, 1, 2):
        c.add('repeat_each', [t, 3, axis + 1], want=np.repeat(t, 3, axis))
        counts = np.array([2, 0, 3, 1][: t.shape[axis]])
        c.add('repeat_each', [t, counts, axis + 1], want=np.repeat(t, counts, axis))
    c.add('repeat_each', [t, 0], want=np.repeat(t, 0))
    c.add('repeat_each', [np.array([1, 2, 3]), np.array([0, 0, 2])], want=np.array([3, 3]), dtypes=['own'])
    c.add('repeat_each', [np.array([True, False]), 2], want=np.array([True, True, False, False]), dtypes=['own'])
    c.add('repeat_each', [z(3), np.array([0, 2, 1])], want=np.repeat(z(3), [0, 2, 1]), dtypes=CPLX)
    for reps in ((2,), (1, 2, 1), (3, 1, 2), (2, 1, 3, 1, 2), (0, 2), (1,)):
        c.add('tile', [t, reps], want=np.tile(t, reps))
    c.add('tile', [t, 2], want=np.tile(t, 2), dtypes=ALL, bits=8)
    deep = r(1, 2, 1, 1, 1, 2, 1, 2, seed=5)
    c.add('tile', [deep, (2, 1, 1, 1, 1, 1, 1, 3)], want=np.tile(deep, (2, 1, 1, 1, 1, 1, 1, 3)))


def sets():
    x = np.array([[3.0, 1, 3, 2], [0.5, 1, -1, 3]])
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    want = dict(values=values, indices=first + 1, inverse_indices=inverse.reshape(x.shape) + 1, counts=counts)
    c.add('unique_all', [x], want=want, dtypes=ALL, bits=8)
    c.add('unique_counts', [x], want=[values, counts], dtypes=ALL, bits=8)
    c.add('unique_inverse', [x], want=[values, inverse.reshape(x.shape) + 1], dtypes=ALL, bits=8)
    c.add('unique_values', [x], want=values, dtypes=ALL, bits=8)
    nan = np.array([np.nan, 1, np.nan, -np.inf, np.inf, 1, np.inf])
    v, f, i, n = np.unique(nan, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    c.add('unique_all', [nan], want=dict(values=v, indices=f + 1, inverse_indices=i + 1, counts=n), dtypes=ALL, bits=8)
    c.add('unique_counts', [nan], want=[v, n], dtypes=ALL, bits=8)
    for dt in ('u1', 'i1', 'i2', 'i4', 'i8'):
        k = np.array([5, 3, 5, 100, 3, 3], dt)
        v, f, i, n = np.unique(k, return_index=True, return_inverse=True, return_counts=True)
        c.add('unique_all', [k], want=dict(values=v, indices=f + 1, inverse_indices=i + 1, counts=n), dtypes=['own'])
        c.add('unique_values', [k], want=v, dtypes=['own'])
    b = np.array([True, False, True])
    c.add('unique_counts', [b], want=list(np.unique(b, return_counts=True)), dtypes=['own'])
    w = np.array([1 + 2j, 1j, 1 + 2j, 1 - 2j, 0, 1j, 3])
    v, f, i, n = np.unique(w, return_index=True, return_inverse=True, return_counts=True)
    c.add('unique_all', [w], want=dict(values=v, indices=f + 1, inverse_indices=i + 1, counts=n), dtypes=CPLX)
    c.add('unique_values', [w], want=v, dtypes=CPLX)
    c.add('unique_values', [np.array(5.0)], want=np.array([5.0]))
    c.add('unique_values', [np.zeros((0, 3))], want=np.zeros(0))


def running():
    t = r(3, 4, seed=6)
    for axis in (0, 1):
        c.add('cumulative_sum', [t, axis + 1], want=np.cumsum(t, axis))
        want = np.concatenate([np.zeros_like(t.sum(axis, keepdims=True)), np.cumsum(t, axis)], axis)
        c.add('cumulative_sum', [t], opts=dict(axis=axis + 1, include_initial=True), want=want)
        want = np.concatenate([np.ones_like(t.sum(axis, keepdims=True)), np.cumprod(t, axis)], axis)
        c.add('cumulative_prod', [t], opts=dict(axis=axis - 2, include_initial=True), want=want)
    c.add('cumulative_sum', [np.zeros((2, 0))], opts=dict(axis=2, include_initial=True), want=np.zeros((2, 1)))
    k = np.array([100, 100, 100], 'u1')
    c.add('cumulative_sum', [k], want=np.cumsum(k, dtype='i8'), dtypes=['own'])
    c.add('cumulative_sum', [k], opts=dict(dtype='u8'), want=np.cumsum(k, dtype='u1'), dtypes=['own'])
    c.add('cumulative_sum', [k], opts=dict(dtype='f32', include_initial=True), want=np.array([0, 100, 200, 300], 'f4'), dtypes=['own'])
    c.add('cumulative_prod', [k[:2]], want=np.array([100, 10000]), dtypes=['own'])
    c.add('cumulative_sum', [z(5)], want=np.cumsum(z(5)), dtypes=CPLX)


def dtypes():
    c.add('astype', [np.array([1.5, -2.5]), 'i32'], want=np.array([1, -2], 'i4'), dtypes=['own'])
    c.add('astype', [np.array([0, 3], 'i4'), 'bool'], want=np.array([False, True]), dtypes=['own'])
    for a, b, t in (('u8', 'i8', 'i16'), ('u8', 'i16', 'i16'), ('i32', 'i64', 'i64'), ('f32', 'f64', 'f64'), ('f32', 'c64', 'c64'),
                    ('f64', 'c64', 'c128'), ('bool', 'bool', 'bool'), ('float32', 'complex64', 'c64')):
        c.add('result_type', [a, b], want=t, dtypes=['own'])
        c.add('result_type', [b, a], want=t, dtypes=['own'])
    c.add('can_cast', ['i32', 'i64'], want=True, dtypes=['own'])
    c.add('can_cast', ['f64', 'f32'], want=False, dtypes=['own'])
    c.add('can_cast', ['u8', 'i8'], want=False, dtypes=['own'])
    c.add('isdtype', ['f32', 'real floating'], want=True, dtypes=['own'])
    c.add('isdtype', ['u8', ('bool', 'signed integer')], want=False, dtypes=['own'])
    for n in ('f16', 'f32', 'f64'):
        i = np.finfo({'f16': 'f2', 'f32': 'f4', 'f64': 'f8'}[n])
        c.add('finfo', [n], dtypes=['own'], want=dict(bits=i.bits, eps=float(i.eps), max=float(i.max), min=float(i.min),
              smallest_normal=float(i.smallest_normal), dtype=n))
    c.add('finfo', ['c64'], dtypes=['own'], want=dict(bits=32, eps=2.0**-23, max=float(np.finfo('f4').max), min=float(np.finfo('f4').min),
          smallest_normal=2.0**-126, dtype='f32'))
    for n, t in (('u8', 'u1'), ('i8', 'i1'), ('i16', 'i2'), ('i32', 'i4')):
        i = np.iinfo(t)
        c.add('iinfo', [n], dtypes=['own'], want=dict(bits=i.bits, max=i.max, min=i.min, dtype=n))


def transforms():
    for norm in ('backward', 'ortho', 'forward'):
        a, h = z(3, 4, 5, seed=7), r(3, 4, 5, seed=8)
        size = dict(terms=60, size=float(np.linalg.norm(a)) * 60)
        c.add('fft.fftn', [a], opts=dict(norm=norm), want=np.fft.fftn(a, norm=norm), dtypes=CPLX, **size)
        c.add('fft.ifftn', [a], opts=dict(norm=norm, axes=(1, 3)), want=np.fft.ifftn(a, axes=(0, 2), norm=norm), dtypes=CPLX, **size)
        c.add('fft.fftn', [a], opts=dict(norm=norm, s=(5, 3)), want=np.fft.fftn(a, s=(5, 3), axes=(1, 2), norm=norm), dtypes=CPLX, **size)
        c.add('fft.rfftn', [h], opts=dict(norm=norm), want=np.fft.rfftn(h, norm=norm), **size)
        c.add('fft.rfftn', [h], opts=dict(norm=norm, axes=(3, 1), s=(4, 6)), want=np.fft.rfftn(h, s=(4, 6), axes=(2, 0), norm=norm), **size)
        b = c.round(np.fft.rfftn(h), 24)
        big = dict(terms=60, size=float(np.linalg.norm(b)) * 60)
        c.add('fft.irfftn', [b], opts=dict(norm=norm), want=np.fft.irfftn(b, axes=(0, 1, 2), norm=norm), dtypes=CPLX, **big)
        c.add('fft.irfftn', [b], opts=dict(norm=norm, s=(3, 4, 5)), want=np.fft.irfftn(b, s=(3, 4, 5), axes=(0, 1, 2), norm=norm), dtypes=CPLX, **big)
        c.add('fft.hfft', [a], opts=dict(norm=norm), want=np.fft.hfft(a, norm=norm), dtypes=CPLX, **size)
        c.add('fft.hfft', [a], opts=dict(norm=norm, n=7, axis=2), want=np.fft.hfft(a, n=7, axis=1, norm=norm), dtypes=CPLX, **size)
        c.add('fft.ihfft', [h], opts=dict(norm=norm, axis=1), want=np.fft.ihfft(h, axis=0, norm=norm), **size)
    for n in (1, 4, 5):
        c.add('fft.fftfreq', [n], want=np.fft.fftfreq(n), dtypes=['own'])
        c.add('fft.rfftfreq', [n, 0.25], want=np.fft.rfftfreq(n, 0.25), dtypes=['own'])
        c.add('fft.fftfreq', [n], opts=dict(d=2, dtype='f32'), want=np.fft.fftfreq(n, 2).astype('f4'), dtypes=['own'])
    t = r(4, 5, seed=9, bits=8)
    c.add('fft.fftshift', [t], want=np.fft.fftshift(t), dtypes=ALL, bits=8)
    c.add('fft.ifftshift', [t], want=np.fft.ifftshift(t), dtypes=ALL, bits=8)
    c.add('fft.fftshift', [t, 2], want=np.fft.fftshift(t, 1))
    c.add('fft.ifftshift', [t], opts=dict(axes=(2,)), want=np.fft.ifftshift(t, (1,)))
    c.add('fft.fftshift', [np.arange(5)], want=np.fft.fftshift(np.arange(5)), dtypes=['own'])


for f in (shapes, repetition, sets, running, dtypes, transforms):
    f()
c.save(numpy=np.__version__)
