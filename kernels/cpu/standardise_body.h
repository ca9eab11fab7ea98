/* standardise_body.h - rows of one dtype; included by standardise.c with T and NAME defined. */

#define L (64 / (int)sizeof(T))
typedef T FN(vec) __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
typedef T FN(four) __attribute__((vector_size(4 * sizeof(T))));
#define V FN(vec)
#define AT(x, i) (*(const V *)((x) + (i)))

/* all[k] += the k-th four lanes of v: conversions of four are what every level has */
MC_INLINE void FN(add_wide)(four_lanes *all, V v)
{
    for (int k = 0; k < L / 4; k++) {
        FN(four) part;
        memcpy(&part, (const char *)&v + (size_t)k * sizeof part, sizeof part);
        all[k] += __builtin_convertvector(part, four_lanes);
    }
}

MC_INLINE double FN(folded)(const four_lanes *a)
{
    four_lanes s = a[0], t = a[1];
    if (L == 16) {
        s += a[2];
        t += a[3];
    }
    s += t;
    return (s[0] + s[2]) + (s[1] + s[3]);
}

/* A sum over i in [0, n): TERM(i) is a vector of terms from i on, ONE(i) a term. */
#define SUM(total, n, TERM, ONE)                                                          \
    do {                                                                                  \
        four_lanes all[L / 4] = { { 0 } };                                                \
        double rest = 0;                                                                  \
        int64_t i = 0;                                                                    \
        while (i + 4 * L <= (n)) {                                                        \
            V s0 = TERM(i), s1 = TERM(i + L), s2 = TERM(i + 2 * L), s3 = TERM(i + 3 * L); \
            i += 4 * L;                                                                   \
            for (int e = 1; e < EVERY && i + 4 * L <= (n); e++) {                         \
                s0 += TERM(i);                                                            \
                s1 += TERM(i + L);                                                        \
                s2 += TERM(i + 2 * L);                                                    \
                s3 += TERM(i + 3 * L);                                                    \
                i += 4 * L;                                                               \
            }                                                                             \
            FN(add_wide)(all, (s0 + s1) + (s2 + s3));                                     \
        }                                                                                 \
        for (; i + L <= (n); i += L) FN(add_wide)(all, TERM(i));                          \
        for (; i < (n); i++) rest += (double)(ONE(i));                                    \
        total = FN(folded)(all) + rest;                                                   \
    } while (0)

/* mean and 1 / sqrt(variance + eps) of some rows: each step for all of them, since it waits for the
 * one before. */
MC_INLINE void FN(moments)(const T *rows, int many, int64_t n, double eps, T *mean, T *scale)
{
    double sum, square[ROWS];
    for (int q = 0; q < many; q++) {
        const T *x = rows + q * n;
#define TERM(i) AT(x, i)
#define ONE(i) x[i]
        SUM(sum, n, TERM, ONE);
#undef TERM
#undef ONE
        mean[q] = (T)(sum / (double)n);
    }
    for (int q = 0; q < many; q++) {
        const T *x = rows + q * n, m = mean[q];
#define TERM(i) ((AT(x, i) - m) * (AT(x, i) - m))
#define ONE(i) ((x[i] - m) * (x[i] - m))
        SUM(square[q], n, TERM, ONE);
#undef TERM
#undef ONE
    }
    for (int q = 0; q < many; q++) scale[q] = (T)(1 / sqrt(square[q] / (double)n + eps));
}

static void FN(scaled)(const mck_standardise *a, int64_t r, T m, T s)
{
    const int64_t n = a->n, p = a->p;
    const T *x = (const T *)a->x + r * n;
    T *y = (T *)a->out + r * n;
    const int64_t c = (a->first + r) * a->k % a->c;
    const T *w = a->w ? (const T *)a->w + c : NULL, *b = a->b ? (const T *)a->b + c : NULL;
    if (p > 1) {
        for (int64_t i = 0; i < a->k; i++) {
            const T f = w ? w[i] : 1, d = b ? b[i] : 0;
            MC_IVDEP
            for (int64_t j = i * p; j < (i + 1) * p; j++) y[j] = (x[j] - m) * s * f + d;
        }
    } else if (w && b) {
        MC_IVDEP
        for (int64_t j = 0; j < n; j++) y[j] = (x[j] - m) * s * w[j] + b[j];
    } else {
        MC_IVDEP
        for (int64_t j = 0; j < n; j++) y[j] = (x[j] - m) * s;
        for (int64_t j = 0; w && j < n; j++) y[j] *= w[j];
        for (int64_t j = 0; b && j < n; j++) y[j] += b[j];
    }
}

