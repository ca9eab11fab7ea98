-- bounds.lua - parameters between bounds as parameters without: the transforms, their inverse and the logarithm of the
-- Jacobian.
--
-- The sampler moves in u, the log density is a function of x. One bound: x = low + exp(u) or high - exp(u). Two: x =
-- low + (high - low) logistic(u).
-- Source: Stan Reference Manual, section Constraint transforms. Where several kinds meet in one vector every formula
-- runs on all elements, with 0 for the elements of other kinds, so that no derivative of a branch that is not taken is
-- infinite.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local tree = require 'mascon.graph.tree'
local parameters = require 'mascon.optim.parameters'
local objective = require 'mascon.optim.objective'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

---@class mascon.sample.Bounds
local Bounds = {}
Bounds.__index = Bounds

--- Bounds by name, { tau = { 0, nil } }, as two trees of the structure of start.
local function by_name(fname, bounds, start)
  local low, high = {}, {}
  for _, k in ipairs(tree.keys(bounds)) do
    if start[k] == nil then
      local near = type(k) == 'string' and check.nearest(k, start)
      error(('%s: bounds name %s, which start does not hold%s'):format(fname, tostring(k), near
        and ('; did you mean %s?'):format(near) or ''), 4)
    end
    if type(bounds[k]) ~= 'table' or is(bounds[k]) then
      error(('%s: bounds.%s is %s; give { low, high }'):format(fname, tostring(k), check.show(bounds[k])), 4)
    end
  end
  for _, k in ipairs(tree.keys(start)) do
    local pair = bounds[k] or {}
    local function side(v, open)
      if v == nil or v == tensor.none then v = open end
      if type(v) ~= 'number' then return v end
      return parameters.map(fname, 'start', start[k], function(leaf)
        return methods.fill_(tensor.empty(fname, leaf.shape, 'f64', 3), v)
      end)
    end
    low[k], high[k] = side(pair[1], -math.huge), side(pair[2], math.huge)
  end
  return { low, high }
end

local function named(bounds, start)
  if is(start) or type(start) ~= 'table' or type(bounds) ~= 'table' then return false end
  local any = false
  for k in pairs(bounds) do
    if type(k) ~= 'string' then return false end
    any = true
  end
  return any
end

--- Bounds of a flat vector of n parameters, or nil when all are free.
---@return mascon.sample.Bounds|nil
function M.new(fname, bounds, start, n, dtype)
  if bounds == nil then return nil end
  if named(bounds, start) then bounds = by_name(fname, bounds, start) end
  local low, high = objective.bounds(fname, bounds, n, dtype, function(what, v)
    local flat = parameters.vector(v)
    if not flat or flat:numel() ~= n then
      error(('%s: %s are %s for %d parameters; give as many values'):format(fname, what, is(v) and tensor.describe(v)
        or check.show(v), n), 4)
    end
    return methods.to(flat, dtype)
  end)
  if not low then return nil end
  local below, above = F.isfinite(low), F.isfinite(high)
  local equal = F.flatnonzero(F.eq(low, high))
  if equal:numel() > 0 then
    error(('%s: bounds %d are equal; leave a fixed parameter out of start'):format(fname, equal[1]:item()), 3)
  end
  local self = setmetatable({ low = F.where(below, low, 0), high = F.where(above, high, 0) }, Bounds)
  local both = F.logical_and(below, above)
  local lower, upper = F.logical_and(below, F.logical_not(above)), F.logical_and(above, F.logical_not(below))
  if not F.any(F.logical_or(below, above)) then return nil end
  self.dtype = dtype
  self.both = F.any(both) and both or nil
  self.lower = F.any(lower) and lower or nil
  self.upper = F.any(upper) and upper or nil
  self.one = (self.lower or self.upper) and F.logical_or(lower, upper) or nil
  self.width = self.both and F.where(both, F.subtract(high, low), 1) or nil
  return self
end

--- x of u, over the last axis.
function Bounds:inside(u)
  local x = u
  if self.one then
    local e = F.exp(F.where(self.one, u, 0))
    if self.lower then x = F.where(self.lower, F.add(self.low, e), x) end
    if self.upper then x = F.where(self.upper, F.subtract(self.high, e), x) end
  end
  if self.both then x = F.where(self.both, F.fma(self.width, F.logistic(F.where(self.both, u, 0)), self.low), x) end
  return x
end

--- Logarithm of the Jacobian determinant of x by u, as a 0-d tensor.
function Bounds:log_volume(u)
  local sum
  if self.one then sum = F.sum(F.where(self.one, u, 0)) end
  if self.both then -- log(width s (1 - s)), s = logistic(u)
    local size = F.abs(F.where(self.both, u, 0))
    local each = F.subtract(F.log(self.width), F.add(size, F.multiply(F.log1p(F.exp(F.negative(size))), 2)))
    local part = F.sum(F.where(self.both, each, 0))
    sum = sum and F.add(sum, part) or part
  end
  return sum
end

--- u of x. Elements outside come out NaN or infinite.
function Bounds:free(x)
  local u = x
  if self.lower then u = F.where(self.lower, F.log(F.subtract(x, self.low)), u) end
  if self.upper then u = F.where(self.upper, F.log(F.subtract(self.high, x)), u) end
  if self.both then
    u = F.where(self.both, F.log(F.divide(F.subtract(x, self.low), F.subtract(F.add(self.low, self.width), x))), u)
  end
  return u
end

--- dx/du at x.
function Bounds:slope(x)
  local s = methods.fill_(tensor.empty('sample', x.shape, x.dtype, 3), 1)
  if self.lower then s = F.where(self.lower, F.subtract(x, self.low), s) end
  if self.upper then s = F.where(self.upper, F.subtract(x, self.high), s) end
  if self.both then
    local from_low = F.subtract(x, self.low)
    s = F.where(self.both, F.divide(F.multiply(from_low, F.subtract(self.width, from_low)), self.width), s)
  end
  return s
end

return M
