-- chain.lua - the chain rule of elementwise ops: rules made of derivatives.
--
-- A derivative is a function d(y, a, b, c) of the result and the operands. What comes back is multiplied with it so
-- that a cotangent of zero gives zero whatever the derivative is: a branch that was not taken (where, maximum, clip)
-- sends no NaN through log, sqrt or a division on its way. Operands without axes take the dtype of the result first, so
-- that a number given as f64 does not lift all that is computed from it. Holds that convention.
local mc = require 'mascon.array'

local M = {}

--- Whether a tensor holds complex numbers.
function M.is_complex(t) return t.dtype:sub(1, 1) == 'c' end

--- The conjugate; real tensors as they are.
function M.conj(t) return M.is_complex(t) and mc.conj(t) or t end

--- The cotangent g through a derivative d: conj(d) g, 0 where g is 0.
function M.times(g, d) return mc.multiply_no_nan(M.conj(d), g) end

--- The operands of a call as derivatives take them; numbers beside a result on a device are brought there, since what
--- is made of them is none any more.
---@param x table operands
---@param y any result
---@return table
function M.operands(x, y)
  local out = {}
  for i, t in ipairs(x) do
    if t._device ~= y._device then
      out[i] = mc.ones({}, { dtype = M.is_complex(t) and t.dtype or y.dtype, device = y.device }) * t
    else
      out[i] = t.ndim == 0 and y.ndim > 0 and t.dtype ~= y.dtype and not M.is_complex(t) and t:to(y.dtype) or t
    end
  end
  return out
end

--- where(t == v, other, t): a number that keeps what follows finite where it is not used.
function M.but(t, v, other) return mc.where(mc.eq(t, v), other, t) end

return M
