/* softmax_body.h - one dtype of softmax.c; included with T and NAME(x) defined. Letters: m rows
 * (or columns), n elements each. */

void MCK(NAME(lse))(const mck_reduce *k);
void MCK(NAME(softmax))(const mck_softmax *k);
void MCK(NAME(softmax_ref))(const mck_softmax *k);

/* the definition */
void MCK(NAME(softmax_ref))(const mck_softmax *k)
{
    for (int64_t i = 0; i < k->m; i++) {
        const T *x = (const T *)k->in + i * k->in_row;
        T *y = (T *)k->out + i * k->out_row;
        double max = (double)x[0], sum = 0;
        for (int64_t j = 1; j < k->n; j++)
            max = (double)x[j * k->in_elem] > max ? (double)x[j * k->in_elem] : max;
        for (int64_t j = 0; j < k->n; j++)
            sum += exp((double)x[j * k->in_elem] - max);
        for (int64_t j = 0; j < k->n; j++) {
            const double d = (double)x[j * k->in_elem] - max;
            y[j * k->out_elem] = (T)(k->log ? d - log(sum) : exp(d) / sum);
        }
    }
}

#define LARGER(x, m) ((x) > (m) || (x) != (x) ? (x) : (m))

typedef T NAME(eight) __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));

/* sum of e[n] in LANES f64 lanes, n <= EXP_BLOCK */
static double NAME(lane_sum)(const T *e, int64_t n)
{
    double rest = 0;
    eight_lanes a = {0}, b = {0};
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        a += __builtin_convertvector(*(const NAME(eight) *)(e + j), eight_lanes);
        b += __builtin_convertvector(*(const NAME(eight) *)(e + j + 8), eight_lanes);
    }
    for (; j < n; j++)
        rest += (double)e[j];
    a += b;
    return (((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))) + rest;
}

/* e[n] = exp(p[n] - ref) for a multiple of LANES. Not inlined: where the compiler sees a count of
 * LANES it unrolls instead of vectorising. */
static __attribute__((noinline)) void NAME(exp_lanes)(T *e, const T *p, int64_t n, T ref)
{
    MC_IVDEP
    for (int64_t i = 0; i < (n & ~(int64_t)(LANES - 1)); i++)
        e[i] = NAME(mck_below)(p[i] - ref);
}

/* The same for any n: the last elements are computed in lanes like the others, with some before
 * them again, or in a buffer. */
MC_INLINE void NAME(exps)(T *e, const T *p, int64_t n, T ref)
{
    const int64_t whole = n & ~(int64_t)(LANES - 1);
    NAME(exp_lanes)(e, p, whole, ref);
    if (whole == n)
        return;
    if (whole && e != p) {
        NAME(exp_lanes)(e + n - LANES, p + n - LANES, LANES, ref);
        return;
    }
    T buf[LANES];
    for (int l = 0; l < LANES; l++)
        buf[l] = ref;
    for (int64_t i = whole; i < n; i++)
        buf[i - whole] = p[i];
    NAME(exp_lanes)(buf, buf, LANES, ref);
    for (int64_t i = whole; i < n; i++)
        e[i] = buf[i - whole];
}

/* sum exp(x - ref); y (may be NULL or x) keeps the terms */
static double NAME(exp_sum)(const T *x, T *y, int64_t n, T ref)
{
    T buf[EXP_BLOCK];
    double sum = 0;
    for (int64_t j = 0; j < n; j += EXP_BLOCK) {
        const int64_t k = n - j < EXP_BLOCK ? n - j : EXP_BLOCK;
        T *e = y ? y + j : buf;
        NAME(exps)(e, x + j, k, ref);
        sum += NAME(lane_sum)(e, k);
    }
    return sum;
}

static mck_lse NAME(row_block)(const T *x, int64_t n)
{
    mck_lse r;
    r.max = (double)NAME(mck_max_of)(x, n);
    r.sum = r.max == INFINITY ? r.max : NAME(exp_sum)(x, NULL, n, (T)anchor(r.max));
    return r;
}

/* largest and sum of exp(x - largest) of m columns of n rows; out (may be NULL or in) keeps the
 * terms */
MC_INLINE void NAME(column_sums)(const T *x, int64_t in_elem, T *y, int64_t out_elem, int64_t m,
                                 int64_t n, T *max, double *sum)
{
    for (int64_t i = 0; i < m; i++) {
        max[i] = x[i];
        sum[i] = 0;
    }
    for (int64_t r = 1; r < n; r++)
        for (int64_t i = 0; i < m; i++)
            max[i] = LARGER(x[r * in_elem + i], max[i]);
    T ref[MCK_REDUCE_COLUMNS];
    for (int64_t i = 0; i < m; i++)
        ref[i] = (T)anchor((double)max[i]);
    for (int64_t r = 0; r < n; r++) {
        const T *row = x + r * in_elem;
        if (y) {
            T *o = y + r * out_elem;
            MC_IVDEP
            for (int64_t i = 0; i < m; i++) {
                const T e = NAME(mck_below)(row[i] - ref[i]);
                sum[i] += (double)e;
                o[i] = e;
            }
        } else {
            for (int64_t i = 0; i < m; i++)
                sum[i] += (double)NAME(mck_below)(row[i] - ref[i]);
        }
    }
    for (int64_t i = 0; i < m; i++)
        sum[i] = (double)max[i] == INFINITY ? INFINITY : sum[i];
}

