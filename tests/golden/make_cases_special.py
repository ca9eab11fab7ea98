"""Golden cases of the composed functions of mc.special, by mpmath and SciPy.

What it is for: `python make_cases_special.py` writes cases_special.npz. The elementwise rows below them have their own files (make_special.py).
What it may not know: how a function is computed."""

import mpmath as m
import numpy as np
import scipy
import scipy.special as sp

from cases import Cases

c = Cases('special')
x = c.round(np.array([0.001, 0.3, 1.25, 3.7, 4.5, 9.0, 30.5]))
signed = np.concatenate([-x, [0.0], x])


def every(f, *a):
    return np.array([float(f(*[m.mpf(float(v)) for v in row])) for row in zip(*a)])


def add(name, args, opts=None, units=64, scale='array', **more):
    c.add('special.' + name, args, opts, units=units, scale=scale, **more)


s = c.round(np.array([1.5, 2.0, 3.25, 7.0, 20.5]))
q = c.round(np.array([0.5, 1.0, 3.5, 10.25, 0.125]))
add('zeta', [s, q], want=every(m.zeta, s, q), scale='element')
riemann = c.round(np.array([-6.5, -2.25, 0.0, 0.5, 1.5, 3.0, 12.0]))
add('zeta', [riemann], want=every(m.zeta, riemann), scale='element')
si = np.where(signed == 0, 0, every(m.si, np.where(signed == 0, 1, signed)))
ci = every(m.ci, np.abs(np.where(signed == 0, 1, signed)))
nonzero = signed != 0
add('sici', [signed[nonzero]], want=[si[nonzero], ci[nonzero]])
small = signed[nonzero & (np.abs(signed) < 10)]
add('shichi', [small], want=[every(m.shi, small), every(m.chi, np.abs(small))])
add('fresnel', [signed], want=[every(m.fresnels, signed), every(m.fresnelc, signed)])
u, k = c.round(np.linspace(-3, 3, 9)), c.round(np.linspace(0.01, 0.97, 9))
parts = {n: np.array([float(m.ellipfun(n, float(a), m=float(b)).real) for a, b in zip(u, k)]) for n in ('sn', 'cn', 'dn')}
add('ellipj', [u, k], want=dict(parts, ph=sp.ellipj(u, k)[3]))
w = c.round(np.array([-0.3671875, -0.25, -0.01, 0.0, 0.5, 3.0, 1000.0]))
add('lambertw', [w], want=np.array([float(m.lambertw(float(v)).real) for v in w]), scale='element')
below = w[w < 0]
add('lambertw', [below], {'k': -1}, want=np.array([float(m.lambertw(float(v), -1).real) for v in below]), scale='element')
n, o = np.array([0.0, 1, 2, 3, 4]), np.array([0.0, -1, 2, 1, -3])
theta, phi = c.round(np.linspace(0.2, 3.0, 5)), c.round(np.linspace(-2.0, 6.0, 5))
add('sph_harm_y', [n, o, theta, phi], want=sp.sph_harm_y(n.astype(int), o.astype(int), theta, phi))
c.save(mpmath=m.__version__, scipy=scipy.__version__)
