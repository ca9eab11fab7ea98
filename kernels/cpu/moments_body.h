/* moments_body.h - moments of rows and columns of one dtype; included by moments.c with T,
 * NAME(x), COUNT (an integer as wide as T) and NEAR (relative error of a rough mean). */

void MCK(NAME(moments))(const mck_reduce *k);
void MCK(NAME(nanmoments))(const mck_reduce *k);
void MCK(NAME(moments4))(const mck_reduce *k);

/* A number near the mean of x[n], n > 0; exactly theirs when all are equal. */
static double NAME(rough_mean)(const T *x, int64_t n)
{
    T lane[16] = {0}, rest = 0;
    int64_t j = 0;
    for (; j + 16 <= n; j += 16)
        for (int l = 0; l < 16; l++)
            lane[l] = (T)(lane[l] + x[j + l]);
    for (; j < n; j++)
        rest = (T)(rest + x[j]);
    double mean = (double)rest / (double)n;
    for (int l = 0; l < 16; l++)
        mean += (double)lane[l] / (double)n;
    return !(fabs(mean) <= 1e300) || fabs(mean - (double)x[0]) <= NEAR * fabs(mean) ? (double)x[0]
                                                                                    : mean;
}

/* s[0 .. most - 1] = sums of the powers of x[n] - shift, in 16 lanes */
MC_INLINE void NAME(powers)(const T *x, int64_t n, double shift, int most, double *s)
{
    const mck_vec64 ref = mck_set_64(shift);
    mck_vec64 lane[4][16 / MCK_VL64];
    for (int p = 0; p < most; p++)
        for (int q = 0; q < 16 / MCK_VL64; q++)
            lane[p][q] = mck_set_64(0);
    int64_t j = 0;
    for (; j + 16 <= n; j += 16)
        for (int q = 0; q < 16 / MCK_VL64; q++) {
            const mck_vec64 d = mck_sub_64(NAME(mck_wide)(x + j + q * MCK_VL64), ref);
            lane[0][q] = mck_add_64(lane[0][q], d);
            lane[1][q] = mck_muladd_64(d, d, lane[1][q]);
            if (most > 2) {
                const mck_vec64 e = mck_mul_64(d, d);
                lane[2][q] = mck_muladd_64(e, d, lane[2][q]);
                lane[3][q] = mck_muladd_64(e, e, lane[3][q]);
            }
        }
    double rest[4] = {0};
    for (; j < n; j++) {
        const double d = (double)x[j] - shift, e = d * d;
        rest[0] += d;
        rest[1] += e;
        rest[2] += e * d;
        rest[3] += e * e;
    }
    for (int p = 0; p < most; p++) {
        double sum[16];
        for (int q = 0; q < 16 / MCK_VL64; q++)
            mck_store_64(sum + q * MCK_VL64, lane[p][q]);
        for (int h = 8; h >= 1; h /= 2)
            for (int l = 0; l < h; l++)
                sum[l] += sum[l + h];
        s[p] = sum[0] + rest[p];
    }
}

/* x[n] contiguous, n <= ROW_BLOCK, around shift */
static mck_moments NAME(around)(const T *x, int64_t n, double shift)
{
    double s[2];
    NAME(powers)(x, n, shift, 2, s);
    return settled((double)n, shift, s[0], s[1]);
}

/* guess: a number that may lie near the mean. Where it does not, within a spread, the block is
 * taken again around its own mean. */
static mck_moments NAME(block)(const T *x, int64_t n, double guess)
{
    mck_moments b = NAME(around)(x, n, guess);
    return close_enough(&b, guess) ? b : NAME(around)(x, n, NAME(rough_mean)(x, n));
}

#define KEPT(v, ref) (skip && (v) != (v) ? 0.0 : (double)(v) - (ref))
/* shift[m] = numbers near the means of n rows, and how many numbers there are */
MC_INLINE void NAME(column_means)(const T *x, int64_t m, int64_t n, int64_t stride, double *shift,
                                  double *count, int skip)
{
    for (int64_t i = 0; i < m; i++)
        shift[i] = count[i] = 0;
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < m; i++) {
            shift[i] += KEPT(x[r * stride + i], 0.0);
            count[i] += skip && x[r * stride + i] != x[r * stride + i] ? 0.0 : 1.0;
        }
    for (int64_t i = 0; i < m; i++) {
        double first = (double)x[i];
        for (int64_t r = 1; skip && r < n && first != first; r++)
            first = (double)x[r * stride + i];
        shift[i] = count[i] > 0 ? shift[i] / count[i] : 0.0;
        if (count[i] > 0 &&
            (!(fabs(shift[i]) <= 1e300) || fabs(shift[i] - first) <= NEAR * fabs(shift[i])))
            shift[i] = first;
    }
}

/* The same sums around shift[m]; four rows at a time, so that sums are read and written less often.
 * Skipping counts too. */
MC_INLINE void NAME(columns_around)(const T *x, int64_t m, int64_t n, int64_t stride,
                                    const double *shift, double *s1, double *s2, double *count,
                                    int skip)
{
    for (int64_t i = 0; i < m; i++) {
        s1[i] = s2[i] = 0;
        count[i] = skip ? 0 : (double)n;
    }
    int64_t r = 0;
    for (; r + 4 <= n; r += 4) {
        const T *a = x + r * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        for (int64_t i = 0; i < m; i++) {
            const double p = KEPT(a[i], shift[i]), q = KEPT(b[i], shift[i]),
                         u = KEPT(c[i], shift[i]), v = KEPT(d[i], shift[i]);
            s1[i] += (p + q) + (u + v);
            s2[i] += (p * p + q * q) + (u * u + v * v);
        }
        for (int64_t i = 0; skip && i < m; i++)
            count[i] += ((a[i] == a[i] ? 1.0 : 0.0) + (b[i] == b[i] ? 1.0 : 0.0)) +
                        ((c[i] == c[i] ? 1.0 : 0.0) + (d[i] == d[i] ? 1.0 : 0.0));
    }
    for (; r < n; r++)
        for (int64_t i = 0; i < m; i++) {
            const double p = KEPT(x[r * stride + i], shift[i]);
            s1[i] += p;
            s2[i] += p * p;
            count[i] += skip && x[r * stride + i] == x[r * stride + i] ? 1.0 : 0.0;
        }
}

