-- along.lua - tensors as rows [m, n] along chosen axes, and results back in their place.
--
-- Compositions over axes work on the last axis of a matrix; this is the way there and back.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local check = require 'mascon.core.check'
local error = check.error
local methods = tensor.methods

local M = {}

--- A real floating tensor from any operand; integers and booleans become f64.
function M.real(fname, x, level, other)
  x = op.beside(fname, x, other, level + 1)
  local kind = tensor.kind[x.dtype]
  if kind == 'c' then error(('%s: x is %s; give real numbers'):format(fname, tensor.describe(x)), level + 1) end
  return kind == 'f' and x or methods.to(x, 'f64')
end

--- Places (from 1) of the axes named: nil means all of them.
---@param axes integer|integer[]|nil
function M.axes(fname, x, axes, level)
  local set, list = {}, {}
  if axes == nil then
    for i = 1, x.ndim do set[i], list[i] = true, i end
    return list, set
  end
  for _, a in ipairs(type(axes) == 'table' and axes or { axes }) do
    local i = tensor.axis(fname, x, a, level + 1) + 1
    if set[i] then
      error(('%s: axis %d of %s is named twice; name each once'):format(fname, i, tensor.describe(x)), level + 1)
    end
    set[i] = true
  end
  for i = 1, x.ndim do if set[i] then list[#list + 1] = i end end
  return list, set
end

--- How many elements the axes hold together.
function M.count(fname, x, axes, level)
  local n = 1
  for _, i in ipairs((M.axes(fname, x, axes, level + 1))) do n = n * x.shape[i] end
  return n
end

--- x as rows [m, n], the elements of the axes last; `place` remembers where they came from.
---@return any rows
---@return table place { shape, order, kept, gone, m, n }
function M.rows(fname, x, axes, level)
  local gone, set = M.axes(fname, x, axes, level + 1)
  local place = { shape = tensor.shape_of(x), order = {}, kept = {}, gone = gone, m = 1, n = 1 }
  for i = 1, x.ndim do
    if not set[i] then
      place.kept[#place.kept + 1] = i
      place.m = place.m * place.shape[i]
    end
  end
  for _, i in ipairs(place.kept) do place.order[#place.order + 1] = i end
  for _, i in ipairs(gone) do
    place.order[#place.order + 1] = i
    place.n = place.n * place.shape[i]
  end
  local moved = x
  for i = 1, x.ndim do if place.order[i] ~= i then moved = methods.permute_dims(x, place.order) break end end
  return methods.reshape(moved, { place.m, place.n }), place
end

--- One number per row, [m] or [k, m], as the result of a reduction.
function M.reduced(place, y, keepdim)
  local s = {}
  if y.ndim == 2 then s[1] = y.shape[1] end
  local dropped = {}
  for _, i in ipairs(place.gone) do dropped[i] = true end
  for i = 1, #place.shape do
    if not dropped[i] then s[#s + 1] = place.shape[i] elseif keepdim then s[#s + 1] = 1 end
  end
  return methods.reshape(y, s)
end

--- Rows [m, n] back in the shape of x.
function M.restored(place, y)
  local s, back = {}, {}
  for i, a in ipairs(place.order) do s[i], back[a] = place.shape[a], i end
  y = methods.reshape(y, s)
  for i = 1, #back do if back[i] ~= i then return methods.contiguous(methods.permute_dims(y, back)) end end
  return y
end

return M
