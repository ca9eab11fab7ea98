/* cufft.c - a stand-in for cuFFT: transforms in f64 by the smallest prime of the length, done where
 * their stream gets to them. As the real library it wants a work area and aligned rows, and half a
 * spectrum is spoilt by its transform.
 *
 * STANDIN_FFT=none: there are no plans. STANDIN_TRACE: a line for each transform. Lengths with a
 * prime above PRIME have no plan. */
#include "../../bindings/cuda/parts.h"

#include <complex.h>
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define PLANS 1024
#define PRIME 2048
#define WORKSPACE 300
enum { INVALID_PLAN = 1, INVALID_VALUE = 4, EXEC_FAILED = 6, INVALID_SIZE = 8, UNALIGNED = 9 };

typedef struct plan {
    int used, own, type, way;
    long long n, batch;
    CUstream stream;
    void *work, *in, *out;
} plan;
static plan plans[PLANS];

static CUresult (*call)(CUstream, void (*)(const void *), const void *, size_t);
static void (*memory)(const char *, const void *, size_t);

API int cufftGetVersion(int *version)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver) return EXEC_FAILED;
    *(void **)&call = dlsym(driver, "standin_call");
    *(void **)&memory = dlsym(driver, "standin_memory");
    *version = 12000;
    return 0;
}

static plan *of(cufftHandle h)
{
    return h > 0 && h < PLANS && plans[h].used ? &plans[h] : NULL;
}

API int cufftCreate(cufftHandle *h)
{
    for (*h = 1; *h < PLANS && plans[*h].used; ++*h)
        ;
    if (*h == PLANS) return INVALID_PLAN;
    plans[*h] = (plan){ .used = 1, .own = 1 };
    return 0;
}

API int cufftDestroy(cufftHandle h)
{
    if (!of(h)) return INVALID_PLAN;
    of(h)->used = 0;
    return 0;
}

API int cufftSetAutoAllocation(cufftHandle h, int on)
{
    if (!of(h)) return INVALID_PLAN;
    of(h)->own = on;
    return 0;
}

static long long smallest(long long n)
{
    for (long long p = 2; p * p <= n; p++)
        if (n % p == 0) return p;
    return n;
}

API int cufftMakePlanMany64(cufftHandle h, int rank, long long *n, long long *in,
                            long long in_stride, long long in_row, long long *out,
                            long long out_stride, long long out_row, int type, long long batch,
                            size_t *workspace)
{
    const char *s = getenv("STANDIN_FFT");
    plan *p = of(h);
    const int kind = type & ~FFT_DOUBLE;
    const long long half = *n / 2 + 1;
    if (!p || (s && !strcmp(s, "none"))) return INVALID_PLAN;
    if (rank != 1 || p->own || in_stride != 1 || out_stride != 1 || *in != in_row ||
        *out != out_row || in_row != (kind == FFT_C2R ? half : *n) ||
        out_row != (kind == FFT_R2C ? half : *n) || batch < 1)
        return INVALID_VALUE;
    for (long long left = *n; left > 1; left /= smallest(left))
        if (smallest(left) > PRIME) return INVALID_SIZE;
    p->type = type;
    p->n = *n;
    p->batch = batch;
    *workspace = WORKSPACE;
    return 0;
}

API int cufftSetWorkArea(cufftHandle h, void *work)
{
    if (!of(h)) return INVALID_PLAN;
    of(h)->work = work;
    return 0;
}

API int cufftSetStream(cufftHandle h, CUstream s)
{
    if (!of(h)) return INVALID_PLAN;
    of(h)->stream = s;
    return 0;
}

/* y[0..n) = the transform of x[0], x[step], ...; w: roots of n * step. */
static void transform(long long n, const double _Complex *x, long long step, double _Complex *y,
                      const double _Complex *w)
{
    const long long p = smallest(n), q = n / p;
    if (n == 1) {
        y[0] = x[0];
        return;
    }
    double _Complex *leg = malloc((size_t)n * sizeof *leg);
    for (long long i = 0; i < p; i++) transform(q, x + i * step, step * p, leg + i * q, w);
    for (long long k = 0; k < n; k++) {
        double _Complex sum = 0;
        for (long long i = 0; i < p; i++) sum += leg[i * q + k % q] * w[i * k % n * step];
        y[k] = sum;
    }
    free(leg);
}

