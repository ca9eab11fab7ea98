/* mc_fft.h - cached plans for those who run transforms themselves (the fft family, phase-amplitude
 * coupling).
 *
 * A plan stays in the cache while somebody holds a use of it. Executing is thread-safe; rows start
 * at multiples of `align` bytes (at most 64). */
#ifndef MC_FFT_H
#define MC_FFT_H

#include "device/mc_context.h"
#include "ops/mc_ops.h"

typedef struct mci_fft_use {
    void *plan;
    void (*execute)(void *plan, const void *in, void *out);
    int slot, held, align;
} mci_fft_use;

/* kind and prec as in mc_fft_api. Give back with mci_fft_done, which accepts a use that was never
 * filled. */
int mci_fft_plan(mci_fft_use *use, int kind, int prec, int64_t n);
void mci_fft_done(mci_fft_use *use);

/* What headers say of a call: kind as in mc_fft_api, idt the dtype of the rows that go in, len
 * their length, n that of the transform. */
typedef struct mci_fft_call {
    int axis, kind, prec, idt;
    int64_t n, len;
    double scale;
} mci_fft_call;
int mci_fft_describe(const mci_job *job, mci_fft_call *c, mci_result *r);

/* The same of a cosine or sine transform; type: of the transform that is done, whose plan has a
 * kind and a length. */
typedef struct mci_dct_call {
    int axis, type, sine, kind, prec;
    int64_t n, len, length;
    double scale;
} mci_dct_call;
int mci_dct_describe(const mci_job *job, mci_dct_call *c, mci_result *r);

#endif
