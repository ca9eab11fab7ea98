/* limits.c - what this machine can do: the yardsticks that bench/ sets our kernels against.
 *
 * Built by `make bench` into build/bench/liblimits.so with -O3 -march=native and opened by
 * limits.lua through the FFI. Holds memory streams (plain and non-temporal stores), OpenBLAS
 * called once over the whole product, FFTW with estimated plans in a plain loop over rows, the
 * time of a new process, a slab of fixed-size records for handle.lua. Every loop takes the
 * number of threads. */
#define _GNU_SOURCE
#include <cblas.h>
#include <errno.h>
#include <fcntl.h>
#include <fftw3.h>
#include <immintrin.h>
#include <math.h>
#include <omp.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define HEADER 192 /* bytes cleared in a record: as many as the header of a tensor takes */
#define BLOCK \
    16384 /* floats a thread takes at a time: 64 KiB, as coarse as the grain of the library */

extern char **environ;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

PUBLIC void limit_pause(double seconds);
PUBLIC void limit_pause(double seconds)
{
    struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    nanosleep(&t, NULL);
}

/* ---- memory streams over n floats, n a multiple of 16, all pointers 64-byte aligned ---- */

PUBLIC void limit_copy(int threads, float *d, const float *a, int64_t n, int streaming);
PUBLIC void limit_triad(int threads, float *d, const float *a, const float *b, int64_t n,
                        int streaming);
PUBLIC float limit_read(int threads, const float *a, int64_t n);

/* d = a. streaming: stores that do not read the line first. */
void limit_copy(int threads, float *d, const float *a, int64_t n, int streaming)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t e = i + BLOCK < n ? i + BLOCK : n;
        int64_t k = i;
#ifdef __AVX__
        if (streaming) {
            for (; k < e; k += 8) _mm256_stream_ps(d + k, _mm256_load_ps(a + k));
            _mm_sfence();
        } else {
            for (; k < e; k += 8) _mm256_store_ps(d + k, _mm256_load_ps(a + k));
        }
#else
        (void)streaming;
        for (; k < e; k++) d[k] = a[k];
#endif
    }
}

/* d = a + 3 b. */
void limit_triad(int threads, float *d, const float *a, const float *b, int64_t n, int streaming)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t e = i + BLOCK < n ? i + BLOCK : n;
        int64_t k = i;
#ifdef __AVX__
        if (streaming) {
            const __m256 three = _mm256_set1_ps(3.0f);
            for (; k < e; k += 8)
                _mm256_stream_ps(d + k, _mm256_add_ps(_mm256_load_ps(a + k),
                                                      _mm256_mul_ps(three, _mm256_load_ps(b + k))));
            _mm_sfence();
        }
#else
        (void)streaming;
#endif
        for (; k < e; k++) d[k] = a[k] + 3.0f * b[k];
    }
}

/* The sum of a in 64 lanes: enough chains that reading, not adding, is the limit. */
float limit_read(int threads, const float *a, int64_t n)
{
    float total = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : total)
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t e = i + BLOCK < n ? i + BLOCK : n;
        float lane[64] = { 0 };
        int64_t k = i;
        for (; k + 64 <= e; k += 64)
            for (int j = 0; j < 64; j++) lane[j] += a[k + j];
        for (; k < e; k++) lane[0] += a[k];
        for (int j = 0; j < 64; j++) total += lane[j];
    }
    return total;
}

/* ---- OpenBLAS, called directly; row-major, no transposes ---- */

PUBLIC void limit_blas_threads(int threads);
PUBLIC void limit_gemm(int is_double, int64_t m, int64_t n, int64_t k, const void *a, const void *b,
                       void *c);
PUBLIC void limit_gemm_batch(int threads, int64_t batch, int64_t m, int64_t n, int64_t k,
                             const float *a, const float *b, float *c);

/* OpenBLAS's own threads; the library sets 1 when it opens its plug-in, so whoever raises it sets
 * it back. */
void limit_blas_threads(int threads)
{
    openblas_set_num_threads(threads);
}

void limit_gemm(int is_double, int64_t m, int64_t n, int64_t k, const void *a, const void *b,
                void *c)
{
    const int M = (int)m, N = (int)n, K = (int)k;
    if (is_double)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, K, 1.0, a, K, b, N, 0.0, c, N);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, K, 1.0f, a, K, b, N, 0.0f, c,
                    N);
}

/* One single-threaded product per batch entry, entries dealt to threads. */
void limit_gemm_batch(int threads, int64_t batch, int64_t m, int64_t n, int64_t k, const float *a,
                      const float *b, float *c)
{
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
    for (int64_t i = 0; i < batch; i++)
        limit_gemm(0, m, n, k, a + i * m * k, b + i * k * n, c + i * m * n);
}

/* ---- a layer as plain passes ---- */

PUBLIC void limit_gelu(int threads, int64_t rows, int64_t n, const float *x, const float *bias,
                       float *y);

