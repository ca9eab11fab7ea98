"""Golden cases of quantiles, histograms, averages, covariances, sets and comparisons: from NumPy, PyTorch.

What it is for: `python make_cases_order.py` writes cases_order.npz. Positions and axes count from 1.
What it may not know: how an op computes.
"""

import numpy as np
import torch

from cases import Cases
from stat_arrays import HALVES, NAN, Arrays, ax

c = Cases('order')
arrays = Arrays(20260102)
g, values, normal, holes = arrays.g, arrays.values, arrays.normal, arrays.holes

x = values(4, 5, 6)
whole = g.integers(-9, 9, (5, 7))

# ---- quantiles
METHODS = ['linear', 'lower', 'higher', 'nearest', 'midpoint', 'inverted_cdf', 'averaged_inverted_cdf', 'closest_observation',
           'interpolated_inverted_cdf', 'hazen', 'weibull', 'median_unbiased', 'normal_unbiased']
row = values(11, 3)
qs = [0.0, 0.125, 0.25, 0.5, 0.8125, 1.0]
for m in METHODS:
    c.add('quantile', [row, qs], {'axis': 1, 'method': m}, want=np.quantile(row, qs, axis=0, method=m), tol='ACCUM', terms=4)
    c.add('percentile', [row, [12.5, 75.0]], {'axis': 1, 'method': m}, want=np.percentile(row, [12.5, 75.0], axis=0, method=m), tol='ACCUM', terms=4)
nrow = holes(values(11, 3))
for q in (0.5, qs, np.linspace(0, 1, 33).tolist()):
    c.add('quantile', [x, q], ax(0, 2), want=np.quantile(x, q, axis=(0, 2)), tol='ACCUM', terms=4)
    c.add('nanquantile', [nrow, q], {'axis': 1, 'keepdim': True}, want=np.nanquantile(nrow, q, axis=0, keepdims=True), tol='ACCUM', terms=4)
c.add('nanpercentile', [nrow, [10.0, 50.0, 90.0]], {'axis': 2}, want=np.nanpercentile(nrow, [10.0, 50.0, 90.0], axis=1), tol='ACCUM', terms=4)
for axes in ((), (0,), (1,)):
    c.add('nanmedian', [nrow], ax(*axes), want=np.nanmedian(nrow, axis=axes or None))
w = np.array([1.0, 0, 2, 3, 0, 1, 4, 1, 0.5, 2, 1])
for q in (0.5, qs):
    c.add('quantile', [row, q], {'axis': 1, 'weights': w}, want=np.quantile(row, q, axis=0, weights=w, method='inverted_cdf'), note='weights')
    c.add('percentile', [row, 30.0], {'axis': 1, 'weights': w}, want=np.percentile(row, 30.0, axis=0, weights=w, method='inverted_cdf'), note='weights')
wide = np.abs(values(11, 3))
c.add('quantile', [row, qs], {'weights': wide, 'axis': 1}, want=np.quantile(row, qs, axis=0, weights=wide, method='inverted_cdf'), note='weights')
c.add('nanquantile', [nrow, qs], {'weights': wide, 'axis': 1}, want=np.nanquantile(nrow, qs, axis=0, weights=wide, method='inverted_cdf'), note='weights')

# ---- histograms
sample = normal(200)
for bins in (10, 'auto', 'fd', 'doane', 'scott', 'rice', 'sturges', 'sqrt'):
    h, e = np.histogram(sample, bins=bins)
    c.add('histogram', [sample], {'bins': bins}, want=[h, e], dtypes=['f64'], size=4)
    c.add('histogram_bin_edges', [sample], {'bins': bins, 'range': [-1.0, 2.0]}, want=np.histogram_bin_edges(sample, bins=bins, range=(-1, 2)),
          dtypes=['f64'], tol='ACCUM', size=2)
counted = g.integers(0, 12, 80)
for bins in ('auto', 'fd', 'sqrt'):
    h, e = np.histogram(counted, bins=bins)
    c.add('histogram', [counted], {'bins': bins}, want=[h, e], size=12)
edges = np.array([-2.0, -0.5, 0.25, 2.0])
weights = np.abs(normal(200))
c.add('histogram', [sample], {'bins': edges}, want=list(np.histogram(sample, bins=edges)))
c.add('histogram', [sample], {'bins': edges, 'density': True}, want=list(np.histogram(sample, bins=edges, density=True)), dtypes=['f64'], terms=4)
c.add('histogram', [sample], {'bins': 7, 'range': [-1.0, 1.0], 'weights': weights}, want=list(np.histogram(sample, bins=7, range=(-1, 1), weights=weights)),
      dtypes=['f64'])
c.add('histogram', [np.zeros(0)], {'bins': 3}, want=list(np.histogram(np.zeros(0), bins=3)))
c.add('histogram', [np.full(4, 2.0)], {'bins': 3}, want=list(np.histogram(np.full(4, 2.0), bins=3)), tol='ACCUM')
points = normal(150, 3)
h, e = np.histogramdd(points, bins=(3, 4, 2))
c.add('histogramdd', [points], {'bins': [3, 4, 2]}, want=[h.astype(np.int64), list(e)], dtypes=['f64'], size=4)
h, e = np.histogramdd(points[:, :2], bins=[edges, 4], range=[None, (-1, 1)], density=True)
c.add('histogramdd', [points[:, :2]], {'bins': [edges, 4], 'range': [False, [-1.0, 1.0]], 'density': True}, want=[h, list(e)], dtypes=['f64'])
h, ex, ey = np.histogram2d(points[:, 0], points[:, 1], bins=5, weights=weights[:150])
c.add('histogram2d', [points[:, 0], points[:, 1]], {'bins': 5, 'weights': weights[:150]}, want={'counts': h, 'x_edges': ex, 'y_edges': ey}, dtypes=['f64'],
      size=float(max(h.max(), 4)))
