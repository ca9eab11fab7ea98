-- stages.lua - the ops ar_* where their samples are: the native part of the workflow on the CPU, tensor operations
-- (device.lua) on devices with programs of their own; and which device an analysis works on.
--
-- Samples go to the device whole where it has room, else block by block. Small tables (ranges, sums, losses, weights)
-- stay on the host, where decisions are made.
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local workflow = require 'mascon.base.workflow'
local M = {}

local C = lib.C
local number = 0 -- of the device of the analysis that runs

-- share of what a device has free that samples may take: the rest is for what is made of them
local SHARE = 1 / 4

--- Calls f() with samples on a device (its number; nil: where they are).
function M.on(device, f)
  local before = number
  number = device or number
  local ok, a, b = pcall(f)
  number = before
  if not ok then error(a, 0) end
  return a, b
end

--- Samples of a block on the device of the analysis.
function M.placed(x) return number > 0 and x._device == 0 and tensor.moved(x, number, 3) or x end

--- Samples of all epochs there, where it has room for them.
function M.held(x)
  if number == 0 or x._device ~= 0 then return x end
  local m = lib.memory_stats(number)
  local free = m.limit > 0 and m.limit - m.live or math.huge
  return x:numel() * tensor.size[x.dtype] <= SHARE * free and M.placed(x) or x
end

--- Results of an op of the workflow, computed where its first operand is; in host memory unless they stay.
---@param name string
---@param list table operands
---@param values table parameters by name
---@param count integer results
---@param stay? boolean
---@return table
function M.call(name, list, values, count, stay)
  if C.mc_device_hosted(list[1]._device) ~= 0 then return workflow.call(name, list, values, count, stay) end
  local out = mc.scope(function() return require 'workflows.autoreject.device'[name](list, values) end)
  for i = 1, stay and 0 or #out do out[i] = tensor.hosted(out[i]) end
  return out
end

workflow.native 'autoreject' -- the ops ar_*
return M
