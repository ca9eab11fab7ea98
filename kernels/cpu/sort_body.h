/* sort_body.h - the sort kernel of one dtype; body included by sort.c once per dtype.
 *
 * Wants T (element), B (signed integer of its width, the type the bits are read through), K (key:
 * int32_t or int64_t), KEYSORT (sorts K), KEY_BITS (32 or 64), ELEM_BYTES; KEYSORT_MAPPED where
 * keys are as wide as elements; NAME(x), FLOATING (0 or 1) and UNSIGNED (0 or 1).
 * The idea: every dtype is mapped one to one and in order onto signed keys, NaN onto the one key
 * above infinity, and descending order onto the complement. What sorts is always a signed integer.
 */

#define TOP ((B)((B)1 << (8 * sizeof(B) - 2))) /* the bit below the sign */
#define LOW ((B)(TOP - 1 + TOP))               /* all bits but the sign */

/* Does x belong after y? Equal keys do not. */
static int NAME(after)(T x, T y, int descending)
{
#if FLOATING
    if (x != x || y != y) return x != x && y == y;
#endif
    return descending ? x < y : x > y;
}

/* in[m,n] -> out[m,n], index[m,n]: insertion sort. */
void NAME(sort_ref)(const mck_sort *a)
{
    for (int64_t r = 0; r < a->m; r++) {
        const T *in = (const T *)a->in + r * a->n;
        T *out = a->out ? (T *)a->out + r * a->n : NULL;
        int64_t *index = a->index ? a->index + r * a->n : NULL;
        for (int64_t i = 0; i < a->n && index; i++) {
            int64_t j = i;
            for (; j > 0 && NAME(after)(in[index[j - 1] - a->base], in[i], a->descending); j--)
                index[j] = index[j - 1];
            index[j] = i + a->base;
        }
        for (int64_t i = 0; i < a->n && out; i++) {
            const T x = in[i];
            int64_t j = i;
            for (; j > 0 && NAME(after)(out[j - 1], x, a->descending); j--) out[j] = out[j - 1];
            out[j] = x;
        }
    }
}

MC_INLINE K NAME(key)(B bits, B flip)
{
#if FLOATING
    const B k = (B)((bits ^ ((bits >> (8 * (int)sizeof(B) - 1)) & LOW)) ^ flip);
    return (bits & LOW) > F_INF ? F_NAN : k;
#elif UNSIGNED
    return (K)((B)(bits ^ (B)~LOW) ^ flip);
#else
    return (K)(bits ^ flip);
#endif
}

MC_INLINE B NAME(unkey)(K key, B flip)
{
#if FLOATING
    const B k = (B)(key ^ flip);
    return key > F_INF ? F_NAN : (B)(k ^ ((k >> (8 * (int)sizeof(B) - 1)) & LOW));
#elif UNSIGNED
    return (B)((B)(key ^ flip) ^ (B)~LOW);
#else
    return (B)(key ^ flip);
#endif
}

/* For positions the two zeros are one: the key of -0 is -1 and no other number's. */
MC_INLINE K NAME(tie_key)(B bits, B flip)
{
#if FLOATING
    const B k = (B)(bits ^ ((bits >> (8 * (int)sizeof(B) - 1)) & LOW));
    return (bits & LOW) > F_INF ? F_NAN : (B)((k + (k == -1)) ^ flip);
#else
    return NAME(key)(bits, flip);
#endif
}

/* ---- values ---- */

#if defined(COUNTING)
/* in[n] -> out[n], 8-bit elements: count each value, then lay out runs. */
static void NAME(sort_counting)(const B *in, B *out, int64_t n, B flip)
{
    int64_t count[256];
    for (int b = 0; b < 256; b++) count[b] = 0;
    for (int64_t i = 0; i < n; i++) count[(int)NAME(key)(in[i], flip) + 128]++;
    for (int b = 0; b < 256; b++) {
        const B value = NAME(unkey)((K)(b - 128), flip);
        for (int64_t i = 0; i < count[b]; i++) out[i] = value;
        out += count[b];
    }
}

