-- stages.lua - the ops pac_* where their operands are: the native part of the workflow on the CPU, tensor operations
-- (device.lua) on devices with programs of their own.
local op = require 'mascon.core.op'
local C = require 'mascon.core.ffi'.C
local device = require 'workflows.pac.device'
local placed = require 'workflows.pac.placed'
local M = {}
require 'mascon.base.workflow'.native 'pac' -- the ops pac_*

--- Results of an op of the workflow, where its first operand is.
---@param name string
---@param list table operands
---@param values table parameters by name
---@param count integer results
---@return table
function M.run(name, list, values, count)
  local number = list[1]._device
  if C.mc_device_hosted(number) == 0 then return device[name](list, values) end
  for i = 2, #list do list[i] = placed.beside(list[i], number) end
  return op.raw(name, list, values, count)
end

return M
