/* cross_body.h - one dtype of cross.c; included with T and NAME(x) defined. */

/* Bins of x[n] between its smallest and largest; the largest has the last one to itself. */
static void NAME(levels)(const T *x, int64_t n, uint8_t *bin)
{
    T low, high;
    NAME(extremes)(x, n, &low, &high);
    T range = high - low;
    range = range > (T)1e-8 ? range : (T)1e-8;
    for (int64_t i = 0; i < n; i++) {
        T v = (x[i] - low) / range * (T)(RO_LEVELS - 1);
        v = v > 0 ? v : 0; /* NaN too */
        bin[i] = (uint8_t)(int32_t)(v < RO_LEVELS - 1 ? v : RO_LEVELS - 1);
    }
}

/* Sum of (a - p)(b - q) over n places. */
static double NAME(product)(const T *a, const T *b, int64_t n, T p, T q)
{
    double sum = 0;
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t end = n - first < BLOCK ? n : first + BLOCK;
        NAME(vec) u = { 0 }, v = { 0 };
        int64_t i = first;
        for (; i + 2 * WIDTH <= end; i += 2 * WIDTH) {
            u += (VEC(a + i) - p) * (VEC(b + i) - q);
            v += (VEC(a + i + WIDTH) - p) * (VEC(b + i + WIDTH) - q);
        }
        sum += NAME(folded)(&u, &v);
        for (; i < end; i++) sum += (double)(a[i] - p) * (double)(b[i] - q);
    }
    return sum;
}

/* Mutual information in nats of two lists of bins. */
static double NAME(shared)(const uint8_t *a, const uint8_t *b, int64_t n)
{
    enum { ALL = RO_LEVELS * RO_LEVELS };
    int32_t count[2][ALL] = { { 0 } };
    double pa[RO_LEVELS] = { 0 }, pb[RO_LEVELS] = { 0 }, p[ALL], logs[ALL], info = 0;
    for (int64_t i = 0; i < n; i++) count[i & 1][a[i] * RO_LEVELS + b[i]]++;
    for (int k = 0; k < ALL; k++) {
        p[k] = (double)(count[0][k] + count[1][k]) / (double)n;
        pa[k / RO_LEVELS] += p[k];
        pb[k % RO_LEVELS] += p[k];
    }
    for (int k = 0; k < ALL; k++) {
        const double apart = pa[k / RO_LEVELS] * pb[k % RO_LEVELS];
        logs[k] = p[k] > 0 ? p[k] / apart : 1;
    }
    for (int k = 0; k < ALL; k++) logs[k] = mck_log_f64(logs[k]);
    for (int k = 0; k < ALL; k++) info += p[k] * logs[k];
    return info;
}

void MCK(NAME(ro_cross))(const void *args, int64_t begin, int64_t end, void *work)
{
    const mck_ro_cross *k = args;
    const int64_t c = k->channels, n = k->n, columns = RO_CROSS(c);
    uint8_t *bin = work;
    double *mean = (double *)(void *)(bin + ((c * n + 63) & ~(int64_t)63)), *scale = mean + c;
    for (int64_t f = begin; f < end; f++) {
        const T *x = (const T *)k->x + f * c * n;
        T *r = (T *)k->y + f * columns, *info = r + c * c;
        for (int64_t i = 0; i < c; i++) {
            double var;
            NAME(moments)(x + i * n, n, mean + i, &var);
            scale[i] = 1 / (sqrt(var * (double)n / (double)(n - 1)) + 1e-8);
            NAME(levels)(x + i * n, n, bin + i * n);
        }
        for (int64_t i = 0; i < c; i++)
            for (int64_t j = i; j < c; j++) {
                const double sum = NAME(product)(x + i * n, x + j * n, n, (T)mean[i], (T)mean[j]);
                r[i * c + j] = r[j * c + i] = (T)(sum * scale[i] * scale[j] / (double)n);
                if (j > i) *info++ = (T)NAME(shared)(bin + i * n, bin + j * n, n);
            }
    }
}
