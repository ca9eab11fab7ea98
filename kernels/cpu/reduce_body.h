/* reduce_body.h - row and column reductions of one dtype; included by reduce.c with T, NAME, ACC,
 * KIND, for floats with WANT_ORDER BITS, VEC and VL (the lanes of mck_lanes.h) and, with WANT_NAN,
 * COUNT (an integer as wide as T) defined.
 *
 * Row form: m rows of n elements at distance row_stride, walked with elem_stride. Column form
 * (row_stride 1, elem_stride > 1): m contiguous columns. Sums run in fixed lanes of ACC, which
 * take two terms at a time, added in T: the error of a f32 sum is that of one addition, however
 * long the row. KIND: 0 integer, 1 float, 2 complex (T is the real type). */

#define CAT3_(a, b) a##_##b
#define CAT3(a, b) CAT3_(a, b)
#define FN(op) MCK(CAT3(op, NAME))
#define COLUMNS(k) ((k)->elem_stride != 1 && (k)->row_stride == 1 && (k)->m > 1)

#if KIND == 2
#define WIDTH 2
#else
#define WIDTH 1
#endif

#define BLOCK 512
#define BESIDE CAT3(CAT3(beside, NAME), T)
/* elements [i, i + n) of a row, n <= BLOCK: where they stand, or copied next to each other */
MC_INLINE const T *BESIDE(const T *x, int64_t i, int64_t n, int64_t stride, T *buf)
{
    const T *p = x + i * stride * WIDTH;
    if (stride == 1)
        return p;
    if (stride == 2) { /* a distance known here is a shuffle of vectors */
        for (int64_t j = 0; j < n; j++)
            for (int w = 0; w < WIDTH; w++)
                buf[j * WIDTH + w] = p[2 * j * WIDTH + w];
    } else if (stride == 3) {
        for (int64_t j = 0; j < n; j++)
            for (int w = 0; w < WIDTH; w++)
                buf[j * WIDTH + w] = p[3 * j * WIDTH + w];
    } else {
        for (int64_t j = 0; j < n; j++)
            for (int w = 0; w < WIDTH; w++)
                buf[j * WIDTH + w] = p[j * stride * WIDTH + w];
    }
    return buf;
}

#if defined(WANT_SUM)
#if defined(WANT_NAN)
#define TERM(v) (skip && (v) != (v) ? (T)0 : (v))
#else
#define TERM(v) (v)
#endif
/* n elements (pairs for complex) -> acc[WIDTH] in LANES lanes that take two at a time, in the order
 * of memory: read in another one (eight terms as a tree), the hardware reads ahead half as fast.
 * skip: NaN count as UNIT. */
#define FOLD_ROW(op, UNIT, JOIN, PAIR)                                                        \
    MC_INLINE void CAT3(op##_row, NAME)(ACC *acc, const T *x, int64_t n, int64_t stride,     \
                                        int skip)                                             \
    {                                                                                         \
        (void)skip;                                                                           \
        MC_ALIGNED(64) T buf[BLOCK];                                                          \
        ACC lane[LANES];                                                                      \
        for (int l = 0; l < LANES; l++) lane[l] = UNIT;                                       \
        for (int64_t i = 0; i < n; i += BLOCK / WIDTH) {                                      \
            const int64_t most = n - i < BLOCK / WIDTH ? n - i : BLOCK / WIDTH,               \
                          len = most * WIDTH;                                                 \
            const T *v = BESIDE(x, i, most, stride, buf);                                     \
            int64_t j = 0;                                                                    \
            MC_UNROLL(1)                                                                      \
            for (; j + 2 * LANES <= len; j += 2 * LANES)                                      \
                for (int l = 0; l < LANES; l++)                                               \
                    lane[l] = JOIN(lane[l], PAIR(TERM(v[j + l]), TERM(v[j + LANES + l])));    \
            for (; j + LANES <= len; j += LANES)                                              \
                for (int l = 0; l < LANES; l++) lane[l] = JOIN(lane[l], (ACC)TERM(v[j + l])); \
            for (int l = 0; j < len; j++, l++) lane[l] = JOIN(lane[l], (ACC)TERM(v[j]));      \
        }                                                                                     \
        for (int h = LANES / 2; h >= WIDTH; h /= 2)                                           \
            for (int l = 0; l < h; l++) lane[l] = JOIN(lane[l], lane[l + h]);                 \
        for (int w = 0; w < WIDTH; w++) acc[w] = lane[w];                                     \
    }
