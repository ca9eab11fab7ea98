"""Golden answers of the diagnostics of mc.sample, by ArviZ: sample.npz.

What it is for: NAME_x draws [chain, draw], NAME_answers: rhat, ess bulk, tail, mean, sd, median, mcse mean, sd; bfmi of some of them.
What it owns: chains of many kinds: independent, slow, antithetic, apart, heavy-tailed, with ties, odd lengths, one chain, very short.
What it may not know: how mascon computes."""

import arviz as az
import numpy as np
import scipy

import golden_file

RNG = np.random.default_rng(14)


def chains(m, n, phi, shift=0.0, scale=0.0):
    """m autoregressive chains of n draws; the means of the chains differ by shift, their sizes by scale."""
    x = np.empty((m, n))
    x[:, 0] = RNG.normal(size=m)
    for t in range(1, n):
        x[:, t] = phi * x[:, t - 1] + np.sqrt(1 - phi * phi) * RNG.normal(size=m)
    k = np.arange(m)[:, None]
    return x * (1 + scale * k) + shift * k


SETS = {
    'independent': chains(4, 200, 0.0),
    'slow': chains(4, 301, 0.9),
    'very_slow': chains(3, 250, 0.995),
    'antithetic': chains(4, 200, -0.7),
    'apart': chains(4, 150, 0.3, shift=0.5),
    'wider': chains(4, 150, 0.3, scale=0.6),
    'heavy': RNG.standard_cauchy((4, 200)),
    'ties': np.round(chains(4, 160, 0.5) * 2) / 2,
    'single': chains(1, 333, 0.4) * 1e-9 + 3,
    'pair': chains(2, 101, 0.2) * 1e6,
    'short': chains(4, 9, 0.0),
    'shortest': chains(3, 4, 0.0),
    'binary': (chains(4, 100, 0.5) > 1.0).astype(float),
}
out = {}
for name, x in SETS.items():
    answers = [float(az.rhat(x)) if len(x) > 1 else float('nan')]
    answers += [float(az.ess(x, method=m)) for m in ('bulk', 'tail', 'mean', 'sd', 'median')]
    answers += [float(az.mcse(x, method=m)) for m in ('mean', 'sd')]
    out[name + '_x'], out[name + '_answers'] = x, np.array(answers)
    out[name + '_bfmi'] = az.bfmi(x)
golden_file.save('sample', {'script': 'make_sample.py', 'source': 'ArviZ ' + az.__version__, 'scipy': scipy.__version__}, out)
