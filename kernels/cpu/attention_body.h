/* attention_body.h - one dtype of attention.c; T, NAME, V, VL (elements of a vector) and OP(name)
 * are defined, TURN(v) where a block of VL x VL can be transposed; undefined at the end. */

/* ---------------------------------------------------------------- products */

/* out[c][x] = sum_k a[c a_row + k a_col] b[k][x] for C rows and X vectors; added to what stands in
 * out, or stored there. next: what will be read soon, n lines next_row apart, comes to the first
 * cache meanwhile. C and X are constants where this is called. */
MC_INLINE void FN(tile)(const int C, const int X, T *out, int64_t out_row, const T *a,
                        int64_t a_row, int64_t a_col, const T *b, int64_t b_row, int64_t n, int add,
                        const T *next, int64_t next_row)
{
    V acc[8][2], v[2];
    MC_UNROLL(8)
    for (int c = 0; c < C; c++) MC_UNROLL(2) for (int x = 0; x < X; x++) acc[c][x] = OP(set)(0);
    for (int64_t k = 0; k < n; k++, a += a_col, b += b_row, next += next_row) {
        __builtin_prefetch(next);
        MC_UNROLL(2) for (int x = 0; x < X; x++) v[x] = OP(load)(b + x * VL);
        MC_UNROLL(8) for (int c = 0; c < C; c++)
        {
            const V f = OP(set)(a[c * a_row]);
            MC_UNROLL(2) for (int x = 0; x < X; x++) acc[c][x] = OP(muladd)(f, v[x], acc[c][x]);
        }
    }
    MC_UNROLL(8)
    for (int c = 0; c < C; c++) MC_UNROLL(2) for (int x = 0; x < X; x++)
        {
            T *const to = out + c * out_row + x * VL;
            OP(store)(to, add ? OP(add)(OP(load)(to), acc[c][x]) : acc[c][x]);
        }
}

#define TILE(name, C, X)                                                                         \
    static MC_NOINLINE void FN(tile_##name)(T * out, int64_t out_row, const T *a, int64_t a_row, \
                                            int64_t a_col, const T *b, int64_t b_row, int64_t n, \
                                            int add, const T *next, int64_t next_row)            \
    {                                                                                            \
        FN(tile)(C, X, out, out_row, a, a_row, a_col, b, b_row, n, add, next, next_row);         \
    }
TILE(tall, TALL, 2)
TILE(four, 4, 2)
TILE(one, 1, 2)
TILE(tall_narrow, TALL, 1)
TILE(four_narrow, 4, 1)
TILE(one_narrow, 1, 1)
#undef TILE

/* The same for out[rows][cols]; cols: whole vectors. next: `wide` elements of each row. */
static void FN(product)(T *out, int64_t out_row, int64_t rows, int64_t cols, const T *a,
                        int64_t a_row, int64_t a_col, const T *b, int64_t b_row, int64_t n, int add,
                        const T *next, int64_t next_row, int64_t wide)
{
    enum { LINE = 64 / (int)sizeof(T) };
    int64_t at = 0;
    for (int64_t c = 0, step; c < rows; c += step) {
        step = rows - c >= TALL ? TALL : rows - c >= 4 ? 4 : 1;
        for (int64_t x = 0, two; x < cols; x += two ? 2 * VL : VL, at += LINE) {
            two = cols - x >= 2 * VL;
            const T *const line = at < wide ? next + at : b;
            (step == TALL ? two ? FN(tile_tall) : FN(tile_tall_narrow)
             : step == 4 ? two ? FN(tile_four) : FN(tile_four_narrow)
             : two ? FN(tile_one)
                   : FN(tile_one_narrow))(out + c * out_row + x, out_row, a + c * a_row, a_row,
                                          a_col, b + x, b_row, n, add, line,
                                          at < wide ? next_row : 0);
        }
    }
}

/* out[c][r] = in[r][c] */
static void FN(turn)(T *out, int64_t out_row, const T *in, int64_t in_row, int64_t rows,
                     int64_t cols)
{
    int64_t whole = 0;
#ifdef TURN
    whole = cols - cols % VL;
    for (int64_t r = 0; r + VL <= rows; r += VL)
        for (int64_t c = 0; c < whole; c += VL) {
            V v[VL];
            MC_UNROLL(16) for (int i = 0; i < VL; i++) v[i] = OP(load)(in + (r + i) * in_row + c);
            TURN(v);
            MC_UNROLL(16) for (int i = 0; i < VL; i++) OP(store)(out + (c + i) * out_row + r, v[i]);
        }
    for (int64_t r = rows - rows % VL; r < rows; r++)
        for (int64_t c = 0; c < whole; c++) out[c * out_row + r] = in[r * in_row + c];
#endif
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = whole; c < cols; c++) out[c * out_row + r] = in[r * in_row + c];
}

