/* mc_fft_own.c - our mixed-radix transform behind the interface of a neighbour: the fallback and
 * the oracle of FFTW.
 *
 * Holds plans: the twiddle table of one length and one work area, so that executing, which cannot
 * fail by contract, has one. Calls at the same time take theirs from the allocator, and where it
 * has none wait for that of the plan. */
#include "base/mc_memory.h"
#include "device/mc_context.h"
#include "../../kernels/mck_fft.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

typedef size_t (*table_bytes_fn)(int prec, int64_t n, int kind);
typedef void (*table_fn)(int prec, int64_t n, int kind, void *table);

typedef struct own_plan {
    int kind, prec;
    int64_t n, howmany, idist, odist;
    void *table, *spare;
    size_t work;
    atomic_int busy; /* the spare work area is in use */
} own_plan;

/* Largest prime factor. */
static int64_t largest_prime(int64_t n)
{
    int64_t most = 1;
    for (int64_t p = 2; p * p <= n; p += p > 2 ? 2 : 1)
        while (n % p == 0) {
            most = p;
            n /= p;
        }
    return n > 1 ? n : most;
}

/* Shapes for which this transform is faster than FFTW 3.3.10 with estimated plans; the same rule on
 * every machine, so that bits are the same too. Measured over 166 lengths from 3 to 2^20 of each
 * kind, one core, rows of 256 KiB in all, best of six (bench/fft_engines.lua repeats it; AMD EPYC
 * with AVX2): time of ours over FFTW's has, within these classes, the geometric mean that stands
 * beside them, and no length above 1.1 from 71 on. */
int mci_fft_own_suits(int kind, int prec, int64_t n)
{
    if (n < 35)
        return 0;
    const int real = kind == 2 || kind == 3;
    const int64_t p = largest_prime(n);
    /* FFTW goes by Rader and Bluestein, both through short transforms: 0.55 (f32); in f64 they are
     * equal */
    if (p >= 43)
        return prec == 4 && n >= 67;
    /* odd lengths: 0.70 (f32 real), 0.84 (f64 real), 0.76 (c64) */
    if (n % 2 && p <= 7)
        return real || (prec == 4 && n >= 343);
    return !real && prec == 4 && n >= 1 << 18 && p == 2; /* passes over memory: 0.60 */
}

static void own_drop(void *plan)
{
    own_plan *p = plan;
    if (p) {
        mci_free(p->table);
        mci_free(p->spare);
    }
    mci_free(p);
}

static void *own_new(int kind, int prec, int64_t n, int64_t howmany, int64_t idist, int64_t odist,
                     int measure)
{
    (void)measure;
    own_plan *p = mci_calloc(1, sizeof *p);
    if (!p)
        return NULL;
    *p = (own_plan){.kind = kind, .prec = prec, .n = n, .howmany = howmany, .idist = idist};
    p->odist = odist;
    p->table = mci_alloc(((table_bytes_fn)mci_function(MCK_FN_FFT_TABLE_BYTES))(prec, n, kind));
    p->work = ((table_bytes_fn)mci_function(MCK_FN_FFT_WORK))(prec, n, kind);
    if (p->table) /* executing a plan cannot fail: its work area is there from the start */
        p->spare = mci_alloc(p->work);
    if (!p->table || !p->spare) {
        own_drop(p);
        return NULL;
    }
    ((table_fn)mci_function(MCK_FN_FFT_TABLE))(prec, n, kind, p->table);
    return p;
}

static void own_execute(void *plan, const void *in, void *out)
{
    own_plan *p = plan;
    void *work = NULL, *own = NULL;
    while (!work) { /* the plan's own area, or one more; where there is none, until it is free */
        if (!atomic_exchange(&p->busy, 1))
            work = own = p->spare;
        else if (!(work = mci_alloc(p->work)))
            (void)sched_yield();
    }
    mck_fft k = {p->howmany, p->n, p->kind, out, in, p->idist, p->odist, p->table, work};
    ((mck_fft_fn)mci_function(p->prec == 4 ? MCK_FN_FFT_F32 : MCK_FN_FFT_F64))(&k);
    if (own)
        atomic_store(&p->busy, 0);
    else
        mci_free(work);
}

const mc_fft_api *mci_fft_own(void)
{
    static const mc_fft_api api = { MC_BACKEND_ABI, "mascon", own_new, own_execute,
                                    own_drop,       NULL,     NULL,    4 };
    return &api;
}
