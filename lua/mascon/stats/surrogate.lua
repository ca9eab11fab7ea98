-- surrogate.lua - an observed map against its surrogates.
--
-- Holds the three answers: standardised distance, empirical p-value, p-value against the maximum over the map.
-- Surrogates are one axis more than the map, the first by default. Where they come from is the workflow's business.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local methods, F = tensor.methods, op.functions
local M = {}

local TAIL = { 'greater', 'less', 'two-sided' }

--- x and s [k, map...] as floating tensors of matching shape.
local function pair(fname, x, s, axis, level)
  x, s = op.beside(fname, x, s, level + 1), op.beside(fname, s, x, level + 1)
  local a = s.ndim > 0 and tensor.axis(fname, s, axis, level + 1) + 1
  if a and a ~= 1 then s = methods.moveaxis(s, a, 1) end
  local fits = a and s.ndim == x.ndim + 1
  if fits then for i = 1, x.ndim do fits = fits and s.shape[i + 1] == x.shape[i] end end
  if not fits then
    error(('%s: map %s and surrogates %s do not match; surrogates have the shape of the map and one axis more'):format(
      fname, tensor.describe(x), tensor.describe(s)), level)
  end
  if s.shape[1] < 1 then error(('%s: surrogates are %s; there are none'):format(fname, tensor.describe(s)), level) end
  return x, s, s.shape[1]
end

local Z = { axis = { 1, 'integer' }, correction = { 0, 'number' } }

--- (x - mean of surrogates) / standard deviation of surrogates.
---@param x any f32|f64 [map...]
---@param s any [k, map...] surrogates
---@param axis any option axis, alone or before the others
---@param opts table|nil axis of s that counts surrogates (1) · correction: subtracted from k in the variance (0)
---@return table { z =, mean =, std =, n = k } each [map...]; z is NaN where the spread is 0
--- Errors: shapes, fewer than two surrogates. Source: definition.
function M.surrogate_z(x, s, axis, opts)
  local fname = 'stats.surrogate_z'
  local o = op.axis_option(fname, Z, axis, opts, 2)
  local k
  x, s, k = pair(fname, x, s, o.axis, 3)
  if k < 2 then error(fname .. ': one surrogate has no spread; give two or more', 2) end
  local mean, std = F.mean(s, 1), F.std(s, { 1, correction = o.correction })
  local z = F.where(F.gt(std, 0), (x - mean) / std, 0 / 0)
  return { z = z, mean = mean, std = std, n = k }
end

local P = { axis = { 1, 'integer' }, tail = { 'greater', TAIL } }

--- Empirical p-value (1 + #{s >= x}) / (1 + k): never 0, valid for any k.
---@param x any f32|f64 [map...]
---@param s any [k, map...]
---@param axis any option axis, alone or before the others
---@param opts table|nil axis of s that counts surrogates (1) · tail: 'greater' | 'less' | 'two-sided' (twice the
---  smaller, at most 1)
---@return any f64 [map...]; NaN where x is NaN
--- Source: Permutation p-values should never be zero, 2010.
function M.p_empirical(x, s, axis, opts)
  local fname = 'stats.p_empirical'
  local o = op.axis_option(fname, P, axis, opts, 2)
  local k
  x, s, k = pair(fname, x, s, o.axis, 3)
  local function p(compare) return methods.to(F.sum(compare(s, x), 1) + 1, 'f64') / (k + 1) end
  local y
  if o.tail == 'greater' then y = p(F.ge) elseif o.tail == 'less' then y = p(F.le)
  else y = F.minimum(F.minimum(p(F.ge), p(F.le)) * 2, 1) end
  return F.where(F.eq(x, x), y, 0 / 0)
end

local MAX = { axis = { 1, 'integer' }, tail = { 'greater', TAIL }, map_axes = { nil, 'table | integer' },
  standardise = { false, 'bool' } }

--- p-value against the distribution of the map's extreme: (1 + #{max over the map of s >= x}) / (1 + k) bounds the
--- chance of any false positive in the map, and needs no assumption about its dependence. Values are compared as they
--- are: where the spread of surrogates differs between the places of a map, the widest place decides for all.
--- standardise = true first brings each place to (value - mean)/sd of its surrogates and its observed value together,
--- so that every place has the same weight.
---@param x any f32|f64 [map...]
---@param s any [k, map...]
---@param axis any option axis, alone or before the others
---@param opts table|nil axis of s that counts surrogates (1) · tail: 'greater' | 'less' (smallest) | 'two-sided'
---  (largest |.|)
--- · map_axes: axes of x that form one family (all); others are corrected apart
--- · standardise: false
---@return any f64 [map...]
--- Source: Nonparametric permutation tests for functional neuroimaging, 2002, section "single threshold test".
function M.p_maxstat(x, s, axis, opts)
  local fname = 'stats.p_maxstat'
  local o = op.axis_option(fname, MAX, axis, opts, 2)
  local k
  x, s, k = pair(fname, x, s, o.axis, 3)
  if o.standardise then
    -- with the observed value, so that it is exchangeable with the surrogates
    local all = F.concat({ methods.expand_dims(x, 1), s }, 1)
    local mean, std = F.mean(all, { 1, keepdim = true }), F.std(all, { 1, keepdim = true })
    all = F.where(F.gt(std, 0), (all - mean) / std, all * 0)
    x, s = all[1], all[{ { 2, k + 1 } }]
  end
  if o.tail == 'two-sided' then x, s = F.abs(x), F.abs(s) end
  local axes = {}
  if o.map_axes == nil then
    for i = 1, x.ndim do axes[i] = i + 1 end
  else
    for i, a in ipairs(type(o.map_axes) == 'table' and o.map_axes or { o.map_axes }) do
      axes[i] = tensor.axis(fname, x, a, 3) + 2
    end
  end
  local reduce, compare = F.max, F.ge
  if o.tail == 'less' then reduce, compare = F.min, F.le end
  local extreme = #axes > 0 and reduce(s, { axis = axes, keepdim = true }) or s
  local count
  if o.map_axes == nil and x.ndim > 0 and o.tail ~= 'less' then
    local sorted = F.sort(methods.flatten(extreme))
    count = k - F.searchsorted(sorted, methods.to(methods.contiguous(x), sorted.dtype), { base = 0 })
  else
    count = F.sum(compare(extreme, x), 1)
  end
  return F.where(F.eq(x, x), methods.to(count + 1, 'f64') / (k + 1), 0 / 0)
end

return M
