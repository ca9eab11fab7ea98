/* sort_v3_body.h - quicksort of signed keys in 256-bit vectors; body included once per key width.
 *
 * Wants K (key), LANES (8 or 4), NAME(x), K_MAX, and the vector words of sort_v3.c for that
 * width: MIN, MAX, GT, MASK (one bit a lane), ORDER (lanes by table), SET1, SWAP1 and SWAP2 (lane
 * i takes lane i^1, i^2), REV2, REV4, REV8 (reversal inside groups), PICK (in the lower lanes of
 * each group the lesser of two, in the upper ones the greater), TRANSPOSE<rows> (columns to
 * memory order). The idea: a range is split from one buffer into the other, the smaller keys
 * growing from the left end and the others from the right, so no two writes collide and no branch
 * depends on a key. Ranges of up to 16 vectors are sorted in registers: each lane is a column,
 * sorted by a network; then columns are merged in pairs, fours and eights. */

#define CE(i, j) \
    do { \
        const V low_ = MIN(v[i], v[j]); \
        v[j] = MAX(v[i], v[j]); \
        v[i] = low_; \
    } while (0)

/* Compares row i with row j of the partner column, which `perm` brings; smaller to the lower
 * columns of a group. */
#define CROSS(i, j, perm, width) \
    do { \
        const V pi_ = perm(v[j]), pj_ = perm(v[i]); \
        v[i] = PICK(v[i], pi_, width); \
        v[j] = PICK(v[j], pj_, width); \
    } while (0)
#define ALONG(i, perm, width) v[i] = PICK(v[i], perm(v[i]), width)

/* Columns of 2: Batcher's odd-even merge sort. */
MC_INLINE void NAME(columns2)(V *v)
{
    CE(0, 1);
}

/* Columns of 4: Batcher's odd-even merge sort. */
MC_INLINE void NAME(columns4)(V *v)
{
    CE(0, 1); CE(2, 3); CE(0, 2); CE(1, 3); CE(1, 2);
}

/* Columns of 8: Batcher's odd-even merge sort. */
MC_INLINE void NAME(columns8)(V *v)
{
    CE(0, 1); CE(2, 3); CE(0, 2); CE(1, 3); CE(1, 2); CE(4, 5);
    CE(6, 7); CE(4, 6); CE(5, 7); CE(5, 6); CE(0, 4); CE(2, 6);
    CE(2, 4); CE(1, 5); CE(3, 7); CE(3, 5); CE(1, 2); CE(3, 4);
    CE(5, 6);
}

/* Columns of 16: Batcher's odd-even merge sort. */
MC_INLINE void NAME(columns16)(V *v)
{
    CE(0, 1); CE(2, 3); CE(0, 2); CE(1, 3); CE(1, 2); CE(4, 5);
    CE(6, 7); CE(4, 6); CE(5, 7); CE(5, 6); CE(0, 4); CE(2, 6);
    CE(2, 4); CE(1, 5); CE(3, 7); CE(3, 5); CE(1, 2); CE(3, 4);
    CE(5, 6); CE(8, 9); CE(10, 11); CE(8, 10); CE(9, 11); CE(9, 10);
    CE(12, 13); CE(14, 15); CE(12, 14); CE(13, 15); CE(13, 14); CE(8, 12);
    CE(10, 14); CE(10, 12); CE(9, 13); CE(11, 15); CE(11, 13); CE(9, 10);
    CE(11, 12); CE(13, 14); CE(0, 8); CE(4, 12); CE(4, 8); CE(2, 10);
    CE(6, 14); CE(6, 10); CE(2, 4); CE(6, 8); CE(10, 12); CE(1, 9);
    CE(5, 13); CE(5, 9); CE(3, 11); CE(7, 15); CE(7, 11); CE(3, 5);
    CE(7, 9); CE(11, 13); CE(1, 2); CE(3, 4); CE(5, 6); CE(7, 8);
    CE(9, 10); CE(11, 12); CE(13, 14);
}

