"""Goldens of filters, spectra and statistics: ops_signal, ops_spectrum, ops_stats, ops_linalg.

What it is for: mc.signal, mc.stats and mc.linalg are compared with SciPy on small inputs.
What it owns: the choice of cases. Second-order sections are kept together with their frequency
response, because the order of sections is a matter of taste and the response is not. Factorisations
keep inputs and what is unique (values, products).
What it may not know: mascon. Run: python make_ops_signal.py   Needs NumPy 2 and SciPy.
"""

import mpmath
import numpy as np
import scipy
from scipy import linalg, signal, special, stats

from golden_file import save
from make_ops import cplx, real
from make_pac import uniform

ABOUT = {'script': 'make_ops_signal.py', 'scipy': scipy.__version__}


def filters():
    fs = 250.0
    t = np.arange(400) / fs
    x = np.stack([np.sin(2 * np.pi * 7 * t) + 0.5 * real((400,), 300), real((400,), 301) + 3])
    out = {'x': x, 'fs': fs}
    firs = [
        (31, 20.0, 'lowpass', 'hamming'),
        (31, 20.0, 'highpass', 'hann'),
        (64, 40.0, 'lowpass', 'blackman'),
        (51, [8.0, 12.0], 'bandpass', 'hamming'),
        (51, [45.0, 55.0], 'bandstop', 'hamming'),
        (41, 30.0, 'lowpass', ('kaiser', 6.0)),
    ]
    for i, (n, cut, kind, window) in enumerate(firs):
        out[f'firwin_{i}'] = signal.firwin(n, cut, pass_zero=kind, window=window, fs=fs)
    out['firwin_not_scaled'] = signal.firwin(21, 30.0, scale=False, fs=fs)
    h = out['firwin_3']
    out['lfilter_fir'] = signal.lfilter(h, 1, x)
    out['filtfilt_fir'] = signal.filtfilt(h, 1, x)
    out['filtfilt_fir_pad_40'] = signal.filtfilt(h, 1, x, padlen=40)
    designs = [
        (4, 30.0, 'lowpass'),
        (3, 1.0, 'highpass'),
        (4, [8.0, 12.0], 'bandpass'),
        (2, [48.0, 52.0], 'bandstop'),
        (5, 0.1, 'highpass'),
        (1, 30.0, 'lowpass'),
        (8, [1.0, 40.0], 'bandpass'),
    ]
    f = np.array([0, 0.05, 0.1, 0.5, 1, 5, 8, 10, 12, 20, 30, 40, 50, 60, 100, 124])
    out['response_f'] = f
    for i, (order, cut, kind) in enumerate(designs):
        sos = signal.butter(order, cut, kind, fs=fs, output='sos')
        z, p, k = signal.butter(order, cut, kind, fs=fs, output='zpk')
        out[f'sos_{i}'], out[f'zeros_{i}'], out[f'poles_{i}'], out[f'gain_{i}'] = sos, z, p, k
        out[f'response_{i}'] = signal.freqz_sos(sos, f, fs=fs)[1]
        if i in (0, 2, 3, 6):
            out[f'sosfilt_{i}_every_3'] = signal.sosfilt(sos, x)[:, ::3]
            out[f'sosfiltfilt_{i}_every_3'] = signal.sosfiltfilt(sos, x)[:, ::3]
    b, a = signal.butter(3, [5.0, 30.0], 'bandpass', fs=fs)
    out['ba_b'], out['ba_a'] = b, a
    out['lfilter_ba_every_3'], out['filtfilt_ba_every_3'] = (
        signal.lfilter(b, a, x)[:, ::3],
        signal.filtfilt(b, a, x)[:, ::3],
    )
    out['lfilter_zi'], out['sosfilt_zi_2'] = signal.lfilter_zi(b, a), signal.sosfilt_zi(
        out['sos_2']
    )
    out['notch_b'], out['notch_a'] = signal.iirnotch(50.0, 30.0, fs=fs)
    for mode in ('full', 'same', 'valid'):
        out[f'convolve_{mode}'] = np.convolve(x[0, :40], h[:11], mode)
        out[f'correlate_{mode}'] = signal.correlate(x[0, :40], x[1, :11], mode)
    out['savgol'] = signal.savgol_filter(x[0, :60], 11, 3)
    out['medfilt'] = signal.medfilt(x[0, :60], 5)
    out['detrend_constant'], out['detrend_linear'] = (
        signal.detrend(x, type='constant')[:, ::5],
        signal.detrend(x)[:, ::5],
    )
    out['resample_150'] = signal.resample(x[0, :100], 150)
    out['resample_poly_3_2'] = signal.resample_poly(x[0, :100], 3, 2)
    out['decimate_fir_4'] = signal.decimate(x[0], 4, ftype='fir')
    save(
        'ops_signal',
        dict(
            ABOUT,
            firwin='(31,20 low hamming) (31,20 high hann) (64,40 low blackman) (51,8-12 band) '
            '(51,45-55 stop) '
            '(41,30 low kaiser 6); fs 250',
            butter='(4,30 low) (3,1 high) (4,8-12 band) (2,48-52 stop) (5,0.1 high) '
            '(1,30 low) (8,1-40 band); ba: (3,5-30 band)',
        ),
        out,
    )


