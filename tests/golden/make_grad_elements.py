"""Gradients of ops whose derivatives have traps, by other programs; read by tests/spec/grad_golden_spec.lua.

What it is for: zeros in products, equal elements, ends of domains, complex numbers, second derivatives.
What it owns: grad_elements.npz: for each case `<name>_x<i>` operands (from 1), `<name>_w` the cotangent of the result,
`<name>_g<i>` the cotangents of the operands. Values are f64 or c128; the convention of complex gradients is PyTorch's.
What it may not know: how mascon computes any of it.
"""

import golden_file
import jax
import jax.numpy as jnp
import jax.scipy.special as js
import mpmath
import numpy as np
import torch

jax.config.update('jax_enable_x64', True)
mpmath.mp.dps = 40
rng = np.random.default_rng(20261121)
arrays = {}


def put(name, inputs, w, grads):
    for i, x in enumerate(inputs):
        arrays[f'{name}_x{i + 1}'] = np.asarray(x)
    arrays[f'{name}_w'] = np.asarray(w)
    for i, g in enumerate(grads):
        if g is not None:
            arrays[f'{name}_g{i + 1}'] = np.asarray(g)


def by_torch(name, f, *inputs, double=False):
    """double: the operand's second derivatives along w stand in for the gradient."""
    x = [torch.tensor(np.asarray(v)) for v in inputs]
    for t in x:
        if t.is_floating_point() or t.is_complex():
            t.requires_grad_(True)
    y = f(*x)
    w = torch.tensor(rng.standard_normal(tuple(y.shape)))
    if y.is_complex():
        w = w + 1j * torch.tensor(rng.standard_normal(tuple(y.shape)))
    wanted = [t for t in x if t.requires_grad]
    grads = list(torch.autograd.grad(y, wanted, w, create_graph=double))
    if double:
        grads = list(torch.autograd.grad(sum((g * g).sum() for g in grads), wanted))
    out = []
    for t in x:
        out.append(grads.pop(0).detach().numpy() if t.requires_grad else None)
    put(name, inputs, w.numpy(), out)


def by_jax(name, f, *inputs, argnums=(0,)):
    fixed = [jnp.asarray(v) for v in inputs]

    def moving(*part):
        x = list(fixed)
        for i, v in zip(argnums, part):
            x[i] = v
        return f(*x)

    y, pull = jax.vjp(moving, *[fixed[i] for i in argnums])
    w = rng.standard_normal(y.shape)
    back = dict(zip(argnums, pull(jnp.asarray(w))))
    put(name, inputs, w, [back.get(i) for i in range(len(inputs))])


def by_mpmath(name, f, *inputs, wrt):
    """Slopes of a function of numbers by mpmath with respect to operand `wrt` (from 1); the cotangent is 1."""
    slopes = []
    for point in zip(*inputs):
        def along(t):
            return f(*[t if i + 1 == wrt else mpmath.mpf(float(v)) for i, v in enumerate(point)])
        slopes.append(float(mpmath.diff(along, mpmath.mpf(float(point[wrt - 1])))))
    put(name, inputs, np.ones(len(inputs[0])), [np.array(slopes) if i + 1 == wrt else None for i in range(len(inputs))])


def c(*shape):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


r = rng.standard_normal
ZEROS = np.array([[2.0, 0, 3, -1], [0, 0, 1, 2], [1, 2, 3, 4]])
TIES = np.array([[3.0, 1, 3, 2], [1, 1, 1, 1], [2, 5, 5, 0]])
by_torch('prod', lambda x: torch.prod(x, 1), ZEROS)
by_torch('cumprod', lambda x: torch.cumprod(x, 1), ZEROS)
by_torch('cumprod_twice', lambda x: torch.cumprod(x, 1), ZEROS, double=True)
by_torch('cumprod_complex', lambda x: torch.cumprod(x, 0), c(4, 2))
by_torch('amax', lambda x: torch.amax(x, 1), TIES)
by_torch('logcumsumexp', lambda x: torch.logcumsumexp(x, 1), r((3, 5)) * 9)
by_torch('logsumexp', lambda x: torch.logsumexp(x, (0, 1)), r((3, 4)) * 9)
by_torch('log_softmax', lambda x: torch.log_softmax(x, 1), r((3, 4)) * 9)
by_torch('softmax_twice', lambda x: torch.softmax(x, 1), r((3, 4)), double=True)
by_torch('std', lambda x: torch.std(x, 1, correction=1), r((3, 4)))
by_torch('var_twice', lambda x: torch.var(x, 1, correction=0) ** 2, r((3, 4)), double=True)
by_torch('quantile', lambda x: torch.quantile(x, torch.tensor([0.2, 0.55], dtype=torch.float64), 1), r((3, 6)))
by_torch('nanmean', lambda x: torch.nanmean(x, 1), np.where(r((3, 6)) > 0.5, np.nan, r((3, 6))))
by_torch('sort', lambda x: torch.sort(x, dim=1, descending=True, stable=True)[0], r((3, 4)))
index = np.array([[0, 3, 0], [2, 2, 1], [3, 1, 1]])
for how in ['prod', 'mean', 'amax']:
    for own in [True, False]:
        by_torch(f'scatter_{how}_{int(own)}', lambda x, i, v, how=how, own=own: x.scatter_reduce(1, i, v, how, include_self=own), r((3, 4)), index, r((3, 3)))
