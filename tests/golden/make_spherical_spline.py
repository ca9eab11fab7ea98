"""spherical_spline.npz: spherical splines by mpmath and MNE-Python.

What it is for: tests/spec/meeg_spline_spec.lua. What it owns: positions (those of set S1 and a jittered hemisphere) and one epoch of set S1,
made from SplitMix64. What it may not know: how mascon computes weights.

x, g, h: the kernels with 50 terms, mpmath with 40 digits, rounded once; g_3_7: stiffness 3, 7 terms.
s1_pos [16, 3], s1_x [16, 50]: set S1, its first epoch; s1_loo [16, 16]: weights of each sensor from all others.
cap_pos [40, 3], cap_loo [40, 40]; cap_bad_N (0-based), cap_weights_N [N, 40 - N]: sources in rising order.
cap_centre, cap_centred_32: bad set 32 with directions from a centre.
dup_pos [12, 3], dup_weights: sensors 0 and 1 in one direction, target sensor 11. All weights: MNE's matrix with its pseudo-inverse.
"""

import mne
import mpmath
import numpy as np
from mne.channels.interpolation import _make_interpolation_matrix as weights

import golden_file

MASK = 2**64 - 1


def stream(seed):
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield ((z ^ (z >> 31)) >> 11) * 2.0**-53


def s1():
    """Positions and first epoch of set S1 before its artefacts; epoch 0 has none."""
    u = stream(20240607)

    def g():
        s = 0.0
        for _ in range(12):
            s += next(u)
        return s - 6

    unit = []
    for c in range(16):
        i, j = divmod(c, 4)
        a = -0.75 + 0.5 * i + 0.2 * (next(u) - 0.5)
        b = -0.75 + 0.5 * j + 0.2 * (next(u) - 0.5)
        d = 1 + a * a + b * b
        unit.append([2 * a / d, 2 * b / d, (1 - a * a - b * b) / d])
    sources = np.zeros((30, 3, 50))
    for e in range(30):
        for k in range(3):
            p = 0.0
            for t in range(50):
                p = 0.95 * p + 0.3 * g()
                sources[e, k, t] = p
    x = np.zeros((16, 50))
    for c in range(16):
        for t in range(50):
            s = sources[0, :, t]
            x[c, t] = 1e-6 * (20 * (unit[c][0] * s[0] + unit[c][1] * s[1] + unit[c][2] * s[2]) + 3 * g())
    return 0.09 * np.array(unit), x


def leave_one_out(pos):
    n = len(pos)
    W = np.zeros((n, n))
    for c in range(n):
        rest = np.delete(np.arange(n), c)
        W[c, rest] = weights(pos[rest], pos[[c]])[0]
    return W


def kernel(power, x, terms=50):
    with mpmath.workdps(40):
        s = mpmath.mpf(0)
        for n in range(1, terms + 1):
            s += mpmath.mpf(2 * n + 1) / mpmath.mpf(n * (n + 1)) ** power * mpmath.legendre(n, mpmath.mpf(float(x)))
        return float(s / (4 * mpmath.pi))


def main():
    x = np.concatenate([np.linspace(-1, 1, 41), [1 - 1e-9, -1 + 1e-9, 0.123456789]])
    arrays = {'x': x, 'g': [kernel(4, v) for v in x], 'h': [kernel(3, v) for v in x], 'g_3_7': [kernel(3, v, 7) for v in x]}
    pos, first = s1()
    assert abs(pos[15, 0] - 0.06054498617504133) < 1e-16 and abs(first[0, 2] + 1.2478116271002744e-05) < 1e-19
    loo = leave_one_out(pos)
    assert abs(loo[5, 9] - 0.6058794493043) < 1e-12
    arrays.update(s1_pos=pos, s1_x=first, s1_loo=loo)

    u = stream(11)
    cap = []
    for _ in range(40):
        z, phi, r = 0.9 * next(u), 2 * np.pi * next(u), 0.085 + 0.01 * next(u)
        cap.append([r * np.sqrt(1 - z * z) * np.cos(phi), r * np.sqrt(1 - z * z) * np.sin(phi), r * z])
    cap = np.array(cap)
    arrays.update(cap_pos=cap, cap_loo=leave_one_out(cap), cap_centre=np.array([0.002, -0.011, 0.031]))
    for n in (1, 2, 5, 32):
        order = np.argsort([next(u) for _ in range(40)])
        bad = np.sort(order[:n])
        good = np.setdiff1d(np.arange(40), bad)
        arrays[f'cap_bad_{n}'] = bad.astype(np.int64)
        arrays[f'cap_weights_{n}'] = weights(cap[good], cap[bad])
    arrays['cap_centred_32'] = weights(cap[good] - arrays['cap_centre'], cap[bad] - arrays['cap_centre'])
    dup = cap[:12].copy()
    dup[1] = 1.1 * dup[0]
    arrays.update(dup_pos=dup, dup_weights=weights(dup[:11], dup[11:]))
    golden_file.save('spherical_spline', {'script': 'make_spherical_spline.py', 'mne': mne.__version__, 'mpmath': mpmath.__version__}, arrays)


if __name__ == '__main__':
    main()
