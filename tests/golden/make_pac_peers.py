"""Goldens of what two published programs answer: pac_tensorpac_seeg, pac_tensorpac_synth,
pac_tensorpac_event, pac_gpac.

What it is for: mascon's modes compat=tensorpac and compat=gpac are compared with these numbers.
What it owns: the calls made of Tensorpac 0.6.5 (with NumPy 2) and of gPAC (gpu-pac 0.3.4, f32 on
the CPU), and the draws of their random numbers, which are recorded because mascon draws its own.
What it may not know: mascon. The recording is not stored; tests read it from the shared data
folder.
Run: python make_pac_peers.py path/to/seeg_pac.npz   Needs tensorpac, mne, torch, gpu-pac (see
bench/peers).
"""

import logging
import sys
import warnings
from importlib.metadata import version

import numpy as np

import make_pac as ref
from golden_file import save

warnings.simplefilter('ignore')

import tensorpac  # noqa: E402
from tensorpac.methods import meth_surrogates  # noqa: E402

ABOUT = {
    'script': 'make_pac_peers.py',
    'tensorpac': version('tensorpac'),
    'scipy': version('scipy'),
    'mne': version('mne'),
}
K = 40
SEED = 7


def pac(idpac, bands, **kw):
    return tensorpac.Pac(idpac=idpac, f_pha=bands[0], f_amp=bands[1], verbose='ERROR', **kw)


def measures(x, fs, bands, small):
    """Every measure without surrogates; arrays [A, P, trials]."""
    out = {}
    for name, idpac in (('mvl', 1), ('mi', 2), ('hr', 3), ('ndpac_05', 4), ('plv', 5), ('gc', 6)):
        out[name] = pac((idpac, 0, 0), bands).filterfit(fs, x, n_jobs=1)
    out['ndpac_1'] = pac((4, 0, 0), bands).filterfit(fs, x, n_jobs=1, p=1.0)
    out['mi_edges_200'] = pac((2, 0, 0), bands).filterfit(fs, x, n_jobs=1, edges=200)
    out['mi_12_bins'] = pac((2, 0, 0), bands, n_bins=12).filterfit(fs, x, n_jobs=1)
    alone = (bands[0][2:3], bands[1][3:4])
    out['mi_pair_2_3_alone'] = pac((2, 0, 0), alone).filterfit(fs, x, n_jobs=1)
    obj = pac((5, 0, 0), bands)
    pha, amp = obj.filter(fs, x, 'phase', n_jobs=1), obj.filter(fs, x, 'amplitude', n_jobs=1)
    out['plv_fit'] = obj.fit(pha, amp, n_jobs=1)
    out['phase_every'], out['amp_every'] = pha[:, 0, ::small], amp[:, 0, ::small]
    obj = pac((2, 0, 0), bands, dcomplex='wavelet')
    out['mi_wavelet'] = obj.filterfit(fs, x, n_jobs=1)
    pp = tensorpac.PreferredPhase(f_pha=bands[0], f_amp=bands[1], verbose='ERROR')
    binned, phase, _ = pp.filterfit(fs, x, n_bins=72)
    out['preferred_phase_72'] = phase
    return out, pha, amp


def recorded_draws(kind, pha, amp):
    """The draws of the K surrogates: the generator is seeded with SEED + k."""
    draws = []
    for k in range(K):
        rnd = np.random.RandomState(SEED + k)
        draws.append(
            {
                1: lambda: rnd.permutation(pha.shape[1]),
                2: lambda: rnd.randint(1, amp.shape[-1], (1,))[0],
                3: lambda: rnd.randint(pha.shape[-1]),
            }[kind]()
        )
    p, a = {
        1: meth_surrogates.swap_pha_amp,
        2: meth_surrogates.swap_blocks,
        3: meth_surrogates.time_lag,
    }[kind](pha, amp, random_state=SEED)
    want = {
        1: lambda d: (pha[:, d], amp),
        2: lambda d: (pha, np.roll(amp, -d, -1)),
        3: lambda d: (np.roll(pha, d, -1), amp),
    }[kind](draws[0])
    assert np.array_equal(p, want[0]) and np.array_equal(a, want[1])
    return np.array(draws)