static double _Complex number(const void *base, long long i, int wide, int paired)
{
    if (!paired) return wide ? ((const double *)base)[i] : ((const float *)base)[i];
    return wide ? ((const double _Complex *)base)[i] : ((const float _Complex *)base)[i];
}

static void run(const void *data)
{
    const plan *p = data;
    const int wide = (p->type & FFT_DOUBLE) != 0, kind = p->type & ~FFT_DOUBLE;
    const long long n = p->n, half = n / 2 + 1, in = kind == FFT_C2R ? half : n,
                    out = kind == FFT_R2C ? half : n;
    double _Complex *x = malloc((size_t)n * 3 * sizeof *x), *y = x + n, *w = y + n;
    const double way = kind == FFT_C2R || p->way == FFT_INVERSE ? 1 : -1;
    for (long long k = 0; k < n; k++) w[k] = cexp(way * 2 * M_PI * I * ((double)k / (double)n));
    for (long long b = 0; b < p->batch; b++) {
        for (long long k = 0; k < n; k++)
            x[k] = k < in ? number(p->in, b * in + k, wide, kind != FFT_R2C)
                          : conj(number(p->in, b * in + n - k, wide, 1));
        transform(n, x, 1, y, w);
        for (long long k = 0; k < out; k++) {
            const long long at = b * out + k;
            if (kind == FFT_C2R && wide) ((double *)p->out)[at] = creal(y[k]);
            else if (kind == FFT_C2R) ((float *)p->out)[at] = (float)creal(y[k]);
            else if (wide) ((double _Complex *)p->out)[at] = y[k];
            else ((float _Complex *)p->out)[at] = (float _Complex)y[k];
        }
    }
    if (kind == FFT_C2R) memset(p->in, 0xff, (size_t)(p->batch * half) * (wide ? 16 : 8));
    memset(p->work, 0xff, WORKSPACE);
    free(x);
}

static int start(cufftHandle h, int type, void *in, void *out, int way)
{
    plan *p = of(h);
    if (!p || p->type != type || !p->stream || !p->work || in == out) return INVALID_PLAN;
    const size_t real = type & FFT_DOUBLE ? 8 : 4, half = (size_t)(p->n / 2 + 1),
                 n = (size_t)p->n, batch = (size_t)p->batch;
    const int kind = type & ~FFT_DOUBLE;
    if ((uintptr_t)in % (2 * real) || (uintptr_t)out % (2 * real)) return UNALIGNED;
    memory("fft", in, batch * real * (kind == FFT_R2C ? n : 2 * (kind == FFT_C2R ? half : n)));
    memory("fft", out, batch * real * (kind == FFT_C2R ? n : 2 * (kind == FFT_R2C ? half : n)));
    memory("fft", p->work, WORKSPACE);
    plan now = *p;
    now.in = in;
    now.out = out;
    now.way = way;
    if (getenv("STANDIN_TRACE"))
        fprintf(stderr, "standin: cufft, %lld of %lld\n", p->batch, p->n);
    return call(p->stream, run, &now, sizeof now) == CUDA_OK ? 0 : EXEC_FAILED;
}

API int cufftExecC2C(cufftHandle h, void *in, void *out, int way)
{
    return start(h, FFT_C2C, in, out, way);
}

API int cufftExecZ2Z(cufftHandle h, void *in, void *out, int way)
{
    return start(h, FFT_C2C + FFT_DOUBLE, in, out, way);
}

API int cufftExecR2C(cufftHandle h, void *in, void *out)
{
    return start(h, FFT_R2C, in, out, 0);
}

API int cufftExecD2Z(cufftHandle h, void *in, void *out)
{
    return start(h, FFT_R2C + FFT_DOUBLE, in, out, 0);
}

API int cufftExecC2R(cufftHandle h, void *in, void *out)
{
    return start(h, FFT_C2R, in, out, 0);
}

API int cufftExecZ2D(cufftHandle h, void *in, void *out)
{
    return start(h, FFT_C2R + FFT_DOUBLE, in, out, 0);
}
