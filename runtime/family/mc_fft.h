/* mc_fft.h - cached plans for those who run transforms themselves (the fft family, phase-amplitude
 * coupling).
 *
 * A plan stays in the cache while somebody holds a use of it. Executing is thread-safe; rows start
 * at multiples of `align` bytes (at most 64). */
#ifndef MC_FFT_H
#define MC_FFT_H

#include "device/mc_context.h"

typedef struct mci_fft_use {
    void *plan;
    void (*execute)(void *plan, const void *in, void *out);
    int slot, held, align;
} mci_fft_use;

/* kind and prec as in mc_fft_api. Give back with mci_fft_done, which accepts a use that was never filled. */
int mci_fft_plan(mci_fft_use *use, int kind, int prec, int64_t n);
void mci_fft_done(mci_fft_use *use);

#endif
