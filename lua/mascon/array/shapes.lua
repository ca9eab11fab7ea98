-- shapes.lua - axes exchanged and turned, windows over several axes, places of non-zero elements.
--
-- Views where the name says no more than another look at the same elements.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

--- Two axes exchanged: a view.
---@param x any
---@param a integer
---@param b integer
--- Source: NumPy swapaxes.
---     mc.swapaxes(mc.zeros{ 2, 3, 4 }, 1, 3).shape[1]  --> 4
function M.swapaxes(x, a, b)
  x = op.operand('swapaxes', x, 2)
  local i, j = tensor.axis('swapaxes', x, a, 3) + 1, tensor.axis('swapaxes', x, b, 3) + 1
  local p = {}
  for k = 1, x.ndim do p[k] = k end
  p[i], p[j] = j, i
  return methods.permute_dims(x, p)
end

--- The elements [..., k, k + offset] of two axes (default the last two) as a last axis: a view.
---@param x any [..., n, m]
---@param opts? table offset (0; above the main diagonal when positive) · axis1 (-2) · axis2 (-1)
---@return any [..., d]
--- Errors: fewer than two axes, the same axis twice. Source: Python array API standard 2023.12, linalg.diagonal.
---     mc.diagonal(mc.tensor{ { 1, 2, 3 }, { 4, 5, 6 } }, { offset = 1 })  --> f64[2]@cpu { 2, 6 }
function M.diagonal(x, opts) return methods.diagonal(op.operand('diagonal', x, 2), opts) end

local TRACE = { offset = { 0, 'integer' }, axis1 = { -2, 'integer' }, axis2 = { -1, 'integer' },
  dtype = { nil, 'string' } }
--- The sum of a diagonal.
---@param x any [..., n, m]
---@param opts? table offset, axis1, axis2 as diagonal · dtype of the sum
---@return any [...]; integers give i64
--- Errors: as diagonal. Source: Python array API standard 2023.12, linalg.trace.
---     mc.trace(mc.tensor{ { 1, 2 }, { 3, 4 } })  --> f64[]@cpu 5
function M.trace(x, opts)
  local o = check.opts('trace', opts, TRACE, 3)
  local d = M.diagonal(x, { offset = o.offset, axis1 = o.axis1, axis2 = o.axis2 })
  return F.sum(d, -1, { dtype = o.dtype })
end

local ROT = { axes = { nil, 'table' }, k = { 1, 'integer' } }
--- A quarter turn k times in the plane of two axes, from the first towards the second: a view.
---@param x any
---@param k? integer (1); negative turns back
---@param opts? table axes: two of them ({ 1, 2 })
--- Errors: fewer than two axes, the same axis twice. Source: NumPy rot90.
---     mc.rot90(mc.tensor{ { 1, 2 }, { 3, 4 } }):totable()[1][1]  --> 2
function M.rot90(x, k, opts)
  x = op.operand('rot90', x, 2)
  if type(k) == 'table' then k, opts = nil, k end
  local o = check.opts('rot90', opts, ROT, 3)
  if k == nil then k = o.k end
  check.arg('rot90', 'k', k, 'integer', 3)
  if x.ndim < 2 then error(('rot90: operand is %s; it needs at least two axes'):format(tensor.describe(x)), 2) end
  local axes = o.axes or { 1, 2 }
  if #axes ~= 2 then error(('rot90: %d axes are named; give two'):format(#axes), 2) end
  local i, j = tensor.axis('rot90', x, axes[1], 3) + 1, tensor.axis('rot90', x, axes[2], 3) + 1
  if i == j then
    error(('rot90: axes %d and %d of %s are the same; name two'):format(axes[1], axes[2], tensor.describe(x)), 2)
  end
  k = k % 4
  if k == 0 then return x end
  if k == 2 then return methods.flip(x, { i, j }) end
  local t = M.swapaxes(x, i, j)
  return methods.flip(t, k == 1 and i or j)
end

local BASE = { base = { 1, { 0, 1 } } }
--- Positions of the non-zero elements, one row for each: [count, axes].
---@param x any
---@param opts? table base (1)
---@return any i64 [count, axes], row by row
--- Source: NumPy argwhere.
---     mc.argwhere(mc.tensor{ { 0, 1 }, { 1, 0 } })[1]  --> i64[2]@cpu { 1, 2 }
function M.argwhere(x, opts)
  local o = check.opts('argwhere', opts, BASE, 3)
  x = op.operand('argwhere', x, 2)
  if x.ndim == 0 then
    local n = (x:item() ~= 0 and x:item() ~= false) and 1 or 0
    return tensor.empty('argwhere', { n, 0 }, 'i64', 2)
  end
  local t = F.stack({ methods.nonzero(x) }, 2)
  return o.base == 0 and t - 1 or t
end

--- Positions of the non-zero elements in the flattened tensor.
---@param x any
---@param opts? table base (1)
---@return any i64 [count]
--- Source: NumPy flatnonzero.
---     mc.flatnonzero(mc.tensor{ { 0, 1 }, { 1, 0 } })  --> i64[2]@cpu { 2, 3 }
function M.flatnonzero(x, opts)
  local o = check.opts('flatnonzero', opts, BASE, 3)
  return F.nonzero_flat(op.operand('flatnonzero', x, 2), { base = o.base })
end

local WINDOW = { axis = { nil, 'integer | table' }, step = { 1, 'integer | table' } }
--- Windows sliding over one or several axes: read-only views. Windowed axes count windows; the elements of a window
--- follow as last axes.
---@param x any
---@param size integer|table samples of a window on each windowed axis
---@param opts? table axis: an axis or a list (with one size: the last; with several: all) · step: between windows, a
---  number or a list (1)
---@return any x's axes, then one for each size
--- Errors: a window longer than its axis, more than 8 axes. Source: NumPy sliding_window_view, with steps.
---     mc.sliding_window_view(mc.arange(4), 3)[2]  --> f64[3]@cpu { 2, 3, 4 }
function M.sliding_window_view(x, size, opts)
  x = op.operand('sliding_window_view', x, 2)
  local o = check.opts('sliding_window_view', opts, WINDOW, 3)
  check.list('sliding_window_view', size)
  local sizes = type(size) == 'table' and size or { size }
  local axes = o.axis
  if type(axes) == 'number' then axes = { axes } end
  if not axes then
    axes = {}
    if #sizes == 1 then axes[1] = -1 elseif #sizes == x.ndim then for i = 1, x.ndim do axes[i] = i end end
  end
  if #axes ~= #sizes then
    error(('sliding_window_view: %d sizes for %d axes of %s; give one size for each axis named by axis'):format(#sizes,
      #axes, tensor.describe(x)), 2)
  end
  local rank = x.ndim
  for k, n in ipairs(sizes) do
    check.arg('sliding_window_view', 'size', n, 'integer >= 1', 3)
    local a = tensor.axis('sliding_window_view', x, axes[k] < 0 and axes[k] + rank + 1 or axes[k], 3) + 1
    local step = type(o.step) == 'table' and o.step[k] or o.step
    check.arg('sliding_window_view', 'step', step, 'integer >= 1', 3)
    x = methods.windows(x, n, { axis = a, step = step })
  end
  return x
end

return M
