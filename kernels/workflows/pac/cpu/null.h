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

MC_UNUSED static void SN(null_feed)(SN(null_state) *z, const T *MC_RESTRICT s, int far)
{
    const double step = far ? 1.0 / (double)++z->seen : 0;
    const int64_t n = z->n;
    double *MC_RESTRICT mean = z->mean, *MC_RESTRICT m2 = z->m2, *MC_RESTRICT exceed = z->exceed;
    const T *MC_RESTRICT value = z->value;
    for (int64_t i = 0; far && i < n; i++) {
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

/* Whether the shift of surrogate k is far enough from 0, either way, for mean and spread. */
MC_INLINE int SN(null_far)(const mck_pac_null *u, int64_t k, int64_t L)
{
    const int64_t c = u->shift ? u->shift[k] : u->first + k;
    return c >= u->near && c <= L - u->near;
}

/* Heap sort of positions by shift; ties by position, so that the order is one. */
MC_UNUSED static int SN(order_before)(const int64_t *shift, int64_t i, int64_t j)
{
    return shift[i] < shift[j] || (shift[i] == shift[j] && i < j);
}
MC_UNUSED static void SN(order_sift)(const int64_t *shift, int64_t *order, int64_t i, int64_t n)
{
    const int64_t moving = order[i];
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && SN(order_before)(shift, order[child], order[child + 1]))
            child++;
        if (!SN(order_before)(shift, moving, order[child]))
            break;
        order[i] = order[child];
    }
    order[i] = moving;
}
MC_UNUSED static void SN(order_shifts)(const int64_t *shift, int64_t *order, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = n / 2; i-- > 0;)
        SN(order_sift)(shift, order, i, n);
    for (int64_t i = n; i-- > 1;) {
        const int64_t last = order[i];
        order[i] = order[0];
        order[0] = last;
        SN(order_sift)(shift, order, 0, i);
    }
}

/* Sums of the points before number j of the circle that repeats after n: from their running
 * sums. */
MC_INLINE double SN(null_run)(const double *run, int64_t j, int64_t n)
{
    return j < 0 ? run[j + n] - run[n] : j >= n ? run[j - n] + run[n] : run[j];
}

/* x on the scale of the others: `rest` of them with sum a and squares b. total: squares of all. */
MC_INLINE double SN(null_z)(double x, double a, double b, double rest, double total)
{
    const double m = a / rest, square = b / rest, var = square - m * m, d = x - m;
    const double none = d > 0 ? (double)INFINITY : (double)-INFINITY;
    const double z = var > 1e-13 * square ? d / sqrt(var) : none;
    return total == 0 ? (double)-INFINITY : rest < 2 ? (double)INFINITY : z;
}

/* Shift of point j of the circle: 0 is the value, 1 to K the surrogates in the order of shifts. */
MC_INLINE int64_t SN(null_shift)(const mck_pac_null *u, const int64_t *order, int64_t j, int64_t L)
{
    const int64_t n = u->K + 1,
                  turn = j < 0    ? -L
                         : j >= n ? L
                                  : 0,
                  i = j < 0    ? j + n
                      : j >= n ? j - n
                               : j;
    return turn + (i == 0 ? 0 : u->shift ? u->shift[order[i - 1]] : u->first + i - 1);
}

/* null_top where every shift is there, 1 to L - 1 in order: the surroundings of all points are of
 * one length. run: room for 3 (K + 2 + 2 near). */
MC_UNUSED static T SN(null_circle)(const mck_pac_null *u, const T *s, T value, T *MC_RESTRICT top,
                                   T *near, int64_t cells, double *run)
{
    const int64_t n = u->K + 1, m = u->near, all = n + 2 * m;
    const double v = (double)value, rest = (double)(n - (2 * m - 1));
    double *MC_RESTRICT sum = run, *MC_RESTRICT sq = run + all + 1, *MC_RESTRICT z = sq + all + 1;
    sum[0] = sq[0] = 0;
    for (int64_t j = 0, i = n - m; j < all; j++, i = i + 1 < n ? i + 1 : 0) {
        const double x = i == 0 ? 0 : (double)s[i - 1] - v;
        sum[j + 1] = sum[j] + x;
        sq[j + 1] = sq[j] + x * x;
    }
    const double a = sum[n], b = sq[n];
    const int fine = b - b == 0 && b > 0;
    for (int64_t i = 0; fine && i < n; i++) {
        const double x = i == 0 ? 0 : (double)s[i - 1] - v;
        const double mean = (a - (sum[i + 2 * m] - sum[i + 1])) / rest,
                     square = (b - (sq[i + 2 * m] - sq[i + 1])) / rest, var = square - mean * mean,
                     d = x - mean;
        const double none = d > 0 ? (double)INFINITY : (double)-INFINITY;
        z[i] = var > 1e-13 * square ? d / sqrt(var) : none;
    }
    if (!fine) {
        for (int64_t i = 0; i < n; i++)
            z[i] = (double)-INFINITY;
        z[0] = b == 0 ? z[0] : (double)NAN;
    }
    for (int64_t k = 0; near && k < m - 1; k++) {
        near[cells * k] = (T)z[k + 1];
        near[cells * (m - 1 + k)] = (T)z[n - m + 1 + k];
    }
    for (int64_t k = near ? m - 1 : 0; k < (near ? n - m : n - 1); k++) {
        const T t = (T)z[k + 1];
        top[k] = t > top[k] ? t : top[k];
    }
    return (T)z[0];
}

