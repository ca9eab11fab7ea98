/* power.c - figures of power spectra: bands, dominant bin, centroid, ratios, flatness, rolloff. The
 * body's instances. */
#include "body.h"

#include "f32.h"
#include "power_body.h"
#include "f64.h"
#include "power_body.h"
