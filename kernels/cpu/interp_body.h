/* interp_body.h - interpolation of one dtype; included by interp.c with T and NAME defined. */
#define CAT3_(a, b) a##_##b
#define CAT3(a, b) CAT3_(a, b)

/* The largest j in [0, k - 1) with knot[j] <= x, 0 when there is none; near: a guess. x is not NaN. */
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

void MCK(CAT3(interp, NAME))(const mck_interp *a);
void MCK(CAT3(interp, NAME))(const mck_interp *a)
{
    const T *x = a->in, *knot = a->knots, *v = a->values;
    T *out = a->out;
    const int64_t k = a->k;
    int64_t j = 0;
    for (int64_t i = 0; i < a->n; i++) {
        const T q = x[i];
        if (q != q) {
            out[i] = q;
        } else if (q < knot[0]) {
            out[i] = a->left_given ? (T)a->left : v[0];
        } else if (q > knot[k - 1]) {
            out[i] = a->right_given ? (T)a->right : v[k - 1];
        } else if (k == 1 || q == knot[k - 1]) {
            out[i] = v[k - 1];
        } else {
            j = CAT3(interval, NAME)(knot, k, q, j);
            if (knot[j] == q) {
                out[i] = v[j];
                continue;
            }
            const double slope = ((double)v[j + 1] - (double)v[j]) / ((double)knot[j + 1] - (double)knot[j]);
            double r = slope * ((double)q - (double)knot[j]) + (double)v[j];
            if (r != r) r = slope * ((double)q - (double)knot[j + 1]) + (double)v[j + 1];
            if (r != r && v[j] == v[j + 1]) r = (double)v[j];
            out[i] = (T)r;
        }
    }
}

/* sum_p coef[p][j][:] d^nu/dx^nu (x - knot[j])^(c - 1 - p); values: coef[c][k - 1][m]. outside: NaN beyond the
 * knots instead of the outermost pieces. */
void MCK(CAT3(ppoly, NAME))(const mck_interp *a);
void MCK(CAT3(ppoly, NAME))(const mck_interp *a)
{
    const T *x = a->in, *knot = a->knots, *coef = a->values;
    T *out = a->out;
    const int64_t k = a->k, m = a->m, c = a->c, nu = a->nu;
    int64_t j = 0;
    for (int64_t i = 0; i < a->n; i++, out += m) {
        const T q = x[i];
        if (q != q || (a->outside && (q < knot[0] || q > knot[k - 1]))) {
            for (int64_t s = 0; s < m; s++) out[s] = (T)NAN;
            continue;
        }
        j = CAT3(interval, NAME)(knot, k, q, j);
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
}

#undef T
#undef NAME
#undef CAT3
#undef CAT3_
