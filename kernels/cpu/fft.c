/* fft.c - fft family: discrete Fourier transforms of rows, any length, f32 and f64.
 *
 * The plain sum (`fft_ref_*`), the choice of radices, the table of twiddles and the transform in
 * fft_body.h: Stockham stages of radix 8, 7, 5, 4, 3, 2 and odd primes up to 31 on split real and
 * imaginary arrays, Bluestein's convolution for larger primes, real rows of even length as complex
 * rows of half of it. Twiddles come from angles below pi/4, reduced in integers, so that the error
 * grows like eps sqrt(log n). Letters: n length of a row, R radix, s product of the radices done,
 * m of those still to do. */
#include "../mck_fft.h"
#include "../mck_math.h"
#include <math.h>
#include <string.h>

enum { FFT_FORWARD, FFT_BACKWARD, FFT_R2C, FFT_C2R };

enum {
    MAX_RADIX = 31,
    GTILE = 32, /* neighbours per tile of a generic stage */
    TILE = 64,  /* neighbours per tile of an early stage: 8 legs of 64 f64 fill an eighth of the
                   first cache */
    RUN = 8,    /* from this s on a stage runs over q alone: one 256-bit vector of f32 */
    MAX_STAGES = 64
};

typedef struct fft_stage {
    int64_t radix, s, m;
    int64_t twiddle, root; /* where they start in the data, in elements */
} fft_stage;

typedef struct fft_core {
    int64_t n;
    int count;
    fft_stage stage[MAX_STAGES];
} fft_core;

/* Head of a table; the data, of the table's precision, follow at TABLE_HEAD. */
typedef struct fft_table {
    int64_t length; /* of the complex transform: n, or n/2 for real rows of even length */
    int64_t pad;    /* elements of one part in the workspace */
    int64_t elements;
    int64_t real_twiddle, chirp, chirp_spectrum;
    int real_used, chirp_used;
    fft_core core;
} fft_table;

#define TABLE_HEAD ((sizeof(fft_table) + 63) / 64 * 64)

/* e^(-2 pi i k / n) for 0 <= k: the octant is taken off in integers, the rest is an angle in [0,
 * pi/4]. */
static void unit(int64_t k, int64_t n, double *re, double *im)
{
    const int64_t eighths = k % n * 8;
    const int octant = (int)(eighths / n);
    const int64_t rest = eighths - octant * n, folded = octant & 1 ? n - rest : rest;
    const double angle = 0.78539816339744830962 * ((double)folded / (double)n);
    const double c = cos(angle), s = sin(angle);
    const double x = (octant + 1) & 2 ? s : c, y = (octant + 1) & 2 ? c : s;
    *re = (octant + 2) & 4 ? -x : x;
    *im = octant & 4 ? y : -y;
}

/* Cosines and sines of 2 pi k / R. */
#define SIN3 0.86602540378443864676
#define COS5_1 0.30901699437494742410
#define COS5_2 -0.80901699437494742410
#define SIN5_1 0.95105651629515357212
#define SIN5_2 0.58778525229247312917
#define COS7_1 0.62348980185873353053
#define COS7_2 -0.22252093395631440429
#define COS7_3 -0.90096886790241912624
#define SIN7_1 0.78183148246802980871
#define SIN7_2 0.97492791218182360702
#define SIN7_3 0.43388373911755812048
#define SQRT_HALF 0.70710678118654752440

#define T float
#define MADD(a, b, c) MC_MULADDF(a, b, c)
#define NAME(x) MCK(x##_f32)
#include "fft_body.h"

#define T double
#define MADD(a, b, c) MC_MULADD(a, b, c)
#define NAME(x) MCK(x##_f64)
#include "fft_body.h"

/* ---- layout of a table ---- */

/* Radices of n into r, those with wide butterflies first so that s grows fast; 0 when a prime is
 * too large. */
static int factor(int64_t n, int64_t *r)
{
    static const int64_t radices[] = { 8, 4, 2, 5, 3, 7, 11, 13, 17, 19, 23, 29, 31 };
    int count = 0;
    for (size_t i = 0; i < sizeof radices / sizeof *radices; i++) {
        while (n % radices[i] == 0) {
            r[count++] = radices[i];
            n /= radices[i];
        }
    }
    return n == 1 ? count : 0;
}

/* The smallest 2^a 3^b 5^c that is not below n. */
static int64_t smooth(int64_t n)
{
    int64_t best = INT64_MAX;
    for (int64_t five = 1; five < 5 * n && five < best; five *= 5) {
        for (int64_t three = five; three < 3 * n && three < best; three *= 3) {
            int64_t two = three;
            while (two < n) two *= 2;
            if (two < best) best = two;
        }
    }
    return best;
}

static int64_t aligned(int64_t elements)
{
    return (elements + 15) / 16 * 16;
}

/* Everything in the head of the table; the size of the data follows from it. */
static void lay_out(fft_table *t, int64_t n, int kind)
{
    int64_t radix[MAX_STAGES] = { 0 };
    memset(t, 0, sizeof *t);
    t->real_used = (kind == FFT_R2C || kind == FFT_C2R) && n % 2 == 0;
    t->length = t->real_used ? n / 2 : n;
    t->core.n = t->length;
    t->core.count = factor(t->length, radix);
    if (t->core.count == 0 && t->length > 1) {
        t->chirp_used = 1;
        t->core.n = smooth(2 * t->length - 1);
        t->core.count = factor(t->core.n, radix);
    }
    int64_t s = 1, m = t->core.n, end = 0;
    for (int i = 0; i < t->core.count; i++) {
        fft_stage *st = &t->core.stage[i];
        m /= radix[i];
        *st = (fft_stage){ radix[i], s, m, end, 0 };
        const int shared = radix[i] > 8 || s >= RUN || m == 1; /* one twiddle for all q */
        end = aligned(end + 2 * (radix[i] - 1) * m * (shared ? 1 : s));
        st->root = end;
        end = aligned(end + (radix[i] > 8 ? 2 * radix[i] : 0));
        s *= radix[i];
    }
    t->real_twiddle = end;
    end = aligned(end + (t->real_used ? 2 * (t->length / 2 + 1) : 0));
    t->chirp = end;
    end = aligned(end + (t->chirp_used ? 2 * t->length : 0));
    t->chirp_spectrum = end;
    end = aligned(end + (t->chirp_used ? 4 * t->core.n : 0));
    t->elements = end;
    t->pad = aligned(t->core.n);
}

size_t MCK(fft_table_bytes)(int prec, int64_t n, int kind)
{
    fft_table t;
    lay_out(&t, n, kind);
    return TABLE_HEAD + (size_t)t.elements * (size_t)prec;
}

size_t MCK(fft_work)(int prec, int64_t n, int kind)
{
    fft_table t;
    lay_out(&t, n, kind);
    return (size_t)t.pad * 4 * (size_t)prec;
}

void MCK(fft_table)(int prec, int64_t n, int kind, void *table)
{
    fft_table *t = table;
    lay_out(t, n, kind);
    if (prec == 4)
        MCK(fill_f32)(t);
    else
        MCK(fill_f64)(t);
}
