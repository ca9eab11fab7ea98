-- axes.lua - the shapes that rules of reductions and scans share: reduced axes and back, pieces of one axis.
--
-- p is what transform/params.lua read: p.axes (nil: all), p.keepdim. Everything depends on shapes only, so that it
-- records.
local mc = require 'mascon.array'

local M = {}

--- A result t of a reduction of x, with the reduced axes back as size 1.
function M.back(t, x, p)
  if p.keepdim then return t end
  local shape, gone = {}, {}
  for _, a in ipairs(p.axes or {}) do gone[a] = true end
  for i = 1, x.ndim do shape[i] = (not p.axes or gone[i]) and 1 or x.shape[i] end
  return t:reshape(shape)
end

--- Options of a reduction over the same axes that keeps them with size 1.
function M.kept(x, p)
  local o = { keepdim = true }
  for i = 1, p.axes and #p.axes or x.ndim do o[i] = p.axes and p.axes[i] or i end
  return o
end

--- A reduction (mc.sum, ...) over the same axes, which stay with size 1. Without any axis there is nothing to reduce.
function M.over(f, x, p)
  local o = M.kept(x, p)
  if #o == 0 then return x end
  return f(x, o)
end

--- How many elements are reduced to one.
function M.count(x, p)
  local n = 1
  if not p.axes then return x:numel() end
  for _, a in ipairs(p.axes) do n = n * x.shape[a] end
  return n
end

--- The axis of a scan or of a sort; axis (last or first) when none was given.
function M.axis(p, default) return p.axes and p.axes[1] or default end

--- Places first..last of an axis.
function M.slab(t, axis, first, last)
  local key = {}
  for i = 1, t.ndim do key[i] = i == axis and { first, last } or mc.all end
  return t[key]
end

--- The shape of t with another size of one axis.
function M.with_size(t, axis, n)
  local shape = {}
  for i = 1, t.ndim do shape[i] = i == axis and n or t.shape[i] end
  return shape
end

--- t moved towards the end of an axis by one place (k = 1) or towards its start (k = -1); `value` comes in.
function M.shifted(t, axis, k, value)
  local n = t.shape[axis]
  if n == 0 then return t end
  local new = mc.full(M.with_size(t, axis, 1), value, { dtype = t.dtype, device = t.device })
  if n == 1 then return new end
  if k > 0 then return mc.concat({ new, M.slab(t, axis, 1, n - 1) }, axis) end
  return mc.concat({ M.slab(t, axis, 2, n), new }, axis)
end

return M
