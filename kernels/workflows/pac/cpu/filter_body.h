/* filter_body.h - body of filter.c, once per dtype. Letters as in pac.h; complex
 * numbers are pairs of T. */

void FN(edges)(void *out, int64_t bins)
{
    T *e = out;
    for (int64_t j = 0; j < bins; j++) {
        double c, s;
        pac_edge(j, bins, &c, &s);
        e[j] = (T)c;
        e[bins + j] = (T)s;
    }
}

void FN(index)(const mck_pac_index *a, int64_t begin, int64_t end, void *work)
{
    (void)work;
    const double scale = (double)a->bins / 6.283185307179586476925;
    for (int64_t i = begin * a->L; i < end * a->L; i++) {
        const double phi = (double)((const T *)a->angle)[i];
        const double k = floor((phi + 3.14159265358979323846) * scale);
        a->idx[i] = (uint8_t)(!(k > 0) ? 0 : k >= (double)a->bins ? a->bins - 1 : (int64_t)k);
    }
}

/* Bins of CHUNK points, B even: the lower half plane is turned onto by a sign, then each edge is
 * one half-plane test, |z| sin(phi - e_j) >= 0. */
static void SN(bin_even)(const T *MC_RESTRICT re, const T *MC_RESTRICT im, const T *edges,
                         int64_t bins, PAC_INT_T *MC_RESTRICT k)
{
    T x[PAC_CHUNK], y[PAC_CHUNK];
    for (int64_t i = 0; i < PAC_CHUNK; i++) {
        const T s = im[i] < 0 ? (T)1 : (T)-1;
        x[i] = re[i] * s;
        y[i] = im[i] * s;
        k[i] = im[i] < 0 ? 0 : (PAC_INT_T)(bins / 2);
    }
    for (int64_t j = 1; j < bins / 2; j++) {
        const T c = edges[j], s = edges[bins + j];
        for (int64_t i = 0; i < PAC_CHUNK; i++)
            k[i] += y[i] * c - x[i] * s >= 0 ? 1 : 0;
    }
}

/* B = 2 modulo 4 (18 is): the edges are symmetric about both axes and none lies on the vertical
 * one, so the quadrant needs B/4 tests. Where the fold reverses the turning sense, a point on an
 * edge belongs to the other side: the sign s inside the test does that. */
static void SN(bin_fold)(const T *MC_RESTRICT re, const T *MC_RESTRICT im, const T *edges,
                         int64_t bins, PAC_INT_T *MC_RESTRICT k)
{
    T x[PAC_CHUNK], y[PAC_CHUNK];
    const PAC_INT_T half = (PAC_INT_T)(bins / 2), inside = half / 2;
    for (int64_t i = 0; i < PAC_CHUNK; i++) {
        /* x = s |re|, y = s |im|, s the sign of re * im */
        x[i] = im[i] < 0 ? -re[i] : re[i];
        y[i] = re[i] < 0 ? -im[i] : im[i];
        k[i] = 0;
    }
    for (int64_t j = 1; j <= inside; j++) {
        const T c = edges[half + j], s = edges[bins + half + j];
        for (int64_t i = 0; i < PAC_CHUNK; i++)
            k[i] += y[i] * c - x[i] * s >= 0 ? 1 : 0;
    }
    for (int64_t i = 0; i < PAC_CHUNK; i++) {
        const PAC_INT_T up = im[i] < 0 ? 0 : half;
        /* s = 1: k edges passed in the first or third quadrant; s = -1: k edges not passed in the
         * second or fourth */
        const int left = re[i] < 0, down = im[i] < 0;
        k[i] = up + k[i] + (left == down ? 0 : half - 1 - inside);
    }
}

/* B odd: edges of the two half planes do not pair up. */
static void SN(bin_odd)(const T *MC_RESTRICT re, const T *MC_RESTRICT im, const T *edges,
                        int64_t bins, PAC_INT_T *MC_RESTRICT k)
{
    const int64_t low = (bins - 1) / 2; /* edges below 0, after the first */
    for (int64_t i = 0; i < PAC_CHUNK; i++)
        k[i] = im[i] < 0 ? 0 : (PAC_INT_T)low;
    for (int64_t j = 1; j < bins; j++) {
        const T c = edges[j], s = edges[bins + j];
        for (int64_t i = 0; i < PAC_CHUNK; i++)
            k[i] += (im[i] < 0) == (j <= low) && im[i] * c - re[i] * s >= 0 ? 1 : 0;
    }
}

