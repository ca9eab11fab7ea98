-- total.lua - a running total of pieces whose rounding depends on their number alone.
--
-- Pieces join in pairs, pairs in pairs of pairs, as digits carry in a binary counter: what is added to what follows
-- from the position of a piece, never from how many came at once, and errors grow with the logarithm of the count.
-- Decides the order.
local M = {}

--- A total whose pieces are joined by `join(earlier, later)`.
---@param join fun(a: any, b: any): any
---@return fun(piece: any) add, fun(): any total nil of nothing
function M.new(join)
  local levels, count = {}, 0
  local function add(piece)
    count = count + 1
    local level, carry = 1, count
    while carry % 2 == 0 do
      piece = join(levels[level], piece)
      levels[level] = nil
      level, carry = level + 1, carry / 2
    end
    levels[level] = piece
  end
  local function total()
    local sum
    local left, level = count, 1
    while left > 0 do -- the latest pieces are on the lowest levels
      if left % 2 == 1 then sum = sum == nil and levels[level] or join(levels[level], sum) end
      left, level = math.floor(left / 2), level + 1
    end
    return sum
  end
  return add, total
end

return M
