"""Named functions in NumPy, numexpr, PyTorch (eager and torch.compile) and JAX (jit).

What it is for: the peers of bench/transforms.lua, under the same names and on the same numbers.
What it owns: the same functions in each library's idiom; the time of the first call.
What it may not know: mascon.
Usage: bench_transforms.py [--threads 2] [--only softmax]
"""

import math
import sys
import time

import peer

OPTIONS = peer.arguments(__doc__.splitlines()[0], family='')

import numpy as np  # noqa: E402
from scipy.special import erf as np_erf  # noqa: E402
from scipy.special import logsumexp as np_logsumexp  # noqa: E402

try:
    import torch
except ImportError:
    torch = None
try:
    import jax
    import jax.numpy as jnp

    jax.config.update('jax_enable_x64', True)
except ImportError:
    jax = None
try:
    import numexpr
except ImportError:
    numexpr = None

HALF = math.sqrt(0.5)


def wave(shape, k, dtype='f4'):
    n = int(np.prod(shape))
    return np.sin(np.arange(1, n + 1) * k).reshape(shape).astype(dtype)


# ---- one function per library; xp is numpy, torch or jax.numpy

def erf(xp, x):
    if xp is np:
        return np_erf(x)
    return torch.erf(x) if xp is torch else jax.scipy.special.erf(x)