/* Bitonic columns of 2 into ascending ones. */
MC_INLINE void NAME(settle2)(V *v)
{
    CE(0, 1);
}

/* Bitonic columns of 4 into ascending ones. */
MC_INLINE void NAME(settle4)(V *v)
{
    CE(0, 2); CE(1, 3); CE(0, 1); CE(2, 3);
}

/* Bitonic columns of 8 into ascending ones. */
MC_INLINE void NAME(settle8)(V *v)
{
    CE(0, 4); CE(1, 5); CE(2, 6); CE(3, 7); CE(0, 2); CE(1, 3);
    CE(4, 6); CE(5, 7); CE(0, 1); CE(2, 3); CE(4, 5); CE(6, 7);
}

/* Bitonic columns of 16 into ascending ones. */
MC_INLINE void NAME(settle16)(V *v)
{
    CE(0, 8); CE(1, 9); CE(2, 10); CE(3, 11); CE(4, 12); CE(5, 13);
    CE(6, 14); CE(7, 15); CE(0, 4); CE(1, 5); CE(2, 6); CE(3, 7);
    CE(8, 12); CE(9, 13); CE(10, 14); CE(11, 15); CE(0, 2); CE(1, 3);
    CE(4, 6); CE(5, 7); CE(8, 10); CE(9, 11); CE(12, 14); CE(13, 15);
    CE(0, 1); CE(2, 3); CE(4, 5); CE(6, 7); CE(8, 9); CE(10, 11);
    CE(12, 13); CE(14, 15);
}

MC_INLINE void NAME(network1)(V *v)
{
    ALONG(0, REV2, 1);
    ALONG(0, REV4, 2);
    ALONG(0, SWAP1, 1);
#if LANES == 8
    ALONG(0, REV8, 4);
    ALONG(0, SWAP2, 2);
    ALONG(0, SWAP1, 1);
#endif
}

MC_INLINE void NAME(network2)(V *v)
{
    NAME(columns2)(v);
    CROSS(0, 1, REV2, 1);
    NAME(settle2)(v);
    CROSS(0, 1, REV4, 2);
    ALONG(0, SWAP1, 1); ALONG(1, SWAP1, 1);
    NAME(settle2)(v);
#if LANES == 8
    CROSS(0, 1, REV8, 4);
    ALONG(0, SWAP2, 2); ALONG(1, SWAP2, 2);
    ALONG(0, SWAP1, 1); ALONG(1, SWAP1, 1);
    NAME(settle2)(v);
#endif
}

MC_INLINE void NAME(network4)(V *v)
{
    NAME(columns4)(v);
    CROSS(0, 3, REV2, 1); CROSS(1, 2, REV2, 1);
    NAME(settle4)(v);
    CROSS(0, 3, REV4, 2); CROSS(1, 2, REV4, 2);
    ALONG(0, SWAP1, 1); ALONG(1, SWAP1, 1); ALONG(2, SWAP1, 1);
    ALONG(3, SWAP1, 1);
    NAME(settle4)(v);
#if LANES == 8
    CROSS(0, 3, REV8, 4); CROSS(1, 2, REV8, 4);
    ALONG(0, SWAP2, 2); ALONG(1, SWAP2, 2); ALONG(2, SWAP2, 2);
    ALONG(3, SWAP2, 2);
    ALONG(0, SWAP1, 1); ALONG(1, SWAP1, 1); ALONG(2, SWAP1, 1);
    ALONG(3, SWAP1, 1);
    NAME(settle4)(v);
#endif
}

