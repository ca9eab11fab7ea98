-- random_laws.lua - the distributions of mc.random as mathematics: cases of parameters with exact mean, variance and
-- distribution function.
--
-- M[name] is a list of cases { p = options, mean =, var =, cdf = f(x) } (continuous: x a sorted f64 tensor) or { p =,
-- mean =, var =, pmf = f(k) } (counts: k a Lua number). var = nil where there is none. The formulas are the textbook
-- ones over mc's special functions, independent of how numbers are drawn.
local mc = require 'mascon'
local pi, exp, log, sqrt = math.pi, math.exp, math.log, math.sqrt
local M = {}

local function lgamma(x) return mc.lgamma(x):item() end
local function gamma(x) return exp(lgamma(x)) end
local function choose(n, k) return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) end
local function clip01(x) return mc.clip(x, 0, 1) end
local EULER = 0.57721566490153286

local function normal(mean, std)
  return { p = { mean = mean, std = std }, mean = mean, var = std ^ 2,
    cdf = function(x) return mc.ndtr((x - mean) / std) end }
end
M.normal = { normal(0, 1), normal(-3, 0.5) }
M.uniform = { { p = {}, mean = 0.5, var = 1 / 12, cdf = clip01 },
  { p = { low = -2, high = 6 }, mean = 2, var = 64 / 12, cdf = function(x) return clip01((x + 2) / 8) end } }
M.exponential = { { p = { scale = 2 }, mean = 2, var = 4, cdf = function(x) return -mc.expm1(x / -2) end } }
M.laplace = { { p = { loc = 1, scale = 2 }, mean = 1, var = 8, cdf = function(x)
  local z = (x - 1) / 2
  return mc.where(z:lt(0), mc.exp(-mc.abs(z)) / 2, 1 - mc.exp(-mc.abs(z)) / 2)
end } }
M.logistic = { { p = { loc = 1, scale = 2 }, mean = 1, var = 4 * pi ^ 2 / 3, cdf = function(x)
  return mc.logistic((x - 1) / 2)
end } }
M.gumbel = { { p = { loc = 1, scale = 2 }, mean = 1 + 2 * EULER, var = 4 * pi ^ 2 / 6, cdf = function(x)
  return mc.exp(-mc.exp((x - 1) / -2))
end } }
local function weibull(a, s)
  return { p = { a = a, scale = s }, mean = s * gamma(1 + 1 / a),
    var = s ^ 2 * (gamma(1 + 2 / a) - gamma(1 + 1 / a) ^ 2), cdf = function(x) return -mc.expm1(-(x / s) ^ a) end }
end
M.weibull = { weibull(1.5, 2), weibull(0.7, 1) }
M.pareto =
  { { p = { a = 5, scale = 2 }, mean = 2.5, var = 4 * 5 / (16 * 3), cdf = function(x) return 1 - (x / 2) ^ -5 end } }
M.cauchy = { { p = { loc = 1, scale = 2 }, cdf = function(x) return mc.atan((x - 1) / 2) / pi + 0.5 end } }
M.rayleigh = { { p = { scale = 2 }, mean = 2 * sqrt(pi / 2), var = 4 * (2 - pi / 2), cdf = function(x)
  return -mc.expm1(x * x / -8)
end } }
M.lognormal = { { p = { mean = 0.5, std = 0.5 }, mean = exp(0.625), var = (exp(0.25) - 1) * exp(1.25), cdf = function(x)
  return mc.ndtr((mc.log(x) - 0.5) / 0.5)
end } }

local function gammas(a, s)
  return { p = { a = a, scale = s }, mean = a * s, var = a * s ^ 2, cdf = function(x) return mc.gammainc(a, x / s) end }
end
M.gamma = { gammas(0.2, 1), gammas(1, 3), gammas(2.5, 2), gammas(300, 1) }
M.loggamma = { { p = { a = 0.7 }, cdf = function(x) return mc.gammainc(0.7, mc.exp(x)) end },
  { p = { a = 4 }, cdf = function(x) return mc.gammainc(4, mc.exp(x)) end } }
local function beta(a, b)
  return { p = { a = a, b = b }, mean = a / (a + b), var = a * b / ((a + b) ^ 2 * (a + b + 1)),
    cdf = function(x) return mc.betainc(a, b, x) end }
end
M.beta = { beta(0.5, 0.5), beta(2, 3), beta(0.3, 4) }
M.chisquare = { { p = { df = 3 }, mean = 3, var = 6, cdf = function(x) return mc.gammainc(1.5, x / 2) end } }
M.student_t = { { p = { df = 5, loc = 1, scale = 2 }, mean = 1, var = 4 * 5 / 3, cdf = function(x)
  local t = (x - 1) / 2
  local tail = mc.betainc(2.5, 0.5, 5 / (t * t + 5)) / 2
  return mc.where(t:lt(0), tail, 1 - tail)
end } }
M.f = { { p = { dfn = 4, dfd = 12 }, mean = 1.2, var = 2 * 144 * 14 / (4 * 100 * 8), cdf = function(x)
  return mc.betainc(2, 6, 4 * x / (4 * x + 12))
end } }