def spectra():
    fs = 100.0
    x = real((2, 301), 310) + np.sin(2 * np.pi * 13 * np.arange(301) / fs) + 2
    out = {
        'x': x,
        'fs': fs,
        'hilbert': signal.hilbert(x)[:, ::3],
        'hilbert_even': signal.hilbert(x[:, :300])[:, ::3],
        'hilbert_padded_512': signal.hilbert(x, 512)[:, :301:3],
    }
    out['welch_f'], out['welch'] = signal.welch(x, fs, nperseg=64)
    _, out['welch_spectrum'] = signal.welch(x, fs, nperseg=64, scaling='spectrum')
    _, out['welch_hamming_n50_o10_nfft80_linear'] = signal.welch(
        x, fs, 'hamming', nperseg=50, noverlap=10, nfft=80, detrend='linear'
    )
    _, out['welch_median'] = signal.welch(x, fs, nperseg=64, average='median')
    out['periodogram_f'], out['periodogram'] = signal.periodogram(x, fs)
    _, out['csd'] = signal.csd(x[0], x[1], fs, nperseg=64)
    _, out['coherence'] = signal.coherence(x[0], x[1], fs, nperseg=64)
    _, out['spectrogram_t'], out['spectrogram'] = signal.spectrogram(x[0], fs, nperseg=64)
    for name in (
        'boxcar',
        'hann',
        'hamming',
        'blackman',
        'bartlett',
        'flattop',
        'nuttall',
        'blackmanharris',
        'cosine',
        'bohman',
    ):
        for n in (1, 2, 8, 9):
            out[f'window_{name}_{n}'] = signal.get_window(name, n, fftbins=False)
            out[f'window_{name}_{n}_periodic'] = signal.get_window(name, n)
    for n in (8, 9):
        out[f'window_kaiser_5_{n}'], out[f'window_tukey_25_{n}'] = signal.windows.kaiser(
            n, 5.0
        ), signal.windows.tukey(n, 0.25)
        out[f'window_gaussian_2_{n}'] = signal.windows.gaussian(n, 2.0)
    tapers, ratios = signal.windows.dpss(64, 2.5, 4, return_ratios=True)
    out['dpss_64'], out['dpss_64_ratios'] = tapers, ratios
    y = np.array([0, 1, 0, 2, 2, 0, 3, 1, 2.5, 0, -1, 0, 0.5, 0.2, 0.9, 0.1])
    out['peaks_in'] = y
    out['peaks'], p = signal.find_peaks(y, prominence=0)
    out['peaks_prominence'] = p['prominences']
    out['peaks_height_1_distance_3'] = signal.find_peaks(y, height=1, distance=3)[0]
    save('ops_spectrum', ABOUT, out)