MC_INLINE void NAME(network8)(V *v)
{
    NAME(columns8)(v);
    CROSS(0, 7, REV2, 1); CROSS(1, 6, REV2, 1);
    CROSS(2, 5, REV2, 1); CROSS(3, 4, REV2, 1);
    NAME(settle8)(v);
    CROSS(0, 7, REV4, 2); CROSS(1, 6, REV4, 2);
    CROSS(2, 5, REV4, 2); CROSS(3, 4, REV4, 2);
    ALONG(0, SWAP1, 1); ALONG(1, SWAP1, 1); ALONG(2, SWAP1, 1);
    ALONG(3, SWAP1, 1); ALONG(4, SWAP1, 1); ALONG(5, SWAP1, 1);
    ALONG(6, SWAP1, 1); ALONG(7, SWAP1, 1);
    NAME(settle8)(v);
#if LANES == 8
    CROSS(0, 7, REV8, 4); CROSS(1, 6, REV8, 4);
    CROSS(2, 5, REV8, 4); CROSS(3, 4, REV8, 4);
    ALONG(0, SWAP2, 2); ALONG(1, SWAP2, 2); ALONG(2, SWAP2, 2);
    ALONG(3, SWAP2, 2); ALONG(4, SWAP2, 2); ALONG(5, SWAP2, 2);
    ALONG(6, SWAP2, 2); ALONG(7, SWAP2, 2);
    ALONG(0, SWAP1, 1); ALONG(1, SWAP1, 1); ALONG(2, SWAP1, 1);
    ALONG(3, SWAP1, 1); ALONG(4, SWAP1, 1); ALONG(5, SWAP1, 1);
    ALONG(6, SWAP1, 1); ALONG(7, SWAP1, 1);
    NAME(settle8)(v);
#endif
}

MC_INLINE void NAME(network16)(V *v)
{
    NAME(columns16)(v);
    CROSS(0, 15, REV2, 1); CROSS(1, 14, REV2, 1);
    CROSS(2, 13, REV2, 1); CROSS(3, 12, REV2, 1);
    CROSS(4, 11, REV2, 1); CROSS(5, 10, REV2, 1);
    CROSS(6, 9, REV2, 1); CROSS(7, 8, REV2, 1);
    NAME(settle16)(v);
    CROSS(0, 15, REV4, 2); CROSS(1, 14, REV4, 2);
    CROSS(2, 13, REV4, 2); CROSS(3, 12, REV4, 2);
    CROSS(4, 11, REV4, 2); CROSS(5, 10, REV4, 2);
    CROSS(6, 9, REV4, 2); CROSS(7, 8, REV4, 2);
    ALONG(0, SWAP1, 1); ALONG(1, SWAP1, 1); ALONG(2, SWAP1, 1);
    ALONG(3, SWAP1, 1); ALONG(4, SWAP1, 1); ALONG(5, SWAP1, 1);
    ALONG(6, SWAP1, 1); ALONG(7, SWAP1, 1); ALONG(8, SWAP1, 1);
    ALONG(9, SWAP1, 1); ALONG(10, SWAP1, 1); ALONG(11, SWAP1, 1);
    ALONG(12, SWAP1, 1); ALONG(13, SWAP1, 1); ALONG(14, SWAP1, 1);
    ALONG(15, SWAP1, 1);
    NAME(settle16)(v);
#if LANES == 8
    CROSS(0, 15, REV8, 4); CROSS(1, 14, REV8, 4);
    CROSS(2, 13, REV8, 4); CROSS(3, 12, REV8, 4);
    CROSS(4, 11, REV8, 4); CROSS(5, 10, REV8, 4);
    CROSS(6, 9, REV8, 4); CROSS(7, 8, REV8, 4);
    ALONG(0, SWAP2, 2); ALONG(1, SWAP2, 2); ALONG(2, SWAP2, 2);
    ALONG(3, SWAP2, 2); ALONG(4, SWAP2, 2); ALONG(5, SWAP2, 2);
    ALONG(6, SWAP2, 2); ALONG(7, SWAP2, 2); ALONG(8, SWAP2, 2);
    ALONG(9, SWAP2, 2); ALONG(10, SWAP2, 2); ALONG(11, SWAP2, 2);
    ALONG(12, SWAP2, 2); ALONG(13, SWAP2, 2); ALONG(14, SWAP2, 2);
    ALONG(15, SWAP2, 2);
    ALONG(0, SWAP1, 1); ALONG(1, SWAP1, 1); ALONG(2, SWAP1, 1);
    ALONG(3, SWAP1, 1); ALONG(4, SWAP1, 1); ALONG(5, SWAP1, 1);
    ALONG(6, SWAP1, 1); ALONG(7, SWAP1, 1); ALONG(8, SWAP1, 1);
    ALONG(9, SWAP1, 1); ALONG(10, SWAP1, 1); ALONG(11, SWAP1, 1);
    ALONG(12, SWAP1, 1); ALONG(13, SWAP1, 1); ALONG(14, SWAP1, 1);
    ALONG(15, SWAP1, 1);
    NAME(settle16)(v);
#endif
}

