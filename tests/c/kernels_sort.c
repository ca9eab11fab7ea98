/* kernels_sort.c - the sort and select kernels of one level against their plain forms and against
 * laws.
 *
 * One program per level, linked with the kernel objects of that level; it passes at once where the
 * machine lacks the level. build: -DMC_ISA=v2 $B/obj/v2/kernels/cpu/{sort,sort_v3,select}.o -lm &&
 * for l in v3 v4; do $CC $CSTD -O2 -g $INC -DMC_ISA=$l -o $out-$l $src
 * $B/obj/$l/kernels/cpu/{sort,sort_v3,select}.o -lm; done Prints `N passed, M failed`; exit status
 * 1 when something failed. Every buffer is guarded: a kernel that writes behind its row or its
 * workspace fails here. */
#include "../../kernels/mck_select.h"
#include "../../kernels/mck_sort.h"
#include "count_check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;

static uint64_t draw(void)
{
    state += 0x9E3779B97F4A7C15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

enum { GUARD = 64, MARK = 0x5a };

/* A 64-byte aligned block with a guard behind it. */
static void *guarded(size_t bytes)
{
    unsigned char *p = aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64);
    if (!p) exit(2);
    memset(p + bytes, MARK, GUARD);
    return p;
}

static int intact(const void *block, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)block + bytes;
    for (int i = 0; i < GUARD; i++)
        if (p[i] != MARK) return 0;
    return 1;
}

typedef struct dtype {
    const char *name;
    int bytes, floating, is_signed;
    mck_sort_fn sort, ref;
} dtype;

#define ROW(name, type) \
    { \
        #name,        (int)sizeof(type), (type)0.5 != 0, \
        (type)-1 < 0, MCK(sort_##name),  MCK(sort_ref_##name) \
    },
static const dtype dtypes[] = { MCK_SORT_DTYPES(ROW) };

/* Element i as a long double, in which every value of every dtype is exact. */
static long double number(const dtype *d, const void *p, int64_t i)
{
    const char *at = (const char *)p + i * d->bytes;
    if (d->floating) {
        if (d->bytes == 4) return *(const float *)(const void *)at;
        return *(const double *)(const void *)at;
    }
    switch (d->bytes) {
    case 1: return d->is_signed ? *(const int8_t *)at : *(const uint8_t *)at;
    case 2: return *(const int16_t *)(const void *)at;
    case 4: return *(const int32_t *)(const void *)at;
    default: return *(const int64_t *)(const void *)at;
    }
}

static void put(const dtype *d, void *p, int64_t i, double x, uint64_t bits)
{
    char *at = (char *)p + i * d->bytes;
    if (!d->floating) {
        memcpy(at, &bits, (size_t)d->bytes); /* little end first */
    } else if (d->bytes == 4) {
        const float f = (float)x;
        memcpy(at, &f, 4);
    } else {
        memcpy(at, &x, 8);
    }
}

enum { RANDOM, ALL_BITS, SORTED, REVERSED, CONSTANT, FEW, PIPE, SPECIAL, CLUSTERS, PATTERNS };
static const char *const pattern_name[] = { "random",     "all bits", "sorted",
                                            "reversed",   "constant", "few",
                                            "organ pipe", "special",  "clusters" };

static void fill(const dtype *d, void *row, int64_t n, int pattern)
{
    static const double special[] = { 0.0,    -0.0,    INFINITY, -INFINITY, NAN,  -NAN,
                                      1e-310, -1e-310, 1.0,      -1.0,      3e38, -3e38 };
    static const uint64_t edge[] = { 0,
                                     1,
                                     0xffffffffffffffffu,
                                     0x8080808080808080u,
                                     0x7f7f7f7f7f7f7f7fu,
                                     0x8000000000000000u,
                                     0x7fffffffffffffffu,
                                     0x80000000u,
                                     0x7fffffffu };
    for (int64_t i = 0; i < n; i++) {
        const uint64_t r = draw();
        double x = (double)(int64_t)r * 1e-15;
        uint64_t bits = r;
        switch (pattern) {
        case ALL_BITS: /* any exponent, NaN and both infinities among them */
            if (d->bytes == 4) {
                float f;
                const uint32_t w = (uint32_t)r;
                memcpy(&f, &w, 4);
                x = f;
            } else {
                memcpy(&x, &r, 8);
            }
            break;
        case SORTED: x = (double)i, bits = (uint64_t)i; break;
        case REVERSED: x = (double)(n - i), bits = (uint64_t)(n - i); break;
        case CONSTANT: x = 2.5, bits = 77; break;
        case FEW: x = (double)(r % 3) - 1.0, bits = r % 3; break;
        case PIPE: bits = (uint64_t)(i < n / 2 ? i : n - i), x = (double)bits; break;
        case SPECIAL: x = special[r % 12], bits = edge[r % 9]; break;
        case CLUSTERS: /* equal in the upper half of 64 bits, and strays far away */
            bits = r % 50 == 0 ? r : ((r >> 8) % 3 + 5) << 40 | (r >> 40) % 5000;
            x = r % 50 == 0 ? 1e200 * (double)(r >> 60) : 1.0 + (double)((r >> 40) % 5000) * 1e-15;
            break;
        default: break;
        }
        put(d, row, i, x, bits);
    }
}

/* Must y stand behind x, by the contract? */
static int behind(long double y, long double x, int descending)
{
    if (isnan(y)) return 1;
    if (isnan(x)) return 0;
    return descending ? y <= x : y >= x;
}

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    return z ^ (z >> 29);
}

