"""What the peer benches share: threads, timing, the JSON line.

What it owns: `threads` must be called before NumPy or PyTorch is imported, since both read the
environment when they load.
What it may not know: what is timed. A line holds name, seconds (median), p10, p90, runs, versions,
threads and what the case adds; times of a whole job that were measured on a part carry scaled = the
factor.
"""

import argparse
import json
import math
import os
import sys
import time
from importlib.metadata import PackageNotFoundError, version

STATE = {'threads': 1, 'timed': time.perf_counter}


def arguments(text, **more):
    """--threads N, --only substring, and integer options with defaults from `more`."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--only', default='', help='run cases whose name contains this')
    parser.add_argument('--clock', default='wall', help='processor: samples are timed by the time of this process')
    for name, value in more.items():
        parser.add_argument('--' + name, type=type(value), default=value)
    options = parser.parse_args()
    STATE.update(threads=options.threads, only=options.only)
    if options.clock == 'processor':
        STATE.update(timed=time.process_time)
    for name in ('OMP', 'OPENBLAS', 'MKL', 'NUMEXPR'):
        os.environ[name + '_NUM_THREADS'] = str(options.threads)
    # Without it the scheduler often wakes a worker of PyTorch's on its caller's processor, and calls
    # of microseconds take milliseconds; our own pool keeps its threads apart too.
    os.environ.setdefault('OMP_PROC_BIND', 'true')
    return options


# Seconds one sample lasts at least, as in bench/measure.lua: where other programs run, a call of microseconds
# mostly falls between two turns of theirs and a sample of ours does not; samples as long meet as much of them.
SAMPLE = 5e-3


def repeated(call, n):
    """Seconds per call of n calls in a row."""
    t = STATE['timed']()
    for _ in range(n):
        call()
    return (STATE['timed']() - t) / n


def measure(call, least=0.3, runs=3, batch=1):
    """Warm-up, then `runs` samples and `least` seconds or more; [p10, median, p90, runs] per call."""
    call()
    n, t = batch, repeated(call, batch)
    while t * n < SAMPLE:
        n = n * 8 if t * n < SAMPLE / 16 else max(n + 1, math.ceil(SAMPLE / t * 1.2))
        t = repeated(call, n)
    times = []
    start = time.perf_counter()
    while len(times) < runs or time.perf_counter() - start < least:
        times.append(repeated(call, n))
    return summary(times)


def once(call):
    """A job of many seconds is run one time, without warm-up of its own."""
    t = time.perf_counter()
    call()
    return summary([time.perf_counter() - t])


def cpu(call):
    """Seconds and processor seconds of one call, and what it gave."""
    t, busy = time.perf_counter(), time.process_time()
    out = call()
    return time.perf_counter() - t, time.process_time() - busy, out


def sampler(kernel, start, draws):
    """A function that draws so often with one compiled program and gives the leapfrog steps. NumPyro's own `run` traces
    and compiles part of it again on every call, which takes seconds."""
    import jax

    state = kernel.init(jax.random.PRNGKey(1), 0, start, (), {})

    def draw(state, _):
        state = kernel.sample(state, (), {})
        return state, state.num_steps

    program = jax.jit(lambda s: jax.lax.scan(draw, s, None, length=draws)[1].sum()).lower(state).compile()
    return lambda: int(program(state))


def summary(times):
    times = sorted(times)
    n = len(times)
    return [times[n // 10], times[n // 2], times[n - 1 - n // 10], n]


def wanted(name):
    return STATE['only'] in name


def emit(name, stats, packages, scaled=1, **more):
    p10, median, p90, runs = stats
    line = {
        'name': name,
        'seconds': median * scaled,
        'p10': p10 * scaled,
        'p90': p90 * scaled,
        'runs': runs,
        'threads': STATE['threads'],
        'scaled': scaled,
        'versions': {p: version(p) for p in packages} | {'python': sys.version.split()[0]},
    }
    line.update(more)
    print(json.dumps(line), flush=True)


def skipped(name, why):
    print(json.dumps({'name': name, 'skipped': why}), flush=True)


def missing(*packages):
    """Name of the first package that is not installed, or None."""
    for p in packages:
        try:
            version(p)
        except PackageNotFoundError:
            return p
    return None


def emit_threads(name, call, scaled=1):
    """PyTorch's row with all threads and, as ours have it, one with one thread. scaled: call does that part of the job."""
    import torch

    if not wanted(name):
        return
    threads = STATE['threads']
    for n in {threads: None, 1: None}:
        torch.set_num_threads(n)
        tail = '_t1' if n < threads else ''
        emit(f'{name}{tail}_torch', measure(call), ['torch'], scaled=scaled, threads=n)
    torch.set_num_threads(threads)


def emit_one(name, library, call, packages):
    """The row of a library that is set beside PyTorch's, with one thread where one was asked for."""
    if not wanted(name):
        return
    try:
        call()
    except Exception as why:  # no compiler
        skipped(f'{name}_{library}', str(why).splitlines()[0])
        return
    emit(f'{name}_{library}', measure(call), packages)
