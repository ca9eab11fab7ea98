--- descriptive.lua - location, spread and shape of samples along an axis.
--
-- Owns defaults: axis = nil means over everything, NaN gives NaN. Order statistics are rows of the op table.
local tensor = require 'mascon.tensor'
local op = require 'mascon.op'
local select_ = require 'mascon.select'
local check = require 'mascon.check'
local methods, F = tensor.methods, op.functions
local M = {}

M.median, M.quantile, M.nanquantile, M.nanmedian, M.histogram = F.median, select_.quantile, select_.nanquantile, select_.nanmedian, select_.histogram

local AXES = { axis = { nil, 'integer | table' }, keepdim = { false, 'bool' } }
local function with(more)
  local s = {}
  for k, v in pairs(AXES) do s[k] = v end
  for k, v in pairs(more or {}) do s[k] = v end
  return s
end

local function real(fname, x, level)
  x = op.operand(fname, x, level + 1)
  local kind = tensor.kind[x.dtype]
  if kind == 'c' then error(('%s: samples are %s; give real numbers'):format(fname, tensor.describe(x)), level + 1) end
  return kind == 'f' and x or methods.to(x, 'f64')
end

--- How many elements a reduction over axes folds into one.
local function folded(fname, x, axis, level)
  if axis == nil then return x:numel() end
  local n, shape = 1, x.shape
  for _, a in ipairs(type(axis) == 'table' and axis or { axis }) do n = n * shape[tensor.axis(fname, x, a, level + 1) + 1] end
  return n
end

local ZSCORE = { axis = { nil, 'integer | table' }, correction = { 0, 'number' } }

--- (x - mean) / standard deviation.
---     mc.stats.zscore(mc.tensor{1, 3})  --> f64[2]@cpu { -1, 1 }
---@param x any f32|f64 [...]
---@param opts table|nil axis: axes taken together (all) · correction: subtracted from n in the variance (0)
---@return any shape of x; NaN where the spread is 0
--- Source: definition.
function M.zscore(x, opts)
  local fname = 'stats.zscore'
  local o = check.opts(fname, opts, ZSCORE, 3)
  x = real(fname, x, 2)
  local d = x - F.mean(x, { axis = o.axis, keepdim = true })
  return d / F.std(x, { axis = o.axis, keepdim = true, correction = o.correction })
end

--- Standard error of the mean, std / sqrt(n).
---     mc.stats.sem(mc.tensor{1, 3})  --> f64[]@cpu 1
---@param x any f32|f64 [...]
---@param opts table|nil axis (all) · correction (1) · keepdim
function M.sem(x, opts)
  local fname = 'stats.sem'
  local o = check.opts(fname, opts, with { correction = { 1, 'number' } }, 3)
  x = real(fname, x, 2)
  return F.std(x, { axis = o.axis, keepdim = o.keepdim, correction = o.correction }) / math.sqrt(folded(fname, x, o.axis, 3))
end

local MAD = with { scale = { 1, "number > 0 | string" } }

--- Median absolute deviation from the median, divided by `scale`; scale = 'normal' (0.6745) estimates the deviation of normal samples.
---@param x any f32|f64 [...]
---@param opts table|nil axis (all) · keepdim · scale (1)
--- Source: Hampel, The influence curve and its role in robust estimation, 1974.
function M.mad(x, opts)
  local fname = 'stats.mad'
  local o = check.opts(fname, opts, MAD, 3)
  local scale = o.scale
  if type(scale) == 'string' then
    if scale ~= 'normal' then error(("%s: scale is %s; give a number or 'normal'"):format(fname, check.show(scale)), 2) end
    scale = 0.6744897501960817
  end
  x = real(fname, x, 2)
  local d = F.abs(x - F.median(x, { axis = o.axis, keepdim = true }))
  local y = F.median(d, { axis = o.axis, keepdim = o.keepdim })
  return scale ~= 1 and y / scale or y
end

local IQR = with { rng = { { 0.25, 0.75 }, 'table' } }

--- Distance between two quantiles, the quartiles by default.
---     mc.stats.iqr(mc.arange(1, 5))  --> f64[]@cpu 2
---@param x any f32|f64 [...]
---@param opts table|nil axis (all) · keepdim · rng: probabilities ({ 0.25, 0.75 })
function M.iqr(x, opts)
  local fname = 'stats.iqr'
  local o = check.opts(fname, opts, IQR, 3)
  x = real(fname, x, 2)
  local q = select_.quantile(x, o.rng, { axis = o.axis, keepdim = o.keepdim })
  return q[2] - q[1]
end

local SHAPE = with { bias = { true, 'bool' } }

local function moments(fname, x, opts)
  local o = check.opts(fname, opts, SHAPE, 4)
  x = real(fname, x, 3)
  local d = x - F.mean(x, { axis = o.axis, keepdim = true })
  local function mean(v) return F.mean(v, { axis = o.axis, keepdim = o.keepdim }) end
  local d2 = F.square(d)
  return o, folded(fname, x, o.axis, 4), mean(d2), d, d2, mean
end

--- Skewness m3 / m2^(3/2), or its unbiased form.
---@param x any f32|f64 [...]
---@param opts table|nil axis (all) · keepdim · bias: false corrects for the sample size (true)
--- Source: Joanes and Gill, Comparing measures of sample skewness and kurtosis, 1998 (g1, G1).
function M.skew(x, opts)
  local o, n, m2, d, d2, mean = moments('stats.skew', x, opts)
  local g = mean(d2 * d) / (m2 * F.sqrt(m2))
  return o.bias and g or g * (math.sqrt(n * (n - 1)) / (n - 2))
end

--- Excess kurtosis m4 / m2^2 - 3, or its unbiased form. Arguments and source as skew (g2, G2).
function M.kurtosis(x, opts)
  local o, n, m2, _, d2, mean = moments('stats.kurtosis', x, opts)
  local g = mean(F.square(d2)) / F.square(m2) - 3
  return o.bias and g or (g * (n + 1) + 6) * ((n - 1) / ((n - 2) * (n - 3)))
end

return M