static void NAME(argsort_counting)(const B *in, int64_t *index, int64_t n, B flip, int64_t base)
{
    int64_t start[257];
    for (int b = 0; b < 257; b++) start[b] = 0;
    for (int64_t i = 0; i < n; i++) start[(int)NAME(key)(in[i], flip) + 129]++;
    for (int b = 0; b < 256; b++) start[b + 1] += start[b];
    for (int64_t i = 0; i < n; i++) index[start[(int)NAME(key)(in[i], flip) + 128]++] = i + base;
}
#endif

#if KEY_BITS == 8 * ELEM_BYTES
static void NAME(load)(const mck_sort_map *map, void *key, int64_t from, int64_t n)
{
    const B *in = (const B *)map->in + from, flip = (B)map->flip;
    K *k = key;
    for (int64_t i = 0; i < n; i++) k[i] = NAME(key)(in[i], flip);
}

static void NAME(store)(const mck_sort_map *map, void *key, int64_t n)
{
    const B flip = (B)map->flip;
    K *k = key;
    for (int64_t i = 0; i < n; i++) k[i] = NAME(unkey)(k[i], flip);
}
#endif

static void NAME(sort_row)(const B *in, B *out, int64_t n, B flip, void *work)
{
#if defined(COUNTING)
    if (n >= COUNTING) {
        NAME(sort_counting)(in, out, n, flip);
        return;
    }
#endif
#if KEY_BITS == 8 * ELEM_BYTES
    K *key = (K *)(void *)out, *tmp = work;
    if (n > LONG_ROW && in != out) {
        const mck_sort_map map = { in, flip, NAME(load), NAME(store) };
        KEYSORT_MAPPED(&map, key, tmp, n);
        return;
    }
#else
    K *key = work, *tmp = key + n;
#endif
    for (int64_t i = 0; i < n; i++) key[i] = NAME(key)(in[i], flip);
    KEYSORT(key, tmp, n, NULL, 0);
    for (int64_t i = 0; i < n; i++) out[i] = NAME(unkey)(key[i], flip);
}

/* ---- positions ---- */

/* Bottom-up merge of positions by key: for rows whose positions do not fit 32 bits. */
static void NAME(argsort_merge)(const B *in, int64_t *index, int64_t n, B flip, int64_t *work)
{
    int64_t *from = index, *to = work;
    for (int64_t i = 0; i < n; i++) index[i] = i;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * run) {
            const int64_t mid = lo + run < n ? lo + run : n,
                          hi = lo + 2 * run < n ? lo + 2 * run : n;
            int64_t i = lo, j = mid;
            for (int64_t k = lo; k < hi; k++) {
                const int right = j < hi && (i >= mid || NAME(tie_key)(in[from[j]], flip) <
                                                             NAME(tie_key)(in[from[i]], flip));
                to[k] = right ? from[j++] : from[i++];
            }
        }
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    for (int64_t i = 0; i < n && from != index; i++) index[i] = from[i];
}

#if KEY_BITS == 64
/* pack[n] holds positions in its low halves; orders them by the upper 32 bits in which their keys
 * differ. Returns the number of low key bits that did not fit, 0 when the order is complete. */
static int NAME(pack_sort)(const B *in, int64_t *pack, int64_t n, B flip, int64_t *work)
{
    K min = NAME(tie_key)(in[(uint32_t)pack[0]], flip), max = min;
    for (int64_t i = 1; i < n; i++) {
        const K k = NAME(tie_key)(in[(uint32_t)pack[i]], flip);
        min = k < min ? k : min;
        max = k > max ? k : max;
    }
    int shift = 0;
    for (uint64_t range = (uint64_t)max - (uint64_t)min; range >> shift > UINT32_MAX;) shift++;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t at = (uint32_t)pack[i];
        const uint64_t high = ((uint64_t)NAME(tie_key)(in[at], flip) - (uint64_t)min) >> shift;
        pack[i] = (int64_t)((high << 32 | at) ^ (1ULL << 63));
    }
    MCK(sort_keys_i64)(pack, work, n, NULL, 0);
    return shift;
}

/* Positions of a run whose keys agree in all bits that were sorted: order them by the rest. The
 * rest fits 32 bits, so one more packed sort always completes a long run. */
