/* random_inverse.c - random family: distributions that are a function of one uniform or normal
 * number.
 *
 * The inverse distribution functions. u is uniform on (0, 1) in steps of 2^-52, never 0 or 1, so
 * that every value is finite and 1 - u is exact; tails end where the probability beyond is 2^-53.
 * Two elements a block. Elementary functions are those of mck_math.h without fused multiply-add:
 * every level gives the same bits. Source: inversion, Non-uniform random variate generation, 1986,
 * section II.2. */
#define MCK_NO_FMA
#include "../mck_math.h"
#include "random_draw.h"

#define T double
#define DRAWS 2
#define FINITE(x) (mck_abs_f64(x) <= 1.7976931348623157e308)
#define POSITIVE(x) ((x) > 0 && FINITE(x))
#define NOT_NEGATIVE(x) ((x) >= 0 && FINITE(x))
#define LOCATION_SCALE(a, b, c) ((void)(c), FINITE(a) && NOT_NEGATIVE(b))
#define SHAPE_SCALE(a, b, c) ((void)(c), POSITIVE(a) && NOT_NEGATIVE(b))
#define SCALE_ONLY(a, b, c) ((void)(b), (void)(c), NOT_NEGATIVE(a))

/* scale a: density exp(-x / a) / a */
#define EXPONENTIAL(u, a, b, c) ((void)(b), (void)(c), -(a) * mck_log_f64(u))
#define NAME(x) MCK(x##_exponential_f64)
#define DRAW draw_open_f64
#define FINISH EXPONENTIAL
#define CHECK SCALE_ONLY
#include "random_body.h"

/* location a, scale b: exp(-|x - a| / b) / (2 b) */
MC_INLINE double laplace(double u, double a, double b, double c)
{
    (void)c;
    const double side = mck_log_f64(2.0 * (u < 0.5 ? u : 1.0 - u));
    return a + b * (u < 0.5 ? side : -side);
}
#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_laplace_f64)
#define DRAW draw_open_f64
#define FINISH laplace
#define CHECK LOCATION_SCALE
#include "random_body.h"

/* location a, scale b: distribution function 1 / (1 + exp(-(x - a) / b)) */
#define LOGISTIC(u, a, b, c) ((void)(c), (a) + (b) * mck_log_f64((u) / (1.0 - (u))))
#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_logistic_f64)
#define DRAW draw_open_f64
#define FINISH LOGISTIC
#define CHECK LOCATION_SCALE
#include "random_body.h"

/* location a, scale b: distribution function exp(-exp(-(x - a) / b)) */
#define GUMBEL(u, a, b, c) ((void)(c), (a) - (b) * mck_log_f64(-mck_log_f64(u)))
#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_gumbel_f64)
#define DRAW draw_open_f64
#define FINISH GUMBEL
#define CHECK LOCATION_SCALE
#include "random_body.h"

/* shape a, scale b: distribution function 1 - exp(-(x / b)^a) */
#define WEIBULL(u, a, b, c) ((void)(c), (b) * mck_exp_f64(mck_log_f64(-mck_log_f64(u)) / (a)))
#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_weibull_f64)
#define DRAW draw_open_f64
#define FINISH WEIBULL
#define CHECK SHAPE_SCALE
#include "random_body.h"

/* shape a, scale b: distribution function 1 - (b / x)^a, x >= b */
#define PARETO(u, a, b, c) ((void)(c), (b) * mck_exp_f64(-mck_log_f64(u) / (a)))
#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_pareto_f64)
#define DRAW draw_open_f64
#define FINISH PARETO
#define CHECK SHAPE_SCALE
#include "random_body.h"

/* location a, scale b: a + b tan(pi (u - 1/2)); near the ends by the cotangent of the distance to
 * the end, which is exact */
MC_INLINE double cauchy(double u, double a, double b, double c)
{
    (void)c;
    const double near = u < 0.5 ? u : 1.0 - u, pi = 3.14159265358979323846;
    const double t = mck_tan_f64(pi * (near < 0.25 ? near : 0.5 - near)),
                 x = near < 0.25 ? 1.0 / t : t;
    return a + b * (u < 0.5 ? -x : x);
}
#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_cauchy_f64)
#define DRAW draw_open_f64
#define FINISH cauchy
#define CHECK LOCATION_SCALE
#include "random_body.h"

/* scale a: distribution function 1 - exp(-x^2 / (2 a^2)) */
#define RAYLEIGH(u, a, b, c) ((void)(b), (void)(c), (a) * mck_sqrt_f64(-2.0 * mck_log_f64(u)))
#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_rayleigh_f64)
#define DRAW draw_open_f64
#define FINISH RAYLEIGH
#define CHECK SCALE_ONLY
#include "random_body.h"

/* exp of a normal number with mean a and standard deviation b */
#define LOGNORMAL(z, a, b, c) ((void)(c), mck_exp_f64((a) + (b) * (z)))
#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_lognormal_f64)
#define DRAW draw_normal_f64
#define FINISH LOGNORMAL
#define CHECK LOCATION_SCALE
#include "random_body.h"

/* trials until the first success, success having probability a: 1, 2, ... */
MC_INLINE double geometric(double u, double a, double b, double c)
{
    (void)b;
    (void)c;
    const double k = mck_ceil_f64(mck_log_f64(u) / mck_log1p_f64(-a));
    return k > 1.0 ? k : 1.0; /* a = 1 divides by -inf */
}
#define PROBABILITY_ABOVE(a, b, c) ((void)(b), (void)(c), (a) > 0 && (a) <= 1)
#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_geometric_f64)
#define DRAW draw_open_f64
#define FINISH geometric
#define CHECK PROBABILITY_ABOVE
#include "random_body.h"

/* 1 with probability a, else 0 */
#define BERNOULLI(u, a, b, c) ((void)(b), (void)(c), (u) < (a) ? 1.0 : 0.0)
#define PROBABILITY(a, b, c) ((void)(b), (void)(c), MCK_PHILOX_PROBABILITY(a))
#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_bernoulli_f64)
#define DRAW draw_open_f64
#define FINISH BERNOULLI
#define CHECK PROBABILITY
#include "random_body.h"

/* -1 or 1, equally often */
#define RADEMACHER(u, a, b, c) ((void)(a), (void)(b), (void)(c), (u) < 0.5 ? -1.0 : 1.0)
#define NO_PARAMETER(a, b, c) ((void)(a), (void)(b), (void)(c), 1)
#define T double
#define DRAWS 2
#define NAME(x) MCK(x##_rademacher_f64)
#define DRAW draw_open_f64
#define FINISH RADEMACHER
#define CHECK NO_PARAMETER
#include "random_body.h"
