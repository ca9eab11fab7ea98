-- triangles.lua - which triangle of a matrix holds values, and whether both hold the same.
--
-- Takes parts of both as tensors; reads no file.
local mc = require 'mascon'
local M = {}

local ROUNDING = 1e-5 -- of the largest value, by which two triangles may differ: they are stored as f32

--- Whether a part of a triangle holds values; NaN alone fills none.
function M.filled(x) return mc.any(x) and mc.any(mc.logical_and(mc.ne(x, 0), mc.logical_not(mc.isnan(x)))) end

--- Which triangle of a matrix that is said to be full counts, from parts of both; notes in `odd` what is odd.
---@param upper mc.tensor f64
---@param lower mc.tensor f64, transposed: of the shape of upper
---@param odd? table half: matrices with one triangle, uneven: whose triangles differ, apart: by how much at most
---@return 'upper'|'lower' side, boolean even whether both hold the same
function M.side(upper, lower, odd)
  odd = odd or {}
  local up, low = M.filled(upper), M.filled(lower)
  if up ~= low then
    odd.half = (odd.half or 0) + 1
    return up and 'upper' or 'lower', false
  end
  local apart, size = mc.abs(upper - lower), mc.abs(upper)
  local most = mc.max(mc.where(mc.isnan(apart), 0, apart)):item()
  if most > ROUNDING * mc.max(mc.where(mc.isnan(size), 0, size)):item() then
    odd.uneven, odd.apart = (odd.uneven or 0) + 1, math.max(odd.apart or 0, most)
    return 'upper', false
  end
  return 'upper', true
end

--- What `side` noted, as warnings.
---@param odd table
---@param count integer matrices
---@param warnings string[]
function M.notes(odd, count, warnings)
  if odd.half then
    table.insert(warnings, ('%d of %d matrices hold values in one triangle only, which counts'):format(odd.half, count))
  end
  if odd.uneven then
    table.insert(warnings, ('%d of %d matrices are not symmetric (by %.3g at most); the upper triangle counts'):format(
      odd.uneven, count, odd.apart))
  end
end

return M
