/* conv_body.h - the loops of conv.c for one dtype; T, NAME, V, VL (elements of a vector) and
 * OP(name) are defined, TURN(v) where a block of VL x VL can be transposed; undefined at the
 * end. */

/* ---------------------------------------------------------------- rows: tiles of C channels and
 * X vectors of places */

/* C and X are constants where this is called; add: to what stands in out. */
MC_INLINE void FN(tile)(const int C, const int X, T *out, int64_t out_row, const T *in,
                        const int64_t *off, const T *w, int64_t taps, int add)
{
    V acc[4][8], v[8];
    MC_UNROLL(4)
    for (int c = 0; c < C; c++) MC_UNROLL(8) for (int x = 0; x < X; x++) acc[c][x] = OP(set)(0);
    for (int64_t k = 0; k < taps; k++) {
        const T *const row = in + off[k];
        MC_UNROLL(8) for (int x = 0; x < X; x++) v[x] = OP(load)(row + x * VL);
        MC_UNROLL(4) for (int c = 0; c < C; c++)
        {
            const V f = OP(set)(w[k * C + c]);
            MC_UNROLL(8) for (int x = 0; x < X; x++) acc[c][x] = OP(muladd)(f, v[x], acc[c][x]);
        }
    }
    MC_UNROLL(4) for (int c = 0; c < C; c++) MC_UNROLL(8) for (int x = 0; x < X; x++)
    {
        T *const o = out + c * out_row + x * VL;
        OP(store)(o, add ? OP(add)(OP(load)(o), acc[c][x]) : acc[c][x]);
    }
}

#define TILES(C, name, X)                                                                       \
    static MC_NOINLINE void FN(tile_##C##_##name)(T * out, int64_t out_row, const T *in,        \
                                                  const int64_t *off, const T *w, int64_t taps, \
                                                  int add)                                      \
    {                                                                                           \
        FN(tile)(C, X, out, out_row, in, off, w, taps, add);                                    \
    }
TILES(4, wide, WIDE4)
TILES(3, wide, WIDE3)
TILES(2, wide, WIDE2)
TILES(1, wide, WIDE1)
TILES(3, one, 1)
TILES(2, one, 1)
TILES(1, one, 1)
#undef TILES

/* P panels, each `panel` elements behind the one before, by X vectors; constants where this is
 * called. */
MC_INLINE void FN(stack)(const int P, const int X, T *out, int64_t out_row, const T *in,
                         const int64_t *off, const T *w, int64_t panel, int64_t taps, int add)
{
    V acc[4 * 3][2], v[2];
    const T *at[3];
    MC_UNROLL(3) for (int h = 0; h < P; h++) at[h] = w + h * panel;
    MC_UNROLL(12)
    for (int c = 0; c < 4 * P; c++) MC_UNROLL(2) for (int x = 0; x < X; x++) acc[c][x] = OP(set)(0);
    for (int64_t k = 0; k < taps; k++) {
        const T *const row = in + off[k];
        MC_UNROLL(2) for (int x = 0; x < X; x++) v[x] = OP(load)(row + x * VL);
        MC_UNROLL(3) for (int h = 0; h < P; h++) MC_UNROLL(4) for (int c = 0; c < 4; c++)
        {
            const V f = OP(set)(at[h][k * 4 + c]);
            MC_UNROLL(2)
            for (int x = 0; x < X; x++) acc[4 * h + c][x] = OP(muladd)(f, v[x], acc[4 * h + c][x]);
        }
    }
    MC_UNROLL(12) for (int c = 0; c < 4 * P; c++) MC_UNROLL(2) for (int x = 0; x < X; x++)
    {
        T *const o = out + c * out_row + x * VL;
        OP(store)(o, add ? OP(add)(OP(load)(o), acc[c][x]) : acc[c][x]);
    }
}

#define STACK(name, P, X)                                                                   \
    static MC_NOINLINE void FN(stack_##name)(T * out, int64_t out_row, const T *in,         \
                                             const int64_t *off, const T *w, int64_t panel, \
                                             int64_t taps, int add)                         \
    {                                                                                       \
        FN(stack)(P, X, out, out_row, in, off, w, panel, taps, add);                        \
    }