def statistics():
    mpmath.mp.prec = 220
    q = np.array([-38, -20, -9, -5, -2, -1, -0.5, -1e-3, 0, 1e-9, 0.3, 1, 1.96, 3, 6, 8, 8.3])
    p = np.array(
        [
            1e-300,
            1e-100,
            1e-20,
            1e-8,
            1e-3,
            0.02425,
            0.1,
            0.25,
            0.49,
            0.5,
            0.51,
            0.9,
            0.975,
            0.999,
            1 - 1e-9,
            1 - 2.0**-53,
        ]
    )
    cdf = [float(mpmath.erfc(-mpmath.mpf(v) / mpmath.sqrt(2)) / 2) for v in q]
    ppf = []
    for v in p:
        target, g = mpmath.mpf(float(v)), mpmath.mpf(float(special.ndtri(v)))
        for _ in range(6):  # Newton on log cdf
            c = mpmath.erfc(-g / mpmath.sqrt(2)) / 2
            g -= mpmath.log(c / target) * c / (mpmath.exp(-g * g / 2) / mpmath.sqrt(2 * mpmath.pi))
        ppf.append(float(g))
    assert np.allclose(ppf, special.ndtri(p), rtol=1e-13) and np.allclose(
        cdf, special.ndtr(q), rtol=1e-13
    )
    out = {
        'norm_q': q,
        'norm_cdf': cdf,
        'norm_sf': [float(mpmath.erfc(mpmath.mpf(v) / mpmath.sqrt(2)) / 2) for v in q],
        'norm_p': p,
        'norm_ppf': ppf,
    }
    v = np.array([0, 0.1, 0.5, 1, 2, 5, 10, 40.0])
    out['dist_x'] = v
    for k in (1, 2, 5, 30):
        out[f'chi2_sf_{k}'], out[f't_sf_{k}'] = stats.chi2.sf(v, k), stats.t.sf(v, k)
        out[f'gammainc_{k}'], out[f'f_sf_{k}_7'] = special.gammainc(k, v), stats.f.sf(v, k, 7)
    out['betainc_2_3'] = special.betainc(2, 3, np.linspace(0, 1, 9))
    out['gammaln'], out['digamma'] = special.gammaln(v[1:]), special.digamma(v[1:])
    out['erfinv_x'] = np.array([-0.999, -0.5, 0, 1e-10, 0.3, 0.95, 1 - 1e-12])
    out['erfinv'] = special.erfinv(out['erfinv_x'])
    pv = np.concatenate([uniform(20, 320) ** 3, [0.01, 0.01, 1.0, 0.0]])
    out['fdr_in'] = pv
    out['fdr_bh'] = stats.false_discovery_control(pv, method='bh')
    out['fdr_by'] = stats.false_discovery_control(pv, method='by')
    order = np.argsort(pv, kind='stable')
    holm = np.minimum(np.maximum.accumulate(pv[order] * np.arange(len(pv), 0, -1)), 1)
    out['holm'] = holm[np.argsort(order, kind='stable')]
    out['bonferroni'] = np.minimum(pv * len(pv), 1)
    a = real((3, 25), 321) * 1.5 + np.array([[0], [3], [-2]])
    out['angles'] = a
    out['circmean'] = stats.circmean(a, np.pi, -np.pi, axis=1)
    out['circvar'], out['circstd'] = stats.circvar(a, axis=1), stats.circstd(a, axis=1)
    x, y = real((30,), 322), np.round(real((30,), 323) * 3) / 3
    y = y + 0.5 * x.round(1)
    out['s_x'], out['s_y'] = x, y
    out['zscore'], out['zscore_1'] = stats.zscore(x), stats.zscore(x, ddof=1)
    out['pearson'], out['spearman'], out['kendall'] = (
        stats.pearsonr(x, y),
        stats.spearmanr(x, y),
        stats.kendalltau(x, y),
    )
    for method in ('average', 'min', 'max', 'dense', 'ordinal'):
        out[f'rank_{method}'] = stats.rankdata(np.round(y * 2), method)
    out['rank_in'] = np.round(y * 2)
    out['skew_kurtosis'] = [
        stats.skew(x),
        stats.kurtosis(x),
        stats.skew(x, bias=False),
        stats.kurtosis(x, bias=False),
    ]
    out['mad'], out['iqr'], out['sem'] = stats.median_abs_deviation(x), stats.iqr(x), stats.sem(x)
    out['trim_mean_10'], out['gmean'], out['hmean'] = (
        stats.trim_mean(x, 0.1),
        stats.gmean(x**2),
        stats.hmean(x**2),
    )
    for name, r in (
        ('ttest_1', stats.ttest_1samp(x, 0.2)),
        ('ttest_ind', stats.ttest_ind(x, y)),
        ('ttest_rel', stats.ttest_rel(x, y)),
        ('welch_t', stats.ttest_ind(x, y[:20], equal_var=False)),
        ('ks', stats.ks_2samp(x, y)),
        ('wilcoxon', stats.wilcoxon(x, y)),
        ('mannwhitney', stats.mannwhitneyu(x, y, method='asymptotic')),
    ):
        out[name] = [r.statistic, r.pvalue]
    fit = stats.linregress(x, y)
    out['linregress'] = [
        fit.slope,
        fit.intercept,
        fit.rvalue,
        fit.pvalue,
        fit.stderr,
        fit.intercept_stderr,
    ]
    out['cov'], out['corrcoef'] = np.cov(a), np.corrcoef(a)
    out['polyfit_3'] = np.polyfit(x, y, 3)
    save('ops_stats', dict(ABOUT, mpmath=mpmath.__version__), out)


