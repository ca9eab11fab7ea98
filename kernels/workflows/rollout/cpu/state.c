/* state.c - figures of fields: moments, order statistics, gradients, norms at three scales.
 *
 * A field and its low-passed copy stay in the first two caches while all figures are taken. Sums
 * run in f64. The body's instances. */
#include "body.h"

#define BINS 32
#define REACH 4 /* of the low-pass filter */

/* exp(-k^2 / 8), k = -4 .. 4, divided by the sum */
static void taps(double *w)
{
    double sum = 0;
    for (int k = -REACH; k <= REACH; k++) sum += w[k + REACH] = exp(-(double)(k * k) / 8);
    for (int k = 0; k <= 2 * REACH; k++) w[k] /= sum;
}

int64_t MCK(ro_state_work)(int64_t g)
{
    return (int64_t)sizeof(double) * (3 * (g * g + 16) + g + 2 * REACH);
}

typedef int32_t bits_f32 __attribute__((vector_size(32)));
typedef int64_t bits_f64 __attribute__((vector_size(64)));
static const int32_t all_but_sign_f32 = INT32_MAX;
static const int64_t all_but_sign_f64 = INT64_MAX;

#include "f32.h"
#include "state_body.h"
#include "f64.h"
#include "state_body.h"
