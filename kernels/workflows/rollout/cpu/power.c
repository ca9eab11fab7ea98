/* power.c - figures of power spectra: bands, dominant bin, centroid, ratios, flatness, rolloff. The
 * body's instances. */
#include "body.h"

#define T float
#define NAME(x) x##_f32
#include "power_body.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "power_body.h"
