-- stages.lua - the ops ar_* where their samples are: the native part of the workflow on the CPU, tensor operations
-- (device.lua) on devices with programs of their own; and which devices an analysis works on.
--
-- Samples go to a device whole where it has room, else block by block. Several devices share the work: samples lie in
-- host memory, and each device gets what its portions need, keeping it for the stages that follow where it has room.
-- Small tables (ranges, sums, losses, weights) stay on the host, where decisions are made.
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local workflow = require 'mascon.base.workflow'
local M = {}

local C = lib.C
local number = 0 -- of the device of the analysis that runs
local team -- of devices that share it, or nil: device.lua

-- share of what a device has free that samples may take: the rest is for what is made of them
local SHARE = 1 / 4

--- What the ops are on devices, loaded when an analysis first runs there.
local function on_devices(name) return require 'workflows.autoreject.device'[name] end

--- The most of so many bytes of samples that lie on a device.
function M.room(where, bytes)
  local m = lib.memory_stats(where)
  return math.min(bytes, m.limit > 0 and SHARE * (m.limit - m.live) or math.huge)
end

local function fits(where, bytes) return M.room(where, bytes) == bytes end

--- Devices that share an analysis. kept(x, number, part, picks, first, last): the part of held samples that part()
--- makes, once for each device.
local function team_of(devices)
  local t = { devices = devices, held = setmetatable({}, { __mode = 'k' }), parts = {} }
  function t.kept(x, where, part, picks, first, last)
    if not t.held[x] then return part() end
    local key = ('%d %s %s %s'):format(where, first or '', last or '', table.concat(picks:to('cpu'):totable(), ' '))
    local of = t.held[x]
    if not of[key] then
      of[key] = tensor.outlive(part())
      t.parts[#t.parts + 1] = of[key]
    end
    return of[key]
  end
  return t
end

--- Calls f() with samples on a device (nil: where they are), or shared by devices.
---@param o table options: places (numbers of devices), shared (by name a list of them)
---@param f function
function M.on(o, f)
  local number_before, team_before = number, team
  if o.places then
    number = o.places[1]
    team = o.shared and number > 0 and team_of(o.places) or nil
  end
  local own = team
  local ok, a, b = pcall(f)
  number, team = number_before, team_before
  if own and own ~= team then for _, t in ipairs(own.parts) do t:release() end end
  if not ok then error(a, 0) end
  return a, b
end

--- Samples of a block on the device of the analysis; those of several devices stay where they are.
function M.placed(x) return number > 0 and not team and x._device == 0 and tensor.moved(x, number, 3) or x end

--- Samples of all epochs there, where it has room for them.
function M.held(x)
  if number == 0 or x._device ~= 0 then return x end
  local bytes = x:numel() * tensor.size[x.dtype]
  if not team then return fits(number, bytes) and M.placed(x) or x end
  local room = true -- for a share by epochs and one by channels
  for _, where in ipairs(team.devices) do room = room and fits(where, 2 * bytes / #team.devices) end
  if room then team.held[x] = team.held[x] or {} end
  return x
end

--- Results of an op of the workflow, computed where its first operand is, or by the devices that share the analysis; in
--- host memory unless they stay.
---@param name string
---@param list table operands
---@param values table parameters by name
---@param count integer results
---@param stay? boolean
---@return table
function M.call(name, list, values, count, stay)
  local shared = team and on_devices(name) and team or nil
  if not shared and C.mc_device_hosted(list[1]._device) ~= 0 then
    return workflow.call(name, list, values, count, stay)
  end
  local out = mc.scope(function() return on_devices(name)(list, values, shared) end)
  for i = 1, stay and 0 or #out do out[i] = tensor.hosted(out[i]) end
  return out
end

workflow.native 'autoreject' -- the ops ar_*
return M