STACK(1_1, 1, 1)
STACK(2_1, 2, 1)
STACK(3_1, 3, 1)
STACK(1_2, 1, 2)
STACK(2_2, 2, 2)
STACK(3_2, 3, 2)
#undef STACK
static void (*const FN(stacks)[3][2])(T *, int64_t, const T *, const int64_t *, const T *, int64_t,
                                      int64_t, int) = { { FN(stack_1_1), FN(stack_1_2) },
                                                        { FN(stack_2_1), FN(stack_2_2) },
                                                        { FN(stack_3_1), FN(stack_3_2) } };

/* Channels that do not fill a panel. */
static void FN(rest)(const mck_conv *k, int64_t channels, T *out, const T *in, const T *w,
                     const int64_t *off, int64_t taps, int64_t p, int64_t end, int add)
{
    while (p < end) {
        const int wide = channels == 3   ? WIDE3
                         : channels == 2 ? WIDE2
                                         : WIDE1,
                  many = p + wide * VL <= end;
        if (channels == 3)
            (many ? FN(tile_3_wide) : FN(tile_3_one))(out + p, k->out_row, in + p, off, w, taps,
                                                      add);
        else if (channels == 2)
            (many ? FN(tile_2_wide) : FN(tile_2_one))(out + p, k->out_row, in + p, off, w, taps,
                                                      add);
        else
            (many ? FN(tile_1_wide) : FN(tile_1_one))(out + p, k->out_row, in + p, off, w, taps,
                                                      add);
        p += many ? wide * VL : VL;
    }
}

/* Places outside, panels inside: the rows of a tile stay in the first cache, weights stream. */
void MCK(FN(conv_rows))(const mck_conv *k);
void MCK(FN(conv_rows))(const mck_conv *k)
{
    const int64_t full = k->m / MCK_CONV_PANEL, left = k->m % MCK_CONV_PANEL;
    const T *const in = k->in;
    T *const out = k->out;
    for (int64_t k0 = 0; k0 < k->k; k0 += MCK_CONV_STEP) {
        const int64_t taps = k->k - k0 < MCK_CONV_STEP ? k->k - k0 : MCK_CONV_STEP;
        const int64_t *const off = k->off + k0;
        /* the rows of a wide tile fit half of the first cache, else of one that is high */
        const int most = TALL < 3 || taps <= MCK_CONV_STEP / 2 ? WIDE4 : 2;
        for (int64_t p = 0; full > 0 && p < k->n;) {
            const int wide = p + most * VL <= k->n ? most : p + VL < k->n ? 2 : 1;
            for (int64_t c = 0, many; c < full; c += many) {
                const int64_t step = MCK_CONV_PANEL * k->k, rest = full - c;
                const T *const w = (const T *)k->w + c * step + k0 * MCK_CONV_PANEL;
                T *const o = out + c * MCK_CONV_PANEL * k->out_row + p;
                /* as many sums on their way; four panels by twos */
                many = wide > 2 ? 1 : wide == 1 && TALL < 2 ? 2 : TALL;
                many = rest < many || rest == 4 ? many > 1 && rest > 1 ? 2 : 1 : many;
                if (wide > 2) {
                    FN(tile_4_wide)(o, k->out_row, in + p, off, w, taps, k0 > 0);
                    continue;
                }
                FN(stacks)
                [many - 1][wide - 1](o, k->out_row, in + p, off, w, step, taps, k0 > 0);
                for (int64_t i = c * taps / full, to = (c + many) * taps / full;
                     i < to && p + 2 * VL < k->n; i++) {
                    __builtin_prefetch(in + off[i] + p + 2 * VL);
                    __builtin_prefetch(in + off[i] + p + 3 * VL);
                }
            }
            p += wide * VL;
        }
        if (left > 0) FN(rest)
        (k, left, out + full * MCK_CONV_PANEL * k->out_row, in,
         (const T *)k->w + full * MCK_CONV_PANEL * k->k + k0 * left, off, taps, 0, k->n, k0 > 0);
    }
}

/* ---------------------------------------------------------------- dots: tiles of C channels and
 * MCK_CONV_TAPS taps */

enum { FN(LANES) = 64 / (int)sizeof(T) };

