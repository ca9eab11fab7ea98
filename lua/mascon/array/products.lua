-- products.lua - products of tensors beyond matmul: inner, outer, over named axes, Kronecker, cross.
--
-- Holds the names; sums over several axes are lowered by contract.lua to one matrix product, sums along one axis by the
-- op vecdot.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local into = require 'mascon.core.into'
local op = require 'mascon.core.op'
local contract = require 'mascon.array.contract'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local OUT = { out = { nil, 'tensor' } }
local AXIS = { axis = { -1, 'integer' }, out = { nil, 'tensor' } }

--- Both operands as tensors; plain numbers take the dtype of the other.
local function pair(fname, a, b)
  return op.beside(fname, a, b, 3), op.beside(fname, b, a, 3)
end

--- x:vecdot(y, axis): the sum of conj(x) y along one axis, the others broadcast: s[...] = sum_k conj(x[..., k]) y[...,
--- k].
---@param x any [..., n], any dtype
---@param y any [..., n]
---@param axis? integer of both operands after broadcasting (-1) · opts: out
---@return any [...]; integers and booleans give i64
--- Errors: sizes on the axis differ. Source: Python array API standard 2023.12, vecdot; f32 is accumulated in f64.
---     mc.vecdot(mc.tensor{ { 1, 2 }, { 3, 4 } }, mc.tensor{ 1, 10 })  --> f64[2]@cpu { 21, 43 }
function M.vecdot(x, y, axis, opts)
  local o = op.axis_option('vecdot', AXIS, axis, opts, 3)
  x, y = pair('vecdot', x, y)
  local n = math.max(x.ndim, y.ndim)
  local a = o.axis
  if type(a) ~= 'number' or a ~= math.floor(a) or a == 0 or a > n or a < -n then
    error(('vecdot: axis %s is outside the operands %s and %s; axes run from 1 to %d, or -1 backwards'):format(
      check.show(a), tensor.describe(x), tensor.describe(y), n), 2)
  end
  return contract.along('vecdot', x, y, a > 0 and a - n - 1 or a, false, o)
end

--- The product of vectors and matrices as NumPy counts it: two vectors give their inner product, a number multiplies,
--- else the last axis of a is summed with the last but one (the only one) of b. No conjugate.
---@param a any [..., k]
---@param b any [..., k, n] or [k]
---@param opts? table out (1-D operands)
--- Errors: the summed sizes differ. Source: NumPy dot.
---     mc.dot(mc.tensor{ 1, 2, 3 }, mc.tensor{ 4, 5, 6 })  --> f64[]@cpu 32
function M.dot(a, b, opts)
  local o = check.opts('dot', opts, OUT, 3)
  a, b = pair('dot', a, b)
  if a.ndim == 0 or b.ndim == 0 then return F.multiply(a, b, o.out and o or nil) end
  if a.ndim == 1 and b.ndim == 1 then return contract.along('dot', a, b, -1, true, o) end
  local r = contract.axes('dot', a, b, { a.ndim }, { math.max(1, b.ndim - 1) })
  return o.out and into.copied('dot', o.out, r) or r
end

--- The inner product of all elements, the first operand conjugated: sum conj(a) b over the flattened tensors.
---@param a any n elements in any shape
---@param b any n elements
---@return any [] integers give i64
--- Errors: numbers of elements differ. Source: NumPy vdot.
---     mc.vdot(mc.tensor{ mc.complex(0, 1) }, mc.tensor{ mc.complex(0, 1) })  --> c128[]@cpu 1+0i
function M.vdot(a, b, opts)
  local o = check.opts('vdot', opts, OUT, 3)
  a, b = pair('vdot', a, b)
  if a:numel() ~= b:numel() then
    error(('vdot: operands are %s and %s; give the same number of elements'):format(tensor.describe(a),
      tensor.describe(b)), 2)
  end
  return contract.along('vdot', methods.flatten(a), methods.flatten(b), -1, false, o)
end

--- The sum of products over the last axis of both: r[i..., j...] = sum_k a[i..., k] b[j..., k]; numbers multiply.
---@param a any [..., k]
---@param b any [..., k]
--- Errors: last sizes differ. Source: NumPy inner.
---     mc.inner(mc.tensor{ { 1, 2 }, { 3, 4 } }, mc.tensor{ 1, 1 })  --> f64[2]@cpu { 3, 7 }
function M.inner(a, b)
  a, b = pair('inner', a, b)
  if a.ndim == 0 or b.ndim == 0 then return F.multiply(a, b) end
  return contract.axes('inner', a, b, { a.ndim }, { b.ndim })
