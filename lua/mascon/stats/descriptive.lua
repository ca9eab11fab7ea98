-- descriptive.lua - location, spread and shape of samples along an axis.
--
-- Holds defaults: axis = nil means over everything, NaN gives NaN. Order statistics are rows of the op table.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local along = require 'mascon.array.along'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local ALL = require 'mascon.core.index'.all
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local AXES = { axis = { nil, 'integer | table' }, keepdim = { false, 'bool' } }
local function with(more)
  local s = {}
  for k, v in pairs(AXES) do s[k] = v end
  for k, v in pairs(more or {}) do s[k] = v end
  return s
end

local ZSCORE = { axis = AXES.axis, correction = { 0, 'number' } }

--- (x - mean) / standard deviation.
---     mc.stats.zscore(mc.tensor{1, 3})  --> f64[2]@cpu { -1, 1 }
---@param x any f32|f64 [...]
---@param axis any option axis, alone or before the others
---@param opts table|nil axis: axes taken together (all) · correction: subtracted from n in the variance (0)
---@return any shape of x; NaN where the spread is 0
--- Source: definition.
function M.zscore(x, axis, opts)
  local fname = 'stats.zscore'
  local o = op.axis_options(fname, ZSCORE, axis, opts, 2)
  x = along.real(fname, x, 2)
  local d = x - F.mean(x, { axis = o.axis, keepdim = true })
  return F.divide(d, F.std(x, { axis = o.axis, keepdim = true, correction = o.correction }), { out = d })
end

local SEM = with { correction = { 1, 'number' } }

--- Standard error of the mean, std / sqrt(n).
---     mc.stats.sem(mc.tensor{1, 3})  --> f64[]@cpu 1
---@param x any f32|f64 [...]
---@param axis any option axis, alone or before the others
---@param opts table|nil axis (all) · correction (1) · keepdim
function M.sem(x, axis, opts)
  local fname = 'stats.sem'
  local o = op.axis_options(fname, SEM, axis, opts, 2)
  x = along.real(fname, x, 2)
  return F.std(x,
    { axis = o.axis, keepdim = o.keepdim, correction = o.correction }) / math.sqrt(along.count(fname, x, o.axis, 2))
end

local MAD = with { scale = { 1, "number > 0 | string" } }

--- Median absolute deviation from the median, divided by `scale`; scale = 'normal' (0.6745) estimates the deviation of
--- normal samples.
---     mc.stats.mad(mc.tensor{1, 2, 4})  --> f64[]@cpu 1
---@param x any f32|f64 [...]
---@param axis any option axis, alone or before the others
---@param opts table|nil axis (all) · keepdim · scale (1)
--- Source: The influence curve and its role in robust estimation, 1974.
function M.mad(x, axis, opts)
  local fname = 'stats.mad'
  local o = op.axis_options(fname, MAD, axis, opts, 2)
  local scale = o.scale
  if type(scale) == 'string' then
    if scale ~= 'normal' then
      error(("%s: scale is %s; give a number or 'normal'"):format(fname, check.show(scale)), 2)
    end
    scale = 0.6744897501960817
  end
  x = along.real(fname, x, 2)
  local d = F.abs(x - F.median(x, { axis = o.axis, keepdim = true }))
  local y = F.median(d, { axis = o.axis, keepdim = o.keepdim })
  return scale ~= 1 and y / scale or y
end

local IQR = with { rng = { { 0.25, 0.75 }, 'table' } }

--- Distance between two quantiles, the quartiles by default.
---     mc.stats.iqr(mc.tensor{1, 2, 3, 4, 5})  --> f64[]@cpu 2
---@param x any f32|f64 [...]
---@param axis any option axis, alone or before the others
---@param opts table|nil axis (all) · keepdim · rng: probabilities ({ 0.25, 0.75 })
function M.iqr(x, axis, opts)
  local fname = 'stats.iqr'
  local o = op.axis_options(fname, IQR, axis, opts, 2)
  x = along.real(fname, x, 2)
  local q = F.quantile(x, o.rng, { axis = o.axis, keepdim = o.keepdim })
  return q[2] - q[1]
end

-- ---------------------------------------------------------------- moments

local MOMENT = with { center = { nil, 'number' } }

--- Mean of the k-th powers of distances from the mean, or from another centre.
---     mc.stats.moment(mc.tensor{1, 2, 6}, 3)  --> f64[]@cpu 6
---@param x any f32|f64 [...]
---@param k integer order >= 0
---@param axis any option axis, alone or before the others
---@param opts table|nil axis (all) · keepdim · center (the mean)
---@return any
--- Source: definition.
function M.moment(x, k, axis, opts)
  local fname = 'stats.moment'
  check.arg(fname, 'k', k, 'integer >= 0', 2)
  local o = op.axis_options(fname, MOMENT, axis, opts, 2)
  x = along.real(fname, x, 2)
  local how = { axis = o.axis, keepdim = o.keepdim }
  if k == 2 and not o.center then return F.var(x, how) end
  local d = x - (o.center or F.mean(x, { axis = o.axis, keepdim = true }))
  local p = k == 0 and create.ones_like(d) or k == 1 and d or F.square(d)
  for _ = 3, k do p = F.multiply(p, d, { out = p }) end
  if k == 1 and not o.center then p = F.where(F.isnan(p), p, 0) end
  return F.mean(p, how)
