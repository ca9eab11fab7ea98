#!/usr/bin/env python3
"""make_hdf5.py MASCON - HDF5 files of h5py, of autoreject and of MATLAB's form, with what other programs read from them.

MASCON is the program. `hdf5`: files of h5py, and one that mascon writes, opened by h5py here, compared in everything and stored as bytes:
a spec holds mascon to them. `hdf5_eeglab`: EEGLAB sets of version 7.3, written here after MATLAB's attributes, as MNE-Python reads them.
`hdf5_autoreject`: a model that autoreject saved.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings

import autoreject
import h5py
import mne
import numpy as np

from golden_file import save

warnings.simplefilter("ignore")
mne.set_log_level("ERROR")
MASCON = os.path.abspath(sys.argv[1])


class Golden:
    """Files, arrays and answers of one golden."""

    def __init__(self, name, folder):
        self.name, self.folder, self.arrays, self.files, self.more = name, folder, {}, {}, {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def store(self, name, answer=None, data=None):
        self.arrays["file " + name] = np.frombuffer(open(self.path(name), "rb").read(), np.uint8)
        if answer is not None:
            self.files[name] = answer
        if data is not None:
            self.arrays["data " + name] = data

    def save(self):
        about = dict(script="make_hdf5.py", h5py=h5py.__version__, hdf5=h5py.version.hdf5_version, mne=mne.__version__, autoreject=autoreject.__version__, files=self.files)
        save(self.name, dict(about, **self.more), self.arrays)


def values(path):
    """Everything h5py stores that has a meaning here."""
    rng = np.random.default_rng(1)
    with h5py.File(path, "w") as f:
        g = f.create_group("numbers")
        for name in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]:
            for order in "<>":
                x = rng.integers(0 if name[0] == "u" else -100, 100, (2, 3))
                g[name + ("b" if order == ">" else "")] = (x + (0.5j if name[0] == "c" else 0)).astype(order + name)
        g["largest"] = np.array([2**16 - 1, 2**32 - 1, 2**63 - 1], "u8")
        g["bool"] = np.array([[True, False], [False, True]])
        g["scalar"], g["whole"], g["yes"], g["complex"] = 2.5, 7, np.True_, 1 - 2j
        g["far"] = np.int64(2**60)
        g["nothing"] = h5py.Empty("f4")
        g["none"] = np.zeros((0, 3), "i4")
        g["colour"] = h5py.Empty(h5py.enum_dtype(dict(RED=0, BLUE=7), "i2"))
        d = g.create_dataset("names", (3,), h5py.enum_dtype(dict(RED=0, BLUE=7), "i2"))
        d[:] = [0, 7, 0]
        t = f.create_group("texts")
        t["one"] = "größer"
        t["many"] = ["a", "", "größer"]
        t["grid"] = np.array([["a", "b"], ["c", "d"]], dtype=h5py.string_dtype())
        t["fixed"] = np.array([b"ab", b"c"], "S4")
        t["empty"] = h5py.Empty(h5py.string_dtype())
        p = f.create_group("packed")
        x = (np.arange(60 * 50).reshape(60, 50) % 251).astype("i2")
        p.create_dataset("gzip", data=x, chunks=(7, 50), compression="gzip")
        p.create_dataset("lzf", data=x[:5, :7], chunks=(2, 3), compression="lzf", shuffle=True)
        p.create_dataset("checked", data=x[:9, :9], chunks=(4, 4), fletcher32=True, shuffle=True)
        p.create_dataset("grown", data=x[:3, :4], maxshape=(None, 4), chunks=(2, 4))
        p.create_dataset("unwritten", (4, 5), "f4", fillvalue=1.5)
        a = g["f8"].attrs
        a["unit"], a["gain"], a["list"], a["texts"], a["flag"] = "µV", 2.5, np.arange(3), ["x", "y"], True
        f.attrs["made"] = np.bytes_(b"by h5py")
        f["others/table"] = np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")])
        f["others/reference"] = np.array([g.ref], h5py.ref_dtype)
        f["others/opaque"] = np.array([b"abc"], "V3")


def links(folder):
    with h5py.File(os.path.join(folder, "links.h5"), "w") as f:
        f["a/x"] = np.arange(3.0)
        f["b/same"] = f["a/x"]
        f["b/soft"] = h5py.SoftLink("/a/x")
        f["a/back"] = f["/"]
        f["outside"] = h5py.ExternalLink("target.h5", "/deep/y")
    with h5py.File(os.path.join(folder, "target.h5"), "w") as f:
        f["deep/y"] = np.arange(4)
    with h5py.File(os.path.join(folder, "dangling.h5"), "w") as f:
        f["x"] = 1.0
        f["gone"] = h5py.SoftLink("/nowhere")
        f["far"] = h5py.ExternalLink("no-such-file.h5", "/x")
    for one, other in [("circle", "back"), ("back", "circle")]:
        with h5py.File(os.path.join(folder, one + ".h5"), "w") as f:
            f["x"] = h5py.ExternalLink(other + ".h5", "/")
    with h5py.File(os.path.join(folder, "huge.h5"), "w") as f:
        f.create_dataset("x", (2**50,), "f8", chunks=(1024,))
        f.create_dataset("y", (2**30, 2**30), "i1", chunks=(16, 16))
    layout = h5py.VirtualLayout((2, 4), "i8")
    for k in range(2):
        layout[k] = h5py.VirtualSource("target.h5", "deep/y", (4,))
    path = os.path.join(folder, "virtual.h5")
    with h5py.File(path, "w") as f:
        f.create_virtual_dataset("v", layout)
    image = np.fromfile(path, np.uint8)
    image[940:944] = 0  # the time of writing
    image.tofile(path)
    with h5py.File(path) as f:
        assert np.array_equal(f["v"][()], [[0, 1, 2, 3]] * 2)


WRITTEN = """
  local x = mc.arange(1, 24):reshape { 4, 6 }
  local h = {}
  for _, d in ipairs { 'u8', 'i8', 'i16', 'i32', 'i64', 'f16', 'f32', 'f64', 'c64', 'c128' } do h[d] = mc.arange(1, 3):to(d) end
  mc.save(folder .. 'written.h5', {
    numbers = h, bool = mc.tensor { true, false }, x = x, turned = x.T, part = x['2:3, ::2'], none = mc.zeros { 0, 3 }, scalar = 2.5, yes = true,
    complex = mc.complex(1, -2), text = 'größer', texts = { 'a', '', 'größer' }, list = { 1, 2, 3 }, group = { inner = { y = mc.ones { 2 } }, empty = {} },
  }, { attributes = { ['/'] = { made = 'by mascon', version = 1 }, ['group/inner/y'] = { unit = 'V', scale = mc.tensor { 1, 2 }, names = { 'p', 'q' }, flag = true } } })
  mc.save(folder .. 'packed.h5', { x = mc.arange(1, 20000):reshape { 100, 200 }:to 'i32' }, { level = 4 })
