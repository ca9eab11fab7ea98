"""Gradients of linear algebra and transforms by PyTorch and JAX; read by tests/spec/grad_linalg_golden_spec.lua.

What it is for: singular vectors, eigenvectors, factors of any shape, ranks that are short, odd transforms.
What it owns: grad_linalg.npz: for each case `<name>.x<i>` operands (from 1), `<name>.w<i>` weights, `<name>.g<i>` gradients of the loss that the
spec writes out under the same name. Losses do not depend on signs and phases of vectors. PyTorch's gradients of complex operands point uphill,
as ours do; JAX's are their conjugates and serve real operands only.
What it may not know: how mascon computes any of it.
"""

import golden_file
import jax
import jax.numpy as jnp
import jax.scipy as js
import numpy as np
import torch

jax.config.update('jax_enable_x64', True)
T = torch.linalg
rng = np.random.default_rng(20261121)
out = {}


def real(*shape):
    return rng.standard_normal(shape)


def cplx(*shape):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def store(name, xs, ws, gs):
    for kind, arrays in (('x', xs), ('w', ws), ('g', gs)):
        for i, a in enumerate(arrays):
            out[f'{name}.{kind}{i + 1}'] = np.ascontiguousarray(a)


def case(name, loss, xs, ws=()):
    """loss(operands..., weights...) in PyTorch."""
    operands = [torch.tensor(x, requires_grad=True) for x in xs]
    loss(*operands, *[torch.tensor(w) for w in ws]).backward()
    store(name, xs, ws, [x.grad.resolve_conj().numpy() for x in operands])


def size2(t):
    return (t * t.conj()).real


def svd(a, w, v):
    u, s, vh = T.svd(a, full_matrices=False)
    return (w * size2(u)).sum() + (v * size2(vh)).sum() + (s**3).sum()


case('svd_tall', svd, [real(4, 3)], [real(4, 3), real(3, 3)])
case('svd_complex_wide', svd, [cplx(3, 4)], [real(3, 3), real(3, 4)])
case('nuclear', lambda a: T.matrix_norm(a, 'nuc'), [real(4, 3)])


def eigh(a, w, v):
    s, u = T.eigh(a + a.mH)
    return (w * size2(u)).sum() + (v * s).sum()


case('eigh_complex', eigh, [cplx(3, 3)], [real(3, 3), real(3)])
case('eigvalsh_equal', lambda a: (T.eigvalsh(a) ** 3).sum(), [np.diag([2.0, 2.0, 5.0])])


def eig(a, w):
    s, u = T.eig(a)
    return (w[:, None] * size2(u) * size2(s)).sum() + (s**3).real.sum()


case('eig_real', eig, [real(4, 4)], [real(4)])
case('eig_complex', eig, [cplx(3, 3)], [real(3)])


def qr(a, w, v):
    q, r = T.qr(a)
    return (w * size2(q)).sum() + (v * size2(r)).sum()


case('qr_complex_tall', qr, [cplx(4, 3)], [real(4, 3), real(3, 3)])
case('qr_wide', qr, [real(3, 4)], [real(3, 3), real(3, 4)])


def lu(a, w, v):
    _, low, up = T.lu(a)
    return (w * low).sum() + (v * up).sum()


case('lu_tall', lu, [real(4, 3)], [real(4, 3), real(3, 3)])
case('lu_wide', lu, [real(3, 5)], [real(3, 3), real(3, 5)])


def slogdet(a, w):
    sign, log = T.slogdet(a)
    return (w.conj() * sign).real.sum() + log.sum()


case('slogdet_complex', slogdet, [cplx(2, 3, 3)], [cplx(2)])
case('cholesky_complex', lambda a, w: (w.conj() * T.cholesky(a @ a.mH + 2 * torch.eye(3))).real.sum(), [cplx(3, 3)], [cplx(3, 3)])
case('triangular', lambda a, b, w: (w.conj() * T.solve_triangular(a, b, upper=False, unitriangular=True)).real.sum(), [cplx(3, 3), cplx(3, 2)], [cplx(3, 2)])
case('lstsq_tall', lambda a, b, w: (w * T.lstsq(a, b).solution).sum(), [real(5, 3), real(5, 2)], [real(3, 2)])
case('pinv_rank2', lambda a, w: (w * T.pinv(a, rtol=1e-10)).sum(), [real(4, 2) @ real(2, 3)], [real(3, 4)])
case('expm_complex', lambda a, w: (w.conj() * torch.matrix_exp(a)).real.sum(), [2 * cplx(3, 3)], [cplx(3, 3)])
case('norm_zero_row', lambda a: T.vector_norm(a, dim=1).sum(), [np.array([[3.0, 4.0], [0.0, 0.0]])])
case('irfft_odd', lambda a, w: (w * torch.fft.irfft(a, n=7)).sum(), [cplx(3, 4)], [real(3, 7)])
case('irfft_even_ortho', lambda a, w: (w * torch.fft.irfft(a, n=8, norm='ortho')).sum(), [cplx(3, 4)], [real(3, 8)])
case('rfft_long', lambda a, w: (w.conj() * torch.fft.rfft(a, n=9, norm='forward')).real.sum(), [real(3, 6)], [cplx(3, 5)])
case('hfft', lambda a, w: (w * torch.fft.hfft(a, n=6)).sum(), [cplx(4)], [real(6)])


def jax_case(name, loss, xs, ws=()):
    gs = jax.grad(loss, argnums=tuple(range(len(xs))))(*xs, *ws)
    store(name, xs, ws, [np.asarray(g) for g in gs])


# PyTorch gives zeros where its LU factors have an exact zero in the corner, and whether they do depends on the processor
jax_case('det_singular', jnp.linalg.det, [np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 10]]) @ np.array([[1.0, 0, 1], [0, 1, 1], [1, 1, 2]])])
jax_case('dct', lambda x, w: jnp.sum(w * js.fft.dct(x, type=2, norm='ortho')), [real(2, 7)], [real(2, 7)])
jax_case('idct', lambda x, w: jnp.sum(w * js.fft.idct(x, type=2)), [real(2, 6)], [real(2, 6)])
jax_case('interp', lambda x, xp, fp, w: jnp.sum(w * jnp.interp(x, xp, fp)),
         [np.array([-1.0, 0.3, 2.2, 9.0]), np.array([0.0, 1.0, 2.5, 4.0]), real(4)], [real(4)])

golden_file.save('grad_linalg', {'script': 'make_grad_linalg.py', 'torch': torch.__version__, 'jax': jax.__version__}, out)
