/* random_body.h - the random kernel of one distribution; body included once per distribution.
 *
 * Wants T (element), DRAWS (elements per block: 4 or 2), NAME(x), DRAW (the four words of a block
 * become its DRAWS standard numbers), FINISH(x, a, b, c) (a standard number and the parameters of
 * an element become its value) and CHECK(a, b, c) (the parameters make a distribution). */

/* out[n]: element by element. */
void NAME(random_ref)(const mck_random *a)
{
    T *out = a->out;
    for (int64_t i = 0; i < a->n; i++) {
        const uint64_t at = (uint64_t)a->first + (uint64_t)i;
        uint32_t c[4];
        T draw[DRAWS];
        mck_philox_block(a->key, a->stream, at / DRAWS, c);
        DRAW(c[0], c[1], c[2], c[3], draw);
        out[i] = FINISH(draw[at % DRAWS], mck_random_param(a, 0, i), mck_random_param(a, 1, i),
                        mck_random_param(a, 2, i));
    }
}

void NAME(random)(const mck_random *a)
{
    const uint64_t first = (uint64_t)a->first, end = first + (uint64_t)a->n;
    const int fixed = mck_random_fixed(a);
    T *out = a->out;
    for (int64_t i = 0; i < a->n && (i == 0 || !fixed); i++)
        if (!CHECK(mck_random_param(a, 0, i), mck_random_param(a, 1, i),
                   mck_random_param(a, 2, i))) {
            if (a->status && !*a->status) *a->status = i + 1;
            return;
        }
    for (uint64_t block = first / DRAWS; block * DRAWS < end; block += LANES) {
        uint32_t w[4][LANES];
        T draw[LANES * DRAWS];
        MCK(philox_lanes)(a->key, a->stream, block, w);
        for (int l = 0; l < LANES; l++)
            DRAW(w[0][l], w[1][l], w[2][l], w[3][l], draw + l * DRAWS);
        const uint64_t begin = block * DRAWS, stop = begin + LANES * DRAWS;
        const uint64_t from = begin > first ? begin : first, to = stop < end ? stop : end;
        if (fixed) {
            const double p0 = mck_random_param(a, 0, 0), p1 = mck_random_param(a, 1, 0),
                         p2 = mck_random_param(a, 2, 0);
            for (int l = 0; l < LANES * DRAWS; l++) draw[l] = FINISH(draw[l], p0, p1, p2);
        } else {
            double p[3][LANES * DRAWS];
            for (int j = 0; j < 3; j++)
                for (int l = 0; l < (int)(to - from); l++)
                    p[j][l] = mck_random_param(a, j, (int64_t)(from - first) + l);
            T *const mine = draw + (from - begin);
            for (int l = 0; l < (int)(to - from); l++)
                mine[l] = FINISH(mine[l], p[0][l], p[1][l], p[2][l]);
        }
        if (to - from == LANES * DRAWS)
            memcpy(out + (from - first), draw, sizeof draw);
        else
            memcpy(out + (from - first), draw + (from - begin), (size_t)(to - from) * sizeof(T));
    }
}

#undef T
#undef DRAWS
#undef NAME
#undef DRAW
#undef FINISH
#undef CHECK
