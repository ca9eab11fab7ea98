/* flow_body.h - one dtype of flow.c; included with T and NAME(x) defined. */

/* Sums over a row: differences, their squares, their products with y - mean, along x and y. */
static void NAME(row_sums)(const T *up, const T *p, const T *down, const T *y, int64_t g, T mean,
                           double *sums)
{
    double tail[6] = { 0 };
    NAME(vec) s[6] = { { 0 } };
    int64_t j = 1;
    for (; j + WIDTH <= g - 1; j += WIDTH) {
        const NAME(vec) h = (VEC(p + j + 1) - VEC(p + j - 1)) * (T)0.5,
                        v = (VEC(down + j) - VEC(up + j)) * (T)0.5, d = VEC(y + j) - mean;
        s[0] += h;
        s[1] += h * h;
        s[2] += h * d;
        s[3] += v;
        s[4] += v * v;
        s[5] += v * d;
    }
    for (int64_t i = j; i <= g; i++) { /* the end of the row, then its first place */
        const int64_t q = i < g ? i : 0;
        const T h = (p[q + 1 < g ? q + 1 : 0] - p[q ? q - 1 : g - 1]) * (T)0.5,
                v = (down[q] - up[q]) * (T)0.5, d = y[q] - mean;
        tail[0] += (double)h;
        tail[1] += (double)(h * h);
        tail[2] += (double)(h * d);
        tail[3] += (double)v;
        tail[4] += (double)(v * v);
        tail[5] += (double)(v * d);
    }
    const NAME(vec) zero = { 0 };
    for (int k = 0; k < 6; k++) sums[k] += NAME(folded)(&s[k], &zero) + tail[k];
}

void MCK(NAME(ro_flow))(const void *args, int64_t begin, int64_t end, void *work)
{
    const mck_ro_flow *k = args;
    const int64_t g = k->g, n = g * g;
    (void)work;
    for (int64_t f = begin; f < end; f++) {
        const T *x = (const T *)k->x + f * n, *y = (const T *)k->next + f * n;
        double mean, var, s[6] = { 0 }, r[2];
        NAME(moments)(y, n, &mean, &var);
        for (int64_t i = 0; i < g; i++) NAME(row_sums)
        (x + (i ? i - 1 : g - 1) * g, x + i * g, x + (i + 1 < g ? i + 1 : 0) * g, y + i * g, g,
         (T)mean, s);
        const double unbiased = (double)n / (double)(n - 1), spread = sqrt(var * unbiased);
        for (int a = 0; a < 2; a++) {
            const double m = s[3 * a] / (double)n, v = s[3 * a + 1] / (double)n - m * m,
                         off = mean - (double)(T)mean;
            r[a] = (s[3 * a + 2] / (double)n - m * off) /
                   (sqrt((v > 0 ? v : 0) * unbiased) * spread + 1e-8);
        }
        T *out = (T *)k->y + 2 * f;
        out[0] = (T)sqrt(r[0] * r[0] + r[1] * r[1] + 1e-8);
        out[1] = (T)(fabs(r[0]) / (fabs(r[1]) + 1e-8));
    }
}
