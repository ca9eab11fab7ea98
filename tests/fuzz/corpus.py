#!/usr/bin/env python3
"""corpus.py - makes the seed files of the fuzz targets under tests/fuzz/corpus, from nothing but the formats' rules.

Seeds are small and each shows a parser another path; files named crash-* were found by the fuzzers, are kept beside
the seeds and not touched here. Needs only Python's standard library, gives the same bytes on every run.
"""
import gzip
import io
import os
import struct
import zipfile
import zlib

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def save(kind, name, data):
    os.makedirs(os.path.join(HERE, kind), exist_ok=True)
    with open(os.path.join(HERE, kind, name), "wb") as f:
        f.write(data)


def npy(descr, shape, data, fortran=False, version=1, text=None):
    if text is None:
        text = "{'descr': %r, 'fortran_order': %r, 'shape': %r, }" % (descr, fortran, shape)
    fixed = 10 if version == 1 else 12
    text = text.encode("utf-8")
    text += b" " * (-(fixed + len(text) + 1) % 64) + b"\n"
    head = b"\x93NUMPY" + bytes([version, 0])
    head += struct.pack("<H" if version == 1 else "<I", len(text))
    return head + text + data


def make_npy():
    save("npy", "f8", npy("<f8", (2, 3), struct.pack("<6d", *range(6))))
    save("npy", "f4_big_fortran", npy(">f4", (3, 2), struct.pack(">6f", *range(6)), fortran=True))
    save("npy", "i2_v2", npy("<i2", (4,), struct.pack("<4h", -1, 0, 1, 2), version=2))
    save("npy", "c16_v3", npy("<c16", (), struct.pack("<2d", 1, -1), version=3))
    save("npy", "c8_big", npy(">c8", (1,), struct.pack(">2f", 1, -1)))
    save("npy", "bool", npy("|b1", (3,), b"\x00\x01\x02"))
    save("npy", "u2", npy("<u2", (2,), struct.pack("<2H", 1, 65535)))
    save("npy", "u4_big", npy(">u4", (2,), struct.pack(">2I", 1, 2**32 - 1)))
    save("npy", "u8_too_large", npy("<u8", (2,), struct.pack("<2Q", 1, 2**63)))
    save("npy", "f2_empty", npy("<f2", (0, 5), b""))
    save("npy", "rank8", npy("|i1", (1, 1, 2, 1, 1, 1, 1, 1), b"ab"))
    save("npy", "python2", npy("", (), b"\x07" * 8, text="{u'shape': (2L, 1L), \"descr\": b'<i4', 'fortran_order': False}"))
    save("npy", "structured", npy("", (), b"", text="{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (0,), }"))
    save("npy", "object", npy("|O", (1,), b"cos\nsystem\n."))
    save("npy", "text", npy("<U3", (1,), b"a\0\0\0b\0\0\0c\0\0\0"))
    save("npy", "date", npy("<M8[ns]", (1,), b"\0" * 8))
    save("npy", "huge", npy("<f8", (2**40, 2**40), b""))


def zipped(members, method=zipfile.ZIP_STORED, wide=False):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in members:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = method
            with z.open(info, "w", force_zip64=wide) as f:
                f.write(data)
    return out.getvalue()


def zip64_end(data):
    """The same archive with its end record moved to the zip64 form."""
    end = len(data) - 22
    count, size, at = struct.unpack("<HII", data[end + 10:end + 20])
    record = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, at)
    locator = struct.pack("<IIQI", 0x07064B50, 0, end, 1)
    tail = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return data[:end] + record + locator + tail