/* y = gelu(x + bias) by libm's erff, element by element; bias of one row, or NULL. */
void limit_gelu(int threads, int64_t rows, int64_t n, const float *x, const float *bias, float *y)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
            const float v = x[i * n + j] + (bias ? bias[j] : 0.0f);
            y[i * n + j] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
        }
}

/* ---- FFTW: one estimated plan, executed row by row on aligned rows ---- */

enum { C2C_F32, R2C_F32, C2C_F64, C2R_F32 };
PUBLIC void *limit_fft_plan(int kind, int64_t n);
PUBLIC void limit_fft_rows(int kind, void *plan, int threads, int64_t rows, int64_t n, void *in,
                           void *out);
PUBLIC void limit_fft_drop(int kind, void *plan);

void *limit_fft_plan(int kind, int64_t n)
{
    void *a = fftw_malloc((size_t)n * 16 + 64), *b = fftw_malloc((size_t)n * 16 + 64), *plan = NULL;
    if (a && b && kind == C2C_F32)
        plan = fftwf_plan_dft_1d((int)n, a, b, FFTW_FORWARD, FFTW_ESTIMATE);
    if (a && b && kind == R2C_F32)
        plan = fftwf_plan_dft_r2c_1d((int)n, a, b, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
    if (a && b && kind == C2C_F64)
        plan = fftw_plan_dft_1d((int)n, a, b, FFTW_FORWARD, FFTW_ESTIMATE);
    if (a && b && kind == C2R_F32)
        plan = fftwf_plan_dft_c2r_1d((int)n, a, b, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
    fftw_free(a);
    fftw_free(b);
    return plan;
}

/* r2c rows of n / 2 + 1 bins would leave alignment behind: they lie at a stride rounded up to 8
 * elements, which is the best a caller can arrange, in `out`, and in the `in` of c2r.
 */
void limit_fft_rows(int kind, void *plan, int threads, int64_t rows, int64_t n, void *in, void *out)
{
    const int64_t half = (n / 2 + 1 + 7) / 8 * 8;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 8)
    for (int64_t r = 0; r < rows; r++) {
        if (kind == C2C_F32)
            fftwf_execute_dft(plan, (fftwf_complex *)in + r * n, (fftwf_complex *)out + r * n);
        if (kind == R2C_F32)
            fftwf_execute_dft_r2c(plan, (float *)in + r * n, (fftwf_complex *)out + r * half);
        if (kind == C2C_F64)
            fftw_execute_dft(plan, (fftw_complex *)in + r * n, (fftw_complex *)out + r * n);
        if (kind == C2R_F32)
            fftwf_execute_dft_c2r(plan, (fftwf_complex *)in + r * half, (float *)out + r * n);
    }
}

void limit_fft_drop(int kind, void *plan)
{
    if (kind == C2C_F64)
        fftw_destroy_plan(plan);
    else
        fftwf_destroy_plan(plan);
}

/* ---- processes ---- */

/* Seconds from the start of a program to its end, output thrown away; negative when it cannot be
 * run or fails. */
PUBLIC double limit_spawn(const char *program, const char *first, const char *second);
double limit_spawn(const char *program, const char *first, const char *second)
{
    char *argv[4] = { (char *)(uintptr_t)program, (char *)(uintptr_t)first,
                      (char *)(uintptr_t)second, NULL };
    posix_spawn_file_actions_t act;
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_init(&act);
    posix_spawn_file_actions_addopen(&act, 1, "/dev/null", O_WRONLY, 0);
    const double t = now();
    if (posix_spawnp(&pid, program, &act, NULL, argv, environ) == 0)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
    const double seconds = now() - t;
    posix_spawn_file_actions_destroy(&act);
    return status == 0 ? seconds : -1;
}

/* ---- a slab: records of one size from a free list ---- */

static struct {
    size_t size;
    void *free_list;
} slab;

PUBLIC void limit_slab_size(int64_t bytes);
PUBLIC void *limit_slab_get(void);
PUBLIC void limit_slab_put(void *record);

void limit_slab_size(int64_t bytes)
{
    slab.size = ((size_t)bytes + 63) & ~(size_t)63;
    slab.free_list = NULL;
}

/* A record whose header is zero, as a fresh cdata is. NULL when memory runs out. */
void *limit_slab_get(void)
{
    if (!slab.free_list) {
        const size_t count = 256;
        char *block = slab.size < HEADER ? NULL : aligned_alloc(64, count * slab.size);
        for (size_t i = 0; block && i < count; i++) limit_slab_put(block + i * slab.size);
        if (!block) return NULL;
    }
    void *r = slab.free_list;
    memcpy(&slab.free_list, r, sizeof slab.free_list);
    memset(r, 0, HEADER);
    return r;
}

void limit_slab_put(void *record)
{
    memcpy(record, &slab.free_list, sizeof slab.free_list);
    slab.free_list = record;
}
