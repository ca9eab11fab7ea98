"""Goldens of single ops: ops_fft, ops_sort, ops_scan, ops_reduce, ops_integer, ops_promotion,
ops_random.

What it is for: the ops of mascon's table are compared with what NumPy and SciPy answer on small
inputs; inputs are stored too.
What it owns: the choice of shapes and awkward values. Positions are 0-based here, as NumPy gives
them. Random inputs come from SplitMix64 (make_pac.py), so that no generator of a library decides
what is in the files.
What it may not know: mascon. Elementwise functions: make_ops_unary.py; filters, statistics:
make_ops_signal.py.
Run: python make_ops.py   Needs NumPy 2 and SciPy.
"""

import warnings

import numpy as np
import scipy
import scipy.fft

from golden_file import save
from make_pac import noise, uniform

ABOUT = {'script': 'make_ops.py', 'scipy': scipy.__version__}
CODES = ['bool', 'u8', 'i8', 'i16', 'i32', 'i64', 'f16', 'bf16', 'f32', 'f64', 'c64', 'c128']
NUMPY = {
    'u8': 'uint8',
    'i8': 'int8',
    'i16': 'int16',
    'i32': 'int32',
    'i64': 'int64',
    'f16': 'float16',
    'f32': 'float32',
    'f64': 'float64',
    'c64': 'complex64',
    'c128': 'complex128',
    'bool': 'bool',
}


def real(shape, seed, dtype=np.float64):
    return noise(int(np.prod(shape)), seed).reshape(shape).astype(dtype)


def cplx(shape, seed, dtype=np.complex128):
    return (real(shape, seed) + 1j * real(shape, seed + 500)).astype(dtype)


def ints(shape, seed, lo, hi, dtype):
    u = uniform(int(np.prod(shape)), seed).reshape(shape)
    return (lo + np.floor(u * (hi - lo + 1))).astype(dtype)


# --- transforms --------------------------------------------------------------------------------


