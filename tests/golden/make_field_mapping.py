"""field_mapping.npz: maps of magnetic fields between sensors by autoreject and MNE-Python.

What it is for: tests/spec/meeg_field_spec.lua. What it owns: a helmet of coils on a sphere of 0.11 m about (0, 0, 0.04) m, tilted and
twisted a little, and the transform from device to head. What it may not know: how mascon computes fields.

site_loc [36, 12] with site_trans [4, 4]: magnetometers (coil 3024) stand there, two gradiometers (coil 3012) each, the second turned by 90
degrees. mag_loo [36, 36], grad_loo [72, 72]: weights from all others, fast; mag_accurate [3, 33]: sensors 0, 7, 20 from the others with 100
terms; proj [2, 36]: projection vectors, mag_projected [3, 33]: the same with them. ctf_loo [24, 24]: axial gradiometers (coil 5001) at the
first 24 sites. both_map [3, 45]: at the first 16 sites a magnetometer and two gradiometers each, sensors 0, 7, 20
from the others of both types. kinds [K]: numbers of coils, kind_products [K, K]: lead field products of one coil of each kind at the first K sites, each
divided by the root of the products of both with themselves.
"""

import autoreject
import mne
import numpy as np
from autoreject.utils import _compute_dots, _fast_map_meg_channels
from mne.forward._make_forward import _read_coil_defs

import golden_file
from make_spherical_spline import stream

TEMPLATES = _read_coil_defs(verbose='error')


def helmet(n):
    """Places on a spiral over the upper two thirds of a sphere; the coil's normal points outward, tilted by up to 6 degrees."""
    u = stream(5)
    out = []
    for i in range(n):
        z = 0.97 - 1.4 * i / n
        phi = i * np.pi * (3 - np.sqrt(5))
        r = np.sqrt(1 - z * z)
        ez = np.array([r * np.cos(phi), r * np.sin(phi), z])
        place = 0.11 * ez + [0, 0, 0.04]
        ez = ez + 0.1 * (np.array([next(u), next(u), next(u)]) - 0.5)
        ez /= np.linalg.norm(ez)
        ex = np.cross([0.3, 0.5, 0.81], ez)
        ex /= np.linalg.norm(ex)
        out.append(np.concatenate([place, ex, np.cross(ez, ex), ez]))
    return np.array(out)


def turned(loc):
    out = loc.copy()
    out[3:6], out[6:9] = loc[6:9], -loc[3:6]
    return out


def make_info(locs, coils, kind, trans):
    info = mne.create_info([f'M{i}' for i in range(len(locs))], 100.0, kind)
    for ch, loc, coil in zip(info['chs'], locs, coils):
        ch['loc'][:] = loc
        ch['coil_type'] = coil
    with info._unlock():
        info['dev_head_t'] = mne.transforms.Transform('meg', 'head', trans)
    return info


def mapped(info, bad, mode='fast'):
    good = [i for i in range(len(info['ch_names'])) if i not in bad]
    return _fast_map_meg_channels(info, good, list(bad), mode=mode)


def leave_one_out(info):
    n = len(info['ch_names'])
    dots = _compute_dots(info, templates=TEMPLATES)
    W = np.zeros((n, n))
    for c in range(n):
        good = [i for i in range(n) if i != c]
        W[c, good] = _fast_map_meg_channels(info, good, [c], dots=dots)[0]
    return W


sites = helmet(36)
a, b = 0.05, -0.08
trans = np.eye(4)
trans[:3, :3] = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]]) @ np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
trans[:3, 3] = [0.003, -0.004, 0.006]
mags = make_info(sites, [3024] * 36, 'mag', trans)
grad_locs = [l for s in sites for l in (s, turned(s))]
grads = make_info(grad_locs, [3012] * 72, 'grad', trans)
arrays = {'site_loc': sites, 'site_trans': trans, 'mag_loo': leave_one_out(mags), 'grad_loo': leave_one_out(grads)}
arrays['mag_accurate'] = mapped(mags, [0, 7, 20], 'accurate')
u = stream(9)
vectors = np.array([[next(u) - 0.5 for _ in range(36)] for _ in range(2)])
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
arrays['proj'] = vectors
projected = mags.copy()
with projected._unlock():
    projected['projs'] = [
        mne.Projection(active=True, kind=1, desc=f'p{k}', explained_var=0.1, data=dict(nrow=1, ncol=36, row_names=None, col_names=list(mags['ch_names']), data=v[None]))
        for k, v in enumerate(vectors)
    ]
arrays['mag_projected'] = mapped(projected, [0, 7, 20])
arrays['ctf_loo'] = leave_one_out(make_info(sites[:24], [5001] * 24, 'mag', trans))
both = make_info([l for s in sites[:16] for l in (s, s, turned(s))], [3024, 3012, 3012] * 16, ['mag', 'grad', 'grad'] * 16, trans)
arrays['both_map'] = mapped(both, [0, 7, 20])
kinds = sorted({int(c['coil_type']) for c in TEMPLATES if c['accuracy'] == 1})
products, _ = _compute_dots(make_info(sites[: len(kinds)], kinds, 'mag', trans), templates=TEMPLATES)
root = np.sqrt(np.diag(products))
arrays.update(kinds=np.array(kinds), kind_products=products / root / root[:, None])
golden_file.save('field_mapping', {'script': 'make_field_mapping.py', 'mne': mne.__version__, 'autoreject': autoreject.__version__}, arrays)
