"""Reference implementation of phase-amplitude coupling and its golden files pac_conformance,
pac_filters, pac_native, pac_event.

What it is for: the plainest float64 NumPy/SciPy form of signals, filters, bins, measures,
surrogates; mascon is compared with it.
What it owns: the exact recipe (what starts where, which sample is kept, which way a shift goes).
`main` asserts the figures that are known in advance before it stores anything.
What it may not know: mascon, and the other programs (see make_pac_peers.py).
Run: python make_pac.py   Needs NumPy 2 and SciPy.
"""

import numpy as np
import scipy
from scipy import signal
from scipy.special import erfinv, ndtri
from scipy.stats import chi2

from golden_file import save

N_BINS = 18


# --- random numbers and signals ----------------------------------------------------------------


def splitmix(n, seed):
    """n outputs of SplitMix64 as uint64; the first one already uses seed + 1 * gamma."""
    k = np.arange(1, n + 1, dtype=np.uint64)
    z = np.uint64(seed) + k * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform(n, seed):
    """n uniforms in [0, 1) with 53 bits."""
    return (splitmix(n, seed) >> np.uint64(11)).astype(float) * 2.0**-53


def noise(n, seed):
    """n uniform samples of mean 0 and variance 1."""
    return np.sqrt(12.0) * (uniform(n, seed) - 0.5)


def g1(T, fs, fp, fa, k, sigma, seed):
    """Sine of fp, plus a sine of fa whose amplitude is 0.5 + 0.5 k sin(fp), plus noise."""
    t = np.arange(T) / fs
    slow = np.sin(2 * np.pi * fp * t)
    return slow + (0.5 + 0.5 * k * slow) * np.sin(2 * np.pi * fa * t) + sigma * noise(T, seed)


def g2(T, fs, fp, fa, chi, sigma, seed):
    """Envelope of the 2010 paper; chi = 0 couples fully. Noise is uniform in [0, 1)."""
    t = np.arange(T) / fs
    slow = np.sin(2 * np.pi * fp * t)
    envelope = 0.5 * ((1 - chi) * slow + 1 + chi)
    return envelope * np.sin(2 * np.pi * fa * t) + slow + sigma * uniform(T, seed)


def g3(T, fs, fp, fa, sigma, driver_seed, noise_seed, pp=0.0, width=7):
    """Driver: Morlet-filtered noise divided by its largest modulus."""
    t = np.arange(T) / fs
    driver = morlet(noise(T, driver_seed), fs, fp, width)
    driver = driver / np.abs(driver).max()
    gate = 1 / (1 + np.exp(-6 * (driver * np.exp(-1j * pp)).real))
    return np.sin(2 * np.pi * fa * t) * gate + driver.real + sigma * noise(T, noise_seed)


def g4(T, fs, fp, bandwidth, fa, sigma, driver_seed, noise_seed, phi0=0.0, delay=0.0):
    """Driver: noise through a flat band of the spectrum [fp -+ bandwidth/2], complex, scaled to
    sd(Re) = 1, times sqrt 2; sharpness 6, both amplitudes 0.5; the gate sees it `delay` s late."""
    t = np.arange(T) / fs
    spectrum = np.fft.fft(noise(T, driver_seed))
    f = np.arange(T) * fs / T
    keep = (f >= fp - bandwidth / 2) & (f <= fp + bandwidth / 2)
    driver = np.fft.ifft(2 * spectrum * keep)
    driver = driver * (np.sqrt(2) / driver.real.std())
    late = np.roll(driver, int(round(delay * fs)))
    gate = 1 / (1 + np.exp(-6 * (late * np.exp(-1j * phi0)).real))
    return (
        0.5 * gate * np.sin(2 * np.pi * fa * t) + 0.5 * driver.real + sigma * noise(T, noise_seed)
    )


# --- bands and filters -------------------------------------------------------------------------


