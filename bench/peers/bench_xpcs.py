"""A two-time fit of 23 x 200 x 200, diffusion and shear, by SciPy, lmfit, NLSQ and homodyne; NumPyro's sampler on it.

What it is for: the peers of the rows xpcs_fit_200 and xpcs_nuts_200 of bench/xpcs.lua: one model, sizes, sigma,
starts, bounds and tolerances; noise of its own. SciPy and lmfit get the vectorised model and its analytic
derivatives, NLSQ and NumPyro the model in JAX, 64 bits, with the threads of --threads. Each pair of times counts once
for everybody. `cpu`: the least processor seconds of a call.
What it owns: the model in NumPy and in JAX.
What it may not know: mascon.
Usage: bench_xpcs.py [--threads 2] [--only nlsq] [--nlsq 2: later calls of NLSQ and homodyne]
"""

import os

import peer

OPTIONS = peer.arguments(__doc__.splitlines()[0], draws=20, nlsq=2)
# JAX makes a thread for every processor it may use
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: OPTIONS.threads])
os.environ['JAX_PLATFORMS'] = 'cpu'

import numpy as np  # noqa: E402
from scipy.optimize import least_squares  # noqa: E402

N, F, Q, GAP, DT, SIGMA = 200, 23, 0.0054, 2e6, 0.1, 0.01
TRUE = np.array([0.3, 1, 3000, -0.2, 500, 2e-3, 0.1, 1e-4, 3])
START = np.array([0.25, 1, 3600, -0.16, 550, 1.8e-3, 0.12, 1.1e-4, 3])
LOW = np.array([0, 0.5, 100, -2, -1e5, 1e-6, -2, -0.1, -10])
HIGH = np.array([1, 1.5, 1e5, 2, 1e5, 0.5, 2, 0.1, 10])
KD, KS = Q * Q * DT / 2, Q * GAP * DT / (2 * np.pi)
PHI = np.linspace(-90, 90, F)
TIME = np.arange(1, N + 1) * DT
I, J = np.triu_indices(N, 1)
DEGREE = np.pi / 180


def prefix(v):
    return np.concatenate([[0], np.cumsum((v[1:] + v[:-1]) / 2)])


def parts(p):
    """g1^2 of all angles and pairs, and what the derivatives need."""
    c, o, d0, alpha, doff, g0, beta, goff, phi0 = p
    ta, tb = TIME**alpha, TIME**beta
    a, b = prefix(np.maximum(d0 * ta + doff, 1e-10)), prefix(np.maximum(g0 * tb + goff, 1e-10))
    e = np.exp(-KD * (a[J] - a[I]))
    k = KS * np.cos((phi0 - PHI) * DEGREE)[:, None]
    db = b[J] - b[I]
    x = k * db
    with np.errstate(divide='ignore', invalid='ignore'):
        s = np.where(np.abs(x) < 1e-4, 1 - x * x / 6, np.sin(x) / x)
    return c, o, e, s, x, k, db, ta, tb, d0, g0, phi0


def model(p):
    c, o, e, s = parts(p)[:4]
    return o + c * (e * s * s) ** 2


def jacobian(p):
    c, _, e, s, x, k, db, ta, tb, d0, g0, phi0 = parts(p)
    g2 = (e * s * s) ** 2
    with np.errstate(divide='ignore', invalid='ignore'):
        slope = np.where(np.abs(x) < 1e-2, -x / 3 + x**3 / 30 - x**5 / 840, (np.cos(x) - s) / x)
    logt = np.log(TIME)
    d = -2 * c * g2 * KD
    f = 4 * c * (e * s * s) * e * s * slope
    out = np.empty((9, F, I.size))
    out[0], out[1] = g2, 1
    for n, v in enumerate((ta, d0 * ta * logt, np.ones(N))):
        q = prefix(v)
        out[2 + n] = d * (q[J] - q[I])
    for n, v in enumerate((tb, g0 * tb * logt, np.ones(N))):
        q = prefix(v)
        out[5 + n] = f * k * (q[J] - q[I])
    out[8] = -f * KS * np.sin((phi0 - PHI) * DEGREE)[:, None] * db * DEGREE
    return out.reshape(9, -1).T / SIGMA


