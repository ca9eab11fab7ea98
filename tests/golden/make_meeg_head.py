#!/usr/bin/env python3
"""make_meeg_head.py - projectors and files of electrodes, and what MNE-Python makes of them, for tests/spec/meeg_head_spec.lua.

`meeg_head.npz`: a recording with projectors of two kinds of sensors and marked channels (`file p_raw.fif`), its epochs with the
projectors applied, each kind of sensor alone (`cut KIND`: MNE multiplies all channels by one matrix, in which rounding of volts
leaks into teslas), epochs as read by read_epochs (`read KIND`), and files of electrodes with random places (`file x.elc`, ...)
with MNE's positions in the head frame, raw.set_montage(read_custom_montage(...)) (`pos x.elc`).
"""
import os
import tempfile
import uuid
import warnings

import mne
import numpy as np
from mne._fiff import write

from golden_file import save

warnings.simplefilter("ignore")
mne.set_log_level("ERROR")
uuid.getnode = lambda: 0
write.time = type("time", (), dict(time=staticmethod(lambda: 1.5e9)))

rng = np.random.default_rng(13)
folder = tempfile.mkdtemp()
arrays, files = {}, {}


def path(name):
    return os.path.join(folder, name)


def store(name):
    arrays["file " + name] = np.frombuffer(open(path(name), "rb").read(), np.uint8)


# ---------------------------------------------------------------- projectors

eeg, mag = ["EEG %03d" % i for i in range(7)], ["MEG %03d" % i for i in range(5)]
names = eeg + mag + ["EOG 001"]
info = mne.create_info(names, 100.0, ["eeg"] * 7 + ["mag"] * 5 + ["eog"])
scale = np.array([1e-5] * 7 + [1e-12] * 5 + [1e-4])[:, None]
raw = mne.io.RawArray((rng.standard_normal((13, 300)) * scale).astype(np.float32).astype(float), info)
raw.info["bads"] = [eeg[2], mag[4]]


def projector(of, n, name):
    data = np.linalg.qr(rng.standard_normal((len(of), n)))[0].T
    return mne.Projection(data=dict(nrow=n, ncol=len(of), row_names=None, col_names=list(of), data=data), kind=1, desc=name, active=False, explained_var=0.1)


raw.set_eeg_reference(projection=True)
raw.add_proj([projector(mag, 2, "PCA-mag"), projector(eeg[3:6], 1, "PCA-eeg")])
raw.save(path("p_raw.fif"), fmt="single")
store("p_raw.fif")
raw = mne.io.read_raw_fif(path("p_raw.fif"))
events = np.array([[40 + 50 * k, 0, 1 + k % 2] for k in range(5)])
common = dict(tmin=-0.1, tmax=0.15, baseline=None, preload=True)
epochs = mne.Epochs(raw, events, proj=False, **common)
epochs.save(path("p-epo.fif"), fmt="single")
store("p-epo.fif")
for kind, of in (("eeg", eeg), ("mag", mag)):
    arrays["cut " + kind] = mne.Epochs(raw.copy().pick(of), events, **common).get_data()
    alone = mne.read_epochs(path("p-epo.fif"), proj=False).pick(of)
    arrays["read " + kind] = alone.apply_proj().get_data()
corrected = mne.Epochs(raw.copy().pick(eeg), events, **dict(common, baseline=(None, 0), detrend=1, reject=dict(eeg=5e-5)))
arrays["kept"], arrays["corrected"] = corrected.selection.astype(np.int64), corrected.get_data()
assert 0 < len(corrected) < 5

# ---------------------------------------------------------------- files of electrodes

labels = ["Fp1", "Fz", "E3", "Cz-x", "T7", "T8", "Pz", "Oz"]
places = rng.standard_normal((8, 3))
places[:, 2] = np.abs(places[:, 2])
places *= (0.08 + 0.02 * rng.random((8, 1))) / np.linalg.norm(places, axis=1, keepdims=True)
marks = np.array([[0.004, 0.095, -0.03], [-0.081, 0.006, -0.035], [0.079, 0.001, -0.041]])  # nasion, left and right ear


def lines(name, text):
    with open(path(name), "w", newline="") as f:
        f.write(text)
    store(name)


both, elc = np.concatenate([marks, places]), ["Nz", "LPA", "RPA"] + labels
lines("old.elc", "# a head\nReferenceLabel avg\nUnitPosition\tmm\nNumberPositions=\t%d\nPositions\n%s\nLabels\n%s\n" % (
    len(elc), "\n".join("%.4f %.4f %.4f" % tuple(1e3 * p) for p in both), "\n".join(elc)))
lines("new.elc", "ReferenceLabel avg\r\nUnitPosition m\r\nNumberPositions= %d\r\nPositions\r\n%s\r\nLabels\r\n%s\r\n" % (
    len(elc), "\r\n".join("%s : %.6f %.6f %.6f" % (n, *p) for n, p in zip(elc, both)), "\r\n".join(elc)))
lines("bare.elc", "UnitPosition mm\nPositions\n%s\nLabels\n%s\n" % ("\n".join("%.4f %.4f %.4f" % tuple(1e3 * p) for p in places), "\n".join(labels)))
lines("egi.sfp", "".join("%s\t%.5f\t%.5f\t%.5f\n" % (n, *(100 * p)) for n, p in zip(["FidNz", "FidT9", "FidT10"], marks)) + "".join(
    "%s\t%.5f\t%.5f\t%.5f\n" % (n, *(100 * p)) for n, p in zip(labels, places)) + "headshape 1.0 2.0 3.0\n")
lines("bare.sfp", "".join("%s %.6f %.6f %.6f\n" % (n, *p) for n, p in zip(labels, places)))
angles = np.stack([rng.uniform(-110, 110, 8), rng.uniform(-90, 90, 8)], 1)
lines("besa.elp", "".join("EEG\t%s\t%.2f\t%.2f\t%.1f\n" % (n, *a, 100) for n, a in zip(labels, angles)))
lines("angles.txt", "Site Theta Phi\n" + "".join("%s %d %d\n" % (n, *a) for n, a in zip(labels, angles)))
for ext in ("loc", "locs", "eloc"):
    lines("lab." + ext, "".join("%d %.3f %.5f %s\n" % (i + 1, 2 * a[0], abs(a[1]) / 170, n) for i, (n, a) in enumerate(zip(labels, angles))))
for name in [k[5:] for k in sorted(arrays) if k.startswith("file ") and "fif" not in k]:
    inst = mne.io.RawArray(np.zeros((8, 10)), mne.create_info(labels, 100.0, "eeg"))
    inst.set_montage(mne.channels.read_custom_montage(path(name)))
    arrays["pos " + name] = np.array([c["loc"][:3] for c in inst.info["chs"]])

save("meeg_head", dict(script="make_meeg_head.py", mne=mne.__version__, labels=labels, files=files, events=events.tolist()), arrays)
