-- sets.lua - the distinct values of a tensor: unique_all, unique_counts, unique_inverse, unique_values.
--
-- Sorting is an op, the runs of equal neighbours are another (group_runs); here they are put together. Values come
-- out in ascending order, complex numbers by real, then imaginary part; every NaN counts as a value of its own and -0
-- equals 0, as the array API asks.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local F, methods, error = op.functions, tensor.methods, check.error

local M = {}

local BASE, NONE = { base = { 1, 'integer >= 0' } }, {}

--- The elements in a row, and the base of positions that come out.
local function flat(fname, x, opts, positions)
  local base = check.opts(fname, opts, positions and BASE or NONE, 4).base
  if base and base > 1 then error(('%s: base is %d; give 0 or 1'):format(fname, base), 3) end
  return methods.flatten(op.operand(fname, x, 3)), base
end

--- Positions that group_runs counts from 1.
local function based(positions, base) return base == 0 and positions - 1 or positions end

--- Positions (from 1) that sort a row of any dtype, equal elements in their order.
local function order(row)
  if tensor.kind[row.dtype] ~= 'c' then return F.argsort(row, { stable = true }) end
  local by_imag = F.argsort(F.imag(row), { stable = true })
  return F.take(by_imag, F.argsort(F.take(F.real(row), by_imag), { stable = true }))
end

--- Sorted row, and what group_runs makes of it with the positions.
local function groups(row)
  local perm = order(row)
  local sorted = F.take(row, perm)
  local g = op.raw('group_runs', { sorted, perm }, {}, 4)
  return F.take(row, g[3]), g
end

--- Distinct elements of a tensor of any shape, with where and how often they occur.
--- x: any dtype, any shape; NaN are all different, -0 equals 0. Option base: 1 (default) or 0, from which positions
--- count.
--- Result: a table { values [u], indices i64 [u], inverse_indices i64 x.shape, counts i64 [u] }: values ascending,
--- indices of their first occurrence in the flattened x (from 1), positions in values that rebuild x, and how often
--- each occurs.
--- Source: Python array API standard 2023.12
---     mc.unique_all(mc.tensor{3, 1, 3}).values:totable()[2]  --> 3
---     mc.unique_all(mc.tensor{3, 1, 3}).counts  --> i64[2]@cpu { 1, 2 }
---@param x any
---@return table
function M.unique_all(x, opts)
  local row, base = flat('unique_all', x, opts, true)
  local values, g = groups(row)
  return { values = values, indices = based(g[3], base),
    inverse_indices = methods.reshape(based(g[4], base), tensor.shape_of(op.operand('unique_all', x, 2))),
    counts = g[2] }
end

--- Distinct elements and how often each occurs.
--- x: any dtype, any shape; NaN are all different, -0 equals 0.
--- Result: values [u] ascending, counts i64 [u]: two results.
--- Source: Python array API standard 2023.12
---     select(2, mc.unique_counts(mc.tensor{3, 1, 3}))  --> i64[2]@cpu { 1, 2 }
---@param x any
---@return any values
---@return any counts
function M.unique_counts(x, opts)
  local row = flat('unique_counts', x, opts)
  local sorted = tensor.kind[row.dtype] == 'c' and F.take(row, order(row)) or F.sort(row)
  local g = op.raw('group_runs', { sorted }, {}, 2)
  return F.take(sorted, g[1]), g[2]
end

--- Distinct elements and the positions in them (from 1) that rebuild x.
--- x: any dtype, any shape; NaN are all different, -0 equals 0. Option base: 1 (default) or 0, from which positions
--- count.
--- Result: values [u] ascending, inverse_indices i64 x.shape: two results, with values[inverse_indices] equal to x.
--- Source: Python array API standard 2023.12
---     select(2, mc.unique_inverse(mc.tensor{3, 1, 3}))  --> i64[3]@cpu { 2, 1, 2 }
---@param x any
---@return any values
---@return any inverse_indices
function M.unique_inverse(x, opts)
  local row, base = flat('unique_inverse', x, opts, true)
  local values, g = groups(row)
  return values, methods.reshape(based(g[4], base), tensor.shape_of(op.operand('unique_inverse', x, 2)))
end

--- Distinct elements, ascending.
--- x: any dtype, any shape; NaN are all different, -0 equals 0.
--- Result: values [u].
--- Source: Python array API standard 2023.12
---     mc.unique_values(mc.tensor{3, 1, 3})  --> f64[2]@cpu { 1, 3 }
---@param x any
---@return any
function M.unique_values(x, opts)
  check.opts('unique_values', opts, NONE, 3)
  return (M.unique_counts(x))
end

return M
