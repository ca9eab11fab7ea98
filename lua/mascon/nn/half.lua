-- half.lua - f16 and bf16 in functions that sum squares, exponentials or many terms.
--
-- Squares of numbers above 255 do not fit f16, and sums of many lose digits in both. Such functions compute in f32 and
-- round their result once. Holds the way there and back.
local dtypes = require 'mascon.core.dtypes'
local tensor = require 'mascon.core.tensor'
local methods = tensor.methods
local M = {}

local HALF = { f16 = true, bf16 = true }

--- The dtype of results of these tensors (nil stands for one that is absent), or nil when it is none of 16 bits.
function M.result(a, b, c)
  if not (HALF[a.dtype] or (b and HALF[b.dtype]) or (c and HALF[c.dtype])) then return nil end
  local dtype = a.dtype
  if b then dtype = dtypes.result_type(dtype, b.dtype) end
  if c then dtype = dtypes.result_type(dtype, c.dtype) end
  return HALF[dtype] and dtype or nil
end

--- A tensor of 16 bits as f32; anything else as it is.
function M.wide(t)
  if tensor.is(t) and HALF[t.dtype] then return methods.to(t, 'f32') end
  return t
end

--- A result in the dtype of M.result.
function M.narrow(t, dtype)
  if dtype then return methods.to(t, dtype) end
  return t
end

return M