for b in (edges, edges[::-1].copy()):
    for right in (False, True):
        probe = np.concatenate([edges, sample[:20], [NAN, np.inf, -np.inf]])
        c.add('digitize', [probe, b], {'right': right}, want=np.digitize(probe, b, right=right))
c.add('digitize', [whole, np.array([-3, 0, 5])], want=np.digitize(whole, [-3, 0, 5]))

# ---- averages and covariances
c.add('average', [x], want=np.asarray(np.average(x)), terms=120)
c.add('average', [row], {'axis': 1, 'weights': w}, want=list(np.average(row, axis=0, weights=w, returned=True)), terms=11, size=20)
c.add('average', [row], {'weights': wide}, want=[np.asarray(v) for v in np.average(row, weights=wide, returned=True)], terms=33, size=60)
m = values(3, 9)
fw, aw = np.array([1, 2, 1, 0, 3, 1, 1, 2, 1]), np.array([1, 0.5, 2, 1, 1, 0.25, 1, 1, 3])
c.add('cov', [m], want=np.cov(m), terms=9)
c.add('cov', [m], {'correction': 0}, want=np.cov(m, ddof=0), terms=9)
c.add('cov', [m.T.copy()], {'axis': 1}, want=np.cov(m.T, rowvar=False), terms=9)
c.add('cov', [m], {'y': m[::-1].copy()}, want=np.cov(m, m[::-1]), terms=9)
c.add('cov', [m], {'fweights': fw}, want=np.cov(m, fweights=fw), terms=12)
c.add('cov', [m], {'aweights': aw, 'fweights': fw, 'correction': 1}, want=np.cov(m, fweights=fw, aweights=aw), terms=30)
z = values(2, 7) + 1j * values(2, 7)
c.add('cov', [z], want=np.cov(z), terms=14)
c.add('corrcoef', [m], want=np.corrcoef(m), terms=9)
c.add('corrcoef', [z], want=np.corrcoef(z), terms=14)
c.add('cov', [m[0]], want=np.cov(m[0]).reshape(1, 1), terms=9)

# ---- sets, comparisons
few = g.integers(0, 3, (9, 2, 2))
u, i, inv, n = np.unique(few, axis=0, return_index=True, return_inverse=True, return_counts=True)
c.add('unique', [few], {'axis': 1}, want={'values': u, 'indices': i + 1, 'inverse_indices': inv.reshape(-1) + 1, 'counts': n})
u, i, inv, n = np.unique(few[:, :, 0].astype(float), axis=1, return_index=True, return_inverse=True, return_counts=True)
c.add('unique', [few[:, :, 0].astype(float)], {'axis': -1}, want={'values': u, 'indices': i + 1, 'inverse_indices': inv.reshape(-1) + 1, 'counts': n}, dtypes=HALVES)
u, i, inv, n = np.unique(few, return_index=True, return_inverse=True, return_counts=True)
c.add('unique', [few], want={'values': u, 'indices': i + 1, 'inverse_indices': inv.reshape(-1) + 1, 'counts': n})
u, inv, n = torch.unique_consecutive(torch.tensor(few.reshape(-1)), return_inverse=True, return_counts=True)
c.add('unique_consecutive', [few.reshape(-1)], want={'values': u.numpy(), 'inverse_indices': inv.numpy() + 1, 'counts': n.numpy()})
u, inv, n = torch.unique_consecutive(torch.tensor(few[:, 0]), return_inverse=True, return_counts=True, dim=0)
c.add('unique_consecutive', [few[:, 0]], {'axis': 1}, want={'values': u.numpy(), 'inverse_indices': inv.numpy() + 1, 'counts': n.numpy()})
probe = np.array([[1.0, NAN, 3], [np.inf, 5, -0.0]])
pool = np.array([0.0, 3, NAN, np.inf])
c.add('isin', [probe, pool], want=np.isin(probe, pool))
c.add('isin', [whole, np.array([1, -3, 4])], {'invert': True}, want=np.isin(whole, [1, -3, 4], invert=True))
c.add('isin', [probe, np.zeros(0)], want=np.isin(probe, []))
a = np.array([1.0, 1 + 2 ** -20, NAN, np.inf, np.inf, 0])
b = np.array([1.0, 1, NAN, np.inf, -np.inf, 2 ** -40])
for en in (False, True):
    c.add('isclose', [a, b], {'equal_nan': en}, want=np.isclose(a, b, equal_nan=en))
    c.add('allclose', [a[:4], b[:4]], {'equal_nan': en}, want=bool(np.allclose(a[:4], b[:4], equal_nan=en)))
    c.add('array_equal', [a[2:4], b[2:4]], {'equal_nan': en}, want=bool(np.array_equal(a[2:4], b[2:4], equal_nan=en)))
c.add('array_equal', [a, b[:3]], want=False)
c.add('isclose', [whole, whole.T.copy().T], want=np.isclose(whole, whole))
c.add('nan_to_num', [a], {'nan': 7.0, 'posinf': 9.0}, want=np.nan_to_num(a, nan=7.0, posinf=9.0))
c.add('nan_to_num', [a * -1], want=np.nan_to_num(-a), dtypes=['f64'])
gap = np.array([complex(NAN, 1), complex(1, 2)])
c.add('nan_to_num', [gap], {'nan': 3.0}, want=np.nan_to_num(gap, nan=3.0))


print(c.save(numpy=np.__version__, torch=torch.__version__), len(c.cases))
