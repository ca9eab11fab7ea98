-- sums.lua - where each sum of a pass stands in its list; kernels/workflows/xpcs/device/places.h says the same in C.
--
-- In order: cost (sum of rho), gradient of the 7 physical parameters, upper triangle of their normal matrix (28), then
-- a section for the contrast and offset of all angles, one for those of each angle, or none: contrast x contrast,
-- contrast x offset, offset x offset, contrast x r, offset x r, contrast x physics (7), offset x physics (7).
local M = {}

local HEAD, SECTION = 36, 19

--- How many sections there are.
---@param kind 'fixed'|'common'|'each'
---@param F integer angles
function M.sections(kind, F) return kind == 'fixed' and 0 or kind == 'common' and 1 or F end

--- How many sums a pass gives.
function M.count(kind, F) return HEAD + SECTION * M.sections(kind, F) end

--- The number of sums before section f (from 1).
function M.before(f) return HEAD + SECTION * (f - 1) end

--- Calls f(k, l, at) for the normal matrix of the first P physical parameters, k <= l.
---@param P integer
---@param f fun(k: integer, l: integer, at: integer)
function M.normal(P, f)
  local at = 8
  for k = 1, 7 do
    for l = k, 7 do
      at = at + 1
      if l <= P then f(k, l, at) end
    end
  end
end

return M
