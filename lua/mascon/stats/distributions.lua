-- distributions.lua - short names of the normal, t, chi-squared and F distributions: norm_cdf(x), t_sf(t, df), ...
--
-- The tables of continuous.lua (mc.stats.norm.cdf) have every distribution; these stay for their brevity and take mean
-- and std.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local check = require 'mascon.core.check'
local continuous = require 'mascon.stats.continuous'
local methods, F = tensor.methods, op.functions
local M = {}

local NORM = { mean = { 0, 'number | tensor' }, std = { 1, 'number > 0 | tensor' } }

local function operand(fname, v, level)
  v = op.operand(fname, v, level + 1)
  local kind = tensor.kind[v.dtype]
  if kind == 'c' then error(('%s: operand is %s; give real numbers'):format(fname, tensor.describe(v)), level + 1) end
  if kind ~= 'f' then v = methods.to(v, 'f64') end
  return v
end

local function norm(kind)
  local fname = 'stats.norm_' .. kind
  return function(x, opts)
    local o = check.opts(fname, opts, NORM, 3)
    return continuous.norm[kind](operand(fname, x, 2), { loc = o.mean, scale = o.std })
  end
end

--- Normal distribution function P(X <= x) = erfc(-(x - mean) / (std sqrt 2)) / 2, accurate in the lower tail.
---     mc.stats.norm_cdf(1.96)  --> f64[]@cpu 0.97500210485178
---@param x any f32|f64 [...] or a number
---@param opts table|nil mean (0) · std (1)
---@return any probability, shape of x
--- Source: Handbook of mathematical functions, 1964, 26.2.29.
M.norm_cdf = norm 'cdf'

--- Upper tail P(X > x) = 1 - norm_cdf(x) without cancellation. Arguments as norm_cdf.
M.norm_sf = norm 'sf'

--- Density of the normal distribution. Arguments as norm_cdf.
M.norm_pdf = norm 'pdf'

--- Normal quantile: the x with P(X <= x) = p; -inf and inf at 0 and 1, NaN outside.
---     mc.stats.norm_ppf(0.5)  --> f64[]@cpu 0
---@param p any f32|f64 [...] or a number
---@param opts table|nil mean (0) · std (1)
--- Source: Algorithm AS 241, 1988; relative error below 1e-15.
M.norm_ppf = norm 'ppf'

--- The x with P(X > x) = q, accurate for small q. Arguments as norm_ppf.
M.norm_isf = norm 'isf'

--- Upper tail of Student's t with df degrees of freedom; both tails are accurate.
---@param t any f32|f64 [...] or a number
---@param df any number or tensor > 0
--- Source: Handbook of mathematical functions, 1964, 26.7.1: I_{df/(df + t^2)}(df/2, 1/2) / 2.
---     mc.stats.t_sf(0, 5)  --> f64[]@cpu 0.5
function M.t_sf(t, df)
  return F.stdtr(operand('stats.t_sf', df, 2), -operand('stats.t_sf', t, 2))
end
--- Lower tail of Student's t: t_sf(-t, df).
function M.t_cdf(t, df)
  return F.stdtr(operand('stats.t_cdf', df, 2), operand('stats.t_cdf', t, 2))
end

--- Upper tail of the chi-squared distribution, Q(df/2, x/2). Source: Handbook of mathematical functions, 1964, 26.4.19.
---     mc.stats.chi2_sf(3.841458820694124, 1)  --> f64[]@cpu 0.05
function M.chi2_sf(x, df) return continuous.chi2.sf(operand('stats.chi2_sf', x, 2), operand('stats.chi2_sf', df, 2)) end
--- Lower tail of the chi-squared distribution, P(df/2, x/2).
function M.chi2_cdf(x, df)
  return continuous.chi2.cdf(operand('stats.chi2_cdf', x, 2), operand('stats.chi2_cdf', df, 2))
end

--- Upper tail of the F distribution with d1 and d2 degrees of freedom. Source: Handbook of mathematical functions,
--- 1964, 26.6.2.
function M.f_sf(x, d1, d2)
  return continuous.f.sf(operand('stats.f_sf', x, 2), operand('stats.f_sf', d1, 2), operand('stats.f_sf', d2, 2))
end
--- Lower tail of the F distribution. Source: Handbook of mathematical functions, 1964, 26.6.2.
function M.f_cdf(x, d1, d2)
  return continuous.f.cdf(operand('stats.f_cdf', x, 2), operand('stats.f_cdf', d1, 2), operand('stats.f_cdf', d2, 2))
end

return M
