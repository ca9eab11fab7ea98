"""The rows of bench/functions.lua in NumPy or SciPy, and in PyTorch.

What it is for: the table of functions in bench/RESULTS.md.
What it owns: a call per function and library; shapes and values come from the plan that mascon
writes. A row without a call, or whose call fails, is reported as skipped. Each line carries the sum of
absolute values of the result, by which the page sees that both sides computed the same.
What it may not know: mascon.
Usage: bench_functions.py --plan FILE [--family fn_unary] [--threads 2] [--only sort]
"""

import json
import sys
import time

import peer

OPTIONS = peer.arguments(__doc__.splitlines()[0], family='', plan='')

import numpy as np  # noqa: E402
import scipy.fft  # noqa: E402
import scipy.linalg  # noqa: E402
import scipy.signal  # noqa: E402
import scipy.special  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

THREADS = peer.STATE['threads']
DTYPE = {'f32': np.float32, 'f64': np.float64, 'c128': np.complex128, 'i64': np.int64}
PRIME = 16777213
LEAST, RUNS = 0.03, 5


# ---- inputs, as in functions.lua ----


def values(shape, low, high, seed, whole, dtype):
    i = np.remainder(np.arange(1, int(np.prod(shape)) + 1, dtype=np.float64) + 7919 * seed, PRIME)
    x = low + (high - low) * (np.remainder(i * i * 5 + i * 17, PRIME) / PRIME)
    if whole:
        x = np.floor(x)
    return x.reshape(shape).astype(DTYPE[dtype])


def make(spec, dtype, strided):
    shape, low, high, seed = list(spec['shape']), spec['low'], spec['high'], spec['seed']
    own, whole = spec.get('dtype') or dtype, spec.get('int', False)
    if own == 'c128':
        return values(shape, low, high, seed, False, 'f64') + 1j * values(
            shape, low, high, seed + 50, False, 'f64'
        )
    if strided and len(shape) == 1:
        return values([2 * shape[0]], low, high, seed, whole, own)[::2]
    if strided:
        shape[-1], shape[-2] = shape[-2], shape[-1]
        return np.swapaxes(values(shape, low, high, seed, whole, own), -1, -2)
    x = values(shape, low, high, seed, whole, own)
    kind = spec.get('kind')
    if kind == 'spd':
        x = (x + np.swapaxes(x, -1, -2)) / 2 + shape[-1] * np.eye(shape[-1])
    elif kind == 'heavy':
        x = x + shape[-1] * np.eye(shape[-1])
    elif kind == 'sorted':
        x = np.sort(x)
    return x


# ---- calls: key -> (NumPy or SciPy, PyTorch) ----

S, L = scipy.special, scipy.linalg
CALLS = {}


def same(names, numpy=np, torch_=None):
    for name in names.split():
        CALLS[name] = (getattr(numpy, name, None), getattr(torch_ or torch, name, None))


