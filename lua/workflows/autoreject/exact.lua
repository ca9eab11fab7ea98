-- exact.lua - the threshold of the lowest loss among all candidates.
--
-- Holds the rule for ties.
local mc = require 'mascon'
local M = {}

-- losses this close are equal: rounding of sums of some hundred rows stays below it
local SAME = 1e-12

--- The candidate of the lowest loss of each channel, the smallest one among losses equal within 1e-12 relative.
---     mc.autoreject.exact.choose(mc.tensor{{1, 2, 3}}, mc.tensor{{5, 4, 4}}).index  --> i64[1]@cpu { 2 }
---@param candidates any f64 [C, n] ascending
---@param losses any f64 [C, n], +inf allowed
---@return table index i64 [C], 1-based · threshold f64 [C] · loss f64 [C]
function M.choose(candidates, losses)
  local least = mc.min(losses, { 2, keepdim = true })
  local index = mc.argmax(mc.le(losses, least * (1 + SAME)), 2)
  local column = index:reshape(-1, 1)
  local function at(t) return mc.take_along_axis(t, column, 2):reshape(-1) end
  return { index = index, threshold = at(candidates), loss = at(losses) }
end

return M
