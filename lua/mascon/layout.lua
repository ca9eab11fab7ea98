-- layout.lua - repeating, tiling, comparison as a whole: shapes built from views, concat and take.
--
-- Every result is new memory.
local tensor = require 'mascon.tensor'
local check = require 'mascon.check'
local op = require 'mascon.op'
local index = require 'mascon.index'
local methods, F = tensor.methods, op.functions
local M = {}

--- The slice first..last (1-based, step) of one axis.
local function slice(t, axis, first, last, step)
  local key = {}
  for i = 1, t.ndim do key[i] = i == axis and { first, last, step or 1 } or index.all end
  return t[key]
end

--- Each element k times along an axis (flattened without one).
---     mc.repeat_each(mc.tensor{1, 2}, 2)  --> f64[4]@cpu { 1, 1, 2, 2 }
function M.repeat_each(x, k, axis)
  x = op.operand('repeat_each', x, 2)
  check.arg('repeat_each', 'k', k, 'integer >= 0', 3)
  if axis == nil then x, axis = methods.flatten(x), 1 end
  local a = tensor.axis('repeat_each', x, axis, 3) + 1
  local s = x.shape
  local wide, out = {}, {}
  for i = 1, #s do
    wide[#wide + 1] = s[i]
    if i == a then wide[#wide + 1] = k end
    out[i] = i == a and s[i] * k or s[i]
  end
  return methods.reshape(methods.copy(methods.broadcast_to(methods.expand_dims(x, a + 1), wide)), out)
end
methods.repeat_each = M.repeat_each

--- The whole tensor repeated reps[i] times along each axis.
---     mc.tile(mc.tensor{1, 2}, { 2 })  --> f64[4]@cpu { 1, 2, 1, 2 }
function M.tile(x, reps)
  x = op.operand('tile', x, 2)
  if type(reps) == 'number' then reps = { reps } end
  while x.ndim < #reps do x = methods.expand_dims(x, 1) end
  local pad = x.ndim - #reps
  for i, r in ipairs(reps) do
    check.arg('tile', 'reps', r, 'integer >= 0', 3)
    local list = {}
    for k = 1, r do list[k] = x end
    if r == 0 then x = slice(x, pad + i, 1, 0) elseif r > 1 then x = F.concat(list, pad + i) end
  end
  return x
end
methods.tile = M.tile

--- allclose(a, b): |a - b| <= atol + rtol |b| everywhere; NaN equal NaN on request. A Lua boolean.
---     mc.allclose(mc.tensor{1, 2}, mc.tensor{1, 2 + 1e-9})  --> true
function M.allclose(a, b, opts)
  local o = check.opts('allclose', opts, { rtol = { 1e-5, 'number >= 0' }, atol = { 1e-8, 'number >= 0' }, equal_nan = { false, 'bool' } }, 3)
  a, b = op.operand('allclose', a, 2), op.operand('allclose', b, 2)
  local near = F.le(F.abs(a - b), F.abs(b) * o.rtol + o.atol)
  near = F.logical_or(near, F.eq(a, b))
  local k = tensor.kind[a.dtype]
  if o.equal_nan and (k == 'f' or k == 'c') then near = F.logical_or(near, F.logical_and(F.isnan(a), F.isnan(b))) end
  return F.all(near)
end

--- Same shape and all elements equal. A Lua boolean.
---     mc.array_equal(mc.tensor{1, 2}, mc.tensor{1, 3})  --> false
function M.array_equal(a, b)
  a, b = op.operand('array_equal', a, 2), op.operand('array_equal', b, 2)
  return a.shape == b.shape and F.all(F.eq(a, b))
end

return M
