"""Goldens of elementwise functions: ops_unary_f32, ops_unary_f64, ops_unary_complex.

What it is for: special values and ordinary points of every function of one operand.
What it owns: the list of points. Values at finite points are computed with 60 digits and rounded
once to the dtype, so an error measured against them is the error of mascon alone; zeros,
infinities, NaN and domain errors are what NumPy gives.
What it may not know: mascon.
Run: python make_ops_unary.py   Needs NumPy 2, SciPy and mpmath.
"""

import warnings

import mpmath
import numpy as np
import scipy
from scipy import special

from golden_file import save
from make_pac import noise

mpmath.mp.prec = 220
ABOUT = {'script': 'make_ops_unary.py', 'mpmath': mpmath.__version__, 'scipy': scipy.__version__}
mp = mpmath

EXACT = {
    'abs': np.abs,
    'sign': np.sign,
    'floor': np.floor,
    'ceil': np.ceil,
    'trunc': np.trunc,
    'round': np.rint,
    'isnan': np.isnan,
    'isinf': np.isinf,
    'isfinite': np.isfinite,
    'signbit': np.signbit,
    'negative': np.negative,
}
FUNCTIONS = {
    'sqrt': (np.sqrt, mp.sqrt),
    'exp': (np.exp, mp.exp),
    'expm1': (np.expm1, mp.expm1),
    'exp2': (np.exp2, lambda x: mp.mpf(2) ** x),
    'log': (np.log, mp.log),
    'log2': (np.log2, lambda x: mp.log(x) / mp.log(2)),
    'log10': (np.log10, mp.log10),
    'log1p': (np.log1p, mp.log1p),
    'sin': (np.sin, mp.sin),
    'cos': (np.cos, mp.cos),
    'tan': (np.tan, mp.tan),
    'asin': (np.arcsin, mp.asin),
    'acos': (np.arccos, mp.acos),
    'atan': (np.arctan, mp.atan),
    'sinh': (np.sinh, mp.sinh),
    'cosh': (np.cosh, mp.cosh),
    'tanh': (np.tanh, mp.tanh),
    'asinh': (np.arcsinh, mp.asinh),
    'acosh': (np.arccosh, mp.acosh),
    'atanh': (np.arctanh, mp.atanh),
    'erf': (special.erf, mp.erf),
    'erfc': (special.erfc, mp.erfc),
    'logistic': (special.expit, lambda x: 1 / (1 + mp.exp(-x))),
    'rsqrt': (lambda x: 1 / np.sqrt(x), lambda x: 1 / mp.sqrt(x)),
    'reciprocal': (np.reciprocal, lambda x: 1 / x),
}


def points(dtype):
    info = np.finfo(dtype)
    tiny, small, big = info.smallest_subnormal, info.smallest_normal, info.max
    edge = [
        0.5,
        1,
        1.5,
        2,
        2.5,
        3,
        10,
        20,
        50,
        87,
        88.7,
        89,
        103,
        104,
        126,
        127,
        128,
        149,
        150,
        700,
        709.7,
        710,
        745,
        746,
        1e-3,
        1e-5,
        1e-8,
        1e-12,
        1e-20,
        1e4,
        1e7,
        1e15,
        1e20,
        1e30,
        0.25,
        0.75,
        0.9,
        0.99,
        1 - info.epsneg,
        1 + info.eps,
        np.pi,
        np.pi / 2,
        np.pi / 4,
        2 * np.pi,
        100 * np.pi,
        np.e,
        np.log(2),
        0.3,
        0.7,
        22 / 7,
        6,
        9,
        27,
        123456.789,
    ]
    v = [tiny, small, np.nextafter(small, dtype(0)), big, np.inf, 0.0] + edge
    x = np.array(v, dtype)
    return np.concatenate(
        [x, -x, [np.nan], noise(40, 200).astype(dtype), (noise(40, 201) * 20).astype(dtype)]
    ).astype(dtype)


