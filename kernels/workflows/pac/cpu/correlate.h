/* correlate.h - correlation of phase functions with amplitudes at every circular shift, by
 * transforms.
 *
 * Body, included per dtype after scalar.h. r(c) = sum_t w(t) a[(t+c) mod L] = IFFT(W A): A is
 * the spectrum of a minus its mean (the mean returns exactly, as mean * sum w, so that f32
 * transforms only carry what varies), W the *backward* transform of w = w1 + i w2, which is
 * conj(W1) + i conj(W2): both real correlations come out of one transform, as real and imaginary
 * part. N = L is circular by itself; with N >= 2L-1 amplitudes are repeated once and nothing wraps.
 * Unnormalised: divide by N. */

/* One lane of tiled amplitudes -> full complex spectrum [N] of a - mean; returns the mean. real: N
 * of T, half: N/2+1 complex. */
MC_UNUSED static double SN(correlate_amp)(const T *amp, int64_t L, int64_t N, mck_pac_fft fft,
                                          void *forward, T *real, T *half, T *MC_RESTRICT spectrum)
{
    double mean = 0;
    for (int64_t t = 0; t < L; t++)
        mean += (double)amp[t * W];
    mean /= (double)L;
    for (int64_t t = 0; t < L; t++)
        real[t] = (T)((double)amp[t * W] - mean);
    for (int64_t t = L; t < N; t++)
        real[t] = t < 2 * L - 1 ? real[t - L] : (T)0;
    fft(forward, real, half);
    memcpy(spectrum, half, 2 * sizeof(T) * (size_t)(N / 2 + 1));
    for (int64_t k = N / 2 + 1; k < N; k++) {
        spectrum[2 * k] = half[2 * (N - k)];
        spectrum[2 * k + 1] = -half[2 * (N - k) + 1];
    }
    return mean;
}

/* to = w a, or to += w a. */
MC_UNUSED static void SN(correlate_product)(const T *MC_RESTRICT w, const T *MC_RESTRICT a,
                                            int64_t N, int add, T *MC_RESTRICT to)
{
    if (add) {
        for (int64_t k = 0; k < N; k++) {
            to[2 * k] += MC_PRODUCT(w[2 * k], a[2 * k]) - MC_PRODUCT(w[2 * k + 1], a[2 * k + 1]);
            to[2 * k + 1] +=
                MC_PRODUCT(w[2 * k], a[2 * k + 1]) + MC_PRODUCT(w[2 * k + 1], a[2 * k]);
        }
        return;
    }
    for (int64_t k = 0; k < N; k++) {
        to[2 * k] = MC_PRODUCT(w[2 * k], a[2 * k]) - MC_PRODUCT(w[2 * k + 1], a[2 * k + 1]);
        to[2 * k + 1] = MC_PRODUCT(w[2 * k], a[2 * k + 1]) + MC_PRODUCT(w[2 * k + 1], a[2 * k]);
    }
}

/* Mean and squared deviations of n values. */
MC_UNUSED static void SN(correlate_moments)(const T *s, int64_t n, double *mean, double *m2)
{
    double sum[4] = { 0, 0, 0, 0 }, sq[4] = { 0, 0, 0, 0 };
    int64_t k;
    for (k = 0; k + 4 <= n; k += 4)
        for (int i = 0; i < 4; i++)
            sum[i] += (double)s[k + i] - (double)s[0];
    for (; k < n; k++)
        sum[0] += (double)s[k] - (double)s[0];
    const double m = (double)s[0] + ((sum[0] + sum[1]) + (sum[2] + sum[3])) / (double)n;
    for (k = 0; k + 4 <= n; k += 4)
        for (int i = 0; i < 4; i++)
            sq[i] += ((double)s[k + i] - m) * ((double)s[k + i] - m);
    for (; k < n; k++)
        sq[0] += ((double)s[k] - m) * ((double)s[k] - m);
    *mean = m;
    *m2 = (sq[0] + sq[1]) + (sq[2] + sq[3]);
}

/* Statistics of the K surrogates s of pair `at` of a job; larger ones into top, larger standardised
 * ones into ztop (where u asks for them). far [K]: room for those far from shift 0. */
MC_UNUSED static void SN(correlate_stats)(const mck_pac_null *u, const T *s, int64_t L, T value,
                                          T *far, T *top, T *ztop, int64_t at, int64_t cells,
                                          const int64_t *order, double *run, int32_t *status)
{
    const int64_t K = u->K;
    const T *some = s;
    double mean, m2;
    int64_t count = 0, n = K;
    if (u->near > 0) {
        n = 0;
        for (int64_t k = 0; k < K; k++)
            if (SN(null_far)(u, k, L))
                far[n++] = s[k];
        some = far;
    }
    SN(correlate_moments)(some, n, &mean, &m2);
    for (int64_t k = 0; k < K; k++)
        count += s[k] >= value;
    if (u->max)
        for (int64_t k = 0; k < K; k++)
            top[k] = s[k] > top[k] ? s[k] : top[k];
    if (u->zmax) {
        const T z = SN(null_top)(u, s, 1, L, value, ztop, u->znear ? (T *)u->znear + at : NULL,
                                 cells, order, run);
        if (u->zvalue)
            ((T *)u->zvalue)[at] = z;
    }
    SN(null_store)(u, at, value, mean, m2, (double)count, status);
}
