/* neighbours.c - the plug-ins of threads, matrix products and transforms, opened as the library
 * opens them.
 *
 * usage: neighbours [FOLDER]   with mc_gomp.so, mc_openblas.so and mc_fftw.so; one that is missing
 *   is
 * skipped with a word. FOLDER is by default ../plugins beside the program.
 * build: -ldl -lm
 * Prints `N passed, M failed`; exit status 1 when something failed. Knows mc_backend.h only: it
 * brings a host table of its own, which counts blocks, can refuse memory and keeps the last
 * error. */
#include "../../runtime/device/mc_backend.h"
#include "count_check.h"
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the host ---- */

static int blocks, refuse_after = -1, last_status;
static char last_text[256];

static void *host_alloc(size_t bytes)
{
    if (refuse_after == 0) return NULL;
    if (refuse_after > 0) refuse_after--;
    blocks++;
    return aligned_alloc(64, (bytes + 64) / 64 * 64);
}

static void host_free(void *p)
{
    if (p) blocks--;
    free(p);
}

static int host_error(int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(last_text, sizeof last_text, fmt, args);
    va_end(args);
    last_status = status;
    return status;
}

static int host_cancelled(void)
{
    return 0;
}

static const mc_host_api host = { MC_BACKEND_ABI, host_alloc, host_free, host_error,
                                  host_cancelled };

/* Opens FOLDER/file into api; 0 when it is not there. */
static int open_plugin(const char *folder, const char *file, void *api)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    if (access(path, R_OK) != 0) {
        printf("%s is not there: skipped\n", path);
        return 0;
    }
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    mc_plugin_open_fn open_fn = NULL;
    if (lib) *(void **)&open_fn = dlsym(lib, "mc_plugin_open");
    if (!open_fn) {
        check(0, path);
        return 0;
    }
    *(int *)api = MC_BACKEND_ABI + 1;
    check(open_fn(&host, api) != 0 && strstr(last_text, "another version"),
          "a plug-in of another version is refused");
    *(int *)api = MC_BACKEND_ABI;
    return open_fn(&host, api) == 0;
}

/* ---- threads ---- */

static mc_threads_api threads;
enum { TASKS = 1000 };
static atomic_int done[TASKS], workers_seen[64], nested_done;

static void count_task(void *arg, int64_t begin, int64_t end, int worker)
{
    for (int64_t i = begin; i < end; i++) atomic_fetch_add(&done[i], 1);
    if (worker >= 0 && worker < 64) atomic_store(&workers_seen[worker], 1);
    (void)arg;
}

static void inner_task(void *arg, int64_t begin, int64_t end, int worker)
{
    if (worker == 0 && end == begin + 1) atomic_fetch_add(&nested_done, 1);
    (void)arg;
}

static void outer_task(void *arg, int64_t begin, int64_t end, int worker)
{
    threads.run(10, 4, inner_task, arg);
    (void)begin, (void)end, (void)worker;
}

static void try_threads(const char *folder)
{
    if (!open_plugin(folder, "mc_gomp.so", &threads)) return;
    static const int counts[] = { 1, 2, 3, 2000 };
    for (int c = 0; c < 3; c++) {
        memset(workers_seen, 0, sizeof workers_seen);
        for (int i = 0; i < TASKS; i++) atomic_store(&done[i], 0);
        threads.run(TASKS, counts[c], count_task, NULL);
        int once = 1, high = 0;
        for (int i = 0; i < TASKS; i++) once &= atomic_load(&done[i]) == 1;
        for (int w = counts[c]; w < 64; w++) high |= atomic_load(&workers_seen[w]);
        check(once, "each task runs once");
        check(!high, "worker numbers stay below the number of threads");
    }
    threads.run(0, 2, count_task, NULL);
    threads.run(8, 2, outer_task, NULL);
    check(atomic_load(&nested_done) == 80, "a run inside a run is done serially as worker 0");
}

