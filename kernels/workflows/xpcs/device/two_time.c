/* two_time.c - the pass over two-time correlation data on a device: tables of one set of
 * parameters, sums of parts of tiles, sums of tiles, the state after them.
 *
 * The formulas are those of ../cpu/pass.c. A group of lanes takes 16 rows of a tile, a lane some
 * pairs of one column, all angles of a pair one after the other (with scaling per angle a group
 * takes one angle). Its sums stay in registers to the end; lanes, parts and tiles are added in an
 * order that the shape fixes. Given with the program: LAMINAR, COMMON (a section of sums of
 * contrast and offset), ROBUST, VALUE (the type of the data). */

#define TT_LANES 128
#define TT_ROWS 16                  /* of a part of a tile */
#define TT_PARTS (XPCS_T / TT_ROWS)
#define TT_WIDE 8                   /* sums that are folded at a time */
#define TT_COUNT (COMMON ? XPCS_SCALING + XPCS_SECTION : XPCS_SCALING)
#define TT_ROOM ((TT_LANES + 1) * TT_WIDE)
#define TT_CHUNK 256                /* lanes of the tables */
#define TT_ANGLE (XPCS_C1 + 1)

/* The four running integrals of D or G and its derivatives, as the processor adds them: terms by
 * all lanes, the sums by one lane each. */
MC_INLINE void tt_integrals(GLOBAL double *prefix, GLOBAL const double *time, int64_t n,
                            double least, double scale, double power, double shift,
                            GROUP double *room)
{
    double sum = 0;
    for (int64_t first = 0; first < n; first += TT_CHUNK) {
        const int64_t i = first + LANE;
        double now[4], before[4];
        if (i < n) {
            xpcs_rate(time[i] > least ? time[i] : least, scale, power, shift, now);
            const double t = i ? time[i - 1] : 0;
            if (i) xpcs_rate(t > least ? t : least, scale, power, shift, before);
            for (int k = 0; k < 4; k++)
                room[k * (TT_CHUNK + 1) + LANE] = i ? (before[k] + now[k]) / 2 : 0;
        }
        BARRIER;
        if (LANE < 4) {
            GROUP double *v = room + LANE * (TT_CHUNK + 1);
            const int64_t count = n - first < TT_CHUNK ? n - first : TT_CHUNK;
            for (int64_t m = 0; m < count; m++) {
                sum += v[m];
                v[m] = sum;
            }
        }
        BARRIER;
        if (i < n)
            for (int k = 0; k < 4; k++) prefix[k * n + i] = room[k * (TT_CHUNK + 1) + LANE];
        BARRIER;
    }
}

/* Tables of one time or one angle, by one group: out [8][n] integrals, [TT_ANGLE][F]. angles: [4,
 * F] phi, sigma, contrast, offset. */
MC_INLINE void tt_prepare(GLOBAL double *out, GLOBAL const double *time,
                          GLOBAL const double *angles, int64_t n, int64_t F, double least,
                          double ks, const double *p, int one, GROUP double *room)
{
    tt_integrals(out, time, n, least, p[0], p[1], p[2], room);
#if LAMINAR
    tt_integrals(out + 4 * n, time, n, least, p[3], p[4], p[5], room);
#endif
    for (int64_t f = LANE; f < F; f += TT_CHUNK) {
        const double c = angles[2 * F + f];
        double v[XPCS_ANGLE];
        xpcs_angle(LAMINAR, p[6], angles[f], ks, angles[F + f], c, angles[3 * F + f], one ? 1 : c,
                   v);
        for (int k = 0; k < TT_ANGLE; k++) out[8 * n + k * F + f] = v[k];
    }
}

/* Sines and cosines, a lane for each: [2][F][n] of K (B_j - B at the start of j's tile row), then
 * [2][F][tiles] of K times what lies between the starts of a tile's rows and columns. */
MC_INLINE void tt_waves(GLOBAL double *out, GLOBAL const double *tables,
                        GLOBAL const int64_t *tiles, int64_t n, int64_t F, int64_t first,
                        int64_t count)
{
    const int64_t i = GLOBAL_LANE, own = F * n;
    GLOBAL const double *B = tables + 4 * n, *K = tables + 8 * n + XPCS_K * F;
    if (i < own) {
        const int64_t f = i / n, j = i - f * n;
        const double x = K[f] * (B[j] - B[j / XPCS_T * XPCS_T]);
        out[i] = mck_sin_f64(x);
        out[own + i] = mck_cos_f64(x);
    } else if (i < own + F * count) {
        const int64_t f = (i - own) / count, t = i - own - f * count;
        GLOBAL const int64_t *at = tiles + 3 * (first + t);
        const double x = K[f] * (B[at[1] * XPCS_T] - B[at[0] * XPCS_T]);
        out[2 * own + f * count + t] = mck_sin_f64(x);
        out[2 * own + F * count + f * count + t] = mck_cos_f64(x);
    }
}