/* Raises top[k] to the standardised surrogate k of one pair, s[k*step], and returns the
 * standardised value; see zmax. Surrogates near shift 0 go to near[j*cells] (where there is room)
 * instead. A pair without spread is left out and gives -inf. order: surrogates by shift (NULL: they
 * are); run: room for 3 (K + 2 + 2 near) running sums. */
MC_UNUSED static T SN(null_top)(const mck_pac_null *u, const T *s, int64_t step, int64_t L, T value,
                                T *MC_RESTRICT top, T *near, int64_t cells, const int64_t *order,
                                double *run)
{
    const int64_t n = u->K + 1;
    const double v = (double)value;
    double *sum = run, *sq = run + n + 1;
    if (!u->shift && u->first == 1 && n == L && u->near > 0 && step == 1)
        return SN(null_circle)(u, s, value, top, near, cells, run);
    T mine = (T)NAN;
    /* of what differs from the value: exactly 0 when nothing does */
    sum[0] = sq[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = i == 0 ? 0 : order ? order[i - 1] : i - 1;
        const double x = i == 0 ? 0 : (double)s[k * step] - v;
        sum[i + 1] = sum[i] + x;
        sq[i + 1] = sq[i] + x * x;
    }
    if (sq[n] - sq[n] != 0) {
        for (int64_t k = 0; near && k < u->near_count; k++)
            near[cells * k] = (T)-INFINITY;
        return mine;
    }
    int64_t lo = 1 - n, hi = 1 - n, j = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = i == 0 ? 0 : order ? order[i - 1] : i - 1;
        const int64_t c = SN(null_shift)(u, order, i, L);
        const double x = i == 0 ? 0 : (double)s[k * step] - v;
        double rest = (double)n, a = sum[n], b = sq[n];
        if (u->near > 0) {
            for (; lo < i && SN(null_shift)(u, order, lo, L) <= c - u->near; lo++)
                ;
            for (hi = hi < lo ? lo : hi;
                 hi < lo + n && SN(null_shift)(u, order, hi, L) < c + u->near; hi++)
                ;
            rest = (double)(n - (hi - lo));
            a -= SN(null_run)(sum, hi, n) - SN(null_run)(sum, lo, n);
            b -= SN(null_run)(sq, hi, n) - SN(null_run)(sq, lo, n);
        }
        const T z = (T)SN(null_z)(x, a, b, rest, sq[n]);
        if (i == 0)
            mine = z;
        else if (near && !SN(null_far)(u, k, L))
            near[cells * j++] = z;
        else
            top[k] = z > top[k] ? z : top[k];
    }
    return mine;
}

/* Points [lo[i], hi[i]) of the circle are closer than `near` to point i: the same for all pairs. */
MC_UNUSED static void SN(null_surroundings)(const mck_pac_null *u, int64_t L, const int64_t *order,
                                            int64_t *MC_RESTRICT lo, int64_t *MC_RESTRICT hi)
{
    const int64_t n = u->K + 1;
    int64_t a = 1 - n, b = 1 - n;
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = SN(null_shift)(u, order, i, L);
        for (; u->near > 0 && a < i && SN(null_shift)(u, order, a, L) <= c - u->near; a++)
            ;
        b = b < a ? a : b;
        for (; u->near > 0 && b < a + n && SN(null_shift)(u, order, b, L) < c + u->near; b++)
            ;
        lo[i] = u->near > 0 ? a : 0;
        hi[i] = u->near > 0 ? b : 0;
    }
}

