"""Golden cases of reductions, running extremes, segments and the statistics of samples: from NumPy, SciPy, PyTorch.

What it is for: `python make_cases_stat.py` writes cases_stat.npz. Positions and axes count from 1.
What it may not know: how an op computes.
"""

import numpy as np
import scipy
import scipy.special
import scipy.stats as st
import torch

from cases import Cases
from stat_arrays import HALVES, NAN, Arrays, ax

c = Cases('stat')
arrays = Arrays(20260101)
g, values, normal, holes = arrays.g, arrays.values, arrays.normal, arrays.holes

x = values(4, 5, 6)
small = values(4, 5, 6, bits=8)
n3 = holes(x)

# ---- reductions
for axes in ((), (0,), (-1,), (0, 2)):
    a = axes if axes else None
    for name in ('nansum', 'nanprod', 'nanmean', 'nanmax', 'nanmin'):
        c.add(name, [n3], ax(*axes), want=getattr(np, name)(n3, axis=a), terms=120, size=None if name == 'nanprod' else 400)
    for corr in (0, 1):
        for name in ('nanvar', 'nanstd'):
            c.add(name, [n3], dict(ax(*axes), correction=corr), want=getattr(np, name)(n3, axis=a, ddof=corr))
        for name in ('var', 'std'):
            c.add(name, [x], dict(ax(*axes), correction=corr, keepdim=True), want=getattr(np, name)(x, axis=a, ddof=corr, keepdims=True))
    c.add('logsumexp', [small], ax(*axes), want=scipy.special.logsumexp(small, axis=a), dtypes=HALVES, bits=8)
    c.add('softmax', [small], ax(*axes), want=scipy.special.softmax(small, axis=a), dtypes=HALVES, bits=8, size=1)
    c.add('log_softmax', [small], ax(*axes), want=scipy.special.log_softmax(small, axis=a), dtypes=HALVES, bits=8)
    c.add('count_nonzero', [np.trunc(x)], ax(*axes), want=np.count_nonzero(np.trunc(x), axis=a))
    c.add('ptp', [x], ax(*axes), want=np.ptp(x, axis=a), tol='ULP4')
zs = n3[:2] + 1j * holes(x[:2])
c.add('nansum', [zs], ax(0), want=np.nansum(zs, axis=0), terms=4)
c.add('nanmean', [zs], want=np.nanmean(zs), terms=60)
for axis in (0, 1):
    c.add('nanargmax', [n3[:, :, 0]], {'axis': axis + 1}, want=np.nanargmax(n3[:, :, 0], axis=axis) + 1)
    c.add('nanargmin', [n3[:, :, 0]], {'axis': axis + 1}, want=np.nanargmin(n3[:, :, 0], axis=axis) + 1)
c.add('nanargmax', [n3], want=np.asarray(np.nanargmax(n3) + 1))
for special in ([1, np.inf], [-np.inf, 3], [-np.inf, -np.inf], [NAN, 1], [np.inf, np.inf], [np.inf, -np.inf]):
    s = np.array(special)
    with np.errstate(all='ignore'):
        c.add('logsumexp', [s], want=np.asarray(scipy.special.logsumexp(s)), note='special')
        c.add('softmax', [s], want=scipy.special.softmax(s), note='special')
        c.add('log_softmax', [s], want=scipy.special.log_softmax(s), note='special')
far = normal(100, bits=20) + 1e8
c.add('var', [far], {'correction': 1}, want=np.asarray(np.var(np.asarray(far, dtype=np.longdouble), ddof=1).astype(float)), dtypes=['f64'], bits=53, terms=1)

# ---- running
for axis in (0, 2):
    t = torch.tensor(x)
    c.add('cummax', [x, axis + 1], want=torch.cummax(t, axis)[0].numpy())
    c.add('cummin', [x, axis + 1], want=torch.cummin(t, axis)[0].numpy())
    c.add('logcumsumexp', [x, axis + 1], want=torch.logcumsumexp(t, axis).numpy())
    c.add('cummax', [x, axis + 1], {'reverse': True}, want=np.flip(np.maximum.accumulate(np.flip(x, axis), axis), axis))
    distinct = c.round(x + np.arange(120).reshape(x.shape) * 2.0 ** -10, 24)
    c.add('argcummax', [distinct, axis + 1], want=torch.cummax(torch.tensor(distinct), axis)[1].numpy() + 1)
    c.add('argcummin', [distinct, axis + 1], want=torch.cummin(torch.tensor(distinct), axis)[1].numpy() + 1)
    v, i = torch.topk(torch.tensor(distinct), 3, dim=axis)
    c.add('topk', [distinct, 3], {'axis': axis + 1}, want=[v.numpy(), i.numpy() + 1])
    v, i = torch.topk(torch.tensor(distinct), 2, dim=axis, largest=False)
    c.add('topk', [distinct, 2], {'axis': axis + 1, 'largest': False, 'base': 0}, want=[v.numpy(), i.numpy()])
gap = x.copy()
gap[1, 2, 3] = NAN
c.add('cummax', [gap, 3], want=np.maximum.accumulate(gap, axis=2))
c.add('cummin', [gap, 1], want=np.minimum.accumulate(gap, axis=0))