def chain(n):
    def f(xp, x, y):
        h = x
        for _ in range(n // 5):
            h = h * y + x
            h = xp.tanh(h) - y * 0.5
            h = xp.maximum(h, x)
        return h

    return f


def softmax(xp, x):
    if xp is torch:
        return torch.softmax(x, 1)
    if xp is not np:
        return jax.nn.softmax(x, axis=1)
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def layernorm(xp, x, w, b):
    if xp is torch:
        return torch.nn.functional.layer_norm(x, (x.shape[1],), w, b)
    d = x - x.mean(1, keepdims=True)
    return d / xp.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b


def gelu(xp, x):
    if xp is torch:
        return torch.nn.functional.gelu(x)
    return x * 0.5 * (erf(xp, x * HALF) + 1)


def linear_gelu(xp, x, w, b):
    return gelu(xp, x @ w + b)


def attention(xp, q, k, v):
    s = q @ xp.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    if xp is torch:
        return torch.softmax(s, -1) @ v
    if xp is not np:
        return jax.nn.softmax(s, axis=-1) @ v
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v


def mixture(xp, x, logw, mu, sd):
    z = (x[:, None] - mu) / sd
    t = logw - xp.log(sd) - 0.5 * z * z - 0.9189385332046727
    if xp is torch:
        return torch.logsumexp(t, 1).sum()
    return (np_logsumexp(t, axis=1) if xp is np else jax.scipy.special.logsumexp(t, axis=1)).sum()


def nbody(xp, p, v, m, dt):
    d = p[None] - p[:, None]
    r = (d * d).sum(-1) + 1e-2
    a = (d * (m * r**-1.5)[..., None]).sum(1)
    v2 = v + a * dt
    return p + v2 * dt


def black_scholes(xp, s, k, t):
    v, r = 0.3, 0.02
    root = v * xp.sqrt(t)
    d1 = (xp.log(s / k) + (r + 0.5 * v * v) * t) / root

    def cdf(z):
        return 0.5 * (1 + erf(xp, z * HALF))

    return s * cdf(d1) - k * xp.exp(-r * t) * cdf(d1 - root)


M4, M16 = 4194304, 16777216


def options(dtype):
    return [
        wave((M4,), 0.1, dtype) * 20 + 100,
        wave((M4,), 0.2, dtype) * 20 + 100,
        wave((M4,), 0.3, dtype) * np.dtype(dtype).type(0.4) + 1,
    ]


CASES = [
    ('chain5_16M_f32', chain(5), lambda: [wave((M16,), 0.1), wave((M16,), 0.2)]),
    ('chain10_4M_f32', chain(10), lambda: [wave((M4,), 0.1), wave((M4,), 0.2)]),
    ('chain30_4M_f32', chain(30), lambda: [wave((M4,), 0.1), wave((M4,), 0.2)]),
    ('chain10_4M_f64', chain(10), lambda: [wave((M4,), 0.1, 'f8'), wave((M4,), 0.2, 'f8')]),
    (
        'chain10_broadcast_f32',
        chain(10),
        lambda: [wave((2048, 2048), 0.1), wave((1, 2048), 0.2)],
    ),
    (
        'chain10_strided_f32',
        chain(10),
        lambda: [wave((2048, 4096), 0.1)[:, ::2], wave((2048, 4096), 0.2)[:, ::2]],
    ),
    ('softmax_4096x1024', softmax, lambda: [wave((4096, 1024), 0.1) * 5]),
    (
        'layernorm_4096x1024',
        layernorm,
        lambda: [wave((4096, 1024), 0.1), wave((1024,), 0.3), wave((1024,), 0.5)],
    ),
    ('gelu_1000x512', gelu, lambda: [wave((1000, 512), 0.1) * 3]),
    ('gelu_2048x768', gelu, lambda: [wave((2048, 768), 0.1) * 3]),
    ('gelu_4096x1024', gelu, lambda: [wave((4096, 1024), 0.1) * 3]),
    (
        'linear_gelu_1024',
        linear_gelu,
        lambda: [wave((1024, 768), 0.1), wave((768, 3072), 0.3) / np.float32(28), wave((3072,), 0.5)],
    ),
    (
        'attention_2x12x512x64',
        attention,
        lambda: [wave((2, 12, 512, 64), k) for k in (0.1, 0.2, 0.3)],
    ),
    (
        'mixture_1M_8_f64',
        mixture,
        lambda: [
            wave((1000000,), 0.1, 'f8') * 3,
            wave((8,), 1, 'f8') - 2,
            wave((8,), 2, 'f8'),
            wave((8,), 3, 'f8') * 0.3 + 0.6,
        ],
    ),
    (
        'nbody_1024_f32',
        nbody,
        lambda: [
            wave((1024, 3), 0.7),
            wave((1024, 3), 0.3),
            wave((1024,), 0.1) * np.float32(0.4) + np.float32(0.5),
            np.float32(1e-3),
        ],
    ),
    ('black_scholes_4M_f32', black_scholes, lambda: options('f4')),
    ('black_scholes_4M_f64', black_scholes, lambda: options('f8')),
    ('call_16_f32', lambda xp, a: xp.tanh(a * 2 + 1) * a, lambda: [wave((16,), 0.1)]),
]
GRADIENTS = [
    ('layernorm_grad_4096x1024', layernorm, (0, 1, 2), CASES[7][2]),
    ('gelu_grad_4096x1024', gelu, (0,), CASES[10][2]),
]

STEP = 'where(tanh(h*y+x)-y*half>x,tanh(h*y+x)-y*half,x)'  # numexpr has neither maximum nor erf


def chain_numexpr(n, x, y):
    h = x
    for _ in range(n // 5):
        h = numexpr.evaluate(STEP, {'h': h, 'x': x, 'y': y, 'half': y.dtype.type(0.5)})
    return h


def emit(name, library, call, packages, values=None):
    """First call apart, then the warm time; `values` makes the checksum of the result."""
    if not peer.wanted('tr_' + name):
        return
    t = time.perf_counter()
    result = call()
    first = time.perf_counter() - t
    more = {'first_call': first}
    if values:
        more['sum'] = values(result)
    batch = 2000 if 'call_16' in name else 1
    peer.emit(f'tr_{name}_{library}', peer.measure(call, batch=batch), packages, **more)


def total(x):
    return float(np.abs(np.asarray(x, dtype='f8')).sum())


def run(name, f, make):
    if not peer.wanted('tr_' + name):
        return
    arrays = make()
    emit(name, 'numpy', lambda: f(np, *arrays), ['numpy', 'scipy'], total)
    if numexpr and name.startswith('chain'):
        numexpr.set_num_threads(peer.STATE['threads'])
        n = int(name.split('_')[0][5:])
        emit(name, 'numexpr', lambda: chain_numexpr(n, *arrays), ['numexpr'], total)
    if torch:
        tensors = [torch.from_numpy(np.asarray(a)) if np.ndim(a) else float(a) for a in arrays]
        if 'strided' in name:
            tensors = [torch.from_numpy(np.ascontiguousarray(a.base))[:, ::2] for a in arrays]
        emit(name, 'torch', lambda: f(torch, *tensors), ['torch'], total)
        torch._dynamo.reset()
        g = torch.compile(lambda *a: f(torch, *a))
        emit(name, 'torch_compile', lambda: g(*tensors), ['torch'], total)
    if jax:
        device = [jnp.asarray(a) for a in arrays]
        h = jax.jit(lambda *a: f(jnp, *a))
        emit(name, 'jax', lambda: h(*device).block_until_ready(), ['jax', 'jaxlib'], total)


def gradients(name, f, argnums, make):
    if not peer.wanted('tr_' + name):
        return
    arrays = make()

    def sums(parts):
        return sum(total(p) for p in parts)

    if torch:
        tensors = [torch.from_numpy(a).requires_grad_() for a in arrays]

        def backward(g):
            with torch.enable_grad():
                return torch.autograd.grad(g(*tensors).square().sum(), tensors)

        emit(name, 'torch', lambda: backward(lambda *a: f(torch, *a)), ['torch'], sums)
        torch._dynamo.reset()
        g = torch.compile(lambda *a: f(torch, *a))
        emit(name, 'torch_compile', lambda: backward(g), ['torch'], sums)
    if jax:
        device = [jnp.asarray(a) for a in arrays]
        h = jax.jit(jax.grad(lambda *a: jnp.square(f(jnp, *a)).sum(), argnums=argnums))
        emit(name, 'jax', lambda: [t.block_until_ready() for t in h(*device)], ['jax', 'jaxlib'], sums)


def mlp(batch):
    name = f'mlp_step_{batch}'
    if not peer.wanted('tr_' + name):
        return
    w1, w2 = wave((784, 256), 0.7) / np.float32(28), wave((256, 10), 0.3) / np.float32(16)
    x, y = wave((batch, 784), 1.1), np.arange(1, batch + 1) % 10
    if torch:
        for library in ('torch', 'torch_compile'):
            model = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
            with torch.no_grad():
                model[0].weight.copy_(torch.from_numpy(w1.T))
                model[2].weight.copy_(torch.from_numpy(w2.T))
                model[0].bias.zero_()
                model[2].bias.zero_()
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
            tx, ty = torch.from_numpy(x), torch.from_numpy(y)

            def step(model=model, optimizer=optimizer, tx=tx, ty=ty):
                with torch.enable_grad():
                    optimizer.zero_grad()
                    loss = torch.nn.functional.cross_entropy(model(tx), ty)
                    loss.backward()
                    optimizer.step()
                return loss

            if library == 'torch_compile':
                torch._dynamo.reset()
                step = torch.compile(step)
            emit(name, library, lambda step=step: step().item(), ['torch'], float)
    if jax:
        params = [jnp.asarray(w1), jnp.zeros(256, 'f4'), jnp.asarray(w2), jnp.zeros(10, 'f4')]
        m = [jnp.zeros_like(p) for p in params]
        v = [jnp.zeros_like(p) for p in params]
        jx, jy = jnp.asarray(x), jnp.asarray(y)

        def loss(p, a, b):
            h = jnp.maximum(a @ p[0] + p[1], 0)
            lp = jax.nn.log_softmax(h @ p[2] + p[3])
            return -jnp.take_along_axis(lp, b[:, None], 1).mean()

        def adamw(p, m, v, t, a, b):
            value, g = jax.value_and_grad(loss)(p, a, b)
            m = [0.9 * i + 0.1 * j for i, j in zip(m, g)]
            v = [0.999 * i + 0.001 * j * j for i, j in zip(v, g)]
            new = [
                (1 - 1e-5) * w - 1e-3 * (i / (1 - 0.9**t)) / (jnp.sqrt(j / (1 - 0.999**t)) + 1e-8)
                for w, i, j in zip(p, m, v)
            ]
            return new, m, v, t + 1, value

        step = jax.jit(adamw)
        state = [params, m, v, jnp.float32(1)]

        def once():
            *state[:], value = step(*state, jx, jy)
            return float(value)

        emit(name, 'jax', once, ['jax', 'jaxlib'], float)


def main():
    if torch:
        torch.set_num_threads(peer.STATE['threads'])
        torch.set_grad_enabled(False)
    for case in CASES:
        run(*case)
    for case in GRADIENTS:
        gradients(*case)
    for batch in (32, 1024):
        mlp(batch)


if __name__ == '__main__':
    sys.exit(main())