def make_npz():
    a = npy("<f8", (4,), struct.pack("<4d", *range(4)))
    b = npy("<i4", (64,), b"\1\0\0\0" * 64)
    save("npz", "stored", zipped([("a.npy", a), ("b.npy", b)]))
    save("npz", "deflated", zipped([("a.npy", a), ("b.npy", b)], zipfile.ZIP_DEFLATED))
    save("npz", "wide", zipped([("a.npy", a)], zipfile.ZIP_DEFLATED, wide=True))
    save("npz", "zip64_end", zip64_end(zipped([("a.npy", a)])))
    save("npz", "empty", zipped([]))
    save("npz", "empty_member", zipped([("a", b""), ("b", b"")]))
    save("npz", "other_method", zipped([("a", b"abc" * 9)], zipfile.ZIP_BZIP2))
    whole = zipped([("a.npy", a)], zipfile.ZIP_DEFLATED)
    save("npz", "truncated", whole[:len(whole) // 2])
    damaged = bytearray(zipped([("a", b"x" * 40)]))
    damaged[45] ^= 1
    save("npz", "bad_crc", bytes(damaged))
    bomb = bytearray(zipped([("a", b"\0" * 300)], zipfile.ZIP_DEFLATED))
    at = bomb.index(b"PK\1\2")
    bomb[at + 24:at + 28] = struct.pack("<I", 0x7FFFFFFF)
    save("npz", "bomb", bytes(bomb))


def pad(text, width):
    data = text if isinstance(text, bytes) else text.encode("latin-1")
    return data[:width].ljust(width)


def edf(signals, records, n_records=None, seconds="1", reserved="", bdf=False, recording="", patient="X",
        date="02.01.03", time="04.05.06"):
    """signals: (label, samples per record, unit, phys min, phys max, dig min, dig max); records: bytes of each."""
    ns = len(signals)
    head = (b"\xffBIOSEMI" if bdf else pad("0", 8)) + pad(patient, 80) + pad(recording, 80) + pad(date, 8) + pad(time, 8)
    head += pad(str(256 * (ns + 1)), 8) + pad(reserved, 44)
    head += pad(str(len(records) if n_records is None else n_records), 8) + pad(seconds, 8) + pad(str(ns), 4)
    columns = [(0, 16), (None, 80), (2, 8), (3, 8), (4, 8), (5, 8), (6, 8), (None, 80), (1, 8), (None, 32)]
    for which, width in columns:
        for s in signals:
            head += pad("" if which is None else str(s[which]), width)
    return head + b"".join(records)


def tal(size, *lists):
    return b"".join(lists).ljust(size, b"\0")


def make_edf():
    eeg = ("EEG Fpz", 4, "uV", -100, 100, -2048, 2047)
    slow = ("Temp", 1, "\xb0C", "35.5", "4e1", -32768, 32767)
    notes = ("EDF Annotations", 16, "", -1, 1, -32768, 32767)
    bnotes = ("BDF Annotations", 10, "", -1, 1, -8388608, 8388607)
    wave = struct.pack("<4h", 0, -2048, 2047, 1) + struct.pack("<h", 100)
    save("edf", "plain", edf([eeg, slow], [wave] * 3))
    save("edf", "unfinished", edf([eeg, slow], [wave] * 2 + [wave[:5]], n_records=-1))
    save("edf", "truncated", edf([eeg, slow], [wave] * 2 + [wave[:5]], n_records=3))
    save("edf", "extra", edf([eeg, slow], [wave, wave], n_records=1))
    save("edf", "flat", edf([("flat", 2, "", 0, 0, 0, 0)], [b"\1\0\2\0"]))
    save("edf", "inverted", edf([("inv", 2, "mV", 5, -5, -10, 10)], [b"\1\0\2\0"], seconds="0.5"))
    first = tal(32, b"+0\x14\x14\0", b"+0.5\x150.25\x14blink\x14\0")
    second = tal(32, b"+1\x14\x14\0", b"+1.25\x14a\x14b\x14\0")
    later = tal(32, b"+3.5\x14\x14\0", b"-0.5\x14\xe9\x14\0")
    save("edf", "plus_c", edf([eeg, notes], [wave[:8] + first, wave[:8] + second], reserved="EDF+C",
                              recording="Startdate 02-JAN-2103 X X X"))
    save("edf", "plus_d", edf([eeg, notes], [wave[:8] + first, wave[:8] + later], reserved="EDF+D"))
    save("edf", "notes_only", edf([notes], [first, later], reserved="EDF+C", seconds="0"))
    broken = tal(32, b"+0\x14\x14\0", b"x\x14no onset\x14\0", b"+1\x14never\x14\0")
    endless = b"+1\x14\x14" + b"z" * 28
    save("edf", "bad_lists", edf([eeg, notes], [wave[:8] + broken, wave[:8] + endless], reserved="EDF+C"))
    save("edf", "bdf", edf([("Fp1", 3, "uV", -262144, 262143, -8388608, 8388607)],
                           [b"\0\0\x80\xff\xff\x7f\xff\xff\xff", b"\1\0\0\2\0\0\3\0\0"], bdf=True, reserved="24BIT"))
    save("edf", "bdf_plus", edf([("Fp1", 2, "uV", -1, 1, -8388608, 8388607), bnotes],
                                [b"\1\2\3\4\5\6" + tal(30, b"+0\x14\x14\0", b"+0\x14go\x14\0")], bdf=True, reserved="BDF+C"))
    save("edf", "zero_signals", edf([], []))
    save("edf", "bad_number", edf([("a", 2, "", "1,5", 5, -10, 10)], [b"\1\0\2\0"]))
    save("edf", "no_duration", edf([eeg], [wave[:8]], seconds="0"))


def tag(kind, kind_of_data, data, after=0, size=None):
    return struct.pack(">4i", kind, kind_of_data, len(data) if size is None else size, after) + data


def ints(kind, *values):
    return tag(kind, 3, struct.pack(">%di" % len(values), *values))


def matrix(kind, code, item, sizes, values):
    data = struct.pack(">%d%s" % (len(values), item), *values)
    data += struct.pack(">%di" % (len(sizes) + 1), *(sizes[::-1] + [len(sizes)]))
    return tag(kind, 0x40000000 | code, data)


def make_fif():
    start = tag(100, 31, struct.pack(">5i", 65540, 0, 0, 0, 0)) + ints(101, -1) + ints(106, -1)
    end = tag(108, 0, b"", -1)
    channel = struct.pack(">3i2fi12f2i16s", 1, 1, 2, 1.0, 1e-6, 1, *([0.0] * 12), 107, 0, b"Fz")
    info = ints(104, 101) + ints(200, 1) + tag(201, 4, struct.pack(">f", 250)) + tag(203, 30, channel) + ints(105, 101)
    shorts = tag(300, 16, struct.pack(">6h", *range(6)))
    raw = ints(104, 102) + ints(208, 5) + shorts + ints(301, 1) + tag(300, 4, struct.pack(">3f", 1, 2, 3)) + ints(105, 102)
    whole = start + ints(104, 100) + info + raw + ints(105, 100) + end
    save("fif", "raw", whole)
    save("fif", "epochs", start + matrix(302, 4, "f", [2, 1, 3], list(range(6))) + matrix(302, 5, "d", [1], [0.5]) + end)
    save("fif", "packed", gzip.compress(whole, mtime=0))
    save("fif", "packed_twice", gzip.compress(whole[:40], mtime=0) + gzip.compress(whole[40:], mtime=0))
    save("fif", "packed_short", gzip.compress(whole, mtime=0)[:-9])
    damaged = bytearray(gzip.compress(whole, mtime=0))
    damaged[-6] ^= 1
    save("fif", "packed_bad_crc", bytes(damaged))
    save("fif", "packed_name", whole[:0] + b"\x1f\x8b\x08\x1e" + b"\0" * 6 + b"\3\0abc" + b"name\0" + b"words\0" + b"zz"
         + gzip.compress(start + end, mtime=0)[10:])
    save("fif", "truncated", whole[:len(whole) // 2])
    save("fif", "negative", start + tag(300, 3, b"", size=-4))
    save("fif", "beyond", start + tag(300, 3, b"1234", size=400))
    save("fif", "jump", start + tag(108, 0, b"", len(start) + 24) + b"gap of 8" + ints(200, 1) + end)
    save("fif", "loop", start + tag(108, 0, b"", 20))
    save("fif", "rank", start + tag(302, 0x40000004, struct.pack(">2f2i", 1, 2, 2, 99)) + end)
    save("fif", "sizes", start + tag(302, 0x40000004, struct.pack(">2f3i", 1, 2, 2**30, 2**30, 2)) + end)
    save("fif", "nan_bits", start + tag(302, 0x40000004, struct.pack(">6I4i", 0, 0x3F800000, 0x40FFFFFF, 0xFFFFFFFF, 0x0C800000, 0x40A00000, 3, 1, 2, 3)) + end)
    save("fif", "other", b"no FIF file at all, but long enough to hold the head of a tag")


def element(kind, data):
    if 0 < len(data) <= 4:
        return struct.pack("<HH", kind, len(data)) + data.ljust(4, b"\0")
    return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)


def array(kind, sizes, body, name=""):
    data = element(6, struct.pack("<II", kind, 0)) + element(5, struct.pack("<%di" % len(sizes), *sizes))
    return element(14, data + element(1, name.encode()) + body)


def doubles(*values, name="", sizes=None):
    return array(6, sizes or [1, len(values)], element(9, struct.pack("<%dd" % len(values), *values)), name)


def chars(text, name=""):
    return array(4, [1, len(text)], element(4, text.encode("utf-16-le")), name)


def struct_of(fields, elements, name=""):
    names = b"".join(f.encode().ljust(8, b"\0") for f in fields)
    body = element(5, struct.pack("<i", 8)) + element(1, names) + b"".join(elements)
    return array(2, [1, len(elements) // len(fields)], body, name)


def make_mat():
    head = b"MATLAB 5.0 MAT-file".ljust(116) + b"\0" * 8 + b"\0\1IM"
    eeg = struct_of(["nbchan", "srate", "data", "ref"], [doubles(2), doubles(250), doubles(1, 2, 3, 4, sizes=[2, 2]), chars("Cz")], "EEG")
    save("mat", "struct", head + eeg)
    save("mat", "packed", head + element(15, zlib.compress(eeg)) + doubles(1, name="x"))
    save("mat", "cell", head + array(1, [1, 3], doubles(1) + chars("ab") + element(14, b""), "c"))
    save("mat", "integers", head + b"".join(array(8 + k, [1, 1], element(t, d), "i%d" % k) for k, (t, d) in enumerate(
        [(1, b"\xff"), (2, b"\xff"), (3, b"\xff\xff"), (4, b"\1\0"), (5, b"\1\0\0\0"), (6, b"\1\0\0\0"), (12, b"\xff" * 8), (13, b"\1" + b"\0" * 7)])))
    save("mat", "utf8", head + array(4, [1, 3], element(16, "\xb5V".encode()), "u"))
    save("mat", "empty", head + doubles(name="none", sizes=[0, 0]) + struct_of(["a"], [], "nobody"))
    save("mat", "handle", head + array(16, [1, 1], b"", "f"))
    big = head[:126] + b"MI" + struct.pack(">II", 14, 48) + struct.pack(">IIII", 6, 8, 6, 0) + struct.pack(">IIii", 5, 8, 1, 1) + struct.pack(">II", 1, 0)
    save("mat", "big", big + struct.pack(">HH4s", 2, 1, b"\7"))
    deep = doubles(1)
    for _ in range(40):
        deep = array(1, [1, 1], deep)
    save("mat", "deep", head + deep)
    save("mat", "many", head + array(1, [30000, 30000], b"", "c"))
    save("mat", "huge", head + doubles(1, name="x", sizes=[2**31 - 1, 2**31 - 1]))
    save("mat", "truncated", (head + eeg)[:-30])
    save("mat", "packed_short", head + element(15, zlib.compress(eeg)[:-8]))
    save("mat", "bomb", head + element(15, zlib.compress(doubles(*([0.0] * 4096), name="z"))))
    save("mat", "hdf5", b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n")
    save("mat", "other", b"x" * 200)


if __name__ == "__main__":
    make_npy()
    make_npz()
    make_edf()
    make_fif()
    make_mat()