static void NAME(tie_sort)(const B *in, int64_t *pack, int64_t n, B flip, int64_t *work)
{
    if (n > 24) {
        NAME(pack_sort)(in, pack, n, flip, work);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        const int64_t at = pack[i];
        const K k = NAME(tie_key)(in[(uint32_t)at], flip);
        int64_t j = i;
        for (; j > 0 && NAME(tie_key)(in[(uint32_t)pack[j - 1]], flip) > k; j--)
            pack[j] = pack[j - 1];
        pack[j] = at;
    }
}
#endif

static void NAME(argsort_row)(const B *in, int64_t *index, int64_t n, B flip, int64_t base,
                              void *work)
{
#if defined(COUNTING)
    if (n >= COUNTING) {
        NAME(argsort_counting)(in, index, n, flip, base);
        return;
    }
#endif
    if (n > UINT32_MAX) {
        NAME(argsort_merge)(in, index, n, flip, (int64_t *)work);
        for (int64_t i = 0; i < n; i++) index[i] += base;
        return;
    }
#if KEY_BITS == 32
    for (int64_t i = 0; i < n; i++)
        index[i] = (int64_t)((uint64_t)(int64_t)NAME(tie_key)(in[i], flip) << 32 | (uint64_t)i);
    MCK(sort_keys_i64)(index, (int64_t *)work, n, NULL, 0);
#else
    for (int64_t i = 0; i < n; i++) index[i] = i;
    if (n > 1 && NAME(pack_sort)(in, index, n, flip, (int64_t *)work) > 0) {
        for (int64_t lo = 0; lo < n;) {
            int64_t hi = lo + 1;
            while (hi < n && (index[hi] ^ index[lo]) >> 32 == 0) hi++;
            if (hi - lo > 1) NAME(tie_sort)(in, index + lo, hi - lo, flip, (int64_t *)work);
            lo = hi;
        }
    }
#endif
    for (int64_t i = 0; i < n; i++) index[i] = (int64_t)(uint32_t)index[i] + base;
}

/* in[m,n] -> out[m,n], index[m,n] */
void NAME(sort)(const mck_sort *a)
{
    const B flip = a->descending ? (B)-1 : 0;
    const int64_t n = a->n;
    for (int64_t r = 0; r < a->m; r++) {
        const B *in = (const B *)a->in + r * n;
        B *out = a->out ? (B *)a->out + r * n : NULL;
        if (a->index) {
            int64_t *index = a->index + r * n;
            NAME(argsort_row)(in, index, n, flip, a->base, a->work);
            if (out) {
                B *sorted = a->work;
                for (int64_t i = 0; i < n; i++) sorted[i] = in[index[i] - a->base];
                for (int64_t i = 0; i < n; i++) out[i] = sorted[i];
            }
        } else if (out) {
            NAME(sort_row)(in, out, n, flip, a->work);
        }
    }
}

/* ---- a part of the order ---- */

/* The key at place kth of the order; key[n] is left in no order. */
static K NAME(kth_key)(K *key, K *tmp, int64_t n, int64_t kth)
{
    KEYSORT(key, tmp, n, &kth, 1);
    return key[kth];
}

/* in[m,n] -> out[m,n], index[m,n]: elements before, like and behind the kth, each in the order of
 * the row: three streams, written without a branch. out may be in: the first stream never passes
 * the reading. */
void NAME(partition)(const mck_sort *a)
{
    const B flip = a->descending ? (B)-1 : 0;
    const int64_t n = a->n;
    for (int64_t r = 0; r < a->m; r++) {
        const B *in = (const B *)a->in + r * n;
        K *key = a->work;
        for (int64_t i = 0; i < n; i++) key[i] = NAME(tie_key)(in[i], flip);
        const K t = NAME(kth_key)(key, key + n, n, a->kth);
        if (a->index) {
            int64_t *first = a->index + r * n, *equal = a->work, *last = equal + n,
                    at[3] = { 0, 0, 0 };
            for (int64_t i = 0; i < n; i++) {
                const K k = NAME(tie_key)(in[i], flip);
                first[at[0]] = equal[at[1]] = last[at[2]] = i + a->base;
                at[0] += k < t;
                at[1] += k == t;
                at[2] += k > t;
            }
            for (int64_t i = 0; i < at[1]; i++) first[at[0] + i] = equal[i];
            for (int64_t i = 0; i < at[2]; i++) first[at[0] + at[1] + i] = last[i];
        }
        if (a->out) {
            B *first = (B *)a->out + r * n, *equal = a->work, *last = equal + n;
            int64_t at[3] = { 0, 0, 0 };
            for (int64_t i = 0; i < n; i++) {
                const B v = in[i];
                const K k = NAME(tie_key)(v, flip);
                first[at[0]] = equal[at[1]] = last[at[2]] = v;
                at[0] += k < t;
                at[1] += k == t;
                at[2] += k > t;
            }
            for (int64_t i = 0; i < at[1]; i++) first[at[0] + i] = equal[i];
            for (int64_t i = 0; i < at[2]; i++) first[at[0] + at[1] + i] = last[i];
        }
    }
}