#define ADD(a, b) ((a) + (b))
#define ADD_PAIR(a, b) ((ACC)(T)((a) + (b)))
FOLD_ROW(sum, 0, ADD, ADD_PAIR)
#undef ADD_PAIR
#undef ADD

#if KIND == 1
/* Rows of n <= 8 neighbours, n known to the compiler: sum_row without the lanes that hold zeros,
 * the same bits. */
MC_INLINE void CAT3(sum_short, NAME)(ACC *out, const T *x, int64_t m, int64_t row, int n, int skip)
{
    (void)skip;
    for (int64_t i = 0; i < m; i++, x += row) {
        ACC lane[8] = {0};
        for (int l = 0; l < n; l++)
            lane[l] += (ACC)TERM(x[l]);
        for (int h = n > 4 ? 4 : 2; h > 0; h /= 2)
            for (int l = 0; l < h; l++)
                lane[l] += lane[l + h];
        out[i] = lane[0];
    }
}
#define SHORT(n) case n: CAT3(sum_short, NAME)(out, x, k->m, k->row_stride, n, skip); return;
#endif

MC_INLINE void CAT3(sums, NAME)(const mck_reduce *k, int skip)
{
    (void)skip;
    ACC *out = k->out;
    const T *x = k->in;
    if (!COLUMNS(k)) {
#if KIND == 1
        if (k->elem_stride == 1)
            switch (k->n) {
                SHORT(1) SHORT(2) SHORT(3) SHORT(4) SHORT(5) SHORT(6) SHORT(7) SHORT(8)
            }
#undef SHORT
#endif
        for (int64_t i = 0; i < k->m; i++)
            CAT3(sum_row, NAME)
            (out + i * WIDTH, x + i * k->row_stride * WIDTH, k->n, k->elem_stride, skip);
        return;
    }
    const int64_t m = k->m * WIDTH, s = k->elem_stride * WIDTH;
    for (int64_t i = 0; i < m; i++)
        out[i] = 0;
    int64_t r = 0;
    for (; r + 4 <= k->n; r += 4) {
        const T *a = x + r * s, *b = a + s, *c = b + s, *d = c + s;
        MC_IVDEP
        for (int64_t i = 0; i < m; i++)
            out[i] += ((ACC)TERM(a[i]) + (ACC)TERM(b[i])) + ((ACC)TERM(c[i]) + (ACC)TERM(d[i]));
    }
    for (; r < k->n; r++) {
        MC_IVDEP
        for (int64_t i = 0; i < m; i++)
            out[i] += (ACC)TERM(x[r * s + i]);
    }
}

void FN(sum)(const mck_reduce *k) { CAT3(sums, NAME)(k, 0); }

#if defined(WANT_NAN) && KIND == 1
/* status[m]: how many elements are numbers */
void FN(nansum)(const mck_reduce *k)
{
    const T *x = k->in;
    CAT3(sums, NAME)(k, 1);
    if (COLUMNS(k)) {
        for (int64_t i = 0; i < k->m; i++)
            k->status[i] = 0;
        for (int64_t r = 0; r < k->n; r++) {
            const T *row = x + r * k->elem_stride;
            for (int64_t i = 0; i < k->m; i++)
                k->status[i] += row[i] == row[i];
        }
        return;
    }
    for (int64_t i = 0; i < k->m; i++) {
        const T *row = x + i * k->row_stride;
        COUNT count = 0;
        if (k->elem_stride == 1)
            for (int64_t j = 0; j < k->n; j++)
                count += row[j] == row[j];
        else
            for (int64_t j = 0; j < k->n; j++)
                count += row[j * k->elem_stride] == row[j * k->elem_stride];
        k->status[i] = count;
    }
}
#endif