"""


def check_written(folder):
    with h5py.File(os.path.join(folder, "written.h5")) as f:
        kinds = dict(u8="u1", i8="i1", i16="i2", i32="i4", i64="i8", f16="f2", f32="f4", f64="f8", c64="c8", c128="c16")
        for name, dtype in kinds.items():
            d = f["numbers"][name]
            assert d.dtype == np.dtype(dtype) and np.array_equal(d[()], np.arange(1, 4).astype(dtype)), name
        x = np.arange(1.0, 25).reshape(4, 6)
        for name, want in dict(x=x, turned=x.T, part=x[1:3, ::2], none=np.zeros((0, 3)), list=np.arange(1.0, 4), bool=np.array([True, False])).items():
            assert f[name].dtype == want.dtype and f[name].shape == want.shape and np.array_equal(f[name][()], want), name
        assert f["scalar"][()] == 2.5 and f["yes"][()] == np.True_ and f["yes"].dtype == np.dtype(bool) and f["complex"][()] == 1 - 2j
        assert f["text"].asstr()[()] == "größer" and list(f["texts"].asstr()[()]) == ["a", "", "größer"]
        assert len(f["group/empty"]) == 0 and f.attrs["made"] == "by mascon" and f.attrs["version"] == 1.0
        a = f["group/inner/y"].attrs
        assert a["unit"] == "V" and list(a["scale"]) == [1, 2] and list(a["names"]) == ["p", "q"] and a["flag"] == np.True_
    with h5py.File(os.path.join(folder, "packed.h5")) as f:
        assert f["x"].compression == "gzip" and f["x"].shuffle and np.array_equal(f["x"][()], np.arange(1, 20001).reshape(100, 200))


def make_hdf5(folder):
    g = Golden("hdf5", folder)
    values(g.path("values.h5"))
    links(folder)
    with open(g.path("job.lua"), "w") as f:
        f.write("local mc, folder = require 'mascon', %s\n%s" % (json.dumps(folder + "/"), WRITTEN))
    subprocess.run([MASCON, g.path("job.lua")], check=True)
    check_written(folder)
    for name in ["values.h5", "links.h5", "target.h5", "dangling.h5", "virtual.h5", "circle.h5", "back.h5", "huge.h5", "written.h5", "packed.h5"]:
        g.store(name)
    with h5py.File(g.path("values.h5")) as f:
        for name, d in f["numbers"].items():
            if d.shape:
                wide = dict(u2="i4", u4="i8", u8="i8").get(d.dtype.str[1:], d.dtype.newbyteorder("=") if d.dtype.kind != "V" else d.dtype)
                g.arrays["numbers " + name] = d[()].astype(wide)
        for name in ["gzip", "lzf", "checked", "grown", "unwritten"]:
            g.arrays["packed " + name] = f["packed"][name][()]
    g.save()


class Mat73:
    """A MAT-file of version 7.3, laid out as MATLAB does."""

    def __init__(self, path):
        self.path = path
        self.f = h5py.File(path, "w", userblock_size=512, libver="earliest")
        self.refs = self.f.create_group("#refs#")
        self.count = 0

    def put(self, at, name, v):
        """Texts, numbers, arrays, dicts (structs), lists of dicts (arrays of structs), tuples (cells)."""
        if isinstance(v, dict):
            o = at.create_group(name)
            o.attrs["MATLAB_class"] = np.bytes_("struct")
            o.attrs.create("MATLAB_fields", np.array([np.array([c.encode() for c in k], "S1") for k in v] + [None], object)[:-1], dtype=h5py.vlen_dtype(np.dtype("S1")))
            for k, x in v.items():
                self.put(o, k, x)
        elif isinstance(v, list):
            o = at.create_group(name)
            o.attrs["MATLAB_class"] = np.bytes_("struct")
            for k in v[0]:
                o[k] = np.array([[self.refer(s[k])] for s in v], h5py.ref_dtype)
        elif isinstance(v, tuple):
            o = at.create_dataset(name, data=np.array([[self.refer(x)] for x in v], h5py.ref_dtype))
            o.attrs["MATLAB_class"] = np.bytes_("cell")
        elif isinstance(v, str):
            codes = np.frombuffer(v.encode("utf-16-le"), "u2")
            o = self.numbers(at, name, codes.reshape(1, -1), "char")
            o.attrs["MATLAB_int_decode"] = np.int32(2)
        else:
            x = np.atleast_2d(v)
            kind = dict(f8="double", f4="single", i2="int16", u1="uint8", c16="double", b1="logical").get(x.dtype.str[1:])
            o = self.numbers(at, name, x.astype("u1") if kind == "logical" else x, kind)
            if kind == "logical":
                o.attrs["MATLAB_int_decode"] = np.int32(1)
        return o

    def numbers(self, at, name, x, kind):
        if x.size == 0:
            o = at.create_dataset(name, data=np.array(x.shape, "u8"))
            o.attrs["MATLAB_empty"] = np.uint8(1)
        elif x.dtype.kind == "c":
            o = at.create_dataset(name, data=np.array([[(z.real, z.imag) for z in row] for row in x.T], [("real", "f8"), ("imag", "f8")]))
        elif x.size > 100:
            o = at.create_dataset(name, data=x.T, compression="gzip", chunks=True)
        else:
            o = at.create_dataset(name, data=x.T)
        o.attrs["MATLAB_class"] = np.bytes_(kind)
        return o

    def refer(self, v):
        self.count += 1
        return self.put(self.refs, "r%d" % self.count, v).ref

    def close(self):
        self.f.close()
        with open(self.path, "r+b") as f:
            f.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: then HDF5 schema 1.00 .".ljust(116) + bytes(8) + b"\x00\x02IM")


def eeg_struct(x, trials=1, fdt=None):
    """EEGLAB's structure around samples [C, T] or [C, T, trials]."""
    n, pnts = x.shape[:2]
    empty = np.zeros((0, 0))
    locs = []
    for i in range(n):
        place = (85.0 * np.cos(i), 85.0 * np.sin(i), 10.0 * i) if i != 2 else (empty,) * 3
        locs.append(dict(zip(("labels", "type", "X", "Y", "Z", "theta"), ("E%d" % i, "EOG" if i == 3 else "EEG", *place, 5.0))))
    events = [dict(type="square" if k % 2 else 7.0, latency=1.0 + k * 10.5, duration=float(k)) for k in range(9)]
    epoch = [dict(event=k + 1.0, eventtype="square", eventlatency=0.0) if k % 3 else dict(event=np.array([[1.0, 2]]), eventtype=("square", "rt"), eventlatency=np.array([[0.0, 20]]))
             for k in range(trials)]
    return dict(setname="\xb5", nbchan=float(n), trials=float(trials), pnts=float(pnts), srate=100.0, xmin=-0.1 if trials > 1 else 0.0,
                xmax=(pnts - 1) / 100 - (0.1 if trials > 1 else 0.0), data=x if fdt is None else fdt, chanlocs=locs, event=events,
                chaninfo=dict(nosedir="+X"), ref="common", times=empty, epoch=epoch if trials > 1 else empty)