def surrogates(pha, amp, bands, out):
    for kind, name in ((1, 'swap_trials'), (2, 'block_swap'), (3, 'time_lag')):
        out[f'{name}_draws'] = recorded_draws(kind, pha, amp)
        obj = pac((2, kind, 4), bands)
        out[f'{name}_z'] = obj.fit(pha, amp, n_perm=K, n_jobs=1, random_state=SEED)
        if kind != 2:
            continue
        out['block_swap_surrogates'] = obj.surrogates
        for mcp in ('maxstat', 'fdr', 'bonferroni'):
            for p in (0.05, 0.95):
                out[f'p_{mcp}_{round(100 * p):02d}'] = obj.infer_pvalues(p, mcp)
        for norm, word in ((1, 'sub'), (2, 'div'), (3, 'subdiv')):
            out[f'block_swap_{word}'] = pac((2, 2, norm), bands).fit(
                pha, amp, n_perm=K, n_jobs=1, random_state=SEED
            )


def compat_mi(x, fs, bands):
    """The same by our reference: unfused, no demean, pooled counts. Shows what compat has to do."""
    pha, amp = [], []
    for edges, cycles, into in ((bands[0], 3, pha), (bands[1], 6, amp)):
        for lo, hi in edges:
            o = ref.fir_order(x.shape[1], fs, lo, cycles)
            y = ref.signal.filtfilt(ref.fir1(o, lo, hi, fs), 1, x, padlen=o)
            n = ref.next_5_smooth(x.shape[1])
            z = ref.signal.hilbert(y, n, axis=-1)[:, : x.shape[1]]
            into.append(np.angle(z) if cycles == 3 else np.abs(z))
    pha, amp = np.array(pha), np.array(amp)
    k = ref.bin_index(pha)
    pooled = np.bincount(k.ravel(), minlength=18)
    mi = np.zeros((len(amp), len(pha), len(x)))
    for i in range(len(pha)):
        for j in range(len(amp)):
            for s in range(len(x)):
                sums = np.bincount(k[i, s], amp[j, s], 18)
                mi[j, i, s] = ref.mi_of(sums, pooled)[0]
    return mi


def tensorpac_pac(name, x, fs, bands, about):
    out, pha, amp = measures(x, fs, bands, 200)
    difference = np.abs(compat_mi(x, fs, bands) - out['mi']).max()
    assert difference < 1e-9, difference
    print(f'{name}: our compat reference differs from Tensorpac by {difference:.1e}')
    surrogates(pha, amp, bands, out)
    out.update(fs=fs, pha_bands=bands[0], amp_bands=bands[1], x_head=x[:, :8], x_sum=x.sum(1))
    save(name, dict(ABOUT, **about), out)


def tensorpac_event(path):
    d = np.load(path)
    fs, x = float(d['sf']), d['data'][:24, 800:2400].astype(float)
    bands = [[6.0, 10.0], [10.0, 16.0]], [[70.0, 100.0], [90.0, 120.0]]
    kw = dict(f_pha=bands[0], f_amp=bands[1], verbose='ERROR')
    obj = tensorpac.EventRelatedPac(**kw)
    out = {'fs': fs, 'pha_bands': bands[0], 'amp_bands': bands[1], 'x_sum': x.sum(1)}
    out['rho'] = obj.filterfit(fs, x, n_jobs=1)[..., ::20]
    pha, amp = obj.filter(fs, x, 'phase', n_jobs=1), obj.filter(fs, x, 'amplitude', n_jobs=1)
    pha, amp = np.moveaxis(pha, 1, -1), np.moveaxis(amp, 1, -1)
    out['p_uncorrected'] = tensorpac.methods.erpac(pha, amp)[1][..., ::20]
    out['p_fdr'] = obj.pvalues[..., ::20]
    out['gc'] = obj.filterfit(fs, x, method='gc', n_jobs=1)[..., ::20]
    out['gc_smooth_5'] = obj.filterfit(fs, x, method='gc', smooth=5, n_jobs=1)[..., ::20]
    itc = tensorpac.utils.ITC(x, fs, f_pha=bands[0], verbose='ERROR')
    out['itc'] = itc.itc[..., ::20]
    out['psd'] = tensorpac.utils.PSD(x, fs).psd.mean(0)[::4]
    save(
        'pac_tensorpac_event',
        dict(
            ABOUT,
            x='seeg trials 1..24, samples 801..2400',
            kept='every 20th sample, every 4th frequency',
        ),
        out,
    )


