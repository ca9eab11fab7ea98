/* mck_random.h - entry points of the random family (kernels/cpu/random*.c) and what they share.
 *
 * The layout of a stream stands in mck_philox.h. Elements are numbered from `first`; 32-bit and
 * 64-bit draws number the same counter space, so use one distribution per stream.
 *   random_bits_u32, random_bits_u64     raw words
 *   random_uniform_f32, _f64             low <= high: low <= x < high (x = low where low == high)
 *   random_normal_f32, _f64              mean, standard deviation
 *   random_integers_i64                  low <= high, both included, i64
 * The others give f64; their parameters stand beside their laws in random_inverse.c,
 * random_reject.c and random_count.c. */
#ifndef MCK_RANDOM_H
#define MCK_RANDOM_H

#include "mck.h"

/* elements first, first + 1, ... of the stream (key, stream); mck_philox.h has its layout. Any
 * split of [0, n) into calls with the matching `first` gives the same numbers. Parameter j of
 * out[i] is p[j][i * stride[j]] (f64; i64 for integers), stride 0 or 1; what the parameters of a
 * kernel are stands in mck_random.h. width: results per element (multinomial: categories; p of its
 * probabilities then advances by width). status: the first element + 1 whose parameters make no
 * distribution, when it was 0. */
#define MCK_RANDOM_PARAMS 4
typedef struct mck_random {
    int64_t n;
    void *out;
    uint64_t key, stream;
    int64_t first, width;
    const void *p[MCK_RANDOM_PARAMS];
    int64_t stride[MCK_RANDOM_PARAMS];
    int64_t *status;
} mck_random;
typedef void (*mck_random_fn)(const mck_random *a);

/* Kernels drawn word by word: random_ref_* draw element by element; the others block by block, with
 * the same bits. */
#define MCK_RANDOM_KERNELS(X) \
    X(bits_u32) \
    X(bits_u64) \
    X(uniform_f32) \
    X(uniform_f64) \
    X(normal_f32) \
    X(normal_f64) \
    X(integers_i64) \
    X(exponential_f64) \
    X(laplace_f64) \
    X(logistic_f64) \
    X(gumbel_f64) \
    X(weibull_f64) \
    X(pareto_f64) \
    X(cauchy_f64) \
    X(rayleigh_f64) \
    X(lognormal_f64) \
    X(geometric_f64) \
    X(bernoulli_f64) \
    X(rademacher_f64)
/* Kernels with a block per element. */
#define MCK_RANDOM_OWN_BLOCK(X) \
    X(gamma_f64) \
    X(loggamma_f64) \
    X(beta_f64) \
    X(chisquare_f64) \
    X(student_t_f64) \
    X(f_f64) \
    X(von_mises_f64) \
    X(truncated_normal_f64) \
    X(poisson_f64) \
    X(binomial_f64) \
    X(negative_binomial_f64) \
    X(hypergeometric_f64) \
    X(multinomial_f64)

#define MCK_RANDOM_DECLARE(name) void MCK(random_##name)(const mck_random *a);
#define MCK_RANDOM_DECLARE_REF(name) void MCK(random_ref_##name)(const mck_random *a);
MCK_RANDOM_KERNELS(MCK_RANDOM_DECLARE)
MCK_RANDOM_KERNELS(MCK_RANDOM_DECLARE_REF)
MCK_RANDOM_OWN_BLOCK(MCK_RANDOM_DECLARE)
#undef MCK_RANDOM_DECLARE
#undef MCK_RANDOM_DECLARE_REF

/* Between the files of the family: w[j][l] is word j of block `block + l`. */
enum { MCK_PHILOX_LANES = 32 };
void MCK(philox_lanes)(uint64_t key, uint64_t stream, uint64_t block,
                       uint32_t w[4][MCK_PHILOX_LANES]);

/* Parameter j of element i of the call; 0 where the kernel has none. */
MC_INLINE double mck_random_param(const mck_random *a, int j, int64_t i)
{
    return a->p[j] ? ((const double *)a->p[j])[i * a->stride[j]] : 0;
}

/* All elements of the call share their parameters. */
MC_INLINE int mck_random_fixed(const mck_random *a)
{
    return !(a->stride[0] | a->stride[1] | a->stride[2] | a->stride[3]);
}

#endif