/* z = 0 has angle 0. */
static void SN(bin_row)(const T *z, int64_t n, const T *edges, int64_t bins, uint8_t *idx)
{
    T re[PAC_CHUNK], im[PAC_CHUNK];
    PAC_INT_T k[PAC_CHUNK];
    for (int64_t t = 0; t < n; t += PAC_CHUNK) {
        const int64_t m = n - t < PAC_CHUNK ? n - t : PAC_CHUNK;
        if (m < PAC_CHUNK)
            memset(re, 0, sizeof re), memset(im, 0, sizeof im);
        for (int64_t i = 0; i < m; i++) {
            re[i] = z[2 * (t + i)];
            im[i] = z[2 * (t + i) + 1];
        }
        if (bins % 4 == 2)
            SN(bin_fold)(re, im, edges, bins, k);
        else if (bins % 2 == 0)
            SN(bin_even)(re, im, edges, bins, k);
        else
            SN(bin_odd)(re, im, edges, bins, k);
        for (int64_t i = 0; i < m; i++)
            idx[t + i] = (uint8_t)(re[i] == 0 && im[i] == 0 ? (PAC_INT_T)(bins / 2) : k[i]);
    }
}

static void SN(unit_row)(const T *z, int64_t n, T *MC_RESTRICT c, T *MC_RESTRICT s)
{
    for (int64_t t = 0; t < n; t++) {
        const T re = z[2 * t], im = z[2 * t + 1], a = PAC_SQRT(re * re + im * im);
        const T inv = (T)1 / (a > 0 ? a : (T)1);
        c[t] = a > 0 ? re * inv : (T)1;
        s[t] = im * inv;
    }
}

static void SN(angle_row)(const T *MC_RESTRICT z, int64_t n, T *MC_RESTRICT angle)
{
    for (int64_t t = 0; t < n; t++)
        angle[t] = PAC_ATAN2(z[2 * t + 1], z[2 * t]);
}

static void SN(amp_row)(const T *MC_RESTRICT z, int64_t n, T back, T *MC_RESTRICT amp)
{
    for (int64_t t = 0; t < n; t++)
        amp[t] = PAC_SQRT(z[2 * t] * z[2 * t] + z[2 * t + 1] * z[2 * t + 1]) * back;
}

/* Rows a[lane] (row elements apart) -> [n][W]; surplus lanes 0. */
static void SN(tile_rows)(const T *a, int64_t row, int lanes, int64_t n, T *out)
{
    for (int64_t t = 0; t < n; t += PAC_CHUNK) {
        const int64_t m = n - t < PAC_CHUNK ? n - t : PAC_CHUNK;
        for (int i = 0; i < W; i++)
            for (int64_t u = t; u < t + m; u++)
                out[u * W + i] = i < lanes ? a[i * row + u] : (T)0;
    }
}

void FN(tile)(const mck_pac_tile *a, int64_t begin, int64_t end, void *work)
{
    (void)work;
    const int64_t tiles = (a->A + W - 1) / W;
    for (int64_t i = begin; i < end; i++)
        for (int64_t t = 0; t < tiles; t++)
            SN(tile_rows)((const T *)a->in + i * a->job + t * W * a->row, a->row,
             (int)(a->A - t * W < W ? a->A - t * W : W), a->L,
             (T *)a->out + (i * tiles + t) * a->L * W);
}

typedef struct SN(filter_work) {
    T *ext;      /* [N] */
    T *spectrum; /* [N/2+1] complex */
    T *in, *out; /* [N] complex */
    T *z;        /* [L] complex, only with windows */
    T *column;   /* [W][L] */
    int64_t bytes;
} SN(filter_work);