def info_of(inst):
    return dict(names=inst.ch_names, types=inst.get_channel_types(), fs=inst.info["sfreq"],
                locs=[[None if np.isnan(v) else float(v) for v in c["loc"][:3]] for c in inst.info["chs"]])


def make_eeglab(folder):
    g = Golden("hdf5_eeglab", folder)
    x = np.random.default_rng(3).standard_normal((4, 160)).astype("f4") * 20
    x3 = x.reshape(4, 40, 4, order="F")

    def write(name, variables):
        m = Mat73(g.path(name))
        for k, v in variables.items():
            m.put(m.f, k, v)
        m.close()

    write("whole.set", dict(EEG=eeg_struct(x)))
    write("spread.set", eeg_struct(x.astype("f8")))
    write("beside.set", dict(EEG=eeg_struct(x, fdt="beside.fdt")))
    x.T.tofile(g.path("beside.fdt"))
    for name in ["whole.set", "spread.set", "beside.set"]:
        raw = mne.io.read_raw_eeglab(g.path(name))
        g.store(name, dict(info_of(raw), annotations=[[float(o), float(d), t] for o, d, t in zip(raw.annotations.onset, raw.annotations.duration, raw.annotations.description)]), raw.get_data())
    write("epochs.set", dict(EEG=eeg_struct(x3, 4)))
    e = mne.read_epochs_eeglab(g.path("epochs.set"))
    g.store("epochs.set", dict(info_of(e), tmin=e.tmin, events=e.events.tolist(), event_id=e.event_id), e.get_data())
    g.store("beside.fdt")
    write("all.mat", dict(text="a\xb5\u2264\U0001f600", number=2.5, row=np.arange(1.0, 6), matrix=np.arange(6.0).reshape(2, 3), small=np.array([[1, 2]], "i2"), logical=np.array([True, False]),
                          complex=np.array([[1 + 2j, 3]]), cell=("a", 1.0, ("b",)), one=dict(x=1.0, y="z"), many=[dict(a=1.0, b="p"), dict(a=np.zeros((0, 0)), b="q")], empty=np.zeros((0, 3)),
                          cube=np.arange(24.0).reshape(2, 3, 4)))
    g.store("all.mat")
    g.save()


