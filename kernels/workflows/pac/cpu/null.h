/* null.h - streaming statistics over surrogates: mean and spread (Welford), exceedances,
 * largest value per shift, raw and standardised.
 *
 * Body, included per dtype after scalar.h. Memory does not grow with the number of surrogates.
 * f64 sums: the variance of tiny indices survives, and equal surrogates give exactly zero spread.
 * Lanes: n = P*W values of one tile, flat. */

typedef struct SN(null_state) {
    double *mean, *m2, *exceed; /* [n] */
    const T *value;             /* [n], observed */
    int64_t n, seen;
} SN(null_state);

MC_UNUSED static void SN(null_feed)(SN(null_state) *z, const T *MC_RESTRICT s)
{
    const double step = 1.0 / (double)++z->seen;
    const int64_t n = z->n;
    double *MC_RESTRICT mean = z->mean, *MC_RESTRICT m2 = z->m2, *MC_RESTRICT exceed = z->exceed;
    const T *MC_RESTRICT value = z->value;
    for (int64_t i = 0; i < n; i++) {
        const double v = (double)s[i], d = v - mean[i], m = mean[i] + d * step;
        m2[i] += d * (v - m);
        mean[i] = m;
    }
    for (int64_t i = 0; i < n; i++)
        exceed[i] += s[i] >= value[i] ? 1.0 : 0.0;
}

/* Largest finite value of the lanes in use, not below `floor`. */
MC_UNUSED static T SN(null_max)(const T *s, int64_t rows, int lanes, T floor)
{
    for (int64_t r = 0; r < rows; r++)
        for (int i = 0; i < lanes; i++)
            if (s[r * W + i] > floor)
                floor = s[r * W + i];
    return floor;
}

/* Raises top[k] to the standardised surrogate k of one pair, s[k*step]; see zmax. Pairs without
 * spread are left out. */
MC_UNUSED static void SN(null_top)(const T *s, int64_t K, int64_t step, T value, double mean,
                                   double m2, T *MC_RESTRICT top)
{
    const double n = (double)K + 1, d = (double)value - mean, m = mean + d / n;
    const double sd = sqrt((m2 + d * d * ((double)K / n)) / n);
    if (!(sd > 0))
        return;
    for (int64_t k = 0; k < K; k++) {
        const T z = (T)(((double)s[k * step] - m) / sd);
        top[k] = z > top[k] ? z : top[k];
    }
}

/* Folds a second group (k2 values of mean b, squares m2b) into the first (Chan's update). */
MC_INLINE void SN(null_merge)(double *mean, double *m2, int64_t k1, double b, double m2b,
                              int64_t k2)
{
    const double k = (double)k1 + (double)k2, d = b - *mean;
    *m2 += m2b + d * d * (double)k1 * (double)k2 / k;
    *mean += d * (double)k2 / k;
}

/* Statistics of K surrogates of one pair -> element `at` of the outputs, merged with `prior` ones.
 */
MC_UNUSED static void SN(null_store)(const mck_pac_null *u, int64_t at, T value, double mean,
                                     double m2, double exceed, int32_t *status)
{
    const int64_t all = u->K + u->prior;
    if (u->prior > 0) {
        double old = u->mean ? u->mean[at] : 0, old2 = u->m2 ? u->m2[at] : 0;
        SN(null_merge)(&old, &old2, u->prior, mean, m2, u->K);
        mean = old;
        m2 = old2;
        exceed += u->exceed ? (double)u->exceed[at] : 0;
    }
    const int bad = value - value != 0 || mean - mean != 0;
    if (bad) {
        mean = (double)NAN;
        m2 = (double)NAN;
        exceed = (double)all;
    } else if (m2 == 0 && all > 1 && status) {
        *status |= MCK_PAC_SPREAD;
    }
    if (u->mean)
        u->mean[at] = mean;
    if (u->m2)
        u->m2[at] = m2;
    if (u->exceed)
        u->exceed[at] = (int64_t)exceed;
}