/* A sum over the elements that does not depend on their order; all NaN count alike. */
static uint64_t content(const dtype *d, const void *p, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        if (isnan(number(d, p, i)))
            bits = 0x7ff9;
        else
            memcpy(&bits, (const char *)p + i * d->bytes, (size_t)d->bytes);
        sum += mix(bits + 0x1234567);
    }
    return sum;
}

static void sort_case(const dtype *d, int64_t m, int64_t n, int pattern, int descending)
{
    const size_t bytes = (size_t)(m * n * d->bytes), work_bytes = MCK(sort_work)(d->bytes, n, 0);
    const size_t index_bytes = (size_t)(m * n) * 8, index_work = MCK(sort_work)(d->bytes, n, 1);
    void *in = guarded(bytes), *out = guarded(bytes), *work = guarded(work_bytes),
         *both = guarded(index_work);
    int64_t *index = guarded(index_bytes);
    const char *label = pattern_name[pattern];
    const long long rows = m, length = n;
    fill(d, in, m * n, pattern);
    mck_sort a = { .m = m, .n = n, .out = out, .in = in, .descending = descending, .work = work };
    d->sort(&a);
    int ordered = 1, same = 1;
    for (int64_t r = 0; r < m; r++) {
        const char *ri = (const char *)in + r * n * d->bytes,
                   *ro = (const char *)out + r * n * d->bytes;
        for (int64_t i = 1; i < n; i++)
            ordered &= behind(number(d, ro, i), number(d, ro, i - 1), descending);
        same &= content(d, ri, n) == content(d, ro, n);
    }
    check(ordered, "sort %s %s %lldx%lld desc %d: order", d->name, label, rows, length, descending);
    check(same, "sort %s %s %lldx%lld desc %d: the row holds other numbers than before", d->name,
          label, rows, length, descending);
    check(intact(out, bytes) && intact(work, work_bytes),
          "sort %s %s %lldx%lld: writes out of bounds", d->name, label, rows, length);
    if (n <= 300) {
        void *expected = guarded(bytes);
        mck_sort b = a;
        b.out = expected;
        d->ref(&b);
        int equal = 1;
        for (int64_t i = 0; i < m * n; i++) {
            const long double x = number(d, expected, i), y = number(d, out, i);
            equal &= x == y || (isnan(x) && isnan(y));
        }
        check(equal, "sort %s %s %lldx%lld desc %d: differs from the plain form", d->name, label,
              rows, length, descending);
        free(expected);
    }

    a.out = NULL;
    a.index = index;
    a.base = 1;
    a.work = both;
    d->sort(&a);
    char *seen = calloc((size_t)n + 1, 1);
    int stable = 1, permutation = 1;
    for (int64_t r = 0; r < m && seen; r++) {
        const char *ri = (const char *)in + r * n * d->bytes;
        memset(seen, 0, (size_t)n);
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = index[r * n + i] - 1;
            permutation &= at >= 0 && at < n && !seen[at];
            if (!permutation) break;
            seen[at] = 1;
            if (i == 0) continue;
            const int64_t before = index[r * n + i - 1] - 1;
            const long double x = number(d, ri, before), y = number(d, ri, at);
            const int tie = x == y || (isnan(x) && isnan(y));
            stable &= behind(y, x, descending) && (!tie || at > before);
        }
    }
    free(seen);
    check(permutation, "argsort %s %s %lldx%lld desc %d: not a permutation", d->name, label, rows,
          length, descending);
    check(stable, "argsort %s %s %lldx%lld desc %d: order or stability", d->name, label, rows,
          length, descending);
    check(intact(index, index_bytes) && intact(both, index_work),
          "argsort %s %s %lldx%lld: writes out of bounds", d->name, label, rows, length);

    void *inplace = guarded(bytes); /* out on top of in, with and without positions */
    memcpy(inplace, in, bytes);
    a.in = a.out = inplace;
    d->sort(&a);
    int agree = 1;
    for (int64_t i = 0; i < m * n; i++) {
        const int64_t from = i / n * n + index[i] - 1;
        agree &= memcmp((char *)inplace + i * d->bytes, (char *)in + from * d->bytes,
                        (size_t)d->bytes) == 0;
    }
    check(agree, "sort %s %s %lldx%lld desc %d: values and positions part in place", d->name, label,
          rows, length, descending);
    memcpy(inplace, in, bytes);
    a.index = NULL;
    a.work = work;
    d->sort(&a);
    check(memcmp(inplace, out, bytes) == 0, "sort %s %s %lldx%lld desc %d: in place differs",
          d->name, label, rows, length, descending);
    free(in);
    free(out);
    free(work);
    free(both);
    free(index);
    free(inplace);
}

