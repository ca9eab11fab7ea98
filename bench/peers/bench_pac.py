"""Phase-amplitude coupling in Python: Tensorpac, gPAC on the CPU, and a plain NumPy/SciPy program.

What it is for: the numbers that our own bench is set against. The job: `rows` rows of 2048 samples
at 512 Hz, 16 x 16 bands of 2-30 and 30-230 Hz (centre -+ 1/4 and 1/8, clipped), modulation index;
alone, with K = 200 drawn shifts, and for NumPy with all 2047 shifts.
What it owns: how each is called. A job too long to run whole is measured on fewer rows and shifts
and scaled in proportion; `scaled` is the factor, `measured` says on what. Every program sees the
same samples and bands.
What it may not know: mascon.
Usage: bench_pac.py [--threads 2] [--rows 512] [--K 200] [--only tensorpac]
--write FOLDER saves the samples and the plain program's map of 32 rows there (samples.npy, map.npy)
and runs nothing else.
"""

import logging
import os
import sys
import warnings

import peer

OPTIONS = peer.arguments(__doc__.splitlines()[0], rows=512, K=200, write='')
warnings.simplefilter('ignore')

import numpy as np  # noqa: E402
import scipy.fft  # noqa: E402

FS, T, N = 512.0, 2048, 18


def bands():
    pha, amp = np.linspace(2, 30, 16), np.linspace(30, 230, 16)
    return (
        np.clip(np.stack([pha * 0.75, pha * 1.25], 1), 2, 30),
        np.clip(np.stack([amp * 0.875, amp * 1.125], 1), 30, 230),
    )


def rows(n):
    """Slow sine with noisy phase, fast sine gated by it, noise; f32 [n, T]."""
    rng = np.random.default_rng(1)
    t = np.arange(T) / FS
    slow = np.sin(2 * np.pi * 6 * t + np.cumsum(rng.normal(0, 0.1, (n, T)), 1))
    return (slow + (1 + slow) * np.sin(2 * np.pi * 80 * t) + rng.normal(0, 1, (n, T))).astype(
        np.float32
    )


# --- Tensorpac ---------------------------------------------------------------------------------


def tensorpac(x, K):
    lost = peer.missing('tensorpac', 'matplotlib')
    if lost:
        return peer.skipped('pac_tensorpac', lost + ' is not installed')
    from tensorpac import Pac

    logging.disable(logging.WARNING)
    packages = ['tensorpac', 'numpy', 'scipy']
    wide = x.astype(np.float64)
    pha, amp = bands()

    def run(data, n_perm, jobs=1):
        obj = Pac(
            idpac=(2, 2 if n_perm else 0, 4 if n_perm else 0), f_pha=pha, f_amp=amp, verbose='ERROR'
        )
        return obj.filterfit(FS, data, n_perm=n_perm, n_jobs=jobs, random_state=1)

    run(wide[:4], 0)
    whole = peer.once(lambda: run(wide, 0))
    peer.emit('pac_w1_tensorpac', whole, packages, rows=len(x), K=0, jobs=1)
    # surrogates: time of `some` shifts on `part` rows beyond the time of none, in proportion; in
    # one process and, as Tensorpac offers, in one per thread (each task is sent a copy)
    part = min(32, len(x))
    base = peer.measure(lambda: run(wide[:part], 0))
    for jobs in sorted({1, peer.STATE['threads']}):
        some = 4 * jobs
        more = peer.measure(lambda: run(wide[:part], some, jobs), runs=2)
        factor = len(x) / part * K / some
        seconds = whole[1] + max(more[1] - base[1], 0) * factor
        peer.emit(
            'pac_w2_tensorpac',
            [seconds / factor] * 3 + [more[3]],
            packages,
            scaled=factor,
            rows=len(x),
            K=K,
            jobs=jobs,
            measured=f'{part} rows, {some} shifts in {more[1]:.2f} s, none in {base[1]:.2f} s; '
            'the whole job without shifts is added',
        )


# --- gPAC --------------------------------------------------------------------------------------


def gpac(x, K):
    lost = peer.missing('torch', 'gpu-pac', 'psutil')
    if lost:
        return peer.skipped('pac_gpac', lost + ' is not installed')
    import torch
    from gpac import PAC

    torch.set_num_threads(peer.STATE['threads'])
    packages = ['gpu-pac', 'torch', 'numpy', 'scipy']
    pha, amp = bands()
    step = 4  # rows a call: the product tensor takes 38 MB a row
    for name, n_perm in (('pac_w1_gpac', None), ('pac_w2_gpac', 2)):
        model = PAC(
            seq_len=T,
            fs=FS,
            pha_bands_hz=pha.tolist(),
            amp_bands_hz=amp.tolist(),
            n_perm=n_perm,
            compile_mode=False,
            device_ids=[],
        )
        data = torch.from_numpy(x[:step, None, :])
        with torch.no_grad():
            stats = peer.measure(lambda: model(data), runs=2)
        if n_perm is None:
            base = stats
            peer.emit(
                name,
                stats,
                packages,
                scaled=len(x) / step,
                rows=len(x),
                K=0,
                measured=f'{step} rows, CPU, f32',
            )
        else:
            factor = len(x) / step * K / n_perm
            seconds = base[1] * len(x) / step + max(stats[1] - base[1], 0) * factor
            peer.emit(
                name,
                [seconds / factor] * 3 + [stats[3]],
                packages,
                scaled=factor,
                rows=len(x),
                K=K,
                measured=f'{step} rows, {n_perm} shifts in {stats[1]:.2f} s, '
                f'none in {base[1]:.2f} s, CPU, f32',
            )


# --- NumPy and SciPy ---------------------------------------------------------------------------