/* ---- matrix products ---- */

/* Element (i, j) of op(X), X row-major with leading dimension ld, `parts` doubles per element. */
static const double *element(const double *x, int trans, int64_t ld, int64_t i, int64_t j,
                             int parts)
{
    return x + (trans ? j * ld + i : i * ld + j) * parts;
}

static void one_product(mc_blas_api *blas, int type, int ta, int tb, int64_t m, int64_t n,
                        int64_t k)
{
    const int parts = type == 'c' || type == 'z' ? 2 : 1, narrow = type == 's' || type == 'c';
    const int64_t lda = (ta ? m : k) + 3, ldb = (tb ? k : n) + 2, ldc = n + 1;
    const int64_t na = (ta ? k : m) * lda + 1, nb = (tb ? n : k) * ldb + 1, nc = m * ldc;
    double *a = calloc((size_t)(na * parts), 8), *b = calloc((size_t)(nb * parts), 8),
           *c = calloc((size_t)(nc * parts), 8);
    float *fa = calloc((size_t)(na * parts), 4), *fb = calloc((size_t)(nb * parts), 4),
          *fc = calloc((size_t)(nc * parts), 4);
    if (!a || !b || !c || !fa || !fb || !fc) exit(2);
    for (int64_t i = 0; i < na * parts; i++) fa[i] = (float)(a[i] = (double)(i * 37 % 19) - 9);
    for (int64_t i = 0; i < nb * parts; i++) fb[i] = (float)(b[i] = (double)(i * 53 % 23) - 11);
    for (int64_t i = 0; i < nc * parts; i++) fc[i] = (float)(c[i] = 7);
    if (narrow)
        blas->gemm(type, ta, tb, m, n, k, fa, lda, fb, ldb, fc, ldc);
    else
        blas->gemm(type, ta, tb, m, n, k, a, lda, b, ldb, c, ldc);
    int right = 1;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < ldc; j++) {
            double re = 0, im = 0;
            for (int64_t l = 0; l < k && j < n; l++) {
                const double *x = element(a, ta, lda, i, l, parts),
                             *y = element(b, tb, ldb, l, j, parts);
                re += x[0] * y[0] - (parts == 2 ? x[1] * y[1] : 0);
                im += parts == 2 ? x[0] * y[1] + x[1] * y[0] : 0;
            }
            if (j == n) re = im = 7; /* the gap between rows is left alone */
            const int64_t at = (i * ldc + j) * parts;
            right &= (narrow ? (double)fc[at] : c[at]) == re;
            if (parts == 2) right &= (narrow ? (double)fc[at + 1] : c[at + 1]) == im;
        }
    }
    char what[96];
    snprintf(what, sizeof what, "%cgemm %d%d, %lld x %lld x %lld", type, ta, tb, (long long)m,
             (long long)n, (long long)k);
    check(right, what); /* small integers: exact in every dtype */
    free(a);
    free(b);
    free(c);
    free(fa);
    free(fb);
    free(fc);
}