/* ---------------------------------------------------------------- weights */

/* s = exp(s - level) for n queries. Not inlined, n not constant: else the compiler unrolls the
 * lanes instead of vectorising them. */
static MC_NOINLINE void FN(weights)(T *s, const T *level, int64_t keys, int64_t n)
{
    for (int64_t j = 0; j < keys; j++, s += n) {
        MC_IVDEP
        for (int64_t i = 0; i < n; i++) s[i] = FN(mck_below)(s[i] - level[i]);
    }
}

/* The same, and sum += s. */
static MC_NOINLINE void FN(weights_sum)(T *s, const T *level, int64_t keys, int64_t n, T *sum)
{
    for (int64_t j = 0; j < keys; j++, s += n) {
        MC_IVDEP
        for (int64_t i = 0; i < n; i++) {
            const T w = FN(mck_below)(s[i] - level[i]);
            s[i] = w;
            sum[i] += w;
        }
    }
}

/* -inf for what a query does not see, and for places without a query. */
static void FN(hide)(const mck_attention *a, T *s, int64_t keys, int64_t first, int64_t seen,
                     int64_t n)
{
    for (int64_t j = 0; j < keys; j++) {
        T *const row = s + j * QUERIES;
        const int64_t past = a->step ? first + j - seen + 1 : 0, to = past < n ? past : n;
        int64_t left = a->window ? past + a->window : n;
        left = left < 0 ? 0 : left;
        for (int64_t i = 0; i < to; i++) row[i] = -(T)INFINITY;
        for (int64_t i = left; i < n; i++) row[i] = -(T)INFINITY;
        for (int64_t i = n; i < QUERIES; i++) row[i] = -(T)INFINITY;
    }
}

/* A block of fits becomes weights relative to ref; total: their sum so far. Where the largest fit
 * of the block exceeds ref by more than GROWTH it takes its place, and factor is by how much
 * earlier weights shrink. Gives whether some do. */
static int FN(weigh)(T *s, int64_t keys, T *ref, T *total, T *factor)
{
    enum { MANY = QUERIES / VL }; /* maxima side by side: each waits for the one before */
    T top[QUERIES], sum[QUERIES];
    V acc[MANY];
    int grown = 0;
    MC_UNROLL(4) for (int x = 0; x < MANY; x++) acc[x] = OP(set)(-(T)INFINITY);
    for (int64_t j = 0; j < keys; j++) {
        const T *const row = s + j * QUERIES;
        MC_UNROLL(4)
        for (int x = 0; x < MANY; x++) acc[x] = OP(max)(OP(load)(row + x * VL), acc[x]);
    }
    MC_UNROLL(4) for (int x = 0; x < MANY; x++) OP(store)(top + x * VL, acc[x]);
    for (int i = 0; i < QUERIES; i++) {
        const T was = ref[i], now = top[i] > was + GROWTH ? top[i] : was;
        grown |= now > was;
        factor[i] = was;
        ref[i] = now;
        top[i] = now == -(T)INFINITY ? 0 : now;
    }
    if (grown) {
        FN(weights)(factor, top, 1, QUERIES);
        for (int i = 0; i < QUERIES; i++) total[i] *= factor[i];
    }
    memset(sum, 0, sizeof sum);
    FN(weights_sum)(s, top, keys, QUERIES, sum);
    for (int i = 0; i < QUERIES; i++) total[i] += sum[i];
    return grown;
}

/* out[i] = o[i] factor[i] for n rows of e */
static void FN(rescale)(T *out, int64_t out_row, const T *o, int64_t o_row, const T *factor,
                        int64_t n, int64_t e)
{
    for (int64_t i = 0; i < n; i++, out += out_row, o += o_row)
        for (int64_t c = 0; c < e; c++) out[c] = o[c] * factor[i];
}

/* Keys that some of n queries see, the first of which sees `seen`. */
static int64_t FN(limit)(const mck_attention *a, int64_t seen, int64_t n)
{
    const int64_t most = a->step ? seen + n - 1 : a->m;
    return most < 0 ? 0 : most < a->m ? most : a->m;
}

/* First key of the blocks that some of the queries see. */
static int64_t FN(begin)(const mck_attention *a, int64_t seen)
{
    return a->window && seen > a->window ? (seen - a->window) / KEYS * KEYS : 0;
}

/* Whether some of n queries do not see all keys of a block. */
static int FN(partly)(const mck_attention *a, int64_t first, int64_t keys, int64_t seen, int64_t n)
{
    return a->step && (first + keys > seen || (a->window && first < seen + n - 1 - a->window));
}