class Plan:
    """Filters of all bands in the frequency domain, for rows of T + 2 * pad samples."""

    def __init__(self):
        pha, amp = bands()
        todo = [(b, 3) for b in pha] + [(b, 6) for b in amp]
        orders = [self.order(b[0], c) for b, c in todo]
        self.pad = max(orders)
        self.n = scipy.fft.next_fast_len(T + 2 * self.pad, real=True)
        self.table = np.zeros((len(todo), self.n), np.float32)
        for i, ((b, _), o) in enumerate(zip(todo, orders)):
            k, (f1, f2) = np.arange(o + 1) - o / 2, b / FS
            h = (2 * f2 * np.sinc(2 * f2 * k) - 2 * f1 * np.sinc(2 * f1 * k)) * np.hamming(o + 1)
            h /= abs(np.sum(h * np.exp(-1j * np.pi * (f1 + f2) * np.arange(o + 1))))
            gain = abs(scipy.fft.fft(h, self.n)) ** 2
            gain[1 : (self.n + 1) // 2] *= 2
            gain[self.n // 2 + 1 :] = 0
            self.table[i] = gain
        self.P = len(pha)
        self.half = self.n // 2 + 1

    @staticmethod
    def order(low, cycles):
        o = int(cycles * (FS // low))
        return (T - 1) // 3 if T < 3 * o else o

    def split(self, x):
        """One row -> bin index [P, T] and amplitude [A, T]."""
        x = x - x.mean()
        e = np.concatenate(
            [2 * x[0] - x[self.pad : 0 : -1], x, 2 * x[-1] - x[-2 : -self.pad - 2 : -1]]
        )
        spectrum = np.zeros((len(self.table), self.n), np.complex64)
        spectrum[:, : self.half] = scipy.fft.rfft(e, self.n) * self.table[:, : self.half]
        z = scipy.fft.ifft(spectrum, overwrite_x=True, workers=peer.STATE['threads'])[
            :, self.pad : self.pad + T
        ]
        phi = np.angle(z[: self.P])
        k = np.minimum(
            N - 1, ((phi + np.float32(np.pi)) * np.float32(N / (2 * np.pi))).astype(np.int32)
        )
        return k, np.abs(z[self.P :])


def mi(sums, counts):
    """sums [..., P, N, A], counts [P, N]."""
    a = sums / np.maximum(counts, 1)[:, :, None]
    p = a / a.sum(-2, keepdims=True)
    return 1 + (p * np.log(np.where(p > 0, p, 1))).sum(-2) / np.log(np.float32(N))


def onehot(k):
    return (k[:, None, :] == np.arange(N)[:, None]).astype(np.float32)


def numpy_drawn(plan, x, K):
    shifts = np.random.default_rng(1).integers(1, T, K)
    maps = []
    for row in x:
        k, a = plan.split(row)
        one = onehot(k).reshape(-1, T)
        counts = one.sum(1).reshape(plan.P, N)
        observed = mi((one @ a.T).reshape(plan.P, N, -1), counts)
        maps.append(observed)
        if not K:
            continue
        twice = np.concatenate([a, a], 1)
        sums = np.stack([one @ twice[:, c : c + T].T for c in shifts]).reshape(K, plan.P, N, -1)
        s = mi(sums, counts)
        (observed - s.mean(0)) / s.std(0)
    return np.stack(maps)


def numpy_all(plan, x):
    for row in x:
        k, a = plan.split(row)
        one = onehot(k)
        counts = one.sum(2)
        fa = scipy.fft.rfft(a)
        for p in range(plan.P):
            f1 = np.conj(scipy.fft.rfft(one[p], workers=peer.STATE['threads']))
            sums = scipy.fft.irfft(f1[:, None] * fa[None], T, workers=peer.STATE['threads'])
            mean = sums / np.maximum(counts[p], 1)[:, None, None]
            q = np.maximum(mean / mean.sum(0), np.float32(1e-12))
            v = 1 + (q * np.log(q)).sum(0) / np.log(np.float32(N))
            (v[:, :1] <= v[:, 1:]).sum(1)


def numpy_plain(x, K):
    plan, packages = Plan(), ['numpy', 'scipy']
    part = x[:32]
    stats = peer.measure(lambda: numpy_drawn(plan, part, 0))
    peer.emit(
        'pac_w1_numpy',
        stats,
        packages,
        scaled=len(x) / len(part),
        rows=len(x),
        K=0,
        measured=f'{len(part)} rows, f32',
    )
    part = x[:4]
    stats = peer.measure(lambda: numpy_drawn(plan, part, K))
    peer.emit(
        'pac_w2_numpy',
        stats,
        packages,
        scaled=len(x) / len(part),
        rows=len(x),
        K=K,
        measured=f'{len(part)} rows, f32, one-hot products',
    )
    part = x[:1]
    stats = peer.measure(lambda: numpy_all(plan, part), runs=2)
    peer.emit(
        'pac_w3_numpy',
        stats,
        packages,
        scaled=len(x) / len(part),
        rows=len(x),
        K=T - 1,
        measured=f'{len(part)} row, f32, FFT correlation',
    )


def main():
    x = rows(OPTIONS.rows)
    if OPTIONS.write:
        np.save(os.path.join(OPTIONS.write, 'samples.npy'), x)
        np.save(os.path.join(OPTIONS.write, 'map.npy'), numpy_drawn(Plan(), x[:32], 0))
        return
    for name, run in (('numpy', numpy_plain), ('gpac', gpac), ('tensorpac', tensorpac)):
        if OPTIONS.only in name:
            run(x, OPTIONS.K)


if __name__ == '__main__':
    sys.exit(main())
