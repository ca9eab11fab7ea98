-- portions.lua - work on many rows, a portion at a time, so that what stands between two steps stays bounded.
local mc = require 'mascon.array'
local M = {}

local ROOM = 2 ^ 27 -- bytes of the tensors between two steps of a portion, about

--- Calls f(first, last) for portions of n rows of so many bytes each, in order. Each call gives a list of tensors; the
--- k-th ones of all calls are joined along an axis.
---@param n integer
---@param bytes number of a row, between two steps
---@param f fun(first: integer, last: integer): mc.tensor[]
---@param axes? integer[] of the results (1 where none is given)
---@return mc.tensor[]
function M.joined(n, bytes, f, axes)
  local size = math.max(1, math.min(n, math.floor(ROOM / bytes)))
  local lists, out = {}, {}
  for first = 1, math.max(n, 1), size do
    for k, t in ipairs(mc.scope(function() return f(first, math.min(first + size - 1, n)) end)) do
      lists[k] = lists[k] or {}
      table.insert(lists[k], t)
    end
  end
  for k, list in ipairs(lists) do out[k] = #list == 1 and list[1] or mc.concat(list, axes and axes[k] or 1) end
  return out
end

return M
