/* small_linalg_body.h - elimination and Cholesky of small matrices of one dtype; included by
 * small_linalg.c with T (type of a real number), NUM (of an element), NAME, LANES and PLANES (2:
 * complex, a plane of real parts and one of imaginary ones).
 *
 * A tile holds LANES matrices, element by element: number e of matrix l stands at [e * W + l], its
 * imaginary part LANES behind. Every step runs over all lanes, so a lane that has no answer goes
 * on with infinities and is marked. */

#define W (LANES * PLANES)
#define CAT_(a, b) a##_##b
#define CAT(a, b) CAT_(a, b)
#define FN(name) CAT(name, NAME)
/* A loop of constant length up to 16 is unrolled by gcc 12 before it is vectorised, and then taken
 * apart into scalars: hence MC_UNROLL. */
#define EACH(l) MC_UNROLL(1) for (int l = 0; l < LANES; l++)

/* d -= x y */
MC_INLINE void FN(mulsub)(T *MC_RESTRICT d, const T *x, const T *y)
{
#if PLANES == 2
    EACH(l)
    {
        T re = MULADD(-x[l], y[l], d[l]), im = MULADD(-x[l], y[l + LANES], d[l + LANES]);
        d[l] = MULADD(x[l + LANES], y[l + LANES], re);
        d[l + LANES] = MULADD(-x[l + LANES], y[l], im);
    }
#else
    EACH(l) d[l] = MULADD(-x[l], y[l], d[l]);
#endif
}

/* d -= x conj(y) */
MC_INLINE void FN(mulsub_conj)(T *MC_RESTRICT d, const T *x, const T *y)
{
#if PLANES == 2
    EACH(l)
    {
        T re = MULADD(-x[l], y[l], d[l]), im = MULADD(x[l], y[l + LANES], d[l + LANES]);
        d[l] = MULADD(-x[l + LANES], y[l + LANES], re);
        d[l + LANES] = MULADD(-x[l + LANES], y[l], im);
    }
#else
    EACH(l) d[l] = MULADD(-x[l], y[l], d[l]);
#endif
}

/* d /= x; the divisor of complex numbers is scaled by its larger part, so that its square neither
 * over- nor underflows */
MC_INLINE void FN(divide)(T *MC_RESTRICT d, const T *x)
{
#if PLANES == 2
    EACH(l)
    {
        T re = x[l], im = x[l + LANES], a = re < 0 ? -re : re, b = im < 0 ? -im : im,
          most = a > b ? a : b;
        T pr = re / most, pi = im / most, size = MULADD(re, pr, im * pi), dr = d[l],
          di = d[l + LANES];
        d[l] = MULADD(dr, pr, di * pi) / size;
        d[l + LANES] = MULADD(di, pr, -dr * pi) / size;
    }
#else
    EACH(l) d[l] /= x[l];
#endif
}

/* |re| + |im|, by which LAPACK compares pivots */
MC_INLINE void FN(magnitude)(T *MC_RESTRICT m, const T *x)
{
    EACH(l)
    {
        T a = x[l] < 0 ? -x[l] : x[l];
#if PLANES == 2
        a += x[l + LANES] < 0 ? -x[l + LANES] : x[l + LANES];
#endif
        m[l] = a;
    }
}

/* x becomes y where at[l] == row. Both are read before the choice, which is then a blend and no
 * masked load or store. */
MC_INLINE void FN(pick)(T *MC_RESTRICT x, const T *MC_RESTRICT y, const T *MC_RESTRICT at, T row)
{
    for (int p = 0; p < PLANES; p++)
        EACH(l)
        {
            const T no = x[l + p * LANES], yes = y[l + p * LANES];
            x[l + p * LANES] = at[l] == row ? yes : no;
        }
}

/* The numbers of each matrix into a tile; lanes past the last matrix repeat it. */
static void FN(gather)(T *tile, const void *const *from, int64_t count, int64_t elements)
{
    for (int64_t l = 0; l < LANES; l++) {
        const NUM *src = from[l < count ? l : count - 1];
        for (int64_t e = 0; e < elements; e++) {
#if PLANES == 2
            tile[e * W + l] = src[e].re;
            tile[e * W + LANES + l] = src[e].im;
#else
            tile[e * W + l] = src[e];
#endif
        }
    }
}