/* S and S' by series in x, in the closed form where they keep their digits. */
MC_INLINE void tt_series(double x, double *S, double *D)
{
    const double z = x * x;
    double s = -1.0 / 39916800, d = 12.0 / 6227020800.0;
    s = MC_MULADD(s, z, 1.0 / 362880);
    s = MC_MULADD(s, z, -1.0 / 5040);
    s = MC_MULADD(s, z, 1.0 / 120);
    s = MC_MULADD(s, z, -1.0 / 6);
    *S = MC_MULADD(s, z, 1.0);
    d = MC_MULADD(d, z, -10.0 / 39916800);
    d = MC_MULADD(d, z, 8.0 / 362880);
    d = MC_MULADD(d, z, -6.0 / 5040);
    d = MC_MULADD(d, z, 4.0 / 120);
    d = MC_MULADD(d, z, -2.0 / 6);
    *D = d * x;
}

#if ROBUST
/* A point under a robust loss, as bend of ../cpu/pass.c has it: the factor of its columns; r
 * becomes what goes with them, *rho what is added to the cost. */
MC_INLINE double tt_bend(int loss, int part, double scale, double *r, double *rho)
{
    const double u = *r * (1 / scale), z = u * u;
    double slope, curve, cost;
    if (loss == XPCS_SOFT_L1)
        cost = xpcs_soft_l1(z, &slope, &curve);
    else if (loss == XPCS_HUBER)
        cost = xpcs_huber(z, &slope, &curve);
    else if (loss == XPCS_CAUCHY)
        cost = xpcs_cauchy(z, &slope, &curve);
    else
        cost = xpcs_arctan(z, &slope, &curve);
    if (part == XPCS_FIT) {
        const double w = mck_sqrt_f64(curve > 0x1p-52 ? curve : 0x1p-52);
        *r *= slope / w;
        *rho = cost * (scale * scale);
        return w;
    }
    const double w = part == XPCS_PSI ? *r * slope : mck_sqrt_f64(curve < 0 ? -curve : 0);
    *r = 0;
    *rho = w * w;
    return w;
}
#endif

/* Factor of a sum that the lanes leave out: -2 kd and 4 per physical column, the contrast c. */
MC_INLINE double tt_factor(int q, double kd, double c)
{
    if (q < XPCS_GRADIENT) return 1;
    if (q < XPCS_NORMAL) return q - XPCS_GRADIENT < 3 ? -2 * kd * c : 4 * c;
    if (q < XPCS_SCALING) {
        int k = 0, l = q - XPCS_NORMAL;
        while (l >= XPCS_P - k) l -= XPCS_P - k++;
        return (k < 3 ? -2 * kd * c : 4 * c) * (k + l < 3 ? -2 * kd * c : 4 * c);
    }
    q -= XPCS_SCALING;
    if (q < XPCS_CP) return 1;
    return (q - XPCS_CP) % XPCS_P < 3 ? -2 * kd * c : 4 * c;
}

/* Sums of TT_ROWS rows of a tile: out [parts of the tiles][angles or 1][TT_COUNT]. first: of the
 * tiles; origin: the value with which y begins. */