def rounded(value, dtype):
    """An mpf rounded once to the dtype: ties to even, subnormals and overflow included."""
    if dtype == np.float64:
        with mp.workprec(53):
            y = +value
        f = float(y)
        if f != 0 and abs(f) >= np.finfo(np.float64).smallest_normal:
            return f
        quantum = mp.mpf(2) ** -1074
    else:
        if value == 0:
            return np.float32(0)
        e = max(int(mp.floor(mp.log(abs(value), 2))), -126)
        quantum = mp.mpf(2) ** (e - 23)
    f = float(mp.nint(value / quantum) * quantum)
    with np.errstate(over='ignore'):
        return dtype(f)


def exact(f_np, f_mp, x):
    dtype = x.dtype.type
    with np.errstate(all='ignore'):
        y = np.array(f_np(x), dtype)
    for i, v in enumerate(x):
        if not np.isfinite(v) or not (np.isfinite(y[i]) or np.isinf(y[i])) or v == 0:
            continue
        if abs(v) > 1e5 and f_np in (
            np.exp,
            np.expm1,
            np.exp2,
            np.sinh,
            np.cosh,
            special.expit,
            special.erfc,
        ):
            continue
        try:
            y[i] = rounded(mp.mpf(f_mp(mp.mpf(float(v)))), dtype)
        except (ZeroDivisionError, OverflowError, ValueError, TypeError):
            pass
    return y


def real_file(name, dtype):
    x = points(dtype)
    out = {'x': x}
    with np.errstate(all='ignore'):
        for key, f in EXACT.items():
            out[key] = f(x)
        for key, (f_np, f_mp) in FUNCTIONS.items():
            if f_mp is None:
                continue
            out[key] = exact(f_np, f_mp, x)
            plain = f_np(x.astype(np.float64)).astype(dtype)
            assert np.array_equal(np.isnan(plain), np.isnan(out[key])), (name, key)
            slack = 1000 if key == 'erfc' else 8  # SciPy's erfc squares x in double: x^2 ulp
            both = np.isfinite(plain) & (np.abs(out[key]) >= np.finfo(dtype).smallest_normal)
            gap = np.abs(plain[both].astype(float) - out[key][both].astype(float))
            ulp = np.spacing(np.abs(out[key][both])).astype(float)
            assert (gap <= slack * ulp).all(), (name, key, x[both][gap > slack * ulp])
    save(name, ABOUT, out)


def complex_file():
    grid = [0.0, -0.0, 1, -1, 0.5, -3, 30, 1e-9, np.inf, -np.inf, np.nan]
    z = np.array(
        [complex(a, b) for a in grid for b in grid]
        + list(noise(30, 202) * 3 + 1j * noise(30, 203) * 3)
    )
    z = np.concatenate([z, [1e200 + 1e200j, 1e-200 + 1e-200j, 3e-310 + 4e-310j]])
    out = {'z': z}
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for key, f in (
            ('abs', np.abs),
            ('angle', np.angle),
            ('sqrt', np.sqrt),
            ('exp', np.exp),
            ('log', np.log),
            ('sin', np.sin),
            ('cos', np.cos),
            ('tan', np.tan),
            ('sinh', np.sinh),
            ('cosh', np.cosh),
            ('tanh', np.tanh),
            ('square', np.square),
            ('reciprocal', np.reciprocal),
            ('sign', np.sign),
            ('conj', np.conj),
        ):
            out[key] = f(z)
        w = np.roll(z, 7)
        out['w'], out['multiply'], out['divide'], out['add'] = w, z * w, z / w, z + w
    save(
        'ops_unary_complex',
        dict(ABOUT, note='infinite and NaN parts follow NumPy and C99 annex G'),
        out,
    )


if __name__ == '__main__':
    real_file('ops_unary_f32', np.float32)
    real_file('ops_unary_f64', np.float64)
    complex_file()