/* n in (rows/2*LANES, rows*LANES]: so the first half of the rows is full. Missing keys load as
 * K_MAX and sort behind. */
#define LOAD_FULL(i) v[i] = LOAD(src + (i) * LANES)
#define LOAD_PART(i) v[i] = NAME(load_part)(src + (i) * LANES, n - (i) * LANES)

MC_INLINE V NAME(load_part)(const K *src, int64_t n)
{
    const V mask = GT(SET1((K)(n < 0 ? 0 : n)), IOTA);
    return _mm256_blendv_epi8(SET1(K_MAX), MASKLOAD(src, mask), mask);
}

/* The last rows leave through a buffer, for a vector store must not touch what lies behind n. */
MC_INLINE void NAME(store_tail)(const K *tail, K *out, int64_t n)
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) STORE(out + i, LOAD(tail + i));
    for (; i < n; i++) out[i] = tail[i];
}

static void NAME(small1)(const K *src, K *out, int64_t n)
{
    V v[1];
    K tail[1 * LANES];
    LOAD_PART(0);
    NAME(network1)(v);
    STORE(tail + 0 * LANES, v[0]);
    NAME(store_tail)(tail, out + 0 * LANES, n - 0 * LANES);
}

static void NAME(small2)(const K *src, K *out, int64_t n)
{
    V v[2];
    K tail[1 * LANES];
    LOAD_FULL(0);
    LOAD_PART(1);
    NAME(network2)(v);
    TRANSPOSE2(v);
    STORE(out + 0 * LANES, v[0]);
    STORE(tail + 0 * LANES, v[1]);
    NAME(store_tail)(tail, out + 1 * LANES, n - 1 * LANES);
}

static void NAME(small4)(const K *src, K *out, int64_t n)
{
    V v[4];
    K tail[2 * LANES];
    LOAD_FULL(0); LOAD_FULL(1);
    LOAD_PART(2); LOAD_PART(3);
    NAME(network4)(v);
    TRANSPOSE4(v);
    STORE(out + 0 * LANES, v[0]); STORE(out + 1 * LANES, v[1]);
    STORE(tail + 0 * LANES, v[2]); STORE(tail + 1 * LANES, v[3]);
    NAME(store_tail)(tail, out + 2 * LANES, n - 2 * LANES);
}

static void NAME(small8)(const K *src, K *out, int64_t n)
{
    V v[8];
    K tail[4 * LANES];
    LOAD_FULL(0); LOAD_FULL(1); LOAD_FULL(2); LOAD_FULL(3);
    LOAD_PART(4); LOAD_PART(5); LOAD_PART(6); LOAD_PART(7);
    NAME(network8)(v);
    TRANSPOSE8(v);
    STORE(out + 0 * LANES, v[0]); STORE(out + 1 * LANES, v[1]);
    STORE(out + 2 * LANES, v[2]); STORE(out + 3 * LANES, v[3]);
    STORE(tail + 0 * LANES, v[4]); STORE(tail + 1 * LANES, v[5]);
    STORE(tail + 2 * LANES, v[6]); STORE(tail + 3 * LANES, v[7]);
    NAME(store_tail)(tail, out + 4 * LANES, n - 4 * LANES);
}

