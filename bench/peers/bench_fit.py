"""Least squares, fits of models and a Gaussian process in SciPy and scikit-learn.

What it is for: the peers of bench/fit.lua, under the same names and on the same numbers.
What it owns: the same problems and starts in NumPy.
What it may not know: mascon.
Usage: bench_fit.py [--threads 2] [--only curve]
"""

import os

import peer

OPTIONS = peer.arguments(__doc__.splitlines()[0])

import numpy as np  # noqa: E402
from scipy.optimize import curve_fit, least_squares  # noqa: E402

exp, pi = np.exp, np.pi


def cubic(x, b):
    return (b[0] + x * (b[1] + x * (b[2] + x * b[3]))) / (1 + x * (b[4] + x * (b[5] + x * b[6])))


def enso(x, b):
    w = 2 * pi * x
    return (b[0] + b[1] * np.cos(w / 12) + b[2] * np.sin(w / 12) + b[4] * np.cos(w / b[3]) + b[5] * np.sin(w / b[3])
            + b[7] * np.cos(w / b[6]) + b[8] * np.sin(w / b[6]))


misra1a = lambda x, b: b[0] * (1 - exp(-b[1] * x))
chwirut = lambda x, b: exp(-b[0] * x) / (b[1] + b[2] * x)
lanczos = lambda x, b: b[0] * exp(-b[1] * x) + b[2] * exp(-b[3] * x) + b[4] * exp(-b[5] * x)
gauss = lambda x, b: b[0] * exp(-b[1] * x) + b[2] * exp(-((x - b[3]) / b[4]) ** 2) + b[5] * exp(-((x - b[6]) / b[7]) ** 2)
MODELS = {
    'Misra1a': misra1a, 'BoxBOD': misra1a, 'Chwirut1': chwirut, 'Chwirut2': chwirut, 'Lanczos1': lanczos, 'Lanczos2': lanczos,
    'Lanczos3': lanczos, 'Gauss1': gauss, 'Gauss2': gauss, 'Gauss3': gauss, 'Hahn1': cubic, 'Thurber': cubic, 'ENSO': enso,
    'DanWood': lambda x, b: b[0] * x ** b[1],
    'Misra1b': lambda x, b: b[0] * (1 - (1 + b[1] * x / 2) ** -2),
    'Misra1c': lambda x, b: b[0] * (1 - (1 + 2 * b[1] * x) ** -0.5),
    'Misra1d': lambda x, b: b[0] * b[1] * x / (1 + b[1] * x),
    'Kirby2': lambda x, b: (b[0] + x * (b[1] + x * b[2])) / (1 + x * (b[3] + x * b[4])),
    'Nelson': lambda x, b: b[0] - b[1] * x[0] * exp(-b[2] * x[1]),
    'MGH17': lambda x, b: b[0] + b[1] * exp(-x * b[3]) + b[2] * exp(-x * b[4]),
    'Roszman1': lambda x, b: b[0] - b[1] * x - np.arctan(b[2] / (x - b[3])) / pi,
    'MGH09': lambda x, b: b[0] * (x ** 2 + x * b[1]) / (x ** 2 + x * b[2] + b[3]),
    'MGH10': lambda x, b: b[0] * exp(b[1] / (x + b[2])),
    'Rat42': lambda x, b: b[0] / (1 + exp(b[1] - b[2] * x)),
    'Rat43': lambda x, b: b[0] / (1 + exp(b[1] - b[2] * x)) ** (1 / b[3]),
    'Eckerle4': lambda x, b: b[0] / b[1] * exp(-0.5 * ((x - b[2]) / b[1]) ** 2),
    'Bennett5': lambda x, b: b[0] * (b[1] + x) ** (-1 / b[2]),
}


def fractions(n, k):
    return np.arange(1, n + 1) * (0.6180339887498949 * k) % 1


def run(name, call, packages=('numpy', 'scipy'), **more):
    if not peer.wanted(name):
        return
    result = {}
    with np.errstate(all='ignore'):
        stats = peer.measure(lambda: result.update(call()))
        if 'curve_fit' in name:
            result['cpu'] = min(peer.cpu(call)[1] for _ in range(5))
    peer.emit(name, stats, packages, **result, **more)


