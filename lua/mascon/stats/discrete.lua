-- discrete.lua - counting distributions as tables of functions: mc.stats.binom.pmf(k, n, p), mc.stats.poisson.ppf(q,
-- mu), ...
--
-- Each table has cdf, sf, logcdf, logsf, ppf, isf, pmf, logpmf of (k, shapes..., { loc = 0 }); tensors or numbers that
-- broadcast. cdf and sf take any real k and count up to floor(k); pmf is 0 between whole numbers. ppf(p) is the
-- smallest k with cdf(k) >= p, isf(q) the smallest with sf(k) <= q; at p = 0 they give the number below the support, as
-- SciPy does. Shapes outside their domain give NaN. Holds the standard forms.
local op = require 'mascon.core.op'
local family = require 'mascon.stats.family'
local F = op.functions
local distribution = family.distribution
local M = {}

local function whole(x) return F.eq(F.floor(x), x) end
local function all_of(a, ...)
  for k = 1, select('#', ...) do a = F.logical_and(a, (select(k, ...))) end
  return a
end
local function from_zero() return 0 end
local function chance(p) return F.logical_and(F.ge(p, 0), F.le(p, 1)) end
local function open_chance(p) return F.logical_and(F.gt(p, 0), F.lt(p, 1)) end

local function binom_logpmf(k, n, p)
  local j = F.subtract(n, k)
  return F.add(F.xlogy(k, p), F.xlog1py(j, F.negative(p))) - F.add(F.betaln(k + 1, j + 1), F.log(F.add(n, 1)))
end
local function binom_pmf(k, n, p)
  local j = F.subtract(n, k)
  local y = F.divide(F.beta_density(k + 1, j + 1, p), F.multiply(F.multiply(p, F.subtract(1, p)), F.add(n, 1)))
  return F.where(open_chance(p), y, F.exp(binom_logpmf(k, n, p)))
end

--- Binomial distribution: successes among n trials of chance p. Source: DLMF 8.17.5.
---
---     mc.stats.binom.pmf(mc.tensor{0, 1, 2}, 2, 0.5)  --> f64[3]@cpu { 0.2500, 0.5000, 0.2500 }
---     mc.stats.binom.ppf(0.5, 10, 0.3)  --> f64[]@cpu 3
M.binom = distribution {
  name = 'binom', shapes = { 'n', 'p' }, discrete = true, support = function(n) return 0, n end,
  valid = function(n, p) return all_of(F.ge(n, 0), whole(n), chance(p)) end,
  cdf = function(k, n, p) return F.betaincc(k + 1, F.subtract(n, k), p) end,
  sf = function(k, n, p) return F.betainc(k + 1, F.subtract(n, k), p) end,
  ppf = function(q, n, p) return F.binom_ppf(q, n, p) end, isf = function(q, n, p) return F.binom_isf(q, n, p) end,
  pmf = binom_pmf, logpmf = binom_logpmf,
}

local function poisson_logpmf(k, mu) return F.xlogy(k, mu) - F.add(F.lgamma(k + 1), mu) end

--- Poisson distribution of mean mu >= 0. Source: DLMF 8.11.
---
---     mc.stats.poisson.cdf(2, 1)  --> f64[]@cpu 0.91969860292861
M.poisson = distribution {
  name = 'poisson', shapes = { 'mu' }, discrete = true, support = from_zero,
  valid = function(mu) return F.ge(mu, 0) end,
  cdf = function(k, mu) return F.gammaincc(k + 1, mu) end, sf = function(k, mu) return F.gammainc(k + 1, mu) end,
  ppf = function(q, mu) return F.poisson_ppf(q, mu) end, isf = function(q, mu) return F.poisson_isf(q, mu) end,
  pmf = function(k,
    mu) return F.where(F.gt(mu, 0), F.divide(F.gamma_density(k + 1, mu), mu), F.exp(poisson_logpmf(k, mu))) end,
  logpmf = poisson_logpmf,
}

local function nbinom_logpmf(k, n, p)
  return F.add(F.xlogy(n, p), F.xlog1py(k, F.negative(p))) - F.add(F.betaln(n, k + 1), F.log(F.add(n, k)))
end

--- Negative binomial distribution: failures before n > 0 successes of chance p in (0, 1]. Source: DLMF 8.17.5.
---
---     mc.stats.nbinom.pmf(0, 2, 0.5)  --> f64[]@cpu 0.25
M.nbinom = distribution {
  name = 'nbinom', shapes = { 'n', 'p' }, discrete = true, support = from_zero,
  valid = function(n, p) return all_of(F.gt(n, 0), F.gt(p, 0), F.le(p, 1)) end,
  cdf = function(k, n, p) return F.betainc(n, k + 1, p) end, sf = function(k, n, p) return F.betaincc(n, k + 1, p) end,
  ppf = function(q, n, p) return F.nbinom_ppf(q, n, p) end, isf = function(q, n, p) return F.nbinom_isf(q, n, p) end,
  pmf = function(k, n, p)
    local y = F.divide(F.beta_density(n, k + 1, p), F.multiply(F.subtract(1, p), F.add(n, k)))
    return F.where(F.lt(p, 1), y, F.exp(nbinom_logpmf(k, n, p)))
  end,
  logpmf = nbinom_logpmf,
}

local function geom_quantile(log_q, p, reached)
  local k = F.maximum(F.ceil(F.divide(log_q, F.log1p(F.negative(p)))), 1)
  return F.where(F.logical_and(reached(k - 1), F.gt(k, 1)), k - 1, k)