MC_INLINE void tt_pass(GLOBAL double *out, GLOBAL const VALUE *y, GLOBAL const VALUE *weight,
                       GLOBAL const double *tables, GLOBAL const double *waves,
                       GLOBAL const int64_t *tiles, GLOBAL const double *angles, int64_t n,
                       int64_t F, int64_t first, int64_t count, int64_t origin, int64_t each,
                       int weighted, int loss, int bent, double kd, double f_scale,
                       GROUP double *room)
{
    const int64_t t = GROUP_AT(0) / TT_PARTS, part = GROUP_AT(0) - t * TT_PARTS;
    GLOBAL const int64_t *at = tiles + 3 * (first + t);
    const int64_t I = at[0], J = at[1], place = at[2] - origin;
    const int64_t i0 = I * XPCS_T, j0 = J * XPCS_T;
    const int64_t groups = ((n - j0 < XPCS_T ? n - j0 : XPCS_T) + XPCS_G - 1) / XPCS_G;
    const int64_t f0 = each ? GROUP_AT(1) : 0, f1 = each ? f0 + 1 : F;
    GLOBAL const double *factor = tables + 8 * n;
    const int col = LANE % XPCS_T;
    const int64_t j = j0 + col;
    double acc[TT_COUNT];
    for (int k = 0; k < TT_COUNT; k++) acc[k] = 0;
    for (int k = 0; k < TT_ROWS; k += TT_LANES / XPCS_T) {
        const int64_t row = part * TT_ROWS + k + LANE / XPCS_T, i = i0 + row;
        if (i >= j || j >= n) continue; /* rows beyond the last time are beyond its column too */
        const double x0 = -2 * kd * (tables[j] - tables[i]);
        const double e = mck_exp_f64(x0 < 0 ? x0 : 0);
        double rr = 0, gg = 0, gr = 0;
#if COMMON
        double og = 0, or_ = 0, oo = 0;
#endif
#if LAMINAR
        double gk = 0, gt = 0, kk = 0, kt = 0, tt = 0, kr = 0, tr = 0;
#if COMMON
        double ok = 0, ot = 0;
#endif
        const double dB = tables[4 * n + j] - tables[4 * n + i], R = 1 / dB;
#endif
        const int64_t base = place + ((row * groups + col / XPCS_G) * F) * XPCS_G + col % XPCS_G;
        for (int64_t f = f0; f < f1; f++) {
            const double v = y[base + f * XPCS_G];
            if (v != v) continue;
            double o = factor[XPCS_WEIGHT * F + f], shift = factor[XPCS_SHIFT * F + f];
            if (weighted) {
                const double u = weight[base + f * XPCS_G];
                o *= u;
                shift *= u;
            }
#if LAMINAR
            const double K = factor[XPCS_K * F + f], x = K * dB;
            double S, D;
            if ((x < 0 ? -x : x) < XPCS_NEAR) {
                tt_series(x, &S, &D);
            } else {
                const int64_t own = F * n, turn = f * count + t;
                const double si = waves[f * n + i], ci = waves[own + f * n + i];
                const double s = waves[f * n + j], c = waves[own + f * n + j];
                const double sd = waves[2 * own + turn], cd = waves[2 * own + F * count + turn];
                const double sj = MC_MULADD(s, cd, c * sd), cj = MC_MULADD(c, cd, -(s * sd));
                const double rx = R * factor[XPCS_RK * F + f];
                S = (sj * ci - cj * si) * rx;
                D = (MC_MULADD(cj, ci, sj * si) - S) * rx;
            }
            const double S2 = S * S, h = e * S2;
            double g = o * (h * S2), b = o * (h * S * D);
#else
            double g = o * e;
#endif
            double r = MC_MULADD(factor[XPCS_SCALE * F + f], g, MC_MULADD(o, v, shift));
#if ROBUST
            double rho;
            const double w = tt_bend(loss, bent, f_scale, &r, &rho);
            rr += rho;
            o *= w;
            g *= w;
#if LAMINAR
            b *= w;
#endif
#else
            rr = MC_MULADD(r, r, rr);
#endif
#if COMMON
            og = MC_MULADD(o, g, og);
            or_ = MC_MULADD(o, r, or_);
            oo = MC_MULADD(o, o, oo);
#else
            g *= factor[XPCS_C1 * F + f];
#endif
            gg = MC_MULADD(g, g, gg);
            gr = MC_MULADD(g, r, gr);
#if LAMINAR
#if !COMMON
            b *= factor[XPCS_C1 * F + f];
#endif
            const double bk = b * K, bt = b * factor[XPCS_PHI * F + f];
            gk = MC_MULADD(g, bk, gk);
            gt = MC_MULADD(g, bt, gt);
            kk = MC_MULADD(bk, bk, kk);
            kt = MC_MULADD(bk, bt, kt);
            tt = MC_MULADD(bt, bt, tt);
            kr = MC_MULADD(bk, r, kr);
            tr = MC_MULADD(bt, r, tr);
#if COMMON
            ok = MC_MULADD(o, bk, ok);
            ot = MC_MULADD(o, bt, ot);
#endif
#endif
        }
        /* products with the integrals between i and j, once per pair */
        double d[XPCS_P];
        int q = XPCS_NORMAL;
        for (int a = 0; a < 3; a++) d[a] = tables[(1 + a) * n + j] - tables[(1 + a) * n + i];
#if LAMINAR
        for (int a = 0; a < 3; a++) d[3 + a] = tables[(5 + a) * n + j] - tables[(5 + a) * n + i];
        d[6] = dB;
#endif
        acc[XPCS_COST] += rr;
        for (int a = 0; a < 3; a++) {
            acc[XPCS_GRADIENT + a] = MC_MULADD(gr, d[a], acc[XPCS_GRADIENT + a]);
            for (int l = a; l < 3; l++, q++) acc[q] = MC_MULADD(gg * d[a], d[l], acc[q]);
#if LAMINAR
            for (int l = 3; l < 6; l++, q++) acc[q] = MC_MULADD(gk * d[a], d[l], acc[q]);
            acc[q] = MC_MULADD(gt * d[a], d[6], acc[q]);
            q++;
#else
            q += 4;
#endif
        }
#if LAMINAR
        for (int a = 3; a < 6; a++) {
            acc[XPCS_GRADIENT + a] = MC_MULADD(kr, d[a], acc[XPCS_GRADIENT + a]);
            for (int l = a; l < 6; l++, q++) acc[q] = MC_MULADD(kk * d[a], d[l], acc[q]);
            acc[q] = MC_MULADD(kt * d[6], d[a], acc[q]);
            q++;
        }
        acc[q] = MC_MULADD(tt * d[6], d[6], acc[q]);
        acc[XPCS_GRADIENT + 6] = MC_MULADD(tr, d[6], acc[XPCS_GRADIENT + 6]);
#endif
#if COMMON
        acc[XPCS_SCALING + XPCS_CC] += gg;
        acc[XPCS_SCALING + XPCS_CO] += og;
        acc[XPCS_SCALING + XPCS_OO] += oo;
        acc[XPCS_SCALING + XPCS_CR] += gr;
        acc[XPCS_SCALING + XPCS_OR] += or_;
        for (int a = 0; a < 3; a++) {
            const int c = XPCS_SCALING + XPCS_CP + a, p = XPCS_SCALING + XPCS_OP + a;
            acc[c] = MC_MULADD(gg, d[a], acc[c]);
            acc[p] = MC_MULADD(og, d[a], acc[p]);
#if LAMINAR
            acc[c + 3] = MC_MULADD(gk, d[3 + a], acc[c + 3]);
            acc[p + 3] = MC_MULADD(ok, d[3 + a], acc[p + 3]);
#endif
        }
#if LAMINAR
        acc[XPCS_SCALING + XPCS_CP + 6] = MC_MULADD(gt, d[6], acc[XPCS_SCALING + XPCS_CP + 6]);
        acc[XPCS_SCALING + XPCS_OP + 6] = MC_MULADD(ot, d[6], acc[XPCS_SCALING + XPCS_OP + 6]);
#endif
#endif
    }
    /* lanes, some sums at a time: 16 lanes for each, then one */
    const int64_t slot = (GROUP_AT(0) * (each ? F : 1) + f0) * TT_COUNT;
    const int mine = LANE / 16, share = LANE % 16;
    const double c = COMMON ? angles[2 * F + f0] : 1;
#pragma unroll
    for (int k = 0; k < TT_COUNT; k += TT_WIDE) { /* unrolled: places of registers are constants */
        double sum = 0;
#pragma unroll
        for (int s = 0; s < TT_WIDE; s++)
            if (k + s < TT_COUNT) room[s * (TT_LANES + 1) + LANE] = acc[k + s];
        BARRIER;
        for (int m = 0; m < TT_LANES / 16; m++)
            sum += room[mine * (TT_LANES + 1) + 16 * m + share];
        BARRIER;
        room[mine * (TT_LANES + 1) + share] = sum;
        BARRIER;
        if (LANE < TT_WIDE && k + LANE < TT_COUNT) {
            sum = 0;
            for (int m = 0; m < 16; m++) sum += room[LANE * (TT_LANES + 1) + m];
            out[slot + k + LANE] = sum * tt_factor(k + LANE, kd, c);
        }
        BARRIER;
    }
}

