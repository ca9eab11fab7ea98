"""NumPyro's No-U-Turn Sampler on the models of bench/sample.lua.

What it is for: the peer of bench/sample.lua, under the same names: same densities, starts, step sizes and draws, one chain, no
adaptation, 64 bits, compiled before it is timed (peer.sampler); a line carries the gradients.
What it owns: the same densities as potential functions of JAX.
What it may not know: mascon.
Usage: bench_sample.py [--threads 2] [--only normal]
"""

import peer

OPTIONS = peer.arguments(__doc__.splitlines()[0])

MISSING = peer.missing('numpyro', 'jax')
DRAWS = 1000


def normal():
    i = np.arange(10)
    precision = jnp.array(np.linalg.inv(0.5 ** np.abs(i[:, None] - i[None, :])))
    return lambda q: 0.5 * q @ precision @ q, jnp.zeros(10), 0.4


def schools():
    y = jnp.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    sigma = jnp.array([15.0, 10, 16, 11, 9, 11, 10, 18])

    def potential(q):
        mu, log_tau, eta = q[0], q[1], q[2:]
        tau = jnp.exp(log_tau)
        z = (y - mu - tau * eta) / sigma
        prior = 0.5 * (z @ z + eta @ eta + (mu / 5) ** 2) + jnp.log1p((tau / 5) ** 2)
        return prior - log_tau

    return potential, jnp.zeros(10), 0.3


def logistic():
    i, j = np.arange(1000.0)[:, None], np.arange(10.0)[None, :]
    x = jnp.array(np.sin(1.7 * i * (j + 1) + j))
    y = jnp.array((np.sin(0.37 * np.arange(1000.0)) > 0).astype(float))

    def potential(b):
        z = x @ b
        return jnp.sum(jnp.logaddexp(z, 0.0) - y * z) + 0.5 * b @ b

    return potential, jnp.zeros(10), 0.06


if MISSING:
    peer.skipped('op_nuts', f'{MISSING} is not installed')
else:
    import jax
    import jax.numpy as jnp
    import numpy as np
    from numpyro.infer import NUTS

    jax.config.update('jax_enable_x64', True)
    for name, model in (('normal', normal), ('schools', schools), ('logistic', logistic)):
        if not peer.wanted(name):
            continue
        potential, start, step = model()
        kernel = NUTS(potential_fn=potential, step_size=step, adapt_step_size=False, adapt_mass_matrix=False)
        draw = peer.sampler(kernel, start, DRAWS)
        times = []
        for _ in range(5):
            seconds, _, steps = peer.cpu(draw)
            times.append(seconds)
        peer.emit(f'op_nuts_{name}_numpyro', peer.summary(times), ('numpyro', 'jax'), nfev=steps)