/* Rows of e values in whole vectors: where they are, or in room. */
static const T *FN(whole)(T *room, const T *v, int64_t *row, int64_t keys, int64_t e)
{
    const int64_t wide = mck_attention_wide(e), from = *row;
    if (e % VL == 0) return v;
    *row = wide;
    for (int64_t j = 0; j < keys; j++) {
        memcpy(room + j * wide, v + j * from, (size_t)e * sizeof(T));
        memset(room + j * wide + e, 0, (size_t)(wide - e) * sizeof(T));
    }
    return room;
}

void MCK(FN(attention))(const mck_attention *a);
void MCK(FN(attention))(const mck_attention *a)
{
    const int64_t n = a->n, d = a->d, e = a->e, wide = mck_attention_wide(e),
                  cols = e % VL == 0 ? e : wide, limit = FN(limit)(a, a->seen, n),
                  begin = FN(begin)(a, a->seen);
    T *const qt = a->work, *const s = qt + d * QUERIES, *const o = s + KEYS * QUERIES,
             *const room = o + QUERIES * wide, *const ref = room + KEYS * wide,
             *const total = ref + QUERIES, *const factor = total + QUERIES;
    if (n < QUERIES) memset(qt, 0, (size_t)(d * QUERIES) * sizeof *qt);
    if (begin >= limit) memset(o, 0, (size_t)(QUERIES * wide) * sizeof *o);
    FN(turn)(qt, QUERIES, a->q, a->q_row, n, d);
    for (int64_t i = 0; i < d * QUERIES; i++) qt[i] *= (T)a->scale;
    for (int i = 0; i < QUERIES; i++) {
        ref[i] = -(T)INFINITY;
        total[i] = 0;
    }
    for (int64_t j = begin; j < limit; j += KEYS) {
        const int64_t keys = limit - j < KEYS ? limit - j : KEYS;
        const T *const k = (const T *)a->k + j * a->k_row, *v = (const T *)a->v + j * a->v_row;
        int64_t v_row = a->v_row;
        FN(product)(s, QUERIES, keys, QUERIES, k, a->k_row, 1, qt, QUERIES, d, 0, v, v_row, e);
        if (FN(partly)(a, j, keys, a->seen, n)) FN(hide)(a, s, keys, j, a->seen, n);
        if (FN(weigh)(s, keys, ref, total, factor) && j > begin)
            FN(rescale)(o, wide, o, wide, factor, n, cols);
        v = FN(whole)(room, v, &v_row, keys, e);
        FN(product)
        (o, wide, n, cols, s, 1, QUERIES, v, v_row, keys, j > begin, k + keys * a->k_row, a->k_row,
         d);
    }
    for (int i = 0; i < QUERIES; i++) {
        const T sum = total[i] == 0 ? 1 : total[i], most = ref[i] == -(T)INFINITY ? 0 : ref[i];
        factor[i] = 1 / sum;
        if (i < n) ((T *)a->level)[i] = most + FN(mck_log)(sum);
    }
    FN(rescale)(a->y, a->y_row, o, wide, factor, n, e);
}

/* ---------------------------------------------------------------- derivatives */

/* sum[i] = sum_c y g - g_level; a gradient of 0 gives 0. Not inlined, n not constant, as above. */
static MC_NOINLINE void FN(along)(T *sum, const T *y, const T *g, int64_t rows, int64_t n)
{
    for (int64_t c = 0; c < rows; c++, y += n, g += n) {
        MC_IVDEP
        for (int64_t i = 0; i < n; i++) sum[i] += g[i] == 0 ? 0 : y[i] * g[i];
    }
}

/* t = s (t - sum); weights of 0 give 0. */
static MC_NOINLINE void FN(slopes)(T *t, const T *s, const T *sum, int64_t keys, int64_t n)
{
    for (int64_t j = 0; j < keys; j++, t += n, s += n) {
        MC_IVDEP
        for (int64_t i = 0; i < n; i++) {
            const T by = t[i] - sum[i];
            t[i] = s[i] == 0 || by == 0 ? 0 : s[i] * by;
        }
    }
}

/* What a block of queries needs on the way back: rows of q scale and g in whole vectors, both
 * transposed, and for each query its level and sum. */
typedef struct FN(block) {
    T *s, *t, *q, *g, *qt, *gt, *dq, *level, *sum;
} FN(block);

