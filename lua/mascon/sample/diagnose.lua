-- diagnose.lua - how far chains can be trusted: R-hat, effective sample sizes, Monte Carlo errors, E-BFMI.
--
-- Source: Rank-normalization, folding, and localization: an improved R-hat for assessing convergence of MCMC, 2021;
-- Practical Markov chain Monte Carlo, 1992 (initial monotone sequence); Stan Reference Manual, section Posterior
-- analysis; numbers as ArviZ 0.x gives them.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local lengths = require 'mascon.base.lengths'
local all = require 'mascon.core.index'.all
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

--- Draws as f64 [chain, draw, elements] and the shape of an element.
local function elements(fname, x)
  if not is(x) then x = op.from_table(x) end
  if x.ndim < 2 or tensor.kind[x.dtype] == 'c' then
    error(('%s: the draws are %s; give real numbers [chain, draw, ...]'):format(fname, tensor.describe(x)), 3)
  end
  local shape, m = {}, 1
  for i = 3, x.ndim do
    shape[#shape + 1] = x.shape[i]
    m = m * x.shape[i]
  end
  if x.shape[2] < 4 then
    error(('%s: the draws are %s; give at least 4 per chain'):format(fname, tensor.describe(x)), 3)
  end
  return methods.reshape(methods.to(x, 'f64'), { x.shape[1], x.shape[2], m }), shape, m
end

--- f of the draws [chain, draw] of every element, in the shape of an element.
local function each(fname, x, f)
  local draws, shape, m = elements(fname, x)
  local out = {}
  for i = 1, m do
    local one = draws[{ all, all, i }]
    out[i] = F.isfinite(one):all() and f(one:contiguous()) or 0 / 0
  end
  if m == 0 then return tensor.empty(fname, shape, 'f64', 3) end
  return methods.reshape(op.from_table(out), shape)
end

local function split(x)
  local n = x.shape[2]
  local half = math.floor(n / 2)
  return F.concat({ x[{ all, { 1, half } }], x[{ all, { n - half + 1, n } }] }, 1)
end

--- Normal scores of the ranks of all draws together.
local function scores(x)
  local stats = require 'mascon.stats'
  local n = x:numel()
  local rank = stats.rankdata(methods.reshape(x, { n }))
  return methods.reshape(stats.norm.ppf(F.divide(F.subtract(rank, 3 / 8), n + 1 / 4)), x.shape)
end

local function variance(x, axis) return F.var(x, { axis, correction = 1 }) end

local function plain_rhat(x)
  local n = x.shape[2]
  local between = n * variance(F.mean(x, 2), 1):item()
  local within = F.mean(variance(x, 2)):item()
  return math.sqrt((between / within + n - 1) / n)
end

--- Autocovariance of every chain, biased, by lag, averaged over the chains, as a list from lag 0.
local function autocovariance(x)
  local fft = require 'mascon.fft'
  local n = x.shape[2]
  local size = lengths.next_fast_len(2 * n)
  local f = fft.rfft(F.subtract(x, F.mean(x, { 2, keepdim = true })), { n = size })
  local power = F.add(F.square(F.real(f)), F.square(F.imag(f)))
  local c = fft.irfft(methods.to(power, 'c128'), { n = size })
  return F.divide(F.mean(c[{ all, { 1, n } }], 1), n):totable()
end

--- Effective sample size of chains as they are.
local function plain_ess(x)
  local m, n = x.shape[1], x.shape[2]
  local total = m * n
  if F.max(x):item() - F.min(x):item() < 1e-15 then return total end
  local c = autocovariance(x) -- c[k + 1]: lag k
  local within = c[1] * n / (n - 1)
  local whole = c[1] + (m > 1 and variance(F.mean(x, 2), 1):item() or 0)
  local function correlation(lag) return 1 - (within - c[lag + 1]) / whole end
  -- pairs of lags (2k, 2k + 1) while their sum is above 0; of the last pair only the even lag counts, and once
  local even, odd, lag, positive = 1, correlation(1), 0, true
  local pairs_of = {}
  while lag + 1 < n - 3 and even + odd > 0 do
    pairs_of[#pairs_of + 1] = even + odd
    lag = lag + 2
    even, odd = correlation(lag), correlation(lag + 1)
    positive = even + odd >= 0
  end
  local tail = (positive or even > 0) and even or 0
  for k = 2, #pairs_of do pairs_of[k] = math.min(pairs_of[k], pairs_of[k - 1]) end
  local sum = 0
  for _, p in ipairs(pairs_of) do sum = sum + p end
  local time = math.max(-1 + 2 * sum + tail, 1 / (math.log(total) / math.log(10)))
  return total / time
end

local function of_quantile(x, prob)
  local q = F.quantile(x, prob)
  return plain_ess(split(methods.to(F.le(x, q), 'f64')))
end

local function squares(x) return F.square(F.subtract(x, F.mean(x))) end

local ESS = {
  bulk = function(x) return plain_ess(scores(split(x))) end,
  tail = function(x) return math.min(of_quantile(x, 0.05), of_quantile(x, 0.95)) end,
  mean = function(x) return plain_ess(split(x)) end,
  sd = function(x) return plain_ess(split(squares(x))) end,
  median = function(x) return of_quantile(x, 0.5) end,
}

--- Rank-normalised split R-hat: the larger of that of the draws and that of their distances from the median.
---
--- x: f32|f64 [chain, draw, ...]. Result: f64 [...], near 1 where the chains agree; above 1.01 they do not yet. NaN
--- where a draw is not finite.
--- Errors: fewer than two axes, or than 4 draws.
--- Source: Rank-normalization, folding, and localization, 2021, section 4; equals arviz.rhat. One chain is compared
--- with its own halves.
---     mc.sample.rhat(mc.random.normal({ 4, 500 }, { key = 1 })):item() < 1.02  --> true
---@param x mascon.Tensor
---@return mascon.Tensor
function M.rhat(x)
  return (each('sample.rhat', x, function(one)
    local halves = split(one)
    return math.max(plain_rhat(scores(halves)),
      plain_rhat(scores(F.abs(F.subtract(halves, F.median(methods.reshape(halves, { halves:numel() })))))))
  end))
end

--- Effective sample size: how many independent draws would be as good.
---
--- x: f32|f64 [chain, draw, ...]. Option method ('bulk'): 'bulk' for the middle of the distribution, 'tail' the lower
--- of those of the 5 % and 95 % quantiles, 'mean', 'sd', 'median'.
--- Result: f64 [...]; below 100 per chain the errors and R-hat themselves are uncertain. NaN where a draw is not
--- finite.
--- Errors: fewer than two axes, or than 4 draws.
--- Source: Rank-normalization, folding, and localization, 2021, section 3; equals arviz.ess.
---     mc.sample.ess(mc.random.normal({ 4, 500 }, { key = 1 })):item() > 1500  --> true
---@param x mascon.Tensor
---@param opts? table
---@return mascon.Tensor
function M.ess(x, opts)
  local o = check.opts('sample.ess', opts, { method = { 'bulk', { 'bulk', 'tail', 'mean', 'sd', 'median' } } })
  return (each('sample.ess', x, ESS[o.method]))
end

local function deviation(x) return math.sqrt(F.var(x, { 1, 2, correction = 1 }):item()) end

local MCSE = {
  mean = function(x) return deviation(x) / math.sqrt(ESS.mean(x)) end,
  sd = function(x)
    local s = squares(x)
    local mean = F.mean(s):item()
    return math.sqrt((F.mean(F.square(s)):item() - mean ^ 2) / ESS.mean(s) / mean / 4)
  end,
}

--- Monte Carlo standard error: how much an estimate from these draws may be off.
---
--- x: f32|f64 [chain, draw, ...]. Option method ('mean'): of the 'mean', or of the standard deviation ('sd'). Result:
--- f64 [...], in the unit of x.
--- Errors: fewer than two axes, or than 4 draws.
--- Source: Rank-normalization, folding, and localization, 2021; equals arviz.mcse.
---     mc.sample.mcse(mc.random.normal({ 4, 2500 }, { key = 1 })):item() < 0.02  --> true
---@param x mascon.Tensor
---@param opts? table
---@return mascon.Tensor
function M.mcse(x, opts)
  local o = check.opts('sample.mcse', opts, { method = { 'mean', { 'mean', 'sd' } } })
  return (each('sample.mcse', x, MCSE[o.method]))
end

--- Energy Bayesian fraction of missing information of every chain: below 0.3 the momenta do not move the energy as far
--- as it varies.
---
--- energy: f64 [chain, draw], sample_stats.energy of a result. Result: f64 [chain].
--- Source: Robust statistical workflow with PyStan; Diagnosing suboptimal cotangent disintegrations in Hamiltonian
--- Monte Carlo, 2016; equals arviz.bfmi.
---     mc.round(mc.sample.bfmi(mc.tensor { { 1, 2, 1, 2 } }))  --> f64[1]@cpu { 3 }
---@param energy mascon.Tensor
---@return mascon.Tensor
function M.bfmi(energy)
  if not is(energy) then energy = op.from_table(energy) end
  if energy.ndim ~= 2 then
    error(('sample.bfmi: the energies are %s; give [chain, draw]'):format(tensor.describe(energy)), 2)
  end
  local n = energy.shape[2]
  local jump = F.subtract(energy[{ all, { 2, n } }], energy[{ all, { 1, n - 1 } }])
  return F.divide(F.mean(F.square(jump), 2), variance(energy, 2))
end

return M
