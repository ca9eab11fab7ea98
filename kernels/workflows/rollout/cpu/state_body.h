/* state_body.h - one dtype of state.c; included with T and NAME(x) defined. */

/* Value at the quantile q of sorted s[n], between its neighbours. */
MC_INLINE double NAME(at)(const T *s, int64_t n, double q)
{
    const double place = q * (double)(n - 1), low = floor(place);
    const int64_t i = (int64_t)low, j = i + 1 < n ? i + 1 : i;
    return (double)s[i] + (place - low) * ((double)s[j] - (double)s[i]);
}

/* The lower median of the distances from the lower median: those of both sides rise, so how many of
 * the first k + 1 are on the left is found by bisection. */
MC_INLINE double NAME(spread)(const T *s, int64_t n)
{
    const int64_t k = (n - 1) / 2, right = n - k - 1;
    const T m = s[k];
    int64_t low = k + 1 > right ? k + 1 - right : 0, high = k + 1;
    while (low < high) {
        const int64_t a = low + (high - low) / 2, b = k + 1 - a;
        if (s[k + b] - m > m - s[k - a])
            low = a + 1;
        else
            high = a;
    }
    const int64_t b = k + 1 - low;
    const T l = low > 0 ? m - s[k - low + 1] : 0, r = b > 0 ? s[k + b] - m : 0;
    return (double)(l > r ? l : r);
}

/* |a|, and the smaller and larger of two, lane by lane */
#define MAGNITUDE(a) ((NAME(lane))((NAME(bits))(a)&NAME(all_but_sign)))
#define SHIFTED(v) __builtin_shuffle(v, (NAME(bits)){ 1, 2, 3, 4, 5, 6, 7, 7 }) /* to the left */
#define PICK(m, a, b) \
    ((NAME(lane))(((NAME(bits))(a) & (NAME(bits))(m)) | ((NAME(bits))(b) & ~(NAME(bits))(m))))

MC_INLINE double NAME(sum)(const NAME(lane) * v)
{
    const NAME(lane) a = *v;
    return (((double)a[0] + (double)a[4]) + ((double)a[2] + (double)a[6])) +
           (((double)a[1] + (double)a[5]) + ((double)a[3] + (double)a[7]));
}

/* Sum of |x|, root of the sum of squares, largest |x|, entropy of 32 bins, total variation. A row's
 * sums are lanes of T, rows are added in f64. */
static void NAME(norms)(const T *x, int64_t g, int32_t *bin, T *out)
{
    const int64_t n = g * g;
    double sum = 0, square = 0, change = 0;
    T low = x[0], high = x[0];
    NAME(lane) least = { low, low, low, low, low, low, low, low }, most = least;
    for (int64_t r = 0; r < g; r++) {
        const T *p = x + r * g, *q = r + 1 < g ? p + g : p;
        NAME(lane) a = { 0 }, b = { 0 }, d = { 0 };
        int64_t j = 0;
        for (; j + 8 <= g; j += 8) {
            const NAME(lane) v = LANE(p + j), along = LANE(q + j) - v,
                             next = j + 8 < g ? LANE(p + j + 1) : SHIFTED(v);
            a += MAGNITUDE(v);
            b += v * v;
            d += MAGNITUDE(next - v) + MAGNITUDE(along);
            least = PICK(v < least, v, least);
            most = PICK(v > most, v, most);
        }
        sum += NAME(sum)(&a);
        square += NAME(sum)(&b);
        change += NAME(sum)(&d);
        for (; j < g; j++) {
            const double v = (double)p[j];
            sum += fabs(v);
            square += v * v;
            change += fabs((double)(q[j] - p[j]));
            if (j + 1 < g) change += fabs((double)(p[j + 1] - p[j]));
            low = p[j] < low ? p[j] : low;
            high = p[j] > high ? p[j] : high;
        }
    }
    for (int l = 0; l < 8; l++) {
        low = least[l] < low ? least[l] : low;
        high = most[l] > high ? most[l] : high;
    }
    int32_t count[4][BINS] = { { 0 } };
    T range = high - low;
    range = range > (T)1e-8 ? range : (T)1e-8;
    for (int64_t i = 0; i < n; i++) bin[i] = (int32_t)((x[i] - low) / range * (T)(BINS - 1));
    for (int64_t i = 0; i < n; i++) count[i & 3][bin[i] & (BINS - 1)]++;
    double entropy = 0, p[BINS], logs[BINS];
    for (int k = 0; k < BINS; k++)
        p[k] = (double)(count[0][k] + count[1][k] + count[2][k] + count[3][k]) / (double)n;
    for (int k = 0; k < BINS; k++) logs[k] = mck_log_f64(p[k] + 1e-10);
    for (int k = 0; k < BINS; k++) entropy -= p[k] * logs[k];
    out[0] = (T)sum;
    out[1] = (T)sqrt(square + 1e-8);
    out[2] = -low > high ? -low : high;
    out[3] = (T)entropy;
    out[4] = (T)change;
}

