/* moments.h - sums, mean and variance of n elements; included with T and NAME(x) defined. */

typedef T NAME(lane) __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));
typedef T NAME(vec) __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));

/* The elements of two vectors as a tree. */
MC_INLINE double NAME(folded)(const NAME(vec) * a, const NAME(vec) * b)
{
    double v[8];
    for (int64_t l = 0; l < WIDTH; l++) v[l] = (double)(*a)[l] + (double)(*b)[l];
    for (int64_t k = WIDTH / 2; k > 0; k /= 2)
        for (int64_t l = 0; l < k; l++) v[l] += v[l + k];
    return v[0];
}

MC_INLINE double NAME(total)(const T *x, int64_t n)
{
    double sum = 0;
    for (int64_t first = 0; first < n; first += 2 * BLOCK) {
        const int64_t end = n - first < 2 * BLOCK ? n : first + 2 * BLOCK;
        NAME(vec) a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
        int64_t i = first;
        for (; i + 4 * WIDTH <= end; i += 4 * WIDTH) {
            a += VEC(x + i);
            b += VEC(x + i + WIDTH);
            c += VEC(x + i + 2 * WIDTH);
            d += VEC(x + i + 3 * WIDTH);
        }
        a += c;
        b += d;
        sum += NAME(folded)(&a, &b);
        for (; i < end; i++) sum += (double)x[i];
    }
    return sum;
}

/* Mean of x[n], and its biased variance about that mean: squares of distances from the mean in T,
 * then what its rounding adds is taken off. */
MC_INLINE void NAME(moments)(const T *x, int64_t n, double *mean, double *var)
{
    const double m = NAME(total)(x, n) / (double)n;
    const T from = (T)m;
    double sum = 0;
    for (int64_t first = 0; first < n; first += 2 * BLOCK) {
        const int64_t end = n - first < 2 * BLOCK ? n : first + 2 * BLOCK;
        NAME(vec) a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
        int64_t i = first;
        for (; i + 4 * WIDTH <= end; i += 4 * WIDTH) {
            const NAME(vec) p = VEC(x + i) - from, q = VEC(x + i + WIDTH) - from,
                            r = VEC(x + i + 2 * WIDTH) - from, s = VEC(x + i + 3 * WIDTH) - from;
            a += p * p;
            b += q * q;
            c += r * r;
            d += s * s;
        }
        a += c;
        b += d;
        sum += NAME(folded)(&a, &b);
        for (; i < end; i++) {
            const double e = (double)(x[i] - from);
            sum += e * e;
        }
    }
    const double off = m - (double)from, v = sum / (double)n - off * off;
    *mean = m;
    *var = v > 0 || v != v ? v : 0;
}

/* The smallest and the largest of x[n], n of 1 or more. */
MC_INLINE void NAME(extremes)(const T *x, int64_t n, T *low, T *high)
{
    enum { LANES = 32 };
    T least[LANES], most[LANES];
    int64_t i = 0;
    for (int l = 0; l < LANES; l++) least[l] = most[l] = x[0];
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            least[l] = x[i + l] < least[l] ? x[i + l] : least[l];
            most[l] = x[i + l] > most[l] ? x[i + l] : most[l];
        }
    for (; i < n; i++) {
        least[0] = x[i] < least[0] ? x[i] : least[0];
        most[0] = x[i] > most[0] ? x[i] : most[0];
    }
    for (int l = 1; l < LANES; l++) {
        least[0] = least[l] < least[0] ? least[l] : least[0];
        most[0] = most[l] > most[0] ? most[l] : most[0];
    }
    *low = least[0];
    *high = most[0];
}
