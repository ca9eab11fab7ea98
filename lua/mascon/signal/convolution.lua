-- convolution.lua - convolution and correlation of vectors in NumPy's conventions.
--
-- Integers are summed exactly as inner products with sliding windows; floats go through mc.signal, which chooses
-- between the recursion and transforms by cost. Holds the modes: parts of the full result.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local contract = require 'mascon.array.contract'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local function whole(t)
  local k = tensor.kind[t.dtype]
  return k ~= 'f' and k ~= 'c'
end

local MODES = { 'full', 'same', 'valid' }

local function part(y, n, k, mode)
  if mode == 'full' then return y end
  local long, short = math.max(n, k), math.min(n, k)
  local first = mode == 'valid' and short or math.floor((short - 1) / 2) + 1
  local count = mode == 'valid' and long - short + 1 or long
  return methods.contiguous(y[{ { first, first + count - 1 } }])
end

local function operands(fname, a, v)
  a, v = op.beside(fname, a, v, 3), op.beside(fname, v, a, 3)
  if a.ndim == 0 then a = methods.reshape(a, { 1 }) end
  if v.ndim == 0 then v = methods.reshape(v, { 1 }) end
  if a.ndim ~= 1 or v.ndim ~= 1 or a:numel() == 0 or v:numel() == 0 then
    error(('%s: operands are %s and %s; give vectors with at least one entry, or use signal.convolve'):format(fname,
      tensor.describe(a), tensor.describe(v)), 3)
  end
  return a, v
end

-- Operands up to this product of lengths are summed directly: transforms cost about 10 ns a sample with their set-up,
-- the lanes of an inner product 0.1 ns a term (measured on a Zen 3, f64)
local SHORT = 64

local function full(a, v)
  if whole(a) and whole(v) then return contract.convolve(a, v) end
  local complex = tensor.kind[a.dtype] == 'c' or tensor.kind[v.dtype] == 'c'
  if not complex and math.min(a:numel(), v:numel()) <= SHORT then return contract.convolve(a, v) end
  return require('mascon.signal.fourier').convolve(a, v)
end

--- Convolution of vectors: r[t] = sum_k a[k] v[t - k], counted from 0.
---@param a any [n]; two whole operands give i64, exactly
---@param v any [k]
---@param mode? string 'full' [n + k - 1] (default) · 'same' [max(n, k)], centred · 'valid' [|n - k| + 1], where they
---  overlap fully
--- Errors: operands that are empty or no vectors. Source: NumPy convolve.
---     mc.convolve({ 1, 2, 3 }, { 0, 1, 0.5 })  --> f64[5]@cpu { 0.0000, 1.0000, 2.5000, 4.0000, 1.5000 }
function M.convolve(a, v, mode)
  local o = check.opts('convolve', type(mode) == 'table' and mode or { mode = mode }, { mode = { 'full', MODES } }, 3)
  a, v = operands('convolve', a, v)
  return part(full(a, v), a:numel(), v:numel(), o.mode)
end

--- Correlation of vectors: r[t] = sum_k a[t + k] conj(v[k]), counted from 0.
---@param a any [n]; two whole operands give i64, exactly
---@param v any [k]
---@param mode? string 'valid' [|n - k| + 1] (default) · 'same' · 'full', from lag 1 - k
--- Errors: operands that are empty or no vectors. Source: NumPy correlate.
---     mc.correlate({ 1, 2, 3 }, { 0, 1, 0.5 })  --> f64[1]@cpu { 3.5000 }
function M.correlate(a, v, mode)
  local o = check.opts('correlate', type(mode) == 'table' and mode or { mode = mode }, { mode = { 'valid', MODES } }, 3)
  a, v = operands('correlate', a, v)
  local turned = methods.flip(v)
  if tensor.kind[v.dtype] == 'c' then turned = F.conj(turned) end
  local n, k = a:numel(), v:numel()
  local y = full(a, turned)
  if o.mode == 'same' and n < k and n % 2 == 0 then -- NumPy centres on the longer operand, seen from its side
    local first = math.floor(n / 2) + 1
    return methods.contiguous(y[{ { first, first + k - 1 } }])
  end
  return part(y, n, k, o.mode)
end

return M