/* y[j] = sum of w[k] p[k step + j], k = first .. last in that order, for the g places of a row. */
MC_INLINE void NAME(filtered)(const T *p, int64_t step, const T *w, int64_t first, int64_t last,
                              int64_t g, T *y)
{
    int64_t j = 0;
    for (; j + 8 <= g; j += 8) {
        NAME(lane) s = { 0 };
        for (int64_t k = first; k <= last; k++) s += w[k + REACH] * LANE(p + k * step + j);
        *(NAME(lane) *)(void *)(y + j) = s;
    }
    for (; j < g; j++) {
        T s = 0;
        for (int64_t k = first; k <= last; k++) s += w[k + REACH] * p[k * step + j];
        y[j] = s;
    }
}

/* low = the 9 x 9 Gaussian of x, zero outside; rest = x - low. row: g + 2 REACH elements. */
static void NAME(lowpass)(const T *x, int64_t g, const T *w, T *row, T *low, T *rest)
{
    for (int64_t r = 0; r < g; r++) { /* along the columns, into rest */
        const int64_t below = g - 1 - r;
        NAME(filtered)
        (x + r * g, g, w, r < REACH ? -r : -REACH, below < REACH ? below : REACH, g, rest + r * g);
    }
    for (int64_t k = 0; k < REACH; k++) row[k] = row[REACH + g + k] = 0;
    for (int64_t r = 0; r < g; r++) {
        for (int64_t j = 0; j < g; j++) row[REACH + j] = rest[r * g + j];
        NAME(filtered)(row + REACH, 1, w, -REACH, REACH, g, low + r * g);
    }
    for (int64_t i = 0; i < g * g; i++) rest[i] = x[i] - low[i];
}

/* Size of the gradient by central differences, Laplacian, and sums of gx, gy, |gx|, |gy|; periodic.
 * row: g + 2 elements. */
static void NAME(gradients)(const T *x, int64_t g, T *row, T *size, T *lap, double *sums)
{
    T *p = row + 1;
    for (int k = 0; k < 4; k++) sums[k] = 0;
    for (int64_t r = 0; r < g; r++) {
        const T *up = x + (r ? r - 1 : g - 1) * g, *down = x + (r + 1 < g ? r + 1 : 0) * g;
        double sx = 0, sy = 0, ax = 0, ay = 0;
        T *s = size + r * g, *v = lap + r * g;
        for (int64_t j = 0; j < g; j++) p[j] = x[r * g + j];
        p[-1] = p[g - 1];
        p[g] = p[0];
        NAME(lane) a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
        int64_t j = 0;
        for (; j + 8 <= g; j += 8) {
            const NAME(lane) left = LANE(p + j - 1), right = LANE(p + j + 1), above = LANE(up + j),
                             below = LANE(down + j), hx = (right - left) * (T)0.5,
                             hy = (below - above) * (T)0.5;
            *(NAME(lane) *)(void *)(v + j) = above + below + left + right - (T)4 * LANE(p + j);
            *(NAME(lane) *)(void *)(s + j) = hx * hx + hy * hy;
            a += hx;
            b += hy;
            c += MAGNITUDE(hx);
            d += MAGNITUDE(hy);
        }
        for (; j < g; j++) {
            const T hx = (p[j + 1] - p[j - 1]) * (T)0.5, hy = (down[j] - up[j]) * (T)0.5;
            v[j] = up[j] + down[j] + p[j - 1] + p[j + 1] - 4 * p[j];
            s[j] = hx * hx + hy * hy;
            sx += (double)hx;
            sy += (double)hy;
            ax += fabs((double)hx);
            ay += fabs((double)hy);
        }
        for (j = 0; j < g; j++) s[j] = NAME(mck_sqrt)(s[j]);
        sums[0] += NAME(sum)(&a) + sx;
        sums[1] += NAME(sum)(&b) + sy;
        sums[2] += NAME(sum)(&c) + ax;
        sums[3] += NAME(sum)(&d) + ay;
    }
}

