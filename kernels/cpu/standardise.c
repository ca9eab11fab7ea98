/* standardise.c - layer and group norms, and their derivatives.
 *
 * A row is read twice for its moments, from cache the second time, and once for the result. The
 * variance is that about the mean; the derivatives read the row again instead of keeping its
 * moments. Sums run in lanes of T, at most EVERY terms each, which are then added in f64: the
 * error does not grow with the row. No fused multiply-add: all levels agree bitwise. With
 * y' = (x - mean) s, s = 1 / sqrt(variance + eps), h = g w the gradient of x is s (h - mean(h) - y'
 * mean(h y')). Where a moment is not finite, a gradient of 0 gives 0, as multiply_no_nan does.
 * Source: Layer normalization, 2016; Group normalization, 2018. */
#include "../mck_standardise.h"

#include <math.h>
#include <string.h>

typedef double four_lanes __attribute__((vector_size(32)));

/* ROWS rows of up to SHORT elements are worked on at one time: they stay in the nearest cache. */
enum { EVERY = 8, ROWS = 4, SHORT = 1024 };

#define CAT3_(a, b) a##_##b
#define CAT3(a, b) CAT3_(a, b)
#define FN(name) CAT3(name, NAME)

#define T float
#define NAME f32
#include "standardise_body.h"

#define T double
#define NAME f64
#include "standardise_body.h"
