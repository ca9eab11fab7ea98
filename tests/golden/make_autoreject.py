"""Golden file `autoreject` and `autoreject_recording`: what upstream decides on two small sets of epochs.

What it is for: thresholds (three methods), local cross-validation, labels, cleaned samples,
interpolation and RANSAC by autoreject with MNE and scikit-learn, and checksums of scikit-learn's
splits; tests/spec/autoreject_golden_spec.lua compares.
What it owns: set S1 written down once more in Python (SplitMix64, sums and products only), and how a
BrainVision recording is cut: epochs of 0.2 s, every fifth sample, 26 EEG channels at MNE's standard
positions. A dither of 1e-9 V times a SplitMix64 uniform makes the 16-bit recording free of ties,
whose order upstream leaves to an unstable sort.
What it may not know: how mascon computes.

usage: make_autoreject.py RECORDING.vhdr
"""

import sys
import warnings

import autoreject
import mne
import numpy as np
import sklearn
from autoreject.autoreject import _compute_thresholds
from autoreject.utils import _clean_by_interp
from sklearn.model_selection import StratifiedShuffleSplit

import golden_file

warnings.simplefilter('ignore')
mne.set_log_level('ERROR')
SEED = 42


def splitmix(seed, n):
    state = (np.uint64(seed) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def make_s1():
    E, C, T = 30, 16, 50
    u = iter(splitmix(20240607, 400000).tolist())

    def g():
        total = 0.0
        for _ in range(12):
            total += next(u)
        return total - 6.0

    U = []
    for c in range(C):
        i, j = divmod(c, 4)
        a = -0.75 + 0.5 * i + 0.2 * (next(u) - 0.5)
        b = -0.75 + 0.5 * j + 0.2 * (next(u) - 0.5)
        d = 1 + a * a + b * b
        U.append((2 * a / d, 2 * b / d, (1 - a * a - b * b) / d))
    s = np.zeros((E, 3, T))
    for e in range(E):
        for k in range(3):
            p = 0.0
            for t in range(T):
                p = 0.95 * p + 0.3 * g()
                s[e, k, t] = p
    X = np.zeros((E, C, T))
    for e in range(E):
        for c in range(C):
            for t in range(T):
                v = U[c][0] * s[e, 0, t] + U[c][1] * s[e, 1, t] + U[c][2] * s[e, 2, t]
                X[e, c, t] = 1e-6 * (20 * v + 3 * g())
    for e in range(E):
        if e % 3:
            for t in range(T):
                X[e, 5, t] += 1e-6 * (40 * g())
    for e in (7, 18):
        for c in range(C):
            for t in range(T):
                X[e, c, t] += 1e-6 * (150 * (1 - abs(t - 25) / 25) * (1 + c / 16))
    for e, n in ((3, 2), (11, 3), (20, 6), (26, 5)):
        for i in range(n):
            for t in range(T):
                X[e, (e + 3 * i) % C, t] += 1e-6 * ((80 + 10 * i) * t / 50)
    return X, 0.09 * np.array(U), ['ch%02d' % c for c in range(C)], 250.0


def cut(path):
    raw = mne.io.read_raw_brainvision(path, preload=True)
    raw.pick('eeg')
    n, step, length = 39, 5, 200
    data = np.stack([raw._data[:, i * length:(i + 1) * length:step] for i in range(n)])
    counts = np.round(data / 0.5e-6)
    assert np.abs(counts * 0.5e-6 - data).max() < 1e-12 and np.abs(counts).max() < 2**15
    known = mne.channels.make_standard_montage('standard_1005').get_positions()['ch_pos']
    names = raw.ch_names
    places = {k.upper(): v for k, v in known.items()}
    positions = np.array([places[name.upper()] for name in names])
    dither = splitmix(1, counts.size).reshape(counts.shape)
    return counts.astype(np.int16), counts * 0.5e-6 + 1e-9 * dither, positions, names, raw.info['sfreq'] / step


def epochs_of(X, positions, names, rate):
    info = mne.create_info(names, rate, 'eeg')
    for ch, p in zip(info['chs'], positions):
        ch['loc'][:3] = p
    return mne.EpochsArray(X, info, verbose=False)


def channel_losses(X, Xi, thresholds):
    """Mean loss of the splits of SEED at one threshold for each channel, by the definition."""
    E, C, _ = X.shape
    Y = np.concatenate([X, Xi])
    y = np.r_[np.zeros(E), np.ones(E)]
    out = np.zeros(C)
    for c in range(C):
        rows = Y[:, c]
        q = np.ptp(rows, axis=1)
        losses = []
        for train, test in StratifiedShuffleSplit(10, test_size=0.2, random_state=SEED).split(rows, y):
            keep = q[train] <= max(thresholds[c], q[train].min())
            losses.append(np.sqrt(np.mean((np.median(rows[test], axis=0) - rows[train][keep].mean(0)) ** 2)))
        out[c] = np.mean(losses)
    return out


def analysis(X, positions, names, rate):
    C = len(names)
    make = lambda: epochs_of(X, positions, names, rate)
    out = {}
    Xi = _clean_by_interp(make(), verbose=False).get_data(copy=True)
    out['predicted'] = Xi[:2, :, :8]
    limits = {}
    for method in ('bayesian_optimization', 'random_search'):
        t = _compute_thresholds(make(), method=method, random_state=SEED, verbose=False)
        limits[method] = np.array([t[n] for n in names])
        out['threshold_' + method] = limits[method]
        out['loss_' + method] = channel_losses(X, Xi, limits[method])
    out['global'] = np.array([autoreject.get_rejection_threshold(make(), verbose=False, cv=5)['eeg']])
    train, test, span = autoreject.validation_curve(make(), cv=5, return_param_range=True)
    out['curve_train'], out['curve_test'], out['curve_range'] = train, test, span
    rho = [1, 4, min(C - 1, 32)]
    ar = autoreject.AutoReject(n_interpolate=rho, random_state=SEED, verbose=False)
    clean, log = ar.fit(make()).transform(make(), return_log=True)
    out['cv_loss'] = ar.loss_['eeg']
    out['choice'] = np.array([ar.consensus_['eeg'], ar.n_interpolate_['eeg']])
    out['labels'], out['bad_epochs'] = log.labels.astype(np.int8), log.bad_epochs
    cleaned = clean.get_data(copy=True)
    out['cleaned_sum'] = np.abs(cleaned).sum(axis=2)
    # one repair limit alone is free of the accumulation over the list: the losses of fresh labels
    fresh = []
    for r in rho:
        one = autoreject.AutoReject(n_interpolate=[r], random_state=SEED, verbose=False).fit(make())
        fresh.append(one.loss_['eeg'][:, 0])
    out['fresh_loss'] = np.stack(fresh, axis=1)
    r = autoreject.Ransac(verbose=False).fit(make())
    out['corr'] = r.corr_
    out['ransac_bad'] = np.array([names.index(b) for b in r.bad_chs_], dtype=np.int64)
    if r.bad_chs_:
        repaired = make()
        repaired.info['bads'] = r.bad_chs_
        autoreject.utils.interpolate_bads(repaired, picks=np.arange(C))
        out['ransac_repaired'] = repaired.get_data(copy=True)[:3, out['ransac_bad']]
    return out


def checksum(splits):
    """sum over all rows of all splits, train before test, of (place + 1) (row + 1)."""
    rows = np.concatenate([np.concatenate([train, test]) for train, test in splits]).astype(np.int64)
    return int(np.sum((np.arange(rows.size) + 1) * (rows + 1)))


def splits():
    seeds = [0, 1, 42, 97, 435656, 2**32 - 1]
    two, one = np.zeros((6, 98), dtype=np.int64), np.zeros((6, 98), dtype=np.int64)
    for i, seed in enumerate(seeds):
        for E in range(3, 101):
            y = np.r_[np.zeros(E), np.ones(E)]
            cv = StratifiedShuffleSplit(10, test_size=0.2, random_state=seed)
            two[i, E - 3] = checksum(list(cv.split(np.zeros((2 * E, 1)), y)))
            one[i, E - 3] = checksum(list(cv.split(np.zeros((E, 1)), np.ones(E))))
    return {'split_seeds': np.array(seeds, dtype=np.int64), 'split_two': two, 'split_one': one}


about = {
    'script': 'make_autoreject.py',
    'autoreject': autoreject.__version__,
    'mne': mne.__version__,
    'sklearn': sklearn.__version__,
    'seed': SEED,
}
golden_file.save('autoreject', dict(about, source='set S1'), dict(analysis(*make_s1()), **splits()))
counts, X, positions, names, rate = cut(sys.argv[1])
arrays = analysis(X, positions, names, rate)
arrays['counts'], arrays['positions'], arrays['rate'] = counts, positions, np.array([rate])
arrays['names'] = golden_file.text(' '.join(names))
golden_file.save('autoreject_recording', dict(about, source='test.vhdr of MNE-Python, 26 EEG channels, 39 epochs of 0.2 s, every fifth sample'), arrays)