/* Sums of tiles [count][sums], a lane for each, from those of their parts. */
MC_INLINE void tt_join(GLOBAL double *out, GLOBAL const double *parts, int64_t F, int64_t count,
                       int64_t each, int64_t sums, int64_t width)
{
    const int64_t lane = GLOBAL_LANE, t = lane / sums, q = lane - t * sums, A = each ? F : 1;
    if (t >= count) return;
    const int own = each && q >= XPCS_SCALING;
    const int64_t f0 = own ? (q - XPCS_SCALING) / XPCS_SECTION : 0, f1 = own ? f0 + 1 : A,
                  k = own ? XPCS_SCALING + (q - XPCS_SCALING) % XPCS_SECTION : q;
    double sum = 0;
    for (int64_t f = f0; f < f1; f++)
        for (int64_t p = 0; p < TT_PARTS; p++)
            sum += parts[((t * TT_PARTS + p) * A + f) * width + k];
    out[lane] = sum;
}

/* The state [2][sums], sums and the rounding errors of their additions, after these tiles. */
MC_INLINE void tt_fold(GLOBAL double *out, GLOBAL const double *tile, GLOBAL const double *state,
                       int64_t count, int64_t sums)
{
    const int64_t q = GLOBAL_LANE;
    if (q >= sums) return;
    double s = state[q], low = state[sums + q];
    for (int64_t t = 0; t < count; t++) {
        const double v = tile[t * sums + q], u = s + v;
        low += (s < 0 ? -s : s) >= (v < 0 ? -v : v) ? (s - u) + v : (v - u) + s;
        s = u;
    }
    out[q] = s;
    out[sums + q] = low;
}
