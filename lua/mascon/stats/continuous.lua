-- continuous.lua - continuous distributions as tables of functions: mc.stats.norm.cdf(x), mc.stats.t.ppf(p, df), ...
--
-- Each table has cdf, sf, logcdf, logsf, ppf, isf, pdf, logpdf of (x, shapes..., { loc = 0, scale = 1 }); x and shapes
-- are real tensors or numbers that broadcast. sf and isf keep the upper tail that 1 - cdf loses. Shapes or scales
-- outside their domain give NaN. Holds the standard forms; the special functions are rows of the op table.
local op = require 'mascon.core.op'
local family = require 'mascon.stats.family'
local F = op.functions
local distribution = family.distribution
local M = {}

local PI = math.pi
local LOG_SQRT_2PI, SQRT_2PI = 0.91893853320467274178, 2.50662827463100050242

local function positive(...)
  local ok
  for k = 1, select('#', ...) do
    local c = F.gt((select(k, ...)), 0)
    ok = ok and F.logical_and(ok, c) or c
  end
  return ok
end
local function from_zero() return 0 end

--- Normal distribution. Source: Handbook of mathematical functions, 1964, 26.2.
---
---     mc.stats.norm.cdf(0)  --> f64[]@cpu 0.5
---     mc.stats.norm.sf(mc.tensor{10}, { loc = 4, scale = 3 })  --> f64[1]@cpu { 0.0228 }
M.norm = distribution {
  name = 'norm', shapes = {},
  cdf = function(z) return F.ndtr(z) end, sf = function(z) return F.ndtr(-z) end,
  logcdf = function(z) return F.log_ndtr(z) end, logsf = function(z) return F.log_ndtr(-z) end,
  ppf = function(p) return F.ndtri(p) end, isf = function(q) return -F.ndtri(q) end,
  pdf = function(z) return F.exp(F.square(z) * -0.5) / SQRT_2PI end,
  logpdf = function(z) return F.square(z) * -0.5 - LOG_SQRT_2PI end,
}

-- log(1 + u^2) without overflow: the parts below and above 1 stand apart, each constant where the other counts
local function log1p_square(u)
  local a = F.abs(u)
  local low, high = F.minimum(a, 1), F.maximum(a, 1)
  return F.log1p(F.square(low)) + (F.log(high) * 2 + (F.log1p(F.square(F.reciprocal(high))) - math.log(2)))
end

--- Student's t with df > 0 degrees of freedom. Source: Handbook of mathematical functions, 1964, 26.7.
---
---     mc.stats.t.sf(0, 5)  --> f64[]@cpu 0.5
M.t = distribution {
  name = 't', shapes = { 'df' }, valid = positive,
  cdf = function(z, df) return F.stdtr(df, z) end, sf = function(z, df) return F.stdtr(df, -z) end,
  ppf = function(p, df) return F.stdtrit(df, p) end, isf = function(q, df) return -F.stdtrit(df, q) end,
  logpdf = function(z, df)
    local half = F.multiply(df, 0.5)
    return F.multiply(log1p_square(F.divide(z, F.sqrt(df))), F.subtract(-0.5, half)) - F.add(F.betaln(half, 0.5),
      F.multiply(F.log(df), 0.5))
  end,
}

local GAMMA = {
  cdf = function(z, a) return F.gammainc(a, F.maximum(z, 0)) end,
  sf = function(z, a) return F.gammaincc(a, F.maximum(z, 0)) end,
  ppf = function(p, a) return F.gammaincinv(a, p) end, isf = function(q, a) return F.gammainccinv(a, q) end,
  logpdf = function(z, a) return F.subtract(F.xlogy(F.subtract(a, 1), z) - z, F.lgamma(a)) end,
}
function GAMMA.pdf(z, a) return F.where(F.gt(z, 0), F.divide(F.gamma_density(a, z), z), F.exp(GAMMA.logpdf(z, a))) end

--- Gamma distribution of shape a > 0. Source: Handbook of mathematical functions, 1964, 26.1.31.
---
---     mc.stats.gamma.cdf(mc.tensor{0, 1}, 1)  --> f64[2]@cpu { 0.0000, 0.6321 }
M.gamma = distribution { name = 'gamma', shapes = { 'a' }, support = from_zero, valid = positive, cdf = GAMMA.cdf,
  sf = GAMMA.sf, ppf = GAMMA.ppf, isf = GAMMA.isf,
  pdf = GAMMA.pdf, logpdf = GAMMA.logpdf }

local function halved(f, after)
  return function(z, df)
    local y = f(F.multiply(z, 0.5), F.multiply(df, 0.5))
    return after and after(y) or y
  end
end
local function quantile_doubled(f) return function(p, df) return f(p, F.multiply(df, 0.5)) * 2 end end