def fill_table():
    t = torch
    same('exp expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh abs square negative floor')
    same('round sign isnan isfinite reciprocal maximum hypot fmod logaddexp add multiply divide')
    same('sum mean max var std prod nansum count_nonzero sort argsort outer diff median any clip')
    same('tril kron cumsum cumprod isin argmax asin acos atan asinh acosh atanh atan2')
    CALLS['pow'] = (np.power, t and t.pow)
    CALLS['lt'] = (np.less, t and t.lt)
    CALLS['add_scalar'] = (lambda x: x + 1.5, lambda x: x + 1.5)
    CALLS['clip'] = (lambda x: np.clip(x, 1, 3), t and (lambda x: t.clip(x, 1, 3)))
    CALLS['where'] = (
        lambda x, y: np.where(x > y, x, y),
        t and (lambda x, y: t.where(x > y, x, y)),
    )
    special = t and t.special
    for key, name, other in (
        ('logistic', 'expit', 'expit'),
        ('erf', 'erf', 'erf'),
        ('erfc', 'erfc', 'erfc'),
        ('erfinv', 'erfinv', 'erfinv'),
        ('lgamma', 'gammaln', 'gammaln'),
        ('digamma', 'digamma', 'digamma'),
        ('gamma', 'gamma', None),
        ('j0', 'j0', 'bessel_j0'),
        ('i0', 'i0', 'i0'),
        ('expi', 'expi', None),
        ('ellipk', 'ellipk', None),
        ('ellipe', 'ellipe', None),
        ('gammainc', 'gammainc', 'gammainc'),
    ):
        CALLS[key] = (getattr(S, name), other and getattr(special, other, None))
    CALLS['stdtrit'] = (lambda x: S.stdtrit(5, x), None)
    if t:  # PyTorch divides by n - 1 unless told otherwise
        CALLS['var'] = (np.var, lambda x: t.var(x, correction=0))
        CALLS['std'] = (np.std, lambda x: t.std(x, correction=0))
    CALLS['logsumexp'] = (S.logsumexp, t and (lambda x: t.logsumexp(x, 0)))
    CALLS['cumsum'] = (lambda x: np.cumsum(x, 0), t and (lambda x: t.cumsum(x, 0)))
    CALLS['cumprod'] = (lambda x: np.cumprod(x, 0), t and (lambda x: t.cumprod(x, 0)))
    CALLS['cummax'] = (np.maximum.accumulate, t and (lambda x: t.cummax(x, 0).values))
    for axis in (0, 1):
        CALLS[f'sum_axis{axis + 1}'] = (
            lambda x, a=axis: x.sum(a),
            lambda x, a=axis: x.sum(a),
        )
        CALLS[f'max_axis{axis + 1}'] = (
            lambda x, a=axis: x.max(a),
            lambda x, a=axis: x.amax(a),
        )
    CALLS['softmax'] = (lambda x: S.softmax(x, 1), t and (lambda x: t.softmax(x, 1)))
    CALLS['log_softmax'] = (lambda x: S.log_softmax(x, 1), t and (lambda x: t.log_softmax(x, 1)))
    CALLS['sort'] = (np.sort, t and (lambda x: t.sort(x).values))
    CALLS['argsort'] = (
        lambda x: np.argsort(x, kind='stable'),
        t and (lambda x: t.argsort(x, stable=True)),
    )
    CALLS['median'] = (np.median, None)  # PyTorch's takes the lower of two middles
    CALLS['quantile'] = (lambda x: np.quantile(x, 0.9), t and (lambda x: t.quantile(x, 0.9)))
    CALLS['topk'] = (
        lambda x: np.sort(np.partition(x, x.size - 10)[-10:])[::-1],
        t and (lambda x: t.topk(x, 10).values),
    )
    CALLS['unique'] = (np.unique, t and t.unique)
    CALLS['bincount'] = (np.bincount, t and t.bincount)
    CALLS['searchsorted'] = (np.searchsorted, t and t.searchsorted)
    CALLS['copy'] = (np.copy, t and t.clone)
    CALLS['flip'] = (lambda x: x[::-1].copy(), t and (lambda x: t.flip(x, [0])))
    CALLS['roll'] = (lambda x: np.roll(x, 37), t and (lambda x: t.roll(x, 37)))
    CALLS['concat'] = (lambda x, y: np.concatenate((x, y)), t and (lambda x, y: t.cat((x, y))))
    CALLS['stack'] = (lambda x, y: np.stack((x, y)), t and (lambda x, y: t.stack((x, y))))
    CALLS['mask'] = (lambda x: x[x > 2.5], lambda x: x[x > 2.5])
    CALLS['astype'] = (lambda x: x.astype(np.float32), lambda x: x.float())
    CALLS['repeat_each'] = (
        lambda x: np.repeat(x, 3),
        t and (lambda x: t.repeat_interleave(x, 3)),
    )
    CALLS['tile'] = (lambda x: np.tile(x, 3), t and (lambda x: t.tile(x, (3,))))
    CALLS['pad'] = (
        lambda x: np.pad(x, 3),
        t and (lambda x: t.nn.functional.pad(x, (3, 3))),
    )
    CALLS['take'] = (lambda x, i: x[i - 1], lambda x, i: x[i - 1])
    CALLS['transpose'] = (
        lambda x: np.ascontiguousarray(x.T),
        lambda x: x.T.contiguous(),
    )
    tl = t and t.linalg
    CALLS['matmul'] = CALLS['matvec'] = CALLS['matmul_batched'] = (np.matmul, t and t.matmul)
    CALLS['solve'] = CALLS['solve_batched'] = (np.linalg.solve, tl and tl.solve)
    CALLS['inv'] = (np.linalg.inv, tl and tl.inv)
    CALLS['det'] = (
        lambda x: np.linalg.det(x / x.shape[0]),
        tl and (lambda x: tl.det(x / x.shape[0])),
    )
    CALLS['cholesky'] = (np.linalg.cholesky, tl and tl.cholesky)
    CALLS['qr'] = (lambda x: np.linalg.qr(x)[1], tl and (lambda x: tl.qr(x)[1]))
    CALLS['svdvals'] = (lambda x: np.linalg.svd(x, compute_uv=False), tl and tl.svdvals)
    CALLS['svd'] = (lambda x: np.linalg.svd(x)[1], tl and (lambda x: tl.svd(x)[1]))
    CALLS['eigh'] = (lambda x: np.linalg.eigh(x)[0], tl and (lambda x: tl.eigh(x)[0]))
    CALLS['expm'] = (L.expm, t and t.matrix_exp)
    CALLS['cross'] = (np.cross, tl and tl.cross)
    CALLS['vecdot'] = (np.vecdot, tl and tl.vecdot)
    CALLS['einsum'] = (
        lambda x, y: np.einsum('bij,bjk->bik', x, y, optimize=True),
        t and (lambda x, y: t.einsum('bij,bjk->bik', x, y)),
    )
    f = scipy.fft
    for key in ('fft', 'ifft', 'rfft', 'fft2'):
        CALLS[key] = (
            lambda x, g=getattr(f, key): g(x, workers=THREADS),
            t and getattr(t.fft, key),
        )
    CALLS['dct'] = (lambda x: f.dct(x, workers=THREADS), None)
    CALLS['trapezoid'] = (np.trapezoid, t and t.trapezoid)
    CALLS['gradient'] = (np.gradient, t and (lambda x: t.gradient(x)[0]))
    CALLS['unwrap'] = (np.unwrap, None)
    CALLS['interp'] = (np.interp, None)
    CALLS['polyval'] = (np.polyval, None)
    CALLS['lfilter'] = (
        lambda x: scipy.signal.lfilter([0.2, 0.3, 0.2], [1, -0.4, 0.2], x),
        None,
    )
    CALLS['convolve'] = (scipy.signal.convolve, None)


