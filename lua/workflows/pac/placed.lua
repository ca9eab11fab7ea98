-- placed.lua - operands on the device of the rows that they go with.
local tensor = require 'mascon.core.tensor'
local M = {}

-- tables that several blocks read, on the device of the blocks
local placed = setmetatable({}, { __mode = 'k' })

--- An operand on the device of the block: a copy of a table is made once.
---@param number integer of a device
function M.beside(t, number)
  if t._device == number then return t end
  local have = placed[t]
  if not have or have._device ~= number then
    have = tensor.outlive(tensor.moved(t, number, 2))
    placed[t] = have
  end
  return have
end

return M
