/* random_body.h - the random kernel of one distribution; body included by random.c once per
 * distribution.
 *
 * Wants T (element), DRAWS (elements per block: 4 or 2), NAME(x), SETUP (a function from p to a
 * `law`), DRAW (a function from the four words of a block to its DRAWS elements, returning non-zero
 * when one of them must be drawn again) and AGAIN (a function that settles element i). */

/* out[n]: element by element. */
void NAME(random_ref)(const mck_random *a)
{
    T *out = a->out;
    const law p = SETUP(a->p);
    for (int64_t i = 0; i < a->n; i++) {
        const uint64_t at = (uint64_t)a->first + (uint64_t)i;
        uint32_t c[4];
        T draw[DRAWS];
        mck_philox_block(a->key, a->stream, at / DRAWS, c);
        const int again = DRAW(&p, c[0], c[1], c[2], c[3], draw);
        out[i] = again ? AGAIN(&p, a, at) : draw[at % DRAWS];
    }
}

void NAME(random)(const mck_random *a)
{
    const uint64_t first = (uint64_t)a->first, end = first + (uint64_t)a->n;
    T *out = a->out;
    const law p = SETUP(a->p);
    for (uint64_t block = first / DRAWS; block * DRAWS < end; block += LANES) {
        uint32_t w[4][LANES];
        T draw[LANES * DRAWS];
        int again = 0;
        MCK(philox_lanes)(a->key, a->stream, block, w);
        for (int l = 0; l < LANES; l++)
            again |= DRAW(&p, w[0][l], w[1][l], w[2][l], w[3][l], draw + l * DRAWS);
        const uint64_t begin = block * DRAWS, stop = begin + LANES * DRAWS;
        const uint64_t from = begin > first ? begin : first, to = stop < end ? stop : end;
        for (uint64_t i = from; i < to && again; i++) draw[i - begin] = AGAIN(&p, a, i);
        if (to - from == LANES * DRAWS)
            memcpy(out + (from - first), draw, sizeof draw);
        else
            memcpy(out + (from - first), draw + (from - begin), (size_t)(to - from) * sizeof(T));
    }
}

#undef T
#undef DRAWS
#undef NAME
#undef SETUP
#undef DRAW
#undef AGAIN