static void FN(scatter)(const T *tile, void *const *to, int64_t count, int64_t elements)
{
    for (int64_t l = 0; l < count; l++) {
        NUM *dst = to[l];
        for (int64_t e = 0; e < elements; e++) {
#if PLANES == 2
            dst[e].re = tile[e * W + l];
            dst[e].im = tile[e * W + LANES + l];
#else
            dst[e] = tile[e * W + l];
#endif
        }
    }
}

/* Row c takes the elements of each lane's pivot row at[l] > c; what stood there goes to kept, for
 * pick() to put into the pivot rows. */
MC_INLINE void FN(raise)(int64_t n, int64_t c, int64_t first, int64_t cols, T *x, T *kept,
                         const T *at)
{
    memcpy(kept, x + c * cols * W, sizeof *kept * (size_t)(cols * W));
    for (int64_t j = first; j < cols; j++)
        for (int64_t r = c + 1; r < n; r++)
            FN(pick)(x + (c * cols + j) * W, x + (r * cols + j) * W, at, (T)r);
}

/* a[n][n] = P L U in place with partial pivoting; b[n][k] suffers the same operations. pivot[c]:
 * the row (a number of type T) that row c changed places with. Lanes without a pivot are marked in
 * bad. all: the columns left of the pivot are exchanged too. */
MC_INLINE void FN(eliminate)(int64_t n, int64_t k, T *a, T *b, T *pivot, int32_t *bad, int all)
{
    T kept[MCK_SMALL * W], kept_b[MCK_SMALL * W];
    for (int64_t c = 0; c < n; c++) {
        T best[LANES], size[LANES], divisor[W], *at = pivot + c * LANES;
        FN(magnitude)(best, a + (c * n + c) * W);
        EACH(l) at[l] = (T)c;
        for (int64_t r = c + 1; r < n; r++) {
            FN(magnitude)(size, a + (r * n + c) * W);
            EACH(l) at[l] = size[l] > best[l] ? (T)r : at[l];
            EACH(l) best[l] = size[l] > best[l] ? size[l] : best[l];
        }
        FN(raise)(n, c, all ? 0 : c, n, a, kept, at);
        if (k > 0)
            FN(raise)(n, c, 0, k, b, kept_b, at);
        /* no pivot: all below is 0, and stays so */
        memcpy(divisor, a + (c * n + c) * W, sizeof divisor);
        EACH(l) divisor[l] = best[l] == 0 ? 1 : divisor[l];
        for (int l = 0; l < LANES; l++)
            bad[l] |= best[l] == 0;
        for (int64_t r = c + 1; r < n; r++) {
            T *row = a + r * n * W, *rhs = b + r * k * W, *factor = row + c * W;
            for (int64_t j = 0; all && j < c; j++)
                FN(pick)(row + j * W, kept + j * W, at, (T)r);
            FN(pick)(factor, kept + c * W, at, (T)r);
            FN(divide)(factor, divisor);
            for (int64_t j = c + 1; j < n; j++) {
                FN(pick)(row + j * W, kept + j * W, at, (T)r);
                FN(mulsub)(row + j * W, factor, a + (c * n + j) * W);
            }
            for (int64_t j = 0; j < k; j++) {
                FN(pick)(rhs + j * W, kept_b + j * W, at, (T)r);
                FN(mulsub)(rhs + j * W, factor, b + (c * k + j) * W);
            }
        }
    }
}

/* b = U^-1 b for the upper triangle U of a */
MC_INLINE void FN(back)(int64_t n, int64_t k, const T *a, T *b)
{
    for (int64_t r = n - 1; r >= 0; r--)
        for (int64_t j = 0; j < k; j++) {
            T *x = b + (r * k + j) * W;
            for (int64_t c = r + 1; c < n; c++)
                FN(mulsub)(x, a + (r * n + c) * W, b + (c * k + j) * W);
            FN(divide)(x, a + (r * n + r) * W);
        }
}

