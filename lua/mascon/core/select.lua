-- select.lua - positions of elements by their value.
--
-- Thin Lua over the rows of the op table.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local F, methods = op.functions, tensor.methods
local M = {}

--- Positions (1-based, i64) of non-zero elements: one tensor per axis.
---     mc.nonzero(mc.tensor{0, 3, 0, 5})  --> i64[2]@cpu { 2, 4 }
function M.nonzero(x)
  x = op.operand('nonzero', x, 2)
  if x.ndim == 1 then return F.nonzero_flat(x) end
  local rest = F.nonzero_flat(x, { base = 0 })
  local out = {}
  for i = x.ndim, 2, -1 do
    local n = x.shape[i]
    out[i] = F.remainder(rest, n) + 1
    rest = F.floor_divide(rest, n)
  end
  if x.ndim > 0 then out[1] = rest + 1 end
  return unpack(out, 1, x.ndim)
end
methods.nonzero = M.nonzero

return M