/* ---- keys: radix, and quicksort by ranks ---- */

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void key_case(int64_t n, int range)
{
    int64_t *full = malloc((size_t)n * 8), *key = malloc((size_t)n * 8),
            *tmp = malloc((size_t)n * 8);
    int32_t *key32 = malloc((size_t)n * 4), *tmp32 = malloc((size_t)n * 4);
    int64_t rank[5];
    if (!full || !key || !tmp || !key32 || !tmp32) exit(2);
    for (int64_t i = 0; i < n; i++)
        full[i] = range ? (int64_t)(draw() % (uint64_t)range) - range / 2 : (int64_t)draw() >> 33;
    for (int k = 0; k < 5; k++) rank[k] = n * k / 5;
    for (int64_t i = 0; i < n; i++) key[i] = full[i], key32[i] = (int32_t)full[i];
    MCK(sort_keys_i64)(key, tmp, n, rank, 5);
    MCK(sort_keys_i32)(key32, tmp32, n, rank, 5);
    int64_t *given = malloc((size_t)n * 8);
    if (!given) exit(2);
    memcpy(given, full, (size_t)n * 8);
    qsort(full, (size_t)n, 8, ascending);
    int ok64 = 1, ok32 = 1;
    for (int k = 0; k < 5; k++) {
        ok64 &= key[rank[k]] == full[rank[k]];
        ok32 &= key32[rank[k]] == full[rank[k]];
    }
    check(ok64 && ok32, "keys by rank, n %lld range %d", (long long)n, range);
    for (int64_t i = 0; i < n; i++) key[i] = given[i], key32[i] = (int32_t)given[i];
    MCK(sort_radix_i64)(key, tmp, n);
    MCK(sort_radix_i32)(key32, tmp32, n);
    int radix = 1;
    for (int64_t i = 0; i < n; i++) radix &= key[i] == full[i] && key32[i] == full[i];
    check(radix, "radix sort, n %lld range %d", (long long)n, range);
    free(full);
    free(key);
    free(tmp);
    free(key32);
    free(tmp32);
    free(given);
}