static SN(filter_work) SN(filter_layout)(const mck_pac_analytic *a, void *base)
{
    SN(filter_work) w;
    pac_work p = { base, 0 };
    w.ext = pac_take(&p, a->N, sizeof(T));
    w.spectrum = pac_take(&p, 2 * (a->N / 2 + 1), sizeof(T));
    w.in = pac_take(&p, 2 * a->N, sizeof(T));
    w.out = pac_take(&p, 2 * a->N, sizeof(T));
    w.z = pac_take(&p, a->n_window > 0 ? 2 * a->L : 0, sizeof(T));
    w.column = pac_take(&p, a->A > 0 ? W * a->L : 0, sizeof(T));
    w.bytes = p.used;
    return w;
}

int64_t FN(analytic_work)(const mck_pac_analytic *a) { return SN(filter_layout)(a, NULL).bytes; }

/* What the row is before filtering. */
enum { SN(ROW_PLAIN) = 0, SN(ROW_BAD) = 1, SN(ROW_ZERO) = 2 };

/* x -> ext, demeaned and scaled by a power of two to a largest value near 1, so that squares
 * neither overflow nor vanish in whatever unit the recording has; *back undoes it. */
static int SN(filter_extend)(const mck_pac_analytic *a, const T *x, T *ext, T *back)
{
    const int64_t n = a->samples, pad = a->pad;
    T *y = ext + pad;
    int bad = 0;
    double sum = 0;
    T lo = x[0], hi = x[0];
    for (int64_t t = 0; t < n; t++)
        bad |= !(PAC_ABS(x[t]) <= PAC_BIG);
    if (bad)
        return SN(ROW_BAD);
    for (int64_t t = 0; t < n; t++) {
        lo = x[t] < lo ? x[t] : lo;
        hi = x[t] > hi ? x[t] : hi;
    }
    for (int64_t t = 0; t < n; t++)
        sum += (double)x[t] / (double)n;
    const double mean = a->demean ? sum : 0;
    const double top = fmax(fabs((double)lo - mean), fabs((double)hi - mean));
    if ((a->demean && lo == hi) || top == 0)
        return SN(ROW_ZERO);
    int e;
    frexp(top, &e);
    const double scale = ldexp(1.0, -e);
    *back = (T)ldexp(1.0, e);
    for (int64_t t = 0; t < n; t++)
        y[t] = (T)(((double)x[t] - mean) * scale);
    for (int64_t i = 1; i <= pad; i++) {
        ext[pad - i] = a->zero_ext ? (T)0 : (T)2 * y[0] - y[i];
        y[n - 1 + i] = a->zero_ext ? (T)0 : (T)2 * y[n - 1] - y[n - 1 - i];
    }
    for (int64_t t = n + 2 * pad; t < a->N; t++)
        ext[t] = 0;
    return SN(ROW_PLAIN);
}

/* spectrum * table_b on its support, into to[k - lo] pairs. */
static void SN(filter_product)(const mck_pac_analytic *a, int64_t b, const T *MC_RESTRICT X,
                               T *MC_RESTRICT to)
{
    const int64_t n = a->hi[b] - a->lo[b];
    X += 2 * a->lo[b];
    if (a->complex_table) {
        const T *h = (const T *)a->table + 2 * a->at[b];
        for (int64_t k = 0; k < n; k++) {
            const T re = MC_PRODUCT(X[2 * k], h[2 * k]) - MC_PRODUCT(X[2 * k + 1], h[2 * k + 1]);
            to[2 * k + 1] = MC_PRODUCT(X[2 * k], h[2 * k + 1]) + MC_PRODUCT(X[2 * k + 1], h[2 * k]);
            to[2 * k] = re;
        }
    } else {
        const T *h = (const T *)a->table + a->at[b];
        for (int64_t k = 0; k < n; k++) {
            to[2 * k] = X[2 * k] * h[k];
            to[2 * k + 1] = X[2 * k + 1] * h[k];
        }
    }
}

