/* kernels_fft.c - our own transform of one level against the definition and against laws.
 *
 * One program per level, linked with the kernel objects of that level; it passes at once where the
 * machine lacks the level. build: -DMC_ISA=v2 $B/obj/v2/kernels/cpu/fft.o -lm && for l in v3 v4;
 * do $CC $CSTD -O2 -g $INC -DMC_ISA=$l -o $out-$l $src $B/obj/$l/kernels/cpu/fft.o -lm; done
 * Prints `N passed, M failed`; exit status 1 when something failed. Small lengths are compared
 * with the plain sum. Large ones get a few impulses, whose spectrum is known in closed form, and a
 * round trip. Bounds: relative root-mean-square error below (0.6 + 0.4 log2 n) eps for direct
 * lengths, where theory has sqrt(log n) with constants of the radices, and three transforms' worth
 * of it for Bluestein's. */
#include "../../kernels/mck_fft.h"
#include "count_check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;

static double draw(void)
{
    state += 0x9E3779B97F4A7C15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (double)((z ^ (z >> 31)) >> 40) * 0x1p-24 - 0.5; /* exact in f32 */
}

enum { GUARD = 64, MARK = 0x5a };
static const char *const kind_name[] = { "c2c forward", "c2c backward", "r2c", "c2r" };

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

static int64_t reals_in(int64_t n, int kind)
{
    return kind == 2 ? n : kind == 3 ? 2 * (n / 2 + 1) : 2 * n;
}

static int64_t reals_out(int64_t n, int kind)
{
    return kind == 2 ? 2 * (n / 2 + 1) : kind == 3 ? n : 2 * n;
}

/* x[m rows] -> y, both f64 here, computed in `prec`; rows `gap` elements further apart than they
 * are long. */
static void transform(int prec, int64_t m, int64_t n, int kind, const double *x, double *y,
                      int64_t gap)
{
    const int64_t ni = reals_in(n, kind), no = reals_out(n, kind);
    const int64_t iw = kind == 2 ? 1 : 2, ow = kind == 3 ? 1 : 2; /* reals per element */
    const int64_t is = ni / iw + gap, os = no / ow + gap;
    const size_t in_bytes = (size_t)(m * is * iw * prec), out_bytes = (size_t)(m * os * ow * prec);
    const size_t table_bytes = MCK(fft_table_bytes)(prec, n, kind),
                 work_bytes = MCK(fft_work)(prec, n, kind);
    void *in = guarded(in_bytes), *out = guarded(out_bytes), *table = guarded(table_bytes),
         *work = guarded(work_bytes);
    memset(in, 0, in_bytes);
    memset(out, 0, out_bytes);
    for (int64_t r = 0; r < m; r++) {
        for (int64_t i = 0; i < ni; i++) {
            if (prec == 4)
                ((float *)in)[r * is * iw + i] = (float)x[r * ni + i];
            else
                ((double *)in)[r * is * iw + i] = x[r * ni + i];
        }
    }
    MCK(fft_table)(prec, n, kind, table);
    const mck_fft a = { .m = m,
                        .n = n,
                        .kind = kind,
                        .out = out,
                        .in = in,
                        .in_stride = is,
                        .out_stride = os,
                        .table = table,
                        .work = work };
    (prec == 4 ? MCK(fft_f32) : MCK(fft_f64))(&a);
    for (int64_t r = 0; r < m; r++)
        for (int64_t i = 0; i < no; i++)
            y[r * no + i] = prec == 4 ? (double)((float *)out)[r * os * ow + i]
                                      : ((double *)out)[r * os * ow + i];
    check(intact(out, out_bytes) && intact(table, table_bytes) && intact(work, work_bytes),
          "%s n %lld f%d: writes out of bounds", kind_name[kind], (long long)n, 8 * prec);
    free(in);
    free(out);
    free(table);
    free(work);
}

static double *doubles(int64_t n)
{
    double *p = malloc((size_t)n * sizeof *p);
    if (!p) exit(2);
    return p;
}

/* Error relative to the expected row, in eps of the precision. */
static double error(const double *y, const double *expected, int64_t n, int prec)
{
    double num = 0, den = 0;
    for (int64_t i = 0; i < n; i++) {
        num += (y[i] - expected[i]) * (y[i] - expected[i]);
        den += expected[i] * expected[i];
    }
    return sqrt(num / den) / (prec == 4 ? 0x1p-24 : 0x1p-53);
}

static int direct(int64_t n)
{
    for (int64_t p = 2; p <= 31; p++)
        while (n % p == 0) n /= p;
    return n == 1;
}

static double bound(int64_t n)
{
    return (0.6 + 0.4 * log2((double)n)) * (direct(n) ? 1 : 3) + 0.4;
}

/* Against the plain sum; that of f64 errs itself like sqrt(n) eps, so f64 is held to that on top.
 */
static void small(int64_t n)
{
    for (int kind = 0; kind < 4; kind++) {
        const int64_t ni = reals_in(n, kind), no = reals_out(n, kind);
        double *x = doubles(2 * ni), *y = doubles(2 * no), *expected = doubles(2 * no);
        for (int64_t i = 0; i < 2 * ni; i++) x[i] = draw();
        const mck_fft a = { .m = 2,
                            .n = n,
                            .kind = kind,
                            .out = expected,
                            .in = x,
                            .in_stride = kind == 2 ? ni : ni / 2,
                            .out_stride = kind == 3 ? no : no / 2 };
        MCK(fft_ref_f64)(&a);
        for (int prec = 4; prec <= 8; prec += 4) {
            transform(prec, 2, n, kind, x, y, n % 3);
            const double e = error(y, expected, 2 * no, prec),
                         most = bound(n) + (prec == 8 ? 0.5 * sqrt((double)n) : 0);
            check(e <= most, "%s n %lld f%d: error %.2f eps, bound %.2f", kind_name[kind],
                  (long long)n, 8 * prec, e, most);
        }
        free(x);
        free(y);
        free(expected);
    }
}