/* ---- select ---- */

/* All thirteen methods on one sample; the numbers are those of numpy.quantile 2.x with the method
 * of that name. */
static void quantile_methods(void)
{
    static const double row[11] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5 };
    static const double p[7] = { 0, 0.1, 0.25, 0.37, 0.5, 0.9, 1 };
    static const double expected[13][7] = {
        { 1, 1, 2.5, 3, 4, 6, 9 },          /* linear, type 7 */
        { 1, 1, 2, 3, 4, 6, 9 },            /* lower */
        { 1, 1, 3, 3, 4, 6, 9 },            /* higher */
        { 1, 1, 2, 3, 4, 6, 9 },            /* nearest */
        { 1, 1, 2.5, 3, 4, 6, 9 },          /* midpoint */
        { 1, 1, 2, 3, 4, 6, 9 },            /* type 1, inverted_cdf */
        { 1, 1, 2, 3, 4, 6, 9 },            /* type 2, averaged_inverted_cdf */
        { 1, 1, 2, 3, 4, 6, 9 },            /* type 3, closest_observation */
        { 1, 1, 1.75, 3, 3.5, 5.9, 9 },     /* type 4, interpolated_inverted_cdf */
        { 1, 1, 2.25, 3, 4, 7.2, 9 },       /* type 5, hazen */
        { 1, 1, 2, 3, 4, 8.4, 9 },          /* type 6, weibull */
        { 1, 1, 13.0 / 6.0, 3, 4, 7.6, 9 }, /* type 8, median_unbiased */
        { 1, 1, 2.1875, 3, 4, 7.5, 9 }      /* type 9, normal_unbiased */
    };
    static const double even[8] = { 12, 1.5, 10.5, 3, 9, 4.5, 7.5, 6 };
    static const double q[6] = { 0.25, 0.5, 0.75, 0.0625, 0.1875, 0.3125 };
    static const double halves[3][6] = {
        { 4.5, 7.5, 9, 1.5, 3, 4.5 },      /* nearest, halves to even */
        { 3.75, 6.75, 9.75, 1.5, 3, 4.5 }, /* type 2 */
        { 3, 6, 9, 1.5, 3, 3 }             /* type 3 */
    };
    static const int half_method[3] = { 3, 6, 7 };
    void *work = guarded(MCK(select_work)(8, 11, 7));
    double out[7];
    for (int method = 0; method < 13; method++) {
        mck_select a = { .m = 1,
                         .n = 11,
                         .q = 7,
                         .out = out,
                         .in = row,
                         .prob = p,
                         .method = method,
                         .work = work };
        MCK(select_f64)(&a);
        for (int k = 0; k < 7; k++)
            check(fabs(out[k] - expected[method][k]) <= 4e-15,
                  "quantile method %d at %g: expected %.17g, got %.17g", method, p[k],
                  expected[method][k], out[k]);
    }
    for (int h = 0; h < 3; h++) {
        mck_select a = { .m = 1,
                         .n = 8,
                         .q = 6,
                         .out = out,
                         .in = even,
                         .prob = q,
                         .method = half_method[h],
                         .work = work };
        MCK(select_f64)(&a);
        for (int k = 0; k < 6; k++)
            check(out[k] == halves[h][k], "quantile method %d at %g: expected %g, got %g",
                  half_method[h], q[k], halves[h][k], out[k]);
    }
    free(work);
}

