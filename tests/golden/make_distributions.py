"""Golden answers of the distributions of mc.stats, by SciPy: distributions.npz.

What it is for: NAME_x values, NAME_p probabilities, NAME_s1.. shapes, NAME_cdf .. answers; continuous ones with loc = 0.5, scale = 2.
What it may not know: how mascon computes. Shapes and points are moderate, where SciPy itself is good to 1e-11 (its isf of F loses digits below 1e-6, its von Mises
tails are absolute); the tails are held
to mpmath through the special functions (make_special.py)."""

import numpy as np
import scipy
import scipy.stats as st

import golden_file

RNG = np.random.default_rng(7)
N = 24
P = np.concatenate([np.linspace(0.02, 0.98, N - 6), [1e-5, 1e-4, 1e-3, 0.999, 0.0, 1.0]])
SHAPES = {
    't': [RNG.uniform(0.7, 30, N)], 'chi2': [RNG.uniform(0.7, 30, N)], 'f': [RNG.uniform(0.7, 20, N), RNG.uniform(0.7, 20, N)],
    'beta': [RNG.uniform(0.3, 9, N), RNG.uniform(0.3, 9, N)], 'gamma': [RNG.uniform(0.2, 20, N)], 'lognorm': [RNG.uniform(0.2, 1.5, N)],
    'weibull_min': [RNG.uniform(0.5, 4, N)], 'vonmises': [RNG.uniform(0.1, 5, N)],
    'binom': [RNG.integers(1, 60, N).astype(float), RNG.uniform(0.05, 0.95, N)], 'poisson': [RNG.uniform(0.1, 40, N)],
    'nbinom': [RNG.uniform(0.5, 20, N), RNG.uniform(0.1, 0.9, N)], 'geom': [RNG.uniform(0.05, 0.9, N)],
    'hypergeom': [RNG.integers(40, 80, N).astype(float), RNG.integers(5, 40, N).astype(float), RNG.integers(5, 40, N).astype(float)],
}
out = {}
for name in ('norm', 't', 'chi2', 'f', 'beta', 'gamma', 'expon', 'lognorm', 'weibull_min', 'uniform', 'cauchy', 'laplace', 'logistic', 'vonmises'):
    d, shapes = getattr(st, name), SHAPES.get(name, [])
    opts = dict(loc=0.5, scale=2)
    p = P[:-2]
    x = RNG.uniform(-2.5, 3.5, N) if name == 'vonmises' else d.ppf(np.concatenate([RNG.uniform(0.001, 0.999, N)]), *shapes, **opts)
    x = np.clip(x, -50, 50)
    out.update({name + '_x': x, name + '_p': P})
    for k, s in enumerate(shapes):
        out['%s_s%d' % (name, k + 1)] = s
    for kind in ('cdf', 'sf', 'pdf', 'logpdf'):
        if name == 'vonmises' and kind == 'sf':
            continue
        out['%s_%s' % (name, kind)] = getattr(d, kind)(x, *shapes, **opts)
    if name != 'vonmises':
        out[name + '_ppf'], out[name + '_isf'] = d.ppf(P, *shapes, **opts), d.isf(P, *shapes, **opts)
for name in ('binom', 'poisson', 'nbinom', 'geom', 'hypergeom'):
    d, shapes = getattr(st, name), SHAPES[name]
    x = d.ppf(RNG.uniform(0.01, 0.99, N), *shapes)
    x[0] = -2
    out.update({name + '_x': x, name + '_p': P})
    for k, s in enumerate(shapes):
        out['%s_s%d' % (name, k + 1)] = s
    for kind in ('cdf', 'sf', 'pmf', 'logpmf'):
        out['%s_%s' % (name, kind)] = getattr(d, kind)(x, *shapes)
    out[name + '_ppf'], out[name + '_isf'] = d.ppf(P, *shapes), d.isf(P, *shapes)
golden_file.save('distributions', {'script': 'make_distributions.py', 'source': 'scipy ' + scipy.__version__}, out)
