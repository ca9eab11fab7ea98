"""Layers of networks and steps of training in JAX (jit): what bench_networks.py sets beside PyTorch.

With one thread asked for, XLA gets no pool. The AdamW step is written out, as JAX has none.
"""

import os

import peer

if peer.STATE['threads'] == 1:
    os.environ['XLA_FLAGS'] = '--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1'

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402


def standardised(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def cross_entropy(z, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], 1).mean()


def gelu(x):
    return jax.nn.gelu(x, approximate=False)


def entropy_of(x):
    return cross_entropy(x, jnp.arange(x.shape[0]) % x.shape[1])


LAYERS = {
    'layer_norm': lambda x, w, b: standardised(x) * w + b,
    'gelu': gelu,
    'gelu_tanh': jax.nn.gelu,
    'linear_gelu': lambda x, w, b: gelu(x @ w.T + b),
    'linear_relu': lambda x, w, b: jax.nn.relu(x @ w.T + b),
    'layernorm_linear': lambda x, w, b, g, s: (standardised(x) * g + s) @ w.T + b,
    'cross_entropy': entropy_of,
}


def pair(name, operands):
    """Functions of the result, and of the result with all derivatives."""
    f, operands = LAYERS[name], [jnp.asarray(t) for t in operands]
    out = jax.eval_shape(f, *operands)
    c = jnp.asarray(np.random.default_rng(1).standard_normal(out.shape), 'float32')

    def both(c, *operands):
        y, back = jax.vjp(f, *operands)
        return y, back(c)

    forward, both = jax.jit(f), jax.jit(both)
    return (
        lambda: jax.block_until_ready(forward(*operands)),
        lambda: jax.block_until_ready(both(c, *operands)),
    )


def linear(key, n, m, bias=True):
    w = jax.random.normal(key, (n, m)) / n**0.5
    return {'w': w, 'b': jnp.zeros(m)} if bias else {'w': w}


def apply(p, x):
    return x @ p['w'] + p['b'] if 'b' in p else x @ p['w']


def norm(p, x):
    return standardised(x) * p['w'] + p['b']


def gpt_parameters(key, width=256, layers=4):
    keys = iter(jax.random.split(key, 100))
    one = lambda: {'w': jnp.ones(width), 'b': jnp.zeros(width)}  # noqa: E731
    block = lambda: {n: linear(next(keys), width, width) for n in 'qkvo'} | {  # noqa: E731
        'up': linear(next(keys), width, 4 * width), 'down': linear(next(keys), 4 * width, width),
        'n1': one(), 'n2': one(),
    }  # fmt: skip
    return {
        'emb': jax.random.normal(next(keys), (1024, width)), 'places': jax.random.normal(next(keys), (128, width)),
        'blocks': [block() for _ in range(layers)], 'norm': one(), 'head': linear(next(keys), width, 1024, False),
    }  # fmt: skip


def gpt(p, x):
    h = p['emb'][x] + p['places']
    n, t, d = h.shape
    mask = jnp.tril(jnp.ones((t, t), bool))
    for b in p['blocks']:
        u = norm(b['n1'], h)
        q, k, v = (apply(b[name], u).reshape(n, t, 4, -1).transpose(0, 2, 1, 3) for name in 'qkv')
        s = jnp.where(mask, q @ k.transpose(0, 1, 3, 2) / (d // 4) ** 0.5, -jnp.inf)
        a = jax.nn.softmax(s) @ v
        h = h + apply(b['o'], a.transpose(0, 2, 1, 3).reshape(n, t, d))
        h = h + apply(b['down'], gelu(apply(b['up'], norm(b['n2'], h))))
    return apply(p['head'], norm(p['norm'], h)).reshape(-1, 1024)


def step(net, batch):
    """A function that makes one step and gives the loss."""
    key = jax.random.PRNGKey(1)
    if net == 'gpt':
        p, f = gpt_parameters(key), gpt
        x, y = jax.random.randint(key, (batch, 128), 0, 1024), jax.random.randint(key, (batch * 128,), 0, 1024)
    else:
        p = [linear(key, 784, 256), linear(key, 256, 10)]
        f = lambda p, x: apply(p[1], jax.nn.relu(apply(p[0], x)))  # noqa: E731
        x, y = jax.random.normal(key, (batch, 784)), jax.random.randint(key, (batch,), 0, 10)

    def adamw(p, m, v, t, x, y):
        loss, g = jax.value_and_grad(lambda p: cross_entropy(f(p, x), y))(p)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        a, b = 1 - 0.9**t, 1 - 0.999**t
        p = jax.tree.map(lambda p, m, v: p * (1 - 1e-6) - 1e-4 * (m / a) / (jnp.sqrt(v / b) + 1e-8), p, m, v)
        return p, m, v, loss

    program = jax.jit(adamw, donate_argnums=(0, 1, 2))
    zeros = jax.tree.map(jnp.zeros_like, p)
    state = {'at': (p, zeros, jax.tree.map(jnp.zeros_like, p)), 't': 0}

    def run():
        state['t'] += 1
        *state['at'], loss = program(*state['at'], float(state['t']), x, y)
        return float(loss)

    return run
