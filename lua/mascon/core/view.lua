-- view.lua - methods that look at the same elements in another shape.
--
-- Holds reshape, permute_dims, broadcast_to, squeeze, windows and kin. Nothing here copies unless it says so.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local AXIS = { axis = true }
local C = lib.C
local methods, is = tensor.methods, tensor.is
local M = {}

local function view(level, f, t, ...)
  tensor.promote(t, level + 1)
  return tensor.make(level + 1, 0, f, t, ...)
end

local function sizes(fname, first, ...)
  if type(first) == 'table' then
    local n = #first
    local name = next(first, n > 0 and n or nil)
    if type(name) == 'string' and not (name == 'copy' and fname == 'reshape') then
      error(('%s: the list holds %s, which is no option of it'):format(fname, name), 3)
    end
    for i = 1, select('#', ...) do
      local v = select(i, ...)
      if v ~= nil then error(('%s: %s is one argument too many after a list'):format(fname, check.show(v)), 3) end
    end
    return first
  end
  if first == nil then return {} end
  return { first, ... }
end

local order_t, order_spare = ffi.typeof 'int64_t[8]', nil -- axes, counted from 0
local function permuted(t, order)
  local v = view(3, C.mc_view_permute, t, order)
  order_spare = order
  return v
end
local function list_of_axes()
  local order = order_spare
  if order then order_spare = nil else order = order_t() end
  return order
end