/* m columns of n rows, at most COLUMN_BLOCK of them, joined to out; what out holds already says
 * where the means may lie */
MC_INLINE void NAME(column_block)(const T *x, int64_t m, int64_t n, int64_t stride,
                                  mck_moments *out, int first, int skip)
{
    double shift[MCK_REDUCE_COLUMNS], s1[MCK_REDUCE_COLUMNS], s2[MCK_REDUCE_COLUMNS],
        count[MCK_REDUCE_COLUMNS];
    int again = first;
    if (!first) {
        for (int64_t i = 0; i < m; i++)
            shift[i] = out[i].mean;
        NAME(columns_around)(x, m, n, stride, shift, s1, s2, count, skip);
        for (int64_t i = 0; i < m; i++) {
            const mck_moments b = settled(count[i], shift[i], s1[i], s2[i]);
            again |= !close_enough(&b, shift[i]);
        }
    }
    if (again) {
        NAME(column_means)(x, m, n, stride, shift, count, skip);
        NAME(columns_around)(x, m, n, stride, shift, s1, s2, count, skip);
    }
    for (int64_t i = 0; i < m; i++) {
        const mck_moments b = settled(count[i], shift[i], s1[i], s2[i]);
        join(out + i, &b);
    }
}
#undef KEPT

MC_INLINE void NAME(all_moments)(const mck_reduce *k, int skip)
{
    mck_moments *out = k->out;
    const T *x = k->in;
    if (k->elem_stride != 1 && k->row_stride == 1 && k->m > 1) {
        for (int64_t i = 0; i < k->m; i++)
            out[i] = (mck_moments){0, 0, 0, 0};
        for (int64_t r = 0; r < k->n; r += COLUMN_BLOCK)
            NAME(column_block)
            (x + r * k->elem_stride, k->m, k->n - r < COLUMN_BLOCK ? k->n - r : COLUMN_BLOCK,
             k->elem_stride, out, r == 0, skip);
        return;
    }
    T buf[ROW_BLOCK];
    for (int64_t i = 0; i < k->m; i++) {
        out[i] = (mck_moments){0, 0, 0, 0};
        for (int64_t j = 0; j < k->n; j += ROW_BLOCK) {
            const T *p = x + i * k->row_stride + j * k->elem_stride;
            const int64_t most = k->n - j < ROW_BLOCK ? k->n - j : ROW_BLOCK;
            int64_t n = most;
            if (skip && k->elem_stride == 1) {
                COUNT bad = 0;
                for (int64_t q = 0; q < most; q++)
                    bad += p[q] != p[q];
                n = bad ? 0 : most;
            }
            int moved = k->elem_stride != 1 || n == 0;
            if (skip && moved) {
                n = 0;
                for (int64_t q = 0; q < most; q++) {
                    const T v = p[q * k->elem_stride];
                    buf[n] = v;
                    n += v == v;
                }
            } else if (moved) {
                for (int64_t q = 0; q < most; q++)
                    buf[q] = p[q * k->elem_stride];
            }
            if (n == 0)
                continue;
            const T *row = moved ? buf : p;
            const mck_moments b =
                NAME(block)(row, n, out[i].n > 0 ? out[i].mean : NAME(rough_mean)(row, n));
            join(out + i, &b);
        }
    }
}

void MCK(NAME(moments))(const mck_reduce *k)
{
    NAME(all_moments)(k, 0);
}

void MCK(NAME(nanmoments))(const mck_reduce *k)
{
    NAME(all_moments)(k, 1);
}

/* the same, powers up to the fourth */
static mck_moments4 NAME(around4)(const T *x, int64_t n, double shift)
{
    double s[4];
    NAME(powers)(x, n, shift, 4, s);
    return settled4((double)n, shift, s[0], s[1], s[2], s[3]);
}

/* Columns are rows with a stride here: their piece is in cache. */
void MCK(NAME(moments4))(const mck_reduce *k)
{
    mck_moments4 *out = k->out;
    T buf[ROW_BLOCK];
    for (int64_t i = 0; i < k->m; i++) {
        out[i] = (mck_moments4){0, 0, 0, 0, 0, 0};
        for (int64_t j = 0; j < k->n; j += ROW_BLOCK) {
            const T *p = (const T *)k->in + i * k->row_stride + j * k->elem_stride;
            const int64_t n = k->n - j < ROW_BLOCK ? k->n - j : ROW_BLOCK;
            for (int64_t q = 0; q < n && k->elem_stride != 1; q++)
                buf[q] = p[q * k->elem_stride];
            p = k->elem_stride != 1 ? buf : p;
            const double guess = out[i].n > 0 ? out[i].mean : NAME(rough_mean)(p, n);
            mck_moments4 b = NAME(around4)(p, n, guess);
            const mck_moments low = {b.n, b.mean, b.low, b.m2};
            if (!close_enough(&low, guess))
                b = NAME(around4)(p, n, NAME(rough_mean)(p, n));
            join4(out + i, &b);
        }
    }
}

#undef T
#undef NEAR
#undef COUNT
#undef NAME