/* Analytic signal of band b, cropped; the pointer stays good until the next call. */
static const T *SN(filter_band)(const mck_pac_analytic *a, const SN(filter_work) *w, int64_t b)
{
    const int64_t lo = a->lo[b], hi = a->hi[b];
    memset(w->in, 0, 2 * sizeof(T) * (size_t)lo);
    SN(filter_product)(a, b, w->spectrum, w->in + 2 * lo);
    memset(w->in + 2 * hi, 0, 2 * sizeof(T) * (size_t)(a->N - hi));
    a->fft(a->inverse, w->in, w->out);
    if (a->n_window == 0)
        return w->out + 2 * a->pad;
    T *z = w->z;
    for (int64_t i = 0; i < a->n_window; i++) {
        const int64_t t0 = a->window[2 * i], n = a->window[2 * i + 1] - t0;
        memcpy(z, w->out + 2 * (a->pad + t0), 2 * sizeof(T) * (size_t)n);
        z += 2 * n;
    }
    return w->z;
}

static void SN(fill)(T *to, int64_t n, T value)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = value;
}

/* Outputs of a row without a signal: zeros (angle 0), or NaN and bin 0. */
static void SN(filter_blank)(const mck_pac_analytic *a, int64_t r, int kind)
{
    const T v = kind == SN(ROW_BAD) ? (T)NAN : (T)0, one = kind == SN(ROW_BAD) ? (T)NAN : (T)1;
    const int64_t P = a->P, L = a->L, tiles = (a->A + W - 1) / W;
    if (a->idx)
        memset(a->idx + r * P * L, kind == SN(ROW_BAD) ? 0 : (int)(a->bins / 2), (size_t)(P * L));
    if (a->unit)
        for (int64_t p = 0; p < P; p++) {
            SN(fill)((T *)a->unit + (r * P + p) * 2 * L, L, one);
            SN(fill)((T *)a->unit + (r * P + p) * 2 * L + L, L, v);
        }
    if (a->angle)
        SN(fill)((T *)a->angle + r * P * L, P * L, v);
    if (a->z)
        SN(fill)((T *)a->z + r * (P + a->A) * 2 * L, (P + a->A) * 2 * L, v);
    if (a->amp)
        for (int64_t i = 0; i < tiles * L; i++)
            for (int64_t l = 0; l < W; l++)
                ((T *)a->amp)[(r * tiles * L + i) * W + l] = (i / L) * W + l < a->A ? v : (T)0;
}

static void SN(filter_phase)(const mck_pac_analytic *a, int64_t r, int64_t p, const T *z)
{
    const int64_t at = r * a->P + p, L = a->L;
    if (a->idx)
        SN(bin_row)(z, L, a->edges, a->bins, a->idx + at * L);
    if (a->unit)
        SN(unit_row)(z, L, (T *)a->unit + at * 2 * L, (T *)a->unit + at * 2 * L + L);
    if (a->angle)
        SN(angle_row)(z, L, (T *)a->angle + at * L);
}

static void SN(filter_row)(const mck_pac_analytic *a, const SN(filter_work) *w, int64_t r)
{
    const int64_t P = a->P, A = a->A, L = a->L, tiles = (A + W - 1) / W;
    T back = 1;
    const int kind = SN(filter_extend)(a, (const T *)a->x + r * a->x_stride, w->ext, &back);
    if (kind != SN(ROW_PLAIN)) {
        if (kind == SN(ROW_BAD) && a->status)
            a->status[r] |= MCK_PAC_BAD;
        SN(filter_blank)(a, r, kind);
        return;
    }
    a->fft(a->forward, w->ext, w->spectrum);
    for (int64_t b = 0; b < P + A; b++) {
        const T *z = SN(filter_band)(a, w, b);
        if (a->z) {
            T *to = (T *)a->z + (r * (P + A) + b) * 2 * L;
            for (int64_t i = 0; i < 2 * L; i++)
                to[i] = z[i] * back;
        }
        if (b < P) {
            SN(filter_phase)(a, r, b, z);
        } else if (a->amp) {
            const int64_t lane = (b - P) % W, tile = (b - P) / W;
            SN(amp_row)(z, L, back, w->column + lane * L);
            if (lane == W - 1 || b == P + A - 1)
                SN(tile_rows)(w->column, L, (int)lane + 1, L,
                              (T *)a->amp + (r * tiles + tile) * L * W);
        }
    }
}

void FN(analytic)(const mck_pac_analytic *a, int64_t begin, int64_t end, void *work)
{
    const SN(filter_work) w = SN(filter_layout)(a, work);
    for (int64_t r = begin; r < end; r++)
        SN(filter_row)(a, &w, r);
}
