"""Matrices of the golden cases of mc.linalg.

What it owns: the choice of matrices. They are well conditioned (below about 50), so that an answer in f64 is good to a
few units of f64. Entries have 24 bits. What it may not know: any op.
"""

import numpy as np

from cases import Cases

rng = np.random.default_rng(20260721)
r24 = lambda x: Cases.round(np.asarray(x), 24)


def general(*shape, complex=False):
    """Random orthogonal bases with singular values between 1 and 8."""
    m, n = shape[-2:]
    k = min(m, n)
    draw = lambda *s: rng.standard_normal(s) + (1j * rng.standard_normal(s) if complex else 0)
    u = np.linalg.qr(draw(*shape[:-2], m, k))[0]
    v = np.linalg.qr(draw(*shape[:-2], n, k))[0]
    s = np.exp(rng.uniform(0, np.log(8), shape[:-2] + (k,)))
    return r24((u * s[..., None, :]) @ np.conj(np.swapaxes(v, -1, -2)))


def values(*shape, complex=False):
    return r24(rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex else 0))


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def positive(*shape, complex=False):
    a = general(*shape, complex=complex)
    return r24((a @ adjoint(a) + adjoint(a @ adjoint(a))) / 8)


def hermitian(*shape, complex=False):
    a = general(*shape, complex=complex)
    return r24((a + adjoint(a)) / 2)