local RESHAPE = { copy = { nil, 'bool' } }
--- The elements in row-major order under another shape; one size may be -1. A view where strides allow, else a copy.
--- Option copy, beside the sizes or in a table after them: true always copies, false makes an error of a copy that
--- would be needed.
---     mc.arange(1, 4):reshape(2, 2)  --> f64[2,2]@cpu { { 1, 2 }, { 3, 4 } }
function methods.reshape(t, ...)
  local count, copy = select('#', ...)
  local last = count > 1 and select(count, ...)
  local s
  if count == 2 and type(last) == 'table' then s = sizes('reshape', (...)) else s = sizes('reshape', ...) end
  if type(last) == 'table' then
    copy = check.opts('reshape', last, RESHAPE, 3).copy
    if s[#s] == last then s[#s] = nil end -- x:reshape(2, 3, { copy = true })
  end
  if s.copy ~= nil then copy = check.opts('reshape', { copy = s.copy }, RESHAPE, 3).copy end
  local n, d = tensor.dims('reshape', s, 3, -1)
  local y = view(2, C.mc_view_reshape, t, n, d, copy == false and 0 or 1)
  tensor.give_dims(d)
  if copy and C.mc_shares_storage(y, t) ~= 0 then return methods.copy(y) end
  return y
end

--- The elements in row-major order along one axis: a view where strides allow.
---     mc.tensor({ { 1, 2 }, { 3, 4 } }):flatten()  --> f64[4]@cpu { 1, 2, 3, 4 }
function methods.flatten(t) return methods.reshape(t, { -1 }) end

--- Axes in another order: permute_dims(x, {2, 1}).
---     mc.zeros({ 2, 3 }):permute_dims(2, 1).shape  --> {3, 2}
function methods.permute_dims(t, ...)
  local p = sizes('permute_dims', ...)
  if #p ~= t._ndim then
    error(('permute_dims: %d axes named, %s has %d; name each once'):format(#p, tensor.describe(t), t._ndim), 2)
  end
  local order = list_of_axes()
  for i = 1, #p do order[i - 1] = tensor.axis('permute_dims', t, p[i], 3) end
  return (permuted(t, order))
end

--- Axes a and b exchanged (the last two by default).
---     mc.tensor({ { 1, 2 }, { 3, 4 } }):transpose()  --> f64[2,2]@cpu { { 1, 3 }, { 2, 4 } }
function methods.transpose(t, a, b)
  local i, j = tensor.axis('transpose', t, a or -2, 3), tensor.axis('transpose', t, b or -1, 3)
  local order = list_of_axes()
  order[0], order[1], order[2], order[3], order[4], order[5], order[6], order[7] = 0, 1, 2, 3, 4, 5, 6, 7
  order[i], order[j] = j, i
  return (permuted(t, order))
end

--- Axis `from` moves to place `to`, the others keep their order; both may be lists of axes.
---     mc.zeros({ 2, 3, 4 }):moveaxis(1, 3).shape  --> {3, 4, 2}
function methods.moveaxis(t, from, to)
  if type(from) ~= 'table' then from, to = { from }, { to } end
  if type(to) ~= 'table' or #to ~= #from then
    error(('moveaxis: %d axes go to %s; give one place for each'):format(#from,
      type(to) == 'table' and #to .. ' places' or 'one place'), 2)
  end
  local at, moved = {}, {}
  for k = 1, #from do
    local i, j = tensor.axis('moveaxis', t, from[k], 3) + 1, tensor.axis('moveaxis', t, to[k], 3) + 1
    if moved[i] or at[j] then
      error(('moveaxis: an axis of %s is named twice; name each once'):format(tensor.describe(t)), 2)
    end
    moved[i], at[j] = true, i
  end
  local p, k = {}, 0
  for j = 1, t._ndim do
    if at[j] then p[j] = at[j]
    else
      repeat k = k + 1 until not moved[k]
      p[j] = k
    end
  end
  return methods.permute_dims(t, p)
end

--- Read-only view with axes of size 1 (and new leading axes) repeated.
---     mc.tensor{1, 2}:broadcast_to(2, 2)  --> f64[2,2]@cpu { { 1, 2 }, { 1, 2 } }
function methods.broadcast_to(t, ...)
  local n, d = tensor.dims('broadcast_to', sizes('broadcast_to', ...), 3)
  local y = view(2, C.mc_view_expand, t, n, d)
  tensor.give_dims(d)
  return y
end
methods.expand = methods.broadcast_to

--- Drops an axis of size 1, or several given as a list (all of them without an argument).
---     mc.zeros({ 1, 3 }):squeeze().shape  --> {3}
function methods.squeeze(t, axis)
  local s, keep, gone = tensor.shape_of(t), {}, nil
  check.list('squeeze', axis, AXIS)
  if axis ~= nil then
    gone = {}
    for _, a in ipairs(type(axis) == 'table' and (axis.axis or axis) or { axis }) do
      local at = tensor.axis('squeeze', t, a, 3) + 1
      if s[at] ~= 1 then
        error(('squeeze: axis %d of %s has size %d; only axes of size 1 can go'):format(a, tensor.describe(t), s[at]),
          2)
      end
      gone[at] = true
    end
  end
  for i = 1, #s do if not (s[i] == 1 and (not gone or gone[i])) then keep[#keep + 1] = s[i] end end
  return methods.reshape(t, keep)
end

--- A new axis of size 1 at place `axis` of the result (default 1), or several at a list of places.
---     mc.zeros({ 3 }):expand_dims(1).shape  --> {1, 3}
function methods.expand_dims(t, axis)
  check.list('expand_dims', axis, AXIS)
  local list = type(axis) == 'table' and (type(axis.axis) == 'table' and axis.axis or axis.axis and { axis.axis }
    or axis) or { axis or 1 }
  local n, new = t._ndim + #list, {}
  for _, a in ipairs(list) do
    if type(a) ~= 'number' or a ~= math.floor(a) or a == 0 or a > n or a < -n then
      error(('expand_dims: axis %s is outside 1..%d'):format(tostring(a), n), 2)
    end
    if a < 0 then a = a + n + 1 end
    if new[a] then error(('expand_dims: place %d is named twice; name each once'):format(a), 2) end
    new[a] = true
  end
  local s, k = {}, 0
  for i = 1, n do
    if new[i] then s[i] = 1
    else s[i], k = tonumber(t._shape[k]), k + 1 end
  end
  return methods.reshape(t, s)
end
methods.unsqueeze = methods.expand_dims

--- Sliding windows of `size` every `step` samples along axis (default last): the axis counts windows, a last axis holds
--- them.
---     mc.arange(1, 4):windows(2)  --> f64[3,2]@cpu { { 1, 2 }, { 2, 3 }, { 3, 4 } }
function methods.windows(t, size, opts)
  check.arg('windows', 'size', size, 'integer >= 1', 3)
  local o = check.opts('windows', opts, { axis = { -1, 'integer' }, step = { 1, 'integer >= 1' } }, 3)
  return view(2, C.mc_view_windows, t, tensor.axis('windows', t, o.axis, 3), size, o.step)
end

--- The real part of a complex tensor as a writable view.
---     mc.tensor({ mc.complex(1, 2) }):view_real()  --> f64[1]@cpu { 1 }
function methods.view_real(t) return view(2, C.mc_view_part, t, 0) end
--- The imaginary part of a complex tensor as a writable view.
---     mc.tensor({ mc.complex(1, 2) }):view_imag()  --> f64[1]@cpu { 2 }
function methods.view_imag(t) return view(2, C.mc_view_part, t, 1) end

--- Reversed along one axis or several (all of them without an argument): a view.
---     mc.arange(1, 3):flip()  --> f64[3]@cpu { 3, 2, 1 }
function methods.flip(t, axes)
  check.list('flip', axes, AXIS)
  local mark = {}
  if type(axes) == 'table' and axes.axis ~= nil then
    axes = check.opts('flip', axes, { axis = { nil, 'any' } }, 3).axis
  end
  if axes == nil then for i = 1, t._ndim do mark[i] = true end end
  for _, a in ipairs(type(axes) == 'table' and axes or { axes }) do mark[tensor.axis('flip', t, a, 3) + 1] = true end
  local key = {}
  for i = 1, t._ndim do key[i] = mark[i] and { -1, 1, -1 } or M.all end
  if t._ndim == 0 then return t end
  return t[key]
end

--- The elements [..., k, k + offset] of two axes (default the last two) as a last axis: a view.
---@param x any [..., n, m]
---@param opts? table offset (0; above the main diagonal when positive) · axis1 (-2) · axis2 (-1)
---@return any [..., d]
--- Errors: fewer than two axes, the same axis twice. Source: Python array API standard, linalg.diagonal.
---     mc.tensor({ { 1, 2 }, { 3, 4 } }):diagonal()  --> f64[2]@cpu { 1, 4 }
function methods.diagonal(t, opts)
  local o =
    check.opts('diagonal', opts, { offset = { 0, 'integer' }, axis1 = { -2, 'integer' }, axis2 = { -1, 'integer' } }, 3)
  if t._ndim < 2 then error(('diagonal: operand is %s; it needs at least two axes'):format(tensor.describe(t)), 2) end
  local first, second = tensor.axis('diagonal', t, o.axis1, 3), tensor.axis('diagonal', t, o.axis2, 3)
  if first == second then
    error(('diagonal: axes %d and %d of %s are the same; name two'):format(o.axis1, o.axis2, tensor.describe(t)), 2)
  end
  return view(2, C.mc_view_diagonal, t, first, second, o.offset)
end

M.is = is
return M
