"""Single operations in NumPy, SciPy and PyTorch, and the time a new process takes to import them.

What it is for: the rows "small add, sum, matmul, FFT, sort, median, elementwise, start" of our
comparison.
What it owns: shapes and calls; results are written with out= where the library has it, and inputs
are random but fixed.
What it may not know: mascon.
Usage: bench_ops.py [--threads 2] [--family order] [--only sort]
"""

import subprocess
import sys
import time

import peer

OPTIONS = peer.arguments(__doc__.splitlines()[0], family='')

import numpy as np  # noqa: E402
import scipy.fft  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

THREADS = peer.STATE['threads']
NP, SP = ['numpy'], ['scipy', 'numpy']
rng = np.random.default_rng(1)


def both(name, call_np, call_torch, packages=NP, batch=1, **more):
    """One NumPy or SciPy line and one PyTorch line."""
    if not peer.wanted(name):
        return
    if call_np:
        peer.emit(f'{name}_{packages[0]}', peer.measure(call_np, batch=batch), packages, **more)
    if call_torch and torch is None:
        peer.skipped(f'{name}_torch', 'torch is not installed')
    elif call_torch:
        peer.emit(f'{name}_torch', peer.measure(call_torch, batch=batch), ['torch'], **more)


def absent(package):
    """True, with a line that says so, when a package is not installed."""
    if peer.missing(package):
        peer.skipped(package, package + ' is not installed')
        return True
    return False


def tensors(*arrays):
    return [torch.from_numpy(a) if torch else None for a in arrays]


def rows(shape, dtype='f4'):
    return rng.standard_normal(shape).astype(dtype)


def small():
    for dtype in ('f4', 'f8'):
        a, b, c = rows(16, dtype), rows(16, dtype), np.empty(16, dtype)
        ta, tb, tc = tensors(a, b, c)
        tag = {'f4': 'f32', 'f8': 'f64'}[dtype]
        both(
            f'add_16_{tag}_out',
            lambda: np.add(a, b, c),
            lambda: torch.add(ta, tb, out=tc),
            batch=20000,
        )
        both(f'add_16_{tag}_new', lambda: a + b, lambda: ta + tb, batch=20000)
        if not peer.wanted(f'add_16_{tag}_new_100000_live'):
            continue
        live = [a + b for _ in range(100000)]
        tlive = [ta + tb for _ in range(100000)] if torch else []
        both(f'add_16_{tag}_new_100000_live', lambda: a + b, lambda: ta + tb, batch=20000)
        del live, tlive
    a, i = rows((64, 64)), 5
    (ta,) = tensors(a)
    both('index_row_64x64', lambda: a[i], lambda: ta[i], batch=20000)
    v = rows(1000)
    (tv,) = tensors(v)
    both('sum_1000_f32', lambda: v.sum(), lambda: tv.sum(), batch=5000)


def big():
    n = 16 << 20
    a, b, c = rows(n), rows(n), np.empty(n, 'f4')
    ta, tb, tc = tensors(a, b, c)
    gb = 4 * n / 1e9
    both('sum_16M_f32', lambda: a.sum(), lambda: ta.sum(), gb=gb)
    both('max_16M_f32', lambda: a.max(), lambda: ta.max(), gb=gb)
    both('var_16M_f32', lambda: a.var(), lambda: ta.var(), gb=gb)
    both('add_16M_f32_out', lambda: np.add(a, b, c), lambda: torch.add(ta, tb, out=tc), gb=3 * gb)
    both('copy_16M_f32', lambda: np.copyto(c, a), lambda: tc.copy_(ta), gb=2 * gb)

    def muladd_np():
        np.multiply(a, b, c)
        np.add(c, a, c)

    both('chain_muladd_16M_f32', muladd_np, lambda: torch.addcmul(ta, ta, tb, out=tc), gb=3 * gb)

    def chain_np():
        np.multiply(a, b, c)
        np.add(c, a, c)
        np.maximum(c, 0, c)
        np.multiply(c, np.float32(0.5), c)

    def chain_torch():
        torch.mul(ta, tb, out=tc)
        tc.add_(ta).clamp_(min=0).mul_(0.5)

    both('chain_muladd_relu_16M_f32', chain_np, chain_torch, gb=3 * gb)
    for name, text in (
        ('chain_muladd_16M_f32', 'a * b + a'),
        ('chain_muladd_relu_16M_f32', 'where(a * b + a > zero, a * b + a, zero) * half'),
    ):
        if not peer.wanted(name) or absent('numexpr'):
            continue
        import numexpr

        numexpr.set_num_threads(THREADS)
        names = {'a': a, 'b': b, 'half': np.float32(0.5), 'zero': np.float32(0)}
        stats = peer.measure(lambda: numexpr.evaluate(text, names, out=c))
        peer.emit(f'{name}_numexpr', stats, ['numexpr', 'numpy'], gb=3 * gb)
    a = rows((4096, 1024))
    (ta,) = tensors(a)

    def softmax_np():
        e = np.exp(a - a.max(1, keepdims=True))
        e /= e.sum(1, keepdims=True)

    both('softmax_4096x1024_f32', softmax_np, lambda: torch.softmax(ta, 1), gb=2 * a.nbytes / 1e9)