/* e^(-+2 pi i k / n) in long double. */
static void root(int64_t k, int64_t n, int backward, double *re, double *im)
{
    const long double angle =
        2 * 3.14159265358979323846264338327950288L * (long double)(k % n) / (long double)n;
    *re = (double)cosl(angle);
    *im = (double)(backward ? sinl(angle) : -sinl(angle));
}

static void large(int64_t n)
{
    const int64_t at[3] = { 1, n / 3, n - 2 };
    const double height[3] = { 1.0, -0.5, 0.75 };
    for (int prec = 4; prec <= 8; prec += 4) {
        for (int kind = 0; kind < 3; kind++) {
            const int64_t ni = reals_in(n, kind), no = reals_out(n, kind), per = kind == 2 ? 1 : 2;
            double *x = doubles(ni), *y = doubles(no), *expected = doubles(no);
            for (int64_t i = 0; i < ni; i++) x[i] = 0;
            for (int k = 0; k < 3; k++) x[at[k] * per] += height[k];
            for (int64_t k = 0; k < no / 2; k++) {
                expected[2 * k] = expected[2 * k + 1] = 0;
                for (int j = 0; j < 3; j++) {
                    double c, s;
                    root(at[j] * k, n, kind == 1, &c, &s);
                    expected[2 * k] += height[j] * c;
                    expected[2 * k + 1] += height[j] * s;
                }
            }
            transform(prec, 1, n, kind, x, y, 0);
            const double e = error(y, expected, no, prec), most = bound(n);
            check(e <= most, "impulses, %s n %lld f%d: error %.2f eps, bound %.2f", kind_name[kind],
                  (long long)n, 8 * prec, e, most);
            free(x);
            free(y);
            free(expected);
        }
        const int64_t bins = n / 2 + 1; /* round trips: complex, then real */
        double *x = doubles(2 * n), *y = doubles(2 * bins > 2 * n ? 2 * bins : 2 * n),
               *z = doubles(2 * n);
        for (int64_t i = 0; i < 2 * n; i++) x[i] = draw();
        for (int real = 0; real < 2; real++) {
            const int64_t length = real ? n : 2 * n;
            transform(prec, 1, n, real ? 2 : 0, x, y, 0);
            long double energy = 0, spectrum = 0; /* wider: the sums themselves must not err */
            for (int64_t i = 0; i < length; i++) energy += (long double)x[i] * x[i];
            for (int64_t k = 0; k < (real ? bins : n); k++) {
                const long double twice = real && k > 0 && 2 * k != n ? 2 : 1;
                spectrum += twice * (y[2 * k] * y[2 * k] + y[2 * k + 1] * y[2 * k + 1]);
            }
            check(fabsl(spectrum / ((long double)n * energy) - 1) <
                      2 * bound(n) * (prec == 4 ? 0x1p-24 : 0x1p-53),
                  "energy is kept, %s n %lld f%d", real ? "r2c" : "c2c", (long long)n, 8 * prec);
            transform(prec, 1, n, real ? 3 : 1, y, z, 0);
            for (int64_t i = 0; i < length; i++) z[i] /= (double)n;
            const double e = error(z, x, length, prec);
            check(e <= 2 * bound(n), "round trip, %s n %lld f%d: error %.2f eps, bound %.2f",
                  real ? "r2c" : "c2c", (long long)n, 8 * prec, e, 2 * bound(n));
        }
        free(x);
        free(y);
        free(z);
    }
}

/* A batch gives each row the bits it has alone. */
static void batch(int64_t n)
{
    double *x = doubles(10 * n), *y = doubles(10 * n), *one = doubles(2 * n);
    for (int64_t i = 0; i < 10 * n; i++) x[i] = draw();
    for (int prec = 4; prec <= 8; prec += 4) {
        transform(prec, 5, n, 0, x, y, 1);
        int same = 1;
        for (int r = 0; r < 5; r++) {
            transform(prec, 1, n, 0, x + 2 * n * r, one, 0);
            same &= memcmp(one, y + 2 * n * r, (size_t)(2 * n) * sizeof *one) == 0;
        }
        check(same, "rows of a batch, n %lld f%d", (long long)n, 8 * prec);
    }
    free(x);
    free(y);
    free(one);
}

int main(void)
{
    if (!level_runs()) return 0;
    static const int64_t more[] = { 144, 169, 210, 243, 256, 289, 343, 360, 509, 512, 625 };
    static const int64_t big[] = { 720,   961,   1000,   1001,   1009,  1024,  2048,
                                   2187,  3125,  3456,   4099,   8192,  10007, 16807,
                                   30030, 65536, 100003, 177147, 262144 };
    for (int64_t n = 1; n <= 130; n++) small(n);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) small(more[i]);
    for (size_t i = 0; i < sizeof big / sizeof *big; i++) large(big[i]);
    batch(60);
    batch(512);
    batch(37);
    return report();
}