static void select_case(const dtype *d, int64_t m, int64_t n, int pattern)
{
    static const double p[6] = { 0.5, 0.0, 1.0, 0.25, 0.9, 1.0 / 3.0 };
    const size_t bytes = (size_t)(m * n * d->bytes), work_bytes = MCK(select_work)(d->bytes, n, 6);
    const size_t out_bytes = (size_t)(m * 6 * d->bytes);
    void *in = guarded(bytes), *out = guarded(out_bytes), *expected = guarded(out_bytes),
         *work = guarded(work_bytes);
    fill(d, in, m * n, pattern);
    for (int method = 0; method < 13; method++) {
        for (int skip = 0; skip < 2; skip++) {
            mck_select a = { .m = m,
                             .n = n,
                             .q = method % 2 ? 6 : 1,
                             .out = out,
                             .in = in,
                             .prob = p,
                             .method = method,
                             .nan_skip = skip,
                             .work = work };
            mck_select b = a;
            b.out = expected;
            (d->bytes == 4 ? MCK(select_f32) : MCK(select_f64))(&a);
            (d->bytes == 4 ? MCK(select_ref_f32) : MCK(select_ref_f64))(&b);
            int equal = 1;
            for (int64_t i = 0; i < m * a.q; i++) {
                const long double x = number(d, expected, i), y = number(d, out, i);
                equal &= x == y || (isnan(x) && isnan(y));
            }
            check(equal, "select %s %s %lldx%lld method %d skip %d", d->name, pattern_name[pattern],
                  (long long)m, (long long)n, method, skip);
        }
    }
    check(intact(out, out_bytes) && intact(work, work_bytes),
          "select %s %lldx%lld: writes out of bounds", d->name, (long long)m, (long long)n);
    free(in);
    free(out);
    free(expected);
    free(work);
}

static void select_edges(void)
{
    static const float nan_row[4] = { 1, NAN, 3, 2 }, nan_only[4] = { NAN, NAN, NAN, NAN };
    static const float infinite[4] = { INFINITY, 1, INFINITY, -INFINITY },
                       huge[2] = { -3e38f, 3e38f };
    static const double p[2] = { 0.5, 0.25 };
    void *work = guarded(MCK(select_work)(4, 4, 2));
    float out[2];
    mck_select a = { .m = 1, .n = 4, .q = 2, .out = out, .in = nan_row, .prob = p, .work = work };
    MCK(select_f32)(&a);
    check(isnan(out[0]) && isnan(out[1]), "a NaN in the row gives NaN");
    a.nan_skip = 1;
    MCK(select_f32)(&a);
    check(out[0] == 2 && out[1] == 1.5f, "nan_skip: median 2 and quartile 1.5, got %g and %g",
          (double)out[0], (double)out[1]);
    a.in = nan_only;
    MCK(select_f32)(&a);
    check(isnan(out[0]), "nan_skip with nothing left gives NaN");
    a.in = infinite;
    MCK(select_f32)(&a);
    check(isinf(out[0]) && out[0] > 0 && isinf(out[1]) && out[1] < 0,
          "infinite neighbours stay infinite");
    a.in = huge;
    a.n = 2;
    MCK(select_f32)(&a);
    check(out[0] == 0, "the middle of -3e38 and 3e38 is 0");
    free(work);
}

int main(void)
{
    if (!level_runs()) return 0;
    static const int64_t lengths[] = { 1,   2,   3,   7,   8,    9,    15,   16,   17,  31,  32,
                                       33,  63,  64,  65,  100,  127,  128,  129,  130, 191, 255,
                                       256, 257, 300, 511, 1000, 1023, 1024, 1025, 5000 };
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (int pattern = 0; pattern < PATTERNS; pattern++)
                for (int descending = 0; descending < 2; descending++)
                    sort_case(&dtypes[t], lengths[l] < 100 ? 3 : 1, lengths[l], pattern,
                              descending);
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
        for (int pattern = 0; pattern < PATTERNS; pattern++)
            sort_case(&dtypes[t], 1, 60000, pattern, pattern & 1);
    for (int64_t n = 1; n < 700; n += 3) {
        key_case(n, 0);
        key_case(n, 5);
    }
    key_case(50000, 0);
    key_case(50000, 1000);
    quantile_methods();
    select_edges();
    for (size_t t = 5; t < 7; t++)
        for (size_t l = 0; l < 27; l++)
            for (int pattern = 0; pattern < PATTERNS; pattern++)
                select_case(&dtypes[t], 2, lengths[l], pattern);
    return report();
}