static void NAME(small16)(const K *src, K *out, int64_t n)
{
    V v[16];
    K tail[8 * LANES];
    LOAD_FULL(0); LOAD_FULL(1); LOAD_FULL(2); LOAD_FULL(3);
    LOAD_FULL(4); LOAD_FULL(5); LOAD_FULL(6); LOAD_FULL(7);
    LOAD_PART(8); LOAD_PART(9); LOAD_PART(10); LOAD_PART(11);
    LOAD_PART(12); LOAD_PART(13); LOAD_PART(14); LOAD_PART(15);
    NAME(network16)(v);
    TRANSPOSE16(v);
    STORE(out + 0 * LANES, v[0]); STORE(out + 1 * LANES, v[1]);
    STORE(out + 2 * LANES, v[2]); STORE(out + 3 * LANES, v[3]);
    STORE(out + 4 * LANES, v[4]); STORE(out + 5 * LANES, v[5]);
    STORE(out + 6 * LANES, v[6]); STORE(out + 7 * LANES, v[7]);
    STORE(tail + 0 * LANES, v[8]); STORE(tail + 1 * LANES, v[9]);
    STORE(tail + 2 * LANES, v[10]); STORE(tail + 3 * LANES, v[11]);
    STORE(tail + 4 * LANES, v[12]); STORE(tail + 5 * LANES, v[13]);
    STORE(tail + 6 * LANES, v[14]); STORE(tail + 7 * LANES, v[15]);
    NAME(store_tail)(tail, out + 8 * LANES, n - 8 * LANES);
}

#define SMALL (16 * LANES)
#define PIECE (1 << 13) /* keys that stay in the second cache while they are sorted and stored */

static void NAME(small)(const K *src, K *out, int64_t n)
{
    if (n <= 2 * LANES) {
        if (n > LANES)
            NAME(small2)(src, out, n);
        else
            NAME(small1)(src, out, n);
    } else if (n <= 4 * LANES) {
        NAME(small4)(src, out, n);
    } else if (n <= 8 * LANES) {
        NAME(small8)(src, out, n);
    } else {
        NAME(small16)(src, out, n);
    }
}

/* Splits src[n] into the room to[room], room >= n: keys below the pivot (or_equal: not above it)
 * from the left end, the rest from the right; returns how many went left. What is left of the room
 * after i keys is room - i long and starts at `left`, so one moving pointer serves both ends. The
 * odd keys go first: if the room then is a multiple of a vector, the two overlapping stores of the
 * last one write the same bytes. */
MC_INLINE int64_t NAME(split)(const K *src, K *to, int64_t n, int64_t room, K pivot, int or_equal)
{
    K *left = to;
    int64_t i = 0;
    for (; i < n % LANES; i++) {
        const K k = src[i];
        left[0] = k;
        left[room - i - 1] = k;
        left += or_equal ? k <= pivot : k < pivot;
    }
    const V p = SET1(pivot);
    const int all = (1 << LANES) - 1;
    int64_t last = room - i - LANES; /* left[last] is the last vector of the room */
    MC_UNROLL(4)
    for (; i < n; i += LANES) {
        const V x = LOAD(src + i);
        const int mask = or_equal ? MASK(GT(x, p)) ^ all : MASK(GT(p, x));
        const V ordered = ORDER(x, mask);
        STORE(left, ordered);
        STORE(left + last, ordered);
        left += __builtin_popcount((unsigned)mask);
        last -= LANES;
    }
    return left - to;
}

static int64_t NAME(split_below)(const K *src, K *to, int64_t n, int64_t room, K pivot)
{
    return NAME(split)(src, to, n, room, pivot, 0);
}

static int64_t NAME(split_equal)(const K *src, K *to, int64_t n, K pivot)
{
    return NAME(split)(src, to, n, n, pivot, 1);
}

