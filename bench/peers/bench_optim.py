"""Minimisers, roots, integrals and differential equations of SciPy; a training step of PyTorch.

What it is for: the peers of bench/optim.lua, under the same names, on the same problems and starts.
What it owns: the same problems in NumPy. A line carries the evaluations of f and the value reached. The
counts that the specs of mc.optim and mc.integrate name are those of this script.
What it may not know: mascon.
Usage: bench_optim.py [--threads 2] [--only lbfgs]
"""

import math
import sys

import peer

OPTIONS = peer.arguments(__doc__.splitlines()[0], family='')

import numpy as np  # noqa: E402
from scipy.integrate import quad, solve_ivp  # noqa: E402
from scipy.optimize import brentq, differential_evolution, minimize, root, rosen, rosen_der  # noqa: E402

try:
    import torch
except ImportError:
    torch = None


def start(n):
    return np.array([-1.2 if i % 2 == 0 else 1.0 for i in range(n)])


def smooth(method, n):
    jac = None if method == 'Nelder-Mead' else rosen_der
    return lambda: minimize(rosen, start(n), method=method, jac=jac)


def rastrigin(x):
    return np.sum(x * x - np.cos(2 * np.pi * x) * 10 + 10)


def ackley(x):
    return (
        -20 * np.exp(-0.2 * np.sqrt(np.mean(x * x)))
        - np.exp(np.mean(np.cos(2 * np.pi * x)))
        + 20
        + math.e
    )


def evolution(f, n, side):
    return lambda: differential_evolution(
        f, [(-side, side)] * n, rng=1, polish=False, updating='deferred'
    )


def tridiagonal(x):
    y = (3 - 2 * x) * x + 1
    y[1:] -= x[:-1]
    y[:-1] -= 2 * x[1:]
    return y


def system(n):
    def run():
        r = root(tridiagonal, np.full(n, -1.0))
        return {'nfev': int(r.nfev), 'fun': float(np.max(np.abs(r.fun)))}

    return run


def zero():
    x, info = brentq(lambda x: math.cos(x) - x, 0, 1, full_output=True)
    return {'nfev': info.function_calls, 'fun': x}


def integral(f, a, b):
    def run():
        v, _, info = quad(f, a, b, full_output=True)[:3]
        return {'nfev': info['neval'], 'fun': v}

    return run


def predators(_, y):
    a, b = y.tolist()
    return [1.5 * a - a * b, -3 * b + a * b]


def solution(method):
    def run():
        r = solve_ivp(predators, (0, 15), [10, 5], method=method, rtol=1e-6)
        return {'nfev': r.nfev, 'fun': r.y[0, -1]}

    return run


def heat():
    n = 10000

    def f(_, y):
        d = -2 * y
        d[:-1] += y[1:]
        d[1:] += y[:-1]
        return d

    y0 = np.sin(np.arange(1, n + 1) * (np.pi / (n + 1)))
    r = solve_ivp(f, (0, 10), y0, t_eval=[10])
    return {'nfev': r.nfev, 'fun': r.y[n // 2 - 1, 0]}


CASES = {
    'lbfgs_2': smooth('L-BFGS-B', 2),
    'lbfgs_10': smooth('L-BFGS-B', 10),
    'lbfgs_100': smooth('L-BFGS-B', 100),
    'cg_10': smooth('CG', 10),
    'newton_10': smooth('Newton-CG', 10),
    'nelder_mead_5': smooth('Nelder-Mead', 5),
    'evolution_rastrigin_3': evolution(rastrigin, 3, 5.12),
    'evolution_ackley_5': evolution(ackley, 5, 32),
    'root_10': system(10),
    'root_100': system(100),
    'brentq': zero,
    'quad_gauss': integral(lambda x: math.exp(-x * x), -np.inf, np.inf),
    'quad_singular': integral(lambda x: math.log(x) / math.sqrt(x), 0, 1),
    'quad_peak': integral(lambda x: 1 / (1e-6 + (x - 0.3) ** 2), 0, 1),
    'ivp_rk45': solution('RK45'),
    'ivp_rk23': solution('RK23'),
    'ivp_heat_10000': heat,
}


def adamw():
    torch.set_num_threads(peer.STATE['threads'])
    torch.manual_seed(1)
    p = torch.randn(1000000, requires_grad=True)
    p.grad = torch.randn(1000000)
    opt = torch.optim.AdamW([p])
    peer.emit('op_adamw_1M_torch', peer.measure(opt.step), ['torch'])


def main():
    for name, run in CASES.items():
        if not peer.wanted(name):
            continue
        r = run()
        nfev, fun = int(r['nfev']), float(r['fun'])
        stats = peer.measure(run, least=0.2)
        peer.emit(f'op_{name}_scipy', stats, ['numpy', 'scipy'], nfev=nfev, fun=fun)
    if torch is not None and peer.wanted('adamw'):
        adamw()


if __name__ == '__main__':
    sys.exit(main())