DATA = model(TRUE) + SIGMA * np.random.default_rng(1).normal(size=(F, I.size))


def residual(p):
    return (model(p) - DATA).ravel() / SIGMA


def good(x):
    return abs(2 * 0.5 * np.sum(residual(x) ** 2) / DATA.size - 1) < 0.02


def scipy_fit():
    r = least_squares(residual, START, jac=jacobian, bounds=(LOW, HIGH), x_scale='jac')
    return r.x


def lmfit_fit():
    import lmfit

    params = lmfit.Parameters()
    for n in range(9):
        params.add(f'p{n}', value=START[n], min=LOW[n], max=HIGH[n])

    def values(q):
        return np.array([q[f'p{n}'].value for n in range(9)])

    r = lmfit.minimize(
        lambda q: residual(values(q)), params, method='least_squares',
        jac=lambda q: jacobian(values(q)), x_scale='jac',
    )
    return values(r.params)


def run(name, call, packages, runs=3, **more):
    calls = [peer.cpu(call) for _ in range(runs)]
    if not good(calls[-1][2]):
        peer.skipped(name, 'what it gives is not the minimum')
        return
    peer.emit(name, peer.summary([c[0] for c in calls]), packages, cpu=min(c[1] for c in calls), good=True, load=os.getloadavg()[0], **{k: v() for k, v in more.items()})


def in_jax():
    import jax
    import jax.numpy as jnp

    jax.config.update('jax_enable_x64', True)
    time_, phi = jnp.array(TIME), jnp.array(PHI)

    def prefix_(v):
        return jnp.concatenate([jnp.zeros(1), jnp.cumsum((v[1:] + v[:-1]) / 2)])

    def g2(p):
        d0, alpha, doff, g0, beta, goff, phi0 = p
        a = prefix_(jnp.maximum(d0 * time_**alpha + doff, 1e-10))
        b = prefix_(jnp.maximum(g0 * time_**beta + goff, 1e-10))
        e = jnp.exp(-KD * (a[J] - a[I]))
        x = KS * jnp.cos((phi0 - phi) * DEGREE)[:, None] * (b[J] - b[I])
        small = jnp.abs(x) < 1e-4
        safe = jnp.where(small, 1.0, x)
        s = jnp.where(small, 1 - x * x / 6, jnp.sin(safe) / safe)
        return (e * s * s) ** 2

    return jax, jnp, lambda p: p[1] + p[0] * g2(p[2:])


COMPILED = [0]


def compilations():
    """Programs that JAX compiled since the last question."""
    n, COMPILED[0] = COMPILED[0], 0
    return n


def count_compilations():
    import jax

    def note(event, _seconds, **_):
        COMPILED[0] += event == '/jax/core/compile/backend_compile_duration'

    jax.monitoring.register_event_duration_secs_listener(note)


def nlsq_fit():
    """The first call compiles. Later ones take the same CurveFit, function and arrays, as its manual says, and compile
    nothing: the row holds how many programs were compiled."""
    import nlsq

    _, jnp, f = in_jax()
    count_compilations()

    def flat(x, *p):
        return f(jnp.array(p)).ravel()

    x, y, sigma = np.arange(DATA.size, dtype=float), DATA.ravel(), np.full(DATA.size, SIGMA)
    fitter = nlsq.CurveFit()

    def call():
        return np.array(fitter.curve_fit(flat, x, y, p0=START, bounds=(LOW, HIGH), sigma=sigma, absolute_sigma=True,
                                         x_scale='jac').popt)

    run('xpcs_fit_200_nlsq_first', call, ('nlsq', 'jax'), runs=1, compiled=compilations)
    run('xpcs_fit_200_nlsq', call, ('nlsq', 'jax'), runs=OPTIONS.nlsq, compiled=compilations)


