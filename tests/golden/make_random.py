"""Golden points of low-discrepancy sequences, by SciPy, for tests/spec/random_sequence_spec.lua.

What it is for: the unscrambled Sobol' and Halton sequences and a discrepancy.
What it owns: random_sequence.npz. What it may not know: how mascon makes its points.

usage: python make_random.py
"""

import warnings

import numpy as np
import scipy
from scipy.stats import qmc

import golden_file

warnings.simplefilter('ignore')  # SciPy asks for powers of two


def sobol(d, n, skip=0):
    engine = qmc.Sobol(d, scramble=False)
    if skip:
        engine.fast_forward(skip)
    return engine.random(n)


golden_file.save(
    'random_sequence',
    {'script': 'make_random.py', 'scipy': scipy.__version__, 'source': 'scipy.stats.qmc; direction numbers: Joe and Kuo 2008'},
    {
        'sobol': sobol(12, 128),
        'sobol_wide': sobol(1111, 16, 1),
        'sobol_late': sobol(60, 10, 123457),
        'halton': qmc.Halton(12, scramble=False).random(200),
        'discrepancy': np.float64(np.sqrt(qmc.discrepancy(sobol(5, 256), method='CD'))),
    },
)