void MCK(FN(standardise))(const mck_standardise *a);
void MCK(FN(standardise))(const mck_standardise *a)
{
    const int step = a->n <= SHORT ? ROWS : 1;
    for (int64_t r = 0; r < a->m; r += step) {
        const int many = a->m - r < step ? (int)(a->m - r) : step;
        T m[ROWS], s[ROWS];
        FN(moments)((const T *)a->x + r * a->n, many, a->n, a->eps, m, s);
        for (int q = 0; q < many; q++) FN(scaled)(a, r + q, m[q], s[q]);
    }
}

/* n neighbours of one weight: the sums of g and of g y', in f64 */
MC_INLINE void FN(pair)(const T *g, const T *x, int64_t n, T m, T s, double *sum, double *along)
{
#define TERM(i) AT(g, i)
#define ONE(i) g[i]
    SUM(*sum, n, TERM, ONE);
#undef TERM
#undef ONE
#define TERM(i) (AT(g, i) * ((AT(x, i) - m) * s))
#define ONE(i) (g[i] * ((x[i] - m) * s))
    SUM(*along, n, TERM, ONE);
#undef TERM
#undef ONE
}

/* A row whose moments are not finite. */
static void FN(lost)(const mck_standardise *a, const T *g, const T *x, T *d, int64_t c, T m, T s)
{
    double sum = 0, along = 0;
    for (int64_t j = 0; j < a->n; j++) {
        const int64_t i = c + j / a->p;
        const T f = a->w ? ((const T *)a->w)[i] : 1, y = (x[j] - m) * s;
        const double h = (double)(g[j] * f), term = g[j] == 0 ? 0.0 : (double)(g[j] * y);
        sum += h;
        along += h == 0 ? 0.0 : h * (double)y;
        if (a->sums) {
            a->sums[i] += term;
            a->sums[a->c + i] += (double)g[j];
        }
    }
    const T mean = (T)(sum / (double)a->n), slope = (T)(along / (double)a->n);
    for (int64_t j = 0; j < a->n; j++) {
        const T f = a->w ? ((const T *)a->w)[c + j / a->p] : 1, y = (x[j] - m) * s;
        const T t = g[j] * f - mean - (slope == 0 ? 0 : y * slope);
        d[j] = t == 0 ? 0 : s * t;
    }
}

/* Rows of channels with places: sums by channel serve the moments of g w, too. */
static void FN(back_places)(const mck_standardise *a, const T *g, const T *x, T *d, int64_t c, T m,
                            T s)
{
    const T *w = a->w ? (const T *)a->w + c : NULL;
    double mean = 0, slope = 0;
    for (int64_t i = 0; i < a->k; i++) {
        double sum, along;
        FN(pair)(g + i * a->p, x + i * a->p, a->p, m, s, &sum, &along);
        if (a->sums) {
            a->sums[c + i] += along;
            a->sums[a->c + c + i] += sum;
        }
        mean += w ? sum * (double)w[i] : sum;
        slope += w ? along * (double)w[i] : along;
    }
    const T e = (T)(mean / (double)a->n), f = (T)(slope / (double)a->n);
    for (int64_t i = 0; i < a->k; i++) {
        const T by = w ? w[i] : 1;
        MC_IVDEP
        for (int64_t j = i * a->p; j < (i + 1) * a->p; j++)
            d[j] = s * (g[j] * by - e - (x[j] - m) * s * f);
    }
}

