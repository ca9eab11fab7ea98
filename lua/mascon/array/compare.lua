-- compare.lua - comparisons with a tolerance, of whole tensors, and with sets of values; what stands in for NaN.
--
-- Holds the tolerances' defaults.
local C = require('mascon.core.ffi').C
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local F, methods = op.functions, tensor.methods
local M = {}

local CLOSE = { rtol = { 1e-5, 'number >= 0' }, atol = { 1e-8, 'number >= 0' }, equal_nan = { false, 'bool' } }

local function floating(x)
  local k = tensor.kind[x.dtype]
  return k == 'f' or k == 'c'
end

local function close(fname, a, b, opts)
  local o = check.opts(fname, opts, CLOSE, 4)
  a, b = op.beside(fname, a, b, 3), op.beside(fname, b, a, 3)
  if a._device ~= b._device and b._flags == 256 then
    b = tensor.moved(methods.to(b, floating(a) and a.dtype or 'f64'), a._device, 4)
  end
  if tensor.kind[a.dtype] == 'b' or tensor.kind[a.dtype] == 'u' then a = methods.to(a, 'i64') end
  if tensor.kind[b.dtype] == 'b' or tensor.kind[b.dtype] == 'u' then b = methods.to(b, 'i64') end
  local near = F.le(F.abs(a - b), F.abs(b) * o.rtol + o.atol)
  if floating(b) then near = F.logical_and(near, F.isfinite(b)) end
  near = F.logical_or(near, F.eq(a, b))
  if o.equal_nan and floating(a) and floating(b) then
    near = F.logical_or(near, F.logical_and(F.isnan(a), F.isnan(b)))
  end
  return near
end

--- |a - b| <= atol + rtol |b|, elementwise; infinities are close to themselves only.
---@param a any [...]
---@param b any [...] the reference; broadcasts with a
---@param opts table|nil rtol (1e-5) · atol (1e-8) · equal_nan: NaN is close to NaN (false)
---@return any bool
--- Source: NumPy isclose.
---     mc.isclose(mc.tensor{1, 1.1}, 1)  --> bool[2]@cpu { true, false }
function M.isclose(a, b, opts) return (close('isclose', a, b, opts)) end

--- Whether all elements are close, as isclose has it: a Lua boolean.
---@param a any [...]
---@param b any [...]
---@param opts table|nil as isclose
---@return boolean
---     mc.allclose(mc.tensor{1, 2}, mc.tensor{1, 2 + 1e-9})  --> true
function M.allclose(a, b, opts) return F.all(close('allclose', a, b, opts)) end

--- Same shape and all elements equal: a Lua boolean.
---@param a any [...]
---@param b any [...]
---@param opts table|nil equal_nan: NaN equals NaN (false)
---@return boolean
---     mc.array_equal(mc.tensor{1, 2}, mc.tensor{1, 3})  --> false
function M.array_equal(a, b, opts)
  local o = check.opts('array_equal', opts, { equal_nan = { false, 'bool' } }, 3)
  a, b = op.beside('array_equal', a, b, 2), op.beside('array_equal', b, a, 2)
  if a.shape ~= b.shape then return false end
  local same = F.eq(a, b)
  if o.equal_nan and floating(a) and floating(b) then
    same = F.logical_or(same, F.logical_and(F.isnan(a), F.isnan(b)))
  end
  return F.all(same)
end

local WIDE, EXACT = 16, 2 ^ 52 -- entries of a table for each member of a set; whole numbers that stay exact

--- Whether whole numbers are in a set whose values lie close together: one look into a table for each. nil where that
--- does not serve.
local function in_table(x, set, n)
  local kx, ks = tensor.kind[x.dtype], tensor.kind[set.dtype]
  if C.mc_record_traced(set) ~= 0 or (kx ~= 'i' and kx ~= 'u') or (ks ~= 'i' and ks ~= 'u') then return nil end
  local low, high = F.min(set):item(), F.max(set):item()
  if type(low) ~= 'number' or type(high) ~= 'number' or low < -EXACT or high > EXACT
    or high - low > WIDE * n + 1024 then
    return nil
  end
  -- an entry at both ends for what lies outside
  local there = create.zeros({ high - low + 3 }, { dtype = 'bool', device = set.device })
  there[F.subtract(methods.to(set, 'i64'), low - 2)] = true
  return there[F.subtract(F.clip(methods.to(x, 'i64'), low - 1, high + 1), low - 2)]
end

--- Which elements of x are among the values of a set; NaN never is.
---@param x any real [...]
---@param set any real [...]
---@param opts table|nil invert: which are not (false)
---@return any bool, shape of x
--- Source: Python array API standard 2025.12.
---     mc.isin(mc.tensor{1, 2, 3}, mc.tensor{3, 1})  --> bool[3]@cpu { true, false, true }
function M.isin(x, set, opts)
  local o = check.opts('isin', opts, { invert = { false, 'bool' } }, 3)
  x = op.operand('isin', x, 2)
  set = methods.flatten(op.beside('isin', set, x, 2, true))
  local n = set:numel()
  local found
  if n == 0 then
    found = create.zeros(tensor.shape_of(x), { dtype = 'bool', device = x.device })
  else
    found = in_table(x, set, n)
    if not found then
      local sorted = F.sort(set)
      local at = F.searchsorted(sorted, x)
      found = F.eq(F.take(sorted, F.minimum(at, n)), x)
    end
  end
  return o.invert and F.logical_not(found) or found
end

local NUMBERS = { nan = { 0, 'number' }, posinf = { nil, 'number' }, neginf = { nil, 'number' } }
local LARGEST = { f16 = 65504, bf16 = 3.3895313892515355e38, f32 = 3.4028234663852886e38, f64 = 1.7976931348623157e308 }

--- NaN and infinities replaced by numbers; complex numbers part by part.
---@param x any [...]; integers come back as they are
---@param opts table|nil nan (0) · posinf, neginf (the largest and the lowest number of the dtype)
---@return any a copy of x
--- Source: NumPy nan_to_num.
---     mc.nan_to_num(mc.tensor{1, mc.nan, -mc.inf}, { neginf = -9 })  --> f64[3]@cpu {  1,  0, -9 }
function M.nan_to_num(x, opts)
  local o = check.opts('nan_to_num', opts, NUMBERS, 3)
  x = op.operand('nan_to_num', x, 2)
  local kind = tensor.kind[x.dtype]
  if kind == 'c' then
    local y = methods.copy(x)
    for _, part in ipairs { 'view_real', 'view_imag' } do
      local v = methods[part](y)
      methods.copy_(v, M.nan_to_num(v, opts))
    end
    return y
  end
  if kind ~= 'f' then return methods.copy(x) end
  local most = LARGEST[x.dtype]
  local y = F.where(F.isnan(x), o.nan, x)
  return F.where(F.eq(x, math.huge), o.posinf or most, F.where(F.eq(x, -math.huge), o.neginf or -most, y))
end

return M