static void NAME(third_fourth)(const T *x, int64_t n, double mean, double *third, double *fourth)
{
    const T c = (T)mean;
    double cubes = 0, fourths = 0;
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t end = n - first < BLOCK ? n : first + BLOCK;
        const NAME(vec) zero = { 0 };
        NAME(vec) a = { 0 }, b = { 0 };
        int64_t i = first;
        for (; i + WIDTH <= end; i += WIDTH) {
            const NAME(vec) v = VEC(x + i) - c, q = v * v;
            a += q * v;
            b += q * q;
        }
        cubes += NAME(folded)(&a, &zero);
        fourths += NAME(folded)(&b, &zero);
        for (; i < end; i++) {
            const double v = (double)(x[i] - c), q = v * v;
            cubes += q * v;
            fourths += q * q;
        }
    }
    *third = cubes / (double)n;
    *fourth = fourths / (double)n;
}

void MCK(NAME(ro_state))(const void *args, int64_t begin, int64_t end, void *work)
{
    const mck_ro_state *k = args;
    const int64_t g = k->g, n = g * g;
    T *one = work, *two = one + n + 16;
    int32_t *bin = (int32_t *)(void *)(two + n + 16);
    T *row = (T *)(void *)(bin + n + 16);
    double wide[2 * REACH + 1];
    T w[2 * REACH + 1];
    taps(wide);
    for (int i = 0; i <= 2 * REACH; i++) w[i] = (T)wide[i];
    for (int64_t f = begin; f < end; f++) {
        const T *x = (const T *)k->x + f * n, *s = (const T *)k->sorted + f * n;
        T *y = (T *)k->y + f * RO_STATE;
        double mean, biased, third, fourth, sums[4];
        NAME(moments)(x, n, &mean, &biased);
        const double var = biased * (double)n / (double)(n - 1), std = sqrt(var);
        NAME(third_fourth)(x, n, mean, &third, &fourth);
        const int still = std < 1e-4;
        const double quarter = NAME(at)(s, n, 0.25), upper = NAME(at)(s, n, 0.75);
        const double figures[15] = { mean,
                                     var,
                                     std,
                                     still ? 0 : third / (std * var),
                                     still ? 0 : fourth / (var * var) - 3,
                                     (double)s[0],
                                     (double)s[n - 1],
                                     (double)(T)(s[n - 1] - s[0]),
                                     upper - quarter,
                                     NAME(spread)(s, n),
                                     NAME(at)(s, n, 0.05),
                                     quarter,
                                     NAME(at)(s, n, 0.5),
                                     upper,
                                     NAME(at)(s, n, 0.95) };
        for (int i = 0; i < 15; i++) y[i] = (T)figures[i];
        NAME(gradients)(x, g, row, one, two, sums);
        double m, v;
        T least, most;
        NAME(moments)(one, n, &m, &v);
        NAME(extremes)(one, n, &least, &most);
        y[15] = (T)m;
        y[16] = (T)sqrt(v * (double)n / (double)(n - 1));
        y[17] = most > 0 ? most : 0;
        y[18] = (T)(sums[0] / (double)n);
        y[19] = (T)(sums[1] / (double)n);
        y[20] = (T)(sums[2] / (double)n / (sums[3] / (double)n + 1e-8));
        NAME(moments)(two, n, &m, &v);
        y[21] = (T)m;
        y[22] = (T)sqrt(v * (double)n / (double)(n - 1));
        y[23] = (T)(v + m * m);
        T *z = y + RO_SPATIAL;
        NAME(norms)(x, g, bin, z);
        NAME(lowpass)(x, g, w, row, one, two);
        NAME(norms)(one, g, bin, z + 5);
        NAME(norms)(two, g, bin, z + 10);
        z[15] = (T)mean;
        z[16] = (T)((biased + mean * mean) * (double)n);
        z[17] = (T)var;
    }
}
#undef MAGNITUDE
#undef PICK
#undef SHIFTED