/* a[n][n] x[n][k] = b[n][k] */
void MCK(CAT(small_solve, NAME))(const mck_small *s)
{
    T a[MCK_SMALL * MCK_SMALL * W], b[MCK_SMALL * MCK_SMALL * W], pivot[MCK_SMALL * LANES];
    FN(gather)(a, s->a, s->count, s->n * s->n);
    FN(gather)(b, s->b, s->count, s->n * s->k);
    FN(eliminate)(s->n, s->k, a, b, pivot, s->bad, 0);
    FN(back)(s->n, s->k, a, b);
    FN(scatter)(b, s->out, s->count, s->n * s->k);
}

/* out[n][n] = a^-1 */
void MCK(CAT(small_inv, NAME))(const mck_small *s)
{
    T a[MCK_SMALL * MCK_SMALL * W], b[MCK_SMALL * MCK_SMALL * W], pivot[MCK_SMALL * LANES];
    const int64_t n = s->n;
    FN(gather)(a, s->a, s->count, n * n);
    memset(b, 0, sizeof *b * (size_t)(n * n * W));
    for (int64_t i = 0; i < n; i++)
        EACH(l) b[i * (n + 1) * W + l] = 1;
    FN(eliminate)(n, n, a, b, pivot, s->bad, 0);
    FN(back)(n, n, a, b);
    FN(scatter)(b, s->out, s->count, n * n);
}

/* out[n][n]: L below, U on and above the diagonal; pivot[n]: exchanges from 0 */
void MCK(CAT(small_lu, NAME))(const mck_small *s)
{
    T a[MCK_SMALL * MCK_SMALL * W], pivot[MCK_SMALL * LANES];
    const int64_t n = s->n;
    FN(gather)(a, s->a, s->count, n * n);
    FN(eliminate)(n, 0, a, a, pivot, s->bad, 1);
    FN(scatter)(a, s->out, s->count, n * n);
    for (int64_t l = 0; l < s->count; l++)
        for (int64_t c = 0; c < n; c++)
            s->pivot[l][c] = (int64_t)pivot[c * LANES + l];
}

/* out[n][n] = L with a = L L^H, from the lower triangle; upper: L^H, from the upper one */
void MCK(CAT(small_cholesky, NAME))(const mck_small *s)
{
    T a[MCK_SMALL * MCK_SMALL * W], turned[MCK_SMALL * MCK_SMALL * W];
    const int64_t n = s->n;
    FN(gather)(a, s->a, s->count, n * n);
    for (int64_t r = 0; s->upper && r < n; r++)
        for (int64_t c = 0; c < r; c++) {
            memcpy(a + (r * n + c) * W, a + (c * n + r) * W, sizeof *a * W);
#if PLANES == 2
            EACH(l) a[(r * n + c) * W + LANES + l] = -a[(r * n + c) * W + LANES + l];
#endif
        }
    for (int64_t c = 0; c < n; c++) {
        T *d = a + (c * n + c) * W;
        for (int64_t k = 0; k < c; k++)
            FN(mulsub_conj)(d, a + (c * n + k) * W, a + (c * n + k) * W);
        EACH(l)
        {
            s->bad[l] |= !(d[l] > 0);
            d[l] = MCK_SQRT(d[l]);
        }
#if PLANES == 2
        EACH(l) d[l + LANES] = 0;
#endif
        for (int64_t r = c + 1; r < n; r++) {
            T *x = a + (r * n + c) * W;
            for (int64_t k = 0; k < c; k++)
                FN(mulsub_conj)(x, a + (r * n + k) * W, a + (c * n + k) * W);
            for (int p = 0; p < PLANES; p++)
                EACH(l) x[l + p * LANES] /= d[l];
        }
    }
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < n; c++) {
            T *to = turned + (s->upper ? c * n + r : r * n + c) * W;
            if (c > r) {
                memset(to, 0, sizeof *to * W);
                continue;
            }
            memcpy(to, a + (r * n + c) * W, sizeof *to * W);
#if PLANES == 2
            if (s->upper)
                EACH(l) to[l + LANES] = -to[l + LANES];
#endif
        }
    FN(scatter)(turned, s->out, s->count, n * n);
}

#undef W
#undef CAT_
#undef CAT
#undef FN
#undef EACH
