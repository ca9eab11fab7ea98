"""montages.npz: electrode places by MNE-Python, in the head frame as a recording with that montage has them.

What it is for: tests/spec/meeg_montage_spec.lua. What it owns: nothing. What it may not know: how mascon computes places.

NAME_pos [n, 3] m (radius 0.095), NAME_names (u8, names joined by blanks): the BioSemi caps; ten_five: the 10-05 system with landmarks on the
equator, four decimals.
"""

import mne
import numpy as np

import golden_file

arrays = {}
for name, source in [(f'biosemi{n}', f'biosemi{n}') for n in (16, 32, 64, 128, 160, 256)] + [('ten_five', 'spherical_1005')]:
    montage = mne.channels.make_standard_montage(source)
    info = mne.create_info(montage.ch_names, 100.0, 'eeg')
    raw = mne.io.RawArray(np.zeros((len(montage.ch_names), 1)), info, verbose='error')
    raw.set_montage(montage, verbose='error')
    keep = [i for i, c in enumerate(montage.ch_names)]
    places = np.array([raw.info['chs'][i]['loc'][:3] for i in keep])
    arrays[f'{name}_pos'] = places.astype(np.float32) if name != 'ten_five' else np.round(places / 0.095 * 1e4).astype(np.int16)
    arrays[f'{name}_names'] = golden_file.text(' '.join(montage.ch_names[i] for i in keep))
golden_file.save('montages', {'script': 'make_montages.py', 'mne': mne.__version__}, arrays)