end

-- ---------------------------------------------------------------- other means

--- Mean of what is left when a share of the smallest and the same share of the largest elements go.
---     mc.stats.trim_mean(mc.tensor{1, 2, 3, 100}, 0.25)  --> f64[]@cpu 2.5
---@param x any f32|f64 [...]
---@param share number in [0, 0.5): floor(share n) elements go at either end
---@param axis any option axis, alone or before the others
---@param opts table|nil axis (all) · keepdim
---@return any
--- Errors: a share that leaves nothing. Source: SciPy trim_mean.
function M.trim_mean(x, share, axis, opts)
  local fname = 'stats.trim_mean'
  local o = op.axis_options(fname, AXES, axis, opts, 2)
  if type(share) ~= 'number' or not (share >= 0 and share < 0.5) then
    error(('%s: share is %s; it must lie in [0, 0.5)'):format(fname, check.show(share)), 2)
  end
  x = along.real(fname, x, 2)
  local r, place = along.rows(fname, x, o.axis, 2)
  local n = place.n
  local cut = math.floor(share * n)
  if n == 0 then return along.reduced(place, F.mean(r, 2), o.keepdim) end
  local bad = F.any(F.isnan(r), 2)
  if cut > 0 then -- the order inside does not matter
    r = F.partition(r, cut, { axis = 2 })
    r = F.partition(r[{ ALL, { cut + 1, n } }], n - 2 * cut, { axis = 2 })[{ ALL, { 1, n - 2 * cut } }]
  end
  return along.reduced(place, F.where(bad, 0 / 0, F.mean(r, 2)), o.keepdim)
end

--- Geometric mean exp(mean log x).
---     mc.stats.gmean(mc.tensor{1, 4})  --> f64[]@cpu 2
---@param x any f32|f64 [...] >= 0; negative elements give NaN
---@param axis any option axis, alone or before the others
---@param opts table|nil axis (all) · keepdim
---@return any
--- Source: definition.
function M.gmean(x, axis, opts)
  local o = op.axis_options('stats.gmean', AXES, axis, opts, 2)
  return F.exp(F.mean(F.log(along.real('stats.gmean', x, 2)), { axis = o.axis, keepdim = o.keepdim }))
end

--- Harmonic mean n / sum (1 / x).
---     mc.stats.hmean(mc.tensor{1, 3})  --> f64[]@cpu 1.5
---@param x any f32|f64 [...] > 0; a zero gives 0, negative elements give NaN
---@param axis any option axis, alone or before the others
---@param opts table|nil axis (all) · keepdim
---@return any
--- Source: definition.
function M.hmean(x, axis, opts)
  local o = op.axis_options('stats.hmean', AXES, axis, opts, 2)
  x = along.real('stats.hmean', x, 2)
  return 1 / F.mean(1 / F.where(F.lt(x, 0), 0 / 0, F.abs(x)), { axis = o.axis, keepdim = o.keepdim })
end

--- Most frequent value, the smallest of them, and how often it occurs.
---     mc.stats.mode(mc.tensor{3, 1, 3, 2})  --> f64[]@cpu 3, i64[]@cpu 2
---@param x any real [...]; integers keep their dtype
---@param axis any option axis, alone or before the others
---@param opts table|nil axis (all) · keepdim
---@return any values; NaN where there is one
---@return any counts i64
--- Errors: nothing to count. Source: SciPy mode.
function M.mode(x, axis, opts)
  local fname = 'stats.mode'
  local o = op.axis_options(fname, AXES, axis, opts, 2)
  x = op.operand(fname, x, 2)
  local kind = tensor.kind[x.dtype]
  if kind == 'c' then error(('%s: samples are %s; give real numbers'):format(fname, tensor.describe(x)), 2) end
  local r, place = along.rows(fname, x, o.axis, 2)
  local n = place.n
  if n == 0 then
    error(('%s: nothing to count in %s; give it at least one element'):format(fname, tensor.describe(x)), 2)
  end
  local sorted = F.sort(r, 2)
  local at = methods.broadcast_to(create.arange(1, n, 1, { dtype = 'i64', device = r.device }), { place.m, n })
  local first = F.concat({ create.ones({ place.m, 1 }, { dtype = 'bool', device = r.device }),
    F.ne(sorted[{ ALL, { 2, n } }], sorted[{ ALL, { 1, n - 1 } }]) }, 2)
  local length = at - F.cummax(F.where(first, at, 0), 2) + 1
  local best = F.argmax(length, { 2, keepdim = true })
  local value = F.take_along_axis(sorted, best, 2)
  local count = F.take_along_axis(length, best, 2)
  if kind == 'f' then
    local nans = F.sum(methods.to(F.isnan(r), 'i64'), { 2, keepdim = true })
    count = F.where(F.gt(nans, 0), nans, count)
    value = F.where(F.gt(nans, 0), 0 / 0, value)
  end
  return along.reduced(place, methods.reshape(value, { place.m }), o.keepdim),
    along.reduced(place, methods.reshape(count, { place.m }), o.keepdim)
end

return M
