/* power_body.h - one dtype of power.c; included with T and NAME(x) defined. */

void MCK(NAME(ro_power))(const void *args, int64_t begin, int64_t end, void *work)
{
    const mck_ro_power *k = args;
    const int64_t n = k->bins, g = k->g, half = n / g;
    (void)work;
    for (int64_t f = begin; f < end; f++) {
        const T *p = (const T *)k->p + f * n, *s = (const T *)k->sorted + f * n;
        double out[RO_POWER], sum[RO_BANDS + 1] = { 0 }, square[RO_BANDS + 1] = { 0 },
                                             most[RO_BANDS + 1] = { 0 }, share[3] = { 0 };
        double total = 0, cx = 0, cy = 0, xx = 0, yy = 0;
        for (int64_t i = 0; i < n; i++) {
            const double v = (double)p[i];
            const int b = k->band[i];
            sum[b] += v;
            square[b] += v * v;
            most[b] = v > most[b] ? v : most[b];
            share[k->ratio[i]] += v;
            total += v;
            cx += v * k->kx[i];
            cy += v * k->ky[i];
            xx += v * k->kx[i] * k->kx[i];
            yy += v * k->ky[i] * k->ky[i];
        }
        for (int b = 0; b < RO_BANDS; b++) {
            const double m = (double)k->members[b], mean = sum[b] / (double)n;
            const double v = (square[b] - sum[b] * mean) / (double)(n - 1);
            out[3 * b] = sum[b] / m;
            out[3 * b + 1] = most[b] / m < 1e6 ? most[b] / m : 1e6;
            out[3 * b + 2] = sqrt(v > 0 ? v : 0) / sqrt(m);
        }
        /* the first largest bin, columns first; of equal conjugate bins the smaller row */
        const double largest = (double)s[n - 1];
        int64_t column = 0, row = 0, found = 0;
        for (int64_t c = 0; c < half && !found; c++)
            for (int64_t r = 0; r < g && !found; r++)
                if ((double)p[r * half + c] == largest) {
                    column = c;
                    row = r;
                    found = 1;
                }
        if ((column == 0 || 2 * column == g) && 2 * row > g) row = g - row;
        const double safe = total + 1e-8;
        cx /= safe;
        cy /= safe;
        double spread = 0, logs = 0, reached = 0, above = 0;
        for (int64_t i = 0; i < n; i++) {
            const double dx = k->kx[i] - cx, dy = k->ky[i] - cy;
            spread += (double)p[i] * (dx * dx + dy * dy);
        }
        int64_t i = 0;
        for (T e[BLOCK]; i < n; i += BLOCK) {
            const int64_t part = n - i < BLOCK ? n - i : BLOCK;
            for (int64_t j = 0; j < part; j++) e[j] = NAME(mck_log)(p[i + j] + (T)1e-10);
            logs += NAME(total)(e, part);
        }
        for (i = n - 1; i >= 0; i--) { /* falling powers until 85 % are reached */
            above += (double)s[i];
            if (!(above < 0.85 * total)) break;
            reached++;
        }
        double *o = out + 3 * RO_BANDS;
        o[0] = (double)column / (double)g;
        o[1] = (double)row / (double)g;
        o[2] = largest;
        o[3] = cx;
        o[4] = cy;
        o[5] = sqrt(spread / safe + 1e-8);
        o[6] = share[0] / safe;
        o[7] = share[1] / safe;
        o[8] = share[2] / safe;
        o[9] = exp(logs / (double)n) / (total / (double)n + 1e-10);
        o[10] = reached / (double)n;
        o[11] = xx / (yy + 1e-8);
        for (int q = 0; q < RO_POWER; q++) ((T *)k->y)[f * RO_POWER + q] = (T)out[q];
    }
}