/* The mean of h and of h y' of a row of channels of one place each. */
MC_INLINE void FN(levels)(const T *g, const T *x, const T *w, int64_t n, T m, T s, T *level,
                          T *factor)
{
    double mean, slope;
    if (w) {
#define TERM(i) (AT(g, i) * AT(w, i))
#define ONE(i) (g[i] * w[i])
        SUM(mean, n, TERM, ONE);
#undef TERM
#undef ONE
#define TERM(i) (AT(g, i) * AT(w, i) * ((AT(x, i) - m) * s))
#define ONE(i) (g[i] * w[i] * ((x[i] - m) * s))
        SUM(slope, n, TERM, ONE);
#undef TERM
#undef ONE
    } else {
        FN(pair)(g, x, n, m, s, &mean, &slope);
    }
    *level = (T)(mean / (double)n);
    *factor = (T)(slope / (double)n);
}

/* The gradient of such a row. */
MC_INLINE void FN(back_row)(const T *g, const T *x, const T *w, T *d, int64_t n, T m, T s, T e, T f)
{
    if (w) {
        MC_IVDEP
        for (int64_t j = 0; j < n; j++) d[j] = s * (g[j] * w[j] - e - (x[j] - m) * s * f);
    } else {
        MC_IVDEP
        for (int64_t j = 0; j < n; j++) d[j] = s * (g[j] - e - (x[j] - m) * s * f);
    }
}

/* Four rows of the same weights: what they add to the sums. */
static void FN(add_four)(const T *g, const T *x, int64_t n, const T *m, const T *s, double *w,
                         double *b)
{
    const T *g1 = g + n, *g2 = g1 + n, *g3 = g2 + n;
    const T *x1 = x + n, *x2 = x1 + n, *x3 = x2 + n;
    const T m0 = m[0], m1 = m[1], m2 = m[2], m3 = m[3], s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
    MC_IVDEP
    for (int64_t j = 0; j < n; j++) {
        w[j] += (double)((g[j] * ((x[j] - m0) * s0) + g1[j] * ((x1[j] - m1) * s1)) +
                         (g2[j] * ((x2[j] - m2) * s2) + g3[j] * ((x3[j] - m3) * s3)));
        b[j] += (double)((g[j] + g1[j]) + (g2[j] + g3[j]));
    }
}

void MCK(FN(standardise_back))(const mck_standardise *a);
void MCK(FN(standardise_back))(const mck_standardise *a)
{
    const int64_t n = a->n;
    for (int64_t r = 0; r < a->m; r += ROWS) {
        const int rows = a->m - r < ROWS ? (int)(a->m - r) : ROWS;
        const T *x = (const T *)a->x + r * n, *g = (const T *)a->g + r * n, *weight[ROWS];
        T *d = (T *)a->out + r * n, m[ROWS], s[ROWS], e[ROWS], f[ROWS];
        int64_t c[ROWS];
        int fine = 1;
        FN(moments)(x, rows, n, a->eps, m, s);
        for (int q = 0; q < rows; q++) {
            c[q] = (a->first + r + q) * a->k % a->c;
            weight[q] = a->w ? (const T *)a->w + c[q] : NULL;
            fine = fine && m[q] - m[q] == 0 && s[q] - s[q] == 0;
        }
        const int together = fine && a->p == 1 && a->k == a->c && rows == ROWS && a->sums;
        if (together) FN(add_four)(g, x, n, m, s, a->sums, a->sums + a->c);
        for (int q = 0; q < rows && a->p == 1; q++)
            FN(levels)(g + q * n, x + q * n, weight[q], n, m[q], s[q], &e[q], &f[q]);
        for (int q = 0; q < rows; q++) {
            const T *gq = g + q * n, *xq = x + q * n;
            if (m[q] - m[q] != 0 || s[q] - s[q] != 0) {
                FN(lost)(a, gq, xq, d + q * n, c[q], m[q], s[q]);
            } else if (a->p > 1) {
                FN(back_places)(a, gq, xq, d + q * n, c[q], m[q], s[q]);
            } else {
                double *sums = a->sums && !together ? a->sums + c[q] : NULL;
                MC_IVDEP
                for (int64_t j = 0; sums && j < n; j++) {
                    sums[j] += (double)(gq[j] * ((xq[j] - m[q]) * s[q]));
                    sums[a->c + j] += (double)gq[j];
                }
                FN(back_row)(gq, xq, weight[q], d + q * n, n, m[q], s[q], e[q], f[q]);
            }
        }
    }
}

#undef SUM
#undef AT
#undef V
#undef L
#undef T
#undef NAME
