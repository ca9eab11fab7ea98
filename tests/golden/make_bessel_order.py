#!/usr/bin/env python3
"""make_bessel_order.py - J and Y of order 60 to 100 000, below, near and above the turning point, for tests/spec/bessel_order_spec.lua.

Independent of expansions for large order: Y by its recurrence from an order in [0, 1), J from the continued fraction of J_{v+1} / J_v and the
Wronskian (DLMF 10.6.1, 10.10.1, 10.5.2), all with 50 digits; the two values that start the recurrence are mpmath's.
"""
import mpmath as m
import numpy as np

from golden_file import save

m.mp.dps = 50
rng = np.random.default_rng(1975)


def both(v, x):
    v, x = m.mpf(v), m.mpf(x)
    n = int(m.floor(v))
    y, up = m.bessely(v - n, x), m.bessely(v - n + 1, x)
    for k in range(1, n + 1):
        y, up = up, 2 * (v - n + k) / x * up - y
    h = m.mpf(0)
    top = max(v, x)
    for k in range(int(top - v + 60 * top ** (m.mpf(1) / 3) + 200), 0, -1):
        h = 1 / (2 * (v + k) / x - h)
    return 2 / (m.pi * x) / (h * y - up), y


assert abs(both(60.5, 50.25)[0] / m.besselj(60.5, m.mpf(50.25)) - 1) < 1e-40
rows = []
for low, high, count in ((60, 400, 40), (400, 1e4, 100), (1e4, 1e5, 30)):
    while count:
        v = float(10 ** rng.uniform(np.log10(low), np.log10(high)))
        v = [v, float(np.round(v)), float(np.floor(v)) + 0.5][rng.integers(0, 3)]
        w = v ** (1 / 3)
        x = float([v + w * rng.normal(), v + 8 * w * rng.normal(), v * rng.uniform(0.5, 1), v * rng.uniform(1, 3), v * 10 ** rng.uniform(0.3, 1.5), v][rng.integers(0, 6)])
        x = float(np.round(x)) if rng.random() < 0.5 else x
        j, y = both(v, x)
        if not 1e-280 < abs(j) < 1e280 or not 1e-280 < abs(y) < 1e280:
            continue
        rows.append((v, x, float(j), float(y), float(m.sqrt(j * j + y * y) if x > v else 0)))
        count -= 1
a = np.array(rows).T
save("bessel_order", dict(script="make_bessel_order.py", mpmath=m.__version__), dict(v=a[0], x=a[1], j=a[2], y=a[3], size=a[4]))
