--- distributions.lua - distribution functions of the normal, t, chi-squared and F distributions, elementwise.
--
-- Owns which tail is computed without cancellation. The special functions are rows of the op table.
local tensor = require 'mascon.tensor'
local op = require 'mascon.op'
local check = require 'mascon.check'
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

local function standard(fname, x, opts)
  local o = check.opts(fname, opts, NORM, 4)
  x = operand(fname, x, 3)
  if o.mean ~= 0 then x = x - o.mean end
  if o.std ~= 1 then x = x / o.std end
  return x, o
end

local function located(p, o)
  if o.std ~= 1 then p = p * o.std end
  if o.mean ~= 0 then p = p + o.mean end
  return p
end

--- Normal distribution function P(X <= x) = erfc(-(x - mean) / (std sqrt 2)) / 2, accurate in the lower tail.
---     mc.stats.norm_cdf(1.96)  --> f64[]@cpu 0.97500210485178
---@param x any f32|f64 [...] or a number
---@param opts table|nil mean (0) · std (1)
---@return any probability, shape of x
--- Source: Abramowitz and Stegun 26.2.29.
function M.norm_cdf(x, opts)
  local z = standard('stats.norm_cdf', x, opts)
  return F.ndtr(z)
end

--- Upper tail P(X > x) = 1 - norm_cdf(x) without cancellation. Arguments as norm_cdf.
function M.norm_sf(x, opts)
  local z = standard('stats.norm_sf', x, opts)
  return F.ndtr(-z)
end

--- Density of the normal distribution. Arguments as norm_cdf.
function M.norm_pdf(x, opts)
  local z, o = standard('stats.norm_pdf', x, opts)
  local y = F.exp(F.square(z) * -0.5) * 0.3989422804014327
  return o.std ~= 1 and y / o.std or y
end

--- Normal quantile: the x with P(X <= x) = p; -inf and inf at 0 and 1, NaN outside.
---     mc.stats.norm_ppf(0.5)  --> f64[]@cpu 0
---@param p any f32|f64 [...] or a number
---@param opts table|nil mean (0) · std (1)
--- Source: Algorithm AS 241, 1988; relative error below 1e-15.
function M.norm_ppf(p, opts)
  local o = check.opts('stats.norm_ppf', opts, NORM, 3)
  return located(F.ndtri(operand('stats.norm_ppf', p, 2)), o)
end

--- The x with P(X > x) = q, accurate for small q. Arguments as norm_ppf.
function M.norm_isf(q, opts)
  local o = check.opts('stats.norm_isf', opts, NORM, 3)
  return located(-F.ndtri(operand('stats.norm_isf', q, 2)), o)
end

--- Upper tail of Student's t with df degrees of freedom; both tails are accurate.
---@param t any f32|f64 [...] or a number
---@param df any number or tensor > 0
--- Source: Abramowitz and Stegun 26.7.1: I_{df/(df + t^2)}(df/2, 1/2) / 2.
function M.t_sf(t, df)
  t, df = operand('stats.t_sf', t, 2), operand('stats.t_sf', df, 2)
  local tail = F.betainc(df * 0.5, 0.5, df / (df + F.square(t))) * 0.5
  return F.where(F.lt(t, 0), 1 - tail, tail)
end
function M.t_cdf(t, df)
  t = operand('stats.t_cdf', t, 2)
  return M.t_sf(-t, df)
end

--- Upper tail of the chi-squared distribution, Q(df/2, x/2). Source: Abramowitz and Stegun 26.4.19.
---     mc.stats.chi2_sf(3.841458820694124, 1)  --> f64[]@cpu 0.05
function M.chi2_sf(x, df)
  x, df = operand('stats.chi2_sf', x, 2), operand('stats.chi2_sf', df, 2)
  return F.gammaincc(df * 0.5, F.maximum(x, 0) * 0.5)
end
function M.chi2_cdf(x, df)
  x, df = operand('stats.chi2_cdf', x, 2), operand('stats.chi2_cdf', df, 2)
  return F.gammainc(df * 0.5, F.maximum(x, 0) * 0.5)
end

--- Upper tail of the F distribution with d1 and d2 degrees of freedom. Source: Abramowitz and Stegun 26.6.2.
function M.f_sf(x, d1, d2)
  x, d1, d2 = operand('stats.f_sf', x, 2), operand('stats.f_sf', d1, 2), operand('stats.f_sf', d2, 2)
  return F.betainc(d2 * 0.5, d1 * 0.5, d2 / (d2 + d1 * F.maximum(x, 0)))
end
function M.f_cdf(x, d1, d2)
  x, d1, d2 = operand('stats.f_cdf', x, 2), operand('stats.f_cdf', d1, 2), operand('stats.f_cdf', d2, 2)
  local s = d1 * F.maximum(x, 0)
  return F.betainc(d1 * 0.5, d2 * 0.5, s / (s + d2))
end

return M
