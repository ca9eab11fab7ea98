-- select.lua - positions of elements by their value.
--
-- Thin Lua over the rows of the op table.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local F, methods, error = op.functions, tensor.methods, check.error
local M = {}

local BASE = { base = { 1, 'integer >= 0' } }

--- Positions of non-zero elements: i64, one tensor for each axis. Option base: 1 (default), or 0 for positions that
--- count from 0.
--- Errors: a 0-d tensor, which has no axes.
---     mc.nonzero(mc.tensor{0, 3, 0, 5})  --> i64[2]@cpu { 2, 4 }
---     mc.nonzero(mc.tensor{0, 3, 0, 5}, { base = 0 })  --> i64[2]@cpu { 1, 3 }
function M.nonzero(x, opts)
  local base = check.opts('nonzero', opts, BASE, 3).base
  if base > 1 then error(('nonzero: base is %d; give 0 or 1'):format(base), 2) end
  x = op.operand('nonzero', x, 2)
  if x.ndim == 0 then
    error(('nonzero: operand is %s and has no axes; compare it, or take x:reshape(1)'):format(tensor.describe(x)), 2)
  end
  if x.ndim == 1 then return F.nonzero_flat(x, { base = base }) end
  local rest = F.nonzero_flat(x, { base = 0 })
  local out = {}
  for i = x.ndim, 2, -1 do
    local n = x.shape[i]
    out[i] = F.remainder(rest, n) + base
    rest = F.floor_divide(rest, n)
  end
  out[1] = rest + base
  return unpack(out, 1, x.ndim)
end
methods.nonzero = M.nonzero

return M
