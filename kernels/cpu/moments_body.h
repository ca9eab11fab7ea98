/* moments_body.h - moments of rows and columns of one dtype; included by moments.c with T, NAME(x) and NEAR (relative error of a rough mean). */

void MCK(NAME(moments))(const mck_reduce *k);
void MCK(NAME(nanmoments))(const mck_reduce *k);

/* x[n] contiguous, n <= ROW_BLOCK, in 16 lanes */
static mck_moments NAME(block)(const T *x, int64_t n)
{
    T rough[16] = {0};
    int64_t j = 0;
    for (; j + 16 <= n; j += 16)
        for (int l = 0; l < 16; l++)
            rough[l] = (T)(rough[l] + x[j + l]);
    for (int l = 0; j < n; j++, l++)
        rough[l] = (T)(rough[l] + x[j]);
    double shift = 0;
    for (int l = 0; l < 16; l++)
        shift += (double)rough[l] / (double)n;
    if (!(fabs(shift) <= 1e300) || fabs(shift - (double)x[0]) <= NEAR * fabs(shift)) /* overflow: any element will do; all equal: exactly 0 */
        shift = (double)x[0];
    double s1[16] = {0}, s2[16] = {0};
    for (j = 0; j + 16 <= n; j += 16)
        for (int l = 0; l < 16; l++) {
            const double d = (double)x[j + l] - shift;
            s1[l] += d;
            s2[l] += d * d;
        }
    for (int l = 0; j < n; j++, l++) {
        const double d = (double)x[j] - shift;
        s1[l] += d;
        s2[l] += d * d;
    }
    for (int h = 8; h >= 1; h /= 2)
        for (int l = 0; l < h; l++) {
            s1[l] += s1[l + h];
            s2[l] += s2[l + h];
        }
    return settled((double)n, shift, s1[0], s2[0]);
}

/* m columns of n rows, at most COLUMN_BLOCK of them, joined to out */
MC_INLINE void NAME(column_block)(const T *x, int64_t m, int64_t n, int64_t stride, mck_moments *out, int skip)
{
    double shift[MCK_REDUCE_COLUMNS], s1[MCK_REDUCE_COLUMNS], s2[MCK_REDUCE_COLUMNS], count[MCK_REDUCE_COLUMNS];
    for (int64_t i = 0; i < m; i++)
        shift[i] = s1[i] = s2[i] = count[i] = 0;
    for (int64_t r = 0; r < n; r++) {
        const T *row = x + r * stride;
        for (int64_t i = 0; i < m; i++) {
            const int is = !skip || row[i] == row[i];
            shift[i] += is ? (double)row[i] : 0.0;
            count[i] += is ? 1.0 : 0.0;
        }
    }
    for (int64_t i = 0; i < m; i++) {
        shift[i] = count[i] > 0 ? shift[i] / count[i] : 0.0;
        double first = (double)x[i];
        for (int64_t r = 1; skip && r < n && first != first; r++)
            first = (double)x[r * stride + i];
        if (count[i] > 0 && (!(fabs(shift[i]) <= 1e300) || fabs(shift[i] - first) <= NEAR * fabs(shift[i])))
            shift[i] = first;
    }
    for (int64_t r = 0; r < n; r++) {
        const T *row = x + r * stride;
        for (int64_t i = 0; i < m; i++) {
            const double d = !skip || row[i] == row[i] ? (double)row[i] - shift[i] : 0.0;
            s1[i] += d;
            s2[i] += d * d;
        }
    }
    for (int64_t i = 0; i < m; i++) {
        const mck_moments b = settled(count[i], shift[i], s1[i], s2[i]);
        join(out + i, &b);
    }
}

MC_INLINE void NAME(all_moments)(const mck_reduce *k, int skip)
{
    mck_moments *out = k->out;
    const T *x = k->in;
    if (k->elem_stride != 1 && k->row_stride == 1 && k->m > 1) {
        for (int64_t i = 0; i < k->m; i++)
            out[i] = (mck_moments){0, 0, 0, 0};
        for (int64_t r = 0; r < k->n; r += COLUMN_BLOCK)
            NAME(column_block)(x + r * k->elem_stride, k->m, k->n - r < COLUMN_BLOCK ? k->n - r : COLUMN_BLOCK, k->elem_stride, out, skip);
        return;
    }
    T buf[ROW_BLOCK];
    for (int64_t i = 0; i < k->m; i++) {
        out[i] = (mck_moments){0, 0, 0, 0};
        for (int64_t j = 0; j < k->n; j += ROW_BLOCK) {
            const T *p = x + i * k->row_stride + j * k->elem_stride;
            const int64_t most = k->n - j < ROW_BLOCK ? k->n - j : ROW_BLOCK;
            int64_t n = most;
            if (skip) {
                n = 0;
                for (int64_t q = 0; q < most; q++) {
                    const T v = p[q * k->elem_stride];
                    buf[n] = v;
                    n += v == v;
                }
            } else if (k->elem_stride != 1) {
                for (int64_t q = 0; q < most; q++)
                    buf[q] = p[q * k->elem_stride];
            }
            if (n == 0)
                continue;
            const mck_moments b = NAME(block)(skip || k->elem_stride != 1 ? buf : p, n);
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

#undef T
#undef NEAR
#undef NAME