def homodyne_fit():
    """homodyne's own fit, of both triangles (twice the points) and with a contrast and an offset per angle. v2.23.3 with
    NLSQ 0.7.6 gave its starting values back after 26 s (one core); without its strata it had no result in 290 s. Where
    it gives the start back the row is skipped."""
    import logging

    logging.disable(logging.CRITICAL)
    from homodyne.config.manager import ConfigManager
    from homodyne.optimization.nlsq import fit_nlsq_jax

    in_jax()
    count_compilations()
    names = ['D0', 'alpha', 'D_offset', 'gamma_dot_t0', 'beta', 'gamma_dot_t_offset', 'phi0']
    config = ConfigManager(config_override={
        'analysis_mode': 'laminar_flow',
        'analyzer_parameters': {
            'dt': DT, 'start_frame': 1, 'end_frame': N, 'scattering': {'wavevector_q': Q},
            'geometry': {'stator_rotor_gap': GAP},
        },
        'initial_parameters': {'parameter_names': names, 'values': [float(v) for v in START[2:]]},
        'optimization': {'nlsq': {'loss': 'linear', 'max_iterations': 1000, 'tolerance': 1e-8}},
    })
    c2 = np.ones((F, N, N))
    c2[:, I, J] = DATA
    c2[:, J, I] = DATA
    data = {'phi_angles_list': PHI, 'c2_exp': c2, 't1': TIME, 't2': TIME, 'wavevector_q_list': np.array([Q]),
            'sigma': np.full_like(c2, SIGMA)}

    def call():
        p = np.array(fit_nlsq_jax(data, config).parameters)
        m = (p.size - 7) // 2
        return np.concatenate([[p[:m].mean(), p[m : 2 * m].mean()], p[-7:]])

    run('xpcs_fit_200_homodyne_first', call, ('homodyne', 'nlsq', 'jax'), runs=1, compiled=compilations)
    run('xpcs_fit_200_homodyne', call, ('homodyne', 'nlsq', 'jax'), runs=OPTIONS.nlsq, compiled=compilations)


def numpyro_nuts():
    jax, jnp, f = in_jax()
    from numpyro.infer import NUTS

    y, low, high = jnp.array(DATA), jnp.array(LOW), jnp.array(HIGH)
    j = jacobian(TRUE)
    root = jnp.array(np.linalg.cholesky(np.linalg.inv(j.T @ j)))  # coordinates of unit width around the truth

    def potential(z):
        p = jnp.array(TRUE) + root @ z
        inside = jnp.all((p > low) & (p < high))
        r = (f(p) - y) / SIGMA
        return jnp.where(inside, 0.5 * jnp.sum(r * r), jnp.inf)

    kernel = NUTS(potential_fn=potential, step_size=0.3, adapt_step_size=False, adapt_mass_matrix=False)

    calls = [peer.cpu(draw) for draw in [peer.sampler(kernel, jnp.zeros(9), OPTIONS.draws)] * 3]
    peer.emit('xpcs_nuts_200_numpyro', peer.summary([c[0] for c in calls]), ('numpyro', 'jax'),
              cpu=min(c[1] for c in calls), nfev=calls[0][2])


for row, call, packages in (
    ('xpcs_fit_200_scipy', lambda: run('xpcs_fit_200_scipy', scipy_fit, ('scipy',)), ('scipy',)),
    ('xpcs_fit_200_lmfit', lambda: run('xpcs_fit_200_lmfit', lmfit_fit, ('lmfit', 'scipy')), ('lmfit',)),
    ('xpcs_fit_200_nlsq', nlsq_fit, ('nlsq',)),
    ('xpcs_fit_200_homodyne', homodyne_fit, ('homodyne', 'nlsq')),
    ('xpcs_nuts_200_numpyro', numpyro_nuts, ('numpyro', 'jax')),
):
    if not peer.wanted(row):
        continue
    gone = peer.missing(*packages)
    if gone:
        peer.skipped(row, f'{gone} is not installed')
    else:
        call()