--- Chi-squared distribution of df > 0 degrees of freedom. Source: Handbook of mathematical functions, 1964, 26.4.
---
---     mc.stats.chi2.sf(2, 2)  --> f64[]@cpu 0.36787944117144
M.chi2 = distribution { name = 'chi2', shapes = { 'df' }, support = from_zero, valid = positive,
  cdf = halved(GAMMA.cdf), sf = halved(GAMMA.sf),
  ppf = quantile_doubled(GAMMA.ppf), isf = quantile_doubled(GAMMA.isf),
  pdf = halved(GAMMA.pdf, function(y) return y * 0.5 end),
  logpdf = halved(GAMMA.logpdf, function(y) return y - math.log(2) end) }

local function beta_logpdf(z, a, b)
  return F.subtract(F.add(F.xlogy(F.subtract(a, 1), z), F.xlog1py(F.subtract(b, 1), -z)), F.betaln(a, b))
end
local function inside(z) return F.logical_and(F.gt(z, 0), F.lt(z, 1)) end

--- Beta distribution of shapes a, b > 0 on [0, 1]. Source: Handbook of mathematical functions, 1964, 26.5.
---
---     mc.stats.beta.ppf(0.5, 2, 2)  --> f64[]@cpu 0.5
M.beta = distribution {
  name = 'beta', shapes = { 'a', 'b' }, support = function() return 0, 1 end, valid = positive,
  cdf = function(z, a, b) return F.betainc(a, b, F.clip(z, 0, 1)) end,
  sf = function(z, a, b) return F.betaincc(a, b, F.clip(z, 0, 1)) end,
  ppf = function(p, a, b) return F.betaincinv(a, b, p) end, isf = function(q, a, b) return F.betainccinv(a, b, q) end,
  pdf = function(z, a,
    b) return F.where(inside(z), F.divide(F.beta_density(a, b, z), z * (1 - z)), F.exp(beta_logpdf(z, a, b))) end,
  logpdf = beta_logpdf,
}

-- x = d1 z / (d1 z + d2) and 1 - x, each without rounding of the other
local function f_parts(z, d1, d2)
  local s = F.multiply(F.maximum(z, 0), d1)
  local sum = F.add(s, d2)
  -- an infinite z has x = 1, not inf / inf
  return F.where(F.isinf(s), 1, F.divide(s, sum)), F.divide(d2, sum), F.multiply(d1, 0.5), F.multiply(d2, 0.5)
end

--- F distribution of d1, d2 > 0 degrees of freedom. Source: Handbook of mathematical functions, 1964, 26.6.
---
---     mc.stats.f.cdf(1, 3, 3)  --> f64[]@cpu 0.5
M.f = distribution {
  name = 'f', shapes = { 'd1', 'd2' }, support = from_zero, valid = positive,
  cdf = function(z, d1, d2)
    local x, y, a, b = f_parts(z, d1, d2)
    return F.where(F.lt(x, 0.5), F.betainc(a, b, x), F.betaincc(b, a, y))
  end,
  sf = function(z, d1, d2)
    local x, y, a, b = f_parts(z, d1, d2)
    return F.where(F.lt(x, 0.5), F.betaincc(a, b, x), F.betainc(b, a, y))
  end,
  ppf = function(p, d1,
    d2) return F.multiply(F.beta_odds(F.multiply(d1, 0.5), F.multiply(d2, 0.5), p), F.divide(d2, d1)) end,
  isf = function(q, d1,
    d2) return F.multiply(F.beta_oddsc(F.multiply(d1, 0.5), F.multiply(d2, 0.5), q), F.divide(d2, d1)) end,
  logpdf = function(z, d1, d2)
    local a, b = F.multiply(d1, 0.5), F.multiply(d2, 0.5)
    local u = F.divide(F.multiply(z, d1), d2)
    return F.subtract(F.xlogy(F.subtract(a, 1), u) - F.multiply(F.add(a, b), F.log1p(u)),
      F.subtract(F.betaln(a, b), F.log(F.divide(d1, d2))))
  end,
}

--- Exponential distribution. Source: definition.
---
---     mc.stats.expon.ppf(0.5, { scale = 2 })  --> f64[]@cpu 1.3862943611199
M.expon = distribution {
  name = 'expon', shapes = {}, support = from_zero,
  cdf = function(z) return -F.expm1(-z) end, sf = function(z) return F.exp(-z) end, logsf = function(z) return -z end,
  ppf = function(p) return -F.log1p(-p) end, isf = function(q) return -F.log(q) end,
  logpdf = function(z) return -z end,
}

--- Log-normal distribution: the logarithm is normal with standard deviation s > 0. Source: definition.
---
---     mc.stats.lognorm.cdf(1, 0.5)  --> f64[]@cpu 0.5
M.lognorm = distribution {
  name = 'lognorm', shapes = { 's' }, support = from_zero, valid = positive,
  cdf = function(z, s) return F.ndtr(F.divide(F.log(F.maximum(z, 0)), s)) end,
  sf = function(z, s) return F.ndtr(-F.divide(F.log(F.maximum(z, 0)), s)) end,
  ppf = function(p, s) return F.exp(F.multiply(F.ndtri(p), s)) end,
  isf = function(q, s) return F.exp(-F.multiply(F.ndtri(q), s)) end,
  logpdf = function(z, s)
    local l = F.log(F.maximum(z, 0))
    return F.where(F.gt(z, 0), F.subtract(F.square(F.divide(l, s)) * -0.5 - l - LOG_SQRT_2PI, F.log(s)),
      F.where(F.isnan(z), 0 / 0, -1 / 0))
  end,
}

