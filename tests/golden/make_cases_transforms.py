"""Golden cases of cosine and sine transforms and chirp-z.

What it is for: cases_transforms.npz, read by tests/spec/cases_spec.lua.
What it owns: the lengths and conventions tried; seeds are fixed.
Answers by SciPy. Axes are written as Lua counts.
"""

import numpy as np
import scipy
import scipy.fft

from cases import Cases

rng = np.random.default_rng(20261124)


def main():
    c = Cases('transforms')

    def draw(*shape, bits=12):
        return c.round(rng.normal(size=shape), bits)

    def add(name, args, opts, want, n, norm):
        """The class FFT: n terms of a row with this Euclidean norm."""
        c.add(name, args, opts, want=want, terms=2 * n + 2, size=4 * float(norm) + 1e-9)

    rows = {n: draw(2, n) for n in (1, 2, 3, 4, 5, 8, 9, 30)}
    for name in ('dct', 'dst', 'idct', 'idst'):
        f = getattr(scipy.fft, name)
        for n, x in rows.items():
            for kind in (1, 2, 3, 4):
                if kind == 1 and n == 1 and 'ct' in name:
                    continue
                norm = ('backward', 'ortho', 'forward')[(n + kind) % 3]
                y = f(x, type=kind, norm=norm)
                add('fft.' + name, [x], {'type': kind, 'norm': norm}, y, n, np.abs(x).sum())
        x = rows[8]
        for kind in (1, 2, 3, 4):
            for norm in ('backward', 'ortho', 'forward'):
                for o in (True, False):
                    add('fft.' + name, [x], {'type': kind, 'norm': norm, 'orthogonalize': o}, f(x, type=kind, norm=norm, orthogonalize=o), 8, np.abs(x).sum())
            for n in (5, 12):
                add('fft.' + name, [x], {'type': kind, 'n': n}, f(x, type=kind, n=n), 12, np.abs(x).sum())
        t = draw(4, 3, 5)
        add('fft.' + name, [t], {'axis': 1}, f(t, axis=0), 4, 8)
        add('fft.' + name, [t], {'axis': 2, 'type': 3}, f(t, axis=1, type=3), 4, 8)
        z = c.round(t + 1j * draw(4, 3, 5), 12)
        add('fft.' + name, [z], {'axis': 2}, f(z, axis=1), 4, 8)
        i = rng.integers(-9, 9, (2, 6))
        add('fft.' + name, [i], {}, f(i), 6, 60)
        g = getattr(scipy.fft, name + 'n')
        add(f'fft.{name}n', [t], {}, g(t), 60, 80)
        add(f'fft.{name}n', [t], {'axes': [3, 1], 'type': 3, 'norm': 'ortho'}, g(t, axes=[2, 0], type=3, norm='ortho'), 60, 80)
        add(f'fft.{name}n', [t], {'s': [6, 4], 'axes': [1, 3], 'type': 1}, g(t, s=[6, 4], axes=[0, 2], type=1), 60, 80)
        add(f'fft.{name}n', [t], {'s': [3, 4]}, g(t, s=[3, 4]), 60, 80)
    return c.save(scipy=scipy.__version__)


if __name__ == '__main__':
    main()