def algebra():
    a, b = real((6, 6), 330), real((6, 2), 331)
    s = a @ a.T + np.eye(6)
    tall, c = real((9, 4), 332), cplx((5, 5), 333)
    out = {
        'a': a,
        'b': b,
        's': s,
        'tall': tall,
        'c': c,
        'solve': np.linalg.solve(a, b),
        'inv': np.linalg.inv(a),
        'det': np.linalg.det(a),
        'slogdet': np.linalg.slogdet(a),
        'cholesky': np.linalg.cholesky(s),
        'eigvalsh': np.linalg.eigvalsh(s),
        'eigvals_abs_sorted': np.sort(np.abs(np.linalg.eigvals(a))),
        'svdvals': np.linalg.svd(tall, compute_uv=False),
        'pinv': np.linalg.pinv(tall),
        'lstsq': np.linalg.lstsq(tall, real((9, 2), 334))[0],
        'lstsq_b': real((9, 2), 334),
        'qr_r_abs': np.abs(np.linalg.qr(tall)[1]),
        'expm': linalg.expm(0.3 * a),
        'matrix_power_3': np.linalg.matrix_power(a, 3),
        'c_solve': np.linalg.solve(c, cplx((5, 1), 335)),
        'c_b': cplx((5, 1), 335),
        'c_det': np.linalg.det(c),
        'c_inv': np.linalg.inv(c),
        'norms': [
            np.linalg.norm(a),
            np.linalg.norm(a, 2),
            np.linalg.norm(a, 1),
            np.linalg.norm(a, np.inf),
            np.linalg.norm(a, 'nuc'),
        ],
        'cond': np.linalg.cond(a),
        'rank': np.linalg.matrix_rank(tall @ tall.T),
        'trace': np.trace(a),
        'solve_triangular': linalg.solve_triangular(np.tril(a), b, lower=True),
        'toeplitz_solve': linalg.solve_toeplitz(s[0], b),
        'batch': real((3, 4, 4), 336),
    }
    out['batch_inv'], out['batch_det'] = np.linalg.inv(out['batch']), np.linalg.det(out['batch'])
    save('ops_linalg', ABOUT, out)


if __name__ == '__main__':
    filters()
    spectra()
    statistics()
    algebra()
