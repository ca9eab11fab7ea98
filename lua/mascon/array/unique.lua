-- unique.lua - distinct slices along an axis, and runs of equal neighbours.
--
-- The distinct elements of a whole tensor stand in sets.lua. Slices are ordered column by column, which stops as soon
-- as all are told apart. Positions count from 1.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local ALL = require 'mascon.core.index'.all
local F, methods = op.functions, tensor.methods
local M = {}

local SPEC = { axis = { nil, 'integer' } }

--- x as slices [k, rest], and a function that gives rows [u, rest] their shape again.
local function slices(fname, x, axis, level)
  if axis == nil then
    x = methods.flatten(x)
    return methods.reshape(x, { x:numel(), 1 }), function(y) return methods.reshape(y, { y.shape[1] }) end
  end
  local a = tensor.axis(fname, x, axis, level + 1) + 1
  local moved = a == 1 and x or methods.moveaxis(x, a, 1)
  local shape, rest = tensor.shape_of(moved), 1
  for i = 2, #shape do rest = rest * shape[i] end
  return methods.contiguous(methods.reshape(moved, { shape[1], rest })), function(y)
    local s = { y.shape[1] }
    for i = 2, #shape do s[i] = shape[i] end
    y = methods.reshape(y, s)
    return a == 1 and y or methods.contiguous(methods.moveaxis(y, 1, a))
  end
end

--- 1 where row i of [k, rest] differs from row i - 1, and in front: i64 [k]
local function begins(rows)
  local k = rows.shape[1]
  local step = F.any(F.ne(rows[{ { 2, k } }], rows[{ { 1, k - 1 } }]), 2)
  return F.concat { create.ones({ 1 }, { dtype = 'i64', device = rows.device }), methods.to(step, 'i64') }
end

--- Positions that order the rows of [k, rest] by their columns, equal rows in their order.
local function order_of(rows)
  local k, rest = rows.shape[1], rows.shape[2]
  local kind = tensor.kind[rows.dtype]
  local columns = kind == 'c' and { F.real(rows), F.imag(rows) } or { rows }
  local group, order = nil, nil
  for j = 1, rest do
    for _, part in ipairs(columns) do
      local column = methods.contiguous(part[{ ALL, j }])
      order = F.argsort(column)
      if group then order = F.take(order, F.argsort(F.take(group, order))) end
      local sorted = methods.reshape(F.take(column, order), { k, 1 })
      local step = begins(sorted)
      if group then
        local g = methods.reshape(F.take(group, order), { k, 1 })
        step = F.maximum(step, begins(g))
      end
      local number = F.cumsum(step, 1)
      if number[k]:item() == k then return order end
      group = F.put_along_axis(number, order, number, 1)
    end
  end
  return order
end

--- Distinct slices of x along an axis in ascending order (column by column), where they first stand and how often.
---@param x any [...]; NaN are all different, -0 equals 0, complex numbers go by real, then imaginary part
---@param opts table|nil axis: slices along it are compared (elements of the flattened x)
---@return table { values: shape of x with u in place of the axis, indices i64 [u]: first positions, inverse_indices i64
--- [k]: values taken there give x again, counts i64 [u] }
--- Errors: x without axes of its own along the one named. Source: NumPy unique; for whole tensors the Python array API
--- standard's unique_all.
---     mc.unique(mc.tensor{{2, 1}, {0, 5}, {2, 1}}, { axis = 1 }).values  --> f64[2,2]@cpu { { 0, 5 }, { 2, 1 } }
---     mc.unique(mc.tensor{3, 1, 3}).counts  --> i64[2]@cpu { 1, 2 }
function M.unique(x, opts)
  local fname = 'unique'
  local o = check.opts(fname, opts, SPEC, 3)
  x = op.operand(fname, x, 2)
  local rows, back = slices(fname, x, o.axis, 2)
  local k = rows.shape[1]
  if k == 0 then
    local none = create.zeros({ 0 }, { dtype = 'i64' })
    return { values = back(rows), indices = none, inverse_indices = methods.copy(none), counts = methods.copy(none) }
  end
  if rows.shape[2] == 0 then
    error(('%s: slices of %s along axis %d are empty; there is nothing to compare'):format(fname,
      tensor.describe(x), o.axis), 2)
  end
  local order = order_of(rows)
  local sorted = F.take(rows, order, 1)
  local step = begins(sorted)
  local number = F.cumsum(step, 1)
  local first = F.nonzero_flat(step)
  local indices = F.take(order, first)
  return {
    values = back(F.take(rows, indices, 1)), indices = indices,
    inverse_indices = F.put_along_axis(number, order, number, 1),
    counts = F.bincount(number - 1, { minlength = first:numel() }),
  }
end

--- Runs of equal neighbours, each kept once.
---@param x any [...]
---@param opts table|nil axis: slices along it are compared (elements of the flattened x)
---@return table { values, inverse_indices i64 [k]: the run of each slice, counts i64 [u]: lengths of runs }
--- Source: PyTorch unique_consecutive.
---     mc.unique_consecutive(mc.tensor{1, 1, 2, 1}).values  --> f64[3]@cpu { 1, 2, 1 }
function M.unique_consecutive(x, opts)
  local fname = 'unique_consecutive'
  local o = check.opts(fname, opts, SPEC, 3)
  x = op.operand(fname, x, 2)
  local rows, back = slices(fname, x, o.axis, 2)
  if rows.shape[1] == 0 then
    local none = create.zeros({ 0 }, { dtype = 'i64' })
    return { values = back(rows), inverse_indices = none, counts = methods.copy(none) }
  end
  local step = begins(rows)
  local first, number = F.nonzero_flat(step), F.cumsum(step, 1)
  return { values = back(F.take(rows, first, 1)), inverse_indices = number, counts = F.bincount(number - 1) }
end

return M