def fft():
    sizes = [
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        11,
        13,
        15,
        16,
        17,
        30,
        31,
        49,
        64,
        97,
        100,
        121,
        128,
        210,
        251,
    ]
    x, r = cplx((256,), 1), real((256,), 2)
    out = {'sizes': sizes, 'x': x, 'r': r}
    for n in sizes:
        out[f'fft_{n}'] = scipy.fft.fft(x[:n])
        out[f'rfft_{n}'] = scipy.fft.rfft(r[:n])
        if n <= 64:
            out[f'irfft_{n}'] = scipy.fft.irfft(x[: n // 2 + 1], n)
    b = cplx((3, 5, 4), 3)
    q = real((3, 5, 4), 4)
    out['b'], out['q'] = b, q
    for axis in range(3):
        out[f'b_fft_axis_{axis}'] = np.fft.fft(b, axis=axis)
        out[f'b_ifft_axis_{axis}'] = np.fft.ifft(b, axis=axis)
        out[f'q_rfft_axis_{axis}'] = np.fft.rfft(q, axis=axis)
        out[f'b_irfft_axis_{axis}'] = np.fft.irfft(b, axis=axis)
        out[f'b_fft_n7_axis_{axis}'] = np.fft.fft(b, n=7, axis=axis)
        out[f'b_fft_n2_axis_{axis}'] = np.fft.fft(b, n=2, axis=axis)
        out[f'b_irfft_n9_axis_{axis}'] = np.fft.irfft(b, n=9, axis=axis)
        out[f'q_rfft_n3_axis_{axis}'] = np.fft.rfft(q, n=3, axis=axis)
    for norm in ('ortho', 'forward'):
        out[f'b_fft_{norm}'] = np.fft.fft(b, norm=norm)
        out[f'b_ifft_{norm}'] = np.fft.ifft(b, norm=norm)
        out[f'q_rfft_{norm}'] = np.fft.rfft(q, norm=norm)
        out[f'b_irfft_{norm}'] = np.fft.irfft(b, norm=norm)
    out['b_fftn'], out['b_ifft2'] = np.fft.fftn(b), np.fft.ifft2(b)
    out['freq_8'], out['freq_9'] = np.fft.fftfreq(8, 0.5), np.fft.fftfreq(9, 0.5)
    out['rfreq_8'], out['rfreq_9'] = np.fft.rfftfreq(8, 0.5), np.fft.rfftfreq(9, 0.5)
    out['shift_9'], out['ishift_9'] = np.fft.fftshift(np.arange(9.0)), np.fft.ifftshift(
        np.arange(9.0)
    )
    save('ops_fft', ABOUT, out)


# --- order -------------------------------------------------------------------------------------

METHODS = [
    'linear',
    'lower',
    'higher',
    'nearest',
    'midpoint',
    'inverted_cdf',
    'averaged_inverted_cdf',
    'closest_observation',
    'interpolated_inverted_cdf',
    'hazen',
    'weibull',
    'median_unbiased',
    'normal_unbiased',
]


def sort():
    out = {}
    special = np.array(
        [3, np.nan, -1, np.inf, 0.0, -0.0, 3, -np.inf, np.nan, 1e-310, -5, 3, 2.5, 0.0]
    )
    for name, dtype in (('f32', np.float32), ('f64', np.float64)):
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            rows = {'special': special.astype(dtype)}
        for n in (1, 2, 7, 8, 9, 33, 200):
            rows[f'n{n}'] = np.round(real((3, n), 10 + n) * 8).astype(dtype) / dtype(4)
        for key, x in rows.items():
            out[f'{name}_{key}'] = x
            out[f'{name}_{key}_sort'] = np.sort(x, -1)
            out[f'{name}_{key}_argsort'] = np.argsort(x, -1, kind='stable')
            out[f'{name}_{key}_argsort_down'] = np.argsort(-x, -1, kind='stable')
    for name in ('u8', 'i8', 'i16', 'i32', 'i64'):
        info = np.iinfo(NUMPY[name])
        lo, hi = max(info.min, -(2**52)), min(info.max, 2**52)
        x = ints((4, 37), 30, lo, hi, NUMPY[name])
        x[0, :3] = [info.max, info.min, info.max]
        out[f'{name}'], out[f'{name}_sort'] = x, np.sort(x, -1)
        out[f'{name}_argsort'] = np.argsort(x, -1, kind='stable')
    x = real((4, 5, 6), 31)
    out['x'] = x
    for axis in range(3):
        out[f'x_sort_axis_{axis}'] = np.sort(x, axis)
        out[f'x_median_axis_{axis}'] = np.median(x, axis)
    out['x_median'], out['x_median_axes_0_2'] = np.median(x), np.median(x, (0, 2))
    x[1, 2, 3] = np.nan
    out['x_nan_median_axis_2'], out['x_nanmedian_axis_2'] = np.median(x, 2), np.nanmedian(x, 2)
    prob = np.array([0, 0.01, 0.1, 0.25, 1 / 3, 0.5, 0.625, 0.75, 0.9, 0.99, 1])
    out['prob'] = prob
    for n in (1, 2, 5, 8, 101):
        y = np.round(real((3, n), 60 + n) * 16) / 16
        out[f'quantile_in_{n}'] = y
        out[f'quantile_{n}'] = np.stack([np.quantile(y, prob, axis=1, method=m).T for m in METHODS])
    y = np.sort(np.round(real((20,), 70) * 4) / 4)
    v = np.concatenate([y[::3], [-9, 9, 0.1]])
    out['edges'], out['values'] = y, v
    out['search_left'], out['search_right'] = np.searchsorted(y, v), np.searchsorted(y, v, 'right')
    u, first, inverse, count = np.unique(y, True, True, True)
    out['unique'], out['unique_first'], out['unique_inverse'], out['unique_count'] = (
        u,
        first,
        inverse,
        count,
    )
    save(
        'ops_sort',
        dict(ABOUT, quantile='[method, row, prob], method code: ' + ' '.join(METHODS)),
        out,
    )


# --- scans, counts, moves ----------------------------------------------------------------------


def scan():
    x, i, b = real((4, 5, 7), 80), ints((4, 9), 81, -9, 9, np.int32), real((6, 11), 82) > 0
    out = {
        'x': x,
        'i': i,
        'b': b,
        'x_cumsum_flat': np.cumsum(x),
        'b_cumsum_axis_1': np.cumsum(b, 1),
    }
    for axis in range(3):
        out[f'x_cumsum_axis_{axis}'], out[f'x_cumprod_axis_{axis}'] = np.cumsum(
            x, axis
        ), np.cumprod(x, axis)
        out[f'x_diff_axis_{axis}'] = np.diff(x, axis=axis)
        out[f'x_roll_2_axis_{axis}'], out[f'x_roll_m9_axis_{axis}'] = np.roll(x, 2, axis), np.roll(
            x, -9, axis
        )
        out[f'x_flip_axis_{axis}'] = np.flip(x, axis)
    out['i_cumsum_axis_1'], out['i_cumprod_axis_1'] = np.cumsum(i, 1), np.cumprod(i, 1)
    out['x_roll_5'], out['x_diff_2'] = np.roll(x, 5), np.diff(x, 2)
    k, w = ints((200,), 83, 0, 12, np.int64), real((200,), 84)
    out.update(
        k=k,
        w=w,
        bincount=np.bincount(k),
        bincount_min_20=np.bincount(k, minlength=20),
        bincount_w=np.bincount(k, w),
    )
    h = np.concatenate([real((300,), 85), [-2.0, 2.0, 0.0, 1.0]])
    out['h'] = h
    out['hist_10'], out['hist_10_edges'] = np.histogram(h, 10)
    out['hist_range'], _ = np.histogram(h, 8, (-2, 2))
    out['hist_density'], _ = np.histogram(h, 8, (-2, 2), density=True)
    out['hist_weights'], _ = np.histogram(h, 8, (-2, 2), weights=np.abs(h))
    edges = np.array([-2, -1.5, 0, 0.25, 1, 2.0])
    out['hist_edges_in'], out['hist_edges'] = edges, np.histogram(h, edges)[0]
    y = real((3, 4), 86)
    out['y'] = y
    for mode in (
        'constant',
        'edge',
        'reflect',
        'symmetric',
        'wrap',
        'linear_ramp',
        'maximum',
        'mean',
    ):
        out[f'pad_{mode}'] = np.pad(y, ((2, 1), (0, 3)), mode)
    for mode in ('reflect', 'symmetric', 'wrap'):
        out[f'pad_{mode}_far'] = np.pad(y, ((7, 8), (5, 9)), mode)
    out['pad_constant_5'] = np.pad(y, 1, constant_values=5)
    out['pad_reflect_odd'] = np.pad(y, ((2, 1), (3, 2)), 'reflect', reflect_type='odd')
    out['tril'], out['triu_1'] = np.tril(y), np.triu(y, 1)
    out['repeat'], out['tile'] = np.repeat(y, [1, 0, 2, 3], 1), np.tile(y, (2, 1, 3))
    out['unwrap'] = np.unwrap(y * 6, axis=1)
    out['trapezoid'], out['gradient'] = np.trapezoid(y, dx=0.5, axis=1), np.gradient(y, 0.5, axis=1)
    out['interp'] = np.interp(np.linspace(-1, 6, 15), [0, 1, 2.5, 4], [1.0, -1, 3, 2])
    save('ops_scan', ABOUT, out)


# --- reductions and products -------------------------------------------------------------------


def reduce():
    out = {}
    x = real((5, 6, 7), 90)
    out['x'] = x
    for name in ('sum', 'prod', 'mean', 'var', 'std', 'max', 'min', 'argmax', 'argmin'):
        f = getattr(np, name)
        out[f'x_{name}'] = f(x)
        for axis in range(3):
            out[f'x_{name}_axis_{axis}'] = f(x, axis=axis)
    out['x_sum_axes_0_2'], out['x_var_axes_0_2'] = x.sum((0, 2)), x.var((0, 2))
    out['x_var_correction_1'], out['x_std_correction_1'] = x.var(1, ddof=1), x.std(1, ddof=1)
    off = (real((3, 400), 91) + 10000).astype(np.float32)
    wide = off.astype(np.float64)
    out['offset_f32'] = off
    out['offset_mean'], out['offset_var'] = wide.mean(1), wide.var(1)
    out['offset_sum'] = wide.sum(1)
    y = x.copy()
    y[0, 0, 0], y[1, 2, 3], y[2, 1, 1] = np.nan, np.inf, -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        out['y'] = y
        for name in (
            'sum',
            'mean',
            'var',
            'max',
            'min',
            'argmax',
            'argmin',
            'nansum',
            'nanmean',
            'nanvar',
            'nanmax',
            'nanmin',
        ):
            out[f'y_{name}_axis_2'] = getattr(np, name)(y, axis=2)
    i, b = ints((4, 9), 92, -100, 100, np.int16), real((4, 9), 93) > 0.8
    out.update(
        i=i,
        i_sum=i.sum(1),
        i_prod=i[:, :3].prod(1),
        i_mean=i.mean(1),
        i_max=i.max(0),
        b=b,
        b_sum=b.sum(1),
        b_any=b.any(0),
        b_all=b.all(1),
        c=cplx((3, 8), 94),
    )
    out['c_sum'], out['c_prod'], out['c_mean'] = out['c'].sum(1), out['c'].prod(1), out['c'].mean(0)

    shapes = [
        ((3, 5), (5, 4)),
        ((1, 17), (17, 9)),
        ((33, 1), (1, 31)),
        ((2, 3, 4, 5), (3, 5, 6)),
        ((7,), (7,)),
        ((7,), (7, 3)),
        ((4, 7), (7,)),
        ((2, 1, 4, 3), (5, 3, 2)),
        ((16, 16), (16, 16)),
        ((3, 0), (0, 2)),
    ]
    for n, (sa, sb) in enumerate(shapes):
        a, c = real(sa, 100 + n), real(sb, 120 + n)
        out[f'mm_{n}_a'], out[f'mm_{n}_b'], out[f'mm_{n}'] = a, c, a @ c
    a, c = cplx((2, 3, 4), 140), cplx((4, 5), 141)
    out['mmc_a'], out['mmc_b'], out['mmc'] = a, c, a @ c
    a, c = ints((3, 8), 142, -99, 99, np.int64), ints((8, 5), 143, -99, 99, np.int64)
    out['mmi_a'], out['mmi_b'], out['mmi'] = a, c, a @ c
    out['outer'], out['kron'] = np.outer(x[0, 0], x[1, 1]), np.kron(x[0, :2, :2], x[1, :2, :3])
    save('ops_reduce', ABOUT, out)


# --- integers ----------------------------------------------------------------------------------


def integer():
    out = {}
    for name in ('u8', 'i8', 'i16', 'i32', 'i64'):
        info = np.iinfo(NUMPY[name])
        values = np.array(
            [0, 1, 2, 3, 5, 7, 10, 100, info.max, info.max - 1]
            + ([] if name == 'u8' else [-1, -2, -3, -5, -7, -100, info.min, info.min + 1]),
            dtype=NUMPY[name],
        )
        a, b = (v.ravel().copy() for v in np.meshgrid(values, values[values != 0], indexing='ij'))
        with np.errstate(all='ignore'):
            out.update(
                {
                    f'{name}_a': a,
                    f'{name}_b': b,
                    f'{name}_floor_divide': a // b,
                    f'{name}_remainder': a % b,
                    f'{name}_add': a + b,
                    f'{name}_multiply': a * b,
                    f'{name}_subtract': a - b,
                    f'{name}_negative': -a,
                    f'{name}_invert': ~a,
                    f'{name}_abs': np.abs(a),
                    f'{name}_xor': a ^ b,
                }
            )
            s = np.tile(np.arange(info.bits + 2), 3).astype(NUMPY[name])
            v = np.repeat(values[[1, 5, 8]], info.bits + 2)
            out.update(
                {
                    f'{name}_shift_v': v,
                    f'{name}_shift_s': s,
                    f'{name}_left': v << s,
                    f'{name}_right': v >> s,
                }
            )
    values = [
        0.0,
        -0.0,
        1,
        -1,
        2.5,
        -2.5,
        3,
        -3,
        7.25,
        -7.25,
        1e300,
        5e-324,
        np.inf,
        -np.inf,
        np.nan,
        0.1,
        -0.1,
        1e-3,
    ]
    a, b = (v.ravel().copy() for v in np.meshgrid(values, values, indexing='ij'))
    with np.errstate(all='ignore'):
        out.update(
            f64_a=a,
            f64_b=b,
            f64_floor_divide=a // b,
            f64_remainder=a % b,
            f64_fmod=np.fmod(a, b),
            f64_maximum=np.maximum(a, b),
            f64_minimum=np.minimum(a, b),
            f64_hypot=np.hypot(a, b),
            f64_atan2=np.arctan2(a, b),
            f64_copysign=np.copysign(a, b),
            f64_pow=np.power(a, b),
            f64_logaddexp=np.logaddexp(a, b),
            f64_divide=a / b,
        )
    x = np.array([0.4, 0.5, 0.6, 1.5, 2.5, -0.5, -1.5, 127.9, -128.9, 254.99, 3e4, -3e4])
    out['cast_in'] = x
    for name, keep in (
        ('u8', (x >= 0) & (x < 256)),
        ('i8', abs(x) < 128),
        ('i16', abs(x) < 32768),
        ('i64', x == x),
    ):
        out[f'cast_{name}_keep'], out[f'cast_{name}'] = keep, x[keep].astype(NUMPY[name])
    with np.errstate(over='ignore'):
        h = np.array(
            [0, 1, 65504, 65519.9, 65520, 6e-8, 2.9e-8, 2.98e-8, 1.0009765625, 2049, 2051, 1 / 3]
        )
        out['f16_in'], out['f16'] = h, h.astype(np.float16)
    bits = h.astype(np.float32).view(np.uint32).astype(np.int64)
    out['bf16_bits'] = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    save(
        'ops_integer',
        dict(
            ABOUT,
            shifts='a shift count at or past the width: 0, or -1 for a negative value '
            'shifted right',
            bf16='bits of f32(in) rounded to nearest even',
        ),
        out,
    )


# --- promotion ---------------------------------------------------------------------------------


def promotion():
    """standard: array API 2023.12 where it defines a result, else -1; numpy: result_type."""
    index = {name: i for i, name in enumerate(CODES)}
    standard = -np.ones((12, 12), np.int8)

    def put(a, b, c):
        standard[index[a], index[b]] = standard[index[b], index[a]] = index[c]

    put('bool', 'bool', 'bool')
    signed = ['i8', 'i16', 'i32', 'i64']
    for i, a in enumerate(signed):
        for j, b in enumerate(signed):
            put(a, b, signed[max(i, j)])
        put('u8', a, signed[max(i, 1)])
    put('u8', 'u8', 'u8')
    for a, b, c in (
        ('f32', 'f32', 'f32'),
        ('f32', 'f64', 'f64'),
        ('f64', 'f64', 'f64'),
        ('c64', 'c64', 'c64'),
        ('c64', 'c128', 'c128'),
        ('c128', 'c128', 'c128'),
        ('f32', 'c64', 'c64'),
        ('f32', 'c128', 'c128'),
        ('f64', 'c64', 'c128'),
        ('f64', 'c128', 'c128'),
    ):
        put(a, b, c)
    back = {np.dtype(v): index[k] for k, v in NUMPY.items()}
    numpy_ = -np.ones((12, 12), np.int8)
    for a in NUMPY:
        for b in NUMPY:
            numpy_[index[a], index[b]] = back[np.result_type(NUMPY[a], NUMPY[b])]
    assert ((standard < 0) | (standard == numpy_)).all()
    save(
        'ops_promotion',
        dict(ABOUT, codes=' '.join(CODES)),
        {'standard': standard, 'numpy': numpy_},
        compress=False,
    )


# --- random bits -------------------------------------------------------------------------------


def philox(counter, key):
    """Philox4x32-10 of `Parallel random numbers: as easy as 1, 2, 3` (2011); 4 and 2 words."""
    c, k = [int(v) for v in counter], [int(v) for v in key]
    mask = 0xFFFFFFFF
    for r in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & mask, (p0 >> 32) ^ c[3] ^ k[1], p0 & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def random():
    published = [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ]
    for counter, key, want in published:
        assert philox(counter, key) == want
    out = {
        'kat_counter': np.array([p[0] for p in published]),
        'kat_key': np.array([p[1] for p in published]),
        'kat': np.array([p[2] for p in published]),
    }
    out['blocks_key'] = np.array([0xDEADBEEF, 0x12345678])
    counters = [[i & 0xFFFFFFFF, i >> 32, 5, 0] for i in [*range(32), 2**32 - 1, 2**32, 2**32 + 1]]
    out['blocks_counter'] = np.array(counters)
    out['blocks'] = np.array([philox(c, [0xDEADBEEF, 0x12345678]) for c in counters])
    save('ops_random', dict(ABOUT, words='32-bit words held in i64'), out, compress=False)


if __name__ == '__main__':
    fft()
    sort()
    scan()
    reduce()
    integer()
    promotion()
    random()
