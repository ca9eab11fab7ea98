/* iir_body.h - the driver loops of iir.c for one dtype of samples: tiles in, sections, tiles out.
 *
 * Included once per dtype with T (the element) and NAME (the kernel) defined. The order of tiles
 * (from the end when `reverse`) and the moves between rows and lanes. */

void MCK(NAME)(const mck_filter *k);
void MCK(NAME)(const mck_filter *k)
{
    const int64_t n = k->n, states = k->sections * k->order, wide = 2 * (k->order + 1);
    const int64_t step = k->reverse ? -1 : 1, first = k->reverse ? n - 1 : 0;
    int64_t r = 0;
    while (r < k->m) {
        const int lanes = k->m - r < 4 ? 1 : k->m - r < LANES ? (int)(k->m - r) : LANES;
        const T *in = (const T *)k->in + r * k->stride;
        T *out = (T *)k->out + r * k->stride;
        double *state = k->state + r * states;
        double tile[TILE * LANES];
        if (lanes > 1)
            for (int64_t i = 0; i < states; i++)
                for (int l = 0; l < LANES; l++)
                    k->work[i * LANES + l] = l < lanes ? state[l * states + i] : 0;
        for (int64_t t = 0; t < n; t += TILE) {
            const int64_t len = n - t < TILE ? n - t : TILE, from = first + step * t;
            if (lanes == 1) {
                for (int64_t i = 0; i < len; i++)
                    tile[i] = (double)in[from + step * i];
                if (k->order == 2)
                    row_cascade(len, k->sections, tile, k->coef, state);
                else
                    for (int64_t s = 0; s < k->sections; s++)
                        row_section(len, k->order, tile, k->coef + s * wide, state + s * k->order);
                for (int64_t i = 0; i < len; i++)
                    out[from + step * i] = (T)tile[i];
                continue;
            }
            for (int l = 0; l < LANES; l++) {
                const T *x = in + (l < lanes ? l : 0) * k->stride + from;
                for (int64_t i = 0; i < len; i++)
                    tile[i * LANES + l] = (double)x[step * i];
            }
            for (int64_t s = 0; s < k->sections; s++) {
                double *z = k->work + s * k->order * LANES;
                if (k->order == 2)
                    lanes_biquad(len, tile, k->coef + s * wide, z);
                else
                    lanes_section(len, k->order, tile, k->coef + s * wide, z);
            }
            for (int l = 0; l < lanes; l++) {
                T *y = out + l * k->stride + from;
                for (int64_t i = 0; i < len; i++)
                    y[step * i] = (T)tile[i * LANES + l];
            }
        }
        if (lanes > 1)
            for (int64_t i = 0; i < states; i++)
                for (int l = 0; l < lanes; l++)
                    state[l * states + i] = k->work[i * LANES + l];
        r += lanes;
    }
}