def make_autoreject(folder):
    g = Golden("hdf5_autoreject", folder)
    rng = np.random.default_rng(0)
    info = mne.create_info(["Fp1", "Fp2", "F3", "F4", "C3", "C4", "P3", "P4", "O1", "O2"], 100.0, "eeg")
    info.set_montage("standard_1020")
    epochs = mne.EpochsArray(1e-5 * rng.standard_normal((12, 10, 30)), info)
    epochs._data[3, 2] *= 20
    epochs._data[7] *= 30
    ar = autoreject.AutoReject(n_interpolate=[1, 2], consensus=[0.2, 0.5, 1.0], cv=3, thresh_method="random_search", random_state=1, verbose=False)
    ar.fit(epochs)
    ar.save(g.path("model-ar.hdf5"), overwrite=True)
    log = ar.get_reject_log(epochs)
    answer = dict(names=info["ch_names"], thresholds=ar.threshes_, consensus=ar.consensus_, n_interpolate=ar.n_interpolate_, bad=log.bad_epochs.tolist())
    g.store("model-ar.hdf5", json.loads(json.dumps(answer, default=float)))
    g.arrays["loss"], g.arrays["data"], g.arrays["labels"] = ar.loss_["eeg"], epochs.get_data(), log.labels
    g.arrays["locs"] = np.array([c["loc"][:3] for c in info["chs"]])
    g.save()


for make in [make_hdf5, make_eeglab, make_autoreject]:
    where = os.path.join(tempfile.gettempdir(), "mascon-golden")
    os.mkdir(where)
    try:
        make(where)
    finally:
        shutil.rmtree(where)
