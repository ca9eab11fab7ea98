"""least_squares.npz: answers of SciPy's least_squares and curve_fit on small problems.

What it is for: tests/spec/least_squares_spec.lua and curve_fit_spec.lua, which hold the same problems in Lua under the same names.
What it owns: the problems (More, Garbow and Hillstrom, Testing unconstrained optimization software, 1981), starts, bounds and
losses. What it may not know: how mascon solves them.

Per problem NAME, method and loss: NAME_METHOD_LOSS_x, _cost, _mask (active bounds); SciPy is asked for much tighter
tolerances than the specs use.
"""

import numpy as np
import scipy
from scipy.optimize import curve_fit, least_squares

import golden_file

t = np.linspace(0, 5, 40)
# a decay with bounded noise and four outliers, the same formula in the spec
y = 2 * np.exp(-0.7 * t) + 0.3 + 0.05 * np.sin(17 * t)
y[[4, 13, 22, 31]] += [2.0, -1.5, 1.0, 3.0]


def helical(x):
    theta = np.arctan2(x[1], x[0]) / (2 * np.pi)
    return np.array([10 * (x[2] - 10 * theta), 10 * (np.hypot(x[0], x[1]) - 1), x[2]])


PROBLEMS = {
    'rosenbrock': (lambda x: np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]]), [-1.2, 1]),
    'freudenstein': (lambda x: np.array([-13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1], -29 + x[0] + ((x[1] + 1) * x[1] - 14) * x[1]]), [0.5, -2]),
    'beale': (lambda x: np.array([1.5 - x[0] * (1 - x[1]), 2.25 - x[0] * (1 - x[1] ** 2), 2.625 - x[0] * (1 - x[1] ** 3)]), [1, 1]),
    'helical': (helical, [-1, 0.1, 0]),
    'wood': (lambda x: np.array([10 * (x[1] - x[0] ** 2), 1 - x[0], 90 ** 0.5 * (x[3] - x[2] ** 2), 1 - x[2],
                                 10 ** 0.5 * (x[1] + x[3] - 2), 10 ** -0.5 * (x[1] - x[3])]), [-3, -1, -3, -1]),
    'jennrich': (lambda x: 2 + 2 * np.arange(1, 11) - np.exp(np.arange(1, 11) * x[0]) - np.exp(np.arange(1, 11) * x[1]), [0.3, 0.4]),
    'decay': (lambda x: x[0] * np.exp(-x[1] * t) + x[2] - y, [1, 1, 0]),
}
BOUNDED = {
    'rosenbrock': ([-1.5, 1.5], [2, 3], [-1.2, 2]),
    'beale': ([0, -1], [2.5, 1], [1, 0.5]),
    'wood': ([-10] * 4, [0.5, 10, 10, 0.8], [-3, -1, -3, -1]),
    'decay': ([0, 0, 0.5], [1.5, 5, 2], [1, 1, 1]),
}
LOSSES = ['soft_l1', 'huber', 'cauchy', 'arctan']
TIGHT = dict(xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=5000)

arrays = {'decay_t': t, 'decay_y': y}


def store(key, r):
    arrays[f'{key}_x'], arrays[f'{key}_cost'] = r.x, np.array(r.cost)
    arrays[f'{key}_mask'], arrays[f'{key}_grad'] = np.asarray(r.active_mask, dtype=np.int64), r.grad


for name, (f, x0) in PROBLEMS.items():
    store(name, least_squares(f, x0, jac='3-point', **TIGHT))
for name, (low, high, x0) in BOUNDED.items():
    store(f'{name}_bounded', least_squares(PROBLEMS[name][0], x0, jac='3-point', bounds=(low, high), **TIGHT))
for loss in LOSSES:
    store(f'decay_{loss}', least_squares(PROBLEMS['decay'][0], [1, 1, 0], jac='3-point', loss=loss, f_scale=0.1, **TIGHT))

# curve_fit: standard errors by both meanings of sigma, and by a covariance of the data
model = lambda t, a, k, c: a * np.exp(-k * t) + c
clean = 2 * np.exp(-0.7 * t) + 0.3 + 0.05 * np.sin(17 * t)
sigma = 0.05 * (1 + t / 5)
band = np.diag(sigma ** 2) + 0.3 * np.diag(sigma[1:] * sigma[:-1], 1) + 0.3 * np.diag(sigma[1:] * sigma[:-1], -1)
arrays.update(fit_y=clean, fit_sigma=sigma, fit_band=band)
for key, options in {'plain': {}, 'relative': dict(sigma=sigma), 'absolute': dict(sigma=sigma, absolute_sigma=True),
                     'band': dict(sigma=band, absolute_sigma=True), 'bounded': dict(bounds=([0, 0, 0], [1.9, 5, 1]))}.items():
    p, cov = curve_fit(model, t, clean, p0=[1, 1, 0], jac='3-point' if key == 'bounded' else None, method='trf' if key == 'bounded' else None,
                       xtol=1e-14, ftol=1e-14, gtol=1e-14, **options)
    arrays[f'fit_{key}_p'], arrays[f'fit_{key}_cov'] = p, cov
golden_file.save('least_squares', {'script': 'make_least_squares.py', 'scipy': scipy.__version__}, arrays)
