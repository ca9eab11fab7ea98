-- rank.lua - ranks, correlation, t tests.
--
-- Holds tie rules and the p-values of correlation coefficients. Samples run along one axis, the last by default.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local along = require 'mascon.array.along'
local distributions = require 'mascon.stats.distributions'
local index = require 'mascon.core.index'
local methods, F = tensor.methods, op.functions
local ALL = index.all
local M = {}

local TIES = { 'average', 'min', 'max', 'dense', 'ordinal' }
local RANK = { axis = { nil, 'integer' }, method = { 'average', TIES } }

--- Ranks along the rows of r [m, n], f64; rows with NaN become NaN.
local function rank_rows(r, method)
  local n = r.shape[2]
  local order = F.argsort(r, -1)
  local sorted = F.take_along_axis(r, order, -1)
  local place = methods.broadcast_to(create.arange(1, n, 1, { device = r.device }), r.shape)
  local rank
  if method == 'ordinal' or n < 2 then
    rank = place
  else
    local step = F.ne(sorted[{ ALL, { 2, n } }], sorted[{ ALL, { 1, n - 1 } }])
    local edge = methods.broadcast_to(create.ones({ 1, 1 }, { dtype = 'bool', device = r.device }), { r.shape[1], 1 })
    local first, last = F.concat({ edge, step }, 2), F.concat({ step, edge }, 2)
    if method == 'dense' then
      rank = F.cumsum(methods.to(first, 'f64'), -1)
    else
      local low = method ~= 'max' and F.cummax(F.where(first, place, 0), -1)
      local high = method ~= 'min' and F.cummin(F.where(last, place, n), -1, { reverse = true })
      rank = low and high and (low + high) * 0.5 or low or high
    end
  end
  local y = F.put_along_axis(methods.to(r, 'f64'), order, rank, -1)
  local bad = F.any(F.isnan(r), { axis = -1, keepdim = true })
  return F.where(bad, 0 / 0, y)
end

--- Ranks from 1 along an axis; ties share their average, their smallest or largest rank, count once (dense) or keep
--- their order (ordinal).
---@param x any f32|f64 [...]; integers become f64
---@param axis any option axis, alone or before the others
---@param opts table|nil axis: ranked apart along it (everything together, shape kept) · method ('average')
---@return any f64, shape of x; NaN where its row holds a NaN
--- Source: definition; names as SciPy 1.17 rankdata.
---     mc.stats.rankdata(mc.tensor{10, 30, 10})  --> f64[3]@cpu { 1.5000, 3.0000, 1.5000 }
function M.rankdata(x, axis, opts)
  local fname = 'stats.rankdata'
  local o = op.axis_option(fname, RANK, axis, opts, 2)
  x = along.real(fname, x, 2)
  if x:numel() == 0 then return methods.to(methods.copy(x), 'f64') end
  local rows, place = along.rows(fname, x, o.axis, 2)
  return along.restored(place, rank_rows(rows, o.method))
end

-- ---------------------------------------------------------------- correlation

local PAIR = { axis = { -1, 'integer' } }

--- x and y broadcast to each other, samples last, and their number.
local function pair(fname, x, y, axis, least, level)
  x, y = along.real(fname, x, level, y), along.real(fname, y, level, x)
  if x.ndim == 0 or y.ndim == 0 then
    error(('%s: samples are %s and %s; give at least one axis'):format(fname, tensor.describe(x), tensor.describe(y)),
      level + 1)
  end
  local a, b = tensor.axis(fname, x, axis, level + 2), tensor.axis(fname, y, axis, level + 2)
  x, y = methods.moveaxis(x, a + 1, -1), methods.moveaxis(y, b + 1, -1)
  local n = x.shape[x.ndim]
  if y.shape[y.ndim] ~= n then
    error(('%s: samples are %s and %s; their numbers differ'):format(fname, tensor.describe(x), tensor.describe(y)),
      level + 1)
  end
  if n < least then
    error(('%s: samples are %s; give at least %d'):format(fname, tensor.describe(x), least), level + 1)
  end
  return x, y, n
end

local function correlation(x, y, n)
  local dx, dy = x - F.mean(x, { -1, keepdim = true }), y - F.mean(y, { -1, keepdim = true })
  -- scaled first, so that squares neither overflow nor vanish
  local function unit(d) return d / F.sqrt(F.sum(F.square(d), { -1, keepdim = true })) end
  local function scaled(d) return d / F.max(F.abs(d), { -1, keepdim = true }) end
  local r = F.sum(unit(scaled(dx)) * unit(scaled(dy)), -1)
  r = F.where(F.isnan(r), r, F.clip(r, -1, 1))
  local p
  if n == 2 then
    p = r * 0 + 1
  else
    p = F.betainc((n - 2) / 2, 0.5, (1 - F.abs(r)) * (1 + F.abs(r)))
  end
  return { statistic = r, pvalue = p }
end

