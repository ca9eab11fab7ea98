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
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t end = n - first < BLOCK ? n : first + BLOCK;
        NAME(vec) a = { 0 }, b = { 0 };
        int64_t i = first;
        for (; i + 2 * WIDTH <= end; i += 2 * WIDTH) {
            a += VEC(x + i);
            b += VEC(x + i + WIDTH);
        }
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
    const T c = (T)m;
    double sum = 0;
    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t end = n - first < BLOCK ? n : first + BLOCK;
        NAME(vec) a = { 0 }, b = { 0 };
        int64_t i = first;
        for (; i + 2 * WIDTH <= end; i += 2 * WIDTH) {
            const NAME(vec) p = VEC(x + i) - c, q = VEC(x + i + WIDTH) - c;
            a += p * p;
            b += q * q;
        }
        sum += NAME(folded)(&a, &b);
        for (; i < end; i++) {
            const double d = (double)(x[i] - c);
            sum += d * d;
        }
    }
    const double off = m - (double)c, v = sum / (double)n - off * off;
    *mean = m;
    *var = v > 0 || v != v ? v : 0;
}