/* sum[c][t] = sum over n places, lane by lane, then lanes folded as a tree. */
MC_INLINE void FN(dots)(const int C, T (*sum)[MCK_CONV_TAPS], const T *g, int64_t g_row, const T *x,
                        const int64_t *off, int64_t n)
{
    enum { LANES = FN(LANES) };
    T lane[8][MCK_CONV_TAPS][LANES];
    for (int part = 0; part < LANES; part += VL) {
        V acc[8][MCK_CONV_TAPS], v[8];
        MC_UNROLL(8)
        for (int c = 0; c < C; c++)
            MC_UNROLL(4) for (int t = 0; t < MCK_CONV_TAPS; t++) acc[c][t] = OP(set)(0);
        for (int64_t p = part; p < n; p += LANES) {
            MC_UNROLL(8) for (int c = 0; c < C; c++) v[c] = OP(load)(g + c * g_row + p);
            MC_UNROLL(4) for (int t = 0; t < MCK_CONV_TAPS; t++)
            {
                const V f = OP(load)(x + off[t] + p);
                MC_UNROLL(8) for (int c = 0; c < C; c++) acc[c][t] = OP(muladd)(v[c], f, acc[c][t]);
            }
        }
        MC_UNROLL(8)
        for (int c = 0; c < C; c++) MC_UNROLL(4)
        for (int t = 0; t < MCK_CONV_TAPS; t++) OP(store)(&lane[c][t][part], acc[c][t]);
    }
    for (int c = 0; c < C; c++)
        for (int t = 0; t < MCK_CONV_TAPS; t++) {
            T *const l = lane[c][t];
            if (LANES == 16)
                for (int i = 0; i < 8; i++) l[i] += l[i + LANES / 2];
            for (int i = 0; i < 4; i++) l[i] += l[i + 4];
            sum[c][t] = (l[0] + l[2]) + (l[1] + l[3]);
        }
}

#define DOTS(name, C)                                                                          \
    static MC_NOINLINE void FN(dots_##name)(T(*sum)[MCK_CONV_TAPS], const T *g, int64_t g_row, \
                                            const T *x, const int64_t *off, int64_t n)         \
    {                                                                                          \
        FN(dots)(C, sum, g, g_row, x, off, n);                                                 \
    }
DOTS(wide, DOT_ROWS)
DOTS(two, 2)
DOTS(one, 1)
#undef DOTS

void MCK(FN(conv_dots))(const mck_conv *k);
void MCK(FN(conv_dots))(const mck_conv *k)
{
    for (int64_t p = 0; p < k->n; p += STRETCH) {
        const int64_t n = k->n - p < STRETCH ? k->n - p : STRETCH;
        for (int64_t c = 0, step; c < k->m; c += step) {
            const int64_t left = k->m - c;
            step = left >= DOT_ROWS ? DOT_ROWS : left >= 2 ? 2 : 1;
            const T *const g = (const T *)k->w + c * k->w_row + p, *const x = (const T *)k->in + p;
            for (int64_t t = 0; t < k->k; t += MCK_CONV_TAPS) {
                T sum[8][MCK_CONV_TAPS];
                (step == DOT_ROWS ? FN(dots_wide)
                 : step == 2      ? FN(dots_two)
                                  : FN(dots_one))(sum, g, k->w_row, x, k->off + t, n);
                for (int64_t i = 0; i < step; i++)
                    for (int64_t j = 0; j < MCK_CONV_TAPS; j++)
                        ((T *)k->out)[(c + i) * k->out_row + t + j] += sum[i][j];
            }
        }
    }
}

/* ---------------------------------------------------------------- outer: tiles of R taps and X
 * vectors of channels */

enum { FN(WIDE) = MCK_CONV_WIDE / (int)sizeof(T) };