/* The median of a sample taken at even distances: of 16 keys, or 64 of a long range. */
static K NAME(pivot)(const K *src, int64_t n)
{
    K sample[SMALL];
    const int64_t count = n < 1024 ? 16 : 64, step = n / count;
    for (int64_t i = 0; i < count; i++) sample[i] = src[i * step + step / 2];
    NAME(small)(sample, sample, count);
    return sample[count / 2];
}

/* Sorts src[n] into out, which is src or other; both are scratch besides. `lo` is the position of
 * src[0] in the whole, by which ranges without a wanted rank are dropped. With a map, pieces that
 * fit the cache are stored through it. */
static void NAME(quick)(K *src, K *other, K *out, int64_t n, int64_t lo, int depth,
                        const int64_t *rank, int64_t ranks, const mck_sort_map *map)
{
    while (n > SMALL && !(map && n <= PIECE)) {
        if (depth-- == 0) {
            NAME(sort_radix)(src, other, n);
            for (int64_t i = 0; i < n && out != src; i++) out[i] = src[i];
            if (map) map->store(map, out, n);
            return;
        }
        const K pivot = NAME(pivot)(src, n);
        int64_t cut = NAME(split_below)(src, other, n, n, pivot);
        const int least = cut == 0; /* the pivot is the least key: set all its equals aside */
        if (least) {
            cut = NAME(split_equal)(src, other, n, pivot);
            for (int64_t i = 0; i < cut; i++) out[i] = pivot;
            if (map) map->store(map, out, cut);
        }
        int64_t below = 0;
        while (below < ranks && rank[below] < lo + cut) below++;
        if (!least && (!rank || below > 0))
            NAME(quick)(other, src, out, cut, lo, depth, rank, below, map);
        if (rank) {
            rank += below;
            ranks -= below;
            if (ranks == 0) return;
        }
        K *const swap = src + cut;
        src = other + cut;
        other = swap;
        out += cut;
        lo += cut;
        n -= cut;
    }
    if (n <= 0) return;
    if (n <= SMALL)
        NAME(small)(src, out, n);
    else
        NAME(quick)(src, other, out, n, lo, depth, NULL, 0, NULL);
    if (map) map->store(map, out, n);
}

/* Twice the depth that even splits would need. */
static int NAME(depth)(int64_t n)
{
    int depth = 8;
    for (int64_t i = n; i > 1; i >>= 1) depth += 2;
    return depth;
}

void NAME(sort_keys)(K *key, K *tmp, int64_t n, const int64_t *rank, int64_t ranks)
{
    NAME(quick)(key, tmp, key, n, 0, NAME(depth)(n), rank, ranks, NULL);
}

/* The first split reads the row itself, making its keys piece by piece. */
void NAME(sort_mapped)(const mck_sort_map *map, K *key, K *tmp, int64_t n)
{
    K piece[8 * SMALL], sample[64];
    const int64_t step = n / 64;
    for (int64_t i = 0; i < 64 && step > 0; i++) map->load(map, sample + i, i * step + step / 2, 1);
    const K pivot = step > 0 ? NAME(pivot)(sample, 64) : 0;
    int64_t cut = 0;
    int64_t from = 0, count = n % LANES; /* the odd keys first, then whole vectors */
    while (from < n) {
        map->load(map, piece, from, count);
        cut += NAME(split_below)(piece, tmp + cut, count, n - from, pivot);
        from += count;
        count = n - from < 8 * SMALL ? n - from : 8 * SMALL;
    }
    const int depth = NAME(depth)(n);
    NAME(quick)(tmp, key, key, cut, 0, depth, NULL, 0, map);
    NAME(quick)(tmp + cut, key + cut, key + cut, n - cut, 0, depth, NULL, 0, map);
}

#undef CE
#undef CROSS
#undef ALONG
#undef LOAD_FULL
#undef LOAD_PART
#undef SMALL
#undef PIECE
