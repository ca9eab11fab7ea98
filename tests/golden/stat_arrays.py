"""Arrays of the golden cases of statistics (make_cases_stat.py, make_cases_order.py).

What it owns: the random stream of a script, rounding to few bits, NaN strewn over an array, axes as Lua counts them.
What it may not know: any op.
"""

import numpy as np

from cases import Cases

HALVES = ['f16', 'bf16', 'f32', 'f64']
NAN = np.nan


class Arrays:
    def __init__(self, seed):
        self.g = np.random.default_rng(seed)

    def values(self, *shape, bits=24, scale=4.0):
        return Cases.round(self.g.uniform(-scale, scale, shape), bits)

    def normal(self, *shape, bits=24):
        return Cases.round(self.g.normal(0, 1, shape), bits)

    def holes(self, x, share=0.3):
        x = x.copy()
        x[self.g.random(x.shape) < share] = NAN
        return x


def ax(*axes):
    """Options that name axes."""
    return {} if not axes else {'axis': [a + 1 if a >= 0 else a for a in axes]}
