#!/usr/bin/env python3
"""make_xpcs.py - two-time files written by h5py with what they hold, and fits by SciPy.

`xpcs`: HDF5 files of both layouts, stored as bytes (bins out of order, gzip, chunks, f32, missing keys, both triangles), the matrices that must come out of them,
computed here with NumPy alone, and solutions of scipy.optimize.least_squares for test set B under every loss and scaling, with the model written out below.
"""
import os
import tempfile

import h5py
import numpy as np
import scipy
from scipy.optimize import least_squares

from golden_file import save

MASK = (1 << 64) - 1


def splitmix(seed):
    """Numbers of SplitMix64 in [0, 1)."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield ((z ^ (z >> 31)) >> 11) * 2.0**-53


def prefix(t, p):
    tau = np.maximum(t, max(abs(t[1] - t[0]) / 2, 1e-8))
    power = tau ** p[1]
    rate = p[0] * power + p[2]
    ok = rate > 1e-10
    parts = [np.where(ok, rate, 1e-10), np.where(ok, power, 0), np.where(ok, p[0] * power * np.log(tau), 0), np.where(ok, 1.0, 0)]
    return [np.concatenate([[0], np.cumsum((f[1:] + f[:-1]) / 2)]) for f in parts]


def model(s, p, phi):
    """g1^2 of the pairs i < j and its derivatives in the 7 parameters."""
    i, j = np.triu_indices(len(s["t"]), 1)
    kd, ks = s["q"] ** 2 * s["dt"] / 2, s["q"] * s["gap"] * s["dt"] / 2 / np.pi
    A = [x[j] - x[i] for x in prefix(s["t"], p[:3])]
    B = [x[j] - x[i] for x in prefix(s["t"], p[3:6])]
    turn = np.deg2rad(p[6] - phi)
    k = ks * np.cos(turn)
    x = k * B[0]
    S = np.sin(x) / x
    D = np.where(np.abs(x) < 0.1, -x / 3 + x**3 / 30 - x**5 / 840 + x**7 / 45360, (np.cos(x) - S) / x)
    g2 = np.exp(-2 * kd * A[0]) * S**4
    f = 4 * np.exp(-2 * kd * A[0]) * S**3 * D
    return g2, [-2 * kd * g2 * a for a in A[1:]] + [f * k * b for b in B[1:]] + [-f * ks * np.sin(turn) * np.pi / 180 * B[0]]


def set_b():
    s = dict(t=0.25 * np.arange(1, 29), dt=0.25, q=0.01, gap=2e6, phi=np.array([-25.0, 0, 30, 75, 92]), p=np.array([5000, 0.3, 900, 4e-4, -0.25, 1.2e-4, 4]), sigma=0.004)
    draw = splitmix(2)
    s["y"] = []
    for phi in s["phi"]:
        g2, _ = model(s, s["p"], phi)
        e = np.array([(next(draw) + next(draw) + next(draw) + next(draw) - 2) * np.sqrt(3) for _ in g2])
        s["y"].append(1 + 0.3 * g2 + s["sigma"] * e)
    return s


def residuals(s, each):
    """Functions of x = (contrasts, offsets, physics)."""
    F = len(s["phi"])
    m = F if each else 1

    def r(x):
        return np.concatenate([(x[m + (f if each else 0)] + x[f if each else 0] * model(s, x[2 * m:], phi)[0] - s["y"][f]) / s["sigma"] for f, phi in enumerate(s["phi"])])

    def jac(x):
        rows = []
        for f, phi in enumerate(s["phi"]):
            g2, d = model(s, x[2 * m:], phi)
            J = np.zeros((len(g2), len(x)))
            J[:, f if each else 0], J[:, m + (f if each else 0)] = g2, 1
            for k in range(7):
                J[:, 2 * m + k] = x[f if each else 0] * d[k]
            rows.append(J / s["sigma"])
        return np.concatenate(rows)

    low = np.array([0.0] * m + [0.5] * m + [100, -2, -1e5, 1e-6, -2, -0.1, -10])
    high = np.array([1.0] * m + [1.5] * m + [1e5, 2, 1e5, 0.5, 2, 0.1, 10])
    x0 = np.array([0.3] * m + [1.0] * m + list(s["p"] * np.array([1.2, 0.8, 1.1, 0.9, 1.2, 1.1, 1.0])))
    return r, jac, low, high, x0


def errors(r, J, loss):
    """Standard errors: for sigma as given, and under a robust loss H^-1 B H^-1 (H: curvature of the cost, B: spread of its gradient) with the factor N / (N - p)."""
    if loss == "linear":
        return np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
    z = r**2
    first, second = dict(
        soft_l1=lambda: ((1 + z) ** -0.5, -0.5 * (1 + z) ** -1.5),
        huber=lambda: (np.where(z <= 1, 1, z**-0.5), np.where(z <= 1, 0, -0.5 * z**-1.5)),
        cauchy=lambda: (1 / (1 + z), -1 / (1 + z) ** 2),
        arctan=lambda: (1 / (1 + z**2), -2 * z / (1 + z**2) ** 2),
    )[loss]()
    inverse = np.linalg.inv(J.T @ (J * (first + 2 * z * second)[:, None]))
    psi = J * (r * first)[:, None]
    n, p = J.shape
    return np.sqrt(np.diag(inverse @ (psi.T @ psi) @ inverse) * n / (n - p))


def fits(arrays, about):
    s = set_b()
    about["fits"] = []
    for each in (False, True):
        for loss in ("linear", "soft_l1", "huber", "cauchy", "arctan"):
            r, jac, low, high, x = residuals(s, each)
            for _ in range(3):  # again from where it stopped: the last digits
                a = least_squares(r, x, jac, bounds=(low, high), loss=loss, f_scale=1.0, x_scale="jac", ftol=1e-15, xtol=1e-15, gtol=1e-15, max_nfev=2000)
                x = a.x
            name = ("each " if each else "common ") + loss
            about["fits"].append(name)
            arrays["x " + name] = a.x
            arrays["error " + name] = errors(r(a.x), jac(a.x), loss)
            arrays["cost " + name] = np.array(a.cost)


def half(rng, n, lower=False):
    a = np.triu(1 + 0.2 * rng.random((n, n)))
    return a.T.copy() if lower else a


def ready(h, first, last):
    """A half matrix as the fit sees it: frames first .. last (from 1), symmetric, diagonal corrected."""
    h = h.astype(float)[first - 1:last, first - 1:last]
    c = h + h.T
    n = len(c)
    s = np.array([(c[i, i + 1] + c[i + 1, i]) / 2 for i in range(n - 1)])
    for i in range(n):
        c[i, i] = s[0] if i == 0 else s[n - 2] if i == n - 1 else (s[i - 1] + s[i]) / 2
    return c


def new_layout(path, bins, matrices, **how):
    with h5py.File(path, "w") as f:
        f["xpcs/qmap/dynamic_v_list_dim0"] = np.array([0.0041, 0.0054, 0.0062])
        f["xpcs/qmap/dynamic_v_list_dim1"] = np.array([0.0, 30, -75, 190])
        f["xpcs/twotime/processed_bins"] = np.array(bins)
        for name, m in matrices:
            f.create_dataset("xpcs/twotime/correlation_map/" + name, data=m, **how)


def old_layout(path, q, phi, matrices):
    with h5py.File(path, "w") as f:
        f["xpcs/dqlist"], f["xpcs/dphilist"] = np.array([q]), np.array([phi])
        for k, m in enumerate(matrices):
            f["exchange/C2T_all/g2_%05d" % k] = m


def files(folder, arrays):
    rng = np.random.default_rng(7)

    def store(name, path):
        arrays["file " + name] = np.frombuffer(open(path, "rb").read(), np.uint8)

    path = os.path.join(folder, "f.h5")
    bins = [1, 3, 5, 6, 8, 10, 12, 99]
    m = {b: half(rng, 12, lower=b % 2 == 0) for b in bins}
    new_layout(path, bins, [("c2_%05d" % b, m[b]) for b in bins], chunks=(5, 5), compression="gzip", shuffle=True)
    store("new", path)
    arrays["matrices new"] = np.stack([ready(m[b], 3, 9) for b in (5, 6, 8)])  # q 0.0054: phi 0, 30, 190 = -170
    # listed out of order: numbers of the names decide
    new_layout(path, [8, 5, 6], [("c2_%05d" % b, m[b].astype("f4")) for b in (5, 6, 8)])
    store("unsorted", path)
    arrays["matrices unsorted"] = np.stack([ready(m[b].astype("f4"), 1, 12) for b in (8, 5, 6)])
    # names without numbers that fit: by position
    new_layout(path, [5, 6], [("a", m[5]), ("b", m[6]), ("c", m[8])])
    store("position", path)
    old_q, old_phi = [0.0054, 0.0054, 0.0054, 0.0056, 0.0062, 0.003], [0.0, 45, 90, 10, 20, 30]
    o = [half(rng, 8).astype("f4") for _ in old_q]
    old_layout(path, old_q, old_phi, o)
    store("old", path)
    arrays["matrices old"] = np.stack([ready(a, 1, 8) for a in o])
    old_layout(path, old_q, old_phi, o[:4])
    store("old_short", path)
    new_layout(path, [5, 6], [("c2_00005", m[5] + m[5].T), ("c2_00006", m[6])])
    store("both_triangles", path)
    new_layout(path, [5, 6], [("c2_00005", m[5][:, :9]), ("c2_00006", m[6])])
    store("not_square", path)
    new_layout(path, [5, 6], [("c2_00005", m[5]), ("c2_00006", m[6][:9, :9])])
    store("two_sizes", path)
    new_layout(path, [99, 98], [("c2_00099", m[5]), ("c2_00098", m[6])])
    store("no_bin", path)
    hurt = m[5].copy()
    hurt[2, 7], hurt[4, 9] = np.nan, np.inf
    new_layout(path, [5, 6], [("c2_00005", hurt), ("c2_00006", m[6])])
    store("nan", path)
    with h5py.File(path, "w") as f:
        f["xpcs/qmap/dynamic_v_list_dim0"] = np.array([0.0054])
        f["xpcs/twotime/correlation_map/c2_00001"] = m[5]
    store("no_phi", path)
    with h5py.File(path, "w") as f:
        f["something"] = np.zeros(3)
    store("other", path)


def main():
    arrays, about = {}, dict(script="make_xpcs.py", h5py=h5py.__version__, scipy=scipy.__version__, numpy=np.__version__)
    fits(arrays, about)
    with tempfile.TemporaryDirectory() as folder:
        files(folder, arrays)
    save("xpcs", about, arrays)


main()
