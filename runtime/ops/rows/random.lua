-- random.lua - random numbers: one row for each distribution.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local op, kernels, functions, DRAWN = W.op, W.kernels, W.functions, W.DRAWN

-- ---------------------------------------------------------------- random numbers
-- params: the distribution's own, in the order of the kernel; guard_text ends the error of a refused one. result: dtype
-- unless asked for.
local PHILOX = 'Philox4x32-10: Parallel random numbers, as easy as 1, 2, 3, SC 2011; '
local DEVROYE = PHILOX .. 'inversion: Non-uniform random variate generation, 1986, II.2'
local MARSAGLIA = PHILOX .. 'Marsaglia and Tsang, A simple method for generating gamma variables, 2000'
local COUNTS = { 'i64', 'i32', 'f64', 'f32' }
local LOC, SCALE = { 'loc', 'number', 0 }, { 'scale', 'number', 1 }
local function number(name, default) return { name, 'number', default } end
-- those with a form on devices with programs (kernels/device/random.c)
local LAUNCHED = { uniform = 'uniform', normal = 'normal', integers = 'integers', bernoulli = 'bernoulli' }
for _, r in ipairs {
  { 'uniform', DRAWN, { number('low', 0), number('high', 1) }, 'low <= high is needed, both finite',
    'uniform on [low, high)', PHILOX .. '53 (f32: 24) bits' },
  { 'normal', DRAWN, { number('mean', 0), number('std', 1) }, 'a finite mean and std >= 0 are needed',
    'normal with mean and standard deviation',
    PHILOX .. 'Box and Muller, A note on the generation of random normal deviates, 1958' },
  { 'integers', { 'i64', 'i32', 'i16', 'i8', 'u8' }, { { 'low', 'int' }, { 'high', 'int' } }, 'low <= high is needed',
    'whole numbers in [low, high], unbiased', PHILOX .. 'Lemire, Fast random integer generation in an interval, 2019',
    kernel = 'i64', result = 'i64' },
  { 'exponential', DRAWN, { SCALE }, 'scale >= 0 is needed', 'density exp(-x / scale) / scale, x >= 0', DEVROYE },
  { 'laplace', DRAWN, { LOC, SCALE }, 'a finite loc and scale >= 0 are needed',
    'density exp(-|x - loc| / scale) / (2 scale)', DEVROYE },
  { 'logistic', DRAWN, { LOC, SCALE }, 'a finite loc and scale >= 0 are needed',
    'distribution function 1 / (1 + exp(-(x - loc) / scale))', DEVROYE },
  { 'gumbel', DRAWN, { LOC, SCALE }, 'a finite loc and scale >= 0 are needed',
    'distribution function exp(-exp(-(x - loc) / scale))', DEVROYE },
  { 'weibull', DRAWN, { number 'a', SCALE }, 'a > 0 and scale >= 0 are needed',
    'distribution function 1 - exp(-(x / scale)^a), x >= 0', DEVROYE },
  { 'pareto', DRAWN, { number 'a', SCALE }, 'a > 0 and scale >= 0 are needed',
    'distribution function 1 - (scale / x)^a, x >= scale', DEVROYE },
  { 'cauchy', DRAWN, { LOC, SCALE }, 'a finite loc and scale >= 0 are needed',
    'density scale / (pi (scale^2 + (x - loc)^2))', DEVROYE },
  { 'rayleigh', DRAWN, { SCALE }, 'scale >= 0 is needed',
    'distribution function 1 - exp(-x^2 / (2 scale^2)), x >= 0', DEVROYE },
  { 'lognormal', DRAWN, { number('mean', 0), number('std', 1) }, 'a finite mean and std >= 0 are needed',
    'exp of a normal number with mean and std', PHILOX .. 'definition' },
  { 'geometric', COUNTS, { number 'p' }, '0 < p <= 1 is needed', 'trials until the first success, 1, 2, ...',
    DEVROYE, result = 'i64' },
  { 'bernoulli', { 'bool', 'u8', 'i64', 'f64', 'f32' }, { number('p', 0.5) }, '0 <= p <= 1 is needed',
    'true with probability p', PHILOX .. 'definition', result = 'bool' },
  { 'rademacher', { 'f64', 'f32', 'i8', 'i64' }, {}, 'it takes none', '-1 or 1, equally often',
    PHILOX .. 'definition' },
  { 'gamma', DRAWN, { number 'a', SCALE }, 'a > 0 and scale >= 0 are needed',
    'density x^(a - 1) exp(-x / scale) / (Gamma(a) scale^a), x > 0', MARSAGLIA },
  { 'loggamma', DRAWN, { number 'a' }, 'a > 0 is needed',
    'logarithm of a gamma number of scale 1: no underflow for small a', MARSAGLIA },
  { 'beta', DRAWN, { number 'a', number 'b' }, 'a > 0 and b > 0 are needed',
    'density x^(a - 1) (1 - x)^(b - 1) / B(a, b), 0 < x < 1', MARSAGLIA },
  { 'chisquare', DRAWN, { number 'df' }, 'df > 0 is needed', 'sum of df squared standard normal numbers', MARSAGLIA },
  { 'student_t', DRAWN, { number 'df', LOC, SCALE }, 'df > 0, a finite loc and scale >= 0 are needed',
    "Student's t with df degrees of freedom, times scale, plus loc", MARSAGLIA },
  { 'f', DRAWN, { number 'dfn', number 'dfd' }, 'dfn > 0 and dfd > 0 are needed',
    'ratio of two chi-square numbers, each over its degrees of freedom', MARSAGLIA },
  { 'von_mises', DRAWN, { number('mu', 0), number('kappa', 1) }, 'a finite mu and kappa >= 0 are needed',
    'density exp(kappa cos(x - mu)) / (2 pi I_0(kappa)) on [-pi, pi), rad',
    PHILOX .. 'Best and Fisher, Efficient simulation of the von Mises distribution, 1979' },
  { 'truncated_normal', DRAWN,
    { number('low', -math.huge), number('high', math.huge), number('mean', 0), number('std', 1) },
    'low < high, a finite mean and std > 0 are needed', 'normal with mean and std, given that it lies in [low, high]',
    PHILOX .. 'inversion; far tails: Robert, Simulation of truncated normal variables, 1995' },
  { 'poisson', COUNTS, { number('rate', 1) }, '0 <= rate <= 2^52 is needed', 'probability rate^k exp(-rate) / k!',
    PHILOX .. 'Hoermann, The transformed rejection method for generating Poisson random variables, 1993; inversion '
      .. 'below a mean of 10', result = 'i64' },
  { 'binomial', COUNTS, { number 'n', number 'p' },
    'whole n with 0 <= n <= 2^53 and 0 <= p <= 1 are needed', 'successes in n trials, each with probability p', PHILOX
      .. 'Hoermann, The generation of binomial random variates, 1993; inversion below a mean of 10', result = 'i64' },
  { 'negative_binomial', COUNTS, { number 'n', number 'p' }, 'n > 0 and 0 < p <= 1 are needed',
    'failures before success n, each trial succeeding with probability p',
    MARSAGLIA .. '; Poisson numbers of gamma means', result = 'i64' },
  { 'hypergeometric', COUNTS, { number 'ngood', number 'nbad', number 'nsample' },
    'whole counts >= 0 with nsample <= ngood + nbad <= 10^15 are needed',
    'good ones among nsample drawn without replacement from ngood and nbad', PHILOX
      .. 'Stadlober, The ratio of uniforms approach for generating discrete random variates, 1990', result = 'i64' },
  { 'multinomial', COUNTS,
    { number 'n', number 'p' }, 'a whole n >= 0 and weights >= 0 with a positive finite sum are needed',
    'how n trials fall into categories with the weights p (last axis)',
    PHILOX .. 'binomial counts category by category: Non-uniform random variate generation, 1986, XI.1',
    result = 'i64', wide = 2 },
} do
  local name = 'random_' .. r[1]
  op {
    name, family = 'random', variant = LAUNCHED[r[1]] or 'host', wide = r.wide,
    nin = 'list', dtypes = r[2], result = r.result,
    params = r[3], guard_text = r[4], method = false, tol = 'EXACT',
    rules = (r.result or r[1] == 'rademacher') and 'none: counts' or name, doc = r[5], source = r[6],
  }
  kernels('random', { { name,
    r.kernel and { r.kernel } or (r[1] == 'uniform' or r[1] == 'normal') and { 'f32', 'f64' } or { 'f64' } } })
end
for _, r in ipairs {
  { 'sobol', "Sobol' points in [0, 1)^d", "Sobol', Distribution of points in a cube, 1967; direction numbers: "
      .. "Constructing Sobol sequences with better two-dimensional projections, 2008" },
  { 'halton', 'Halton points in [0, 1)^d',
    'Halton, On the efficiency of certain quasi-random sequences of points, 1960' },
} do
  op { 'random_' .. r[1], family = 'sequence', variant = r[1], nin = 'list', dtypes = { 'f64' }, method = false,
    tol = 'EXACT', rules = 'none: constant', doc = r[2], source = r[3] }
  kernels('sequence', { { 'random_' .. r[1], { 'f64' } } })
  functions(r[1] .. '_table')
end
