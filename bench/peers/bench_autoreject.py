"""Epoch rejection in Python: autoreject with MNE and scikit-learn.

What it is for: the numbers that our own bench is set against: the local analysis with default
options on 64 channels x 100 epochs x 500 samples and on 128 x 300 x 1000, its transform, RANSAC,
MNE's own interpolation of five channels, and its weights: every channel from all others, a hundred
sets of bad channels from the rest.
What it owns: how each is called, and the samples, written down as bench/autoreject.lua has them: sums
of SplitMix64 uniforms, so that no file passes between the two.
What it may not know: mascon.
Usage: bench_autoreject.py [--threads 2] [--only 64] [--large 1]
n_jobs of upstream is the number of threads; only its search of thresholds uses it. --large 0 leaves
the large set out (minutes).
"""

import warnings

import peer

OPTIONS = peer.arguments(__doc__.splitlines()[0], large=1)
warnings.simplefilter('ignore')

import numpy as np  # noqa: E402

SIZES = {'64': (64, 100, 500), '128': (128, 300, 1000)}


def noise(n, seed):
    z = np.uint64(seed) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.sqrt(12) * ((z >> np.uint64(11)).astype(np.float64) * 2.0**-53 - 0.5)


def samples(C, E, T):
    """Five slow sources seen by all channels, noise, one cell in twenty ten times as loud; volts [E, C, T], metres [C, 3]."""
    s = np.cumsum(noise(E * 5 * T, 1).reshape(E, 5, T), axis=2)
    x = 2e-7 * np.matmul(noise(C * 5, 2).reshape(C, 5), s) + 3e-6 * noise(E * C * T, 3).reshape(E, C, T)
    loud = noise(E * C, 4).reshape(E, C, 1) > np.sqrt(12) * 0.45
    x *= np.where(loud, 10, 1)
    k = np.arange(C)
    height, turn = 1 - (k + 0.5) / C, 2.399963229728653 * k
    ring = np.sqrt(1 - height**2)
    return x, 0.09 * np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1)


def bad_sets(C):
    """As in bench/autoreject.lua, places from 0."""
    return [sorted((37 * k + 11 * i) % C for i in range(1, (k - 1) % 8 + 2)) for k in range(1, 101)]


def interpolate_from_rest(places, sets):
    from mne.channels.interpolation import _make_interpolation_matrix

    for bad in sets:
        good = np.setdiff1d(np.arange(len(places)), bad)
        _make_interpolation_matrix(places[good], places[bad])


def main():
    lost = peer.missing('autoreject', 'mne', 'scikit-learn')
    if lost:
        return peer.skipped('autoreject_fit_upstream', lost + ' is not installed')
    import autoreject
    import mne

    mne.set_log_level('ERROR')
    packages = ['autoreject', 'mne', 'scikit-learn', 'numpy', 'scipy']
    jobs = peer.STATE['threads']
    for name, (C, E, T) in SIZES.items():
        if name == '128' and not OPTIONS.large:
            continue
        x, places = samples(C, E, T)
        info = mne.create_info(['ch%d' % (c + 1) for c in range(C)], 500.0, 'eeg')
        for ch, p in zip(info['chs'], places):
            ch['loc'][:3] = p
        epochs = mne.EpochsArray(x, info)

        def emit(what, call, n=jobs):
            title = f'ar_{what}_{name}_upstream'
            if peer.wanted(title):
                peer.emit(title, peer.once(call), packages, jobs=n)

        ar = autoreject.AutoReject(random_state=42, n_jobs=jobs, verbose=False)
        emit('fit', lambda: ar.fit(epochs))
        if hasattr(ar, 'local_reject_'):
            emit('transform', lambda: ar.transform(epochs), 1)
        emit('ransac', lambda: autoreject.Ransac(n_jobs=jobs, verbose=False).fit(epochs))

        def repair():
            copy = epochs.copy()
            copy.info['bads'] = ['ch3', 'ch11', 'ch20', 'ch31', 'ch44']
            copy.interpolate_bads(origin=(0, 0, 0))

        emit('repair', repair, 1)
        emit('loo_weights', lambda: interpolate_from_rest(places, [[c] for c in range(C)]), 1)
        emit('set_weights', lambda: interpolate_from_rest(places, bad_sets(C)), 1)


main()
