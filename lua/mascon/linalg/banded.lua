-- banded.lua - systems with few diagonals, composed from solve_banded (a row of the op table).
--
-- Holds the band storage of a tridiagonal matrix.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local stack = require 'mascon.array.stacks'
local error = require 'mascon.core.check'.error
local F = op.functions
local M = {}

--- x with a x = b for tridiagonal a, rows exchanged where the elimination needs it.
---
--- lower, upper: f32|f64|c64|c128 [..., n - 1], the diagonals beside the main one; d: [..., n]; b: [n] or [..., n, k].
--- Result: x in the shape of b. Errors: lengths that do not fit; a singular matrix; NaN or infinity in a.
--- Source: LAPACK gtsv, through solve_banded.
---     mc.linalg.solve_tridiagonal({ 1, 1 }, { 2, 2, 2 }, { 1, 1 }, { 4, 8, 8 })
---       --> f64[3]@cpu { 1.0000, 2.0000, 3.0000 }
---@param lower mc.tensor
---@param d mc.tensor
---@param upper mc.tensor
---@param b mc.tensor
---@return mc.tensor
function M.solve_tridiagonal(lower, d, upper, b)
  local name = 'solve_tridiagonal'
  lower, d, upper, b = stack.operand(name, lower), stack.operand(name, d), stack.operand(name, upper),
    stack.operand(name, b)
  for _, x in ipairs { lower, d, upper } do
    if x.ndim < 1 then error(('%s: a diagonal is %s; give at least one axis'):format(name, tensor.describe(x)), 2) end
  end
  local n = d.shape[d.ndim]
  if lower.shape[lower.ndim] ~= math.max(n - 1, 0) or upper.shape[upper.ndim] ~= math.max(n - 1, 0) then
    error(('%s: the diagonals are %s, %s and %s; those beside the main one have one element less'):format(name,
      tensor.describe(lower), tensor.describe(d), tensor.describe(upper)), 2)
  end
  -- the rows of ab: upper from column 2 on, d, lower up to column n - 1
  local batch = F.add(F.add(F.sum(lower, { -1, keepdim = true }), F.sum(upper, { -1, keepdim = true })),
    F.sum(d, { -1, keepdim = true }))
  local shape = { unpack(batch.shape) }
  shape[#shape], shape[#shape + 1] = 3, n
  local ab = tensor.empty(name, shape, batch.dtype, 3, batch._device):fill_(0)
  if n > 0 then
    ab['..., 2, :'] = d
    if n > 1 then
      ab['..., 1, 2:'] = upper
      ab['..., 3, :-2'] = lower
    end
  end
  return F.solve_banded(ab, b, { lower = 1, upper = 1 })
end

return M
