"""NumPyro's No-U-Turn Sampler: gradients per second of the draws, after the warm-up and its compilation.

What it is for: the peer of bench/sample.lua, on the same models, starts, chains and draws.
What it owns: the same models as potential functions of JAX, in 64 bits, chains one after another as ours.
What it may not know: mascon.
Usage: bench_sample.py [--threads 2] [--only normal]
"""

import peer

OPTIONS = peer.arguments(__doc__.splitlines()[0], family='')

import time  # noqa: E402

try:
    import jax
    import jax.numpy as jnp
    from numpyro.infer import MCMC, NUTS
except ImportError:
    jax = None
