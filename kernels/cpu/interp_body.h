/* interp_body.h - interpolation of one dtype; included by interp.c with T and NAME defined. */
#define CAT3_(a, b) a##_##b
#define CAT3(a, b) CAT3_(a, b)

/* The largest j in [0, k - 1) with knot[j] <= x, 0 when there is none; near: a guess. x is not
 * NaN. */
static int64_t CAT3(interval, NAME)(const T *knot, int64_t k, T x, int64_t near)
{
    if (near < k - 1 && knot[near] <= x) {
        if (near == k - 2 || x < knot[near + 1]) return near;
        if (near + 1 == k - 2 || x < knot[near + 2]) return near + 1;
    }
    int64_t lo = 0, count = k - 1; /* knots [lo, lo + count) may be the answer */
    while (count > 1) {
        const int64_t half = count / 2;
        lo = knot[lo + half] <= x ? lo + half : lo;
        count -= half;
    }
    return lo;
}

/* The same for BLOCK queries, the guess first: ascending queries find theirs there; others are
 * searched for in step. */
static void CAT3(intervals, NAME)(const T *knot, int64_t k, const T *x, int64_t *at, int64_t near)
{
    int i = 0;
    for (; i < BLOCK; i++) {
        if (near < k - 1 && knot[near] <= x[i] && (near == k - 2 || x[i] < knot[near + 1]))
            at[i] = near;
        else if (near < k - 2 && knot[near + 1] <= x[i] &&
                 (near + 1 == k - 2 || x[i] < knot[near + 2]))
            at[i] = ++near;
        else break;
    }
    if (i == BLOCK) return;
    for (int l = 0; l < BLOCK; l++) at[l] = 0;
    for (int64_t count = k - 1; count > 1; count -= count / 2) {
        const int64_t half = count / 2;
        for (int l = 0; l < BLOCK; l++) at[l] += knot[at[l] + half] <= x[l] ? half : 0;
    }
}

MC_INLINE T CAT3(between, NAME)(const mck_interp *a, T q, int64_t j)
{
    const T *knot = a->knots, *v = a->values;
    const int64_t k = a->k;
    if (q != q) return q;
    if (q < knot[0]) return a->left_given ? (T)a->left : v[0];
    if (q > knot[k - 1]) return a->right_given ? (T)a->right : v[k - 1];
    if (k == 1 || q == knot[k - 1]) return v[k - 1];
    if (knot[j] == q) return v[j];
    const double slope =
        ((double)v[j + 1] - (double)v[j]) / ((double)knot[j + 1] - (double)knot[j]);
    double r = slope * ((double)q - (double)knot[j]) + (double)v[j];
    if (r != r) r = slope * ((double)q - (double)knot[j + 1]) + (double)v[j + 1];
    if (r != r && v[j] == v[j + 1]) r = (double)v[j];
    return (T)r;
}

void MCK(CAT3(interp, NAME))(const mck_interp *a);
void MCK(CAT3(interp, NAME))(const mck_interp *a)
{
    const T *x = a->in, *knot = a->knots;
    T *out = a->out;
    int64_t at[BLOCK], i = 0, near = 0;
    for (; i + BLOCK <= a->n; i += BLOCK) {
        CAT3(intervals, NAME)(knot, a->k, x + i, at, near);
        near = at[BLOCK - 1];
        for (int l = 0; l < BLOCK; l++) out[i + l] = CAT3(between, NAME)(a, x[i + l], at[l]);
    }
    for (; i < a->n; i++) {
        if (a->k > 1) near = CAT3(interval, NAME)(knot, a->k, x[i], near);
        out[i] = CAT3(between, NAME)(a, x[i], near);
    }
}

/* sum_p coef[p][j][:] d^nu/dx^nu (x - knot[j])^(c - 1 - p); values: coef[c][k - 1][m]. outside: NaN
 * beyond the knots instead of the outermost pieces. */
MC_INLINE void CAT3(pieces, NAME)(const mck_interp *a, T q, int64_t j, T *out)
{
    const T *knot = a->knots, *coef = a->values;
    const int64_t k = a->k, m = a->m, c = a->c, nu = a->nu;
    if (q != q || (a->outside && (q < knot[0] || q > knot[k - 1]))) {
        for (int64_t s = 0; s < m; s++) out[s] = (T)NAN;
        return;
    }
    const double d = (double)q - (double)knot[j];
    for (int64_t s = 0; s < m; s++) {
        double r = 0;
        for (int64_t p = 0; p < c - (nu > 0 ? nu : 0); p++) {
            double f = 1; /* (e)(e - 1)...(e - nu + 1) for the power e = c - 1 - p */
            for (int64_t e = 0; e < nu; e++) f *= (double)(c - 1 - p - e);
            r = r * d + f * (double)coef[(p * (k - 1) + j) * m + s];
        }
        out[s] = (T)r;
    }
}

/* BLOCK queries of one polynomial of which there is only one: Horner's rule in lanes, the same
 * operations. */
MC_INLINE void CAT3(horner, NAME)(const mck_interp *a, const T *x, T *out)
{
    const T *coef = a->values;
    const double first = (double)((const T *)a->knots)[0];
    double d[BLOCK], r[BLOCK];
    for (int l = 0; l < BLOCK; l++) {
        d[l] = (double)x[l] - first;
        r[l] = 0;
    }
    for (int64_t p = 0; p < a->c; p++) {
        const double f = (double)coef[p];
        for (int l = 0; l < BLOCK; l++) r[l] = r[l] * d[l] + f;
    }
    for (int l = 0; l < BLOCK; l++) out[l] = x[l] == x[l] ? (T)r[l] : (T)NAN;
}

void MCK(CAT3(ppoly, NAME))(const mck_interp *a);
void MCK(CAT3(ppoly, NAME))(const mck_interp *a)
{
    const T *x = a->in, *knot = a->knots;
    T *out = a->out;
    const int64_t k = a->k, m = a->m;
    const int single = k == 2 && m == 1 && a->nu <= 0 && !a->outside;
    int64_t at[BLOCK], i = 0, near = 0;
    for (; i + BLOCK <= a->n; i += BLOCK) {
        if (single) {
            CAT3(horner, NAME)(a, x + i, out + i);
            continue;
        }
        CAT3(intervals, NAME)(knot, k, x + i, at, near);
        near = at[BLOCK - 1];
        for (int l = 0; l < BLOCK; l++) CAT3(pieces, NAME)(a, x[i + l], at[l], out + (i + l) * m);
    }
    for (; i < a->n; i++) {
        near = CAT3(interval, NAME)(knot, k, x[i], near);
        CAT3(pieces, NAME)(a, x[i], near, out + i * m);
    }
}

#undef T
#undef NAME
#undef CAT3
#undef CAT3_