def gpac_maps():
    import torch
    from gpac import PAC

    torch.set_num_threads(1)
    fs, T, n_perm = 512.0, 2048, 20
    x = np.stack([ref.g3(T, fs, 8, 80, 0.5, 31, 32), ref.g3(T, fs, 6, 100, 0.8, 33, 34)])
    x32 = x.astype(np.float32)
    pha = [[4.5, 7.5], [6, 10], [9, 15]]
    amp = [[60, 67.5], [71.5, 92.5], [91.5, 117.5], [110, 142]]
    model = PAC(
        seq_len=T, fs=fs, pha_bands_hz=pha, amp_bands_hz=amp, n_perm=n_perm, compile_mode=False
    )
    cuts, draw = [], torch.randint

    def recording(*args, **kw):
        cuts.append(draw(*args, **kw))
        return cuts[-1]

    torch.manual_seed(42)
    torch.randint = recording
    with torch.no_grad():
        r = model(torch.tensor(x32[None]), compute_distributions=True)
    torch.randint = draw
    cuts = torch.cat(cuts).numpy()
    out = {
        'pac': r['pac'][0].numpy(),
        'z': r['pac_z'][0].numpy(),
        'cuts': cuts,
        'dist': r['amplitude_distributions'][0].numpy(),
        'fs': fs,
        'pha_bands': pha,
        'amp_bands': amp,
        'kernel_1_every_4': model.bandpass.filter.filter_kernels[1, 0, ::4].numpy(),
        'x_head': x[:, :16],
        'x_sum': x.sum(1),
    }

    mine = np.zeros((2, 3, 4, n_perm + 1))
    lowest = min(b[0] for b in pha + amp)
    for r_, row in enumerate(x32.astype(float)):
        z = [
            ref.signal.hilbert(ref.butter_trunc_apply(row, ref.butter_trunc_kernel(*b, fs, lowest)))
            for b in pha + amp
        ]
        for i in range(3):
            w = ref.soft_weights(np.angle(z[i]), wrap='fmod')
            for j in range(4):
                for k, c in enumerate([0, *cuts]):
                    s = np.roll(np.abs(z[3 + j]), -c) @ w
                    p = np.maximum(s / (s.sum() + 1e-10), 1e-10)
                    mine[r_, i, j, k] = 1 + (p * np.log(p)).sum() / np.log(18)
    out['pac_f64'] = mine[..., 0]
    s = mine[..., 1:]
    sd = np.sqrt(s.var(-1) + 1e-10)
    out['surrogate_mean_f64'], out['surrogate_sd_f64'] = s.mean(-1), sd
    out['z_f64'] = (mine[..., 0] - s.mean(-1)) / (sd + 1e-10)
    difference = np.abs(out['pac_f64'] - out['pac']).max()
    z_difference = np.abs(out['z_f64'] - out['z']).max()
    print(f'pac_gpac: f64 reference differs by {difference:.1e} in pac, {z_difference:.1e} in z')
    assert difference < 1e-6
    save(
        'pac_gpac',
        {
            'script': 'make_pac_peers.py',
            'gpu-pac': version('gpu-pac'),
            'torch': version('torch'),
            'scipy': version('scipy'),
            'x': 'g3(2048, 512, 8, 80, .5, 31, 32), g3(2048, 512, 6, 100, .8, 33, 34) as f32',
        },
        out,
    )


def main(path):
    logging.disable(logging.WARNING)
    d = np.load(path)
    bands = ref.bands(2, 20, 6, 4, False), ref.bands(60, 160, 6, 8, False)
    tensorpac_pac(
        'pac_tensorpac_seeg',
        d['data'][:4].astype(float),
        float(d['sf']),
        bands,
        {'x': 'seeg trials 1..4, all samples', 'n_perm': K, 'random_state': SEED},
    )
    x = np.stack([ref.g3(1600, 400.0, 6, 70, 0.5, 40 + s, 50 + s) for s in range(3)])
    bands = (
        np.array([[3.0, 5.0], [4.0, 7.0], [5.0, 8.0], [8.0, 12.0]]),
        np.array([[40.0, 60.0], [55.0, 75.0], [60.0, 80.0], [65.0, 95.0], [80.0, 110.0]]),
    )
    tensorpac_pac(
        'pac_tensorpac_synth',
        x,
        400.0,
        bands,
        {
            'x': 'g3(1600, 400, 6, 70, 0.5, 40 + s, 50 + s), s = 0, 1, 2',
            'n_perm': K,
            'random_state': SEED,
        },
    )
    tensorpac_event(path)
    gpac_maps()


if __name__ == '__main__':
    main(sys.argv[1])