/* Columns of [4 2; 2 3], with the answers by hand. */
static void try_systems(const mc_lapack_api *lapack)
{
    double a[4] = { 4, 2, 2, 3 }, b[2] = { 8, 8 };
    float s[4] = { 4, 2, 2, 3 }, w[2], work[512];
    int ipiv[2], iwork[16];
    check(lapack->getrf('d', 2, 2, a, 2, ipiv) == 0 && a[1] == 0.5 && a[3] == 2, "getrf factors");
    check(lapack->getrs('d', 'N', 2, 1, a, 2, ipiv, b, 2) == 0 && fabs(b[0] - 1) < 1e-15 &&
              fabs(b[1] - 2) < 1e-15,
          "getrs solves");
    mc_lapack_work q = { .lwork = -1 };
    check(lapack->heevd('s', 'N', 'U', 2, s, 2, w, &q) == 0 && q.lwork >= 1 && q.lwork <= 512 &&
              q.liwork >= 1 && q.liwork <= 16,
          "a query tells sizes");
    q.work = work;
    q.iwork = iwork;
    check(lapack->heevd('s', 'N', 'U', 2, s, 2, w, &q) == 0 && fabsf(w[0] + w[1] - 7) < 1e-5f &&
              fabsf(w[0] * w[1] - 8) < 1e-5f,
          "heevd finds eigenvalues");
    double singular[4] = { 1, 1, 1, 1 }, negative[1] = { -1 };
    check(lapack->getrf('d', 2, 2, singular, 2, ipiv) == 2, "a zero pivot is named");
    check(lapack->potrf('d', 'L', 1, negative, 1) == 1, "a negative pivot is named");
    last_status = 0;
    check(lapack->getrf('d', 2, 2, a, 1, ipiv) < 0 && last_status != 0 &&
              strstr(last_text, "refuses"),
          "a bad argument of LAPACK gives an error record, no output, no exit");
}

static void try_products(const char *folder)
{
    mc_blas_api blas;
    if (!open_plugin(folder, "mc_openblas.so", &blas)) return;
    check(strstr(blas.name, "OpenBLAS") == blas.name, "the name says OpenBLAS");
    static const int64_t shapes[][3] = { { 1, 1, 1 }, { 5, 7, 3 },    { 1, 9, 4 },
                                         { 9, 1, 4 }, { 33, 17, 65 }, { 3, 4, 0 } };
    for (const char *type = "sdcz"; *type; type++)
        for (int t = 0; t < 4; t++)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
                one_product(&blas, *type, t & 1, t >> 1, shapes[s][0], shapes[s][1], shapes[s][2]);
    double a[6] = { 0 }, c[4] = { 0 };
    last_status = 0;
    blas.gemm('d', 0, 0, 2, 2, 3, a, 1, a, 2, c, 2); /* rows of 3 that are 1 apart */
    check(last_status != 0 && strstr(last_text, "refuses"),
          "a bad argument gives an error record, no output, no exit");
    if (blas.lapack) try_systems(blas.lapack);
    check(blas.lapack != NULL, "LAPACK is there");
}

/* ---- transforms ---- */

static double wave(int64_t i)
{
    return sin(0.7 * (double)i * (double)i);
}

static void store(void *p, int prec, int64_t i, double x)
{
    if (prec == 4)
        ((float *)p)[i] = (float)x;
    else
        ((double *)p)[i] = x;
}