def bands(lo, hi, n, part, clip=True):
    """Centres lo..hi, edges c -+ c/part (4 for phase, 8 for amplitude)."""
    c = np.linspace(lo, hi, n)
    edges = np.stack([c - c / part, c + c / part], 1)
    return np.clip(edges, lo, hi) if clip else edges


def fir_order(T, fs, f_low, cycles):
    order = int(cycles * (fs // f_low))
    return (T - 1) // 3 if T < 3 * order else order


def fir1(order, f1, f2, fs):
    """Band-pass by the Hamming window, gain 1 at the arithmetic centre; order + 1 taps."""
    a, b = f1 / fs, f2 / fs
    k = np.arange(order + 1) - order / 2
    h = (2 * b * np.sinc(2 * b * k) - 2 * a * np.sinc(2 * a * k)) * np.hamming(order + 1)
    centre = np.exp(-2j * np.pi * (a + b) / 2 * np.arange(order + 1))
    return h / abs(np.sum(h * centre))


def odd_extend(x, pad):
    return np.concatenate([2 * x[0] - x[pad:0:-1], x, 2 * x[-1] - x[-2 : -pad - 2 : -1]])


def next_5_smooth(n):
    while True:
        m = n
        for p in (2, 3, 5):
            while m % p == 0:
                m //= p
        if m == 1:
            return n
        n += 1


def half_spectrum(n):
    """Analytic weights: 1 at 0, 2 below Nyquist, 1 at Nyquist of an even n, 0 above."""
    g = np.zeros(n)
    g[0] = 1
    g[1 : (n + 1) // 2] = 2
    if n % 2 == 0:
        g[n // 2] = 1
    return g


def analytic_fused(x, fs, pha, amp, cycles=(3, 6), demean=True):
    """Complex bands [P + A, T] of one row: one forward transform, one inverse per band."""
    T = len(x)
    if demean:
        x = x - x.mean()
    todo = [(b, cycles[0]) for b in pha] + [(b, cycles[1]) for b in amp]
    orders = [fir_order(T, fs, b[0], c) for b, c in todo]
    pad = max(orders)
    n = next_5_smooth(T + 2 * pad)
    spectrum = np.fft.fft(odd_extend(x, pad), n) * half_spectrum(n)
    z = [
        np.fft.ifft(spectrum * abs(np.fft.fft(fir1(o, b[0], b[1], fs), n)) ** 2)[pad : pad + T]
        for (b, _), o in zip(todo, orders)
    ]
    return np.array(z), orders, pad, n


def phase_amplitude(x, fs, pha, amp, **kw):
    z = analytic_fused(x, fs, pha, amp, **kw)[0]
    return np.angle(z[: len(pha)]), np.abs(z[len(pha) :])


def morlet_kernel(fs, f, width=7):
    sd = width / (2 * np.pi * f)
    t = np.arange(-width * sd / 2, width * sd / 2, 1 / fs)
    return (
        (sd * np.sqrt(np.pi)) ** -0.5 * np.exp(-(t**2) / (2 * sd**2)) * np.exp(2j * np.pi * f * t)
    )


def morlet(x, fs, f, width=7):
    m = morlet_kernel(fs, f, width)
    start = int(np.ceil(len(m) / 2)) - 1
    return np.convolve(x, m)[start : start + len(x)]


def butter_trunc_kernel(low, high, fs, lowest, order=4):
    """Zeros, then the impulse response of the order-4 Butterworth band-pass; peak 1."""
    length = int(order * fs / lowest)
    length += 1 - length % 2
    impulse = np.zeros(length)
    impulse[length // 2] = 1
    sections = signal.butter(order, [low, high], 'bandpass', fs=fs, output='sos')
    kernel = signal.sosfilt(sections, impulse)
    return kernel / np.abs(kernel).max()


def butter_trunc_apply(x, kernel):
    """Correlation with zero padding, cut to T, reversed, once more, reversed."""
    half = len(kernel) // 2
    for _ in range(2):
        full = np.correlate(np.concatenate([np.zeros(half), x, np.zeros(half)]), kernel, 'valid')
        x = full[::-1]
    return x


# --- bins and measures -------------------------------------------------------------------------


def bin_index(phi, n=N_BINS):
    return np.minimum(n - 1, np.floor((phi + np.pi) * n / (2 * np.pi)).astype(int))


def bin_centres(n=N_BINS):
    return -np.pi + (np.arange(n) + 0.5) * 2 * np.pi / n


def mi_of(sums, counts, mode='mean'):
    """MI and distribution of sums [..., N]; counts [N]. mean: sums / counts; sum: as they are."""
    n = sums.shape[-1]
    a = sums / np.where(counts > 0, counts, 1) if mode == 'mean' else sums
    p = a / a.sum(-1, keepdims=True)
    return 1 + np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0).sum(-1) / np.log(n), p


def mi(phi, a, n=N_BINS, mode='mean'):
    k = bin_index(phi, n)
    return mi_of(np.bincount(k, a, n), np.bincount(k, minlength=n), mode)


def mvl(phi, a):
    return abs(np.sum(a * np.exp(1j * phi))) / len(a)


def ozk(phi, a):
    return abs(np.sum(a * np.exp(1j * phi))) / np.sqrt(len(a)) / np.linalg.norm(a)


def hr(p):
    return (p.max() - p.min()) / p.max()


def ndpac(phi, a, p=0.05):
    v = abs(np.sum((a - a.mean()) / a.std(ddof=1) * np.exp(1j * phi)))
    if p != 1 and v**2 <= 2 * len(a) * erfinv(1 - p) ** 2:
        return 0.0
    return v / len(a)


def plv(phi, a):
    """Native form: mean of the amplitude removed, transform once, length T."""
    theta = np.angle(signal.hilbert(a - a.mean()))
    return abs(np.exp(1j * (phi - theta)).sum()) / len(a)


def copnorm(x):
    rank = np.empty(len(x))
    rank[np.argsort(x, kind='stable')] = np.arange(1, len(x) + 1)
    return ndtri(rank / (len(x) + 1))


def gc(phi, a):
    x = np.array([copnorm(np.sin(phi)), copnorm(np.cos(phi)), copnorm(a)])
    c = x @ x.T / (x.shape[1] - 1)
    return 0.5 * np.log2(np.linalg.det(c[:2, :2]) * c[2, 2] / np.linalg.det(c))


def glm(phi, a):
    x = np.stack([np.ones_like(phi), np.cos(phi), np.sin(phi)], 1)
    r = a - x @ np.linalg.lstsq(x, a, rcond=None)[0]
    return 1 - (r @ r) / ((a - a.mean()) @ (a - a.mean()))


def preferred(p):
    """Index of the largest bin and circular mean of the distribution."""
    return int(p.argmax()), float(np.angle((p * np.exp(1j * bin_centres(len(p)))).sum()))


def soft_weights(phi, tau=0.01, n=N_BINS, wrap='symmetric'):
    """[T, N] softmax of -|distance to centre|/tau; wrap 'fmod' keeps the sign as C's fmod does."""
    d = phi[:, None] - bin_centres(n)[None, :]
    if wrap == 'fmod':
        d = np.fmod(d + np.pi, 2 * np.pi) - np.pi
    else:
        d = d - 2 * np.pi * np.round(d / (2 * np.pi))
    e = -np.abs(d) / tau
    e = np.exp(e - e.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


# --- surrogates --------------------------------------------------------------------------------


def all_shift_sums(phi, a, n=N_BINS):
    """[T, N]: bin sums of a rolled left by c = 0..T-1."""
    T = len(a)
    k = bin_index(phi, n)
    fa = np.fft.rfft(a)
    return np.stack(
        [np.fft.irfft(np.conj(np.fft.rfft((k == j) * 1.0)) * fa, T) for j in range(n)], 1
    )


def exhaustive(phi, a, m=1, n=N_BINS):
    """MI of the shifts m..T-m, and of no shift."""
    counts = np.bincount(bin_index(phi, n), minlength=n)
    v, _ = mi_of(all_shift_sums(phi, a, n), counts)
    return v[m : len(a) - m + 1], v[0]


def drawn_cuts(seed, K, T, m=1):
    return m + np.floor(uniform(K, seed) * (T - 2 * m + 1)).astype(int)


def z_and_p(v, s):
    return (v - s.mean()) / s.std(), (1 + (s >= v).sum()) / (1 + len(s))


# --- event-related -----------------------------------------------------------------------------


def corr(x, y):
    x, y = x - x.mean(0), y - y.mean(0)
    return (x * y).sum(0) / np.sqrt((x * x).sum(0) * (y * y).sum(0))


def event_related(phi, a):
    """rho and p at each time; phi, a [trials, T]."""
    s, c = np.sin(phi), np.cos(phi)
    r_as, r_ac, r_sc = corr(a, s), corr(a, c), corr(s, c)
    rho2 = (r_ac**2 + r_as**2 - 2 * r_ac * r_as * r_sc) / (1 - r_sc**2)
    return np.sqrt(rho2), np.exp(-len(phi) * rho2 / 2)


def event_related_gc(phi, a, half=0):
    """gc over trials at each time, ranks per time; a window of -+half pools the ranked samples."""
    T = phi.shape[1]
    x = np.stack(
        [np.stack([copnorm(f[:, t]) for t in range(T)], 1) for f in (np.sin(phi), np.cos(phi), a)]
    )
    out = np.zeros(T)
    for t in range(half, T - half):
        w = x[:, :, t - half : t + half + 1].reshape(3, -1)
        c = w @ w.T / (w.shape[1] - 1)
        out[t] = 0.5 * np.log2(np.linalg.det(c[:2, :2]) * c[2, 2] / np.linalg.det(c))
    return out


# --- golden files ------------------------------------------------------------------------------

FS, T_LONG = 512.0, 5120
PAIR = [(9.0, 11.0)], [(80.0, 120.0)]


def signals_abc():
    return {
        'A': g1(T_LONG, FS, 10, 100, 1, 1, 1),
        'B': g3(T_LONG, FS, 10, 100, 0.8, 1, 1001),
        'C': noise(T_LONG, 7),
    }


def near(got, want, tol):
    assert np.all(np.abs(np.asarray(got) - np.asarray(want)) <= tol), (got, want)


def conformance():
    out = {
        'splitmix_seed1': splitmix(8, 1).view(np.int64),
        'uniform_seed1': uniform(8, 1),
        'fs': FS,
        'T': T_LONG,
    }
    near(out['uniform_seed1'][:3], [0.56656158, 0.74578176, 0.97100275], 5e-9)
    table = []
    for name, x in signals_abc().items():
        z, orders, pad, n = analytic_fused(x, FS, *PAIR)
        phi, a = np.angle(z[0]), np.abs(z[1])
        v, p = mi(phi, a)
        row = [
            v,
            mvl(phi, a),
            ozk(phi, a),
            hr(p),
            ndpac(phi, a, 1),
            plv(phi, a),
            gc(phi, a),
            glm(phi, a),
            *preferred(p),
            mi(phi, a, mode='sum')[0],
        ]
        for m in (1, 512):
            s, _ = exhaustive(phi, a, m)
            row += [s.mean(), s.std(), *z_and_p(v, s)]
        table.append(row)
        out[f'{name}_head'], out[f'{name}_tail'] = x[:16], x[-16:]
        out[f'{name}_sum'] = x.sum()
        out[f'{name}_z_every_64'] = z[:, ::64]
        out[f'{name}_dist'], out[f'{name}_counts'] = p, np.bincount(bin_index(phi), minlength=18)
        out[f'{name}_bin_sums'] = all_shift_sums(phi, a)[0]
        out[f'{name}_exhaustive_every_32'] = exhaustive(phi, a)[0][::32]
    out['orders'], out['pad'], out['n_fft'] = orders, pad, n
    out['table'] = np.array(table)
    near([orders[0], orders[1], pad, n], [168, 36, 168, 5625], 0)
    near(out['table'][:, 0], [0.01780706, 0.01408140, 0.00012062], 6e-9)
    near(
        out['table'][1, [1, 2, 3, 4, 6, 8, 9, 10]],
        [0.12049259, 0.183511, 0.549533, 0.401662, 0.234135, 8, 0.02923, 0.01480123],
        5e-6,
    )
    near(out['table'][0, 11:15], [0.01780160, 0.00017055, 0.0320, 0.515], 5e-5)
    near(out['table'][1, 11:15], [0.00093110, 0.00190159, 6.9154, 0.001758], 5e-5)
    near(out['table'][1, 17:19], [32.9045, 0.000244], 5e-5)
    near(out['table'][2, 13:15], [-1.1448, 0.9195], 5e-5)

    phi, a = (f[0] for f in phase_amplitude(signals_abc()['B'], FS, *PAIR))
    cuts = drawn_cuts(42, 200, T_LONG)
    s = np.array([mi(phi, np.roll(a, -c))[0] for c in cuts])
    out['B_cuts_seed42'], out['B_drawn'] = cuts, s
    out['B_drawn_z_p'] = z_and_p(mi(phi, a)[0], s)
    near(cuts[:5], [3797, 819, 1427, 1762, 195], 0)
    near(out['B_drawn_z_p'], [8.9684, 2 / 201], 5e-5)

    pha, amp = bands(2, 20, 10, 4), bands(60, 160, 10, 8)
    out['default_pha_bands'], out['default_amp_bands'] = pha, amp
    out['orders_T2048'] = [fir_order(2048, FS, b[0], 3) for b in pha] + [
        fir_order(2048, FS, b[0], 6) for b in amp
    ]
    for fp, fa, peak, top in (
        (8, 80, (3, 2), 0.015423),
        (6, 70, (2, 1), 0.022634),
        (10, 100, (4, 4), 0.014283),
    ):
        maps = []
        for seed in (1, 2, 3, 4):
            P, A = phase_amplitude(g1(T_LONG, FS, fp, fa, 1, 1, seed), FS, pha, amp)
            maps.append([[mi(p, a)[0] for a in A] for p in P])
        mean = np.mean(maps, 0)
        assert np.unravel_index(mean.argmax(), mean.shape) == peak
        near(mean.max(), top, 5e-7)
        out[f'map_{fp}_{fa}'] = mean

    phi = -np.pi + (np.arange(18000) + 0.5) * 2 * np.pi / 18000
    closed = []
    for m in (0.1, 0.5, 0.75, 1.0):
        a = 1 + m * np.cos(phi)
        v, p = mi(phi, a)
        limit, q = mi_of(1 + m * np.sinc(1 / 18) * np.cos(bin_centres()), np.ones(18))
        closed.append(
            [
                m,
                limit,
                v,
                mvl(phi, a),
                ozk(phi, a),
                hr(q),
                hr(p),
                ndpac(phi, a, 1),
                plv(phi, a),
                glm(phi, a),
            ]
        )
    out['closed_form'] = np.array(closed)
    near(out['closed_form'][:, 1], [0.00085726, 0.02212898, 0.05237689, 0.10447080], 5e-9)
    warped = phi + 0.6 * np.sin(phi)
    out['warped_mi_mean_sum'] = [
        mi(warped, np.ones_like(phi))[0],
        mi(warped, np.ones_like(phi), mode='sum')[0],
    ]
    near(out['warped_mi_mean_sum'], [0, 0.0355], 1e-4)
    edge = np.array([-np.pi, np.pi, np.nextafter(np.pi, 0), 0.0, -0.0, 3.0, -3.0, 0.1, 1.0, 2.9671])
    out['bin_phases'], out['bin_index'] = edge, bin_index(edge)
    out['soft_symmetric'] = soft_weights(edge)
    out['soft_fmod'] = soft_weights(edge, wrap='fmod')
    save(
        'pac_conformance',
        {
            'script': 'make_pac.py',
            'scipy': scipy.__version__,
            'table_columns': 'mi mvl ozk hr ndpac_p1 plv gc glm preferred_bin_0 '
            'circular_mean mi_sum_mode '
            'shifts_1: mean sd z p, shifts_512: mean sd z p; rows A B C',
            'closed_columns': 'm mi_limit mi mvl ozk hr_limit hr ndpac_p1 plv glm; T 18000',
        },
        out,
    )


def filters():
    out = {}
    x = g3(1500, 250.0, 6, 60, 0.5, 3, 4)
    out['x_head'], out['fs'] = x[:16], 250.0
    cases = [(6.0, 10.0, 3), (2.0, 2.5, 3), (15.0, 20.0, 3), (55.0, 75.0, 6)]
    out['cases'] = np.array(cases)
    x = x - x.mean()
    for i, (lo, hi, cycles) in enumerate(cases):
        o = fir_order(len(x), 250.0, lo, cycles)
        h = fir1(o, lo, hi, 250.0)
        y = signal.filtfilt(h, 1, x, padlen=o)
        z = analytic_fused(x, 250.0, [(lo, hi)], [], (cycles, cycles))[0][0]
        near(z.real, y, 1e-12)
        out[f'taps_{i}'], out[f'order_{i}'] = h, o
        out[f'zero_phase_{i}_every_5'] = y[::5]
        out[f'fused_{i}_every_10'] = z[::10]
    for i, f in enumerate((6.0, 65.0)):
        out[f'morlet_kernel_{i}'] = morlet_kernel(250.0, f)
        out[f'morlet_{i}_every_10'] = morlet(x, 250.0, f)[::10]
    out['morlet_f'] = [6.0, 65.0]
    kernels = [(4.5, 7.5, 512.0), (9.0, 15.0, 512.0), (60.0, 67.5, 512.0), (2.0, 2.5, 2000.0)]
    out['butter_cases'] = np.array(kernels)
    unstable = []
    for i, (lo, hi, fs) in enumerate(kernels):
        lowest = 4.5 if fs == 512.0 else 2.0
        k = butter_trunc_kernel(lo, hi, fs, lowest)
        b, a = signal.butter(4, [lo, hi], 'bandpass', fs=fs)
        q = signal.lfilter(b, a, np.eye(1, len(k), len(k) // 2)[0])
        unstable.append(np.linalg.norm(k - q / np.abs(q).max()) / np.linalg.norm(k))
        out[f'butter_kernel_{i}'] = k if len(k) < 1000 else k[len(k) // 2 :: 4]
        if fs == 512.0:
            out[f'butter_applied_{i}_every_8'] = butter_trunc_apply(x, k)[::8]
    out['butter_polynomial_form_error'] = unstable
    assert max(unstable[:3]) < 1e-4 < unstable[3]
    save(
        'pac_filters',
        {
            'script': 'make_pac.py',
            'scipy': scipy.__version__,
            'x': 'g3(1500, 250, 6, 60, 0.5, 3, 4), mean removed; butter_applied uses '
            'kernels 0..2 (lowest edge 4.5) on the same samples',
            'butter_kernel_3': 'every 4th tap from the middle on',
        },
        out,
    )


def native():
    """Small maps of every measure: two rows, 3 x 4 bands."""
    fs, T, K, m = 256.0, 2048, 50, 64
    pha = np.array([(4.0, 6.0), (6.0, 9.0), (9.0, 13.0)])
    amp = np.array([(30.0, 50.0), (45.0, 65.0), (60.0, 80.0), (70.0, 100.0)])
    rows = np.array([g3(T, fs, 7, 60, 0.5, 11, 12), g4(T, fs, 5, 2, 50, 0.3, 13, 14, 0.5, 0.01)])
    names = ['mi', 'mi_sum', 'mvl', 'ozk', 'hr', 'ndpac_05', 'ndpac_1', 'plv', 'gc', 'glm']
    out = {name: np.zeros((2, 3, 4)) for name in names}
    out['dist'] = np.zeros((2, 3, 4, N_BINS))
    out['pref_bin'], out['pref_mean'] = np.zeros((2, 3, 4), int), np.zeros((2, 3, 4))
    out['surrogates'] = np.zeros((2, 3, 4, K))
    for stat in ('z', 'p', 'z_all', 'p_all', 'mean_all', 'sd_all'):
        out[stat] = np.zeros((2, 3, 4))
    cuts = drawn_cuts(42, K, T, m)
    for r, x in enumerate(rows):
        P, A = phase_amplitude(x, fs, pha, amp)
        for i, phi in enumerate(P):
            for j, a in enumerate(A):
                at = (r, i, j)
                v, p = mi(phi, a)
                values = [
                    v,
                    mi(phi, a, mode='sum')[0],
                    mvl(phi, a),
                    ozk(phi, a),
                    hr(p),
                    ndpac(phi, a),
                    ndpac(phi, a, 1),
                    plv(phi, a),
                    gc(phi, a),
                    glm(phi, a),
                ]
                for name, value in zip(names, values):
                    out[name][at] = value
                out['dist'][at] = p
                out['pref_bin'][at], out['pref_mean'][at] = preferred(p)
                s = np.array([mi(phi, np.roll(a, -c))[0] for c in cuts])
                out['surrogates'][at] = s
                out['z'][at], out['p'][at] = z_and_p(v, s)
                s, _ = exhaustive(phi, a, m)
                out['mean_all'][at], out['sd_all'][at] = s.mean(), s.std()
                out['z_all'][at], out['p_all'][at] = z_and_p(v, s)
    out.update(
        fs=fs,
        pha_bands=pha,
        amp_bands=amp,
        cuts=cuts,
        min_shift=m,
        seed=42,
        rows_head=rows[:, :16],
        rows_sum=rows.sum(1),
    )
    save(
        'pac_native',
        {
            'script': 'make_pac.py',
            'scipy': scipy.__version__,
            'rows': 'g3(2048, 256, 7, 60, 0.5, 11, 12) and '
            'g4(2048, 256, 5, 2, 50, 0.3, 13, 14, 0.5, 0.01)',
        },
        out,
    )


def events():
    """Phases and amplitudes drawn by SplitMix64: 30 trials of 200 samples."""
    n, T = 30, 200
    phi = 2 * np.pi * uniform(n * T, 21).reshape(n, T) - np.pi
    depth = np.clip((np.arange(T) - 60) / 80, 0, 1)
    a = 1 + depth * np.cos(phi - 0.7) + 0.8 * uniform(n * T, 22).reshape(n, T)
    rho, p = event_related(phi, a)
    exact = event_related(phi, np.cos(phi))
    near(exact[0], 1, 1e-12)
    near(exact[1], np.exp(-n / 2), 1e-12)
    near(p, chi2.sf(n * rho**2, 2), 1e-12)
    f, psd = signal.periodogram(a, fs=100.0, detrend='constant', axis=1)
    save(
        'pac_event',
        {
            'script': 'make_pac.py',
            'scipy': scipy.__version__,
            'phi': '2 pi u(6000, 21) - pi as [30, 200]',
            'a': '1 + clip((t-60)/80, 0, 1) cos(phi - 0.7) + 0.8 u(6000, 22)',
        },
        {
            'phi_head': phi[0, :8],
            'a_head': a[0, :8],
            'rho': rho,
            'p': p,
            'gc': event_related_gc(phi, a),
            'gc_half3': event_related_gc(phi, a, 3),
            'itc': np.abs(np.exp(1j * phi).mean(0)),
            'psd_freq': f,
            'psd_mean': psd.mean(0),
        },
    )


if __name__ == '__main__':
    conformance()
    filters()
    native()
    events()
