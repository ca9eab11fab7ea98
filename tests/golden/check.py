"""Repeats the golden files of networks with the PyTorch of this environment and compares.

What it is for: `make golden-check PEERS=FOLDER`.
What it owns: which files are repeated, and how far an answer may move with the version of a library:
1e-10 of the largest number of its array in f64, 1e-5 in f32, 2e-2 where 16 bits take part, 1e-8
behind steps of Adam that divide the rounding of a gradient of 0 by eps; whole numbers not at all.
What it may not know: mascon.

`check.py FOLDER` writes the repeated files to FOLDER, and network_modules_more.npz: MORE
configurations of each layer that stand in no golden file.
"""

import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = {
    'make_network_modules.py': ['network_modules'],
    'make_network_models.py': ['network_models'],
    'make_network_mixed.py': ['network_mixed'],
    'make_network_names.py': ['network_names'],
    'make_optim_training.py': ['optim_training'],
    'make_cases_network.py': ['cases_network'],
    'make_cases_conv.py': ['cases_conv'],
    'make_grad_elements.py': ['grad_elements'],
    'make_grad_linalg.py': ['grad_linalg'],
}
NEAR = {2: 2e-2, 4: 1e-5, 8: 1e-10}  # by the bytes of a real number
COARSE = {  # by the start of file/array
    'network_mixed/': 2e-2,  # computed in 16 bits, by kernels that the processor chooses
    'network_models/cnn/after/': 1e-8,  # the bias in front of the batch norm, and what it reaches, as in the spec
    'network_models/cnn/last/': 1e-8,
}
MORE = 12


def far(want, got):
    """How far two arrays are apart, relative to the larger of 1 and their largest number; inf when not comparable."""
    if want.shape != got.shape or want.dtype != got.dtype:
        return np.inf, 0
    if want.dtype.kind in 'biu':
        return (0 if np.array_equal(want, got) else np.inf), 0
    real = np.dtype(want.dtype.type(0).real.dtype)
    a, b = want.astype(np.complex128), got.astype(np.complex128)
    odd = ~np.isfinite(a)
    if not np.array_equal(a[odd], b[odd], equal_nan=True):
        return np.inf, 0
    size = max([1.0, *np.abs(a[~odd])])
    return np.max(np.abs(a[~odd] - b[~odd]), initial=0) / size, NEAR[real.itemsize]


def bound(name, near):
    return max([near, *[far for start, far in COARSE.items() if name.startswith(start)]])


def compare(name, folder):
    """Differences of one file as lines."""
    old, new = (np.load(os.path.join(f, name + '.npz')) for f in (HERE, folder))
    wrong = [f'{name}: {k} stands in one of the two files' for k in sorted(set(old.files) ^ set(new.files))]
    worst = 0
    for k in sorted(set(old.files) & set(new.files) - {'about'}):
        d, near = far(old[k], new[k])
        worst = max(worst, d)
        if not d <= bound(f'{name}/{k}', near):
            wrong.append(f'{name}: {k} differs by {d:g}')
    print(f'{name}: {len(new.files)} arrays, largest difference {worst:g}')
    return wrong


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    env = dict(os.environ, GOLDEN_FOLDER=os.path.abspath(folder))
    wrong = []
    for script, names in SCRIPTS.items():
        subprocess.run([sys.executable, os.path.join(HERE, script)], check=True, env=env, stdout=subprocess.DEVNULL)
        for name in names:
            wrong += compare(name, folder)
    more = os.path.join(folder, 'network_modules_more.npz')
    seed = str(int.from_bytes(os.urandom(3), 'big'))
    print('new configurations: seed', seed)
    subprocess.run([sys.executable, os.path.join(HERE, 'make_network_modules.py'), str(MORE), more, seed], check=True, env=env,
                   stdout=subprocess.DEVNULL)
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


main()
