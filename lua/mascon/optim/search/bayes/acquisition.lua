-- acquisition.lua - how much a point promises, from what a model predicts there; to be made large.
--
-- mean and std are tensors, best the least value known. Holds the formulas, in forms that stay exact where promises are
-- tiny.
--
-- Source: Jones, Schonlau and Welch, Efficient global optimization of expensive black-box functions, 1998 (ei);
-- Srinivas, Krause, Kakade and Seeger, Gaussian process optimization in the bandit setting, 2010 (lcb); Ament,
-- Daulton, Eriksson, Balandat and Bakshy, Unexpected improvements to expected improvement for Bayesian optimization,
-- 2023 (its logarithm).
local op = require 'mascon.core.op'
local F = op.functions
local M = {}

M.NAMES = { 'ei', 'lcb', 'pi' }

local LEAST = 1e-12 -- deviation, in units of the data, below which a point counts as known
local FAR = -50 -- from here on the tail's first term is exact to 3 digits of its logarithm's 4th

--- log(phi(z) + z Phi(z)).
local function log_promise(z)
  local near = F.gt(z, -1)
  local zn = F.where(near, z, 0)
  local inside = F.log(F.exp(zn * zn * -0.5) / math.sqrt(2 * math.pi) + zn * F.ndtr(zn))
  local a = F.where(near, 1, -z)
  local far = F.lt(z, FAR)
  local tail = F.where(far, F.log(a) * -2,
    F.log1p(-(F.where(far, 1, a) * math.sqrt(math.pi / 2) * F.erfcx(F.where(far, 1, a) / math.sqrt(2)))))
  return F.where(near, inside, z * z * -0.5 - 0.5 * math.log(2 * math.pi) + tail)
end

--- Logarithm of the expected improvement below best - xi.
function M.ei(mean, std, best, o)
  local s = F.maximum(std, LEAST)
  return log_promise((best - o.xi - mean) / s) + F.log(s)
end

--- Logarithm of the probability of improvement below best - xi.
function M.pi(mean, std, best, o)
  return F.log_ndtr((best - o.xi - mean) / F.maximum(std, LEAST))
end

--- Lower confidence bound, negative: kappa std - mean.
function M.lcb(mean, std, _, o) return std * o.kappa - mean end

return M
