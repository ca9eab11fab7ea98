/* cross.c - how the channels of one state hang together: correlations and mutual information of
 * pairs. The body's instances. */
#include "body.h"

int64_t MCK(ro_cross_work)(int64_t channels, int64_t n)
{
    return ((channels * n + 63) & ~(int64_t)63) + 2 * channels * (int64_t)sizeof(double);
}

#include "f32.h"
#include "cross_body.h"
#include "f64.h"
#include "cross_body.h"