void MCK(NAME(lse))(const mck_reduce *k)
{
    mck_lse *out = k->out;
    const T *x = k->in;
    if (k->elem_stride != 1 && k->row_stride == 1 && k->m > 1) {
        T max[MCK_REDUCE_COLUMNS];
        double sum[MCK_REDUCE_COLUMNS];
        for (int64_t i = 0; i < k->m; i++)
            out[i] = (mck_lse){-INFINITY, 0};
        for (int64_t r = 0; r < k->n; r += COLUMN_BLOCK) {
            NAME(column_sums)
            (x + r * k->elem_stride, k->elem_stride, NULL, 0, k->m,
             k->n - r < COLUMN_BLOCK ? k->n - r : COLUMN_BLOCK, max, sum);
            for (int64_t i = 0; i < k->m; i++) {
                const mck_lse b = {(double)max[i], sum[i]};
                join(out + i, &b);
            }
        }
        return;
    }
    T buf[ROW_BLOCK];
    for (int64_t i = 0; i < k->m; i++) {
        out[i] = (mck_lse){-INFINITY, 0};
        for (int64_t j = 0; j < k->n; j += ROW_BLOCK) {
            const T *p = x + i * k->row_stride + j * k->elem_stride;
            const int64_t n = k->n - j < ROW_BLOCK ? k->n - j : ROW_BLOCK;
            if (k->elem_stride != 1) {
                for (int64_t q = 0; q < n; q++)
                    buf[q] = p[q * k->elem_stride];
                p = buf;
            }
            const mck_lse b = NAME(row_block)(p, n);
            join(out + i, &b);
        }
    }
}

static void NAME(softmax_row)(const mck_softmax *k, const T *x, T *y, const mck_lse *given)
{
    const int64_t n = k->n;
    const double max = given ? given->max : (double)NAME(mck_max_of)(x, n);
    if (k->log) {
        const T ref = (T)anchor(max);
        const T low = (T)mck_log_f64(given             ? given->sum
                                     : max == INFINITY ? max
                                                       : NAME(exp_sum)(x, NULL, n, ref));
        MC_IVDEP
        for (int64_t j = 0; j < n; j++)
            y[j] = (x[j] - ref) - low;
        return;
    }
    const T ref = (T)max;
    T scale = (T)(1.0 / (given ? given->sum : NAME(exp_sum)(x, y, n, ref)));
    if (given) {
        scale = anchor(max) == max ? scale : (T)NAN;
        MC_IVDEP
        for (int64_t j = 0; j < n; j++)
            y[j] = NAME(mck_below)(x[j] - ref) * scale;
        return;
    }
    for (int64_t j = 0; j < n; j++)
        y[j] *= scale;
}

static void NAME(softmax_columns)(const mck_softmax *k)
{
    const T *x = k->in;
    T *y = k->out;
    T max[MCK_REDUCE_COLUMNS], scale[MCK_REDUCE_COLUMNS];
    double sum[MCK_REDUCE_COLUMNS];
    const int64_t m = k->m;
    if (k->given) {
        for (int64_t i = 0; i < m; i++) {
            max[i] = (T)k->given[i].max;
            sum[i] = k->given[i].sum;
        }
    } else {
        NAME(column_sums)(x, k->in_elem, k->log ? NULL : y, k->out_elem, m, k->n, max, sum);
    }
    for (int64_t i = 0; i < m; i++) {
        scale[i] = (T)(k->log ? mck_log_f64(sum[i]) : 1.0 / sum[i]);
        max[i] = k->log ? (T)anchor((double)max[i]) : max[i];
        if (!k->log && anchor((double)max[i]) != (double)max[i])
            scale[i] = (T)NAN;
    }
    for (int64_t r = 0; r < k->n; r++) {
        const T *row = x + r * k->in_elem;
        T *o = y + r * k->out_elem;
        if (k->log) {
            MC_IVDEP
            for (int64_t i = 0; i < m; i++)
                o[i] = (row[i] - max[i]) - scale[i];
        } else if (k->given) {
            MC_IVDEP
            for (int64_t i = 0; i < m; i++)
                o[i] = NAME(mck_below)(row[i] - max[i]) * scale[i];
        } else {
            for (int64_t i = 0; i < m; i++)
                o[i] *= scale[i];
        }
    }
}

void MCK(NAME(softmax))(const mck_softmax *k)
{
    if (k->in_row == 1 && k->out_row == 1 && k->in_elem != 1 && k->m > 1) {
        NAME(softmax_columns)(k);
        return;
    }
    for (int64_t i = 0; i < k->m; i++)
        NAME(softmax_row)
        (k, (const T *)k->in + i * k->in_row, (T *)k->out + i * k->out_row,
         k->given ? k->given + i : NULL);
}

#undef LARGER
#undef T
#undef NAME
