-- multiple.lua - p-values corrected for many tests.
--
-- Holds the step-up and step-down rules. Results are adjusted p-values: compare them with the level wanted.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local methods, F = tensor.methods, op.functions
local M = {}

local OPTS = { axis = { nil, 'integer' } }

--- Applies rule(sorted rows, n) to the tests of an axis (all of them without one) and puts results back in place.
local function adjust(fname, p, axis, opts, rule)
  local o = op.axis_option(fname, OPTS, axis, opts, 3)
  p = op.operand(fname, p, 3)
  local kind = tensor.kind[p.dtype]
  if kind == 'c' or kind == 'b' then
    error(('%s: p-values are %s; give real numbers'):format(fname, tensor.describe(p)), 3)
  end
  if kind ~= 'f' then p = methods.to(p, 'f64') end
  if p:numel() == 0 then return methods.copy(p) end
  if not op.certain(F.logical_and(F.ge(p, 0), F.le(p, 1))) then
    error(fname .. ': a p-value is outside [0, 1] or NaN; leave such tests out', 3)
  end
  local shape = p.shape
  local a, moved
  if o.axis ~= nil then
    a = tensor.axis(fname, p, o.axis, 4) + 1
    moved = methods.moveaxis(p, a, -1)
  else
    moved = methods.flatten(p)
  end
  local inner = moved.shape
  local n = inner[#inner]
  local r = methods.reshape(moved, { -1, n })
  local order = F.argsort(r, -1)
  local sorted = F.take_along_axis(r, order, -1)
  local adjusted = F.minimum(rule(sorted, n), 1)
  local y = methods.reshape(F.put_along_axis(r, order, adjusted, -1), inner)
  if a then return methods.contiguous(methods.moveaxis(y, -1, a)) end
  return methods.reshape(y, shape)
end

local function step_up(extra)
  return function(sorted, n)
    local weight = methods.to((n * extra(n)) / create.arange(1, n, { device = sorted.device }), sorted.dtype)
    return F.cummin(sorted * weight, -1, { reverse = true })
  end
end
local function one() return 1 end
local function harmonic(n)
  local s = 0
  for k = n, 1, -1 do s = s + 1 / k end
  return s
end

--- p-values adjusted so that q <= level bounds the false discovery rate, for independent or positively dependent tests.
---     mc.stats.fdr_bh(mc.tensor{0.01, 0.04, 0.03})  --> f64[3]@cpu { 0.0300, 0.0400, 0.0400 }
---@param p any f32|f64 [...] in [0, 1]
---@param axis any option axis, alone or before the others
---@param opts table|nil axis: tests of this axis form a family (all tests are one)
---@return any shape of p
--- Errors: values outside [0, 1], NaN. Source: Controlling the false discovery rate, 1995.
function M.fdr_bh(p, axis, opts) return (adjust('stats.fdr_bh', p, axis, opts, step_up(one))) end

--- The same under any dependence: larger by 1 + 1/2 + ... + 1/n.
--- Source: The control of the false discovery rate in multiple testing under dependency, 2001.
function M.fdr_by(p, axis, opts) return (adjust('stats.fdr_by', p, axis, opts, step_up(harmonic))) end

--- p n, at most 1: bounds the chance of any false positive. Source: Bonferroni's inequality.
---     mc.stats.bonferroni(mc.tensor{0.01, 0.6})  --> f64[2]@cpu { 0.0200, 1.0000 }
function M.bonferroni(p, axis, opts)
  return (adjust('stats.bonferroni', p, axis, opts, function(sorted, n) return sorted * n end))
end

--- The step-down refinement of bonferroni: never larger. Source: Holm, A simple sequentially rejective multiple test
--- procedure, 1979.
---     mc.stats.holm(mc.tensor{0.01, 0.04})  --> f64[2]@cpu { 0.0200, 0.0400 }
function M.holm(p, axis, opts)
  return (adjust('stats.holm', p, axis, opts, function(sorted, n)
    return F.cummax(sorted * methods.to(create.arange(n, 1, -1, { device = sorted.device }), sorted.dtype), -1)
  end))
end

return M
