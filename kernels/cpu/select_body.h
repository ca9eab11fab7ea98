/* select_body.h - the select kernel of one float type; body included by select.c once per dtype.
 *
 * Wants T (float type), B (signed integer of its width), NAME(x), KEYSORT (orders B keys), F_INF
 * and F_NAN (bit patterns). The idea: a row becomes integer keys in the order of the numbers; the
 * quicksort of the keys is followed only into ranges that hold a wanted position, so a median costs
 * about two passes over the row and several quantiles share them. */

#define LOW \
    ((B)(((B)1 << (8 * sizeof(B) - 2)) - 1 + \
         ((B)1 << (8 * sizeof(B) - 2)))) /* all bits but the sign */

/* in[m,n], prob[q] -> out[m,q]: insertion sort of the row, then the definition. */
void NAME(select_ref)(const mck_select *a)
{
    T *sorted = a->work;
    for (int64_t r = 0; r < a->m; r++) {
        const T *in = (const T *)a->in + r * a->n;
        int64_t kept = 0;
        for (int64_t i = 0; i < a->n; i++) {
            if (in[i] != in[i]) continue;
            int64_t j = kept++;
            for (; j > 0 && sorted[j - 1] > in[i]; j--) sorted[j] = sorted[j - 1];
            sorted[j] = in[i];
        }
        for (int64_t k = 0; k < a->q; k++) {
            T *out = (T *)a->out + r * a->q + k;
            if (kept == 0 || (kept < a->n && !a->nan_skip)) {
                *out = (T)NAN;
                continue;
            }
            const mck_position at = mck_quantile_position(a->prob[k], kept, a->method);
            *out = (T)mck_quantile_between((double)sorted[at.low], (double)sorted[at.high],
                                           at.weight);
        }
    }
}

MC_INLINE double NAME(number)(B key)
{
    union {
        B bits;
        T value;
    } u;
    u.bits = (B)(key ^ ((key >> (8 * (int)sizeof(B) - 1)) & LOW));
    return (double)u.value;
}

void NAME(select)(const mck_select *a)
{
    const int64_t n = a->n;
    B *key = a->work, *tmp = key + n;
    int64_t *rank = (int64_t *)(void *)((char *)a->work + rank_offset(sizeof(T), n));
    int64_t ranks = 0, ranked_for = -1;
    for (int64_t r = 0; r < a->m; r++) {
        const B *in = (const B *)a->in + r * n;
        T *out = (T *)a->out + r * a->q;
        int64_t kept = n;
        for (int64_t from = 0; from < n; from += COUNT_BLOCK) {
            const int64_t to = n - from < COUNT_BLOCK ? n : from + COUNT_BLOCK;
            B nans = 0; /* in lanes as wide as the keys, hence the blocks */
            for (int64_t i = from; i < to; i++) {
                const B bits = in[i];
                const B nan = (bits & LOW) > F_INF;
                key[i] = nan ? F_NAN : (B)(bits ^ ((bits >> (8 * (int)sizeof(B) - 1)) & LOW));
                nans = (B)(nans + nan);
            }
            kept -= (int64_t)nans;
        }
        if (kept == 0 || (kept < n && !a->nan_skip)) {
            for (int64_t k = 0; k < a->q; k++) out[k] = (T)NAN;
            continue;
        }
        if (kept != ranked_for) {
            ranks = wanted_ranks(a, kept, rank);
            ranked_for = kept;
        }
        KEYSORT(key, tmp, n, rank, ranks);
        for (int64_t k = 0; k < a->q; k++) {
            const mck_position at = mck_quantile_position(a->prob[k], kept, a->method);
            out[k] = (T)mck_quantile_between(NAME(number)(key[at.low]),
                                             NAME(number)(key[at.high]), at.weight);
        }
    }
}

#undef LOW
#undef T
#undef B
#undef NAME
#undef KEYSORT
#undef F_INF
#undef F_NAN