MC_INLINE void FN(outer)(const int R, const int X, T *out, const T *in, const int64_t *off,
                         const int64_t *at, const T *w, int64_t n)
{
    V acc[12][2], v[2];
    const T *from[12];
    MC_UNROLL(12) for (int r = 0; r < R; r++)
    {
        from[r] = in + off[r];
        MC_UNROLL(2) for (int x = 0; x < X; x++) acc[r][x] = OP(set)(0);
    }
    for (int64_t p = 0; p < n; p++, w += FN(WIDE)) {
        const int64_t place = at[p];
        MC_UNROLL(2) for (int x = 0; x < X; x++) v[x] = OP(load)(w + x * VL);
        MC_UNROLL(12) for (int r = 0; r < R; r++)
        {
            const V f = OP(set)(from[r][place]);
            MC_UNROLL(2) for (int x = 0; x < X; x++) acc[r][x] = OP(muladd)(f, v[x], acc[r][x]);
        }
    }
    MC_UNROLL(12) for (int r = 0; r < R; r++) MC_UNROLL(2) for (int x = 0; x < X; x++)
    {
        T *const o = out + r * FN(WIDE) + x * VL;
        OP(store)(o, OP(add)(OP(load)(o), acc[r][x]));
    }
}

#define OUTER(name, R, X)                                                              \
    static MC_NOINLINE void FN(outer_##name)(T * out, const T *in, const int64_t *off, \
                                             const int64_t *at, const T *w, int64_t n) \
    {                                                                                  \
        FN(outer)(R, X, out, in, off, at, w, n);                                       \
    }
OUTER(many_two, OUTER_ROWS, 2)
OUTER(four_two, 4, 2)
OUTER(pair_two, 2, 2)
OUTER(many_one, OUTER_ROWS, 1)
OUTER(four_one, 4, 1)
OUTER(pair_one, 2, 1)
#undef OUTER

void MCK(FN(conv_outer))(const mck_conv *k);
void MCK(FN(conv_outer))(const mck_conv *k)
{
    for (int64_t p = 0; p < k->n; p += MCK_CONV_STEP)
        for (int64_t c = 0, two; c < k->m; c += two ? 2 * VL : VL) {
            const int64_t n = k->n - p < MCK_CONV_STEP ? k->n - p : MCK_CONV_STEP,
                          panel = c / FN(WIDE), lane = c % FN(WIDE);
            const T *const w = (const T *)k->w + panel * k->w_row + p * FN(WIDE) + lane;
            T *const out = (T *)k->out + panel * k->out_row + lane;
            two = k->m - c > VL;
            for (int64_t t = 0, step; t < k->k; t += step) {
                const int64_t left = k->k - t;
                step = left >= OUTER_ROWS ? OUTER_ROWS : left >= 4 ? 4 : 2;
                (step == OUTER_ROWS ? two ? FN(outer_many_two) : FN(outer_many_one)
                 : step == 4 ? two ? FN(outer_four_two) : FN(outer_four_one)
                 : two
                     ? FN(outer_pair_two)
                     : FN(outer_pair_one))(out + t * FN(WIDE), k->in, k->off + t, k->at + p, w, n);
            }
        }
}

/* ---------------------------------------------------------------- lanes: tiles of R places and X
 * vectors of channels */

MC_INLINE void FN(lanes)(const int R, const int X, const int S, T *out, const T *in,
                         const int64_t *off, const T *w, int64_t taps, int add)
{
    V acc[14][2], v[2];
    MC_UNROLL(14)
    for (int r = 0; r < R; r++) MC_UNROLL(2) for (int x = 0; x < X; x++) acc[r][x] = OP(set)(0);
    for (int64_t k = 0; k < taps; k++, w += FN(WIDE)) {
        const T *const row = in + off[k];
        MC_UNROLL(2) for (int x = 0; x < X; x++) v[x] = OP(load)(w + x * VL);
        MC_UNROLL(14) for (int r = 0; r < R; r++)
        {
            const V f = OP(set)(row[r * S]);
            MC_UNROLL(2) for (int x = 0; x < X; x++) acc[r][x] = OP(muladd)(v[x], f, acc[r][x]);
        }
    }
    MC_UNROLL(14) for (int r = 0; r < R; r++) MC_UNROLL(2) for (int x = 0; x < X; x++)
    {
        T *const o = out + r * FN(WIDE) + x * VL;
        OP(store)(o, add ? OP(add)(OP(load)(o), acc[r][x]) : acc[r][x]);
    }
}

#define LANES_OF(name, R, X, S)                                                            \
    static MC_NOINLINE void FN(lanes_##name)(T * out, const T *in, const int64_t *off,     \
                                             const T *w, int64_t taps, int add)            \
    {                                                                                      \
        FN(lanes)(R, X, S, out, in, off, w, taps, add);                                    \
    }
