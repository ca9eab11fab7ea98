-- distributions.lua - random numbers of one distribution each, as functions of sizes and options.
--
-- Every function is called f(sizes, opts), or with both in one table, f{ 2, 3, name = value }. Parameters are numbers,
-- tensors or nested tables; tensors broadcast to the sizes, and give them where none are named. All take the options of
-- the source (key, seed, generator, stream: see mascon.random.source), dtype (f64, f32 unless said otherwise), device
-- (cpu; the same numbers are copied to another one) and out.
-- Element i depends on its source and i alone. Holds the docstrings; what is drawn stands in the op table (rows
-- random_*).
local op = require 'mascon.core.op'
local draw = require 'mascon.random.draw'
local M = {}

local function law(name)
  local row, fname = op.rows['random_' .. name], 'random.' .. name
  return function(sizes, opts)
    local out = draw.draw(row, fname, sizes, opts, nil, 3)
    return out
  end
end

--- Uniform numbers on [low, high).
---
---   low, high (number|tensor): the interval, default 0 and 1; low == high gives low
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_uniform of the op table.
---
---     mc.random.uniform{ 2, key = 1 }  --> f64[2]@cpu { 0.8947, 0.7113 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.uniform = law 'uniform'

--- Normal numbers.
---
---   mean, std (number|tensor): default 0 and 1; std >= 0
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_normal of the op table.
---
---     mc.random.normal{ 2, key = 1 }  --> f64[2]@cpu { -0.1137, -0.4579 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.normal = law 'normal'

--- Whole numbers in [low, high], both included, every one equally often.
---
---   low, high (integer|tensor): up to the whole range of i64 (boxed integers are taken)
---   dtype: i64 (default), i32, i16, i8, u8
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_integers of the op table.
---
---     mc.random.integers{ 3, low = 1, high = 6, key = 1 }  --> i64[3]@cpu { 6, 5, 6 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.integers = law 'integers'

--- Exponential numbers: density exp(-x / scale) / scale, x >= 0.
---
---   scale (number|tensor): the mean, default 1
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_exponential of the op table.
---
---     mc.random.exponential{ 2, key = 1 }  --> f64[2]@cpu { 0.1113, 0.3407 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.exponential = law 'exponential'

--- Laplace numbers: density exp(-|x - loc| / scale) / (2 scale).
---
---   loc, scale (number|tensor): default 0 and 1
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_laplace of the op table.
---
---     mc.random.laplace{ 2, key = 1 }  --> f64[2]@cpu { 1.5576, 0.5491 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.laplace = law 'laplace'

--- Logistic numbers: distribution function 1 / (1 + exp(-(x - loc) / scale)).
---
---   loc, scale (number|tensor): default 0 and 1
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_logistic of the op table.
---
---     mc.random.logistic{ 2, key = 1 }  --> f64[2]@cpu { 2.1395, 0.9016 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.logistic = law 'logistic'

--- Gumbel numbers: distribution function exp(-exp(-(x - loc) / scale)), the law of largest values.
---
---   loc, scale (number|tensor): default 0 and 1
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_gumbel of the op table.
---
---     mc.random.gumbel{ 2, key = 1 }  --> f64[2]@cpu { 2.1957, 1.0767 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.gumbel = law 'gumbel'

--- Weibull numbers: distribution function 1 - exp(-(x / scale)^a), x >= 0.
---
---   a (number|tensor): shape, > 0
---   scale (number|tensor): default 1
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_weibull of the op table.
---
---     mc.random.weibull{ 2, a = 1.5, key = 1 }  --> f64[2]@cpu { 0.2314, 0.4878 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.weibull = law 'weibull'

--- Pareto numbers: distribution function 1 - (scale / x)^a, x >= scale (NumPy draws x - 1 with scale 1).
---
---   a (number|tensor): shape, > 0
---   scale (number|tensor): the smallest value, default 1
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_pareto of the op table.
---
---     mc.random.pareto{ 2, a = 3, key = 1 }  --> f64[2]@cpu { 1.0378, 1.1203 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.pareto = law 'pareto'

--- Cauchy numbers: density scale / (pi (scale^2 + (x - loc)^2)).
---
---   loc, scale (number|tensor): default 0 and 1
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_cauchy of the op table.
---
---     mc.random.cauchy{ 2, key = 1 }  --> f64[2]@cpu { 2.9113, 0.7821 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.cauchy = law 'cauchy'

--- Rayleigh numbers: distribution function 1 - exp(-x^2 / (2 scale^2)), x >= 0.
---
---   scale (number|tensor): default 1
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_rayleigh of the op table.
---
---     mc.random.rayleigh{ 2, key = 1 }  --> f64[2]@cpu { 0.4718, 0.8255 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.rayleigh = law 'rayleigh'

--- Log-normal numbers: exp of a normal number.
---
---   mean, std (number|tensor): of the logarithm, default 0 and 1
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_lognormal of the op table.
---
---     mc.random.lognormal{ 2, key = 1 }  --> f64[2]@cpu { 0.8925, 0.6326 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.lognormal = law 'lognormal'

--- Gamma numbers: density x^(a - 1) exp(-x / scale) / (Gamma(a) scale^a), x > 0.
---
---   a (number|tensor): shape, > 0, of any size
---   scale (number|tensor): default 1
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_gamma of the op table.
---
---     mc.random.gamma{ 2, a = 2.5, key = 1 }  --> f64[2]@cpu { 1.6236, 1.4963 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.gamma = law 'gamma'

--- Logarithms of gamma numbers of scale 1, which do not underflow where a is small.
---
---   a (number|tensor): shape, > 0
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_loggamma of the op table.
---
---     mc.random.loggamma{ 2, a = 0.001, key = 1 }  --> f64[2]@cpu { -1530.2237, -83.1689 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.loggamma = law 'loggamma'

--- Beta numbers: density x^(a - 1) (1 - x)^(b - 1) / B(a, b), 0 < x < 1.
---
---   a, b (number|tensor): shapes, > 0
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_beta of the op table.
---
---     mc.random.beta{ 2, a = 2, b = 3, key = 1 }  --> f64[2]@cpu { 0.5118, 0.3443 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.beta = law 'beta'

--- Chi-square numbers: the sum of df squared standard normal numbers.
---
---   df (number|tensor): degrees of freedom, > 0, need not be whole
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_chisquare of the op table.
---
---     mc.random.chisquare{ 2, df = 3, key = 1 }  --> f64[2]@cpu { 1.5633, 1.3918 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.chisquare = law 'chisquare'

--- Student's t numbers: loc + scale z / sqrt(chi-square / df).
---
---   df (number|tensor): degrees of freedom, > 0
---   loc, scale (number|tensor): default 0 and 1
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_student_t of the op table.
---
---     mc.random.student_t{ 2, df = 5, key = 1 }  --> f64[2]@cpu { -0.9713, -0.6959 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.student_t = law 'student_t'

--- F numbers: the ratio of two chi-square numbers, each over its degrees of freedom.
---
---   dfn, dfd (number|tensor): degrees of freedom of numerator and denominator, > 0
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_f of the op table.
---
---     mc.random.f{ 2, dfn = 3, dfd = 10, key = 1 }  --> f64[2]@cpu { 1.0359, 0.6002 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.f = law 'f'

--- Von Mises numbers, the normal law of directions: density exp(kappa cos(x - mu)) / (2 pi I_0(kappa)) on [-pi, pi),
--- rad.
---
---   mu (number|tensor): mean direction in rad, default 0
---   kappa (number|tensor): concentration, >= 0, default 1; 0 is uniform
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_von_mises of the op table.
---
---     mc.random.von_mises{ 2, kappa = 4, key = 1 }  --> f64[2]@cpu { -0.1710, -0.2076 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.von_mises = law 'von_mises'

--- Normal numbers given that they lie in [low, high], however far out that is.
---
---   low, high (number|tensor): the interval in the units of the values, default -inf and inf; low < high
---   mean, std (number|tensor): of the normal law before, default 0 and 1
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_truncated_normal of the op table.
---
---     mc.random.truncated_normal{ 2, low = 8, key = 1 }  --> f64[2]@cpu { 8.0137, 8.0166 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.truncated_normal = law 'truncated_normal'

--- Poisson counts: probability rate^k exp(-rate) / k!.
---
---   rate (number|tensor): the mean, >= 0, default 1
---   dtype: i64 (default), i32, f64, f32
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_poisson of the op table.
---
---     mc.random.poisson{ 4, rate = 3, key = 1 }  --> i64[4]@cpu { 0, 5, 3, 2 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.poisson = law 'poisson'

--- Binomial counts: successes in n trials, each with probability p.
---
---   n (integer|tensor): trials, >= 0
---   p (number|tensor): probability, 0 <= p <= 1
---   dtype: i64 (default), i32, f64, f32
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_binomial of the op table.
---
---     mc.random.binomial{ 4, n = 10, p = 0.3, key = 1 }  --> i64[4]@cpu { 0, 5, 3, 2 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.binomial = law 'binomial'

--- Negative binomial counts: failures before success n, each trial succeeding with probability p.
---
---   n (number|tensor): successes, > 0, need not be whole
---   p (number|tensor): probability, 0 < p <= 1
---   dtype: i64 (default), i32, f64, f32
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_negative_binomial of the op table.
---
---     mc.random.negative_binomial{ 4, n = 3, p = 0.5, key = 1 }  --> i64[4]@cpu { 0, 3, 2, 5 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.negative_binomial = law 'negative_binomial'

--- Geometric counts: trials until the first success, 1, 2, ...
---
---   p (number|tensor): probability of a success, 0 < p <= 1
---   dtype: i64 (default), i32, f64, f32
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_geometric of the op table.
---
---     mc.random.geometric{ 4, p = 0.3, key = 1 }  --> i64[4]@cpu { 1, 1, 1, 2 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.geometric = law 'geometric'

--- Hypergeometric counts: good ones among nsample drawn without replacement from ngood good and nbad bad.
---
---   ngood, nbad, nsample (integer|tensor): counts >= 0, nsample <= ngood + nbad
---   dtype: i64 (default), i32, f64, f32
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_hypergeometric of the op table.
---
---     mc.random.hypergeometric{ 4, ngood = 5, nbad = 7, nsample = 6, key = 1 }  --> i64[4]@cpu { 0, 3, 2, 2 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.hypergeometric = law 'hypergeometric'

--- True with probability p.
---
---   p (number|tensor): probability, default 0.5
---   dtype: bool (default), u8, i64, f64, f32
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_bernoulli of the op table.
---
---     mc.random.bernoulli{ 4, p = 0.3, key = 1 }  --> bool[4]@cpu { false, false, false, false }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.bernoulli = law 'bernoulli'

--- -1 or 1, equally often.
---
---   dtype: f64 (default), f32, i64, i8
---
--- Errors: parameters outside their range, by value and position; a dtype that is not drawn.
--- Source: see the row random_rademacher of the op table.
---
---     mc.random.rademacher{ 4, key = 1 }  --> f64[4]@cpu { 1, 1, 1, 1 }
---@param sizes? table sizes of the result, and options
---@param opts? table
---@return mascon.Tensor
M.rademacher = law 'rademacher'

return M