def elementwise():
    for dtype, tag in (('f4', 'f32'), ('f8', 'f64')):
        a = rng.uniform(0.1, 5, 1 << 20).astype(dtype)
        c = np.empty_like(a)
        ta, tc = tensors(a, c)
        for name in ('exp', 'log', 'sin', 'tanh'):
            both(
                f'{name}_1M_{tag}',
                lambda f=getattr(np, name): f(a, c),
                lambda f=getattr(torch, name, None): f(ta, out=tc),
            )


def matmul():
    shapes = [
        (1, 1024, 1024),
        (4, 1024, 1024),
        (8, 4096, 512),
        (17, 333, 257),
        (64, 64, 64),
        (256, 256, 256),
        (512, 511, 512),
        (1000, 1000, 1000),
        (1024, 1024, 1024),
        (288, 2048, 16),
    ]
    for m, k, n in shapes:
        for dtype, tag in (('f4', 'f32'), ('f8', 'f64')):
            a, b, c = rows((m, k), dtype), rows((k, n), dtype), np.empty((m, n), dtype)
            ta, tb, tc = tensors(a, b, c)
            batch = max(1, int(2e7 / (2 * m * n * k)))
            both(
                f'matmul_{m}x{k}x{n}_{tag}',
                lambda: np.matmul(a, b, c),
                lambda: torch.mm(ta, tb, out=tc),
                batch=batch,
                gflop=2e-9 * m * n * k,
            )
    a, b = rows((64, 32, 64)), rows((64, 64, 32))
    ta, tb = tensors(a, b)
    both(
        'matmul_batch64_32x64x32_f32',
        lambda: a @ b,
        lambda: ta @ tb,
        gflop=2e-9 * 64 * 32 * 64 * 32,
    )


def fft():
    for n in (2048, 3456):
        x = (rows((512, n)) + 1j * rows((512, n))).astype('c8')
        r = rows((512, n))
        tx, tr = tensors(x, r)
        both(
            f'fft_512x{n}_c64',
            lambda: scipy.fft.fft(x, workers=THREADS),
            lambda: torch.fft.fft(tx),
            SP,
        )
        both(
            f'rfft_512x{n}_f32',
            lambda: scipy.fft.rfft(r, workers=THREADS),
            lambda: torch.fft.rfft(tr),
            SP,
        )
    x = rows((64, 4096), 'f8') + 1j * rows((64, 4096), 'f8')
    (tx,) = tensors(x)
    both(
        'fft_64x4096_c128', lambda: scipy.fft.fft(x, workers=THREADS), lambda: torch.fft.fft(tx), SP
    )
    x = (rows(1 << 20) + 1j * rows(1 << 20)).astype('c8')
    (tx,) = tensors(x)
    both('fft_1x1M_c64', lambda: scipy.fft.fft(x, workers=THREADS), lambda: torch.fft.fft(tx), SP)


def order():
    for m, n in ((1000, 1000), (64, 100000), (1, 1000000), (10000, 64)):
        a = rows((m, n))
        (ta,) = tensors(a)
        both(f'sort_{m}x{n}_f32', lambda: np.sort(a, 1), lambda: torch.sort(ta, 1))
        both(
            f'argsort_{m}x{n}_f32',
            lambda: np.argsort(a, 1, 'stable'),
            lambda: torch.argsort(ta, dim=1, stable=True),
        )
        both(f'argsort_any_{m}x{n}_f32', lambda: np.argsort(a, 1), lambda: torch.argsort(ta, dim=1))
        both(f'median_{m}x{n}_f32', lambda: np.median(a, 1), lambda: torch.median(ta, 1))


def compiled():
    """What a compiled function costs to call (16 elements) and to call for the first time."""
    if not peer.wanted('compiled_call_jax') or absent('jax'):
        return
    import jax

    x = jax.numpy.arange(16, dtype='float32')

    def f(a):
        return jax.numpy.tanh(a * 2 + 1) * a

    first = []
    for i in range(3):
        g = jax.jit(lambda a, i=i: f(a) + i)
        t = time.perf_counter()
        g(x).block_until_ready()
        first.append(time.perf_counter() - t)
    peer.emit('compiled_first_call_jax', peer.summary(first), ['jax', 'jaxlib', 'numpy'])
    g = jax.jit(f)
    peer.emit(
        'compiled_call_jax', peer.measure(lambda: g(x), batch=2000), ['jax', 'jaxlib', 'numpy']
    )


def start():
    for name, code, packages in (
        ('start_python', 'pass', []),
        ('start_numpy', 'import numpy', ['numpy']),
        ('start_scipy_signal', 'import scipy.signal', ['scipy']),
        ('start_torch', 'import torch', ['torch']),
    ):
        if not peer.wanted(name):
            continue
        if name == 'start_torch' and torch is None:
            peer.skipped(name, 'torch is not installed')
            continue
        times = []
        for _ in range(6):
            t = time.perf_counter()
            subprocess.run([sys.executable, '-c', code], check=True)
            times.append(time.perf_counter() - t)
        peer.emit(name, peer.summary(times[1:]), packages)


def main():
    if torch:
        torch.set_num_threads(THREADS)
        torch.set_grad_enabled(False)
    for family in (small, big, elementwise, matmul, fft, order, compiled, start):
        if OPTIONS.family in ('', family.__name__):
            family()


if __name__ == '__main__':
    sys.exit(main())