#if KIND != 2
#define MUL(a, b) ((a) * (b))
#define MUL_PAIR(a, b) ((ACC)(a) * (ACC)(b))
FOLD_ROW(prod, 1, MUL, MUL_PAIR)
#undef MUL_PAIR
#undef MUL
#endif
#undef FOLD_ROW
#undef TERM

void FN(prod)(const mck_reduce *k)
{
    ACC *out = k->out;
    const T *x = k->in;
    for (int64_t i = 0; i < k->m; i++) {
        const T *row = x + i * k->row_stride * WIDTH;
#if KIND == 2
        ACC re = 1, im = 0;
        for (int64_t j = 0; j < k->n; j++) {
            ACC a = (ACC)row[2 * j * k->elem_stride], b = (ACC)row[2 * j * k->elem_stride + 1];
            ACC t = re * a - im * b;
            im = re * b + im * a;
            re = t;
        }
        out[2 * i] = re;
        out[2 * i + 1] = im;
#else
        CAT3(prod_row, NAME)(out + i, row, k->n, k->elem_stride, 0);
#endif
    }
}
#endif

#if defined(WANT_ORDER)
#if KIND == 1
#define BETTER_MAX(x, m) (((x) > (m)) | ((x) != (x)))
#define BETTER_MIN(x, m) (((x) < (m)) | ((x) != (x)))
#else
#define BETTER_MAX(x, m) ((x) > (m))
#define BETTER_MIN(x, m) ((x) < (m))
#endif
/* The extreme of n neighbours; a NaN wins. */
#if KIND == 1
#define BLOCK_OF(op, BETTER)                                  \
    MC_INLINE T CAT3(op##_block, NAME)(const T *x, int64_t n) \
    {                                                         \
        return MCK_CAT(mck_##op##_of, NAME)(x, n);            \
    }
#else
#define BLOCK_OF(op, BETTER)                                                  \
    MC_INLINE T CAT3(op##_block, NAME)(const T *x, int64_t n)                 \
    {                                                                         \
        T m = x[0];                                                           \
        int64_t i = 0;                                                        \
        if (n >= 2 * LANES) {                                                 \
            T lane[LANES];                                                    \
            for (int l = 0; l < LANES; l++)                                   \
                lane[l] = x[l];                                               \
            for (i = LANES; i + LANES <= n; i += LANES)                       \
                for (int l = 0; l < LANES; l++)                               \
                    lane[l] = BETTER(x[i + l], lane[l]) ? x[i + l] : lane[l]; \
            for (int l = 0; l < LANES; l++)                                   \
                m = m == m && BETTER(lane[l], m) ? lane[l] : m;               \
        }                                                                     \
        for (; i < n; i++)                                                    \
            m = m == m && BETTER(x[i], m) ? x[i] : m;                         \
        return m;                                                             \
    }
#endif
BLOCK_OF(max, BETTER_MAX)
BLOCK_OF(min, BETTER_MIN)
#undef BLOCK_OF

/* The first place of `best` among n elements. */
MC_INLINE int64_t CAT3(place, NAME)(const T *x, int64_t n, int64_t stride, T best)
{
    int64_t at = 0;
#if KIND == 1
    if (best != best) {
        while (at + 1 < n && x[at * stride] == x[at * stride])
            at++;
        return at;
    }
#endif
    for (; stride == 1 && at + 64 <= n; at += 64) {
        int hit = 0;
        for (int l = 0; l < 64; l++)
            hit |= x[at + l] == best;
        if (hit)
            break;
    }
    while (at + 1 < n && x[at * stride] != best)
        at++;
    return at;
}

/* Columns: o = the better of o and x[0..rows - 1][i], rows apart by s. */
#if KIND == 1 && !defined(MCK_PLAIN)
#define COLUMNS_OF(op, BETTER)                                                         \
    MC_INLINE void CAT3(op##_columns, NAME)(T *out, const T *x, int64_t m, int64_t s, \
                                            int64_t rows)                              \
    {                                                                                  \
        int64_t i = 0;                                                                 \
        for (; i + VL <= m; i += VL) {                                                 \
            VEC o = MCK_CAT(mck_load, BITS)(out + i);                                  \
            for (int64_t r = 0; r < rows; r++) {                                       \
                const VEC v = MCK_CAT(mck_load, BITS)(x + r * s + i),                  \
                          b = MCK_CAT(mck_##op, BITS)(v, o);                           \
                const __typeof__(v != v) nan = v != v;                                 \
                o = (VEC)(((__typeof__(nan))v & nan) | ((__typeof__(nan))b & ~nan));   \
            }                                                                          \
            MCK_CAT(mck_store, BITS)(out + i, o);                                      \
        }                                                                              \
        for (; i < m; i++)                                                             \
            for (int64_t r = 0; r < rows; r++)                                         \
                out[i] = BETTER(x[r * s + i], out[i]) ? x[r * s + i] : out[i];         \
    }
#else
#define COLUMNS_OF(op, BETTER)                                                                 \
    MC_INLINE void CAT3(op##_columns, NAME)(T *out, const T *x, int64_t m, int64_t s,         \
                                            int64_t rows)                                      \
    {                                                                                          \
        for (int64_t r = 0; r < rows; r++) {                                                   \
            const T *row = x + r * s;                                                          \
            MC_IVDEP                                                                           \
            for (int64_t i = 0; i < m; i++) out[i] = BETTER(row[i], out[i]) ? row[i] : out[i]; \
        }                                                                                      \
    }
#endif
COLUMNS_OF(max, BETTER_MAX)
COLUMNS_OF(min, BETTER_MIN)
#undef COLUMNS_OF

/* The extreme of a row; *first: where the block of BLOCK elements begins that holds it first. */
#define ORDER(op, BETTER)                                                                          \
    MC_INLINE T CAT3(op##_row, NAME)(const T *x, int64_t n, int64_t stride, int64_t *first)        \
    {                                                                                              \
        MC_ALIGNED(64) T buf[BLOCK];                                                               \
        T m = x[0];                                                                                \
        *first = 0;                                                                                \
        for (int64_t i = 0; i < n; i += BLOCK) {                                                   \
            const int64_t len = n - i < BLOCK ? n - i : BLOCK;                                     \
            const T *v = BESIDE(x, i, len, stride, buf);                                           \
            const T best = CAT3(op##_block, NAME)(v, len);                                         \
            if (m == m && BETTER(best, m)) {                                                       \
                m = best;                                                                          \
                *first = i;                                                                        \
            }                                                                                      \
        }                                                                                          \
        return m;                                                                                  \
    }                                                                                              \
    void FN(op)(const mck_reduce *k)                                                               \
    {                                                                                              \
        T *out = k->out;                                                                           \
        const T *x = k->in;                                                                        \
        if (!COLUMNS(k)) {                                                                         \
            int64_t first;                                                                         \
            for (int64_t i = 0; i < k->m; i++)                                                     \
                out[i] = k->elem_stride == 1 ? CAT3(op##_block, NAME)(x + i * k->row_stride, k->n) \
                                             : CAT3(op##_row, NAME)(x + i * k->row_stride, k->n,   \
                                                                    k->elem_stride, &first);       \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < k->m; i++) out[i] = x[i];                                          \
        for (int64_t r = 1; r < k->n; r += 8)                                                      \
            CAT3(op##_columns, NAME)                                                               \
            (out, x + r * k->elem_stride, k->m, k->elem_stride, k->n - r < 8 ? k->n - r : 8);      \
    }                                                                                              \
    void FN(arg##op)(const mck_reduce *k)                                                          \
    {                                                                                              \
        int64_t *out = k->out;                                                                     \
        for (int64_t i = 0; i < k->m; i++) {                                                       \
            const T *x = (const T *)k->in + i * k->row_stride;                                     \
            int64_t first;                                                                         \
            const T best = CAT3(op##_row, NAME)(x, k->n, k->elem_stride, &first);                  \
            out[i] = first +                                                                       \
                     CAT3(place, NAME)(x + first * k->elem_stride, k->n - first, k->elem_stride,   \
                                       best) +                                                     \
                     k->base;                                                                      \
        }                                                                                          \
    }
ORDER(max, BETTER_MAX)
ORDER(min, BETTER_MIN)
#undef ORDER
#undef BETTER_MAX
#undef BETTER_MIN
#endif

#if defined(WANT_NAN)
#define NOT_NAN(v) ((v)[0] == (v)[0] && (v)[WIDTH - 1] == (v)[WIDTH - 1])
/* Copies with NaN replaced by p[0] (+ i p[1]): [m][n] for rows, [n][m] for columns. status[m]: how
 * many elements are numbers. */
void FN(nanfill)(const mck_reduce *k)
{
    T *out = k->out;
    const T *x = k->in;
    const int64_t s = k->elem_stride * WIDTH;
    const T fill[2] = {(T)k->p[0], (T)k->p[1]};
    for (int64_t i = 0; i < k->m; i++)
        k->status[i] = 0;
    if (COLUMNS(k)) {
        for (int64_t r = 0; r < k->n; r++) {
            const T *row = x + r * s;
            MC_IVDEP
            for (int64_t i = 0; i < k->m; i++) {
                const int is = NOT_NAN(row + i * WIDTH);
                for (int w = 0; w < WIDTH; w++)
                    out[(r * k->m + i) * WIDTH + w] = is ? row[i * WIDTH + w] : fill[w];
                k->status[i] += is;
            }
        }
        return;
    }
    for (int64_t i = 0; i < k->m; i++) {
        const T *row = x + i * k->row_stride * WIDTH;
        T *o = out + i * k->n * WIDTH;
        COUNT count = 0; /* as wide as T: rows are pieces of at most MCK_REDUCE_CHUNK */
        if (s == WIDTH)
            for (int64_t j = 0; j < k->n; j++) {
                const int is = NOT_NAN(row + j * WIDTH);
                for (int w = 0; w < WIDTH; w++)
                    o[j * WIDTH + w] = is ? row[j * WIDTH + w] : fill[w];
                count += is;
            }
        else
            for (int64_t j = 0; j < k->n; j++) {
                const int is = NOT_NAN(row + j * s);
                for (int w = 0; w < WIDTH; w++)
                    o[j * WIDTH + w] = is ? row[j * s + w] : fill[w];
                count += is;
            }
        k->status[i] = count;
    }
}
#if KIND == 1
/* One row whose NaN become the number before them, which never wins as the first extreme; those in
 * front become the first number. status: how many elements are numbers, and where the first stands
 * (n when there is none). */
void FN(nanhold)(const mck_reduce *k)
{
    T *out = k->out;
    const T *x = k->in;
    int64_t first = 0, count = 0;
    while (first < k->n && x[first * k->elem_stride] != x[first * k->elem_stride])
        first++;
    T hold = first < k->n ? x[first * k->elem_stride] : 0;
    for (int64_t j = 0; j < k->n; j++) {
        const T v = x[j * k->elem_stride];
        hold = v == v ? v : hold;
        count += v == v;
        out[j] = hold;
    }
    k->status[0] = count;
    k->status[1] = first;
}
#endif
#undef NOT_NAN
#endif

#undef FN
#undef WIDTH
#undef COLUMNS
#undef CAT3
#undef CAT3_
#undef T
#undef NAME
#undef ACC
#undef KIND
#undef LANES
#undef BITS
#undef VEC
#undef VL
#undef BLOCK
#undef BESIDE
#undef WANT_SUM
#undef WANT_ORDER
#undef WANT_NAN
#undef COUNT
