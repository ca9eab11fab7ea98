/* mc_fft_own.c - our mixed-radix transform behind the interface of a neighbour: the fallback and the oracle of FFTW.
 *
 * Owns plans: the twiddle table of one length and nothing else. A call takes its workspace from the allocator; when there is none,
 * the output is filled with NaN so that nobody takes it for a result (executing cannot fail by contract). */
#include "base/mc_memory.h"
#include "device/mc_context.h"

#include <math.h>
#include <string.h>

typedef size_t (*table_bytes_fn)(int prec, int64_t n, int kind);
typedef void (*table_fn)(int prec, int64_t n, int kind, void *table);

typedef struct own_plan {
    int kind, prec;
    int64_t n, howmany, idist, odist;
    void *table;
    size_t work;
} own_plan;

static void own_drop(void *plan)
{
    own_plan *p = plan;
    if (p)
        mci_free(p->table);
    mci_free(p);
}

static void *own_new(int kind, int prec, int64_t n, int64_t howmany, int64_t idist, int64_t odist, int measure)
{
    (void)measure;
    own_plan *p = mci_calloc(1, sizeof *p);
    if (!p)
        return NULL;
    *p = (own_plan){kind, prec, n, howmany, idist, odist, NULL, 0};
    p->table = mci_alloc(((table_bytes_fn)mci_function(MCK_FN_FFT_TABLE_BYTES))(prec, n, kind));
    if (!p->table) {
        own_drop(p);
        return NULL;
    }
    ((table_fn)mci_function(MCK_FN_FFT_TABLE))(prec, n, kind, p->table);
    p->work = ((table_bytes_fn)mci_function(MCK_FN_FFT_WORK))(prec, n, kind);
    return p;
}

static void own_execute(void *plan, const void *in, void *out)
{
    const own_plan *p = plan;
    void *work = mci_alloc(p->work);
    if (!work) {
        int64_t reals = p->howmany * p->odist * (p->kind == 3 ? 1 : 2);
        for (int64_t i = 0; i < reals; i++) {
            if (p->prec == 4)
                ((float *)out)[i] = NAN;
            else
                ((double *)out)[i] = NAN;
        }
        return;
    }
    mck_fft k = {p->howmany, p->n, p->kind, out, in, p->idist, p->odist, p->table, work};
    ((mck_fft_fn)mci_function(p->prec == 4 ? MCK_FN_FFT_F32 : MCK_FN_FFT_F64))(&k);
    mci_free(work);
}

const mc_fft_api *mci_fft_own(void)
{
    static const mc_fft_api api = {MC_BACKEND_ABI, "mascon", own_new, own_execute, own_drop, NULL, NULL, 4};
    return &api;
}