/* Whether a point is at most `top` on the scale of the others, told without a division: with room
 * for the rounding of null_z, and not where its spread is lost in that of its squares. */
MC_INLINE int64_t SN(null_below)(double x, double a, double b, double rest, double top)
{
    const double d = x * rest - a, square = b * rest, var = square - a * a;
    return (top > 1e-3) & (var > 1e-6 * square) & ((d <= 0) | (d * d < 0.999999 * top * top * var));
}

/* null_top of the lanes of one tile: s holds the surrogates by shift, [K][W]; lo and hi as
 * null_surroundings gives them. Few points raise a maximum, so what is divided is little. mine:
 * standardised values; run: room for 2 (K + 2) W running sums. */
MC_UNUSED static void SN(null_tops)(const mck_pac_null *u, const T *s, int64_t L, int lanes,
                                    const T *value, T *mine, T *MC_RESTRICT top, T *near,
                                    int64_t cells, const int64_t *order, const int64_t *lo,
                                    const int64_t *hi, double *run)
{
    const int64_t n = u->K + 1;
    double *MC_RESTRICT sum = run, *MC_RESTRICT sq = run + (n + 1) * W;
    double v[W];
    int64_t live[W]; /* some surrogate differs and none is NaN or infinite */
    for (int l = 0; l < W; l++) {
        v[l] = (double)value[l];
        sum[l] = sq[l] = sum[W + l] = sq[W + l] = 0;
    }
    for (int64_t i = 1; i < n; i++) {
        const T *at = s + (i - 1) * W;
        double *MC_RESTRICT to = sum + i * W, *MC_RESTRICT to2 = sq + i * W;
        for (int l = 0; l < W; l++) {
            const double x = (double)at[l] - v[l];
            to[W + l] = to[l] + x;
            to2[W + l] = to2[l] + x * x;
        }
    }
    const double *a0 = sum + n * W, *b0 = sq + n * W;
    int plain = 0; /* squares so large or small that products of them would not hold */
    for (int l = 0; l < W; l++) {
        live[l] = l < lanes && b0[l] - b0[l] == 0 && b0[l] != 0;
        plain |= live[l] && (b0[l] > 1e140 || b0[l] < 1e-140);
    }
    int64_t j = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = i == 0 ? 0 : order[i - 1];
        const int64_t l0 = lo[i] < 0 ? lo[i] + n : lo[i] >= n ? lo[i] - n : lo[i],
                      h0 = hi[i] < 0 ? hi[i] + n : hi[i] >= n ? hi[i] - n : hi[i];
        const double rest = (double)(n - (hi[i] - lo[i])),
                     turn_lo = lo[i] < 0 ? -1 : lo[i] >= n ? 1 : 0,
                     turn_hi = hi[i] < 0 ? -1 : hi[i] >= n ? 1 : 0;
        const int keeps = i > 0 && near && !SN(null_far)(u, k, L), all = i == 0 || keeps;
        const double before = all || plain || rest < 2 ? -1 : (double)top[k];
        double x[W], a[W], b[W], z[W];
        int64_t above = 0;
        for (int l = 0; l < W; l++) {
            x[l] = i == 0 ? 0 : (double)s[(i - 1) * W + l] - v[l];
            a[l] = a0[l] - ((sum[h0 * W + l] + turn_hi * a0[l]) -
                            (sum[l0 * W + l] + turn_lo * a0[l]));
            b[l] = b0[l] - ((sq[h0 * W + l] + turn_hi * b0[l]) -
                            (sq[l0 * W + l] + turn_lo * b0[l]));
            above |= live[l] & ~SN(null_below)(x[l], a[l], b[l], rest, before);
        }
        if (all) {
            for (int l = 0; l < W; l++)
                z[l] = SN(null_z)(x[l], a[l], b[l], rest, b0[l]);
            for (int l = 0; i == 0 && l < W; l++)
                mine[l] = b0[l] - b0[l] == 0 ? (T)z[l] : (T)NAN;
            for (int l = 0; keeps && l < lanes; l++)
                near[cells * j + l] = b0[l] - b0[l] == 0 ? (T)z[l] : (T)-INFINITY;
            j += keeps;
            continue;
        }
        for (int l = 0; above && l < lanes; l++) {
            if (!live[l] || (!plain && rest >= 2 &&
                             SN(null_below)(x[l], a[l], b[l], rest, (double)top[k])))
                continue;
            const T t = (T)SN(null_z)(x[l], a[l], b[l], rest, b0[l]);
            top[k] = t > top[k] ? t : top[k];
        }
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