--- Pearson's correlation coefficient and the p-value of its distance from 0, two-sided, for normal samples.
---     mc.stats.pearsonr(mc.tensor{1, 2, 3}, mc.tensor{2, 4, 6}).statistic  --> f64[]@cpu 1
---@param x any f32|f64 [..., n]
---@param y any [..., n]; other axes broadcast
---@param axis any option axis, alone or before the others
---@param opts table|nil axis of the samples (last)
---@return table { statistic = r, pvalue = } of the other axes; NaN where a sample has no spread
--- Errors: fewer than two samples, different numbers. Source: Student, Probable error of a correlation coefficient,
--- 1908; p = I_{1 - r^2}((n - 2)/2, 1/2).
function M.pearsonr(x, y, axis, opts)
  local fname = 'stats.pearsonr'
  local o = op.axis_option(fname, PAIR, axis, opts, 2)
  local n
  x, y, n = pair(fname, x, y, o.axis, 2, 2)
  return correlation(x, y, n)
end

--- Spearman's rank correlation: Pearson's of the average ranks; p-value from t with n - 2 degrees of freedom (good for
--- n > 10 or so). Arguments and result as pearsonr. Source: The advanced theory of statistics, 1973, section 31.18.
function M.spearmanr(x, y, axis, opts)
  local fname = 'stats.spearmanr'
  local o = op.axis_option(fname, PAIR, axis, opts, 2)
  local n
  x, y, n = pair(fname, x, y, o.axis, 2, 2)
  return correlation(M.rankdata(x, { axis = -1 }), M.rankdata(y, { axis = -1 }), n)
end

-- ---------------------------------------------------------------- t tests

local function two_sided(t, df)
  return { statistic = t, pvalue = F.minimum(distributions.t_sf(F.abs(t), df) * 2, 1), df = df }
end

--- Whether the mean of samples differs from `mean`, two-sided.
---@param x any f32|f64 [..., n]
---@param mean number|any
---@param axis any option axis, alone or before the others
---@param opts table|nil axis of the samples (last)
---@return table { statistic = t, pvalue =, df = n - 1 }
--- Source: Student, The probable error of a mean, 1908.
function M.ttest_1samp(x, mean, axis, opts)
  local fname = 'stats.ttest_1samp'
  local o = op.axis_option(fname, PAIR, axis, opts, 2)
  x = along.real(fname, x, 2)
  if x.ndim == 0 then error(('%s: samples are %s; give at least one axis'):format(fname, tensor.describe(x)), 2) end
  local n = x.shape[tensor.axis(fname, x, o.axis, 3) + 1]
  if n < 2 then error(('%s: samples are %s; give at least 2'):format(fname, tensor.describe(x)), 2) end
  local t = (F.mean(x, o.axis) - mean) / (F.std(x, { o.axis, correction = 1 }) / math.sqrt(n))
  return two_sided(t, n - 1)
end

--- Whether the mean of paired differences is 0. Arguments as pearsonr, result as ttest_1samp.
function M.ttest_rel(x, y, axis, opts)
  local fname = 'stats.ttest_rel'
  local o = op.axis_option(fname, PAIR, axis, opts, 2)
  x, y = pair(fname, x, y, o.axis, 2, 2)
  return M.ttest_1samp(x - y, 0)
end

local IND = { axis = { -1, 'integer' }, equal_var = { true, 'bool' } }

--- Whether two samples have different means, two-sided; equal_var = false does not assume equal variances (Welch).
---@param x any f32|f64 [..., n]
---@param y any [..., m]
---@param axis any option axis, alone or before the others
---@param opts table|nil axis of the samples (last) · equal_var (true)
---@return table { statistic = t, pvalue =, df = }
--- Source: Student, 1908; Welch, The generalization of Student's problem, 1947.
function M.ttest_ind(x, y, axis, opts)
  local fname = 'stats.ttest_ind'
  local o = op.axis_option(fname, IND, axis, opts, 2)
  x, y = along.real(fname, x, 2, y), along.real(fname, y, 2, x)
  if x.ndim == 0 or y.ndim == 0 then
    error(('%s: samples are %s and %s; give at least one axis'):format(fname, tensor.describe(x), tensor.describe(y)),
      2)
  end
  local n, m = x.shape[tensor.axis(fname, x, o.axis, 3) + 1], y.shape[tensor.axis(fname, y, o.axis, 3) + 1]
  if n < 2 or m < 2 then
    error(('%s: samples are %s and %s; give at least 2 each'):format(fname, tensor.describe(x), tensor.describe(y)), 2)
  end
  local vx, vy = F.var(x, { o.axis, correction = 1 }), F.var(y, { o.axis, correction = 1 })
  local d = F.mean(x, o.axis) - F.mean(y, o.axis)
  if o.equal_var then
    local pooled = (vx * (n - 1) + vy * (m - 1)) / (n + m - 2)
    return two_sided(d / F.sqrt(pooled * (1 / n + 1 / m)), n + m - 2)
  end
  local a, b = vx / n, vy / m
  local df = F.square(a + b) / (F.square(a) / (n - 1) + F.square(b) / (m - 1))
  return two_sided(d / F.sqrt(a + b), df)
end

return M