static void FN(prepare)(const mck_attention *a, const FN(block) * b, int64_t first, int64_t n)
{
    const int64_t d = a->d, e = a->e, wide_d = mck_attention_wide(d),
                  wide_e = mck_attention_wide(e);
    memset(b->q, 0, (size_t)(QUERIES * wide_d) * sizeof *b->q);
    memset(b->g, 0, (size_t)(QUERIES * wide_e) * sizeof *b->g);
    for (int64_t i = 0; i < n; i++) {
        const T *const q = (const T *)a->q + (first + i) * a->q_row;
        for (int64_t c = 0; c < d; c++) b->q[i * wide_d + c] = q[c] * (T)a->scale;
        memcpy(b->g + i * wide_e, (const T *)a->g + (first + i) * a->g_row, (size_t)e * sizeof(T));
    }
    FN(turn)(b->qt, QUERIES, b->q, wide_d, QUERIES, d);
    memset(b->gt, 0, (size_t)(e * QUERIES) * sizeof(T));
    FN(turn)(b->gt, QUERIES, (const T *)a->y + first * a->y_row, a->y_row, n, e);
    /* the results lie where the gradients will */
    for (int64_t i = 0; i < QUERIES; i++) {
        b->sum[i] = i < n ? -((const T *)a->g_level)[first + i] : 0;
        b->level[i] = i < n ? ((const T *)a->level)[first + i] : 0;
    }
    FN(turn)(b->dq, QUERIES, b->g, wide_e, QUERIES, e);
    FN(along)(b->sum, b->gt, b->dq, e, QUERIES);
    memcpy(b->gt, b->dq, (size_t)(e * QUERIES) * sizeof(T));
    memset(b->dq, 0, (size_t)(d * QUERIES) * sizeof(T));
}

void MCK(FN(attention_back))(const mck_attention *a);
void MCK(FN(attention_back))(const mck_attention *a)
{
    const int64_t d = a->d, e = a->e, wide_d = mck_attention_wide(d),
                  wide_e = mck_attention_wide(e), most = d > e ? d : e;
    FN(block) b = { .s = a->work };
    b.t = b.s + KEYS * QUERIES;
    b.q = b.t + KEYS * QUERIES;
    b.g = b.q + QUERIES * wide_d;
    b.qt = b.g + QUERIES * wide_e;
    b.gt = b.qt + d * QUERIES;
    b.dq = b.gt + e * QUERIES;
    b.level = b.dq + most * QUERIES;
    b.sum = b.level + QUERIES;
    T *const dk = b.sum + QUERIES, *const dv = dk + a->m * wide_d;
    memset(dk, 0, (size_t)(a->m * (wide_d + wide_e)) * sizeof *dk);
    for (int64_t i = 0; i < a->n; i += QUERIES) {
        const int64_t n = a->n - i < QUERIES ? a->n - i : QUERIES, seen = a->seen + i * a->step,
                      limit = FN(limit)(a, seen, n);
        FN(prepare)(a, &b, i, n);
        for (int64_t j = FN(begin)(a, seen); j < limit; j += KEYS) {
            const int64_t keys = limit - j < KEYS ? limit - j : KEYS;
            const T *const k = (const T *)a->k + j * a->k_row;
            const T *const v = (const T *)a->v + j * a->v_row;
            T *const dkj = dk + j * wide_d, *const dvj = dv + j * wide_e;
            FN(product)
            (b.s, QUERIES, keys, QUERIES, k, a->k_row, 1, b.qt, QUERIES, d, 0, v, a->v_row, e);
            if (n < QUERIES || FN(partly)(a, j, keys, seen, n)) FN(hide)(a, b.s, keys, j, seen, n);
            FN(weights)(b.s, b.level, keys, QUERIES);
            FN(product)
            (b.t, QUERIES, keys, QUERIES, v, a->v_row, 1, b.gt, QUERIES, e, 0, dvj, wide_e, e);
            FN(slopes)(b.t, b.s, b.sum, keys, QUERIES);
            FN(product)
            (dvj, wide_e, keys, wide_e, b.s, QUERIES, 1, b.g, wide_e, n, 1, dkj, wide_d, d);
            FN(product)
            (dkj, wide_d, keys, wide_d, b.t, QUERIES, 1, b.q, wide_d, n, 1, k, a->k_row, d);
            FN(product)
            (b.dq, QUERIES, d, QUERIES, k, 1, a->k_row, b.t, QUERIES, keys, 1, k + keys * a->k_row,
             a->k_row, d);
        }
        for (int64_t c = 0; c < d * QUERIES; c++) b.dq[c] *= (T)a->scale;
        FN(turn)((T *)a->dq + i * d, d, b.dq, QUERIES, d, n);
    }
    for (int64_t j = 0; j < a->m; j++) {
        memcpy((T *)a->dk + j * d, dk + j * wide_d, (size_t)d * sizeof(T));
        memcpy((T *)a->dv + j * e, dv + j * wide_e, (size_t)e * sizeof(T));
    }
}

#undef TURN
#undef T
#undef NAME
#undef V
#undef VL
#undef OP