# ---- segments
ids = g.integers(0, 6, 12)
data = values(12, 4)
for name, f, start in (('sum', np.add, 0.0), ('prod', np.multiply, 1.0), ('max', np.maximum, -np.inf), ('min', np.minimum, np.inf)):
    want = np.full((8, 4), start)
    f.at(want, ids, data)
    c.add('segment_' + name, [data, ids + 1], {'num_segments': 8}, want=want, terms=12, size=200)
    c.add('segment_' + name, [data.T.copy(), ids], {'num_segments': 8, 'axis': 2, 'base': 0}, want=want.T, terms=12, size=200)
    offs = np.array([0, 3, 4, 9])
    c.add('reduceat', [data, offs + 1], {'reduce': name}, want=f.reduceat(data, offs, axis=0), terms=12, size=200)
with np.errstate(all='ignore'):
    want = np.zeros((8, 4))
    np.add.at(want, ids, data)
    c.add('segment_mean', [data, ids + 1], {'num_segments': 8}, want=want / np.bincount(ids, minlength=8)[:, None], terms=12)
base, index, src = values(5, 4), g.integers(0, 5, (7, 4)), values(7, 4)
for name in ('sum', 'prod', 'amax', 'amin', 'mean'):
    for own in (True, False):
        want = torch.tensor(base).scatter_reduce(0, torch.tensor(index), torch.tensor(src), name, include_self=own).numpy()
        c.add('scatter_reduce', [base, index + 1, src], {'axis': 1, 'reduce': name.replace('am', 'm'), 'include_self': own}, want=want, terms=8, size=100)
c.add('scatter_add', [base, index + 1, src], {'axis': 1}, want=torch.tensor(base).scatter_add(0, torch.tensor(index), torch.tensor(src)).numpy(), terms=8)

# ---- samples
row = values(11, 3)
few = g.integers(0, 3, (9, 2))
for axes in ((), (0,), (0, 2)):
    a = axes if axes else None
    o = ax(*axes)
    c.add('stats.zscore', [x], o, want=st.zscore(x, axis=a) if len(axes) < 2 else (x - x.mean(a, keepdims=True)) / x.std(a, keepdims=True), terms=120)
    c.add('stats.skew', [x], o, want=np.asarray(st.skew(x, axis=a)), terms=1000, size=2)
    c.add('stats.kurtosis', [x], o, want=np.asarray(st.kurtosis(x, axis=a)), terms=1000, size=4)
    c.add('stats.skew', [x], dict(o, bias=False), want=np.asarray(st.skew(x, axis=a, bias=False)), terms=1000, size=2)
    c.add('stats.kurtosis', [x], dict(o, bias=False), want=np.asarray(st.kurtosis(x, axis=a, bias=False)), terms=1000, size=4)
    c.add('stats.sem', [x], o, want=np.asarray(st.sem(x, axis=a)), terms=4)
    c.add('stats.iqr', [x], o, want=np.asarray(st.iqr(x, axis=a)), terms=4)
    c.add('stats.mad', [x], o, want=np.asarray(st.median_abs_deviation(x, axis=a)), terms=4)
    c.add('stats.gmean', [np.abs(x)], o, want=np.asarray(st.gmean(np.abs(x), axis=a)), terms=120)
    c.add('stats.hmean', [np.abs(x)], o, want=np.asarray(st.hmean(np.abs(x), axis=a)), terms=120)
    for k in (0, 1, 2, 3, 4):
        c.add('stats.moment', [x, k], o, want=np.asarray(st.moment(x, k, axis=a)), terms=400, size=float(4 ** k))
    c.add('stats.moment', [x, 3], dict(o, center=1.0), want=np.asarray(st.moment(x, 3, axis=a, center=1.0)), terms=400, size=200)
for axis in (0, 1):
    for share in (0.0, 0.1, 0.25, 0.4):
        c.add('stats.trim_mean', [row, share], {'axis': axis + 1}, want=st.trim_mean(row, share, axis=axis), terms=11, size=4)
    r = st.mode(few, axis=axis, keepdims=True)
    c.add('stats.mode', [few], {'axis': axis + 1, 'keepdim': True}, want=[r.mode, r.count])
r = st.mode(np.round(x), axis=None)
c.add('stats.mode', [np.round(x)], want=[np.asarray(r.mode), np.asarray(r.count)])
ties = np.round(values(4, 9) / 2)
for method in ('average', 'min', 'max', 'dense', 'ordinal'):
    c.add('stats.rankdata', [ties], {'method': method}, want=np.asarray(st.rankdata(ties, method=method), dtype=float).reshape(ties.shape), dtypes=['f64'])
    c.add('stats.rankdata', [ties], {'method': method, 'axis': 2}, want=np.asarray(st.rankdata(ties, method=method, axis=1), dtype=float), dtypes=['f32', 'f64'])
    c.add('stats.rankdata', [ties], {'method': method, 'axis': 1}, want=np.asarray(st.rankdata(ties, method=method, axis=0), dtype=float), dtypes=['f64'])

print(c.save(numpy=np.__version__, scipy=scipy.__version__, torch=torch.__version__), len(c.cases))