end

--- All products of an element of a with one of b, both flattened: r[i, j] = a[i] b[j].
---@param a any n elements
---@param b any m elements
---@param opts? table out: [n, m]
---@return any [n, m]
--- Source: Python array API standard 2023.12, linalg.outer; operands of more axes are flattened as in NumPy.
---     mc.outer(mc.tensor{ 1, 2 }, mc.tensor{ 3, 4 }):totable()[2][1]  --> 6
function M.outer(a, b, opts)
  local o = check.opts('outer', opts, OUT, 3)
  a, b = pair('outer', a, b)
  return F.multiply(methods.reshape(a, { tonumber(a._numel), 1 }), methods.reshape(b, { 1, tonumber(b._numel) }),
    o.out and o or nil)
end

--- The sum of products over chosen axes: the axes of the result are those left of a, then those left of b.
---@param a any
---@param b any
---@param axes? integer|table how many: the last of a with the first of b (2); or { axes of a, axes of b }, each a
---  number or a list
--- Errors: paired sizes differ, an axis named twice. Source: Python array API standard 2023.12, tensordot.
---     mc.tensordot(mc.ones{ 2, 3 }, mc.ones{ 2, 3 }, { { 1, 2 }, { 1, 2 } })  --> f64[]@cpu 6
function M.tensordot(a, b, axes)
  a, b = pair('tensordot', a, b)
  if type(axes) == 'table' and axes.axes ~= nil then axes = axes.axes end
  if axes == nil then axes = 2 end
  local la, lb = {}, {}
  if type(axes) == 'number' then
    check.arg('tensordot', 'axes', axes, 'integer >= 0', 3)
    if axes > a.ndim or axes > b.ndim then
      error(('tensordot: %d axes are summed, operands are %s and %s; give fewer'):format(axes, tensor.describe(a),
        tensor.describe(b)), 2)
    end
    for k = 1, axes do la[k], lb[k] = a.ndim - axes + k, k end
  elseif type(axes) == 'table' and axes[2] ~= nil then
    local function list(t, v)
      local out, seen = {}, {}
      for k, x in ipairs(type(v) == 'table' and v or { v }) do
        out[k] = tensor.axis('tensordot', t, x, 5) + 1
        if seen[out[k]] then
          error(('tensordot: axis %d of %s is named twice; name each once'):format(x, tensor.describe(t)), 4)
        end
        seen[out[k]] = true
      end
      return out
    end
    la, lb = list(a, axes[1]), list(b, axes[2])
    if #la ~= #lb then
      error(('tensordot: %d axes of %s are paired with %d of %s; give the same number'):format(#la, tensor.describe(a),
        #lb, tensor.describe(b)), 2)
    end
  else
    error(('tensordot: axes are %s; give a number or { axes of a, axes of b }'):format(check.show(axes)), 2)
  end
  return contract.axes('tensordot', a, b, la, lb)
end

-- Rows below this many elements cost more to start than to multiply (a row starts in about 50 ns, measured on a Zen 3)
local SHORT_ROW = 256
-- results below this many elements are made in less time than long rows take to arrange
local FEW = 1024

--- The general way: axes of both in turn, multiplied with broadcasting.
local function kron_axes(a, b)
  local n = math.max(a.ndim, b.ndim)
  if n > 4 then
    error(('kron: operands are %s and %s; at most 4 axes'):format(tensor.describe(a), tensor.describe(b)), 3)
  end
  local sa, sb, out = {}, {}, {}
  for i = 1, n do
    local x, y = a.shape[i - n + a.ndim] or 1, b.shape[i - n + b.ndim] or 1
    sa[2 * i - 1], sa[2 * i], sb[2 * i - 1], sb[2 * i], out[i] = x, 1, 1, y, x * y
  end
  a, b = methods.reshape(a, sa), methods.reshape(b, sb)
  local m, q = sa[2 * n - 1] or 1, sb[2 * n] or 1
  if n > 0 and m > 1 and q > 1 and q < SHORT_ROW then
    -- rows of m q elements instead of m rows of q: both spread over them first
    local wa, wb = { unpack(sa) }, { unpack(sb) }
    wa[2 * n], wb[2 * n - 1] = q, m
    local function merged(t, w)
      local s = { unpack(w, 1, 2 * n - 2) }
      s[2 * n - 1] = m * q
      return methods.reshape(methods.broadcast_to(t, w), s)
    end
    a, b = merged(a, wa), merged(b, wb)
  end
  return tensor.reshaped(F.multiply(a, b), out)
end

--- The Kronecker product: r[i p + k, j q + l] = a[i, j] b[k, l] (counted from 0), for any number of axes up to four.
---@param a any up to 4 axes; missing leading axes count as 1
---@param b any
--- Errors: more than 4 axes. Source: NumPy kron.
---     mc.kron(mc.tensor{ 1, 10 }, mc.tensor{ 1, 2, 3 })  --> f64[6]@cpu { 1, 2, 3, 10, 20, 30 }
function M.kron(a, b)
  a, b = pair('kron', a, b)
  if a._ndim == 2 and b._ndim == 2 then
    local p, q, r, s = tonumber(a._shape[0]), tonumber(a._shape[1]), tonumber(b._shape[0]), tonumber(b._shape[1])
    if p * q * r * s <= FEW then
      return tensor.reshaped(F.multiply(methods.reshape(a, { p, 1, q, 1 }), methods.reshape(b, { 1, r, 1, s })),
        { p * r, q * s })
    end
  end
  return (kron_axes(a, b))
end

local KERNEL = { f32 = true, f64 = true } -- dtypes in which a loop does it in one pass
local CROSS = op.rows.cross_product.id
local function call_cross(out, x, y) return lib.op_pair(CROSS, out, x, y, nil) end

--- The vector product of [..., 3] and [..., 3] as operations on the three components, each product over neighbours in
--- memory.
local function apart(x, y)
  local function components(t) return methods.contiguous(methods.moveaxis(t, -1, 1)) end
  local dtype = x.dtype == y.dtype and x.dtype or tensor.promote_dtypes(x.dtype, y.dtype)
  x, y = components(x), rawequal(x, y) and components(x) or components(y)
  local shape = F.broadcast_shapes({ unpack(x.shape, 2) }, { unpack(y.shape, 2) })
  local parts = tensor.empty('cross', { 3, unpack(shape) }, dtype, 2, x._device)
  local spare = tensor.empty('cross', shape, dtype, 2, x._device)
  for k = 1, 3 do
    local p, q = k % 3 + 1, (k + 1) % 3 + 1
    local part = parts[k]
    F.multiply(x[p], y[q], { out = part })
    F.multiply(x[q], y[p], { out = spare })
    F.subtract(part, spare, { out = part })
  end
  return methods.contiguous(methods.moveaxis(parts, 1, -1))
end

--- The vector product in space: c = a x b over an axis of size 3, the other axes broadcast.
---@param a any [..., 3]
---@param b any [..., 3]
---@param axis? integer (-1), counted on each operand
---@return any broadcast shape
--- Errors: a size other than 3 on the axis. Source: Python array API standard 2023.12, linalg.cross.
---     mc.cross(mc.tensor{ 1, 0, 0 }, mc.tensor{ 0, 1, 0 })  --> f64[3]@cpu { 0, 0, 1 }
function M.cross(a, b, axis, opts)
  local o = op.axis_option('cross', { axis = { -1, 'integer' } }, axis, opts, 3)
  a, b = pair('cross', a, b)
  local function last(t)
    local k = tensor.axis('cross', t, o.axis, 4) + 1
    if t.shape[k] ~= 3 then
      error(('cross: operands are %s and %s; the axis must have size 3'):format(tensor.describe(a), tensor.describe(b)),
        3)
    end
    return k == t.ndim and t or methods.moveaxis(t, k, -1)
  end
  local x, y = last(a), last(b)
  local out
  if x.dtype == y.dtype and KERNEL[x.dtype] and not tensor.recorded(x) and not tensor.recorded(y) then
    out = op.run('cross', 3, nil, 1024, call_cross, x, y)
  else
    out = apart(x, y)
  end
  local k = o.axis > 0 and o.axis or o.axis + out.ndim + 1
  return k == out.ndim and out or methods.contiguous(methods.moveaxis(out, -1, k))
end

return M