/* Keeps the k first of the order among c candidates, in the order they stand in; returns the key of
 * the last of them. */
static K NAME(thin)(B *value, int64_t *at, int64_t c, int64_t k, B flip, K *key, K *tmp)
{
    for (int64_t i = 0; i < c; i++) key[i] = NAME(tie_key)(value[i], flip);
    const K t = NAME(kth_key)(key, tmp, c, k - 1);
    int64_t equal = k, kept = 0;
    for (int64_t i = 0; i < c; i++) equal -= NAME(tie_key)(value[i], flip) < t;
    for (int64_t i = 0; i < c && kept < k; i++) {
        const K x = NAME(tie_key)(value[i], flip);
        const int is = x < t || (x == t && equal > 0);
        equal -= x == t && is;
        value[kept] = value[i];
        at[kept] = at[i];
        kept += is;
    }
    return t;
}

/* in[m,n] -> out[m,k], index[m,k], k = kth + 1. Candidates better than the k-th so far are
 * collected; when their room is full, the k best stay. After the first rounds few elements pass, so
 * a row costs little more than reading it. */
void NAME(topk)(const mck_sort *a)
{
    const B flip = a->descending ? (B)-1 : 0;
    const int64_t n = a->n, k = a->kth + 1, room = topk_room(n, k);
    int64_t *at = a->work, *order = at + room;
    char *rest = (char *)(order + room);
    K *key = (K *)(void *)rest, *tmp = key + room;
    B *value = (B *)(void *)(rest + 16 * room);
    for (int64_t r = 0; r < a->m; r++) {
        const B *in = (const B *)a->in + r * n;
        B *out = (B *)a->out + r * k;
        int64_t *index = a->index + r * k, c = 0;
        K t = 0;
        int full = 0;
        for (int64_t from = 0; from < n; from += TOPK_BLOCK) {
            const int64_t to = n - from < TOPK_BLOCK ? n : from + TOPK_BLOCK;
            if (full) {
                int any = 0;
                for (int64_t i = from; i < to; i++) any |= NAME(tie_key)(in[i], flip) < t;
                if (!any) continue;
            }
            for (int64_t i = from; i < to; i++) {
                value[c] = in[i];
                at[c] = i;
                c += !full || NAME(tie_key)(in[i], flip) < t;
            }
            if (c + TOPK_BLOCK > room && to < n) {
                t = NAME(thin)(value, at, c, k, flip, key, tmp);
                c = k;
                full = 1;
            }
        }
        if (c > k) NAME(thin)(value, at, c, k, flip, key, tmp);
        if (!a->ordered) {
            for (int64_t i = 0; i < k; i++) {
                out[i] = value[i];
                index[i] = at[i] + a->base;
            }
            continue;
        }
        NAME(argsort_row)(value, order, k, flip, 0, rest);
        for (int64_t i = 0; i < k; i++) {
            out[i] = value[order[i]];
            index[i] = at[order[i]] + a->base;
        }
    }
}

#undef TOP
#undef LOW
#undef T
#undef B
#undef K
#undef KEYSORT
#undef KEYSORT_MAPPED
#undef ELEM_BYTES
#undef KEY_BITS
#undef NAME
#undef FLOATING
#undef UNSIGNED
#undef F_INF
#undef F_NAN
#undef COUNTING