#define LANES_ALL(S)              \
    LANES_OF(many_1_##S, LANE_MANY, 1, S) \
    LANES_OF(many_2_##S, LANE_MANY, 2, S) \
    LANES_OF(some_1_##S, LANE_SOME, 1, S) \
    LANES_OF(some_2_##S, LANE_SOME, 2, S) \
    LANES_OF(few_1_##S, LANE_FEW, 1, S)   \
    LANES_OF(few_2_##S, LANE_FEW, 2, S)   \
    LANES_OF(one_1_##S, 1, 1, S)          \
    LANES_OF(one_2_##S, 1, 2, S)
LANES_ALL(1)
LANES_ALL(2)
#undef LANES_ALL
#undef LANES_OF
#define LANES_BOTH(name, S) { FN(lanes_##name##_1_##S), FN(lanes_##name##_2_##S) }
#define LANES_EACH(S) \
    { LANES_BOTH(many, S), LANES_BOTH(some, S), LANES_BOTH(few, S), LANES_BOTH(one, S) }
static void (*const FN(lane_tiles)[2][4][2])(T *, const T *, const int64_t *, const T *, int64_t,
                                             int) = { LANES_EACH(1), LANES_EACH(2) };
#undef LANES_EACH
#undef LANES_BOTH

/* Channels outside, places inside: the weights of a step stay in the first cache. */
void MCK(FN(conv_lanes))(const mck_conv_lanes *k);
void MCK(FN(conv_lanes))(const mck_conv_lanes *k)
{
    static const int size[4] = { LANE_MANY, LANE_SOME, LANE_FEW, 1 };
    for (int64_t k0 = 0; k0 < k->k; k0 += MCK_CONV_STEP)
        for (int64_t c = 0, two; c < k->m; c += two ? 2 * VL : VL) {
            const int64_t taps = k->k - k0 < MCK_CONV_STEP ? k->k - k0 : MCK_CONV_STEP,
                          panel = c / FN(WIDE), lane = c % FN(WIDE);
            const T *const w = (const T *)k->w + (panel * k->k + k0) * FN(WIDE) + lane;
            T *out = (T *)k->out + panel * k->out_row + lane;
            two = k->m - c > VL;
            for (int64_t r = 0; r < k->rows; r++) {
                const T *const in = (const T *)k->in + k->at[r];
                for (int64_t p = 0; p < k->n;) {
                    const int64_t left = k->n - p;
                    /* two halves rather than a tile and a short one */
                    int kind = left == 2 * LANE_SOME ? 1 : 0;
                    while (size[kind] > left) kind++;
                    FN(lane_tiles)
                    [k->step - 1][kind][two](out, in + p * k->step, k->off + k0, w, taps, k0 > 0);
                    p += size[kind];
                    out += size[kind] * FN(WIDE);
                }
            }
        }
}

#ifdef TURN
/* out[r][c] = in[c][r] for r, c < VL */
MC_INLINE void FN(turn_square)(T *out, int64_t out_step, const T *in, int64_t in_step)
{
    V v[VL];
    MC_UNROLL(16)
    for (int i = 0; i < VL; i++) v[i] = OP(load)(in + i * in_step);
    TURN(v);
    MC_UNROLL(16)
    for (int i = 0; i < VL; i++) OP(store)(out + i * out_step, v[i]);
}
#endif

void MCK(FN(conv_turn))(const mck_conv_turn *k);
void MCK(FN(conv_turn))(const mck_conv_turn *k)
{
    const T *const in = k->in;
    T *const out = k->out;
    int64_t p = 0, c = 0;
#ifdef TURN
    for (; c + VL <= k->m && k->place == 1; c += VL)
        for (p = 0; p + VL <= k->n; p += VL)
            FN(turn_square)(out + p * FN(WIDE) + c, FN(WIDE), in + c * k->channel + p, k->channel);
#endif
    for (; p < k->n; p++)
        for (int64_t i = 0; i < c; i++) out[p * FN(WIDE) + i] = in[i * k->channel + p * k->place];
    for (; c < k->m; c++)
        for (p = 0; p < k->n; p++) out[p * FN(WIDE) + c] = in[c * k->channel + p * k->place];
}

void MCK(FN(conv_unturn))(const mck_conv_turn *k);
void MCK(FN(conv_unturn))(const mck_conv_turn *k)
{
    const T *const in = k->in;
    T *const out = k->out;
    int64_t p = 0, c = 0;
#ifdef TURN
    for (; c + VL <= k->m && k->place == 1; c += VL)
        for (p = 0; p + VL <= k->n; p += VL)
            FN(turn_square)(out + c * k->channel + p, k->channel, in + p * FN(WIDE) + c, FN(WIDE));
#endif
    for (int64_t i = 0; i < c; i++)
        for (int64_t q = p; q < k->n; q++)
            out[i * k->channel + q * k->place] = in[q * FN(WIDE) + i];
    for (; c < k->m; c++)
        for (p = 0; p < k->n; p++) out[c * k->channel + p * k->place] = in[p * FN(WIDE) + c];
}

/* ---------------------------------------------------------------- planes */

/* Not inlined: a distance that is a constant is read in vectors. */
static MC_NOINLINE void FN(every_other)(T *MC_RESTRICT out, const T *MC_RESTRICT in, int64_t n)
{
    for (int64_t i = 0; i < n; i++) out[i] = in[2 * i];
}

void MCK(FN(conv_copy))(const mck_conv_plane *p);
void MCK(FN(conv_copy))(const mck_conv_plane *p)
{
    T *out = p->plane;
    const int64_t n = p->size[2], s = p->step * p->stride[2];
    for (int64_t i = 0; i < p->size[0]; i++)
        for (int64_t j = 0; j < p->size[1]; j++, out += n) {
            if (p->map[0][i] < 0 || p->map[1][j] < 0) {
                memset(out, 0, (size_t)n * sizeof *out);
                continue;
            }
            const T *const row =
                (const T *)p->x + p->map[0][i] * p->stride[0] + p->map[1][j] * p->stride[1];
            const int64_t lo = p->lo < p->hi ? p->lo : n, hi = p->lo < p->hi ? p->hi : n;
            for (int64_t l = 0; l < lo; l++)
                out[l] = p->map[2][l] < 0 ? 0 : row[p->map[2][l] * p->stride[2]];
            for (int64_t l = hi; l < n; l++)
                out[l] = p->map[2][l] < 0 ? 0 : row[p->map[2][l] * p->stride[2]];
            if (lo == hi) continue;
            const T *const src = row + p->map[2][lo] * p->stride[2];
            if (s == 1)
                memcpy(out + lo, src, (size_t)(hi - lo) * sizeof *out);
            else if (s == 2)
                FN(every_other)(out + lo, src, hi - lo);
            else
                for (int64_t l = 0; l < hi - lo; l++) out[lo + l] = src[l * s];
        }
}

void MCK(FN(conv_fold))(const mck_conv_plane *p);
void MCK(FN(conv_fold))(const mck_conv_plane *p)
{
    const T *in = p->plane;
    const int64_t n = p->size[2], s = p->step * p->stride[2];
    for (int64_t i = 0; i < p->size[0]; i++)
        for (int64_t j = 0; j < p->size[1]; j++, in += n) {
            if (p->map[0][i] < 0 || p->map[1][j] < 0) continue;
            T *const row = (T *)p->x + p->map[0][i] * p->stride[0] + p->map[1][j] * p->stride[1];
            T *const dst = p->lo < p->hi ? row + p->map[2][p->lo] * p->stride[2] : row;
            const T *const src = in + p->lo;
            if (p->store && s == 1 && p->lo < p->hi)
                memcpy(dst, src, (size_t)(p->hi - p->lo) * sizeof *dst);
            else if (p->store)
                for (int64_t l = 0; l < p->hi - p->lo; l++) dst[l * s] = src[l];
            else
                for (int64_t l = 0; l < p->hi - p->lo; l++) dst[l * s] += src[l];
            for (int64_t l = 0; l < n; l++) { /* places that stand for another element */
                if (l == p->lo && p->lo < p->hi) l = p->hi;
                if (l < n && p->map[2][l] >= 0) row[p->map[2][l] * p->stride[2]] += in[l];
            }
        }
}

#undef TURN
#undef T
#undef NAME
#undef V
#undef VL
#undef OP