--- Weibull distribution (of minima) of shape c > 0. Source: A statistical distribution function of wide applicability,
--- 1951.
---
---     mc.stats.weibull_min.sf(1, 2)  --> f64[]@cpu 0.36787944117144
M.weibull_min = distribution {
  name = 'weibull_min', shapes = { 'c' }, support = from_zero, valid = positive,
  cdf = function(z, c) return -F.expm1(-F.pow(F.maximum(z, 0), c)) end,
  sf = function(z, c) return F.exp(-F.pow(F.maximum(z, 0), c)) end,
  logsf = function(z, c) return -F.pow(F.maximum(z, 0), c) end,
  ppf = function(p, c) return F.pow(-F.log1p(-p), F.divide(1, c)) end,
  isf = function(q, c) return F.pow(-F.log(q), F.divide(1, c)) end,
  logpdf = function(z,
    c) return F.add(F.xlogy(F.subtract(c, 1), F.maximum(z, 0)) - F.pow(F.maximum(z, 0), c), F.log(c)) end,
}
--- Another name of weibull_min.
M.weibull = M.weibull_min

--- Uniform distribution on [loc, loc + scale]. Source: definition.
---
---     mc.stats.uniform.cdf(mc.tensor{-1, 0.25, 2})  --> f64[3]@cpu { 0.0000, 0.2500, 1.0000 }
M.uniform = distribution {
  name = 'uniform', shapes = {}, support = function() return 0, 1 end,
  cdf = function(z) return F.clip(z, 0, 1) end, sf = function(z) return 1 - F.clip(z, 0, 1) end,
  ppf = function(p) return F.positive(p) end, isf = function(q) return 1 - q end,
  logpdf = function(z) return z * 0 end,
}

-- cot(pi p), from the nearer of its pole and its zero
local function cotpi(p)
  return F.where(F.lt(F.abs(p - 0.5), 0.25), -F.tan((p - 0.5) * PI),
    F.where(F.lt(p, 0.5), 1 / F.tan(p * PI), -1 / F.tan((1 - p) * PI)))
end

--- Cauchy distribution. Source: definition; the angle of (-z, 1) keeps both tails.
---
---     mc.stats.cauchy.sf(1)  --> f64[]@cpu 0.25
M.cauchy = distribution {
  name = 'cauchy', shapes = {},
  cdf = function(z) return F.atan2(1, -z) / PI end, sf = function(z) return F.atan2(1, z) / PI end,
  ppf = function(p) return -cotpi(p) end, isf = function(q) return cotpi(q) end,
  pdf = function(z) return 1 / ((1 + F.square(z)) * PI) end,
  logpdf = function(z) return -log1p_square(z) - math.log(PI) end,
}

local function laplace_lower(z) return F.where(F.lt(z, 0), F.exp(-F.abs(z)) * 0.5, 1 - F.exp(-F.abs(z)) * 0.5) end
local function laplace_quantile(p) return F.where(F.lt(p, 0.5), F.log(p * 2), -F.log((1 - p) * 2)) end

--- Laplace distribution. Source: definition.
---
---     mc.stats.laplace.cdf(0)  --> f64[]@cpu 0.5
M.laplace = distribution {
  name = 'laplace', shapes = {},
  cdf = laplace_lower, sf = function(z) return laplace_lower(-z) end, ppf = laplace_quantile,
  isf = function(q) return -laplace_quantile(q) end,
  logpdf = function(z) return -F.abs(z) - math.log(2) end,
}

--- Logistic distribution. Source: definition.
---
---     mc.stats.logistic.ppf(0.5)  --> f64[]@cpu 0
M.logistic = distribution {
  name = 'logistic', shapes = {},
  cdf = function(z) return F.logistic(z) end, sf = function(z) return F.logistic(-z) end,
  logcdf = function(z) return F.log_expit(z) end, logsf = function(z) return F.log_expit(-z) end,
  ppf = function(p) return F.logit(p) end, isf = function(q) return -F.logit(q) end,
  logpdf = function(z) return F.log_expit(z) + F.log_expit(-z) end,
}

--- Von Mises distribution of concentration kappa >= 0 on the circle, rad; the distribution function starts at -pi and
--- grows by 1 a turn. It has no quantiles here. Source: quadrature of the density, which keeps the tails.
---
---     mc.stats.vonmises.cdf(0, 2)  --> f64[]@cpu 0.5
M.vonmises = distribution {
  name = 'vonmises', shapes = { 'kappa' }, valid = function(kappa) return F.ge(kappa, 0) end,
  cdf = function(z, kappa) return F.vonmises_cdf(kappa, z) end,
  sf = function(z, kappa) return F.vonmises_cdf(kappa, -z) end,
  logpdf = function(z, kappa)
    return F.subtract(F.multiply(F.square(F.sin(z * 0.5)) * -2, kappa), F.add(F.log(F.i0e(kappa)), math.log(2 * PI)))
  end,
}

return M
