#!/usr/bin/env python3
"""make_meeg.py MASCON RECORDING - files of labs and what MNE-Python reads from them, for the specs of mc.meeg.

MASCON is the program, RECORDING a BrainVision header that is not stored (test.vhdr). Each golden holds small files as bytes
(`file NAME`), the samples MNE reads from them (`data NAME`) and the rest of what it reads as JSON (`about`, entry files). Epochs that
mascon has written are opened by MNE here, compared in everything, and stored as bytes: a spec holds mascon to them.
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
import warnings

import mne
import numpy as np
import scipy
import scipy.io
from mne._fiff import write
from mne.utils import object_diff
from scipy.io.matlab import _mio5

from golden_file import save

warnings.simplefilter("ignore")
mne.set_log_level("ERROR")

# the same bytes on every run: no machine, no clock in what MNE and SciPy write
uuid.getnode = lambda: 0
write.time = gzip.time = type("time", (), dict(time=staticmethod(lambda: 1.5e9)))
_mio5.time = type("time", (), dict(asctime=staticmethod(lambda: "then")))

MASCON, RECORDING = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
os.environ["TZ"] = "UTC"


def plain(value):
    """Numbers of NumPy as JSON has them; NaN as null."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (float, np.floating)):
        return None if np.isnan(value) else float(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    return value


def info_of(inst):
    info = inst.info
    trans = info["dev_head_t"]
    return dict(
        names=inst.ch_names, types=inst.get_channel_types(), bads=info["bads"], fs=info["sfreq"],
        locs=[c["loc"][:3] for c in info["chs"]], highpass=info["highpass"], lowpass=info["lowpass"],
        dev_head_t=None if trans is None else trans["trans"],
        dig=[[int(d["kind"]), int(d["ident"])] + [float(x) for x in d["r"]] for d in info["dig"] or []],
        projs=[[p["desc"], p["data"]["col_names"], bool(p["active"])] for p in info["projs"]],
        date=info["meas_date"] and info["meas_date"].timestamp(),
    )


def raw_answer(raw):
    first = raw.first_samp / raw.info["sfreq"]
    notes = [[o - first, d, t] for o, d, t in zip(raw.annotations.onset, raw.annotations.duration, raw.annotations.description)]
    return dict(info_of(raw), kind="raw", first=raw.first_samp, annotations=notes), raw.get_data()


def epochs_answer(epochs):
    return dict(info_of(epochs), kind="epochs", tmin=epochs.tmin, events=epochs.events, event_id=epochs.event_id,
                selection=epochs.selection, drop_log=epochs.drop_log, baseline=epochs.baseline), epochs.get_data()


class Golden:
    """Files, samples and answers of one golden."""

    def __init__(self, name, folder):
        self.name, self.folder, self.arrays, self.files, self.more = name, folder, {}, {}, {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def store(self, name, answer=None):
        self.arrays["file " + name] = np.frombuffer(open(self.path(name), "rb").read(), np.uint8)
        if answer:
            self.files[name], self.arrays["data " + name] = plain(answer[0]), answer[1]

    def save(self):
        about = dict(script="make_meeg.py", mne=mne.__version__, scipy=scipy.__version__, files=self.files)
        save(self.name, dict(about, **plain(self.more)), self.arrays)


def simulated(seed, n):
    """A recording of all kinds of channels, in numbers that a short holds."""
    rng = np.random.default_rng(seed)
    names = ["MEG 0111", "MEG 0112", "EEG with a long name 1", "EEG with a long name 2", "EOG 061", "STI 014"]
    info = mne.create_info(names, 200.0, ["mag", "grad", "eeg", "eeg", "eog", "stim"])
    with info._unlock():
        for i, c in enumerate(info["chs"]):
            if i < 2:
                c["loc"] = np.concatenate([[0.01 * i, 0.05, 0.09], np.eye(3).ravel()]).astype(np.float32).astype(float)
                c["coil_type"] = [3024, 3012][i]
            c["cal"], c["logno"] = float(np.float32([1e-15, 1e-14, 1e-7, 1e-7, 1e-6, 1.0][i])), 11 + i
        info["dev_head_t"] = mne.transforms.Transform("meg", "head", np.array([[1, 0, 0, 0.001], [0, 0.8, -0.6, 0.002], [0, 0.6, 0.8, 0.03], [0, 0, 0, 1.0]]))
        info["subject_info"] = dict(his_id="s01", sex=1)
        info["line_freq"] = 50.0
        info["experimenter"] = "nobody"
    stored = rng.integers(-500, 500, (6, n))
    stored[5] = 0
    for k in range(n // 60):
        stored[5, 20 + 60 * k : 25 + 60 * k] = 1 + k % 3
    raw = mne.io.RawArray(stored * np.array([[c["cal"]] for c in info["chs"]]), info, first_samp=700)
    raw.set_meas_date(1600000000.25)
    raw.set_annotations(mne.Annotations([0.5, 1.9], [0.25, 0.5], ["BAD blink", "größer"]))
    raw.add_proj(mne.Projection(active=False, data=dict(nrow=1, ncol=2, row_names=None, col_names=names[2:4], data=np.array([[0.6, 0.8]])),
                                desc="P1", kind=1, explained_var=0.5))
    raw.info["bads"] = [names[3]]
    raw.set_montage(mne.channels.make_dig_montage(dict(zip(names[2:4], [[0, 0.09, 0.02], [0.01, -0.02, 0.1]])), nasion=[0, 0.1, 0], lpa=[-0.08, 0, 0], rpa=[0.08, 0, 0]))
    return raw


def make_fif(folder):
    g = Golden("meeg_fif", folder)
    raw = simulated(1, 400)
    for fmt in ["short", "int", "single", "double"]:
        raw.save(g.path(fmt + "_raw.fif"), fmt=fmt, buffer_size_sec=0.7)
        g.store(fmt + "_raw.fif", raw_answer(mne.io.read_raw_fif(g.path(fmt + "_raw.fif"))))
    raw.save(g.path("packed_raw.fif.gz"))
    g.store("packed_raw.fif.gz", raw_answer(mne.io.read_raw_fif(g.path("packed_raw.fif.gz"))))
    gap = raw.copy()
    gap.set_annotations(gap.annotations + mne.Annotations([4.5], [0.5], ["BAD_ACQ_SKIP"], orig_time=gap.info["meas_date"]))
    gap.save(g.path("gap_raw.fif"), fmt="short", buffer_size_sec=0.1)
    g.store("gap_raw.fif", raw_answer(mne.io.read_raw_fif(g.path("gap_raw.fif"))))
    wave = np.tile(np.arange(-50, 50), 4000)[None] * np.ones((4, 1)) * 1e-6
    info = mne.create_info(4, 1000.0, "eeg")
    long = mne.io.RawArray(wave, info)
    long.save(g.path("parts_raw.fif"), fmt="short", split_size=2_000_000)
    for name in sorted(os.listdir(folder)):
        if name.startswith("parts_raw"):
            g.store(name)
    assert np.array_equal(mne.io.read_raw_fif(g.path("parts_raw.fif")).get_data().shape, wave.shape)
    g.more["parts"] = [float(x) for x in mne.io.read_raw_fif(g.path("parts_raw.fif")).get_data()[2, :100]]
    g.save()


def run(folder, code):
    path = os.path.join(folder, "job.lua")
    with open(path, "w") as f:
        f.write("local mc, folder = require 'mascon', %s\n%s" % (json.dumps(folder + "/"), code))
    subprocess.run([MASCON, path], check=True)


def equal_epochs(a, b, info=True):
    assert np.array_equal(a.get_data(), b.get_data()) and np.array_equal(a.events, b.events) and np.array_equal(a.times, b.times)
    assert a.event_id == b.event_id and a.drop_log == b.drop_log and np.array_equal(a.selection, b.selection) and a.baseline == b.baseline
    if len(a.annotations):  # onsets are kept in single precision
        assert list(a.annotations.description) == list(b.annotations.description) and a.annotations.orig_time == b.annotations.orig_time
        assert np.allclose(a.annotations.onset, b.annotations.onset, 0, 1e-6) and np.allclose(a.annotations.duration, b.annotations.duration, 0, 1e-6)
    if info:
        assert object_diff(a.info, b.info) == "", object_diff(a.info, b.info)


def make_epochs(folder):
    g = Golden("meeg_epochs", folder)
    raw = simulated(2, 600)
    raw.save(g.path("source_raw.fif"), fmt="single")
    g.store("source_raw.fif")
    events = mne.find_events(raw)
    g.more["events"] = events
    mne.write_events(g.path("source-eve.fif"), events)
    g.store("source-eve.fif")
    ids = dict(one=1, two=2)
    common = dict(tmin=-0.05, tmax=0.1, proj=False, preload=True)
    epochs = mne.Epochs(raw, events, ids, baseline=(None, 0), reject=dict(eog=1.0), **common)
    epochs.drop([1], reason="LOUD")
    for name, fmt in [("single-epo.fif", "single"), ("double-epo.fif", "double"), ("packed-epo.fif.gz", "single")]:
        epochs.save(g.path(name), fmt=fmt)
        g.store(name, epochs_answer(mne.read_epochs(g.path(name), proj=False)))
    # epochs cut by MNE in other ways, from the same recording
    source = mne.io.read_raw_fif(g.path("source_raw.fif"))
    g.files["cut"], g.arrays["data cut"] = (plain(x) if i == 0 else x for i, x in enumerate(epochs_answer(
        mne.Epochs(source, events, dict(a=1, c=3), baseline=(-0.03, 0.0), detrend=1, reject=dict(eog=9.6e-4), flat=dict(mag=1e-14), **common))))
    # what mascon writes
    run(folder, """
      local e = mc.meeg.epochs.open(folder .. 'single-epo.fif', { proj = false })
      e:save(folder .. 'same-epo.fif')
      e:drop({ 2, 4 }, 'AUTOREJECT'):pick({ 'EEG with a long name 2', 'MEG 0112', 'EOG 061' }):save(folder .. 'fewer-epo.fif')
      local raw = mc.meeg.raw.open(folder .. 'source_raw.fif')
      raw:save_annotations(folder .. 'source-annot.fif')
      mc.meeg.epochs.cut(raw, { events = mc.meeg.events.find(raw), tmin = -0.05, tmax = 0.1, proj = false }):save(folder .. 'cut-epo.fif', { dtype = 'f64' })
    """)
    first = mne.read_epochs(g.path("single-epo.fif"), proj=False)
    equal_epochs(first, mne.read_epochs(g.path("same-epo.fif"), proj=False))
    fewer = first.drop([1, 3], reason="AUTOREJECT").pick(["MEG 0112", "EEG with a long name 2", "EOG 061"])
    fewer.save(g.path("mne-epo.fif"))
    equal_epochs(mne.read_epochs(g.path("mne-epo.fif"), proj=False), mne.read_epochs(g.path("fewer-epo.fif"), proj=False))
    cut = mne.Epochs(source, events, baseline=None, **common)
    equal_epochs(cut, mne.read_epochs(g.path("cut-epo.fif"), proj=False))
    notes = mne.read_annotations(g.path("source-annot.fif"))
    assert list(notes.description) == list(source.annotations.description) and notes.orig_time == source.annotations.orig_time
    assert np.allclose(notes.onset, source.annotations.onset, 0, 1e-6)
    for name in ["same-epo.fif", "fewer-epo.fif", "cut-epo.fif", "source-annot.fif"]:
        g.store(name)
    g.save()


def eeg_struct(x, trials=1, fdt=None):
    """EEGLAB's structure around samples [C, T] or [C, T, trials]."""
    n, pnts = x.shape[:2]
    locs = np.zeros((1, n), dtype=[(k, object) for k in ("labels", "type", "X", "Y", "Z", "theta")])
    for i in range(n):
        place = (85.0 * np.cos(i), 85.0 * np.sin(i), 10.0 * i) if i != 2 else (np.zeros((0, 0)),) * 3
        locs[0, i] = ("E%d" % i, "EOG" if i == 3 else "EEG", *place, 5.0)
    events = np.zeros((1, 9), dtype=[(k, object) for k in ("type", "latency", "duration")])
    for k in range(9):
        events[0, k] = ("square" if k % 2 else 7, 1.0 + k * 10.5, float(k))
    epoch = np.zeros((1, trials), dtype=[(k, object) for k in ("event", "eventtype", "eventlatency")])
    for k in range(trials):
        pair = np.empty((1, 2), object)
        pair[0, 0], pair[0, 1] = "square", "rt"
        epoch[0, k] = (k + 1, "square", 0.0) if k % 3 else (np.array([[1, 2]]), pair, np.array([[0.0, 20.0]]))
    return dict(setname="\xb5", nbchan=float(n), trials=float(trials), pnts=float(pnts), srate=100.0, xmin=-0.1 if trials > 1 else 0.0,
                xmax=(pnts - 1) / 100 - (0.1 if trials > 1 else 0.0), data=x if fdt is None else fdt, chanlocs=locs, event=events,
                chaninfo=dict(nosedir="+X"), ref="common", times=np.zeros((0, 0)), epoch=epoch if trials > 1 else np.zeros((0, 0)))


def make_eeglab(folder):
    g = Golden("meeg_eeglab", folder)
    x = np.random.default_rng(3).standard_normal((4, 160)).astype("f4") * 20
    x3 = x.reshape(4, 40, 4, order="F")
    matfile = scipy.io.savemat
    matfile(g.path("packed.set"), dict(EEG=eeg_struct(x)), do_compression=True)
    matfile(g.path("plain.set"), dict(EEG=eeg_struct(x.astype("f8"))))
    matfile(g.path("spread.set"), eeg_struct(x), do_compression=True)
    matfile(g.path("beside.set"), dict(EEG=eeg_struct(x, fdt="beside.fdt")))
    x.T.tofile(g.path("beside.fdt"))
    for name in ["packed.set", "plain.set", "spread.set", "beside.set"]:
        g.store(name, raw_answer(mne.io.read_raw_eeglab(g.path(name))))
    matfile(g.path("epochs.set"), dict(EEG=eeg_struct(x3, 4)), do_compression=True)
    matfile(g.path("both.set"), dict(EEG=eeg_struct(x3, 4, fdt="both.fdt")))
    x3.transpose(2, 1, 0).tofile(g.path("both.fdt"))
    for name in ["epochs.set", "both.set"]:
        g.store(name, epochs_answer(mne.read_epochs_eeglab(g.path(name))))
    for name in ["beside.fdt", "both.fdt"]:
        g.store(name)
    raw = mne.io.read_raw_eeglab(g.path("plain.set"))
    mne.export.export_raw(g.path("exported.set"), raw)
    g.store("exported.set", raw_answer(mne.io.read_raw_eeglab(g.path("exported.set"))))
    g.save()


def make_recording(folder):
    """What MNE reads from the recording: every 25th sample, and its events; and a filtered recording."""
    g = Golden("meeg_recording", folder)
    raw = mne.io.read_raw_brainvision(RECORDING)
    answer, data = raw_answer(raw)
    events, ids = mne.events_from_annotations(raw)
    g.files["test.vhdr"] = plain(dict(answer, events=events, event_id=ids, samples=data.shape[1]))
    g.arrays["data test.vhdr"] = data[:, ::25]
    x = np.cumsum(np.random.default_rng(4).standard_normal((2, 900)), 1) * 1e-6
    info = mne.create_info(2, 100.0, "eeg")
    for name, edges in [("high", (1.0, None)), ("low", (None, 30.0)), ("band", (0.5, 20.0))]:
        g.arrays["data " + name] = mne.io.RawArray(x.copy(), info).filter(*edges).get_data()
    g.arrays["data unfiltered"] = x
    g.save()


for make in [make_fif, make_epochs, make_eeglab, make_recording]:
    where = os.path.join(tempfile.gettempdir(), "mascon-golden")  # MNE writes its name into files
    os.mkdir(where)
    try:
        make(where)
    finally:
        shutil.rmtree(where)