def suite(method):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tests', 'golden', 'nist.npz')
    g = np.load(path)
    data = {n: (g[n + '_x'], np.log(g[n + '_y']) if n == 'Nelson' else g[n + '_y'], g[n + '_start'], g[n + '_b']) for n in MODELS}

    def call():
        reached = nfev = 0
        for name, (x, y, starts, b) in data.items():
            for start in starts:
                try:
                    r = least_squares(lambda p: MODELS[name](x, p) - y, start, method=method, jac='3-point', xtol=1e-12, ftol=1e-15,
                                      gtol=1e-15 if method == 'lm' else None, max_nfev=2000)
                except ValueError:  # residuals or derivatives that are not finite
                    continue
                reached += bool(np.all(np.abs(r.x - b) <= 1e-6 * np.abs(b)))
                nfev += r.nfev
        return {'nfev': nfev, 'fun': reached}

    return call


for method in ('trf', 'lm'):
    run(f'op_nist_{method}_scipy', suite(method))

n = 1_000_000
x = fractions(n, 1) * 4
y = 2.5 * exp(x * -1.3) + 0.5 + 0.2 * (fractions(n, 2) + fractions(n, 3) - 1)
decay = lambda x, a, k, c: a * exp(-k * x) + c


def fit(**options):
    def call():
        p, cov, info, _, _ = curve_fit(decay, x, y, p0=[1, 1, 1], full_output=True, **options)
        return {'nfev': int(info['nfev']), 'fun': float(np.sum(info['fvec'] ** 2))}

    return call


slopes = lambda x, a, k, c: np.stack([exp(-k * x), -a * x * exp(-k * x), np.ones_like(x)], 1)
run('op_curve_fit_1M_scipy', fit())
run('op_curve_fit_1M_block_scipy', fit())
run('op_curve_fit_1M_exact_scipy', fit(jac=slopes))
run('op_curve_fit_1M_differences_scipy', fit())

n = 10_000_000
x = fractions(n, 1) * 4
y = 2.5 * exp(x * -1.3) + 0.5 + 0.2 * (fractions(n, 2) + fractions(n, 3) - 1)
run('op_curve_fit_10M_scipy', fit())
run('op_curve_fit_10M_block_scipy', fit())
del x, y


def small():
    b, m, part = 1000, 50, 100
    t = np.arange(m) * (4 / (m - 1))
    a, k = fractions(b, 1) * 3 + 1, fractions(b, 2) * 2 + 0.3
    data = a[:, None] * exp(-k[:, None] * t) + 0.5 + 0.02 * (fractions(b * m, 3).reshape(b, m) - 0.5)

    def call():
        cost = 0
        for row in data[:part]:
            cost += 2 * least_squares(lambda p: p[0] * exp(-p[1] * t) + p[2] - row, [1, 1, 1], method='lm').cost
        return {'fun': cost}

    return call, b / part


if peer.wanted('op_small_fits_scipy'):
    call, scaled = small()
    peer.emit('op_small_fits_scipy', peer.measure(call), ('numpy', 'scipy'), scaled=scaled)

try:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
except ImportError:
    GaussianProcessRegressor = None
if GaussianProcessRegressor:
    X = np.stack([fractions(200, k) for k in (1, 2, 3)], 1)
    Z = np.stack([fractions(1000, k) for k in (4, 5, 6)], 1)
    v = np.sin(X[:, 0] * 6) + X[:, 1] ** 2 + 0.1 * (fractions(200, 7) - 0.5)

    def process():
        gp = GaussianProcessRegressor(ConstantKernel(1.0) * RBF([1.0, 1, 1]) + WhiteKernel(0.01), alpha=0, normalize_y=True).fit(X, v)
        gp.predict(Z, return_std=True)
        return {'fun': float(gp.log_marginal_likelihood_value_)}

    run('op_process_scipy', process, ('numpy', 'scikit-learn'))
