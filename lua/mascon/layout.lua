-- layout.lua - padding, differences, grids: shapes built from views, concat and take.
--
-- Owns the pad modes. Every result is new memory.
local tensor = require 'mascon.tensor'
local check = require 'mascon.check'
local error = check.error
local op = require 'mascon.op'
local index = require 'mascon.index'
local methods, F = tensor.methods, op.functions
local M = {}

local PAD = { mode = { 'constant', { 'constant', 'edge', 'reflect', 'symmetric', 'wrap', 'odd_reflect' } }, value = { 0, 'number' } }

--- The slice first..last (1-based, step) of one axis.
local function slice(t, axis, first, last, step)
  local key = {}
  for i = 1, t.ndim do key[i] = i == axis and { first, last, step or 1 } or index.all end
  return t[key]
end

--- Pads each axis by {before, after}: pad(x, {{1, 2}, {0, 0}}), pad(x, {1, 2}) for a 1-D tensor, pad(x, n) for all.
--- mode: constant (value), edge, reflect (without the edge), symmetric (with it), wrap, odd_reflect (2 edge - reflect).
---     mc.pad(mc.tensor{1, 2}, { { 1, 2 } })  --> f64[5]@cpu { 0, 1, 2, 0, 0 }
function M.pad(x, width, opts)
  x = op.operand('pad', x, 2)
  local o = check.opts('pad', opts, PAD, 3)
  local n = x.ndim
  local w = {}
  if type(width) == 'number' then for i = 1, n do w[i] = { width, width } end
  elseif type(width) == 'table' and type(width[1]) == 'number' and n == 1 then w[1] = width
  elseif type(width) == 'table' and #width == n then
    for i = 1, n do w[i] = type(width[i]) == 'number' and { width[i], width[i] } or width[i] end
  else error(('pad: widths do not fit %s; give {before, after} for each axis'):format(tensor.describe(x)), 2) end
  for axis = 1, n do
    local a, b, size = w[axis][1], w[axis][2], x.shape[axis]
    for _, v in ipairs { a, b } do check.arg('pad', 'width', v, 'integer >= 0', 3) end
    local most = o.mode == 'reflect' and size - 1 or o.mode == 'odd_reflect' and size - 1 or (o.mode == 'symmetric' or o.mode == 'wrap') and size or math.huge
    if o.mode == 'edge' and size == 0 then most = 0 end
    if a > most or b > most then error(('pad: width %d is more than %s can give on axis %d of %s'):format(math.max(a, b), o.mode, axis, tensor.describe(x)), 2) end
    if a > 0 or b > 0 then
      local parts = {}
      local function part(before, k)
        if k == 0 then return end
        local p
        if o.mode == 'constant' then
          local s = {}
          for i = 1, n do s[i] = i == axis and k or x.shape[i] end
          p = tensor.empty('pad', s, x.dtype, 4):fill_(o.value)
        elseif o.mode == 'edge' then
          local s = {}
          for i = 1, n do s[i] = i == axis and k or x.shape[i] end
          p = methods.broadcast_to(before and slice(x, axis, 1, 1) or slice(x, axis, -1, -1), s)
        elseif o.mode == 'wrap' then p = before and slice(x, axis, size - k + 1, size) or slice(x, axis, 1, k)
        elseif o.mode == 'symmetric' then p = before and slice(x, axis, k, 1, -1) or slice(x, axis, size, size - k + 1, -1)
        else p = before and slice(x, axis, k + 1, 2, -1) or slice(x, axis, size - 1, size - k, -1) end
        if o.mode == 'odd_reflect' then p = 2 * (before and slice(x, axis, 1, 1) or slice(x, axis, -1, -1)) - p end
        return p
      end
      parts[1] = part(true, a)
      parts[#parts + 1] = x
      parts[#parts + 1] = part(false, b)
      x = F.concat(parts, axis)
    end
  end
  return x
end
methods.pad = M.pad

--- Differences of neighbours along an axis (default last).
---     mc.diff(mc.tensor{1, 4, 9})  --> f64[2]@cpu { 3, 5 }
function M.diff(x, axis)
  x = op.operand('diff', x, 2)
  local a = tensor.axis('diff', x, axis or -1, 3) + 1
  if x.shape[a] < 1 then return x end
  return slice(x, a, 2, -1) - slice(x, a, 1, -2)
end
methods.diff = M.diff

--- Grids of coordinates, "ij" order.
---     mc.meshgrid(mc.arange(1, 2), mc.arange(1, 3))  --> f64[2,3]@cpu { { 1, 1, 1 }, { 2, 2, 2 } }, f64[2,3]@cpu { { 1, 2, 3 }, { 1, 2, 3 } }
function M.meshgrid(...)
  local out, axes = {}, { ... }
  local s = {}
  for i, v in ipairs(axes) do s[i] = op.operand('meshgrid', v, 2):numel() end
  for i, v in ipairs(axes) do
    local one = {}
    for k = 1, #axes do one[k] = k == i and s[i] or 1 end
    out[i] = methods.broadcast_to(methods.reshape(v, one), s)
  end
  return unpack(out)
end

--- A 2-D tensor's diagonal as a view; a vector gives the square matrix with it.
---     mc.diag(mc.tensor{1, 2})  --> f64[2,2]@cpu { { 1, 0 }, { 0, 2 } }
function M.diag(x)
  x = op.operand('diag', x, 2)
  if x.ndim == 1 then
    local n = x.shape[1]
    local out = tensor.empty('diag', { n, n }, x.dtype, 2):fill_(0)
    for i = 1, n do out[{ i, i }] = x[i] end
    return out
  end
  local n = math.min(x.shape[1], x.shape[2])
  local flat = methods.reshape(methods.contiguous(x), { -1 })
  return flat[{ { 1, (n - 1) * (x.shape[2] + 1) + 1, x.shape[2] + 1 } }]
end

return M