--- Distribution function of a density on [-pi, pi) by Simpson's rule on 4096 steps and linear interpolation.
local function integrated(density)
  return function(at)
    local n = 4096
    local f = density(mc.linspace(-pi, pi, 2 * n + 1))
    local part = mc.cumsum((f['1:-2:2'] + f['2:-1:2'] * 4 + f['3::2']) * (pi / n / 3))
    local cdf = mc.concat { mc.zeros { 1 }, part } / part[-1]
    local place = (at + pi) * (n / (2 * pi))
    local low = mc.clip(mc.floor(place), 0, n - 1)
    local left, right = mc.take(cdf, (low + 1):to 'i64'), mc.take(cdf, (low + 2):to 'i64')
    return left + (right - left) * (place - low)
  end
end
local function von_mises(mu, kappa)
  return { p = { mu = mu, kappa = kappa },
    cdf = integrated(function(x) return mc.exp((mc.cos(x - mu) - 1) * kappa) end) }
end
M.von_mises = { von_mises(0, 4), von_mises(1, 0.3), von_mises(-2, 60),
  { p = { kappa = 0 }, mean = 0, var = pi ^ 2 / 3, cdf = function(x) return (x + pi) / (2 * pi) end } }

-- tails through the side where the distribution function is small
local function truncated(low, high, mean, std)
  local a, b = (low - mean) / std, (high - mean) / std
  return { p = { low = low, high = high, mean = mean, std = std }, cdf = function(x)
    local z = (x - mean) / std
    if a > 0 then
      local top, bottom = mc.ndtr(-a):item(), mc.ndtr(-b):item()
      return (top - mc.ndtr(-z)) / (top - bottom)
    end
    local bottom, top = mc.ndtr(a):item(), mc.ndtr(b):item()
    return (mc.ndtr(z) - bottom) / (top - bottom)
  end }
end
M.truncated_normal = {
  truncated(-1, 2, 0.5, 3), truncated(3, math.huge, 0, 1), truncated(-math.huge, -8, 0, 1), truncated(20, 20.1, 0, 1),
  truncated(-4, 0, 1, 0.5),
  -- beyond 37 deviations the law is an exponential one of rate x plus 1/x corrections: distribution function by Mills'
  -- ratio
  { p = { low = 50 }, cdf = function(x)
    local function mills(z) return 1 / z * (1 - 1 / z ^ 2 * (1 - 3 / z ^ 2 * (1 - 5 / z ^ 2))) end
    return 1 - mc.exp((50 - x) * (50 + x) / 2) * mills(x) / mills(50)
  end },
  { p = { low = 60, high = 60.001 },
    cdf = function(x) return -mc.expm1((60 - x) * (60 + x) / 2) / -mc.expm1((60 - 60.001) * 120.001 / 2):item() end },
}

-- ---------------------------------------------------------------- counts

local function poisson(rate)
  return { p = { rate = rate }, mean = rate, var = rate,
    pmf = function(k) return k < 0 and 0 or exp(k * log(rate) - rate - lgamma(k + 1)) end }
end
M.poisson = { poisson(0.3), poisson(9.5), poisson(10), poisson(150) }
local function binomial(n, q)
  return { p = { n = n, p = q }, mean = n * q, var = n * q * (1 - q),
    pmf = function(k) return (k < 0 or k > n) and 0 or exp(choose(n, k) + k * log(q) + (n - k) * log(1 - q)) end }
end
M.binomial = { binomial(10, 0.3), binomial(40, 0.5), binomial(1000, 0.97), binomial(1000, 0.004), binomial(300, 0.6) }
local function negative(n, q)
  return { p = { n = n, p = q }, mean = n * (1 - q) / q, var = n * (1 - q) / q ^ 2, pmf = function(k)
    return k < 0 and 0 or exp(lgamma(k + n) - lgamma(n) - lgamma(k + 1) + n * log(q) + k * log(1 - q))
  end }
end
M.negative_binomial = { negative(3, 0.5), negative(0.7, 0.2), negative(20, 0.3) }
M.geometric = { { p = { p = 0.3 }, mean = 1 / 0.3, var = 0.7 / 0.09, pmf = function(k)
  return k < 1 and 0 or 0.3 * 0.7 ^ (k - 1)
end } }
local function urn(good, bad, drawn)
  local all = good + bad
  return { p = { ngood = good, nbad = bad, nsample = drawn }, mean = drawn * good / all,
    var = drawn * good / all * bad / all * (all - drawn) / (all - 1), pmf = function(k)
      return (k < 0 or k > good or k > drawn or drawn - k > bad) and 0
        or exp(choose(good, k) + choose(bad, drawn - k) - choose(all, drawn))
    end }
end
M.hypergeometric = { urn(5, 7, 6), urn(50, 70, 60), urn(700, 300, 100), urn(300, 500, 650), urn(4, 4000, 900) }
M.bernoulli =
  { { p = { p = 0.3 }, mean = 0.3, var = 0.21, pmf = function(k) return k == 1 and 0.3 or k == 0 and 0.7 or 0 end } }
M.rademacher = { { p = {}, mean = 0, var = 1, pmf = function(k) return (k == 1 or k == -1) and 0.5 or 0 end } }
local function integers(low, high)
  local n = high - low + 1
  return { p = { low = low, high = high }, mean = (low + high) / 2, var = (n ^ 2 - 1) / 12,
    pmf = function(k) return (k < low or k > high) and 0 or 1 / n end }
end
M.integers = { integers(1, 6), integers(-500, 499) }
-- the first of three categories; the spec looks at the others
M.multinomial = { { p = { n = 20, p = { 1, 2, 2 } }, mean = 4, var = 3.2, pmf = function(k)
  return (k < 0 or k > 20) and 0 or exp(choose(20, k) + k * log(0.2) + (20 - k) * log(0.8))
end } }

return M