by_torch('pow', torch.pow, np.array([0.0, 0, 0, 2, -3, 5]), np.array([2.0, 1, 3, 0, 2, 0.5]))
by_torch('pow_complex', torch.pow, c(5), c(5))
by_torch('logaddexp', torch.logaddexp, r(5) * 50, r(5) * 50)
by_torch('xlogy', torch.special.xlogy, np.array([1.0, 2, 0.5]), np.array([0.1, 3, 2]))
for name in ['abs', 'angle', 'sgn']:
    by_torch(name + '_complex', getattr(torch, name), c(5))
for name in ['sqrt', 'log', 'log1p', 'exp', 'sin', 'tan', 'tanh', 'asin', 'acos', 'atan', 'asinh', 'acosh', 'atanh', 'reciprocal', 'sigmoid']:
    if name != 'sigmoid':
        by_torch(name + '_complex', getattr(torch, name), c(5))
by_torch('divide_complex', torch.div, c(5), c(5))
by_torch('vdot_complex', lambda a, b: torch.vdot(a, b), c(5), c(5))
by_torch('polygamma', lambda x: torch.polygamma(2, x), np.array([0.3, 2, 9]))
by_torch('i0e', torch.special.i0e, np.array([-3.0, 0.5, 20]))
by_torch('i1e', torch.special.i1e, np.array([-3.0, 0.5, 20]))
by_torch('erfinv', torch.erfinv, np.array([-0.99, 0.1, 0.7]))
by_jax('betainc', js.betainc, np.array([0.5, 2, 9]), np.array([0.7, 3, 1]), np.array([0.2, 0.5, 0.9]), argnums=(2,))
by_jax('gammainc', js.gammainc, np.array([0.5, 2, 30]), np.array([0.2, 3, 25]), argnums=(1,))
by_jax('gammaincc', js.gammaincc, np.array([0.5, 2, 30]), np.array([0.2, 3, 25]), argnums=(1,))
by_jax('hurwitz_zeta', js.zeta, np.array([1.5, 2, 5]), np.array([0.2, 3, 1]), argnums=(1,))
by_mpmath('betaln', lambda a, b: mpmath.log(mpmath.beta(a, b)), np.array([0.5, 2, 30]), np.array([0.2, 3, 25]), wrt=1)
by_mpmath('log_ndtr', lambda x: mpmath.log(mpmath.ncdf(x)), np.array([-35.0, -5, 0, 3]), wrt=1)
by_mpmath('j1', lambda x: mpmath.besselj(1, x), np.array([0.0, 1e-8, 3, 30]), wrt=1)
by_mpmath('jv', mpmath.besselj, np.array([0.5, 2, 7.5]), np.array([0.3, 4, 20]), wrt=2)
by_mpmath('kv', mpmath.besselk, np.array([0.5, 2, 7.5]), np.array([0.3, 4, 20]), wrt=2)
by_mpmath('sinc', lambda x: mpmath.sinc(mpmath.pi * x), np.array([0.0, 1e-8, 0.5, 7.3]), wrt=1)
by_mpmath('rgamma', mpmath.rgamma, np.array([0.0, -1, -3, 0.5, 4]), wrt=1)
by_mpmath('ellipk', mpmath.ellipk, np.array([-3.0, 0, 1e-9, 0.5, 0.999]), wrt=1)
by_mpmath('ellipe', mpmath.ellipe, np.array([-3.0, 0, 1e-9, 0.5, 0.999]), wrt=1)
by_mpmath('ellipkinc', mpmath.ellipf, np.array([0.3, 1.5, 4]), np.array([1e-9, 0.9, 0.5]), wrt=2)
by_mpmath('ellipeinc', mpmath.ellipe, np.array([0.3, 1.5, 4]), np.array([1e-9, 0.9, 0.5]), wrt=2)
by_mpmath('ellipj_sn', lambda u, m: mpmath.ellipfun('sn', u, m=m), np.array([0.3, 2, 9]), np.array([0.1, 0.9, 0.5]), wrt=2)
by_mpmath('ellipj_dn', lambda u, m: mpmath.ellipfun('dn', u, m=m), np.array([0.3, 2, 9]), np.array([0.1, 0.9, 0.5]), wrt=2)
by_mpmath('elliprd', mpmath.elliprd, np.array([1.0, 2, 0.5]), np.array([1.0, 0.3, 2]), np.array([1.0, 2, 0.5]), wrt=1)
by_mpmath('elliprd_third', mpmath.elliprd, np.array([1.0, 2, 0.5]), np.array([1.0, 0.3, 2]), np.array([1.0, 2, 0.5]), wrt=3)
by_mpmath('elliprc', mpmath.elliprc, np.array([1.0, 2, 0.5]), np.array([1.0, 0.3, -2]), wrt=2)
by_mpmath('expn', mpmath.expint, np.array([0.0, 1, 5]), np.array([0.3, 2, 9]), wrt=2)
by_mpmath('lambertwm1', lambda x: mpmath.lambertw(x, -1).real, np.array([-0.3, -0.1, -1e-5]), wrt=1)
by_mpmath('eval_legendre', mpmath.legendre, np.array([0.0, 1, 4, 9]), np.array([0.3, -0.2, 0.9, -0.7]), wrt=2)
golden_file.save('grad_elements', {
    'script': 'make_grad_elements.py', 'torch': torch.__version__, 'jax': jax.__version__, 'mpmath': mpmath.__version__,
}, arrays)
