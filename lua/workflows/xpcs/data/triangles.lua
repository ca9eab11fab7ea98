-- triangles.lua - which triangle of a matrix holds values, and whether both hold the same.
--
-- Takes parts of both as tensors; reads no file.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local error = check.error
local M = {}

local ROUNDING = 1e-5 -- of the largest value, by which two triangles may differ: they are stored as f32

--- Whether a part of a triangle holds values; NaN alone fills none.
function M.filled(x) return mc.any(x) and mc.any(mc.logical_and(mc.ne(x, 0), mc.logical_not(mc.isnan(x)))) end

--- The rules by which a triangle counts: half (the one that holds values, and both may not), found (that one, or both
--- where they hold the same), full (both; where they differ the upper one), upper, lower.
M.RULES = { 'half', 'found', 'full', 'upper', 'lower' }

--- Which triangle of a matrix counts, from parts of both; notes in `odd` what is odd. Raises where the rule allows
--- neither.
---@param upper mc.tensor f64
---@param lower mc.tensor f64, transposed: of the shape of upper
---@param rule string of RULES
---@param where string for messages
---@param odd? table half: matrices with one triangle that are said to be full, uneven: whose triangles differ, apart:
---  by how much at most
---@return 'upper'|'lower' side, boolean even whether both hold the same
function M.side(upper, lower, rule, where, odd)
  if rule == 'upper' or rule == 'lower' then return rule, false end
  odd = odd or {}
  local up, low = M.filled(upper), M.filled(lower)
  if up ~= low then
    if rule == 'full' then odd.half = (odd.half or 0) + 1 end
    return up and 'upper' or 'lower', false
  end
  if not up then return 'upper', rule == 'full' end
  if rule == 'half' then
    error(('xpcs: both triangles of %s hold values; two-time matrices are stored as one triangle, and adding the two '
      .. 'would double them. When the file holds full symmetric matrices, say so with full_matrices = true '
      .. '(--full-matrices)'):format(where), 4)
  end
  local apart, size = mc.abs(upper - lower), mc.abs(upper)
  local most = mc.max(mc.where(mc.isnan(apart), 0, apart)):item()
  if not (most > ROUNDING * mc.max(mc.where(mc.isnan(size), 0, size)):item()) then return 'upper', true end
  if rule == 'found' then
    error(('xpcs: both triangles of %s hold values and differ by up to %.3g; say which one counts: triangle=upper or '
      .. 'triangle=lower of the layout, or full_matrices = true (--full-matrices), which takes the upper one'):format(
      where, most), 4)
  end
  odd.uneven, odd.apart = (odd.uneven or 0) + 1, math.max(odd.apart or 0, most)
  return 'upper', false
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