static double load(const void *p, int prec, int64_t i)
{
    return prec == 4 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

/* Two kinds that undo each other, on `m` rows; real: r2c and c2r. */
static void round_trip(mc_fft_api *fft, int prec, int64_t n, int64_t m, int real, int measure)
{
    const int64_t bins = real ? n / 2 + 1 : n, row = (n + 15) / 16 * 16,
                  spectrum = (bins + 15) / 16 * 16;
    const int64_t xs = real ? row : 2 * row;
    void *x = host_alloc((size_t)(xs * m * prec)),
         *y = host_alloc((size_t)(2 * spectrum * m * prec));
    void *z = host_alloc((size_t)(xs * m * prec));
    for (int64_t i = 0; i < xs * m; i++) store(x, prec, i, wave(i));
    void *there = fft->plan(real ? 2 : 0, prec, n, m, row, spectrum, measure);
    void *back = fft->plan(real ? 3 : 1, prec, n, m, spectrum, row, measure);
    check(there && back, "plans are made");
    if (there && back) {
        fft->execute(there, x, y);
        double bin1[2] = { 0, 0 };
        const double turn = 6.283185307179586477 / (double)n;
        for (int64_t i = 0; i < n; i++) {
            const double re = load(x, prec, real ? i : 2 * i),
                         im = real ? 0 : load(x, prec, 2 * i + 1);
            bin1[0] += re * cos(turn * (double)i) + im * sin(turn * (double)i);
            bin1[1] += im * cos(turn * (double)i) - re * sin(turn * (double)i);
        }
        const double tol = (prec == 4 ? 1e-6 : 1e-14) * (double)n;
        check(n < 2 || (fabs(load(y, prec, 2) - bin1[0]) < tol &&
                        fabs(load(y, prec, 3) - bin1[1]) < tol),
              "bin 1 is the sum that defines it");
        void *kept = host_alloc((size_t)(2 * spectrum * m * prec));
        memcpy(kept, y, (size_t)(2 * spectrum * m * prec));
        fft->execute(back, y, z);
        check(real || memcmp(kept, y, (size_t)(2 * spectrum * m * prec)) == 0,
              "the input is preserved, but for c2r");
        host_free(kept);
        double worst = 0;
        for (int64_t r = 0; r < m; r++)
            for (int64_t i = 0; i < (real ? n : 2 * n); i++)
                worst = fmax(worst, fabs(load(z, prec, r * xs + i) / (double)n -
                                         load(x, prec, r * xs + i)));
        check(worst < (prec == 4 ? 2e-6 : 2e-15), "there and back");
    }
    fft->drop(there);
    fft->drop(back);
    host_free(x);
    host_free(y);
    host_free(z);
}

static void try_transforms(const char *folder)
{
    mc_fft_api fft;
    if (!open_plugin(folder, "mc_fftw.so", &fft)) return;
    check(strncmp(fft.name, "fftw ", 5) == 0 && fft.name[5] >= '0' && fft.name[5] <= '9',
          "the name is fftw and a version");
    const int before = blocks;
    static const int64_t lengths[] = { 1, 2, 15, 16, 61, 256, 1000 };
    for (int prec = 4; prec <= 8; prec += 4)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (int form = 0; form < 4; form++)
                round_trip(&fft, prec, lengths[l], 1 + form, form & 1, form >> 1);
    fft.drop(NULL);
    check(blocks == before, "what the plans took is given back");
    for (int n = 0; n < 4; n++) {
        refuse_after = n;
        last_status = 0;
        check(!fft.plan(0, 8, 64, 2, 64, 64, 1) && last_status != 0,
              "no memory: no plan, and a record");
        refuse_after = -1;
    }
    check(blocks == before, "a failed plan gives everything back");

    const char *temporary = getenv("TMPDIR");
    char dir[512], path[640], wrong[640];
    snprintf(dir, sizeof dir, "%s/mc_neighbours_XXXXXX", temporary ? temporary : P_tmpdir);
    if (!mkdtemp(dir)) exit(2);
    snprintf(path, sizeof path, "%s/wisdom", dir);
    snprintf(wrong, sizeof wrong, "%s/wrong", dir);
    check(fft.wisdom_save(path) == 0, "wisdom is saved");
    check(fft.wisdom_load(path) == 0, "and loaded");
    check(fft.wisdom_load(wrong) != 0, "a missing file is refused");
    FILE *f = fopen(path, "rb"), *g = fopen(wrong, "wb");
    for (int i = 0, ch; f && g && i < 60 && (ch = fgetc(f)) != EOF; i++) fputc(ch, g);
    if (f) fclose(f);
    if (g) fclose(g);
    check(fft.wisdom_load(wrong) != 0, "a torn file is refused");
    remove(wrong);
    snprintf(wrong, sizeof wrong, "%s/none/wisdom", dir);
    check(fft.wisdom_save(wrong) != 0, "a folder that is not there is refused");
    check(blocks == before, "wisdom gives its memory back");
    remove(path);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    char beside[1024];
    const char *slash = strrchr(argv[0], '/');
    snprintf(beside, sizeof beside, "%.*s/../plugins", slash ? (int)(slash - argv[0]) : 1,
             slash ? argv[0] : ".");
    const char *folder = argc > 1 ? argv[1] : beside;
    try_threads(folder);
    try_products(folder);
    try_transforms(folder);
    return report();
}