end

--- Geometric distribution: trials up to the first success of chance p in (0, 1], from 1. Source: definition.
---
---     mc.stats.geom.cdf(2, 0.5)  --> f64[]@cpu 0.75
M.geom = distribution {
  name = 'geom', shapes = { 'p' }, discrete = true, support = function() return 1 end,
  valid = function(p) return F.logical_and(F.gt(p, 0), F.le(p, 1)) end,
  cdf = function(k, p) return -F.expm1(F.xlog1py(k, F.negative(p))) end,
  sf = function(k, p) return F.exp(F.xlog1py(k, F.negative(p))) end,
  ppf = function(q, p)
    local k = geom_quantile(F.log1p(-q), p, function(j) return F.ge(-F.expm1(F.xlog1py(j, F.negative(p))), q) end)
    return F.where(F.eq(q, 0), 0, F.where(F.logical_and(F.eq(p, 1), F.gt(q, 0)), 1, k))
  end,
  isf = function(q, p)
    local k = geom_quantile(F.log(q), p, function(j) return F.le(F.exp(F.xlog1py(j, F.negative(p))), q) end)
    return F.where(F.eq(q, 1), 0, F.where(F.logical_and(F.eq(p, 1), F.lt(q, 1)), 1, k))
  end,
  logpmf = function(k, p) return F.add(F.xlog1py(k - 1, F.negative(p)), F.log(p)) end,
}

-- ---------------------------------------------------------------- hypergeometric

-- pmf as a product of three binomial ones of chance N / M, which no factorial can overflow (Fast and accurate
-- computation of binomial probabilities, 2000)
local function hyper_pmf(k, total, good, draws)
  local p = F.divide(draws, total)
  local bad = F.subtract(total, good)
  local y = F.divide(F.multiply(binom_pmf(k, good, p), binom_pmf(F.subtract(draws, k), bad, p)),
    binom_pmf(F.add(draws, k * 0), total, p))
  return F.where(all_of(F.ge(k, 0), F.ge(k, F.subtract(draws, bad)), F.le(k, good), F.le(k, draws)), y, k * 0)
end

-- sum of the pmf away from k by ratios of neighbours: downwards from k, or upwards from k + 1
local function hyper_tail(k, total, good, draws, upper)
  local bad = F.subtract(total, good)
  local at = upper and k + 1 or k
  local term = hyper_pmf(at, total, good, draws)
  local sum = term
  while true do
    local ratio
    if upper then
      ratio = F.divide(F.multiply(F.subtract(good, at), F.subtract(draws, at)),
        F.multiply(at + 1, F.add(F.subtract(bad, draws), at + 1)))
    else
      ratio = F.divide(F.multiply(at, F.add(F.subtract(bad, draws), at)),
        F.multiply(F.subtract(good, at) + 1, F.subtract(draws, at) + 1))
    end
    term = F.where(F.gt(term, 0), F.multiply(term, ratio), 0)
    sum = sum + term
    at = upper and at + 1 or at - 1
    if not F.any(F.gt(term, sum * 1e-18)) then return sum end
  end
end

local function hyper_cdf(k, total, good, draws, upper)
  local mean = F.divide(F.multiply(good, draws), total)
  local below = F.lt(k, mean)
  local low, high = hyper_tail(k, total, good, draws, false), hyper_tail(k, total, good, draws, true)
  if upper then return F.where(below, 1 - low, high) end
  return F.where(below, low, 1 - high)
end

local function hyper_support(total, good, draws)
  return F.maximum(F.add(F.subtract(good, total), draws), 0), F.minimum(good, draws)
end

-- halving of the whole range at once: low is never reached, high is
local function hyper_quantile(q, total, good, draws, upper)
  local first, last = hyper_support(total, good, draws)
  local low, high = q * 0 + (F.subtract(first, 1)), q * 0 + last
  while F.any(F.gt(high - low, 1)) do
    local mid = F.floor((low + high) * 0.5)
    local y = hyper_cdf(mid, total, good, draws, upper)
    local reached
    if upper then reached = F.le(y, q) else reached = F.ge(y, q) end
    low, high = F.where(reached, low, mid), F.where(reached, mid, high)
  end
  local nothing
  if upper then nothing = F.eq(q, 1) else nothing = F.eq(q, 0) end
  return F.where(nothing, F.subtract(first, 1), high)
end

--- Hypergeometric distribution: good ones among N drawn without return from M, of which n are good (SciPy's order M, n,
--- N). Source: definition.
---
---     mc.stats.hypergeom.pmf(1, 4, 2, 2)  --> f64[]@cpu 0.66666666666667
M.hypergeom = distribution {
  name = 'hypergeom', shapes = { 'M', 'n', 'N' }, discrete = true, support = hyper_support,
  valid = function(total, good, draws)
    return all_of(F.gt(total, 0), F.ge(good, 0), F.ge(draws, 0), F.le(good, total), F.le(draws, total), whole(total),
      whole(good), whole(draws))
  end,
  pmf = hyper_pmf, logpmf = function(...) return F.log(hyper_pmf(...)) end,
  cdf = function(k, ...) return hyper_cdf(k, ...) end,
  sf = function(k, total, good, draws) return hyper_cdf(k, total, good, draws, true) end,
  ppf = function(q, total, good, draws) return hyper_quantile(q, total, good, draws, false) end,
  isf = function(q, total, good, draws) return hyper_quantile(q, total, good, draws, true) end,
}

return M