def fill_random():
    g = np.random.default_rng(1)
    t = torch
    d = {'dtype': torch.float64} if torch else {}
    CALLS['uniform'] = (lambda n: g.random(n), t and (lambda n: t.rand(n, **d)))
    CALLS['normal'] = (lambda n: g.standard_normal(n), t and (lambda n: t.randn(n, **d)))
    CALLS['integers'] = (
        lambda n: g.integers(1, 1001, n),
        t and (lambda n: t.randint(1, 1001, (n,))),
    )
    CALLS['exponential'] = (
        lambda n: g.standard_exponential(n),
        t and (lambda n: t.empty(n, **d).exponential_()),
    )
    CALLS['permutation'] = (lambda n: g.permutation(n), t and t.randperm)


# ---- running ----


def timed(call, args):
    """A first run, then samples of 1 ms or more: [p10, median, p90, runs] per call; slow calls run thrice."""
    t = time.perf_counter()
    result = call(*args)
    first = time.perf_counter() - t
    if first > 0.3:
        return result, peer.measure(lambda: call(*args), least=0, runs=2)
    batch = max(1, int(1e-3 / max(first, 1e-7) / 4))
    return result, peer.measure(lambda: call(*args), least=LEAST, runs=RUNS, batch=batch)


def checksum(result):
    if torch is not None and isinstance(result, torch.Tensor):
        result = result.numpy()
    r = np.asarray(result)
    return float(np.abs(r.astype(np.complex128 if r.dtype.kind == 'c' else np.float64)).sum())


def main():
    if torch:
        torch.set_num_threads(THREADS)
        torch.set_grad_enabled(False)
    fill_table()
    fill_random()
    with open(OPTIONS.plan, encoding='utf-8') as f:
        plan = [json.loads(line) for line in f]
    for row in plan:
        if OPTIONS.family not in ('', row['family']) or not peer.wanted(row['name']):
            continue
        calls = CALLS.get(row['key'], (None, None))
        package = 'scipy' if getattr(calls[0], '__module__', '') and row['key'] in SCIPY else 'numpy'
        args = [row['count']] if row.get('count') else [
            make(s, row['dtype'], row['layout'] == 'strided') for s in row['inputs']
        ]
        for library, call in ((package, calls[0]), ('torch', calls[1])):
            name = f'{row["name"]}_{library}'
            if call is None:
                continue
            if library == 'torch':
                args = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args]
            try:
                result, stats = timed(call, args)
            except Exception as error:  # a peer without this dtype or shape is told, not fatal
                peer.skipped(name, str(error).split('\n')[0][:80])
                continue
            packages = ['torch'] if library == 'torch' else ['numpy', 'scipy'][: 1 + (package == 'scipy')]
            peer.emit(name, stats, packages, sum=None if row.get('count') else checksum(result))


SCIPY = set(
    'logistic erf erfc erfinv lgamma digamma gamma j0 i0 expi ellipk ellipe stdtrit gammainc logsumexp softmax log_softmax '
    'expm fft ifft rfft fft2 dct lfilter convolve'.split()
)

if __name__ == '__main__':
    sys.exit(main())
